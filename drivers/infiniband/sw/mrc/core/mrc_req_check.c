// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requester: consistency check for tests and fuzzers. */
#include "mrc_req_priv.h"

static const char *mrc_req_check_ring(const struct mrc_req *req)
{
	const u32 span = mrc_req_span(req);
	u64 inflight = 0;
	u32 off, out = 0, lost = 0;

	for (off = 0; off < span; off++) {
		u32 psn = mrc_psn_add(req->cack, (s32)off + 1);
		const struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
		bool acked = mrc_req_is_acked(req, psn);
		bool is_lost = mrc_req_is_lost(req, psn);

		if (acked && is_lost)
			return "packet both acked and lost";
		if (pkt->inflight != (!acked && !is_lost))
			return "inflight flag contradicts the bitmaps";
		if (pkt->inflight) {
			inflight += pkt->nominal;
			out++;
		}
		lost += is_lost;
		if (pkt->inflight &&
		    mrc_bit_test(req->inferred, req->ring_mask, psn) &&
		    req->again_at == MRC_NEVER &&
		    (!req->again ||
		     mrc_psn_diff(mrc_req_sent_with(psn, pkt),
				  req->again_psn) < 0))
			return "nobody looks after the copy of a lost packet";
		if (acked && mrc_psn_diff(psn, req->high) > 0)
			return "acked above high";
		if (pkt->slot >= req->cfg.sq_depth ||
		    pkt->index >= req->wqe[pkt->slot].npkts)
			return "packet record out of range";
		if (mrc_psn_add(req->wqe[pkt->slot].first_psn,
				(s32)pkt->index) != psn)
			return "packet record names the wrong packet";
		if (pkt->ev >= req->paths->n)
			return "packet record names no EV";
	}
	if (inflight != req->inflight || out != req->n_out)
		return "inflight is not the sum of the packets out";
	if (lost != req->n_lost)
		return "n_lost is not the number of lost packets";
	return NULL;
}

static const char *mrc_req_check_queue(const struct mrc_req *req)
{
	u32 seq, wimm = 0, rd = 0;
	u16 recvs = 0;
	u32 slot;

	if (req->wq_post - req->wq_reap > req->cfg.sq_depth ||
	    req->wq_done - req->wq_reap > req->wq_post - req->wq_reap ||
	    req->wq_send - req->wq_done > req->wq_post - req->wq_done)
		return "send queue cursors out of order";
	for (seq = req->wq_reap; seq != req->wq_post; seq++) {
		const struct mrc_tx_wqe *wqe = mrc_req_wqe(req, seq);
		bool done = req->wq_done - req->wq_reap > seq - req->wq_reap;
		bool sent = req->wq_send - req->wq_reap > seq - req->wq_reap;
		bool is_done = wqe->state == MRC_WQE_DONE;
		bool all_sent = wqe->sent == wqe->npkts;
		bool local = wqe->wr.op == MRC_WR_LOCAL;

		if (done != is_done)
			return "send queue entry in the wrong state";
		if (done)
			continue;
		recvs += mrc_wr_consumes_recv(wqe->wr.op);
		if (sent != all_sent)
			return "send cursor contradicts packets sent";
		if (!sent && seq != req->wq_send && mrc_req_begun(wqe))
			return "a later message has begun";
		if (!local && mrc_req_begun(wqe) != !!wqe->sent)
			return "state contradicts packets sent";
		if (seq == req->wq_done && sent && local)
			return "a finished local operation is not done";
		if (!wqe->sent)
			continue;
		wimm += mrc_wr_consumes_recv(wqe->wr.op);
		if (!mrc_wr_is_request(wqe->wr.op))
			continue;
		if (!mrc_req_find(req, wqe->rqmsn, &slot) ||
		    slot != (seq & (req->cfg.sq_depth - 1)) ||
		    wqe->rqmsn != (u16)(req->rd_first + rd))
			return "a request cannot be found by its number";
		rd++;
	}
	/* With max_rd_atomic 0, requests that were posted before go one at a time. */
	if (rd != req->rd_out || rd > (req->cfg.max_rd_atomic ?: 1u))
		return "rd_out is wrong";
	if (wimm != req->wimm_out || wimm > req->cfg.max_wimm)
		return "wimm_out is wrong";
	if (req->state == MRC_REQ_READY &&
	    (u16)(req->rqmsn - req->recv_done) != recvs)
		return "recv_done is wrong";
	return NULL;
}

const char *mrc_req_check(const struct mrc_req *req)
{
	const char *bad = mrc_req_check_queue(req);

	if (bad)
		return bad;
	if (req->state == MRC_REQ_ERROR) {
		if (req->inflight || req->n_out || req->n_lost ||
		    req->rd_out || req->nak_syn || req->rnr_until || req->doom ||
		    req->timer_at != MRC_NEVER)
			return "activity in the error state";
		return NULL;
	}
	if (mrc_psn_diff(req->next_psn, req->cack) <= 0 ||
	    mrc_req_span(req) > mrc_req_window_max(&req->cfg) ||
	    (!req->cfg.dynamic_mpr && mrc_req_span(req) > req->window))
		return "window exceeded";
	if (req->window < MRC_MPR_UNIT ||
	    req->window > mrc_req_window_max(&req->cfg) ||
	    mrc_psn_diff(req->mpr_psn, req->cack) > 0)
		return "range that was never offered";
	if (mrc_psn_diff(req->high, req->cack) < 0 ||
	    mrc_psn_diff(req->next_psn, req->high) <= 0)
		return "high outside (cack, next)";
	if (mrc_psn_diff(req->cack, req->peer_ack) < 0)
		return "transport ACK ahead of cack";
	if (req->tack != mrc_req_tack_bound(req))
		return "transport ACK is not bounded by the answers";
	if (req->nak_syn && (mrc_psn_add(req->nak_psn, -1) != req->peer_ack ||
			     req->tack == req->peer_ack))
		return "a NAK is kept that has come true";
	if (!req->spread && req->spread_until)
		return "a pause although packets are not spread";
	if (req->doom && (req->doom_seq == req->wq_done ||
			  req->doom_seq - req->wq_done >= req->wq_post - req->wq_done))
		return "a work request that has to fail is the oldest one, or none";
	if (mrc_psn_diff(req->next_psn, req->tack) > MRC_TACK_RANGE + 1)
		return "too far ahead of the transport ACK";
	if (req->cfg.exp_cnt != MRC_RETRY_EXP_INFINITE &&
	    req->retries > (u32)req->cfg.linear_cnt + req->cfg.exp_cnt)
		return "retry budget exceeded without failing";
	if (!mrc_req_all_acked(req)) {
		if (req->cfg.rto && req->timer_at == MRC_NEVER)
			return "packets out without timer";
		if (req->tail_probe_at == MRC_NEVER)
			return "packets out without silence probe";
	}
	if (req->n_lost && !req->n_out && req->held_until == MRC_NEVER)
		return "all that is lost waits for ever";
	return mrc_req_check_ring(req);
}
