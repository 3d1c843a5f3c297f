// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Responder: window, duplicates, triggers of SACKs, trimming, transport ACKs.
// MRC 1.0 §7.1-§7.3, §8.2, §8.5, §8.6.
#include "engine_fixture.hpp"

#include <algorithm>
#include <random>

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
