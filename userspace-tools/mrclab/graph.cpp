// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "graph.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "../common/gnuplot_text.hpp"
#include "plot.hpp"
#include "status.hpp"

namespace mrclab
{
namespace
{
constexpr const char *bad = "#cc0000";
constexpr std::size_t most_lines = 12; /* of faults */

/* A string of dot, in which backslashes begin escapes. @end ends each line. */
std::string escaped(const std::string &line, const std::string &end = "")
{
	std::string out;

	for (const char c : gnuplot::one_line(line))
		out += c == '"' || c == '\\' ? std::string("\\") + c
					     : std::string(1, c);
	return out + end;
}

/* What the picture shows, and below it the words of the faults. */
std::string caption(const Topology &t, const Faults &faults)
{
	std::string text = fault_lines(t, faults);
	std::string out = escaped(summary(t.fabric()), "\\l");
	std::size_t lines = 0, begin = 0;

	while (begin < text.size()) {
		const std::size_t end =
			std::min(text.find('\n', begin), text.size());

		if (lines++ < most_lines)
			out += escaped(text.substr(begin, end - begin), "\\l");
		begin = end + 1;
	}
	if (lines > most_lines)
		out += fmt::format("and {} more\\l", lines - most_lines);
	return out;
}

class Graph
{
public:
	Graph(const Topology &t, const Faults &faults)
		: t_(t), faults_(faults), down_(faults.down(t))
	{
	}

	std::string text() const
	{
		std::string out = fmt::format(
			"graph {{\n"
			"graph [label=\"{}\", labelloc=b, labeljust=l, "
			"fontname=\"sans-serif\", fontsize=12, "
			"ranksep={:.2f}, nodesep=0.15, splines=line, "
			"outputorder=edgesfirst]\n"
			"node [fontname=\"sans-serif\", fontsize=11, "
			"style=filled, fillcolor=white, penwidth=1.6, "
			"margin=\"0.06,0.03\", width=0.4, height=0.28]\n"
			"edge [penwidth=1.2, arrowsize=0.7]\n",
			caption(t_, faults_), distance());

		for (const Kind k : {Kind::t1, Kind::t0, Kind::host})
			out += rank(k);
		for (uint32_t i = 0; i < t_.links().size(); i++)
			out += link(i);
		return out + "}\n";
	}

private:
	/* Many links side by side are easier to follow when they are steep. */
	double distance() const
	{
		const std::size_t row = std::max<std::size_t>(
			t_.fabric().all_hosts(),
			std::size_t(t_.fabric().planes) * t_.fabric().t0);

		return std::min(4.0, 0.7 + 0.12 * static_cast<double>(row));
	}

	bool all_down(const Node &n) const
	{
		const auto sent = t_.sent_by(n);

		return !sent.empty() &&
		       std::all_of(sent.begin(), sent.end(), [&](Direction d) {
			       return down_.contains(d);
		       });
	}

	std::string node(const Node &n) const
	{
		const char *colour = all_down(n) ? bad
				     : n.plane	 ? plane_colour(n.plane)
						 : "#222222";

		return fmt::format("\"{}\" [color=\"{}\", shape={}]\n",
				   escaped(n.name), colour,
				   n.plane ? "box" : "ellipse");
	}

	/* Invisible links keep the nodes of a rank in their order. */
	std::string rank(Kind k) const
	{
		std::string out = "{ rank=same\n", chain;

		for (const Node &n : t_.nodes()) {
			if (n.kind != k)
				continue;
			out += node(n);
			chain += (chain.empty() ? "\"" : " -- \"") +
				 escaped(n.name) + "\"";
		}
		if (chain.find(" -- ") != std::string::npos)
			out += chain + " [style=invis]\n";
		return out + "}\n";
	}

	bool impaired(Direction d) const
	{
		return faults_.props(t_, d) != t_.props(d);
	}

	std::string link(uint32_t i) const
	{
		const Link &l = t_.links()[i];
		const Direction up{i, true}, from_high{i, false};
		const bool is_down =
			down_.contains(up) || down_.contains(from_high);
		const bool upwards = impaired(up);
		const bool downwards = impaired(from_high);
		std::string style =
			fmt::format("color=\"{}\"", plane_colour(l.plane));

		if (is_down)
			style = fmt::format("color=\"{}\", style=dashed, "
					    "penwidth=2.5",
					    bad);
		else if (upwards || downwards)
			style = fmt::format(
				"color=\"{}\", penwidth=2.5, dir={}", bad,
				upwards && downwards ? "both"
				: upwards	     ? "back"
						     : "forward");
		/* dot puts the first of two nodes above the second one. */
		return fmt::format("\"{}\" -- \"{}\" [{}]\n",
				   escaped(t_.nodes()[l.high.node].name),
				   escaped(t_.nodes()[l.low.node].name), style);
	}

	const Topology &t_;
	const Faults &faults_;
	std::set<Direction> down_;
};
} // namespace

std::string dot_of(const Topology &t, const Faults &faults)
{
	return Graph(t, faults).text();
}
} // namespace mrclab
