// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The send loop. It builds the packets that the requester may send, and passes them to
 * the network in batches, until the requester has nothing more to send.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "mrc_qp_priv.h"

#define MRC_TX_ROUNDS	16	/* batches before the work item continues */
#define MRC_TX_PAGE_NS	(32 * NSEC_PER_MSEC)	/* limits of mrc_tx_page_wait() */
#define MRC_TX_PAGE_MAX_NS	(4ull * NSEC_PER_SEC)

/**
 * struct mrc_tx_round - one round of the send loop
 * @list: packets to send
 * @conn: qp->conn
 * @odp_seq: mrc_odp_seq() before memory was accessed
 * @acked: answer channel only: number of answers acknowledged
 * @bad_num: answer channel only: number of the answer that cannot be sent
 * @bad: @bad_num is valid
 * @drained: report IB_EVENT_SQ_DRAINED
 * @take_more: further entries can be taken from the send ring immediately
 * @more: run another round immediately
 * @wait: the work item has something to do
 * @need_inline: the inline buffer must be allocated
 * @page: packets, or a WQE, wait for memory that is being fetched
 * @fatal: go to ERROR with IB_EVENT_QP_FATAL
 * @failed: go to ERROR; a completion reports the reason
 */
struct mrc_tx_round {
	struct sk_buff_head list;
	u32 conn;
	u32 odp_seq;
	u32 acked;
	u16 bad_num;
	bool bad;
	bool drained;
	bool take_more;
	bool more;
	bool wait;
	bool need_inline;
	bool page;
	bool fatal;
	bool failed;
};

/* Record the number of bytes that the answer to the request in @d must carry. */
static void mrc_req_begin(struct mrc_qp *qp, const struct mrc_tx_desc *d)
{
	struct mrc_rd_state *rd;

	if (!d->data || d->hdr.rtx ||
	    !(mrc_op_info(d->hdr.opcode)->flags & MRC_OPF_REQUEST))
		return;
	rd = &qp->tx.eng->rd[d->hdr.rqmsn & (MRC_MAX_RD_ATOMIC - 1)];
	rd->slot = d->slot;
	rd->left = mrc_swqe_at(qp, d->slot)->len;
}

/*
 * Time that a packet waits before it is built again, if no notification comes that its
 * memory has been fetched. It is half of the time for which memory has been missing, in
 * the limits of MRC_TX_PAGE_NS and MRC_TX_PAGE_MAX_NS. With a short constant time,
 * building all waiting packets in vain could take longer than the wait. The timer would
 * then fire again immediately, and the task that fetches the memory could not run.
 */
static u64 mrc_tx_page_wait(struct mrc_qp *qp, u64 now)
{
	if (!qp->tx.page_wait_since)
		qp->tx.page_wait_since = now;
	return clamp_t(u64, (now - qp->tx.page_wait_since) / 2, MRC_TX_PAGE_NS,
		       MRC_TX_PAGE_MAX_NS);
}

/* Execute a local operation when it is first in the send queue. Return: it is done. */
static bool mrc_tx_local(struct mrc_qp *qp, u32 slot, u64 now)
{
	int ret = mrc_local_op(qp->base.ibqp, &mrc_swqe_at(qp, slot)->local);

	if (ret == -EAGAIN)
		return false;
	mrc_req_local_done(mrc_qp_req(qp), slot,
			   ret ? MRC_WC_MW_BIND : MRC_WC_SUCCESS, now);
	mrc_sq_reap(qp);
	return true;
}

/* The memory of the packet @d cannot be read. */
static void mrc_tx_bad_memory(struct mrc_qp *qp, const struct mrc_tx_desc *d)
{
	if (qp->ans_of) {
		/* Earlier answers must still arrive. */
		qp->tx.ans_bad_num = mrc_req_answer_num(mrc_qp_req(qp), d->slot);
		mrc_qp_set_todo(qp, MRC_TODO_ANS_BAD);
		return;
	}
	mrc_req_fail(mrc_qp_req(qp), d->slot, MRC_WC_LOC_PROT);
	mrc_sq_reap(qp);
}

/* Build the packet that the engine chose. Return: continue with the next packet. */
static bool mrc_tx_build(struct mrc_qp *qp, const struct mrc_tx_desc *d,
			 struct mrc_tx_round *r)
{
	struct sk_buff *skb;
	u64 at;

	mrc_req_begin(qp, d);
	skb = mrc_build_skb(qp, d);
	if (!IS_ERR(skb)) {
		if (d->data && d->len)
			qp->tx.page_wait_since = 0;
		__skb_queue_tail(&r->list, skb);
		return true;
	}
	if (PTR_ERR(skb) == -EAGAIN) {
		at = mrc_now();
		mrc_req_put_back(mrc_qp_req(qp), d,
				 at + mrc_tx_page_wait(qp, at), at);
		r->page = true;
		return true;
	}
	mrc_ctr_add(&qp->base.dev->ctr, d->port, MRC_CTR_TX_ERROR, 1);
	if (PTR_ERR(skb) == -EFAULT) {
		mrc_tx_bad_memory(qp, d);
		/* Earlier work requests must still be sent. */
		return !qp->ans_of;
	}
	/* If there was no memory for the skb, the packet is sent again later. */
	return false;
}

/* --- the steps of a round ------------------------------------------------------ */

/* 1. Process events since the last round. */
static void mrc_tx_catch_up(struct mrc_qp *qp, struct mrc_tx_round *r)
{
	struct mrc_req *req = mrc_qp_req(qp);

	memset(r, 0, sizeof(*r));
	__skb_queue_head_init(&r->list);
	r->conn = qp->conn;
	r->odp_seq = mrc_odp_seq(&qp->base.dev->odp);

	mrc_peer_sync(qp);
	mrc_sq_reap(qp);
	if (qp->tx.sqd == MRC_SQD_DRAINING && mrc_req_drained(req) &&
	    !mrc_req_failed(req) && !mrc_qp_has_todo(qp, MRC_TODO_FATAL)) {
		WRITE_ONCE(qp->tx.sqd, MRC_SQD_DRAINED);
		r->drained = qp->tx.sqd_notify;
	}
	if (mrc_qp_take_todo(qp, MRC_TODO_PAGES))
		mrc_req_release(req);
}

/* 2. Take new work requests, unless the next one waits for an allocation. */
static void mrc_tx_take(struct mrc_qp *qp, struct mrc_tx_round *r)
{
	if (!mrc_qp_has_todo(qp, MRC_TODO_SQ) || qp->tx.sqd ||
	    mrc_qp_has_todo(qp, MRC_TODO_INLINE) ||
	    mrc_qp_has_todo(qp, MRC_TODO_ANS_RX))
		return;
	r->take_more = mrc_sq_take(qp, &r->page);
	mrc_sq_reap(qp);
}

/* 3. Build up to MRC_TX_BATCH packets. */
static void mrc_tx_batch(struct mrc_qp *qp, struct mrc_tx_round *r)
{
	const u64 now = mrc_now();
	struct mrc_tx_desc d;
	int i;

	mrc_paths_begin_batch(&qp->paths, mrc_flow_runs(&qp->flow));
	for (i = 0; i < MRC_TX_BATCH; i++) {
		switch (mrc_req_next(mrc_qp_req(qp), now, &d)) {
		case MRC_TX_PACKET:
			if (!mrc_tx_build(qp, &d, r))
				return;
			break;
		case MRC_TX_LOCAL:
			if (!mrc_tx_local(qp, d.slot, now)) {
				r->wait = true;
				return;
			}
			break;
		default:
			return;
		}
	}
	r->more = true;
}

/* 4. Collect the notifications to send after unlock, and arm timer and ODP wait. */
static void mrc_tx_settle(struct mrc_qp *qp, struct mrc_tx_round *r)
{
	struct mrc_req *req = mrc_qp_req(qp);

	r->need_inline = mrc_qp_has_todo(qp, MRC_TODO_INLINE);
	r->wait |= r->need_inline || mrc_qp_has_todo(qp, MRC_TODO_ANS_RX);
	if (r->page)
		mrc_qp_wait_page(qp, r->odp_seq);
	mrc_qp_arm_timer(qp);
	r->fatal = mrc_qp_take_todo(qp, MRC_TODO_FATAL);
	r->failed = mrc_req_failed(req);
	r->acked = qp->tx.ans_acked;
	qp->tx.ans_acked = 0;
	r->bad = mrc_qp_take_todo(qp, MRC_TODO_ANS_BAD);
	r->bad_num = qp->tx.ans_bad_num;
	/* If the engine still has unsent work requests, feedback continues the loop. */
	r->more |= r->take_more && mrc_req_all_sent(req);
}

/* 5. Unlock and send the packets. */
static void mrc_tx_send(struct mrc_qp *qp, struct mrc_tx_round *r)
	__releases(&qp->tx.lock)
{
	/*
	 * Keep BH disabled: a softirq that runs between unlock and transmission could
	 * send later packets of the engine first, and reorder the packets of a path.
	 */
	local_bh_disable();
	spin_unlock_bh(&qp->tx.lock);

	mrc_qp_xmit(qp, &r->list);
	local_bh_enable();
}

/* 6. Send the notifications. Return: false if the QP went to ERROR. */
static bool mrc_tx_notify(struct mrc_qp *qp, struct mrc_tx_round *r)
{
	if (r->drained)
		mrc_qp_report(qp->base.ibqp, IB_EVENT_SQ_DRAINED);
	/* This loop sends the answers to requests that can be executed now. */
	if (r->acked)
		r->more |= mrc_ans_acked(qp, r->conn, r->acked);
	if (r->bad)
		r->more |= mrc_ans_failed(qp, r->conn, r->bad_num);
	if (!r->fatal && !r->failed)
		return true;
	/* A failed answer has no completion that could report the error. */
	mrc_qp_error(qp, r->conn, r->fatal || qp->ans_of ? IB_EVENT_QP_FATAL :
							   MRC_NO_EVENT);
	return false;
}

void mrc_qp_xmit(struct mrc_qp *qp, struct sk_buff_head *list)
{
	u32 lost = mrc_xmit_list(&qp->flow, list);

	/* Let the work item disable ports that have lost their route. */
	if (lost & ~READ_ONCE(qp->no_route) && !READ_ONCE(qp->dead))
		mrc_qp_queue_work(qp, 0);
}

/* Allocate the buffer for inline data on first use. Process context, no lock held. */
static void mrc_alloc_inline(struct mrc_qp *qp)
{
	struct mem_cgroup *old = set_active_memcg(qp->memcg);
	void *buf = kvmalloc_array(qp->tx.sq.depth, qp->tx.max_inline,
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	set_active_memcg(old);
	spin_lock_bh(&qp->tx.lock);
	if (mrc_qp_take_todo(qp, MRC_TODO_INLINE)) {
		qp->tx.no_inline = !buf;
		qp->tx.inl_buf = buf;
		buf = NULL;
	}
	spin_unlock_bh(&qp->tx.lock);
	kvfree(buf);
}

void mrc_req_run(struct mrc_qp *qp, bool sleep)
	__releases(&qp->tx.lock)
{
	struct mrc_tx_round r;
	unsigned int n;

	for (n = 0;; n++) {
		mrc_tx_catch_up(qp, &r);
		mrc_tx_take(qp, &r);
		mrc_tx_batch(qp, &r);
		mrc_tx_settle(qp, &r);
		mrc_tx_send(qp, &r);
		if (!mrc_tx_notify(qp, &r))
			return;
		if (r.need_inline && sleep) {
			mrc_alloc_inline(qp);
			r.more = true;
		}
		if (!r.more && !r.wait)
			return;
		if (!r.more || n >= MRC_TX_ROUNDS) {
			mrc_qp_queue_work(qp, 0);
			return;
		}
		spin_lock_bh(&qp->tx.lock);
		if (!mrc_qp_sends(qp)) {
			spin_unlock_bh(&qp->tx.lock);
			return;
		}
	}
}

void mrc_req_go_on(struct mrc_qp *qp, bool sleep)
{
	spin_lock_bh(&qp->tx.lock);
	if (mrc_qp_sends(qp))
		mrc_req_run(qp, sleep);
	else
		spin_unlock_bh(&qp->tx.lock);
}
