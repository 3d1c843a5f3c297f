// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: retry schedule, budget, probes.
// MRC 1.0 §9.4, §9.5.
#include "engine_fixture.hpp"

using namespace mrc_test;

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
