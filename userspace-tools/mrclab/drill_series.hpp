/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: from counters to goodput over time. Series are named
 *
 *	write		the flow of that traffic, or all of its flows
 *	write 2		its second flow
 *	flows, total	all flows; their sum
 *	plane 1, planes	what hosts receive in a plane; all of these
 *	p1l1:s1		what the end of a link sends; also as a pattern
 */
#pragma once

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
/* All counters at one moment. */
struct Reading {
	uint64_t at = 0; /* ns since the start; negative times are not kept */
	std::map<Direction, Counters> links;
	std::vector<uint64_t> flows; /* bytes of payload, in their order */
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
 * Series of flows with goodput, their total, planes, and what else the drill
 * names. Names that the fabric does not have give no series.
 */
void add_series(DrillRun &run, const Topology &t, const Drill &d,
		const std::vector<Reading> &readings);

/* Names of the run's series that @what stands for. */
std::vector<std::string> series_names(const DrillRun &run,
				      const std::string &what);
} // namespace mrclab
