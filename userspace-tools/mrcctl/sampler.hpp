/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl serve: what the devices gave last, shared by all who ask. */
#pragma once

#include <memory>
#include <mutex>

#include "backend.hpp"
#include "commands.hpp"
#include "metrics.hpp"
#include "watch.hpp"

namespace mrcctl
{
struct SampledDevice {
	MetricsOfDevice figures;
	/* Ports and queue pairs with rates, those that could be read. */
	Frame frame;
	/* The rates are over this time; 0: there are no rates. */
	uint64_t rates_over_ns = 0;
};

/* All devices at one moment. */
struct SampleOfAll {
	uint64_t number = 0; /* 1 for the first one */
	uint64_t wall_us = 0;
	uint64_t mono_ns = 0;
	std::vector<SampledDevice> devices;
};

/*
 * Reads the devices when somebody asks, and at most once in an interval. So
 * many who ask cost no more than one does, and nobody costs nothing. For any
 * thread.
 */
class Sampler
{
public:
	/* @device: the only one to read, or "" */
	Sampler(System &system, Clock &clock, std::string device,
		uint64_t interval_ns)
		: system_(system), clock_(clock), device_(std::move(device)),
		  interval_ns_(interval_ns)
	{
	}

	std::shared_ptr<const SampleOfAll> get();
	/* Until the next sample may be taken. */
	uint64_t next_in_ns(const SampleOfAll &s) const;

private:
	std::shared_ptr<const SampleOfAll> take(uint64_t now);

	System &system_;
	Clock &clock_;
	const std::string device_;
	const uint64_t interval_ns_;
	std::mutex lock_;
	std::shared_ptr<const SampleOfAll> last_; /* under lock_ */
};
} // namespace mrcctl
