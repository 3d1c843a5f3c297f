/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: the commands that take a fabric from one state of faults to another.
 */
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fault.hpp"
#include "tc_commands.hpp"

namespace mrclab
{
/* A queue that marks and trims, to be made with the parameters of @port. */
struct PortQueue {
	std::string node;
	SwitchPort port;
	std::string command; /* of tc */
};

struct FaultCommands {
	/* By the node's name; for "ip -batch" and "tc -batch" in it. */
	std::map<std::string, std::string> ip;
	std::map<std::string, std::string> tc;
	std::vector<PortQueue> ports; /* after @tc */
};

/* From a fabric that was just built, without queues, to that of the file. */
FaultCommands first_commands(const Topology &t);
FaultCommands change_commands(const Topology &t, const Faults &from,
			      const Faults &to);

/*
 * For a fabric whose state is not known: what removes all queues, for "tc
 * -force -batch" by the node's name, where errors mean that there was nothing;
 * and after that the commands that make the state @to.
 */
std::map<std::string, std::string> wipe_commands(const Topology &t);
FaultCommands rebuild_commands(const Topology &t, const Faults &to);
} // namespace mrclab
