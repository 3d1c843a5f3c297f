/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcctl links: the ports of a device, which are numbered as the file has its
 * netdevs, also while some of them are absent.
 */
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host.hpp"
#include "links.hpp"

namespace mrcctl
{
/* By number from 1; "" is a vacant port. Empty: there is no such device. */
using LinkPorts = std::map<uint64_t, std::string>;

/* Throws DeviceError if rdma(8) is missing, fails or is not understood. */
LinkPorts link_ports(Host &host, const std::string &device);

bool netdev_exists(Host &host, const std::string &netdev);

/*
 * Removes the netdevs that hold places of absent ones and are ports still,
 * because a run was killed. Their ports are vacant then. Throws DeviceError.
 */
void remove_placeholders(Host &host, const std::string &device);

/*
 * Adds the netdevs that exist and are no ports yet. Absent ones get vacant
 * ports. Does nothing if no netdev exists. Throws DeviceError.
 */
void add_link_ports(Host &host, const LinkFile &f);

/* Throws DeviceError with what the program says. */
void run_program(Host &host, const std::vector<std::string> &command);
} // namespace mrcctl
