// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fast registration: a kernel consumer maps a list of pages at any time, and a work
 * request registers them. The list of the current registration and the list being
 * mapped are separate: consumers map the next list while the invalidation of the
 * current registration is still in the send queue.
 */
#include "mrc_mr.h"

/* Rights that a registration may have. */
#define MRC_FAST_ACCESS							\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |		\
	 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |		\
	 IB_ACCESS_OPTIONAL)

static int mrc_stage_page(struct ib_mr *ib, u64 kva)
{
	struct mrc_ibmr *ibmr = to_mibmr(ib);

	if (ibmr->n_staged == ibmr->max_pages)
		return -ENOMEM;
	ibmr->staged[ibmr->n_staged++] = kva;
	return 0;
}

int mrc_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int n,
		  unsigned int *off)
{
	struct mrc_ibmr *ibmr = to_mibmr(ib);

	if (ibmr->mr->kind != MRC_MR_FAST || !is_power_of_2(ib->page_size) ||
	    ib->page_size < 1u << MRC_FAST_PAGE_SHIFT)
		return -EINVAL;
	ibmr->n_staged = 0;
	return ib_sg_to_pages(ib, sg, n, off, mrc_stage_page);
}

int mrc_fast_register(struct ib_qp *ibqp, struct mrc_mr *mr,
		      const struct mrc_local *op)
{
	const struct mrc_ibmr *ibmr = mr->fast;
	u64 size, length;
	u32 offset, n;
	int ret = 0;

	if (mr->kind != MRC_MR_FAST || mr->pd != ibqp->pd)
		return -EINVAL;
	if (op->access & ~MRC_FAST_ACCESS)
		return -EINVAL;
	if (op->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(op->access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;

	/* Under the lock, @ibmr exists as long as @mr is not gone. */
	spin_lock_bh(&mr->lock);
	if (mr->gone || mr->state == MRC_MR_VALID) {
		ret = -EINVAL;
		goto out;
	}
	if (mr->state == MRC_MR_REVOKED) {
		ret = -EAGAIN;
		goto out;
	}
	size = READ_ONCE(ibmr->ib.page_size);
	length = READ_ONCE(ibmr->ib.length);
	n = READ_ONCE(ibmr->n_staged);
	offset = READ_ONCE(ibmr->ib.iova) & (size - 1);
	if (!n || n > ibmr->max_pages || !is_power_of_2(size) ||
	    size < 1u << MRC_FAST_PAGE_SHIFT || length > n * size - offset) {
		ret = -EINVAL;
		goto out;
	}
	memcpy(mr->kva, ibmr->staged, n * sizeof(*mr->kva));
	mr->n_pages = n;
	mr->page_shift = ilog2(size);
	mr->offset = offset;
	mr->iova = ibmr->ib.iova;
	mr->length = length;
	mr->access = op->access;
	mr->key = op->key;
	mrc_mr_begin(mr);
out:
	spin_unlock_bh(&mr->lock);
	return ret;
}
