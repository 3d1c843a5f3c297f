// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Results of drills: written, read, and refused if they are wrong. */
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "drill_result.hpp"
#include "error.hpp"
#include "made_results.hpp"

namespace mrclab
{
namespace
{
using Json = nlohmann::json;

/* Why @text is no result; empty if it is one. */
std::string error_of(const std::string &text)
{
	try {
		parse_result(text, "f");
	} catch (const FileError &e) {
		return e.what();
	}
	return "";
}

Json with(Json j, const std::string &place, const Json &value)
{
	j[Json::json_pointer(place)] = value;
	return j;
}

/* The stairs with another value at a place. */
std::string with(const std::string &place, const Json &value)
{
	return with(Json::parse(json_of(stairs())), place, value).dump();
}

/* Two of everything, for what is tried with each member. */
Json two_of_all()
{
	DrillResult r = stairs();

	r.shown.resize(2);
	for (DrillRun &run : r.runs) {
		run.times.resize(2);
		run.series.resize(2);
		run.events.resize(2);
		run.gaps = {{"write", 1}, {"x", 2}};
		run.latencies = {{"a", 1, 2, 3, 4}, {"b", 1, 1, 1, 1}};
		for (Series &s : run.series)
			s.values.resize(2);
	}
	return Json::parse(json_of(r));
}

std::string name_error(const std::string &name)
{
	return error_of(with("/name", name));
}

/* Calls @visit for everything in @j, with its place. */
void walk(const Json &j, const std::string &place,
	  const std::function<void(const std::string &, const Json &)> &visit)
{
	visit(place, j);
	if (j.is_object())
		for (const auto &[key, value] : j.items())
			walk(value, place + "/" + key, visit);
	else if (j.is_array())
		for (std::size_t i = 0; i < j.size(); i++)
			walk(j[i], fmt::format("{}/{}", place, i), visit);
}

const char *type_of(const Json &j)
{
	return j.is_number() ? "number" : j.type_name();
}
} // namespace

TEST(Result, IsReadAsItWasWritten)
{
	Random r(1);
	int runs = 0;

	for (int i = 0; i < 300; i++) {
		const DrillResult a = random_result(r);

		EXPECT_TRUE(parse_result(json_of(a), "f") == a) << json_of(a);
		runs += static_cast<int>(a.runs.size());
	}
	EXPECT_GT(runs, 300);
	EXPECT_TRUE(parse_result(json_of(stairs()), "f") == stairs());
}

/* Of a drill that took long: more than any file that people write. */
TEST(Result, MayBeLong)
{
	DrillResult r = stairs();

	r.about = std::string(3 << 20, 'x');
	EXPECT_TRUE(parse_result(json_of(r), "f") == r);
	EXPECT_EQ(error_of(std::string(max_result + 1, ' ')),
		  "f: is longer than 268435456 bytes");
}

/* A long list of numbers has few lines, and none of them is long. */
TEST(Result, HasRowsOfNumbers)
{
	const std::string text = json_of(stairs());
	std::size_t longest = 0, begin = 0;

	for (std::size_t i = 0; i < text.size(); i++) {
		if (text[i] != '\n')
			continue;
		longest = std::max(longest, i - begin);
		begin = i + 1;
	}
	EXPECT_LT(longest, 100u);
	EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 700);
	EXPECT_NE(text.find("0.1, 0.2, 0.3,"), std::string::npos) << text;
}

TEST(Result, TextThatIsNoUtf8IsReplaced)
{
	DrillResult r = stairs();

	r.runs[0].flows[0].why = "a\xff\xc3(b";
	EXPECT_EQ(parse_result(json_of(r), "f").runs[0].flows[0].why,
		  "a\ufffd\ufffd(b");
}

TEST(Result, OnlyFiniteValuesAreWritten)
{
	const double inf = std::numeric_limits<double>::infinity();
	const double nan = std::numeric_limits<double>::quiet_NaN();

	for (const double v : {inf, -inf, nan}) {
		DrillResult a = stairs(), b = stairs(), c = stairs(),
			    d = stairs();

		a.runs[0].series[0].values[3] = v;
		b.runs[1].times.back() = v;
		c.runs[0].verdicts[0].got = v;
		d.runs[0].events[0].at = v;
		for (const DrillResult &r : {a, b, c, d})
			EXPECT_THROW(json_of(r), SystemError);
	}
}

TEST(Result, EveryMemberIsNeeded)
{
	const Json all = two_of_all();
	int members = 0;

	walk(all, "", [&](const std::string &place, const Json &j) {
		if (!j.is_object())
			return;
		for (const auto &[key, value] : j.items()) {
			Json without = all;

			without[Json::json_pointer(place)].erase(key);
			const std::string why = error_of(without.dump());

			EXPECT_NE(why.find('"' + key + "\" is missing"),
				  std::string::npos)
				<< place << ": " << why;
			members++;
		}
	});
	EXPECT_GT(members, 40);
	EXPECT_EQ(error_of(with("/runs/1/flows/0/what", 1)),
		  "f: runs[1].flows[0]: \"what\" is unknown");
}

/* Whatever has another type is refused, and the message says where it is. */
TEST(Result, TypesAreChecked)
{
	const Json all = two_of_all();
	int tried = 0;

	walk(all, "", [&](const std::string &place, const Json &j) {
		for (const Json &other :
		     {Json(nullptr), Json(1), Json("1"), Json(true),
		      Json::array(), Json::object()}) {
			const std::string type = type_of(other);

			if (type == type_of(j))
				continue;
			tried++;
			EXPECT_NE(error_of(with(all, place, other).dump()), "")
				<< place << " " << other;
		}
	});
	EXPECT_GT(tried, 200);
	EXPECT_EQ(error_of(with("/runs/0/series/2/values/4", "x")),
		  "f: runs[0].series[2].values[4]: not a number");
	EXPECT_EQ(error_of(with("/runs/0/verdicts/1/ok", 1)),
		  "f: runs[0].verdicts[1].ok: neither true nor false");
	EXPECT_EQ(error_of("[]"), "f: not a map");
}

TEST(Result, SeriesFitTheTimes)
{
	EXPECT_EQ(error_of(with("/runs/0/series/2/values",
				std::vector<double>(111, 1))),
		  "f: runs[0].series[2].values: 111 values for 110 times");
	EXPECT_EQ(error_of(with("/runs/0/times/5", 0.5)),
		  "f: runs[0].times: number 6 is not after the one before it");
	EXPECT_NE(error_of(with("/runs/0/times/0", 0)), "");
	EXPECT_NE(error_of(with("/runs/0/times/0", -1)), "");
}

TEST(Result, NumbersAreFinite)
{
	std::string text = json_of(stairs());
	const std::string place = "\"got\": 87.23";

	for (const char *number : {"1e999", "-1e999", "NaN", "Infinity"}) {
		std::string bad = text;

		bad.replace(text.find(place), place.size(),
			    std::string("\"got\": ") + number);
		EXPECT_NE(error_of(bad).find("no JSON"), std::string::npos)
			<< number;
	}
}

/* They become names of files. */
TEST(Result, NamesAreChecked)
{
	for (const char *name : {"a", "fig9a", "A-b_c.d", "9"})
		EXPECT_EQ(name_error(name), "");
	for (const std::string name : {"", ".", "..", "../a", "a/b", ".a", "-a",
				       "a b", "a\n", "\u00e9", "a\"", "a<"})
		EXPECT_EQ(name_error(name).find("f: name: "), 0u) << name;
	EXPECT_NE(name_error(std::string(101, 'a')), "");
	EXPECT_NE(name_error(std::string("a\0b", 3)), "");
	EXPECT_EQ(error_of(with("/runs/0/devices", "../x")),
		  "f: runs[0].devices: neither \"mrc\" nor \"rxe\"");
	EXPECT_EQ(error_of(with("/runs/1/devices", "mrc")),
		  "f: runs[1].devices: there twice");
	EXPECT_NE(error_of(with("/runs/0/series/1/name", "plane 1")), "");
	EXPECT_NE(error_of(with("/runs/0/series/1/name", "")), "");
	EXPECT_EQ(error_of(with("/version", 1)), "f: version: only 2 is known");
}

TEST(Result, WhatIsNoJsonHasALine)
{
	std::string text = json_of(stairs());

	EXPECT_EQ(error_of(""), "f:1: no JSON");
	EXPECT_EQ(error_of("{\n\n  x"), "f:3: no JSON");
	/* Deep structures need no deep stack. */
	EXPECT_NE(error_of(std::string(1000000, '[')), "");
	EXPECT_NE(error_of(std::string(500000, '[') + std::string(500000, ']')),
		  "");
	for (std::size_t i = 0; i < text.size() - 2; i += 37)
		EXPECT_NE(error_of(text.substr(0, i)), "") << i;
}

TEST(Result, ChangedBytesDoNoHarm)
{
	const std::string good = json_of(stairs());
	Random r(2);
	int refused = 0;

	for (int i = 0; i < 1500; i++) {
		std::string text = good;

		for (uint64_t n = draw(r, 1, 3); n > 0; n--)
			text[draw(r, 0, text.size() - 1)] =
				static_cast<char>(draw(r, 0, 255));
		try {
			const DrillResult a = parse_result(text, "f");

			EXPECT_TRUE(parse_result(json_of(a), "f") == a);
		} catch (const FileError &) {
			refused++;
		}
	}
	EXPECT_GT(refused, 300);
	EXPECT_LT(refused, 1500);
}

TEST(Result, Csv)
{
	DrillRun run;

	EXPECT_EQ(csv_of(run), "s\n");
	run.times = {0.5, 1};
	run.series = {{"write", true, {1e9, 0}},
		      {"a,\"b\"", false, {1.5, 12345678.25}}};
	EXPECT_EQ(csv_of(run), "s,write,\"a,\"\"b\"\"\"\n"
			       "0.5,1000000000,1.5\n"
			       "1,0,12345678.25\n");
}

TEST(Result, Passed)
{
	DrillResult r = stairs();

	EXPECT_FALSE(passed(r));
	r.runs[0].verdicts[1].ok = true;
	/* That programs fail with rxe is no surprise. */
	EXPECT_TRUE(passed(r));
	r.runs[1].verdicts.push_back({"x", 1, 2, "", false});
	EXPECT_TRUE(passed(r));
	r.runs[0].flows[0].ok = false;
	EXPECT_FALSE(passed(r));
	r.runs.erase(r.runs.begin());
	EXPECT_FALSE(passed(r));
}
} // namespace mrclab
