/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: the runs of a scenario, several side by side, with progress. */
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report.hpp"
#include "scenario.hpp"

namespace mrcsim
{
struct RunOptions {
	u32 jobs = 1;	 /* runs at the same time */
	u32 threads = 1; /* of each run */
	/* Bytes that may be used; 0: what the system says is available. */
	u64 memory = 0;
	bool rows = true; /* keep what is known of single flows */
	/*
	 * Only the runs number @part, @part + @parts and so on, from 1: those of
	 * a task of a job array.
	 */
	u32 part = 1, parts = 1;
	/* Processes that simulate each run together; each makes this call. */
	Peers *peers = nullptr;
	/* Called at most four times a second, from any of the threads. */
	std::function<void(const std::string &)> progress;
};

/*
 * The runs of all columns and seeds, in this order. Throws mrclab::UsageError
 * if they do not fit into memory, before anything is begun.
 */
std::vector<RunResult> run_scenario(const Scenario &s, const RunOptions &o);

/*
 * One run, on this thread and @threads - 1 others. With @peers the first process
 * has the result.
 */
RunResult run_once(const Scenario &s, Column column, u64 seed, u32 threads = 1,
		   const std::function<void(const Simulator &)> &progress = {},
		   Peers *peers = nullptr);

/* The JSON of all runs, with their numbers. */
nlohmann::ordered_json json_of_runs(const Scenario &s, const RunOptions &o,
				    const std::vector<RunResult> &runs);
/*
 * The parts of a job array, as one. Throws mrclab::UsageError if they are not of
 * one scenario, or if a run is there twice or missing.
 */
nlohmann::ordered_json
merged(const std::vector<std::pair<std::string, std::string>> &files);

/* What follows from the scenario, and how much memory a run takes. */
std::string plan_text(const Scenario &s);

/* Bytes of memory that are available; 0 if the system does not say it. */
u64 available_memory();
} // namespace mrcsim
