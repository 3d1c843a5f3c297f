/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: RDMA netlink, see rdma(8), without starting a process. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../common/fd.hpp"

namespace mrclab
{
using AttrBytes = std::span<const char>;
using UseAttr = std::function<void(uint16_t type, AttrBytes value)>;

/* Calls @use for each attribute. */
void each_attr(AttrBytes attrs, const UseAttr &use);

/* Of an attribute's value; 0 if it is too short. */
uint32_t u32_of(AttrBytes value);
uint64_t u64_of(AttrBytes value);
std::string_view string_of(AttrBytes value);

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
	void ask(uint16_t command, bool dump,
		 const std::vector<std::pair<uint16_t, uint32_t>> &numbers,
		 const UseAttr &use) const;

private:
	void send_request(uint16_t command, bool dump,
			  const std::vector<std::pair<uint16_t, uint32_t>>
				  &numbers) const;

	fd::Fd fd_;
	uint32_t index_ = 0; /* of the device */
};
} // namespace mrclab
