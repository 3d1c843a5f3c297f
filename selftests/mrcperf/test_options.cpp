// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The command line: what it says, and what it must not say. */
#include <sstream>

#include <gtest/gtest.h>

#include "error.hpp"
#include "fake.hpp"
#include "plan.hpp"

namespace mrcperf
{
namespace
{
Options parsed(const std::string &line)
{
	std::ostringstream out;
	const auto o = parse_options(words(line), out);

	EXPECT_EQ(out.str(), "");
	return o.value();
}

struct Wrong {
	const char *line;
	const char *says;
};
} // namespace

TEST(Options, Server)
{
	Options o = parsed("");

	EXPECT_EQ(o.server, "");
	EXPECT_EQ(o.port, 18700);
	EXPECT_EQ(o.sessions, 1u);
	EXPECT_FALSE(o.gid_index);
	o = parsed("-d mrca -i 2 -x 3 -p 99 --bind ::1 --sessions 0 "
		   "--ev-profile 0x10 --cc-profile 18446744073709551615");
	EXPECT_EQ(o.device, "mrca");
	EXPECT_EQ(o.ib_port, 2);
	EXPECT_EQ(o.gid_index, 3u);
	EXPECT_EQ(o.port, 99);
	EXPECT_EQ(o.bind, "::1");
	EXPECT_EQ(o.sessions, 0u);
	EXPECT_EQ(o.ev_profile, 16u);
	EXPECT_EQ(o.cc_profile, ~uint64_t{0});
}

TEST(Options, ClientDefaults)
{
	const Options o = parsed("host");

	EXPECT_EQ(o.server, "host");
	EXPECT_EQ(o.tests, std::vector{Kind::bw});
	EXPECT_EQ(o.ops, std::vector{Op::write});
	EXPECT_TRUE(o.sizes.empty());
	EXPECT_EQ(o.iterations, 1000u);
	EXPECT_EQ(o.duration, 0);
	EXPECT_EQ(o.warmup, 16u);
	EXPECT_EQ(o.repetitions, 1u);
	EXPECT_EQ(o.qps, 1u);
	EXPECT_EQ(o.depth, 128u);
	EXPECT_EQ(o.rx_depth, 256u);
	EXPECT_EQ(o.signal, 16u);
	EXPECT_EQ(o.list, 1u);
	EXPECT_FALSE(o.timeout);
	EXPECT_FALSE(o.retry);
	EXPECT_FALSE(o.verify);
	EXPECT_EQ(o.format, Format::text);
}

TEST(Options, ClientSaysAll)
{
	const Options o = parsed(
		"-T lat,bw,lat --op write_imm,write -s 1,4K,8-64 -D 0.5 -w 0 "
		"-R 5 -q 16 -t 64 -r 100 -Q 32 -l 8 -I 64 -m 1024 --tclass 104 "
		"-u 14 --retry 7,25 --verify -e --stall 2.5 -j -o out "
		"--connect-timeout 3 host");

	EXPECT_EQ(o.tests, (std::vector{Kind::lat, Kind::bw}));
	EXPECT_EQ(o.ops, (std::vector{Op::write_imm, Op::write}));
	EXPECT_EQ(o.sizes, (std::vector<uint64_t>{1, 4096, 8, 16, 32, 64}));
	EXPECT_EQ(o.duration, 0.5);
	EXPECT_EQ(o.warmup, 0u);
	EXPECT_EQ(o.repetitions, 5u);
	EXPECT_EQ(o.qps, 16u);
	EXPECT_EQ(o.depth, 64u);
	EXPECT_EQ(o.rx_depth, 100u);
	EXPECT_EQ(o.signal, 32u);
	EXPECT_EQ(o.list, 8u);
	EXPECT_EQ(o.inline_size, 64u);
	EXPECT_EQ(o.mtu, 1024u);
	EXPECT_EQ(o.traffic_class, 104);
	EXPECT_EQ(o.timeout, 14);
	EXPECT_EQ(o.retry->linear, 7);
	EXPECT_EQ(o.retry->exponential, 25);
	EXPECT_TRUE(o.verify);
	EXPECT_TRUE(o.events);
	EXPECT_EQ(o.stall, 2.5);
	EXPECT_EQ(o.connect_timeout, 3);
	EXPECT_EQ(o.format, Format::json);
	EXPECT_EQ(o.output, "out");
}

TEST(Options, FollowEachOther)
{
	EXPECT_EQ(parsed("-t 4 host").signal, 4u);
	EXPECT_EQ(parsed("-t 4 host").rx_depth, 8u);
	EXPECT_EQ(parsed("-a host").sizes.size(), 23u);
	EXPECT_EQ(parsed("-T all host").tests.size(), 3u);
	EXPECT_EQ(parsed("--csv host").format, Format::csv);
	EXPECT_EQ(parsed("-f json host").format, Format::json);
}

TEST(Options, RefusesWhatIsWrong)
{
	static constexpr Wrong all[] = {
		{"--frobnicate", "--frobnicate"},
		{"host other", "other"},
		{"-s 64", "is for the client"},
		{"-n 5", "is for the client"},
		{"--verify", "is for the client"},
		{"-j", "is for the client"},
		{"--bind :: host", "is for the server"},
		{"--sessions 2 host", "is for the server"},
		{"-T foo host", "\"foo\" is no test"},
		{"-T bw, host", "\"\" is no test"},
		{"--op read host", "\"read\" is no operation"},
		{"-s 0 host", "0 is not within 1 to"},
		{"-s x host", "\"x\" is no number"},
		{"-s 8K1 host", "is no number"},
		{"-s K host", "is no number"},
		{"-s 64-8 host", "8 is not within 64"},
		{"-s 2G host", "2G is not within"},
		{"-s 18446744073709551615G host", "is not within"},
		{"-s 8 -a host", "choose one"},
		{"-n 5 -D 5 host", "choose one"},
		{"-n 0 host", "0 is not within 1"},
		{"-n 1.5 host", "is no number"},
		{"-n 99999999999999999999999 host", "is not within"},
		{"-D 0 host", "is not within"},
		{"-D nan host", "nan"},
		{"-D 1s host", "is no number"},
		{"-q 0 host", "is not within 1 to 1024"},
		{"-q 1025 host", "is not within 1 to 1024"},
		{"-t 0 host", "is not within"},
		{"-t 8 -Q 9 host", "9 is not within 1 to 8"},
		{"-t 8 -l 9 host", "longer than --tx-depth"},
		{"-l 9 -r 8 host", "longer than --rx-depth"},
		{"-m 1500 host", "256, 512"},
		{"-m 8192 host", "is not within"},
		{"-u 25 host", "25 is not within 0 to 24"},
		{"--retry 7 host", "LINEAR,EXPONENTIAL"},
		{"--retry 8,0 host", "8 is not within 0 to 7"},
		{"--retry 0,26 host", "26 is not within 0 to 25"},
		{"--tclass 256 host", "is not within"},
		{"-x 256", "is not within"},
		{"-p 0", "is not within"},
		{"-i 0", "is not within"},
		{"--ev-profile -1", "ev-profile"},
		{"-f xml host", "\"xml\" is no format"},
		{"-j --csv host", "choose one"},
		{"--stall 0 host", "is not within"},
		{"-s 1G -q 2 host", "the limit is 2048 MiB"},
		{"-T lat -n 1073741824 host", "more than 16777216 latencies"},
	};

	for (const Wrong &w : all) {
		std::ostringstream out;

		try {
			parse_options(words(w.line), out);
			ADD_FAILURE() << w.line << " is accepted";
		} catch (const UsageError &e) {
			EXPECT_NE(std::string(e.what()).find(w.says),
				  std::string::npos)
				<< w.line << ": " << e.what();
		}
	}
}

TEST(Options, HelpAndVersion)
{
	std::ostringstream help, version;

	EXPECT_FALSE(parse_options({"--help"}, help));
	EXPECT_NE(help.str().find("--post-list"), std::string::npos);
	EXPECT_FALSE(parse_options({"--version"}, version));
	EXPECT_EQ(version.str().rfind("mrcperf ", 0), 0u);
}
} // namespace mrcperf
