// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Patterns of traffic. */
#include <set>

#include <gtest/gtest.h>

#include "fabrics.hpp"
#include "traffic.hpp"

namespace mrcsim
{
namespace
{
TEST(Traffic, permutationHasEveryHostOnce)
{
	for (u64 seed = 1; seed <= 50; seed++) {
		const Traffic t = permutation(17, 0, 1000, seed);
		std::set<u32> src, dst;

		for (const Flow &f : t.flows) {
			EXPECT_NE(f.src, f.dst);
			src.insert(f.src);
			dst.insert(f.dst);
		}
		EXPECT_EQ(src.size(), 17U);
		EXPECT_EQ(dst.size(), 17U);
	}
}

TEST(Traffic, allToAllIsChained)
{
	const Traffic t = all_to_all(5, 0, 1000, 2);
	u32 begin = 0;
	std::set<std::pair<u32, u32>> pairs;

	for (const Flow &f : t.flows) {
		begin += f.start == 0;
		pairs.insert({f.src, f.dst});
	}
	EXPECT_EQ(pairs.size(), 20U);
	EXPECT_EQ(begin, 10U);
	EXPECT_EQ(t.triggers.size(), 10U);
	/* Round 3 of a host follows its round 1. */
	const u32 first = t.triggers[t.flows[0].sent_trigger].flows.at(0);

	EXPECT_EQ(t.flows[first].src, t.flows[0].src);
	EXPECT_EQ((t.flows[first].dst + 5 - t.flows[first].src) % 5, 3U);
}

TEST(Traffic, refusesWhatDoesNotFit)
{
	EXPECT_NE(message_of([] { permutation(4, 5, 1000, 1); }), "");
	EXPECT_NE(message_of([] { permutation(4, 0, 0, 1); }), "");
	EXPECT_NE(message_of([] { shift(4, 0, 4, 1000); }), "");
	EXPECT_NE(message_of([] { incast(4, 4, 1000); }), "");
	EXPECT_NE(message_of([] { all_to_all(4, 0, 1000, 0); }), "");
	EXPECT_NE(message_of([] { all_to_all(1 << 17, 0, 1000, 1); }), "");
	EXPECT_NE(message_of([] { ring_allreduce(4, 0, u64{1} << 40); }), "");
}
} // namespace
} // namespace mrcsim
