// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Text, CSV and JSON of the same results. */
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report.hpp"

namespace mrcperf
{
namespace
{
using Json = nlohmann::json;

Run run_of(uint32_t repetition, uint64_t messages, uint64_t size,
	   double seconds)
{
	return {.repetition = repetition,
		.messages = messages,
		.bytes = messages * size,
		.seconds = seconds,
		.latency = std::nullopt,
		.checked = messages + 2,
		.bad = 0};
}

/* Two points, of three repetitions and of one with latencies. */
std::string report(Format format, uint64_t bad = 0,
		   const std::string &error = "")
{
	std::ostringstream out;
	const auto r = make_report(format, out);
	Options o;
	Totals totals;
	PointResult bw{.point = {Kind::bw, Op::write, 4096}, .runs = {}};
	PointResult lat{.point = {Kind::lat, Op::write_imm, 8}, .runs = {}};

	o.server = "host";
	o.repetitions = 3;
	o.retry = Retry{.linear = 3, .exponential = 4};
	r->begin(o, {.device = "mrc0", .peer_device = "mrc1", .mtu = 1024});
	for (uint32_t i = 1; i <= 3; i++) {
		bw.runs.push_back(run_of(i, 1000, 4096, 0.25 * i));
		r->run(bw.point, bw.runs.back());
		totals.add(bw.runs.back());
	}
	r->point(bw);
	lat.runs.push_back(run_of(1, 10, 8, 1e-3));
	lat.runs[0].bad = bad;
	lat.runs[0].latency = Percentiles{.min = 1,
					  .p50 = 2,
					  .p90 = 3,
					  .p99 = 4,
					  .p999 = 5,
					  .max = 6,
					  .mean = 2.5};
	r->run(lat.point, lat.runs[0]);
	totals.add(lat.runs[0]);
	r->point(lat);
	r->end(totals, error);
	return out.str();
}

std::vector<std::vector<std::string>> rows(const std::string &csv)
{
	std::vector<std::vector<std::string>> all;
	std::istringstream lines(csv);
	std::string line;

	while (std::getline(lines, line)) {
		std::vector<std::string> fields(1);

		for (char c : line)
			if (c == ',')
				fields.emplace_back();
			else
				fields.back() += c;
		all.push_back(fields);
	}
	return all;
}
} // namespace

TEST(Report, Text)
{
	EXPECT_EQ(
		report(Format::text),
		"# mrc0 to mrc1 at host: 1 queue pairs, 128 in flight each, "
		"completion every 16, lists of 1, MTU 1024\n"
		"# 1000 messages of a queue pair, 16 before that do not count\n"
		"# medians of 3 repetitions; spread: (max - min) / median\n"
		"#test op             bytes    messages          Mb/s    "
		"messages/s  spread%   checked   bad\n"
		"bw    write           4096        3000        65.536        "
		"2000.0    133.3      3006     0\n"
		"#test op             bytes    messages     min us     p50 us"
		"     p90 us     p99 us   p99.9 us     max us  spread%   "
		"checked   bad\n"
		"lat   write_imm          8          10       1.00       2.00"
		"       3.00       4.00       5.00       6.00      0.0        "
		"12     0\n"
		"# 3010 messages, 12288080 bytes, 3018 checked, 0 bad\n");
}

TEST(Report, Csv)
{
	const auto r = rows(report(Format::csv));

	ASSERT_EQ(r.size(), 1u + 3 + 2 + 1 + 2);
	for (const auto &row : r)
		ASSERT_EQ(row.size(), r[0].size());
	EXPECT_EQ(r[0],
		  (std::vector<std::string>{
			  "kind", "test", "op", "size", "repetition",
			  "messages", "bytes", "seconds", "bytes_per_second",
			  "messages_per_second", "min_us", "p50_us", "p90_us",
			  "p99_us", "p999_us", "max_us", "mean_us", "checked",
			  "bad"}));
	EXPECT_EQ(r[2], (std::vector<std::string>{
				"run", "bw", "write", "4096", "2", "1000",
				"4096000", "0.5", "8192000", "2000", "", "", "",
				"", "", "", "", "1002", "0"}));
	EXPECT_EQ(r[4], (std::vector<std::string>{
				"median", "bw", "write", "4096", "", "3000",
				"12288000", "1.5", "8192000", "2000", "", "",
				"", "", "", "", "", "3006", "0"}));
	EXPECT_EQ(r[5][0], "spread");
	EXPECT_EQ(r[5][8], "133.333333");
	EXPECT_EQ(r[7], (std::vector<std::string>{
				"median", "lat", "write_imm", "8", "", "10",
				"80", "0.001", "80000", "10000", "1", "2", "3",
				"4", "5", "6", "2.5", "12", "0"}));
}

TEST(Report, CsvFieldsAreQuoted)
{
	EXPECT_EQ(csv_field("plain text"), "plain text");
	EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
	EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
	EXPECT_EQ(csv_field("a\nb"), "\"a\nb\"");
	EXPECT_EQ(csv_field(""), "");
}

TEST(Report, JsonHasAll)
{
	const Json j = Json::parse(report(Format::json));

	EXPECT_EQ(j["mrcperf"], 1);
	EXPECT_EQ(j["status"], "ok");
	EXPECT_TRUE(j["error"].is_null());
	EXPECT_EQ(j["parameters"]["device"], "mrc0");
	EXPECT_EQ(j["parameters"]["peer_device"], "mrc1");
	EXPECT_EQ(j["parameters"]["mtu"], 1024);
	EXPECT_EQ(j["parameters"]["retry"]["exponential"], 4);
	EXPECT_EQ(j["parameters"]["iterations"], 1000);
	EXPECT_TRUE(j["parameters"]["duration"].is_null());
	EXPECT_TRUE(j["parameters"]["timeout"].is_null());
	ASSERT_EQ(j["results"].size(), 2u);
	const Json &bw = j["results"][0];

	EXPECT_EQ(bw["test"], "bw");
	EXPECT_EQ(bw["op"], "write");
	EXPECT_EQ(bw["size"], 4096);
	ASSERT_EQ(bw["runs"].size(), 3u);
	EXPECT_EQ(bw["runs"][2]["repetition"], 3);
	EXPECT_EQ(bw["runs"][2]["bytes"], 4096000);
	EXPECT_EQ(bw["runs"][2]["seconds"], 0.75);
	EXPECT_FALSE(bw["runs"][2].contains("latency_us"));
	EXPECT_EQ(bw["summary"]["bytes_per_second"]["median"], 8192000);
	EXPECT_EQ(bw["summary"]["messages_per_second"]["max"], 4000);
	EXPECT_FALSE(bw["summary"].contains("latency_us"));
	const Json &lat = j["results"][1];

	EXPECT_EQ(lat["runs"][0]["latency_us"]["p999"], 5);
	EXPECT_EQ(lat["summary"]["latency_us"]["p50"]["median"], 2);
	EXPECT_EQ(lat["summary"]["latency_us"]["max"]["spread_percent"], 0);
	EXPECT_EQ(j["totals"]["messages"], 3010);
	EXPECT_EQ(j["totals"]["bytes"], 12288080);
	EXPECT_EQ(j["totals"]["checked"], 3018);
	EXPECT_EQ(j["totals"]["bad"], 0);
}

TEST(Report, SaysThatItFailed)
{
	const Json failed = Json::parse(report(Format::json, 0, "a \"b\"\xff"));
	const Json bad = Json::parse(report(Format::json, 2, "late"));

	EXPECT_EQ(failed["status"], "failed");
	EXPECT_EQ(failed["error"].get<std::string>().rfind("a \"b\"", 0), 0u);
	EXPECT_EQ(bad["status"], "bad data");
	EXPECT_EQ(bad["error"], "late");
	EXPECT_EQ(bad["totals"]["bad"], 2);
	EXPECT_NE(report(Format::text, 2, "late")
			  .find("3018 checked, 2 bad; ended early: late\n"),
		  std::string::npos);
}
} // namespace mrcperf
