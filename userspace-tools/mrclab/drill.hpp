/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: a drill as its file describes it: a fabric, programs that use it,
 * faults at given times, and what must hold meanwhile. Times are in ns from the
 * moment at which all programs that start at 0 move data.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric.hpp"

namespace mrclab
{
/* A program on one host. Words can have placeholders, see flow.hpp. */
struct Job {
	uint32_t host = 0;
	std::vector<std::string> words;
	uint16_t port = 0; /* TCP, on which it listens; 0: it does not */
};

/* How the programs of a flow end. */
enum class Ending {
	kill,	   /* they would go on; one that has ended has failed */
	wait,	   /* by themselves */
	interrupt, /* all of them after SIGINT to the first one */
};

/* Programs whose goodput is one series. */
struct Flow {
	std::string name;
	uint64_t start = 0;
	std::vector<Job> servers; /* started first */
	std::vector<Job> clients;
	Ending ending = Ending::kill;
	std::vector<uint32_t> senders; /* hosts that send payload */
	/* The hosts whose bytes are counted. */
	std::vector<uint32_t> counted;
	uint64_t message = 0; /* bytes; 0: not known */
	/* Several flows have the receiver: count what the hosts send. */
	bool by_sender = false;
	/* The clients measure latency. @senders and @counted are empty. */
	bool latency = false;
};

struct Window {
	uint64_t from = 0;
	uint64_t to = 0;
};

/*
 * What the samples of a window must show, compared with the baseline, or what a
 * program must have measured.
 */
struct Must {
	enum class Kind {
		worst,	 /* the lowest sample */
		mean,	 /* of the samples */
		fair,	 /* Jain's index of the flows' means */
		reaches, /* again, within a time */
		gap,	 /* the longest time without a byte */
		typical, /* latency: half of the exchanges take no longer */
		p99,	 /* latency: 99 % take no longer */
	};

	Kind kind = Kind::mean;
	std::string what; /* a series, or a pattern of flows */
	Window during;
	/* Of the baseline, or of the latency of another flow; fair: index. */
	double share = 0;
	/* Of the baseline that counts, like 7/8 of it. */
	uint32_t part = 1, parts = 1;
	uint64_t rate = 0;   /* bit/s, instead of the baseline; 0: none */
	std::string of;	     /* the other flow, of typical and p99 */
	uint64_t within = 0; /* ns: the most of reaches, gap, typical, p99 */
	int line = 0;

	/* Programs have measured it, and there are no samples. */
	bool of_latency() const
	{
		return kind == Kind::typical || kind == Kind::p99;
	}
};

/* The faults of one moment. */
struct Step {
	uint64_t at = 0;
	std::vector<std::vector<std::string>> faults; /* see fault.hpp */
	std::vector<int> lines; /* of the file, one for each fault */
	std::string text;	/* for pictures, as in the file; may be empty */
};

/* The drill with one kind of devices. */
struct Stage {
	Devices devices = Devices::mrc;
	std::string fabric_file;
	std::string fabric_text;
	std::vector<Step> timeline; /* in the order of time */
};

struct Drill {
	std::string file;
	std::string name;
	std::string title;
	std::string figure, published, about; /* see DrillResult */
	uint64_t time = 0;
	uint64_t sample = 100000000;
	Window baseline;
	bool evs = false; /* count packets by EV */
	std::vector<Flow> flows;
	std::vector<std::string> shown; /* series; patterns of directions */
	std::vector<Must> musts;
	std::vector<Stage> stages; /* mrc, then others */
};
} // namespace mrclab
