// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Probing of ASSUMED_BAD EVs, MRC 1.0 §9.5 b and §11.6: the first probe after an
 * RTO, then at doubling intervals up to a second, one outstanding per EV (for
 * all of its copies), lost after an RTO. After one that was answered the next
 * follows at once.
 */
#include "mrc_ev_priv.h"

/* Due since ever. */
#define AT_ONCE			1ull
/*
 * Nothing is planned further ahead (34 s; an RTO is at most 17.2 s): what looks
 * so is a time from long ago, of an EV whose port was down, as times wrap.
 */
#define AHEAD_MAX		0x2000000

static u64 rto_of(const struct mrc_paths *p)
{
	return p->cfg.rto;
}

static u64 cap_of(const struct mrc_paths *p)
{
	return rto_of(p) > MRC_EV_PROBE_MAX_NS ? rto_of(p) : MRC_EV_PROBE_MAX_NS;
}

static u64 probe_interval(const struct mrc_paths *p, const struct mrc_ev *ev)
{
	u32 exp = ev->sub & MRC_EV_PROBE_EXP;

	return rto_of(p) > cap_of(p) >> exp ? cap_of(p) : rto_of(p) << exp;
}

/* Rounded up, so that nothing happens before its time. */
static u32 time_after(u64 now, u64 wait)
{
	return mrc_ev_time(now + wait + 1023);
}

/* When the next probe of EV @i is due or the outstanding one lost, ns. */
static u64 due_at(const struct mrc_paths *p, u16 i)
{
	s64 unit = (s64)(p->now >> 10);
	s32 ahead = (s32)(p->at[i] - (u32)unit);

	if (p->ev[i].sub & MRC_EV_PROBE_NOW || ahead > AHEAD_MAX)
		return AT_ONCE;
	unit += ahead;
	return unit > 0 ? (u64)unit << 10 : AT_ONCE;
}

/* When something is to be done about a condemned EV. */
static u64 probe_time(const struct mrc_paths *p, u16 i)
{
	if (p->ev[i].sub & MRC_EV_PROBE_OUT ||
	    mrc_paths_port_ok(p, mrc_paths_port(p, i)))
		return due_at(p, i);
	return MRC_EV_NO_PROBE;
}

void mrc_ev_probe_rescan(struct mrc_paths *p)
{
	u64 at, min = MRC_EV_NO_PROBE;
	u32 pos;

	for (pos = mrc_ev_map_find(p->bad_map, 0, p->n); pos < p->n;
	     pos = mrc_ev_map_find(p->bad_map, pos + 1, p->n)) {
		at = probe_time(p, p->order[pos]);
		if (at < min)
			min = at;
	}
	p->probe_next = min;
}

void mrc_ev_probe_start(struct mrc_paths *p, u16 i, u64 now)
{
	u64 at;

	p->ev[i].sub = 0;
	p->at[i] = time_after(now, rto_of(p));
	mrc_ev_share_probe(p, i);
	at = probe_time(p, i);
	if (at < p->probe_next)
		p->probe_next = at;
}

void mrc_ev_probe_ports(struct mrc_paths *p, u32 was)
{
	u32 is = p->ports_up & p->peer_ports;
	struct mrc_ev *ev;
	u32 pos;

	if (!p->ev)	/* none has been condemned */
		return;
	for (pos = mrc_ev_map_find(p->bad_map, 0, p->n); pos < p->n;
	     pos = mrc_ev_map_find(p->bad_map, pos + 1, p->n)) {
		ev = &p->ev[p->order[pos]];
		if (!((is & ~was) >> mrc_paths_port(p, p->order[pos]) & 1) ||
		    ev->sub & MRC_EV_PROBE_OUT)
			continue;
		/*
		 * What was learnt about a path before its link came back says
		 * little now: ask at once, and often again.
		 */
		ev->sub = (ev->sub & MRC_EV_PROBE_ONE) | MRC_EV_PROBE_NOW;
	}
	mrc_ev_probe_rescan(p);
}

void mrc_ev_probe_good(struct mrc_paths *p, u16 i, u64 now)
{
	/* With this one it is MRC_EV_PROBES_GOOD in a row. */
	if (p->ev[i].sub & MRC_EV_PROBE_ONE) {
		mrc_ev_set_state(p, i, MRC_EV_GOOD, now);
		return;
	}
	/*
	 * A sign of life. A round trip lies between the two probes in any
	 * case, and a path that lost a packet by chance is missed meanwhile.
	 */
	p->ev[i].sub = MRC_EV_PROBE_ONE;
	p->at[i] = time_after(now, 0);
	mrc_ev_share_probe(p, i);
	mrc_ev_probe_rescan(p);
}

void mrc_ev_probe_bad(struct mrc_paths *p, u16 i, bool lost, u64 now)
{
	struct mrc_ev *ev = &p->ev[i];
	u64 wait = probe_interval(p, ev);
	bool out = ev->sub & MRC_EV_PROBE_OUT;

	ev->sub &= 0xFF ^ (MRC_EV_PROBE_ONE | MRC_EV_PROBE_OUT);
	if (out) {
		/* The interval runs from the transmission, one RTO ago. */
		if (lost)
			wait = wait > rto_of(p) ? wait - rto_of(p) : 0;
		p->at[i] = time_after(now, wait);
	}
	mrc_ev_share_probe(p, i);
	mrc_ev_probe_rescan(p);
}

u64 mrc_paths_next_probe(const struct mrc_paths *p)
{
	return p->probe_next;
}

int mrc_paths_probe_due(struct mrc_paths *p, u64 now)
{
	u64 first = now;
	int due = -1;
	u32 pos;
	u64 at;
	u16 i;

	if (now < p->probe_next)
		return -1;
	if (now > p->now)
		p->now = now;
	for (pos = mrc_ev_map_find(p->bad_map, 0, p->n); pos < p->n;
	     pos = mrc_ev_map_find(p->bad_map, pos + 1, p->n)) {
		i = p->order[pos];
		if (p->ev[i].sub & MRC_EV_PROBE_OUT && due_at(p, i) <= now)
			mrc_paths_verdict(p, i, MRC_EVV_PROBE_LOST, now);
		if (p->ev[i].sub & MRC_EV_PROBE_OUT ||
		    !mrc_paths_port_ok(p, mrc_paths_port(p, i)))
			continue;
		at = due_at(p, i);
		if (at <= first) {
			first = at;
			due = i;
		}
	}
	return due;
}

void mrc_paths_probe_sent(struct mrc_paths *p, int i, u16 id, u64 now)
{
	struct mrc_ev *ev;
	u32 exp;

	if (i < 0 || i >= p->n)
		return;
	if (now > p->now)
		p->now = now;
	mrc_ev_sent(p, (u16)i);
	ev = &p->ev[i];
	if (ev->state != MRC_EV_ASSUMED_BAD)
		return;
	exp = ev->sub & MRC_EV_PROBE_EXP;
	if (probe_interval(p, ev) < cap_of(p) && exp < MRC_EV_PROBE_EXP)
		exp++;
	ev->sub = (u8)(MRC_EV_PROBE_OUT | (ev->sub & MRC_EV_PROBE_ONE) | exp);
	ev->probe_id = id;
	p->at[i] = time_after(now, rto_of(p));
	mrc_ev_share_probe(p, (u16)i);
	mrc_ev_probe_rescan(p);
}

int mrc_paths_probe_match(const struct mrc_paths *p, u16 id)
{
	u32 pos;
	u16 i;

	for (pos = mrc_ev_map_find(p->bad_map, 0, p->n); pos < p->n;
	     pos = mrc_ev_map_find(p->bad_map, pos + 1, p->n)) {
		i = p->order[pos];
		if (p->ev[i].sub & MRC_EV_PROBE_OUT && p->ev[i].probe_id == id)
			return i;
	}
	return -1;
}
