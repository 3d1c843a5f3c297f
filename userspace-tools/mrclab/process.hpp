/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: runs other programs. */
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "../common/process.hpp"

namespace mrclab
{
using process::Ended;
using process::exit_status;
using process::Words;

/* As those of process, but errors of starting a program are SystemError. */
pid_t spawn(const Words &command, int in, int out, int err);
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
