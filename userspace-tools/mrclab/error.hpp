/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: the kinds of errors, each with its own exit status. */
#pragma once

#include <stdexcept>
#include <string>

namespace mrclab
{
enum Exit {
	exit_ok = 0,
	exit_usage = 1,
	exit_system = 2,
	exit_unmet = 3, /* a drill was carried out, and not passed */
};

/* The command line is wrong, or names something that the fabric does not have.
 */
struct UsageError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* A file is wrong: "FILE:LINE: reason". Lines count from 1; 0 is none. */
struct FileError : UsageError {
	FileError(const std::string &file, int at, const std::string &why);
	int line;
};

/* An error of the kernel or of a program that mrclab runs, or a missing
 * privilege. Without @err the message is @what alone.
 */
struct SystemError : std::runtime_error {
	explicit SystemError(const std::string &what, int err = 0);
};
} // namespace mrclab
