/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: the command line. */
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "measure.hpp"

namespace mrcbench
{
enum class Command { run, serve, check };

struct Cli {
	Command command = Command::run;
	/* run, check */
	std::string plan; /* file; "": one section made from --set */
	std::vector<std::string> set;
	std::vector<std::string> only; /* sections; none: all */
	std::string output;	       /* directory */
	bool strict = false;	       /* goals that are not met are failures */
	std::string to;		       /* server; "": namespaces */
	/* serve; run --to */
	std::vector<Place> places;
	std::string bind;
	uint16_t port = 18710;
	uint32_t sessions = 0; /* of serve, 0: no end */
};

/*
 * Throws UsageError. Returns no value after printing help or the version to
 * @out.
 */
std::optional<Cli> parse_cli(const std::vector<std::string> &args,
			     std::ostream &out);

/* COLUMN=DEVICE[/ADDRESS], or for TCP COLUMN[=ADDRESS]. */
Place parse_place(const std::string &text);
} // namespace mrcbench
