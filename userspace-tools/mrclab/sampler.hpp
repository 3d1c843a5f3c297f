/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: reads the counters of a fabric that is up. */
#pragma once

#include <map>
#include <string>
#include <vector>

#include "counters.hpp"
#include "topology.hpp"

namespace mrclab
{
/*
 * Reads the counters of all netdevs, as often as wanted, without starting a
 * process: the files are opened once, in the namespaces.
 */
class Sampler
{
public:
	explicit Sampler(const Topology &t);
	~Sampler();
	Sampler(const Sampler &) = delete;
	Sampler &operator=(const Sampler &) = delete;

	/* By direction: what the end that sends has counted. */
	std::map<Direction, Counters> sample();

private:
	const Topology &topology_;
	std::vector<int> fds_; /* of the nodes */
	std::string buffer_;
};
} // namespace mrclab
