/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: the EV profiles of a host's RDMA device, as mrclab makes them:
 * profile N leads to host N, and the value of an EV is the number of its T1.
 * All through libMRC.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "report.hpp"
#include "topology.hpp"

namespace mrcmap
{
class EvDevice
{
public:
	/* @topology must live longer. Opens nothing yet. */
	EvDevice(const mrclab::Topology &topology, uint32_t host,
		 std::string device);
	~EvDevice();
	EvDevice(const EvDevice &) = delete;
	EvDevice &operator=(const EvDevice &) = delete;

	/*
	 * Denies these EVs, and allows all others of the profiles that lead to
	 * hosts. Returns how many it has changed. Throws mrclab::SystemError.
	 */
	std::size_t apply(const DenyList &list);
	/* New states of EVs since the last call, if profiles ask for events. */
	std::vector<EvEvent> events();

private:
	struct Device;
	bool on_path(uint32_t destination, uint32_t plane, uint32_t t1) const;
	Device &device();

	const mrclab::Topology &t_;
	uint32_t host_;
	std::string name_;
	std::unique_ptr<Device> device_;
};
} // namespace mrcmap
