// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "actions.hpp"

#include <algorithm>

#include "../common/failure.hpp"

namespace devfuzz
{
namespace
{
constexpr unsigned (*weights[])(Kind) = {
	[](Kind) { return 1u; }, /* memory */
	[](Kind) { return 1u; }, /* queues */
	[](Kind) { return 1u; }, /* queue pairs */
	[](Kind) { return 1u; }, /* traffic */
	[](Kind) { return 1u; }, /* libMRC */
	/* Others have no controller. */
	[](Kind k) { return k == control ? 3u : 0u; },
};

struct Table {
	std::vector<Action> all;
	std::vector<std::size_t> family; /* by action */

	Table()
	{
		const std::span<const Action> families[] = {
			memory_actions(),  queue_actions(), qp_actions(),
			traffic_actions(), mrc_actions(),   control_actions(),
		};

		for (std::size_t i = 0; i < std::size(families); i++) {
			all.insert(all.end(), families[i].begin(),
				   families[i].end());
			family.resize(all.size(), i);
		}
		if (all.size() > max_actions)
			throw Failure("max_actions is too small");
	}
};

const Table &table()
{
	static const Table t;

	return t;
}
} // namespace

const std::vector<Action> &all_actions()
{
	return table().all;
}

Choice::Choice(Kind kind)
{
	unsigned sum = 0;

	for (std::size_t i = 0; i < table().all.size(); i++) {
		sum += table().all[i].weight * weights[table().family[i]](kind);
		upto_.push_back(sum);
	}
}

unsigned Choice::next(Rng &rng) const
{
	const auto at = std::upper_bound(upto_.begin(), upto_.end(),
					 rng.below(upto_.back()));

	return static_cast<unsigned>(at - upto_.begin());
}
} // namespace devfuzz
