// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcsim: the traffic of a scenario, which may have several parts. */
#include "error.hpp"
#include "goal_file.hpp"
#include "matrix_file.hpp"
#include "scenario.hpp"

namespace mrcsim
{
using mrclab::FileError;
using mrclab::UsageError;

namespace
{
/* Appends @more, whose flows begin @start ps later. */
void join(Traffic &t, Traffic more, u64 start)
{
	const auto flows = static_cast<u32>(t.flows.size());
	const auto triggers = static_cast<u32>(t.triggers.size());

	for (Flow &f : more.flows) {
		f.connection += t.connections;
		if (f.start != not_yet)
			f.start += start;
		for (u32 *n : {&f.sent_trigger, &f.received_trigger})
			if (*n != no_trigger)
				*n += triggers;
		t.flows.push_back(f);
	}
	for (Trigger &g : more.triggers) {
		for (u32 &f : g.flows)
			f += flows;
		for (u32 &n : g.fires)
			n += triggers;
		if (g.ended != no_trigger)
			g.ended += triggers;
		g.cpu += t.cpus;
		g.at += start;
		t.triggers.push_back(std::move(g));
	}
	t.connections += more.connections;
	t.cpus += more.cpus;
	t.name += (t.name.empty() ? "" : "; ") + more.name;
}
} // namespace

Traffic Scenario::traffic(u64 seed) const
{
	const u32 all = shape.all_hosts();
	Traffic t;

	for (const Part &p : parts) {
		try {
			Traffic more;

			if (p.pattern == "permutation")
				more = permutation(all, p.hosts, p.size, seed);
			else if (p.pattern == "sendrecv")
				more = shift(all, p.hosts, p.by, p.size);
			else if (p.pattern == "incast")
				more = incast(all, p.senders, p.size);
			else if (p.pattern == "alltoall")
				more = all_to_all(all, p.hosts, p.size,
						  p.parallel);
			else if (p.pattern == "allreduce")
				more = ring_allreduce(all, p.hosts, p.size);
			else if (p.pattern == "goal")
				more = read_goal(p.file, all);
			else
				more = read_matrix(p.file, all);
			join(t, std::move(more), p.start);
		} catch (const FileError &) {
			throw;
		} catch (const UsageError &e) {
			throw FileError(file, p.line, e.what());
		}
	}
	return t;
}
} // namespace mrcsim
