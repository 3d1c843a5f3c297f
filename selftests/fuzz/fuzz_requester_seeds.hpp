// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What the input of fuzz_requester can ask for, and the inputs that fuzzing starts
// from: each the beginning of something that chance alone finds late.
#pragma once

#include <vector>

#include "fuzz_input.hpp"

namespace fuzz::requester
{

enum Op {
	OpPost,
	OpNext,	    // send until nothing is ready
	OpNextSome, // send a few
	OpSack,
	OpNack,
	OpAck,
	OpReply, // to the newest probe
	OpRaw,	 // bytes off the wire
	OpTime,
	OpDeadline,
	OpPorts,
	OpPeerPorts,
	OpVerdict,
	OpFail,
	OpHonest, // a well-behaved peer acknowledges everything
	OpCount,
	// with the extension only
	OpAnswered = OpCount,
	OpLocal, // what the newest MRC_TX_LOCAL named, or anything
	OpExtCount,
};

inline Seed config(u8 features = 0, u8 set = 0)
{
	// 16 EVs on 2 ports, pmtu 256, 16 slots, 3 * 128 PSNs.
	return Seed()
		.b(79)
		.b(5)
		.b(4 + 7 * 2)
		.b(8 + 3 * 16)
		.b(7)
		.h(0xFFFF)
		.b(0xF0)
		.b(60)
		.b(20)
		.b(features)
		.b(set);
}

// The same with the extension: 4 requests, the RNR budget of @rnr.
inline Seed config_ext(u8 rnr, bool ans)
{
	return Seed()
		.b(79)
		.b(5)
		.b(4 + 7 * 2)
		.b(8 + 3 * 16 + 0x80)
		.b(4 * 8 + (ans ? 7 : 0))
		.b(rnr)
		.b(7)
		.h(0xFFFF)
		.b(0xF0)
		.b(60)
		.b(20)
		.b(0)
		.b(0);
}

// Every operation, fenced or not, with ACKs and NAKs before the answers.
inline Seed seed_ext()
{
	Seed s = config_ext(7, false);

	for (u32 i = 0; i < 3 * MRC_WR_MAX; i++)
		s.b(OpPost)
			.b(0x14)
			.b(0)
			.b(i % MRC_WR_MAX + (i % 5 ? 0 : 16) + 32)
			.b(i)
			.h(i)
			.b(OpNext)
			.b(OpLocal)
			.b(1)
			.b(OpAck)
			.b(i < 30 ? 0 : 0xF8)
			.b(8)
			.b(0xFF)
			.b(i < 30 ? 0 : 0x61)
			.b(OpDeadline)
			.b(OpAnswered);
	return s.b(OpHonest).b(1).b(1);
}

// Receives are missing.
inline Seed seed_rnr()
{
	Seed s = config_ext(3, false);

	for (u32 i = 0; i < 6; i++) {
		s.b(OpPost).b(0x34).b(0).b(2 + i % 3).b(0).h(0).b(OpNext);
		s.b(OpNack).b(64 + 3).b(9).b(i).b(0x80 + i).b(0).b(2);
		s.b(OpNext).b(OpDeadline).b(OpDeadline);
	}
	return s.b(OpHonest).b(1).b(1);
}

// A channel of answers.
inline Seed seed_answers()
{
	Seed s = config_ext(0, true);

	for (u32 i = 0; i < 6; i++)
		s.b(OpPost)
			.b(0x34)
			.b(0)
			.b(MRC_WR_ANSWER + i % 2 + 32 * (i % 2))
			.b(i)
			.h(i)
			.b(OpNext)
			.b(OpDeadline);
	return s.b(OpHonest).b(1).b(1);
}

// Honest traffic.
inline Seed seed_plain()
{
	Seed s = config();

	for (u32 i = 0; i < 8; i++)
		s.b(OpPost)
			.b(i & 1 ? 0x54 + 1 : 0xF0)
			.b(0)
			.b(OpNext)
			.b(OpTime)
			.b(14)
			.b(OpHonest)
			.b(1)
			.b(2);
	return s;
}

// Holes in SACKs, a NACK, a cumulative ACK.
inline Seed seed_holes()
{
	Seed s = config();

	s.b(OpPost).b(0xF4).b(0).b(OpNext);
	for (u32 i = 0; i < 6; i++)
		s.b(OpSack)
			.b(32)
			.b(9)
			.b(i)
			.b(12)
			.b(1)
			.q(0xFFFFFFFF00FF00F0)
			.b(i)
			.h(100 * i)
			.b(1)
			.b(1)
			.b(OpTime)
			.b(13)
			.b(OpNext);
	s.b(OpNack).b(64).b(9).b(8).b(3).b(1).b(1).b(OpNext);
	s.b(OpAck).b(1).b(9).b(4).b(1).b(OpHonest).b(1).b(1);
	return s;
}

// A silent peer, probes, ports that come and go.
inline Seed seed_silence()
{
	Seed s = config();

	s.b(OpPost).b(0xF4).b(0).b(OpPost).b(1).b(0).b(OpNext);
	for (u32 i = 0; i < 20; i++)
		s.b(OpDeadline);
	s.b(OpPorts)
		.b(2)
		.b(OpNext)
		.b(OpReply)
		.b(0)
		.b(9)
		.b(0)
		.b(1)
		.h(0)
		.b(3)
		.h(0)
		.b(1)
		.b(OpPorts)
		.b(6)
		.b(OpDeadline)
		.b(OpPorts)
		.b(0)
		.b(OpDeadline)
		.b(OpDeadline)
		.b(OpPorts)
		.b(6)
		.b(OpNext)
		.b(OpHonest)
		.b(1)
		.b(1);
	return s;
}

// Ranges that shrink and grow, penalties, service time.
inline Seed seed_dynamic()
{
	Seed s = config(2 + 4 + 16 + 3 * 32);

	s.b(OpPost).b(0xF4).b(0).b(OpPost).b(0xF4).b(0).b(OpNext);
	for (u32 i = 0; i < 8; i++)
		s.b(OpSack)
			.b(128)
			.b(9)
			.b(i)
			.b(1)
			.b(1)
			.h(0xFFF0)
			.b(i)
			.b(0)
			.b(i * 5 % 7)
			.h(100 * i)
			.b(i * 16)
			.b(1 + 4 * i)
			.b(1)
			.b(OpTime)
			.b(13)
			.b(OpNext)
			.b(OpNack)
			.b(64 + i % 5)
			.b(9)
			.b(i + 3)
			.b(3)
			.b(1)
			.b(1)
			.b(OpNext);
	s.b(OpPeerPorts).b(2).b(OpNext).b(OpPeerPorts).b(6).b(OpDeadline);
	return s.b(OpHonest).b(1).b(1);
}

// EVs of a profile that changes under traffic, with holes and a silent peer.
inline Seed seed_sets(u8 set)
{
	Seed s = config(1, set);

	for (u32 i = 0; i < 8; i++)
		s.b(OpPost)
			.b(0xF4)
			.b(0)
			.b(OpNext)
			.b(OpSack)
			.b(32 + 2 * (i & 1))
			.b(9)
			.b(i)
			.b(12)
			.b(1)
			.q(0xFFFFFFFF00FF00F0)
			.b(i)
			.h(100 * i)
			.b(1)
			.b(1)
			.b(OpVerdict)
			.b(0x80)
			.b(0x44 + 9 * i)
			.b(OpVerdict)
			.b(MRC_EVV_TIMEOUT)
			.b(i)
			.b(OpNext)
			.b(OpDeadline)
			.b(OpDeadline);
	return s.b(OpHonest).b(1).b(1);
}

inline Seed seed_udp()
{
	return seed_sets(3);
}

inline Seed seed_stev()
{
	return seed_sets(0x14);
}

inline Seed seed_srv6()
{
	return seed_sets(0x35);
}

// As the peer's bytes: SACK, NACK and NAK.
inline Seed seed_raw()
{
	Seed s = config();

	s.b(OpPost).b(0xF4).b(0).b(OpNext);
	for (u8 opcode : {MRC_OP_SACK, MRC_OP_NACK, MRC_OP_ACK}) {
		std::vector<u8> buf(MRC_HDR_MAX + MRC_ICRC_LEN);
		mrc_hdr h{};

		h.opcode = opcode;
		h.psn = 0xFFFFF2;
		h.pkey = MRC_PKEY_DEFAULT;
		h.dqp = 0x101;
		if (opcode == MRC_OP_SACK) {
			h.seth.cack_psn = h.psn;
			h.seth.sack_offset = 1;
			h.seth.bitmap = 0x76;
		} else if (opcode == MRC_OP_NACK) {
			h.neth.nack_psn = 0xFFFFF4;
			h.neth.reason = MRC_NACK_NO_RESOURCE;
		} else {
			h.aeth.syndrome = MRC_SYN_NAK_ACCESS;
		}
		buf.resize(mrc_hdr_build(&h, buf.data(), MRC_HDR_MAX) +
			   MRC_ICRC_LEN);
		s.b(OpRaw).b((u32)buf.size()).bytes(buf).b(1).b(OpNext);
	}
	return s;
}

// Controller and error paths.
inline Seed seed_control()
{
	Seed s = config();

	s.b(OpPost).b(0xF4).b(0);
	for (u32 i = 0; i < 16; i++)
		s.b(OpVerdict).b(MRC_EVV_DENY).b(i);
	s.b(OpNext)
		.b(OpDeadline)
		.b(OpVerdict)
		.b(MRC_EVV_ALLOW)
		.b(3)
		.b(OpNext)
		.b(OpVerdict)
		.b(MRC_EVV_TIMEOUT)
		.b(3)
		.b(OpDeadline)
		.b(OpPeerPorts)
		.b(0)
		.b(OpNext)
		.b(OpDeadline)
		.b(OpPeerPorts)
		.b(0xFF)
		.b(OpNext)
		.b(OpFail)
		.b(0x10)
		.b(OpPost)
		.b(1)
		.b(0);
	return s;
}

inline const NamedSeed kSeeds[] = {
	{"plain", seed_plain},	   {"holes", seed_holes},
	{"silence", seed_silence}, {"raw", seed_raw},
	{"control", seed_control}, {"dynamic", seed_dynamic},
	{"udp", seed_udp},	   {"stev", seed_stev},
	{"srv6", seed_srv6},	   {"ext", seed_ext},
	{"rnr", seed_rnr},	   {"answers", seed_answers},
};

} // namespace fuzz::requester
