/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: the kinds of errors and the exit statuses. */
#pragma once

#include <stdexcept>
#include <string>

namespace mrcconform
{
enum Exit { exit_ok = 0, exit_failed = 1, exit_usage = 2, exit_system = 3 };

/* The command line is wrong. */
struct UsageError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* The run could not be done: no target, no socket, no device. */
struct RunError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* What another program sent, or a file, is not what it should be. */
struct FormatError : RunError {
	using RunError::RunError;
};

/* "@what: text of the errno value" */
[[noreturn]] void fail_errno(const std::string &what, int err);
} // namespace mrcconform
