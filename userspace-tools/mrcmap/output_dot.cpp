// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "output.hpp"

#include <map>

#include <fmt/format.h>

#include "calendar.hpp"
#include "dot.hpp"

namespace mrcmap
{
namespace
{
using mrclab::Topology;

constexpr const char *healthy = "#2e8b57";
constexpr const char *unknown = "#b0b0b0";
constexpr const char *slow = "#c9a400";
constexpr const char *lossy = "#e07000";
constexpr const char *dead = "#cc0000";

bool is_dead(State s)
{
	return s == State::down || s == State::gray;
}

const char *colour(State s)
{
	if (is_dead(s))
		return dead;
	return s == State::lossy ? lossy : slow;
}

class Map
{
public:
	Map(const Topology &t, const Snapshot &s) : t_(t), s_(s)
	{
		for (const Alarm &a : s.alarms) {
			const Place &p = a.finding.place;

			if (p.element == Element::t0 ||
			    p.element == Element::t1)
				nodes_[p.number] = &a.finding;
			else
				links_[p.number].push_back(&a.finding);
		}
	}

	std::string text() const
	{
		mrclab::Picture p;

		p.title = fmt::format("fabric {}, {}", t_.fabric().name,
				      iso_time(s_.wall));
		for (const Alarm &a : s_.alarms)
			p.more.push_back(finding_line(t_, a.finding));
		p.colour = [this](const mrclab::Node &n) { return node(n); };
		p.link = [this](uint32_t i) { return link(i); };
		return mrclab::dot_of(t_, p);
	}

private:
	std::string node(const mrclab::Node &n) const
	{
		const auto f = nodes_.find(t_.index(n));

		if (n.kind == mrclab::Kind::host)
			return n.number > s_.agents.size() ||
					       s_.agents[n.number - 1].silent
				       ? unknown
				       : healthy;
		return f == nodes_.end() ? healthy : colour(f->second->state);
	}

	/* An arrow shows the direction that is bad, if it is one. */
	std::string link(uint32_t i) const
	{
		const auto found = links_.find(i);

		if (found == links_.end()) {
			const bool known = 2 * i + 1 < s_.links.size() &&
					   s_.links[2 * i].loss &&
					   s_.links[2 * i + 1].loss;

			return fmt::format("color=\"{}\"",
					   known ? healthy : unknown);
		}

		const Finding &f = *found->second.front();
		const char *way = f.place.way == Way::up     ? "back"
				  : f.place.way == Way::down ? "forward"
							     : "none";

		return fmt::format("color=\"{}\", penwidth=2.5{}, dir={}",
				   colour(f.state),
				   is_dead(f.state) ? ", style=dashed" : "",
				   found->second.size() > 1 ? "both" : way);
	}

	const Topology &t_;
	const Snapshot &s_;
	std::map<uint32_t, const Finding *> nodes_;
	std::map<uint32_t, std::vector<const Finding *>> links_;
};
} // namespace

std::string dot_of(const Topology &t, const Snapshot &s)
{
	return Map(t, s).text();
}
} // namespace mrcmap
