// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CRC-32 by tables, eight bytes a step. A step must wait for the look-ups of
 * the one before, so a processor is idle most of the time with one stream of
 * them. Blocks are therefore cut into four quarters whose registers advance side
 * by side; then the first register is moved over the zeros that the second
 * quarter would be without data, and so on. That again is a look-up per byte of
 * the register, in tables for the few lengths a quarter may have.
 */
#include "mrc_crc.h"

#define POLY		0xEDB88320u
#define STEP		8
#define QUARTERS	4

/* Lengths of a quarter: blocks are the MTUs 4096 and 1024, and 256 bytes. */
static const u16 quarter[] = { 1024, 256, 64 };

/* Register after a byte that 0..7 zero bytes follow. */
static u32 step_tab[STEP][256];
/* Register whose byte 0..3 this was, after a quarter of zeros. */
static u32 skip_tab[ARRAY_SIZE(quarter)][4][256];

static u32 crc_bytes(u32 crc, const u8 *p, size_t len)
{
	while (len--)
		crc = crc >> 8 ^ step_tab[0][(crc ^ *p++) & 0xFF];
	return crc;
}

static u32 crc_step(u64 v)
{
	return step_tab[7][v & 0xFF] ^ step_tab[6][v >> 8 & 0xFF] ^
	       step_tab[5][v >> 16 & 0xFF] ^ step_tab[4][v >> 24 & 0xFF] ^
	       step_tab[3][v >> 32 & 0xFF] ^ step_tab[2][v >> 40 & 0xFF] ^
	       step_tab[1][v >> 48 & 0xFF] ^ step_tab[0][v >> 56];
}

static u32 crc_skip(const u32 (*tab)[256], u32 crc)
{
	return tab[0][crc & 0xFF] ^ tab[1][crc >> 8 & 0xFF] ^
	       tab[2][crc >> 16 & 0xFF] ^ tab[3][crc >> 24];
}

static u32 crc_block(u32 crc, const u8 *p, u32 len, const u32 (*tab)[256])
{
	u32 a = crc, b = 0, c = 0, d = 0, i;

	for (i = 0; i < len; i += STEP, p += STEP) {
		a = crc_step(get_unaligned_le64(p) ^ a);
		b = crc_step(get_unaligned_le64(p + len) ^ b);
		c = crc_step(get_unaligned_le64(p + 2 * len) ^ c);
		d = crc_step(get_unaligned_le64(p + 3 * len) ^ d);
	}
	return crc_skip(tab, crc_skip(tab, crc_skip(tab, a) ^ b) ^ c) ^ d;
}

u32 mrc_crc32_table(u32 crc, const void *data, size_t len)
{
	const u8 *p = data;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(quarter); i++) {
		u32 block = QUARTERS * quarter[i];

		for (; len >= block; p += block, len -= block)
			crc = crc_block(crc, p, quarter[i], skip_tab[i]);
	}
	for (; len >= STEP; p += STEP, len -= STEP)
		crc = crc_step(get_unaligned_le64(p) ^ crc);
	return crc_bytes(crc, p, len);
}

void mrc_crc_init(void)
{
	u32 i, j, k, n, v;

	for (i = 0; i < 256; i++) {
		for (v = i, k = 0; k < 8; k++)
			v = v & 1 ? v >> 1 ^ POLY : v >> 1;
		step_tab[0][i] = v;
	}
	for (k = 1; k < STEP; k++)
		for (i = 0; i < 256; i++)
			step_tab[k][i] = step_tab[k - 1][i] >> 8 ^
				step_tab[0][step_tab[k - 1][i] & 0xFF];
	for (n = 0; n < ARRAY_SIZE(quarter); n++)
		for (j = 0; j < 4; j++)
			for (i = 0; i < 256; i++) {
				v = i << 8 * j;
				for (k = 0; k < quarter[n]; k += STEP)
					v = crc_step(v);
				skip_tab[n][j][i] = v;
			}
}
