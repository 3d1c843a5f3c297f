// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * EV formats and fields: rules, expansion, generation (MRC 1.0 §11.1-§11.3).
 */
#include "mrc_evfmt.h"

#define FIELD_BITS	32u
#define ADDR_BITS	128u
#define EV_BITS		(8u * MRC_EV_BYTES)
#define FEISTEL_ROUNDS	4

u32 mrc_ev_fmt_limit(u8 mode)
{
	switch (mode) {
	case MRC_EV_FMT_STEV:
		return 32;
	case MRC_EV_FMT_SRV6:
		return EV_BITS;
	case MRC_EV_FMT_UDP:
		return 16;
	default:
		return 0;
	}
}

bool mrc_ev_fmt_srh(const struct mrc_ev_fmt *fmt)
{
	u32 sum = 0;
	u32 i;

	for (i = 0; i < fmt->n; i++)
		sum += fmt->width[i];
	return fmt->mode == MRC_EV_FMT_SRV6 && sum > ADDR_BITS;
}

int mrc_ev_fmt_check(const struct mrc_ev_fmt *fmt)
{
	u32 limit = mrc_ev_fmt_limit(fmt->mode);
	bool at_segment = false;
	u32 sum = 0;
	u32 i;

	if (!limit || !fmt->n)
		return -EINVAL;
	if (fmt->n > MRC_EV_MAX_FIELDS)
		return -E2BIG;
	for (i = 0; i < fmt->n; i++) {
		if (!fmt->width[i])
			return -EINVAL;
		/* Fields of profiles are u32 and cannot fill a wider field. */
		if (fmt->width[i] > FIELD_BITS)
			return -E2BIG;
		if (sum == ADDR_BITS)
			at_segment = true;
		sum += fmt->width[i];
	}
	if (sum > limit)
		return -E2BIG;
	return sum > ADDR_BITS && !at_segment ? -EINVAL : 0;
}

static u32 popcount(u32 v)
{
	u32 n = 0;

	for (; v; v &= v - 1)
		n++;
	return n;
}

static u32 low_bits(u32 n)
{
	return n >= FIELD_BITS ? ~0u : (1u << n) - 1;
}

static bool field_ok(const struct mrc_ev_field *f, u32 room)
{
	/* No field is wider than that of the format, so neither is the sum. */
	if (!f->width || f->width > FIELD_BITS || f->width > room)
		return false;
	if ((f->init_val | f->mask) & ~low_bits(f->width))
		return false;
	if (f->min_val > f->max_val)
		return false;
	return !f->mask || !(f->max_val & ~low_bits(popcount(f->mask)));
}

int mrc_ev_fields_check(const struct mrc_ev_fmt *fmt,
			const struct mrc_ev_field *field, u32 n)
{
	u32 i;

	if (n > MRC_EV_MAX_FIELDS)
		return -E2BIG;
	if (!n || n > fmt->n)
		return -EINVAL;
	for (i = 0; i < n; i++)
		if (!field_ok(&field[i], fmt->width[i]))
			return -EINVAL;
	return 0;
}

u32 mrc_ev_fields_identity(const struct mrc_ev_fmt *fmt,
			   struct mrc_ev_field *field)
{
	u32 i;

	for (i = 0; i < fmt->n; i++)
		field[i] = (struct mrc_ev_field){
			.width = fmt->width[i],
			.mask = low_bits(fmt->width[i]),
			.max_val = low_bits(fmt->width[i]),
		};
	return fmt->n;
}

static u32 take_bit(const u8 *bits, u32 pos)
{
	return bits[pos / 8] >> (7 - pos % 8) & 1;
}

/* Store the low @n bits of @v, most significant first; the bits at @pos must be zero. */
static void put_bits(u8 *bits, u32 pos, u32 n, u32 v)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (v >> (n - 1 - i) & 1)
			bits[(pos + i) / 8] |= (u8)(0x80 >> (pos + i) % 8);
}

/* The value of @field: the next bits of the EV in @mask, @init_val elsewhere. */
static u32 overlay(const struct mrc_ev_field *field, const u8 *packed, u32 *src)
{
	u32 v = field->init_val & ~field->mask;
	u32 bit;

	for (bit = FIELD_BITS; bit-- > 0;) {
		if (!(field->mask >> bit & 1))
			continue;
		v |= take_bit(packed, *src) << bit;
		*src += 1;
	}
	return v;
}

int mrc_ev_expand(const struct mrc_ev_fmt *fmt,
		  const struct mrc_ev_field *field, u32 n, const u8 *packed,
		  u8 *out)
{
	u32 src = 0, dst = 0;
	u32 i;

	memset(out, 0, MRC_EV_BYTES);
	for (i = 0; i < n; i++) {
		put_bits(out, dst, fmt->width[i],
			 overlay(&field[i], packed, &src));
		dst += fmt->width[i];
	}
	for (; src < EV_BITS; src++)
		if (take_bit(packed, src))
			return -EINVAL;
	return 0;
}

/* The number of values that may be generated; @lo: the lowest of them. */
static u64 field_range(const struct mrc_ev_field *f, u32 *lo)
{
	*lo = 0;
	if (!f->mask)
		return 1;
	if (!f->max_val)
		return (u64)low_bits(popcount(f->mask)) + 1;
	*lo = f->min_val;
	return (u64)f->max_val - f->min_val + 1;
}

u32 mrc_ev_combinations(const struct mrc_ev_field *field, u32 n)
{
	u64 total = 1;
	u32 lo, i;

	for (i = 0; i < n; i++) {
		total *= field_range(&field[i], &lo);
		if (total > ~0u)
			return ~0u;
	}
	return (u32)total;
}

/* @count: 1..2^32 */
static u32 mod(u32 v, u64 count)
{
	return count > ~0u ? v : v % (u32)count;
}

static u32 add_mod(u32 a, u32 b, u64 count)
{
	u64 sum = (u64)a + b;

	return (u32)(sum < count ? sum : sum - count);
}

void mrc_ev_generate(const struct mrc_ev_field *field, u32 n, u32 index,
		     u8 *packed)
{
	u32 val[MRC_EV_MAX_FIELDS];
	u32 i, lo, bits, below, digit, pos = 0;
	u64 count, scale = 1;

	/*
	 * @index is a number with one digit per field; the last field is the least
	 * significant digit. An offset that depends on the lower digits is added to each
	 * digit. This is reversible, so EVs stay distinct. It makes the high fields vary
	 * even if the index, with only 32 bits, has no digits left for them.
	 */
	for (i = n; i-- > 0;) {
		count = field_range(&field[i], &lo);
		below = scale > ~0u ? index : index % (u32)scale;
		digit = scale > ~0u ? 0 : mod(index / (u32)scale, count);
		digit = add_mod(digit,
				mod((u32)mrc_ev_mix((u64)i << 32 | below), count),
				count);
		val[i] = lo + digit;
		if (scale <= ~0u)
			scale *= count;
	}

	memset(packed, 0, MRC_EV_BYTES);
	for (i = 0; i < n; i++) {
		bits = popcount(field[i].mask);
		put_bits(packed, pos, bits, val[i]);
		pos += bits;
	}
}

u32 mrc_ev_permute(u32 i, u32 n, u64 seed)
{
	u32 half = 1, mask, l, r, t;
	u32 round;

	if (n < 2)
		return 0;
	while (half < 16 && (1ull << 2 * half) < n)
		half++;
	mask = (1u << half) - 1;
	/* A Feistel network over a range of up to 4n, repeated until within n. */
	do {
		l = i >> half;
		r = i & mask;
		for (round = 0; round < FEISTEL_ROUNDS; round++) {
			t = (u32)mrc_ev_mix(seed ^ mrc_ev_mix((u64)round << 32 | r));
			t = l ^ (t & mask);
			l = r;
			r = t;
		}
		i = l << half | r;
	} while (i >= n);
	return i;
}
