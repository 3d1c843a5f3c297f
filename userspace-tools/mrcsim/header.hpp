/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: from the engine's description of a packet to the record of the
 * simulation, and back to the headers that the receiver's engine reads.
 */
#pragma once

#include <cstring>

#include "mrc_req.h"
#include "mrc_resp.h"

#include "packet.hpp"

namespace mrcsim
{
/*
 * What of @d belongs into @k. Of the network's members only flags, port, opcode
 * and size are set. @extra: bytes of a frame beyond the nominal size of MRC 1.0
 * §7.1. @flow: of which data are a part.
 */
inline void pack(const mrc_tx_desc &d, s32 extra, u32 flow, Packet &k)
{
	const mrc_hdr &h = d.hdr;
	u8 flags = 0;

	k.psn = h.psn;
	k.stamp = h.tstamp;
	k.opcode = h.opcode;
	k.port = d.port;
	if (h.a)
		flags |= packet_a;
	if (h.rtx)
		flags |= packet_rtx;
	if (h.ftype == MRC_TS_FTYPE)
		flags |= packet_ts;
	if (d.tc == MRC_TC_CONTROL)
		flags |= packet_control;
	else if (d.data && d.tc != MRC_TC_DATA)
		flags |= packet_may_trim;
	k.flags = flags;
	k.size = static_cast<u16>(static_cast<s32>(mrc_nominal_size(
					  h.hdr_len, d.data ? d.len : 0)) +
				  extra);
	if (d.data) {
		k.data = {.entropy = d.entropy,
			  .offset = static_cast<u32>(h.reth.va),
			  .message = h.reth.dmalen,
			  .payload = static_cast<u16>(d.len),
			  .msn = h.msn,
			  .probe_id = 0,
			  .flow = flow};
		return;
	}
	switch (h.opcode) {
	case MRC_OP_SACK: {
		const mrc_seth &s = h.seth;

		k.sack = {.entropy = s.entropy,
			  .bitmap = {static_cast<u32>(s.bitmap),
				     static_cast<u32>(s.bitmap >> 32)},
			  .cack = s.cack_psn & 0xFFFFFF,
			  .m = static_cast<u8>(s.m & 3u),
			  .probe = s.pr,
			  .restore = s.restore_cwnd,
			  .rcvd = s.rcvd_bytes & 0xFFFFFF,
			  .mpr = s.mpr,
			  .sack_offset = static_cast<u16>(s.sack_offset),
			  .ack_offset =
				  s.pr ? s.probe_id
				       : static_cast<u16>(s.ack_psn_offset),
			  .ooo = s.ooo_count,
			  .pen = s.rcv_cwnd_pen};
		break;
	}
	case MRC_OP_NACK:
		k.other = {.entropy = h.neth.entropy,
			   .number = h.neth.nack_psn,
			   .code = h.neth.reason,
			   .vendor = h.neth.vendor};
		break;
	case MRC_OP_PROBE:
		k.data.entropy = d.entropy;
		k.data.probe_id = h.peth.probe_id;
		break;
	case MRC_OP_ENDPOINT_REQ:
	case MRC_OP_ENDPOINT_RESP:
		k.other = {.entropy = d.entropy,
			   .number = h.epop.port_mask,
			   .code = h.epop.op,
			   .vendor = h.epop.vendor};
		break;
	default:
		k.other = {.entropy = d.entropy,
			   .number = h.aeth.msn,
			   .code = h.aeth.syndrome,
			   .vendor = 0};
		break;
	}
}

/* The headers of @k as mrc_hdr_parse() would return them. */
inline void unpack(const Packet &k, mrc_hdr &h)
{
	std::memset(&h, 0, sizeof(h));
	h.opcode = k.opcode;
	h.a = k.has(packet_a);
	h.rtx = k.has(packet_rtx);
	h.pkey = MRC_PKEY_DEFAULT;
	h.psn = k.psn;
	h.tstamp = k.stamp;
	h.ftype = k.has(packet_ts) ? MRC_TS_FTYPE : 0;
	switch (k.opcode) {
	case MRC_OP_SACK: {
		mrc_seth &s = h.seth;

		s.m = static_cast<u8>(k.sack.m);
		s.pr = k.sack.probe;
		if (s.pr)
			s.probe_id = k.sack.ack_offset;
		else
			s.ack_psn_offset = static_cast<s16>(k.sack.ack_offset);
		s.entropy = k.sack.entropy;
		s.cack_psn = k.sack.cack;
		s.mpr = static_cast<u8>(k.sack.mpr);
		s.sack_offset = static_cast<s16>(k.sack.sack_offset);
		s.bitmap = u64{k.sack.bitmap[1]} << 32 | k.sack.bitmap[0];
		s.ooo_count = k.sack.ooo;
		s.restore_cwnd = k.sack.restore;
		s.rcv_cwnd_pen = k.sack.pen;
		s.rcvd_bytes = k.sack.rcvd;
		break;
	}
	case MRC_OP_NACK:
		h.neth.reason = k.other.code;
		h.neth.vendor = k.other.vendor;
		h.neth.entropy = k.other.entropy;
		h.neth.nack_psn = k.other.number;
		h.neth.cc_type = 2;
		break;
	case MRC_OP_ACK:
		h.aeth.syndrome = k.other.code;
		h.aeth.msn = k.other.number;
		break;
	case MRC_OP_PROBE:
		h.peth.probe_id = k.data.probe_id;
		break;
	case MRC_OP_ENDPOINT_REQ:
	case MRC_OP_ENDPOINT_RESP:
		h.epop.op = k.other.code;
		h.epop.vendor = k.other.vendor;
		h.epop.port_mask = k.other.number;
		break;
	default:
		h.ts = k.has(packet_ts);
		h.msn = k.data.msn;
		h.reth.va = k.data.offset;
		h.reth.rkey = 1;
		h.reth.dmalen = k.data.message;
		if (!k.has(packet_trimmed))
			h.payload_len = k.data.payload;
		h.pad = static_cast<u8>(-k.data.payload & 3);
		break;
	}
	h.hdr_len = static_cast<u16>(mrc_hdr_len(&h));
}
} // namespace mrcsim
