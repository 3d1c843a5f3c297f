// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagram queue pairs: QPNs and references, waiting for memory, ERROR.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "mrc_ud.h"

/* QP1s of all ports; read under RCU. */
static LIST_HEAD(mrc_gsis);
static DEFINE_SPINLOCK(mrc_gsi_lock);

struct mrc_ud *mrc_ud_get(struct net *net, u32 qpn)
{
	struct mrc_qp_base *base = mrc_qpn_ud(qpn) ? mrc_qp_base_get(qpn) : NULL;

	if (base && !net_eq(base->dev->net, net)) {
		mrc_qp_base_put(base);
		base = NULL;
	}
	return base ? container_of(base, struct mrc_ud, base) : NULL;
}

struct mrc_ud *mrc_ud_of(struct ib_qp *ibqp)
{
	struct mrc_qp_base *base = mrc_qp_base_of(ibqp);

	return base ? container_of(base, struct mrc_ud, base) : NULL;
}

/* Does the port of @ud have the destination address of @pkt? */
static bool mrc_gsi_addr(struct mrc_ud *ud, const struct mrc_pkt *pkt)
{
	const struct ib_gid_attr *attr;

	attr = rdma_find_gid_by_port(&ud->base.dev->ib,
				     (const union ib_gid *)&pkt->daddr,
				     IB_GID_TYPE_ROCE_UDP_ENCAP, ud->port,
				     NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

struct mrc_ud *mrc_gsi_get(struct net *net, struct mrc_dev *dev,
			   const struct mrc_pkt *pkt)
{
	struct mrc_ud *ud, *found = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(ud, &mrc_gsis, gsi_node) {
		if (!net_eq(ud->base.dev->net, net))
			continue;
		if (dev && (ud->base.dev != dev || ud->port != pkt->rx.port))
			continue;
		if (!mrc_ud_tryget(ud))
			continue;
		/* The GID table is valid as long as the QP exists. */
		if (dev || mrc_gsi_addr(ud, pkt)) {
			found = ud;
			break;
		}
		mrc_ud_put(ud);
	}
	rcu_read_unlock();
	return found;
}

void mrc_ud_wait_page(struct mrc_ud *ud, u32 seq)
{
	int ret;

	/* During a reset the waiter would not be removed from the list. */
	if (ud->base.state == IB_QPS_RESET)
		return;
	mrc_qp_base_hold(&ud->base);
	ret = mrc_odp_wait(&ud->base.dev->odp, &ud->page_wait, seq);
	if (ret == -EAGAIN)
		mrc_ud_wake(&ud->page_wait);
	else if (ret)
		mrc_ud_put(ud);
}

/* The work takes over the reference of the waiter, unless it is queued already. */
void mrc_ud_wake(struct mrc_odp_waiter *w)
{
	struct mrc_ud *ud = container_of(w, struct mrc_ud, page_wait);

	if (!queue_work(mrc_qp_wq, &ud->work))
		mrc_ud_put(ud);
}

int mrc_ud_publish(struct mrc_ud *ud)
{
	if (ud->base.ibqp->qp_type != IB_QPT_GSI)
		return mrc_qp_base_publish(&ud->base, true);
	ud->base.qpn = MRC_QPN_GSI;
	spin_lock(&mrc_gsi_lock);
	list_add_tail_rcu(&ud->gsi_node, &mrc_gsis);
	spin_unlock(&mrc_gsi_lock);
	return 0;
}

void mrc_ud_unpublish(struct mrc_ud *ud)
{
	if (ud->base.ibqp->qp_type == IB_QPT_GSI) {
		spin_lock(&mrc_gsi_lock);
		list_del_rcu(&ud->gsi_node);
		spin_unlock(&mrc_gsi_lock);
	} else {
		mrc_qp_base_unpublish(&ud->base);
	}
}

void mrc_ud_drop_late(struct mrc_ud *ud)
{
	struct mrc_ud_late *l, *next;

	lockdep_assert_held(&ud->rq_lock);
	list_for_each_entry_safe(l, next, &ud->late, node) {
		kfree_skb(l->pkt.skb);
		kfree(l);
	}
	INIT_LIST_HEAD(&ud->late);
	ud->n_late = 0;
}

bool mrc_ud_flush_sq(struct mrc_ud *ud)
{
	lockdep_assert_held(&ud->sq_lock);
	return mrc_qp_flush_ring(ud->base.ibqp, &ud->sq, NULL, ud->base.scq, IB_WC_SEND,
				 ud->port);
}

bool mrc_ud_flush_rq(struct mrc_ud *ud)
{
	lockdep_assert_held(&ud->rq_lock);
	if (!ud->rq.depth)
		return false;
	mrc_qp_request_kick(&ud->rq);
	return mrc_qp_flush_ring(ud->base.ibqp, &ud->rq, ud->base.srq, ud->base.rcq,
				 IB_WC_RECV, ud->port);
}

static void mrc_ud_queue_flush(struct mrc_ud *ud)
{
	mrc_qp_base_hold(&ud->base);
	if (!queue_work(mrc_qp_wq, &ud->flush_work))
		mrc_ud_put(ud);
}

void mrc_ud_flush_later(struct mrc_ud *ud)
{
	atomic_set(&ud->flush_left, ud->sq.depth + ud->rq.depth);
	mrc_ud_queue_flush(ud);
}

void mrc_ud_flush_work(struct work_struct *work)
{
	struct mrc_ud *ud = container_of(work, struct mrc_ud, flush_work);
	bool more = false;

	spin_lock_bh(&ud->sq_lock);
	if (ud->base.state == IB_QPS_ERR || ud->base.state == IB_QPS_SQE)
		more = mrc_ud_flush_sq(ud);
	spin_unlock_bh(&ud->sq_lock);
	spin_lock_bh(&ud->rq_lock);
	if (ud->base.state == IB_QPS_ERR)
		more |= mrc_ud_flush_rq(ud);
	spin_unlock_bh(&ud->rq_lock);
	if (more && atomic_sub_return(MRC_FLUSH_MAX, &ud->flush_left) > 0)
		mrc_ud_queue_flush(ud);
	mrc_ud_put(ud);
}

void mrc_ud_flush_sqe(struct mrc_ud *ud)
{
	u32 most = ud->sq.depth;
	bool more;

	/* What is posted meanwhile need not be flushed. */
	do {
		spin_lock_bh(&ud->sq_lock);
		more = ud->base.state == IB_QPS_SQE && mrc_ud_flush_sq(ud);
		spin_unlock_bh(&ud->sq_lock);
		cond_resched();
		most -= min_t(u32, most, MRC_FLUSH_MAX);
	} while (more && most);
}

void mrc_ud_error(struct mrc_ud *ud, int event)
{
	bool last = ud->base.srq, more = false;

	spin_lock_bh(&ud->rq_lock);
	spin_lock(&ud->sq_lock);
	if (ud->base.state == IB_QPS_RESET || ud->base.state == IB_QPS_ERR) {
		event = MRC_NO_EVENT;
		last = false;
	}
	if (ud->base.state != IB_QPS_RESET) {
		WRITE_ONCE(ud->base.state, IB_QPS_ERR);
		more = mrc_ud_flush_sq(ud);
	}
	spin_unlock(&ud->sq_lock);
	mrc_ud_drop_late(ud);
	if (ud->base.state == IB_QPS_ERR)
		more |= mrc_ud_flush_rq(ud);
	spin_unlock_bh(&ud->rq_lock);
	if (more)
		mrc_ud_flush_later(ud);

	/* The QP takes no more entries from the SRQ. */
	if (last)
		mrc_qp_report(ud->base.ibqp, IB_EVENT_QP_LAST_WQE_REACHED);
	if (event == MRC_NO_EVENT)
		return;
	mrc_ctr_add(&ud->base.dev->ctr, ud->port, MRC_CTR_QP_ERROR, 1);
	mrc_qp_report(ud->base.ibqp, event);
}
