/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcmap: the collector of a fabric. */
#pragma once

#include <string>
#include <vector>

#include "config.hpp"
#include "topology.hpp"

namespace mrcmap
{
struct CollectorOptions {
	std::string listen; /* ADDRESS:PORT; empty: files alone */
	std::vector<std::string> files;
	/* What it writes; empty: not. */
	std::string state, metrics, history;
	bool deny = false;
};

/* Runs until it is interrupted. Throws Interrupted, SystemError, UsageError. */
void run_collector(const mrclab::Topology &t, const Config &config,
		   const CollectorOptions &o);
} // namespace mrcmap
