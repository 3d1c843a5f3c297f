/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: the entropy value of a packet, from its headers. */
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace mrclab
{
/* A packet with payload, of MRC or RoCE v2. */
struct EvPacket {
	/* The sender's address; IPv4 is written as in ::ffff:192.0.2.1. */
	std::array<uint8_t, 16> source{};
	/* The UDP source port, and above it 16 bits of IPv6's flow label. */
	uint32_t entropy = 0;

	bool operator==(const EvPacket &) const = default;
};

/* So much of a frame has all headers, with two IPv6 headers. */
constexpr std::size_t ev_packet_headers = 14 + 40 + 40 + 8 + 12;

/*
 * Looks at the first bytes of an Ethernet frame. Nothing for what carries no
 * payload (feedback, probes, requests), for other protocols, and for frames
 * that are too short.
 */
std::optional<EvPacket> parse_ev_packet(std::span<const uint8_t> frame);
} // namespace mrclab
