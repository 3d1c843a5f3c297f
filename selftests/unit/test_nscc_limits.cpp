// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// NSCC with inputs that no honest peer or controller sends: no overflow (the
// sanitizers watch), and the window stays within its bounds.
#include "nscc.hpp"

#include <algorithm>
#include <initializer_list>
#include <random>

using namespace mrc_test;

namespace
{

constexpr u64 kExtreme64[] = {
	0,	    1,		 255,	     4096,	 0x7FFFFFFF,
	0x80000000, 0xFFFFFFFF,	 1ull << 32, 1ull << 40, ~0ull >> 1,
	1ull << 63, ~0ull - 256, ~0ull - 1,  ~0ull,
};
constexpr u32 kExtreme32[] = {
	0, 1, 2, 999, 65535, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
};

class Extremes
{
public:
	explicit Extremes(u32 seed) : rng(seed) {}

	u64 v64() { return kExtreme64[rng() % std::size(kExtreme64)]; }

	u32 v32() { return kExtreme32[rng() % std::size(kExtreme32)]; }

	unsigned below(unsigned n) { return (unsigned)(rng() % n); }

	void configure(Nscc &c)
	{
		c.cfg.mtu = v32();
		c.cfg.base_rtt = v64();
		c.cfg.line_rate = v64();
		c.cfg.trim_nack = below(2);
		c.cfg.window = v32();
		c.cfg.max_pkts = v32();
		c.par.disable_qa = below(2);
		c.par.qa_gate = (u8)v32();
		c.par.adjust_bytes_threshold = v32();
		c.par.adjust_period_threshold = v32();
		c.par.base_rtt = v32();
		c.par.eta = v32();
		c.par.fi = v32();
		c.par.fi_scale = v32();
		c.par.gamma = v32();
		c.par.max_md_jump = v32();
		c.par.max_cwnd = v32();
		c.par.qa_threshold = v32();
		c.par.target_delay = v32();
	}

	void event(Nscc &c)
	{
		c.now = below(3) ? c.now + v32() : v64();
		switch (below(6)) {
		case 0:
			c.send(v32());
			break;
		case 1:
			c.loss(v32());
			break;
		case 2:
			c.nack(v32(), (u8)(1 + below(2)), v64());
			break;
		case 3:
			c.cc.ops->on_late(&c.cc, v32());
			break;
		default: {
			mrc_cc_ack a{};
			a.newly = v64();
			a.freed = v64();
			a.ce = below(2);
			a.rtt = v64();
			a.pen = (u8)v32();
			a.restore = below(2);
			a.out = v64();
			a.waiting = v64();
			a.now = c.now;
			c.cc.ops->on_ack(&c.cc, &a);
		}
		}
	}

private:
	std::mt19937 rng;
};

void expect_sane(Nscc &c)
{
	const u32 mtu = std::clamp(c.cfg.mtu, 1u, 65535u);

	ASSERT_EQ(c.cc.mtu, mtu);
	ASSERT_GE(c.cc.cwnd, mtu);
	ASSERT_LE(c.cc.cwnd, c.s().p.max_cwnd);
	ASSERT_GE(c.s().max_cwnd, mtu);
	ASSERT_LE(c.s().max_cwnd, c.s().p.max_cwnd);
	ASSERT_LE(c.s().base_rtt, c.s().p.base_rtt);
	ASSERT_LE(c.s().avg, 0xFFFFFFFFull << MRC_NSCC_AVG_SHIFT);
	ASSERT_LE(std::abs(c.s().inflight), 1ll << 40);
}

} // namespace

TEST(NsccLimits, AnyParametersAnyInput)
{
	Extremes x(7);

	for (int i = 0; i < 3000; i++) {
		Nscc c;
		x.configure(c);
		c.init();
		expect_sane(c);
		const mrc_nscc_cfg p = c.resolve();
		ASSERT_GT(p.base_rtt, 0u);
		ASSERT_GT(p.target_delay, 0u);
		ASSERT_LE(p.qa_gate, 31);
		ASSERT_LE(p.gamma, kQ16);
		ASSERT_LE(p.max_md_jump, kQ16);
		for (int j = 0; j < 60; j++) {
			x.event(c);
			expect_sane(c);
			if (::testing::Test::HasFatalFailure())
				return;
			(void)c.cc.ops->can_send(&c.cc, x.v64(), x.v32());
			(void)c.cc.ops->ack_request(&c.cc, x.v64());
		}
		const u32 mtu = c.cfg.mtu;
		x.configure(c);
		c.cfg.mtu = mtu;
		mrc_cc_reconfigure(&c.cc, &c.cfg);
		expect_sane(c);
		for (int j = 0; j < 20; j++) {
			x.event(c);
			expect_sane(c);
			if (::testing::Test::HasFatalFailure())
				return;
		}
	}
}

// A peer that claims as much as a SACK can hold, for ever: sums saturate, the
// window ends at its largest, and nothing wraps to closing it.
TEST(NsccLimits, EndlessClaims)
{
	Nscc c;
	c.par.adjust_bytes_threshold = 0xFFFFFFFF;
	c.par.adjust_period_threshold = 0xFFFFFFFF;
	c.par.fi = 0xFFFFFFFF;
	c.par.disable_qa = true;
	c.cfg.window = 4096;
	c.init();
	for (int i = 0; i < 10; i++)
		c.ack(~0ull, 1000000000);
	EXPECT_EQ(c.cc.cwnd, 225000u);
	EXPECT_TRUE(c.cc.ops->can_send(&c.cc, 0, 4096));
	EXPECT_EQ(c.s().inflight, -10ll * 0x7FFFFFFF);
	for (int i = 0; i < 2000; i++)
		c.ack(~0ull, MRC_CC_NONE_RTT);
	EXPECT_EQ(c.s().inflight, -(1ll << 40));
	// What is really out puts it right at once.
	mrc_cc_ack a{};
	a.rtt = MRC_CC_NONE_RTT;
	a.out = 4096;
	c.cc.ops->on_ack(&c.cc, &a);
	EXPECT_EQ(c.s().inflight, 0);
}

// Bytes sent but never counted cannot close the window for good.
TEST(NsccLimits, PeerThatNeverCounts)
{
	Nscc c;
	c.init();
	for (int i = 0; i < 100000; i++) {
		c.send(4096);
		mrc_cc_ack a{};
		a.rtt = 13000;
		a.out = 0;
		a.now = ++c.now;
		c.cc.ops->on_ack(&c.cc, &a);
		ASSERT_EQ(c.s().inflight, 0);
		ASSERT_TRUE(c.cc.ops->can_send(&c.cc, 0, 4096));
	}
}
