// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* -b: commands from a file, with one open device, until one fails. */
#include <cerrno>

#include "fake.hpp"

namespace mrcctl
{
using Log = std::vector<std::string>;

TEST_F(MrcctlTest, RunsABatch)
{
	const Result r = run("-b -", "# formats, then a port\n"
				     "fmt add 1 mode udp fields 16\n"
				     "\n"
				     "  port set  2\tenable  \n"
				     "fmt show 1\n");

	EXPECT_EQ(r.status, exit_ok) << r.err;
	EXPECT_EQ(r.err, "");
	EXPECT_EQ(r.out, "fmt 1 state online mode udp fields 16\n");
	EXPECT_EQ(dev().log, (Log{"fmt 1 offline", "fmt 1 online"}));
	EXPECT_TRUE(*dev().ports[1].enabled);
	EXPECT_EQ(run("--batch -").status, exit_ok);
}

/* Options of the program hold for every line, those of a command for its own.
 */
TEST_F(MrcctlTest, TakesOptionsInABatch)
{
	const Result r =
		run("-j -d mrc0 -b -", "fmt\nmonitor ev -t 250ms\nev\n");

	EXPECT_EQ(r.status, exit_ok) << r.err;
	EXPECT_EQ(r.out, "[]\n[]\n");
	EXPECT_EQ(clock_.ns, 250000000u);
	EXPECT_EQ(run("-b -", "-d mrc0 fmt\n").status, exit_usage);
	system_.all["mrc1"] = system_.all["mrc0"];
	EXPECT_EQ(run("-d mrc1 -b -", "port set 1 disable\n").status, exit_ok);
	EXPECT_TRUE(*dev().ports[0].enabled);
	EXPECT_FALSE(*system_.all["mrc1"].ports[0].enabled);
	EXPECT_EQ(run("-b -", "# nothing\nport\n").err,
		  "mrcctl: -:2: several devices, choose one with -d: mrc0, "
		  "mrc1\nusage: mrcctl port show [PORT]\n");
}

TEST_F(MrcctlTest, EndsABatchAtTheFirstError)
{
	Result r = run("-b -", "port set 1 disable\nport set 1 up\n"
			       "port set 2 enable\n");

	EXPECT_EQ(r.status, exit_usage);
	EXPECT_EQ(r.err, "mrcctl: -:2: \"up\" is not enable or disable\n"
			 "usage: mrcctl port set PORT enable|disable\n");
	EXPECT_FALSE(*dev().ports[0].enabled);
	r = run("-b -", "frobnicate\nport set 2 enable\n");
	EXPECT_EQ(r.status, exit_usage);
	EXPECT_EQ(r.err.rfind("mrcctl: -:1: ", 0), 0u) << r.err;
	dev().fail["enable_port"] = EPERM;
	r = run("-b -", "\nport set 2 enable\nfmt\n");
	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.out, "");
	EXPECT_EQ(r.err, "mrcctl: -:2: enable_port: Operation not permitted "
			 "(CAP_NET_ADMIN is needed)\n");
	EXPECT_FALSE(*dev().ports[1].enabled);
}

TEST_F(MrcctlTest, RefusesWrongBatches)
{
	Result r = run("-b /nowhere/at.all");

	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.err,
		  "mrcctl: /nowhere/at.all: No such file or directory\n");
	r = run(std::vector<std::string>{"-b", GOLDEN_DIR});
	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.err, "mrcctl: " GOLDEN_DIR ": read error\n");
	r = run("-b - port set 1 disable", "port set 2 enable\n");
	EXPECT_EQ(r.status, exit_usage);
	EXPECT_EQ(r.err, "mrcctl: a command and a file of commands\n");
	EXPECT_EQ(run("-b").status, exit_usage);
	EXPECT_TRUE(*dev().ports[0].enabled);
	EXPECT_FALSE(*dev().ports[1].enabled);
}
} // namespace mrcctl
