// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How long an EV stays in state SKIP. MRC 1.0 §11.6 leaves this open.
 *
 * The first mark makes an EV pass one turn of the rotation. If it is marked again by a
 * packet that was sent after that, the path is busy for longer, for example because it
 * carries a flow that has no other path. Then the EV is used at every second turn only,
 * then at every fourth, up to every 32nd. Answers without a mark take it back step by step.
 *
 * A level changes at most once in a round trip, because answers to packets that were sent
 * before the change say nothing about it.
 *
 * Where all paths of a plane are busy, none is at fault, and their loads should stay equal.
 * So a mark counts the less, the larger the share m of marked answers on the port is: with
 * probability (1 - m)^3 it is a step up. An answer without a mark is a step down with
 * probability 1/2. For paths that are marked equally, whatever m is, there are then more
 * than three steps down for each step up. A path that is always marked beside others that
 * hardly are goes to the last level.
 */
#include "mrc_ev_priv.h"

/* With the turn that makes it GOOD, an EV passes all turns but one of 2^(level - 1). */
void mrc_ev_skip_begin(struct mrc_ev *ev)
{
	ev->skip.left = ev->skip.level > 1 ?
				(u8)((1u << (ev->skip.level - 1)) - 2) : 0;
}

/* All copies are one path, and so have one level. */
static void share(struct mrc_paths *p, u16 i)
{
	u16 j;

	for (j = mrc_ev_copy(p, i); j != i; j = mrc_ev_copy(p, j)) {
		if (mrc_ev_usable(p->ev[j].state))
			mrc_ev_copy_state(p, j, i);
	}
}

static void set_level(struct mrc_paths *p, u16 i, u32 level, u64 now)
{
	p->ev[i].skip.level = (u8)level;
	p->at[i] = mrc_ev_time(now);
	share(p, i);
}

/* Has a round trip passed since the level of EV @i changed? */
static bool settled(const struct mrc_paths *p, u16 i, u64 now)
{
	const u64 rtt = p->pace->srtt ? p->pace->srtt : p->cfg.base_rtt;

	return mrc_ev_time(now) - p->at[i] > mrc_ev_time(rtt);
}

/* Paths that are hardly used do not say how busy the others are. */
static void count(struct mrc_paths *p, u16 i, bool marked)
{
	struct mrc_ev_walk *w = mrc_ev_walk_of(p, i);

	if (p->ev[i].skip.level < 2)
		w->marks = (u16)(w->marks - w->marks / 16 +
				 (marked ? 0xFFFF / 16 : 0));
}

/* Drawn, because a path may have few packets in a round trip. */
static bool stands_out(struct mrc_paths *p, u16 i)
{
	const u32 free = 0xFFFF - mrc_ev_walk_of(p, i)->marks;

	return mrc_ev_random(p) < (u64)free * free * free >> 16;
}

void mrc_ev_marked(struct mrc_paths *p, u16 i, u64 now)
{
	const u8 level = p->ev[i].skip.level;

	if (mrc_ev_usable(p->ev[i].state) && level < MRC_EV_SKIP_LEVELS &&
	    (!level || settled(p, i, now)) && stands_out(p, i))
		set_level(p, i, level + 1u, now);
	count(p, i, true);
}

void mrc_ev_unmarked(struct mrc_paths *p, u16 i, u64 now)
{
	const u8 level = p->ev[i].skip.level;

	if (mrc_ev_usable(p->ev[i].state) && level && settled(p, i, now) &&
	    mrc_ev_random(p) & 1)
		set_level(p, i, level - 1u, now);
	count(p, i, false);
}

void mrc_ev_passed(struct mrc_paths *p, u16 i)
{
	p->ev[i].skip.left--;
	share(p, i);
}

void mrc_ev_used(struct mrc_paths *p, u16 i, u64 now)
{
	if (p->ev[i].skip.level > 1)
		mrc_ev_set_state(p, i, MRC_EV_SKIP, now);
}
