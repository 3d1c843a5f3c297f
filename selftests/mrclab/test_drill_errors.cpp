// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Files of drills that are wrong: the line, and what is said. */
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "drill_text.hpp"
#include "words.hpp"

namespace mrclab
{
namespace
{
struct Wrong {
	const char *more;
	const char *says;
};

/* What stands behind the six lines of the plain drill. */
void refuses(const std::vector<Wrong> &all)
{
	for (const Wrong &w : all)
		EXPECT_EQ(drill_error(plain_drill + w.more),
			  std::string("d.yaml:") + w.says)
			<< w.more;
}

/* Requirements of the plain drill, in line 7. */
void refuses_musts(const std::vector<Wrong> &all)
{
	for (const Wrong &w : all)
		EXPECT_EQ(
			drill_error(plain_drill + "must: [{" + w.more + "}]\n"),
			std::string("d.yaml:7: ") + w.says)
			<< w.more;
}

/* Traffic "t" in line 5. */
void refuses_traffic(const std::vector<Wrong> &all)
{
	for (const Wrong &w : all)
		EXPECT_EQ(drill_error("drill: d\nfabric: f.yaml\ntime: 10s\n"
				      "traffic:\n  t: {" +
				      std::string(w.more) + "}\n"),
			  std::string("d.yaml:5: ") + w.says)
			<< w.more;
}
} // namespace

TEST(DrillErrors, NameWhatIsMissing)
{
	EXPECT_EQ(drill_error(plain_drill), "");
	EXPECT_EQ(drill_error(with_line(plain_drill, 1, "")),
		  "d.yaml:1: \"drill\" is missing");
	EXPECT_EQ(drill_error(with_line(plain_drill, 2, "")),
		  "d.yaml:1: \"fabric\" is missing");
	EXPECT_EQ(drill_error(with_line(plain_drill, 3, "")),
		  "d.yaml:1: \"time\" is missing");
	EXPECT_EQ(drill_error("# a\n\ndrill: d\nfabric: f.yaml\ntime: 1s\n"),
		  "d.yaml:3: \"traffic\" is missing");
	EXPECT_EQ(drill_error(""),
		  "d.yaml: a drill must be a map of \"key: value\"");
}

TEST(DrillErrors, NameWordsThatAreWrong)
{
	EXPECT_EQ(drill_error(with_line(plain_drill, 1, "drill: ../d\n")),
		  "d.yaml:1: drill: \"../d\" is no name: up to 32 lower case "
		  "letters, digits, - and _, the first one a letter");
	EXPECT_EQ(drill_error(with_line(plain_drill, 3, "time: 0\n")),
		  "d.yaml:3: \"time\" is missing");
	EXPECT_EQ(drill_error(with_line(plain_drill, 3, "time: 99ms\n")),
		  "d.yaml:3: the drill is shorter than a sample");
	EXPECT_EQ(drill_error(with_line(plain_drill, 3, "time: 3600.1s\n")),
		  "d.yaml:3: time: \"3600.1s\" is out of range: a time is 0 to "
		  "an hour");
	EXPECT_EQ(drill_error(with_line(plain_drill, 4, "baseline: 1s\n")),
		  "d.yaml:4: baseline: \"1s\" is no time like \"1s..3s\"");
	EXPECT_EQ(drill_error(with_line(plain_drill, 4, "baseline: 3s..3s\n")),
		  "d.yaml:4: baseline: \"3s..3s\" ends before it begins");
	EXPECT_EQ(drill_error(with_line(plain_drill, 4, "baseline: 3s..11s\n")),
		  "d.yaml:4: the baseline ends after the drill");
	EXPECT_EQ(drill_error(with_line(plain_drill, 4, "baseline: 1s...3s\n")),
		  "d.yaml:4: baseline: \"1s...3s\" ends before it begins");
	refuses({
		{"colour: red\n",
		 "7: a drill has no key \"colour\"; its keys are drill, title, "
		 "about, paper, fabric, time, sample, baseline, evs, traffic, "
		 "timeline, show, must, rxe"},
		{"time: 3s\n", "7: a drill has \"time\" twice"},
		{"title:\n", "7: \"title\" has no value"},
		{"about: [x]\n",
		 "7: about: a single word or number is expected here"},
		{"paper: 5\n", "7: paper must be a map of \"key: value\""},
		{"paper:\n  page: 5\n",
		 "8: paper has no key \"page\"; its keys are figure, values"},
		{"sample: 9ms\n", "7: \"sample\" is 10ms to 10s"},
		{"sample: 10001ms\n", "7: \"sample\" is 10ms to 10s"},
		{"sample: fast\n",
		 "7: sample: \"fast\" is no time; one is written like "
		 "\"10us\""},
		{"show:\n  - w\n  - x\n",
		 "9: there is no series \"x\"; there are the names of traffic, "
		 "flows, total, planes, \"plane 1\", and directions of links "
		 "like p1l1:h1"},
		{"show: []\n", "7: show has 1 to 1000 words"},
		{"show: [w, evs]\n", "7: there are no evs without \"evs: on\""},
		{"evs: 1\n", "7: evs: \"1\" is neither true nor false"},
		{"sample: 201ms\nevs: on\n",
		 "8: with \"evs\" a \"sample\" is at most 200ms"},
		{"evs: on\nmust: [{what: evs, mean: 1%}]\n",
		 "8: there is no series \"evs\"; there are the names of "
		 "traffic, flows, total, planes, \"plane 1\", and directions "
		 "of links like p1l1:h1"},
		{"show: {w: 1}\n",
		 "7: show: a single word or number is expected here"},
		{"show: [w, [w]]\n",
		 "7: a single word or number is expected here"},
		{"must: {what: w}\n", "7: must must be a list"},
		{"rxe: true\n", "7: rxe must be a map of \"key: value\""},
		{"rxe: {devices: x}\n",
		 "7: rxe has no key \"devices\"; its keys are fabric, "
		 "timeline"},
	});
	EXPECT_EQ(drill_error(with_line(plain_drill, 3,
					"time: 3000s\nsample: 20ms\n")),
		  "d.yaml:4: there are more than 100000 samples");
}

TEST(DrillErrors, NameTheFabric)
{
	Texts texts;

	EXPECT_EQ(drill_error(with_line(plain_drill, 2, "fabric: no.yaml\n")),
		  "no.yaml: not there");
	EXPECT_EQ(drill_error(with_line(plain_drill, 2, "fabric: \"\"\n")),
		  "d.yaml:2: fabric: it names a file");
	EXPECT_EQ(
		drill_error(with_line(plain_drill, 2, "fabric: {planes: 1}\n")),
		"d.yaml:2: fabric: a single word or number is expected here");
	EXPECT_EQ(drill_error(plain_drill + "rxe:\n  fabric: [f]\n"),
		  "d.yaml:8: fabric: a single word or number is expected here");
	EXPECT_EQ(drill_error(plain_drill + "rxe: {fabric: no.yaml}\n"),
		  "no.yaml: not there");
	EXPECT_EQ(drill_error(plain_drill + "rxe: {}\n"),
		  "f.yaml: rxe needs a fabric that forwards by ecmp or "
		  "srv6+ecmp");
	texts.all["f.yaml"] = plain_fabric + "forwarding: srv6\n";
	EXPECT_EQ(drill_error(plain_drill + "rxe: {}\n", texts),
		  "f.yaml:6: rxe needs a fabric that forwards by ecmp or "
		  "srv6+ecmp");
	for (const char *kind : {"mrc", "rxe", "none"}) {
		texts.all["f.yaml"] = plain_fabric + "devices: " + kind + "\n";
		EXPECT_EQ(drill_error(plain_drill, texts),
			  "f.yaml:6: the fabric of a drill leaves out "
			  "\"devices\": the drill says which");
	}
	texts.all["f.yaml"] = plain_fabric + "profiles:\n  evs: off\n";
	EXPECT_EQ(drill_error(plain_drill, texts),
		  "f.yaml:7: a drill's programs name no profiles, and srv6 "
		  "without ecmp carries nothing without EVs");
	texts.all["f.yaml"] = "name: x\nplanes: 99\n";
	EXPECT_EQ(drill_error(plain_drill, texts).substr(0, 17),
		  "f.yaml:2: planes:");
	texts.all["f.yaml"] = "name: x\nplanes: 16\nt0: 4096\nt1: 4096\n"
			      "hosts: 4096\n";
	EXPECT_EQ(drill_error(plain_drill, texts).substr(0, 9), "f.yaml:3:");
	texts.all["f.yaml"] = plain_fabric;
	texts.all["ecmp.yaml"] = "name: x\nplanes: 1\nt0: 1\nt1: 0\nhosts: 3\n"
				 "forwarding: ecmp\n";
	EXPECT_EQ(
		drill_error(plain_drill + "rxe: {fabric: ecmp.yaml}\n", texts),
		"ecmp.yaml: the fabric for rxe has fewer hosts");
}

TEST(DrillErrors, NameTraffic)
{
	const std::string either =
		"traffic t: either \"program\" or \"command\" is needed";
	const std::string program =
		"traffic t: a program needs \"from\" and \"to\", or "
		"\"among\", and has no \"hosts\" and no \"end\"";
	const std::string command =
		"traffic t: a command needs \"hosts\"; what else it needs is "
		"in its words";
	const std::string w = "program: ib_write_bw, from: h1, to: h3";

	for (const std::string &keys :
	     {std::string("from: h1, to: h3"), w + ", command: x",
	      std::string("hosts: h1")})
		refuses_traffic({{keys.c_str(), either.c_str()}});
	for (const std::string &keys :
	     {std::string("program: ib_write_bw"),
	      std::string("program: ib_write_bw, from: h1"),
	      std::string("program: ib_write_bw, to: h1"), w + ", hosts: h1",
	      w + ", end: kill"})
		refuses_traffic({{keys.c_str(), program.c_str()}});
	for (const char *keys :
	     {"command: x", "command: x, hosts: h1, from: h2",
	      "command: x, hosts: h1, to: h2", "command: x, hosts: h1, qps: 1",
	      "command: x, hosts: h1, size: 1",
	      "command: x, hosts: h1, options: x",
	      "command: x, hosts: h1, both_ways: off"})
		refuses_traffic({{keys, command.c_str()}});
	for (const auto &[more, says] :
	     {std::pair("qps: 0", "qps: 0 is out of range: 1 to 10000"),
	      std::pair("qps: 10001", "qps: 10001 is out of range: 1 to 10000"),
	      std::pair("size: 0", "size: a message has at least one byte"),
	      std::pair("size: 1.1g",
			"size: \"1.1g\" is out of range: a size is 0 to 1g"),
	      std::pair("both_ways: 2",
			"both_ways: \"2\" is neither true nor false"),
	      std::pair("options: \" \"",
			"options: a command has 1 to 16384 bytes"),
	      std::pair("start: 10s", "traffic t starts after the end"),
	      std::pair("start: 9s", "no traffic starts at 0")}) {
		const std::string keys = w + ", " + more;

		refuses_traffic({{keys.c_str(), says}});
	}
	refuses_traffic({
		{"program: iperf3, from: h1, to: h2",
		 "program: \"iperf3\" is none of ib_write_bw, ib_read_bw, "
		 "ib_send_bw, mrcperf, ib_write_lat, ib_read_lat, ib_send_lat; "
		 "other programs are run by \"command\""},
		{"program: mrcperf, from: h1, to: h3, both_ways: on",
		 "traffic t: mrcperf sends one way"},
		{"program: ib_send_bw, from: h1, to: h1",
		 "traffic t: a flow is between two hosts"},
		{"program: ib_send_bw, from: [h1, h2], to: [h3, h4, h1]",
		 "traffic t: \"to\" is one host, or as many as \"from\""},
		{"program: ib_send_bw, from: h1, to: [h3, h4]",
		 "traffic t: \"to\" is one host, or as many as \"from\""},
		{"program: ib_send_bw, from: h5, to: h1",
		 "traffic t: fabric plain has no node \"h5\"; hosts are h1 to "
		 "h4, "
		 "switches are like p1l1 (T0) and p1s1 (T1)"},
		{"program: ib_send_bw, from: p1l1, to: h1",
		 "traffic t: \"p1l1\" is a switch; programs run on hosts"},
		{"program: ib_send_bw, from: h1, to: h2, options: \"{x}\"",
		 "traffic t: there is no {x}; there are {device}, {gid}, "
		 "{address}, {mgmt}, {rank}, {ranks}, and {address:N} and "
		 "{mgmt:N} with N from 1 to 2"},
		{"command: \"x {mgmt:4}\", hosts: [h1, h2, h3]",
		 "traffic t: there is no {mgmt:4}; there are {device}, {gid}, "
		 "{address}, {mgmt}, {rank}, {ranks}, and {address:N} and "
		 "{mgmt:N} with N from 1 to 3"},
		{"command: x, hosts: h1, end: never",
		 "end: \"never\" is none of kill, wait, interrupt"},
		{"command: \"\", hosts: h1",
		 "command: a command has 1 to 16384 bytes"},
		{"command: x, hosts: []", "hosts has 1 to 1000 words"},
		{"command: x, hosts: [h1, h1]",
		 "the goodput of \"t\" cannot be told from that of other flows "
		 "of its hosts: a flow needs a sender or a receiver of its "
		 "own"},
		{"speed: 5",
		 "traffic t has no key \"speed\"; its keys are program, from, "
		 "to, among, qps, size, count, both_ways, options, command, "
		 "hosts, end, start"},
	});
	EXPECT_EQ(drill_error(with_line(plain_drill, 6, "  {}\n")),
		  "d.yaml:6: there is no traffic");
	for (const char *name : {"total", "flows", "planes", "plane", "evs"})
		EXPECT_EQ(drill_error(plain_drill + "  " + name +
				      ": {command: x, hosts: h1}\n"),
			  fmt::format("d.yaml:7: traffic {}: this name has a "
				      "meaning already",
				      name));
	for (const char *name : {"W", "a b", "a.b", "abcdefghijklmnopq", "1"})
		EXPECT_EQ(drill_error(plain_drill + "  " + name +
				      ": {command: x, hosts: h1}\n")
				  .find("d.yaml:7: " + std::string(name) +
					": \"" + name +
					"\" is no name of traffic"),
			  0u)
			<< name;
}

TEST(DrillErrors, NameRequirements)
{
	const char *times = "the requirement's time is not within the drill";
	const char *kinds = "a requirement has one of worst, mean, fair, "
			    "reaches, gap, typical, p99";
	const char *pair = "\"reaches\" and \"within\" belong together";
	const char *fair = "\"of\" and \"against\" are not for \"fair\" and "
			   "\"gap\"";
	const char *none = "no sample lies in the requirement's time";

	refuses_musts({
		{"from: 1s, mean: 1%",
		 "a requirement needs \"what\", the name of a series"},
		{"what: \"\", mean: 1%",
		 "a requirement needs \"what\", the name of a series"},
		{"what: w", kinds},
		{"what: w, mean: 1%, worst: 1%", kinds},
		{"what: w, mean: 1%, within: 1s", pair},
		{"what: w, reaches: 1%", pair},
		{"what: w, reaches: 1%, within: 0", pair},
		{"what: w, reaches: 1%, within: 1s, to: 3s",
		 "\"reaches\" has \"within\", and no \"to\""},
		{"what: w, fair: 0.9, of: 1/2", fair},
		{"what: w, fair: 0.9, against: 1mbit", fair},
		{"what: w, mean: 101%",
		 "mean: \"101%\" is out of range: a percentage is 0 to 100"},
		{"what: w, fair: 90%",
		 "fair: \"90%\" is no index like \"0.99\""},
		{"what: w, fair: 0.9%",
		 "fair: \"0.9%\" is no index like \"0.99\""},
		{"what: w, fair: 1.01",
		 "fair: \"1.01\" is no index like \"0.99\""},
		{"what: w, mean: 9%, of: 7", "of: \"7\" is no part like "
					     "\"7/8\""},
		{"what: w, mean: 9%, of: 9/8", "of: \"9/8\" is more than all"},
		{"what: w, mean: 9%, of: 0/8",
		 "of: 0 is out of range: 1 to 4096"},
		{"what: w, mean: 9%, of: 1/4097",
		 "of: 4097 is out of range: 1 to 4096"},
		{"what: w, mean: 9%, of: 1/2/3",
		 "of: \"2/3\" is no whole number"},
		{"what: w, mean: 9%, against: 1",
		 "against: \"1\" is out of range: a rate is 1kbit to 1tbit"},
		{"what: w, from: 5s, to: 5s, mean: 1%", times},
		{"what: w, from: 5s, to: 0, mean: 1%", times},
		{"what: w, from: 10s, mean: 1%", times},
		{"what: w, to: 11s, mean: 1%", times},
		{"what: w, from: 9s, reaches: 9%, within: 1001ms", times},
		{"what: w, from: 9s, reaches: 9%, within: 99ms",
		 "\"within\" is shorter than a sample"},
		{"what: w, from: 5s, to: 5090ms, mean: 1%", none},
		{"what: w, from: 5050ms, to: 5150ms, mean: 1%", none},
		{"what: w, from: 5001ms, to: 5199ms, fair: 1", none},
		{"what: v, from: 5s, mean: 1%",
		 "there is no series \"v\"; there are the names of traffic, "
		 "flows, total, planes, \"plane 1\", and directions of links "
		 "like p1l1:h1"},
		{"what: plane 3, mean: 1%",
		 "there is no series \"plane 3\"; there are the names of "
		 "traffic, flows, total, planes, \"plane 1\", and directions "
		 "of links like p1l1:h1"},
		{"what: w, medium: 1%",
		 "a requirement has no key \"medium\"; its keys are what, "
		 "from, to, worst, mean, fair, reaches, within, gap, typical, "
		 "p99, against, of"},
	});
	EXPECT_EQ(
		drill_error(plain_drill + "must:\n  - {what: w, mean: 1%}\n"
					  "  - {what: w,\n     mean: x}\n"),
		"d.yaml:10: mean: \"x\" is no percentage; one is written like "
		"\"0.1%\"");
	for (const char *baseline :
	     {"", "baseline: 0..90ms\n", "baseline: 1050ms..1190ms\n"}) {
		const std::string without = with_line(plain_drill, 4, baseline);

		EXPECT_NE(drill_error(without + "must: [{what: w, mean: 9%}]\n")
				  .find("the requirement compares with a "
					"\"baseline\", which is missing or has "
					"no sample"),
			  std::string::npos)
			<< baseline;
		EXPECT_EQ(drill_error(without + "must: [{what: w, mean: 9%, "
						"against: 1mbit}, "
						"{what: w, fair: 0.1}]\n"),
			  "");
	}
}

/* What has no baseline cannot be compared with it. */
TEST(DrillErrors, NameFlowsThatStartLate)
{
	const auto error = [](const char *start, const char *must) {
		return drill_error(
			plain_drill +
			"  late: {program: ib_write_bw, from: h2, to: h4, "
			"start: " +
			start + "}\nmust:\n  - {" + must + "}\n");
	};
	const auto why = [](const char *start) {
		return std::string("d.yaml:9: flow late starts at ") + start +
		       ", after the baseline begins; compare it with a rate, "
		       "by \"against\"";
	};

	for (const char *must :
	     {"what: late, from: 5s, mean: 90%", "what: late, worst: 9%",
	      "what: flows, from: 5s, mean: 90%",
	      "what: late, from: 5s, reaches: 50%, within: 1s"})
		EXPECT_EQ(error("4s", must), why("4s")) << must;
	/* A part of the baseline is no better. */
	EXPECT_EQ(error("1500ms", "what: late, from: 5s, mean: 90%"),
		  why("1.5s"));
	EXPECT_EQ(error("1s", "what: late, from: 5s, mean: 90%"), "");
	for (const char *must :
	     {"what: late, from: 5s, mean: 90%, against: 10mbit",
	      "what: late, from: 5s, fair: 0.9", "what: late, gap: 5s",
	      "what: w, from: 5s, mean: 90%", "what: total, mean: 90%",
	      "what: planes, mean: 90%"})
		EXPECT_EQ(error("4s", must), "") << must;
}

TEST(DrillErrors, NameFaults)
{
	refuses({
		{"timeline: p1l1 down\n",
		 "7: timeline must be a map of \"key: value\""},
		{"timeline:\n  3s: p1l1 down\n  4s: p9l1 down\n",
		 "9: \"p9l1 down\": fabric plain has no node \"p9l1\"; hosts "
		 "are "
		 "h1 to h4, switches are like p1l1 (T0) and p1s1 (T1)"},
		{"timeline:\n  3s:\n    - p1l1 down\n    - p1l1 sideways\n",
		 "10: \"p1l1 sideways\": \"sideways\" has no value"},
		{"timeline:\n  3s: [p1l1 down]\n  2s: p1l1:s1 loss 1%\n"
		 "  5s: p1l1:s1 up\n",
		 "10: \"p1l1:s1 up\": p1l1:s1 stays down: p1l1 is down"},
		{"timeline:\n  3s: p1l1:s9+ flap 1s 500ms 2\n",
		 "8: \"p1l1:s9+ down\": fabric plain has no link \"p1l1:s9\"; "
		 "one is "
		 "named after the end that sends, like h1:p1, p1l1:h1 or "
		 "p1l1:s1"},
		{"timeline:\n  3s: \"\"\n", "8: \"\": what is to be wrong?"},
		{"timeline:\n  10s: p1l1 down\n",
		 "8: 10s: 10s is after the drill's end"},
		{"timeline:\n  soon: p1l1 down\n",
		 "8: soon: \"soon\" is no time; one is written like "
		 "\"10us\""},
		{"timeline:\n  3s: {p1l1: down}\n",
		 "8: 3s: a single word or number is expected here"},
	});
	EXPECT_EQ(drill_error(with_line(plain_drill, 2, "fabric: both.yaml\n") +
			      "timeline: {}\nrxe: {timeline: []}\n"),
		  "d.yaml:8: timeline must be a map of \"key: value\"");
	/* Of the other fabric, in the timeline that both have. */
	EXPECT_EQ(drill_error("drill: d\nfabric: f.yaml\ntime: 9s\n"
			      "traffic: {w: {command: x, hosts: h1}}\n"
			      "rxe: {fabric: ecmp.yaml}\n"
			      "timeline:\n"
			      "  3s: path h1 h3 plane 1 t1 1 loss 1%\n"),
		  "d.yaml:7: \"path h1 h3 plane 1 t1 1 loss 1%\": fabric plain "
		  "has no SRv6 paths: its forwarding is ecmp");
}

TEST(DrillErrors, OfTooMuch)
{
	const std::string head = "drill: d\nfabric: f.yaml\ntime: 3s\n";
	std::string flows = "[h1", words, musts = "must:\n", traffic;

	for (int i = 1; i < 1000; i++)
		flows += ", h1";
	EXPECT_NE(drill_error(head +
			      "traffic:\n  a: {program: ib_send_bw, to: h2, "
			      "from: " +
			      flows +
			      "]}\n"
			      "  b: {program: ib_send_bw, to: h2, "
			      "from: h3}\n")
			  .find("d.yaml:6: traffic b: there are more than 1000 "
				"flows, or more than 2000 programs"),
		  std::string::npos);
	EXPECT_EQ(drill_error(head + "traffic: {w: {command: x, hosts: " +
			      flows + ", h1]}}\n"),
		  "d.yaml:4: hosts has 1 to 1000 words");
	for (int i = 0; i < 3; i++)
		traffic += fmt::format("  t{}: {{command: x, hosts: {}]}}\n", i,
				       flows);
	EXPECT_EQ(drill_error(head + "traffic:\n" + traffic),
		  "d.yaml:7: traffic t2: there are more than 1000 flows, or "
		  "more than 2000 programs");
	traffic.clear();
	for (int i = 0; i <= 1000; i++)
		traffic += fmt::format("  t{}: {{command: x, hosts: h1}}\n", i);
	EXPECT_EQ(drill_error(head + "traffic:\n" + traffic),
		  "d.yaml:1005: there are more than 1000 flows");
	for (int i = 0; i <= 1000; i++)
		musts += "  - {what: w, mean: 1%}\n";
	EXPECT_EQ(drill_error(plain_drill + musts),
		  "d.yaml:1008: there are more than 1000 requirements");
	words.assign(16385, 'x');
	EXPECT_EQ(drill_error(head + "traffic: {w: {hosts: h1, command: " +
			      words + "}}\n"),
		  "d.yaml:4: command: a command has 1 to 16384 bytes");
	EXPECT_EQ(drill_error(plain_drill +
			      "timeline:\n"
			      "  1s: p1l1 flap 200us 100us 10000\n"
			      "  2s: p1l1 drop\n"),
		  "d.yaml:9: 2s: there are more than 20000 faults");
}
} // namespace mrclab
