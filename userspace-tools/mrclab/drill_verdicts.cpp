// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "drill_verdicts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "drill_series.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
/* What never is reached. JSON does not have it. */
constexpr double never = std::numeric_limits<double>::infinity();

/* The requirement's samples: intervals that lie in the window. */
std::vector<std::size_t> inside(const DrillRun &run, const Window &w)
{
	std::vector<std::size_t> all;
	double since = 0;

	for (std::size_t i = 0; i < run.times.size(); i++) {
		/* Samples are taken a little late. */
		const double slack = (run.times[i] - since) / 4;

		if (since + slack >= static_cast<double>(w.from) / 1e9 &&
		    run.times[i] - slack <= static_cast<double>(w.to) / 1e9)
			all.push_back(i);
		since = run.times[i];
	}
	return all;
}

std::vector<double> inside(const DrillRun &run, const Series &s,
			   const Window &w)
{
	std::vector<double> all;

	for (const std::size_t i : inside(run, w))
		all.push_back(s.values[i]);
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

/* When an interval was to begin. */
uint64_t begin_of(const Drill &d, const DrillRun &run, std::size_t interval)
{
	return interval ? planned(run.times[interval - 1], d.sample) : 0;
}

/*
 * The length in ns of the longest run of intervals without a byte. @intervals
 * follow each other.
 */
uint64_t longest_gap(const Drill &d, const DrillRun &run, const Series &s,
		     const std::vector<std::size_t> &intervals)
{
	std::optional<uint64_t> begin;
	uint64_t longest = 0;

	for (const std::size_t i : intervals) {
		if (s.values[i] > 0) {
			begin.reset();
			continue;
		}
		if (!begin)
			begin = begin_of(d, run, i);
		longest = std::max(longest,
				   planned(run.times[i], d.sample) - *begin);
	}
	return longest;
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
	case Must::Kind::gap:
		return fmt::format("{}, {}: longest time without a byte",
				   m.what, when);
	case Must::Kind::typical:
	case Must::Kind::p99:
		return fmt::format("{}: {}{}", m.what,
				   m.kind == Must::Kind::p99
					   ? "latency of 99 %"
					   : "typical latency",
				   m.of.empty() ? "" : " against " + m.of);
	case Must::Kind::reaches:
		break;
	}
	return fmt::format("{}, after {}: time until {} of {}{}", m.what,
			   show_time(m.during.from), show_percent(m.share),
			   part, base);
}

double ms_of(uint64_t ns)
{
	return static_cast<double>(ns) / 1e6;
}

/* What a series is compared with, before its part. */
double base_of(const Drill &d, const DrillRun &run, const Must &m,
	       const Series &s)
{
	return m.rate ? static_cast<double>(m.rate)
		      : mean(inside(run, s, d.baseline));
}

/* Of one series: percent of what it had before, or ms, or a mean for "fair". */
double measured(const Drill &d, const DrillRun &run, const Must &m,
		const Series &s)
{
	const std::vector<double> values = inside(run, s, m.during);

	if (m.kind == Must::Kind::fair)
		return mean(values);
	if (m.kind == Must::Kind::gap)
		return values.empty()
			       ? never
			       : ms_of(longest_gap(d, run, s,
						   inside(run, m.during)));

	const double before = base_of(d, run, m, s) * m.part / m.parts;

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

/* What was reached never, or was never looked for, took all of the time. */
Verdict judge_time(const Drill &d, const Must &m, const std::string &text,
		   double got)
{
	Verdict v{text, ms_of(m.within), got, "ms", false};

	if (got == never) {
		v.text += m.kind == Must::Kind::gap ? ", no sample"
						    : ", never reached";
		v.got = ms_of(d.time - m.during.from);
		return v;
	}
	v.ok = v.got <= v.wanted;
	return v;
}

/* us of the flow, or nothing. */
std::optional<double> latency_of(const DrillRun &run, const Must &m,
				 const std::string &flow)
{
	for (const Latency &l : run.latencies)
		if (l.name == flow)
			return m.kind == Must::Kind::p99 ? l.p99 : l.typical;
	return {};
}

/* Of several flows the slowest counts. All of them must have ended well. */
Verdict judge_latency(const Drill &d, const DrillRun &run, const Must &m)
{
	const bool other = !m.of.empty();
	const double base = other ? latency_of(run, m, m.of).value_or(0) : 0;
	Verdict v{text_of(m), static_cast<double>(m.within) / 1e3, 0, "us",
		  false};
	bool all = !other || base > 0;

	if (other) {
		v.unit = "%";
		v.wanted = m.share * 100;
	}
	for (const std::string &name : latency_names(d.flows, m.what)) {
		const auto us = latency_of(run, m, name);

		all &= us.has_value();
		if (all)
			v.got = std::max(v.got, other ? 100 * *us / base : *us);
	}
	if (!all) {
		v.text += ", not measured";
		v.got = 0;
	}
	v.ok = all && v.got <= v.wanted;
	return v;
}

/* Of several series the worst counts. */
Verdict judge_one(const Drill &d, const DrillRun &run, const Must &m)
{
	const bool time =
		m.kind == Must::Kind::reaches || m.kind == Must::Kind::gap;
	const bool share =
		m.kind != Must::Kind::fair && m.kind != Must::Kind::gap;
	std::vector<double> all;
	bool nothing = false; /* to compare with */
	Verdict v;

	if (m.of_latency())
		return judge_latency(d, run, m);
	v.text = text_of(m);
	for (const std::string &name : series_names(run, m.what)) {
		const Series &series = find(run, name);

		all.push_back(measured(d, run, m, series));
		nothing |= share && base_of(d, run, m, series) <= 0;
	}
	if (all.empty())
		return v;
	/* A share of nothing is no measurement. */
	if (nothing)
		v.text += ", nothing before";
	if (time)
		return judge_time(d, m, v.text,
				  *std::max_element(all.begin(), all.end()));
	if (m.kind == Must::Kind::fair) {
		v.wanted = m.share;
		v.got = jain(all);
	} else {
		v.unit = "%";
		v.wanted = m.share * 100;
		v.got = *std::min_element(all.begin(), all.end());
	}
	v.ok = v.got >= v.wanted;
	return v;
}

/* Intervals from the flow's first byte on, see gaps_of(). */
std::vector<std::size_t> intervals_of(const DrillRun &run, const Flow &f,
				      const Series &s)
{
	const double start = static_cast<double>(f.start) / 1e9;
	const std::size_t end = s.values.size();
	std::size_t first = end, last = end;
	std::vector<std::size_t> all;

	for (std::size_t i = 0; i < end; i++) {
		if (run.times[i] <= start || s.values[i] <= 0)
			continue;
		first = std::min(first, i);
		last = i + 1;
	}
	/* A flow that never had a byte has a gap from its start on. */
	if (first == end) {
		first = 0;
		while (first < end && run.times[first] <= start)
			first++;
	} else if (f.ending != Ending::wait) {
		last = end;
	}
	for (std::size_t i = first; i < last; i++)
		all.push_back(i);
	return all;
}
} // namespace

std::vector<Verdict> judge(const Drill &d, const DrillRun &run)
{
	std::vector<Verdict> all;

	for (const Must &m : d.musts)
		all.push_back(judge_one(d, run, m));
	return all;
}

std::vector<Gap> gaps_of(const Drill &d, const DrillRun &run)
{
	std::vector<Gap> all;

	for (const Flow &f : d.flows) {
		if (f.latency)
			continue;
		const Series &s = find(run, f.name);

		all.push_back(
			{f.name, ms_of(longest_gap(d, run, s,
						   intervals_of(run, f, s)))});
	}
	return all;
}
} // namespace mrclab
