/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: what a run has shown, as text, JSON and CSV. */
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "simulator.hpp"

namespace mrcsim
{
/* Times in ps. The tail is the largest. */
struct Spread {
	u64 n = 0;
	u64 min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
	double mean = 0;
};

Spread spread_of(std::vector<u64> values);

/* A flow of a run. */
struct FlowRow {
	u32 flow, src, dst, bytes;
	u64 began, ended, received; /* ps; ~0: not */
	bool failed;
};

struct PlaneRow {
	u64 bytes = 0;		 /* sent by T0s to T1s, or by T0s to hosts */
	u64 least = 0, most = 0; /* of a link */
};

struct RunResult {
	std::string column;
	u64 seed = 0;
	u64 digest = 0;
	u64 time = 0;	 /* ps, simulated */
	double cpu = 0;	 /* s */
	double wall = 0; /* s */
	Spread fct;
	double jain = 0; /* of the flows' rates */
	u64 flows = 0, queue_pairs = 0;
	Totals totals;
	LinkSums links;
	u64 spurious = 0, timeouts = 0, evs_bad = 0, probes = 0;
	u64 last_received = 0; /* ps */
	u64 memory = 0;	       /* bytes */
	std::vector<PlaneRow> planes;
	std::vector<Sample> samples;
	std::vector<FlowRow> rows;
	std::vector<TraceLine> trace; /* as Settings::watch says */
	std::vector<Captured> captured;
	std::string wrong; /* what conservation misses, empty: nothing */
};

RunResult result_of(const Simulator &sim, const Traffic &traffic);

/* Several lines for people. */
std::string text_of(const RunResult &r);
nlohmann::ordered_json json_of(const RunResult &r);
/* The columns' names, then a line for each flow of each run. */
std::string csv_of(const std::vector<RunResult> &runs);
} // namespace mrcsim
