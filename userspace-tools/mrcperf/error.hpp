/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: the ways to fail, each with an exit status of its own. */
#pragma once

#include <stdexcept>
#include <string>

namespace mrcperf
{
enum Exit { exit_ok = 0, exit_failed = 1, exit_usage = 2, exit_data = 3 };

/* The command line is wrong. */
struct UsageError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* The run could not be done, or not be finished. */
struct RunError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* What came from the other side is not what the protocol says. */
struct ProtocolError : RunError {
	using RunError::RunError;
};

/* The other side gave up, and said why. */
struct PeerFailed : RunError {
	using RunError::RunError;
};

/* "@what: text of the errno value" */
[[noreturn]] void fail_errno(const std::string &what, int err);
} // namespace mrcperf
