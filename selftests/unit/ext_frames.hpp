// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The frames of Documentation/extension.md as field values. A is the requester
// of the specification's frames (QPN 0x101), B its responder (QPN 0x202).
#pragma once

#include "frames.hpp"

namespace mrc_test
{

// From B to A, but a data packet: of the answer channel.
inline Frame answer_frame(const char *name, std::uint8_t opcode,
			  std::uint32_t psn, std::uint32_t entropy)
{
	Frame f = data_frame(name, opcode, psn, entropy);

	f.to_responder = false;
	f.hdr.dqp = 0x000101;
	f.hdr.ans = true;
	return f;
}

// Feedback on answers goes from A to B.
inline Frame channel_reply(const char *name, std::uint8_t opcode,
			   std::uint32_t psn)
{
	Frame f = reply_frame(name, opcode, psn);

	f.to_responder = true;
	f.hdr.dqp = 0x000202;
	f.hdr.ans = true;
	return f;
}

inline Frame request_frame(const char *name, std::uint8_t opcode,
			   std::uint32_t psn, std::uint16_t msn,
			   std::uint16_t num)
{
	Frame f = data_frame(name, opcode, psn, 0x1240C010);

	f.hdr.a = true;
	f.hdr.msn = msn;
	f.hdr.rqmsn = num;
	return f;
}

inline std::vector<Frame> ext_send_frames()
{
	std::vector<Frame> out;
	Frame f;

	f = data_frame("X1", MRC_OP_SEND_ONLY, 0x20, 0xC0DE);
	f.v6 = false;
	f.hdr.a = true;
	f.hdr.se = true;
	f.hdr.pad = 3;
	f.hdr.rqmsn = 5;
	f.hdr.msn = 11;
	set_reth(f, 0, 0, 5);
	f.payload = {'h', 'e', 'l', 'l', 'o'};
	out.push_back(f);

	f = timed(data_frame("X2", MRC_OP_SEND_FIRST, 0xFFFFFF, 0x1240C010),
		  0x0400);
	f.hdr.rqmsn = 6;
	f.hdr.msn = 12;
	set_reth(f, 0, 0, 258);
	f.payload = count_up(0, 256);
	out.push_back(f);

	f = timed(data_frame("X3", MRC_OP_SEND_LAST_IMM, 0, 0x1241C011),
		  0x0401);
	f.tos = 0x22;
	f.hdr.a = true;
	f.hdr.rtx = true;
	f.hdr.pad = 2;
	f.hdr.rqmsn = 6;
	f.hdr.msn = 12;
	set_reth(f, 256, 0, 258);
	f.hdr.reth.imm = htonl(0xDEADBEEF);
	f.payload = {0xAA, 0xBB};
	out.push_back(f);

	f = data_frame("X4", MRC_OP_SEND_ONLY_INV, 1, 0x1242C012);
	f.hdr.a = true;
	f.hdr.rqmsn = 7;
	f.hdr.msn = 13;
	set_reth(f, 0, 0xA1B2C3D4, 0);
	out.push_back(f);
	return out;
}

inline std::vector<Frame> ext_request_frames()
{
	constexpr std::uint64_t va = 0x00007F1200001000ull;
	constexpr std::uint32_t rkey = 0xA1B2C3D4;
	std::vector<Frame> out;
	Frame f;

	f = timed(request_frame("X5", MRC_OP_READ_REQ, 2, 14, 0), 0x0402);
	set_reth(f, va, rkey, 260);
	out.push_back(f);

	f = request_frame("X6", MRC_OP_CMP_SWAP, 3, 15, 1);
	set_reth(f, va + 8, rkey, 8);
	f.hdr.opeth.swap = 0x1122334455667788ull;
	f.hdr.opeth.compare = 0x0102030405060708ull;
	out.push_back(f);

	f = timed(request_frame("X7", MRC_OP_FETCH_ADD, 4, 16, 2), 0x0403);
	set_reth(f, va + 16, rkey, 8);
	f.hdr.opeth.compare = 0xFFFFFFFFFFFFFFFFull;
	out.push_back(f);

	f = request_frame("X8", MRC_OP_ATOMIC_WRITE, 5, 17, 3);
	set_reth(f, va + 24, rkey, 8);
	f.hdr.opeth.swap = 0x8877665544332211ull;
	out.push_back(f);

	f = request_frame("X9", MRC_OP_FLUSH, 6, 18, 4);
	set_reth(f, va, rkey, 0x1000);
	f.hdr.opeth.swap = 0x03;
	out.push_back(f);
	return out;
}

inline std::vector<Frame> ext_answer_frames()
{
	std::vector<Frame> out;
	Frame f;

	f = timed(answer_frame("X10", MRC_OP_READ_RESP_FIRST, 0x800000,
			       0x2234C020),
		  0x0500);
	set_reth(f, 0, 0, 260);
	f.payload = count_up(0, 256);
	out.push_back(f);

	f = timed(answer_frame("X11", MRC_OP_READ_RESP_LAST, 0x800001,
			       0x2235C021),
		  0x0501);
	f.hdr.a = true;
	set_reth(f, 256, 0, 260);
	f.payload = {0xF0, 0xF1, 0xF2, 0xF3};
	out.push_back(f);

	f = answer_frame("X12", MRC_OP_ATOMIC_RESP, 0x800002, 0x2236C022);
	f.hdr.a = true;
	f.hdr.msn = 1;
	set_reth(f, 0, 0, 8);
	f.payload = {1, 2, 3, 4, 5, 6, 7, 8};
	out.push_back(f);

	f = answer_frame("X13", MRC_OP_READ_RESP_ONLY, 0x800004, 0x2237C023);
	f.hdr.a = true;
	f.hdr.msn = 3;
	out.push_back(f);
	return out;
}

inline std::vector<Frame> ext_feedback_frames()
{
	std::vector<Frame> out;
	Frame f;

	f = channel_reply("X14", MRC_OP_SACK, 0x800002);
	f.hdr.tstamp = 0x0501;
	f.hdr.seth.ack_psn_offset = -1;
	f.hdr.seth.entropy = 0x2235C021;
	f.hdr.seth.spdcid = 0x0101;
	f.hdr.seth.dpdcid = 0x0202;
	f.hdr.seth.cack_psn = 0x800002;
	f.hdr.seth.sack_offset = 1;
	f.hdr.seth.bitmap = 2;
	f.hdr.seth.ooo_count = 1;
	f.hdr.seth.rcvd_bytes = 3;
	out.push_back(f);

	f = channel_reply("X15", MRC_OP_ACK, 0x800002);
	f.hdr.aeth.syndrome = MRC_SYN_ACK;
	f.hdr.aeth.msn = 2;
	out.push_back(f);

	// Receiver not ready, 0.64 ms.
	f = reply_frame("X16", MRC_OP_NACK, 0x20);
	f.hdr.neth.reason = MRC_NACK_NO_RESOURCE;
	f.hdr.neth.vendor = 0x8C;
	f.hdr.neth.entropy = 0xC0DE;
	f.hdr.neth.spdcid = 0x0202;
	f.hdr.neth.dpdcid = 0x0101;
	f.hdr.neth.nack_psn = 0x20;
	f.hdr.neth.cc_type = 2;
	f.v6 = false;
	out.push_back(f);

	f = stamped(data_frame("X17", MRC_OP_PROBE, 0, 0x2238C024), 0x0502);
	f.to_responder = false;
	f.hdr.dqp = 0x000101;
	f.hdr.ans = true;
	f.hdr.peth.probe_id = 0x0066;
	f.hdr.peth.spdcid = 0x0202;
	f.hdr.peth.dpdcid = 0x0101;
	out.push_back(f);

	// X1 was executed; the next receives are those of messages 6 to 13.
	f = reply_frame("X18", MRC_OP_ACK, 0x20);
	f.hdr.recvs = true;
	f.hdr.aeth.syndrome = MRC_SYN_ACK;
	f.hdr.aeth.msn = 14;
	f.v6 = false;
	out.push_back(f);
	return out;
}

inline std::vector<Frame> ext_frames()
{
	std::vector<Frame> out = ext_send_frames();

	for (const auto &more :
	     {ext_request_frames(), ext_answer_frames(), ext_feedback_frames()})
		out.insert(out.end(), more.begin(), more.end());
	return out;
}

} // namespace mrc_test
