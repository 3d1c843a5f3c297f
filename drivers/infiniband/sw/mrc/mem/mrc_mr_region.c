// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions as ib_core sees them: pinned memory of programs, the DMA region (all kernel
 * memory), and allocation of regions for fast registration (mrc_mr_fast.c).
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "mrc_mr.h"

#ifdef CONFIG_INFINIBAND_MRC_ODP
#define MRC_ACCESS_PAGED	IB_ACCESS_ON_DEMAND
#else
#define MRC_ACCESS_PAGED	0
#endif

/*
 * Access flags accepted. Relaxed ordering and all other optional flags have no effect.
 */
#define MRC_MR_ACCESS							\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |		\
	 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |		\
	 IB_ACCESS_MW_BIND | IB_ZERO_BASED | IB_ACCESS_HUGETLB |	\
	 IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_OPTIONAL | MRC_ACCESS_PAGED)

/* Access flags of the DMA region. */
#define MRC_DMA_ACCESS							\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |		\
	 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* The last byte may be the last one of the address space. */
static bool mrc_range_ok(u64 va, u64 length)
{
	return !length || va + length - 1 >= va;
}

/*
 * Pin memory and list its pages in @mr, or set up paging if requested. Returns the
 * umem, NULL if paged, or an ERR_PTR.
 */
static struct ib_umem *mrc_mr_pin(struct ib_device *ib, struct mrc_mr *mr,
				  u64 start)
{
	struct sg_page_iter iter;
	struct ib_umem *umem;
	unsigned long i = 0;
	int ret = -ENOMEM;

	if (mr->access & IB_ACCESS_ON_DEMAND) {
		ret = mrc_odp_open(to_mdev(ib), mr, start);
		return ret ? ERR_PTR(ret) : NULL;
	}
	umem = ib_umem_get_va(ib, start, mr->length, mr->access);
	if (IS_ERR(umem))
		return umem;
	mr->offset = ib_umem_offset(umem);
	mr->n_pages = ib_umem_num_pages(umem);
	/*
	 * The length may be too large to allocate; do not print a backtrace for that.
	 */
	mr->pages = kvmalloc_array(mr->n_pages, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mr->pages)
		goto err;
	for_each_sgtable_page(&umem->sgt_append.sgt, &iter, 0) {
		if (i == mr->n_pages)
			break;
		mr->pages[i++] = sg_page_iter_page(&iter);
	}
	if (i == mr->n_pages)
		return umem;
	ret = -EFAULT;
	kvfree(mr->pages);
	mr->pages = NULL;
err:
	ib_umem_release(umem);
	return ERR_PTR(ret);
}

/*
 * A region with no memory yet. Regions of programs are counted against the limit; those
 * of consumers in the kernel are not, so that programs cannot exhaust them.
 */
static struct mrc_ibmr *mrc_ibmr_alloc(struct ib_pd *pd, enum mrc_mr_kind kind)
{
	struct mrc_dev *dev = to_mdev(pd->device);
	struct mrc_ibmr *ibmr;
	int ret;

	if (kind == MRC_MR_USER) {
		ret = mrc_count(dev, MRC_COUNT_MR);
		if (ret)
			return ERR_PTR(ret);
	}
	ibmr = kzalloc(sizeof(*ibmr), GFP_KERNEL_ACCOUNT);
	if (!ibmr)
		goto err;
	ibmr->mr = mrc_mr_alloc(kind, pd);
	if (!ibmr->mr)
		goto err;
	ibmr->ib.device = pd->device;
	ibmr->ib.pd = pd;
	return ibmr;
err:
	kfree(ibmr);
	if (kind == MRC_MR_USER)
		mrc_uncount(dev, MRC_COUNT_MR);
	return ERR_PTR(-ENOMEM);
}

/* Free a region, also a partly initialized one. Its key is not in the table. */
static void mrc_ibmr_free(struct mrc_ibmr *ibmr)
{
	if (ibmr->mr->kind == MRC_MR_USER)
		mrc_uncount(to_mdev(ibmr->ib.device), MRC_COUNT_MR);
	if (ibmr->mr->kind == MRC_MR_FAST)
		kvfree(ibmr->mr->kva);
	else
		kvfree(ibmr->mr->pages);
	mrc_odp_close(ibmr->mr->odp);
	kvfree(ibmr->staged);
	ib_umem_release(ibmr->umem);
	mrc_mr_free(ibmr->mr);
	kfree(ibmr);
}

/* Give it a key and add it to the table; on failure free it. */
static struct ib_mr *mrc_ibmr_hash(struct mrc_ibmr *ibmr)
{
	int ret = mrc_mr_hash(to_mdev(ibmr->ib.device), ibmr->mr);

	if (ret) {
		mrc_ibmr_free(ibmr);
		return ERR_PTR(ret);
	}
	ibmr->ib.lkey = ibmr->mr->key;
	ibmr->ib.rkey = ibmr->mr->key;
	return &ibmr->ib;
}

struct ib_mr *mrc_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			      u64 virt_addr, int access, struct ib_dmah *dmah,
			      struct ib_udata *udata)
{
	struct mrc_ibmr *ibmr;
	struct mrc_mr *mr;
	int ret;

	if (dmah || access & ~MRC_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	ret = mrc_udata_in(udata, NULL, 0);
	if (ret)
		return ERR_PTR(ret);
	if (access & IB_ZERO_BASED)
		virt_addr = 0;
	if (!mrc_range_ok(virt_addr, length))
		return ERR_PTR(-EINVAL);

	ibmr = mrc_ibmr_alloc(pd, MRC_MR_USER);
	if (IS_ERR(ibmr))
		return ERR_CAST(ibmr);
	mr = ibmr->mr;
	mr->iova = virt_addr;
	mr->length = length;
	mr->access = access;
	if (length) {
		struct ib_umem *umem = mrc_mr_pin(pd->device, mr, start);

		if (IS_ERR(umem)) {
			mrc_ibmr_free(ibmr);
			return ERR_CAST(umem);
		}
		ibmr->umem = umem;
	}
	return mrc_ibmr_hash(ibmr);
}

/*
 * Get the memory of a re-registered region: new memory at @start with @trans, else the
 * old memory. Returns the umem if memory was pinned for @mr, NULL if the old memory is
 * used or the new memory is paged or empty, or an ERR_PTR.
 */
static struct ib_umem *mrc_rereg_memory(struct mrc_ibmr *ibmr,
					struct mrc_mr *mr, bool trans,
					u64 start)
{
	struct ib_umem *umem = ibmr->umem;

	if (trans)
		return mr->length ? mrc_mr_pin(ibmr->ib.device, mr, start) :
				    NULL;
	if (umem && ib_access_writable(mr->access) && !umem->writable) {
		/* The pages may be shared copy-on-write: pin again, for writing. */
		if (umem->owning_mm != current->mm)
			return ERR_PTR(-EINVAL);
		return mrc_mr_pin(ibmr->ib.device, mr, umem->address);
	}
	mr->offset = ibmr->mr->offset;
	mr->n_pages = ibmr->mr->n_pages;
	mr->pages = ibmr->mr->pages;
	if (ibmr->mr->odp)
		mr->odp = mrc_odp_share(ibmr->mr->odp);
	return NULL;
}

/*
 * Re-register in place: the keys stay, and a packet finds either the old region or the
 * new one. The RDMA core prevents concurrent use of @ib.
 */
struct ib_mr *mrc_rereg_user_mr(struct ib_mr *ib, int flags, u64 start,
				u64 length, u64 virt_addr, int access,
				struct ib_pd *pd, struct ib_udata *udata)
{
	struct mrc_ibmr *ibmr = to_mibmr(ib);
	struct mrc_mr *old = ibmr->mr, *mr;
	bool trans = flags & IB_MR_REREG_TRANS;
	struct ib_umem *umem;
	bool keep;
	int ret;

	if (flags & ~IB_MR_REREG_SUPPORTED || old->kind != MRC_MR_USER)
		return ERR_PTR(-EOPNOTSUPP);
	ret = mrc_udata_in(udata, NULL, 0);
	if (ret)
		return ERR_PTR(ret);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = old->access;
	if (access & ~MRC_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	/* Memory that is kept stays pinned or paged as it is. */
	if (!trans && (access ^ old->access) & IB_ACCESS_ON_DEMAND)
		return ERR_PTR(-EOPNOTSUPP);

	mr = mrc_mr_alloc(MRC_MR_USER, flags & IB_MR_REREG_PD ? pd : old->pd);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->key = old->key;
	mr->index = old->index;
	mr->access = access;
	mr->length = trans ? length : old->length;
	mr->iova = trans ? virt_addr : old->iova;
	if (trans && access & IB_ZERO_BASED)
		mr->iova = 0;
	ret = -EINVAL;
	if (!mrc_range_ok(mr->iova, mr->length))
		goto err;
	umem = mrc_rereg_memory(ibmr, mr, trans, start);
	if (IS_ERR(umem)) {
		ret = PTR_ERR(umem);
		goto err;
	}
	keep = !umem && !trans;

	/* Refuse while windows are bound: they would keep showing the old region. */
	ret = -EBUSY;
	if (atomic_cmpxchg(&old->n_windows, 0, -1))
		goto err_memory;
	/* Allocates nothing: the entry exists. */
	ret = xa_err(xa_store(&to_mdev(ib->device)->mrs, mr->index, mr,
			      GFP_KERNEL_ACCOUNT));
	if (ret) {
		atomic_set(&old->n_windows, 0);
		goto err_memory;
	}
	/* Before the old struct ends, see mrc_mr_lookup(). */
	mrc_mr_set_recent(to_mdev(ib->device), mr);
	WRITE_ONCE(ibmr->mr, mr);
	mrc_mr_unhash(to_mdev(ib->device), old);
	if (!keep) {
		kvfree(old->pages);
		ib_umem_release(ibmr->umem);
		ibmr->umem = umem;
	}
	mrc_odp_close(old->odp);
	mrc_mr_free(old);
	return NULL;

err_memory:
	mrc_odp_close(mr->odp);
	if (!keep) {
		kvfree(mr->pages);
		ib_umem_release(umem);
	}
err:
	mrc_mr_free(mr);
	return ERR_PTR(ret);
}

struct ib_mr *mrc_get_dma_mr(struct ib_pd *pd, int access)
{
	struct mrc_ibmr *ibmr;

	/* Without virtual DMA, DMA addresses are not kernel addresses. */
	if (access & ~MRC_DMA_ACCESS || !ib_uses_virt_dma(pd->device))
		return ERR_PTR(-EOPNOTSUPP);
	ibmr = mrc_ibmr_alloc(pd, MRC_MR_DMA);
	if (IS_ERR(ibmr))
		return ERR_CAST(ibmr);
	/* All but the last byte of the address space, which is never memory. */
	ibmr->mr->length = U64_MAX;
	ibmr->mr->access = access;
	return mrc_ibmr_hash(ibmr);
}

struct ib_mr *mrc_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			   u32 max_num_sg)
{
	struct mrc_ibmr *ibmr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!ib_uses_virt_dma(pd->device))
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > MRC_MAX_FAST_PAGES)
		return ERR_PTR(-EINVAL);
	ibmr = mrc_ibmr_alloc(pd, MRC_MR_FAST);
	if (IS_ERR(ibmr))
		return ERR_CAST(ibmr);
	ibmr->mr->fast = ibmr;
	ibmr->max_pages = max_num_sg;
	ibmr->staged = kvcalloc(max_num_sg, sizeof(u64), GFP_KERNEL);
	ibmr->mr->kva = kvcalloc(max_num_sg, sizeof(u64), GFP_KERNEL);
	if (!ibmr->staged || !ibmr->mr->kva) {
		mrc_ibmr_free(ibmr);
		return ERR_PTR(-ENOMEM);
	}
	return mrc_ibmr_hash(ibmr);
}

int mrc_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct mrc_ibmr *ibmr = to_mibmr(ib);

	/* The IB specification requires that windows are unbound first. */
	if (atomic_cmpxchg(&ibmr->mr->n_windows, 0, -1))
		return -EBUSY;
	mrc_mr_unhash(to_mdev(ib->device), ibmr->mr);
	mrc_ibmr_free(ibmr);
	return 0;
}
