// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The send loop: what the requester may send is built and handed to the network, in
 * batches, until there is nothing more.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "mrc_qp_priv.h"

#define MRC_TX_ROUNDS	16	/* batches before the work item goes on */
#define MRC_TX_PAGE_NS	(32 * NSEC_PER_MSEC)	/* no word of missing pages */
#define MRC_TX_PAGE_MAX_NS	(4ull * NSEC_PER_SEC)

/**
 * struct mrc_tx_round - one round of the send loop
 * @list: packets that leave
 * @conn: qp->conn
 * @odp_seq: mrc_odp_seq() before memory was looked for
 * @acked: of an answer channel: answers acknowledged
 * @bad_num: likewise, the number of the answer that cannot be given
 * @bad: there is one
 * @drained: report IB_EVENT_SQ_DRAINED
 * @take_more: more could be taken from the send ring at once
 * @more: there is more to do at once
 * @wait: something waits for the work item
 * @need_inline: it is the inline buffer
 * @page: packets, or a WQE, wait for memory that is fetched
 * @fatal: go to ERROR with IB_EVENT_QP_FATAL
 * @failed: go to ERROR; a completion says why
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

/* Remember how much data the answer to the request in @d has to bring. */
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
 * How long a packet waits without word of its memory: half as long again as memory
 * has been missing. Making all the packets that wait, for nothing, can take longer
 * than they wait; the timer would come again at once, and no task would run that
 * could bring the memory.
 */
static u64 mrc_tx_page_wait(struct mrc_qp *qp, u64 now)
{
	if (!qp->tx.page_since)
		qp->tx.page_since = now;
	return clamp_t(u64, (now - qp->tx.page_since) / 2, MRC_TX_PAGE_NS,
		       MRC_TX_PAGE_MAX_NS);
}

/* A local operation, whose turn in the send queue has come. Return: it is done. */
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

/* The memory of what @d describes cannot be read. */
static void mrc_tx_bad_memory(struct mrc_qp *qp, const struct mrc_tx_desc *d)
{
	if (qp->ans_of) {
		/* Answers before it are to arrive still. */
		qp->tx.ans_bad_num = mrc_req_answer_num(mrc_qp_req(qp), d->slot);
		mrc_qp_set_todo(qp, MRC_TODO_ANS_BAD);
		return;
	}
	mrc_req_fail(mrc_qp_req(qp), d->slot, MRC_WC_LOC_PROT);
	mrc_sq_reap(qp);
}

/* Build the packet that the engine chose. Return: go on with the next one. */
static bool mrc_tx_build(struct mrc_qp *qp, const struct mrc_tx_desc *d,
			 struct mrc_tx_round *r)
{
	struct sk_buff *skb;
	u64 at;

	mrc_req_begin(qp, d);
	skb = mrc_build_skb(qp, d);
	if (!IS_ERR(skb)) {
		if (d->data && d->len)
			qp->tx.page_since = 0;
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
	if (PTR_ERR(skb) == -EFAULT)
		mrc_tx_bad_memory(qp, d);
	/* For want of memory: it is sent again later. */
	return false;
}

/* --- the steps of a round ------------------------------------------------------ */

/* 1. What has happened since the last round. */
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

/* 2. New work requests, unless the one at the head waits for something. */
static void mrc_tx_take(struct mrc_qp *qp, struct mrc_tx_round *r)
{
	if (!mrc_qp_has_todo(qp, MRC_TODO_SQ) || qp->tx.sqd ||
	    mrc_qp_has_todo(qp, MRC_TODO_INLINE) ||
	    mrc_qp_has_todo(qp, MRC_TODO_ANS_RX))
		return;
	r->take_more = mrc_sq_take(qp, &r->page);
	mrc_sq_reap(qp);
}

/* 3. Up to MRC_TX_BATCH packets. */
static void mrc_tx_batch(struct mrc_qp *qp, struct mrc_tx_round *r)
{
	const u64 now = mrc_now();
	struct mrc_tx_desc d;
	int i;

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

/* 4. What others have to be told, and what the QP waits for from here on. */
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
	/* Feedback goes on if the engine still has work. */
	r->more |= r->take_more && mrc_req_all_begun(req);
}

/* 5. Packets leave; the lock does, too. */
static void mrc_tx_send(struct mrc_qp *qp, struct mrc_tx_round *r)
	__releases(&qp->tx.lock)
{
	/*
	 * A softirq that runs in between would send what the engine chose after
	 * these before them: packets of one path would be overtaken on it.
	 */
	local_bh_disable();
	spin_unlock_bh(&qp->tx.lock);

	mrc_qp_xmit(qp, &r->list);
	local_bh_enable();
}

/* 6. Others are told. Return: the QP is alive. */
static bool mrc_tx_tell(struct mrc_qp *qp, struct mrc_tx_round *r)
{
	if (r->drained)
		mrc_qp_report(qp->base.ibqp, IB_EVENT_SQ_DRAINED);
	/* Whatever this lets the responder execute is sent by this loop. */
	if (r->acked)
		r->more |= mrc_ans_acked(qp, r->conn, r->acked);
	if (r->bad)
		r->more |= mrc_ans_failed(qp, r->conn, r->bad_num);
	if (!r->fatal && !r->failed)
		return true;
	/* No completion tells of an answer that failed. */
	mrc_qp_error(qp, r->conn, r->fatal || qp->ans_of ? IB_EVENT_QP_FATAL :
							   MRC_NO_EVENT);
	return false;
}

void mrc_qp_xmit(struct mrc_qp *qp, struct sk_buff_head *list)
{
	u32 lost = mrc_xmit_list(&qp->flow, list);

	/* Those ports are taken out, unless that has happened. */
	if (lost & ~READ_ONCE(qp->no_route) && !READ_ONCE(qp->dead))
		mrc_qp_queue_work(qp, 0);
}

/* Memory for inline data, on first use. Process context, no lock held. */
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
		if (!mrc_tx_tell(qp, &r))
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
