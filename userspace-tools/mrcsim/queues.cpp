// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "queues.hpp"

#include <fmt/format.h>

#include "error.hpp"

namespace mrcsim
{
void Queues::trim(u32 id, Link &l, Packet &k, const LinkClass &c)
{
	k.flags &= static_cast<u8>(~packet_may_trim);
	k.flags |= packet_control | packet_trimmed;
	if (l.kind == static_cast<u8>(Kind::host_down))
		k.flags |= packet_last_hop;
	k.size = c.trim_len;
	links_.losses(id).trimmed++;
	sums.trimmed++;
}

void Queues::drop(u32 id, u32 p)
{
	links_.losses(id).dropped++;
	sums.dropped++;
	give(p);
}

u32 Queues::fresh()
{
	if (used_ == pool_.size())
		throw mrclab::SystemError(fmt::format(
			"{} packets are under way: the memory that was planned "
			"for packets is used up",
			used_));
	in_use_++;
	return used_++;
}

/* A copy goes, so that each partition has packets of its own. */
void Queues::cross(u32 id, u32 cls, u32 p, Packet &k, u32 to)
{
	k.next = id << 1 | cls;
	mail_[to].packets.push_back(k);
	if (entropies_.size())
		mail_[to].entropies.push_back(entropies_[p]);
	give(p);
}
} // namespace mrcsim
