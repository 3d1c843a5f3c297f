/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: what the RDMA subsystem says of ports in sysfs. */
#pragma once

#include <cstdint>
#include <string>

namespace mrcctl
{
/* ACTIVE, DOWN, ...; "" if that cannot be told */
std::string sysfs_port_state(const std::string &device, uint32_t port);
/* "" = none */
std::string sysfs_netdev(const std::string &device, uint32_t port);
} // namespace mrcctl
