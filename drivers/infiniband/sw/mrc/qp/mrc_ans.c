// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Companions: the answer channel of a QP (Documentation/extension.md). It is an
 * MRC connection of its own between the same two QPs, so it is a struct mrc_qp
 * as well, with paths, windows, timers and both engines, but without number,
 * rings and completion queues. Its requester sends answers, its responder takes
 * them. Locks and lifetime: mrc.h.
 *
 * A QP that neither reads nor is read from has none.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/restrack.h>

#include "mrc_qp.h"
#include "mrc_peer.h"

/* Where the PSNs of answers start, seen from those of the requests' peer. */
#define MRC_ANS_PSN_FLIP	0x800000

/* IB's timeout code that answers are sent with where the QP has none (yet). */
#define MRC_ANS_TIMEOUT		14

struct mrc_qp *mrc_ans_get(struct mrc_qp *qp)
{
	struct mrc_qp *ans = smp_load_acquire(&qp->ans);	/* all of it */

	return ans && refcount_inc_not_zero(&ans->ref) ? ans : NULL;
}

/*
 * A companion has the attributes of its QP, but for PSNs, and but for retries: a
 * responder does not give up on its peer, it is the requester who does that.
 */
static void mrc_ans_set_attr(struct mrc_qp *ans, const struct mrc_qp *qp)
{
	ans->attr = qp->attr;
	ans->attr.sq_psn = qp->attr.rq_psn ^ MRC_ANS_PSN_FLIP;
	ans->attr.rq_psn = qp->attr.sq_psn ^ MRC_ANS_PSN_FLIP;
	if (!ans->attr.timeout)
		ans->attr.timeout = MRC_ANS_TIMEOUT;
	ans->attr.retry_cnt = MRC_MAX_RETRY;
	ans->attr.mrc.mask |= MRC_ABI_QP_RETRY;
	ans->attr.mrc.retry_linear = MRC_RETRY_LINEAR_MAX;
	ans->attr.mrc.retry_exp = MRC_RETRY_EXP_INFINITE;
	if (ans->attr.mrc.mask & MRC_ABI_QP_TIMEOUT &&
	    !ans->attr.mrc.timeout)
		ans->attr.mrc.mask &= ~MRC_ABI_QP_TIMEOUT;
	if (READ_ONCE(ans->paths_on))
		return;
	ans->ipv6 = qp->ipv6;
	ans->only_port = qp->only_port;
	ans->saddr = qp->saddr;
	ans->daddr = qp->daddr;
}

static struct mrc_qp *mrc_ans_alloc(struct mrc_qp *qp)
{
	struct mrc_resp_cfg cfg = qp->resp.cfg;
	struct mrc_qp *ans = mrc_qp_alloc(qp->dev);

	if (!ans)
		return NULL;
	cfg.max_rd = MRC_MAX_RD_ATOMIC;	/* for all connections to come */
	ans->main = qp;
	ans->ibqp = qp->ibqp;
	ans->qpn = qp->qpn;
	ans->ext = true;
	/* One answer for each request that may have been executed. */
	ans->sq.depth = roundup_pow_of_two(mrc_resp_rd_slots(&cfg));
	ans->swqe_size = mrc_swqe_size(1);
	ans->max_inline = MRC_ATOMIC_LEN;
	ans->max_send_sge = 1;
	return ans;
}

/* Memory for the list of requests that the responder executes. */
static int mrc_ans_make_list(struct mrc_qp *qp)
{
	struct mrc_resp_cfg cfg = qp->resp.cfg;
	void *mem;

	if (qp->rd_mem)
		return 0;
	cfg.max_rd = MRC_MAX_RD_ATOMIC;
	mem = kzalloc(mrc_resp_rd_mem(&cfg), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return -ENOMEM;
	spin_lock_bh(&qp->resp_lock);
	qp->rd_mem = mem;
	/* Even if none is let in for now: attributes may change. */
	swap(qp->resp.cfg.max_rd, cfg.max_rd);
	mrc_resp_set_rd(&qp->resp, mem);
	swap(qp->resp.cfg.max_rd, cfg.max_rd);
	spin_unlock_bh(&qp->resp_lock);
	return 0;
}

/* What @qp may do now that it has a companion. */
static void mrc_ans_announce(struct mrc_qp *qp, bool ok, bool rx)
{
	spin_lock_bh(&qp->resp_lock);
	spin_lock(&qp->req_lock);
	qp->ans_tx = ok;
	qp->ans_rx = ok && rx;
	WRITE_ONCE(qp->want_ans, false);
	if (qp->need_ans) {
		WRITE_ONCE(qp->need_ans, false);
		qp->no_ans = !qp->ans_rx;
	}
	spin_unlock(&qp->req_lock);
	spin_unlock_bh(&qp->resp_lock);
}

void mrc_ans_make(struct mrc_qp *qp)
{
	struct mrc_qp *ans = qp->ans;
	u8 state = READ_ONCE(qp->state);
	bool rx = state == IB_QPS_RTS;
	int ret;

	lockdep_assert_held(&qp->mutex);
	if (!qp->ext || qp->main ||
	    (state != IB_QPS_RTR && state != IB_QPS_RTS))
		return;
	if (READ_ONCE(qp->ans_tx) && (READ_ONCE(qp->ans_rx) || !rx))
		return;
	if (!ans) {
		ans = mrc_ans_alloc(qp);
		if (!ans) {
			mrc_ans_announce(qp, false, false);
			return;
		}
		/* Pairs with mrc_ans_get(). */
		smp_store_release(&qp->ans, ans);
	}
	if (!READ_ONCE(ans->paths_on)) {
		spin_lock_bh(&ans->resp_lock);
		spin_lock(&ans->req_lock);
		WRITE_ONCE(ans->conn, qp->conn);
		spin_unlock(&ans->req_lock);
		spin_unlock_bh(&ans->resp_lock);
	}
	mrc_ans_set_attr(ans, qp);
	ret = mrc_ans_make_list(qp);
	if (!ret)
		ret = mrc_qp_start_ans(ans, rx);
	mrc_ans_announce(qp, !ret, rx);
	/* The QP may have failed meanwhile, before it had a companion. */
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		mrc_ans_error(qp, qp->conn);
}

void mrc_ans_reset(struct mrc_qp *qp, bool dead)
{
	if (qp->ans)
		mrc_qp_reset(qp->ans, dead);
}

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
		u16 num = qp->tx->req.wqe[slot].rqmsn & (MRC_MAX_RD_ATOMIC - 1);

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

/* --- looking inside ------------------------------------------------------------ */

/* The answers that are sent. Under req_lock. */
static int mrc_ans_fill_tx(struct sk_buff *msg, const struct mrc_qp *ans,
			   bool all)
{
	const struct mrc_req *req = &ans->tx->req;
	u32 i, bad = 0;

	for (i = 0; i < ans->paths.n; i++)
		bad += mrc_paths_state(&ans->paths, i) == MRC_EV_ASSUMED_BAD;
	if (rdma_nl_put_driver_u32(msg, "ans_queued",
				   req->wq_post - req->wq_done) ||
	    rdma_nl_put_driver_u32(msg, "ans_cwnd", ans->tx->cc.cwnd) ||
	    rdma_nl_put_driver_u64(msg, "ans_inflight", req->inflight) ||
	    rdma_nl_put_driver_u64(msg, "ans_srtt_ns", req->srtt) ||
	    rdma_nl_put_driver_u32(msg, "ans_unsacked",
				   mrc_psn_diff(req->next_psn, req->cack) - 1) ||
	    rdma_nl_put_driver_u32(msg, "ans_unacked",
				   mrc_psn_diff(req->next_psn, req->tack) - 1) ||
	    rdma_nl_put_driver_u32(msg, "ans_lost", req->n_lost) ||
	    rdma_nl_put_driver_u32(msg, "ans_retries", req->retries) ||
	    rdma_nl_put_driver_u64(msg, "ans_timeouts", req->stat_timeouts) ||
	    rdma_nl_put_driver_u32(msg, "ans_ev_bad", bad))
		return -EMSGSIZE;
	if (!all)
		return 0;
	if (rdma_nl_put_driver_u32(msg, "ans_next_psn", req->next_psn) ||
	    rdma_nl_put_driver_u32(msg, "ans_cack", req->cack) ||
	    rdma_nl_put_driver_u32(msg, "ans_tack", req->tack) ||
	    rdma_nl_put_driver_u64(msg, "ans_tx_pkts", req->stat_pkts) ||
	    rdma_nl_put_driver_u64(msg, "ans_rtx_pkts", req->stat_rtx))
		return -EMSGSIZE;
	return 0;
}

/* Those that come in. Under resp_lock. */
static int mrc_ans_fill_rx(struct sk_buff *msg, const struct mrc_qp *ans,
			   bool all)
{
	const struct mrc_resp *resp = &ans->resp;

	if (rdma_nl_put_driver_u32(msg, "ans_resp_unexec",
				   mrc_psn_diff(resp->cack, resp->exec)) ||
	    rdma_nl_put_driver_u32(msg, "ans_resp_ahead",
				   mrc_psn_diff(resp->max_rcv, resp->cack)) ||
	    rdma_nl_put_driver_u32(msg, "ans_resp_ooo", resp->ooo))
		return -EMSGSIZE;
	if (!all)
		return 0;
	if (rdma_nl_put_driver_u32(msg, "ans_resp_cack", resp->cack) ||
	    rdma_nl_put_driver_u32(msg, "ans_resp_exec", resp->exec) ||
	    rdma_nl_put_driver_u32(msg, "ans_resp_max_rcv", resp->max_rcv) ||
	    rdma_nl_put_driver_u32(msg, "ans_resp_msn", resp->msn) ||
	    rdma_nl_put_driver_u64(msg, "ans_resp_bytes", resp->rcvd_bytes))
		return -EMSGSIZE;
	return 0;
}

int mrc_ans_fill_res(struct sk_buff *msg, struct ib_qp *ibqp, bool all)
{
	struct mrc_qp *qp = mrc_qp_of(ibqp);
	struct mrc_qp *ans = qp ? mrc_ans_get(qp) : NULL;
	int ret = 0;

	if (ans) {
		spin_lock_bh(&ans->req_lock);
		if (ans->req_on)
			ret = mrc_ans_fill_tx(msg, ans, all);
		spin_unlock_bh(&ans->req_lock);
		spin_lock_bh(&ans->resp_lock);
		if (!ret && ans->resp_on)
			ret = mrc_ans_fill_rx(msg, ans, all);
		spin_unlock_bh(&ans->resp_lock);
		mrc_qp_put(ans);
	}
	if (qp)
		mrc_qp_put(qp);
	return ret;
}
