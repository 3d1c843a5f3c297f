// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Latencies: requirements, and what is said of them. */
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../common/pictures.hpp"
#include "drill_series.hpp"
#include "drill_verdicts.hpp"
#include "error.hpp"
#include "made_results.hpp"
#include "report_html.hpp"
#include "report_rows.hpp"
#include "report_summary.hpp"

namespace mrclab
{
namespace
{
/* A drill whose flows measure these latencies. */
struct Made {
	Drill d;
	DrillRun run;

	explicit Made(const std::vector<Latency> &all)
	{
		run.latencies = all;
		for (const Latency &l : all)
			flow(l.name);
	}
	Made &flow(const std::string &name)
	{
		d.flows.emplace_back();
		d.flows.back().name = name;
		d.flows.back().latency = true;
		return *this;
	}
	Verdict judge(const Must &m)
	{
		d.musts = {m};
		return mrclab::judge(d, run).at(0);
	}
};

Must must(Must::Kind kind, const std::string &what, uint64_t us)
{
	Must m;

	m.kind = kind;
	m.what = what;
	m.within = us * 1000;
	return m;
}

Must share(Must::Kind kind, const std::string &what, double share,
	   const std::string &of)
{
	Must m = must(kind, what, 0);

	m.share = share;
	m.of = of;
	return m;
}

constexpr auto typical = Must::Kind::typical;
constexpr auto p99 = Must::Kind::p99;

const std::vector<Latency> two = {{"near", 80, 100, 150, 400},
				  {"far", 90, 130, 310, 500}};

/* The stairs with these latencies. */
DrillResult result_of(const std::vector<Latency> &mrc,
		      const std::vector<Latency> &rxe)
{
	DrillResult r = stairs();

	r.runs[0].latencies = mrc;
	r.runs[1].latencies = rxe;
	return r;
}

std::string error_of(const DrillResult &r)
{
	try {
		parse_result(json_of(r), "f");
	} catch (const FileError &e) {
		return e.what();
	}
	return "";
}
} // namespace

TEST(Latency, MustBeAtMostATime)
{
	Made m(two);
	const Verdict v = m.judge(must(typical, "near", 100));

	EXPECT_TRUE(v.ok);
	EXPECT_EQ(v.text, "near: typical latency");
	EXPECT_EQ(v.unit, "us");
	EXPECT_EQ(v.wanted, 100);
	EXPECT_EQ(v.got, 100);
	EXPECT_FALSE(m.judge(must(typical, "near", 99)).ok);
	EXPECT_TRUE(m.judge(must(p99, "near", 150)).ok);
	EXPECT_FALSE(m.judge(must(p99, "near", 149)).ok);
	EXPECT_EQ(m.judge(must(p99, "far", 1)).text, "far: latency of 99 %");
	EXPECT_EQ(figure_of(v.got, v.unit), "100 us");
}

TEST(Latency, MustBeAShareOfAnother)
{
	Made m(two);
	const Verdict v = m.judge(share(typical, "far", 1.5, "near"));

	EXPECT_TRUE(v.ok);
	EXPECT_EQ(v.text, "far: typical latency against near");
	EXPECT_EQ(v.unit, "%");
	EXPECT_DOUBLE_EQ(v.wanted, 150);
	EXPECT_DOUBLE_EQ(v.got, 130);
	EXPECT_TRUE(m.judge(share(typical, "far", 1.3, "near")).ok);
	EXPECT_FALSE(m.judge(share(typical, "far", 1.29, "near")).ok);
	EXPECT_FALSE(m.judge(share(p99, "far", 2, "near")).ok);
	EXPECT_TRUE(m.judge(share(p99, "near", 0.5, "far")).ok);
}

TEST(Latency, OfSeveralIsThatOfTheSlowest)
{
	Made m({{"l 1", 1, 2, 3, 4}, {"l 2", 1, 5, 6, 7}, {"lx", 9, 9, 9, 9}});

	EXPECT_EQ(m.judge(must(typical, "l", 5)).got, 5);
	EXPECT_TRUE(m.judge(must(typical, "l", 5)).ok);
	EXPECT_DOUBLE_EQ(m.judge(share(p99, "l", 2, "l 1")).got, 200);
	EXPECT_EQ(m.judge(must(typical, "l 1", 5)).got, 2);
}

/* A program that has failed leaves nothing. */
TEST(Latency, ThatIsMissingIsNotMet)
{
	Made m(two);

	m.flow("gone").flow("far 2");
	for (const Must &wrong :
	     {must(typical, "gone", 1000), must(p99, "gone", 1000),
	      share(typical, "gone", 9, "near"),
	      share(typical, "near", 9, "gone"), must(typical, "far", 1000)}) {
		const Verdict v = m.judge(wrong);

		EXPECT_FALSE(v.ok) << v.text;
		EXPECT_EQ(v.got, 0);
		EXPECT_TRUE(v.text.ends_with(", not measured")) << v.text;
	}
}

TEST(Latency, IsNoSeries)
{
	const Topology t(fabric_of(1, 1, 0, 2));
	Made m(two);
	DrillRun run;

	m.d.flows.emplace_back();
	m.d.flows.back().name = "w";
	add_series(run, t, m.d, {{0, {}, {0, 0, 0}}, {8000, {}, {5, 5, 1}}});
	EXPECT_EQ(series_names(run, "flows"), std::vector<std::string>{"w"});
	EXPECT_EQ(run.series[0].values, std::vector<double>{1e6});
	EXPECT_EQ(run.series[1].name, "total");
	EXPECT_EQ(run.series[1].values, std::vector<double>{1e6});
	EXPECT_EQ(latency_names(m.d.flows, "near"),
		  std::vector<std::string>{"near"});
	EXPECT_TRUE(latency_names(m.d.flows, "w").empty());
	EXPECT_TRUE(latency_names(m.d.flows, "flows").empty());
}

TEST(Latency, IsInResults)
{
	const DrillResult r = result_of(two, {});

	EXPECT_TRUE(parse_result(json_of(r), "f") == r);
	EXPECT_EQ(latency_csv_of(r.runs[0]),
		  "name,min us,typical us,99 % us,99.9 % us\n"
		  "near,80,100,150,400\nfar,90,130,310,500\n");
	EXPECT_EQ(error_of(result_of({{"a", 2, 1, 3, 4}}, {})),
		  "f: runs[0].latencies: the figures of \"a\" do not ascend");
	for (const Latency &l :
	     {Latency{"a", -1, 1, 3, 4}, Latency{"a", 1, 4, 3, 4},
	      Latency{"a", 1, 2, 5, 4}})
		EXPECT_NE(error_of(result_of({}, {l})), "");
	EXPECT_EQ(
		error_of(result_of({{"a", 1, 2, 3, 4}, {"a", 1, 2, 3, 4}}, {})),
		"f: runs[0].latencies: the name \"a\" is empty or there "
		"twice");
	EXPECT_NE(error_of(result_of({{"", 1, 2, 3, 4}}, {})), "");
	DrillResult bad = r;

	bad.runs[0].gaps = {{"w", -1}};
	EXPECT_EQ(error_of(bad), "f: runs[0].gaps: that of \"w\" is below 0");
	bad.runs[0].gaps[0].ms = std::numeric_limits<double>::infinity();
	EXPECT_THROW(json_of(bad), SystemError);
	bad = r;
	bad.runs[0].latencies[0].p99 = std::numeric_limits<double>::quiet_NaN();
	EXPECT_THROW(json_of(bad), SystemError);
}

TEST(Latency, IsInReports)
{
	const auto cells = [](const DrillResult &r, const std::string &of) {
		return pictures::texts(html_of({r}, {}), of).value();
	};
	const auto has = [](const std::vector<std::string> &all,
			    const std::string &one) {
		return std::find(all.begin(), all.end(), one) != all.end();
	};
	const DrillResult both = result_of(
		two, {{"near", 30, 40, 50, 60}, {"<rx>", 1, 2, 3, 4}});

	EXPECT_FALSE(has(cells(result_of({}, {}), "h3"), "Latency"));
	EXPECT_TRUE(has(cells(both, "h3"), "Latency"));
	for (const char *text : {"80 us", "310 us", "40 us", "<rx>"})
		EXPECT_TRUE(has(cells(both, "td"), text)) << text;
	for (const char *text :
	     {"MRC, min", "MRC, 99.9 %", "RoCE, typical", "RoCE, 99 %"})
		EXPECT_TRUE(has(cells(both, "th"), text)) << text;
	EXPECT_FALSE(has(cells(result_of(two, {}), "th"), "RoCE, typical"));
	const auto links = pictures::values(html_of({both}, {}), "href");

	ASSERT_TRUE(links);
	EXPECT_TRUE(has(*links, "fig9a.mrc.latency.csv"));
	EXPECT_TRUE(has(*links, "fig9a.rxe.latency.csv"));
	/* And how long flows were silent. */
	EXPECT_TRUE(has(cells(both, "p"),
			"mrc, write: all programs have succeeded; longest time "
			"without a byte 0 ms"));
	EXPECT_TRUE(has(cells(both, "p"),
			"rxe, write: a program has failed; longest time "
			"without a byte 8000 ms"));
}

TEST(Latency, IsInSummaries)
{
	DrillResult r = result_of({{"near", 80.456, 100, 150, 400.25}}, {});

	r.runs[1].flows[0].why = "status 12";
	EXPECT_EQ(summary_of(r),
		  "fig9a (mrc): near: latency at least 80.46us, typical 100us, "
		  "99 % 150us, 99.9 % 400.2us\n"
		  "fig9a (mrc): write: longest time without a byte 0ms\n"
		  "fig9a (mrc): write, 3 s to 7 s: worst sample at least 60 %: "
		  "87.23% (wanted 60%)\n"
		  "fig9a (mrc): write: back within 200 ms: 260ms (wanted "
		  "200ms) NOT MET\n"
		  "fig9a (rxe): write failed: status 12\n"
		  "fig9a (rxe): write: longest time without a byte 8000ms\n");
}
} // namespace mrclab
