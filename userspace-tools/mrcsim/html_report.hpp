/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: a page about the runs of a scenario, which needs no other file. */
#pragma once

#include <string>
#include <vector>

#include "curves.hpp"
#include "scenario.hpp"

namespace mrcsim
{
/*
 * @pictures: one for each of figures_of(@runs), as gnuplot has written them.
 * The page is well-formed XML, too.
 */
std::string html_of(const Scenario &s, const std::vector<RunResult> &runs,
		    const std::vector<std::string> &pictures);
} // namespace mrcsim
