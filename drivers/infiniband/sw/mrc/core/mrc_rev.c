// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reverse EVs, MRC 1.0 §11.8; the rules are in mrc_rev.h. */
#include "mrc_ev_priv.h"
#include "mrc_rev.h"

void mrc_rev_init(struct mrc_rev *rev, u64 seed)
{
	u8 port;

	memset(rev, 0, sizeof(*rev));
	rev->rng = seed;
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
	u64 wait = interval(rev, p);

	return p->cfg.rto > wait ? p->cfg.rto : wait;
}

static void confirm(struct mrc_rev *rev, const struct mrc_paths *p, u16 ev,
		    u64 now)
{
	struct mrc_rev_plane *plane;

	plane = &rev->plane[mrc_paths_port(p, ev)];
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

/* The reverse EV of @port if it is still usable, else -1. */
static int fresh(const struct mrc_rev *rev, const struct mrc_paths *p, u8 port,
		 u64 now)
{
	const struct mrc_rev_plane *plane = &rev->plane[port];
	u32 age = mrc_ev_time(now) - mrc_read_once(plane->at);
	u16 ev = mrc_read_once(plane->ev);

	if (ev >= p->n || mrc_paths_port(p, ev) != port ||
	    mrc_paths_state(p, ev) != MRC_EV_GOOD ||
	    age > mrc_ev_time(MRC_REV_FRESH * interval(rev, p)))
		return -1;
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
	if (ev < 0)
		ev = mrc_paths_pick_back(p, &rev->plane[port].cursor, port);
	return ev;
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
		port = port < p->n_ports ? (u8)(port + 1) : 1;
		if (rev->inbound >> port & 1 && mrc_paths_port_up(p, port))
			return port;
	}
	return 0;
}

int mrc_rev_probe_due(struct mrc_rev *rev, const struct mrc_paths *p, u64 now)
{
	u64 wait = interval(rev, p);
	u16 cursor;
	u32 age;

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
	cursor = (u16)mrc_ev_rand(&rev->rng);
	return mrc_paths_pick_back(p, &cursor, next_plane(rev, p));
}

void mrc_rev_probe_sent(struct mrc_rev *rev, const struct mrc_paths *p, int ev,
			u16 id, u64 now)
{
	if (ev < 0 || ev >= p->n)
		return;
	if (rev->probe_out) {	/* the previous probe was not answered */
		rev->rtt = 2 * probe_timeout(rev, p);
		if (rev->rtt > MRC_REV_MAX_NS)
			rev->rtt = MRC_REV_MAX_NS;
	}
	rev->probe_port = mrc_paths_port(p, (u16)ev);
	rev->probe_ev = (u16)ev;
	rev->probe_id = id;
	rev->probe_out = true;
	rev->probe_at = now;
	rev->inbound = 0;
}

bool mrc_rev_response(struct mrc_rev *rev, const struct mrc_paths *p, u16 id,
		      u64 now)
{
	if (!rev->probe_out || rev->probe_id != id)
		return false;
	rev->probe_out = false;
	rev->rtt = now - rev->probe_at;
	if (rev->rtt > MRC_REV_MAX_NS)
		rev->rtt = MRC_REV_MAX_NS;
	if (rev->probe_ev < p->n)
		confirm(rev, p, rev->probe_ev, now);
	return true;
}
