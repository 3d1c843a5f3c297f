// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Timelines of drills: the order of what happens, and flaps. */
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "error.hpp"
#include "random_fabric.hpp"
#include "timeline.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
constexpr uint64_t ms = 1000000;
constexpr uint64_t s = 1000 * ms;

using Words = std::vector<std::string>;

std::vector<Step> steps_of(const std::string &text, uint64_t end = 100 * s)
{
	const YamlFile yaml(text, "t");
	std::vector<Step> steps;

	read_timeline(yaml, yaml.root(), end, steps);
	return steps;
}

std::string error_of(const std::string &text, uint64_t end = 100 * s)
{
	try {
		steps_of(text, end);
	} catch (const FileError &e) {
		return e.what();
	}
	return "";
}

/* "TIME LINE FAULT" of all faults, in their order. */
Words happens(const std::vector<Step> &steps)
{
	Words all;

	for (const Step &step : steps) {
		EXPECT_EQ(step.faults.size(), step.lines.size());
		for (std::size_t i = 0; i < step.faults.size(); i++)
			all.push_back(fmt::format(
				"{} {} {}", show_time(step.at), step.lines[i],
				fmt::join(step.faults[i], " ")));
	}
	return all;
}

Words texts(const std::vector<Step> &steps)
{
	Words all;

	for (const Step &step : steps)
		all.push_back(step.text);
	return all;
}
} // namespace

TEST(Timeline, IsInTheOrderOfTime)
{
	const std::vector<Step> steps = steps_of("10s: c\n"
						 "900ms: a\n"
						 "2s:\n"
						 "  - b x\n"
						 "  - b  y\n");

	EXPECT_EQ(happens(steps),
		  (Words{"900ms 2 a", "2s 4 b x", "2s 5 b y", "10s 1 c"}));
	EXPECT_EQ(texts(steps), (Words{"a", "b x, b  y", "c"}));
}

TEST(Timeline, MayHaveNothing)
{
	EXPECT_TRUE(steps_of("{}").empty());
	EXPECT_TRUE(steps_of("3s: []").empty());
	EXPECT_EQ(happens(steps_of("0: a")), Words{"0 1 a"});
}

/* The same moment, written differently. */
TEST(Timeline, JoinsWhatHappensAtOnce)
{
	const std::vector<Step> steps =
		steps_of("2s: a\n1s: x\n2000ms: [b, c]\n");

	EXPECT_EQ(happens(steps),
		  (Words{"1s 2 x", "2s 1 a", "2s 3 b", "2s 3 c"}));
	EXPECT_EQ(steps[1].text, "a, b, c");
	EXPECT_EQ(error_of("2s: a\n2s: b\n"), "t:2: timeline has \"2s\" twice");
}

TEST(Timeline, Flaps)
{
	const std::vector<Step> steps =
		steps_of("3s: p1l1:s1+ flap 500ms 100ms 3\n");

	EXPECT_EQ(happens(steps),
		  (Words{"3s 1 p1l1:s1+ down", "3.1s 1 p1l1:s1+ up",
			 "3.5s 1 p1l1:s1+ down", "3.6s 1 p1l1:s1+ up",
			 "4s 1 p1l1:s1+ down", "4.1s 1 p1l1:s1+ up"}));
	/* A picture has the words once. */
	EXPECT_EQ(texts(steps),
		  (Words{"p1l1:s1+ flap 500ms 100ms 3", "", "", "", "", ""}));
}

TEST(Timeline, HasFlapsBesideOthers)
{
	const std::vector<Step> steps = steps_of("1s: a flap 2s 1s 2\n"
						 "2s: [b drop, a loss 1%]\n"
						 "1500ms: c flap 1s 500ms 2\n");

	EXPECT_EQ(happens(steps),
		  (Words{"1s 1 a down", "1.5s 3 c down", "2s 1 a up",
			 "2s 2 b drop", "2s 2 a loss 1%", "2s 3 c up",
			 "2.5s 3 c down", "3s 1 a down", "3s 3 c up",
			 "4s 1 a up"}));
	EXPECT_EQ(steps[2].text, "b drop, a loss 1%");
}

/* An equal number of downs and ups, each after its down. */
TEST(Timeline, EndsFlapsUp)
{
	Random r(1);

	for (int i = 0; i < 200; i++) {
		const uint64_t period = draw(r, 2, 1000),
			       times = draw(r, 1, 50);
		const uint64_t down = draw(r, 1, period - 1),
			       at = draw(r, 0, 9000);
		const std::vector<Step> steps = steps_of(fmt::format(
			"{}ms: x flap {}ms {}ms {}", at, period, down, times));

		ASSERT_EQ(steps.size(), 2 * times);
		for (uint64_t n = 0; n < times; n++) {
			const Step &d = steps[2 * n], &u = steps[2 * n + 1];

			ASSERT_EQ(d.at, (at + n * period) * ms);
			ASSERT_EQ(u.at, d.at + down * ms);
			ASSERT_EQ(d.faults,
				  std::vector<Words>{(Words{"x", "down"})});
			ASSERT_EQ(u.faults,
				  std::vector<Words>{(Words{"x", "up"})});
		}
	}
}

TEST(Timeline, RefusesWrongFlaps)
{
	const char *form = "t:1: 1s: it is \"TARGET flap PERIOD DOWN TIMES\"";
	const char *down = "t:1: 1s: the time down is shorter than the period "
			   "and not 0";

	EXPECT_EQ(error_of("1s: x flap"), form);
	EXPECT_EQ(error_of("1s: x flap 1s 1ms"), form);
	EXPECT_EQ(error_of("1s: x flap 1s 1ms 3 4"), form);
	EXPECT_EQ(error_of("1s: x flap 1s 1s 3"), down);
	EXPECT_EQ(error_of("1s: x flap 1s 2s 3"), down);
	EXPECT_EQ(error_of("1s: x flap 1s 0 3"), down);
	EXPECT_EQ(error_of("1s: x flap 1s 1ms 0"),
		  "t:1: 1s: 0 is out of range: 1 to 10000");
	EXPECT_EQ(error_of("1s: x flap 1s 1ms 10001"),
		  "t:1: 1s: 10001 is out of range: 1 to 10000");
	EXPECT_EQ(error_of("1s: x flap 1 1ms 2"),
		  "t:1: 1s: \"1\" is no time; one is written like \"10us\"");
}

TEST(Timeline, EndsWithTheDrill)
{
	EXPECT_EQ(error_of("9999ms: a", 10 * s), "");
	EXPECT_EQ(error_of("1s: a\n10s: b\n", 10 * s),
		  "t:2: 10s: 10s is after the drill's end");
	EXPECT_EQ(error_of("1s: [a, b]\n3600s: [a]\n", 10 * s),
		  "t:2: 3600s is after the drill's end");
	/* The last flap must be over. */
	EXPECT_EQ(error_of("6s: x flap 2s 999ms 2", 10 * s), "");
	EXPECT_EQ(error_of("6s: x flap 2s 1s 2", 10 * s), "");
	EXPECT_EQ(error_of("6s: x flap 3s 1s 2", 10 * s),
		  "t:1: 6s: 10s is after the drill's end");
	EXPECT_EQ(error_of("0: x flap 3600s 3599s 10000", 10 * s),
		  "t:1: 0: 3599s is after the drill's end");
}

TEST(Timeline, HasLimits)
{
	std::string lines;

	EXPECT_EQ(steps_of("0: x flap 2ms 1ms 10000").size(), 20000u);
	EXPECT_EQ(error_of("0: x flap 2ms 1ms 10000\n50s: [a]\n"),
		  "t:2: there are more than 20000 faults");
	for (int i = 0; i < 20001; i++)
		lines += fmt::format("{}us: a\n", i);
	EXPECT_EQ(error_of(lines),
		  "t:20001: 20000us: there are more than 20000 faults");
}

TEST(Timeline, IsAMapOfWords)
{
	EXPECT_EQ(error_of("[a]"), "t:1: timeline must be a map of \"key: "
				   "value\"");
	EXPECT_EQ(error_of("1s: {a: b}"),
		  "t:1: 1s: a single word or number is expected here");
	EXPECT_EQ(error_of("1s: [a, [b]]"),
		  "t:1: a single word or number is expected here");
	EXPECT_EQ(error_of("1s:"), "t:1: \"1s\" has no value");
	EXPECT_EQ(error_of("1: a"),
		  "t:1: 1: \"1\" is no time; one is written like \"10us\"");
}
} // namespace mrclab
