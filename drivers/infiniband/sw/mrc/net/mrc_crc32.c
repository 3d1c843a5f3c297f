// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The CRC-32 of the ICRC: uses the kernel's implementation.
 */
#include "compat/mrc_compat_crc.h"
#include "mrc_net.h"

u32 mrc_crc32(u32 crc, const void *p, size_t len)
{
	return mrc_compat_crc32_le(crc, p, len);
}
