/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcmap: the agent of a host. */
#pragma once

#include <string>
#include <vector>

#include "config.hpp"
#include "packet.hpp"
#include "topology.hpp"

namespace mrcmap
{
struct AgentOptions {
	uint32_t host = 0;
	std::string collector;		  /* ADDRESS:PORT, or: */
	std::string file;		  /* for its lines */
	std::vector<std::string> netdevs; /* by plane; empty: p1, p2, ... */
	Key key{};
	bool deny = false;
	std::string device; /* whose EVs are denied */
};

/* Runs until it is interrupted. Throws Interrupted, SystemError, UsageError. */
void run_agent(const mrclab::Topology &t, const Config &config,
	       const AgentOptions &o);
} // namespace mrcmap
