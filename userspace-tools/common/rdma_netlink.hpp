/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kernel's RDMA netlink, which rdma(8) also uses. sysfs shows the counters
 * of a device only in its first network namespace. Shared by mrcctl, mrcmap and
 * mrclab.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fd.hpp"

namespace rdma_netlink
{
using Bytes = std::span<const char>;
using UseAttr = std::function<void(uint16_t type, Bytes value)>;
/* The attributes of one message */
using UseMessage = std::function<void(Bytes attrs)>;
/* Attributes of a request: RDMA_NLDEV_ATTR_* and their values */
using Numbers = std::vector<std::pair<uint16_t, uint32_t>>;

/* Calls @use for each attribute; stops at one that is malformed. */
void each_attr(Bytes attrs, const UseAttr &use);

/*
 * Calls @use for each message of a datagram. Returns whether another datagram
 * of the answer follows; an answer that is no @dump is one datagram. Throws
 * std::system_error if the kernel reports an error.
 */
bool each_message(Bytes datagram, bool dump, const UseMessage &use);

/* Of an attribute's value; 0 if it is too short. */
uint8_t u8_of(Bytes value);
uint32_t u32_of(Bytes value);
uint64_t u64_of(Bytes value);
/* Valid as long as @value */
std::string_view string_of(Bytes value);

class Socket
{
public:
	/*
	 * In the network namespace of the calling thread, whose devices it can
	 * ask for. Throws std::system_error.
	 */
	Socket();

	/*
	 * Sends a command RDMA_NLDEV_CMD_* and calls @use for each message of
	 * the answer. @dump: there are many. Throws std::system_error.
	 */
	void ask(uint16_t command, bool dump, const Numbers &numbers,
		 const UseMessage &use) const;

	/* Of a device; nothing if there is none. Throws std::system_error. */
	std::optional<uint32_t> index_of(const std::string &device) const;

private:
	void send(uint16_t command, bool dump, const Numbers &numbers) const;

	fd::Fd fd_;
};
} // namespace rdma_netlink
