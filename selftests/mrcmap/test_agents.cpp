// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Agents and a collector together, packet by packet; and what agents count. */
#include <algorithm>

#include "output.hpp"
#include "world.hpp"

namespace mrcmap
{
namespace
{
bool crosses(const World &w, const ProbePath &p, const char *direction)
{
	return std::find(p.hops.begin(), p.hops.end(),
			 w.t_.direction(direction)) != p.hops.end();
}

/* From now on nothing comes through this direction. */
void swallow(World &w, const char *direction)
{
	w.delay = [&w,
		   direction](const ProbePath &p) -> std::optional<uint64_t> {
		if (crosses(w, p, direction))
			return std::nullopt;
		return 100'000;
	};
}

TEST(Agents, GrayLinkIsFoundDeniedAndForgotten)
{
	World w;

	w.collector_.enable_deny(true);
	w.run(3 * second);
	EXPECT_TRUE(w.changes.empty());
	EXPECT_TRUE(w.denied.empty());
	swallow(w, "p1l1:s2");
	w.run(3 * second);
	ASSERT_EQ(w.changes.size(), 1u);
	EXPECT_EQ(finding_line(w.t_, w.changes[0].finding),
		  "p1l1:s2: gray, one direction, carrier not known");
	EXPECT_LE(w.changes[0].at, 505'000);
	/* h1 and h2 send over it. */
	EXPECT_EQ(w.denied[1],
		  "{\"evs\":[[3,1,2],[4,1,2]],\"type\":\"deny\"}\n");
	EXPECT_EQ(w.denied.count(3), 0u);
	w.delay = [](const ProbePath &) { return 100'000; };
	w.run(5 * second);
	ASSERT_EQ(w.changes.size(), 2u);
	EXPECT_EQ(w.changes[1].what, Change::What::cleared);
	EXPECT_EQ(w.denied[1], "{\"evs\":[],\"type\":\"deny\"}\n");
}

TEST(Agents, AgentThatSleepsIsNoFault)
{
	World w;

	for (int i = 0; i < 10; i++) {
		w.run(700 * ms);
		w.sleeping = {2};
		w.run(draw_share(*std::make_unique<Random>(i)) * 400 * ms);
		w.sleeping.clear();
	}
	EXPECT_TRUE(w.changes.empty());
	EXPECT_GT(w.agents_[1]->counters().gaps, 5u);
	EXPECT_EQ(w.agents_[0]->counters().gaps, 0u);
	/* One that never comes back is silent, and no fault of the fabric. */
	w.sleeping = {2};
	w.run(6 * second);
	EXPECT_TRUE(w.changes.empty());
	EXPECT_TRUE(w.collector_.snapshot(600 * second, 0).agents[1].silent);
}

/* The loop of the program turns four times per wait. */
TEST(Agents, ShortWaitFindsFaults)
{
	World w(fabric_of(2, 2, 2, 2), 0, [](Config &c) { c.wait = 10 * ms; });

	w.turn_every = 2;
	w.run(2 * second);
	EXPECT_EQ(w.agents_[0]->counters().gaps, 0u);
	swallow(w, "p1l1:s2");
	w.run(3 * second);
	ASSERT_EQ(w.changes.size(), 1u);
	EXPECT_EQ(w.changes[0].what, Change::What::raised);
}

TEST(Agents, LateIsNotLost)
{
	World w;
	Evidence::Totals sum;

	w.run(2 * second);
	/* Later than the wait: a window is closed before they are back. */
	w.delay = [](const ProbePath &) { return 230 * ms; };
	w.run(3 * second);
	w.delay = [](const ProbePath &) { return 100'000; };
	w.run(2 * second);
	for (const auto &k : w.collector_.snapshot(600 * second, 0).kinds) {
		sum.lost += k.lost;
		sum.late += k.late;
	}
	EXPECT_GT(sum.late, 0u);
	for (const Change &c : w.changes)
		EXPECT_EQ(c.finding.state, State::slow);
}

TEST(Agents, Strangers)
{
	World w;
	AgentState &a = *w.agents_[0];
	const auto due = a.due(w.clock(1) + 50 * ms);
	const std::vector<Packet> mine(due.begin(), due.end());
	const std::vector<uint8_t> junk(100, 0x60);
	Key other{};

	ASSERT_FALSE(mine.empty());
	other[0] = 1;

	AgentState stranger(w.t_, w.plan_, w.config_, 1, other, w.clock(1));
	const auto theirs = stranger.due(w.clock(1) + 50 * ms);

	a.on_packet(junk, 1, w.clock(1) + 51 * ms);
	a.on_packet(theirs[0].bytes, theirs[0].plane, w.clock(1) + 51 * ms);
	a.on_packet(mine[0].bytes, 3 - mine[0].plane, w.clock(1) + 51 * ms);
	EXPECT_EQ(a.counters().foreign, 1u);
	EXPECT_EQ(a.counters().forged, 1u);
	EXPECT_EQ(a.counters().misplaced, 1u);
	EXPECT_EQ(a.counters().received, 0u);
}

TEST(Windows, CountsAndLate)
{
	const Config c;
	SentWindows s(c);
	uint64_t now = 10 * c.window;

	for (uint32_t i = 0; i < 4; i++)
		EXPECT_EQ(s.on_sent(7, false, now + i * ms), i);
	EXPECT_TRUE(s.on_received(7, 10, 1, now + ms, now + 3 * ms));
	EXPECT_TRUE(s.on_received(7, 10, 0, now, now + 4 * ms));
	EXPECT_TRUE(s.on_received(7, 10, 1, now + ms, now + 5 * ms));
	EXPECT_FALSE(s.on_received(7, 10, 4, now, now + 5 * ms));
	EXPECT_FALSE(s.on_received(7, 9, 0, now, now + 5 * ms));
	EXPECT_FALSE(s.on_received(8, 10, 0, now, now + 5 * ms));
	s.on_unsent(7, 10);
	EXPECT_TRUE(s.close(now + c.window - 1).empty());
	now += c.window;

	const auto closed = s.close(now);

	ASSERT_EQ(closed.size(), 1u);
	EXPECT_EQ(closed[0], (PathWindow{7, 10, 3, 2, 1, 0, 2 * ms, 3 * ms,
					 4 * ms, false}));
	EXPECT_TRUE(s.on_received(7, 10, 2, now - c.window + 2 * ms, now));

	const auto late = s.close(now + 1);

	ASSERT_EQ(late.size(), 1u);
	EXPECT_EQ(late[0].late, 1u);
	EXPECT_EQ(late[0].sent, 0u);
	/* From now on it waits longer. */
	EXPECT_EQ(s.wait(), 4 * (98 * ms));
	s.on_sent(7, false, now);
	s.on_gap();
	EXPECT_TRUE(s.close(now + 200 * ms).empty());
	ASSERT_EQ(s.close(now + 400 * ms).size(), 1u);
}

TEST(Windows, PeersStartAnew)
{
	const Config c;
	PeerWindows p(c);

	p.on_received(1, 50000, 0, 5, 1000);
	p.on_received(1, 50000, 0, 5, 1000);
	p.on_received(1, 50000, 3, 9, 1001);

	const auto first = p.close(2 * c.window);

	ASSERT_EQ(first.size(), 1u);
	EXPECT_EQ(first[0], (PeerWindow{1, 50000, 2, 1, 992, false}));
	p.on_received(1, 49999, 0, 5, 1000);
	EXPECT_TRUE(p.close(5 * c.window).empty());
	p.on_received(1, 3, 0, 5, 1000);
	EXPECT_EQ(p.close(5 * c.window).size(), 1u);
}

TEST(Collector, Refuses)
{
	World w;
	const auto says = [&](Connection from, const std::string &line) {
		return w.collector_.on_line(from, line, 0).why;
	};
	const std::string hello = w.agents_[0]->hello_line();

	EXPECT_EQ(says(99, "{}"), "no \"type\"");
	EXPECT_EQ(says(99, R"({"type":"ports","carrier":[]})"), "no hello yet");
	EXPECT_NE(says(1, hello.substr(0, hello.size() - 1)), "");
	EXPECT_NE(says(2, R"({"type":"ports","carrier":[true]})"), "");
	EXPECT_NE(says(2, R"({"type":"windows","at":1,"peers":[],
		"paths":[[0,1,1,1,0,0,1,1,1,0]]})"),
		  "");
	EXPECT_NE(says(2, R"({"type":"windows","at":1,"paths":[],
		"peers":[[0,1,1,0,1,0]]})"),
		  "");
	EXPECT_NE(says(2, R"({"type":"evs","evs":[[2,1,1,1,1,1]]})"), "");
	EXPECT_NE(says(99, write(Hello{.fabric = "other"})), "");
	EXPECT_NE(says(99, write(Hello{.fabric = "test", .host = 99})), "");
	EXPECT_NE(says(99, write(Hello{.fabric = "test", .host = 1})), "");
	/* A new connection of the same host. */
	EXPECT_EQ(says(99, hello), "");
	EXPECT_EQ(w.collector_.close_also(), (std::vector<Connection>{1}));
	EXPECT_TRUE(w.collector_.close_also().empty());
	w.collector_.on_disconnect(1);
	EXPECT_TRUE(w.collector_.snapshot(0, 0).agents[0].connected);
	w.collector_.on_disconnect(99);
	EXPECT_FALSE(w.collector_.snapshot(0, 0).agents[0].connected);
}
} // namespace
} // namespace mrcmap
