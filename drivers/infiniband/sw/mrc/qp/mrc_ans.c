// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Companions, the answer channel of a QP (Documentation/extension.md): what one
 * learns for the other while packets flow. Their making: mrc_ans_make.c.
 */
#include "mrc_qp_priv.h"

void mrc_ans_error(struct mrc_qp *qp, u32 conn)
{
	struct mrc_qp *ans = mrc_ans_get(qp);

	if (!ans)
		return;
	spin_lock_bh(&ans->resp_lock);
	spin_lock(&ans->req_lock);
	if (ans->conn == conn && ans->state != IB_QPS_RESET &&
	    ans->state != IB_QPS_ERR) {
		WRITE_ONCE(ans->state, IB_QPS_ERR);
		if (ans->req_on) {
			mrc_req_fail(&ans->tx->req, -1, MRC_WC_FLUSH);
			mrc_sq_reap(ans);
		}
	}
	spin_unlock(&ans->req_lock);
	spin_unlock_bh(&ans->resp_lock);
	mrc_qp_put(ans);
}

void mrc_ans_run(struct mrc_qp *qp)
{
	struct mrc_qp *ans = mrc_ans_get(qp);

	if (!ans)
		return;
	spin_lock_bh(&ans->req_lock);
	if (ans->req_on && ans->state == IB_QPS_RTS)
		mrc_req_run(ans, false);
	else
		spin_unlock_bh(&ans->req_lock);
	mrc_qp_put(ans);
}

void mrc_ans_answered(struct mrc_qp *ans, u32 conn, u32 n)
{
	struct mrc_qp *qp = ans->main;
	u64 now;
	u32 slot;

	spin_lock_bh(&qp->req_lock);
	if (!qp->req_on || qp->state != IB_QPS_RTS || qp->conn != conn) {
		spin_unlock_bh(&qp->req_lock);
		return;
	}
	now = mrc_now();
	while (n-- && mrc_req_oldest(&qp->tx->req, &slot)) {
		u16 num = mrc_req_request_num(&qp->tx->req, slot) &
			  (MRC_MAX_RD_ATOMIC - 1);

		/* Complete it is not, whatever the peer says. */
		if (qp->tx->rd[num].left) {
			mrc_req_fail(&qp->tx->req, slot, MRC_WC_REM_OP);
			break;
		}
		mrc_req_answered(&qp->tx->req, now);
	}
	mrc_req_run(qp, false);
}

/* Is the companion's QP still the connection that it was at @conn? */
static bool mrc_ans_resp_live(const struct mrc_qp *qp, u32 conn)
{
	lockdep_assert_held(&qp->resp_lock);
	return qp->resp_on && qp->conn == conn &&
	       (qp->state == IB_QPS_RTR || qp->state == IB_QPS_RTS);
}

bool mrc_ans_acked(struct mrc_qp *ans, u32 conn, u32 n)
{
	struct mrc_qp *qp = ans->main;

	spin_lock_bh(&qp->resp_lock);
	if (!mrc_ans_resp_live(qp, conn)) {
		spin_unlock_bh(&qp->resp_lock);
		return false;
	}
	while (n--)
		mrc_resp_answered(&qp->resp);
	return mrc_resp_run_once(qp, qp->attr.port, mrc_now(), false, false);
}

bool mrc_ans_failed(struct mrc_qp *ans, u32 conn, u16 num)
{
	struct mrc_qp *qp = ans->main;

	spin_lock_bh(&qp->resp_lock);
	if (!mrc_ans_resp_live(qp, conn)) {
		spin_unlock_bh(&qp->resp_lock);
		return false;
	}
	/* In the middle of a delivery it has to wait for the next try. */
	if (!qp->resume)
		mrc_resp_req_failed(&qp->resp, num, MRC_SYN_NAK_ACCESS);
	return mrc_resp_run_once(qp, qp->attr.port, mrc_now(), false, false);
}
