// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester of the extension: answers are what completes requests; ACKs and
// NAKs ahead of them; how long answers may take.
#include "req_ext_fixture.hpp"

using namespace mrc_test;

TEST(Answer, CompletesItsRequestAndAllBeforeIt)
{
	ExtRequester r;
	r.init();
	r.post(MRC_WR_WRITE);
	r.post(MRC_WR_SEND);
	r.post(MRC_WR_READ);
	r.post(MRC_WR_WRITE);
	r.post(MRC_WR_READ);
	EXPECT_EQ(r.send().size(), 5u);
	// Nothing was acknowledged at all: the answer says it.
	r.answered();
	EXPECT_EQ(r.done(), (Slots{0, 1, 2}));
	EXPECT_EQ(r.req.cack, r.psn(2));
	EXPECT_EQ(r.req.tack, r.psn(2));
	EXPECT_EQ(r.req.wimm_out, 0u);
	EXPECT_EQ(r.req.n_out, 2u);
	r.answered();
	EXPECT_EQ(r.done(), (Slots{3, 4}));
	EXPECT_EQ(r.req.inflight, 0u);
	EXPECT_EQ(r.req.timer_at, MRC_NEVER);
	EXPECT_EQ(r.req.tail_probe_at, MRC_NEVER);
}

TEST(Answer, LocalOperationsBehindItComplete)
{
	ExtRequester r;
	r.init();
	r.post(MRC_WR_READ);
	u32 slot = (u32)r.post(MRC_WR_LOCAL);
	r.post(MRC_WR_READ);
	r.send();
	r.local_done(slot);
	r.send();
	EXPECT_TRUE(r.reap().empty());
	r.answered();
	EXPECT_EQ(r.done(), (Slots{0, 1}));
}

TEST(Answer, WithoutARequestChangesNothing)
{
	ExtRequester r;
	r.init();
	r.answered();
	r.post(MRC_WR_READ);
	r.answered(); // not sent
	EXPECT_TRUE(r.reap().empty());
	EXPECT_EQ(r.send().size(), 1u);
	r.answered();
	r.answered();
	EXPECT_EQ(r.done(), Slots{0});
	mrc_req_fail(&r.req, -1, MRC_WC_FLUSH);
	r.answered();
}

TEST(Answer, TheOldestAndThatOfANumber)
{
	ExtRequester r;
	r.init();
	u32 slot;
	EXPECT_FALSE(mrc_req_oldest(&r.req, &slot));
	EXPECT_FALSE(mrc_req_find(&r.req, 0, &slot));
	r.post(MRC_WR_WRITE);
	r.post(MRC_WR_READ);
	r.post(MRC_WR_WRITE);
	r.post(MRC_WR_FLUSH);
	EXPECT_FALSE(mrc_req_oldest(&r.req, &slot)); // not sent
	EXPECT_FALSE(mrc_req_find(&r.req, 0, &slot));
	r.send();
	ASSERT_TRUE(mrc_req_oldest(&r.req, &slot));
	EXPECT_EQ(slot, 1u);
	ASSERT_TRUE(mrc_req_find(&r.req, 0, &slot));
	EXPECT_EQ(slot, 1u);
	ASSERT_TRUE(mrc_req_find(&r.req, 1, &slot));
	EXPECT_EQ(slot, 3u);
	EXPECT_FALSE(mrc_req_find(&r.req, 2, &slot));
	r.answered();
	EXPECT_FALSE(mrc_req_find(&r.req, 0, &slot));
	ASSERT_TRUE(mrc_req_oldest(&r.req, &slot));
	EXPECT_EQ(slot, 3u);
	mrc_req_fail(&r.req, -1, MRC_WC_FLUSH);
	EXPECT_FALSE(mrc_req_oldest(&r.req, &slot));
	EXPECT_FALSE(mrc_req_find(&r.req, 1, &slot));
}

// The queue goes round many times, with other work in between.
TEST(Answer, SlotsAndNumbersGoRound)
{
	ExtRequester r;
	r.cfg.sq_depth = 8;
	r.cfg.max_rd_atomic = 3;
	r.init();
	for (u32 i = 0; i < 300; i++) {
		u32 n = 0;
		for (u32 k = 0; k < 1 + i % 5; k++)
			r.post(k % 2 ? MRC_WR_READ : MRC_WR_WRITE);
		for (;;) {
			u32 slot;
			r.send();
			if (!mrc_req_oldest(&r.req, &slot))
				break;
			EXPECT_EQ(r.req.wqe[slot].wr.op, MRC_WR_READ);
			r.answered();
			n++;
		}
		EXPECT_EQ(n, (1 + i % 5) / 2);
		r.ack(psn_at(r.req.next_psn, -1));
		EXPECT_EQ(r.done().size(), 1 + i % 5);
	}
}

TEST(Answer, AnAckAheadOfItIsKept)
{
	ExtRequester r;
	r.init();
	for (u8 op : {MRC_WR_WRITE, MRC_WR_READ, MRC_WR_WRITE, MRC_WR_READ,
		      MRC_WR_WRITE})
		r.post(op);
	EXPECT_EQ(r.send().size(), 5u);
	r.ack(r.psn(4));
	EXPECT_EQ(r.req.cack, r.psn(4)); // executed is received
	EXPECT_EQ(r.req.n_out, 0u);
	EXPECT_EQ(r.req.tack, r.psn(0));
	EXPECT_EQ(r.done(), Slots{0});
	r.answered();
	EXPECT_EQ(r.req.tack, r.psn(2));
	EXPECT_EQ(r.done(), (Slots{1, 2}));
	r.answered();
	EXPECT_EQ(r.done(), (Slots{3, 4}));
	EXPECT_EQ(r.req.timer_at, MRC_NEVER);
}

TEST(Answer, AnAckNeverCompletesARequest)
{
	ExtRequester r;
	r.init();
	r.go(MRC_WR_ATOMIC_WRITE);
	for (int i = 0; i < 3; i++)
		r.ack(r.psn(0));
	r.sack_all(r.psn(0));
	EXPECT_TRUE(r.reap().empty());
	EXPECT_EQ(r.req.rd_out, 1u);
	EXPECT_EQ(r.req.tack, r.psn(-1));
}

TEST(Answer, ANakOfTheRequestItselfFailsIt)
{
	const std::pair<u8, mrc_wc_status> cases[] = {
		{MRC_SYN_NAK_INV_REQ, MRC_WC_REM_INV_REQ},
		{MRC_SYN_NAK_ACCESS, MRC_WC_REM_ACCESS},
		{MRC_SYN_NAK_REM_OP, MRC_WC_REM_OP},
	};
	for (auto [syn, st] : cases) {
		ExtRequester r;
		r.init();
		r.post(MRC_WR_WRITE);
		r.post(MRC_WR_READ);
		r.post(MRC_WR_WRITE);
		r.send();
		r.ack(r.psn(1), syn);
		EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
					  {1, st},
					  {2, MRC_WC_FLUSH}}));
		EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
	}
}

TEST(Answer, ANakAheadOfAnswersWaitsForThem)
{
	ExtRequester r;
	r.init();
	for (u8 op :
	     {MRC_WR_READ, MRC_WR_WRITE, MRC_WR_READ, MRC_WR_SEND, MRC_WR_READ})
		r.post(op);
	EXPECT_EQ(r.send().size(), 5u);
	r.ack(r.psn(3), MRC_SYN_NAK_INV_REQ);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	EXPECT_TRUE(r.reap().empty());
	// It repeats that, and says what cannot be.
	const u64 stale = r.count(MRC_CTR_DROP_STALE);
	r.ack(r.psn(3), MRC_SYN_NAK_INV_REQ);
	EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), stale);
	r.ack(r.psn(4), MRC_SYN_NAK_ACCESS);
	r.ack(r.psn(3));
	r.ack(r.psn(2), MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), stale + 3);
	r.ack(r.psn(2));
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.answered();
	EXPECT_EQ(r.done(), (Slots{0, 1}));
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.answered();
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
	EXPECT_EQ(r.reap(), (Done{{2, MRC_WC_SUCCESS},
				  {3, MRC_WC_REM_INV_REQ},
				  {4, MRC_WC_FLUSH}}));
}

TEST(Answer, FailureForgetsTheKeptNak)
{
	ExtRequester r;
	r.init();
	r.post(MRC_WR_READ);
	r.post(MRC_WR_SEND);
	r.send();
	r.ack(r.psn(1), MRC_SYN_NAK_INV_REQ);
	mrc_req_fail(&r.req, 0, MRC_WC_LOC_PROT); // the answer's memory
	r.answered();
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_LOC_PROT}, {1, MRC_WC_FLUSH}}));
}

// A peer that has never heard of the extension.
TEST(Answer, UnknownOpcodesAreInvalidRequests)
{
	for (u8 op : {MRC_WR_SEND, MRC_WR_SEND_IMM, MRC_WR_SEND_INV,
		      MRC_WR_READ, MRC_WR_CMP_SWAP, MRC_WR_FETCH_ADD,
		      MRC_WR_ATOMIC_WRITE, MRC_WR_FLUSH}) {
		ExtRequester r;
		r.init();
		r.go(op);
		r.nack(r.psn(0), MRC_NACK_UNEXP_EVENT, 0);
		EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_REM_INV_REQ}})) << +op;
	}
	for (bool imm : {false, true}) {
		ExtRequester r;
		r.init();
		r.write(8, imm);
		r.send();
		r.nack(r.psn(0), MRC_NACK_UNEXP_EVENT, 0);
		EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_REM_OP}}));
	}
}

// Requests that the peer has no room for are a shortage like any other.
TEST(Answer, ARequestMayBeRefusedForATime)
{
	ExtRequester r;
	r.init();
	r.go(MRC_WR_READ);
	r.nack(r.psn(0), MRC_NACK_NO_RESOURCE, 0);
	EXPECT_EQ(r.count(MRC_CTR_NACK_SHORTAGE), 1u);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD);
	auto out = r.step();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_TRUE(out[0].hdr.rtx);
	r.answered();
	EXPECT_EQ(r.done(), Slots{0});
}

// The peer is asked once per RTO, and as long as it says anything that costs
// nothing: ten times the budget and more.
TEST(AnswerWait, AsLongAsThePeerIsHeard)
{
	for (bool ack : {false, true}) {
		ExtRequester r;
		r.cfg.linear_cnt = 2;
		r.cfg.exp_cnt = 0;
		r.init();
		r.post(MRC_WR_WRITE);
		r.post(MRC_WR_READ);
		EXPECT_EQ(r.send().size(), 2u);
		r.sack_all(r.psn(1));
		r.ack(r.psn(0));
		EXPECT_EQ(r.done(), Slots{0});
		for (int i = 0; i < 30; i++) {
			u64 before = r.now;
			auto out = r.step();
			ASSERT_EQ(out.size(), 1u) << i;
			EXPECT_EQ(out[0].hdr.opcode, MRC_OP_READ_REQ);
			EXPECT_EQ(out[0].hdr.psn, r.psn(1));
			EXPECT_TRUE(out[0].hdr.a);
			EXPECT_GE(r.now - before, r.cfg.rto);
			EXPECT_EQ(r.req.retries, 1u);
			if (ack)
				r.ack(r.psn(0));
			else
				r.sack({.cack = r.psn(1), .rtx = true});
			EXPECT_EQ(r.req.retries, 0u);
		}
		EXPECT_EQ(r.count(MRC_CTR_RTX_LAST_PSN), 30u);
		EXPECT_EQ(r.count(MRC_CTR_TX_REQUEST), 1u);
		r.answered();
		EXPECT_EQ(r.done(), Slots{1});
		EXPECT_EQ(r.req.timer_at, MRC_NEVER);
	}
}

TEST(AnswerWait, ADeadPeerEndsIt)
{
	ExtRequester r;
	r.cfg.linear_cnt = 2;
	r.cfg.exp_cnt = 1;
	r.init();
	r.go(MRC_WR_READ);
	r.go(MRC_WR_WRITE);
	r.sack_all(r.psn(1));
	int n = 0;
	while (r.req.state == MRC_REQ_READY && n < 20) {
		r.step();
		n++;
	}
	EXPECT_EQ(n, 4);
	EXPECT_EQ(r.count(MRC_CTR_RETRY_EXC), 1u);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_RETRY_EXC}, {1, MRC_WC_FLUSH}}));
}

// As in MRC 1.0: a peer that goes on acknowledging receipt but not execution
// of a write does use up the budget.
TEST(AnswerWait, AMissingAckIsNoAnswer)
{
	ExtRequester r;
	r.cfg.linear_cnt = 2;
	r.cfg.exp_cnt = 0;
	r.init();
	r.post(MRC_WR_WRITE);
	r.post(MRC_WR_READ);
	r.send();
	r.sack_all(r.psn(1));
	int n = 0;
	for (; r.req.state == MRC_REQ_READY && n < 20; n++) {
		r.step();
		r.sack({.cack = r.psn(1), .rtx = true});
	}
	EXPECT_EQ(n, 3);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_RETRY_EXC}, {1, MRC_WC_FLUSH}}));
}

// While packets are missing the budget is theirs.
TEST(AnswerWait, ALostPacketIsNoAnswer)
{
	ExtRequester r;
	r.cfg.linear_cnt = 2;
	r.cfg.exp_cnt = 0;
	r.init();
	r.go(MRC_WR_READ);
	r.sack_all(r.psn(0));
	r.go(MRC_WR_WRITE);
	for (int n = 0; r.req.state == MRC_REQ_READY && n < 3; n++) {
		r.expire();
		r.send();
		r.ack(r.psn(-1));
	}
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_RETRY_EXC}, {1, MRC_WC_FLUSH}}));
}

// An answer is progress like a transport ACK.
TEST(AnswerWait, AnswersRestoreTheBudget)
{
	for (bool kept : {false, true}) {
		ExtRequester r;
		r.init();
		r.post(MRC_WR_READ);
		r.post(MRC_WR_READ);
		r.send();
		r.sack_all(r.psn(1));
		if (kept) // nothing new will be acknowledged
			r.ack(r.psn(1));
		r.step();
		r.step();
		EXPECT_EQ(r.req.retries, 2u);
		r.answered();
		EXPECT_EQ(r.req.retries, 0u);
		EXPECT_LE(r.req.timer_at, r.now + r.cfg.rto);
	}
}

TEST(AnswerWait, WithoutATimerItIsForEver)
{
	ExtRequester r;
	r.cfg.rto = 0;
	r.init();
	r.go(MRC_WR_READ);
	r.sack_all(r.psn(0));
	EXPECT_EQ(mrc_req_deadline(&r.req), MRC_NEVER);
	r.answered();
	EXPECT_EQ(r.done(), Slots{0});
}

// No path for what asks for the answer: time without a path costs retries,
// but what waited for the path no longer counts when nothing is to be sent.
TEST(AnswerWait, GatesAreNoLackOfPaths)
{
	ExtRequester r;
	r.cfg.max_rd_atomic = 1;
	r.cfg.linear_cnt = 2;
	r.cfg.exp_cnt = 0;
	r.init();
	const u32 ports = r.paths.ports_up;
	r.post(MRC_WR_READ);
	r.post(MRC_WR_READ);
	EXPECT_EQ(r.send().size(), 1u);
	r.expire();
	mrc_req_set_ports(&r.req, 0, r.now);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_EV);
	r.sack_all(r.psn(0)); // the first copy
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_RD);
	EXPECT_EQ(r.req.no_ev_at, 0u);
	mrc_req_set_ports(&r.req, ports, r.now);
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(r.wait().size(), 1u);
		r.sack({.cack = r.psn(0), .rtx = true});
	}
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
}
