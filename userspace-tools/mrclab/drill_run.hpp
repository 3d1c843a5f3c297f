/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: carries out a drill. */
#pragma once

#include <string>

#include "drill.hpp"
#include "drill_result.hpp"
#include "lab.hpp"

namespace mrclab
{
/*
 * Makes the drill's fabric, starts its programs, lets its faults happen, and
 * removes the fabric; once with mrc, and with rxe if the drill asks for it. The
 * programs' output is in files below @dir. Throws SystemError if the drill
 * could not be carried out, and Interrupted. In both cases the fabric is gone,
 * and @result has the runs that were completed.
 */
void run_drill(DrillResult &result, const Drill &d, const std::string &dir,
	       const Progress &progress);
} // namespace mrclab
