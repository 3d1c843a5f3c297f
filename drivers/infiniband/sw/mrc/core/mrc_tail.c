// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requester: loss inference for packets that few others follow, MRC 1.0 §9.3, §9.5.
 *
 * mrc_loss.c tells losses from reordering by the distance in PSNs. Few packets follow
 * the packets of a single message and those at the end of a burst. For these packets
 * the requester compares the time since transmission with the usual RTT of the plane.
 * If a hole that SACKs show, or a packet without any feedback, takes longer than usual,
 * the requester sends a probe. A packet that is missing in the reply is lost if it was
 * old enough when the probe was sent.
 */
#include "mrc_req_priv.h"

/* Current value of a guard: halved for each @keep that passed without new evidence. */
static u64 mrc_guard_now(const struct mrc_guard *g, u64 keep, u64 now)
{
	u64 n = mrc_div64(mrc_req_since(g->at, now), keep);

	return n < 63 ? g->ns >> n : 0;
}

static u64 mrc_req_guard_half_life(const struct mrc_req *req)
{
	return MRC_GUARD_HALF_LIFE * mrc_req_loss_time(req);
}

/* Smoothing of RFC 6298, for each plane by itself. */
void mrc_req_plane_rtt(struct mrc_req *req, u8 port, u64 rtt, u64 now)
{
	struct mrc_plane *pl = &req->plane[port];
	u64 dev;

	if (!req->samples)
		req->first_rtt_at = now;
	if (req->samples < 0xFF)
		req->samples++;
	if (!pl->srtt) {
		pl->srtt = rtt;
		pl->rttvar = rtt / 2;
		return;
	}
	req->rtt_excess = rtt > pl->srtt ? rtt - pl->srtt : 0;
	dev = pl->srtt > rtt ? pl->srtt - rtt : rtt - pl->srtt;
	pl->rttvar = pl->rttvar - pl->rttvar / 4 + dev / 4;
	pl->srtt = pl->srtt - pl->srtt / 8 + rtt / 8;
}

/*
 * Was transmission @a made after @b? Packets of one batch have the same time; they
 * are sent in the order of their PSNs.
 */
static bool mrc_req_after(u64 a_at, u32 a_psn, u64 b_at, u32 b_psn)
{
	return a_at > b_at || (a_at == b_at && mrc_psn_diff(a_psn, b_psn) > 0);
}

/* A packet took @over longer than usual: update @g, which is halved every @keep. */
static void mrc_req_learn(const struct mrc_req *req, struct mrc_guard *g,
			  u64 over, u64 keep, u64 now)
{
	u64 was = mrc_guard_now(g, keep, now);
	u64 max = mrc_req_guard_max(req);

	if (over > max)
		over = max;
	if (over <= was / 2)
		return;
	g->ns = over > was ? over : was;
	g->at = now;
}

/*
 * Stalls of a processor or a queue are rare and do not depend on the RTT. So a stall
 * time is kept for at least MRC_PAUSE_KEEP_NS.
 */
static u64 mrc_req_stall_keep(const struct mrc_req *req)
{
	return mrc_max64(MRC_PAUSE_KEEP_NS, mrc_req_guard_half_life(req));
}

/* How much longer than usual packets of a plane took recently, ns. */
static u64 mrc_req_plane_pause(const struct mrc_req *req, u8 port, u64 now)
{
	return mrc_guard_now(&req->plane[port].stall, mrc_req_stall_keep(req),
			     now);
}

/*
 * A packet took @took ns. A delay beyond twice the usual deviation is remembered by
 * itself: the mean RTT of a plane that stalls now and then does not tell how long a
 * stall lasts.
 */
static void mrc_req_learn_time(struct mrc_req *req, struct mrc_plane *pl,
			       bool overtaken, u64 took, u64 now)
{
	u64 over = took > pl->srtt ? took - pl->srtt : 0;

	if (overtaken)
		mrc_req_learn(req, &pl->late, over, mrc_req_guard_half_life(req), now);
	if (pl->srtt && over > 2 * pl->rttvar)
		mrc_req_learn(req, &pl->stall, over, mrc_req_stall_keep(req),
			      now);
}

/**
 * mrc_req_arrived - the newest transmission of a packet is known received
 * @req: requester
 * @psn: its record is valid
 * @now: ns
 */
void mrc_req_arrived(struct mrc_req *req, u32 psn, u64 now)
{
	const struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
	const u8 port = mrc_paths_port(req->paths, pkt->ev);
	struct mrc_plane *pl = &req->plane[port];
	const bool overtaken = mrc_req_after(pl->arrived_at, pl->arrived_psn,
					     pkt->sent_at, psn);
	const u64 took = mrc_req_since(pkt->sent_at, now);

	mrc_paths_arrived(req->paths, pkt->ev);
	/*
	 * A SACK gives a sample for the packet that triggered it only. If all messages
	 * have as many packets as there are planes, some planes never carry such a
	 * packet.
	 */
	if (!pl->srtt && !pkt->rtx_count && (!pl->bound || took < pl->bound))
		pl->bound = mrc_max64(took, 1);
	mrc_req_learn_time(req, pl, overtaken, took, now);
	if (overtaken) {
		pl->in_order = 0;
		return;
	}
	/*
	 * Packets sent further apart could not have overtaken each other: no evidence.
	 */
	if (pl->in_order < 0xFF &&
	    mrc_req_since(pl->arrived_at, pkt->sent_at) < pl->srtt)
		pl->in_order++;
	if (pkt->sent_at > pl->arrived_at) {
		if (req->held_ports >> port & 1)
			mrc_req_unhold(req);
		if (req->again_ports >> port & 1)
			req->again_at = 0;
	}
	pl->arrived_at = pkt->sent_at;
	pl->arrived_psn = psn;
}

/*
 * Variation of the RTT of a plane, ns: its own or that of the QP, whichever is less. A
 * plane has few samples of its own. If all RTTs are alike, the other planes show it.
 */
static u64 mrc_req_plane_var(const struct mrc_req *req,
			     const struct mrc_plane *pl)
{
	return pl->rttvar < req->rttvar ? pl->rttvar : req->rttvar;
}

static bool mrc_req_known(const struct mrc_req *req, u64 now)
{
	return req->samples >= 4 * MRC_LEARN_SAMPLES ||
	       (req->samples >= MRC_LEARN_SAMPLES &&
		mrc_req_since(req->first_rtt_at, now) >= MRC_LEARN_NS);
}

/*
 * How long a packet may take if the usual RTT of its plane is not known: twice the bound
 * of it, or eight times the known RTT. So neither packets on a much longer plane nor
 * packets that a fast one has overtaken count as losses.
 */
static u64 mrc_req_unknown_time(const struct mrc_req *req,
				const struct mrc_plane *pl, u64 now)
{
	u64 t = 8 * mrc_max64(pl->srtt, req->srtt) + mrc_req_floor(req);

	if (!req->srtt)
		return mrc_req_guard_max(req);
	if (!mrc_req_known(req, now))
		t = mrc_max64(t, MRC_LEARN_NS);
	else if (pl->bound && 2 * pl->bound + mrc_req_floor(req) < t)
		t = 2 * pl->bound + mrc_req_floor(req);
	if (req->cfg.rto && t > req->cfg.rto / 4)
		t = mrc_max64(req->cfg.rto / 4, mrc_req_loss_time(req));
	return t;
}

/* Is the usual RTT of the plane known? */
static bool mrc_req_plane_known(const struct mrc_req *req,
				const struct mrc_plane *pl, u64 now)
{
	return pl->srtt && mrc_req_known(req, now);
}

/*
 * The reorder window of a plane, §9.3, ns: a quarter of the RTT. If packets of the
 * plane overtake each other, the usual delay of overtaken packets counts too, because
 * the RTT says nothing about it.
 */
static u64 mrc_req_reorder_window(const struct mrc_req *req,
				  const struct mrc_plane *pl, u64 now)
{
	const u64 keep = mrc_req_guard_half_life(req);
	u64 late = mrc_guard_now(&pl->late, keep, now);
	u64 t = mrc_max64(pl->srtt / 4, req->guard[MRC_GUARD_TAIL].ns);

	return late ? mrc_max64(t, mrc_max64(2 * late, 4 * pl->rttvar)) : t;
}

/**
 * mrc_req_tail_time - how long a packet may take before a probe can show its loss
 * @req: requester
 * @port: its plane
 * @now: ns
 *
 * The usual upper bound of the RTT of the plane, and by how much packets exceed it at
 * present. If the reply to a probe that was sent after this time lacks the packet, the
 * packet is lost, §9.5: it has had the travel time of the probe in addition.
 *
 * Return: ns since its transmission.
 */
u64 mrc_req_tail_time(const struct mrc_req *req, u8 port, u64 now)
{
	const struct mrc_plane *pl = &req->plane[port];

	if (!mrc_req_plane_known(req, pl, now))
		return mrc_req_unknown_time(req, pl, now);
	return pl->srtt + mrc_max64(2 * mrc_req_plane_var(req, pl),
				    mrc_req_reorder_window(req, pl, now)) +
	       req->rtt_excess + mrc_req_floor(req);
}

/**
 * mrc_req_order_time - how long a packet that was overtaken in its plane may take
 * @req: requester
 * @port: the plane
 * @now: ns
 *
 * A NIC has several queues, and several processors send to it. So packets of a plane
 * may overtake each other. If the RTT of the plane is not known, a packet that was
 * overtaken is lost at once.
 *
 * Return: ns since its transmission.
 */
u64 mrc_req_order_time(const struct mrc_req *req, u8 port, u64 now)
{
	const struct mrc_plane *pl = &req->plane[port];
	u64 max = mrc_req_guard_max(req);
	u64 t;

	if (!pl->srtt)
		return 0;
	t = pl->srtt + mrc_max64(4 * pl->rttvar,
				 mrc_req_reorder_window(req, pl, now));
	return t < max ? t : max;
}

/**
 * mrc_req_lag_time - how long a plane may be silent before its holes are losses
 * @req: requester
 * @port: the plane
 * @now: ns
 *
 * At least mrc_req_lag(). More if packets of the plane take long or recently took long:
 * a plane that stalled once may stall again.
 *
 * Return: ns since the transmission of the hole.
 */
u64 mrc_req_lag_time(const struct mrc_req *req, u8 port, u64 now)
{
	const struct mrc_plane *pl = &req->plane[port];
	u64 t = pl->srtt + mrc_max64(8 * pl->rttvar,
				     2 * mrc_req_plane_pause(req, port, now));
	u64 max = mrc_req_guard_max(req);

	return mrc_max64(mrc_req_lag(req), t < max ? t : max);
}

/* @psn is sent through @port. */
void mrc_req_plane_sent(struct mrc_req *req, u8 port, u32 psn, u64 now)
{
	struct mrc_plane *pl = &req->plane[port];

	pl->prev_sent_at = pl->sent_at;
	pl->prev_sent_psn = pl->sent_psn;
	pl->sent_at = now;
	pl->sent_psn = psn;
}

/*
 * The newest transmission of @psn will tell nothing about its plane: remove it from the
 * last two transmissions of the plane.
 */
void mrc_req_plane_undo(struct mrc_req *req, u32 psn)
{
	const struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
	struct mrc_plane *pl =
		&req->plane[mrc_paths_port(req->paths, pkt->ev)];

	if (pl->sent_psn == psn && pl->sent_at == pkt->sent_at) {
		pl->sent_at = pl->prev_sent_at;
		pl->sent_psn = pl->prev_sent_psn;
	} else if (pl->prev_sent_psn != psn || pl->prev_sent_at != pkt->sent_at) {
		return;
	}
	pl->prev_sent_at = pl->arrived_at;
	pl->prev_sent_psn = pl->arrived_psn;
}

/*
 * Are the last two packets of a plane both without feedback? Then the whole plane may
 * be late, because a processor or a queue stalled.
 */
static bool mrc_req_plane_silent(const struct mrc_req *req, u8 port)
{
	const struct mrc_plane *pl = &req->plane[port];

	return mrc_req_after(pl->prev_sent_at, pl->prev_sent_psn, pl->arrived_at,
			     pl->arrived_psn);
}

/*
 * Are so many packets outstanding that the distance in PSNs tells losses? Then a probe
 * that overtakes them tells nothing, because even queues of its own plane may let it
 * pass.
 */
static bool mrc_req_in_stream(const struct mrc_req *req)
{
	return mrc_req_span(req) > mrc_req_loss_range(req);
}

/*
 * Earliest send time of a probe through plane @via whose reply can show that @psn is
 * lost. @via 0: the plane is not known.
 */
static u64 mrc_req_overdue_from(const struct mrc_req *req, u32 psn, u8 via, u64 now)
{
	const struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
	const u8 port = mrc_paths_port(req->paths, pkt->ev);
	u64 t = mrc_req_tail_time(req, port, now);

	/* A port that is down explains the loss: no need to wait for longer. */
	if (!mrc_paths_port_ok(req->paths, port))
		t = mrc_req_loss_time(req);
	else if (mrc_req_in_stream(req) ||
		 (port != via && mrc_req_plane_silent(req, port)))
		t = mrc_max64(t, mrc_req_lag_time(req, port, now));
	return pkt->sent_at + t;
}

/*
 * Will no further packet be sent whose arrival could show losses? If only a window
 * holds packets back, more of them follow, and the distance in PSNs will tell losses.
 */
static bool mrc_req_at_tail(const struct mrc_req *req)
{
	return req->verdict != MRC_TX_PACKET &&
	       req->verdict != MRC_TX_WAIT_CWND &&
	       req->verdict != MRC_TX_WAIT_MPR;
}

/* Is there a plane in use without an RTT sample? */
static bool mrc_req_plane_unknown(const struct mrc_req *req)
{
	u8 i;

	for (i = 1; i <= req->paths->n_ports; i++)
		if (req->plane[i].sent_at && !req->plane[i].srtt)
			return true;
	return false;
}

/*
 * When @psn is lost without a probe, §9.3: a packet sent after it arrived through the
 * same plane, and the plane keeps the order of packets. A probe would cost a round
 * trip. It is preferred only if a plane has no RTT sample, because its reply is one.
 * Return: absolute time in ns, MRC_NEVER = only a probe can tell.
 */
static u64 mrc_req_proven_at(const struct mrc_req *req, u32 psn, u64 now)
{
	const struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
	const struct mrc_plane *pl =
		&req->plane[mrc_paths_port(req->paths, pkt->ev)];

	if (pl->in_order < MRC_IN_ORDER_MIN || !mrc_req_at_tail(req) ||
	    !mrc_req_plane_known(req, pl, now) || mrc_req_plane_unknown(req) ||
	    !mrc_req_after(pl->arrived_at, pl->arrived_psn, pkt->sent_at, psn))
		return MRC_NEVER;
	/* The later packet has seen the same variation and growth of the RTT. */
	return pkt->sent_at + pl->srtt + mrc_req_reorder_window(req, pl, now);
}

/*
 * When to send a probe for @psn: a little after mrc_req_overdue_from(), so that the probe
 * covers packets sent just after @psn as well. Return: absolute time in ns or
 * MRC_NEVER.
 */
static u64 mrc_req_probe_time(const struct mrc_req *req, u32 psn, u64 now)
{
	const struct mrc_tx_pkt *pkt = mrc_req_pkt(req, psn);
	const u64 ripe = mrc_req_overdue_from(req, psn, 0, now);
	const u64 t = ripe - pkt->sent_at;

	/* A probe was sent and there was no feedback since: wait for its reply. */
	if (pkt->probed && req->last_heard <= req->probed_at)
		return MRC_NEVER;
	if (pkt->probed)
		return req->probed_at + 2 * t;
	/*
	 * While packets are being sent, the distance in PSNs usually tells losses. If
	 * the packets are few it does not, so a probe is still sent, but later.
	 */
	return mrc_req_at_tail(req) ? ripe + t / 16 : ripe + t;
}

/**
 * mrc_req_note_missing - schedule the check of holes that a SACK shows
 * @req: requester
 * @s: valid
 * @now: ns
 *
 * Called after the SACK was consumed. The first hole of the map decides when all holes
 * are checked, because it is the hole that remains when all others are filled. Zeroes
 * above the highest set bit of a map mean nothing.
 */
void mrc_req_note_missing(struct mrc_req *req, const struct mrc_seth *s,
			  u64 now)
{
	u32 psn;
	u64 at;

	if (!s->bitmap || !(s->bitmap + 1))
		return;
	psn = mrc_psn_add(s->cack_psn,
			  s->sack_offset + __builtin_ctzll(~s->bitmap));
	if (mrc_psn_diff(psn, req->high) >= 0 ||
	    !mrc_req_outstanding(req, psn) || mrc_req_is_lost(req, psn))
		return;
	if (req->tail_at == MRC_NEVER)
		req->tail_at = mrc_req_probe_time(req, psn, now);
	at = mrc_req_proven_at(req, psn, now);
	if (at < req->tail_at)
		req->tail_at = at;
}

/*
 * Find the next packet at or after offset *@off that is neither received nor lost. Then
 * *@off is the offset after it. Return: true if there is one.
 */
static bool mrc_req_next_out(const struct mrc_req *req, u32 *off, u32 *psn)
{
	const u32 span = mrc_req_span(req);

	do {
		*off += mrc_ring_next_clear(req->acked, req->ring_mask,
					    req->cack + 1 + *off, span - *off);
		if (*off >= span)
			return false;
		*psn = mrc_psn_add(req->cack, (s32)*off + 1);
		++*off;
	} while (mrc_req_is_lost(req, *psn));
	return true;
}

/*
 * Check all holes: a hole that is proven lost is lost; one probe is sent for all holes
 * that are overdue.
 */
void mrc_req_check_holes(struct mrc_req *req, u64 now)
{
	/* Holes that become overdue one after the other share a probe. */
	const u64 next_probe = req->last_probe + req->srtt / 4;
	bool ask = false;
	u32 off = 0, psn;

	if (now < req->tail_at)
		return;
	req->tail_at = MRC_NEVER;
	while (mrc_req_next_out(req, &off, &psn) &&
	       mrc_psn_diff(psn, req->high) < 0) {
		const u64 proven = mrc_req_proven_at(req, psn, now);
		u64 at;

		if (proven <= now) {
			mrc_req_infer_lost(req, psn, MRC_GUARD_TAIL, now);
			continue;
		}
		at = mrc_max64(mrc_req_probe_time(req, psn, now), next_probe);
		if (at <= now)
			ask = true;
		else if (at < req->tail_at)
			req->tail_at = at;
		if (proven < req->tail_at)
			req->tail_at = proven;
	}
	if (!ask)
		return;
	req->probe_by = now;
	if (now < req->tail_probe_at)
		req->tail_probe_at = now;
}

/*
 * A probe is sent now through @via. Mark the packets that are lost if its reply lacks
 * them.
 */
void mrc_req_mark_probed(struct mrc_req *req, u8 via, u64 now)
{
	u32 off = 0, psn;

	while (mrc_req_next_out(req, &off, &psn)) {
		if (mrc_req_overdue_from(req, psn, via, now) > now)
			continue;
		mrc_req_pkt(req, psn)->probed = true;
		req->probed_at = now;
	}
}

/**
 * mrc_req_overdue - was a packet old enough for a probe whose reply lacks it?
 * @req: requester
 * @psn: outstanding
 * @probe: the probe
 * @now: ns
 *
 * The usual RTT may have grown since the packet was marked for the probe. Unless many
 * packets are outstanding, the mark decides. How many are many depends on the window when
 * the probe was sent: losses that its reply shows make the window smaller.
 *
 * Return: 0 if the packet is lost, else when to send the next probe, absolute time in
 * ns.
 */
u64 mrc_req_overdue(const struct mrc_req *req, u32 psn,
		    const struct mrc_probe_rec *probe, u64 now)
{
	if (mrc_req_overdue_from(req, psn, probe->port, now) <= probe->at)
		return 0;
	if (mrc_req_pkt(req, psn)->probed && req->probed_at <= probe->at &&
	    mrc_req_span(req) <= probe->range)
		return 0;
	return mrc_req_probe_time(req, psn, now);
}

/* Longest interval between tail probes, ns: half of the retry interval, §9.5. */
static u64 mrc_req_pto_max(const struct mrc_req *req)
{
	u64 max = MRC_PTO_MAX_NS;

	if (req->cfg.rto)
		max = mrc_req_retry_interval(req, req->retries + 1) / 2;
	return mrc_max64(max, 2 * req->base_rtt);
}

/*
 * Update @slowest and @slowest_rtt after an RTT sample. They are kept in the requester
 * because each packet and each feedback needs them.
 */
void mrc_req_slowest_update(struct mrc_req *req)
{
	u64 t = 0, rtt = 0;
	u8 i;

	for (i = 1; i <= req->paths->n_ports; i++) {
		const struct mrc_plane *pl = &req->plane[i];
		const u64 var = 4 * mrc_req_plane_var(req, pl);

		if (pl->srtt)
			t = mrc_max64(t, pl->srtt + mrc_max64(pl->srtt, var));
		rtt = mrc_max64(rtt, pl->srtt);
	}
	req->slowest = t;
	req->slowest_rtt = rtt;
}

/*
 * The interval without feedback on packets in flight after which a tail probe is sent,
 * ns, §9.5 (a). @tack: mrc_req_tack_awaited(). If no packet is in flight, the waiting
 * packets have times of their own, and the probe only checks that the peer is alive.
 */
u64 mrc_req_pto(const struct mrc_req *req, bool tack)
{
	u64 t, max;

	if (!req->n_out && !tack)
		return mrc_req_pto_max(req);
	t = req->srtt ? req->slowest + mrc_req_floor(req) :
			mrc_max64(MRC_PTO_FIRST_NS, 2 * req->base_rtt);
	/* The usual case: the maximum is not less than this. */
	if (t <= req->cfg.rto / 2)
		return t;
	max = mrc_req_pto_max(req);
	return t < max ? t : max;
}

/*
 * How long after the newest packet its transport ACK may arrive, ns. The peer sends it
 * when the slowest packet has arrived, and it comes back through any plane. If nothing
 * is known of a plane in use, that may take as long as any packet of such a plane.
 */
static u64 mrc_req_tack_time(const struct mrc_req *req)
{
	u64 t = mrc_req_pto(req, true);
	u8 i;

	if (!req->srtt)
		t = mrc_max64(t, MRC_LEARN_NS);
	for (i = 1; req->srtt && i <= req->paths->n_ports; i++) {
		const struct mrc_plane *pl = &req->plane[i];

		if (pl->sent_at && !mrc_req_plane_known(req, pl, req->last_tx))
			t = mrc_max64(t, mrc_req_unknown_time(req, pl,
							      req->last_tx));
	}
	return t + req->guard[MRC_GUARD_TAIL].ns;
}

/*
 * The transport ACK of the newest packet arrived at @now, with all packets acknowledged
 * before: remember how long it took after the last feedback. After a resend, only an ACK
 * that is too early to be the answer tells this.
 */
void mrc_req_tack_came(struct mrc_req *req, u64 now)
{
	if (req->tail_probe_shift &&
	    mrc_req_since(req->last_probe, now) >= req->base_rtt)
		return;
	mrc_req_learn(req, &req->tack_lag, mrc_req_since(req->feedback_at, now),
		      mrc_req_stall_keep(req), now);
}

/*
 * How much later than the last feedback the transport ACK may arrive, ns; MRC_NEVER if
 * nothing is known of a plane in use. The peer sends both at about the same time. They
 * may take different planes, and the ACK may be as slow as any packet of its plane. It
 * may also be slower than that: RTT samples come from the paths of SACKs.
 */
static u64 mrc_req_tack_lag(const struct mrc_req *req)
{
	u64 least = ~0ull, most = 0;
	u8 i;

	for (i = 1; i <= req->paths->n_ports; i++) {
		const struct mrc_plane *pl = &req->plane[i];

		if (pl->sent_at && !mrc_req_plane_known(req, pl, req->last_tx))
			return MRC_NEVER;
		if (!pl->srtt)
			continue;
		if (pl->srtt < least)
			least = pl->srtt;
		most = mrc_max64(most, pl->srtt + 4 * mrc_req_plane_var(req, pl));
	}
	return (most > least ? most - least : 0) + mrc_req_floor(req) / 2 +
	       2 * mrc_guard_now(&req->tack_lag, mrc_req_stall_keep(req),
				 req->feedback_at) +
	       req->guard[MRC_GUARD_TAIL].ns;
}

/**
 * mrc_req_tail_due - when the next tail probe is due
 * @req: requester that awaits feedback
 * @tack: only the transport ACK is missing, mrc_req_tack_awaited()
 *
 * One PTO after the newest transmission. Feedback that still arrives tells as much as a
 * probe would, so the probe also waits until none has come for half a PTO. If only the
 * transport ACK is missing, the newest packet is sent instead of a probe; it waits for
 * as long as the transport ACK may take, at first after the newest transmission, then
 * after the feedback that all has arrived.
 *
 * Return: absolute time, ns.
 */
u64 mrc_req_tail_due(const struct mrc_req *req, bool tack)
{
	u64 pto = tack ? mrc_req_tack_time(req) : mrc_req_pto(req, false);
	u64 rest = pto / 2, wait = pto;
	u64 at, max, lag;
	u8 n;

	if (tack && mrc_req_known(req, req->last_tx)) {
		lag = mrc_req_tack_lag(req);
		rest = mrc_req_floor(req) / 2;
		/* Everything has arrived, so the ACK is on its way. */
		if (req->feedback_at > req->last_tx && lag < pto) {
			rest = lag;
			wait = lag;
		}
	}
	at = mrc_max64(req->last_tx + wait, req->feedback_at + rest);
	if (!req->tail_probe_shift)
		return at;
	max = mrc_req_pto_max(req);
	for (n = 0; n < req->tail_probe_shift && pto < max; n++)
		pto *= 2;
	return mrc_max64(at, req->last_probe + (pto < max ? pto : max));
}
