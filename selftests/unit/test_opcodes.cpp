// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The table of opcodes, MRC 1.0 §3, and how packets of the extension look.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "wire.hpp"

namespace
{

using namespace mrc_test;

TEST(Opcodes, TableOfSection3)
{
	for (unsigned o = 0; o < 256; o++) {
		const struct mrc_op_info *info =
			mrc_op_info(static_cast<std::uint8_t>(o));
		const Op *op = defined(o);

		ASSERT_NE(info, nullptr);
		if (!op) {
			EXPECT_EQ(info->name, nullptr) << std::hex << o;
			EXPECT_EQ(info->flags, 0) << std::hex << o;
			continue;
		}
		ASSERT_NE(info->name, nullptr) << std::hex << o;
		EXPECT_EQ(info->hdr_len + MRC_UDP_HLEN + MRC_ICRC_LEN,
			  static_cast<int>(op->min_udp))
			<< std::hex << o;
		EXPECT_EQ(info->flags, op->flags) << std::hex << o;
	}
}

TEST(Opcodes, NamesAreThoseOfTheSpecification)
{
	const std::map<int, std::string> names = {
		{0xC6, "WRITE_FIRST"},	     {0xC7, "WRITE_MIDDLE"},
		{0xC8, "WRITE_LAST"},	     {0xC9, "WRITE_LAST_IMM"},
		{0xCA, "WRITE_ONLY"},	     {0xCB, "WRITE_ONLY_IMM"},
		{0xD1, "ACKNOWLEDGE"},	     {0xD8, "ENDPOINT_REQUEST"},
		{0xD9, "ENDPOINT_RESPONSE"}, {0xDC, "RELIABILITY_SACK"},
		{0xDD, "RELIABILITY_NACK"},  {0xDE, "RELIABILITY_PROBE_REQ"},
	};

	for (const auto &[opcode, name] : names)
		EXPECT_EQ(mrc_op_info(static_cast<std::uint8_t>(opcode))->name,
			  name);
}

// The same opcodes as of RC, in the class of MRC.
TEST(Opcodes, NamesOfTheExtension)
{
	const std::map<int, std::string> names = {
		{0xC0, "SEND_FIRST"},
		{0xC1, "SEND_MIDDLE"},
		{0xC2, "SEND_LAST"},
		{0xC3, "SEND_LAST_IMM"},
		{0xC4, "SEND_ONLY"},
		{0xC5, "SEND_ONLY_IMM"},
		{0xCC, "READ_REQUEST"},
		{0xCD, "READ_RESPONSE_FIRST"},
		{0xCE, "READ_RESPONSE_MIDDLE"},
		{0xCF, "READ_RESPONSE_LAST"},
		{0xD0, "READ_RESPONSE_ONLY"},
		{0xD2, "ATOMIC_RESPONSE"},
		{0xD3, "COMPARE_SWAP"},
		{0xD4, "FETCH_ADD"},
		{0xD5, "FLUSH"},
		{0xD6, "SEND_LAST_INVALIDATE"},
		{0xD7, "SEND_ONLY_INVALIDATE"},
		{0xDA, "ATOMIC_WRITE"},
	};

	for (const auto &[opcode, name] : names)
		EXPECT_EQ(mrc_op_info(static_cast<std::uint8_t>(opcode))->name,
			  name);
}

// Where the fields of OPETH and the mark of the answer channel are.
TEST(Extension, Bytes)
{
	for (bool ts : {false, true}) {
		mrc_hdr h{};

		h.opcode = MRC_OP_CMP_SWAP;
		h.ts = ts;
		h.reth.va = 0x1008;
		h.reth.rkey = 0xA1B2C3D4;
		h.reth.dmalen = 8;
		h.opeth.swap = 0x1122334455667788;
		h.opeth.compare = 0x99AABBCCDDEEFF00;
		Bytes p = build(h);
		ASSERT_EQ(p.size(), ts ? 52u : 48u);
		EXPECT_EQ(Bytes(p.end() - 16, p.end()),
			  from_hex("112233445566778899aabbccddeeff00"));
		EXPECT_EQ(Bytes(p.end() - 32, p.end() - 16),
			  from_hex("0000000000001008a1b2c3d400000008"));
		EXPECT_EQ(p[8], ts ? 0x10 : 0);
	}
	for (const Op &op : kOps) {
		mrc_hdr h{};

		h.opcode = op.opcode;
		Bytes off = build(h);
		h.ans = true;
		Bytes on = build(h);
		EXPECT_EQ(off[8] ^ on[8], 0x01);
		off[8] = on[8];
		EXPECT_EQ(off, on);
	}
}

// What is left of a packet has room for METH at most, but knows its channel.
TEST(Extension, Trimmed)
{
	for (const Op &op : kOps) {
		if (!(op.flags & MRC_OPF_EXT))
			continue;
		mrc_hdr h{}, back;

		h.opcode = op.opcode;
		h.ans = op.flags & MRC_OPF_ANSWER;
		h.psn = 0x123456;
		h.rqmsn = 7;
		h.msn = 9;
		Bytes p = build(h);
		for (std::uint32_t n : {12u, 16u, 32u}) {
			ASSERT_EQ(mrc_hdr_parse_trimmed(p.data(), n, &back),
				  MRC_DROP_NONE);
			EXPECT_EQ(back.psn, h.psn);
			EXPECT_EQ(back.ans, h.ans);
			EXPECT_EQ(back.rqmsn, n > 12 ? 7 : 0);
		}
	}
}

} // namespace
