/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Results of drills that nobody has run. */
#pragma once

#include <string>

#include "drill_result.hpp"
#include "random_fabric.hpp"

namespace mrclab
{
/* Characters that mean something in scripts, XML, Markdown and dot. */
std::string hostile_text(Random &random, std::size_t most);

/* Every member is drawn. Names are those that results may have. */
DrillResult random_result(Random &random);

/*
 * Eight planes of 40 Mbit/s, of which one is lost in each second from second 2
 * on. With rxe the flow stops at the second loss.
 */
DrillResult stairs();
} // namespace mrclab
