// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: lone messages and the ends of bursts. MRC 1.0 §9.3, §9.5.
#include "loss_fixture.hpp"

#include <algorithm>
#include <map>

using namespace mrc_test;

namespace
{

constexpr u64 kRtt = 100 * kUs;
constexpr u64 kFloor = 100 * kUs;

struct Known : Requester {
	explicit Known(u64 rto = 100 * kMs)
	{
		cfg.rto = rto;
		init();
		known_rtt(*this, kRtt);
	}
	// All packets up to number n arrived, as SACKs of each tell.
	void heard(s64 n)
	{
		now += kRtt;
		for (s64 i = 0; i <= n; i++)
			sack_all(psn(i));
	}
};

} // namespace

TEST(Tail, ProbeAfterTwoRoundTripsWhateverTheTimeout)
{
	for (u64 rto : {10 * kMs, 1000 * kMs, 17000 * kMs, u64{0}}) {
		Known r(rto);
		auto out = r.send_n(3);
		EXPECT_EQ(mrc_req_deadline(&r.req), r.now + 2 * kRtt + kFloor);
		r.now = mrc_req_deadline(&r.req);
		r.send();
		ASSERT_EQ(r.probes.size(), 1u);
		EXPECT_NE(r.probes[0].port, out[0].port);
	}
}

// Round trips that vary need more.
TEST(Tail, DeviationCounts)
{
	Known r;
	r.req.rttvar = 40 * kUs;
	for (u8 p = 1; p <= r.paths.n_ports; p++)
		r.req.plane[p].rttvar = 60 * kUs;
	mrc_req_slowest_update(&r.req);
	r.send_n(1);
	// The smaller of a plane's own and that of all.
	EXPECT_EQ(mrc_req_deadline(&r.req),
		  r.now + kRtt + 4 * 40 * kUs + kFloor);
}

TEST(Tail, NewPacketsPutItOff)
{
	Known r;
	r.send_n(1);
	r.now += 150 * kUs;
	r.send_n(1);
	const u64 due = r.now + 2 * kRtt + kFloor;
	r.now = mrc_req_deadline(&r.req);
	r.deadline();
	EXPECT_TRUE(r.send().empty());
	EXPECT_TRUE(r.probes.empty());
	EXPECT_EQ(mrc_req_deadline(&r.req), due);
}

// A SACK shows the hole: it is asked for when it has had a round trip and a
// quarter, and the floor; one probe for all that were sent about then.
TEST(Tail, HolesAreAskedFor)
{
	Known r;
	const u64 sent = r.now;
	r.send_n(6);
	r.now += kRtt;
	// 1, 2 and 5 arrived.
	r.sack({.cack = r.psn(-1), .base = 1, .map = 0x26, .probe = 60000});
	const u64 ripe = kRtt * 5 / 4 + kFloor;
	EXPECT_EQ(mrc_req_deadline(&r.req), sent + ripe + ripe / 16);
	r.now = mrc_req_deadline(&r.req);
	r.deadline();
	r.send();
	ASSERT_EQ(r.probes.size(), 1u);
	r.now += kRtt;
	r.sack({.cack = r.psn(-1),
		.base = 1,
		.map = 0x26,
		.probe = r.probes[0].hdr.peth.probe_id});
	for (s64 n : {0, 3, 4})
		EXPECT_TRUE(r.lost(r.psn(n))) << n;
	EXPECT_EQ(r.count(MRC_CTR_LOSS_PROBE), 3u);
	EXPECT_EQ(r.send().size(), 3u);
	EXPECT_EQ(r.req.retries, 0u);
}

// Losses that the first SACK of a reply shows make the window smaller. With the
// smaller window the packets under way are many, but the probe was sent when
// they were few.
TEST(Tail, TheWindowAtTheProbeCounts)
{
	Known r;
	r.req.cc->cwnd *= 16;
	r.write(70 * 256);
	r.send();
	r.now += kRtt;
	r.sack({.cack = r.psn(-1), .base = 65, .map = 0x2f, .probe = 60000});
	r.sack({.cack = r.psn(-1),
		.base = 1,
		.map = ~(1ull << 3),
		.probe = 60000});
	r.now = mrc_req_deadline(&r.req);
	r.deadline();
	r.send();
	ASSERT_EQ(r.probes.size(), 1u);
	const int id = r.probes[0].hdr.peth.probe_id;
	r.now += kRtt;
	r.sack({.cack = r.psn(-1), .base = 1, .map = ~(1ull << 3), .probe = id});
	EXPECT_TRUE(r.lost(r.psn(3)));
	r.req.cc->cwnd /= 16;
	r.sack({.cack = r.psn(-1), .base = 65, .map = 0x2f, .probe = id});
	EXPECT_TRUE(r.lost(r.psn(68)));
}

namespace
{

// Sends packets through the only plane, and all of them arrive in order.
void in_order(OnePlane &r, u32 n)
{
	for (u32 i = 0; i < n; i += 8) {
		const u32 from = r.req.next_psn;

		r.send_n(8);
		r.now += kRtt;
		for (u32 k = 0; k < 8; k++)
			r.sack_all(mrc_psn_add(from, (s32)k));
		r.ack(mrc_psn_add(from, 7));
		r.reap();
	}
}

} // namespace

// Of a plane that keeps the order of packets a later one tells, without a
// probe.
TEST(Tail, OvertakenWhereOrderIsKeptIsLost)
{
	for (u32 n : {64u, 400u}) {
		OnePlane r;
		r.cfg.rto = 100 * kMs;
		r.init();
		known_rtt(r, kRtt);
		in_order(r, n);
		const u32 first = r.req.next_psn;
		r.send_n(3);
		r.now += kRtt + kRtt / 2;
		r.sack({.cack = mrc_psn_add(first, -1),
			.base = 1,
			.map = 6,
			.probe = 60000});
		// Too few have shown that the plane keeps order.
		EXPECT_EQ(r.lost(first), n == 400) << n;
		EXPECT_EQ(r.count(MRC_CTR_LOSS_SACK), n == 400 ? 1u : 0u);
		EXPECT_TRUE(r.probes.empty());
	}
}

// One packet that others overtook makes a probe necessary again.
TEST(Tail, OvertakenOnceIsAskedFor)
{
	OnePlane r;
	r.cfg.rto = 100 * kMs;
	r.init();
	known_rtt(r, kRtt);
	in_order(r, 400);
	u32 first = r.req.next_psn;
	r.send_n(2);
	r.now += kRtt;
	r.sack({.cack = mrc_psn_add(first, -1),
		.base = 2,
		.map = 1,
		.probe = 60000});
	r.sack_all(first);
	r.ack(mrc_psn_add(first, 1));
	r.reap();
	first = r.req.next_psn;
	r.send_n(3);
	r.now += kRtt + kRtt / 2;
	r.sack({.cack = mrc_psn_add(first, -1),
		.base = 1,
		.map = 6,
		.probe = 60000});
	EXPECT_FALSE(r.lost(first));
}

// What arrives before that is not asked for.
TEST(Tail, LateIsNotLost)
{
	Known r;
	r.send_n(4);
	r.now += kRtt;
	r.sack({.cack = r.psn(-1), .base = 2, .map = 7, .probe = 60000});
	r.now += 20 * kUs;
	r.sack_all(r.psn(3));
	r.ack(r.psn(3));
	EXPECT_EQ(mrc_req_deadline(&r.req), MRC_NEVER);
	EXPECT_TRUE(r.probes.empty());
	EXPECT_EQ(r.req.n_lost, 0u);
}

// A packet that others overtook teaches how late its plane can be.
TEST(Tail, OvertakenPacketsWidenTheWindow)
{
	OnePlane r;
	r.cfg.rto = 100 * kMs;
	r.init();
	known_rtt(r, kRtt);
	r.send_n(2);
	r.now += kRtt;
	r.sack({.cack = r.psn(-1), .base = 2, .map = 1, .probe = 60000});
	r.now += 60 * kUs;
	r.sack_all(r.psn(1));
	EXPECT_EQ(r.req.plane[1].late.ns, 60 * kUs);
	r.ack(r.psn(1));
	const u64 least = kRtt + 2 * 60 * kUs + kFloor;
	r.send_n(1);
	r.now += least - 1;
	u16 id = probe_at_once(r);
	r.now += kRtt;
	r.sack({.cack = r.psn(1), .probe = id});
	EXPECT_FALSE(r.lost(r.psn(2)));
	r.send();
	id = probe_at_once(r);
	r.now += kRtt;
	r.sack({.cack = r.psn(1), .probe = id});
	EXPECT_TRUE(r.lost(r.psn(2)));
}

// Nothing that is asked for and not answered is asked for all the time.
TEST(Tail, UnansweredQuestionsWaitForSilence)
{
	Known r;
	r.send_n(4);
	r.now += kRtt;
	r.sack({.cack = r.psn(-1), .base = 2, .map = 7, .probe = 60000});
	u64 last = r.now;
	for (int i = 0; i < 8; i++) {
		r.now = mrc_req_deadline(&r.req);
		r.probes.clear();
		r.deadline();
		r.send();
		ASSERT_LE(r.probes.size(), 1u);
		if (r.probes.empty())
			continue;
		if (i > 1) {
			EXPECT_GE(r.now - last, 2 * kRtt << (i - 1)) << i;
		}
		last = r.now;
	}
}

// Only the transport ACK is missing: a probe cannot ask for it, the newest
// packet can. No retry is charged.
TEST(Tail, MissingTransportAckIsAskedForByTheNewestPacket)
{
	Known r;
	const u64 sent = r.now;
	r.send_n(2);
	r.heard(1);
	EXPECT_EQ(r.now, sent + kRtt);
	EXPECT_EQ(mrc_req_deadline(&r.req), r.now + kFloor / 2);
	r.now = mrc_req_deadline(&r.req);
	r.deadline();
	auto out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(1));
	EXPECT_TRUE(out[0].hdr.a);
	EXPECT_TRUE(out[0].hdr.rtx);
	EXPECT_TRUE(r.probes.empty());
	EXPECT_EQ(r.req.retries, 0u);
	EXPECT_EQ(r.count(MRC_CTR_RTX_LAST_PSN), 1u);
	// And again after twice the time.
	EXPECT_GE(mrc_req_deadline(&r.req), r.now + 2 * (2 * kRtt + kFloor));
	r.ack(r.psn(1));
	EXPECT_EQ(mrc_req_deadline(&r.req), MRC_NEVER);
}

// How late a transport ACK was is remembered; twice as late is not asked for.
TEST(Tail, LateTransportAcksAreLearnt)
{
	Known r;
	const u64 late = kFloor / 4;
	r.send_n(2);
	r.heard(1);
	r.now += late;
	r.ack(r.psn(1));
	EXPECT_EQ(mrc_req_deadline(&r.req), MRC_NEVER);
	r.send_n(2);
	r.heard(3);
	EXPECT_EQ(mrc_req_deadline(&r.req), r.now + kFloor / 2 + 2 * late);
	// It was asked for, but this one is too early to be the answer.
	r.now = mrc_req_deadline(&r.req);
	r.deadline();
	EXPECT_EQ(r.send().size(), 1u);
	r.now += kRtt / 2;
	const u64 later = kFloor / 2 + 2 * late + kRtt / 2;
	r.ack(r.psn(3));
	r.send_n(2);
	r.heard(5);
	EXPECT_EQ(mrc_req_deadline(&r.req),
		  std::min(r.now + kFloor / 2 + 2 * later, r.now + kRtt + kFloor));
	// The answer itself says nothing: the ACK before may have been lost.
	r.now = mrc_req_deadline(&r.req);
	r.deadline();
	EXPECT_EQ(r.send().size(), 1u);
	r.now += 10 * kRtt;
	r.ack(r.psn(5));
	EXPECT_LE(r.req.tack_lag.ns, later);
}

// A peer that is gone is noticed all the same.
TEST(Tail, AskingForTransportAcksDoesNotPutOffTheTimer)
{
	Known r(10 * kMs);
	r.req.cfg.linear_cnt = 2;
	r.req.cfg.exp_cnt = 0;
	const u64 sent = r.now;
	r.send_n(2);
	r.heard(1);
	while (r.req.state == MRC_REQ_READY) {
		ASSERT_LT(r.now - sent, 100 * kMs);
		r.now = mrc_req_deadline(&r.req);
		r.deadline();
		r.send();
	}
	EXPECT_GE(r.now - sent, 3 * 10 * kMs);
	EXPECT_EQ(r.count(MRC_CTR_RTO), 3u);
}

// A port that goes down asks for nothing that has arrived.
TEST(Tail, PortEventsDoNotResendTheNewestPacket)
{
	Known r;
	r.send_n(2);
	r.heard(1);
	mrc_req_set_ports(&r.req, 1u << 2, r.now);
	EXPECT_TRUE(r.send().empty());
	EXPECT_TRUE(r.probes.empty());
}

// MRC 1.0 §9.1: the copy goes through another plane.
TEST(Tail, CopiesAvoidThePlaneOfTheLoss)
{
	for (int i = 0; i < 20; i++) {
		Known r;
		auto out = r.send_n(i % 2 + 1);
		u16 id = silence_probe(r);
		r.now += kRtt;
		r.sack({.cack = r.psn(-1), .probe = id});
		auto copies = r.send();
		ASSERT_EQ(copies.size(), out.size());
		for (std::size_t k = 0; k < out.size(); k++)
			EXPECT_NE(copies[k].port, out[k].port);
	}
	// Unless there is no other.
	OnePlane r;
	r.init();
	known_rtt(r, kRtt);
	r.send_n(1);
	u16 id = silence_probe(r);
	r.now += kRtt;
	r.sack({.cack = r.psn(-1), .probe = id});
	EXPECT_EQ(r.send().size(), 1u);
}

// The reply that told of the loss ends the silence: the loss of the copy is
// found as fast.
TEST(Tail, LostCopiesAreFoundAsFast)
{
	Known r;
	r.send_n(1);
	for (int i = 0; i < 4; i++) {
		const u64 sent = r.now;
		u16 id = silence_probe(r);
		EXPECT_EQ(r.now - sent, 2 * kRtt + kFloor) << i;
		r.now += kRtt;
		r.sack({.cack = r.psn(-1), .probe = id});
		ASSERT_EQ(r.send().size(), 1u) << i;
	}
	EXPECT_EQ(r.count(MRC_CTR_LOSS_PROBE), 4u);
	EXPECT_EQ(r.count(MRC_CTR_RTO), 0u);
}

// A SACK that was overtaken by a newer one shows holes that are none.
TEST(Tail, StaleSacksShowNothing)
{
	Known r;
	r.send_n(4);
	r.now += kRtt;
	r.sack({.cack = r.psn(-1), .base = 2, .map = 5, .probe = 60000,
		.rcvd = 20});
	EXPECT_NE(r.req.tail_at, MRC_NEVER);
	Known q;
	q.send_n(4);
	q.now += kRtt;
	q.sack({.cack = q.psn(-1), .probe = 60000, .rcvd = 20});
	q.sack({.cack = q.psn(-1), .base = 2, .map = 5, .probe = 60000,
		.rcvd = 10});
	EXPECT_EQ(q.req.tail_at, MRC_NEVER);
}

// RTTs are kept by plane, by that of the packet that the SACK names.
TEST(Tail, PlanesHaveTheirOwnRoundTrips)
{
	Requester r;
	r.cfg.rto = 100 * kMs;
	r.init();
	std::map<u8, u64> took;
	for (int i = 0; i < 40; i++) {
		auto out = r.send_n(1);
		r.now += out[0].port * 10 * kUs;
		took[out[0].port] = out[0].port * 10 * kUs;
		r.sack_all(r.psn(i));
		r.ack(r.psn(i));
		r.reap();
	}
	ASSERT_GT(took.size(), 1u);
	for (auto [port, rtt] : took)
		EXPECT_EQ(r.req.plane[port].srtt, rtt) << (int)port;
}

// The reply to a tail probe is a sample too, once, although the peer may send several.
TEST(Tail, RepliesToProbesAreSamples)
{
	Requester r;
	r.cfg.use_ts = false;
	r.init();
	r.send_n(1);
	r.now = mrc_req_deadline(&r.req);
	r.send();
	ASSERT_EQ(r.probes.size(), 1u);
	const u8 port = r.probes[0].port;
	const s32 id = r.probes[0].hdr.peth.probe_id;
	for (int i = 0; i < 2; i++) {
		r.now += kRtt;
		r.sack({.cack = r.psn(-1), .probe = id});
		EXPECT_EQ(r.req.samples, 1u);
		EXPECT_EQ(r.req.srtt, kRtt);
		EXPECT_EQ(r.req.plane[port].srtt, kRtt);
	}
}

namespace
{

// Two planes, and the SACKs name packets of the second one only.
struct OneTrigger : Requester {
	OneTrigger()
	{
		cfg.rto = 100 * kMs;
		init();
		for (int i = 0; i < 70; i++) {
			const auto out = both();

			now += kRtt;
			heard(out);
			ack(out[1].hdr.psn);
			reap();
		}
	}
	std::vector<mrc_tx_desc> both()
	{
		auto out = send_n(2);

		EXPECT_NE(out.at(0).port, out.at(1).port);
		return out;
	}
	void heard(const std::vector<mrc_tx_desc> &out)
	{
		const u32 last = out[1].hdr.psn;
		const u32 named = out[out[0].port == 2 ? 0 : 1].hdr.psn;

		sack({.cack = last, .ack = mrc_psn_diff(named, last)});
	}
};

} // namespace

// Until a plane has a sample, the time in which its packets are known to arrive bounds
// its RTT.
TEST(Tail, ArrivalsBoundTheRoundTripOfAPlaneWithoutSample)
{
	OneTrigger r;
	EXPECT_EQ(r.req.plane[1].srtt, 0u);
	EXPECT_EQ(r.req.plane[1].bound, kRtt);
	EXPECT_EQ(r.req.plane[2].srtt, kRtt);
	// The transport ACK is missing.
	const u64 sent = r.now;
	const auto out = r.both();
	r.now += kRtt;
	r.heard(out);
	EXPECT_EQ(mrc_req_deadline(&r.req), sent + 2 * kRtt + kFloor);
	r.ack(out[1].hdr.psn);
	r.reap();
	// A packet of that plane is missing. Later arrivals do not make the bound longer.
	const u64 again = r.now;
	const auto more = r.both();
	const bool first = more[0].port == 1;
	r.now += 2 * kRtt;
	const u32 cack = mrc_psn_add(more[0].hdr.psn, first ? -1 : 0);
	r.sack({.cack = cack, .base = 1, .map = first ? 2u : 0u, .probe = 60000});
	EXPECT_EQ(r.req.plane[1].bound, kRtt);
	r.now = mrc_req_deadline(&r.req);
	r.deadline();
	r.send();
	ASSERT_EQ(r.probes.size(), 1u);
	EXPECT_LE(r.now, again + 3 * kRtt + kFloor + kRtt / 2);
	r.now += kRtt;
	r.sack({.cack = cack,
		.base = 1,
		.map = first ? 2u : 0u,
		.probe = r.probes[0].hdr.peth.probe_id});
	EXPECT_EQ(r.count(MRC_CTR_LOSS_PROBE), 1u);
}

// A copy that arrives may be the first or the second one: its time bounds nothing.
TEST(Tail, CopiesBoundNothing)
{
	OnePlane r;
	r.init();
	r.send_n(1);
	r.now += kRtt;
	r.nack(r.psn(0), MRC_NACK_NO_RESOURCE, 0);
	r.now = std::max(r.now, mrc_req_deadline(&r.req));
	ASSERT_EQ(r.send().size(), 1u);
	r.now += kRtt;
	r.sack({.cack = r.psn(0), .probe = 60000});
	EXPECT_EQ(r.req.plane[1].bound, 0u);
}

// What is kept for each plane takes memory for the planes that there are.
TEST(Tail, MemoryIsThatOfThePlanes)
{
	Requester r;
	const size_t most = mrc_req_mem(&r.cfg);
	r.cfg.n_ports = 2;
	EXPECT_EQ(mrc_req_mem(&r.cfg),
		  most - (MRC_MAX_PORTS - 2) * sizeof(mrc_plane));
	EXPECT_EQ(r.init(), 0);
	r.cfg.n_ports = 1; // and the paths have two
	EXPECT_EQ(r.init(), -EINVAL);
	r.cfg.n_ports = MRC_MAX_PORTS + 1;
	EXPECT_EQ(mrc_req_mem(&r.cfg), 0u);
}

// The timer is exact while deadlines are due at its expiries. Later it may be late by an
// eighth of the time without one, and by about a millisecond at most.
TEST(TimerGrid, GrowsWithTheTimeWithoutADueDeadline)
{
	EXPECT_EQ(mrc_req_timer_grid(0), 0u);
	EXPECT_EQ(mrc_req_timer_grid(200 * kUs), 0u);
	u32 last = 0;
	for (u64 calm = 1; calm < 3600 * 1000 * kMs; calm += calm / 7 + 1) {
		const u32 grid = mrc_req_timer_grid(calm);
		EXPECT_EQ(grid & (grid - 1), 0u) << calm;
		EXPECT_LE(grid, calm / 8) << calm;
		EXPECT_LE(grid, 1u << 20) << calm;
		EXPECT_GE(grid, last) << calm;
		// No more exact than needed: each exact timer costs an interrupt.
		if (calm >= 8ull << 15)
			EXPECT_GT(2 * grid, std::min<u64>(calm / 8, 1 << 20)) << calm;
		last = grid;
	}
	EXPECT_EQ(last, 1u << 20);
	EXPECT_EQ(mrc_req_timer_grid(MRC_NEVER), 1u << 20);
}
