// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Ring bitmaps against a plain vector<bool>.
#include "engine.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace
{

struct Ring {
	u32 mask;
	std::vector<unsigned long> map;
	std::vector<bool> ref;

	explicit Ring(u32 bits)
		: mask(bits - 1), map(mrc_map_words(bits)), ref(bits)
	{
	}

	void set(u32 s)
	{
		mrc_bit_set(map.data(), mask, s);
		ref[s & mask] = true;
	}

	u32 find(u32 s, u32 n, bool v) const
	{
		for (u32 i = 0; i < n; i++)
			if (ref[(s + i) & mask] == v)
				return i;
		return n;
	}

	u32 weight(u32 s, u32 n) const
	{
		u32 w = 0;
		for (u32 i = 0; i < n; i++)
			w += ref[(s + i) & mask];
		return w;
	}
};

} // namespace

TEST(Bitmap, WordsAreRoundedUp)
{
	EXPECT_EQ(mrc_map_words(128), 128 / MRC_WORD_BITS);
	EXPECT_EQ(mrc_map_words(1), 1u);
	EXPECT_EQ(mrc_map_words(129), 128 / MRC_WORD_BITS + 1);
}

TEST(Bitmap, SetClearTestAcrossTheWrapOfThePsnSpace)
{
	Ring r(128);
	for (u32 psn : {0xFFFFFFu, 0u, 63u, 64u, 127u}) {
		EXPECT_EQ(mrc_bit_test(r.map.data(), r.mask, psn),
			  (bool)r.ref[psn & r.mask]);
		r.set(psn);
		EXPECT_TRUE(mrc_bit_test(r.map.data(), r.mask, psn));
		// Another number of the same residue is the same bit.
		EXPECT_TRUE(mrc_bit_test(r.map.data(), r.mask, psn + 128));
	}
	mrc_bit_clear(r.map.data(), r.mask, 0xFFFFFF);
	EXPECT_FALSE(mrc_bit_test(r.map.data(), r.mask, 127));
	EXPECT_TRUE(mrc_bit_test(r.map.data(), r.mask, 0));
}

TEST(Bitmap, SearchesAgreeWithTheReference)
{
	std::mt19937 rng(1);
	for (u32 bits : {128u, 256u, 1024u}) {
		for (int density : {0, 1, 8, 15, 16}) {
			Ring r(bits), b(bits), c(bits);
			for (u32 i = 0; i < bits; i++) {
				if ((int)(rng() % 16) < density)
					r.set(i);
				if (rng() % 4 == 0)
					b.set(i);
				if (rng() % 4 == 0)
					c.set(i);
			}
			for (int k = 0; k < 500; k++) {
				u32 s = rng() & 0xFFFFFF;
				u32 n = rng() % (bits + 1);
				ASSERT_EQ(mrc_ring_next_set(r.map.data(),
							    r.mask, s, n),
					  r.find(s, n, true));
				ASSERT_EQ(mrc_ring_next_clear(r.map.data(),
							      r.mask, s, n),
					  r.find(s, n, false));
				ASSERT_EQ(mrc_ring_weight(r.map.data(), r.mask,
							  s, n),
					  r.weight(s, n));
				u32 want = n;
				for (u32 i = 0; i < n; i++) {
					u32 p = (s + i) & r.mask;
					if (!r.ref[p] && !b.ref[p] &&
					    !c.ref[p]) {
						want = i;
						break;
					}
				}
				ASSERT_EQ(mrc_ring_next_clear3(
						  r.map.data(), b.map.data(),
						  c.map.data(), r.mask, s, n),
					  want);
			}
		}
	}
}

TEST(Bitmap, ClearTouchesExactlyTheRange)
{
	std::mt19937 rng(2);
	for (int k = 0; k < 2000; k++) {
		Ring r(256);
		for (u32 i = 0; i < 256; i++)
			r.set(i);
		u32 s = rng() & 0xFFFFFF;
		u32 n = rng() % 257;
		mrc_ring_clear(r.map.data(), r.mask, s, n);
		for (u32 i = 0; i < 256; i++)
			ASSERT_EQ(mrc_bit_test(r.map.data(), r.mask, s + i),
				  i >= n)
				<< s << " " << n << " " << i;
	}
}

TEST(Bitmap, Get64)
{
	std::mt19937_64 rng(3);
	Ring r(256);
	for (u32 i = 0; i < 256; i++)
		if (rng() & 1)
			r.set(i);
	for (u32 s = 0; s < 600; s++) {
		for (u32 n = 1; n <= 64; n++) {
			u64 want = 0;
			for (u32 i = 0; i < n; i++)
				want |= (u64)r.ref[(s + i) & r.mask] << i;
			ASSERT_EQ(mrc_ring_get64(r.map.data(), r.mask, s, n),
				  want);
		}
	}
}

TEST(Bitmap, RoundUpToPowerOfTwo)
{
	EXPECT_EQ(mrc_roundup_pow2(1), 1u);
	EXPECT_EQ(mrc_roundup_pow2(128), 128u);
	EXPECT_EQ(mrc_roundup_pow2(129), 256u);
	EXPECT_EQ(mrc_roundup_pow2(32640), 32768u);
}
