// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Responder: window, duplicates, semantic checks, trimming, transport ACKs.
// MRC 1.0 §7, §8.5, §8.6, §10, §18.4.
#include "engine_fixture.hpp"

#include <algorithm>
#include <random>
#include <set>

using namespace mrc_test;

namespace
{

const u32 kNom = mrc_nominal_size(32, 256);

} // namespace

TEST(RespInit, RefusesBadConfigurations)
{
	const std::vector<std::function<void(mrc_resp_cfg &)>> bad = {
		[](auto &c) { c.pmtu = 128; },
		[](auto &c) { c.pmtu = 8192; },
		[](auto &c) { c.pmtu = 300; },
		[](auto &c) { c.mpr = 0; },
		[](auto &c) { c.mpr = 256; },
		[](auto &c) { c.max_wimm = 0; },
		[](auto &c) { c.rq_psn = 0x1000000; },
	};
	for (size_t i = 0; i < bad.size(); i++) {
		Responder r;
		bad[i](r.cfg);
		EXPECT_EQ(mrc_resp_mem(&r.cfg), 0u) << i;
		EXPECT_EQ(r.init(), -EINVAL) << i;
	}
	Responder r;
	EXPECT_EQ(mrc_resp_init(&r.resp, &r.cfg, nullptr, nullptr), -EINVAL);
}

TEST(RespInit, ExtremesAreAcceptedAndBounded)
{
	for (u16 mpr : {1, 3, 255}) {
		for (u32 wimm : {1u, 100u, 65535u}) {
			Responder r;
			r.cfg.mpr = mpr;
			r.cfg.max_wimm = (u16)wimm;
			EXPECT_LE(mrc_resp_mem(&r.cfg), 2u << 20);
			EXPECT_EQ(r.init(), 0);
		}
	}
}

// The table of §18.4, at several places of the PSN space.
TEST(RespVectors, GapsDuplicatesAndWindow)
{
	for (u32 first : {0u, 0xFFFFFAu, 0x7FFFFCu}) {
		Responder r;
		r.cfg.rq_psn = first;
		r.init();
		std::vector<mrc_tx_desc> fb;
		for (int n : {0, 1, 2, 3, 4, 6, 7, 9, 10, 11}) {
			// Four-packet messages: no LAST among 0-4, one at 5.
			u8 op = n == 0	 ? MRC_OP_WRITE_FIRST
				: n == 5 ? MRC_OP_WRITE_LAST
					 : MRC_OP_WRITE_MIDDLE;
			fb = r.data(
				{.psn = r.psn(n), .opcode = op, .a = n == 11});
			EXPECT_EQ(fb.size(), n == 11 ? 1u : 0u) << n;
		}
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
		EXPECT_EQ(fb[0].hdr.seth.cack_psn, r.psn(4));
		EXPECT_EQ(fb[0].hdr.psn, r.psn(4));
		EXPECT_EQ(fb[0].hdr.seth.ack_psn_offset, 7);
		EXPECT_EQ(fb[0].hdr.seth.sack_offset, 1);
		EXPECT_EQ(fb[0].hdr.seth.bitmap, 0x76u);
		EXPECT_EQ(fb[0].hdr.seth.ooo_count, 5);

		fb = r.data({.psn = r.psn(5),
			     .opcode = MRC_OP_WRITE_LAST,
			     .rtx = true});
		ASSERT_EQ(fb.size(), 2u);
		EXPECT_TRUE(fb[0].hdr.rtx);
		EXPECT_EQ(fb[0].hdr.seth.cack_psn, r.psn(7));
		EXPECT_EQ(fb[0].hdr.seth.ack_psn_offset, -2);
		EXPECT_EQ(fb[0].hdr.seth.sack_offset, 1);
		EXPECT_EQ(fb[0].hdr.seth.bitmap, 0x0Eu);
		EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK); // LAST was passed
		EXPECT_EQ(fb[1].hdr.psn, r.psn(7));

		fb = r.data({.psn = r.psn(8),
			     .opcode = MRC_OP_WRITE_LAST,
			     .rtx = true});
		ASSERT_EQ(fb.size(), 2u);
		EXPECT_EQ(fb[0].hdr.seth.cack_psn, r.psn(11));
		EXPECT_EQ(fb[0].hdr.seth.ooo_count, 0);
		EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
		EXPECT_EQ(fb[1].hdr.psn, r.psn(11));
		EXPECT_EQ(fb[1].hdr.aeth.syndrome, MRC_SYN_ACK);
		EXPECT_EQ(fb[1].hdr.aeth.msn, 2u);

		unsigned placed = r.placed;
		mrc_rx_action act;
		fb = r.data({.psn = r.psn(3), .opcode = MRC_OP_WRITE_MIDDLE},
			    &act);
		EXPECT_EQ(act, MRC_RX_DONE);
		EXPECT_EQ(r.placed, placed);
		ASSERT_EQ(fb.size(), 2u);
		EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
		EXPECT_EQ(fb[0].hdr.seth.ack_psn_offset, -8);
		EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
		EXPECT_EQ(fb[1].hdr.psn, r.psn(11));

		fb = r.data({.psn = r.psn(1036)}, &act);
		EXPECT_EQ(act, MRC_RX_DONE);
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_NACK);
		EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_PSN_OOR_WINDOW);
		EXPECT_EQ(fb[0].hdr.neth.nack_psn, r.psn(1036));
		EXPECT_EQ(fb[0].hdr.psn, r.psn(1036));
		// The last PSN of the window is welcome.
		r.data({.psn = r.psn(1035)}, &act);
		EXPECT_EQ(act, MRC_RX_PLACE);

		EXPECT_EQ(r.count(MRC_CTR_RX_DATA), 13u);
		EXPECT_EQ(r.count(MRC_CTR_RX_DUP), 1u);
		EXPECT_EQ(r.count(MRC_CTR_RX_OOR), 1u);
		// 6, 7, 9, 10, 11 and 1035.
		EXPECT_EQ(r.count(MRC_CTR_RX_OOO), 6u);
		EXPECT_EQ(r.count(MRC_CTR_RX_DATA_BYTES), 13u * 256);
		EXPECT_EQ(r.resp.rcvd_bytes, 13u * kNom);
	}
}

TEST(RespWindow, OutOfRangeNacksAreRateLimited)
{
	Responder r;
	r.init();
	mrc_rx_action act;
	EXPECT_EQ(r.data({.psn = r.psn(2000)}).size(), 1u);
	EXPECT_EQ(r.data({.psn = r.psn(2001)}, &act).size(), 0u);
	EXPECT_EQ(act, MRC_RX_DROP);
	r.now += r.cfg.base_rtt - 1;
	EXPECT_EQ(r.data({.psn = r.psn(2000)}).size(), 0u);
	r.now += 1;
	EXPECT_EQ(r.data({.psn = r.psn(2000)}).size(), 1u);
	EXPECT_EQ(r.count(MRC_CTR_RX_OOR), 4u);
	EXPECT_EQ(r.count(MRC_CTR_TX_NACK), 2u);
}

TEST(RespWindow, HalfTheSpaceAwayIsDropped)
{
	Responder r;
	r.init();
	mrc_rx_action act;
	// d = -2^23 is neither before nor after.
	EXPECT_EQ(r.data({.psn = psn_at(r.resp.cack, 1 << 23)}, &act).size(),
		  0u);
	EXPECT_EQ(act, MRC_RX_DROP);
	EXPECT_EQ(r.data({.psn = psn_at(r.resp.cack, (1 << 23) - 1)}).size(),
		  1u); // NACK
	auto fb = r.data({.psn = psn_at(r.resp.cack, -(1 << 23) + 1)});
	EXPECT_EQ(how_many(fb, MRC_OP_SACK), 1u); // an old duplicate
}

TEST(RespDuplicate, InTheWindowGetsNoTransportAck)
{
	Responder r;
	r.init();
	r.data({.psn = r.psn(3)});
	auto fb = r.data({.psn = r.psn(3)});
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
	EXPECT_EQ(fb[0].hdr.seth.ack_psn_offset, 4);
	EXPECT_EQ(fb[0].hdr.seth.rcvd_bytes, (kNom + 255) >> 8);
	EXPECT_EQ(r.placed, 1u);
	EXPECT_EQ(r.resp.rcvd_bytes, kNom);
}

TEST(RespDuplicate, CumulativeOneRecoversTheTransportAck)
{
	Responder r;
	r.init();
	auto fb = r.data({.psn = r.psn(0)});
	EXPECT_EQ(how_many(fb, MRC_OP_ACK), 1u); // lost, say
	for (int k = 0; k < 3; k++) {
		fb = r.data({.psn = r.psn(0), .a = true, .rtx = true});
		ASSERT_EQ(fb.size(), 2u);
		EXPECT_TRUE(fb[0].hdr.rtx);
		EXPECT_EQ(fb[1].hdr.psn, r.psn(0));
	}
	EXPECT_EQ(r.resp.msn, 1u);
}

// §8.2
TEST(RespTriggers, ByteThreshold)
{
	Responder r;
	r.cfg.pmtu = 4096;
	r.init();
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(r.data({.psn = r.psn(i),
				  .opcode = MRC_OP_WRITE_MIDDLE,
				  .len = 4096})
				  .size(),
			  0u);
	auto fb = r.data(
		{.psn = r.psn(3), .opcode = MRC_OP_WRITE_MIDDLE, .len = 4096});
	ASSERT_EQ(fb.size(), 1u); // 16384 reached
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
	EXPECT_EQ(r.resp.sack_cnt, 0u);
}

TEST(RespTriggers, SmallPacketsCountAsOneKilobyte)
{
	Responder r;
	r.init();
	for (int i = 0; i < 15; i++)
		EXPECT_EQ(how_many(r.data({.psn = r.psn(i)}), MRC_OP_SACK), 0u);
	EXPECT_EQ(how_many(r.data({.psn = r.psn(15)}), MRC_OP_SACK), 1u);
	EXPECT_EQ(how_many(r.data({.psn = r.psn(16)}), MRC_OP_SACK), 0u);
}

TEST(RespTriggers, ConfiguredThreshold)
{
	Responder r;
	r.cfg.sack_threshold = 1;
	r.init();
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(how_many(r.data({.psn = r.psn(i)}), MRC_OP_SACK), 1u);
}

TEST(RespTriggers, AckBitCongestionMarkAndRetransmission)
{
	Responder r;
	r.init();
	auto fb = r.data({.psn = r.psn(0), .a = true});
	EXPECT_EQ(how_many(fb, MRC_OP_SACK), 1u);
	EXPECT_EQ(find(fb, MRC_OP_SACK)->hdr.seth.m, MRC_M_NONE);
	fb = r.data({.psn = r.psn(1), .ce = true});
	EXPECT_EQ(find(fb, MRC_OP_SACK)->hdr.seth.m, MRC_M_SKIP_ONCE);
	EXPECT_EQ(r.count(MRC_CTR_RX_CE), 1u);
	fb = r.data({.psn = r.psn(2), .rtx = true});
	EXPECT_TRUE(find(fb, MRC_OP_SACK)->hdr.rtx);
	EXPECT_FALSE(find(fb, MRC_OP_SACK)->hdr.a);
}

// §8.6
TEST(RespAck, OnMessageEnd)
{
	Responder r;
	r.init();
	EXPECT_EQ(
		r.data({.psn = r.psn(0), .opcode = MRC_OP_WRITE_FIRST}).size(),
		0u);
	EXPECT_EQ(
		r.data({.psn = r.psn(1), .opcode = MRC_OP_WRITE_MIDDLE}).size(),
		0u);
	auto fb = r.data(
		{.psn = r.psn(2), .opcode = MRC_OP_WRITE_LAST, .len = 5});
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_ACK);
	EXPECT_EQ(fb[0].hdr.psn, r.psn(2));
	EXPECT_EQ(fb[0].hdr.aeth.msn, 1u);
	EXPECT_EQ(fb[0].hdr.dqp, r.cfg.dqpn);
	EXPECT_EQ(fb[0].hdr.pkey, 0xFFFF);
	EXPECT_EQ(fb[0].tc, MRC_TC_CONTROL);
	EXPECT_FALSE(fb[0].ect);
	EXPECT_FALSE(fb[0].data);
}

TEST(RespAck, OnAckRequestInsideAMessage)
{
	Responder r;
	r.init();
	r.data({.psn = r.psn(0), .opcode = MRC_OP_WRITE_FIRST});
	auto fb = r.data(
		{.psn = r.psn(1), .opcode = MRC_OP_WRITE_MIDDLE, .a = true});
	ASSERT_EQ(fb.size(), 2u);
	EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
	EXPECT_EQ(fb[1].hdr.psn, r.psn(1));
	EXPECT_EQ(fb[1].hdr.aeth.msn, 0u);
}

TEST(RespAck, NothingWhileAGapIsOpen)
{
	Responder r;
	r.init();
	auto fb = r.data({.psn = r.psn(2), .a = true});
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
	fb = r.data({.psn = r.psn(1)});
	EXPECT_EQ(fb.size(), 0u);
	fb = r.data({.psn = r.psn(0), .opcode = MRC_OP_WRITE_MIDDLE});
	ASSERT_EQ(fb.size(), 1u); // one cumulative ACK for three packets
	EXPECT_EQ(fb[0].hdr.psn, r.psn(2));
	EXPECT_EQ(fb[0].hdr.aeth.msn, 2u);
}

TEST(RespAck, MsnWrapsAt24Bits)
{
	Responder r;
	r.init();
	r.resp.msn = 0xFFFFFF;
	auto fb = r.data({.psn = r.psn(0)});
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.aeth.msn, 0u);
}

// §2.5, §7.5 (1)
TEST(RespCheck, LengthsByOpcode)
{
	struct Case {
		u8 op;
		u32 len;
		s64 dmalen;
		bool ok;
	};
	const Case cases[] = {
		{MRC_OP_WRITE_ONLY, 0, 0, true},
		{MRC_OP_WRITE_ONLY, 0, 0xFFFFFFFF, true}, // not validated
		{MRC_OP_WRITE_ONLY, 1, 1, true},
		{MRC_OP_WRITE_ONLY, 256, 256, true},
		{MRC_OP_WRITE_ONLY, 257, 257, false},
		{MRC_OP_WRITE_ONLY, 8, 9, false},
		{MRC_OP_WRITE_ONLY, 8, 0, false},
		{MRC_OP_WRITE_FIRST, 256, 257, true},
		{MRC_OP_WRITE_FIRST, 255, 512, false},
		{MRC_OP_WRITE_FIRST, 256, 256, false},
		{MRC_OP_WRITE_FIRST, 0, 512, false},
		{MRC_OP_WRITE_MIDDLE, 256, 1000, true},
		{MRC_OP_WRITE_MIDDLE, 252, 1000, false},
		{MRC_OP_WRITE_MIDDLE, 260, 1000, false},
		{MRC_OP_WRITE_LAST, 1, 257, true},
		{MRC_OP_WRITE_LAST, 256, 512, true},
		{MRC_OP_WRITE_LAST, 0, 512, false},
		{MRC_OP_WRITE_LAST, 257, 513, false},
		{MRC_OP_WRITE_LAST, 5, 262, false},
		{MRC_OP_WRITE_FIRST, 256, 1ll << 31, true},
		{MRC_OP_WRITE_FIRST, 256, (1ll << 31) + 1, false},
		{MRC_OP_WRITE_LAST_IMM, 5, 261, true},
		{MRC_OP_WRITE_LAST_IMM, 0, 256, false},
		{MRC_OP_WRITE_ONLY_IMM, 0, 0, true},
		{MRC_OP_WRITE_ONLY_IMM, 300, 300, false},
	};
	for (const Case &c : cases) {
		Responder r;
		r.init();
		mrc_rx_action act;
		auto fb = r.data({.psn = 0,
				  .opcode = c.op,
				  .len = c.len,
				  .dmalen = c.dmalen},
				 &act);
		const mrc_tx_desc *ack = find(fb, MRC_OP_ACK);
		if (c.ok) {
			EXPECT_EQ(act, c.len ? MRC_RX_PLACE : MRC_RX_DONE)
				<< (int)c.op << " " << c.len;
			EXPECT_EQ(mrc_resp_failed(&r.resp), 0);
			continue;
		}
		EXPECT_EQ(act, MRC_RX_DONE) << (int)c.op << " " << c.len;
		ASSERT_NE(ack, nullptr) << (int)c.op << " " << c.len;
		EXPECT_EQ(ack->hdr.aeth.syndrome, MRC_SYN_NAK_INV_REQ);
		EXPECT_EQ(ack->hdr.psn, 0u);
		EXPECT_EQ(mrc_resp_failed(&r.resp), MRC_SYN_NAK_INV_REQ);
		EXPECT_EQ(r.placed, 0u);
		EXPECT_EQ(r.count(MRC_CTR_ERR_INV_REQ), 1u);
	}
}

// OP-14: each packet of a WRITE is checked by itself. Its length must fit its opcode;
// the opcodes need not follow each other.
TEST(RespCheck, OpcodesOfAWriteInAnyOrder)
{
	const std::vector<std::vector<u8>> orders = {
		{MRC_OP_WRITE_MIDDLE, MRC_OP_WRITE_FIRST, MRC_OP_WRITE_LAST},
		{MRC_OP_WRITE_LAST, MRC_OP_WRITE_MIDDLE, MRC_OP_WRITE_FIRST},
		{MRC_OP_WRITE_FIRST, MRC_OP_WRITE_FIRST, MRC_OP_WRITE_ONLY},
		{MRC_OP_WRITE_MIDDLE, MRC_OP_WRITE_ONLY, MRC_OP_WRITE_MIDDLE},
	};
	for (const auto &order : orders) {
		Responder r;
		u32 ends = 0;
		r.init();
		for (u32 n = 0; n < order.size(); n++) {
			r.data({.psn = r.psn(n), .opcode = order[n]});
			ends += order[n] == MRC_OP_WRITE_LAST ||
				order[n] == MRC_OP_WRITE_ONLY;
		}
		EXPECT_EQ(r.placed, order.size());
		// MSN counts the packets that end a message.
		const auto fb = r.data({.psn = r.psn(order.size()), .a = true});
		ASSERT_EQ(fb.size(), 2u);
		EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
		EXPECT_EQ(fb[1].hdr.aeth.syndrome, MRC_SYN_ACK);
		EXPECT_EQ(fb[1].hdr.aeth.msn, ends + 1);
		EXPECT_EQ(r.count(MRC_CTR_ERR_INV_REQ), 0u);
	}
}

TEST(RespCheck, PadMustFitTheLength)
{
	for (u32 len : {0u, 1u, 2u, 3u, 4u}) {
		for (int pad = 0; pad < 4; pad++) {
			Responder r;
			r.init();
			r.data({.psn = 0, .len = len, .pad = pad});
			bool ok = (len + pad) % 4 == 0;
			EXPECT_EQ(mrc_resp_failed(&r.resp),
				  ok ? 0 : MRC_SYN_NAK_INV_REQ);
		}
	}
}

TEST(RespCheck, RemoteWriteMustBeAllowed)
{
	Responder r;
	r.cfg.remote_write = false;
	r.init();
	auto fb = r.data({.psn = 0});
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.aeth.syndrome, MRC_SYN_NAK_INV_REQ);
}

TEST(RespError, NakWaitsForEarlierPackets)
{
	Responder r;
	r.cfg.rq_psn = 0xFFFFFE;
	r.init();
	// PSN 2 fails, PSN 4 fails too; 0 and 1 come later.
	auto fb = r.data(
		{.psn = r.psn(4), .a = true, .place = MRC_SYN_NAK_REM_OP});
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK); // received all the same
	EXPECT_EQ(r.count(MRC_CTR_ERR_REM_OP), 1u);
	fb = r.data({.psn = r.psn(2), .place = MRC_SYN_NAK_ACCESS});
	EXPECT_EQ(fb.size(), 0u);
	EXPECT_EQ(r.count(MRC_CTR_ERR_ACCESS), 1u);
	fb = r.data({.psn = r.psn(0)});
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.aeth.syndrome, MRC_SYN_ACK);
	EXPECT_EQ(fb[0].hdr.psn, r.psn(0));
	EXPECT_EQ(mrc_resp_failed(&r.resp), 0);
	fb = r.data({.psn = r.psn(1), .a = true});
	ASSERT_EQ(fb.size(), 2u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
	EXPECT_EQ(fb[0].hdr.seth.cack_psn, r.psn(2)); // runs ahead of exec
	EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
	EXPECT_EQ(fb[1].hdr.psn, r.psn(2));
	EXPECT_EQ(fb[1].hdr.aeth.syndrome, MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(fb[1].hdr.aeth.msn, 2u);
	EXPECT_EQ(mrc_resp_failed(&r.resp), MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(r.count(MRC_CTR_TX_NAK), 1u);
	EXPECT_EQ(r.count(MRC_CTR_TX_ACK), 1u);
	EXPECT_EQ(r.count(MRC_CTR_RX_DATA_BYTES), 2u * 256);

	// After that everything is dropped.
	mrc_rx_action act;
	EXPECT_EQ(r.data({.psn = r.psn(3)}, &act).size(), 0u);
	EXPECT_EQ(act, MRC_RX_DROP);
	EXPECT_EQ(r.probe(1).size(), 0u);
	EXPECT_EQ(r.count(MRC_CTR_DROP_STATE), 2u);
}

TEST(RespError, DuplicateDoesNotAckPastIt)
{
	Responder r;
	r.init();
	r.data({.psn = r.psn(0)});
	r.data({.psn = r.psn(2), .place = MRC_SYN_NAK_ACCESS});
	auto fb = r.data({.psn = r.psn(0)});
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.psn, r.psn(0));
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.aeth.syndrome, MRC_SYN_ACK);
}

// Packets of 4 bytes whose payload a test places when it wants.
struct Placements : Responder {
	mrc_hdr h[MRC_RESP_PLACES + 1] = {};
	mrc_rx rx[MRC_RESP_PLACES + 1] = {};

	Placements()
	{
		init();
	}
	mrc_rx_action take(u32 psn, bool a = false)
	{
		h[psn].opcode = MRC_OP_WRITE_ONLY;
		h[psn].psn = psn;
		h[psn].a = a;
		h[psn].payload_len = 4;
		h[psn].hdr_len = 32;
		h[psn].reth.dmalen = 4;
		rx[psn].hdr = &h[psn];
		rx[psn].port = 1;
		rx[psn].entropy = psn;
		return again(psn);
	}
	mrc_rx_action again(u32 psn)
	{
		const auto act = mrc_resp_on_data(&resp, &rx[psn], now);
		check();
		return act;
	}
	void place(u32 psn, u8 syndrome = 0)
	{
		mrc_resp_placed(&resp, &rx[psn], syndrome, now);
		check();
	}
};

// Other packets are taken while the payload of one is being placed. A packet is received
// when its payload is in place, and its feedback is due then.
TEST(RespPlace, OthersAreTakenMeanwhile)
{
	Placements r;
	const u32 none = MRC_PSN_MASK;
	for (u32 i = 0; i < 3; i++) {
		EXPECT_EQ(r.take(i, true), MRC_RX_PLACE);
		EXPECT_TRUE(mrc_resp_has_place(&r.resp));
		EXPECT_TRUE(r.feedback().empty());
	}
	EXPECT_EQ(r.count(MRC_CTR_RX_DATA), 3u);
	EXPECT_EQ(r.count(MRC_CTR_RX_OOO), 0u);
	r.place(1);
	auto fb = r.feedback();
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
	EXPECT_EQ(fb[0].hdr.seth.cack_psn, none);
	EXPECT_EQ(fb[0].hdr.seth.entropy, 1u);
	EXPECT_EQ(fb[0].hdr.seth.bitmap, 2u);
	EXPECT_EQ(r.resp.exec, none);
	r.place(0);
	fb = r.feedback();
	ASSERT_EQ(fb.size(), 2u);
	EXPECT_EQ(fb[0].hdr.seth.cack_psn, 1u);
	EXPECT_EQ(fb[0].hdr.seth.bitmap, 0u);
	EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
	EXPECT_EQ(fb[1].hdr.psn, 1u);
	r.place(2);
	fb = r.feedback();
	ASSERT_EQ(fb.size(), 2u);
	EXPECT_EQ(fb[1].hdr.psn, 2u);
}

// A copy is a duplicate, and is reported with the packet.
TEST(RespPlace, CopiesAreDuplicates)
{
	Placements r;
	EXPECT_EQ(r.take(0), MRC_RX_PLACE);
	EXPECT_EQ(r.take(1), MRC_RX_PLACE);
	EXPECT_EQ(r.take(2), MRC_RX_PLACE);
	EXPECT_EQ(r.again(2), MRC_RX_DONE);
	EXPECT_EQ(r.count(MRC_CTR_RX_DUP), 1u);
	EXPECT_TRUE(r.feedback().empty());
	// The entries of the list change their places.
	r.place(0);
	for (const auto &d : r.feedback())
		EXPECT_NE(d.hdr.opcode, MRC_OP_SACK);
	r.place(2);
	auto fb = r.feedback();
	ASSERT_NE(find(fb, MRC_OP_SACK), nullptr);
	EXPECT_EQ(find(fb, MRC_OP_SACK)->hdr.seth.entropy, 2u);
	r.place(1);
	fb = r.feedback();
	EXPECT_EQ(find(fb, MRC_OP_SACK), nullptr);
	EXPECT_EQ(r.resp.exec, 2u);
}

// The list of such packets is short. When it is full, nothing more is taken.
TEST(RespPlace, OnlySoManyAtOnce)
{
	Placements r;
	for (u32 i = 0; i < MRC_RESP_PLACES; i++) {
		EXPECT_TRUE(mrc_resp_has_place(&r.resp));
		EXPECT_EQ(r.take(i), MRC_RX_PLACE);
	}
	EXPECT_FALSE(mrc_resp_has_place(&r.resp));
	EXPECT_EQ(r.take(MRC_RESP_PLACES), MRC_RX_DROP);
	EXPECT_EQ(r.count(MRC_CTR_DROP_STATE), 1u);
	for (u32 i = MRC_RESP_PLACES; i--;) {
		r.place(i);
		EXPECT_EQ(r.resp.cack, i ? (u32)MRC_PSN_MASK : MRC_RESP_PLACES - 1);
	}
	EXPECT_EQ(r.again(MRC_RESP_PLACES), MRC_RX_PLACE);
	r.place(MRC_RESP_PLACES);
	EXPECT_EQ(r.resp.cack, (u32)MRC_RESP_PLACES);
}

// Only packets that really overtook others count as out of order.
TEST(RespPlace, OrderIsThatOfArrival)
{
	Placements r;
	EXPECT_EQ(r.take(0), MRC_RX_PLACE);
	EXPECT_EQ(r.take(1), MRC_RX_PLACE);
	r.place(1);
	EXPECT_EQ(r.take(2), MRC_RX_PLACE);
	EXPECT_EQ(r.count(MRC_CTR_RX_OOO), 0u);
	EXPECT_EQ(r.take(4), MRC_RX_PLACE);
	EXPECT_EQ(r.count(MRC_CTR_RX_OOO), 1u);
	EXPECT_EQ(r.take(3), MRC_RX_PLACE);
	EXPECT_EQ(r.take(5), MRC_RX_PLACE);
	EXPECT_EQ(r.count(MRC_CTR_RX_OOO), 1u);
	for (u32 i : {5, 4, 3, 2, 0})
		r.place(i);
	EXPECT_EQ(r.resp.cack, 5u);
}

// An error of one does not hide the others.
TEST(RespPlace, TheFirstErrorCounts)
{
	Placements r;
	for (u32 i = 0; i < 3; i++)
		EXPECT_EQ(r.take(i), MRC_RX_PLACE);
	r.place(2, MRC_SYN_NAK_REM_OP);
	r.place(1, MRC_SYN_NAK_ACCESS);
	EXPECT_TRUE(r.feedback().empty());
	r.place(0);
	const auto fb = r.feedback();
	ASSERT_NE(find(fb, MRC_OP_ACK), nullptr);
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.psn, 1u);
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.aeth.syndrome, MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(mrc_resp_failed(&r.resp), MRC_SYN_NAK_ACCESS);
}

TEST(RespPlace, NothingIsOwedTwice)
{
	Responder r;
	r.init();
	mrc_hdr h{};
	h.opcode = MRC_OP_WRITE_ONLY;
	h.payload_len = 4;
	h.hdr_len = 32;
	h.reth.dmalen = 4;
	mrc_rx rx{};
	rx.hdr = &h;
	rx.port = 1;
	EXPECT_EQ(mrc_resp_on_data(&r.resp, &rx, r.now), MRC_RX_PLACE);
	r.check();
	mrc_resp_placed(&r.resp, &rx, 0, r.now);
	r.check();
	EXPECT_EQ(r.resp.cack, 0u);
	mrc_resp_placed(&r.resp, &rx, MRC_SYN_NAK_ACCESS, r.now); // nothing owed
	EXPECT_EQ(r.resp.err_syn, 0);
}

// OP-4
TEST(RespUnknown, NackInsideTheWindowDropOutside)
{
	Responder r;
	r.init();
	mrc_rx_action act;
	auto fb = r.data({.psn = r.psn(5), .opcode = 0xC4}, &act);
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(act, MRC_RX_DONE);
	EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_UNEXP_EVENT);
	EXPECT_EQ(fb[0].hdr.neth.nack_psn, r.psn(5));
	EXPECT_EQ(r.data({.psn = r.psn(6), .opcode = 0xC4}, &act).size(), 0u);
	EXPECT_EQ(act, MRC_RX_DROP);
	r.now += r.cfg.base_rtt;
	EXPECT_EQ(r.data({.psn = r.psn(-1), .opcode = 0xC4}).size(), 0u);
	EXPECT_EQ(r.data({.psn = r.psn(1024), .opcode = 0xC4}).size(), 0u);
	EXPECT_EQ(r.data({.psn = r.psn(1023), .opcode = 0xC4}).size(), 1u);
	EXPECT_EQ(r.count(MRC_CTR_DROP_OPCODE), 5u);
	EXPECT_EQ(r.resp.max_rcv, r.psn(-1));
}

// §8.5
TEST(RespTrim, IsRefusedWithoutAnyOtherEffect)
{
	for (auto [trim, reason] :
	     {std::pair{MRC_TRIM_TRIMMED, MRC_NACK_TRIMMED},
	      std::pair{MRC_TRIM_LASTHOP, MRC_NACK_TRIMMED_LASTHOP}}) {
		Responder r;
		r.init();
		auto fb = r.data({.psn = r.psn(4),
				  .ts = true,
				  .tstamp = 0x106,
				  .trim = (u8)trim});
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_NACK);
		EXPECT_EQ(fb[0].hdr.psn, r.psn(4));
		EXPECT_EQ(fb[0].hdr.neth.reason, reason);
		EXPECT_EQ(fb[0].hdr.neth.nack_psn, r.psn(4));
		EXPECT_EQ(fb[0].hdr.neth.entropy, 0x1234C001u);
		EXPECT_EQ(fb[0].hdr.neth.cc_type, 2);
		EXPECT_EQ(fb[0].hdr.neth.spdcid, 0x789A);
		EXPECT_EQ(fb[0].hdr.neth.dpdcid, 0x2345);
		EXPECT_EQ(fb[0].hdr.tstamp, 0x106);
		EXPECT_EQ(r.count(MRC_CTR_RX_TRIMMED), 1u);
		EXPECT_EQ(r.count(MRC_CTR_RX_DATA), 0u);
		EXPECT_EQ(r.resp.max_rcv, r.psn(-1));
		EXPECT_EQ(r.resp.rcvd_bytes, 0u);
		EXPECT_EQ(r.resp.sack_cnt, 0u);
		// One NACK per refused packet, no rate limit.
		EXPECT_EQ(r.data({.psn = r.psn(5), .trim = (u8)trim}).size(),
			  1u);
	}
}

TEST(RespTrim, DuplicatesAreSacked)
{
	Responder r;
	r.init();
	r.data({.psn = r.psn(0)});
	r.data({.psn = r.psn(3)});
	auto fb = r.data({.psn = r.psn(3), .trim = MRC_TRIM_TRIMMED});
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
	EXPECT_EQ(fb[0].hdr.seth.ack_psn_offset, 3);
	fb = r.data({.psn = r.psn(0), .rtx = true, .trim = MRC_TRIM_TRIMMED});
	ASSERT_EQ(fb.size(), 2u);
	EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
}

TEST(RespTrim, SilentIfNotNegotiatedOrOutOfWindow)
{
	Responder r;
	r.cfg.trim_nack = false;
	r.init();
	mrc_rx_action act;
	EXPECT_EQ(r.data({.psn = 0, .trim = MRC_TRIM_TRIMMED}, &act).size(),
		  0u);
	EXPECT_EQ(act, MRC_RX_DROP);
	Responder q;
	q.init();
	EXPECT_EQ(q.data({.psn = 1024, .trim = MRC_TRIM_TRIMMED}).size(), 0u);
	EXPECT_EQ(q.data({.psn = 1023, .trim = MRC_TRIM_TRIMMED}).size(), 1u);
}

TEST(RespEcho, TimestampOnlyIfItIsOne)
{
	Responder r;
	r.init();
	auto echo = [&](DataSpec s) {
		s.psn = psn_at(r.resp.cack, 1);
		s.a = true;
		return find(r.data(s), MRC_OP_SACK)->hdr.tstamp;
	};
	EXPECT_EQ(echo({.ts = true, .tstamp = 0x105}), 0x105);
	EXPECT_EQ(echo({.ts = false, .tstamp = 0x105}), 0);
	EXPECT_EQ(echo({.ts = true, .tstamp = 0x105, .ftype = 2}), 0);
}

TEST(RespEcho, ReverseEvComesFromTheOwnSet)
{
	Requester q;
	q.init();
	Responder r;
	r.init(&q.paths);
	for (u8 port : {1, 2}) {
		auto fb = r.data({.psn = psn_at(r.resp.cack, 1),
				  .a = true,
				  .entropy = 0x55,
				  .port = port});
		for (const auto &d : fb) {
			ASSERT_GE(d.ev, 0);
			EXPECT_EQ(d.port, port);
			EXPECT_EQ(d.entropy, q.ev(d.ev).entropy);
		}
		EXPECT_EQ(find(fb, MRC_OP_SACK)->hdr.seth.entropy, 0x55u);
	}
	// The arrival port is down for us: another one.
	mrc_paths_set_ports(&q.paths, 1u << 1);
	auto fb = r.data({.psn = psn_at(r.resp.cack, 1), .port = 2});
	EXPECT_EQ(fb[0].port, 1);
	// Without a set the packet's own path is echoed.
	Responder s;
	s.init();
	fb = s.data({.psn = 0, .entropy = 0x77, .port = 3});
	EXPECT_EQ(fb[0].ev, -1);
	EXPECT_EQ(fb[0].entropy, 0x77u);
	EXPECT_EQ(fb[0].port, 3);
}

// The peer may not have heard feedback of one plane: the answer to a probe takes two.
TEST(RespEcho, ProbesAreAnsweredThroughTwoPlanes)
{
	for (bool two : {true, false}) {
		Requester q;
		q.init();
		if (!two)
			mrc_paths_set_ports(&q.paths, 1u << 2);
		Responder r;
		r.init(&q.paths);
		auto fb = r.data({.psn = r.psn(0), .a = true, .port = 2});
		ASSERT_FALSE(fb.empty());
		EXPECT_EQ(fb.back().port, 2);
		fb = r.probe(1); // on port 2
		ASSERT_EQ(fb.size(), 2u);
		EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
		EXPECT_EQ(fb[0].port, 2);
		EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
		EXPECT_EQ(fb[1].port != 2, two);
	}
}

// A reverse EV has turned out to be dead: the same SACK on each plane, everything else
// once. Of a train only the last one.
TEST(RespEcho, SackGoesToAllPlanesIfReverseEvsDie)
{
	Requester q;
	q.init();
	Responder r;
	r.init(&q.paths);
	mrc_rev *rev = mrc_resp_rev(&r.resp);
	const u8 ports = q.paths.n_ports;
	mrc_rev_confirm(rev, &q.paths, 0, r.now);
	mrc_rev_probe_sent(rev, &q.paths, 0, 1, r.now);
	mrc_rev_probe_sent(rev, &q.paths, 1, 2, r.now);
	auto fb = r.data({.psn = r.psn(1), .a = true, .port = 2});
	std::vector<u8> sacks;
	const mrc_seth first = find(fb, MRC_OP_SACK)->hdr.seth;
	for (const auto &d : fb) {
		if (d.hdr.opcode != MRC_OP_SACK)
			continue;
		sacks.push_back(d.port);
		EXPECT_EQ(d.hdr.seth.bitmap, first.bitmap);
		EXPECT_EQ(d.hdr.seth.sack_offset, first.sack_offset);
		EXPECT_EQ(d.hdr.seth.cack_psn, first.cack_psn);
	}
	EXPECT_EQ(sacks.size(), ports);
	std::sort(sacks.begin(), sacks.end());
	EXPECT_EQ(std::unique(sacks.begin(), sacks.end()), sacks.end());
	fb = r.data({.psn = r.psn(200), .a = true, .port = 2});
	std::vector<s16> maps;
	for (const auto &d : fb)
		if (d.hdr.opcode == MRC_OP_SACK)
			maps.push_back(d.hdr.seth.sack_offset);
	ASSERT_GT(maps.size(), ports);
	EXPECT_EQ(std::count(maps.begin(), maps.end(), maps.back()), ports);
	EXPECT_EQ(std::set<s16>(maps.begin(), maps.end()).size(),
		  maps.size() - ports + 1);
	// The path works again.
	EXPECT_TRUE(mrc_rev_response(rev, &q.paths, 2, r.now));
	fb = r.data({.psn = r.psn(2), .a = true, .port = 2});
	EXPECT_EQ(std::count_if(fb.begin(), fb.end(),
				[](const mrc_tx_desc &d) {
					return d.hdr.opcode == MRC_OP_SACK &&
					       d.port != 2;
				}),
		  0);
}

// Every PSN exactly once, whatever order and however often.
TEST(RespAny, ShuffledDuplicatedStreamOverTheWrap)
{
	std::mt19937 rng(5);
	for (u32 first : {0xFFFE00u, 0u, 0x7FFF00u}) {
		Responder r;
		r.cfg.rq_psn = first;
		r.cfg.mpr = 1;
		r.init();
		const int total = 3000;
		std::vector<int> got(total);
		while (mrc_psn_diff(r.resp.cack, first) + 1 < total) {
			int done = mrc_psn_diff(r.resp.cack, first) + 1;
			int n = std::min(total - 1,
					 done + (int)(rng() % 140) - 6);
			if (n < 0)
				continue;
			mrc_rx_action act;
			r.data({.psn = r.psn(n), .rtx = rng() % 4 == 0}, &act);
			got[n] += act == MRC_RX_PLACE;
			r.now += 10;
		}
		for (int n = 0; n < total; n++)
			ASSERT_EQ(got[n], 1) << n;
		EXPECT_EQ(r.resp.msn, (u32)total);
		EXPECT_EQ(r.resp.rcvd_bytes, (u64)total * kNom);
		EXPECT_EQ(r.resp.ooo, 0u);
	}
}

// Any packet at all: never inconsistent, never more feedback than a window.
TEST(RespHostile, RandomPacketsKeepTheInvariants)
{
	std::mt19937_64 rng(9);
	const u8 ops[] = {MRC_OP_WRITE_FIRST,
			  MRC_OP_WRITE_MIDDLE,
			  MRC_OP_WRITE_LAST,
			  MRC_OP_WRITE_LAST_IMM,
			  MRC_OP_WRITE_ONLY,
			  MRC_OP_WRITE_ONLY_IMM,
			  0xC4};
	for (int round = 0; round < 60; round++) {
		Responder r;
		r.cfg.rq_psn = rng() & kPsnMask;
		r.cfg.mpr = 1 + rng() % 3;
		r.cfg.max_wimm = 1 + rng() % 9;
		r.recvs = rng() % 200;
		r.init();
		for (int i = 0; i < 400 && !mrc_resp_failed(&r.resp); i++) {
			DataSpec s;
			s.psn = rng() % 8 ? psn_at(r.resp.cack,
						   (s64)(rng() % 20) - 3)
					  : (u32)(rng() & kPsnMask);
			s.opcode = ops[rng() % std::size(ops)];
			s.len = rng() % 16 ? 256 : rng() % 600;
			s.rqmsn = rng() % 16 ? r.resp.rqmsn + rng() % 3
					     : (u16)rng();
			s.a = rng() & 1;
			s.rtx = rng() & 1;
			s.ce = rng() & 1;
			s.trim = rng() % 8 ? 0 : rng() % 3;
			s.port = rng() % 20;
			s.place = rng() % 200 ? 0 : MRC_SYN_NAK_ACCESS;
			auto fb = rng() % 10 ? r.data(s) : r.probe((u16)rng());
			EXPECT_LE(fb.size(), r.resp.window / 64 + 3);
			r.now += rng() % (100 * kUs);
		}
	}
}
