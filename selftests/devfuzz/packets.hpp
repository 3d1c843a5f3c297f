/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Hostile packets on the plane of a device: what programs sent there, changed
 * in each field, cut, longer, once more, to others, with a correct ICRC or a
 * wrong one.
 */
#pragma once

#include <cstdint>
#include <string>

#include "board.hpp"
#include "options.hpp"

namespace devfuzz
{
/*
 * Sends @options.packets packets out of a netdev, to the device at its other
 * end, while it learns from the traffic there. Does not return.
 */
[[noreturn]] void disturb_plane(Board &board, const Options &options,
				const std::string &netns,
				const std::string &netdev, uint64_t seed);
} // namespace devfuzz
