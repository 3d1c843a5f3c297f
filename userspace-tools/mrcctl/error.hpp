/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: the two kinds of errors, each with its own exit status. */
#pragma once

#include <stdexcept>
#include <string>

namespace mrcctl
{
enum Exit { exit_ok = 0, exit_usage = 1, exit_device = 2 };
/* Of "links up": a device has no netdev yet. */
constexpr int exit_no_netdev = 3;
/* Of doctor, as of other programs that check something. */
enum DoctorExit { exit_doctor_errors = 1, exit_doctor_usage = 2 };

/* The command or a file of definitions is wrong. */
struct UsageError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* An error of the device or the kernel, or a missing privilege. */
struct DeviceError : std::runtime_error {
	/* Without @err the message is @what alone. */
	explicit DeviceError(const std::string &what, int err = 0);
	int err;
};
} // namespace mrcctl
