// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Whole runs whose results are known. */
#include <algorithm>

#include <gtest/gtest.h>

#include "../../userspace-tools/common/fairness.hpp"
#include "fabrics.hpp"

namespace mrcsim
{
namespace
{
constexpr u32 message = 400'000; /* 98 packets, the last one with 2688 bytes */

/* A control packet of MRC on the wire. */
u64 control_size(u8 opcode)
{
	mrc_hdr h{};

	h.opcode = opcode;
	return mrc_nominal_size(mrc_hdr_len(&h), 0) + 38;
}

/*
 * One flow alone: its packets leave one after the other at the line rate, 80 ps
 * for a byte. The last one crosses all links, and its ACK does, with or without
 * a SACK before it. The last packet is shorter than the one before it and waits
 * for it at no link but the first.
 */
TEST(Run, oneFlowTakesTheTimeOfTheClosedForm)
{
	for (const bool local : {false, true}) {
		const Shape s = plain_clos(1, 2, 2, 2);
		Settings settings;
		Traffic t;

		settings.reverse_probes = false;
		t.add(0, local ? 1 : 2, message, 0);

		Simulator sim(s, settings, t, {});

		finish(sim);

		const u64 hops = local ? 2 : 4;
		const u64 full = sim.derived().packet;
		const u64 last = full - 4096 + message % 4096;
		const u64 received =
			(97 * full + (hops - 1) * full + last) * 80 + hops * us;
		/* If a SACK is due they leave at once, the SACK first. */
		const u64 sack = control_size(MRC_OP_SACK);
		const u64 ack = control_size(MRC_OP_ACK);

		EXPECT_EQ(full, 4222U);
		EXPECT_EQ(sim.flows()[0].received, received);
		const u64 acked = times_of(sim)[0] - received - hops * us;

		EXPECT_TRUE(acked == hops * ack * 80 ||
			    acked == (hops * sack + ack) * 80)
			<< acked;
		EXPECT_EQ(sim.check(), "");
	}
}

/* Every flow has a T1 of its own, and hosts send or receive: nobody waits. */
TEST(Run, permutationWithoutConflictsIsAsFastAsOneFlow)
{
	const u32 hosts = 4;
	const Shape s = plain_clos(1, 4, 4, hosts);
	Settings settings;
	Traffic all, one;

	settings.column = Column::ecmp;
	settings.aligned = true;
	settings.reverse_probes = false;
	for (u32 h = 0; h < 2 * hosts; h++)
		all.add(h, h + 2 * hosts, message, 0);
	one.add(0, 2 * hosts, message, 0);

	Simulator many(s, settings, all, {});
	Simulator single(s, settings, one, {});

	finish(many);
	finish(single);
	for (const u64 t : times_of(many))
		EXPECT_EQ(t, times_of(single)[0]);
	EXPECT_EQ(many.check(), "");
}

/* Queue pairs that all want the same port do not keep each other from the rest. */
TEST(Run, severalQueuePairsOfAHostUseAllOfItsPorts)
{
	constexpr u32 planes = 4, qps = 4;
	constexpr u32 bytes = 4'000'000;
	constexpr u64 least = u64{bytes} * qps / planes * 80;
	const Shape s = plain_clos(planes, 2, 4, 1);

	for (u64 seed = 1; seed <= 12; seed++) {
		Settings settings;
		Traffic t;

		settings.seed = seed;
		for (u32 n = 0; n < qps; n++)
			t.add(0, 1, bytes, 0);

		Simulator sim(s, settings, t, {});

		finish(sim);
		for (const u64 time : times_of(sim))
			EXPECT_LT(time, least * 3 / 2) << "seed " << seed;
		EXPECT_EQ(sim.check(), "");
	}
}

TEST(Run, allToAllLosesNothing)
{
	const Shape s = marking_clos(2, 2, 2, 3);
	const Traffic t = all_to_all(s.all_hosts(), 0, 100'000, 2);
	Simulator sim(s, {}, t, {});

	finish(sim);
	EXPECT_EQ(sim.check(), "");
	EXPECT_EQ(sim.totals().finished, t.flows.size());
	EXPECT_EQ(sim.totals().failed, 0U);
	EXPECT_EQ(sim.totals().placed, t.flows.size() * 100'000);
}

/* At any event: what was sent is somewhere. */
TEST(Run, isConsistentAtAllTimes)
{
	const Shape s = marking_clos(2, 2, 2, 4);
	const Traffic t = incast(s.all_hosts(), 7, 200'000);
	Simulator sim(s, {}, t, {});

	for (int n = 0; sim.run(97); n++)
		ASSERT_EQ(sim.check(), "") << n;
	EXPECT_EQ(sim.check(), "");
	EXPECT_EQ(sim.totals().finished, 7U);
}

TEST(Run, ringAllReduceStepsFollowEachOther)
{
	const Shape s = plain_clos(1, 2, 2, 2);
	const Traffic t = ring_allreduce(4, 0, 400'000);
	Simulator sim(s, {}, t, {});

	finish(sim);
	ASSERT_EQ(sim.totals().finished, 4U * 6);
	/* Step k of host h begins when step k - 1 of host h - 1 was received.
	 */
	for (u32 step = 1; step < 6; step++)
		for (u32 h = 0; h < 4; h++)
			EXPECT_EQ(sim.flows()[step * 4 + h].began,
				  sim.flows()[(step - 1) * 4 + (h + 3) % 4]
					  .received);
	EXPECT_EQ(sim.check(), "");
}

/* The receiver's link is shared, and nearly full. */
TEST(Run, incastFillsTheLastLink)
{
	const Shape s = marking_clos(1, 4, 4, 4);
	const Traffic t = incast(s.all_hosts(), 8, 1'000'000);
	Simulator sim(s, {}, t, {});
	u64 last = 0;

	finish(sim);
	for (const FlowState &f : sim.flows())
		last = std::max(last, f.received);
	/* 245 packets of each of 8 flows, 4222 bytes at 80 ps. */
	const double least = 8.0 * 245 * 4222 * 80;

	EXPECT_GE(static_cast<double>(last), least);
	EXPECT_LE(static_cast<double>(last), least * 1.05);
	EXPECT_EQ(sim.check(), "");
}

/*
 * More senders than the last queue has room for packets: they pause instead of sending
 * what is trimmed again and again.
 */
TEST(Run, deepIncastTrimsFew)
{
	const Shape s = marking_clos(1, 16, 8, 16);
	const Traffic t = incast(s.all_hosts(), 255, 100'000);
	Simulator sim(s, {}, t, {});
	const u64 packets = 255 * 25;

	finish(sim);
	EXPECT_EQ(sim.totals().finished, 255U);
	EXPECT_GT(sim.sums().trimmed, packets / 4);
	EXPECT_LT(sim.sums().trimmed, 5 * packets);
	EXPECT_LT(sim.now(), packets * 4222 * 80 * 140 / 100);
	/* A timer for each pause, and no more. */
	EXPECT_LT(sim.totals().events, 40 * sim.totals().injected);
	EXPECT_EQ(sim.check(), "");
}

TEST(Run, sprayingUsesAllPlanesAndPathsEvenly)
{
	const Shape s = marking_clos(4, 4, 4, 4);
	const Traffic t = shift(s.all_hosts(), 0, 4, 2'000'000);
	Simulator sim(s, {}, t, {});
	std::vector<double> bytes;

	finish(sim);
	for (u32 plane = 0; plane < 4; plane++)
		for (u64 n = 0; n < s.count(Kind::t0_up); n++)
			bytes.push_back(static_cast<double>(
				sim.links()
					.link(s.id(plane, Kind::t0_up, n))
					.bytes));
	EXPECT_GT(fairness::jain(bytes), 0.98);
}

TEST(Run, threeTiersDeliver)
{
	Shape s = plain_clos(1, 2, 2, 2);

	s.tiers = 3;
	s.pods = 3;
	s.t1_uplinks = 2;

	const Traffic t = permutation(s.all_hosts(), 0, 300'000, 5);
	Simulator sim(s, {}, t, {});

	finish(sim);
	EXPECT_EQ(sim.totals().finished, 12U);
	EXPECT_EQ(sim.check(), "");
}

TEST(Run, refusesWhatDoesNotFitTogether)
{
	const Shape s = plain_clos(1, 2, 2, 2);
	Traffic t;

	t.add(0, 9, 1000, 0);
	EXPECT_EQ(message_of([&] { const Simulator sim(s, {}, t, {}); }),
		  "a flow from host 1 to host 10: the fabric has 4 hosts");
}
} // namespace
} // namespace mrcsim
