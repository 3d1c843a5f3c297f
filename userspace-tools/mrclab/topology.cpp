// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "topology.hpp"

#include <fnmatch.h>

#include <fmt/format.h>

#include "error.hpp"

namespace mrclab
{
Topology::Topology(const Fabric &fabric) : fabric_(fabric)
{
	const auto add = [this](Kind kind, uint32_t plane, uint32_t number,
				std::string name) {
		by_name_.emplace(name, nodes_.size());
		nodes_.push_back({kind, plane, number, std::move(name)});
	};
	const Fabric &f = fabric_;

	for (uint32_t h = 1; h <= f.all_hosts(); h++)
		add(Kind::host, 0, h, fmt::format("h{}", h));
	for (uint32_t p = 1; p <= f.planes; p++) {
		for (uint32_t l = 1; l <= f.t0; l++)
			add(Kind::t0, p, l, fmt::format("p{}l{}", p, l));
		for (uint32_t s = 1; s <= f.t1; s++)
			add(Kind::t1, p, s, fmt::format("p{}s{}", p, s));
	}
	sent_.resize(nodes_.size());
	for (uint32_t p = 1; p <= f.planes; p++) {
		for (uint32_t l = 1; l <= f.t0; l++)
			for (uint32_t s = 1; s <= f.t1; s++)
				connect(p, t0(p, l), fmt::format("s{}", s),
					t1(p, s), fmt::format("l{}", l));
		for (uint32_t h = 1; h <= f.all_hosts(); h++)
			connect(p, host(h), fmt::format("p{}", p),
				t0(p, t0_of(h)), fmt::format("h{}", h));
	}
}

void Topology::connect(uint32_t plane, const Node &low, std::string low_dev,
		       const Node &high, std::string high_dev)
{
	const auto link = static_cast<uint32_t>(links_.size());

	links_.push_back({plane,
			  {index(low), std::move(low_dev)},
			  {index(high), std::move(high_dev)}});
	for (const bool up : {true, false}) {
		const Direction d{link, up};

		by_direction_.emplace(name(d), d);
		sent_[from(d).node].push_back(d);
	}
}

const Node &Topology::host(uint32_t number) const
{
	return nodes_.at(number - 1);
}

const Node &Topology::t0(uint32_t plane, uint32_t number) const
{
	return nodes_.at(fabric_.all_hosts() +
			 (plane - 1) * (fabric_.t0 + fabric_.t1) + number - 1);
}

const Node &Topology::t1(uint32_t plane, uint32_t number) const
{
	return t0(plane, fabric_.t0 + number);
}

uint32_t Topology::t0_of(uint32_t host) const
{
	return (host - 1) / fabric_.hosts + 1;
}

uint32_t Topology::index(const Node &node) const
{
	return static_cast<uint32_t>(&node - nodes_.data());
}

const Node &Topology::node(std::string_view name) const
{
	const auto i = by_name_.find(std::string(name));

	if (i == by_name_.end())
		throw UsageError(fmt::format(
			"fabric {} has no node \"{}\"; hosts are h1 to h{}, "
			"switches are like p1l1 (T0) and p1s1 (T1)",
			fabric_.name, name, fabric_.all_hosts()));
	return nodes_[i->second];
}

Direction Topology::direction(std::string_view name) const
{
	const auto i = by_direction_.find(std::string(name));

	if (i == by_direction_.end())
		throw UsageError(fmt::format(
			"fabric {} has no link \"{}\"; one is named after the "
			"end that sends, like h1:p1, p1l1:h1 or p1l1:s1",
			fabric_.name, name));
	return i->second;
}

const End &Topology::from(Direction d) const
{
	return d.up ? links_[d.link].low : links_[d.link].high;
}

const End &Topology::to(Direction d) const
{
	return d.up ? links_[d.link].high : links_[d.link].low;
}

std::string Topology::name(Direction d) const
{
	const End &end = from(d);

	return nodes_[end.node].name + ":" + end.netdev;
}

std::vector<Direction> Topology::sent_by(const Node &node) const
{
	return sent_[index(node)];
}

std::vector<Direction> Topology::matching(const std::string &pattern) const
{
	std::vector<Direction> found;

	for (uint32_t l = 0; l < links_.size(); l++)
		for (const bool up : {true, false})
			if (fnmatch(pattern.c_str(), name({l, up}).c_str(),
				    0) == 0)
				found.push_back({l, up});
	return found;
}

LinkProps Topology::props(Direction d) const
{
	const bool to_host = nodes_[links_[d.link].low.node].kind == Kind::host;
	LinkProps p = to_host ? fabric_.host_links : fabric_.fabric_links;

	for (const LinkRule &r : fabric_.rules)
		if (fnmatch(r.pattern.c_str(), name(d).c_str(), 0) == 0)
			p.apply(r.props);
	return p;
}

bool Topology::last_hop(Direction d) const
{
	return nodes_[to(d).node].kind == Kind::host;
}

std::vector<Direction> Topology::path(uint32_t a, uint32_t plane,
				      uint32_t spine, uint32_t b) const
{
	std::vector<Direction> path = {
		direction(fmt::format("h{}:p{}", a, plane))};
	const Node &from = t0(plane, t0_of(a));
	const Node &to = t0(plane, t0_of(node(fmt::format("h{}", b)).number));

	if (&from != &to) {
		path.push_back(
			direction(fmt::format("{}:s{}", from.name, spine)));
		path.push_back(direction(fmt::format(
			"{}:l{}", t1(plane, spine).name, to.number)));
	}
	path.push_back(direction(fmt::format("{}:h{}", to.name, b)));
	return path;
}
} // namespace mrclab
