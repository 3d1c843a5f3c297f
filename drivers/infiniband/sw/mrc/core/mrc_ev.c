// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The state machine of EVs, MRC 1.0 §11.6. mrc_ev_make.c creates the EVs,
 * mrc_ev_skip.c says how long SKIP lasts, mrc_ev_probe.c probes condemned ones,
 * mrc_spray.c picks the EV of each packet.
 *
 * Copies of an EV that are not DENIED are always in the same state.
 */
#include "mrc_ev_priv.h"
#include "mrc_req.h"

void mrc_paths_set_rtt(struct mrc_paths *p, u64 base_rtt, u64 rto)
{
	p->cfg.base_rtt = base_rtt ? base_rtt : MRC_BASE_RTT_DEFAULT;
	p->cfg.rto = rto ? rto : MRC_EV_RTO_DEFAULT;
}

bool mrc_paths_port_ok(const struct mrc_paths *p, u8 port)
{
	return mrc_paths_port_up(p, port) &&
	       (mrc_read_once(p->peer_ports) >> port & 1);
}

bool mrc_paths_port_up(const struct mrc_paths *p, u8 port)
{
	return port >= 1 && port <= p->n_ports &&
	       (mrc_read_once(p->ports_up) >> port & 1);
}

void mrc_paths_set_ports(struct mrc_paths *p, u32 ports_up)
{
	u32 was = p->ports_up;

	ports_up &= (2u << p->n_ports) - 2;
	mrc_write_once(p->ports_up, ports_up);
	mrc_ev_probe_ports(p, was & p->peer_ports);
	mrc_ev_peer_ports(p, ports_up & ~was);
}

/* The state as a controller sees it: SKIP is shown as GOOD, §11.6. */
static u8 visible(u8 state)
{
	return state == MRC_EV_SKIP ? (u8)MRC_EV_GOOD : state;
}

static void count_transition(struct mrc_paths *p, u8 port, u8 from, u8 to)
{
	struct mrc_counters *ctr = p->cfg.ctr;

	if (from == MRC_EV_ASSUMED_BAD && mrc_ev_usable(to))
		mrc_ctr_add(ctr, port, MRC_CTR_EV_GOOD, 1);
	if (to == MRC_EV_SKIP)
		mrc_ctr_add(ctr, port, MRC_CTR_EV_SKIP, 1);
	else if (to == MRC_EV_ASSUMED_BAD)
		mrc_ctr_add(ctr, port, MRC_CTR_EV_BAD, 1);
	else if (to == MRC_EV_DENIED)
		mrc_ctr_add(ctr, port, MRC_CTR_EV_DENIED, 1);
}

void mrc_ev_report(struct mrc_paths *p, u16 i, u8 from, u8 to)
{
	count_transition(p, mrc_paths_port(p, i), from, to);
	if (p->cfg.on_state && visible(from) != visible(to))
		p->cfg.on_state(p->cfg.ctx, p, i, from, to);
}

/* Change the state of entry @i alone, with the maps and counts that depend on it. */
static void enter(struct mrc_paths *p, u16 i, u8 to)
{
	struct mrc_ev_walk *w = mrc_ev_walk_of(p, i);
	u8 from = p->ev[i].state;

	mrc_ev_map_clear(mrc_ev_map(p, from), p->pos[i]);
	mrc_ev_map_set(mrc_ev_map(p, to), p->pos[i]);
	w->usable = (u16)(w->usable + mrc_ev_usable(to) - mrc_ev_usable(from));
	p->bad = (u16)(p->bad + (to == MRC_EV_ASSUMED_BAD) -
		       (from == MRC_EV_ASSUMED_BAD));
	p->denied = (u16)(p->denied + (to == MRC_EV_DENIED) -
			  (from == MRC_EV_DENIED));
	mrc_write_once(p->ev[i].state, to);
	/* @sub, @probe_id have other meanings in ASSUMED_BAD than in the other states. */
	if (from == MRC_EV_ASSUMED_BAD || to == MRC_EV_DENIED ||
	    to == MRC_EV_ASSUMED_BAD) {
		p->ev[i].sub = 0;
		p->ev[i].probe_id = 0;
	}
	if (to == MRC_EV_SKIP)
		mrc_ev_skip_begin(&p->ev[i]);
}

void mrc_ev_copy_state(struct mrc_paths *p, u16 to, u16 from)
{
	p->ev[to].probe_id = p->ev[from].probe_id;
	p->ev[to].sub = p->ev[from].sub;
	p->at[to] = p->at[from];
}

void mrc_ev_share(struct mrc_paths *p, u16 i)
{
	u16 j;

	for (j = mrc_ev_copy(p, i); j != i; j = mrc_ev_copy(p, j)) {
		if (p->ev[j].state == p->ev[i].state)
			mrc_ev_copy_state(p, j, i);
	}
}

/* A copy of @i that is not DENIED, @i itself if there is no other. */
static u16 live_copy(const struct mrc_paths *p, u16 i)
{
	u16 j = mrc_ev_copy(p, i);

	while (j != i && p->ev[j].state == MRC_EV_DENIED)
		j = mrc_ev_copy(p, j);
	return j;
}

void mrc_ev_set_state(struct mrc_paths *p, u16 i, u8 to, u64 now)
{
	u8 from = p->ev[i].state;
	u16 first = i;
	u16 j;

	if (from == to)
		return;
	enter(p, i, to);
	for (j = live_copy(p, i); j != i && to != MRC_EV_DENIED;
	     j = mrc_ev_copy(p, j)) {
		if (p->ev[j].state != MRC_EV_DENIED)
			enter(p, j, to);
	}
	if (to == MRC_EV_ASSUMED_BAD)
		mrc_ev_probe_start(p, i, now);
	else if (from == MRC_EV_ASSUMED_BAD)
		mrc_ev_probe_rescan(p);
	/* One report, with the lowest index, for all copies. */
	for (j = mrc_ev_copy(p, i); j != i && to != MRC_EV_DENIED;
	     j = mrc_ev_copy(p, j))
		first = j < first ? j : first;
	mrc_ev_report(p, first, from, to);
}

/* DENIED -> GOOD, or to the present state of the copies. */
static void allow(struct mrc_paths *p, u16 i, u64 now)
{
	u16 j = live_copy(p, i);

	if (p->ev[i].state != MRC_EV_DENIED)
		return;
	if (j == i) {
		mrc_ev_set_state(p, i, MRC_EV_GOOD, now);
		mrc_ev_peer_evs(p);
		return;
	}
	enter(p, i, p->ev[j].state);
	mrc_ev_copy_state(p, i, j);
	if (p->ev[i].state != MRC_EV_ASSUMED_BAD)
		mrc_ev_report(p, i, MRC_EV_DENIED, p->ev[i].state);
}

/* How many entries change state together, @i included. */
static u32 weight(const struct mrc_paths *p, u16 i)
{
	u32 n = 1;
	u16 j;

	for (j = live_copy(p, i); j != i; j = mrc_ev_copy(p, j))
		n += p->ev[j].state != MRC_EV_DENIED;
	return n;
}

/* GOOD, SKIP -> ASSUMED_BAD, unless too few EVs would remain. */
static void condemn(struct mrc_paths *p, u16 i, u64 now)
{
	u32 usable = (u32)p->n - p->bad - p->denied;

	if (!mrc_ev_usable(p->ev[i].state) ||
	    usable < p->min_active + weight(p, i))
		return;
	mrc_ev_set_state(p, i, MRC_EV_ASSUMED_BAD, now);
}

static void steer_away(struct mrc_paths *p, u16 i, u64 now)
{
	if (p->ev[i].state == MRC_EV_GOOD)
		mrc_ev_set_state(p, i, MRC_EV_SKIP, now);
}

static void count_drop(struct mrc_paths *p, u16 i)
{
	u16 j = i;

	do {
		if (p->ev[j].drops != 0xFFFF)
			p->ev[j].drops++;
		j = mrc_ev_copy(p, j);
	} while (j != i);
}

/*
 * Store the number of losses in a row. A path that delivers packets between losses is
 * lossy, not dead, whatever its loss rate. All copies share it, as they are one path.
 */
static void note(struct mrc_paths *p, u16 i, u8 losses)
{
	u16 j = i;

	do {
		if (p->ev[j].state != MRC_EV_DENIED)
			p->ev[j].sub = losses;
		j = mrc_ev_copy(p, j);
	} while (j != i);
}

static void note_arrival(struct mrc_paths *p, u16 i)
{
	if (mrc_ev_usable(p->ev[i].state) && p->ev[i].sub)
		note(p, i, 0);
}

/* How many losses in a row condemn EV @i? */
static u32 losses_bad(const struct mrc_paths *p, u16 i)
{
	if (mrc_ev_walk_of(p, i)->usable <= weight(p, i))
		return MRC_EV_LOSSES_LAST;
	/* If trims are not answered, congestion looks like a loss on the path. */
	return p->cfg.trim_nack ? 1 : MRC_EV_LOSSES;
}

static void on_loss(struct mrc_paths *p, u16 i, u64 now)
{
	u32 losses;

	count_drop(p, i);
	if (!mrc_ev_usable(p->ev[i].state))
		return;
	losses = p->ev[i].sub + 1;
	note(p, i, (u8)(losses < MRC_EV_LOSSES_LAST ? losses :
						      MRC_EV_LOSSES_LAST));
	if (losses >= losses_bad(p, i))
		condemn(p, i, now);
	else
		steer_away(p, i, now);
}

void mrc_paths_verdict(struct mrc_paths *p, int ev, enum mrc_ev_verdict v,
		       u64 now)
{
	u16 i = (u16)ev;

	if (ev < 0 || ev >= p->n)
		return;
	if (now > p->now)
		p->now = now;
	/* Apply the verdict on a DENIED entry to its copies, which are the same path. */
	if (p->ev[i].state == MRC_EV_DENIED && v != MRC_EVV_DENY &&
	    v != MRC_EVV_ALLOW)
		i = live_copy(p, i);

	switch (v) {
	case MRC_EVV_OK:
		note_arrival(p, i);
		mrc_ev_answered(p, i, false, now);
		break;
	case MRC_EVV_ARRIVED:
		note_arrival(p, i);
		break;
	case MRC_EVV_CE:
	case MRC_EVV_TRIM:
		note_arrival(p, i);
		mrc_ev_answered(p, i, true, now);
		steer_away(p, i, now);
		break;
	case MRC_EVV_CONDEMNED:
		condemn(p, i, now);
		break;
	case MRC_EVV_LOSS:
		on_loss(p, i, now);
		break;
	case MRC_EVV_TIMEOUT:
		count_drop(p, i);
		condemn(p, i, now);
		break;
	case MRC_EVV_PROBE_OK:
		if (p->ev[i].state == MRC_EV_ASSUMED_BAD)
			mrc_ev_probe_good(p, i, now);
		break;
	case MRC_EVV_PROBE_CE:
		if (p->ev[i].state == MRC_EV_ASSUMED_BAD)
			mrc_ev_set_state(p, i, MRC_EV_SKIP, now);
		else
			steer_away(p, i, now);
		break;
	case MRC_EVV_PROBE_BAD:
	case MRC_EVV_PROBE_LOST:
		if (v == MRC_EVV_PROBE_BAD)
			condemn(p, i, now);
		if (p->ev[i].state == MRC_EV_ASSUMED_BAD)
			mrc_ev_probe_bad(p, i, v == MRC_EVV_PROBE_LOST, now);
		break;
	case MRC_EVV_DENY:
		mrc_ev_set_state(p, i, MRC_EV_DENIED, now);
		break;
	case MRC_EVV_ALLOW:
		allow(p, i, now);
		break;
	default:
		break;
	}
}
