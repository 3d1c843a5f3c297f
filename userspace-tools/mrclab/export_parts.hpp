/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: what several export formats have in common. */
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "topology.hpp"

namespace mrclab
{
/*
 * A netdev of a node. Formats whose systems have names of their own number
 * them in the order of the node's netdevs: T0 has its T1s first and then its
 * hosts, both by number. This is eth1, eth2, ... and Ethernet0, Ethernet4, ...
 */
struct NodePort {
	uint32_t place = 0; /* from 0 */
	Direction sent;
	Direction received;
	const Node *peer = nullptr;
	std::string netdev; /* the name that mrclab gives it */

	std::string eth() const;
	bool to_host() const { return peer->kind == Kind::host; }
};

std::vector<NodePort> node_ports(const Topology &t, const Node &node);

/* All T0s and T1s. */
std::vector<const Node *> switches(const Topology &t);

/* The beginning of a shell script for a node. @about: one line. */
std::string script_head(const Topology &t, const Node &node,
			const std::string &about);

/*
 * node_sysctls() as shell, for @netdevs that are there already. The machine's
 * other netdevs, like that of its management, stay as they are.
 */
std::string sysctl_script(Kind kind, const std::vector<std::string> &netdevs);

/* How a host reaches the T0 behind one of its netdevs. */
struct Uplink {
	std::string netdev;
	std::string gateway6;
	std::string gateway4;
	std::vector<std::string> own; /* addresses on this link, with length */
};

/*
 * A host's addresses and routes as commands of ip(8), for hosts that resolve
 * the hardware addresses of their T0s.
 */
std::vector<std::string>
host_setup(const Topology &t, const Node &host,
	   const std::function<Uplink(const NodePort &)> &uplink);

/* Routes by address to hosts behind @node. */
struct HostRoute {
	std::string prefix6;
	std::string prefix4;
	std::vector<NodePort> ports; /* several: any of them */
};

/* What a switch of ECMP forwarding needs. */
std::vector<HostRoute> host_routes(const Topology &t, const Node &node);

/* frr.conf of a switch. Its netdevs are eth1, eth2, ... */
std::string frr_conf(const Topology &t, const Node &node);
} // namespace mrclab
