// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Choice of the EV for the next packet, MRC 1.0 §11.5. Bitmaps over the shuffled order
 * turn every choice into a search for a set bit, however many EVs are in state SKIP or
 * ASSUMED_BAD.
 */
#include "mrc_ev_priv.h"

/* How many SKIP EVs are looked at for one packet. */
#define MRC_EV_SKIP_SEARCH	8u

/* A random number below @n. */
static u32 random_below(struct mrc_paths *p, u32 n)
{
	return (u32)((u64)mrc_ev_random(p) * n >> 32);
}

void mrc_spray_reorder(struct mrc_paths *p, u8 port)
{
	const struct mrc_ev_walk *w = &p->walk[port];
	u32 end = w->first + w->n;
	u32 pos, with;
	u16 tmp;

	for (pos = end; pos-- > w->first;) {
		with = w->first + random_below(p, pos - w->first + 1);
		tmp = p->order[pos];
		p->order[pos] = p->order[with];
		p->order[with] = tmp;
	}
	for (pos = w->first; pos < end; pos++) {
		p->pos[p->order[pos]] = (u16)pos;
		mrc_ev_map_clear(p->good_map, pos);
		mrc_ev_map_clear(p->skip_map, pos);
		mrc_ev_map_clear(p->bad_map, pos);
		mrc_ev_map_set(mrc_ev_map(p, p->ev[p->order[pos]].state), pos);
	}
}

/*
 * What the rotation has passed over for one packet
 * @seen: SKIP EVs, up to MRC_EV_SKIP_SEARCH
 * @soonest: the first one with the fewest turns left, -1 if none was seen
 * @left: how many turns these were; with 0 it passes this one only
 */
struct walk_passed {
	u32 seen;
	int soonest;
	u8 left;
};

/* Pass over the SKIP EVs in [@from, @to). */
static void walk_pass(struct mrc_paths *p, u32 from, u32 to, struct walk_passed *s)
{
	u32 pos = mrc_ev_map_find(p->skip_map, from, to);
	u16 i;

	for (; pos < to && s->seen < MRC_EV_SKIP_SEARCH;
	     pos = mrc_ev_map_find(p->skip_map, pos + 1, to), s->seen++) {
		i = p->order[pos];
		if (s->soonest < 0 || p->ev[i].skip.left < s->left) {
			s->soonest = i;
			s->left = p->ev[i].skip.left;
		}
		if (p->ev[i].skip.left)
			mrc_ev_passed(p, i);
	}
}

/*
 * One step of the rotation over the EVs of a port with usable EVs. The first SKIP EVs on
 * the way pass this turn; further ones are passed over without a change. One that passes no
 * more goes back to GOOD, with its copies, but at most one for each packet. If no EV is
 * GOOD, a SKIP one is taken, one rotation later.
 */
static int walk_port(struct mrc_paths *p, u8 port, u64 now)
{
	struct walk_passed s = { .soonest = -1 };
	struct mrc_ev_walk *w = &p->walk[port];
	u32 end = w->first + w->n;
	u32 good;
	u16 i;

	for (;;) {
		good = mrc_ev_map_find(p->good_map, w->cursor, end);
		if (good == end && s.soonest >= 0)
			good = p->pos[s.soonest];
		else
			walk_pass(p, w->cursor, good, &s);
		if (good < end)
			break;
		w->cursor = w->first;
		if (++w->rotations >= MRC_EV_RESHUFFLE) {
			w->rotations = 0;
			mrc_spray_reorder(p, port);
		}
	}
	i = p->order[good];
	w->cursor = (u16)(good + 1);
	if (s.soonest >= 0 && !s.left)
		mrc_ev_set_state(p, (u16)s.soonest, MRC_EV_GOOD, now);
	/* Without a GOOD one, the first that passes no more was taken. */
	if (i == s.soonest)
		mrc_ev_set_state(p, i, MRC_EV_GOOD, now);
	if (mrc_ev_seldom(&p->ev[i]))
		mrc_ev_set_state(p, i, MRC_EV_SKIP, now);
	return i;
}

static u8 port_after(const struct mrc_paths *p, u8 port)
{
	return port < p->n_ports ? (u8)(port + 1) : 1;
}

/* First set bit among the EVs of @w from @from on, wrapping around; -1 if none. */
static int find_round(const unsigned long *map, const struct mrc_ev_walk *w,
		      u32 from)
{
	u32 end = w->first + w->n;
	u32 pos = mrc_ev_map_find(map, from, end);

	if (pos == end)
		pos = mrc_ev_map_find(map, w->first, end);
	return pos == end ? -1 : (int)pos;
}

/*
 * No usable EV on any port that may be used. Traffic must not stop, so try the
 * ASSUMED_BAD EVs and, in turn with them, ports that the peer reported as down. Such a
 * report is no reason to stop: a port that works will answer.
 */
static int pick_bad(struct mrc_paths *p, u64 now)
{
	struct mrc_ev_walk *w;
	int pos;
	u8 port;
	u8 k;

	for (k = 0; k < p->n_ports; k++) {
		port = (u8)p->fallback;
		p->fallback = port_after(p, port);
		if (!mrc_paths_port_up(p, port))
			continue;
		w = &p->walk[port];
		if (w->usable)
			return walk_port(p, port, now);
		pos = find_round(p->bad_map, w, w->bad_cursor);
		if (pos >= 0) {
			w->bad_cursor = (u16)(pos + 1);
			return p->order[pos];
		}
	}
	return -1;
}

static int shuffle_pick(struct mrc_paths *p, u64 now)
{
	u8 port;
	u8 k;

	for (k = 0; k < p->n_ports; k++) {
		port = p->next_port;
		p->next_port = port_after(p, port);
		if (p->walk[port].usable && mrc_paths_port_ok(p, port))
			return walk_port(p, port, now);
	}
	return pick_bad(p, now);
}

const struct mrc_spray_ops mrc_spray_shuffle = {
	.name = "shuffle",
	.pick = shuffle_pick,
};

static const struct mrc_spray_ops *const mrc_spray_all[] = {
	&mrc_spray_shuffle,
};

const struct mrc_spray_ops *mrc_spray_find(const char *name)
{
	size_t i;

	if (!name)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(mrc_spray_all); i++) {
		if (!strcmp(mrc_spray_all[i]->name, name))
			return mrc_spray_all[i];
	}
	return NULL;
}

/* Runs ------------------------------------------------------------------------ */

/* The EV of the run, -1 if there is none or it must not be used any more. */
static int run_next(struct mrc_paths *p)
{
	struct mrc_ev_pace *pace = p->pace;
	u16 i = pace->run_ev;

	if (!pace->run_left)
		return -1;
	if (p->ev[i].state != MRC_EV_GOOD ||
	    !mrc_paths_port_ok(p, mrc_paths_port(p, i))) {
		pace->run_left = 0;
		return -1;
	}
	pace->run_left--;
	return i;
}

static u32 run_usable_ports(const struct mrc_paths *p)
{
	u32 mask = 0;
	u8 port;

	for (port = 1; port <= p->n_ports; port++) {
		if (p->walk[port].usable && mrc_paths_port_ok(p, port))
			mask |= 1u << port;
	}
	return mask;
}

/*
 * Runs differ in length, and with one port after the other a pattern of lengths could give
 * one port the long ones: let the next run take the port that has sent least. Between ports
 * with and without runs no balance is possible: then there are none in this batch.
 */
static void run_aim(struct mrc_paths *p)
{
	const u32 mask = run_usable_ports(p);
	struct mrc_ev_pace *pace = p->pace;
	u8 port, best = 0;
	u8 k;

	if (mask & ~pace->run_ports) {
		pace->run_ports = 0;
		return;
	}
	if (mask != pace->run_mask) {
		pace->run_mask = mask;
		for (port = 1; port <= p->n_ports; port++)
			p->walk[port].run_tx = 0;
	}
	for (k = 0, port = p->next_port; k < p->n_ports; k++, port = port_after(p, port)) {
		if (mask >> port & 1 &&
		    (!best || (s32)(p->walk[port].run_tx - p->walk[best].run_tx) < 0))
			best = port;
	}
	if (best)
		p->next_port = best;
}

static void run_begin(struct mrc_paths *p, int i)
{
	if (i >= 0 && p->ev[i].state == MRC_EV_GOOD) {
		p->pace->run_ev = (u16)i;
		p->pace->run_left = MRC_EV_RUN - 1;
	}
}

int mrc_paths_pick(struct mrc_paths *p, u64 now)
{
	int i = run_next(p);

	if (i < 0) {
		if (p->pace->run_ports)
			run_aim(p);
		/* Call the default method directly, not through a pointer. */
		if (p->ops == &mrc_spray_shuffle)
			i = shuffle_pick(p, now);
		else
			i = p->ops->pick(p, now);
		if (p->pace->run_ports)
			run_begin(p, i);
	}
	if (i >= 0) {
		if (p->pace->run_ports)
			mrc_ev_walk_of(p, (u16)i)->run_tx++;
		mrc_ev_sent(p, (u16)i);
		p->pace->flow_at = now;
	}
	return i;
}

/*
 * Position of an EV of @port set in @map, but not of @avoid or a copy of it; -1 if
 * there is none.
 */
static int pick_listed(struct mrc_paths *p, const unsigned long *map, u8 port,
		       int avoid)
{
	const struct mrc_ev_walk *w = &p->walk[port];
	int first, pos;

	/* Outside of the rotation, so that probes do not disturb the order of data. */
	first = find_round(map, w, w->first + random_below(p, w->n));
	pos = first;
	while (pos >= 0 && mrc_ev_same(p, p->order[pos], avoid)) {
		pos = find_round(map, w, (u32)pos + 1);
		if (pos == first)
			return -1;
	}
	return pos;
}

static int pick_usable(struct mrc_paths *p, u8 port, int avoid)
{
	int pos;

	/* An EV set may name ports that do not exist. */
	if (!mrc_paths_port_ok(p, port) || !p->walk[port].usable)
		return -1;
	pos = pick_listed(p, p->good_map, port, avoid);
	if (pos < 0)
		pos = pick_listed(p, p->skip_map, port, avoid);
	return pos;
}

int mrc_paths_pick_other(struct mrc_paths *p, int avoid, u64 now)
{
	bool known = avoid >= 0 && avoid < p->n;
	u8 home = known ? mrc_paths_port(p, (u16)avoid) : 0;
	u8 port = (u8)(random_below(p, p->n_ports) + 1);
	int pos = -1;
	u8 k;

	for (k = 0; k < p->n_ports && pos < 0; k++) {
		if (port != home)
			pos = pick_usable(p, port, -1);
		port = port_after(p, port);
	}
	if (pos < 0 && home)
		pos = pick_usable(p, home, avoid);
	if (pos < 0)
		return -1;
	mrc_ev_sent(p, p->order[pos]);
	return p->order[pos];
}

int mrc_paths_pick_away(struct mrc_paths *p, int from, u64 now)
{
	bool known = from >= 0 && from < p->n;
	u8 home = known ? mrc_paths_port(p, (u16)from) : 0;
	u8 port = (u8)(random_below(p, p->n_ports) + 1);
	int i;
	u8 k;

	for (k = 0; k < p->n_ports; k++, port = port_after(p, port)) {
		if (port == home || !p->walk[port].usable ||
		    !mrc_paths_port_ok(p, port))
			continue;
		i = walk_port(p, port, now);
		mrc_ev_sent(p, (u16)i);
		return i;
	}
	return mrc_paths_pick(p, now);
}

int mrc_spray_any(struct mrc_paths *p, u8 port)
{
	static const u8 states[] = {
		MRC_EV_GOOD, MRC_EV_SKIP, MRC_EV_ASSUMED_BAD
	};
	int pos = -1;
	u8 k;

	if (!p->walk[port].n)
		return -1;
	for (k = 0; k < ARRAY_SIZE(states) && pos < 0; k++)
		pos = pick_listed(p, mrc_ev_map(p, states[k]), port, -1);
	return pos < 0 ? -1 : p->order[pos];
}

#define STATE_BIT(s)		(1u << (s))

/*
 * First EV from @from on with a state in @states and a port in @ports. Uses the fixed
 * order of the EVs, because the requester owns the shuffled order and may be changing
 * it.
 */
static int ctrl_scan(const struct mrc_paths *p, u32 from, u32 ports, u32 states)
{
	u16 i = (u16)(from % p->n);
	u8 on;
	u32 k;

	for (k = 0; k < p->n; k++) {
		on = mrc_paths_port(p, i);
		if (on <= MRC_MAX_PORTS && ports >> on & 1 &&
		    states & STATE_BIT(mrc_paths_state(p, i)))
			return i;
		i = i + 1 < p->n ? i + 1 : 0;
	}
	return -1;
}

static int ctrl_pick(const struct mrc_paths *p, u16 *cursor, u32 prefer)
{
	const u32 good = STATE_BIT(MRC_EV_GOOD);
	const u32 bad = STATE_BIT(MRC_EV_SKIP) | STATE_BIT(MRC_EV_ASSUMED_BAD);
	const u32 denied = STATE_BIT(MRC_EV_DENIED);
	u32 up = mrc_read_once(p->ports_up);
	u32 ok = up & mrc_read_once(p->peer_ports);
	int i = -1;

	/* A peer may report all of its ports as down and still answer. */
	if (!ok)
		ok = up;
	if (prefer)
		i = ctrl_scan(p, *cursor, prefer, good);
	if (i < 0)
		i = ctrl_scan(p, *cursor, ok, good);
	if (i < 0)
		i = ctrl_scan(p, *cursor, ok, bad);
	/*
	 * Denied for data, but sending feedback is better than not sending it, OP-30.
	 */
	if (i < 0)
		i = ctrl_scan(p, *cursor, ok, denied);
	if (i < 0)
		i = ctrl_scan(p, *cursor, up, good | bad | denied);
	if (i >= 0)
		*cursor = (u16)(i + 1);
	return i;
}

int mrc_paths_pick_ctrl(const struct mrc_paths *p, u16 *cursor, u8 port)
{
	return ctrl_pick(p, cursor,
			 mrc_paths_port_ok(p, port) ? 1u << port : 0);
}

int mrc_paths_pick_back(const struct mrc_paths *p, u16 *cursor, u8 port)
{
	return ctrl_pick(p, cursor,
			 mrc_paths_port_up(p, port) ? 1u << port : 0);
}
