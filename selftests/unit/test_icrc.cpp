// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// CRC-32 register and ICRC: MRC 1.0 §2.4, §18.2 and §18.3.
#include <gtest/gtest.h>

#include <functional>

#include "frames.hpp"

namespace
{

using namespace mrc_test;

// ICRC of a frame as a receiver computes it, over what precedes the ICRC.
std::uint32_t icrc_of(const Vector &v, const Bytes &frame)
{
	std::size_t rest = bth_of(v, frame) + 12;
	std::uint32_t crc = mrc_icrc_start(frame.data() + v.l3);

	crc = mrc_crc32(crc, frame.data() + rest, frame.size() - 4 - rest);
	return mrc_icrc_finish(crc);
}

std::uint32_t icrc_in(const Bytes &frame)
{
	return get_unaligned_le32(frame.data() + frame.size() - 4);
}

const Vector &vec(int n)
{
	return kVectors[n - 1];
}

// Bit by bit from the polynomial, independent of the table.
std::uint32_t crc_bitwise(std::uint32_t crc, const Bytes &data)
{
	for (std::uint8_t byte : data) {
		crc ^= byte;
		for (int i = 0; i < 8; i++)
			crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
	}
	return crc;
}

TEST(Crc32, CheckValue)
{
	EXPECT_EQ(~mrc_crc32(~0u, "123456789", 9), 0xCBF43926u);
	EXPECT_EQ(mrc_crc32(0x12345678, "", 0), 0x12345678u);
}

TEST(Crc32, SeedIsTheRegisterAfterEightOnes)
{
	Bytes ones(8, 0xFF);

	EXPECT_EQ(mrc_crc32(~0u, ones.data(), ones.size()), MRC_ICRC_SEED);
}

TEST(Crc32, AgreesWithTheBitSerialForm)
{
	for (std::size_t n = 0; n < 300; n += 7) {
		Bytes data = count_up(static_cast<std::uint8_t>(n), n);

		EXPECT_EQ(mrc_crc32(MRC_ICRC_SEED, data.data(), n),
			  crc_bitwise(MRC_ICRC_SEED, data));
	}
}

// Around the blocks that are taken in one go, at every alignment.
TEST(Crc32, AgreesWithTheBitSerialFormForBlocks)
{
	for (std::size_t n :
	     {63, 64, 255, 256, 257, 511, 1023, 1024, 1025, 1279, 1280, 4095,
	      4096, 4097, 4351, 5119, 5120, 8192, 9571}) {
		Bytes data(n + 8);
		std::uint32_t x = static_cast<std::uint32_t>(n);

		for (std::uint8_t &b : data) {
			x = x * 1664525 + 1013904223;
			b = static_cast<std::uint8_t>(x >> 24);
		}
		for (std::size_t off = 0; off < 8; off++) {
			const auto from = data.begin() +
					  static_cast<std::ptrdiff_t>(off);

			EXPECT_EQ(mrc_crc32(x, &data[off], n),
				  crc_bitwise(x, Bytes(from, from +
						static_cast<std::ptrdiff_t>(n))))
				<< n << " bytes at " << off;
		}
	}
}

TEST(Crc32, Continues)
{
	Bytes data = count_up(3, 200);
	std::uint32_t whole = mrc_crc32(~0u, data.data(), data.size());

	for (std::size_t cut = 0; cut <= data.size(); cut++) {
		std::uint32_t crc = mrc_crc32(~0u, data.data(), cut);

		EXPECT_EQ(mrc_crc32(crc, data.data() + cut, data.size() - cut),
			  whole);
	}
}

// §18.2, both from the printed masked input and from the frame.
TEST(Icrc, WorkedExample)
{
	Bytes masked = from_hex("ffffffffffffffff"
				"45ff004800004000ff11ffff0a0100010a010002"
				"c0de12b70034ffff"
				"ca00ffffff00020280000010"
				"00000007"
				"00007f1200001000a1b2c3d400000008"
				"1011121314151617");
	std::uint32_t reg = mrc_crc32(~0u, masked.data(), masked.size());
	Bytes frame = frame_of(vec(1));
	Bytes wire(4);

	ASSERT_EQ(masked.size(), 76u);
	EXPECT_EQ(reg, 0x5CF04D37u);
	EXPECT_EQ(mrc_icrc_finish(reg), 0xA30FB2C8u);
	EXPECT_EQ(icrc_of(vec(1), frame), 0xA30FB2C8u);
	put_unaligned_le32(mrc_icrc_finish(reg), wire.data());
	EXPECT_EQ(wire, from_hex("c8b20fa3"));
}

TEST(Icrc, AllVectors)
{
	for (const Vector &v : kVectors) {
		Bytes frame = frame_of(v);

		EXPECT_EQ(icrc_of(v, frame), icrc_in(frame)) << v.name;
	}
}

// Which bits the ICRC covers: inverts every bit of every vector from the inner
// IP header on and compares with the list of §2.4.
bool is_masked(const Vector &v, const Bytes &frame, std::size_t byte,
	       unsigned bit)
{
	std::size_t ip = byte - v.l3, bth = bth_of(v, frame);

	if (byte >= bth)
		return byte == bth + 4;
	if (byte >= bth - 8)
		return byte == bth - 2 || byte == bth - 1;
	if (ip_len(v, frame) == 20)
		return ip == 1 || ip == 8 || ip == 10 || ip == 11;
	// Low nibble of the first byte, the rest of the first word, hop limit.
	return (ip == 0 && bit < 4) || (ip >= 1 && ip <= 3) || ip == 7;
}

TEST(Icrc, CoversExactlyWhatSection24Says)
{
	for (const Vector &v : kVectors) {
		const Bytes clean = frame_of(v);
		const std::uint32_t want = icrc_in(clean);

		for (std::size_t i = v.l3; i < clean.size() - 4; i++) {
			for (unsigned bit = 0; bit < 8; bit++) {
				Bytes frame = clean;

				// A changed version is another packet format.
				if (i == v.l3 && bit >= 4)
					continue;
				frame[i] ^= static_cast<std::uint8_t>(1 << bit);
				ASSERT_EQ(icrc_of(v, frame) == want,
					  is_masked(v, clean, i, bit))
					<< v.name << " byte " << i << " bit "
					<< bit;
			}
		}
	}
}

// Everything in front of the inner header is out of the ICRC's sight.
TEST(Icrc, OuterHeaderIsExcluded)
{
	const Vector &v = vec(14);
	Bytes frame = frame_of(v);

	for (std::size_t i = 0; i < v.l3; i++)
		frame[i] ^= 0xFF;
	EXPECT_EQ(icrc_of(v, frame), icrc_in(frame));
	// The same packet without encapsulation has the same ICRC.
	Frame f = spec_frames()[13];
	f.outer = false;
	Bytes plain = build_frame(f);
	EXPECT_EQ(icrc_in(plain), icrc_in(frame));
}

// §18.3 as field changes rather than bit flips.
TEST(Icrc, Invariances)
{
	const Vector &v2 = vec(2);
	const Bytes clean = frame_of(v2);
	const std::uint32_t want = icrc_in(clean);
	auto with = [&](const std::function<void(Bytes &)> &change) {
		Bytes frame = clean;

		change(frame);
		return icrc_of(v2, frame);
	};
	std::size_t ip = v2.l3, udp = ip + 40, bth = udp + 8;

	EXPECT_EQ(with([&](Bytes &f) { f[ip + 7] = 3; }), want);
	EXPECT_EQ(with([&](Bytes &f) {
			  f[ip] = 0x6B;
			  f[ip + 1] = (f[ip + 1] & 0x0F) | 0x80;
		  }),
		  want);
	EXPECT_EQ(with([&](Bytes &f) { put_unaligned_be16(7, &f[ip + 2]); }),
		  want);
	EXPECT_EQ(with([&](Bytes &f) { f[bth + 4] = 0xC0; }), want);
	EXPECT_NE(with([&](Bytes &f) { put_unaligned_be16(0xC002, &f[udp]); }),
		  want);
	EXPECT_NE(with([&](Bytes &f) { f[bth + 8] ^= 0x80; }), want);
}

// EV[31:16] is not protected, EV[15:0] is.
TEST(Icrc, NewFlowLabelKeepsIt)
{
	Frame f = spec_frames()[1];
	std::uint32_t before = icrc_in(build_frame(f));

	f.entropy ^= 0x00FF0000;
	EXPECT_EQ(icrc_in(build_frame(f)), before);
	f.entropy ^= 0x00000001;
	EXPECT_NE(icrc_in(build_frame(f)), before);
}

// What the masking functions read must end with the BTH.
TEST(Icrc, ReadsNothingBehindTheBth)
{
	for (int n : {1, 2}) {
		const Vector &v = vec(n);
		Bytes frame = frame_of(v);
		auto end = static_cast<std::ptrdiff_t>(bth_of(v, frame) + 12);
		Bytes head(frame.begin() + static_cast<std::ptrdiff_t>(v.l3),
			   frame.begin() + end);

		EXPECT_EQ(mrc_icrc_start(head.data()),
			  mrc_icrc_start(frame.data() + v.l3));
	}
}

} // namespace
