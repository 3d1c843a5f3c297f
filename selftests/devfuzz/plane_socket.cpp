// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "plane_socket.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>

#include "netns.hpp"

namespace devfuzz
{
/* No protocol before bind(): else frames of all netdevs arrive until then. */
fd::Fd open_plane(const std::string &netdev, bool hears)
{
	fd::Fd s(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
	sockaddr_ll to{};

	to.sll_family = AF_PACKET;
	to.sll_protocol = static_cast<uint16_t>(hears ? htons(ETH_P_ALL) : 0);
	to.sll_ifindex = static_cast<int>(if_nametoindex(netdev.c_str()));
	if (s.get() < 0 || !to.sll_ifindex ||
	    bind(s.get(), reinterpret_cast<sockaddr *>(&to), sizeof(to)))
		throw No_device("no " + netdev);
	return s;
}
} // namespace devfuzz
