// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The command line. */
#include <sstream>

#include <gtest/gtest.h>

#include "cli.hpp"
#include "error.hpp"

namespace mrcbench
{
namespace
{
std::vector<std::string> words(const std::string &line)
{
	std::istringstream in(line);

	return {std::istream_iterator<std::string>(in), {}};
}

Cli parsed(const std::string &line)
{
	std::ostringstream out;

	return parse_cli(words(line), out).value();
}
} // namespace

TEST(Cli, Run)
{
	const Cli c = parsed("run x.plan -o out --strict --set size=8 --set "
			     "qps=2 --only a --only b");

	EXPECT_EQ(c.command, Command::run);
	EXPECT_EQ(c.plan, "x.plan");
	EXPECT_EQ(c.output, "out");
	EXPECT_TRUE(c.strict);
	EXPECT_EQ(c.set, (std::vector<std::string>{"size=8", "qps=2"}));
	EXPECT_EQ(c.only, (std::vector<std::string>{"a", "b"}));
	EXPECT_EQ(c.to, "");
	EXPECT_EQ(parsed("run").plan, "");
	EXPECT_EQ(parsed("run --set size=8 x.plan").plan, "x.plan");
	EXPECT_EQ(parsed("run --only a x.plan").only.size(), 1u);
}

TEST(Cli, ToAServer)
{
	const Cli c = parsed("run --to host -p 99 -c mrc=mrc0 -c "
			     "rxe=rxe0/fe80::1 -c tcp");

	EXPECT_EQ(c.to, "host");
	EXPECT_EQ(c.port, 99);
	ASSERT_EQ(c.places.size(), 3u);
	EXPECT_EQ(c.places[0].device, "mrc0");
	EXPECT_EQ(c.places[0].address, "");
	EXPECT_EQ(c.places[1].address, "fe80::1");
	EXPECT_TRUE(c.places[2].tcp());
}

TEST(Cli, ServeAndCheck)
{
	const Cli c = parsed("serve -c tcp=10.0.0.1 --sessions 3 --bind ::1");

	EXPECT_EQ(c.command, Command::serve);
	EXPECT_EQ(c.places[0].address, "10.0.0.1");
	EXPECT_EQ(c.sessions, 3u);
	EXPECT_EQ(c.bind, "::1");
	EXPECT_EQ(parsed("check x").command, Command::check);
}

TEST(Cli, RefusesWhatIsWrong)
{
	struct Wrong {
		const char *line;
		const char *says;
	};
	static constexpr Wrong all[] = {
		{"", "run, check or serve?"},
		{"frob", "frob"},
		{"run a b", "b"},
		{"run --to host", "belong together"},
		{"run -c tcp", "belong together"},
		{"serve", "needs a --column"},
		{"serve -c foo=x", "\"foo\" is no column"},
		{"serve -c mrc", "column mrc needs a device"},
		{"serve -c mrc=../x", "needs a device"},
		{"serve -c tcp -p 0", "0 is not within"},
		{"serve -c tcp --sessions x", "is no number"},
		{"check x --strict", "--strict"},
	};

	for (const Wrong &w : all) {
		try {
			parsed(w.line);
			ADD_FAILURE() << w.line << " is accepted";
		} catch (const mrcperf::UsageError &e) {
			EXPECT_NE(std::string(e.what()).find(w.says),
				  std::string::npos)
				<< w.line << ": " << e.what();
		}
	}
}

TEST(Cli, HelpAndVersion)
{
	std::ostringstream help, version;

	EXPECT_FALSE(parse_cli({"--help"}, help));
	EXPECT_NE(help.str().find("serve"), std::string::npos);
	EXPECT_FALSE(parse_cli({"--version"}, version));
	EXPECT_EQ(version.str().rfind("mrcbench ", 0), 0u);
}
} // namespace mrcbench
