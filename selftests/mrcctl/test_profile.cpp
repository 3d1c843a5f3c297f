// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What changes a device: which calls it takes and what is there afterwards. */
#include <cerrno>

#include "fake.hpp"
#include "words.hpp"

namespace mrcctl
{
using Log = std::vector<std::string>;

TEST_F(MrcctlTest, SetsPorts)
{
	EXPECT_EQ(run("port set 2 enable").status, 0);
	EXPECT_TRUE(*dev().ports[1].enabled);
	EXPECT_EQ(run("port set 2 disable").status, 0);
	EXPECT_FALSE(*dev().ports[1].enabled);
}

TEST_F(MrcctlTest, SwitchesTheExtension)
{
	EXPECT_EQ(run("dev set extension off").status, 0);
	EXPECT_FALSE(*dev().device.extension);
	EXPECT_NE(run("dev").out.find("\n    extension off\n"),
		  std::string::npos);
	EXPECT_EQ(run("dev set extension on").status, 0);
	EXPECT_TRUE(*dev().device.extension);
	dev().fail["set_attr"] = EPERM;
	EXPECT_EQ(run("dev set extension off").status, exit_device);
	EXPECT_TRUE(*dev().device.extension);
}

TEST_F(MrcctlTest, DeviceAttributes)
{
	EXPECT_EQ(run("dev set num_evs 17").status, 0);
	EXPECT_EQ(run("dev set mpr 32").status, 0);
	EXPECT_EQ(run("dev set cwnd 1048576").status, 0);
	EXPECT_EQ(run("dev set cc uet-1.0-nscc").status, 0);
	EXPECT_EQ(dev().device.qp->num_evs, 17);
	EXPECT_NE(run("dev").out.find(
			  "\n    attr num_evs 17 mpr 32 cwnd 1048576 cc uet-1.0-nscc\n"),
		  std::string::npos);
	EXPECT_TRUE(*dev().device.extension);
}

/* A module from before the extension has nothing to say about it. */
TEST_F(MrcctlTest, ShowsNoExtensionOfOlderModules)
{
	dev().device.extension.reset();
	dev().device.qp.reset();
	EXPECT_EQ(run("dev").out.find("extension"), std::string::npos);
	EXPECT_NE(run("-j dev").out.find("\"extension\":null"),
		  std::string::npos);
}

TEST_F(MrcctlTest, SetsSomeTrafficClasses)
{
	EXPECT_EQ(run("tc set control 48 trimming off").status, 0);
	EXPECT_EQ(run("tc").out,
		  "no_trim 0 trimmable 10 trimmable_retx 12 trimmed 14 "
		  "trimmed_lasthop 16 control 48 trimming off\n");
}

TEST_F(MrcctlTest, SetsSomeLimits)
{
	dev().limits.max.fill(65536);
	EXPECT_EQ(run("limit set qp 100 mr 0").status, 0);
	EXPECT_EQ(run("limit").out,
		  "pd 0 of 65536\nah 0 of 65536\ncq 0 of 65536\nmr 0 of 0\n"
		  "mw 0 of 65536\nqp 0 of 100\nsrq 0 of 65536\n");
}

TEST_F(MrcctlTest, SetsAndRemovesDefaults)
{
	EXPECT_EQ(run("default set 10.0.0.0/8 ev 3").status, 0);
	EXPECT_EQ(run("default set fd00::/64 ev 1 cc 2").status, 0);
	EXPECT_EQ(dev().defaults[0].prefix.len, 104u);
	EXPECT_EQ(run("default").out,
		  "10.0.0.0/8 ev 3 cc none\nfd00::/64 ev 1 cc 2\n");
	EXPECT_EQ(run("default del 10.0.0.0/8").status, 0);
	EXPECT_EQ(run("default").out, "fd00::/64 ev 1 cc 2\n");
	EXPECT_EQ(run("default set ::/0 cc 2").status, 0);
	EXPECT_EQ(run("default set 0.0.0.0/0 cc 3").status, 0);
	EXPECT_EQ(run("default").out, "fd00::/64 ev 1 cc 2\n::/0 ev none cc 2\n"
				      "0.0.0.0/0 ev none cc 3\n");
}

TEST_F(MrcctlTest, SetsUdpPortsOfPeers)
{
	EXPECT_EQ(run("default set 10.1.0.7 udp_port 4971").status, 0);
	EXPECT_EQ(run("default set fd00::/64 ev 1 udp_port 4791").status, 0);
	EXPECT_EQ(run("default").out,
		  "10.1.0.7/32 ev none cc none udp_port 4971\n"
		  "fd00::/64 ev 1 cc none udp_port 4791\n");
	const Json j = Json::parse(run("-j default").out);

	EXPECT_EQ(j[0]["udp_port"], 4971);
	EXPECT_TRUE(j[0]["ev_profile"].is_null());

	/* A file that "save" has written brings them back. */
	const std::string saved = run("save").out;

	EXPECT_EQ(run("default del 10.1.0.7").status, 0);
	EXPECT_EQ(run("load -", saved).status, 0);
	EXPECT_EQ(Json::parse(run("save").out)["defaults"],
		  Json::parse(saved)["defaults"]);
	EXPECT_NE(run("load -",
		      R"({"defaults": [{"prefix": "::/0", "udp_port": 65536}]})")
			  .status,
		  0);
}

TEST_F(MrcctlTest, AddsFormats)
{
	EXPECT_EQ(run("fmt add 1 mode stev fields 16,16").status, 0);
	EXPECT_EQ(run("fmt add 2 mode srv6 fields 32,32 state offline").status,
		  0);
	EXPECT_EQ(run("fmt").out,
		  "fmt 1 state online mode stev fields 16,16\n"
		  "fmt 2 state offline mode srv6 fields 32,32\n");
	EXPECT_EQ(dev().log,
		  (Log{"fmt 1 offline", "fmt 1 online", "fmt 2 offline"}));
}

TEST_F(MrcctlTest, AddsExplicitProfiles)
{
	EXPECT_EQ(run("ev add 3 mode explicit fmt 1 events good,assumed_bad "
		      "min_active 1 evs c001@1,c002@2")
			  .status,
		  0);
	EXPECT_EQ(run("ev show 3").out,
		  "ev 3 state online mode explicit fmt 1 count 2 min_active 1 "
		  "events good,assumed_bad\n    evs good 2\n"
		  "       0 c001@1 good\n       1 c002@2 good\n");
	EXPECT_EQ(dev().log,
		  (Log{"ev 3 offline", "edit 3: 2 evs", "ev 3 online"}));
}

TEST_F(MrcctlTest, ReadsEvsFromStandardInput)
{
	EXPECT_EQ(run("ev add 3 mode explicit fmt 1 evs -",
		      "# a comment\nc001@1\n\nc002@2\n")
			  .status,
		  0);
	EXPECT_EQ(dev().evs[3].count, 2u);
}

TEST_F(MrcctlTest, AddsGeneratedAndAutomaticProfiles)
{
	EXPECT_EQ(run("ev add 4 mode generated fmt 1 count 8 "
		      "fields 16/c000/ff/1/7f,16/0/0")
			  .status,
		  0);
	EXPECT_EQ(dev().evs[4].fields[0].max, 0x7fu);
	EXPECT_EQ(dev().evs[4].count, 8u);
	EXPECT_EQ(run("ev add 5 mode auto").status, 0);
	EXPECT_EQ(dev().log, (Log{"ev 4 offline", "ev 4 online", "ev 5 offline",
				  "ev 5 online"}));
}

TEST_F(MrcctlTest, AddsCcProfiles)
{
	EXPECT_EQ(run("cc add 1 algorithm uet-1.0-nscc gamma 0.8 base_rtt 9000")
			  .status,
		  0);
	EXPECT_EQ(dev().ccs[1].nscc->base_rtt, 9000u);
	EXPECT_EQ(dev().ccs[1].nscc->gamma, 0.8f);
	EXPECT_EQ(run("cc add 2 algorithm off").status, 0);
	EXPECT_FALSE(dev().ccs[2].nscc);
	EXPECT_EQ(run("cc set 1 max_cwnd 65536").status, 0);
	EXPECT_EQ(dev().ccs[1].nscc->base_rtt, 9000u);
	EXPECT_EQ(dev().ccs[1].nscc->max_cwnd, 65536u);
}

TEST_F(MrcctlTest, ChangesInTheOrderThatStatesAllow)
{
	add_profiles();
	/* Down before the rest, up after it. */
	EXPECT_EQ(run("fmt set 1 fields 8,8 state offline").status, 0);
	EXPECT_EQ(run("fmt set 1 fields 4,4 state online").status, 0);
	EXPECT_EQ(dev().log,
		  (Log{"fmt 1 offline", "fmt 1", "fmt 1", "fmt 1 online"}));
	EXPECT_EQ(dev().fmts[1].fields, (std::vector<uint8_t>{4, 4}));
}

TEST_F(MrcctlTest, ForgetsProfiles)
{
	add_profiles();
	EXPECT_EQ(run("ev del 3").status, 0);
	EXPECT_EQ(run("fmt del 1").status, 0);
	EXPECT_EQ(run("cc del 2").status, 0);
	EXPECT_EQ(dev().log, (Log{"ev 3 offline", "ev 3 init", "fmt 1 offline",
				  "fmt 1 init", "cc 2 offline", "cc 2 init"}));
	EXPECT_FALSE(dev().evs.contains(3));
}

TEST_F(MrcctlTest, DeniesAllowsAndReplacesEvs)
{
	add_profiles();
	EXPECT_EQ(run("ev deny 3 3e80@1,3e70@2").status, 0);
	EXPECT_EQ(dev().evs[3].evs[0].state, EvState::denied);
	EXPECT_EQ(dev().evs[3].evs[1].state, EvState::denied);
	EXPECT_EQ(run("ev allow 3 3e80@1").status, 0);
	EXPECT_EQ(dev().evs[3].evs[0].state, EvState::good);
	EXPECT_EQ(run("ev replace 3 3e80@1 0a@1 3e70@2 0b@2").status, 0);
	EXPECT_EQ(show_ev(dev().evs[3].evs[1].ev), "0b@2");
}

TEST_F(MrcctlTest, SavesAndLoadsTheSame)
{
	add_profiles();
	const Result saved = run("save");

	golden("save.json", saved.out);
	dev().fmts.clear();
	dev().evs.clear();
	dev().ccs.clear();
	dev().defaults.clear();
	const Result loaded = run("load -", saved.out);

	EXPECT_EQ(loaded.status, 0) << loaded.err;
	/* What a device has judged is not defined. */
	dev().evs[3].evs[1].state = EvState::assumed_bad;
	EXPECT_EQ(run("save").out, saved.out);
	/* Over itself: room is made first. */
	EXPECT_EQ(run("load -", saved.out).status, 0);
	dev().evs[3].evs[1].state = EvState::assumed_bad;
	EXPECT_EQ(run("save").out, saved.out);
}

TEST_F(MrcctlTest, LoadsWhatPeopleWrite)
{
	const Result r = run("load -", R"({
		"formats": [{"id": 1, "mode": "udp", "fields": [16]}],
		"ev_profiles": [
			{"id": 2, "mode": "explicit", "fmt": 1,
			 "evs": ["c001@1", {"ev": "c002@2",
					    "state": "denied"}]},
			{"id": 3, "mode": "generated", "fmt": 1, "count": 4,
			 "fields": [{"width": 16, "init": "0xc000",
				     "mask": 255}],
			 "evs": [{"ev": "0001@2", "state": "denied"},
				 {"ev": "7777@1", "state": "denied"}]}],
		"cc_profiles": [{"id": 0, "algorithm": "none"},
				{"id": 1, "algorithm": "off",
				 "state": "offline"}],
		"defaults": [{"prefix": "10.0.0.0/8", "ev_profile": 2,
			      "cc_profile": null}]})");

	EXPECT_EQ(r.status, 0) << r.err;
	EXPECT_EQ(dev().fmts[1].state, State::online);
	EXPECT_EQ(dev().evs[2].evs[1].state, EvState::denied);
	EXPECT_EQ(dev().evs[3].fields[0].init, 0xc000u);
	/* 7777 was not drawn, which is as good as denied. */
	EXPECT_EQ(dev().evs[3].evs[1].state, EvState::denied);
	EXPECT_EQ(dev().ccs[1].state, State::offline);
	EXPECT_EQ(dev().defaults[0].ev_profile, 2u);
}

/* Numbers may be hexadecimal everywhere, and strings in files. */
TEST_F(MrcctlTest, TakesHexadecimalNumbers)
{
	EXPECT_EQ(run("cc add 1 algorithm uet-1.0-nscc base_rtt 0x2ee0").status,
		  0);
	EXPECT_EQ(dev().ccs[1].nscc->base_rtt, 12000u);
	const Result r = run("load -", R"({"cc_profiles": [
		{"id": "0x2", "algorithm": "uet-1.0-nscc", "parameters":
		 {"max_cwnd": "0x10000", "gamma": "0.5"}}]})");

	EXPECT_EQ(r.status, 0) << r.err;
	EXPECT_EQ(dev().ccs[2].nscc->max_cwnd, 65536u);
	EXPECT_EQ(dev().ccs[2].nscc->gamma, 0.5f);
	EXPECT_EQ(run("cc add 3 algorithm x gamma 0xg").status, exit_usage);
	EXPECT_EQ(run("load -", R"({"cc_profiles": [{"id": 3, "algorithm": "x",
		"parameters": {"gamma": "0xg"}}]})")
			  .err,
		  "mrcctl: -: cc_profiles[0].parameters: \"0xg\" is no number\n"
		  "usage: mrcctl load FILE|-\n");
	EXPECT_FALSE(dev().ccs.contains(3));
}

TEST_F(MrcctlTest, Probes)
{
	dev().responses = {{1, 2, 34567, true}, {0, 1, 800, false}};
	const Result r =
		run("probe ev src 10.0.0.1 dst 10.0.0.2 evs c001@1,c002@2 "
		    "tc 4 timeout 20ms");

	EXPECT_EQ(r.status, 0) << r.err;
	EXPECT_EQ(r.out, "c001@1 port 1 rtt 800ns\n"
			 "c002@2 port 2 rtt 34.6us without service time\n");
	EXPECT_EQ(dev().request->timeout_ns, 20000000u);
	EXPECT_EQ(dev().request->tc, 4);
	EXPECT_FALSE(dev().request->port_status);
	golden("probe.json",
	       run("-p probe ev src fd00::1 dst fd00::2 fmt stev evs "
		   "0103c001@1,0104c001@2")
		       .out);
	EXPECT_EQ(dev().request->mode, FmtMode::stev);
}

TEST_F(MrcctlTest, TellsPortStatus)
{
	dev().responses = {{0, 1, 900, false}};
	EXPECT_EQ(run("probe status src 10.0.0.1 dst 10.0.0.2 evs c001@1 "
		      "ports 1,2")
			  .status,
		  0);
	EXPECT_EQ(*dev().request->port_status, 6u);
	EXPECT_EQ(run("probe status src 10.0.0.1 dst 10.0.0.2 evs c001@1 "
		      "ports none")
			  .status,
		  0);
	EXPECT_EQ(*dev().request->port_status, 0u);
	EXPECT_EQ(run("probe status src 10.0.0.1 dst 10.0.0.2 evs c001@1 "
		      "ports all")
			  .status,
		  0);
	EXPECT_EQ(*dev().request->port_status, 0xffffffffu);
}
} // namespace mrcctl
