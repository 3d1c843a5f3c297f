// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How long an EV stays in state SKIP. MRC 1.0 §11.6 leaves this open.
 *
 * A mark makes an EV pass one turn of the rotation. If marks do not end, the path is busy
 * for longer, for example because it carries a flow that has no other path, or because one
 * of its links is slow. So each EV has a level, which marks raise and answers without a mark
 * lower. Up to MRC_EV_SKIP_FREE nothing else happens, because some marks in a row are chance.
 * Above, the EV is used at every second turn only, then at every fourth, up to every 32nd.
 *
 * A level changes at most once in two round trips, because answers to packets that were
 * sent before the change say nothing about it.
 *
 * Where all paths of a plane are busy, none is at fault, and their loads should stay equal.
 * So what a mark means depends on the share m of marked answers on the port. It is a step up
 * with probability (1 - m)^3, and a step down with probability m^3/2. An answer without a
 * mark is a step down with probability 1/2. So paths that are marked equally take more than
 * three steps down for each step up, whatever m is. A path that is always marked beside
 * others that hardly are goes to the last level.
 */
#include "mrc_ev_priv.h"

/*
 * With the turn that makes it GOOD, an EV passes all turns but one of 2, 4, 8, ... In a
 * batch of runs it takes one packet at its turn and not a run, so it carries still less.
 */
void mrc_ev_skip_begin(struct mrc_ev *ev)
{
	ev->skip.left = mrc_ev_seldom(ev) ?
			(u8)((2u << (ev->skip.level - MRC_EV_SKIP_FREE - 1)) - 2) : 0;
}

static void set_level(struct mrc_paths *p, u16 i, u32 level, u64 now)
{
	p->ev[i].skip.level = (u8)level;
	p->at[i] = mrc_ev_time(now);
	mrc_ev_share(p, i);
}

/* Have two round trips passed since the level of EV @i changed? */
static bool settled(const struct mrc_paths *p, u16 i, u64 now)
{
	const u64 rtt = p->pace->srtt ? p->pace->srtt : p->cfg.base_rtt;

	return mrc_ev_time(now) - p->at[i] > mrc_ev_time(2 * rtt);
}

/* True with a probability of (@share / 65535)^3. */
static bool draw(struct mrc_paths *p, u32 share)
{
	return mrc_ev_random(p) < (u64)share * share * share >> 16;
}

/*
 * The level after an answer, if @marks is the share of marked ones. The steps are random,
 * because a path may have few packets in a round trip.
 */
static u32 next_level(struct mrc_paths *p, u32 level, u32 marks, bool marked)
{
	if (marked && draw(p, 0xFFFF - marks))
		return level < MRC_EV_SKIP_LEVELS ? level + 1 : level;
	if (level && (!marked || draw(p, marks)) && mrc_ev_random(p) & 1)
		return level - 1;
	return level;
}

void mrc_ev_answered(struct mrc_paths *p, u16 i, bool marked, u64 now)
{
	struct mrc_ev_walk *w = mrc_ev_walk_of(p, i);
	const u32 level = p->ev[i].skip.level;
	u32 next;

	if (!mrc_ev_usable(p->ev[i].state))
		return;
	if (!level || settled(p, i, now)) {
		next = next_level(p, level, w->marks, marked);
		if (next != level)
			set_level(p, i, next, now);
	}
	w->marks = (u16)(w->marks - w->marks / 16 + (marked ? 0xFFFF / 16 : 0));
}

void mrc_ev_passed(struct mrc_paths *p, u16 i)
{
	p->ev[i].skip.left--;
	mrc_ev_share(p, i);
}
