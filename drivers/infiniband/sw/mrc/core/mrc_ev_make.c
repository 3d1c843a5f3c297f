// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creation of the EVs of a QP, and their values. No values are stored per QP: the set
 * of a profile is shared, and AUTO entropies are computed. The tables of EV states are
 * added when the QP gets a requester.
 */
#include "mrc_ev_priv.h"
#include "mrc_req.h"

#define SPORT_FIRST		0xC000u
#define SPORT_BITS		14
#define SPORT_MASK		((1u << SPORT_BITS) - 1)
/* Value of @sub, while mrc_paths_update() runs, of a new entry, GOOD or DENIED. */
#define SUB_ARRIVED		0xFFu

static u16 set_size(const struct mrc_paths_cfg *cfg)
{
	u32 per;

	if (cfg->set)
		return cfg->set->n;
	per = (cfg->n_evs + cfg->n_ports - 1u) / cfg->n_ports;
	if (per * cfg->n_ports > MRC_EV_MAX)
		per = MRC_EV_MAX / cfg->n_ports;
	return (u16)(per * cfg->n_ports);
}

static bool cfg_ok(const struct mrc_paths_cfg *cfg)
{
	if (!cfg->n_ports || cfg->n_ports > MRC_MAX_PORTS)
		return false;
	if (cfg->set)
		return cfg->set->n && cfg->set->n <= MRC_EV_MAX &&
		       mrc_evset_fits(cfg->set, cfg->ipv6);
	return cfg->n_evs && cfg->n_evs <= MRC_EV_MAX &&
	       cfg->min_active <= set_size(cfg);
}

static u32 map_longs(u16 n)
{
	return (n + MRC_EV_BPL - 1) / MRC_EV_BPL;
}

static size_t tables_mem(u16 n, u8 n_ports)
{
	return 3 * map_longs(n) * sizeof(unsigned long) +
	       sizeof(struct mrc_ev_pace) +
	       (n_ports + 1u) * sizeof(struct mrc_ev_walk) +
	       n * (sizeof(u32) + sizeof(struct mrc_ev) + 2 * sizeof(u16));
}

size_t mrc_paths_mem(const struct mrc_paths_cfg *cfg)
{
	return cfg_ok(cfg) ? tables_mem(set_size(cfg), cfg->n_ports) : 0;
}

size_t mrc_paths_tables(const struct mrc_paths *p)
{
	return tables_mem(p->n, p->n_ports);
}

/* splitmix64: good enough to keep QPs from synchronising, and tiny. */
u32 mrc_ev_rand(u64 *state)
{
	u64 z;

	*state += 0x9E3779B97F4A7C15ull;
	z = *state;
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return (u32)(z >> 32 ^ z);
}

/* The inverse of @odd modulo 2^16, by Newton's method. */
static u16 inverse(u16 odd)
{
	u32 inv = odd;	/* correct in the lowest 3 bits; each step doubles them */
	int k;

	for (k = 0; k < 3; k++)
		inv *= 2 - odd * inv;
	return (u16)inv;
}

static void gen_init(struct mrc_paths *p)
{
	struct mrc_ev_auto *gen = &p->gen;
	u32 r;
	int k;

	for (k = 0; k < 2; k++) {
		r = mrc_ev_random(p);
		gen->mul[k] = (u16)(r | 1);
		gen->inv[k] = inverse(gen->mul[k]);
		gen->add[k] = (u16)(r >> 16);
	}
	gen->label = mrc_ev_random(p);
}

/*
 * The UDP source port of index @x: a bijection on the numbers below 2^14 that scatters
 * neighbours. So UDP source ports are unique within a QP, and gen_index() finds the
 * index without a table. x ^= x >> 7 is its own inverse, as it keeps the upper half.
 */
static u32 gen_sport(const struct mrc_ev_auto *gen, u32 x)
{
	int k;

	for (k = 0; k < 2; k++) {
		x = (x * gen->mul[k] + gen->add[k]) & SPORT_MASK;
		x ^= x >> SPORT_BITS / 2;
	}
	return SPORT_FIRST | x;
}

static u32 gen_index(const struct mrc_ev_auto *gen, u32 sport)
{
	u32 x = sport & SPORT_MASK;
	int k;

	for (k = 1; k >= 0; k--) {
		x ^= x >> SPORT_BITS / 2;
		x = (x - gen->add[k]) * gen->inv[k] & SPORT_MASK;
	}
	return x;
}

/* A flow label of 0 would mean "not labelled" to switches. */
static u32 gen_label(const struct mrc_ev_auto *gen, u32 i)
{
	u32 x = (i ^ gen->label) * 0x9E3779B1u;

	x = (x ^ x >> 15) * 0x85EBCA77u;
	x = (x ^ x >> 13) & 0xFFFF;
	return x ? x : 0xFFFF;
}

u32 mrc_paths_entropy(const struct mrc_paths *p, u16 i)
{
	u32 entropy;

	if (p->cfg.set)
		return p->cfg.set->ev[i].entropy;
	entropy = gen_sport(&p->gen, i);
	if (p->cfg.ipv6)
		entropy |= gen_label(&p->gen, i) << 16;
	return entropy;
}

u8 mrc_paths_port(const struct mrc_paths *p, u16 i)
{
	if (p->cfg.set)
		return p->cfg.set->ev[i].port;
	return (u8)(i % p->n_ports + 1);
}

/* The initial state of EV @i. */
static u8 first_state(const struct mrc_evset *set, u16 i)
{
	return set && set->ev[i].denied ? MRC_EV_DENIED : MRC_EV_GOOD;
}

u8 mrc_paths_state(const struct mrc_paths *p, u16 i)
{
	if (!p->ev)
		return first_state(p->cfg.set, i);
	return mrc_read_once(p->ev[i].state);
}

u16 mrc_paths_drops(const struct mrc_paths *p, u16 i)
{
	return p->ev ? p->ev[i].drops : 0;
}

u32 mrc_paths_port_tx(const struct mrc_paths *p, u8 port)
{
	return p->ev && port <= p->n_ports ? p->walk[port].tx : 0;
}

int mrc_paths_find(const struct mrc_paths *p, u32 entropy)
{
	u32 i;

	if (p->cfg.set)
		return mrc_evset_find(p->cfg.set, entropy, p->cfg.ipv6);
	i = gen_index(&p->gen, entropy);
	if (i >= p->n)
		return -1;
	if (!p->cfg.ipv6)
		entropy &= 0xFFFF;
	return mrc_paths_entropy(p, (u16)i) == entropy ? (int)i : -1;
}

/* Group the EVs by port, shuffle each group, count the EVs in each state. */
static void make_walks(struct mrc_paths *p)
{
	u16 fill[MRC_MAX_PORTS + 1];
	struct mrc_ev_walk *w;
	u16 first = 0;
	u8 port, state;
	u16 i;

	for (port = 0; port <= p->n_ports; port++) {
		p->walk[port].n = 0;
		p->walk[port].usable = 0;
	}
	p->bad = 0;
	p->denied = 0;
	for (i = 0; i < p->n; i++) {
		w = mrc_ev_walk_of(p, i);
		state = p->ev[i].state;
		w->n++;
		w->usable = (u16)(w->usable + mrc_ev_usable(state));
		p->bad = (u16)(p->bad + (state == MRC_EV_ASSUMED_BAD));
		p->denied = (u16)(p->denied + (state == MRC_EV_DENIED));
	}
	for (port = 0; port <= p->n_ports; port++) {
		w = &p->walk[port];
		w->first = first;
		w->cursor = first;
		w->bad_cursor = first;
		fill[port] = first;
		first = (u16)(first + w->n);
	}
	for (i = 0; i < p->n; i++)
		p->order[fill[mrc_ev_walk_of(p, i) - p->walk]++] = i;
	for (port = 0; port <= p->n_ports; port++)
		mrc_spray_reorder(p, port);
}

static void fresh_ev(struct mrc_paths *p, u16 i, u8 state)
{
	struct mrc_ev *ev = &p->ev[i];

	memset(ev, 0, sizeof(*ev));
	mrc_write_once(ev->state, state);
	p->at[i] = 0;
}

int mrc_paths_prepare(struct mrc_paths *p, const struct mrc_paths_cfg *cfg)
{
	const struct mrc_evset *set = cfg->set;

	if (!cfg_ok(cfg))
		return -EINVAL;
	memset(p, 0, sizeof(*p));
	p->cfg = *cfg;
	p->ops = &mrc_spray_shuffle;
	p->n = set_size(cfg);
	p->n_ports = cfg->n_ports;
	if (set)
		p->min_active = set->min_active;
	else
		p->min_active = cfg->min_active ? cfg->min_active : p->n / 4;
	p->ports_up = (2u << p->n_ports) - 2;
	p->peer_ports = ~0u;
	p->reported_ports = ~0u;
	p->probe_next = MRC_EV_NO_PROBE;
	p->rng = cfg->seed;
	mrc_paths_set_rtt(p, cfg->base_rtt, cfg->rto);
	gen_init(p);
	p->next_port = (u8)(mrc_ev_random(p) % p->n_ports + 1);
	p->fallback = p->next_port;
	return 0;
}

void mrc_paths_add_tables(struct mrc_paths *p, void *mem)
{
	struct mrc_ev *ev;
	u16 i;

	memset(mem, 0, mrc_paths_tables(p));
	p->good_map = mem;
	p->skip_map = p->good_map + map_longs(p->n);
	p->bad_map = p->skip_map + map_longs(p->n);
	p->pace = (struct mrc_ev_pace *)(p->bad_map + map_longs(p->n));
	p->walk = (struct mrc_ev_walk *)(p->pace + 1);
	p->at = (u32 *)(p->walk + p->n_ports + 1);
	ev = (struct mrc_ev *)(p->at + p->n);
	p->order = (u16 *)(ev + p->n);
	p->pos = p->order + p->n;

	p->ev = ev;
	for (i = 0; i < p->n; i++)
		fresh_ev(p, i, first_state(p->cfg.set, i));
	make_walks(p);
	mrc_ev_peer_add_tables(p);
}

int mrc_paths_init(struct mrc_paths *p, const struct mrc_paths_cfg *cfg,
		   void *mem)
{
	int ret = mem ? mrc_paths_prepare(p, cfg) : -EINVAL;

	if (!ret)
		mrc_paths_add_tables(p, mem);
	return ret;
}

/*
 * Are the entries the same path? For SRv6 this compares values, because the entropy of
 * an SRv6 EV does not depend on its value.
 */
static bool same_entry(const struct mrc_evset *a, u16 i,
		       const struct mrc_evset *b, u16 j)
{
	if (a->ev[i].port != b->ev[j].port || !a->addr != !b->addr)
		return false;
	if (a->addr)
		return !memcmp(a->addr[i], b->addr[j], MRC_EV_BYTES);
	return a->ev[i].entropy == b->ev[j].entropy;
}

bool mrc_ev_same(const struct mrc_paths *p, u16 i, int j)
{
	if (i == j || j < 0)
		return i == j;
	return p->cfg.set && same_entry(p->cfg.set, i, p->cfg.set, (u16)j);
}

/*
 * Report GOOD for each path that is ASSUMED_BAD and has no such entry left in @next
 * (NULL: there are no entries any more). One report for all copies.
 */
static void report_removed(const struct mrc_paths *p, const struct mrc_evset *next)
{
	u16 first, i, j;
	bool stays;

	for (i = 0; p->bad && p->cfg.on_state && i < p->n; i++) {
		if (p->ev[i].state != MRC_EV_ASSUMED_BAD)
			continue;
		first = i;
		stays = false;
		j = i;
		do {
			/* With j < i the path was handled at j. */
			if (p->ev[j].state == MRC_EV_ASSUMED_BAD &&
			    (j < i ||
			     (next && same_entry(p->cfg.set, j, next, j))))
				stays = true;
			first = j < first ? j : first;
			j = mrc_ev_copy(p, j);
		} while (j != i);
		if (!stays)
			p->cfg.on_state(p->cfg.ctx, p, first,
					MRC_EV_ASSUMED_BAD, MRC_EV_GOOD);
	}
}

void mrc_paths_fini(struct mrc_paths *p)
{
	if (p->ev)
		report_removed(p, NULL);
}

/* Give an entry that is new in this set the state of the copies that it has now. */
static void join_copies(struct mrc_paths *p, u16 i)
{
	u16 j;

	p->ev[i].sub = 0;
	if (p->ev[i].state == MRC_EV_DENIED)
		return;
	for (j = mrc_ev_copy(p, i); j != i; j = mrc_ev_copy(p, j)) {
		if (p->ev[j].sub != SUB_ARRIVED &&
		    p->ev[j].state != MRC_EV_DENIED) {
			p->ev[i].state = p->ev[j].state;
			mrc_ev_copy_state(p, i, j);
			return;
		}
	}
}

/*
 * Update without tables: report entries that were denied or allowed. Entries with
 * another value or port are new and are not reported.
 */
static void update_prepared(struct mrc_paths *p, const struct mrc_evset *was,
			    const struct mrc_evset *set)
{
	u16 i;

	for (i = 0; i < p->n; i++) {
		if (same_entry(was, i, set, i) &&
		    was->ev[i].denied != set->ev[i].denied)
			mrc_ev_report(p, i, first_state(was, i),
				      first_state(set, i));
	}
}

void mrc_paths_update(struct mrc_paths *p, const struct mrc_evset *set,
		      u64 now)
{
	const struct mrc_evset *was = p->cfg.set;
	bool moved = false;
	bool denied;
	u16 i;

	if (!was || !set || set->n != p->n)
		return;
	if (!p->ev) {
		p->cfg.set = set;
		p->min_active = set->min_active;
		update_prepared(p, was, set);
		return;
	}
	report_removed(p, set);
	for (i = 0; i < p->n; i++) {
		if (same_entry(was, i, set, i))
			continue;
		fresh_ev(p, i, first_state(set, i));
		p->ev[i].sub = SUB_ARRIVED;
		moved = true;
	}
	p->cfg.set = set;
	p->min_active = set->min_active;
	if (moved) {
		for (i = 0; i < p->n; i++) {
			if (p->ev[i].sub == SUB_ARRIVED)
				join_copies(p, i);
		}
		make_walks(p);
	}
	for (i = 0; i < p->n; i++) {
		denied = p->ev[i].state == MRC_EV_DENIED;
		if (denied != set->ev[i].denied)
			mrc_paths_verdict(p, i, denied ? MRC_EVV_ALLOW :
						MRC_EVV_DENY, now);
	}
	mrc_ev_probe_rescan(p);
	mrc_ev_peer_evs(p);
}
