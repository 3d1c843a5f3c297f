// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reports: text, JSON, and XML that another parser reads. */
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "report.hpp"

namespace mrcconform
{
namespace
{
const Case must{"a.must", "2.4", Level::must, "A rule of \"<&>\".", nullptr};
const Case should{"a.should", "3", Level::should, "Another rule.", nullptr};

Result result(const Case &c, Verdict v, const std::string &text = {},
	      const std::string &address = "10.1.0.2")
{
	Result r;

	r.test = &c;
	r.address = address;
	r.verdict = v;
	r.text = text;
	r.seconds = 0.25;
	if (!text.empty()) {
		r.trace.push_back({'>', 0.5, "ACKNOWLEDGE psn=0x1"});
		r.trace.push_back({'<', 0.75, "RELIABILITY_SACK <x>"});
	}
	return r;
}

TEST(Status, FollowsTheWorstResult)
{
	const auto passed = result(must, Verdict::passed);

	EXPECT_EQ(status_of({passed}, true), exit_ok);
	EXPECT_EQ(
		status_of({passed, result(must, Verdict::failed, "x")}, false),
		exit_failed);
	EXPECT_EQ(status_of({passed, result(should, Verdict::failed, "x")},
			    false),
		  exit_ok);
	EXPECT_EQ(
		status_of({passed, result(should, Verdict::failed, "x")}, true),
		exit_failed);
	EXPECT_EQ(
		status_of({passed, result(must, Verdict::skipped, "x")}, true),
		exit_ok);
	EXPECT_EQ(status_of({passed, result(must, Verdict::error, "x")}, false),
		  exit_system);
	EXPECT_EQ(status_of({result(must, Verdict::error, "x"),
			     result(must, Verdict::failed, "x")},
			    false),
		  exit_failed);
}

std::string text_of(const Result &r, bool verbose = false)
{
	std::ostringstream out;

	print_text(out, r, verbose);
	return out.str();
}

TEST(Text, SaysWhatWasExpectedAndWhatCame)
{
	EXPECT_EQ(text_of(result(must, Verdict::passed)),
		  "PASS  a.must [10.1.0.2]\n");
	EXPECT_EQ(text_of(result(must, Verdict::skipped, "why")),
		  "SKIP  a.must [10.1.0.2]: why\n");
	EXPECT_EQ(text_of(result(must, Verdict::failed, "a NACK")),
		  "FAIL  a.must [10.1.0.2]\n"
		  "      rule:     MRC 1.0 §2.4 (MUST): A rule of \"<&>\".\n"
		  "      expected: a NACK\n"
		  "       0.500000 sent ACKNOWLEDGE psn=0x1\n"
		  "       0.750000 came RELIABILITY_SACK <x>\n");
	EXPECT_TRUE(text_of(result(should, Verdict::failed, "x"))
			    .starts_with("WARN  a.should"));
	EXPECT_TRUE(text_of(result(should, Verdict::error, "x"))
			    .starts_with("ERROR a.should"));
}

TEST(Json, HasEveryResult)
{
	std::ostringstream out;

	print_json(out, {result(must, Verdict::passed),
			 result(must, Verdict::failed, "x"),
			 result(should, Verdict::failed, "y"),
			 result(should, Verdict::skipped, "z"),
			 result(should, Verdict::error, "e")});

	const auto j = nlohmann::json::parse(out.str());

	EXPECT_EQ(j["mrcconform"], 1);
	EXPECT_EQ(j["passed"], 1);
	EXPECT_EQ(j["failed_must"], 1);
	EXPECT_EQ(j["failed_should"], 1);
	EXPECT_EQ(j["skipped"], 1);
	EXPECT_EQ(j["errors"], 1);
	ASSERT_EQ(j["results"].size(), 5u);
	EXPECT_EQ(j["results"][1]["name"], "a.must");
	EXPECT_EQ(j["results"][1]["section"], "MRC 1.0 §2.4");
	EXPECT_EQ(j["results"][1]["verdict"], "failed");
	EXPECT_EQ(j["results"][1]["trace"].size(), 2u);
	EXPECT_FALSE(j["results"][0].contains("trace"));
}

/* What Python's parser finds in the file. */
std::string parsed_by_python(const std::string &xml)
{
	const std::string file = testing::TempDir() + "junit-" +
				 std::to_string(getpid()) + ".xml";
	const std::string command =
		std::string(PYTHON) +
		" -c 'import sys, xml.etree.ElementTree as e\n"
		"for s in e.parse(sys.argv[1]).getroot():\n"
		"  print(s.get(\"name\"), s.get(\"tests\"), "
		"s.get(\"failures\"), s.get(\"errors\"), s.get(\"skipped\"))\n"
		"  for c in s: print(c.get(\"classname\"), c.get(\"name\"), "
		"[x.tag + \":\" + x.get(\"message\") for x in c])' " +
		file + " 2>&1";
	std::string out;
	std::array<char, 4096> buf{};

	std::ofstream(file) << xml;

	FILE *p = popen(command.c_str(), "r");

	while (p && fgets(buf.data(), static_cast<int>(buf.size()), p))
		out += buf.data();
	if (p)
		pclose(p);
	unlink(file.c_str());
	return out;
}

TEST(Junit, IsXmlWithTheResults)
{
	std::ostringstream out;

	print_junit(out, {result(must, Verdict::passed),
			  result(must, Verdict::failed, "a < b & \"c\""),
			  result(should, Verdict::skipped, "why"),
			  result(should, Verdict::error, "bell \a", "::1")});
	EXPECT_EQ(parsed_by_python(out.str()),
		  "mrcconform 10.1.0.2 3 1 0 1\n"
		  "mrcconform.a a.must []\n"
		  "mrcconform.a a.must ['failure:a < b & \"c\"']\n"
		  "mrcconform.a a.should ['skipped:why']\n"
		  "mrcconform ::1 1 0 1 0\n"
		  "mrcconform.a a.should ['error:bell ?']\n");
}

TEST(List, TextAndJson)
{
	std::ostringstream text, json;

	print_list(text, {&must, &should});
	EXPECT_NE(text.str().find("a.must"), std::string::npos);
	EXPECT_NE(text.str().find("SHOULD §3"), std::string::npos);
	print_list_json(json, {&must, &should});

	const auto j = nlohmann::json::parse(json.str());

	ASSERT_EQ(j.size(), 2u);
	EXPECT_EQ(j[1]["level"], "SHOULD");
}
} // namespace
} // namespace mrcconform
