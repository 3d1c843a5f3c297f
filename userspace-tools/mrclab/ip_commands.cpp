// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "ip_commands.hpp"

#include <fmt/format.h>

#include "address.hpp"

namespace mrclab
{
namespace
{
/* A netdev of a node's own, which is never cut, for the node's own uSID. */
constexpr std::string_view usid_dev = "usid";

class Commands
{
public:
	template <typename... Args>
	void add(fmt::format_string<Args...> format, Args &&...args)
	{
		text_ += fmt::format(format, std::forward<Args>(args)...);
		text_ += '\n';
	}
	std::string take() { return std::move(text_); }

private:
	std::string text_;
};

using Down = std::set<Direction>;

Direction back(Direction d)
{
	return {d.link, !d.up};
}

/* The netdevs of a node that are not down, as the directions that they send. */
std::vector<Direction> ports_up(const Topology &t, const Node &node,
				const Down &down)
{
	std::vector<Direction> up;

	for (const Direction d : t.sent_by(node))
		if (!down.contains(d))
			up.push_back(d);
	return up;
}

using Ports = std::vector<Direction>;

void host_commands(const Topology &t, const Node &host, const Ports &ports,
		   Commands &c)
{
	const Fabric &f = t.fabric();
	const std::string me6 = host6(t, host.number);
	const std::string me4 = host4(t, host.number);

	for (const Direction d : ports) {
		const std::string &dev = t.from(d).netdev;
		const Node &t0 = t.nodes()[t.to(d).node];
		const std::string gw = link_local(t0), gw_mac = mac(t, back(d));
		const std::string outer = port6(t, host.number, t0.plane);
		const uint32_t metric = 100 + t0.plane;

		c.add("link set {} up", dev);
		c.add("addr replace {}/32 dev {}", me4, dev);
		c.add("addr replace {}/64 dev {} scope link nodad",
		      link_local(host), dev);
		c.add("addr replace {}/128 dev {} nodad", outer, dev);
		c.add("addr replace {}/128 dev {} nodad", me6, dev);
		c.add("neigh replace {} lladdr {} dev {} nud permanent", gw,
		      gw_mac, dev);
		c.add("neigh replace {} lladdr {} dev {} nud permanent",
		      gateway4(), gw_mac, dev);
		c.add("route replace {} via {} dev {} onlink src {} metric {}",
		      hosts4(f), gateway4(), dev, me4, metric);
		c.add("route replace {} via {} dev {} src {} metric {}",
		      hosts6(f), gw, dev, me6, metric);
		if (f.srv6())
			c.add("route replace {} via {} dev {} src {} metric {}",
			      usid_block(f), gw, dev, outer, metric);
	}
}

/* A switch's port to a neighbour, and the route to the neighbour's uSID. */
void port_commands(const Topology &t, const Node &node, Direction d,
		   Commands &c)
{
	const Node &peer = t.nodes()[t.to(d).node];
	const std::string &dev = t.from(d).netdev;

	c.add("link set {} up", dev);
	c.add("addr replace {}/64 dev {} scope link nodad", link_local(node),
	      dev);
	c.add("neigh replace {} lladdr {} dev {} nud permanent",
	      link_local(peer), mac(t, back(d)), dev);
	if (t.fabric().srv6())
		c.add("route replace {} via {} dev {}",
		      usid_prefix(t.fabric(), peer), link_local(peer), dev);
}

/* The route to hosts behind a port, in both families. */
void ecmp_down(const Topology &t, Direction d, const std::string &to6,
	       const std::string &to4, Commands &c)
{
	const std::string via = link_local(t.nodes()[t.to(d).node]);
	const std::string &dev = t.from(d).netdev;

	c.add("route replace {} via {} dev {}", to6, via, dev);
	c.add("route replace {} via inet6 {} dev {}", to4, via, dev);
}

/* The ways from a T0 to hosts of others. Without one there is no route. */
void t0_up(const Topology &t, const Node &node, const Ports &up, Commands &c)
{
	const Fabric &f = t.fabric();
	std::string up6, up4;

	for (const Direction d : up) {
		const Node &peer = t.nodes()[t.to(d).node];

		if (peer.kind == Kind::host)
			continue;
		up6 += fmt::format(" nexthop via {} dev {}", link_local(peer),
				   t.from(d).netdev);
		up4 += fmt::format(" nexthop via inet6 {} dev {}",
				   link_local(peer), t.from(d).netdev);
	}
	for (uint32_t other = 1; other <= f.t0 && !up6.empty(); other++) {
		if (other == node.number)
			continue;
		c.add("route replace {}{}", hosts6_of(f, other), up6);
		c.add("route replace {}{}", hosts4_of(f, other), up4);
	}
}

/* @ports of those that are @up. */
void switch_commands(const Topology &t, const Node &node, const Ports &ports,
		     const Ports &up, Commands &c)
{
	const Fabric &f = t.fabric();
	bool uplinks = false;

	for (const Direction d : ports)
		port_commands(t, node, d, c);
	if (!f.ecmp())
		return;
	for (const Direction d : ports) {
		const Node &peer = t.nodes()[t.to(d).node];

		if (peer.kind == Kind::host)
			ecmp_down(t, d, host6(t, peer.number) + "/128",
				  host4(t, peer.number) + "/32", c);
		else if (node.kind == Kind::t1)
			ecmp_down(t, d, hosts6_of(f, peer.number),
				  hosts4_of(f, peer.number), c);
		else
			uplinks = true;
	}
	if (uplinks)
		t0_up(t, node, up, c);
}

/* What a node has whatever its links do. */
void own_commands(const Topology &t, const Node &node, Commands &c)
{
	const Fabric &f = t.fabric();

	c.add("link set lo up");
	if (node.kind == Kind::host) {
		if (f.srv6())
			c.add("route replace local {} dev lo",
			      usid_prefix(f, node));
		c.add("addr replace {}/24 dev mgmt", mgmt4(node.number));
		c.add("link set mgmt up");
	} else if (f.srv6()) {
		c.add("link set {} up", usid_dev);
		c.add("route replace {} encap seg6local action End flavors "
		      "next-csid lblen 32 nflen 16 dev {}",
		      usid_prefix(f, node), usid_dev);
	}
}

void ports_commands(const Topology &t, const Node &node, const Ports &ports,
		    const Ports &up, Commands &c)
{
	if (node.kind == Kind::host)
		host_commands(t, node, ports, c);
	else
		switch_commands(t, node, ports, up, c);
}
} // namespace

std::string netns_of(const Fabric &f, const Node &node)
{
	return f.prefix + node.name;
}

std::string mgmt_netns(const Fabric &f)
{
	return f.prefix + "mgmt";
}

std::string device_of(const Fabric &f, uint32_t host)
{
	return fmt::format("{}{}", f.device, host);
}

std::vector<std::pair<std::string, std::string>> node_sysctls(Kind kind)
{
	std::vector<std::pair<std::string, std::string>> s;

	for (const std::string c : {"default", "all"}) {
		/* Hosts have the same address on all planes. */
		s.emplace_back("ipv4/conf/" + c + "/rp_filter", "0");
		s.emplace_back("ipv4/conf/" + c + "/arp_ignore", "1");
		/* The kernel sends no packets of its own. */
		s.emplace_back("ipv6/conf/" + c + "/accept_dad", "0");
		s.emplace_back("ipv6/conf/" + c + "/accept_ra", "0");
		s.emplace_back("ipv6/conf/" + c + "/router_solicitations", "0");
		s.emplace_back("ipv6/conf/" + c + "/addr_gen_mode", "1");
		s.emplace_back("ipv6/conf/" + c +
				       "/mldv2_unsolicited_report_interval",
			       "1");
	}
	if (kind == Kind::host)
		return s;
	s.emplace_back("ipv4/conf/all/forwarding", "1");
	s.emplace_back("ipv6/conf/all/forwarding", "1");
	/* A link without carrier is no way, as in switches. */
	for (const std::string c : {"default", "all"})
		for (const std::string v : {"ipv4", "ipv6"})
			s.emplace_back(v + "/conf/" + c +
					       "/ignore_routes_with_linkdown",
				       "1");
	/* The hash takes addresses, protocol, ports, and the flow label. */
	s.emplace_back("ipv4/fib_multipath_hash_policy", "3");
	s.emplace_back("ipv4/fib_multipath_hash_fields", "55");
	s.emplace_back("ipv6/fib_multipath_hash_policy", "3");
	s.emplace_back("ipv6/fib_multipath_hash_fields", "63");
	return s;
}

std::string link_commands(const Topology &t)
{
	const Fabric &f = t.fabric();
	Commands c;

	for (uint32_t l = 0; l < t.links().size(); l++) {
		const Link &link = t.links()[l];

		c.add("link add name {} netns {} mtu {} address {} type veth "
		      "peer name {} netns {} mtu {} address {}",
		      link.low.netdev, netns_of(f, t.nodes()[link.low.node]),
		      f.mtu, mac(t, {l, true}), link.high.netdev,
		      netns_of(f, t.nodes()[link.high.node]), f.mtu,
		      mac(t, {l, false}));
	}
	for (const Node &n : t.nodes()) {
		if (n.kind == Kind::host)
			c.add("link add name mgmt netns {} type veth peer name "
			      "{} netns {}",
			      netns_of(f, n), n.name, mgmt_netns(f));
		else if (f.srv6())
			c.add("link add name {} netns {} type dummy", usid_dev,
			      netns_of(f, n));
	}
	return c.take();
}

std::string node_commands(const Topology &t, const Node &node, const Down &down)
{
	const Ports up = ports_up(t, node, down);
	Commands c;

	own_commands(t, node, c);
	ports_commands(t, node, up, up, c);
	return c.take();
}

std::string restore_commands(const Topology &t, const Node &node,
			     const std::set<Direction> &ports, const Down &down)
{
	const Ports up = ports_up(t, node, down);
	Ports restored;
	Commands c;

	for (const Direction d : up)
		if (ports.contains(d))
			restored.push_back(d);
	ports_commands(t, node, restored, up, c);
	return c.take();
}

std::string mgmt_commands(const Topology &t)
{
	Commands c;

	c.add("link add br0 type bridge");
	c.add("link set br0 up");
	for (uint32_t h = 1; h <= t.fabric().all_hosts(); h++)
		c.add("link set {} master br0 up", t.host(h).name);
	return c.take();
}
} // namespace mrclab
