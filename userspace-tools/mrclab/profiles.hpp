/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: profiles for the paths of a fabric, as commands for "mrcctl -b". */
#pragma once

#include <cstdint>
#include <string>

#include "topology.hpp"

namespace mrclab
{
/*
 * Throws FileError if a device cannot hold the profiles that the file asks for.
 */
void check_profiles(const Fabric &fabric);

/*
 * For the device of a host. With EVs, EV profile N leads to host N by all T1s
 * in all planes, and queue pairs to host N use it by default. The only masked
 * bits are the T1's number, so the value of an EV is that number. Returns
 * nothing if the file asks for no profiles.
 */
std::string profile_commands(const Topology &t, uint32_t host);
} // namespace mrclab
