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

/* A buffer can be longer than a message, a part of it cannot. */
TEST(Scenario, buffersAreSentInParts)
{
	const std::string start = clos + "traffic: {allreduce: {size: ";
	const Scenario s = parse_scenario(start + "16g}}\n", "s.yaml");
	const Traffic traffic = s.traffic(1);

	ASSERT_EQ(traffic.flows.size(), 14U * 8);
	for (const Flow &f : traffic.flows)
		ASSERT_EQ(f.bytes, 2U << 30);
	EXPECT_EQ(error_of(start + "2048g}}\n"), "");
	EXPECT_EQ(error_of(start + "2049g}}\n"),
		  "s.yaml:2: size: 2049 is out of range: 1 to 2048");
	const Scenario large = parse_scenario(start + "17g}}\n", "s.yaml");
	EXPECT_NE(message_of([&] { large.traffic(1); })
			  .find("messages of 2281701376 bytes"),
		  std::string::npos);
	EXPECT_EQ(error_of(clos + "traffic: {permutation: {size: 3g}}\n"),
		  "s.yaml:2: size: 3 is out of range: 1 to 2");
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
		  "oblivious, roce, roce-pfc");
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

TEST(Scenario, readsRoceAndSeries)
{
	const Scenario s = parse_scenario(
		clos + small_traffic +
			"roce: {xoff: 100, xon: 90, dcqcn: {timer: 300us, "
			"alpha_timer: 1us, bytes: 32767, cnp: 4us, between: "
			"5us, ai: 5mbit, hai: 50mbit, recovery: 1, gain: 7}}\n"
			"series: {flows: [1, 8], queues: [\"p1l1:h1\", "
			"\"h2:p2\"]}\n"
			"sample: 10us\n"
			"engine: {host_delay: 2us}\n"
			"columns: roce-pfc\n",
		"s.yaml");
	const DcqcnCfg &d = s.settings.dcqcn;

	EXPECT_EQ(s.settings.pfc_xoff, 100U);
	EXPECT_EQ(s.settings.pfc_xon, 90U);
	EXPECT_TRUE(d.on);
	EXPECT_EQ(d.timer, 300 * us);
	EXPECT_EQ(d.alpha_timer, 1 * us);
	EXPECT_EQ(d.bytes, 32767U);
	EXPECT_EQ(d.cnp_period, 4 * us);
	EXPECT_EQ(d.between, 5 * us);
	EXPECT_EQ(d.ai, 5'000'000U);
	EXPECT_EQ(d.hai, 50'000'000U);
	EXPECT_EQ(d.recovery, 1U);
	EXPECT_EQ(d.gain, 7U);
	EXPECT_EQ(s.settings.host_delay, 2 * us);
	EXPECT_EQ(s.settings.series.flows, (std::vector<u32>{0, 7}));
	EXPECT_EQ(s.settings.series.links,
		  (std::vector<u32>{s.shape.named("p1l1:h1")[0],
				    s.shape.named("h2:p2")[0]}));
	EXPECT_FALSE(parse_scenario(clos + small_traffic +
					    "roce: {dcqcn: false}\n",
				    "s.yaml")
			     .settings.dcqcn.on);
}

TEST(Scenario, errorsOfRoceAndSeriesNameTheLine)
{
	const std::string base = clos + small_traffic;

	EXPECT_EQ(error_of(base + "roce: {xoff: 5, xon: 5}\n"),
		  "s.yaml:3: \"xon\" is less than \"xoff\"");
	EXPECT_EQ(error_of(base + "roce: {dcqcn: {timer: 0}}\n"),
		  "s.yaml:3: a timer of no time");
	EXPECT_EQ(error_of(base + "series: {flows: all}\n"),
		  "s.yaml:1: \"series\" needs \"sample\"");
	EXPECT_EQ(error_of(base +
			   "sample: 1us\nseries: {queues: \"p9l1:h1\"}\n"),
		  "s.yaml:4: \"p9l1:h1\" is no link of the fabric; one is "
		  "named like p1l1:h1");
	EXPECT_EQ(error_of(clos + "traffic: {permutation: {size: 1000, "
				  "repeat: 3}}\n"),
		  "s.yaml:2: \"repeat\" needs \"every\"");
	EXPECT_NE(error_of(clos + "traffic: {allreduce: {size: 1000, "
				  "repeat: 3, every: 1us}}\n"),
		  "");

	const Scenario s = parse_scenario(
		base + "sample: 1us\nseries: {flows: 9}\n", "s.yaml");

	EXPECT_NE(message_of([&] { s.traffic(1); })
			  .find("series of flow 9; they are 1 to 8"),
		  std::string::npos);
}

TEST(Scenario, stripesMessagesOverQueuePairs)
{
	const Scenario s = parse_scenario(
		clos + "traffic: {allreduce: {size: 80000, qps: 3}}\n"
		       "columns: [mrc, roce]\n",
		"s.yaml");
	const Traffic t = s.traffic(1);
	u64 bytes = 0;

	/* 14 steps of 8 hosts, 10,000 bytes each. */
	ASSERT_EQ(t.flows.size(), 14U * 8 * 3);
	EXPECT_EQ(t.connections, 8U * 3);
	for (const Flow &f : t.flows)
		bytes += f.bytes;
	EXPECT_EQ(bytes, 14U * 8 * 10'000);
	for (const RunResult &r : run_scenario(s, {})) {
		EXPECT_EQ(r.totals.finished, r.flows);
		EXPECT_EQ(r.totals.placed, bytes);
		EXPECT_EQ(r.wrong, "");
		/* A step begins when all parts of the one before are there. */
		for (u32 step = 1; step < 14; step++)
			for (u32 h = 0; h < 8; h++) {
				const u32 f = (step * 8 + h) * 3;
				const u32 b =
					((step - 1) * 8 + (h + 7) % 8) * 3;
				u64 last = 0;

				for (u32 i = 0; i < 3; i++)
					last = std::max(last,
							r.rows[b + i].received);
				for (u32 i = 0; i < 3; i++)
					EXPECT_EQ(r.rows[f + i].began, last);
			}
	}
	EXPECT_NE(message_of([&] {
			  parse_scenario(clos + "traffic: {sendrecv: {size: 2, "
						"qps: 3}}\n",
					 "s.yaml")
				  .traffic(1);
		  }),
		  "");
}

TEST(Scenario, repeatsMessages)
{
	const Scenario s = parse_scenario(
		clos + "traffic: {sendrecv: {size: 5000, repeat: 3, every: "
		       "10us, start: 1us}}\n"
		       "engine: {host_delay: 500ns}\n",
		"s.yaml");
	const Traffic t = s.traffic(1);
	const RunResult r = run_scenario(s, {})[0];

	ASSERT_EQ(t.flows.size(), 24U);
	EXPECT_EQ(t.connections, 8U);
	EXPECT_EQ(r.totals.finished, 24U);
	for (u32 n = 0; n < 24; n++) {
		EXPECT_EQ(r.rows[n].began, (1 + n / 8 * 10) * us);
		/* The way to the NIC is part of the time. */
		EXPECT_GT(r.rows[n].received - r.rows[n].began, us / 2 + 2 * us);
	}
}

TEST(Scenario, samplesFlowsAndQueues)
{
	const Scenario s = parse_scenario(
		clos + "traffic: {incast: {size: 200000, senders: 7}}\n"
		       "series: {flows: all, queues: \"p1l1:h1\"}\n"
		       "sample: 2us\ncolumns: [mrc, roce-pfc]\n",
		"s.yaml");

	for (const RunResult &r : run_scenario(s, {})) {
		u64 longest = 0, before = 0;

		ASSERT_GT(r.samples.size(), 10U);
		for (const Sample &one : r.samples) {
			u64 sum = 0;

			ASSERT_EQ(one.flows.size(), 7U);
			for (const u64 bytes : one.flows)
				sum += bytes;
			EXPECT_EQ(sum, one.placed);
			EXPECT_GE(sum, before);
			before = sum;
			ASSERT_EQ(one.queues.size(), 1U);
			longest = std::max(longest, one.queues[0]);
		}
		EXPECT_GT(longest, 10'000U);
		EXPECT_LT(longest, 1'000'000U);
	}
}

/* A job array has the runs of one call, and says what is missing. */
TEST(Scenario, isMergedFromParts)
{
	const Scenario s = parse_scenario(clos + small_traffic +
						  "columns: [mrc, ecmp]\n"
						  "seeds: [1, 2, 3]\n",
					  "s.yaml");
	std::vector<std::pair<std::string, std::string>> files;
	RunOptions o;

	for (o.parts = 4, o.part = 1; o.part <= o.parts; o.part++) {
		const std::vector<RunResult> runs = run_scenario(s, o);

		EXPECT_EQ(runs.size(), o.part <= 2 ? 2U : 1U);
		files.emplace_back(std::to_string(o.part),
				   json_of_runs(s, o, runs).dump());
	}

	const auto all = merged({files[2], files[0], files[3], files[1]});
	const std::vector<RunResult> once = run_scenario(s, {});

	ASSERT_EQ(all.at("runs").size(), once.size());
	for (std::size_t n = 0; n < once.size(); n++) {
		EXPECT_EQ(all["runs"][n]["run"], n + 1);
		EXPECT_EQ(all["runs"][n]["digest"], json_of(once[n])["digest"]);
		EXPECT_EQ(all["runs"][n]["seed"], once[n].seed);
	}
	EXPECT_EQ(message_of([&] { merged({files[0], files[2], files[3]}); }),
		  "run 2 is missing");
	EXPECT_EQ(message_of([&] { merged({files[0], files[0]}); }),
		  "1: run 1 is there twice");
	EXPECT_NE(message_of([&] { merged({{"x", "{}"}}); }), "");
	EXPECT_NE(message_of([&] { merged({{"x", "["}}); }), "");
}
} // namespace
} // namespace mrcsim
