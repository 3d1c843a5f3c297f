/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared by mrc_ev_make.c (creation of EVs), mrc_ev.c (states), mrc_ev_skip.c (length of
 * SKIP), mrc_ev_probe.c (probes of EVs), mrc_ev_peer.c (the peer's ports), mrc_spray.c
 * (choice) and mrc_rev.c (reverse EVs).
 */
#ifndef MRC_EV_PRIV_H
#define MRC_EV_PRIV_H

#include "mrc_ev.h"

MRC_C_BEGIN

#define MRC_EV_BPL		(8 * (u32)sizeof(unsigned long))
#define MRC_EV_NO_PROBE		(~0ull)

extern const struct mrc_spray_ops mrc_spray_shuffle;

/* Next pseudo-random number of the sequence at @state. */
u32 mrc_ev_rand(u64 *state);

/* Next pseudo-random number of @p. */
static inline u32 mrc_ev_random(struct mrc_paths *p)
{
	return mrc_ev_rand(&p->rng);
}

/* Time in units of 1.024 us, which wrap after 73 minutes. */
static inline u32 mrc_ev_time(u64 ns)
{
	return (u32)(ns >> 10);
}

static inline bool mrc_ev_usable(u8 state)
{
	return state == MRC_EV_GOOD || state == MRC_EV_SKIP;
}

/* The next copy of EV @i in the ring of its copies; @i itself if there is no other. */
static inline u16 mrc_ev_copy(const struct mrc_paths *p, u16 i)
{
	return p->cfg.set ? p->cfg.set->ev[i].next : i;
}

/* Are EV @i and EV @j (-1: none) the same path? */
bool mrc_ev_same(const struct mrc_paths *p, u16 i, int j);

/* Put the EVs of @port into a new random order. */
void mrc_spray_reorder(struct mrc_paths *p, u8 port);

/* Move EV @i and its copies to state @to, with all counts, probes and reports. */
void mrc_ev_set_state(struct mrc_paths *p, u16 i, u8 to, u64 now);

/* EV @i, now in the same state as its copy @as, takes over losses, probe state or level. */
void mrc_ev_copy_state(struct mrc_paths *p, u16 i, u16 as);

/* The copies of EV @i that are in its state take over losses, probe state or level. */
void mrc_ev_share(struct mrc_paths *p, u16 i);

/* The walk that EV @i belongs to. */
static inline struct mrc_ev_walk *mrc_ev_walk_of(const struct mrc_paths *p,
						 u16 i)
{
	u8 port = mrc_paths_port(p, i);

	return &p->walk[port <= p->n_ports ? port : 0];
}

/* Count and report a state change of EV @i. */
void mrc_ev_report(struct mrc_paths *p, u16 i, u8 from, u8 to);

/* Count a packet that was sent on EV @i. */
static inline void mrc_ev_sent(struct mrc_paths *p, u16 i)
{
	mrc_ev_walk_of(p, i)->tx++;
}

/*
 * Length of SKIP, mrc_ev_skip.c: @ev enters SKIP; a packet of EV @i was answered, with or
 * without a mark; EV @i, which is SKIP and has turns left, passes one; EV @i, which is GOOD,
 * was picked.
 */
void mrc_ev_skip_begin(struct mrc_ev *ev);
void mrc_ev_answered(struct mrc_paths *p, u16 i, bool marked, u64 now);
void mrc_ev_passed(struct mrc_paths *p, u16 i);

/* Does an EV at the level of @ev go to SKIP after each packet? */
static inline bool mrc_ev_seldom(const struct mrc_ev *ev)
{
	return ev->skip.level > MRC_EV_SKIP_FREE;
}

/* Probing, mrc_ev_probe.c: EV @i was condemned; a good reply; a bad reply or none. */
void mrc_ev_probe_start(struct mrc_paths *p, u16 i, u64 now);
void mrc_ev_probe_good(struct mrc_paths *p, u16 i, u64 now);
void mrc_ev_probe_bad(struct mrc_paths *p, u16 i, bool lost, u64 now);

/* Recompute when the first probe is due. */
void mrc_ev_probe_rescan(struct mrc_paths *p);

/* The ports that may be used changed from @was; no EV changes state. */
void mrc_ev_probe_ports(struct mrc_paths *p, u32 was);

/* Probe the bad EVs of @ports at once and restart their intervals. */
void mrc_ev_probe_now(struct mrc_paths *p, u32 ports);

/* Pacing, ns: the interval after @exp doublings, and how long a reply may take. */
u64 mrc_ev_probe_interval(const struct mrc_paths *p, u32 exp);
u64 mrc_ev_probe_wait(const struct mrc_paths *p, u32 exp);

/* A random EV of @port that is not DENIED, of the best state there is, or -1. */
int mrc_spray_any(struct mrc_paths *p, u8 port);

/* The peer's ports, mrc_ev_peer.c: tables were added. */
void mrc_ev_peer_add_tables(struct mrc_paths *p);

/* There may be EVs now for port probes that had none. */
void mrc_ev_peer_evs(struct mrc_paths *p);

/* Local ports @up have come up. */
void mrc_ev_peer_ports(struct mrc_paths *p, u32 up);

/* The EV for a port probe that is due at @now, or -1. */
int mrc_ev_peer_due(struct mrc_paths *p, u64 now);

/* A probe was sent through @port, which is in @probed. */
void mrc_ev_peer_sent(struct mrc_paths *p, u8 port, u64 now);

/* The bitmap that lists the EVs in @state, NULL for DENIED. */
static inline unsigned long *mrc_ev_map(const struct mrc_paths *p, u8 state)
{
	switch (state) {
	case MRC_EV_GOOD:
		return p->good_map;
	case MRC_EV_SKIP:
		return p->skip_map;
	case MRC_EV_ASSUMED_BAD:
		return p->bad_map;
	default:
		return NULL;
	}
}

static inline void mrc_ev_map_set(unsigned long *map, u32 pos)
{
	if (map)
		map[pos / MRC_EV_BPL] |= 1ul << pos % MRC_EV_BPL;
}

static inline void mrc_ev_map_clear(unsigned long *map, u32 pos)
{
	if (map)
		map[pos / MRC_EV_BPL] &= ~(1ul << pos % MRC_EV_BPL);
}

/* First set bit of @map in [@from, @end), @end if there is none. */
static inline u32 mrc_ev_map_find(const unsigned long *map, u32 from, u32 end)
{
	while (from < end) {
		unsigned long w = map[from / MRC_EV_BPL] >> from % MRC_EV_BPL;

		if (w) {
			from += (u32)__builtin_ctzl(w);
			return from < end ? from : end;
		}
		from = (from / MRC_EV_BPL + 1) * MRC_EV_BPL;
	}
	return end;
}

MRC_C_END

#endif /* MRC_EV_PRIV_H */
