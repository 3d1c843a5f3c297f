// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Send queue: copying and checking of work queue entries, send completions.
 */
#include <linux/highmem.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include "mrc_qp_priv.h"

/* Entries copied per lock hold. The others are copied after packets were sent. */
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

/* Map enum ib_wr_opcode to enum ibv_wc_opcode, which has the values of ib_wc_opcode. */
static u32 mrc_sq_wc_opcode(u8 op)
{
	switch (op) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
		return IB_WC_SEND;
	case IB_WR_RDMA_READ:
		return IB_WC_RDMA_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return IB_WC_COMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return IB_WC_FETCH_ADD;
	case IB_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case IB_WR_BIND_MW:
		return IB_WC_BIND_MW;
	case IB_WR_REG_MR:
		return IB_WC_REG_MR;
	case MRC_IB_WR_FLUSH:
		return MRC_IB_WC_FLUSH;
	case MRC_IB_WR_ATOMIC_WRITE:
		return MRC_IB_WC_ATOMIC_WRITE;
	default:
		return IB_WC_RDMA_WRITE;
	}
}

static void mrc_sq_complete(struct mrc_qp *qp, u64 wr_id, u8 op, u32 len,
			    enum ib_wc_status status, u32 vendor_err)
{
	struct mrc_cqe cqe = {
		.wr_id = wr_id,
		.status = status,
		.opcode = mrc_sq_wc_opcode(op),
		.vendor_err = vendor_err,
		.byte_len = len,
		.qp_num = qp->base.qpn,
	};

	if (mrc_cq_post(qp->base.scq, qp->base.ibqp, &cqe, status != IB_WC_SUCCESS,
			qp->attr.port))
		mrc_qp_set_todo(qp, MRC_TODO_FATAL);
}

bool mrc_sq_reap(struct mrc_qp *qp)
{
	enum mrc_wc_status st;
	u32 slot, n = 0;

	lockdep_assert_held(&qp->tx.lock);
	while (mrc_req_reap(mrc_qp_req(qp), &slot, &st)) {
		const struct mrc_swqe *w = mrc_swqe_at(qp, slot);

		if (qp->ans_of) {	/* an answer */
			qp->tx.sq.idx++;
			qp->tx.ans_acked += st == MRC_WC_SUCCESS;
			continue;
		}
		/*
		 * Consume the entry before the completion is visible: the program may
		 * post again as soon as it has seen the completion.
		 */
		qp->tx.sq.idx++;
		mrc_ring_consumed(&qp->tx.sq);
		if (w->signaled || st != MRC_WC_SUCCESS)
			mrc_sq_complete(qp, w->wr_id, w->op, w->len,
					mrc_wc_to_ib(st), st == MRC_WC_REM_INV_REQ &&
					w->imm ? MRC_VENDOR_ERR_IMM : 0);
		if (++n >= MRC_FLUSH_MAX && mrc_req_failed(mrc_qp_req(qp)))
			return true;
	}
	return false;
}

void mrc_sq_flush(struct mrc_qp *qp)
{
	u32 n;
	int pending;

	lockdep_assert_held(&qp->tx.lock);
	if (qp->tx.on && mrc_sq_reap(qp)) {
		mrc_qp_flush_later(qp);
		return;
	}
	pending = mrc_ring_pending(&qp->tx.sq);
	/* With an invalid producer counter the posted entries are unknown. */
	if (pending <= 0)
		return;
	n = min3((u32)pending, (u32)MRC_FLUSH_MAX, (u32)qp->tx.flush_left);
	qp->tx.flush_left -= n;
	if (n < pending && qp->tx.flush_left)
		mrc_qp_flush_later(qp);
	while (n--) {
		const struct mrc_send_wqe *e;
		u64 wr_id;
		u8 op;

		e = mrc_ring_entry(&qp->tx.sq, qp->tx.sq.idx);
		wr_id = READ_ONCE(e->wr_id);
		op = min_t(u32, READ_ONCE(e->opcode), U8_MAX);
		qp->tx.sq.idx++;
		mrc_ring_consumed(&qp->tx.sq);
		mrc_sq_complete(qp, wr_id, op, 0, IB_WC_WR_FLUSH_ERR, 0);
	}
	qp->tx.sq_taken = qp->tx.sq.idx;
}

void mrc_sq_flush_all(struct mrc_qp *qp)
{
	qp->tx.flush_left = qp->tx.sq.depth;
	mrc_sq_flush(qp);
}

/* Check a copied SGE and that its key allows @access, and append it to @w. */
static enum mrc_wc_status mrc_sq_add_sge(struct mrc_qp *qp, struct mrc_swqe *w,
					 const struct mrc_sge *sge, int access)
{
	struct mrc_mr *mr;

	if (!sge->length)
		return MRC_WC_SUCCESS;
	if (sge->length > MRC_MAX_MSG - w->len)
		return MRC_WC_LOC_QP_OP;
	mr = mrc_mr_get(qp->base.ibqp, sge->lkey, sge->addr, sge->length, access);
	if (IS_ERR(mr))
		return MRC_WC_LOC_PROT;
	mrc_mr_put(mr);
	w->sge[w->num_sge++] = *sge;
	w->len += sge->length;
	return MRC_WC_SUCCESS;
}

/* The engine's operation for each enum ib_wr_opcode. Others are refused. */
static const struct mrc_sq_op {
	u8 op;			/* enum mrc_wr_op */
	bool ok;
	bool ext;		/* needs the extension */
	bool list;		/* has SGEs or inline data */
} mrc_sq_ops[] = {
	[IB_WR_RDMA_WRITE] = { MRC_WR_WRITE, true, false, true },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { MRC_WR_WRITE_IMM, true, false, true },
	[IB_WR_SEND] = { MRC_WR_SEND, true, true, true },
	[IB_WR_SEND_WITH_IMM] = { MRC_WR_SEND_IMM, true, true, true },
	[IB_WR_SEND_WITH_INV] = { MRC_WR_SEND_INV, true, true, true },
	[IB_WR_RDMA_READ] = { MRC_WR_READ, true, true, true },
	[IB_WR_ATOMIC_CMP_AND_SWP] = { MRC_WR_CMP_SWAP, true, true, true },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = { MRC_WR_FETCH_ADD, true, true, true },
	[MRC_IB_WR_ATOMIC_WRITE] = { MRC_WR_ATOMIC_WRITE, true, true, true },
	[MRC_IB_WR_FLUSH] = { MRC_WR_FLUSH, true, true, false },
	[IB_WR_LOCAL_INV] = { MRC_WR_LOCAL, true, true, false },
	[IB_WR_REG_MR] = { MRC_WR_LOCAL, true, true, false },
	[IB_WR_BIND_MW] = { MRC_WR_LOCAL, true, true, false },
};

static bool mrc_sq_is_atomic(u8 op)
{
	return op == MRC_WR_CMP_SWAP || op == MRC_WR_FETCH_ADD;
}

/* Copy the SGEs at @data of the entry with header @h. */
static enum mrc_wc_status mrc_sq_copy_list(struct mrc_qp *qp,
					   const struct mrc_send_wqe *h,
					   const void *data, struct mrc_swqe *w,
					   int access)
{
	const struct mrc_sge *ring_sge = data;
	u32 i;

	if (h->num_sge > qp->tx.max_send_sge || h->inline_len)
		return MRC_WC_LOC_QP_OP;
	for (i = 0; i < h->num_sge; i++) {
		enum mrc_wc_status st;
		struct mrc_sge sge;

		memcpy(&sge, &ring_sge[i], sizeof(sge));
		barrier();
		st = mrc_sq_add_sge(qp, w, &sge, access);
		if (st != MRC_WC_SUCCESS)
			return st;
	}
	return MRC_WC_SUCCESS;
}

/*
 * ATOMIC_WRITE: read the 8 bytes of the SGE of @w, in memory order. Return: -EAGAIN if
 * the memory is being fetched; else 0, and *@st is the status.
 */
static int mrc_sq_read8(struct mrc_qp *qp, const struct mrc_swqe *w, u64 *swap,
			enum mrc_wc_status *st)
{
	const struct mrc_sge *sge = w->sge;
	struct mrc_mr *mr;
	u8 buf[MRC_ATOMIC_LEN];
	u32 done, n;
	int ret;

	*st = MRC_WC_LOC_LEN;
	if (w->num_sge != 1 || w->len != MRC_ATOMIC_LEN)
		return 0;
	*st = MRC_WC_LOC_PROT;
	mr = mrc_mr_get(qp->base.ibqp, sge->lkey, sge->addr, sizeof(buf), 0);
	if (IS_ERR(mr))
		return 0;
	ret = mrc_mr_open(mr, sge->addr, sizeof(buf), false, qp->base.qpn);
	if (ret) {
		mrc_mr_put(mr);
		return ret == -EAGAIN ? ret : 0;
	}
	for (done = 0; done < sizeof(buf); done += n) {
		u32 off;
		struct page *page = mrc_mr_page(mr, sge->addr + done, &off, &n);
		void *map = kmap_local_page(page);

		n = min_t(u32, n, sizeof(buf) - done);
		memcpy(buf + done, map + off, n);
		kunmap_local(map);
	}
	mrc_mr_close(mr, sizeof(buf));
	mrc_mr_put(mr);
	*swap = get_unaligned_be64(buf);
	*st = MRC_WC_SUCCESS;
	return 0;
}

/* Copy the operands of an operation of the extension from header @h. */
static enum mrc_wc_status mrc_sq_copy_ext(struct mrc_qp *qp,
					  const struct mrc_send_wqe *h,
					  struct mrc_swqe *w, struct mrc_wr *wr)
{
	if (mrc_wr_is_request(wr->op) && !mrc_req_may_request(mrc_qp_req(qp)))
		return MRC_WC_LOC_QP_OP;
	switch (wr->op) {
	case MRC_WR_SEND:
	case MRC_WR_SEND_IMM:
		wr->va = 0;
		wr->rkey = 0;
		break;
	case MRC_WR_SEND_INV:
		wr->va = 0;
		wr->rkey = h->imm_data;
		break;
	case MRC_WR_READ:
		break;
	case MRC_WR_CMP_SWAP:
	case MRC_WR_FETCH_ADD:
		if (w->num_sge != 1 || w->len != MRC_ATOMIC_LEN)
			return MRC_WC_LOC_LEN;
		wr->swap = wr->op == MRC_WR_CMP_SWAP ? h->swap : 0;
		wr->compare = h->compare_add;
		break;
	case MRC_WR_ATOMIC_WRITE:
		w->len = 0;	/* length of the answer */
		break;
	case MRC_WR_FLUSH:
		if (h->compare_add > MRC_MAX_MSG ||
		    h->swap & ~(u64)(MRC_FLUSH_GLOBAL | MRC_FLUSH_PERSISTENT |
				     MRC_FLUSH_MR))
			return MRC_WC_LOC_QP_OP;
		wr->len = h->compare_add;
		wr->swap = h->swap;
		break;
	case MRC_WR_LOCAL:
		if (mrc_local_wqe(h, &w->local))
			return MRC_WC_LOC_QP_OP;
		break;
	}
	return MRC_WC_SUCCESS;
}

/*
 * Copy ring entry @e into @w and @wr. Each field of the ring is read only once. Return: 0
 * and the status in *@st; -ENOBUFS: the buffer for inline data has not been allocated;
 * -EAGAIN: memory is being fetched.
 */
static int mrc_sq_copy(struct mrc_qp *qp, const struct mrc_send_wqe *e,
		       u32 slot, struct mrc_swqe *w, struct mrc_wr *wr,
		       enum mrc_wc_status *st)
{
	const struct mrc_sq_op *op;
	struct mrc_send_wqe h;
	const void *data;
	int ret = 0;
	bool inl;

	memcpy(&h, e, sizeof(h));
	barrier();	/* use only the copy from here on */
	data = e + 1;

	memset(w, 0, sizeof(*w));
	w->wr_id = h.wr_id;
	w->op = min_t(u32, h.opcode, U8_MAX);
	w->signaled = qp->base.sig_all || h.send_flags & IB_SEND_SIGNALED;

	memset(wr, 0, sizeof(*wr));
	*st = MRC_WC_LOC_QP_OP;
	if (h.opcode >= ARRAY_SIZE(mrc_sq_ops))
		return 0;
	op = &mrc_sq_ops[array_index_nospec(h.opcode, ARRAY_SIZE(mrc_sq_ops))];
	if (h.opcode == IB_WR_REG_MR && qp->tx.sq.entry)	/* from a program */
		return 0;
	if (!op->ok || (op->ext && !qp->ext) ||
	    h.send_flags & ~MRC_SEND_FLAGS || h.reserved)
		return 0;
	wr->op = op->op;
	if (wr->op == MRC_WR_WRITE_IMM || wr->op == MRC_WR_SEND_IMM)
		wr->imm = (__force __be32)h.imm_data;
	w->imm = wr->op == MRC_WR_WRITE_IMM;
	wr->se = h.send_flags & IB_SEND_SOLICITED;
	wr->fence = qp->ext && h.send_flags & IB_SEND_FENCE;
	wr->rkey = h.rkey;
	wr->va = h.remote_addr;
	inl = h.send_flags & IB_SEND_INLINE;

	if (!op->list || (inl && wr->op == MRC_WR_ATOMIC_WRITE)) {
		if (h.num_sge || h.inline_len || (inl && !op->list))
			return 0;
		if (inl)	/* the bytes in memory order */
			wr->swap = be64_to_cpu((__force __be64)h.swap);
	} else if (inl) {
		if (h.inline_len > qp->tx.max_inline || h.num_sge ||
		    qp->tx.no_inline || mrc_wr_is_request(wr->op))
			return 0;
		if (h.inline_len && !qp->tx.inl_buf)
			return -ENOBUFS;
		if (h.inline_len)
			memcpy(mrc_inline_at(qp, slot), data, h.inline_len);
		w->inl = true;
		w->len = h.inline_len;
	} else {
		*st = mrc_sq_copy_list(qp, &h, data, w,
				       wr->op == MRC_WR_READ ||
				       mrc_sq_is_atomic(wr->op) ?
				       IB_ACCESS_LOCAL_WRITE : 0);
		if (*st == MRC_WC_SUCCESS && wr->op == MRC_WR_ATOMIC_WRITE)
			ret = mrc_sq_read8(qp, w, &wr->swap, st);
		if (ret)
			return ret;
		if (*st != MRC_WC_SUCCESS)
			return 0;
	}
	wr->len = wr->op == MRC_WR_ATOMIC_WRITE ? MRC_ATOMIC_LEN : w->len;
	*st = op->ext ? mrc_sq_copy_ext(qp, &h, w, wr) : MRC_WC_SUCCESS;
	return 0;
}

/* Complete an entry that cannot be executed with @st. The QP fails. */
static void mrc_sq_refuse(struct mrc_qp *qp, struct mrc_swqe *w,
			  enum mrc_wc_status st, u64 now)
{
	const struct mrc_wr wr = { .op = MRC_WR_WRITE };
	int slot;

	w->len = 0;
	w->num_sge = 0;
	w->inl = false;
	slot = mrc_req_post(mrc_qp_req(qp), &wr, now);
	if (slot < 0) {
		mrc_qp_set_todo(qp, MRC_TODO_FATAL);
		return;
	}
	qp->tx.sq_taken++;
	mrc_req_fail(mrc_qp_req(qp), slot, st);
}

bool mrc_sq_take(struct mrc_qp *qp, bool *page)
{
	u32 n, taken, slot, mask = qp->tx.sq.depth - 1;
	u64 now = mrc_now();
	int pending, ret;

	lockdep_assert_held(&qp->tx.lock);
	pending = mrc_ring_pending(&qp->tx.sq);
	taken = qp->tx.sq_taken - qp->tx.sq.idx;
	if (pending < 0 || (u32)pending < taken) {
		/* The producer counter of the program is invalid. */
		mrc_qp_take_todo(qp, MRC_TODO_SQ);
		mrc_qp_set_todo(qp, MRC_TODO_FATAL);
		return false;
	}
	for (n = pending - taken; n; n--) {
		enum mrc_wc_status st;
		struct mrc_swqe *w;
		struct mrc_wr wr;

		if (pending - taken - n >= MRC_SQ_TAKE)
			return true;
		slot = qp->tx.sq_taken & mask;
		w = mrc_swqe_at(qp, slot);
		ret = mrc_sq_copy(qp, mrc_ring_entry(&qp->tx.sq, qp->tx.sq_taken),
				  slot, w, &wr, &st);
		if (ret) {
			if (ret == -EAGAIN)
				*page = true;
			else
				mrc_qp_set_todo(qp, MRC_TODO_INLINE);
			return false;
		}
		if (st == MRC_WC_SUCCESS && mrc_wr_is_request(wr.op) &&
		    !qp->tx.ans_ready) {
			/* The work item creates the answer channel. */
			if (!qp->tx.no_ans) {
				mrc_qp_set_todo(qp, MRC_TODO_ANS_RX);
				return false;
			}
			st = MRC_WC_LOC_QP_OP;
		}
		if (st != MRC_WC_SUCCESS) {
			/* Completions are in order: earlier entries must end first. */
			if (qp->tx.sq_taken != qp->tx.sq.idx)
				return false;
			mrc_qp_take_todo(qp, MRC_TODO_SQ);
			mrc_sq_refuse(qp, w, st, now);
			return false;
		}
		if (mrc_req_post(mrc_qp_req(qp), &wr, now) < 0) {
			mrc_qp_take_todo(qp, MRC_TODO_SQ);
			mrc_qp_set_todo(qp, MRC_TODO_FATAL);
			return false;
		}
		qp->tx.sq_taken++;
	}
	mrc_qp_take_todo(qp, MRC_TODO_SQ);
	return false;
}
