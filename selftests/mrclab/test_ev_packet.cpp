// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The entropy value of a packet, from frames made by hand. */
#include "ev_packet.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace mrclab
{
namespace
{
using Frame = std::vector<uint8_t>;

constexpr uint8_t write_only = 0xca, sack = 0xdc;

Frame operator+(Frame a, const Frame &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

Frame ethernet(uint16_t type)
{
	Frame f(12, 2);

	f.push_back(static_cast<uint8_t>(type >> 8));
	f.push_back(static_cast<uint8_t>(type));
	return f;
}

/* The source ends with @host. */
Frame ipv6(uint8_t next, uint32_t label, uint8_t host)
{
	Frame f(40, 0);

	f[0] = 0x60;
	f[1] = static_cast<uint8_t>(label >> 16 & 0xf);
	f[2] = static_cast<uint8_t>(label >> 8);
	f[3] = static_cast<uint8_t>(label);
	f[6] = next;
	f[8] = 0xfc;
	f[23] = host;
	f[24] = 0xfd;
	return f;
}

/* @words: of options. */
Frame ipv4(uint8_t protocol, uint8_t host, uint8_t words = 0)
{
	Frame f(20 + std::size_t{4} * words, 0);

	f[0] = static_cast<uint8_t>(0x45 + words);
	f[9] = protocol;
	f[12] = 10;
	f[15] = host;
	return f;
}

Frame udp(uint16_t source, uint8_t opcode, uint16_t to = 4791)
{
	return {static_cast<uint8_t>(source >> 8),
		static_cast<uint8_t>(source),
		static_cast<uint8_t>(to >> 8),
		static_cast<uint8_t>(to),
		0,
		0,
		0,
		0,
		opcode,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0};
}

EvPacket from6(uint8_t host, uint32_t entropy)
{
	EvPacket p;

	p.source[0] = 0xfc;
	p.source[15] = host;
	p.entropy = entropy;
	return p;
}

EvPacket from4(uint8_t host, uint32_t entropy)
{
	EvPacket p;

	p.source = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, host};
	p.entropy = entropy;
	return p;
}

const Frame plain =
	ethernet(0x86dd) + ipv6(17, 0x1234, 7) + udp(0xc0de, write_only);
const Frame tunnelled = ethernet(0x86dd) + ipv6(41, 0xabcde, 9) +
			ipv6(17, 0x1234, 7) + udp(0xc0de, write_only);
} // namespace

TEST(EvPacket, IsInUdpOverIpv6)
{
	EXPECT_EQ(parse_ev_packet(plain), from6(7, 0x1234c0de));
	/* An entropy has 16 of the label's 20 bits. */
	EXPECT_EQ(parse_ev_packet(ethernet(0x86dd) + ipv6(17, 0xf1234, 7) +
				  udp(0xc0de, write_only)),
		  from6(7, 0x1234c0de));
}

/* The inner header has the sender and the EV. */
TEST(EvPacket, IsInsideOfSrv6)
{
	EXPECT_EQ(parse_ev_packet(tunnelled), from6(7, 0x1234c0de));
	EXPECT_EQ(parse_ev_packet(ethernet(0x86dd) + ipv6(4, 1, 9) +
				  ipv4(17, 5) + udp(3, write_only)),
		  from4(5, 3));
}

TEST(EvPacket, IsInUdpOverIpv4)
{
	EXPECT_EQ(parse_ev_packet(ethernet(0x0800) + ipv4(17, 5) +
				  udp(0xc0de, write_only)),
		  from4(5, 0xc0de));
	EXPECT_EQ(parse_ev_packet(ethernet(0x0800) + ipv4(17, 5, 3) +
				  udp(0xc0de, write_only)),
		  from4(5, 0xc0de));
}

/* By MRC 1.0 section 3, and volume 1 of InfiniBand. */
TEST(EvPacket, HasPayload)
{
	const auto has = [](unsigned int opcode) {
		return parse_ev_packet(ethernet(0x86dd) + ipv6(17, 0, 1) +
				       udp(1, static_cast<uint8_t>(opcode)))
			.has_value();
	};

	/* MRC, RC, UC, UD. */
	for (const unsigned int op :
	     {0xc0, 0xc5, 0xc6, 0xca, 0xcb, 0xcd, 0xd0, 0xd6, 0xd7, 0x00, 0x06,
	      0x0a, 0x0b, 0x0d, 0x10, 0x20, 0x2b, 0x64, 0x65})
		EXPECT_TRUE(has(op)) << op;
	/* READ, ACK, atomics, endpoint operations, SACK, NACK, probes. */
	for (const unsigned int op :
	     {0xcc, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd8, 0xd9, 0xda, 0xdc, 0xdd,
	      0xde, 0x0c, 0x11, 0x12, 0x13, 0x14})
		EXPECT_FALSE(has(op)) << op;
}

TEST(EvPacket, IsInNothingElse)
{
	const Frame wrong[] = {
		{},
		ethernet(0x86dd),
		ethernet(0x0806) + ipv6(17, 0, 7) + udp(1, write_only),
		/* The version does not fit the type. */
		ethernet(0x0800) + ipv6(17, 0, 7) + udp(1, write_only),
		ethernet(0x86dd) + ipv4(17, 7) + udp(1, write_only),
		ethernet(0x86dd) + ipv6(6, 0, 7) + udp(1, write_only),
		ethernet(0x0800) + ipv4(6, 7) + udp(1, write_only),
		ethernet(0x86dd) + ipv6(17, 0, 7) + udp(1, write_only, 53),
		ethernet(0x86dd) + ipv6(17, 0, 7) + udp(1, sack),
		/* A tunnel in a tunnel. */
		ethernet(0x86dd) + ipv6(41, 0, 7) + ipv6(41, 0, 7) +
			ipv6(17, 0, 7) + udp(1, write_only),
	};

	for (const Frame &f : wrong)
		EXPECT_FALSE(parse_ev_packet(f).has_value()) << f.size();
}

/* Up to the opcode all bytes are needed; the rest is not looked at. */
TEST(EvPacket, MayBeCutOff)
{
	for (const Frame &whole :
	     {plain, tunnelled,
	      ethernet(0x0800) + ipv4(17, 5, 10) + udp(1, write_only)}) {
		const std::size_t enough = whole.size() - 11;

		for (std::size_t n = 0; n <= whole.size(); n++) {
			/* A vector of its own, so that reading behind it shows.
			 */
			const Frame f(whole.begin(),
				      whole.begin() +
					      static_cast<std::ptrdiff_t>(n));

			EXPECT_EQ(parse_ev_packet(f).has_value(), n >= enough)
				<< n << " of " << whole.size();
		}
	}
	EXPECT_EQ(tunnelled.size(), ev_packet_headers);
}

/* A wrong length of the header leads nowhere. */
TEST(EvPacket, HasAnyIpv4Header)
{
	for (unsigned int first = 0; first < 256; first++) {
		Frame f = ethernet(0x0800) + ipv4(17, 5) + udp(1, write_only);

		f[14] = static_cast<uint8_t>(first);
		EXPECT_EQ(parse_ev_packet(f).has_value(), first == 0x45)
			<< first;
	}
}
} // namespace mrclab
