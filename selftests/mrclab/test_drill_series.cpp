// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Goodput over time: from counters to series, and their names. */
#include "drill_series.hpp"

#include <gtest/gtest.h>

#include "error.hpp"
#include "random_fabric.hpp"

namespace mrclab
{
namespace
{
constexpr uint64_t ms = 1000000;

using Names = std::vector<std::string>;
using Values = std::vector<double>;

/* Two hosts on each of two T0s; two planes with two T1s. */
const Topology &plain()
{
	static const Topology t(fabric_of(2, 2, 2, 2));

	return t;
}

Drill drill(const Names &flows)
{
	Drill d;

	d.sample = 100 * ms;
	for (const std::string &name : flows) {
		d.flows.emplace_back();
		d.flows.back().name = name;
	}
	return d;
}

DrillRun run_of(const Drill &d, const std::vector<Reading> &readings)
{
	DrillRun run;

	add_series(run, plain(), d, readings);
	return run;
}

/* The values of a series, which the run must have. */
Values values(const DrillRun &run, const std::string &name)
{
	for (const Series &s : run.series)
		if (s.name == name)
			return s.values;
	ADD_FAILURE() << "no series " << name;
	return {};
}

Names names(const DrillRun &run)
{
	Names all;

	for (const Series &s : run.series)
		all.push_back(s.name);
	return all;
}

/* Readings of flows alone, one each 100 ms. */
std::vector<Reading> readings_of(const std::vector<std::vector<uint64_t>> &all)
{
	std::vector<Reading> readings;

	for (std::size_t i = 0; i < all.size(); i++)
		readings.push_back({i * 100 * ms, {}, all[i]});
	return readings;
}

std::string unknown(const std::string &name)
{
	Drill d = drill({"write 1", "write 2", "read"});

	try {
		check_series(plain(), d.flows, name);
	} catch (const UsageError &e) {
		return e.what();
	}
	return "";
}
} // namespace

TEST(DrillSeries, HasRatesOfFlows)
{
	const DrillRun run = run_of(
		drill({"a", "b"}),
		readings_of({{1000, 5}, {2000, 5}, {2000, 105}, {14500, 230}}));

	/* 1000 bytes in 100 ms are 80000 bit/s. */
	EXPECT_EQ(values(run, "a"), (Values{80000, 0, 1000000}));
	EXPECT_EQ(values(run, "b"), (Values{0, 8000, 10000}));
	EXPECT_EQ(values(run, "total"), (Values{80000, 8000, 1010000}));
	ASSERT_EQ(run.times.size(), 3u);
	EXPECT_DOUBLE_EQ(run.times[0], 0.1);
	EXPECT_DOUBLE_EQ(run.times[2], 0.3);
	for (const Series &s : run.series)
		EXPECT_EQ(s.flow, s.name.size() == 1 || s.name == "total");
}

/* Late samples are divided by the time that has really passed. */
TEST(DrillSeries, HasRatesOfRealTimes)
{
	const DrillRun run = run_of(drill({"a"}), {{1 * ms, {}, {0}},
						   {101 * ms, {}, {100}},
						   {251 * ms, {}, {400}},
						   {301 * ms, {}, {450}}});

	EXPECT_EQ(values(run, "a"), (Values{8000, 16000, 8000}));
}

TEST(DrillSeries, TakesNoReadingTwice)
{
	EXPECT_TRUE(run_of(drill({"a"}), {}).times.empty());
	EXPECT_TRUE(run_of(drill({"a"}), readings_of({{7}})).times.empty());
	EXPECT_TRUE(values(run_of(drill({"a"}), readings_of({{7}})), "total")
			    .empty());
	EXPECT_EQ(values(run_of(drill({"a"}),
				{{5 * ms, {}, {0}}, {5 * ms, {}, {9}}}),
			 "a"),
		  Values{0});
}

/* A device that is made anew counts from 0. */
TEST(DrillSeries, TakesCountersThatGoBackForNothing)
{
	const DrillRun run =
		run_of(drill({"a"}), readings_of({{1000}, {10}, {110}, {110}}));

	EXPECT_EQ(values(run, "a"), (Values{0, 8000, 0}));
	EXPECT_EQ(values(run, "total"), (Values{0, 8000, 0}));
}

TEST(DrillSeries, AddsWhatHostsReceiveInAPlane)
{
	const Topology &t = plain();
	std::vector<Reading> readings = readings_of({{0}, {0}});
	const auto count = [&](const char *name, uint64_t rx, uint64_t tx) {
		Counters &c = readings[1].links[t.direction(name)];

		c.rx_bytes = rx;
		c.rx_packets = rx / 10;
		c.tx_bytes = tx;
	};

	for (uint32_t l = 0; l < t.links().size(); l++)
		for (const bool up : {true, false})
			readings[0].links[{l, up}] = {};
	readings[1].links = readings[0].links;
	count("h1:p1", 100, 9000);
	count("h4:p1", 20, 9000);
	count("h1:p2", 3, 9000);
	count("p1l1:h1", 9000, 9000);
	count("p1s1:l1", 9000, 9000);
	count("p1l1:s1", 9000, 9000);
	const DrillRun run = run_of(drill({"a"}), readings);

	EXPECT_EQ(values(run, "plane 1"), Values{120 * 80});
	EXPECT_EQ(values(run, "plane 2"), Values{3 * 80});
	/* In a second. */
	EXPECT_EQ(values(run, "plane 1 packets"), Values{12 * 10});
	EXPECT_EQ(values(run, "plane 2 packets"), Values{0});
	EXPECT_EQ(names(run), (Names{"a", "total", "plane 1", "plane 1 packets",
				     "plane 2", "plane 2 packets"}));
}

TEST(DrillSeries, HasLinksThatTheDrillNames)
{
	const Topology &t = plain();
	std::vector<Reading> readings = readings_of({{0}, {0}});
	Drill d = drill({"a"});
	Must m;

	d.shown = {"a", "p1l1:s*", "total", "p1l?:s1"};
	m.what = "p2s1:l2";
	d.musts = {m};
	readings[0].links[t.direction("p1l1:s1")].tx_bytes = 50;
	readings[1].links[t.direction("p1l1:s1")].tx_bytes = 150;
	readings[1].links[t.direction("p1l1:s1")].rx_bytes = 9000;
	readings[1].links[t.direction("p2s1:l2")].tx_bytes = 7;
	const DrillRun run = run_of(d, readings);

	EXPECT_EQ(names(run), (Names{"a", "total", "plane 1", "plane 1 packets",
				     "plane 2", "plane 2 packets", "p1l1:s1",
				     "p1l1:s2", "p1l2:s1", "p2s1:l2"}));
	EXPECT_EQ(values(run, "p1l1:s1"), Values{8000});
	EXPECT_EQ(values(run, "p1l1:s2"), Values{0});
	EXPECT_EQ(values(run, "p2s1:l2"), Values{560});
}

/* One that carries nothing at first has zeros there. */
TEST(DrillSeries, HasEvs)
{
	const EvPath one{1, 1, 3, 0x1c123}, two{2, 4, 3, 5};
	std::vector<Reading> readings = readings_of({{0}, {0}, {0}});

	readings[1].evs[one] = {1000, 2};
	readings[2].evs[one] = {1500, 3};
	readings[2].evs[two] = {100, 1};
	const DrillRun run = run_of(drill({"a"}), readings);

	EXPECT_EQ(values(run, "ev p1 h1>h3 0001c123"), (Values{80000, 40000}));
	EXPECT_EQ(values(run, "ev p1 h1>h3 0001c123 packets"),
		  (Values{20, 10}));
	EXPECT_EQ(values(run, "ev p2 h4>h3 00000005"), (Values{0, 8000}));
	EXPECT_EQ(series_names(run, "evs"),
		  (Names{"ev p1 h1>h3 0001c123", "ev p2 h4>h3 00000005"}));
	EXPECT_EQ(series_names(run, "planes"), (Names{"plane 1", "plane 2"}));
	for (const Series &s : run.series)
		EXPECT_EQ(s.flow, s.name == "a" || s.name == "total");
}

TEST(DrillSeries, FindsTheBusiest)
{
	const EvPath all[] = {{1, 1, 2, 1}, {1, 1, 2, 2}, {1, 1, 2, 3}};
	std::vector<Reading> readings = readings_of({{0}, {0}});
	std::vector<std::string> names;

	for (int i = 0; i < 3; i++)
		readings[1].evs[all[i]] = {i == 1 ? 10u : 100u, 1};
	const DrillRun run = run_of(drill({"a"}), readings);

	names = series_names(run, "evs");
	ASSERT_EQ(names.size(), 3u);
	EXPECT_EQ(busiest(run, names, 2), (Names{names[0], names[2]}));
	EXPECT_EQ(busiest(run, names, 3), names);
	EXPECT_EQ(busiest(run, names, 9), names);
	EXPECT_TRUE(busiest(run, names, 0).empty());
}

/* The fabric for rxe may have fewer planes and switches. */
TEST(DrillSeries, LeavesOutNamesThatTheFabricHasNot)
{
	Drill d = drill({"a"});
	DrillRun run;

	d.shown = {"p2l1:s1", "plane 2", "p1s2:l1"};
	add_series(run, Topology(fabric_of(1, 2, 1, 1)), d,
		   readings_of({{0}, {1}}));
	EXPECT_EQ(names(run),
		  (Names{"a", "total", "plane 1", "plane 1 packets"}));
	EXPECT_TRUE(series_names(run, "plane 2").empty());
	EXPECT_TRUE(series_names(run, "p2l1:s1").empty());
}

TEST(DrillSeries, FindsNames)
{
	Drill d = drill({"write 1", "write 2", "write 10", "writer", "p"});
	DrillRun run;

	d.shown = {"*:h1", "p1l1:s1"};
	add_series(run, plain(), d,
		   readings_of({{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}}));

	const auto found = [&run](const char *what) {
		return series_names(run, what);
	};

	EXPECT_EQ(found("write"), (Names{"write 1", "write 2", "write 10"}));
	EXPECT_EQ(found("write 1"), Names{"write 1"});
	EXPECT_EQ(found("writer"), Names{"writer"});
	EXPECT_EQ(found("flows"),
		  (Names{"write 1", "write 2", "write 10", "writer", "p"}));
	EXPECT_EQ(found("total"), Names{"total"});
	EXPECT_EQ(found("planes"), (Names{"plane 1", "plane 2"}));
	EXPECT_EQ(found("plane 2"), Names{"plane 2"});
	EXPECT_EQ(found("p"), Names{"p"});
	EXPECT_EQ(found("p1l1:h1"), Names{"p1l1:h1"});
	EXPECT_EQ(found("p1l1:*"), (Names{"p1l1:s1", "p1l1:h1"}));
	EXPECT_EQ(found("p2*"), Names{"p2l1:h1"});
	/* Patterns are of directions. */
	EXPECT_EQ(found("*").size(), 3u);
	EXPECT_EQ(found("p*").size(), 3u);
	EXPECT_EQ(found("plane ?"), Names{});
	EXPECT_EQ(found("wri*"), Names{});
	EXPECT_EQ(found("plane"), Names{});
	EXPECT_EQ(found("plane 3"), Names{});
	EXPECT_EQ(found("evs"), Names{});
	EXPECT_EQ(found(""), Names{});
}

TEST(DrillSeries, ChecksNames)
{
	for (const char *name :
	     {"write", "write 1", "read", "flows", "total", "planes", "plane 1",
	      "plane 2", "h1:p1", "p1l1:s1", "*:h1", "p?l1:s[12]", "*"})
		EXPECT_EQ(unknown(name), "") << name;
	for (const char *name :
	     {"", "write 3", "writ", "write ", "read 1", "plane", "plane 0",
	      "plane 3", "plane 01", "h1", "p1l1", "h1:p3", "x*", "wri*",
	      "plane ?", "total ", "h1:p1+"})
		EXPECT_EQ(unknown(name),
			  "there is no series \"" + std::string(name) +
				  "\"; there are the names of traffic, flows, "
				  "total, planes, \"plane 1\", and directions "
				  "of links like p1l1:h1");
}

/* What the check takes has a series. */
TEST(DrillSeries, HasASeriesForEachGoodName)
{
	on_topologies(false, [](const Topology &t, Random &r) {
		Drill d = drill({"w 1", "w 2", "x"});
		Names all = {"w", "w 1", "x", "flows", "total", "planes", "*"};

		for (uint32_t p = 1; p <= t.fabric().planes; p++)
			all.push_back("plane " + std::to_string(p));
		for (int i = 0; i < 5; i++) {
			const auto l = static_cast<uint32_t>(
				draw(r, 0, t.links().size() - 1));
			std::string name = t.name({l, draw(r, 0, 1) == 0});

			all.push_back(name);
			name[draw(r, 0, name.size() - 1)] = '?';
			all.push_back(name);
		}
		for (const std::string &name : all) {
			DrillRun run;

			ASSERT_NO_THROW(check_series(t, d.flows, name)) << name;
			d.shown = {name};
			add_series(run, t, d,
				   readings_of({{0, 0, 0}, {1, 2, 3}}));
			EXPECT_FALSE(series_names(run, name).empty()) << name;
		}
	});
}
} // namespace mrclab
