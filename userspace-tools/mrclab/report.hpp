/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: writes a report on drills, and the files that belong to it. */
#pragma once

#include <string>
#include <vector>

#include "drill_result.hpp"

namespace mrclab
{
/*
 * Writes @dir/report.html, its table as report.md, and for each result
 * NAME.json, NAME.DEVICES.csv, NAME.DEVICES.latency.csv, NAME.svg and NAME.png.
 * Makes the directory if it is not there and replaces older files. Throws
 * SystemError, also if there is no gnuplot, and UsageError for results of the
 * same name and for results that could not be read again.
 */
void write_report(const std::vector<DrillResult> &results,
		  const std::string &dir);
} // namespace mrclab
