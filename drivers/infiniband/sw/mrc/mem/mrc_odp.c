// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* On-demand paging, see mrc_mem.h. */
#include <linux/hmm.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_umem_odp.h>

#include "mrc_mr.h"

#ifdef CONFIG_INFINIBAND_MRC_ODP

/* --- waiting ------------------------------------------------------------------ */

void mrc_odp_dev_init(struct mrc_odp_dev *odev)
{
	spin_lock_init(&odev->wait_lock);
	INIT_LIST_HEAD(&odev->waiters);
}

int mrc_odp_wait(struct mrc_odp_dev *odev, struct mrc_odp_waiter *w, u32 seq)
{
	int ret = 0;

	spin_lock_bh(&odev->wait_lock);
	if (!list_empty(&w->node))
		ret = -EALREADY;
	else if (odev->seq != seq)
		ret = -EAGAIN;
	else
		list_add_tail(&w->node, &odev->waiters);
	spin_unlock_bh(&odev->wait_lock);
	return ret;
}

bool mrc_odp_unwait(struct mrc_odp_dev *odev, struct mrc_odp_waiter *w)
{
	bool was;

	spin_lock_bh(&odev->wait_lock);
	was = !list_empty(&w->node);
	list_del_init(&w->node);
	spin_unlock_bh(&odev->wait_lock);
	return was;
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

/* --- pages ---------------------------------------------------------------------- */

enum {
	MRC_ODP_RANGES	= 16,	/* requested ranges that wait to be fetched */
	MRC_ODP_CHUNK	= 64,	/* pages fetched in one go */
	MRC_ODP_SWEEP	= 1024,	/* entries cleared per lock hold */
	MRC_ODP_FAILS	= 16,	/* latest failures that are remembered */
};

/*
 * Lower bits of an entry; the bits above hold the page frame number. A page that was
 * written is marked dirty when it is released, because no page table records the write.
 * The RDMA core does that only for devices with DMA.
 */
#define MRC_ODP_VALID	1ul	/* the page is present */
#define MRC_ODP_WRITE	2ul	/* and may be written */
#define MRC_ODP_DIRTY	4ul	/* and was written, or is about to be */
#define MRC_ODP_SHIFT	3
#define MRC_ODP_DIRTY_BIT	2

static unsigned long mrc_odp_need(bool write)
{
	return MRC_ODP_VALID | (write ? MRC_ODP_WRITE : 0);
}

/**
 * struct mrc_odp_range - a range of pages that was requested, or that failed
 * @first: first page
 * @last: last page, included
 * @who: QPN of the requesting QP, 0 = no QP
 * @write: for writing
 * @at: time of the failure, jiffies
 *
 * A failure is reported once, to the QP that made the request, and to no other: the
 * memory may exist when another QP needs it.
 */
struct mrc_odp_range {
	unsigned long first;
	unsigned long last;
	u32 who;
	bool write;
	unsigned long at;
};

/**
 * struct mrc_odp - memory of a paged region
 * @ref: one for each region, and one for the work item while it is queued
 * @regions: regions only; when it is 0 no more pages are fetched
 * @dev: the device, with a reference to its memory
 * @umem: the RDMA core's part
 * @pages: (bh) read: pages stay in place; write: pages are added or removed. Readers may
 *	take it recursively, because they always run with bottom halves disabled
 * @entry: pages, @n of them. Written under @pages, and under umem_mutex except for DIRTY
 * @n: pages
 * @lock: (bh, leaf) protects the members below
 * @want: requested pages, @n_want ranges
 * @n_want: entries of @want
 * @fail: pages that could not be fetched, a ring of @n_fail entries
 * @fail_next: index of the next entry to write, the oldest one when the ring is full
 * @n_fail: valid entries of @fail
 * @since: time (ns) of the last page arrival while requests are pending, or of the
 *	first request; 0 = no request is pending
 * @work: fetches the pages
 * @rcu: delayed free, for readers of the totals
 * @faults: pages fetched for an access
 * @invalidations: pages taken back
 * @prefetched: pages fetched because a program called advise_mr
 */
struct mrc_odp {
	refcount_t ref;
	atomic_t regions;
	struct mrc_dev *dev;
	struct ib_umem_odp *umem;
	rwlock_t pages;
	unsigned long *entry;
	unsigned long n;
	spinlock_t lock;	/* leaf */
	u32 n_want;
	struct mrc_odp_range want[MRC_ODP_RANGES];
	struct mrc_odp_range fail[MRC_ODP_FAILS];
	u32 fail_next;
	u32 n_fail;
	u64 since;
	struct work_struct work;
	struct rcu_head rcu;
	atomic64_t faults;
	atomic64_t invalidations;
	atomic64_t prefetched;
};

/* Not the work queue of QPs: a program may delay its own page faults for ever. */
static struct workqueue_struct *mrc_odp_wq;

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

/* --- fetching ------------------------------------------------------------------- */

static void mrc_odp_put(struct mrc_odp *odp)
{
	struct mrc_dev *dev = odp->dev;

	if (!refcount_dec_and_test(&odp->ref))
		return;
	if (odp->entry) {
		mutex_lock(&odp->umem->umem_mutex);
		mrc_odp_clear(odp, 0, odp->n);
		mutex_unlock(&odp->umem->umem_mutex);
	}
	if (odp->umem)
		ib_umem_odp_release(odp->umem);
	kvfree(odp->entry);
	kfree_rcu(odp, rcu);
	put_device(&dev->ib.dev);
}

/* Add a range to the requests; false if there is no room. Under the lock. */
static bool mrc_odp_add_range(struct mrc_odp *odp, unsigned long first,
			      unsigned long last, bool write, u32 who)
{
	u32 i;

	lockdep_assert_held(&odp->lock);
	for (i = 0; i < odp->n_want; i++) {
		struct mrc_odp_range *w = &odp->want[i];

		/* Ranges that overlap or touch are merged. */
		if (w->write != write || w->who != who || first > w->last + 1 ||
		    last + 1 < w->first)
			continue;
		w->first = min(w->first, first);
		w->last = max(w->last, last);
		return true;
	}
	if (i == MRC_ODP_RANGES)
		return false;
	odp->want[i] = (struct mrc_odp_range){
		.first = first,
		.last = last,
		.who = who,
		.write = write,
	};
	odp->n_want++;
	return true;
}

/*
 * Request pages. If there is no room, the caller asks again later. Returns the time
 * (ns) since which no page has arrived for the waiters.
 */
static u64 mrc_odp_request(struct mrc_odp *odp, unsigned long first,
			   unsigned long last, bool write, u32 who)
{
	u64 since;

	spin_lock_bh(&odp->lock);
	mrc_odp_add_range(odp, first, last, write, who);
	if (!odp->since)
		odp->since = mrc_now();
	since = odp->since;
	spin_unlock_bh(&odp->lock);
	/* Safe: the caller's region holds a reference. */
	refcount_inc(&odp->ref);
	if (!queue_work(mrc_odp_wq, &odp->work))
		refcount_dec(&odp->ref);
	return since;
}

static bool mrc_odp_next_range(struct mrc_odp *odp, struct mrc_odp_range *w)
{
	bool any;

	spin_lock_bh(&odp->lock);
	if (!atomic_read(&odp->regions))
		odp->n_want = 0;
	any = odp->n_want;
	if (any) {
		*w = odp->want[0];
		odp->n_want--;
		memmove(odp->want, odp->want + 1,
			odp->n_want * sizeof(odp->want[0]));
	} else {
		odp->since = 0;
	}
	spin_unlock_bh(&odp->lock);
	return any;
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

/* Record that page @i could not be fetched. */
static void mrc_odp_fail(struct mrc_odp *odp, unsigned long i,
			 const struct mrc_odp_range *w)
{
	struct mrc_odp_range *f;

	if (!w->who)
		return;
	spin_lock_bh(&odp->lock);
	f = &odp->fail[(odp->fail_next + MRC_ODP_FAILS - 1) % MRC_ODP_FAILS];
	/* If this page follows the latest failure, extend that entry to save room. */
	if (!odp->n_fail || f->who != w->who || f->write != w->write ||
	    f->last + 1 != i) {
		f = &odp->fail[odp->fail_next];
		odp->fail_next = (odp->fail_next + 1) % MRC_ODP_FAILS;
		WRITE_ONCE(odp->n_fail,
			   min_t(u32, odp->n_fail + 1, MRC_ODP_FAILS));
		*f = *w;
		f->first = i;
	}
	f->last = i;
	f->at = jiffies;
	spin_unlock_bh(&odp->lock);
}

/* Did a request by @who for one of these pages fail? Each failure is reported once. */
static bool mrc_odp_failed(struct mrc_odp *odp, unsigned long first,
			   unsigned long last, bool write, u32 who)
{
	bool found = false;
	u32 i;

	if (!READ_ONCE(odp->n_fail))
		return false;
	spin_lock_bh(&odp->lock);
	for (i = 0; i < odp->n_fail; i++) {
		struct mrc_odp_range *f = &odp->fail[i];

		if (f->who != who || f->first > last || f->last < first ||
		    (f->write && !write))
			continue;
		found |= time_before(jiffies, f->at + HZ);
		f->who = 0;
	}
	spin_unlock_bh(&odp->lock);
	return found;
}

/*
 * Fetch pages; with @snapshot only find those that are present. Returns the number of
 * pages or a negative errno.
 */
static long mrc_odp_map(struct mrc_odp *odp, unsigned long first,
			unsigned long n, bool write, bool snapshot)
{
	u64 va = ib_umem_start(odp->umem) + ((u64)first << PAGE_SHIFT);
	long ret;

	ret = ib_umem_odp_map_dma_and_lock(odp->umem, va, (u64)n << PAGE_SHIFT,
					   write ? HMM_PFN_WRITE : 0,
					   !snapshot);
	if (ret < 0)
		return ret;
	ret = mrc_odp_publish(odp, first, n);
	mutex_unlock(&odp->umem->umem_mutex);
	return ret;
}

/* A page has arrived: restart the time that waiters measure from. */
static void mrc_odp_page_arrived(struct mrc_odp *odp)
{
	spin_lock_bh(&odp->lock);
	if (odp->since)
		odp->since = mrc_now();
	spin_unlock_bh(&odp->lock);
}

static void mrc_odp_wake(struct mrc_odp_dev *odev)
{
	struct mrc_odp_waiter *w;
	LIST_HEAD(list);

	spin_lock_bh(&odev->wait_lock);
	WRITE_ONCE(odev->seq, odev->seq + 1);
	list_splice_init(&odev->waiters, &list);
	/*
	 * Each waiter stays on a list until its turn, so that mrc_odp_unwait() works.
	 */
	while ((w = list_first_entry_or_null(&list, struct mrc_odp_waiter,
					     node))) {
		list_del_init(&w->node);
		spin_unlock_bh(&odev->wait_lock);
		w->wake(w);
		spin_lock_bh(&odev->wait_lock);
	}
	spin_unlock_bh(&odev->wait_lock);
}

/*
 * Fetch a range. A page that cannot be fetched must not prevent others from arriving.
 * Returns 0 or the errno of the last failure.
 */
static int mrc_odp_fetch(struct mrc_odp *odp, const struct mrc_odp_range *w,
			 atomic64_t *count)
{
	unsigned long at = w->first, n, single = 0;
	int err = 0;
	long ret;

	while (at <= w->last && atomic_read(&odp->regions)) {
		n = single ? 1 : min(w->last - at + 1,
				     (unsigned long)MRC_ODP_CHUNK);
		ret = mrc_odp_map(odp, at, n, w->write, false);
		if (ret < 0 && n > 1) {
			single = n;
			continue;
		}
		/*
		 * -EBUSY and -EAGAIN are temporary: the QP that needs the page asks
		 * again.
		 */
		if (ret < 0 && ret != -EBUSY && ret != -EAGAIN)
			mrc_odp_fail(odp, at, w);
		if (ret < 0)
			err = ret;
		else
			atomic64_add(ret, count);
		/* The program was killed during advise_mr. */
		if (fatal_signal_pending(current))
			break;
		if (single)
			single--;
		at += n;
		mrc_odp_page_arrived(odp);
		mrc_odp_wake(&odp->dev->odp);
		cond_resched();
	}
	return err;
}

static void mrc_odp_work(struct work_struct *work)
{
	struct mrc_odp *odp = container_of(work, struct mrc_odp, work);
	struct mrc_odp_range w;

	while (mrc_odp_next_range(odp, &w))
		mrc_odp_fetch(odp, &w, &odp->faults);
	mrc_odp_put(odp);
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

/* --- the kernel takes pages back -------------------------------------------------- */

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

static const struct mmu_interval_notifier_ops mrc_odp_mn_ops = {
	.invalidate = mrc_odp_invalidate,
};

/* --- regions ------------------------------------------------------------------------ */

int mrc_odp_open(struct mrc_dev *dev, struct mrc_mr *mr, u64 start)
{
	/* Huge pages are not required, but are used if present. */
	int access = mr->access & ~IB_ACCESS_HUGETLB;
	struct ib_umem_odp *umem;
	struct mrc_odp *odp;
	unsigned long i;
	int ret;

	/* The whole address space (implicit ODP). */
	if (!start && mr->length == U64_MAX)
		return -EOPNOTSUPP;
	if (mr->length > SIZE_MAX || start != (unsigned long)start)
		return -EINVAL;
	/*
	 * No memory is behind the addresses yet, but the tables have an entry for each
	 * page. The length must not decide how much memory they take.
	 */
	if (mr->length >> PAGE_SHIFT > totalram_pages())
		return -ENOMEM;
	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (!odp)
		return -ENOMEM;
	refcount_set(&odp->ref, 1);
	atomic_set(&odp->regions, 1);
	rwlock_init(&odp->pages);
	spin_lock_init(&odp->lock);
	INIT_WORK(&odp->work, mrc_odp_work);
	odp->dev = dev;
	get_device(&dev->ib.dev);

	umem = ib_umem_odp_get(&dev->ib, start, mr->length, access,
			       &mrc_odp_mn_ops);
	if (IS_ERR(umem)) {
		ret = PTR_ERR(umem);
		goto err;
	}
	odp->umem = umem;
	odp->n = (ib_umem_end(umem) - ib_umem_start(umem)) >> PAGE_SHIFT;
	/* If there is no room, the program gets an error, and the kernel kills nobody. */
	odp->entry = kvcalloc(odp->n, sizeof(*odp->entry),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN |
				      __GFP_RETRY_MAYFAIL);
	ret = -ENOMEM;
	if (!odp->entry)
		goto err;
	mutex_lock(&umem->umem_mutex);
	WRITE_ONCE(umem->private, odp);
	mutex_unlock(&umem->umem_mutex);

	for (i = 0; i < odp->n; i += MRC_ODP_SWEEP) {
		/* An unmapped page is no error until it is accessed. */
		mrc_odp_map(odp, i, min(odp->n - i,
					(unsigned long)MRC_ODP_SWEEP),
			    false, true);
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			goto err;
		}
		cond_resched();
	}
	mr->odp = odp;
	mr->offset = start & ~PAGE_MASK;
	mr->n_pages = odp->n;
	/*
	 * Wait for packets that did not check for paged regions because there were
	 * none.
	 */
	if (atomic_inc_return(&dev->odp.n) == 1)
		synchronize_rcu();
	return 0;
err:
	mrc_odp_put(odp);
	return ret;
}

struct mrc_odp *mrc_odp_share(struct mrc_odp *odp)
{
	atomic_inc(&odp->regions);
	refcount_inc(&odp->ref);
	return odp;
}

void mrc_odp_close(struct mrc_odp *odp)
{
	if (!odp)
		return;
	if (atomic_dec_and_test(&odp->regions))
		atomic_dec(&odp->dev->odp.n);
	mrc_odp_put(odp);
}

void mrc_odp_stat(const struct mrc_odp *odp, struct mrc_odp_stat *stat)
{
	stat->faults = atomic64_read(&odp->faults);
	stat->invalidations = atomic64_read(&odp->invalidations);
	stat->prefetched = atomic64_read(&odp->prefetched);
}

/* --- advice ------------------------------------------------------------------------- */

/* Find the pages of @sg. Returns their memory with a reference, or ERR_PTR. */
static struct mrc_odp *mrc_advise_range(struct ib_pd *pd,
					const struct ib_sge *sg,
					struct mrc_odp_range *w)
{
	struct mrc_odp *odp = ERR_PTR(-EINVAL);
	struct mrc_mr *mr;
	u64 pos;

	mr = mrc_mr_get_local(to_mdev(pd->device), pd, sg->lkey, sg->addr,
			      sg->length, 0);
	if (IS_ERR(mr))
		return PTR_ERR(mr) == -EINVAL ? ERR_PTR(-ENOENT) :
						ERR_PTR(-EFAULT);
	if (w->write && !ib_access_writable(mr->access)) {
		odp = ERR_PTR(-EPERM);
	} else if (mr->odp) {
		pos = sg->addr - mr->iova + mr->offset;
		w->first = pos >> PAGE_SHIFT;
		w->last = (pos + sg->length - 1) >> PAGE_SHIFT;
		odp = mr->odp;
		/*
		 * Do not hold @mr while pages are fetched: deregistration waits for it.
		 */
		refcount_inc(&odp->ref);
	}
	mrc_mr_put(mr);
	return odp;
}

static int mrc_advise(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		      bool now, const struct ib_sge *sg)
{
	struct mrc_odp_range w = {
		.write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
	};
	struct mrc_odp *odp = mrc_advise_range(pd, sg, &w);
	unsigned long i, n;
	int ret = 0;
	long found;

	if (IS_ERR(odp))
		return PTR_ERR(odp);
	if (advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) {
		for (i = w.first; i <= w.last; i += n) {
			n = min(w.last - i + 1, (unsigned long)MRC_ODP_CHUNK);
			found = mrc_odp_map(odp, i, n, false, true);
			if (found > 0)
				atomic64_add(found, &odp->prefetched);
			cond_resched();
		}
		mrc_odp_wake(&odp->dev->odp);
	} else if (now) {
		ret = mrc_odp_fetch(odp, &w, &odp->prefetched);
	} else {
		mrc_odp_request(odp, w.first, w.last, w.write, 0);
	}
	mrc_odp_put(odp);
	return ret;
}

int mrc_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		  u32 flags, struct ib_sge *sg, u32 n,
		  struct uverbs_attr_bundle *attrs)
{
	u32 i;
	int ret;

	if (advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH &&
	    advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
	    advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EOPNOTSUPP;
	for (i = 0; i < n; i++) {
		if (!sg[i].length)
			continue;
		ret = mrc_advise(pd, advice,
				 flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH, &sg[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/* --- module ------------------------------------------------------------------------- */

void mrc_odp_query(struct ib_device_attr *attr, bool ext)
{
	struct ib_odp_caps *caps = &attr->odp_caps;

	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	caps->general_caps = IB_ODP_SUPPORT;
	caps->per_transport_caps.rc_odp_caps = IB_ODP_SUPPORT_WRITE;
	caps->per_transport_caps.ud_odp_caps = IB_ODP_SUPPORT_SEND |
					       IB_ODP_SUPPORT_RECV |
					       IB_ODP_SUPPORT_SRQ_RECV;
	if (ext)
		caps->per_transport_caps.rc_odp_caps |=
			IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
			IB_ODP_SUPPORT_READ | IB_ODP_SUPPORT_ATOMIC |
			IB_ODP_SUPPORT_SRQ_RECV | IB_ODP_SUPPORT_FLUSH |
			IB_ODP_SUPPORT_ATOMIC_WRITE;
}

bool mrc_odp_queue(struct work_struct *work)
{
	return queue_work(mrc_odp_wq, work);
}

int mrc_odp_init(void)
{
	/*
	 * High priority, to run before QPs that ask for the same pages again and again.
	 * As many work items as possible, because some may have to wait for programs.
	 */
	mrc_odp_wq = alloc_workqueue("mrc_odp", WQ_UNBOUND | WQ_HIGHPRI,
				     WQ_MAX_ACTIVE);
	return mrc_odp_wq ? 0 : -ENOMEM;
}

void mrc_odp_exit(void)
{
	destroy_workqueue(mrc_odp_wq);
}

#endif
