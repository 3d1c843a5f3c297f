// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "drill_series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include <fnmatch.h>

#include "error.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
/* "write" stands for "write 1", "write 2" and so on. */
bool is_flow(const std::string &name, const std::string &what)
{
	return what == "flows" || name == what || name.starts_with(what + " ");
}

/* Only names of directions have a colon. */
bool is_direction(const std::string &name)
{
	return name.find(':') != std::string::npos;
}

std::string plane_name(uint32_t plane)
{
	return fmt::format("plane {}", plane);
}

/* What never is reached. JSON does not have it. */
constexpr double never = std::numeric_limits<double>::infinity();

double rate(uint64_t before, uint64_t after, uint64_t ns)
{
	/* A counter goes back when its netdev or device is made anew. */
	return after < before || ns == 0
		       ? 0
		       : static_cast<double>(after - before) * 8e9 /
				 static_cast<double>(ns);
}

/* @bytes gives the counter in a reading. */
template <typename Bytes>
Series series_of(const std::string &name, const std::vector<Reading> &readings,
		 Bytes bytes)
{
	Series s;

	s.name = name;
	for (std::size_t i = 1; i < readings.size(); i++)
		s.values.push_back(rate(bytes(readings[i - 1]),
					bytes(readings[i]),
					readings[i].at - readings[i - 1].at));
	return s;
}

Counters counters_of(const Reading &r, Direction d)
{
	const auto c = r.links.find(d);

	return c == r.links.end() ? Counters() : c->second;
}

void add_flows(DrillRun &run, const Drill &d,
	       const std::vector<Reading> &readings)
{
	for (std::size_t f = 0; f < d.flows.size(); f++) {
		run.series.push_back(series_of(
			d.flows[f].name, readings,
			[f](const Reading &r) { return r.flows[f]; }));
		run.series.back().flow = true;
	}

	Series total;

	total.name = "total";
	total.flow = true;
	for (std::size_t i = 0; i < run.times.size(); i++) {
		double sum = 0;

		for (std::size_t f = 0; f < d.flows.size(); f++)
			sum += run.series[f].values[i];
		total.values.push_back(sum);
	}
	run.series.push_back(total);
}

void add_planes(DrillRun &run, const Topology &t,
		const std::vector<Reading> &readings)
{
	for (uint32_t p = 1; p <= t.fabric().planes; p++) {
		std::vector<Direction> of_hosts;

		for (uint32_t l = 0; l < t.links().size(); l++)
			if (t.links()[l].plane == p &&
			    t.nodes()[t.links()[l].low.node].kind == Kind::host)
				of_hosts.push_back({l, true});
		run.series.push_back(series_of(
			plane_name(p), readings, [&](const Reading &r) {
				uint64_t sum = 0;

				for (const Direction d : of_hosts)
					sum += counters_of(r, d).rx_bytes;
				return sum;
			}));
	}
}

/* The requirement's samples: intervals that lie in the window. */
std::vector<double> inside(const DrillRun &run, const Series &s,
			   const Window &w)
{
	std::vector<double> all;
	double since = 0;

	for (std::size_t i = 0; i < run.times.size(); i++) {
		/* Samples are taken a little late. */
		const double slack = (run.times[i] - since) / 4;

		if (since + slack >= static_cast<double>(w.from) / 1e9 &&
		    run.times[i] - slack <= static_cast<double>(w.to) / 1e9)
			all.push_back(s.values[i]);
		since = run.times[i];
	}
	return all;
}

double mean(const std::vector<double> &values)
{
	double sum = 0;

	for (const double v : values)
		sum += v;
	return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/* When the sample was to be taken that was taken a little late. */
uint64_t planned(double time, uint64_t interval)
{
	const auto at = static_cast<uint64_t>(std::llround(time * 1e9));

	return at % interval < interval / 4 ? at - at % interval : at;
}

/*
 * The moment at which the change of this time was complete: the kernel needs a
 * while for the netdevs of a switch, and longer on a busy machine. A run has an
 * event for each step of the timeline.
 */
uint64_t complete_at(const Drill &d, const DrillRun &run, uint64_t from)
{
	const std::vector<Step> &steps = d.stages.at(0).timeline;

	for (std::size_t i = 0; i < steps.size() && i < run.events.size(); i++)
		if (steps[i].at == from)
			return std::max(from,
					static_cast<uint64_t>(std::llround(
						run.events[i].done * 1e9)));
	return from;
}

/*
 * ms from there to the end of the first sample that is enough. Samples that
 * began before the change have what was there before.
 */
double reached_after(const Drill &d, const DrillRun &run, const Series &s,
		     const Must &m, double enough)
{
	const uint64_t complete = complete_at(d, run, m.during.from);
	uint64_t since = 0;

	for (std::size_t i = 0; i < run.times.size(); i++) {
		const uint64_t at = planned(run.times[i], d.sample);

		if (since >= m.during.from && at > complete &&
		    s.values[i] >= enough)
			return static_cast<double>(at - complete) / 1e6;
		since = at;
	}
	return never;
}

std::string text_of(const Must &m)
{
	const std::string part =
		m.parts == 1 ? std::string()
			     : fmt::format("{}/{} of ", m.part, m.parts);
	const std::string when = fmt::format(
		"{} to {}", show_time(m.during.from), show_time(m.during.to));

	const std::string base = m.rate ? show_rate(m.rate) : "before";

	switch (m.kind) {
	case Must::Kind::worst:
		return fmt::format("{}, {}: lowest sample against {}{}", m.what,
				   when, part, base);
	case Must::Kind::mean:
		return fmt::format("{}, {}: mean against {}{}", m.what, when,
				   part, base);
	case Must::Kind::fair:
		return fmt::format("{}, {}: Jain's index", m.what, when);
	case Must::Kind::reaches:
		break;
	}
	return fmt::format("{}, after {}: time until {} of {}{}", m.what,
			   show_time(m.during.from), show_percent(m.share),
			   part, base);
}

/* Of one series: percent of what it had before, or ms. */
double measured(const Drill &d, const DrillRun &run, const Must &m,
		const Series &s)
{
	const double all = m.rate ? static_cast<double>(m.rate)
				  : mean(inside(run, s, d.baseline));
	const double before = all * m.part / m.parts;
	const std::vector<double> values = inside(run, s, m.during);

	if (m.kind == Must::Kind::reaches)
		return before > 0
			       ? reached_after(d, run, s, m, before * m.share)
			       : never;
	if (values.empty() || before <= 0)
		return 0;
	return 100 / before *
	       (m.kind == Must::Kind::worst
			? *std::min_element(values.begin(), values.end())
			: mean(values));
}

const Series &find(const DrillRun &run, const std::string &name)
{
	return *std::find_if(
		run.series.begin(), run.series.end(),
		[&name](const Series &s) { return s.name == name; });
}

/* Of several series the worst counts. */
Verdict judge_one(const Drill &d, const DrillRun &run, const Must &m)
{
	const bool time = m.kind == Must::Kind::reaches;
	std::vector<double> all;
	Verdict v;

	v.text = text_of(m);
	for (const std::string &name : series_names(run, m.what)) {
		const Series &s = find(run, name);

		all.push_back(m.kind == Must::Kind::fair
				      ? mean(inside(run, s, m.during))
				      : measured(d, run, m, s));
	}
	if (all.empty())
		return v;
	if (m.kind == Must::Kind::fair) {
		v.wanted = m.share;
		v.got = jain(all);
	} else if (time) {
		v.unit = "ms";
		v.wanted = static_cast<double>(m.within) / 1e6;
		v.got = *std::max_element(all.begin(), all.end());
		if (v.got == never) {
			v.text += ", never reached";
			v.got = static_cast<double>(d.time - m.during.from) /
				1e6;
			return v;
		}
	} else {
		v.unit = "%";
		v.wanted = m.share * 100;
		v.got = *std::min_element(all.begin(), all.end());
	}
	v.ok = time ? v.got <= v.wanted : v.got >= v.wanted;
	return v;
}
} // namespace

void check_series(const Topology &t, const std::vector<Flow> &flows,
		  const std::string &name)
{
	if (name == "total" || name == "planes")
		return;
	if (std::any_of(flows.begin(), flows.end(), [&name](const Flow &f) {
		    return is_flow(f.name, name);
	    }))
		return;
	for (uint32_t p = 1; p <= t.fabric().planes; p++)
		if (name == plane_name(p))
			return;
	if (t.matching(name).empty())
		throw UsageError(fmt::format(
			"there is no series \"{}\"; there are the names of "
			"traffic, flows, total, planes, \"plane 1\", and "
			"directions of links like p1l1:h1",
			name));
}

void add_series(DrillRun &run, const Topology &t, const Drill &d,
		const std::vector<Reading> &readings)
{
	std::set<Direction> directions;

	for (std::size_t i = 1; i < readings.size(); i++)
		run.times.push_back(static_cast<double>(readings[i].at) / 1e9);
	add_flows(run, d, readings);
	add_planes(run, t, readings);
	for (const std::string &name : d.shown)
		for (const Direction dir : t.matching(name))
			directions.insert(dir);
	for (const Must &m : d.musts)
		for (const Direction dir : t.matching(m.what))
			directions.insert(dir);
	for (const Direction dir : directions)
		run.series.push_back(series_of(
			t.name(dir), readings, [dir](const Reading &r) {
				return counters_of(r, dir).tx_bytes;
			}));
}

std::vector<std::string> series_names(const DrillRun &run,
				      const std::string &what)
{
	std::vector<std::string> names;

	for (const Series &s : run.series) {
		const bool total = s.name == "total";

		if (s.flow && !total ? is_flow(s.name, what)
		    : s.name == what ? true
		    : what == "planes"
			    ? s.name.starts_with("plane ")
			    : is_direction(s.name) &&
				      fnmatch(what.c_str(), s.name.c_str(),
					      0) == 0)
			names.push_back(s.name);
	}
	return names;
}

std::vector<Verdict> judge(const Drill &d, const DrillRun &run)
{
	std::vector<Verdict> all;

	for (const Must &m : d.musts)
		all.push_back(judge_one(d, run, m));
	return all;
}
} // namespace mrclab
