// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "places.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace mrcmap
{
namespace
{
Element link_element(const mrclab::Topology &t, uint32_t link)
{
	return t.nodes()[t.links()[link].low.node].kind == mrclab::Kind::host
		       ? Element::nic_link
		       : Element::fabric_link;
}

/* Both directions of a link say "direction unknown"; switches come last. */
int rank(const Place &p)
{
	if (p.element == Element::t0 || p.element == Element::t1)
		return 2;
	return p.way == Way::both ? 0 : 1;
}
} // namespace

Places::Places(const mrclab::Topology &t, const Plan &plan)
{
	std::map<std::pair<uint32_t, uint32_t>, uint32_t> times;
	std::map<std::vector<std::pair<uint32_t, uint32_t>>, uint32_t> known;

	for (uint32_t i = 0; i < t.links().size(); i++)
		for (const Way w : {Way::up, Way::down, Way::both})
			places_.push_back({link_element(t, i), i, w});

	/* Switches, by the index of their node. */
	std::vector<uint32_t> of_node(t.nodes().size(), UINT32_MAX);

	for (uint32_t i = 0; i < t.nodes().size(); i++) {
		if (t.nodes()[i].kind == mrclab::Kind::host)
			continue;
		of_node[i] = static_cast<uint32_t>(places_.size());
		places_.push_back({t.nodes()[i].kind == mrclab::Kind::t0
					   ? Element::t0
					   : Element::t1,
				   i, Way::both});
	}
	for (const ProbePath &p : plan.paths())
		for (const mrclab::Direction &d : p.hops) {
			const uint32_t node = of_node[t.from(d).node];

			times[{3 * d.link + (d.up ? 0 : 1), p.id}]++;
			times[{of_link(d.link), p.id}]++;
			if (node != UINT32_MAX)
				times[{node, p.id}]++;
		}
	passages_.resize(places_.size());
	of_path_.resize(plan.paths().size());
	for (const auto &[key, n] : times) {
		passages_[key.first].push_back({key.second, n});
		of_path_[key.second].push_back(key.first);
	}
	for (uint32_t i = 0; i < places_.size(); i++) {
		std::vector<std::pair<uint32_t, uint32_t>> shape;
		uint32_t common = 0;

		for (const Passage &p : passages_[i])
			common = std::gcd(common, p.times);
		for (const Passage &p : passages_[i])
			shape.emplace_back(p.path, p.times / common);

		const auto [at, fresh] = known.emplace(
			shape, static_cast<uint32_t>(groups_.size()));

		if (fresh)
			groups_.emplace_back();
		groups_[at->second].push_back(i);
		group_.push_back(at->second);
	}
	for (const ProbePath &p : plan.paths())
		hops_.push_back(p.hops.size());
	parts_.resize(places_.size());
	for (uint32_t i = 0; i < t.nodes().size(); i++)
		if (of_node[i] != UINT32_MAX)
			for (const mrclab::Direction &d :
			     t.sent_by(t.nodes()[i]))
				parts_[of_node[i]].push_back(
					3 * d.link + (d.up ? 0 : 1));
}

void name_first(const Places &places, Cause &cause)
{
	std::vector<uint32_t> &all = cause.rivals;

	all.push_back(cause.place);
	std::sort(all.begin(), all.end(), [&](uint32_t a, uint32_t b) {
		const Place &x = places.place(a), &y = places.place(b);

		return std::pair(rank(x), x) < std::pair(rank(y), y);
	});
	all.erase(std::unique(all.begin(), all.end()), all.end());
	cause.place = all.front();
	all.erase(all.begin());
}
} // namespace mrcmap
