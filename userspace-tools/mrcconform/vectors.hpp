/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: the frames of vectors/, as files that other programs can read. */
#pragma once

#include "ip.hpp"

namespace mrcconform
{
struct Vector {
	std::string name, section, what;
	/* From the Ethernet header to the ICRC. */
	Bytes frame;
	/* Bytes of an outer IPv6 header; 0 without SRv6. */
	uint32_t outer = 0;
	Address src, dst;
	/* Fields that the file does not name are 0. */
	Packet packet;
	/* The masked bytes that the ICRC covers, if the file has them. */
	Bytes icrc_input;
	uint32_t icrc = 0;

	/* The inner IP packet. */
	std::span<const uint8_t> ip_packet() const
	{
		return std::span(frame).subspan(14 + outer);
	}
};

/* Parses the text of a file. Throws FormatError. */
Vector parse_vector(const std::string &json);
} // namespace mrcconform
