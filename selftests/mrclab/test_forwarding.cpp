// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where packets go by the routes in the commands alone: longest prefix, shift
 * of uSIDs, neighbour, link.
 */
#include <algorithm>

#include <gtest/gtest.h>

#include "address.hpp"
#include "random_fabric.hpp"
#include "routes.hpp"

namespace mrclab
{
namespace
{
using Names = std::vector<std::string>;

Names names(const Topology &t, const std::vector<Direction> &path)
{
	Names n;

	for (const Direction d : path)
		n.push_back(t.name(d));
	return n;
}

std::string netdev(uint32_t plane)
{
	return "p" + std::to_string(plane);
}

/* Where an SRv6 path has no choice. */
std::size_t only(std::size_t count)
{
	EXPECT_EQ(count, 1u);
	return 0;
}

/* The way of a packet, or why it has none, as a list of one. */
Names way(const Network &net, const std::string &host, uint32_t plane,
	  const std::string &to, const Network::Choose &choose = only)
{
	Address dst = address(to);

	try {
		return net.follow(host, netdev(plane), dst, choose);
	} catch (const std::runtime_error &e) {
		return {e.what()};
	}
}

struct Draw {
	uint32_t a, b, plane, spine;
};

Draw draw_path(const Fabric &f, Random &r)
{
	const auto n = [&r](uint32_t max) {
		return static_cast<uint32_t>(draw(r, 1, max));
	};

	return {n(f.all_hosts()), n(f.all_hosts()), n(f.planes),
		f.t1 ? n(f.t1) : 0};
}

void on_networks(bool (Fabric::*wanted)() const,
		 const std::function<void(const Topology &, const Network &,
					  Random &)> &check)
{
	on_topologies(false, [&](const Topology &t, Random &r) {
		if ((t.fabric().*wanted)())
			check(t, Network(t), r);
	});
}
} // namespace

TEST(Forwarding, OfUsidsTakesThePath)
{
	on_networks(&Fabric::srv6, [](const Topology &t, const Network &net,
				      Random &r) {
		for (int i = 0; i < 60; i++) {
			const Draw d = draw_path(t.fabric(), r);

			EXPECT_EQ(way(net, t.host(d.a).name, d.plane,
				      usid_path(t, d.a, d.spine, d.b)),
				  names(t, t.path(d.a, d.plane, d.spine, d.b)))
				<< d.a << " to " << d.b;
		}
	});
}

/* All pairs, planes and spines of one fabric, and of one without a T1. */
TEST(Forwarding, OfUsidsTakesEveryPath)
{
	for (const Fabric &f :
	     {fabric_of(2, 3, 3, 2, Forwarding::both), fabric_of(3, 1, 0, 4)}) {
		const Topology t(f);
		const Network net(t);

		for (uint32_t a = 1; a <= f.all_hosts(); a++)
			for (uint32_t b = 1; b <= f.all_hosts(); b++)
				for (uint32_t p = 1; p <= f.planes; p++)
					for (uint32_t s = 1;
					     s <= std::max(f.t1, 1u); s++)
						EXPECT_EQ(
							way(net, t.host(a).name,
							    p,
							    usid_path(t, a, s,
								      b)),
							names(t, t.path(a, p, s,
									b)));
	}
}

/* 16 planes, 254 hosts, 255 T1s: no number is cut off. */
TEST(Forwarding, OfUsidsHoldsInTheLargestFabrics)
{
	Random r(2);

	for (const Fabric &f : largest_fabrics()) {
		const Topology t(f);
		const Network net(t);
		const uint32_t last = f.all_hosts();

		SCOPED_TRACE(testing::PrintToString(f));
		for (int i = 0; i < 20; i++) {
			const Draw d = i ? draw_path(f, r)
					 : Draw{1, last, f.planes, f.t1};

			EXPECT_EQ(way(net, t.host(d.a).name, d.plane,
				      usid_path(t, d.a, d.spine, d.b)),
				  names(t, t.path(d.a, d.plane, d.spine, d.b)));
		}
	}
}

/* Nothing is left of the list but the host's own uSID. */
TEST(Forwarding, OfUsidsUsesUpTheList)
{
	const Topology t(fabric_of(1, 2, 2, 1));
	const Network net(t);
	Address dst = address(usid_path(t, 1, 2, 2));

	net.follow("h1", "p1", dst, only);
	EXPECT_EQ(text_of(dst), "fcbb:0:302::");
}

TEST(Forwarding, OfUsidsDropsListsThatLeadNowhere)
{
	const Topology t(fabric_of(1, 2, 2, 1));
	const Network net(t);
	const std::string at_end = "the list of uSIDs ends at a switch";
	const auto to = [&](const char *list) {
		return way(net, "h1", 1, list);
	};

	/* It ends at a switch, the first or another. */
	EXPECT_EQ(to("fcbb:0:101::"), Names{at_end});
	EXPECT_EQ(to("fcbb:0:101:201::"), Names{at_end});
	/* A switch or a host that is not there. */
	EXPECT_EQ(to("fcbb:0:101:203::"),
		  Names{"p1l1: no route to fcbb:0:203::"});
	EXPECT_EQ(to("fcbb:0:101:303::"),
		  Names{"p1l1: no route to fcbb:0:303::"});
	/* A host behind another T0 is no neighbour. */
	EXPECT_EQ(to("fcbb:0:101:302::"),
		  Names{"p1l1: no route to fcbb:0:302::"});
	/* SRv6 alone has no routes to hosts' addresses. */
	EXPECT_EQ(way(net, "h1", 1, host6(t, 2)),
		  Names{"p1l1: no route to fcbb:1:2::2"});
	EXPECT_EQ(way(net, "h1", 1, host4(t, 2)),
		  Names{"p1l1: no route to 10.1.2.2"});
}

/* Whatever the hash says, the way is one by some T1. */
TEST(Forwarding, OfEcmpTakesAPathByAnyT1)
{
	on_networks(&Fabric::ecmp, [](const Topology &t, const Network &net,
				      Random &r) {
		for (int i = 0; i < 60; i++) {
			const Draw d = draw_path(t.fabric(), r);
			const bool six = draw(r, 0, 1);
			std::size_t chosen = 1;
			const auto choose = [&](std::size_t count) {
				const auto n = draw(r, 0, count - 1);

				if (count > 1)
					chosen = n + 1;
				return n;
			};
			const Names got = way(
				net, t.host(d.a).name, d.plane,
				six ? host6(t, d.b) : host4(t, d.b), choose);

			EXPECT_EQ(got,
				  names(t, t.path(d.a, d.plane,
						  static_cast<uint32_t>(chosen),
						  d.b)));
		}
	});
}

/* The choice is between all T1s, in both families. */
TEST(Forwarding, OfEcmpSpreadsOverAllT1s)
{
	const Topology t(fabric_of(1, 3, 4, 1, Forwarding::ecmp));
	const Network net(t);

	for (const std::string &to : {host6(t, 3), host4(t, 3)}) {
		std::set<Names> ways;

		for (std::size_t n = 0; n < 4; n++)
			ways.insert(
				way(net, "h1", 1, to, [n](std::size_t count) {
					EXPECT_TRUE(count == 1 || count == 4);
					return std::min(n, count - 1);
				}));
		EXPECT_EQ(ways.size(), 4u);
	}
}

/* The address of the port that receives, for what is answered outside. */
TEST(Forwarding, ReachesHostsOnlyByTheirAddresses)
{
	const Topology t(fabric_of(2, 2, 1, 1, Forwarding::both));
	const Network net(t);

	EXPECT_EQ(way(net, "h1", 1, port6(t, 2, 1)),
		  Names{"h1: no route to fcbb:2:1:2::2"});
	EXPECT_EQ(way(net, "h1", 2, "fcbb:1:9::9"),
		  Names{"p2l1: no route to fcbb:1:9::9"});
}

/* What is down takes nothing; other planes go on. */
TEST(Forwarding, StopsWhereANetdevIsDown)
{
	const Topology t(fabric_of(2, 2, 2, 1, Forwarding::both));
	const Network net(t, {t.direction("p1l1:s2")});
	const std::string dst = usid_path(t, 1, 2, 2);

	EXPECT_EQ(way(net, "h1", 1, dst),
		  Names{"p1l1: no route to fcbb:0:202:102:302::"});
	EXPECT_EQ(way(net, "h1", 2, dst), names(t, t.path(1, 2, 2, 2)));
	EXPECT_EQ(way(net, "h1", 1, usid_path(t, 1, 1, 2)),
		  names(t, t.path(1, 1, 1, 2)));
	EXPECT_EQ(way(net, "h1", 1, host6(t, 2)), names(t, t.path(1, 1, 1, 2)));
}
} // namespace mrclab
