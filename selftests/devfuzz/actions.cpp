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
	[](Kind k) { return k == control ? 3u : 0u; }, /* the device */
};

struct Table {
	std::vector<Action> all;
	std::vector<std::size_t> family; /* by action */

	Table()
	{
		const std::span<const Action> families[] = {
			memory_actions(),  queue_actions(), qp_actions(),
			traffic_actions(), mrc_actions(),   control_actions(),
			device_actions(),
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

Choice::Choice(Kind kind, const std::map<std::string, unsigned> &only)
{
	unsigned sum = 0;

	for (const auto &[name, weight] : only)
		if (std::ranges::find(all_actions(), name, &Action::name) ==
		    all_actions().end())
			throw Failure("there is no action '" + name + "'");
	for (std::size_t i = 0; i < table().all.size(); i++) {
		const Action &a = table().all[i];
		const auto named = only.find(a.name);
		const unsigned often = weights[table().family[i]](kind);

		if (only.empty())
			sum += a.weight * often;
		else if (named != only.end() && often)
			sum += named->second;
		upto_.push_back(sum);
	}
	if (!sum)
		throw Failure("no program of a kind has anything to do");
}

unsigned Choice::next(Rng &rng) const
{
	const auto at = std::upper_bound(upto_.begin(), upto_.end(),
					 rng.below(upto_.back()));

	return static_cast<unsigned>(at - upto_.begin());
}
} // namespace devfuzz
