// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Scenarios: files, their runs, and what comes out of them. */
#include <filesystem>

#include <gtest/gtest.h>

#include "fabrics.hpp"
#include "runner.hpp"

namespace mrcsim
{
namespace
{
const std::string clos = "clos: {planes: 2, t0: 2, t1: 2, hosts: 4, rate: "
			 "100gbit}\n";
const std::string small_traffic = "traffic: {permutation: {size: 100000}}\n";

std::string error_of(const std::string &text)
{
	return message_of([&] { parse_scenario(text, "s.yaml"); });
}

TEST(Scenario, isRead)
{
	const Scenario s = parse_scenario(
		clos + small_traffic +
			"queues: {style: mrc, mark: 10%..50%}\n"
			"engine: {evs: 8, frame: 78, rto: 2ms, cc: none}\n"
			"timeline: {50us: p1s1 down, 100us: [p1s1 up]}\n"
			"columns: [mrc, ecmp]\n"
			"seeds: [1, 2, 3]\n"
			"time: 5ms\n"
			"sample: 10us\n",
		"s.yaml");

	EXPECT_EQ(s.name, "s");
	EXPECT_EQ(s.shape.all_hosts(), 8U);
	EXPECT_EQ(s.shape.of(Kind::host_down).mark_max, 0U);
	EXPECT_GT(s.shape.of(Kind::t0_up).mark_max, 0U);
	EXPECT_EQ(s.settings.extra, 78);
	EXPECT_EQ(s.settings.cc, &mrc_cc_none);
	EXPECT_EQ(s.faults.size(), 2U);
	EXPECT_EQ(s.faults[1].at, 100 * us);
	EXPECT_EQ(s.columns.size() * s.seeds.size(), 6U);
	EXPECT_EQ(s.settings.end, 5000 * us);
}

/* Lengths of queues as htsim has them: 29 packets of 4150 bytes, marks from 6
 * to 24. */
TEST(Scenario, derivesQueuesFromTheBdp)
{
	const Scenario s = parse_scenario(
		"clos: {t0: 4, t1: 4, hosts: 4, rate: 100gbit, link_delay: 1us,"
		" switch_delay: 0}\n"
		"queues: htsim\n" +
			small_traffic,
		"s.yaml");

	for (const Kind k : {Kind::t0_up, Kind::t1_down, Kind::host_down}) {
		EXPECT_EQ(s.shape.of(k).trim, 120'350U);
		EXPECT_EQ(s.shape.of(k).mark_min, 24'900U);
		EXPECT_EQ(s.shape.of(k).mark_max, 99'600U);
	}
	EXPECT_EQ(derive(s.shape, s.settings).base_rtt, 9349U);
}

TEST(Scenario, errorsNameTheLine)
{
	EXPECT_EQ(error_of(clos), "s.yaml:1: \"traffic\" is missing");
	EXPECT_EQ(error_of(small_traffic),
		  "s.yaml:1: a scenario has one of fabric, topo and clos; here "
		  "are 0");
	EXPECT_EQ(error_of(clos + clos + small_traffic),
		  "s.yaml:2: a scenario has \"clos\" twice");
	EXPECT_EQ(error_of(clos + "traffic: {permutation: {size: 0}}\n"),
		  "s.yaml:2: size: 0 is out of range: 1 to 2147483648");
	EXPECT_EQ(error_of(clos + "traffic: {storm: {size: 1}}\n"),
		  "s.yaml:2: storm: \"storm\" is none of permutation, "
		  "sendrecv, incast, alltoall, allreduce, matrix, goal");
	EXPECT_EQ(error_of(clos + small_traffic + "columns: dcqcn\n"),
		  "s.yaml:3: columns: \"dcqcn\" is none of mrc, ecmp, "
		  "oblivious, roce");
	EXPECT_EQ(error_of(clos + small_traffic + "timeline: {1us: p9 down}\n"),
		  "s.yaml:3: \"p9\" is no link and no node of the fabric");
	EXPECT_NE(error_of("clos: {t0: 2, hosts: 2, t1: 1, rate: 0}\n" +
			   small_traffic),
		  "");
	EXPECT_NE(error_of("clos: {t0: 2, hosts: 2, t1: 0, rate: 1gbit}\n" +
			   small_traffic)
			  .find("not connected"),
		  std::string::npos);
	EXPECT_NE(error_of(clos + small_traffic + "engine: {mtu: 1000}\n")
			  .find("path MTU"),
		  std::string::npos);
}

TEST(Scenario, tooManyHostsForTheTraffic)
{
	const Scenario s = parse_scenario(
		clos + "traffic: {incast: {senders: 8, size: 1k}}\n", "s.yaml");

	EXPECT_EQ(message_of([&] { run_scenario(s, {}); }),
		  "s.yaml:2: 8 senders and a receiver of 8 hosts");
}

TEST(Scenario, refusesWhatDoesNotFitIntoMemory)
{
	const Scenario s = parse_scenario(
		"clos: {planes: 8, t0: 512, t1: 256, hosts: 256, rate: "
		"100gbit}\ntraffic: {sendrecv: {size: 2m, by: 256}}\n",
		"s.yaml");
	RunOptions o;

	o.memory = u64{2} << 30;

	const std::string e = message_of([&] { run_scenario(s, o); });

	EXPECT_NE(e.find("2048 MiB are available"), std::string::npos) << e;
}

TEST(Scenario, runsSideBySideAsOneAfterTheOther)
{
	const Scenario s = parse_scenario(
		clos + small_traffic +
			"columns: [mrc, oblivious]\nseeds: [1, 2]\n",
		"s.yaml");
	RunOptions o;
	const std::vector<RunResult> one = run_scenario(s, o);

	o.jobs = 3;
	o.threads = 2;

	const std::vector<RunResult> more = run_scenario(s, o);

	ASSERT_EQ(one.size(), 4U);
	for (std::size_t n = 0; n < 4; n++) {
		EXPECT_EQ(one[n].digest, more[n].digest);
		EXPECT_EQ(one[n].wrong, "");
		EXPECT_EQ(one[n].totals.finished, 8U);
	}
	EXPECT_NE(one[0].digest, one[1].digest);
}

/* Those that are installed; the smallest one runs. */
TEST(Scenario, examplesAreRight)
{
	for (const char *name : {"incast", "permutation", "plane"}) {
		const Scenario s = read_scenario(
			std::string(SCENARIOS_DIR "/") + name + ".yaml");

		EXPECT_EQ(s.name, name);
		EXPECT_NE(plan_text(s), "");
	}

	const Scenario s = read_scenario(SCENARIOS_DIR "/incast.yaml");

	EXPECT_EQ(run_scenario(s, {}).at(0).totals.finished, 15U);
}

TEST(Report, statesWhatHappened)
{
	const Scenario s = parse_scenario(
		clos + "traffic: {incast: {senders: 7, size: 1m}}\n"
		       "sample: 50us\n",
		"s.yaml");
	const RunResult r = run_once(s, Column::mrc, 1);
	const nlohmann::ordered_json j = json_of(r);

	EXPECT_EQ(j["finished"], 7);
	EXPECT_EQ(j["fct"]["n"], 7);
	EXPECT_GT(j["fct"]["max_us"], j["fct"]["min_us"]);
	EXPECT_EQ(j["planes"].size(), 2U);
	EXPECT_GT(j["samples"].size(), 3U);
	EXPECT_LE(j["samples"].back()["placed"], 7 << 20);

	const std::string csv = csv_of({r});

	EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 8);
	EXPECT_NE(text_of(r).find("7 of 7 flows"), std::string::npos);
}

TEST(Report, sharesOfAllFlows)
{
	std::vector<u64> v;

	for (u64 n = 100; n > 0; n--)
		v.push_back(n);

	const Spread s = spread_of(v);

	EXPECT_EQ(s.min, 1U);
	EXPECT_EQ(s.p50, 50U);
	EXPECT_EQ(s.p99, 99U);
	EXPECT_EQ(s.max, 100U);
	EXPECT_DOUBLE_EQ(s.mean, 50.5);
	EXPECT_EQ(spread_of({}).n, 0U);
}
} // namespace
} // namespace mrcsim
