// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The part of mrc_port.h that is not inline, for user space: the CRC-32
 * register update (what crc32_le() is in the kernel).
 */
#include "mrc_port.h"

#define CRC32_POLY_REFLECTED	0xEDB88320u

static u32 crc_table[256];

/* Before main(), so that threads and fuzzers never see a half-filled table. */
__attribute__((constructor)) static void crc_table_fill(void)
{
	u32 i;

	for (i = 0; i < 256; i++) {
		u32 v = i;
		int bit;

		for (bit = 0; bit < 8; bit++)
			v = v & 1 ? v >> 1 ^ CRC32_POLY_REFLECTED : v >> 1;
		crc_table[i] = v;
	}
}

u32 mrc_crc32(u32 crc, const void *p, size_t len)
{
	const u8 *b = p;

	while (len--)
		crc = crc >> 8 ^ crc_table[(crc ^ *b++) & 0xFF];
	return crc;
}
