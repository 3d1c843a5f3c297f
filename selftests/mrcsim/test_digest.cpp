// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The same seed gives the same run, in every build. */
#include <thread>

#include <gtest/gtest.h>

#include "fabrics.hpp"

namespace mrcsim
{
namespace
{
u64 digest_of(Column column, u64 seed, u64 slice)
{
	const Shape s = marking_clos(2, 4, 4, 4);
	const Traffic t = permutation(s.all_hosts(), 0, 500'000, seed);
	Settings settings;

	settings.column = column;
	settings.seed = seed;

	Simulator sim(s, settings, t, {});

	while (sim.run(slice))
		;
	EXPECT_EQ(sim.check(), "");
	return sim.digest();
}

TEST(Digest, isThatOfTheSeed)
{
	for (const Column c : {Column::mrc, Column::ecmp, Column::oblivious,
			       Column::roce}) {
		EXPECT_EQ(digest_of(c, 1, 1), digest_of(c, 1, 100'000));
		EXPECT_NE(digest_of(c, 1, 1000), digest_of(c, 2, 1000));
	}
	EXPECT_NE(digest_of(Column::mrc, 1, 1000),
		  digest_of(Column::oblivious, 1, 1000));
}

/* Simulations share nothing. */
TEST(Digest, isTheSameSideBySide)
{
	const u64 alone = digest_of(Column::mrc, 3, 1000);
	u64 a = 0, b = 0;
	std::thread other([&a] { a = digest_of(Column::mrc, 3, 1000); });

	b = digest_of(Column::mrc, 3, 1000);
	other.join();
	EXPECT_EQ(a, alone);
	EXPECT_EQ(b, alone);
}
} // namespace
} // namespace mrcsim
