// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Regions that are paged on demand, see mrc_mem.h. */
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "mrc_odp_priv.h"

#ifdef CONFIG_INFINIBAND_MRC_ODP

int mrc_odp_open(struct mrc_dev *dev, struct mrc_mr *mr, u64 start)
{
	/* Huge pages are not required, but are used if present. */
	int access = mr->access & ~IB_ACCESS_HUGETLB;
	struct mrc_odp_prog *prog;
	struct mrc_odp_pool *pool;
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
	INIT_LIST_HEAD(&odp->node);
	odp->dev = dev;
	get_device(&dev->ib.dev);

	umem = ib_umem_odp_get(&dev->ib, start, mr->length, access,
			       &mrc_odp_mn_ops);
	if (IS_ERR(umem)) {
		ret = PTR_ERR(umem);
		goto err;
	}
	odp->umem = umem;
	pool = mrc_odp_pool_get(&dev->odp);
	if (IS_ERR(pool)) {
		ret = PTR_ERR(pool);
		goto err;
	}
	odp->pool = pool;
	prog = mrc_odp_prog_get();
	if (IS_ERR(prog)) {
		ret = PTR_ERR(prog);
		goto err;
	}
	odp->prog = prog;
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
			    false, false);
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
	if (atomic_dec_and_test(&odp->regions)) {
		atomic_dec(&odp->dev->odp.n);
		if (mrc_odp_forget(odp))
			mrc_odp_put(odp);
	}
	mrc_odp_put(odp);
}

void mrc_odp_stat(const struct mrc_odp *odp, struct mrc_odp_stat *stat)
{
	stat->faults = atomic64_read(&odp->faults);
	stat->invalidations = atomic64_read(&odp->invalidations);
	stat->prefetched = atomic64_read(&odp->prefetched);
}

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
			found = mrc_odp_map(odp, i, n, false, false);
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

#endif
