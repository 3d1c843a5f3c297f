// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What the tests of the three kinds of profiles have in common: bytes to
// compare, states to enumerate.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "evbits.hpp"

#include "mrc_profile.h"

namespace mrc_test
{

constexpr u8 kInit = MRC_PROFILE_INIT, kOffline = MRC_PROFILE_OFFLINE,
	     kOnline = MRC_PROFILE_ONLINE;
constexpr u8 kStates[] = {kInit, kOffline, kOnline};
constexpr u32 kNoState = 0xFF;

// INIT -> OFFLINE -> ONLINE -> OFFLINE -> INIT, written down once more.
inline bool legal_step(u32 from, u32 to)
{
	return (from == 0 && to == 1) || (from == 1 && to == 2) ||
	       (from == 2 && to == 1) || (from == 1 && to == 0);
}

// @f for every combination of one value from each list, in the order given.
template <typename F> void each(F f)
{
	f();
}

template <typename F, typename L, typename... Ls>
void each(F f, const L &list, const Ls &...lists)
{
	for (const auto &v : list)
		each([&](const auto &...rest) { f(v, rest...); }, lists...);
}

constexpr bool kBools[] = {false, true};
constexpr u32 kTargets[] = {0, 1, 2, 3, kNoState};

inline std::vector<u32> up_to(u32 n)
{
	std::vector<u32> v;

	for (u32 i = 0; i < n; i++)
		v.push_back(i);
	return v;
}

using Vendor = std::array<u8, MRC_VENDOR_CFG>;

inline Vendor vendor_of(u8 b)
{
	Vendor v;

	for (std::size_t i = 0; i < v.size(); i++)
		v[i] = static_cast<u8>(b + i);
	return v;
}

// Everything a profile consists of, for comparisons before and after.
template <typename T> std::vector<u8> bytes_of(const T &v)
{
	const u8 *p = reinterpret_cast<const u8 *>(&v);

	return {p, p + sizeof(v)};
}

} // namespace mrc_test
