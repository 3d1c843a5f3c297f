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

/* Remember how much data the answer to the request in @d has to bring. */
static void mrc_req_begin(struct mrc_qp *qp, const struct mrc_tx_desc *d)
{
	struct mrc_rd_state *rd;

	if (!d->data || d->hdr.rtx ||
	    !(mrc_op_info(d->hdr.opcode)->flags & MRC_OPF_REQUEST))
		return;
	rd = &qp->tx->rd[d->hdr.rqmsn & (MRC_MAX_RD_ATOMIC - 1)];
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
	if (!qp->tx_page_since)
		qp->tx_page_since = now;
	return clamp_t(u64, (now - qp->tx_page_since) / 2, MRC_TX_PAGE_NS,
		       MRC_TX_PAGE_MAX_NS);
}

/* Build up to MRC_TX_BATCH packets; true if there may be more. */
static bool mrc_req_batch(struct mrc_qp *qp, struct sk_buff_head *list,
			  u64 now)
{
	struct mrc_tx_desc d;
	struct sk_buff *skb;
	int i, ret;

	for (i = 0; i < MRC_TX_BATCH; i++) {
		switch (mrc_req_next(&qp->tx->req, now, &d)) {
		case MRC_TX_PACKET:
			break;
		case MRC_TX_LOCAL:
			ret = mrc_local_op(qp->ibqp,
					   &mrc_swqe_at(qp, d.slot)->local);
			if (ret == -EAGAIN) {
				qp->again = true;
				return false;
			}
			mrc_req_local_done(&qp->tx->req, d.slot,
					   ret ? MRC_WC_MW_BIND :
						 MRC_WC_SUCCESS, now);
			mrc_sq_reap(qp);
			continue;
		default:
			return false;
		}
		mrc_req_begin(qp, &d);
		skb = mrc_build_skb(qp, &d);
		if (PTR_ERR_OR_ZERO(skb) == -EAGAIN) {
			u64 at = mrc_now();

			mrc_req_put_back(&qp->tx->req, &d,
					 at + mrc_tx_page_wait(qp, at), at);
			qp->tx_page = true;
			continue;
		}
		if (IS_ERR(skb)) {
			mrc_ctr_add(&qp->dev->ctr, d.port, MRC_CTR_TX_ERROR, 1);
			if (PTR_ERR(skb) != -EFAULT)
				return false;	/* retransmitted later */
			if (qp->main) {
				/* Answers before it are to arrive still. */
				qp->ans_bad = true;
				qp->ans_bad_num =
					mrc_req_answer_num(&qp->tx->req, d.slot);
				return false;
			}
			mrc_req_fail(&qp->tx->req, d.slot, MRC_WC_LOC_PROT);
			mrc_sq_reap(qp);
			return false;
		}
		if (d.data && d.len)
			qp->tx_page_since = 0;
		__skb_queue_tail(list, skb);
	}
	return true;
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
	void *buf = kvmalloc_array(qp->sq.depth, qp->max_inline,
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	set_active_memcg(old);
	spin_lock_bh(&qp->req_lock);
	if (qp->need_inline) {
		qp->need_inline = false;
		qp->no_inline = !buf;
		qp->inl_buf = buf;
		buf = NULL;
	}
	spin_unlock_bh(&qp->req_lock);
	kvfree(buf);
}

void mrc_req_run(struct mrc_qp *qp, bool sleep)
	__releases(&qp->req_lock)
{
	unsigned int round;

	for (round = 0;; round++) {
		bool more, take_more = false, need_inline, failed, fatal;
		bool drained = false, wait, bad;
		struct sk_buff_head list;
		u32 conn = qp->conn, acked, seq = mrc_odp_seq(&qp->dev->odp);
		u16 bad_num;

		__skb_queue_head_init(&list);
		mrc_peer_sync(qp);
		mrc_sq_reap(qp);
		failed = qp->fatal || mrc_req_failed(&qp->tx->req);
		if (qp->sqd == MRC_SQD_DRAINING && !failed &&
		    mrc_req_drained(&qp->tx->req)) {
			WRITE_ONCE(qp->sqd, MRC_SQD_DRAINED);
			drained = qp->sqd_notify;
		}
		if (READ_ONCE(qp->page_woken)) {
			WRITE_ONCE(qp->page_woken, false);
			mrc_req_release(&qp->tx->req);
		}
		qp->tx_page = false;
		if (qp->sq_pending && !qp->need_inline && !qp->need_ans &&
		    !qp->sqd) {
			take_more = mrc_sq_take(qp);
			mrc_sq_reap(qp);
		}
		need_inline = qp->need_inline;
		qp->again = false;
		more = mrc_req_batch(qp, &list, mrc_now());
		wait = need_inline || qp->need_ans || qp->again;
		if (qp->tx_page)
			mrc_qp_wait_page(qp, seq);
		mrc_qp_arm_timer(qp);
		fatal = qp->fatal;
		qp->fatal = false;
		acked = qp->ans_acked;
		qp->ans_acked = 0;
		bad = qp->ans_bad;
		bad_num = qp->ans_bad_num;
		qp->ans_bad = false;
		failed = mrc_req_failed(&qp->tx->req);
		/* Feedback goes on if the engine still has work. */
		more |= take_more && mrc_req_all_begun(&qp->tx->req);
		/*
		 * A softirq that runs in between would send what the engine
		 * chose after these before them: packets of one path would
		 * be overtaken on it.
		 */
		local_bh_disable();
		spin_unlock_bh(&qp->req_lock);

		mrc_qp_xmit(qp, &list);
		local_bh_enable();
		if (drained)
			mrc_qp_report(qp->ibqp, IB_EVENT_SQ_DRAINED);
		/* Whatever this lets the responder execute is sent by this loop. */
		if (acked)
			more |= mrc_ans_acked(qp, conn, acked);
		if (bad)
			more |= mrc_ans_failed(qp, conn, bad_num);
		if (fatal || failed) {
			/* No completion tells of an answer that failed. */
			mrc_qp_error(qp, conn, fatal || qp->main ?
					       IB_EVENT_QP_FATAL :
					       MRC_NO_EVENT);
			return;
		}
		if (need_inline && sleep) {
			mrc_alloc_inline(qp);
			more = true;
		}
		if (!more && !wait)
			return;
		if (!more || round >= MRC_TX_ROUNDS) {
			mrc_qp_queue_work(qp, 0);
			return;
		}
		spin_lock_bh(&qp->req_lock);
		if (!qp->req_on || qp->state != IB_QPS_RTS) {
			spin_unlock_bh(&qp->req_lock);
			return;
		}
	}
}
