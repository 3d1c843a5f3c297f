/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A simulated fabric: what agents would report of their probes, from the true
 * state of each direction. It shares no code with what looks for faults.
 */
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "evidence.hpp"
#include "locate.hpp"
#include "plan.hpp"

namespace mrcmap
{
using Random = std::mt19937_64;

constexpr uint64_t ms = 1'000'000;
constexpr uint64_t second = 1'000'000'000;

/* Whether the tests are to take long: MRCMAP_LONG is in the environment. */
bool takes_long();

uint64_t draw(Random &r, uint64_t min, uint64_t max);
double draw_share(Random &r); /* from 0 to 1 */
/* From @min to @max, each order of magnitude as likely. */
double draw_log(Random &r, double min, double max);

mrclab::Fabric fabric_of(uint32_t planes, uint32_t t0, uint32_t t1,
			 uint32_t hosts);
/* Up to 8 T0 x 8 T1 in each of up to 4 planes, 1 to 4 hosts for each T0. */
mrclab::Fabric random_fabric(Random &r);

struct Fault {
	Place place;
	State state = State::gray;
	double loss = 0;    /* of each passage */
	uint64_t delay = 0; /* of each passage, ns */
};

/* Of every kind; losses from 0.1 to 50 %. */
Fault random_fault(Random &r, const mrclab::Topology &t);
std::string text_of(const mrclab::Topology &t, const Fault &f);

/* Traffic that is no fault. */
struct Noise {
	double background = 0; /* loss of each direction, at random */
	uint64_t jitter = 20'000;
	uint64_t queue = 0; /* longest delay in each direction, ns */
	/* Losses of all packets of a direction for some time. */
	uint64_t burst = 0;	/* longest, ns */
	double burst_share = 0; /* of all time */
};

class Sim
{
public:
	Sim(const mrclab::Topology &t, const Plan &plan, const Config &config,
	    uint64_t seed);

	void add(const Fault &f);
	void clear(); /* all faults */
	Noise noise;
	/* An agent that does nothing. */
	void stop(uint32_t host) { stopped_.at(host - 1) = true; }

	/* Time passes, in steps that are a window each. */
	void run(Evidence &evidence, uint64_t time, uint64_t step);
	uint64_t now() const { return now_; }
	const Carriers &carriers() const { return carriers_; }

private:
	struct Way {
		double loss = 0;
		uint64_t delay = 0;
		uint64_t usual = 0; /* delay */
		/* Of this step. */
		double queue = 0, burst = 0;
		uint64_t burst_left = 0;
	};

	void begin_step(uint64_t step);
	void probe(Evidence &evidence, const ProbePath &p, uint64_t step);
	Way &way(mrclab::Direction d) { return ways_[2 * d.link + !d.up]; }

	const mrclab::Topology &t_;
	const Plan &plan_;
	Config config_;
	Random random_;
	uint64_t now_ = 1000 * second;
	uint32_t window_ = 0;
	std::vector<Way> ways_;
	std::vector<double> due_;     /* by path: parts of a probe */
	std::vector<int64_t> clocks_; /* by host: how wrong, ns */
	std::vector<double> drifts_;  /* by host: ns per s */
	std::vector<bool> stopped_;
	Carriers carriers_;
};
} // namespace mrcmap
