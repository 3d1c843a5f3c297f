// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What makes namespaces into nodes: to the letter, and consistent. */
#include "ip_commands.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "address.hpp"
#include "golden.hpp"
#include "random_fabric.hpp"
#include "routes.hpp"

namespace mrclab
{
namespace
{
/* All commands of a fabric, as one text. */
std::string all_commands(const Fabric &f)
{
	const Topology t(f);
	std::string text = "# SPDX-License-Identifier: GPL-2.0 OR "
			   "Linux-OpenIB\n";

	text += "# links\n" + link_commands(t);
	for (const Node &n : t.nodes())
		text += fmt::format("# in {}\n{}", netns_of(f, n),
				    node_commands(t, n));
	return text +
	       fmt::format("# in {}\n{}", mgmt_netns(f), mgmt_commands(t));
}

/* The netdev at the other end. */
const Netdev &peer(const Network &net, const Netdev &d)
{
	const std::size_t colon = d.peer.find(':');

	return net.nodes()
		.at(d.peer.substr(0, colon))
		.netdevs.at(d.peer.substr(colon + 1));
}
} // namespace

TEST(IpCommands, OfSrv6AreTheGoldenOnes)
{
	golden("srv6.txt", all_commands(fabric_of(2, 2, 2, 1)));
}

TEST(IpCommands, OfEcmpAreTheGoldenOnes)
{
	golden("ecmp.txt",
	       all_commands(fabric_of(1, 3, 2, 1, Forwarding::ecmp)));
}

TEST(IpCommands, OfASingleT0AreTheGoldenOnes)
{
	Fabric f = fabric_of(2, 1, 0, 2, Forwarding::both);

	f.prefix = "";
	f.mtu = 9000;
	f.block = 0xfd01;
	f.block4 = 192 << 8 | 168;
	golden("single_t0.txt", all_commands(f));
}

TEST(IpCommands, OfSysctlsAreTheGoldenOnes)
{
	std::string text = "# SPDX-License-Identifier: GPL-2.0 OR "
			   "Linux-OpenIB\n";

	for (const Kind kind : {Kind::host, Kind::t0}) {
		text += kind == Kind::host ? "# host\n" : "# switch\n";
		for (const auto &[file, value] : node_sysctls(kind))
			text += file + " " + value + "\n";
	}
	golden("sysctls.txt", text);
	EXPECT_EQ(node_sysctls(Kind::t0), node_sysctls(Kind::t1));
}

/* Both kinds of forwarding have all that each of them has. */
TEST(IpCommands, OfBothKindsAreTheirUnion)
{
	Random r(2);

	for (int i = 0; i < 20; i++) {
		Fabric f = random_fabric(r);
		const auto lines = [&f](Forwarding kind) {
			std::set<std::string> all;

			f.forwarding = kind;
			const Topology t(f);

			for (const Node &n : t.nodes()) {
				std::istringstream in(node_commands(t, n));
				std::string line;

				while (std::getline(in, line))
					all.insert(n.name + " " + line);
			}
			return all;
		};
		std::set<std::string> sum = lines(Forwarding::srv6);

		sum.merge(lines(Forwarding::ecmp));
		EXPECT_EQ(lines(Forwarding::both), sum);
	}
}

/* What Network does not understand, or finds twice, fails here. */
TEST(IpCommands, HaveANeighbourForEachNextHop)
{
	on_topologies(false, [](const Topology &t, Random &) {
		const Network net(t);

		for (const auto &[name, n] : net.nodes())
			for (const Route &route : n.routes)
				for (const Hop &h : route.hops) {
					if (h.via.empty())
						continue;
					EXPECT_TRUE(
						n.netdevs.at(h.dev)
							.neighbours.contains(
								h.via))
						<< name << ": "
						<< text_of(h.via) << " "
						<< h.dev;
				}
	});
}

TEST(IpCommands, NameTheMacsOfNeighbours)
{
	on_topologies(false, [](const Topology &t, Random &) {
		const Network net(t);
		std::size_t seen = 0;

		for (const auto &[name, n] : net.nodes())
			for (const auto &[dev, d] : n.netdevs)
				for (const auto &[a, mac] : d.neighbours) {
					EXPECT_EQ(mac, peer(net, d).mac)
						<< name << " " << dev;
					seen++;
				}
		EXPECT_GE(seen, 2 * t.links().size());
	});
}

/* A neighbour's address is one that the neighbour has on this link. */
TEST(IpCommands, NameTheAddressesOfNeighbours)
{
	on_topologies(false, [](const Topology &t, Random &) {
		const Network net(t);

		for (const auto &[name, n] : net.nodes())
			for (const auto &[dev, d] : n.netdevs)
				for (const auto &[a, mac] : d.neighbours) {
					if (a == address(gateway4()))
						continue;
					bool has = false;

					for (const Prefix &p :
					     peer(net, d).addresses)
						has |= p.bits == a;
					EXPECT_TRUE(has) << name << " " << dev
							 << text_of(a);
				}
	});
}

TEST(IpCommands, BringUpAllNetdevs)
{
	on_topologies(false, [](const Topology &t, Random &) {
		const Network net(t);

		EXPECT_EQ(net.nodes().size(),
			  t.nodes().size() + 1 /* management */);
		for (const auto &[name, n] : net.nodes())
			for (const auto &[dev, d] : n.netdevs)
				EXPECT_TRUE(d.up || name == "mgmt")
					<< name << " " << dev;
	});
}

TEST(IpCommands, HaveTheTopologysLinks)
{
	on_topologies(false, [](const Topology &t, Random &) {
		const Network net(t);
		std::size_t ends = 0;

		for (const auto &[name, n] : net.nodes())
			for (const auto &[dev, d] : n.netdevs) {
				if (name == "mgmt" || dev == "mgmt" ||
				    dev == "usid" || dev == "lo")
					continue;

				const Direction out =
					t.direction(name + ":" + dev);

				EXPECT_EQ(d.peer, t.name({out.link, !out.up}));
				EXPECT_EQ(d.mac, mac(t, out));
				ends++;
			}
		EXPECT_EQ(ends, 2 * t.links().size());
	});
}

/* The source of each of a host's routes is an address of that netdev. */
TEST(IpCommands, SendFromAddressesOfTheNetdev)
{
	on_topologies(false, [](const Topology &t, Random &) {
		const Network net(t);

		for (const auto &[name, n] : net.nodes())
			for (const Route &route : n.routes) {
				bool has = route.src.empty();

				for (const Prefix &p :
				     n.netdevs.at(route.hops[0].dev).addresses)
					has |= p.bits == route.src;
				EXPECT_TRUE(has)
					<< name << " " << text_of(route.src);
				EXPECT_EQ(route.src.empty(),
					  name[0] != 'h' ||
						  route.kind ==
							  Route::Kind::local);
			}
	});
}

/* Netdevs that are down are not named at all. */
TEST(IpCommands, LeaveNetdevsDown)
{
	on_topologies(false, [](const Topology &t, Random &r) {
		std::set<Direction> down;

		for (uint32_t l = 0; l < t.links().size(); l++)
			for (const bool up : {true, false})
				if (draw(r, 0, 2) == 0)
					down.insert({l, up});

		/* It throws for a route by a netdev that is not up. */
		const Network net(t, down);

		for (uint32_t l = 0; l < t.links().size(); l++)
			for (const bool up : {true, false}) {
				const Direction d{l, up};
				const End &end = t.from(d);
				const std::string &node =
					t.nodes()[end.node].name;
				const Netdev &dev =
					net.nodes().at(node).netdevs.at(
						end.netdev);

				EXPECT_EQ(dev.up, !down.contains(d));
				EXPECT_EQ(dev.addresses.empty(),
					  down.contains(d));
			}
	});
}

TEST(IpCommands, NameNamespacesByThePrefix)
{
	Fabric f = fabric_of(1, 1, 1, 1);

	f.prefix = "lab_";
	const Topology t(f);

	EXPECT_EQ(netns_of(f, t.host(1)), "lab_h1");
	EXPECT_EQ(netns_of(f, t.t1(1, 1)), "lab_p1s1");
	EXPECT_EQ(mgmt_netns(f), "lab_mgmt");
}
} // namespace mrclab
