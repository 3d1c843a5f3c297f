/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: which nodes a thread of a run simulates. A partition is a number of
 * T0s with their hosts, in all planes, and a share of the T1s and T2s. A node
 * has the queues of the links that it sends to. So partitions have nothing in
 * common but the packets that cross from one to another, and these take at
 * least the delay of a link.
 *
 * A trigger starts flows at once. So T0s whose hosts are tied by triggers are
 * in the same partition.
 */
#pragma once

#include <vector>

#include "shape.hpp"
#include "traffic.hpp"

namespace mrcsim
{
class Cut
{
public:
	/* At most @most partitions. */
	Cut(const Shape &s, const Traffic &t, u32 most);

	u32 count() const { return count_; }
	u32 of_host(u32 host) const { return of_t0_[host / hosts_]; }
	/* Of the node behind a direction, number @n of its kind in a plane. */
	u32 behind(Kind kind, u64 n) const;
	/* Of the node that has the queue of direction @id of fabric @s. */
	u32 before(const Shape &s, u32 id) const;

	/*
	 * ps that a packet needs from one partition to another, at least. It
	 * does not depend on the number of partitions.
	 */
	u64 window() const { return window_; }
	/* The end of the window of time @at. */
	u64 window_end(u64 at) const { return (at / window_ + 1) * window_; }

private:
	u32 of_t1(u64 t1) const;
	u32 of_t2(u64 t2) const;

	u32 hosts_, t0_, t1_, uplinks_, bundle_, t1_uplinks_;
	u32 count_ = 1;
	u64 window_ = 1;
	std::vector<u16> of_t0_;
};
} // namespace mrcsim
