/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Whole frames of a netdev. */
#pragma once

#include <string>

#include "../../userspace-tools/common/fd.hpp"

namespace devfuzz
{
/*
 * A socket for all frames of the netdev, or one that only sends. Throws
 * No_device.
 */
fd::Fd open_plane(const std::string &netdev, bool hears);
} // namespace devfuzz
