// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester of the extension: what may be posted, packets, gates, local
// operations.
#include "req_ext_fixture.hpp"

#include <algorithm>

using namespace mrc_test;

namespace
{

const u8 kSends[] = {MRC_WR_SEND, MRC_WR_SEND_IMM, MRC_WR_SEND_INV};
const u8 kRequests[] = {MRC_WR_READ, MRC_WR_CMP_SWAP, MRC_WR_FETCH_ADD,
			MRC_WR_ATOMIC_WRITE, MRC_WR_FLUSH};
const u8 kAnswers[] = {MRC_WR_ANSWER, MRC_WR_ANSWER_ATOMIC};

std::vector<u8> opcodes(const std::vector<mrc_tx_desc> &v)
{
	std::vector<u8> out;
	for (const auto &d : v)
		out.push_back(d.hdr.opcode);
	return out;
}

using Ops = std::vector<u8>;

} // namespace

TEST(ExtConf, RefusesWhatMakesNoSense)
{
	ExtRequester r;
	r.cfg.rnr_retry = 8;
	EXPECT_EQ(mrc_req_mem(&r.cfg), 0u);
	EXPECT_EQ(r.init(), -EINVAL);
	r.cfg.rnr_retry = 7;
	r.cfg.ans = true;
	r.cfg.ext = false;
	EXPECT_EQ(r.init(), -EINVAL);
	r.cfg.ext = true;
	EXPECT_EQ(r.init(), 0);
}

TEST(ExtConf, MemoryForRequestsOnlyWhereThereAreAny)
{
	Requester plain;
	plain.cfg.max_rd_atomic = 255;
	const size_t size = mrc_req_mem(&plain.cfg);
	ExtRequester r;
	r.cfg.max_rd_atomic = 0;
	EXPECT_EQ(mrc_req_mem(&r.cfg), size);
	r.cfg.max_rd_atomic = 5;
	EXPECT_EQ(mrc_req_mem(&r.cfg), size + 8 * sizeof(u32));
	r.cfg.ans = true;
	EXPECT_EQ(mrc_req_mem(&r.cfg), size);
}

TEST(ExtPost, NothingWithoutTheExtension)
{
	Requester r;
	r.cfg.max_rd_atomic = 4;
	r.init();
	for (u8 op = 0; op < MRC_WR_MAX + 3; op++) {
		mrc_wr w = ExtRequester::wr(op);
		bool ok = op == MRC_WR_WRITE || op == MRC_WR_WRITE_IMM ||
			  op == MRC_WR_LOCAL;
		EXPECT_EQ(mrc_req_post(&r.req, &w, r.now) >= 0, ok) << +op;
	}
	r.check();
}

TEST(ExtPost, AnswersBelongToTheirChannel)
{
	for (bool ans : {false, true}) {
		ExtRequester r;
		r.cfg.ans = ans;
		r.init();
		for (u8 op = 0; op < MRC_WR_MAX; op++) {
			bool answer = std::find(std::begin(kAnswers),
						std::end(kAnswers),
						op) != std::end(kAnswers);
			EXPECT_EQ(mrc_wr_is_answer(op), answer);
			EXPECT_EQ(r.post(op) >= 0, ans == answer) << +op;
		}
		EXPECT_EQ(r.post((u8)MRC_WR_MAX), -EINVAL);
		EXPECT_EQ(r.post((u8)255), -EINVAL);
	}
}

TEST(ExtPost, NoRequestsWhereNoneMayBeOut)
{
	ExtRequester r;
	r.cfg.max_rd_atomic = 0;
	r.init();
	for (u8 op : kRequests)
		EXPECT_EQ(r.post(op), -EINVAL) << +op;
	for (u8 op : kSends)
		EXPECT_GE(r.post(op), 0) << +op;
}

TEST(ExtPost, Lengths)
{
	ExtRequester r;
	r.init();
	for (u8 op : {MRC_WR_CMP_SWAP, MRC_WR_FETCH_ADD, MRC_WR_ATOMIC_WRITE})
		for (u32 len : {0u, 7u, 9u, MRC_MAX_MSG})
			EXPECT_EQ(r.post(op, len), -EINVAL);
	for (u8 op : {MRC_WR_SEND, MRC_WR_READ, MRC_WR_FLUSH}) {
		EXPECT_EQ(r.post(op, MRC_MAX_MSG + 1), -EINVAL);
		EXPECT_GE(r.post(op, MRC_MAX_MSG), 0);
		EXPECT_GE(r.post(op, 0), 0);
	}
	ExtRequester c;
	c.cfg.ans = true;
	c.init();
	EXPECT_EQ(c.post(MRC_WR_ANSWER_ATOMIC, 4), -EINVAL);
	EXPECT_GE(c.post(MRC_WR_ANSWER, 4), 0);
}

TEST(ExtPacket, SendOfSeveralPackets)
{
	const Ops last = {MRC_OP_SEND_LAST, MRC_OP_SEND_LAST_IMM,
			  MRC_OP_SEND_LAST_INV};
	for (u8 i = 0; i < 3; i++) {
		ExtRequester r;
		r.init();
		r.write(1); // msn 0, takes no receive
		r.write(1, true);
		r.send();
		auto out = r.go(kSends[i], 256 * 2 + 5);
		EXPECT_EQ(opcodes(out), (Ops{MRC_OP_SEND_FIRST,
					     MRC_OP_SEND_MIDDLE, last[i]}));
		for (u32 k = 0; k < 3; k++) {
			const mrc_hdr &h = out[k].hdr;
			EXPECT_EQ(h.psn, r.psn(2 + k));
			EXPECT_EQ(h.msn, 2);
			EXPECT_EQ(h.rqmsn, 1);
			EXPECT_EQ(h.reth.va, 256 * k);
			EXPECT_EQ(h.reth.dmalen, 517u);
			EXPECT_EQ(h.reth.rkey, k == 2 && i == 2 ? 0xABCDu : 0u);
			EXPECT_EQ(h.reth.imm,
				  k == 2 && i == 1 ? (__be32)0x11223344 : 0u);
			EXPECT_EQ(h.se, k == 2);
			EXPECT_EQ(h.a, k == 2);
			EXPECT_FALSE(h.ans);
			EXPECT_EQ(h.pad, k == 2 ? 3 : 0);
			EXPECT_EQ(h.hdr_len, mrc_hdr_len(&h));
			EXPECT_EQ(out[k].off, 256 * k);
			EXPECT_EQ(out[k].len, k == 2 ? 5u : 256u);
			EXPECT_TRUE(out[k].data);
		}
	}
}

TEST(ExtPacket, SendOfOnePacketAndOfNoBytes)
{
	const Ops only = {MRC_OP_SEND_ONLY, MRC_OP_SEND_ONLY_IMM,
			  MRC_OP_SEND_ONLY_INV};
	for (u8 i = 0; i < 3; i++) {
		for (u32 len : {0u, 1u, 256u}) {
			ExtRequester r;
			r.init();
			auto out = r.go(kSends[i], len);
			ASSERT_EQ(opcodes(out), Ops{only[i]});
			EXPECT_EQ(out[0].hdr.reth.va, 0u);
			EXPECT_EQ(out[0].hdr.reth.dmalen, len);
			EXPECT_EQ(out[0].hdr.reth.rkey, i == 2 ? 0xABCDu : 0);
			EXPECT_EQ(out[0].len, len);
		}
	}
}

// The first packet of the first SEND, and the length of the whole.
TEST(ExtPacket, SendsOfTheLargestMessage)
{
	ExtRequester r;
	r.init();
	int slot = r.post(MRC_WR_SEND, MRC_MAX_MSG);
	EXPECT_EQ(r.req.wqe[slot].npkts, 1u << 23);
	mrc_tx_desc d;
	ASSERT_EQ(r.next(&d), MRC_TX_PACKET);
	EXPECT_EQ(d.hdr.reth.dmalen, MRC_MAX_MSG);
	EXPECT_EQ(d.len, 256u);
}

TEST(ExtPacket, Requests)
{
	struct {
		u8 op, opcode;
		u64 swap, compare;
	} const want[] = {
		{MRC_WR_READ, MRC_OP_READ_REQ, 0, 0},
		{MRC_WR_CMP_SWAP, MRC_OP_CMP_SWAP, 0x0102030405060708,
		 0x1112131415161718},
		{MRC_WR_FETCH_ADD, MRC_OP_FETCH_ADD, 0, 0x1112131415161718},
		{MRC_WR_ATOMIC_WRITE, MRC_OP_ATOMIC_WRITE, 0x0102030405060708,
		 0},
		{MRC_WR_FLUSH, MRC_OP_FLUSH, 0x0102030405060708, 0},
	};
	ExtRequester r;
	r.cfg.max_rd_atomic = 5;
	r.init();
	r.write(1);
	r.write(1, true); // a count of its own
	r.send();
	u16 n = 0;
	for (const auto &w : want) {
		auto out = r.go(w.op);
		ASSERT_EQ(opcodes(out), Ops{w.opcode});
		const mrc_hdr &h = out[0].hdr;
		EXPECT_EQ(h.msn, 2 + n);
		EXPECT_EQ(h.rqmsn, n);
		EXPECT_EQ(h.reth.va, 0x10008u);
		EXPECT_EQ(h.reth.rkey, 0xABCDu);
		EXPECT_EQ(h.reth.dmalen, 8u);
		EXPECT_EQ(h.opeth.swap, w.swap);
		EXPECT_EQ(h.opeth.compare, w.compare);
		EXPECT_TRUE(h.a);
		EXPECT_FALSE(h.se);
		EXPECT_EQ(h.pad, 0);
		EXPECT_EQ(h.hdr_len, mrc_hdr_len(&h));
		EXPECT_TRUE(out[0].data);
		EXPECT_EQ(out[0].len, 0u);
		EXPECT_EQ(out[0].off, 0u);
		n++;
	}
	EXPECT_EQ(r.count(MRC_CTR_TX_REQUEST), 5u);
	EXPECT_EQ(r.count(MRC_CTR_TX_DATA_BYTES), 2u);
}

// The length of a READ is not that of its packet.
TEST(ExtPacket, ReadOfAnyLengthIsOnePacket)
{
	for (u32 len : {0u, 1u, 257u, MRC_MAX_MSG}) {
		ExtRequester r;
		r.init();
		auto out = r.go(MRC_WR_READ, len);
		ASSERT_EQ(out.size(), 1u);
		EXPECT_EQ(out[0].hdr.reth.dmalen, len);
		EXPECT_EQ(out[0].hdr.reth.va, 0x10008u);
		EXPECT_EQ(out[0].hdr.payload_len, 0u);
		EXPECT_EQ(r.req.inflight,
			  mrc_nominal_size(out[0].hdr.hdr_len, 0));
	}
}

TEST(ExtPacket, RequestsGoAgainAsTheyWere)
{
	ExtRequester r;
	r.init();
	auto one = r.go(MRC_WR_CMP_SWAP);
	r.expire();
	auto two = r.send();
	ASSERT_EQ(opcodes(two), Ops{MRC_OP_CMP_SWAP});
	EXPECT_TRUE(two[0].hdr.rtx);
	EXPECT_EQ(two[0].hdr.psn, one[0].hdr.psn);
	EXPECT_EQ(two[0].hdr.rqmsn, one[0].hdr.rqmsn);
	EXPECT_EQ(two[0].hdr.opeth.swap, one[0].hdr.opeth.swap);
	EXPECT_EQ(two[0].hdr.opeth.compare, one[0].hdr.opeth.compare);
	EXPECT_EQ(r.count(MRC_CTR_TX_REQUEST), 1u);
	EXPECT_EQ(r.req.rd_out, 1u);
}

TEST(ExtPacket, Answers)
{
	ExtRequester r;
	r.cfg.ans = true;
	r.init();
	auto out = r.go(MRC_WR_ANSWER, 256 + 3);
	EXPECT_EQ(opcodes(out),
		  (Ops{MRC_OP_READ_RESP_FIRST, MRC_OP_READ_RESP_LAST}));
	for (u32 k = 0; k < 2; k++) {
		EXPECT_EQ(out[k].hdr.msn, 77);
		EXPECT_EQ(out[k].hdr.rqmsn, 0);
		EXPECT_EQ(out[k].hdr.reth.va, 256 * k);
		EXPECT_EQ(out[k].hdr.reth.rkey, 0u);
		EXPECT_EQ(out[k].hdr.reth.dmalen, 259u);
		EXPECT_TRUE(out[k].hdr.ans);
		EXPECT_FALSE(out[k].hdr.se);
	}
	EXPECT_EQ(opcodes(r.go(MRC_WR_ANSWER, 256 * 3)),
		  (Ops{MRC_OP_READ_RESP_FIRST, MRC_OP_READ_RESP_MIDDLE,
		       MRC_OP_READ_RESP_LAST}));
	auto zero = r.go(MRC_WR_ANSWER, 0);
	ASSERT_EQ(opcodes(zero), Ops{MRC_OP_READ_RESP_ONLY});
	EXPECT_EQ(zero[0].hdr.reth.dmalen, 0u);
	auto atomic = r.go(MRC_WR_ANSWER_ATOMIC);
	ASSERT_EQ(opcodes(atomic), Ops{MRC_OP_ATOMIC_RESP});
	EXPECT_EQ(atomic[0].hdr.reth.dmalen, 8u);
	EXPECT_EQ(atomic[0].len, 8u);
	EXPECT_EQ(r.count(MRC_CTR_TX_REQUEST), 0u);
	r.ack(r.psn(6));
	EXPECT_EQ(r.done(), (Slots{0, 1, 2, 3}));
}

TEST(ExtPacket, ProbesAreMarkedAsWell)
{
	for (bool ans : {false, true}) {
		ExtRequester r;
		r.cfg.ans = ans;
		r.init();
		r.go(ans ? MRC_WR_ANSWER : MRC_WR_SEND);
		r.now = r.req.tail_probe_at;
		r.send();
		ASSERT_EQ(r.probes.size(), 1u);
		EXPECT_EQ(r.probes[0].hdr.ans, ans);
	}
}

// What the counts of a 16-bit field do where they wrap.
TEST(ExtPacket, RequestNumbersWrap)
{
	ExtRequester r;
	r.init();
	r.req.rd_next = 0xFFFE;
	for (int i = 0; i < 4; i++)
		r.post(MRC_WR_READ);
	auto out = r.send();
	ASSERT_EQ(out.size(), 4u);
	EXPECT_EQ(out[1].hdr.rqmsn, 0xFFFF);
	EXPECT_EQ(out[2].hdr.rqmsn, 0);
	u32 slot;
	for (u32 i = 0; i < 4; i++) {
		ASSERT_TRUE(mrc_req_find(&r.req, (u16)(0xFFFE + i), &slot));
		EXPECT_EQ(slot, i);
	}
	EXPECT_FALSE(mrc_req_find(&r.req, 0xFFFD, &slot));
	EXPECT_FALSE(mrc_req_find(&r.req, 2, &slot));
	for (int i = 0; i < 4; i++)
		r.answered();
	EXPECT_EQ(r.done().size(), 4u);
}

// MAX_WIMM_DEST is the depth of what waits for its turn at the peer: whatever
// takes a receive counts.
TEST(ExtGate, EverythingThatTakesAReceiveCounts)
{
	ExtRequester r;
	r.cfg.max_wimm = 2;
	r.init();
	r.post(MRC_WR_SEND);
	r.write(1, true);
	r.post(MRC_WR_SEND_INV);
	r.post(MRC_WR_SEND_IMM);
	r.write(1);
	mrc_tx_verdict why;
	EXPECT_EQ(r.send(&why).size(), 2u);
	EXPECT_EQ(why, MRC_TX_WAIT_WIMM);
	EXPECT_EQ(r.count(MRC_CTR_STALL_WIMM), 1u);
	r.ack(r.psn(0));
	EXPECT_EQ(opcodes(r.send(&why)), Ops{MRC_OP_SEND_ONLY_INV});
	EXPECT_EQ(why, MRC_TX_WAIT_WIMM);
	r.ack(r.psn(2));
	EXPECT_EQ(r.send().size(), 2u);
	r.ack(r.psn(4));
	EXPECT_EQ(r.done().size(), 5u);
	EXPECT_EQ(r.req.wimm_out, 0u);
}

TEST(ExtGate, AtMostMaxRdAtomicRequestsAreOut)
{
	ExtRequester r;
	r.cfg.max_rd_atomic = 2;
	r.init();
	for (u8 op : kRequests)
		EXPECT_GE(r.post(op), 0);
	r.post(MRC_WR_WRITE);
	mrc_tx_verdict why;
	EXPECT_EQ(r.send(&why).size(), 2u);
	EXPECT_EQ(why, MRC_TX_WAIT_RD);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_RD);
	EXPECT_EQ(r.count(MRC_CTR_STALL_RD), 1u);
	// That they were received changes nothing, and an ACK neither.
	r.sack_all(r.psn(1));
	r.ack(r.psn(1));
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_RD);
	EXPECT_TRUE(r.reap().empty());
	for (int left = 3; left; left--) {
		r.answered();
		auto out = r.send(&why);
		ASSERT_EQ(out.size(), left == 1 ? 2u : 1u);
		EXPECT_EQ(why, left == 1 ? MRC_TX_IDLE : MRC_TX_WAIT_RD);
	}
	EXPECT_EQ(r.count(MRC_CTR_STALL_RD), 3u);
}

// Nothing follows that would draw feedback: what is out is asked for as where
// a window is full.
TEST(ExtGate, WhatIsOutIsAskedForSoon)
{
	for (bool fence : {false, true}) {
		ExtRequester r;
		r.cfg.max_rd_atomic = 1;
		r.cfg.base_rtt = kMs; // silence is two of them
		r.init();
		r.go(MRC_WR_READ);
		EXPECT_EQ(mrc_req_deadline(&r.req), r.now + r.cfg.rto / 2);
		fence ? r.fenced(MRC_WR_WRITE) : r.post(MRC_WR_READ);
		r.verdict();
		EXPECT_EQ(mrc_req_deadline(&r.req), r.now + r.cfg.rto / 4);
		r.sack_all(r.psn(0));
		r.verdict();
		EXPECT_EQ(mrc_req_deadline(&r.req), r.req.timer_at);
		r.answered();
		EXPECT_EQ(r.send().size(), 1u);
	}
}

// SENDs and WRITEs pass by what awaits answers.
TEST(ExtGate, OnlyRequestsWaitForAnswers)
{
	ExtRequester r;
	r.cfg.max_rd_atomic = 1;
	r.init();
	r.post(MRC_WR_READ);
	r.post(MRC_WR_SEND);
	r.post(MRC_WR_WRITE);
	r.write(1, true);
	EXPECT_EQ(r.send().size(), 4u);
	r.ack(r.psn(3));
	EXPECT_TRUE(r.reap().empty());
	r.answered();
	EXPECT_EQ(r.done(), (Slots{0, 1, 2, 3}));
}

TEST(ExtGate, FenceWaitsForAllEarlierAnswers)
{
	for (u8 op : {MRC_WR_WRITE, MRC_WR_SEND, MRC_WR_READ, MRC_WR_LOCAL}) {
		ExtRequester r;
		r.init();
		r.post(MRC_WR_READ);
		r.post(MRC_WR_FETCH_ADD);
		int slot = r.fenced(op);
		r.post(MRC_WR_WRITE);
		mrc_tx_verdict why;
		EXPECT_EQ(r.send(&why).size(), 2u);
		EXPECT_EQ(why, MRC_TX_WAIT_FENCE);
		EXPECT_EQ(r.count(MRC_CTR_STALL_FENCE), 1u);
		r.ack(r.psn(1)); // ahead of the answers
		EXPECT_EQ(r.verdict(), MRC_TX_WAIT_FENCE);
		r.answered();
		EXPECT_EQ(r.verdict(), MRC_TX_WAIT_FENCE);
		r.answered();
		EXPECT_EQ(r.count(MRC_CTR_STALL_FENCE), 1u);
		auto out = r.send(&why);
		if (op == MRC_WR_LOCAL) {
			EXPECT_TRUE(out.empty());
			EXPECT_EQ(why, MRC_TX_LOCAL);
			r.local_done((u32)slot);
			out = r.send(&why);
			EXPECT_EQ(out.size(), 1u);
		} else {
			EXPECT_EQ(out.size(), 2u);
		}
		EXPECT_EQ(why, MRC_TX_IDLE);
	}
}

// A fence says nothing about writes and sends.
TEST(ExtGate, FenceIsForRequestsOnly)
{
	ExtRequester r;
	r.init();
	r.post(MRC_WR_WRITE);
	r.post(MRC_WR_SEND);
	r.fenced(MRC_WR_READ);
	EXPECT_EQ(r.send().size(), 3u);
	EXPECT_EQ(r.count(MRC_CTR_STALL_FENCE), 0u);
}

// A message that has begun is not held up by requests behind it, nor a packet
// that is sent again.
TEST(ExtGate, AFencedMessageOnceBegunGoesOn)
{
	ExtRequester r;
	r.init();
	r.rec.limit = 2 * 400;
	r.fenced(MRC_WR_WRITE, 256 * 4);
	r.post(MRC_WR_READ);
	EXPECT_EQ(r.send().size(), 2u);
	r.rec.limit = ~0ull;
	EXPECT_EQ(r.send().size(), 3u);
	r.expire();
	EXPECT_EQ(r.send().size(), 5u);
}

// What asks for a SACK is the last packet that can go now: what is gated, or
// never leaves, does not draw one for it.
TEST(ExtGate, LastPacketBeforeAGateAsks)
{
	auto asks = [](u8 next, bool fence, bool earlier) {
		ExtRequester r;
		r.cfg.max_rd_atomic = 1;
		r.init();
		if (earlier)
			r.go(MRC_WR_READ);
		r.post(MRC_WR_WRITE);
		fence ? r.fenced(next) : r.post(next);
		mrc_tx_desc d;
		EXPECT_EQ(r.next(&d), MRC_TX_PACKET);
		EXPECT_EQ(d.hdr.opcode, MRC_OP_WRITE_ONLY);
		return d.hdr.a;
	};

	EXPECT_FALSE(asks(MRC_WR_WRITE, false, false));
	EXPECT_FALSE(asks(MRC_WR_READ, false, false));
	EXPECT_FALSE(asks(MRC_WR_WRITE, false, true));
	EXPECT_FALSE(asks(MRC_WR_WRITE, true, false));
	EXPECT_TRUE(asks(MRC_WR_LOCAL, false, false));
	EXPECT_TRUE(asks(MRC_WR_READ, false, true));
	EXPECT_TRUE(asks(MRC_WR_WRITE, true, true));
}

TEST(ExtLocal, TakesItsTurnAndNothingElse)
{
	ExtRequester r;
	r.init();
	r.post(MRC_WR_WRITE);
	u32 slot = (u32)r.post(MRC_WR_LOCAL);
	r.post(MRC_WR_WRITE);
	mrc_tx_desc d;
	EXPECT_EQ(r.next(&d), MRC_TX_PACKET);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(r.next(&d), MRC_TX_LOCAL);
		EXPECT_EQ(d.slot, slot);
		EXPECT_FALSE(d.data);
	}
	r.local_done(slot);
	ASSERT_EQ(r.next(&d), MRC_TX_PACKET);
	EXPECT_EQ(d.hdr.psn, r.psn(1)); // no PSN and no message number
	EXPECT_EQ(d.hdr.msn, 1);
	EXPECT_EQ(r.next(&d), MRC_TX_IDLE);
	// Completes in posting order.
	EXPECT_TRUE(r.reap().empty());
	r.ack(r.psn(0));
	EXPECT_EQ(r.done(), (Slots{0, 1}));
	r.ack(r.psn(1));
	EXPECT_EQ(r.done(), Slots{2});
	EXPECT_EQ(r.req.timer_at, MRC_NEVER);
}

TEST(ExtLocal, AloneItIsDoneAtOnce)
{
	Requester plain; // needs no extension
	plain.init();
	mrc_wr w{};
	w.op = MRC_WR_LOCAL;
	mrc_tx_desc d;
	for (u32 i = 0; i < 100; i++) {
		ASSERT_EQ(mrc_req_post(&plain.req, &w, plain.now), (int)i % 64);
		ASSERT_EQ(plain.next(&d), MRC_TX_LOCAL);
		mrc_req_local_done(&plain.req, d.slot, MRC_WC_SUCCESS,
				   plain.now);
		plain.check();
		EXPECT_EQ(plain.next(&d), MRC_TX_IDLE);
		EXPECT_EQ(plain.reap(), (Done{{i % 64, MRC_WC_SUCCESS}}));
	}
	EXPECT_EQ(plain.req.next_psn, plain.cfg.sq_psn);
	EXPECT_EQ(mrc_req_deadline(&plain.req), MRC_NEVER);
}

// It needs no window, no path and no timer.
TEST(ExtLocal, WindowsDoNotConcernIt)
{
	ExtRequester r;
	r.cfg.mpr = 1;
	r.cfg.sq_depth = 256;
	r.init();
	EXPECT_EQ(r.send_n(128).size(), 128u);
	r.post(MRC_WR_LOCAL);
	mrc_req_set_ports(&r.req, 0, r.now);
	EXPECT_EQ(r.verdict(), MRC_TX_LOCAL);
}

TEST(ExtLocal, FailureFailsTheQueuePair)
{
	ExtRequester r;
	r.init();
	r.post(MRC_WR_WRITE);
	u32 slot = (u32)r.post(MRC_WR_LOCAL);
	r.post(MRC_WR_WRITE);
	r.send();
	r.local_done(slot, MRC_WC_MW_BIND);
	r.ack(r.psn(0));
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
				  {1, MRC_WC_MW_BIND},
				  {2, MRC_WC_FLUSH}}));
}

TEST(ExtLocal, StrayCallsAreIgnored)
{
	ExtRequester r;
	r.init();
	r.local_done(0);
	r.local_done(1000);
	r.post(MRC_WR_WRITE);
	r.local_done(0); // not local
	EXPECT_EQ(r.send().size(), 1u);
	u32 a = (u32)r.post(MRC_WR_LOCAL);
	u32 b = (u32)r.post(MRC_WR_LOCAL);
	r.local_done(a); // not begun
	EXPECT_EQ(r.verdict(), MRC_TX_LOCAL);
	r.local_done(b); // not its turn
	r.local_done(b, MRC_WC_MW_BIND);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.local_done(a);
	r.local_done(a); // twice
	mrc_tx_desc d;
	EXPECT_EQ(r.next(&d), MRC_TX_LOCAL);
	EXPECT_EQ(d.slot, b);
	mrc_req_fail(&r.req, -1, MRC_WC_FLUSH);
	r.local_done(b, MRC_WC_MW_BIND); // too late
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_FLUSH},
				  {1, MRC_WC_FLUSH},
				  {2, MRC_WC_FLUSH}}));
}

TEST(ExtDrain, RequestsEndWithTheirAnswers)
{
	ExtRequester r;
	r.init();
	r.go(MRC_WR_READ);
	r.post(MRC_WR_WRITE);
	mrc_req_set_drain(&r.req, true);
	EXPECT_EQ(r.verdict(), MRC_TX_IDLE);
	EXPECT_FALSE(mrc_req_drained(&r.req));
	r.sack_all(r.psn(0));
	r.ack(r.psn(0));
	EXPECT_FALSE(mrc_req_drained(&r.req));
	r.answered();
	EXPECT_TRUE(mrc_req_drained(&r.req));
	mrc_req_set_retry(&r.req, 8 * kMs, 1, 1, 7);
	EXPECT_EQ(r.req.cfg.rnr_retry, 7);
	mrc_req_set_drain(&r.req, false);
	EXPECT_EQ(r.send().size(), 1u);
}

TEST(ExtDrain, AnotherNumberOfRequests)
{
	Requester plain;
	plain.init();
	EXPECT_EQ(mrc_req_set_rd_atomic(&plain.req, 0), 0);
	EXPECT_EQ(mrc_req_set_rd_atomic(&plain.req, 1), -EINVAL);
	ExtRequester r;
	r.init();
	EXPECT_EQ(mrc_req_set_rd_atomic(&r.req, 5), -EINVAL);
	EXPECT_EQ(mrc_req_set_rd_atomic(&r.req, 1), 0);
	r.post(MRC_WR_READ);
	r.post(MRC_WR_READ);
	EXPECT_EQ(r.send().size(), 1u);
	mrc_req_set_drain(&r.req, true);
	r.answered();
	EXPECT_EQ(mrc_req_set_rd_atomic(&r.req, 0), 0);
	EXPECT_EQ(r.post(MRC_WR_READ), -EINVAL);
	mrc_req_set_drain(&r.req, false);
	EXPECT_EQ(r.send().size(), 1u);
	r.answered();
	EXPECT_EQ(mrc_req_set_rd_atomic(&r.req, 4), 0);
	for (int i = 0; i < 5; i++)
		r.post(MRC_WR_READ);
	EXPECT_EQ(r.send().size(), 4u);
}

TEST(ExtDrain, LocalOperationsBeginOrTheyDoNot)
{
	ExtRequester r;
	r.init();
	u32 slot = (u32)r.post(MRC_WR_LOCAL);
	r.post(MRC_WR_LOCAL);
	EXPECT_EQ(r.verdict(), MRC_TX_LOCAL);
	mrc_req_set_drain(&r.req, true);
	EXPECT_FALSE(mrc_req_drained(&r.req));
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_READY);
	EXPECT_EQ(r.verdict(), MRC_TX_LOCAL);
	r.local_done(slot);
	EXPECT_TRUE(mrc_req_drained(&r.req));
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_IDLE);
	EXPECT_EQ(r.verdict(), MRC_TX_IDLE);
	mrc_req_set_drain(&r.req, false);
	EXPECT_EQ(r.verdict(), MRC_TX_LOCAL);
}
