// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A stream over planes as the NICs of a busy host make them: of different
// length, with queues of one plane that overtake each other, each of which
// stands still now and then while its processor does something else. Nothing is
// lost, so next to nothing may be sent again. MRC 1.0 §9.3.
#include <algorithm>

#include <gtest/gtest.h>

#include "prop_options.hpp"
#include "prop_sim.hpp"

namespace prop
{

namespace
{

constexpr u64 kUsec = 1000;
constexpr u64 kMsec = 1000000;

struct NicsPlan {
	Plan net;
	u64 delay[2][MRC_MAX_PORTS + 1] = {}; // by sending side and port
	u64 jitter[MRC_MAX_PORTS + 1] = {};
	u32 queues[MRC_MAX_PORTS + 1] = {};
	u64 serialize = 0; // ns per packet of a queue
	u64 runs = 0;	   // how long a queue is served, on average
	u64 stands = 0;	   // and is not then, at most

	std::string describe() const
	{
		return strf("queues served for %llu us, not for up to %llu us, "
			    "gap %llu ns",
			    (unsigned long long)(runs / kUsec),
			    (unsigned long long)(stands / kUsec),
			    (unsigned long long)net.gap);
	}
};

NicsPlan nics_plan(u64 seed)
{
	Rng rng(seed * 2 + 0xC000001);
	NicsPlan t;
	Plan &p = t.net;

	p.seed = seed;
	p.start = rng.range(1, 1ull << 40);
	p.pmtu = 4096;
	p.mpr = 8;
	p.sq_depth = 16;
	p.bound_pkts = true;
	p.use_ts = rng.chance(850000);
	p.n_ports = 4;
	p.n_evs = 64;
	p.rto = 4096ull << rng.range(14, 18);
	p.linear_cnt = 7;
	p.exp_cnt = 0;
	p.base_rtt = MRC_BASE_RTT_DEFAULT;
	p.psn[0] = MRC_PSN_MASK - (u32)rng.below(3000);
	p.psn[1] = (u32)rng.below(MRC_PSN_MASK);
	p.regions = 16;
	p.gap = rng.range(10, 60) * kUsec;
	t.serialize = rng.range(1, 20) * kUsec;
	t.runs = rng.range(5, 100) * kMsec;
	t.stands = rng.range(1, 12) * kMsec;
	for (u8 port = 1; port <= p.n_ports; port++) {
		const u64 way = rng.range(20, 500) * kUsec;

		t.delay[0][port] = way;
		t.delay[1][port] = way * rng.range(50, 150) / 100;
		t.jitter[port] = rng.chance(500000) ? way : way / 8;
		t.queues[port] = port % 2 + 1;
	}
	for (u32 i = 0; i < 600; i++) {
		PlanMsg m;

		m.len = 65536;
		m.post_at = p.start;
		p.msgs[0].push_back(m);
	}
	return t;
}

// The queues of the receiving NICs, and who serves each.
class NicsNet
{
public:
	explicit NicsNet(const NicsPlan &plan)
		: serialize_(plan.serialize),
		  rng_(plan.net.seed * 2 + 0xD000001)
	{
		for (int side = 0; side < 2; side++) {
			for (u32 port = 0; port <= MRC_MAX_PORTS; port++) {
				Plane &p = plane_[side][port];

				p.way = {.delay = plan.delay[side][port],
					 .jitter = plan.jitter[port] + 1};
				for (u32 i = 0; i < plan.queues[port]; i++)
					p.queues.push_back(
						{{},
						 {plan.net.start, plan.runs,
						  plan.stands}});
			}
		}
	}

	u64 delay(int from, const Packet &p, u64 now)
	{
		Plane &plane = plane_[from][p.port];
		Queue &q = plane.queues[p.entropy % plane.queues.size()];
		u64 at = now + plane.way.time(rng_);

		at = q.pauses.after(std::max(at, q.line.free()), rng_);
		q.line.take(at, serialize_);
		return at - now;
	}

private:
	struct Queue {
		mrc_model::Line line;
		mrc_model::Pauses pauses;
	};
	struct Plane {
		mrc_model::Way way;
		std::vector<Queue> queues;
	};

	const u64 serialize_;
	Rng rng_;
	Plane plane_[2][MRC_MAX_PORTS + 1];
};

struct NicsResult {
	u64 sent = 0;
	u64 again = 0;
	u64 twice = 0;
	std::string bad; // empty, or what went wrong
};

NicsResult run(u64 seed, bool trace)
{
	const NicsPlan plan = nics_plan(seed);
	NicsResult r;
	Sim sim(plan.net, trace);
	NicsNet net(plan);

	sim.on_send = [&](int from, Packet &p, u64 &delay) {
		delay = net.delay(from, p, sim.now());
		return true;
	};
	sim.run_until(MRC_NEVER,
		      [&] { return sim.delivered() || sim.ep[0].dead; });
	if (!sim.failed() && !sim.delivered())
		sim.fail("not all is delivered");
	if (!sim.failed()) {
		sim.settle();
		sim.check_final();
	}
	r.sent = sim.ep[0].count(MRC_CTR_TX_DATA);
	r.again = sim.ep[0].count(MRC_CTR_TX_RTX);
	r.twice = sim.ep[1].count(MRC_CTR_RX_DUP);
	// Two windows, of the many in which something stands still.
	if (!sim.failed() && r.again > 128)
		sim.fail(strf("%llu of %llu packets sent again",
			      (unsigned long long)r.again,
			      (unsigned long long)r.sent));
	if (sim.failed())
		r.bad = sim.what() + " (" + plan.describe() + ")";
	return r;
}

} // namespace

std::string run_nics(u64 seed, bool trace)
{
	return run(seed, trace).bad;
}

} // namespace prop

namespace
{

constexpr u64 kShards = 4;

class NicsShard : public testing::TestWithParam<u64>
{
};

// What stands still for longer than ever before is taken for lost: few of all
// packets.
TEST_P(NicsShard, NextToNothingIsSentAgain)
{
	u64 sent = 0, again = 0, twice = 0;

	for (u64 i = GetParam(); i < prop::options.schedules / 250;
	     i += kShards) {
		const u64 seed = prop::options.first + i;
		const prop::NicsResult r = prop::run(seed, false);

		EXPECT_EQ(r.bad, "")
			<< "to see it: mrc_prop --replay=nics:" << seed
			<< " --trace";
		sent += r.sent;
		again += r.again;
		twice += r.twice;
	}
	RecordProperty("sent", std::to_string(sent));
	RecordProperty("again", std::to_string(again));
	EXPECT_EQ(again, twice);
	EXPECT_LT(again * 1000, sent * 4)
		<< again << " of " << sent << " packets sent again";
}

INSTANTIATE_TEST_SUITE_P(Random, NicsShard, testing::Range<u64>(0, kShards));

} // namespace
