/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: reads from a device what metrics and serve show. */
#pragma once

#include "backend.hpp"
#include "metrics.hpp"

namespace mrcctl
{
/*
 * The device is open only while it is read, because a device that somebody has
 * open gets no further ports. What the kernel refuses is missing. Does not
 * throw DeviceError.
 */
MetricsOfDevice figures_of(System &system, const std::string &name);

std::vector<Port> ports_with_counters(Backend &dev);

/* Those of @names. Queue pairs that have ended meanwhile are left out. */
std::vector<Qp> all_qps(Backend &dev, const std::vector<QpName> &names);
} // namespace mrcctl
