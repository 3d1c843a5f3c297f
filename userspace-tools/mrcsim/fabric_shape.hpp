/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: fabrics of mrclab, and the queues of fabrics that say nothing of
 * them. */
#pragma once

#include "fabric.hpp"

#include "settings.hpp"
#include "shape.hpp"

namespace mrcsim
{
/*
 * A fabric of mrclab-fabric(5). Links need rates. Throws mrclab::FileError for
 * what is not simulated: jitter, corruption, duplicates, reordering.
 * @node_delay: ps that a switch or host adds to a link before it.
 */
Shape shape_of(const mrclab::Fabric &f, u64 node_delay);

/* How switches deal with congestion where a file does not say it. */
struct QueueRules {
	bool trim = true;	  /* false: they drop packets */
	bool last_hop = false;	  /* the links to hosts mark packets, too */
	u32 last_hop_share = 150; /* % of the queue that others have */
	u32 mark_min = 20, mark_max = 80; /* % of the BDP */
	u32 depth = 0;	   /* % of the BDP; 0: 100 with trimming, else 500 */
	bool whole = true; /* lengths are whole packets */
	u64 trim_len = 64; /* bytes on the wire */
};

/*
 * Gives lengths to the queues that have none. They follow from the BDP of the
 * link: its rate times the base RTT.
 */
void fill_queues(Shape &shape, const QueueRules &rules, const Settings &s);
} // namespace mrcsim
