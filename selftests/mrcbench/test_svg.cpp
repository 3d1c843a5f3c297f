// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Charts: well-formed, in proportion, and of what was measured. */
#include <regex>

#include <gtest/gtest.h>

#include "results.hpp"
#include "svg.hpp"

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

/* Every element is closed, in order. */
bool well_formed(const std::string &xml)
{
	const std::regex tag("<(/?)([a-z]+)[^<>]*?(/?)>");
	std::vector<std::string> open;
	std::string rest = xml;

	for (std::sregex_iterator i(xml.begin(), xml.end(), tag), end; i != end;
	     ++i) {
		const std::smatch &m = *i;

		if (m[1].length()) {
			if (open.empty() || open.back() != m[2])
				return false;
			open.pop_back();
		} else if (!m[3].length()) {
			open.push_back(m[2]);
		}
	}
	rest = std::regex_replace(rest, tag, "");
	return open.empty() && rest.find_first_of("<>") == std::string::npos;
}

std::vector<double> numbers(const std::string &text, const std::string &regex)
{
	const std::regex r(regex);
	std::vector<double> v;

	for (std::sregex_iterator i(text.begin(), text.end(), r), end; i != end;
	     ++i)
		v.push_back(std::stod((*i)[1]));
	return v;
}

Chart chart()
{
	Chart c;

	c.title = "a < b & \"c\"";
	c.y = "goodput, Mbit/s";
	c.x = "size";
	c.at = {"8", "64K"};
	c.lines = {{"mrc", {mark(50, 40, 60), mark(100, 90, 100)}},
		   {"rxe", {mark(25, 20, 30), std::nullopt}}};
	return c;
}
} // namespace

TEST(Svg, BarsAreInProportion)
{
	const std::string s = svg(chart());
	const std::vector<double> heights = numbers(
		s, "<rect x=[^>]*width=\"[0-9.]+\" height=\"([0-9.]+)\" "
		   "fill=\"#(?:0072b2|d55e00)\"");

	EXPECT_TRUE(well_formed(s)) << s;
	/* Three bars and two fields of the legend. */
	ASSERT_EQ(heights.size(), 5u) << s;
	EXPECT_NEAR(heights[1] / heights[0], 2, 0.01);
	EXPECT_NEAR(heights[0] / heights[2], 2, 0.01);
	EXPECT_NE(s.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
	EXPECT_NE(s.find(">64K</text>"), std::string::npos);
	EXPECT_EQ(s.find("logarithmic"), std::string::npos);
}

TEST(Svg, LogarithmWhereValuesAreFarApart)
{
	Chart c = chart();

	c.lines[0].marks = {mark(10, 10, 10), mark(1000, 1000, 1000)};
	c.lines[1].marks = {mark(100, 100, 100), std::nullopt};
	const std::string s = svg(c);
	const std::vector<double> y = numbers(s, "<circle [^>]*cy=\"([0-9.]+)");

	EXPECT_TRUE(well_formed(s)) << s;
	EXPECT_NE(s.find("logarithmic"), std::string::npos);
	ASSERT_EQ(y.size(), 3u);
	/* Equal factors are equal distances. */
	EXPECT_NEAR(y[0] - y[2], y[2] - y[1], 0.2);
	EXPECT_GT(y[0], y[1]);
}

TEST(Svg, ManyPlacesAreLinesWithGaps)
{
	Chart c = chart();

	c.at = {"1", "2", "3", "4", "5", "6", "7"};
	c.lines.resize(1);
	c.lines[0].marks.assign(7, mark(10, 9, 11));
	c.lines[0].marks[3] = std::nullopt;
	const std::string s = svg(c);

	EXPECT_TRUE(well_formed(s)) << s;
	EXPECT_EQ(numbers(s, "stroke-width=\"([0-9])").size(), 2u);
	EXPECT_EQ(numbers(s, "<circle [^>]*cy=\"([0-9.]+)").size(), 6u);
}

TEST(Svg, NothingAndZeroAreDrawn)
{
	Chart c = chart();

	c.lines = {{"mrc", {std::nullopt, mark(0, 0, 0)}}};
	EXPECT_TRUE(well_formed(svg(c)));
	c.lines.clear();
	EXPECT_TRUE(well_formed(svg(c)));
}

TEST(Svg, ControlCharactersAreNotXml)
{
	EXPECT_EQ(xml_text("a\x01\n<"), "a??&lt;");
}

TEST(Svg, Ticks)
{
	EXPECT_DOUBLE_EQ(tick_step(8, 8), 1);
	EXPECT_DOUBLE_EQ(tick_step(100, 8), 20);
	EXPECT_DOUBLE_EQ(tick_step(0.05, 8), 0.01);
	EXPECT_DOUBLE_EQ(tick_step(70000, 8), 10000);
}

TEST(Svg, ChartOfResults)
{
	const Plan p = parse_plan(
		"p", "[a]\ncolumns = mrc\nop = write send\nsize = 8 64\n", {});
	Results r(p);
	Sample s;

	EXPECT_EQ(chart_of(r, p.sections[0], "goodput"), "");
	s.section = "a";
	s.column = "mrc";
	s.label = "send/64";
	s.values["goodput"] = 5;
	r.add(s);
	const std::string xml = chart_of(r, p.sections[0], "goodput");

	EXPECT_TRUE(well_formed(xml));
	EXPECT_NE(xml.find("mrc, size 64"), std::string::npos);
	EXPECT_NE(xml.find(">send</text>"), std::string::npos);
	EXPECT_EQ(chart_of(r, p.sections[0], "rate"), "");
}
} // namespace mrcbench
