// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CRC-32 by tables, eight bytes per step. Each step waits for the look-ups of the step
 * before, so with a single stream of steps the processor is idle most of the time.
 * Blocks are therefore cut into four quarters whose registers advance side by side.
 * Then the register of the first quarter is advanced over as many zero bytes as the
 * second quarter has, and the two registers are added, and so on. Advancing takes one
 * look-up per byte of the register, in tables for the few lengths of a quarter.
 */
#include "mrc_crc.h"

#define STEP		8
#define QUARTERS	4

/* Bytes of a quarter: blocks have 4096 or 1024 bytes, which are MTUs, or 256 bytes. */
static const u16 quarter[] = { 1024, 256, 64 };

#define BLOCK_MIN	(QUARTERS * 64)

/*
 * The register after zeros is a linear function of the register before. So the entry of
 * a byte is the sum of the entries of its bits, and eight numbers define a table. This
 * way tables can be constants, which need no initialisation and cannot be overwritten.
 * Each number is a power of x modulo the polynomial; bit 0 of a byte is the highest
 * power of the eight.
 */
#define CRC_BITS(i, b0, b1, b2, b3, b4, b5, b6, b7)			\
	(((i) & 1 ? (b0) : 0) ^ ((i) & 2 ? (b1) : 0) ^			\
	 ((i) & 4 ? (b2) : 0) ^ ((i) & 8 ? (b3) : 0) ^			\
	 ((i) & 16 ? (b4) : 0) ^ ((i) & 32 ? (b5) : 0) ^		\
	 ((i) & 64 ? (b6) : 0) ^ ((i) & 128 ? (b7) : 0))
#define CRC_BYTES_4(i, ...)						\
	CRC_BITS((i), __VA_ARGS__), CRC_BITS((i) + 1, __VA_ARGS__),	\
	CRC_BITS((i) + 2, __VA_ARGS__), CRC_BITS((i) + 3, __VA_ARGS__)
#define CRC_BYTES_16(i, ...)						\
	CRC_BYTES_4((i), __VA_ARGS__), CRC_BYTES_4((i) + 4, __VA_ARGS__),	\
	CRC_BYTES_4((i) + 8, __VA_ARGS__), CRC_BYTES_4((i) + 12, __VA_ARGS__)
#define CRC_BYTES_64(i, ...)						\
	CRC_BYTES_16((i), __VA_ARGS__), CRC_BYTES_16((i) + 16, __VA_ARGS__),	\
	CRC_BYTES_16((i) + 32, __VA_ARGS__), CRC_BYTES_16((i) + 48, __VA_ARGS__)
#define CRC_TABLE(...)							\
	{ CRC_BYTES_64(0, __VA_ARGS__), CRC_BYTES_64(64, __VA_ARGS__),	\
	  CRC_BYTES_64(128, __VA_ARGS__), CRC_BYTES_64(192, __VA_ARGS__) }

/* Register after a byte and 0..7 zero bytes: x^32..x^39, x^40..x^47 ... */
static const u32 step_tab[STEP][256] = {
	CRC_TABLE(0x77073096, 0xEE0E612C, 0x076DC419, 0x0EDB8832,
		  0x1DB71064, 0x3B6E20C8, 0x76DC4190, 0xEDB88320),
	CRC_TABLE(0x191B3141, 0x32366282, 0x646CC504, 0xC8D98A08,
		  0x4AC21251, 0x958424A2, 0xF0794F05, 0x3B83984B),
	CRC_TABLE(0x01C26A37, 0x0384D46E, 0x0709A8DC, 0x0E1351B8,
		  0x1C26A370, 0x384D46E0, 0x709A8DC0, 0xE1351B80),
	CRC_TABLE(0xB8BC6765, 0xAA09C88B, 0x8F629757, 0xC5B428EF,
		  0x5019579F, 0xA032AF3E, 0x9B14583D, 0xED59B63B),
	CRC_TABLE(0x3D6029B0, 0x7AC05360, 0xF580A6C0, 0x30704BC1,
		  0x60E09782, 0xC1C12F04, 0x58F35849, 0xB1E6B092),
	CRC_TABLE(0xCB5CD3A5, 0x4DC8A10B, 0x9B914216, 0xEC53826D,
		  0x03D6029B, 0x07AC0536, 0x0F580A6C, 0x1EB014D8),
	CRC_TABLE(0xA6770BB4, 0x979F1129, 0xF44F2413, 0x33EF4E67,
		  0x67DE9CCE, 0xCFBD399C, 0x440B7579, 0x8816EAF2),
	CRC_TABLE(0xCCAA009E, 0x4225077D, 0x844A0EFA, 0xD3E51BB5,
		  0x7CBB312B, 0xF9766256, 0x299DC2ED, 0x533B85DA),
};

/*
 * Share of byte 0..3 of the register after a quarter of zeros. With q bytes in a quarter
 * this is x^(8 q + 24)..x^(8 q + 31) for byte 0, and 8 less for each byte after it.
 */
static const u32 skip_tab[ARRAY_SIZE(quarter)][4][256] = {
	{
		CRC_TABLE(0xF891F16F, 0x2A52E49F, 0x54A5C93E, 0xA94B927C,
			  0x89E622B9, 0xC8BD4333, 0x4A0B8027, 0x9417004E),
		CRC_TABLE(0xF35F06DD, 0x3DCF0BFB, 0x7B9E17F6, 0xF73C2FEC,
			  0x35095999, 0x6A12B332, 0xD4256664, 0x733BCA89),
		CRC_TABLE(0xE6779512, 0x179E2C65, 0x2F3C58CA, 0x5E78B194,
			  0xBCF16328, 0xA293C011, 0x9E568663, 0xE7DC0A87),
		CRC_TABLE(0x14C9134F, 0x2992269E, 0x53244D3C, 0xA6489A78,
			  0x97E032B1, 0xF4B16323, 0x3213C007, 0x6427800E),
	},
	{
		CRC_TABLE(0xCE3371CB, 0x4717E5D7, 0x8E2FCBAE, 0xC72E911D,
			  0x552C247B, 0xAA5848F6, 0x8FC197AD, 0xC4F2291B),
		CRC_TABLE(0x52955477, 0xA52AA8EE, 0x9124579D, 0xF939A97B,
			  0x290254B7, 0x5204A96E, 0xA40952DC, 0x9363A3F9),
		CRC_TABLE(0xFDB641B3, 0x201D8527, 0x403B0A4E, 0x8076149C,
			  0xDB9D2F79, 0x6C4B58B3, 0xD896B166, 0x6A5C648D),
		CRC_TABLE(0xD4B8C91A, 0x72009475, 0xE40128EA, 0x13735795,
			  0x26E6AF2A, 0x4DCD5E54, 0x9B9ABCA8, 0xEC447F11),
	},
	{
		CRC_TABLE(0x8F352D95, 0xC51B5D6B, 0x5147BC97, 0xA28F792E,
			  0x9E6FF41D, 0xE7AEEE7B, 0x142CDAB7, 0x2859B56E),
		CRC_TABLE(0x50B36ADC, 0xA166D5B8, 0x99BCAD31, 0xE8085C23,
			  0x0B61BE07, 0x16C37C0E, 0x2D86F81C, 0x5B0DF038),
		CRC_TABLE(0xB61BE070, 0xB746C6A1, 0xB5FC8B03, 0xB0881047,
			  0xBA6126CF, 0xAFB34BDF, 0x841791FF, 0xD35E25BF),
		CRC_TABLE(0x7DCD4D3F, 0xFB9A9A7E, 0x2C4432BD, 0x5888657A,
			  0xB110CAF4, 0xB95093A9, 0xA9D02113, 0x88D14467),
	},
};

static u32 crc_bytes(u32 crc, const u8 *p, size_t len)
{
	while (len--)
		crc = crc >> 8 ^ step_tab[0][(crc ^ *p++) & 0xFF];
	return crc;
}

/* By itself gcc does not inline it, and the calls take a sixth of the time. */
static __always_inline u32 crc_step(u64 v)
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

/* The blocks at the front of [*@p, *@p + @len). Returns the register after them. */
static u32 crc_blocks(u32 crc, const u8 **p, size_t len)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(quarter); i++) {
		u32 block = QUARTERS * quarter[i];

		for (; len >= block; *p += block, len -= block)
			crc = crc_block(crc, *p, quarter[i], skip_tab[i]);
	}
	return crc;
}

u32 mrc_crc32_table(u32 crc, const void *data, size_t len)
{
	const u8 *p = data;

	if (len >= BLOCK_MIN) {
		crc = crc_blocks(crc, &p, len);
		len %= BLOCK_MIN;
	}
	for (; len >= STEP; p += STEP, len -= STEP)
		crc = crc_step(get_unaligned_le64(p) ^ crc);
	return crc_bytes(crc, p, len);
}
