/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: queue pairs and counters of a device, from RDMA netlink. */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model.hpp"

namespace mrcctl
{
/* Throws DeviceError. */
std::vector<QpName> nldev_qps(const std::string &device);
std::vector<Counter> nldev_counters(const std::string &device, uint32_t port);
} // namespace mrcctl
