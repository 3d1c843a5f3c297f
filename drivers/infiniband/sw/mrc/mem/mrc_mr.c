// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys: the table, the check of every access, and the lives of the memory. See
 * mrc_mem.h.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "mrc_mr.h"
#include "compat/mrc_compat_mr.h"

#define MRC_KEY_TRIES	64

/* Rights that only the peer needs, not the work requests of this side. */
#define MRC_ACCESS_REMOTE						\
	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |		\
	 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_FLUSH_GLOBAL)

/* Is @va kernel memory that has a struct page? */
static bool mrc_kva_ok(u64 va)
{
	return va == (unsigned long)va &&
	       virt_addr_valid((void *)(unsigned long)va);
}

/* Is [va, va + len) within @mr? */
static int mrc_mr_range(const struct mrc_mr *mr, u64 va, u64 len)
{
	if (va < mr->iova || va - mr->iova > mr->length ||
	    len > mr->length - (va - mr->iova))
		return -ERANGE;
	/*
	 * With the DMA region an address may be anything. A packet's range has at most
	 * two pages, so checking both ends covers it. Consumers in the kernel are
	 * trusted to name memory of their own.
	 */
	if (mr->kind == MRC_MR_DMA && len &&
	    (!mrc_kva_ok(va) || !mrc_kva_ok(va + len - 1)))
		return -ERANGE;
	return 0;
}

/* Check a life to which the caller holds a reference. */
static int mrc_mr_check(const struct mrc_mr *mr, const struct ib_pd *pd,
			u32 key, int access)
{
	if (mr->key != key || mr->pd != pd ||
	    READ_ONCE(mr->state) != MRC_MR_VALID)
		return -EINVAL;
	if (mr->kind >= MRC_MR_WINDOW_1 && !(access & MRC_ACCESS_REMOTE))
		return -EINVAL;	/* treated like an lkey that does not exist */
	return (mr->access & access) == access ? 0 : -EACCES;
}

/*
 * The memory with the index of @key, or NULL. Under RCU.
 *
 * Indices are scattered over 24 bits, so a look-up in the xarray takes four steps. Most
 * programs use a few regions. These are found in the first step, unless a later region
 * has taken their place.
 */
static struct mrc_mr *mrc_mr_load(struct mrc_dev *dev, u32 key)
{
	u32 index = key >> 8;
	struct mrc_mr *mr;

	mr = rcu_dereference(dev->mr_recent[index % MRC_MR_RECENT]);
	if (mr && mr->index == index)
		return mr;
	return xa_load(&dev->mrs, index);
}

void mrc_mr_set_recent(struct mrc_dev *dev, struct mrc_mr *mr)
{
	rcu_assign_pointer(dev->mr_recent[mr->index % MRC_MR_RECENT], mr);
}

/* Another struct that has taken the place stays. */
static void mrc_mr_clear_recent(struct mrc_dev *dev, struct mrc_mr *mr)
{
	u32 i = mr->index % MRC_MR_RECENT;

	(void)unrcu_pointer(cmpxchg(&dev->mr_recent[i], RCU_INITIALIZER(mr), NULL));
}

/* The current memory of @key, with a reference, or NULL. Under RCU. */
static struct mrc_mr *mrc_mr_lookup(struct mrc_dev *dev, u32 key)
{
	struct mrc_mr *mr = mrc_mr_load(dev, key), *dead;

	while (mr && !refcount_inc_not_zero(&mr->ref)) {
		dead = mr;
		/*
		 * On re-registration the new struct was stored in both tables before
		 * the old one ended.
		 */
		smp_rmb();
		mr = mrc_mr_load(dev, key);
		if (mr == dead)
			return NULL;
	}
	return mr;
}

/* The memory of @key with a reference, without a check of the range. */
static struct mrc_mr *mrc_mr_find(struct mrc_dev *dev, const struct ib_pd *pd,
				  u32 key, int access)
{
	struct mrc_mr *mr;
	int ret;

	rcu_read_lock();
	mr = mrc_mr_lookup(dev, key);
	rcu_read_unlock();
	if (!mr)
		return ERR_PTR(-EINVAL);
	/* Pairs with mrc_mr_begin(): values set before it are visible. */
	smp_mb__after_atomic();

	ret = mrc_mr_check(mr, pd, key, access);
	if (!ret)
		return mr;
	mrc_mr_put(mr);
	return ERR_PTR(ret);
}

/* @mr, or an ERR_PTR if [va, va + len) is not within it. @mr may be an ERR_PTR. */
static struct mrc_mr *mrc_mr_within(struct mrc_mr *mr, u64 va, u64 len)
{
	int ret = IS_ERR(mr) ? 0 : mrc_mr_range(mr, va, len);

	if (!ret)
		return mr;
	mrc_mr_put(mr);
	return ERR_PTR(ret);
}

struct mrc_mr *mrc_mr_get_local(struct mrc_dev *dev, const struct ib_pd *pd,
				u32 key, u64 va, u64 len, int access)
{
	return mrc_mr_within(mrc_mr_find(dev, pd, key, access), va, len);
}

struct mrc_mr *mrc_mr_get_remote(struct mrc_dev *dev, const struct ib_pd *pd,
				 u32 key, u64 va, u64 len, int access)
{
	struct mrc_mr *mr = mrc_mr_find(dev, pd, key, access);

	if (IS_ERR(mr) || mr->kind != MRC_MR_WINDOW_2)
		return mrc_mr_within(mr, va, len);
	mrc_mr_put(mr);
	return ERR_PTR(-EINVAL);
}

struct mrc_mr *mrc_mr_get_all(struct ib_qp *ibqp, u32 key, int access)
{
	struct mrc_mr *mr = mrc_mr_find(to_mdev(ibqp->device), ibqp->pd, key, access);

	if (IS_ERR(mr) || mr->kind != MRC_MR_WINDOW_2 || mrc_mw_owned(mr, ibqp))
		return mr;
	mrc_mr_put(mr);
	return ERR_PTR(-EINVAL);
}

struct mrc_mr *mrc_mr_get(struct ib_qp *ibqp, u32 key, u64 va, u64 len,
			  int access)
{
	return mrc_mr_within(mrc_mr_get_all(ibqp, key, access), va, len);
}

/* The last reference to a life is gone: the next life may begin. */
static void mrc_mr_release(struct mrc_mr *mr)
{
	struct mrc_mr *parent;

	spin_lock_bh(&mr->lock);
	WRITE_ONCE(mr->state, MRC_MR_FREE);
	parent = mr->parent;
	mr->parent = NULL;
	complete(&mr->released);
	spin_unlock_bh(&mr->lock);
	/* @mr must not be used any more. From now on the region may be deregistered. */
	if (parent)
		atomic_dec(&parent->n_windows);
}

void mrc_mr_put(struct mrc_mr *mr)
{
	if (refcount_dec_and_test(&mr->ref))
		mrc_mr_release(mr);
}

static struct page *mrc_kva_page(u64 va)
{
	return virt_to_page((void *)(unsigned long)va);
}

struct page *mrc_mr_page(const struct mrc_mr *mr, u64 va, u32 *off, u32 *room)
{
	u64 pos = va - mr->iova + mr->offset;
	u32 in;

	switch (mr->kind) {
	case MRC_MR_DMA:
		*off = offset_in_page(va);
		*room = PAGE_SIZE - *off;
		return mrc_kva_page(va);
	case MRC_MR_FAST:
		/* Its pages may be smaller or larger than the kernel's pages. */
		in = pos & ((1u << mr->page_shift) - 1);
		pos = mr->kva[pos >> mr->page_shift] + in;
		*off = offset_in_page(pos);
		*room = min_t(u32, PAGE_SIZE - *off,
			      (1u << mr->page_shift) - in);
		return mrc_kva_page(pos);
	default:
		*off = offset_in_page(pos);
		*room = PAGE_SIZE - *off;
		return mr->odp ? mrc_odp_page(mr->odp, pos >> PAGE_SHIFT) :
				 mr->pages[pos >> PAGE_SHIFT];
	}
}

struct mrc_mr *mrc_mr_alloc(enum mrc_mr_kind kind, const struct ib_pd *pd)
{
	struct mrc_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

	if (!mr)
		return NULL;
	mr->kind = kind;
	mr->pd = pd;
	spin_lock_init(&mr->lock);
	init_completion(&mr->released);
	if (mrc_mr_mortal(mr)) {
		complete(&mr->released);
	} else {
		mr->state = MRC_MR_VALID;
		refcount_set(&mr->ref, 1);
	}
	return mr;
}

int mrc_mr_hash(struct mrc_dev *dev, struct mrc_mr *mr)
{
	int tries, ret = -EBUSY;

	for (tries = 0; tries < MRC_KEY_TRIES && ret == -EBUSY; tries++) {
		u32 key = get_random_u32();

		if (!(key >> 8))
			continue;
		mr->key = key;
		mr->index = key >> 8;
		ret = xa_insert(&dev->mrs, mr->index, mr, GFP_KERNEL_ACCOUNT);
	}
	if (!ret)
		mrc_mr_set_recent(dev, mr);
	return ret == -EBUSY ? -ENOSPC : ret;
}

void mrc_mr_begin(struct mrc_mr *mr)
{
	lockdep_assert_held(&mr->lock);
	reinit_completion(&mr->released);
	WRITE_ONCE(mr->state, MRC_MR_VALID);
	/* Pairs with mrc_mr_find(). */
	smp_wmb();
	refcount_set(&mr->ref, 1);
}

bool mrc_mr_end(struct mrc_mr *mr)
{
	lockdep_assert_held(&mr->lock);
	if (mr->state != MRC_MR_VALID)
		return false;
	/*
	 * Kinds with one life are not revoked: users that found the struct before may
	 * go on using it.
	 */
	if (!mrc_mr_mortal(mr))
		return true;
	WRITE_ONCE(mr->state, MRC_MR_REVOKED);
	return true;
}

void mrc_mr_unhash(struct mrc_dev *dev, struct mrc_mr *mr)
{
	bool put;

	/* Does nothing if re-registration has put another struct in its place. */
	xa_cmpxchg(&dev->mrs, mr->index, mr, NULL, 0);
	mrc_mr_clear_recent(dev, mr);
	spin_lock_bh(&mr->lock);
	mr->gone = true;
	put = mrc_mr_end(mr);
	spin_unlock_bh(&mr->lock);
	if (put)
		mrc_mr_put(mr);
	/* Users hold references for one packet at most. */
	wait_for_completion(&mr->released);
	/* Wait until the user that dropped the last reference has released the lock. */
	spin_lock_bh(&mr->lock);
	spin_unlock_bh(&mr->lock);
}

void mrc_mr_free(struct mrc_mr *mr)
{
	kfree_rcu(mr, rcu);
}

void mrc_mr_query(const struct mrc_dev *dev, struct ib_device_attr *attr, bool ext)
{
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_mr = READ_ONCE(dev->attr.max[MRC_COUNT_MR]);
	/* Not 0 even without the extension: existing consumers divide by it. */
	attr->max_fast_reg_page_list_len = MRC_MAX_FAST_PAGES;
	mrc_odp_query(attr, ext);
	/* The rest needs work requests that MRC 1.0 does not have. */
	if (!ext)
		return;
	attr->max_mw = READ_ONCE(dev->attr.max[MRC_COUNT_MW]);
	attr->device_cap_flags |= IB_DEVICE_MEM_WINDOW |
				  IB_DEVICE_MEM_WINDOW_TYPE_2B |
				  IB_DEVICE_MEM_MGT_EXTENSIONS |
				  IB_DEVICE_FLUSH_GLOBAL;
}

const struct ib_device_ops mrc_mr_ops = {
#ifdef HAVE_REG_USER_MR_DMAH
	.reg_user_mr = mrc_reg_user_mr,
#else
	.reg_user_mr = mrc_compat_reg_user_mr,
#endif
	.rereg_user_mr = mrc_rereg_user_mr,
	.get_dma_mr = mrc_get_dma_mr,
	.alloc_mr = mrc_alloc_mr,
	.map_mr_sg = mrc_map_mr_sg,
	.dereg_mr = mrc_dereg_mr,
	.alloc_mw = mrc_alloc_mw,
	.dealloc_mw = mrc_dealloc_mw,
#ifdef CONFIG_INFINIBAND_MRC_ODP
	.advise_mr = mrc_advise_mr,
#endif
	.fill_res_mr_entry = mrc_fill_res_mr_entry,
	.fill_stat_mr_entry = mrc_fill_stat_mr_entry,

	INIT_RDMA_OBJ_SIZE(ib_mw, mrc_ibmw, ib),
};
