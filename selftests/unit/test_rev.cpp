// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Reverse EVs, MRC 1.0 §11.8.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "mrc_rev.h"
#include "paths.hpp"

namespace
{

using namespace mrc_test;

constexpr std::uint64_t kStep = MRC_REV_MIN_NS; // the interval here
constexpr std::uint64_t kFresh = MRC_REV_FRESH * kStep;

struct Rev : ::testing::Test {
	Rev() : p(paths_cfg(64, 4)) { mrc_rev_init(&rev, 11); }

	int pick(unsigned port)
	{
		return mrc_rev_pick(&rev, &p.p, static_cast<u8>(port), now);
	}

	int due() { return mrc_rev_probe_due(&rev, &p.p, now); }

	void sent(int ev, u16 id)
	{
		mrc_rev_probe_sent(&rev, &p.p, ev, id, now);
	}

	Paths p;
	mrc_rev rev;
	std::uint64_t now = 1000 * kMs;
};

TEST_F(Rev, RotatesWithoutKnowledge)
{
	std::set<int> used;

	for (int i = 0; i < 16; i++) {
		used.insert(pick(3));
		ASSERT_EQ(p.port(static_cast<unsigned>(*used.rbegin())), 3u);
	}
	EXPECT_EQ(used.size(), 16u);
	// Each plane has its own walk.
	int a = pick(3);
	pick(2);
	EXPECT_EQ(pick(3), (a + 4) % 64);
}

TEST_F(Rev, NewestConfirmationIsUsed)
{
	mrc_rev_confirm(&rev, &p.p, 6, now); // plane 3
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(pick(3), 6);
	mrc_rev_confirm(&rev, &p.p, 10, now); // plane 3
	mrc_rev_confirm(&rev, &p.p, 0, now);
	EXPECT_EQ(pick(3), 10);
	EXPECT_EQ(pick(1), 0);
	EXPECT_NE(pick(2), pick(2));
	mrc_rev_confirm(&rev, &p.p, -1, now);
	mrc_rev_confirm(&rev, &p.p, 64, now);
	EXPECT_EQ(pick(3), 10);
}

TEST_F(Rev, OnlyWhileFreshGoodAndUp)
{
	mrc_rev_confirm(&rev, &p.p, 6, now);
	now += kFresh - kUnit;
	EXPECT_EQ(pick(3), 6);
	now += 2 * kUnit;
	EXPECT_NE(pick(3), pick(3)); // the rotation
	mrc_rev_confirm(&rev, &p.p, 6, now);
	mrc_paths_verdict(&p.p, 6, MRC_EVV_CE, now);
	for (int i = 0; i < 20; i++)
		EXPECT_NE(pick(3), 6);
	mrc_paths_verdict(&p.p, 6, MRC_EVV_TIMEOUT, now);
	for (int i = 0; i < 20; i++)
		EXPECT_NE(pick(3), 6);

	mrc_rev_confirm(&rev, &p.p, 2, now);
	mrc_paths_set_ports(&p.p, 1u << 2);
	for (int i = 0; i < 20; i++)
		EXPECT_EQ(p.port(static_cast<unsigned>(pick(3))), 2u);
	mrc_paths_set_ports(&p.p, 0);
	EXPECT_EQ(pick(3), -1);
	mrc_paths_set_ports(&p.p, 0x1E);
	EXPECT_EQ(pick(3), 2);
}

TEST_F(Rev, HarmlessPorts)
{
	mrc_rev_inbound(&rev, 255);
	EXPECT_EQ(rev.inbound, 0u);
	for (unsigned port : {0u, 5u, 16u, 17u, 255u})
		EXPECT_GE(pick(port), 0);
}

TEST_F(Rev, SilenceAsksForNothing)
{
	EXPECT_EQ(due(), -1);
	now += 100 * kStep;
	EXPECT_EQ(due(), -1);
}

// One per interval, and the answer makes it the plane's.
TEST_F(Rev, InboundDataAsksForAProbe)
{
	int ev;

	mrc_rev_inbound(&rev, 3);
	ev = due();
	ASSERT_GE(ev, 0);
	EXPECT_EQ(p.port(static_cast<unsigned>(ev)), 3u);
	sent(ev, 77);
	EXPECT_EQ(rev.inbound, 0u);
	mrc_rev_inbound(&rev, 3);
	EXPECT_EQ(due(), -1);
	now += 100 * kUnit;
	EXPECT_FALSE(mrc_rev_response(&rev, &p.p, 76, now));
	EXPECT_TRUE(mrc_rev_response(&rev, &p.p, 77, now));
	EXPECT_FALSE(mrc_rev_response(&rev, &p.p, 77, now));
	EXPECT_EQ(pick(3), ev);
	EXPECT_EQ(due(), -1);
	now += kStep - 100 * kUnit - 1;
	EXPECT_EQ(due(), -1);
	now++;
	EXPECT_GE(due(), 0);
}

// The clock's zero is no confirmation.
TEST_F(Rev, NeverConfirmed)
{
	now = kUnit;
	mrc_rev_inbound(&rev, 1);
	EXPECT_GE(due(), 0);
}

TEST_F(Rev, OutboundDataMakesProbesNeedless)
{
	for (int i = 0; i < 20; i++) {
		mrc_rev_inbound(&rev, 1);
		mrc_rev_confirm(&rev, &p.p, i, now);
		now += kStep / 2;
		ASSERT_EQ(due(), -1);
	}
	now += kStep;
	EXPECT_GE(due(), 0);
}

// Without an answer the next one waits for the deadline, twice as long each
// time, and is another EV.
TEST_F(Rev, UnansweredTriesAnother)
{
	std::set<int> tried;
	u64 wait = p->cfg.rto;

	for (int i = 0; i < 20; i++) {
		mrc_rev_inbound(&rev, 2);
		int ev = due();

		ASSERT_GE(ev, 0);
		tried.insert(ev);
		sent(ev, static_cast<u16>(i));
		now += wait - 1;
		mrc_rev_inbound(&rev, 2);
		ASSERT_EQ(due(), -1);
		now++;
		wait = std::min<u64>(2 * wait, MRC_REV_MAX_NS);
	}
	EXPECT_GT(tried.size(), 5u);
	EXPECT_EQ(wait, MRC_REV_MAX_NS);
	// Late: its place has been taken.
	sent(due(), 200);
	EXPECT_FALSE(mrc_rev_response(&rev, &p.p, 19, now));
}

// One probe for each RTT, which probes themselves find out; also a longer one
// than the first probes waited for, and back.
TEST_F(Rev, LearnsTheRtt)
{
	const u64 rtt = 50 * kMs;
	u16 id = 0;
	int unanswered = -1;

	for (bool answered = false; !answered; unanswered++) {
		mrc_rev_inbound(&rev, 1);
		ASSERT_GE(due(), 0);
		sent(due(), ++id);
		const u64 at = now;

		// The next probe or the answer, whichever is first.
		mrc_rev_inbound(&rev, 1);
		while (due() < 0 && now < at + rtt)
			now += kMs / 4;
		if (now >= at + rtt)
			answered = mrc_rev_response(&rev, &p.p, id, now);
	}
	EXPECT_GT(unanswered, 0);
	EXPECT_LT(unanswered, 10);
	mrc_rev_inbound(&rev, 1);
	ASSERT_GE(due(), 0) << "an RTT since the last one";
	sent(due(), ++id);
	now += rtt - kMs;
	mrc_rev_inbound(&rev, 1);
	EXPECT_EQ(due(), -1) << "too early for the next one";
	now += 2 * kMs;
	ASSERT_GE(due(), 0);
	sent(due(), ++id);
	now += kUnit;
	EXPECT_TRUE(mrc_rev_response(&rev, &p.p, id, now));
	now += kStep;
	mrc_rev_inbound(&rev, 1);
	EXPECT_GE(due(), 0) << "short again";
}

TEST_F(Rev, PlanesTakeTurns)
{
	int count[5] = {};

	for (u16 i = 0; i < 40; i++) {
		for (u8 port : {1, 2, 4})
			mrc_rev_inbound(&rev, port);
		int ev = due();

		ASSERT_GE(ev, 0);
		count[p.port(static_cast<unsigned>(ev))]++;
		sent(ev, i);
		mrc_rev_response(&rev, &p.p, i, now);
		now += kStep;
	}
	EXPECT_EQ(count[3], 0);
	for (int port : {1, 2, 4})
		EXPECT_NEAR(count[port], 40 / 3.0, 1);
}

TEST_F(Rev, LongRttsStretchTheInterval)
{
	mrc_paths_set_rtt(&p.p, 3 * kStep, 4 * kMs);
	mrc_rev_inbound(&rev, 1);
	sent(due(), 1);
	mrc_rev_response(&rev, &p.p, 1, now);
	mrc_rev_inbound(&rev, 1);
	now += 3 * kStep - 1;
	EXPECT_EQ(due(), -1);
	now++;
	EXPECT_GE(due(), 0);
}

TEST_F(Rev, OddCallsAreIgnored)
{
	sent(-1, 1);
	sent(64, 1);
	EXPECT_FALSE(rev.probe_out);
	mrc_rev_inbound(&rev, 1);
	mrc_paths_set_ports(&p.p, 0);
	EXPECT_EQ(due(), -1);
}

} // namespace
