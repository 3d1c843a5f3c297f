/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcmap: points in time, as people read them. */
#pragma once

#include <cstdint>
#include <string>

namespace mrcmap
{
/* "2026-01-31T12:00:00Z" from ms of Unix time. */
std::string iso_time(int64_t ms);
} // namespace mrcmap
