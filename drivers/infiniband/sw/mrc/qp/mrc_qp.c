// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connected queue pairs: creation, timer, work item, doorbell, reset, destruction.
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dev/mrc_trace.h"
#include "mrc_qp_priv.h"

static struct kmem_cache *mrc_qp_cache;

/*
 * Run the responder again. It had to wait for a key in use or for memory, and no packet
 * announces the end of this wait.
 */
static void mrc_qp_resume_resp(struct mrc_qp *qp)
{
	spin_lock_bh(&qp->rx.lock);
	if (qp->rx.on && (qp->base.state == IB_QPS_RTR ||
			  qp->base.state == IB_QPS_RTS) &&
	    mrc_qp_take_todo(qp, MRC_TODO_RESP))
		mrc_resp_run(qp, qp->attr.port, mrc_now(), false, false);
	else
		spin_unlock_bh(&qp->rx.lock);
}

static void mrc_qp_work(struct work_struct *work)
{
	struct mrc_qp *qp = container_of(to_delayed_work(work), struct mrc_qp,
					 work);
	struct mem_cgroup *old;

	/* Serialised, so that an outdated port status is never applied last. */
	mutex_lock(mrc_qp_mutex(qp));
	mrc_qp_update_ports(qp);
	old = set_active_memcg(qp->memcg);
	if (mrc_qp_has_todo(qp, MRC_TODO_ANS_RX) || mrc_qp_has_todo(qp, MRC_TODO_ANS_TX))
		mrc_ans_make(qp);
	if (mrc_qp_has_todo(qp, MRC_TODO_RECVS))
		mrc_rq_make_table(qp);
	set_active_memcg(old);
	mutex_unlock(mrc_qp_mutex(qp));

	mrc_req_go_on(qp, true);
	if (mrc_qp_has_todo(qp, MRC_TODO_RESP))
		mrc_qp_resume_resp(qp);
	mrc_qp_flush_rest(qp);
	mrc_qp_put(qp);
}

static enum hrtimer_restart mrc_qp_timer(struct hrtimer *timer)
{
	struct mrc_qp *qp = container_of(timer, struct mrc_qp, tx.timer);
	u64 now;

	spin_lock_bh(&qp->tx.lock);
	now = mrc_now();
	/*
	 * The timer was re-armed while this call waited for the lock. The queued timer
	 * keeps the reference.
	 */
	if (hrtimer_is_queued(timer)) {
		spin_unlock_bh(&qp->tx.lock);
		return HRTIMER_NORESTART;
	}
	qp->tx.timer_at = MRC_NEVER;
	if (mrc_qp_sends(qp)) {
		if (mrc_req_deadline(mrc_qp_req(qp)) <= now) {
			mrc_req_on_deadline(mrc_qp_req(qp), now);
			qp->tx.timer_due_at = now;
		}
		qp->tx.timer_grid = mrc_req_timer_grid(now - qp->tx.timer_due_at);
		mrc_req_run(qp, false);
	} else {
		spin_unlock_bh(&qp->tx.lock);
	}
	mrc_qp_put(qp);
	return HRTIMER_NORESTART;
}

/*
 * Restore the state of each part after creation. The old state of the connection is
 * returned, so that the caller can free it without the locks.
 */
static struct mrc_tx_conn mrc_qp_tx_reset(struct mrc_qp_tx *tx)
{
	struct mrc_tx_conn old = tx->conn;

	lockdep_assert_held(&tx->lock);
	WRITE_ONCE(tx->on, false);
	WRITE_ONCE(tx->sqd, MRC_SQD_OFF);
	WRITE_ONCE(tx->ans_ready, false);
	tx->conn = (struct mrc_tx_conn){};
	mrc_ring_rewind(&tx->sq);
	return old;
}

static void mrc_tx_conn_free(struct mrc_tx_conn *conn)
{
	kvfree(conn->eng);
	kvfree(conn->swqe);
	kvfree(conn->inl_buf);
}

static void mrc_qp_rx_reset(struct mrc_qp_rx *rx, struct mrc_srq *srq,
			    struct mrc_rx_mem *old)
{
	lockdep_assert_held(&rx->lock);
	*old = rx->mem;
	WRITE_ONCE(rx->on, false);
	WRITE_ONCE(rx->ans_ready, false);
	memset(&rx->conn, 0, sizeof(rx->conn));
	mrc_srq_reset_qp(srq, &rx->rq);
}

static void mrc_rx_mem_free(struct mrc_rx_mem *mem)
{
	kvfree(mem->resp);
	kfree(mem->stash);
	kfree(mem->rd);
	kvfree(mem->recv);
}

void mrc_qp_reset(struct mrc_qp *qp, bool dead)
{
	struct mrc_tx_conn tx;
	struct mrc_rx_mem rx;

	spin_lock_bh(&qp->rx.lock);
	spin_lock(&qp->tx.lock);
	trace_mrc_qp_state(qp->base.qpn, qp->base.state, IB_QPS_RESET);
	WRITE_ONCE(qp->base.state, IB_QPS_RESET);
	WRITE_ONCE(qp->dead, qp->dead || dead);
	WRITE_ONCE(qp->conn, qp->conn + 1);
	if (qp->paths_on)
		mrc_paths_fini(&qp->paths);
	WRITE_ONCE(qp->paths_on, false);
	/* Only mrc_delayed_ack_qp_end() removes the QP from the list of a CPU. */
	set_mask_bits(&qp->todo, ~BIT(MRC_TODO_DELAYED_ACK), 0);
	tx = mrc_qp_tx_reset(&qp->tx);
	mrc_qp_rx_reset(&qp->rx, qp->base.srq, &rx);
	spin_unlock(&qp->tx.lock);
	spin_unlock_bh(&qp->rx.lock);

	if (mrc_odp_unwait(&qp->base.dev->odp, &qp->page_wait))
		mrc_qp_put(qp);
	mrc_tx_conn_free(&tx);
	mrc_rx_mem_free(&rx);
	mrc_ans_reset(qp, dead);
	mrc_profiles->unbind(qp);
	mrc_peer_leave(qp);
	mrc_route_drop(&qp->flow);
	memset(&qp->attr, 0, sizeof(qp->attr));
	if (qp->ans_of)
		return;
	mrc_cq_clean(qp->base.scq, qp->base.ibqp);
	mrc_cq_clean(qp->base.rcq, qp->base.ibqp);
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
	mrc_qp_base_init(&qp->base, dev);
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->flow.route_lock);
	spin_lock_init(&qp->rx.lock);
	spin_lock_init(&qp->tx.lock);
	hrtimer_setup(&qp->tx.timer, mrc_qp_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	INIT_DELAYED_WORK(&qp->work, mrc_qp_work);
	INIT_LIST_HEAD(&qp->page_wait.node);
	qp->page_wait.wake = mrc_qp_wake;
	qp->tx.timer_at = MRC_NEVER;
	qp->flow.dev = dev;
	return qp;
}

static void mrc_qp_free_rcu(struct rcu_head *rcu)
{
	struct mrc_qp *qp = container_of(rcu, struct mrc_qp, base.rcu);

	if (qp->cached)
		kmem_cache_free(mrc_qp_cache, qp);
	else
		kfree(qp);
}

void mrc_qp_discard(struct mrc_qp *qp)
{
	mem_cgroup_put(qp->memcg);
	mutex_destroy(&qp->mutex);
	call_rcu(&qp->base.rcu, mrc_qp_free_rcu);
}

void mrc_qp_release(struct mrc_qp *qp)
{
	if (hrtimer_cancel(&qp->tx.timer))
		mrc_qp_put(qp);
	/*
	 * Not cancel_delayed_work_sync(): it disables the work temporarily, and
	 * mod_delayed_work() then returns as if the work was queued. Running work has a
	 * reference.
	 */
	if (cancel_delayed_work(&qp->work))
		mrc_qp_put(qp);
	mrc_qp_put(qp);
	wait_for_completion(&qp->base.released);

	/* A packet that was being sent may have cached a route in the meantime. */
	mrc_route_drop(&qp->flow);
}

/* Unhash the QP, stop timer and work, wait for the last reference, free. */
static void mrc_qp_free(struct mrc_qp *qp)
{
	mrc_qp_base_unpublish(&qp->base);
	/* Those who hold the answer channel may use the QP: release it first. */
	if (qp->ans)
		mrc_qp_release(qp->ans);
	mrc_qp_release(qp);
	if (qp->ans)
		mrc_qp_discard(qp->ans);
	mrc_ring_free(&qp->tx.sq);
	if (qp->rx.rq.depth)
		mrc_ring_free(&qp->rx.rq);
	mrc_qp_discard(qp);
}

static int mrc_qp_check(const struct ib_qp_init_attr *init,
			const struct mrc_qp_params *parts)
{
	return parts->req.flags & ~MRC_QP_F_STRICT ? -EINVAL : 0;
}

static int mrc_create_qp(struct ib_qp *ibqp, const struct ib_qp_init_attr *init,
			 const struct mrc_qp_params *parts)
{
	struct mrc_qp *qp = mrc_qp_alloc(parts->dev);
	int ret;

	if (!qp)
		return -ENOMEM;
	qp->memcg = get_mem_cgroup_from_mm(current->mm);
	mrc_qp_base_set(&qp->base, ibqp, parts);
	/* A strict QP uses MRC 1.0 without the extension. */
	qp->ext = READ_ONCE(parts->dev->ext) &&
		  !(parts->req.flags & MRC_QP_F_STRICT);
	qp->tx.sq = parts->sq;
	qp->rx.rq = parts->rq;
	qp->tx.max_send_sge = parts->cap.max_send_sge;
	qp->rx.max_recv_sge = parts->cap.max_recv_sge;
	qp->tx.max_inline = parts->cap.max_inline_data;
	qp->tx.swqe_size = mrc_swqe_size(qp->tx.max_send_sge);
	ret = mrc_qp_base_publish(&qp->base, false);
	if (ret) {
		mrc_qp_discard(qp);
		return ret;
	}
	WRITE_ONCE(to_mibqp(ibqp)->base, &qp->base);
	ibqp->qp_num = qp->base.qpn;
	return 0;
}

static void mrc_destroy_qp(struct ib_qp *ibqp)
{
	struct mrc_qp *qp = mrc_qp_from(ibqp);

	mutex_lock(&qp->mutex);
	mrc_qp_send_final_ack(qp);
	mrc_qp_reset(qp, true);
	mutex_unlock(&qp->mutex);
	WRITE_ONCE(to_mibqp(ibqp)->base, NULL);
	mrc_qp_free(qp);
}

static void mrc_qp_rings(struct ib_qp *ibqp, struct mrc_ring **sq,
			 struct mrc_ring **rq)
{
	struct mrc_qp *qp = mrc_qp_from(ibqp);

	*sq = &qp->tx.sq;
	*rq = &qp->rx.rq;
}

static int mrc_post_send(struct ib_qp *ibqp)
{
	struct mrc_qp *qp = mrc_qp_from(ibqp);

	if (READ_ONCE(qp->base.state) == IB_QPS_RTS && !READ_ONCE(qp->tx.on)) {
		int ret = mrc_qp_start_requester(qp);

		/* The doorbell of a consumer in the kernel is not rung again. */
		if (ret == -ENOMEM && to_mibqp(ibqp)->kern)
			mrc_qp_error(qp, READ_ONCE(qp->conn),
				     IB_EVENT_QP_FATAL);
		if (ret)
			return ret;
	}
	spin_lock_bh(&qp->tx.lock);
	switch (qp->base.state) {
	case IB_QPS_RTS:
		if (!qp->tx.on) {	/* reset and connected again meanwhile */
			spin_unlock_bh(&qp->tx.lock);
			return -EINVAL;
		}
		mrc_qp_set_todo(qp, MRC_TODO_SQ);
		mrc_req_run(qp, true);
		return 0;
	case IB_QPS_ERR:
		mrc_sq_flush_all(qp);
		spin_unlock_bh(&qp->tx.lock);
		return 0;
	default:
		spin_unlock_bh(&qp->tx.lock);
		return -EINVAL;
	}
}

const struct mrc_qp_kind mrc_qp_kind_rc = {
	.check = mrc_qp_check,
	.create = mrc_create_qp,
	.destroy = mrc_destroy_qp,
	.modify = mrc_modify_qp,
	.query = mrc_query_qp,
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
	return mrc_qp_cache ? 0 : -ENOMEM;
}

void mrc_qp_exit(void)
{
	flush_workqueue(mrc_qp_wq);
	rcu_barrier();		/* mrc_qp_free_rcu() */
	kmem_cache_destroy(mrc_qp_cache);
}
