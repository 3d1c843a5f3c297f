// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Plans: what they say, what they must not say, and those that we ship. */
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "error.hpp"
#include "plans.hpp"

namespace mrcbench
{
namespace
{
Plan parsed(const std::string &text, const std::vector<std::string> &set = {})
{
	return parse_plan("p", text, set);
}

std::string refusal(const std::string &text,
		    const std::vector<std::string> &set = {})
{
	try {
		parsed(text, set);
	} catch (const mrcperf::UsageError &e) {
		return e.what();
	}
	return "accepted";
}
} // namespace

TEST(Plans, NothingIsOneSectionOfDefaults)
{
	const Plan p = parsed("");

	EXPECT_EQ(p.repeat, 5u);
	ASSERT_EQ(p.sections.size(), 1u);
	const Section &s = p.sections[0];

	EXPECT_EQ(s.columns, (std::vector<std::string>{"mrc", "rxe", "tcp"}));
	ASSERT_EQ(s.points.size(), 1u);
	EXPECT_EQ(s.points[0].label(), "");
	EXPECT_EQ(s.points[0].shape.size, 65536u);
	EXPECT_EQ(s.points[0].shape.mtu, 4096u);
	EXPECT_EQ(s.metrics, (std::vector<std::string>{"goodput", "cpu_byte"}));
}

TEST(Plans, SectionsHaveWhatStandsAboveThem)
{
	const Plan p = parsed("title = T\nrepeat = 7\nseconds = 0.5\n"
			      "# remark\n\n[a]\nsize = 8\ntitle = A\n"
			      "[b]\nseconds = 2\nop=send\ntest =rate\n");

	EXPECT_EQ(p.title, "T");
	EXPECT_EQ(p.repeat, 7u);
	EXPECT_EQ(p.section("a").title, "A");
	EXPECT_EQ(p.section("a").points[0].shape.size, 8u);
	EXPECT_EQ(p.section("a").points[0].shape.seconds, 0.5);
	EXPECT_EQ(p.section("b").points[0].shape.seconds, 2);
	EXPECT_EQ(p.section("b").points[0].shape.op, Op::send);
	EXPECT_EQ(p.section("b").points[0].shape.test, Kind::rate);
	EXPECT_EQ(p.section("b").metrics[0], "rate");
}

TEST(Plans, ListsMakePointsInTheirOrder)
{
	const Plan p = parsed("[a]\nqps = 1 16\nsize = 8 1K 64K\n");
	std::vector<std::string> labels;

	for (const Point &point : p.sections[0].points)
		labels.push_back(point.label());
	EXPECT_EQ(labels, (std::vector<std::string>{"1/8", "1/1K", "1/64K", "16/8",
						    "16/1K", "16/64K"}));
	EXPECT_EQ(p.sections[0].points[4].shape.qps, 16u);
	EXPECT_EQ(p.sections[0].points[4].shape.size, 1024u);
}

TEST(Plans, NetemsHaveSpacesInThem)
{
	const Plan p = parsed(
		"[a]\nnetem = none | loss 1% | delay 100us reorder 25%\n");

	ASSERT_EQ(p.sections[0].points.size(), 3u);
	EXPECT_EQ(p.sections[0].points[0].shape.netem, "");
	EXPECT_EQ(p.sections[0].points[1].shape.netem, "loss 1%");
	EXPECT_EQ(p.sections[0].points[2].label(), "delay 100us reorder 25%");
}

TEST(Plans, OverridesWin)
{
	const Plan p = parsed("repeat = 5\n[a]\nsize = 8 64\n[b]\nsize = 1K\n",
			      {"size=4K", "repeat=2", "qps=3"});

	EXPECT_EQ(p.repeat, 2u);
	for (const Section &s : p.sections) {
		ASSERT_EQ(s.points.size(), 1u);
		EXPECT_EQ(s.points[0].shape.size, 4096u);
		EXPECT_EQ(s.points[0].shape.qps, 3u);
	}
}

TEST(Plans, GoalOfEachPoint)
{
	const Plan p = parsed(
		"[a]\nsize = 8 64\ngoal = goodput mrc / rxe >= 1.5\n");
	const std::vector<Goal> &g = p.sections[0].goals;

	ASSERT_EQ(g.size(), 2u);
	EXPECT_EQ(g[1].metric, "goodput");
	EXPECT_TRUE(g[1].ratio);
	EXPECT_TRUE(g[1].at_least);
	EXPECT_EQ(g[1].limit, 1.5);
	EXPECT_EQ(g[1].value.column, "mrc");
	EXPECT_EQ(g[1].base.column, "rxe");
	EXPECT_EQ(g[1].value.label, "64");
	EXPECT_EQ(g[1].base.label, "64");
	EXPECT_EQ(g[1].text, "a: goodput mrc / rxe >= 1.5 [64]");
}

TEST(Plans, GoalBetweenPointsAndSections)
{
	const Plan p = parsed(
		"[a]\nnetem = none | loss 1%\n"
		"goal = goodput mrc[loss 1%] / mrc[none] >= 0.9\n"
		"goal = resent mrc[none] <= 0\n"
		"goal = goodput mrc[none] / tcp@b >= 1\n"
		"[b]\ncolumns = tcp\n");
	const std::vector<Goal> &g = p.sections[0].goals;

	ASSERT_EQ(g.size(), 3u);
	EXPECT_EQ(g[0].value.label, "loss 1%");
	EXPECT_EQ(g[0].base.label, "none");
	EXPECT_FALSE(g[1].ratio);
	EXPECT_FALSE(g[1].at_least);
	EXPECT_EQ(g[2].base.section, "b");
	EXPECT_EQ(g[2].base.label, "");
}

TEST(Plans, GoalWithAMeasuredLimit)
{
	const Plan p =
		parsed("[a]\ntest = rtt\nnetem = loss 0% | loss 1%\n"
		       "goal = lat_p99 mrc[loss 1%] <= lat_p50 mrc[loss 0%] + "
		       "4 lat_p90 tcp@b + 1000 + 0.5\n"
		       "[b]\ntest = rtt\ncolumns = tcp\n");
	const std::vector<Goal> &g = p.sections[0].goals;

	ASSERT_EQ(g.size(), 1u);
	EXPECT_EQ(g[0].metric, "lat_p99");
	EXPECT_EQ(g[0].value.label, "loss 1%");
	EXPECT_FALSE(g[0].at_least);
	EXPECT_FALSE(g[0].ratio);
	EXPECT_EQ(g[0].limit, 1000.5);
	ASSERT_EQ(g[0].terms.size(), 2u);
	EXPECT_EQ(g[0].terms[0].factor, 1);
	EXPECT_EQ(g[0].terms[0].metric, "lat_p50");
	EXPECT_EQ(g[0].terms[0].of.column, "mrc");
	EXPECT_EQ(g[0].terms[0].of.section, "a");
	EXPECT_EQ(g[0].terms[0].of.label, "loss 0%");
	EXPECT_EQ(g[0].terms[1].factor, 4);
	EXPECT_EQ(g[0].terms[1].metric, "lat_p90");
	EXPECT_EQ(g[0].terms[1].of.column, "tcp");
	EXPECT_EQ(g[0].terms[1].of.section, "b");
}

/* Without a point it is a goal for each one, on both sides. */
TEST(Plans, MeasuredLimitOfEachPoint)
{
	const Plan p = parsed("[a]\nsize = 8 64\n"
			      "goal = lat_p99 mrc <= 3 lat_p50 mrc\n");
	const std::vector<Goal> &g = p.sections[0].goals;

	ASSERT_EQ(g.size(), 2u);
	EXPECT_EQ(g[1].value.label, "64");
	ASSERT_EQ(g[1].terms.size(), 1u);
	EXPECT_EQ(g[1].terms[0].of.label, "64");
	EXPECT_EQ(g[1].terms[0].factor, 3);
	EXPECT_EQ(g[1].limit, 0);
}

TEST(Plans, TheSameImpairmentBothWays)
{
	const Plan p = parsed("[a]\nnetem_back = same\n"
			      "netem = none | loss 0% | loss 1%\n"
			      "[b]\nnetem = loss 2%\nnetem_back = same\n"
			      "[c]\nnetem = loss 2%\n");
	const std::vector<Point> &a = p.section("a").points;

	ASSERT_EQ(a.size(), 3u);
	EXPECT_EQ(a[0].shape.netem_back, "");
	EXPECT_EQ(a[1].shape.netem_back, "loss 0%");
	EXPECT_EQ(a[2].shape.netem_back, "loss 1%");
	EXPECT_EQ(p.section("b").points[0].shape.netem_back, "loss 2%");
	EXPECT_EQ(p.section("c").points[0].shape.netem_back, "");
}

TEST(Plans, RefuseWhatIsWrong)
{
	struct Wrong {
		const char *plan;
		const char *says;
	};
	static constexpr Wrong all[] = {
		{"size", "p:1: \"size\" is no KEY = VALUE"},
		{"\nsize =", "p:2: size has no value"},
		{"[a]\nfoo = 1", "there is no key \"foo\""},
		{"[a", "is no [name]"},
		{"[]", "is no [name]"},
		{"[a/b]", "is no [name]"},
		{"[a]\n[a]", "two sections a"},
		{"repeat = 0", "0 is not within"},
		{"[a]\nsize = 0", "0 is not within"},
		{"[a]\nsize = 2G", "2G is not within"},
		{"[a]\nqps = x", "\"x\" is no number"},
		{"[a]\nplanes = 9", "9 is not within 1 to 8"},
		{"[a]\nmtu = 1500", "256, 512"},
		{"[a]\ntest = foo", "test is \"foo\", but can be bw, rate"},
		{"[a]\nnetem = loss 1%; rm", "is not for netem"},
		{"[a]\nnetem = $(x)", "is not for netem"},
		{"[a]\ncc = ../x", "is no name"},
		{"[a]\ncolumns = mrc foo", "\"foo\" is no column"},
		{"[a]\nmetrics = foo", "no metric \"foo\""},
		{"[a]\nsize=1 2\nqps=1 2\nplanes=1 2", "more than two keys"},
		{"[a]\ntest = lat", "a WRITE wakes nobody"},
		{"[a]\ndepth = 4\nlist = 8", "list is longer"},
		{"goal = goodput mrc >= 1", "a goal belongs to a section"},
		{"[a]\ngoal = goodput mrc", "neither >= nor <="},
		{"[a]\ngoal = foo mrc >= 1", "no metric \"foo\""},
		{"[a]\ngoal = goodput >= 1", "names no column"},
		{"[a]\ngoal = goodput foo >= 1", "has no column \"foo\""},
		{"[a]\ngoal = goodput mrc@b >= 1", "no section \"b\""},
		{"[a]\ngoal = goodput mrc[1] >= 1", "has no point [1]"},
		{"[a]\nsize = 1 2\n[b]\ngoal = goodput mrc@a >= 1",
		 "has no point []"},
		{"[a]\ngoal = goodput mrc >= x", "\"x\" is no number"},
		{"[a]\ngoal = goodput mrc >=", "\"\" is no number"},
		{"[a]\ngoal = goodput mrc >= 1 +", "\"\" is no number"},
		{"[a]\ngoal = goodput mrc >= 1 + + 1", "\"\" is no number"},
		{"[a]\ngoal = goodput mrc >= x goodput mrc",
		 "\"x\" is no number"},
		{"[a]\ngoal = goodput mrc >= 2 foo mrc", "no metric \"foo\""},
		{"[a]\ngoal = goodput mrc >= 2 goodput", "has no column \"\""},
		{"[a]\ngoal = goodput mrc >= goodput foo",
		 "has no column \"foo\""},
		{"[a]\ngoal = lat_p99 mrc <= goodput mrc",
		 "lat_p99 and goodput have different units"},
		{"[a]\ngoal = goodput mrc / rxe >= goodput mrc",
		 "a ratio is compared with a number"},
		{"[a]\ntest = lat\nop = read", "a READ has no ping-pong"},
	};

	for (const Wrong &w : all)
		EXPECT_NE(refusal(w.plan).find(w.says), std::string::npos)
			<< w.plan << ": " << refusal(w.plan);
	EXPECT_NE(refusal("", {"size"}).find("no KEY=VALUE"),
		  std::string::npos);
}

TEST(Plans, ThoseWeShipAreValid)
{
	size_t plans = 0, goals = 0;

	for (const auto &f : std::filesystem::directory_iterator(PLAN_DIR)) {
		if (f.path().extension() != ".plan")
			continue;
		std::ostringstream text;

		text << std::ifstream(f.path()).rdbuf();
		const Plan p =
			parse_plan(f.path().filename().string(), text.str(), {});

		plans++;
		for (const Section &s : p.sections)
			goals += s.goals.size();
	}
	EXPECT_GE(plans, 3u);
	EXPECT_GE(goals, 15u);
}
} // namespace mrcbench
