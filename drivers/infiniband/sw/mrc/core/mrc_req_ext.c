// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requester, the extension: requests and their answers, fences, local
 * operations, messages that find no receive (Documentation/extension.md).
 *
 * An answer is what completes a request. The peer withholds its transport ACK
 * until the answer is acknowledged, but on this side both go their own ways: an
 * ACK or NAK that is ahead of an answer is kept (peer_ack, nak_psn) and takes
 * effect when the answer is there.
 */
#include "mrc_req_priv.h"

/* The slots of requests that await answers; none where there cannot be any. */
u32 mrc_req_rd_ring(const struct mrc_req_cfg *cfg)
{
	if (!cfg->ext || cfg->chan || !cfg->max_rd_atomic)
		return 0;
	return mrc_roundup_pow2(cfg->max_rd_atomic);
}

int mrc_req_set_rd_atomic(struct mrc_req *req, u8 max)
{
	if (max && (!req->rd_slot || max > req->rd_mask + 1))
		return -EINVAL;
	mrc_assert(!req->rd_out);
	req->cfg.max_rd_atomic = max;
	return 0;
}

/*
 * May @wqe, whose first packet is @psn, be sent although the peer has run out of
 * receives lately? Yes, if the peer has one as far as is known, and if it is the
 * first in line: only by trying does one learn that receives were posted, and
 * its budget says how often.
 */
static bool mrc_req_has_recv(const struct mrc_req *req,
			     const struct mrc_tx_wqe *wqe, u32 psn)
{
	s32 before;

	if (!req->recv_limited ||
	    (s16)(wqe->rqmsn - req->recv_limit) < 0 ||
	    wqe->rqmsn == req->recv_done)
		return true;
	/* Its predecessors' ACK may be lost, or wait for answers. */
	before = mrc_psn_diff(psn, req->cack) - 1;
	/* Behind one that is on its way out. */
	if (before > (s32)mrc_req_span(req))
		return false;
	return before <= 0 ||
	       mrc_ring_next_clear(req->acked, req->ring_mask, req->cack + 1,
				   (u32)before) == (u32)before;
}

/* May the packet of @pkt, which is lost or was refused, be sent again? */
bool mrc_req_may_resend(const struct mrc_req *req, const struct mrc_tx_pkt *pkt)
{
	const struct mrc_tx_wqe *wqe;

	if (!req->recv_limited)
		return true;
	wqe = &req->wqe[pkt->slot];
	return !mrc_wr_consumes_recv(wqe->wr.op) ||
	       mrc_req_has_recv(req, wqe, wqe->first_psn);
}

/**
 * mrc_req_ext_gate - may the next work request begin, or the one go on?
 * @req: requester
 * @wqe: it is at the head of what is to be sent
 * @psn: what its first packet gets, unless it has begun
 *
 * Messages that take a receive stop as a whole while the peer has none, as on
 * other transports: what would be sent now would be refused.
 *
 * Return: MRC_TX_PACKET or what it waits for.
 */
enum mrc_tx_verdict mrc_req_ext_gate(const struct mrc_req *req,
				     const struct mrc_tx_wqe *wqe, u32 psn)
{
	if (mrc_wr_consumes_recv(wqe->wr.op)) {
		if (req->rnr_until)
			return MRC_TX_WAIT_HOLD;
		if (!mrc_req_has_recv(req, wqe, mrc_req_begun(wqe) ?
				      wqe->first_psn : psn))
			return MRC_TX_WAIT_RECV;
	}
	if (mrc_req_begun(wqe) || !req->rd_out)
		return MRC_TX_PACKET;
	if (wqe->wr.fence)
		return MRC_TX_WAIT_FENCE;
	if (mrc_wr_is_request(wqe->wr.op) &&
	    req->rd_out >= req->cfg.max_rd_atomic)
		return MRC_TX_WAIT_RD;
	return MRC_TX_PACKET;
}

/* It is the turn of the local operation at the head. */
enum mrc_tx_verdict mrc_req_local(struct mrc_req *req, struct mrc_tx_desc *desc)
{
	memset(desc, 0, sizeof(*desc));
	desc->ev = -1;
	desc->slot = req->wq_send & (req->cfg.sq_depth - 1);
	req->wqe[desc->slot].state = MRC_WQE_STARTED;
	return MRC_TX_LOCAL;
}

void mrc_req_local_done(struct mrc_req *req, u32 slot,
			enum mrc_wc_status status, u64 now)
{
	struct mrc_tx_wqe *wqe = mrc_req_wqe(req, req->wq_send);

	if (req->state == MRC_REQ_ERROR || req->wq_send == req->wq_post ||
	    slot != (req->wq_send & (req->cfg.sq_depth - 1)) ||
	    wqe->wr.op != MRC_WR_LOCAL || !mrc_req_begun(wqe))
		return;
	if (status != MRC_WC_SUCCESS) {
		mrc_req_fail(req, (int)slot, status);
		return;
	}
	wqe->sent = wqe->npkts;
	req->wq_send++;
	mrc_req_complete(req);
}

/* The first packet of request @wqe, its only one, was sent through @port. */
void mrc_req_rd_started(struct mrc_req *req, struct mrc_tx_wqe *wqe, u32 slot,
			u8 port)
{
	if (!req->rd_out)
		req->rd_first = wqe->rqmsn;
	req->rd_slot[wqe->rqmsn & req->rd_mask] = slot;
	req->rd_out++;
	mrc_ctr_add(req->cfg.ctr, port, MRC_CTR_TX_REQUEST, 1);
}

bool mrc_req_oldest(const struct mrc_req *req, u32 *slot)
{
	if (!req->rd_out)
		return false;
	*slot = mrc_req_rd_oldest(req);
	return true;
}

bool mrc_req_find(const struct mrc_req *req, u16 num, u32 *slot)
{
	if ((u16)(num - req->rd_first) >= req->rd_out)
		return false;
	*slot = req->rd_slot[num & req->rd_mask];
	return true;
}

/* How far the peer's ACK counts: not past what it has not answered. */
u32 mrc_req_tack_bound(const struct mrc_req *req)
{
	u32 first;

	if (!req->rd_out)
		return req->peer_ack;
	first = req->wqe[mrc_req_rd_oldest(req)].first_psn;
	if (mrc_psn_diff(first, req->peer_ack) > 0)
		return req->peer_ack;
	return mrc_psn_add(first, -1);
}

/*
 * Is an answer all that is awaited, once every packet is known received? It may
 * take any time, so a peer that is heard meanwhile costs no retries.
 */
bool mrc_req_awaits_answer(const struct mrc_req *req)
{
	return req->rd_out && mrc_req_rd_oldest(req) ==
			      (req->wq_done & (req->cfg.sq_depth - 1));
}

void mrc_req_answered(struct mrc_req *req, u64 now)
{
	u32 psn;

	if (!req->rd_out)
		return;
	psn = req->wqe[mrc_req_rd_oldest(req)].first_psn;
	req->rd_out--;
	req->rd_first++;
	/* Nothing new when the ACK came before the answer. */
	mrc_req_transport_ack(req, psn, now);
	req->tack = mrc_req_tack_bound(req);
	mrc_req_complete(req);
	mrc_req_progress(req, now);
	mrc_req_nak_due(req);
	mrc_req_rearm(req, true, now);
}

/* No receives ------------------------------------------------------------- */

#define MRC_RNR_UNIT_NS		10000ull
#define MRC_RNR_CODE_0		65536u	/* units */

/* Units double with every second code; the odd ones lie in the middle. */
u64 mrc_rnr_time(u8 code)
{
	code &= MRC_RNR_CODE;
	if (!code)
		return MRC_RNR_CODE_0 * MRC_RNR_UNIT_NS;
	if (code == 1)
		return MRC_RNR_UNIT_NS;
	return (code & 1 ? 3ull << (code / 2 - 1) : 1ull << (code / 2)) *
	       MRC_RNR_UNIT_NS;
}

/* The peer's receives ------------------------------------------------------ */

/*
 * They limit nothing as long as none was missing: programs post receives in time, or
 * agree on when to send. After a refusal messages go no further than the peer's ACKs
 * say; if they say nothing, two more for each that is received, starting with the
 * refused one alone. So what is refused in vain is one message for each waiting
 * time. MRC_RECV_FORGET messages received without a refusal end that.
 */

/* Message @wqe, which takes a receive, is transport-acknowledged. */
void mrc_req_recv_done(struct mrc_req *req, const struct mrc_tx_wqe *wqe)
{
	req->recv_done = (u16)(wqe->rqmsn + 1);
	if (!req->recv_limited)
		return;
	req->held_until = 0;
	if (++req->recv_good >= MRC_RECV_FORGET) {
		req->recv_limited = false;
		return;
	}
	/* What was on its way before the refusal says nothing new. */
	if (!req->recv_told && (s16)(wqe->rqmsn - req->recv_from) >= 0 &&
	    (s16)(req->recv_limit - req->recv_done) < MRC_RECV_FORGET)
		req->recv_limit += 2;
}

/* A valid ACK arrived. Receives do not vanish, so of several the most counts. */
void mrc_req_recv_told(struct mrc_req *req, const struct mrc_hdr *h)
{
	const u16 limit = (u16)h->aeth.msn;

	req->recv_told = h->recvs && req->cfg.ext && !req->cfg.chan;
	if (!req->recv_told || !req->recv_limited ||
	    (s16)(limit - req->recv_limit) <= 0)
		return;
	req->recv_limit = limit;
	req->held_until = 0;
}

/* There was no receive for message @rqmsn. */
static void mrc_req_recv_none(struct mrc_req *req, u16 rqmsn)
{
	if (!req->recv_limited || (s16)(rqmsn - req->recv_limit) < 0)
		req->recv_limit = rqmsn;
	req->recv_from = req->recv_limit;
	req->recv_limited = true;
	req->recv_good = 0;
}

/* Does this NACK say that a receive is missing? */
bool mrc_req_is_rnr(const struct mrc_req *req, const struct mrc_neth *n)
{
	return req->cfg.ext && n->reason == MRC_NACK_NO_RESOURCE &&
	       n->vendor & MRC_RNR_VALID;
}

/*
 * How long the first in line waits that asks without end. The peer's shortest
 * times are shorter than asking takes: its program, which is to post receives,
 * would have no processor left. So the longer it took so far the longer the next
 * time, at most twice what was waited for in vain.
 */
static u64 mrc_req_rnr_wait(struct mrc_tx_wqe *wqe, u8 code)
{
	u64 wait = mrc_rnr_time(code);
	u8 n;

	for (n = 0; n < wqe->rnr && 2 * wait <= MRC_RNR_BACKOFF_NS; n++)
		wait *= 2;
	if (n == wqe->rnr)
		wqe->rnr++;
	return wait;
}

/**
 * mrc_req_rnr - a packet was refused because its message found no receive
 * @req: requester
 * @pkt: record of the packet
 * @code: how long to wait
 * @hold: set to when it may go again
 * @now: ns
 *
 * Of several messages that are refused together, only the first would have got
 * the receive that is missing: the others may wait for as many waiting times as
 * there are messages before them, so the budget is charged for the first alone.
 * Its packets that were sent before its waiting time was over belong to what
 * was charged already.
 *
 * Return: false if that exceeded the budget; the QP failed.
 */
bool mrc_req_rnr(struct mrc_req *req, const struct mrc_tx_pkt *pkt, u8 code,
		 u64 *hold, u64 now)
{
	struct mrc_tx_wqe *wqe = &req->wqe[pkt->slot];
	const u8 retry = req->cfg.rnr_retry;

	/* The peer is there, whatever it took to ask it. */
	mrc_req_progress(req, now);
	mrc_req_recv_none(req, wqe->rqmsn);
	*hold = now + mrc_rnr_time(code);
	if (mrc_psn_diff(wqe->first_psn, req->cack) <= 1) {
		if (pkt->sent_at < req->rnr_at) {
			*hold = req->rnr_at;
			return true;
		}
		if (retry == MRC_RNR_RETRY_INFINITE) {
			*hold = now + mrc_req_rnr_wait(wqe, code);
		} else if (wqe->rnr++ >= retry) {
			mrc_ctr_add(req->cfg.ctr, 1, MRC_CTR_RNR_EXC, 1);
			mrc_req_fail(req, (int)pkt->slot,
				     MRC_WC_RNR_RETRY_EXC);
			return false;
		}
		req->rnr_at = *hold;
	}
	if (*hold > req->rnr_until)
		req->rnr_until = *hold;
	return true;
}
