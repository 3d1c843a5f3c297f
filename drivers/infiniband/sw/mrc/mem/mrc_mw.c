// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows: keys for parts of a region, with their own remote access rights. A
 * type 1 window belongs to a PD and can be bound again at any time. A type 2 window
 * (2B) belongs to a PD and the QP that bound it. It must be invalidated before it is
 * bound again; the peer of that QP may invalidate it too.
 *
 * A bound window holds its region. The region cannot be deregistered until the window
 * is unbound and nobody copies through it any more.
 */
#include <linux/slab.h>

#include "mrc_mr.h"

#define MRC_MW_ACCESS							\
	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |		\
	 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_FLUSH_GLOBAL)

/*
 * Last ID given to a QP that bound type 2 windows. QPNs cannot be used: a window may
 * outlive its QP, and the next QP with that number must not inherit the window.
 */
static atomic64_t mrc_mw_last_id = ATOMIC64_INIT(0);

int mrc_alloc_mw(struct ib_mw *ib, struct ib_udata *udata)
{
	struct mrc_ibmw *ibmw = container_of(ib, struct mrc_ibmw, ib);
	struct mrc_dev *dev = to_mdev(ib->device);
	struct mrc_mr *mr;
	int ret;

	ret = mrc_udata_in(udata, NULL, 0);
	if (ret)
		return ret;
	ret = mrc_count(dev, MRC_COUNT_MW);
	if (ret)
		return ret;
	ret = -ENOMEM;
	mr = mrc_mr_alloc(ib->type == IB_MW_TYPE_1 ? MRC_MR_WINDOW_1 :
						     MRC_MR_WINDOW_2, ib->pd);
	if (!mr)
		goto err;
	ret = mrc_mr_hash(dev, mr);
	if (ret)
		goto err;
	ibmw->mr = mr;
	ib->rkey = mr->key;
	return 0;
err:
	if (mr)
		mrc_mr_free(mr);
	mrc_uncount(dev, MRC_COUNT_MW);
	return ret;
}

int mrc_dealloc_mw(struct ib_mw *ib)
{
	struct mrc_ibmw *ibmw = container_of(ib, struct mrc_ibmw, ib);
	struct mrc_dev *dev = to_mdev(ib->device);

	mrc_mr_unhash(dev, ibmw->mr);
	mrc_mr_free(ibmw->mr);
	mrc_uncount(dev, MRC_COUNT_MW);
	return 0;
}

bool mrc_mw_owned(const struct mrc_mr *mr, struct ib_qp *ibqp)
{
	return mr->qp_id == READ_ONCE(to_mibqp(ibqp)->mw_id);
}

/* The ID of @ibqp; assigned at the first call. Under the lock of its send queue. */
static u64 mrc_mw_qp_id(struct ib_qp *ibqp)
{
	struct mrc_ibqp *mib = to_mibqp(ibqp);

	if (!mib->mw_id)
		WRITE_ONCE(mib->mw_id, atomic64_inc_return(&mrc_mw_last_id));
	return mib->mw_id;
}

/*
 * The region that a window is to be bound to, with @n_windows incremented, which keeps
 * the region; or ERR_PTR. A window must not permit more than the region does.
 */
static struct mrc_mr *mrc_mw_parent(struct ib_qp *ibqp,
				    const struct mrc_local *op)
{
	int need = IB_ACCESS_MW_BIND | (op->access & IB_ACCESS_FLUSH_GLOBAL);
	struct mrc_mr *parent;

	if (op->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC))
		need |= IB_ACCESS_LOCAL_WRITE;
	parent = mrc_mr_get(ibqp, op->lkey, op->addr, op->len, need);
	if (IS_ERR(parent))
		return parent;
	if (parent->kind != MRC_MR_USER ||
	    !atomic_inc_unless_negative(&parent->n_windows)) {
		mrc_mr_put(parent);
		return ERR_PTR(-EINVAL);
	}
	/* @n_windows keeps the region as well as the reference. */
	mrc_mr_put(parent);
	return parent;
}

/* Is @op permitted for @mr, regardless of the region? Under @mr's lock. */
static int mrc_mw_check(const struct mrc_mr *mr, const struct mrc_local *op)
{
	/*
	 * Programs may set LOCAL_WRITE, but a window's key never permits local access.
	 */
	int allowed = MRC_MW_ACCESS | IB_ACCESS_LOCAL_WRITE |
		      IB_ACCESS_OPTIONAL;

	if (mr->gone)
		return -EINVAL;
	/* Otherwise a peer that knows the old key could access the new binding. */
	if (op->key == mr->key)
		return -EINVAL;
	if (mr->kind == MRC_MR_WINDOW_2) {
		allowed |= IB_ZERO_BASED;
		if (!op->len || mr->state == MRC_MR_VALID)
			return -EINVAL;
	}
	return op->access & ~allowed ? -EINVAL : 0;
}

/* Set @mr to the part of @parent that @op names. Under @mr's lock, while FREE. */
static void mrc_mw_set(struct ib_qp *ibqp, struct mrc_mr *mr,
		       struct mrc_mr *parent, const struct mrc_local *op)
{
	mr->parent = parent;
	mr->pages = parent->pages;
	mr->odp = parent->odp;
	mr->offset = parent->offset + (op->addr - parent->iova);
	mr->iova = op->access & IB_ZERO_BASED ? 0 : op->addr;
	mr->length = op->len;
	mr->access = op->access & ~IB_ACCESS_LOCAL_WRITE;
	mr->key = op->key;
	if (mr->kind == MRC_MR_WINDOW_2)
		mr->qp_id = mrc_mw_qp_id(ibqp);
	mrc_mr_begin(mr);
}

int mrc_mw_bind(struct ib_qp *ibqp, struct mrc_mr *mr,
		const struct mrc_local *op)
{
	struct mrc_mr *parent = NULL;
	int ret;

	if (mr->kind < MRC_MR_WINDOW_1 || mr->pd != ibqp->pd)
		return -EINVAL;
	spin_lock_bh(&mr->lock);
	ret = mrc_mw_check(mr, op);
	spin_unlock_bh(&mr->lock);
	if (ret)
		return ret;
	if (op->len) {
		parent = mrc_mw_parent(ibqp, op);
		if (IS_ERR(parent))
			return PTR_ERR(parent);
	}

	/* All checks have passed: end the old binding. */
	spin_lock_bh(&mr->lock);
	if (mrc_mr_end(mr)) {
		spin_unlock_bh(&mr->lock);
		mrc_mr_put(mr);
		spin_lock_bh(&mr->lock);
	}
	/* Another QP may have changed the window meanwhile. */
	ret = mrc_mw_check(mr, op);
	if (!ret && mr->state != MRC_MR_FREE)
		ret = -EAGAIN;
	if (!ret && parent) {
		mrc_mw_set(ibqp, mr, parent, op);
		parent = NULL;
	} else if (!ret) {
		mr->key = op->key;
	}
	spin_unlock_bh(&mr->lock);
	if (parent)
		atomic_dec(&parent->n_windows);
	return ret;
}
