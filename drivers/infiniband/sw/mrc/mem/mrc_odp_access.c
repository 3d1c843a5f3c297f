// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Are the pages of an access present? See mrc_mem.h. */
#include "mrc_odp_priv.h"

#ifdef CONFIG_INFINIBAND_MRC_ODP

static unsigned long mrc_odp_need(bool write)
{
	return MRC_ODP_VALID | (write ? MRC_ODP_WRITE : 0);
}

/* mrc_odp_check() under odp->pages. */
static int mrc_odp_present(const struct mrc_mr *mr, u64 va, u64 len, bool write,
			   u32 who, u64 *since)
{
	u64 pos = va - mr->iova + mr->offset, asked;
	unsigned long last = (pos + len - 1) >> PAGE_SHIFT, i;
	unsigned long lo = ULONG_MAX, hi = 0;
	struct mrc_odp *odp = mr->odp;
	const unsigned long need = mrc_odp_need(write);

	for (i = pos >> PAGE_SHIFT; i <= last; i++) {
		unsigned long e = READ_ONCE(odp->entry[i]);

		if ((e & need) == need) {
			if (write && !(e & MRC_ODP_DIRTY))
				set_bit(MRC_ODP_DIRTY_BIT, &odp->entry[i]);
			continue;
		}
		lo = min(lo, i);
		hi = i;
	}
	if (lo > hi)
		return 0;
	if (mrc_odp_failed(odp, lo, hi, write, who))
		return -EFAULT;
	asked = mrc_odp_request(odp, lo, hi, write, who);
	if (since)
		*since = min(*since, asked);
	return -EAGAIN;
}

int mrc_odp_begin(const struct mrc_mr *mr, u64 va, u64 len, bool write,
		  u32 who)
{
	int ret;

	read_lock_bh(&mr->odp->pages);
	ret = mrc_odp_present(mr, va, len, write, who, NULL);
	if (ret)
		read_unlock_bh(&mr->odp->pages);
	return ret;
}

void mrc_odp_end(const struct mrc_mr *mr)
{
	read_unlock_bh(&mr->odp->pages);
}

/*
 * The lock of the @nth region of a hold. A list of SGEs may name more regions than lockdep
 * has room for in one context (MAX_LOCK_DEPTH), so it sees the first one only. The others
 * are of the same class, and read locks in this context are recursive.
 */
static void mrc_odp_lock(struct mrc_odp *odp, u32 nth)
{
	if (nth)
		lockdep_off();
	read_lock(&odp->pages);
	if (nth)
		lockdep_on();
}

static void mrc_odp_unlock(struct mrc_odp *odp, u32 nth)
{
	if (nth)
		lockdep_off();
	read_unlock(&odp->pages);
	if (nth)
		lockdep_on();
}

int mrc_odp_check(const struct mrc_mr *mr, u64 va, u64 len, bool write,
		  u32 who, u64 *since, struct mrc_odp_hold *hold)
{
	struct mrc_odp *odp = mr->odp;
	int ret;
	u32 i;

	for (i = 0; i < hold->n; i++) {
		if (hold->odp[i] == odp)
			return mrc_odp_present(mr, va, len, write, who, since);
	}
	mrc_odp_lock(odp, hold->n);
	ret = mrc_odp_present(mr, va, len, write, who, since);
	if (ret)
		mrc_odp_unlock(odp, hold->n);
	else
		hold->odp[hold->n++] = odp;
	return ret;
}

void mrc_odp_release(struct mrc_odp_hold *hold)
{
	/*
	 * The region may have been deregistered. Its memory is not freed before it has
	 * been cleared, which waits for this lock, and a grace period has passed.
	 */
	while (hold->n) {
		hold->n--;
		mrc_odp_unlock(hold->odp[hold->n], hold->n);
	}
}

int mrc_odp_ready(struct mrc_dev *dev, const struct ib_pd *pd,
		  const struct mrc_sge *sge, u32 n, u64 at, u32 len, bool write,
		  u32 who, u64 *since, struct mrc_odp_hold *hold)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < n && len; i++) {
		struct mrc_mr *mr;
		u32 part;

		if (at >= sge[i].length) {
			at -= sge[i].length;
			continue;
		}
		part = min_t(u32, len, sge[i].length - at);
		mr = mrc_mr_get_local(dev, pd, sge[i].lkey, sge[i].addr + at,
				      part, write ? IB_ACCESS_LOCAL_WRITE : 0);
		if (IS_ERR(mr))
			return 0;
		/* Request all missing pages at once, also those of later entries. */
		if (mr->odp && mrc_odp_check(mr, sge[i].addr + at, part,
					     write, who, since, hold) == -EAGAIN)
			ret = -EAGAIN;
		mrc_mr_put(mr);
		at = 0;
		len -= part;
	}
	return ret;
}

#endif
