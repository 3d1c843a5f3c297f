// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work requests that change keys and send nothing, and invalidation by the peer.
 */
#include "mrc_mr.h"

int mrc_local_wqe(const struct mrc_send_wqe *h, struct mrc_local *op)
{
	memset(op, 0, sizeof(*op));
	op->op = h->opcode;
	if (h->num_sge || h->inline_len || h->reserved)
		return -EINVAL;
	if (h->opcode == IB_WR_LOCAL_INV) {
		op->key = h->imm_data;
		return h->rkey || h->remote_addr || h->compare_add || h->swap ?
			-EINVAL : 0;
	}
	if (h->opcode == IB_WR_REG_MR) {	/* of a consumer in the kernel */
		op->key = h->rkey;
		op->access = h->swap;
		return 0;
	}
	/* Both keys must name the same window. */
	if (h->opcode != IB_WR_BIND_MW || (h->imm_data ^ h->rkey) >> 8)
		return -EINVAL;
	op->key = h->rkey;
	op->lkey = (u32)h->swap;
	op->access = h->swap >> 32;
	op->addr = h->remote_addr;
	op->len = h->compare_add;
	return 0;
}

int mrc_mr_invalidate(struct ib_qp *ibqp, u32 key)
{
	struct mrc_mr *mr;
	bool put = false;
	int ret = -EINVAL;

	rcu_read_lock();
	mr = xa_load(&to_mdev(ibqp->device)->mrs, key >> 8);
	if (!mr || (mr->kind != MRC_MR_FAST && mr->kind != MRC_MR_WINDOW_2))
		goto out;
	spin_lock_bh(&mr->lock);
	if (!mr->gone && mr->key == key && mr->pd == ibqp->pd &&
	    (mr->kind == MRC_MR_FAST || !mr->qp_id || mrc_mw_owned(mr, ibqp))) {
		put = mrc_mr_end(mr);
		ret = 0;
	}
	spin_unlock_bh(&mr->lock);
	if (put)
		mrc_mr_put(mr);
	if (!ret && READ_ONCE(mr->state) == MRC_MR_REVOKED)
		ret = -EAGAIN;
out:
	rcu_read_unlock();
	return ret;
}

int mrc_local_op(struct ib_qp *ibqp, const struct mrc_local *op)
{
	int ret = -EINVAL;
	struct mrc_mr *mr;

	if (op->op == IB_WR_LOCAL_INV)
		return mrc_mr_invalidate(ibqp, op->key);

	rcu_read_lock();
	/* REG_MR is looked up by key as well: the region may have been deregistered. */
	mr = xa_load(&to_mdev(ibqp->device)->mrs, op->key >> 8);
	if (mr && op->op == IB_WR_REG_MR)
		ret = mrc_fast_register(ibqp, mr, op);
	else if (mr && op->op == IB_WR_BIND_MW)
		ret = mrc_mw_bind(ibqp, mr, op);
	rcu_read_unlock();
	return ret;
}
