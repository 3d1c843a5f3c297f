/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fields of a RoCE frame, where they are in it: those of IP and UDP, of an
 * outer IPv6 header, of MRC 1.0 (by the tables of mrcconform), and of the
 * extension (Documentation/extension.md).
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace devfuzz
{
constexpr std::size_t ether = 14; /* bytes before the first IP header */

/*
 * Where the innermost IP header of a RoCE packet is, and its UDP header;
 * nothing for other packets. Outer IPv6 headers and segment routing headers go
 * before it.
 */
struct Place {
	std::size_t ip, udp;
};

std::optional<Place> find_roce(std::span<const uint8_t> frame);

/* One that a frame has. */
struct Wire_field {
	unsigned index;	 /* of field_names() */
	std::size_t bit; /* from the start of the frame */
	unsigned width;
	/* Of the IP or UDP header, which is not made right again after it. */
	bool shape;
};

/* The names of all fields, of all kinds of packets. */
const std::vector<std::string> &field_names();

/* Those that are whole in @frame. */
std::vector<Wire_field> fields_of(std::span<const uint8_t> frame,
				  const Place &at);
} // namespace devfuzz
