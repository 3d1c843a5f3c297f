// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "error.hpp"

#include <cerrno>
#include <cstring>

namespace mrcctl
{
namespace
{
/* The driver's meaning of an errno value, beyond its standard text. */
const char *hint(int err)
{
	switch (err) {
	case EPERM:
		return " (CAP_NET_ADMIN is needed)";
	case EBUSY:
		return " (in use)";
	case EOPNOTSUPP:
		return " (the device or its module cannot do that)";
	/* For SRv6 profiles. Only the kernel log names the EV. */
	case ENETUNREACH:
		return " (there is no route to the address of an EV through "
		       "the EV's port; the kernel log names both)";
	case EADDRNOTAVAIL:
		return " (the port of an EV has no IPv6 address that can be "
		       "the source of SRv6 packets; the kernel log names both)";
	case EMSGSIZE:
		return " (the MTU towards the address of an EV has no room for "
		       "SRv6; the kernel log names both)";
	case EAFNOSUPPORT:
		return " (SRv6 needs IPv6, which is missing or disabled on the "
		       "port of an EV; the kernel log names it)";
	case ENETDOWN:
		return " (none of the ports of the EVs is up)";
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
