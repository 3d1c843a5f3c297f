/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: percentiles of samples, medians of repetitions. */
#pragma once

#include <cstdint>
#include <vector>

namespace mrcperf
{
/* Of the same unit as the samples. */
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
 * Each percentile is a sample: the smallest one that is not smaller than so
 * many of all. Reorders the samples; there must be one at least.
 */
Percentiles percentiles(std::vector<uint64_t> &samples);
/* The same times @factor. */
Percentiles scaled(const Percentiles &p, double factor);

/* Of repetitions. */
struct Summary {
	double median = 0;
	double min = 0;
	double max = 0;
	/* From the smallest to the largest, in percent of the median. */
	double spread = 0;
};

/* Of an even number the median is halfway between the two in the middle. */
Summary summarize(std::vector<double> values);
} // namespace mrcperf
