// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Probing of bad EVs, MRC 1.0 §11.6: when, which one, and what replies do.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "paths.hpp"

namespace
{

using namespace mrc_test;

constexpr std::uint64_t kRto = kMs;

// When something planned for @t happens: times are rounded up to units.
std::uint64_t up(std::uint64_t t)
{
	return (t + kUnit - 1) / kUnit * kUnit;
}

// One probe cycle: due at @at and not before; returns the EV.
int expect_probe(Paths &p, std::uint64_t at, std::uint16_t id)
{
	int ev;

	EXPECT_EQ(mrc_paths_next_probe(&p.p), at);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, at - 1), -1);
	ev = mrc_paths_probe_due(&p.p, at);
	EXPECT_GE(ev, 0);
	mrc_paths_probe_sent(&p.p, ev, id, at);
	return ev;
}

Paths probe_paths()
{
	mrc_paths_cfg cfg = paths_cfg(64, 4);

	cfg.rto = kRto;
	return Paths(cfg);
}

TEST(EvProbe, NothingToProbe)
{
	Paths p = probe_paths();

	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, ~0ull - 1), -1);
	EXPECT_EQ(mrc_paths_probe_match(&p.p, 0), -1);
	mrc_paths_verdict(&p.p, 1, MRC_EVV_CE, 1);
	mrc_paths_verdict(&p.p, 2, MRC_EVV_DENY, 1);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
}

// §11.6: first after 1·RTO, then doubling up to 1 s, measured from probe to
// probe; one outstanding, its deadline 1·RTO.
TEST(EvProbe, PacingOfUnanswered)
{
	Paths p = probe_paths();
	std::uint64_t at = 5 * kUnit + kRto, ivl = kRto;

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, 5 * kUnit);
	for (std::uint16_t id = 1; id < 20; id++) {
		ASSERT_EQ(expect_probe(p, at, id), 7);
		EXPECT_TRUE(p.probe_out(7));
		EXPECT_EQ(mrc_paths_probe_match(&p.p, id), 7);
		EXPECT_EQ(mrc_paths_probe_match(&p.p, id + 1), -1);
		// Nothing more until the deadline.
		EXPECT_EQ(mrc_paths_next_probe(&p.p), at + kRto);
		EXPECT_EQ(mrc_paths_probe_due(&p.p, at + kRto - 1), -1);
		EXPECT_TRUE(p.probe_out(7));
		ivl = std::min<std::uint64_t>(2 * ivl, MRC_EV_PROBE_MAX_NS);
		EXPECT_EQ(mrc_paths_probe_due(&p.p, at + kRto), -1);
		EXPECT_FALSE(p.probe_out(7));
		EXPECT_EQ(mrc_paths_probe_match(&p.p, id), -1);
		at = up(at + ivl);
		p.check();
	}
	EXPECT_EQ(ivl, MRC_EV_PROBE_MAX_NS);
	EXPECT_EQ(mrc_paths_state(&p.p, 7), B);
	EXPECT_EQ(mrc_paths_port_tx(&p.p, mrc_paths_port(&p.p, 7)), 19u);
}

TEST(EvProbe, TwoGoodRepliesResurrect)
{
	Paths p = probe_paths();

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, 5 * kUnit);
	p.forget();
	expect_probe(p, 5 * kUnit + kRto, 1);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, 6 * kUnit + kRto);
	EXPECT_EQ(mrc_paths_state(&p.p, 7), B);
	EXPECT_TRUE(p.probe_one(7));
	EXPECT_EQ(p.everything(), 0u);
	// The second one follows at once, whatever the interval was.
	expect_probe(p, 6 * kUnit + kRto, 2);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, 7 * kUnit + kRto);
	EXPECT_EQ(mrc_paths_state(&p.p, 7), G);
	EXPECT_EQ(p.total(MRC_CTR_EV_GOOD), 1u);
	EXPECT_EQ(p.changes.size(), 1u);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	EXPECT_EQ(mrc_paths_probe_match(&p.p, 2), -1);
	p.check();
}

TEST(EvProbe, LostReplyBreaksTheSeries)
{
	Paths p = probe_paths();
	std::uint64_t at = kUnit + kRto;

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, kUnit);
	expect_probe(p, at, 1);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, at + 10 * kUnit);
	at += 10 * kUnit;
	expect_probe(p, at, 2);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, at + kRto), -1);
	EXPECT_FALSE(p.probe_one(7));
	at += 2 * kRto;
	expect_probe(p, at, 3);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, at + 10 * kUnit);
	EXPECT_EQ(mrc_paths_state(&p.p, 7), B);
	at += 10 * kUnit;
	expect_probe(p, at, 4);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, at + 10 * kUnit);
	EXPECT_EQ(mrc_paths_state(&p.p, 7), G);
}

TEST(EvProbe, MarkedReplyGivesSkip)
{
	Paths p = probe_paths();

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, kUnit);
	p.forget();
	expect_probe(p, kUnit + kRto, 1);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_CE, 2 * kUnit + kRto);
	EXPECT_EQ(mrc_paths_state(&p.p, 7), S);
	EXPECT_EQ(p.total(MRC_CTR_EV_GOOD), 1u);
	EXPECT_EQ(p.total(MRC_CTR_EV_SKIP), 1u);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	// The way on to GOOD is no second resurrection.
	while (mrc_paths_state(&p.p, 7) == S)
		ASSERT_GE(mrc_paths_pick(&p.p, 3 * kUnit + kRto), 0);
	EXPECT_EQ(mrc_paths_state(&p.p, 7), G);
	EXPECT_EQ(p.total(MRC_CTR_EV_GOOD), 1u);
}

TEST(EvProbe, CondemningReplyReArms)
{
	Paths p = probe_paths();

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, kUnit);
	expect_probe(p, kUnit + kRto, 1);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_BAD, 10 * kUnit + kRto);
	EXPECT_EQ(mrc_paths_state(&p.p, 7), B);
	EXPECT_FALSE(p.probe_out(7));
	EXPECT_EQ(mrc_paths_next_probe(&p.p), 10 * kUnit + kRto + 2 * kRto);
	p.check();
}

// Data never resurrects, and does not touch the probe schedule.
TEST(EvProbe, OnlyProbesResurrect)
{
	Paths p = probe_paths();

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, kUnit);
	for (mrc_ev_verdict v :
	     {MRC_EVV_OK, MRC_EVV_CE, MRC_EVV_TRIM, MRC_EVV_LOSS,
	      MRC_EVV_TIMEOUT, MRC_EVV_CONDEMNED, MRC_EVV_ALLOW}) {
		mrc_paths_verdict(&p.p, 7, v, 500);
		EXPECT_EQ(mrc_paths_state(&p.p, 7), B);
		EXPECT_EQ(mrc_paths_next_probe(&p.p), kUnit + kRto);
	}
}

TEST(EvProbe, EarliestFirst)
{
	Paths p = probe_paths();
	const int order[] = {9, 3, 30, 12};

	for (int k = 0; k < 4; k++)
		mrc_paths_verdict(&p.p, order[k], MRC_EVV_TIMEOUT,
				  (1000ull + k) * kUnit);
	for (std::uint16_t k = 0; k < 4; k++) {
		EXPECT_EQ(mrc_paths_next_probe(&p.p),
			  (1000 + k) * kUnit + kRto);
		EXPECT_EQ(mrc_paths_probe_due(&p.p, 2000 * kUnit + kRto),
			  order[k]);
		// Asking changes nothing, sending does.
		EXPECT_EQ(mrc_paths_probe_due(&p.p, 2000 * kUnit + kRto),
			  order[k]);
		mrc_paths_probe_sent(&p.p, order[k], k, 2000 * kUnit + kRto);
		p.check();
	}
	EXPECT_EQ(mrc_paths_probe_due(&p.p, 2000 * kUnit + kRto), -1);
	for (std::uint16_t k = 0; k < 4; k++)
		EXPECT_EQ(mrc_paths_probe_match(&p.p, k), order[k]);
}

// A whole set bad: each gets its probe, and each reply finds its EV.
TEST(EvProbe, AllAtOnce)
{
	Paths p = probe_paths();
	std::set<int> probed;

	p->min_active = 0;
	for (int i = 0; i < 64; i++)
		mrc_paths_verdict(&p.p, i, MRC_EVV_TIMEOUT, kUnit);
	for (int i = 0; i < 64; i++) {
		int ev = mrc_paths_probe_due(&p.p, kUnit + kRto);

		ASSERT_TRUE(probed.insert(ev).second);
		mrc_paths_probe_sent(&p.p, ev,
				     static_cast<std::uint16_t>(1000 + ev),
				     kUnit + kRto);
	}
	EXPECT_EQ(mrc_paths_probe_due(&p.p, kUnit + kRto), -1);
	for (int i = 0; i < 64; i++)
		EXPECT_EQ(mrc_paths_probe_match(
				  &p.p, static_cast<std::uint16_t>(1000 + i)),
			  i);
	// All lost in one go.
	EXPECT_EQ(mrc_paths_probe_due(&p.p, kUnit + 2 * kRto), -1);
	for (int i = 0; i < 64; i++)
		EXPECT_FALSE(p.probe_out(i));
	p.check();
}

TEST(EvProbe, DenyEndsProbing)
{
	Paths p = probe_paths();

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, kUnit);
	expect_probe(p, kUnit + kRto, 1);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_DENY, 2 * kUnit + kRto);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	EXPECT_EQ(mrc_paths_probe_match(&p.p, 1), -1);
	// A late reply says nothing about it.
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, 3 * kUnit + kRto);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, 3 * kUnit + kRto);
	EXPECT_EQ(mrc_paths_state(&p.p, 7), D);
}

TEST(EvProbe, SentForOtherStatesJustCounts)
{
	Paths p = probe_paths();

	mrc_paths_probe_sent(&p.p, 7, 1, 10);
	EXPECT_EQ(mrc_paths_port_tx(&p.p, mrc_paths_port(&p.p, 7)), 1u);
	EXPECT_FALSE(p.probe_out(7));
	EXPECT_EQ(mrc_paths_probe_match(&p.p, 1), -1);
	mrc_paths_probe_sent(&p.p, -1, 1, 10);
	mrc_paths_probe_sent(&p.p, 64, 1, 10);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
}

// No probe through a port that is down; overdue when it comes back.
TEST(EvProbe, WaitsForThePort)
{
	Paths p = probe_paths();
	std::uint32_t all = p->ports_up, without;
	std::uint64_t at;

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, kUnit);
	without = all & ~(1u << mrc_paths_port(&p.p, 7));
	mrc_paths_set_ports(&p.p, without);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, 100 * kRto), -1);
	EXPECT_EQ(mrc_paths_state(&p.p, 7), B);
	mrc_paths_set_ports(&p.p, all);
	at = 100 * kRto;
	EXPECT_LE(mrc_paths_next_probe(&p.p), at);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, at), 7);
	p.check();
}

// The interval starts anew, or a plane that was away for long would stay
// unused for another second.
TEST(EvProbe, PortUpStartsThePacingAnew)
{
	Paths p = probe_paths();
	std::uint32_t all = p->ports_up;
	std::uint64_t at = kUnit + kRto;

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, kUnit);
	for (std::uint16_t id = 0; id < 15; id++) {
		expect_probe(p, at, id);
		mrc_paths_probe_due(&p.p, at + kRto);
		at = mrc_paths_next_probe(&p.p);
	}
	mrc_paths_set_ports(&p.p, all & ~(1u << mrc_paths_port(&p.p, 7)));
	mrc_paths_set_ports(&p.p, all);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, at - kUnit), 7);
	mrc_paths_probe_sent(&p.p, 7, 100, at - kUnit);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, at - kUnit + kRto), -1);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), at - kUnit + 2 * kRto);
	// A port that stays up is not disturbed.
	mrc_paths_set_ports(&p.p, all);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), at - kUnit + 2 * kRto);
}

// A probe that is out when its port goes away still ends at its deadline.
TEST(EvProbe, OutstandingWhilePortGoesDown)
{
	Paths p = probe_paths();
	std::uint32_t all = p->ports_up;

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, kUnit);
	expect_probe(p, kUnit + kRto, 1);
	mrc_paths_set_ports(&p.p, all & ~(1u << mrc_paths_port(&p.p, 7)));
	EXPECT_EQ(mrc_paths_next_probe(&p.p), kUnit + 2 * kRto);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, kUnit + 2 * kRto), -1);
	EXPECT_FALSE(p.probe_out(7));
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	p.check();
}

TEST(EvProbe, LongRto)
{
	mrc_paths_cfg cfg = paths_cfg(8, 1);
	const std::uint64_t rto = 5 * MRC_EV_PROBE_MAX_NS;

	cfg.rto = rto;
	Paths p(cfg);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_TIMEOUT, kUnit);
	std::uint64_t at = kUnit;
	for (std::uint16_t k = 1; k < 5; k++) {
		// One outstanding: the interval cannot be below the deadline.
		at = up(at + rto);
		ASSERT_EQ(mrc_paths_next_probe(&p.p), at);
		ASSERT_EQ(mrc_paths_probe_due(&p.p, at), 0);
		mrc_paths_probe_sent(&p.p, 0, k, at);
	}
}

// A QP without a timer must not probe without a pause.
TEST(EvProbe, DefaultRto)
{
	mrc_paths_cfg cfg = paths_cfg(8, 1);

	cfg.rto = 0;
	Paths p(cfg);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_TIMEOUT, kUnit);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), kUnit + MRC_EV_RTO_DEFAULT);
	mrc_paths_set_rtt(&p.p, 0, 0);
	EXPECT_EQ(p->cfg.rto, MRC_EV_RTO_DEFAULT);
	EXPECT_EQ(p->cfg.base_rtt, MRC_BASE_RTT_DEFAULT);
	mrc_paths_set_rtt(&p.p, 77, 88);
	EXPECT_EQ(p->cfg.rto, 88u);
	EXPECT_EQ(p->cfg.base_rtt, 77u);
}

} // namespace
