/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: ends the processes that run in network namespaces. */
#pragma once

#include <cstdint>
#include <set>

namespace mrclab
{
/*
 * Ends all processes whose network namespace is one of @inodes: SIGTERM, and
 * after a while SIGKILL. Processes of which just another thread is there are
 * left alone. Throws UsageError if the calling process is one of them, and
 * SystemError with their numbers if some do not end.
 */
void end_processes(const std::set<uint64_t> &inodes);
} // namespace mrclab
