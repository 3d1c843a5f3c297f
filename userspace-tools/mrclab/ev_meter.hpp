/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: counts what hosts receive on each entropy value. */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "../common/fd.hpp"
#include "drill_series.hpp"
#include "topology.hpp"

namespace mrclab
{
/*
 * The headers of all packets that the netdevs of hosts receive, from rings that
 * the kernel fills. No counter of the kernel has single EVs.
 */
class EvMeter
{
public:
	/* Throws SystemError. */
	EvMeter(const Topology &t, const std::vector<Flow> &flows);

	/*
	 * All since the first call. Throws SystemError if a ring was full, so
	 * that packets are missing.
	 */
	const std::map<EvPath, EvCount> &read();

private:
	struct Unmap {
		void operator()(std::byte *memory) const;
	};
	struct Ring {
		uint32_t host = 0, plane = 0;
		fd::Fd fd;
		std::unique_ptr<std::byte, Unmap> memory;
		std::size_t next = 0; /* slot */
	};

	void open(const Topology &t, uint32_t host, Direction sent);
	void take(Ring &ring);

	std::map<std::array<uint8_t, 16>, uint32_t> hosts_; /* by address */
	std::vector<Ring> rings_;
	std::map<EvPath, EvCount> counts_;
};
} // namespace mrclab
