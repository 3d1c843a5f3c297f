/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: what the partitions of a run have before them: fabric, hosts, queue
 * pairs, flows. Each entry is changed by one partition only: a host and what it
 * sends by its own, what it receives likewise. What concerns several of them is
 * changed between the turns of the partitions, see simulator.hpp.
 */
#pragma once

#include <vector>

#include "cut.hpp"
#include "queues.hpp"
#include "roce.hpp"
#include "routes.hpp"
#include "traffic.hpp"

namespace mrcsim
{
constexpr u64 never_ps = ~0ull;
constexpr u32 nobody = ~0u;

/* What became of a flow. */
struct FlowState {
	u64 began = never_ps;	 /* ps */
	u64 ended = never_ps;	 /* the sender has the last ACK */
	u64 received = never_ps; /* all of it */
	u64 bytes = 0;		 /* placed at the receiver */
	u64 offsets = 0;	 /* the sum of the offsets of what was placed */
	u32 next = nobody;	 /* the next one of its connection */
	bool failed = false;
};

struct Totals {
	u64 events = 0;
	u64 data = 0;	/* packets with payload that hosts sent */
	u64 resent = 0; /* of these: again */
	u64 control = 0, probes = 0;
	u64 injected = 0, delivered = 0; /* packets of all kinds */
	u64 delivered_trimmed = 0;
	u64 placed = 0; /* bytes */
	u64 stale = 0;	/* packets for queue pairs that have ended */
	u64 finished = 0, failed = 0; /* flows */
};

struct Qp {
	/* The sender's. */
	Sender *tx = nullptr;
	u64 timer = never_ps; /* of its event */
	u32 next_ready = nobody;
	u32 first = nobody, last = nobody; /* flows not yet posted */
	u32 left = 0;			   /* flows that are not finished */
	bool ready = false;
	/* The receiver's. */
	bool closed = false;
	Receiver *rx = nullptr;
	/* Constant. */
	u32 src = 0, dst = 0;
};
static_assert(sizeof(Qp) == 56);

struct Host {
	u64 clear = 0;	 /* ps: from here on its ports have room */
	u64 fullest = 0; /* ps: from here on all of its ports are idle */
	u64 wake = never_ps;
	u64 digest = 0;
	u32 first = nobody, last = nobody; /* ready queue pairs */
	u32 ports = 0;			   /* bit N = port N is up */
	u32 probe_count = 0;
};

struct World {
	World(const Shape &shape, const Settings &settings,
	      const Traffic &traffic, u32 threads);

	/* Bytes that are allocated. */
	u64 memory() const;

	/* Where partition @from puts what is for the others. */
	Mail *mail_of(u32 from) { return &mail[from * cut.count()]; }

	Shape shape;
	Settings settings;
	Derived derived;
	const Traffic &traffic;
	Cut cut;
	Links links;
	Routes routes;
	std::vector<Mail> mail; /* by sender, then by receiver */
	std::vector<Qp> qps;
	std::vector<RoceQp> roce; /* like qps, if the column is roce */
	std::vector<Host> hosts;
	std::vector<FlowState> flows;
	std::vector<u32> fired;	   /* by trigger */
	std::vector<u64> cpu_free; /* ps, when a processor is free */
	u64 close_delay; /* ps until a receiver knows that a queue pair ended */
};
} // namespace mrcsim
