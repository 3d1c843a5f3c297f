/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: the list of runs, and the layout of messages in memory. */
#pragma once

#include <cstdint>
#include <vector>

#include "options.hpp"

namespace mrcperf
{
constexpr uint64_t max_memory = 2ull << 30;

/* @from, @to and the powers of two between them. */
std::vector<uint64_t> sweep(uint64_t from, uint64_t to);

/* The subject of one line of the report. */
struct Point {
	Kind test;
	Op op;
	uint64_t size;
};

std::vector<Point> points_of(const Options &options);
uint64_t largest_size(const Options &options);

/*
 * The registered memory of a side. Each queue pair has a region to send from
 * and one to receive in. Messages use the slots of a region in turn; nobody may
 * write the bytes between slots. Behind the regions are counters by which the
 * receiver of immediates reports how many it has consumed: the sender has the
 * counter that is written to, the receiver the one that it is written from.
 * Both sides compute the layout from the number of queue pairs and the largest
 * message, so that only its start address has to be exchanged.
 */
class Layout
{
public:
	static constexpr uint64_t guard = 64;

	Layout(uint32_t qps, uint64_t largest);

	uint64_t total() const { return credit_from(qps_); }
	/* Distance from one message to the next. */
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
	/* A cache line for each counter. */
	static constexpr uint64_t line = 64;

	uint64_t qps_;
	uint64_t region_;
};
} // namespace mrcperf
