// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions: pinned user memory, keys, and the check that every access
 * goes through.
 */
#include <linux/highmem.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "mrc.h"

/* What is accepted; READ and ATOMIC have no operations that would use them. */
#define MRC_MR_ACCESS							\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |		\
	 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |		\
	 IB_ZERO_BASED | IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

#define MRC_KEY_TRIES	64

struct mrc_mr *mrc_mr_get(struct mrc_dev *dev, const struct ib_pd *pd, u32 key,
			  u64 va, u64 len, int access)
{
	struct mrc_mr *mr;
	int ret;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, key >> 8);
	if (mr && !refcount_inc_not_zero(&mr->ref))
		mr = NULL;
	rcu_read_unlock();
	if (!mr)
		return ERR_PTR(-EINVAL);

	if (mr->ib.lkey != key || mr->ib.pd != pd)
		ret = -EINVAL;
	else if ((mr->access & access) != access)
		ret = -EACCES;
	else if (va < mr->iova || va - mr->iova > mr->length ||
		 len > mr->length - (va - mr->iova))
		ret = -ERANGE;
	else
		return mr;

	mrc_mr_put(mr);
	return ERR_PTR(ret);
}

void mrc_mr_put(struct mrc_mr *mr)
{
	if (refcount_dec_and_test(&mr->ref))
		complete(&mr->released);
}

struct page *mrc_mr_page(const struct mrc_mr *mr, u64 va, u32 *off, u32 *room)
{
	u64 pos = va - mr->iova + mr->offset;

	*off = offset_in_page(pos);
	*room = PAGE_SIZE - *off;
	return mr->pages[pos >> PAGE_SHIFT];
}

/*
 * Programs that use MRC look for small records in memory: as soon as one word
 * has changed, they take those before it for new. So up to this many bytes are
 * stored in ascending order, and of more than that the last ones.
 */
enum {
	MRC_ORDERED	= 512,
	MRC_ORDERED_END	= 64,
};

/* How the stores of a copy become visible. */
enum mrc_copy {
	MRC_COPY_ANY,
	MRC_COPY_ASCENDING,
};

/* One store of @n bytes, a power of two up to 8 to which @to is aligned. */
static void mrc_store(void *to, const u8 *from, u32 n)
{
	/* Pairs with the program's reads, in whatever way it orders them. */
	smp_wmb();
	switch (n) {
	case 1:
		WRITE_ONCE(*(u8 *)to, *from);
		break;
	case 2:
		WRITE_ONCE(*(u16 *)to, get_unaligned((const u16 *)from));
		break;
	case 4:
		WRITE_ONCE(*(u32 *)to, get_unaligned((const u32 *)from));
		break;
	default:
		WRITE_ONCE(*(u64 *)to, get_unaligned((const u64 *)from));
		break;
	}
}

/* Units of 8 bytes where addresses allow, and smaller ones at the ends. */
static void mrc_store_ascending(u8 *to, const u8 *from, u32 len)
{
	while (len) {
		u32 n = 8;

		while (n > len || !IS_ALIGNED((unsigned long)to, n))
			n /= 2;
		mrc_store(to, from, n);
		to += n;
		from += n;
		len -= n;
	}
}

static int mrc_copy_ascending(u8 *to, const struct sk_buff *skb, int off,
			      u32 len)
{
	u8 buf[MRC_ORDERED_END];

	while (len) {
		u32 n = min_t(u32, len, sizeof(buf));
		const u8 *from = skb_header_pointer(skb, off, n, buf);

		if (!from)
			return -EFAULT;
		mrc_store_ascending(to, from, n);
		to += n;
		off += n;
		len -= n;
	}
	return 0;
}

static int mrc_mr_copy_part(struct mrc_mr *mr, u64 va,
			    const struct sk_buff *skb, int off, u32 len,
			    enum mrc_copy how)
{
	int ret = 0;

	while (len && !ret) {
		u32 poff, room;
		struct page *page = mrc_mr_page(mr, va, &poff, &room);
		void *p = kmap_local_page(page);

		room = min(room, len);
		if (how == MRC_COPY_ASCENDING)
			ret = mrc_copy_ascending(p + poff, skb, off, room);
		else
			ret = skb_copy_bits(skb, off, p + poff, room);
		kunmap_local(p);
		va += room;
		off += room;
		len -= room;
	}
	return ret;
}

int mrc_mr_copy_from_skb(struct mrc_mr *mr, u64 va, const struct sk_buff *skb,
			 int off, u32 len)
{
	u32 bulk = len > MRC_ORDERED ? len - MRC_ORDERED_END : 0;
	int ret;

	ret = mrc_mr_copy_part(mr, va, skb, off, bulk, MRC_COPY_ANY);
	if (ret)
		return ret;
	return mrc_mr_copy_part(mr, va + bulk, skb, off + bulk, len - bulk,
				MRC_COPY_ASCENDING);
}

/* Pin the memory and list its pages. */
static int mrc_mr_pin(struct mrc_mr *mr, struct ib_device *ib, u64 start)
{
	struct sg_page_iter iter;
	unsigned long i = 0;

	mr->umem = ib_umem_get_va(ib, start, mr->length, mr->access);
	if (IS_ERR(mr->umem)) {
		int ret = PTR_ERR(mr->umem);

		mr->umem = NULL;
		return ret;
	}
	mr->offset = ib_umem_offset(mr->umem);
	mr->n_pages = ib_umem_num_pages(mr->umem);
	/* A length that nobody can serve is no reason for a backtrace. */
	mr->pages = kvmalloc_array(mr->n_pages, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mr->pages)
		return -ENOMEM;
	for_each_sgtable_page(&mr->umem->sgt_append.sgt, &iter, 0) {
		if (i == mr->n_pages)
			break;
		mr->pages[i++] = sg_page_iter_page(&iter);
	}
	return i == mr->n_pages ? 0 : -EFAULT;
}

/* An unpredictable key (index and low bits) that nobody has. */
static int mrc_mr_hash(struct mrc_dev *dev, struct mrc_mr *mr)
{
	int tries, ret = -EBUSY;

	for (tries = 0; tries < MRC_KEY_TRIES && ret == -EBUSY; tries++) {
		u32 key = get_random_u32();

		if (!(key >> 8))
			continue;
		mr->ib.lkey = key;
		mr->ib.rkey = key;
		ret = xa_insert(&dev->mrs, key >> 8, mr, GFP_KERNEL_ACCOUNT);
	}
	return ret == -EBUSY ? -ENOSPC : ret;
}

static void mrc_mr_free(struct mrc_dev *dev, struct mrc_mr *mr)
{
	kvfree(mr->pages);
	ib_umem_release(mr->umem);
	atomic_dec(&dev->n_mr);
	kfree_rcu(mr, rcu);
}

struct ib_mr *mrc_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			      u64 virt_addr, int access, struct ib_dmah *dmah,
			      struct ib_udata *udata)
{
	struct mrc_dev *dev = to_mdev(pd->device);
	struct mrc_mr *mr;
	int ret;

	if (dmah || access & ~MRC_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	ret = mrc_udata_in(udata, NULL, 0);
	if (ret)
		return ERR_PTR(ret);
	if (access & IB_ZERO_BASED)
		virt_addr = 0;
	/* The last byte may be the last of the address space. */
	if (length && virt_addr + length - 1 < virt_addr)
		return ERR_PTR(-EINVAL);

	ret = mrc_count(&dev->n_mr, MRC_MAX_MR);
	if (ret)
		return ERR_PTR(ret);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		atomic_dec(&dev->n_mr);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&mr->ref, 1);
	init_completion(&mr->released);
	mr->ib.device = pd->device;
	mr->ib.pd = pd;
	mr->iova = virt_addr;
	mr->length = length;
	mr->access = access;

	if (length)
		ret = mrc_mr_pin(mr, pd->device, start);
	if (!ret)
		ret = mrc_mr_hash(dev, mr);
	if (ret) {
		mrc_mr_free(dev, mr);
		return ERR_PTR(ret);
	}
	return &mr->ib;
}

static int mrc_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct mrc_dev *dev = to_mdev(ibmr->device);
	struct mrc_mr *mr = to_mmr(ibmr);

	xa_erase(&dev->mrs, ibmr->lkey >> 8);
	mrc_mr_put(mr);
	/* Users hold references for the length of one packet only. */
	wait_for_completion(&mr->released);
	mrc_mr_free(dev, mr);
	return 0;
}

const struct ib_device_ops mrc_mr_ops = {
#ifdef HAVE_REG_USER_MR_DMAH
	.reg_user_mr = mrc_reg_user_mr,
#else
	.reg_user_mr = mrc_compat_reg_user_mr,
#endif
	.dereg_mr = mrc_dereg_mr,
};
