/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: pictures of drills, as scripts for gnuplot. Pure. */
#pragma once

#include <cstdint>

#include "../common/gnuplot_text.hpp"
#include "drill_result.hpp"

namespace mrclab
{
/* The same in all pictures. Planes from 9 on begin with the first one again. */
const char *plane_colour(uint32_t plane);

/*
 * Goodput over time: a panel for each run, one below the other, with the same
 * axes. Vertical lines are the events of the timeline.
 */
gnuplot::Plot plot_of(const DrillResult &result);
} // namespace mrclab
