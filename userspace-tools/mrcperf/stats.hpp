/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: percentiles of samples, medians of repetitions. */
#pragma once

#include <cstdint>
#include <vector>

namespace mrcperf
{
/* In the unit of the samples. */
struct Percentiles {
	double min = 0;
	double p50 = 0;
	double p90 = 0;
	double p99 = 0;
	double p999 = 0;
	double max = 0;
	double mean = 0;
};

/*
 * Each percentile is a sample: the smallest one that is at least as large as
 * that share of all samples. Reorders the samples; there must be at least one.
 */
Percentiles percentiles(std::vector<uint64_t> &samples);
/* All values multiplied by @factor. */
Percentiles scaled(const Percentiles &p, double factor);

/* Statistics over repetitions. */
struct Summary {
	double median = 0;
	double min = 0;
	double max = 0;
	/* Difference of the largest and the smallest value, in percent of the
	 * median.
	 */
	double spread = 0;
};

/* With an even number of values the median is the mean of the middle two. */
Summary summarize(std::vector<double> values);
} // namespace mrcperf
