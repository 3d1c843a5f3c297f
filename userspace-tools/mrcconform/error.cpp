// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "error.hpp"

#include <system_error>

namespace mrcconform
{
void fail_errno(const std::string &what, int err)
{
	throw RunError(what + ": " + std::generic_category().message(err));
}
} // namespace mrcconform
