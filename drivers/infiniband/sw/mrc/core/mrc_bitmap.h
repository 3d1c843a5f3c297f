/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Bitmaps over a ring of sequence numbers. A map has mask + 1 bits, a power of
 * two and a multiple of 64; the bit of sequence number s is s & mask. Searches
 * work on whole words and return distances, so the caller need not care about
 * wrapping: 24-bit PSNs may be passed without reducing them.
 */
#ifndef MRC_BITMAP_H
#define MRC_BITMAP_H

#include "mrc_base.h"

#define MRC_WORD_BITS	((u32)(8 * sizeof(unsigned long)))

/* Words of a map of @bits bits. */
static inline size_t mrc_map_words(u32 bits)
{
	return ((size_t)bits + MRC_WORD_BITS - 1) / MRC_WORD_BITS;
}

/* Index of the lowest set bit; @w is not 0. */
static inline u32 mrc_word_ffs(unsigned long w)
{
#ifdef __KERNEL__
	return (u32)__ffs(w);
#else
	return (u32)__builtin_ctzl(w);
#endif
}

static inline u32 mrc_word_weight(unsigned long w)
{
#ifdef __KERNEL__
	return (u32)hweight_long(w);
#else
	return (u32)__builtin_popcountl(w);
#endif
}

static inline bool mrc_bit_test(const unsigned long *map, u32 mask, u32 s)
{
	s &= mask;
	return map[s / MRC_WORD_BITS] >> (s % MRC_WORD_BITS) & 1;
}

static inline void mrc_bit_set(unsigned long *map, u32 mask, u32 s)
{
	s &= mask;
	map[s / MRC_WORD_BITS] |= 1ul << (s % MRC_WORD_BITS);
}

static inline void mrc_bit_clear(unsigned long *map, u32 mask, u32 s)
{
	s &= mask;
	map[s / MRC_WORD_BITS] &= ~(1ul << (s % MRC_WORD_BITS));
}

/**
 * mrc_ring_next_set - first set bit at or after @s
 * @map: bitmap of @mask + 1 bits
 * @mask: see @map
 * @s: where to start
 * @n: how many bits to look at, at most @mask + 1
 *
 * Return: its distance from @s, @n when there is none.
 */
static inline u32 mrc_ring_next_set(const unsigned long *map, u32 mask, u32 s,
				    u32 n)
{
	u32 done = 0;

	while (done < n) {
		u32 i = (s + done) & mask;
		unsigned long w = map[i / MRC_WORD_BITS] >> (i % MRC_WORD_BITS);

		if (w) {
			done += mrc_word_ffs(w);
			return done < n ? done : n;
		}
		done += MRC_WORD_BITS - i % MRC_WORD_BITS;
	}
	return n;
}

/* As mrc_ring_next_set() for the first clear bit. */
static inline u32 mrc_ring_next_clear(const unsigned long *map, u32 mask, u32 s,
				      u32 n)
{
	u32 done = 0;

	while (done < n) {
		u32 i = (s + done) & mask;
		unsigned long w = ~map[i / MRC_WORD_BITS] >>
				  (i % MRC_WORD_BITS);

		if (w) {
			done += mrc_word_ffs(w);
			return done < n ? done : n;
		}
		done += MRC_WORD_BITS - i % MRC_WORD_BITS;
	}
	return n;
}

/* As mrc_ring_next_set() for the first bit that is clear in all three maps. */
static inline u32 mrc_ring_next_clear3(const unsigned long *a,
				       const unsigned long *b,
				       const unsigned long *c, u32 mask, u32 s,
				       u32 n)
{
	u32 done = 0;

	while (done < n) {
		u32 i = (s + done) & mask;
		u32 k = i / MRC_WORD_BITS;
		unsigned long w = ~(a[k] | b[k] | c[k]) >> (i % MRC_WORD_BITS);

		if (w) {
			done += mrc_word_ffs(w);
			return done < n ? done : n;
		}
		done += MRC_WORD_BITS - i % MRC_WORD_BITS;
	}
	return n;
}

/* Bits of the word holding @i that lie in [@i, @i + @n). */
static inline unsigned long mrc_ring_word_mask(u32 i, u32 n)
{
	u32 sh = i % MRC_WORD_BITS;
	unsigned long m = ~0ul << sh;

	if (n < MRC_WORD_BITS - sh)
		m &= (1ul << (sh + n)) - 1;
	return m;
}

/* Clear @n bits from @s on; @n <= @mask + 1. */
static inline void mrc_ring_clear(unsigned long *map, u32 mask, u32 s, u32 n)
{
	while (n) {
		u32 i = s & mask;
		u32 step = MRC_WORD_BITS - i % MRC_WORD_BITS;

		map[i / MRC_WORD_BITS] &= ~mrc_ring_word_mask(i, n);
		if (step >= n)
			return;
		s += step;
		n -= step;
	}
}

/* Number of bits set among the @n from @s on; @n <= @mask + 1. */
static inline u32 mrc_ring_weight(const unsigned long *map, u32 mask, u32 s,
				  u32 n)
{
	u32 sum = 0;

	while (n) {
		u32 i = s & mask;
		u32 step = MRC_WORD_BITS - i % MRC_WORD_BITS;

		sum += mrc_word_weight(map[i / MRC_WORD_BITS] &
				       mrc_ring_word_mask(i, n));
		if (step >= n)
			break;
		s += step;
		n -= step;
	}
	return sum;
}

/* The @n (1..64) bits from @s on, bit 0 = @s, higher bits zero. */
static inline u64 mrc_ring_get64(const unsigned long *map, u32 mask, u32 s,
				 u32 n)
{
	u64 v = 0;
	u32 done = 0;

	while (done < n) {
		u32 i = (s + done) & mask;

		v |= (u64)(map[i / MRC_WORD_BITS] >> (i % MRC_WORD_BITS))
		     << done;
		done += MRC_WORD_BITS - i % MRC_WORD_BITS;
	}
	if (n < 64)
		v &= (1ull << n) - 1;
	return v;
}

/* Smallest power of two >= @v; @v <= 2^31. */
static inline u32 mrc_roundup_pow2(u32 v)
{
	u32 p = 1;

	while (p < v)
		p <<= 1;
	return p;
}

#endif /* MRC_BITMAP_H */
