// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: planes behind the others, and what asks about them.
// MRC 1.0 §9.3, §9.5, OP-22, OP-25.
#include "loss_fixture.hpp"

#include "mrc_req_priv.h"

using namespace mrc_test;

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
	const u8 port = mrc_paths_port(
		&r.paths, r.req.pkt[r.psn(18) & r.req.ring_mask].ev);
	show(r, 18);
	EXPECT_EQ(r.req.plane[port].arrived_at, 0u);
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

// A plane that takes long, or stood still before, is behind for longer before
// its holes are losses; others are not.
TEST(Lag, EachPlaneHasATimeOfItsOwn)
{
	auto waits = [](u64 srtt, u64 rttvar, u64 stall) {
		u64 lo = 0, hi = 1000 * kMs;
		while (hi - lo > 1) {
			const u64 mid = lo + (hi - lo) / 2;
			Requester r;
			r.cfg.rto = 1000 * kMs;
			r.init();
			known_rtt(r, 100 * kUs);
			const u64 sent = r.now;
			auto out = spaced(r, 40);
			int last = 39;
			while (out[last].port == out[0].port)
				last--;
			mrc_plane &pl = r.req.plane[out[0].port];
			pl.srtt = srtt;
			pl.rttvar = rttvar;
			pl.stall = {stall, sent + mid};
			r.now = sent + mid;
			show(r, last);
			(r.lost(r.psn(0)) ? hi : lo) = mid;
		}
		return hi;
	};
	EXPECT_EQ(waits(100 * kUs, 0, 0), 4 * kMs);
	EXPECT_EQ(waits(30 * kMs, 5 * kMs, 0), 70 * kMs);
	EXPECT_EQ(waits(30 * kMs, 5 * kMs, 40 * kMs), 110 * kMs);
	EXPECT_EQ(waits(1 * kMs, 0, 1 * kMs), 4 * kMs);
	// Half of an RTO is the most.
	EXPECT_EQ(waits(30 * kMs, 200 * kMs, 0), 500 * kMs);
}

// What a plane stood still is learnt from packets that took long, and half of
// it is forgotten after a second.
TEST(Lag, StandingStillIsLearntAndForgotten)
{
	Requester r;
	r.cfg.rto = 1000 * kMs;
	r.init();
	known_rtt(r, 100 * kUs);
	auto out = spaced(r, 3);
	ASSERT_EQ(out[0].port, out[2].port);
	mrc_plane &pl = r.req.plane[out[0].port];
	r.now += 10 * kMs;
	const u64 took = r.now - r.req.pkt[r.psn(0) & r.req.ring_mask].sent_at;
	show(r, 0);
	EXPECT_EQ(pl.stall.ns, took - 100 * kUs);
	EXPECT_EQ(pl.late.ns, 0u);
	EXPECT_EQ(r.req.plane[out[1].port].stall.ns, 0u);
	const u64 learnt = pl.stall.ns;
	EXPECT_EQ(mrc_req_lag_time(&r.req, out[0].port, r.now),
		  100 * kUs + 2 * learnt);
	r.now += 1000 * kMs;
	EXPECT_EQ(mrc_req_lag_time(&r.req, out[0].port, r.now),
		  100 * kUs + learnt / 2 * 2);
	r.now += 2000 * kMs;
	EXPECT_EQ(mrc_req_lag_time(&r.req, out[0].port, r.now), 4 * kMs);
	// What is within twice the usual deviation says nothing.
	pl.stall = {};
	pl.rttvar = 5000 * kMs;
	show(r, 2);
	EXPECT_EQ(pl.stall.ns, 0u);
}

// Queues of a NIC overtake each other: something later of the same plane is no
// proof before the plane's usual time, and what was late before counts twice.
TEST(Lag, OvertakenWaitsForTheUsualTimeOfItsPlane)
{
	for (u64 late : {0 * kMs, 2 * kMs}) {
		OnePlane r;
		r.cfg.rto = 100 * kMs;
		r.init();
		known_rtt(r, 1 * kMs);
		r.req.plane[1].late = {late, r.now};
		const u64 sent = r.now;
		const u64 due = sent + 1 * kMs + std::max(250 * kUs, 2 * late);
		spaced(r, kRange + 1);
		show(r, kRange);
		EXPECT_EQ(r.req.hole_due_at, due);
		r.now = due - 1;
		show(r, kRange);
		EXPECT_EQ(r.req.n_lost, 0u);
		r.now = due;
		show(r, kRange);
		EXPECT_EQ(r.req.n_lost, 1u);
		EXPECT_TRUE(r.lost(r.psn(0)));
		EXPECT_EQ(r.req.pkt[r.psn(0) & r.req.ring_mask].guard,
			  MRC_GUARD_ORDER);
	}
}

// When all windows are full of a silent plane's packets no feedback comes: a
// probe asks as soon as the oldest is overdue, not after the silence.
TEST(Lag, OverdueHolesAreAskedFor)
{
	Requester r;
	r.cfg.rto = 100 * kMs;
	r.init();
	known_rtt(r, 3300 * kUs); // silence is two of them
	r.req.base_rtt = 100 * kUs;
	const u64 sent = r.now;
	auto out = spaced(r, 20);
	ASSERT_NE(out[0].port, out[19].port);
	show(r, 19);
	EXPECT_EQ(r.req.hole_due_at, sent + 4 * kMs);
	EXPECT_EQ(mrc_req_deadline(&r.req), sent + 4 * kMs);
	u16 id = silence_probe(r);
	EXPECT_EQ(r.now, sent + 4 * kMs);
	EXPECT_NE(r.probes[0].port, out[0].port);
	r.now += 3 * kMs;
	r.sack({.cack = r.psn(-1), .base = 20, .map = 1, .probe = id});
	EXPECT_TRUE(r.lost(r.psn(0)));
}

// The same for what was sent again: its second loss is not inferred.
TEST(Lag, RetransmissionsAreConfirmed)
{
	OnePlane r;
	r.cfg.rto = 100 * kMs;
	r.init();
	known_rtt(r, 3100 * kUs);
	r.req.base_rtt = 100 * kUs;
	const u64 first = r.now;
	spaced(r, kRange + 1);
	show(r, kRange);
	ASSERT_EQ(r.req.n_lost, 0u);
	r.now = first + 3875 * kUs; // a round trip and a quarter
	show(r, kRange);
	ASSERT_EQ(r.send().size(), 1u);
	EXPECT_EQ(r.req.confirm_at, r.now + 4 * kMs);
	const u64 sent = r.now;
	// Other feedback does not put it off.
	r.now += 1 * kMs;
	show(r, kRange);
	EXPECT_EQ(mrc_req_deadline(&r.req), sent + 4 * kMs);
	u16 id = silence_probe(r);
	EXPECT_EQ(r.now, sent + 4 * kMs);
	// Once: without an answer the next one waits for the silence.
	EXPECT_GE(r.req.tail_probe_at, r.now + 6 * kMs);
	r.now += 3100 * kUs;
	r.sack({.cack = r.psn(-1), .base = 1, .map = 1 << kRange, .probe = id});
	EXPECT_TRUE(r.lost(r.psn(0)));
	EXPECT_EQ(r.count(MRC_CTR_LOSS_PROBE), (u64)kRange);
}

// In a stream a probe may overtake what is out, in its own plane, too.
TEST(Lag, ProbesOfAStreamWaitForThePlane)
{
	for (int n : {kRange, kRange + 1}) {
		OnePlane r;
		r.cfg.rto = 100 * kMs;
		r.init();
		known_rtt(r, 100 * kUs);
		r.send_n(n);
		const u64 sent = r.now;
		r.now += 1 * kMs;
		const u16 id = probe_at_once(r);
		r.now += 100 * kUs;
		r.sack({.cack = r.psn(-1),
			.base = 1,
			.map = 1ull << (n - 1),
			.probe = id});
		EXPECT_EQ(r.lost(r.psn(0)), n == kRange);
		if (n == kRange)
			continue;
		// A probe that leaves when the plane should have answered
		// tells.
		r.now = sent + 4 * kMs;
		const u16 later = probe_at_once(r);
		r.now += 100 * kUs;
		r.sack({.cack = r.psn(-1),
			.base = 1,
			.map = 1ull << (n - 1),
			.probe = later});
		EXPECT_TRUE(r.lost(r.psn(0)));
	}
}

// A packet that was refused and sent again is younger than the holes above it. While
// these wait for their plane, it is still checked.
TEST(Lag, YoungHolesAreLookedAtAgain)
{
	Requester r;
	r.init();
	auto out = spaced(r, kRange + 6);
	r.nack(r.psn(0), MRC_NACK_TRIMMED, out[0].entropy);
	const auto copy = r.send();
	ASSERT_EQ(copy.size(), 1u);
	const u8 port = copy[0].port;
	auto deliver = [&](size_t from) {
		for (size_t n = from; n < out.size(); n++)
			if (out[n].port == port)
				show(r, (s64)n);
	};
	deliver(1);
	EXPECT_FALSE(r.lost(r.psn(0)));
	r.now += 30 * kUs;
	const size_t more = out.size();
	for (const auto &d : spaced(r, 4))
		out.push_back(d);
	deliver(more);
	EXPECT_TRUE(r.lost(r.psn(0)));
	EXPECT_EQ(r.count(MRC_CTR_LOSS_SACK), 1u);
}

// Copies of inferred losses that were overtaken in other planes wait for their
// own one. They are not looked at again until they are ripe, it delivers, or is
// down.
TEST(Lag, CopiesWaitForTheirPlane)
{
	enum { RIPE, DELIVERS, DOWN, ENDS };
	for (int end = 0; end < ENDS; end++) {
		Requester r;
		r.cfg.rto = 8 * kMs;
		r.cfg.sq_depth = 128;
		r.init();
		spaced(r, 40);
		show(r, 39);
		show(r, 4);
		ASSERT_TRUE(r.lost(r.psn(0)));
		auto copies = r.send();
		ASSERT_EQ(copies[0].hdr.psn, r.psn(0));
		const u8 slow = copies[0].port;
		const u64 ripe = r.now + r.cfg.rto / 4;
		r.now += 30 * kUs;
		auto more = spaced(r, kRange + 4);
		int late = 0;
		for (int n = 0; n < kRange + 4; n++) {
			if (more[n].port != slow)
				show(r, 40 + n);
			else
				late = 40 + n;
		}
		ASSERT_FALSE(r.lost(r.psn(0)));
		EXPECT_FALSE(r.req.again);
		EXPECT_EQ(r.req.again_ports, 1u << slow);
		EXPECT_EQ(r.req.again_at, ripe);
		switch (end) {
		case RIPE:
			r.now = ripe - 1;
			show(r, 39);
			ASSERT_FALSE(r.lost(r.psn(0)));
			r.now++;
			show(r, 39);
			break;
		case DELIVERS:
			ASSERT_NE(late, 0);
			show(r, late);
			break;
		case DOWN:
			mrc_req_set_ports(&r.req,
					  r.paths.ports_up & ~(1u << slow),
					  r.now);
			show(r, 39);
			break;
		}
		EXPECT_TRUE(r.lost(r.psn(0))) << end;
		EXPECT_EQ(r.req.again_at, MRC_NEVER);
	}
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
	known_rtt(r, 100 * kUs);
	auto out = r.send_n(1);
	const u64 sent = r.now;
	u16 id = silence_probe(r);
	ASSERT_NE(r.probes[0].port, out[0].port);
	r.now += 100 * kUs;
	r.sack({.cack = r.psn(-1), .base = 1, .probe = id});
	ASSERT_TRUE(r.lost(r.psn(0)));
	ASSERT_EQ(r.send().size(), 1u);
	r.now += 6 * kMs;
	r.sack({.cack = r.psn(0), .rtx = false});
	ASSERT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 1u);
	const u64 learnt = r.req.guard[MRC_GUARD_TAIL].ns;
	// A quarter of a round trip, and the 6 ms that it was late.
	EXPECT_EQ(learnt, 6 * kMs + 25 * kUs);
	EXPECT_GT(r.now, sent);

	// A round trip, what was learnt, and the floor.
	const u64 least = 100 * kUs + learnt + 100 * kUs;
	for (u64 older : {least - 1, least}) {
		Requester q;
		q.cfg.rto = 100 * kMs;
		q.init();
		known_rtt(q, 100 * kUs);
		q.req.guard[MRC_GUARD_TAIL] = {learnt, q.now + 100 * kMs};
		q.send_n(1);
		q.now += older;
		id = probe_at_once(q);
		q.now += 100 * kUs;
		q.sack({.cack = q.psn(-1), .base = 1, .probe = id});
		EXPECT_EQ(q.lost(q.psn(0)), older == least);
	}
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
