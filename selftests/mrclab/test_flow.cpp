// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Programs of drills: their command lines, and where their bytes are counted.
 */
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "error.hpp"
#include "flow.hpp"
#include "words.hpp"

namespace mrclab
{
namespace
{
std::string line(const Job &job)
{
	return fmt::format("h{}: {}", job.host, fmt::join(job.words, " "));
}

Stream stream(const std::string &program)
{
	Stream s;

	s.program = program;
	return s;
}

/* One that sends from @from to @to. */
Flow flow(uint32_t from, uint32_t to, bool both_ways = false)
{
	Stream s = stream("ib_write_bw");

	s.both_ways = both_ways;
	return stream_flow(s, fmt::format("{}-{}", from, to), from, to, 0);
}

template <typename Run> std::string error_of(Run run)
{
	try {
		run();
	} catch (const UsageError &e) {
		return e.what();
	}
	return "";
}

/* "rx 3" or "tx 1" of each flow; what is wrong otherwise. */
std::vector<std::string> counted(std::vector<Flow> flows)
{
	std::vector<std::string> all;
	const std::string why = error_of([&] { choose_counted(flows); });

	if (!why.empty())
		return {why};
	for (const Flow &f : flows)
		all.push_back(fmt::format("{} {}", f.by_sender ? "tx" : "rx",
					  fmt::join(f.counted, " ")));
	return all;
}

std::string not_told(const std::string &name)
{
	return "the goodput of \"" + name +
	       "\" cannot be told from that of other flows of its hosts: a "
	       "flow needs a sender or a receiver of its own";
}
} // namespace

TEST(Flow, HasCommandLinesOfPerftest)
{
	Stream s = stream("ib_write_bw");

	s.qps = 4;
	s.size = 8192;
	s.options = {"-t", "64"};
	const Flow f = stream_flow(s, "w", 1, 3, 2);

	EXPECT_EQ(f.name, "w");
	ASSERT_EQ(f.servers.size(), 1u);
	ASSERT_EQ(f.clients.size(), 1u);
	EXPECT_EQ(line(f.servers[0]),
		  "h3: ib_write_bw -F -d {device} -x {gid} -p 18517 -s 8192 "
		  "-q 4 -D 100000 -u 17 -t 64");
	EXPECT_EQ(line(f.clients[0]), "h1: ib_write_bw -F -d {device} -x {gid} "
				      "-p 18517 -s 8192 -q 4 -D 100000 -u 17 "
				      "-t 64 {mgmt:3}");
	EXPECT_EQ(f.servers[0].port, 18517);
	EXPECT_EQ(f.clients[0].port, 0);
	EXPECT_EQ(f.ending, Ending::kill);
	EXPECT_EQ(f.senders, std::vector<uint32_t>{1});
	EXPECT_EQ(f.counted, std::vector<uint32_t>{3});
}

TEST(Flow, HasCommandLinesOfPerftestBothWays)
{
	Stream s = stream("ib_send_bw");

	s.both_ways = true;
	const Flow f = stream_flow(s, "w", 2, 1, 0);

	EXPECT_EQ(line(f.servers[0]),
		  "h1: ib_send_bw -F -d {device} -x {gid} -p 18515 -s 65536 "
		  "-q 1 -D 100000 -u 17 -b");
	EXPECT_EQ(line(f.clients[0]), "h2: ib_send_bw -F -d {device} -x {gid} "
				      "-p 18515 -s 65536 -q 1 -D 100000 -u 17 "
				      "-b {mgmt:1}");
	EXPECT_EQ(f.senders, (std::vector<uint32_t>{2, 1}));
	EXPECT_EQ(f.counted, (std::vector<uint32_t>{1, 2}));
}

/* From packets bytes follow only if their size is known. */
TEST(Flow, KnowsItsMessagesUnlessTheMtuIsSet)
{
	Stream s = stream("ib_write_bw");

	s.size = 8192;
	EXPECT_EQ(stream_flow(s, "w", 1, 3, 0).message, 8192u);
	s.options = {"-t", "64"};
	EXPECT_EQ(stream_flow(s, "w", 1, 3, 0).message, 8192u);
	for (const std::vector<std::string> &options :
	     {std::vector<std::string>{"-m", "1024"},
	      {"-t", "64", "-m2048"},
	      {"--mtu=512"},
	      {"--mtu", "512"}}) {
		s.options = options;
		EXPECT_EQ(stream_flow(s, "w", 1, 3, 0).message, 0u);
	}
	s = stream("ib_read_bw");
	EXPECT_EQ(stream_flow(s, "w", 1, 3, 0).message, 0u);
}

/* Who reads is where the data goes to. */
TEST(Flow, HasItsServerWhereIsRead)
{
	const Flow f = stream_flow(stream("ib_read_bw"), "r", 1, 3, 0);

	EXPECT_EQ(line(f.servers[0]),
		  "h1: ib_read_bw -F -d {device} -x {gid} -p 18515 -s 65536 "
		  "-q 1 -D 100000 -u 17");
	EXPECT_EQ(line(f.clients[0]), "h3: ib_read_bw -F -d {device} -x {gid} "
				      "-p 18515 -s 65536 -q 1 -D 100000 -u 17 "
				      "{mgmt:1}");
	EXPECT_EQ(f.senders, std::vector<uint32_t>{1});
	EXPECT_EQ(f.counted, std::vector<uint32_t>{3});
}

/* Only the client says what is measured. */
TEST(Flow, HasCommandLinesOfMrcperf)
{
	Stream s = stream("mrcperf");

	s.qps = 2;
	s.options = {"-m", "4096"};
	const Flow f = stream_flow(s, "w", 1, 3, 999);

	EXPECT_EQ(line(f.servers[0]),
		  "h3: mrcperf -d {device} -x {gid} -p 19514 -m 4096");
	EXPECT_EQ(line(f.clients[0]),
		  "h1: mrcperf -d {device} -x {gid} -p 19514 -m 4096 -T bw "
		  "-s 65536 -q 2 -D 100000 {mgmt:3}");
	s.both_ways = true;
	EXPECT_EQ(error_of([&] { stream_flow(s, "w", 1, 3, 0); }),
		  "mrcperf sends one way");
}

TEST(Flow, HasAPortThatThereIs)
{
	const Stream s = stream("ib_write_bw");

	EXPECT_EQ(stream_flow(s, "w", 1, 2, 47020).servers[0].port, 65535);
	EXPECT_EQ(error_of([&] { stream_flow(s, "w", 1, 2, 47021); }),
		  "there are more streams than ports");
	EXPECT_EQ(error_of([&] {
			  streams_flow(s, "w", {1, 3}, 2, 47020);
		  }),
		  "there are more streams than ports");
}

/* Each of a host's programs has a log of its own. */
TEST(Flow, HasNamesOfJobs)
{
	const auto names = [](const std::vector<uint32_t> &hosts) {
		std::vector<Job> jobs;

		for (const uint32_t h : hosts)
			jobs.push_back({h, {}, 0});
		return fmt::format("{}", fmt::join(job_names(jobs), " "));
	};

	EXPECT_EQ(names({}), "");
	EXPECT_EQ(names({3, 1}), "h3 h1");
	EXPECT_EQ(names({3, 3, 1, 3, 1}), "h3 h3.2 h1 h3.3 h1.2");
}

TEST(Flow, MayMeasureLatency)
{
	EXPECT_TRUE(is_latency_program("ib_read_lat"));
	EXPECT_FALSE(is_latency_program("ib_read_bw"));
	EXPECT_FALSE(is_latency_program("ib_atomic_lat"));
}

TEST(Flow, OfOtherProgramsIsNone)
{
	EXPECT_EQ(stream_programs(),
		  "ib_write_bw, ib_read_bw, ib_send_bw, mrcperf, ib_write_lat, "
		  "ib_read_lat, ib_send_lat");
	EXPECT_TRUE(is_stream_program("mrcperf"));
	EXPECT_FALSE(is_stream_program("ib_atomic_lat"));
	EXPECT_FALSE(is_stream_program(""));
	EXPECT_EQ(error_of([] { stream_flow(stream("iperf3"), "w", 1, 2, 0); }),
		  "\"iperf3\" is none of " + stream_programs());
	EXPECT_EQ(error_of([] { flow(2, 2); }), "a flow is between two hosts");
}

TEST(Flow, FillsPlaceholdersOfOptions)
{
	Stream s = stream("mrcperf");

	s.options = split("--bind {address} --peers {mgmt:1},{mgmt:2} "
			  "{rank}/{ranks}");
	const Flow f = stream_flow(s, "w", 4, 3, 0);

	EXPECT_EQ(line(f.servers[0]),
		  "h3: mrcperf -d {device} -x {gid} -p 18515 --bind {address} "
		  "--peers {mgmt:4},{mgmt:3} 1/2");
	EXPECT_EQ(line(f.clients[0])
			  .find("h4: mrcperf -d {device} -x {gid} -p "
				"18515 --bind {address} --peers "
				"{mgmt:4},{mgmt:3} 0/2 -T bw"),
		  0u);
	s.options = {"{mgmt:3}"};
	EXPECT_NE(error_of([&] { stream_flow(s, "w", 4, 3, 0); }), "");
}

TEST(Flow, OfCommandsHasEveryPlaceholder)
{
	const Flow f = command_flow(split("prog -d {device} -g{gid} {address} "
					  "{mgmt} {rank}/{ranks} "
					  "a{mgmt:1}b{address:2}c plain"),
				    "run", {5, 2}, Ending::interrupt);

	EXPECT_EQ(f.name, "run");
	EXPECT_EQ(f.ending, Ending::interrupt);
	EXPECT_TRUE(f.servers.empty());
	ASSERT_EQ(f.clients.size(), 2u);
	EXPECT_EQ(line(f.clients[0]),
		  "h5: prog -d {device} -g{gid} {address} {mgmt} 0/2 "
		  "a{mgmt:5}b{address:2}c plain");
	EXPECT_EQ(line(f.clients[1]),
		  "h2: prog -d {device} -g{gid} {address} {mgmt} 1/2 "
		  "a{mgmt:5}b{address:2}c plain");
	EXPECT_EQ(f.clients[0].port, 0);
	EXPECT_EQ(f.counted, (std::vector<uint32_t>{5, 2}));
	EXPECT_EQ(f.senders, f.counted);
}

TEST(Flow, RefusesOtherPlaceholders)
{
	for (const char *name :
	     {"", "x", "host", "Device", "device:1", "gid:1", "rank:1",
	      "mgmt:", "mgmt:0", "mgmt:3", "mgmt:-1", "mgmt:+1", "mgmt: 1",
	      "mgmt:1 ", "mgmt:1x", "mgmt:1:2", "address:4294967297",
	      "mgmt:99999999999999999999", "{mgmt"}) {
		const std::string word = fmt::format("a{{{}}}", name);

		EXPECT_EQ(
			error_of([&] {
				command_flow({"x", word}, "run", {5, 2},
					     Ending::wait);
			}),
			fmt::format("there is no {{{}}}; there are {{device}}, "
				    "{{gid}}, {{address}}, {{mgmt}}, "
				    "{{rank}}, {{ranks}}, and {{address:N}} "
				    "and {{mgmt:N}} with N from 1 to 2",
				    name))
			<< word;
	}
}

TEST(Flow, FillsWords)
{
	const auto upper = [](const std::string &name) {
		return "<" + name + ">";
	};

	EXPECT_EQ(filled("", upper), "");
	EXPECT_EQ(filled("plain", upper), "plain");
	EXPECT_EQ(filled("{a}", upper), "<a>");
	EXPECT_EQ(filled("x{a}{b:2}y", upper), "x<a><b:2>y");
	EXPECT_EQ(filled("{}", upper), "<>");
	/* A brace alone is one. */
	EXPECT_EQ(filled("a}b", upper), "a}b");
	EXPECT_EQ(filled("a{b", upper), "a{b");
	EXPECT_EQ(filled("{a}{b", upper), "<a>{b");
	/* What is filled in is not filled again. */
	EXPECT_EQ(filled("{a}", [](const std::string &) { return "{b}"; }),
		  "{b}");
}

TEST(Flow, IsCountedAtItsReceiver)
{
	using All = std::vector<std::string>;

	EXPECT_EQ(counted({flow(1, 2)}), All{"rx 2"});
	EXPECT_EQ(counted({flow(1, 2), flow(1, 3)}), (All{"rx 2", "rx 3"}));
	EXPECT_EQ(counted({flow(1, 2), flow(2, 1)}), (All{"rx 2", "rx 1"}));
	EXPECT_EQ(counted({flow(1, 2, true)}), All{"rx 2 1"});
	EXPECT_EQ(counted({flow(1, 2, true), flow(1, 3)}),
		  (All{"rx 2 1", "rx 3"}));
	EXPECT_EQ(counted({command_flow({"x"}, "c", {1, 2}, Ending::wait),
			   flow(1, 3)}),
		  (All{"rx 1 2", "rx 3"}));
}

TEST(Flow, IsCountedAtItsSenderIfItMust)
{
	using All = std::vector<std::string>;

	EXPECT_EQ(counted({flow(1, 9), flow(2, 9), flow(3, 8)}),
		  (All{"tx 1", "tx 2", "rx 8"}));
	EXPECT_EQ(counted({flow(1, 9), flow(9, 1), flow(2, 9)}),
		  (All{"tx 1", "rx 1", "tx 2"}));
	EXPECT_EQ(counted({stream_flow(stream("ib_read_bw"), "r", 1, 9, 0),
			   flow(2, 9)}),
		  (All{"tx 1", "tx 2"}));
	EXPECT_EQ(counted({command_flow({"x"}, "c", {9}, Ending::wait),
			   flow(2, 9)}),
		  (All{"tx 9", "tx 2"}));
}

TEST(Flow, MustBeToldFromOthers)
{
	using All = std::vector<std::string>;

	/* The same two hosts. */
	EXPECT_EQ(counted({flow(1, 2), flow(1, 2)}), All{not_told("1-2")});
	/* Its receiver has another one, its sender too. */
	EXPECT_EQ(counted({flow(1, 3), flow(2, 3), flow(2, 4)}),
		  All{not_told("2-3")});
	/* The sender's other flow is one of both ways to it. */
	EXPECT_EQ(counted({flow(5, 2, true), flow(2, 3), flow(1, 3)}),
		  All{not_told("2-3")});
	/* One of both ways has two ends that count. */
	EXPECT_EQ(counted({flow(1, 2, true), flow(3, 1)}),
		  All{not_told("1-2")});
	EXPECT_EQ(counted({command_flow({"x"}, "c", {1, 2}, Ending::wait),
			   flow(3, 2)}),
		  All{not_told("c")});
	EXPECT_EQ(counted({command_flow({"x"}, "c", {4}, Ending::wait),
			   command_flow({"x"}, "e", {4}, Ending::wait)}),
		  All{not_told("c")});
}
} // namespace mrclab
