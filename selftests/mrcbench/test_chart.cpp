// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Charts: in proportion, of what was measured, and drawn by gnuplot. */
#include <algorithm>
#include <regex>

#include <gtest/gtest.h>

#include "../../userspace-tools/common/gnuplot.hpp"
#include "../common/pictures.hpp"
#include "chart.hpp"
#include "results.hpp"

namespace mrcbench
{
namespace
{
using mrcperf::Summary;

Summary mark(double median, double min, double max)
{
	Summary s;

	s.median = median;
	s.min = min;
	s.max = max;
	return s;
}

bool contains(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

size_t count(const std::string &text, const std::string &part)
{
	size_t n = 0;

	for (size_t at = text.find(part); at != std::string::npos;
	     at = text.find(part, at + 1))
		n++;
	return n;
}

std::string script(const Chart &chart)
{
	return plot_of(chart).script;
}

std::string svg(const Chart &chart)
{
	return gnuplot::draw(plot_of(chart), gnuplot::Format::svg);
}

std::vector<std::string> texts_of(const Chart &chart)
{
	const auto texts = pictures::texts(svg(chart), "text");

	EXPECT_TRUE(texts.has_value()) << script(chart);
	return texts.value_or(std::vector<std::string>());
}

bool has(const std::vector<std::string> &all, const std::string &one)
{
	return std::find(all.begin(), all.end(), one) != all.end();
}

/*
 * The heights of the bars of a colour, in ascending order: gnuplot draws each
 * as a polygon of four corners.
 */
std::vector<double> heights(const std::string &picture,
			    const std::string &colour)
{
	const std::regex polygon("<polygon fill = '" + colour +
				 "' points = '[0-9.]+,([0-9.]+) [^ ]+ "
				 "[0-9.]+,([0-9.]+)");
	std::vector<double> all;

	for (std::sregex_iterator i(picture.begin(), picture.end(), polygon),
	     end;
	     i != end; ++i)
		all.push_back(std::stod((*i)[1]) - std::stod((*i)[2]));
	std::sort(all.begin(), all.end());
	return all;
}

Chart chart()
{
	Chart c;

	c.title = "a < b & \"c\" 'd' `e` {f}_g\\";
	c.y = "goodput, Mbit/s";
	c.x = "size";
	c.at = {"8", "64K"};
	c.lines = {{"mrc", {mark(50, 40, 60), mark(100, 90, 100)}},
		   {"rxe", {mark(25, 20, 30), std::nullopt}}};
	return c;
}

Chart far_apart()
{
	Chart c = chart();

	c.lines[0].marks = {mark(10, 10, 10), mark(1000, 0, 1000)};
	c.lines[1].marks = {mark(100, 100, 100), std::nullopt};
	return c;
}
} // namespace

TEST(Chart, FewPlacesAreBarsFromZero)
{
	const std::string s = script(chart());

	/* Two bars in each place, symmetric to it. */
	EXPECT_TRUE(contains(s, "$line0 << EOD\n-0.09 50 40 60\n"
				"0.91 100 90 100\nEOD\n"))
		<< s;
	EXPECT_TRUE(contains(s, "$line1 << EOD\n0.09 25 20 30\n\nEOD\n")) << s;
	EXPECT_TRUE(contains(s, "set yrange [0:100]\n"));
	EXPECT_TRUE(contains(s, "set xtics (\"8\" 0, \"64K\" 1)\n"));
	EXPECT_EQ(count(s, "with boxes"), 2u);
	EXPECT_EQ(count(s, "with vectors"), 2u);
	EXPECT_FALSE(contains(s, "linespoints"));
	EXPECT_FALSE(contains(s, "logscale"));
	EXPECT_FALSE(contains(s, "logarithmic"));
}

TEST(Chart, LogarithmWhereValuesAreFarApart)
{
	Chart c = far_apart();
	std::string s = script(c);

	EXPECT_TRUE(contains(s, "set logscale y 10\n"));
	EXPECT_TRUE(contains(s, "Mbit/s (logarithmic); median"));
	EXPECT_TRUE(contains(s, "set yrange [9.999:1000.1]\n")) << s;
	EXPECT_TRUE(contains(s, "(\"10\" 10, \"100\" 100, \"1000\" 1000)"));
	/* 0 has no logarithm: its whisker ends at the axis. */
	EXPECT_TRUE(contains(s, "\n1 1000 9.999 1000\n")) << s;
	/* Bars from zero have no meaning here. */
	EXPECT_FALSE(contains(s, "with boxes"));

	c.lines[0].marks = {mark(10, 10, 10), mark(300, 300, 300)};
	EXPECT_FALSE(contains(script(c), "logscale"));
	c.lines[0].marks[1] = mark(301, 301, 301);
	EXPECT_TRUE(contains(script(c), "logscale"));
}

TEST(Chart, ManyPlacesAreLinesWithGaps)
{
	Chart c = chart();

	c.at = {"1", "2", "3", "4", "5", "6", "7"};
	c.lines.resize(1);
	c.lines[0].marks.assign(7, mark(10, 9, 11));
	c.lines[0].marks[3] = std::nullopt;
	const std::string s = script(c);

	EXPECT_EQ(count(s, "with linespoints"), 1u);
	EXPECT_EQ(count(s, "with vectors"), 1u);
	EXPECT_TRUE(contains(s, "\n2 10 9 11\n\n4 10 9 11\n")) << s;
	c.at.pop_back();
	c.lines[0].marks.pop_back();
	EXPECT_TRUE(contains(script(c), "with boxes"));
}

TEST(Chart, Ticks)
{
	EXPECT_DOUBLE_EQ(tick_step(8, 8), 1);
	EXPECT_DOUBLE_EQ(tick_step(100, 8), 20);
	EXPECT_DOUBLE_EQ(tick_step(0.05, 8), 0.01);
	EXPECT_DOUBLE_EQ(tick_step(70000, 8), 10000);
	Chart c = chart();

	c.lines[0].marks[1] = mark(70000, 69000, 71000);
	c.lines[0].marks[0] = c.lines[1].marks[0] = mark(6e4, 6e4, 6e4);
	EXPECT_TRUE(
		contains(script(c), "(\"0\" 0, \"10k\" 10000, \"20k\" 20000,"))
		<< script(c);
}

TEST(Chart, IsDrawn)
{
	NEEDS_PROGRAM("gnuplot", "--version");
	const auto texts = texts_of(chart());

	for (const char *text :
	     {"a < b & \"c\" 'd' `e` {f}_g\\", "size", "8", "64K", "mrc", "rxe",
	      "goodput, Mbit/s; median, smallest and largest", "0", "20",
	      "100"})
		EXPECT_TRUE(has(texts, text)) << text;
	for (const char *text : {"10", "100", "1000"})
		EXPECT_TRUE(has(texts_of(far_apart()), text)) << text;
	/* In the names of places, % is no format. */
	Chart c = chart();

	c.at = {"loss 1%", "loss 5% %d '''' `x`"};
	EXPECT_TRUE(has(texts_of(c), c.at[0]));
	EXPECT_TRUE(has(texts_of(c), c.at[1]));
}

TEST(Chart, BarsAreInProportion)
{
	NEEDS_PROGRAM("gnuplot", "--version");
	const std::string picture = svg(chart());
	const auto mrc = heights(picture, "rgb\\(  0, 114, 178\\)");
	const auto rxe = heights(picture, "rgb\\(213,  94,   0\\)");

	/* The lowest one of each is in the legend. */
	ASSERT_EQ(mrc.size(), 3u) << picture;
	ASSERT_EQ(rxe.size(), 2u) << picture;
	EXPECT_NEAR(mrc[2] / mrc[1], 2, 0.01);
	EXPECT_NEAR(mrc[1] / rxe[1], 2, 0.02);
}

TEST(Chart, NothingAndZeroAreDrawn)
{
	NEEDS_PROGRAM("gnuplot", "--version");
	Chart c = chart();

	c.lines = {{"mrc", {std::nullopt, mark(0, 0, 0)}},
		   {"rxe", {std::nullopt, std::nullopt}}};
	EXPECT_TRUE(has(texts_of(c), "rxe"));
	c.lines.resize(1);
	texts_of(c);
	c.lines.clear();
	texts_of(c);
	c.at.clear();
	texts_of(c);
}

TEST(Chart, ChartOfResults)
{
	const Plan p = parse_plan(
		"p", "[a]\ncolumns = mrc\nop = write send\nsize = 8 64\n", {});
	Results r(p);
	Sample s;

	EXPECT_FALSE(chart_of(r, p.sections[0], "goodput"));
	s.section = "a";
	s.column = "mrc";
	s.label = "send/64";
	s.values["goodput"] = 5;
	r.add(s);
	const auto plot = chart_of(r, p.sections[0], "goodput");

	ASSERT_TRUE(plot);
	EXPECT_TRUE(contains(plot->script, "title \"mrc, size 64\""));
	EXPECT_TRUE(contains(plot->script, "(\"write\" 0, \"send\" 1)"));
	EXPECT_FALSE(chart_of(r, p.sections[0], "rate"));
}
} // namespace mrcbench
