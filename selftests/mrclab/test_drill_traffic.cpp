// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Traffic among all hosts of a list, and programs that measure latency. */
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "drill_text.hpp"

namespace mrclab
{
namespace
{
/* The traffic of a drill, whose lines begin in line 5. */
std::string with(const std::string &traffic, const std::string &more = "")
{
	return "drill: d\nfabric: f.yaml\ntime: 10s\ntraffic:\n" + traffic +
	       more;
}

std::vector<Flow> flows_of(const std::string &traffic)
{
	return drill_of(with(traffic)).flows;
}

/* What is wrong with traffic t in line 5. */
std::string error_of(const std::string &keys)
{
	const std::string why = drill_error(with("  t: {" + keys + "}\n"));
	const std::string begin = "d.yaml:5: ";

	EXPECT_EQ(why.find(begin), 0u) << keys << ": " << why;
	return why.empty() ? why : why.substr(begin.size());
}

/* And with a requirement, in line 8. */
std::string must_error(const std::string &keys)
{
	const std::string why = drill_error(
		with("  w: {program: ib_write_bw, from: h1, to: h3}\n"
		     "  near: {program: ib_write_lat, from: h1, to: h2}\n"
		     "  far: {program: ib_read_lat, from: [h1, h2], to: h4}\n",
		     "must: [{" + keys + "}]\n"));
	const std::string begin = "d.yaml:8: ";

	EXPECT_TRUE(why.empty() || why.find(begin) == 0u) << keys << why;
	return why.empty() ? why : why.substr(begin.size());
}

std::vector<uint32_t> hosts_of(const std::vector<Job> &jobs)
{
	std::vector<uint32_t> all;

	for (const Job &j : jobs)
		all.push_back(j.host);
	return all;
}

/* Hosts h1 to hN with blanks and commas. */
std::string hosts(uint32_t n)
{
	std::vector<std::string> names;

	for (uint32_t i = 1; i <= n; i++)
		names.push_back(fmt::format("h{}", i));
	return fmt::format("{}", fmt::join(names, ", "));
}

/* All-to-all of the first hosts of a fabric of 64. */
std::string error_of_many(uint32_t n)
{
	Texts texts;

	texts.all["f.yaml"] = "name: x\nplanes: 1\nt0: 1\nt1: 0\nhosts: 64\n"
			      "forwarding: ecmp\n";
	return drill_error(
		with("  a: {program: mrcperf, among: [" + hosts(n) + "]}\n"),
		texts);
}
} // namespace

TEST(DrillTraffic, AmongHostsIsAFlowForEachThatReceives)
{
	const auto flows =
		flows_of("  a: {program: ib_write_bw, among: [h4, h1, h2], "
			 "start: 0, size: 4k}\n");

	ASSERT_EQ(flows.size(), 3u);
	for (std::size_t i = 0; i < flows.size(); i++) {
		const Flow &f = flows[i];

		EXPECT_EQ(f.name, fmt::format("a {}", i + 1));
		EXPECT_EQ(f.ending, Ending::kill);
		EXPECT_EQ(f.message, 4096u);
		EXPECT_FALSE(f.by_sender);
		EXPECT_EQ(f.senders, hosts_of(f.clients));
		EXPECT_EQ(f.servers.size(), 2u);
	}
	EXPECT_EQ(flows[0].counted, (std::vector<uint32_t>{4}));
	EXPECT_EQ(flows[1].counted, (std::vector<uint32_t>{1}));
	EXPECT_EQ(flows[2].counted, (std::vector<uint32_t>{2}));
	EXPECT_EQ(hosts_of(flows[1].clients), (std::vector<uint32_t>{4, 2}));
	EXPECT_EQ(hosts_of(flows[1].servers), (std::vector<uint32_t>{1, 1}));
	/* The client's last word is its server. */
	EXPECT_EQ(flows[1].clients[1].words.back(), "{mgmt:1}");
}

/* Who reads is where the data goes to. */
TEST(DrillTraffic, AmongHostsMayRead)
{
	const auto flows =
		flows_of("  a: {program: ib_read_bw, among: [h1, h2, h3]}\n");

	ASSERT_EQ(flows.size(), 3u);
	EXPECT_EQ(flows[2].counted, (std::vector<uint32_t>{3}));
	EXPECT_EQ(hosts_of(flows[2].servers), (std::vector<uint32_t>{1, 2}));
	EXPECT_EQ(hosts_of(flows[2].clients), (std::vector<uint32_t>{3, 3}));
	EXPECT_EQ(flows[2].message, 0u);
}

/* Each stream of a drill has a port of its own, whatever is between them. */
TEST(DrillTraffic, HasDifferentPorts)
{
	const auto flows = flows_of(
		"  a: {program: ib_write_bw, among: [h1, h2, h3, h4]}\n"
		"  c: {program: ib_write_lat, from: [h1, h2], to: h4}\n"
		"  d: {program: ib_send_lat, from: h1, to: h4}\n");
	std::set<uint16_t> ports;
	std::set<std::string> words;

	for (const Flow &f : flows)
		for (std::size_t i = 0; i < f.servers.size(); i++) {
			const std::string port =
				std::to_string(f.servers[i].port);

			EXPECT_TRUE(ports.insert(f.servers[i].port).second);
			for (const Job &j : {f.servers[i], f.clients[i]})
				EXPECT_NE(std::find(j.words.begin(),
						    j.words.end(), port),
					  j.words.end());
		}
	EXPECT_EQ(ports.size(), 15u);
	EXPECT_EQ(*ports.begin(), 18515);
	EXPECT_EQ(*ports.rbegin(), 18529);
}

TEST(DrillTraffic, AmongHostsHasLimits)
{
	EXPECT_EQ(error_of_many(32), "");
	/* 33 * 32 streams are 2112 programs. */
	EXPECT_EQ(error_of_many(33),
		  "d.yaml:5: traffic a: there are more than 1000 flows, or "
		  "more than 2000 programs");
	EXPECT_EQ(error_of_many(64), error_of_many(33));
}

TEST(DrillTraffic, AmongHostsMayBeWrong)
{
	const std::string either =
		"traffic t: a program needs \"from\" and \"to\", or "
		"\"among\", and has no \"hosts\" and no \"end\"";
	const std::string a = "program: ib_write_bw, among: ";

	EXPECT_EQ(error_of(a + "[h1]"),
		  "traffic t: \"among\" has at least two hosts");
	EXPECT_EQ(error_of(a + "h1"),
		  "traffic t: \"among\" has at least two hosts");
	EXPECT_EQ(error_of(a + "[h1, h2, h1]"),
		  "traffic t: a host is in \"among\" twice");
	EXPECT_EQ(error_of(a + "[h1, p1l1]"),
		  "traffic t: \"p1l1\" is a switch; programs run on hosts");
	EXPECT_EQ(error_of(a + "[]"), "among has 1 to 1000 words");
	EXPECT_EQ(error_of(a + "[h1, h2], both_ways: true"),
		  "traffic t: with \"among\", data goes both ways already");
	for (const char *more : {"from: h1", "to: h3", "from: h1, to: h3",
				 "hosts: h3", "end: wait"})
		EXPECT_EQ(error_of(a + "[h1, h2], " + more), either) << more;
	EXPECT_EQ(error_of("command: x, hosts: h1, among: [h1, h2]"),
		  "traffic t: a command needs \"hosts\"; what else it needs is "
		  "in its words");
	/* Others with the same receiver cannot be told from it. */
	EXPECT_NE(drill_error(with("  t: {program: ib_write_bw, among: [h1, "
				   "h2, h3]}\n  u: {program: ib_write_bw, "
				   "from: h4, to: h2}\n"))
			  .find("the goodput of \"t 2\" cannot be told"),
		  std::string::npos);
}

TEST(DrillTraffic, HasLatency)
{
	const auto flows =
		flows_of("  n: {program: ib_write_lat, from: h1, to: h2}\n"
			 "  r: {program: ib_read_lat, from: h1, to: h3, "
			 "size: 8, count: 77, start: 5s}\n");

	ASSERT_EQ(flows.size(), 2u);
	EXPECT_EQ(fmt::format("{}", fmt::join(flows[0].clients[0].words, " ")),
		  "ib_write_lat -F -d {device} -x {gid} -p 18515 -s 2 -n 1000 "
		  "-u 17 {mgmt:2}");
	EXPECT_EQ(fmt::format("{}", fmt::join(flows[0].servers[0].words, " ")),
		  "ib_write_lat -F -d {device} -x {gid} -p 18515 -s 2 -n 1000 "
		  "-u 17");
	EXPECT_EQ(flows[0].clients[0].host, 1u);
	EXPECT_EQ(fmt::format("{}", fmt::join(flows[1].clients[0].words, " ")),
		  "ib_read_lat -F -d {device} -x {gid} -p 18516 -s 8 -n 77 "
		  "-u 17 {mgmt:1}");
	EXPECT_EQ(flows[1].clients[0].host, 3u);
	for (const Flow &f : flows) {
		EXPECT_TRUE(f.latency);
		EXPECT_EQ(f.ending, Ending::wait);
		EXPECT_TRUE(f.counted.empty());
		EXPECT_TRUE(f.senders.empty());
		EXPECT_EQ(f.message, 0u);
	}
}

/* They have no series, so they need no hosts of their own. */
TEST(DrillTraffic, OfLatencyMayHaveTheHostsOfOthers)
{
	const auto flows = flows_of(
		"  n: {program: ib_write_lat, from: h1, to: h2}\n"
		"  m: {program: ib_send_lat, from: h1, to: h2, start: 2s}\n"
		"  a: {program: ib_write_bw, from: h1, to: h2, start: 4s}\n"
		"  b: {program: ib_write_bw, from: h3, to: h2, start: 4s}\n"
		"  o: {program: ib_read_lat, from: h2, to: h1, start: 6s}\n");

	ASSERT_EQ(flows.size(), 5u);
	EXPECT_TRUE(flows[2].by_sender);
	EXPECT_EQ(flows[2].counted, (std::vector<uint32_t>{1}));
	EXPECT_EQ(flows[3].counted, (std::vector<uint32_t>{3}));
}

TEST(DrillTraffic, OfLatencyMayBeWrong)
{
	const std::string l = "program: ib_send_lat, from: h1, to: h2";
	const std::string none = "traffic t: ib_send_lat has no \"among\", no "
				 "\"qps\" and no \"both_ways\"";

	for (const char *more : {"qps: 1", "both_ways: true", "both_ways: off"})
		EXPECT_EQ(error_of(l + ", " + more), none) << more;
	EXPECT_EQ(error_of("program: ib_send_lat, among: [h1, h2]"), none);
	EXPECT_EQ(error_of(l + ", count: 9"),
		  "count: 9 is out of range: 10 to 1000000");
	EXPECT_EQ(error_of(l + ", count: 1000001"),
		  "count: 1000001 is out of range: 10 to 1000000");
	EXPECT_EQ(error_of("program: ib_write_bw, from: h1, to: h2, count: 10"),
		  "traffic t: \"count\" is of programs that measure latency");
	EXPECT_EQ(error_of("command: x, hosts: h1, count: 10"),
		  "traffic t: a command needs \"hosts\"; what else it needs is "
		  "in its words");
}

TEST(DrillTraffic, RequirementsOfLatencyAreRead)
{
	const auto must = [](const std::string &keys) {
		const Drill d = drill_of(
			with("  near: {program: ib_write_lat, from: h1, to: "
			     "h2}\n  far: {program: ib_read_lat, from: [h1, "
			     "h2], to: h4}\n",
			     "must: [{" + keys + "}]\n"));

		return d.musts.at(0);
	};
	const Must time = must("what: near, typical: 1.5ms");
	const Must share = must("what: far, p99: 150%, of: near");

	EXPECT_EQ(time.kind, Must::Kind::typical);
	EXPECT_EQ(time.within, 1500000u);
	EXPECT_EQ(time.of, "");
	EXPECT_TRUE(time.of_latency());
	EXPECT_EQ(share.kind, Must::Kind::p99);
	EXPECT_DOUBLE_EQ(share.share, 1.5);
	EXPECT_EQ(share.of, "near");
	EXPECT_EQ(must("what: near, p99: 33.3%, of: far 1").of, "far 1");
	EXPECT_EQ(must("what: near, p99: 33.3%, of: far 1").share, 0.333);
}

TEST(DrillTraffic, RequirementsOfLatencyMayBeWrong)
{
	const std::string times = "a latency has no \"from\", \"to\" and "
				  "\"against\"; \"of\" is another flow";
	const std::string percent =
		"a latency in percent is one \"of\" another flow";
	const std::string who =
		"; there are the names of traffic whose program ends with "
		"_lat";

	EXPECT_EQ(must_error("what: near, typical: 1ms"), "");
	for (const char *more : {"from: 1s", "from: 0", "to: 2s",
				 "against: 1mbit", "of: 1/2", "of: 1/1"})
		EXPECT_EQ(must_error(std::string("what: near, p99: 1ms, ") +
				     more),
			  times)
			<< more;
	EXPECT_EQ(must_error("what: near, p99: 150%"), percent);
	EXPECT_EQ(must_error("what: near, p99: 1ms, of: far 1"), percent);
	EXPECT_EQ(must_error("what: near, p99: 1ms, within: 1s"),
		  "\"reaches\" and \"within\" belong together");
	EXPECT_EQ(must_error("what: near, p99: 10001%, of: far 1"),
		  "p99: \"10001%\" is out of range: a percentage is 0% to "
		  "10000%");
	EXPECT_EQ(must_error("what: near, p99: 5"),
		  "p99: \"5\" is no time; one is written like \"10us\"");
	EXPECT_EQ(must_error("what: w, p99: 1ms"),
		  "there is no latency of \"w\"" + who);
	EXPECT_EQ(must_error("what: flows, p99: 1ms"),
		  "there is no latency of \"flows\"" + who);
	EXPECT_EQ(must_error("what: near, p99: 100%, of: w"),
		  "there is no latency of \"w\"" + who);
	EXPECT_EQ(must_error("what: near, p99: 100%, of: far"),
		  "\"far\" are several flows; \"of\" is one");
	/* They have no goodput. */
	EXPECT_EQ(must_error("what: near, mean: 1%, against: 1mbit"),
		  "\"near\" has a latency, and no series");
	EXPECT_EQ(must_error("what: w, mean: 1%, of: near"),
		  "of: \"near\" is no part like \"7/8\"");
	EXPECT_EQ(drill_error(with("  t: {program: ib_send_lat, from: h1, to: "
				   "h2}\n",
				   "show: t\n")),
		  "d.yaml:6: \"t\" has a latency, and no series");
}
} // namespace mrclab
