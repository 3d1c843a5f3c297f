/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrc_devfuzz: the command line. */
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace devfuzz
{
constexpr unsigned max_places = 64;

/* A device and where its programs run. */
struct Host {
	std::string netns; /* empty: that of the caller */
	std::string device;
	std::vector<std::string> netdevs; /* of its planes */
};

/* What a program does beside using the device as it should. */
enum Kind : unsigned {
	plain,	 /* nothing */
	wild,	 /* changed calls, garbage in rings */
	faults,	 /* calls that run out of memory */
	control, /* a controller */
	kinds,
};
extern const char *const kind_names[kinds];

struct Options {
	uint64_t seed = 1;
	std::vector<Host> hosts;
	unsigned programs = 4;	/* at a time */
	unsigned lives = 4;	/* programs one after the other in each place */
	unsigned actions = 300; /* of a life */
	unsigned patience =
		60; /* seconds until a killed program must have ended */
	unsigned packets = 0; /* changed packets for each netdev */
	std::vector<Kind> kinds;
	/* Actions and how often each, in proportion to others; none: all, as
	 * often as their tables say. */
	std::map<std::string, unsigned> only;
	std::string
		coverage;   /* a file that keeps the places that were reached */
	bool trace = false; /* print each action */

	/* Throws Failure with the usage. */
	static Options parse(int argc, char **argv);
};
} // namespace devfuzz
