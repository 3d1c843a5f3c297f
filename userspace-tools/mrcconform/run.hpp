/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: the program on the second host. */
#pragma once

#include "report.hpp"

namespace mrcconform
{
/* Runs the chosen cases with each address of the target. Throws RunError. */
std::vector<Result> run_cases(const RunOptions &options);
} // namespace mrcconform
