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
	std::string plan; /* file; "": one section of what --set says */
	std::vector<std::string> set;
	std::vector<std::string> only; /* sections; none: all */
	std::string output;	       /* directory */
	bool strict = false;	       /* goals that are not met fail */
	std::string to;		       /* server; "": namespaces */
	/* serve; run --to */
	std::vector<Place> places;
	std::string bind;
	uint16_t port = 18710;
	uint32_t sessions = 0; /* of serve, 0: no end */
};

/*
 * Throws UsageError. No value: help or the version was asked for and is printed
 * to @out.
 */
std::optional<Cli> parse_cli(const std::vector<std::string> &args,
			     std::ostream &out);

/* COLUMN=DEVICE[/ADDRESS], of TCP COLUMN[=ADDRESS]. */
Place parse_place(const std::string &text);
} // namespace mrcbench
