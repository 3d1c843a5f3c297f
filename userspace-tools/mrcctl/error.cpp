// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "error.hpp"

#include <cerrno>
#include <cstring>

namespace mrcctl
{
namespace
{
/* What the kernel means beyond the text that belongs to the number. */
const char *hint(int err)
{
	switch (err) {
	case EPERM:
		return " (CAP_NET_ADMIN is needed)";
	case EBUSY:
		return " (in use)";
	case EOPNOTSUPP:
		return " (the device or its module cannot do that)";
	default:
		return "";
	}
}

std::string message(const std::string &what, int err)
{
	return err ? what + ": " + std::strerror(err) + hint(err) : what;
}
} // namespace

DeviceError::DeviceError(const std::string &what, int e)
	: std::runtime_error(message(what, e)), err(e)
{
}
} // namespace mrcctl
