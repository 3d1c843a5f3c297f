/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* 24-bit packet sequence numbers, MRC 1.0 §5. */
#ifndef MRC_PSN_H
#define MRC_PSN_H

#include "mrc_base.h"

#define MRC_PSN_MASK		0xFFFFFFu
#define MRC_MPR_UNIT		128	/* PSNs per unit of MPR, §5.1 */
#define MRC_MPR_DEFAULT		8
#define MRC_MPR_MAX		255

/* Signed distance from @b to @a in [-2^23, 2^23); > 0 means @a is after @b. */
static inline s32 mrc_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

static inline u32 mrc_psn_add(u32 psn, s32 n)
{
	return (psn + (u32)n) & MRC_PSN_MASK;
}

#endif /* MRC_PSN_H */
