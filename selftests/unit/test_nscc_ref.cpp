// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// NSCC against a model in floating point, written from MRC 1.0 §13.3 to §13.5:
// the same inputs, the same state within rounding.
//
// The model goes on from its own state for a while and is then set to the
// engine's, because rounding errors of a window add up (one byte for each
// adjustment) until a bound of the window meets both. Where the model compares
// quantities that are closer together than they can differ by rounding, either
// outcome is right, and where small windows grow by very much, one byte counts
// for much; such steps are counted and must be rare.
#include "nscc.hpp"

#include <algorithm>
#include <cmath>
#include <random>

using namespace mrc_test;

namespace
{

constexpr double kNone = -1;
// Windows may differ by rounding by this share of themselves and a packet.
constexpr double kBound = 0.005;

// As in the text: bytes, ns, ratios.
struct Model {
	// Parameters.
	double mtu, rate, cfg_base, target, cfg_max, fi, eta, fi_scale, pi,
		gamma, mmj, qa_threshold, period, threshold;
	bool disable_qa, trim;
	unsigned gate;
	// State.
	double cwnd, inflight, inc, rcvd, achieved, fi_count, saved, base, avg,
		last_adjust, last_dec, qa_end, to_ignore, ignored, max_cwnd;
	bool fast, trigger;
	// How far window and average may be off by rounding so far, carried
	// through each formula, and whether that mattered.
	double cwnd_tol, saved_tol, avg_tol;
	bool tie;

	bool above(double a, double b, double tol)
	{
		tie |= std::fabs(a - b) <= tol;
		return a > b;
	}

	// A bound that both have passed makes them the same again.
	void set(double v)
	{
		if (v + cwnd_tol < mtu || v - cwnd_tol > max_cwnd)
			cwnd_tol = 0;
		cwnd = std::max(std::min(v, max_cwnd), mtu);
	}

	// The window may be above a largest one that has become less.
	void lower(double v)
	{
		if (v + cwnd_tol < mtu)
			cwnd_tol = 0;
		cwnd = std::max(v, mtu);
	}

	void update_avg(double x, double n)
	{
		const double move = (x - avg) * std::min(n, cwnd) / cwnd /
				    (trim ? 8 : 1);

		avg += move;
		avg_tol += std::fabs(move) * cwnd_tol / cwnd + 2.0 / kQ16;
	}

	bool penalty(double n, double pen, bool restore)
	{
		if (pen > 0) {
			if (saved == 0) {
				saved = cwnd;
				saved_tol = cwnd_tol;
			}
			cwnd_tol += 1;
			lower(std::min(cwnd, inflight) - pen * n / 128);
			return true;
		}
		if (saved != 0 && restore) {
			cwnd = saved;
			cwnd_tol = saved_tol;
		}
		saved = 0;
		return false;
	}

	bool quick_adapt(bool loss, bool m, double delay, double now)
	{
		bool done = false;

		if (disable_qa)
			return false;
		if (ignored < to_ignore && m)
			return true;
		if (now >= qa_end) {
			if (qa_end != 0 &&
			    (trigger || loss || delay > qa_threshold) &&
			    achieved < std::floor(max_cwnd / (1u << gate))) {
				cwnd = std::max(achieved, mtu);
				cwnd_tol = 0;
				to_ignore = inflight;
				ignored = 0;
				trigger = false;
				done = true;
				inc = 0;
				rcvd = 0;
			}
			achieved = 0;
			qa_end = now + base + target;
		}
		return done;
	}

	bool fast_increase(double n, double delay)
	{
		if (delay < 1000) {
			fi_count += n;
			if (fast || above(fi_count, cwnd, cwnd_tol)) {
				cwnd_tol += 1;
				set(cwnd + n * fi_scale);
				fast = true;
				return true;
			}
		} else {
			fi_count = 0;
		}
		fast = false;
		return false;
	}

	void decrease(double now)
	{
		fast = false;
		fi_count = 0;
		if (above(avg, target, avg_tol) && now - last_dec > base) {
			const double red = gamma * (avg - target) / avg;
			cwnd_tol += cwnd / kQ16 + 1 +
				    cwnd * gamma * target / avg / avg * avg_tol;
			lower(cwnd * std::max(1 - red, mmj));
			last_dec = now;
		}
	}

	void fulfil(double now)
	{
		double v = cwnd + inc / cwnd;

		cwnd_tol += inc / cwnd / cwnd * cwnd_tol + 1.25;
		if (now - last_adjust >= period) {
			v += eta;
			last_adjust = now;
		}
		set(v);
		inc = 0;
		rcvd = 0;
	}

	// OP-43: only of packets of at least half the MTU.
	void sample(double rtt, double size)
	{
		if (rtt >= base || size < std::floor(mtu / 2))
			return;
		base = rtt;
		max_cwnd = std::max(
			mtu, std::min(cfg_max,
				      std::floor(1.5 * std::floor(rate * base /
								  1e9))));
	}

	void on_ack(double n, bool m, double rtt, double size, double pen,
		    bool restore, double out, double waiting, double now)
	{
		inflight -= n;
		// Never more than the requester has out; below zero only by
		// rounding and by what waits; nothing out is nothing.
		inflight = std::min(inflight, out);
		if (inflight < -(waiting + 256))
			inflight = -waiting;
		if (out + waiting == 0)
			inflight = 0;
		ignored += n;
		rcvd += n;
		achieved += n;
		const bool limited = penalty(n, pen, restore);
		if (rtt == kNone)
			return;
		sample(rtt, size);
		const double delay = std::max(rtt - base, 0.0);
		if (trim && !m && delay > target)
			update_avg(std::floor(cfg_base / 4), n);
		else
			update_avg(delay, m ? std::min(n, mtu) : n);
		if (quick_adapt(false, m, delay, now))
			return;
		if (!m && delay >= target) {
			if (!limited)
				inc += fi * n;
			fast = false;
			fi_count = 0;
		} else if (!m) {
			if (!limited && !fast_increase(n, delay))
				inc += pi * n * (target - delay) / target;
		} else if (delay >= target) {
			decrease(now);
		}
		if (now - last_adjust >= period || rcvd > threshold)
			fulfil(now);
	}

	void on_loss(double sz)
	{
		lower(cwnd - sz);
		ignored += sz;
		inflight -= sz;
	}

	void on_nack(double sz, bool trimmed, double rtt, double now)
	{
		inflight -= sz;
		if (!trimmed) {
			if (rtt != kNone)
				sample(rtt, sz);
			return;
		}
		update_avg(cfg_base, mtu);
		ignored += sz;
		trigger = true;
		if (!quick_adapt(true, true, 0, now))
			lower(cwnd - sz);
	}
};

// Derivation of §13.3; what the engine rounds down may differ by one.
void expect_derived(const mrc_cc_cfg &cfg, const mrc_nscc_cfg &in,
		    const mrc_nscc_cfg &p, u32 pi)
{
	const double base = in.base_rtt ? in.base_rtt : (double)cfg.base_rtt;
	const double bdp = (double)cfg.line_rate * base / 1e9;
	const double a = std::max(bdp / 150000, 1.0 / 16);
	const double mtu = cfg.mtu;
	double target = in.target_delay;

	if (!in.target_delay)
		target = cfg.trim_nack ? 0.75 * base : base;
	EXPECT_NEAR(p.base_rtt, base, 1);
	EXPECT_NEAR(p.target_delay, target, 1);
	// a is made of whole bytes and rounded to Q16.
	if (!in.fi) {
		EXPECT_NEAR(p.fi, 5 * mtu * a, 1 + 10 * mtu / kQ16);
	}
	if (!in.eta) {
		EXPECT_NEAR(p.eta, 0.15 * mtu * a, 1.1);
	}
	if (!in.fi_scale) {
		EXPECT_NEAR(p.fi_scale, 0.25 * a * kQ16, 2);
	}
	if (!in.max_cwnd) {
		EXPECT_NEAR(p.max_cwnd, std::max(1.5 * bdp, mtu), 2);
	}
	const double b = p.target_delay / 12000.0;
	const double a_fi = in.fi ? in.fi / (5 * mtu) : a;
	const double bound = std::max(p.max_cwnd / 4.0, 1.0);
	EXPECT_NEAR(pi, std::clamp(4 * mtu * a_fi * b, 1.0, bound),
		    2 + (1 + 10 * mtu / kQ16) * b);
}

class Run
{
public:
	Run(u32 seed, unsigned segment) : rng(seed), segment(segment) {}

	void go(unsigned steps)
	{
		setup();
		for (unsigned i = 0; i < steps; i++) {
			if (i % segment == 0)
				adopt();
			m.tie = false;
			step();
			if (::testing::Test::HasFailure())
				return;
			total++;
			if (m.tie || m.cwnd_tol > kBound * (m.cwnd + m.mtu)) {
				ties++;
				adopt();
				continue;
			}
			compare();
			if (::testing::Test::HasFailure()) {
				ADD_FAILURE() << "step " << i;
				return;
			}
		}
	}

	u64 total = 0, ties = 0;
	u64 qas = 0, mds = 0, fasts = 0, penalties = 0;

private:
	std::mt19937 rng;
	unsigned segment;
	Nscc c;
	Model m{};

	u64 pick(u64 lo, u64 hi)
	{
		return std::uniform_int_distribution<u64>(lo, hi)(rng);
	}

	bool one_in(unsigned n) { return pick(1, n) == 1; }

	void setup()
	{
		static constexpr u32 mtus[] = {340, 596, 1108, 2132, 4180};
		c.cfg.mtu = mtus[pick(0, 4)];
		c.cfg.base_rtt = pick(5000, 500000);
		c.cfg.line_rate = pick(1, 500) * 125000000;
		c.cfg.trim_nack = one_in(2);
		c.cfg.window = one_in(2) ? (u32)pick(1, 500000) : 0;
		c.par.disable_qa = one_in(4);
		if (one_in(3))
			c.par.qa_gate = (u8)pick(1, 8);
		if (one_in(3))
			c.par.adjust_bytes_threshold = (u32)pick(1, 200000);
		if (one_in(3))
			c.par.adjust_period_threshold = (u32)pick(1, 1000000);
		if (one_in(3))
			c.par.base_rtt = (u32)pick(2000, 1000000);
		if (one_in(3))
			c.par.eta = (u32)pick(1, 20000);
		if (one_in(3))
			c.par.fi = (u32)pick(1, 500000);
		if (one_in(3))
			c.par.fi_scale = (u32)pick(1, 4 * kQ16);
		if (one_in(3))
			c.par.gamma = (u32)pick(1, kQ16);
		if (one_in(3))
			c.par.max_md_jump = (u32)pick(1, kQ16);
		if (one_in(3))
			c.par.max_cwnd = (u32)pick(c.cfg.mtu, 5000000);
		if (one_in(3))
			c.par.qa_threshold = (u32)pick(1, 2000000);
		if (one_in(3))
			c.par.target_delay = (u32)pick(500, 1000000);
		c.init();
		const mrc_nscc_cfg p = c.resolve();
		expect_derived(c.cfg, c.par, p, c.s().pi);
		m.mtu = c.cfg.mtu;
		m.rate = (double)c.cfg.line_rate;
		m.cfg_base = p.base_rtt;
		m.trim = c.cfg.trim_nack;
		m.target = p.target_delay;
		m.cfg_max = p.max_cwnd;
		m.fi = p.fi;
		m.eta = p.eta;
		m.fi_scale = (double)p.fi_scale / kQ16;
		m.pi = c.s().pi;
		m.gamma = (double)p.gamma / kQ16;
		m.mmj = (double)p.max_md_jump / kQ16;
		m.qa_threshold = p.qa_threshold == MRC_NSCC_QA_OFF
					 ? HUGE_VAL
					 : p.qa_threshold;
		m.period = p.adjust_period_threshold;
		m.threshold = p.adjust_bytes_threshold;
		m.disable_qa = p.disable_qa;
		m.gate = p.qa_gate;
	}

	// The model takes the engine's state over.
	void adopt()
	{
		const mrc_nscc &s = c.s();

		m.cwnd = c.cc.cwnd;
		m.inflight = (double)s.inflight;
		m.inc = (double)s.inc;
		m.rcvd = (double)s.rcvd;
		m.achieved = (double)s.achieved;
		m.fi_count = (double)s.fi_count;
		m.saved = s.saved_cwnd;
		m.base = s.base_rtt;
		m.avg = (double)s.avg / kQ16;
		m.last_adjust = (double)s.last_adjust;
		m.last_dec = (double)s.last_dec;
		m.qa_end = (double)s.qa_end;
		m.to_ignore = (double)s.ignore;
		m.ignored = 0;
		m.max_cwnd = s.max_cwnd;
		m.fast = s.fast;
		m.trigger = s.trigger_qa;
		m.cwnd_tol = 0;
		m.saved_tol = 0;
		m.avg_tol = 0;
	}

	void step()
	{
		// Mostly within a round trip, idle times in between.
		c.now += one_in(50) ? pick(0, 20 * m.base + 1)
				    : pick(0, (u64)m.base / 8 + 1);
		switch (pick(0, 19)) {
		case 0:
			loss();
			break;
		case 1:
			nack();
			break;
		case 2: {
			const u32 sz = (u32)pick(68, c.cfg.mtu);
			c.cc.ops->on_late(&c.cc, sz);
			m.inflight += sz;
			break;
		}
		default:
			if (one_in(2)) {
				const u32 sz = (u32)pick(68, c.cfg.mtu);
				c.send(sz);
				m.inflight += sz;
			} else {
				ack();
			}
		}
	}

	u64 rtt()
	{
		const u64 base = c.s().base_rtt;

		switch (pick(0, 9)) {
		case 0:
			return MRC_CC_NONE_RTT;
		case 1:
			return base + pick(0, 999); // idle
		case 2:
			return base + pick(0, 10) - std::min<u64>(base, 5);
		case 3:
			return base + pick(0, 20 * (u64)m.target);
		default:
			return base + pick(0, 2 * (u64)m.target);
		}
	}

	void loss()
	{
		const u32 sz = (u32)pick(68, c.cfg.mtu);

		c.loss(sz);
		m.on_loss(sz);
	}

	void nack()
	{
		static constexpr u8 reasons[] = {
			MRC_NACK_TRIMMED, MRC_NACK_TRIMMED_LASTHOP,
			MRC_NACK_NO_RESOURCE, MRC_NACK_NO_BITMAP};
		const u32 sz = (u32)pick(68, c.cfg.mtu);
		const unsigned i = (unsigned)pick(0, 3);
		const u64 r = rtt();
		const u64 qa = c.s().qa_end;

		c.nack(sz, reasons[i], r);
		m.on_nack(sz, i < 2, r == MRC_CC_NONE_RTT ? kNone : (double)r,
			  (double)c.now);
		qas += c.s().qa_end != qa && c.s().ignore;
	}

	void ack()
	{
		const u32 before = c.cc.cwnd;
		const u64 dec = c.s().last_dec, qa = c.s().qa_end;
		mrc_cc_ack a{};

		a.newly = one_in(10) ? 0 : pick(1, 16 * c.cfg.mtu) & ~255ull;
		if (one_in(300))
			a.newly = pick(0, 0x7FFFFFFF);
		a.ce = one_in(3);
		a.rtt = rtt();
		a.size = one_in(4) ? (u32)pick(0, c.cfg.mtu) : c.cfg.mtu;
		a.pen = one_in(20) ? (u8)pick(1, 127) : 0;
		a.restore = one_in(2);
		a.out = Nscc::kPlenty;
		a.waiting = Nscc::kPlenty;
		if (one_in(4)) {
			a.out = one_in(4) ? 0 : pick(0, 2 * (u64)c.cc.cwnd);
			a.waiting = one_in(2) ? 0 : pick(0, 4 * c.cfg.mtu);
		}
		a.now = c.now;
		c.cc.ops->on_ack(&c.cc, &a);
		m.on_ack((double)a.newly, a.ce,
			 a.rtt == MRC_CC_NONE_RTT ? kNone : (double)a.rtt,
			 a.size, a.pen, a.restore, (double)a.out, (double)a.waiting,
			 (double)a.now);
		mds += c.s().last_dec != dec;
		fasts += c.s().fast && c.cc.cwnd > before;
		penalties += a.pen && c.cc.cwnd < before;
		qas += c.s().qa_end != qa && c.s().ignore;
	}

	void compare()
	{
		const mrc_nscc &s = c.s();

		EXPECT_NEAR(c.cc.cwnd, m.cwnd, m.cwnd_tol);
		EXPECT_NEAR((double)s.avg / kQ16, m.avg, m.avg_tol);
		EXPECT_EQ((double)s.inflight, m.inflight);
		EXPECT_EQ((double)s.base_rtt, m.base);
		EXPECT_EQ((double)s.achieved, m.achieved);
		EXPECT_EQ((double)s.rcvd, m.rcvd);
		EXPECT_EQ((double)s.fi_count, m.fi_count);
		EXPECT_NEAR((double)s.inc, m.inc, 64 + m.inc * 1e-9);
		EXPECT_NEAR(s.max_cwnd, m.max_cwnd, 1);
		EXPECT_NEAR(s.saved_cwnd, m.saved, m.saved_tol);
		EXPECT_EQ((double)s.last_adjust, m.last_adjust);
		EXPECT_EQ((double)s.last_dec, m.last_dec);
		EXPECT_EQ((double)s.qa_end, m.qa_end);
		EXPECT_EQ((double)s.ignore,
			  std::max(m.to_ignore - m.ignored, 0.0));
		EXPECT_EQ(s.fast, m.fast);
		EXPECT_EQ(s.trigger_qa, m.trigger);
		EXPECT_GE(c.cc.cwnd, c.cfg.mtu);
		EXPECT_LE(c.cc.cwnd, s.p.max_cwnd);
	}
};

void many(unsigned configs, unsigned steps, unsigned segment)
{
	Run all(0, 1);

	for (u32 seed = 1; seed <= configs; seed++) {
		Run r(seed, segment);

		r.go(steps);
		if (::testing::Test::HasFailure()) {
			ADD_FAILURE() << "seed " << seed;
			return;
		}
		all.total += r.total;
		all.ties += r.ties;
		all.qas += r.qas;
		all.mds += r.mds;
		all.fasts += r.fasts;
		all.penalties += r.penalties;
	}
	// Everything happened, and nearly all of it was compared.
	EXPECT_EQ(all.total, (u64)configs * steps);
	EXPECT_LT(all.ties, all.total / 200);
	EXPECT_GT(all.qas, all.total / 4000);
	EXPECT_GT(all.mds, all.total / 200);
	EXPECT_GT(all.fasts, all.total / 2000);
	EXPECT_GT(all.penalties, all.total / 500);
}

} // namespace

// From the same state each single step leads to the same state.
TEST(NsccModel, EachStep)
{
	many(300, 1000, 1);
}

// And so do many steps.
TEST(NsccModel, ManySteps)
{
	many(300, 1000, 40);
}
