// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connected queue pairs: numbers, references, what is queued with one.
 */
#include <linux/random.h>
#include <linux/rhashtable.h>

#include "mrc_qp_priv.h"

const struct mrc_profile_ops *mrc_profiles;

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

void mrc_qp_wake(struct mrc_odp_waiter *w)
{
	struct mrc_qp *qp = container_of(w, struct mrc_qp, page_wait);

	WRITE_ONCE(qp->page_woken, true);
	if (!READ_ONCE(qp->dead))
		mrc_qp_queue_work(qp, 0);
	mrc_qp_put(qp);
}

struct mrc_qp *mrc_ans_get(struct mrc_qp *qp)
{
	struct mrc_qp *ans = smp_load_acquire(&qp->ans);	/* all of it */

	return ans && refcount_inc_not_zero(&ans->ref) ? ans : NULL;
}

/* An unpredictable number (mrc-abi: 24 bits) that nobody has. */
int mrc_qp_hash(struct mrc_qp *qp)
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

void mrc_qp_unhash(struct mrc_qp *qp)
{
	rhashtable_remove_fast(&mrc_qpns, &qp->node, mrc_qpn_params);
}

void mrc_qp_for_each(struct mrc_dev *dev, void (*fn)(struct mrc_qp *qp))
{
	struct rhashtable_iter iter;
	struct mrc_qp *qp;

	rhashtable_walk_enter(&mrc_qpns, &iter);
	rhashtable_walk_start(&iter);
	while ((qp = rhashtable_walk_next(&iter))) {
		if (IS_ERR(qp))		/* resized: it starts again */
			continue;
		if (qp->dev != dev || !refcount_inc_not_zero(&qp->ref))
			continue;
		fn(qp);
		mrc_qp_put(qp);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
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

int mrc_qp_ref_init(void)
{
	int ret = rhashtable_init(&mrc_qpns, &mrc_qpn_params);

	if (ret)
		return ret;
	/* Peers are refused until an answer channel is made: soon. */
	mrc_wq = alloc_workqueue("mrc", WQ_UNBOUND | WQ_HIGHPRI |
				 WQ_MEM_RECLAIM, 0);
	if (mrc_wq)
		return 0;
	rhashtable_destroy(&mrc_qpns);
	return -ENOMEM;
}

void mrc_qp_ref_exit(void)
{
	destroy_workqueue(mrc_wq);
	rhashtable_destroy(&mrc_qpns);
}
