// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What is shown, as text and as JSON. */
#include "fake.hpp"

namespace mrcctl
{
TEST_F(MrcctlTest, ShowsDevices)
{
	golden_both("dev", "dev show");
	EXPECT_EQ(run("dev").out, run("dev show").out);
	EXPECT_EQ(run("-d mrc0 dev").out, run("dev").out);
}

TEST_F(MrcctlTest, ShowsEveryDevice)
{
	system_.all["mrc1"] = system_.all["mrc0"];
	system_.all["mrc1"].device.name = "mrc1";
	golden_both("dev_two", "dev");
	EXPECT_EQ(Json::parse(run("-j -d mrc1 dev").out).size(), 1u);
}

TEST_F(MrcctlTest, ShowsNoDevice)
{
	system_.all.clear();
	EXPECT_EQ(run("dev").out, "");
	EXPECT_EQ(run("-j dev").out, "[]\n");
	EXPECT_EQ(run("dev").status, 0);
}

TEST_F(MrcctlTest, ShowsUnknownBitsAsNumbers)
{
	dev().device.cap = 0x105;
	dev().device.fmt_modes = 0;
	EXPECT_NE(run("dev").out.find("cap trim_nack,service_time,0x100\n"),
		  std::string::npos);
	EXPECT_NE(run("dev").out.find("modes none\n"), std::string::npos);
}

TEST_F(MrcctlTest, ShowsPorts)
{
	golden_both("port", "port show");
}

TEST_F(MrcctlTest, ShowsOnePortWithCounters)
{
	golden_both("port_one", "port show 1");
}

TEST_F(MrcctlTest, ShowsPortsToEverybody)
{
	dev().ports[0].enabled.reset();
	EXPECT_EQ(run("port show 1").out.substr(0, 46),
		  "port 1 state ACTIVE admin ? netdev eth0\n    rx");
	EXPECT_TRUE(Json::parse(run("-j port").out)[0]["admin"].is_null());
}

TEST_F(MrcctlTest, ShowsProgramsWhoseNamesAreNoText)
{
	add_qps();
	dev().qps[0].name.program = "a\xff\"b";
	const Result r = run("-j qp show");

	EXPECT_EQ(r.status, 0) << r.err;
	EXPECT_EQ(Json::parse(r.out)[0]["program"], "a\xef\xbf\xbd\"b");
}

TEST_F(MrcctlTest, ShowsTrafficClasses)
{
	golden_both("tc", "tc show");
}

TEST_F(MrcctlTest, ShowsLimits)
{
	dev().limits = {.max = {1, 2, 3, 4, 5, 6, 7}, .now = {1, 1, 1, 2, 2, 3, 9}};
	golden_both("limit", "limit show");
}

TEST_F(MrcctlTest, ShowsDefaults)
{
	add_profiles();
	golden_both("default", "default");
}

TEST_F(MrcctlTest, ShowsFormats)
{
	add_profiles();
	golden_both("fmt", "fmt");
	EXPECT_EQ(run("fmt show 1").out, run("fmt").out);
}

TEST_F(MrcctlTest, ShowsEvProfiles)
{
	add_profiles();
	golden_both("ev", "ev show");
}

TEST_F(MrcctlTest, ShowsOneEvProfile)
{
	add_profiles();
	golden_both("ev_one", "ev show 3");
}

TEST_F(MrcctlTest, ShowsCcProfiles)
{
	add_profiles();
	golden_both("cc", "cc show");
}

TEST_F(MrcctlTest, ShowsNothingAsEmptyList)
{
	for (const char *what : {"fmt", "ev", "cc", "default", "qp"}) {
		EXPECT_EQ(run(what).out, "") << what;
		EXPECT_EQ(run(std::string("-j ") + what).out, "[]\n") << what;
	}
}

TEST_F(MrcctlTest, ShowsQueuePairs)
{
	add_qps();
	golden_both("qp", "qp show");
}

TEST_F(MrcctlTest, ShowsOneQueuePair)
{
	add_qps();
	golden_both("qp_one", "qp show 17");
	EXPECT_EQ(run("qp show 0x11").out, run("qp show 17").out);
}

TEST_F(MrcctlTest, LeavesOutQueuePairsThatEnd)
{
	add_qps();
	dev().qps[0].name.state = "GONE";
	EXPECT_EQ(Json::parse(run("-j qp").out).size(), 1u);
	EXPECT_EQ(run("qp show 17").status, exit_device);
}

TEST_F(MrcctlTest, TakesOptionsAnywhere)
{
	EXPECT_EQ(run("port show -j").out, run("-j port show").out);
	EXPECT_EQ(run("tc -p show").out, run("-p tc show").out);
}

TEST_F(MrcctlTest, Helps)
{
	const Result r = run("--help");

	EXPECT_EQ(r.status, 0);
	for (const Command &c : commands())
		EXPECT_NE(r.out.find("mrcctl " + std::string(c.object)),
			  std::string::npos)
			<< c.object;
	EXPECT_EQ(run("ev add --help").status, 0);
}
} // namespace mrcctl
