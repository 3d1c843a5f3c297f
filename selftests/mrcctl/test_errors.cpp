// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Exit status 1 and 2, what is said, and that nothing is done half. */
#include <cerrno>

#include "fake.hpp"

namespace mrcctl
{
namespace
{
struct Wrong {
	const char *line;
	const char *says;
};
} // namespace

using Log = std::vector<std::string>;

/* All refused before the device is asked to change anything. */
TEST_F(MrcctlTest, RefusesWrongCommands)
{
	static constexpr Wrong all[] = {
		{"", "subcommand"},
		{"frobnicate", "subcommand"},
		{"port frobnicate", "frobnicate"},
		{"--frobnicate dev", "--frobnicate"},
		{"port show x", "\"x\" is no number"},
		{"port show 1 2", "what is \"2\"?"},
		{"port show 256", "256 is more than 255"},
		{"dev set", "attribute is missing"},
		{"dev set trimming on",
		 "\"trimming\" is not extension, num_evs, mpr, cwnd or cc"},
		{"dev set num_evs", "N is missing"},
		{"dev set mpr", "N is missing"},
		{"dev set cwnd x", "\"x\""},
		{"dev set extension", "on or off is missing"},
		{"dev set extension maybe", "\"maybe\" is not on or off"},
		{"port set", "PORT is missing"},
		{"port set 1", "enable or disable is missing"},
		{"port set 1 up", "\"up\" is not enable or disable"},
		{"limit set", "KIND is missing"},
		{"limit set qp", "N is missing"},
		{"limit set qp x", "\"x\" is no number"},
		{"limit set ev 1", "\"ev\" is not pd, ah, cq, mr, mw, qp, srq"},
		{"tc set", "CLASS is missing"},
		{"tc set best 3", "\"best\" is no traffic class"},
		{"tc set control 64", "64 is more than 63"},
		{"tc set trimming maybe", "\"maybe\" is not on or off"},
		{"default set", "PREFIX is missing"},
		{"default set 10.0.0.0/8", "a default names a profile"},
		{"default set 10.0.0.0/8 udp_port 0", "0 is no UDP port"},
		{"default set 10.0.0.0/8 udp_port 65536", "65536 is more than 65535"},
		{"default set 10.0.0.0/33 ev 1", "33 is more than 32"},
		{"default set 10.0.0/8 ev 1", "\"10.0.0\" is no address"},
		{"default set ::/129 ev 1", "129 is more than 128"},
		{"default set ::/0/0 ev 1", "is no prefix"},
		{"fmt add", "ID is missing"},
		{"fmt add -1", "-1"},
		{"fmt add 1", "mode and fields are needed"},
		{"fmt add 1 mode ip fields 16", "no mode of an EV format: udp"},
		{"fmt add 1 mode udp fields 300", "300 is more than 255"},
		{"fmt add 1 mode udp fields 1,,2", "\"\" is no number"},
		{"fmt add 1 mode udp fields 16 state init", "say del"},
		{"fmt add 1 mode udp fields 16 evs 1", "what is \"evs\"?"},
		{"fmt add 18446744073709551615 mode udp fields 16",
		 "more than"},
		{"ev add 1", "mode is missing"},
		{"ev add 1 mode explicit fmt 1", "needs evs"},
		{"ev add 1 mode explicit evs c001@1", "fmt is missing"},
		{"ev add 1 mode auto evs c001@1", "only an explicit profile"},
		{"ev add 1 mode generated fmt 1", "needs count"},
		{"ev add 1 mode generated fmt 1 count 4", "needs fields"},
		{"ev add 1 mode explicit fmt 1 count 2 evs c001@1",
		 "count is not the number of evs"},
		{"ev add 1 mode explicit fmt 1 evs c01@1", "is no EV"},
		{"ev add 1 mode explicit fmt 1 evs c001", "is no EV"},
		{"ev add 1 mode explicit fmt 1 evs zz@1", "is no number"},
		{"ev add 1 mode auto events denied", "is no EV event"},
		{"ev add 1 mode auto fields 16/0", "is no field"},
		{"ev set 1 evs c001@1", "what is \"evs\"?"},
		{"ev deny 1", "EVS is missing"},
		{"ev replace 1 c001@1", "NEW is missing"},
		{"cc add 1", "algorithm is missing"},
		{"cc add 1 algorithm off gama 1", "what is \"gama\"?"},
		{"cc add 1 algorithm x gamma nan", "\"nan\" is no number"},
		{"cc add 1 algorithm x base_rtt 1.5", "a whole number"},
		{"cc add 1 algorithm x disable_qa 2", "out of range"},
		{"probe", "subcommand"},
		{"probe ev src 10.0.0.1", "src, dst and evs are needed"},
		{"probe ev src 10.0.0.1 dst 10.0.0.2 evs c001@1 ports 1",
		 "what is \"ports\"?"},
		{"probe ev timeout 5s", "5s is too long"},
		{"probe status ports 0", "ports count from 1"},
		{"monitor everything", "\"everything\" is not ev or state"},
		{"monitor -i 1ms", "at least 10ms"},
		{"monitor -n x", "\"x\" is no number"},
		{"top all", "what is \"all\"?"},
		{"qp show 16777216", "more than 16777215"},
		{"load", "FILE is missing"},
	};

	for (const Wrong &w : all) {
		const Result r = run(std::string(w.line));

		EXPECT_EQ(r.status, exit_usage) << w.line;
		EXPECT_EQ(r.out, "") << w.line;
		EXPECT_NE(r.err.find(w.says), std::string::npos)
			<< w.line << ": " << r.err;
		EXPECT_EQ(r.err.rfind("mrcctl: ", 0), 0u) << r.err;
	}
	EXPECT_TRUE(dev().log.empty());
}

TEST_F(MrcctlTest, TellsTheUsageOfACommand)
{
	EXPECT_EQ(run("port set 1 up").err,
		  "mrcctl: \"up\" is not enable or disable\n"
		  "usage: mrcctl port set PORT enable|disable\n");
}

TEST_F(MrcctlTest, RefusesWrongFiles)
{
	static constexpr Wrong all[] = {
		{"", "no JSON: error at byte"},
		{"[]", "file: not an object"},
		{"{\"format\": []}", "file: unknown member \"format\""},
		{"{\"formats\": {}}", "formats: not an array"},
		{"{\"formats\": [{\"id\": 1}]}", "formats[0]: \"mode\""},
		{R"({"formats": [{"id": -1}]})",
		 "formats[0].id: not a whole number"},
		{R"({"formats": [{"id": 1, "mode": 3, "fields": [1]}]})",
		 "formats[0].mode: not a string"},
		{R"({"formats": [{"id": 1, "mode": "udp", "fields": [256]}]})",
		 "formats[0].fields[0]: more than 255"},
		{R"({"formats": [{"id": 1, "mode": "udp", "fields": [],
		  "state": "init"}]})",
		 "formats[0].state: a definition is offline or online"},
		{R"({"formats": [{"id": 1, "mode": "udp", "fields": []},
		  {"id": 1, "mode": "udp", "fields": []}]})",
		 "formats: 1 is there twice"},
		{R"({"ev_profiles": [{"id": 1, "mode": "explicit", "fmt": 1}]})",
		 "ev_profiles[0]: an explicit profile needs \"evs\""},
		{R"({"ev_profiles": [{"id": 1, "mode": "explicit",
		  "evs": ["00@1"]}]})",
		 "ev_profiles[0]: \"fmt\" is missing"},
		{R"({"ev_profiles": [{"id": 1, "mode": "explicit", "fmt": 1,
		  "count": 2, "evs": ["00@1"]}]})",
		 "ev_profiles[0].count: not the number of EVs"},
		{R"({"ev_profiles": [{"id": 1, "mode": "generated", "fmt": 1,
		  "count": 4}]})",
		 "ev_profiles[0]: \"fields\" is missing"},
		{R"({"ev_profiles": [{"id": 1, "mode": "explicit", "fmt": 1,
		  "evs": ["00"]}]})",
		 "ev_profiles[0].evs[0]: \"00\" is no EV"},
		{R"({"ev_profiles": [{"id": 1, "mode": "auto",
		  "events": [1]}]})",
		 "ev_profiles[0].events[0]: not a string"},
		{R"({"ev_profiles": [{"id": 1, "mode": "auto", "fields":
		  [{"width": 8, "mask": "zz"}]}]})",
		 "ev_profiles[0].fields[0].mask: \"zz\" is no number"},
		{R"({"cc_profiles": [{"id": 1, "algorithm": "x",
		  "parameters": {"gama": 1}}]})",
		 "cc_profiles[0].parameters: unknown member \"gama\""},
		{R"({"cc_profiles": [{"id": 1, "algorithm": "x",
		  "parameters": {"gamma": -1}}]})",
		 "gamma is out of range"},
		{R"({"defaults": [{"prefix": "10.0.0.0/8"}]})",
		 "defaults[0]: no profile"},
		{R"({"defaults": [{"prefix": "x/8", "ev_profile": 1}]})",
		 "defaults[0].prefix: \"x\" is no address"},
	};

	for (const Wrong &w : all) {
		const Result r = run("load -", w.line);

		EXPECT_EQ(r.status, exit_usage) << w.line;
		EXPECT_NE(r.err.find(std::string("mrcctl: -: ") + w.says),
			  w.says == std::string("gamma is out of range")
				  ? 0
				  : std::string::npos)
			<< w.line << ": " << r.err;
	}
	EXPECT_TRUE(dev().log.empty());
	EXPECT_EQ(run("load /nowhere/at.all").status, exit_device);
	EXPECT_EQ(run("load /nowhere/at.all").err,
		  "mrcctl: /nowhere/at.all: No such file or directory\n");
}

TEST_F(MrcctlTest, ChoosesDevices)
{
	EXPECT_EQ(run("-d mrc7 dev").err, "mrcctl: no MRC device mrc7\n");
	EXPECT_EQ(run("-d mrc7 dev").status, exit_device);
	system_.all["mrc1"] = system_.all["mrc0"];
	EXPECT_EQ(run("port").status, exit_usage);
	EXPECT_EQ(run("port").err,
		  "mrcctl: several devices, choose one with -d: mrc0, mrc1\n"
		  "usage: mrcctl port show [PORT]\n");
	EXPECT_EQ(run("-d mrc1 port").status, 0);
	system_.all.clear();
	EXPECT_EQ(run("port").err, "mrcctl: no MRC device\n");
	EXPECT_EQ(run("port").status, exit_device);
}

TEST_F(MrcctlTest, TellsWhatTheKernelRefuses)
{
	dev().fail["enable_port"] = EPERM;
	EXPECT_EQ(run("port set 1 disable").err,
		  "mrcctl: enable_port: Operation not permitted "
		  "(CAP_NET_ADMIN is needed)\n");
	EXPECT_EQ(run("port set 1 disable").status, exit_device);
	dev().fail["qp"] = EPERM;
	add_qps();
	for (const char *line : {"qp", "-j qp", "top -n 1"}) {
		EXPECT_EQ(run(line).status, exit_device) << line;
		EXPECT_EQ(run(line).out, "") << line;
	}
	dev().fail["events"] = EOPNOTSUPP;
	EXPECT_EQ(run("monitor ev").status, exit_device);
	dev().fail["open"] = ENODEV;
	EXPECT_EQ(run("port").status, exit_device);
}

/* What this host lacks for an SRv6 profile, each in a sentence of its own. */
TEST_F(MrcctlTest, TellsWhySrv6IsRefused)
{
	static constexpr struct {
		int err;
		const char *says;
	} all[] = {
		{ENETUNREACH,
		 "ev 3 online: Network is unreachable (there is no "
		 "route to the address of an EV through the EV's"},
		{EADDRNOTAVAIL, "the port of an EV has no IPv6 address"},
		{EMSGSIZE, "has no room for SRv6"},
		{EAFNOSUPPORT, "SRv6 needs IPv6, which is missing or disabled"},
		{ENETDOWN, "none of the ports of the EVs is up"},
	};

	for (const auto &k : all) {
		dev().fail["ev 3 online"] = k.err;
		const Result r = run("ev add 3 mode explicit fmt 1 evs c001@1");

		EXPECT_EQ(r.status, exit_device);
		EXPECT_NE(r.err.find(k.says), std::string::npos) << r.err;
		EXPECT_FALSE(dev().evs.contains(3));
	}
}

TEST_F(MrcctlTest, TellsWhatIsNotThere)
{
	for (const char *line :
	     {"fmt show 9", "ev show 9", "cc show 9", "fmt del 9", "ev del 9",
	      "cc del 9", "fmt set 9 mode udp", "ev set 9 min_active 1",
	      "cc set 9 gamma 1", "qp show 9", "port show 9",
	      "default del ::/0"}) {
		const Result r = run(line);

		EXPECT_EQ(r.status, exit_device) << line;
		EXPECT_NE(r.err, "") << line;
	}
	EXPECT_EQ(run("ev show 9").err,
		  "mrcctl: ev 9: No such file or directory\n");
}

TEST_F(MrcctlTest, AddsNothingTwice)
{
	add_profiles();
	for (const char *line :
	     {"fmt add 1 mode udp fields 16", "ev add 3 mode auto",
	      "cc add 2 algorithm off"}) {
		const Result r = run(line);

		EXPECT_EQ(r.status, exit_device) << line;
		EXPECT_NE(r.err.find("File exists"), std::string::npos);
	}
	EXPECT_TRUE(dev().log.empty());
}

TEST_F(MrcctlTest, AddsAllOrNothing)
{
	dev().fail["ev 3 online"] = EINVAL;
	EXPECT_EQ(run("ev add 3 mode explicit fmt 1 evs c001@1").status,
		  exit_device);
	EXPECT_EQ(dev().log,
		  (Log{"ev 3 offline", "edit 3: 1 evs", "ev 3 init"}));
	EXPECT_FALSE(dev().evs.contains(3));
	dev().fail["edit 4"] = EINVAL;
	EXPECT_EQ(run("ev add 4 mode explicit fmt 1 evs c001@1").status,
		  exit_device);
	EXPECT_FALSE(dev().evs.contains(4));
	dev().fail["fmt 1 online"] = EINVAL;
	EXPECT_EQ(run("fmt add 1 mode udp fields 16").status, exit_device);
	EXPECT_FALSE(dev().fmts.contains(1));
}

TEST_F(MrcctlTest, TellsWhoDidNotAnswer)
{
	dev().responses = {{1, 2, 34567, false}};
	const Result r = run("probe ev src ::1 dst ::2 evs 01@1,02@2,03@1");

	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.out, "01@1 no answer\n02@2 port 2 rtt 34.6us\n"
			 "03@1 no answer\n");
	EXPECT_EQ(r.err, "mrcctl: 2 of 3 requests were not answered\n");
	dev().fail["endpoint"] = EPERM;
	EXPECT_EQ(run("probe ev src ::1 dst ::2 evs 01@1").out, "");
}

TEST_F(MrcctlTest, NoticesThatNobodyReads)
{
	struct Full : std::streambuf {
	} full;
	std::ostream out(&full);
	std::istringstream in;
	std::ostringstream err;
	Env e = env(in, out, err, &web_);

	EXPECT_EQ(mrcctl::run({"port"}, e), exit_device);
	EXPECT_EQ(err.str(), "mrcctl: standard output: write error\n");
}
} // namespace mrcctl
