/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: the two ways to fail, each with an exit status of its own. */
#pragma once

#include <stdexcept>
#include <string>

namespace mrcctl
{
enum Exit { exit_ok = 0, exit_usage = 1, exit_device = 2 };

/* The command or a file of definitions is wrong. */
struct UsageError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* The device, the kernel or the right to ask it. */
struct DeviceError : std::runtime_error {
	/* Without @err the text says all. */
	explicit DeviceError(const std::string &what, int err = 0);
	int err;
};
} // namespace mrcctl
