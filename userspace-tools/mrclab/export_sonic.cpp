// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SONiC: config_db.json of each switch, to be loaded over the configuration
 * that the switch has. Its table PORT, with the lanes, is the platform's.
 *
 * Port N of a switch is Ethernet(4 * N), see NodePort for the order. Next hops
 * need global addresses here, so hosts get addresses on their links, too.
 */
#include "export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "address.hpp"
#include "export_parts.hpp"
#include "sonic_qos.hpp"

namespace mrclab
{
namespace
{
using Json = nlohmann::ordered_json;

void add_interfaces(const Topology &t, const Node &node, Json &db)
{
	Json &table = db["INTERFACE"] = Json::object();

	for (const NodePort &p : node_ports(t, node)) {
		const std::string name = sonic_port(p);
		const auto add = [&](const LinkAddress &a) {
			table[name + "|" + a.with_length()] = Json::object();
		};

		table[name] = Json::object();
		add(link6(t, p.sent));
		/* Hosts look for their gateway in both families. */
		if (p.to_host() || t.fabric().ecmp())
			add(link4(t, p.sent));
	}
}

void add_route(Json &routes, const std::string &prefix, const Json &hops)
{
	routes["default|" + prefix] = hops;
}

/* Lists have one entry for each next hop. */
Json next_hops(const Topology &t, const std::vector<NodePort> &ports,
	       LinkAddress (*address)(const Topology &, Direction))
{
	std::vector<std::string> hops, names;

	for (const NodePort &p : ports) {
		hops.push_back(address(t, p.received).address);
		names.push_back(sonic_port(p));
	}
	return {{"nexthop", fmt::format("{}", fmt::join(hops, ","))},
		{"ifname", fmt::format("{}", fmt::join(names, ","))}};
}

void add_routes(const Topology &t, const Node &node, Json &db)
{
	const Fabric &f = t.fabric();
	Json routes = Json::object();

	if (f.srv6()) {
		Json &locator = db["SRV6_MY_LOCATORS"]["main"];

		locator["prefix"] = usid_address(f, node);
		locator["block_len"] = "32";
		locator["node_len"] = "16";
		locator["func_len"] = "0";
		db["SRV6_MY_SIDS"]["main|" + usid_prefix(f, node)] = {
			{"action", "uN"}, {"decap_dscp_mode", "pipe"}};
		for (const NodePort &p : node_ports(t, node))
			add_route(routes, usid_prefix(f, *p.peer),
				  next_hops(t, {p}, link6));
	}
	if (f.ecmp())
		for (const HostRoute &r : host_routes(t, node)) {
			add_route(routes, r.prefix6,
				  next_hops(t, r.ports, link6));
			add_route(routes, r.prefix4,
				  next_hops(t, r.ports, link4));
		}
	db["STATIC_ROUTE"] = std::move(routes);
}

std::string config_db(const Topology &t, const Node &node)
{
	Json db;

	db["DEVICE_METADATA"]["localhost"]["hostname"] = node.name;
	add_interfaces(t, node, db);
	add_routes(t, node, db);
	add_sonic_qos(t, node, db);
	return db.dump(4) + "\n";
}

std::string host_script(const Topology &t, const Node &host)
{
	std::vector<std::string> netdevs;
	std::string s = script_head(t, host, "addresses and routes");
	const auto uplink = [&t](const NodePort &p) {
		return Uplink{p.netdev,
			      link6(t, p.received).address,
			      link4(t, p.received).address,
			      {link6(t, p.sent).with_length(),
			       link4(t, p.sent).with_length()}};
	};

	for (const NodePort &p : node_ports(t, host))
		netdevs.push_back(p.netdev);
	s += sysctl_script(host.kind, netdevs) + "\n";
	for (const std::string &line : host_setup(t, host, uplink))
		s += line + "\n";
	return s;
}

std::string ports_text(const Topology &t)
{
	std::string s =
		fmt::format("# Fabric {}: ports of the switches, and the links "
			    "in both directions.\n"
			    "# A T0 has its T1s first, then its hosts.\n"
			    "# config_db.json has no table PORT; load it over "
			    "the switch's own:\n"
			    "# \"config load -y\". Ports must be up and their "
			    "MTU at least {}.\n",
			    t.fabric().name, t.fabric().mtu);

	for (const Node *n : switches(t))
		for (const NodePort &p : node_ports(t, *n))
			s += fmt::format("{} {} {} {}\n", n->name,
					 sonic_port(p), t.name(p.sent),
					 t.name(p.received));
	return s;
}
} // namespace

ExportFiles export_sonic(const Topology &t, const ExportOptions &)
{
	ExportFiles files = {{"ports.txt", ports_text(t)}};

	for (const Node *n : switches(t))
		files.push_back(
			{n->name + "/config_db.json", config_db(t, *n)});
	for (uint32_t h = 1; h <= t.fabric().all_hosts(); h++)
		files.push_back({t.host(h).name + "/addresses.sh",
				 host_script(t, t.host(h)), true});
	return files;
}
} // namespace mrclab
