// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: a work request that fails while earlier ones are still
// outstanding. The first completion with an error tells what went wrong
// (MRC 1.0 §10, as RC).
#include "req_ext_fixture.hpp"

using namespace mrc_test;

namespace
{

const u8 kSend = MRC_WR_SEND;

// WRITE, WRITE, SEND, WRITE, all sent; the peer does not know SEND.
std::vector<mrc_tx_desc> refuse_the_third(ExtRequester &r)
{
	r.init();
	for (u8 op :
	     {(u8)MRC_WR_WRITE, (u8)MRC_WR_WRITE, kSend, (u8)MRC_WR_WRITE})
		r.post(op);
	auto out = r.send();
	EXPECT_EQ(out.size(), 4u);
	r.nack(r.psn(2), MRC_NACK_UNEXP_EVENT, 0);
	return out;
}

} // namespace

TEST(ReqDoom, ARefusedMessageWaitsForThoseBeforeIt)
{
	ExtRequester r;
	refuse_the_third(r);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	EXPECT_TRUE(r.reap().empty());
	r.ack(r.psn(0));
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS}}));
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.ack(r.psn(1));
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
	EXPECT_EQ(r.reap(), (Done{{1, MRC_WC_SUCCESS},
				  {2, MRC_WC_REM_INV_REQ},
				  {3, MRC_WC_FLUSH}}));
}

TEST(ReqDoom, OneAckForAllBeforeIt)
{
	ExtRequester r;
	refuse_the_third(r);
	r.ack(r.psn(1));
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
				  {1, MRC_WC_SUCCESS},
				  {2, MRC_WC_REM_INV_REQ},
				  {3, MRC_WC_FLUSH}}));
}

// What it refused once, it does not execute, whatever it says later.
TEST(ReqDoom, AnAckDoesNotHealIt)
{
	ExtRequester r;
	refuse_the_third(r);
	r.ack(r.psn(3));
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
				  {1, MRC_WC_SUCCESS},
				  {2, MRC_WC_REM_INV_REQ},
				  {3, MRC_WC_FLUSH}}));
}

TEST(ReqDoom, TheEarliestOfTwoCounts)
{
	for (bool earlier_first : {false, true}) {
		ExtRequester r;
		r.init();
		for (u8 op : {(u8)MRC_WR_WRITE, (u8)MRC_WR_WRITE, kSend, kSend})
			r.post(op);
		ASSERT_EQ(r.send().size(), 4u);
		for (int i : {0, 1}) {
			int n = earlier_first ? 2 + i : 3 - i;
			r.nack(r.psn(n), MRC_NACK_UNEXP_EVENT, 0);
		}
		r.ack(r.psn(1));
		EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
					  {1, MRC_WC_SUCCESS},
					  {2, MRC_WC_REM_INV_REQ},
					  {3, MRC_WC_FLUSH}}));
	}
}

// Packets of those before it are sent again meanwhile; what comes after it is
// not begun.
TEST(ReqDoom, LostPacketsBeforeItGoAgainAndNothingNewGoes)
{
	ExtRequester r;
	auto out = refuse_the_third(r);
	EXPECT_GE(r.post(MRC_WR_WRITE), 0);
	EXPECT_TRUE(r.send().empty());
	EXPECT_NE(mrc_req_sched(&r.req), MRC_SCHED_READY);
	r.nack(r.psn(1), MRC_NACK_TRIMMED, out.at(1).entropy);
	auto again = r.send();
	ASSERT_EQ(again.size(), 1u);
	EXPECT_EQ(again[0].hdr.psn, r.psn(1));
	EXPECT_TRUE(again[0].hdr.rtx);
	r.ack(r.psn(1));
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
				  {1, MRC_WC_SUCCESS},
				  {2, MRC_WC_REM_INV_REQ},
				  {3, MRC_WC_FLUSH},
				  {4, MRC_WC_FLUSH}}));
}

// Memory of a message that cannot be read, found when its first or second
// packet is built.
TEST(ReqDoom, LocalErrorsWaitToo)
{
	for (u32 built : {1u, 2u}) {
		ExtRequester r;
		r.init();
		r.write(8);
		int slot = r.write(3 * 256);
		r.write(8);
		mrc_tx_desc d;
		for (u32 i = 0; i < 1 + built; i++)
			ASSERT_EQ(r.next(&d), MRC_TX_PACKET);
		ASSERT_EQ((int)d.slot, slot);
		mrc_req_fail(&r.req, slot, MRC_WC_LOC_PROT);
		r.check();
		EXPECT_TRUE(r.send().empty());
		r.ack(r.psn(0));
		EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
					  {1, MRC_WC_LOC_PROT},
					  {2, MRC_WC_FLUSH}}));
	}
}

TEST(ReqDoom, ALocalOperationThatFailsWaitsToo)
{
	ExtRequester r;
	r.init();
	r.write(8);
	r.post(MRC_WR_LOCAL);
	r.write(8);
	mrc_tx_desc d;
	ASSERT_EQ(r.next(&d), MRC_TX_PACKET);
	ASSERT_EQ(r.next(&d), MRC_TX_LOCAL);
	r.local_done(1, MRC_WC_MW_BIND);
	EXPECT_NE(r.next(&d), MRC_TX_LOCAL);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.ack(r.psn(0));
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
				  {1, MRC_WC_MW_BIND},
				  {2, MRC_WC_FLUSH}}));
}

TEST(ReqDoom, ALocalOperationBeforeItEndsTheWait)
{
	ExtRequester r;
	r.init();
	r.post(MRC_WR_LOCAL);
	r.write(8);
	mrc_req_fail(&r.req, 1, MRC_WC_LOC_QP_OP);
	r.check();
	mrc_tx_desc d;
	ASSERT_EQ(r.next(&d), MRC_TX_LOCAL);
	r.local_done(0);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS}, {1, MRC_WC_LOC_QP_OP}}));
}

TEST(ReqDoom, AnswersAreAwaited)
{
	ExtRequester r;
	r.init();
	r.post(MRC_WR_READ);
	r.post(kSend);
	ASSERT_EQ(r.send().size(), 2u);
	r.nack(r.psn(1), MRC_NACK_UNEXP_EVENT, 0);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.answered();
	EXPECT_EQ(r.reap(),
		  (Done{{0, MRC_WC_SUCCESS}, {1, MRC_WC_REM_INV_REQ}}));
}

// A message for which the peer had no receive too often; the ACK of the WRITE
// is late.
TEST(ReqDoom, RnrRetriesUsedUp)
{
	ExtRequester r;
	r.cfg.rnr_retry = 0;
	r.init();
	r.write(8);
	r.post(kSend);
	ASSERT_EQ(r.send().size(), 2u);
	r.sack_all(r.psn(0));
	r.rnr(r.psn(1), 1);
	r.rnr(r.psn(1), 1);
	EXPECT_EQ(r.count(MRC_CTR_RNR_EXC), 1u);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.ack(r.psn(0));
	EXPECT_EQ(r.reap(),
		  (Done{{0, MRC_WC_SUCCESS}, {1, MRC_WC_RNR_RETRY_EXC}}));
}

// A peer that went to ERROR says no more: the first charged retry ends the
// wait, even with retries without end.
TEST(ReqDoom, ARetryEndsTheWait)
{
	for (u8 exp : {(u8)7, (u8)MRC_RETRY_EXP_INFINITE}) {
		ExtRequester r;
		r.cfg.exp_cnt = exp;
		refuse_the_third(r);
		EXPECT_TRUE(r.wait().empty() || r.req.state == MRC_REQ_READY);
		for (int i = 0; i < 100 && r.req.state == MRC_REQ_READY; i++)
			r.wait();
		EXPECT_EQ(r.req.retries, 0u);
		EXPECT_EQ(r.count(MRC_CTR_RETRY_EXC), 0u);
		EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_FLUSH},
					  {1, MRC_WC_FLUSH},
					  {2, MRC_WC_REM_INV_REQ},
					  {3, MRC_WC_FLUSH}}));
	}
}

// Without a retry timer nothing would end it.
TEST(ReqDoom, NoWaitWithoutARetryTimer)
{
	ExtRequester r;
	r.cfg.rto = 0;
	refuse_the_third(r);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_FLUSH},
				  {1, MRC_WC_FLUSH},
				  {2, MRC_WC_REM_INV_REQ},
				  {3, MRC_WC_FLUSH}}));
}

// The queue pair is moved to ERROR during the wait: the status is not lost.
TEST(ReqDoom, AnotherReasonDoesNotHideIt)
{
	ExtRequester r;
	refuse_the_third(r);
	mrc_req_fail(&r.req, -1, MRC_WC_FLUSH);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_FLUSH},
				  {1, MRC_WC_FLUSH},
				  {2, MRC_WC_REM_INV_REQ},
				  {3, MRC_WC_FLUSH}}));
}

// A NAK for an earlier message comes first.
TEST(ReqDoom, ANakBeforeItWins)
{
	ExtRequester r;
	refuse_the_third(r);
	r.ack(r.psn(1), MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
				  {1, MRC_WC_REM_ACCESS},
				  {2, MRC_WC_FLUSH},
				  {3, MRC_WC_FLUSH}}));
}
