/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: the program on the second host. */
#pragma once

#include "report.hpp"

namespace mrcconform
{
/* Runs the chosen cases with each address of the target. Throws RunError. */
/*
 * Appends to @results as the cases end. Throws RunError if the rest cannot be run; then
 * @results has those before.
 */
void run_cases(const RunOptions &options, std::vector<Result> &results);
} // namespace mrcconform
