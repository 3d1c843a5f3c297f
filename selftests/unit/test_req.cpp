// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester: configuration, posting, packets, windows, BTH.a, completions.
#include "engine_fixture.hpp"

#include <algorithm>

using namespace mrc_test;

TEST(ReqInit, RefusesBadConfigurations)
{
	const std::vector<std::function<void(mrc_req_cfg &)>> bad = {
		[](auto &c) { c.sq_depth = 0; },
		[](auto &c) { c.sq_depth = 3; },
		[](auto &c) { c.sq_depth = 65536; },
		[](auto &c) { c.pmtu = 128; },
		[](auto &c) { c.pmtu = 8192; },
		[](auto &c) { c.pmtu = 1500; },
		[](auto &c) { c.mpr = 0; },
		[](auto &c) { c.mpr = 256; },
		[](auto &c) { c.max_wimm = 0; },
		[](auto &c) { c.sq_psn = 0x1000000; },
		[](auto &c) { c.linear_cnt = 8; },
		[](auto &c) { c.exp_cnt = 26; },
	};
	for (size_t i = 0; i < bad.size(); i++) {
		Requester r;
		bad[i](r.cfg);
		EXPECT_EQ(mrc_req_mem(&r.cfg), 0u) << i;
		EXPECT_EQ(r.init(), -EINVAL) << i;
	}
	Requester r;
	ASSERT_EQ(r.init(), 0);
	EXPECT_EQ(mrc_req_init(&r.req, &r.cfg, nullptr, &r.cc, &r.now),
		  -EINVAL);
	EXPECT_EQ(mrc_req_init(&r.req, &r.cfg, &r.paths, nullptr, &r.now),
		  -EINVAL);
	EXPECT_EQ(mrc_req_init(&r.req, &r.cfg, &r.paths, &r.cc, nullptr),
		  -EINVAL);
}

TEST(ReqInit, ExtremesAreAcceptedAndBounded)
{
	for (u16 mpr : {1, 255}) {
		for (u32 depth : {1u, 32768u}) {
			Requester r;
			r.cfg.mpr = mpr;
			r.cfg.sq_depth = depth;
			EXPECT_LE(mrc_req_mem(&r.cfg), 4u << 20);
			EXPECT_EQ(r.init(), 0);
			EXPECT_GE(r.req.ring_mask + 1, 128u * mpr);
			EXPECT_EQ(r.req.window, 128u * mpr);
		}
	}
}

TEST(ReqInit, DefaultBaseRtt)
{
	Requester r;
	r.cfg.base_rtt = 0;
	r.init();
	EXPECT_EQ(r.req.base_rtt, MRC_BASE_RTT_DEFAULT);
}

TEST(ReqPost, RefusesWhatMrcCannotDo)
{
	Requester r;
	r.init();
	mrc_wr wr{};
	wr.op = 7;
	EXPECT_EQ(mrc_req_post(&r.req, &wr, r.now), -EINVAL);
	wr.op = MRC_WR_WRITE;
	wr.len = MRC_MAX_MSG + 1;
	EXPECT_EQ(mrc_req_post(&r.req, &wr, r.now), -EINVAL);
	wr.len = MRC_MAX_MSG;
	EXPECT_EQ(mrc_req_post(&r.req, &wr, r.now), 0);
	EXPECT_EQ(r.req.wqe[0].npkts, 1u << 23);
	r.check();
}

TEST(ReqPost, SlotsAreOccupiedUntilReaped)
{
	Requester r;
	r.cfg.sq_depth = 4;
	r.init();
	for (int i = 0; i < 4; i++) {
		EXPECT_TRUE(mrc_req_can_post(&r.req));
		EXPECT_EQ(r.write(1), i);
	}
	EXPECT_FALSE(mrc_req_can_post(&r.req));
	EXPECT_EQ(r.write(1), -ENOSPC);
	r.send();
	r.ack(r.psn(0));
	EXPECT_EQ(r.write(1), -ENOSPC); // done, not reaped
	EXPECT_EQ(r.reap().size(), 1u);
	EXPECT_EQ(r.write(1), 0);
	EXPECT_EQ(r.write(1), -ENOSPC);
}

TEST(ReqPacket, ZeroLengthWriteIsOnePacketWithoutAddress)
{
	Requester r;
	r.init();
	r.write(0);
	auto out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.opcode, MRC_OP_WRITE_ONLY);
	EXPECT_EQ(out[0].len, 0u);
	EXPECT_TRUE(out[0].data);
	EXPECT_EQ(out[0].hdr.reth.va, 0u);
	EXPECT_EQ(out[0].hdr.reth.rkey, 0u);
	EXPECT_EQ(out[0].hdr.reth.dmalen, 0u);
	EXPECT_EQ(out[0].hdr.pad, 0u);
}

TEST(ReqPacket, FieldsOfAMultiPacketWriteImm)
{
	Requester r;
	r.init();
	r.write(256); // msn 0, does not count in rqmsn
	r.send();
	r.now += 128 * 5;
	int slot = r.write(256 * 2 + 5, true, true);
	auto out = r.send();
	ASSERT_EQ(out.size(), 3u);
	const u8 op[] = {MRC_OP_WRITE_FIRST, MRC_OP_WRITE_MIDDLE,
			 MRC_OP_WRITE_LAST_IMM};
	const u32 len[] = {256, 256, 5};
	for (u32 i = 0; i < 3; i++) {
		const mrc_tx_desc &d = out[i];
		EXPECT_EQ(d.hdr.opcode, op[i]);
		EXPECT_EQ(d.hdr.psn, r.psn(1 + i));
		EXPECT_EQ(d.hdr.msn, 1);
		EXPECT_EQ(d.hdr.rqmsn, 0);
		EXPECT_EQ(d.hdr.dqp, r.cfg.dqpn);
		EXPECT_EQ(d.hdr.pkey, 0xFFFF);
		EXPECT_FALSE(d.hdr.rtx);
		EXPECT_TRUE(d.hdr.ts);
		EXPECT_EQ(d.hdr.tstamp, (u16)(r.now >> 7));
		EXPECT_EQ(d.hdr.ftype, MRC_TS_FTYPE);
		EXPECT_EQ(d.hdr.reth.va, 0x10000u + 256 * i);
		EXPECT_EQ(d.hdr.reth.rkey, 0xABCDu);
		EXPECT_EQ(d.hdr.reth.dmalen, 517u);
		EXPECT_EQ(d.hdr.se, i == 2);
		EXPECT_EQ(d.hdr.pad, i == 2 ? 3 : 0);
		EXPECT_EQ(d.len, len[i]);
		EXPECT_EQ(d.off, 256 * i);
		EXPECT_EQ(d.slot, (u32)slot);
		EXPECT_EQ(d.tc, MRC_TC_DATA);
		EXPECT_TRUE(d.ect);
		EXPECT_EQ(d.hdr.hdr_len, mrc_hdr_len(&d.hdr));
		EXPECT_EQ(d.entropy, r.ev(d.ev).entropy);
		EXPECT_EQ(d.port, r.ev(d.ev).port);
	}
	EXPECT_EQ(out[2].hdr.reth.imm, (__be32)0x11223344);
	EXPECT_EQ(out[1].hdr.reth.imm, 0u);
	r.write(1, true);
	out = r.send();
	EXPECT_EQ(out[0].hdr.opcode, MRC_OP_WRITE_ONLY_IMM);
	EXPECT_EQ(out[0].hdr.rqmsn, 1);
	EXPECT_EQ(out[0].hdr.msn, 2);
}

TEST(ReqPacket, NoTimestampUnlessConfigured)
{
	Requester r;
	r.cfg.use_ts = false;
	r.init();
	auto out = r.send_n(1);
	EXPECT_FALSE(out[0].hdr.ts);
	EXPECT_EQ(out[0].hdr.hdr_len, 32);
	EXPECT_EQ(r.req.inflight, mrc_nominal_size(32, 256));
}

TEST(ReqPacket, CountersAndInflight)
{
	Requester r;
	r.init();
	r.write(600);
	auto out = r.send();
	u64 sum = 0;
	for (const auto &d : out)
		sum += mrc_nominal_size(d.hdr.hdr_len, d.len);
	EXPECT_EQ(r.req.inflight, sum);
	EXPECT_EQ(r.count(MRC_CTR_TX_DATA), 3u);
	EXPECT_EQ(r.count(MRC_CTR_TX_DATA_BYTES), 600u);
	EXPECT_EQ(r.count(MRC_CTR_TX_RTX), 0u);
	EXPECT_EQ(r.req.stat_pkts, 3u);
	EXPECT_EQ(r.rec.sent.size(), 3u);
	r.sack_all(r.psn(2));
	EXPECT_EQ(r.req.inflight, 0u);
}

// Payload by port: the last packet of a message counts with its own length, one
// that goes again counts again, one without payload and a probe not at all.
TEST(ReqPacket, BytesOfEachPort)
{
	Requester r;
	r.pcfg.n_ports = 3;
	r.init();
	u64 want[MRC_MAX_PORTS + 1] = {};
	const auto expect = [&] {
		for (unsigned p = 0; p <= MRC_MAX_PORTS; p++)
			EXPECT_EQ(r.req.stat_port_bytes[p], want[p]) << p;
	};
	expect();
	r.write(256 * 4 + 17);
	r.write(0);
	auto out = r.send();
	ASSERT_EQ(out.size(), 6u);
	for (const auto &d : out)
		want[d.port] += d.len;
	EXPECT_EQ(want[1] + want[2] + want[3], 256u * 4 + 17);
	expect();

	const mrc_tx_desc first = out[0];
	r.nack(r.psn(0), MRC_NACK_TRIMMED_LASTHOP, first.entropy);
	out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_TRUE(out[0].hdr.rtx);
	want[out[0].port] += 256;
	expect();
	EXPECT_EQ(r.count(MRC_CTR_TX_DATA_BYTES), want[1] + want[2] + want[3]);

	// Silence: probes go out, which say nothing.
	while (r.probes.empty() && r.now < 1000 * kMs) {
		r.now += kMs;
		r.deadline();
		for (const auto &d : r.send())
			want[d.port] += d.len;
	}
	EXPECT_FALSE(r.probes.empty());
	expect();
}

TEST(ReqPacket, PortsTakeTurns)
{
	Requester r;
	r.init();
	auto out = r.send_n(8);
	for (size_t i = 1; i < out.size(); i++)
		EXPECT_NE(out[i].port, out[i - 1].port);
}

TEST(ReqWindow, MprStallsAndReopens)
{
	Requester r;
	r.cfg.mpr = 1;
	r.cfg.sq_psn = 0xFFFFC0; // the window spans the wrap
	r.init();
	r.write(256 * 300);
	mrc_tx_verdict why;
	auto out = r.send(&why);
	EXPECT_EQ(out.size(), 128u);
	EXPECT_EQ(why, MRC_TX_WAIT_MPR);
	EXPECT_EQ(out.back().hdr.psn, psn_at(0xFFFFC0, 127));
	EXPECT_TRUE(out.back().hdr.a); // the last before the window closes
	EXPECT_FALSE(out[126].hdr.a);
	EXPECT_EQ(r.count(MRC_CTR_STALL_MPR), 1u);
	r.send(&why);
	EXPECT_EQ(r.count(MRC_CTR_STALL_MPR), 1u); // still the same stall

	// Bits above a hole do not open the window, cack does.
	r.sack({.cack = r.psn(-1), .ack = 2, .base = 1, .map = 2});
	EXPECT_EQ(r.send(&why).size(), 0u);
	r.sack_all(r.psn(9));
	EXPECT_EQ(r.send(&why).size(), 10u);
	EXPECT_EQ(why, MRC_TX_WAIT_MPR);
	EXPECT_EQ(r.count(MRC_CTR_STALL_MPR), 2u);
}

TEST(ReqWindow, CongestionWindow)
{
	Requester r;
	r.init();
	const u32 nom = mrc_nominal_size(36, 256);
	r.rec.limit = 3 * nom;
	r.write(256 * 10);
	mrc_tx_verdict why;
	auto out = r.send(&why);
	EXPECT_EQ(out.size(), 3u);
	EXPECT_EQ(why, MRC_TX_WAIT_CWND);
	EXPECT_TRUE(out[2].hdr.a);
	EXPECT_FALSE(out[1].hdr.a);
	EXPECT_EQ(r.count(MRC_CTR_STALL_CWND), 1u);
	r.sack_all(r.psn(0));
	EXPECT_EQ(r.send().size(), 1u);
}

TEST(ReqWindow, OnePacketMayAlwaysBeOut)
{
	Requester r;
	r.init();
	r.rec.limit = 0;
	EXPECT_EQ(r.send_n(2).size(), 1u);
	r.sack_all(r.psn(0));
	EXPECT_EQ(r.send().size(), 1u);
}

TEST(ReqWindow, NoUsableEv)
{
	Requester r;
	r.init();
	mrc_req_set_ports(&r.req, 0, r.now);
	r.write(1);
	mrc_tx_verdict why;
	EXPECT_EQ(r.send(&why).size(), 0u);
	EXPECT_EQ(why, MRC_TX_WAIT_EV);
	EXPECT_EQ(r.count(MRC_CTR_STALL_NO_EV), 1u);
	EXPECT_EQ(r.req.inflight, 0u);
	mrc_req_set_ports(&r.req, 1u << 2, r.now);
	auto out = r.send(&why);
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].port, 2);
	EXPECT_EQ(out[0].hdr.psn, r.psn(0));
	EXPECT_EQ(why, MRC_TX_IDLE);
}

TEST(ReqWindow, WriteImmGate)
{
	Requester r;
	r.cfg.max_wimm = 2;
	r.init();
	for (int i = 0; i < 3; i++)
		r.write(300, true);
	r.write(1);
	mrc_tx_verdict why;
	EXPECT_EQ(r.send(&why).size(), 4u);
	EXPECT_EQ(why, MRC_TX_WAIT_WIMM);
	EXPECT_EQ(r.count(MRC_CTR_STALL_WIMM), 1u);
	EXPECT_EQ(r.req.wimm_out, 2u);

	// A SACK is not enough, the transport ACK is.
	r.sack_all(r.psn(3));
	EXPECT_EQ(r.send(&why).size(), 0u);
	EXPECT_EQ(why, MRC_TX_WAIT_WIMM);
	r.ack(r.psn(1));
	EXPECT_EQ(r.req.wimm_out, 1u);
	EXPECT_EQ(r.send(&why).size(), 3u); // the third and the plain write
	EXPECT_EQ(r.req.wimm_out, 2u);
	r.ack(r.psn(6));
	EXPECT_EQ(r.req.wimm_out, 0u);
}

TEST(ReqWindow, GateCountsFromTheFirstPacket)
{
	Requester r;
	r.cfg.max_wimm = 1;
	r.init();
	r.rec.limit = mrc_nominal_size(36, 256);
	r.write(600, true);
	EXPECT_EQ(r.send().size(), 1u);
	EXPECT_EQ(r.req.wimm_out, 1u);
	r.sack_all(r.psn(0));
	EXPECT_EQ(r.send().size(), 1u); // its own later packets pass
}

TEST(ReqWindow, StaysNearTheTransportAck)
{
	Requester r;
	r.cfg.sq_psn = 0xF00000;
	r.init();
	r.write(MRC_MAX_MSG); // 2^23 packets
	mrc_tx_desc d;
	u32 sent = 0;
	bool last_a = false;
	mrc_tx_verdict v;
	// SACKs open the window for ever; no transport ACK comes.
	for (;;) {
		u32 before = sent;
		while ((v = mrc_req_next(&r.req, r.now, &d)) == MRC_TX_PACKET) {
			sent++;
			last_a = d.hdr.a;
		}
		if (sent == before)
			break;
		mrc_hdr h{};
		h.opcode = MRC_OP_SACK;
		h.seth.cack_psn = psn_at(r.cfg.sq_psn, (s64)sent - 1);
		h.seth.sack_offset = 1;
		mrc_req_on_sack(&r.req, &h, 1, r.now);
	}
	EXPECT_EQ(v, MRC_TX_WAIT_MPR);
	EXPECT_EQ(sent, 1u << 22);
	EXPECT_TRUE(last_a);
	r.check();
	// The timer asks for the ACK, and the ACK lets it go on.
	r.expire();
	ASSERT_EQ(r.next(&d), MRC_TX_PACKET);
	EXPECT_EQ(d.hdr.psn, psn_at(r.cfg.sq_psn, (s64)sent - 1));
	EXPECT_TRUE(d.hdr.rtx);
	EXPECT_TRUE(d.hdr.a);
	r.ack(d.hdr.psn);
	EXPECT_EQ(r.next(&d), MRC_TX_PACKET);
	EXPECT_EQ(d.hdr.psn, psn_at(r.cfg.sq_psn, sent));
	EXPECT_FALSE(d.hdr.rtx);
}

// MRC 1.0 §6.1
TEST(ReqAckBit, LastPacketWhenNothingIsQueued)
{
	Requester r;
	r.init();
	r.write(600);
	r.write(600);
	auto out = r.send();
	ASSERT_EQ(out.size(), 6u);
	for (int i = 0; i < 5; i++)
		EXPECT_FALSE(out[i].hdr.a) << i;
	EXPECT_TRUE(out[5].hdr.a);
}

TEST(ReqAckBit, EveryWriteImmEnd)
{
	Requester r;
	r.init();
	r.write(300, true);
	r.write(300);
	auto out = r.send();
	ASSERT_EQ(out.size(), 4u);
	EXPECT_FALSE(out[0].hdr.a);
	EXPECT_TRUE(out[1].hdr.a);
	EXPECT_FALSE(out[2].hdr.a);
	EXPECT_TRUE(out[3].hdr.a);
}

TEST(ReqAckBit, WhenCongestionControlAsks)
{
	Requester r;
	r.ccfg.window = 8192; // below the SACK threshold: always ask
	r.init(&mrc_cc_none);
	r.write(256 * 4);
	for (const auto &d : r.send())
		EXPECT_TRUE(d.hdr.a);
}

TEST(ReqAckBit, RetransmissionOfAMessageEndKeepsIt)
{
	Requester r;
	r.init();
	r.write(256 * 2);
	r.send();
	r.expire();
	auto out = r.send();
	ASSERT_EQ(out.size(), 2u);
	EXPECT_TRUE(out[0].hdr.rtx);
	EXPECT_FALSE(out[0].hdr.a);
	EXPECT_TRUE(out[1].hdr.rtx);
	EXPECT_TRUE(out[1].hdr.a);
	EXPECT_EQ(out[1].tc, MRC_TC_DATA);
}

TEST(ReqComplete, OnlyTheTransportAckCompletes)
{
	Requester r;
	r.init();
	r.write(600);
	r.write(1);
	r.send();
	r.sack_all(r.psn(3));
	EXPECT_EQ(r.reap(), Done{});
	r.ack(r.psn(1)); // inside the first message
	EXPECT_EQ(r.reap(), Done{});
	r.ack(r.psn(2));
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS}}));
	r.ack(r.psn(3));
	EXPECT_EQ(r.reap(), (Done{{1, MRC_WC_SUCCESS}}));
	EXPECT_EQ(r.req.timer_at, MRC_NEVER);
	EXPECT_EQ(mrc_req_deadline(&r.req), MRC_NEVER);
}

TEST(ReqComplete, OneAckCompletesMany)
{
	Requester r;
	r.cfg.sq_psn = 0xFFFFFE;
	r.init();
	r.send_n(5);
	r.ack(r.psn(3));
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
				  {1, MRC_WC_SUCCESS},
				  {2, MRC_WC_SUCCESS},
				  {3, MRC_WC_SUCCESS}}));
	// A stale ACK changes nothing.
	r.ack(r.psn(1));
	EXPECT_EQ(r.reap(), Done{});
	EXPECT_EQ(r.count(MRC_CTR_DROP_STALE), 0u);
	EXPECT_EQ(r.req.tack, r.psn(3));
}

TEST(ReqComplete, ExecutedImpliesReceived)
{
	Requester r;
	r.init();
	r.send_n(4);
	// The SACK was lost; nothing may be retransmitted from a freed slot.
	r.ack(r.psn(2));
	EXPECT_EQ(r.req.cack, r.psn(2));
	EXPECT_EQ(r.req.inflight, mrc_nominal_size(36, 256));
	ASSERT_EQ(r.rec.acks.size(), 1u);
	EXPECT_EQ(r.rec.acks[0].newly, 0u);
	EXPECT_EQ(r.rec.acks[0].freed, 3 * mrc_nominal_size(36, 256));
	EXPECT_EQ(r.rec.acks[0].rtt, MRC_CC_NONE_RTT);
	r.reap();
	r.expire();
	auto out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(3));
}

TEST(ReqComplete, LongMessageOverTheWrap)
{
	Requester r;
	r.cfg.mpr = 1;
	r.cfg.sq_psn = 0xFFFFF0;
	r.init();
	r.write(256 * 1000 + 1);
	u32 sent = 0;
	for (;;) {
		auto out = r.send();
		if (out.empty())
			break;
		for (const auto &d : out) {
			EXPECT_EQ(d.off, 256 * sent);
			EXPECT_EQ(d.hdr.psn, r.psn(sent));
			sent++;
		}
		r.sack_all(r.psn((s64)sent - 1));
		EXPECT_TRUE(r.reap().empty());
	}
	EXPECT_EQ(sent, 1001u);
	r.ack(r.psn(1000));
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS}}));
}

// MRC 1.0 §10
TEST(ReqFail, OldestGetsTheStatusAndTheRestIsFlushed)
{
	Requester r;
	r.init();
	r.send_n(4);
	r.write(1);
	r.ack(r.psn(0));
	mrc_req_fail(&r.req, -1, MRC_WC_RETRY_EXC);
	r.check();
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
				  {1, MRC_WC_RETRY_EXC},
				  {2, MRC_WC_FLUSH},
				  {3, MRC_WC_FLUSH},
				  {4, MRC_WC_FLUSH}}));
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
	EXPECT_EQ(mrc_req_deadline(&r.req), MRC_NEVER);
	mrc_tx_desc d;
	EXPECT_EQ(r.next(&d), MRC_TX_ERROR);

	// Later posts are taken and flushed; feedback is ignored.
	EXPECT_EQ(r.write(1), 5);
	EXPECT_EQ(r.reap(), (Done{{5, MRC_WC_FLUSH}}));
	r.sack_all(r.psn(3));
	r.ack(r.psn(3));
	r.nack(r.psn(3), MRC_NACK_NO_RESOURCE, 0);
	EXPECT_EQ(r.count(MRC_CTR_RX_SACK), 0u);
	EXPECT_EQ(r.req.cack, r.psn(0));
	mrc_req_fail(&r.req, -1, MRC_WC_REM_OP); // a second failure
	EXPECT_EQ(r.reap(), Done{});
	mrc_req_set_ports(&r.req, 0, r.now);
	r.deadline();
}

TEST(ReqFail, NamedSlotAndUnsentRequests)
{
	Requester r;
	r.init();
	r.send_n(2);
	int slot = r.write(1);
	r.write(1);
	mrc_req_fail(&r.req, slot, MRC_WC_LOC_PROT);
	EXPECT_EQ(r.reap(), Done{}); // those before it may still succeed
	r.ack(r.psn(1));
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS},
				  {1, MRC_WC_SUCCESS},
				  {2, MRC_WC_LOC_PROT},
				  {3, MRC_WC_FLUSH}}));
}

TEST(ReqFail, FinishedSlotsKeepTheirStatus)
{
	Requester r;
	r.init();
	r.send_n(2);
	r.ack(r.psn(0));
	mrc_req_fail(&r.req, 0, MRC_WC_LOC_PROT); // slot 0 is done already
	EXPECT_EQ(r.reap(), (Done{{0, MRC_WC_SUCCESS}, {1, MRC_WC_FLUSH}}));
}

TEST(ReqFail, IdleRequester)
{
	Requester r;
	r.init();
	mrc_req_fail(&r.req, -1, MRC_WC_FLUSH);
	EXPECT_EQ(r.reap(), Done{});
	EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
}

TEST(ReqPorts, LossOfAPortAsksThroughAnother)
{
	Requester r;
	r.init();
	r.send_n(4);
	mrc_req_set_ports(&r.req, 1u << 2, r.now);
	EXPECT_EQ(mrc_req_deadline(&r.req), 0u);
	EXPECT_TRUE(r.send().empty());
	ASSERT_EQ(r.probes.size(), 1u);
	EXPECT_EQ(r.probes[0].hdr.opcode, MRC_OP_PROBE);
	EXPECT_EQ(r.probes[0].port, 2);
	EXPECT_EQ(r.count(MRC_CTR_TX_PROBE), 1u);
	EXPECT_NE(mrc_req_deadline(&r.req), 0u);
}

TEST(ReqPorts, NothingToAskForWithoutPacketsThere)
{
	Requester r;
	r.init();
	mrc_req_set_ports(&r.req, 1u << 2, r.now); // idle
	EXPECT_TRUE(r.send().empty());
	r.send_n(3); // all on port 2
	mrc_req_set_ports(&r.req, 1u << 1 | 1u << 2, r.now);
	EXPECT_TRUE(r.send().empty());
	mrc_req_set_ports(&r.req, 1u << 2, r.now); // port 1 carried nothing
	EXPECT_TRUE(r.send().empty());
	EXPECT_EQ(r.count(MRC_CTR_TX_PROBE), 0u);
}

TEST(ReqPorts, AnsweredBeforeItWasAsked)
{
	Requester r;
	r.init();
	r.send_n(4);
	mrc_req_set_ports(&r.req, 1u << 2, r.now);
	r.sack_all(r.psn(3));
	EXPECT_TRUE(r.send().empty());
	EXPECT_TRUE(r.probes.empty());
	EXPECT_NE(mrc_req_deadline(&r.req), 0u);
}

TEST(ReqPorts, AllPortsGoneDoesNotSpin)
{
	Requester r;
	r.init();
	r.send_n(2);
	mrc_req_set_ports(&r.req, 0, r.now);
	mrc_tx_desc d;
	EXPECT_NE(r.next(&d), MRC_TX_PACKET);
	EXPECT_GT(mrc_req_deadline(&r.req), r.now);
}

// Send queue drain: what is begun ends, nothing else begins.
TEST(Drain, FinishesWhatIsBegun)
{
	Requester r;
	r.rec.limit = 3 * mrc_nominal_size(36, 256);
	r.init();
	EXPECT_TRUE(mrc_req_drained(&r.req));
	r.write(256);
	r.write(5 * 256);
	r.write(256);
	ASSERT_EQ(r.send().size(), 3u); // the second message is under way
	mrc_req_set_drain(&r.req, true);
	EXPECT_FALSE(mrc_req_drained(&r.req));
	r.rec.limit = ~0ull;
	auto out = r.send();
	ASSERT_EQ(out.size(), 3u);
	EXPECT_EQ(out.back().hdr.psn, r.psn(5));
	EXPECT_EQ(out.back().hdr.opcode, MRC_OP_WRITE_LAST);
	EXPECT_TRUE(out.back().hdr.a); // no other message will ask for it
	r.sack_all(r.psn(5));
	EXPECT_FALSE(mrc_req_drained(&r.req)); // no transport ACK yet
	r.ack(r.psn(5));
	EXPECT_TRUE(mrc_req_drained(&r.req));
	EXPECT_EQ(r.reap().size(), 2u);
	EXPECT_TRUE(r.send().empty());
	EXPECT_EQ(r.req.timer_at, MRC_NEVER);

	mrc_req_set_drain(&r.req, false);
	out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(6));
	EXPECT_FALSE(mrc_req_drained(&r.req));
}

TEST(Drain, LossesAreStillRecovered)
{
	Requester r;
	r.init();
	r.write(3 * 256);
	auto out = r.send();
	ASSERT_EQ(out.size(), 3u);
	r.write(256);
	mrc_req_set_drain(&r.req, true);
	EXPECT_TRUE(r.send().empty());
	r.nack(r.psn(1), MRC_NACK_TRIMMED_LASTHOP, out[1].entropy);
	out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(1));
	EXPECT_TRUE(out[0].hdr.rtx);
	r.sack_all(r.psn(2));
	r.ack(r.psn(2));
	EXPECT_TRUE(mrc_req_drained(&r.req));
}

TEST(Drain, OtherRetryAttributesThen)
{
	Requester r;
	r.init();
	r.write(256);
	r.send();
	mrc_req_set_drain(&r.req, true);
	r.ack(r.psn(0));
	r.reap();
	ASSERT_TRUE(mrc_req_drained(&r.req));
	mrc_req_set_retry(&r.req, 20 * kMs, 1, 3, 0);
	EXPECT_EQ(mrc_req_interval(&r.req.cfg, 1), 20 * kMs);
	mrc_req_set_drain(&r.req, false);
	r.write(256);
	ASSERT_EQ(r.send().size(), 1u);
	EXPECT_EQ(r.req.timer_at, r.now + 20 * kMs);
}

// A work request that found no EV is not begun: it costs no retries while the
// queue is drained, and nothing does once retries are set anew.
TEST(Drain, WaitingForAnEvCostsNothing)
{
	for (bool again : {false, true}) {
		Requester r;
		r.init();
		const u32 ports = r.paths.ports_up;
		mrc_req_set_ports(&r.req, 0, r.now);
		r.write(256);
		EXPECT_TRUE(r.send().empty());
		EXPECT_NE(r.req.timer_at, MRC_NEVER);
		mrc_req_set_drain(&r.req, true);
		EXPECT_TRUE(r.send().empty());
		EXPECT_TRUE(mrc_req_drained(&r.req));
		if (again) {
			mrc_req_set_retry(&r.req, 0, 0, 7, 0);
			EXPECT_EQ(r.req.timer_at, MRC_NEVER);
		}
		for (int i = 0; i < 40 && mrc_req_deadline(&r.req) != MRC_NEVER;
		     i++) {
			r.now = std::max(r.now, mrc_req_deadline(&r.req));
			r.deadline();
			r.send();
		}
		EXPECT_EQ(r.req.state, MRC_REQ_READY);
		EXPECT_EQ(r.req.retries, 0u);
		EXPECT_EQ(r.req.timer_at, MRC_NEVER);
		mrc_req_set_ports(&r.req, ports, r.now);
		mrc_req_set_drain(&r.req, false);
		EXPECT_EQ(r.send().size(), 1u);
	}
}
