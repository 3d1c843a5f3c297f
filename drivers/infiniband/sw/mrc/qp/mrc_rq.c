// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive queue. Each WRITE_IMM or SEND consumes one entry, in the order in which the
 * messages were sent (MRC 1.0 §7.4, Documentation/extension.md).
 * WRITE_IMM does not use the SGEs of the entry: its data goes to RETH.va.
 *
 * Packets of several SENDs may arrive in any order. METH.rqmsn of a packet, relative to
 * the number of the next message to deliver, selects the receive. RETH.va is the offset
 * in it. An entry of the ring is read once, when the first packet for it arrives. From
 * then on only the copy is used.
 *
 * The functions up to mrc_rq_take() get the entries from the ring or from an SRQ.
 */
#include <linux/log2.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "mrc_qp_priv.h"

/* A table of copies of at most this size, bytes, is allocated in the packet path. */
#define MRC_RECV_ATOMIC		8192

/* --- the ring --------------------------------------------------------------- */

/* With an SRQ, entries are taken from the SRQ until the ring has @n. */
int mrc_rq_pending(struct mrc_qp *qp, u32 n)
{
	int pending;

	lockdep_assert_held(&qp->rx.lock);
	if (!qp->rx.rq.depth)
		return 0;
	pending = mrc_ring_pending(&qp->rx.rq);
	if (!qp->base.srq || pending < 0 || (u32)pending >= n)
		return pending;
	return mrc_srq_take(qp->base.srq, &qp->rx.rq, n);
}

/* Copy the pending entry at position @n after the head into @r. */
static void mrc_rq_fetch(struct mrc_qp *qp, u32 n, struct mrc_recv *r)
{
	const struct mrc_recv_wqe *e = mrc_ring_entry(&qp->rx.rq,
						      qp->rx.rq.idx + n);
	const struct mrc_sge *ring_sge = (const void *)(e + 1);
	struct mrc_recv_wqe h;
	u32 i;

	memcpy(&h, e, sizeof(h));
	barrier();	/* use only the copy from here on */
	r->wr_id = h.wr_id;
	r->room = 0;
	r->num_sge = 0;
	r->status = IB_WC_SUCCESS;
	if (h.num_sge > qp->rx.max_recv_sge || h.reserved) {
		r->status = IB_WC_LOC_QP_OP_ERR;
		return;
	}
	for (i = 0; i < h.num_sge; i++) {
		struct mrc_sge *sge = &r->sge[r->num_sge];

		memcpy(sge, &ring_sge[i], sizeof(*sge));
		barrier();
		if (!sge->length)
			continue;
		r->room += sge->length;
		r->num_sge++;
	}
}

/* Consume the entry at the head of the ring. */
static void mrc_rq_take(struct mrc_qp *qp)
{
	qp->rx.rq.idx++;
	mrc_srq_used(qp->base.srq, &qp->rx.rq);
	mrc_ring_consumed(&qp->rx.rq);
}

/* --- copies -------------------------------------------------------------------- */

static struct mrc_recv *mrc_recv_at(const struct mrc_qp *qp, u16 rqmsn)
{
	return qp->rx.mem.recv + (size_t)(rqmsn & qp->rx.recv_mask) * qp->rx.recv_size;
}

/* Find the copy of the receive of message @rqmsn, NULL if it has not been copied. */
static struct mrc_recv *mrc_recv_find(const struct mrc_qp *qp, u16 rqmsn)
{
	struct mrc_recv *r = qp->rx.mem.recv ? mrc_recv_at(qp, rqmsn) : NULL;

	return r && r->used && r->rqmsn == rqmsn ? r : NULL;
}

/*
 * Number of copies: one for each message that may be in progress. There cannot be more
 * such messages than entries in the ring, because others are refused.
 */
static u32 mrc_recv_count(const struct mrc_qp *qp)
{
	return min_t(u32, roundup_pow_of_two(mrc_resp_max_wimm(&qp->rx.resp)),
		     qp->rx.rq.depth);
}

static size_t mrc_recv_size(const struct mrc_qp *qp)
{
	return sizeof(struct mrc_recv) +
	       qp->rx.max_recv_sge * sizeof(struct mrc_sge);
}

static void mrc_recv_set_table(struct mrc_qp *qp, void *mem, u32 n)
{
	qp->rx.mem.recv = mem;
	qp->rx.recv_mask = n - 1;
	qp->rx.recv_size = mrc_recv_size(qp);
	mrc_qp_take_todo(qp, MRC_TODO_RECVS);
}

void mrc_rq_make_table(struct mrc_qp *qp)
{
	u32 conn = READ_ONCE(qp->conn), n;
	void *mem;

	/* Under the mutex the connection does not change. */
	if (!READ_ONCE(qp->rx.on))
		return;
	n = mrc_recv_count(qp);
	mem = kvcalloc(n, mrc_recv_size(qp),
		       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	spin_lock_bh(&qp->rx.lock);
	mrc_qp_take_todo(qp, MRC_TODO_RECVS);
	if (mem && !qp->rx.mem.recv && qp->rx.on && qp->conn == conn) {
		mrc_recv_set_table(qp, mem, n);
		mem = NULL;
	}
	spin_unlock_bh(&qp->rx.lock);
	kvfree(mem);
}

/* Allocate the table of copies now, or let the work item do it (-ENOMEM). */
static int mrc_rq_need_table(struct mrc_qp *qp)
{
	u32 n = mrc_recv_count(qp);
	size_t size = n * mrc_recv_size(qp);
	struct mem_cgroup *old;
	void *mem = NULL;

	if (size <= MRC_RECV_ATOMIC) {
		old = set_active_memcg(qp->memcg);
		mem = kzalloc(size, GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
		set_active_memcg(old);
	}
	if (mem) {
		mrc_recv_set_table(qp, mem, n);
		return 0;
	}
	if (!mrc_qp_has_todo(qp, MRC_TODO_RECVS)) {
		mrc_qp_set_todo(qp, MRC_TODO_RECVS);
		mrc_qp_queue_work(qp, 0);
	}
	return -ENOMEM;
}

int mrc_rq_reserve(struct mrc_qp *qp, u32 n, bool copy)
{
	int pending;

	lockdep_assert_held(&qp->rx.lock);
	pending = mrc_rq_pending(qp, n);
	if (pending < 0)
		return pending;
	if ((u32)pending < n)
		return -EAGAIN;
	return copy && !qp->rx.mem.recv ? mrc_rq_need_table(qp) : 0;
}

/*
 * Only receives that belong to this QP can be reported to the peer. Entries of a shared
 * receive queue may be taken by other QPs.
 */
void mrc_rq_report_recvs(struct mrc_qp *qp)
{
	int pending;

	lockdep_assert_held(&qp->rx.lock);
	if (qp->base.srq)
		return;
	pending = mrc_rq_pending(qp, 0);
	if (pending >= 0)
		mrc_resp_set_recvs(&qp->rx.resp, pending);
}

/* Get the copy of the receive of message @rqmsn. It is made now if necessary. */
static struct mrc_recv *mrc_rq_get(struct mrc_qp *qp, u16 rqmsn)
{
	struct mrc_recv *r = mrc_recv_find(qp, rqmsn);
	u16 n = rqmsn - mrc_resp_next_rqmsn(&qp->rx.resp);

	if (r || !qp->rx.mem.recv)
		return r;
	/* A program may have decremented its producer counter. */
	if (n > qp->rx.recv_mask || mrc_rq_pending(qp, n + 1) <= n)
		return NULL;
	r = mrc_recv_at(qp, rqmsn);
	mrc_rq_fetch(qp, n, r);
	r->rqmsn = rqmsn;
	r->used = true;
	return r;
}

/* The syndrome of the NAK for a message whose receive fails with @status. */
static u8 mrc_recv_syndrome(u8 status)
{
	return status == IB_WC_LOC_LEN_ERR ? MRC_SYN_NAK_INV_REQ :
					     MRC_SYN_NAK_REM_OP;
}

int mrc_rq_ready(struct mrc_qp *qp, const struct mrc_hdr *h,
		 struct mrc_odp_hold *hold)
{
	struct mrc_recv *r;

	lockdep_assert_held(&qp->rx.lock);
	r = mrc_rq_get(qp, h->rqmsn);
	if (!r || r->status != IB_WC_SUCCESS)
		return 0;
	return mrc_odp_ready(qp->base.dev, qp->base.ibqp->pd, r->sge, r->num_sge,
			     h->reth.va, h->payload_len, true, qp->base.qpn,
			     &qp->rx.page_fetched_at, hold);
}

u8 mrc_rq_place(struct mrc_qp *qp, const struct mrc_hdr *h,
		const struct sk_buff *skb, int off)
{
	struct mrc_recv *r;
	int ret;

	lockdep_assert_held(&qp->rx.lock);
	r = mrc_rq_get(qp, h->rqmsn);
	if (!r)
		return MRC_SYN_NAK_INV_REQ;
	if (r->status == IB_WC_SUCCESS && h->reth.dmalen > r->room)
		r->status = IB_WC_LOC_LEN_ERR;
	if (r->status == IB_WC_SUCCESS) {
		ret = mrc_scatter(qp, r->sge, r->num_sge, h->reth.va, skb, off,
				  h->payload_len);
		if (ret == -EMSGSIZE)
			r->status = IB_WC_LOC_LEN_ERR;
		else if (ret)
			r->status = IB_WC_LOC_PROT_ERR;
	}
	return r->status == IB_WC_SUCCESS ? 0 : mrc_recv_syndrome(r->status);
}

/* --- completions ------------------------------------------------------------- */

/* Fill in the members of the completion that depend on the kind of message. */
static void mrc_rq_describe(const struct mrc_recv_msg *imm, struct mrc_cqe *cqe)
{
	cqe->byte_len = imm->len;
	switch (imm->kind) {
	case MRC_RECV_SEND:
		cqe->opcode = IB_WC_RECV;
		break;
	case MRC_RECV_SEND_INV:
		cqe->opcode = IB_WC_RECV;
		cqe->wc_flags = IB_WC_WITH_INVALIDATE;
		cqe->imm_data = imm->inv_key;
		break;
	case MRC_RECV_SEND_IMM:
		cqe->opcode = IB_WC_RECV;
		cqe->wc_flags = IB_WC_WITH_IMM;
		cqe->imm_data = (__force u32)imm->imm;
		break;
	default:
		cqe->opcode = IB_WC_RECV_RDMA_WITH_IMM;
		cqe->wc_flags = IB_WC_WITH_IMM;
		cqe->imm_data = (__force u32)imm->imm;
		break;
	}
}

int mrc_rq_deliver(struct mrc_qp *qp, const struct mrc_recv_msg *imm, u8 port,
		   bool *fatal)
{
	struct mrc_recv *r, head = { .status = IB_WC_SUCCESS };
	struct mrc_cqe cqe = {
		.status = IB_WC_SUCCESS,
		.qp_num = qp->base.qpn,
		.src_qp = qp->attr.dest_qpn,
	};
	u8 syn = 0;
	int pending;

	lockdep_assert_held(&qp->rx.lock);
	pending = mrc_rq_pending(qp, 1);
	if (pending < 0)
		*fatal = true;
	if (pending <= 0)
		return MRC_SYN_NAK_INV_REQ;

	r = mrc_recv_find(qp, imm->rqmsn);
	if (!r) {	/* no copy: the SGEs are not needed */
		const struct mrc_recv_wqe *e = mrc_ring_entry(&qp->rx.rq,
							      qp->rx.rq.idx);

		head.wr_id = READ_ONCE(e->wr_id);
		if (READ_ONCE(e->num_sge) > qp->rx.max_recv_sge ||
		    READ_ONCE(e->reserved))
			head.status = IB_WC_LOC_QP_OP_ERR;
		r = &head;
	}
	mrc_rq_describe(imm, &cqe);
	cqe.wr_id = r->wr_id;
	if (r->status != IB_WC_SUCCESS) {
		cqe.status = r->status;
		syn = mrc_recv_syndrome(r->status);
		*fatal |= r->status == IB_WC_LOC_QP_OP_ERR;
	} else if (imm->kind == MRC_RECV_SEND_INV) {
		int ret = mrc_mr_invalidate(qp->base.ibqp, imm->inv_key);

		if (ret == -EAGAIN)
			return ret;
		if (ret) {
			cqe.status = IB_WC_LOC_PROT_ERR;
			syn = MRC_SYN_NAK_ACCESS;
		}
	}
	r->used = false;
	/*
	 * Consume the entry before the completion is visible: the program may post again
	 * as soon as it has seen the completion, and the ring must then have room.
	 */
	mrc_rq_take(qp);
	if (mrc_cq_post(qp->base.rcq, qp->base.ibqp, &cqe, imm->se || syn, port))
		*fatal = true;
	return syn;
}

void mrc_rq_flush(struct mrc_qp *qp)
{
	u16 rqmsn = mrc_resp_next_rqmsn(&qp->rx.resp) + qp->rx.flushed;
	int pending;
	u32 n;

	lockdep_assert_held(&qp->rx.lock);
	if (!qp->rx.rq.depth)
		return;
	mrc_qp_request_kick(&qp->rx.rq);
	pending = mrc_ring_pending(&qp->rx.rq);
	if (pending <= 0)
		return;
	n = min3((u32)pending, (u32)MRC_FLUSH_MAX, (u32)qp->rx.flush_left);
	qp->rx.flush_left -= n;
	if (n < pending && qp->rx.flush_left)
		mrc_qp_flush_later(qp);
	qp->rx.flushed += n;
	for (; n--; rqmsn++) {
		const struct mrc_recv_wqe *e;
		struct mrc_recv *r = mrc_recv_find(qp, rqmsn);
		struct mrc_cqe cqe = {
			.opcode = IB_WC_RECV,
			.status = IB_WC_WR_FLUSH_ERR,
			.qp_num = qp->base.qpn,
		};

		e = mrc_ring_entry(&qp->rx.rq, qp->rx.rq.idx);
		cqe.wr_id = r ? r->wr_id : READ_ONCE(e->wr_id);
		/* The next message in order is the one that made the QP fail. */
		if (r && r->status != IB_WC_SUCCESS &&
		    rqmsn == mrc_resp_next_rqmsn(&qp->rx.resp) && mrc_resp_failed(&qp->rx.resp))
			cqe.status = r->status;
		if (r)
			r->used = false;
		mrc_rq_take(qp);
		/* mrc_cq_post() itself reports an overflow of the CQ. */
		mrc_cq_post(qp->base.rcq, qp->base.ibqp, &cqe, true, qp->attr.port);
	}
}

void mrc_rq_flush_all(struct mrc_qp *qp)
{
	qp->rx.flush_left = qp->rx.rq.depth;
	mrc_rq_flush(qp);
}

int mrc_post_recv(struct ib_qp *ibqp)
{
	struct mrc_qp *qp = mrc_qp_from(ibqp);
	int ret = 0;

	spin_lock_bh(&qp->rx.lock);
	if (qp->base.state == IB_QPS_RESET)
		ret = -EINVAL;
	else if (qp->base.state == IB_QPS_ERR)
		mrc_rq_flush_all(qp);
	spin_unlock_bh(&qp->rx.lock);
	return ret;
}
