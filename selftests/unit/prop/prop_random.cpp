// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The bulk: random schedules, in shards so that they can run side by side.
#include <gtest/gtest.h>

#include "prop_options.hpp"

namespace
{

constexpr u64 kShards = 10;

class Shard : public testing::TestWithParam<u64>
{
protected:
	// Every kShards-th of @total schedules of @kind.
	void run(const char *kind, u64 total)
	{
		u64 failures = 0, n = 0;

		for (u64 i = GetParam(); i < total; i += kShards, n++) {
			u64 seed = prop::options.first + i;
			std::string bad = prop::run_schedule(kind, seed, false);

			if (bad.empty())
				continue;
			ADD_FAILURE()
				<< kind << " schedule " << seed << ": " << bad;
			if (++failures == 5)
				break;
		}
		RecordProperty("schedules", std::to_string(n));
	}
};

TEST_P(Shard, ExactlyOnceInOrder)
{
	run("random", prop::options.schedules);
}

TEST_P(Shard, FirstRefusedMessageFailsAlone)
{
	run("error", prop::options.schedules / 10);
}

TEST_P(Shard, ForgedFeedbackKeepsInvariants)
{
	run("attack", prop::options.schedules / 10);
}

INSTANTIATE_TEST_SUITE_P(Random, Shard, testing::Range<u64>(0, kShards));

} // namespace
