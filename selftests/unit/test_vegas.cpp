// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The algorithm "vegas": one step at a time, and in a closed loop.
#include <optional>

#include "bottleneck.hpp"
#include "mrc_vegas.h"

using namespace mrc_test;

namespace
{

constexpr u32 kMtu = 4188;
constexpr u64 kRtt = 1000000;
constexpr u64 kPause = 1ull << 31;
constexpr u32 kSmall = 2 * MRC_SACK_THRESHOLD;

class Vegas : public ::testing::Test
{
protected:
	Vegas() { make(341); }

	void make(u32 max_pkts, u32 window = 0)
	{
		cfg_ = {};
		cfg_.mtu = kMtu;
		cfg_.max_pkts = max_pkts;
		cfg_.window = window;
		cfg_.now = now_;
		std::memset(&cc_, 0xA5, sizeof(cc_));
		mrc_cc_init(&cc_, &mrc_cc_vegas, &cfg_);
	}

	const mrc_vegas &state() { return *mrc_vegas_of(&cc_); }

	// A SACK for @freed bytes. The window was full before it, if not @idle,
	// and if out_ does not say what is in flight after it.
	void sack(u64 freed, u64 rtt, u8 port = 1, bool ce = false,
		  bool idle = false)
	{
		mrc_cc_ack a{};

		a.freed = freed;
		a.newly = freed;
		a.rtt = rtt;
		a.port = port;
		a.ce = ce;
		a.now = now_;
		a.out = idle || freed > cc_.cwnd ? 0 : cc_.cwnd - freed;
		a.out = out_.value_or(a.out);
		cc_.ops->on_ack(&cc_, &a);
	}

	// A round trip in four SACKs.
	void round(u64 rtt, u8 port = 1, bool ce = false, bool idle = false)
	{
		const u32 cwnd = cc_.cwnd;

		for (u32 i = 0; i < 4; i++)
			sack(i < 3 ? cwnd / 4 : cwnd - 3 * (cwnd / 4), rtt,
			     port, ce, idle);
	}

	mrc_cc_cfg cfg_;
	mrc_cc cc_;
	u64 now_ = 5;
	std::optional<u64> out_;
};

// Without a queue each round trip adds what may wait, up to the largest window.
TEST_F(Vegas, GrowsByTheBacklogWithoutQueues)
{
	EXPECT_EQ(cc_.cwnd, MRC_CC_FIXED_WINDOW);
	for (u32 i = 2; i < 6; i++) {
		round(kRtt);
		EXPECT_EQ(cc_.cwnd, i * MRC_CC_FIXED_WINDOW);
	}
	for (u32 i = 0; i < 3; i++)
		round(kRtt);
	EXPECT_EQ(cc_.cwnd, 341 * kMtu);
}

// Not before as much has arrived as the window holds.
TEST_F(Vegas, ARoundIsAWindow)
{
	sack(MRC_CC_FIXED_WINDOW - 1, kRtt);
	EXPECT_EQ(cc_.cwnd, MRC_CC_FIXED_WINDOW);
	sack(1, kRtt);
	EXPECT_EQ(cc_.cwnd, 2 * MRC_CC_FIXED_WINDOW);
	// Transport ACKs count, and have no RTT.
	mrc_cc_ack a{};
	a.freed = 2 * MRC_CC_FIXED_WINDOW - 1;
	a.rtt = MRC_CC_NONE_RTT;
	a.out = MRC_CC_NO_SACK;
	cc_.ops->on_ack(&cc_, &a);
	EXPECT_EQ(cc_.cwnd, 2 * MRC_CC_FIXED_WINDOW);
	sack(1, kRtt);
	EXPECT_EQ(cc_.cwnd, 3 * MRC_CC_FIXED_WINDOW);
}

TEST_F(Vegas, GrowsOnlyIfTheWindowWasFull)
{
	for (u32 i = 0; i < 8; i++)
		round(kRtt, 1, false, true);
	EXPECT_EQ(cc_.cwnd, MRC_CC_FIXED_WINDOW);
	// And only by RTTs.
	mrc_cc_ack a{};
	a.freed = MRC_CC_FIXED_WINDOW;
	a.rtt = MRC_CC_NONE_RTT;
	a.out = MRC_CC_NO_SACK;
	for (u32 i = 0; i < 8; i++)
		cc_.ops->on_ack(&cc_, &a);
	EXPECT_EQ(cc_.cwnd, MRC_CC_FIXED_WINDOW);
}

// Where the RTT is twice the smallest, half of the window waits: w / 2 + b = w
// at 2 b.
TEST_F(Vegas, StaysWhereTheBacklogWaits)
{
	round(kRtt);
	EXPECT_EQ(cc_.cwnd, 2 * MRC_CC_FIXED_WINDOW);
	for (u32 i = 0; i < 8; i++) {
		round(2 * kRtt);
		EXPECT_EQ(cc_.cwnd, 2 * MRC_CC_FIXED_WINDOW);
	}
}

// An eighth per round at most, whatever the RTT, and never below the start.
TEST_F(Vegas, ShrinksSlowly)
{
	for (u32 i = 0; i < 3; i++)
		round(kRtt);
	u32 cwnd = cc_.cwnd;
	EXPECT_EQ(cwnd, 4 * MRC_CC_FIXED_WINDOW);
	round(1000 * kRtt);
	EXPECT_EQ(cc_.cwnd, cwnd - cwnd / 8);
	for (u32 i = 0; i < 30; i++)
		round(1000 * kRtt);
	EXPECT_EQ(cc_.cwnd, MRC_CC_FIXED_WINDOW + MRC_CC_FIXED_WINDOW / 1000);
}

TEST_F(Vegas, MarksAndTrimsShrink)
{
	for (bool trim : {false, true}) {
		make(341);
		for (u32 i = 0; i < 3; i++)
			round(kRtt);
		const u32 cwnd = cc_.cwnd;
		if (trim)
			cc_.ops->on_nack(&cc_, kMtu, MRC_NACK_TRIMMED, kRtt, 0);
		round(kRtt, 1, !trim);
		EXPECT_EQ(cc_.cwnd, cwnd - cwnd / 8);
		round(kRtt);
		EXPECT_GT(cc_.cwnd, cwnd);
		for (u32 i = 0; i < 40; i++)
			round(kRtt, 1, true);
		EXPECT_EQ(cc_.cwnd, MRC_CC_FIXED_WINDOW);
	}
}

// Losses without queues, refusals and late packets do nothing.
TEST_F(Vegas, LossesDoNotMatter)
{
	for (u32 i = 0; i < 100; i++) {
		cc_.ops->on_loss(&cc_, kMtu, 0);
		cc_.ops->on_nack(&cc_, kMtu, MRC_NACK_NO_RESOURCE, kRtt, 0);
		cc_.ops->on_late(&cc_, kMtu);
	}
	round(kRtt);
	EXPECT_EQ(cc_.cwnd, 2 * MRC_CC_FIXED_WINDOW);
}

// Planes of different lengths: each one is compared with itself.
TEST_F(Vegas, EachPlaneHasItsOwnLength)
{
	for (u32 i = 0; i < 3; i++) {
		const u32 cwnd = cc_.cwnd;

		for (u8 port = 1; port <= 4; port++)
			sack(cwnd / 4, port * kRtt, port);
		EXPECT_EQ(cc_.cwnd, cwnd + MRC_CC_FIXED_WINDOW);
	}
	// A port that cannot be is no way out of the table.
	sack(1, kRtt, 255);
	sack(1, kRtt, 0);
}

TEST_F(Vegas, WindowOfTheDevice)
{
	make(341, 100000);
	EXPECT_EQ(cc_.cwnd, 100000u);
	round(kRtt);
	EXPECT_EQ(cc_.cwnd, 200000u);
	make(10, 100000);
	EXPECT_EQ(cc_.cwnd, 10 * kMtu);
	round(kRtt);
	EXPECT_EQ(cc_.cwnd, 10 * kMtu);
	make(10, 1);
	EXPECT_EQ(cc_.cwnd, kMtu);
}

// New bounds for a running queue pair; what it has measured stays.
TEST_F(Vegas, Reconfigure)
{
	for (u32 i = 0; i < 3; i++)
		round(kRtt);
	cfg_.window = 3 * MRC_CC_FIXED_WINDOW;
	mrc_cc_reconfigure(&cc_, &cfg_);
	EXPECT_EQ(cc_.cwnd, 4 * MRC_CC_FIXED_WINDOW);
	cfg_.max_pkts = 20;
	mrc_cc_reconfigure(&cc_, &cfg_);
	EXPECT_EQ(cc_.cwnd, 20 * kMtu);
	cfg_.max_pkts = 341;
	cfg_.window = 0;
	mrc_cc_reconfigure(&cc_, &cfg_);
	for (u32 i = 0; i < 40; i++)
		round(2 * kRtt);
	EXPECT_NEAR(cc_.cwnd, 2 * MRC_CC_FIXED_WINDOW, kMtu);
}

// At multiples of 2^31 ns the window is small until what was in flight has
// arrived, and for a round that began after the queues had time to become
// empty. Half of it comes back at once, the rest by what arrives.
TEST_F(Vegas, Pauses)
{
	for (u32 i = 0; i < 3; i++)
		round(2 * kRtt);
	const u32 cwnd = cc_.cwnd;
	now_ = kPause - 1;
	sack(1000, 2 * kRtt);
	EXPECT_EQ(cc_.cwnd, cwnd);
	now_++;
	sack(1000, 2 * kRtt);
	EXPECT_EQ(cc_.cwnd, kSmall);
	EXPECT_EQ(state().left, cwnd - 1000);
	out_ = kSmall;
	sack(cwnd - 1001, 2 * kRtt);
	now_ += 2 * kRtt - 1;
	sack(1, 2 * kRtt);
	// Too early: this round does not end the pause.
	EXPECT_EQ(state().phase, MRC_VEGAS_DRAIN);
	now_++;
	sack(kSmall, kRtt);
	EXPECT_EQ(state().phase, MRC_VEGAS_LISTEN);
	sack(kSmall - 1, kRtt);
	EXPECT_EQ(cc_.cwnd, kSmall);
	sack(1, kRtt);
	EXPECT_EQ(cc_.cwnd, std::max(cwnd / 2, MRC_CC_FIXED_WINDOW));
	out_ = 0;
	const u32 missing = cwnd - cc_.cwnd;
	sack(missing - 1, kRtt);
	EXPECT_EQ(cc_.cwnd, cwnd - 1);
	sack(1, kRtt);
	EXPECT_EQ(cc_.cwnd, cwnd);
	EXPECT_EQ(state().phase, MRC_VEGAS_OPEN);
	// The smaller RTT was found.
	EXPECT_EQ(state().min_rtt[0], kRtt);
	// Not again before 2^32.
	out_.reset();
	now_ = 2 * kPause - 1;
	round(2 * kRtt);
	EXPECT_GT(cc_.cwnd, kSmall);
	now_++;
	sack(1000, 2 * kRtt);
	EXPECT_EQ(cc_.cwnd, kSmall);
}

// A queue that has become shorter than the average says is not waited for.
TEST_F(Vegas, APauseFollowsTheQueue)
{
	round(400 * kMs);
	now_ = kPause;
	sack(1000, 400 * kMs);
	ASSERT_EQ(cc_.cwnd, kSmall);
	now_ += 100 * kMs;
	// Replies to probes say nothing about the queue of data.
	sack(state().left, 50 * kMs, 0);
	EXPECT_EQ(state().phase, MRC_VEGAS_DRAIN);
	sack(kSmall, 100 * kMs);
	EXPECT_EQ(state().phase, MRC_VEGAS_LISTEN);
}

// Only what is in flight is waited for, not what the window could hold.
TEST_F(Vegas, APauseWaitsForWhatIsInFlight)
{
	round(kRtt);
	now_ = kPause;
	out_ = kSmall;
	sack(1000, kRtt);
	EXPECT_EQ(cc_.cwnd, kSmall);
	now_ += kRtt;
	sack(kSmall, kRtt);
	EXPECT_EQ(state().phase, MRC_VEGAS_LISTEN);
	sack(kSmall, kRtt);
	EXPECT_GE(cc_.cwnd, MRC_CC_FIXED_WINDOW);
}

// With less in flight there is no queue. 100 ms later would be alone.
TEST_F(Vegas, PausesOnlyTogether)
{
	round(kRtt);
	now_ = kPause;
	out_ = kSmall - 1;
	sack(1000, kRtt);
	EXPECT_GT(cc_.cwnd, kSmall);
	now_ += 99999999;
	out_ = kSmall;
	sack(1000, kRtt);
	EXPECT_EQ(cc_.cwnd, kSmall);
	make(341);
	round(kRtt);
	now_ = 2 * kPause + 100000000;
	sack(1000, kRtt);
	EXPECT_GT(cc_.cwnd, kSmall);
}

// A program that stops in a pause, a peer that answers no more: the first
// packet after two round trips ends it, and so does the first SACK.
TEST_F(Vegas, APauseEnds)
{
	for (bool send : {false, true}) {
		make(341);
		round(kRtt);
		const u32 cwnd = cc_.cwnd;
		now_ = (now_ | (kPause - 1)) + 1;
		sack(1000, kRtt);
		ASSERT_EQ(cc_.cwnd, kSmall);
		now_ += 2 * kRtt - 1;
		out_ = 0;
		sack(0, MRC_CC_NONE_RTT);
		cc_.ops->on_send(&cc_, kMtu, now_);
		EXPECT_EQ(cc_.cwnd, kSmall);
		now_++;
		if (send)
			cc_.ops->on_send(&cc_, kMtu, now_);
		else
			sack(0, MRC_CC_NONE_RTT);
		EXPECT_EQ(cc_.cwnd, cwnd / 2);
		out_.reset();
	}
	// However long the round trip is said to be.
	make(341);
	round(~0ull - 1);
	now_ = (now_ | (kPause - 1)) + 1;
	sack(1000, ~0ull - 1);
	ASSERT_EQ(cc_.cwnd, kSmall);
	cc_.ops->on_send(&cc_, kMtu, now_ + 999999999);
	EXPECT_EQ(cc_.cwnd, kSmall);
	cc_.ops->on_send(&cc_, kMtu, now_ + 1000000000);
	EXPECT_GT(cc_.cwnd, kSmall);
}

// A window arrives as one burst per round trip. The last burst is a round trip late;
// the queue is empty then. Nobody listens after that.
TEST_F(Vegas, AnyBurstPauses)
{
	constexpr u64 rtt = 400 * kMs;

	for (const u64 late : {u64{0}, rtt / 2, rtt - 1, rtt}) {
		SCOPED_TRACE(std::to_string(late) + " ns late");
		now_ = 5;
		make(341);
		round(rtt);
		now_ = kPause + late;
		sack(1000, rtt);
		if (late == rtt) {
			EXPECT_GT(cc_.cwnd, kSmall);
			continue;
		}
		EXPECT_EQ(cc_.cwnd, kSmall);
		now_ = std::max(now_, kPause + rtt - 1);
		sack(state().left, rtt);
		EXPECT_EQ(state().phase, MRC_VEGAS_DRAIN);
		now_ = kPause + rtt;
		sack(kSmall, kRtt);
		EXPECT_EQ(state().phase, MRC_VEGAS_LISTEN);
		sack(kSmall, kRtt);
		EXPECT_GT(cc_.cwnd, kSmall);
		EXPECT_EQ(state().min_rtt[0], kRtt);
	}
}

// Marks of before and in a pause count.
TEST_F(Vegas, MarksInAPause)
{
	for (u32 i = 0; i < 3; i++)
		round(kRtt);
	const u32 cwnd = cc_.cwnd;
	now_ = kPause;
	sack(1000, kRtt, 1, true);
	EXPECT_EQ(state().held, cwnd - cwnd / 8);
	now_ += kRtt;
	sack(cwnd, kRtt, 1, true);
	EXPECT_EQ(state().phase, MRC_VEGAS_LISTEN);
	sack(kSmall, kRtt);
	const u32 held = cwnd - cwnd / 8;
	EXPECT_EQ(state().held, held - held / 8);
	// A mark while the window opens: it stays where it is.
	const u32 open = cc_.cwnd;
	sack(1000, kRtt, 1, true);
	EXPECT_EQ(cc_.cwnd, open);
	EXPECT_EQ(state().phase, MRC_VEGAS_OPEN);
}

TEST_F(Vegas, ReconfigureEndsAPause)
{
	round(kRtt);
	const u32 cwnd = cc_.cwnd;
	now_ = kPause;
	sack(1000, kRtt);
	EXPECT_EQ(cc_.cwnd, kSmall);
	mrc_cc_reconfigure(&cc_, &cfg_);
	EXPECT_EQ(cc_.cwnd, cwnd);
	EXPECT_EQ(state().phase, MRC_VEGAS_OPEN);
}

// A window that is smaller than that of a pause is not made larger by one.
TEST_F(Vegas, SmallWindowsPause)
{
	make(341, 20000);
	sack(1000, kRtt);
	now_ = kPause;
	sack(1000, kRtt);
	EXPECT_EQ(cc_.cwnd, 20000u);
	EXPECT_EQ(state().phase, MRC_VEGAS_OPEN);
	out_ = 20000;
	sack(1000, kRtt);
	EXPECT_EQ(cc_.cwnd, 20000u);
	EXPECT_EQ(state().phase, MRC_VEGAS_DRAIN);
	now_ += 2 * kRtt;
	sack(1000, kRtt);
	EXPECT_EQ(cc_.cwnd, 20000u);
	EXPECT_EQ(state().phase, MRC_VEGAS_OPEN);
}

// What is in flight is less than the window: by the bound of packets, or
// because the program does not post more. The window comes down to it and the
// backlog.
TEST_F(Vegas, FollowsWhatIsInFlight)
{
	for (u32 i = 0; i < 8; i++)
		round(kRtt);
	const u32 cwnd = cc_.cwnd;
	out_ = 500000 - 1000;
	for (u64 n = 0; n < 40ull * cwnd; n += 1000)
		sack(1000, kRtt);
	EXPECT_EQ(cc_.cwnd, 500000 + MRC_CC_FIXED_WINDOW);
	// Half of it waits.
	for (u64 n = 0; n < 40ull * cwnd; n += 1000)
		sack(1000, 2 * kRtt);
	EXPECT_EQ(cc_.cwnd, 250000 + MRC_CC_FIXED_WINDOW);
}

// Answers to probes are shorter than data, and one that took no time is none.
TEST_F(Vegas, WhatIsNoSample)
{
	sack(1000, 1, 0);
	sack(1000, 0);
	EXPECT_EQ(state().n, 0u);
	sack(1000, kRtt);
	EXPECT_EQ(state().min_rtt[0], kRtt);
}

// Whatever a peer makes us believe, the window stays within its bounds.
TEST_F(Vegas, AnyPeer)
{
	static_assert(sizeof(mrc_vegas) <= sizeof(mrc_cc::priv));
	mrc_model::Rng rng(7);
	u32 pauses = 0;

	for (u32 i = 0; i < 200000; i++) {
		mrc_cc_ack a{};

		a.freed = rng.next() >> (rng.next() % 64);
		a.rtt = rng.next() >> (rng.next() % 64);
		a.port = (u8)rng.next();
		a.ce = !(rng.next() % 16);
		a.out = rng.next() >> (rng.next() % 64);
		a.now = now_ += rng.next() >> (30 + rng.next() % 30);
		if (now_ >> 62)
			now_ = 1;
		cc_.ops->on_ack(&cc_, &a);
		const bool pause = state().phase == MRC_VEGAS_DRAIN ||
				   state().phase == MRC_VEGAS_LISTEN;
		pauses += pause;
		ASSERT_GE(cc_.cwnd, pause ? 2u * MRC_SACK_THRESHOLD
					  : MRC_CC_FIXED_WINDOW);
		ASSERT_LE(cc_.cwnd, 341 * kMtu);
	}
	EXPECT_GT(pauses, 1000u);
	// As many samples as never end a round.
	for (u32 i = 0; i < 200000; i++)
		sack(0, ~0ull - 1);
	round(kRtt);
	EXPECT_LE(cc_.cwnd, 341 * kMtu);
}

// --- closed loop ------------------------------------------------------------

BottleneckPlan plan(u64 rtt, u32 ps_per_byte)
{
	BottleneckPlan p;

	p.ops = &mrc_cc_vegas;
	p.ecn = false;
	p.rtt = rtt;
	p.ps_per_byte = ps_per_byte;
	p.queue = 16 << 20;
	p.depth = 16;
	p.mpr = 32;
	p.rto = 67 * kMs;
	return p;
}

double nominal_bdp(const BottleneckPlan &p)
{
	return p.rate() * (double)p.rtt * 4188 / 4226;
}

// Goodput follows the path from 10 us to 10 ms and from 100 Mbit/s to 10
// Gbit/s. The window is what the path holds, and 256 KiB that wait.
TEST(VegasNet, FillsAnyPath)
{
	for (u64 rtt : {10000ull, 100000ull, 1000000ull, 10000000ull}) {
		for (u32 ps : {800u, 2000u, 8000u, 80000u}) {
			SCOPED_TRACE(std::to_string(rtt) + " ns, " +
				     std::to_string(ps) + " ps a byte");
			const BottleneckPlan p = plan(rtt, ps);
			// More than a window of 4096 PSNs.
			if (nominal_bdp(p) > 5200000)
				continue;
			Bottleneck b(p);
			const u64 full =
				std::max<u64>(rtt, (u64)(300000 / p.rate()));
			b.run(b.now() + 60 * full);
			const Result r = measure(b, p.rate(), 20 * full);
			const double more =
				b.flow[0]->tx.cc.cwnd - nominal_bdp(p);
			EXPECT_GT(r.used, 0.99);
			EXPECT_GT(more, 0.8 * MRC_CC_FIXED_WINDOW);
			EXPECT_LT(more, 1.2 * MRC_CC_FIXED_WINDOW);
			EXPECT_EQ(b.count(MRC_CTR_TX_RTX), 0u);
			expect_alive(b);
		}
	}
}

// The same with the pauses, two round trips of 2.1 s each.
TEST(VegasNet, PausesCostLittle)
{
	const BottleneckPlan p = plan(10 * kMs, 2000);
	Bottleneck b(p);

	b.run(b.now() + 1000 * kMs);
	EXPECT_GT(measure(b, p.rate(), 2ull << 30).used, 0.98);
	EXPECT_EQ(b.count(MRC_CTR_TX_RTX), 0u);
	expect_alive(b);
}

void expect_equal(u64 rtt, unsigned flows, bool late, u32 ps_per_byte = 2000)
{
	SCOPED_TRACE(std::to_string(rtt) + " ns, " + std::to_string(flows) +
		     " flows, " + std::to_string(ps_per_byte) + " ps a byte");
	BottleneckPlan p = plan(rtt, ps_per_byte);
	p.flows = flows;
	p.rto = 1000 * kMs;
	Bottleneck b(p);
	const u64 full = std::max<u64>(rtt, (u64)(flows * 300000 / p.rate()));
	const u64 begin = b.now();
	u64 at = begin;

	for (u32 i = 0; late && i < flows; i++)
		b.flow[i]->start = at += 10 * full;
	b.run(at);
	const u64 pause = ((at >> 31) + 1) << 31;
	// Where some flows have paused already, shares may be equal before.
	if (late && pause - begin <= kPause) {
		EXPECT_LT(measure(b, p.rate(), pause - at).jain, 0.9);
	}
	b.run(b.now() + 60 * full);
	const Result r = measure(b, p.rate(), 40 * full);
	EXPECT_GT(r.used, 0.99);
	EXPECT_GT(r.jain, 0.99);
	EXPECT_GT(r.least, 0.9);
	EXPECT_LT(r.queue, 1.2 * flows * MRC_CC_FIXED_WINDOW);
	EXPECT_EQ(b.port().dropped, 0u);
	expect_alive(b);
}

// Flows share a port equally, and what they keep in its queue adds up.
TEST(VegasNet, FlowsShare)
{
	for (u64 rtt : {100000ull, 1000000ull, 10000000ull})
		for (unsigned flows : {2u, 16u})
			expect_equal(rtt, flows, false);
}

// So do flows that have found a queue of others, after the next pause.
TEST(VegasNet, LateFlowsShare)
{
	expect_equal(kMs, 16, true);
	expect_equal(10 * kMs, 4, true);
	// Four MiB wait for 420 ms in a port of 80 Mbit/s.
	expect_equal(kMs, 16, true, 100000);
}

// What the fixed window leaves of it.
TEST(VegasNet, FixedWindowDoesNot)
{
	BottleneckPlan p = plan(10 * kMs, 2000);
	p.ops = &mrc_cc_none;
	Bottleneck b(p);
	b.run(b.now() + 100 * kMs);
	EXPECT_LT(measure(b, p.rate(), 100 * kMs).used, 0.06);
}

// Marks keep the queue where they begin, which the fixed window does not.
TEST(VegasNet, MarksKeepTheWindowSmall)
{
	double queue[2];

	for (bool ecn : {false, true}) {
		BottleneckPlan p = plan(kMs, 2000);
		p.ecn = ecn;
		p.flows = 4;
		p.mark_from = 100000;
		p.mark_to = 400000;
		Bottleneck b(p);
		b.run(b.now() + 300 * kMs);
		const Result r = measure(b, p.rate(), 100 * kMs);
		EXPECT_GT(r.used, 0.99);
		EXPECT_GT(r.jain, 0.95);
		queue[ecn] = r.queue;
		expect_alive(b);
	}
	EXPECT_LT(queue[1], queue[0] * 0.75);
}

} // namespace
