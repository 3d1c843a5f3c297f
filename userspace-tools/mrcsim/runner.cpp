// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "runner.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "error.hpp"
#include "plan.hpp"
#include "units.hpp"

namespace mrcsim
{
namespace
{
using Clock = std::chrono::steady_clock;

constexpr u64 slice = 1 << 16; /* events between looks at the clock */

/* Of this thread. */
double cpu_seconds()
{
	timespec t{};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return static_cast<double>(t.tv_sec) +
	       static_cast<double>(t.tv_nsec) * 1e-9;
}

double seconds_since(Clock::time_point from)
{
	return std::chrono::duration<double>(Clock::now() - from).count();
}

std::string megabytes(u64 bytes)
{
	return fmt::format("{} MiB", (bytes + (1 << 20) - 1) >> 20);
}

std::string time_left(double s)
{
	if (s < 60)
		return fmt::format("{:.0f} s", s);
	if (s < 3600)
		return fmt::format("{:.0f} min", s / 60);
	return fmt::format("{:.1f} h", s / 3600);
}

/* What all runs together have done. */
class Progress
{
public:
	Progress(std::size_t runs,
		 const std::function<void(const std::string &)> &show)
		: done_(runs), events_(runs), show_(show)
	{
	}

	/* @share: how much of run @n is done, 0 to 1. */
	void at(std::size_t n, double share, u64 events, u64 ps)
	{
		const std::lock_guard guard(lock_);

		done_[n] = share;
		events_[n] = events;
		if (!show_ || seconds_since(shown_) < 0.25)
			return;
		shown_ = Clock::now();

		double all = 0;
		u64 sum = 0;

		for (std::size_t i = 0; i < done_.size(); i++) {
			all += done_[i];
			sum += events_[i];
		}
		all /= static_cast<double>(done_.size());

		const double s = seconds_since(begun_);

		show_(fmt::format(
			"{:.1f} %, {:.3f} ms simulated, {:.2f} M events/s, {} "
			"left",
			all * 100, static_cast<double>(ps) / 1e9,
			s > 0 ? static_cast<double>(sum) / s / 1e6 : 0,
			all > 0 ? time_left(s / all * (1 - all)) : "?"));
	}

private:
	std::mutex lock_;
	std::vector<double> done_;
	std::vector<u64> events_;
	std::function<void(const std::string &)> show_;
	Clock::time_point begun_ = Clock::now();
	Clock::time_point shown_ = begun_;
};

/* How much of its work a run has done. */
double share_done(const Simulator &sim, u64 bytes)
{
	const double placed = bytes ? static_cast<double>(sim.placed_by_all()) /
					      static_cast<double>(bytes)
				    : 1;

	if (!sim.settings().end)
		return placed;
	return std::max(placed,
			static_cast<double>(sim.now()) /
				static_cast<double>(sim.settings().end));
}

void check_memory(const Scenario &s, const RunOptions &o, u32 jobs)
{
	const u64 room = o.memory ? o.memory
				  : available_memory() /
					    (o.peers ? o.peers->neighbours() : 1);
	const Traffic t = s.traffic(s.seeds.front());
	u64 most = 0;

	for (const Column c : s.columns) {
		Settings settings = s.settings;

		settings.column = c;
		most = std::max(
			most, planned_memory(s.shape, settings, t, o.threads,
					     o.peers ? o.peers->count() : 1));
	}
	if (room && most * jobs > room)
		throw mrclab::UsageError(fmt::format(
			"{}: {} runs at once take up to {}; {} are available",
			s.file, jobs, megabytes(most * jobs), megabytes(room)));
}

/* The numbers of the runs that are to be made. */
std::vector<std::size_t> runs_of(const Scenario &s, const RunOptions &o)
{
	std::vector<std::size_t> which;

	for (std::size_t i = o.part - 1; i < s.columns.size() * s.seeds.size();
	     i += o.parts)
		which.push_back(i);
	return which;
}
} // namespace

nlohmann::ordered_json json_of_runs(const Scenario &s, const RunOptions &o,
				    const std::vector<RunResult> &runs)
{
	const std::vector<std::size_t> which = runs_of(s, o);
	nlohmann::ordered_json j = {
		{"name", s.name},
		{"all_runs", s.columns.size() * s.seeds.size()}};

	j["runs"] = nlohmann::ordered_json::array();
	for (std::size_t n = 0; n < runs.size(); n++) {
		nlohmann::ordered_json one = {{"run", which[n] + 1}};

		one.update(json_of(runs[n]));
		j["runs"].push_back(std::move(one));
	}
	return j;
}

nlohmann::ordered_json
merged(const std::vector<std::pair<std::string, std::string>> &files)
{
	std::map<u64, nlohmann::ordered_json> runs;
	nlohmann::ordered_json all;

	for (const auto &[name, text] : files) {
		try {
			const auto one = nlohmann::ordered_json::parse(text);

			if (all.is_null())
				all = {{"name", one.at("name")},
				       {"all_runs", one.at("all_runs")}};
			if (one.at("name") != all["name"] ||
			    one.at("all_runs") != all["all_runs"])
				throw mrclab::UsageError(
					name + ": of another scenario");
			for (const auto &r : one.at("runs"))
				if (!runs.emplace(r.at("run").get<u64>(), r)
					     .second)
					throw mrclab::UsageError(fmt::format(
						"{}: run {} is there twice",
						name, r.at("run").get<u64>()));
		} catch (const nlohmann::json::exception &e) {
			throw mrclab::UsageError(fmt::format(
				"{}: no results of mrcsim: {}", name, e.what()));
		}
	}
	for (u64 n = 1; n <= all.at("all_runs").get<u64>(); n++)
		if (!runs.contains(n))
			throw mrclab::UsageError(
				fmt::format("run {} is missing", n));
	all["runs"] = nlohmann::ordered_json::array();
	for (auto &[n, r] : runs)
		all["runs"].push_back(std::move(r));
	return all;
}

u64 available_memory()
{
	std::ifstream in("/proc/meminfo");
	std::string key;
	u64 kib = 0;

	while (in >> key >> kib) {
		if (key == "MemAvailable:")
			return kib << 10;
		in.ignore(1000, '\n');
	}
	return 0;
}

RunResult run_once(const Scenario &s, Column column, u64 seed, u32 threads,
		   const std::function<void(const Simulator &)> &progress,
		   Peers *peers)
{
	const double cpu = cpu_seconds();
	const Clock::time_point from = Clock::now();
	const Traffic traffic = s.traffic(seed);
	Settings settings = s.settings;

	settings.column = column;
	settings.seed = seed;
	if (s.all_flows) {
		settings.series.flows.resize(traffic.flows.size());
		std::iota(settings.series.flows.begin(),
			  settings.series.flows.end(), 0);
	}

	Simulator sim(s.shape, settings, traffic, s.faults, threads, peers);

	while (sim.run(slice))
		if (progress)
			progress(sim);

	RunResult r;

	/* The others have only what the first one has got from them. */
	if (!peers || !peers->rank())
		r = result_of(sim, traffic);

	r.cpu = cpu_seconds() - cpu +
		static_cast<double>(sim.helpers_cpu()) * 1e-9;
	r.wall = seconds_since(from);
	return r;
}

std::vector<RunResult> run_scenario(const Scenario &s, const RunOptions &o)
{
	const std::vector<std::size_t> which = runs_of(s, o);
	const std::size_t n = which.size();
	const u32 jobs = static_cast<u32>(std::clamp<std::size_t>(
		o.jobs, 1, std::max<std::size_t>(n, 1)));
	std::vector<RunResult> results(n);
	std::vector<std::exception_ptr> errors(n);
	std::atomic<std::size_t> next = 0;
	Progress progress(n, o.progress);

	check_memory(s, o, jobs);

	const auto work = [&] {
		for (std::size_t i = next++; i < n; i = next++) {
			const Column c = s.columns[which[i] / s.seeds.size()];
			const u64 seed = s.seeds[which[i] % s.seeds.size()];
			u64 bytes = 0;

			try {
				results[i] = run_once(
					s, c, seed, o.threads,
					[&](const Simulator &sim) {
						if (!bytes)
							for (const Flow &f :
							     sim.traffic()
								     .flows)
								bytes +=
									f.bytes;
						progress.at(
							i,
							share_done(sim, bytes),
							sim.totals().events,
							sim.now());
					},
					o.peers);
				if (!o.rows)
					results[i].rows.clear();
			} catch (...) {
				errors[i] = std::current_exception();
				next = n;
			}
			progress.at(i, 1, results[i].totals.events,
				    results[i].time);
		}
	};
	std::vector<std::thread> others;

	for (u32 t = 1; t < jobs; t++)
		others.emplace_back(work);
	work();
	for (std::thread &t : others)
		t.join();
	for (const std::exception_ptr &e : errors)
		if (e)
			std::rethrow_exception(e);
	return results;
}

std::string plan_text(const Scenario &s)
{
	const Traffic t = s.traffic(s.seeds.front());
	const Shape &f = s.shape;
	u64 bytes = 0;
	std::string text;

	for (const Flow &flow : t.flows)
		bytes += flow.bytes;
	text += fmt::format("{}: {} hosts, {} planes of {} tiers, {} T0 and {} "
			    "T1 in each, {} directions of links\n",
			    s.name, f.all_hosts(), f.planes, f.tiers,
			    f.all_t0(), f.all_t1(), f.links());
	text += fmt::format("traffic: {}; {} flows, {} bytes\n", t.name,
			    t.flows.size(), bytes);
	for (const Column c : s.columns) {
		Settings settings = s.settings;

		settings.column = c;

		const Derived d = derive(f, settings);

		text += fmt::format(
			"{}: base RTT {} ns, {} EVs, range {} x 128, {} bytes "
			"a packet, {} bytes a queue pair, up to {}\n",
			column_name(c), d.base_rtt, d.evs, d.mpr, d.packet,
			d.qp_memory, megabytes(planned_memory(f, settings, t)));
	}
	for (std::size_t k = 0; k < kinds; k++) {
		const LinkSpec &l = f.spec[k];

		if (!f.count(static_cast<Kind>(k)))
			continue;
		text += fmt::format(
			"{:>6}: {} links of {}, {} ns; marks {}..{}, trims "
			"at {}, drops at {} bytes\n",
			f.name(f.id(0, static_cast<Kind>(k), 0)),
			f.count(static_cast<Kind>(k)) * f.planes,
			mrclab::show_rate(l.rate), l.delay / 1000, l.mark_min,
			l.mark_max, l.trim, l.queue);
	}
	return text;
}
} // namespace mrcsim
