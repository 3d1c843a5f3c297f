// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What the input of fuzz_responder can ask for, and the inputs that fuzzing starts
// from: each the beginning of something that chance alone finds late.
#pragma once

#include <vector>

#include "fuzz_input.hpp"

namespace fuzz::responder
{

enum Op {
	OpWrite,   // the next packet of an honest stream
	OpSkip,	   // one that gets lost
	OpAgain,   // an earlier packet of the stream
	OpData,	   // any fields
	OpTrimmed, // cut off by a switch
	OpProbe,
	OpRaw, // bytes off the wire
	OpTime,
	OpPorts,
	OpRefused, // one that the shell has no resources for
	OpMpr,	   // another range
	OpPenalty,
	OpReceives, // post receives
	OpAnswered, // the oldest answer was acknowledged
	OpFailed,   // an answer cannot be sent
	OpPlaced,   // payload of an earlier packet is in place
	OpCount,
};

inline Seed config(u8 features = 1, u8 set = 0)
{
	return Seed()
		.b(79)
		.b(16)
		.b(2)
		.b(31)
		.h(0xFFFF)
		.b(0xC0)
		.b(10)
		.b(16)
		.b(200)
		.b(features)
		.b(set);
}

inline Seed seed_plain()
{
	Seed s = config();

	for (u32 i = 0; i < 6; i++) {
		s.b(OpWrite).b(39);
		for (u32 k = 0; k < 40; k++)
			s.b(1 + k % 2).b(k);
	}
	return s;
}

inline Seed seed_holes()
{
	Seed s = config();

	for (u32 i = 0; i < 8; i++)
		s.b(OpWrite)
			.b(2)
			.b(1)
			.b(2)
			.b(1)
			.b(3)
			.b(1)
			.b(4)
			.b(OpSkip)
			.b(OpWrite)
			.b(0)
			.b(33)
			.b(7)
			.b(OpProbe)
			.b(1)
			.h(i)
			.b(OpAgain)
			.b(1)
			.b(1)
			.b(1)
			.b(OpAgain)
			.b(3)
			.b(2)
			.b(9);
	return s;
}

inline Seed seed_any()
{
	Seed s = config();

	for (u32 i = 0; i < 8; i++)
		s.b(OpData)
			.b(i | 16)
			.b(1)
			.b(i)
			.b(0)
			.h(700)
			.h(256)
			.b(1)
			.b(1)
			.b(OpData)
			.b(i | 8 | 64)
			.b(2)
			.h(0xFFFF)
			.b(0xC0 + i)
			.b(0)
			.h(100)
			.h(100)
			.b(0)
			.b(2)
			.b(5);
	return s;
}

inline Seed seed_trims()
{
	Seed s = config();

	for (u32 i = 0; i < 8; i++)
		s.b(OpWrite)
			.b(1)
			.b(1)
			.b(2)
			.b(1)
			.b(3)
			.b(OpTrimmed)
			.b(i)
			.b(2)
			.b(7)
			.b(OpTime)
			.b(10)
			.b(OpPorts)
			.b(2 + i % 6);
	return s;
}

inline Seed seed_dynamic()
{
	Seed s = config(1 + 2 + 4 + 8 + 5 * 16);

	for (u32 i = 0; i < 10; i++)
		s.b(OpMpr)
			.b(1 + i * 3 % 8)
			.b(OpWrite)
			.b(0)
			.b(65)
			.b(2)
			.b(OpSkip)
			.b(OpWrite)
			.b(0)
			.b(1)
			.b(2)
			.b(OpRefused)
			.b(i)
			.b(1)
			.b(3)
			.b(OpPenalty)
			.b(i * 12)
			.b(OpProbe)
			.b(1)
			.h(i)
			.b(OpTime)
			.b(15);
	return s;
}

// Replies on EVs of a profile that changes.
inline Seed seed_sets()
{
	Seed s = config(1, 0x34);

	for (u32 i = 0; i < 8; i++)
		s.b(OpWrite)
			.b(1)
			.b(1)
			.b(2)
			.b(1)
			.b(3)
			.b(OpSkip)
			.b(OpPorts)
			.b(0x80)
			.b(0x44 + 9 * i)
			.b(OpProbe)
			.b(1)
			.h(i)
			.b(OpPorts)
			.b(2 + i % 6);
	return s;
}

// Payload that is placed while other packets arrive.
inline Seed seed_places()
{
	Seed s = config();

	s.b(OpReceives).b(40);
	for (u32 i = 0; i < 24; i++) {
		s.b(OpWrite).b(3);
		for (u32 k = 0; k < 4; k++)
			s.b(0x80 + 18 * k).b(k);
		s.b(OpAgain).b(i % 4).b(1).b(2);
		s.b(OpSkip).b(OpPlaced).b(i).b(OpProbe).b(1).h(i);
		s.b(OpAgain).b(0).b(0x81).b(2);
		for (u32 k = 0; k < 4; k++)
			s.b(OpPlaced).b(i * k);
	}
	return s;
}

// Everything of the extension, @features without and with the answer channel.
inline Seed seed_mixed(u8 features)
{
	Seed s = config(features);

	s.b(OpReceives).b(40);
	for (u32 i = 0; i < 24; i++) {
		s.b(OpWrite).b(5);
		for (u32 k = 0; k < 6; k++)
			s.b(1 + k % 2).b(k);
		s.b(OpSkip).b(OpWrite).b(0).b(1).b(2);
		s.b(OpAgain).b(1).b(1).b(2);
		s.b(OpAnswered).b(OpAnswered).b(OpReceives).b(2);
		s.b(OpTrimmed).b(i).b(1).b(2);
		if (i == 20)
			s.b(OpFailed).b(1);
	}
	return s;
}

inline Seed seed_ext()
{
	return seed_mixed(1 + 16 + 64);
}

inline Seed seed_answers()
{
	return seed_mixed(1 + 16 + 32);
}

inline Seed seed_raw()
{
	Seed s = config();

	for (u32 i = 0; i < 4; i++) {
		std::vector<u8> buf(64);
		mrc_hdr h{};

		h.opcode = i < 3 ? (u8)MRC_OP_WRITE_ONLY_IMM : (u8)MRC_OP_PROBE;
		h.psn = mrc_psn_add(0xFFFFC0, (s32)i);
		h.pkey = MRC_PKEY_DEFAULT;
		h.dqp = 0x202;
		h.rqmsn = (u16)i;
		h.a = true;
		if (i < 3)
			h.reth.dmalen = 4 * i;
		buf.resize(mrc_hdr_build(&h, buf.data(), 64) + MRC_ICRC_LEN +
			   4 * i);
		s.b(OpRaw).b(i == 1).b((u32)buf.size()).bytes(buf).b(1).b(2);
	}
	return s;
}

inline const NamedSeed kSeeds[] = {
	{"plain", seed_plain}, {"holes", seed_holes}, {"any", seed_any},
	{"trims", seed_trims}, {"raw", seed_raw},     {"dynamic", seed_dynamic},
	{"sets", seed_sets},   {"ext", seed_ext},     {"answers", seed_answers},
	{"places", seed_places},
};

} // namespace fuzz::responder
