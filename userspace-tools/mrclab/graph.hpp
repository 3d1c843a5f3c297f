/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: pictures of fabrics, as text for dot of Graphviz. Pure. */
#pragma once

#include <string>

#include "fault.hpp"

namespace mrclab
{
/*
 * Hosts below, T0s above them, T1s at the top, links in the colours of their
 * planes. What is wrong is red: links that are down are dashed, other links
 * have an arrow in each direction that is worse than the file says.
 */
std::string dot_of(const Topology &t, const Faults &faults);
} // namespace mrclab
