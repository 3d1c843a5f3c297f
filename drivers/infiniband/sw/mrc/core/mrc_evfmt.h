/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * EV formats and fields: the layout of an entropy value on the wire, the expansion of
 * packed EVs and the generation of EVs (MRC 1.0 §11.1-§11.3). The expansion gives
 * exactly the same bits as libMRC's sample program.
 *
 * An EV is a bit string; bit 0 is the most significant bit of byte 0.
 */
#ifndef MRC_EVFMT_H
#define MRC_EVFMT_H

#include "mrc_base.h"

MRC_C_BEGIN

#define MRC_EV_BYTES		32	/* of an EV, packed or expanded */
#define MRC_EV_MAX_FIELDS	32	/* per format and per profile */

/* Values as in libMRC's enum mrc_ctl_ev_fmt_mode. */
enum mrc_ev_fmt_mode {
	MRC_EV_FMT_STEV		= 1 << 0,	/* flow label and source port */
	MRC_EV_FMT_SRV6		= 1 << 1,	/* outer destination, SRH */
	MRC_EV_FMT_UDP		= 1 << 2,	/* source port */
};

#define MRC_EV_FMT_ALL	(MRC_EV_FMT_STEV | MRC_EV_FMT_SRV6 | MRC_EV_FMT_UDP)

/**
 * struct mrc_ev_fmt - field widths on the wire
 * @mode: enum mrc_ev_fmt_mode
 * @n: fields, 1..MRC_EV_MAX_FIELDS once checked
 * @width: bits of each, 1..32
 */
struct mrc_ev_fmt {
	u8 mode;
	u8 n;
	u8 width[MRC_EV_MAX_FIELDS];
};

/**
 * struct mrc_ev_field - one field of a profile, paired with the format's field
 *	of the same index
 * @width: bits, 1..32
 * @init_val: value of the bits that are not in @mask
 * @min_val: lower bound of the masked value when EVs are generated
 * @max_val: upper bound; with @mask != 0, min = max = 0 means unrestricted
 * @mask: bits that are taken from the packed EV; 0 = fixed field
 */
struct mrc_ev_field {
	u32 width;
	u32 init_val;
	u32 min_val;
	u32 max_val;
	u32 mask;
};

/*
 * Bits an expanded EV may have in @mode: 32, 256, 16; 0 for an unknown mode.
 */
u32 mrc_ev_fmt_limit(u8 mode);

/*
 * Does a format extend past the address (SRv6 with one SRH segment)? Its
 * address fields must then add up to exactly 128 bits.
 */
bool mrc_ev_fmt_srh(const struct mrc_ev_fmt *fmt);

/*
 * Is @fmt supported? 0, -EINVAL (mode, no fields, zero width, an SRH that does
 * not start at bit 128) or -E2BIG (too many fields, a field of more than 32 bits,
 * too many bits in all).
 */
int mrc_ev_fmt_check(const struct mrc_ev_fmt *fmt);

/*
 * Are @n fields valid for @fmt? 0, -EINVAL or -E2BIG (array larger than
 * MRC_EV_MAX_FIELDS), see libMRC's rules in struct mrc_ctl_ev_field.
 */
int mrc_ev_fields_check(const struct mrc_ev_fmt *fmt,
			const struct mrc_ev_field *field, u32 n);

/*
 * The identity: one field per format field, full width, mask all ones. Return:
 * number of fields.
 */
u32 mrc_ev_fields_identity(const struct mrc_ev_fmt *fmt,
			   struct mrc_ev_field *field);

/**
 * mrc_ev_expand - expand a packed EV to its value on the wire
 * @fmt: checked
 * @field: checked
 * @n: fields
 * @packed: MRC_EV_BYTES bytes
 * @out: MRC_EV_BYTES bytes
 *
 * Return: 0, or -EINVAL if @packed has bits set beyond those that the fields take.
 */
int mrc_ev_expand(const struct mrc_ev_fmt *fmt,
		  const struct mrc_ev_field *field, u32 n, const u8 *packed,
		  u8 *out);

/*
 * Distinct EVs that @field can generate, saturating at 2^32 - 1. 1 where all
 * fields are fixed.
 */
u32 mrc_ev_combinations(const struct mrc_ev_field *field, u32 n);

/**
 * mrc_ev_generate - the @index-th of the EVs that the fields can generate
 * @field: checked
 * @n: fields
 * @index: 0 .. mrc_ev_combinations() - 1; distinct indices give distinct EVs
 * @packed: result, MRC_EV_BYTES bytes
 *
 * The EVs come in no particular order. If there are more EVs than indices, the
 * generated ones still vary in all fields.
 */
void mrc_ev_generate(const struct mrc_ev_field *field, u32 n, u32 index,
		     u8 *packed);

/* A pseudo-random number that depends only on @x (splitmix64's finalizer). */
static inline u64 mrc_ev_mix(u64 x)
{
	x += 0x9E3779B97F4A7C15ull;
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
	x = (x ^ x >> 27) * 0x94D049BB133111EBull;
	return x ^ x >> 31;
}

/*
 * The @i-th of 0..@n - 1 in an order that depends on @seed: a bijection for
 * every seed and 0 < @n. Constant memory, a handful of steps on average.
 */
u32 mrc_ev_permute(u32 i, u32 n, u64 seed);

MRC_C_END

#endif /* MRC_EVFMT_H */
