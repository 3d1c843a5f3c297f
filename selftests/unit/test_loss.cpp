// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: inference of losses from SACKs and probe replies.
// MRC 1.0 §9.2, §9.3, §9.5, OP-22, OP-41.
#include "engine_fixture.hpp"

#include <algorithm>

using namespace mrc_test;

namespace
{

// The fixture's window of 8 packets gives R = 12.
constexpr int kRange = 12;

// All EVs on one plane: what arrives later is proof.
struct OnePlane : Requester {
	OnePlane() { pcfg.n_ports = 1; }
};

// n packets, 30 us apart: always beyond the time guard of base_rtt / 4.
std::vector<mrc_tx_desc> spaced(Requester &r, int n)
{
	std::vector<mrc_tx_desc> out;
	for (int i = 0; i < n; i++) {
		auto one = r.send_n(1);
		out.insert(out.end(), one.begin(), one.end());
		r.now += 30 * kUs;
	}
	return out;
}

// A SACK that shows exactly PSN number n received. It answers a probe nobody
// sent, so that it is no RTT sample.
void show(Requester &r, s64 n)
{
	s32 d = mrc_psn_diff(r.psn(n), r.req.cack);
	r.sack({.cack = r.req.cack, .base = d, .map = 1, .probe = 60000});
}

// Waits for silence and sends the probe. Return: its id.
u16 silence_probe(Requester &r)
{
	r.now = r.req.silence_at;
	r.probes.clear();
	r.send();
	EXPECT_EQ(r.probes.size(), 1u);
	return r.probes.empty() ? 0 : r.probes[0].hdr.peth.probe_id;
}

} // namespace

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

// What arrives through one plane does not show a loss in another that has been
// silent for less than a quarter of the RTO.
TEST(Lag, PlaneBehindTheOthersLosesNothing)
{
	Requester r;
	r.cfg.rto = 8 * kMs;
	r.init();
	auto out = spaced(r, 40);
	const u8 fast = out[1].port;
	for (int n = 0; n < 40; n++)
		if (out[n].port == fast)
			show(r, n);
	EXPECT_EQ(r.req.n_lost, 0u);
	r.now = 10 * kMs + r.cfg.rto / 4 - 1;
	show(r, 39);
	EXPECT_EQ(r.req.n_lost, 0u);
	// The oldest packet of the silent plane was sent first of all.
	ASSERT_NE(out[0].port, fast);
	r.now += 1;
	show(r, 39);
	EXPECT_EQ(r.req.n_lost, 1u);
	EXPECT_TRUE(r.lost(r.psn(0)));
}

TEST(Lag, OneLaterArrivalOfThePlaneIsProof)
{
	Requester r;
	r.cfg.rto = 8 * kMs;
	r.init();
	auto out = spaced(r, 40);
	ASSERT_NE(out[0].port, out[1].port);
	ASSERT_EQ(out[0].port, out[4].port);
	show(r, 39);
	EXPECT_EQ(r.req.n_lost, (u32)(39 - kRange + 1) / 2); // of its plane
	EXPECT_FALSE(r.lost(r.psn(0)));
	const u32 before = r.req.n_lost;
	show(r, 4);
	// PSNs 0 and 2 only: 6 and later were sent after PSN 4.
	EXPECT_EQ(r.req.n_lost, before + 2);
	EXPECT_TRUE(r.lost(r.psn(0)));
	EXPECT_TRUE(r.lost(r.psn(2)));
	EXPECT_FALSE(r.lost(r.psn(6)));
}

// Of a packet sent twice nobody knows which copy arrived.
TEST(Lag, RetransmittedArrivalsProveNothing)
{
	Requester r;
	r.cfg.rto = 8 * kMs;
	r.init();
	auto out = spaced(r, 20);
	ASSERT_EQ(out[0].port, out[18].port);
	r.nack(r.psn(18), MRC_NACK_TRIMMED_LASTHOP, out[18].entropy);
	ASSERT_EQ(r.send().size(), 1u);
	const u8 port =
		r.paths.ev[r.req.pkt[r.psn(18) & r.req.ring_mask].ev].port;
	show(r, 18);
	EXPECT_EQ(r.req.arrived[port], 0u);
	EXPECT_EQ(r.req.n_lost, 0u);
}

TEST(Lag, LearnsApart)
{
	Requester r;
	r.cfg.rto = 8 * kMs;
	r.init();
	auto out = spaced(r, 20);
	ASSERT_EQ(out[0].port, out[2].port);
	ASSERT_NE(out[0].port, out[19].port);
	r.now = 10 * kMs + r.cfg.rto / 4;
	show(r, 19);
	ASSERT_TRUE(r.lost(r.psn(0)));
	r.send();
	r.sack({.cack = r.psn(0), .rtx = false});
	EXPECT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 1u);
	EXPECT_EQ(r.req.guard[MRC_GUARD_ORDER].ns, 0u);
	EXPECT_EQ(r.req.guard[MRC_GUARD_LAG].ns, r.cfg.rto / 2);
}

// The learnt lag holds for inference and for probes, and is forgotten.
TEST(Lag, LearntIsObeyedAndForgotten)
{
	Requester r;
	r.cfg.rto = 64 * kMs;
	r.init();
	mrc_guard &g = r.req.guard[MRC_GUARD_LAG];
	g = {10 * kMs, r.now};
	const u64 sent = r.now;
	auto out = spaced(r, 20);
	ASSERT_NE(out[0].port, out[19].port);
	r.now = sent + 10 * kMs - 1;
	show(r, 19);
	EXPECT_FALSE(r.lost(r.psn(0)));
	r.now++;
	show(r, 19);
	EXPECT_TRUE(r.lost(r.psn(0)));

	u64 last = g.ns;
	for (int i = 0; i < 40 && g.ns; i++) {
		r.now += 64 * 4 * kMs;
		show(r, 19);
		EXPECT_LT(g.ns, last);
		EXPECT_TRUE(!g.ns || g.ns > 4 * kMs);
		last = g.ns;
	}
	EXPECT_EQ(g.ns, 0u);
}

// Evidence of another plane, however much later, leaves the guard within the
// own plane as it is.
TEST(Lag, TimeGuardWithinThePlane)
{
	for (u64 apart : {25 * kUs - 1, 25 * kUs}) {
		Requester r;
		r.cfg.rto = 8 * kMs;
		r.init();
		auto first = r.send_n(1);
		r.now += apart;
		auto second = r.send_n(2);
		const int own = second[0].port == first[0].port ? 1 : 2;
		ASSERT_EQ(second[own - 1].port, first[0].port);
		r.now += 100 * kUs;
		spaced(r, 20);
		show(r, own);
		show(r, own == 1 ? 22 : 21);
		EXPECT_EQ(r.lost(r.psn(0)), apart == 25 * kUs);
	}
}

// The newest arrival of a plane counts, in whatever order they are told.
TEST(Lag, OlderArrivalsTakeNothingBack)
{
	Requester r;
	r.cfg.rto = 8 * kMs;
	r.init();
	auto out = spaced(r, 40);
	for (int n : {2, 4, 6, 8})
		ASSERT_EQ(out[n].port, out[0].port);
	show(r, 8);
	show(r, 2);
	show(r, 39);
	EXPECT_TRUE(r.lost(r.psn(0)));
	EXPECT_TRUE(r.lost(r.psn(4)));
	EXPECT_TRUE(r.lost(r.psn(6)));
	EXPECT_FALSE(r.lost(r.psn(10)));
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

// When all windows are full of a silent plane's packets no feedback comes: a
// probe asks as soon as the oldest is overdue, not after the silence.
TEST(Lag, OverdueHolesAreAskedFor)
{
	Requester r;
	r.cfg.rto = 100 * kMs;
	r.init();
	const u64 sent = r.now;
	auto out = spaced(r, 20);
	ASSERT_NE(out[0].port, out[19].port);
	show(r, 19);
	EXPECT_EQ(r.req.ripe_at, sent + 4 * kMs);
	EXPECT_EQ(mrc_req_deadline(&r.req), sent + 4 * kMs);
	u16 id = silence_probe(r);
	EXPECT_EQ(r.now, sent + 4 * kMs);
	EXPECT_NE(r.probes[0].port, out[0].port);
	r.now += 50 * kUs;
	r.sack({.cack = r.psn(-1), .base = 20, .map = 1, .probe = id});
	EXPECT_TRUE(r.lost(r.psn(0)));
}

// The same for what was sent again: its second loss is not inferred.
TEST(Lag, RetransmissionsAreConfirmed)
{
	OnePlane r;
	r.cfg.rto = 100 * kMs;
	r.init();
	spaced(r, kRange + 1);
	show(r, kRange);
	ASSERT_EQ(r.send().size(), 1u);
	EXPECT_EQ(mrc_req_deadline(&r.req), r.now + 4 * kMs);
	const u64 sent = r.now;
	// Other feedback does not put it off.
	r.now += 1 * kMs;
	show(r, kRange);
	EXPECT_EQ(mrc_req_deadline(&r.req), sent + 4 * kMs);
	u16 id = silence_probe(r);
	EXPECT_EQ(r.now, sent + 4 * kMs);
	// Once: without an answer the next one waits for the silence.
	EXPECT_GE(r.req.silence_at, r.now + 50 * kMs);
	r.now += 50 * kUs;
	r.sack({.cack = r.psn(-1), .base = 1, .map = 2, .probe = id});
	EXPECT_TRUE(r.lost(r.psn(0)));
	EXPECT_EQ(r.count(MRC_CTR_LOSS_PROBE), (u64)kRange - 1);
}

// After a timeout the peer may be gone: retries are paced by the timer alone.
TEST(Lag, TimeoutsAreNotConfirmed)
{
	OnePlane r;
	r.cfg.rto = 100 * kMs;
	r.init();
	r.send_n(1);
	r.expire();
	ASSERT_EQ(r.send().size(), 1u);
	EXPECT_EQ(r.req.confirm_at, MRC_NEVER);
}

// A port that is down explains its holes.
TEST(Lag, PortDownIsNoLag)
{
	Requester r;
	r.cfg.rto = 100 * kMs;
	r.init();
	auto out = spaced(r, 40);
	ASSERT_NE(out[0].port, out[39].port);
	show(r, 39);
	ASSERT_FALSE(r.lost(r.psn(0)));
	mrc_req_set_ports(&r.req, r.paths.ports_up & ~(1u << out[0].port),
			  r.now);
	show(r, 39);
	EXPECT_TRUE(r.lost(r.psn(0)));

	// Also what a probe reports, which is sent at once.
	Requester q;
	q.cfg.rto = 100 * kMs;
	q.init();
	out = q.send_n(2);
	q.now += 1 * kMs;
	mrc_req_set_ports(&q.req, q.paths.ports_up & ~(1u << out[0].port),
			  q.now);
	q.probes.clear();
	q.send();
	ASSERT_EQ(q.probes.size(), 1u);
	EXPECT_NE(q.probes[0].port, out[0].port);
	q.now += 50 * kUs;
	q.sack({.cack = q.psn(-1),
		.base = 2,
		.map = 1,
		.probe = q.probes[0].hdr.peth.probe_id});
	EXPECT_FALSE(q.lost(q.psn(0)));
	q.sack({.cack = q.psn(-1),
		.base = 1,
		.map = 2,
		.probe = q.probes[0].hdr.peth.probe_id});
	EXPECT_TRUE(q.lost(q.psn(0)));
}

// A silent plane does not make the guard between transmissions void: packets
// of one burst are no evidence against each other.
TEST(Lag, BurstIsNoEvidence)
{
	Requester r;
	r.cfg.rto = 100 * kMs;
	r.init();
	auto out = r.send_n(20);
	ASSERT_NE(out[0].port, out[19].port);
	r.now += 5 * kMs;
	show(r, 19);
	EXPECT_EQ(r.req.n_lost, 0u);
}

// What a probe through another plane found too early teaches the lag, and the
// next probe obeys it.
TEST(Lag, ProbesLearnAndObey)
{
	Requester r;
	r.cfg.rto = 100 * kMs;
	r.init();
	auto out = r.send_n(1);
	const u64 sent = r.now;
	u16 id = silence_probe(r);
	ASSERT_NE(r.probes[0].port, out[0].port);
	r.sack({.cack = r.psn(-1), .base = 1, .probe = id});
	ASSERT_TRUE(r.lost(r.psn(0)));
	ASSERT_EQ(r.send().size(), 1u);
	r.now += 6 * kMs;
	r.sack({.cack = r.psn(0), .rtx = false});
	ASSERT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 1u);
	const u64 learnt = r.req.guard[MRC_GUARD_LAG].ns;
	EXPECT_EQ(learnt, 10 * kMs); // 4 ms and the 6 that it was late
	EXPECT_GT(r.now, sent);

	for (u64 older : {learnt - 1, learnt}) {
		Requester q;
		q.cfg.rto = 100 * kMs;
		q.init();
		q.req.guard[MRC_GUARD_LAG] = {learnt, q.now + 100 * kMs};
		out = q.send_n(1);
		q.now = q.req.silence_at - older;
		auto late = q.send_n(2);
		id = silence_probe(q);
		const int n = late[0].port == q.probes[0].port ? 2 : 1;
		ASSERT_NE(late[n - 1].port, q.probes[0].port);
		q.sack({.cack = q.psn(-1), .base = 1, .probe = id});
		EXPECT_TRUE(q.lost(q.psn(0)));
		EXPECT_EQ(q.lost(q.psn(n)), older == learnt);
	}
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

// A tick bounds the wait where the RTO is long, the round trip where it is
// short or off.
TEST(Lag, Bounds)
{
	auto waits = [](u64 rto, u64 base_rtt) {
		Requester r;
		r.cfg.rto = rto;
		r.cfg.base_rtt = base_rtt;
		r.init();
		auto out = r.send_n(1);
		const u64 sent = r.now;
		r.now += base_rtt / 4; // beyond the guard within a plane
		auto more = r.send_n(20);
		// The plane of PSN 0 is silent from here on.
		int last = 20;
		while (more[last - 1].port == out[0].port)
			last--;
		u64 lo = 0, hi = 1000 * kMs;
		while (hi - lo > 1) {
			// A copy each: looking changes nothing.
			u64 mid = lo + (hi - lo) / 2;
			Requester t;
			t.cfg = r.cfg;
			t.cfg.ctr = &t.ctr;
			t.cfg.ctx = &t;
			t.init();
			t.send_n(1);
			t.now += base_rtt / 4;
			t.send_n(20);
			t.now = sent + mid;
			show(t, last);
			(t.lost(t.psn(0)) ? hi : lo) = mid;
		}
		return hi;
	};
	EXPECT_EQ(waits(2 * kMs, 100 * kUs), 500 * kUs);
	EXPECT_EQ(waits(16 * kMs, 100 * kUs), 4 * kMs);
	EXPECT_EQ(waits(500 * kMs, 100 * kUs), 4 * kMs);
	EXPECT_EQ(waits(500 * kMs, 9 * kMs), 9 * kMs);
	EXPECT_EQ(waits(0, 100 * kUs), 4 * kMs);
}

TEST(Loss, OncePerPsn)
{
	OnePlane r;
	r.init();
	spaced(r, kRange + 1);
	show(r, kRange);
	EXPECT_EQ(r.send().size(), 1u);
	r.now += kMs;
	spaced(r, kRange + 5);
	for (int n = kRange + 1; n < 2 * kRange + 6; n++)
		show(r, n);
	// PSN 0 was retransmitted once; its second loss is the timer's. The
	// other holes were filled.
	u64 hits = 0;
	for (const auto &l : r.losses)
		hits += l.psn == r.psn(0);
	EXPECT_EQ(hits, 1u);
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

TEST(ProbeLoss, YoungTransmissionsAreNoEvidence)
{
	OnePlane r;
	r.init();
	r.send_n(1);
	const u64 at = r.req.silence_at;
	// The reply takes 100 us: srtt 100, rttvar 50, threshold 300 us. One
	// packet is just that much older than the probe, one is younger.
	r.now = at - 300 * kUs;
	r.send_n(1);
	r.now += 1;
	r.send_n(1);
	u16 id = silence_probe(r);
	EXPECT_EQ(r.now, at);
	r.now += 100 * kUs;
	r.sack({.cack = r.psn(-1), .probe = id});
	EXPECT_TRUE(r.lost(r.psn(0)));
	EXPECT_TRUE(r.lost(r.psn(1)));
	EXPECT_FALSE(r.lost(r.psn(2)));
}

TEST(ProbeLoss, ThresholdGrowsWithTheMeasuredRtt)
{
	OnePlane r;
	r.init();
	r.send_n(1);
	r.now += 300 * kUs;
	r.sack_all(r.psn(0)); // srtt 300, rttvar 150
	r.send_n(1);
	const u64 at = r.req.silence_at;
	r.now = at - 749 * kUs;
	r.send_n(1);
	u16 id = silence_probe(r);
	r.now += 300 * kUs; // srtt 300, rttvar 112.5: threshold 750 us
	r.sack({.cack = r.psn(0), .probe = id});
	EXPECT_TRUE(r.lost(r.psn(1)));
	EXPECT_FALSE(r.lost(r.psn(2)));
}

TEST(ProbeLoss, BaseRttIsTheLeastThreshold)
{
	OnePlane r;
	r.init();
	r.send_n(1);
	const u64 at = r.req.silence_at;
	r.now = at - 99 * kUs;
	r.send_n(1);
	u16 first = silence_probe(r);
	// A second probe is the newest one, so that the first is no sample.
	r.now = r.req.silence_at;
	r.send();
	r.sack({.cack = r.psn(-1), .probe = first});
	EXPECT_EQ(r.req.srtt, 0u);
	EXPECT_TRUE(r.lost(r.psn(0)));
	EXPECT_FALSE(r.lost(r.psn(1)));
}

// A probe through another plane may overtake what is only late.
TEST(ProbeLoss, OtherPlanesMustBeOlder)
{
	OnePlane one;
	Requester two;
	two.cfg.rto = one.cfg.rto = 16 * kMs; // lag guard 4 ms
	for (Requester *r : {(Requester *)&one, &two}) {
		r->init();
		auto out = r->send_n(1);
		r->now = r->req.silence_at - 1 * kMs;
		r->send_n(2);
		u16 id = silence_probe(*r);
		r->now += 100 * kUs;
		r->sack({.cack = r->psn(-1), .probe = id});
		EXPECT_TRUE(r->lost(r->psn(0)));
		// The probe avoids the EV of the oldest packet, and so its
		// port.
		for (int n : {1, 2}) {
			const auto &pkt =
				r->req.pkt[r->psn(n) & r->req.ring_mask];
			EXPECT_EQ(r->lost(r->psn(n)),
				  r->paths.ev[pkt.ev].port ==
					  r->probes[0].port);
		}
	}
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
