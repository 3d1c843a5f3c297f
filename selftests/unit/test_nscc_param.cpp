// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// NSCC: name, parameters of MRC 1.0 §13.3, other ones while it runs.
#include "nscc.hpp"

#include <initializer_list>
#include <tuple>

using namespace mrc_test;

namespace
{

constexpr u32 kMtu = 4096;
constexpr u32 kBdp15 = 225000; // 1.5 BDP at the reference point

// All members: padding is not compared.
auto members(const mrc_nscc_cfg &p)
{
	return std::make_tuple(p.disable_qa, p.qa_gate,
			       p.adjust_bytes_threshold,
			       p.adjust_period_threshold, p.base_rtt, p.eta,
			       p.fi, p.fi_scale, p.gamma, p.max_md_jump,
			       p.max_cwnd, p.qa_threshold, p.target_delay);
}

} // namespace

TEST(NsccName, AsLibMrcKnowsIt)
{
	EXPECT_EQ(mrc_cc_find("uet-1.0-nscc"), &mrc_cc_nscc);
	EXPECT_STREQ(mrc_cc_nscc.name, "uet-1.0-nscc");
	EXPECT_EQ(mrc_cc_find("nscc"), nullptr);
	EXPECT_EQ(mrc_cc_find("uet-1.0-nscc "), nullptr);
}

TEST(NsccName, IsCompleteAndSmall)
{
	for (const mrc_cc_ops *ops : {&mrc_cc_nscc, &mrc_cc_none}) {
		EXPECT_NE(ops->init, nullptr);
		EXPECT_NE(ops->can_send, nullptr);
		EXPECT_NE(ops->on_send, nullptr);
		EXPECT_NE(ops->on_ack, nullptr);
		EXPECT_NE(ops->on_loss, nullptr);
		EXPECT_NE(ops->on_nack, nullptr);
		EXPECT_NE(ops->ack_request, nullptr);
		EXPECT_NE(ops->on_late, nullptr);
		EXPECT_NE(ops->reconfigure, nullptr);
	}
	static_assert(sizeof(mrc_cc) <= 256);
	static_assert(sizeof(mrc_nscc) <= sizeof(mrc_cc::priv));
}

// The table of §13.3, column by column.
TEST(NsccParam, ReferencePoint)
{
	for (bool trim : {false, true}) {
		Nscc c(trim);
		const mrc_nscc_cfg p = c.resolve();
		EXPECT_EQ(p.base_rtt, 12000u);
		EXPECT_EQ(p.target_delay, trim ? 9000u : 12000u);
		EXPECT_EQ(p.max_cwnd, kBdp15);
		EXPECT_EQ(p.fi, 20480u);
		EXPECT_EQ(p.eta, 614u);
		EXPECT_EQ(p.fi_scale, kQ16 / 4);
		EXPECT_NEAR(p.gamma, 0.8 * kQ16, 1);
		EXPECT_EQ(p.max_md_jump, kQ16 / 2);
		EXPECT_EQ(p.qa_gate, 3);
		EXPECT_EQ(p.qa_threshold, trim ? MRC_NSCC_QA_OFF : 48000u);
		EXPECT_FALSE(p.disable_qa);
		EXPECT_EQ(p.adjust_bytes_threshold, 32768u);
		EXPECT_EQ(p.adjust_period_threshold, 12000u);
		c.init();
		EXPECT_EQ(c.s().pi, trim ? 12288u : 16384u);
		EXPECT_EQ(c.cc.cwnd, kBdp15);
		EXPECT_EQ(c.s().max_cwnd, kBdp15);
		EXPECT_EQ(c.s().last_adjust, c.now);
	}
}

// a and b scale what §13.3 says they scale.
TEST(NsccParam, Scales)
{
	Nscc c(false);
	c.cfg.line_rate = 1250000000; // 10 Gbit/s
	c.cfg.base_rtt = 60000;	      // a = 0.5, b = 5
	mrc_nscc_cfg p = c.resolve();
	EXPECT_EQ(p.max_cwnd, 112500u);
	EXPECT_EQ(p.fi, 10240u);
	EXPECT_EQ(p.eta, 307u);
	EXPECT_EQ(p.fi_scale, kQ16 / 8);
	EXPECT_EQ(p.target_delay, 60000u);
	EXPECT_EQ(p.qa_threshold, 240000u);
	EXPECT_EQ(p.adjust_period_threshold, 60000u);
	c.init();
	EXPECT_EQ(c.s().pi, 112500u / 4); // 4 MTU a b would be 40960
	// The target alone moves b and the threshold of quick adapt.
	c.par.target_delay = 24000;
	c.init();
	EXPECT_EQ(c.s().pi, 4u * 4096);
	EXPECT_EQ(c.resolve().qa_threshold, 96000u);
	EXPECT_EQ(c.resolve().fi, 10240u);
}

// The proportional increase follows fi where a profile has it, and is bounded
// by the largest window.
TEST(NsccParam, ProportionalIncrease)
{
	Nscc c(false);
	c.par.fi = 5000;
	c.init();
	EXPECT_EQ(c.s().pi, 4000u);
	c.par.target_delay = 24000;
	c.init();
	EXPECT_EQ(c.s().pi, 8000u);
	c.par.max_cwnd = 20000;
	c.init();
	EXPECT_EQ(c.s().pi, 5000u);
	c.par.fi = 0xFFFFFFFF;
	c.par.target_delay = 1000000000;
	c.par.max_cwnd = 0;
	c.init();
	EXPECT_EQ(c.s().pi, kBdp15 / 4);
	c.par.fi = 1;
	c.par.target_delay = 1;
	c.init();
	EXPECT_EQ(c.s().pi, 1u);
}

// a is at least 1/16: nothing rounds to zero on slow links.
TEST(NsccParam, SlowLinks)
{
	Nscc c;
	c.cfg.mtu = 340;
	c.cfg.line_rate = 1;
	mrc_nscc_cfg p = c.resolve();
	EXPECT_EQ(p.fi, 5u * 340 / 16);
	EXPECT_EQ(p.eta, 3u * 340 / 16 / 20);
	EXPECT_GT(p.eta, 0u);
	EXPECT_EQ(p.fi_scale, kQ16 / 64);
	EXPECT_EQ(p.max_cwnd, 340u); // no less than one packet
	EXPECT_EQ(c.init().cc.cwnd, 340u);
}

TEST(NsccParam, UnknownRateAndRtt)
{
	Nscc c;
	c.cfg.line_rate = 0;
	c.cfg.base_rtt = 0;
	mrc_nscc_cfg p = c.resolve();
	EXPECT_EQ(p.base_rtt, (u32)MRC_BASE_RTT_DEFAULT);
	EXPECT_EQ(p.max_cwnd, 187500u); // 1.5 * 10 Gbit/s * 100 us
	c.cfg.nscc = nullptr;
	mrc_nscc_cfg q = c.resolve();
	EXPECT_EQ(members(p), members(q));
}

// What is given is taken as it is; no field is mistaken for another.
TEST(NsccParam, GivenOnesCount)
{
	Nscc c;
	c.par.disable_qa = true;
	c.par.qa_gate = 5;
	c.par.adjust_bytes_threshold = 10001;
	c.par.adjust_period_threshold = 10002;
	c.par.base_rtt = 10003;
	c.par.eta = 104;
	c.par.fi = 10005;
	c.par.fi_scale = 10006;
	c.par.gamma = 10007;
	c.par.max_md_jump = 10008;
	c.par.max_cwnd = 10009;
	c.par.qa_threshold = 10010;
	c.par.target_delay = 10011;
	const mrc_nscc_cfg p = c.resolve();
	EXPECT_TRUE(p.disable_qa);
	EXPECT_EQ(p.qa_gate, 5);
	EXPECT_EQ(p.adjust_bytes_threshold, 10001u);
	EXPECT_EQ(p.adjust_period_threshold, 10002u);
	EXPECT_EQ(p.base_rtt, 10003u);
	EXPECT_EQ(p.eta, 104u);
	EXPECT_EQ(p.fi, 10005u);
	EXPECT_EQ(p.fi_scale, 10006u);
	EXPECT_EQ(p.gamma, 10007u);
	EXPECT_EQ(p.max_md_jump, 10008u);
	EXPECT_EQ(p.max_cwnd, 10009u);
	EXPECT_EQ(p.qa_threshold, 10010u);
	EXPECT_EQ(p.target_delay, 10011u);
	// Resolving what was resolved changes nothing.
	c.par = p;
	const mrc_nscc_cfg q = c.resolve();
	EXPECT_EQ(members(p), members(q));
}

TEST(NsccParam, Ranges)
{
	Nscc c;
	c.par.qa_gate = 255;
	c.par.gamma = kQ16 + 1;
	c.par.max_md_jump = 0xFFFFFFFF;
	c.par.max_cwnd = 1;
	c.par.base_rtt = 0xFFFFFFFF;
	c.par.target_delay = 0xFFFFFFFF;
	const mrc_nscc_cfg p = c.resolve();
	EXPECT_EQ(p.qa_gate, 31);
	EXPECT_EQ(p.gamma, kQ16);
	EXPECT_EQ(p.max_md_jump, kQ16);
	EXPECT_EQ(p.max_cwnd, kMtu);
	EXPECT_EQ(p.base_rtt, 1000000000u);
	EXPECT_EQ(p.target_delay, 1000000000u);
	// No more full packets than loss inference can tell apart.
	c.cfg.max_pkts = 10;
	c.par.max_cwnd = 0xFFFFFFFF;
	EXPECT_EQ(c.resolve().max_cwnd, 10 * kMtu);
	c.par.max_cwnd = 0;
	EXPECT_EQ(c.resolve().max_cwnd, 10 * kMtu);
}

TEST(NsccParam, InitialWindow)
{
	Nscc c;
	c.cfg.window = 50000;
	EXPECT_EQ(c.init().cc.cwnd, 50000u);
	c.cfg.window = 0xFFFFFFFF;
	EXPECT_EQ(c.init().cc.cwnd, kBdp15);
	c.cfg.window = 1;
	EXPECT_EQ(c.init().cc.cwnd, kMtu);
}

TEST(NsccReconfigure, KeepsWhatWasMeasured)
{
	Nscc c;
	c.init();
	c.ack(4096, 8000);
	c.send(50000);
	c.s().avg = 5000ull << MRC_NSCC_AVG_SHIFT;
	c.par.fi = 777;
	c.par.max_cwnd = 100000;
	c.par.base_rtt = 20000;
	mrc_cc_reconfigure(&c.cc, &c.cfg);
	EXPECT_EQ(c.s().p.fi, 777u);
	EXPECT_EQ(c.s().p.base_rtt, 20000u);
	EXPECT_EQ(c.s().base_rtt, 8000u);
	EXPECT_EQ(c.cc.cwnd, 100000u);
	EXPECT_EQ(c.s().max_cwnd, 100000u);
	EXPECT_EQ(c.s().inflight, 50000 - 4096);
	EXPECT_EQ(c.s().avg, 5000ull << MRC_NSCC_AVG_SHIFT);
	// A larger window is only room to grow.
	c.par.max_cwnd = 140000;
	mrc_cc_reconfigure(&c.cc, &c.cfg);
	EXPECT_EQ(c.cc.cwnd, 100000u);
	EXPECT_EQ(c.s().max_cwnd, 140000u);
	// A base RTT below the measured one wins.
	c.par.base_rtt = 6000;
	mrc_cc_reconfigure(&c.cc, &c.cfg);
	EXPECT_EQ(c.s().base_rtt, 6000u);
	EXPECT_EQ(c.s().max_cwnd, 140000u);
}

TEST(NsccReconfigure, ConfiguredBaseFollows)
{
	Nscc c;
	c.init();
	c.ack(4096, 13000);
	c.par.base_rtt = 20000;
	mrc_cc_reconfigure(&c.cc, &c.cfg);
	EXPECT_EQ(c.s().base_rtt, 20000u);
	EXPECT_EQ(c.s().max_cwnd, 375000u);
	c.cfg.max_pkts = 20;
	mrc_cc_reconfigure(&c.cc, &c.cfg);
	EXPECT_EQ(c.cc.max_pkts, 20u);
	EXPECT_EQ(c.cc.cwnd, 20 * kMtu);
}

TEST(NsccReconfigure, SavedWindowIsBounded)
{
	Nscc c;
	c.init();
	c.send(kBdp15);
	c.ack(4096, 16000, false, 10);
	c.par.max_cwnd = 50000;
	mrc_cc_reconfigure(&c.cc, &c.cfg);
	c.ack(0, MRC_CC_NONE_RTT, false, 0, true);
	EXPECT_EQ(c.cc.cwnd, 50000u);
}

TEST(NsccReconfigure, FixedWindow)
{
	mrc_cc cc;
	mrc_cc_cfg cfg{};
	cfg.mtu = 1000;
	mrc_cc_init(&cc, nullptr, &cfg);
	cfg.window = 5000;
	cfg.max_pkts = 100;
	mrc_cc_reconfigure(&cc, &cfg);
	EXPECT_EQ(cc.cwnd, 5000u);
	EXPECT_EQ(cc.max_pkts, 100u);
}

TEST(NsccQuery, ShowsTheState)
{
	Nscc c(false);
	c.init();
	c.send(50000);
	c.ack(kBdp15, 10000);
	c.ack(kBdp15, 14000);
	mrc_nscc_info i;
	ASSERT_TRUE(mrc_nscc_query(&c.cc, &i));
	EXPECT_EQ(members(i.cfg), members(c.s().p));
	EXPECT_EQ(i.cwnd, c.cc.cwnd);
	EXPECT_EQ(i.max_cwnd, 187500u);
	EXPECT_EQ(i.inflight, c.s().inflight);
	EXPECT_EQ(i.base_rtt, 10000u);
	EXPECT_EQ(i.avg_delay, 4000u);
	mrc_cc none;
	mrc_cc_init(&none, nullptr, &c.cfg);
	EXPECT_FALSE(mrc_nscc_query(&none, &i));
}
