// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Send queue: doorbell, copying and checking of work queue entries, send
 * completions.
 */
#include <linux/slab.h>

#include "mrc_qp.h"

/* Entries copied per lock hold; the rest follows after packets were sent. */
#define MRC_SQ_TAKE	128

#define MRC_SEND_FLAGS	(IB_SEND_FENCE | IB_SEND_SIGNALED | \
			 IB_SEND_SOLICITED | IB_SEND_INLINE)

static enum ib_wc_status mrc_wc_to_ib(enum mrc_wc_status st)
{
	switch (st) {
	case MRC_WC_SUCCESS:
		return IB_WC_SUCCESS;
	case MRC_WC_LOC_PROT:
		return IB_WC_LOC_PROT_ERR;
	case MRC_WC_LOC_QP_OP:
		return IB_WC_LOC_QP_OP_ERR;
	case MRC_WC_REM_INV_REQ:
		return IB_WC_REM_INV_REQ_ERR;
	case MRC_WC_REM_ACCESS:
		return IB_WC_REM_ACCESS_ERR;
	case MRC_WC_REM_OP:
		return IB_WC_REM_OP_ERR;
	case MRC_WC_RETRY_EXC:
		return IB_WC_RETRY_EXC_ERR;
	case MRC_WC_RNR_RETRY_EXC:
		return IB_WC_RNR_RETRY_EXC_ERR;
	case MRC_WC_LOC_LEN:
		return IB_WC_LOC_LEN_ERR;
	case MRC_WC_MW_BIND:
		return IB_WC_MW_BIND_ERR;
	case MRC_WC_FLUSH:
		return IB_WC_WR_FLUSH_ERR;
	}
	return IB_WC_FATAL_ERR;
}

static void mrc_sq_complete(struct mrc_qp *qp, u64 wr_id, u32 len,
			    enum ib_wc_status status, u32 vendor_err)
{
	struct mrc_cqe cqe = {
		.wr_id = wr_id,
		.status = status,
		.opcode = IB_WC_RDMA_WRITE,
		.vendor_err = vendor_err,
		.byte_len = len,
		.qp_num = qp->qpn,
	};

	if (mrc_cq_post(qp->scq, &cqe, status != IB_WC_SUCCESS,
			qp->attr.port))
		qp->fatal = true;
}

static void mrc_sq_publish(struct mrc_qp *qp)
{
	/* All of the entry has been read: the program may reuse it. */
	smp_store_release(&qp->sq.hdr->cons, qp->sq.idx);
}

void mrc_sq_reap(struct mrc_qp *qp)
{
	enum mrc_wc_status st;
	u32 slot;

	lockdep_assert_held(&qp->req_lock);
	while (mrc_req_reap(&qp->tx->req, &slot, &st)) {
		const struct mrc_swqe *w = mrc_swqe_at(qp, slot);

		/*
		 * Before the completion: a program that has seen it may post
		 * again at once and must find the room.
		 */
		qp->sq.idx++;
		mrc_sq_publish(qp);
		if (w->signaled || st != MRC_WC_SUCCESS)
			mrc_sq_complete(qp, w->wr_id, w->len, mrc_wc_to_ib(st),
					st == MRC_WC_REM_INV_REQ && w->imm ?
						MRC_VENDOR_ERR_IMM : 0);
	}
}

void mrc_sq_flush(struct mrc_qp *qp)
{
	int pending = mrc_ring_pending(&qp->sq);

	lockdep_assert_held(&qp->req_lock);
	/* With an impossible counter there is no telling what was posted. */
	if (pending <= 0)
		return;
	while (pending--) {
		const struct mrc_send_wqe *e;
		u64 wr_id;

		e = mrc_ring_entry(&qp->sq, qp->sq.idx);
		wr_id = READ_ONCE(e->wr_id);
		qp->sq.idx++;
		mrc_sq_publish(qp);
		mrc_sq_complete(qp, wr_id, 0, IB_WC_WR_FLUSH_ERR, 0);
	}
	qp->sq_taken = qp->sq.idx;
}

/* Check a copied SGE and its key; *len is the message's length so far. */
static enum mrc_wc_status mrc_sq_add_sge(struct mrc_qp *qp, struct mrc_swqe *w,
					 const struct mrc_sge *sge)
{
	struct mrc_mr *mr;

	if (!sge->length)
		return MRC_WC_SUCCESS;
	if (sge->length > MRC_MAX_MSG - w->len)
		return MRC_WC_LOC_QP_OP;
	mr = mrc_mr_get(qp->dev, qp->ibqp->pd, sge->lkey, sge->addr,
			sge->length, 0);
	if (IS_ERR(mr))
		return MRC_WC_LOC_PROT;
	mrc_mr_put(mr);
	w->sge[w->num_sge++] = *sge;
	w->len += sge->length;
	return MRC_WC_SUCCESS;
}

/*
 * Copy ring entry @e into @w and @wr. Every field of the ring is read once.
 * -ENOBUFS: inline data with no buffer for it yet.
 */
static int mrc_sq_copy(struct mrc_qp *qp, const struct mrc_send_wqe *e,
		       u32 slot, struct mrc_swqe *w, struct mrc_wr *wr,
		       enum mrc_wc_status *st)
{
	u32 opcode, flags, num_sge, inline_len, i;
	struct mrc_send_wqe h;
	const void *data;

	memcpy(&h, e, sizeof(h));
	barrier();	/* the copy is what counts from here on */
	data = e + 1;
	opcode = h.opcode;
	flags = h.send_flags;
	num_sge = h.num_sge;
	inline_len = h.inline_len;

	memset(w, 0, sizeof(*w));
	w->wr_id = h.wr_id;
	w->signaled = qp->sig_all || flags & IB_SEND_SIGNALED;

	memset(wr, 0, sizeof(*wr));
	*st = MRC_WC_LOC_QP_OP;
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
		wr->op = MRC_WR_WRITE;
		break;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		wr->op = MRC_WR_WRITE_IMM;
		wr->imm = (__force __be32)h.imm_data;
		w->imm = true;
		break;
	default:
		return 0;
	}
	if (flags & ~MRC_SEND_FLAGS || h.reserved)
		return 0;
	wr->se = flags & IB_SEND_SOLICITED;
	wr->rkey = h.rkey;
	wr->va = h.remote_addr;

	if (flags & IB_SEND_INLINE) {
		if (inline_len > qp->max_inline || num_sge || qp->no_inline)
			return 0;
		if (inline_len && !qp->inl_buf)
			return -ENOBUFS;
		if (inline_len)
			memcpy(mrc_inline_at(qp, slot), data, inline_len);
		w->inl = true;
		w->len = inline_len;
	} else {
		const struct mrc_sge *ring_sge = data;

		if (num_sge > qp->max_send_sge || inline_len)
			return 0;
		for (i = 0; i < num_sge; i++) {
			struct mrc_sge sge;

			memcpy(&sge, &ring_sge[i], sizeof(sge));
			barrier();
			*st = mrc_sq_add_sge(qp, w, &sge);
			if (*st != MRC_WC_SUCCESS)
				return 0;
		}
	}
	wr->len = w->len;
	*st = MRC_WC_SUCCESS;
	return 0;
}

/* An entry that cannot be executed: it completes with @st, the QP fails. */
static void mrc_sq_refuse(struct mrc_qp *qp, struct mrc_swqe *w,
			  enum mrc_wc_status st, u64 now)
{
	const struct mrc_wr wr = { .op = MRC_WR_WRITE };
	int slot;

	w->len = 0;
	w->num_sge = 0;
	slot = mrc_req_post(&qp->tx->req, &wr, now);
	if (slot < 0) {
		qp->fatal = true;
		return;
	}
	qp->sq_taken++;
	mrc_req_fail(&qp->tx->req, slot, st);
}

bool mrc_sq_take(struct mrc_qp *qp)
{
	u32 n, taken, slot, mask = qp->sq.depth - 1;
	u64 now = mrc_now();
	int pending;

	lockdep_assert_held(&qp->req_lock);
	pending = mrc_ring_pending(&qp->sq);
	taken = qp->sq_taken - qp->sq.idx;
	if (pending < 0 || (u32)pending < taken) {
		/* The program wrote nonsense into prod. */
		qp->sq_pending = false;
		qp->fatal = true;
		return false;
	}
	for (n = pending - taken; n; n--) {
		enum mrc_wc_status st;
		struct mrc_swqe *w;
		struct mrc_wr wr;

		if (pending - taken - n >= MRC_SQ_TAKE)
			return true;
		slot = qp->sq_taken & mask;
		w = mrc_swqe_at(qp, slot);
		if (mrc_sq_copy(qp, mrc_ring_entry(&qp->sq, qp->sq_taken),
				slot, w, &wr, &st)) {
			qp->need_inline = true;
			return false;
		}
		if (st != MRC_WC_SUCCESS) {
			/* In order: what was posted before it ends first. */
			if (qp->sq_taken != qp->sq.idx)
				return false;
			qp->sq_pending = false;
			mrc_sq_refuse(qp, w, st, now);
			return false;
		}
		if (mrc_req_post(&qp->tx->req, &wr, now) < 0) {
			qp->sq_pending = false;
			qp->fatal = true;
			return false;
		}
		qp->sq_taken++;
	}
	qp->sq_pending = false;
	return false;
}

int mrc_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr)
{
	struct mrc_qp *qp = to_mibqp(ibqp)->qp;

	if (wr) {	/* work requests come through the ring */
		*bad_wr = wr;
		return -EOPNOTSUPP;
	}
	if (READ_ONCE(qp->state) == IB_QPS_RTS && !READ_ONCE(qp->req_on)) {
		int ret = mrc_qp_start_requester(qp);

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
