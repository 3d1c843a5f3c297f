// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Lone messages of 64 packets while each packet of either side is lost with the
// same probability: what they take, in the simulation's time. The benchmark's
// section "tail" has the same limits for the median and the 99 %.
#include <algorithm>

#include <gtest/gtest.h>

#include "prop_options.hpp"
#include "prop_tail.hpp"

namespace prop
{
namespace
{

constexpr u32 kPackets = 64;
constexpr u32 kMessages = 1000;

TailPlan dice_plan(u64 seed, u32 loss_ppm, u64 rtt, u64 gap, u32 timeout)
{
	TailPlan t;
	Plan &p = t.net;

	p.seed = seed;
	p.start = 1000000;
	p.pmtu = 256;
	p.mpr = 8;
	p.sq_depth = 64;
	p.bound_pkts = true;
	p.use_ts = true;
	p.n_ports = 4;
	p.n_evs = 64;
	p.linear_cnt = 7;
	p.base_rtt = MRC_BASE_RTT_DEFAULT;
	p.regions = 4;
	p.gap = gap;
	p.rto = std::min<u64>(4096ull << timeout, MRC_RTO_MAX_NS);
	t.rtt = rtt;
	t.loss_ppm = loss_ppm;
	for (auto &side : t.delay)
		std::fill(side, side + MRC_MAX_PORTS + 1, rtt / 2);
	for (u32 i = 0; i < kMessages; i++) {
		PlanMsg m;

		m.len = kPackets * p.pmtu;
		m.post_at =
			p.start + i * (2 * kPackets * gap + 20 * rtt + 5000000);
		p.msgs[0].push_back(m);
		t.losses.push_back({});
	}
	return t;
}

// Of those after the first round trips are known, sorted.
std::vector<u64> times_of(const TailPlan &p)
{
	TailRun r(p, false);

	r.run();
	EXPECT_FALSE(r.failed()) << r.what();
	EXPECT_EQ(r.count(0, MRC_CTR_RTO), 0u);
	std::vector<u64> t(r.took.begin() + (s64)r.took.size() / 10,
			   r.took.end());

	std::sort(t.begin(), t.end());
	return t;
}

} // namespace

TEST(TailDice, LossesOfLoneMessagesCostRoundTrips)
{
	for (u64 rtt : {30000ull, 100000ull})
		for (u32 timeout : {14u, 18u, 22u}) {
			const u64 seed = options.first + timeout;
			const auto calm = times_of(
				dice_plan(seed, 0, rtt, 4000, timeout));
			const auto t = times_of(
				dice_plan(seed, 10000, rtt, 4000, timeout));

			ASSERT_GT(t.size(), 800u);
			EXPECT_LE(t[t.size() / 2],
				  calm[calm.size() / 2] * 13 / 10)
				<< rtt << " ns, timeout " << timeout;
			EXPECT_LE(t[t.size() * 99 / 100],
				  calm[calm.size() / 2] + 4 * rtt + 1000000)
				<< rtt << " ns, timeout " << timeout;
			// What others of its plane overtook needs no probe.
			EXPECT_LE(t[t.size() * 9 / 10],
				  calm[calm.size() / 2] + 2 * rtt)
				<< rtt << " ns, timeout " << timeout;
		}
}

} // namespace prop
