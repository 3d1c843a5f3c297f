// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Negative controls: each breaks one thing in the simulation, and the checks
// must say so. A property test that cannot fail proves nothing.
#include <gtest/gtest.h>

#include "prop_options.hpp"

namespace
{

using prop::Sabotage;

struct Control {
	Sabotage what;
	const char *name;
	const char *expect; // part of the complaint
};

class Negative : public testing::TestWithParam<Control>
{
};

TEST_P(Negative, IsNoticed)
{
	u32 noticed = 0;

	for (u64 seed = 1; seed <= 300 && noticed < 3; seed++) {
		prop::Plan p = prop::random_plan(seed);
		prop::Plan clean = p;

		p.sabotage = GetParam().what;
		p.sabotage_after = seed % 3;
		if (p.sabotage == Sabotage::NeverDeliver)
			p.calm_at = p.start + 100000;

		prop::Sim sim(p);

		sim.run();
		if (!sim.failed())
			continue; // the schedule had no opportunity
		EXPECT_NE(sim.what().find(GetParam().expect), std::string::npos)
			<< "seed " << seed << ": " << sim.what();
		noticed++;

		// The same schedule is fine when nothing is broken.
		prop::Sim again(clean);

		again.run();
		EXPECT_FALSE(again.failed())
			<< "seed " << seed << ": " << again.what();
	}
	EXPECT_EQ(noticed, 3u);
}

INSTANTIATE_TEST_SUITE_P(
	Controls, Negative,
	testing::Values(
		Control{Sabotage::PlaceDuplicate, "PlaceDuplicate", "twice"},
		Control{Sabotage::DropPlacement, "DropPlacement",
			"placed 0 times"},
		Control{Sabotage::WrongMpr, "WrongMpr", "offers a range"},
		Control{Sabotage::SilentRefusal, "SilentRefusal", "refusal"},
		Control{Sabotage::RenumberDup, "RenumberDup", "packet"},
		Control{Sabotage::EarlyImm, "EarlyImm", "receive completion"},
		Control{Sabotage::CorruptSack, "CorruptSack", "SACK"},
		Control{Sabotage::LoseCompletion, "LoseCompletion", "complete"},
		Control{Sabotage::ResendAsNew, "ResendAsNew", "rtx=0"},
		Control{Sabotage::EarlyPlaced, "EarlyPlaced", "packet"},
		Control{Sabotage::ForgetBurst, "ForgetBurst",
			"without transport ACK"},
		Control{Sabotage::NeverDeliver, "NeverDeliver",
			"does not lead to completion"}),
	[](const auto &info) { return std::string(info.param.name); });

} // namespace
