// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Transport ACKs that wait for the end of a burst, MRC 1.0 §8.6. */
#include "engine_fixture.hpp"

#include <gtest/gtest.h>

using namespace mrc_test;

namespace
{

// A shell that leaves feedback for later where it may.
class Burst : public Responder
{
public:
	std::vector<mrc_tx_desc> out; // what was sent
	unsigned waited = 0;	      // how often something was left

	void packet(const DataSpec &s)
	{
		const u32 flags = mrc_op_info(s.opcode)->flags;
		mrc_hdr h{};
		h.opcode = s.opcode;
		h.psn = s.psn;
		h.a = s.a;
		h.rtx = s.rtx;
		h.rqmsn = s.rqmsn;
		h.pad = (u8)(-s.len & 3);
		h.payload_len = s.len;
		h.hdr_len = (u16)mrc_hdr_len(&h);
		h.reth.va = s.va;
		h.reth.rkey = s.rkey;
		h.reth.imm = s.imm;
		h.reth.dmalen = flags & MRC_OPF_FIRST && flags & MRC_OPF_LAST
					? s.len
					: cfg.pmtu * 8;
		mrc_rx rx{};
		rx.hdr = &h;
		rx.entropy = s.entropy;
		rx.port = s.port;
		rx.ce = s.ce;
		rx.trim = s.trim;
		hand_in(rx, s.place, s.refuse);
		if (mrc_resp_may_wait(&resp))
			waited++;
		else
			end();
	}

	void end()
	{
		for (const mrc_tx_desc &d : feedback())
			out.push_back(d);
	}
};

u8 opcode(const mrc_tx_desc &d)
{
	return d.hdr.opcode;
}

TEST(RespWait, OneAckForABurst)
{
	Burst r;
	r.init();
	for (int i = 0; i < 5; i++)
		r.packet({.psn = r.psn(i), .len = 8});
	EXPECT_EQ(r.waited, 5U);
	EXPECT_TRUE(r.out.empty());
	r.end();
	ASSERT_EQ(r.out.size(), 1U);
	EXPECT_EQ(opcode(r.out[0]), MRC_OP_ACK);
	EXPECT_EQ(r.out[0].hdr.aeth.syndrome, MRC_SYN_ACK);
	EXPECT_EQ(r.out[0].hdr.psn, r.psn(4));
	EXPECT_EQ(r.out[0].hdr.aeth.msn, 5U);
	// It is not owed any more.
	r.end();
	EXPECT_EQ(r.out.size(), 1U);
	EXPECT_FALSE(mrc_resp_may_wait(&r.resp));
}

TEST(RespWait, WhoAsksIsAnsweredAtOnce)
{
	Burst r;
	r.init();
	for (int i = 0; i < 4; i++)
		r.packet({.psn = r.psn(i), .len = 8, .a = i == 3});
	EXPECT_EQ(r.waited, 3U);
	ASSERT_EQ(r.out.size(), 2U);
	EXPECT_EQ(opcode(r.out[0]), MRC_OP_SACK);
	EXPECT_EQ(r.out[0].hdr.seth.cack_psn, r.psn(3));
	EXPECT_EQ(opcode(r.out[1]), MRC_OP_ACK);
	EXPECT_EQ(r.out[1].hdr.psn, r.psn(3));
	EXPECT_EQ(r.out[1].hdr.aeth.msn, 4U);
}

// A SACK reports one path, §8.2: it is not that of a later packet.
TEST(RespWait, SacksNeverWait)
{
	Burst r;
	r.init();
	r.packet({.psn = r.psn(0), .len = 8});
	EXPECT_EQ(r.waited, 1U);
	r.packet({.psn = r.psn(1), .len = 8, .ce = true, .entropy = 0x77});
	ASSERT_EQ(r.out.size(), 2U);
	EXPECT_EQ(opcode(r.out[0]), MRC_OP_SACK);
	EXPECT_EQ(r.out[0].hdr.seth.m, MRC_M_SKIP_ONCE);
	EXPECT_EQ(r.out[0].hdr.seth.entropy, 0x77U);
	EXPECT_EQ(r.out[1].hdr.psn, r.psn(1));
	r.out.clear();
	r.packet({.psn = r.psn(2), .len = 8, .rtx = true});
	ASSERT_EQ(r.out.size(), 2U);
	EXPECT_TRUE(r.out[0].hdr.rtx);
	r.out.clear();
	// After so many bytes, §8.2.
	for (int i = 3; i < 3 + 15; i++)
		r.packet({.psn = r.psn(i), .len = 8});
	EXPECT_TRUE(r.out.empty());
	r.packet({.psn = r.psn(18), .len = 8});
	ASSERT_EQ(r.out.size(), 2U);
	EXPECT_EQ(opcode(r.out[0]), MRC_OP_SACK);
	EXPECT_EQ(r.waited, 16U);
}

TEST(RespWait, DuplicatesAreAnsweredAtOnce)
{
	Burst r;
	r.init();
	r.packet({.psn = r.psn(0), .len = 8});
	r.packet({.psn = r.psn(1), .len = 8});
	EXPECT_EQ(r.waited, 2U);
	// One that waits is not lost by a duplicate above the hole either.
	r.packet({.psn = r.psn(3), .len = 8});
	EXPECT_EQ(r.waited, 3U);
	EXPECT_TRUE(r.out.empty());
	r.packet({.psn = r.psn(3), .len = 8});
	ASSERT_EQ(r.out.size(), 2U);
	EXPECT_EQ(opcode(r.out[0]), MRC_OP_SACK);
	EXPECT_EQ(opcode(r.out[1]), MRC_OP_ACK);
	EXPECT_EQ(r.out[1].hdr.psn, r.psn(1));
	r.out.clear();
	r.packet({.psn = r.psn(0), .len = 8});
	ASSERT_EQ(r.out.size(), 2U);
	EXPECT_EQ(r.out[1].hdr.psn, r.psn(1));
}

TEST(RespWait, NothingOwedNeedNotWait)
{
	Burst r;
	r.init();
	// Beyond a hole nothing is executed, in a message nothing ends.
	r.packet({.psn = r.psn(1), .len = 8});
	r.packet({.psn = r.psn(3), .opcode = MRC_OP_WRITE_FIRST, .len = 256});
	EXPECT_EQ(r.waited, 0U);
	EXPECT_TRUE(r.out.empty());
	r.packet({.psn = r.psn(0), .len = 8});
	EXPECT_EQ(r.waited, 1U);
	r.end();
	ASSERT_EQ(r.out.size(), 1U);
	EXPECT_EQ(r.out[0].hdr.psn, r.psn(1));
}

TEST(RespWait, NacksTakeItAlong)
{
	Burst r;
	r.init();
	r.packet({.psn = r.psn(0), .len = 8});
	r.packet({.psn = r.psn(1), .len = 8, .refuse = MRC_NACK_NO_RESOURCE});
	ASSERT_EQ(r.out.size(), 2U);
	EXPECT_EQ(opcode(r.out[0]), MRC_OP_NACK);
	EXPECT_EQ(r.out[0].hdr.neth.nack_psn, r.psn(1));
	EXPECT_EQ(opcode(r.out[1]), MRC_OP_ACK);
	EXPECT_EQ(r.out[1].hdr.psn, r.psn(0));
}

// A NAK acknowledges what is before it.
TEST(RespWait, ErrorsDoNotWait)
{
	Burst r;
	r.init();
	r.packet({.psn = r.psn(0), .len = 8});
	r.packet({.psn = r.psn(1), .len = 8, .place = MRC_SYN_NAK_ACCESS});
	EXPECT_EQ(r.waited, 1U);
	ASSERT_EQ(r.out.size(), 1U);
	EXPECT_EQ(opcode(r.out[0]), MRC_OP_ACK);
	EXPECT_EQ(r.out[0].hdr.aeth.syndrome, MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(r.out[0].hdr.psn, r.psn(1));
	EXPECT_EQ(mrc_resp_failed(&r.resp), MRC_SYN_NAK_ACCESS);
	EXPECT_FALSE(mrc_resp_may_wait(&r.resp));
}

// Not before the program was told: the shell has more to do.
TEST(RespWait, DeliveriesComeFirst)
{
	Burst r;
	r.deliver = false;
	r.init();
	r.packet({.psn = r.psn(0), .len = 8});
	r.packet({.psn = r.psn(1), .opcode = MRC_OP_WRITE_ONLY_IMM, .len = 8});
	EXPECT_EQ(r.waited, 1U);
	EXPECT_FALSE(mrc_resp_may_wait(&r.resp));
	r.deliver_imms();
	EXPECT_EQ(r.imms.size(), 1U);
}

TEST(RespWait, FarewellAnswersInItsPlace)
{
	Burst r;
	r.init();
	r.packet({.psn = r.psn(0), .len = 8});
	mrc_resp_repeat_ack(&r.resp);
	r.end();
	ASSERT_EQ(r.out.size(), 1U);
	EXPECT_EQ(r.out[0].hdr.psn, r.psn(0));
	r.end();
	EXPECT_EQ(r.out.size(), 1U);
}

} // namespace
