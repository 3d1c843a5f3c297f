/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcmap: several findings that are one. */
#pragma once

#include <vector>

#include "locate.hpp"
#include "places.hpp"

namespace mrcmap
{
/* Does @a have all directions of @b? A switch has all of its links. */
bool covers(const mrclab::Topology &t, const Place &a, const Place &b);

/*
 * Both directions of a link become the link; (nearly) all links of a switch
 * become the switch. Adds what the hosts' ports say, and sorts by place.
 * @counts are of the last seconds, @newest of the last moment.
 */
void merge(const mrclab::Topology &t, const Config &config,
	   const std::vector<PathCount> &counts,
	   const std::vector<PathCount> &newest, const Places &places,
	   const Carriers &carriers, std::vector<Finding> &found);
} // namespace mrcmap
