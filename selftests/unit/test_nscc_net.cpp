// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Congestion control in a closed loop: flows through one switch port.
#include "bottleneck.hpp"

using namespace mrc_test;

TEST(NsccNet, OneFlowHasTheLink)
{
	for (bool trim : {false, true}) {
		BottleneckPlan p;
		p.trim = trim;
		Bottleneck b(p);
		b.run(b.now() + 2 * kMs);
		const Result r = measure(b, p.rate(), 10 * kMs);
		EXPECT_GT(r.used, 0.98);
		EXPECT_LT(r.queue, 3 * 4226);
		EXPECT_EQ(b.port().marked + b.port().trimmed + b.port().dropped,
			  0u);
		expect_alive(b);
	}
}

// A window that is smaller than what the path holds is closed by every packet. Without
// losses and marks a SACK comes for four packets nevertheless, and a transport ACK for
// a message or a round trip.
TEST(NsccNet, FullWindowGetsFewSacks)
{
	BottleneckPlan p;
	p.ops = &mrc_cc_none;
	p.rtt = 1 * kMs;
	Bottleneck b(p);
	b.run(b.now() + 20 * kMs);
	const double data = (double)b.count(MRC_CTR_TX_DATA);
	EXPECT_GT(b.count(MRC_CTR_STALL_CWND), 100u);
	EXPECT_GT(data, 0.9 * 20 * MRC_CC_FIXED_WINDOW / 4226);
	EXPECT_EQ(b.count(MRC_CTR_TX_RTX), 0u);
	EXPECT_LT((double)b.count(MRC_CTR_TX_SACK), 0.3 * data);
	EXPECT_LT((double)b.count(MRC_CTR_TX_ACK), 0.1 * data);
}

// The queue stays where marking begins to be certain, nothing is lost, and
// the shares are equal.
TEST(NsccNet, SixteenFlowsAgreeByMarks)
{
	for (bool trim : {false, true}) {
		BottleneckPlan p;
		p.flows = 16;
		p.trim = trim;
		Bottleneck b(p);
		b.run(b.now() + 15 * kMs);
		const Result r = measure(b, p.rate(), 15 * kMs);
		EXPECT_GT(r.used, 0.98);
		EXPECT_GT(r.jain, 0.99);
		EXPECT_GT(r.least, 0.9);
		EXPECT_LT(r.queue, 1.5 * p.mark_to);
		EXPECT_LT(b.port().most, 2 * p.mark_to);
		EXPECT_GT(b.port().marked, 1000u);
		EXPECT_EQ(b.port().trimmed + b.port().dropped, 0u);
		EXPECT_EQ(b.count(MRC_CTR_RTO), 0u);
		expect_alive(b);
	}
}

// Incast with trimming and no marks: trims are few, nobody starves and no
// timer expires; with a fixed window most of what is sent would be trimmed.
TEST(NsccNet, SixteenFlowsAgreeByTrims)
{
	double share[2];

	for (bool nscc : {false, true}) {
		BottleneckPlan p;
		p.flows = 16;
		p.trim = true;
		p.ecn = false;
		p.ops = nscc ? &mrc_cc_nscc : &mrc_cc_none;
		Bottleneck b(p);
		b.run(b.now() + (nscc ? 15 : 2) * kMs);
		const Result r = measure(b, p.rate(), (nscc ? 20 : 3) * kMs);
		EXPECT_GT(r.used, 0.98);
		share[nscc] = (double)b.port().trimmed / (double)b.port().sent;
		EXPECT_EQ(b.port().dropped, 0u);
		EXPECT_EQ(b.count(MRC_CTR_RTO), 0u);
		expect_alive(b);
		if (!nscc)
			continue;
		EXPECT_GT(r.jain, 0.95);
		EXPECT_GT(r.least, 0.4);
	}
	EXPECT_GT(share[0], 0.7);
	EXPECT_LT(share[1], 0.5);
}

// With neither there is no signal but loss: the window is a bound, the port is
// busy, and everybody lives.
TEST(NsccNet, NoSignals)
{
	BottleneckPlan p;
	p.flows = 2;
	p.ecn = false;
	Bottleneck b(p);
	b.run(b.now() + 5 * kMs);
	Result r = measure(b, p.rate(), 10 * kMs);
	EXPECT_GT(r.used, 0.98);
	EXPECT_GT(r.jain, 0.99);
	// Two largest windows less what the wires hold.
	EXPECT_LT(b.port().most, 2 * 93750u - 62500 + 2 * 4226);
	EXPECT_EQ(b.port().dropped, 0u);
	BottleneckPlan q;
	q.flows = 16;
	q.ecn = false;
	Bottleneck c(q);
	c.run(c.now() + 5 * kMs);
	r = measure(c, q.rate(), 20 * kMs);
	EXPECT_GT(r.used, 0.9);
	EXPECT_GT(c.port().dropped, 0u);
	expect_alive(c);
}

TEST(NsccNet, FlowsComeAndGo)
{
	BottleneckPlan p;
	p.flows = 4;
	p.trim = true;
	Bottleneck b(p);
	const u64 t0 = b.now();
	for (unsigned i = 1; i < 4; i++) {
		b.flow[i]->start = t0 + i * 5 * kMs;
		b.flow[i]->stop = t0 + 40 * kMs;
	}
	b.run(t0 + 5 * kMs);
	b.take();
	b.run(t0 + 5 * kMs + kMs / 2);
	// The second one gets in at once.
	auto x = b.take();
	EXPECT_GT(x[1], total(x) / 10);
	b.run(t0 + 25 * kMs);
	Result r = measure(b, p.rate(), 10 * kMs);
	EXPECT_GT(r.used, 0.98);
	EXPECT_GT(r.jain, 0.97);
	// All of the port again for the one that stays, in 20 round trips.
	b.run(t0 + 40 * kMs);
	while (b.flow[1]->tx.req.n_out + b.flow[2]->tx.req.n_out +
	       b.flow[3]->tx.req.n_out) {
		ASSERT_LT(b.now(), t0 + 60 * kMs);
		b.run(b.now() + p.rtt);
	}
	b.run(b.now() + 20 * p.rtt);
	b.take();
	b.run(b.now() + 2 * kMs);
	x = b.take();
	EXPECT_GT(x[0] / (p.rate() * 2 * kMs * kFull), 0.95);
	expect_alive(b);
}

// One penalised flow of two gives way, and has its share again afterwards.
TEST(NsccNet, ResponderLimitsItsSender)
{
	BottleneckPlan p;
	p.flows = 2;
	p.trim = true;
	Bottleneck b(p);
	b.run(b.now() + 5 * kMs);
	mrc_resp_set_penalty(&b.flow[0]->rx.resp, 127, false);
	b.run(b.now() + 2 * kMs);
	b.take();
	b.run(b.now() + 2 * kMs);
	auto x = b.take();
	EXPECT_LT(x[0], total(x) / 8);
	EXPECT_GT(x[0], 0.0);
	EXPECT_GT(total(x) / (p.rate() * 2 * kMs * kFull), 0.9);
	mrc_resp_set_penalty(&b.flow[0]->rx.resp, 0, true);
	b.run(b.now() + 5 * kMs);
	b.take();
	b.run(b.now() + 5 * kMs);
	EXPECT_GT(jain(b.take()), 0.97);
	expect_alive(b);
}

// Small messages: as many packets as loss inference can tell apart keep the
// port busy, and nothing is sent twice.
TEST(NsccNet, SmallMessages)
{
	for (const mrc_cc_ops *ops : {&mrc_cc_nscc, &mrc_cc_none}) {
		BottleneckPlan p;
		p.msg = 256;
		p.depth = 1024;
		p.ops = ops;
		p.ps_per_byte = 8000; // 1 Gbit/s
		Bottleneck b(p);
		b.run(b.now() + 20 * kMs);
		EXPECT_EQ(b.count(MRC_CTR_TX_RTX), 0u);
		EXPECT_EQ(b.port().dropped, 0u);
		EXPECT_LE(b.flow[0]->max_out, MRC_CC_WINDOW_PKTS(1024));
		EXPECT_GT(b.count(MRC_CTR_TX_DATA), 5000u);
		EXPECT_GT((double)b.flow[0]->delivered,
			  0.97 * p.rate() * 20 * kMs * 256 / 386);
		expect_alive(b);
	}
}
