// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The answer channel of a QP (Documentation/extension.md):
 * notifications between the QP and its answer channel while they run. Creation:
 * mrc_ans_make.c.
 */
#include "mrc_qp_priv.h"

void mrc_ans_error(struct mrc_qp *qp, u32 conn)
{
	struct mrc_qp *ans = mrc_ans_get(qp);

	if (!ans)
		return;
	spin_lock_bh(&ans->rx.lock);
	spin_lock(&ans->tx.lock);
	if (ans->conn == conn && ans->base.state != IB_QPS_RESET &&
	    ans->base.state != IB_QPS_ERR) {
		WRITE_ONCE(ans->base.state, IB_QPS_ERR);
		if (ans->tx.on) {
			mrc_req_fail(mrc_qp_req(ans), -1, MRC_WC_FLUSH);
			mrc_sq_reap(ans);
		}
	}
	spin_unlock(&ans->tx.lock);
	spin_unlock_bh(&ans->rx.lock);
	mrc_qp_put(ans);
}

void mrc_ans_run(struct mrc_qp *qp)
{
	struct mrc_qp *ans = mrc_ans_get(qp);

	if (!ans)
		return;
	mrc_req_go_on(ans, false);
	mrc_qp_put(ans);
}

void mrc_ans_answered(struct mrc_qp *ans, u32 conn, u32 n)
{
	struct mrc_qp *qp = ans->ans_of;
	u64 now;
	u32 slot;

	spin_lock_bh(&qp->tx.lock);
	if (!mrc_qp_sends(qp) || qp->conn != conn) {
		spin_unlock_bh(&qp->tx.lock);
		return;
	}
	now = mrc_now();
	while (n-- && mrc_req_oldest(mrc_qp_req(qp), &slot)) {
		u16 num = mrc_req_request_num(mrc_qp_req(qp), slot) &
			  (MRC_MAX_RD_ATOMIC - 1);

		/* The peer declared the answer complete, but bytes are missing. */
		if (qp->tx.eng->rd[num].left) {
			mrc_req_fail(mrc_qp_req(qp), slot, MRC_WC_REM_OP);
			break;
		}
		mrc_req_answered(mrc_qp_req(qp), now);
	}
	mrc_req_run(qp, false);
}

/* Is @qp still the same connection (@conn), and does its responder run? */
static bool mrc_ans_resp_live(const struct mrc_qp *qp, u32 conn)
{
	lockdep_assert_held(&qp->rx.lock);
	return qp->rx.on && qp->conn == conn &&
	       (qp->base.state == IB_QPS_RTR || qp->base.state == IB_QPS_RTS);
}

bool mrc_ans_acked(struct mrc_qp *ans, u32 conn, u32 n)
{
	struct mrc_qp *qp = ans->ans_of;

	spin_lock_bh(&qp->rx.lock);
	if (!mrc_ans_resp_live(qp, conn)) {
		spin_unlock_bh(&qp->rx.lock);
		return false;
	}
	while (n--)
		mrc_resp_answered(&qp->rx.resp);
	return mrc_resp_run_once(qp, qp->attr.port, mrc_now(), false, false);
}

bool mrc_ans_failed(struct mrc_qp *ans, u32 conn, u16 num)
{
	struct mrc_qp *qp = ans->ans_of;

	spin_lock_bh(&qp->rx.lock);
	if (!mrc_ans_resp_live(qp, conn)) {
		spin_unlock_bh(&qp->rx.lock);
		return false;
	}
	/*
	 * While a delivery waits for its retry, the engine cannot take the failure. The
	 * answer channel fails again when it tries to send the answer again.
	 */
	if (!mrc_qp_has_todo(qp, MRC_TODO_RESP))
		mrc_resp_req_failed(&qp->rx.resp, num, MRC_SYN_NAK_ACCESS);
	return mrc_resp_run_once(qp, qp->attr.port, mrc_now(), false, false);
}
