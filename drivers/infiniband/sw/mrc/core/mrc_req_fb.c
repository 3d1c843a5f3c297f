// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requester: consumption of SACK, NACK and transport ACK/NAK.
 * MRC 1.0 §6.2, §8, §10, §13.2.
 *
 * The contents of feedback packets are not trusted. They are checked against what was
 * sent before any state changes, and no loop is longer than the window.
 */
#include "mrc_req_priv.h"

/* Limit of how far mrc_req.mpr_psn is behind cack; wider than any window. */
#define MRC_MPR_LAG	0x400000

static void mrc_req_drop(struct mrc_req *req, u8 port)
{
	mrc_ctr_add(req->cfg.ctr, port, MRC_CTR_DROP_STALE, 1);
}

static bool mrc_req_unsent(const struct mrc_req *req, u32 psn)
{
	return mrc_psn_diff(psn, mrc_req_newest(req)) > 0;
}

/* Outstanding @psn is known received. Return: nominal bytes newly known. */
static u32 mrc_req_receive(struct mrc_req *req, u32 psn, u64 now)
{
	struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);

	if (mrc_req_is_acked(req, psn))
		return 0;
	mrc_bit_set(req->acked, req->ring_mask, psn);
	/* Packets that wait for the messages before them may be allowed now. */
	if (req->recv_limited)
		req->held_until = 0;
	/* If there are several copies, it is not known which one arrived. */
	if (!pkt->rtx_count)
		mrc_req_arrived(req, psn, now);
	else
		mrc_req_plane_undo(req, psn);
	if (mrc_req_is_lost(req, psn)) {
		mrc_bit_clear(req->lost, req->ring_mask, psn);
		req->n_lost--;
		req->cc->ops->on_late(req->cc, pkt->nominal);
	}
	if (pkt->inflight) {
		pkt->inflight = false;
		req->inflight -= pkt->nominal;
		req->n_out--;
	}
	return pkt->nominal;
}

/*
 * All PSNs up to @cack, which was sent, are received. Return: nominal bytes newly
 * known.
 */
static u64 mrc_req_advance(struct mrc_req *req, u32 cack, u64 now)
{
	s32 n = mrc_psn_diff(cack, req->cack);
	u64 freed = 0;
	u32 off = 0;

	if (n <= 0)
		return 0;
	for (;;) {
		off += mrc_ring_next_clear(req->acked, req->ring_mask,
					   req->cack + 1 + off, (u32)n - off);
		if (off >= (u32)n)
			break;
		freed += mrc_req_receive(req, mrc_psn_add(req->cack,
							  (s32)off + 1), now);
		off++;
	}
	req->cack = cack;
	if (mrc_psn_diff(cack, req->high) > 0)
		req->high = cack;
	/*
	 * A peer may send only transport ACKs for any time. After half of the PSN
	 * space, its last SACK would seem to lie ahead, and the range of that SACK
	 * would admit PSNs beyond the ring.
	 */
	if (mrc_psn_diff(cack, req->mpr_psn) > MRC_MPR_LAG)
		req->mpr_psn = mrc_psn_add(cack, -MRC_MPR_LAG);
	return freed;
}

/* Outstanding or older @psn is received. Return: nominal bytes newly known. */
static u64 mrc_req_receive_one(struct mrc_req *req, u32 psn, u64 now)
{
	if (mrc_psn_diff(psn, req->cack) <= 0)
		return 0;
	if (mrc_psn_diff(psn, req->high) > 0)
		req->high = psn;
	return mrc_req_receive(req, psn, now);
}

/* Smoothing of RFC 6298; the first sample replaces the configured RTT. */
static void mrc_req_rtt_sample(struct mrc_req *req, u8 port, u64 rtt, u64 now)
{
	u64 base = req->base_rtt;
	u64 dev;

	if (!rtt)
		rtt = 1;
	req->rtt_at = now;
	mrc_req_plane_rtt(req, port, rtt, now);
	if (!req->srtt) {
		req->srtt = rtt;
		req->rttvar = rtt / 2;
		base = rtt;
	} else {
		dev = req->srtt > rtt ? req->srtt - rtt : rtt - req->srtt;
		req->rttvar = req->rttvar - req->rttvar / 4 + dev / 4;
		req->srtt = req->srtt - req->srtt / 8 + rtt / 8;
		if (rtt < base)
			base = rtt;
	}
	mrc_req_slowest_update(req);
	req->paths->pace->srtt = req->srtt;
	if (base == req->base_rtt)
		return;
	req->base_rtt = base;
	mrc_paths_set_rtt(req->paths, base, req->cfg.rto);
}

/* The echo, without service time, of a packet sent at @at. */
static u16 mrc_req_echo(u64 at)
{
	return (u16)(at >> MRC_TS_SHIFT);
}

/*
 * RTT of a transmission at @at that is answered by feedback with the echo @echo (0 = no
 * echo), or MRC_CC_NONE_RTT. The time of the record is exact and does not wrap. The
 * echo tells whether this copy is answered. With service time it includes the residence
 * time, which must be left out (MRC 1.0 §13.2, OP-35).
 */
static u64 mrc_req_rtt(const struct mrc_req *req, u64 at, u16 echo, u64 now)
{
	u64 age = now - at;
	u64 rtt;

	if (now < at)
		return MRC_CC_NONE_RTT;
	if (!echo)
		return age;
	if (!req->cfg.svc_time)
		return echo == mrc_req_echo(at) ? age : MRC_CC_NONE_RTT;
	/*
	 * The residence time is unknown if the echo may have wrapped. The sample is
	 * used nevertheless: without such samples srtt would be that of short round
	 * trips only, and all longer ones would count as overdue.
	 */
	if (age >= MRC_ECHO_MAX_NS)
		return age;
	rtt = (u64)(u16)(mrc_req_echo(now) - echo) << MRC_TS_SHIFT;
	if (rtt >= age + (1u << MRC_TS_SHIFT))
		return MRC_CC_NONE_RTT;
	return rtt < age ? rtt : age;
}

/*
 * RTT of the first copy of a packet that was sent again meanwhile. It was sent before the
 * newest one, by less than the time after which echoes wrap. Without such samples a retry
 * interval below the RTT, which makes each packet go twice, would never be found too short.
 * The plane of that copy is not known any more, so samples of newest copies are preferred.
 */
static u64 mrc_req_first_rtt(const struct mrc_req *req, const struct mrc_tx_pkt *pkt,
			     u16 echo, u64 now)
{
	const u64 wrap = 1ull << (16 + MRC_TS_SHIFT);
	u64 age, rtt;

	if (!req->cfg.use_ts || !echo || req->cfg.svc_time || now < pkt->sent_at ||
	    (req->srtt && now - req->rtt_at <= 4 * req->slowest_rtt))
		return MRC_CC_NONE_RTT;
	age = now - pkt->sent_at;
	rtt = (u64)(u16)(mrc_req_echo(now) - echo) << MRC_TS_SHIFT;
	return rtt + (age > rtt ? ((age - rtt - 1) / wrap + 1) * wrap : 0);
}

/*
 * RTT of the packet that triggered this SACK. Valid if it is clear which transmission
 * is answered (§13.2) and if the PSN was not known received before. So this must be
 * called before the SACK is consumed.
 */
static u64 mrc_req_sack_rtt(const struct mrc_req *req, u32 psn, bool rtx,
			    u16 echo, u64 now)
{
	const struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);

	if (!mrc_req_outstanding(req, psn) || mrc_req_is_acked(req, psn))
		return MRC_CC_NONE_RTT;
	if (!rtx && pkt->rtx_count)
		return mrc_req_first_rtt(req, pkt, echo, now);
	if (pkt->rtx_count != (rtx ? 1 : 0))
		return MRC_CC_NONE_RTT;
	return mrc_req_rtt(req, pkt->sent_at, req->cfg.use_ts ? echo : 0, now);
}

/*
 * A SACK that names a retransmitted PSN but was triggered by a packet without BTH.rtx:
 * the first copy arrived. Counted once per PSN. Only this exact evidence counts, so the
 * counter is a lower bound of the spurious retransmissions.
 */
static void mrc_req_spurious(struct mrc_req *req, u32 psn, u8 port, u64 now)
{
	s32 age = mrc_psn_diff(req->next_psn, psn);

	if (age <= 0 || (u32)age > req->ring_mask + 1 ||
	    !mrc_req_pkt(req, psn)->rtx_count ||
	    mrc_bit_test(req->spurious, req->ring_mask, psn))
		return;
	mrc_bit_set(req->spurious, req->ring_mask, psn);
	mrc_ctr_add(req->cfg.ctr, port, MRC_CTR_SPURIOUS_RTX, 1);
	mrc_req_unneeded(req, psn, now);
}

/* Bytes newly received as counted by the responder, §13.2; never negative. */
static u64 mrc_req_rcvd_bytes(struct mrc_req *req, u32 rcvd)
{
	u32 n = (rcvd - req->rcvd_bytes) & 0xFFFFFF;

	if (n >= 1u << 23)
		return 0;
	req->rcvd_bytes = rcvd & 0xFFFFFF;
	return (u64)n << 8;
}

/* Was @s sent before the newest SACK received? Then holes of its map may be filled. */
static bool mrc_req_stale(const struct mrc_req *req, const struct mrc_seth *s)
{
	return mrc_psn_diff(s->rcvd_bytes, req->rcvd_newest) < 0;
}

/* Does any set bit of the map name a PSN that was not sent? */
static bool mrc_req_map_unsent(const struct mrc_req *req,
			       const struct mrc_seth *s)
{
	u64 map = s->bitmap;
	u32 i;

	for (i = 0; map; i++, map >>= 1)
		if (map & 1 &&
		    mrc_req_unsent(req, mrc_psn_add(s->cack_psn,
						    s->sack_offset + (s32)i)))
			return true;
	return false;
}

static struct mrc_probe_rec *mrc_req_probe_find(struct mrc_req *req, u16 id)
{
	u32 i;

	for (i = 0; i < MRC_PROBE_LOG; i++)
		if (req->probe_log[i].at && req->probe_log[i].id == id)
			return &req->probe_log[i];
	return NULL;
}

/*
 * Verdict of a probe reply on the EV of the probe. A train of replies gives one
 * verdict and one sample. Return: RTT sample or MRC_CC_NONE_RTT.
 */
static u64 mrc_req_probe_reply(struct mrc_req *req, const struct mrc_seth *s,
			       struct mrc_probe_rec *rec, u16 echo, u64 now)
{
	int ev;

	if (req->probe_out && req->probe_out_id == s->probe_id) {
		ev = req->probe_out_ev;
		req->probe_out = false;
	} else {
		ev = mrc_paths_probe_match(req->paths, s->probe_id);
	}
	if (ev >= 0)
		mrc_paths_verdict(req->paths, ev,
				  s->m == MRC_M_SKIP_ONCE ? MRC_EVV_PROBE_CE :
				  s->m == MRC_M_ALWAYS_SKIP ? MRC_EVV_PROBE_BAD :
				  MRC_EVV_PROBE_OK, now);
	if (!rec || rec->answered)
		return MRC_CC_NONE_RTT;
	rec->answered = true;
	return mrc_req_rtt(req, rec->at, echo, now);
}

/* A packet sent through @port at @at was answered, and the answer arrived on @via. */
static void mrc_req_path_heard(struct mrc_req *req, u8 port, u64 at, u8 via,
			       u64 now)
{
	u32 was = req->paths->peer_ports;

	mrc_paths_heard(req->paths, port, at, via, now);
	/* The peer's port is in use again: check all holes anew. */
	if (req->paths->peer_ports != was)
		mrc_req_unhold(req);
}

/*
 * The same for a SACK. If there are several copies, it is not known which one arrived.
 */
static void mrc_req_sack_heard(struct mrc_req *req, u32 psn, u8 via, u64 now)
{
	const struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);

	if (mrc_req_outstanding(req, psn) && !mrc_req_is_acked(req, psn) &&
	    !pkt->rtx_count)
		mrc_req_path_heard(req, mrc_paths_port(req->paths, pkt->ev),
				   pkt->sent_at, via, now);
}

static void mrc_req_sack_verdict(struct mrc_req *req, const struct mrc_seth *s,
				 u64 now)
{
	const int ev = mrc_paths_find(req->paths, s->entropy);

	if (req->cfg.rev && ev >= 0 && s->m != MRC_M_SKIP_ONCE &&
	    s->m != MRC_M_ALWAYS_SKIP)
		mrc_rev_confirm(req->cfg.rev, req->paths, ev, now);
	mrc_paths_verdict(req->paths, ev,
			  s->m == MRC_M_SKIP_ONCE ? MRC_EVV_CE :
			  s->m == MRC_M_ALWAYS_SKIP ? MRC_EVV_CONDEMNED :
			  MRC_EVV_OK, now);
}

/*
 * Dynamic MPR, §5.2: the range of the newest SACK counts, or of the last of several
 * SACKs with the same cack_psn. A range of 0, which no valid SACK has, is ignored.
 */
static void mrc_req_adopt_mpr(struct mrc_req *req, const struct mrc_seth *s,
			      u8 port)
{
	const u32 max = mrc_req_window_max(&req->cfg);
	u32 window = (u32)s->mpr * MRC_MPR_UNIT;

	if (!req->cfg.dynamic_mpr ||
	    mrc_psn_diff(s->cack_psn, req->mpr_psn) < 0)
		return;
	req->mpr_psn = s->cack_psn;
	/* Retransmissions that waited for the window may go. */
	req->held_until = 0;
	if (window > max)
		window = max;
	if (!window || window == req->window)
		return;
	req->window = window;
	mrc_ctr_add(req->cfg.ctr, port, MRC_CTR_MPR_CHANGE, 1);
}

/* Window penalty of the peer, §13.6; cfg.ignore_pen disregards it. */
static void mrc_req_penalty(const struct mrc_req *req, const struct mrc_seth *s,
			    u8 port, struct mrc_cc_ack *ack)
{
	if (s->rcv_cwnd_pen)
		mrc_ctr_add(req->cfg.ctr, port, MRC_CTR_RX_PENALTY, 1);
	if (req->cfg.ignore_pen)
		return;
	ack->pen = s->rcv_cwnd_pen;
	ack->restore = s->restore_cwnd;
}

void mrc_req_on_sack(struct mrc_req *req, const struct mrc_hdr *h, u8 port,
		     u64 now)
{
	const struct mrc_seth *s = &h->seth;
	struct mrc_probe_rec *rec = NULL;
	const u32 ack_psn = mrc_psn_add(s->cack_psn, s->ack_psn_offset);
	u64 rtt = MRC_CC_NONE_RTT;
	bool copy = false;
	u32 i, old, size = 0;
	u64 freed, map;
	u8 via = 0;

	if (req->state == MRC_REQ_ERROR)
		return;
	mrc_ctr_add(req->cfg.ctr, port, MRC_CTR_RX_SACK, 1);
	if (mrc_req_unsent(req, s->cack_psn) ||
	    (!s->pr && mrc_req_unsent(req, ack_psn)) ||
	    mrc_req_map_unsent(req, s)) {
		mrc_req_drop(req, port);
		return;
	}

	if (s->pr) {
		mrc_ctr_add(req->cfg.ctr, port, MRC_CTR_RX_PROBE_REPLY, 1);
		rec = mrc_req_probe_find(req, s->probe_id);
		if (rec)
			mrc_req_path_heard(req, rec->port, rec->at, port, now);
		rtt = mrc_req_probe_reply(req, s, rec, h->tstamp, now);
		if (rec)
			via = rec->port;
	} else {
		mrc_req_sack_heard(req, ack_psn, port, now);
		rtt = mrc_req_sack_rtt(req, ack_psn, h->rtx, h->tstamp, now);
		via = mrc_paths_port(req->paths, mrc_req_pkt(req, ack_psn)->ev);
		size = mrc_req_pkt(req, ack_psn)->nominal;
		copy = rtt != MRC_CC_NONE_RTT && h->rtx;
		if (!h->rtx)
			mrc_req_spurious(req, ack_psn, port, now);
		mrc_req_sack_verdict(req, s, now);
	}
	if (rtt != MRC_CC_NONE_RTT)
		mrc_req_rtt_sample(req, via, rtt, now);

	old = req->cack;
	freed = mrc_req_advance(req, s->cack_psn, now);
	for (i = 0, map = s->bitmap; map; i++, map >>= 1)
		if (map & 1)
			freed += mrc_req_receive_one(req,
				mrc_psn_add(s->cack_psn,
					    s->sack_offset + (s32)i), now);
	if (!s->pr)
		freed += mrc_req_receive_one(req, ack_psn, now);
	/* The send time and plane of a copy that the SACK identifies are known. */
	if (copy)
		mrc_req_arrived(req, ack_psn, now);
	if (!mrc_req_stale(req, s))
		mrc_req_note_missing(req, s, now);
	if (req->cack != old)
		mrc_req_progress(req, now);
	mrc_req_adopt_mpr(req, s, port);

	/* OP-37: another cc_type carries no NSCC state. */
	if (!s->cc_type) {
		struct mrc_cc_ack ack = {
			.newly = mrc_req_rcvd_bytes(req, s->rcvd_bytes),
			.freed = freed,
			.ce = s->m == MRC_M_SKIP_ONCE,
			.rtt = rtt,
			.port = s->pr ? 0 : via,
			.size = size,
			.out = req->inflight,
			.waiting = (u64)req->n_lost * req->cc->mtu,
			.now = now,
		};

		mrc_req_penalty(req, s, port, &ack);
		req->cc->ops->on_ack(req->cc, &ack);
	}
	if (freed)
		mrc_req_spread_arrived(req);

	if (!mrc_req_stale(req, s))
		req->rcvd_newest = s->rcvd_bytes & 0xFFFFFF;
	req->overdue_at = MRC_NEVER;
	if (rec)
		mrc_req_probe_holes(req, s, rec, now);
	mrc_req_infer(req, now);
	if (req->stuck && !mrc_req_charge_stuck(req, now))
		return;
	mrc_req_rearm(req, !s->pr || freed, now);
}

/*
 * Does the NACK answer the newest transmission of its PSN? After a retransmission the
 * echo tells the copies apart. Without an echo the reflected entropy does, if the
 * copies took different paths.
 */
static bool mrc_req_nack_current(const struct mrc_req *req,
				 const struct mrc_tx_pkt *pkt, int ev, u16 echo)
{
	if (!pkt->rtx_count)
		return true;
	if (req->cfg.use_ts && echo && !req->cfg.svc_time)
		return echo == mrc_req_echo(pkt->sent_at);
	return ev < 0 || ev == pkt->ev;
}

/*
 * Does a NACK cost a retry (§9.4)? Neither incast nor a peer that is short of memory
 * for a few RTTs may use up the retry budget. OP-19 allows at most one retry per base
 * RTT for trims. All reasons together cost at most as much as timeouts would: one retry
 * per interval of the current attempt. In a crowded queue the packet after cack may be
 * refused ten times in ten RTTs.
 */
static bool mrc_req_nack_charge(struct mrc_req *req, u64 now)
{
	const u64 ivl = mrc_req_retry_interval(req, req->retries + 1);

	if (req->cost_at && now < req->cost_at + ivl)
		return false;
	req->cost_at = now;
	return true;
}

/*
 * How long a packet waits if the peer has no room for it, ns: one base RTT, doubled for
 * each retry charged so far. Otherwise a slow peer would be too busy refusing packets
 * to make room.
 */
static u64 mrc_req_shortage(const struct mrc_req *req)
{
	const u64 max = mrc_req_retry_interval(req, 0) / 2;
	u64 t = req->base_rtt;
	u32 n;

	for (n = 0; n < req->retries && t <= max / 2; n++)
		t *= 2;
	return t;
}

static enum mrc_counter mrc_req_nack_counter(const struct mrc_req *req,
					     const struct mrc_neth *n)
{
	if (mrc_req_is_rnr(req, n))
		return n->vendor & MRC_RNR_PAGE ? MRC_CTR_NACK_PAGE :
						  MRC_CTR_NACK_RNR;
	switch (n->reason) {
	case MRC_NACK_TRIMMED:
	case MRC_NACK_TRIMMED_LASTHOP:
		return MRC_CTR_NACK_TRIMMED;
	case MRC_NACK_PSN_OOR_WINDOW:
		return MRC_CTR_NACK_WINDOW;
	case MRC_NACK_UNEXP_EVENT:
		return MRC_CTR_NACK_FATAL;
	default:
		return MRC_CTR_NACK_SHORTAGE;	/* OP-18 */
	}
}

void mrc_req_on_nack(struct mrc_req *req, const struct mrc_hdr *h, u8 port,
		     u64 now)
{
	const struct mrc_neth *n = &h->neth;
	const u32 psn = n->nack_psn & MRC_PSN_MASK;
	struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
	u64 hold = 0, rtt = MRC_CC_NONE_RTT;
	bool trim, rnr, page, charge = false;
	int ev;

	if (req->state == MRC_REQ_ERROR)
		return;
	mrc_ctr_add(req->cfg.ctr, port, MRC_CTR_RX_NACK, 1);
	mrc_ctr_add(req->cfg.ctr, port, mrc_req_nack_counter(req, n), 1);
	if (mrc_req_unsent(req, psn)) {
		mrc_req_drop(req, port);
		return;
	}
	if (!mrc_req_outstanding(req, psn) || mrc_req_is_acked(req, psn) ||
	    mrc_req_slot_doomed(req, pkt->slot))
		goto heard;
	if (n->reason == MRC_NACK_UNEXP_EVENT) {
		/* A peer without the extension does not know its opcodes. */
		mrc_req_fail(req, (int)pkt->slot,
			     req->wqe[pkt->slot].wr.op > MRC_WR_WRITE_IMM ?
			     MRC_WC_REM_INV_REQ : MRC_WC_REM_OP);
		goto heard;
	}

	ev = mrc_paths_find(req->paths, n->entropy);
	if (n->reason == MRC_NACK_TRIMMED)
		mrc_paths_verdict(req->paths, ev, MRC_EVV_TRIM, now);
	/* The packet waits for retransmission already, or an older copy was refused. */
	if (mrc_req_is_lost(req, psn) ||
	    !mrc_req_nack_current(req, pkt, ev, h->tstamp))
		goto heard;

	trim = n->reason == MRC_NACK_TRIMMED ||
	       n->reason == MRC_NACK_TRIMMED_LASTHOP;
	page = mrc_req_is_rnr(req, n) && n->vendor & MRC_RNR_PAGE;
	rnr = page || (mrc_req_is_rnr(req, n) &&
		       mrc_wr_consumes_recv(req->wqe[pkt->slot].wr.op));
	/*
	 * A packet outside of the peer's window waits for the window, not for a time.
	 */
	if (page) {
		/* The peer is alive, however long it takes to fetch its memory. */
		mrc_req_progress(req, now);
		hold = now + mrc_req_page_wait(req, n->vendor,
					       mrc_req_since(pkt->sent_at, now));
	} else if (rnr && !mrc_req_rnr(req, pkt, n->vendor, &hold, now)) {
		goto heard;
	}
	if (!rnr && !trim && n->reason != MRC_NACK_PSN_OOR_WINDOW)
		hold = now + mrc_req_shortage(req);
	/*
	 * If there are several copies, an echo that may have wrapped identifies none.
	 */
	if (!pkt->rtx_count ||
	    (req->cfg.use_ts && h->tstamp &&
	     (!req->cfg.svc_time || now - pkt->sent_at < MRC_ECHO_MAX_NS)))
		rtt = mrc_req_rtt(req, pkt->sent_at,
				  req->cfg.use_ts ? h->tstamp : 0, now);
	if (!rnr)
		charge = mrc_req_nack_charge(req, now);
	mrc_req_lose(req, psn, MRC_LOSS_NACK, hold, now);
	if (n->cc_type == 2)
		req->cc->ops->on_nack(req->cc, pkt->nominal, n->reason, rtt,
				      now);
	if (trim)
		mrc_req_spread_more(req, now);
	if (charge && !mrc_req_charge(req))
		return;
heard:
	mrc_req_rearm(req, true, now);
}

/* Complete the work requests that the transport ACK covers, in posting order, §6.2. */
void mrc_req_complete(struct mrc_req *req)
{
	while (req->wq_done != req->wq_send && !mrc_req_doomed(req, req->wq_done)) {
		struct mrc_tx_wqe *wqe = mrc_req_wqe(req, req->wq_done);
		u32 last = mrc_psn_add(wqe->first_psn, (s32)wqe->npkts - 1);

		if (wqe->wr.op != MRC_WR_LOCAL &&
		    mrc_psn_diff(req->tack, last) < 0)
			return;
		wqe->state = MRC_WQE_DONE;
		wqe->status = MRC_WC_SUCCESS;
		if (mrc_wr_consumes_recv(wqe->wr.op)) {
			req->wimm_out--;
			mrc_req_recv_done(req, wqe);
		}
		req->wq_done++;
	}
}

/* The peer has executed everything up to @psn, which was sent. */
void mrc_req_transport_ack(struct mrc_req *req, u32 psn, u64 now)
{
	u64 freed;

	if (mrc_psn_diff(psn, req->peer_ack) <= 0)
		return;
	if (mrc_req_all_acked(req) && psn == mrc_req_newest(req))
		mrc_req_tack_came(req, now);
	/*
	 * Executed implies received. Without this a completed work request
	 * could still have packets queued for retransmission.
	 */
	freed = mrc_req_advance(req, psn, now);
	req->peer_ack = psn;
	req->tack = mrc_req_tack_bound(req);
	mrc_req_complete(req);
	mrc_req_progress(req, now);
	if (freed) {
		struct mrc_cc_ack ack = {
			.freed = freed,
			.rtt = MRC_CC_NONE_RTT,
			.out = MRC_CC_NO_SACK,
			.now = now,
		};

		req->cc->ops->on_ack(req->cc, &ack);
	}
}

static enum mrc_wc_status mrc_req_nak_status(u8 syndrome)
{
	switch (syndrome) {
	case MRC_SYN_NAK_SEQ:
	case MRC_SYN_NAK_INV_REQ:
		return MRC_WC_REM_INV_REQ;
	case MRC_SYN_NAK_ACCESS:
		return MRC_WC_REM_ACCESS;
	default:
		return MRC_WC_REM_OP;	/* OP-9 */
	}
}

/*
 * All before a NAK is answered, and its PSN is in the first unfinished message; or that
 * message is doomed: it fails.
 */
void mrc_req_failure_due(struct mrc_req *req)
{
	if (req->nak_syn &&
	    mrc_psn_diff(mrc_psn_add(req->nak_psn, -1), req->tack) <= 0)
		mrc_req_fail(req, -1, mrc_req_nak_status(req->nak_syn));
	else if (req->doom && req->doom_seq == req->wq_done)
		mrc_req_fail(req, -1, (enum mrc_wc_status)req->doom);
}

/* §8.6: everything before @psn was executed, the message of @psn failed. */
static void mrc_req_transport_nak(struct mrc_req *req, u32 psn, u8 syndrome,
				  u64 now)
{
	mrc_req_transport_ack(req, mrc_psn_add(psn, -1), now);
	req->nak_psn = psn;
	req->nak_syn = syndrome;
}

/* Does an ACK of @psn, or the ACK that a NAK implies, contradict a pending NAK? */
static bool mrc_req_past_nak(const struct mrc_req *req, u32 psn)
{
	return req->nak_syn && mrc_psn_diff(psn, req->nak_psn) >= 0;
}

void mrc_req_on_ack(struct mrc_req *req, const struct mrc_hdr *h, u8 port,
		    u64 now)
{
	const u32 psn = h->psn & MRC_PSN_MASK;
	const u8 syndrome = h->aeth.syndrome;
	const bool nak = syndrome >= 0x60 && syndrome <= 0x7F;

	if (req->state == MRC_REQ_ERROR)
		return;
	mrc_ctr_add(req->cfg.ctr, port, nak ? MRC_CTR_RX_NAK : MRC_CTR_RX_ACK,
		    1);
	if (mrc_req_unsent(req, psn) || (!nak && syndrome != MRC_SYN_ACK) ||
	    (nak && mrc_psn_diff(psn, req->peer_ack) <= 0) ||
	    mrc_req_past_nak(req, nak ? mrc_psn_add(psn, -1) : psn)) {
		mrc_req_drop(req, port);
		return;
	}
	if (nak)
		mrc_req_transport_nak(req, psn, syndrome, now);
	else
		mrc_req_transport_ack(req, psn, now);
	if (!nak)
		mrc_req_recv_told(req, h);
	mrc_req_failure_due(req);
	mrc_req_rearm(req, true, now);
}
