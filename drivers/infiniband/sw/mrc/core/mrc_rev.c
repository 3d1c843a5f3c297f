// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reverse EVs, MRC 1.0 §11.8; the rules are in mrc_rev.h. */
#include "mrc_ev_priv.h"
#include "mrc_rev.h"

void mrc_rev_init(struct mrc_rev *rev, u64 seed)
{
	u8 port, i;

	memset(rev, 0, sizeof(*rev));
	rev->rng = seed;
	for (i = 0; i < MRC_REV_RECENT; i++)
		rev->sent[i].ev = MRC_REV_NONE;
	for (port = 0; port <= MRC_MAX_PORTS; port++)
		rev->plane[port].ev = MRC_REV_NONE;
}

static u64 interval(const struct mrc_rev *rev, const struct mrc_paths *p)
{
	u64 rtt = p->cfg.base_rtt > rev->rtt ? p->cfg.base_rtt : rev->rtt;

	return rtt > MRC_REV_MIN_NS ? rtt : MRC_REV_MIN_NS;
}

/* How long to wait for the answer to a probe. */
static u64 probe_timeout(const struct mrc_rev *rev, const struct mrc_paths *p)
{
	u64 least = interval(rev, p), wait = MRC_REV_WAIT_NS;
	u32 doubled = rev->unanswered;

	if (rev->rtt) {
		doubled /= MRC_REV_TRIES;
		if (wait < MRC_REV_WAIT * least)
			wait = MRC_REV_WAIT * least;
	}
	if (wait > p->cfg.rto)
		wait = p->cfg.rto;
	while (doubled-- && wait < MRC_REV_MAX_NS)
		wait *= 2;
	if (wait > MRC_REV_MAX_NS)
		wait = MRC_REV_MAX_NS;
	return wait > least ? wait : least;
}

static void confirm(struct mrc_rev *rev, const struct mrc_paths *p, u16 ev,
		    u64 now)
{
	struct mrc_rev_plane *plane = &rev->plane[mrc_paths_port(p, ev)];

	mrc_write_once(plane->at, mrc_ev_time(now));
	mrc_write_once(plane->ev, ev);
}

void mrc_rev_confirm(struct mrc_rev *rev, const struct mrc_paths *p, int ev,
		     u64 now)
{
	if (ev < 0 || ev >= p->n)
		return;
	confirm(rev, p, (u16)ev, now);
	mrc_write_once(rev->sacked_at, mrc_ev_time(now));
	mrc_write_once(rev->sacked, true);
}

void mrc_rev_inbound(struct mrc_rev *rev, u8 port)
{
	if (port <= MRC_MAX_PORTS)
		rev->inbound |= 1u << port;
}

/* How long a reverse EV is used after its confirmation, in units of 1.024 us. */
static u32 usable_time(const struct mrc_rev *rev, const struct mrc_paths *p)
{
	return mrc_ev_time(MRC_REV_FRESH * p->n_ports * interval(rev, p)) >> rev->broken;
}

/* The reverse EV of @port if it is still usable, else -1. */
static int fresh(const struct mrc_rev *rev, const struct mrc_paths *p, u8 port,
		 u64 now)
{
	const struct mrc_rev_plane *plane = &rev->plane[port];
	u32 age = mrc_ev_time(now) - mrc_read_once(plane->at);
	u16 ev = mrc_read_once(plane->ev);

	if (ev >= p->n || mrc_paths_port(p, ev) != port ||
	    mrc_paths_state(p, ev) != MRC_EV_GOOD ||
	    age > usable_time(rev, p))
		return -1;
	return ev;
}

static u8 port_after(const struct mrc_paths *p, u8 port)
{
	return port < p->n_ports ? (u8)(port + 1) : 1;
}

/* The reverse EV of the next plane after @port that has one, else -1. */
static int fresh_elsewhere(const struct mrc_rev *rev, const struct mrc_paths *p,
			   u8 port, u64 now)
{
	int ev = -1;
	u8 k;

	for (k = 1; k < p->n_ports && ev < 0; k++) {
		port = port_after(p, port);
		if (mrc_paths_port_up(p, port))
			ev = fresh(rev, p, port, now);
	}
	return ev;
}

int mrc_rev_pick(struct mrc_rev *rev, const struct mrc_paths *p, u8 port,
		 u64 now)
{
	int ev;

	if (!mrc_paths_port_up(p, port))
		port = 0;
	/* No EV is ever confirmed for port 0. */
	ev = fresh(rev, p, port, now);
	if (ev < 0 && rev->searching >> port & 1)
		ev = fresh_elsewhere(rev, p, port, now);
	if (ev < 0)
		ev = mrc_paths_pick_back(p, &rev->plane[port].cursor, port);
	return ev;
}

u8 mrc_rev_copy_port(struct mrc_rev *rev, const struct mrc_paths *p, u8 port, u8 copy)
{
	if (!copy) {
		if (!rev->copied)
			return 0;
		rev->copied--;
	}
	while (++copy <= p->n_ports)
		if (copy != port && mrc_paths_port_ok(p, copy))
			return copy;
	return 0;
}

u8 mrc_rev_beside(const struct mrc_paths *p, u8 port, u8 other)
{
	u8 left = 0, k;

	for (k = 0; k < p->n_ports; k++) {
		port = port_after(p, port);
		if (!mrc_paths_port_ok(p, port))
			continue;
		if (port != other)
			return port;
		left = port;
	}
	return left;
}

int mrc_rev_pick_again(struct mrc_rev *rev, const struct mrc_paths *p, u8 port)
{
	struct mrc_rev_plane *plane = &rev->plane[port];
	int ev = mrc_paths_pick_back(p, &plane->cursor, port);

	if (ev >= 0 && ev == mrc_read_once(plane->ev))
		ev = mrc_paths_pick_back(p, &plane->cursor, port);
	return ev;
}

int mrc_rev_pick_copy(struct mrc_rev *rev, const struct mrc_paths *p, u8 port, u64 now)
{
	int ev = fresh(rev, p, port, now);

	return ev >= 0 ? ev : mrc_paths_pick_back(p, &rev->plane[port].cursor, port);
}

/*
 * The next plane in turn, after that of the last probe, on which data came in; 0 if
 * none.
 */
static u8 next_plane(const struct mrc_rev *rev, const struct mrc_paths *p)
{
	u8 port = rev->probe_port;
	u8 k;

	for (k = 0; k < p->n_ports; k++) {
		port = port_after(p, port);
		if (rev->inbound >> port & 1 && mrc_paths_port_up(p, port))
			return port;
	}
	return 0;
}

int mrc_rev_probe_due(struct mrc_rev *rev, const struct mrc_paths *p, u64 now)
{
	u64 wait = interval(rev, p);
	u32 random, age;
	u16 cursor;
	u8 port;
	int ev;

	if (!rev->inbound)
		return -1;
	age = mrc_ev_time(now) - mrc_read_once(rev->sacked_at);
	if (mrc_read_once(rev->sacked) && age <= mrc_ev_time(wait))
		return -1;
	if (rev->probe_out)
		wait = probe_timeout(rev, p);
	if (rev->probe_at && now - rev->probe_at < wait)
		return -1;
	/* If no port of arrival is known, next_plane() is 0 and any plane is used. */
	port = next_plane(rev, p);
	random = mrc_ev_rand(&rev->rng);
	ev = fresh(rev, p, port, now);
	if (ev >= 0 && (random >> 16) % MRC_REV_EXPLORE)
		return ev;
	cursor = (u16)random;
	return mrc_paths_pick_back(p, &cursor, port);
}

/* The probe that is outstanding was not answered in time. */
static void probe_lost(struct mrc_rev *rev)
{
	struct mrc_rev_plane *plane = &rev->plane[rev->probe_port];

	if (rev->unanswered < 255)
		rev->unanswered++;
	/* Unless feedback through it has arrived since. */
	if (mrc_read_once(plane->ev) == rev->sent[rev->newest].ev &&
	    (s32)(mrc_read_once(plane->at) - rev->sent[rev->newest].at) <= 0) {
		mrc_write_once(plane->ev, MRC_REV_NONE);
		if (rev->broken < MRC_REV_HALVES)
			rev->broken++;
		rev->copied = MRC_REV_COPIED;
	}
	rev->searching |= 1u << rev->probe_port;
}

void mrc_rev_probe_sent(struct mrc_rev *rev, const struct mrc_paths *p, int ev,
			u16 id, u64 now)
{
	if (ev < 0 || ev >= p->n)
		return;
	if (rev->probe_out)
		probe_lost(rev);
	rev->probe_port = mrc_paths_port(p, (u16)ev);
	rev->newest = (rev->newest + 1) % MRC_REV_RECENT;
	rev->sent[rev->newest] = (struct mrc_rev_sent) {
		.at = mrc_ev_time(now),
		.id = id,
		.ev = (u16)ev,
	};
	rev->probe_out = true;
	rev->probe_at = now;
	rev->inbound = 0;
}

static struct mrc_rev_sent *sent_with(struct mrc_rev *rev, u16 id)
{
	u8 i;

	for (i = 0; i < MRC_REV_RECENT; i++)
		if (rev->sent[i].ev != MRC_REV_NONE && rev->sent[i].id == id)
			return &rev->sent[i];
	return NULL;
}

/* Planes have different RTTs, and the longest must not be forgotten at once. */
static void learn_rtt(struct mrc_rev *rev, u64 rtt)
{
	if (rtt < rev->rtt)
		rtt = (rtt + rev->rtt) / 2;
	rev->rtt = rtt < MRC_REV_MAX_NS ? rtt : MRC_REV_MAX_NS;
}

bool mrc_rev_response(struct mrc_rev *rev, const struct mrc_paths *p, u16 id,
		      u64 now)
{
	struct mrc_rev_sent *sent = sent_with(rev, id);
	u16 ev;
	u8 port;

	if (!sent)
		return false;
	ev = sent->ev;
	sent->ev = MRC_REV_NONE;
	if (sent == &rev->sent[rev->newest])
		rev->probe_out = false;
	rev->unanswered = 0;
	rev->broken = 0;
	rev->copied = 0;
	learn_rtt(rev, (u64)(mrc_ev_time(now) - sent->at) << 10);
	if (ev >= p->n)
		return true;
	port = mrc_paths_port(p, ev);
	/* That the reverse EV works says nothing of the others. */
	if (mrc_read_once(rev->plane[port].ev) != ev)
		rev->searching &= ~(1u << port);
	confirm(rev, p, ev, now);
	return true;
}
