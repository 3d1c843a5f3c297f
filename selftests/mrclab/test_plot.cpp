// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Pictures of drills: what is in the scripts, and what gnuplot makes of them.
 */
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "../../userspace-tools/common/gnuplot.hpp"
#include "../../userspace-tools/common/process.hpp"
#include "../common/pictures.hpp"
#include "made_results.hpp"
#include "plot.hpp"

namespace mrclab
{
namespace
{
std::vector<std::string> all_matches(const std::string &text,
				     const std::string &regex)
{
	const std::regex r(regex);
	std::vector<std::string> found;

	for (std::sregex_iterator i(text.begin(), text.end(), r), end; i != end;
	     ++i)
		found.push_back((*i)[1]);
	return found;
}

/* The colour of the line with this title, the same wherever it is drawn. */
std::string colour_of(const std::string &script, const std::string &title)
{
	const auto found = all_matches(
		script, "lc rgb '(#[0-9a-f]*)' lw [0-9.]* dt [0-9] title \"" +
				title + "\"");
	const std::set<std::string> colours(found.begin(), found.end());

	EXPECT_EQ(colours.size(), 1u) << title;
	return colours.empty() ? "" : *colours.begin();
}

/* The picture; gnuplot must have nothing to say. */
std::string drawn(const DrillResult &r)
{
	const gnuplot::Plot p = plot_of(r);
	const process::Ended e = process::run(
		{"gnuplot", "-d"},
		fmt::format("set encoding utf8\nset terminal svg size {},{} "
			    "noenhanced\n",
			    p.width, p.height) +
			p.script);

	EXPECT_EQ(e.status, 0) << p.script;
	EXPECT_EQ(e.err, "") << p.script;
	return gnuplot::draw(p, gnuplot::Format::svg);
}

std::vector<std::string> texts_of(const DrillResult &r)
{
	const auto texts = pictures::texts(drawn(r), "text");

	EXPECT_TRUE(texts.has_value()) << plot_of(r).script;
	return texts.value_or(std::vector<std::string>());
}

bool has(const std::vector<std::string> &all, const std::string &one)
{
	return std::find(all.begin(), all.end(), one) != all.end();
}

DrillResult small(const std::string &title, const std::string &series,
		  const std::string &event)
{
	DrillResult r;
	DrillRun run;

	r.title = title;
	r.shown = {series};
	run.devices = "mrc";
	run.times = {1, 2};
	run.series = {{series, true, {1e6, 2e6}}};
	run.events = {{0.5, event}};
	r.runs = {run};
	return r;
}
} // namespace

TEST(Plot, HasOnePanelForEachRunWithTheSameAxes)
{
	const std::string s = plot_of(stairs()).script;

	EXPECT_EQ(all_matches(s, "(plot \\$run)").size(), 2u);
	EXPECT_EQ(all_matches(s, "xrange \\[0:([0-9.]*)\\]"),
		  std::vector<std::string>{"11"});
	/* 8 * 40 * 0.93 Mbit/s, and room above. */
	EXPECT_EQ(all_matches(s, "yrange \\[0:([0-9.]*)\\]"),
		  std::vector<std::string>{"342.24"});
	EXPECT_NE(s.find("\"MRC\""), std::string::npos);
	EXPECT_NE(s.find("\"RoCE (rxe)\""), std::string::npos);
	EXPECT_EQ(all_matches(s, "(\nset arrow)").size(), 16u);
}

/* A line for both ends of the first interval, then one for each end. */
TEST(Plot, HasTheValues)
{
	DrillResult r = small("t", "write", "e");

	r.runs[0].times = {0.75, 1, 1.25};
	r.runs[0].series[0].values = {12.5e6, 0, 3e9};
	EXPECT_NE(plot_of(r).script.find("$run << EOD\n"
					 "0.5 12.5\n0.75 12.5\n1 0\n"
					 "1.25 3000\nEOD\n"),
		  std::string::npos)
		<< plot_of(r).script;
}

TEST(Plot, ColoursAreThoseOfNames)
{
	DrillResult r = stairs();
	const std::string all = plot_of(r).script;
	std::set<std::string> planes;

	for (uint32_t p = 1; p <= 8; p++) {
		const std::string name = fmt::format("plane {}", p);

		EXPECT_EQ(colour_of(all, name), plane_colour(p));
		planes.insert(plane_colour(p));
	}
	EXPECT_EQ(planes.size(), 8u);
	EXPECT_STREQ(plane_colour(9), plane_colour(1));
	/* The only flow is the total. */
	EXPECT_EQ(colour_of(all, "write"), "#000000");

	r.shown = {"plane 7", "plane 3"};
	EXPECT_EQ(colour_of(plot_of(r).script, "plane 3"), plane_colour(3));
	EXPECT_EQ(colour_of(plot_of(r).script, "plane 7"), plane_colour(7));
}

TEST(Plot, FlowsKeepTheirColours)
{
	DrillResult r = stairs();

	for (DrillRun &run : r.runs) {
		run.series[0] = {"incast", true, run.series[0].values};
		run.series[1] = {"total", true, run.series[1].values};
		run.series[2] = {"p3l1:s1", false, run.series[2].values};
	}
	/* The order in one run does not matter. */
	std::swap(r.runs[1].series.front(), r.runs[1].series.back());
	r.shown = {"total", "write", "incast", "p3l1:s1"};
	const std::string all = plot_of(r).script;

	EXPECT_EQ(colour_of(all, "total"), "#000000");
	EXPECT_NE(colour_of(all, "write"), colour_of(all, "incast"));
	EXPECT_EQ(colour_of(all, "p3l1:s1"), plane_colour(3));
	r.shown = {"write"};
	r.runs.pop_back();
	EXPECT_EQ(colour_of(plot_of(r).script, "write"),
		  colour_of(all, "write"));
}

TEST(Plot, LabelsHaveRoom)
{
	DrillResult r = small("t", "write", "first");
	auto &events = r.runs[0].events;

	events.push_back({0.505, "second"});
	events.push_back({1, "third"});
	events.push_back({2.5, "too late"});
	events.push_back({1.5, ""});
	std::string s = plot_of(r).script;

	EXPECT_NE(s.find("\"first (+1)\""), std::string::npos) << s;
	EXPECT_NE(s.find("\"third\""), std::string::npos);
	EXPECT_EQ(s.find("late"), std::string::npos);
	EXPECT_EQ(all_matches(s, "(\nset arrow)").size(), 4u);

	events.clear();
	for (int i = 0; i < 30; i++) {
		events.push_back({0.1 + i * 0.06, "a down"});
		events.push_back({0.13 + i * 0.06, "a up"});
	}
	s = plot_of(r).script;
	EXPECT_NE(s.find("\"a down (+59)\""), std::string::npos) << s;
	events = {{1, std::string(60, 'x')}};
	EXPECT_NE(plot_of(r).script.find("\"" + std::string(23, 'x') + "...\""),
		  std::string::npos);
}

TEST(Plot, StringsAreOneLineOfUtf8)
{
	EXPECT_EQ(gnuplot::literal("it's `a` \"\\\n1%"),
		  "\"it\\047s \\140a\\140 \\042\\134 1%\"");
	EXPECT_EQ(gnuplot::literal_tick("1% {"), "\"1%% \\173\"");
	EXPECT_EQ(gnuplot::one_line("a\x01\r\n\x7f\u0085\ufffe\u00e9"),
		  "a      \u00e9");
	EXPECT_EQ(gnuplot::one_line("a\xff\xe2\x82"), "a\ufffd\ufffd");
	EXPECT_EQ(gnuplot::shortened("\u00e9\u00e9\u00e9\u00e9", 4),
		  "\u00e9\u00e9\u00e9\u00e9");
	EXPECT_EQ(gnuplot::shortened("\u00e9\u00e9\u00e9\u00e9\u00e9", 4),
		  "\u00e9...");
	EXPECT_EQ(gnuplot::shortened("", 4), "");
}

TEST(Plot, IsDrawn)
{
	NEEDS_PROGRAM("gnuplot", "--version");
	const std::vector<std::string> texts = texts_of(stairs());

	for (const char *text :
	     {"Fig. 9a: eight planes are lost", "MRC", "RoCE (rxe)", "write",
	      "plane 8", "h1:p8+ down", "goodput, Mbit/s", "time, s"})
		EXPECT_TRUE(has(texts, text)) << text;
}

TEST(Plot, NothingIsDrawn)
{
	NEEDS_PROGRAM("gnuplot", "--version");
	const double inf = std::numeric_limits<double>::infinity();
	DrillResult r = stairs();

	r.shown.clear();
	EXPECT_TRUE(has(texts_of(r), "MRC"));
	r = stairs();
	for (Series &s : r.runs[0].series)
		s.values.assign(s.values.size(), 0);
	texts_of(r);
	r.runs[0].series[0].values[5] = -inf;
	r.runs[0].series[0].values.resize(50);
	r.runs[1] = DrillRun();
	texts_of(r);
	r.runs.clear();
	texts_of(r);
}

/* Strings of files are drawn as they are, and do nothing. */
TEST(Plot, HostileStringsAreText)
{
	NEEDS_PROGRAM("gnuplot", "--version");
	Random random(3);

	for (int i = 0; i < 6; i++) {
		DrillResult r = small("a" + hostile_text(random, 9), "w", "e");
		DrillRun &run = r.runs[0];
		std::set<std::string> wanted{gnuplot::one_line(r.title)};

		for (int k = 0; k < 8; k++) {
			const std::string text = fmt::format(
				"{}{}z", k, hostile_text(random, 4));

			run.series.push_back({text, k < 4, {1, 2}});
			r.shown.push_back(text);
			run.events.push_back({0.2 * k + 0.6, text});
			wanted.insert(gnuplot::shortened(
				gnuplot::one_line(text), 22));
		}
		const auto texts = texts_of(r);

		for (const std::string &text : wanted)
			EXPECT_TRUE(has(texts, text)) << text;
	}
	for (int i = 0; i < 5; i++)
		texts_of(random_result(random));
}

TEST(Plot, StringsRunNoCommands)
{
	NEEDS_PROGRAM("gnuplot", "--version");
	const std::string file =
		fmt::format("{}mrclab-plot-{}", testing::TempDir(), getpid());
	const std::string touch = "touch " + file;

	for (const std::string &text :
	     {"`" + touch + "`", "'`" + touch + "`",
	      "'.system('" + touch + "')", "'\n!" + touch + "\n",
	      "\\'\nsystem '" + touch + "'\n", "\nEOD\n!" + touch + "\n",
	      "@x`" + touch + "`"})
		drawn(small(text, text, text));
	EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Plot, IsAPng)
{
	NEEDS_PROGRAM("gnuplot", "--version");
	const gnuplot::Plot p = plot_of(stairs());
	const std::string png = gnuplot::draw(p, gnuplot::Format::png);
	const auto number = [&](std::size_t at) {
		unsigned int n = 0;

		for (std::size_t i = at; i < at + 4; i++)
			n = n << 8 | static_cast<unsigned char>(png.at(i));
		return n;
	};

	EXPECT_EQ(png.substr(1, 3), "PNG");
	EXPECT_EQ(number(16), 2 * p.width);
	EXPECT_EQ(number(20), 2 * p.height);
	EXPECT_EQ(png.substr(png.size() - 8, 4), "IEND");
}

TEST(Gnuplot, IsMissing)
{
	setenv("GNUPLOT", "/nonexistent/gnuplot", 1);
	EXPECT_THROW(gnuplot::draw(plot_of(stairs()), gnuplot::Format::svg),
		     gnuplot::Missing);
	unsetenv("GNUPLOT");
}

TEST(Gnuplot, SaysWhatIsWrong)
{
	NEEDS_PROGRAM("gnuplot", "--version");
	try {
		gnuplot::draw({"plot nosuch\n", 100, 100},
			      gnuplot::Format::svg);
		FAIL();
	} catch (const gnuplot::Error &e) {
		EXPECT_NE(std::string(e.what()).find("nosuch"),
			  std::string::npos)
			<< e.what();
	}
	/* Its end before it has read everything is no signal. */
	EXPECT_THROW(
		gnuplot::draw({"exit status 3\n" + std::string(1 << 20, '\n'),
			       100, 100},
			      gnuplot::Format::svg),
		gnuplot::Error);
}
/* EVs have the colour of their plane, and names that fit. */
TEST(Plot, HasEvs)
{
	DrillResult r;
	DrillRun run;

	run.devices = "mrc";
	run.times = {1, 2};
	for (const char *name : {"ev p1 h1>h2 99beda01", "ev p1 h1>h2 dc2bf602",
				 "ev p3 h1>h2 2e45ea03"}) {
		run.series.push_back({name, false, {1e6, 2e6}});
		r.shown.emplace_back(name);
	}
	r.title = "EVs";
	r.runs = {run};
	const std::string one = plot_of(r).script;

	EXPECT_EQ(all_matches(one, "title \"(ev p[^\"]*)\""),
		  (std::vector<std::string>{"ev p1 99beda01", "ev p1 dc2bf602",
					    "ev p3 2e45ea03"}));
	EXPECT_EQ(colour_of(one, "ev p1 99beda01"), plane_colour(1));
	EXPECT_EQ(colour_of(one, "ev p1 dc2bf602"), plane_colour(1));
	EXPECT_EQ(colour_of(one, "ev p3 2e45ea03"), plane_colour(3));
	EXPECT_EQ(all_matches(one, "dt ([0-9]) title"),
		  (std::vector<std::string>{"1", "2", "1"}));
	/* Of two pairs the hosts are named. */
	r.runs[0].series[2].name = r.shown[2] = "ev p3 h4>h2 2e45ea03";
	EXPECT_EQ(all_matches(plot_of(r).script, "title \"(p[^\"]*)\""),
		  (std::vector<std::string>{"p1 h1\\076h2 99beda01",
					    "p1 h1\\076h2 dc2bf602",
					    "p3 h4\\076h2 2e45ea03"}));
	EXPECT_TRUE(has(texts_of(r), "p3 h4>h2 2e45ea03"));
}
} // namespace mrclab
