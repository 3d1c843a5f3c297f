/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: which runs there will be, and where in memory messages are. */
#pragma once

#include <cstdint>
#include <vector>

#include "options.hpp"

namespace mrcperf
{
constexpr uint64_t max_memory = 2ull << 30;

/* Powers of two from @from to @to; these two whatever they are. */
std::vector<uint64_t> sweep(uint64_t from, uint64_t to);

/* What one line of the report is about. */
struct Point {
	Kind test;
	Op op;
	uint64_t size;
};

std::vector<Point> points_of(const Options &options);
uint64_t largest_size(const Options &options);

/*
 * The registered memory of a side. Each queue pair has a region to send from
 * and one to receive in, of which messages take one slot after the other, with
 * bytes between them that nobody may write. Behind the regions are words in
 * which the receiver of immediates tells how many it has taken; the sender has
 * the one it is written to, the receiver the one it is written from.
 * Both sides know the whole from the number of queue pairs and the largest
 * message, so that only the beginning has to be exchanged.
 */
class Layout
{
public:
	static constexpr uint64_t guard = 64;

	Layout(uint32_t qps, uint64_t largest);

	uint64_t total() const { return credit_from(qps_); }
	/* From one message to the next. */
	static uint64_t stride(uint64_t size);
	uint64_t slots(uint64_t size) const { return region_ / stride(size); }
	uint64_t region() const { return region_; }

	uint64_t send(uint32_t qp, uint64_t slot, uint64_t size) const
	{
		return qp * region_ + slot * stride(size);
	}
	uint64_t receive(uint32_t qp, uint64_t slot, uint64_t size) const
	{
		return (qps_ + qp) * region_ + slot * stride(size);
	}
	uint64_t credit_to(uint32_t qp) const
	{
		return 2 * qps_ * region_ + qp * line;
	}
	uint64_t credit_from(uint32_t qp) const
	{
		return 2 * qps_ * region_ + (qps_ + qp) * line;
	}

private:
	/* A cache line each. */
	static constexpr uint64_t line = 64;

	uint64_t qps_;
	uint64_t region_;
};
} // namespace mrcperf
