// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * FRR 10.3 or later: static uSIDs (uN) and static routes, no routing protocol.
 * FRR gives a uN to the kernel only while a netdev named sr0 is there.
 */
#include "export.hpp"

#include <fmt/format.h>

#include "address.hpp"
#include "export_parts.hpp"

namespace mrclab
{
namespace
{
/* Without its own addresses on a link FRR has no source for neighbour
 * discovery that the plan knows. IPv4 next hops need a network on the link.
 */
std::string interface(const Topology &t, const Node &node, const NodePort &p)
{
	std::string s =
		fmt::format("interface {}\n"
			    " description {} to {}\n",
			    p.eth(), t.name(p.sent), t.name(p.received));

	if (p.to_host())
		s += fmt::format(" ip address {}/32\n", gateway4());
	else if (t.fabric().ecmp())
		s += fmt::format(" ip address {}\n",
				 link4(t, p.sent).with_length());
	return s + fmt::format(" ipv6 address {}/64\n"
			       "exit\n"
			       "!\n",
			       link_local(node));
}

std::string srv6(const Topology &t, const Node &node)
{
	const std::string sid = usid_prefix(t.fabric(), node);
	std::string s = fmt::format("segment-routing\n"
				    " srv6\n"
				    "  locators\n"
				    "   locator main\n"
				    "    prefix {0} block-len 32 node-len 16 "
				    "func-bits 16\n"
				    "    behavior usid\n"
				    "    format usid-f3216\n"
				    "   exit\n"
				    "  exit\n"
				    "  static-sids\n"
				    "   sid {0} locator main behavior uN\n"
				    "  exit\n"
				    " exit\n"
				    "exit\n"
				    "!\n",
				    sid);

	for (const NodePort &p : node_ports(t, node))
		s += fmt::format("ipv6 route {} {} {}\n",
				 usid_prefix(t.fabric(), *p.peer),
				 link_local(*p.peer), p.eth());
	return s;
}

/* Lines with the same prefix are next hops of one route. */
std::string ecmp(const Topology &t, const Node &node)
{
	std::string six, four;

	for (const HostRoute &r : host_routes(t, node))
		for (const NodePort &p : r.ports) {
			six += fmt::format("ipv6 route {} {} {}\n", r.prefix6,
					   link_local(*p.peer), p.eth());
			/* Hosts answer for their address on every link. */
			four += p.to_host()
					? fmt::format("ip route {} {}\n",
						      r.prefix4, p.eth())
					: fmt::format(
						  "ip route {} {} {}\n",
						  r.prefix4,
						  link4(t, p.received).address,
						  p.eth());
		}
	return six + four;
}

/*
 * Run before FRR starts. The hardware addresses are those that hosts of the
 * format linux expect.
 */
std::string prepare(const Topology &t, const Node &node)
{
	const std::vector<NodePort> ports = node_ports(t, node);
	std::vector<std::string> netdevs;
	std::string s = script_head(t, node, "before FRR starts");

	for (const NodePort &p : ports)
		netdevs.push_back(p.eth());
	s += sysctl_script(node.kind, netdevs);
	for (const NodePort &p : ports)
		s += fmt::format("ip link set {0} down\n"
				 "ip link set {0} mtu {1} address {2} up\n",
				 p.eth(), t.fabric().mtu, mac(t, p.sent));
	if (t.fabric().srv6())
		s += "# FRR installs uSIDs only while this netdev is there.\n"
		     "[ -e /sys/class/net/sr0 ] || ip link add sr0 type dummy\n"
		     "ip link set sr0 up\n";
	return s;
}
} // namespace

std::string frr_conf(const Topology &t, const Node &node)
{
	std::string s = fmt::format("! Fabric {}, switch {}. Needs FRR 10.3; "
				    "static routes only.\n"
				    "frr defaults traditional\n"
				    "hostname {}\n"
				    "service integrated-vtysh-config\n"
				    "!\n",
				    t.fabric().name, node.name, node.name);

	for (const NodePort &p : node_ports(t, node))
		s += interface(t, node, p);
	if (t.fabric().srv6())
		s += srv6(t, node);
	if (t.fabric().ecmp())
		s += ecmp(t, node);
	return s;
}

ExportFiles export_frr(const Topology &t, const ExportOptions &)
{
	ExportFiles files;

	for (const Node *n : switches(t)) {
		files.push_back({n->name + "/frr.conf", frr_conf(t, *n)});
		files.push_back(
			{n->name + "/prepare.sh", prepare(t, *n), true});
	}
	return files;
}
} // namespace mrclab
