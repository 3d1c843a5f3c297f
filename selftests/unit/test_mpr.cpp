// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Dynamic MPR, MRC 1.0 §5.2: what a responder offers and keeps, what a
// requester adopts and when it may send.
#include "engine_fixture.hpp"

#include <algorithm>
#include <random>

using namespace mrc_test;

namespace
{

struct DynRequester : Requester {
	DynRequester()
	{
		cfg.dynamic_mpr = true;
		cfg.mpr = 2;
		cfg.mpr_max = 4;
		cfg.sq_depth = 1024;
		cfg.sq_psn = 0xFFFF80;
	}

	// Sends all that may go; the highest packet number.
	s64 fill()
	{
		send_n(600);
		return mrc_psn_diff(req.next_psn, psn(0)) - 1;
	}
};

struct DynResponder : Responder {
	DynResponder()
	{
		cfg.dynamic_mpr = true;
		cfg.mpr = 2;
		cfg.mpr_max = 4;
		cfg.rq_psn = 0xFFFF80;
	}

	void take(s64 from, s64 to)
	{
		for (s64 n = from; n <= to; n++)
			data({.psn = psn(n)});
	}

	// Does the responder accept packet n? It is received if so.
	bool accepts(s64 n)
	{
		mrc_rx_action act;

		now += kMs; // NACKs are rate-limited
		auto fb = data({.psn = psn(n)}, &act);
		if (act == MRC_RX_PLACE)
			return true;
		EXPECT_NE(find(fb, MRC_OP_NACK), nullptr);
		return false;
	}

	mrc_seth sack()
	{
		auto fb = probe(7);
		EXPECT_FALSE(fb.empty());
		return fb.empty() ? mrc_seth{} : fb[0].hdr.seth;
	}
};

} // namespace

TEST(MprInit, MaximumIsValidatedAndSizesTheRing)
{
	for (u16 max : {(u16)1, (u16)256, (u16)65535}) {
		DynRequester r;
		r.cfg.mpr_max = max;
		EXPECT_EQ(mrc_req_mem(&r.cfg), 0u) << max;
		DynResponder s;
		s.cfg.mpr_max = max;
		EXPECT_EQ(mrc_resp_mem(&s.cfg), 0u) << max;
	}
	DynRequester r;
	r.cfg.mpr_max = 0; // the range cannot grow
	ASSERT_EQ(r.init(), 0);
	EXPECT_EQ(r.req.ring_mask, 255u);
	r.cfg.mpr_max = 255;
	r.cfg.mpr = 255;
	ASSERT_EQ(r.init(), 0);
	EXPECT_EQ(r.req.ring_mask, 32767u);
	// Without Dynamic MPR no memory is spent on what cannot happen.
	Requester q;
	q.cfg.mpr = 1;
	q.cfg.mpr_max = 255;
	ASSERT_EQ(q.init(), 0);
	EXPECT_EQ(q.req.ring_mask, 127u);
}

TEST(MprRequester, OffMeansIgnored)
{
	Requester r;
	r.cfg.mpr = 2;
	r.init();
	r.send_n(1);
	r.sack({.cack = r.psn(0), .mpr = 1});
	EXPECT_EQ(r.req.window, 256u);
	EXPECT_EQ(r.count(MRC_CTR_MPR_CHANGE), 0u);
}

TEST(MprRequester, AdoptsTheNewestSackOnly)
{
	DynRequester r;
	r.init();
	r.send_n(8);
	EXPECT_EQ(r.req.window, 256u);
	r.sack({.cack = r.psn(3), .mpr = 3});
	EXPECT_EQ(r.req.window, 384u);
	// An older cack_psn does not count, whenever it comes.
	r.sack({.cack = r.psn(1), .mpr = 1});
	EXPECT_EQ(r.req.window, 384u);
	// On a tie the last one received does.
	r.sack({.cack = r.psn(3), .mpr = 1});
	EXPECT_EQ(r.req.window, 128u);
	r.sack({.cack = r.psn(3), .mpr = 4});
	EXPECT_EQ(r.req.window, 512u);
	EXPECT_EQ(r.count(MRC_CTR_MPR_CHANGE), 3u);
	// A transport ACK is newer than the SACK behind it, but has no range.
	r.ack(r.psn(6));
	EXPECT_EQ(r.req.cack, r.psn(6));
	r.sack({.cack = r.psn(5), .mpr = 2});
	EXPECT_EQ(r.req.window, 256u);
	// More than the memory is for, and what no SACK carries.
	r.sack({.cack = r.psn(6), .mpr = 255});
	EXPECT_EQ(r.req.window, 512u);
	r.sack({.cack = r.psn(6), .mpr = 0});
	EXPECT_EQ(r.req.window, 512u);
	// A SACK that is dropped changes nothing.
	r.sack({.cack = r.psn(8), .mpr = 1});
	EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), 1u);
	EXPECT_EQ(r.req.window, 512u);
}

TEST(MprRequester, ShrinkHoldsNewAndLostPacketsBack)
{
	DynRequester r;
	r.cfg.mpr = 4;
	r.init();
	ASSERT_EQ(r.fill(), 169); // a third of the range
	r.now += r.req.base_rtt;
	// All but 0-9, 20, 137, 138 and 160 are known received out of order,
	// and the range shrinks to what ends at 9 + 128.
	const u64 all = ~0ull;
	r.sack({.cack = r.psn(9),
		.ack = 1,
		.base = 1,
		.map = all ^ 1ull << 10,
		.mpr = 1});
	r.sack({.cack = r.psn(9),
		.ack = 1,
		.base = 65,
		.map = all >> 1,
		.mpr = 1});
	r.sack({.cack = r.psn(9),
		.ack = 1,
		.base = 129,
		.map = (all >> 32) ^ 1 ^ 1ull << 22,
		.mpr = 1});
	ASSERT_EQ(r.req.n_out, 4u);
	for (int n : {20, 137, 138, 160})
		r.nack(r.psn(n), MRC_NACK_TRIMMED_LASTHOP, 0);
	mrc_tx_verdict why;
	auto out = r.send(&why);
	ASSERT_EQ(out.size(), 2u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(20));
	EXPECT_EQ(out[1].hdr.psn, r.psn(137));
	EXPECT_EQ(why, MRC_TX_WAIT_MPR);
	EXPECT_EQ(r.req.n_lost, 2u);
	// Ten more in order: the window ends at 147.
	r.sack({.cack = r.psn(19), .mpr = 1});
	out = r.send(&why);
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(138));
	EXPECT_EQ(why, MRC_TX_WAIT_MPR);
	// The range grows: the rest goes, then new packets, as far as loss
	// inference allows.
	r.sack({.cack = r.psn(136), .mpr = 4});
	out = r.send(&why);
	ASSERT_GE(out.size(), 2u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(160));
	EXPECT_TRUE(out[0].hdr.rtx);
	EXPECT_EQ(out[1].hdr.psn, r.psn(170));
	EXPECT_FALSE(out[1].hdr.rtx);
	EXPECT_EQ(r.req.n_out, MRC_CC_WINDOW_PKTS(512));
	EXPECT_EQ(why, MRC_TX_WAIT_CWND);
}

// The packets that may be in flight follow the range: beyond a third of it
// losses could not be told from reordering.
TEST(MprRequester, InFlightFollowsTheRange)
{
	DynRequester r;
	r.cfg.mpr = 4;
	r.init();
	r.fill();
	EXPECT_EQ(r.req.n_out, MRC_CC_WINDOW_PKTS(512));
	r.sack({.cack = r.psn(0), .mpr = 1});
	EXPECT_TRUE(r.send().empty());
	r.sack({.cack = r.req.next_psn - 1 - 10, .mpr = 1});
	r.send();
	EXPECT_EQ(r.req.n_out, MRC_CC_WINDOW_PKTS(128));
}

// A transport ACK moves cack, but a range that was taken back meanwhile must
// not be applied to it.
TEST(MprRequester, OfferIsTiedToItsSack)
{
	DynRequester r;
	r.cfg.mpr = 4;
	r.init();
	r.send_n(300);
	while (r.req.n_out) {
		r.ack(mrc_psn_add(r.req.next_psn, -1));
		r.send_n(0);
		r.send();
		if (mrc_psn_diff(r.req.next_psn, r.psn(299)) > 0)
			r.ack(mrc_psn_add(r.req.next_psn, -1));
	}
	// All acknowledged, without a SACK: the offer reaches to 511, the least
	// range of all to 299 + 128.
	EXPECT_EQ(r.req.cack, r.psn(299));
	r.reap();
	r.write(256 * 600);
	s64 top = 0;
	for (int i = 0; i < 20; i++) {
		for (const auto &d : r.send())
			top = std::max<s64>(top,
					    mrc_psn_diff(d.hdr.psn, r.psn(0)));
		if (top < 500)
			r.ack(mrc_psn_add(r.req.next_psn, -1));
		else
			break;
	}
	// Whatever was acknowledged since, never beyond both bounds.
	EXPECT_LE(mrc_psn_diff(r.req.next_psn, r.req.cack) - 1,
		  std::max<s64>(128, 511 - mrc_psn_diff(r.req.cack, r.psn(0))));
}

// A peer may send transport ACKs alone for longer than PSNs can be compared:
// the offer of its last SACK, half of the PSN space behind, would seem to lie
// ahead and admit anything. What is in flight still fits the ring, and the next
// SACK counts.
TEST(MprRequester, OfferDoesNotWrapAround)
{
	constexpr u32 kHalf = 1u << 23;

	DynRequester r;
	r.cfg.mpr = 4;
	r.init();
	ASSERT_GE(r.write(0x80000000), 0);
	ASSERT_GE(r.write(256 * 8192), 0);

	mrc_hdr ack{};
	mrc_tx_desc d;
	u64 sent = 0;

	ack.opcode = MRC_OP_ACK;
	ack.aeth.syndrome = MRC_SYN_ACK;
	while (sent < kHalf + 1024) {
		r.now += kUs;
		while (mrc_req_next(&r.req, r.now, &d) == MRC_TX_PACKET)
			sent += d.data;
		ASSERT_LE(mrc_psn_diff(r.req.next_psn, r.req.cack) - 1, 512);
		r.rec.sent.clear();
		r.rec.acks.clear();
		ack.psn = mrc_psn_add(r.req.next_psn, -1);
		mrc_req_on_ack(&r.req, &ack, 1, r.now);
		ASSERT_EQ(r.req.cack, ack.psn);
	}
	r.check();
	// One hole, and everything else arrives: the ring is full at last.
	const u32 cack = r.req.cack;

	for (int i = 0; i < 40; i++) {
		const s32 before = mrc_psn_diff(r.req.next_psn, cack);

		r.send();
		ASSERT_LE(mrc_psn_diff(r.req.next_psn, cack) - 1, 512);
		for (s32 n = 2; n < mrc_psn_diff(r.req.next_psn, cack); n += 64)
			r.sack({.cack = cack,
				.ack = 2,
				.base = n,
				.map = ~0ull >>
				       std::max(0,
						n + 64 -
							mrc_psn_diff(
								r.req.next_psn,
								cack)),
				.mpr = (u8)(i < 20 ? 2 : 4)});
		if (i == 19)
			EXPECT_EQ(mrc_psn_diff(r.req.next_psn, cack) - 1, 256);
		if (i == 39)
			EXPECT_EQ(mrc_psn_diff(r.req.next_psn, cack), before);
	}
	EXPECT_EQ(mrc_psn_diff(r.req.next_psn, cack) - 1, 512);
	EXPECT_EQ(r.count(MRC_CTR_MPR_CHANGE), 2u);
}

// All is known received except its transport ACK, and the newest PSN lies
// beyond the shrunk window: another one draws the ACK.
TEST(MprRequester, LostAckIsRecoveredInsideTheWindow)
{
	DynRequester r;
	r.cfg.mpr = 4;
	r.cfg.max_wimm = 64;
	r.init();
	r.write(256 * 170);
	ASSERT_EQ(r.send().size(), 170u);
	r.sack({.cack = r.psn(-1),
		.ack = 1,
		.base = 1,
		.map = ~0ull,
		.mpr = 1});
	r.sack({.cack = r.psn(-1),
		.ack = 65,
		.base = 65,
		.map = ~0ull,
		.mpr = 1});
	r.sack({.cack = r.psn(-1),
		.ack = 129,
		.base = 129,
		.map = ~0ull >> 22,
		.mpr = 1});
	ASSERT_EQ(r.req.inflight, 0u);
	ASSERT_EQ(r.req.cack, r.psn(-1));
	r.expire();
	auto out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(0));
	EXPECT_TRUE(out[0].hdr.rtx);
	EXPECT_TRUE(out[0].hdr.a);
	EXPECT_EQ(out[0].off, 0u);
	EXPECT_EQ(r.count(MRC_CTR_RTX_LAST_PSN), 1u);
}

TEST(MprResponder, SackCarriesTheRange)
{
	DynResponder s;
	s.init();
	EXPECT_EQ(s.sack().mpr, 2);
	EXPECT_EQ(mrc_resp_set_mpr(&s.resp, 4), 0);
	EXPECT_EQ(s.sack().mpr, 4);
	EXPECT_EQ(mrc_resp_set_mpr(&s.resp, 1), 0);
	EXPECT_EQ(s.sack().mpr, 1);
	EXPECT_EQ(mrc_resp_set_mpr(&s.resp, 0), -EINVAL);
	EXPECT_EQ(mrc_resp_set_mpr(&s.resp, 5), -EINVAL);
	EXPECT_EQ(s.sack().mpr, 1);
	s.check();
	Responder off;
	off.cfg.mpr_max = 16;
	off.init();
	EXPECT_EQ(mrc_resp_set_mpr(&off.resp, 8), -EINVAL);
	EXPECT_EQ(off.probe(1)[0].hdr.seth.mpr, 0);
}

TEST(MprResponder, ShrinkKeepsWhatWasOffered)
{
	DynResponder s;
	s.init();
	s.take(0, 9); // offered so far: up to 9 + 256
	EXPECT_EQ(mrc_resp_set_mpr(&s.resp, 1), 0);
	EXPECT_TRUE(s.accepts(265));
	EXPECT_FALSE(s.accepts(266));
	s.take(10, 100); // 100 + 128 is still below the old end
	EXPECT_TRUE(s.accepts(264));
	EXPECT_FALSE(s.accepts(266));
	s.take(101, 140); // now the new range counts
	EXPECT_TRUE(s.accepts(268));
	EXPECT_FALSE(s.accepts(269));
	EXPECT_EQ(s.count(MRC_CTR_RX_OOR), 3u);
}

TEST(MprResponder, GrowthCountsAtOnceAndUsesTheWholeRing)
{
	DynResponder s;
	s.init();
	EXPECT_FALSE(s.accepts(256));
	EXPECT_EQ(mrc_resp_set_mpr(&s.resp, 4), 0);
	EXPECT_TRUE(s.accepts(511));
	EXPECT_FALSE(s.accepts(512));
	s.take(0, 510);
	EXPECT_EQ(s.resp.cack, s.psn(511));
	EXPECT_EQ(s.count(MRC_CTR_RX_DATA), 512u);
}

// Trims follow the same bounds.
TEST(MprResponder, TrimsOfOfferedPsnsAreNacked)
{
	DynResponder s;
	s.init();
	EXPECT_EQ(mrc_resp_set_mpr(&s.resp, 1), 0);
	auto fb = s.data({.psn = s.psn(255), .trim = MRC_TRIM_TRIMMED});
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_NACK);
	EXPECT_TRUE(
		s.data({.psn = s.psn(256), .trim = MRC_TRIM_TRIMMED}).empty());
}

// Random ranges, order and loss of SACKs: a requester of ours never sends what
// the responder did not offer.
TEST(MprPair, NeverOutOfWindow)
{
	for (u32 seed = 1; seed <= 30; seed++) {
		std::mt19937 rng(seed);
		DynRequester r;
		DynResponder s;
		std::vector<mrc_tx_desc> held;
		u32 packets = 0;

		r.cfg.mpr_max = s.cfg.mpr_max = 8;
		r.ccfg.window = 1u << 20;
		r.init();
		s.init();
		while (packets < 4000) {
			r.write(256 * (1 + rng() % 40));
			std::vector<mrc_tx_desc> out = r.send();
			std::shuffle(out.begin(), out.end(), rng);
			for (const auto &d : out) {
				packets++;
				if (rng() % 64 == 0)
					EXPECT_EQ(mrc_resp_set_mpr(
							  &s.resp,
							  (u16)(1 + rng() % 8)),
						  0);
				for (const auto &f :
				     s.data({.psn = d.hdr.psn,
				     .opcode = MRC_OP_WRITE_ONLY,
				     .a = d.hdr.a,
				     .rtx = d.hdr.rtx}))
					held.push_back(f);
			}
			std::shuffle(held.begin(), held.end(), rng);
			while (!held.empty()) {
				const mrc_hdr h = held.back().hdr;

				held.pop_back();
				if (rng() % 4 == 0)
					continue;
				if (h.opcode == MRC_OP_SACK)
					mrc_req_on_sack(&r.req, &h, 1, r.now);
				else
					mrc_req_on_ack(&r.req, &h, 1, r.now);
				r.check();
				if (rng() % 4 == 0)
					break;
			}
			r.reap();
			r.now += 100 * kUs;
			s.now = r.now;
			r.deadline();
			for (const auto &p : r.probes)
				for (const auto &f :
				     s.probe(p.hdr.peth.probe_id))
					held.push_back(f);
			r.probes.clear();
		}
		EXPECT_EQ(s.count(MRC_CTR_RX_OOR), 0u) << seed;
		EXPECT_EQ(r.req.state, MRC_REQ_READY) << seed;
		EXPECT_GT(r.count(MRC_CTR_MPR_CHANGE), 5u) << seed;
	}
}
