// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connected queue pairs: creation, timer and work, doorbell, reset, destruction.
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dev/mrc_trace.h"
#include "mrc_qp_priv.h"

static struct kmem_cache *mrc_qp_cache;

/* The responder had to wait for something that packets do not tell. */
static void mrc_qp_resume_resp(struct mrc_qp *qp)
{
	spin_lock_bh(&qp->resp_lock);
	if (qp->resume && qp->resp_on &&
	    (qp->state == IB_QPS_RTR || qp->state == IB_QPS_RTS)) {
		WRITE_ONCE(qp->resume, false);
		mrc_resp_run(qp, qp->attr.port, mrc_now(), false, false);
	} else {
		spin_unlock_bh(&qp->resp_lock);
	}
}

static void mrc_qp_work(struct work_struct *work)
{
	struct mrc_qp *qp = container_of(to_delayed_work(work), struct mrc_qp,
					 work);
	struct mem_cgroup *old;

	/* Serialised, so that an older view is never applied last. */
	mutex_lock(mrc_qp_mutex(qp));
	mrc_qp_update_ports(qp);
	old = set_active_memcg(qp->memcg);
	if (READ_ONCE(qp->need_ans) || READ_ONCE(qp->want_ans))
		mrc_ans_make(qp);
	if (READ_ONCE(qp->need_recv))
		mrc_rq_make_table(qp);
	set_active_memcg(old);
	mutex_unlock(mrc_qp_mutex(qp));

	spin_lock_bh(&qp->req_lock);
	if (qp->req_on && qp->state == IB_QPS_RTS)
		mrc_req_run(qp, true);
	else
		spin_unlock_bh(&qp->req_lock);
	if (READ_ONCE(qp->resume))
		mrc_qp_resume_resp(qp);
	mrc_qp_put(qp);
}

static enum hrtimer_restart mrc_qp_timer(struct hrtimer *timer)
{
	struct mrc_qp *qp = container_of(timer, struct mrc_qp, timer);
	u64 now;

	spin_lock_bh(&qp->req_lock);
	now = mrc_now();
	/*
	 * Moved forward by someone while this call was waiting for the lock:
	 * the reference goes on with the newly queued timer.
	 */
	if (hrtimer_is_queued(timer)) {
		spin_unlock_bh(&qp->req_lock);
		return HRTIMER_NORESTART;
	}
	qp->timer_at = MRC_NEVER;
	if (qp->req_on && qp->state == IB_QPS_RTS) {
		if (mrc_req_deadline(&qp->tx->req) <= now)
			mrc_req_on_deadline(&qp->tx->req, now);
		mrc_req_run(qp, false);
	} else {
		spin_unlock_bh(&qp->req_lock);
	}
	mrc_qp_put(qp);
	return HRTIMER_NORESTART;
}

void mrc_qp_reset(struct mrc_qp *qp, bool dead)
{
	void *tx, *resp_mem, *stash, *recv, *rd_mem, *swqe, *inl;

	spin_lock_bh(&qp->resp_lock);
	spin_lock(&qp->req_lock);
	trace_mrc_qp_state(qp->qpn, qp->state, IB_QPS_RESET);
	WRITE_ONCE(qp->state, IB_QPS_RESET);
	WRITE_ONCE(qp->dead, qp->dead || dead);
	WRITE_ONCE(qp->conn, qp->conn + 1);
	qp->resp_on = false;
	WRITE_ONCE(qp->req_on, false);
	if (qp->paths_on)
		mrc_paths_retire(&qp->paths);
	WRITE_ONCE(qp->paths_on, false);
	qp->sq_pending = false;
	qp->need_inline = false;
	qp->no_inline = false;
	WRITE_ONCE(qp->need_recv, false);
	WRITE_ONCE(qp->resume, false);
	qp->again = false;
	qp->tx_page = false;
	qp->tx_page_since = 0;
	WRITE_ONCE(qp->want_ans, false);
	WRITE_ONCE(qp->need_ans, false);
	qp->no_ans = false;
	WRITE_ONCE(qp->ans_tx, false);
	WRITE_ONCE(qp->ans_rx, false);
	qp->ans_acked = 0;
	qp->ans_bad = false;
	WRITE_ONCE(qp->sqd, MRC_SQD_OFF);
	qp->sqd_notify = false;
	qp->fatal = false;
	tx = qp->tx;
	resp_mem = qp->resp_mem;
	stash = qp->stash;
	rd_mem = qp->rd_mem;
	recv = qp->recv;
	swqe = qp->swqe;
	inl = qp->inl_buf;
	qp->tx = NULL;
	qp->resp_mem = NULL;
	qp->stash = NULL;
	qp->rd_mem = NULL;
	qp->recv = NULL;
	qp->swqe = NULL;
	qp->inl_buf = NULL;
	mrc_ring_rewind(&qp->sq);
	qp->sq_taken = 0;
	mrc_srq_forget(qp->srq, &qp->rq);
	spin_unlock(&qp->req_lock);
	spin_unlock_bh(&qp->resp_lock);

	if (mrc_odp_unwait(&qp->dev->odp, &qp->page_wait))
		mrc_qp_put(qp);
	kvfree(tx);
	kvfree(resp_mem);
	kfree(stash);
	kfree(rd_mem);
	kvfree(recv);
	kvfree(swqe);
	kvfree(inl);
	mrc_ans_reset(qp, dead);
	mrc_profiles->unbind(qp);
	mrc_peer_leave(qp);
	mrc_route_drop(&qp->flow);
	memset(&qp->attr, 0, sizeof(qp->attr));
	if (qp->main)
		return;
	mrc_cq_clean(qp->scq, qp->ibqp);
	mrc_cq_clean(qp->rcq, qp->ibqp);
}

struct mrc_qp *mrc_qp_alloc(struct mrc_dev *dev)
{
	bool cached = dev->n_ports <= MRC_QP_CACHE_PORTS;
	struct mrc_qp *qp;

	if (cached)
		qp = kmem_cache_zalloc(mrc_qp_cache, GFP_KERNEL_ACCOUNT);
	else
		qp = kzalloc(offsetof(struct mrc_qp, flow.route[dev->n_ports]),
			     GFP_KERNEL_ACCOUNT);
	if (!qp)
		return NULL;
	qp->cached = cached;
	refcount_set(&qp->ref, 1);
	init_completion(&qp->released);
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->flow.route_lock);
	spin_lock_init(&qp->resp_lock);
	spin_lock_init(&qp->req_lock);
	mrc_hrtimer_setup(&qp->timer, mrc_qp_timer, CLOCK_MONOTONIC,
			  HRTIMER_MODE_ABS_SOFT);
	INIT_DELAYED_WORK(&qp->work, mrc_qp_work);
	INIT_LIST_HEAD(&qp->page_wait.node);
	qp->page_wait.wake = mrc_qp_wake;
	qp->timer_at = MRC_NEVER;
	qp->dev = dev;
	qp->flow.dev = dev;
	qp->state = IB_QPS_RESET;
	return qp;
}

static void mrc_qp_free_rcu(struct rcu_head *rcu)
{
	struct mrc_qp *qp = container_of(rcu, struct mrc_qp, rcu);

	if (qp->cached)
		kmem_cache_free(mrc_qp_cache, qp);
	else
		kfree(qp);
}

void mrc_qp_discard(struct mrc_qp *qp)
{
	mem_cgroup_put(qp->memcg);
	mutex_destroy(&qp->mutex);
	call_rcu(&qp->rcu, mrc_qp_free_rcu);
}

void mrc_qp_release(struct mrc_qp *qp)
{
	if (hrtimer_cancel(&qp->timer))
		mrc_qp_put(qp);
	/*
	 * Not _sync: that disables the work meanwhile, and mod_delayed_work()
	 * then says "queued" when it is not. Running work has a reference.
	 */
	if (cancel_delayed_work(&qp->work))
		mrc_qp_put(qp);
	mrc_qp_put(qp);
	wait_for_completion(&qp->released);

	/* A packet that was under way may have cached a route since. */
	mrc_route_drop(&qp->flow);
}

/* Unhash, stop timer and work, wait for the last reference, free. */
static void mrc_qp_free(struct mrc_qp *qp)
{
	mrc_qp_unhash(qp);
	/* Whoever has a reference to a companion may use its QP. */
	if (qp->ans)
		mrc_qp_release(qp->ans);
	mrc_qp_release(qp);
	if (qp->ans)
		mrc_qp_discard(qp->ans);
	mrc_ring_free(&qp->sq);
	if (qp->rq.depth)
		mrc_ring_free(&qp->rq);
	mrc_qp_discard(qp);
}

static int mrc_qp_check(const struct ib_qp_init_attr *init,
			const struct mrc_qp_parts *parts)
{
	return parts->req.flags & ~MRC_QP_F_STRICT ? -EINVAL : 0;
}

static int mrc_create_qp(struct ib_qp *ibqp, const struct ib_qp_init_attr *init,
			 const struct mrc_qp_parts *parts)
{
	struct mrc_qp *qp = mrc_qp_alloc(parts->dev);
	int ret;

	if (!qp)
		return -ENOMEM;
	qp->memcg = get_mem_cgroup_from_mm(current->mm);
	qp->ibqp = ibqp;
	qp->scq = parts->scq;
	qp->rcq = parts->rcq;
	qp->srq = parts->srq;
	qp->sig_all = parts->sig_all;
	/* Strict: MRC 1.0 and nothing else. */
	qp->ext = READ_ONCE(parts->dev->ext) &&
		  !(parts->req.flags & MRC_QP_F_STRICT);
	qp->sq = parts->sq;
	qp->rq = parts->rq;
	qp->max_send_sge = parts->cap.max_send_sge;
	qp->max_recv_sge = parts->cap.max_recv_sge;
	qp->max_inline = parts->cap.max_inline_data;
	qp->swqe_size = mrc_swqe_size(qp->max_send_sge);
	ret = mrc_qp_hash(qp);
	if (ret) {
		mrc_qp_discard(qp);
		return ret;
	}
	WRITE_ONCE(to_mibqp(ibqp)->qp, qp);
	ibqp->qp_num = qp->qpn;
	return 0;
}

static void mrc_destroy_qp(struct ib_qp *ibqp)
{
	struct mrc_qp *qp = to_mibqp(ibqp)->qp;

	mutex_lock(&qp->mutex);
	mrc_qp_part(qp);
	mrc_qp_reset(qp, true);
	mutex_unlock(&qp->mutex);
	WRITE_ONCE(to_mibqp(ibqp)->qp, NULL);
	mrc_qp_free(qp);
}

static enum ib_qp_state mrc_qp_state_of(struct ib_qp *ibqp)
{
	return READ_ONCE(to_mibqp(ibqp)->qp->state);
}

static void mrc_qp_rings(struct ib_qp *ibqp, struct mrc_ring **sq,
			 struct mrc_ring **rq)
{
	struct mrc_qp *qp = to_mibqp(ibqp)->qp;

	*sq = &qp->sq;
	*rq = &qp->rq;
}

static int mrc_post_send(struct ib_qp *ibqp)
{
	struct mrc_qp *qp = to_mibqp(ibqp)->qp;

	if (READ_ONCE(qp->state) == IB_QPS_RTS && !READ_ONCE(qp->req_on)) {
		int ret = mrc_qp_start_requester(qp);

		/* For a consumer in the kernel nobody would ring again. */
		if (ret == -ENOMEM && to_mibqp(ibqp)->kern)
			mrc_qp_error(qp, READ_ONCE(qp->conn),
				     IB_EVENT_QP_FATAL);
		if (ret)
			return ret;
	}
	spin_lock_bh(&qp->req_lock);
	switch (qp->state) {
	case IB_QPS_RTS:
		if (!qp->req_on) {	/* was reset and connected meanwhile */
			spin_unlock_bh(&qp->req_lock);
			return -EINVAL;
		}
		qp->sq_pending = true;
		mrc_req_run(qp, true);
		return 0;
	case IB_QPS_ERR:
		mrc_sq_flush(qp);
		spin_unlock_bh(&qp->req_lock);
		return 0;
	default:
		spin_unlock_bh(&qp->req_lock);
		return -EINVAL;
	}
}

const struct mrc_qp_kind mrc_qp_kind_rc = {
	.check = mrc_qp_check,
	.create = mrc_create_qp,
	.destroy = mrc_destroy_qp,
	.modify = mrc_modify_qp,
	.query = mrc_query_qp,
	.state = mrc_qp_state_of,
	.rings = mrc_qp_rings,
	.post_send = mrc_post_send,
	.post_recv = mrc_post_recv,
	.fill_res = mrc_qp_fill_res,
};

int mrc_qp_init(const struct mrc_profile_ops *profiles)
{
	mrc_profiles = profiles;
	mrc_qp_cache = kmem_cache_create("mrc_qp", MRC_QP_CACHE_SIZE,
					 __alignof__(struct mrc_qp),
					 SLAB_NO_MERGE, NULL);
	if (!mrc_qp_cache)
		return -ENOMEM;
	if (!mrc_qp_ref_init())
		return 0;
	kmem_cache_destroy(mrc_qp_cache);
	return -ENOMEM;
}

void mrc_qp_exit(void)
{
	mrc_qp_ref_exit();
	rcu_barrier();		/* mrc_qp_free_rcu() */
	kmem_cache_destroy(mrc_qp_cache);
}
