// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "graph.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "dot.hpp"
#include "plot.hpp"
#include "status.hpp"
#include "text.hpp"

namespace mrclab
{
namespace
{
constexpr const char *bad = "#cc0000";

class Graph
{
public:
	Graph(const Topology &t, const Faults &faults)
		: t_(t), faults_(faults), down_(faults.down(t))
	{
	}

	std::string text() const
	{
		return dot_of(
			t_,
			{.title = summary(t_.fabric()),
			 .more = lines_of(fault_lines(t_, faults_)),
			 .colour = [this](const Node &n) { return colour(n); },
			 .link = [this](uint32_t i) { return link(i); }});
	}

private:
	bool all_down(const Node &n) const
	{
		const auto sent = t_.sent_by(n);

		return !sent.empty() &&
		       std::all_of(sent.begin(), sent.end(), [&](Direction d) {
			       return down_.contains(d);
		       });
	}

	std::string colour(const Node &n) const
	{
		return all_down(n) ? bad
		       : n.plane   ? plane_colour(n.plane)
				   : "#222222";
	}

	bool impaired(Direction d) const
	{
		return faults_.props(t_, d) != t_.props(d);
	}

	std::string link(uint32_t i) const
	{
		const Direction up{i, true}, from_high{i, false};
		const bool is_down =
			down_.contains(up) || down_.contains(from_high);
		const bool upwards = impaired(up);
		const bool downwards = impaired(from_high);

		if (is_down)
			return fmt::format("color=\"{}\", style=dashed, "
					   "penwidth=2.5",
					   bad);
		if (upwards || downwards)
			return fmt::format("color=\"{}\", penwidth=2.5, dir={}",
					   bad,
					   upwards && downwards ? "both"
					   : upwards		? "back"
								: "forward");
		return fmt::format("color=\"{}\"",
				   plane_colour(t_.links()[i].plane));
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
