// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "check.hpp"

#include <cerrno>

void must(int err, const std::string &what)
{
	if (err)
		throw Failure(what + ": " + errno_text(err));
}

int failed(int ret)
{
	/* -1000 is no errno: a function that returns something else is wrong.
	 */
	return !ret ? 0 : ret == -1 ? errno : -1000;
}
