/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: charts as SVG, without a library. */
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stats.hpp"

namespace mrcbench
{
struct Line {
	std::string name;
	/* One for each place of the chart; the median with its spread. */
	std::vector<std::optional<mrcperf::Summary>> marks;
};

struct Chart {
	std::string title;
	std::string x;		     /* what the places are */
	std::string y;		     /* what is shown, with its unit */
	std::vector<std::string> at; /* names of the places */
	std::vector<Line> lines;
};

/*
 * Places are equally far apart, whatever they are called. Few of them, of about
 * the same height, become bars from zero; many become lines; values that differ
 * by more than a factor of 30 are drawn on a logarithmic scale. The smallest and
 * largest repetition are drawn as whiskers.
 */
std::string svg(const Chart &chart);

/* Text as XML wants it; what XML cannot have becomes "?". */
std::string xml_text(const std::string &text);

/* Where the lines of a linear scale from 0 to @top go: 1, 2 or 5 times 10^n. */
double tick_step(double top, int most);
} // namespace mrcbench
