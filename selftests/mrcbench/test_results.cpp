// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Summaries, goals, and what is written of them. */
#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "metrics.hpp"
#include "results.hpp"

namespace mrcbench
{
namespace
{
Sample sample(const std::string &column, unsigned int repetition, double goodput,
	      const std::string &label = "")
{
	Sample s;

	s.section = "a";
	s.label = label;
	s.column = column;
	s.repetition = repetition;
	if (goodput >= 0)
		s.values["goodput"] = goodput;
	else
		s.error = "it \"broke\", twice";
	return s;
}

Plan plan_with(const std::string &more)
{
	return parse_plan("p", "repeat = 3\n[a]\ncolumns = mrc rxe\n" + more,
			  {});
}

Machine machine()
{
	Machine m;

	m.when = "2026-01-01T00:00:00Z";
	m.kernel = "7.2";
	m.processor = "P";
	m.processors = 1;
	return m;
}
} // namespace

TEST(Results, SummaryOfRepetitions)
{
	const Plan p = plan_with("");
	Results r(p);

	r.add(sample("mrc", 0, 30));
	r.add(sample("mrc", 1, 10));
	r.add(sample("mrc", 2, 20));
	r.add(sample("rxe", 0, 99));
	const auto s = r.summary("a", "", "mrc", "goodput");

	ASSERT_TRUE(s);
	EXPECT_EQ(s->median, 20);
	EXPECT_EQ(s->min, 10);
	EXPECT_EQ(s->max, 30);
	EXPECT_DOUBLE_EQ(s->spread, 100);
	EXPECT_FALSE(r.summary("a", "", "mrc", "rate"));
	EXPECT_FALSE(r.summary("a", "x", "mrc", "goodput"));
}

/* The median of ratios, not the ratio of medians: 20/10 here would be 2. */
TEST(Results, RatiosAreOfOneRepetition)
{
	const Plan p = plan_with("goal = goodput mrc / rxe >= 3\n");
	Results r(p);

	r.add(sample("mrc", 0, 10));
	r.add(sample("mrc", 1, 20));
	r.add(sample("mrc", 2, 60));
	r.add(sample("rxe", 2, 20));
	r.add(sample("rxe", 1, 5));
	r.add(sample("rxe", 0, 10));
	const auto o = r.outcomes();

	ASSERT_EQ(o.size(), 1u);
	ASSERT_TRUE(o[0].value);
	EXPECT_DOUBLE_EQ(o[0].value->median, 3);
	EXPECT_DOUBLE_EQ(o[0].value->min, 1);
	EXPECT_DOUBLE_EQ(o[0].value->max, 4);
	EXPECT_TRUE(o[0].met);
}

/* Of each repetition, too: no median of anything is in the limit. */
TEST(Results, MeasuredTermsOfALimitAreOfOneRepetition)
{
	const Plan p = plan_with("goal = goodput mrc <= 2 goodput rxe + "
				 "goodput mrc + 5\n");
	Results r(p);

	r.add(sample("mrc", 0, 10));
	r.add(sample("mrc", 1, 20));
	r.add(sample("mrc", 2, 60));
	r.add(sample("rxe", 2, 1));
	r.add(sample("rxe", 0, 4));
	auto o = r.outcomes();

	ASSERT_EQ(o.size(), 1u);
	ASSERT_TRUE(o[0].value);
	EXPECT_EQ(o[0].value->min, -8);
	EXPECT_EQ(o[0].value->max, -2);
	EXPECT_TRUE(o[0].met);

	/* None of the repetitions has all of them. */
	Results none(p);

	none.add(sample("mrc", 0, 10));
	none.add(sample("mrc", 1, 10));
	none.add(sample("rxe", 1, -1));
	o = none.outcomes();
	EXPECT_FALSE(o[0].value);
	EXPECT_FALSE(o[0].met);
}

TEST(Results, MeasuredLimits)
{
	const Plan p = plan_with("netem = loss 0% | loss 1%\n"
				 "goal = goodput mrc[loss 1%] <= "
				 "goodput mrc[loss 0%] + 4.5\n"
				 "goal = goodput mrc[loss 1%] >= "
				 "0.5 goodput mrc[loss 0%] + 10\n");
	Results r(p);

	for (unsigned int i = 0; i < 3; i++) {
		r.add(sample("mrc", i, 10, "loss 0%"));
		r.add(sample("mrc", i, 14 + i, "loss 1%"));
	}
	const auto o = r.outcomes();

	ASSERT_TRUE(o[0].value && o[1].value);
	EXPECT_EQ(o[0].value->median, 5);
	EXPECT_FALSE(o[0].met);
	EXPECT_EQ(o[1].value->median, 10);
	EXPECT_TRUE(o[1].met);
}

TEST(Results, GoalsThatAreNotMet)
{
	const Plan p = plan_with("goal = goodput mrc / rxe >= 3\n"
				 "goal = goodput mrc <= 9.5\n"
				 "goal = rate mrc >= 0\n");
	Results r(p);

	r.add(sample("mrc", 0, 10));
	r.add(sample("rxe", 0, 5));
	const auto o = r.outcomes();

	ASSERT_EQ(o.size(), 3u);
	EXPECT_FALSE(o[0].met);
	EXPECT_FALSE(o[1].met);
	EXPECT_FALSE(Results(p).outcomes()[2].met);
	EXPECT_FALSE(Results(p).outcomes()[2].value);
}

/* A transport that gives up has moved nothing; it does not drop out. */
TEST(Results, FailuresCountAgainstAGoal)
{
	const Plan p = plan_with("goal = goodput mrc / rxe >= 1\n");
	Results r(p);

	for (unsigned int i = 0; i < 3; i++) {
		r.add(sample("mrc", i, i ? -1 : 100));
		r.add(sample("rxe", i, 10));
	}
	const auto o = r.outcomes();

	ASSERT_TRUE(o[0].value);
	EXPECT_EQ(o[0].value->median, 0);
	EXPECT_FALSE(o[0].met);
	EXPECT_EQ(r.failures("a", "", "mrc"),
		  "2 of 3 failed: it \"broke\", twice");
	EXPECT_EQ(r.failures("a", "", "rxe"), "");
}

TEST(Csv, OneLineForEachSample)
{
	const Plan p = plan_with("netem = none | loss 1%\n");
	Results r(p);
	std::ostringstream out;

	r.add(sample("mrc", 0, 1234.5, "none"));
	r.add(sample("rxe", 1, -1, "loss 1%"));
	write_csv(out, r);
	std::istringstream in(out.str());
	std::string head, first, second, rest;

	std::getline(in, head);
	std::getline(in, first);
	std::getline(in, second);
	EXPECT_FALSE(std::getline(in, rest));
	const auto commas = std::count(head.begin(), head.end(), ',');

	EXPECT_EQ(std::count(first.begin(), first.end(), ','), commas);
	/* One more is in the quotes. */
	EXPECT_EQ(std::count(second.begin(), second.end(), ','), commas + 1);
	EXPECT_EQ(first.rfind("p,a,none,mrc,1,bw,write,65536,1,1,4096,0,64,"
			      "event,,1234.5,",
			      0),
		  0u)
		<< first;
	EXPECT_NE(second.find(",loss 1%,rxe,2,"), std::string::npos);
	EXPECT_NE(second.find("\"it \"\"broke\"\", twice\""),
		  std::string::npos);
	for (const Metric &m : metrics())
		EXPECT_NE(head.find(std::string(",") + m.name),
			  std::string::npos);
}

TEST(Json, HasEverything)
{
	const Plan p = plan_with("size = 8 64\ngoal = goodput mrc / rxe >= 2\n");
	Results r(p);
	std::ostringstream out;

	for (const char *label : {"8", "64"})
		for (unsigned int i = 0; i < 3; i++) {
			r.add(sample("mrc", i, 40 + i, label));
			r.add(sample("rxe", i, i == 2 ? -1 : 10, label));
		}
	write_json(out, r, machine());
	const auto j = nlohmann::json::parse(out.str());

	EXPECT_EQ(j["schema"], result_schema);
	EXPECT_EQ(j["machine"]["kernel"], "7.2");
	const auto &point = j["sections"][0]["points"][1];

	EXPECT_EQ(point["label"], "64");
	EXPECT_EQ(point["shape"]["size"], 64);
	EXPECT_EQ(point["columns"][0]["column"], "mrc");
	EXPECT_EQ(point["columns"][0]["summary"]["goodput"]["median"], 41);
	EXPECT_EQ(point["columns"][0]["samples"].size(), 3u);
	EXPECT_EQ(point["columns"][1]["samples"][2]["error"],
		  "it \"broke\", twice");
	ASSERT_EQ(j["goals"].size(), 2u);
	EXPECT_EQ(j["goals"][0]["met"], true);
	EXPECT_EQ(j["goals"][0]["value"]["median"], 4.05);
}

TEST(Text, SaysWhatFailed)
{
	const Plan p = plan_with("goal = goodput mrc / rxe >= 9\n");
	Results r(p);
	std::ostringstream out;

	r.add(sample("mrc", 0, 20));
	r.add(sample("rxe", 0, 10));
	r.add(sample("rxe", 1, -1));
	write_text(out, r, machine());
	for (const char *part :
	     {"20.0 (20.0 .. 20.0)", "1 of 2 failed", "NOT MET",
	      "2.000 (2.000 .. 2.000)", "goodput, Mbit/s",
	      "1 of 1 goals are NOT MET\n"})
		EXPECT_NE(out.str().find(part), std::string::npos)
			<< part << " is not in\n"
			<< out.str();
}
} // namespace mrcbench
