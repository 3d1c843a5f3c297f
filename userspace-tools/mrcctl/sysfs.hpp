/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: attributes of ports that the RDMA core shows in sysfs. */
#pragma once

#include <cstdint>
#include <string>

namespace mrcctl
{
/* ACTIVE, DOWN, ...; "" if the state is not available */
std::string sysfs_port_state(const std::string &device, uint32_t port);
/* "" = none */
std::string sysfs_netdev(const std::string &device, uint32_t port);
} // namespace mrcctl
