// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Responder: what SACKs say. MRC 1.0 §4.6, §8.3, OP-17, §9.5.
#include "engine_fixture.hpp"

#include <random>
#include <set>

using namespace mrc_test;

namespace
{

// PSN numbers (relative to rq_psn) that a train of SACKs reports received.
std::set<s64> reported(const Responder &r, const std::vector<mrc_tx_desc> &fb)
{
	std::set<s64> out;
	for (const auto &d : fb) {
		if (d.hdr.opcode != MRC_OP_SACK)
			continue;
		const mrc_seth &s = d.hdr.seth;
		for (int i = 0; i < 64; i++)
			if (s.bitmap >> i & 1)
				out.insert(mrc_psn_diff(
					psn_at(s.cack_psn, s.sack_offset + i),
					r.cfg.rq_psn));
	}
	return out;
}

} // namespace

TEST(Sack, FieldsOfAPlainOne)
{
	Responder r;
	r.init();
	auto fb = r.data(
		{.psn = r.psn(0), .a = true, .ts = true, .tstamp = 0x105});
	const mrc_tx_desc *d = find(fb, MRC_OP_SACK);
	ASSERT_NE(d, nullptr);
	const mrc_seth &s = d->hdr.seth;
	EXPECT_EQ(d->hdr.psn, 0u);
	EXPECT_EQ(d->hdr.dqp, r.cfg.dqpn);
	EXPECT_EQ(d->hdr.tstamp, 0x105);
	EXPECT_FALSE(d->hdr.rtx);
	EXPECT_EQ(d->hdr.hdr_len, mrc_hdr_len(&d->hdr));
	EXPECT_EQ(s.m, MRC_M_NONE);
	EXPECT_FALSE(s.pr);
	EXPECT_EQ(s.ack_psn_offset, 0);
	EXPECT_EQ(s.entropy, 0x1234C001u);
	EXPECT_EQ(s.spdcid, 0x789A); // the sender of this packet first
	EXPECT_EQ(s.dpdcid, 0x2345);
	EXPECT_EQ(s.cack_psn, 0u);
	EXPECT_EQ(s.cc_type, 0);
	EXPECT_EQ(s.mpr, 0); // Dynamic MPR is off
	EXPECT_EQ(s.sack_offset, 1);
	EXPECT_EQ(s.bitmap, 0u);
	EXPECT_EQ(s.ooo_count, 0);
	EXPECT_FALSE(s.restore_cwnd);
	EXPECT_EQ(s.rcv_cwnd_pen, 0);
	EXPECT_EQ(s.rcvd_bytes, (mrc_nominal_size(36, 256) + 255) / 256);
	EXPECT_EQ(r.count(MRC_CTR_TX_SACK), 1u);
}

TEST(Sack, RcvdBytesWrapAt24Bits)
{
	Responder r;
	r.init();
	r.resp.rcvd_bytes = (1ull << 32) - 1;
	auto fb = r.data({.psn = 0, .a = true});
	EXPECT_EQ(find(fb, MRC_OP_SACK)->hdr.seth.rcvd_bytes,
		  (((1ull << 32) - 1 + mrc_nominal_size(32, 256) + 255) >> 8) &
			  0xFFFFFF);
}

TEST(Sack, SlidesDownWhenEverythingFits)
{
	Responder r;
	r.init();
	for (int n = 10; n < 74; n++)
		r.data({.psn = r.psn(n)});
	auto fb = r.data({.psn = r.psn(74), .a = true});
	// max_rcv 74: base 74 - 63 = 11.
	ASSERT_EQ(how_many(fb, MRC_OP_SACK), 1u);
	EXPECT_EQ(fb[0].hdr.seth.sack_offset, 12);
	EXPECT_EQ(fb[0].hdr.seth.bitmap, ~0ull);
}

TEST(Sack, TrainCoversAWideWindowWithAscendingBases)
{
	for (u32 first : {0u, 0xFFFF00u}) {
		Responder r;
		r.cfg.rq_psn = first;
		r.cfg.sack_threshold = 1u << 30; // only when asked
		r.init();
		std::set<s64> sent;
		for (int n = 3; n < 900; n += 7) {
			r.data({.psn = r.psn(n)});
			sent.insert(n);
		}
		auto fb = r.data({.psn = r.psn(901), .a = true});
		sent.insert(901);
		EXPECT_EQ(fb.size(), 15u); // 902 PSNs in maps of 64
		EXPECT_EQ(reported(r, fb), sent);
		for (size_t i = 1; i < fb.size(); i++)
			EXPECT_GT(fb[i].hdr.seth.sack_offset,
				  fb[i - 1].hdr.seth.sack_offset);
		for (const auto &d : fb) {
			EXPECT_EQ(d.hdr.seth.ack_psn_offset, 902);
			EXPECT_EQ(d.hdr.seth.cack_psn, r.psn(-1));
		}
		// Covered once; the next one reports what is new.
		fb = r.data({.psn = r.psn(903), .a = true});
		EXPECT_EQ(fb.size(), 1u);
	}
}

TEST(Sack, BitsBeyondTheHighestAreZero)
{
	// The ring is exactly as long as the window; a map near its end must
	// not show what has wrapped around.
	Responder r;
	r.cfg.mpr = 1;
	r.cfg.sack_threshold = 1u << 30;
	r.init();
	for (int n = 1; n < 120; n++)
		r.data({.psn = r.psn(n)});
	auto fb = r.data({.psn = r.psn(127), .a = true});
	std::set<s64> want;
	for (int n = 1; n < 120; n++)
		want.insert(n);
	want.insert(127);
	EXPECT_EQ(reported(r, fb), want);
}

TEST(Sack, DuplicateOutsideTheMapMovesIt)
{
	Responder r;
	r.cfg.sack_threshold = 1u << 30;
	r.init();
	for (int n = 5; n < 500; n++)
		r.data({.psn = r.psn(n), .a = n == 499});
	EXPECT_EQ(r.resp.lowest_unsacked, r.psn(500));
	auto fb = r.data({.psn = r.psn(100)});
	ASSERT_EQ(fb.size(), 1u);
	const mrc_seth &s = fb[0].hdr.seth;
	EXPECT_EQ(psn_at(s.cack_psn, s.sack_offset), r.psn(69)); // psn - 31
	EXPECT_EQ(s.bitmap, ~0ull);
	EXPECT_EQ(r.resp.lowest_unsacked, r.psn(500)); // as it was
	// Near cack the map starts there.
	fb = r.data({.psn = r.psn(7)});
	EXPECT_EQ(fb[0].hdr.seth.sack_offset, 1);
	EXPECT_EQ(fb[0].hdr.seth.bitmap, ~0ull << 5);
	// Inside the standard map nothing is special.
	fb = r.data({.psn = r.psn(490)});
	EXPECT_EQ(psn_at(fb[0].hdr.seth.cack_psn, fb[0].hdr.seth.sack_offset),
		  r.psn(436));
}

TEST(Sack, RetransmissionBelowTheMapIsShown)
{
	Responder r;
	r.cfg.sack_threshold = 1u << 30;
	r.init();
	for (int n = 1; n < 300; n++)
		if (n != 50)
			r.data({.psn = r.psn(n), .a = n == 299});
	auto fb = r.data({.psn = r.psn(50), .rtx = true});
	ASSERT_EQ(fb.size(), 1u);
	const mrc_seth &s = fb[0].hdr.seth;
	EXPECT_EQ(psn_at(s.cack_psn, s.sack_offset), r.psn(19));
	EXPECT_EQ(s.bitmap, ~0ull);
	EXPECT_EQ(s.ack_psn_offset, 51);
}

TEST(Sack, OffsetThatDoesNotFitIsZero)
{
	Responder r;
	r.cfg.rq_psn = 0;
	r.init();
	r.data({.psn = 0});
	auto fb = r.data({.psn = psn_at(0, -40000)});
	EXPECT_EQ(find(fb, MRC_OP_SACK)->hdr.seth.ack_psn_offset, 0);
	fb = r.data({.psn = psn_at(0, -32768)});
	EXPECT_EQ(find(fb, MRC_OP_SACK)->hdr.seth.ack_psn_offset, -32768);
}

TEST(Sack, LargestWindowFitsTheFields)
{
	Responder r;
	r.cfg.mpr = 255;
	r.init();
	auto fb = r.data({.psn = r.psn(32639), .rtx = true});
	ASSERT_EQ(how_many(fb, MRC_OP_SACK), 1u);
	EXPECT_EQ(fb[0].hdr.seth.ack_psn_offset, 32640);
	EXPECT_EQ(reported(r, fb), std::set<s64>{32639});
	EXPECT_EQ(fb[0].hdr.seth.sack_offset, 32640 - 31); // OP-17
	// Not covered yet by the standard map, which starts at the bottom.
	fb = r.probe(1);
	EXPECT_EQ(fb.size(), 32640u / 64);
	EXPECT_EQ(reported(r, fb), std::set<s64>{32639});
}

TEST(Sack, OooCount)
{
	Responder r;
	r.cfg.mpr = 255;
	r.cfg.sack_threshold = 1u << 30;
	r.init();
	for (int n = 1; n < 40; n++)
		r.data({.psn = r.psn(n)});
	EXPECT_EQ(r.probe(1)[0].hdr.seth.ooo_count, 39);
}

// OP-20: a peer that asks may have missed the transport ACK.
TEST(Probe, RepeatsTheTransportAckOfAll)
{
	Responder r;
	r.init();
	// Nothing was executed.
	EXPECT_EQ(r.probe(1).size(), 1u);
	r.data({.psn = r.psn(0)});
	r.data({.psn = r.psn(2)});
	// More may come, and an ACK with it.
	EXPECT_EQ(r.probe(2).size(), 1u);
	r.data({.psn = r.psn(1)});
	auto fb = r.probe(3);
	ASSERT_EQ(fb.size(), 2u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
	EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
	EXPECT_EQ(fb[1].hdr.psn, r.psn(2));
	EXPECT_EQ(fb[1].hdr.aeth.syndrome, MRC_SYN_ACK);
	// Inside of a message none was due, §8.6.
	r.data({.psn = r.psn(3), .opcode = MRC_OP_WRITE_FIRST});
	EXPECT_EQ(r.probe(4).size(), 1u);
}

// §8.3, §9.5
TEST(Probe, ReplyEchoesTheProbe)
{
	Responder r;
	r.init();
	for (int n = 0; n < 8; n++)
		r.data({.psn = r.psn(n)});
	auto fb = r.probe(0x55, 0x200);
	ASSERT_EQ(fb.size(), 2u);
	EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
	const mrc_tx_desc &d = fb[0];
	EXPECT_EQ(d.hdr.opcode, MRC_OP_SACK);
	EXPECT_TRUE(d.hdr.seth.pr);
	EXPECT_EQ(d.hdr.seth.probe_id, 0x55);
	EXPECT_EQ(d.hdr.seth.entropy, 0x1237C004u);
	EXPECT_EQ(d.hdr.seth.cack_psn, r.psn(7));
	EXPECT_EQ(d.hdr.seth.sack_offset, 1);
	EXPECT_EQ(d.hdr.seth.bitmap, 0u);
	EXPECT_EQ(d.hdr.seth.m, MRC_M_NONE);
	EXPECT_EQ(d.hdr.tstamp, 0x200);
	EXPECT_FALSE(d.hdr.rtx);
	EXPECT_EQ(d.port, 2);
	EXPECT_EQ(r.count(MRC_CTR_RX_PROBE), 1u);
	EXPECT_EQ(r.resp.rcvd_bytes, 8u * mrc_nominal_size(32, 256));

	fb = r.probe(0x56, 0x201, true, 2);
	EXPECT_EQ(fb[0].hdr.seth.m, MRC_M_SKIP_ONCE);
	EXPECT_EQ(fb[0].hdr.tstamp, 0);
	EXPECT_EQ(r.count(MRC_CTR_RX_CE), 1u);
}

TEST(Probe, TrainDescribesTheWholeWindow)
{
	Responder r;
	r.cfg.rq_psn = 0xFFFFD0;
	r.init();
	std::set<s64> sent;
	std::mt19937 rng(4);
	for (int n = 1; n < 700; n++) {
		if (rng() % 3)
			continue;
		r.data({.psn = r.psn(n), .a = true}); // covered already
		sent.insert(n);
	}
	auto fb = r.probe(7);
	EXPECT_GT(fb.size(), 9u);
	EXPECT_LE(fb.size(), 12u);
	EXPECT_EQ(reported(r, fb), sent);
	for (const auto &d : fb) {
		EXPECT_TRUE(d.hdr.seth.pr);
		EXPECT_EQ(d.hdr.seth.probe_id, 7);
	}
	EXPECT_EQ(fb[0].hdr.seth.sack_offset, 1);
}

TEST(Probe, ResetsTheByteCounter)
{
	Responder r;
	r.init();
	for (int n = 0; n < 10; n++)
		r.data({.psn = r.psn(n)});
	r.probe(1);
	EXPECT_EQ(r.resp.sack_cnt, 0u);
}
