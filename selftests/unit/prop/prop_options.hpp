// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Command line of mrc_prop, after GoogleTest took its own flags:
//
//   --schedules=N       random schedules in all (also MRC_PROP_SCHEDULES)
//   --first=SEED        seed of the first one
//   --replay=KIND:SEED  just this one; KIND is random, error, attack, ext,
//                       exterror, extattack, tail, tailagain, tailorder,
//                       tailread, tailsilent, tailgone or nics
//   --trace             print every event of a replayed schedule
#pragma once

#include <string>

#include "prop_sim.hpp"

namespace prop
{

struct Options {
	u64 schedules = 10000;
	u64 first = 1;
	std::string replay;
	bool trace = false;
};

extern Options options;

// Run one schedule of @kind; empty on success, else what went wrong and how to
// see it again.
std::string run_schedule(const std::string &kind, u64 seed, bool trace);

// The same for the kinds of the extension: ext, exterror and extattack.
std::string run_ext(const std::string &kind, u64 seed, bool trace);

std::string run_ext_attack(u64 seed, bool trace);

// A schedule of prop_nics.cpp.
std::string run_nics(u64 seed, bool trace);

// What the error schedules end with.
void check_error_outcome(Sim &sim);

} // namespace prop
