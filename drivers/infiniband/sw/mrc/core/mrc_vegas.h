/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* State of the algorithm "vegas" within struct mrc_cc; for mrc_vegas.c and its tests. */
#ifndef MRC_VEGAS_H
#define MRC_VEGAS_H

#include "mrc_cc.h"
#include "mrc_ev.h"

enum mrc_vegas_phase {
	MRC_VEGAS_OPEN,		/* the window follows the path */
	MRC_VEGAS_DRAIN,	/* a pause: what was in flight arrives */
	MRC_VEGAS_LISTEN,	/* a pause: a round over empty queues */
	MRC_VEGAS_REFILL,	/* the window becomes what it was */
};

/**
 * struct mrc_vegas - state of one queue pair; the window itself is mrc_cc.cwnd
 * @pause_at: when to pause again, ns
 * @paused_at: when the pause began for all of the host, ns
 * @empty_at: when the queues of before the pause are empty, ns
 * @until: the pause ends at the latest, ns
 * @rtt: sum of the RTTs of this round, ns
 * @base: sum of the smallest RTTs of the ports that these were measured on, ns
 * @left: bytes until the round ends
 * @peak: most bytes that were in flight in this round
 * @least: smallest window, and what may wait in queues, bytes
 * @most: largest window, bytes
 * @held: window of before the pause, bytes
 * @n: RTTs in @rtt
 * @srtt: average RTT, ns
 * @phase: enum mrc_vegas_phase
 * @marked: a packet of this round was marked or trimmed
 * @min_rtt: smallest RTT of each port, ns, 0 = not measured yet
 */
struct mrc_vegas {
	u64 pause_at;
	u64 paused_at;
	u64 empty_at;
	u64 until;
	u64 rtt;
	u64 base;
	u64 left;
	u64 peak;
	u32 least;
	u32 most;
	u32 held;
	u32 n;
	u32 srtt;
	u8 phase;
	bool marked;
	u32 min_rtt[MRC_MAX_PORTS];
};

static inline struct mrc_vegas *mrc_vegas_of(struct mrc_cc *cc)
{
	return (struct mrc_vegas *)cc->priv;
}

#endif /* MRC_VEGAS_H */
