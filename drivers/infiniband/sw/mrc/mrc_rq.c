// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive queue: WRITE_IMM consumes one entry each, in order (MRC 1.0 §7.4).
 * The memory that entries name is not used, data went to RETH.va.
 */
#include "mrc_qp.h"

static void mrc_rq_publish(struct mrc_qp *qp)
{
	/* All of the entry has been read: the program may reuse it. */
	smp_store_release(&qp->rq.hdr->cons, qp->rq.idx);
}

u8 mrc_rq_deliver(struct mrc_qp *qp, const struct mrc_imm *imm, u8 port,
		  bool *fatal)
{
	const struct mrc_recv_wqe *e;
	struct mrc_cqe cqe = {
		.opcode = IB_WC_RECV_RDMA_WITH_IMM,
		.status = IB_WC_SUCCESS,
		.wc_flags = IB_WC_WITH_IMM,
		.byte_len = imm->len,
		.imm_data = (__force u32)imm->imm,
		.qp_num = qp->qpn,
		.src_qp = qp->attr.dest_qpn,
	};
	u8 syn = 0;
	int pending;

	lockdep_assert_held(&qp->resp_lock);
	if (!qp->rq.depth)
		return MRC_SYN_NAK_INV_REQ;
	pending = mrc_ring_pending(&qp->rq);
	if (pending < 0)
		*fatal = true;
	if (pending <= 0)
		return MRC_SYN_NAK_INV_REQ;

	e = mrc_ring_entry(&qp->rq, qp->rq.idx);
	cqe.wr_id = READ_ONCE(e->wr_id);
	if (READ_ONCE(e->num_sge) > qp->max_recv_sge || READ_ONCE(e->reserved)) {
		cqe.status = IB_WC_LOC_QP_OP_ERR;
		*fatal = true;
		syn = MRC_SYN_NAK_REM_OP;
	}
	/*
	 * Before the completion: a program that has seen it may post again at
	 * once and must find the room.
	 */
	qp->rq.idx++;
	mrc_rq_publish(qp);
	if (mrc_cq_post(qp->rcq, &cqe, imm->se || syn, port))
		*fatal = true;
	return syn;
}

void mrc_rq_flush(struct mrc_qp *qp)
{
	int pending;

	lockdep_assert_held(&qp->resp_lock);
	if (!qp->rq.depth)
		return;
	WRITE_ONCE(qp->rq.hdr->flags, MRC_RING_F_KICK);
	/*
	 * The program looks at flags after its store to prod and a barrier, so
	 * either it sees the flag or this sees the entry.
	 */
	smp_mb();
	pending = mrc_ring_pending(&qp->rq);
	if (pending <= 0)
		return;
	while (pending--) {
		const struct mrc_recv_wqe *e;
		struct mrc_cqe cqe = {
			.opcode = IB_WC_RECV,
			.status = IB_WC_WR_FLUSH_ERR,
			.qp_num = qp->qpn,
		};

		e = mrc_ring_entry(&qp->rq, qp->rq.idx);
		cqe.wr_id = READ_ONCE(e->wr_id);
		qp->rq.idx++;
		mrc_rq_publish(qp);
		/* An overflowing CQ is reported by the CQ itself. */
		mrc_cq_post(qp->rcq, &cqe, true, qp->attr.port);
	}
}

int mrc_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr)
{
	struct mrc_qp *qp = to_mibqp(ibqp)->qp;
	int ret = 0;

	if (wr) {	/* work requests come through the ring */
		*bad_wr = wr;
		return -EOPNOTSUPP;
	}
	spin_lock_bh(&qp->resp_lock);
	if (qp->state == IB_QPS_RESET)
		ret = -EINVAL;
	else if (qp->state == IB_QPS_ERR)
		mrc_rq_flush(qp);
	spin_unlock_bh(&qp->resp_lock);
	return ret;
}
