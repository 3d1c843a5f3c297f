// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Negative controls of the extension's schedules: each breaks one thing, and
// the checks must say so.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "prop_ext.hpp"

namespace prop
{

struct ExtControl {
	ExtSabotage what;
	const char *name;
	const char *expect; // part of the complaint
};

inline std::string control_name(const testing::TestParamInfo<ExtControl> &info)
{
	return info.param.name;
}

// Of the schedules of the seeds 1 to last, as plan(seed) makes them (nothing:
// not this seed), three must fail as the control expects when run(sim) has run
// them.
template <typename Plan, typename Run>
void expect_noticed(const ExtControl &control, u64 last, Plan plan, Run run)
{
	u32 noticed = 0;

	for (u64 seed = 1; seed <= last && noticed < 3; seed++) {
		std::optional<ExtPlan> p = plan(seed);

		if (!p)
			continue;
		p->sabotage = control.what;
		p->sabotage_after = seed % 3;

		ExtSim sim(*p, false);

		run(sim);
		if (!sim.failed())
			continue; // the schedule had no opportunity
		EXPECT_NE(sim.what().find(control.expect), std::string::npos)
			<< "seed " << seed << ": " << sim.what();
		noticed++;
	}
	EXPECT_EQ(noticed, 3u);
}

} // namespace prop
