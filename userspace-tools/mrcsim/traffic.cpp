// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "traffic.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "error.hpp"
#include "random.hpp"

namespace mrcsim
{
using mrclab::UsageError;

namespace
{
u32 take_part(u32 all, u32 hosts, u32 least)
{
	const u32 n = hosts ? hosts : all;

	if (n > all || n < least)
		throw UsageError(fmt::format("{} hosts of {} cannot take part; "
					     "it takes at least {}",
					     n, all, least));
	return n;
}

u32 message(u64 bytes)
{
	if (bytes < 1 || bytes > most_bytes)
		throw UsageError(fmt::format("messages of {} bytes; 1 to {} "
					     "are possible",
					     bytes, most_bytes));
	return static_cast<u32>(bytes);
}

void limit(u64 flows)
{
	constexpr u64 most = u64{1} << 28;

	if (flows > most)
		throw UsageError(
			fmt::format("{} flows are more than {}", flows, most));
}
} // namespace

u32 Traffic::add(u32 src, u32 dst, u32 bytes, u64 start)
{
	flows.push_back({.src = src,
			 .dst = dst,
			 .connection = connections++,
			 .bytes = bytes,
			 .start = start});
	return static_cast<u32>(flows.size() - 1);
}

Traffic permutation(u32 all, u32 hosts, u64 bytes, u64 seed)
{
	const u32 n = take_part(all, hosts, 2);
	std::vector<u32> to(n);
	Traffic t;

	for (u32 i = 0; i < n; i++)
		to[i] = i;
	/* Sattolo's shuffle: one cycle, so that nobody sends to itself. */
	for (u32 i = n - 1; i > 0; i--)
		std::swap(to[i],
			  to[below(draw(seed, Draws::traffic, 0, i), i)]);
	for (u32 i = 0; i < n; i++)
		t.add(i, to[i], message(bytes), 0);
	t.name = fmt::format("permutation of {} hosts, {} bytes", n, bytes);
	return t;
}

Traffic shift(u32 all, u32 hosts, u32 by, u64 bytes)
{
	const u32 n = take_part(all, hosts, 2);
	Traffic t;

	if (by % n == 0)
		throw UsageError(fmt::format(
			"a shift by {} of {} hosts: they would send to "
			"themselves",
			by, n));
	for (u32 i = 0; i < n; i++)
		t.add(i, static_cast<u32>((u64{i} + by) % n), message(bytes),
		      0);
	t.name = fmt::format("shift by {} of {} hosts, {} bytes", by, n, bytes);
	return t;
}

Traffic incast(u32 all, u32 senders, u64 bytes)
{
	Traffic t;

	if (senders < 1 || senders >= all)
		throw UsageError(fmt::format(
			"{} senders and a receiver of {} hosts", senders, all));
	for (u32 i = 1; i <= senders; i++)
		t.add(i, 0, message(bytes), 0);
	t.name = fmt::format("incast {}:1, {} bytes", senders, bytes);
	return t;
}

Traffic all_to_all(u32 all, u32 hosts, u64 bytes, u32 parallel)
{
	const u32 n = take_part(all, hosts, 2);
	const u32 rounds = n - 1;
	Traffic t;

	limit(u64{n} * rounds);
	if (parallel < 1 || parallel > rounds)
		throw UsageError(fmt::format("{} rounds at once of {}",
					     parallel, rounds));
	for (u32 k = 1; k <= rounds; k++)
		for (u32 h = 0; h < n; h++) {
			const u32 f = t.add(h, (h + k) % n, message(bytes),
					    k <= parallel ? 0 : not_yet);

			if (k <= parallel)
				continue;

			Flow &before = t.flows[f - u64{parallel} * n];

			before.sent_trigger =
				static_cast<u32>(t.triggers.size());
			t.triggers.push_back({Trigger::Kind::once, 1, {f}});
		}
	t.name = fmt::format("all-to-all of {} hosts, {} bytes, {} at once", n,
			     bytes, parallel);
	return t;
}

Traffic ring_allreduce(u32 all, u32 hosts, u64 bytes)
{
	const u32 n = take_part(all, hosts, 2);
	const u32 steps = 2 * (n - 1);
	const u32 part = message((bytes + n - 1) / n);
	Traffic t;

	limit(u64{n} * steps);
	t.connections = n;
	for (u32 s = 0; s < steps; s++)
		for (u32 h = 0; h < n; h++) {
			const auto f = static_cast<u32>(t.flows.size());

			t.flows.push_back({.src = h,
					   .dst = (h + 1) % n,
					   .connection = h,
					   .bytes = part,
					   .start = s ? not_yet : 0});
			if (!s)
				continue;

			/* What host h received in the step before. */
			Flow &before = t.flows[f - h - n + (h + n - 1) % n];

			before.received_trigger =
				static_cast<u32>(t.triggers.size());
			t.triggers.push_back({Trigger::Kind::once, 1, {f}});
		}
	t.name = fmt::format("ring all-reduce of {} hosts, {} bytes", n, bytes);
	return t;
}
} // namespace mrcsim
