// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "collector.hpp"

#include <algorithm>
#include <iostream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>

#include "clock.hpp"
#include "collector_state.hpp"
#include "error.hpp"
#include "files.hpp"
#include "follow.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "server.hpp"
#include "state_file.hpp"
#include "uplink.hpp"

namespace mrcmap
{
namespace
{
using mrclab::SystemError;
using mrclab::Topology;

/* Files have no event that poll(2) knows. */
constexpr uint64_t read_files_every = 50 * ns_of_ms;
/* Without a change. */
constexpr uint64_t write_every = ns_of_s;
/* Signals are looked for between two turns. */
constexpr uint64_t longest_wait = 200 * ns_of_ms;
/* Numbers of connections of the server are smaller. */
constexpr Connection first_file = Connection{1} << 48;

class Collector
{
public:
	Collector(const Topology &t, const Plan &plan, const Config &config,
		  const CollectorOptions &o)
		: t_(t), config_(config), o_(o), state_(t, plan, config)
	{
		if (!o.listen.empty())
			server_.emplace(find_endpoints(o.listen),
					t.fabric().all_hosts());
		for (const std::string &f : o.files)
			files_.push_back({Follower(f), next_file_++, false});
		if (!o.history.empty())
			history_.emplace(o.history);
		state_.enable_deny(o.deny);
		handler_ = {[this](Connection from, std::string_view line,
				   uint64_t now) {
				    return state_.on_line(from, line, now);
			    },
			    [this](Connection from) {
				    state_.on_disconnect(from);
			    }};
		/* Files that cannot be written are found now. */
		write_files(now_ns());
	}

	void turn()
	{
		std::vector<pollfd> fds;
		uint64_t now = now_ns();
		const uint64_t until = std::min(
			{now + longest_wait, evaluate_at_,
			 files_.empty() ? UINT64_MAX : now + read_files_every});

		if (server_)
			server_->add_to(fds);
		poll(fds.data(), fds.size(), timeout(until, now));
		now = now_ns();
		if (server_)
			server_->turn(fds, now, handler_);
		for (const Connection c : state_.close_also())
			if (server_)
				server_->close(c, handler_);
		for (File &f : files_)
			read(f, now);
		if (now >= evaluate_at_)
			evaluate(now);
	}

private:
	struct File {
		Follower follower;
		Connection id = 0;
		bool failed = false;
	};

	static int timeout(uint64_t until, uint64_t now)
	{
		const uint64_t left = until - std::min(until, now);

		return static_cast<int>((left + ns_of_ms - 1) / ns_of_ms);
	}

	/* The host of a file that is wrong is silent from then on. */
	void read(File &f, uint64_t now)
	{
		if (f.failed)
			return;
		try {
			f.follower.turn([&](std::string_view line, bool hello) {
				if (hello) {
					state_.on_disconnect(f.id);
					f.id = next_file_++;
				}

				const CollectorState::Answer a =
					state_.on_line(f.id, line, now);

				if (a.close)
					throw ReportError(a.why);
			});
		} catch (const std::runtime_error &e) {
			std::cerr << fmt::format("mrcmap: {}: {}\n",
						 f.follower.file(), e.what());
			state_.on_disconnect(f.id);
			f.failed = true;
		}
	}

	void evaluate(uint64_t now)
	{
		const std::vector<Change> changes =
			state_.evaluate(now, wall_ms());

		if (server_)
			for (const CollectorState::Line &l :
			     state_.deny_lines())
				server_->send(l.to, l.text);
		for (const Change &c : changes)
			std::cout << change_line(t_, c) << '\n';
		std::cout.flush();
		record(changes, now);
		evaluate_at_ = std::max(evaluate_at_ + config_.evaluate_every,
					now + ns_of_ms);
	}

	/* A full disk does not end the collector. */
	void record(const std::vector<Change> &changes, uint64_t now)
	{
		try {
			if (history_ && !changes.empty())
				append(changes);
			if (!changes.empty() || now >= write_at_)
				write_files(now);
			said_.clear();
		} catch (const SystemError &e) {
			if (said_ != e.what())
				std::cerr << "mrcmap: " << e.what() << '\n';
			said_ = e.what();
		}
	}

	/* One object a line. */
	void append(const std::vector<Change> &changes)
	{
		Snapshot s;

		s.history.assign(changes.begin(), changes.end());
		for (const auto &change :
		     nlohmann::ordered_json::parse(history_json(t_, s)))
			history_->write(change.dump() + "\n");
	}

	void write_files(uint64_t now)
	{
		write_at_ = now + write_every;
		if (o_.state.empty() && o_.metrics.empty())
			return;

		const Snapshot s = state_.snapshot(now, wall_ms());

		if (!o_.state.empty())
			mrclab::replace_text(o_.state, state_text(t_, s));
		if (!o_.metrics.empty())
			mrclab::replace_text(o_.metrics, prometheus_of(t_, s));
	}

	const Topology &t_;
	Config config_;
	CollectorOptions o_;
	CollectorState state_;
	std::optional<Server> server_;
	Server::Handler handler_;
	Connection next_file_ = first_file;
	std::vector<File> files_;
	std::optional<LineFile> history_;
	uint64_t evaluate_at_ = now_ns(), write_at_ = 0;
	std::string said_; /* the last failure of writing */
};
} // namespace

void run_collector(const Topology &t, const Config &config,
		   const CollectorOptions &o)
{
	const Plan plan(t, config);

	mrclab::catch_interrupts();

	Collector collector(t, plan, config, o);

	std::cerr << fmt::format(
		"mrcmap: collector of fabric {}: {} links, {} paths\n",
		t.fabric().name, t.links().size(), plan.paths().size());
	for (;;) {
		mrclab::check_interrupt();
		collector.turn();
	}
}
} // namespace mrcmap
