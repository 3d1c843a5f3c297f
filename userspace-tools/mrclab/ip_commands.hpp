/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: what makes the network namespaces of a fabric into its nodes, as
 * commands for "ip -batch", one a line. Addresses of neighbours are set, not
 * resolved, so that links carry nothing but the traffic of programs.
 */
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "topology.hpp"

namespace mrclab
{
/* The network namespace of a node, and that of the management network. */
std::string netns_of(const Fabric &f, const Node &node);
std::string mgmt_netns(const Fabric &f);

/* The RDMA device of a host. */
std::string device_of(const Fabric &f, uint32_t host);

/*
 * Files below /proc/sys/net and what is written to them, before the namespace
 * has netdevs: their defaults are copied then.
 */
std::vector<std::pair<std::string, std::string>> node_sysctls(Kind kind);

/* The links between namespaces; run outside of them. */
std::string link_commands(const Topology &t);

/*
 * A node's addresses, neighbours and routes, and its netdevs up; run inside of
 * it. They can be repeated. Netdevs in @down stay down and have no routes.
 */
std::string node_commands(const Topology &t, const Node &node,
			  const std::set<Direction> &down = {});
/*
 * What the kernel has forgotten about the node's netdevs in @ports, which were
 * down or without carrier: those that are not in @down get it back.
 */
std::string restore_commands(const Topology &t, const Node &node,
			     const std::set<Direction> &ports,
			     const std::set<Direction> &down);
/* The same for the management network. */
std::string mgmt_commands(const Topology &t);
} // namespace mrclab
