// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// How every fuzzer says that something must hold.
#pragma once

#include <cstdio>

#include "engine.hpp"

namespace fuzz
{

[[noreturn]] inline void die(const char *what)
{
	std::fprintf(stderr, "invariant broken: %s\n", what);
	std::abort();
}

inline void require(bool ok, const char *what)
{
	if (!ok)
		die(what);
}

// What travels over the wire: built, parsed again, and equal in length.
inline void check_wire(const mrc_hdr &h)
{
	u8 buf[MRC_HDR_MAX + MRC_ICRC_LEN] = {};
	mrc_hdr back;
	u32 n = mrc_hdr_build(&h, buf, MRC_HDR_MAX);

	require(n && n == mrc_hdr_len(&h), "header cannot be built");
	require(!mrc_hdr_parse(buf, n + MRC_ICRC_LEN,
			       n + MRC_ICRC_LEN + h.payload_len + h.pad, &back),
		"own header cannot be parsed");
	require(back.opcode == h.opcode && back.psn == (h.psn & MRC_PSN_MASK) &&
			back.dqp == h.dqp && back.rtx == h.rtx && back.a == h.a,
		"own header changes on the wire");
}

} // namespace fuzz
