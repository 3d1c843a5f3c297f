// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requester: choice of the next packet, windows, records of what is sent. MRC 1.0 §5,
 * §6. The send queue is in mrc_req_queue.c, headers are in mrc_req_hdr.c, feedback in
 * mrc_req_fb.c, the extension in mrc_req_ext.c, loss inference in mrc_loss.c and
 * mrc_tail.c, timers in mrc_timer.c.
 */
#include "mrc_req_priv.h"

/*
 * How many packets of any size may be in flight. The congestion window counts bytes.
 * But loss inference tells losses from reordering by counting PSNs, and it cannot count
 * beyond half of the range. When the range shrinks, this limit shrinks.
 */
static u32 mrc_req_max_pkts(const struct mrc_req *req)
{
	const u32 max = MRC_CC_WINDOW_PKTS(req->window);

	if (req->cc->max_pkts && req->cc->max_pkts < max)
		return req->cc->max_pkts;
	return req->cc->max_pkts || req->cfg.dynamic_mpr ? max : req->window;
}

/* Does congestion control allow a packet of @size bytes? */
static bool mrc_req_cc_admits(const struct mrc_req *req, u32 size)
{
	return req->n_out < mrc_req_max_pkts(req) &&
	       req->cc->ops->can_send(req->cc, req->inflight, size);
}

enum mrc_req_sched mrc_req_sched(const struct mrc_req *req)
{
	bool work = req->n_lost;

	if (req->wq_send != req->wq_post && !mrc_req_doomed(req, req->wq_send))
		work |= !req->drain ||
			mrc_req_begun(mrc_req_wqe(req, req->wq_send));
	if (!work)
		return req->n_out ? MRC_SCHED_PENDING : MRC_SCHED_IDLE;
	return !req->n_out || mrc_req_cc_admits(req, req->cc->mtu) ?
	       MRC_SCHED_READY : MRC_SCHED_ACTIVE;
}

/* A window of this many SACK thresholds is wide, OP-42. */
#define MRC_REQ_WIDE	8

/*
 * Does the peer send several SACKs for each window without being asked? Its count rises
 * by 1024 bytes for a small packet.
 */
static bool mrc_req_wide(const struct mrc_req *req)
{
	const u32 bytes = MRC_REQ_WIDE * req->cc->sack_threshold;

	return req->cc->cwnd >= bytes && mrc_req_max_pkts(req) >= bytes / 1024;
}

/* Is a packet in flight that asked for a SACK? */
static bool mrc_req_asked(const struct mrc_req *req)
{
	return req->asked && mrc_req_outstanding(req, req->ask_psn) &&
	       !mrc_req_is_acked(req, req->ask_psn) &&
	       !mrc_req_is_lost(req, req->ask_psn);
}

/*
 * MRC 1.0 §6.1: shall this packet ask for a SACK at once? The packet counts as in
 * flight already. @alone: its transport ACK is enough. @more: other packets are ready
 * to follow. @room: the PSN windows admit another new packet. Each WRITE_IMM asks for a
 * SACK. SENDs, which MRC 1.0 does not have, ask in the same cases as WRITEs.
 *
 * A requester that has more to send than a window closes the window with every packet.
 * If the window is wide, one packet that asks is enough at a time, OP-42.
 */
static bool mrc_req_want_ack(const struct mrc_req *req,
			     const struct mrc_tx_wqe *wqe, u32 index,
			     bool alone, bool more, bool room)
{
	if (index + 1 == wqe->npkts) {
		/* Requests get no transport ACK before they are answered. */
		if (mrc_wr_is_request(wqe->wr.op))
			return true;
		if (!alone && (!more || wqe->wr.op == MRC_WR_WRITE_IMM))
			return true;
	}
	if (room && mrc_req_cc_admits(req, req->cc->mtu) &&
	    !req->cc->ops->ack_request(req->cc, req->inflight))
		return false;
	return !mrc_req_wide(req) || !mrc_req_asked(req);
}

/*
 * Is there a work request after the first @n (0 or 1) whose packets may follow at once?
 * With @n = 1 the first one is being sent but does not count as begun yet.
 */
static bool mrc_req_more(const struct mrc_req *req, u32 n)
{
	const struct mrc_tx_wqe *wqe = mrc_req_wqe(req, req->wq_send);
	u32 recvs = n && mrc_req_takes_recv(wqe);

	if (req->wq_post - req->wq_send <= n || req->drain ||
	    mrc_req_doomed(req, req->wq_send + n))
		return false;
	wqe = mrc_req_wqe(req, req->wq_send + n);
	if (mrc_req_takes_recv(wqe) && mrc_req_wimm_full(req, recvs))
		return false;
	return wqe->wr.op != MRC_WR_LOCAL &&
	       mrc_req_ext_gate(req, wqe, mrc_psn_add(req->next_psn, (s32)n)) ==
	       MRC_TX_PACKET;
}

/* Count a data packet that is yielded. */
static void mrc_req_count_tx(struct mrc_req *req,
			     const struct mrc_tx_desc *desc, u64 now)
{
	struct mrc_counters *ctr = req->cfg.ctr;

	mrc_ctr_add(ctr, desc->port, MRC_CTR_TX_DATA, 1);
	mrc_ctr_add(ctr, desc->port, MRC_CTR_TX_DATA_BYTES, desc->len);
	req->stat_pkts++;
	req->stat_port_bytes[desc->port] += desc->len;
	if (desc->hdr.rtx) {
		mrc_ctr_add(ctr, desc->port, MRC_CTR_TX_RTX, 1);
		req->stat_rtx++;
	}
	req->last_tx = now;
	req->no_ev_at = 0;
}

/*
 * Choose the EV of a data packet. @lost: record of the packet if it is sent again, else
 * NULL. After an inferred loss another plane is preferred.
 */
static bool mrc_req_pick_ev(struct mrc_req *req, const struct mrc_tx_pkt *lost,
			    u64 now, struct mrc_tx_desc *desc)
{
	int ev;

	if (lost && lost->guard != MRC_GUARD_NONE)
		ev = mrc_paths_pick_away(req->paths, lost->ev, now);
	else
		ev = mrc_paths_pick(req->paths, now);
	if (ev < 0)
		return false;
	desc->ev = ev;
	desc->port = mrc_paths_port(req->paths, ev);
	desc->entropy = mrc_paths_entropy(req->paths, ev);
	return true;
}

/* MRC 1.0 §15: a packet may be trimmable only if the peer answers trims by NACKs. */
static u8 mrc_req_tc(const struct mrc_req *req, bool rtx)
{
	if (!req->cfg.trim_nack)
		return MRC_TC_DATA;
	return rtx ? MRC_TC_TRIMMABLE_RETX : MRC_TC_TRIMMABLE;
}

/* Stall because no EV is usable. Only a port or the controller can end it, §11.5. */
static enum mrc_tx_verdict mrc_req_no_ev(struct mrc_req *req, u64 now)
{
	if (!req->no_ev_at)
		req->no_ev_at = now;
	mrc_req_arm(req, now);
	return MRC_TX_WAIT_EV;
}

/*
 * Count a packet that is sent. The peaks of packets in flight tell how much reordering
 * to expect.
 */
static void mrc_req_out(struct mrc_req *req, u32 nominal, u64 now)
{
	const u64 age = now - req->peak_at;
	const u64 rtt = mrc_req_loss_time(req);

	if (age >= rtt) {
		req->peak_before = age < 2 * rtt ? req->peak : req->n_out;
		req->peak = 0;
		req->peak_at = now;
	}
	req->inflight += nominal;
	req->n_out++;
	if (req->n_out > req->peak)
		req->peak = req->n_out;
	req->cc->ops->on_send(req->cc, nominal, now);
}

/*
 * Check whether outstanding or new packet @psn may be sent, and send it, MRC 1.0 §6.
 * @rtx: the packet is outstanding.
 */
static enum mrc_tx_verdict mrc_req_emit(struct mrc_req *req, u32 psn, u32 slot,
					u32 index, bool rtx, u64 now,
					struct mrc_tx_desc *desc)
{
	struct mrc_tx_wqe *wqe = &req->wqe[slot];
	struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
	/*
	 * A packet that was put back before its first transmission is not a
	 * retransmission.
	 */
	const bool first = !rtx || pkt->unsent;
	bool more, room = true;
	u32 nominal;

	memset(desc, 0, sizeof(*desc));
	mrc_req_data_hdr(req, wqe, index, now, desc);
	nominal = mrc_nominal_size(desc->hdr.hdr_len, desc->len);
	if (now < req->spread_until)
		return MRC_TX_WAIT_CWND;
	/*
	 * With nothing in flight a packet may always go: no feedback would open the
	 * window.
	 */
	if (req->n_out && !mrc_req_cc_admits(req, nominal))
		return MRC_TX_WAIT_CWND;
	if (!mrc_req_pick_ev(req, first ? NULL : pkt, now, desc))
		return mrc_req_no_ev(req, now);

	if (rtx) {
		/* Without BTH.rtx the packet gets a SACK for sure only if it asks. */
		more = !first && (mrc_req_more(req, 0) || req->n_lost > 1);
	} else {
		more = mrc_req_more(req, 1);
		room = mrc_req_admits(req, mrc_psn_add(psn, 1)) &&
		       mrc_psn_diff(psn, req->tack) < MRC_TACK_RANGE;
	}
	mrc_req_out(req, nominal, now);
	desc->hdr.psn = psn;
	desc->hdr.rtx = !first;
	desc->hdr.a = mrc_req_want_ack(req, wqe, index,
				       first && mrc_req_alone(req, psn, now),
				       more, room) ||
		      (first && !index && req->recv_limited &&
		       mrc_req_tests_recv(req, wqe));
	if (desc->hdr.a) {
		req->asked = true;
		req->ask_psn = psn;
	} else if (first && psn == req->ask_psn) {
		req->asked = false;	/* it was put back, and asks no more */
	}
	desc->tc = mrc_req_tc(req, !first);
	desc->ect = true;
	desc->data = true;
	desc->slot = slot;

	if (!first) {
		if (pkt->rtx_count < 2)
			pkt->rtx_count++;
	} else {
		memset(pkt, 0, sizeof(*pkt));
		pkt->slot = slot;
		pkt->index = index;
	}
	pkt->nominal = (u16)nominal;
	pkt->ahead = rtx ? (u16)mrc_psn_diff(mrc_req_newest(req), psn) : 0;
	pkt->sent_at = now;
	pkt->ev = (u16)desc->ev;
	pkt->hold_until = 0;
	pkt->put_back = false;
	pkt->probed = false;
	pkt->inflight = true;
	mrc_req_plane_sent(req, desc->port, psn, now);
	mrc_req_count_tx(req, desc, now);
	mrc_req_spread_sent(req, now);
	return MRC_TX_PACKET;
}

/* Oldest lost packet that is not held back; @psn is valid if true. */
static bool mrc_req_next_lost(struct mrc_req *req, u64 now, u32 *psn)
{
	u32 span = mrc_req_span(req);
	u64 until = MRC_NEVER;
	bool waits = false;
	u32 off = 0;

	if (!req->n_lost || now < req->held_until)
		return false;
	for (;;) {
		struct mrc_tx_pkt *pkt;

		off += mrc_ring_next_set(req->lost, req->ring_mask,
					 req->cack + 1 + off, span - off);
		if (off >= span)
			break;
		*psn = mrc_psn_add(req->cack, (s32)off + 1);
		/*
		 * Beyond a window that shrank, §5.2; feedback moves the window towards
		 * it.
		 */
		if (!mrc_req_admits(req, *psn))
			break;
		pkt = mrc_req_pkt(req, *psn);
		off++;
		/* It waits for the messages before it, not for a time. */
		if (!mrc_req_may_resend(req, *psn)) {
			waits = true;
			continue;
		}
		if (pkt->hold_until <= now) {
			req->held_until = 0;
			return true;
		}
		if (pkt->hold_until < until)
			until = pkt->hold_until;
	}
	req->held_until = until == MRC_NEVER && !waits ? 0 : until;
	return false;
}

static enum mrc_tx_verdict mrc_req_send_lost(struct mrc_req *req, u32 psn,
					     u64 now, struct mrc_tx_desc *desc)
{
	struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
	const bool unsent = pkt->unsent;
	const bool held = pkt->put_back || pkt->hold_until;
	enum mrc_tx_verdict v;

	v = mrc_req_emit(req, psn, pkt->slot, pkt->index, true, now, desc);
	if (v == MRC_TX_PACKET) {
		/*
		 * The network did not cause the hold: cack counts as stuck only from
		 * now on.
		 */
		if (held && psn == mrc_psn_add(req->cack, 1))
			req->stands_at = now;
		mrc_bit_clear(req->lost, req->ring_mask, psn);
		req->n_lost--;
		mrc_req_await(req, now);
		mrc_req_arm(req, now);
		if (!unsent)
			mrc_req_resent(req, psn, now);
	}
	return v;
}

void mrc_req_put_back(struct mrc_req *req, const struct mrc_tx_desc *desc,
		      u64 hold, u64 now)
{
	const u32 psn = desc->hdr.psn;
	struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
	struct mrc_counters *ctr = req->cfg.ctr;

	mrc_ctr_add(ctr, desc->port, MRC_CTR_TX_PAGE, 1);
	/*
	 * The newest packet, sent again for its transport ACK: a timer sends it once
	 * more.
	 */
	if (req->state == MRC_REQ_ERROR || !mrc_req_outstanding(req, psn) ||
	    mrc_req_is_acked(req, psn) || mrc_req_is_lost(req, psn))
		return;
	if (pkt->inflight) {
		pkt->inflight = false;
		req->inflight -= pkt->nominal;
		req->n_out--;
		/* Tell congestion control that the packet is not in flight. */
		req->cc->ops->on_nack(req->cc, pkt->nominal,
				      MRC_NACK_NO_RESOURCE, MRC_CC_NONE_RTT,
				      now);
	}
	mrc_bit_set(req->lost, req->ring_mask, psn);
	req->n_lost++;
	pkt->guard = MRC_GUARD_NONE;
	pkt->hold_until = hold;
	pkt->put_back = true;
	req->held_until = 0;
	if (!desc->hdr.rtx)
		pkt->unsent = true;
	else if (pkt->rtx_count == 1)
		pkt->rtx_count = 0;

	mrc_ctr_add(ctr, desc->port, MRC_CTR_TX_DATA, -1ull);
	mrc_ctr_add(ctr, desc->port, MRC_CTR_TX_DATA_BYTES, -(u64)desc->len);
	req->stat_pkts--;
	req->stat_port_bytes[desc->port] -= desc->len;
	if (desc->hdr.rtx) {
		mrc_ctr_add(ctr, desc->port, MRC_CTR_TX_RTX, -1ull);
		req->stat_rtx--;
	}
}

void mrc_req_release(struct mrc_req *req)
{
	const u32 span = mrc_req_span(req);
	u32 off = 0;

	if (!req->n_lost)
		return;
	for (;;) {
		struct mrc_tx_pkt *pkt;

		off += mrc_ring_next_set(req->lost, req->ring_mask,
					 req->cack + 1 + off, span - off);
		if (off >= span)
			break;
		pkt = mrc_req_pkt(req, mrc_psn_add(req->cack, (s32)off + 1));
		if (pkt->put_back)
			pkt->hold_until = 0;
		off++;
	}
	req->held_until = 0;
}

static enum mrc_tx_verdict mrc_req_send_new(struct mrc_req *req, u64 now,
					    struct mrc_tx_desc *desc)
{
	const u32 psn = req->next_psn;
	const u32 slot = req->wq_send & (req->cfg.sq_depth - 1);
	struct mrc_tx_wqe *wqe;
	enum mrc_tx_verdict v;
	bool recv;

	if (req->wq_send == req->wq_post || mrc_req_doomed(req, req->wq_send))
		return req->n_lost ? MRC_TX_WAIT_HOLD : MRC_TX_IDLE;
	wqe = &req->wqe[slot];
	if (!mrc_req_begun(wqe) && req->drain)
		return req->n_lost ? MRC_TX_WAIT_HOLD : MRC_TX_IDLE;
	v = mrc_req_ext_gate(req, wqe, psn);
	if (v != MRC_TX_PACKET)
		return v;
	if (wqe->wr.op == MRC_WR_LOCAL)
		return mrc_req_local(req, desc);
	recv = mrc_wr_consumes_recv(wqe->wr.op);
	if (mrc_req_takes_recv(wqe) && mrc_req_wimm_full(req, 0))
		return MRC_TX_WAIT_WIMM;
	if (!mrc_req_admits(req, psn))
		return MRC_TX_WAIT_MPR;
	if (mrc_req_tack_limit(req)) {
		mrc_req_arm(req, now);
		return MRC_TX_WAIT_MPR;
	}
	v = mrc_req_emit(req, psn, slot, wqe->sent, false, now, desc);
	if (v != MRC_TX_PACKET)
		return v;

	/* Nothing was awaited before: cack counts as stuck only from now on. */
	if (req->tail_probe_at == MRC_NEVER)
		req->stands_at = now;
	mrc_req_await(req, now);
	mrc_bit_clear(req->acked, req->ring_mask, psn);
	mrc_bit_clear(req->lost, req->ring_mask, psn);
	mrc_bit_clear(req->inferred, req->ring_mask, psn);
	mrc_bit_clear(req->spurious, req->ring_mask, psn);
	req->next_psn = mrc_psn_add(psn, 1);
	if (!wqe->sent) {
		wqe->first_psn = psn;
		wqe->state = MRC_WQE_STARTED;
		if (recv)
			req->wimm_out++;
		else if (mrc_wr_is_request(wqe->wr.op))
			mrc_req_rd_started(req, wqe, slot, desc->port);
	}
	if (++wqe->sent == wqe->npkts)
		req->wq_send++;
	mrc_req_arm(req, now);
	return v;
}

/*
 * Everything is SACKed but the transport ACK is missing. Send the newest PSN again: the
 * responder answers this duplicate with the ACK (MRC 1.0 §7.3, §9.4). The packet is
 * known received. So it counts neither as in flight nor as a retransmission after a
 * loss.
 */
static enum mrc_tx_verdict mrc_req_send_last(struct mrc_req *req, u64 now,
					     struct mrc_tx_desc *desc)
{
	/*
	 * The retry timer counts from the awaited packet, not from this request for an
	 * ACK.
	 */
	const u64 last_tx = req->last_tx;
	u32 psn = mrc_req_newest(req);
	struct mrc_tx_pkt *pkt;
	struct mrc_tx_wqe *wqe;

	/*
	 * Any PSN that was received will do. The newest may lie beyond a shrunk window.
	 * If cack stands before a packet that a SACK showed, the peer lacks this packet.
	 */
	if (mrc_req_span(req) || !mrc_req_admits(req, psn))
		psn = mrc_psn_add(req->cack, 1);
	pkt = mrc_req_pkt(req, psn);
	wqe = &req->wqe[pkt->slot];
	memset(desc, 0, sizeof(*desc));
	mrc_req_data_hdr(req, wqe, pkt->index, now, desc);
	if (!mrc_req_pick_ev(req, NULL, now, desc))
		return mrc_req_no_ev(req, now);
	desc->hdr.psn = psn;
	desc->hdr.rtx = true;
	desc->hdr.a = true;
	desc->tc = mrc_req_tc(req, true);
	desc->ect = true;
	desc->data = true;
	desc->slot = pkt->slot;
	pkt->sent_at = now;
	req->rtx_last = false;
	mrc_ctr_add(req->cfg.ctr, desc->port, MRC_CTR_RTX_LAST_PSN, 1);
	mrc_req_count_tx(req, desc, now);
	req->last_tx = last_tx;
	mrc_req_arm(req, now);
	return MRC_TX_PACKET;
}

static void mrc_req_probe_desc(struct mrc_req *req, int ev, u64 now,
			       struct mrc_tx_desc *desc)
{
	struct mrc_probe_rec *rec = &req->probe_log[req->probe_pos];
	struct mrc_hdr *h = &desc->hdr;

	memset(desc, 0, sizeof(*desc));
	desc->ev = ev;
	desc->port = mrc_paths_port(req->paths, ev);
	desc->entropy = mrc_paths_entropy(req->paths, ev);
	desc->tc = mrc_req_tc(req, false);
	desc->ect = true;
	h->opcode = MRC_OP_PROBE;
	h->ans = req->cfg.ans;
	h->pkey = req->cfg.pkey;
	h->dqp = req->cfg.dqpn;
	h->tstamp = (u16)(now >> MRC_TS_SHIFT);
	h->ftype = MRC_TS_FTYPE;
	h->peth.probe_id = req->probe_id++;
	h->peth.spdcid = (u16)req->cfg.qpn;
	h->peth.dpdcid = (u16)req->cfg.dqpn;
	h->hdr_len = (u16)mrc_hdr_len(h);
	rec->id = h->peth.probe_id;
	rec->at = now;
	rec->port = desc->port;
	rec->range = (u16)mrc_req_loss_range(req);
	rec->answered = false;
	req->probe_pos = (u8)((req->probe_pos + 1) % MRC_PROBE_LOG);
	mrc_ctr_add(req->cfg.ctr, desc->port, MRC_CTR_TX_PROBE, 1);
}

/*
 * Tail probe, §9.5 (a), on another plane than that of the oldest packet. If everything
 * was received and only the transport ACK is missing, which a probe cannot ask for, the
 * newest packet is sent again instead. Return: true if a probe is sent.
 */
static bool mrc_req_tail_probe(struct mrc_req *req, u64 now,
			       struct mrc_tx_desc *desc)
{
	const u32 off = mrc_req_first_unacked(req);
	const bool all = off == mrc_req_span(req);
	const bool due = !all && (req->probe_now || now >= req->probe_by);
	u64 at;
	int ev;

	req->probe_now = false;
	if (all && !mrc_req_tack_awaited(req)) {
		req->tail_probe_at = MRC_NEVER;
		return false;
	}
	at = mrc_req_tail_due(req, all);
	if (!due && now < at) {
		req->tail_probe_at = req->probe_by < at ? req->probe_by : at;
		return false;
	}
	req->probe_by = MRC_NEVER;
	req->last_probe = now;
	if (req->tail_probe_shift < MRC_SILENCE_SHIFT_MAX)
		req->tail_probe_shift++;
	req->tail_probe_at = mrc_req_tail_due(req, all);
	if (all) {
		req->rtx_last = true;
		return false;
	}
	ev = mrc_req_pkt(req, req->cack + 1 + off)->ev;
	ev = mrc_paths_pick_other(req->paths, ev, now);
	if (ev < 0)
		ev = mrc_paths_pick(req->paths, now);
	if (ev < 0)
		return false;
	mrc_req_mark_probed(req, mrc_paths_port(req->paths, (u16)ev), now);
	mrc_req_probe_desc(req, ev, now, desc);
	req->probe_out = true;
	req->probe_out_id = desc->hdr.peth.probe_id;
	req->probe_out_ev = (u16)ev;
	req->probe_out_at = now;
	return true;
}

/* Is a packet in flight on a port of @mask? */
static bool mrc_req_out_on(const struct mrc_req *req, u32 mask)
{
	const u32 span = mrc_req_span(req);
	u32 off = 0;

	for (;;) {
		const struct mrc_tx_pkt *pkt;

		off += mrc_ring_next_clear(req->acked, req->ring_mask,
					   req->cack + 1 + off, span - off);
		if (off >= span)
			return false;
		pkt = mrc_req_pkt(req, req->cack + 1 + off);
		if (pkt->inflight && mask >> mrc_paths_port(req->paths, pkt->ev) & 1)
			return true;
		off++;
	}
}

static void mrc_req_ports_gone(struct mrc_req *req, u32 gone)
{
	mrc_req_unhold(req);
	if (req->again_ports)
		req->again_at = 0;
	if (req->state == MRC_REQ_READY && gone && mrc_req_out_on(req, gone))
		req->probe_now = true;
}

/* The set of the peer's ports may have changed from @was. */
static void mrc_req_peer_left(struct mrc_req *req, u32 was)
{
	u32 is = req->paths->peer_ports;

	if (is != was)
		mrc_req_ports_gone(req, was & ~is);
}

/* Probe of an ASSUMED_BAD EV, §9.5 (b), or of a port that the peer reported as down. */
static bool mrc_req_ev_probe(struct mrc_req *req, u64 now,
			     struct mrc_tx_desc *desc)
{
	u32 ports;
	int ev;

	if (now < mrc_paths_next_probe(req->paths))
		return false;
	ports = req->paths->peer_ports;
	ev = mrc_paths_probe_due(req->paths, now);
	mrc_req_peer_left(req, ports);
	if (ev < 0)
		return false;
	mrc_req_probe_desc(req, ev, now, desc);
	mrc_paths_probe_sent(req->paths, ev, desc->hdr.peth.probe_id, now);
	return true;
}

static enum mrc_tx_verdict mrc_req_choose(struct mrc_req *req, u64 now,
					  struct mrc_tx_desc *desc)
{
	u32 psn;

	if (req->state == MRC_REQ_ERROR)
		return MRC_TX_ERROR;
	if (now >= req->rnr_until)
		req->rnr_until = 0;
	if (now >= req->spread_until)
		req->spread_until = 0;
	if ((req->probe_now || now >= req->tail_probe_at) &&
	    mrc_req_tail_probe(req, now, desc))
		return MRC_TX_PACKET;
	if (mrc_req_ev_probe(req, now, desc))
		return MRC_TX_PACKET;
	if (req->rtx_last) {
		if (mrc_req_all_acked(req) && mrc_req_tack_pending(req))
			return mrc_req_send_last(req, now, desc);
		req->rtx_last = false;
	}
	if (mrc_req_next_lost(req, now, &psn))
		return mrc_req_send_lost(req, psn, now, desc);
	return mrc_req_send_new(req, now, desc);
}

enum mrc_tx_verdict mrc_req_next(struct mrc_req *req, u64 now,
				 struct mrc_tx_desc *desc)
{
	enum mrc_tx_verdict v = mrc_req_choose(req, now, desc);

	/* No packet waits for an EV any more: it was acknowledged or may not begin. */
	if (v == MRC_TX_IDLE || v == MRC_TX_WAIT_RD ||
	    v == MRC_TX_WAIT_FENCE || v == MRC_TX_LOCAL)
		req->no_ev_at = 0;
	if (v == MRC_TX_WAIT_CWND || v == MRC_TX_WAIT_MPR ||
	    v == MRC_TX_WAIT_RD || v == MRC_TX_WAIT_FENCE ||
	    v == MRC_TX_WAIT_RECV)
		mrc_req_blocked(req, now);
	if (v != req->verdict) {
		struct mrc_counters *ctr = req->cfg.ctr;

		if (v == MRC_TX_WAIT_MPR)
			mrc_ctr_add(ctr, 1, MRC_CTR_STALL_MPR, 1);
		else if (v == MRC_TX_WAIT_CWND)
			mrc_ctr_add(ctr, 1, MRC_CTR_STALL_CWND, 1);
		else if (v == MRC_TX_WAIT_WIMM || v == MRC_TX_WAIT_RECV)
			mrc_ctr_add(ctr, 1, MRC_CTR_STALL_WIMM, 1);
		else if (v == MRC_TX_WAIT_EV)
			mrc_ctr_add(ctr, 1, MRC_CTR_STALL_NO_EV, 1);
		else if (v == MRC_TX_WAIT_RD)
			mrc_ctr_add(ctr, 1, MRC_CTR_STALL_RD, 1);
		else if (v == MRC_TX_WAIT_FENCE)
			mrc_ctr_add(ctr, 1, MRC_CTR_STALL_FENCE, 1);
		req->verdict = (u8)v;
	}
	return v;
}

void mrc_req_set_ports(struct mrc_req *req, u32 ports_up, u64 now)
{
	u32 gone = req->paths->ports_up & ~ports_up;

	mrc_paths_set_ports(req->paths, ports_up);
	mrc_req_ports_gone(req, gone);
}

void mrc_req_peer_status(struct mrc_req *req, u32 word, u64 now)
{
	u32 was = req->paths->peer_ports;

	mrc_paths_peer_status(req->paths, word, now);
	mrc_req_peer_left(req, was);
}
