// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connected queue pairs: references, and the work, waiters and timer that hold one.
 */
#include "mrc_qp_priv.h"

const struct mrc_profile_ops *mrc_profiles;

struct mrc_qp *mrc_qp_get(u32 qpn)
{
	struct mrc_qp_base *base = mrc_qpn_ud(qpn) ? NULL : mrc_qp_base_get(qpn);

	return base ? container_of(base, struct mrc_qp, base) : NULL;
}

struct mrc_qp *mrc_qp_of(struct ib_qp *ibqp)
{
	struct mrc_qp_base *base = mrc_qp_base_of(ibqp);

	return base ? container_of(base, struct mrc_qp, base) : NULL;
}

void mrc_qp_queue_work(struct mrc_qp *qp, unsigned long delay)
{
	bool queued;

	mrc_qp_hold(qp);
	if (delay)
		queued = queue_delayed_work(mrc_qp_wq, &qp->work, delay);
	else
		queued = !mod_delayed_work(mrc_qp_wq, &qp->work, 0);
	if (!queued)
		mrc_qp_put(qp);
}

void mrc_qp_flush_later(struct mrc_qp *qp)
{
	mrc_qp_set_todo(qp, MRC_TODO_FLUSH);
	mrc_qp_queue_work(qp, 0);
}

void mrc_qp_wait_page(struct mrc_qp *qp, u32 seq)
{
	int ret = 0;

	if (READ_ONCE(qp->dead))
		return;
	mrc_qp_hold(qp);
	ret = mrc_odp_wait(&qp->base.dev->odp, &qp->page_wait, seq);
	if (ret == -EAGAIN)
		qp->page_wait.wake(&qp->page_wait);
	else if (ret)
		mrc_qp_put(qp);
}

void mrc_qp_wake(struct mrc_odp_waiter *w)
{
	struct mrc_qp *qp = container_of(w, struct mrc_qp, page_wait);

	mrc_qp_set_todo(qp, MRC_TODO_PAGES);
	if (!READ_ONCE(qp->dead))
		mrc_qp_queue_work(qp, 0);
	mrc_qp_put(qp);
}

struct mrc_qp *mrc_ans_get(struct mrc_qp *qp)
{
	/* Pairs with smp_store_release() in mrc_ans_make(). */
	struct mrc_qp *ans = smp_load_acquire(&qp->ans);

	return ans && mrc_qp_base_tryget(&ans->base) ? ans : NULL;
}

void mrc_qp_arm_timer(struct mrc_qp *qp)
{
	u64 at;

	lockdep_assert_held(&qp->tx.lock);
	if (qp->dead || qp->base.state != IB_QPS_RTS)
		return;
	at = mrc_req_deadline(mrc_qp_req(qp));
	/*
	 * Do not re-arm the timer for a later deadline: reprogramming the timer for every
	 * SACK costs more than an early expiry.
	 */
	if (at >= qp->tx.timer_at)
		return;
	/*
	 * Nor for each message that is sent alone, if deadlines have long been met without
	 * the timer. All queue pairs use the same grid, so that one interrupt serves them.
	 */
	if (qp->tx.timer_grid) {
		at = round_up(min_t(u64, at, KTIME_MAX), (u64)qp->tx.timer_grid);
		if (at >= qp->tx.timer_at)
			return;
	}
	if (qp->tx.timer_at == MRC_NEVER)
		mrc_qp_hold(qp);
	qp->tx.timer_at = at;
	hrtimer_start(&qp->tx.timer, ns_to_ktime(min_t(u64, at, KTIME_MAX)),
		      HRTIMER_MODE_ABS_SOFT);
}
