// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Parser and builder: MRC 1.0 §4, §8.5 and §18.1.
#include <gtest/gtest.h>

#include <random>

#include "wire.hpp"

namespace
{

using namespace mrc_test;

// A packet with random fields that parse reports and build writes.
mrc_hdr random_hdr(std::uint8_t opcode, std::mt19937_64 &rng)
{
	std::uint32_t flags = mrc_op_info(opcode)->flags;
	mrc_hdr h{};

	h.opcode = opcode;
	h.se = rng() & 1;
	h.a = rng() & 1;
	h.rtx = rng() & 1;
	h.ans = rng() & 1;
	h.pkey = static_cast<std::uint16_t>(rng());
	h.dqp = rng() & 0xFFFFFF;
	h.psn = rng() & 0xFFFFFF;
	if (flags & MRC_OPF_METH) {
		h.rqmsn = static_cast<std::uint16_t>(rng());
		h.msn = static_cast<std::uint16_t>(rng());
		h.ts = rng() & 1;
	}
	if (h.ts || (flags & (MRC_OPF_PETH | MRC_OPF_ERTH))) {
		h.tsr = rng() & 1;
		h.ftype = rng() & 0xF;
	}
	if (h.ts || !(flags & (MRC_OPF_METH | MRC_OPF_AETH)))
		h.tstamp = static_cast<std::uint16_t>(rng());
	if (flags & MRC_OPF_RETH) {
		h.reth.va = rng();
		h.reth.rkey = static_cast<std::uint32_t>(rng());
		h.reth.dmalen = static_cast<std::uint32_t>(rng());
	}
	if (flags & MRC_OPF_IMM)
		h.reth.imm = static_cast<std::uint32_t>(rng());
	if (flags & MRC_OPF_OPERAND) {
		h.opeth.swap = rng();
		h.opeth.compare = rng();
	}
	if (flags & MRC_OPF_AETH) {
		h.aeth.syndrome = static_cast<std::uint8_t>(rng());
		h.aeth.msn = rng() & 0xFFFFFF;
		h.recvs = rng() & 1;
	}
	if (flags & MRC_OPF_SETH) {
		h.seth.m = rng() % 3;
		h.seth.pr = rng() & 1;
		h.seth.probe_id = static_cast<std::uint16_t>(rng());
		h.seth.ack_psn_offset =
			static_cast<std::int16_t>(h.seth.probe_id);
		h.seth.entropy = static_cast<std::uint32_t>(rng());
		h.seth.spdcid = static_cast<std::uint16_t>(rng());
		h.seth.dpdcid = static_cast<std::uint16_t>(rng());
		h.seth.cack_psn = rng() & 0xFFFFFF;
		h.seth.cc_type = rng() & 0xF;
		h.seth.mpr = static_cast<std::uint8_t>(rng());
		h.seth.sack_offset = static_cast<std::int16_t>(rng());
		h.seth.bitmap = rng();
		h.seth.ooo_count = rng() & 0x7FFF;
		h.seth.restore_cwnd = rng() & 1;
		h.seth.rcv_cwnd_pen = rng() & 0x7F;
		h.seth.rcvd_bytes = rng() & 0xFFFFFF;
	}
	if (flags & MRC_OPF_NETH) {
		h.neth.reason = static_cast<std::uint8_t>(rng());
		h.neth.vendor = static_cast<std::uint8_t>(rng());
		h.neth.entropy = static_cast<std::uint32_t>(rng());
		h.neth.spdcid = static_cast<std::uint16_t>(rng());
		h.neth.dpdcid = static_cast<std::uint16_t>(rng());
		h.neth.nack_psn = rng() & 0xFFFFFF;
		h.neth.cc_type = rng() & 0xF;
	}
	if (flags & MRC_OPF_PETH) {
		h.peth.vendor = static_cast<std::uint8_t>(rng());
		h.peth.probe_id = static_cast<std::uint16_t>(rng());
		h.peth.spdcid = static_cast<std::uint16_t>(rng());
		h.peth.dpdcid = static_cast<std::uint16_t>(rng());
	}
	if (flags & (MRC_OPF_ERTH | MRC_OPF_EETH))
		h.epop.op = rng() & 3;
	if (flags & MRC_OPF_ERTH) {
		h.epop.vendor = static_cast<std::uint8_t>(rng());
		h.epop.port_mask = static_cast<std::uint32_t>(rng());
	}
	return h;
}

class VectorTest : public ::testing::TestWithParam<std::size_t>
{
};

TEST_P(VectorTest, FieldsBuildTheFrame)
{
	const Vector &v = kVectors[GetParam()];
	Frame f = spec_frames()[GetParam()];

	ASSERT_EQ(f.name, v.name);
	ASSERT_EQ(frame_of(v).size(), v.size);
	EXPECT_EQ(build_frame(f), frame_of(v));
	EXPECT_EQ(mrc_hdr_len(&f.hdr), build(f.hdr).size());
}

TEST_P(VectorTest, FrameParsesToTheFields)
{
	const Vector &v = kVectors[GetParam()];
	const Frame f = spec_frames()[GetParam()];
	const Bytes p = payload_of(v);
	const Bytes frame = frame_of(v);
	const std::uint8_t *ip = frame.data() + v.l3;
	std::uint32_t label = f.v6 ? get_unaligned_be32(ip) & 0xFFFFF : 0;
	mrc_hdr h;

	ASSERT_EQ(parse(p, &h), MRC_DROP_NONE);
	expect_same(f.hdr, h);
	EXPECT_EQ(h.hdr_len, mrc_hdr_len(&f.hdr));
	ASSERT_EQ(h.payload_len, f.payload.size());
	EXPECT_EQ(Bytes(p.begin() + h.hdr_len,
			p.begin() + h.hdr_len + h.payload_len),
		  f.payload);
	EXPECT_EQ(
		mrc_entropy_from_wire(
			get_unaligned_be16(frame.data() + bth_of(v, frame) - 8),
			label),
		f.entropy);
}

TEST_P(VectorTest, ParsedHeadersBuildTheSameBytes)
{
	const Bytes p = payload_of(kVectors[GetParam()]);
	mrc_hdr h;

	ASSERT_EQ(parse(p, &h), MRC_DROP_NONE);
	EXPECT_EQ(build(h), Bytes(p.begin(), p.begin() + h.hdr_len));
}

INSTANTIATE_TEST_SUITE_P(Section18, VectorTest,
			 ::testing::Range<std::size_t>(0, std::size(kVectors)),
			 [](const auto &info) {
				 return std::string(kVectors[info.param].name);
			 });

TEST(Parse, RandomHeadersSurviveBothDirections)
{
	std::mt19937_64 rng(1);

	for (const Op &op : kOps) {
		for (int round = 0; round < 500; round++) {
			mrc_hdr h = random_hdr(op.opcode, rng), back;
			Bytes p = build(h);

			ASSERT_EQ(p.size(), mrc_hdr_len(&h));
			p.resize(p.size() + MRC_ICRC_LEN);
			ASSERT_EQ(parse(p, &back), MRC_DROP_NONE);
			expect_same(h, back);
			ASSERT_FALSE(HasFailure())
				<< "opcode " << std::hex << int{op.opcode};
		}
	}
}

TEST(Parse, UndefinedOpcodesKeepTheirBth)
{
	for (unsigned o = 0; o < 256; o++) {
		Bytes p(200, 0);
		mrc_hdr h;

		if (defined(o))
			continue;
		p[0] = static_cast<std::uint8_t>(o);
		p[6] = 0x12;
		p[11] = 0x34;
		ASSERT_EQ(parse(p, &h), MRC_DROP_OPCODE) << std::hex << o;
		EXPECT_EQ(h.opcode, o);
		EXPECT_EQ(h.dqp, 0x1200u);
		EXPECT_EQ(h.psn, 0x34u);
		// The shortest that has a BTH and an ICRC.
		p.resize(16);
		EXPECT_EQ(parse(p, &h), MRC_DROP_OPCODE);
		// Plain RoCE v2 has rows of its own, test_roce.cpp.
		if (mrc_roce_op_info(static_cast<std::uint8_t>(o))->name)
			continue;
		h = {};
		h.opcode = static_cast<std::uint8_t>(o);
		EXPECT_EQ(mrc_hdr_len(&h), 0u);
		EXPECT_EQ(mrc_hdr_build(&h, p.data(), 16), 0u);
	}
}

TEST(Parse, EveryTruncationOfEveryPacketIsShort)
{
	for (const Op &op : kOps) {
		for (bool ts : {false, true}) {
			Bytes p = minimal(op.opcode, ts);
			mrc_hdr h;

			ASSERT_EQ(parse(p, &h), MRC_DROP_NONE);
			for (std::size_t n = 0; n < p.size(); n++) {
				// A copy, so that a read behind the end is
				// seen by the address sanitizer.
				Bytes cut(
					p.begin(),
					p.begin() +
						static_cast<std::ptrdiff_t>(n));

				ASSERT_EQ(parse(cut, &h), MRC_DROP_SHORT)
					<< std::hex << int{op.opcode} << " "
					<< std::dec << n;
			}
		}
	}
}

// Headers in the linear part, the rest elsewhere: only @avail may be read.
TEST(Parse, HeadersMustLieWithinAvail)
{
	for (const Op &op : kOps) {
		Bytes p = minimal(op.opcode, true);
		auto len = static_cast<std::uint32_t>(p.size());
		std::uint32_t hlen = len - MRC_ICRC_LEN;
		mrc_hdr h;

		for (std::uint32_t avail = 0; avail < hlen; avail++) {
			Bytes cut(p.begin(), p.begin() + avail);

			EXPECT_EQ(mrc_hdr_parse(cut.data(), avail, len, &h),
				  MRC_DROP_SHORT);
		}
		Bytes cut(p.begin(), p.begin() + hlen);
		EXPECT_EQ(mrc_hdr_parse(cut.data(), hlen, len, &h),
			  MRC_DROP_NONE);
	}
}

TEST(Parse, PayloadElsewhere)
{
	Bytes p = minimal(MRC_OP_WRITE_MIDDLE, true);
	std::uint32_t hlen = static_cast<std::uint32_t>(p.size()) - 4;
	mrc_hdr h;

	ASSERT_EQ(mrc_hdr_parse(p.data(), hlen, hlen + 4096 + 4, &h),
		  MRC_DROP_NONE);
	EXPECT_EQ(h.payload_len, 4096u);
}

TEST(Parse, PadMustFillTheLastWord)
{
	for (std::uint32_t payload = 0; payload <= 64; payload++) {
		for (std::uint32_t pad = 0; pad < 4; pad++) {
			Bytes p = minimal(MRC_OP_WRITE_LAST, false);
			mrc_hdr h;

			p[1] = static_cast<std::uint8_t>(pad << 4);
			p.resize(p.size() + payload + pad);
			if ((payload + pad) % 4) {
				EXPECT_EQ(parse(p, &h), MRC_DROP_LENGTH);
				continue;
			}
			ASSERT_EQ(parse(p, &h), MRC_DROP_NONE);
			EXPECT_EQ(h.payload_len, payload);
			EXPECT_EQ(h.pad, pad);
		}
	}
}

// Pad bytes that the packet does not have must not wrap the payload length.
TEST(Parse, PadLargerThanWhatFollows)
{
	for (int pad = 1; pad < 4; pad++) {
		Bytes p = minimal(MRC_OP_WRITE_ONLY, false);
		mrc_hdr h;

		p[1] = static_cast<std::uint8_t>(pad << 4);
		EXPECT_EQ(parse(p, &h), MRC_DROP_SHORT);
	}
}

TEST(Parse, ControlPacketsHaveExactlyTheirHeaders)
{
	for (const Op &op : kOps) {
		if (op.flags & MRC_OPF_DATA)
			continue;
		for (std::size_t extra : {1, 2, 3, 4, 8, 64}) {
			Bytes p = minimal(op.opcode, false);
			mrc_hdr h;

			p.resize(p.size() + extra);
			EXPECT_EQ(parse(p, &h), MRC_DROP_LENGTH);
			if (extra > 3)
				continue;
			// Not even as padding.
			p[1] = static_cast<std::uint8_t>(extra << 4);
			EXPECT_EQ(parse(p, &h), MRC_DROP_LENGTH);
		}
	}
}

TEST(Parse, TransportVersion)
{
	for (const Op &op : kOps) {
		for (std::uint8_t tver = 1; tver < 16; tver++) {
			Bytes p = minimal(op.opcode, false);
			mrc_hdr h;

			p[1] = tver;
			EXPECT_EQ(parse(p, &h), MRC_DROP_TVER);
			p.resize(p.size() - MRC_ICRC_LEN);
			EXPECT_EQ(mrc_hdr_parse_trimmed(
					  p.data(),
					  static_cast<std::uint32_t>(p.size()),
					  &h),
				  MRC_DROP_TVER);
		}
	}
}

// Reserved bits of each extended header as byte masks, MRC 1.0 §4.
Bytes reserved_mask(std::uint8_t opcode, bool ts)
{
	std::uint32_t flags = mrc_op_info(opcode)->flags;
	// BTH: migration bit, variant byte, R, invariant bits. One of those is
	// the extension's mark of the answer channel.
	Bytes m = from_hex("0040000000000000") /* up to byte 7 */;

	m[4] = 0xFF;
	put(m, from_hex("4e000000"));
	// The extension's count of receives.
	if (flags & MRC_OPF_AETH)
		m[8] &= 0xFD;
	if (!(flags & MRC_OPF_METH))
		m[8] |= 0x10;
	if (flags & MRC_OPF_METH) {
		put(m, from_hex("00000000"));
		if (ts)
			put(m, from_hex("00007ff0"));
	}
	if (flags & MRC_OPF_RETH)
		put(m, Bytes(16, 0));
	if (flags & MRC_OPF_IMM)
		put(m, Bytes(4, 0));
	if (flags & MRC_OPF_OPERAND)
		put(m, Bytes(16, 0));
	if (flags & MRC_OPF_AETH)
		put(m, Bytes(4, 0));
	if (flags & MRC_OPF_SETH)
		put(m, from_hex("ff9d00000000000000000000ff000000"
				"0f00000000000000000000000000800000000000"));
	if (flags & MRC_OPF_NETH)
		put(m, from_hex("ffff00000000000000000000ff0000000fff0000"));
	if (flags & MRC_OPF_PETH)
		put(m, from_hex("ffffff000000ffff0000000000007ff0"));
	if (flags & MRC_OPF_ERTH)
		put(m, from_hex("fffcff0000000000ffffffff00007ff0"));
	if (flags & MRC_OPF_EETH) {
		put(m, from_hex("fff3"));
		put(m, Bytes(26, 0xFF));
		put(m, from_hex("0000ffffffffffff"));
	}
	return m;
}

TEST(Parse, ReservedBitsAreIgnored)
{
	std::mt19937_64 rng(2);

	for (const Op &op : kOps) {
		for (int round = 0; round < 200; round++) {
			mrc_hdr h = random_hdr(op.opcode, rng), back;
			Bytes clean = build(h), mask, p;

			mask = reserved_mask(op.opcode, h.ts);
			ASSERT_EQ(mask.size(), clean.size());
			p = clean;
			for (std::size_t i = 0; i < p.size(); i++) {
				// Written as zero ...
				ASSERT_EQ(clean[i] & mask[i], 0) << i;
				p[i] |= mask[i] & static_cast<std::uint8_t>(
							  round ? rng() : 0xFF);
			}
			p.resize(p.size() + MRC_ICRC_LEN);
			ASSERT_EQ(parse(p, &back), MRC_DROP_NONE);
			// ... and without effect when set.
			expect_same(h, back);
			ASSERT_EQ(build(back), clean);
		}
	}
}

// No other bit is without effect: each one changes what a rebuild gives.
TEST(Parse, EveryOtherBitMatters)
{
	for (const Op &op : kOps) {
		for (bool ts : {false, true}) {
			Bytes clean = minimal(op.opcode, ts), mask;
			mrc_hdr h;

			ASSERT_EQ(parse(clean, &h), MRC_DROP_NONE);
			mask = reserved_mask(op.opcode, h.ts);
			for (std::size_t bit = 8; bit < mask.size() * 8;
			     bit++) {
				Bytes p = clean;

				if (mask[bit / 8] >> (7 - bit % 8) & 1)
					continue;
				p[bit / 8] ^= static_cast<std::uint8_t>(
					0x80 >> bit % 8);
				if (parse(p, &h) != MRC_DROP_NONE)
					continue;
				EXPECT_NE(build(h), build([&] {
						  mrc_hdr c;

						  parse(clean, &c);
						  return c;
					  }()))
					<< std::hex << int{op.opcode} << " bit "
					<< std::dec << bit;
			}
		}
	}
}

TEST(Parse, ReservedPathStateReadsAsNone)
{
	Bytes p = minimal(MRC_OP_SACK, false);
	mrc_hdr h;

	p[12 + 1] = 3 << 5;
	ASSERT_EQ(parse(p, &h), MRC_DROP_NONE);
	EXPECT_EQ(h.seth.m, MRC_M_NONE);
	p[12 + 1] = 2 << 5;
	ASSERT_EQ(parse(p, &h), MRC_DROP_NONE);
	EXPECT_EQ(h.seth.m, MRC_M_ALWAYS_SKIP);
}

// Both readings of the shared bytes are there; pr says which one counts.
TEST(Parse, AckOffsetAndProbeIdShareBytes)
{
	Bytes p = minimal(MRC_OP_SACK, false);
	mrc_hdr h;

	p[12 + 2] = 0xFF;
	p[12 + 3] = 0xFE;
	ASSERT_EQ(parse(p, &h), MRC_DROP_NONE);
	EXPECT_FALSE(h.seth.pr);
	EXPECT_EQ(h.seth.ack_psn_offset, -2);
	EXPECT_EQ(h.seth.probe_id, 0xFFFE);
	h.seth.probe_id = 0;
	EXPECT_EQ(get_unaligned_be16(build(h).data() + 14), 0xFFFE);
	h.seth.pr = true;
	EXPECT_EQ(get_unaligned_be16(build(h).data() + 14), 0);
}

TEST(Build, NeedsRoomForAllHeaders)
{
	for (const Op &op : kOps) {
		for (bool ts : {false, true}) {
			mrc_hdr h{};

			h.opcode = op.opcode;
			h.ts = ts;
			std::uint32_t need = mrc_hdr_len(&h);

			ASSERT_LE(need, unsigned{MRC_HDR_MAX});
			for (std::uint32_t room = 0; room < need; room++) {
				Bytes out(room);

				EXPECT_EQ(mrc_hdr_build(&h, out.data(), room),
					  0u);
			}
			Bytes out(need);
			EXPECT_EQ(mrc_hdr_build(&h, out.data(), need), need);
		}
	}
}

// Values wider than their fields must not leak into the neighbours.
TEST(Build, MasksFieldsToTheirWidth)
{
	mrc_hdr h{}, back;
	Bytes p;

	h.opcode = MRC_OP_SACK;
	h.ts = true; // not in control packets
	h.tver = 0xF0;
	h.pad = 0xFC;
	h.dqp = 0xFF000001;
	h.psn = 0xFF000002;
	h.seth.m = 0xFC | MRC_M_SKIP_ONCE;
	h.seth.cack_psn = 0xFF000003;
	h.seth.cc_type = 0xF0;
	h.seth.ooo_count = 0x8004;
	h.seth.rcv_cwnd_pen = 0x85;
	h.seth.rcvd_bytes = 0xFF000006;
	p = build(h);
	EXPECT_EQ(p.size(), 48u);
	p.resize(p.size() + MRC_ICRC_LEN);
	ASSERT_EQ(parse(p, &back), MRC_DROP_NONE);
	EXPECT_FALSE(back.ts);
	EXPECT_EQ(back.pad, 0);
	EXPECT_EQ(back.dqp, 1u);
	EXPECT_EQ(back.psn, 2u);
	EXPECT_EQ(back.seth.m, MRC_M_SKIP_ONCE);
	EXPECT_EQ(back.seth.cack_psn, 3u);
	EXPECT_EQ(back.seth.cc_type, 0);
	EXPECT_EQ(back.seth.ooo_count, 4);
	EXPECT_FALSE(back.seth.restore_cwnd);
	EXPECT_EQ(back.seth.rcv_cwnd_pen, 5);
	EXPECT_EQ(back.seth.rcvd_bytes, 6u);
}

TEST(Trimmed, EveryLength)
{
	for (const Op &op : kOps) {
		mrc_hdr full{}, h;
		Bytes p;

		full.opcode = op.opcode;
		full.ts = true;
		full.tstamp = 0x1234;
		full.ftype = MRC_TS_FTYPE;
		full.rqmsn = 0x55;
		full.msn = 0x66;
		full.psn = 0x777;
		full.dqp = 0x888;
		p = build(full);
		for (std::uint32_t n = 0; n <= p.size(); n++) {
			Bytes cut(p.begin(), p.begin() + n);
			mrc_drop why = mrc_hdr_parse_trimmed(cut.data(), n, &h);

			if (n < 12) {
				ASSERT_EQ(why, MRC_DROP_SHORT);
				continue;
			}
			if (!(op.flags & MRC_OPF_DATA)) {
				ASSERT_EQ(why, MRC_DROP_OPCODE);
				continue;
			}
			ASSERT_EQ(why, MRC_DROP_NONE);
			EXPECT_EQ(h.psn, 0x777u);
			EXPECT_EQ(h.dqp, 0x888u);
			EXPECT_EQ(h.msn, n >= 16 ? 0x66 : 0);
			EXPECT_EQ(h.rqmsn, n >= 16 ? 0x55 : 0);
			EXPECT_EQ(h.ts, n >= 20);
			EXPECT_EQ(h.tstamp, n >= 20 ? 0x1234 : 0);
			EXPECT_EQ(h.ftype, n >= 20 ? MRC_TS_FTYPE : 0);
			EXPECT_EQ(h.hdr_len, n >= 20 ? 20 : n >= 16 ? 16 : 12);
			EXPECT_EQ(h.payload_len, 0u);
		}
	}
}

TEST(Trimmed, WithoutTimestamp)
{
	Bytes p = minimal(MRC_OP_WRITE_FIRST, false);
	mrc_hdr h;

	ASSERT_EQ(mrc_hdr_parse_trimmed(p.data(), 30, &h), MRC_DROP_NONE);
	EXPECT_FALSE(h.ts);
	EXPECT_EQ(h.hdr_len, 16);
}

TEST(Trimmed, UndefinedOpcodes)
{
	for (unsigned o = 0; o < 256; o++) {
		Bytes p(64, 0);
		mrc_hdr h;

		p[0] = static_cast<std::uint8_t>(o);
		if (!defined(o)) {
			EXPECT_EQ(mrc_hdr_parse_trimmed(p.data(), 64, &h),
				  MRC_DROP_OPCODE);
		}
	}
}

TEST(Wire, EntropyAndNominalSize)
{
	EXPECT_EQ(mrc_entropy_from_wire(0xC001, 0x1234), 0x1234C001u);
	EXPECT_EQ(mrc_entropy_from_wire(0xC0DE, 0), 0xC0DEu);
	// The label's upper four bits are no part of the entropy.
	EXPECT_EQ(mrc_entropy_from_wire(0xC001, 0xF1234), 0x1234C001u);

	// UDP length + 40, so V1: 0x34 + 40, V2: 0x130 + 40, V3: 0x3c + 40.
	EXPECT_EQ(mrc_nominal_size(32, 8), 0x34u + 40);
	EXPECT_EQ(mrc_nominal_size(36, 256), 0x130u + 40);
	EXPECT_EQ(mrc_nominal_size(40, 5), 0x3Cu + 40);
	EXPECT_EQ(mrc_nominal_size(36, 0), 48u + 40);
}

} // namespace
