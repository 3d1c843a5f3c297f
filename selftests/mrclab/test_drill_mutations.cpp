// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Drills with random bytes wrong are read or refused, and nothing else. What is
 * read can be used. MRCLAB_MUTATIONS is how many files there are.
 */
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "drill_file.hpp"
#include "drill_series.hpp"
#include "drill_verdicts.hpp"
#include "error.hpp"
#include "fabric_file.hpp"
#include "golden.hpp"
#include "mutate.hpp"

namespace mrclab
{
namespace
{
namespace fs = std::filesystem;

/* Words that mean something in drills. */
std::vector<std::string> drill_words()
{
	std::vector<std::string> all = yaml_words;

	for (const char *w : {"3s",
			      "20ms",
			      "1s..2s",
			      "..",
			      "7/8",
			      "0/0",
			      "60%",
			      "write",
			      "flows",
			      "total",
			      "planes",
			      "plane 1",
			      "p*l*:*",
			      "p1l1",
			      "h1:p1+",
			      " flap 1s 10ms 9999",
			      " flap 1us 1ns 9",
			      " down",
			      " drop",
			      " loss 100%",
			      "path ",
			      "clear",
			      "{rank}",
			      "{mgmt:1}",
			      "command: ",
			      "hosts: ",
			      "rxe: {}",
			      "show: ",
			      "must: ",
			      "from: ",
			      "within: ",
			      "fair: 1",
			      "of: 1/2",
			      "against: 1k",
			      "gap: 1s",
			      "typical: 150%",
			      "p99: 1ms",
			      "of: near",
			      "among: [h1, h2]",
			      "count: ",
			      "ib_read_bw",
			      "ib_read_lat",
			      "mrcperf",
			      "rate",
			      "time: ",
			      "sample: ",
			      "timeline: ",
			      "baseline: "})
		all.emplace_back(w);
	return all;
}

/* A drill with what the examples do not have. */
const std::string own =
	"drill: own\n"
	"about: &a text\n"
	"title: *a\n"
	"fabric: own.yaml\n"
	"time: 3s\n"
	"sample: 20ms\n"
	"traffic:\n"
	"  run: {command: \"x -n {ranks} {mgmt:1}\", hosts: [h1, h2], end: "
	"interrupt}\n"
	"  s: {program: mrcperf, from: h3, to: h4, options: -m 4096}\n"
	"  near: {program: ib_send_lat, from: h1, to: h2, count: 99}\n"
	"  all: {program: ib_write_bw, among: [h5, h6], start: 1s}\n"
	"timeline:\n"
	"  1s: \"p*:s1+ flap 100ms 50ms 9\"\n"
	"  2s: [p1s1 drop, h1:p1 delay 1ms loss 1%]\n"
	"rxe: {timeline: {1s: clear}}\n"
	"must:\n"
	"  - {what: flows, from: 1s, fair: 0.5}\n"
	"  - {what: near, p99: 150%, of: near}\n"
	"  - {what: s, from: 1s, gap: 200ms}\n"
	"  - {what: \"p*l*:h?\", to: 2s, worst: 1, against: 1mbit, of: 1/3}\n";

const std::string own_fabric = "name: own\n"
			       "planes: 2\n"
			       "t0: 2\n"
			       "t1: 1\n"
			       "hosts: 3\n"
			       "forwarding: srv6+ecmp\n"
			       "links:\n"
			       "  host: &slow {rate: 40mbit, queue: 1m}\n"
			       "  \"p1*:h?\": {delay: 1ms, reorder: 0.5%}\n";

struct Texts {
	std::string drill;
	std::string fabric; /* all that it names */
};

std::vector<Texts> examples()
{
	const fs::path dir = MRCLAB_DIR "/drills";
	std::vector<Texts> all = {{own, own_fabric}};

	for (const auto &entry : fs::directory_iterator(dir)) {
		if (!entry.is_regular_file())
			continue;
		const Drill d = read_drill(entry.path());

		all.push_back(
			{file_text(entry.path()), d.stages[0].fabric_text});
	}
	return all;
}

/* Series and verdicts of a drill of three samples. */
void use(const Drill &d)
{
	const Topology t(
		parse_fabric(d.stages[0].fabric_text, d.stages[0].fabric_file));
	std::vector<Reading> readings;
	DrillRun run;

	for (uint64_t i = 0; i <= 3; i++)
		readings.push_back(
			{i * d.sample,
			 {},
			 std::vector<uint64_t>(d.flows.size(), i * 1000)});
	add_series(run, t, d, readings);
	EXPECT_EQ(judge(d, run).size(), d.musts.size());
	for (const Gap &g : gaps_of(d, run))
		EXPECT_GE(g.ms, 0) << g.name;
	for (const Flow &f : d.flows) {
		EXPECT_FALSE(f.clients.empty());
		EXPECT_EQ(f.counted.empty(), f.latency);
	}
	for (const Stage &s : d.stages)
		parse_fabric(s.fabric_text, s.fabric_file);
}

/* Whether it is a drill. Anything but a FileError gets through. */
bool is_drill(const Texts &texts)
{
	try {
		use(parse_drill(texts.drill, "d",
				[&texts](const std::string &) {
					return texts.fabric;
				}));
		return true;
	} catch (const FileError &e) {
		const std::string what = e.what();

		EXPECT_GT(what.size(), 3u);
		EXPECT_LE(e.line, std::max(last_line(texts.drill),
					   last_line(texts.fabric)))
			<< what;
		return false;
	}
}
} // namespace

TEST(DrillMutations, AreReadOrRefused)
{
	const char *env = std::getenv("MRCLAB_MUTATIONS");
	const uint64_t files = env ? std::strtoull(env, nullptr, 10) : 1500;
	const std::vector<std::string> words = drill_words();
	const std::vector<Texts> good = examples();
	uint64_t read = 0;

	ASSERT_GT(good.size(), 18u);
	ASSERT_TRUE(is_drill(good[0]));
	for (uint64_t i = 0; i < files; i++) {
		Random r(i);
		/* Half of them from the one that has the most. */
		Texts texts =
			good[draw(r, 0, 1) ? 0 : draw(r, 0, good.size() - 1)];

		for (uint64_t n = draw(r, 1, 5); n > 0; n--)
			mutate(draw(r, 0, 7) ? texts.drill : texts.fabric, r,
			       words);
		SCOPED_TRACE("file " + std::to_string(i) + ":\n" + texts.drill +
			     "\n" + texts.fabric);
		ASSERT_NO_THROW(read += is_drill(texts));
		if (testing::Test::HasFailure())
			return;
	}
	/* Both happened. */
	EXPECT_GT(read, files / 100);
	EXPECT_LT(read, files / 2);
}

TEST(DrillMutations, WithoutTheirEndAreReadOrRefused)
{
	std::size_t read = 0;

	for (std::size_t n = 0; n <= own.size(); n++) {
		SCOPED_TRACE(n);
		ASSERT_NO_THROW(read +=
				is_drill({own.substr(0, n), own_fabric}));
	}
	EXPECT_GT(read, 1u);
}

TEST(DrillMutations, OfBytesAloneAreRefused)
{
	for (uint64_t i = 0; i < 300; i++) {
		Random r(i);
		std::string text(draw(r, 1, 2000), '\0');
		bool is = true;

		for (char &c : text)
			c = static_cast<char>(draw(r, 0, 255));
		SCOPED_TRACE(i);
		ASSERT_NO_THROW(is = is_drill({text, own_fabric}));
		EXPECT_FALSE(is);
	}
}
} // namespace mrclab
