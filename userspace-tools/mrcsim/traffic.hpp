/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: what hosts send. A flow is one message. Flows of the same connection
 * share a queue pair and are sent in the order in which they start. A trigger
 * starts flows when others are finished. Schedules of applications have
 * triggers that fire others, and calculations, which take time.
 */
#pragma once

#include <string>
#include <vector>

#include "mrc_base.h"

namespace mrcsim
{
constexpr u32 no_trigger = ~0u;
constexpr u64 not_yet = ~0ull;

struct Flow {
	u32 src = 0, dst = 0; /* hosts, from 0 */
	u32 connection = 0;
	u32 bytes = 0;		       /* 1 to 2^31 */
	u64 start = 0;		       /* ps; not_yet: a trigger starts it */
	u32 sent_trigger = no_trigger; /* fires when the sender knows that
					* all has arrived */
	u32 received_trigger = no_trigger; /* fires when all has arrived */
	u32 id = 0;			   /* in a file, 0: none */
};

struct Trigger {
	enum class Kind : u8 {
		once,	 /* the first firing starts all flows */
		each,	 /* each firing starts the next flow */
		barrier, /* firing number @count starts all flows; 0: it fires
			  * by itself, at @at */
	};

	Kind kind = Kind::once;
	u32 count = 1;
	std::vector<u32> flows{}; /* in the order of the file */
	u32 host = 0;		  /* where it fires, of a schedule */
	std::vector<u32> fires{}; /* triggers that fire with it, of that host */
	u64 at = 0;		  /* ps */
	/* A calculation, one at a time on a processor. */
	u64 calc = 0; /* ps */
	u32 cpu = 0;
	u32 ended = no_trigger; /* fires when it is over */
};

struct Traffic {
	std::string name; /* for reports */
	u32 connections = 0;
	u32 cpus = 0; /* that calculate */
	std::vector<Flow> flows;
	std::vector<Trigger> triggers;

	/* A new connection from @src to @dst with one flow. Its index. */
	u32 add(u32 src, u32 dst, u32 bytes, u64 start);
};

/* Largest message, bytes: that of MRC 1.0 §7.5. */
constexpr u64 most_bytes = u64{1} << 31;
/* Largest buffer of an all-reduce, bytes; a message is one part of it. */
constexpr u64 most_buffer = u64{1} << 41;

/*
 * Patterns. They throw mrclab::UsageError for what does not fit. @hosts take
 * part, at most; 0: all @all.
 */

/* Every host sends to one other and receives from one; at random by @seed. */
Traffic permutation(u32 all, u32 hosts, u64 bytes, u64 seed);
/* Host h sends to host h + @by, modulo the number of hosts. */
Traffic shift(u32 all, u32 hosts, u32 by, u64 bytes);
/* @senders hosts, number 2 and following, send to the first one. */
Traffic incast(u32 all, u32 senders, u64 bytes);
/* Round k: host h sends to host h + k. @parallel rounds overlap. */
Traffic all_to_all(u32 all, u32 hosts, u64 bytes, u32 parallel);
/* 2 (n - 1) steps; in each a host sends the n-th part of @bytes to the next
 * host, after it has received the part of the step before.
 */
Traffic ring_allreduce(u32 all, u32 hosts, u64 bytes);
} // namespace mrcsim
