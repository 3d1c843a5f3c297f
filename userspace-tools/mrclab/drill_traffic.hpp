/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: the part of a drill's file that is named "traffic". */
#pragma once

#include <string>
#include <vector>

#include "drill.hpp"
#include "flow.hpp"
#include "topology.hpp"
#include "yaml.hpp"

namespace mrclab
{
/* An entry of "traffic", before its hosts are known. */
struct TrafficEntry {
	std::string name;
	int line = 0;
	Stream stream;
	std::vector<std::string> from, to, among, hosts, command;
	Ending ending = Ending::wait;
	uint64_t start = 0;
};

/* These throw FileError for whatever is wrong. */
std::vector<TrafficEntry> read_traffic(const YamlFile &yaml,
				       const YAML::Node &node);
std::vector<Flow> make_flows(const YamlFile &yaml, const Topology &t,
			     const std::vector<TrafficEntry> &traffic);
} // namespace mrclab
