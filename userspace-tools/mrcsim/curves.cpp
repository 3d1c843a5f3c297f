// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "curves.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace mrcsim
{
namespace
{
/* More points are not to be seen. */
constexpr std::size_t most_points = 500;
constexpr double ps_per_us = 1e6;

/* That of @name, made if there is none. */
Curve &curve_of(std::vector<Curve> &all, const std::string &name)
{
	for (Curve &c : all)
		if (c.name == name)
			return c;
	all.push_back({name, {}});
	return all.back();
}
} // namespace

std::vector<Curve> fct_curves(const std::vector<RunResult> &runs)
{
	std::vector<Curve> all;

	for (const RunResult &r : runs) {
		Curve &c = curve_of(all, r.column);

		for (const FlowRow &f : r.rows)
			if (f.ended != never_ps && !f.failed)
				c.points.emplace_back(
					static_cast<double>(f.ended - f.began) /
						ps_per_us,
					0);
	}
	for (Curve &c : all) {
		const std::size_t n = c.points.size();
		const std::size_t kept = std::min(n, most_points);
		std::vector<std::pair<double, double>> points;

		std::sort(c.points.begin(), c.points.end());
		for (std::size_t i = 1; i <= kept; i++) {
			/* The last one is always kept. */
			const std::size_t rank = (n * i + kept - 1) / kept;

			points.emplace_back(c.points[rank - 1].first,
					    100.0 * static_cast<double>(rank) /
						    static_cast<double>(n));
		}
		c.points = std::move(points);
	}
	return all;
}

std::vector<Curve> rate_curves(const std::vector<RunResult> &runs,
			       u64 Sample::*sum, double scale)
{
	std::vector<Curve> all;

	for (const RunResult &r : runs) {
		Curve &c = curve_of(all, r.column);
		Sample before;

		if (!c.points.empty())
			continue;
		for (const Sample &s : r.samples) {
			const double us =
				static_cast<double>(s.at - before.at) /
				ps_per_us;

			c.points.emplace_back(
				static_cast<double>(s.at) / ps_per_us,
				static_cast<double>(s.*sum - before.*sum) *
					scale / us);
			before = s;
		}
	}
	return all;
}

std::vector<Figure> figures_of(const std::vector<RunResult> &runs)
{
	std::vector<Figure> all{{"Flow completion time", "time, us",
				 "flows that were finished, %",
				 fct_curves(runs)}};
	const auto sampled = [](const RunResult &r) {
		return r.samples.size() > 1;
	};

	if (std::none_of(runs.begin(), runs.end(), sampled))
		return all;
	/* Bytes per us are 8 Mbit/s. */
	all.push_back({"Goodput of all hosts", "time, us", "Gbit/s",
		       rate_curves(runs, &Sample::placed, 0.008)});
	all.push_back({"Marked packets", "time, us", "packets per us",
		       rate_curves(runs, &Sample::marked, 1)});
	all.push_back({"Packets that were sent again", "time, us",
		       "packets per us",
		       rate_curves(runs, &Sample::resent, 1)});
	return all;
}

gnuplot::Plot plot_of(const Figure &f)
{
	using gnuplot::literal;
	gnuplot::Plot plot;
	std::string data, lines;
	std::size_t n = 0;

	plot.width = 800;
	plot.height = 380;
	for (const Curve &c : f.curves) {
		if (c.points.empty())
			continue;
		data += fmt::format("$c{} << EOD\n", n);
		for (const auto &[x, y] : c.points)
			data += fmt::format("{:.6g} {:.6g}\n", x, y);
		data += "EOD\n";
		lines += fmt::format(
			"{} $c{} using 1:2 with lines lw 2 lc rgb '{}' title "
			"{}",
			n ? "," : "plot", n,
			gnuplot::palette[n % gnuplot::palette.size()],
			literal(gnuplot::one_line(c.name)));
		n++;
	}
	plot.script = data +
		      fmt::format("set title {}\nset xlabel {}\nset ylabel "
				  "{}\nset yrange [0:*]\n"
				  "set border 3 lc rgb '#444444'\n"
				  "set tics nomirror out\n"
				  "set grid lc rgb '#dddddd' lw 1 dt 1\n"
				  "set key outside right top Left reverse\n",
				  literal(f.title), literal(f.x), literal(f.y));
	/* Without data gnuplot still draws the axes, if it knows how long they
	 * are. */
	plot.script += n ? lines + "\n"
			 : "set xrange [0:1]\nset yrange [0:1]\nplot NaN "
			   "notitle\n";
	return plot;
}
} // namespace mrcsim
