// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "ip.hpp"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "error.hpp"

namespace mrcconform
{
namespace
{
constexpr uint8_t proto_udp = 17;
constexpr uint8_t proto_ipv6 = 41;
constexpr uint8_t proto_routing = 43;
/* A segment routing header with one segment, RFC 8754. */
constexpr uint8_t routing_type_srh = 4;
constexpr size_t srh_length = 24;

void put16(Bytes &b, size_t at, uint64_t v)
{
	b[at] = static_cast<uint8_t>(v >> 8);
	b[at + 1] = static_cast<uint8_t>(v);
}

uint32_t get16(std::span<const uint8_t> b, size_t at)
{
	return static_cast<uint32_t>(b[at] << 8 | b[at + 1]);
}

/* The register of the CRC-32 of Ethernet. */
uint32_t crc32(uint32_t crc, std::span<const uint8_t> bytes)
{
	static const auto table = [] {
		std::array<uint32_t, 256> t{};

		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (int k = 0; k < 8; k++)
				c = c & 1 ? c >> 1 ^ 0xEDB88320 : c >> 1;
			t[i] = c;
		}
		return t;
	}();

	for (const uint8_t b : bytes)
		crc = crc >> 8 ^ table[(crc ^ b) & 0xFF];
	return crc;
}

void ipv4_checksum(Bytes &packet)
{
	uint32_t sum = 0;

	put16(packet, 10, 0);
	for (size_t i = 0; i < 20; i += 2)
		sum += get16(packet, i);
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	put16(packet, 10, ~sum & 0xFFFF);
}
} // namespace

Address Address::parse(const std::string &text)
{
	Address a;

	if (inet_pton(AF_INET, text.c_str(), a.raw_.data()) == 1)
		return a;
	if (inet_pton(AF_INET6, text.c_str(), a.raw_.data()) == 1) {
		a.v6_ = true;
		return a;
	}
	throw UsageError("'" + text + "' is no address");
}

Address Address::from_bytes(std::span<const uint8_t> bytes)
{
	Address a;

	a.v6_ = bytes.size() == 16;
	std::ranges::copy(bytes, a.raw_.begin());
	return a;
}

std::string Address::text() const
{
	char buf[INET6_ADDRSTRLEN];

	return inet_ntop(v6_ ? AF_INET6 : AF_INET, raw_.data(), buf,
			 sizeof(buf));
}

std::array<uint8_t, 16> Address::gid() const
{
	std::array<uint8_t, 16> g{};

	if (v6_)
		return raw_;
	g[10] = g[11] = 0xFF;
	std::copy_n(raw_.begin(), 4, g.begin() + 12);
	return g;
}

uint32_t Address::to_sockaddr(sockaddr_storage &out, uint16_t port) const
{
	out = {};
	if (v6_) {
		sockaddr_in6 sa{};

		sa.sin6_family = AF_INET6;
		sa.sin6_port = htons(port);
		std::memcpy(&sa.sin6_addr, raw_.data(), 16);
		std::memcpy(&out, &sa, sizeof(sa));
		return sizeof(sa);
	}
	sockaddr_in sa{};

	sa.sin_family = AF_INET;
	sa.sin_port = htons(port);
	std::memcpy(&sa.sin_addr, raw_.data(), 4);
	std::memcpy(&out, &sa, sizeof(sa));
	return sizeof(sa);
}

uint32_t icrc(std::span<const uint8_t> ip_packet)
{
	static constexpr std::array<uint8_t, 8> ones{0xFF, 0xFF, 0xFF, 0xFF,
						     0xFF, 0xFF, 0xFF, 0xFF};
	const bool v6 = ip_packet[0] >> 4 == 6;
	const size_t udp = ip_header(v6);
	const size_t masked =
		std::min<size_t>(udp + udp_header + 5, ip_packet.size());
	Bytes head(ip_packet.begin(),
		   ip_packet.begin() + static_cast<long>(masked));

	if (v6) {
		head[0] |= 0x0F;
		head[1] = head[2] = head[3] = 0xFF;
		head[7] = 0xFF;
	} else {
		head[1] = head[8] = head[10] = head[11] = 0xFF;
	}
	head[udp + 6] = head[udp + 7] = 0xFF;
	if (head.size() == udp + udp_header + 5)
		head.back() = 0xFF;
	return ~crc32(crc32(crc32(~0u, ones), head), ip_packet.subspan(masked));
}

void fix_lengths(Bytes &packet)
{
	const bool v6 = packet[0] >> 4 == 6;
	const size_t udp = ip_header(v6);

	put16(packet, udp + 4, packet.size() - udp);
	if (v6) {
		put16(packet, 4, packet.size() - udp);
		return;
	}
	put16(packet, 2, packet.size());
	ipv4_checksum(packet);
}

void seal(Bytes &packet)
{
	const size_t end = packet.size() - icrc_length;
	const uint32_t crc = icrc(std::span(packet).first(end));

	for (size_t i = 0; i < icrc_length; i++)
		packet[end + i] = static_cast<uint8_t>(crc >> (8 * i));
}

Bytes wrap(const Address &src, const Address &dst, const Packet &p,
	   std::span<const uint8_t> body)
{
	const bool v6 = src.v6();
	const size_t udp = ip_header(v6);
	Bytes b(udp + udp_header);

	if (v6) {
		b[0] = static_cast<uint8_t>(0x60 | p[F::tos] >> 4);
		b[1] = static_cast<uint8_t>(p[F::tos] << 4 | p[F::flow] >> 16);
		put16(b, 2, p[F::flow]);
		b[6] = proto_udp;
		b[7] = static_cast<uint8_t>(p[F::ttl]);
		std::ranges::copy(src.bytes(), b.begin() + 8);
		std::ranges::copy(dst.bytes(), b.begin() + 24);
	} else {
		b[0] = 0x45;
		b[1] = static_cast<uint8_t>(p[F::tos]);
		put16(b, 4, p[F::ip_id]);
		put16(b, 6, p[F::ip_frag]);
		b[8] = static_cast<uint8_t>(p[F::ttl]);
		b[9] = proto_udp;
		std::ranges::copy(src.bytes(), b.begin() + 12);
		std::ranges::copy(dst.bytes(), b.begin() + 16);
	}
	put16(b, udp, p[F::sport]);
	put16(b, udp + 2, p[F::dport]);
	put16(b, udp + 6, p[F::udp_sum]);
	b.insert(b.end(), body.begin(), body.end());
	b.resize(b.size() + icrc_length);
	fix_lengths(b);
	seal(b);
	return b;
}

Bytes encode(const Address &src, const Address &dst, const Packet &p)
{
	return wrap(src, dst, p, pack(p));
}

std::optional<Datagram> decode(std::span<const uint8_t> ip_packet)
{
	Datagram d;
	Packet &p = d.packet;

	if (ip_packet.size() < 20)
		return {};
	const bool v6 = ip_packet[0] >> 4 == 6;
	const size_t udp = ip_header(v6);

	if ((!v6 && ip_packet[0] != 0x45) ||
	    ip_packet.size() < udp + udp_header ||
	    ip_packet[v6 ? 6 : 9] != proto_udp)
		return {};

	const size_t end = v6 ? udp + get16(ip_packet, 4) : get16(ip_packet, 2);

	if (end > ip_packet.size() || end < udp + udp_header)
		return {};
	ip_packet = ip_packet.first(end);
	if (v6) {
		p[F::tos] = get16(ip_packet, 0) >> 4 & 0xFF;
		p[F::flow] = (ip_packet[1] & 0xFu) << 16 | get16(ip_packet, 2);
		p[F::ttl] = ip_packet[7];
		d.src = Address::from_bytes(ip_packet.subspan(8, 16));
		d.dst = Address::from_bytes(ip_packet.subspan(24, 16));
	} else {
		p[F::tos] = ip_packet[1];
		p[F::ip_id] = get16(ip_packet, 4);
		p[F::ip_frag] = get16(ip_packet, 6);
		p[F::ttl] = ip_packet[8];
		d.src = Address::from_bytes(ip_packet.subspan(12, 4));
		d.dst = Address::from_bytes(ip_packet.subspan(16, 4));
	}
	p[F::sport] = get16(ip_packet, udp);
	p[F::dport] = get16(ip_packet, udp + 2);
	p[F::udp_sum] = get16(ip_packet, udp + 6);
	if (get16(ip_packet, udp + 4) != end - udp) {
		d.fault = "a UDP length that is not that of the packet";
		return d;
	}
	if (end - udp < udp_header + icrc_length) {
		d.fault = "no room for an ICRC";
		return d;
	}

	const auto covered = ip_packet.first(end - icrc_length);
	const uint32_t crc = icrc(covered);

	p.icrc_ok = true;
	for (size_t i = 0; i < icrc_length; i++)
		if (ip_packet[covered.size() + i] !=
		    static_cast<uint8_t>(crc >> (8 * i)))
			p.icrc_ok = false;
	d.fault = unpack(covered.subspan(udp + udp_header), p);
	return d;
}

Bytes enclose(const Address &src, const Address &sid, const Outer &o,
	      std::span<const uint8_t> inner)
{
	const bool routed = o.next == proto_routing;
	const size_t header = ip_header(true) + (routed ? srh_length : 0);
	Bytes b(header);

	b[0] = static_cast<uint8_t>(0x60 | o.tos >> 4);
	b[1] = static_cast<uint8_t>(o.tos << 4 | (o.flow >> 16 & 0xF));
	put16(b, 2, o.flow & 0xFFFF);
	put16(b, 4, header - ip_header(true) + inner.size());
	b[6] = o.next;
	b[7] = o.ttl;
	std::ranges::copy(src.bytes(), b.begin() + 8);
	std::ranges::copy(sid.bytes(), b.begin() + 24);
	if (routed) {
		uint8_t *srh = b.data() + ip_header(true);

		srh[0] = proto_ipv6;
		srh[1] = srh_length / 8 - 1;
		srh[2] = routing_type_srh;
		std::ranges::copy(sid.bytes(), srh + 8);
	}
	b.insert(b.end(), inner.begin(), inner.end());
	return b;
}

std::optional<Outer> disclose(std::span<const uint8_t> &packet)
{
	size_t header = ip_header(true);
	Outer o;

	if (packet.size() < header || packet[0] >> 4 != 6)
		return {};

	const size_t end = header + get16(packet, 4);

	o.next = packet[6];
	o.ttl = packet[7];
	o.tos = static_cast<uint8_t>(get16(packet, 0) >> 4);
	o.flow = (packet[1] & 0xFu) << 16 | get16(packet, 2);
	if (end > packet.size())
		return {};
	if (o.next == proto_routing) {
		if (end < header + srh_length)
			return {};

		const auto srh = packet.subspan(header, srh_length);

		if (srh[0] != proto_ipv6 || srh[1] != srh_length / 8 - 1 ||
		    srh[2] != routing_type_srh)
			return {};
		header += srh_length;
	} else if (o.next != proto_ipv6) {
		return {};
	}
	packet = packet.first(end).subspan(header);
	return o;
}

uint32_t entropy_of(const Packet &p, bool v6)
{
	return static_cast<uint32_t>((v6 ? (p[F::flow] & 0xFFFF) << 16 : 0) |
				     p[F::sport]);
}

uint32_t udp_length(const Packet &p)
{
	return static_cast<uint32_t>(udp_header + pack(p).size() + icrc_length);
}
} // namespace mrcconform
