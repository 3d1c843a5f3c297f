/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: scenario files, see mrcsim-scenario(5). */
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "settings.hpp"
#include "shape.hpp"
#include "traffic.hpp"

namespace mrcsim
{
struct Scenario {
	std::string file;
	std::string name;
	std::string text; /* of the file */
	Shape shape;
	Settings settings;
	std::vector<Column> columns{Column::mrc};
	std::vector<u64> seeds{1};
	std::vector<Fault> faults;
	bool random_traffic = false; /* another one for each seed */

	/* Throws mrclab::FileError. */
	Traffic traffic(u64 seed) const;

	/* Of the parts of the traffic, made by the reader. */
	struct Part {
		std::string pattern; /* or "matrix", "goal" */
		std::string file;    /* of these */
		u64 size = 0, start = 0;
		u64 every = 0; /* ps between the starts of repetitions */
		u32 hosts = 0, by = 1, senders = 0, parallel = 1, repeat = 1,
		    qps = 1, to = 1;
		int line = 0;
	};
	std::vector<Part> parts;
	/* Names of links whose queues samples show, and all flows. */
	bool all_flows = false;
};

/* Names of files in a scenario are relative to it. Throws mrclab::FileError. */
Scenario read_scenario(const std::string &file);
Scenario parse_scenario(std::string_view text, const std::string &file);

/* "down", "up", "loss 1%", "rate 25gbit", "rate 25%", "clear" for the links
 * that
 * @words[0] names. Throws mrclab::UsageError.
 */
Fault parse_fault(const Shape &shape, const std::vector<std::string> &words,
		  u64 at);
} // namespace mrcsim
