// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "plan.hpp"

#include <algorithm>

#include "record.hpp"
#include "world.hpp"

namespace mrcsim
{
namespace
{
/* What starts without waiting for a trigger. */
struct AtOnce {
	u64 connections = 0, hosts = 0, bytes = 0;
};

/* Connections whose flows wait for triggers follow others. */
AtOnce at_once(const Shape &shape, const Traffic &t)
{
	std::vector<bool> sends(shape.all_hosts());
	std::vector<bool> used(t.connections);
	/* Those of a schedule may all be. */
	const bool schedule =
		std::any_of(t.triggers.begin(), t.triggers.end(),
			    [](const Trigger &g) { return !g.count; });
	AtOnce a;

	for (const Flow &f : t.flows) {
		if ((f.start == not_yet && !schedule) || f.src >= sends.size())
			continue;
		a.hosts += !sends[f.src];
		a.connections += !used[f.connection];
		a.bytes += f.bytes;
		sends[f.src] = used[f.connection] = true;
	}
	return a;
}

/* Data and feedback. */
u64 packets_of(const Settings &s, const Derived &d, const AtOnce &a)
{
	const u64 bdp = d.nic_rate / 1'000'000 * d.base_rtt / 8'000;
	const u64 data = (a.bytes + s.pmtu - 1) / s.pmtu;

	return std::min(a.hosts * (bdp / d.packet + 1), data) * 6 / 5;
}

/*
 * Pending events: for each link that has packets, and the buckets, as large as
 * the bursts that they have held. Measured.
 */
u64 events_of(const Shape &shape, u64 packets)
{
	constexpr u64 of_packet = 100, of_link = 32, most_of_buckets = 5 << 20;
	const u64 of_host = 2800 + 800 * shape.planes;

	return std::min(packets * of_packet,
			std::min(shape.all_hosts() * of_host, most_of_buckets) +
				shape.links() * of_link);
}
} // namespace

u64 planned_memory(const Shape &shape, const Settings &s,
		   const Traffic &traffic, u32 threads, u32 processes)
{
	/* Memory for queue pairs that is begun, and buckets of events. */
	constexpr u64 of_partition = 6 << 20;
	const Derived d = derive(shape, s);
	const AtOnce a = at_once(shape, traffic);
	const u64 packets = packets_of(s, d, a);

	/* A process has the queue pairs and packets of its partitions. */
	const auto share = [processes](u64 bytes) {
		return (bytes + processes - 1) / processes;
	};

	return program_memory + (threads - 1) * of_partition + d.link_memory +
	       shape.all_hosts() * sizeof(Host) +
	       traffic.connections * sizeof(Qp) +
	       traffic.flows.size() *
		       (sizeof(Flow) + sizeof(FlowState) + sizeof(u32)) +
	       (is_roce(s.column)
			? traffic.connections * sizeof(RoceQp)
			: share(QpMaker(shape, s, d).memory_of(a.connections))) +
	       (s.column == Column::roce_pfc
			? shape.links() * sizeof(PfcPort)
			: 0) +
	       share(packets * sizeof(Packet) + events_of(shape, packets)) +
	       recorder_memory(shape, s, traffic);
}
} // namespace mrcsim
