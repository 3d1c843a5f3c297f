/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: what is wrong in a fabric at the moment. Pure: what has to be done in
 * the kernel follows from the difference of two states, see fault_commands.hpp.
 *
 *	TARGET down | up		the netdev of the end that sends; for a
 *					node all of its netdevs
 *	TARGET drop			every packet vanishes, links stay up
 *	TARGET loss 1% delay 5ms ...	as in the file's "links"
 *	TARGET clear			nothing is wrong any more
 *	path A B plane P [t1 S] loss 20%	packets of one SRv6 path
 *	path A B plane P [t1 S] clear
 *	clear				the same for the whole fabric
 *
 * TARGET is a node (for settings: all directions that it sends), a direction
 * (p1l1:s1), both directions of a link (p1l1:s1+), or a pattern of directions
 * (p1l1:*), which may end in + too.
 */
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "topology.hpp"

namespace mrclab
{
/* A path of SRv6 from host to host. */
struct PathName {
	uint32_t a = 0, plane = 0, t1 = 0, b = 0;

	/* NOLINTNEXTLINE(modernize-use-nullptr): a false alarm */
	auto operator<=>(const PathName &) const = default;
};

class Faults
{
public:
	/* Changes the state as @words say. Throws UsageError, and then
	 * nothing has changed.
	 */
	void apply(const Topology &t, const std::vector<std::string> &words);

	/* The ends whose netdevs are down, those of nodes included. */
	std::set<Direction> down(const Topology &t) const;
	/* The file's settings and what is wrong with them. */
	LinkProps props(const Topology &t, Direction d) const;
	const std::map<PathName, double> &paths() const { return paths_; }
	bool any() const;

	/* Words for apply() that make this state from one without faults. */
	std::vector<std::vector<std::string>> words(const Topology &t) const;

private:
	std::vector<Direction> take_target(const Topology &t,
					   const std::string &word,
					   const Node *&node) const;
	void check_node_up(const Topology &t, Direction d) const;
	void apply_path(const Topology &t,
			const std::vector<std::string> &words);

	std::map<Direction, LinkProps> props_;
	std::set<Direction> ends_down_;
	std::set<uint32_t> nodes_down_;	   /* indices */
	std::map<PathName, double> paths_; /* share of packets lost */
};
} // namespace mrclab
