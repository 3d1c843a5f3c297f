// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What is no fault is not reported as one. */
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "health.hpp"
#include "output.hpp"
#include "sim.hpp"

namespace mrcmap
{
namespace
{
/* Everything that was raised in @time. */
std::string raised(const mrclab::Topology &t, const Noise &noise, uint64_t time,
		   const std::vector<uint32_t> &stopped, uint64_t seed)
{
	const Config config;
	const Plan plan(t, config);
	Evidence evidence(plan, config);
	Locator locator(t, plan, config);
	Health health(config);
	Sim sim(t, plan, config, seed);
	std::string out;

	sim.noise = noise;
	for (const uint32_t h : stopped)
		sim.stop(h);
	for (const uint64_t end = sim.now() + time; sim.now() < end;) {
		/* As often as the collector does. */
		sim.run(evidence, 300 * ms, 100 * ms);
		evidence.advance(sim.now());
		for (const Change &c :
		     health.update(locator.locate(evidence, sim.carriers()),
				   static_cast<int64_t>(sim.now() / ms)))
			out += change_line(t, c) + "\n";
	}
	return out;
}

/*
 * Full load, for ten minutes where time allows: queues of up to 20 ms on every link, random losses,
 * and moments in which a direction drops everything, on average of less than
 * 0.1 % of the time.
 */
TEST(Quiet, Congestion)
{
	Noise n;

	n.jitter = 300'000;
	n.queue = 20 * ms;
	n.background = 2e-5;
	n.burst = 80 * ms;
	n.burst_share = 0.0008;
	EXPECT_EQ(raised(mrclab::Topology(fabric_of(2, 3, 3, 2)), n,
			 (takes_long() ? 600 : 150) * second, {}, 1),
		  "");
}

/* Hosts without an agent, or that are off. */
TEST(Quiet, AgentsThatAreNotThere)
{
	EXPECT_EQ(raised(mrclab::Topology(fabric_of(2, 3, 3, 2)), {},
			 20 * second, {2, 3, 4}, 2),
		  "");
	EXPECT_EQ(raised(mrclab::Topology(fabric_of(2, 2, 2, 1)), {},
			 20 * second, {1, 2}, 3),
		  "");
}

/* Uniform loss below what is a fault, everywhere at once. */
TEST(Quiet, Background)
{
	Noise n;

	n.background = 0.0003;
	EXPECT_EQ(raised(mrclab::Topology(fabric_of(2, 2, 3, 2)), n,
			 (takes_long() ? 240 : 120) * second, {}, 4),
		  "");
}
} // namespace
} // namespace mrcmap
