// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Reverse EVs, MRC 1.0 §11.8.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "mrc_rev.h"
#include "paths.hpp"

namespace
{

using namespace mrc_test;

constexpr std::uint64_t kStep = MRC_REV_MIN_NS; // the interval here
constexpr std::uint64_t kFresh = MRC_REV_FRESH * 4 * kStep; // four ports

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
	u64 wait = std::min<u64>(p->cfg.rto, MRC_REV_WAIT_NS);

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
	// Late, but it shows that its EV works. Of older ones nothing is known.
	sent(due(), 200);
	EXPECT_TRUE(mrc_rev_response(&rev, &p.p, 19, now));
	EXPECT_FALSE(mrc_rev_response(&rev, &p.p, 19, now));
	EXPECT_FALSE(mrc_rev_response(&rev, &p.p, 5, now));
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
	for (int i = 0; i < 6; i++) {
		now += rtt;
		mrc_rev_inbound(&rev, 1);
		ASSERT_GE(due(), 0);
		sent(due(), ++id);
		now += kUnit;
		EXPECT_TRUE(mrc_rev_response(&rev, &p.p, id, now));
	}
	now += kStep;
	mrc_rev_inbound(&rev, 1);
	EXPECT_GE(due(), 0) << "short again";
}

// Where an RTT is known, nobody waits for the RTO, which can be a second.
TEST_F(Rev, KnownRttShortensTheWait)
{
	mrc_paths_set_rtt(&p.p, 0, 500 * kMs);
	mrc_rev_inbound(&rev, 1);
	sent(due(), 1);
	now += 2 * kMs;
	ASSERT_TRUE(mrc_rev_response(&rev, &p.p, 1, now));
	for (u16 i = 0; i < 12; i++) {
		const u64 wait = MRC_REV_WAIT * 2 * kMs << i / MRC_REV_TRIES;

		now += 2 * kMs * !i;
		mrc_rev_inbound(&rev, 1);
		ASSERT_GE(due(), 0) << i;
		sent(due(), static_cast<u16>(2 + i));
		mrc_rev_inbound(&rev, 1);
		now += wait - 1;
		ASSERT_EQ(due(), -1) << i;
		now++;
	}
}

// A probe of a plane that has a reverse EV tests that one more often than others. When
// it is dead, it is a reverse EV no longer, and feedback takes other planes' until the
// plane has one again.
TEST_F(Rev, DeadReverseEvIsForgotten)
{
	const auto answer = [this](int ev, u16 id) {
		sent(ev, id);
		now += kUnit;
		return mrc_rev_response(&rev, &p.p, id, now);
	};
	int two, same = 0;

	mrc_rev_inbound(&rev, 2);
	two = due();
	ASSERT_TRUE(answer(two, 1));
	for (u16 i = 0; i < 200; i++) {
		now += kStep;
		mrc_rev_inbound(&rev, 2);
		const int ev = due();

		ASSERT_EQ(p.port(static_cast<unsigned>(ev)), 2u);
		same += ev == two;
		ASSERT_TRUE(answer(two, static_cast<u16>(2 + i)));
	}
	EXPECT_GT(same, 100);
	EXPECT_LT(same, 190);

	mrc_rev_confirm(&rev, &p.p, two, now);
	const int three = [this] {
		for (int ev = 0;; ev++)
			if (p.port(static_cast<unsigned>(ev)) == 3)
				return ev;
	}();

	mrc_rev_confirm(&rev, &p.p, three, now);
	EXPECT_EQ(pick(2), two);
	EXPECT_EQ(p.port(static_cast<unsigned>(pick(1))), 1u)
		<< "nothing is known of plane 1, not even that it is dead";
	now += kStep + kUnit;
	sent(two, 500);
	now += MRC_REV_WAIT_NS;
	mrc_rev_inbound(&rev, 2);
	ASSERT_GE(due(), 0);
	sent(due(), 501);
	EXPECT_EQ(pick(2), three);
	EXPECT_TRUE(mrc_rev_response(&rev, &p.p, 501, now));
	EXPECT_EQ(p.port(static_cast<unsigned>(pick(2))), 2u);
}

// Queues come and go: answers that take longer than those before are not lost.
TEST_F(Rev, LateAnswersCount)
{
	std::deque<std::pair<u64, u16>> answers;
	int on_time = 0, late = 0;
	u16 id = 0;

	mrc_paths_set_rtt(&p.p, 0, 500 * kMs);
	for (u64 end = now + 2000 * kMs; now < end; now += kMs / 4) {
		const u64 rtt = now / (100 * kMs) % 2 ? 60 * kMs : 2 * kMs;

		mrc_rev_inbound(&rev, 1);
		while (!answers.empty() && answers.front().first <= now) {
			late += answers.front().second != id;
			on_time += answers.front().second == id;
			EXPECT_TRUE(mrc_rev_response(
				&rev, &p.p, answers.front().second, now));
			answers.pop_front();
		}
		const int ev = due();

		if (ev < 0)
			continue;
		sent(ev, ++id);
		answers.emplace_back(now + rtt, id);
		std::sort(answers.begin(), answers.end());
	}
	EXPECT_GT(late, 0);
	EXPECT_GT(on_time, late);
}

// Three of four EVs of each plane are dead. The receiver knows it of none of them,
// because it sends no data. Nearly all of its feedback must arrive nevertheless.
TEST_F(Rev, FeedbackArrivesWhereMostEvsAreDead)
{
	const u64 rtt = 5 * kMs;
	const auto alive = [](int ev) { return ev / 4 % 4 == 0; };
	u64 answer_at = 0;
	int answered = -1, total = 0, arrived = 0;
	u16 id = 0;

	mrc_paths_set_rtt(&p.p, 0, 537 * kMs);
	for (int ev = 0; ev < 64; ev++)
		ASSERT_EQ(p.port(static_cast<unsigned>(ev)),
			  static_cast<unsigned>(ev) % 4 + 1);
	for (u64 end = now + 8000 * kMs; now < end; now += kMs / 4) {
		for (u8 port = 1; port <= 4; port++) {
			mrc_rev_inbound(&rev, port);
			const int ev = pick(port);

			total += now + 6000 * kMs > end;
			arrived += now + 6000 * kMs > end && alive(ev);
		}
		if (answered >= 0 && now >= answer_at) {
			mrc_rev_response(&rev, &p.p, static_cast<u16>(answered),
					 now);
			answered = -1;
		}
		const int ev = due();

		if (ev < 0)
			continue;
		sent(ev, ++id);
		answered = alive(ev) ? id : -1;
		answer_at = now + rtt;
	}
	EXPECT_GT(arrived, total * 95 / 100) << arrived << " of " << total;
}

// When a reverse EV is dead, the others are used for half as long, and SACKs go to
// all planes that are up, until an answer comes.
TEST_F(Rev, DeadReverseEvMakesTheOthersDoubtful)
{
	const auto copies = [this](u8 port) {
		std::set<int> ports;

		for (u8 c = 0; (c = mrc_rev_copy_port(&rev, &p.p, port, c));)
			ports.insert(c);
		return ports;
	};

	for (int ev : {0, 5, 6})
		mrc_rev_confirm(&rev, &p.p, ev, now); // planes 1, 2, 3
	EXPECT_EQ(copies(1), std::set<int>());
	sent(0, 1);
	EXPECT_EQ(copies(1), std::set<int>());
	now += kFresh / 2 - kUnit;
	EXPECT_EQ(pick(3), 6);
	sent(5, 2); // the first one is given up
	EXPECT_EQ(copies(1), (std::set<int>{2, 3, 4}));
	EXPECT_EQ(copies(3), (std::set<int>{1, 2, 4}));
	EXPECT_EQ(pick(3), 6);
	now += 2 * kUnit;
	EXPECT_NE(pick(3), pick(3));
	EXPECT_EQ(p.port(static_cast<unsigned>(
			  mrc_rev_pick_copy(&rev, &p.p, 3, now))),
		  3u);
	mrc_paths_set_ports(&p.p, 1u << 1 | 1u << 4);
	EXPECT_EQ(copies(1), std::set<int>{4});
	EXPECT_TRUE(mrc_rev_response(&rev, &p.p, 2, now));
	EXPECT_EQ(copies(1), std::set<int>());
}

// A dead reverse EV makes a number of SACKs go to all planes, not all that follow.
TEST_F(Rev, CopiesOfSacksAreBounded)
{
	unsigned sacks = 0;

	for (int ev : {0, 5})
		mrc_rev_confirm(&rev, &p.p, ev, now); // planes 1, 2
	sent(0, 1);
	sent(5, 2); // the first one is given up
	while (sacks < 1000 && mrc_rev_copy_port(&rev, &p.p, 1, 0))
		sacks++;
	EXPECT_EQ(sacks, MRC_REV_COPIED);
	sent(6, 3); // and the second
	EXPECT_NE(mrc_rev_copy_port(&rev, &p.p, 1, 0), 0);
}

// Where EVs that were never confirmed are dead, the others are as good as before.
TEST_F(Rev, DeadEvThatWasTriedSaysNothingOfTheOthers)
{
	mrc_rev_confirm(&rev, &p.p, 6, now);
	for (u16 id = 1; id < 10; id++)
		sent(4, id);
	EXPECT_EQ(mrc_rev_copy_port(&rev, &p.p, 1, 0), 0);
	now += kFresh - kUnit;
	EXPECT_EQ(mrc_rev_pick_copy(&rev, &p.p, 3, now), 6);
}

TEST_F(Rev, PlanesBeside)
{
	EXPECT_EQ(mrc_rev_beside(&p.p, 1, 0), 2);
	EXPECT_EQ(mrc_rev_beside(&p.p, 4, 0), 1);
	EXPECT_EQ(mrc_rev_beside(&p.p, 0, 0), 1);
	EXPECT_EQ(mrc_rev_beside(&p.p, 1, 2), 3);
	mrc_paths_set_ports(&p.p, 1u << 1 | 1u << 3);
	EXPECT_EQ(mrc_rev_beside(&p.p, 1, 0), 3);
	EXPECT_EQ(mrc_rev_beside(&p.p, 3, 1), 3);
	EXPECT_EQ(mrc_rev_beside(&p.p, 1, 3), 1);
	mrc_paths_set_ports(&p.p, 1u << 3);
	EXPECT_EQ(mrc_rev_beside(&p.p, 3, 3), 3);
	EXPECT_EQ(mrc_rev_beside(&p.p, 3, 1), 3);
	mrc_paths_set_ports(&p.p, 0);
	EXPECT_EQ(mrc_rev_beside(&p.p, 1, 2), 0);
}

// What is sent again takes another EV of the plane than the reverse EV.
TEST_F(Rev, SentAgainTakesTurns)
{
	std::set<int> used;

	mrc_rev_confirm(&rev, &p.p, 6, now);
	for (int i = 0; i < 15; i++) {
		used.insert(mrc_rev_pick_again(&rev, &p.p, 3));
		ASSERT_EQ(p.port(static_cast<unsigned>(*used.rbegin())), 3u);
	}
	EXPECT_EQ(used.size(), 15u);
	EXPECT_FALSE(used.contains(6));
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
