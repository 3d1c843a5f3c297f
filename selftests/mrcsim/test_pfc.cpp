// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Priority flow control of the model of RoCE v2. */
#include <algorithm>

#include <gtest/gtest.h>

#include "fabrics.hpp"
#include "scenario.hpp"

namespace mrcsim
{
namespace
{
constexpr u32 lone = 400'000, incast_bytes = 4'000'000;

Settings with_pfc(bool dcqcn = false)
{
	Settings s;

	s.column = Column::roce_pfc;
	s.dcqcn.on = dcqcn;
	return s;
}

/* Queues that would drop without PFC. */
Shape short_queues(u32 t0, u32 t1, u32 hosts)
{
	Shape s = plain_clos(1, t0, t1, hosts);

	for (LinkSpec &l : s.spec)
		l.queue = 20'000;
	return s;
}

u64 last_of(const Simulator &sim)
{
	const std::vector<u64> t = times_of(sim);

	return *std::max_element(t.begin(), t.end());
}

/* Without congestion nobody waits, and each packet leaves when it did. */
TEST(Pfc, changesNothingForAFlowAlone)
{
	const Shape s = plain_clos(1, 2, 2, 2);
	Traffic t;
	Settings without;

	t.add(0, 2, lone, 0);
	without.column = Column::roce;

	Simulator a(s, without, t, {}), b(s, with_pfc(true), t, {});

	finish(a);
	finish(b);
	EXPECT_EQ(times_of(a), times_of(b));
	EXPECT_EQ(b.sums().pauses, 0U);
	EXPECT_EQ(b.check(), "");
}

/* What the queues would drop, the senders keep. */
TEST(Pfc, losesNothingInAnIncast)
{
	const Shape s = short_queues(2, 2, 8);
	const Traffic t = incast(16, 15, incast_bytes);
	Settings without = with_pfc();

	without.column = Column::roce;

	Simulator lossy(s, without, t, {}), sim(s, with_pfc(), t, {});

	finish(lossy, 20'000 * us);
	EXPECT_GT(lossy.sums().dropped, 0U);

	finish(sim);
	EXPECT_EQ(sim.totals().finished, 15U);
	EXPECT_EQ(sim.sums().dropped, 0U);
	EXPECT_EQ(sim.totals().resent, 0U);
	EXPECT_GT(sim.sums().pauses, 0U);
	EXPECT_EQ(sim.check(), "");

	/* The last link is never idle for long. */
	const double ideal = 15.0 * incast_bytes * 80;

	EXPECT_LT(static_cast<double>(last_of(sim)), ideal * 1.06);
}

/* At any moment a node holds what it has asked for, and what was on its way
 * then. */
TEST(Pfc, boundsTheQueue)
{
	const Shape s = short_queues(2, 2, 8);
	const Traffic t = incast(16, 8, incast_bytes);
	Settings settings = with_pfc();
	const u32 last = s.named("p1l1:h1")[0];
	u64 most = 0;

	settings.sample = 5 * us;
	settings.series.links = {last};

	Simulator sim(s, settings, t, {});

	finish(sim);
	for (const Sample &one : sim.samples())
		most = std::max(most, one.queues[0]);

	/* Of each of the ports that lead to the T0 of the receiver. */
	const u64 packet = sim.derived().packet;
	const u64 on_the_way = 2 * 1 * us / 80 / packet + 3;
	const u64 ports = 7 + 2;

	EXPECT_GT(most, settings.pfc_xoff * packet);
	EXPECT_LT(most, ports * (settings.pfc_xoff + on_the_way) * packet);
}

/*
 * A flow to another host shares a link with an incast: who waits is not only who
 * causes it. MRC's victim does not.
 */
TEST(Pfc, makesVictims)
{
	Shape s = marking_clos(1, 2, 1, 8);

	for (LinkSpec &l : s.spec)
		l.queue = 0;

	Traffic t;
	u64 time[2];

	for (u32 n = 9; n < 16; n++)
		t.add(n, 0, incast_bytes, 0);
	t.add(8, 1, incast_bytes, 0);
	for (const Column c : {Column::mrc, Column::roce_pfc}) {
		Settings settings = with_pfc();

		settings.column = c;

		Simulator sim(s, settings, t, {});

		finish(sim);
		EXPECT_EQ(sim.totals().finished, 8U);
		time[c == Column::mrc] = times_of(sim).back();
	}
	EXPECT_GT(time[0], time[1] * 2);
}

TEST(Pfc, comesToAnEndWhenLinksDie)
{
	const Shape s = short_queues(2, 2, 4);
	const Traffic t = incast(8, 7, 1'000'000);
	Simulator sim(s, with_pfc(), t,
		      {parse_fault(s, {"p1l1:h1", "down"}, 100 * us),
		       parse_fault(s, {"p1l1:h1", "up"}, 400 * us),
		       parse_fault(s, {"p1s1", "down"}, 500 * us),
		       parse_fault(s, {"p1s1", "up"}, 900 * us)});

	finish(sim);
	EXPECT_EQ(sim.totals().finished, 7U);
	EXPECT_GT(sim.sums().cut, 0U);
	EXPECT_EQ(sim.check(), "");
}

TEST(Pfc, isTheSameWithThreads)
{
	const Shape s = short_queues(4, 2, 4);
	const Traffic t = permutation(16, 0, lone, 3);
	Simulator one(s, with_pfc(true), t, {}, 1),
		four(s, with_pfc(true), t, {}, 4);

	finish(one);
	finish(four);
	EXPECT_EQ(four.threads(), 1U);
	EXPECT_EQ(one.digest(), four.digest());
}
} // namespace
} // namespace mrcsim
