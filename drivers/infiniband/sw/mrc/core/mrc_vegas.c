// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Congestion control "vegas": a window of what the path holds, and a bounded backlog.
 *
 * A fixed window of 256 KiB bounds the queue that a queue pair builds, but also what it
 * has in flight over a long path: at 10 ms it carries 200 Mbit/s. Here the bound is for
 * the queue alone. As in TCP Vegas, a comparison of the RTT with the smallest RTT tells
 * how much of what is in flight waits in queues:
 *
 *	backlog = in flight * (RTT - smallest RTT) / RTT
 *
 * Once a round trip the window becomes what was in flight without that, plus the bytes
 * that may wait. So it grows by these bytes per round trip as long as the path takes
 * them. On a path that holds little it stays about as small as the fixed window.
 *
 * Each port has a smallest RTT of its own, because planes differ in length. Losses do
 * not matter: without queues they are no sign of congestion.
 *
 * A queue pair that begins while others keep a port busy takes their queue for length of
 * its path, and its window gets too large. So queue pairs pause together: every 2 s, at
 * times that are the same for all of a host, the window is made small until what was in
 * flight has arrived and a round has found empty queues. Then it opens again, half of it
 * at once and the rest as packets arrive.
 *
 * A peer that answers early or late can only move the window between its bounds. A pause
 * that it does not answer ends after some round trips.
 */
#include "mrc_req.h"
#include "mrc_vegas.h"

/* Share of the window, as a shift, that one round may take away. */
#define VEGAS_DOWN_SHIFT	3
/* Samples of a round that count. */
#define VEGAS_SAMPLES		65536u
/* Weight of a sample in the average RTT, as a shift. */
#define VEGAS_SRTT_SHIFT	3
/* Time between pauses, as a shift: 2^31 ns. */
#define VEGAS_PAUSE_SHIFT	31
/* Who comes later to a pause than this, and than a round trip, would pause alone. */
#define VEGAS_LATE_NS		100000000u
/* No pause waits longer than twice this. */
#define VEGAS_DRAIN_MAX_NS	500000000u
/*
 * The window of a pause in SACK thresholds. With less, packets that were sent before could
 * fill it without a SACK for them.
 */
#define VEGAS_SMALL		2

static u32 vegas_small(const struct mrc_cc *cc)
{
	const u32 small = VEGAS_SMALL * cc->sack_threshold;

	return small < cc->cwnd ? small : cc->cwnd;
}

static void vegas_round_begin(struct mrc_cc *cc)
{
	struct mrc_vegas *s = mrc_vegas_of(cc);

	s->left = cc->cwnd;
	s->rtt = 0;
	s->base = 0;
	s->n = 0;
	s->peak = 0;
	s->marked = false;
}

static void vegas_clamp(struct mrc_cc *cc, u64 cwnd)
{
	const struct mrc_vegas *s = mrc_vegas_of(cc);

	if (cwnd > s->most)
		cwnd = s->most;
	if (cwnd < s->least)
		cwnd = s->least;
	cc->cwnd = (u32)cwnd;
}

static u32 vegas_less(u32 cwnd)
{
	return cwnd - (cwnd >> VEGAS_DOWN_SHIFT);
}

/* What has been measured stays. */
static void vegas_reconfigure(struct mrc_cc *cc, const struct mrc_cc_cfg *cfg)
{
	struct mrc_vegas *s = mrc_vegas_of(cc);

	s->least = mrc_cc_fixed_window(cfg);
	s->most = mrc_cc_largest_window(cfg);
	vegas_clamp(cc, s->phase == MRC_VEGAS_OPEN ? cc->cwnd : s->held);
	s->phase = MRC_VEGAS_OPEN;
	vegas_round_begin(cc);
}

static u64 vegas_next_pause(u64 now)
{
	return ((now >> VEGAS_PAUSE_SHIFT) + 1) << VEGAS_PAUSE_SHIFT;
}

static void vegas_init(struct mrc_cc *cc, const struct mrc_cc_cfg *cfg)
{
	vegas_reconfigure(cc, cfg);
	mrc_vegas_of(cc)->pause_at = vegas_next_pause(cfg->now);
}

/* @port is 0 for answers to probes: they are shorter than data and arrive earlier. */
static void vegas_sample(struct mrc_vegas *s, u8 port, u64 rtt)
{
	const u32 ns = rtt < 0xFFFFFFFFu ? (u32)rtt : 0xFFFFFFFFu;
	u32 *min;

	if (!port || port > MRC_MAX_PORTS || !ns)
		return;
	min = &s->min_rtt[port - 1];
	if (!*min || ns < *min)
		*min = ns;
	if (!s->srtt)
		s->srtt = ns;
	else
		s->srtt += (ns >> VEGAS_SRTT_SHIFT) - (s->srtt >> VEGAS_SRTT_SHIFT);
	/* A peer can answer as often as it likes before a round ends. */
	if (s->n == VEGAS_SAMPLES)
		return;
	s->rtt += ns;
	s->base += *min;
	s->n++;
}

/* A round trip is over: as many bytes have arrived as the window holds. */
static void vegas_follow(struct mrc_cc *cc)
{
	const struct mrc_vegas *s = mrc_vegas_of(cc);
	const u32 less = vegas_less(cc->cwnd);
	u32 rtt, base, flight;
	u64 cwnd;

	if (s->marked) {
		vegas_clamp(cc, less);
		return;
	}
	if (!s->n)
		return;
	rtt = (u32)mrc_div64(s->rtt, s->n);
	base = (u32)mrc_div64(s->base, s->n);
	flight = s->peak < cc->cwnd ? (u32)s->peak : cc->cwnd;
	cwnd = mrc_div64((u64)flight * base, rtt) + s->least;
	if (cwnd < less)
		cwnd = less;
	/* A window that does not fill need not be larger. */
	if (cwnd < cc->cwnd || s->peak + cc->mtu > cc->cwnd)
		vegas_clamp(cc, cwnd);
}

static u32 vegas_drain(u64 rtt)
{
	return rtt < VEGAS_DRAIN_MAX_NS ? (u32)rtt : VEGAS_DRAIN_MAX_NS;
}

/*
 * A window can arrive as one burst in each round trip, so that the queue pair hears of
 * the pause late in it. The queues are empty a round trip after the pause began, for
 * all: nobody has sent since.
 */
static void vegas_pause(struct mrc_cc *cc, u64 out, u64 now)
{
	struct mrc_vegas *s = mrc_vegas_of(cc);
	const u32 drain = vegas_drain(s->srtt);

	s->held = s->marked ? vegas_less(cc->cwnd) : cc->cwnd;
	s->paused_at = s->pause_at;
	s->empty_at = s->paused_at + drain;
	s->until = now + 2 * drain;
	s->phase = MRC_VEGAS_DRAIN;
	cc->cwnd = vegas_small(cc);
	vegas_round_begin(cc);
	s->left = out;
}

static void vegas_resume(struct mrc_cc *cc)
{
	struct mrc_vegas *s = mrc_vegas_of(cc);
	const u32 held = s->marked ? vegas_less(s->held) : s->held;

	vegas_clamp(cc, held);
	s->held = cc->cwnd;
	vegas_clamp(cc, held / 2);
	s->phase = cc->cwnd < s->held ? MRC_VEGAS_REFILL : MRC_VEGAS_OPEN;
	vegas_round_begin(cc);
}

static void vegas_refill(struct mrc_cc *cc, u64 freed)
{
	struct mrc_vegas *s = mrc_vegas_of(cc);

	if (!s->marked && freed < s->held - cc->cwnd) {
		cc->cwnd += (u32)freed;
		return;
	}
	if (!s->marked)
		cc->cwnd = s->held;
	s->phase = MRC_VEGAS_OPEN;
	vegas_round_begin(cc);
}

static bool vegas_pausing(const struct mrc_vegas *s)
{
	return s->phase == MRC_VEGAS_DRAIN || s->phase == MRC_VEGAS_LISTEN;
}

static void vegas_round_end(struct mrc_cc *cc, u64 now)
{
	struct mrc_vegas *s = mrc_vegas_of(cc);

	switch (s->phase) {
	case MRC_VEGAS_DRAIN:
		if (now >= s->empty_at)
			s->phase = MRC_VEGAS_LISTEN;
		s->left = cc->cwnd;
		break;
	case MRC_VEGAS_LISTEN:
		vegas_resume(cc);
		break;
	default:
		vegas_follow(cc);
		vegas_round_begin(cc);
	}
}

/* What keeps a queue takes part in a pause, unless it is late. */
static void vegas_pause_due(struct mrc_cc *cc, const struct mrc_cc_ack *ack)
{
	struct mrc_vegas *s = mrc_vegas_of(cc);
	const u32 drain = vegas_drain(s->srtt);

	if (ack->now < s->pause_at + (drain > VEGAS_LATE_NS ? drain : VEGAS_LATE_NS)) {
		if (ack->out == MRC_CC_NO_SACK || ack->out < vegas_small(cc) || !s->srtt)
			return;
		vegas_pause(cc, ack->out, ack->now);
	}
	s->pause_at = vegas_next_pause(ack->now);
}

/* Operations ---------------------------------------------------------------- */

static void vegas_on_send(struct mrc_cc *cc, u32 size, u64 now)
{
	const struct mrc_vegas *s = mrc_vegas_of(cc);

	if (vegas_pausing(s) && now >= s->until)
		vegas_resume(cc);
}

static void vegas_on_ack(struct mrc_cc *cc, const struct mrc_cc_ack *ack)
{
	struct mrc_vegas *s = mrc_vegas_of(cc);

	s->marked |= ack->ce;
	if (ack->rtt != MRC_CC_NONE_RTT) {
		vegas_sample(s, ack->port, ack->rtt);
		/* The newest packet tells best how long the queue was. */
		if (s->phase == MRC_VEGAS_DRAIN && ack->port)
			s->empty_at = s->paused_at + vegas_drain(ack->rtt);
	}
	if (ack->out != MRC_CC_NO_SACK && ack->out + ack->freed > s->peak)
		s->peak = ack->out + ack->freed;
	if (s->phase == MRC_VEGAS_REFILL)
		vegas_refill(cc, ack->freed);
	else if (ack->freed < s->left)
		s->left -= ack->freed;
	else
		vegas_round_end(cc, ack->now);
	if (vegas_pausing(s)) {
		if (ack->now >= s->until)
			vegas_resume(cc);
	} else if (ack->now >= s->pause_at) {
		vegas_pause_due(cc, ack);
	}
}

static void vegas_on_loss(struct mrc_cc *cc, u32 size, u64 now)
{
}

static void vegas_on_nack(struct mrc_cc *cc, u32 size, u8 reason, u64 rtt,
			  u64 now)
{
	if (reason == MRC_NACK_TRIMMED || reason == MRC_NACK_TRIMMED_LASTHOP)
		mrc_vegas_of(cc)->marked = true;
}

static void vegas_on_late(struct mrc_cc *cc, u32 size)
{
}

const struct mrc_cc_ops mrc_cc_vegas = {
	.name = "vegas",
	.init = vegas_init,
	.can_send = mrc_cc_fits_window,
	.on_send = vegas_on_send,
	.on_ack = vegas_on_ack,
	.on_loss = vegas_on_loss,
	.on_nack = vegas_on_nack,
	.ack_request = mrc_cc_window_closes,
	.on_late = vegas_on_late,
	.reconfigure = vegas_reconfigure,
};
