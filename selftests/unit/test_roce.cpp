// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Headers of plain RoCE v2, InfiniBand volume 1, chapter 9: the rows of the table, and
// packets of UD and UC byte by byte. Messages of UC are in test_uc.cpp.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "wire.hpp"

namespace
{

using namespace mrc_test;

struct Row {
	std::string name;
	int hdr_len;
	u32 flags;
};

constexpr u32 kUc = MRC_OPF_ROCE, kFirst = MRC_OPF_FIRST, kLast = MRC_OPF_LAST,
	      kImm = MRC_OPF_IMM, kSend = MRC_OPF_SEND, kReth = MRC_OPF_RETH,
	      kUd = MRC_OPF_ROCE | MRC_OPF_DETH | kSend | kFirst | kLast;

// BTH 12, DETH 8, RETH 16, ImmDt 4.
const std::map<unsigned, Row> kRows = {
	{0x20, {"UC_SEND_FIRST", 12, kUc | kSend | kFirst}},
	{0x21, {"UC_SEND_MIDDLE", 12, kUc | kSend}},
	{0x22, {"UC_SEND_LAST", 12, kUc | kSend | kLast}},
	{0x23, {"UC_SEND_LAST_IMM", 16, kUc | kSend | kLast | kImm}},
	{0x24, {"UC_SEND_ONLY", 12, kUc | kSend | kFirst | kLast}},
	{0x25, {"UC_SEND_ONLY_IMM", 16, kUc | kSend | kFirst | kLast | kImm}},
	{0x26, {"UC_WRITE_FIRST", 28, kUc | kReth | kFirst}},
	{0x27, {"UC_WRITE_MIDDLE", 12, kUc}},
	{0x28, {"UC_WRITE_LAST", 12, kUc | kLast}},
	{0x29, {"UC_WRITE_LAST_IMM", 16, kUc | kLast | kImm}},
	{0x2A, {"UC_WRITE_ONLY", 28, kUc | kReth | kFirst | kLast}},
	{0x2B, {"UC_WRITE_ONLY_IMM", 32, kUc | kReth | kFirst | kLast | kImm}},
	{0x64, {"UD_SEND_ONLY", 20, kUd}},
	{0x65, {"UD_SEND_ONLY_IMM", 24, kUd | kImm}},
};

mrc_drop roce(const Bytes &p, mrc_hdr &h)
{
	auto n = static_cast<u32>(p.size());

	return mrc_roce_parse(p.data(), n, n, &h);
}

TEST(Roce, TableOfOpcodes)
{
	for (unsigned o = 0; o < 256; o++) {
		const auto *info = mrc_roce_op_info(static_cast<u8>(o));
		const auto row = kRows.find(o);
		mrc_hdr h{};

		ASSERT_NE(info, nullptr);
		if (row == kRows.end()) {
			EXPECT_EQ(info->name, nullptr) << std::hex << o;
			EXPECT_EQ(info->flags, 0u) << std::hex << o;
			continue;
		}
		ASSERT_NE(info->name, nullptr) << std::hex << o;
		EXPECT_EQ(info->name, row->second.name);
		EXPECT_EQ(info->hdr_len, row->second.hdr_len) << std::hex << o;
		EXPECT_EQ(info->flags, row->second.flags) << std::hex << o;
		h.opcode = static_cast<u8>(o);
		h.ts = true; // MRC's: nothing follows from it here
		EXPECT_EQ(mrc_hdr_len(&h), row->second.hdr_len) << std::hex << o;
		// A queue pair that speaks MRC does not know it.
		EXPECT_EQ(mrc_op_info(static_cast<u8>(o))->name, nullptr);
	}
}

TEST(Roce, ClassesOfOpcodes)
{
	for (unsigned o = 0; o < 256; o++) {
		EXPECT_EQ(mrc_uc_opcode(static_cast<u8>(o)), o >= 0x20 && o < 0x40);
		EXPECT_EQ(mrc_ud_opcode(static_cast<u8>(o)), o >= 0x60 && o < 0x80);
	}
}

// A datagram with an immediate: BTH, DETH, ImmDt.
TEST(Roce, DatagramBytes)
{
	const Bytes want = {0x65, 0xE0, 0xFF, 0xFF, 0x00, 0xF1, 0x23,
			    0x45, 0x00, 0x65, 0x43, 0x21, 0x11, 0x22,
			    0x33, 0x44, 0x00, 0xF5, 0x43, 0x21, 0xDE,
			    0xAD, 0xBE, 0xEF};
	Bytes p(MRC_HDR_MAX);
	mrc_hdr h{}, back;

	h.opcode = MRC_UD_SEND_IMM;
	h.pad = 2;
	h.se = true;
	h.pkey = 0xFFFF;
	h.dqp = 0xF12345;
	h.psn = 0x654321;
	h.deth.qkey = 0x11223344;
	h.deth.sqpn = 0xF54321;
	put_unaligned_be32(0xDEADBEEF, &h.reth.imm);
	p.resize(mrc_hdr_build(&h, p.data(), MRC_HDR_MAX));
	EXPECT_EQ(p, want);

	p.resize(p.size() + 6 + 2 + MRC_ICRC_LEN);
	ASSERT_EQ(roce(p, back), MRC_DROP_NONE);
	EXPECT_EQ(back.opcode, MRC_UD_SEND_IMM);
	EXPECT_TRUE(back.se);
	EXPECT_EQ(back.pad, 2);
	EXPECT_EQ(back.pkey, 0xFFFF);
	EXPECT_EQ(back.dqp, 0xF12345u);
	EXPECT_EQ(back.psn, 0x654321u);
	EXPECT_EQ(back.deth.qkey, 0x11223344u);
	EXPECT_EQ(back.deth.sqpn, 0xF54321u);
	EXPECT_EQ(back.reth.imm, h.reth.imm);
	EXPECT_EQ(back.hdr_len, 24);
	EXPECT_EQ(back.payload_len, 6u);
}

// Datagrams without one are four bytes shorter; no room, no packet.
TEST(Roce, DatagramWithoutImmediate)
{
	Bytes p(MRC_HDR_MAX);
	mrc_hdr h{};

	h.opcode = MRC_UD_SEND;
	h.pkey = 0x7FFF;
	h.dqp = 0xFFFFFF;
	h.deth.qkey = 0x80010000;
	h.deth.sqpn = 1;
	EXPECT_EQ(mrc_hdr_build(&h, p.data(), 19), 0u);
	p.resize(mrc_hdr_build(&h, p.data(), 20));
	EXPECT_EQ(p, (Bytes{0x64, 0x40, 0x7F, 0xFF, 0x00, 0xFF, 0xFF, 0xFF, 0x00,
			    0x00, 0x00, 0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00,
			    0x00, 0x01}));
}

// What is reserved there is ignored, and is not taken for a bit of MRC.
TEST(Roce, ReservedBitsAreIgnored)
{
	for (const auto &[opcode, row] : kRows) {
		Bytes p(static_cast<std::size_t>(row.hdr_len) + MRC_ICRC_LEN, 0xFF);
		mrc_hdr h;

		p[0] = static_cast<u8>(opcode);
		p[1] = 0x40;
		p[8] = 0x7F;
		ASSERT_EQ(roce(p, h), MRC_DROP_NONE) << std::hex << opcode;
		EXPECT_FALSE(h.a || h.rtx || h.ts || h.ans || h.recvs);
		EXPECT_EQ(h.hdr_len, row.hdr_len);
		EXPECT_EQ(h.payload_len, 0u);
		if (row.flags & MRC_OPF_DETH)
			EXPECT_EQ(h.deth.sqpn, 0xFFFFFFu);
		p[8] = 0x80;
		ASSERT_EQ(roce(p, h), MRC_DROP_NONE);
		EXPECT_TRUE(h.a);
	}
}

TEST(Roce, ParserRefuses)
{
	for (const auto &[opcode, row] : kRows) {
		// Two bytes and their pad.
		const auto hlen = static_cast<u32>(row.hdr_len);
		const u32 len = hlen + 2 + 2 + MRC_ICRC_LEN;
		Bytes p(len);
		mrc_hdr h;

		p[0] = static_cast<u8>(opcode);
		p[1] = 0x60;
		ASSERT_EQ(roce(p, h), MRC_DROP_NONE) << std::hex << opcode;
		EXPECT_EQ(h.payload_len, 2u);
		for (u32 n = 0; n < hlen + 2 + MRC_ICRC_LEN; n++) {
			const Bytes cut(p.begin(), p.begin() + n);

			EXPECT_EQ(roce(cut, h), MRC_DROP_SHORT) << n;
		}
		// The headers within reach suffice; fewer do not.
		EXPECT_EQ(mrc_roce_parse(p.data(), hlen, len, &h), MRC_DROP_NONE);
		EXPECT_EQ(mrc_roce_parse(p.data(), hlen - 1, len, &h),
			  MRC_DROP_SHORT);
		p[1] |= 4;
		EXPECT_EQ(roce(p, h), MRC_DROP_TVER);
	}
	for (unsigned o = 0; o < 256; o++) {
		Bytes p(64);
		mrc_hdr h;

		p[0] = static_cast<u8>(o);
		EXPECT_EQ(roce(p, h) == MRC_DROP_OPCODE, !kRows.count(o))
			<< std::hex << o;
	}
}

// A trimmed packet of these is no packet: switches trim MRC only (MRC 1.0 §8.5).
TEST(Roce, NotTrimmed)
{
	for (const auto &[opcode, row] : kRows) {
		Bytes p(64);
		mrc_hdr h;

		p[0] = static_cast<u8>(opcode);
		EXPECT_EQ(mrc_hdr_parse_trimmed(p.data(), 64, &h),
			  MRC_DROP_OPCODE);
	}
}

} // namespace
