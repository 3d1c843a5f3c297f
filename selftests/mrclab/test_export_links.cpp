// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What exports say of links, read back: every port is there once, and every
 * next hop is an address of the neighbour at the other end of that port's
 * link. Which ports belong together is read from the exports, too.
 */
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "address.hpp"
#include "export_files.hpp"

namespace mrclab
{
namespace
{
constexpr int random_fabrics = 25;

using Json = nlohmann::ordered_json;

/* A port of a system, as NODE:PORT, and the other end of its link. */
using Wires = std::map<std::string, std::string>;
/* The addresses of NODE:PORT, without lengths. */
using Addresses = std::map<std::string, std::set<std::string>>;

std::string address_of(const std::string &prefix)
{
	return prefix.substr(0, prefix.find('/'));
}

/* All names NODE:NETDEV of the fabric. */
std::set<std::string> all_names(const Topology &t)
{
	std::set<std::string> names;

	for (uint32_t l = 0; l < t.links().size(); l++)
		for (const bool up : {true, false})
			names.insert(t.name({l, up}));
	return names;
}

std::string node_of(const std::string &name)
{
	return name.substr(0, name.find(':'));
}

/* "ip addr replace A/N dev DEV ...", "... src A ..." of a host's commands. */
void add_host_addresses(const std::string &host, const std::string &commands,
			Addresses &to)
{
	for (const std::string &line : lines_of(commands)) {
		const auto w = words_of(line);

		if (w.size() >= 6 && w[1] == "addr")
			to[host + ":" + w[5]].insert(address_of(w[3]));
	}
}

/* Gateways of a host's commands are addresses at the other end. */
void check_host_gateways(const std::string &host, const std::string &commands,
			 const Wires &wires, const Addresses &addresses)
{
	int routes = 0;

	for (const std::string &line : lines_of(commands)) {
		const auto w = words_of(line);

		/* ip route replace PREFIX via ADDRESS dev DEV */
		if (w.size() < 8 || w[1] != "route" || w[4] != "via")
			continue;
		const std::string &peer = wires.at(host + ":" + w[7]);

		routes++;
		EXPECT_TRUE(addresses.at(peer).contains(w[5]))
			<< host << ": " << line;
	}
	EXPECT_GT(routes, 0);
}

struct Sonic {
	std::map<std::string, std::string> files;
	Wires wires;
	Addresses addresses;
};

Sonic read_sonic(const Topology &t)
{
	Sonic s;
	std::set<std::string> names;

	s.files = exported("sonic", t);
	for (const std::string &line : lines_of(s.files["ports.txt"])) {
		if (line.starts_with("#"))
			continue;
		const auto w = words_of(line);

		EXPECT_EQ(w.size(), 4u) << line;
		/* Names of links to names of ports, in a first step. */
		EXPECT_TRUE(s.wires.emplace(w[0] + ":" + w[1], w[3]).second);
		EXPECT_TRUE(s.wires.emplace("own " + w[2], w[0] + ":" + w[1])
				    .second);
		names.insert(w[2]);
		names.insert(w[3]);
	}
	EXPECT_EQ(names, all_names(t));

	Wires wires;

	for (const auto &[port, far] : s.wires) {
		if (port.starts_with("own "))
			continue;
		const auto own = s.wires.find("own " + far);
		/* Hosts have their own names of netdevs. */
		const std::string peer =
			own == s.wires.end() ? far : own->second;

		wires[port] = peer;
		wires[peer] = port;
	}
	s.wires = wires;
	for (const auto &[path, text] : s.files) {
		const std::string node = path.substr(0, path.find('/'));

		if (path.ends_with(".sh"))
			add_host_addresses(node, text, s.addresses);
		if (!path.ends_with(".json"))
			continue;
		const Json db = Json::parse(text);

		for (const auto &[key, value] : db["INTERFACE"].items()) {
			const auto part = split_at(key, '|');

			if (part.size() == 2)
				s.addresses[node + ":" + part[0]].insert(
					address_of(part[1]));
		}
	}
	return s;
}

/* The peer that a next hop leads to. */
std::string check_hop(const Sonic &s, const std::string &node,
		      const std::string &address, const std::string &port)
{
	const std::string &peer = s.wires.at(node + ":" + port);

	EXPECT_TRUE(s.addresses.at(peer).contains(address))
		<< node << ": " << address << " by " << port << " to " << peer;
	return node_of(peer);
}
} // namespace

TEST(ExportLinks, SonicNextHopsAreNeighbours)
{
	Random r(11);

	for (int i = 0; i < random_fabrics; i++) {
		const Topology t(random_exported(r));
		const Sonic s = read_sonic(t);

		SCOPED_TRACE(testing::PrintToString(t.fabric()));
		for (const Node &n : t.nodes()) {
			if (n.kind == Kind::host) {
				check_host_gateways(
					n.name,
					s.files.at(n.name + "/addresses.sh"),
					s.wires, s.addresses);
				continue;
			}
			const Json db = Json::parse(
				s.files.at(n.name + "/config_db.json"));

			EXPECT_FALSE(db["STATIC_ROUTE"].empty());
			for (const auto &[key, route] :
			     db["STATIC_ROUTE"].items()) {
				const auto hops =
					split_at(route["nexthop"], ',');
				const auto ports =
					split_at(route["ifname"], ',');
				const std::string to = split_at(key, '|').at(1);

				ASSERT_EQ(hops.size(), ports.size());
				for (std::size_t k = 0; k < hops.size(); k++) {
					const Node &peer = t.node(check_hop(
						s, n.name, hops[k], ports[k]));

					/* A uSID has a single next hop, whose
					 * own it is. */
					if (to ==
					    usid_prefix(t.fabric(), peer)) {
						EXPECT_EQ(hops.size(), 1u);
					}
				}
			}
		}
	}
}

TEST(ExportLinks, SonicNumbersPortsByFours)
{
	Random r(12);

	for (int i = 0; i < random_fabrics; i++) {
		const Topology t(random_exported(r));
		std::map<std::string, std::size_t> next;

		for (const std::string &line :
		     lines_of(exported("sonic", t)["ports.txt"])) {
			if (line.starts_with("#"))
				continue;
			const auto w = words_of(line);

			EXPECT_EQ(w[1], "Ethernet" + std::to_string(
							     4 * next[w[0]]++));
		}
		for (const auto &[node, count] : next)
			EXPECT_EQ(count, t.sent_by(t.node(node)).size());
	}
}

TEST(ExportLinks, SonicLinkAddressesDifferInAPlane)
{
	for (const Fabric &f : largest_fabrics()) {
		const Topology t(f);
		std::set<std::string> six, four;

		for (uint32_t l = 0; l < t.links().size(); l++)
			for (const bool up : {true, false}) {
				if (t.links()[l].plane != 1)
					continue;
				six.insert(link6(t, {l, up}).address);
				four.insert(link4(t, {l, up}).address);
			}
		EXPECT_EQ(six.size(), 2 * t.links().size() / f.planes);
		EXPECT_EQ(four.size(), six.size());
		EXPECT_EQ(four.rbegin()->substr(0, 4), "100.");
	}
}

TEST(ExportLinks, ContainerlabHasEveryLink)
{
	Random r(13);

	for (int i = 0; i < random_fabrics; i++) {
		const Topology t(random_exported(r));
		const auto files = exported("containerlab", t);
		const YAML::Node lab =
			YAML::Load(files.at("topology.clab.yml"))["topology"];
		std::set<std::string> ends;

		EXPECT_EQ(lab["nodes"].size(), t.nodes().size());
		ASSERT_EQ(lab["links"].size(), t.links().size());
		for (std::size_t l = 0; l < t.links().size(); l++) {
			const YAML::Node link = lab["links"][l];
			const Link &want = t.links()[l];
			const auto a = link["endpoints"][0].as<std::string>();
			const auto b = link["endpoints"][1].as<std::string>();

			EXPECT_TRUE(ends.insert(a).second) << a;
			EXPECT_TRUE(ends.insert(b).second) << b;
			EXPECT_EQ(node_of(a), t.nodes()[want.low.node].name);
			EXPECT_EQ(node_of(b), t.nodes()[want.high.node].name);
			EXPECT_EQ(link["mtu"].as<uint32_t>(), t.fabric().mtu);
		}
		/* eth1 to ethN, with no gap. */
		for (const Node &n : t.nodes())
			for (std::size_t k = 1; k <= t.sent_by(n).size(); k++)
				EXPECT_TRUE(ends.contains(n.name + ":eth" +
							  std::to_string(k)));
		/* Files that are mounted are there. */
		for (const auto &node : lab["nodes"])
			for (const YAML::Node &bind : node.second["binds"])
				EXPECT_TRUE(files.contains(
					split_at(bind.as<std::string>(), ':')
						.at(0)));
	}
}

TEST(ExportLinks, FrrNextHopsAreNeighbours)
{
	Random r(14);

	for (int i = 0; i < random_fabrics; i++) {
		const Topology t(random_exported(r));
		const auto files = exported("containerlab", t);
		const YAML::Node lab =
			YAML::Load(files.at("topology.clab.yml"))["topology"];
		std::map<std::string, std::string> exec;
		Wires wires;
		Addresses addresses;

		SCOPED_TRACE(testing::PrintToString(t.fabric()));
		for (const YAML::Node &link : lab["links"]) {
			const auto a = link["endpoints"][0].as<std::string>();
			const auto b = link["endpoints"][1].as<std::string>();

			wires[a] = b;
			wires[b] = a;
		}
		for (const Node &n : t.nodes()) {
			std::string port;

			if (n.kind == Kind::host) {
				for (const YAML::Node &line :
				     lab["nodes"][n.name]["exec"])
					exec[n.name] +=
						line.as<std::string>() + "\n";
				add_host_addresses(n.name, exec[n.name],
						   addresses);
				continue;
			}
			for (const std::string &line :
			     lines_of(files.at(n.name + "/frr.conf"))) {
				const auto w = words_of(line);

				if (w[0] == "interface")
					port = n.name + ":" + w[1];
				else if (w.size() == 3 && w[1] == "address")
					addresses[port].insert(
						address_of(w[2]));
				else if (w[0] == "description") {
					EXPECT_EQ(node_of(w[3]),
						  node_of(wires.at(port)));
				}
			}
		}
		for (const auto &[host, commands] : exec)
			check_host_gateways(host, commands, wires, addresses);
		for (const Node &n : t.nodes()) {
			int routes = 0;

			if (n.kind == Kind::host)
				continue;
			for (const std::string &line :
			     lines_of(files.at(n.name + "/frr.conf"))) {
				const auto w = words_of(line);

				if (w.size() < 4 || w[1] != "route")
					continue;
				routes++;
				/* PREFIX [ADDRESS] PORT */
				const std::string &peer =
					wires.at(n.name + ":" + w.back());

				EXPECT_TRUE(addresses.at(peer).contains(
					w.size() == 5 ? w[3]
						      : address_of(w[2])))
					<< n.name << ": " << line;
			}
			EXPECT_GT(routes, 0);
		}
	}
}
} // namespace mrclab
