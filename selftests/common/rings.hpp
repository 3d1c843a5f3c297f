/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The rings that a program shares with the kernel, for tests that overwrite
 * them. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

struct Mapping {
	uint8_t *start;
	std::size_t size;
};

/* This process's writable mappings of uverbs devices. */
std::vector<Mapping> find_rings();
