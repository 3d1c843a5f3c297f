// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: data that never arrives while probes do. MRC 1.0 §9.4, §9.5.
#include "engine_fixture.hpp"

using namespace mrc_test;

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
