// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Faults while data flows: everything arrives, and only what must be is
 * repaired. */
#include <gtest/gtest.h>

#include "fabric_shape.hpp"
#include "fabrics.hpp"
#include "scenario.hpp"

namespace mrcsim
{
namespace
{
constexpr u32 long_message = 4'000'000;

Fault at(const Shape &s, u64 when, const std::vector<std::string> &words)
{
	return parse_fault(s, words, when);
}

/* From T0 1 to T0 2, with faults. All flows must be finished. */
void repaired(Simulator &sim)
{
	finish(sim);
	EXPECT_EQ(sim.totals().finished, sim.flows().size());
	EXPECT_EQ(sim.totals().failed, 0U);
	EXPECT_EQ(sim.check(), "");
}

TEST(Fault, randomLossIsRepaired)
{
	const Shape s = marking_clos(2, 2, 4, 2);
	const Traffic t = shift(4, 0, 2, long_message);
	Simulator sim(s, {}, t, {at(s, 0, {"p1l*:s*", "loss", "1%"})});

	repaired(sim);
	EXPECT_GT(sim.sums().lost, 5U);
	EXPECT_GT(sim.totals().resent, 5U);
	/* No packet is sent again that was not lost, or hardly any. */
	EXPECT_LE(sim.totals().resent, sim.sums().lost * 2 + 10);
}

TEST(Fault, deadT1IsAvoided)
{
	const Shape s = marking_clos(2, 2, 4, 2);
	const Traffic t = shift(4, 0, 2, long_message);
	Simulator sim(s, {}, t, {at(s, 50 * us, {"p1s2", "down"})});

	repaired(sim);
	EXPECT_GT(sim.sums().cut, 0U);
	EXPECT_GT(sim.counter(MRC_CTR_EV_BAD), 0U);

	/* Without the fault it takes less time, but not much less. */
	Simulator healthy(s, {}, t, {});

	finish(healthy);
	for (std::size_t n = 0; n < t.flows.size(); n++)
		EXPECT_LT(times_of(sim)[n], 2 * times_of(healthy)[n]);
}

/*
 * A dead T1 causes probes, and a probe takes a small part of the time that a
 * full packet takes on slow links. That must not make the window as small.
 */
TEST(Fault, slowLinksAreUsedFullyAfterAFault)
{
	const u64 ms = 1000 * us;
	Shape s = marking_clos(4, 2, 4, 1);
	Settings settings;
	Traffic t;

	for (LinkSpec &l : s.spec)
		l.rate = 5'000'000;
	s.spec[static_cast<std::size_t>(Kind::host_up)].rate = 20'000'000;
	s.spec[static_cast<std::size_t>(Kind::host_down)].rate = 20'000'000;
	fill_queues(s, {}, {});
	settings.evs = 16;
	settings.base_rtt = 20'000'000;
	settings.rto = 268'000'000;
	t.add(0, 1, 100'000'000, 0);
	for (const u64 seed : {1, 2, 3}) {
		settings.seed = seed;

		Simulator sim(s, settings, t,
			      {at(s, 1000 * ms, {"p*s1", "down"})});

		finish(sim, 2000 * ms);
		const u64 before = sim.totals().placed;

		finish(sim, 4000 * ms);
		/* 12 of 16 links. */
		EXPECT_GT(static_cast<double>(sim.totals().placed - before),
			  .9 * 12 * 5e6 / 8 * 2 * 4096 / 4222);
		EXPECT_EQ(sim.check(), "");
	}
}

TEST(Fault, portThatGoesDownIsLeftAndComesBack)
{
	const Shape s = marking_clos(2, 2, 4, 2);
	const Traffic t = shift(4, 0, 2, long_message);
	Simulator sim(s, {}, t,
		      {at(s, 50 * us, {"h1:p2+", "down"}),
		       at(s, 150 * us, {"h1:p2+", "up"})});
	u64 before = 0, during = 0;
	const u32 link = s.id(1, Kind::host_up, 0);

	while (sim.now() < 60 * us && sim.run(16))
		before = sim.links().link(link).bytes;
	while (sim.now() < 149 * us && sim.run(16))
		during = sim.links().link(link).bytes;
	EXPECT_GT(before, 100'000U);
	EXPECT_EQ(during, before);
	repaired(sim);
	EXPECT_GT(sim.links().link(link).bytes, during);
}

TEST(Fault, slowLinkGetsLess)
{
	const Shape s = marking_clos(1, 2, 4, 4);
	const Traffic t = shift(8, 0, 4, 2 * long_message);
	Simulator sim(s, {}, t, {at(s, 0, {"p1l1:s3", "rate", "25%"})});
	const u32 slow = s.id(0, Kind::t0_up, 2);

	repaired(sim);
	EXPECT_LT(sim.links().link(slow).bytes,
		  sim.links().link(slow - 1).bytes / 2);
}

TEST(Fault, wordsAreChecked)
{
	const Shape s = marking_clos(2, 2, 4, 2);
	const auto wrong = [&s](std::vector<std::string> words) {
		return message_of([&] { parse_fault(s, words, 0); });
	};

	EXPECT_EQ(at(s, 7, {"h1:p2+", "down"}).links.size(), 2U);
	EXPECT_EQ(at(s, 7, {"p1s2", "down"}).links.size(), 4U);
	EXPECT_EQ(at(s, 7, {"p*l1:s*", "down"}).links.size(), 8U);
	EXPECT_EQ(wrong({"h9:p1", "down"}),
		  "\"h9:p1\" is no link and no node of the fabric");
	EXPECT_EQ(wrong({"h1:p1", "explode"}),
		  "\"explode\" is no fault; down, up, drop, clear, loss "
		  "PERCENT and rate RATE are");
	EXPECT_NE(wrong({"h1:p1", "loss", "101%"}), "");
	EXPECT_NE(wrong({"h1:p1", "rate", "0%"}), "");
	EXPECT_NE(wrong({"h1:p1"}), "");
}
} // namespace
} // namespace mrcsim
