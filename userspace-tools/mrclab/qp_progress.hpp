/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: how many packets the queue pairs of a device have received in order.
 */
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <sys/types.h>

#include "fabric.hpp"
#include "nldev.hpp"

namespace mrclab
{
/*
 * rxe has no counter of bytes, and its netdev also counts packets that it drops
 * because they come out of order. The counters of mrc are those of the device,
 * which may have several flows. The next PSN that a queue pair expects has only
 * those packets that it has taken. It is asked for by netlink, see
 * rdma-resource(8); that of mrc is a driver detail.
 */
class QpProgress
{
public:
	/* Throws SystemError if there is no such device in the namespace. */
	QpProgress(const std::string &netns, const std::string &device,
		   Devices kind)
		: nldev_(netns, device), mrc_(kind == Devices::mrc)
	{
	}

	/* Packets since the first reading, by the process of the queue pairs.
	 */
	std::map<pid_t, uint64_t> read();

private:
	struct Seen {
		uint32_t psn = 0;
		uint64_t packets = 0;
	};

	void count(uint32_t pid, uint32_t qpn, uint32_t psn);

	Nldev nldev_;
	bool mrc_;
	std::map<std::pair<pid_t, uint32_t>, Seen> seen_; /* process and QPN */
};
} // namespace mrclab
