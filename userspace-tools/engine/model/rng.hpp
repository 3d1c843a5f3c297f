// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Random numbers that are the same on every machine.
#pragma once

#include <cstddef>

#include "mrc_base.h"

namespace mrc_model
{

// splitmix64: the standard library's distributions differ between versions,
// and a seed must mean the same schedule everywhere.
class Rng
{
public:
	explicit Rng(u64 seed) : s_(seed) {}

	u64 next()
	{
		u64 z = s_ += 0x9E3779B97F4A7C15ull;

		z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
		z = (z ^ z >> 27) * 0x94D049BB133111EBull;
		return z ^ z >> 31;
	}

	// Uniform in [0, n); n > 0.
	u64 below(u64 n) { return next() % n; }

	// Uniform in [lo, hi].
	u64 range(u64 lo, u64 hi) { return lo + below(hi - lo + 1); }

	bool chance(u32 ppm) { return below(1000000) < ppm; }

	template <typename T, std::size_t N> T pick(const T (&of)[N])
	{
		return of[below(N)];
	}

private:
	u64 s_;
};

} // namespace mrc_model
