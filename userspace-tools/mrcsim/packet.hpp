/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: a packet under way, in one cache line. It has what the network needs
 * and what the headers are made of again at the receiver, see header.hpp.
 */
#pragma once

#include "mrc_base.h"

namespace mrcsim
{
constexpr u32 no_packet = ~0u;

/* Bits of Packet::flags. */
enum PacketFlag : u8 {
	packet_a = 1,	       /* BTH.a */
	packet_rtx = 2,	       /* BTH.rtx */
	packet_ts = 4,	       /* has a timestamp */
	packet_ce = 8,	       /* marked on the way */
	packet_control = 16,   /* of the class that is sent first */
	packet_may_trim = 32,  /* data of a class that switches may trim */
	packet_trimmed = 64,   /* without payload */
	packet_last_hop = 128, /* trimmed on the link to the receiver */
};

struct alignas(64) Packet {
	struct Data {
		u32 entropy;
		u32 offset;  /* of the payload in the message */
		u32 message; /* bytes of it */
		u16 payload;
		u16 msn;
		u16 probe_id; /* of a probe */
		u32 flow;
	};
	struct Sack {
		u32 entropy;
		u32 bitmap[2];
		u32 cack : 24, m : 2, probe : 1, restore : 1;
		u32 rcvd : 24, mpr : 8;
		u16 sack_offset;
		u16 ack_offset; /* or the id of the probe */
		u16 ooo;
		u8 pen;
	};
	struct Other {
		u32 entropy;
		u32 number; /* AETH.msn, the NACKed PSN, ports of an update */
		u8 code;    /* syndrome, reason, operation */
		u8 vendor;
	};

	u64 at;	  /* ps, when its last bit is at the end of the link */
	u32 next; /* in the queue of the link */
	u32 qp;
	u32 psn;
	u32 dst;  /* host */
	u16 up0;  /* uplink that its T0 takes */
	u16 up1;  /* uplink that its T1 takes, of three tiers */
	u16 size; /* bytes on the wire */
	u16 stamp;
	u8 opcode;
	u8 port;  /* 1-based: plane and NIC port */
	u8 epoch; /* of the link when it was queued */
	u8 flags;
	union {
		Data data;
		Sack sack;
		Other other;
	};

	bool has(u8 flag) const { return flags & flag; }
};
static_assert(sizeof(Packet) == 64);
} // namespace mrcsim
