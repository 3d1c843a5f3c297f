/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The engine's only interface to its environment: fixed-width types, unaligned
 * big-endian access, bit operations, CRC-32, counters and assertions, in the
 * kernel and in user space.
 */
#ifndef MRC_BASE_H
#define MRC_BASE_H

#include "mrc_counters.h"

/*
 * Every header of the engine puts its declarations between these two, after its #include
 * lines, so that C++ programs use C linkage. Both are empty in C, and so in the kernel.
 */
#ifdef __cplusplus
#define MRC_C_BEGIN		extern "C" {
#define MRC_C_END		}
#else
#define MRC_C_BEGIN
#define MRC_C_END
#endif

#ifdef __KERNEL__

#include <linux/types.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/errno.h>
#include <linux/bitops.h>
#include <linux/bitmap.h>
#include <linux/bug.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#ifdef HAVE_LINUX_UNALIGNED_H
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* Fails only by a bug in the engine, not by packets or by user space. */
#define mrc_assert(c)		do { (void)(c); } while (0)

/* Access to a variable that another context may access at the same time. */
#define mrc_read_once(x)	READ_ONCE(x)
#define mrc_write_once(x, v)	WRITE_ONCE(x, v)

static inline u64 mrc_div64(u64 a, u64 b)
{
	return div64_u64(a, b);
}

struct mrc_counters {
	u64 __percpu *v;	/* (n_ports + 1) * MRC_CTR_MAX */
	unsigned int n_ports;
};

/*
 * Processes and soft interrupts change counters, hard interrupts never do. With bottom
 * halves off, as in all of the packet path, nothing can interrupt the update, so a plain
 * addition is enough. On most architectures it is much cheaper. With PREEMPT_RT such
 * sections can be preempted, so it is not used there.
 */
static inline void mrc_ctr_add(struct mrc_counters *c, unsigned int port,
			       enum mrc_counter id, u64 n)
{
	unsigned int at;

	if (!c)
		return;
	if (!port || port > c->n_ports)
		port = 1;
	at = port * MRC_CTR_MAX + id;
	if (!IS_ENABLED(CONFIG_PREEMPT_RT) && softirq_count())
		__this_cpu_add(c->v[at], n);
	else
		this_cpu_add(c->v[at], n);
}

#else /* user space */

/* In user space all optional parts are built. */
#define CONFIG_INFINIBAND_MRC_VEGAS	1
#define CONFIG_INFINIBAND_MRC_NSCC	1
#define CONFIG_INFINIBAND_MRC_EXT	1

#include <stdint.h>
#include <stddef.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <string.h>
#include <errno.h>
#include <stdlib.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
/* <linux/types.h> of user space has these too, as the same types. */
#include <linux/types.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#endif

#define mrc_assert(c)		do { if (!(c)) abort(); } while (0)
#define mrc_read_once(x)	(*(const volatile __typeof__(x) *)&(x))
#define mrc_write_once(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))

static inline u16 get_unaligned_be16(const void *p)
{
	const u8 *b = (const u8 *)p;

	return (u16)(b[0] << 8 | b[1]);
}

static inline u32 get_unaligned_be32(const void *p)
{
	const u8 *b = (const u8 *)p;

	return (u32)b[0] << 24 | (u32)b[1] << 16 | (u32)b[2] << 8 | b[3];
}

static inline u64 get_unaligned_be64(const void *p)
{
	const u8 *b = (const u8 *)p;

	return (u64)get_unaligned_be32(b) << 32 | get_unaligned_be32(b + 4);
}

static inline void put_unaligned_be16(u16 v, void *p)
{
	u8 *b = (u8 *)p;

	b[0] = (u8)(v >> 8);
	b[1] = (u8)v;
}

static inline void put_unaligned_be32(u32 v, void *p)
{
	u8 *b = (u8 *)p;

	put_unaligned_be16((u16)(v >> 16), b);
	put_unaligned_be16((u16)v, b + 2);
}

static inline void put_unaligned_be64(u64 v, void *p)
{
	u8 *b = (u8 *)p;

	put_unaligned_be32((u32)(v >> 32), b);
	put_unaligned_be32((u32)v, b + 4);
}

static inline void put_unaligned_le32(u32 v, void *p)
{
	u8 *b = (u8 *)p;

	b[0] = (u8)v;
	b[1] = (u8)(v >> 8);
	b[2] = (u8)(v >> 16);
	b[3] = (u8)(v >> 24);
}

static inline u64 get_unaligned_le64(const void *p)
{
	const u8 *b = (const u8 *)p;

	return b[0] | (u64)b[1] << 8 | (u64)b[2] << 16 | (u64)b[3] << 24 |
	       (u64)b[4] << 32 | (u64)b[5] << 40 | (u64)b[6] << 48 |
	       (u64)b[7] << 56;
}

static inline u32 get_unaligned_le32(const void *p)
{
	const u8 *b = (const u8 *)p;

	return (u32)b[3] << 24 | (u32)b[2] << 16 | (u32)b[1] << 8 | b[0];
}

static inline u64 mrc_div64(u64 a, u64 b)
{
	return a / b;
}

struct mrc_counters {
	u64 v[17][MRC_CTR_MAX];
	unsigned int n_ports;
};

static inline void mrc_ctr_add(struct mrc_counters *c, unsigned int port,
			       enum mrc_counter id, u64 n)
{
	if (!c)
		return;
	if (!port || port > c->n_ports)
		port = 1;
	c->v[port][id] += n;
}

#endif /* __KERNEL__ */

MRC_C_BEGIN

/* CRC-32 register update, reflected 0xEDB88320 (no inversion). */
u32 mrc_crc32(u32 crc, const void *p, size_t len);

MRC_C_END

#endif /* MRC_BASE_H */
