/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: from counters to goodput over time. Series are named
 *
 *	write		the flow of that traffic, or all of its flows
 *	write 2		its second flow
 *	flows, total	all flows; their sum
 *	plane 1, planes	what hosts receive in a plane; all of these
 *	p1l1:s1		what the end of a link sends; also as a pattern
 *	ev p1 h1>h2 0000c123	what host 2 receives from host 1 in plane 1 on
 *			this entropy value
 *	evs		all of these
 *
 * "plane 1 packets" and those of EVs are packets/s and cannot be drawn.
 */
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "counters.hpp"
#include "drill.hpp"
#include "drill_result.hpp"
#include "topology.hpp"

namespace mrclab
{
/* Packets with payload that one host sends to another one on an EV. */
struct EvPath {
	uint32_t plane = 0;
	uint32_t from = 0, to = 0; /* hosts */
	uint32_t entropy = 0;	   /* see ev_packet.hpp */

	/* NOLINTNEXTLINE(modernize-use-nullptr): a false alarm */
	auto operator<=>(const EvPath &) const = default;
};

struct EvCount {
	uint64_t bytes = 0; /* of frames */
	uint64_t packets = 0;
};

/* All counters at one moment. */
struct Reading {
	uint64_t at = 0; /* ns since the start; negative times are not kept */
	std::map<Direction, Counters> links;
	std::vector<uint64_t> flows; /* bytes of payload, in their order */
	std::map<EvPath, EvCount> evs = {};
};

/* Is @name a flow that @what stands for? "write" does for "write 2". */
bool is_flow(const std::string &name, const std::string &what);

/* Throws UsageError if no series has this name. */
void check_series(const Topology &t, const std::vector<Flow> &flows,
		  const std::string &name);

/* Names of the flows that measure latency and that @what stands for. */
std::vector<std::string> latency_names(const std::vector<Flow> &flows,
				       const std::string &what);
/* Throws UsageError if there are none. */
void check_latency(const std::vector<Flow> &flows, const std::string &name);

/*
 * Series of flows with goodput, their total, planes, EVs that were counted, and
 * what else the drill names. Names that the fabric does not have give no
 * series.
 */
void add_series(DrillRun &run, const Topology &t, const Drill &d,
		const std::vector<Reading> &readings);

/* Names of the run's series that @what stands for. */
std::vector<std::string> series_names(const DrillRun &run,
				      const std::string &what);

/* Of these series the @most with the largest sums, in the order of @names. */
std::vector<std::string> busiest(const DrillRun &run,
				 const std::vector<std::string> &names,
				 std::size_t most);
} // namespace mrclab
