// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The opcodes as MRC 1.0 §3 and Documentation/extension.md have them, and what
// the tests of packets make of them.
#pragma once

#include <gtest/gtest.h>

#include "frames.hpp"

namespace mrc_test
{

struct Op {
	std::uint8_t opcode;
	std::uint32_t min_udp; // "Min UDP length" of §3
	std::uint32_t flags;
};

constexpr std::uint32_t kWrite =
	MRC_OPF_METH | MRC_OPF_RETH | MRC_OPF_DATA | MRC_OPF_TO_RESP;
constexpr std::uint32_t kSend = kWrite | MRC_OPF_EXT | MRC_OPF_SEND;
constexpr std::uint32_t kRequest =
	kWrite | MRC_OPF_EXT | MRC_OPF_REQUEST | MRC_OPF_FIRST | MRC_OPF_LAST;
constexpr std::uint32_t kAnswer = kWrite | MRC_OPF_EXT | MRC_OPF_ANSWER;
constexpr std::uint32_t kToReq = MRC_OPF_CONTROL | MRC_OPF_TO_REQ;

inline const Op kOps[] = {
	{0xC6, 44, kWrite | MRC_OPF_FIRST},
	{0xC7, 44, kWrite},
	{0xC8, 44, kWrite | MRC_OPF_LAST},
	{0xC9, 48, kWrite | MRC_OPF_LAST | MRC_OPF_IMM},
	{0xCA, 44, kWrite | MRC_OPF_FIRST | MRC_OPF_LAST},
	{0xCB, 48, kWrite | MRC_OPF_FIRST | MRC_OPF_LAST | MRC_OPF_IMM},
	{0xD1, 28, MRC_OPF_AETH | kToReq},
	{0xD8, 40, MRC_OPF_ERTH | MRC_OPF_ENDPOINT},
	{0xD9, 60, MRC_OPF_EETH | MRC_OPF_ENDPOINT | MRC_OPF_CONTROL},
	{0xDC, 60, MRC_OPF_SETH | kToReq},
	{0xDD, 44, MRC_OPF_NETH | kToReq},
	{0xDE, 40, MRC_OPF_PETH | MRC_OPF_TO_RESP},
	// The extension; the lengths follow from Documentation/extension.md.
	{0xC0, 44, kSend | MRC_OPF_FIRST},
	{0xC1, 44, kSend},
	{0xC2, 44, kSend | MRC_OPF_LAST},
	{0xC3, 48, kSend | MRC_OPF_LAST | MRC_OPF_IMM},
	{0xC4, 44, kSend | MRC_OPF_FIRST | MRC_OPF_LAST},
	{0xC5, 48, kSend | MRC_OPF_FIRST | MRC_OPF_LAST | MRC_OPF_IMM},
	{0xD6, 44, kSend | MRC_OPF_LAST | MRC_OPF_INV},
	{0xD7, 44, kSend | MRC_OPF_FIRST | MRC_OPF_LAST | MRC_OPF_INV},
	{0xCC, 44, kRequest},
	{0xD3, 60, kRequest | MRC_OPF_OPERAND},
	{0xD4, 60, kRequest | MRC_OPF_OPERAND},
	{0xD5, 60, kRequest | MRC_OPF_OPERAND},
	{0xDA, 60, kRequest | MRC_OPF_OPERAND},
	{0xCD, 44, kAnswer | MRC_OPF_FIRST},
	{0xCE, 44, kAnswer},
	{0xCF, 44, kAnswer | MRC_OPF_LAST},
	{0xD0, 44, kAnswer | MRC_OPF_FIRST | MRC_OPF_LAST},
	{0xD2, 44, kAnswer | MRC_OPF_FIRST | MRC_OPF_LAST},
};

inline const Op *defined(unsigned opcode)
{
	for (const Op &op : kOps)
		if (op.opcode == opcode)
			return &op;
	return nullptr;
}

inline void expect_same(const mrc_hdr &a, const mrc_hdr &b)
{
	std::uint32_t flags = mrc_op_info(a.opcode)->flags;

	EXPECT_EQ(a.opcode, b.opcode);
	EXPECT_EQ(a.tver, b.tver);
	EXPECT_EQ(a.pad, b.pad);
	EXPECT_EQ(a.se, b.se);
	EXPECT_EQ(a.a, b.a);
	EXPECT_EQ(a.rtx, b.rtx);
	EXPECT_EQ(a.ts, b.ts);
	EXPECT_EQ(a.ans, b.ans);
	EXPECT_EQ(a.recvs, b.recvs);
	EXPECT_EQ(a.pkey, b.pkey);
	EXPECT_EQ(a.dqp, b.dqp);
	EXPECT_EQ(a.psn, b.psn);
	EXPECT_EQ(a.rqmsn, b.rqmsn);
	EXPECT_EQ(a.msn, b.msn);
	EXPECT_EQ(a.tstamp, b.tstamp);
	EXPECT_EQ(a.tsr, b.tsr);
	EXPECT_EQ(a.ftype, b.ftype);
	if (flags & MRC_OPF_RETH) {
		EXPECT_EQ(a.reth.va, b.reth.va);
		EXPECT_EQ(a.reth.rkey, b.reth.rkey);
		EXPECT_EQ(a.reth.dmalen, b.reth.dmalen);
	}
	if (flags & MRC_OPF_IMM) {
		EXPECT_EQ(a.reth.imm, b.reth.imm);
	}
	if (flags & MRC_OPF_OPERAND) {
		EXPECT_EQ(a.opeth.swap, b.opeth.swap);
		EXPECT_EQ(a.opeth.compare, b.opeth.compare);
	}
	if (flags & MRC_OPF_AETH) {
		EXPECT_EQ(a.aeth.syndrome, b.aeth.syndrome);
		EXPECT_EQ(a.aeth.msn, b.aeth.msn);
	}
	if (flags & MRC_OPF_SETH) {
		EXPECT_EQ(a.seth.m, b.seth.m);
		EXPECT_EQ(a.seth.pr, b.seth.pr);
		if (a.seth.pr)
			EXPECT_EQ(a.seth.probe_id, b.seth.probe_id);
		else
			EXPECT_EQ(a.seth.ack_psn_offset, b.seth.ack_psn_offset);
		EXPECT_EQ(a.seth.entropy, b.seth.entropy);
		EXPECT_EQ(a.seth.spdcid, b.seth.spdcid);
		EXPECT_EQ(a.seth.dpdcid, b.seth.dpdcid);
		EXPECT_EQ(a.seth.cack_psn, b.seth.cack_psn);
		EXPECT_EQ(a.seth.cc_type, b.seth.cc_type);
		EXPECT_EQ(a.seth.mpr, b.seth.mpr);
		EXPECT_EQ(a.seth.sack_offset, b.seth.sack_offset);
		EXPECT_EQ(a.seth.bitmap, b.seth.bitmap);
		EXPECT_EQ(a.seth.ooo_count, b.seth.ooo_count);
		EXPECT_EQ(a.seth.restore_cwnd, b.seth.restore_cwnd);
		EXPECT_EQ(a.seth.rcv_cwnd_pen, b.seth.rcv_cwnd_pen);
		EXPECT_EQ(a.seth.rcvd_bytes, b.seth.rcvd_bytes);
	}
	if (flags & MRC_OPF_NETH) {
		EXPECT_EQ(a.neth.reason, b.neth.reason);
		EXPECT_EQ(a.neth.vendor, b.neth.vendor);
		EXPECT_EQ(a.neth.entropy, b.neth.entropy);
		EXPECT_EQ(a.neth.spdcid, b.neth.spdcid);
		EXPECT_EQ(a.neth.dpdcid, b.neth.dpdcid);
		EXPECT_EQ(a.neth.nack_psn, b.neth.nack_psn);
		EXPECT_EQ(a.neth.cc_type, b.neth.cc_type);
	}
	if (flags & MRC_OPF_PETH) {
		EXPECT_EQ(a.peth.vendor, b.peth.vendor);
		EXPECT_EQ(a.peth.probe_id, b.peth.probe_id);
		EXPECT_EQ(a.peth.spdcid, b.peth.spdcid);
		EXPECT_EQ(a.peth.dpdcid, b.peth.dpdcid);
	}
	if (flags & (MRC_OPF_ERTH | MRC_OPF_EETH)) {
		EXPECT_EQ(a.epop.op, b.epop.op);
		EXPECT_EQ(a.epop.vendor, b.epop.vendor);
		EXPECT_EQ(a.epop.port_mask, b.epop.port_mask);
	}
}

// The smallest valid packet of an opcode, ICRC (zero here) included.
inline Bytes minimal(std::uint8_t opcode, bool ts)
{
	mrc_hdr h{};
	Bytes p;

	h.opcode = opcode;
	h.ts = ts;
	p = build(h);
	p.resize(p.size() + MRC_ICRC_LEN);
	return p;
}

} // namespace mrc_test
