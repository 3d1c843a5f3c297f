/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: how much memory a run will take. */
#pragma once

#include "settings.hpp"
#include "traffic.hpp"

namespace mrcsim
{
/* The program itself, part of every plan. */
constexpr u64 program_memory = 16 << 20;

/*
 * Bytes that a run takes, or each of its processes. Hosts that send without a
 * pause have as many packets under way as their paths hold, and a fifth more for
 * feedback and queues.
 */
u64 planned_memory(const Shape &shape, const Settings &s,
		   const Traffic &traffic, u32 threads = 1, u32 processes = 1);
} // namespace mrcsim
