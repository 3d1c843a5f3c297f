/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: charts, as scripts for gnuplot. */
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../common/gnuplot_text.hpp"
#include "stats.hpp"

namespace mrcbench
{
struct Line {
	std::string name;
	/* One mark for each place of the chart: the median with its spread. */
	std::vector<std::optional<mrcperf::Summary>> marks;
};

struct Chart {
	std::string title;
	std::string x;		     /* title of the places */
	std::string y;		     /* title of the values, with unit */
	std::vector<std::string> at; /* names of the places */
	std::vector<Line> lines;
};

/*
 * Places are equidistant, whatever their names. A few places with values of
 * similar size become bars from zero; many places become lines. Values that
 * differ by more than a factor of 30 are drawn on a logarithmic scale. The
 * smallest and the largest repetition are drawn as whiskers.
 */
gnuplot::Plot plot_of(const Chart &chart);

/* Distance of the lines of a linear scale from 0 to @top: 1, 2 or 5 times 10^n.
 */
double tick_step(double top, int most);
} // namespace mrcbench
