// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Curves and pages of runs. */
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../../userspace-tools/common/gnuplot.hpp"
#include "../common/pictures.hpp"
#include "fabrics.hpp"
#include "html_report.hpp"
#include "runner.hpp"

namespace mrcsim
{
namespace
{
FlowRow flow(u64 fct_us)
{
	return {1,    1, 2, 1000, 3 * us, (3 + fct_us) * us, (3 + fct_us) * us,
		false};
}

RunResult run_of(const std::string &column, std::vector<FlowRow> rows)
{
	RunResult r;

	r.column = column;
	r.rows = std::move(rows);
	return r;
}

TEST(Curves, fctIsTheShareOfFinishedFlows)
{
	FlowRow open = flow(1), failed = flow(2);

	open.ended = never_ps;
	failed.failed = true;

	const std::vector<Curve> c =
		fct_curves({run_of("mrc", {flow(30), flow(10), open}),
			    run_of("ecmp", {flow(50), failed}),
			    run_of("mrc", {flow(20), flow(40)})});

	ASSERT_EQ(c.size(), 2U);
	EXPECT_EQ(c[0].name, "mrc");
	EXPECT_EQ(c[0].points,
		  (std::vector<std::pair<double, double>>{
			  {10, 25}, {20, 50}, {30, 75}, {40, 100}}));
	EXPECT_EQ(c[1].name, "ecmp");
	EXPECT_EQ(c[1].points,
		  (std::vector<std::pair<double, double>>{{50, 100}}));
}

/* Of many flows some points are drawn, among them the last one. */
TEST(Curves, fctOfManyFlowsHasFewPoints)
{
	std::vector<FlowRow> rows;

	for (u64 n = 1; n <= 7001; n++)
		rows.push_back(flow(n));

	const auto points = fct_curves({run_of("mrc", rows)})[0].points;

	ASSERT_EQ(points.size(), 500U);
	EXPECT_EQ(points.back(), (std::pair<double, double>{7001, 100}));
	for (const auto &[x, y] : points)
		EXPECT_DOUBLE_EQ(y, 100.0 * x / 7001);
}

TEST(Curves, ratesAreGrowthByTime)
{
	RunResult r = run_of("mrc", {}), second = r;

	r.samples = {{10 * us, 1000, 4, 0, 0, 0, 0},
		     {20 * us, 6000, 4, 0, 0, 0, 0},
		     {40 * us, 6000, 44, 0, 0, 0, 0}};
	second.samples = {{10 * us, 9, 9, 9, 9, 9, 9}};

	const auto bytes = rate_curves({r, second}, &Sample::placed, 0.5);
	const auto again = rate_curves({r}, &Sample::resent, 1);

	ASSERT_EQ(bytes.size(), 1U);
	EXPECT_EQ(bytes[0].points, (std::vector<std::pair<double, double>>{
					   {10, 50}, {20, 250}, {40, 0}}));
	EXPECT_EQ(again[0].points[2].second, 2);
}

const std::string hostile = "a <b> & \"c\" 'd' ]]> `e` $f \\n %g";

/* As pictures::texts() returns several lines. */
std::string one_line(std::string text)
{
	std::replace(text.begin(), text.end(), '\n', ' ');
	return text;
}

Scenario scenario()
{
	return parse_scenario(
		"clos: {planes: 2, t0: 2, t1: 2, hosts: 4, rate: 100gbit}\n"
		"traffic: {permutation: {size: 100000}}\n"
		"columns: [mrc, oblivious]\nseeds: [1, 2]\nsample: 2us\n"
		"# <this> & that\n"
		"name: '" +
			std::string("a <b> & \"c\" ]]> `e` $f \\n %g") + "'\n",
		"s.yaml");
}

TEST(Page, showsSettingsAndResults)
{
	const Scenario s = scenario();
	const std::vector<RunResult> runs = run_scenario(s, {});
	const std::string page = html_of(s, runs, {});
	const auto cells = pictures::texts(page, "td");
	const auto text = pictures::texts(page, "pre");

	ASSERT_TRUE(cells && text) << page;
	EXPECT_EQ(cells->size(), 4U * 17);
	EXPECT_EQ((*cells)[2], "8 of 8");
	EXPECT_EQ((*cells)[7],
		  fmt::format("{:.2f}",
			      static_cast<double>(runs[0].fct.max) / 1e6));
	EXPECT_EQ((*cells)[16], fmt::format("{:016x}", runs[0].digest));
	ASSERT_EQ(text->size(), 2U);
	EXPECT_EQ((*text)[0], one_line(plan_text(s)));
	EXPECT_EQ((*text)[1], one_line(s.text));
	EXPECT_EQ(pictures::texts(page, "h1")->at(0), s.name);
}

TEST(Page, hasPictures)
{
	NEEDS_PROGRAM("gnuplot", "--version");
	const Scenario s = scenario();
	const std::vector<RunResult> runs = run_scenario(s, {});
	const std::vector<Figure> figures = figures_of(runs);
	std::vector<std::string> drawn;

	ASSERT_EQ(figures.size(), 4U);
	for (const Figure &f : figures)
		drawn.push_back(
			gnuplot::draw(plot_of(f), gnuplot::Format::svg));

	const std::string page = html_of(s, runs, drawn);
	const auto ids = pictures::values(page, "id");
	const auto words = pictures::texts(page, "text");

	ASSERT_TRUE(ids && words);
	for (const Figure &f : figures)
		EXPECT_NE(std::find(words->begin(), words->end(), f.title),
			  words->end())
			<< f.title;
	for (std::size_t n = 0; n < figures.size(); n++)
		EXPECT_NE(std::find(ids->begin(), ids->end(),
				    fmt::format("f{}-gnuplot_canvas", n)),
			  ids->end());
	EXPECT_EQ(page.find("<script"), std::string::npos);
}

/* A curve without points, and a name with all signs, are drawn as well. */
TEST(Page, drawsWhatThereIs)
{
	NEEDS_PROGRAM("gnuplot", "--version");
	const Figure none{"t", "x", "y", {{"empty", {}}}};
	const Figure odd{hostile, hostile, "y", {{hostile, {{1, 2}, {2, 3}}}}};

	EXPECT_NE(gnuplot::draw(plot_of(none), gnuplot::Format::svg), "");

	const auto words = pictures::texts(
		gnuplot::draw(plot_of(odd), gnuplot::Format::svg), "text");

	ASSERT_TRUE(words);
	EXPECT_EQ(std::count(words->begin(), words->end(), hostile), 3);
}

TEST(Page, withoutSamplesHasNoTimeSeries)
{
	EXPECT_EQ(figures_of({run_of("mrc", {flow(10)})}).size(), 1U);
}
} // namespace
} // namespace mrcsim
