// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* How much memory a run takes, and how much was planned. */
#include <gtest/gtest.h>

#include "fabrics.hpp"
#include "plan.hpp"

namespace mrcsim
{
namespace
{
struct Case {
	const char *name;
	u32 planes, t0, t1, hosts;
	u64 bytes;
	bool incast;
	u32 threads;
};

/* With the part of the plan that does not grow left out. */
TEST(Memory, isWithinFivePercentOfThePlan)
{
	for (const Case &c :
	     {Case{"permutation, 8 planes", 8, 8, 16, 32, 2'000'000, false, 1},
	      Case{"the same, 2 threads", 8, 8, 16, 32, 2'000'000, false, 2},
	      Case{"permutation, 1 plane", 1, 8, 16, 32, 1'000'000, false, 1},
	      Case{"short messages", 4, 8, 8, 32, 20'000, false, 1},
	      Case{"incast", 2, 8, 8, 16, 200'000, true, 1}}) {
		const Shape s = marking_clos(c.planes, c.t0, c.t1, c.hosts);
		const u32 all = s.all_hosts();
		const Traffic t = c.incast ? incast(all, all - 1, c.bytes)
					   : permutation(all, 0, c.bytes, 1);
		Simulator sim(s, {}, t, {}, c.threads);

		finish(sim);

		const double plan = static_cast<double>(
			planned_memory(s, {}, t, c.threads) - program_memory);
		const double taken = static_cast<double>(sim.memory());

		EXPECT_NEAR(taken, plan, 0.05 * plan) << c.name;
	}
}

/* Traces and captures take most of the memory of a small run. */
TEST(Memory, ofRecordingIsPlanned)
{
	const Shape s = marking_clos(2, 2, 4, 4);
	const Traffic t = permutation(s.all_hosts(), 0, 2'000'000, 1);
	const auto taken = [&](const Watch &w, u64 &plan) {
		Settings settings;

		settings.watch = w;
		plan = planned_memory(s, settings, t);

		Simulator sim(s, settings, t, {});

		finish(sim);
		return sim.memory();
	};
	u64 without, with;
	const u64 none = taken({}, without);

	for (const Watch &w :
	     {Watch{{0, 1, 2, 3}, {}}, Watch{{}, s.named("h1:p1")},
	      Watch{{}, s.named("p2l2:h5")}, Watch{{}, s.named("p1l1:s2")}}) {
		const u64 some = taken(w, with);

		/* The plan is for the files, too. */
		EXPECT_GT(some - none, 20'000U);
		EXPECT_LT(some - none, with - without);
		EXPECT_GT(60 * (some - none), with - without);
	}
}
} // namespace
} // namespace mrcsim
