// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Outer headers of SRv6: the vector, both forms there and back, and packets cut
 * short. */
#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "vectors.hpp"

namespace mrcconform
{
namespace
{
const Address self = Address::parse("fd00:1::1");
const Address peer = Address::parse("fd00:1::2");
const Address port = Address::parse("fd00:2::1");
const Address sid = Address::parse("fcbb:0:20:32::");

Bytes inner()
{
	Packet p(op_write_only);

	p.payload = Bytes(64, 0x5A);
	return encode(self, peer, p);
}

Outer sample(uint8_t next)
{
	Outer o;

	o.next = next;
	o.tos = 0xB9;
	o.ttl = 61;
	o.flow = 0x54321;
	return o;
}

TEST(OuterHeader, VectorIsTakenOff)
{
	std::ostringstream text;

	text << std::ifstream(VECTORS_DIR "/v14-srv6.json").rdbuf();

	const Vector v = parse_vector(text.str());
	auto packet = std::span<const uint8_t>(v.frame).subspan(14);
	const auto o = disclose(packet);

	ASSERT_TRUE(o);
	EXPECT_EQ(o->next, 41);
	EXPECT_TRUE(std::ranges::equal(packet, v.ip_packet()));
}

TEST(OuterHeader, ThereAndBack)
{
	const Bytes in = inner();

	for (const uint8_t next : {41, 43}) {
		const Outer o = sample(next);
		const Bytes out = enclose(port, sid, o, in);
		std::span<const uint8_t> packet(out);
		const auto back = disclose(packet);

		EXPECT_EQ(out.size(), in.size() + (next == 41 ? 40 : 64));
		EXPECT_TRUE(std::equal(sid.bytes().begin(), sid.bytes().end(),
				       out.begin() + 24));
		ASSERT_TRUE(back);
		EXPECT_EQ(back->next, o.next);
		EXPECT_EQ(back->tos, o.tos);
		EXPECT_EQ(back->ttl, o.ttl);
		EXPECT_EQ(back->flow, o.flow);
		EXPECT_TRUE(std::ranges::equal(packet, in));
	}
}

TEST(OuterHeader, PlainPacketsAreLeftAlone)
{
	const Address v4 = Address::parse("10.1.0.1");

	for (const Bytes &b : {inner(), encode(v4, v4, Packet(op_probe))}) {
		std::span<const uint8_t> packet(b);

		EXPECT_FALSE(disclose(packet));
		EXPECT_TRUE(std::ranges::equal(packet, b));
	}
}

/* Each cut copy has a place of its own, so that ASan sees reads behind it. */
TEST(OuterHeader, CutAndSpoiledPackets)
{
	std::mt19937 random(14);

	for (const uint8_t next : {41, 43}) {
		const Bytes out = enclose(port, sid, sample(next), inner());

		for (size_t n = 0; n < out.size(); n++) {
			const Bytes cut(out.begin(),
					out.begin() + static_cast<long>(n));
			std::span<const uint8_t> packet(cut);

			EXPECT_FALSE(disclose(packet)) << n;
			EXPECT_EQ(packet.size(), n);
		}
		for (int i = 0; i < 20000; i++) {
			Bytes spoiled = out;

			for (int k = 0; k < 3; k++)
				spoiled[random() % 64] =
					static_cast<uint8_t>(random());

			std::span<const uint8_t> packet(spoiled);

			if (disclose(packet)) {
				EXPECT_LE(packet.size(), spoiled.size() - 40);
				decode(packet);
			}
		}
	}
}
} // namespace
} // namespace mrcconform
