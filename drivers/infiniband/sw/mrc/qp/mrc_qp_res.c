// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Driver details of connected queue pairs, for "rdma resource show qp -dd".
 */
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "mrc_qp_priv.h"

/* Attributes of the answer channel have the names of the QP's with the prefix "ans_". */
static int mrc_put_u32(struct sk_buff *msg, const char *prefix,
		       const char *name, u32 value)
{
	char full[24];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	return rdma_nl_put_driver_u32(msg, full, value);
}

static int mrc_put_u64(struct sk_buff *msg, const char *prefix,
		       const char *name, u64 value)
{
	char full[24];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	return rdma_nl_put_driver_u64(msg, full, value);
}

static int mrc_put_psns(struct sk_buff *msg, const char *prefix,
			const struct mrc_req_info *req)
{
	if (mrc_put_u32(msg, prefix, "next_psn", req->next_psn) ||
	    mrc_put_u32(msg, prefix, "cack", req->cack) ||
	    mrc_put_u32(msg, prefix, "tack", req->tack) ||
	    mrc_put_u64(msg, prefix, "tx_pkts", req->pkts) ||
	    mrc_put_u64(msg, prefix, "rtx_pkts", req->rtx))
		return -EMSGSIZE;
	return 0;
}

/* PSNs, and counters that reveal the PSN if the first PSN is known. Under tx.lock. */
static int mrc_fill_requester_psns(struct sk_buff *msg, const struct mrc_qp *qp,
				   const struct mrc_req_info *req)
{
	char name[24];
	unsigned int i;

	if (mrc_put_psns(msg, "", req))
		return -EMSGSIZE;
	for (i = 1; i <= qp->base.dev->n_ports; i++) {
		snprintf(name, sizeof(name), "tx_bytes_port%u", i);
		if (rdma_nl_put_driver_u64(msg, name, req->port_bytes[i]))
			return -EMSGSIZE;
	}
	return 0;
}

static int mrc_fill_requester(struct sk_buff *msg, const struct mrc_qp *qp,
			      bool all)
{
	static const char *const sched[] = {
		[MRC_SCHED_IDLE] = "idle",
		[MRC_SCHED_ACTIVE] = "active",
		[MRC_SCHED_READY] = "ready",
		[MRC_SCHED_PENDING] = "pending",
	};
	struct mrc_req_info info, *req = &info;

	mrc_req_info(mrc_qp_req(qp), &info);
	if (rdma_nl_put_driver_string(msg, "cc", req->cc) ||
	    rdma_nl_put_driver_string(msg, "sched",
				      sched[req->sched]) ||
	    rdma_nl_put_driver_u32(msg, "cwnd", req->cwnd) ||
	    rdma_nl_put_driver_u64(msg, "inflight", req->inflight) ||
	    rdma_nl_put_driver_u64(msg, "base_rtt_ns", req->base_rtt) ||
	    rdma_nl_put_driver_u64(msg, "srtt_ns", req->srtt) ||
	    rdma_nl_put_driver_u32(msg, "window", req->window) ||
	    rdma_nl_put_driver_u32(msg, "unsacked",
				   req->unsacked) ||
	    rdma_nl_put_driver_u32(msg, "unacked",
				   req->unacked) ||
	    rdma_nl_put_driver_u32(msg, "lost", req->lost) ||
	    rdma_nl_put_driver_u32(msg, "wqe_queued",
				   req->queued) ||
	    rdma_nl_put_driver_u32(msg, "retries", req->retries) ||
	    rdma_nl_put_driver_u64(msg, "timeouts", req->timeouts))
		return -EMSGSIZE;
	return all ? mrc_fill_requester_psns(msg, qp, req) : 0;
}

/* The profiles are constant while the QP has paths. Under tx.lock, with paths_on. */
static int mrc_fill_profiles(struct sk_buff *msg, const struct mrc_qp *qp)
{
	if ((qp->ev_id != MRC_ABI_PROFILE_NONE &&
	     rdma_nl_put_driver_u32(msg, "ev_profile", qp->ev_id)) ||
	    (qp->cc_id != MRC_ABI_PROFILE_NONE &&
	     rdma_nl_put_driver_u32(msg, "cc_profile", qp->cc_id)))
		return -EMSGSIZE;
	return 0;
}

static int mrc_fill_paths(struct sk_buff *msg, const struct mrc_qp *qp,
			  bool all)
{
	const struct mrc_paths *p = &qp->paths;
	struct mrc_paths_info info;
	char name[24];
	unsigned int i;

	mrc_paths_info(p, &info);
	if (rdma_nl_put_driver_u32(msg, "ev_good", info.state[MRC_EV_GOOD]) ||
	    rdma_nl_put_driver_u32(msg, "ev_skip", info.state[MRC_EV_SKIP]) ||
	    rdma_nl_put_driver_u32(msg, "ev_bad", info.state[MRC_EV_ASSUMED_BAD]) ||
	    rdma_nl_put_driver_u32(msg, "ev_denied", info.state[MRC_EV_DENIED]) ||
	    rdma_nl_put_driver_u32_hex(msg, "ports_up", info.ports_up) ||
	    rdma_nl_put_driver_u32_hex(msg, "peer_ports", info.peer_ports))
		return -EMSGSIZE;
	for (i = 1; all && i <= qp->base.dev->n_ports; i++) {
		snprintf(name, sizeof(name), "tx_port%u", i);
		if (rdma_nl_put_driver_u32(msg, name, mrc_paths_port_tx(p, i)))
			return -EMSGSIZE;
	}
	return 0;
}

/* The responder of @qp, which may be an answer channel. Under rx.lock. */
static int mrc_fill_responder(struct sk_buff *msg, const struct mrc_qp *qp,
			      const char *prefix, bool all)
{
	struct mrc_resp_info info;

	mrc_resp_info(&qp->rx.resp, &info);
	if (mrc_put_u32(msg, prefix, "resp_unexec", info.unexec) ||
	    mrc_put_u32(msg, prefix, "resp_ahead", info.ahead) ||
	    mrc_put_u32(msg, prefix, "resp_ooo", info.ooo))
		return -EMSGSIZE;
	if (!all)
		return 0;
	if (mrc_put_u32(msg, prefix, "resp_cack", info.cack) ||
	    mrc_put_u32(msg, prefix, "resp_exec", info.exec) ||
	    mrc_put_u32(msg, prefix, "resp_max_rcv", info.max_rcv) ||
	    mrc_put_u32(msg, prefix, "resp_msn", info.msn) ||
	    mrc_put_u64(msg, prefix, "resp_bytes", info.bytes))
		return -EMSGSIZE;
	return 0;
}

static int mrc_conn_fill_res(struct sk_buff *msg, struct mrc_qp *qp, bool all)
{
	int ret = 0;

	spin_lock_bh(&qp->tx.lock);
	if (qp->paths_on)
		ret = rdma_nl_put_driver_u32(msg, "udp_port", ntohs(qp->flow.dport)) ?:
		      mrc_fill_profiles(msg, qp);
	if (!ret && qp->tx.on)
		ret = mrc_fill_requester(msg, qp, all);
	if (!ret && qp->paths_on)
		ret = mrc_fill_paths(msg, qp, all);
	spin_unlock_bh(&qp->tx.lock);

	spin_lock_bh(&qp->rx.lock);
	if (!ret && qp->rx.on)
		ret = mrc_fill_responder(msg, qp, "", all);
	spin_unlock_bh(&qp->rx.lock);
	return ret;
}

/* --- the answer channel -------------------------------------------------------- */

/* The requester of an answer channel, which sends answers. Under tx.lock. */
static int mrc_ans_fill_tx(struct sk_buff *msg, const struct mrc_qp *ans,
			   bool all)
{
	struct mrc_req_info info, *req = &info;
	struct mrc_paths_info paths;

	mrc_req_info(mrc_qp_req(ans), &info);
	mrc_paths_info(&ans->paths, &paths);
	if (rdma_nl_put_driver_u32(msg, "ans_queued",
				   req->queued) ||
	    rdma_nl_put_driver_u32(msg, "ans_cwnd", req->cwnd) ||
	    rdma_nl_put_driver_u64(msg, "ans_inflight", req->inflight) ||
	    rdma_nl_put_driver_u64(msg, "ans_srtt_ns", req->srtt) ||
	    rdma_nl_put_driver_u32(msg, "ans_unsacked",
				   req->unsacked) ||
	    rdma_nl_put_driver_u32(msg, "ans_unacked",
				   req->unacked) ||
	    rdma_nl_put_driver_u32(msg, "ans_lost", req->lost) ||
	    rdma_nl_put_driver_u32(msg, "ans_retries", req->retries) ||
	    rdma_nl_put_driver_u64(msg, "ans_timeouts", req->timeouts) ||
	    rdma_nl_put_driver_u32(msg, "ans_ev_bad",
				   paths.state[MRC_EV_ASSUMED_BAD]))
		return -EMSGSIZE;
	return all ? mrc_put_psns(msg, "ans_", req) : 0;
}

static int mrc_ans_fill_res(struct sk_buff *msg, struct mrc_qp *ans, bool all)
{
	int ret = 0;

	spin_lock_bh(&ans->tx.lock);
	if (ans->tx.on)
		ret = mrc_ans_fill_tx(msg, ans, all);
	spin_unlock_bh(&ans->tx.lock);
	spin_lock_bh(&ans->rx.lock);
	if (!ret && ans->rx.on)
		ret = mrc_fill_responder(msg, ans, "ans_", all);
	spin_unlock_bh(&ans->rx.lock);
	return ret;
}

int mrc_qp_fill_res(struct sk_buff *msg, struct ib_qp *ibqp, bool all)
{
	struct mrc_qp *qp = mrc_qp_of(ibqp), *ans;
	int ret;

	if (!qp)
		return 0;
	ret = mrc_conn_fill_res(msg, qp, all);
	ans = ret ? NULL : mrc_ans_get(qp);
	if (ans) {
		ret = mrc_ans_fill_res(msg, ans, all);
		mrc_qp_put(ans);
	}
	mrc_qp_put(qp);
	return ret;
}
