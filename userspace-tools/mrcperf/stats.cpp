// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "stats.hpp"

#include <algorithm>
#include <stdexcept>

namespace mrcperf
{
Percentiles percentiles(std::vector<uint64_t> &samples)
{
	if (samples.empty())
		throw std::invalid_argument("percentiles of nothing");
	std::sort(samples.begin(), samples.end());
	const auto at = [&samples](uint64_t permille) {
		const uint64_t rank = (samples.size() * permille + 999) / 1000;

		return static_cast<double>(samples[rank ? rank - 1 : 0]);
	};
	double sum = 0;

	for (uint64_t v : samples)
		sum += static_cast<double>(v);
	return {.min = static_cast<double>(samples.front()),
		.p50 = at(500),
		.p90 = at(900),
		.p99 = at(990),
		.p999 = at(999),
		.max = static_cast<double>(samples.back()),
		.mean = sum / static_cast<double>(samples.size())};
}

Percentiles scaled(const Percentiles &p, double factor)
{
	return {.min = p.min * factor,
		.p50 = p.p50 * factor,
		.p90 = p.p90 * factor,
		.p99 = p.p99 * factor,
		.p999 = p.p999 * factor,
		.max = p.max * factor,
		.mean = p.mean * factor};
}

Summary summarize(std::vector<double> values)
{
	Summary s;

	if (values.empty())
		throw std::invalid_argument("summary of nothing");
	std::sort(values.begin(), values.end());
	const size_t half = values.size() / 2;

	s.median = values.size() % 2 ? values[half]
				     : (values[half - 1] + values[half]) / 2;
	s.min = values.front();
	s.max = values.back();
	s.spread = s.median > 0 ? (s.max - s.min) / s.median * 100 : 0;
	return s;
}
} // namespace mrcperf
