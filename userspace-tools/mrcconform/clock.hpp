/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: the clock of all deadlines. */
#pragma once

#include <chrono>

namespace mrcconform
{
using Clock = std::chrono::steady_clock;
} // namespace mrcconform
