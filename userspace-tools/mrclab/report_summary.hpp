/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: what "mrclab drill" prints of a result. Pure. */
#pragma once

#include <string>

#include "drill_result.hpp"

namespace mrclab
{
/*
 * Lines of all runs: flows that have failed, latencies, the longest time of
 * each flow without a byte, verdicts.
 */
std::string summary_of(const DrillResult &result);
} // namespace mrclab
