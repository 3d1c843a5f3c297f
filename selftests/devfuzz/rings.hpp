/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Garbage in the rings that a program shares with the kernel. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rng.hpp"

namespace devfuzz
{
struct Ring {
	uint32_t *words;
	std::size_t n;
};

/* The writable mappings of devices that this process has now. */
std::vector<Ring> find_rings();

/*
 * Overwrites a few words. Rings are unmapped at any time: returns false if one
 * was gone.
 */
bool scribble(const Ring &ring, Rng &rng);
} // namespace devfuzz
