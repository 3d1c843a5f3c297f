// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "dot.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "../common/gnuplot_text.hpp"

namespace mrclab
{
namespace
{
constexpr std::size_t most_lines = 12; /* below the title */

/* A string of dot, in which backslashes begin escapes. @end ends each line. */
std::string escaped(const std::string &line, const std::string &end = "")
{
	std::string out;

	for (const char c : gnuplot::one_line(line))
		out += c == '"' || c == '\\' ? std::string("\\") + c
					     : std::string(1, c);
	return out + end;
}

std::string caption(const Picture &p)
{
	std::string out = escaped(p.title, "\\l");

	for (std::size_t i = 0; i < std::min(p.more.size(), most_lines); i++)
		out += escaped(p.more[i], "\\l");
	if (p.more.size() > most_lines)
		out += fmt::format("and {} more\\l",
				   p.more.size() - most_lines);
	return out;
}

/* Many links side by side are easier to follow when they are steep. */
double distance(const Topology &t)
{
	const std::size_t row = std::max<std::size_t>(
		t.fabric().all_hosts(),
		std::size_t(t.fabric().planes) * t.fabric().t0);

	return std::min(4.0, 0.7 + 0.12 * static_cast<double>(row));
}

/* Invisible links keep the nodes of a rank in their order. */
std::string rank(const Topology &t, Kind k, const Picture &p)
{
	std::string out = "{ rank=same\n", chain;

	for (const Node &n : t.nodes()) {
		if (n.kind != k)
			continue;
		out += fmt::format("\"{}\" [color=\"{}\", shape={}]\n",
				   escaped(n.name), p.colour(n),
				   n.plane ? "box" : "ellipse");
		chain += (chain.empty() ? "\"" : " -- \"") + escaped(n.name) +
			 "\"";
	}
	if (chain.find(" -- ") != std::string::npos)
		out += chain + " [style=invis]\n";
	return out + "}\n";
}
} // namespace

std::string dot_of(const Topology &t, const Picture &picture)
{
	std::string out =
		fmt::format("graph {{\n"
			    "graph [label=\"{}\", labelloc=b, labeljust=l, "
			    "fontname=\"sans-serif\", fontsize=12, "
			    "ranksep={:.2f}, nodesep=0.15, splines=line, "
			    "outputorder=edgesfirst]\n"
			    "node [fontname=\"sans-serif\", fontsize=11, "
			    "style=filled, fillcolor=white, penwidth=1.6, "
			    "margin=\"0.06,0.03\", width=0.4, height=0.28]\n"
			    "edge [penwidth=1.2, arrowsize=0.7]\n",
			    caption(picture), distance(t));

	for (const Kind k : {Kind::t1, Kind::t0, Kind::host})
		out += rank(t, k, picture);
	/* dot puts the first of two nodes above the second one. */
	for (uint32_t i = 0; i < t.links().size(); i++)
		out += fmt::format(
			"\"{}\" -- \"{}\" [{}]\n",
			escaped(t.nodes()[t.links()[i].high.node].name),
			escaped(t.nodes()[t.links()[i].low.node].name),
			picture.link(i));
	return out + "}\n";
}
} // namespace mrclab
