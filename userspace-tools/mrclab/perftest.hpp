/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: reads what programs of perftest print. Pure. */
#pragma once

#include <string>
#include <string_view>

#include "drill_result.hpp"

namespace mrclab
{
/*
 * The last line of the table in @output, all that a program of latency has
 * printed. Throws UsageError if there is not one table of latencies in us, or
 * if its figures cannot be right.
 */
Latency parse_latency(std::string_view output, const std::string &flow);
} // namespace mrclab
