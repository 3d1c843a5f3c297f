// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "export_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "address.hpp"
#include "ip_commands.hpp"

namespace mrclab
{
namespace
{
/*
 * Must a file be written for a machine with other netdevs, too? Those of all
 * netdevs only if the kernel takes the larger of that value and the netdev's.
 */
bool for_all(const std::string &file)
{
	return file.find("/conf/all/") == std::string::npos ||
	       file.ends_with("/rp_filter") || file.ends_with("/accept_dad") ||
	       file.ends_with("/forwarding");
}
} // namespace

std::string NodePort::eth() const
{
	return fmt::format("eth{}", place + 1);
}

std::vector<NodePort> node_ports(const Topology &t, const Node &node)
{
	std::vector<NodePort> ports;

	for (const Direction d : t.sent_by(node))
		ports.push_back({static_cast<uint32_t>(ports.size()),
				 d,
				 {d.link, !d.up},
				 &t.nodes()[t.to(d).node],
				 t.from(d).netdev});
	return ports;
}

std::vector<const Node *> switches(const Topology &t)
{
	std::vector<const Node *> all;

	for (const Node &n : t.nodes())
		if (n.kind != Kind::host)
			all.push_back(&n);
	return all;
}

std::string script_head(const Topology &t, const Node &node,
			const std::string &about)
{
	return fmt::format("#!/bin/sh\n"
			   "# Fabric {}, node {}: {}\n"
			   "set -eu\n",
			   t.fabric().name, node.name, about);
}

std::string sysctl_script(Kind kind, const std::vector<std::string> &netdevs)
{
	const std::string_view of_new = "/conf/default/";
	std::string once, each;

	for (const auto &[file, value] : node_sysctls(kind)) {
		const std::size_t at = file.find(of_new);

		if (at != std::string::npos)
			each += fmt::format("	put {}/conf/$dev/{} {}\n",
					    file.substr(0, at),
					    file.substr(at + of_new.size()),
					    value);
		else if (for_all(file))
			once += fmt::format("put {} {}\n", file, value);
	}
	/*
	 * Without a newline: Linux 6.1 reports that a write to ipv6's
	 * ignore_routes_with_linkdown took one byte, and refuses the rest.
	 */
	return fmt::format("\n"
			   "put() {{ # FILE VALUE\n"
			   "	printf %s \"$2\" >\"/proc/sys/net/$1\"\n"
			   "}}\n"
			   "{}"
			   "for dev in {}; do\n"
			   "{}"
			   "done\n",
			   once, fmt::join(netdevs, " "), each);
}

std::vector<std::string>
host_setup(const Topology &t, const Node &host,
	   const std::function<Uplink(const NodePort &)> &uplink)
{
	const Fabric &f = t.fabric();
	const std::string me6 = host6(t, host.number);
	const std::string me4 = host4(t, host.number);
	std::vector<std::string> c;
	const auto add = [&c](std::string line) {
		c.push_back("ip " + std::move(line));
	};

	add("link set lo up");
	if (f.srv6())
		add(fmt::format("route replace local {} dev lo",
				usid_prefix(f, host)));
	for (const NodePort &p : node_ports(t, host)) {
		const Uplink up = uplink(p);
		const std::string outer = port6(t, host.number, p.peer->plane);
		const std::string tail =
			fmt::format("metric {}", 100 + p.peer->plane);

		add(fmt::format("link set {} mtu {} up", up.netdev, f.mtu));
		add(fmt::format("addr replace {}/32 dev {}", me4, up.netdev));
		for (const std::string &a : up.own)
			add(fmt::format(
				"addr replace {} dev {}{}", a, up.netdev,
				a.find(':') == std::string::npos ? ""
								 : " nodad"));
		for (const std::string &a : {outer, me6})
			add(fmt::format("addr replace {}/128 dev {} nodad", a,
					up.netdev));
		add(fmt::format("route replace {} via {} dev {} onlink src {} "
				"{}",
				hosts4(f), up.gateway4, up.netdev, me4, tail));
		add(fmt::format("route replace {} via {} dev {} src {} {}",
				hosts6(f), up.gateway6, up.netdev, me6, tail));
		if (f.srv6())
			add(fmt::format("route replace {} via {} dev {} src {} "
					"{}",
					usid_block(f), up.gateway6, up.netdev,
					outer, tail));
	}
	return c;
}

std::vector<HostRoute> host_routes(const Topology &t, const Node &node)
{
	const Fabric &f = t.fabric();
	std::vector<HostRoute> routes;
	std::vector<NodePort> up;

	for (const NodePort &p : node_ports(t, node)) {
		const uint32_t n = p.peer->number;

		if (p.to_host())
			routes.push_back({host6(t, n) + "/128",
					  host4(t, n) + "/32",
					  {p}});
		else if (node.kind == Kind::t1)
			routes.push_back(
				{hosts6_of(f, n), hosts4_of(f, n), {p}});
		else
			up.push_back(p);
	}
	for (uint32_t l = 1; node.kind == Kind::t0 && l <= f.t0; l++)
		if (l != node.number)
			routes.push_back(
				{hosts6_of(f, l), hosts4_of(f, l), up});
	return routes;
}
} // namespace mrclab
