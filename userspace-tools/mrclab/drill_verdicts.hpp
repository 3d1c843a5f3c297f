/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: what series and latencies say about requirements. Pure. */
#pragma once

#include <vector>

#include "../common/fairness.hpp"
#include "drill.hpp"
#include "drill_result.hpp"

namespace mrclab
{
using fairness::jain;

/* One verdict for each requirement. */
std::vector<Verdict> judge(const Drill &d, const DrillRun &run);

/*
 * Of each flow with goodput: its longest time without a byte, from the first
 * one to the end of the drill, or to its last byte if its programs end by
 * themselves.
 */
std::vector<Gap> gaps_of(const Drill &d, const DrillRun &run);
} // namespace mrclab
