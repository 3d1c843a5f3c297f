/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: the nodes and links of a fabric, and their names.
 *
 *	node		name	netdevs
 *	host H		hH	pP in plane P
 *	T0 number L	pPlL	hH to host H, sS to T1 number S
 *	T1 number S	pPsS	lL to T0 number L
 *
 * Numbers start at 1. Hosts are numbered over all T0s: the hosts of the first
 * T0 come first. One direction of a link is named NODE:NETDEV after the end
 * that sends: h1:p2, p1l2:s1.
 */
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fabric.hpp"

namespace mrclab
{
enum class Kind { host, t0, t1 };

struct Node {
	Kind kind = Kind::host;
	uint32_t plane = 0; /* 0 for hosts */
	uint32_t number = 0;
	std::string name;
};

struct End {
	uint32_t node = 0; /* index into Topology::nodes() */
	std::string netdev;
};

struct Link {
	uint32_t plane = 0;
	End low;  /* the host, or the T0 of a T0-T1 link */
	End high; /* the T0, or the T1 */
};

/* One direction: what the low end sends, or what the high end sends. */
struct Direction {
	uint32_t link = 0;
	bool up = true; /* sent by the low end */

	/* clang-tidy takes its 0 for a pointer. */
	/* NOLINTNEXTLINE(modernize-use-nullptr) */
	auto operator<=>(const Direction &) const = default;
};

class Topology
{
public:
	explicit Topology(const Fabric &fabric);

	const Fabric &fabric() const { return fabric_; }
	const std::vector<Node> &nodes() const { return nodes_; }
	const std::vector<Link> &links() const { return links_; }

	const Node &host(uint32_t number) const;
	const Node &t0(uint32_t plane, uint32_t number) const;
	const Node &t1(uint32_t plane, uint32_t number) const;
	uint32_t t0_of(uint32_t host) const;
	uint32_t index(const Node &node) const;

	/* These throw UsageError for names that the fabric does not have. */
	const Node &node(std::string_view name) const;
	Direction direction(std::string_view name) const;

	const End &from(Direction d) const;
	const End &to(Direction d) const;
	std::string name(Direction d) const;

	/* All directions that a node sends, in the order of its netdevs. */
	std::vector<Direction> sent_by(const Node &node) const;
	/* Those whose names match, see fnmatch(3). */
	std::vector<Direction> matching(const std::string &pattern) const;

	/* What the file says of a direction. */
	LinkProps props(Direction d) const;
	/* Is it the last hop of a path, the link from a T0 to a host? */
	bool last_hop(Direction d) const;

	/*
	 * The directions from host @a to host @b in a plane. @spine is the
	 * T1's number and has no meaning for hosts of the same T0. Throws
	 * UsageError for numbers that the fabric does not have.
	 */
	std::vector<Direction> path(uint32_t a, uint32_t plane, uint32_t spine,
				    uint32_t b) const;

private:
	void connect(uint32_t plane, const Node &low, std::string low_dev,
		     const Node &high, std::string high_dev);

	Fabric fabric_;
	std::vector<Node> nodes_;
	std::vector<Link> links_;
	std::vector<std::vector<Direction>> sent_;
	std::unordered_map<std::string, uint32_t> by_name_;
	std::unordered_map<std::string, Direction> by_direction_;
};
} // namespace mrclab
