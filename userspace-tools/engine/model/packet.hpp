// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Packets on their way from one host to another. The lower layers use the same
// data of every packet. How much of the contents exists depends on the purpose.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "mrc_req.h"
#include "mrc_resp.h"

namespace mrc_model
{

// Preamble, header, checksum and gap of an Ethernet frame, in bytes.
constexpr u32 kEthernet = 38;

// Data of the lower layers, which the network may change. Links and queues need
// only this and three functions of the packets below: opcode(); nak(), whether
// it is a transport NAK; and cut(n) for packets that may be trimmed.
struct Frame {
	u32 entropy = 0; // as the receiver sees it, MRC 1.0 §11.2
	u8 port = 1;	 // the plane that carries it
	u8 tc = MRC_TC_DATA;
	bool ce = false;
	u8 trim = MRC_TRIM_NONE;

	Frame() = default;
	// IPv4 has no flow label.
	explicit Frame(const mrc_tx_desc &d, bool ipv6 = true)
		: entropy(ipv6 ? d.entropy : d.entropy & 0xFFFF), port(d.port),
		  tc(d.tc)
	{
	}

	// Whether a switch may trim the packet, MRC 1.0 §15.
	bool trimmable() const
	{
		return tc == MRC_TC_TRIMMABLE || tc == MRC_TC_TRIMMABLE_RETX;
	}

	// The packet as input of the engine; @at: ns, see struct mrc_rx.
	mrc_rx rx(const mrc_hdr &h, u64 at) const
	{
		return {&h, entropy, port, ce, trim, at};
	}
};

// The whole packet from the BTH to the ICRC: for forging, copying and
// comparing.
struct Packet : Frame {
	std::vector<u8> bytes;

	Packet() = default;
	// The payload and the ICRC are zero; see headers().
	explicit Packet(const mrc_tx_desc &d, bool ipv6 = true) : Frame(d, ipv6)
	{
		const u32 payload = d.data ? d.len + d.hdr.pad : 0;

		bytes.assign(mrc_hdr_len(&d.hdr) + payload + MRC_ICRC_LEN, 0);
		if (mrc_hdr_build(&d.hdr, bytes.data(), size()) !=
		    mrc_hdr_len(&d.hdr))
			bytes.clear(); // no engine describes such a packet
	}

	u32 size() const { return static_cast<u32>(bytes.size()); }
	u8 opcode() const { return bytes[0]; }
	u32 psn() const { return get_unaligned_be32(&bytes[8]) & MRC_PSN_MASK; }
	bool data() const
	{
		return mrc_op_info(opcode())->flags & MRC_OPF_DATA;
	}
	bool control() const
	{
		return mrc_op_info(opcode())->flags & MRC_OPF_CONTROL;
	}
	bool nak() const
	{
		return opcode() == MRC_OP_ACK && bytes[12] != MRC_SYN_ACK;
	}

	// Keeps only the first @n bytes.
	void cut(u32 n) { bytes.resize(std::min<std::size_t>(size(), n)); }

	// Parses the headers like the receiver, which has special rules for
	// trimmed packets.
	mrc_drop parse(mrc_hdr &h) const
	{
		return trim ? mrc_hdr_parse_trimmed(bytes.data(), size(), &h)
			    : mrc_hdr_parse(bytes.data(), size(), size(), &h);
	}

	// The data after the headers that parse() found, or the last byte if
	// there is none.
	const u8 *payload(const mrc_hdr &h) const
	{
		return &bytes[std::min<std::size_t>(h.hdr_len, size() - 1)];
	}
};

// Headers in wire format, and only the length of the payload: the part that a
// host builds and parses. Never trimmed.
struct HeadPacket : Frame {
	std::array<u8, MRC_HDR_MAX> head;
	u32 head_len;
	u32 payload; // bytes, including padding

	explicit HeadPacket(const mrc_tx_desc &d)
		: Frame(d),
		  head_len(mrc_hdr_build(&d.hdr, head.data(), head.size())),
		  payload(d.data ? d.len + d.hdr.pad : 0)
	{
	}

	u8 opcode() const { return head[0]; }
	bool nak() const
	{
		return opcode() == MRC_OP_ACK && head[12] != MRC_SYN_ACK;
	}

	mrc_drop parse(mrc_hdr &h) const
	{
		return mrc_hdr_parse(head.data(), head_len,
				     head_len + payload + MRC_ICRC_LEN, &h);
	}
};

// Headers in the engines' format: the cheapest kind, for many hosts. A trimmed
// packet keeps the parts that a receiver may read.
struct HdrPacket : Frame {
	mrc_hdr hdr{};
	u32 size = 0; // bytes on an Ethernet link

	HdrPacket() = default;
	explicit HdrPacket(const mrc_tx_desc &d)
		: Frame(d), hdr(d.hdr),
		  size(mrc_nominal_size(d.hdr.hdr_len, d.data ? d.len : 0) +
		       kEthernet)
	{
	}

	u8 opcode() const { return hdr.opcode; }
	bool nak() const
	{
		return opcode() == MRC_OP_ACK &&
		       hdr.aeth.syndrome != MRC_SYN_ACK;
	}
	// A switch always keeps the headers.
	void cut(u32) { hdr.payload_len = 0; }
};

} // namespace mrc_model
