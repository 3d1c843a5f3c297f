/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * State tables, cell by cell: a request in a profile that is in a state gives
 * an errno. Whatever fails must leave everything as it was, and so must
 * queries.
 */
#pragma once

#include <array>

#include "api.hpp"

enum class Call { query, modify };

template <typename K> struct Row {
	const char *what;
	Call call;
	int mask;
	std::function<void(typename K::Attr &)> fill;
	std::array<int, 3> want; /* in INIT, OFFLINE, ONLINE */
};

/* @make brings the profile, which is in INIT, to a state. */
template <typename K>
void run_table(Check &c, mrc_context *ctx, uint64_t id,
	       const std::vector<Row<K>> &rows,
	       const std::function<void(int)> &make)
{
	for (const Row<K> &row : rows) {
		for (int state = INIT; state <= ONLINE; state++) {
			const std::string what = std::string(row.what) +
						 " in " + state_names[state];
			const int want = row.want[static_cast<unsigned>(state)];
			const bool moves = row.call == Call::modify &&
					   row.mask & state_bit;
			typename K::Attr attr{};

			drop<K>(ctx, id);
			if (state != INIT)
				make(state);
			const std::string before = dump(ctx, id, K());

			row.fill(attr);
			const int to = attr.profile_state;
			const int got =
				row.call == Call::modify
					? modify<K>(ctx, id, row.mask, attr)
					: query<K>(ctx, id, row.mask, attr);

			c.err(got, want, what);
			if (got || row.call == Call::query)
				c.eq(dump(ctx, id, K()), before,
				     what + ", afterwards");
			else
				c.eq(now<K>(ctx, id), moves ? to : state,
				     what + ", state afterwards");
		}
	}
	drop<K>(ctx, id);
}
