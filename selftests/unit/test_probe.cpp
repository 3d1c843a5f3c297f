// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: probes when nothing is heard, probes of EVs, their replies.
// MRC 1.0 §9.5, §11.6.
#include "engine_fixture.hpp"

using namespace mrc_test;

TEST(Silence, ProbeOnAnotherEv)
{
	Requester r;
	r.cfg.rto = 4 * kMs;
	r.init();
	auto out = r.send_n(3);
	r.now += kMs - 1; // without a sample min(1 ms, RTO / 2)
	EXPECT_TRUE(r.send().empty());
	EXPECT_TRUE(r.probes.empty());
	EXPECT_EQ(mrc_req_deadline(&r.req), r.now + 1);
	r.now += 1;
	r.deadline();
	r.send();
	ASSERT_EQ(r.probes.size(), 1u);
	const mrc_tx_desc &p = r.probes[0];
	EXPECT_NE(p.ev, out[0].ev);
	EXPECT_NE(p.port, out[0].port);
	EXPECT_EQ(p.hdr.opcode, MRC_OP_PROBE);
	EXPECT_EQ(p.hdr.psn, 0u);
	EXPECT_EQ(p.hdr.dqp, r.cfg.dqpn);
	EXPECT_EQ(p.hdr.ftype, MRC_TS_FTYPE);
	EXPECT_EQ(p.hdr.tstamp, (u16)(r.now >> 7));
	EXPECT_FALSE(p.hdr.ts);
	EXPECT_EQ(p.hdr.peth.spdcid, 0x2345);
	EXPECT_EQ(p.hdr.peth.dpdcid, 0x789A);
	EXPECT_EQ(p.tc, MRC_TC_DATA);
	EXPECT_TRUE(p.ect);
	EXPECT_FALSE(p.data);
	EXPECT_EQ(p.entropy, r.ev(p.ev).entropy);
	EXPECT_EQ(r.count(MRC_CTR_TX_PROBE), 1u);
	EXPECT_EQ(r.count(MRC_CTR_TX_DATA), 3u);
	EXPECT_EQ(r.req.inflight, 3 * mrc_nominal_size(36, 256));
	r.send();
	EXPECT_EQ(r.probes.size(), 1u); // just one
}

TEST(Silence, UnansweredProbesBackOff)
{
	Requester r;
	r.cfg.rto = 0; // no timer: a millisecond takes the place of RTO / 2
	r.init();
	r.send_n(1);
	u64 last = r.now;
	const u64 ms[] = {1, 2, 4, 8, 16, 32, 64, 64, 64};
	u16 id = 0;
	for (u64 t : ms) {
		EXPECT_EQ(mrc_req_deadline(&r.req), last + t * kMs);
		r.now = last + t * kMs;
		r.probes.clear();
		r.send();
		ASSERT_EQ(r.probes.size(), 1u);
		EXPECT_EQ(r.probes[0].hdr.peth.probe_id, id++);
		last = r.now;
	}
	// An answer tells of the loss, and silence begins anew with the copy.
	r.now += 50 * kUs;
	r.sack({.cack = r.psn(-1), .probe = (u16)(id - 1)});
	EXPECT_EQ(r.send().size(), 1u);
	EXPECT_LE(mrc_req_deadline(&r.req), r.now + kMs);
}

TEST(Silence, TwoRoundTripsIfThatIsLonger)
{
	Requester r;
	r.cfg.base_rtt = 3 * kMs;
	r.init();
	r.send_n(1);
	EXPECT_EQ(r.req.tail_probe_at, r.now + 6 * kMs);
}

// Hosts with short round trips are fast themselves.
TEST(Silence, TheAllowanceForHostsFollowsTheRoundTrip)
{
	const std::pair<u64, u64> table[] = { // RTT, allowance
		{kUs, 10 * kUs}, {8 * kUs, 10 * kUs}, {10 * kUs, 10 * kUs},
		{12 * kUs, 22 * kUs}, {25 * kUs, 100 * kUs}, {kMs, 100 * kUs}};
	for (auto [rtt, allowance] : table) {
		Requester r;
		r.cfg.rto = 64 * kMs;
		r.init();
		r.send_n(1);
		r.now += rtt;
		r.sack_all(r.psn(0));
		r.ack(r.psn(0));
		ASSERT_EQ(r.req.srtt, rtt);
		r.send_n(1);
		// The first sample: half of it is the deviation.
		EXPECT_EQ(r.req.tail_probe_at, r.now + 3 * rtt + allowance) << rtt;
	}
}

TEST(Silence, NotWhenNothingIsOutstanding)
{
	Requester r;
	r.init();
	EXPECT_EQ(r.req.tail_probe_at, MRC_NEVER);
	r.send_n(2);
	EXPECT_NE(r.req.tail_probe_at, MRC_NEVER);
	r.now += kMs;
	r.sack_all(r.psn(0));
	// From its sending on RTO / 2, which two round trips are bounded by.
	EXPECT_EQ(r.req.tail_probe_at, r.now + kMs);
	// The transport ACK is awaited.
	r.sack_all(r.psn(1));
	EXPECT_NE(r.req.tail_probe_at, MRC_NEVER);
	r.ack(r.psn(1));
	EXPECT_EQ(r.req.tail_probe_at, MRC_NEVER);
	// Long idle does not count as silence.
	r.reap();
	r.now += 1000 * kMs;
	r.send_n(1);
	EXPECT_TRUE(r.probes.empty());
	EXPECT_EQ(r.req.tail_probe_at, r.now + 2 * kMs);
}

TEST(Silence, SingleEvIsProbedItself)
{
	Requester r;
	r.pcfg.n_evs = 1;
	r.pcfg.n_ports = 1;
	r.init();
	auto out = r.send_n(1);
	r.now += 2 * kMs;
	r.send();
	ASSERT_EQ(r.probes.size(), 1u);
	EXPECT_EQ(r.probes[0].ev, out[0].ev);
}

// The peer wants the EV of this packet, which it has, to be skipped always.
// Returns the EV.
static int condemn(Requester &r, const mrc_tx_desc &d)
{
	r.sack({.cack = d.hdr.psn,
		.m = MRC_M_ALWAYS_SKIP,
		.entropy = d.entropy});
	return d.ev;
}

TEST(EvProbe, CondemnedEvIsProbedUntilItIsGoodAgain)
{
	Requester r;
	r.init();
	auto out = r.send_n(1);
	const int bad = condemn(r, out[0]);
	r.ack(r.psn(0));
	ASSERT_EQ(r.ev(bad).state, MRC_EV_ASSUMED_BAD);
	// Nothing else is going on; the deadline is the EV's probe.
	for (int k = 0; k < 2; k++) {
		u64 due = mrc_paths_next_probe(&r.paths);
		EXPECT_EQ(mrc_req_deadline(&r.req), due);
		r.now = due;
		r.deadline();
		r.probes.clear();
		r.send();
		ASSERT_EQ(r.probes.size(), 1u);
		EXPECT_EQ(r.probes[0].ev, bad);
		r.now += 60 * kUs;
		// A train of two replies is one verdict.
		for (int t = 0; t < 2; t++)
			r.sack({.cack = r.psn(0),
				.probe = r.probes[0].hdr.peth.probe_id});
		EXPECT_EQ(r.ev(bad).state,
			  k ? MRC_EV_GOOD : MRC_EV_ASSUMED_BAD);
	}
	EXPECT_EQ(r.count(MRC_CTR_RX_PROBE_REPLY), 4u);
	EXPECT_EQ(mrc_req_deadline(&r.req), MRC_NEVER);
}

TEST(EvProbe, VerdictFollowsM)
{
	for (u8 m : {MRC_M_SKIP_ONCE, MRC_M_ALWAYS_SKIP}) {
		Requester r;
		r.init();
		auto out = r.send_n(1);
		const int bad = condemn(r, out[0]);
		r.now = mrc_paths_next_probe(&r.paths);
		r.send();
		ASSERT_EQ(r.probes.size(), 1u);
		r.sack({.cack = r.psn(0),
			.m = m,
			.probe = r.probes[0].hdr.peth.probe_id});
		EXPECT_EQ(r.ev(bad).state, m == MRC_M_SKIP_ONCE
						   ? MRC_EV_SKIP
						   : MRC_EV_ASSUMED_BAD);
	}
}

TEST(ProbeReply, TimesTheRoundTrip)
{
	Requester r;
	r.init();
	r.send_n(1);
	r.now += 2 * kMs;
	r.send();
	ASSERT_EQ(r.probes.size(), 1u);
	r.now += 70 * kUs;
	r.sack({.cack = r.psn(-1), .probe = r.probes[0].hdr.peth.probe_id});
	EXPECT_EQ(r.req.srtt, 70 * kUs);
	EXPECT_EQ(r.rec.acks.back().rtt, 70 * kUs);
	EXPECT_FALSE(r.req.probe_out);
}

TEST(ProbeReply, UnknownIdGivesFactsButNoVerdict)
{
	Requester r;
	r.init();
	r.send_n(3);
	r.now += kMs;
	r.sack({.cack = r.psn(0),
		.base = 1,
		.map = 2,
		.m = MRC_M_ALWAYS_SKIP,
		.probe = 999});
	EXPECT_EQ(r.req.cack, r.psn(0));
	EXPECT_EQ(r.req.high, r.psn(2));
	EXPECT_EQ(r.paths.bad, 0);
	EXPECT_EQ(r.req.srtt, 0u);
	EXPECT_EQ(r.req.n_lost, 0u);
	// The id bits are no ack_psn_offset.
	EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), 0u);
}
