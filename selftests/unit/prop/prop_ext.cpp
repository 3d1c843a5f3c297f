// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The schedules of the extension, in shards.
#include <gtest/gtest.h>

#include "prop_ext_control.hpp"
#include "prop_options.hpp"

namespace prop
{

std::string run_ext(const std::string &kind, u64 seed, bool trace)
{
	const bool error = kind == "exterror";

	if (kind == "extattack")
		return run_ext_attack(seed, trace);

	ExtSim sim(error ? ext_error_plan(seed) : ext_plan(seed), trace);

	sim.run();
	if (error)
		sim.check_error();
	else
		sim.check_final();
	return sim.what();
}

} // namespace prop

namespace
{

constexpr u64 kShards = 10;

class ExtShard : public testing::TestWithParam<u64>
{
protected:
	void run(const char *kind, u64 total)
	{
		u64 failures = 0;

		for (u64 i = GetParam(); i < total; i += kShards) {
			u64 seed = prop::options.first + i;
			std::string bad = prop::run_schedule(kind, seed, false);

			if (bad.empty())
				continue;
			ADD_FAILURE()
				<< kind << " schedule " << seed << ": " << bad;
			if (++failures == 5)
				break;
		}
	}
};

TEST_P(ExtShard, AllOperationsOnceInOrder)
{
	run("ext", prop::options.schedules);
}

TEST_P(ExtShard, FirstRefusedOperationFailsAlone)
{
	run("exterror", prop::options.schedules / 2);
}

// What the schedules are for does happen in them.
TEST(Ext, SchedulesReachEverything)
{
	struct {
		const char *name;
		int ans;
		mrc_counter id;
		u64 n;
	} all[] = {
		{"requests", 0, MRC_CTR_TX_REQUEST, 0},
		{"waits for answers", 0, MRC_CTR_STALL_RD, 0},
		{"waits for fences", 0, MRC_CTR_STALL_FENCE, 0},
		{"missing receives", 0, MRC_CTR_NACK_RNR, 0},
		{"SENDs", 0, MRC_CTR_RX_SEND, 0},
		{"duplicates", 0, MRC_CTR_RX_DUP, 0},
		{"packets out of order", 0, MRC_CTR_RX_OOO, 0},
		{"trims", 0, MRC_CTR_RX_TRIMMED, 0},
		{"answers sent again", 1, MRC_CTR_TX_RTX, 0},
		{"duplicate answers", 1, MRC_CTR_RX_DUP, 0},
		{"answers out of order", 1, MRC_CTR_RX_OOO, 0},
		{"trimmed answers", 1, MRC_CTR_RX_TRIMMED, 0},
		{"refused answers", 1, MRC_CTR_RX_REFUSED, 0},
		{"probes for answers", 1, MRC_CTR_RX_PROBE, 0},
	};

	for (u64 seed = 1; seed <= 300; seed++) {
		prop::ExtSim sim(prop::ext_plan(seed), false);

		sim.run();
		ASSERT_FALSE(sim.failed()) << seed << ": " << sim.what();
		for (auto &c : all)
			c.n += sim.count(c.ans, c.id);
	}
	for (const auto &c : all)
		EXPECT_GT(c.n, 20u) << c.name;
}

class ExtNegative : public testing::TestWithParam<prop::ExtControl>
{
};

TEST_P(ExtNegative, IsNoticed)
{
	prop::expect_noticed(GetParam(), 300, prop::ext_plan,
			     [](prop::ExtSim &sim) {
				     sim.run();
				     sim.check_final();
			     });
}

using prop::ExtControl;
using prop::ExtSabotage;

INSTANTIATE_TEST_SUITE_P(
	Controls, ExtNegative,
	testing::Values(
		ExtControl{ExtSabotage::ExecuteTwice, "ExecuteTwice",
			   "counter"},
		ExtControl{ExtSabotage::EarlyAnswered, "EarlyAnswered",
			   "not answered"},
		ExtControl{ExtSabotage::LoseAnswer, "LoseAnswer", ""},
		ExtControl{ExtSabotage::CorruptAnswer, "CorruptAnswer", ""},
		ExtControl{ExtSabotage::NoReceiveCheck, "NoReceiveCheck",
			   "receive"},
		ExtControl{ExtSabotage::SkipLocal, "SkipLocal", "local"},
		ExtControl{ExtSabotage::LoseCompletion, "LoseCompletion", ""},
		ExtControl{ExtSabotage::EarlyComplete, "EarlyComplete",
			   "answer"},
		ExtControl{ExtSabotage::SwapReceives, "SwapReceives",
			   "receive completion"}),
	prop::control_name);

INSTANTIATE_TEST_SUITE_P(Random, ExtShard, testing::Range<u64>(0, kShards));

} // namespace
