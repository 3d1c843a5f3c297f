// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The answer channel of a QP (Documentation/extension.md): creation.
 * The answer channel is a second MRC connection between the same two QPs. It is a
 * struct mrc_qp with its own paths, windows, timers and both engines, but without an
 * entry in the table of QPNs, rings and completion queues. Its requester sends answers;
 * its responder receives them. Locks and lifetime: dev/mrc_dev.h.
 *
 * A QP that neither sends nor receives requests (READ, atomic operations) has none.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "mrc_qp_priv.h"

/*
 * Copy the attributes of @qp. The engine derives those that differ for an answer channel,
 * see @ans in struct mrc_attr.
 */
static void mrc_ans_set_attr(struct mrc_qp *ans, const struct mrc_qp *qp)
{
	ans->attr = qp->attr;
	if (READ_ONCE(ans->paths_on))
		return;
	ans->flow.ipv6 = qp->flow.ipv6;
	ans->bound_port = qp->bound_port;
	ans->flow.saddr = qp->flow.saddr;
	ans->flow.daddr = qp->flow.daddr;
	ans->flow.dport = qp->flow.dport;
}

static struct mrc_qp *mrc_ans_alloc(struct mrc_qp *qp)
{
	struct mrc_qp *ans = mrc_qp_alloc(qp->base.dev);

	if (!ans)
		return NULL;
	ans->ans_of = qp;
	ans->base.ibqp = qp->base.ibqp;
	ans->base.qpn = qp->base.qpn;
	ans->ext = true;
	/*
	 * Room for one answer to each request that may have been executed. The answer
	 * channel is not made anew for later connections, so use the maximum.
	 */
	ans->tx.sq.depth =
		roundup_pow_of_two(mrc_resp_rd_slots_for(&qp->rx.resp,
							 MRC_MAX_RD_ATOMIC));
	ans->tx.swqe_size = mrc_swqe_size(1);
	ans->tx.max_inline = MRC_ATOMIC_LEN;
	ans->tx.max_send_sge = 1;
	return ans;
}

/* Allocate memory for the responder's list of requests. */
static int mrc_ans_make_list(struct mrc_qp *qp)
{
	void *mem;

	if (qp->rx.mem.rd)
		return 0;
	mem = kzalloc(mrc_resp_rd_mem_for(&qp->rx.resp, MRC_MAX_RD_ATOMIC),
		      GFP_KERNEL_ACCOUNT);
	if (!mem)
		return -ENOMEM;
	spin_lock_bh(&qp->rx.lock);
	qp->rx.mem.rd = mem;
	/* Use the maximum even if no request is allowed now: attributes may change. */
	mrc_resp_give_rd(&qp->rx.resp, mem, MRC_MAX_RD_ATOMIC);
	spin_unlock_bh(&qp->rx.lock);
	return 0;
}

/*
 * Let @qp use its answer channel: execute requests (@ok), send requests (@ok and @rx).
 */
static void mrc_ans_announce(struct mrc_qp *qp, bool ok, bool rx)
{
	spin_lock_bh(&qp->rx.lock);
	spin_lock(&qp->tx.lock);
	WRITE_ONCE(qp->rx.ans_ready, ok);
	WRITE_ONCE(qp->tx.ans_ready, ok && rx);
	mrc_qp_take_todo(qp, MRC_TODO_ANS_TX);
	if (mrc_qp_take_todo(qp, MRC_TODO_ANS_RX))
		qp->tx.no_ans = !qp->tx.ans_ready;
	spin_unlock(&qp->tx.lock);
	spin_unlock_bh(&qp->rx.lock);
}

void mrc_ans_make(struct mrc_qp *qp)
{
	struct mrc_qp *ans = qp->ans;
	u8 state = READ_ONCE(qp->base.state);
	bool rx = state == IB_QPS_RTS;
	int ret;

	lockdep_assert_held(&qp->mutex);
	if (!qp->ext || qp->ans_of ||
	    (state != IB_QPS_RTR && state != IB_QPS_RTS))
		return;
	if (READ_ONCE(qp->rx.ans_ready) && (READ_ONCE(qp->tx.ans_ready) || !rx))
		return;
	if (!ans) {
		ans = mrc_ans_alloc(qp);
		if (!ans) {
			mrc_ans_announce(qp, false, false);
			return;
		}
		/* Pairs with mrc_ans_get(). */
		smp_store_release(&qp->ans, ans);
	}
	if (!READ_ONCE(ans->paths_on)) {
		spin_lock_bh(&ans->rx.lock);
		spin_lock(&ans->tx.lock);
		WRITE_ONCE(ans->conn, qp->conn);
		spin_unlock(&ans->tx.lock);
		spin_unlock_bh(&ans->rx.lock);
	}
	mrc_ans_set_attr(ans, qp);
	ret = mrc_ans_make_list(qp);
	if (!ret)
		ret = mrc_qp_start_ans(ans, rx);
	mrc_ans_announce(qp, !ret, rx);
	/* The QP may have gone to ERROR before it had an answer channel. */
	if (READ_ONCE(qp->base.state) == IB_QPS_ERR)
		mrc_ans_error(qp, qp->conn);
}

void mrc_ans_reset(struct mrc_qp *qp, bool dead)
{
	if (qp->ans)
		mrc_qp_reset(qp->ans, dead);
}
