// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "plan.hpp"

#include <algorithm>

namespace mrcperf
{
namespace
{
/* Large enough that memory, not caches, determines the speed. */
constexpr uint64_t region_wanted = 4u << 20;
constexpr uint64_t regions_wanted = 64u << 20;

const std::vector<uint64_t> &sizes_of(const Options &options, Kind test)
{
	static const std::vector<uint64_t> small{8};
	static const std::vector<uint64_t> all = sweep(8, 1u << 20);

	if (!options.sizes.empty())
		return options.sizes;
	return test == Kind::rate ? small : all;
}
} // namespace

std::vector<uint64_t> sweep(uint64_t from, uint64_t to)
{
	std::vector<uint64_t> sizes{from};

	for (uint64_t size = 1; size && size < to; size <<= 1)
		if (size > from)
			sizes.push_back(size);
	if (to > from)
		sizes.push_back(to);
	return sizes;
}

std::vector<Point> points_of(const Options &options)
{
	std::vector<Point> points;

	for (Kind test : options.tests)
		for (Op op : options.ops)
			for (uint64_t size : sizes_of(options, test))
				points.push_back({test, op, size});
	return points;
}

uint64_t largest_size(const Options &options)
{
	uint64_t largest = 0;

	for (Kind test : options.tests)
		for (uint64_t size : sizes_of(options, test))
			largest = std::max(largest, size);
	return largest;
}

/* Ping-pong needs two slots: one is checked while the other is written. */
Layout::Layout(uint32_t qps, uint64_t largest)
	: qps_(qps),
	  region_(std::max(std::min(region_wanted, regions_wanted / qps) &
				   ~(line - 1),
			   2 * stride(largest)))
{
}

uint64_t Layout::stride(uint64_t size)
{
	return (size + guard + line - 1) & ~(line - 1);
}
} // namespace mrcperf
