// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Files of drills: every key, what is set without it, and the examples. */
#include <filesystem>

#include <gtest/gtest.h>

#include "drill_text.hpp"
#include "fabric_file.hpp"
#include "fault.hpp"
#include "profiles.hpp"

namespace mrclab
{
namespace
{
namespace fs = std::filesystem;

constexpr uint64_t ms = 1000000;
constexpr uint64_t s = 1000 * ms;

using Words = std::vector<std::string>;

/* Its only requirement. */
Must must_of(const std::string &keys)
{
	const Drill d = drill_of(plain_drill + "must: [{" + keys + "}]\n");

	return d.musts.at(0);
}

/* Its only flow, from these keys of traffic. */
Flow flow_of(const std::string &keys)
{
	const Drill d = drill_of("drill: d\nfabric: f.yaml\ntime: 10s\n"
				 "traffic: {w: {" +
				 keys + "}}\n");

	return d.flows.at(0);
}
} // namespace

TEST(DrillFile, HasDefaults)
{
	const Drill d = drill_of(plain_drill);

	EXPECT_EQ(d.file, "d.yaml");
	EXPECT_EQ(d.name, "d");
	EXPECT_EQ(d.title, "d");
	EXPECT_EQ(d.figure + d.published + d.about, "");
	EXPECT_EQ(d.time, 10 * s);
	EXPECT_EQ(d.sample, 100 * ms);
	EXPECT_EQ(d.baseline.from, 1 * s);
	EXPECT_EQ(d.baseline.to, 3 * s);
	EXPECT_FALSE(d.evs);
	EXPECT_TRUE(d.shown.empty());
	EXPECT_TRUE(d.musts.empty());
	ASSERT_EQ(d.stages.size(), 1u);
	EXPECT_EQ(d.stages[0].devices, Devices::mrc);
	EXPECT_EQ(d.stages[0].fabric_file, "f.yaml");
	EXPECT_EQ(d.stages[0].fabric_text, plain_fabric);
	EXPECT_TRUE(d.stages[0].timeline.empty());
	ASSERT_EQ(d.flows.size(), 1u);
	EXPECT_EQ(d.flows[0].name, "w");
	EXPECT_EQ(d.flows[0].start, 0u);
	EXPECT_EQ(d.flows[0].ending, Ending::kill);
	EXPECT_FALSE(d.flows[0].by_sender);
}

TEST(DrillFile, NeedsNoBaselineWithoutRequirements)
{
	const Drill d = drill_of("drill: d\nfabric: f.yaml\ntime: 1s\n"
				 "traffic: {w: {command: true, hosts: h1}}\n");

	EXPECT_EQ(d.baseline.to, 0u);
}

TEST(DrillFile, HasTexts)
{
	const Drill d = drill_of(plain_drill +
				 "title: A title, of words\n"
				 "about: why it is so\n"
				 "paper: {figure: 9a, values: \"1, 2\"}\n"
				 "sample: 20ms\n"
				 "show: [w, total, plane 1, \"p1*:h?\"]\n");

	EXPECT_EQ(d.title, "A title, of words");
	EXPECT_EQ(d.about, "why it is so");
	EXPECT_EQ(d.figure, "9a");
	EXPECT_EQ(d.published, "1, 2");
	EXPECT_EQ(d.sample, 20 * ms);
	EXPECT_EQ(d.shown, (Words{"w", "total", "plane 1", "p1*:h?"}));
	EXPECT_EQ(drill_of(plain_drill + "show: flows\n").shown,
		  Words{"flows"});
}

TEST(DrillFile, HasJobsOfStreams)
{
	const Flow f = flow_of("program: ib_write_bw, from: h1, to: h3, "
			       "qps: 7, size: 4k, both_ways: on, "
			       "options: -t 9  -n 3, start: 0");

	ASSERT_EQ(f.clients.size(), 1u);
	ASSERT_EQ(f.servers.size(), 1u);
	EXPECT_EQ(f.clients[0].host, 1u);
	EXPECT_EQ(f.servers[0].host, 3u);
	const Words &w = f.clients[0].words;

	for (const Words &pair : {Words{"-q", "7"}, Words{"-s", "4096"},
				  Words{"-t", "9"}, Words{"-n", "3"}})
		EXPECT_NE(std::search(w.begin(), w.end(), pair.begin(),
				      pair.end()),
			  w.end())
			<< pair[0];
	EXPECT_NE(std::find(w.begin(), w.end(), "-b"), w.end());
}

TEST(DrillFile, HasJobsOfCommands)
{
	const Flow f = flow_of("command: \"prog -r {rank}\", "
			       "hosts: [h4, h2], end: interrupt");

	ASSERT_EQ(f.clients.size(), 2u);
	EXPECT_TRUE(f.servers.empty());
	EXPECT_EQ(f.clients[0].host, 4u);
	EXPECT_EQ(f.clients[1].host, 2u);
	EXPECT_EQ(f.clients[1].words, (Words{"prog", "-r", "1"}));
	EXPECT_EQ(f.ending, Ending::interrupt);
	EXPECT_EQ(flow_of("command: prog, hosts: h1").ending, Ending::wait);
	EXPECT_EQ(flow_of("command: prog, hosts: h1, end: wait").ending,
		  Ending::wait);
	EXPECT_EQ(flow_of("command: prog, hosts: h1, end: kill").ending,
		  Ending::kill);
}

TEST(DrillFile, HasFlowsOfLists)
{
	const Drill d = drill_of(
		"drill: d\nfabric: f.yaml\ntime: 10s\n"
		"traffic:\n"
		"  a: {program: ib_write_bw, from: [h1, h2], to: [h3, h4]}\n"
		"  b: {program: mrcperf, from: [h3, h4], to: h1, start: 5s}\n");

	ASSERT_EQ(d.flows.size(), 4u);
	EXPECT_EQ(d.flows[0].name, "a 1");
	EXPECT_EQ(d.flows[1].name, "a 2");
	EXPECT_EQ(d.flows[2].name, "b 1");
	EXPECT_EQ(d.flows[3].name, "b 2");
	EXPECT_EQ(d.flows[1].clients[0].host, 2u);
	EXPECT_EQ(d.flows[1].servers[0].host, 4u);
	EXPECT_EQ(d.flows[3].servers[0].host, 1u);
	EXPECT_EQ(d.flows[1].start, 0u);
	EXPECT_EQ(d.flows[3].start, 5 * s);
	/* The flows to h1 can only be told apart by their senders. */
	EXPECT_FALSE(d.flows[0].by_sender);
	EXPECT_TRUE(d.flows[3].by_sender);
	/* Servers of one host need different ports. */
	EXPECT_NE(d.flows[2].servers[0].port, d.flows[3].servers[0].port);
}

TEST(DrillFile, HasRequirements)
{
	const Must worst = must_of("what: w, from: 3s, worst: 60%");
	const Must part =
		must_of("what: total, from: 3s, to: 8s, mean: 97.5%, of: 7/8");
	const Must rate =
		must_of("what: plane 2, from: 0, mean: 90, against: 40mbit, "
			"of: 2/4");
	const Must fair = must_of("what: flows, from: 2s, fair: 0.99");
	const Must reaches =
		must_of("what: \"p*l*:s1\", from: 8s, reaches: 50%, within: "
			"200ms");

	EXPECT_EQ(worst.kind, Must::Kind::worst);
	EXPECT_EQ(worst.what, "w");
	EXPECT_EQ(worst.during.from, 3 * s);
	EXPECT_EQ(worst.during.to, 10 * s); /* the drill's end */
	EXPECT_EQ(worst.share, 0.6);
	EXPECT_EQ(worst.part, worst.parts);
	EXPECT_EQ(worst.rate, 0u);
	EXPECT_EQ(worst.within, 0u);
	EXPECT_EQ(worst.line, 7);
	EXPECT_EQ(part.kind, Must::Kind::mean);
	EXPECT_EQ(part.during.to, 8 * s);
	EXPECT_EQ(part.share, 0.975);
	EXPECT_EQ(part.part, 7u);
	EXPECT_EQ(part.parts, 8u);
	EXPECT_EQ(rate.share, 0.9);
	EXPECT_EQ(rate.rate, 40000000u);
	EXPECT_EQ(rate.part, 2u);
	EXPECT_EQ(rate.parts, 4u);
	EXPECT_EQ(fair.kind, Must::Kind::fair);
	EXPECT_EQ(fair.share, 0.99);
	EXPECT_EQ(must_of("what: w, fair: 1").share, 1);
	EXPECT_EQ(must_of("what: w, fair: 1.0").share, 1);
	EXPECT_EQ(must_of("what: w, fair: 0.07").share, 0.07);
	EXPECT_EQ(reaches.kind, Must::Kind::reaches);
	EXPECT_EQ(reaches.share, 0.5);
	EXPECT_EQ(reaches.within, 200 * ms);
}

TEST(DrillFile, MayHaveItsTimeBehindWhatNeedsIt)
{
	const Drill d = drill_of("must: [{what: w, from: 3s, fair: 0.5}]\n"
				 "rxe: {timeline: {2s: p1l1 down}}\n"
				 "timeline: {3s: p1l1 down}\n"
				 "traffic: {w: {command: x, hosts: h1}}\n"
				 "time: 4s\nfabric: both.yaml\ndrill: d\n");

	EXPECT_EQ(d.musts[0].during.to, 4 * s);
	EXPECT_EQ(d.stages[0].timeline[0].at, 3 * s);
	EXPECT_EQ(d.stages[1].timeline[0].at, 2 * s);
}

TEST(DrillFile, HasATimeline)
{
	const Drill d =
		drill_of(plain_drill + "timeline:\n"
				       "  5s: [p1l1 up, \"p1*:s1 loss 1%\"]\n"
				       "  4s: p1l1 down\n");
	const std::vector<Step> &t = d.stages[0].timeline;

	ASSERT_EQ(t.size(), 2u);
	EXPECT_EQ(t[0].at, 4 * s);
	EXPECT_EQ(t[0].text, "p1l1 down");
	EXPECT_EQ(t[1].faults, (std::vector<Words>{{"p1l1", "up"},
						   {"p1*:s1", "loss", "1%"}}));
}

TEST(DrillFile, HasFilesBesideItself)
{
	const auto named = [](const std::string &file,
			      const std::string &fabric) {
		std::string read;

		parse_drill("drill: d\nfabric: " + fabric +
				    "\ntime: 1s\n"
				    "traffic: {w: {command: x, hosts: h1}}\n",
			    file, [&read](const std::string &f) {
				    read = f;
				    return plain_fabric;
			    });
		return read;
	};

	EXPECT_EQ(named("d.yaml", "f.yaml"), "f.yaml");
	EXPECT_EQ(named("d.yaml", "a/f.yaml"), "a/f.yaml");
	EXPECT_EQ(named("x/d.yaml", "f.yaml"), "x/f.yaml");
	EXPECT_EQ(named("/x/y/d.yaml", "a/f.yaml"), "/x/y/a/f.yaml");
	EXPECT_EQ(named("x/d.yaml", "../f.yaml"), "x/../f.yaml");
	EXPECT_EQ(named("x/d.yaml", "/f.yaml"), "/f.yaml");
}

TEST(DrillFile, MayRunWithRxeToo)
{
	const std::string both = "drill: d\nfabric: both.yaml\ntime: 9s\n"
				 "traffic: {w: {command: x, hosts: h1}}\n"
				 "timeline: {3s: p2l1 down}\n";
	const Drill same = drill_of(both + "rxe: {}\n");
	const Drill other = drill_of(
		both + "rxe: {fabric: ecmp.yaml, timeline: {4s: h1 down}}\n");
	const Drill quiet = drill_of(both + "rxe: {timeline: {}}\n");

	ASSERT_EQ(same.stages.size(), 2u);
	EXPECT_EQ(same.stages[0].devices, Devices::mrc);
	EXPECT_EQ(same.stages[1].devices, Devices::rxe);
	EXPECT_EQ(same.stages[1].fabric_file, "both.yaml");
	EXPECT_EQ(same.stages[1].timeline[0].text, "p2l1 down");
	EXPECT_EQ(other.stages[0].fabric_file, "both.yaml");
	EXPECT_EQ(other.stages[1].fabric_file, "ecmp.yaml");
	EXPECT_EQ(other.stages[0].timeline[0].text, "p2l1 down");
	EXPECT_EQ(other.stages[1].timeline[0].text, "h1 down");
	EXPECT_EQ(quiet.stages[0].timeline.size(), 1u);
	EXPECT_TRUE(quiet.stages[1].timeline.empty());
	for (const Drill &d : {same, other, quiet}) {
		EXPECT_EQ(parse_fabric(d.stages[0].fabric_text, "").devices,
			  Devices::mrc);
		EXPECT_EQ(parse_fabric(d.stages[1].fabric_text, "").devices,
			  Devices::rxe);
	}
}

TEST(DrillFile, CountsEvs)
{
	const Drill d = drill_of(plain_drill +
				 "evs: on\nsample: 10ms\nshow: [w, evs]\n");

	EXPECT_TRUE(d.evs);
	EXPECT_EQ(d.sample, 10 * ms);
	EXPECT_EQ(d.shown, (Words{"w", "evs"}));
	EXPECT_FALSE(drill_of(plain_drill + "evs: off\n").evs);
}

/* Only the devices differ, and rxe has no profiles, whatever style the file
 * has. */
TEST(DrillFile, HasTheSameFabricForRxe)
{
	const char *fabrics[] = {
		"name: a\nplanes: 1\nt0: 1\nt1: 1\nhosts: 2\n"
		"forwarding: ecmp\nblock4: \"10.10\"\nprefix: \"\"\n"
		"links:\n  host: &l {rate: 40mbit, queue: 1m}\n"
		"  fabric: *l\n  \"*:h?\": {delay: 1ms}\n",
		"{\"name\": \"a\", \"planes\": 1, \"t0\": 1, \"t1\": 1, "
		"\"hosts\": 2, \"forwarding\": \"ecmp\", \"block\": \"fd01\"}",
		"---\nname: a\nplanes: 1\nt0: 1\nt1: 1\nhosts: 2\n"
		"forwarding: srv6+ecmp\nprofiles: {evs: \"on\", cc: "
		"{algorithm: a}}\n...\n",
	};

	for (const char *text : fabrics) {
		Texts texts;

		texts.all["f.yaml"] = text;
		SCOPED_TRACE(text);
		const Drill d =
			drill_of("drill: d\nfabric: f.yaml\ntime: 9s\nrxe: {}\n"
				 "traffic: {w: {command: x, hosts: h1}}\n",
				 texts);
		const Fabric mrc = parse_fabric(d.stages[0].fabric_text, "");
		const Fabric rxe = parse_fabric(d.stages[1].fabric_text, "");

		EXPECT_EQ(rxe.devices, Devices::rxe);
		EXPECT_EQ(rxe.name, mrc.name);
		EXPECT_EQ(rxe.prefix, mrc.prefix);
		EXPECT_EQ(rxe.block, mrc.block);
		EXPECT_EQ(rxe.block4, mrc.block4);
		EXPECT_EQ(rxe.forwarding, mrc.forwarding);
		EXPECT_EQ(rxe.host_links, mrc.host_links);
		EXPECT_EQ(rxe.fabric_links, mrc.fabric_links);
		ASSERT_EQ(rxe.rules.size(), mrc.rules.size());
		for (std::size_t i = 0; i < rxe.rules.size(); i++)
			EXPECT_EQ(rxe.rules[i].props, mrc.rules[i].props);
		EXPECT_FALSE(rxe.profiles.evs);
		EXPECT_TRUE(rxe.profiles.cc.empty());
	}
}

TEST(DrillFile, MayBeJson)
{
	EXPECT_EQ(drill_of("{\"drill\": \"d\", \"fabric\": \"f.yaml\", "
			   "\"time\": \"3s\", \"traffic\": {\"w\": "
			   "{\"command\": \"x\", \"hosts\": [\"h1\"]}}}")
			  .flows[0]
			  .clients[0]
			  .host,
		  1u);
}

TEST(DrillFile, OfTheExamplesAreDrills)
{
	const fs::path dir = MRCLAB_DIR "/drills";
	std::size_t drills = 0, with_rxe = 0;
	std::set<std::string> fabrics;

	for (const auto &entry : fs::directory_iterator(dir)) {
		if (!entry.is_regular_file())
			continue;
		SCOPED_TRACE(entry.path());
		const Drill d = read_drill(entry.path());

		EXPECT_EQ(entry.path().extension(), ".yaml");
		EXPECT_EQ(d.name, entry.path().stem());
		EXPECT_NE(d.title, d.name);
		EXPECT_NE(d.figure, "");
		EXPECT_NE(d.published, "");
		EXPECT_FALSE(d.musts.empty());
		for (const Stage &stage : d.stages)
			fabrics.insert(fs::path(stage.fabric_file).filename());
		with_rxe += d.stages.size() - 1;
		drills++;
	}
	EXPECT_GE(drills, 18u);
	EXPECT_GE(with_rxe, 6u);
	/* There are no others, and each is named after its file. */
	for (const auto &entry : fs::directory_iterator(dir / "fabrics")) {
		const Fabric f = read_fabric(entry.path());

		EXPECT_EQ(f.name, entry.path().stem());
		EXPECT_NO_THROW(check_profiles(f)) << entry.path();
		EXPECT_EQ(fabrics.erase(entry.path().filename()), 1u)
			<< entry.path() << " is in no drill";
	}
	EXPECT_TRUE(fabrics.empty());
}
} // namespace mrclab
