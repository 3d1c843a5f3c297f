// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: everything is SACKed, but the transport ACK or cack does not come.
// MRC 1.0 §9.4, §9.5.
#include "engine_fixture.hpp"

using namespace mrc_test;

// §9.4: everything is SACKed, the transport ACK was lost.
TEST(TransportAck, NewestPsnIsSentAgain)
{
	Requester r;
	r.cfg.sq_psn = 0xFFFFFE;
	r.init();
	r.write(600, true);
	auto out = r.send();
	r.now += 50 * kUs;
	r.sack_all(r.psn(2));
	EXPECT_TRUE(r.send().empty());
	EXPECT_NE(r.req.timer_at, MRC_NEVER);
	for (int k = 1; k <= 3; k++) {
		r.expire();
		EXPECT_EQ(r.req.retries, (u32)k);
		r.probes.clear();
		auto again = r.send();
		ASSERT_EQ(again.size(), 1u);
		EXPECT_TRUE(r.probes.empty());
		EXPECT_EQ(again[0].hdr.psn, r.psn(2));
		EXPECT_TRUE(again[0].hdr.rtx);
		EXPECT_TRUE(again[0].hdr.a);
		EXPECT_EQ(again[0].hdr.opcode, MRC_OP_WRITE_LAST_IMM);
		EXPECT_EQ(again[0].hdr.reth.va, out[2].hdr.reth.va);
		EXPECT_EQ(again[0].len, out[2].len);
		EXPECT_EQ(again[0].tc, MRC_TC_DATA);
		EXPECT_EQ(r.req.inflight, 0u);
		EXPECT_EQ(r.count(MRC_CTR_RTX_LAST_PSN), (u64)k);
		// Its duplicate SACK is no progress.
		r.sack({.cack = r.psn(2), .rtx = true});
		EXPECT_EQ(r.req.retries, (u32)k);
	}
	r.ack(r.psn(2));
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS}}));
	EXPECT_EQ(mrc_req_deadline(&r.req), MRC_NEVER);
	EXPECT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 0u);
	EXPECT_EQ(r.count(MRC_CTR_LOSS_TIMEOUT), 0u);
}

TEST(TransportAck, NeverComesExhaustsTheBudget)
{
	Requester r;
	r.cfg.linear_cnt = 1;
	r.cfg.exp_cnt = 0;
	r.init();
	r.send_n(2);
	r.sack_all(r.psn(1));
	r.expire();
	EXPECT_EQ(r.send().size(), 1u);
	r.expire();
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_RETRY_EXC}, {1, MRC_WC_FLUSH}}));
}

TEST(TransportAck, ArrivesBeforeTheResend)
{
	Requester r;
	r.init();
	r.send_n(1);
	r.sack_all(r.psn(0));
	r.expire();
	r.ack(r.psn(0));
	EXPECT_TRUE(r.send().empty());
	EXPECT_EQ(r.count(MRC_CTR_RTX_LAST_PSN), 0u);
}

TEST(TransportAck, ResendWaitsForAPort)
{
	Requester r;
	r.init();
	r.send_n(1);
	r.sack_all(r.psn(0));
	mrc_req_set_ports(&r.req, 0, r.now);
	r.expire();
	mrc_tx_verdict why;
	EXPECT_TRUE(r.send(&why).empty());
	EXPECT_EQ(why, MRC_TX_WAIT_EV);
	mrc_req_set_ports(&r.req, 6, r.now);
	auto again = r.send();
	ASSERT_EQ(again.size(), 1u);
	EXPECT_EQ(again[0].hdr.psn, r.psn(0));
	EXPECT_TRUE(again[0].hdr.a);
	EXPECT_EQ(r.count(MRC_CTR_RTX_LAST_PSN), 1u);
}

TEST(TransportAck, HalfSentMessageIsNotAskedFor)
{
	Requester r;
	r.init();
	mrc_tx_desc d;
	r.write(600);
	ASSERT_EQ(r.next(&d), MRC_TX_PACKET);
	r.sack_all(r.psn(0));
	EXPECT_EQ(r.req.timer_at, MRC_NEVER); // the caller is to send on
}

// A forged SACK shows packets that the peer does not have. The window is full, so no new
// packet follows. The first packet after cack is sent again, until cack passes it.
TEST(TransportAck, ForgedSackIsRepaired)
{
	Requester r;
	r.init();
	r.write(2000 * 256);
	r.send();
	ASSERT_EQ(r.req.next_psn, r.psn(1024)); // the window
	for (u32 i = 0; i < 1024; i += 64)
		r.sack({.cack = r.psn(-1), .base = (int)i + 1, .map = ~0ull});
	EXPECT_EQ(r.req.inflight, 0u);
	for (int k = 0; k < 3; k++) {
		r.expire();
		auto again = r.send();
		ASSERT_EQ(again.size(), 1u);
		EXPECT_EQ(again[0].hdr.psn, r.psn(k));
		EXPECT_TRUE(again[0].hdr.rtx);
		r.sack({.cack = r.psn(k), .rtx = true});
		EXPECT_EQ(r.req.retries, 0u);
		// The window lets one new packet out, which arrives.
		EXPECT_EQ(r.send().size(), 1u);
		r.sack({.cack = r.psn(k), .ack = 1024, .base = 1024, .map = 1});
	}
}

TEST(TransportAck, ForgedSackExhaustsTheBudget)
{
	Requester r;
	r.cfg.linear_cnt = 2;
	r.cfg.exp_cnt = 0;
	r.init();
	r.write(2000 * 256);
	r.send();
	for (u32 i = 0; i < 1024; i += 64)
		r.sack({.cack = r.psn(-1), .base = (int)i + 1, .map = ~0ull});
	for (int k = 0; k < 3; k++) {
		EXPECT_NE(mrc_req_deadline(&r.req), MRC_NEVER);
		r.expire();
		r.send();
	}
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_RETRY_EXC}}));
}
