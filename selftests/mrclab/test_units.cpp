// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Quantities with units: what is read, what is refused, and back again. */
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "error.hpp"
#include "random_fabric.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
template <typename T> struct Good {
	const char *word;
	T value;
};

template <typename Parse> std::string refusal(Parse parse)
{
	try {
		parse();
	} catch (const UsageError &e) {
		return e.what();
	}
	return "";
}

/* Values of every magnitude. */
uint64_t any(Random &r, uint64_t min, uint64_t max)
{
	const uint64_t n = draw(r, 0, UINT64_MAX) >> draw(r, 0, 63);

	return min + n % (max - min + 1);
}

constexpr uint64_t hour = 3600ull * 1000 * 1000 * 1000;
constexpr int many = 20000;

/* Words that are no number of any kind. */
const std::vector<std::string> garbage = {
	"",	 " ",	 "x",	 "-1",	  "+1",		"-1mbit", "1e6",
	"1e3us", "0x10", "inf",	 "nan",	  "1..2",	"1.2.3k", ".",
	"1,5ms", "1 k",	 " 1k",	 "1k ",	  "1kk",	"k",	  "%",
	"1%%",	 "1k%",	 "1_0k", "1\tus", "1\xc2\xb5s", "\xff",	  "\n",
};
} // namespace

TEST(Units, ReadRates)
{
	constexpr Good<uint64_t> all[] = {
		{"1kbit", 1000},
		{"1tbit", 1000000000000},
		{"1000gbit", 1000000000000},
		{"100mbit", 100000000},
		{"10Mbit", 10000000},
		{"2GBIT", 2000000000},
		{"1.5gbit", 1500000000},
		{"0.001mbit", 1000},
		{".5mbit", 500000},
		{"5.mbit", 5000000},
		{"9600", 9600},
		{"9600bit", 9600},
		{"007mbit", 7000000},
		/* Fractions of a bit are rounded. */
		{"1.0004kbit", 1000},
		{"1.0005kbit", 1001},
	};

	for (const auto &g : all)
		EXPECT_EQ(parse_rate(g.word), g.value) << g.word;
}

TEST(Units, ReadTimes)
{
	constexpr Good<uint64_t> all[] = {
		{"0", 0},	    {"0ns", 0},	     {"0s", 0},
		{"1ns", 1},	    {"10us", 10000}, {"1.5ms", 1500000},
		{"2s", 2000000000}, {"3600s", hour}, {"3600000ms", hour},
	};

	for (const auto &g : all)
		EXPECT_EQ(parse_time(g.word), g.value) << g.word;
}

TEST(Units, ReadSizes)
{
	constexpr Good<uint64_t> all[] = {
		{"0", 0},	 {"1500", 1500},     {"1500b", 1500},
		{"64k", 65536},	 {"1.5k", 1536},     {"4m", 4194304},
		{"1g", 1 << 30}, {"1024m", 1 << 30}, {"0k", 0},
	};

	for (const auto &g : all)
		EXPECT_EQ(parse_size(g.word), g.value) << g.word;
}

TEST(Units, ReadPercentages)
{
	constexpr Good<double> all[] = {
		{"0", 0},	    {"0%", 0},	     {"100", 1},
		{"100%", 1},	    {"20", 0.2},     {"20%", 0.2},
		{"0.1%", 0.001},    {"0.001", 1e-5}, {"99.9%", 0.999},
		{"0.00001%", 1e-7}, {"7%", 0.07},
	};

	for (const auto &g : all)
		EXPECT_EQ(parse_percent(g.word), g.value) << g.word;
}

TEST(Units, ReadCounts)
{
	EXPECT_EQ(parse_count("1", 1, 1), 1u);
	EXPECT_EQ(parse_count("0", 0, 9), 0u);
	EXPECT_EQ(parse_count("0012", 0, 12), 12u);
	EXPECT_EQ(parse_count("18446744073709551615", 0, UINT64_MAX),
		  UINT64_MAX);
}

TEST(Units, KeepLimits)
{
	const auto out = [](auto parse, const char *word) {
		std::string why = refusal([&] { parse(word); });

		EXPECT_NE(why.find("is out of range"), std::string::npos)
			<< word << ": " << why;
		return why;
	};

	EXPECT_EQ(out(parse_rate, "0"),
		  "\"0\" is out of range: a rate is 1kbit to 1tbit");
	out(parse_rate, "0gbit");
	out(parse_rate, "999");
	out(parse_rate, "0.999kbit");
	out(parse_rate, "1000000000001");
	out(parse_rate, "1.001tbit");
	EXPECT_EQ(out(parse_time, "3601s"),
		  "\"3601s\" is out of range: a time is 0 to an hour");
	out(parse_time, "3600000000001ns");
	EXPECT_EQ(out(parse_size, "1073741825"),
		  "\"1073741825\" is out of range: a size is 0 to 1g");
	out(parse_size, "2g");
	EXPECT_EQ(out(parse_percent, "101"),
		  "\"101\" is out of range: a percentage is 0 to 100");
	out(parse_percent, "100.1%");

	const auto count = [](const char *w) { parse_count(w, 2, 5); };

	EXPECT_EQ(out(count, "1"), "1 is out of range: 2 to 5");
	out(count, "0");
	out(count, "6");
	out(count, "99999999999999999999999");
}

TEST(Units, RefuseGarbage)
{
	for (const std::string &w : garbage) {
		const std::string quoted = "\"" + w + "\" is no ";

		EXPECT_EQ(refusal([&] { parse_rate(w); }),
			  quoted + "rate; one is written like \"100mbit\"");
		EXPECT_EQ(refusal([&] { parse_time(w); }),
			  quoted + "time; one is written like \"10us\"");
		EXPECT_EQ(refusal([&] { parse_size(w); }),
			  quoted + "size; one is written like \"64k\"");
		EXPECT_EQ(refusal([&] { parse_percent(w); }),
			  quoted + "percentage; one is written like \"0.1%\"");
		EXPECT_EQ(refusal([&] { parse_count(w, 0, UINT64_MAX); }),
			  quoted + "whole number");
	}
	/* Much too long for a double. */
	const std::string digits(400, '9');

	EXPECT_NE(refusal([&] { parse_rate(digits + "mbit"); }), "");
	EXPECT_NE(refusal([&] { parse_count(digits, 0, UINT64_MAX); }), "");
}

TEST(Units, RefuseUnitsOfOthers)
{
	EXPECT_NE(refusal([] { parse_rate("10us"); }), "");
	EXPECT_NE(refusal([] { parse_rate("10k"); }), "");
	EXPECT_NE(refusal([] { parse_rate("10mbps"); }), "");
	EXPECT_NE(refusal([] { parse_time("10"); }), "");
	EXPECT_NE(refusal([] { parse_time("10k"); }), "");
	EXPECT_NE(refusal([] { parse_size("10mbit"); }), "");
	EXPECT_NE(refusal([] { parse_size("10%"); }), "");
	EXPECT_NE(refusal([] { parse_percent("10k"); }), "");
	EXPECT_NE(refusal([] { parse_count("10.0", 0, 99); }), "");
}

TEST(Units, ShowTheLargestUnit)
{
	EXPECT_EQ(show_rate(1000), "1kbit");
	EXPECT_EQ(show_rate(100000000), "100mbit");
	EXPECT_EQ(show_rate(1500000000), "1.5gbit");
	EXPECT_EQ(show_rate(1000000000000), "1tbit");
	EXPECT_EQ(show_rate(1234567), "1234.567kbit");
	EXPECT_EQ(show_rate(100000500), "100000.5kbit");
	EXPECT_EQ(show_rate(999), "999bit");
	EXPECT_EQ(show_time(0), "0");
	EXPECT_EQ(show_time(1), "1ns");
	EXPECT_EQ(show_time(10000), "10us");
	EXPECT_EQ(show_time(1500000), "1.5ms");
	EXPECT_EQ(show_time(123456789), "123456.789us");
	EXPECT_EQ(show_time(hour), "3600s");
	EXPECT_EQ(show_size(0), "0");
	EXPECT_EQ(show_size(1500), "1500");
	EXPECT_EQ(show_size(1536), "1536");
	EXPECT_EQ(show_size(65536), "64k");
	EXPECT_EQ(show_size(1 << 30), "1g");
	EXPECT_EQ(show_percent(0), "0%");
	EXPECT_EQ(show_percent(0.2), "20%");
	EXPECT_EQ(show_percent(0.07), "7%");
	EXPECT_EQ(show_percent(0.001), "0.1%");
	EXPECT_EQ(show_percent(1e-7), "0.00001%");
	EXPECT_EQ(show_percent(0.123456789), "12.3456789%");
	EXPECT_EQ(show_percent(1), "100%");
}

TEST(Units, ReadWhatTheyShow)
{
	Random r(1);

	for (int i = 0; i < many; i++) {
		const uint64_t rate = any(r, 1000, 1000000000000);
		const uint64_t time = any(r, 0, hour),
			       size = any(r, 0, 1 << 30);

		ASSERT_EQ(parse_rate(show_rate(rate)), rate) << show_rate(rate);
		ASSERT_EQ(parse_time(show_time(time)), time) << show_time(time);
		ASSERT_EQ(parse_size(show_size(size)), size) << show_size(size);
	}
	for (const uint64_t n : {1000ull, 1000000000000ull, 999999999999ull})
		EXPECT_EQ(parse_rate(show_rate(n)), n);
}

/* What is shown of a percentage is the word without needless zeros. */
TEST(Units, ShowThePercentagesTheyRead)
{
	Random r(2);

	for (int i = 0; i < many; i++) {
		const uint64_t n = draw(r, 1, 99999), d = draw(r, 0, 7);
		const std::string word = fmt::format(
			"{:.{}f}",
			static_cast<double>(n) / std::pow(10.0, d + 3.0),
			d + 3);
		const double share = parse_percent(word);
		const std::string shown = show_percent(share);

		ASSERT_EQ(parse_percent(shown), share) << word << " " << shown;
		ASSERT_LE(shown.size(), word.size() + 1)
			<< word << " " << shown;
	}
}

/* Shares that were computed may differ in the last bit. */
TEST(Units, ShowAnyShare)
{
	Random r(3);

	for (int i = 0; i < many; i++) {
		const double share =
			std::uniform_real_distribution<double>(0, 1)(r);

		ASSERT_NEAR(parse_percent(show_percent(share)), share, 1e-15);
	}
}

TEST(Units, ReadNames)
{
	EXPECT_EQ(parse_name("a", 1, "name"), "a");
	EXPECT_EQ(parse_name("z9-_0z", 6, "name"), "z9-_0z");
	for (const char *w : {"", "0a", "-a", "_a", "A", "aB", "a.b", "a b",
			      "a/b", "a:", "a\n", "\xc3\xa4", "abcdefg"})
		EXPECT_EQ(
			refusal([&] { parse_name(w, 6, "name of it"); }),
			fmt::format("\"{}\" is no name of it: up to 6 lower "
				    "case letters, digits, - and _, the first "
				    "one a letter",
				    w))
			<< w;
	EXPECT_THROW(parse_name(std::string("a\0b", 3), 6, "name"), UsageError);
}
TEST(Units, HaveRatios)
{
	EXPECT_EQ(parse_ratio("150%"), 1.5);
	EXPECT_EQ(parse_ratio("99.9%"), 0.999);
	EXPECT_EQ(parse_ratio("0%"), 0);
	EXPECT_EQ(parse_ratio("10000%"), 100);
	for (const char *w : {"", "%", "150", "1.5", "-1%", "1e2%", "10001%",
			      "150 %", "150%%", "x%", "1.5.1%"})
		EXPECT_THROW(parse_ratio(w), UsageError) << w;
}
} // namespace mrclab
