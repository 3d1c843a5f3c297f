/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: the timeline of a drill: a map of times to faults.
 *
 *	3s: p1l1 down
 *	5s: [p1l1 up, p2s1 drop]
 *	6s: p1l1:s1+ flap 500ms 100ms 10
 *
 * The words are those of fault.hpp. "flap PERIOD DOWN TIMES" stands for "down"
 * and, after DOWN, "up", so many times.
 */
#pragma once

#include <vector>

#include "drill.hpp"
#include "yaml.hpp"

namespace mrclab
{
/*
 * Reads the map @node into steps in the order of time. Throws FileError for
 * times at or after @end.
 */
void read_timeline(const YamlFile &yaml, const YAML::Node &node, uint64_t end,
		   std::vector<Step> &steps);
} // namespace mrclab
