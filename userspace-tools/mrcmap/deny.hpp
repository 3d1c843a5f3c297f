/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: which paths each host shall not use because of the findings. A
 * NIC-T0 link or a T0 costs a plane: at that host for all destinations, at all
 * others for that host. A T0-T1 link or a T1 costs paths of a plane.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "locate.hpp"
#include "report.hpp"

namespace mrcmap
{
/*
 * The list of one host. Of no destination it takes the last plane, or more than
 * Config::deny_planes of the planes: then the worst ones are denied, and a
 * plane whose T1s are all bad counts as denied. A finding whose place is not
 * certain denies what crosses its first place.
 */
DenyList deny_list(const mrclab::Topology &t,
		   const std::vector<Finding> &findings, uint32_t host,
		   const Config &config);

/*
 * Commands for "mrcctl -b" that lead from one list to another one, for the
 * profiles of mrclab: profile N leads to host N, and the value of an EV is the
 * number of its T1.
 */
std::string deny_commands(const DenyList &before, const DenyList &after);
} // namespace mrcmap
