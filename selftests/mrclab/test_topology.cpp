// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Nodes, links, names and paths. */
#include "topology.hpp"

#include <set>

#include <gtest/gtest.h>

#include "error.hpp"
#include "fabric_file.hpp"
#include "random_fabric.hpp"

namespace mrclab
{
namespace
{
using Names = std::vector<std::string>;

Names names(const Topology &t, const std::vector<Direction> &all)
{
	Names n;

	for (const Direction d : all)
		n.push_back(t.name(d));
	return n;
}

std::string refusal(const std::function<void()> &run)
{
	try {
		run();
	} catch (const UsageError &e) {
		return e.what();
	}
	return "";
}
} // namespace

TEST(Topology, CountsNodesAndLinks)
{
	on_topologies(true, [](const Topology &t, Random &) {
		const Fabric &f = t.fabric();
		uint32_t count[3] = {}, host_links = 0;

		for (const Node &n : t.nodes())
			count[static_cast<int>(n.kind)]++;
		for (const Link &l : t.links())
			host_links += t.nodes()[l.low.node].kind == Kind::host;
		EXPECT_EQ(count[0], f.t0 * f.hosts);
		EXPECT_EQ(count[1], f.planes * f.t0);
		EXPECT_EQ(count[2], f.planes * f.t1);
		EXPECT_EQ(host_links, f.planes * f.t0 * f.hosts);
		EXPECT_EQ(t.links().size(),
			  host_links + f.planes * f.t0 * f.t1);
	});
}

TEST(Topology, NamesNodesAndNetdevs)
{
	const Topology t(fabric_of(2, 2, 1, 2));
	Names nodes;

	for (const Node &n : t.nodes())
		nodes.push_back(n.name);
	EXPECT_EQ(nodes, (Names{"h1", "h2", "h3", "h4", "p1l1", "p1l2", "p1s1",
				"p2l1", "p2l2", "p2s1"}));
	EXPECT_EQ(names(t, t.sent_by(t.node("h3"))), (Names{"h3:p1", "h3:p2"}));
	EXPECT_EQ(names(t, t.sent_by(t.node("p2l2"))),
		  (Names{"p2l2:s1", "p2l2:h3", "p2l2:h4"}));
	EXPECT_EQ(names(t, t.sent_by(t.node("p1s1"))),
		  (Names{"p1s1:l1", "p1s1:l2"}));
}

TEST(Topology, HasEachNameOnce)
{
	on_topologies(true, [](const Topology &t, Random &) {
		std::set<std::string> seen;

		for (const Node &n : t.nodes()) {
			EXPECT_TRUE(seen.insert(n.name).second) << n.name;
			EXPECT_EQ(&t.node(n.name), &n);
			EXPECT_EQ(&t.nodes()[t.index(n)], &n);
		}
		for (uint32_t l = 0; l < t.links().size(); l++)
			for (const bool up : {true, false}) {
				const std::string name = t.name({l, up});

				EXPECT_TRUE(seen.insert(name).second) << name;
				EXPECT_EQ(t.direction(name),
					  (Direction{l, up}));
				/* As long as Linux allows. */
				EXPECT_LE(t.from({l, up}).netdev.size(), 15u);
			}
	});
}

TEST(Topology, FindsNodesByNumber)
{
	on_topologies(true, [](const Topology &t, Random &) {
		for (const Node &n : t.nodes()) {
			const Node &same =
				n.kind == Kind::host ? t.host(n.number)
				: n.kind == Kind::t0 ? t.t0(n.plane, n.number)
						     : t.t1(n.plane, n.number);

			EXPECT_EQ(&same, &n) << n.name;
			EXPECT_EQ(n.plane == 0, n.kind == Kind::host);
		}
	});
}

TEST(Topology, ConnectsEachPlaneByItself)
{
	on_topologies(true, [](const Topology &t, Random &) {
		std::set<std::pair<uint32_t, uint32_t>> pairs;

		for (const Link &l : t.links()) {
			const Node &low = t.nodes()[l.low.node];
			const Node &high = t.nodes()[l.high.node];

			EXPECT_EQ(high.plane, l.plane);
			if (low.kind == Kind::host) {
				EXPECT_EQ(high.kind, Kind::t0);
				EXPECT_EQ(high.number, t.t0_of(low.number));
			} else {
				EXPECT_EQ(low.kind, Kind::t0);
				EXPECT_EQ(low.plane, l.plane);
				EXPECT_EQ(high.kind, Kind::t1);
			}
			EXPECT_TRUE(
				pairs.emplace(l.low.node, l.high.node).second);
		}
	});
}

TEST(Topology, NumbersHostsOverAllT0s)
{
	const Topology t(fabric_of(1, 3, 1, 2));

	for (uint32_t h = 1; h <= 6; h++)
		EXPECT_EQ(t.t0_of(h), (h + 1) / 2) << h;
	EXPECT_EQ(t.name(t.path(1, 1, 1, 6).back()), "p1l3:h6");
}

TEST(Topology, SendsEachDirectionFromOneEnd)
{
	on_topologies(true, [](const Topology &t, Random &) {
		std::size_t sent = 0;

		for (const Node &n : t.nodes())
			for (const Direction d : t.sent_by(n)) {
				const Direction back{d.link, !d.up};

				EXPECT_EQ(t.from(d).node, t.index(n));
				EXPECT_EQ(&t.from(d), &t.to(back));
				EXPECT_EQ(&t.to(d), &t.from(back));
				EXPECT_EQ(t.last_hop(d),
					  t.nodes()[t.to(d).node].kind ==
						  Kind::host);
				sent++;
			}
		EXPECT_EQ(sent, 2 * t.links().size());
	});
}

TEST(Topology, HasConnectedPaths)
{
	on_topologies(true, [](const Topology &t, Random &r) {
		const Fabric &f = t.fabric();
		const auto n = [&r](uint32_t max) {
			return static_cast<uint32_t>(draw(r, 1, max));
		};

		for (int i = 0; i < 50; i++) {
			const uint32_t a = n(f.all_hosts()),
				       b = n(f.all_hosts());
			const uint32_t p = n(f.planes);
			const uint32_t s = f.t1 ? n(f.t1) : 0;
			const std::vector<Direction> path = t.path(a, p, s, b);
			const bool same = t.t0_of(a) == t.t0_of(b);

			ASSERT_EQ(path.size(), same ? 2u : 4u);
			EXPECT_EQ(t.from(path.front()).node,
				  t.index(t.host(a)));
			EXPECT_EQ(t.to(path.back()).node, t.index(t.host(b)));
			for (std::size_t k = 0; k < path.size(); k++) {
				EXPECT_EQ(t.links()[path[k].link].plane, p);
				EXPECT_EQ(t.last_hop(path[k]),
					  k + 1 == path.size());
				if (k > 0) {
					EXPECT_EQ(t.to(path[k - 1]).node,
						  t.from(path[k]).node);
				}
			}
			if (!same) {
				EXPECT_EQ(t.to(path[1]).node,
					  t.index(t.t1(p, s)));
			}
		}
	});
}

TEST(Topology, HasThePathsOfTheNames)
{
	const Topology t(fabric_of(2, 2, 2, 2));

	EXPECT_EQ(names(t, t.path(1, 2, 1, 4)),
		  (Names{"h1:p2", "p2l1:s1", "p2s1:l2", "p2l2:h4"}));
	EXPECT_EQ(names(t, t.path(1, 1, 9, 2)), (Names{"h1:p1", "p1l1:h2"}));
	EXPECT_THROW(t.path(1, 1, 3, 4), UsageError);
	EXPECT_THROW(t.path(1, 1, 0, 4), UsageError);
	EXPECT_THROW(t.path(1, 0, 1, 4), UsageError);
	EXPECT_THROW(t.path(1, 3, 1, 4), UsageError);
	EXPECT_THROW(t.path(0, 1, 1, 4), UsageError);
	EXPECT_THROW(t.path(5, 1, 1, 4), UsageError);
	EXPECT_THROW(t.path(1, 1, 1, 0), UsageError);
	EXPECT_THROW(t.path(1, 1, 1, 5), UsageError);
}

TEST(Topology, MatchesNames)
{
	const Topology t(fabric_of(2, 2, 2, 1));
	const std::pair<const char *, Names> all[] = {
		{"h1:p1", {"h1:p1"}},
		{"p1l1:h1", {"p1l1:h1"}},
		{"h?:p2", {"h1:p2", "h2:p2"}},
		{"h[2-9]:*", {"h2:p1", "h2:p2"}},
		{"p1l1:s*", {"p1l1:s1", "p1l1:s2"}},
		{"p1s[!1]:*", {"p1s2:l1", "p1s2:l2"}},
		{"*:h1", {"p1l1:h1", "p2l1:h1"}},
		{"p2l2:*", {"p2l2:s1", "p2l2:s2", "p2l2:h2"}},
		{"h1", {}},
		{"", {}},
		{"H1:p1", {}},
		{"h1:p1 ", {}},
		{"h1:p[1", {}},
		{"h1:p11", {}},
	};

	for (const auto &[pattern, want] : all)
		EXPECT_EQ(names(t, t.matching(pattern)), want) << pattern;
	EXPECT_EQ(t.matching("*").size(), 2 * t.links().size());
}

TEST(Topology, LooksUpPropsBySpecificity)
{
	Fabric f = fabric_of(2, 2, 1, 1);
	const auto rule = [&f](const char *pattern, const char *key,
			       const char *value) {
		LinkRule r{pattern, {}, 1};

		set_link_prop(r.props, key, value);
		f.rules.push_back(r);
	};

	set_link_prop(f.host_links, "rate", "10mbit");
	set_link_prop(f.host_links, "loss", "1%");
	set_link_prop(f.fabric_links, "rate", "20mbit");
	rule("p1*", "delay", "1ms");
	rule("p1l1:*", "delay", "2ms");
	rule("h1:p1", "loss", "3%");
	rule("*:h1", "mark", "1k..2k");

	const Topology t(f);
	const auto props = [&t](const char *name) {
		return t.props(t.direction(name));
	};
	LinkProps host, fabric;

	host.rate = 10000000;
	host.loss = 0.01;
	fabric.rate = 20000000;
	/* Nothing but what is of the kind of link, in both directions. */
	EXPECT_EQ(props("h2:p1"), host);
	EXPECT_EQ(props("p2l2:h2"), host);
	EXPECT_EQ(props("p2l1:s1"), fabric);
	EXPECT_EQ(props("p2s1:l1"), fabric);
	/* A rule is for one direction and adds to that. */
	host.loss = 0.03;
	EXPECT_EQ(props("h1:p1"), host);
	host.loss = 0.01;
	EXPECT_EQ(props("h1:p2"), host);
	host.mark_min = 1024;
	host.mark_max = 2048;
	EXPECT_EQ(props("p2l1:h1"), host);
	/* The last rule wins. */
	host.delay = 2000000;
	EXPECT_EQ(props("p1l1:h1"), host);
	fabric.delay = 2000000;
	EXPECT_EQ(props("p1l1:s1"), fabric);
	fabric.delay = 1000000;
	EXPECT_EQ(props("p1l2:s1"), fabric);
	EXPECT_EQ(props("p1s1:l1"), fabric);
}

TEST(Topology, RefusesUnknownNames)
{
	const Topology t(fabric_of(2, 2, 2, 2));

	EXPECT_EQ(refusal([&] { t.node("h5"); }),
		  "fabric test has no node \"h5\"; hosts are h1 to h4, "
		  "switches are like p1l1 (T0) and p1s1 (T1)");
	EXPECT_EQ(refusal([&] { t.direction("h1:p3"); }),
		  "fabric test has no link \"h1:p3\"; one is named after the "
		  "end that sends, like h1:p1, p1l1:h1 or p1l1:s1");
	for (const char *name : {"", "h0", "h01", "H1", "p3l1", "p1l3", "p1s3",
				 "l1", "h1 ", "p1", "mgmt", "h1:p1"})
		EXPECT_THROW(t.node(name), UsageError) << name;
	for (const char *name :
	     {"", "h1", "h1:", ":p1", "h1:p0", "p1l1:s3", "p1l1:l1", "p1s1:h1",
	      "h1:mgmt", "p1l1:h3", "h*:p1", "p1l1:usid"})
		EXPECT_THROW(t.direction(name), UsageError) << name;
}
} // namespace mrclab
