// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcsim: the traffic of a scenario, which may have several parts. */
#include <fmt/format.h>

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
/*
 * Each message in @n parts, on as many queue pairs. What a message fires, its
 * last part fires.
 */
void stripe(Traffic &t, u32 n)
{
	constexpr u64 most = u64{1} << 28;
	std::vector<Flow> flows;

	if (n == 1)
		return;
	if (t.flows.size() * n > most)
		throw UsageError("too many flows");
	flows.reserve(t.flows.size() * n);
	for (const Flow &f : t.flows)
		for (u32 i = 0; i < n; i++) {
			Flow part = f;

			/* No part is empty. */
			if (f.bytes < n)
				throw UsageError(fmt::format(
					"{} bytes do not fill {} queue pairs",
					f.bytes, n));
			part.connection = f.connection * n + i;
			part.bytes = f.bytes / n + (i < f.bytes % n);
			flows.push_back(part);
		}
	t.flows = std::move(flows);
	t.connections *= n;
	for (Trigger &g : t.triggers) {
		std::vector<u32> parts;

		for (const u32 f : g.flows)
			for (u32 i = 0; i < n; i++)
				parts.push_back(f * n + i);
		g.flows = std::move(parts);
		/* Triggers of patterns are fired by one message. */
		g.kind = Trigger::Kind::barrier;
		g.count = n;
	}
}

/* The same messages again, @every ps later each time. */
void repeat(Traffic &t, u32 times, u64 every)
{
	const std::vector<Flow> first = t.flows;

	for (u64 n = 1; n < times; n++)
		for (Flow f : first) {
			f.start += n * every;
			t.flows.push_back(f);
		}
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
			stripe(more, p.qps);
			repeat(more, p.repeat, p.every);
			join(t, std::move(more), p.start);
		} catch (const FileError &) {
			throw;
		} catch (const UsageError &e) {
			throw FileError(file, p.line, e.what());
		}
	}
	for (const u32 f : settings.series.flows)
		if (f >= t.flows.size())
			throw FileError(
				file, 0,
				fmt::format("series of flow {}; they are 1 to "
					    "{}",
					    f + 1, t.flows.size()));
	return t;
}
} // namespace mrcsim
