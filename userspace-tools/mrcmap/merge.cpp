// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "merge.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mrcmap
{
namespace
{
/* Fewer bad links than this are links, whatever share of the switch they are.
 */
constexpr std::size_t least_links = 3;
/* Losses and delays of one switch differ by less than this factor. */
constexpr double most_ratio = 4;

bool is_dead(const Finding &f)
{
	return f.state == State::down || f.state == State::gray;
}

bool same_kind(const Finding &a, const Finding &b)
{
	return a.state == b.state || (is_dead(a) && is_dead(b));
}

/* How bad it is, to compare two of the same kind. */
double measure(const Finding &f)
{
	return f.state == State::slow ? static_cast<double>(f.extra_delay)
				      : f.loss;
}

/* Takes over the evidence of one that is a part of it. */
void absorb(Finding &into, const Finding &f)
{
	into.loss = std::max(into.loss, f.loss);
	into.extra_delay = std::max(into.extra_delay, f.extra_delay);
	into.confidence = std::min(into.confidence, f.confidence);
	into.paths += f.paths;
	into.sent += f.sent;
	into.lost += f.lost;
}

void join_directions(std::vector<Finding> &found)
{
	for (std::size_t i = 0; i < found.size(); i++)
		for (std::size_t j = i + 1; j < found.size();) {
			Finding &a = found[i];
			const Finding &b = found[j];

			if (is_switch(a.place) || is_switch(b.place) ||
			    a.place.number != b.place.number ||
			    !same_kind(a, b)) {
				j++;
				continue;
			}
			if (a.place.way != b.place.way)
				a.place.way = Way::both;
			absorb(a, b);
			found.erase(found.begin() +
				    static_cast<std::ptrdiff_t>(j));
		}
}

/* By the index of the link; none for links that no host has. */
std::vector<std::optional<bool>> carrier_of_links(const mrclab::Topology &t,
						  const Carriers &carriers)
{
	std::vector<std::optional<bool>> out(t.links().size());

	for (uint32_t i = 0; i < t.links().size(); i++) {
		const mrclab::Link &l = t.links()[i];
		const mrclab::Node &low = t.nodes()[l.low.node];

		if (low.kind == mrclab::Kind::host &&
		    low.number <= carriers.size() &&
		    l.plane <= carriers[low.number - 1].size())
			out[i] = carriers[low.number - 1][l.plane - 1];
	}
	return out;
}

Finding without_carrier(const Place &place)
{
	Finding f;

	f.place = place;
	f.state = State::down;
	f.loss = 1;
	f.confidence = 1;
	f.carrier = false;
	return f;
}

/* A host's port without carrier says more than any probe. */
void add_carriers(const Places &places,
		  const std::vector<std::optional<bool>> &carrier,
		  std::vector<Finding> &found)
{
	for (uint32_t i = 0; i < carrier.size(); i++) {
		const auto here = [i](const Finding &f) {
			return f.place.element == Element::nic_link &&
			       f.place.number == i;
		};

		if (!carrier[i])
			continue;
		if (*carrier[i]) {
			for (Finding &f : found)
				if (here(f))
					f.carrier = true;
			continue;
		}
		std::erase_if(found, here);

		Finding f = without_carrier({Element::nic_link, i, Way::both});

		for (const uint32_t p : places.group_of(places.of_link(i)))
			if (is_switch(places.place(p)))
				f.others.push_back(places.place(p));
		found.push_back(std::move(f));
	}
}

/*
 * All hosts of a T0 lost their carrier, and nothing comes through it any more:
 * that is the T0, even before enough probes are missing. If it has one host,
 * that can be the host's cable, unless others' probes are lost there too.
 */
void join_carriers(const mrclab::Topology &t, const Config &config,
		   const Places &places, const std::vector<PathCount> &newest,
		   const std::vector<std::optional<bool>> &carrier,
		   std::vector<Finding> &found)
{
	for (uint32_t i = 0; i < places.size(); i++) {
		const Place &p = places.place(i);
		std::size_t hosts = 0, none = 0;
		uint64_t sent = 0, lost = 0;

		if (p.element != Element::t0)
			continue;
		for (uint32_t l = 0; l < carrier.size(); l++) {
			if (t.links()[l].high.node != p.number)
				continue;
			hosts++;
			none += carrier[l] == false ? 1 : 0;
		}
		for (const Passage &q : places.passages(i)) {
			sent += newest[q.path].sent;
			lost += newest[q.path].lost;
		}
		if (hosts == 0 || none < hosts || sent > lost ||
		    (hosts == 1 && sent < config.min_probes) ||
		    std::any_of(found.begin(), found.end(),
				[&](const Finding &f) { return f.place == p; }))
			continue;
		found.push_back(without_carrier(p));
		found.back().carrier.reset();
	}
}

/* Links at a switch, by the index of its node. */
std::vector<std::vector<uint32_t>> links_of(const mrclab::Topology &t)
{
	std::vector<std::vector<uint32_t>> out(t.nodes().size());

	for (uint32_t i = 0; i < t.links().size(); i++) {
		out[t.links()[i].low.node].push_back(i);
		out[t.links()[i].high.node].push_back(i);
	}
	return out;
}

/* Links about which something is known. */
std::set<uint32_t> covered_links(const Places &places, const Config &config,
				 const std::vector<PathCount> &counts,
				 const std::vector<Finding> &found)
{
	std::set<uint32_t> out;

	for (uint32_t i = 0; i < places.size(); i++) {
		uint64_t sent = 0;

		if (is_switch(places.place(i)))
			continue;
		for (const Passage &p : places.passages(i))
			sent += counts[p.path].sent;
		if (sent >= config.min_probes)
			out.insert(places.place(i).number);
	}
	for (const Finding &f : found)
		if (!is_switch(f.place))
			out.insert(f.place.number);
	return out;
}

void join_links(const mrclab::Topology &t, const Config &config,
		const std::set<uint32_t> &covered, std::vector<Finding> &found)
{
	const auto links = links_of(t);

	for (uint32_t n = 0; n < links.size(); n++) {
		const mrclab::Node &node = t.nodes()[n];
		std::vector<std::size_t> bad;
		std::size_t all = 0;
		bool alike = true;

		if (node.kind == mrclab::Kind::host)
			continue;
		for (const uint32_t l : links[n])
			all += covered.contains(l) ? 1 : 0;
		for (std::size_t i = 0; i < found.size(); i++)
			if (!is_switch(found[i].place) &&
			    std::find(links[n].begin(), links[n].end(),
				      found[i].place.number) != links[n].end())
				bad.push_back(i);
		for (const std::size_t i : bad) {
			const double a = measure(found[i]);
			const double b = measure(found[bad[0]]);

			alike = alike && same_kind(found[i], found[bad[0]]) &&
				a <= b * most_ratio && b <= a * most_ratio;
		}
		if (bad.size() < least_links || !alike ||
		    static_cast<double>(bad.size()) <
			    config.switch_share * static_cast<double>(all))
			continue;

		Finding f = found[bad[0]];
		bool down = true;

		f.place = {node.kind == mrclab::Kind::t0 ? Element::t0
							 : Element::t1,
			   n, Way::both};
		f.others.clear();
		for (const std::size_t i : bad) {
			down = down && found[i].state == State::down;
			if (i != bad[0])
				absorb(f, found[i]);
		}
		if (is_dead(f))
			f.state = down ? State::down : State::gray;
		f.carrier.reset();
		for (auto i = bad.rbegin(); i != bad.rend(); i++)
			found.erase(found.begin() +
				    static_cast<std::ptrdiff_t>(*i));
		found.push_back(std::move(f));
	}
}

/* What is said of the links of a dead switch follows from that. */
void join_dead(const mrclab::Topology &t,
	       const std::vector<std::optional<bool>> &carrier,
	       std::vector<Finding> &found)
{
	const std::vector<Finding> all = found;

	std::erase_if(found, [&](const Finding &f) {
		return std::any_of(
			all.begin(), all.end(), [&](const Finding &s) {
				return is_switch(s.place) && is_dead(s) &&
				       !is_switch(f.place) &&
				       covers(t, s.place, f.place);
			});
	});
	for (Finding &f : found) {
		std::size_t known = 0, none = 0;

		if (f.place.element != Element::t0 || !is_dead(f))
			continue;
		for (uint32_t l = 0; l < carrier.size(); l++) {
			if (t.links()[l].high.node != f.place.number ||
			    !carrier[l])
				continue;
			known++;
			none += *carrier[l] ? 0 : 1;
		}
		f.state = known && none == known ? State::down : State::gray;
	}
}
} // namespace

bool covers(const mrclab::Topology &t, const Place &a, const Place &b)
{
	if (is_switch(b))
		return a == b;
	if (is_switch(a)) {
		const mrclab::Link &l = t.links()[b.number];

		return l.low.node == a.number || l.high.node == a.number;
	}
	return a.number == b.number && (a.way == Way::both || a.way == b.way);
}

void merge(const mrclab::Topology &t, const Config &config,
	   const std::vector<PathCount> &counts,
	   const std::vector<PathCount> &newest, const Places &places,
	   const Carriers &carriers, std::vector<Finding> &found)
{
	const auto carrier = carrier_of_links(t, carriers);

	join_directions(found);
	add_carriers(places, carrier, found);
	if (found.empty())
		return;
	join_carriers(t, config, places, newest, carrier, found);
	join_links(t, config, covered_links(places, config, counts, found),
		   found);
	join_dead(t, carrier, found);
	std::sort(found.begin(), found.end(),
		  [](const Finding &a, const Finding &b) {
			  return a.place < b.place;
		  });
}
} // namespace mrcmap
