// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// NSCC rule by rule, MRC 1.0 §13; test_nscc_ref.cpp has the whole.
#include "nscc.hpp"

#include <initializer_list>

using namespace mrc_test;

namespace
{

constexpr u32 kMtu = 4096;
constexpr u32 kBdp15 = 225000; // 1.5 BDP at the reference point

// An adjustment period that never ends, so that increases can be read off.
Nscc &quiet(Nscc &c)
{
	c.par.adjust_period_threshold = 0xFFFFFFFF;
	c.par.adjust_bytes_threshold = 0xFFFFFFFF;
	c.par.disable_qa = true;
	return c.init();
}

} // namespace

// OCP's wording: as long as less than the window is out, by the responder's
// count.
TEST(NsccSend, WindowOpenUntilItIsReached)
{
	Nscc c;
	c.init();
	c.send(kBdp15 - 1);
	EXPECT_TRUE(c.cc.ops->can_send(&c.cc, 0, kMtu));
	c.send(1);
	EXPECT_FALSE(c.cc.ops->can_send(&c.cc, 0, kMtu));
	c.ack(256, MRC_CC_NONE_RTT);
	EXPECT_TRUE(c.cc.ops->can_send(&c.cc, kBdp15, kMtu));
	// A count below zero is no wide number.
	c.ack(1000000, MRC_CC_NONE_RTT);
	EXPECT_LT(c.s().inflight, 0);
	EXPECT_TRUE(c.cc.ops->can_send(&c.cc, 0, kMtu));
}

TEST(NsccSend, AckRequest)
{
	Nscc c;
	c.init();
	EXPECT_FALSE(c.cc.ops->ack_request(&c.cc, 0));
	c.send(kBdp15 - kMtu);
	EXPECT_FALSE(c.cc.ops->ack_request(&c.cc, 0));
	c.send(1);
	EXPECT_TRUE(c.cc.ops->ack_request(&c.cc, 0));
	c.send(kBdp15);
	EXPECT_TRUE(c.cc.ops->ack_request(&c.cc, 0));
	Nscc small;
	small.cfg.window = MRC_SACK_THRESHOLD;
	EXPECT_FALSE(small.init().cc.ops->ack_request(&small.cc, 0));
	small.cfg.window--;
	EXPECT_TRUE(small.init().cc.ops->ack_request(&small.cc, 0));
}

// Table 8-1: no mark and little delay.
TEST(NsccReact, ProportionalIncrease)
{
	Nscc c;
	quiet(c);
	c.ack(8192, 12000 + 4500);
	EXPECT_EQ(c.s().inc, 12288ull * 8192 / 2);
	c.ack(8192, 12000 + 8999);
	EXPECT_EQ(c.s().inc, 12288ull * 8192 / 2 + 12288ull * 8192 / 9000);
	EXPECT_EQ(c.cc.cwnd, kBdp15);
}

TEST(NsccReact, FairIncrease)
{
	Nscc c;
	quiet(c);
	c.ack(8192, 12000 + 9000);
	EXPECT_EQ(c.s().inc, 20480ull * 8192);
	c.ack(4096, 12000 + 500000);
	EXPECT_EQ(c.s().inc, 20480ull * 12288);
}

TEST(NsccReact, MarkWithLittleDelayChangesNothing)
{
	Nscc c;
	quiet(c);
	c.ack(8192, 12000 + 8999, true);
	EXPECT_EQ(c.s().inc, 0u);
	EXPECT_EQ(c.cc.cwnd, kBdp15);
}

// §18.4: average 18000, gamma 0.8, so that 0.6 of the window stays.
TEST(NsccReact, DecreaseOfTheBehaviouralVector)
{
	Nscc c;
	quiet(c);
	c.s().avg = 18000ull << MRC_NSCC_AVG_SHIFT;
	// The average moves with the bytes acknowledged; here there are none.
	c.ack(0, 12000 + 12000, true);
	EXPECT_NEAR(c.cc.cwnd, 135000, 2);
	EXPECT_EQ(c.s().last_dec, c.now);
}

TEST(NsccReact, DecreaseIsBounded)
{
	Nscc c;
	quiet(c);
	c.s().avg = 0xFFFFFFFFull << MRC_NSCC_AVG_SHIFT;
	c.ack(0, 12000 + 12000, true);
	EXPECT_EQ(c.cc.cwnd, kBdp15 / 2);
	c.par.max_md_jump = kQ16 * 9 / 10;
	quiet(c);
	c.s().avg = 0xFFFFFFFFull << MRC_NSCC_AVG_SHIFT;
	c.ack(0, 12000 + 12000, true);
	EXPECT_NEAR(c.cc.cwnd, kBdp15 * 0.9, 4);
	// Never below one packet.
	c.cc.cwnd = kMtu;
	c.now += 100000;
	c.ack(0, 12000 + 12000, true);
	EXPECT_EQ(c.cc.cwnd, kMtu);
}

TEST(NsccReact, DecreaseOncePerBaseRtt)
{
	Nscc c;
	quiet(c);
	c.s().avg = 18000ull << MRC_NSCC_AVG_SHIFT;
	c.ack(0, 30000, true);
	const u32 once = c.cc.cwnd;
	ASSERT_LT(once, kBdp15);
	c.now += 12000;
	c.ack(0, 30000, true);
	EXPECT_EQ(c.cc.cwnd, once);
	c.now += 1;
	c.ack(0, 30000, true);
	EXPECT_LT(c.cc.cwnd, once);
}

TEST(NsccReact, NoDecreaseBelowTheAverage)
{
	Nscc c;
	quiet(c);
	c.s().avg = 9000ull << MRC_NSCC_AVG_SHIFT;
	c.ack(0, 30000, true);
	EXPECT_EQ(c.cc.cwnd, kBdp15);
	c.s().avg++;
	c.ack(0, 30000, true);
	EXPECT_EQ(c.s().last_dec, c.now);
}

// The clock of another processor may be behind.
TEST(NsccReact, TimeBackwardsIsNoTime)
{
	Nscc c;
	quiet(c);
	c.s().avg = 18000ull << MRC_NSCC_AVG_SHIFT;
	c.s().last_dec = c.now + 1;
	c.ack(0, 30000, true);
	EXPECT_EQ(c.cc.cwnd, kBdp15);
	c.par.adjust_period_threshold = 1000;
	c.init();
	c.s().last_adjust = c.now + 1;
	c.ack(256, 16000);
	EXPECT_NE(c.s().inc, 0u);
}

TEST(NsccAverage, WeighsBytesOfAWindow)
{
	Nscc c(false);
	quiet(c);
	c.ack(kBdp15 / 4, 12000 + 8000);
	EXPECT_NEAR((double)c.s().avg / kQ16, 2000, 0.01);
	c.ack(kBdp15 / 2, 12000 + 4000);
	EXPECT_NEAR((double)c.s().avg / kQ16, 3000, 0.01);
	// More than a window replaces it.
	c.ack(kBdp15 + 1, 12000 + 500);
	EXPECT_EQ(c.s().avg, 500ull << MRC_NSCC_AVG_SHIFT);
	// Small packets are not lost in rounding.
	for (int i = 0; i < 100000; i++)
		c.ack(256, 12000 + 8000);
	EXPECT_NEAR((double)c.s().avg / kQ16, 8000, 0.1);
}

// Trims tell of full queues, so the average is that of eight windows, and packets
// without a mark that waited long do not count for what they waited.
TEST(NsccAverage, OfSeveralWindowsWithTrimming)
{
	Nscc c(true);
	quiet(c);
	c.ack(kBdp15 / 4, 12000 + 8000);
	EXPECT_NEAR((double)c.s().avg / kQ16, 2000.0 / 8, 0.01);
	c.ack(kBdp15, 12000 + 8000);
	EXPECT_NEAR((double)c.s().avg / kQ16, 250 + (8000 - 250.0) / 8, 0.01);
	Nscc late(true);
	quiet(late);
	const u32 target = late.s().p.target_delay;
	late.ack(kBdp15, 12000 + target);
	EXPECT_NEAR((double)late.s().avg / kQ16, target / 8.0, 0.01);
	Nscc later(true);
	quiet(later);
	later.ack(kBdp15, 12000 + target + 1);
	EXPECT_NEAR((double)later.s().avg / kQ16, later.s().p.base_rtt / 32.0, 0.01);
	// A mark is believed, for a packet.
	Nscc marked(true);
	quiet(marked);
	marked.ack(kBdp15, 12000 + target + 1, true);
	EXPECT_NEAR((double)marked.s().avg / kQ16, (target + 1.0) / 8 * kMtu / kBdp15, 0.01);
}

// A marked packet has a SACK at once, which also reports packets that were not marked.
TEST(NsccAverage, MarkedPacketCountsAlone)
{
	Nscc c(false);
	quiet(c);
	c.ack(4 * kMtu, 12000 + 8000, true);
	EXPECT_NEAR((double)c.s().avg / kQ16, 8000.0 * kMtu / kBdp15, 0.01);
	Nscc small(false);
	quiet(small);
	const u32 quarter = kMtu / 4;
	small.ack(quarter, 12000 + 8000, true);
	EXPECT_NEAR((double)small.s().avg / kQ16, 8000.0 * quarter / kBdp15, 0.01);
}

TEST(NsccAdjust, AfterThePeriodOrTheBytes)
{
	Nscc c;
	c.par.disable_qa = true;
	c.cfg.window = 100000;
	c.init();
	// By bytes: more than 32768, without eta.
	c.ack(32768, 12000 + 9000);
	EXPECT_EQ(c.cc.cwnd, 100000u);
	c.ack(256, 12000 + 9000);
	EXPECT_EQ(c.cc.cwnd, 100000u + 20480 * 33024 / 100000);
	EXPECT_EQ(c.s().inc, 0u);
	EXPECT_EQ(c.s().rcvd, 0u);
	// By time, with eta.
	const u32 before = c.cc.cwnd;
	c.now += 11999;
	c.ack(4096, 12000 + 9000);
	EXPECT_EQ(c.cc.cwnd, before);
	c.now += 1;
	c.ack(4096, 12000 + 9000);
	EXPECT_EQ(c.cc.cwnd, before + 20480u * 8192 / before + 614);
	EXPECT_EQ(c.s().last_adjust, c.now);
}

TEST(NsccAdjust, NeverBeyondTheLargestWindow)
{
	Nscc c;
	c.par.disable_qa = true;
	c.init();
	for (int i = 0; i < 100; i++) {
		c.now += 12000;
		c.ack(65536, 12000 + 9000);
		ASSERT_EQ(c.cc.cwnd, kBdp15);
	}
}

// Delay ~ 0 for a window of bytes: growth by a quarter of what arrives.
TEST(NsccFast, Increase)
{
	Nscc c;
	quiet(c);
	c.cc.cwnd = 40000;
	c.ack(20000, 12000 + 999);
	c.ack(20000, 12000);
	EXPECT_EQ(c.cc.cwnd, 40000u);
	EXPECT_FALSE(c.s().fast);
	const u64 inc = c.s().inc;
	EXPECT_GT(inc, 0u);
	c.ack(1000, 12000);
	EXPECT_EQ(c.cc.cwnd, 40250u);
	EXPECT_TRUE(c.s().fast);
	EXPECT_EQ(c.s().inc, inc); // instead of, not besides
	c.ack(100, 12000);
	EXPECT_EQ(c.cc.cwnd, 40275u);
	c.ack(0x7FFFFFFF, 12000);
	EXPECT_EQ(c.cc.cwnd, kBdp15);
}

TEST(NsccFast, EndsWithDelay)
{
	for (u64 delay : {1000, 9000}) {
		Nscc c;
		quiet(c);
		c.cc.cwnd = 40000;
		c.ack(50000, 12000);
		ASSERT_TRUE(c.s().fast);
		const u32 cwnd = c.cc.cwnd;
		c.ack(100, 12000 + delay);
		EXPECT_FALSE(c.s().fast);
		EXPECT_EQ(c.s().fi_count, 0u);
		c.ack(100, 12000);
		EXPECT_EQ(c.cc.cwnd, cwnd);
	}
	Nscc c;
	quiet(c);
	c.cc.cwnd = 40000;
	c.ack(50000, 12000);
	c.ack(100, 12000 + 9000, true); // decrease rule, though none is due
	EXPECT_FALSE(c.s().fast);
	EXPECT_EQ(c.s().fi_count, 0u);
}

TEST(NsccRtt, LowersTheBaseAndTheWindow)
{
	Nscc c;
	quiet(c);
	c.ack(256, 8000);
	EXPECT_EQ(c.s().base_rtt, 8000u);
	EXPECT_EQ(c.s().max_cwnd, 150000u);
	c.ack(256, 9000);
	EXPECT_EQ(c.s().base_rtt, 8000u);
	// The window follows at the next adjustment.
	EXPECT_EQ(c.cc.cwnd, kBdp15);
	c.par.adjust_bytes_threshold = 1;
	c.init();
	c.ack(256, 8000);
	EXPECT_EQ(c.cc.cwnd, 150000u);
	// Never below one packet, whatever a peer makes us measure.
	c.now += 10;
	c.ack(256, 0);
	EXPECT_EQ(c.s().base_rtt, 0u);
	EXPECT_EQ(c.s().max_cwnd, kMtu);
	EXPECT_EQ(c.cc.cwnd, kMtu);
}

// OP-43: what is short takes less time on slow links, and says nothing of full
// packets. Its delay is not below 0.
TEST(NsccRtt, ShortPacketsDoNotLowerTheBase)
{
	Nscc c;
	quiet(c);
	c.ack_of(256, 1000, 0);
	c.ack_of(256, 1000, kMtu / 2 - 1);
	c.nack(4000, MRC_NACK_TRIMMED, 1000);
	c.nack(kMtu / 2 - 1, MRC_NACK_NO_RESOURCE, 1000);
	EXPECT_EQ(c.s().base_rtt, 12000u);
	EXPECT_EQ(c.s().max_cwnd, kBdp15);
	c.ack_of(256, 11000, kMtu / 2);
	EXPECT_EQ(c.s().base_rtt, 11000u);
}

TEST(NsccRtt, WithoutOneOnlyBytesCount)
{
	Nscc c;
	c.init();
	c.send(100000);
	c.now += 1000000;
	c.ack(65536, MRC_CC_NONE_RTT, true);
	EXPECT_EQ(c.s().inflight, 100000 - 65536);
	EXPECT_EQ(c.s().achieved, 65536u);
	EXPECT_EQ(c.s().rcvd, 65536u);
	EXPECT_EQ(c.s().avg, 0u);
	EXPECT_EQ(c.cc.cwnd, kBdp15);
	EXPECT_EQ(c.s().qa_end, 0u);
}

namespace
{

// A controller in its second period of quick adapt, with @achieved bytes.
void in_period(Nscc &c, u64 achieved)
{
	c.init();
	c.ack(0, 13000);
	ASSERT_EQ(c.s().qa_end, c.now + 12000 + c.s().p.target_delay);
	c.send(100000);
	c.ack(achieved, MRC_CC_NONE_RTT);
	c.now = c.s().qa_end;
}

} // namespace

TEST(NsccQuickAdapt, DelayBeyondTheThreshold)
{
	Nscc c(false);
	in_period(c, 20000);
	c.ack(0, 12000 + 48001);
	EXPECT_EQ(c.cc.cwnd, 20000u);
	EXPECT_EQ(c.s().ignore, 80000u);
	EXPECT_EQ(c.s().achieved, 0u);
	EXPECT_EQ(c.s().qa_end, c.now + 24000);
	EXPECT_EQ(c.s().inc, 0u);
	EXPECT_EQ(c.s().rcvd, 0u);
	// The same delay is no reason exactly at the threshold ...
	Nscc d(false);
	in_period(d, 20000);
	d.ack(0, 12000 + 48000);
	EXPECT_GT(d.cc.cwnd, kBdp15 / 2);
	// ... nor with enough achieved (an eighth of the largest window) ...
	Nscc e(false);
	in_period(e, kBdp15 / 8);
	e.ack(0, 12000 + 48001);
	EXPECT_GT(e.cc.cwnd, kBdp15 / 2);
	EXPECT_EQ(e.s().achieved, 0u); // but the period is over
	// ... nor before the period ends ...
	Nscc f(false);
	in_period(f, 20000);
	f.now--;
	f.ack(0, 12000 + 48001);
	EXPECT_GT(f.cc.cwnd, kBdp15 / 2);
	EXPECT_EQ(f.s().achieved, 20000u);
	// ... nor on trimming fabrics, nor when switched off.
	Nscc g(true);
	in_period(g, 20000);
	g.ack(0, 12000 + 48001);
	EXPECT_GT(g.cc.cwnd, kBdp15 / 2);
	Nscc h(false);
	h.par.disable_qa = true;
	h.init();
	h.now += 1000000;
	h.ack(0, 1000000);
	h.now += 1000000;
	h.ack(0, 1000000);
	EXPECT_EQ(h.cc.cwnd, kBdp15);
	EXPECT_EQ(h.s().qa_end, 0u);
}

TEST(NsccQuickAdapt, FirstPeriodOnlyBegins)
{
	Nscc c(false);
	c.init();
	c.ack(0, 12000 + 48001);
	EXPECT_EQ(c.cc.cwnd, kBdp15);
	EXPECT_NE(c.s().qa_end, 0u);
}

TEST(NsccQuickAdapt, OnePacketAtLeast)
{
	Nscc c(false);
	in_period(c, 100);
	c.ack(0, 12000 + 48001);
	EXPECT_EQ(c.cc.cwnd, kMtu);
}

// Marks of packets that were queued before are no news.
TEST(NsccQuickAdapt, IgnoresOldMarks)
{
	Nscc c(false);
	in_period(c, 20000);
	c.ack(0, 12000 + 48001);
	ASSERT_EQ(c.s().ignore, 80000u);
	c.s().avg = 100000ull << MRC_NSCC_AVG_SHIFT;
	c.now += 20000;
	c.ack(40000, 60000, true);
	EXPECT_EQ(c.cc.cwnd, 20000u);
	EXPECT_EQ(c.s().ignore, 40000u);
	c.loss(10000); // these left the network as well
	EXPECT_EQ(c.s().ignore, 30000u);
	c.cc.cwnd = 20000;
	c.ack(29999, 60000, true);
	EXPECT_EQ(c.cc.cwnd, 20000u);
	c.ack(1, 60000, true);
	EXPECT_LT(c.cc.cwnd, 20000u);
	EXPECT_EQ(c.s().ignore, 0u);
}

TEST(NsccNack, TrimShrinksByThePacket)
{
	for (u8 reason : {MRC_NACK_TRIMMED, MRC_NACK_TRIMMED_LASTHOP}) {
		Nscc c;
		c.init();
		c.send(10000);
		c.nack(4000, reason);
		EXPECT_EQ(c.s().inflight, 6000);
		EXPECT_EQ(c.cc.cwnd, kBdp15 - 4000);
		EXPECT_TRUE(c.s().trigger_qa);
		// It counts as a base RTT of queueing, weighed as one packet.
		EXPECT_NEAR((double)c.s().avg / kQ16, 12000.0 * kMtu / kBdp15 / 8,
			    0.01);
		c.cc.cwnd = kMtu + 1;
		c.nack(4000, reason);
		EXPECT_EQ(c.cc.cwnd, kMtu);
	}
}

TEST(NsccNack, TrimTriggersQuickAdapt)
{
	Nscc c;
	in_period(c, 20000);
	c.nack(4000, MRC_NACK_TRIMMED);
	EXPECT_EQ(c.cc.cwnd, 20000u);
	EXPECT_EQ(c.s().ignore, 76000u);
	EXPECT_FALSE(c.s().trigger_qa);
	// What was queued before is ignored now.
	c.nack(4000, MRC_NACK_TRIMMED);
	EXPECT_EQ(c.cc.cwnd, 20000u);
	EXPECT_EQ(c.s().ignore, 72000u);
}

// A trim during the period counts at its end, whoever ends it.
TEST(NsccNack, TrimIsRememberedForThePeriod)
{
	Nscc c;
	in_period(c, 20000);
	c.now -= 10;
	c.nack(4000, MRC_NACK_TRIMMED);
	ASSERT_EQ(c.cc.cwnd, kBdp15 - 4000);
	c.now += 10;
	c.ack(0, 13000);
	EXPECT_EQ(c.cc.cwnd, 20000u);
}

TEST(NsccNack, OtherReasonsOnlyLeaveTheNetwork)
{
	for (u8 reason : {MRC_NACK_NO_BITMAP, MRC_NACK_NO_PKT_BUFFER,
			  MRC_NACK_NO_RESOURCE, MRC_NACK_PSN_OOR_WINDOW}) {
		Nscc c;
		c.init();
		c.send(10000);
		c.nack(4000, reason, 11000);
		EXPECT_EQ(c.s().inflight, 6000);
		EXPECT_EQ(c.cc.cwnd, kBdp15);
		EXPECT_EQ(c.s().avg, 0u);
		EXPECT_FALSE(c.s().trigger_qa);
		EXPECT_EQ(c.s().base_rtt, 11000u);
	}
}

TEST(NsccLoss, ShrinksByThePacket)
{
	Nscc c;
	c.init();
	c.send(10000);
	c.loss(4000);
	EXPECT_EQ(c.cc.cwnd, kBdp15 - 4000);
	EXPECT_EQ(c.s().inflight, 6000);
	c.cc.cwnd = kMtu + 10;
	c.loss(4000);
	EXPECT_EQ(c.cc.cwnd, kMtu);
	c.loss(0xFFFFFFFF);
	EXPECT_EQ(c.cc.cwnd, kMtu);
}

// Lost, then known received without a second transmission: taken off twice.
TEST(NsccLoss, LateArrivalIsAddedBack)
{
	Nscc c;
	c.init();
	c.send(4000);
	c.send(4000);
	c.loss(4000);
	c.cc.ops->on_late(&c.cc, 4000);
	c.ack(4096, MRC_CC_NONE_RTT);
	EXPECT_EQ(c.s().inflight, 8000 - 4096);
	EXPECT_EQ(c.cc.cwnd, kBdp15 - 4000);
}

TEST(NsccInflight, ResynchronisedByWhatIsOut)
{
	Nscc c;
	c.init();
	const auto told = [&](u64 n, u64 out, u64 waiting) {
		mrc_cc_ack a{};
		a.newly = n;
		a.rtt = MRC_CC_NONE_RTT;
		a.out = out;
		a.waiting = waiting;
		a.now = c.now;
		c.cc.ops->on_ack(&c.cc, &a);
		return c.s().inflight;
	};
	// A peer that counts too little.
	c.send(10000);
	EXPECT_EQ(told(1000, 5000, 0), 5000);
	// Nothing outstanding.
	EXPECT_EQ(told(0, 0, 0), 0);
	// One that counts too much, or rounds up.
	c.send(1000);
	EXPECT_EQ(told(1000 + 255, 1000, 0), -255);
	EXPECT_EQ(told(0, 0, 0), 0);
	c.send(1000);
	EXPECT_EQ(told(5000, 1000, 0), 0);
	// Wrongly lost packets that wait were taken off before.
	c.send(8000);
	c.loss(4000);
	c.loss(4000);
	EXPECT_EQ(told(4096, 0, 8000), -4096);
	EXPECT_EQ(told(65536, 0, 8000), -8000);
}

// A transport ACK says nothing about congestion, not even that a penalty ended.
TEST(NsccInflight, TransportAckChangesNothing)
{
	Nscc c;
	c.init();
	c.send(60000);
	c.ack(256, 16000, false, 64);
	const mrc_cc before = c.cc;
	mrc_cc_ack a{};
	a.freed = 4000;
	a.rtt = MRC_CC_NONE_RTT;
	a.out = MRC_CC_NO_SACK;
	a.now = c.now + 1;
	c.cc.ops->on_ack(&c.cc, &a);
	EXPECT_EQ(std::memcmp(&before, &c.cc, sizeof(before)), 0);
}

// §13.6: 64 in all SACKs of a round trip halves the window.
TEST(NsccPenalty, HalvesInARoundTrip)
{
	Nscc c;
	quiet(c);
	c.send(kBdp15);
	for (int i = 0; i < 10; i++) {
		c.send(22500);
		c.ack(22500, MRC_CC_NONE_RTT, false, 64);
	}
	EXPECT_NEAR(c.cc.cwnd, kBdp15 / 2.0, 10);
	EXPECT_EQ(c.s().saved_cwnd, kBdp15);
	// The end of the penalty, with the former window.
	c.ack(0, MRC_CC_NONE_RTT, false, 0, true);
	EXPECT_EQ(c.cc.cwnd, kBdp15);
	EXPECT_EQ(c.s().saved_cwnd, 0u);
}

TEST(NsccPenalty, EndsWithoutRestoring)
{
	Nscc c;
	quiet(c);
	c.send(kBdp15);
	c.ack(1280, MRC_CC_NONE_RTT, false, 127);
	const u32 cwnd = c.cc.cwnd;
	// Of the smaller of window and bytes in flight.
	EXPECT_EQ(cwnd, kBdp15 - 1280 - 127 * 1280 / 128);
	c.ack(0, MRC_CC_NONE_RTT);
	EXPECT_EQ(c.cc.cwnd, cwnd);
	c.ack(0, MRC_CC_NONE_RTT, false, 0, true);
	EXPECT_EQ(c.cc.cwnd, cwnd);
}

TEST(NsccPenalty, LimitsTheIncrease)
{
	for (u64 rtt : {12000 + 4500, 12000 + 9000, 12000}) {
		Nscc c;
		quiet(c);
		c.cc.cwnd = 20000;
		c.send(40000);
		c.ack(30000, rtt, false, 1);
		EXPECT_EQ(c.s().inc, 0u);
		EXPECT_FALSE(c.s().fast);
		EXPECT_LT(c.cc.cwnd, 20000u);
	}
}

TEST(NsccPenalty, OnePacketAtLeast)
{
	Nscc c;
	quiet(c);
	c.ack(0x7FFFFFFF, 16000, false, 127);
	EXPECT_EQ(c.cc.cwnd, kMtu);
	c.ack(0x7FFFFFFF, 16000, false, 255); // seven bits on the wire
	EXPECT_EQ(c.cc.cwnd, kMtu);
}
