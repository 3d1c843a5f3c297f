// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: SACK, NACK, transport ACK and NAK, honest and hostile.
#include "engine_fixture.hpp"

#include <random>

using namespace mrc_test;

namespace
{

const u32 kNom = mrc_nominal_size(36, 256);

} // namespace

TEST(ReqSack, CumulativeFreesAndOpens)
{
	Requester r;
	r.cfg.sq_psn = 0xFFFFFD;
	r.init();
	r.send_n(6);
	r.sack_all(r.psn(3));
	EXPECT_EQ(r.req.cack, 0x000000u);
	EXPECT_EQ(r.req.high, 0x000000u);
	EXPECT_EQ(r.req.inflight, 2 * kNom);
	EXPECT_EQ(r.count(MRC_CTR_RX_SACK), 1u);
	ASSERT_EQ(r.rec.acks.size(), 1u);
	EXPECT_EQ(r.rec.acks[0].freed, 4 * kNom);
	EXPECT_EQ(r.req.last_heard, r.now);
}

TEST(ReqSack, BitmapAckPsnAndAnyBase)
{
	Requester r;
	r.cfg.sq_psn = 0xFFFFFE;
	r.init();
	r.send_n(12);
	// §18.4: 0-4, 6, 7, 9-11 arrived, the last one triggered.
	r.sack({.cack = r.psn(4), .ack = 7, .base = 1, .map = 0x76});
	EXPECT_EQ(r.req.cack, r.psn(4));
	EXPECT_EQ(r.req.high, r.psn(11));
	EXPECT_EQ(r.req.inflight, 2 * kNom); // 5 and 8
	// The same facts with a base below cack.
	r.sack({.cack = r.psn(4), .ack = 0, .base = -3, .map = 0x760});
	EXPECT_EQ(r.req.inflight, 2 * kNom);
	// The ack_psn alone counts as received, even if the map misses it.
	r.sack({.cack = r.psn(4), .ack = 1, .base = 7, .map = 0});
	EXPECT_EQ(r.req.inflight, kNom);
	EXPECT_EQ(r.req.cack, r.psn(4));
	r.sack_all(r.psn(11));
	EXPECT_EQ(r.req.inflight, 0u);
}

TEST(ReqSack, StaleOnesGiveBitsButNeverMoveBack)
{
	Requester r;
	r.init();
	r.send_n(10);
	r.sack_all(r.psn(5));
	r.sack({.cack = r.psn(2), .ack = 6, .base = 1, .map = 0x2F});
	EXPECT_EQ(r.req.cack, r.psn(5));
	EXPECT_EQ(r.req.high, r.psn(8));
	EXPECT_EQ(r.req.inflight, 2 * kNom); // 7 and 9
}

TEST(ReqSack, UnsentPsnsAreDroppedWhole)
{
	for (int kind = 0; kind < 4; kind++) {
		Requester r;
		r.cfg.sq_psn = 0xFFFFFE;
		r.init();
		r.send_n(4);
		r.now += kMs;
		const u64 heard = r.req.last_heard;
		switch (kind) {
		case 0: // cack beyond
			r.sack({.cack = r.psn(4)});
			break;
		case 1: // ack_psn beyond
			r.sack({.cack = r.psn(0), .ack = 4});
			break;
		case 2: // map beyond
			r.sack({.cack = r.psn(0), .base = 1, .map = 0x8});
			break;
		case 3: // map beyond by its offset
			r.sack({.cack = r.psn(0), .base = 32767, .map = 1});
			break;
		}
		EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), 1u) << kind;
		EXPECT_EQ(r.req.cack, r.psn(-1)) << kind;
		EXPECT_EQ(r.req.inflight, 4 * kNom) << kind;
		EXPECT_EQ(r.req.last_heard, heard) << kind;
		EXPECT_TRUE(r.rec.acks.empty()) << kind;
	}
}

TEST(ReqSack, RcvdBytesGoForwardOnly)
{
	Requester r;
	r.init();
	r.send_n(1);
	auto newly = [&](u32 v) {
		r.sack({.cack = r.psn(-1), .rcvd = v});
		return r.rec.acks.back().newly;
	};
	EXPECT_EQ(newly(0x10), 0x1000u);
	EXPECT_EQ(newly(0x10), 0u);
	// §18.4: prev 0x000010, stale 0xFFFFF0.
	EXPECT_EQ(newly(0xFFFFF0), 0u);
	EXPECT_EQ(r.req.rcvd_bytes, 0x10u);
	r.req.rcvd_bytes = 0xFFFFF0;
	EXPECT_EQ(newly(0x10), 8192u);
	EXPECT_EQ(r.req.rcvd_bytes, 0x10u);
	EXPECT_EQ(newly(0x10 + (1u << 23) - 1), ((1ull << 23) - 1) * 256);
	r.req.rcvd_bytes = 0;
	EXPECT_EQ(newly(1u << 23), 0u);
}

TEST(ReqSack, CongestionStateReachesTheAlgorithm)
{
	Requester r;
	r.init();
	r.send_n(2);
	r.now += 50 * kUs;
	r.sack({.cack = r.psn(0),
		.m = MRC_M_SKIP_ONCE,
		.pen = 5,
		.restore = true});
	ASSERT_EQ(r.rec.acks.size(), 1u);
	const mrc_cc_ack &a = r.rec.acks[0];
	EXPECT_TRUE(a.ce);
	EXPECT_EQ(a.pen, 5);
	EXPECT_TRUE(a.restore);
	EXPECT_EQ(a.rtt, 50 * kUs);
	EXPECT_EQ(a.size, r.rec.sent[0]);
	EXPECT_EQ(a.now, r.now);
	// OP-37: an unknown cc_type has no CC_STATE, the rest still counts.
	r.sack({.cack = r.psn(1), .cc_type = 3, .rcvd = 7});
	EXPECT_EQ(r.rec.acks.size(), 1u);
	EXPECT_EQ(r.req.rcvd_bytes, 0u);
	EXPECT_EQ(r.req.inflight, 0u);
}

TEST(ReqSack, VerdictOnTheReflectedEntropy)
{
	Requester r;
	r.init();
	auto out = r.send_n(3);
	r.sack({.cack = r.psn(0),
		.m = MRC_M_SKIP_ONCE,
		.entropy = out[0].entropy});
	EXPECT_EQ(r.ev(out[0].ev).state, MRC_EV_SKIP);
	r.sack({.cack = r.psn(1),
		.m = MRC_M_ALWAYS_SKIP,
		.entropy = out[1].entropy});
	EXPECT_EQ(r.ev(out[1].ev).state, MRC_EV_ASSUMED_BAD);
	// m = 3 is reserved and means 0; an unknown entropy means nothing.
	r.sack({.cack = r.psn(2), .m = 3, .entropy = out[2].entropy});
	EXPECT_EQ(r.ev(out[2].ev).state, MRC_EV_GOOD);
	r.sack({.cack = r.psn(2), .m = MRC_M_ALWAYS_SKIP, .entropy = 1});
	EXPECT_EQ(r.paths.bad, 1);
}

TEST(ReqSack, RoundTripFromTheRecord)
{
	Requester r;
	r.init();
	r.send_n(4);
	r.now += 80 * kUs;
	r.sack({.cack = r.psn(0)});
	EXPECT_EQ(r.req.srtt, 80 * kUs);
	EXPECT_EQ(r.req.rttvar, 40 * kUs);
	EXPECT_EQ(r.req.base_rtt, 80 * kUs); // replaces the configured 100
	EXPECT_EQ(r.paths.cfg.base_rtt, 80 * kUs);
	r.now += 80 * kUs;
	r.sack({.cack = r.psn(1)});
	EXPECT_EQ(r.req.srtt, 90 * kUs);   // 7/8 80 + 1/8 160
	EXPECT_EQ(r.req.rttvar, 50 * kUs); // 3/4 40 + 1/4 80
	EXPECT_EQ(r.req.base_rtt, 80 * kUs);
	// Known already: no sample, wherever it comes from.
	const u64 srtt = r.req.srtt;
	r.sack({.cack = r.psn(1)});
	r.sack({.cack = r.psn(1), .ack = -1});
	EXPECT_EQ(r.req.srtt, srtt);
	EXPECT_EQ(r.rec.acks.back().rtt, MRC_CC_NONE_RTT);
	// Far more than the 8 ms that the wire timestamp can express.
	r.now += 20 * kMs;
	r.sack({.cack = r.psn(2)});
	EXPECT_EQ(r.rec.acks.back().rtt, 20 * kMs + 160 * kUs);
}

TEST(ReqSack, FirstSampleMayRaiseBaseRtt)
{
	Requester r;
	r.init();
	r.send_n(1);
	r.now += 700 * kUs;
	r.sack({.cack = r.psn(0)});
	EXPECT_EQ(r.req.base_rtt, 700 * kUs);
}

TEST(ReqSack, AmbiguousCopiesGiveNoSample)
{
	Requester r;
	r.init();
	r.send_n(3);
	r.expire();
	ASSERT_EQ(r.send().size(), 3u);
	r.now += 30 * kUs;
	// rtx_count = 1, SACK without rtx: the first copy, of unknown age.
	r.sack({.cack = r.psn(0), .rtx = false});
	EXPECT_EQ(r.req.srtt, 0u);
	// rtx_count = 1, SACK with rtx: this very copy.
	r.sack({.cack = r.psn(1), .rtx = true});
	EXPECT_EQ(r.req.srtt, 30 * kUs);
	while (!r.req.n_lost)
		r.expire();
	r.send();
	r.now += 10 * kUs;
	// rtx_count = 2: no telling.
	r.sack({.cack = r.psn(2), .rtx = true});
	EXPECT_EQ(r.req.srtt, 30 * kUs);
}

TEST(ReqSack, SpuriousRetransmissionIsCountedOnce)
{
	Requester r;
	r.init();
	r.send_n(2);
	r.expire();
	r.send();
	EXPECT_EQ(r.count(MRC_CTR_TX_RTX), 2u);
	r.sack({.cack = r.psn(0), .rtx = false}); // the first copy answers
	EXPECT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 1u);
	r.sack({.cack = r.psn(0), .rtx = false});
	EXPECT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 1u);
	r.sack({.cack = r.psn(1), .rtx = true});
	EXPECT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 1u);
	// The slot's next user starts afresh.
	r.ack(r.psn(1));
	r.reap();
	r.send_n(1);
	r.sack({.cack = r.psn(2)});
	EXPECT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 1u);
}

TEST(ReqSack, AckedWhileQueuedIsNotRetransmitted)
{
	Requester r;
	r.init();
	r.send_n(3);
	r.expire();
	EXPECT_EQ(r.req.n_lost, 3u);
	EXPECT_EQ(r.req.inflight, 0u);
	r.sack({.cack = r.psn(-1), .ack = 2, .base = 1, .map = 2});
	EXPECT_EQ(r.req.n_lost, 2u);
	EXPECT_EQ(r.rec.acks.back().freed, kNom);
	auto out = r.send();
	ASSERT_EQ(out.size(), 2u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(0));
	EXPECT_EQ(out[1].hdr.psn, r.psn(2));
}

TEST(ReqNack, TrimIsRetransmittedAtOnceOnAnotherChoice)
{
	Requester r;
	r.init();
	auto out = r.send_n(3);
	r.now += 40 * kUs;
	r.nack(r.psn(1), MRC_NACK_TRIMMED, out[1].entropy);
	EXPECT_EQ(r.count(MRC_CTR_RX_NACK), 1u);
	EXPECT_EQ(r.count(MRC_CTR_LOSS_NACK), 1u);
	EXPECT_EQ(r.ev(out[1].ev).state, MRC_EV_SKIP);
	EXPECT_EQ(r.req.inflight, 2 * kNom);
	ASSERT_EQ(r.rec.nacks.size(), 1u);
	EXPECT_EQ(r.rec.nacks[0].size, kNom);
	EXPECT_EQ(r.rec.nacks[0].reason, MRC_NACK_TRIMMED);
	EXPECT_EQ(r.rec.nacks[0].rtt, 40 * kUs);
	EXPECT_TRUE(r.rec.lost.empty());
	ASSERT_EQ(r.losses.size(), 1u);
	EXPECT_EQ(r.losses[0].psn, r.psn(1));
	EXPECT_EQ(r.losses[0].cause, MRC_LOSS_NACK);
	auto again = r.send();
	ASSERT_EQ(again.size(), 1u);
	EXPECT_EQ(again[0].hdr.psn, r.psn(1));
	EXPECT_TRUE(again[0].hdr.rtx);
	EXPECT_EQ(again[0].hdr.reth.va, out[1].hdr.reth.va);
	EXPECT_EQ(again[0].hdr.msn, out[1].hdr.msn);
	EXPECT_EQ(r.req.inflight, 3 * kNom);
}

TEST(ReqNack, LastHopTrimLeavesThePathAlone)
{
	Requester r;
	r.init();
	auto out = r.send_n(1);
	r.nack(r.psn(0), MRC_NACK_TRIMMED_LASTHOP, out[0].entropy);
	EXPECT_EQ(r.ev(out[0].ev).state, MRC_EV_GOOD);
	EXPECT_EQ(r.send().size(), 1u);
}

TEST(ReqNack, ShortageHoldsTheRetransmissionBack)
{
	const u8 reserved = 0x42;
	for (u8 reason : {(u8)MRC_NACK_NO_BITMAP, (u8)MRC_NACK_NO_PKT_BUFFER,
			  (u8)MRC_NACK_NO_RESOURCE, reserved}) {
		Requester r;
		r.init();
		auto out = r.send_n(2);
		r.nack(r.psn(0), reason, out[0].entropy);
		EXPECT_EQ(r.ev(out[0].ev).state, MRC_EV_GOOD);
		mrc_tx_verdict why;
		EXPECT_TRUE(r.send(&why).empty());
		EXPECT_EQ(why, MRC_TX_WAIT_HOLD);
		EXPECT_EQ(mrc_req_deadline(&r.req), r.now + r.req.base_rtt);
		r.now += r.req.base_rtt;
		r.deadline();
		auto again = r.send();
		ASSERT_EQ(again.size(), 1u);
		EXPECT_EQ(again[0].hdr.psn, r.psn(0));
		EXPECT_EQ(r.req.retries, 1u);
	}
}

// A peer that is slow to make room is asked less and less often.
TEST(ReqNack, LastingShortageHoldsLonger)
{
	Requester r;
	r.cfg.linear_cnt = 7;
	r.cfg.base_rtt = r.cfg.rto / 10;
	r.init();
	auto out = r.send_n(1);
	for (u64 hold : {1, 2, 4, 4, 4}) { // half of the RTO at most
		r.nack(r.psn(0), MRC_NACK_NO_RESOURCE, out[0].entropy);
		EXPECT_EQ(r.req.pkt[r.psn(0) & r.req.ring_mask].hold_until,
			  r.now + hold * r.req.base_rtt);
		EXPECT_TRUE(r.send().empty());
		r.now += r.cfg.rto;
		r.deadline();
		out = r.send();
		ASSERT_EQ(out.size(), 1u);
	}
	r.sack_all(r.psn(0)); // progress
	out = r.send_n(1);
	r.nack(r.psn(1), MRC_NACK_NO_RESOURCE, out[0].entropy);
	EXPECT_EQ(r.req.pkt[r.psn(1) & r.req.ring_mask].hold_until,
		  r.now + r.req.base_rtt);
}

TEST(ReqNack, HeldPacketsLetOthersPass)
{
	Requester r;
	r.init();
	auto out = r.send_n(4);
	r.nack(r.psn(0), MRC_NACK_NO_RESOURCE, out[0].entropy);
	r.nack(r.psn(2), MRC_NACK_TRIMMED_LASTHOP, out[2].entropy);
	auto again = r.send();
	ASSERT_EQ(again.size(), 1u);
	EXPECT_EQ(again[0].hdr.psn, r.psn(2));
	r.write(1);
	EXPECT_EQ(r.send().size(), 1u); // new data too
	// Acked while held: nothing is left to wait for.
	r.sack_all(r.psn(0));
	mrc_tx_verdict why;
	r.send(&why);
	EXPECT_EQ(why, MRC_TX_IDLE);
}

TEST(ReqNack, OutOfWindowIsRetransmittedIfAhead)
{
	Requester r;
	r.init();
	auto out = r.send_n(3);
	r.sack_all(r.psn(0));
	r.nack(r.psn(0), MRC_NACK_PSN_OOR_WINDOW, out[0].entropy);
	EXPECT_TRUE(r.send().empty());
	r.nack(r.psn(2), MRC_NACK_PSN_OOR_WINDOW, out[2].entropy);
	auto again = r.send();
	ASSERT_EQ(again.size(), 1u);
	EXPECT_EQ(again[0].hdr.psn, r.psn(2));
	EXPECT_EQ(r.ev(out[2].ev).state, MRC_EV_GOOD);
}

TEST(ReqNack, UnexpectedEventIsFatalForItsMessage)
{
	Requester r;
	r.init();
	auto out = r.send_n(3);
	r.ack(r.psn(0));
	r.nack(r.psn(1), MRC_NACK_UNEXP_EVENT, out[1].entropy);
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
				  {1, MRC_WC_REM_OP},
				  {2, MRC_WC_FLUSH}}));
}

TEST(ReqNack, AcknowledgedAndUnsentOnesAreIgnored)
{
	Requester r;
	r.init();
	auto out = r.send_n(4);
	r.sack({.cack = r.psn(0), .ack = 2, .base = 1, .map = 2});
	for (s64 n : {-1, 0, 2})
		r.nack(r.psn(n), MRC_NACK_UNEXP_EVENT, out[0].entropy);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), 0u);
	r.nack(r.psn(4), MRC_NACK_UNEXP_EVENT, out[0].entropy);
	EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), 1u);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	EXPECT_EQ(r.req.retries, 0u);
	EXPECT_TRUE(r.send().empty());
}

TEST(ReqNack, SecondNackOfAWaitingPacketChangesNothing)
{
	Requester r;
	r.init();
	auto out = r.send_n(1);
	r.nack(r.psn(0), MRC_NACK_NO_RESOURCE, out[0].entropy);
	r.nack(r.psn(0), MRC_NACK_NO_RESOURCE, out[0].entropy);
	EXPECT_EQ(r.req.retries, 1u);
	EXPECT_EQ(r.count(MRC_CTR_LOSS_NACK), 1u);
}

TEST(ReqNack, OlderCopyDoesNotCancelTheNewerOne)
{
	Requester r;
	r.init();
	auto out = r.send_n(1);
	r.nack(r.psn(0), MRC_NACK_TRIMMED_LASTHOP, out[0].entropy);
	auto again = r.send();
	ASSERT_EQ(again.size(), 1u);
	ASSERT_NE(again[0].ev, out[0].ev);
	// The network duplicated the NACK of the first copy.
	r.nack(r.psn(0), MRC_NACK_TRIMMED_LASTHOP, out[0].entropy);
	EXPECT_TRUE(r.send().empty());
	EXPECT_EQ(r.count(MRC_CTR_LOSS_NACK), 1u);
	// That of the second copy counts.
	r.nack(r.psn(0), MRC_NACK_TRIMMED_LASTHOP, again[0].entropy);
	EXPECT_EQ(r.send().size(), 1u);
	EXPECT_EQ(r.rec.nacks.back().rtt, MRC_CC_NONE_RTT);
}

TEST(ReqNack, UnknownCcTypeSkipsCongestionControl)
{
	Requester r;
	r.init();
	auto out = r.send_n(1);
	r.nack(r.psn(0), MRC_NACK_TRIMMED, out[0].entropy, 0);
	EXPECT_TRUE(r.rec.nacks.empty());
	EXPECT_EQ(r.send().size(), 1u);
}

TEST(ReqNack, ChargesTheRetryBudget)
{
	Requester r;
	r.cfg.linear_cnt = 1;
	r.cfg.exp_cnt = 1;
	r.init();
	auto out = r.send_n(3);
	// One per interval of the attempt: RTO, then twice that.
	r.nack(r.psn(0), MRC_NACK_NO_RESOURCE, out[0].entropy);
	r.now += 2 * r.cfg.rto;
	r.nack(r.psn(1), MRC_NACK_PSN_OOR_WINDOW, out[1].entropy);
	EXPECT_EQ(r.req.retries, 2u);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.now += 2 * r.cfg.rto;
	r.nack(r.psn(2), MRC_NACK_NO_BITMAP, out[2].entropy);
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
	EXPECT_EQ(r.count(MRC_CTR_RETRY_EXC), 1u);
	EXPECT_EQ(r.reap()[0], std::make_pair(0u, MRC_WC_RETRY_EXC));
}

TEST(ReqNack, TrimsChargeOncePerAttempt)
{
	Requester r;
	r.cfg.linear_cnt = 1;
	r.init();
	auto out = r.send_n(20);
	for (int i = 0; i < 10; i++)
		r.nack(r.psn(i), MRC_NACK_TRIMMED_LASTHOP, out[i].entropy);
	EXPECT_EQ(r.req.retries, 1u);
	r.now += 2 * r.cfg.rto - 1; // the second one is of the doubling phase
	r.nack(r.psn(10), MRC_NACK_TRIMMED, out[10].entropy);
	EXPECT_EQ(r.req.retries, 1u);
	r.now += 1;
	r.nack(r.psn(11), MRC_NACK_TRIMMED, out[11].entropy);
	EXPECT_EQ(r.req.retries, 2u);
	r.sack_all(r.psn(0)); // progress
	EXPECT_EQ(r.req.retries, 0u);
}

TEST(ReqAck, UnsentIsDropped)
{
	Requester r;
	r.cfg.sq_psn = 0xFFFFFF;
	r.init();
	r.send_n(2);
	r.ack(r.psn(2));
	EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), 1u);
	EXPECT_TRUE(r.reap().empty());
	EXPECT_EQ(r.count(MRC_CTR_RX_ACK), 1u);
}

TEST(ReqAck, OtherSyndromesAreDropped)
{
	Requester r;
	r.init();
	r.send_n(1);
	for (u8 s : {0x00, 0x1E, 0x20, 0x3F, 0x40, 0x5F, 0x80, 0xFF})
		r.ack(r.psn(0), s);
	EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), 8u);
	EXPECT_TRUE(r.reap().empty());
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
}

TEST(ReqAck, NakMapsItsSyndrome)
{
	const std::pair<u8, mrc_wc_status> map[] = {
		{0x60, MRC_WC_REM_INV_REQ}, {0x61, MRC_WC_REM_INV_REQ},
		{0x62, MRC_WC_REM_ACCESS},  {0x63, MRC_WC_REM_OP},
		{0x64, MRC_WC_REM_OP},	    {0x7F, MRC_WC_REM_OP},
	};
	for (auto [syn, st] : map) {
		Requester r;
		r.cfg.sq_psn = 0xFFFFFF;
		r.init();
		r.write(600); // psn 0-2
		r.write(600); // psn 3-5
		r.write(600); // psn 6-8
		r.send();
		// In the middle of the second message.
		r.ack(r.psn(4), syn);
		EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
		EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
					  {1, st},
					  {2, MRC_WC_FLUSH}}));
		EXPECT_EQ(r.count(MRC_CTR_RX_NAK), 1u);
	}
}

TEST(ReqAck, NakInAPartlySentMessage)
{
	Requester r;
	r.init();
	r.rec.limit = 2 * kNom;
	r.write(256 * 5);
	r.send();
	r.ack(r.psn(1), MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_REM_ACCESS}}));
}

TEST(ReqAck, NakOutsideTheOutstandingRange)
{
	Requester r;
	r.init();
	r.send_n(3);
	r.ack(r.psn(1));
	r.ack(r.psn(1), MRC_SYN_NAK_ACCESS); // already executed
	r.ack(r.psn(3), MRC_SYN_NAK_ACCESS); // never sent
	EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), 2u);
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
	r.ack(r.psn(2), MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
}

// Any field values at all: never out of range, never inconsistent.
TEST(ReqHostile, RandomFeedbackKeepsTheInvariants)
{
	std::mt19937_64 rng(7);
	for (int round = 0; round < 60; round++) {
		Requester r;
		r.cfg.sq_psn = rng() & kPsnMask;
		r.cfg.mpr = 1 + rng() % 4;
		r.cfg.exp_cnt = MRC_RETRY_EXP_INFINITE;
		r.init();
		for (int step = 0; step < 200; step++) {
			r.now += rng() % (200 * kUs);
			if (rng() % 3 == 0)
				r.write(rng() % 5000, rng() & 1);
			r.send();
			mrc_hdr h{};
			// Mostly near what was sent, sometimes anywhere.
			auto near = [&] {
				return rng() % 8
					       ? psn_at(r.req.cack,
							(s64)(rng() % 150) - 5)
					       : (u32)(rng() & kPsnMask);
			};
			h.psn = near();
			h.rtx = rng() & 1;
			switch (rng() % 4) {
			case 0:
			case 1:
				h.opcode = MRC_OP_SACK;
				h.seth.m = rng() & 3;
				h.seth.pr = rng() % 4 == 0;
				h.seth.ack_psn_offset =
					rng() % 8 ? (s16)(rng() % 8)
						  : (s16)rng();
				if (h.seth.pr)
					h.seth.probe_id = rng() % 32;
				h.seth.entropy =
					r.ev(rng() % r.paths.n).entropy;
				h.seth.cack_psn = near();
				h.seth.sack_offset = rng() % 8
							     ? (s16)(rng() % 8)
							     : (s16)rng();
				h.seth.bitmap = rng() & rng() &
						((1ull << rng() % 64) - 1);
				h.seth.rcvd_bytes = rng() & kPsnMask;
				mrc_req_on_sack(&r.req, &h, rng() % 20, r.now);
				break;
			case 2:
				h.opcode = MRC_OP_NACK;
				h.neth.reason = rng() % 12;
				h.neth.nack_psn = near();
				h.neth.entropy = (u32)rng();
				h.neth.cc_type = rng() % 3;
				mrc_req_on_nack(&r.req, &h, rng() % 20, r.now);
				break;
			case 3:
				h.opcode = MRC_OP_ACK;
				h.aeth.syndrome = rng() % 64 ? 0x1F : rng();
				mrc_req_on_ack(&r.req, &h, rng() % 20, r.now);
				break;
			}
			r.check();
			if (r.now >= mrc_req_deadline(&r.req))
				r.deadline();
			r.reap();
			if (rng() % 50 == 0)
				mrc_req_set_ports(&r.req, (u32)rng() & 6,
						  r.now);
		}
	}
}
