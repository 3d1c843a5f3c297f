/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Runs other programs. Shared by mrclab and mrcbench. */
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace process
{
using Words = std::vector<std::string>;

struct Ended {
	int status = 0; /* of exit, or 128 and the signal's number */
	std::string out;
	std::string err;
};

/*
 * Starts a program with these descriptors for its standard input, output and
 * errors. The program is found in PATH and in the directories of
 * administrators' programs, and gets a process group of its own. Throws
 * std::system_error if it cannot be started.
 */
pid_t spawn(const Words &command, int in, int out, int err);

/* What waitpid() has given, as Ended::status. */
int exit_status(int status);

/*
 * Runs a program with @input for its standard input and waits for its end.
 * Throws std::system_error if it cannot be started.
 */
Ended run(const Words &command, const std::string &input = "");

/* Replaces this process by a program. Throws std::system_error, or is gone. */
[[noreturn]] void become(const Words &command);

/* Without white space at its end. */
std::string trimmed(const std::string &s);
} // namespace process
