// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Responder: what it refuses, and the NAKs that wait for earlier packets.
// MRC 1.0 §7.5, §18.4.
#include "engine_fixture.hpp"

using namespace mrc_test;

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
