// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requester: its configuration and memory, and the send queue: posting, draining, the
 * end by an error, completions.
 */
#include "mrc_req_priv.h"

#define MRC_SQ_DEPTH_MAX	32768u

static bool mrc_req_cfg_ok(const struct mrc_req_cfg *cfg)
{
	if (!cfg->sq_depth || cfg->sq_depth > MRC_SQ_DEPTH_MAX ||
	    cfg->sq_depth & (cfg->sq_depth - 1))
		return false;
	if (cfg->pmtu < 256 || cfg->pmtu > 4096 ||
	    cfg->pmtu & (cfg->pmtu - 1))
		return false;
	if (!cfg->mpr || cfg->mpr > MRC_MPR_MAX || !cfg->max_wimm)
		return false;
	if (cfg->mpr_max &&
	    (cfg->mpr_max < cfg->mpr || cfg->mpr_max > MRC_MPR_MAX))
		return false;
	if (cfg->svc_time && !cfg->use_ts)
		return false;
	if (cfg->sq_psn & ~MRC_PSN_MASK)
		return false;
	if (cfg->n_ports > MRC_MAX_PORTS)
		return false;
	if ((cfg->ans && !cfg->ext) ||
	    cfg->rnr_retry > MRC_RNR_RETRY_INFINITE)
		return false;
	return cfg->linear_cnt <= MRC_RETRY_LINEAR_MAX &&
	       cfg->exp_cnt <= MRC_RETRY_EXP_INFINITE;
}

/*
 * One record for each PSN of the window. The record of the newest PSN stays valid after
 * its SACK.
 */
static u32 mrc_req_ring(const struct mrc_req_cfg *cfg)
{
	return mrc_roundup_pow2(mrc_req_window_max(cfg));
}

/* Entries of @plane. Index 0 belongs to no port. */
static size_t mrc_req_planes(const struct mrc_req_cfg *cfg)
{
	return (cfg->n_ports ? cfg->n_ports : MRC_MAX_PORTS) + 1;
}

size_t mrc_req_mem(const struct mrc_req_cfg *cfg)
{
	size_t ring;

	if (!mrc_req_cfg_ok(cfg))
		return 0;
	/* At most 2^15 of each: far from overflowing. */
	ring = mrc_req_ring(cfg);
	return mrc_req_planes(cfg) * sizeof(struct mrc_plane) +
	       ring * sizeof(struct mrc_tx_pkt) +
	       (size_t)cfg->sq_depth * sizeof(struct mrc_tx_wqe) +
	       4 * mrc_map_words((u32)ring) * sizeof(unsigned long) +
	       mrc_req_rd_ring(cfg) * sizeof(u32);
}

int mrc_req_init(struct mrc_req *req, const struct mrc_req_cfg *cfg,
		 struct mrc_paths *paths, struct mrc_cc *cc, void *mem)
{
	u32 ring;
	size_t words;

	if (!mrc_req_cfg_ok(cfg) || !paths || !cc || !mem ||
	    paths->n_ports >= mrc_req_planes(cfg))
		return -EINVAL;
	ring = mrc_req_ring(cfg);
	words = mrc_map_words(ring);
	memset(req, 0, sizeof(*req));
	req->cfg = *cfg;
	req->paths = paths;
	req->cc = cc;
	req->ring_mask = ring - 1;
	req->plane = (struct mrc_plane *)mem;
	req->pkt = (struct mrc_tx_pkt *)(req->plane + mrc_req_planes(cfg));
	req->wqe = (struct mrc_tx_wqe *)(req->pkt + ring);
	req->acked = (unsigned long *)(req->wqe + cfg->sq_depth);
	req->lost = req->acked + words;
	req->inferred = req->lost + words;
	req->spurious = req->inferred + words;
	if (mrc_req_rd_ring(cfg)) {
		req->rd_slot = (u32 *)(req->spurious + words);
		req->rd_mask = mrc_req_rd_ring(cfg) - 1;
	}
	while (1u << req->pmtu_shift < cfg->pmtu)
		req->pmtu_shift++;
	req->next_psn = cfg->sq_psn;
	req->cack = mrc_psn_add(cfg->sq_psn, -1);
	req->high = req->cack;
	req->peer_ack = req->cack;
	req->tack = req->cack;
	req->window = (u32)cfg->mpr * MRC_MPR_UNIT;
	req->mpr_psn = req->cack;
	req->base_rtt = cfg->base_rtt ? cfg->base_rtt : MRC_BASE_RTT_DEFAULT;
	req->timer_at = MRC_NEVER;
	req->tail_probe_at = MRC_NEVER;
	req->confirm_at = MRC_NEVER;
	req->tail_at = MRC_NEVER;
	req->probe_by = MRC_NEVER;
	req->overdue_at = MRC_NEVER;
	mrc_req_unhold(req);
	mrc_req_forget_copies(req);
	req->verdict = MRC_TX_IDLE;
	req->state = MRC_REQ_READY;
	return 0;
}

bool mrc_req_can_post(const struct mrc_req *req)
{
	return req->wq_post - req->wq_reap < req->cfg.sq_depth;
}

int mrc_req_post(struct mrc_req *req, const struct mrc_wr *wr, u64 now)
{
	struct mrc_tx_wqe *wqe;
	u32 slot, len;

	if (!mrc_req_wr_ok(&req->cfg, wr))
		return -EINVAL;
	if (!mrc_req_can_post(req))
		return -ENOSPC;
	slot = req->wq_post & (req->cfg.sq_depth - 1);
	wqe = &req->wqe[slot];
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr = *wr;
	len = mrc_req_payload(wr);
	wqe->npkts = len ? ((len - 1) >> req->pmtu_shift) + 1 : 1;
	wqe->state = MRC_WQE_POSTED;
	if (req->cfg.ans)
		wqe->msn = wr->num;
	else if (wr->op != MRC_WR_LOCAL)
		wqe->msn = req->msn++;
	if (mrc_wr_consumes_recv(wr->op))
		wqe->rqmsn = req->rqmsn++;
	else if (mrc_wr_is_request(wr->op))
		wqe->rqmsn = req->rd_next++;
	req->wq_post++;
	if (req->state == MRC_REQ_ERROR) {
		wqe->state = MRC_WQE_DONE;
		wqe->status = MRC_WC_FLUSH;
		req->wq_send = req->wq_post;
		req->wq_done = req->wq_post;
	}
	return (int)slot;
}

void mrc_req_set_drain(struct mrc_req *req, bool on)
{
	req->drain = on;
}

bool mrc_req_drained(const struct mrc_req *req)
{
	return req->wq_done == req->wq_send &&
	       (req->wq_send == req->wq_post ||
		!mrc_req_begun(mrc_req_wqe(req, req->wq_send)));
}

void mrc_req_set_retry(struct mrc_req *req, u64 rto, u8 linear_cnt,
		       u8 exp_cnt, u8 rnr_retry)
{
	mrc_assert(mrc_req_drained(req));
	req->cfg.rto = rto;
	req->cfg.linear_cnt = linear_cnt;
	req->cfg.exp_cnt = exp_cnt;
	req->cfg.rnr_retry = rnr_retry;
	req->retries = 0;
	req->charged_at = 0;
	req->no_ev_at = 0;
	req->timer_at = MRC_NEVER;
	mrc_paths_set_rtt(req->paths, req->base_rtt, rto);
}

/*
 * The work request in @slot fails when it is the oldest one. Return: false if it is that
 * already.
 */
static bool mrc_req_doom(struct mrc_req *req, u32 slot, enum mrc_wc_status status)
{
	const u32 ahead = (slot - req->wq_done) & (req->cfg.sq_depth - 1);

	/* A slot that is done lies further ahead than all unfinished ones. */
	if (!ahead || ahead >= req->wq_post - req->wq_done || !req->cfg.rto)
		return false;
	if (!req->doom || ahead < req->doom_seq - req->wq_done) {
		req->doom = (u8)status;
		req->doom_seq = req->wq_done + ahead;
	}
	return true;
}

bool mrc_req_doom_ends(struct mrc_req *req)
{
	if (!req->doom)
		return false;
	mrc_req_fail(req, -1, MRC_WC_FLUSH);
	return true;
}

void mrc_req_fail(struct mrc_req *req, int slot, enum mrc_wc_status status)
{
	u32 seq;

	if (req->state == MRC_REQ_ERROR)
		return;
	if (slot >= 0 && mrc_req_doom(req, (u32)slot, status))
		return;
	if (slot < 0 && status == MRC_WC_FLUSH && req->doom) {
		slot = (int)(req->doom_seq & (req->cfg.sq_depth - 1));
		status = (enum mrc_wc_status)req->doom;
	}
	if (slot < 0)
		slot = (int)(req->wq_done & (req->cfg.sq_depth - 1));
	for (seq = req->wq_done; seq != req->wq_post; seq++) {
		struct mrc_tx_wqe *wqe = mrc_req_wqe(req, seq);
		bool hit = (seq & (req->cfg.sq_depth - 1)) == (u32)slot;

		wqe->state = MRC_WQE_DONE;
		wqe->status = (u8)(hit ? status : MRC_WC_FLUSH);
	}
	req->state = MRC_REQ_ERROR;
	req->wq_send = req->wq_post;
	req->wq_done = req->wq_post;
	req->wimm_out = 0;
	req->rd_out = 0;
	req->nak_syn = 0;
	req->doom = MRC_WC_SUCCESS;
	req->rnr_until = 0;
	req->inflight = 0;
	req->n_out = 0;
	req->n_lost = 0;
	req->timer_at = MRC_NEVER;
	req->tail_probe_at = MRC_NEVER;
	req->probe_now = false;
	req->probe_out = false;
	req->rtx_last = false;
	req->no_ev_at = 0;
}

bool mrc_req_reap(struct mrc_req *req, u32 *slot, enum mrc_wc_status *status)
{
	struct mrc_tx_wqe *wqe;

	if (req->wq_reap == req->wq_done)
		return false;
	wqe = mrc_req_wqe(req, req->wq_reap);
	*slot = req->wq_reap & (req->cfg.sq_depth - 1);
	*status = (enum mrc_wc_status)wqe->status;
	wqe->state = MRC_WQE_FREE;
	req->wq_reap++;
	return true;
}
