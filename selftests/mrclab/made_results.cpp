// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "made_results.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace mrclab
{
namespace
{
double number(Random &r)
{
	switch (draw(r, 0, 3)) {
	case 0:
		return 0;
	case 1:
		return static_cast<double>(draw(r, 0, 1000));
	case 2:
		return -std::uniform_real_distribution<>(0, 1e-300)(r);
	default:
		return std::uniform_real_distribution<>(0, 1e11)(r);
	}
}

DrillRun random_run(Random &r, const std::string &devices)
{
	DrillRun run;
	double at = 0;

	run.devices = devices;
	for (uint64_t n = draw(r, 0, 20); n > 0; n--) {
		at += std::uniform_real_distribution<>(0.001, 2)(r);
		run.times.push_back(at);
	}
	for (uint64_t n = draw(r, 0, 5); n > 0; n--) {
		Series s;

		s.name = fmt::format("{} {}", n, hostile_text(r, 8));
		s.flow = draw(r, 0, 1) == 1;
		for (std::size_t i = 0; i < run.times.size(); i++)
			s.values.push_back(number(r));
		run.series.push_back(s);
	}
	for (uint64_t n = draw(r, 0, 5); n > 0; n--)
		run.events.push_back(
			{number(r), hostile_text(r, 12), number(r)});
	for (uint64_t n = draw(r, 0, 3); n > 0; n--)
		run.flows.push_back({hostile_text(r, 6), draw(r, 0, 1) == 1,
				     hostile_text(r, 30)});
	for (uint64_t n = draw(r, 0, 3); n > 0; n--) {
		Latency l{fmt::format("{}{}", n, hostile_text(r, 6)), 0, 0, 0,
			  0};

		double us = 0;

		for (double *to : {&l.min, &l.typical, &l.p99, &l.p999})
			*to = us += std::abs(number(r));
		run.latencies.push_back(l);
	}
	for (uint64_t n = draw(r, 0, 3); n > 0; n--)
		run.gaps.push_back({hostile_text(r, 6), std::abs(number(r))});
	for (uint64_t n = draw(r, 0, 3); n > 0; n--)
		run.verdicts.push_back({hostile_text(r, 20), number(r),
					number(r), hostile_text(r, 2),
					draw(r, 0, 1) == 1});
	return run;
}

double of_plane(const std::string &devices, uint32_t plane, double at)
{
	const bool up = at <= 1 + plane + 1e-9;

	if (devices == "rxe")
		return plane == 2 && up ? 40e6 : 0;
	return up ? 40e6 : 0;
}

DrillRun stairs_of(const std::string &devices)
{
	DrillRun run;
	Series write{"write", true, {}};

	run.devices = devices;
	for (int i = 1; i <= 110; i++)
		run.times.push_back(i / 10.0);
	write.values.assign(run.times.size(), 0);
	for (uint32_t p = 1; p <= 8; p++) {
		Series s{fmt::format("plane {}", p), false, {}};

		for (std::size_t i = 0; i < run.times.size(); i++) {
			s.values.push_back(of_plane(devices, p, run.times[i]));
			write.values[i] += s.values.back() * 0.93;
		}
		run.series.push_back(s);
		run.events.push_back(
			{1.0 + p, fmt::format("h1:p{}+ down", p), 1.01 + p});
	}
	run.series.push_back(write);
	run.flows.push_back({"write", devices == "mrc",
			     devices == "mrc" ? "" : "status 12\nscnt=<128>"});
	run.gaps = {{"write", devices == "mrc" ? 0.0 : 8000.0}};
	if (devices == "mrc")
		run.verdicts = {
			{"write, 3 s to 7 s: worst sample at least 60 %", 60,
			 87.23, "%", true},
			{"write: back within 200 ms", 200, 260, "ms", false}};
	return run;
}
} // namespace

std::string hostile_text(Random &random, std::size_t most)
{
	static const std::array<const char *, 40> parts{
		"'",	  "\"",	    "\\",   "`",    "@",       "$",
		"{",	  "}",	    "^",    "_",    "#",       ";",
		"\n",	  "\t",	    "!",    "|",    "<",       ">",
		"&",	  "%",	    "''",   "\\n",  "*",       "[",
		"]",	  "~",	    "/",    "EOD",  "\nEOD\n", "]]>",
		"-->",	  "&amp;",  "\x7f", "\x01", "\u00e9",  "\u20ac",
		"\ufffe", "\u0085", "a",    " b",
	};
	std::string text;

	for (uint64_t n = draw(random, 0, most); n > 0; n--)
		text += parts[draw(random, 0, parts.size() - 1)];
	return text;
}

DrillResult random_result(Random &random)
{
	DrillResult r;

	r.name = fmt::format("drill-{}", draw(random, 0, 1000000));
	r.title = hostile_text(random, 20);
	r.figure = hostile_text(random, 3);
	r.published = hostile_text(random, 20);
	r.about = hostile_text(random, 60);
	r.fabric = hostile_text(random, 20);
	r.kernel = hostile_text(random, 5);
	r.date = hostile_text(random, 5);
	for (const char *devices : {"mrc", "rxe"})
		if (draw(random, 0, 2) > 0)
			r.runs.push_back(random_run(random, devices));
	for (const DrillRun &run : r.runs)
		for (const Series &s : run.series)
			if (draw(random, 0, 2) > 0)
				r.shown.push_back(s.name);
	return r;
}

DrillResult stairs()
{
	DrillResult r;

	r.name = "fig9a";
	r.title = "Fig. 9a: eight planes are lost";
	r.figure = "9a";
	r.published = "a step of 1/8 with each plane";
	r.about = "One.\nTwo.\n\nThree.";
	r.fabric = "fig9a: 8 planes";
	r.kernel = "7.2";
	r.date = "2026-01-01T00:00:00Z";
	r.shown = {"write"};
	for (int p = 1; p <= 8; p++)
		r.shown.push_back(fmt::format("plane {}", p));
	r.runs = {stairs_of("mrc"), stairs_of("rxe")};
	return r;
}
} // namespace mrclab
