/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * CRC-32: crc32_le() if the kernel uses CPU instructions for it, else the fastest
 * implementation available.
 */
#ifndef MRC_COMPAT_CRC_H
#define MRC_COMPAT_CRC_H

#include <linux/crc32.h>
#include <linux/jump_label.h>
#include <linux/static_call.h>
#include <linux/types.h>

#include "core/mrc_crc.h"

DECLARE_STATIC_KEY_FALSE(mrc_compat_crc_other);
DECLARE_STATIC_CALL(mrc_compat_crc, mrc_crc32_table);

/*
 * Select the implementation. Process context; no packets are processed yet. 0 or
 * -ENOMEM.
 */
int mrc_compat_crc_setup(void);
void mrc_compat_crc_cleanup(void);

static inline u32 mrc_compat_crc32_le(u32 crc, const void *p, size_t len)
{
	if (static_branch_unlikely(&mrc_compat_crc_other))
		return static_call(mrc_compat_crc)(crc, p, len);
	return crc32_le(crc, p, len);
}

#endif /* MRC_COMPAT_CRC_H */
