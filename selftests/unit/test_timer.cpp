// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: retry schedule, budget, probes.
// MRC 1.0 §9.4, §9.5.
#include "engine_fixture.hpp"

using namespace mrc_test;

using Done = std::vector<std::pair<u32, mrc_wc_status>>;

namespace
{

mrc_req_cfg timer_cfg(u64 rto, u8 linear, u8 exp)
{
	mrc_req_cfg c{};
	c.rto = rto;
	c.linear_cnt = linear;
	c.exp_cnt = exp;
	return c;
}

} // namespace

TEST(Interval, TwoPhases)
{
	auto c = timer_cfg(4 * kMs, 3, 7);
	const u64 want[] = {4, 4, 4, 8, 16, 32, 64, 128, 256, 512, 512, 512};
	for (u32 k = 1; k <= 12; k++)
		EXPECT_EQ(mrc_req_interval(&c, k), want[k - 1] * kMs) << k;
}

TEST(Interval, NoLinearPhase)
{
	auto c = timer_cfg(kMs, 0, 2);
	EXPECT_EQ(mrc_req_interval(&c, 1), 2 * kMs);
	EXPECT_EQ(mrc_req_interval(&c, 2), 4 * kMs);
	EXPECT_EQ(mrc_req_interval(&c, 3), 4 * kMs);
}

TEST(Interval, NoExponentialPhase)
{
	auto c = timer_cfg(kMs, 7, 0);
	for (u32 k = 1; k <= 9; k++)
		EXPECT_EQ(mrc_req_interval(&c, k), kMs);
}

TEST(Interval, CapAndOverflow)
{
	auto c = timer_cfg(MRC_RTO_MAX_NS, 7, MRC_RETRY_EXP_INFINITE);
	EXPECT_EQ(mrc_req_interval(&c, 1), MRC_RTO_MAX_NS);
	EXPECT_EQ(mrc_req_interval(&c, 0xFFFFFFFF), MRC_RTO_MAX_NS);
	c.rto = ~0ull;
	EXPECT_EQ(mrc_req_interval(&c, 1), MRC_RTO_MAX_NS);
	c = timer_cfg(1024, 0, MRC_RETRY_EXP_INFINITE);
	EXPECT_EQ(mrc_req_interval(&c, 24), 1024ull << 24);
	EXPECT_EQ(mrc_req_interval(&c, 25), MRC_RTO_MAX_NS);
	EXPECT_EQ(mrc_req_interval(&c, 1000000), MRC_RTO_MAX_NS);
}

// RTO = 1.024 us * 2^timeout, for the timeouts that the spec tabulates.
TEST(Interval, TabulatedTimeouts)
{
	const std::pair<int, u64> table[] = {
		{4, 16384},	 {6, 65536},	   {8, 262144},
		{10, 1048576},	 {12, 4194304},	   {14, 16777216},
		{17, 134217728}, {24, 17179869184}};
	for (auto [t, ns] : table) {
		auto c = timer_cfg(1024ull << t, 1, 0);
		EXPECT_EQ(mrc_req_interval(&c, 1), ns);
	}
}

TEST(Timer, FullScheduleUntilTheBudgetIsSpent)
{
	Requester r;
	r.cfg.linear_cnt = 2;
	r.cfg.exp_cnt = 3;
	r.init();
	r.send_n(1);
	r.write(1);
	u64 sent = r.now;
	const u64 ms[] = {4, 4, 8, 16, 32};
	for (int k = 0; k < 5; k++) {
		EXPECT_EQ(r.req.timer_at, sent + ms[k] * kMs) << k;
		r.now = sent + ms[k] * kMs - 1;
		r.deadline();
		EXPECT_EQ(r.req.n_lost, 0u);
		r.now++;
		r.deadline();
		EXPECT_EQ(r.req.retries, k + 1u);
		auto out = r.send();
		ASSERT_GE(out.size(), 1u);
		EXPECT_EQ(out[0].hdr.psn, r.psn(0));
		EXPECT_TRUE(out[0].hdr.rtx);
		sent = r.now;
	}
	r.now = sent + 32 * kMs - 1;
	r.deadline();
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.now++;
	r.deadline();
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
	EXPECT_EQ(r.count(MRC_CTR_RETRY_EXC), 1u);
	EXPECT_EQ(r.count(MRC_CTR_RTO), 6u);
	EXPECT_EQ(r.req.stat_timeouts, 6u);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_RETRY_EXC}, {1, MRC_WC_FLUSH}}));
}

TEST(Timer, NoRetriesAtAll)
{
	Requester r;
	r.cfg.linear_cnt = 0;
	r.cfg.exp_cnt = 0;
	r.init();
	r.send_n(1);
	EXPECT_EQ(r.req.timer_at, r.now + 4 * kMs);
	r.expire();
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
}

TEST(Timer, InfiniteRetries)
{
	Requester r;
	r.cfg.rto = 1024;
	r.cfg.exp_cnt = MRC_RETRY_EXP_INFINITE;
	r.init();
	r.send_n(1);
	for (int k = 0; k < 200; k++) {
		r.expire();
		r.send();
		ASSERT_EQ(r.req.state, MRC_REQ_READY);
	}
	EXPECT_EQ(r.req.retries, 200u);
	EXPECT_EQ(r.req.timer_at, r.now + MRC_RTO_MAX_NS);
}

// A round trip of three retry intervals: once it is known, packets are given time to be
// answered, and what is really lost is still found by the timer.
TEST(Timer, LongerRoundTripsLengthenTheInterval)
{
	Requester r;
	r.cfg.rto = kMs;
	r.init();
	const u64 rtt = 3 * kMs;
	for (int n = 0; n < 20; n++) {
		auto out = r.send_n(1);
		ASSERT_EQ(out.size(), 1u) << n;
		EXPECT_EQ(out[0].hdr.psn, r.psn(n));
		const u64 back = r.now + rtt;
		const u64 lost = r.count(MRC_CTR_LOSS_TIMEOUT);
		while (mrc_req_deadline(&r.req) < back) {
			r.now = std::max(r.now, mrc_req_deadline(&r.req));
			r.deadline();
			out = r.send();
			// The first packet cannot know.
			EXPECT_TRUE(!n || out.empty()) << n;
		}
		r.now = back;
		r.sack({.cack = r.psn(n), .tstamp = (u16)((back - rtt) >> 7)});
		r.ack(r.psn(n));
		r.send();
		if (n)
			EXPECT_EQ(r.count(MRC_CTR_LOSS_TIMEOUT), lost) << n;
	}
	EXPECT_GE(r.req.srtt, rtt - 128);
	EXPECT_LE(r.req.srtt, rtt + 128);
	EXPECT_LE(r.count(MRC_CTR_LOSS_TIMEOUT), 3u);

	const u64 lost = r.count(MRC_CTR_LOSS_TIMEOUT), sent = r.now;
	r.send_n(1);
	EXPECT_GE(r.req.timer_at, sent + 2 * rtt);
	EXPECT_LT(r.req.timer_at, sent + 8 * rtt);
	r.expire();
	r.expire();
	EXPECT_EQ(r.count(MRC_CTR_LOSS_TIMEOUT), lost + 1);
}

TEST(Timer, ZeroMeansNone)
{
	Requester r;
	r.cfg.rto = 0;
	r.init();
	r.send_n(2);
	EXPECT_EQ(r.req.timer_at, MRC_NEVER);
	r.now += 100000 * kMs;
	r.deadline();
	EXPECT_EQ(r.req.n_lost, 0u);
	EXPECT_EQ(r.count(MRC_CTR_RTO), 0u);
}

TEST(Timer, ExpiryToldToPathsAndCongestionControl)
{
	Requester r;
	r.init();
	auto out = r.send_n(2);
	r.expire();
	EXPECT_EQ(r.count(MRC_CTR_LOSS_TIMEOUT), 2u);
	EXPECT_EQ(r.ev(out[0].ev).state, MRC_EV_ASSUMED_BAD);
	EXPECT_EQ(r.ev(out[1].ev).state, MRC_EV_ASSUMED_BAD);
	EXPECT_EQ(r.rec.lost.size(), 2u);
	ASSERT_EQ(r.losses.size(), 2u);
	EXPECT_EQ(r.losses[0].cause, MRC_LOSS_TIMEOUT);
	EXPECT_EQ(r.losses[0].psn, r.psn(0));
	EXPECT_EQ(r.losses[0].ev, out[0].ev);
}

TEST(Timer, LossOnADeadPortIsNotThePathsFault)
{
	Requester r;
	r.init();
	auto out = r.send_n(2);
	mrc_req_set_ports(&r.req, 1u << 2, r.now);
	r.send();
	r.expire();
	for (const auto &d : out)
		EXPECT_EQ(r.ev(d.ev).state,
			  d.port == 1 ? MRC_EV_GOOD : MRC_EV_ASSUMED_BAD);
}

TEST(Timer, EachPacketHasItsOwnTime)
{
	Requester r;
	r.init();
	r.send_n(1);
	u64 first = r.now;
	r.now += kMs;
	r.send_n(1);
	r.sack({.cack = r.psn(-1), .ack = 1}); // the second one is... not
	EXPECT_EQ(r.req.timer_at, first + 4 * kMs);

	Requester q;
	q.init();
	q.send_n(1);
	first = q.now;
	q.now += kMs;
	q.send_n(1);
	q.now += kMs;
	q.sack_all(q.psn(0));
	// The timer is lazy: it fires for the first packet, finds it gone and
	// moves on to the second.
	q.now = first + 4 * kMs;
	q.deadline();
	EXPECT_EQ(q.req.n_lost, 0u);
	EXPECT_EQ(q.req.timer_at, first + 5 * kMs);
	EXPECT_EQ(q.count(MRC_CTR_RTO), 0u);
	q.expire();
	EXPECT_EQ(q.req.n_lost, 1u);
	EXPECT_TRUE(q.lost(q.psn(1)));
}

TEST(Timer, ABurstCostsOneRetry)
{
	Requester r;
	r.cfg.linear_cnt = 3;
	r.init();
	const u64 t0 = r.now;
	for (int i = 0; i < 10; i++) {
		r.send_n(1);
		r.now += 100 * kUs;
	}
	for (int i = 0; i < 10; i++) {
		r.now = t0 + 4 * kMs + (u64)i * 100 * kUs;
		r.deadline();
		EXPECT_EQ(r.send().size(), 1u) << i;
		EXPECT_EQ(r.req.retries, 1u);
	}
	EXPECT_EQ(r.count(MRC_CTR_LOSS_TIMEOUT), 10u);
	EXPECT_EQ(r.count(MRC_CTR_RTO), 1u);
	// The retransmissions are the next attempt.
	r.now = t0 + 8 * kMs;
	r.deadline();
	EXPECT_EQ(r.req.retries, 2u);
	EXPECT_EQ(r.count(MRC_CTR_LOSS_TIMEOUT), 11u);
}

TEST(Timer, ProgressMakesTheBudgetWhole)
{
	Requester r;
	r.init();
	r.send_n(2);
	for (int k = 0; k < 6; k++) {
		r.expire();
		r.send();
	}
	EXPECT_EQ(r.req.retries, 6u);
	EXPECT_EQ(r.req.timer_at, r.now + 64 * kMs);
	r.now += 20 * kMs;
	r.sack({.cack = r.psn(0), .rtx = true});
	EXPECT_EQ(r.req.retries, 0u);
	// The other packet is 20 ms old; its SACK may be in the same burst, so
	// it gets one plain RTO from here.
	EXPECT_EQ(r.req.timer_at, r.now + 4 * kMs);
	r.deadline();
	EXPECT_EQ(r.req.n_lost, 0u);
	r.expire();
	EXPECT_EQ(r.req.n_lost, 1u);
	EXPECT_EQ(r.req.retries, 1u);
	// So does the transport ACK.
	r.ack(r.psn(1));
	EXPECT_EQ(r.req.retries, 0u);
	EXPECT_EQ(r.req.timer_at, MRC_NEVER);
}

TEST(Timer, MereBitsAreNoProgress)
{
	Requester r;
	r.init();
	r.send_n(2);
	r.expire();
	r.send();
	r.sack({.cack = r.psn(-1), .ack = 2, .rtx = true});
	EXPECT_EQ(r.req.retries, 1u);
}

TEST(Stall, NoPortAtAllCostsRetries)
{
	Requester r;
	r.cfg.linear_cnt = 1;
	r.cfg.exp_cnt = 1;
	r.init();
	mrc_req_set_ports(&r.req, 0, r.now);
	r.write(1);
	r.send();
	EXPECT_EQ(r.req.timer_at, r.now + 4 * kMs);
	r.expire();
	EXPECT_EQ(r.req.retries, 1u);
	r.send();
	r.expire();
	r.send();
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.expire();
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_RETRY_EXC}}));
}

TEST(Stall, LostPacketsWithoutPort)
{
	Requester r;
	r.init();
	r.send_n(2);
	mrc_req_set_ports(&r.req, 0, r.now);
	r.expire();
	EXPECT_EQ(r.req.retries, 1u);
	mrc_tx_verdict why;
	EXPECT_TRUE(r.send(&why).empty());
	EXPECT_EQ(why, MRC_TX_WAIT_EV);
	r.expire();
	EXPECT_EQ(r.req.retries, 2u);
	EXPECT_EQ(r.count(MRC_CTR_LOSS_TIMEOUT), 2u);
	mrc_req_set_ports(&r.req, 6, r.now);
	EXPECT_EQ(r.send().size(), 2u);
}

// Probes and small packets pass, the data of these queue pairs does not:
// nothing is silent, nothing times out, each copy is known to be lost long
// before.
namespace
{

// Everything up to packet number n arrived, as the reply to the next silence
// probe tells. Those of EVs that are in doubt are not answered.
void only(Requester &r, s64 n)
{
	r.now = r.req.tail_probe_at;
	r.send();
	ASSERT_TRUE(r.req.probe_out);
	r.now += 50 * kUs;
	r.sack({.cack = r.psn(n), .probe = r.req.probe_out_id});
	r.send();
}

// Sends what waits. Of it packet number n arrives.
void above(Requester &r, s64 n, u64 after)
{
	r.now += after;
	r.send();
	s32 base = mrc_psn_diff(r.psn(n), r.req.cack);
	r.sack({.cack = r.req.cack, .base = base, .map = 1, .probe = 60000});
}

} // namespace

TEST(BlackHole, CostsOneRetryAnInterval)
{
	Requester r;
	r.cfg.linear_cnt = 2;
	r.cfg.exp_cnt = 2;
	r.init();
	r.send_n(1);
	r.write(1);
	const u64 sent = r.now;
	u64 charged = sent;
	u32 retries = 0;
	while (r.req.state == MRC_REQ_READY) {
		const u64 ivl = mrc_req_interval(&r.cfg, retries + 1);
		ASSERT_LT(r.now - sent, 100 * kMs);
		only(r, -1);
		if (r.req.retries == retries)
			continue;
		EXPECT_EQ(r.req.retries, ++retries);
		EXPECT_GE(r.now - charged, ivl);
		// A reply comes each half RTO.
		EXPECT_LE(r.now - charged, ivl + r.cfg.rto);
		charged = r.now;
	}
	EXPECT_EQ(r.req.retries, 5u);
	EXPECT_GE(r.now - sent, (4 + 4 + 8 + 16 + 16) * kMs);
	EXPECT_EQ(r.count(MRC_CTR_RETRY_EXC), 1u);
	EXPECT_EQ(r.count(MRC_CTR_RTO), 0u);
	EXPECT_EQ(r.count(MRC_CTR_LOSS_TIMEOUT), 0u);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_RETRY_EXC}, {1, MRC_WC_FLUSH}}));
}

TEST(BlackHole, OfOnePacketThatOthersPass)
{
	Requester r;
	r.cfg.linear_cnt = 2;
	r.cfg.exp_cnt = 0;
	r.pcfg.n_ports = 1;
	r.init();
	r.send_n(1);
	const u64 sent = r.now;
	// What is sent after each copy arrives, so that SACKs tell of its loss;
	// until the send queue is full.
	for (s64 n = 1; r.req.state == MRC_REQ_READY; n++) {
		ASSERT_LT(r.now - sent, 100 * kMs);
		if (r.write(256) < 0)
			only(r, -1);
		else
			above(r, n, 300 * kUs);
	}
	EXPECT_GE(r.now - sent, 3 * r.cfg.rto);
	EXPECT_GT(r.count(MRC_CTR_LOSS_SACK), 1u);
	EXPECT_EQ(r.count(MRC_CTR_RTO), 0u);
	EXPECT_EQ(r.reap()[0], std::make_pair(0u, MRC_WC_RETRY_EXC));
}

TEST(BlackHole, ProgressMakesTheBudgetWhole)
{
	Requester r;
	r.cfg.linear_cnt = 2;
	r.cfg.exp_cnt = 0;
	r.init();
	r.send_n(20);
	for (s64 n = -1; n < 19; n++) {
		for (int i = 0; i < 100 && r.req.retries < 2; i++)
			only(r, n);
		ASSERT_EQ(r.req.retries, 2u);
		only(r, n + 1);
		ASSERT_EQ(r.req.state, MRC_REQ_READY) << n;
		EXPECT_EQ(r.req.retries, 0u) << n;
	}
	EXPECT_EQ(r.count(MRC_CTR_RETRY_EXC), 0u);
}

TEST(BlackHole, IdleTimeIsNotCharged)
{
	Requester r;
	r.cfg.linear_cnt = 0;
	r.cfg.exp_cnt = 0;
	r.pcfg.n_ports = 1;
	r.init();
	for (int i = 0; i < 3; i++) {
		r.send_n(1);
		r.now += 50 * kUs;
		r.sack_all(r.psn(i));
		r.ack(r.psn(i));
		r.now += 1000 * kMs;
	}
	// It is lost, and its copies too, but cack does not wait for an
	// interval yet.
	r.send_n(1);
	const u64 sent = r.now;
	s64 n = 3;
	while (r.count(MRC_CTR_LOSS_SACK) < 3) {
		ASSERT_GE(r.write(256), 0);
		above(r, ++n, 30 * kUs);
	}
	ASSERT_LT(r.now - sent, r.cfg.rto);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.sack_all(r.psn(n));
	EXPECT_EQ(r.req.retries, 0u);
}

// What expires beside them belongs to the attempt that was charged.
TEST(BlackHole, TogetherWithExpiries)
{
	for (u64 stall : {0 * kUs, 500 * kUs, 1000 * kUs, 2000 * kUs}) {
		Requester r;
		r.cfg.linear_cnt = 3;
		r.cfg.exp_cnt = 0;
		r.cfg.sq_depth = 256;
		r.init();
		// More than the map of one reply.
		for (int i = 0; i < 100; i++)
			r.write(256);
		r.send();
		const u64 sent = r.now;
		u64 answer_at = 0, idle_until = 0, expiries = 0;
		u16 id = 0;
		while (r.req.state == MRC_REQ_READY) {
			ASSERT_LT(r.now - sent, 100 * kMs);
			r.now += 10 * kUs;
			if (answer_at && r.now >= answer_at) {
				answer_at = 0;
				r.sack({.cack = r.psn(-1), .probe = id});
			}
			r.deadline();
			// Nobody gets to send for a while after an expiry.
			if (r.count(MRC_CTR_RTO) != expiries) {
				expiries = r.count(MRC_CTR_RTO);
				idle_until = r.now + stall;
			}
			if (r.now < idle_until)
				continue;
			r.send();
			if (r.req.probe_out && !answer_at &&
			    r.req.probe_out_id != id) {
				id = r.req.probe_out_id;
				answer_at = r.now + 50 * kUs;
			}
		}
		EXPECT_GE(r.now - sent, 4 * r.cfg.rto) << stall;
		EXPECT_LE(r.now - sent, 8 * r.cfg.rto) << stall;
	}
}

// The time for which a packet is held back is not charged: refused without a
// receive, or its memory is not there.
TEST(BlackHole, HeldPacketsAreNotCharged)
{
	for (bool refused : {false, true}) {
		Requester r;
		r.cfg.linear_cnt = 0;
		r.cfg.exp_cnt = 0;
		r.cfg.ext = true;
		r.cfg.rnr_retry = 7;
		r.pcfg.n_ports = 1;
		r.init();
		ASSERT_GE(r.write(256, true), 0);
		auto out = r.send();
		ASSERT_EQ(out.size(), 1u);
		r.now += 50 * kUs;
		if (refused) {
			mrc_hdr h{};
			h.opcode = MRC_OP_NACK;
			h.neth.reason = MRC_NACK_NO_RESOURCE;
			h.neth.nack_psn = r.psn(0);
			h.neth.entropy = out[0].entropy;
			h.neth.vendor = MRC_RNR_VALID | 31;
			h.neth.cc_type = 2;
			mrc_req_on_nack(&r.req, &h, 1, r.now);
			r.check();
		} else {
			mrc_req_put_back(&r.req, &out[0], r.now + 50 * kMs,
					 r.now);
		}
		const u64 held =
			r.req.pkt[r.psn(0) & r.req.ring_mask].hold_until;
		ASSERT_GE(held - r.now, 50 * kMs);
		ASSERT_TRUE(r.send().empty());
		r.now = held;
		r.deadline();
		ASSERT_EQ(r.send().size(), 1u);
		// What is sent now is lost twice within an interval.
		for (s64 n = 1; r.count(MRC_CTR_LOSS_SACK) < 2; n++) {
			ASSERT_GE(r.write(256), 0);
			above(r, n, 30 * kUs);
			r.send();
		}
		ASSERT_LT(r.now - held, r.cfg.rto);
		EXPECT_EQ(r.req.state, MRC_REQ_READY) << refused;
		EXPECT_EQ(r.req.retries, 0u) << refused;
	}
}

TEST(BlackHole, NothingIsChargedWithoutTimerOrEnd)
{
	for (bool timer : {false, true}) {
		Requester r;
		r.cfg.rto = timer ? 4 * kMs : 0;
		r.cfg.linear_cnt = 0;
		r.cfg.exp_cnt = timer ? MRC_RETRY_EXP_INFINITE : 0;
		r.init();
		r.send_n(1);
		for (int i = 0; i < 1000; i++)
			only(r, -1);
		EXPECT_EQ(r.req.state, MRC_REQ_READY);
		EXPECT_EQ(r.req.retries != 0, timer);
		only(r, 0);
		EXPECT_EQ(r.req.retries, 0u);
	}
}

TEST(Silence, ProbeOnAnotherEv)
{
	Requester r;
	r.cfg.rto = 4 * kMs;
	r.init();
	auto out = r.send_n(3);
	r.now += kMs - 1; // without a sample min(1 ms, RTO / 2)
	EXPECT_TRUE(r.send().empty());
	EXPECT_TRUE(r.probes.empty());
	EXPECT_EQ(mrc_req_deadline(&r.req), r.now + 1);
	r.now += 1;
	r.deadline();
	r.send();
	ASSERT_EQ(r.probes.size(), 1u);
	const mrc_tx_desc &p = r.probes[0];
	EXPECT_NE(p.ev, out[0].ev);
	EXPECT_NE(p.port, out[0].port);
	EXPECT_EQ(p.hdr.opcode, MRC_OP_PROBE);
	EXPECT_EQ(p.hdr.psn, 0u);
	EXPECT_EQ(p.hdr.dqp, r.cfg.dqpn);
	EXPECT_EQ(p.hdr.ftype, MRC_TS_FTYPE);
	EXPECT_EQ(p.hdr.tstamp, (u16)(r.now >> 7));
	EXPECT_FALSE(p.hdr.ts);
	EXPECT_EQ(p.hdr.peth.spdcid, 0x2345);
	EXPECT_EQ(p.hdr.peth.dpdcid, 0x789A);
	EXPECT_EQ(p.tc, MRC_TC_DATA);
	EXPECT_TRUE(p.ect);
	EXPECT_FALSE(p.data);
	EXPECT_EQ(p.entropy, r.ev(p.ev).entropy);
	EXPECT_EQ(r.count(MRC_CTR_TX_PROBE), 1u);
	EXPECT_EQ(r.count(MRC_CTR_TX_DATA), 3u);
	EXPECT_EQ(r.req.inflight, 3 * mrc_nominal_size(36, 256));
	r.send();
	EXPECT_EQ(r.probes.size(), 1u); // just one
}

TEST(Silence, UnansweredProbesBackOff)
{
	Requester r;
	r.cfg.rto = 0; // no timer: a millisecond takes the place of RTO / 2
	r.init();
	r.send_n(1);
	u64 last = r.now;
	const u64 ms[] = {1, 2, 4, 8, 16, 32, 64, 64, 64};
	u16 id = 0;
	for (u64 t : ms) {
		EXPECT_EQ(mrc_req_deadline(&r.req), last + t * kMs);
		r.now = last + t * kMs;
		r.probes.clear();
		r.send();
		ASSERT_EQ(r.probes.size(), 1u);
		EXPECT_EQ(r.probes[0].hdr.peth.probe_id, id++);
		last = r.now;
	}
	// An answer tells of the loss, and silence begins anew with the copy.
	r.now += 50 * kUs;
	r.sack({.cack = r.psn(-1), .probe = (u16)(id - 1)});
	EXPECT_EQ(r.send().size(), 1u);
	EXPECT_LE(mrc_req_deadline(&r.req), r.now + kMs);
}

TEST(Silence, TwoRoundTripsIfThatIsLonger)
{
	Requester r;
	r.cfg.base_rtt = 3 * kMs;
	r.init();
	r.send_n(1);
	EXPECT_EQ(r.req.tail_probe_at, r.now + 6 * kMs);
}

// Hosts with short round trips are fast themselves.
TEST(Silence, TheAllowanceForHostsFollowsTheRoundTrip)
{
	const std::pair<u64, u64> table[] = { // RTT, allowance
		{kUs, 10 * kUs}, {8 * kUs, 10 * kUs}, {10 * kUs, 10 * kUs},
		{12 * kUs, 22 * kUs}, {25 * kUs, 100 * kUs}, {kMs, 100 * kUs}};
	for (auto [rtt, allowance] : table) {
		Requester r;
		r.cfg.rto = 64 * kMs;
		r.init();
		r.send_n(1);
		r.now += rtt;
		r.sack_all(r.psn(0));
		r.ack(r.psn(0));
		ASSERT_EQ(r.req.srtt, rtt);
		r.send_n(1);
		// The first sample: half of it is the deviation.
		EXPECT_EQ(r.req.tail_probe_at, r.now + 3 * rtt + allowance) << rtt;
	}
}

TEST(Silence, NotWhenNothingIsOutstanding)
{
	Requester r;
	r.init();
	EXPECT_EQ(r.req.tail_probe_at, MRC_NEVER);
	r.send_n(2);
	EXPECT_NE(r.req.tail_probe_at, MRC_NEVER);
	r.now += kMs;
	r.sack_all(r.psn(0));
	// From its sending on RTO / 2, which two round trips are bounded by.
	EXPECT_EQ(r.req.tail_probe_at, r.now + kMs);
	// The transport ACK is awaited.
	r.sack_all(r.psn(1));
	EXPECT_NE(r.req.tail_probe_at, MRC_NEVER);
	r.ack(r.psn(1));
	EXPECT_EQ(r.req.tail_probe_at, MRC_NEVER);
	// Long idle does not count as silence.
	r.reap();
	r.now += 1000 * kMs;
	r.send_n(1);
	EXPECT_TRUE(r.probes.empty());
	EXPECT_EQ(r.req.tail_probe_at, r.now + 2 * kMs);
}

TEST(Silence, SingleEvIsProbedItself)
{
	Requester r;
	r.pcfg.n_evs = 1;
	r.pcfg.n_ports = 1;
	r.init();
	auto out = r.send_n(1);
	r.now += 2 * kMs;
	r.send();
	ASSERT_EQ(r.probes.size(), 1u);
	EXPECT_EQ(r.probes[0].ev, out[0].ev);
}

TEST(EvProbe, CondemnedEvIsProbedUntilItIsGoodAgain)
{
	Requester r;
	r.init();
	auto out = r.send_n(1);
	r.sack({.cack = r.psn(0),
		.m = MRC_M_ALWAYS_SKIP,
		.entropy = out[0].entropy});
	r.ack(r.psn(0));
	const int bad = out[0].ev;
	ASSERT_EQ(r.ev(bad).state, MRC_EV_ASSUMED_BAD);
	// Nothing else is going on; the deadline is the EV's probe.
	for (int k = 0; k < 2; k++) {
		u64 due = mrc_paths_next_probe(&r.paths);
		EXPECT_EQ(mrc_req_deadline(&r.req), due);
		r.now = due;
		r.deadline();
		r.probes.clear();
		r.send();
		ASSERT_EQ(r.probes.size(), 1u);
		EXPECT_EQ(r.probes[0].ev, bad);
		r.now += 60 * kUs;
		// A train of two replies is one verdict.
		for (int t = 0; t < 2; t++)
			r.sack({.cack = r.psn(0),
				.probe = r.probes[0].hdr.peth.probe_id});
		EXPECT_EQ(r.ev(bad).state,
			  k ? MRC_EV_GOOD : MRC_EV_ASSUMED_BAD);
	}
	EXPECT_EQ(r.count(MRC_CTR_RX_PROBE_REPLY), 4u);
	EXPECT_EQ(mrc_req_deadline(&r.req), MRC_NEVER);
}

TEST(EvProbe, VerdictFollowsM)
{
	for (u8 m : {MRC_M_SKIP_ONCE, MRC_M_ALWAYS_SKIP}) {
		Requester r;
		r.init();
		auto out = r.send_n(1);
		r.sack({.cack = r.psn(0),
			.m = MRC_M_ALWAYS_SKIP,
			.entropy = out[0].entropy});
		r.now = mrc_paths_next_probe(&r.paths);
		r.send();
		ASSERT_EQ(r.probes.size(), 1u);
		r.sack({.cack = r.psn(0),
			.m = m,
			.probe = r.probes[0].hdr.peth.probe_id});
		EXPECT_EQ(r.ev(out[0].ev).state, m == MRC_M_SKIP_ONCE
							 ? MRC_EV_SKIP
							 : MRC_EV_ASSUMED_BAD);
	}
}

TEST(ProbeReply, TimesTheRoundTrip)
{
	Requester r;
	r.init();
	r.send_n(1);
	r.now += 2 * kMs;
	r.send();
	ASSERT_EQ(r.probes.size(), 1u);
	r.now += 70 * kUs;
	r.sack({.cack = r.psn(-1), .probe = r.probes[0].hdr.peth.probe_id});
	EXPECT_EQ(r.req.srtt, 70 * kUs);
	EXPECT_EQ(r.rec.acks.back().rtt, 70 * kUs);
	EXPECT_FALSE(r.req.probe_out);
}

TEST(ProbeReply, UnknownIdGivesFactsButNoVerdict)
{
	Requester r;
	r.init();
	r.send_n(3);
	r.now += kMs;
	r.sack({.cack = r.psn(0),
		.base = 1,
		.map = 2,
		.m = MRC_M_ALWAYS_SKIP,
		.probe = 999});
	EXPECT_EQ(r.req.cack, r.psn(0));
	EXPECT_EQ(r.req.high, r.psn(2));
	EXPECT_EQ(r.paths.bad, 0);
	EXPECT_EQ(r.req.srtt, 0u);
	EXPECT_EQ(r.req.n_lost, 0u);
	// The id bits are no ack_psn_offset.
	EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), 0u);
}
