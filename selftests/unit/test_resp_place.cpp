// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Responder: several payloads that are placed at a time.
// MRC 1.0 §7.1, §7.4.
#include "engine_fixture.hpp"

using namespace mrc_test;

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
