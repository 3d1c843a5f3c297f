// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requester: which packets count as lost, MRC 1.0 §9.2, §9.3, §9.5. */
#include "mrc_req_priv.h"

/*
 * How far above a hole a PSN must have been received, so that the hole counts as lost
 * (OP-22). The range is 1.5 windows of full packets. Reordering between paths cannot
 * exceed what is in flight, so it never looks like a loss. Where packets are trimmed the
 * range is one window, §9.3, because congestion leaves no holes there. Half a window
 * would be allowed, but in this case an inferred loss condemns its EV at once. A window
 * holds more packets if they are small, so the range also covers as many packets as
 * were out lately.
 */
u32 mrc_req_loss_range(const struct mrc_req *req)
{
	u32 halves = req->cfg.trim_nack ? 2 : 3;
	u64 r = (u64)req->cc->cwnd * halves >> (req->pmtu_shift + 1);
	u32 peak = req->peak > req->peak_before ? req->peak : req->peak_before;

	/* Without a bound on packets, those out could fill all of the MPR window. */
	if (req->cc->max_pkts && r < (u64)peak * halves / 2)
		r = (u64)peak * halves / 2;
	if (r < 5)
		r = 5;
	if (r > req->window / 2)
		r = req->window / 2;
	return (u32)r;
}

/*
 * How much older than a probe a transmission must be, ns, to be lost if the probe's
 * reply does not show it: the usual bound of a round trip, since packet and probe took
 * paths of different length.
 */
u64 mrc_req_loss_time(const struct mrc_req *req)
{
	u64 t = req->srtt + 4 * req->rttvar;

	return t > req->base_rtt ? t : req->base_rtt;
}

/**
 * mrc_req_lose - a transmission is lost: queue the packet for retransmission
 * @req: requester
 * @psn: outstanding, neither acked nor lost
 * @cause: enum mrc_loss_cause
 * @hold: earliest time of the retransmission, 0 = at once
 * @now: ns
 *
 * For a NACK the caller informs path state and congestion control, because the
 * reaction depends on the reason (MRC 1.0 §8.4, §9.2).
 */
void mrc_req_lose(struct mrc_req *req, u32 psn, u8 cause, u64 hold, u64 now)
{
	struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
	const u8 port = mrc_paths_port(req->paths, pkt->ev);
	static const u16 ctr[] = {
		[MRC_LOSS_SACK] = MRC_CTR_LOSS_SACK,
		[MRC_LOSS_PROBE] = MRC_CTR_LOSS_PROBE,
		[MRC_LOSS_NACK] = MRC_CTR_LOSS_NACK,
		[MRC_LOSS_TIMEOUT] = MRC_CTR_LOSS_TIMEOUT,
	};

	mrc_assert(!mrc_req_is_acked(req, psn) && !mrc_req_is_lost(req, psn));
	if (pkt->inflight) {
		pkt->inflight = false;
		req->inflight -= pkt->nominal;
		req->n_out--;
	}
	mrc_bit_set(req->lost, req->ring_mask, psn);
	req->n_lost++;
	mrc_req_plane_undo(req, psn);
	pkt->guard = MRC_GUARD_NONE;
	pkt->hold_until = hold;
	req->held_until = 0;
	/* Retries are charged elsewhere for NACKs and timeouts. */
	if (pkt->rtx_count && psn == mrc_psn_add(req->cack, 1) &&
	    (cause == MRC_LOSS_SACK || cause == MRC_LOSS_PROBE))
		req->stuck = true;
	mrc_ctr_add(req->cfg.ctr, port, (enum mrc_counter)ctr[cause], 1);
	if (cause != MRC_LOSS_NACK) {
		/* A port that is down explains the loss; no EV changes state, §11.6. */
		if (mrc_paths_port_ok(req->paths, port))
			mrc_paths_verdict(req->paths, pkt->ev,
					  cause == MRC_LOSS_TIMEOUT ?
					  MRC_EVV_TIMEOUT : MRC_EVV_LOSS, now);
		req->cc->ops->on_loss(req->cc, pkt->nominal, now);
	}
	if (req->cfg.on_loss)
		req->cfg.on_loss(req->cfg.ctx, psn, pkt->ev, cause);
}

/*
 * The minimum of a time guard, ns. Within a plane, a quarter of a round trip keeps local
 * scheduling from looking like a loss (OP-22). Planes are independent of each other and
 * may drift apart by much more.
 */
static u64 mrc_req_guard_min(const struct mrc_req *req,
			     enum mrc_guard_kind kind)
{
	u64 rtt, tick = MRC_LAG_NS;

	if (kind != MRC_GUARD_LAG)
		return req->base_rtt / 4;
	rtt = mrc_req_loss_time(req);
	if (req->cfg.rto && req->cfg.rto / 4 < tick)
		tick = req->cfg.rto / 4;
	return rtt > tick ? rtt : tick;
}

static u64 mrc_req_guard(const struct mrc_req *req, enum mrc_guard_kind kind)
{
	u64 min = mrc_req_guard_min(req, kind);

	return req->guard[kind].ns > min ? req->guard[kind].ns : min;
}

/* How long a plane may be silent before its holes count as lost, ns. */
u64 mrc_req_lag(const struct mrc_req *req)
{
	return mrc_req_guard(req, MRC_GUARD_LAG);
}

/* The maximum of a time guard, ns. */
u64 mrc_req_guard_max(const struct mrc_req *req)
{
	return req->cfg.rto ? mrc_req_retry_interval(req, 0) / 2 :
			      MRC_GUARD_MAX_NS;
}

/**
 * mrc_req_unneeded - the first copy of a retransmitted packet arrived
 * @req: requester
 * @psn: its record is valid
 * @now: ns
 *
 * The time guard by which the packet counted as lost was too short. The distance in PSNs
 * alone bounds reordering only while nothing is taken for lost: a packet that is taken
 * for lost leaves the window although its first copy is still queued. The guard grows by
 * the time since the retransmission, and at least doubles. It grows at most once per
 * round trip, up to half an RTO.
 */
void mrc_req_unneeded(struct mrc_req *req, u32 psn, u64 now)
{
	const struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
	enum mrc_guard_kind kind = (enum mrc_guard_kind)pkt->guard;
	struct mrc_guard *g = &req->guard[kind];
	const u64 max = mrc_req_guard_max(req);
	u64 was, ns;

	if (kind == MRC_GUARD_NONE ||
	    (g->ns && mrc_req_since(g->at, now) < mrc_req_loss_time(req)))
		return;
	was = mrc_req_guard(req, kind);
	ns = was + mrc_req_since(pkt->sent_at, now);
	if (ns < 2 * was)
		ns = 2 * was;
	g->ns = ns < max ? ns : max;
	g->at = now;
}

/*
 * Without new evidence a guard halves after MRC_GUARD_HALF_LIFE round trips, or after
 * MRC_GUARD_HALF_LIFE times its minimum if that is longer.
 */
static void mrc_req_guard_decay(struct mrc_req *req, u64 now)
{
	u32 i;

	for (i = MRC_GUARD_ORDER; i < MRC_GUARD_KINDS; i++) {
		struct mrc_guard *g = &req->guard[i];
		u64 min, keep = mrc_req_loss_time(req);

		if (!g->ns)
			continue;
		min = mrc_req_guard_min(req, (enum mrc_guard_kind)i);
		if (keep < min)
			keep = min;
		if (mrc_req_since(g->at, now) < MRC_GUARD_HALF_LIFE * keep)
			continue;
		g->ns = g->ns / 2 > min ? g->ns / 2 : 0;
		g->at = now;
	}
}

/*
 * An inferred loss was sent again. If this copy is lost too, packets that are sent after
 * it show this. When the window is full there are no such packets, and only a probe
 * shows it.
 */
void mrc_req_resent(struct mrc_req *req, u32 psn, u64 now)
{
	struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);

	if (mrc_bit_test(req->inferred, req->ring_mask, psn) && !req->again) {
		req->again = true;
		req->again_psn = mrc_req_sent_with(psn, pkt);
	}
	if (pkt->guard == MRC_GUARD_NONE)
		return;
	/* Feedback showed the loss, so the peer is alive: silence begins anew. */
	req->tail_probe_shift = 0;
	req->confirm_at = now + mrc_req_guard(req, MRC_GUARD_LAG);
	if (req->confirm_at < req->tail_probe_at)
		req->tail_probe_at = req->confirm_at;
}

/* The criteria for the holes of one SACK. */
struct mrc_loss_criteria {
	u32 range;	/* distance in PSNs, mrc_req_loss_range() */
	u64 order;	/* time guard within a plane, ns */
	u64 newest;	/* when the highest PSN received was sent */
	/* Times of planes that had a hole, by guard; bit N: that of port N is valid. */
	u32 known[MRC_GUARD_LAG + 1];
	u64 time[MRC_GUARD_LAG + 1][MRC_MAX_PORTS + 1];
};

/* Did a packet arrive that was sent later through the plane of @pkt? */
static bool mrc_req_overtaken(const struct mrc_req *req,
			      const struct mrc_tx_pkt *pkt,
			      const struct mrc_loss_criteria *e)
{
	return pkt->sent_at + e->order <=
	       req->plane[mrc_paths_port(req->paths, pkt->ev)].arrived_at;
}

/*
 * When a hole of plane @port, whose time @t passes at @at, counts as lost, ns. If
 * MRC_LOSS_BURST holes of the plane already count as lost, the next ones wait until t / 2
 * after the first of them.
 */
static u64 mrc_req_with_loss_burst(const struct mrc_req *req, u8 port, u64 at, u64 t,
				   u64 now)
{
	const struct mrc_plane *pl = &req->plane[port];

	if (at > now || pl->loss_burst_n < MRC_LOSS_BURST || now >= pl->loss_burst_at + t / 2)
		return at;
	return pl->loss_burst_at + t / 2;
}

/* Record that a hole of plane @port, whose time is @t, counts as lost now. */
static void mrc_req_loss_burst(struct mrc_req *req, u8 port, u64 t, u64 now)
{
	struct mrc_plane *pl = &req->plane[port];

	if (now >= pl->loss_burst_at + 2 * t) {
		pl->loss_burst_at = now;
		pl->loss_burst_n = 0;
	}
	if (pl->loss_burst_n < MRC_LOSS_BURST)
		pl->loss_burst_n++;
}

/*
 * When a hole that is far enough below the highest PSN received counts as lost, ns.
 * @kind: the guard that decides; @t: the time of the hole's plane.
 *
 * The arrival of a later packet through the same plane is strong evidence of a loss. But
 * queues of a NIC overtake each other, so the hole also waits for the usual time of the
 * plane. Arrivals through other planes are no evidence as long as the hole's own plane
 * may be behind.
 */
static u64 mrc_req_lost_at(const struct mrc_req *req,
			   const struct mrc_tx_pkt *pkt,
			   struct mrc_loss_criteria *e, enum mrc_guard_kind *kind,
			   u64 *t, u64 now)
{
	const u8 port = mrc_paths_port(req->paths, pkt->ev);

	*kind = MRC_GUARD_LAG;
	*t = 0;
	/* A port that is down explains the hole. */
	if (!mrc_paths_port_ok(req->paths, port))
		return 0;
	if (mrc_req_overtaken(req, pkt, e))
		*kind = MRC_GUARD_ORDER;
	if (!(e->known[*kind] >> port & 1))
		e->time[*kind][port] = *kind == MRC_GUARD_ORDER ?
				       mrc_req_order_time(req, port, now) :
				       mrc_req_lag_time(req, port, now);
	e->known[*kind] |= 1u << port;
	*t = e->time[*kind][port];
	return mrc_req_with_loss_burst(req, port, pkt->sent_at + *t, *t, now);
}

/* Feedback shows that @psn is lost; @kind: the guard that decided. */
void mrc_req_infer_lost(struct mrc_req *req, u32 psn, enum mrc_guard_kind kind,
			u64 now)
{
	mrc_bit_set(req->inferred, req->ring_mask, psn);
	mrc_req_lose(req, psn, MRC_LOSS_SACK, 0, now);
	mrc_req_pkt(req, psn)->guard = kind;
}

/*
 * Infer the loss of holes that are far enough below the highest PSN received, §9.3, at
 * the time that mrc_req_lost_at() gives. Each PSN is examined here until its loss is
 * inferred for the first time (the bitmap "inferred").
 *
 * Holes that wait for their planes are not examined again before the first of them is
 * due, one of these planes delivers, or ports change.
 */
static void mrc_req_infer_first(struct mrc_req *req, struct mrc_loss_criteria *e,
				u64 now)
{
	u32 dist = (u32)mrc_psn_diff(req->high, req->cack);
	bool all_old = true;
	u32 n, off;

	if (dist <= e->range)
		return;
	n = dist - e->range;
	off = (u32)mrc_psn_diff(req->held_to, req->cack);
	while (off < n) {
		enum mrc_guard_kind kind;
		struct mrc_tx_pkt *pkt;
		u32 psn;
		u64 at, t;

		off += mrc_ring_next_clear3(req->acked, req->lost, req->inferred,
					    req->ring_mask, req->cack + 1 + off,
					    n - off);
		if (off >= n)
			return;
		off++;
		psn = mrc_psn_add(req->cack, (s32)off);
		pkt = mrc_req_pkt(req, psn);
		if (pkt->sent_at + e->order > e->newest) {
			all_old = false;
			continue;
		}
		at = mrc_req_lost_at(req, pkt, e, &kind, &t, now);
		if (at > now) {
			if (at < req->hole_due_at)
				req->hole_due_at = at;
			/* Arrivals change nothing for a hole that was overtaken. */
			if (kind == MRC_GUARD_LAG)
				req->held_ports |=
					1u << mrc_paths_port(req->paths,
							     pkt->ev);
			if (all_old)
				req->held_to = psn;
			continue;
		}
		mrc_req_loss_burst(req, mrc_paths_port(req->paths, pkt->ev), t, now);
		mrc_req_infer_lost(req, psn, kind, now);
	}
}

/*
 * Retransmissions of inferred losses are judged as the first copies were: by the packets
 * sent after them. If this were left to the timer or a probe, a retransmission that is
 * lost too would hold cack until the window is full and nothing moves. All these copies
 * that are out are examined when the oldest one that waits for later packets may be
 * judged, or when the first one that only waits for its plane is due.
 */
static void mrc_req_infer_again(struct mrc_req *req, struct mrc_loss_criteria *e,
				u64 now)
{
	u32 n = (u32)mrc_psn_diff(req->high, req->cack);
	u32 off = 0;

	if (now < req->again_at &&
	    !(req->again &&
	      mrc_psn_diff(req->high, req->again_psn) >= (s32)e->range))
		return;
	mrc_req_forget_copies(req);
	for (;;) {
		enum mrc_guard_kind kind;
		struct mrc_tx_pkt *pkt;
		u32 psn, with;
		u64 at, t;

		off += mrc_ring_next_set(req->inferred, req->ring_mask,
					 req->cack + 1 + off, n - off);
		if (off >= n)
			return;
		off++;
		psn = mrc_psn_add(req->cack, (s32)off);
		if (mrc_req_is_acked(req, psn) || mrc_req_is_lost(req, psn))
			continue;
		pkt = mrc_req_pkt(req, psn);
		with = mrc_req_sent_with(psn, pkt);
		if (mrc_psn_diff(req->high, with) < (s32)e->range ||
		    pkt->sent_at + e->order > e->newest) {
			if (!req->again ||
			    mrc_psn_diff(with, req->again_psn) < 0)
				req->again_psn = with;
			req->again = true;
			continue;
		}
		at = mrc_req_lost_at(req, pkt, e, &kind, &t, now);
		if (at > now) {
			if (at < req->again_at)
				req->again_at = at;
			if (kind == MRC_GUARD_LAG)
				req->again_ports |=
					1u << mrc_paths_port(req->paths,
							     pkt->ev);
			continue;
		}
		mrc_req_loss_burst(req, mrc_paths_port(req->paths, pkt->ev), t, now);
		mrc_req_infer_lost(req, psn, kind, now);
	}
}

void mrc_req_infer(struct mrc_req *req, u64 now)
{
	struct mrc_loss_criteria e;

	mrc_req_guard_decay(req, now);
	if (now >= req->hole_due_at || mrc_psn_diff(req->held_to, req->cack) <= 0)
		mrc_req_unhold(req);
	if (req->high == req->cack) {
		/*
		 * No copy is out. Forget again_psn, which would seem to be ahead after
		 * half of the PSN space.
		 */
		mrc_req_forget_copies(req);
		return;
	}
	memset(e.known, 0, sizeof(e.known));
	e.range = mrc_req_loss_range(req);
	e.order = mrc_req_guard(req, MRC_GUARD_ORDER);
	e.newest = mrc_req_pkt(req, req->high)->sent_at;
	mrc_req_infer_first(req, &e, now);
	mrc_req_infer_again(req, &e, now);
	mrc_req_check_holes(req, now);
}

/*
 * A probe reply describes everything that had arrived up to the end of its map, even if
 * nothing above that arrived. PSNs of the map that are missing and were sent long enough
 * before the probe are lost, §9.5. For a PSN that was not old enough, another probe is
 * due when it is (@overdue_at).
 */
void mrc_req_probe_holes(struct mrc_req *req, const struct mrc_seth *s,
			 const struct mrc_probe_rec *probe, u64 now)
{
	u32 i;

	for (i = 0; i < 64; i++) {
		u32 psn = mrc_psn_add(s->cack_psn, s->sack_offset + (s32)i);
		struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
		u64 at;

		if (s->bitmap >> i & 1 ||
		    mrc_psn_diff(psn, s->cack_psn) <= 0 ||
		    !mrc_req_outstanding(req, psn) ||
		    mrc_req_is_acked(req, psn) || mrc_req_is_lost(req, psn))
			continue;
		at = mrc_req_overdue(req, psn, probe, now);
		if (at) {
			if (at < req->overdue_at)
				req->overdue_at = at;
			continue;
		}
		mrc_req_lose(req, psn, MRC_LOSS_PROBE, 0, now);
		pkt->guard = MRC_GUARD_TAIL;
	}
}
