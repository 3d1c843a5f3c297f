// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The table of pages of a paged region, see mrc_odp_priv.h. */
#include <linux/hmm.h>
#include <linux/slab.h>

#include "mrc_odp_priv.h"

#ifdef CONFIG_INFINIBAND_MRC_ODP

struct page *mrc_odp_page(const struct mrc_odp *odp, unsigned long i)
{
	return pfn_to_page(READ_ONCE(odp->entry[i]) >> MRC_ODP_SHIFT);
}

/*
 * Release pages from @i up to but not including @end, before they get another owner.
 * Under umem_mutex. Returns the number of pages released.
 */
static u64 mrc_odp_clear(struct mrc_odp *odp, unsigned long i, unsigned long end)
{
	unsigned long first, stop;
	u64 n = 0;

	lockdep_assert_held(&odp->umem->umem_mutex);
	while (i < end) {
		/*
		 * Pages are added under umem_mutex only. A range without pages delays
		 * no reader.
		 */
		if (!READ_ONCE(odp->entry[i])) {
			i++;
			continue;
		}
		first = i;
		stop = min(end, i + MRC_ODP_SWEEP);
		write_lock_bh(&odp->pages);
		for (; i < stop; i++) {
			n += odp->entry[i] & MRC_ODP_VALID;
			if (odp->entry[i] & MRC_ODP_DIRTY)
				odp->entry[i] &= ~(MRC_ODP_VALID |
						   MRC_ODP_WRITE);
			else
				odp->entry[i] = 0;
		}
		write_unlock_bh(&odp->pages);
		/* Nobody else looks at entries whose page is not valid. */
		for (i = first; i < stop; i++) {
			if (!odp->entry[i])
				continue;
			set_page_dirty(compound_head(mrc_odp_page(odp, i)));
			odp->entry[i] = 0;
		}
	}
	return n;
}

void mrc_odp_put(struct mrc_odp *odp)
{
	struct mrc_dev *dev = odp->dev;

	if (!refcount_dec_and_test(&odp->ref))
		return;
	if (odp->entry) {
		mutex_lock(&odp->umem->umem_mutex);
		mrc_odp_clear(odp, 0, odp->n);
		mutex_unlock(&odp->umem->umem_mutex);
	}
	mrc_odp_prog_put(odp->prog);
	mrc_odp_pool_put(odp->pool);
	if (odp->umem)
		ib_umem_odp_release(odp->umem);
	kvfree(odp->entry);
	kfree_rcu(odp, rcu);
	put_device(&dev->ib.dev);
}

/*
 * Make the pages that the RDMA core has found available to packets. Under umem_mutex.
 * Returns their number.
 */
static unsigned long mrc_odp_publish(struct mrc_odp *odp, unsigned long first,
				     unsigned long n)
{
	unsigned long i, found = 0;

	lockdep_assert_held(&odp->umem->umem_mutex);
	write_lock_bh(&odp->pages);
	for (i = first; i < first + n; i++) {
		unsigned long pfn = odp->umem->map.pfn_list[i];

		if (!(pfn & HMM_PFN_VALID) || pfn & HMM_PFN_ERROR)
			continue;
		/*
		 * DIRTY stays valid: an entry's page cannot change before it is
		 * cleared.
		 */
		odp->entry[i] = page_to_pfn(hmm_pfn_to_page(pfn)) <<
				MRC_ODP_SHIFT | MRC_ODP_VALID |
				(odp->entry[i] & MRC_ODP_DIRTY) |
				(pfn & HMM_PFN_WRITE ? MRC_ODP_WRITE : 0);
		found++;
	}
	write_unlock_bh(&odp->pages);
	return found;
}

long mrc_odp_map(struct mrc_odp *odp, unsigned long first, unsigned long n, bool write,
		 bool fetch)
{
	u64 va = ib_umem_start(odp->umem) + ((u64)first << PAGE_SHIFT);
	long ret;

	ret = ib_umem_odp_map_dma_and_lock(odp->umem, va, (u64)n << PAGE_SHIFT,
					   write ? HMM_PFN_WRITE : 0,
					   fetch);
	if (ret < 0)
		return ret;
	ret = mrc_odp_publish(odp, first, n);
	mutex_unlock(&odp->umem->umem_mutex);
	return ret;
}

/* The kernel takes pages back. */
static bool mrc_odp_invalidate(struct mmu_interval_notifier *mni,
			       const struct mmu_notifier_range *range,
			       unsigned long seq)
{
	struct ib_umem_odp *umem = container_of(mni, struct ib_umem_odp,
						notifier);
	unsigned long start, end, i, last;
	/* NULL while the region is being created: no page is present. */
	struct mrc_odp *odp = READ_ONCE(umem->private);
	u64 n = 0;

	if (!mmu_notifier_range_blockable(range))
		return false;
	start = max_t(u64, ib_umem_start(umem), range->start);
	end = min_t(u64, ib_umem_end(umem), range->end);

	mutex_lock(&umem->umem_mutex);
	mmu_interval_set_seq(mni, seq);
	i = (start - ib_umem_start(umem)) >> PAGE_SHIFT;
	last = (end - ib_umem_start(umem) + PAGE_SIZE - 1) >> PAGE_SHIFT;
	if (odp)
		n = mrc_odp_clear(odp, i, last);
	ib_umem_odp_unmap_dma_pages(umem, start, end);
	mutex_unlock(&umem->umem_mutex);
	if (n)
		atomic64_add(n, &odp->invalidations);
	return true;
}

const struct mmu_interval_notifier_ops mrc_odp_mn_ops = {
	.invalidate = mrc_odp_invalidate,
};

#endif
