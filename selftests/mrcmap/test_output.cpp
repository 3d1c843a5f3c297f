// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What people and programs see, deny lists, and findings over time. */
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "deny.hpp"
#include "output.hpp"
#include "sim.hpp"

namespace mrcmap
{
namespace
{
/* Compares @text with golden/@name, or writes the file. */
void golden(const std::string &name, const std::string &text)
{
	const std::string path = std::string(GOLDEN_DIR "/") + name;
	const char *mode = std::getenv("MRCMAP_GOLDEN");
	std::ostringstream have;

	if (mode && std::string(mode) == "write") {
		std::ofstream(path) << text;
		return;
	}

	std::ifstream file(path);

	ASSERT_TRUE(file) << path;
	have << file.rdbuf();
	EXPECT_EQ(text, have.str()) << "see " << path;
}

Finding finding(const mrclab::Topology &t, Element e, const std::string &name,
		State s, double loss = 1)
{
	Finding f;

	f.place.element = e;
	f.state = s;
	f.loss = s == State::slow ? 0 : loss;
	f.confidence = 0.99;
	f.paths = 4;
	f.sent = 1000;
	f.lost = 10;
	if (e == Element::t0 || e == Element::t1) {
		f.place.number = t.index(t.node(name));
		return f;
	}

	const bool both = name.back() == '+';
	const auto d =
		t.direction(both ? name.substr(0, name.size() - 1) : name);

	f.place.number = d.link;
	f.place.way = both ? Way::both : d.up ? Way::up : Way::down;
	return f;
}

Snapshot snapshot(const mrclab::Topology &t)
{
	Snapshot s;
	Finding slow =
		finding(t, Element::fabric_link, "p1l2:s1+", State::slow);
	Finding lossy =
		finding(t, Element::nic_link, "h3:p2", State::lossy, 0.0123);

	slow.extra_delay = 5 * ms;
	slow.others = {slow.place, slow.place};
	slow.others[0].way = Way::up;
	slow.others[1].way = Way::down;
	lossy.carrier = true;
	s.wall = 1'700'000'000'000;
	s.alarms = {
		{finding(t, Element::t1, "p2s2", State::gray), s.wall - 61'000},
		{lossy, s.wall - 5'000},
		{slow, s.wall - 1'000}};
	for (uint32_t h = 1; h <= 4; h++) {
		AgentView a;

		a.host = h;
		a.connected = a.silent = h == 4;
		a.reports = 100 * h;
		a.probes.sent = 1000 * h;
		a.carrier = {true, std::nullopt};
		s.agents.push_back(a);
	}
	for (uint32_t l = 0; l < t.links().size(); l++)
		for (const bool up : {true, false}) {
			s.links.emplace_back();
			s.links.back().direction = {l, up};
			if (l)
				s.links.back().loss = l == 5 ? 0.0123 : 0;
		}
	s.links[3].qp_sent = 1000;
	s.links[3].qp_lost = 3;
	s.kinds.resize(4);
	s.kinds[1].sent = 12345;
	s.kinds[1].lost = 6;
	s.history = {{Change::What::raised, s.wall - 5'000, lossy},
		     {Change::What::cleared, s.wall, slow}};
	return s;
}

TEST(Output, Golden)
{
	const mrclab::Topology t(fabric_of(2, 2, 2, 2));
	const Snapshot s = snapshot(t);
	std::string lines;

	for (const Change &c : s.history)
		lines += change_line(t, c) + "\n";
	golden("text.txt", text_of(t, s));
	golden("map.json", json_of(t, s));
	golden("history.json", history_json(t, s));
	golden("metrics.prom", prometheus_of(t, s));
	golden("map.dot", dot_of(t, s));
	golden("changes.txt", lines);
}

TEST(Output, Nothing)
{
	const mrclab::Topology t(fabric_of(1, 1, 0, 1));
	const Snapshot s;

	EXPECT_NE(text_of(t, s).find("no findings"), std::string::npos);
	EXPECT_NE(dot_of(t, s).find("p1l1"), std::string::npos);
	EXPECT_NE(prometheus_of(t, s).find("mrcmap_findings{"),
		  std::string::npos);
}

std::string denied(const mrclab::Topology &t, const std::vector<Finding> &f,
		   uint32_t host)
{
	return deny_commands({}, deny_list(t, f, host, Config()));
}

TEST(Deny, WhatCrossesTheLink)
{
	const mrclab::Topology t(fabric_of(2, 2, 2, 2));
	const auto link = [&](const char *name) {
		return finding(t, Element::fabric_link, name, State::gray);
	};

	EXPECT_EQ(denied(t, {}, 1), "");
	EXPECT_EQ(denied(t, {link("p1l1:s2")}, 1),
		  "ev deny 3 02@1\nev deny 4 02@1\n");
	EXPECT_EQ(denied(t, {link("p1l1:s2")}, 3), "");
	EXPECT_EQ(denied(t, {link("p1l1:s2+")}, 3),
		  "ev deny 1 02@1\nev deny 2 02@1\n");
	EXPECT_EQ(denied(t,
			 {finding(t, Element::nic_link, "h3:p2", State::lossy,
				  0.01)},
			 3),
		  "ev deny 1 01@2,02@2\nev deny 2 01@2,02@2\nev deny 4 00@2\n");
	EXPECT_EQ(denied(t,
			 {finding(t, Element::nic_link, "h3:p2", State::lossy,
				  0.01)},
			 1),
		  "ev deny 3 01@2,02@2\n");
	EXPECT_EQ(denied(t, {finding(t, Element::t1, "p1s1", State::gray)}, 4),
		  "ev deny 1 01@1\nev deny 2 01@1\n");
}

TEST(Deny, NeverTheLast)
{
	const mrclab::Topology one(fabric_of(1, 2, 2, 1));
	Random r(1);

	/* One plane: of two bad T1s, the better one stays. */
	EXPECT_EQ(denied(one, {finding(one, Element::t0, "p1l1", State::gray)},
			 1),
		  "");
	EXPECT_EQ(denied(one,
			 {finding(one, Element::t1, "p1s1", State::lossy, 0.1),
			  finding(one, Element::t1, "p1s2", State::lossy, 0.2)},
			 1),
		  "ev deny 2 02@1\n");
	for (int i = 0; i < 300; i++) {
		const mrclab::Topology t(random_fabric(r));
		const uint32_t planes = t.fabric().planes;
		std::vector<Finding> all;

		for (uint64_t n = draw(r, 1, 40); n; n--) {
			const Fault f = random_fault(r, t);
			Finding x;

			x.place = f.place;
			x.state = f.state;
			x.loss = f.loss;
			all.push_back(x);
		}

		const DenyList list = deny_list(t, all, 1, Config());

		for (uint32_t d = 2; d <= t.fabric().all_hosts(); d++) {
			const std::size_t ways =
				t.t0_of(d) == 1 ? 1 : t.fabric().t1;
			std::size_t whole = 0;

			for (uint32_t p = 1; p <= planes; p++) {
				std::size_t n = 0;

				for (const Denied &e : list.evs)
					n += e.destination == d && e.plane == p;
				whole += n == ways;
			}
			EXPECT_LE(2 * whole, planes);
		}
	}
}

TEST(Deny, Changes)
{
	const DenyList a{{{2, 1, 1}, {2, 1, 2}, {3, 1, 0}}};
	const DenyList b{{{2, 1, 2}, {2, 2, 1}, {4, 3, 0}}};

	EXPECT_EQ(deny_commands(a, b), "ev allow 2 01@1\nev allow 3 00@1\n"
				       "ev deny 2 01@2\nev deny 4 00@3\n");
	EXPECT_EQ(deny_commands(a, a), "");
}

TEST(Health, RaisesAndClearsSlowly)
{
	const mrclab::Topology t(fabric_of(1, 2, 2, 1));
	Config config;
	const Finding gray =
		finding(t, Element::fabric_link, "p1l1:s1", State::gray);
	Finding lossy = gray;
	Health h(config);
	int64_t at = 0;
	const auto see = [&](const std::vector<Finding> &f) {
		std::string out;

		for (const Change &c : h.update(f, ++at))
			out += what_name(c.what);
		return out;
	};

	lossy.state = State::lossy;
	config.history = 3;
	config.clear_after = 5;
	h = Health(config);
	EXPECT_EQ(see({gray}), "");
	EXPECT_EQ(see({}), "");
	EXPECT_EQ(see({gray}), "");
	EXPECT_EQ(see({gray}), "raised");
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(see({}), "");
	EXPECT_EQ(see({lossy}), "");
	EXPECT_EQ(see({gray}), "");
	EXPECT_EQ(see({lossy}), "");
	EXPECT_EQ(see({lossy}), "changed");
	ASSERT_EQ(h.alarms().size(), 1u);
	EXPECT_EQ(h.alarms()[0].since, 4);
	EXPECT_EQ(h.alarms()[0].finding.state, State::lossy);
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(see({}), "");
	EXPECT_EQ(see({}), "cleared");
	EXPECT_TRUE(h.alarms().empty());
	see({gray});
	see({gray});
	EXPECT_EQ(h.history().size(), 3u);
}
} // namespace
} // namespace mrcmap
