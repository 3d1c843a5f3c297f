// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * NSCC, the congestion control of MRC 1.0 §13: a window of bytes, moved by
 * queueing delay, congestion marks, trims and losses.
 *
 * RTTs and delays are nanoseconds below 2^32, ratios Q16. A peer controls the bytes that
 * it reports as received (below 2^31 at a time), marks, its penalty and, by answering
 * early or late, RTTs. Sums of these values saturate.
 */
#include "mrc_nscc.h"
#include "mrc_req.h"
#include "mrc_wire.h"

#define NSCC_ONE		65536u		/* 1.0 */
#define NSCC_NS			1000000000u
/* The reference of the scale in §13.3: 100 Gbit/s times 12 us, in bytes; and 12 us. */
#define NSCC_REF_BDP		150000u
#define NSCC_REF_DELAY		12000u
/* A delay below this is "delay ~ 0" of fast increase. */
#define NSCC_IDLE_NS		1000u

/* Ranges of the inputs of parameters, which keep products within 64 bits. */
#define NSCC_RATE_MAX		(1ull << 40)
#define NSCC_RTT_MAX		NSCC_NS
#define NSCC_MTU_MAX		65535u
#define NSCC_A_MIN		(NSCC_ONE / 16)
#define NSCC_A_MAX		(NSCC_ONE * 4096ull)

/* More bytes than any packet or SACK can bring, see mrc_req_rcvd_bytes(). */
#define NSCC_BYTES_MAX		0x7FFFFFFFu
#define NSCC_INFLIGHT_MAX	(1ll << 40)
#define NSCC_PEN_MAX		127u
/* rcvd_bytes counts in units of this many bytes, rounded up. */
#define NSCC_UNIT		256u
/* With trimming the delay is averaged over this many windows, log2. */
#define NSCC_TRIM_WINDOWS_SHIFT	3

static u64 nscc_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u64 nscc_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u32 nscc_u32(u64 v)
{
	return (u32)nscc_min(v, 0xFFFFFFFFu);
}

static u64 nscc_add(u64 a, u64 b)
{
	return a + b < a ? ~0ull : a + b;
}

/* a * b / c, exact; @c > 0 and the result must fit. */
static u64 nscc_mul_div(u64 a, u32 b, u32 c)
{
	u64 q = mrc_div64(a, c);

	return q * b + mrc_div64((a - q * c) * b, c);
}

/* 0 if @at is later: another processor may have read the clock after this one. */
static u64 nscc_since(u64 at, u64 now)
{
	return now > at ? now - at : 0;
}

/* Parameters ---------------------------------------------------------------- */

static u64 nscc_rate(const struct mrc_cc_cfg *cfg)
{
	return nscc_min(cfg->line_rate ? cfg->line_rate : MRC_NSCC_RATE_DEFAULT,
			NSCC_RATE_MAX);
}

static u32 nscc_mtu(const struct mrc_cc_cfg *cfg)
{
	return (u32)nscc_max(nscc_min(cfg->mtu, NSCC_MTU_MAX), 1);
}

/* Bytes that @rate carries in @ns, saturating. */
static u32 nscc_bdp(u64 rate, u32 ns)
{
	return nscc_u32(nscc_mul_div(rate, ns, NSCC_NS));
}

static u32 nscc_window_max(u64 rate, u32 base_rtt)
{
	return nscc_u32(nscc_mul_div(nscc_bdp(rate, base_rtt), 3, 2));
}

/* The scale of §13.3, Q16. */
static u64 nscc_a(u64 rate, u32 base_rtt)
{
	u64 a = nscc_mul_div(nscc_bdp(rate, base_rtt), NSCC_ONE, NSCC_REF_BDP);

	return nscc_max(nscc_min(a, NSCC_A_MAX), NSCC_A_MIN);
}

/*
 * The proportional increase, 4 MTU a b of §13.3. A profile has no parameter for it, but
 * @fi is 5 MTU a, so a profile that scales @fi for another line rate scales both. The
 * increase grows with the square of the RTT, but the window only with the RTT. Beyond
 * about 40 us a single SACK would therefore open the window completely. A bound of a
 * quarter of the configured largest window keeps the influence of the delay.
 */
static u32 nscc_pi(const struct mrc_nscc_cfg *p)
{
	u64 pi = nscc_mul_div(4ull * p->fi, p->target_delay,
			      5 * NSCC_REF_DELAY);

	return nscc_u32(nscc_max(nscc_min(pi, p->max_cwnd / 4), 1));
}

static u32 nscc_clamp_max_cwnd(const struct mrc_cc_cfg *cfg, u64 max)
{
	const u32 mtu = nscc_mtu(cfg);

	if (cfg->max_pkts)
		max = nscc_min(max, (u64)cfg->max_pkts * mtu);
	return nscc_u32(nscc_max(max, mtu));
}

void mrc_nscc_resolve(const struct mrc_cc_cfg *cfg, struct mrc_nscc_cfg *out)
{
	static const struct mrc_nscc_cfg derive;
	const struct mrc_nscc_cfg *in = cfg->nscc ? cfg->nscc : &derive;
	const u64 rate = nscc_rate(cfg);
	const u32 mtu = nscc_mtu(cfg);
	struct mrc_nscc_cfg p = *in;
	u64 rtt = in->base_rtt ? in->base_rtt : cfg->base_rtt;
	u64 a;

	if (!rtt)
		rtt = MRC_BASE_RTT_DEFAULT;
	p.base_rtt = (u32)nscc_min(rtt, NSCC_RTT_MAX);
	a = nscc_a(rate, p.base_rtt);
	if (!p.target_delay)
		p.target_delay = cfg->trim_nack ? (u32)((u64)p.base_rtt * 3 / 4) :
						  p.base_rtt;
	p.target_delay = (u32)nscc_max(nscc_min(p.target_delay, NSCC_RTT_MAX),
				       1);
	if (!p.max_cwnd)
		p.max_cwnd = nscc_window_max(rate, p.base_rtt);
	p.max_cwnd = nscc_clamp_max_cwnd(cfg, p.max_cwnd);
	if (!p.fi)
		p.fi = nscc_u32((5 * mtu * a) >> 16);
	if (!p.eta)
		p.eta = nscc_u32(mrc_div64(3 * mtu * a, 20) >> 16);
	if (!p.fi_scale)
		p.fi_scale = nscc_u32(a / 4);
	if (!p.gamma)
		p.gamma = NSCC_ONE * 4 / 5;
	p.gamma = (u32)nscc_min(p.gamma, NSCC_ONE);
	if (!p.max_md_jump)
		p.max_md_jump = NSCC_ONE / 2;
	p.max_md_jump = (u32)nscc_min(p.max_md_jump, NSCC_ONE);
	if (!p.qa_gate)
		p.qa_gate = 3;
	p.qa_gate = (u8)nscc_min(p.qa_gate, 31);
	if (!p.qa_threshold)
		p.qa_threshold = cfg->trim_nack ? MRC_NSCC_QA_OFF :
				 nscc_u32(4ull * p.target_delay);
	if (!p.adjust_bytes_threshold)
		p.adjust_bytes_threshold = 8 * mtu;
	if (!p.adjust_period_threshold)
		p.adjust_period_threshold = p.base_rtt;
	*out = p;
}

/* Largest window with the base RTT measured so far, §13.5. */
static void nscc_set_max(struct mrc_cc *cc)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);
	u32 max = s->p.max_cwnd;

	if (s->base_rtt < s->p.base_rtt)
		max = (u32)nscc_min(max, nscc_window_max(s->rate, s->base_rtt));
	s->max_cwnd = (u32)nscc_max(max, cc->mtu);
}

static void nscc_params(struct mrc_cc *cc, const struct mrc_cc_cfg *cfg)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);

	mrc_nscc_resolve(cfg, &s->p);
	s->rate = nscc_rate(cfg);
	s->trim = cfg->trim_nack;
	s->pi = nscc_pi(&s->p);
}

static void nscc_init(struct mrc_cc *cc, const struct mrc_cc_cfg *cfg)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);

	cc->mtu = nscc_mtu(cfg);
	nscc_params(cc, cfg);
	s->base_rtt = s->p.base_rtt;
	nscc_set_max(cc);
	cc->cwnd = s->max_cwnd;
	if (cfg->window)
		cc->cwnd = (u32)nscc_max(nscc_min(cfg->window, s->max_cwnd),
					 cc->mtu);
	s->last_adjust = cfg->now;
}

/*
 * Measured values stay: window, delay, a base RTT below the configured one. The increase
 * collected so far is dropped, because it was weighted with the former parameters.
 */
static void nscc_reconfigure(struct mrc_cc *cc, const struct mrc_cc_cfg *cfg)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);
	const bool measured = s->base_rtt < s->p.base_rtt;

	nscc_params(cc, cfg);
	if (!measured || s->base_rtt > s->p.base_rtt)
		s->base_rtt = s->p.base_rtt;
	nscc_set_max(cc);
	cc->cwnd = (u32)nscc_min(cc->cwnd, s->max_cwnd);
	s->saved_cwnd = (u32)nscc_min(s->saved_cwnd, s->max_cwnd);
	s->inc = 0;
}

bool mrc_nscc_query(const struct mrc_cc *cc, struct mrc_nscc_info *info)
{
	const struct mrc_nscc *s = mrc_nscc_ro(cc);

	if (cc->ops != &mrc_cc_nscc)
		return false;
	memset(info, 0, sizeof(*info));
	info->cfg = s->p;
	info->cwnd = cc->cwnd;
	info->max_cwnd = s->max_cwnd;
	info->inflight = s->inflight;
	info->base_rtt = s->base_rtt;
	info->avg_delay = (u32)(s->avg >> MRC_NSCC_AVG_SHIFT);
	return true;
}

/* Parts of §13.5, named and ordered as there ------------------------------- */

static void nscc_out(struct mrc_nscc *s, s64 bytes)
{
	s64 v = s->inflight + bytes;

	if (v > NSCC_INFLIGHT_MAX)
		v = NSCC_INFLIGHT_MAX;
	if (v < -NSCC_INFLIGHT_MAX)
		v = -NSCC_INFLIGHT_MAX;
	s->inflight = v;
}

/*
 * Keep @inflight consistent with the requester's records. The responder counts a packet
 * before it reports it, and all packets that it counts were sent. So the bytes in flight
 * by its count are never more than by the requester's records. They are below zero only
 * by rounding and by packets that were wrongly taken for lost. These limits prevent a
 * peer that counts otherwise from closing or opening the window for good. With nothing
 * outstanding nothing is in flight.
 */
static void nscc_resync(struct mrc_nscc *s, const struct mrc_cc_ack *ack)
{
	if (s->inflight > 0 && (u64)s->inflight > ack->out)
		s->inflight = (s64)ack->out;
	if (s->inflight < 0 && (!(ack->out | ack->waiting) ||
				(u64)-s->inflight > ack->waiting + NSCC_UNIT))
		s->inflight = ack->waiting ? -(s64)ack->waiting : 0;
}

static void nscc_ignored(struct mrc_nscc *s, u64 n)
{
	s->ignore -= nscc_min(s->ignore, n);
}

static void nscc_shrink(struct mrc_cc *cc, u32 size)
{
	cc->cwnd = cc->cwnd > size ? cc->cwnd - size : 0;
	cc->cwnd = (u32)nscc_max(cc->cwnd, cc->mtu);
}

/*
 * EWMA over one window of bytes, with trimming over several (OP-32). Trims tell of full
 * queues at once, so the average need not.
 */
static void nscc_update_avg(struct mrc_cc *cc, u32 delay, u64 n)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);
	const u64 x = (u64)delay << MRC_NSCC_AVG_SHIFT;
	const u32 w = (u32)nscc_min(n, cc->cwnd);
	const unsigned int shift = s->trim ? NSCC_TRIM_WINDOWS_SHIFT : 0;

	if (x >= s->avg)
		s->avg += nscc_mul_div(x - s->avg, w, cc->cwnd) >> shift;
	else
		s->avg -= nscc_mul_div(s->avg - x, w, cc->cwnd) >> shift;
}

static void nscc_fulfil(struct mrc_cc *cc, u64 now)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);
	u64 cwnd = nscc_add(cc->cwnd, mrc_div64(s->inc, cc->cwnd));

	if (nscc_since(s->last_adjust, now) >= s->p.adjust_period_threshold) {
		cwnd = nscc_add(cwnd, s->p.eta);
		s->last_adjust = now;
	}
	cc->cwnd = (u32)nscc_max(nscc_min(cwnd, s->max_cwnd), cc->mtu);
	s->inc = 0;
	s->rcvd = 0;
}

static bool nscc_fast_increase(struct mrc_cc *cc, u64 n, u32 delay)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);

	if (delay >= NSCC_IDLE_NS) {
		s->fi_count = 0;
		s->fast = false;
		return false;
	}
	s->fi_count = nscc_add(s->fi_count, n);
	if (s->fi_count <= cc->cwnd && !s->fast)
		return false;
	cc->cwnd = (u32)nscc_min(cc->cwnd + (n * s->p.fi_scale >> 16),
				 s->max_cwnd);
	s->fast = true;
	return true;
}

static void nscc_decrease(struct mrc_cc *cc, u64 now)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);
	const u64 target = (u64)s->p.target_delay << MRC_NSCC_AVG_SHIFT;
	u64 keep, cwnd;

	s->fast = false;
	s->fi_count = 0;
	if (s->avg <= target || nscc_since(s->last_dec, now) <= s->base_rtt)
		return;
	/* Gamma is 2^16 at most and the average below 2^48. */
	keep = NSCC_ONE - mrc_div64(s->p.gamma * (s->avg - target), s->avg);
	cwnd = cc->cwnd * nscc_max(keep, s->p.max_md_jump) >> 16;
	cc->cwnd = (u32)nscc_max(cwnd, cc->mtu);
	s->last_dec = now;
}

/* Return: true if this event has been dealt with. */
static bool nscc_quick_adapt(struct mrc_cc *cc, bool loss, bool mark, u32 delay,
			     u64 now)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);
	bool done = false;

	if (s->p.disable_qa)
		return false;
	if (s->ignore && mark)
		return true;
	if (now < s->qa_end)
		return false;
	if (s->qa_end && s->achieved < s->max_cwnd >> s->p.qa_gate &&
	    (s->trigger_qa || loss || delay > s->p.qa_threshold)) {
		cc->cwnd = (u32)nscc_max(s->achieved, cc->mtu);
		s->ignore = s->inflight > 0 ? (u64)s->inflight : 0;
		s->trigger_qa = false;
		s->inc = 0;
		s->rcvd = 0;
		done = true;
	}
	s->achieved = 0;
	s->qa_end = now + s->base_rtt + s->p.target_delay;
	return done;
}

/* Responder flow control. Return: true if it limits the window. */
static bool nscc_penalty(struct mrc_cc *cc, u64 n, u32 pen, bool restore)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);
	s64 cwnd;

	if (pen) {
		if (pen > NSCC_PEN_MAX)
			pen = NSCC_PEN_MAX;
		if (!s->saved_cwnd)
			s->saved_cwnd = cc->cwnd;
		cwnd = s->inflight < cc->cwnd ? s->inflight : cc->cwnd;
		cwnd -= (s64)(pen * n >> 7);
		cc->cwnd = cwnd > (s64)cc->mtu ? (u32)cwnd : cc->mtu;
		return true;
	}
	if (s->saved_cwnd && restore)
		cc->cwnd = s->saved_cwnd;
	s->saved_cwnd = 0;
	return false;
}

static void nscc_increase(struct mrc_cc *cc, u64 n, u32 delay, bool limited)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);
	const u32 target = s->p.target_delay;

	if (delay >= target) {
		if (!limited)
			s->inc = nscc_add(s->inc, s->p.fi * n);
		s->fast = false;
		s->fi_count = 0;
	} else if (!limited && !nscc_fast_increase(cc, n, delay)) {
		s->inc = nscc_add(s->inc, nscc_mul_div(s->pi * n,
						       target - delay, target));
	}
}

/*
 * The base RTT is that of a packet of at least half the MTU. Slow links take much longer to
 * send a full packet than a probe, a message of some bytes or what is left of a trimmed
 * packet. Their RTT would make the largest window smaller than what full packets need
 * (OP-43).
 */
static void nscc_sample(struct mrc_cc *cc, u32 rtt, u32 size)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);

	if (rtt >= s->base_rtt || size < cc->mtu / 2)
		return;
	s->base_rtt = rtt;
	nscc_set_max(cc);
}

/* Operations ---------------------------------------------------------------- */

static bool nscc_can_send(const struct mrc_cc *cc, u64 inflight, u32 size)
{
	return (s64)cc->cwnd > mrc_nscc_ro(cc)->inflight;
}

static bool nscc_ack_request(const struct mrc_cc *cc, u64 inflight)
{
	return (s64)cc->cwnd - mrc_nscc_ro(cc)->inflight < (s64)cc->mtu ||
	       cc->cwnd < cc->sack_threshold;
}

static void nscc_on_send(struct mrc_cc *cc, u32 size, u64 now)
{
	nscc_out(mrc_nscc_of(cc), size);
}

static void nscc_on_ack(struct mrc_cc *cc, const struct mrc_cc_ack *ack)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);
	const u64 n = nscc_min(ack->newly, NSCC_BYTES_MAX);
	bool limited;
	u32 rtt, delay;

	if (ack->out == MRC_CC_NO_SACK)
		return;
	nscc_out(s, -(s64)n);
	nscc_resync(s, ack);
	nscc_ignored(s, n);
	s->rcvd = nscc_add(s->rcvd, n);
	s->achieved = nscc_add(s->achieved, n);
	limited = nscc_penalty(cc, n, ack->pen, ack->restore);
	if (ack->rtt == MRC_CC_NONE_RTT)
		return;
	rtt = nscc_u32(ack->rtt);
	nscc_sample(cc, rtt, ack->size);
	delay = rtt > s->base_rtt ? rtt - s->base_rtt : 0;
	/*
	 * A marked packet gets a SACK of its own, so the other bytes that it reports were
	 * not marked. They did not wait as long, and the delay is not theirs. With trimming
	 * marks begin far below the target, so the queue is short again that a packet
	 * without a mark has met, however long it took (OP-32).
	 */
	if (s->trim && !ack->ce && delay > s->p.target_delay)
		nscc_update_avg(cc, s->p.base_rtt / 4, n);
	else
		nscc_update_avg(cc, delay, ack->ce ? nscc_min(n, cc->mtu) : n);
	if (nscc_quick_adapt(cc, false, ack->ce, delay, ack->now))
		return;
	if (!ack->ce)
		nscc_increase(cc, n, delay, limited);
	else if (delay >= s->p.target_delay)
		nscc_decrease(cc, ack->now);
	if (nscc_since(s->last_adjust, ack->now) >=
	    s->p.adjust_period_threshold ||
	    s->rcvd > s->p.adjust_bytes_threshold)
		nscc_fulfil(cc, ack->now);
}

static void nscc_on_loss(struct mrc_cc *cc, u32 size, u64 now)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);

	nscc_shrink(cc, size);
	nscc_ignored(s, size);
	nscc_out(s, -(s64)size);
}

static void nscc_on_nack(struct mrc_cc *cc, u32 size, u8 reason, u64 rtt,
			 u64 now)
{
	struct mrc_nscc *s = mrc_nscc_of(cc);

	nscc_out(s, -(s64)size);
	if (reason != MRC_NACK_TRIMMED && reason != MRC_NACK_TRIMMED_LASTHOP) {
		if (rtt != MRC_CC_NONE_RTT)
			nscc_sample(cc, nscc_u32(rtt), size);
		return;
	}
	/* A trim counts as a base RTT of queueing. */
	nscc_update_avg(cc, s->p.base_rtt, cc->mtu);
	nscc_ignored(s, size);
	s->trigger_qa = true;
	if (!nscc_quick_adapt(cc, true, true, 0, now))
		nscc_shrink(cc, size);
}

/* The bytes were subtracted twice, by the loss and by the responder's count. */
static void nscc_on_late(struct mrc_cc *cc, u32 size)
{
	nscc_out(mrc_nscc_of(cc), size);
}

const struct mrc_cc_ops mrc_cc_nscc = {
	.name = MRC_CC_NSCC_NAME,
	.init = nscc_init,
	.can_send = nscc_can_send,
	.on_send = nscc_on_send,
	.on_ack = nscc_on_ack,
	.on_loss = nscc_on_loss,
	.on_nack = nscc_on_nack,
	.ack_request = nscc_ack_request,
	.on_late = nscc_on_late,
	.reconfigure = nscc_reconfigure,
	.has_params = true,
};
