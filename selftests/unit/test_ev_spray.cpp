// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Which EV is chosen: MRC 1.0 §11.5 and OP-30.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "paths.hpp"

namespace
{

using namespace mrc_test;

// EVs of the next @n picks.
std::vector<int> picks(Paths &p, int n)
{
	std::vector<int> out;

	for (int i = 0; i < n; i++)
		out.push_back(mrc_paths_pick(&p.p, 1));
	return out;
}

std::map<int, int> per_port(Paths &p, const std::vector<int> &evs)
{
	std::map<int, int> out;

	for (int ev : evs)
		out[ev < 0 ? -1 : int{mrc_paths_port(&p.p, ev)}]++;
	return out;
}

TEST(Spray, FindByName)
{
	const mrc_spray_ops *ops = mrc_spray_find("shuffle");

	ASSERT_NE(ops, nullptr);
	EXPECT_STREQ(ops->name, "shuffle");
	EXPECT_NE(ops->pick, nullptr);
	EXPECT_EQ(mrc_spray_find("random"), nullptr);
	EXPECT_EQ(mrc_spray_find(""), nullptr);
	EXPECT_EQ(mrc_spray_find(nullptr), nullptr);
	EXPECT_EQ(Paths(paths_cfg(4, 2))->ops, ops);
}

TEST(Spray, OtherPoliciesAreCalled)
{
	static const mrc_spray_ops last = {
		"last",
		[](mrc_paths *p, std::uint64_t) { return p->n - 1; },
	};
	Paths p(paths_cfg(8, 2));

	p->ops = &last;
	EXPECT_EQ(mrc_paths_pick(&p.p, 1), 7);
	EXPECT_EQ(mrc_paths_pick(&p.p, 1), 7);
	EXPECT_EQ(mrc_paths_port_tx(&p.p, 2), 2u);
}

// Equal load per port, exactly, over every prefix; and within a port every EV
// once per rotation.
TEST(Spray, EqualLoad)
{
	for (unsigned ports = 1; ports <= MRC_MAX_PORTS; ports++) {
		Paths p(paths_cfg(64, ports));
		std::vector<int> load(ports + 1);
		std::vector<int> tx(p->n);
		int rotation = p->n;

		for (int i = 1; i <= 40 * rotation; i++) {
			int ev = mrc_paths_pick(&p.p, 1);

			ASSERT_GE(ev, 0);
			load[mrc_paths_port(&p.p, ev)]++;
			tx[ev]++;
			auto [lo, hi] = std::minmax_element(load.begin() + 1,
							    load.end());
			ASSERT_LE(*hi - *lo, 1);
			if (i % rotation)
				continue;
			for (int n : tx)
				ASSERT_EQ(n, i / rotation);
		}
		for (unsigned k = 1; k <= ports; k++)
			EXPECT_EQ(mrc_paths_port_tx(
					  &p.p, static_cast<std::uint8_t>(k)),
				  static_cast<unsigned>(load[k]));
		p.check();
	}
}

// Packets that leave together take one EV, where its port gains from that; the next
// run takes the next one.
TEST(SprayRun, OneEvPerRun)
{
	Paths p(paths_cfg(8, 2)), single(paths_cfg(8, 2));
	std::vector<int> order = picks(single, 6), want;

	mrc_paths_begin_batch(&p.p, 1u << 1 | 1u << 2);
	for (int i = 0; i < 3; i++)
		want.insert(want.end(), MRC_EV_RUN, order[i]);
	EXPECT_EQ(picks(p, 3 * MRC_EV_RUN), want);
	EXPECT_EQ(mrc_paths_port_tx(&p.p, mrc_paths_port(&p.p, order[1])),
		  static_cast<unsigned>(MRC_EV_RUN));
	// A batch ends the run of the one before. The port of this one has sent less.
	EXPECT_EQ(picks(p, 1)[0], order[3]);
	mrc_paths_begin_batch(&p.p, 1u << 1 | 1u << 2);
	EXPECT_EQ(picks(p, 2), (std::vector<int>{order[5], order[5]}));
	mrc_paths_begin_batch(&p.p, 0);
	EXPECT_EQ(picks(p, 1)[0], order[4]);
	p.check();
}

// Between ports with and without runs the load could not be equal.
TEST(SprayRun, OnlyIfAllPortsGain)
{
	Paths p(paths_cfg(8, 2)), single(paths_cfg(8, 2));

	mrc_paths_begin_batch(&p.p, 1u << 2);
	EXPECT_EQ(picks(p, 8), picks(single, 8));
	// Bits of ports that do not exist.
	mrc_paths_begin_batch(&p.p, 0xFFFF0005u);
	EXPECT_EQ(picks(p, 8), picks(single, 8));
	// A port that must not be used does not count.
	mrc_paths_set_ports(&p.p, 1u << 2);
	mrc_paths_begin_batch(&p.p, 1u << 2);
	const std::vector<int> evs = picks(p, 2);
	EXPECT_EQ(evs[0], evs[1]);
	p.check();
}

// Whatever the lengths of batches are, no port gets more than a run ahead; not even
// when ports come and go.
TEST(SprayRun, EqualLoadOfUnequalBatches)
{
	std::mt19937 rng(7);

	for (const unsigned ports : {2u, 3u, 4u, 16u}) {
		for (const int pattern : {0, 1, 2}) {
			Paths p(paths_cfg(64, ports));
			std::vector<int> load(ports + 1);

			for (int i = 0; i < 2000; i++) {
				const int n = pattern == 0 ? MRC_EV_RUN + 1 :
					      pattern == 1 ? (i & 1 ? 1 : 5) :
							     1 + int(rng() % 40);

				mrc_paths_begin_batch(&p.p, 0x1FFFE);
				for (const int ev : picks(p, n))
					load[mrc_paths_port(&p.p, ev)]++;
				const auto [lo, hi] = std::minmax_element(
					load.begin() + 1, load.end());
				ASSERT_LE(*hi - *lo, MRC_EV_RUN) << ports << " " << i;
			}
			// What was missed meanwhile is not made up for.
			mrc_paths_set_ports(&p.p, 0x1FFFC);
			mrc_paths_begin_batch(&p.p, 0x1FFFE);
			picks(p, 1000);
			mrc_paths_set_ports(&p.p, 0x1FFFE);
			mrc_paths_begin_batch(&p.p, 0x1FFFE);
			std::map<int, int> again =
				per_port(p, picks(p, int(ports) * MRC_EV_RUN));
			EXPECT_EQ(again[1], MRC_EV_RUN);
			EXPECT_EQ(again[int(ports)], MRC_EV_RUN);
			p.check();
		}
	}
}

// A run ends when its EV or its port must not be used any more.
TEST(SprayRun, EndsWithTheState)
{
	for (const mrc_ev_verdict v : {MRC_EVV_CE, MRC_EVV_CONDEMNED, MRC_EVV_DENY}) {
		Paths p(paths_cfg(8, 2));

		mrc_paths_begin_batch(&p.p, 1u << 1 | 1u << 2);
		const int first = picks(p, 2)[1];
		mrc_paths_verdict(&p.p, first, v, 1);
		const std::vector<int> evs = picks(p, 2 * MRC_EV_RUN);
		EXPECT_EQ(std::count(evs.begin(), evs.end(), first), 0);
		p.check();
	}
	for (const bool peer : {false, true}) {
		Paths p(paths_cfg(8, 2));

		mrc_paths_begin_batch(&p.p, 1u << 1 | 1u << 2);
		const int first = picks(p, 1)[0];
		const std::uint32_t other = 6u & ~(1u << mrc_paths_port(&p.p, first));

		if (peer)
			mrc_paths_peer_status(&p.p, other, 1);
		else
			mrc_paths_set_ports(&p.p, other);
		for (const int ev : picks(p, 3 * MRC_EV_RUN))
			EXPECT_EQ(1u << mrc_paths_port(&p.p, ev), other);
		p.check();
	}
}

// Over whole runs every EV is used as often as the others.
TEST(SprayRun, EqualLoad)
{
	Paths p(paths_cfg(64, 4));
	std::vector<int> tx(p->n);

	mrc_paths_begin_batch(&p.p, 0x1E);
	for (int ev : picks(p, 64 * MRC_EV_RUN * 3))
		tx[ev]++;
	for (int n : tx)
		EXPECT_EQ(n, 3 * MRC_EV_RUN);
}

// The order of a port stays for 16 rotations and is a new one then.
TEST(Spray, ReshuffledEvery16Rotations)
{
	Paths p(paths_cfg(32, 1));
	std::vector<int> order = picks(p, 32), sorted;
	std::set<std::vector<int>> orders = {order};

	for (int round = 0; round < 10; round++) {
		for (int i = 1; i < MRC_EV_RESHUFFLE; i++)
			ASSERT_EQ(picks(p, 32), order) << round << " " << i;
		order = picks(p, 32);
		sorted = order;
		std::sort(sorted.begin(), sorted.end());
		for (int i = 0; i < 32; i++)
			ASSERT_EQ(sorted[i], i);
		ASSERT_TRUE(orders.insert(order).second);
	}
}

TEST(Spray, SeedsGiveDifferentOrders)
{
	mrc_paths_cfg cfg = paths_cfg(64, 4);
	std::set<std::vector<int>> orders;

	for (int i = 0; i < 50; i++) {
		cfg.seed = 0xABCDEF + i;
		Paths p(cfg);
		orders.insert(picks(p, 64));
	}
	EXPECT_EQ(orders.size(), 50u);
}

// The first in the order is any of them: no position is preferred.
TEST(Spray, ShuffleIsFair)
{
	mrc_paths_cfg cfg = paths_cfg(8, 1);
	std::map<int, int> first, second;

	for (int i = 0; i < 8000; i++) {
		cfg.seed = static_cast<std::uint64_t>(i);
		Paths p(cfg);
		first[mrc_paths_pick(&p.p, 1)]++;
		second[mrc_paths_pick(&p.p, 1)]++;
	}
	// 1000 each expected, 30 is a standard deviation.
	for (int ev = 0; ev < 8; ev++) {
		EXPECT_NEAR(first[ev], 1000, 200);
		EXPECT_NEAR(second[ev], 1000, 200);
	}
}

// §11.5: a SKIP is reset and passed over, and is there the next time.
TEST(Spray, SkipSitsOutOneRotation)
{
	Paths p(paths_cfg(16, 1));
	std::vector<int> order = picks(p, 16), now, want;

	mrc_paths_verdict(&p.p, order[5], MRC_EVV_CE, 1);
	now = picks(p, 15);
	want = order;
	want.erase(want.begin() + 5);
	EXPECT_EQ(now, want);
	EXPECT_EQ(mrc_paths_state(&p.p, order[5]), G);
	EXPECT_EQ(picks(p, 16), order);
	p.check();
}

// The first of the order, when the walk is at its end.
TEST(Spray, SkipAtTheTurn)
{
	Paths p(paths_cfg(16, 1));
	std::vector<int> order = picks(p, 16);

	mrc_paths_verdict(&p.p, order[0], MRC_EVV_TRIM, 1);
	EXPECT_EQ(mrc_paths_pick(&p.p, 1), order[1]);
	EXPECT_EQ(mrc_paths_state(&p.p, order[0]), G);
}

// At most one reset per packet: of three in a row the first comes back now,
// the others a rotation later each.
TEST(Spray, OneResetPerPick)
{
	Paths p(paths_cfg(16, 1));
	std::vector<int> order = picks(p, 16);

	for (int k : {3, 4, 5})
		mrc_paths_verdict(&p.p, order[k], MRC_EVV_CE, 1);
	EXPECT_EQ(picks(p, 3),
		  std::vector<int>(order.begin(), order.begin() + 3));
	EXPECT_EQ(p.count(S), 3u);
	EXPECT_EQ(mrc_paths_pick(&p.p, 1), order[6]);
	EXPECT_EQ(p.count(S), 2u);
	EXPECT_EQ(mrc_paths_state(&p.p, order[3]), G);
	picks(p, 9); // 7..15
	EXPECT_EQ(p.count(S), 2u);
	EXPECT_EQ(picks(p, 4).back(), order[3]);
	EXPECT_EQ(p.count(S), 2u);
	EXPECT_EQ(mrc_paths_pick(&p.p, 1), order[6]);
	EXPECT_EQ(p.count(S), 1u);
	EXPECT_EQ(mrc_paths_state(&p.p, order[4]), G);
	p.check();
}

// Never more than one reset, whatever the pattern.
TEST(Spray, OneResetPerPickRandom)
{
	std::mt19937_64 rng(3);

	for (int round = 0; round < 300; round++) {
		Paths p(paths_cfg(24, 1));

		for (int i = 0; i < 24; i++)
			if (rng() % 3)
				mrc_paths_verdict(&p.p, i, MRC_EVV_CE, 1);
		for (int i = 0; i < 60; i++) {
			unsigned before = p.count(S);
			std::vector<std::uint8_t> was;
			int ev;

			for (int k = 0; k < 24; k++)
				was.push_back(mrc_paths_state(&p.p, k));
			ev = mrc_paths_pick(&p.p, 1);
			ASSERT_GE(ev, 0);
			ASSERT_LE(before - p.count(S), 1u);
			ASSERT_EQ(mrc_paths_state(&p.p, ev), G);
			// Not the one that was reset, if there was a choice.
			if (before < 24) {
				ASSERT_EQ(was[static_cast<std::size_t>(ev)], G);
			}
		}
	}
}

// All marked: traffic goes on, and the walk still visits everyone.
TEST(Spray, AllSkip)
{
	Paths p(paths_cfg(16, 2));
	std::set<int> used;

	for (int i = 0; i < 16; i++)
		mrc_paths_verdict(&p.p, i, MRC_EVV_CE, 1);
	for (int i = 0; i < 16; i++) {
		int ev = mrc_paths_pick(&p.p, 1);

		ASSERT_GE(ev, 0);
		used.insert(ev);
		// Marked again at once: the network is congested everywhere.
		mrc_paths_verdict(&p.p, ev, MRC_EVV_CE, 1);
		p.check();
	}
	EXPECT_EQ(p.count(S), 16u);
	EXPECT_EQ(used.size(), 16u);
	EXPECT_EQ(p.total(MRC_CTR_EV_BAD), 0u);
}

TEST(Spray, BadAndDeniedArePassedOver)
{
	Paths p(paths_cfg(16, 1));
	std::vector<int> order = picks(p, 16), want;

	mrc_paths_verdict(&p.p, order[2], MRC_EVV_TIMEOUT, 1);
	mrc_paths_verdict(&p.p, order[3], MRC_EVV_DENY, 1);
	mrc_paths_verdict(&p.p, order[15], MRC_EVV_TIMEOUT, 1);
	for (int k : {0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})
		want.push_back(order[k]);
	EXPECT_EQ(picks(p, 13), want);
	EXPECT_EQ(picks(p, 13), want);
}

// A bad EV is replaced on its own plane: the planes' loads stay equal.
TEST(Spray, LoadStaysOnThePlane)
{
	Paths p(paths_cfg(64, 4));
	int left = 3;

	for (int i = 0; i < 64; i++)
		if (mrc_paths_port(&p.p, i) == 2 && p->walk[2].usable > left)
			mrc_paths_verdict(&p.p, i, MRC_EVV_TIMEOUT, 1);
	ASSERT_EQ(p->walk[2].usable, left);
	auto load = per_port(p, picks(p, 4000));
	for (int port = 1; port <= 4; port++)
		EXPECT_EQ(load[port], 1000);
}

// A plane cut beyond the local link: every EV bad, the others take over
// equally; one resurrected EV brings the plane's whole share back.
TEST(Spray, WholePlaneBad)
{
	Paths p(paths_cfg(64, 4));
	int one = -1;

	for (int i = 0; i < 64; i++) {
		if (mrc_paths_port(&p.p, i) == 3) {
			one = i;
			mrc_paths_verdict(&p.p, i, MRC_EVV_TIMEOUT, 1);
		}
	}
	ASSERT_EQ(p->walk[3].usable, 0);
	auto load = per_port(p, picks(p, 3000));
	EXPECT_EQ(load.count(3), 0u);
	for (int port : {1, 2, 4})
		EXPECT_EQ(load[port], 1000);

	mrc_paths_verdict(&p.p, one, MRC_EVV_PROBE_OK, 2);
	EXPECT_EQ(per_port(p, picks(p, 300)).count(3), 0u);
	mrc_paths_verdict(&p.p, one, MRC_EVV_PROBE_OK, 3);
	EXPECT_EQ(per_port(p, picks(p, 4000))[3], 1000);
}

TEST(Spray, PortDownAndUp)
{
	Paths p(paths_cfg(64, 4));
	std::uint32_t all = p->ports_up;

	EXPECT_EQ(all, 0x1Eu);
	mrc_paths_verdict(&p.p, 1, MRC_EVV_CE, 1);
	ASSERT_EQ(mrc_paths_port(&p.p, 1), 2);
	p.forget();
	mrc_paths_set_ports(&p.p, all & ~(1u << 2));
	EXPECT_FALSE(mrc_paths_port_ok(&p.p, 2));
	auto load = per_port(p, picks(p, 3000));
	EXPECT_EQ(load.count(2), 0u);
	for (int port : {1, 3, 4})
		EXPECT_EQ(load[port], 1000);
	// No state change, not even of the SKIP.
	EXPECT_EQ(p.everything(), 0u);
	EXPECT_TRUE(p.changes.empty());
	EXPECT_EQ(mrc_paths_state(&p.p, 1), S);

	mrc_paths_set_ports(&p.p, all);
	load = per_port(p, picks(p, 4000));
	for (int port = 1; port <= 4; port++)
		EXPECT_EQ(load[port], 1000);
	p.check();
}

TEST(Spray, PeerPortDown)
{
	Paths p(paths_cfg(64, 4));

	mrc_paths_peer_status(&p.p, 0x0A, kUnit); // ports 1 and 3 (V13)
	auto load = per_port(p, picks(p, 1000));
	EXPECT_EQ(load[1], 500);
	EXPECT_EQ(load[3], 500);
	// Both ends count.
	mrc_paths_set_ports(&p.p, 0x1C);
	EXPECT_EQ(per_port(p, picks(p, 100))[3], 100);
	// No port is left that both call up: those that are up here are used.
	mrc_paths_set_ports(&p.p, 0x14);
	load = per_port(p, picks(p, 100));
	EXPECT_EQ(load[2], 50);
	EXPECT_EQ(load[4], 50);
	EXPECT_FALSE(mrc_paths_port_ok(&p.p, 2));
}

TEST(Spray, PortMaskIsClipped)
{
	Paths p(paths_cfg(8, 2));

	mrc_paths_set_ports(&p.p, ~0u);
	EXPECT_EQ(p->ports_up, 0x6u);
	EXPECT_TRUE(mrc_paths_port_ok(&p.p, 1));
	EXPECT_TRUE(mrc_paths_port_ok(&p.p, 2));
	EXPECT_FALSE(mrc_paths_port_ok(&p.p, 0));
	EXPECT_FALSE(mrc_paths_port_ok(&p.p, 3));
	EXPECT_FALSE(mrc_paths_port_ok(&p.p, 255));
	mrc_paths_set_ports(&p.p, 0);
	EXPECT_EQ(mrc_paths_pick(&p.p, 1), -1);
	EXPECT_EQ(mrc_paths_pick_other(&p.p, 0, 1), -1);
}

// Nothing usable: ASSUMED_BAD ones in turn, planes in turn, DENIED never.
TEST(Spray, AllBadFallback)
{
	Paths p(paths_cfg(16, 4));
	std::vector<int> order;

	p->min_active = 0;
	for (int i = 0; i < 16; i++)
		mrc_paths_verdict(&p.p, i,
				  i % 4 == 1 ? MRC_EVV_DENY : MRC_EVV_TIMEOUT,
				  1);
	ASSERT_EQ(p.count(B), 12u);
	order = picks(p, 12);
	EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 12u);
	for (int port : {1, 3, 4})
		EXPECT_EQ(per_port(p, order)[port], 4);
	EXPECT_EQ(picks(p, 12), order);
	EXPECT_EQ(p.count(B), 12u);
	for (std::uint8_t port = 1; port <= 4; port++)
		EXPECT_EQ(mrc_paths_port_tx(&p.p, port), port == 2 ? 0u : 8u);

	// Ports count here too.
	mrc_paths_set_ports(&p.p, 1u << 4);
	EXPECT_EQ(per_port(p, picks(p, 8))[4], 8);
	// A plane with nothing but DENIED is no way out.
	mrc_paths_set_ports(&p.p, 1u << 2);
	EXPECT_EQ(mrc_paths_pick(&p.p, 1), -1);
}

// The usable EVs' port is down, the bad ones' is up: use these.
TEST(Spray, BadOnTheOnlyPortThatIsUp)
{
	Paths p(paths_cfg(8, 2));

	p->min_active = 0;
	for (int i = 0; i < 8; i++)
		if (mrc_paths_port(&p.p, i) == 1)
			mrc_paths_verdict(&p.p, i, MRC_EVV_TIMEOUT, 1);
	mrc_paths_set_ports(&p.p, 1u << 1);
	EXPECT_EQ(per_port(p, picks(p, 8))[1], 8);
}

TEST(Spray, AllDenied)
{
	Paths p(paths_cfg(16, 4));

	for (int i = 0; i < 16; i++)
		mrc_paths_verdict(&p.p, i, MRC_EVV_DENY, 1);
	EXPECT_EQ(mrc_paths_pick(&p.p, 1), -1);
	EXPECT_EQ(mrc_paths_pick_other(&p.p, 0, 1), -1);
	mrc_paths_verdict(&p.p, 6, MRC_EVV_ALLOW, 2);
	EXPECT_EQ(mrc_paths_pick(&p.p, 2), 6);
	EXPECT_EQ(p.everything(), 16u);
}

TEST(PickOther, AnotherPortIfPossible)
{
	Paths p(paths_cfg(64, 4));
	std::map<int, int> ports;

	for (int i = 0; i < 400; i++) {
		int avoid = i % 64;
		int ev = mrc_paths_pick_other(&p.p, avoid, 1);

		ASSERT_GE(ev, 0);
		ASSERT_NE(mrc_paths_port(&p.p, ev),
			  mrc_paths_port(&p.p, avoid));
		ports[mrc_paths_port(&p.p, ev)]++;
	}
	EXPECT_EQ(ports.size(), 4u);
}

TEST(PickOther, SamePortWhereThereIsNoOther)
{
	Paths p(paths_cfg(4, 1));
	std::set<int> seen;

	for (int i = 0; i < 200; i++) {
		int ev = mrc_paths_pick_other(&p.p, 2, 1);

		ASSERT_NE(ev, 2);
		seen.insert(ev);
	}
	EXPECT_EQ(seen, (std::set<int>{0, 1, 3}));

	Paths two(paths_cfg(8, 2));
	mrc_paths_set_ports(&two.p, 1u << mrc_paths_port(&two.p, 5));
	for (int i = 0; i < 100; i++) {
		int ev = mrc_paths_pick_other(&two.p, 5, 1);

		ASSERT_GE(ev, 0);
		ASSERT_NE(ev, 5);
		ASSERT_EQ(mrc_paths_port(&two.p, ev),
			  mrc_paths_port(&two.p, 5));
	}
}

TEST(PickOther, NoneLeft)
{
	Paths one(paths_cfg(1, 1));
	EXPECT_EQ(mrc_paths_pick_other(&one.p, 0, 1), -1);
	EXPECT_EQ(mrc_paths_pick_other(&one.p, -1, 1), 0);

	Paths p(paths_cfg(4, 2));
	p->min_active = 0;
	for (int i : {0, 1, 2})
		mrc_paths_verdict(&p.p, i, MRC_EVV_TIMEOUT, 1);
	EXPECT_EQ(mrc_paths_pick_other(&p.p, 3, 1), -1);
	EXPECT_EQ(mrc_paths_pick_other(&p.p, 0, 1), 3);
}

// A marked path will do, but a clean one of the same plane is preferred; and
// asking resets nothing.
TEST(PickOther, PrefersGoodOverSkip)
{
	Paths p(paths_cfg(8, 2));
	int good = -1;

	for (int i = 0; i < 8; i++)
		if (mrc_paths_port(&p.p, i) == 2)
			good = i;
	for (int i = 0; i < 8; i++)
		if (i != good)
			mrc_paths_verdict(&p.p, i, MRC_EVV_CE, 1);
	for (int i = 0; i < 50; i++)
		ASSERT_EQ(mrc_paths_pick_other(&p.p, 0, 1), good);
	for (int i = 0; i < 50; i++) {
		int ev = mrc_paths_pick_other(&p.p, good, 1);

		ASSERT_EQ(mrc_paths_port(&p.p, ev), 1);
		ASSERT_EQ(mrc_paths_state(&p.p, ev), S);
	}
	EXPECT_EQ(p.count(S), 7u);
	EXPECT_EQ(mrc_paths_port_tx(&p.p, 2), 50u);
}

TEST(PickOther, DoesNotDisturbTheWalk)
{
	Paths a(paths_cfg(32, 2)), b(paths_cfg(32, 2));

	for (int i = 0; i < 200; i++) {
		mrc_paths_pick_other(&b.p, i % 32, 1);
		EXPECT_EQ(mrc_paths_pick(&a.p, 1), mrc_paths_pick(&b.p, 1));
	}
}

TEST(PickCtrl, PrefersThePortOfArrival)
{
	Paths p(paths_cfg(64, 4));
	std::uint16_t cursor = 0;

	for (std::uint8_t port = 1; port <= 4; port++) {
		std::set<int> seen;

		for (int i = 0; i < 64; i++) {
			int ev = mrc_paths_pick_ctrl(&p.p, &cursor, port);

			ASSERT_GE(ev, 0);
			ASSERT_EQ(mrc_paths_port(&p.p, ev), port);
			seen.insert(ev);
		}
		// All of the plane's EVs take their turn.
		EXPECT_EQ(seen.size(), 16u);
	}
	// Control packets are no part of an EV's data count.
	for (std::uint8_t port = 1; port <= 4; port++)
		EXPECT_EQ(mrc_paths_port_tx(&p.p, port), 0u);
}

TEST(PickCtrl, AnyPort)
{
	Paths p(paths_cfg(64, 4));
	std::uint16_t cursor = 0;
	std::set<int> seen;

	for (int i = 0; i < 64; i++)
		seen.insert(mrc_paths_pick_ctrl(&p.p, &cursor, 0));
	EXPECT_EQ(seen.size(), 64u);
}

TEST(PickCtrl, GoodFirst)
{
	Paths p(paths_cfg(8, 2));
	std::uint16_t cursor = 0;
	int ev;

	p->min_active = 0;
	// Port 1: all but one marked; that one is used.
	for (int i : {0, 2, 4})
		mrc_paths_verdict(&p.p, i, MRC_EVV_CE, 1);
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(mrc_paths_pick_ctrl(&p.p, &cursor, 1), 6);
	// None: the other port's.
	mrc_paths_verdict(&p.p, 6, MRC_EVV_TIMEOUT, 1);
	ev = mrc_paths_pick_ctrl(&p.p, &cursor, 1);
	EXPECT_EQ(mrc_paths_port(&p.p, ev), 2);
	EXPECT_EQ(mrc_paths_state(&p.p, ev), G);
	// No GOOD at all: any but DENIED.
	for (int i : {1, 3, 5, 7})
		mrc_paths_verdict(&p.p, i, MRC_EVV_DENY, 1);
	for (int i = 0; i < 20; i++) {
		ev = mrc_paths_pick_ctrl(&p.p, &cursor, 1);
		ASSERT_TRUE(mrc_paths_state(&p.p, ev) == S ||
			    mrc_paths_state(&p.p, ev) == B);
	}
	// OP-30: any EV whose port is up, in the end.
	for (int i : {0, 2, 4, 6})
		mrc_paths_verdict(&p.p, i, MRC_EVV_DENY, 1);
	ev = mrc_paths_pick_ctrl(&p.p, &cursor, 1);
	ASSERT_GE(ev, 0);
	EXPECT_EQ(mrc_paths_state(&p.p, ev), D);
}

TEST(PickCtrl, PortsThatAreDown)
{
	Paths p(paths_cfg(8, 2));
	std::uint16_t cursor = 7;

	mrc_paths_set_ports(&p.p, 1u << 2);
	for (int i = 0; i < 20; i++) {
		int ev = mrc_paths_pick_ctrl(&p.p, &cursor, 1);

		ASSERT_GE(ev, 0);
		ASSERT_EQ(mrc_paths_port(&p.p, ev), 2);
	}
	mrc_paths_set_ports(&p.p, 0);
	EXPECT_EQ(mrc_paths_pick_ctrl(&p.p, &cursor, 1), -1);
	EXPECT_EQ(mrc_paths_pick_ctrl(&p.p, &cursor, 0), -1);
}

// A peer that reports all of its ports down still gets feedback.
TEST(PickCtrl, PeerPortsAllDown)
{
	Paths p(paths_cfg(8, 2));
	std::uint16_t cursor = 0;

	mrc_paths_verdict(&p.p, 2, MRC_EVV_DENY, 1);
	mrc_paths_verdict(&p.p, 3, MRC_EVV_CE, 1);
	mrc_paths_peer_status(&p.p, 0, 2);
	for (int i = 0; i < 20; i++) {
		int ev = mrc_paths_pick_ctrl(&p.p, &cursor, 1);

		ASSERT_GE(ev, 0);
		ASSERT_EQ(mrc_paths_state(&p.p, ev), G);
	}
}

// Cursors of earlier, larger sets or of garbage are harmless.
TEST(PickCtrl, AnyCursor)
{
	Paths p(paths_cfg(8, 2));

	for (unsigned c = 0; c < 0x10000; c += 0x101) {
		auto cursor = static_cast<std::uint16_t>(c);
		int ev = mrc_paths_pick_ctrl(&p.p, &cursor, 0);

		ASSERT_GE(ev, 0);
		ASSERT_LT(ev, 8);
		ASSERT_EQ(cursor, ev + 1);
	}
}

} // namespace
