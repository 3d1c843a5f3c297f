// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester of the extension: how far ahead messages that take a receive are
// sent after one was refused.
#include "req_ext_fixture.hpp"

using namespace mrc_test;

namespace
{

constexpr u8 k1ms = 13;		 // 960 us
constexpr u64 kHold = 960 * kUs; // of it
constexpr u8 k10ms = 20;	 // 10.24 ms
constexpr u64 kLongHold = 10240 * kUs;

using Sent = std::vector<u32>;

Sent range(u32 from, u32 to)
{
	Sent v;
	for (u32 i = from; i < to; i++)
		v.push_back(i);
	return v;
}

struct RecvRequester : ExtRequester {
	RecvRequester()
	{
		cfg.rnr_retry = MRC_RNR_RETRY_INFINITE;
		cfg.max_wimm = 128;
		cfg.sq_depth = 128;
	}

	// Transport ACK up to @psn; receives are posted for messages before
	// @limit.
	void told(u32 psn, u16 limit)
	{
		mrc_hdr h{};
		h.opcode = MRC_OP_ACK;
		h.psn = psn;
		h.recvs = true;
		h.aeth.syndrome = MRC_SYN_ACK;
		h.aeth.msn = limit;
		mrc_req_on_ack(&req, &h, 1, now);
		check();
	}

	void post_sends(u32 n)
	{
		for (u32 i = 0; i < n; i++)
			ASSERT_GE(post(MRC_WR_SEND), 0);
	}

	// @n messages, of which those from @first on are refused for lack of a
	// receive.
	void refused_sends(u32 n, u32 first = 0)
	{
		post_sends(n);
		ASSERT_EQ(sent(), range(0, n));
		for (u32 i = first; i < n; i++)
			rnr(psn((s32)i), k1ms);
	}

	// Distances of the packets from the first PSN.
	std::vector<u32> index(const std::vector<mrc_tx_desc> &out)
	{
		std::vector<u32> v;
		for (const auto &d : out)
			v.push_back((d.hdr.psn - psn(0)) & MRC_PSN_MASK);
		return v;
	}

	std::vector<u32> sent() { return index(send()); }
	std::vector<u32> later() { return index(wait()); }
};

} // namespace

TEST(Receives, NoLimitBeforeTheFirstRefusal)
{
	RecvRequester r;
	r.init();
	r.post_sends(3);
	EXPECT_EQ(r.sent(), range(0, 3));
	r.told(r.psn(2), 3); // none left
	r.post_sends(3);
	EXPECT_EQ(r.sent(), range(3, 6));
	EXPECT_EQ(r.count(MRC_CTR_STALL_WIMM), 0u);
}

// Of several that were refused the first goes alone.
TEST(Receives, OneAsksForAll)
{
	RecvRequester r;
	r.init();
	r.refused_sends(4);
	for (int i = 0; i < 20; i++) {
		const u64 at = r.now;
		EXPECT_EQ(r.later(), Sent{0}) << i;
		EXPECT_EQ(r.now, at + kHold);
		EXPECT_TRUE(r.sent().empty());
		r.rnr(r.psn(0), k1ms);
	}
	EXPECT_EQ(r.count(MRC_CTR_TX_RTX), 20u);
	EXPECT_EQ(r.count(MRC_CTR_NACK_RNR), 24u);
}

// Times that are shorter than asking takes grow, whatever message it is that is
// the first in line; others that were refused meanwhile wait no longer for it.
TEST(Receives, TheLongerTheLonger)
{
	RecvRequester r;
	r.init();
	r.post_sends(2);
	EXPECT_EQ(r.sent(), range(0, 2));
	for (u32 k = 0; k < 2; k++) {
		u64 wait = 10 * kUs;

		for (int i = 0; i < 12; i++) {
			r.rnr(r.psn((s32)k), 1); // 10 us
			const u64 at = r.now;
			EXPECT_EQ(r.later(), Sent{k}) << i;
			EXPECT_EQ(r.now - at, wait) << i;
			wait = std::min(2 * wait, (u64)MRC_RNR_BACKOFF_NS);
		}
		r.told(r.psn((s32)k), (u16)(k + 1));
		EXPECT_EQ(r.done().size(), 1u);
		if (!k)
			EXPECT_EQ(r.sent(), Sent{1});
	}
}

// The first packet of a message that B has no receive for, as far as is known, goes alone.
// It asks for a SACK: nothing follows that would.
TEST(Receives, TheTestingPacketAsks)
{
	RecvRequester r;
	r.init();
	r.refused_sends(1);
	r.told(r.psn(-1), 0);
	EXPECT_EQ(r.later(), Sent{0});
	r.told(r.psn(0), 1); // none for the next one
	auto out = r.go(MRC_WR_SEND, 256 * 4);
	ASSERT_EQ(out.size(), 1u);
	EXPECT_TRUE(out[0].hdr.a);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_RECV);
	r.sack_all(r.psn(1));
	EXPECT_EQ(r.send().size(), 3u);
}

// A budget is a number of times, each as long as the peer says.
TEST(Receives, ABudgetIsNoLonger)
{
	RecvRequester r;
	r.cfg.rnr_retry = 6;
	r.init();
	r.go(MRC_WR_SEND);
	for (int i = 0; i < 6; i++) {
		r.rnr(r.psn(0), 1);
		const u64 at = r.now;
		EXPECT_EQ(r.later(), Sent{0}) << i;
		EXPECT_EQ(r.now - at, 10 * kUs) << i;
	}
	r.rnr(r.psn(0), 1);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_RNR_RETRY_EXC}}));
}

// What the peer says counts at once, exactly.
TEST(Receives, AsFarAsThePeerSays)
{
	RecvRequester r;
	r.init();
	r.refused_sends(8);
	EXPECT_EQ(r.later(), Sent{0});
	r.told(r.psn(0), 6);
	EXPECT_EQ(r.sent(), range(1, 6));
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD); // nothing new either
	r.told(r.psn(3), 6);
	EXPECT_TRUE(r.sent().empty());
	r.told(r.psn(4), 7); // another one was posted meanwhile
	EXPECT_EQ(r.sent(), Sent{6});
	r.told(r.psn(5), 7);
	r.told(r.psn(6), 7);
	// First in line: nobody else could learn of new receives.
	EXPECT_EQ(r.sent(), Sent{7});
	r.told(r.psn(7), 100);
	EXPECT_EQ(r.done().size(), 8u);
}

// The number of receives counts although the ACK acknowledges nothing new.
TEST(Receives, CountWithoutANewAcknowledgment)
{
	RecvRequester r;
	r.init();
	r.refused_sends(3);
	EXPECT_EQ(r.later(), Sent{0});
	EXPECT_TRUE(r.sent().empty());
	r.told(r.psn(-1), 3);
	EXPECT_EQ(r.sent(), range(1, 3));
}

// New messages wait for the longest of the RNR waits.
TEST(Receives, TheLongestWaitCounts)
{
	RecvRequester r;
	r.init();
	r.post_sends(2);
	EXPECT_EQ(r.sent(), range(0, 2));
	r.rnr(r.psn(0), k10ms);
	r.rnr(r.psn(1), k1ms);
	r.post_sends(1);
	r.told(r.psn(-1), 3);
	const u64 at = r.now;
	EXPECT_TRUE(r.sent().empty());
	EXPECT_EQ(r.later(), Sent{1});
	EXPECT_EQ(r.now, at + kHold);
	r.sack({.cack = r.psn(-1), .ack = 2, .base = 2, .map = 1, .rtx = true});
	EXPECT_EQ(r.later(), (Sent{0, 2}));
	EXPECT_EQ(r.now, at + kLongHold);
}

TEST(Receives, NewMessagesWaitToo)
{
	RecvRequester r;
	r.init();
	r.go(MRC_WR_SEND);
	r.rnr(r.psn(0), k1ms);
	EXPECT_EQ(r.later(), Sent{0});
	r.post_sends(5);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_RECV);
	EXPECT_EQ(r.count(MRC_CTR_STALL_WIMM), 1u);
	r.told(r.psn(0), 3);
	EXPECT_EQ(r.sent(), range(1, 3));
	r.told(r.psn(1), 3);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_RECV);
	r.told(r.psn(2), 3);
	EXPECT_EQ(r.sent(), Sent{3});
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_RECV);
	r.told(r.psn(3), 6);
	EXPECT_EQ(r.sent(), range(4, 6));
}

// A peer that says nothing: one, then two more for each one received.
TEST(Receives, OfASilentPeerByTrying)
{
	RecvRequester r;
	u32 next = 1, in = 1;
	r.init();
	r.refused_sends(100);
	EXPECT_EQ(r.later(), Sent{0});
	r.now += kHold; // of the others is over as well
	while (next < 100) {
		std::vector<u32> round;
		for (u32 i = 0; i < in; i++) {
			r.ack(r.psn((s32)(next - in + i)));
			for (u32 k : r.sent())
				round.push_back(k);
		}
		const u32 to = std::min(
			next + (in == 1 && next == 1 ? 1 : 2 * in), 100u);
		EXPECT_EQ(round, range(next, to));
		in = to - next;
		next = to;
	}
	r.ack(r.psn(99));
	EXPECT_EQ(r.done().size(), 100u);
}

// What was sent before the refusal proves nothing about the time after it.
TEST(Receives, EarlierOnesDoNotCount)
{
	RecvRequester r;
	r.init();
	r.refused_sends(10, 6);
	for (u32 i = 0; i < 6; i++)
		r.ack(r.psn((s32)i));
	EXPECT_EQ(r.later(), Sent{6});
	EXPECT_TRUE(r.sent().empty());
	r.ack(r.psn(6));
	EXPECT_EQ(r.sent(), Sent{7});
}

// WRITEs and requests need no receive, whether they are new or lost.
TEST(Receives, OthersGoOn)
{
	RecvRequester r;
	r.init();
	r.post_sends(2);
	r.post(MRC_WR_WRITE);
	r.post(MRC_WR_READ);
	EXPECT_EQ(r.sent(), range(0, 4));
	r.rnr(r.psn(0), k1ms);
	r.rnr(r.psn(1), k1ms);
	r.nack(r.psn(2), MRC_NACK_TRIMMED, 0);
	r.nack(r.psn(3), MRC_NACK_TRIMMED, 0);
	EXPECT_EQ(r.sent(), range(2, 4));
	EXPECT_EQ(r.later(), Sent{0});
}

// A message that was lost behind the refused one waits with the others.
TEST(Receives, LostOnesWaitToo)
{
	RecvRequester r;
	r.init();
	r.post_sends(3);
	EXPECT_EQ(r.sent(), range(0, 3));
	r.rnr(r.psn(0), k1ms);
	r.nack(r.psn(2), MRC_NACK_TRIMMED, 0);
	EXPECT_TRUE(r.sent().empty());
	r.sack({.cack = r.psn(-1), .ack = 2, .base = 1, .map = 2});
	EXPECT_EQ(r.later(), Sent{0});
	r.told(r.psn(1), 2);
	EXPECT_EQ(r.sent(), Sent{2});
}

// Without any feedback for the line, it moves when what is before it is
// received: its ACK may be lost.
TEST(Receives, ALostAckStopsNothing)
{
	RecvRequester r;
	r.init();
	r.refused_sends(3);
	EXPECT_EQ(r.later(), Sent{0});
	r.sack_all(r.psn(0));
	EXPECT_EQ(r.sent(), Sent{1});
	r.told(r.psn(1), 9);
	EXPECT_EQ(r.sent(), Sent{2});
}

TEST(Receives, ItIsForgotten)
{
	RecvRequester r;
	u32 n = 0;
	r.init();
	r.go(MRC_WR_SEND);
	r.rnr(r.psn(0), k1ms);
	EXPECT_EQ(r.later(), Sent{0});
	for (; n < MRC_RECV_FORGET; n++) {
		EXPECT_TRUE(r.req.recv_limited) << n;
		r.told(r.psn((s32)n), (u16)(n + 1));
		EXPECT_EQ(r.go(MRC_WR_SEND).size(), 1u);
		r.reap();
	}
	EXPECT_FALSE(r.req.recv_limited);
	r.post_sends(3);
	EXPECT_EQ(r.send().size(), 3u);
}

// Numbers wrap, and the peer may say anything.
TEST(Receives, WhateverThePeerSays)
{
	for (u32 limit : {0u, 1u, 0x7FFFu, 0x8000u, 0xFFFFu}) {
		RecvRequester r;
		u16 n = 0xFFE0;
		r.init();
		r.req.rqmsn = n;
		r.req.recv_done = n;
		r.go(MRC_WR_SEND);
		r.rnr(r.psn(0), k1ms);
		ASSERT_EQ(r.later(), Sent{0});
		r.post_sends(100);
		std::size_t ended = 0;
		for (s32 next = 0; next <= 100;) {
			// All that are out are received, then the next go.
			for (; next < mrc_psn_diff(r.req.next_psn, r.psn(0));
			     next++, n++)
				r.told(r.psn(next), (u16)(n + limit));
			ended += r.done().size();
			ASSERT_TRUE(r.req.recv_limited);
			ASSERT_TRUE(next > 100 || !r.send().empty()) << next;
		}
		EXPECT_EQ(ended, 101u);
	}
}

// Without the extension, and on the channel of answers, the bit is reserved.
TEST(Receives, ReservedForOthers)
{
	RecvRequester r;
	r.cfg.ext = false;
	r.init();
	r.write(8);
	EXPECT_EQ(r.send().size(), 1u);
	r.told(r.psn(0), 1);
	EXPECT_FALSE(r.req.recv_told);
	EXPECT_EQ(r.done(), Slots{0});
}
