/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: fabrics as text and as JSON. */
#pragma once

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "counters.hpp"
#include "fault.hpp"

namespace mrclab
{
/* One line: "small: 2 planes, 2 T0 and 2 T1 in each, 4 hosts, srv6, mtu 4500".
 */
std::string summary(const Fabric &f);

/* The words of all faults, a line for each; empty without faults. */
std::string fault_lines(const Topology &t, const Faults &faults);

/* Several lines: the hosts and how to use them, and what is wrong. */
std::string text_of(const Topology &t, const Faults &faults);

/* A line for each direction: what the end that it is named after has sent and
 * received.
 */
std::string text_of(const Topology &t,
		    const std::map<Direction, Counters> &counters);

nlohmann::ordered_json json_of(const Topology &t, const Faults &faults,
			       const std::map<Direction, Counters> &counters);
} // namespace mrclab
