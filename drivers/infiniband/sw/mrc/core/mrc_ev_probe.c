// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Probes of ASSUMED_BAD EVs, MRC 1.0 §9.5 b and §11.6. The first probe is sent after
 * some round trips, the next ones at doubling intervals of at most a tenth of a second
 * while data flows, and a second otherwise. At most one probe is outstanding per EV,
 * including all of its copies. After the first good reply the next probe follows at
 * once. While no round trip time is known the RTO takes its place.
 *
 * If a plane is cut, all of its EVs are probed. To limit this, a QP sends at most
 * MRC_EV_PROBE_BURST unanswered probes at once and then one per MRC_EV_PROBE_GAP_NS.
 * A good reply lifts the limit for as many probes again, so that a plane that works
 * again has all of its EVs back soon.
 */
#include "mrc_ev_priv.h"

/* Earlier than any clock value: due at once. */
#define AT_ONCE			1ull
/*
 * No probe is planned further ahead than this (34 s, in units of 1.024 us; an RTO is at
 * most 17.2 s). As times wrap, a larger distance is a time long past, of an EV whose
 * port was down.
 */
#define AHEAD_MAX		0x2000000

static u64 rto_of(const struct mrc_paths *p)
{
	return p->cfg.rto;
}

static u64 cap_of(const struct mrc_paths *p)
{
	const struct mrc_ev_pace *pace = p->pace;

	if (pace->srtt)
		return pace->flow_at &&
		       p->now < pace->flow_at + MRC_EV_PROBE_MAX_NS ?
		       MRC_EV_PROBE_BUSY_NS : MRC_EV_PROBE_MAX_NS;
	return rto_of(p) > MRC_EV_PROBE_MAX_NS ? rto_of(p) : MRC_EV_PROBE_MAX_NS;
}

u64 mrc_ev_probe_interval(const struct mrc_paths *p, u32 exp)
{
	u64 cap = cap_of(p), first = rto_of(p), rtts = 4 * p->pace->srtt;

	if (rtts)
		first = rtts > MRC_EV_PROBE_MIN_NS ? rtts : MRC_EV_PROBE_MIN_NS;
	if (cap < first)
		cap = first;
	return first > cap >> exp ? cap : first << exp;
}

u64 mrc_ev_probe_wait(const struct mrc_paths *p, u32 exp)
{
	u64 rtts = 4 * p->pace->srtt;
	u64 wait = rtts + MRC_EV_PROBE_FLOOR_NS;

	if (!rtts)
		return rto_of(p);
	/* The path may have become longer than those of the other EVs. */
	if (wait < mrc_ev_probe_interval(p, exp))
		wait = mrc_ev_probe_interval(p, exp);
	if (wait > rto_of(p))
		wait = rto_of(p) > rtts ? rto_of(p) : rtts;
	return wait;
}

static u64 probe_interval(const struct mrc_paths *p, const struct mrc_ev *ev)
{
	return mrc_ev_probe_interval(p, ev->sub & MRC_EV_PROBE_EXP);
}

static u64 probe_wait(const struct mrc_paths *p, const struct mrc_ev *ev)
{
	return mrc_ev_probe_wait(p, ev->sub & MRC_EV_PROBE_EXP);
}

/* When the rate limit allows the next EV probe, ns. */
static u64 gap_ends(const struct mrc_paths *p)
{
	const u64 burst = MRC_EV_PROBE_BURST * MRC_EV_PROBE_GAP_NS;

	return p->pace->tat > burst ? p->pace->tat - burst : 0;
}

/* @now + @wait in units of 1.024 us, rounded up so that nothing is due too early. */
static u32 time_after(u64 now, u64 wait)
{
	return mrc_ev_time(now + wait + 1023);
}

/* When the next probe of EV @i is due or the outstanding one counts as lost, ns. */
static u64 due_at(const struct mrc_paths *p, u16 i)
{
	s64 unit = (s64)(p->now >> 10);
	s32 ahead = (s32)(p->at[i] - (u32)unit);

	if (p->ev[i].sub & MRC_EV_PROBE_NOW || ahead > AHEAD_MAX)
		return AT_ONCE;
	unit += ahead;
	return unit > 0 ? (u64)unit << 10 : AT_ONCE;
}

/* When condemned EV @i must be probed or its probe counts as lost, ns. */
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
	p->at[i] = time_after(now, mrc_ev_probe_interval(p, 0));
	mrc_ev_share(p, i);
	at = probe_time(p, i);
	if (at < p->probe_next)
		p->probe_next = at;
}

void mrc_ev_probe_now(struct mrc_paths *p, u32 ports)
{
	struct mrc_ev *ev;
	u32 pos;

	if (!p->ev)	/* no tables, so no EV is condemned */
		return;
	for (pos = mrc_ev_map_find(p->bad_map, 0, p->n); pos < p->n;
	     pos = mrc_ev_map_find(p->bad_map, pos + 1, p->n)) {
		/*
		 * The failures of a path before its link came back say little about it
		 * now: probe at once, and start again with the shortest interval. Forget
		 * an outstanding probe, because it was sent before that.
		 */
		ev = &p->ev[p->order[pos]];
		if (ports >> mrc_paths_port(p, p->order[pos]) & 1)
			ev->sub = (ev->sub & MRC_EV_PROBE_ONE) |
				  MRC_EV_PROBE_NOW;
	}
	mrc_ev_probe_rescan(p);
}

void mrc_ev_probe_ports(struct mrc_paths *p, u32 was)
{
	mrc_ev_probe_now(p, p->ports_up & p->peer_ports & ~was);
}

void mrc_ev_probe_good(struct mrc_paths *p, u16 i, u64 now)
{
	p->pace->tat = 0;
	/* The second good reply: MRC_EV_PROBES_GOOD in a row. */
	if (p->ev[i].sub & MRC_EV_PROBE_ONE) {
		mrc_ev_set_state(p, i, MRC_EV_GOOD, now);
		return;
	}
	/*
	 * The first good reply: send the second probe at once. The two probes are
	 * a round trip apart in any case, and if the path only lost a packet by
	 * chance, its capacity is missing until it is GOOD again.
	 */
	p->ev[i].sub = MRC_EV_PROBE_ONE;
	p->at[i] = time_after(now, 0);
	mrc_ev_share(p, i);
	mrc_ev_probe_rescan(p);
}

void mrc_ev_probe_bad(struct mrc_paths *p, u16 i, bool lost, u64 now)
{
	struct mrc_ev *ev = &p->ev[i];
	u64 gone = probe_wait(p, ev), wait = probe_interval(p, ev);
	bool out = ev->sub & MRC_EV_PROBE_OUT;

	ev->sub &= 0xFF ^ (MRC_EV_PROBE_ONE | MRC_EV_PROBE_OUT);
	if (out) {
		/* The interval counts from the transmission of the probe. */
		if (lost)
			wait = wait > gone ? wait - gone : 0;
		p->at[i] = time_after(now, wait);
	}
	mrc_ev_share(p, i);
	mrc_ev_probe_rescan(p);
}

u64 mrc_paths_next_probe(const struct mrc_paths *p)
{
	u64 at = p->probe_next;

	if (!p->ev)
		return MRC_EV_NO_PROBE;
	if (at < gap_ends(p))
		at = gap_ends(p);
	return at < p->pace->port_probe_next ? at : p->pace->port_probe_next;
}

int mrc_paths_probe_due(struct mrc_paths *p, u64 now)
{
	u64 first = now;
	int due = -1;
	u32 pos;
	u64 at;
	u16 i;

	if (now < mrc_paths_next_probe(p))
		return -1;
	if (now > p->now)
		p->now = now;
	if (now >= p->pace->port_probe_next)
		due = mrc_ev_peer_due(p, now);
	if (due >= 0 || now < p->probe_next || now < gap_ends(p))
		return due;
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
	u8 port;
	u32 exp;

	if (i < 0 || i >= p->n)
		return;
	if (now > p->now)
		p->now = now;
	mrc_ev_sent(p, (u16)i);
	port = mrc_paths_port(p, (u16)i);
	if (port <= p->n_ports && p->probing >> port & 1)
		mrc_ev_peer_sent(p, port, now);
	ev = &p->ev[i];
	if (ev->state != MRC_EV_ASSUMED_BAD)
		return;
	if (p->pace->srtt)
		p->pace->tat = (p->pace->tat > now ? p->pace->tat : now) +
			       MRC_EV_PROBE_GAP_NS;
	exp = ev->sub & MRC_EV_PROBE_EXP;
	if (probe_interval(p, ev) < cap_of(p) && exp < MRC_EV_PROBE_EXP)
		exp++;
	ev->sub = (u8)(MRC_EV_PROBE_OUT | (ev->sub & MRC_EV_PROBE_ONE) | exp);
	ev->probe_id = id;
	p->at[i] = time_after(now, probe_wait(p, ev));
	mrc_ev_share(p, (u16)i);
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
