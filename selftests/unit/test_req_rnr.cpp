// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester of the extension: messages that find no receive.
#include "req_ext_fixture.hpp"

using namespace mrc_test;

namespace
{

constexpr u8 k1ms = 13;		 // 960 us
constexpr u64 kHold = 960 * kUs; // of it
constexpr u8 k10us = 1;

} // namespace

TEST(Rnr, TimesOfTheIbSpecification)
{
	const u32 units[32] = {65536, 1,     2,	    3,	  4,	6,    8,
			       12,    16,    24,    32,	  48,	64,   96,
			       128,   192,   256,   384,  512,	768,  1024,
			       1536,  2048,  3072,  4096, 6144, 8192, 12288,
			       16384, 24576, 32768, 49152};
	for (u8 i = 0; i < 32; i++) {
		EXPECT_EQ(mrc_rnr_time(i), units[i] * 10 * kUs) << +i;
		EXPECT_EQ(mrc_rnr_time(i | MRC_RNR_VALID), mrc_rnr_time(i));
	}
}

TEST(Rnr, ThePacketIsHeldAndGoesAgain)
{
	ExtRequester r;
	r.init();
	r.go(MRC_WR_SEND);
	const u64 at = r.now;
	r.rnr(r.psn(0), k1ms);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD);
	EXPECT_EQ(r.req.n_out, 0u);
	auto out = r.step();
	EXPECT_EQ(r.now, at + kHold);
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.opcode, MRC_OP_SEND_ONLY);
	EXPECT_TRUE(out[0].hdr.rtx);
	r.ack(r.psn(0));
	EXPECT_EQ(r.done(), Slots{0});
	EXPECT_EQ(r.count(MRC_CTR_NACK_RNR), 1u);
	EXPECT_EQ(r.count(MRC_CTR_NACK_SHORTAGE), 0u);
	EXPECT_EQ(r.count(MRC_CTR_RNR_EXC), 0u);
	EXPECT_EQ(mrc_req_deadline(&r.req), MRC_NEVER);
}

// Neither a loss of the path nor of congestion control.
TEST(Rnr, IsNoLoss)
{
	ExtRequester r;
	r.init();
	auto out = r.go(MRC_WR_SEND);
	const int ev = out[0].ev;
	r.rnr(r.psn(0), k1ms);
	EXPECT_TRUE(r.rec.lost.empty());
	ASSERT_EQ(r.rec.nacks.size(), 1u); // it is out no more
	EXPECT_EQ(r.rec.nacks[0].reason, MRC_NACK_NO_RESOURCE);
	EXPECT_EQ(r.ev(ev).state, MRC_EV_GOOD);
	EXPECT_EQ(r.ev(ev).drops, 0);
	EXPECT_EQ(r.req.retries, 0u);
}

TEST(Rnr, TheBudgetIsWhatTheProgramSays)
{
	for (u8 retry : {0, 1, 6}) {
		ExtRequester r;
		r.cfg.rnr_retry = retry;
		r.init();
		r.go(MRC_WR_SEND_IMM);
		r.post(MRC_WR_WRITE);
		for (u8 i = 0; i < retry; i++) {
			r.rnr(r.psn(0), k1ms);
			ASSERT_EQ(r.req.state, MRC_REQ_READY) << +i;
			r.now += kHold;
			EXPECT_FALSE(r.send().empty());
		}
		r.rnr(r.psn(0), k1ms);
		EXPECT_EQ(r.reap(),
			  (Done{{0, MRC_WC_RNR_RETRY_EXC}, {1, MRC_WC_FLUSH}}));
		EXPECT_EQ(r.count(MRC_CTR_RNR_EXC), 1u);
		EXPECT_EQ(r.count(MRC_CTR_RETRY_EXC), 0u);
	}
}

TEST(Rnr, SevenIsForEver)
{
	ExtRequester r;
	r.cfg.rnr_retry = MRC_RNR_RETRY_INFINITE;
	r.init();
	r.go(MRC_WR_SEND);
	for (int i = 0; i < 1000; i++) {
		r.rnr(r.psn(0), k10us);
		// Probes may be due before.
		ASSERT_EQ(r.wait().size(), 1u) << i;
	}
	r.ack(r.psn(0));
	EXPECT_EQ(r.done(), Slots{0});
}

TEST(Rnr, AnotherMessageHasABudgetOfItsOwn)
{
	ExtRequester r;
	r.cfg.rnr_retry = 2;
	r.init();
	for (int m = 0; m < 5; m++) {
		r.go(MRC_WR_SEND);
		for (int i = 0; i < 2; i++) {
			r.rnr(r.psn(m), k1ms);
			ASSERT_EQ(r.step().size(), 1u);
		}
		r.ack(r.psn(m));
	}
	EXPECT_EQ(r.done().size(), 5u);
}

// Of messages that are refused together only the first one is charged: the
// others stand in line.
TEST(Rnr, StandingInLineIsFree)
{
	ExtRequester r;
	r.cfg.rnr_retry = 1;
	r.init();
	for (int i = 0; i < 4; i++)
		r.post(MRC_WR_SEND);
	EXPECT_EQ(r.send().size(), 4u);
	for (int i = 0; i < 4; i++) {
		// One receive per waiting time, and whoever asks too early.
		for (int k = i ? i + 1 : 3; k >= i; k--)
			if (k < 4 && !r.lost(r.psn(k)))
				r.rnr(r.psn(k), k1ms);
		ASSERT_EQ(r.req.state, MRC_REQ_READY) << i;
		// One asks for all, and two go for each that is received.
		auto out = r.step();
		ASSERT_EQ(out.size(), i == 2 ? 2u : 1u);
		r.sack_all(r.psn(i));
		r.ack(r.psn(i));
	}
	EXPECT_EQ(r.done().size(), 4u);
}

// All packets of a message that is refused are one refusal.
TEST(Rnr, AMessageIsChargedOnce)
{
	ExtRequester r;
	r.cfg.rnr_retry = 1;
	r.init();
	EXPECT_EQ(r.go(MRC_WR_SEND, 256 * 4).size(), 4u);
	const u64 at = r.now;
	r.rnr(r.psn(2), k1ms);
	for (u32 k : {0, 1, 3}) {
		r.now += 50 * kUs;
		r.rnr(r.psn(k), k1ms);
		EXPECT_EQ(r.req.state, MRC_REQ_READY);
	}
	// One packet tests for all.
	EXPECT_EQ(r.step().size(), 1u);
	EXPECT_EQ(r.now, at + kHold);
	// Refused at its second attempt.
	r.rnr(r.psn(0), k1ms);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_RNR_RETRY_EXC}}));
}

// Waiting times may be shorter than the round trip: refusals of the first
// attempt that come after its end are not those of the next one.
TEST(Rnr, ALateRefusalBelongsToItsAttempt)
{
	ExtRequester r;
	r.cfg.rnr_retry = 1;
	r.init();
	EXPECT_EQ(r.go(MRC_WR_SEND, 256 * 2).size(), 2u);
	r.now += 100 * kUs;
	r.rnr(r.psn(0), k10us);
	r.now += 10 * kUs;
	EXPECT_EQ(r.send().size(), 1u);
	r.now += 10 * kUs;
	r.rnr(r.psn(1), k10us);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	EXPECT_EQ(r.send().size(), 0u); // it waits for what becomes of the first
	r.now += 100 * kUs;
	r.rnr(r.psn(0), k10us);
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
}

// The RTO is shorter than the waiting time by far.
TEST(Rnr, TheRetryTimerDoesNotRunMeanwhile)
{
	ExtRequester r;
	r.cfg.linear_cnt = 1;
	r.cfg.exp_cnt = 0;
	r.init();
	r.go(MRC_WR_SEND);
	const u64 at = r.now;
	r.rnr(r.psn(0), 0);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD);
	EXPECT_EQ(r.wait().size(), 1u);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	EXPECT_EQ(r.now, at + 65536 * 10 * kUs);
	EXPECT_EQ(r.req.retries, 0u);
	EXPECT_EQ(r.count(MRC_CTR_RTO), 0u);
	// From then on it does.
	EXPECT_EQ(r.wait().size(), 1u);
	EXPECT_EQ(r.req.retries, 1u);
	EXPECT_EQ(r.now, at + 65536 * 10 * kUs + r.cfg.rto);
	EXPECT_TRUE(r.wait().empty());
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_RETRY_EXC}}));
}

// A refusal is a sign of life.
TEST(Rnr, RestoresTheRetryBudget)
{
	ExtRequester r;
	r.init();
	r.go(MRC_WR_SEND);
	for (int i = 0; i < 2; i++) {
		r.expire();
		EXPECT_EQ(r.send().size(), 1u);
	}
	EXPECT_EQ(r.req.retries, 2u);
	r.rnr(r.psn(0), k1ms, (u16)(r.now >> MRC_TS_SHIFT));
	EXPECT_EQ(r.req.retries, 0u);
}

// What takes a receive would be refused now, everything else would not.
TEST(Rnr, LaterMessagesOfTheKindWait)
{
	ExtRequester r;
	r.init();
	r.go(MRC_WR_SEND);
	r.rnr(r.psn(0), k1ms);
	EXPECT_EQ(r.go(MRC_WR_WRITE).size(), 1u);
	EXPECT_EQ(r.go(MRC_WR_READ).size(), 1u);
	r.post(MRC_WR_SEND);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD);
	r.post(MRC_WR_WRITE); // behind it in the queue
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD);
	r.sack({.cack = r.psn(-1), .ack = 3, .base = 1, .map = 6});
	EXPECT_EQ(r.step().size(), 1u);
	r.ack(r.psn(2));
	EXPECT_EQ(r.send().size(), 2u);
}

// The receiver got the message after all, by another copy: the line moves
// when the waiting time is over, without any feedback.
TEST(Rnr, TheLineMovesByItself)
{
	ExtRequester r;
	r.init();
	r.go(MRC_WR_SEND);
	r.rnr(r.psn(0), k1ms);
	r.ack(r.psn(0));
	EXPECT_EQ(r.done(), Slots{0});
	const u64 at = r.now;
	r.post(MRC_WR_SEND);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD);
	EXPECT_EQ(r.step().size(), 1u);
	EXPECT_EQ(r.now, at + kHold);
}

TEST(Rnr, AMessageThatIsBeingSentStops)
{
	ExtRequester r;
	r.init();
	r.rec.limit = 2 * 400;
	EXPECT_EQ(r.go(MRC_WR_SEND, 256 * 4).size(), 2u);
	r.rec.limit = ~0ull;
	r.rnr(r.psn(0), k1ms);
	r.rnr(r.psn(1), k1ms);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD);
	EXPECT_EQ(r.step().size(), 1u);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_RECV);
	// There is a receive: the other one that was refused, and those that were not sent.
	r.sack_all(r.psn(0));
	EXPECT_EQ(r.send().size(), 3u);
}

// Where an attempt takes long, because both ends share a slow processor, each refusal doubles
// the time, until attempts take an eighth of it.
TEST(Rnr, SlowAttemptsAreSeldom)
{
	constexpr u64 kTakes = 10 * kMs;
	ExtRequester r;
	r.cfg.rnr_retry = MRC_RNR_RETRY_INFINITE;
	r.cfg.rto = 10000 * kMs;
	r.init();
	r.go(MRC_WR_SEND);
	u64 wait = 10 * kUs;
	for (int i = 0; i < 20; i++) {
		r.now += kTakes;
		r.rnr(r.psn(0), k10us);
		const u64 at = r.now;
		EXPECT_EQ(r.step().size(), 1u);
		EXPECT_EQ(r.now, at + wait);
		if (2 * wait <= MRC_RNR_PAUSE * kTakes)
			wait *= 2;
	}
	EXPECT_GT(wait, 4 * kTakes);
}

// The last packet of a WRITE_IMM takes a receive, too.
TEST(Rnr, WriteImm)
{
	ExtRequester r;
	r.cfg.rnr_retry = 1;
	r.init();
	r.write(256 * 3, true);
	EXPECT_EQ(r.send().size(), 3u);
	for (int i = 0; i < 2; i++) {
		r.sack_all(r.psn(1));
		r.rnr(r.psn(2), k1ms);
		if (i)
			break;
		EXPECT_EQ(r.step().size(), 1u);
	}
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_RNR_RETRY_EXC}}));
}

// What the message before it has lost is nobody's receive: no charge until it
// is clear that this one is first in line.
TEST(Rnr, NotChargedBehindAHole)
{
	ExtRequester r;
	r.cfg.rnr_retry = 0;
	r.init();
	r.post(MRC_WR_SEND);
	r.post(MRC_WR_SEND);
	EXPECT_EQ(r.send().size(), 2u);
	r.rnr(r.psn(1), k1ms);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.ack(r.psn(0));
	EXPECT_EQ(r.step().size(), 1u);
	r.rnr(r.psn(1), k1ms);
	EXPECT_EQ(r.reap(),
		  (Done{{0, MRC_WC_SUCCESS}, {1, MRC_WC_RNR_RETRY_EXC}}));
}

// Without the extension the vendor byte means nothing, and a write never
// waits for a receive.
TEST(Rnr, ForOthersItIsAShortage)
{
	for (bool ext : {false, true}) {
		ExtRequester r;
		r.cfg.ext = ext;
		r.cfg.rnr_retry = 0;
		r.init();
		r.write(8, !ext);
		r.send();
		const u64 at = r.now;
		r.rnr(r.psn(0), k1ms);
		EXPECT_EQ(r.req.state, MRC_REQ_READY);
		EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD);
		EXPECT_EQ(r.step().size(), 1u);
		EXPECT_EQ(r.now, at + r.req.base_rtt);
		EXPECT_EQ(r.req.retries, 1u);
		EXPECT_EQ(r.count(MRC_CTR_NACK_RNR), ext);
		EXPECT_EQ(r.count(MRC_CTR_NACK_SHORTAGE), !ext);
	}
}

// Refusals of what is unsent, received, or waits already.
TEST(Rnr, StaleOnes)
{
	ExtRequester r;
	r.cfg.rnr_retry = 0;
	r.init();
	r.rnr(r.psn(0), k1ms);
	EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), 1u);
	r.go(MRC_WR_SEND);
	r.sack_all(r.psn(0));
	r.rnr(r.psn(0), k1ms);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.go(MRC_WR_SEND);
	r.expire();
	auto out = r.send();
	ASSERT_EQ(out.size(), 1u);
	// The first copy was refused; the second may not be.
	r.rnr(r.psn(1), k1ms, (u16)((r.now - kMs) >> MRC_TS_SHIFT));
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	EXPECT_FALSE(r.lost(r.psn(1)));
	r.rnr(r.psn(1), k1ms, out[0].hdr.tstamp);
	EXPECT_EQ(r.req.state, MRC_REQ_READY); // it waits for the ACK of the first SEND
	r.ack(r.psn(0));
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
	r.rnr(r.psn(1), k1ms);
}
