/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcperf: the runs. Each has a part for the client and one for the server. In
 * a stream the client sends messages as fast as possible; in ping-pong one
 * message goes there and one comes back at a time.
 */
#pragma once

#include "side.hpp"

namespace mrcperf
{
/* The length of a run: either @duration or @messages, the other is 0. */
struct Amount {
	uint64_t messages = 0; /* for each queue pair */
	uint64_t warmup = 0;
	double duration = 0;
};

/* What the client measured. */
struct Measured {
	uint64_t messages = 0; /* of all queue pairs, without the warm-up */
	double seconds = 0;
	/* Ping-pong: each round trip in ns. */
	std::vector<uint64_t> round_trips;
	/* Messages of each queue pair, warm-up included. */
	std::vector<uint64_t> sent;
	/* The messages that the client itself checked. */
	Tally tally;
};

Measured send_stream(Side &side, const Start &run, const Amount &amount);
Tally receive_stream(Side &side, const Start &run);

Measured ping(Side &side, const Start &run, const Amount &amount);
Tally pong(Side &side, const Start &run);
} // namespace mrcperf
