// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// 24-bit PSN arithmetic, MRC 1.0 §5.
#include <gtest/gtest.h>

#include "engine.hpp"

namespace
{

constexpr std::uint32_t kSpace = 1u << 24;

TEST(Psn, TableOfSection5)
{
	EXPECT_EQ(mrc_psn_diff(0x000001, 0xFFFFFE), 3);
	EXPECT_EQ(mrc_psn_diff(0xFFFFFE, 0x000001), -3);
	EXPECT_EQ(mrc_psn_diff(0x800000, 0x000000), -8388608);
}

TEST(Psn, DiffRangeEnds)
{
	EXPECT_EQ(mrc_psn_diff(5, 5), 0);
	EXPECT_EQ(mrc_psn_diff(0x7FFFFF, 0), 8388607);
	EXPECT_EQ(mrc_psn_diff(0x800001, 0), -8388607);
	// Half the space away is "before", from either side.
	EXPECT_EQ(mrc_psn_diff(0, 0x800000), -8388608);
	EXPECT_EQ(mrc_psn_diff(0, 0xFFFFFF), 1);
	EXPECT_EQ(mrc_psn_diff(0xFFFFFF, 0), -1);
}

TEST(Psn, AddWraps)
{
	EXPECT_EQ(mrc_psn_add(0xFFFFFF, 1), 0u);
	EXPECT_EQ(mrc_psn_add(0, -1), 0xFFFFFFu);
	EXPECT_EQ(mrc_psn_add(0xFFFFFE, 5), 3u);
	EXPECT_EQ(mrc_psn_add(3, -5), 0xFFFFFEu);
	EXPECT_EQ(mrc_psn_add(0x123456, 0), 0x123456u);
	EXPECT_EQ(mrc_psn_add(1, 8388607), 0x800000u);
}

// add() and diff() undo each other all over the space, wraps included.
TEST(Psn, DiffUndoesAdd)
{
	const std::int32_t steps[] = {-8388608, -8388607, -32640, -1024,
				      -1,	0,	  1,	  127,
				      1024,	32640,	  8388607};

	for (std::uint32_t base = 0; base < kSpace; base += 4099) {
		for (std::int32_t d : steps) {
			std::uint32_t p = mrc_psn_add(base, d);

			ASSERT_LT(p, kSpace);
			ASSERT_EQ(mrc_psn_diff(p, base), d) << "base " << base;
		}
	}
}

TEST(Psn, DiffIsAntisymmetricInsideTheWindow)
{
	for (std::uint32_t a = 0xFFFF00; a != 0x000100; a = mrc_psn_add(a, 1))
		for (std::int32_t d = 0; d <= 300; d += 7)
			ASSERT_EQ(mrc_psn_diff(a, mrc_psn_add(a, d)), -d);
}

// Only the low 24 bits count; a caller may pass an unmasked sum.
TEST(Psn, HighBitsAreIgnored)
{
	EXPECT_EQ(mrc_psn_diff(0x01000002, 0), 2);
	EXPECT_EQ(mrc_psn_diff(0, 0xFF000001), -1);
}

} // namespace
