// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The model of RoCE v2: one path, go-back-N, DCQCN. */
#include <algorithm>

#include <gtest/gtest.h>

#include "../../userspace-tools/common/fairness.hpp"
#include "fabrics.hpp"
#include "scenario.hpp"

namespace mrcsim
{
namespace
{
constexpr u64 line_rate = 40'000'000'000;
constexpr u64 period = 55 * us;
constexpr u32 lone_bytes = 400'000;

Settings roce()
{
	Settings s;

	s.column = Column::roce;
	return s;
}

void all_there(Simulator &sim)
{
	finish(sim);
	EXPECT_EQ(sim.totals().finished, sim.flows().size());
	EXPECT_EQ(sim.check(), "");
	EXPECT_EQ(sim.sums().trimmed, 0U);
}

TEST(Dcqcn, firstNotificationHalvesTheRate)
{
	Dcqcn d(line_rate);

	EXPECT_EQ(d.rate(5 * us), line_rate);
	d.cnp(5 * us);
	EXPECT_EQ(d.rate(5 * us), line_rate / 2);
	/* Alpha has grown little, so the next one halves it again, nearly. */
	d.cnp(6 * us);
	EXPECT_EQ(d.rate(6 * us), line_rate / 4);
}

/* Half of what is missing comes back in each period. */
TEST(Dcqcn, recoversInStepsOfHalves)
{
	Dcqcn d(line_rate);

	d.cnp(0);
	EXPECT_EQ(d.rate(period - 1), line_rate / 2);
	EXPECT_EQ(d.rate(period), line_rate / 4 * 3);
	EXPECT_EQ(d.rate(2 * period), line_rate / 8 * 7);
	EXPECT_LT(d.rate(5 * period), line_rate);
}

/* Then 40 Mb/s in each period; a target of 30 Gb/s is 250 periods away. */
TEST(Dcqcn, thenItIncreasesByAConstant)
{
	Dcqcn d(line_rate);

	d.cnp(0);
	d.cnp(0);
	EXPECT_EQ(d.rate(0), line_rate / 4);
	/* The target is half the line rate. */
	const u64 after = d.rate(15 * period), later = d.rate(25 * period);

	EXPECT_GT(after, line_rate / 2);
	EXPECT_NEAR(static_cast<double>(later - after), 10 * 40e6, 1e6);
	EXPECT_EQ(d.rate(1000 * period), line_rate);
}

/* Timer and bytes together: hyper increase. */
TEST(Dcqcn, bytesMakeItFaster)
{
	Dcqcn with(line_rate), without(line_rate);

	for (Dcqcn *d : {&with, &without}) {
		d->cnp(0);
		d->cnp(0);
	}
	for (u32 n = 1; n <= 20; n++) {
		with.sent(10'000'000, n * period);
		EXPECT_GE(with.rate(n * period), without.rate(n * period));
	}
	EXPECT_GT(with.rate(20 * period),
		  without.rate(20 * period) + 10 * 40'000'000);
}

/* Alpha becomes less in quiet times: the next cut is smaller. */
TEST(Dcqcn, rareNotificationsCutLess)
{
	Dcqcn d(line_rate);

	d.cnp(0);
	d.cnp(0);
	const u64 before = d.rate(100 * period);

	d.cnp(100 * period);
	/* (255/256)^100 / 2 = 34 % */
	EXPECT_NEAR(static_cast<double>(d.rate(100 * period)) /
			    static_cast<double>(before),
		    .66, .01);
}

TEST(Dcqcn, neverStops)
{
	Dcqcn d(line_rate);

	for (u32 n = 0; n < 1000; n++)
		d.cnp(n);
	EXPECT_GE(d.rate(1000), line_rate / 10'000);
}

/* The packets leave one after the other, and the last one's ACK comes back. */
TEST(Roce, oneFlowTakesTheTimeOfTheClosedForm)
{
	const Shape s = plain_clos(1, 2, 2, 2);
	Traffic t;

	t.add(0, 2, lone_bytes, 0);

	Simulator sim(s, roce(), t, {});

	all_there(sim);

	const u64 packets = (lone_bytes + 4095) / 4096;
	const double bytes = lone_bytes + static_cast<double>(packets) *
						  (12 + 8 + 4 + 38 + 36);
	const double ideal = bytes * 80 + 4 * 4200 * 80 + 8.0 * us;

	EXPECT_NEAR(static_cast<double>(times_of(sim)[0]), ideal, ideal * .03);
	EXPECT_EQ(sim.totals().resent, 0U);
}

/* All that follows a lost packet is sent again. */
TEST(Roce, goesBackToWhatIsMissing)
{
	const Shape s = plain_clos(1, 2, 2, 2);
	const Traffic t = shift(4, 0, 2, 4'000'000);
	Simulator sim(s, roce(), t,
		      {parse_fault(s, {"p1l*:s*", "loss", "0.5%"}, 0)});

	all_there(sim);
	EXPECT_GT(sim.sums().lost, 5U);
	EXPECT_GT(sim.totals().resent, 4 * sim.sums().lost);
}

/* Nothing asks for a last packet; the timeout repairs it. */
TEST(Roce, lastPacketWaitsForTheTimeout)
{
	const Shape s = plain_clos(1, 1, 0, 2);
	Traffic t;

	t.add(0, 1, 1000, 0);

	Simulator sim(s, roce(), t,
		      {parse_fault(s, {"h1:p1", "loss", "100%"}, 0),
		       parse_fault(s, {"h1:p1", "clear"}, 10 * us)});

	all_there(sim);
	EXPECT_EQ(sim.totals().resent, 1U);
	EXPECT_EQ(sim.counter(MRC_CTR_RTO), 1U);
	EXPECT_GT(times_of(sim)[0], sim.settings().rto * 1000);
}

/* A dead T1 stops the flows whose only path it is on, and no others. */
TEST(Roce, deadPathStopsItsFlows)
{
	const Shape s = plain_clos(1, 2, 4, 8);
	const Traffic t = shift(16, 0, 8, 40'000'000);
	Simulator sim(s, roce(), t,
		      {parse_fault(s, {"p1s1", "down"}, 50 * us),
		       parse_fault(s, {"p1s1", "up"}, 20'000 * us)});

	all_there(sim);

	const std::vector<u64> times = times_of(sim);
	const auto stopped =
		std::count_if(times.begin(), times.end(),
			      [](u64 at) { return at > 20'000 * us; });

	EXPECT_GT(stopped, 0);
	EXPECT_LT(stopped, 16);
}

/* Marks keep the queue short, and the flows share the link. */
TEST(Roce, incastSharesTheLink)
{
	Shape s = plain_clos(1, 2, 2, 8);

	for (LinkSpec &l : s.spec) {
		l.queue = 4'000'000;
		l.mark_min = 40'000;
		l.mark_max = 200'000;
	}

	const Traffic t = incast(16, 7, 40'000'000);
	Simulator sim(s, roce(), t, {});

	finish(sim, 10'000 * us);
	EXPECT_GT(sim.sums().marked, 0U);
	EXPECT_EQ(sim.sums().dropped, 0U);
	EXPECT_EQ(sim.totals().resent, 0U);

	std::vector<double> bytes;

	for (const FlowState &f : sim.flows())
		bytes.push_back(static_cast<double>(f.bytes));
	EXPECT_GT(fairness::jain(bytes), .8);
}

/* A queue pair with several messages, some of which are started later. */
TEST(Roce, messagesOfAQueuePairAreInOrder)
{
	const Shape s = plain_clos(1, 2, 2, 2);
	const Traffic t = ring_allreduce(4, 0, 400'000);
	Simulator sim(s, roce(), t,
		      {parse_fault(s, {"p1l*:s*", "loss", "1%"}, 0)});

	all_there(sim);
	EXPECT_EQ(sim.totals().placed, t.flows.size() * 100'000);
}
} // namespace
} // namespace mrcsim
