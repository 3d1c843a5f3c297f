/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcmap: the clocks of the agent and of the collector. */
#pragma once

#include <cstdint>
#include <ctime>

namespace mrcmap
{
constexpr uint64_t ns_of_ms = 1'000'000;
constexpr uint64_t ns_of_s = 1'000'000'000;

inline uint64_t read_clock(clockid_t clock)
{
	timespec ts{};

	clock_gettime(clock, &ts);
	return static_cast<uint64_t>(ts.tv_sec) * ns_of_s +
	       static_cast<uint64_t>(ts.tv_nsec);
}

inline uint64_t now_ns()
{
	return read_clock(CLOCK_MONOTONIC);
}

/* Unix time, ms. */
inline int64_t wall_ms()
{
	return static_cast<int64_t>(read_clock(CLOCK_REALTIME) / ns_of_ms);
}
} // namespace mrcmap
