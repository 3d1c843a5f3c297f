// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: pauses between packets when a window of one packet is too large. OP-44.
#include "engine_fixture.hpp"

#include <algorithm>

using namespace mrc_test;

namespace
{

constexpr u64 kRtt = 100 * kUs;

// A requester with a window of @packets, that has sent what it may.
struct Narrow : Requester {
	explicit Narrow(u32 packets)
	{
		pcfg.trim_nack = cfg.trim_nack = true;
		ccfg.trim_nack = true;
		cfg.exp_cnt = MRC_RETRY_EXP_INFINITE;
		init();
		cc.cwnd = packets * cc.mtu;
		rec.limit = cc.cwnd;
	}

	// Packet @n arrives without payload.
	void trim(s64 n)
	{
		const mrc_tx_pkt &pkt = req.pkt[psn(n) & req.ring_mask];
		nack(psn(n), MRC_NACK_TRIMMED_LASTHOP,
		     mrc_paths_entropy(&paths, pkt.ev), 2, (u16)(pkt.sent_at >> 7));
	}

	// Packet @n is sent again once it may be; how long that took.
	u64 sent_again(s64 n)
	{
		const u64 since = now;
		for (;;) {
			mrc_tx_verdict why;
			auto out = send(&why);
			if (!out.empty()) {
				EXPECT_EQ(out.size(), 1u);
				EXPECT_EQ(out[0].hdr.psn, psn(n));
				EXPECT_TRUE(out[0].hdr.rtx);
				return now - since;
			}
			EXPECT_EQ(why, MRC_TX_WAIT_CWND);
			const u64 due = mrc_req_deadline(&req);
			EXPECT_GT(due, now);
			if (due == MRC_NEVER || due <= now) {
				ADD_FAILURE() << "never";
				return 0;
			}
			now = due;
			deadline();
		}
	}
};

} // namespace

TEST(Spread, TheOnlyPacketIsNotSentAgainAtOnce)
{
	Narrow r(1);
	ASSERT_EQ(r.send_n(2).size(), 1u);
	// Twice may be chance.
	for (int n = 0; n < 2; n++) {
		r.now += kRtt;
		r.trim(0);
		EXPECT_EQ(r.req.spread, 0u);
		EXPECT_EQ(r.sent_again(0), 0u);
	}
	r.now += kRtt;
	r.trim(0);
	EXPECT_EQ(r.req.spread, kRtt / 2);
	const u64 pause = r.sent_again(0);
	EXPECT_GE(pause, kRtt / 4);
	EXPECT_LE(pause, kRtt * 3 / 4);
	EXPECT_EQ(r.count(MRC_CTR_RTO), 0u);
}

// An arrival in between: it was chance.
TEST(Spread, TrimsInARowCount)
{
	Narrow r(1);
	r.send_n(6);
	for (s64 n = 0; n < 5; n++) {
		for (int twice = 0; twice < 2; twice++) {
			r.now += kRtt;
			r.trim(n);
			EXPECT_EQ(r.sent_again(n), 0u);
		}
		r.now += kRtt;
		r.sack_all(r.psn(n));
		ASSERT_EQ(r.send().size(), 1u);
	}
	EXPECT_EQ(r.req.spread, 0u);
}

TEST(Spread, AWiderWindowSendsAgainAtOnce)
{
	Narrow r(2);
	ASSERT_EQ(r.send_n(2).size(), 2u);
	for (int n = 0; n < 5; n++) {
		r.now += kRtt;
		r.trim(0);
		EXPECT_EQ(r.req.spread, 0u);
		EXPECT_EQ(r.sent_again(0), 0u);
	}
}

TEST(Spread, EachTrimMakesItLonger)
{
	Narrow r(1);
	r.send_n(1);
	u64 before = 0, sum = 0;
	for (int n = 0; n < 160; n++) {
		r.now += kRtt;
		r.trim(0);
		EXPECT_TRUE(n < 2 || r.req.spread > before || r.req.spread == 64 * kRtt)
			<< n;
		before = r.req.spread;
		const u64 pause = r.sent_again(0);
		EXPECT_GE(pause, before / 2) << n;
		EXPECT_LE(pause, before * 3 / 2) << n;
		sum += n >= 140 ? pause : 0;
	}
	EXPECT_EQ(r.req.spread, 64 * kRtt);
	EXPECT_NEAR((double)sum / 20, 64.0 * kRtt, 16.0 * kRtt);
	// Probes ask meanwhile, and the peer answers: the connection lives.
	EXPECT_EQ(r.req.state, MRC_REQ_READY);
}

TEST(Spread, EachArrivalMakesItShorter)
{
	Narrow r(1);
	r.send_n(30);
	for (int n = 0; n < 20; n++) {
		r.now += kRtt;
		r.trim(0);
		r.sent_again(0);
	}
	const u64 most = r.req.spread;
	EXPECT_GT(most, 4 * kRtt);
	for (s64 n = 0; n < 29; n++) {
		const u64 before = r.req.spread;
		r.now += kRtt;
		r.sack_all(r.psn(n));
		EXPECT_LE(r.req.spread, before / 2) << n;
		// The next packet keeps the distance from the last one.
		u64 waited = 0;
		std::vector<mrc_tx_desc> out;
		while ((out = r.send()).empty()) {
			const u64 due = mrc_req_deadline(&r.req);
			ASSERT_GT(due, r.now);
			waited += due - r.now;
			r.now = due;
			r.deadline();
		}
		EXPECT_LE(waited, before * 3 / 2) << n;
		EXPECT_EQ(out[0].hdr.psn, r.psn(n + 1));
	}
	EXPECT_EQ(r.req.spread, 0u);
	EXPECT_EQ(r.req.spread_until, 0u);
}

// A pause that is over wakes nobody, whatever the packet waits for then.
TEST(Spread, WakesOnce)
{
	Narrow r(1);
	r.send_n(2);
	for (int n = 0; n < 3; n++) {
		r.now += kRtt;
		r.trim(0);
		r.sent_again(0);
	}
	// The second packet waits for the first one.
	const u64 over = r.req.spread_until;
	ASSERT_GT(over, r.now);
	r.now = over;
	r.deadline();
	mrc_tx_verdict why;
	EXPECT_TRUE(r.send(&why).empty());
	EXPECT_EQ(why, MRC_TX_WAIT_CWND);
	EXPECT_GT(mrc_req_deadline(&r.req), r.now);
}

// While it waits, no timer charges a retry: nobody has to answer.
TEST(Spread, CostsNoRetries)
{
	Narrow r(1);
	r.cfg.rto = kMs;
	r.send_n(1);
	for (int n = 0; n < 30; n++) {
		r.now += kRtt;
		r.trim(0);
		r.sent_again(0);
	}
	EXPECT_EQ(r.count(MRC_CTR_RTO), 0u);
}
