// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requester: retransmission timer and retry budget, silence, deadlines.
 * MRC 1.0 §9.4, §9.5.
 *
 * Each transmission has its own send time; timer_at is only a lower bound of
 * the first expiry. When it passes, the window is scanned and timer_at moves
 * to the real next expiry, so acknowledgments need not touch the timer.
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

static u64 mrc_req_current(const struct mrc_req *req)
{
	return mrc_req_interval(&req->cfg, req->retries + 1);
}

/* Something is awaited from @now on: start the timer if it is off. */
void mrc_req_arm(struct mrc_req *req, u64 now)
{
	if (req->cfg.rto && req->timer_at == MRC_NEVER)
		req->timer_at = now + mrc_req_current(req);
}

/* Feedback of what was sent at @now is awaited. */
void mrc_req_await(struct mrc_req *req, u64 now)
{
	u64 at = now + mrc_req_pto(req);

	if (at < req->silence_at)
		req->silence_at = at;
}

/*
 * Ask by @at what has become of packets that are overdue then: when windows
 * are full of them, no feedback comes by itself before the silence is over.
 */
static void mrc_req_hasten(struct mrc_req *req, u64 at, u64 now)
{
	if (at <= now)
		return;
	if (at < req->ask_at)
		req->ask_at = at;
	if (at < req->silence_at)
		req->silence_at = at;
}

/*
 * Windows are full, or answers are awaited: nothing new leaves that could draw
 * feedback, so what is out is asked for as soon as the slowest plane should
 * have answered.
 */
void mrc_req_blocked(struct mrc_req *req, u64 now)
{
	u64 base = mrc_max64(req->last_heard, req->last_tx);

	if (req->inflight && !req->silence_shift)
		mrc_req_hasten(req, base + mrc_req_lag(req), now);
}

/*
 * Valid feedback was consumed at @now: restart silence, stop idle timers. @news:
 * it told of something else than that the peer lives.
 */
void mrc_req_rearm(struct mrc_req *req, bool news, u64 now)
{
	if (req->state != MRC_REQ_READY)
		return;
	req->last_heard = now;
	if (news) {
		req->news_at = now;
		req->silence_shift = 0;
	}
	req->ask_at = MRC_NEVER;
	if (!mrc_req_all_acked(req)) {
		req->silence_at = mrc_req_tail_due(req);
		mrc_req_hasten(req, req->ripe_at, now);
		mrc_req_hasten(req, req->confirm_at, now);
		if (req->overdue_at != MRC_NEVER)
			mrc_req_hasten(req, mrc_max64(req->overdue_at, now + 1),
				       now);
		mrc_req_arm(req, now);
		return;
	}
	req->silence_at = mrc_req_tack_awaited(req) ? mrc_req_tail_due(req) :
						      MRC_NEVER;
	if (mrc_req_awaits_answer(req))
		mrc_req_progress(req, now);
	if (mrc_req_tack_pending(req))
		mrc_req_arm(req, now);
	else if (!req->no_ev_at)
		req->timer_at = MRC_NEVER;
}

/*
 * cack or the transport ACK advanced: the budget is whole again. Packets sent
 * during a long back-off interval get one RTO from here, since their
 * acknowledgments may be in the same burst.
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

/*
 * One more retry. Return: false if that exceeded the budget; the QP failed.
 */
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
 * The packet that cack waits for was sent again and is lost again, as a SACK or a
 * probe told. Each copy starts the timer anew: on a path where probes pass and data
 * does not, or not all of it, it would never expire. This costs what the expiries
 * would have, one retry per interval in which cack stands still.
 * Return: as mrc_req_charge().
 */
bool mrc_req_charge_stuck(struct mrc_req *req, u64 now)
{
	u64 since = mrc_max64(req->stands_at,
			      mrc_max64(req->charged_at, req->cost_at));

	req->stuck = false;
	if (!req->cfg.rto || now < since + mrc_req_current(req))
		return true;
	/* What is out belongs to this attempt: its expiry costs nothing more. */
	req->charged_at = now;
	req->cost_at = now;
	return mrc_req_charge(req);
}

/* What a scan of the window found. */
struct mrc_expiry {
	u64 next;	/* earliest expiry that is still to come */
	bool charge;	/* a transmission of this attempt expired */
	bool out;	/* packets are in flight, or were until now */
	bool waiting;	/* lost packets wait to be sent */
};

/*
 * Packets sent before the last charged expiry belong to the attempt that was
 * charged: they expire after its interval and cost nothing more. Otherwise a
 * burst that is lost as a whole would use up the budget within its own
 * duration.
 */
static void mrc_req_scan(struct mrc_req *req, u64 now, struct mrc_expiry *x)
{
	const u64 ivl = mrc_req_current(req);
	const u64 old_ivl = req->retries ?
			    mrc_req_interval(&req->cfg, req->retries) : ivl;
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
			/* No way to send what is due: that costs retries. */
			base = mrc_max64(base, req->no_ev_at ? req->no_ev_at :
					 req->last_tx);
			if (req->n_lost && req->held_until != MRC_NEVER)
				base = mrc_max64(base, req->held_until);
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
		if (!mrc_req_charge(req))
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
	if (req->silence_at < at)
		at = req->silence_at;
	if (req->tail_at < at)
		at = req->tail_at;
	if (req->n_lost && req->held_until && req->held_until < at)
		at = req->held_until;
	if (req->rnr_until && req->rnr_until < at)
		at = req->rnr_until;
	t = mrc_paths_next_probe(req->paths);
	return t < at ? t : at;
}

void mrc_req_on_deadline(struct mrc_req *req, u64 now)
{
	if (req->state != MRC_REQ_READY)
		return;
	mrc_req_tail_look(req, now);
	/*
	 * Probes and held packets need nothing but mrc_req_next(), which the
	 * caller runs after this.
	 */
	if (now >= req->timer_at)
		mrc_req_expire(req, now);
}
