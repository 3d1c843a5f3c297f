/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Fabrics for tests: of a given size, or drawn by a seed. */
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <random>
#include <vector>

#include "topology.hpp"

namespace mrclab
{
using Random = std::mt19937_64;

/* A number from @min to @max. */
uint64_t draw(Random &random, uint64_t min, uint64_t max);

/* Without any settings of links. */
Fabric fabric_of(uint32_t planes, uint32_t t0, uint32_t t1, uint32_t hosts,
		 Forwarding forwarding = Forwarding::srv6);

/* Up to 4 planes and 6 switches of each tier; sometimes without a T1. */
Fabric random_fabric(Random &random);

/* Every number of planes, switches and hosts is once at its limit. */
std::vector<Fabric> largest_fabrics();

/* Calls @check for 60 random fabrics, and for the largest ones if asked. */
void on_topologies(
	bool largest,
	const std::function<void(const Topology &, Random &)> &check);

void PrintTo(const Fabric &f, std::ostream *out);
} // namespace mrclab
