// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcctl doctor: netdevs, settings of the network, routes, firewall. */
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "findings.hpp"
#include "snapshot_read.hpp"
#include "words.hpp"

namespace mrcctl::doctor
{
namespace
{
/* Names become parts of paths. Those of the kernel have no slash. */
bool is_netdev_name(const std::string &s)
{
	return !s.empty() && s.size() < 16 && s != "." && s != ".." &&
	       s.find('/') == std::string::npos;
}

/* What a program printed, if it is JSON and the program succeeded. */
std::optional<Json> json_output(const Host::Ran &ran)
{
	if (!ran.started || ran.status != 0)
		return {};
	Json j = Json::parse(ran.out, nullptr, false);

	if (j.is_discarded())
		return {};
	return j;
}

std::string text_in(const Json &j, const char *key)
{
	if (!j.is_object())
		return "";
	const auto it = j.find(key);

	return it != j.end() && it->is_string()
		       ? printable(it->get<std::string>(), 64)
		       : "";
}

std::optional<uint64_t> number_in(const Json &j, const char *key)
{
	if (!j.is_object())
		return {};
	const auto it = j.find(key);

	if (it == j.end() || !it->is_number_unsigned())
		return {};
	return it->get<uint64_t>();
}

const Json &list_in(const Json &j, const char *key)
{
	static const Json none = Json::array();

	if (!j.is_object())
		return none;
	const auto it = j.find(key);

	return it != j.end() && it->is_array() ? *it : none;
}

/* "all" and the netdev: the larger value holds. */
std::optional<uint64_t> conf(Host &host, const std::string &netdev,
			     const char *family, const char *name)
{
	const std::string dir = fmt::format("/proc/sys/net/{}/conf/", family);
	const std::optional<uint64_t> all = number_of(host,
						      dir + "all/" + name),
				      own = number_of(host, dir + netdev + "/" +
								    name);

	return own ? std::max(own, all) : own;
}

void read_netdev(Host &host, SeenPort &p)
{
	const std::string dir = "/sys/class/net/" + p.netdev;
	const std::optional<uint64_t> flags = number_of(host, dir + "/flags");

	p.mtu = number_of(host, dir + "/mtu");
	if (flags)
		p.up = (*flags & 1) != 0;
	if (const auto carrier = number_of(host, dir + "/carrier"))
		p.carrier = *carrier != 0;
	p.sysctls.rp_filter = conf(host, p.netdev, "ipv4", "rp_filter");
	p.sysctls.arp_ignore = conf(host, p.netdev, "ipv4", "arp_ignore");
	p.sysctls.arp_filter = conf(host, p.netdev, "ipv4", "arp_filter");
	p.sysctls.disable_ipv6 = number_of(
		host, fmt::format("/proc/sys/net/ipv6/conf/{}/disable_ipv6",
				  p.netdev));
	p.sysctls.udp_l3mdev_accept =
		number_of(host, "/proc/sys/net/ipv4/udp_l3mdev_accept");
	p.master = number_of(host, dir + "/master/ifindex");
}

void read_vrfs(Host &host, SeenDevice &d)
{
	if (std::none_of(d.ports.begin(), d.ports.end(),
			 [](const SeenPort &p) { return p.master; }))
		return;
	const std::optional<Json> vrfs = json_output(
		host.run({"ip", "-j", "link", "show", "type", "vrf"}));

	if (!vrfs || !vrfs->is_array())
		return;
	for (SeenPort &p : d.ports)
		for (const Json &v : *vrfs)
			if (p.master && number_in(v, "ifindex") == p.master)
				p.vrf = text_in(v, "ifname");
}

bool is_v6_address(const std::string &address)
{
	return address.find(':') != std::string::npos;
}

/* A route of several next hops has its netdevs in a list. */
bool route_of(const Json &route, const std::string &netdev, SeenRoute &out)
{
	const std::string type = text_in(route, "type");
	const Json *hop = text_in(route, "dev") == netdev ? &route : nullptr;

	for (const Json &h : list_in(route, "nexthops"))
		if (text_in(h, "dev") == netdev)
			hop = &h;
	if (!hop || (!type.empty() && type != "unicast" && type != "local"))
		return false;
	out.there = true;
	out.gateway = text_in(*hop, "gateway");
	if (const auto via = hop->find("via"); via != hop->end())
		out.gateway = text_in(*via, "host");
	out.prefsrc = text_in(route, "prefsrc");
	for (const Json &m : list_in(route, "metrics"))
		if (const auto mtu = number_in(m, "mtu"))
			out.mtu = mtu;
	return true;
}

/* Asks without a source address if @own is "". */
std::optional<SeenRoute> ask_route_from(Host &host, const std::string &peer,
					const std::string &own,
					const std::string &netdev)
{
	std::vector<std::string> command = {
		"ip",  is_v6_address(peer) ? "-6" : "-4",
		"-j",  "route",
		"get", "fibmatch",
		peer};
	SeenRoute route;

	if (!own.empty())
		command.insert(command.end(), {"from", own});
	command.insert(command.end(), {"oif", netdev});
	const Host::Ran ran = host.run(command);

	if (!ran.started)
		return {};
	const std::optional<Json> j = json_output(ran);

	if (j && j->is_array())
		for (const Json &r : *j)
			if (route_of(r, netdev, route))
				break;
	return route;
}

/*
 * Linux takes any destination for on-link if the netdev is given and there is
 * no route. With "fibmatch" it does not. With a source address of IPv6 the
 * netdev is a mere wish, so the module asks again without one, as is done here.
 */
std::optional<SeenRoute> ask_route(Host &host, const SeenPath &path,
				   const std::string &netdev)
{
	std::optional<SeenRoute> first =
		ask_route_from(host, path.peer, path.own, netdev);

	if (!first || first->there || path.own.empty() ||
	    !is_v6_address(path.peer))
		return first;
	std::optional<SeenRoute> second =
		ask_route_from(host, path.peer, "", netdev);

	return second ? second : first;
}

/*
 * If the planes have no address in common: one of the port, or one of another
 * port that this one should have.
 */
std::string own_address(const SeenDevice &d, const SeenPort &p, bool ipv4)
{
	std::string common = common_address(d, ipv4);
	std::string other;

	if (!common.empty())
		return common;
	for (const SeenPort &o : d.ports)
		for (const Gid &g : o.gids) {
			if (is_ipv4(g.addr) != ipv4 || is_link_local(g.addr))
				continue;
			if (o.num == p.num)
				return show_address(g.addr);
			if (other.empty())
				other = show_address(g.addr);
		}
	return other;
}

std::string first_line(const std::string &text)
{
	return printable(text.substr(0, text.find('\n')), 128);
}
} // namespace

void read_ports(Host &host, SeenDevice &d)
{
	const std::optional<Json> links =
		json_output(host.run({"rdma", "-j", "link", "show"}));

	for (SeenPort &p : d.ports) {
		const std::string dir = fmt::format(
			"/sys/class/infiniband/{}/ports/{}", d.name, p.num);
		const std::string state = line_of(host, dir + "/state");
		const std::size_t at = state.find(": ");

		p.state =
			at == std::string::npos ? state : state.substr(at + 2);
		p.gids = gids_of(host, d.name, p.num);
		for (const Gid &g : p.gids)
			if (p.netdev.empty() && is_netdev_name(g.netdev))
				p.netdev = g.netdev;
		/*
		 * The kernel tells the netdev if it is in this network
		 * namespace. Without rdma(8) the name must do, which netdevs of
		 * several namespaces may have.
		 */
		if (!links || !links->is_array()) {
			p.here = is_netdev_name(p.netdev) &&
				 !host.list("/sys/class/net/" + p.netdev)
					  .empty();
		} else {
			for (const Json &l : *links) {
				const std::string name = text_in(l, "netdev");

				if (text_in(l, "ifname") != d.name ||
				    number_in(l, "port") != p.num ||
				    !is_netdev_name(name))
					continue;
				p.netdev = name;
				p.here = true;
			}
		}
		if (p.here)
			read_netdev(host, p);
	}
	read_vrfs(host, d);
}

std::set<uint64_t> udp_ports_received(const Snapshot &s)
{
	if (s.udp_port == usual_udp_port)
		return {s.udp_port, printed_udp_port};
	return {s.udp_port};
}

namespace
{
void read_passages(const Json &rules, const Snapshot &s, const SeenDevice &d,
		   SeenPort &p)
{
	const auto add = [&](Way way, uint64_t udp_port) {
		p.passages.push_back(
			{.way = way,
			 .udp_port = udp_port,
			 .passage = passage(rules, way, p.netdev, udp_port)});
	};

	for (const uint64_t udp_port : udp_ports_received(s))
		add(Way::in, udp_port);
	add(Way::out, s.udp_port);
	for (const uint64_t udp_port : d.peer_udp_ports)
		if (udp_port != s.udp_port)
			add(Way::out, udp_port);
}
} // namespace

void read_firewall(Host &host, Snapshot &s)
{
	const Host::Ran ran = host.run({"nft", "-j", "list", "ruleset"});
	const std::optional<Json> rules = json_output(ran);

	s.legacy_iptables =
		!host.read("/proc/net/ip_tables_names").text.empty() ||
		!host.read("/proc/net/ip6_tables_names").text.empty();
	if (!s.net_admin)
		s.firewall_error = "CAP_NET_ADMIN is needed";
	else if (!ran.started)
		s.firewall_error = "there is no program nft";
	else if (!rules)
		s.firewall_error =
			"nft says: " + (first_line(ran.err).empty()
						? "no JSON"
						: first_line(ran.err));
	if (!s.firewall_error.empty())
		return;
	try {
		for (SeenDevice &d : s.devices)
			for (SeenPort &p : d.ports)
				if (p.here)
					read_passages(*rules, s, d, p);
	} catch (const Json::exception &) {
		s.firewall_error = "what nft prints was not understood";
	}
}

void read_paths(Host &host, const SeenDevice &d, const std::string &peer,
		std::vector<SeenPath> &out)
{
	const bool ipv4 = !is_v6_address(peer);

	for (const SeenPort &p : d.ports) {
		if (!p.here)
			continue;
		SeenPath path{.device = d.name, .port = p.num, .peer = peer};

		path.own = own_address(d, p, ipv4);
		path.route = ask_route(host, path, p.netdev);
		out.push_back(std::move(path));
	}
}

void read_neighbour(Host &host, const std::string &netdev, SeenPath &path)
{
	if (!path.route || !path.route->there)
		return;
	const std::string hop =
		path.route->gateway.empty() ? path.peer : path.route->gateway;
	const std::optional<Json> j = json_output(host.run(
		{"ip", "-j", "neigh", "show", "to", hop, "dev", netdev}));

	if (!j || !j->is_array())
		return;
	for (const Json &n : *j)
		for (const Json &state : list_in(n, "state"))
			if (state.is_string())
				path.neigh =
					printable(state.get<std::string>(), 16);
}
} // namespace mrcctl::doctor
