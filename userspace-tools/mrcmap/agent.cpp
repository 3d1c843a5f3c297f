// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "agent.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "agent_state.hpp"
#include "clock.hpp"
#include "error.hpp"
#include "ev_device.hpp"
#include "interrupt.hpp"
#include "probe_port.hpp"
#include "uplink.hpp"

namespace mrcmap
{
namespace
{
using mrclab::SystemError;
using mrclab::Topology;
using mrclab::UsageError;

/* How often signals, carriers, the device's events and a failed deny list are
 * looked at.
 */
constexpr uint64_t look_every = 100 * ns_of_ms;
constexpr uint64_t retry_deny_after = ns_of_s;

/*
 * Waking up costs as much as several probes, so the loop turns rarely, and sends
 * and receives what has come up in between: times of arrival are the kernel's.
 * But what is sent in a turn must not fill a queue, and the agent must not seem
 * to be late.
 */
constexpr uint64_t longest_turn = 10 * ns_of_ms;
constexpr uint64_t shortest_turn = ns_of_ms / 5;
constexpr double most_in_turn = 64;
/* Longer turns would look like an agent that was late. */
constexpr uint64_t turns_per_wait = 4;

uint64_t turn_time(const Plan &plan, const Config &config, uint32_t host)
{
	const uint64_t most = std::clamp(config.wait / turns_per_wait,
					 shortest_turn, longest_turn);
	double rate = 0; /* probes in a ns */

	for (const uint32_t id : plan.sent_by(host))
		rate += 1 / static_cast<double>(plan.paths()[id].interval);
	/* Without paths that is infinite. */
	return static_cast<uint64_t>(
		std::clamp(most_in_turn / rate,
			   static_cast<double>(shortest_turn),
			   static_cast<double>(most)));
}

std::vector<ProbePort> open_ports(const Topology &t, const Config &config,
				  const AgentOptions &o)
{
	const uint32_t planes = t.fabric().planes;
	std::vector<ProbePort> ports;

	if (!o.netdevs.empty() && o.netdevs.size() != planes)
		throw UsageError(fmt::format("{} netdevs for {} planes",
					     o.netdevs.size(), planes));
	ports.reserve(planes);
	for (uint32_t p = 1; p <= planes; p++)
		ports.emplace_back(p,
				   o.netdevs.empty() ? fmt::format("p{}", p)
						     : o.netdevs[p - 1],
				   config);
	return ports;
}

/* Deny lists of the collector, on the device. */
class Denier
{
public:
	Denier(const Topology &t, uint32_t host, const std::string &device)
		: device_(t, host, device)
	{
		/* What another agent has left; also, may this one do that? */
		device_.apply({});
	}

	void want(DenyList list, uint64_t now)
	{
		wanted_ = std::move(list);
		apply(now);
	}
	void retry(uint64_t now)
	{
		if (failed_ && now >= *failed_ + retry_deny_after)
			apply(now);
	}
	std::vector<EvEvent> events() { return device_.events(); }
	/* Nobody else would take it back. */
	void end()
	{
		if (!wanted_.evs.empty())
			want({}, now_ns());
	}

private:
	void apply(uint64_t now)
	{
		try {
			const std::size_t n = device_.apply(wanted_);

			failed_.reset();
			said_.clear();
			if (n > 0)
				std::cerr << fmt::format(
					"mrcmap: {} EVs denied, {} changed\n",
					wanted_.evs.size(), n);
		} catch (const SystemError &e) {
			failed_ = now;
			if (said_ != e.what())
				std::cerr << "mrcmap: " << e.what() << '\n';
			said_ = e.what();
		}
	}

	EvDevice device_;
	DenyList wanted_;
	std::optional<uint64_t> failed_;
	std::string said_;
};

class Agent
{
public:
	Agent(const Topology &t, const Plan &plan, const Config &config,
	      const AgentOptions &o)
		: ports_(open_ports(t, config, o)),
		  state_(t, plan, config, o.host, o.key, now_ns()),
		  turn_(turn_time(plan, config, o.host)), last_sent_(ports_.size())
	{
		if (!o.collector.empty())
			uplink_.emplace(find_endpoints(o.collector));
		if (!o.file.empty()) {
			file_.emplace(o.file);
			file_->write(state_.hello_line());
		}
		if (o.deny)
			denier_ = std::make_unique<Denier>(t, o.host, o.device);
		/* Wake up with others. */
		prctl(PR_SET_TIMERSLACK, turn_ / 8, 0, 0, 0);
	}

	void turn()
	{
		uint64_t now = 0;

		receive();
		send();
		now = now_ns();
		for (const std::string &line : state_.on_tick(now))
			write(line);
		if (now >= look_at_) {
			mrclab::check_interrupt();
			look(now);
			look_at_ = now + look_every;
		}
		if (uplink_)
			talk(now);
		sleep_until(std::max(state_.next(), now + turn_));
	}

	void end()
	{
		if (denier_)
			denier_->end();
	}

	const AgentCounters &counters() const { return state_.counters(); }

private:
	void receive()
	{
		const ProbePort::Got got = [this](auto bytes, uint32_t plane,
						  uint64_t at) {
			state_.on_packet(bytes, plane, at);
		};

		/* What comes back was sent before. */
		for (ProbePort &p : ports_)
			if (!p.receive(last_sent_[p.plane() - 1], got))
				state_.on_overflow(now_ns());
	}

	/* Each plane's probes have the time at which they are sent. */
	void send()
	{
		for (ProbePort &p : ports_) {
			uint64_t &now = last_sent_[p.plane() - 1];

			now = now_ns();
			p.send(state_.due(p.plane(), now),
			       [this](const Packet &refused) {
				       state_.on_unsent(refused);
			       });
		}
	}

	void write(const std::string &line)
	{
		if (uplink_)
			uplink_->write(line);
		if (file_)
			file_->write(line);
	}

	void tell_ports(bool always)
	{
		std::vector<std::optional<bool>> carrier;

		for (const ProbePort &p : ports_)
			carrier.push_back(p.carrier());
		if (const auto line = state_.on_ports(carrier, always))
			write(*line);
	}

	void look(uint64_t now)
	{
		for (ProbePort &p : ports_)
			p.check_netdev();
		tell_ports(false);
		if (!denier_)
			return;
		for (const EvEvent &e : denier_->events())
			write(mrcmap::write(e));
		denier_->retry(now);
	}

	void talk(uint64_t now)
	{
		const Uplink::Turn t = uplink_->turn(now);

		if (t.connected) {
			uplink_->write(state_.hello_line());
			tell_ports(true);
			/* It will tell what it wants denied. */
			if (denier_)
				denier_->want({}, now);
		}
		try {
			for (const std::string &line : t.lines)
				on_line(parse_line(line), now);
		} catch (const ReportError &e) {
			uplink_->refuse(e.what(), now);
		}
	}

	void on_line(const Message &m, uint64_t now)
	{
		const auto *e = std::get_if<ErrorText>(&m);
		const auto *list = std::get_if<DenyList>(&m);

		if (e)
			throw ReportError(e->text);
		if (!list)
			throw ReportError("collectors send no such line");
		if (denier_)
			denier_->want(*list, now);
	}

	void sleep_until(uint64_t at)
	{
		const uint64_t now = now_ns();
		const uint64_t left = at - std::min(at, now);
		const timespec ts{static_cast<time_t>(left / ns_of_s),
				  static_cast<long>(left % ns_of_s)};
		std::optional<pollfd> p;

		if (uplink_)
			p = uplink_->waits_for();
		ppoll(p ? &*p : nullptr, p ? 1 : 0, &ts, nullptr);
	}

	std::vector<ProbePort> ports_;
	AgentState state_;
	uint64_t turn_;
	std::optional<Uplink> uplink_;
	std::optional<LineFile> file_;
	std::unique_ptr<Denier> denier_;
	uint64_t look_at_ = 0;
	std::vector<uint64_t> last_sent_; /* by plane - 1 */
};

/* Figures of a run, for people. */
std::string summary(const AgentCounters &c, uint64_t ran)
{
	rusage use{};

	getrusage(RUSAGE_SELF, &use);

	const double seconds = static_cast<double>(ran) / ns_of_s;
	const double busy =
		static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
		static_cast<double>(use.ru_utime.tv_usec +
				    use.ru_stime.tv_usec) /
			1e6;

	return fmt::format(
		"{} probes sent, {} came back, {} of others came; not sent: {} "
		"refused, {} skipped; not taken: {} damaged, {} forged, {} of "
		"other versions or plans, {} misplaced; late {} times; "
		"{:.0f} probes/s, {:.2f} % of a processor\n",
		c.sent, c.received, c.peers, c.unsent, c.skipped, c.bad,
		c.forged, c.version + c.plan, c.misplaced, c.gaps,
		static_cast<double>(c.sent) / seconds, 100 * busy / seconds);
}
} // namespace

void run_agent(const Topology &t, const Config &config, const AgentOptions &o)
{
	const Plan plan(t, config);
	const uint64_t since = now_ns();

	mrclab::catch_interrupts();

	Agent agent(t, plan, config, o);

	std::cerr << fmt::format("mrcmap: h{} probes {} paths\n", o.host,
				 plan.sent_by(o.host).size());
	try {
		for (;;)
			agent.turn();
	} catch (const mrclab::Interrupted &) {
		agent.end();
		std::cerr << "mrcmap: "
			  << summary(agent.counters(), now_ns() - since);
		throw;
	}
}
} // namespace mrcmap
