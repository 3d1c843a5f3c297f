// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CRC-32 for kernels whose crc32_le() does not use CPU instructions. On the newest
 * kernels it then takes one byte per look-up, which is several times slower than
 * tables. Older kernels use the instructions only for a hash of the crypto API. The
 * configuration does not tell which is fastest: an emulated carry-less multiplication
 * is slower than tables. So the implementations are timed when the module is loaded, as
 * RAID does with its parity functions.
 */
/* Prefix of every message of the module. */
#undef pr_fmt
#define pr_fmt(fmt) "mrc: " fmt

#include <crypto/hash.h>
#include <linux/bottom_half.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "core/mrc_wire.h"
#include "mrc_compat_crc.h"
#include "mrc_config.h"

#define MRC_CRC_SHORT	64	/* bytes; tables are never slower for shorter input */
#define MRC_CRC_TRY	4096	/* bytes per trial: the largest payload */
#define MRC_CRC_TRIALS	16	/* the fastest one counts */

DEFINE_STATIC_KEY_FALSE(mrc_compat_crc_other);
DEFINE_STATIC_CALL(mrc_compat_crc, mrc_crc32_table);

/* Newer kernels have this code in the CRC library; some kernels have no crypto API. */
#if !defined(HAVE_CRC32_OPTIMIZATIONS) && IS_ENABLED(CONFIG_CRYPTO_HASH)
static struct crypto_shash *mrc_compat_crc_shash;

/* Not inlined: some kernels clear the descriptor on the stack, 400 bytes, at each entry. */
static noinline_for_stack u32 mrc_compat_crc_shash_update(u32 crc, const void *p,
							  size_t len)
{
	SHASH_DESC_ON_STACK(desc, mrc_compat_crc_shash);

	desc->tfm = mrc_compat_crc_shash;
	*(u32 *)shash_desc_ctx(desc) = crc;
	if (crypto_shash_update(desc, p, len))
		return mrc_crc32_table(crc, p, len);
	return *(u32 *)shash_desc_ctx(desc);
}

static u32 mrc_compat_crc_by_shash(u32 crc, const void *p, size_t len)
{
	if (len < MRC_CRC_SHORT)
		return mrc_crc32_table(crc, p, len);
	return mrc_compat_crc_shash_update(crc, p, len);
}

/* The hash is usable if its state is the bare CRC register. */
static bool mrc_compat_crc_find_shash(void)
{
	struct crypto_shash *tfm = crypto_alloc_shash("crc32", 0, 0);

	if (IS_ERR(tfm))
		return false;
	if (crypto_shash_descsize(tfm) != sizeof(u32) ||
	    strstr(crypto_shash_driver_name(tfm), "generic")) {
		crypto_free_shash(tfm);
		return false;
	}
	mrc_compat_crc_shash = tfm;
	return true;
}

static void mrc_compat_crc_drop_shash(void)
{
	if (mrc_compat_crc_shash)
		crypto_free_shash(mrc_compat_crc_shash);
	mrc_compat_crc_shash = NULL;
}
#else
static u32 mrc_compat_crc_by_shash(u32 crc, const void *p, size_t len)
{
	return mrc_crc32_table(crc, p, len);	/* not called */
}

static bool mrc_compat_crc_find_shash(void)
{
	return false;
}

static void mrc_compat_crc_drop_shash(void)
{
}
#endif

static u32 mrc_compat_crc_by_kernel(u32 crc, const void *p, size_t len)
{
	return crc32_le(crc, p, len);
}

/* Does the kernel report that crc32_le() uses CPU instructions? */
static bool mrc_compat_crc_kernel_fast(void)
{
#ifdef HAVE_CRC32_OPTIMIZATIONS
	return crc32_optimizations() & CRC32_LE_OPTIMIZATION;
#else
	return false;
#endif
}

struct mrc_compat_crc {
	const char *name;
	u32 (*update)(u32 crc, const void *p, size_t len);
};

/* The kernel's own function is first: it is chosen unless another one is faster. */
static const struct mrc_compat_crc mrc_compat_crcs[] = {
	{ "crc32_le", mrc_compat_crc_by_kernel },
	{ "hash", mrc_compat_crc_by_shash },
	{ "tables", mrc_crc32_table },
};

/* Nanoseconds of the fastest trial, U64_MAX if the result is wrong. */
static u64 mrc_compat_crc_try(const struct mrc_compat_crc *c, const void *buf)
{
	u32 want = mrc_crc32_table(MRC_ICRC_SEED, buf, MRC_CRC_TRY);
	u64 best = U64_MAX;
	int i;

	for (i = 0; i < MRC_CRC_TRIALS; i++) {
		u64 from, ns;
		u32 got;

		/* Same context as in the packet path. */
		local_bh_disable();
		from = ktime_get_ns();
		got = c->update(MRC_ICRC_SEED, buf, MRC_CRC_TRY);
		ns = ktime_get_ns() - from;
		local_bh_enable();
		if (got != want)
			return U64_MAX;
		best = min(best, ns);
	}
	pr_debug("CRC-32 by %s: %llu ns for %u bytes\n", c->name, best,
		 MRC_CRC_TRY);
	return best;
}

int mrc_compat_crc_setup(void)
{
	const struct mrc_compat_crc *c, *best = mrc_compat_crcs;
	u64 ns, best_ns = U64_MAX;
	unsigned int i;
	bool shash;
	u8 *buf;

	if (mrc_compat_crc_kernel_fast()) {
		pr_debug("CRC-32 of the kernel\n");
		return 0;
	}
	buf = kmalloc(MRC_CRC_TRY, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	for (i = 0; i < MRC_CRC_TRY; i++)
		buf[i] = i * 7 + (i >> 8);
	shash = mrc_compat_crc_find_shash();
	for (i = 0; i < ARRAY_SIZE(mrc_compat_crcs); i++) {
		c = &mrc_compat_crcs[i];
		if (c->update == mrc_compat_crc_by_shash && !shash)
			continue;
		ns = mrc_compat_crc_try(c, buf);
		if (ns < best_ns) {
			best_ns = ns;
			best = c;
		}
	}
	kfree(buf);
	if (best->update != mrc_compat_crc_by_shash)
		mrc_compat_crc_drop_shash();
	if (best->update != mrc_compat_crc_by_kernel) {
		static_call_update(mrc_compat_crc, best->update);
		static_branch_enable(&mrc_compat_crc_other);
	}
	pr_debug("CRC-32 by %s\n", best->name);
	return 0;
}

void mrc_compat_crc_cleanup(void)
{
	mrc_compat_crc_drop_shash();
}
