/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Garbage in the rings that a program shares with the kernel. */
#pragma once

#include "../common/rings.hpp"
#include "rng.hpp"

namespace devfuzz
{
/*
 * Overwrites a few words. Rings are unmapped at any time: returns false if one
 * was gone.
 */
bool scribble(const Mapping &ring, Rng &rng);
} // namespace devfuzz
