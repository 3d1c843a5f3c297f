// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Responder of the extension: SENDs and receivers that are not ready.
// Documentation/extension.md.
#include "resp_ext_fixture.hpp"

#include <algorithm>
#include <random>

using namespace mrc_test;

namespace
{

// The NAK for @psn that the responder owes now.
void expect_nak(const std::vector<mrc_tx_desc> &fb, u32 psn, u8 syndrome)
{
	const mrc_tx_desc *nak = find(fb, MRC_OP_ACK);

	ASSERT_NE(nak, nullptr);
	EXPECT_EQ(nak->hdr.aeth.syndrome, syndrome);
	EXPECT_EQ(nak->hdr.psn, psn);
}

// One packet that must be malformed.
void expect_bad(const DataSpec &s, u8 syndrome = MRC_SYN_NAK_INV_REQ)
{
	ExtResponder r;

	r.init();
	r.resp.rqmsn = s.rqmsn;
	mrc_rx_action act;
	auto fb = r.data(s, &act);
	EXPECT_EQ(act, MRC_RX_DONE);
	expect_nak(fb, 0, syndrome);
	EXPECT_EQ(r.imms.size(), 0u);
	EXPECT_EQ(r.count(MRC_CTR_ERR_INV_REQ), 1u);
}

} // namespace

TEST(RespSend, OnlyPacket)
{
	ExtResponder r;
	r.cfg.remote_write = false; // is not asked for
	r.init();
	DataSpec s = send_part(0, 0, 5, 0);
	s.se = true;
	auto fb = r.data(s);
	ASSERT_EQ(r.imms.size(), 1u);
	EXPECT_EQ(r.imms[0].kind, MRC_RECV_SEND);
	EXPECT_EQ(r.imms[0].len, 5u);
	EXPECT_EQ(r.imms[0].psn, 0u);
	EXPECT_EQ(r.imms[0].rqmsn, 0);
	EXPECT_TRUE(r.imms[0].se);
	ASSERT_EQ(r.parts.size(), 1u);
	EXPECT_EQ(r.parts[0].reth.va, 0u);
	EXPECT_EQ(r.resp.rqmsn, 1);
	EXPECT_EQ(r.resp.msn, 1u);
	EXPECT_EQ(r.count(MRC_CTR_RX_SEND), 1u);
	EXPECT_EQ(r.count(MRC_CTR_RX_WIMM), 0u);
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.psn, 0u);
	EXPECT_FALSE(find(fb, MRC_OP_ACK)->hdr.ans);
}

TEST(RespSend, Kinds)
{
	ExtResponder r;
	r.init();
	DataSpec s = send_part(0, 0, 0, 0);
	s.opcode = MRC_OP_SEND_ONLY_IMM;
	s.imm = (__be32)0xDEADBEEF;
	r.data(s);
	s = send_part(1, 0, 256, 1);
	s.opcode = MRC_OP_SEND_ONLY_INV;
	s.rkey = 0xA1B2C3D4;
	r.data(s);
	r.data(send_part(2, 0, 257, 2));
	s = send_part(2, 1, 257, 2);
	s.opcode = MRC_OP_SEND_LAST_IMM;
	s.imm = (__be32)7;
	r.data(s);
	r.data(send_part(4, 0, 512, 3));
	s = send_part(4, 1, 512, 3);
	s.opcode = MRC_OP_SEND_LAST_INV;
	s.rkey = 9;
	r.data(s);
	r.data(write_imm(6, 4));
	ASSERT_EQ(r.imms.size(), 5u);
	EXPECT_EQ(r.imms[0].kind, MRC_RECV_SEND_IMM);
	EXPECT_EQ(r.imms[0].imm, (__be32)0xDEADBEEF);
	EXPECT_EQ(r.imms[0].len, 0u);
	EXPECT_EQ(r.imms[1].kind, MRC_RECV_SEND_INV);
	EXPECT_EQ(r.imms[1].inv_key, 0xA1B2C3D4u);
	EXPECT_EQ(r.imms[2].kind, MRC_RECV_SEND_IMM);
	EXPECT_EQ(r.imms[2].len, 257u);
	EXPECT_EQ(r.imms[2].imm, (__be32)7);
	EXPECT_EQ(r.imms[3].kind, MRC_RECV_SEND_INV);
	EXPECT_EQ(r.imms[3].inv_key, 9u);
	EXPECT_EQ(r.imms[4].kind, MRC_RECV_WRITE_IMM);
	EXPECT_EQ(r.count(MRC_CTR_RX_SEND), 4u);
	EXPECT_EQ(r.count(MRC_CTR_RX_WIMM), 1u);
	EXPECT_EQ(r.resp.msn, 5u);
}

// Any order of two messages, also where PSNs and message numbers wrap.
TEST(RespSend, EveryOrder)
{
	for (u32 first : {0u, 0xFFFFFDu}) {
		std::vector<int> order = {0, 1, 2, 3, 4};
		do {
			ExtResponder r;
			r.cfg.rq_psn = first;
			r.init();
			r.resp.rqmsn = 0xFFFF;
			for (int k : order) {
				if (k < 3)
					r.data(send_part(first, k, 600,
							 0xFFFF));
				else
					r.data(send_part(r.psn(3), k - 3, 300,
							 0));
			}
			ASSERT_EQ(r.imms.size(), 2u);
			EXPECT_EQ(r.imms[0].len, 600u);
			EXPECT_EQ(r.imms[1].len, 300u);
			EXPECT_EQ(r.imms[1].psn, r.psn(4));
			EXPECT_EQ(r.placed, 5u);
		} while (std::next_permutation(order.begin(), order.end()));
	}
}

TEST(RespSend, DuplicatesChangeNothing)
{
	ExtResponder r;
	r.init();
	for (int i = 0; i < 2; i++) {
		r.data(send_part(0, 2, 600, 0));
		r.data(send_part(0, 1, 600, 0));
	}
	EXPECT_EQ(r.imms.size(), 0u);
	r.data(send_part(0, 0, 600, 0));
	r.data(send_part(0, 0, 600, 0));
	EXPECT_EQ(r.imms.size(), 1u);
	EXPECT_EQ(r.placed, 3u);
	EXPECT_EQ(r.count(MRC_CTR_RX_DUP), 3u);
}

TEST(RespSend, Malformed)
{
	const auto bad = [](u32 k, u32 len, void (*change)(DataSpec &)) {
		DataSpec s = send_part(0, k, len, 0);

		s.psn = 0;
		change(s);
		expect_bad(s);
	};
	// ONLY
	bad(0, 5, [](DataSpec &s) { s.va = 1; });
	bad(0, 5, [](DataSpec &s) { s.dmalen = 6; });
	bad(0, 0, [](DataSpec &s) { s.dmalen = 1; });
	bad(0, 0, [](DataSpec &s) { s.va = 256; });
	bad(0, 5, [](DataSpec &s) { s.len = s.dmalen = 257; });
	bad(0, 5, [](DataSpec &s) { s.pad = 2; });
	// FIRST
	bad(0, 600, [](DataSpec &s) { s.va = 256; });
	bad(0, 600, [](DataSpec &s) { s.len = 255; });
	bad(0, 600, [](DataSpec &s) { s.dmalen = 256; });
	bad(0, 600, [](DataSpec &s) { s.dmalen = (1ll << 31) + 1; });
	// MIDDLE
	bad(1, 600, [](DataSpec &s) { s.va = 0; });
	bad(1, 600, [](DataSpec &s) { s.va = 255; });
	bad(1, 600, [](DataSpec &s) { s.va = 512; });
	bad(1, 600, [](DataSpec &s) { s.va += 1ull << 32; });
	bad(1, 600, [](DataSpec &s) { s.va = ~0ull - 255; });
	bad(1, 600, [](DataSpec &s) { s.len = 252; });
	bad(1, 600, [](DataSpec &s) { s.dmalen = 512; });
	// LAST
	bad(2, 600, [](DataSpec &s) { s.va = 256; });
	bad(2, 600, [](DataSpec &s) { s.len = 92; });
	bad(2, 600, [](DataSpec &s) { s.len = 0; });
	bad(2, 600, [](DataSpec &s) { s.dmalen = 88; });
	bad(2, 600, [](DataSpec &s) { s.va += 1ull << 32; });
	// Not on this channel.
	bad(0, 5, [](DataSpec &s) { s.opcode = MRC_OP_READ_RESP_ONLY; });
	bad(0, 8, [](DataSpec &s) { s.opcode = MRC_OP_ATOMIC_RESP; });
}

// A message of 2^31 bytes has one entry and no other cost.
TEST(RespSend, LargestMessage)
{
	ExtResponder r;
	r.init();
	DataSpec s = send_part(0, 0, 1u << 31, 0);
	r.data(s);
	r.data(send_part(0, 1, 1u << 31, 0));
	EXPECT_EQ(r.placed, 2u);
	EXPECT_EQ(r.resp.exec, 1u);
	EXPECT_EQ(mrc_resp_failed(&r.resp), 0);
	// Its last packet has a PSN of its own, not the next one.
	auto fb = r.data([] {
		DataSpec l = send_part(0, (1u << 23) - 1, 1u << 31, 0);
		l.psn = 2;
		return l;
	}());
	expect_nak(fb, 2, MRC_SYN_NAK_INV_REQ);
}

TEST(RespSend, PacketsMustAgree)
{
	// Another length half way.
	ExtResponder r;
	r.init();
	r.data(send_part(0, 0, 600, 0));
	expect_nak(r.data(send_part(0, 1, 700, 0)), 1, MRC_SYN_NAK_INV_REQ);

	// Another place for the same PSN.
	ExtResponder q;
	q.init();
	q.data(send_part(0, 2, 1000, 0));
	DataSpec s = send_part(0, 1, 1000, 0);
	s.psn = 0;
	q.data(s);
	EXPECT_EQ(q.count(MRC_CTR_ERR_INV_REQ), 1u);

	// A write among the packets of a SEND.
	ExtResponder w;
	w.init();
	w.data(send_part(0, 0, 600, 0));
	w.data({.psn = 1, .opcode = MRC_OP_WRITE_MIDDLE});
	expect_nak(w.data(send_part(0, 2, 600, 0)), 2, MRC_SYN_NAK_INV_REQ);
	EXPECT_EQ(w.imms.size(), 0u);

	// A last packet that is not one, and then somebody else's number.
	ExtResponder l;
	l.init();
	l.data(send_part(0, 0, 600, 0));
	l.data({.psn = 1});
	l.data({.psn = 2});
	expect_nak(l.data(send_part(3, 0, 5, 0)), 3, MRC_SYN_NAK_INV_REQ);

	// Two numbers in one message.
	ExtResponder n;
	n.init();
	n.data(send_part(0, 0, 300, 0));
	expect_nak(n.data(send_part(0, 1, 300, 1)), 1, MRC_SYN_NAK_INV_REQ);
}

TEST(RespSend, NumbersOfOthers)
{
	// Of a WRITE_IMM that waits, and the other way round.
	ExtResponder r;
	r.init();
	r.data(write_imm(2, 1));
	r.data(send_part(1, 0, 5, 1));
	EXPECT_EQ(r.count(MRC_CTR_ERR_INV_REQ), 1u);
	expect_nak(r.data({.psn = 0}), 1, MRC_SYN_NAK_INV_REQ);

	ExtResponder w;
	w.init();
	w.data(send_part(1, 0, 5, 1));
	w.data(write_imm(2, 1));
	EXPECT_EQ(w.count(MRC_CTR_ERR_WIMM_LIMIT), 1u);

	// A WRITE_IMM in the place of the last packet of a SEND.
	ExtResponder e;
	e.init();
	e.data(send_part(0, 0, 300, 0));
	e.data(write_imm(1, 0));
	EXPECT_EQ(e.imms.size(), 0u);
	EXPECT_NE(mrc_resp_failed(&e.resp), 0);

	// A SEND that would end where a WRITE_IMM of its number and length does.
	ExtResponder b;
	b.init();
	DataSpec last = write_imm(1, 0);
	last.opcode = MRC_OP_WRITE_LAST_IMM;
	last.len = 44;
	last.dmalen = 300;
	b.data(last);
	expect_nak(b.data(send_part(0, 0, 300, 0)), 0, MRC_SYN_NAK_INV_REQ);

	// Skipped, and used up.
	ExtResponder s;
	s.init();
	expect_nak(s.data(send_part(0, 0, 5, 1)), 0, MRC_SYN_NAK_INV_REQ);
	ExtResponder o;
	o.init();
	o.data(send_part(0, 0, 5, 0));
	expect_nak(o.data(send_part(1, 0, 5, 0)), 1, MRC_SYN_NAK_INV_REQ);
	EXPECT_EQ(o.count(MRC_CTR_ERR_WIMM_LIMIT), 1u);

	// More than the limit; the stash itself has four places.
	ExtResponder m;
	m.cfg.max_wimm = 3;
	m.init();
	for (u16 k = 0; k < 3; k++)
		m.data(send_part(1u + k, 0, 5, k));
	EXPECT_EQ(m.count(MRC_CTR_ERR_WIMM_LIMIT), 0u);
	m.data(send_part(4, 0, 5, 3));
	EXPECT_EQ(m.count(MRC_CTR_ERR_WIMM_LIMIT), 1u);
	expect_nak(m.data({.psn = 0}), 4, MRC_SYN_NAK_INV_REQ);
	EXPECT_EQ(m.imms.size(), 3u);
}

TEST(RespSend, ErrorsOfTheShell)
{
	for (u8 syn : {MRC_SYN_NAK_INV_REQ, MRC_SYN_NAK_REM_OP}) {
		ExtResponder r;
		r.init();
		DataSpec s = send_part(0, 0, 300, 0);
		s.place = syn;
		expect_nak(r.data(s), 0, syn);
	}
	// A key that cannot be invalidated.
	ExtResponder r;
	r.deliver = false;
	r.init();
	DataSpec s = send_part(0, 0, 5, 0);
	s.opcode = MRC_OP_SEND_ONLY_INV;
	r.data(s);
	mrc_recv_msg imm;
	ASSERT_TRUE(mrc_resp_next_recv(&r.resp, &imm));
	mrc_resp_recv_done(&r.resp, MRC_SYN_NAK_ACCESS);
	r.check();
	expect_nak(r.feedback(), 0, MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(r.count(MRC_CTR_ERR_ACCESS), 1u);
}

// Behind an error nothing is placed into receives that nobody asked for.
TEST(RespSend, BehindAnError)
{
	ExtResponder r;
	r.recvs = 0;
	r.init();
	r.data({.psn = 1, .place = MRC_SYN_NAK_ACCESS});
	mrc_rx_action act;
	r.data(send_part(2, 0, 5, 0), &act);
	EXPECT_EQ(act, MRC_RX_DONE);
	r.data(write_imm(3, 1));
	EXPECT_EQ(r.count(MRC_CTR_RESP_RNR), 0u);
	expect_nak(r.data({.psn = 0}), 1, MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(r.imms.size(), 0u);
}

TEST(RespSend, LateStash)
{
	ExtResponder r;
	r.cfg.late_stash = true;
	r.init();
	r.poor = true;
	for (u32 k : {0u, 1u, 2u}) {
		auto fb = r.data(send_part(0, k, 600, 0));
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_NO_RESOURCE);
		EXPECT_EQ(fb[0].hdr.neth.vendor, 0);
	}
	r.poor = false;
	for (u32 k : {1u, 0u, 2u})
		r.data(send_part(0, k, 600, 0));
	EXPECT_EQ(r.imms.size(), 1u);
}

TEST(RespRnr, RefusedUntilThereIsAReceive)
{
	ExtResponder r;
	r.recvs = 0;
	r.init();
	const u64 bytes = r.resp.rcvd_bytes;
	for (u32 k : {0u, 1u, 2u}) {
		DataSpec s = send_part(0, k, 600, 0);
		s.ts = true;
		s.tstamp = 0x123;
		auto fb = r.data(s);
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_NACK);
		EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_NO_RESOURCE);
		EXPECT_EQ(fb[0].hdr.neth.vendor, 0x80 | 12);
		EXPECT_EQ(fb[0].hdr.neth.nack_psn, k);
		EXPECT_EQ(fb[0].hdr.tstamp, 0x123);
	}
	EXPECT_EQ(r.count(MRC_CTR_RESP_RNR), 3u);
	EXPECT_EQ(r.resp.rcvd_bytes, bytes);
	EXPECT_EQ(r.resp.max_rcv, r.psn(-1));
	EXPECT_EQ(r.placed, 0u);
	// No trace of it in the next NACK.
	auto fb = r.data({.psn = 5, .trim = MRC_TRIM_TRIMMED});
	EXPECT_EQ(fb[0].hdr.neth.vendor, 0);
	r.recvs = 1;
	for (u32 k : {2u, 1u, 0u})
		r.data(send_part(0, k, 600, 0));
	EXPECT_EQ(r.imms.size(), 1u);
	EXPECT_EQ(r.recvs, 0u);
}

TEST(RespRnr, WriteImm)
{
	ExtResponder r;
	r.recvs = 1;
	r.init();
	r.data(write_imm(0, 0));
	auto fb = r.data(write_imm(1, 1));
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.neth.vendor, 0x80 | 12);
	r.recvs = 1;
	r.data(write_imm(1, 1));
	EXPECT_EQ(r.imms.size(), 2u);
	EXPECT_EQ(mrc_resp_failed(&r.resp), 0);
	// Only the last packet needs the receive.
	r.recvs = 0;
	mrc_rx_action act;
	r.data({.psn = 2,
		.opcode = MRC_OP_WRITE_FIRST,
		.dmalen = 300,
		.rqmsn = 2},
	       &act);
	EXPECT_EQ(act, MRC_RX_PLACE);
}

// How many receives a packet needs, and which do not at all.
TEST(RespRnr, WantsRecv)
{
	ExtResponder r;
	r.init();
	r.data(send_part(0, 0, 5, 0));
	mrc_hdr h{};
	mrc_rx rx{};
	rx.hdr = &h;
	rx.port = 1;
	u32 n = 77;
	const auto wants = [&](const mrc_resp &resp, u8 op, u32 psn,
			       u16 rqmsn) {
		h.opcode = op;
		h.psn = psn;
		h.rqmsn = rqmsn;
		return mrc_resp_wants_recv(&resp, &rx, &n);
	};
	for (u16 ahead : {0, 1, 3}) {
		EXPECT_TRUE(wants(r.resp, MRC_OP_SEND_ONLY, 1, 1 + ahead));
		EXPECT_EQ(n, ahead + 1u);
		EXPECT_TRUE(wants(r.resp, MRC_OP_WRITE_ONLY_IMM, 1, 1 + ahead));
		EXPECT_EQ(n, ahead + 1u);
	}
	n = 77;
	EXPECT_FALSE(wants(r.resp, MRC_OP_SEND_ONLY, 1, 5)); // max_wimm
	EXPECT_FALSE(wants(r.resp, MRC_OP_SEND_ONLY, 1, 0)); // used up
	EXPECT_FALSE(wants(r.resp, MRC_OP_SEND_ONLY, 0, 1)); // duplicate
	EXPECT_FALSE(wants(r.resp, MRC_OP_SEND_ONLY, 1025, 1));
	EXPECT_TRUE(wants(r.resp, MRC_OP_SEND_ONLY, 1024, 1));
	n = 77;
	EXPECT_FALSE(wants(r.resp, MRC_OP_WRITE_ONLY, 1, 1));
	EXPECT_FALSE(wants(r.resp, MRC_OP_READ_REQ, 1, 1));
	EXPECT_FALSE(wants(r.resp, MRC_OP_PROBE, 1, 1));
	EXPECT_FALSE(wants(r.resp, MRC_OP_READ_RESP_ONLY, 1, 1));
	h.reth.va = 1; // malformed
	EXPECT_FALSE(wants(r.resp, MRC_OP_SEND_ONLY, 1, 1));
	h.reth.va = 0;
	rx.trim = MRC_TRIM_TRIMMED;
	EXPECT_FALSE(wants(r.resp, MRC_OP_SEND_ONLY, 1, 1));
	rx.trim = MRC_TRIM_NONE;
	ChanResponder c;
	c.init();
	EXPECT_FALSE(wants(c.resp, MRC_OP_SEND_ONLY, 0, 0));
	Responder plain;
	plain.init();
	EXPECT_FALSE(wants(plain.resp, MRC_OP_SEND_ONLY, 0, 0));
	EXPECT_FALSE(wants(plain.resp, MRC_OP_WRITE_ONLY_IMM, 0, 0));
	EXPECT_EQ(n, 77u);
}

TEST(RespRnr, RefusingOthersIsTheUsual)
{
	ExtResponder r;
	r.recvs = 0;
	r.init();
	r.data({.psn = 0});
	mrc_hdr h{};
	mrc_rx rx{};
	rx.hdr = &h;
	rx.port = 1;
	h.opcode = MRC_OP_SEND_ONLY;
	h.psn = 0;
	EXPECT_EQ(mrc_resp_refuse_rnr(&r.resp, &rx, 255, r.now), MRC_RX_DONE);
	auto fb = r.feedback();
	EXPECT_EQ(how_many(fb, MRC_OP_SACK), 1u);
	EXPECT_EQ(how_many(fb, MRC_OP_NACK), 0u);
	h.psn = 1;
	mrc_resp_refuse_rnr(&r.resp, &rx, 255, r.now);
	fb = r.feedback();
	ASSERT_EQ(how_many(fb, MRC_OP_NACK), 1u);
	EXPECT_EQ(fb[0].hdr.neth.vendor, 0x9F); // five bits of timer
}

// Nothing of the extension without it: as any opcode that is not defined.
TEST(RespPlain, OpcodesAreUndefined)
{
	for (unsigned op = 0xC0; op < 0xE0; op++) {
		if (!(mrc_op_info((u8)op)->flags & MRC_OPF_EXT))
			continue;
		Responder r;
		r.cfg.late_stash = true;
		r.cfg.late_rd = true;
		r.init();
		mrc_rx_action act;
		DataSpec s;
		s.psn = 3;
		s.opcode = (u8)op;
		auto fb = r.data(s, &act);
		EXPECT_EQ(act, MRC_RX_DONE);
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_UNEXP_EVENT);
		EXPECT_EQ(r.resp.stash, nullptr);
		EXPECT_EQ(r.resp.rd, nullptr);
		EXPECT_EQ(r.count(MRC_CTR_DROP_OPCODE), 1u);
		// Trimmed they are nobody's business.
		s.trim = MRC_TRIM_TRIMMED;
		EXPECT_EQ(r.data(s, &act).size(), 0u);
		EXPECT_EQ(act, MRC_RX_DROP);
		EXPECT_EQ(r.count(MRC_CTR_DROP_OPCODE), 2u);
		EXPECT_EQ(r.count(MRC_CTR_RX_TRIMMED), 0u);
		EXPECT_EQ(r.resp.max_rcv, r.psn(-1));
	}
}

TEST(RespPlain, MissingReceiveIsAnError)
{
	Responder r;
	r.recvs = 0;
	r.init();
	expect_nak(r.data(write_imm(0, 0)), 0, MRC_SYN_NAK_INV_REQ);
	EXPECT_EQ(r.count(MRC_CTR_ERR_NO_RECV), 1u);
	EXPECT_EQ(r.count(MRC_CTR_RESP_RNR), 0u);
}

TEST(RespExtTrim, IsRefused)
{
	ExtResponder r;
	r.init();
	for (u8 op : {MRC_OP_SEND_FIRST, MRC_OP_READ_REQ}) {
		auto fb = r.data(
			{.psn = 4, .opcode = op, .trim = MRC_TRIM_TRIMMED});
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_TRIMMED);
	}
	EXPECT_EQ(r.resp.max_rcv, r.psn(-1));
}

// How far the receives reach, once the peer has shown that it knows SENDs.
TEST(RespSend, TellsOfItsReceives)
{
	ExtResponder r;
	r.tells = true;
	r.recvs = 7;
	r.init();
	DataSpec w = write_imm(0, 0);
	w.a = true;
	auto fb = r.data(w);
	expect_ack(fb, 0);
	EXPECT_FALSE(find(fb, MRC_OP_ACK)->hdr.recvs);
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.aeth.msn, 1u);
	// Message 1 takes one of six; 2 to 6 have one.
	fb = r.data(send_part(1, 0, 5, 1));
	expect_ack(fb, 1);
	EXPECT_TRUE(find(fb, MRC_OP_ACK)->hdr.recvs);
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.aeth.msn, 7u);
	// More than numbers can be compared over, and across their wrap.
	r.recvs = 100000;
	r.resp.rqmsn = 0xFFF0;
	fb = r.data(send_part(2, 0, 5, 0xFFF0));
	EXPECT_EQ(find(fb, MRC_OP_ACK)->hdr.aeth.msn, 0x3FF1u);
	// Said once only: the next ACK is about the receives of its own time.
	r.tells = false;
	fb = r.data(send_part(3, 0, 5, 0xFFF1));
	EXPECT_FALSE(find(fb, MRC_OP_ACK)->hdr.recvs);
	// Neither with a NAK.
	r.tells = true;
	DataSpec bad = send_part(4, 0, 5, 0xFFF2);
	bad.va = 1;
	fb = r.data(bad);
	expect_nak(fb, 4, MRC_SYN_NAK_INV_REQ);
	EXPECT_FALSE(find(fb, MRC_OP_ACK)->hdr.recvs);
}

// The answer channel has no receives.
TEST(RespSend, TheChannelTellsNothing)
{
	ChanResponder r;
	r.tells = true;
	r.init();
	r.data(answer_part(0, 0, 8, 0));
	EXPECT_FALSE(r.resp.peer_sends);
}
