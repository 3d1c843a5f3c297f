// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connected queue pairs: the change to ERROR.
 */
#include "dev/mrc_trace.h"
#include "mrc_qp_priv.h"

void mrc_qp_flush_rest(struct mrc_qp *qp)
{
	if (!mrc_qp_take_todo(qp, MRC_TODO_FLUSH))
		return;
	spin_lock_bh(&qp->tx.lock);
	if (qp->base.state == IB_QPS_ERR)
		mrc_sq_flush(qp);
	spin_unlock_bh(&qp->tx.lock);
	spin_lock_bh(&qp->rx.lock);
	if (qp->base.state == IB_QPS_ERR)
		mrc_rq_flush(qp);
	spin_unlock_bh(&qp->rx.lock);
}

void mrc_qp_error(struct mrc_qp *qp, u32 conn, int event)
{
	u8 port;

	/* A QP and its answer channel fail together. Both have the same value of conn. */
	if (qp->ans_of) {
		mrc_qp_error(qp->ans_of, conn, event);
		return;
	}
	spin_lock_bh(&qp->rx.lock);
	spin_lock(&qp->tx.lock);
	if (qp->conn != conn || qp->base.state == IB_QPS_RESET ||
	    qp->base.state == IB_QPS_ERR) {
		spin_unlock(&qp->tx.lock);
		spin_unlock_bh(&qp->rx.lock);
		return;
	}
	trace_mrc_qp_state(qp->base.qpn, qp->base.state, IB_QPS_ERR);
	WRITE_ONCE(qp->base.state, IB_QPS_ERR);
	WRITE_ONCE(qp->tx.sqd, MRC_SQD_OFF);
	port = qp->attr.port;
	if (qp->tx.on)
		mrc_req_fail(mrc_qp_req(qp), -1, MRC_WC_FLUSH);
	mrc_sq_flush_all(qp);
	spin_unlock(&qp->tx.lock);
	mrc_rq_flush_all(qp);
	spin_unlock_bh(&qp->rx.lock);
	mrc_ans_error(qp, conn);

	/* The QP takes no more entries from the SRQ. */
	if (qp->base.srq)
		mrc_qp_report(qp->base.ibqp, IB_EVENT_QP_LAST_WQE_REACHED);
	if (event == MRC_BY_PROGRAM)
		return;
	mrc_ctr_add(&qp->base.dev->ctr, port, MRC_CTR_QP_ERROR, 1);
	if (event != MRC_NO_EVENT)
		mrc_qp_report(qp->base.ibqp, event);
}
