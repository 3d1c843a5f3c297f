/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: the RDMA devices of a fabric's hosts. */
#pragma once

#include <string>
#include <vector>

#include "topology.hpp"

namespace mrclab
{
/* Devices that exist, in any network namespace that can be seen. */
std::vector<std::string> rdma_devices();

/*
 * Makes the devices of all hosts, with a port for each plane (rxe: with the
 * netdev of the first plane), and waits until every port is active and has the
 * host's addresses as GIDs.
 */
void make_devices(const Topology &t);

/*
 * Loads the profiles for the paths between all hosts. Where a link trims,
 * devices send packets that may be trimmed.
 */
void load_profiles(const Topology &t);

/* Index of the host's IPv6 address in the GID table of its device's port 1. */
uint32_t gid_index(const Topology &t, uint32_t host);

/*
 * Is there a device of this name, on a netdev of the namespace? Another device
 * can have got the name.
 */
bool is_device_of(const std::string &device, const std::string &netns);

/* Throws SystemError if it cannot be removed. */
void remove_device(const std::string &device, const std::string &netns);
} // namespace mrclab
