/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: pictures of runs, as scripts for gnuplot. */
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../common/gnuplot_text.hpp"
#include "report.hpp"

namespace mrcsim
{
struct Curve {
	std::string name;
	std::vector<std::pair<double, double>> points;
};

struct Figure {
	std::string title, x, y; /* with units */
	std::vector<Curve> curves;
};

/*
 * The share of flows that had finished within a time, us and %: a curve for
 * each column, with the flows of all its seeds. Runs must have their rows.
 */
std::vector<Curve> fct_curves(const std::vector<RunResult> &runs);

/*
 * What a sum of the samples has grown by in each interval, for each us; a curve
 * for each column, of its first seed. @scale: what one is.
 */
std::vector<Curve> rate_curves(const std::vector<RunResult> &runs,
			       u64 Sample::*sum, double scale);

/* What there is to draw of these runs. Without samples there are no rates. */
std::vector<Figure> figures_of(const std::vector<RunResult> &runs);

gnuplot::Plot plot_of(const Figure &f);
} // namespace mrcsim
