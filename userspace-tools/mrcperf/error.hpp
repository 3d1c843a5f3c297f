/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: the kinds of errors, each with its own exit status. */
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

/* The run could not be done or completed. */
struct RunError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* Data from the peer violates the protocol. */
struct ProtocolError : RunError {
	using RunError::RunError;
};

/* The peer gave up and sent a reason. */
struct PeerFailed : RunError {
	using RunError::RunError;
};

/* "@what: text of the errno value" */
[[noreturn]] void fail_errno(const std::string &what, int err);
} // namespace mrcperf
