// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Traffic among all hosts of a list. */
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
std::string with(const std::string &traffic)
{
	return "drill: d\nfabric: f.yaml\ntime: 10s\ntraffic:\n" + traffic;
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

	texts.all["f.yaml"] = "name: x\nplanes: 1\nt0: 1\nt1: 0\nhosts: 64\n";
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
	const auto flows =
		flows_of("  a: {program: ib_write_bw, among: [h1, h2]}\n"
			 "  c: {program: mrcperf, from: h1, to: h3}\n"
			 "  d: {program: ib_read_bw, from: h2, to: h4}\n");
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
	EXPECT_EQ(ports.size(), 4u);
	EXPECT_EQ(*ports.begin(), 18515);
	EXPECT_EQ(*ports.rbegin(), 18518);
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

} // namespace mrclab
