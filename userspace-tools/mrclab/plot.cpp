// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "plot.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace mrclab
{
namespace
{
using gnuplot::literal;

/* In pixels. */
constexpr double width = 960, left = 84, right = 190;
constexpr double title = 32, between = 40, below = 60;
constexpr double least_panel = 200, legend_line = 19;
constexpr double label_line = 15;    /* from label to label */
constexpr double label_letter = 4.5; /* the height of a slanted letter */

constexpr std::size_t label_letters = 26, name_letters = 22;
constexpr std::size_t many_events = 40;

/* The name of a run in its panel. */
std::string name_of(const DrillRun &run)
{
	return run.devices == "mrc"   ? "MRC"
	       : run.devices == "rxe" ? "RoCE (rxe)"
				      : run.devices;
}

const Series *find(const DrillRun &run, const std::string &name)
{
	for (const Series &s : run.series)
		if (s.name == name)
			return &s;
	return nullptr;
}

/* The lines that are to be seen in a panel. */
std::vector<const Series *> shown(const DrillResult &result,
				  const DrillRun &run)
{
	std::vector<const Series *> all;

	for (const std::string &name : result.shown)
		if (const Series *s = find(run, name))
			all.push_back(s);
	return all;
}

/* P of "plane P", "ev pP..." and "pP...", the names of links; otherwise 0. */
uint32_t plane_of(const std::string &name)
{
	uint32_t plane = 0;

	for (const std::string prefix : {"plane ", "ev p", "p"})
		if (name.starts_with(prefix)) {
			std::from_chars(name.data() + prefix.size(),
					name.data() + name.size(), plane);
			break;
		}
	return plane;
}

std::vector<std::string> flows_of(const DrillResult &result)
{
	std::vector<std::string> names;

	for (const DrillRun &run : result.runs)
		for (const Series &s : run.series)
			if (s.flow && s.name != "total" &&
			    std::find(names.begin(), names.end(), s.name) ==
				    names.end())
				names.push_back(s.name);
	return names;
}

/*
 * A flow keeps its colour in other runs, and when other series are shown. A
 * flow alone is the total.
 */
const char *flow_colour(const DrillResult &result, const std::string &name)
{
	const std::vector<std::string> names = flows_of(result);
	const auto at = std::find(names.begin(), names.end(), name);

	if (name == "total" || names.size() == 1)
		return "#000000";
	return gnuplot::palette[static_cast<std::size_t>(at - names.begin()) %
				gnuplot::palette.size()];
}

/* Of "ev p1 h1>h2 0000c123": the hosts. */
std::string hosts_of_ev(const std::string &name)
{
	const std::size_t at = name.find(" h");

	return name.substr(at + 1, name.rfind(' ') - at - 1);
}

/* There is room for 17 letters: hosts are left out if all EVs have the same. */
std::string legend_of(const DrillResult &result, const std::string &name)
{
	if (!name.starts_with("ev "))
		return name;
	for (const std::string &other : result.shown)
		if (other.starts_with("ev ") &&
		    hosts_of_ev(other) != hosts_of_ev(name))
			return name.substr(3);
	return name.substr(0, name.find(" h")) + name.substr(name.rfind(' '));
}

/* EVs of a plane have its colour, and differ in their dashes. */
int ev_dashes(const DrillResult &result, const std::string &name)
{
	constexpr int kinds = 5; /* of gnuplot */
	int before = 0;

	for (const std::string &other : result.shown) {
		if (other == name)
			break;
		before += other.starts_with("ev ") &&
			  plane_of(other) == plane_of(name);
	}
	return 1 + before % kinds;
}

/* Flows are thick, planes thin, links dotted: colours serve for all of them. */
std::string style_of(const DrillResult &result, const Series &s)
{
	const char *colour = s.flow ? flow_colour(result, s.name)
				    : plane_colour(plane_of(s.name));
	const bool plane = s.name.starts_with("plane ");
	const int dashes = s.flow || plane ? 1
			   : s.name.starts_with("ev ")
				   ? ev_dashes(result, s.name)
				   : 3;

	return fmt::format("lc rgb '{}' lw {} dt {}", colour,
			   s.flow ? 2.2 : 1.3, dashes);
}

/* The largest x and y of all panels. */
struct Range {
	double x = 0, y = 0;
};

Range range_of(const DrillResult &result)
{
	Range r;

	for (const DrillRun &run : result.runs) {
		if (!run.times.empty())
			r.x = std::max(r.x, run.times.back());
		for (const Series *s : shown(result, run))
			for (const double v : s->values)
				r.y = std::max(r.y, v / 1e6);
	}
	/* gnuplot refuses empty ranges. */
	if (!(r.x > 0) || !std::isfinite(r.x))
		r.x = 1;
	if (!(r.y > 0) || !std::isfinite(r.y))
		r.y = 1;
	r.y *= 1.15; /* the name of the run is above the lines */
	return r;
}

/* An event, or several that are too close to each other for two labels. */
struct Label {
	double at = 0, last = 0;
	std::vector<std::string> texts;

	void add(const Event &e)
	{
		last = e.at;
		texts.push_back(e.text);
	}
	/* Flapping has one label. */
	bool takes(const Event &e, double closest) const
	{
		return e.at < at + closest ||
		       (e.at < last + 4 * closest &&
			std::find(texts.begin(), texts.end(), e.text) !=
				texts.end());
	}
	std::string text() const
	{
		const std::string t = gnuplot::shortened(
			gnuplot::one_line(texts[0]), label_letters);

		return texts.size() > 1
			       ? fmt::format("{} (+{})", t, texts.size() - 1)
			       : t;
	}
};

std::vector<Label> labels_of(const DrillRun &run, const Range &range)
{
	const double closest = label_line / (width - left - right) * range.x;
	std::vector<Label> labels;

	for (const Event &e : run.events) {
		if (!(e.at >= 0 && e.at <= range.x) || e.text.empty())
			continue;
		if (labels.empty() || !labels.back().takes(e, closest))
			labels.push_back({e.at, e.at, {}});
		labels.back().add(e);
	}
	return labels;
}

/* Lines and labels slant upwards from their events. */
double height_of(const std::vector<Label> &labels)
{
	std::size_t longest = 0;

	for (const Label &l : labels)
		longest = std::max(longest, l.text().size());
	return longest ? 10 + label_letter * static_cast<double>(longest) : 0;
}

/* A block of data: seconds, then Mbit/s of each series. */
std::string data_of(const DrillRun &run,
		    const std::vector<const Series *> &series)
{
	std::string out = "$run << EOD\n";
	const auto row = [&](double at, std::size_t i) {
		out += fmt::format("{:.6g}", at);
		for (const Series *s : series)
			out += i < s->values.size()
				       ? fmt::format(" {:.6g}",
						     s->values[i] / 1e6)
				       : " NaN";
		out += "\n";
	};

	/* Intervals have two ends. */
	if (!run.times.empty())
		row(run.times.size() > 1
			    ? std::max(0.0, 2 * run.times[0] - run.times[1])
			    : 0,
		    0);
	for (std::size_t i = 0; i < run.times.size(); i++)
		row(run.times[i], i);
	return out + "EOD\n";
}

std::string marks_of(const DrillRun &run, const std::vector<Label> &labels,
		     const Range &range)
{
	/* Many lines would hide the curves. */
	const char *colour =
		run.events.size() > many_events ? "#dddddd" : "#888888";
	std::string out;

	for (const Event &e : run.events)
		if (e.at >= 0 && e.at <= range.x)
			out += fmt::format(
				"set arrow from first {0:.6g}, "
				"graph 0 to first {0:.6g}, graph 1 "
				"nohead lw 1 dt 2 lc rgb '{1}' back\n",
				e.at, colour);
	for (const Label &l : labels)
		out += fmt::format(
			"set label {} at first {:.6g}, graph 1.0 "
			"left rotate by 45 offset 0.4,0.4 font ',10' "
			"tc rgb '#444444'\n",
			literal(l.text()), l.at);
	return out;
}

/* Where a panel is, in shares of the picture's height. */
struct Place {
	double upper = 1, lower = 0;
	bool first = false, last = false;
};

std::string plotted_lines(const DrillResult &result, const DrillRun &run,
		     const std::vector<const Series *> &series)
{
	std::string out = "plot";
	int column = 2;

	/* Without data gnuplot still draws the axes. */
	if (series.empty() || run.times.empty())
		return "plot NaN notitle\n";
	for (const Series *s : series) {
		out += fmt::format(
			"{} $run using 1:{} with fsteps {} title {}",
			column == 2 ? "" : ",", column, style_of(result, *s),
			literal(gnuplot::shortened(
				gnuplot::one_line(legend_of(result, s->name)),
				name_letters)));
		column++;
	}
	return out + "\n";
}

std::string panel(const DrillResult &result, const DrillRun &run,
		  const Range &range, const Place &place)
{
	const std::vector<const Series *> series = shown(result, run);
	std::string out = data_of(run, series);

	out += fmt::format(
		"set tmargin at screen {:.4f}\n"
		"set bmargin at screen {:.4f}\n"
		"unset arrow\nunset label\nset xlabel {} offset 0,0.4\n"
		"set label {} at graph 0.99, graph 0.94 right font ',14'\n",
		place.upper, place.lower, place.last ? "'time, s'" : "''",
		literal(name_of(run)));
	if (place.first)
		out += fmt::format("set label {} at screen {:.4f}, "
				   "screen 1 offset 0,-1 left font ',15'\n",
				   literal(result.title), left / width);
	return out + marks_of(run, labels_of(run, range), range) +
	       plotted_lines(result, run, series);
}

/* What all panels have in common. */
std::string axes(const Range &range)
{
	return fmt::format(
		"set lmargin at screen {:.4f}\n"
		"set rmargin at screen {:.4f}\n"
		"set xrange [0:{:.6g}]\nset yrange [0:{:.6g}]\n"
		"set border 3 lc rgb '#444444'\n"
		"set tics nomirror out\n"
		"set grid lc rgb '#dddddd' lw 1 dt 1\n"
		"set ylabel 'goodput, Mbit/s' offset 0.5,0\n"
		"set key at graph 1.02, graph 1 left top Left reverse\n",
		left / width, 1 - right / width, range.x, range.y);
}
} // namespace

const char *plane_colour(uint32_t plane)
{
	return gnuplot::palette[(plane + gnuplot::palette.size() - 1) %
				gnuplot::palette.size()];
}

gnuplot::Plot plot_of(const DrillResult &result)
{
	const Range range = range_of(result);
	const double panel_height = std::max(
		least_panel,
		legend_line * static_cast<double>(2 + result.shown.size()));
	std::vector<double> upper; /* edges of the panels, in pixels */
	double height = title;
	gnuplot::Plot plot;

	for (const DrillRun &run : result.runs) {
		upper.push_back(height + height_of(labels_of(run, range)));
		height = upper.back() + panel_height + between;
	}
	height += below - between;
	plot.width = static_cast<unsigned int>(width);
	plot.height = static_cast<unsigned int>(height);
	plot.script = axes(range) + "set multiplot\n";
	for (std::size_t i = 0; i < result.runs.size(); i++)
		plot.script += panel(result, result.runs[i], range,
				     {1 - upper[i] / height,
				      1 - (upper[i] + panel_height) / height,
				      i == 0, i + 1 == result.runs.size()});
	plot.script += "unset multiplot\n";
	return plot;
}
} // namespace mrclab
