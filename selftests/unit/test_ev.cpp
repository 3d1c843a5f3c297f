// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// EV sets and the state machine of MRC 1.0 §11.6; what probes do to it over
// time is in test_ev_probe.cpp.
#include <gtest/gtest.h>

#include <set>

#include "paths.hpp"

namespace
{

using namespace mrc_test;

TEST(EvSet, RefusesInvalidConfigurations)
{
	mrc_paths_cfg good = paths_cfg(64, 4);
	std::vector<std::uint64_t> mem(mrc_paths_mem(&good) / 8 + 1);
	mrc_paths p;
	auto refused = [&](auto change) {
		mrc_paths_cfg cfg = good;

		change(cfg);
		return mrc_paths_mem(&cfg) == 0 &&
		       mrc_paths_init(&p, &cfg, mem.data()) == -EINVAL;
	};

	EXPECT_TRUE(refused([](auto &c) { c.n_evs = 0; }));
	EXPECT_TRUE(refused([](auto &c) { c.n_evs = MRC_EV_MAX + 1; }));
	EXPECT_TRUE(refused([](auto &c) { c.n_ports = 0; }));
	EXPECT_TRUE(refused([](auto &c) { c.n_ports = MRC_MAX_PORTS + 1; }));
	EXPECT_TRUE(refused([](auto &c) { c.min_active = 65; }));
	EXPECT_FALSE(refused([](auto &c) { c.min_active = 64; }));
	EXPECT_EQ(mrc_paths_init(&p, &good, nullptr), -EINVAL);
	EXPECT_EQ(mrc_paths_init(&p, &good, mem.data()), 0);
}

// Every size and port count: unique entropies in range, equal shares, all
// found again, memory of exactly the promised size.
TEST(EvSet, SizesAndPorts)
{
	for (unsigned ports = 1; ports <= MRC_MAX_PORTS; ports++) {
		for (unsigned n : {1u, 2u, 7u, 64u, 100u, 1000u, 1024u}) {
			for (bool ipv6 : {false, true}) {
				mrc_paths_cfg cfg = paths_cfg(n, ports);
				std::vector<unsigned> share(ports + 1);
				std::set<std::uint32_t> seen, sports;

				cfg.ipv6 = ipv6;
				Paths p(cfg);
				ASSERT_EQ(p->n % ports, 0);
				ASSERT_LE(p->n, MRC_EV_MAX);
				unsigned up = (n + ports - 1) / ports * ports;

				ASSERT_EQ(p->n,
					  up <= MRC_EV_MAX ? up : up - ports);
				for (int i = 0; i < p->n; i++) {
					const EvView ev(p.p, i);
					auto sport = ev.entropy & 0xFFFF;

					seen.insert(ev.entropy);
					sports.insert(sport);
					share[ev.port]++;
					ASSERT_GE(sport, 0xC000u);
					ASSERT_EQ(ev.entropy >> 16 != 0, ipv6);
					ASSERT_EQ(ev.state, MRC_EV_GOOD);
					ASSERT_EQ(mrc_paths_find(&p.p,
								 ev.entropy),
						  i);
				}
				ASSERT_EQ(seen.size(), p->n);
				// Switches that hash ports alone see as many.
				ASSERT_EQ(sports.size(), p->n);
				for (unsigned k = 1; k <= ports; k++)
					ASSERT_EQ(share[k], p->n / ports);
				p.check();
			}
		}
	}
}

TEST(EvSet, FindByEntropy)
{
	mrc_paths_cfg cfg = paths_cfg(64, 4);

	cfg.ipv6 = false;
	Paths v4(cfg);
	std::uint32_t e = mrc_paths_entropy(&v4.p, 5);
	EXPECT_EQ(mrc_paths_find(&v4.p, e), 5);
	// The upper half does not exist on IPv4.
	EXPECT_EQ(mrc_paths_find(&v4.p, e | 0xABCD0000), 5);

	cfg.ipv6 = true;
	Paths v6(cfg);
	e = mrc_paths_entropy(&v6.p, 5);
	EXPECT_EQ(mrc_paths_find(&v6.p, e), 5);
	EXPECT_EQ(mrc_paths_find(&v6.p, e ^ 0x00010000), -1);
	EXPECT_EQ(mrc_paths_find(&v6.p, e & 0xFFFF), -1);
}

TEST(EvSet, FindNothing)
{
	for (bool ipv6 : {false, true}) {
		mrc_paths_cfg cfg = paths_cfg(1024, 1);
		std::set<std::uint32_t> have;
		int found = 0;

		cfg.ipv6 = ipv6;
		Paths p(cfg);
		for (int i = 0; i < p->n; i++)
			have.insert(mrc_paths_entropy(&p.p, i));
		for (std::uint32_t e = 0; e < 0x10000; e++) {
			int i = mrc_paths_find(&p.p, e);

			ASSERT_EQ(i >= 0, have.count(e) == 1) << e;
			found += i >= 0;
		}
		EXPECT_EQ(found, ipv6 ? 0 : 1024);
	}
}

TEST(EvSet, SeedDecidesEverything)
{
	mrc_paths_cfg cfg = paths_cfg(64, 4);
	Paths a(cfg), b(cfg);
	cfg.seed++;
	Paths c(cfg);
	int same = 0;

	for (int i = 0; i < 64; i++) {
		EXPECT_EQ(mrc_paths_entropy(&a.p, i),
			  mrc_paths_entropy(&b.p, i));
		same += mrc_paths_entropy(&a.p, i) ==
			mrc_paths_entropy(&c.p, i);
	}
	EXPECT_LT(same, 4);
	for (int i = 0; i < 1000; i++)
		EXPECT_EQ(mrc_paths_pick(&a.p, 1), mrc_paths_pick(&b.p, 1));
}

// §11.6 row by row: the state that each trigger leads to from each state, with
// trims answered and without (first loss), and the counters it bumps.
struct Row {
	mrc_ev_verdict verdict;
	std::uint8_t to[4]; // from GOOD, DENIED, SKIP, ASSUMED_BAD
};

const Row kRows[] = {
	{MRC_EVV_OK, {G, D, S, B}},	    {MRC_EVV_CE, {S, D, S, B}},
	{MRC_EVV_CONDEMNED, {B, D, B, B}},  {MRC_EVV_TRIM, {S, D, S, B}},
	{MRC_EVV_TIMEOUT, {B, D, B, B}},    {MRC_EVV_PROBE_OK, {G, D, S, B}},
	{MRC_EVV_PROBE_CE, {S, D, S, S}},   {MRC_EVV_PROBE_BAD, {B, D, B, B}},
	{MRC_EVV_PROBE_LOST, {G, D, S, B}}, {MRC_EVV_DENY, {D, D, D, D}},
	{MRC_EVV_ALLOW, {G, G, S, B}},	    {MRC_EVV_ARRIVED, {G, D, S, B}},
};
const Row kLossTrim = {MRC_EVV_LOSS, {B, D, B, B}};
const Row kLossNoTrim = {MRC_EVV_LOSS, {S, D, S, B}};

void check_row(const Row &row, bool trim_nack)
{
	for (std::uint8_t from : {G, D, S, B}) {
		mrc_paths_cfg cfg = paths_cfg(64, 4);
		std::uint8_t to = row.to[from];

		cfg.trim_nack = trim_nack;
		Paths p(cfg);
		p.force(9, from, 1000);
		p.forget();
		mrc_paths_verdict(&p.p, 9, row.verdict, 2000);
		SCOPED_TRACE(::testing::Message()
			     << "verdict " << row.verdict << " from "
			     << int{from} << " trim " << trim_nack);
		EXPECT_EQ(mrc_paths_state(&p.p, 9), to);
		p.check();

		bool reported = p.seen(from) != p.seen(to);
		EXPECT_EQ(p.changes.size(), reported ? 1u : 0u);
		if (reported) {
			EXPECT_EQ(p.changes[0].ev, 9);
			EXPECT_EQ(p.changes[0].from, from);
			EXPECT_EQ(p.changes[0].to, to);
		}
		bool moved = from != to;
		EXPECT_EQ(p.total(MRC_CTR_EV_SKIP), moved && to == S);
		EXPECT_EQ(p.total(MRC_CTR_EV_BAD), moved && to == B);
		EXPECT_EQ(p.total(MRC_CTR_EV_DENIED), moved && to == D);
		EXPECT_EQ(p.total(MRC_CTR_EV_GOOD),
			  from == B && (to == G || to == S));
		// All on the port of the EV.
		EXPECT_EQ(p.on_port(mrc_paths_port(&p.p, 9)), p.everything());
	}
}

TEST(EvState, EveryTransition)
{
	for (bool trim : {false, true})
		for (const Row &row : kRows)
			check_row(row, trim);
	check_row(kLossTrim, true);
	check_row(kLossNoTrim, false);
	// The table has a row for each verdict.
	EXPECT_EQ(std::size(kRows) + 1, static_cast<std::size_t>(MRC_EVV_MAX));
}

TEST(EvState, UnknownInputsAreIgnored)
{
	Paths p(paths_cfg(64, 4));

	mrc_paths_verdict(&p.p, -1, MRC_EVV_TIMEOUT, 1);
	mrc_paths_verdict(&p.p, 64, MRC_EVV_TIMEOUT, 1);
	mrc_paths_verdict(&p.p, 65536, MRC_EVV_TIMEOUT, 1);
	mrc_paths_verdict(&p.p, 3, MRC_EVV_MAX, 1);
	for (int i = 0; i < 64; i++) {
		EXPECT_EQ(mrc_paths_state(&p.p, i), G);
		EXPECT_EQ(mrc_paths_drops(&p.p, i), 0u);
	}
	EXPECT_EQ(p.everything(), 0u);
}

TEST(EvState, CallbackMayBeAbsent)
{
	mrc_paths_cfg cfg = paths_cfg(4, 1);
	Paths p(cfg);

	p->cfg.on_state = nullptr;
	p->cfg.ctr = nullptr;
	mrc_paths_verdict(&p.p, 0, MRC_EVV_DENY, 1);
	EXPECT_EQ(mrc_paths_state(&p.p, 0), D);
}

// OP-41: without trim NACKs a second loss condemns unless something arrived in
// between, however long that took and however much was sent.
TEST(EvState, LossPairs)
{
	const mrc_ev_verdict heard[] = {MRC_EVV_OK, MRC_EVV_CE, MRC_EVV_TRIM,
					MRC_EVV_MAX};

	for (std::uint64_t gap : {0ul, 1ul, 1ul << 40}) {
		for (unsigned sent : {0u, 1u, 1000u}) {
			for (mrc_ev_verdict v : heard) {
				mrc_paths_cfg cfg = paths_cfg(64, 4);

				cfg.trim_nack = false;
				Paths p(cfg);
				mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 5);
				EXPECT_EQ(mrc_paths_state(&p.p, 0), S);
				p.send_on(0, sent);
				mrc_paths_verdict(&p.p, 0, v, 5);
				// Another EV's arrivals do not matter.
				mrc_paths_verdict(&p.p, 1, MRC_EVV_OK, 5);
				mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS,
						  5 + gap);
				EXPECT_EQ(mrc_paths_state(&p.p, 0),
					  v == MRC_EVV_MAX ? B : S)
					<< v;
				p.check();
			}
		}
	}
}

// One packet in three lost, for ever: no path is given up for that.
TEST(EvState, LossyIsNotDead)
{
	mrc_paths_cfg cfg = paths_cfg(64, 4);

	cfg.trim_nack = false;
	Paths p(cfg);
	for (std::uint64_t t = 1; t < 1000; t++) {
		mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, t);
		ASSERT_EQ(mrc_paths_state(&p.p, 0), S);
		mrc_paths_arrived(&p.p, 0);
		mrc_paths_arrived(&p.p, 0);
	}
	mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 1000);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 1000);
	EXPECT_EQ(mrc_paths_state(&p.p, 0), B);
	// What arrives late does not bring it back.
	mrc_paths_arrived(&p.p, 0);
	EXPECT_EQ(mrc_paths_state(&p.p, 0), B);
}

// The last usable EV of a plane takes four losses in a row, with trims as well;
// its copies are no others.
TEST(EvState, LastOfAPlane)
{
	for (bool trim : {false, true}) {
		for (bool other : {false, true}) {
			mrc_paths_cfg cfg = paths_cfg(8, 4);
			const unsigned all = other ? 1 : 4;
			unsigned n = 0;

			cfg.trim_nack = trim;
			Paths p(cfg);
			// EVs 0 and 4 are those of port 1.
			ASSERT_EQ(p.port(0), p.port(4));
			if (!other)
				mrc_paths_verdict(&p.p, 4, MRC_EVV_DENY, 1);
			while (p.state(0) != B && n < 9) {
				mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 1);
				n++;
			}
			EXPECT_EQ(n, other && !trim ? 2 : all);
			p.check();
			// Three and a packet that arrives are none.
			mrc_paths_cfg again = paths_cfg(4, 4);
			again.trim_nack = trim;
			Paths q(again);
			for (n = 0; n < 12; n++) {
				if (n % 4 == 3)
					mrc_paths_arrived(&q.p, 0);
				else
					mrc_paths_verdict(&q.p, 0, MRC_EVV_LOSS,
							  1);
				ASSERT_NE(q.state(0), B);
			}
		}
	}
}

// A plane cut where nobody trims: all of its EVs are found out within few
// packets each, the others keep their state.
TEST(EvState, CutPlaneIsFoundByLossesAlone)
{
	mrc_paths_cfg cfg = paths_cfg(64, 4);
	std::uint64_t now = 1;
	int sent = 0;

	cfg.trim_nack = false;
	cfg.base_rtt = 1000;
	Paths p(cfg);
	while (p->walk[3].usable) {
		int ev = mrc_paths_pick(&p.p, now);

		ASSERT_GE(ev, 0);
		ASSERT_LT(++sent, 1000);
		now += 100000;
		mrc_paths_verdict(&p.p, ev,
				  mrc_paths_port(&p.p, ev) == 3 ? MRC_EVV_LOSS
								: MRC_EVV_OK,
				  now);
	}
	unsigned drops = 0;
	for (int i = 0; i < 64; i++) {
		EXPECT_EQ(mrc_paths_state(&p.p, i),
			  mrc_paths_port(&p.p, i) == 3 ? B : G);
		drops += mrc_paths_drops(&p.p, i);
	}
	// Two each, and two more for the last.
	EXPECT_EQ(drops, 16u * 2 + 2);
}

// A resurrected EV starts with a clean record.
TEST(EvState, ResurrectionForgetsLosses)
{
	mrc_paths_cfg cfg = paths_cfg(64, 4);

	cfg.trim_nack = false;
	cfg.base_rtt = 1000000;
	Paths p(cfg);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 10);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 11);
	ASSERT_EQ(mrc_paths_state(&p.p, 0), B);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_PROBE_OK, 12);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_PROBE_OK, 13);
	ASSERT_EQ(mrc_paths_state(&p.p, 0), G);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 14);
	EXPECT_EQ(mrc_paths_state(&p.p, 0), S);
}

TEST(EvState, DropsCountLossesAndTimeouts)
{
	Paths p(paths_cfg(64, 4));

	for (int v = 0; v < MRC_EVV_MAX; v++)
		mrc_paths_verdict(&p.p, 0, static_cast<mrc_ev_verdict>(v), 5);
	EXPECT_EQ(mrc_paths_drops(&p.p, 0), 2u);
	// Also those that come late, in states that do not care.
	p.force(1, B, 5);
	mrc_paths_verdict(&p.p, 1, MRC_EVV_LOSS, 6);
	mrc_paths_verdict(&p.p, 1, MRC_EVV_TIMEOUT, 6);
	EXPECT_EQ(mrc_paths_drops(&p.p, 1), 2u);
}

// ev_min_active: no trigger but the controller goes below.
TEST(EvState, MinActiveIsKept)
{
	const mrc_ev_verdict causes[] = {MRC_EVV_CONDEMNED, MRC_EVV_LOSS,
					 MRC_EVV_TIMEOUT, MRC_EVV_PROBE_BAD};

	for (mrc_ev_verdict cause : causes) {
		for (unsigned min : {0u, 1u, 10u, 64u}) {
			mrc_paths_cfg cfg = paths_cfg(64, 4);
			unsigned want = min ? min : 16;

			cfg.min_active = static_cast<std::uint16_t>(min);
			cfg.trim_nack = true;
			Paths p(cfg);
			ASSERT_EQ(p->min_active, want);
			for (int i = 0; i < 64; i++) {
				// SKIP is as good as GOOD here.
				if (i & 1)
					mrc_paths_verdict(&p.p, i, MRC_EVV_CE,
							  1);
				// As often as the last of a plane takes.
				for (int n = 0; n < 4; n++)
					mrc_paths_verdict(&p.p, i, cause, 2);
			}
			EXPECT_EQ(p.count(G) + p.count(S), want);
			EXPECT_EQ(p->bad, 64 - want);
			p.check();
			// Those spared keep the state they had.
			for (unsigned i = 64 - want; i < 64; i++)
				EXPECT_EQ(mrc_paths_state(&p.p, i),
					  i & 1 ? S : G);
		}
	}
}

TEST(EvState, DeniedCountsAsInactive)
{
	mrc_paths_cfg cfg = paths_cfg(64, 4);

	cfg.trim_nack = true;
	Paths p(cfg);
	for (int i = 0; i < 48; i++)
		mrc_paths_verdict(&p.p, i, MRC_EVV_DENY, 1);
	EXPECT_EQ(p->denied, 48);
	mrc_paths_verdict(&p.p, 60, MRC_EVV_TIMEOUT, 2);
	EXPECT_EQ(mrc_paths_state(&p.p, 60), G);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_ALLOW, 3);
	mrc_paths_verdict(&p.p, 60, MRC_EVV_TIMEOUT, 4);
	EXPECT_EQ(mrc_paths_state(&p.p, 60), B);
	// The controller may go on.
	for (int i = 0; i < 64; i++)
		mrc_paths_verdict(&p.p, i, MRC_EVV_DENY, 5);
	EXPECT_EQ(p->denied, 64);
	EXPECT_EQ(p->bad, 0);
	p.check();
}

TEST(EvState, SetOfOneMayBecomeBad)
{
	Paths p(paths_cfg(1, 1));

	EXPECT_EQ(p->min_active, 0);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_TIMEOUT, 1);
	EXPECT_EQ(mrc_paths_state(&p.p, 0), B);
	EXPECT_EQ(mrc_paths_pick(&p.p, 2), 0);
}

// Random walk over everything: the bookkeeping always matches the states.
TEST(EvState, BookkeepingUnderRandomInput)
{
	for (std::uint64_t seed = 1; seed <= 20; seed++) {
		std::mt19937_64 rng(seed);
		mrc_paths_cfg cfg = paths_cfg(1 + rng() % 90, 1 + rng() % 6);
		std::uint64_t now = 1;

		cfg.trim_nack = rng() & 1;
		cfg.rto = 1000;
		cfg.base_rtt = 100;
		Paths p(cfg);
		for (int step = 0; step < 3000; step++) {
			int ev = static_cast<int>(rng() % p->n), due;

			now += rng() % 200;
			switch (rng() % 8) {
			case 0:
				mrc_paths_set_ports(
					&p.p,
					static_cast<std::uint32_t>(rng()));
				break;
			case 1:
				due = mrc_paths_probe_due(&p.p, now);
				if (due < 0)
					break;
				ASSERT_EQ(mrc_paths_state(&p.p, due), B);
				ASSERT_FALSE(p.probe_out(due));
				mrc_paths_probe_sent(
					&p.p, due,
					static_cast<std::uint16_t>(step), now);
				break;
			case 2:
			case 3:
			case 4:
				ev = mrc_paths_pick(&p.p, now);
				if (ev >= 0) {
					ASSERT_NE(mrc_paths_state(&p.p, ev), D);
					// It may rest after each use.
					if (p.level(ev) <= MRC_EV_SKIP_FREE)
						ASSERT_NE(mrc_paths_state(&p.p, ev), S);
					ASSERT_TRUE(mrc_paths_port_ok(
						&p.p,
						mrc_paths_port(&p.p, ev)));
				}
				break;
			default:
				mrc_paths_verdict(&p.p, ev,
						  static_cast<mrc_ev_verdict>(
							  rng() % MRC_EVV_MAX),
						  now);
			}
			p.check();
			if (HasFailure())
				FAIL() << "seed " << seed << " step " << step;
		}
	}
}

} // namespace
