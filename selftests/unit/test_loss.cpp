// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: inference of losses from SACKs and probe replies.
// MRC 1.0 §9.2, §9.3, §9.5, OP-22, OP-41.
#include "loss_fixture.hpp"

#include <algorithm>
#include <map>

using namespace mrc_test;

TEST(LossRange, ClampedBetweenFiveAndHalfTheWindow)
{
	auto range = [](u32 cwnd) {
		// Observable: the distance at which a hole becomes a loss.
		OnePlane q;
		q.cfg.mpr = 2;
		q.cfg.sq_depth = 256;
		q.ccfg.window = cwnd;
		q.init();
		spaced(q, 140);
		for (int n = 1; n < 140; n++) {
			show(q, n);
			if (q.count(MRC_CTR_LOSS_SACK))
				return n;
		}
		return -1;
	};
	EXPECT_EQ(range(256), 5);
	EXPECT_EQ(range(4 * 256), 6);
	EXPECT_EQ(range(20 * 256), 30);
	EXPECT_EQ(range(1u << 30), 128); // W / 2
	EXPECT_EQ(range(0xFFFFFFFF), 128);
}

TEST(Loss, HoleFarBelowTheHighestIsLost)
{
	for (u32 first : {0x100u, 0xFFFFF8u}) {
		OnePlane r;
		r.cfg.sq_psn = first;
		r.pcfg.trim_nack = true;
		r.init();
		auto out = spaced(r, kRange + 3);
		show(r, kRange - 1);
		EXPECT_EQ(r.req.n_lost, 0u);
		show(r, kRange);
		EXPECT_EQ(r.req.n_lost, 1u);
		EXPECT_TRUE(r.lost(r.psn(0)));
		EXPECT_EQ(r.count(MRC_CTR_LOSS_SACK), 1u);
		ASSERT_EQ(r.losses.size(), 1u);
		EXPECT_EQ(r.losses[0].cause, MRC_LOSS_SACK);
		EXPECT_EQ(r.losses[0].ev, out[0].ev);
		EXPECT_EQ(r.ev(out[0].ev).state, MRC_EV_ASSUMED_BAD);
		EXPECT_EQ(r.rec.lost.size(), 1u);
		show(r, kRange + 2);
		EXPECT_EQ(r.req.n_lost, 3u);
		auto again = r.send();
		ASSERT_EQ(again.size(), 3u);
		for (int i = 0; i < 3; i++) {
			EXPECT_EQ(again[i].hdr.psn, r.psn(i)); // oldest first
			EXPECT_TRUE(again[i].hdr.rtx);
		}
		EXPECT_EQ(r.req.retries, 0u); // costs no retry
	}
}

TEST(Loss, WithoutTrimmingTheFirstOneOnlySkips)
{
	OnePlane r;
	r.init();
	auto out = spaced(r, kRange + 1);
	show(r, kRange);
	EXPECT_EQ(r.ev(out[0].ev).state, MRC_EV_SKIP);
}

TEST(Loss, TimeGuard)
{
	OnePlane r;
	r.init();
	r.send_n(1);
	r.now += 25 * kUs - 1; // less than base_rtt / 4 apart
	r.send_n(kRange + 1);
	show(r, kRange);
	EXPECT_EQ(r.req.n_lost, 0u);

	OnePlane q;
	q.init();
	q.send_n(1);
	q.now += 25 * kUs;
	q.send_n(kRange + 1);
	show(q, kRange);
	EXPECT_EQ(q.req.n_lost, 1u);
	EXPECT_TRUE(q.lost(q.psn(0)));
}

// A first copy that arrives after its retransmission widens the time guard, at
// most once per round trip and up to half an RTO.
TEST(Loss, TimeGuardLearnsFromSpuriousRetransmissions)
{
	OnePlane r;
	r.init();
	const mrc_guard &g = r.req.guard[MRC_GUARD_ORDER];
	spaced(r, kRange + 4);
	show(r, kRange + 3);
	ASSERT_EQ(r.req.n_lost, 4u);
	ASSERT_EQ(r.send().size(), 4u);
	ASSERT_EQ(g.ns, 0u);
	const u64 least = r.req.base_rtt / 4;
	r.now += 1 * kUs;
	r.sack({.cack = r.psn(0), .rtx = false});
	EXPECT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 1u);
	EXPECT_EQ(g.ns, 2 * least);
	// More of the same round trip changes nothing.
	r.sack({.cack = r.psn(1), .rtx = false});
	EXPECT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 2u);
	EXPECT_EQ(g.ns, 2 * least);
	// How late the copy was counts where doubling is less.
	r.now += 1 * kMs - 1 * kUs;
	r.sack({.cack = r.psn(2), .rtx = false});
	EXPECT_EQ(g.ns, 2 * least + 1 * kMs);
	r.now += 100 * kMs;
	r.sack({.cack = r.psn(3), .rtx = false});
	EXPECT_EQ(g.ns, r.req.cfg.rto / 2);
	EXPECT_EQ(r.req.guard[MRC_GUARD_LAG].ns, 0u);
}

TEST(Loss, LearntTimeGuardIsObeyedAndForgotten)
{
	OnePlane r;
	r.init();
	mrc_guard &g = r.req.guard[MRC_GUARD_ORDER];
	g = {1 * kMs, r.now};
	r.send_n(1);
	r.now += 1 * kMs - 1;
	r.send_n(kRange + 1);
	show(r, kRange);
	EXPECT_EQ(r.req.n_lost, 0u);
	r.now += 1;
	r.send_n(1);
	show(r, kRange + 2);
	EXPECT_EQ(r.req.n_lost, 1u);
	EXPECT_TRUE(r.lost(r.psn(0)));

	// Halved after each quiet period until the fixed guard is all.
	u64 last = g.ns;
	for (int i = 0; i < 40 && g.ns; i++) {
		r.now += 64 * (r.req.base_rtt + r.req.srtt + 4 * r.req.rttvar);
		show(r, kRange + 2);
		EXPECT_LT(g.ns, last);
		last = g.ns;
	}
	EXPECT_EQ(g.ns, 0u);
}

// Losses found by other means say nothing about the guards.
TEST(Loss, TimeGuardIgnoresTimeouts)
{
	OnePlane r;
	r.init();
	r.send_n(1);
	r.expire();
	ASSERT_EQ(r.send().size(), 1u);
	r.now += 1 * kMs;
	r.sack({.cack = r.psn(0), .rtx = false});
	EXPECT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 1u);
	EXPECT_EQ(r.req.guard[MRC_GUARD_ORDER].ns, 0u);
	EXPECT_EQ(r.req.guard[MRC_GUARD_LAG].ns, 0u);
}

TEST(Loss, GuardIsBoundedWithoutTimer)
{
	OnePlane r;
	r.cfg.rto = 0;
	r.init();
	spaced(r, kRange + 1);
	show(r, kRange);
	ASSERT_EQ(r.send().size(), 1u);
	r.now += 1000 * kMs;
	r.sack({.cack = r.psn(0), .rtx = false});
	EXPECT_EQ(r.req.guard[MRC_GUARD_ORDER].ns, 64 * kMs);
}

// Two processors may hand in times in the wrong order.
TEST(Loss, ClockOfAnotherProcessorForgetsNothing)
{
	OnePlane r;
	r.init();
	mrc_guard &g = r.req.guard[MRC_GUARD_ORDER];
	spaced(r, kRange + 3);
	show(r, kRange + 2);
	ASSERT_EQ(r.send().size(), 3u);
	r.now += 200 * kUs;
	r.sack({.cack = r.psn(0), .rtx = false});
	const u64 learnt = g.ns;
	ASSERT_GT(learnt, 0u);
	r.now -= 100;
	for (int i = 0; i < 4; i++)
		r.sack({.cack = r.psn(1), .rtx = false});
	EXPECT_EQ(g.ns, learnt);
}

// A later timeout of the same packet is none of the guard's doing.
TEST(Loss, TimeoutAfterInferenceTeachesNothing)
{
	OnePlane r;
	r.init();
	spaced(r, kRange + 1);
	show(r, kRange);
	ASSERT_EQ(r.send().size(), 1u);
	for (int i = 0; i < 40 && !r.lost(r.psn(0)); i++)
		r.expire();
	ASSERT_TRUE(r.lost(r.psn(0)));
	r.send();
	r.sack({.cack = r.psn(0), .rtx = false});
	EXPECT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 1u);
	EXPECT_EQ(r.req.guard[MRC_GUARD_ORDER].ns, 0u);
}

static u64 times_lost(const Requester &r, u32 psn)
{
	return static_cast<u64>(
		std::count_if(r.losses.begin(), r.losses.end(),
			      [&](const auto &l) { return l.psn == psn; }));
}

// A copy of an inferred loss is judged by what was sent after it, never by the
// packets that were out by then, however often it has to be sent.
TEST(Loss, CopiesAreJudgedByWhatIsSentAfterThem)
{
	OnePlane r;
	int newest = kRange;
	r.cfg.sq_depth = 128;
	r.init();
	spaced(r, kRange + 1);
	show(r, kRange);
	for (u64 losses = 1; losses < 5; losses++) {
		ASSERT_EQ(times_lost(r, r.psn(0)), losses);
		auto copy = r.send();
		ASSERT_EQ(copy.size(), 1u);
		EXPECT_EQ(copy[0].hdr.psn, r.psn(0));
		EXPECT_TRUE(copy[0].hdr.rtx);
		r.now += 30 * kUs;
		spaced(r, kRange);
		for (int n = 1; n < newest + kRange; n++)
			show(r, n);
		EXPECT_EQ(times_lost(r, r.psn(0)), losses);
		newest += kRange;
		show(r, newest);
	}
	// Those that were sent between the copies are not lost.
	EXPECT_EQ(r.losses.size(), 5u);
	EXPECT_EQ(r.count(MRC_CTR_LOSS_SACK), 5u);
}

// The oldest copy has arrived: the younger ones are still looked after.
TEST(Loss, CopiesArriveInAnyOrder)
{
	OnePlane r;
	r.init();
	spaced(r, kRange + 3);
	for (int n = 3; n < kRange + 3; n++)
		show(r, n);
	ASSERT_EQ(r.losses.size(), 3u);
	ASSERT_EQ(r.send().size(), 3u);
	r.now += 30 * kUs;
	show(r, 0);
	spaced(r, kRange);
	for (int n = kRange + 3; n < 2 * kRange + 3; n++)
		show(r, n);
	EXPECT_EQ(times_lost(r, r.psn(0)), 1u);
	EXPECT_EQ(times_lost(r, r.psn(1)), 2u);
	EXPECT_EQ(times_lost(r, r.psn(2)), 2u);
	EXPECT_EQ(r.losses.size(), 5u);
}

// What has arrived is not remembered: half the space of PSNs later it would seem to
// lie ahead, and no copy would be looked after.
TEST(Loss, CopiesThatArrivedAreForgotten)
{
	OnePlane r;
	r.init();
	spaced(r, kRange + 1);
	show(r, kRange);
	ASSERT_EQ(r.send().size(), 1u);
	EXPECT_TRUE(r.req.again);
	r.sack_all(r.psn(kRange));
	EXPECT_FALSE(r.req.again);
	r.now += 30 * kUs;
	spaced(r, kRange + 1);
	show(r, 2 * kRange + 1);
	ASSERT_EQ(times_lost(r, r.psn(kRange + 1)), 1u);
	ASSERT_EQ(r.send().size(), 1u);
	EXPECT_TRUE(r.req.again);
}

// Sent within a quarter of a round trip of what arrived, a copy is not lost.
TEST(Loss, CopiesHaveTheTimeGuardToo)
{
	OnePlane r;
	r.init();
	spaced(r, kRange + 1);
	show(r, kRange);
	for (int n = 1; n < kRange; n++)
		show(r, n);
	ASSERT_EQ(r.send().size(), 1u);
	r.send_n(kRange);
	for (int n = kRange + 1; n <= 2 * kRange; n++)
		show(r, n);
	EXPECT_EQ(times_lost(r, r.psn(0)), 1u);
	r.now += 30 * kUs;
	ASSERT_EQ(r.send_n(1).size(), 1u);
	show(r, 2 * kRange + 1);
	EXPECT_EQ(times_lost(r, r.psn(0)), 2u);
}

TEST(Loss, RetransmissionRestartsTheClock)
{
	OnePlane r;
	r.init();
	auto out = spaced(r, kRange + 1);
	// A NACK had PSN 0 sent again, later than everything else.
	r.nack(r.psn(0), MRC_NACK_TRIMMED_LASTHOP, out[0].entropy);
	EXPECT_EQ(r.send().size(), 1u);
	show(r, kRange);
	EXPECT_EQ(r.count(MRC_CTR_LOSS_SACK), 0u);
}

TEST(Loss, ReorderingBelowTheRangeIsHarmless)
{
	OnePlane r;
	r.init();
	spaced(r, 64);
	// Each block of R packets arrives backwards.
	s64 cack = -1;
	for (int block = 0; block < 64; block += kRange) {
		for (int n = block + kRange - 1; n >= block; n--) {
			if (n >= 64)
				continue;
			u32 from = r.psn(cack);
			s32 d = mrc_psn_diff(r.psn(n), from);
			if (n == block)
				r.sack_all(r.psn(
					std::min(63, block + kRange - 1)));
			else
				r.sack({.cack = from,
					.ack = d,
					.base = d,
					.map = 1});
		}
		cack = std::min(63, block + kRange - 1);
	}
	EXPECT_EQ(r.req.cack, r.psn(63));
	EXPECT_EQ(r.count(MRC_CTR_LOSS_SACK), 0u);
	EXPECT_EQ(r.count(MRC_CTR_TX_RTX), 0u);
	EXPECT_TRUE(r.send().empty());
}

TEST(Loss, ManyHolesInOneScan)
{
	OnePlane r;
	r.cfg.sq_psn = 0xFFFF80;
	r.cfg.sq_depth = 512;
	r.init();
	spaced(r, 400);
	// Every third one arrived.
	for (int n = 2; n < 400; n += 3)
		show(r, n);
	u32 want = 0;
	for (int n = 0; n <= 398 - kRange; n++)
		want += n % 3 != 2;
	EXPECT_EQ(r.req.n_lost, want);
	auto again = r.send();
	EXPECT_EQ(again.size(), want);
	for (size_t i = 1; i < again.size(); i++)
		EXPECT_GT(mrc_psn_diff(again[i].hdr.psn, again[i - 1].hdr.psn),
			  0);
}

TEST(Loss, RetransmissionsObeyTheCongestionWindow)
{
	OnePlane r;
	r.init();
	spaced(r, kRange + 5);
	show(r, kRange + 4);
	EXPECT_EQ(r.req.n_lost, 5u);
	r.rec.limit = r.req.inflight + mrc_nominal_size(36, 256);
	mrc_tx_verdict why;
	r.write(1);
	auto out = r.send(&why);
	ASSERT_EQ(out.size(), 1u);
	EXPECT_TRUE(out[0].hdr.rtx); // and no new packet before the lost ones
	EXPECT_EQ(why, MRC_TX_WAIT_CWND);
}

TEST(ProbeLoss, TailLossIsFoundWithoutTheTimer)
{
	for (u32 first : {0x200u, 0xFFFFFEu}) {
		Requester r;
		r.cfg.sq_psn = first;
		r.pcfg.trim_nack = true;
		r.init();
		auto out = r.send_n(4);
		u16 id = silence_probe(r);
		r.now += 50 * kUs;
		// Nothing above PSN 0 arrived: the map is empty.
		r.sack({.cack = r.psn(0), .probe = id});
		EXPECT_EQ(r.count(MRC_CTR_LOSS_PROBE), 3u);
		EXPECT_EQ(r.losses[0].cause, MRC_LOSS_PROBE);
		EXPECT_EQ(r.ev(out[1].ev).state, MRC_EV_ASSUMED_BAD);
		EXPECT_EQ(r.send().size(), 3u);
		EXPECT_EQ(r.req.retries, 0u);
		// The same reply again: the packets were sent after the probe.
		r.sack({.cack = r.psn(0), .probe = id});
		EXPECT_EQ(r.count(MRC_CTR_LOSS_PROBE), 3u);
	}
}

// A round trip, a quarter of one, and the floor of 100 us.
TEST(ProbeLoss, YoungTransmissionsAreNoEvidence)
{
	for (u64 rtt : {100 * kUs, 300 * kUs}) {
		const u64 least = rtt * 5 / 4 + 100 * kUs;
		OnePlane r;
		r.init();
		known_rtt(r, rtt);
		r.send_n(1);
		r.now += 1;
		r.send_n(1);
		r.now += least - 1;
		u16 id = probe_at_once(r);
		r.now += rtt;
		r.sack({.cack = r.psn(-1), .probe = id});
		EXPECT_TRUE(r.lost(r.psn(0)));
		EXPECT_FALSE(r.lost(r.psn(1)));
		// Asked for again when it is old enough, which it is by now.
		EXPECT_LE(mrc_req_deadline(&r.req), r.now + 1);
		r.send();
		r.now += 1;
		id = probe_at_once(r);
		r.now += rtt;
		r.sack({.cack = r.psn(-1), .probe = id});
		EXPECT_TRUE(r.lost(r.psn(1)));
	}
}

// That it was old enough when it was asked for counts, whatever was learnt since.
TEST(ProbeLoss, WhatWasAskedForIsTold)
{
	OnePlane r;
	r.init();
	known_rtt(r, 100 * kUs);
	r.send_n(1);
	u16 id = silence_probe(r);
	r.now += 900 * kUs; // a long round trip
	r.sack({.cack = r.psn(-1), .probe = id});
	EXPECT_TRUE(r.lost(r.psn(0)));
}

// Not if a stream has begun meanwhile: a probe may overtake its packets.
TEST(ProbeLoss, WhatWasAskedForBeforeAStreamIsNot)
{
	for (int n : {kRange - 1, kRange}) {
		OnePlane r;
		r.init();
		known_rtt(r, 100 * kUs);
		r.send_n(1);
		u16 id = silence_probe(r);
		r.send_n((unsigned)n);
		r.now += 100 * kUs;
		r.sack({.cack = r.psn(-1), .probe = id});
		EXPECT_EQ(r.lost(r.psn(0)), n < kRange);
	}
}

// Of a plane without a sample less is expected.
TEST(ProbeLoss, UnknownPlanesGetEightRoundTrips)
{
	const u64 least = 8 * 100 * kUs + 100 * kUs;

	for (u64 older : {least - 1, least}) {
		Requester r;
		r.cfg.rto = 100 * kMs;
		r.init();
		known_rtt(r, 100 * kUs);
		auto out = r.send_n(1);
		r.req.plane[out[0].port].srtt = 0;
		r.now += older;
		u16 id = probe_at_once(r);
		r.now += 100 * kUs;
		r.sack({.cack = r.psn(-1), .probe = id});
		EXPECT_EQ(r.lost(r.psn(0)), older == least);
	}
}

// A plane of which nothing was heard since its last two packets may be behind. A
// probe through that plane itself cannot overtake them.
TEST(ProbeLoss, SilentPlanesMayBeBehind)
{
	Requester r;
	r.cfg.rto = 16 * kMs; // lag guard 4 ms
	r.init();
	known_rtt(r, 100 * kUs);
	auto out = r.send_n(6);
	std::map<u8, int> n;
	for (const auto &d : out)
		n[d.port]++;
	r.now += 1 * kMs;
	u16 id = probe_at_once(r);
	const u8 via = r.probes[0].port;
	r.now += 100 * kUs;
	r.sack({.cack = r.psn(-1), .probe = id});
	int behind = 0;
	for (int i = 0; i < 6; i++) {
		const bool waits = n[out[i].port] > 1 && out[i].port != via;
		EXPECT_EQ(r.lost(r.psn(i)), !waits) << i;
		behind += waits;
	}
	EXPECT_GT(behind, 0);
	r.send();
	r.now += 4 * kMs;
	id = probe_at_once(r);
	r.now += 100 * kUs;
	r.sack({.cack = r.psn(-1), .probe = id});
	for (int i = 0; i < 6; i++)
		EXPECT_TRUE(r.req.pkt[r.psn(i) & r.req.ring_mask].rtx_count ||
			    r.lost(r.psn(i)));
}

TEST(ProbeLoss, OnlyWhatTheMapCovers)
{
	Requester r;
	r.cfg.sq_depth = 128;
	r.init();
	r.send_n(100);
	u16 id = silence_probe(r);
	// A train: the first map shows holes at 0 and 2.
	r.sack({.cack = r.psn(-1), .base = 1, .map = ~5ull, .probe = id});
	EXPECT_EQ(r.count(MRC_CTR_LOSS_PROBE), 2u);
	EXPECT_FALSE(r.lost(r.psn(70)));
	// The second map of the train adds its own.
	r.sack({.cack = r.psn(-1),
		.base = 65,
		.map = 0xFFFFFFFBF,
		.probe = id});
	EXPECT_EQ(r.count(MRC_CTR_LOSS_PROBE), 3u);
	EXPECT_TRUE(r.lost(r.psn(70)));
}

TEST(ProbeLoss, OrdinarySacksDoNotTell)
{
	Requester r;
	r.init();
	r.send_n(4);
	r.now += 10 * kMs;
	r.sack({.cack = r.psn(0)});
	EXPECT_EQ(r.req.n_lost, 0u);
}
