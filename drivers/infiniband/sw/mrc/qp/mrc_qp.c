// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: creation, lookup by number, references, timer and work,
 * transition to ERROR, reset, destruction.
 */
#include <linux/memcontrol.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/restrack.h>

#include "ctl/mrc_ctl.h"
#include "mrc_qp.h"
#include "mrc_peer.h"
#include "queue/mrc_qp_verbs.h"
#include "queue/mrc_srq.h"
#include "dev/mrc_trace.h"
#include "net/mrc_net.h"

/*
 * By QPN; entries are read under RCU. No xarray: numbers are scattered over 24
 * bits, so that each would have two nodes of it nearly to itself.
 */
static struct rhashtable mrc_qpns;
static const struct rhashtable_params mrc_qpn_params = {
	.key_len = sizeof_field(struct mrc_qp, qpn),
	.key_offset = offsetof(struct mrc_qp, qpn),
	.head_offset = offsetof(struct mrc_qp, node),
	.automatic_shrinking = true,
};

static struct workqueue_struct *mrc_wq;
static struct kmem_cache *mrc_qp_cache;

struct mrc_qp *mrc_qp_get(u32 qpn)
{
	struct mrc_qp *qp;

	rcu_read_lock();
	qp = rhashtable_lookup(&mrc_qpns, &qpn, mrc_qpn_params);
	if (qp && !refcount_inc_not_zero(&qp->ref))
		qp = NULL;
	rcu_read_unlock();
	return qp;
}

struct mrc_qp *mrc_qp_of(struct ib_qp *ibqp)
{
	struct mrc_qp *qp;

	rcu_read_lock();
	qp = READ_ONCE(to_mibqp(ibqp)->qp);
	if (qp && !refcount_inc_not_zero(&qp->ref))
		qp = NULL;
	rcu_read_unlock();
	return qp;
}

void mrc_qp_put(struct mrc_qp *qp)
{
	if (refcount_dec_and_test(&qp->ref))
		complete(&qp->released);
}

void mrc_qp_queue_work(struct mrc_qp *qp, unsigned long delay)
{
	bool queued;

	refcount_inc(&qp->ref);
	if (delay)
		queued = queue_delayed_work(mrc_wq, &qp->work, delay);
	else
		queued = !mod_delayed_work(mrc_wq, &qp->work, 0);
	if (!queued)
		mrc_qp_put(qp);
}

void mrc_qp_wait_page(struct mrc_qp *qp, u32 seq)
{
	int ret = 0;

	if (READ_ONCE(qp->dead))
		return;
	refcount_inc(&qp->ref);
	ret = mrc_odp_wait(&qp->dev->odp, &qp->page_wait, seq);
	if (ret == -EAGAIN)
		qp->page_wait.wake(&qp->page_wait);
	else if (ret)
		mrc_qp_put(qp);
}

static void mrc_qp_wake(struct mrc_odp_waiter *w)
{
	struct mrc_qp *qp = container_of(w, struct mrc_qp, page_wait);

	WRITE_ONCE(qp->page_woken, true);
	if (!READ_ONCE(qp->dead))
		mrc_qp_queue_work(qp, 0);
	mrc_qp_put(qp);
}

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

void mrc_qp_arm_timer(struct mrc_qp *qp)
{
	u64 at;

	lockdep_assert_held(&qp->req_lock);
	if (qp->dead || qp->state != IB_QPS_RTS)
		return;
	at = mrc_req_deadline(&qp->tx->req);
	/*
	 * A deadline that moved away is left alone: firing too early costs one
	 * look, and saves reprogramming the clock for every SACK.
	 */
	if (at >= qp->timer_at)
		return;
	if (qp->timer_at == MRC_NEVER)
		refcount_inc(&qp->ref);
	qp->timer_at = at;
	hrtimer_start(&qp->timer, ns_to_ktime(min_t(u64, at, KTIME_MAX)),
		      HRTIMER_MODE_ABS_SOFT);
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

/* Send through the ports of @mask only. Under req_lock. Return: the requester may go on. */
static bool mrc_qp_set_ports(struct mrc_qp *qp, u32 mask)
{
	if (qp->req_on && qp->state == IB_QPS_RTS) {
		mrc_req_set_ports(&qp->tx->req, mask, mrc_now());
		return true;
	}
	if (qp->paths_on)
		mrc_paths_set_ports(&qp->paths, mask);
	return false;
}

void mrc_qp_update_ports(struct mrc_qp *qp)
{
	unsigned long up, mask = 0, missing, wait;
	unsigned int port;

	if (!READ_ONCE(qp->paths_on) || READ_ONCE(qp->state) == IB_QPS_ERR)
		return;

	up = mrc_dev_ports_up(qp->dev);
	if (qp->only_port)
		up &= BIT(qp->only_port);

	local_bh_disable();
	rcu_read_lock();
	for_each_set_bit(port, &up, MRC_MAX_PORTS + 1) {
		if (port > qp->dev->n_ports)
			break;
		if (mrc_qp_srv6(qp) ? mrc_srv6_port_ok(qp, port) :
				      !!mrc_route_get(qp, port))
			mask |= BIT(port);
	}
	rcu_read_unlock();
	local_bh_enable();
	missing = up & ~mask;

	spin_lock_bh(&qp->req_lock);
	/*
	 * Whoever sets a link up adds its routes a moment later: looked for soon
	 * then, and the less often the longer it takes.
	 */
	if (missing & ~qp->no_route)
		qp->no_route_at = jiffies;
	wait = clamp_t(unsigned long, (jiffies - qp->no_route_at) / 4,
		       MRC_ROUTE_SOON, MRC_ROUTE_RETRY);
	WRITE_ONCE(qp->no_route, missing);
	if (mrc_qp_set_ports(qp, mask)) {
		mrc_req_run(qp, false);
	} else {
		if (qp->paths_on)
			mrc_paths_peer_said(&qp->paths, mrc_peer_word(qp),
					    mrc_now());
		spin_unlock_bh(&qp->req_lock);
	}

	/* Not when destroy would have to wait for it. */
	if (missing && !READ_ONCE(qp->dead))
		mrc_qp_queue_work(qp, wait);
}

static void mrc_paths_leave(struct mrc_qp *qp, u32 up)
{
	spin_lock_bh(&qp->req_lock);
	mrc_qp_set_ports(qp, qp->paths.ports_up & up);
	spin_unlock_bh(&qp->req_lock);
}

void mrc_qp_leave_ports(struct mrc_qp *qp, u32 up)
{
	struct mrc_qp *ans = mrc_ans_get(qp);

	mrc_paths_leave(qp, up);
	if (ans) {
		mrc_paths_leave(ans, up);
		mrc_qp_put(ans);
	}
}

void mrc_qps_ports_changed(struct mrc_dev *dev)
{
	struct rhashtable_iter iter;
	struct mrc_qp *qp, *ans;

	rhashtable_walk_enter(&mrc_qpns, &iter);
	rhashtable_walk_start(&iter);
	while ((qp = rhashtable_walk_next(&iter))) {
		if (IS_ERR(qp))		/* resized: it starts again */
			continue;
		if (qp->dev != dev || !refcount_inc_not_zero(&qp->ref))
			continue;
		mrc_qp_queue_work(qp, 0);
		ans = mrc_ans_get(qp);
		if (ans) {
			mrc_qp_queue_work(ans, 0);
			mrc_qp_put(ans);
		}
		mrc_qp_put(qp);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
}

void mrc_qp_make_stash(struct mrc_qp *qp)
{
	struct mem_cgroup *old;

	lockdep_assert_held(&qp->resp_lock);
	old = set_active_memcg(qp->main ? qp->main->memcg : qp->memcg);
	qp->stash = kzalloc(mrc_resp_stash_mem(&qp->resp.cfg),
			    GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	set_active_memcg(old);
	mrc_resp_set_stash(&qp->resp, qp->stash);
}

void mrc_qp_error(struct mrc_qp *qp, u32 conn, int event)
{
	u8 port;

	if (qp->main) {	/* they fail together; both count the same resets */
		mrc_qp_error(qp->main, conn, event);
		return;
	}
	spin_lock_bh(&qp->resp_lock);
	spin_lock(&qp->req_lock);
	if (qp->conn != conn || qp->state == IB_QPS_RESET ||
	    qp->state == IB_QPS_ERR) {
		spin_unlock(&qp->req_lock);
		spin_unlock_bh(&qp->resp_lock);
		return;
	}
	trace_mrc_qp_state(qp->qpn, qp->state, IB_QPS_ERR);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	WRITE_ONCE(qp->sqd, MRC_SQD_OFF);
	port = qp->attr.port;
	if (qp->req_on) {
		mrc_req_fail(&qp->tx->req, -1, MRC_WC_FLUSH);
		mrc_sq_reap(qp);
	}
	mrc_sq_flush(qp);
	spin_unlock(&qp->req_lock);
	mrc_rq_flush(qp);
	spin_unlock_bh(&qp->resp_lock);
	mrc_ans_error(qp, conn);

	/* It takes no more entries of the SRQ. */
	if (qp->srq)
		mrc_qp_report(qp->ibqp, IB_EVENT_QP_LAST_WQE_REACHED);
	if (event == MRC_BY_PROGRAM)
		return;
	mrc_ctr_add(&qp->dev->ctr, port, MRC_CTR_QP_ERROR, 1);
	if (event != MRC_NO_EVENT)
		mrc_qp_report(qp->ibqp, event);
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
	mrc_ctl_unbind_qp(qp);
	mrc_peer_leave(qp);
	mrc_route_drop(qp);
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
		qp = kzalloc(offsetof(struct mrc_qp, route[dev->n_ports]),
			     GFP_KERNEL_ACCOUNT);
	if (!qp)
		return NULL;
	qp->cached = cached;
	refcount_set(&qp->ref, 1);
	init_completion(&qp->released);
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->route_lock);
	spin_lock_init(&qp->resp_lock);
	spin_lock_init(&qp->req_lock);
	mrc_hrtimer_setup(&qp->timer, mrc_qp_timer, CLOCK_MONOTONIC,
			  HRTIMER_MODE_ABS_SOFT);
	INIT_DELAYED_WORK(&qp->work, mrc_qp_work);
	INIT_LIST_HEAD(&qp->page_wait.node);
	qp->page_wait.wake = mrc_qp_wake;
	qp->timer_at = MRC_NEVER;
	qp->dev = dev;
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
	mrc_route_drop(qp);
}

/* Unhash, stop timer and work, wait for the last reference, free. */
static void mrc_qp_free(struct mrc_qp *qp)
{
	rhashtable_remove_fast(&mrc_qpns, &qp->node, mrc_qpn_params);
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

/* An unpredictable number (mrc-abi: 24 bits) that nobody has. */
static int mrc_qp_hash(struct mrc_qp *qp)
{
	int tries, ret = -EEXIST;

	/* BUSY: the table is growing, which only time ends. */
	for (tries = 0; tries < 64 && (ret == -EEXIST || ret == -EBUSY);
	     tries++) {
		u32 qpn = get_random_u32() & MRC_PSN_MASK;

		if (qpn < MRC_QPN_MIN || mrc_qpn_ud(qpn))
			continue;
		qp->qpn = qpn;
		ret = rhashtable_lookup_insert_fast(&mrc_qpns, &qp->node,
						    mrc_qpn_params);
		cond_resched();
	}
	return ret == -EEXIST ? -ENOSPC : ret;
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
};

/* PSNs, and what tells them where the first one is known. Under req_lock. */
static int mrc_fill_requester_psns(struct sk_buff *msg, const struct mrc_qp *qp)
{
	const struct mrc_req *req = &qp->tx->req;
	char name[24];
	unsigned int i;

	if (rdma_nl_put_driver_u32(msg, "next_psn", req->next_psn) ||
	    rdma_nl_put_driver_u32(msg, "cack", req->cack) ||
	    rdma_nl_put_driver_u32(msg, "tack", req->tack) ||
	    rdma_nl_put_driver_u64(msg, "tx_pkts", req->stat_pkts) ||
	    rdma_nl_put_driver_u64(msg, "rtx_pkts", req->stat_rtx))
		return -EMSGSIZE;
	for (i = 1; i <= qp->dev->n_ports; i++) {
		snprintf(name, sizeof(name), "tx_bytes_port%u", i);
		if (rdma_nl_put_driver_u64(msg, name, req->stat_port_bytes[i]))
			return -EMSGSIZE;
	}
	return 0;
}

static int mrc_fill_requester(struct sk_buff *msg, const struct mrc_qp *qp,
			      bool all)
{
	static const char *const sched[] = {
		[MRC_SCHED_IDLE] = "idle",
		[MRC_SCHED_ACTIVE] = "active",
		[MRC_SCHED_READY] = "ready",
		[MRC_SCHED_PENDING] = "pending",
	};
	const struct mrc_req *req = &qp->tx->req;

	if (rdma_nl_put_driver_string(msg, "cc", qp->tx->cc.ops->name) ||
	    rdma_nl_put_driver_string(msg, "sched",
				      sched[mrc_req_sched(req)]) ||
	    rdma_nl_put_driver_u32(msg, "cwnd", qp->tx->cc.cwnd) ||
	    rdma_nl_put_driver_u64(msg, "inflight", req->inflight) ||
	    rdma_nl_put_driver_u64(msg, "base_rtt_ns", req->base_rtt) ||
	    rdma_nl_put_driver_u64(msg, "srtt_ns", req->srtt) ||
	    rdma_nl_put_driver_u32(msg, "window", req->window) ||
	    rdma_nl_put_driver_u32(msg, "unsacked",
				   mrc_psn_diff(req->next_psn, req->cack) - 1) ||
	    rdma_nl_put_driver_u32(msg, "unacked",
				   mrc_psn_diff(req->next_psn, req->tack) - 1) ||
	    rdma_nl_put_driver_u32(msg, "lost", req->n_lost) ||
	    rdma_nl_put_driver_u32(msg, "wqe_queued",
				   req->wq_post - req->wq_done) ||
	    rdma_nl_put_driver_u32(msg, "retries", req->retries) ||
	    rdma_nl_put_driver_u64(msg, "timeouts", req->stat_timeouts))
		return -EMSGSIZE;
	return all ? mrc_fill_requester_psns(msg, qp) : 0;
}

/* They are settled before the QP has paths. */
static int mrc_fill_profiles(struct sk_buff *msg, const struct mrc_qp *qp)
{
	if ((qp->ev_id != MRC_ABI_PROFILE_NONE &&
	     rdma_nl_put_driver_u32(msg, "ev_profile", qp->ev_id)) ||
	    (qp->cc_id != MRC_ABI_PROFILE_NONE &&
	     rdma_nl_put_driver_u32(msg, "cc_profile", qp->cc_id)))
		return -EMSGSIZE;
	return 0;
}

static int mrc_fill_paths(struct sk_buff *msg, const struct mrc_qp *qp,
			  bool all)
{
	u32 state[4] = {};
	const struct mrc_paths *p = &qp->paths;
	char name[24];
	unsigned int i;

	for (i = 0; i < p->n; i++)
		state[mrc_paths_state(p, i) & 3]++;
	if (rdma_nl_put_driver_u32(msg, "ev_good", state[MRC_EV_GOOD]) ||
	    rdma_nl_put_driver_u32(msg, "ev_skip", state[MRC_EV_SKIP]) ||
	    rdma_nl_put_driver_u32(msg, "ev_bad", state[MRC_EV_ASSUMED_BAD]) ||
	    rdma_nl_put_driver_u32(msg, "ev_denied", state[MRC_EV_DENIED]) ||
	    rdma_nl_put_driver_u32_hex(msg, "ports_up", p->ports_up) ||
	    rdma_nl_put_driver_u32_hex(msg, "peer_ports", p->peer_ports))
		return -EMSGSIZE;
	for (i = 1; all && i <= qp->dev->n_ports; i++) {
		snprintf(name, sizeof(name), "tx_port%u", i);
		if (rdma_nl_put_driver_u32(msg, name, mrc_paths_port_tx(p, i)))
			return -EMSGSIZE;
	}
	return 0;
}

static int mrc_fill_responder(struct sk_buff *msg, const struct mrc_qp *qp,
			      bool all)
{
	const struct mrc_resp *resp = &qp->resp;

	if (rdma_nl_put_driver_u32(msg, "resp_unexec",
				   mrc_psn_diff(resp->cack, resp->exec)) ||
	    rdma_nl_put_driver_u32(msg, "resp_ahead",
				   mrc_psn_diff(resp->max_rcv, resp->cack)) ||
	    rdma_nl_put_driver_u32(msg, "resp_ooo", resp->ooo))
		return -EMSGSIZE;
	if (!all)
		return 0;
	if (rdma_nl_put_driver_u32(msg, "resp_cack", resp->cack) ||
	    rdma_nl_put_driver_u32(msg, "resp_exec", resp->exec) ||
	    rdma_nl_put_driver_u32(msg, "resp_max_rcv", resp->max_rcv) ||
	    rdma_nl_put_driver_u32(msg, "resp_msn", resp->msn) ||
	    rdma_nl_put_driver_u64(msg, "resp_bytes", resp->rcvd_bytes))
		return -EMSGSIZE;
	return 0;
}

int mrc_qp_fill_res(struct sk_buff *msg, struct ib_qp *ibqp, bool all)
{
	struct mrc_qp *qp = mrc_qp_of(ibqp);
	int ret = 0;

	if (!qp)
		return 0;
	spin_lock_bh(&qp->req_lock);
	if (qp->paths_on)
		ret = mrc_fill_profiles(msg, qp);
	if (!ret && qp->req_on)
		ret = mrc_fill_requester(msg, qp, all);
	if (!ret && qp->paths_on)
		ret = mrc_fill_paths(msg, qp, all);
	spin_unlock_bh(&qp->req_lock);

	spin_lock_bh(&qp->resp_lock);
	if (!ret && qp->resp_on)
		ret = mrc_fill_responder(msg, qp, all);
	spin_unlock_bh(&qp->resp_lock);
	mrc_qp_put(qp);
	return ret;
}

int mrc_qp_init(void)
{
	int ret = rhashtable_init(&mrc_qpns, &mrc_qpn_params);

	if (ret)
		return ret;
	ret = -ENOMEM;
	mrc_qp_cache = kmem_cache_create("mrc_qp", MRC_QP_CACHE_SIZE,
					 __alignof__(struct mrc_qp),
					 SLAB_NO_MERGE, NULL);
	if (!mrc_qp_cache)
		goto err_table;
	/* Peers are refused until an answer channel is made: soon. */
	mrc_wq = alloc_workqueue("mrc", WQ_UNBOUND | WQ_HIGHPRI |
				 WQ_MEM_RECLAIM, 0);
	if (!mrc_wq)
		goto err_cache;
	return 0;

err_cache:
	kmem_cache_destroy(mrc_qp_cache);
err_table:
	rhashtable_destroy(&mrc_qpns);
	return ret;
}

void mrc_qp_exit(void)
{
	destroy_workqueue(mrc_wq);
	rhashtable_destroy(&mrc_qpns);
	rcu_barrier();		/* mrc_qp_free_rcu() */
	kmem_cache_destroy(mrc_qp_cache);
}
