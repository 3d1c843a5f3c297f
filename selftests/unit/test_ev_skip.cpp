// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// How long SKIP lasts: paths whose packets are marked again and again carry less, and
// carry their share again when the marks end.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "evset.hpp"
#include "paths.hpp"

namespace
{

using namespace mrc_test;

constexpr std::uint64_t kRtt = 100 * kUnit;
// From one answer to the next that may change the level.
constexpr std::uint64_t kStep = 2 * kRtt + kUnit;

mrc_paths_cfg skip_cfg(unsigned n_evs, unsigned n_ports)
{
	mrc_paths_cfg cfg = paths_cfg(n_evs, n_ports);

	cfg.base_rtt = kRtt;
	return cfg;
}

// Marks or answers without a mark of EV @i, each more than two round trips after the one
// before; answers of @others keep marks rare on the port.
std::uint64_t answers(Paths &p, int i, mrc_ev_verdict v, unsigned n, std::uint64_t now)
{
	for (unsigned k = 0; k < n; k++) {
		now += kStep;
		mrc_paths_verdict(&p.p, i, v, now);
		for (int other = 0; other < p->n; other++)
			for (int n = 0; other != i && n < 16; n++)
				mrc_paths_verdict(&p.p, other, MRC_EVV_OK, now);
	}
	return now;
}

// How often each EV is picked in @n picks.
std::map<int, int> uses(Paths &p, int n)
{
	std::map<int, int> out;

	for (int k = 0; k < n; k++)
		out[mrc_paths_pick(&p.p, 1)]++;
	return out;
}

TEST(EvSkip, EachStepAboveHalvesTheUse)
{
	for (unsigned level = 1; level <= MRC_EV_SKIP_LEVELS; level++) {
		Paths p(skip_cfg(16, 1));

		answers(p, 3, MRC_EVV_CE, level, kMs);
		EXPECT_EQ(p.level(3), level);
		// 32 uses or more of each, with or without the EV.
		std::map<int, int> got = uses(p, 16 * 1024);
		const double share =
			level > MRC_EV_SKIP_FREE ? 1024.0 / (1u << (level - MRC_EV_SKIP_FREE))
						 : 1024.0;

		EXPECT_NEAR(got[3], share, share / 8 + 2) << level;
		for (int i = 0; i < 16; i++) {
			if (i != 3)
				EXPECT_NEAR(got[i], (16 * 1024 - got[3]) / 15.0, 2);
		}
		p.check();
	}
}

TEST(EvSkip, NoMoreThanTheLastLevel)
{
	Paths p(skip_cfg(16, 1));

	answers(p, 3, MRC_EVV_TRIM, 40, kMs);
	EXPECT_EQ(p.level(3), MRC_EV_SKIP_LEVELS);
	EXPECT_GT(uses(p, 16 * 320)[3], 8);
	p.check();
}

// A mark alone: one turn, as in the example of the text.
TEST(EvSkip, OneMarkIsOneTurn)
{
	Paths p(skip_cfg(16, 1));
	std::map<int, int> got;

	mrc_paths_verdict(&p.p, 3, MRC_EVV_CE, kMs);
	EXPECT_EQ(uses(p, 15).count(3), 0u);
	got = uses(p, 160);
	for (int i = 0; i < 16; i++)
		EXPECT_EQ(got[i], 10) << i;
}

// What was under way when the level changed does not count.
TEST(EvSkip, OneStepInTwoRoundTrips)
{
	Paths p(skip_cfg(16, 1));
	std::uint64_t now = kMs;

	for (unsigned level = 1; level <= 3; level++) {
		for (int k = 0; k < 50; k++)
			mrc_paths_verdict(&p.p, 3, MRC_EVV_CE, now + k * kUnit);
		EXPECT_EQ(p.level(3), level);
		for (int i = 4; i < 16; i++)
			for (int k = 0; k < 4; k++)
				mrc_paths_verdict(&p.p, i, MRC_EVV_OK, now);
		now += kStep;
	}
	now -= kStep;
	for (int k = 0; k < 50; k++)
		mrc_paths_verdict(&p.p, 3, MRC_EVV_OK, now + k * kUnit);
	EXPECT_EQ(p.level(3), 3u);
	for (int k = 0; k < 50; k++)
		mrc_paths_verdict(&p.p, 3, MRC_EVV_OK, now + kStep + k * kUnit);
	EXPECT_EQ(p.level(3), 2u);
	p.check();
}

// The measured round trip counts, once there is one.
TEST(EvSkip, MeasuredRoundTrip)
{
	Paths p(skip_cfg(16, 1));

	p->pace->srtt = 10 * kRtt;
	mrc_paths_verdict(&p.p, 3, MRC_EVV_CE, kMs);
	mrc_paths_verdict(&p.p, 3, MRC_EVV_CE, kMs + 19 * kRtt);
	EXPECT_EQ(p.level(3), 1u);
	p->walk[1].marks = 0;
	mrc_paths_verdict(&p.p, 3, MRC_EVV_CE, kMs + 20 * kRtt + 2 * kUnit);
	EXPECT_EQ(p.level(3), 2u);
}

TEST(EvSkip, AnswersWithoutMarkBringItBack)
{
	Paths p(skip_cfg(16, 1));
	std::uint64_t now = answers(p, 3, MRC_EVV_CE, MRC_EV_SKIP_LEVELS, kMs);

	for (unsigned level = MRC_EV_SKIP_LEVELS; level--;) {
		for (int k = 0; p.level(3) > level && k < 64; k++)
			now = answers(p, 3, MRC_EVV_OK, 1, now);
		ASSERT_EQ(p.level(3), level);
	}
	answers(p, 3, MRC_EVV_OK, 1, now);
	EXPECT_EQ(p.level(3), 0u);
	uses(p, 64);
	std::map<int, int> got = uses(p, 160);
	for (int i = 0; i < 16; i++)
		EXPECT_EQ(got[i], 10) << i;
	p.check();
}

// An arrival of which nothing else is known, losses and probes take no step.
TEST(EvSkip, OnlyMarksAndTheirAbsenceCount)
{
	Paths p(skip_cfg(16, 1));
	std::uint64_t now = answers(p, 3, MRC_EVV_CE, 5, kMs);

	for (const mrc_ev_verdict v :
	     {MRC_EVV_ARRIVED, MRC_EVV_LOSS, MRC_EVV_ARRIVED, MRC_EVV_PROBE_OK,
	      MRC_EVV_PROBE_CE, MRC_EVV_PROBE_LOST}) {
		now += 2 * kRtt;
		mrc_paths_verdict(&p.p, 3, v, now);
		EXPECT_EQ(p.level(3), 5u) << v;
	}
}

// Where all paths are marked, none of them stands out, and their loads stay near each
// other, whatever the share of marks is.
TEST(EvSkip, EqualMarksAreNoReason)
{
	for (const unsigned percent : {5u, 20u, 33u, 50u, 75u, 95u, 100u}) {
		Paths p(skip_cfg(16, 1));
		std::mt19937 rng(percent);
		std::uint64_t now = kMs;
		unsigned seldom = 0;

		// A turn of the rotation takes as long as a level lasts at least.
		for (int k = 0; k < 16 * 4000; k++) {
			now += kStep / 16 + 1;
			const int ev = mrc_paths_pick(&p.p, now);

			mrc_paths_verdict(&p.p, ev,
					  rng() % 100 < percent ? MRC_EVV_CE : MRC_EVV_OK,
					  now);
			for (unsigned i = 0; i < 16 && k % 16 == 0; i++)
				seldom += p.level(i) > MRC_EV_SKIP_FREE;
		}
		EXPECT_LT(seldom, 16 * 4000 / 10) << percent;
		p.check();
	}
}

// One path that is always marked, beside some that hardly are, goes to the end; and comes
// back when all are marked like it.
TEST(EvSkip, StandsOut)
{
	Paths p(skip_cfg(16, 1));
	std::mt19937 rng(3);
	std::uint64_t now = kMs;

	for (int round = 0; round < 100; round++) {
		now += kStep;
		for (int i = 0; i < 16; i++)
			mrc_paths_verdict(&p.p, i,
					  i == 5 || rng() % 10 == 0 ? MRC_EVV_CE :
								      MRC_EVV_OK,
					  now);
	}
	EXPECT_GE(p.level(5), MRC_EV_SKIP_LEVELS - 1u);
	for (int round = 0; round < 100; round++) {
		now += kStep;
		for (int i = 0; i < 16; i++)
			mrc_paths_verdict(&p.p, i, MRC_EVV_CE, now);
	}
	EXPECT_LE(p.level(5), MRC_EV_SKIP_FREE);
	p.check();
}

// What comes for a condemned EV says nothing, and its memory has another use then.
TEST(EvSkip, CondemnedPathsDoNotCount)
{
	Paths p(skip_cfg(16, 1));

	mrc_paths_verdict(&p.p, 3, MRC_EVV_CONDEMNED, kMs);
	for (const std::uint16_t id : {0x0000, 0x0100, 0x0105, 0x7FFF}) {
		p->ev[3].probe_id = id;
		for (int k = 0; k < 8; k++)
			mrc_paths_verdict(&p.p, 3, MRC_EVV_CE, kMs + k * kStep);
		EXPECT_EQ(p->ev[3].probe_id, id);
		EXPECT_EQ(p->walk[1].marks, 0u);
	}
}

// Marks of another plane say nothing about this one.
TEST(EvSkip, PlanesAreJudgedApart)
{
	Paths p(skip_cfg(16, 2));
	std::uint64_t now = kMs;
	int mine = -1;

	for (int i = 0; i < 16; i++)
		if (p.port(static_cast<unsigned>(i)) == 1)
			mine = i;
	for (int round = 0; round < 30; round++) {
		now += kStep;
		for (int i = 0; i < 16; i++) {
			const bool other = p.port(static_cast<unsigned>(i)) == 2;

			mrc_paths_verdict(&p.p, i,
					  other || i == mine ? MRC_EVV_CE : MRC_EVV_OK,
					  now);
		}
	}
	EXPECT_EQ(p.level(mine), MRC_EV_SKIP_LEVELS);
	// The planes' loads stay equal.
	std::map<unsigned, int> load;
	for (int k = 0; k < 2000; k++)
		load[p.port(static_cast<unsigned>(mrc_paths_pick(&p.p, now)))]++;
	EXPECT_EQ(load[1], load[2]);
	p.check();
}

// No EV is GOOD: traffic goes on, on those that would be used soonest.
TEST(EvSkip, AllRest)
{
	for (const unsigned n : {1u, 2u, 3u, 7u, 64u}) {
		Paths p(skip_cfg(n, 1));
		std::uint64_t now = kMs;

		for (unsigned level = 0; level < MRC_EV_SKIP_LEVELS; level++) {
			p->walk[1].marks = 0;
			now += kStep;
			for (unsigned i = level ? 1 : 0; i < n; i++) {
				mrc_paths_verdict(&p.p, static_cast<int>(i), MRC_EVV_CE, now);
				p->walk[1].marks = 0;
			}
		}
		EXPECT_EQ(p.level(n - 1), n == 1 ? 1u : MRC_EV_SKIP_LEVELS);
		std::map<int, int> got = uses(p, 2000 * int(n));
		EXPECT_EQ(got.count(-1), 0u);
		// EV 0 was marked once only.
		for (unsigned i = 1; i < n && n < 8; i++)
			EXPECT_GT(got[0], 4 * got[static_cast<int>(i)]) << n;
		for (unsigned i = 1; i < n; i++)
			EXPECT_GT(got[static_cast<int>(i)], 0) << n << " " << i;
		p.check();
	}
}

// Each use of such a path is followed by SKIP, which is counted and is no event.
TEST(EvSkip, RestIsCounted)
{
	Paths p(skip_cfg(16, 1));
	const std::uint64_t now = answers(p, 3, MRC_EVV_CE, 4, kMs);

	uses(p, 64);
	p.forget();
	const int n = uses(p, 2000)[3];
	EXPECT_GT(n, 10);
	EXPECT_EQ(p.total(MRC_CTR_EV_SKIP), static_cast<unsigned>(n));
	EXPECT_EQ(p.everything(), static_cast<unsigned>(n));
	EXPECT_TRUE(p.changes.empty());
	// A mark on it meanwhile is not another one.
	while (p.state(3) != S)
		mrc_paths_pick(&p.p, now);
	p.forget();
	mrc_paths_verdict(&p.p, 3, MRC_EVV_CE, now + 1);
	EXPECT_EQ(p.everything(), 0u);
}

// An EV that rests takes one packet of a batch, not a run.
TEST(EvSkip, NoRuns)
{
	Paths p(skip_cfg(4, 1));
	std::map<int, int> runs;
	int last = -1, length = 0;

	answers(p, 2, MRC_EVV_CE, 5, kMs);
	mrc_paths_begin_batch(&p.p, 1u << 1);
	for (int k = 0; k < 4000; k++) {
		const int ev = mrc_paths_pick(&p.p, 1);

		length = ev == last ? length + 1 : 1;
		last = ev;
		runs[ev] = std::max(runs[ev], length);
	}
	EXPECT_EQ(runs[2], 1);
	EXPECT_GE(runs[1], MRC_EV_RUN);
	p.check();
}

// What was known of the load ends with the path: condemned, denied, or another value.
TEST(EvSkip, ForgottenWithThePath)
{
	Paths p(skip_cfg(16, 1));
	std::uint64_t now = answers(p, 3, MRC_EVV_CE, 4, kMs);

	mrc_paths_verdict(&p.p, 3, MRC_EVV_CONDEMNED, now);
	ASSERT_EQ(p.state(3), B);
	mrc_paths_verdict(&p.p, 3, MRC_EVV_PROBE_OK, now);
	mrc_paths_verdict(&p.p, 3, MRC_EVV_PROBE_OK, now);
	ASSERT_EQ(p.state(3), G);
	EXPECT_EQ(p.level(3), 0u);

	now = answers(p, 3, MRC_EVV_CE, 4, now);
	mrc_paths_verdict(&p.p, 3, MRC_EVV_DENY, now);
	mrc_paths_verdict(&p.p, 3, MRC_EVV_ALLOW, now);
	EXPECT_EQ(p.level(3), 0u);

	EvSet old({{1, 1}, {2, 1}, {3, 1}}, 0), next({{1, 1}, {4, 1}, {3, 1}}, 0);
	mrc_paths_cfg cfg = skip_cfg(1, 1);
	cfg.set = old.get();
	Paths q(cfg);
	now = answers(q, 1, MRC_EVV_CE, 4, kMs);
	answers(q, 2, MRC_EVV_CE, 4, now);
	ASSERT_EQ(q.level(1), 0u); // answers without a mark, meanwhile
	now = answers(q, 1, MRC_EVV_CE, 4, now + kMs);
	ASSERT_EQ(q.level(1), 4u);
	mrc_paths_update(&q.p, next.get(), now);
	EXPECT_EQ(q.level(1), 0u);
	q.check();
}

// Copies are one path: one level, and together the share of so many.
TEST(EvSkip, CopiesRestTogether)
{
	EvSet set({{1, 1}, {2, 1}, {1, 1}, {3, 1}, {4, 1}, {1, 1}}, 0);
	mrc_paths_cfg cfg = skip_cfg(1, 1);

	cfg.set = set.get();
	Paths p(cfg);
	std::uint64_t now = kMs;
	for (int k = 0; k < 4; k++) {
		now += kStep;
		mrc_paths_verdict(&p.p, k % 2 ? 5 : 0, MRC_EVV_CE, now);
		for (const int other : {1, 3, 4})
			for (int n = 0; n < 8; n++)
				mrc_paths_verdict(&p.p, other, MRC_EVV_OK, now);
	}
	for (const unsigned i : {0u, 2u, 5u})
		EXPECT_EQ(p.level(i), 4u);
	for (int k = 0; k < 500; k++) {
		mrc_paths_pick(&p.p, now);
		ASSERT_EQ(p.state(0), p.state(2));
		ASSERT_EQ(p.state(0), p.state(5));
		ASSERT_EQ(p->ev[0].skip.left, p->ev[2].skip.left);
		ASSERT_EQ(p->ev[0].skip.left, p->ev[5].skip.left);
	}
	p.check();
}

} // namespace
