// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "drill_run.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <sys/utsname.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "drill_series.hpp"
#include "drill_verdicts.hpp"
#include "error.hpp"
#include "fabric_file.hpp"
#include "flow_meter.hpp"
#include "happenings.hpp"
#include "interrupt.hpp"
#include "status.hpp"
#include "traffic.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/* Emulated machines need many seconds to start a program. */
constexpr auto start_timeout = 60s;
constexpr auto report_interval = 2s;

/* The fabric of a run, which is gone when this is. */
class RunningLab
{
public:
	RunningLab(const Stage &s, const Progress &progress)
		: name_(parse_fabric(s.fabric_text, s.fabric_file).name),
		  progress_(progress)
	{
		mrclab::up(s.fabric_file, s.fabric_text, progress);
	}
	~RunningLab()
	{
		try {
			down(name_, [](const std::string &) {});
		} catch (const std::exception &e) {
			progress_(e.what());
		}
	}
	RunningLab(const RunningLab &) = delete;
	RunningLab &operator=(const RunningLab &) = delete;

	const std::string &name() const { return name_; }

private:
	std::string name_;
	const Progress &progress_;
};

/*
 * Waits until each flow that starts at once has moved a byte. Those of latency
 * may be over by then.
 */
void wait_for_traffic(const Drill &d, const Traffic &traffic, FlowMeter &meter,
		      const Reading &before)
{
	const auto end = Clock::now() + start_timeout;

	for (std::size_t f = 0; f < d.flows.size(); f++) {
		if (d.flows[f].start || d.flows[f].latency)
			continue;
		while (meter.read(Clock::now()).flows[f] == before.flows[f]) {
			traffic.check_running(f);
			if (Clock::now() > end)
				throw SystemError(
					fmt::format("traffic {} moves nothing",
						    d.flows[f].name));
			sleep_or_interrupt(poll_interval);
		}
	}
}

std::string progress_line(const Drill &d, const std::string &devices,
			  const std::vector<Reading> &readings,
			  std::size_t since)
{
	const Reading &from = readings[since], &to = readings.back();
	double bytes = 0;

	for (std::size_t f = 0; f < d.flows.size(); f++)
		bytes += static_cast<double>(to.flows[f] - from.flows[f]);
	return fmt::format("{} ({}): {:.0f} s of {}, {:.1f} Mbit/s", d.name,
			   devices, static_cast<double>(to.at) / 1e9,
			   show_time(d.time),
			   bytes * 8e3 / static_cast<double>(to.at - from.at));
}

std::vector<Reading> sample(const Drill &d, const std::string &devices,
			    FlowMeter &meter, Happenings &happenings,
			    Clock::time_point start, const Progress &progress)
{
	std::vector<Reading> readings = {meter.read(start)};
	auto report = start + report_interval;
	std::size_t reported = 0;

	for (uint64_t at = d.sample; at <= d.time; at += d.sample) {
		sleep_or_interrupt(start + std::chrono::nanoseconds(at) -
				   Clock::now());
		happenings.check();
		/* After a pause one reading stands for all that are due. */
		if (at + d.sample <= d.time &&
		    Clock::now() - start >
			    std::chrono::nanoseconds(at + d.sample / 2))
			continue;
		readings.push_back(meter.read(start));
		if (Clock::now() < report)
			continue;
		progress(progress_line(d, devices, readings, reported));
		report += report_interval;
		reported = readings.size() - 1;
	}
	return readings;
}

DrillRun run_stage(const Drill &d, const Stage &s, const std::string &dir,
		   const Progress &progress)
{
	const RunningLab lab(s, progress);
	const Topology t = find_up(lab.name()).topology;
	Traffic traffic(d, s, t, dir);
	FlowMeter meter(t, s.devices, d.flows, d.evs,
			[&traffic](std::size_t f) { return traffic.pids(f); });
	std::vector<Happenings::One> all;
	DrillRun run;

	run.devices = s.devices == Devices::mrc ? "mrc" : "rxe";
	progress(fmt::format("{} ({}): starting {} flows", d.name, run.devices,
			     d.flows.size()));
	const Reading before = meter.read(Clock::now());

	traffic.start_servers();
	for (std::size_t f = 0; f < d.flows.size(); f++)
		if (d.flows[f].start == 0)
			traffic.start_clients(f);
	wait_for_traffic(d, traffic, meter, before);

	const auto start = Clock::now();

	for (std::size_t f = 0; f < d.flows.size(); f++)
		if (d.flows[f].start)
			all.push_back({d.flows[f].start, [&traffic, f] {
					       traffic.start_clients(f);
				       }});
	for (const Step &step : s.timeline)
		all.push_back(
			{step.at, [&lab, &run, &step, start] {
				 const auto seconds = [start] {
					 return std::chrono::duration<double>(
							Clock::now() - start)
						 .count();
				 };
				 Event e{seconds(), step.text};

				 change_faults(lab.name(), step.faults);
				 e.done = seconds();
				 run.events.push_back(e);
			 }});
	std::stable_sort(all.begin(), all.end(),
			 [](const Happenings::One &a,
			    const Happenings::One &b) { return a.at < b.at; });

	Happenings happenings(std::move(all), start);
	const std::vector<Reading> readings =
		sample(d, run.devices, meter, happenings, start, progress);

	happenings.stop();
	happenings.check();
	const TrafficEnd end = traffic.end();

	run.flows = end.flows;
	run.latencies = end.latencies;
	add_series(run, t, d, readings);
	run.gaps = gaps_of(d, run);
	run.verdicts = judge(d, run);
	return run;
}

std::string kernel()
{
	utsname u{};

	return uname(&u) == 0 ? u.release : "";
}

/* The series to draw, of those that there are. */
std::vector<std::string> shown(const Drill &d, const DrillRun &run)
{
	constexpr std::size_t max_flows = 8, max_evs = 32;
	std::vector<std::string> names;

	if (d.shown.empty()) {
		names = series_names(run, "flows");
		return names.size() > max_flows ? series_names(run, "total")
						: names;
	}
	for (const std::string &what : d.shown)
		for (const std::string &name :
		     what == "evs"
			     ? busiest(run, series_names(run, what), max_evs)
			     : series_names(run, what))
			if (std::find(names.begin(), names.end(), name) ==
			    names.end())
				names.push_back(name);
	return names;
}
} // namespace

void run_drill(DrillResult &result, const Drill &d, const std::string &dir,
	       const Progress &progress)
{
	result.name = d.name;
	result.title = d.title;
	result.figure = d.figure;
	result.published = d.published;
	result.about = d.about;
	result.fabric = summary(
		parse_fabric(d.stages[0].fabric_text, d.stages[0].fabric_file));
	result.kernel = kernel();
	result.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
				  fmt::gmtime(std::time(nullptr)));
	for (const Stage &s : d.stages) {
		result.runs.push_back(run_stage(d, s, dir, progress));
		if (result.runs.size() == 1)
			result.shown = shown(d, result.runs[0]);
	}
}
} // namespace mrclab
