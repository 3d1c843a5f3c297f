// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which CRC-32 the ICRC is made with. Kernels offer several: the library's,
 * which has instructions of its own for it on some machines and is a byte per
 * look-up on others, and before 6.14 faster ones as a hash of the crypto API
 * only. Which is best cannot be read from the configuration (an emulated
 * carry-less multiplication is slower than tables), so they are tried when the
 * module is loaded, as RAID does with its parity functions.
 */
#include <crypto/hash.h>
#include <linux/crc32.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/static_call.h>

#include "core/mrc_crc.h"
#include "mrc_net.h"

#define MRC_CRC_SHORT	64	/* bytes; below, tables are never slower */
#define MRC_CRC_TRY	4096	/* bytes of a trial: the largest payload */
#define MRC_CRC_TRIALS	16	/* of which the fastest counts */

/* Later kernels have the same code in the library; some have no crypto API. */
#if !defined(HAVE_CRC32_OPTIMIZATIONS) && IS_ENABLED(CONFIG_CRYPTO_HASH)
static struct crypto_shash *mrc_crc_shash;

static u32 mrc_crc_by_shash(u32 crc, const void *p, size_t len)
{
	SHASH_DESC_ON_STACK(desc, mrc_crc_shash);

	desc->tfm = mrc_crc_shash;
	*(u32 *)shash_desc_ctx(desc) = crc;
	if (crypto_shash_update(desc, p, len))
		return mrc_crc32_table(crc, p, len);
	return *(u32 *)shash_desc_ctx(desc);
}

/* The hash is usable if its state is the register. */
static bool mrc_crc_find_shash(void)
{
	struct crypto_shash *tfm = crypto_alloc_shash("crc32", 0, 0);

	if (IS_ERR(tfm))
		return false;
	if (crypto_shash_descsize(tfm) != sizeof(u32) ||
	    strstr(crypto_shash_driver_name(tfm), "generic")) {
		crypto_free_shash(tfm);
		return false;
	}
	mrc_crc_shash = tfm;
	return true;
}

static void mrc_crc_drop_shash(void)
{
	if (mrc_crc_shash)
		crypto_free_shash(mrc_crc_shash);
	mrc_crc_shash = NULL;
}
#else
static u32 mrc_crc_by_shash(u32 crc, const void *p, size_t len)
{
	return mrc_crc32_table(crc, p, len);	/* not called */
}

static bool mrc_crc_find_shash(void)
{
	return false;
}

static void mrc_crc_drop_shash(void)
{
}
#endif

static u32 mrc_crc_by_library(u32 crc, const void *p, size_t len)
{
	return crc32_le(crc, p, len);
}

struct mrc_crc {
	const char *name;
	u32 (*update)(u32 crc, const void *p, size_t len);
};

static const struct mrc_crc mrc_crcs[] = {
	{ "table", mrc_crc32_table },
	{ "library", mrc_crc_by_library },
	{ "shash", mrc_crc_by_shash },
};

DEFINE_STATIC_CALL(mrc_crc_update, mrc_crc32_table);

u32 mrc_crc32(u32 crc, const void *p, size_t len)
{
	if (len < MRC_CRC_SHORT)
		return mrc_crc32_table(crc, p, len);
	return static_call(mrc_crc_update)(crc, p, len);
}

static char mrc_crc_name[16] = "auto";
module_param_string(crc, mrc_crc_name, sizeof(mrc_crc_name), 0444);
MODULE_PARM_DESC(crc, "CRC-32 of the ICRC: table, library, shash, auto: the fastest (auto)");

/* Nanoseconds of the fastest trial, U64_MAX where the result is wrong. */
static u64 mrc_crc_try(const struct mrc_crc *c, const void *buf)
{
	u32 want = mrc_crc32_table(MRC_ICRC_SEED, buf, MRC_CRC_TRY);
	u64 best = U64_MAX;
	int i;

	for (i = 0; i < MRC_CRC_TRIALS; i++) {
		u64 from, ns;
		u32 got;

		/* As in the packet path. */
		local_bh_disable();
		from = ktime_get_ns();
		got = c->update(MRC_ICRC_SEED, buf, MRC_CRC_TRY);
		ns = ktime_get_ns() - from;
		local_bh_enable();
		if (got != want)
			return U64_MAX;
		best = min(best, ns);
	}
	return best;
}

/**
 * mrc_crc_setup - choose the CRC-32
 * Return: 0, -EINVAL for a name that is unknown, -EOPNOTSUPP for one that this
 *	kernel does not have, -ENOMEM.
 */
int mrc_crc_setup(void)
{
	bool shash, any = !strcmp(mrc_crc_name, "auto");
	const struct mrc_crc *c, *best = NULL;
	u64 ns, best_ns = U64_MAX;
	unsigned int i;
	u8 *buf;

	buf = kmalloc(MRC_CRC_TRY, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	for (i = 0; i < MRC_CRC_TRY; i++)
		buf[i] = i * 7 + (i >> 8);
	shash = mrc_crc_find_shash();
	for (c = mrc_crcs; c < mrc_crcs + ARRAY_SIZE(mrc_crcs); c++) {
		if (c->update == mrc_crc_by_shash && !shash)
			continue;
		if (!any && strcmp(mrc_crc_name, c->name))
			continue;
		ns = mrc_crc_try(c, buf);
		if (ns < best_ns) {
			best_ns = ns;
			best = c;
		}
	}
	kfree(buf);
	if (!best) {
		bool known = !strcmp(mrc_crc_name, "shash");

		pr_err("no CRC-32 '%s'\n", mrc_crc_name);
		mrc_crc_cleanup();
		return known ? -EOPNOTSUPP : -EINVAL;
	}
	strscpy(mrc_crc_name, best->name, sizeof(mrc_crc_name));
	static_call_update(mrc_crc_update, best->update);
	pr_debug("CRC-32 by %s, %llu ns for %u bytes\n", best->name, best_ns,
		 MRC_CRC_TRY);
	return 0;
}

void mrc_crc_cleanup(void)
{
	mrc_crc_drop_shash();
}
