// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * containerlab: a container for each node, switches with FRR. Netdevs are eth1,
 * eth2, ...; eth0 is containerlab's own network.
 *
 * containerlab replaces words that begin with $ in its file, so commands that
 * need such words are in a script.
 */
#include "export.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "address.hpp"
#include "export_parts.hpp"
#include "ip_commands.hpp"

namespace mrclab
{
namespace
{
/* FRR is started before the netdev sr0 can be made, and forgets uSIDs that it
 * reads before.
 */
constexpr std::string_view push_script =
	"#!/bin/sh\n"
	"# Makes the netdev without which FRR installs no uSIDs, and has FRR "
	"read its\n"
	"# configuration again until the kernel has the switch's uSID.\n"
	"set -eu\n"
	"[ -e /sys/class/net/sr0 ] || ip link add sr0 type dummy\n"
	"ip link set sr0 up\n"
	"n=0\n"
	"until ip -6 route show | grep -q seg6local; do\n"
	"	if [ $n -ge 30 ]; then\n"
	"		echo \"FRR has not installed the uSID\" >&2\n"
	"		exit 1\n"
	"	fi\n"
	"	n=$((n + 1))\n"
	"	vtysh -b || :\n"
	"	sleep 1\n"
	"done\n";

constexpr std::string_view install_ip =
	"sh -c 'command -v ip || { apt-get update && apt-get install -y "
	"iproute2; }'";

/* Set with the container, before it has netdevs other than eth0. The first node
 * of its sort has the list, the others refer to it.
 */
std::string sysctls(const Node &node, bool first)
{
	const std::string sort = node.kind == Kind::host ? "host" : "switch";
	std::string s;

	if (!first)
		return fmt::format("      sysctls: *{}\n", sort);
	s = fmt::format("      sysctls: &{}\n"
			"        net.ipv6.conf.all.disable_ipv6: 0\n"
			"        net.ipv6.conf.default.disable_ipv6: 0\n",
			sort);
	for (const auto &[file, value] : node_sysctls(node.kind)) {
		std::string key = "net." + file;

		std::replace(key.begin(), key.end(), '/', '.');
		s += fmt::format("        {}: {}\n", key, value);
	}
	return s;
}

std::string switch_node(const Topology &t, const Node &node,
			const std::string &image)
{
	const bool srv6 = t.fabric().srv6();
	std::string s = fmt::format(
		"    {0}:\n"
		"      kind: linux\n"
		"      image: \"{1}\"\n"
		"{2}"
		"      binds:\n"
		"        - {0}/frr.conf:/etc/frr/frr.conf\n",
		node.name, image, sysctls(node, &node == &t.t0(1, 1)));

	if (srv6)
		s += "        - push.sh:/push.sh\n"
		     "      exec:\n"
		     "        - \"sh /push.sh\"\n";
	return s;
}

std::string host_node(const Topology &t, const Node &host,
		      const std::string &image)
{
	std::string s = fmt::format(
		"    {}:\n"
		"      kind: linux\n"
		"      image: \"{}\"\n"
		"{}"
		"      exec:\n"
		"        - \"{}\"\n",
		host.name, image, sysctls(host, host.number == 1), install_ip);
	const auto uplink = [&](const NodePort &p) {
		return Uplink{p.eth(),
			      link_local(*p.peer),
			      gateway4(),
			      {link_local(host) + "/64"}};
	};

	for (const std::string &line : host_setup(t, host, uplink))
		s += fmt::format("        - \"{}\"\n", line);
	return s;
}

/* What a direction's sending end is in the list of links. */
std::map<Direction, std::string> endpoints(const Topology &t)
{
	std::map<Direction, std::string> names;

	for (const Node &n : t.nodes())
		for (const NodePort &p : node_ports(t, n))
			names[p.sent] =
				fmt::format("\"{}:{}\"", n.name, p.eth());
	return names;
}

std::string topology(const Topology &t, const ExportOptions &o)
{
	const Fabric &f = t.fabric();
	const auto ends = endpoints(t);
	std::string s = fmt::format("# Fabric {}: containerlab deploy -t "
				    "topology.clab.yml\n"
				    "# Rates, delays and queues of links are "
				    "not in this file.\n"
				    "# Hosts install iproute2 if their image "
				    "lacks it.\n",
				    f.name);

	if (f.devices == Devices::mrc)
		s += fmt::format("# A host's device gets a port from each "
				 "netdev; the first of host 1:\n"
				 "# ip netns exec clab-{0}-h1 rdma link add "
				 "{1}1 type mrc netdev eth1\n",
				 f.name, f.device);
	s += fmt::format("name: {}\n"
			 "topology:\n"
			 "  nodes:\n",
			 f.name);
	for (const Node &n : t.nodes())
		s += n.kind == Kind::host ? host_node(t, n, o.host_image)
					  : switch_node(t, n, o.switch_image);
	s += "  links:\n";
	for (uint32_t l = 0; l < t.links().size(); l++)
		s += fmt::format("    - endpoints: [{}, {}]\n"
				 "      mtu: {}\n",
				 ends.at({l, true}), ends.at({l, false}),
				 f.mtu);
	return s;
}
} // namespace

ExportFiles export_containerlab(const Topology &t, const ExportOptions &o)
{
	ExportFiles files = {{"topology.clab.yml", topology(t, o)}};

	if (t.fabric().srv6())
		files.push_back({"push.sh", std::string(push_script), true});
	for (const Node *n : switches(t))
		files.push_back({n->name + "/frr.conf", frr_conf(t, *n)});
	return files;
}
} // namespace mrclab
