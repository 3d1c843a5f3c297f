/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: a plan, carried out. */
#pragma once

#include <iosfwd>

#include "cli.hpp"
#include "results.hpp"

namespace mrcbench
{
/* Everything the plan says, in turn; progress goes to @log. */
Results run_plan(const Plan &plan, const Cli &cli, const Machine &machine,
		 std::ostream &log);

/* The facts about this machine, and how busy it is with nothing to do. */
Machine this_machine();

/* results.csv, results.json, summary.txt and a chart for each metric. */
void write_all(const std::string &directory, const Results &results,
	       const Machine &machine);

/* A process for each client, until there were so many. */
void serve_all(const Cli &cli, std::ostream &log);

/* SIGINT and SIGTERM let what was set up be taken down. */
void catch_signals();
} // namespace mrcbench
