// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * EV sets: how they are made, the state machine of MRC 1.0 §11.6, probing of
 * condemned EVs. mrc_spray.c chooses among them.
 */
#include "mrc_ev_priv.h"
#include "mrc_req.h"

#define SPORT_FIRST		0xC000u
#define SPORT_MASK		0x3FFFu
#define HASH_EMPTY		0xFFFFu
#define NO_PROBE		(~0ull)
/* Due since ever; 0 is kept free for "never happened". */
#define PROBE_AT_ONCE		1ull

/*
 * Two inferred losses closer than this many base RTTs condemn an EV, OP-41. At
 * low rates an EV has its turn less often than that; there the packets sent on
 * it in between tell a dead path from a lossy one.
 */
#define LOSS_PAIR_RTTS		4
#define LOSS_PAIR_PKTS		4u

static u16 set_size(const struct mrc_paths_cfg *cfg)
{
	u32 per = (cfg->n_evs + cfg->n_ports - 1u) / cfg->n_ports;

	if (per * cfg->n_ports > MRC_EV_MAX)
		per = MRC_EV_MAX / cfg->n_ports;
	return (u16)(per * cfg->n_ports);
}

static bool cfg_ok(const struct mrc_paths_cfg *cfg)
{
	return cfg->n_evs && cfg->n_evs <= MRC_EV_MAX && cfg->n_ports &&
	       cfg->n_ports <= MRC_MAX_PORTS &&
	       cfg->min_active <= set_size(cfg);
}

/* At most half full. */
static u32 hash_size(u16 n)
{
	u32 size = 2;

	while (size < 2u * n)
		size *= 2;
	return size;
}

static u32 map_longs(u16 n)
{
	return (n + MRC_EV_BPL - 1) / MRC_EV_BPL;
}

size_t mrc_paths_mem(const struct mrc_paths_cfg *cfg)
{
	u16 n;

	if (!cfg_ok(cfg))
		return 0;
	n = set_size(cfg);
	return n * sizeof(struct mrc_ev) +
	       3 * map_longs(n) * sizeof(unsigned long) +
	       (2u * n + hash_size(n)) * sizeof(u16);
}

/* splitmix64: good enough to keep QPs from synchronising, and tiny. */
u32 mrc_ev_random(struct mrc_paths *p)
{
	u64 z;

	p->rng += 0x9E3779B97F4A7C15ull;
	z = p->rng;
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return (u32)(z >> 32 ^ z);
}

/* Source ports are unique within a set, so they alone are the key. */
static u32 hash_slot(const struct mrc_paths *p, u32 entropy)
{
	return (entropy & 0xFFFF) * 0x9E3779B1u >> 16 & p->hash_mask;
}

/* Slot that holds the source port of @entropy, or the free one for it. */
static u32 hash_probe(const struct mrc_paths *p, u32 entropy)
{
	u32 slot = hash_slot(p, entropy);

	while (p->hash[slot] != HASH_EMPTY &&
	       (u16)p->ev[p->hash[slot]].entropy != (u16)entropy)
		slot = (slot + 1) & p->hash_mask;
	return slot;
}

static void make_entropy(struct mrc_paths *p, u16 i)
{
	u32 slot, label, entropy;

	do {
		entropy = SPORT_FIRST | (mrc_ev_random(p) & SPORT_MASK);
		slot = hash_probe(p, entropy);
	} while (p->hash[slot] != HASH_EMPTY);
	p->hash[slot] = i;

	/* A flow label of 0 would mean "not labelled" to switches. */
	if (p->cfg.ipv6) {
		do {
			label = mrc_ev_random(p) & 0xFFFF;
		} while (!label);
		entropy |= label << 16;
	}
	p->ev[i].entropy = entropy;
}

static void make_walk(struct mrc_paths *p, u8 port)
{
	struct mrc_ev_walk *w = &p->walk[port];
	u16 k;

	w->n = p->n / p->n_ports;
	w->first = (u16)(w->n * (port - 1));
	w->usable = w->n;
	w->cursor = w->first;
	w->bad_cursor = w->first;
	for (k = 0; k < w->n; k++)
		p->order[w->first + k] = (u16)(k * p->n_ports + port - 1);
	mrc_spray_reorder(p, port);
}

int mrc_paths_init(struct mrc_paths *p, const struct mrc_paths_cfg *cfg,
		   void *mem)
{
	u32 size;
	u8 port;
	u16 i;

	if (!cfg_ok(cfg) || !mem)
		return -EINVAL;
	memset(p, 0, sizeof(*p));
	memset(mem, 0, mrc_paths_mem(cfg));
	p->cfg = *cfg;
	p->ops = &mrc_spray_shuffle;
	p->n = set_size(cfg);
	p->n_ports = cfg->n_ports;
	p->min_active = cfg->min_active ? cfg->min_active : p->n / 4;
	p->ports_up = (2u << p->n_ports) - 2;
	p->peer_ports = ~0u;
	p->probe_next = NO_PROBE;
	p->rng = cfg->seed;
	mrc_paths_set_rtt(p, cfg->base_rtt, cfg->rto);

	size = hash_size(p->n);
	p->hash_mask = (u16)(size - 1);
	p->ev = mem;
	p->good_map = (unsigned long *)(p->ev + p->n);
	p->skip_map = p->good_map + map_longs(p->n);
	p->bad_map = p->skip_map + map_longs(p->n);
	p->order = (u16 *)(p->bad_map + map_longs(p->n));
	p->pos = p->order + p->n;
	p->hash = p->pos + p->n;
	memset(p->hash, 0xFF, size * sizeof(*p->hash));

	for (i = 0; i < p->n; i++) {
		p->ev[i].port = (u8)(i % p->n_ports + 1);
		p->ev[i].state = MRC_EV_GOOD;
		make_entropy(p, i);
	}
	for (port = 1; port <= p->n_ports; port++)
		make_walk(p, port);
	p->next_port = (u8)(mrc_ev_random(p) % p->n_ports + 1);
	p->fallback = p->next_port;
	return 0;
}

int mrc_paths_find(const struct mrc_paths *p, u32 entropy)
{
	u32 i = p->hash[hash_probe(p, entropy)];

	if (i == HASH_EMPTY)
		return -1;
	if (p->cfg.ipv6 && p->ev[i].entropy != entropy)
		return -1;
	return (int)i;
}

static u64 rto_of(const struct mrc_paths *p)
{
	return p->cfg.rto;
}

void mrc_paths_set_rtt(struct mrc_paths *p, u64 base_rtt, u64 rto)
{
	p->cfg.base_rtt = base_rtt ? base_rtt : MRC_BASE_RTT_DEFAULT;
	p->cfg.rto = rto ? rto : MRC_EV_RTO_DEFAULT;
}

bool mrc_paths_port_ok(const struct mrc_paths *p, u8 port)
{
	u32 mask = mrc_read_once(p->ports_up) & mrc_read_once(p->peer_ports);

	return port >= 1 && port <= p->n_ports && (mask >> port & 1);
}

/* When something is to be done about a condemned EV. */
static u64 probe_time(const struct mrc_paths *p, const struct mrc_ev *ev)
{
	if (ev->probe_out || mrc_paths_port_ok(p, ev->port))
		return ev->probe_at;
	return NO_PROBE;
}

static void probe_rescan(struct mrc_paths *p)
{
	u64 at, min = NO_PROBE;
	u32 pos;

	for (pos = mrc_ev_map_find(p->bad_map, 0, p->n); pos < p->n;
	     pos = mrc_ev_map_find(p->bad_map, pos + 1, p->n)) {
		at = probe_time(p, &p->ev[p->order[pos]]);
		if (at < min)
			min = at;
	}
	p->probe_next = min;
}

/* Ports that may be used changed; no EV changes state. */
static void ports_changed(struct mrc_paths *p, u32 was)
{
	u32 is = p->ports_up & p->peer_ports;
	struct mrc_ev *ev;
	u32 pos;

	for (pos = mrc_ev_map_find(p->bad_map, 0, p->n); pos < p->n;
	     pos = mrc_ev_map_find(p->bad_map, pos + 1, p->n)) {
		ev = &p->ev[p->order[pos]];
		/*
		 * What was learnt about a path before its link came back says
		 * little now: ask at once, and often again.
		 */
		if ((is & ~was) >> ev->port & 1 && !ev->probe_out) {
			ev->probe_ivl = rto_of(p);
			ev->probe_at = PROBE_AT_ONCE;
		}
	}
	probe_rescan(p);
}

void mrc_paths_set_ports(struct mrc_paths *p, u32 ports_up)
{
	u32 was = p->ports_up & p->peer_ports;

	mrc_write_once(p->ports_up, ports_up & ((2u << p->n_ports) - 2));
	ports_changed(p, was);
}

void mrc_paths_set_peer_ports(struct mrc_paths *p, u32 mask)
{
	u32 was = p->ports_up & p->peer_ports;

	mrc_write_once(p->peer_ports, mask);
	ports_changed(p, was);
}

static bool is_usable(u8 state)
{
	return state == MRC_EV_GOOD || state == MRC_EV_SKIP;
}

/* What a controller sees: SKIP is not visible, §11.6. */
static u8 visible(u8 state)
{
	return state == MRC_EV_SKIP ? (u8)MRC_EV_GOOD : state;
}

static void count_transition(struct mrc_paths *p, u8 port, u8 from, u8 to)
{
	struct mrc_counters *ctr = p->cfg.ctr;

	if (from == MRC_EV_ASSUMED_BAD && is_usable(to))
		mrc_ctr_add(ctr, port, MRC_CTR_EV_GOOD, 1);
	if (to == MRC_EV_SKIP)
		mrc_ctr_add(ctr, port, MRC_CTR_EV_SKIP, 1);
	else if (to == MRC_EV_ASSUMED_BAD)
		mrc_ctr_add(ctr, port, MRC_CTR_EV_BAD, 1);
	else if (to == MRC_EV_DENIED)
		mrc_ctr_add(ctr, port, MRC_CTR_EV_DENIED, 1);
}

void mrc_ev_set_state(struct mrc_paths *p, u16 i, u8 to, u64 now)
{
	struct mrc_ev *ev = &p->ev[i];
	struct mrc_ev_walk *w = &p->walk[ev->port];
	u8 from = ev->state;

	if (from == to)
		return;
	mrc_ev_map_clear(mrc_ev_map(p, from), p->pos[i]);
	mrc_ev_map_set(mrc_ev_map(p, to), p->pos[i]);
	w->usable = (u16)(w->usable + is_usable(to) - is_usable(from));
	p->bad = (u16)(p->bad + (to == MRC_EV_ASSUMED_BAD) -
		       (from == MRC_EV_ASSUMED_BAD));
	p->denied = (u16)(p->denied + (to == MRC_EV_DENIED) -
			  (from == MRC_EV_DENIED));
	mrc_write_once(ev->state, to);

	if (to == MRC_EV_ASSUMED_BAD) {
		ev->probe_good = 0;
		ev->probe_ivl = rto_of(p);
		ev->probe_at = now + rto_of(p);
		if (probe_time(p, ev) < p->probe_next)
			p->probe_next = ev->probe_at;
	} else if (from == MRC_EV_ASSUMED_BAD) {
		ev->probe_out = false;
		ev->last_loss = 0;
		probe_rescan(p);
	}

	count_transition(p, ev->port, from, to);
	if (p->cfg.on_state && visible(from) != visible(to))
		p->cfg.on_state(p->cfg.ctx, p, i, from, to);
}

/* GOOD, SKIP -> ASSUMED_BAD, unless too few EVs would remain. */
static void condemn(struct mrc_paths *p, u16 i, u64 now)
{
	u32 usable = (u32)p->n - p->bad - p->denied;

	if (!is_usable(p->ev[i].state) || usable <= p->min_active)
		return;
	mrc_ev_set_state(p, i, MRC_EV_ASSUMED_BAD, now);
}

static void steer_away(struct mrc_paths *p, u16 i, u64 now)
{
	if (p->ev[i].state == MRC_EV_GOOD)
		mrc_ev_set_state(p, i, MRC_EV_SKIP, now);
}

static bool second_loss(const struct mrc_paths *p, const struct mrc_ev *ev,
			u64 now)
{
	return ev->last_loss &&
	       (now - ev->last_loss <= LOSS_PAIR_RTTS * p->cfg.base_rtt ||
		ev->tx - ev->loss_tx <= LOSS_PAIR_PKTS);
}

static void on_loss(struct mrc_paths *p, u16 i, u64 now)
{
	struct mrc_ev *ev = &p->ev[i];
	/* Where trims are not answered, congestion looks just like a loss. */
	bool bad = p->cfg.trim_nack || second_loss(p, ev, now);

	ev->drops++;
	ev->last_loss = now;
	ev->loss_tx = ev->tx;
	if (bad)
		condemn(p, i, now);
	else
		steer_away(p, i, now);
}

static void on_probe_ok(struct mrc_paths *p, u16 i, u64 now)
{
	struct mrc_ev *ev = &p->ev[i];

	if (ev->state != MRC_EV_ASSUMED_BAD)
		return;
	if (++ev->probe_good >= MRC_EV_PROBES_GOOD) {
		mrc_ev_set_state(p, i, MRC_EV_GOOD, now);
		return;
	}
	/* A sign of life: do not let the next try wait for a long interval. */
	ev->probe_out = false;
	ev->probe_ivl = rto_of(p);
	ev->probe_at = now + rto_of(p);
	probe_rescan(p);
}

/* No reply, or one that condemns the path; @wait: until the next probe. */
static void probe_again(struct mrc_paths *p, u16 i, u64 now, u64 wait)
{
	struct mrc_ev *ev = &p->ev[i];

	if (ev->state != MRC_EV_ASSUMED_BAD)
		return;
	ev->probe_good = 0;
	if (!ev->probe_out)
		return;
	ev->probe_out = false;
	ev->probe_at = now + wait;
	probe_rescan(p);
}

void mrc_paths_verdict(struct mrc_paths *p, int i, enum mrc_ev_verdict v,
		       u64 now)
{
	struct mrc_ev *ev;
	u16 e = (u16)i;
	u64 wait;

	if (i < 0 || i >= p->n)
		return;
	ev = &p->ev[e];
	switch (v) {
	case MRC_EVV_CE:
	case MRC_EVV_TRIM:
		steer_away(p, e, now);
		break;
	case MRC_EVV_CONDEMNED:
		condemn(p, e, now);
		break;
	case MRC_EVV_LOSS:
		on_loss(p, e, now);
		break;
	case MRC_EVV_TIMEOUT:
		ev->drops++;
		condemn(p, e, now);
		break;
	case MRC_EVV_PROBE_OK:
		on_probe_ok(p, e, now);
		break;
	case MRC_EVV_PROBE_CE:
		if (ev->state == MRC_EV_ASSUMED_BAD)
			mrc_ev_set_state(p, e, MRC_EV_SKIP, now);
		else
			steer_away(p, e, now);
		break;
	case MRC_EVV_PROBE_BAD:
		condemn(p, e, now);
		probe_again(p, e, now, ev->probe_ivl);
		break;
	case MRC_EVV_PROBE_LOST:
		/* The interval runs from the transmission, one RTO ago. */
		wait = ev->probe_ivl > rto_of(p) ? ev->probe_ivl - rto_of(p) : 0;
		probe_again(p, e, now, wait);
		break;
	case MRC_EVV_DENY:
		mrc_ev_set_state(p, e, MRC_EV_DENIED, now);
		break;
	case MRC_EVV_ALLOW:
		if (ev->state == MRC_EV_DENIED)
			mrc_ev_set_state(p, e, MRC_EV_GOOD, now);
		break;
	default:
		break;
	}
}

u64 mrc_paths_next_probe(const struct mrc_paths *p)
{
	return p->probe_next;
}

int mrc_paths_probe_due(struct mrc_paths *p, u64 now)
{
	struct mrc_ev *ev;
	u64 first = now;
	int due = -1;
	u32 pos;

	if (now < p->probe_next)
		return -1;
	for (pos = mrc_ev_map_find(p->bad_map, 0, p->n); pos < p->n;
	     pos = mrc_ev_map_find(p->bad_map, pos + 1, p->n)) {
		ev = &p->ev[p->order[pos]];
		if (ev->probe_out && ev->probe_at <= now)
			mrc_paths_verdict(p, p->order[pos],
					  MRC_EVV_PROBE_LOST, now);
		if (ev->probe_out || !mrc_paths_port_ok(p, ev->port))
			continue;
		if (ev->probe_at <= first) {
			first = ev->probe_at;
			due = p->order[pos];
		}
	}
	return due;
}

void mrc_paths_probe_sent(struct mrc_paths *p, int i, u16 id, u64 now)
{
	u64 cap = rto_of(p) > MRC_EV_PROBE_MAX_NS ? rto_of(p) : MRC_EV_PROBE_MAX_NS;
	struct mrc_ev *ev;

	if (i < 0 || i >= p->n)
		return;
	ev = &p->ev[i];
	ev->tx++;
	if (ev->state != MRC_EV_ASSUMED_BAD)
		return;
	ev->probe_out = true;
	ev->probe_id = id;
	ev->probe_at = now + rto_of(p);
	ev->probe_ivl = 2 * ev->probe_ivl < cap ? 2 * ev->probe_ivl : cap;
	probe_rescan(p);
}

int mrc_paths_probe_match(const struct mrc_paths *p, u16 id)
{
	u32 pos;
	u16 i;

	for (pos = mrc_ev_map_find(p->bad_map, 0, p->n); pos < p->n;
	     pos = mrc_ev_map_find(p->bad_map, pos + 1, p->n)) {
		i = p->order[pos];
		if (p->ev[i].probe_out && p->ev[i].probe_id == id)
			return i;
	}
	return -1;
}
