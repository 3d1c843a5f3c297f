/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: IP and UDP around an MRC packet, and the ICRC, MRC 1.0 §2. */
#pragma once

#include <compare>

#include "codec.hpp"

struct sockaddr_storage;

namespace mrcconform
{
/* An IPv4 or IPv6 address. */
class Address
{
public:
	Address() = default;
	/* Throws UsageError. */
	static Address parse(const std::string &text);
	/* @bytes: 4 or 16 of them. */
	static Address from_bytes(std::span<const uint8_t> bytes);

	bool v6() const { return v6_; }
	std::span<const uint8_t> bytes() const
	{
		return {raw_.data(), v6_ ? 16u : 4u};
	}
	std::string text() const;
	/* The GID: 16 bytes, an IPv4 address mapped. */
	std::array<uint8_t, 16> gid() const;
	/* Returns the length. */
	uint32_t to_sockaddr(sockaddr_storage &out, uint16_t port) const;

	/* NOLINTNEXTLINE(modernize-use-nullptr): a false alarm */
	auto operator<=>(const Address &) const = default;

private:
	bool v6_ = false;
	std::array<uint8_t, 16> raw_{};
};

/* A datagram: what the packet has, and between whom. */
struct Datagram {
	Address src, dst;
	Packet packet;
	/* Why it is no packet of MRC; empty if it is one. */
	std::string fault;
};

/* Bytes before the BTH. */
constexpr uint32_t ip_header(bool v6)
{
	return v6 ? 40 : 20;
}
constexpr uint32_t udp_header = 8;
constexpr uint32_t icrc_length = 4;

/*
 * An IP packet around @body (BTH and what follows, without the ICRC), with the
 * IP and UDP fields of @p, and with its ICRC.
 */
Bytes wrap(const Address &src, const Address &dst, const Packet &p,
	   std::span<const uint8_t> body);
/* The same for all of @p. */
Bytes encode(const Address &src, const Address &dst, const Packet &p);
/* Computes the ICRC of a whole IP packet and stores it in its last bytes. */
void seal(Bytes &ip_packet);
/* The lengths and the checksum of the IP header, after a change of the size. */
void fix_lengths(Bytes &ip_packet);
/* ICRC of an IP packet, which @ip_packet has without its last four bytes. */
uint32_t icrc(std::span<const uint8_t> ip_packet);

/*
 * Parses an IP packet with a UDP datagram. Returns nothing if it is something
 * else.
 */
std::optional<Datagram> decode(std::span<const uint8_t> ip_packet);

/*
 * An outer IPv6 header to @sid, around an IPv6 packet. With o.next = 43 there
 * is a routing header, whose only segment is @sid and was reached.
 */
Bytes enclose(const Address &src, const Address &sid, const Outer &o,
	      std::span<const uint8_t> ip_packet);
/* Takes an outer header off. Returns nothing if @packet has none. */
std::optional<Outer> disclose(std::span<const uint8_t> &packet);

/* Entropy of a packet: flow label and source port, §11.2. */
uint32_t entropy_of(const Packet &p, bool v6);
/* Length of the UDP datagram of a packet, §7.1: nominal size minus 40. */
uint32_t udp_length(const Packet &p);
} // namespace mrcconform
