// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Errors: who fails, with what, and when. MRC 1.0 §8.6, §9.4, §10.
#include <algorithm>

#include <gtest/gtest.h>

#include "prop_options.hpp"

namespace prop
{

namespace
{

int status_of(u8 syndrome)
{
	return syndrome == MRC_SYN_NAK_ACCESS ? MRC_WC_REM_ACCESS
					      : MRC_WC_REM_INV_REQ;
}

} // namespace

void check_error_outcome(Sim &sim)
{
	const Direction &d = *sim.dir[0];
	const u32 fail_at = d.fail_index();
	bool ended = false;

	if (sim.failed())
		return;
	if (!sim.delivered()) {
		// The peer of a QP that died has nothing to wait for but its
		// own retries; messages that it never started do not exist.
		sim.fail("not every message was completed");
		return;
	}
	if (!d.all_posted() || !sim.ep[0].dead || !sim.ep[1].dead) {
		sim.fail("the QPs did not both go to ERROR");
		return;
	}
	for (std::size_t i = 0; i < d.msgs.size(); i++) {
		const Message &m = d.msgs[i];
		int want = ended ? MRC_WC_FLUSH : MRC_WC_SUCCESS;

		if (!ended && !d.nak_seen) {
			// The NAK was lost; its sender is silent since then.
			// What was acknowledged before that succeeded, the
			// next one exhausts the retries.
			if (m.last() >= d.told_exec) {
				want = MRC_WC_RETRY_EXC;
				ended = true;
			}
		} else if (!ended && m.last() >= fail_at) {
			want = status_of(d.fail_syndrome());
			ended = true;
		}
		if (m.status != want)
			sim.fail(strf("message %zu ended with status %d, "
				      "expected %d",
				      i, m.status, want));
	}
	if (!ended)
		sim.fail("no message failed");
	if (!sim.plan.lose_naks && !d.nak_seen)
		sim.fail("the NAK did not arrive");
	for (u32 i = 0; i < std::min(fail_at, d.packets_posted); i++)
		if (d.got[i] &&
		    d.placements[i] != (d.msgs[d.owner[i]].plan.len != 0))
			sim.fail(strf("packet %u was placed %u times", i,
				      d.placements[i]));
	// The other direction: some succeeded, then at most one error.
	ended = false;
	for (const Message &m : sim.dir[1]->msgs) {
		if (m.status == MRC_WC_SUCCESS && ended)
			sim.fail("a message succeeded after an error");
		ended |= m.status != MRC_WC_SUCCESS;
	}
}

} // namespace prop

namespace
{

using prop::Plan;
using prop::PlanMsg;
using prop::Sim;

Plan quiet_plan(u64 seed)
{
	Plan p;

	p.seed = seed;
	p.psn[0] = 0xFFFFF0;
	p.psn[1] = 0x123456;
	for (int port = 1; port <= MRC_MAX_PORTS; port++)
		p.delay[port] = 5000;
	p.rto = 1000000;
	p.base_rtt = 20000;
	p.regions = 8;
	return p;
}

PlanMsg message(u32 len, bool imm, const Plan &p)
{
	PlanMsg m;

	m.len = len;
	m.imm = imm;
	m.post_at = p.start;
	return m;
}

// MRC 1.0 §9.4: the wait before attempt k + 1, and after the last one the same
// as before it.
u64 interval(const Plan &p, u32 k)
{
	u32 last = (u32)p.linear_cnt + p.exp_cnt;
	u64 t = p.rto;

	for (u32 i = p.linear_cnt; i < std::min(k, last); i++)
		t = std::min<u64>(2 * t, MRC_RTO_MAX_NS);
	return t;
}

struct Budget {
	u64 rto;
	u8 linear;
	u8 exp;
	u32 packets;
};

class SilentPeer : public testing::TestWithParam<Budget>
{
};

TEST_P(SilentPeer, FailsAfterExactlyTheBudget)
{
	const Budget b = GetParam();
	Plan p = quiet_plan(7);
	u64 budget = 0;

	p.rto = b.rto;
	p.linear_cnt = b.linear;
	p.exp_cnt = b.exp;
	p.msgs[0].push_back(message(b.packets * p.pmtu, false, p));
	p.msgs[0].push_back(message(10, true, p));
	p.sabotage = prop::Sabotage::NeverDeliver;

	Sim sim(p);
	const mrc_req_cfg &cfg = sim.ep[0].req.cfg;

	for (u32 k = 1; k <= (u32)b.linear + b.exp + 1; k++) {
		budget += interval(p, k);
		EXPECT_EQ(mrc_req_interval(&cfg, k), interval(p, k)) << k;
	}
	sim.run_until(MRC_NEVER, [&] { return sim.ep[0].dead; });
	ASSERT_FALSE(sim.failed()) << sim.what();
	ASSERT_TRUE(sim.ep[0].dead);
	EXPECT_EQ(sim.ep[0].failed_at - p.start, budget);
	ASSERT_EQ(sim.dir[0]->reaped, 2u);
	EXPECT_EQ(sim.dir[0]->msgs[0].status, MRC_WC_RETRY_EXC);
	EXPECT_EQ(sim.dir[0]->msgs[1].status, MRC_WC_FLUSH);
	EXPECT_EQ(sim.ep[0].count(MRC_CTR_RETRY_EXC), 1u);
	EXPECT_EQ(sim.ep[0].count(MRC_CTR_RTO), (u64)b.linear + b.exp + 1);
}

INSTANTIATE_TEST_SUITE_P(
	Budgets, SilentPeer,
	testing::Values(Budget{100000, 0, 0, 1}, Budget{1000000, 3, 0, 1},
			Budget{1000000, 0, 4, 1}, Budget{1000000, 3, 7, 1},
			Budget{4194304, 7, 5, 20}, Budget{65536, 2, 3, 200},
			Budget{4194304, 7, 24, 3}));

TEST(SilentPeer, InfiniteRetriesNeverFail)
{
	Plan p = quiet_plan(8);

	p.exp_cnt = MRC_RETRY_EXP_INFINITE;
	p.msgs[0].push_back(message(3000, false, p));
	p.sabotage = prop::Sabotage::NeverDeliver;

	Sim sim(p);

	// Far beyond 3 + 24 attempts, each capped at 17.17 s.
	sim.run_until(p.start + 1500ull * 1000000000);
	ASSERT_FALSE(sim.failed()) << sim.what();
	EXPECT_FALSE(sim.ep[0].dead);
	EXPECT_GT(sim.ep[0].count(MRC_CTR_RTO), 60u);
}

// Progress gives the whole budget back.
TEST(Retry, ProgressResetsTheBudget)
{
	Plan p = quiet_plan(9);
	u32 attempts[8] = {};

	p.linear_cnt = 3;
	p.exp_cnt = 0;
	p.window = 1; // one packet at a time
	p.msgs[0].push_back(message(8 * p.pmtu, false, p));

	Sim sim(p);

	// Each packet is lost three times: with one budget for all of them the
	// QP would fail at the second.
	sim.on_send = [&](int from, prop::Packet &packet, u64 &) {
		if (from || !packet.data())
			return sim.calm || packet.opcode() != MRC_OP_PROBE;
		return ++attempts[sim.dir[0]->index_of(packet.psn())] > 3;
	};
	sim.run();
	EXPECT_FALSE(sim.failed()) << sim.what();
	EXPECT_EQ(sim.ep[0].count(MRC_CTR_RTO), 24u);
}

TEST(Errors, UnexpectedEventNackIsFinal)
{
	Plan p = quiet_plan(10);

	p.msgs[0].push_back(message(100, false, p));
	p.msgs[0].push_back(message(100, false, p));
	p.msgs[0].push_back(message(100, false, p));

	Sim sim(p);
	mrc_hdr h{};
	prop::Packet forged;

	// Let the three packets out, but nothing back.
	sim.on_send = [](int from, prop::Packet &, u64 &) { return !from; };
	sim.run_until(p.start + 10000);
	ASSERT_FALSE(sim.failed()) << sim.what();
	ASSERT_EQ(sim.dir[0]->sent, 3u);

	h.opcode = MRC_OP_NACK;
	h.pkey = MRC_PKEY_DEFAULT;
	h.dqp = 0x100;
	h.psn = sim.dir[0]->psn_of(1);
	h.neth.reason = MRC_NACK_UNEXP_EVENT;
	h.neth.nack_psn = h.psn;
	h.neth.cc_type = 2;
	forged.bytes.assign(mrc_hdr_len(&h) + MRC_ICRC_LEN, 0);
	ASSERT_NE(mrc_hdr_build(&h, forged.bytes.data(),
				(u32)forged.bytes.size()),
		  0u);
	sim.deliver_forged(0, forged);
	ASSERT_FALSE(sim.failed()) << sim.what();
	EXPECT_FALSE(sim.ep[0].dead); // the first message may still succeed

	// But nothing comes back, and the first retry ends the wait.
	sim.run_until(MRC_NEVER, [&] { return sim.ep[0].dead; });
	ASSERT_FALSE(sim.failed()) << sim.what();
	EXPECT_TRUE(sim.ep[0].dead);
	ASSERT_EQ(sim.dir[0]->reaped, 3u);
	EXPECT_EQ(sim.dir[0]->msgs[0].status, MRC_WC_FLUSH);
	EXPECT_EQ(sim.dir[0]->msgs[1].status, MRC_WC_REM_OP);
	EXPECT_EQ(sim.dir[0]->msgs[2].status, MRC_WC_FLUSH);
}

} // namespace
