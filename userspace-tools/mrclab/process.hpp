/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: runs other programs. */
#pragma once

#include <string>
#include <vector>

namespace mrclab
{
using Words = std::vector<std::string>;

struct Ended {
	int status = 0; /* of exit, or 128 and the signal's number */
	std::string out;
	std::string err;
};

/*
 * Runs a program with @input for its standard input and waits for its end. The
 * program is found in PATH and in the directories of administrators' programs.
 * Throws SystemError if it cannot be started.
 */
Ended run(const Words &command, const std::string &input = "");

/*
 * Runs "ip", "tc" or "rdma" with one command a line on standard input. Throws
 * SystemError with the line that failed and what the program said. Empty
 * @lines run nothing.
 */
void run_batch(const Words &command, const std::string &lines);

/* One batch for each of @batches, as many at a time as there are processors. */
struct Batch {
	Words command;
	std::string lines;
};
void run_batches(const std::vector<Batch> &batches);

/* Replaces mrclab by a program. Returns only by SystemError. */
[[noreturn]] void become(const Words &command);
} // namespace mrclab
