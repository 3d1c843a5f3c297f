// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Configuration of requester, responder and paths from the attributes of a connection
 * (MRC 1.0 §14).
 */
#include "mrc_attr.h"

/* The first PSN of answers is that of the requests, with this bit inverted. */
#define MRC_ANS_PSN_FLIP	0x800000

/* RTO in ns, 0 = no timer. Attributes of MRC have priority over those of verbs. */
static u64 mrc_attr_rto(const struct mrc_attr *a)
{
	u64 rto;

	if (a->mrc_timeout_set) {
		if (a->mrc_timeout)
			return 1024ull << a->mrc_timeout;
		/* The answer channel always has a timer. */
		if (!a->ans)
			return 0;
	}
	if (!a->timeout && !a->ans)
		return 0;
	rto = 4096ull << (a->timeout ? a->timeout : MRC_ANS_TIMEOUT);
	return rto < MRC_RTO_MAX_NS ? rto : MRC_RTO_MAX_NS;
}

void mrc_attr_retry(const struct mrc_attr *a, struct mrc_retry *out)
{
	out->rto = mrc_attr_rto(a);
	out->rnr = a->rnr_retry;
	if (a->ans) {
		/* Answers are retried for ever: the peer's requester gives up. */
		out->linear = MRC_RETRY_LINEAR_MAX;
		out->exp = MRC_RETRY_EXP_INFINITE;
	} else if (a->mrc_retry_set) {
		out->linear = a->retry_linear;
		out->exp = a->retry_exp;
	} else {
		out->linear = a->retry_cnt;
		out->exp = 0;
	}
}

u8 mrc_attr_timeout_code(const struct mrc_attr *a)
{
	if (a->mrc_timeout_set)
		return a->mrc_timeout;
	if (!a->timeout)
		return 0;
	/* 4.096 us are 1.024 us * 2^2. */
	return a->timeout + 2 < MRC_TIMEOUT_MAX ? a->timeout + 2 : MRC_TIMEOUT_MAX;
}

static u16 mrc_attr_mpr(u16 mpr)
{
	return mpr ? mpr : MRC_MPR_DEFAULT;
}

static u16 mrc_attr_mpr_max(const struct mrc_attr *a, u16 mpr)
{
	return a->dynamic_mpr && mpr < MRC_MPR_DYNAMIC_MAX ? MRC_MPR_DYNAMIC_MAX :
							     mpr;
}

static u16 mrc_attr_wimm(u16 wimm)
{
	return wimm ? wimm : MRC_WIMM_DEFAULT;
}

/* Is data trimmed by the fabric, and does the peer answer trims by NACKs? */
static bool mrc_attr_trims(const struct mrc_attr *a)
{
	return a->trimming && !a->no_trim_nack;
}

/*
 * Use service time only if the program has declared it. A peer without it echoes
 * timestamps unchanged.
 */
static bool mrc_attr_svc_time(const struct mrc_attr *a)
{
	return a->caps_set && !a->no_svc_time;
}

void mrc_attr_permit(const struct mrc_attr *a, struct mrc_resp_permit *out)
{
	*out = (struct mrc_resp_permit){
		.remote_write = a->remote_write,
		.remote_read = a->remote_read,
		.remote_atomic = a->remote_atomic,
		.remote_flush = a->remote_flush,
		.max_rd = a->max_rd ? MRC_MAX_RD_ATOMIC : 0,
	};
}

void mrc_attr_paths_cfg(const struct mrc_attr *a, u32 n_evs, u32 min_active,
			struct mrc_paths_cfg *out)
{
	/* A profile without a number of EVs may demand more than will be made. */
	const u32 room = MRC_EV_MAX - MRC_EV_MAX % a->n_ports;

	if (!n_evs)
		n_evs = 1;
	if (n_evs > MRC_EV_MAX)
		n_evs = MRC_EV_MAX;
	if (min_active > n_evs)
		min_active = n_evs;
	if (min_active > room)
		min_active = room;
	*out = (struct mrc_paths_cfg){
		.n_evs = n_evs,
		.n_ports = a->n_ports,
		.ipv6 = a->ipv6,
		.trim_nack = mrc_attr_trims(a),
		.min_active = min_active,
		.base_rtt = MRC_BASE_RTT_DEFAULT,
	};
}

void mrc_attr_resp_cfg(const struct mrc_attr *a, struct mrc_resp_cfg *out)
{
	const u16 mpr = mrc_attr_mpr(a->mpr_dest);

	*out = (struct mrc_resp_cfg){
		.pmtu = a->pmtu,
		.mpr = mpr,
		.mpr_max = mrc_attr_mpr_max(a, mpr),
		.max_wimm = mrc_attr_wimm(a->max_wimm_dest),
		.rq_psn = mrc_attr_rq_psn(a),
		.qpn = a->qpn,
		.dqpn = a->dqpn,
		.pkey = MRC_PKEY_DEFAULT,
		.ext = a->ext,
		.ans = a->ans,
		/* A limit above the one that the peer was promised does no harm. */
		.max_rd = a->ext ? MRC_MAX_RD_ATOMIC : 0,
		.trim_nack = true,
		.dynamic_mpr = a->dynamic_mpr,
		.svc_time = mrc_attr_svc_time(a),
		.base_rtt = MRC_BASE_RTT_DEFAULT,
	};
}

void mrc_attr_req_cfg(const struct mrc_attr *a, struct mrc_req_cfg *out)
{
	const u16 mpr = mrc_attr_mpr(a->mpr);
	struct mrc_retry retry;

	mrc_attr_retry(a, &retry);
	*out = (struct mrc_req_cfg){
		.pmtu = a->pmtu,
		.mpr = mpr,
		.mpr_max = mrc_attr_mpr_max(a, mpr),
		.max_wimm = mrc_attr_wimm(a->max_wimm),
		.sq_psn = a->ans ? a->rq_psn ^ MRC_ANS_PSN_FLIP : a->sq_psn,
		.qpn = a->qpn,
		.dqpn = a->dqpn,
		.pkey = MRC_PKEY_DEFAULT,
		.rto = retry.rto,
		.linear_cnt = retry.linear,
		.exp_cnt = retry.exp,
		.use_ts = true,
		.trim_nack = mrc_attr_trims(a),
		.dynamic_mpr = a->dynamic_mpr,
		.svc_time = mrc_attr_svc_time(a),
		.ignore_pen = a->no_resp_fc,
		.n_ports = a->n_ports,
		.ext = a->ext,
		.ans = a->ans,
		.max_rd_atomic = a->ext && !a->ans ? MRC_MAX_RD_ATOMIC : 0,
		.rnr_retry = retry.rnr,
	};
}

u32 mrc_attr_rq_psn(const struct mrc_attr *a)
{
	return a->ans ? a->sq_psn ^ MRC_ANS_PSN_FLIP : a->rq_psn;
}
