/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: executing a plan. */
#pragma once

#include <iosfwd>

#include "cli.hpp"
#include "results.hpp"

namespace mrcbench
{
/* Executes the sections of a plan in turn; prints progress to @log. */
Results run_plan(const Plan &plan, const Cli &cli, const Machine &machine,
		 std::ostream &log);

/* The properties of this machine, and its load when it is idle. */
Machine this_machine();

/*
 * Writes results.csv, results.json, summary.txt and a chart for each metric. If
 * gnuplot cannot draw them, @log says why, and only the charts are missing.
 */
void write_all(const std::string &directory, const Results &results,
	       const Machine &machine, std::ostream &log);

/* Serves each client in a process, until the number of sessions is reached. */
void serve_all(const Cli &cli, std::ostream &log);

/* Lets the program clean up after SIGINT and SIGTERM. */
void catch_signals();
} // namespace mrcbench
