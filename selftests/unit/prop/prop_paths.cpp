// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Paths: reordering is no loss, a bad path is left and found again, planes
// share the load. MRC 1.0 §9.3, §11.5, §11.6.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "prop_options.hpp"

namespace
{

using prop::Plan;
using prop::PlanMsg;
using prop::Rng;
using prop::Sim;

// Two planes, 16 EVs, one long message after the other.
Plan busy_plan(u64 seed, u32 packets)
{
	Plan p;

	p.seed = seed;
	p.pmtu = 256;
	p.psn[0] = 0xFFFFFF - packets / 2;
	p.n_evs = 16;
	p.n_ports = 2;
	p.regions = 16;
	p.trim_nack[0] = p.trim_nack[1] = true;
	p.rto = 1000000;
	p.base_rtt = 20000;
	p.gap = 500;
	p.window = 1u << 20;
	for (int port = 1; port <= MRC_MAX_PORTS; port++)
		p.delay[port] = 10000;
	while (packets) {
		PlanMsg m;
		u32 n = std::min(packets, 16u);

		m.len = n * p.pmtu;
		m.imm = n % 2;
		m.post_at = p.start;
		packets -= n;
		p.msgs[0].push_back(m);
	}
	return p;
}

u64 drops(const Sim &sim, int side)
{
	u64 n = 0;

	for (u16 i = 0; i < sim.ep[side].paths.n; i++)
		n += mrc_paths_drops(&sim.ep[side].paths, i);
	return n;
}

class Reorder : public testing::TestWithParam<u64>
{
};

// Displacement below the loss threshold R and no loss: nothing is sent twice.
TEST_P(Reorder, BelowTheThresholdIsNotALoss)
{
	Rng rng(GetParam());
	Plan p = busy_plan(GetParam(), 300);

	// R = clamp(1.5 cwnd / PMTU, 5, W / 2), OP-22, or one cwnd where
	// packets are trimmed. The smallest windows that R allows matter most;
	// wider ones reach the upper clamp.
	p.trim_nack[0] = GetParam() % 2;
	p.window = (u32)rng.pick({1u, 4u, 40u, 1000u}) * 300;
	p.mpr = (u16)rng.range(1, 4);
	p.rto = 50000000;
	p.base_rtt = 400000;
	p.gap = 1000;

	const u64 cwnd = std::max(p.window, mrc_nominal_size(40, p.pmtu));
	const u64 r =
		std::clamp<u64>(cwnd * (p.trim_nack[0] ? 2 : 3) / 2 / p.pmtu, 5,
				(u64)p.mpr * MRC_MPR_UNIT / 2);
	Sim sim(p);
	u64 overtaken = 0;

	sim.on_send = [&](int from, prop::Packet &packet, u64 &delay) {
		if (!from && packet.data())
			// At one packet per gap no packet is overtaken by the
			// one that left r gaps later.
			delay += rng.below(r) * p.gap;
		return true;
	};
	sim.on_desc = [&](int side, const mrc_tx_desc &) {
		if (side)
			return;
		// How far reordering really goes, as the receiver sees it.
		overtaken = std::max<u64>(overtaken,
					  sim.dir[0]->top - sim.dir[0]->cum);
	};
	sim.run();
	ASSERT_FALSE(sim.failed())
		<< "seed " << GetParam() << ": " << sim.what();
	EXPECT_EQ(sim.dir[0]->rtx, 0u) << "R is " << r;
	EXPECT_EQ(sim.ep[0].req.stat_rtx, 0u);
	EXPECT_EQ(drops(sim, 0), 0u);
	EXPECT_EQ(sim.ep[1].count(MRC_CTR_RX_DUP), 0u);
	if (p.window > 3000) {
		EXPECT_GT(overtaken, 1u) << "nothing was reordered";
	}
}

INSTANTIATE_TEST_SUITE_P(Seeds, Reorder, testing::Range<u64>(1, 41));

// A plane that stands still again and again, for less than a quarter of the RTO
// and a tick: everything on it is late by far more than the window, in order.
class PlaneLag : public testing::TestWithParam<u64>
{
};

TEST_P(PlaneLag, StandingStillIsNotALoss)
{
	Plan p = busy_plan(GetParam(), 6000);
	Rng rng(GetParam());

	p.rto = 16000000;
	p.window = (u32)rng.pick({30u, 200u, 4000u}) * 300;
	p.mpr = (u16)rng.pick({1u, 4u, 8u});
	p.trim_nack[0] = rng.chance(500000);

	Sim sim(p);
	u64 from = p.start + 100000, until = 0, stalls = 0, late = 0;
	u8 port = 0;

	sim.on_send = [&](int side, prop::Packet &packet, u64 &delay) {
		const u64 arrives = sim.now() + delay;

		if (sim.now() >= from) {
			port = (u8)rng.range(1, p.n_ports);
			until = from + rng.range(500000, 3900000);
			from = until + rng.range(20000, 2000000);
			stalls++;
		}
		if (!side && packet.port == port && arrives < until) {
			delay += until - arrives;
			late++;
		}
		return true;
	};
	sim.run();
	ASSERT_FALSE(sim.failed())
		<< "seed " << GetParam() << ": " << sim.what();
	EXPECT_GT(stalls, 0u);
	EXPECT_GT(late, 0u) << "nothing was held up";
	EXPECT_EQ(sim.ep[0].req.stat_rtx, 0u);
	EXPECT_EQ(drops(sim, 0), 0u);
	EXPECT_EQ(sim.ep[1].count(MRC_CTR_RX_DUP), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlaneLag, testing::Range<u64>(1, 41));

// Reordering beyond the threshold is taken for loss at most once per packet,
// and does no harm.
TEST(Reorder, FarBeyondTheThresholdIsHarmless)
{
	Plan p = busy_plan(3, 400);

	p.window = 3000; // R = 17

	Sim sim(p);
	std::map<u32, u32> copies;

	sim.on_send = [&](int from, prop::Packet &packet, u64 &delay) {
		if (!from && packet.data()) {
			// First copies only: the retransmission is prompt. Few,
			// so that the sender does not learn how late they are.
			if (++copies[packet.psn()] == 1 &&
			    copies.size() > 100 && copies.size() <= 110)
				delay += 300000;
		}
		return true;
	};
	sim.run();
	ASSERT_FALSE(sim.failed()) << sim.what();
	EXPECT_GT(sim.ep[0].count(MRC_CTR_LOSS_SACK), 0u);
	EXPECT_EQ(sim.ep[0].count(MRC_CTR_LOSS_TIMEOUT), 0u);
	EXPECT_GT(sim.ep[0].count(MRC_CTR_SPURIOUS_RTX), 0u);
	for (const auto &[psn, n] : copies)
		EXPECT_LE(n, 2u) << psn;
}

class DeadPath : public testing::TestWithParam<u64>
{
};

TEST_P(DeadPath, IsLeftProbedAndUsedAgain)
{
	Plan p = busy_plan(GetParam(), 1500);
	const u16 bad = (u16)(GetParam() % p.n_evs);
	u64 sent_while_bad = 0, probes = 0, sent_after = 0;
	u64 left_at = 0, back_at = 0, answered = 0;
	const u64 heal_at = p.start + 1000000000;

	p.window = 16384;

	// The second half is posted after the path came back.
	for (std::size_t i = p.msgs[0].size() / 2; i < p.msgs[0].size(); i++)
		p.msgs[0][i].post_at += 3000000000;

	Sim sim(p);
	const mrc_paths &paths = sim.ep[0].paths;
	const u32 entropy = mrc_paths_entropy(&paths, bad);

	sim.faults[0].cut_paths.push_back(entropy);
	sim.on_desc = [&](int side, const mrc_tx_desc &d) {
		if (side || d.entropy != entropy)
			return;
		if (!d.data) {
			probes++;
			answered += sim.faults[0].cut_paths.empty() && !back_at;
		}
		if (d.data &&
		    mrc_paths_state(&paths, bad) == MRC_EV_ASSUMED_BAD)
			sent_while_bad++;
		if (d.data && back_at)
			sent_after++;
	};
	sim.run_until(heal_at, [&] {
		if (!left_at &&
		    mrc_paths_state(&paths, bad) == MRC_EV_ASSUMED_BAD)
			left_at = sim.now();
		return false;
	});
	ASSERT_FALSE(sim.failed()) << sim.what();
	EXPECT_EQ(sim.dir[0]->reaped, sim.dir[0]->msgs.size())
		<< "a dead path held up the traffic";
	sim.faults[0].cut_paths.clear();
	sim.run_until(MRC_NEVER, [&] {
		if (!back_at && mrc_paths_state(&paths, bad) == MRC_EV_GOOD)
			back_at = sim.now();
		return sim.delivered();
	});
	ASSERT_FALSE(sim.failed()) << sim.what();
	ASSERT_TRUE(sim.delivered());
	ASSERT_NE(left_at, 0u) << "the path was never left";
	EXPECT_LT(left_at - p.start, 10 * p.base_rtt);
	EXPECT_EQ(sent_while_bad, 0u);
	ASSERT_NE(back_at, 0u) << "the path did not come back";
	// MRC 1.0 §11.6: probed at least once a second, two answers needed.
	EXPECT_GE(probes, 3u);
	EXPECT_EQ(answered, (u64)MRC_EV_PROBES_GOOD);
	EXPECT_LT(back_at, heal_at + MRC_EV_PROBE_MAX_NS + 10 * p.rto);
	EXPECT_GT(sent_after, 0u) << "the path is not used again";
	// Just the one path suffered.
	for (u16 i = 0; i < paths.n; i++)
		EXPECT_EQ(mrc_paths_drops(&paths, i) != 0, i == bad) << i;
	sim.settle();
	sim.check_final();
	EXPECT_FALSE(sim.failed()) << sim.what();
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeadPath, testing::Range<u64>(1, 17));

// A whole plane swallows everything, but its link stays up: traffic goes on
// over the other one and comes back after probes were answered.
TEST(DeadPlane, TrafficGoesOnAndReturns)
{
	Plan p = busy_plan(21, 3000);
	u64 tx[3] = {}, late[3] = {};

	p.linear_cnt = 3;
	p.exp_cnt = 2; // a plane must not use up the budget
	for (std::size_t i = p.msgs[0].size() / 2; i < p.msgs[0].size(); i++)
		p.msgs[0][i].post_at += 5000000000;

	Sim sim(p);

	sim.faults[0].cut_ports = sim.faults[1].cut_ports = 1u << 2;
	sim.on_desc = [&](int side, const mrc_tx_desc &d) {
		if (side || !d.data)
			return;
		if (sim.now() > p.start + 5000000000)
			late[d.port]++;
		else
			tx[d.port]++;
	};
	sim.run_until(p.start + 2000000000);
	ASSERT_FALSE(sim.failed()) << sim.what();
	EXPECT_FALSE(sim.ep[0].dead);
	EXPECT_EQ(sim.dir[0]->reaped, sim.dir[0]->msgs.size());
	EXPECT_GT(tx[1], 1500u * 9 / 10);
	sim.faults[0].cut_ports = sim.faults[1].cut_ports = 0;
	sim.run_until(MRC_NEVER, [&] { return sim.delivered(); });
	ASSERT_FALSE(sim.failed()) << sim.what();
	ASSERT_TRUE(sim.delivered());
	EXPECT_NEAR((double)late[1], (double)late[2], 100.0);
	sim.settle();
	sim.check_final();
	EXPECT_FALSE(sim.failed()) << sim.what();
}

// Longest time in which no data packet left, while one of 2 to 8 planes was
// lost in the middle of traffic in this way: silently or with its port.
u64 longest_pause(u64 seed, u8 planes, bool port_down, bool trim)
{
	Plan p = busy_plan(seed, 20000);
	u64 last = p.start, pause = 0;
	bool cut = false, down = false;

	p.pmtu = 1024;
	for (PlanMsg &m : p.msgs[0])
		m.len *= 4;
	p.n_ports = planes;
	p.n_evs = 64;
	p.trim_nack[0] = trim;
	p.rto = 134000000;
	p.base_rtt = 50000;
	p.gap = 1000;
	p.window = 65536;

	Sim sim(p);
	const u64 cut_at = p.start + 3000000;

	sim.on_desc = [&](int side, const mrc_tx_desc &d) {
		if (side || !d.data)
			return;
		pause = std::max(pause, sim.now() - last);
		last = sim.now();
	};
	sim.run_until(MRC_NEVER, [&] {
		if (!cut && sim.now() >= cut_at) {
			cut = true;
			sim.faults[0].cut_ports = 1u << 2;
			sim.faults[1].cut_ports = 1u << 2;
		}
		if (port_down && !down && sim.now() >= cut_at + 60000) {
			down = true;
			sim.set_ports(0, ((2u << planes) - 2) & ~(1u << 2));
		}
		return sim.delivered();
	});
	EXPECT_FALSE(sim.failed()) << sim.what();
	EXPECT_TRUE(sim.delivered());
	EXPECT_TRUE(cut) << "traffic ended before the cut";
	return pause;
}

class Pause : public testing::TestWithParam<u64>
{
};

// Milliseconds, whatever the RTO: a tick for the lag, another one where a
// retransmission takes the same plane before all its EVs are condemned. Of two
// planes one fills the window before the other is far enough ahead (OP-22);
// then a probe asks, after a tick as well.
TEST_P(Pause, PlaneSwallowsSilently)
{
	const u64 seed = GetParam();

	for (u8 planes : {2, 4, 8})
		for (bool trim : {false, true})
			EXPECT_LT(longest_pause(seed, planes, false, trim),
				  12 * 1000000u)
				<< +planes << " planes, trim " << trim;
}

// The link tells: no need to wait at all.
TEST_P(Pause, PortGoesDown)
{
	const u64 seed = GetParam();

	for (u8 planes : {2, 4, 8})
		for (bool trim : {false, true})
			EXPECT_LT(longest_pause(seed, planes, true, trim),
				  5 * 50000u)
				<< +planes << " planes, trim " << trim;
}

INSTANTIATE_TEST_SUITE_P(Seeds, Pause, testing::Range<u64>(1, 5));

// A local port goes down in the middle of traffic: nothing more leaves through
// it, its EVs keep their state, and all of the load comes back with it.
TEST(PortDown, NoStateChangeAndNoUse)
{
	Plan p = busy_plan(22, 2000);
	u64 down_tx = 0;
	bool down = false, was_down = false;

	Sim sim(p);

	sim.on_desc = [&](int side, const mrc_tx_desc &d) {
		if (!side && down && d.port == 2)
			down_tx++;
	};
	sim.run_until(MRC_NEVER, [&] {
		if (!was_down && sim.dir[0]->sent > 500) {
			down = was_down = true;
			sim.set_ports(0, 1u << 1);
			for (u16 i = 0; i < sim.ep[0].paths.n; i++)
				EXPECT_EQ(mrc_paths_state(&sim.ep[0].paths, i),
					  MRC_EV_GOOD);
		}
		if (down && sim.dir[0]->sent > 1200) {
			down = false;
			sim.set_ports(0, 1u << 1 | 1u << 2);
		}
		return sim.delivered();
	});
	ASSERT_FALSE(sim.failed()) << sim.what();
	ASSERT_TRUE(was_down);
	EXPECT_EQ(down_tx, 0u);
	// Feedback sent to the dead port was lost, so were packets on the
	// wire; that condemns no EV of the other plane.
	for (u16 i = 0; i < sim.ep[0].paths.n; i++)
		if (mrc_paths_port(&sim.ep[0].paths, i) == 1) {
			EXPECT_EQ(mrc_paths_drops(&sim.ep[0].paths, i), 0u)
				<< i;
		}
	sim.settle();
	sim.check_final();
	EXPECT_FALSE(sim.failed()) << sim.what();
}

// MRC 1.0 §11.5: the same load on every plane and on every EV.
TEST(Spray, PlanesAndPathsShareEqually)
{
	Plan p = busy_plan(23, 1600);

	p.n_ports = 4;

	Sim sim(p);
	std::map<u32, u32> per_ev;
	u32 per_port[5] = {};

	sim.on_desc = [&](int side, const mrc_tx_desc &d) {
		if (side || !d.data)
			return;
		per_ev[d.entropy]++;
		per_port[d.port]++;
	};
	sim.run();
	ASSERT_FALSE(sim.failed()) << sim.what();
	for (int port = 1; port <= 4; port++)
		EXPECT_EQ(per_port[port], 400u) << port;
	ASSERT_EQ(per_ev.size(), 16u);
	for (const auto &[entropy, n] : per_ev)
		EXPECT_NEAR(n, 100, 2) << std::hex << entropy;
}

} // namespace
