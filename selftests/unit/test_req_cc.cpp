// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: what congestion control is told and what it bounds.
// MRC 1.0 §6, §9.3, §13.
#include "loss_fixture.hpp"

#include "mrc_req_priv.h"

using namespace mrc_test;

namespace
{

constexpr u32 kNominal = 256 + 36 + 8 + 4 + 40;

// Nothing but the number of packets closes this window.
void bounded(Requester &r, u32 max_pkts)
{
	r.cfg.sq_depth = 1024;
	r.ccfg.max_pkts = max_pkts;
	r.init();
}

} // namespace

TEST(ReqPackets, NoMoreThanTheBound)
{
	Requester r;
	bounded(r, 30);
	auto out = r.send_n(100);
	ASSERT_EQ(out.size(), 30u);
	EXPECT_EQ(r.req.n_out, 30u);
	EXPECT_EQ(r.count(MRC_CTR_STALL_CWND), 1u);
	// The last one asks for the feedback that reopens the window.
	for (int i = 0; i < 29; i++)
		EXPECT_FALSE(out[i].hdr.a) << i;
	EXPECT_TRUE(out[29].hdr.a);
	r.sack_all(r.psn(9));
	EXPECT_EQ(r.send().size(), 10u);
	EXPECT_EQ(r.req.n_out, 30u);
	// Retransmissions count and obey as well.
	r.nack(r.psn(10), MRC_NACK_TRIMMED, 0);
	EXPECT_EQ(r.req.n_out, 29u);
	EXPECT_EQ(r.send().size(), 1u);
	EXPECT_EQ(r.req.n_out, 30u);
}

TEST(ReqPackets, NoBoundNoStall)
{
	Requester r;
	bounded(r, 0);
	EXPECT_EQ(r.send_n(1000).size(), 1000u);
}

// A third of the range, whatever congestion control was told.
TEST(ReqPackets, FollowsTheRange)
{
	Requester r;
	r.cfg.mpr = 1;
	bounded(r, 1000);
	EXPECT_EQ(r.send_n(100).size(), MRC_CC_WINDOW_PKTS(128u));
}

TEST(ReqPackets, OneMayAlwaysGo)
{
	Requester r;
	bounded(r, 1);
	EXPECT_EQ(r.send_n(3).size(), 1u);
	r.sack_all(r.psn(0));
	EXPECT_EQ(r.send().size(), 1u);
}

// Many small packets are out: as many may overtake each other.
TEST(ReqPackets, LossRangeCoversWhatWasOut)
{
	Requester r;
	bounded(r, 341);
	EXPECT_EQ(mrc_req_loss_range(&r.req), kRange);
	ASSERT_EQ(r.send_n(200).size(), 200u);
	EXPECT_EQ(mrc_req_loss_range(&r.req), 300u);
	r.now += 10 * kUs;
	show(r, 199);
	show(r, 198);
	EXPECT_EQ(r.req.n_lost, 0u);
	// Remembered for a round trip, and no more than two.
	r.sack_all(r.psn(199));
	r.now += mrc_req_loss_time(&r.req);
	ASSERT_EQ(r.send_n(1).size(), 1u);
	EXPECT_EQ(mrc_req_loss_range(&r.req), 300u);
	r.sack_all(r.psn(200));
	r.now += 2 * mrc_req_loss_time(&r.req);
	ASSERT_EQ(r.send_n(1).size(), 1u);
	EXPECT_EQ(mrc_req_loss_range(&r.req), kRange);
}

TEST(ReqPackets, HalfOfTheRangeAtMost)
{
	Requester r;
	bounded(r, 341);
	ASSERT_EQ(r.send_n(400).size(), 341u);
	EXPECT_EQ(mrc_req_loss_range(&r.req), 341u * 3 / 2);
	EXPECT_LE(mrc_req_loss_range(&r.req), 512u);
}

TEST(ReqCc, SackTellsWhatIsOut)
{
	Requester r;
	r.init();
	auto out = r.send_n(10);
	r.nack(r.psn(3), MRC_NACK_TRIMMED, out[3].entropy);
	r.sack({.cack = r.psn(0), .ack = 1, .base = 1, .map = 1, .rcvd = 3});
	ASSERT_EQ(r.rec.acks.size(), 1u);
	EXPECT_EQ(r.rec.acks[0].newly, 768u);
	EXPECT_EQ(r.rec.acks[0].freed, 2u * kNominal);
	EXPECT_EQ(r.rec.acks[0].out, 7u * kNominal);
	EXPECT_EQ(r.rec.acks[0].waiting, kNominal);
	r.sack_all(r.psn(9));
	EXPECT_EQ(r.rec.acks[1].out, 0u);
	EXPECT_EQ(r.rec.acks[1].waiting, 0u);
}

TEST(ReqCc, TransportAckTellsOnlyWhatArrived)
{
	Requester r;
	r.init();
	r.send_n(2);
	r.ack(r.psn(1));
	ASSERT_EQ(r.rec.acks.size(), 1u);
	EXPECT_EQ(r.rec.acks[0].out, MRC_CC_NO_SACK);
	EXPECT_EQ(r.rec.acks[0].freed, 2u * kNominal);
}

// Lost and received after all: told if no second copy was sent, in every way
// that it may become known.
TEST(ReqCc, LateArrivals)
{
	for (int how = 0; how < 4; how++) {
		Requester r;
		r.init();
		auto out = r.send_n(3);
		r.nack(r.psn(0), MRC_NACK_NO_RESOURCE, out[0].entropy);
		ASSERT_TRUE(r.lost(r.psn(0)));
		EXPECT_TRUE(r.rec.late.empty());
		switch (how) {
		case 0:
			r.sack_all(r.psn(0));
			break;
		case 1:
			r.sack({.cack = r.psn(-1), .ack = 1});
			break;
		case 2:
			r.sack({.cack = r.psn(-1), .ack = 3, .map = 1});
			break;
		default:
			r.ack(r.psn(0));
		}
		EXPECT_EQ(r.rec.late, std::vector<u32>{kNominal}) << how;
	}
	Requester r;
	r.init();
	auto out = r.send_n(3);
	r.nack(r.psn(0), MRC_NACK_TRIMMED, out[0].entropy);
	ASSERT_EQ(r.send().size(), 1u);
	r.sack_all(r.psn(2));
	EXPECT_TRUE(r.rec.late.empty());
}

// The packet itself counts when it is decided whether it asks for feedback.
TEST(ReqCc, AckRequestSeesThePacket)
{
	static u64 seen;
	static mrc_cc_ops ops;
	ops = *RecordingCc::ops();
	ops.ack_request = [](const mrc_cc *, u64 inflight) {
		seen = inflight;
		EXPECT_FALSE(RecordingCc::self->sent.empty());
		return false;
	};
	Requester r;
	r.init(&ops);
	r.write(512);
	mrc_tx_desc d;
	ASSERT_EQ(r.next(&d), MRC_TX_PACKET);
	EXPECT_EQ(seen, kNominal);
}

// A window of eight SACK thresholds and more is reopened by SACKs that nobody asked
// for. One packet in flight that asks is enough, OP-42.
TEST(ReqAsk, WideWindowAsksOncePerRound)
{
	Requester r;
	r.ccfg.window = 8 * MRC_SACK_THRESHOLD;
	r.init();
	r.rec.limit = 100 * (u64)mrc_nominal_size(36, 256);
	r.write(256 * 1000);
	auto out = r.send();
	ASSERT_EQ(out.size(), 100u);
	for (int i = 0; i < 99; i++)
		EXPECT_FALSE(out[i].hdr.a) << i;
	EXPECT_TRUE(out[99].hdr.a);
	// Packets that close the window again, one by one.
	for (int i = 0; i < 99; i++) {
		r.sack_all(r.psn(i));
		out = r.send();
		ASSERT_EQ(out.size(), 1u);
		EXPECT_FALSE(out[0].hdr.a) << i;
	}
	r.sack_all(r.psn(99));
	out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_TRUE(out[0].hdr.a);
}

// A question that is lost is asked again.
TEST(ReqAsk, LossOfThePacketThatAsked)
{
	Requester r;
	r.ccfg.window = 8 * MRC_SACK_THRESHOLD;
	r.init();
	r.rec.limit = 100 * (u64)mrc_nominal_size(36, 256);
	r.write(256 * 1000);
	auto out = r.send();
	ASSERT_EQ(out.size(), 100u);
	r.nack(r.psn(99), MRC_NACK_TRIMMED, out[99].entropy);
	out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(99));
	EXPECT_TRUE(out[0].hdr.a);
	r.sack_all(r.psn(0));
	out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_FALSE(out[0].hdr.a);
}

// A packet that was put back and goes again into an open window asks no more: the one
// that closes the window does.
TEST(ReqAsk, PacketThatWasPutBack)
{
	Requester r;
	r.ccfg.window = 8 * MRC_SACK_THRESHOLD;
	r.init();
	r.rec.limit = 100 * (u64)mrc_nominal_size(36, 256);
	r.write(256 * 1000);
	auto out = r.send();
	ASSERT_EQ(out.size(), 100u);
	ASSERT_TRUE(out[99].hdr.a);
	mrc_req_put_back(&r.req, &out[99], r.now, r.now);
	r.rec.limit *= 2;
	out = r.send();
	ASSERT_EQ(out.size(), 101u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(99));
	EXPECT_FALSE(out[0].hdr.a);
	EXPECT_TRUE(out[100].hdr.a);
}

// A window that a few SACKs fill: each packet that closes it asks.
TEST(ReqAsk, NarrowWindowAsksEachTime)
{
	for (int narrow = 0; narrow < 4; narrow++) {
		Requester r;
		r.ccfg.window = 8 * MRC_SACK_THRESHOLD - (narrow == 1);
		r.cfg.mpr = narrow == 2 ? 1 : 8;
		r.ccfg.max_pkts = narrow == 3 ? 127 : 128;
		r.init();
		r.rec.limit = 40 * (u64)mrc_nominal_size(36, 256);
		r.write(256 * 1000);
		auto out = r.send();
		ASSERT_EQ(out.size(), 40u);
		EXPECT_TRUE(out[39].hdr.a);
		r.sack_all(r.psn(0));
		out = r.send();
		ASSERT_EQ(out.size(), 1u);
		EXPECT_EQ(out[0].hdr.a, narrow != 0) << narrow;
	}
}

// §13.1, all combinations.
TEST(ReqSched, States)
{
	Requester r;
	r.init();
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_IDLE);
	r.write(256);
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_READY);
	r.write(256);
	mrc_tx_desc d;
	ASSERT_EQ(r.next(&d), MRC_TX_PACKET);
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_READY);
	r.rec.limit = r.req.inflight;
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_ACTIVE);
	r.rec.limit = ~0ull;
	ASSERT_EQ(r.next(&d), MRC_TX_PACKET);
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_PENDING);
	// A lost packet is work; with nothing out the window counts as open.
	r.rec.limit = 0;
	r.nack(r.psn(0), MRC_NACK_NO_RESOURCE, d.entropy);
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_ACTIVE);
	r.nack(r.psn(1), MRC_NACK_NO_RESOURCE, d.entropy);
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_READY);
	r.sack_all(r.psn(1));
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_IDLE);
	// What may not begin is no work.
	r.rec.limit = ~0ull;
	mrc_req_set_drain(&r.req, true);
	r.write(512);
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_IDLE);
	mrc_req_set_drain(&r.req, false);
	ASSERT_EQ(r.next(&d), MRC_TX_PACKET);
	mrc_req_set_drain(&r.req, true);
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_READY);
	mrc_req_fail(&r.req, -1, MRC_WC_FLUSH);
	EXPECT_EQ(mrc_req_sched(&r.req), MRC_SCHED_IDLE);
}
