// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Since 6.14 crc32_le() uses CPU instructions itself. */
#include <linux/crc32.h>
#include <linux/module.h>

u32 probe(void);
u32 probe(void)
{
	return crc32_optimizations() & CRC32_LE_OPTIMIZATION;
}
MODULE_LICENSE("Dual BSD/GPL");
