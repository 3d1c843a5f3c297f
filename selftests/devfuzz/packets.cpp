// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "packets.hpp"

#include <array>
#include <cstdio>
#include <unistd.h>

#include <linux/if_packet.h>
#include <poll.h>
#include <sys/socket.h>

#include "../../userspace-tools/common/fd.hpp"
#include "life.hpp"
#include "mutate.hpp"
#include "netns.hpp"
#include "plane_socket.hpp"

namespace devfuzz
{
namespace
{
class Plane
{
public:
	Plane(Board &board, std::string netdev, uint64_t seed)
		: board_(board), netdev_(std::move(netdev)), mutator_(seed)
	{
	}

	/* Keeps frames that leave here, for some time. */
	void listen(int ms);
	/* Returns how many were sent. */
	unsigned send(unsigned n);

private:
	Board &board_;
	const std::string netdev_;
	Mutator mutator_;
};

/*
 * While a packet socket listens, the driver hands every packet to it and avoids
 * its shorter ways. So there is one for short periods only.
 */
void Plane::listen(int ms)
{
	const fd::Fd s = open_plane(netdev_, true);
	pollfd p{s.get(), POLLIN, 0};
	std::array<uint8_t, 65536> buf;

	while (poll(&p, 1, ms) > 0) {
		sockaddr_ll from{};
		socklen_t len = sizeof(from);
		const ssize_t n =
			recvfrom(s.get(), buf.data(), buf.size(), MSG_DONTWAIT,
				 reinterpret_cast<sockaddr *>(&from), &len);

		if (n < 0)
			break;
		if (from.sll_pkttype != PACKET_OUTGOING ||
		    !find_roce({buf.data(), static_cast<std::size_t>(n)}))
			continue;
		board_.packets_seen++;
		mutator_.learn(Bytes(buf.begin(), buf.begin() + n));
		if (mutator_.rng().chance(1))
			break;
	}
}

unsigned Plane::send(unsigned n)
{
	const fd::Fd s = open_plane(netdev_, false);
	unsigned sent = 0;

	for (; n && !mutator_.empty(); n--) {
		const Bytes frame = mutator_.changed(mutator_.old());

		/* A queue that is full, or a plane that is down: one packet
		 * fewer. */
		sent += ::send(s.get(), frame.data(), frame.size(),
			       MSG_DONTWAIT) > 0;
	}
	board_.packets_sent += sent;
	return sent;
}
} // namespace

void disturb_plane(Board &board, const Options &options,
		   const std::string &netns, const std::string &netdev,
		   uint64_t seed)
{
	try {
		enter_netns(netns);
		Plane plane(board, netdev, seed);

		for (unsigned sent = 0; sent < options.packets;) {
			try {
				plane.listen(20);
				sent += plane.send(100);
			} catch (const No_device &) {
				/* The netdev is gone; it comes back. */
				usleep(20000);
			}
			usleep(1000);
		}
		_exit(end_well);
	} catch (const No_device &) {
		_exit(end_no_device);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "mrc_devfuzz: %s: %s\n", netdev.c_str(),
			     e.what());
		_exit(end_itself);
	}
}
} // namespace devfuzz
