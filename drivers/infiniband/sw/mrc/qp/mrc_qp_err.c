// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connected queue pairs: the change to ERROR.
 */
#include "dev/mrc_trace.h"
#include "mrc_qp_priv.h"

void mrc_qp_error(struct mrc_qp *qp, u32 conn, int event)
{
	u8 port;

	if (qp->main) {	/* they fail together; both count the same resets */
		mrc_qp_error(qp->main, conn, event);
		return;
	}
	spin_lock_bh(&qp->resp_lock);
	spin_lock(&qp->req_lock);
	if (qp->conn != conn || qp->state == IB_QPS_RESET ||
	    qp->state == IB_QPS_ERR) {
		spin_unlock(&qp->req_lock);
		spin_unlock_bh(&qp->resp_lock);
		return;
	}
	trace_mrc_qp_state(qp->qpn, qp->state, IB_QPS_ERR);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	WRITE_ONCE(qp->sqd, MRC_SQD_OFF);
	port = qp->attr.port;
	if (qp->req_on) {
		mrc_req_fail(&qp->tx->req, -1, MRC_WC_FLUSH);
		mrc_sq_reap(qp);
	}
	mrc_sq_flush(qp);
	spin_unlock(&qp->req_lock);
	mrc_rq_flush(qp);
	spin_unlock_bh(&qp->resp_lock);
	mrc_ans_error(qp, conn);

	/* It takes no more entries of the SRQ. */
	if (qp->srq)
		mrc_qp_report(qp->ibqp, IB_EVENT_QP_LAST_WQE_REACHED);
	if (event == MRC_BY_PROGRAM)
		return;
	mrc_ctr_add(&qp->dev->ctr, port, MRC_CTR_QP_ERROR, 1);
	if (event != MRC_NO_EVENT)
		mrc_qp_report(qp->ibqp, event);
}
