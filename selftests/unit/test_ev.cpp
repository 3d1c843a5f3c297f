// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// EV sets, the state machine of MRC 1.0 §11.6 and probing.
#include <gtest/gtest.h>

#include <set>

#include "paths.hpp"

namespace {

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
		for (unsigned n : { 1u, 2u, 7u, 64u, 100u, 1000u, 1024u }) {
			for (bool ipv6 : { false, true }) {
				mrc_paths_cfg cfg = paths_cfg(n, ports);
				std::vector<unsigned> share(ports + 1);
				std::set<std::uint32_t> seen, sports;

				cfg.ipv6 = ipv6;
				Paths p(cfg);
				ASSERT_EQ(p->n % ports, 0);
				ASSERT_LE(p->n, MRC_EV_MAX);
				unsigned up = (n + ports - 1) / ports * ports;

				ASSERT_EQ(p->n, up <= MRC_EV_MAX ? up :
								   up - ports);
				for (int i = 0; i < p->n; i++) {
					const mrc_ev &ev = p->ev[i];
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
	std::uint32_t e = v4->ev[5].entropy;
	EXPECT_EQ(mrc_paths_find(&v4.p, e), 5);
	// The upper half does not exist on IPv4.
	EXPECT_EQ(mrc_paths_find(&v4.p, e | 0xABCD0000), 5);

	cfg.ipv6 = true;
	Paths v6(cfg);
	e = v6->ev[5].entropy;
	EXPECT_EQ(mrc_paths_find(&v6.p, e), 5);
	EXPECT_EQ(mrc_paths_find(&v6.p, e ^ 0x00010000), -1);
	EXPECT_EQ(mrc_paths_find(&v6.p, e & 0xFFFF), -1);
}

TEST(EvSet, FindNothing)
{
	for (bool ipv6 : { false, true }) {
		mrc_paths_cfg cfg = paths_cfg(1024, 1);
		std::set<std::uint32_t> have;
		int found = 0;

		cfg.ipv6 = ipv6;
		Paths p(cfg);
		for (int i = 0; i < p->n; i++)
			have.insert(p->ev[i].entropy);
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
		EXPECT_EQ(a->ev[i].entropy, b->ev[i].entropy);
		same += a->ev[i].entropy == c->ev[i].entropy;
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

constexpr std::uint8_t G = MRC_EV_GOOD, D = MRC_EV_DENIED, S = MRC_EV_SKIP,
		       B = MRC_EV_ASSUMED_BAD;

const Row kRows[] = {
	{ MRC_EVV_OK, { G, D, S, B } },
	{ MRC_EVV_CE, { S, D, S, B } },
	{ MRC_EVV_CONDEMNED, { B, D, B, B } },
	{ MRC_EVV_TRIM, { S, D, S, B } },
	{ MRC_EVV_TIMEOUT, { B, D, B, B } },
	{ MRC_EVV_PROBE_OK, { G, D, S, B } },
	{ MRC_EVV_PROBE_CE, { S, D, S, S } },
	{ MRC_EVV_PROBE_BAD, { B, D, B, B } },
	{ MRC_EVV_PROBE_LOST, { G, D, S, B } },
	{ MRC_EVV_DENY, { D, D, D, D } },
	{ MRC_EVV_ALLOW, { G, G, S, B } },
};
const Row kLossTrim = { MRC_EVV_LOSS, { B, D, B, B } };
const Row kLossNoTrim = { MRC_EVV_LOSS, { S, D, S, B } };

void check_row(const Row &row, bool trim_nack)
{
	for (std::uint8_t from : { G, D, S, B }) {
		mrc_paths_cfg cfg = paths_cfg(64, 4);
		std::uint8_t to = row.to[from];

		cfg.trim_nack = trim_nack;
		Paths p(cfg);
		p.force(9, from, 1000);
		p.forget();
		mrc_paths_verdict(&p.p, 9, row.verdict, 2000);
		SCOPED_TRACE(::testing::Message()
			     << "verdict " << row.verdict << " from "
			     << int{ from } << " trim " << trim_nack);
		EXPECT_EQ(p->ev[9].state, to);
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
		EXPECT_EQ(p.on_port(p->ev[9].port), p.everything());
	}
}

TEST(EvState, EveryTransition)
{
	for (bool trim : { false, true })
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
		EXPECT_EQ(p->ev[i].state, G);
		EXPECT_EQ(p->ev[i].drops, 0u);
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
	EXPECT_EQ(p->ev[0].state, D);
}

// OP-41: without trim NACKs a second loss within 4 base RTTs condemns.
TEST(EvState, LossPairs)
{
	const std::uint64_t rtt = 10000;

	for (std::uint64_t gap : { 0ul, 1ul, 4 * rtt, 4 * rtt + 1, 40 * rtt }) {
		for (bool skip_between : { false, true }) {
			mrc_paths_cfg cfg = paths_cfg(64, 4);

			cfg.trim_nack = false;
			cfg.base_rtt = rtt;
			Paths p(cfg);
			mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 5000);
			EXPECT_EQ(p->ev[0].state, S);
			p->ev[0].tx += 100;
			// The walk may or may not have passed it meanwhile.
			if (!skip_between)
				p.force(0, G, 5000);
			mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 5000 + gap);
			EXPECT_EQ(p->ev[0].state, gap <= 4 * rtt ? B : S)
				<< gap;
			p.check();
		}
	}
}

// A chain of losses, each too far from the last, never condemns; the interval
// is measured from the newest.
TEST(EvState, LossPairsCountFromTheNewest)
{
	mrc_paths_cfg cfg = paths_cfg(64, 4);

	cfg.trim_nack = false;
	cfg.base_rtt = 100;
	Paths p(cfg);
	for (std::uint64_t t = 1; t < 100000; t += 401) {
		mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, t);
		ASSERT_EQ(p->ev[0].state, S);
		p->ev[0].tx += 100;
	}
	mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, p->ev[0].last_loss + 400);
	EXPECT_EQ(p->ev[0].state, B);
}

// However long it takes, two losses within four packets are a dead path.
TEST(EvState, LossPairsAtLowRate)
{
	for (std::uint32_t between : { 0u, 1u, 4u, 5u, 1000u }) {
		// Also where the count of packets wraps.
		for (std::uint32_t tx : { 0u, 0xFFFFFFFEu }) {
			mrc_paths_cfg cfg = paths_cfg(64, 4);

			cfg.trim_nack = false;
			Paths p(cfg);
			p->ev[0].tx = tx;
			mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 1);
			EXPECT_EQ(p->ev[0].state, S);
			p->ev[0].tx += between;
			mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 1ull << 40);
			EXPECT_EQ(p->ev[0].state, between <= 4 ? B : S);
		}
	}
}

// A plane cut where nobody trims: all of its EVs are found out within two
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
		// Far slower than 4 base RTTs per turn of an EV.
		now += 100000;
		mrc_paths_verdict(&p.p, ev,
				  p->ev[ev].port == 3 ? MRC_EVV_LOSS :
							MRC_EVV_OK,
				  now);
	}
	for (int i = 0; i < 64; i++) {
		EXPECT_EQ(p->ev[i].state, p->ev[i].port == 3 ? B : G);
		EXPECT_EQ(p->ev[i].drops, p->ev[i].port == 3 ? 2u : 0u);
	}
}

TEST(EvState, LossPairsFollowTheMeasuredRtt)
{
	mrc_paths_cfg cfg = paths_cfg(64, 4);

	cfg.trim_nack = false;
	cfg.base_rtt = 100;
	Paths p(cfg);
	mrc_paths_set_rtt(&p.p, 1000, 5000);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 1);
	p->ev[0].tx += 100;
	mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 4001);
	EXPECT_EQ(p->ev[0].state, B);
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
	ASSERT_EQ(p->ev[0].state, B);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_PROBE_OK, 12);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_PROBE_OK, 13);
	ASSERT_EQ(p->ev[0].state, G);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, 14);
	EXPECT_EQ(p->ev[0].state, S);
}

TEST(EvState, DropsCountLossesAndTimeouts)
{
	Paths p(paths_cfg(64, 4));

	for (int v = 0; v < MRC_EVV_MAX; v++)
		mrc_paths_verdict(&p.p, 0, static_cast<mrc_ev_verdict>(v), 5);
	EXPECT_EQ(p->ev[0].drops, 2u);
	// Also those that come late, in states that do not care.
	p.force(1, B, 5);
	mrc_paths_verdict(&p.p, 1, MRC_EVV_LOSS, 6);
	mrc_paths_verdict(&p.p, 1, MRC_EVV_TIMEOUT, 6);
	EXPECT_EQ(p->ev[1].drops, 2u);
}

// ev_min_active: no trigger but the controller goes below.
TEST(EvState, MinActiveIsKept)
{
	const mrc_ev_verdict causes[] = { MRC_EVV_CONDEMNED, MRC_EVV_LOSS,
					  MRC_EVV_TIMEOUT, MRC_EVV_PROBE_BAD };

	for (mrc_ev_verdict cause : causes) {
		for (unsigned min : { 0u, 1u, 10u, 64u }) {
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
				mrc_paths_verdict(&p.p, i, cause, 2);
			}
			EXPECT_EQ(p.count(G) + p.count(S), want);
			EXPECT_EQ(p->bad, 64 - want);
			p.check();
			// Those spared keep the state they had.
			for (unsigned i = 64 - want; i < 64; i++)
				EXPECT_EQ(p->ev[i].state, i & 1 ? S : G);
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
	EXPECT_EQ(p->ev[60].state, G);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_ALLOW, 3);
	mrc_paths_verdict(&p.p, 60, MRC_EVV_TIMEOUT, 4);
	EXPECT_EQ(p->ev[60].state, B);
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
	EXPECT_EQ(p->ev[0].state, B);
	EXPECT_EQ(mrc_paths_pick(&p.p, 2), 0);
}

constexpr std::uint64_t kRto = 1000000;

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
	std::uint64_t at = 5000 + kRto, ivl = kRto;

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, 5000);
	for (std::uint16_t id = 1; id < 20; id++) {
		ASSERT_EQ(expect_probe(p, at, id), 7);
		EXPECT_TRUE(p->ev[7].probe_out);
		EXPECT_EQ(mrc_paths_probe_match(&p.p, id), 7);
		EXPECT_EQ(mrc_paths_probe_match(&p.p, id + 1), -1);
		// Nothing more until the deadline.
		EXPECT_EQ(mrc_paths_next_probe(&p.p), at + kRto);
		EXPECT_EQ(mrc_paths_probe_due(&p.p, at + kRto - 1), -1);
		EXPECT_TRUE(p->ev[7].probe_out);
		ivl = std::min<std::uint64_t>(2 * ivl, MRC_EV_PROBE_MAX_NS);
		EXPECT_EQ(mrc_paths_probe_due(&p.p, at + kRto), -1);
		EXPECT_FALSE(p->ev[7].probe_out);
		EXPECT_EQ(mrc_paths_probe_match(&p.p, id), -1);
		at += ivl;
		p.check();
	}
	EXPECT_EQ(ivl, MRC_EV_PROBE_MAX_NS);
	EXPECT_EQ(p->ev[7].state, B);
	EXPECT_EQ(p->ev[7].tx, 19u);
}

TEST(EvProbe, TwoGoodRepliesResurrect)
{
	Paths p = probe_paths();

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, 5000);
	p.forget();
	expect_probe(p, 5000 + kRto, 1);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, 6000 + kRto);
	EXPECT_EQ(p->ev[7].state, B);
	EXPECT_EQ(p->ev[7].probe_good, 1);
	EXPECT_EQ(p.everything(), 0u);
	// The second one follows one RTO later, whatever the interval was.
	expect_probe(p, 6000 + 2 * kRto, 2);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, 7000 + 2 * kRto);
	EXPECT_EQ(p->ev[7].state, G);
	EXPECT_EQ(p.total(MRC_CTR_EV_GOOD), 1u);
	EXPECT_EQ(p.changes.size(), 1u);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	EXPECT_EQ(mrc_paths_probe_match(&p.p, 2), -1);
	p.check();
}

TEST(EvProbe, LostReplyBreaksTheSeries)
{
	Paths p = probe_paths();
	std::uint64_t at = 1 + kRto;

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, 1);
	expect_probe(p, at, 1);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, at + 10);
	at += 10 + kRto;
	expect_probe(p, at, 2);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, at + kRto), -1);
	EXPECT_EQ(p->ev[7].probe_good, 0);
	at += 2 * kRto;
	expect_probe(p, at, 3);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, at + 10);
	EXPECT_EQ(p->ev[7].state, B);
	at += 10 + kRto;
	expect_probe(p, at, 4);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, at + 10);
	EXPECT_EQ(p->ev[7].state, G);
}

TEST(EvProbe, MarkedReplyGivesSkip)
{
	Paths p = probe_paths();

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, 1);
	p.forget();
	expect_probe(p, 1 + kRto, 1);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_CE, 2 + kRto);
	EXPECT_EQ(p->ev[7].state, S);
	EXPECT_EQ(p.total(MRC_CTR_EV_GOOD), 1u);
	EXPECT_EQ(p.total(MRC_CTR_EV_SKIP), 1u);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	// The way on to GOOD is no second resurrection.
	while (p->ev[7].state == S)
		ASSERT_GE(mrc_paths_pick(&p.p, 3 + kRto), 0);
	EXPECT_EQ(p->ev[7].state, G);
	EXPECT_EQ(p.total(MRC_CTR_EV_GOOD), 1u);
}

TEST(EvProbe, CondemningReplyReArms)
{
	Paths p = probe_paths();

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, 1);
	expect_probe(p, 1 + kRto, 1);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_BAD, 10 + kRto);
	EXPECT_EQ(p->ev[7].state, B);
	EXPECT_FALSE(p->ev[7].probe_out);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), 10 + kRto + 2 * kRto);
	p.check();
}

// Data never resurrects, and does not touch the probe schedule.
TEST(EvProbe, OnlyProbesResurrect)
{
	Paths p = probe_paths();

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, 1);
	for (mrc_ev_verdict v : { MRC_EVV_OK, MRC_EVV_CE, MRC_EVV_TRIM,
				  MRC_EVV_LOSS, MRC_EVV_TIMEOUT,
				  MRC_EVV_CONDEMNED, MRC_EVV_ALLOW }) {
		mrc_paths_verdict(&p.p, 7, v, 500);
		EXPECT_EQ(p->ev[7].state, B);
		EXPECT_EQ(mrc_paths_next_probe(&p.p), 1 + kRto);
	}
}

TEST(EvProbe, EarliestFirst)
{
	Paths p = probe_paths();
	const int order[] = { 9, 3, 30, 12 };

	for (int k = 0; k < 4; k++)
		mrc_paths_verdict(&p.p, order[k], MRC_EVV_TIMEOUT,
				  1000ull + k);
	for (std::uint16_t k = 0; k < 4; k++) {
		EXPECT_EQ(mrc_paths_next_probe(&p.p), 1000 + k + kRto);
		EXPECT_EQ(mrc_paths_probe_due(&p.p, 2000 + kRto), order[k]);
		// Asking changes nothing, sending does.
		EXPECT_EQ(mrc_paths_probe_due(&p.p, 2000 + kRto), order[k]);
		mrc_paths_probe_sent(&p.p, order[k], k, 2000 + kRto);
		p.check();
	}
	EXPECT_EQ(mrc_paths_probe_due(&p.p, 2000 + kRto), -1);
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
		mrc_paths_verdict(&p.p, i, MRC_EVV_TIMEOUT, 1);
	for (int i = 0; i < 64; i++) {
		int ev = mrc_paths_probe_due(&p.p, 1 + kRto);

		ASSERT_TRUE(probed.insert(ev).second);
		mrc_paths_probe_sent(&p.p, ev,
				     static_cast<std::uint16_t>(1000 + ev),
				     1 + kRto);
	}
	EXPECT_EQ(mrc_paths_probe_due(&p.p, 1 + kRto), -1);
	for (int i = 0; i < 64; i++)
		EXPECT_EQ(mrc_paths_probe_match(
				  &p.p, static_cast<std::uint16_t>(1000 + i)),
			  i);
	// All lost in one go.
	EXPECT_EQ(mrc_paths_probe_due(&p.p, 1 + 2 * kRto), -1);
	for (int i = 0; i < 64; i++)
		EXPECT_FALSE(p->ev[i].probe_out);
	p.check();
}

TEST(EvProbe, DenyEndsProbing)
{
	Paths p = probe_paths();

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, 1);
	expect_probe(p, 1 + kRto, 1);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_DENY, 2 + kRto);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	EXPECT_EQ(mrc_paths_probe_match(&p.p, 1), -1);
	// A late reply says nothing about it.
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, 3 + kRto);
	mrc_paths_verdict(&p.p, 7, MRC_EVV_PROBE_OK, 3 + kRto);
	EXPECT_EQ(p->ev[7].state, D);
}

TEST(EvProbe, SentForOtherStatesJustCounts)
{
	Paths p = probe_paths();

	mrc_paths_probe_sent(&p.p, 7, 1, 10);
	EXPECT_EQ(p->ev[7].tx, 1u);
	EXPECT_FALSE(p->ev[7].probe_out);
	EXPECT_EQ(mrc_paths_probe_match(&p.p, 1), -1);
	mrc_paths_probe_sent(&p.p, -1, 1, 10);
	mrc_paths_probe_sent(&p.p, 64, 1, 10);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
}

// No probe through a port that is down; overdue when it comes back.
TEST(EvProbe, WaitsForThePort)
{
	for (bool peer : { false, true }) {
		Paths p = probe_paths();
		std::uint32_t all = p->ports_up, without;
		std::uint64_t at;

		mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, 1);
		without = all & ~(1u << p->ev[7].port);
		if (peer)
			mrc_paths_set_peer_ports(&p.p, without);
		else
			mrc_paths_set_ports(&p.p, without);
		EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
		EXPECT_EQ(mrc_paths_probe_due(&p.p, 100 * kRto), -1);
		EXPECT_EQ(p->ev[7].state, B);
		if (peer)
			mrc_paths_set_peer_ports(&p.p, ~0u);
		else
			mrc_paths_set_ports(&p.p, all);
		at = 100 * kRto;
		EXPECT_LE(mrc_paths_next_probe(&p.p), at);
		EXPECT_EQ(mrc_paths_probe_due(&p.p, at), 7);
		p.check();
	}
}

// The interval starts anew, or a plane that was away for long would stay
// unused for another second.
TEST(EvProbe, PortUpStartsThePacingAnew)
{
	Paths p = probe_paths();
	std::uint32_t all = p->ports_up;
	std::uint64_t at = 1 + kRto;

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, 1);
	for (std::uint16_t id = 0; id < 15; id++) {
		expect_probe(p, at, id);
		mrc_paths_probe_due(&p.p, at + kRto);
		at = mrc_paths_next_probe(&p.p);
	}
	mrc_paths_set_ports(&p.p, all & ~(1u << p->ev[7].port));
	mrc_paths_set_ports(&p.p, all);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, at - 1), 7);
	mrc_paths_probe_sent(&p.p, 7, 100, at - 1);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, at - 1 + kRto), -1);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), at - 1 + 2 * kRto);
	// A port that stays up is not disturbed.
	mrc_paths_set_ports(&p.p, all);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), at - 1 + 2 * kRto);
}

// A probe that is out when its port goes away still ends at its deadline.
TEST(EvProbe, OutstandingWhilePortGoesDown)
{
	Paths p = probe_paths();
	std::uint32_t all = p->ports_up;

	mrc_paths_verdict(&p.p, 7, MRC_EVV_TIMEOUT, 1);
	expect_probe(p, 1 + kRto, 1);
	mrc_paths_set_ports(&p.p, all & ~(1u << p->ev[7].port));
	EXPECT_EQ(mrc_paths_next_probe(&p.p), 1 + 2 * kRto);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, 1 + 2 * kRto), -1);
	EXPECT_FALSE(p->ev[7].probe_out);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	p.check();
}

TEST(EvProbe, LongRto)
{
	mrc_paths_cfg cfg = paths_cfg(8, 1);
	const std::uint64_t rto = 5 * MRC_EV_PROBE_MAX_NS;

	cfg.rto = rto;
	Paths p(cfg);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_TIMEOUT, 1);
	for (std::uint16_t k = 1; k < 5; k++) {
		// One outstanding: the interval cannot be below the deadline.
		ASSERT_EQ(mrc_paths_next_probe(&p.p), 1 + k * rto);
		ASSERT_EQ(mrc_paths_probe_due(&p.p, 1 + k * rto), 0);
		mrc_paths_probe_sent(&p.p, 0, k, 1 + k * rto);
	}
}

// A QP without a timer must not probe without a pause.
TEST(EvProbe, DefaultRto)
{
	mrc_paths_cfg cfg = paths_cfg(8, 1);

	cfg.rto = 0;
	Paths p(cfg);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_TIMEOUT, 1);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), 1 + MRC_EV_RTO_DEFAULT);
	mrc_paths_set_rtt(&p.p, 0, 0);
	EXPECT_EQ(p->cfg.rto, MRC_EV_RTO_DEFAULT);
	EXPECT_EQ(p->cfg.base_rtt, MRC_BASE_RTT_DEFAULT);
	mrc_paths_set_rtt(&p.p, 77, 88);
	EXPECT_EQ(p->cfg.rto, 88u);
	EXPECT_EQ(p->cfg.base_rtt, 77u);
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
				ASSERT_EQ(p->ev[due].state, B);
				ASSERT_FALSE(p->ev[due].probe_out);
				mrc_paths_probe_sent(
					&p.p, due,
					static_cast<std::uint16_t>(step), now);
				break;
			case 2:
			case 3:
			case 4:
				ev = mrc_paths_pick(&p.p, now);
				if (ev >= 0) {
					ASSERT_NE(p->ev[ev].state, D);
					ASSERT_NE(p->ev[ev].state, S);
					ASSERT_TRUE(mrc_paths_port_ok(
						&p.p, p->ev[ev].port));
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
