// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* metrics: the exposition, and the dashboard that draws it. */
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <regex>
#include <set>

#include "fake_planes.hpp"
#include "metrics.hpp"

namespace mrcctl
{
namespace
{
std::string text_of_file(const std::string &path)
{
	std::ifstream f(path);
	std::ostringstream s;

	EXPECT_TRUE(f) << path;
	s << f.rdbuf();
	return s.str();
}

std::vector<std::string> lines_of(const std::string &text)
{
	std::istringstream in(text);
	std::vector<std::string> out;
	std::string line;

	while (std::getline(in, line))
		out.push_back(line);
	return out;
}

/* Names of families, in the order of their TYPE lines. */
std::vector<std::string> families_of(const std::string &text)
{
	std::vector<std::string> out;

	for (const std::string &line : lines_of(text))
		if (line.starts_with("# TYPE "))
			out.push_back(line.substr(7, line.rfind(' ') - 7));
	return out;
}
} // namespace

TEST_F(MrcctlTest, ShowsMetrics)
{
	add_profiles();
	add_qps();
	const Result r = run("metrics");

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.err, "");
	golden("metrics.prom", r.out);
	EXPECT_EQ(run("metrics -").out, r.out);
	EXPECT_EQ(run("-d mrc0 metrics").out, r.out);
}

/* Each line is a comment or a sample of the family whose TYPE came last. */
TEST_F(MrcctlTest, FollowsTheFormatOfMetrics)
{
	add_profiles();
	add_qps();
	system_.all["mrc1"] = system_.all["mrc0"];
	const std::string text = run("metrics").out;
	const std::regex sample(
		R"(([a-z_][a-z0-9_]*)\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\} )"
		R"([0-9.e+-]+)");
	const std::regex help(R"(# HELP ([a-z_0-9]+) [^ ].*)");
	const std::regex type(R"(# TYPE ([a-z_0-9]+) (gauge|counter))");
	std::set<std::string> seen, samples;
	std::string family, kind;
	std::smatch m;

	for (const std::string &line : lines_of(text)) {
		if (std::regex_match(line, m, help)) {
			family = m[1];
			EXPECT_TRUE(seen.insert(family).second) << family;
		} else if (std::regex_match(line, m, type)) {
			EXPECT_EQ(m[1], family);
			EXPECT_EQ(m[2] == "counter", family.ends_with("_total"))
				<< family;
		} else {
			ASSERT_TRUE(std::regex_match(line, m, sample)) << line;
			EXPECT_EQ(m[1], family);
			EXPECT_TRUE(
				samples.insert(line.substr(0, line.rfind(' ')))
					.second)
				<< line;
		}
		EXPECT_TRUE(family.starts_with("mrc_")) << line;
	}
	EXPECT_EQ(text.back(), '\n');
	EXPECT_GT(seen.size(), 20u);
}

TEST_F(MrcctlTest, AggregatesMetricsOfQueuePairs)
{
	add_qps();
	Qp q = dev().qps[0];

	q.name.qpn = 19;
	q.cwnd = 131072;
	q.srtt_ns = 1000000;
	q.ports = {{20000, 1000}, {20000, 0}};
	q.ev_profile = no_profile;
	dev().qps.push_back(q);
	const std::string text = run("metrics").out;

	/* Queue pair 18 has sent nothing and does not count. */
	EXPECT_TRUE(has(text, "mrc_qp_cwnd_min_bytes{device=\"mrc0\"} 131072"));
	EXPECT_TRUE(
		has(text, "mrc_qp_cwnd_mean_bytes{device=\"mrc0\"} 196608"));
	EXPECT_TRUE(has(text, "mrc_qp_cwnd_max_bytes{device=\"mrc0\"} 262144"));
	EXPECT_TRUE(
		has(text, "mrc_qp_srtt_max_seconds{device=\"mrc0\"} 0.001\n"));
	/* 80000 of 140000 packets. */
	EXPECT_TRUE(has(text, "mrc_qp_port_packets_ratio{device=\"mrc0\","
			      "port=\"1\"} 0.5714285714285714\n"));
	EXPECT_TRUE(has(text, "mrc_qps{device=\"mrc0\",state=\"RTS\"} 2\n"));
	EXPECT_TRUE(has(text, "mrc_qps{device=\"mrc0\",state=\"INIT\"} 1\n"));
	EXPECT_TRUE(has(text, "mrc_qps{device=\"mrc0\",state=\"ERR\"} 0\n"));
	EXPECT_TRUE(has(text, "mrc_ev_profile_qps{device=\"mrc0\","
			      "profile=\"3\"} 1\n"));
	EXPECT_TRUE(has(text, "mrc_qp_evs{device=\"mrc0\",port=\"2\","
			      "state=\"assumed_bad\"} 2\n"));
}

TEST_F(MrcctlTest, SaysWhichMetricsCouldNotBeRead)
{
	add_profiles();
	add_qps();
	dev().fail["qp"] = EPERM;
	dev().fail["ev_state"] = EPERM;
	std::string text = run("metrics").out;

	EXPECT_TRUE(has(text, "mrc_collector_success{device=\"mrc0\","
			      "collector=\"qps\"} 0\n"));
	EXPECT_TRUE(has(text, "mrc_collector_success{device=\"mrc0\","
			      "collector=\"qp_names\"} 1\n"));
	EXPECT_TRUE(has(text, "mrc_collector_success{device=\"mrc0\","
			      "collector=\"ev_profiles\"} 0\n"));
	EXPECT_FALSE(has(text, "\nmrc_qp_evs{"));
	EXPECT_TRUE(has(text, "\nmrc_port_up{"));
	/* The device goes away. */
	dev().fail = {{"open", ENODEV}};
	text = run("metrics").out;
	EXPECT_TRUE(has(text, "collector=\"device\"} 0\n"));
	EXPECT_FALSE(has(text, "\nmrc_port_up{"));
}

TEST_F(MrcctlTest, ShowsMetricsOfNoDevice)
{
	system_.all.clear();
	const Result r = run("metrics");

	EXPECT_EQ(r.status, 0);
	for (const std::string &line : lines_of(r.out))
		EXPECT_TRUE(line.starts_with("# ")) << line;
	EXPECT_EQ(run("-d mrc7 metrics").status, exit_device);
	EXPECT_EQ(run("-j metrics").status, exit_usage);
	EXPECT_EQ(run("metrics a b").status, exit_usage);
}

TEST_F(MrcctlTest, EscapesLabels)
{
	EXPECT_EQ(label_value("a\"b\\c\nd\x1b\xff"), "a\\\"b\\\\c\\nd??");
	dev().ports[0].netdev = "e\"\\\n";
	dev().ports[0].counters.push_back({"bad name{}\n", 1});
	const std::string text = run("metrics").out;

	EXPECT_TRUE(has(text, "netdev=\"e\\\"\\\\\\n\"} 1\n"));
	EXPECT_FALSE(has(text, "bad name"));
}

TEST_F(MrcctlTest, ReplacesAFileOfMetrics)
{
	EXPECT_EQ(run("metrics /srv/mrc.prom").out, "");
	EXPECT_EQ(host_.files["/srv/mrc.prom"], run("metrics").out);
	host_.errors["/srv/mrc.prom"] = EACCES;
	const Result r = run("metrics /srv/mrc.prom");

	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.err, "mrcctl: /srv/mrc.prom: Permission denied\n");
}

/* Every expression names metrics that there are, and nothing else of mrc. */
TEST_F(MrcctlTest, HasADashboardOfItsMetrics)
{
	add_profiles();
	add_qps();
	const std::vector<std::string> list = families_of(run("metrics").out);
	std::set<std::string> known(list.begin(), list.end());
	const Json board = Json::parse(text_of_file(DASHBOARD));
	const std::regex name(R"(\bmrc(map)?_[a-z0-9_]+)");
	std::set<int> ids;
	unsigned int expressions = 0, of_paths = 0;

	/* What mrcmap's collector writes, as its own test has it. */
	for (const std::string &family :
	     families_of(text_of_file(MRCMAP_METRICS)))
		known.insert(family);

	/* Counters come from the kernel; the fake device has few. */
	for (const std::string &line : lines_of(text_of_file(COUNTERS_LIST)))
		if (!line.empty() && line[0] != '#')
			known.insert("mrc_port_" + line + "_total");
	EXPECT_TRUE(board.at("title").is_string());
	EXPECT_TRUE(board.at("uid").is_string());
	EXPECT_GE(board.at("schemaVersion").get<int>(), 36);
	for (const Json &panel : board.at("panels")) {
		const Json &at = panel.at("gridPos");

		EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second);
		EXPECT_LE(at.at("x").get<int>() + at.at("w").get<int>(), 24);
		EXPECT_EQ(panel.at("datasource").at("uid"), "${datasource}");
		for (const Json &target : panel.at("targets")) {
			const std::string expr = target.at("expr");
			unsigned int names = 0;

			expressions++;
			EXPECT_EQ(std::count(expr.begin(), expr.end(), '('),
				  std::count(expr.begin(), expr.end(), ')'))
				<< expr;
			for (std::sregex_iterator
				     it(expr.begin(), expr.end(), name),
			     end;
			     it != end; ++it, names++)
				EXPECT_TRUE(known.contains(it->str()))
					<< it->str() << " in " << expr;
			EXPECT_GT(names, 0u) << expr;
			of_paths += has(expr, "mrcmap_");
		}
	}
	EXPECT_GT(expressions, 10u);
	EXPECT_GT(of_paths, 4u);
	for (const Json &v : board.at("templating").at("list"))
		if (v.at("type") == "query") {
			EXPECT_TRUE(std::regex_search(
				v.at("query").get<std::string>(), name));
		}
}
} // namespace mrcctl
