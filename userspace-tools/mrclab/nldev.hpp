/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: RDMA netlink for one device, without starting a process. */
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../common/rdma_netlink.hpp"

namespace mrclab
{
/* One device of a namespace. Throws SystemError. */
class Nldev
{
public:
	/* There must be such a device. */
	Nldev(const std::string &netns, const std::string &device);

	/*
	 * Sends a command RDMA_NLDEV_CMD_* with the device and numbers, and
	 * calls @use for each attribute of its answers. @dump: there are many.
	 */
	void ask(uint16_t command, bool dump, rdma_netlink::Numbers numbers,
		 const rdma_netlink::UseAttr &use) const;

private:
	std::optional<rdma_netlink::Socket> socket_;
	uint32_t index_ = 0; /* of the device */
};
} // namespace mrclab
