// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What requirements of drills make of series, against values made by hand. */
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "drill_verdicts.hpp"
#include "random_fabric.hpp"

namespace mrclab
{
namespace
{
constexpr uint64_t ms = 1000000;
constexpr uint64_t s = 1000 * ms;

using Values = std::vector<double>;

/* A drill of a second with ten samples. Before 300 ms is the baseline. */
struct Made {
	Drill d;
	DrillRun run;

	Made()
	{
		d.time = 1 * s;
		d.sample = 100 * ms;
		d.baseline = {0, 300 * ms};
		d.stages.emplace_back();
		for (int i = 1; i <= 10; i++)
			run.times.push_back(i / 10.0);
	}
	/* A change of the timeline, and when it was complete. */
	Made &change(uint64_t at, double done)
	{
		d.stages[0].timeline.emplace_back();
		d.stages[0].timeline.back().at = at * ms;
		run.events.push_back({static_cast<double>(at) / 1e3 + 0.001, "",
				      done / 1e3});
		return *this;
	}
	Made &flow(const std::string &name, const Values &values)
	{
		run.series.push_back({name, true, values});
		return *this;
	}
	Made &link(const std::string &name, const Values &values)
	{
		run.series.push_back({name, false, values});
		return *this;
	}
	/* Samples are so late, each its own time. */
	Made &late(const Values &by)
	{
		for (std::size_t i = 0; i < run.times.size(); i++)
			run.times[i] += by[i % by.size()] / 1e3;
		return *this;
	}
	Verdict judge(const Must &m)
	{
		d.musts = {m};
		const std::vector<Verdict> all = mrclab::judge(d, run);

		EXPECT_EQ(all.size(), 1u);
		return all[0];
	}
	double got(const Must &m) { return judge(m).got; }
};

Must must(Must::Kind kind, const std::string &what, uint64_t from, uint64_t to,
	  double share)
{
	Must m;

	m.kind = kind;
	m.what = what;
	m.during = {from * ms, to * ms};
	m.share = share;
	return m;
}

Must worst(const std::string &what, uint64_t from, uint64_t to = 1000,
	   double share = 0.6)
{
	return must(Must::Kind::worst, what, from, to, share);
}

Must mean(const std::string &what, uint64_t from, uint64_t to = 1000,
	  double share = 0.6)
{
	return must(Must::Kind::mean, what, from, to, share);
}

Must fair(const std::string &what, uint64_t from, double index = 0.9)
{
	return must(Must::Kind::fair, what, from, 1000, index);
}

Must reaches(const std::string &what, uint64_t from, double share,
	     uint64_t within)
{
	Must m = must(Must::Kind::reaches, what, from, 1000, share);

	m.within = within * ms;
	return m;
}

/* Its baseline is 100: a fall at 300 ms, half at 500, all at 800. */
const Values fall = {90, 110, 100, 20, 40, 50, 50, 50, 100, 120};
} // namespace

TEST(Verdicts, OfTheWorstSample)
{
	Made m = Made().flow("w", fall);

	EXPECT_DOUBLE_EQ(m.got(worst("w", 300)), 20);
	EXPECT_DOUBLE_EQ(m.got(worst("w", 400)), 40);
	EXPECT_DOUBLE_EQ(m.got(worst("w", 500, 800)), 50);
	EXPECT_DOUBLE_EQ(m.got(worst("w", 800)), 100);
	EXPECT_DOUBLE_EQ(m.got(worst("w", 0, 100)), 90);
	EXPECT_DOUBLE_EQ(m.got(worst("w", 0)), 20);
}

/* A share of nothing is no measurement, and says so. */
TEST(Verdicts, WithNothingBefore)
{
	const Values late = {0, 0, 0, 0, 50, 50, 50, 50, 50, 50};
	Made m = Made().flow("w", late);
	Must with_rate = mean("w", 500);

	for (const Must &must : {worst("w", 500), mean("w", 500)}) {
		const Verdict v = m.judge(must);

		EXPECT_FALSE(v.ok);
		EXPECT_EQ(v.got, 0);
		EXPECT_TRUE(v.text.ends_with("before, nothing before"))
			<< v.text;
	}
	EXPECT_TRUE(m.judge(reaches("w", 500, 0.5, 200))
			    .text.ends_with(", nothing before, never reached"));
	with_rate.rate = 100;
	EXPECT_TRUE(m.judge(with_rate).text.ends_with("against 100bit"));
	EXPECT_FALSE(m.judge(fair("w", 500)).text.ends_with("before"));
}

TEST(Verdicts, OfTheMean)
{
	Made m = Made().flow("w", fall);

	EXPECT_DOUBLE_EQ(m.got(mean("w", 0, 300)), 100);
	EXPECT_DOUBLE_EQ(m.got(mean("w", 300, 500)), 30);
	EXPECT_DOUBLE_EQ(m.got(mean("w", 800)), 110);
	EXPECT_DOUBLE_EQ(m.got(mean("w", 0)), 73);
}

TEST(Verdicts, HoldFromTheWantedShareOn)
{
	Made m = Made().flow("w", fall);
	Verdict v = m.judge(worst("w", 500, 800, 0.5));

	EXPECT_TRUE(v.ok);
	EXPECT_EQ(v.unit, "%");
	EXPECT_DOUBLE_EQ(v.wanted, 50);
	EXPECT_DOUBLE_EQ(v.got, 50);
	v = m.judge(worst("w", 500, 800, 0.501));
	EXPECT_FALSE(v.ok);
	EXPECT_DOUBLE_EQ(v.wanted, 50.1);
	EXPECT_TRUE(m.judge(mean("w", 800, 1000, 1)).ok);
}

TEST(Verdicts, ComparePartsOfTheBaseline)
{
	Made m = Made().flow("w", fall);
	Must half = worst("w", 500, 800, 0.97);

	half.part = 2;
	half.parts = 4;
	EXPECT_DOUBLE_EQ(m.got(half), 100);
	EXPECT_TRUE(m.judge(half).ok);
	half.part = 7;
	half.parts = 8;
	EXPECT_NEAR(m.got(half), 50 / 0.875, 1e-9);
	EXPECT_FALSE(m.judge(half).ok);
}

TEST(Verdicts, CompareWithARate)
{
	Made m = Made().flow("w", fall);
	Must r = mean("w", 500, 800, 0.5);

	r.rate = 200;
	EXPECT_DOUBLE_EQ(m.got(r), 25);
	r.part = 1;
	r.parts = 2;
	EXPECT_DOUBLE_EQ(m.got(r), 50);
	/* No baseline is needed. */
	m.d.baseline = {};
	EXPECT_DOUBLE_EQ(m.got(r), 50);
	EXPECT_DOUBLE_EQ(m.got(mean("w", 500)), 0);
}

TEST(Verdicts, OfSeveralSeriesAreThoseOfTheWorst)
{
	Made m = Made().flow("w 1", Values(10, 100))
			 .flow("w 2", fall)
			 .flow("v", Values(10, 0))
			 .flow("total", Values(10, 7))
			 .link("plane 1", Values(10, 1))
			 .link("p1l1:s1", {9, 9, 9, 3, 3, 3, 3, 3, 9, 9})
			 .link("p1l1:s2", Values(10, 5));

	EXPECT_DOUBLE_EQ(m.got(worst("w", 300)), 20);
	EXPECT_DOUBLE_EQ(m.got(mean("w", 500, 800)), 50);
	EXPECT_DOUBLE_EQ(m.got(worst("w 1", 300)), 100);
	EXPECT_DOUBLE_EQ(m.got(worst("total", 300)), 100);
	EXPECT_DOUBLE_EQ(m.got(worst("planes", 300)), 100);
	EXPECT_NEAR(m.got(worst("p1l1:*", 300)), 100 / 3.0, 1e-9);
	/* One of them has no baseline. */
	EXPECT_DOUBLE_EQ(m.got(worst("flows", 300)), 0);
	EXPECT_DOUBLE_EQ(m.got(reaches("w", 400, 0.5, 100)), 200);
}

TEST(Verdicts, OfFairness)
{
	Made m = Made().flow("w 1", Values(10, 2))
			 .flow("w 2", {0, 0, 0, 0, 0, 8, 8, 8, 8, 8})
			 .flow("total", Values(10, 100));
	Verdict v = m.judge(fair("w", 0, 0.9));

	/* Means of 2 and 4: 36 / (2 * 20). */
	EXPECT_DOUBLE_EQ(v.got, 0.9);
	EXPECT_TRUE(v.ok);
	EXPECT_EQ(v.wanted, 0.9);
	EXPECT_EQ(v.unit, "");
	EXPECT_FALSE(m.judge(fair("flows", 0, 0.91)).ok);
	/* Means of 2 and 8: 100 / (2 * 68). */
	EXPECT_NEAR(m.got(fair("w", 500)), 100.0 / 136, 1e-12);
	EXPECT_DOUBLE_EQ(m.got(fair("w 1", 0)), 1);
}

TEST(Verdicts, OfReachingAgain)
{
	Made m = Made().flow("w", fall);
	Verdict v = m.judge(reaches("w", 300, 0.5, 300));

	EXPECT_DOUBLE_EQ(v.got, 300);
	EXPECT_DOUBLE_EQ(v.wanted, 300);
	EXPECT_EQ(v.unit, "ms");
	EXPECT_TRUE(v.ok);
	EXPECT_FALSE(m.judge(reaches("w", 300, 0.5, 299)).ok);
	EXPECT_DOUBLE_EQ(m.got(reaches("w", 300, 1, 300)), 600);
	EXPECT_DOUBLE_EQ(m.got(reaches("w", 300, 0.2, 300)), 100);
	/* What was there before does not count. */
	EXPECT_DOUBLE_EQ(m.got(reaches("w", 200, 0.5, 300)), 100);
	EXPECT_DOUBLE_EQ(m.got(reaches("w", 250, 0.5, 300)), 350);
}

/* The time counts from the end of the change, if there is one at that time. */
TEST(Verdicts, CountFromTheEndOfAChange)
{
	Made m = Made().flow("w", fall)
			 .change(100, 150)
			 .change(300, 340)
			 .change(600, 820)
			 .change(900, 900);

	EXPECT_DOUBLE_EQ(m.got(reaches("w", 300, 0.5, 300)), 260);
	/* There is none at 400. */
	EXPECT_DOUBLE_EQ(m.got(reaches("w", 400, 0.5, 300)), 200);
	/* Samples that end before the change is complete do not count. */
	EXPECT_DOUBLE_EQ(m.got(reaches("w", 600, 0.5, 300)), 80);
	EXPECT_DOUBLE_EQ(m.got(reaches("w", 900, 0.5, 100)), 100);
	/* A drill that was cut off has fewer events. */
	m.run.events.resize(1);
	EXPECT_DOUBLE_EQ(m.got(reaches("w", 300, 0.5, 300)), 300);
}

TEST(Verdicts, SayWhatIsNeverReached)
{
	Made m = Made().flow("w", Values{100, 100, 100, 0, 0, 0, 0, 0, 0, 0})
			 .flow("x", fall)
			 .flow("none", Values(10, 0));

	for (const char *what : {"w", "flows", "none"}) {
		/* As much time as is left, and still not met. */
		const Verdict v = m.judge(reaches(what, 300, 0.5, 700));

		EXPECT_FALSE(v.ok) << what;
		EXPECT_EQ(v.unit, "ms");
		EXPECT_DOUBLE_EQ(v.wanted, 700);
		EXPECT_DOUBLE_EQ(v.got, 700);
		EXPECT_TRUE(v.text.ends_with(", never reached")) << v.text;
	}
}

/* Each interval counts that a window has but for its lateness. */
TEST(Verdicts, CountSamplesThatAreALittleLate)
{
	for (const double by : {0.0, 0.01, 1.0, 10.0, 24.0}) {
		Made m = Made().flow("w", fall).late({by});

		SCOPED_TRACE(by);
		EXPECT_DOUBLE_EQ(m.got(worst("w", 300)), 20);
		EXPECT_DOUBLE_EQ(m.got(mean("w", 300, 500)), 30);
		EXPECT_DOUBLE_EQ(m.got(worst("w", 500, 800)), 50);
		EXPECT_DOUBLE_EQ(m.got(mean("w", 800, 900)), 100);
		EXPECT_DOUBLE_EQ(m.got(reaches("w", 300, 0.5, 300)), 300);
		EXPECT_TRUE(m.judge(reaches("w", 300, 0.5, 300)).ok);
		EXPECT_DOUBLE_EQ(m.got(reaches("w", 800, 1, 100)), 100);
	}
	Made m = Made().flow("w", fall).late({3, 0, 20, 1, 0.5});

	EXPECT_DOUBLE_EQ(m.got(mean("w", 0, 300)), 100);
	EXPECT_DOUBLE_EQ(m.got(mean("w", 300, 500)), 30);
	EXPECT_DOUBLE_EQ(m.got(worst("w", 500, 800)), 50);
	EXPECT_DOUBLE_EQ(m.got(reaches("w", 300, 0.5, 300)), 300);
}

TEST(Verdicts, TakeTheTimeOfSamplesThatAreLate)
{
	Made m = Made().flow("w", fall).late({40});

	EXPECT_NEAR(m.got(reaches("w", 300, 0.5, 300)), 340, 1e-6);
	EXPECT_FALSE(m.judge(reaches("w", 300, 0.5, 300)).ok);
}

/* Intervals that are partly outside are left out. */
TEST(Verdicts, LeaveOutWhatIsPartlyOutside)
{
	Made m = Made().flow("w", fall);

	EXPECT_DOUBLE_EQ(m.got(worst("w", 350)), 40);
	EXPECT_DOUBLE_EQ(m.got(mean("w", 250, 550)), 30);
	EXPECT_DOUBLE_EQ(m.got(mean("w", 770, 1000)), 110);
	/* None is left, which is no success. */
	EXPECT_DOUBLE_EQ(m.got(worst("w", 550, 650)), 0);
	EXPECT_FALSE(m.judge(worst("w", 550, 650)).ok);
	EXPECT_FALSE(m.judge(worst("v", 550)).ok);
}

TEST(Verdicts, HaveTexts)
{
	Made m = Made().flow("w", fall);
	Must part = mean("w", 500, 800);
	Must rate = worst("w", 500, 1000);
	Must again = reaches("w", 300, 0.5, 300);

	part.part = 7;
	part.parts = 8;
	rate.rate = 40000000;
	EXPECT_EQ(m.judge(worst("w", 500)).text,
		  "w, 500ms to 1s: lowest sample against before");
	EXPECT_EQ(m.judge(part).text,
		  "w, 500ms to 800ms: mean against 7/8 of before");
	EXPECT_EQ(m.judge(rate).text,
		  "w, 500ms to 1s: lowest sample against 40mbit");
	EXPECT_EQ(m.judge(fair("w", 300)).text, "w, 300ms to 1s: Jain's index");
	EXPECT_EQ(m.judge(again).text,
		  "w, after 300ms: time until 50% of before");
	again.part = 1;
	again.parts = 8;
	again.rate = 1500;
	EXPECT_EQ(m.judge(again).text,
		  "w, after 300ms: time until 50% of 1/8 of 1.5kbit");
}

TEST(Verdicts, AreInTheOrderOfTheFile)
{
	Made m = Made().flow("w", fall);

	m.d.musts = {worst("w", 300), mean("w", 800), fair("w", 300)};
	const std::vector<Verdict> all = judge(m.d, m.run);

	ASSERT_EQ(all.size(), 3u);
	EXPECT_DOUBLE_EQ(all[0].got, 20);
	EXPECT_DOUBLE_EQ(all[1].got, 110);
	EXPECT_DOUBLE_EQ(all[2].got, 1);
}

TEST(Verdicts, HaveJainsIndex)
{
	EXPECT_DOUBLE_EQ(jain({5, 5, 5, 5}), 1);
	EXPECT_DOUBLE_EQ(jain({5, 0, 0, 0}), 0.25);
	EXPECT_DOUBLE_EQ(jain({1, 3}), 0.8);
	EXPECT_DOUBLE_EQ(jain({7}), 1);
	EXPECT_EQ(jain({}), 0);
	EXPECT_EQ(jain({0, 0}), 0);
}

/* Twice the bytes are the same percentages. */
TEST(Verdicts, DoNotDependOnTheScale)
{
	Random r(7);

	for (int i = 0; i < 300; i++) {
		const auto scale = static_cast<double>(draw(r, 2, 1000000));
		Made one, other;

		for (const char *name : {"w 1", "w 2", "w 3"}) {
			Values v;

			for (int n = 0; n < 10; n++)
				v.push_back(static_cast<double>(
					draw(r, 0, 1000000)));
			one.flow(name, v);
			for (double &x : v)
				x *= scale;
			other.flow(name, v);
		}
		const uint64_t from = draw(r, 0, 8) * 100;
		const auto share = static_cast<double>(draw(r, 0, 100)) / 100;

		for (const Must &m :
		     {worst("w", from), mean("w", from), fair("w", from),
		      reaches("w", from, share, 100)}) {
			const Verdict a = one.judge(m), b = other.judge(m);

			EXPECT_NEAR(a.got, b.got, 1e-9 * std::abs(a.got));
			EXPECT_EQ(a.unit, b.unit);
			EXPECT_EQ(a.text, b.text);
		}
		const double index = one.got(fair("w", from));

		EXPECT_GE(index, 1.0 / 3 - 1e-12);
		EXPECT_LE(index, 1 + 1e-12);
		EXPECT_LE(one.got(worst("w", from)),
			  one.got(mean("w", from)) + 1e-9);
	}
}
} // namespace mrclab
