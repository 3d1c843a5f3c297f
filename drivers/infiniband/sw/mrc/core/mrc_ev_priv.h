/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by mrc_ev.c (sets, states, probing) and mrc_spray.c (choice). */
#ifndef MRC_EV_PRIV_H
#define MRC_EV_PRIV_H

#include "mrc_ev.h"

#define MRC_EV_BPL		(8 * (u32)sizeof(unsigned long))

extern const struct mrc_spray_ops mrc_spray_shuffle;

/* Next pseudo-random number of @p. */
u32 mrc_ev_random(struct mrc_paths *p);

/* Put the EVs of @port into a new random order. */
void mrc_spray_reorder(struct mrc_paths *p, u8 port);

/* Move EV @i to @to with all that hangs on it; @now for its first probe. */
void mrc_ev_set_state(struct mrc_paths *p, u16 i, u8 to, u64 now);

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

#endif /* MRC_EV_PRIV_H */
