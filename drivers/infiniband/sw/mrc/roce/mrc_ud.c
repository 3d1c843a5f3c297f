// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagram queue pairs, and UC queue pairs, which use the same code: creation, states,
 * destruction. UD needs no engine: a datagram is sent once and may be lost.
 */
#include <linux/memcontrol.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "mrc_uc_qp.h"

static void mrc_ud_work(struct work_struct *work)
{
	struct mrc_ud *ud = container_of(work, struct mrc_ud, work);
	bool more = mrc_ud_send_late(ud);

	mrc_ud_deliver_late(ud);
	/* The next run takes over the reference, unless one is queued already. */
	if (!more || !queue_work(mrc_qp_wq, work))
		mrc_ud_put(ud);
}

static int mrc_ud_check(const struct ib_qp_init_attr *init,
			const struct mrc_qp_params *parts)
{
	/* MRC 1.0 has no UC. UD and QP1 are always needed to set up connections. */
	if (init->qp_type == IB_QPT_UC && !READ_ONCE(parts->dev->ext))
		return -EOPNOTSUPP;
	if (init->qp_type == IB_QPT_GSI &&
	    (parts->user || init->srq || !init->port_num ||
	     init->port_num > parts->dev->n_ports))
		return -EOPNOTSUPP;
	return parts->req.flags ? -EINVAL : 0;
}

static int mrc_create_ud(struct ib_qp *ibqp, const struct ib_qp_init_attr *init,
			 const struct mrc_qp_params *parts)
{
	struct mrc_ud *ud = kzalloc(sizeof(*ud), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!ud)
		return -ENOMEM;
	mrc_qp_base_init(&ud->base, parts->dev);
	mrc_qp_base_set(&ud->base, ibqp, parts);
	mutex_init(&ud->mutex);
	spin_lock_init(&ud->sq_lock);
	spin_lock_init(&ud->rq_lock);
	INIT_LIST_HEAD(&ud->late);
	INIT_LIST_HEAD(&ud->page_wait.node);
	ud->page_wait.wake = mrc_ud_wake;
	INIT_WORK(&ud->work, mrc_ud_work);
	INIT_WORK(&ud->flush_work, mrc_ud_flush_work);
	ud->user = parts->user;
	if (ud->user && init->qp_type == IB_QPT_UD)
		ud->memcg = get_mem_cgroup_from_mm(current->mm);
	if (init->qp_type == IB_QPT_GSI) {
		ud->port = init->port_num;
		ud->qkey = MRC_GSI_QKEY;
	}
	ud->sq = parts->sq;
	ud->rq = parts->rq;
	ud->max_send_sge = parts->cap.max_send_sge;
	ud->max_recv_sge = parts->cap.max_recv_sge;
	ud->max_inline = parts->cap.max_inline_data;
	if (init->qp_type == IB_QPT_UC) {
		ud->uc = mrc_uc_alloc();
		ret = ud->uc ? 0 : -ENOMEM;
		if (ret)
			goto err_free;
	}
	ret = mrc_ud_publish(ud);
	if (ret)
		goto err_free;
	WRITE_ONCE(to_mibqp(ibqp)->base, &ud->base);
	ibqp->qp_num = ud->base.qpn;
	return 0;

err_free:
	mem_cgroup_put(ud->memcg);
	mrc_uc_free(ud->uc);
	mutex_destroy(&ud->mutex);
	kfree(ud);
	return ret;
}

/* Move the QP to RESET and forget all posted work requests. Under the mutex. */
static void mrc_ud_reset(struct mrc_ud *ud)
{
	spin_lock_bh(&ud->rq_lock);
	spin_lock(&ud->sq_lock);
	WRITE_ONCE(ud->base.state, IB_QPS_RESET);
	WRITE_ONCE(ud->tx_late, false);
	mrc_ud_drop_late(ud);
	mrc_ring_rewind(&ud->sq);
	mrc_srq_reset_qp(ud->base.srq, &ud->rq);
	if (ud->uc)
		mrc_uc_reset(ud);
	spin_unlock(&ud->sq_lock);
	spin_unlock_bh(&ud->rq_lock);
	mrc_cq_clean(ud->base.scq, ud->base.ibqp);
	mrc_cq_clean(ud->base.rcq, ud->base.ibqp);
	if (mrc_odp_unwait(&ud->base.dev->odp, &ud->page_wait))
		mrc_ud_put(ud);
}

static void mrc_destroy_ud(struct ib_qp *ibqp)
{
	struct mrc_ud *ud = mrc_ud_from(ibqp);

	mutex_lock(&ud->mutex);
	mrc_ud_reset(ud);
	mutex_unlock(&ud->mutex);
	WRITE_ONCE(to_mibqp(ibqp)->base, NULL);
	mrc_ud_unpublish(ud);
	if (ibqp->qp_type != IB_QPT_GSI)
		mrc_mcast_detach_all(ud);
	mrc_ud_put(ud);
	/* Packets hold references only while they are processed, so the wait ends. */
	wait_for_completion(&ud->base.released);
	mrc_ring_free(&ud->sq);
	mrc_ring_free(&ud->rq);
	mem_cgroup_put(ud->memcg);
	mrc_uc_free(ud->uc);
	mutex_destroy(&ud->mutex);
	kfree_rcu(ud, base.rcu);
}

/* Under the mutex. Return: 0, or -EINVAL if the state is not @cur any more. */
static int mrc_ud_set_state(struct mrc_ud *ud, enum ib_qp_state cur,
			    enum ib_qp_state state,
			    const struct ib_qp_attr *attr, int mask)
{
	/* The addresses change only while no packet is being sent. */
	bool addr = ud->uc && mask & IB_QP_AV;
	int ret = -EINVAL;

	if (addr)
		mrc_uc_tx_lock(ud->uc);
	spin_lock_bh(&ud->rq_lock);
	spin_lock(&ud->sq_lock);
	/* It went to SQE or ERROR meanwhile. */
	if (ud->base.state != cur)
		goto unlock;
	ret = 0;
	if (mask & IB_QP_PORT)
		WRITE_ONCE(ud->port, attr->port_num);
	if (mask & IB_QP_PKEY_INDEX)
		ud->pkey_index = attr->pkey_index;
	if (mask & IB_QP_QKEY && ud->base.ibqp->qp_type != IB_QPT_GSI)
		ud->qkey = attr->qkey;
	if (mask & IB_QP_SQ_PSN)
		WRITE_ONCE(ud->psn, attr->sq_psn & MRC_PSN_MASK);
	if (ud->uc)
		mrc_uc_set_attr(ud, state, attr, mask);
	WRITE_ONCE(ud->base.state, state);
unlock:
	spin_unlock(&ud->sq_lock);
	spin_unlock_bh(&ud->rq_lock);
	if (addr)
		mrc_uc_tx_unlock(ud->uc);
	return ret;
}

static int mrc_modify_ud_locked(struct mrc_ud *ud, struct ib_qp_attr *attr,
				int mask)
{
	enum ib_qp_state cur = READ_ONCE(ud->base.state);
	int new, ret;

	new = mrc_qp_modify_to(ud->base.ibqp, cur, attr, mask);
	if (new < 0)
		return new;
	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	ret = mrc_qp_check_port_pkey(ud->base.dev, attr, mask);
	if (!ret && ud->uc)
		ret = mrc_uc_check_attr(ud, attr, mask);
	if (ret)
		return ret;
	switch (new) {
	case IB_QPS_RESET:
		mrc_ud_reset(ud);
		return 0;
	case IB_QPS_ERR:
		mrc_ud_error(ud, MRC_NO_EVENT);
		return 0;
	default:
		if (cur == IB_QPS_SQE)
			mrc_ud_flush_sqe(ud);
		ret = mrc_ud_set_state(ud, cur, new, attr, mask);
		if (ret)
			return ret;
	}
	if (new == IB_QPS_RTS && cur == IB_QPS_SQD)
		return mrc_ud_post_send(ud);
	/* Finish the message in progress. */
	if (new == IB_QPS_SQD && cur == IB_QPS_RTS && ud->uc)
		mrc_uc_post_send(ud);
	/* The send queue is drained now. */
	if (new == IB_QPS_SQD && cur == IB_QPS_RTS &&
	    mask & IB_QP_EN_SQD_ASYNC_NOTIFY && attr->en_sqd_async_notify)
		mrc_qp_report(ud->base.ibqp, IB_EVENT_SQ_DRAINED);
	return 0;
}

static int mrc_modify_ud(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			 struct ib_udata *udata)
{
	struct mrc_ud *ud = mrc_ud_from(ibqp);
	int ret;

	mutex_lock(&ud->mutex);
	ret = mrc_modify_ud_locked(ud, attr, mask);
	mutex_unlock(&ud->mutex);
	return ret;
}

static bool mrc_query_ud(struct ib_qp *ibqp, struct ib_qp_attr *attr)
{
	struct mrc_ud *ud = mrc_ud_of(ibqp);

	if (!ud)
		return false;
	mutex_lock(&ud->mutex);
	attr->qp_state = READ_ONCE(ud->base.state);
	attr->pkey_index = ud->pkey_index;
	attr->port_num = ud->port;
	attr->qkey = ud->qkey;
	attr->sq_psn = READ_ONCE(ud->psn);
	if (ud->uc)
		mrc_uc_query(ud, attr);
	mutex_unlock(&ud->mutex);
	mrc_ud_put(ud);
	return true;
}

static void mrc_ud_rings(struct ib_qp *ibqp, struct mrc_ring **sq,
			 struct mrc_ring **rq)
{
	struct mrc_ud *ud = mrc_ud_from(ibqp);

	*sq = &ud->sq;
	*rq = &ud->rq;
}

static int mrc_ud_ring_send(struct ib_qp *ibqp)
{
	return mrc_ud_post_send(mrc_ud_from(ibqp));
}

static int mrc_ud_ring_recv(struct ib_qp *ibqp)
{
	return mrc_ud_post_recv(mrc_ud_from(ibqp));
}

static int mrc_ud_fill_res(struct sk_buff *msg, struct ib_qp *ibqp, bool all)
{
	return ibqp->qp_type == IB_QPT_UC ? mrc_uc_fill_res(msg, ibqp, all) : 0;
}

const struct mrc_qp_kind mrc_qp_kind_ud = {
	.check = mrc_ud_check,
	.create = mrc_create_ud,
	.destroy = mrc_destroy_ud,
	.modify = mrc_modify_ud,
	.query = mrc_query_ud,
	.rings = mrc_ud_rings,
	.post_send = mrc_ud_ring_send,
	.post_recv = mrc_ud_ring_recv,
	.fill_res = mrc_ud_fill_res,
};
