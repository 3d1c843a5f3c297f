// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requester: retry timer and retry budget, tail probes, deadlines. MRC 1.0 §9.4, §9.5.
 *
 * Each transmission has its own send time; timer_at is only a lower bound of the first
 * expiry. When timer_at passes, the window is scanned and timer_at moves to the real
 * next expiry. So acknowledgments need not touch the timer.
 */
#include "mrc_req_priv.h"

u64 mrc_req_interval(const struct mrc_req_cfg *cfg, u32 k)
{
	u64 t = cfg->rto;
	u32 e;

	if (t >= MRC_RTO_MAX_NS)
		return MRC_RTO_MAX_NS;
	if (k <= cfg->linear_cnt)
		return t;
	e = k - cfg->linear_cnt;
	if (e > cfg->exp_cnt)
		e = cfg->exp_cnt;
	/* t < 2^35 and e <= 25: no overflow. */
	t <<= e;
	return t < MRC_RTO_MAX_NS ? t : MRC_RTO_MAX_NS;
}

/*
 * The interval of attempt @k of this queue pair, ns. With a retry interval below the RTT,
 * which congestion may cause at any time, every packet would expire before its SACK can
 * arrive, and each SACK would restore the budget. So it is not below two round trips
 * (OP-23).
 */
u64 mrc_req_retry_interval(const struct mrc_req *req, u32 k)
{
	const u64 t = mrc_req_interval(&req->cfg, k);
	u64 least = 2 * (req->srtt ? req->slowest_rtt : req->base_rtt);

	if (least > MRC_RTO_MAX_NS)
		least = MRC_RTO_MAX_NS;
	return mrc_max64(t, least);
}

static u64 mrc_req_current(const struct mrc_req *req)
{
	return mrc_req_retry_interval(req, req->retries + 1);
}

/* Feedback is awaited from @now on: start the retry timer if it is off. */
void mrc_req_arm(struct mrc_req *req, u64 now)
{
	if (req->cfg.rto && req->timer_at == MRC_NEVER)
		req->timer_at = now + mrc_req_current(req);
}

/* Feedback on a packet sent at @now is awaited: set the time of the tail probe. */
void mrc_req_await(struct mrc_req *req, u64 now)
{
	u64 at = now + mrc_req_pto(req, false);

	if (at < req->tail_probe_at)
		req->tail_probe_at = at;
}

/*
 * Send a probe at @at for packets that are overdue then. When such packets fill the
 * windows, no feedback comes by itself before the tail probe is due.
 */
static void mrc_req_probe_no_later(struct mrc_req *req, u64 at, u64 now)
{
	if (at <= now)
		return;
	if (at < req->probe_by)
		req->probe_by = at;
	if (at < req->tail_probe_at)
		req->tail_probe_at = at;
}

/*
 * Windows are full, or answers are awaited. No new packet is sent that could cause
 * feedback. So a probe is sent as soon as the slowest plane should have answered.
 */
void mrc_req_blocked(struct mrc_req *req, u64 now)
{
	u64 base = mrc_max64(req->last_heard, req->last_tx);

	if (req->inflight && !req->tail_probe_shift)
		mrc_req_probe_no_later(req, base + mrc_req_lag(req), now);
}

/*
 * Valid feedback was consumed at @now: restart the time of the tail probe, stop timers
 * that are not needed. @news: the feedback told more than that the peer is alive.
 */
void mrc_req_rearm(struct mrc_req *req, bool news, u64 now)
{
	if (req->state != MRC_REQ_READY)
		return;
	req->last_heard = now;
	if (news) {
		req->feedback_at = now;
		req->tail_probe_shift = 0;
	}
	req->probe_by = MRC_NEVER;
	if (!mrc_req_all_acked(req)) {
		req->tail_probe_at = mrc_req_tail_due(req, false);
		mrc_req_probe_no_later(req, req->hole_due_at, now);
		mrc_req_probe_no_later(req, req->confirm_at, now);
		if (req->overdue_at != MRC_NEVER)
			mrc_req_probe_no_later(req, mrc_max64(req->overdue_at, now + 1),
					       now);
		mrc_req_arm(req, now);
		return;
	}
	req->tail_probe_at = mrc_req_tack_awaited(req) ?
			     mrc_req_tail_due(req, true) : MRC_NEVER;
	if (mrc_req_awaits_answer(req))
		mrc_req_progress(req, now);
	if (mrc_req_tack_pending(req))
		mrc_req_arm(req, now);
	else if (!req->no_ev_at)
		req->timer_at = MRC_NEVER;
}

/*
 * cack or the transport ACK advanced: restore the retry budget. Packets sent during a
 * long retry interval get one RTO from now on, because their acknowledgments may arrive
 * in the same burst.
 */
void mrc_req_progress(struct mrc_req *req, u64 now)
{
	u64 at;

	req->stands_at = now;
	if (!req->retries)
		return;
	req->retries = 0;
	req->charged_at = 0;
	req->reset_at = now;
	if (!req->cfg.rto)
		return;
	at = now + mrc_req_current(req);
	if (at < req->timer_at)
		req->timer_at = at;
}

/* Charge one retry. Return: false if the budget is exceeded and the QP failed. */
bool mrc_req_charge(struct mrc_req *req)
{
	const struct mrc_req_cfg *cfg = &req->cfg;

	/* Saturates; the interval stopped growing long before. */
	if (req->retries < 0xFFFFu)
		req->retries++;
	if (cfg->exp_cnt == MRC_RETRY_EXP_INFINITE ||
	    req->retries <= (u32)cfg->linear_cnt + cfg->exp_cnt)
		return true;
	mrc_ctr_add(cfg->ctr, 1, MRC_CTR_RETRY_EXC, 1);
	mrc_req_fail(req, -1, MRC_WC_RETRY_EXC);
	return false;
}

/*
 * The same for a retry that no refusal of the peer costs. If a work request is doomed, the
 * wait for those before it ends: the peer may have moved its queue pair to ERROR.
 */
static bool mrc_req_charge_unheard(struct mrc_req *req)
{
	return !mrc_req_doom_ends(req) && mrc_req_charge(req);
}

/*
 * The packet after cack was sent again and is lost again, as shown by a SACK or a
 * probe. Each copy starts its timer anew. On a path that delivers probes but not data,
 * or not all data, the timer would never expire. So this costs as much as expiries
 * would: one retry per interval in which cack does not advance. Return: as
 * mrc_req_charge().
 */
bool mrc_req_charge_stuck(struct mrc_req *req, u64 now)
{
	u64 since = mrc_max64(req->stands_at,
			      mrc_max64(req->charged_at, req->cost_at));

	req->stuck = false;
	if (!req->cfg.rto || now < since + mrc_req_current(req))
		return true;
	/*
	 * Packets in flight belong to this attempt: their expiry costs no more retries.
	 */
	req->charged_at = now;
	req->cost_at = now;
	return mrc_req_charge_unheard(req);
}

/* Result of a scan of the window. */
struct mrc_expiry {
	u64 next;	/* earliest expiry that is still to come */
	bool charge;	/* a transmission of the current attempt expired */
	bool out;	/* packets are in flight, or were until now */
	bool waiting;	/* lost packets wait to be sent */
};

/*
 * Packets sent before the last charged expiry belong to the attempt that was charged.
 * They expire after the interval of that attempt and cost no more retries. Otherwise a
 * burst that is lost as a whole would use up the budget within its own duration.
 */
static void mrc_req_scan(struct mrc_req *req, u64 now, struct mrc_expiry *x)
{
	const u64 ivl = mrc_req_current(req);
	const u64 old_ivl = req->retries ?
			    mrc_req_retry_interval(req, req->retries) : ivl;
	const u32 span = mrc_req_span(req);
	u32 off = 0;

	for (;;) {
		struct mrc_tx_pkt *pkt;
		bool old;
		u32 psn;
		u64 at;

		off += mrc_ring_next_clear(req->acked, req->ring_mask,
					   req->cack + 1 + off, span - off);
		if (off >= span)
			return;
		psn = mrc_psn_add(req->cack, (s32)off + 1);
		off++;
		if (mrc_req_is_lost(req, psn)) {
			x->waiting = true;
			continue;
		}
		pkt = mrc_req_pkt(req, psn);
		x->out = true;
		old = pkt->sent_at < req->charged_at;
		at = mrc_max64(pkt->sent_at, req->reset_at) +
		     (old ? old_ivl : ivl);
		if (at > now) {
			if (at < x->next)
				x->next = at;
			continue;
		}
		x->charge |= !old;
		mrc_req_lose(req, psn, MRC_LOSS_TIMEOUT, 0, now);
	}
}

static void mrc_req_expire(struct mrc_req *req, u64 now)
{
	struct mrc_expiry x = { .next = MRC_NEVER };
	u64 base = mrc_max64(req->charged_at, req->reset_at);
	const u64 ivl = mrc_req_current(req);
	bool last = false;

	mrc_req_scan(req, now, &x);
	if (!x.out) {
		if (x.waiting || req->no_ev_at) {
			/* Due packets cannot be sent: this costs retries. */
			base = mrc_max64(base, req->no_ev_at ? req->no_ev_at :
					 req->last_tx);
			if (req->n_lost && req->held_until != MRC_NEVER)
				base = mrc_max64(base, req->held_until);
			base = mrc_max64(base, req->spread_until);
		} else if (mrc_req_tack_pending(req)) {
			/* All SACKed, the transport ACK is missing. */
			base = mrc_max64(base, req->last_tx);
			last = true;
		} else {
			req->timer_at = MRC_NEVER;
			return;
		}
		if (base + ivl <= now)
			x.charge = true;
		else
			x.next = base + ivl;
	}
	if (x.charge) {
		req->charged_at = now;
		req->stat_timeouts++;
		mrc_ctr_add(req->cfg.ctr, 1, MRC_CTR_RTO, 1);
		if (!mrc_req_charge_unheard(req))
			return;
		if (last)
			req->rtx_last = true;
	}
	base = now + mrc_req_current(req);
	req->timer_at = x.next < base ? x.next : base;
}

u64 mrc_req_deadline(const struct mrc_req *req)
{
	u64 at = req->timer_at;
	u64 t;

	if (req->state == MRC_REQ_ERROR)
		return MRC_NEVER;
	if (req->probe_now)
		return 0;
	if (req->tail_probe_at < at)
		at = req->tail_probe_at;
	if (req->tail_at < at)
		at = req->tail_at;
	if (req->n_lost && req->held_until && req->held_until < at)
		at = req->held_until;
	if (req->rnr_until && req->rnr_until < at)
		at = req->rnr_until;
	if (req->spread_until && req->spread_until < at)
		at = req->spread_until;
	t = mrc_paths_next_probe(req->paths);
	return t < at ? t : at;
}

void mrc_req_on_deadline(struct mrc_req *req, u64 now)
{
	if (req->state != MRC_REQ_READY)
		return;
	mrc_req_check_holes(req, now);
	/*
	 * Probes and held packets need only mrc_req_next(), which the caller runs after
	 * this.
	 */
	if (now >= req->timer_at)
		mrc_req_expire(req, now);
}

u32 mrc_req_timer_grid(u64 calm)
{
	u32 grid = MRC_GRID_MAX_NS;

	while (grid > calm / MRC_GRID_SHARE)
		grid /= 2;
	return grid < MRC_GRID_MIN_NS ? 0 : grid;
}
