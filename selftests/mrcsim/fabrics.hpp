/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Fabrics and runs of the tests of mrcsim. */
#pragma once

#include <string>
#include <vector>

#include "simulator.hpp"

namespace mrcsim
{
constexpr u64 us = 1'000'000; /* ps */

/* A link of 100 Gbit/s and 1 us, whose queue has no end. */
LinkSpec plain_link();

/* Two tiers of such links. */
Shape plain_clos(u32 planes, u32 t0, u32 t1, u32 hosts);

/* The same with queues that mark and trim, as a fabric for MRC has them. */
Shape marking_clos(u32 planes, u32 t0, u32 t1, u32 hosts);

/* Runs until all flows are finished, or @end ps. */
void finish(Simulator &sim, u64 end = 1'000'000 * us);

/* Completion times, ps; ~0 for flows that are not finished. */
std::vector<u64> times_of(const Simulator &sim);

/* What FileError or UsageError says when @call is made; empty if nothing is
 * thrown. */
template <typename F> std::string message_of(F &&call)
{
	try {
		call();
	} catch (const std::exception &e) {
		return e.what();
	}
	return {};
}
} // namespace mrcsim
