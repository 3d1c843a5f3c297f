// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "world.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "error.hpp"

namespace mrcsim
{
namespace
{
/* @t, if its flows are between hosts of the fabric. */
const Traffic &checked(const Traffic &t, u32 hosts)
{
	for (const Flow &f : t.flows)
		if (f.src >= hosts || f.dst >= hosts)
			throw mrclab::UsageError(fmt::format(
				"a flow from host {} to host {}: the fabric "
				"has {} hosts",
				f.src + 1, f.dst + 1, hosts));
	return t;
}
} // namespace

World::World(const Shape &s, const Settings &set, const Traffic &t, u32 threads)
	: shape(s), settings(set), derived(derive(s, set)),
	  traffic(checked(t, s.all_hosts())), 
	  /* A pause acts at once on whoever waits. */
	  cut(s, t, set.column == Column::roce_pfc ? 1 : threads),
	  links(s, derived.packet), routes(s, set, derived),
	  mail(u64{cut.count()} * cut.count()), qps(t.connections),
	  hosts(s.all_hosts()), flows(t.flows.size()), fired(t.triggers.size()),
	  cpu_free(t.cpus),
	  close_delay(std::max(s.path_delay(), cut.window()))
{
	if (is_roce(set.column))
		roce.assign(qps.size(),
			    RoceQp(s.of(Kind::host_up).rate, set.dcqcn));
	if (cut.count() > 1)
		links.set_partitions(s, cut);
	for (Host &h : hosts)
		h.ports = ((1u << s.planes) - 1) << 1;
	for (const Flow &f : t.flows) {
		Qp &q = qps[f.connection];

		q.src = f.src;
		q.dst = f.dst;
		q.left++;
	}
}

u64 World::memory() const
{
	u64 crossing = 0;

	for (const Mail &m : mail)
		crossing += m.packets.capacity() * sizeof(Packet) +
			    m.events.capacity() * sizeof(Event);
	return links.memory() + crossing + mail.capacity() * sizeof(Mail) +
	       qps.capacity() * sizeof(Qp) +
	       roce.capacity() * sizeof(RoceQp) + hosts.capacity() * sizeof(Host) +
	       flows.capacity() * sizeof(FlowState) +
	       fired.capacity() * sizeof(u32) +
	       cpu_free.capacity() * sizeof(u64);
}
} // namespace mrcsim
