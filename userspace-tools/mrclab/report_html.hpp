/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: reports as HTML. Pure. */
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drill_result.hpp"

namespace mrclab
{
/* Pictures by the names of their drills, as gnuplot has written them: SVG. */
using Pictures = std::map<std::string, std::string>;

/*
 * A page without scripts, which needs no other file: a table of all
 * requirements, then each drill. Links lead to the files of write_report(). A
 * drill need not have a picture. The page is well-formed XML, too.
 */
std::string html_of(const std::vector<DrillResult> &results,
		    const Pictures &pictures);

/*
 * Names of the files beside the report: "fig9a.mrc.csv", "fig9a.svg". Latencies
 * have a file of their own, if there are any: "table521.mrc.latency.csv".
 */
std::string csv_name(const DrillResult &result, const DrillRun &run);
std::string latency_csv_name(const DrillResult &result, const DrillRun &run);
std::string file_name(const DrillResult &result, const std::string &suffix);
} // namespace mrclab
