/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: what the kernel says in /proc/net. */
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace mrclab
{
struct Counters {
	uint64_t rx_packets = 0;
	uint64_t rx_bytes = 0;
	uint64_t tx_packets = 0;
	uint64_t tx_bytes = 0;
};

/* In the text of /proc/net/tcp or tcp6: does a socket listen on the port? */
bool has_listener(std::string_view text, uint16_t port);

/* The netdevs in the text of /proc/net/dev. Throws SystemError for others. */
std::map<std::string, Counters> parse_net_dev(std::string_view text);
} // namespace mrclab
