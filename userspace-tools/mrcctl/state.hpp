/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl serve: samples as JSON. Pure. */
#pragma once

#include <optional>

#include "json.hpp"
#include "sampler.hpp"

namespace mrcctl
{
/* Of queue pairs in one answer; the busiest come first. */
constexpr std::size_t max_qps_shown = 500;

struct StateOptions {
	std::string host; /* its name */
	uint64_t interval_ns = 0;
	uint64_t next_in_ns = 0;
};

/* All devices, with EVs of queue pairs and profiles counted by state. */
Json state_of(const SampleOfAll &s, const StateOptions &o);
/* One queue pair with all its EVs; no value if there is none. */
std::optional<Json> qp_of(const SampleOfAll &s, const std::string &device,
			  uint64_t qpn);
} // namespace mrcctl
