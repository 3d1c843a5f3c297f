// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requester, the extension: requests and their answers, fences, local operations, RNR
 * back-off (Documentation/extension.md).
 *
 * A request is completed by its answer. The peer withholds its transport ACK until the
 * answer is acknowledged. But ACKs and answers arrive independently here. An ACK or NAK
 * that arrives before an answer is kept (peer_ack, nak_psn) and takes effect when the
 * answer arrives.
 */
#include "mrc_req_priv.h"

/* Number of slots for requests that await answers; 0 if requests are not possible. */
u32 mrc_req_rd_ring(const struct mrc_req_cfg *cfg)
{
	if (!cfg->ext || cfg->ans || !cfg->max_rd_atomic)
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

/* Has the peer a receive for @wqe, as far as is known? */
static bool mrc_req_recv_sure(const struct mrc_req *req, const struct mrc_tx_wqe *wqe)
{
	return !req->recv_limited || (s16)(wqe->rqmsn - req->recv_limit) < 0;
}

/*
 * One packet of @wqe, which has begun, tests whether there is a receive: the first one. Is
 * it known received? The others of a SEND wait for that, because each would be refused.
 */
static bool mrc_req_recv_tested(const struct mrc_req *req, const struct mrc_tx_wqe *wqe)
{
	return mrc_req_recv_sure(req, wqe) || wqe->wr.op == MRC_WR_WRITE_IMM ||
	       mrc_psn_diff(wqe->first_psn, req->cack) <= 0 ||
	       mrc_req_is_acked(req, wqe->first_psn);
}

/*
 * May @wqe, whose first packet is @psn, be sent although the peer has run out of
 * receives lately? Yes, if the peer has a receive as far as is known, or if @wqe is the
 * oldest message. Only an attempt shows whether receives were posted, and the RNR retry
 * budget limits the attempts.
 */
static bool mrc_req_has_recv(const struct mrc_req *req,
			     const struct mrc_tx_wqe *wqe, u32 psn)
{
	s32 before;

	if (mrc_req_recv_sure(req, wqe) || wqe->rqmsn == req->recv_done)
		return true;
	/*
	 * The ACK of the messages before it may be lost or wait for answers: SACKs
	 * count.
	 */
	before = mrc_psn_diff(psn, req->cack) - 1;
	/* The message before it is just being sent. */
	if (before > (s32)mrc_req_span(req))
		return false;
	return before <= 0 ||
	       mrc_ring_next_clear(req->acked, req->ring_mask, req->cack + 1,
				   (u32)before) == (u32)before;
}

/*
 * Does the first packet of @wqe, which has several, test whether there is a receive? Then
 * it asks for a SACK, because nothing follows that would.
 */
bool mrc_req_tests_recv(const struct mrc_req *req, const struct mrc_tx_wqe *wqe)
{
	return wqe->npkts > 1 && mrc_wr_consumes_recv(wqe->wr.op) &&
	       wqe->wr.op != MRC_WR_WRITE_IMM && !mrc_req_recv_sure(req, wqe);
}

/* May @psn, which is lost or was refused, be sent again? */
bool mrc_req_may_resend(const struct mrc_req *req, u32 psn)
{
	const struct mrc_tx_wqe *wqe;

	if (!req->recv_limited)
		return true;
	wqe = &req->wqe[mrc_req_pkt(req, psn)->slot];
	return !mrc_wr_consumes_recv(wqe->wr.op) ||
	       (mrc_req_has_recv(req, wqe, wqe->first_psn) &&
		(psn == wqe->first_psn || mrc_req_recv_tested(req, wqe)));
}

/**
 * mrc_req_ext_gate - may the next work request begin or go on?
 * @req: requester
 * @wqe: the first work request with unsent packets
 * @psn: PSN of its first packet, unless it has begun
 *
 * While the peer has no receive, no message that takes one is sent, as on other
 * transports: it would be refused.
 *
 * Return: MRC_TX_PACKET or the reason to wait.
 */
enum mrc_tx_verdict mrc_req_ext_gate(const struct mrc_req *req,
				     const struct mrc_tx_wqe *wqe, u32 psn)
{
	if (mrc_wr_consumes_recv(wqe->wr.op)) {
		if (req->rnr_until)
			return MRC_TX_WAIT_HOLD;
		if (!mrc_req_has_recv(req, wqe, mrc_req_begun(wqe) ?
				      wqe->first_psn : psn) ||
		    (mrc_req_begun(wqe) && !mrc_req_recv_tested(req, wqe)))
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

/* Yield the local operation at the head of the send queue. */
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
	mrc_req_failure_due(req);
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

/*
 * How far the transport ACK of the peer counts: not beyond the oldest request without
 * an answer.
 */
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
 * Is only an answer awaited, provided that all packets are known received? It may take
 * any time. So a peer that gives feedback meanwhile costs no retries.
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
	/* Does nothing if the ACK came before the answer. */
	mrc_req_transport_ack(req, psn, now);
	req->tack = mrc_req_tack_bound(req);
	mrc_req_complete(req);
	mrc_req_progress(req, now);
	mrc_req_failure_due(req);
	mrc_req_rearm(req, true, now);
}

/* No receives ------------------------------------------------------------- */

#define MRC_RNR_UNIT_NS		10000ull
#define MRC_RNR_CODE_0		65536u	/* units */

/* Every second code doubles the time; an odd code lies in the middle. */
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
 * Receives limit nothing until one is missing: programs usually post receives in time
 * or agree on when to send. After an RNR refusal, messages go only as far as the ACKs
 * of the peer allow. If the ACKs say nothing about receives, the limit grows by two for
 * each message received, beginning with the refused message alone. So at most one
 * message per waiting time is refused in vain. After MRC_RECV_FORGET messages received
 * without a refusal the limit ends.
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
	/* A message sent before the refusal tells nothing new. */
	if (!req->recv_told && (s16)(wqe->rqmsn - req->recv_from) >= 0 &&
	    (s16)(req->recv_limit - req->recv_done) < MRC_RECV_FORGET)
		req->recv_limit += 2;
}

/*
 * A valid ACK arrived. Posted receives stay, so of several ACKs the highest limit
 * counts.
 */
void mrc_req_recv_told(struct mrc_req *req, const struct mrc_hdr *h)
{
	const u16 limit = (u16)h->aeth.msn;

	req->recv_told = h->recvs && req->cfg.ext && !req->cfg.ans;
	if (!req->recv_told || !req->recv_limited ||
	    (s16)(limit - req->recv_limit) <= 0)
		return;
	req->recv_limit = limit;
	req->held_until = 0;
}

/* The peer refused message @rqmsn for lack of a receive. */
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
 * RNR back-off of the oldest message if RNR retries are infinite, ns. The shortest
 * times that a peer can ask for are shorter than an attempt takes. The peer's program,
 * which must post receives, would get no processor time. So each refusal doubles the
 * time, up to MRC_RNR_BACKOFF_NS, or further where attempts take long. @took: the time
 * from sending to the refusal, ns.
 */
static u64 mrc_req_rnr_wait(struct mrc_tx_wqe *wqe, u8 code, u64 took)
{
	const u64 most = mrc_max64(MRC_RNR_BACKOFF_NS, MRC_RNR_PAUSE * took);
	u64 wait = mrc_rnr_time(code);
	u8 n;

	for (n = 0; n < wqe->rnr && 2 * wait <= most; n++)
		wait *= 2;
	if (n == wqe->rnr)
		wqe->rnr++;
	return wait;
}

/*
 * Time until a packet may be sent again whose memory the peer fetches, ns. @code: RNR timer
 * code of the peer, @took: from sending to the refusal, ns. The shortest times that a peer
 * asks for are shorter than it takes a slow host to process a window of packets. Packets
 * that return at once would leave no processor time for the fetch.
 */
u64 mrc_req_page_wait(const struct mrc_req *req, u8 code, u64 took)
{
	const u64 pause = took > req->base_rtt ? took - req->base_rtt : 0;

	return mrc_max64(mrc_rnr_time(code),
			 pause < MRC_PAGE_PAUSE_NS / MRC_PAGE_PAUSE ?
				 pause * MRC_PAGE_PAUSE : MRC_PAGE_PAUSE_NS);
}

/**
 * mrc_req_rnr - a packet was refused because its message found no receive
 * @req: requester
 * @pkt: record of the packet
 * @code: RNR timer code of the peer
 * @hold: set to the time when the packet may be sent again
 * @now: ns
 *
 * If several messages are refused together, only the first would have got the missing
 * receive. The others may have to wait once for each message before them. So only the
 * first message is charged to the retry budget. A packet of it that was sent before the
 * end of its back-off belongs to the attempt that was charged.
 *
 * Return: false if the budget is exceeded and the message fails.
 */
bool mrc_req_rnr(struct mrc_req *req, const struct mrc_tx_pkt *pkt, u8 code,
		 u64 *hold, u64 now)
{
	struct mrc_tx_wqe *wqe = &req->wqe[pkt->slot];
	const u8 retry = req->cfg.rnr_retry;

	/* The peer is alive, however many retries that took. */
	mrc_req_progress(req, now);
	mrc_req_recv_none(req, wqe->rqmsn);
	*hold = now + mrc_rnr_time(code);
	if (mrc_psn_diff(wqe->first_psn, req->cack) <= 1) {
		if (pkt->sent_at < req->rnr_at) {
			*hold = req->rnr_at;
			return true;
		}
		if (retry == MRC_RNR_RETRY_INFINITE) {
			*hold = now + mrc_req_rnr_wait(wqe, code,
						       mrc_req_since(pkt->sent_at, now));
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
