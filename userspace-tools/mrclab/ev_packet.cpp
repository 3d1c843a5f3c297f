// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "ev_packet.hpp"

#include <algorithm>

namespace mrclab
{
namespace
{
constexpr uint16_t roce_port = 4791;
constexpr uint16_t ethertype_ipv4 = 0x0800, ethertype_ipv6 = 0x86dd;
constexpr uint8_t protocol_udp = 17, protocol_ipv4 = 4, protocol_ipv6 = 41;
constexpr std::size_t ethernet_length = 14, ipv6_length = 40, udp_length = 8;

using Bytes = std::span<const uint8_t>;

uint32_t be16(Bytes b, std::size_t at)
{
	return static_cast<uint32_t>(b[at]) << 8 | b[at + 1];
}

/*
 * The lower five bits mean the same in all transports of RoCE v2 and in MRC:
 * SEND and WRITE, the answers to READ, and SEND with Invalidate. What is
 * between them are requests, acknowledgements and probes.
 */
bool has_payload(uint8_t opcode)
{
	const unsigned int op = opcode & 0x1f;

	return op <= 0x0b || (op >= 0x0d && op <= 0x10) || op == 0x16 ||
	       op == 0x17;
}

/* From UDP on. @label: the flow label's bits of the entropy. */
bool take_udp(Bytes b, uint32_t label, EvPacket &p)
{
	if (b.size() <= udp_length || be16(b, 2) != roce_port ||
	    !has_payload(b[udp_length]))
		return false;
	p.entropy = label << 16 | be16(b, 0);
	return true;
}

bool take_ipv4(Bytes b, EvPacket &p)
{
	const std::size_t length =
		b.empty() ? 0 : std::size_t{4} * (b[0] & 0xf);

	if (b.size() < 20 || length < 20 || b.size() < length ||
	    b[0] >> 4 != 4 || b[9] != protocol_udp)
		return false;
	p.source[10] = p.source[11] = 0xff;
	std::copy_n(b.begin() + 12, 4, p.source.begin() + 12);
	return take_udp(b.subspan(length), 0, p);
}

/* @inside: in another IPv6 header, as SRv6 has it. */
bool take_ipv6(Bytes b, bool inside, EvPacket &p)
{
	if (b.size() < ipv6_length || b[0] >> 4 != 6)
		return false;

	const Bytes rest = b.subspan(ipv6_length);

	if (!inside && b[6] == protocol_ipv6)
		return take_ipv6(rest, true, p);
	if (!inside && b[6] == protocol_ipv4)
		return take_ipv4(rest, p);
	if (b[6] != protocol_udp)
		return false;
	std::copy_n(b.begin() + 8, p.source.size(), p.source.begin());
	return take_udp(rest, be16(b, 2), p);
}
} // namespace

std::optional<EvPacket> parse_ev_packet(Bytes frame)
{
	EvPacket p;

	if (frame.size() < ethernet_length)
		return {};

	const uint32_t type = be16(frame, 12);
	const Bytes rest = frame.subspan(ethernet_length);

	if (type == ethertype_ipv6
		    ? take_ipv6(rest, false, p)
		    : type == ethertype_ipv4 && take_ipv4(rest, p))
		return p;
	return {};
}
} // namespace mrclab
