// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What is wrong in a fabric: its words, and what they mean for each link. */
#include <gtest/gtest.h>

#include "error.hpp"
#include "fault.hpp"
#include "random_fabric.hpp"
#include "words.hpp"

namespace mrclab
{
namespace
{
struct FaultTest : testing::Test {
	Topology t{fabric_of(2, 2, 2, 2)};
	Faults f;

	void apply(const std::string &line) { f.apply(t, split(line)); }

	/* The words of all faults, a line each. */
	std::string shown() const
	{
		std::string s;

		for (const Words &words : f.words(t)) {
			for (const std::string &w : words)
				s += (&w == &words.front() ? "" : " ") + w;
			s += '\n';
		}
		return s;
	}

	std::set<std::string> down() const
	{
		std::set<std::string> names;

		for (const Direction d : f.down(t))
			names.insert(t.name(d));
		return names;
	}

	double loss(const std::string &link) const
	{
		return f.props(t, t.direction(link)).loss.value_or(0);
	}

	/* Is refused with a message that has @why, and changes nothing. */
	void refused(const std::string &line, const std::string &why)
	{
		const std::string before = shown();

		try {
			apply(line);
			ADD_FAILURE() << "accepted: " << line;
		} catch (const UsageError &e) {
			EXPECT_NE(std::string(e.what()).find(why),
				  std::string::npos)
				<< line << ": " << e.what();
		}
		EXPECT_EQ(shown(), before) << line;
	}
};
} // namespace

TEST_F(FaultTest, NothingIsWrongAtFirst)
{
	EXPECT_FALSE(f.any());
	EXPECT_EQ(shown(), "");
	EXPECT_TRUE(down().empty());
}

TEST_F(FaultTest, TakesDownTheEndThatIsNamed)
{
	apply("p1l1:s2 down");
	EXPECT_EQ(down(), std::set<std::string>{"p1l1:s2"});
	apply("p1l1:s2 up");
	EXPECT_FALSE(f.any());
}

TEST_F(FaultTest, TakesDownBothEndsWithPlus)
{
	apply("p1l1:s2+ down");
	EXPECT_EQ(down(), (std::set<std::string>{"p1l1:s2", "p1s2:l1"}));
	apply("p1s2:l1+ up");
	EXPECT_FALSE(f.any());
}

TEST_F(FaultTest, TakesDownANodeWithAllItsNetdevs)
{
	apply("p2s1 down");
	EXPECT_EQ(down(), (std::set<std::string>{"p2s1:l1", "p2s1:l2"}));
	EXPECT_EQ(shown(), "p2s1 down\n");
}

TEST_F(FaultTest, BringsUpNoNetdevOfANodeThatIsDown)
{
	apply("p2s1:l1 down");
	apply("p2s1 down");
	refused("p2s1:l2 up", "p2s1 is down");
	refused("p2s1:l1 clear", "p2s1 is down");
	refused("p2*:l1 up", "p2s1 is down");
	EXPECT_EQ(down().size(), 2u);
	/* The node with all its netdevs. */
	apply("p2s1 up");
	EXPECT_TRUE(down().empty());
}

TEST_F(FaultTest, MatchesPatterns)
{
	apply("p1l?:s1 loss 1%");
	EXPECT_EQ(shown(), "p1l1:s1 loss 1%\np1l2:s1 loss 1%\n");
	apply("p1l*:s1+ loss 2%");
	EXPECT_EQ(loss("p1s1:l2"), 0.02);
	EXPECT_EQ(loss("p1l1:s2"), 0);
}

TEST_F(FaultTest, ANodeMeansWhatItSends)
{
	apply("p1s1 drop");
	EXPECT_EQ(loss("p1s1:l1"), 1);
	EXPECT_EQ(loss("p1s1:l2"), 1);
	EXPECT_EQ(loss("p1l1:s1"), 0);
	apply("p1s1 clear");
	EXPECT_FALSE(f.any());
}

TEST_F(FaultTest, AddsUpSettings)
{
	apply("h1:p1 delay 5ms loss 1%");
	apply("h1:p1 loss 3%");
	EXPECT_EQ(shown(), "h1:p1 delay 5ms loss 3%\n");
}

TEST_F(FaultTest, ClearsAll)
{
	apply("p1s1 down");
	apply("h1:p1 loss 3%");
	apply("path h1 h3 plane 2 t1 1 loss 20%");
	apply("clear");
	EXPECT_FALSE(f.any());
}

TEST_F(FaultTest, NamesPaths)
{
	apply("path h1 h3 plane 2 t1 1 loss 20%");
	apply("path h1 h2 plane 1 loss 100%");
	EXPECT_EQ(shown(), "path h1 h2 plane 1 loss 100%\n"
			   "path h1 h3 plane 2 t1 1 loss 20%\n");
	apply("path h1 h2 plane 1 loss 0");
	apply("path h1 h3 plane 2 t1 1 clear");
	EXPECT_FALSE(f.any());
}

TEST_F(FaultTest, RefusesWhatCannotBe)
{
	refused("", "what is to be wrong");
	refused("p1s1", "what is to happen");
	refused("p1s9 down", "no node \"p1s9\"");
	refused("p1l1:s9 down", "no link \"p1l1:s9\"");
	refused("p9*:s1 down", "matches no link");
	refused("p1s1 down now", "one word too many");
	refused("p1s1 explode", "no value");
	refused("p1s1 explode 5", "a link has no \"explode\"");
	refused("p1s1 loss", "no value");
	refused("p1s1 loss 101%", "out of range");
	refused("p1s1 loss 1% delay", "no value");
	refused("p1s1 reorder 1%", "reordering needs a delay");
	refused("p1s1 mark 20k", "need a rate");
}

TEST_F(FaultTest, RefusesPathsThatCannotBe)
{
	refused("path", "a path is");
	refused("path h1", "a path is");
	refused("path h1 p1l1 plane 1 loss 1%", "is a switch");
	refused("path h1 h1 plane 1 loss 1%", "two hosts");
	refused("path h1 h3 t1 1 loss 1%", "which plane");
	refused("path h1 h3 plane 3 t1 1 loss 1%", "out of range");
	refused("path h1 h3 plane 1 t1 3 loss 1%", "out of range");
	refused("path h1 h3 plane 1 loss 1%", "\"t1 S\" is missing");
	refused("path h1 h2 plane 1 t1 1 loss 1%", "no T1");
	refused("path h1 h3 plane 1 t1 1", "a path is");
	refused("path h1 h3 plane 1 t1 1 loss", "a path is");
	refused("path h1 h3 plane 1 t1 1 delay 5ms", "neither");
	refused("path h1 h3 plane 1 t1 1 loss 1% 2%", "one word too many");

	t = Topology(fabric_of(2, 2, 2, 2, Forwarding::ecmp));
	refused("path h1 h3 plane 1 t1 1 loss 1%", "no SRv6 paths");
}

/* The first of several directions does not change if another one cannot. */
TEST_F(FaultTest, ChangesAllDirectionsOrNone)
{
	apply("p1l1:s1 delay 5ms");
	refused("p1l1:* reorder 10%", "reordering needs a delay");
}

/* The words of a state make the same state. */
TEST_F(FaultTest, WordsAreReadBack)
{
	Random random(7);

	for (int round = 0; round < 200; round++) {
		const std::string targets[] = {
			"p1s1",	 "p2l2",   "h1",     "p1l1:s1", "p2s2:l1+",
			"h*:p2", "p?l1:*", "h3:p1+", "p1l1:h2", "p2*+"};
		const std::string what[] = {
			"down",
			"up",
			"drop",
			"clear",
			"loss 0.1% delay 1500us",
			"rate 12500kbit queue 100k",
			"rate none",
			"rate 1mbit mark 20k..80k trim 100k",
			"corrupt 1e-3"};
		const std::string line = targets[draw(random, 0, 9)] + " " +
					 what[draw(random, 0, 8)];

		try {
			apply(line);
		} catch (const UsageError &) {
			continue;
		}
		Faults again;

		for (const Words &words : f.words(t))
			again.apply(t, words);
		EXPECT_EQ(again.words(t), f.words(t)) << line;
		EXPECT_EQ(again.down(t), f.down(t)) << line;
		for (uint32_t l = 0; l < t.links().size(); l++)
			for (const bool up : {true, false})
				EXPECT_EQ(again.props(t, {l, up}),
					  f.props(t, {l, up}))
					<< line;
	}
}
} // namespace mrclab
