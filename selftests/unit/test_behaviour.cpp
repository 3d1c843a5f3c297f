// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The behavioural vectors of MRC 1.0 §18.4, row by row. The last one belongs to
// congestion control and is tested with it.
#include "engine_fixture.hpp"

using namespace mrc_test;

namespace
{

// Rows 1-5 in one QP: rq_psn 0, W = 1024.
class Window : public testing::Test
{
protected:
	Window()
	{
		r.cfg.rq_psn = 0;
		r.cfg.mpr = 8;
		r.init();
		// One message of three packets, one of nine.
		for (u32 psn : {0u, 1u, 2u, 3u, 4u, 6u, 7u, 9u, 10u})
			EXPECT_EQ(acks(packet(psn)), psn == 2 ? 1u : 0u) << psn;
		first = packet(11, true);
	}

	std::vector<mrc_tx_desc> packet(u32 psn, bool a = false,
					bool rtx = false)
	{
		u8 op = MRC_OP_WRITE_MIDDLE;

		if (psn == 0 || psn == 3)
			op = MRC_OP_WRITE_FIRST;
		if (psn == 2 || psn == 11)
			op = MRC_OP_WRITE_LAST;
		return r.data({.psn = psn, .opcode = op, .a = a, .rtx = rtx});
	}

	static unsigned acks(const std::vector<mrc_tx_desc> &fb)
	{
		return how_many(fb, MRC_OP_ACK);
	}

	static mrc_hdr sack(const std::vector<mrc_tx_desc> &fb)
	{
		const mrc_tx_desc *d = find(fb, MRC_OP_SACK);

		EXPECT_NE(d, nullptr);
		return d ? d->hdr : mrc_hdr{};
	}

	Responder r;
	std::vector<mrc_tx_desc> first;
};

} // namespace

TEST_F(Window, Gaps)
{
	const mrc_hdr s = sack(first);

	EXPECT_EQ(s.seth.cack_psn, 4u);
	EXPECT_EQ(s.seth.ack_psn_offset, 7);
	EXPECT_EQ(s.seth.sack_offset, 1);
	EXPECT_EQ(s.seth.bitmap, 0x76u);
	EXPECT_FALSE(s.rtx);
	EXPECT_EQ(acks(first), 0u);
}

TEST_F(Window, FirstGapCloses)
{
	const mrc_hdr s = sack(packet(5, false, true));

	EXPECT_TRUE(s.rtx);
	EXPECT_EQ(s.seth.cack_psn, 7u);
	EXPECT_EQ(s.seth.ack_psn_offset, -2);
	EXPECT_EQ(s.seth.cack_psn + (u32)s.seth.sack_offset, 8u);
	EXPECT_EQ(s.seth.bitmap, 0x0Eu);
}

TEST_F(Window, LastGapCloses)
{
	packet(5, false, true);
	auto fb = packet(8, false, true);

	EXPECT_EQ(sack(fb).seth.cack_psn, 11u);
	ASSERT_EQ(acks(fb), 1u);
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.psn, 11u);
}

TEST_F(Window, Duplicate)
{
	packet(5, false, true);
	packet(8, false, true);

	const unsigned placed = r.placed;
	auto fb = packet(3);

	EXPECT_EQ(r.placed, placed);
	EXPECT_EQ(sack(fb).seth.ack_psn_offset, -8);
	ASSERT_EQ(acks(fb), 1u);
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.psn, 11u);
}

TEST_F(Window, BeyondTheWindow)
{
	packet(5, false, true);
	packet(8, false, true);

	auto fb = packet(11 + 1025);

	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_NACK);
	EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_PSN_OOR_WINDOW);
	EXPECT_EQ(fb[0].hdr.neth.nack_psn, 1036u);
}

TEST(WriteImm, CompletesInOrder)
{
	Responder r;
	r.cfg.rq_psn = 0;
	r.init();
	r.data({.psn = 2,
		.opcode = MRC_OP_WRITE_ONLY_IMM,
		.rqmsn = 1,
		.imm = 0x22});
	EXPECT_TRUE(r.imms.empty());
	r.data({.psn = 1,
		.opcode = MRC_OP_WRITE_LAST_IMM,
		.dmalen = 512,
		.rqmsn = 0,
		.imm = 0x11});
	EXPECT_TRUE(r.imms.empty());
	r.data({.psn = 0, .opcode = MRC_OP_WRITE_FIRST, .dmalen = 512});
	ASSERT_EQ(r.imms.size(), 2u);
	EXPECT_EQ(r.imms[0].imm, (__be32)0x11);
	EXPECT_EQ(r.imms[0].len, 512u);
	EXPECT_EQ(r.imms[1].imm, (__be32)0x22);
	EXPECT_EQ(r.imms[1].len, 256u);
}

TEST(RcvdBytes, WrapsAndNeverGoesBack)
{
	const struct {
		u32 prev, sack;
		u64 n;
	} rows[] = {
		{0xFFFFF0, 0x000010, 8192},
		{0x000010, 0xFFFFF0, 0},
	};
	for (const auto &row : rows) {
		Requester r;
		r.init();
		r.send_n(1);
		r.req.rcvd_bytes = row.prev;
		r.sack({.cack = r.psn(0), .rcvd = row.sack});
		EXPECT_EQ(r.rec.acks.back().newly, row.n);
	}
}

// §6, §14, OP-9, OP-12: each side has a limit of its own. A requester within
// the peer's never overflows the stash; beyond it the answer is 0x61.
TEST(WriteImmLimit, RequesterHoldsAndResponderRefuses)
{
	for (u16 dest : {3, 4, 5}) {
		Requester q;
		Responder p;
		q.cfg.max_wimm = 4;
		q.cfg.sq_psn = p.cfg.rq_psn = 0x100;
		p.cfg.max_wimm = dest;
		q.init();
		p.init();
		for (int i = 0; i < 8; i++)
			q.write(256, true);
		mrc_tx_verdict why;
		auto out = q.send(&why);
		ASSERT_EQ(out.size(), 4u);
		EXPECT_EQ(why, MRC_TX_WAIT_WIMM);
		EXPECT_EQ(q.count(MRC_CTR_STALL_WIMM), 1u);
		// In the worst order: none can be delivered before the last.
		std::vector<mrc_tx_desc> fb;
		for (size_t i = out.size(); i--;) {
			const mrc_hdr &h = out[i].hdr;
			for (const auto &f : p.data({.psn = h.psn,
					     .opcode = h.opcode,
					     .rqmsn = h.rqmsn,
					     .a = h.a}))
				fb.push_back(f);
		}
		const mrc_tx_desc *last = nullptr;
		for (const auto &f : fb)
			if (f.hdr.opcode == MRC_OP_ACK)
				last = &f;
		ASSERT_NE(last, nullptr);
		if (dest >= 4) {
			EXPECT_EQ(last->hdr.aeth.syndrome, MRC_SYN_ACK);
			EXPECT_EQ(p.imms.size(), 4u);
			mrc_req_on_ack(&q.req, &last->hdr, 1, q.now);
			EXPECT_EQ(q.reap().size(), 4u);
			EXPECT_EQ(q.send().size(), 4u);
			continue;
		}
		EXPECT_EQ(p.count(MRC_CTR_ERR_WIMM_LIMIT), 1u);
		EXPECT_EQ(last->hdr.aeth.syndrome, MRC_SYN_NAK_INV_REQ);
		EXPECT_EQ(last->hdr.psn, q.psn(3));
		EXPECT_EQ(p.imms.size(), 3u);
		mrc_req_on_ack(&q.req, &last->hdr, 1, q.now);
		auto done = q.reap();
		ASSERT_EQ(done.size(), 8u);
		EXPECT_EQ(done[2].second, MRC_WC_SUCCESS);
		EXPECT_EQ(done[3].second, MRC_WC_REM_INV_REQ);
		EXPECT_EQ(done[4].second, MRC_WC_FLUSH);
	}
}

// §12.3: packets under way to a port of the peer that went away are asked for
// at once, and so is the port itself. Nothing else goes there.
TEST(PeerPorts, ProbeAtOnceAndNoUse)
{
	Requester r;
	r.init();
	auto out = r.send_n(4);
	unsigned on2 = 0;
	for (const auto &d : out)
		on2 += d.port == 2;
	ASSERT_GT(on2, 0u);
	mrc_req_peer_status(&r.req, 1u << 1, r.now);
	r.check();
	EXPECT_EQ(mrc_req_deadline(&r.req), 0u);
	r.probes.clear();
	r.send();
	ASSERT_EQ(r.probes.size(), 2u);
	EXPECT_EQ(r.probes[0].port, 1);
	EXPECT_EQ(r.probes[1].port, 2);
	for (const auto &d : r.send_n(8))
		EXPECT_EQ(d.port, 1);
	for (int i = 0; i < 16; i++)
		EXPECT_EQ(r.ev(i).state, MRC_EV_GOOD);
	// Called up again, it is asked first and used with the answer.
	r.now += kMs;
	mrc_req_peer_status(&r.req, 3u << 1, r.now);
	for (const auto &d : r.send_n(8))
		EXPECT_EQ(d.port, 1);
	ASSERT_EQ(r.probes.size(), 3u);
	EXPECT_EQ(r.probes[2].port, 2);
	r.now += kMs;
	r.sack({.cack = r.psn(19), .probe = r.probes[2].hdr.peth.probe_id});
	on2 = 0;
	for (const auto &d : r.send_n(8))
		on2 += d.port == 2;
	EXPECT_EQ(on2, 4u);
}

TEST(PeerPorts, NothingUnderWayOnlyThePortIsAsked)
{
	Requester r;
	r.init();
	mrc_req_peer_status(&r.req, 1u << 1, r.now);
	r.send();
	ASSERT_EQ(r.probes.size(), 1u);
	EXPECT_EQ(r.probes[0].port, 2);
	// The same word again is no news.
	r.send_n(3);
	mrc_req_peer_status(&r.req, 1u << 1, r.now);
	r.send();
	EXPECT_EQ(r.probes.size(), 1u);
}

// Full windows draw no feedback by themselves: the probe does not wait for half
// of the RTO then.
TEST(Blocked, ProbeComesWithTheLagNotTheSilence)
{
	Requester r;
	r.cfg.rto = 400 * kMs;
	r.cfg.base_rtt = 3 * kMs; // silence is two of them
	r.init();
	r.send_n(4);
	const u64 sent = r.now;
	r.rec.limit = 0; // closed
	r.write(256);
	mrc_tx_verdict why;
	r.send(&why);
	ASSERT_EQ(why, MRC_TX_WAIT_CWND);
	EXPECT_EQ(r.req.tail_probe_at, sent + 4 * kMs);
	r.now = r.req.tail_probe_at;
	r.deadline();
	r.send();
	ASSERT_EQ(r.probes.size(), 1u);
	// Unanswered, the next one waits for twice the silence, and so on.
	EXPECT_EQ(r.req.tail_probe_at, sent + (4 + 2 * 6) * kMs);
	// Nothing is in flight: nothing is asked for.
	Requester q;
	q.cfg.rto = 400 * kMs;
	q.init();
	q.send_n(2);
	q.expire();
	q.rec.limit = 0;
	EXPECT_LE(mrc_req_deadline(&q.req), q.now + q.cfg.rto);
}
