/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: what happened to single queue pairs, as text like that of the
 * driver's tracepoints in tracefs (dev/mrc_trace.h), and the packets of a link,
 * as a capture.
 *
 * Each partition has a recorder. Nothing is recorded of what is not watched,
 * and recording changes nothing. Lines and packets stay in memory until the run
 * is over.
 */
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "mrc_req.h"

#include "settings.hpp"

namespace mrcsim
{
struct Packet;
struct Traffic;
struct World;

/* An event of a queue pair. */
struct TraceLine {
	u64 at; /* ps */
	u32 host, qp;
	std::string text; /* the tracepoint's name and fields */
};

/* A packet at the end of a link. */
struct Captured {
	u64 at; /* ps */
	u32 link;
	u32 length;	   /* of the frame, without preamble and FCS */
	std::string bytes; /* headers of Ethernet to MRC, without payload and
			      ICRC */
};

class Recorder
{
public:
	/* Keeps references. @now: ps, of the partition. */
	Recorder(const World &world, const u64 &now);
	Recorder(const Recorder &) = delete;
	Recorder &operator=(const Recorder &) = delete;

	/* The arguments are those of the driver's tracepoints. */
	void sent(u32 host, u32 qp, const mrc_tx_desc &d);
	void received(u32 host, u32 qp, const Packet &k, const mrc_hdr &h,
		      u32 entropy);
	/* Makes the engine's callbacks record, if @qp is watched. */
	void hook(u32 host, u32 qp, mrc_paths_cfg &paths, mrc_req_cfg *req);

	void arrived(u32 link, const Packet &k, u32 entropy);

	const std::vector<TraceLine> &lines() const { return lines_; }
	const std::vector<Captured> &packets() const { return packets_; }
	/* Bytes that are allocated. */
	u64 memory() const
	{
		return text_bytes_ + lines_.capacity() * sizeof(TraceLine) +
		       packets_.capacity() * sizeof(Captured) +
		       places_.size() * sizeof(Place);
	}

private:
	/* An engine's callbacks get one. */
	struct Place {
		Recorder *recorder;
		u32 host, qp;
	};

	bool traces(u32 qp) const;
	bool captures(u32 link) const;
	void sack(u32 host, u32 qp, const mrc_hdr &h, u8 port);
	void packet(const char *name, u32 host, u32 qp, const mrc_hdr &h,
		    u8 port, u32 entropy, u32 len);
	void add(u32 host, u32 qp, std::string text);

	const World &world_;
	const u64 &now_;
	std::deque<Place> places_;
	std::vector<TraceLine> lines_;
	std::vector<Captured> packets_;
	u64 text_bytes_ = 0; /* of strings */
};

/*
 * The formats of the tracepoints' fields, as the driver has them, without the
 * name; in the order of dev/mrc_trace.h: packets, SACKs, losses, states of EVs.
 */
const std::vector<std::string_view> &trace_formats();
/* The word of the driver for an opcode, a state of an EV, a cause of a loss. */
std::string_view opcode_word(u8 opcode);
std::string_view ev_state_word(u8 state);
std::string_view loss_word(u8 cause);

/*
 * The connections of flows that are numbered as in the results; of the first
 * one if there are none. Ascending. Throws mrclab::UsageError for a flow that
 * does not exist.
 */
std::vector<u32> connections_of(const Traffic &traffic,
				const std::vector<u32> &flows);

/*
 * How much memory recording takes at most, until the files are written: by the
 * data of the flows, half of which may be sent again.
 */
u64 recorder_memory(const Shape &shape, const Settings &s,
		    const Traffic &traffic);

/* The file "trace" of tracefs. Sorts @lines. */
std::string trace_text(std::vector<TraceLine> lines);
/* A file of tcpdump with times in ns. Sorts @packets. */
std::string pcap_of(std::vector<Captured> packets);
} // namespace mrcsim
