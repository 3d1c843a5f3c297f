/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Where programs run. */
#pragma once

#include <string>

#include "../common/failure.hpp"

namespace devfuzz
{
/* Its device or its namespace is gone, or not there yet. */
struct No_device : Failure {
	using Failure::Failure;
};

/* Of this thread; empty: stays where it is. Throws No_device. */
void enter_netns(const std::string &name);
} // namespace devfuzz
