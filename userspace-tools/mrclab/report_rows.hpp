/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: the table with which reports begin. Pure. */
#pragma once

#include <string>
#include <vector>

#include "drill_result.hpp"

namespace mrclab
{
/* One requirement and what became of it. */
struct Row {
	std::string text;
	std::string wanted, got; /* with unit; empty: not a number */
	std::string other;	 /* the same of RoCE, if it was measured */
	bool ok = false;
};

/*
 * The verdicts of the run with mrc, then programs that have failed. A drill
 * without any of these has one row.
 */
std::vector<Row> rows_of(const DrillResult &result);

/* "87.2 %", "260 ms", "0.993"; with @more digits if they are needed. */
std::string figure_of(double value, const std::string &unit, int more = 0);

/* Is there any of Row::other? */
bool has_other(const std::vector<DrillResult> &results);

/* "3 of 4 requirements are met". */
std::string score_of(const std::vector<DrillResult> &results);

/* The table in Markdown, for documents. */
std::string markdown_of(const std::vector<DrillResult> &results);
} // namespace mrclab
