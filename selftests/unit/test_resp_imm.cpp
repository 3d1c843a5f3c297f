// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Responder: order, stash and failures of WRITE_IMM. MRC 1.0 §7.4, §10.
#include "engine_fixture.hpp"

using namespace mrc_test;

namespace
{

DataSpec imm_only(u32 psn, u16 rqmsn, u32 len = 256)
{
	DataSpec s;
	s.psn = psn;
	s.opcode = MRC_OP_WRITE_ONLY_IMM;
	s.len = len;
	s.rqmsn = rqmsn;
	s.imm = (__be32)(0x1000u + rqmsn);
	return s;
}

} // namespace

// The WIMM row of §18.4.
TEST(RespImm, DeliveredInOrder)
{
	for (u32 first : {0u, 0xFFFFFEu, 0xFFFFFFu}) {
		Responder r;
		r.cfg.rq_psn = first;
		r.init();
		r.data(imm_only(r.psn(2), 1));
		EXPECT_EQ(r.imms.size(), 0u);
		r.data({.psn = r.psn(1),
			.opcode = MRC_OP_WRITE_LAST_IMM,
			.len = 5,
			.dmalen = 261,
			.rqmsn = 0,
			.se = true,
			.imm = (__be32)0xDEADBEEF});
		EXPECT_EQ(r.imms.size(), 0u);
		auto fb = r.data({.psn = r.psn(0),
				  .opcode = MRC_OP_WRITE_FIRST,
				  .dmalen = 261});
		ASSERT_EQ(r.imms.size(), 2u);
		EXPECT_EQ(r.imms[0].imm, (__be32)0xDEADBEEF);
		EXPECT_EQ(r.imms[0].len, 261u);
		EXPECT_EQ(r.imms[0].psn, r.psn(1));
		EXPECT_TRUE(r.imms[0].se);
		EXPECT_EQ(r.imms[1].imm, (__be32)0x1001);
		EXPECT_EQ(r.imms[1].len, 256u);
		EXPECT_FALSE(r.imms[1].se);
		const mrc_tx_desc *ack = find(fb, MRC_OP_ACK);
		ASSERT_NE(ack, nullptr);
		EXPECT_EQ(ack->hdr.psn, r.psn(2));
		EXPECT_EQ(ack->hdr.aeth.msn, 2u);
		EXPECT_EQ(r.count(MRC_CTR_RX_WIMM), 2u);
		EXPECT_EQ(r.resp.rqmsn, 2);
	}
}

TEST(RespImm, IsABarrierForEarlierWrites)
{
	Responder r;
	r.init();
	r.data(imm_only(r.psn(3), 0));
	r.data({.psn = r.psn(0)});
	r.data({.psn = r.psn(1)});
	EXPECT_EQ(r.imms.size(), 0u);
	r.data({.psn = r.psn(2)});
	EXPECT_EQ(r.imms.size(), 1u);
}

TEST(RespImm, ZeroLengthHasLengthZeroWhateverItSays)
{
	Responder r;
	r.init();
	DataSpec s = imm_only(0, 0, 0);
	s.dmalen = 0x12345;
	mrc_rx_action act;
	r.data(s, &act);
	EXPECT_EQ(act, MRC_RX_DONE);
	ASSERT_EQ(r.imms.size(), 1u);
	EXPECT_EQ(r.imms[0].len, 0u);
}

TEST(RespImm, AckWaitsForTheDelivery)
{
	Responder r;
	r.deliver = false;
	r.init();
	DataSpec s = imm_only(1, 0);
	s.a = true;
	r.data({.psn = 0});
	auto fb = r.data(s);
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
	EXPECT_EQ(fb[0].hdr.seth.cack_psn, 1u); // reliability runs ahead
	EXPECT_EQ(r.resp.exec, 0u);
	// Until then nothing else is taken, so that bookkeeping stays bounded.
	mrc_rx_action act;
	r.data({.psn = 2}, &act);
	EXPECT_EQ(act, MRC_RX_DROP);
	r.deliver_imms();
	fb = r.feedback();
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_ACK);
	EXPECT_EQ(fb[0].hdr.psn, 1u);
	EXPECT_EQ(r.resp.exec, 1u);
}

TEST(RespImm, DuplicateDeliversNothing)
{
	Responder r;
	r.init();
	r.data(imm_only(0, 0));
	r.data(imm_only(0, 0));
	r.data(imm_only(2, 1));
	r.data(imm_only(2, 1));
	EXPECT_EQ(r.imms.size(), 1u);
	r.data({.psn = 1});
	EXPECT_EQ(r.imms.size(), 2u);
	EXPECT_EQ(mrc_resp_failed(&r.resp), 0);
}

TEST(RespImm, RqmsnWrapsWithAnyStashDepth)
{
	for (u16 depth : {1, 3, 4, 100}) {
		Responder r;
		r.cfg.max_wimm = depth;
		r.recvs = 40u * depth;
		r.init();
		r.resp.rqmsn = 0xFFF0;
		u32 psn = 0;
		for (int block = 0; block < 40; block++) {
			// depth immediates, backwards.
			for (int i = depth - 1; i >= 0; i--)
				r.data(imm_only(psn + (u32)i,
						(u16)(0xFFF0 + psn + (u32)i)));
			psn += depth;
			ASSERT_EQ(r.imms.size(), psn);
		}
		for (u32 i = 0; i < psn; i++)
			EXPECT_EQ(r.imms[i].psn, i);
		EXPECT_EQ(mrc_resp_failed(&r.resp), 0);
	}
}

TEST(RespImm, MoreThanTheLimitIsRefused)
{
	Responder r;
	r.cfg.max_wimm = 3; // the stash itself has four places
	r.init();
	for (u16 k = 0; k < 3; k++)
		r.data(imm_only(1u + k, k));
	EXPECT_EQ(r.count(MRC_CTR_ERR_WIMM_LIMIT), 0u);
	auto fb = r.data(imm_only(4, 3));
	EXPECT_EQ(r.count(MRC_CTR_ERR_WIMM_LIMIT), 1u);
	EXPECT_EQ(how_many(fb, MRC_OP_ACK), 0u);
	// The NAK is for that PSN, after the three before it were delivered.
	fb = r.data({.psn = 0});
	EXPECT_EQ(r.imms.size(), 3u);
	const mrc_tx_desc *nak = find(fb, MRC_OP_ACK);
	ASSERT_NE(nak, nullptr);
	EXPECT_EQ(nak->hdr.psn, 4u);
	EXPECT_EQ(nak->hdr.aeth.syndrome, MRC_SYN_NAK_INV_REQ);
	EXPECT_EQ(how_many(fb, MRC_OP_ACK), 1u);
}

TEST(RespImm, TwoPacketsWithTheSameRqmsn)
{
	Responder r;
	r.init();
	r.data(imm_only(2, 1));
	r.data(imm_only(3, 1));
	EXPECT_EQ(r.count(MRC_CTR_ERR_WIMM_LIMIT), 1u);
	r.data(imm_only(1, 0));
	auto fb = r.data({.psn = 0});
	EXPECT_EQ(r.imms.size(), 2u);
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.psn, 3u);
}

// OP-11
TEST(RespImm, RqmsnMustCountByOne)
{
	Responder r;
	r.init();
	r.data(imm_only(0, 0));
	auto fb = r.data(imm_only(1, 2));
	const mrc_tx_desc *nak = find(fb, MRC_OP_ACK);
	ASSERT_NE(nak, nullptr);
	EXPECT_EQ(nak->hdr.psn, 1u);
	EXPECT_EQ(nak->hdr.aeth.syndrome, MRC_SYN_NAK_INV_REQ);
	EXPECT_EQ(r.imms.size(), 1u);
	EXPECT_EQ(r.count(MRC_CTR_ERR_INV_REQ), 1u);
}

TEST(RespImm, SwappedRqmsnsFail)
{
	Responder r;
	r.init();
	r.data(imm_only(2, 0));
	r.data(imm_only(1, 1));
	auto fb = r.data({.psn = 0});
	EXPECT_EQ(r.imms.size(), 0u);
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.psn, 1u);
	EXPECT_EQ(mrc_resp_failed(&r.resp), MRC_SYN_NAK_INV_REQ);
}

TEST(RespImm, NoReceivePosted)
{
	Responder r;
	r.recvs = 1;
	r.init();
	r.data(imm_only(1, 0));
	r.data(imm_only(2, 1));
	r.data({.psn = 3});
	auto fb = r.data({.psn = 0});
	EXPECT_EQ(r.imms.size(), 1u);
	EXPECT_EQ(r.count(MRC_CTR_ERR_NO_RECV), 1u);
	EXPECT_EQ(r.count(MRC_CTR_RX_WIMM), 1u);
	// One packet, the NAK; it acknowledges PSN 0 and 1 implicitly.
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.psn, 2u);
	EXPECT_EQ(fb[0].hdr.aeth.syndrome, MRC_SYN_NAK_INV_REQ);
	EXPECT_EQ(fb[0].hdr.aeth.msn, 2u);
	EXPECT_EQ(mrc_resp_failed(&r.resp), MRC_SYN_NAK_INV_REQ);
	mrc_recv_msg imm;
	EXPECT_FALSE(mrc_resp_next_recv(&r.resp, &imm));
}

TEST(RespImm, NothingBehindAnErrorIsDelivered)
{
	Responder r;
	r.init();
	DataSpec bad;
	bad.psn = 1;
	bad.place = MRC_SYN_NAK_ACCESS;
	r.data(bad);
	r.data(imm_only(2, 0));
	r.data({.psn = 0});
	EXPECT_EQ(r.imms.size(), 0u);
	EXPECT_EQ(mrc_resp_failed(&r.resp), MRC_SYN_NAK_ACCESS);
}

TEST(RespImm, FailedPlacementOfTheImmediateItself)
{
	Responder r;
	r.init();
	DataSpec s = imm_only(0, 0);
	s.place = MRC_SYN_NAK_REM_OP;
	auto fb = r.data(s);
	EXPECT_EQ(r.imms.size(), 0u);
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.aeth.syndrome, MRC_SYN_NAK_REM_OP);
}

TEST(RespImm, DoneWithoutDueIsIgnored)
{
	Responder r;
	r.init();
	r.data({.psn = 0});
	mrc_resp_recv_done(&r.resp, MRC_SYN_NAK_INV_REQ);
	r.check();
	EXPECT_EQ(r.resp.err_syn, 0);
	EXPECT_EQ(r.resp.exec, 0u);
}

// A stash that comes with the first WRITE_IMM, and memory for it that does not
// come at once.
TEST(RespImm, LateStash)
{
	Responder r;
	r.cfg.late_stash = true;
	r.init();
	r.poor = true;
	r.data({.psn = 0});
	EXPECT_EQ(r.resp.cack, 0u);

	const u64 bytes = r.resp.rcvd_bytes;
	for (unsigned n = 1; n <= 2; n++) {
		auto fb = r.data(imm_only(2, 0));
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_NACK);
		EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_NO_RESOURCE);
		EXPECT_EQ(fb[0].hdr.neth.nack_psn, 2u);
		EXPECT_EQ(r.count(MRC_CTR_RX_REFUSED), n);
	}
	EXPECT_EQ(r.resp.max_rcv, 0u);
	EXPECT_EQ(r.resp.rcvd_bytes, bytes);
	EXPECT_EQ(r.resp.stash, nullptr);

	r.poor = false;
	r.data(imm_only(2, 0));
	EXPECT_NE(r.resp.stash, nullptr);
	r.data(imm_only(3, 1));
	EXPECT_TRUE(r.imms.empty());
	r.data({.psn = 1});
	ASSERT_EQ(r.imms.size(), 2u);
	EXPECT_EQ(r.imms[0].imm, (__be32)0x1000);
	EXPECT_EQ(r.imms[1].imm, (__be32)0x1001);
	EXPECT_EQ(r.count(MRC_CTR_RX_REFUSED), 2u);
}

// Memory is taken for packets only that can be accepted, and once.
TEST(RespImm, WantsStash)
{
	Responder r;
	r.cfg.late_stash = true;
	r.init();
	r.data({.psn = 0});

	mrc_hdr h{};
	mrc_rx rx{};
	rx.hdr = &h;
	rx.port = 1;
	const auto wants = [&](u8 opcode, u32 psn, u8 trim = MRC_TRIM_NONE) {
		h.opcode = opcode;
		h.psn = psn;
		rx.trim = trim;
		return mrc_resp_wants_stash(&r.resp, &rx);
	};
	EXPECT_TRUE(wants(MRC_OP_WRITE_ONLY_IMM, 1));
	EXPECT_TRUE(wants(MRC_OP_WRITE_LAST_IMM, 1024));
	EXPECT_FALSE(wants(MRC_OP_WRITE_ONLY_IMM, 0));
	EXPECT_FALSE(wants(MRC_OP_WRITE_ONLY_IMM, 0xFFFFFF));
	EXPECT_FALSE(wants(MRC_OP_WRITE_ONLY_IMM, 1025));
	EXPECT_FALSE(wants(MRC_OP_WRITE_ONLY_IMM, 0x800000));
	EXPECT_FALSE(wants(MRC_OP_WRITE_ONLY_IMM, 1, MRC_TRIM_TRIMMED));
	EXPECT_FALSE(wants(MRC_OP_WRITE_ONLY, 1));
	EXPECT_FALSE(wants(MRC_OP_PROBE, 1));
	EXPECT_FALSE(wants(0xDF, 1));

	Responder failed;
	failed.cfg.late_stash = true;
	failed.init();
	failed.data({.psn = 0, .place = MRC_SYN_NAK_ACCESS});
	ASSERT_EQ(mrc_resp_failed(&failed.resp), MRC_SYN_NAK_ACCESS);
	h.opcode = MRC_OP_WRITE_ONLY_IMM;
	h.psn = 1;
	rx.trim = MRC_TRIM_NONE;
	EXPECT_FALSE(mrc_resp_wants_stash(&failed.resp, &rx));

	r.data(imm_only(1, 0));
	EXPECT_FALSE(wants(MRC_OP_WRITE_ONLY_IMM, 2));
	void *const stash = r.resp.stash;
	mrc_resp_set_stash(&r.resp, &h);
	EXPECT_EQ(r.resp.stash, stash);
}
