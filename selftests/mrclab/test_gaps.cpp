// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The longest time without a byte, as a requirement and of whole flows. */
#include <cmath>

#include <gtest/gtest.h>

#include "drill_text.hpp"
#include "drill_verdicts.hpp"
#include "random_fabric.hpp"

namespace mrclab
{
namespace
{
constexpr uint64_t ms = 1000000;

using Values = std::vector<double>;

/* A drill of a second with ten samples, and a flow "w" with these. */
struct Made {
	Drill d;
	DrillRun run;

	explicit Made(const Values &values)
	{
		d.time = 1000 * ms;
		d.sample = 100 * ms;
		d.stages.emplace_back();
		d.flows.emplace_back();
		d.flows[0].name = "w";
		for (std::size_t i = 1; i <= values.size(); i++)
			run.times.push_back(static_cast<double>(i) / 10.0);
		run.series.push_back({"w", true, values});
	}
	Made &start(uint64_t at)
	{
		d.flows[0].start = at * ms;
		return *this;
	}
	Made &ends(Ending how)
	{
		d.flows[0].ending = how;
		return *this;
	}
	Verdict judge(uint64_t from, uint64_t to, uint64_t most,
		      const std::string &what = "w")
	{
		Must m;

		m.kind = Must::Kind::gap;
		m.what = what;
		m.during = {from * ms, to * ms};
		m.within = most * ms;
		d.musts = {m};
		return mrclab::judge(d, run).at(0);
	}
	double got(uint64_t from, uint64_t to)
	{
		return judge(from, to, 100).got;
	}
	/* Of the whole flow, ms. */
	double gap() const
	{
		const std::vector<Gap> all = gaps_of(d, run);

		EXPECT_EQ(all.size(), 1u);
		EXPECT_EQ(all.at(0).name, "w");
		return all.at(0).ms;
	}
};

/* Nothing for 100 ms, for 200 ms and for 300 ms. */
const Values holes = {5, 0, 5, 0, 0, 5, 0, 0, 0, 5};
} // namespace

TEST(Gaps, AreTheLongestOfTheWindow)
{
	Made m(holes);

	EXPECT_EQ(m.got(0, 1000), 300);
	EXPECT_EQ(m.got(0, 600), 200);
	EXPECT_EQ(m.got(0, 300), 100);
	EXPECT_EQ(m.got(200, 300), 0);
	/* What is outside does not count. */
	EXPECT_EQ(m.got(400, 800), 200);
	EXPECT_EQ(m.got(700, 900), 200);
	EXPECT_EQ(m.got(650, 1000), 200);
	EXPECT_EQ(Made(Values(10, 0)).got(0, 1000), 1000);
	EXPECT_EQ(Made(Values(10, 1)).got(0, 1000), 0);
}

TEST(Gaps, HoldUpToTheWantedTime)
{
	Made m(holes);
	const Verdict v = m.judge(0, 1000, 300);

	EXPECT_TRUE(v.ok);
	EXPECT_EQ(v.unit, "ms");
	EXPECT_EQ(v.wanted, 300);
	EXPECT_EQ(v.got, 300);
	EXPECT_EQ(v.text, "w, 0 to 1s: longest time without a byte");
	EXPECT_FALSE(m.judge(0, 1000, 299).ok);
	EXPECT_TRUE(m.judge(0, 600, 200).ok);
}

TEST(Gaps, OfSeveralSeriesAreThoseOfTheWorst)
{
	Made m(holes);

	m.run.series.push_back({"w 2", true, Values(10, 0)});
	m.run.series.push_back({"plane 1", false, Values(10, 1)});
	EXPECT_EQ(m.judge(0, 1000, 100).got, 1000);
	EXPECT_EQ(m.judge(0, 1000, 100, "planes").got, 0);
}

/* No sample is no success, however long the time may be. */
TEST(Gaps, NeedASample)
{
	Made m(holes);
	const Verdict v = m.judge(240, 260, 1000);

	EXPECT_FALSE(v.ok);
	EXPECT_EQ(v.text, "w, 240ms to 260ms: longest time without a byte, no "
			  "sample");
	EXPECT_TRUE(std::isfinite(v.got));
	EXPECT_FALSE(m.judge(0, 1000, 1000, "v").ok);
}

/* Samples that are a little late are as long as they should be. */
TEST(Gaps, DoNotGrowBySamplesThatAreLate)
{
	Made m(holes);

	for (std::size_t i = 0; i < m.run.times.size(); i++)
		m.run.times[i] += i % 2 ? 0.0003 : 0.02;
	EXPECT_EQ(m.got(0, 1000), 300);
	EXPECT_EQ(m.gap(), 300);
	/* A pause is a long sample. */
	Made p({5, 0, 5});

	p.run.times = {0.1, 0.45, 0.5};
	EXPECT_EQ(p.got(0, 1000), 350);
}

TEST(Gaps, OfFlowsBeginWithTheirFirstByte)
{
	EXPECT_EQ(Made(holes).gap(), 300);
	EXPECT_EQ(Made({0, 0, 0, 5, 0, 5}).gap(), 100);
	EXPECT_EQ(Made({0, 0, 0, 5, 5, 5}).gap(), 0);
	/* Other traffic of the hosts may be there before. */
	EXPECT_EQ(Made({5, 0, 0, 0, 0, 5, 0, 5}).start(400).gap(), 100);
	EXPECT_EQ(Made({5, 0, 0, 5, 0, 0}).start(300).gap(), 200);
	/* One that does nothing has a gap from its start on. */
	EXPECT_EQ(Made(Values(10, 0)).gap(), 1000);
	EXPECT_EQ(Made(Values(10, 0)).start(400).gap(), 600);
	EXPECT_EQ(Made({}).gap(), 0);
}

TEST(Gaps, OfFlowsThatEndGoToTheirLastByte)
{
	const Values over = {0, 5, 0, 5, 0, 0, 0};

	EXPECT_EQ(Made(over).gap(), 300);
	EXPECT_EQ(Made(over).ends(Ending::interrupt).gap(), 300);
	EXPECT_EQ(Made(over).ends(Ending::wait).gap(), 100);
	EXPECT_EQ(Made(Values(7, 0)).ends(Ending::wait).gap(), 700);
}

TEST(Gaps, AreOfFlowsWithGoodput)
{
	Made m(holes);

	m.d.flows.emplace_back();
	m.d.flows[1].name = "near";
	m.d.flows[1].latency = true;
	m.gap();
}

/* Against the definition: the longest row of samples without a byte. */
TEST(Gaps, AreThoseOfRandomSeries)
{
	Random r(5);

	for (int i = 0; i < 500; i++) {
		Values v;
		double longest = 0, now = 0;

		for (int n = 0; n < 10; n++) {
			v.push_back(static_cast<double>(draw(r, 0, 1)));
			now = v.back() > 0 ? 0 : now + 100;
			longest = std::max(longest, now);
		}
		EXPECT_EQ(Made(v).got(0, 1000), longest);
		EXPECT_LE(Made(v).gap(), longest + 100);
	}
}

TEST(Gaps, AreReadFromFiles)
{
	const Drill d = drill_of(
		plain_drill + "sample: 10ms\nmust: [{what: w, from: 2s, gap: "
			      "300ms}, {what: plane 1, to: 3s, gap: 10ms}]\n");

	EXPECT_EQ(d.sample, 10 * ms);
	EXPECT_EQ(d.musts[0].kind, Must::Kind::gap);
	EXPECT_EQ(d.musts[0].within, 300 * ms);
	EXPECT_EQ(d.musts[0].during.to, 10000 * ms);
	EXPECT_EQ(d.musts[1].during.to, 3000 * ms);
}

TEST(Gaps, MayBeWrongInFiles)
{
	const auto error = [](const std::string &keys) {
		return drill_error(plain_drill + "must: [{what: w, " + keys +
				   "}]\n");
	};
	const std::string none = "d.yaml:7: \"of\" and \"against\" are not for "
				 "\"fair\" and \"gap\"";

	EXPECT_EQ(error("gap: 100ms"), "");
	EXPECT_EQ(error("gap: 99ms"),
		  "d.yaml:7: \"gap\" is shorter than a sample");
	EXPECT_EQ(error("gap: 0"),
		  "d.yaml:7: \"gap\" is shorter than a sample");
	EXPECT_EQ(error("gap: 1s, of: 1/2"), none);
	EXPECT_EQ(error("gap: 1s, of: 1/1"), none);
	EXPECT_EQ(error("gap: 1s, against: 1mbit"), none);
	EXPECT_EQ(error("gap: 1s, within: 1s"),
		  "d.yaml:7: \"reaches\" and \"within\" belong together");
	EXPECT_EQ(error("gap: 1s, from: 9s, to: 11s"),
		  "d.yaml:7: the requirement's time is not within the drill");
	EXPECT_EQ(error("gap: 1s, from: 5050ms, to: 5150ms"),
		  "d.yaml:7: no sample lies in the requirement's time");
	EXPECT_EQ(error("gap: 60%"), "d.yaml:7: gap: \"60%\" is no time; one "
				     "is written like \"10us\"");
	/* It needs no baseline. */
	EXPECT_EQ(drill_error("drill: d\nfabric: f.yaml\ntime: 10s\n"
			      "traffic: {w: {command: x, hosts: h1}}\n"
			      "must: [{what: w, gap: 1s}]\n"),
		  "");
}
} // namespace mrclab
