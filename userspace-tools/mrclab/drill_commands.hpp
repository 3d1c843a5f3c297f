/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: the commands "drill", "report" and "graph". They return a status. */
#pragma once

#include <string>
#include <vector>

#include "lab.hpp"

namespace mrclab
{
/*
 * Carries out drills; exit_unmet if a requirement is not met. All files are
 * read before the first drill begins. The report has all drills that were
 * carried out, those before an error too, and of one whose run with rxe failed
 * the run with mrc. mrc_only leaves out the runs with rxe.
 */
int drill_command(const std::vector<std::string> &files, const std::string &dir,
		  bool mrc_only, const Progress &progress);

/* Says what each file describes, and does nothing. */
int check_drills(const std::vector<std::string> &files);

/* A report of results that "drill" has written. */
int report_command(const std::vector<std::string> &files,
		   const std::string &dir);

/* A picture of the fabric of a file for dot(1), on standard output. */
int graph_command(const std::string &file);
} // namespace mrclab
