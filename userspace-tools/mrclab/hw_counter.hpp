/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: one counter of an RDMA device, of all its ports together. */
#pragma once

#include <cstdint>
#include <string>

#include "nldev.hpp"

namespace mrclab
{
/*
 * By netlink, which has what the driver counts at this moment. The same counter
 * in /sys is renewed every 10 ms at most.
 */
class HwCounter
{
public:
	HwCounter(const std::string &netns, const std::string &device,
		  uint32_t ports, const std::string &name)
		: nldev_(netns, device), ports_(ports), name_(name)
	{
	}

	/* Throws SystemError if a port has no such counter. */
	uint64_t read() const;

private:
	Nldev nldev_;
	uint32_t ports_;
	std::string name_;
};
} // namespace mrclab
