// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The part of mrc_base.h that is not inline, for user space: the CRC-32
 * register update. The module has its own, in mrc_crc.c.
 */
#include "mrc_crc.h"

u32 mrc_crc32(u32 crc, const void *p, size_t len)
{
	return mrc_crc32_table(crc, p, len);
}
