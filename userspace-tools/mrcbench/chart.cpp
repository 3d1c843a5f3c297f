// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "chart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace mrcbench
{
namespace
{
using gnuplot::literal;

constexpr unsigned int width = 760, height = 440;
constexpr double log_from = 30; /* ratio of the largest to the smallest value */
constexpr size_t most_bars = 6;
constexpr int most_ticks = 8;

std::string number(double v)
{
	if (v >= 1e6)
		return fmt::format("{:g}M", v / 1e6);
	if (v >= 1e4)
		return fmt::format("{:g}k", v / 1e3);
	return fmt::format("{:g}", v);
}

/* The values' axis. */
struct Scale {
	bool log = false;
	double low = 0, high = 0;
	std::vector<double> ticks;

	explicit Scale(const Chart &chart)
	{
		double smallest = std::numeric_limits<double>::infinity();

		for (const Line &line : chart.lines)
			for (const auto &m : line.marks) {
				if (!m)
					continue;
				high = std::max(high, m->max);
				if (m->min > 0)
					smallest = std::min(smallest, m->min);
			}
		if (!(high > 0))
			high = 1;
		log = high / smallest > log_from;
		if (log)
			logarithmic(smallest);
		else
			linear();
	}

private:
	void logarithmic(double smallest)
	{
		low = std::pow(10, std::floor(std::log10(smallest)));
		high = std::pow(10, std::ceil(std::log10(high)));
		for (double v = low; v <= high * 1.001; v *= 10)
			ticks.push_back(v);
		/* gnuplot may leave out a tick at the very end. */
		low /= 1.0001;
		high *= 1.0001;
	}

	void linear()
	{
		const double step = tick_step(high, most_ticks);

		high = std::ceil(high / step) * step;
		for (int i = 0; i * step <= high * 1.001; i++)
			ticks.push_back(i * step);
	}
};

const char *colour(size_t line)
{
	return gnuplot::palette[line % gnuplot::palette.size()];
}

/*
 * A block of data: place, median, smallest and largest. An empty line
 * interrupts the curve where nothing was measured.
 */
std::string data_of(const Chart &chart, const Scale &scale, size_t i,
		    double shift)
{
	std::string out = fmt::format("$line{} << EOD\n", i);
	const auto &marks = chart.lines[i].marks;
	const auto shown = [&scale](double v) {
		return scale.log ? std::max(v, scale.low) : v;
	};

	for (size_t at = 0; at < marks.size(); at++) {
		const auto &m = marks[at];

		out += m ? fmt::format("{:.6g} {:.6g} {:.6g} {:.6g}\n",
				       static_cast<double>(at) + shift,
				       shown(m->median), shown(m->min),
				       shown(m->max))
			 : "\n";
	}
	return out + "EOD\n";
}

std::string axes_of(const Chart &chart, const Scale &scale)
{
	std::string out = "set border 3 lc rgb '#444444'\n"
			  "set tics nomirror scale 0\nset xtics (";

	for (size_t i = 0; i < chart.at.size(); i++)
		out += fmt::format("{}{} {}", i ? ", " : "",
				   gnuplot::literal_tick(chart.at[i]), i);
	out += ")\nset ytics (";
	for (const double &v : scale.ticks)
		out += fmt::format("{}{} {:.6g}",
				   &v == scale.ticks.data() ? "" : ", ",
				   gnuplot::literal_tick(number(v)), v);
	out += fmt::format(")\nset grid ytics lc rgb '#dddddd' lt 1\n"
			   "set xrange [-0.5:{}.5]\n"
			   "set yrange [{:.6g}:{:.6g}]\n",
			   chart.at.empty() ? 0 : chart.at.size() - 1,
			   scale.low, scale.high);
	return out + (scale.log ? "set logscale y 10\n" : "");
}

std::string titles_of(const Chart &chart, const Scale &scale)
{
	return fmt::format("set tmargin 4.5\n"
			   "set label {} at graph 0, graph 1 left offset 0,2.6 "
			   "font ',15'\n"
			   "set label {} at graph 0, graph 1 left offset 0,1.1 "
			   "tc rgb '#444444'\n"
			   "set xlabel {} offset 0,0.4 tc rgb '#444444'\n"
			   "set key below left horizontal Left reverse\n",
			   literal(chart.title),
			   literal(chart.y +
				   (scale.log ? " (logarithmic)" : "") +
				   "; median, smallest and largest"),
			   literal(chart.x));
}

bool measured(const Line &line)
{
	return std::any_of(line.marks.begin(), line.marks.end(),
			   [](const auto &m) { return m.has_value(); });
}

/* From the smallest to the largest. gnuplot's own whiskers hide the median. */
std::string whiskers(size_t i, const std::string &of_colour)
{
	return fmt::format("$line{} using 1:3:(0):($4-$3) with vectors heads "
			   "size screen 0.004,90 lw 1 lc rgb '{}' notitle",
			   i, of_colour);
}

/* The parts of the command "plot" for a line: itself, and its whiskers. */
std::string parts_of(const Chart &chart, size_t i, bool bars)
{
	const std::string title = literal(chart.lines[i].name);

	/* gnuplot refuses empty blocks. */
	if (!measured(chart.lines[i]))
		return fmt::format("NaN with lines lw 2 lc rgb '{}' title {}",
				   colour(i), title);
	if (bars)
		return fmt::format("$line{} using 1:2 with boxes fs solid "
				   "noborder lc rgb '{}' title {}, {}",
				   i, colour(i), title, whiskers(i, "#000000"));
	return fmt::format("$line{} using 1:2 with linespoints pt 7 ps 0.6 "
			   "lw 2 lc rgb '{}' title {}, {}",
			   i, colour(i), title, whiskers(i, colour(i)));
}
} // namespace

double tick_step(double top, int most)
{
	const double raw = top / most;
	const double ten = std::pow(10, std::floor(std::log10(raw)));

	for (const double m : {1.0, 2.0, 5.0})
		if (m * ten >= raw * 0.999)
			return m * ten;
	return 10 * ten;
}

gnuplot::Plot plot_of(const Chart &chart)
{
	const Scale scale(chart);
	const bool bars = !scale.log && chart.at.size() <= most_bars;
	const auto lines = static_cast<double>(chart.lines.size());
	/* In places: the bars of a place stand side by side. */
	const double bar =
		std::min(0.8 / std::max(lines, 1.0),
			 0.09 * static_cast<double>(chart.at.size()));
	gnuplot::Plot plot{"", width, height};

	for (size_t i = 0; i < chart.lines.size(); i++)
		plot.script += data_of(
			chart, scale, i,
			bars ? (static_cast<double>(i) + 0.5 - lines / 2) * bar
			     : 0);
	plot.script += axes_of(chart, scale) + titles_of(chart, scale);
	plot.script += fmt::format("set boxwidth {:.6g} absolute\n"
				   "plot ",
				   bar * 0.92);
	for (size_t i = 0; i < chart.lines.size(); i++)
		plot.script += (i ? ", " : "") + parts_of(chart, i, bars);
	plot.script += chart.lines.empty() ? "NaN notitle\n" : "\n";
	return plot;
}
} // namespace mrcbench
