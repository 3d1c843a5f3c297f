// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * config_db.json against the rules of SONiC's YANG models as far as they are
 * known: tables, keys, fields, values, and that what is named is there.
 */
#include <regex>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "export_files.hpp"

namespace mrclab
{
namespace
{
constexpr int random_fabrics = 25;

using Json = nlohmann::ordered_json;

/* Regular expressions, each for the whole word. */
#define PORT "Ethernet(0|[1-9][0-9]*)"
#define NAME "[a-z][a-z0-9_]*"
#define SIX "[0-9a-f:]+"
#define FOUR "[0-9]+\\.[0-9]+\\.[0-9]+\\.[0-9]+"
#define NUMBER "(0|[1-9][0-9]*)"
#define DSCP "([0-9]|[1-5][0-9]|6[0-3])"
#define CLASS "[0-7]"
#define PERCENT "(100|[1-9]?[0-9])"
#define LIST(x) "(" x ")(,(" x "))*"

struct FieldRule {
	const char *name;
	const char *value;
	bool needed = true;
	const char *table = nullptr; /* that has the value as a key */
};

struct TableRule {
	const char *name;
	const char *key;
	std::vector<FieldRule> fields;
	const char *any_field = nullptr; /* its name is a number, too */
};

const std::vector<TableRule> &rules()
{
	static const std::vector<TableRule> all = {
		{"DEVICE_METADATA",
		 "localhost",
		 {{"hostname", "p[0-9]+[ls][0-9]+"}}},
		{"INTERFACE", PORT "(\\|(" SIX "/(127|64)|" FOUR "/31))?", {}},
		{"SRV6_MY_LOCATORS",
		 NAME,
		 {{"prefix", SIX},
		  {"block_len", "32", false},
		  {"node_len", "16", false},
		  {"func_len", "0|16", false}}},
		{"SRV6_MY_SIDS",
		 NAME "\\|" SIX "/48",
		 {{"action", "uN|uA|uDT46"},
		  {"decap_dscp_mode", "uniform|pipe"}}},
		{"STATIC_ROUTE",
		 "default\\|(" SIX "/(48|128)|" FOUR "/(24|32))",
		 {{"nexthop", LIST(SIX) "|" LIST(FOUR)},
		  {"ifname", LIST(PORT)}}},
		{"DSCP_TO_TC_MAP", NAME, {}, CLASS},
		{"TC_TO_QUEUE_MAP", NAME, {}, CLASS},
		{"TC_TO_DSCP_MAP", NAME, {}, DSCP},
		{"PORT_QOS_MAP",
		 PORT,
		 {{"dscp_to_tc_map", NAME, true, "DSCP_TO_TC_MAP"},
		  {"tc_to_queue_map", NAME, true, "TC_TO_QUEUE_MAP"},
		  {"tc_to_dscp_map", NAME, false, "TC_TO_DSCP_MAP"}}},
		{"SCHEDULER",
		 NAME,
		 {{"type", "DWRR|WRR|STRICT"}, {"weight", PERCENT, false}}},
		{"QUEUE",
		 PORT "\\|" CLASS,
		 {{"scheduler", NAME, true, "SCHEDULER"},
		  {"wred_profile", NAME, false, "WRED_PROFILE"}}},
		{"WRED_PROFILE",
		 NAME,
		 {{"ecn", "ecn_(none|green|all)"},
		  {"wred_green_enable", "true|false"},
		  {"green_min_threshold", NUMBER},
		  {"green_max_threshold", NUMBER},
		  {"green_drop_probability", PERCENT}}},
		{"BUFFER_POOL",
		 NAME,
		 {{"mode", "static"}, {"type", "egress"}, {"size", NUMBER}}},
		{"BUFFER_PROFILE",
		 NAME,
		 {{"pool", NAME, true, "BUFFER_POOL"},
		  {"size", NUMBER},
		  {"static_th", NUMBER},
		  {"packet_discard_action", "drop|trim"}}},
		{"BUFFER_QUEUE",
		 PORT "\\|" CLASS,
		 {{"profile", NAME, true, "BUFFER_PROFILE"}}},
		{"SWITCH_TRIMMING",
		 "GLOBAL",
		 {{"size", NUMBER},
		  {"dscp_value", DSCP "|from-tc"},
		  {"tc_value", CLASS, false},
		  {"queue_index", CLASS "|dynamic"}}},
	};

	return all;
}

bool is(const std::string &word, const std::string &what)
{
	/* To make one takes far longer than to use it. */
	static std::map<std::string, std::regex> known;
	const auto i = known.try_emplace(what, what).first;

	return std::regex_match(word, i->second);
}

void check_entry(const Json &db, const TableRule &table, const std::string &key,
		 const Json &entry)
{
	const std::string at = std::string(table.name) + "|" + key;
	std::set<std::string> seen;

	EXPECT_TRUE(is(key, table.key)) << at;
	ASSERT_TRUE(entry.is_object()) << at;
	for (const auto &[name, value] : entry.items()) {
		ASSERT_TRUE(value.is_string()) << at << " " << name;
		const std::string word = value;

		if (table.any_field) {
			EXPECT_TRUE(is(name, DSCP)) << at << " " << name;
			EXPECT_TRUE(is(word, table.any_field)) << at << word;
			continue;
		}
		for (const FieldRule &f : table.fields) {
			if (name != f.name)
				continue;
			seen.insert(name);
			EXPECT_TRUE(is(word, f.value))
				<< at << " " << name << " " << word;
			if (f.table) {
				EXPECT_TRUE(db[f.table].contains(word))
					<< at << " " << name << " " << word;
			}
		}
		EXPECT_TRUE(seen.contains(name)) << at << " " << name;
	}
	for (const FieldRule &f : table.fields)
		EXPECT_TRUE(!f.needed || seen.contains(f.name))
			<< at << " lacks " << f.name;
}

void check_tables(const Json &db)
{
	for (const auto &[name, table] : db.items()) {
		bool known = false;

		for (const TableRule &rule : rules()) {
			if (name != rule.name)
				continue;
			known = true;
			EXPECT_FALSE(table.empty()) << name;
			for (const auto &[key, entry] : table.items())
				check_entry(db, rule, key, entry);
		}
		EXPECT_TRUE(known) << name;
	}
}

/* A table, without entries if it is not there. */
Json table_of(const Json &db, const char *name)
{
	return db.value(name, Json::object());
}

/* What spans tables. */
void check_whole(const Json &db)
{
	const Json &ports = db["INTERFACE"];
	const Json sids = table_of(db, "SRV6_MY_SIDS");
	const Json marks = table_of(db, "WRED_PROFILE");

	for (const char *name :
	     {"INTERFACE", "QUEUE", "BUFFER_QUEUE", "PORT_QOS_MAP"}) {
		const Json table = table_of(db, name);

		for (const auto &[key, entry] : table.items())
			EXPECT_TRUE(ports.contains(split_at(key, '|').at(0)))
				<< name << " " << key;
	}
	/* A uN must be in the prefix of its locator. */
	for (const auto &[key, entry] : sids.items()) {
		const auto part = split_at(key, '|');
		const Json &locator = db["SRV6_MY_LOCATORS"][part.at(0)];

		EXPECT_EQ(std::string(locator["prefix"]) + "/48", part.at(1));
	}
	for (const auto &[key, p] : marks.items())
		EXPECT_LE(std::stoull(std::string(p["green_min_threshold"])),
			  std::stoull(std::string(p["green_max_threshold"])));
	if (!db.contains("SWITCH_TRIMMING"))
		return;
	const Json &trim = db["SWITCH_TRIMMING"]["GLOBAL"];
	const bool from_tc = trim["dscp_value"] == "from-tc";

	EXPECT_EQ(from_tc, trim.contains("tc_value"));
	for (const auto &[key, maps] : db["PORT_QOS_MAP"].items()) {
		EXPECT_EQ(from_tc, maps.contains("tc_to_dscp_map")) << key;
		if (from_tc) {
			EXPECT_TRUE(db["TC_TO_DSCP_MAP"]
				      [std::string(maps["tc_to_dscp_map"])]
					      .contains(std::string(
						      trim["tc_value"])));
		}
	}
}

Json db_of(const Topology &t, const std::string &node)
{
	return Json::parse(exported("sonic", t).at(node + "/config_db.json"));
}

Json small_db(const std::string &node)
{
	return db_of(Topology(small_fabric()), node);
}
} // namespace

TEST(ExportSonic, FollowsTheModels)
{
	Random r(21);

	for (int i = 0; i < random_fabrics; i++) {
		const Topology t(random_exported(r));

		SCOPED_TRACE(testing::PrintToString(t.fabric()));
		for (const auto &[path, text] : exported("sonic", t)) {
			if (!path.ends_with("/config_db.json"))
				continue;
			const Json db = Json::parse(text);

			SCOPED_TRACE(path);
			check_tables(db);
			check_whole(db);
			EXPECT_EQ(
				db["DEVICE_METADATA"]["localhost"]["hostname"],
				path.substr(0, path.find('/')));
			EXPECT_EQ(db.contains("SRV6_MY_SIDS"),
				  t.fabric().srv6());
		}
	}
}

TEST(ExportSonic, MarksOnPortsBetweenSwitchesOnly)
{
	Random r(22);

	for (int i = 0; i < random_fabrics; i++) {
		Fabric f = random_exported(r);

		f.host_links.mark_min = f.fabric_links.mark_min = 1000;
		f.host_links.mark_max = f.fabric_links.mark_max = 2000;
		const Topology t(f);
		const auto files = exported("sonic", t);
		std::map<std::string, Json> dbs;

		for (const std::string &line :
		     lines_of(files.at("ports.txt"))) {
			const auto w = words_of(line);

			if (w[0] == "#")
				continue;
			Json &db = dbs[w[0]];

			if (db.is_null())
				db = Json::parse(
					files.at(w[0] + "/config_db.json"));
			for (const std::string queue : {"|0", "|3", "|6"})
				EXPECT_EQ(db["QUEUE"][w[1] + queue].contains(
						  "wred_profile"),
					  !w[3].starts_with("h") &&
						  queue != "|6")
					<< line << queue;
		}
	}
}

TEST(ExportSonic, TrimmedPacketsTellTheLastHop)
{
	const Json t0 = small_db("p1l1"), t1 = small_db("p2s2");

	EXPECT_EQ(t0["SWITCH_TRIMMING"]["GLOBAL"]["dscp_value"], "from-tc");
	EXPECT_EQ(t0["PORT_QOS_MAP"]["Ethernet0"]["tc_to_dscp_map"],
		  "mrc_fabric");
	EXPECT_EQ(t0["PORT_QOS_MAP"]["Ethernet8"]["tc_to_dscp_map"],
		  "mrc_host");
	EXPECT_EQ(t0["TC_TO_DSCP_MAP"]["mrc_fabric"]["5"], "12");
	EXPECT_EQ(t0["TC_TO_DSCP_MAP"]["mrc_host"]["5"], "16");
	EXPECT_EQ(t1["SWITCH_TRIMMING"]["GLOBAL"]["dscp_value"], "12");

	/* A packet that was trimmed before keeps its codepoint. */
	for (const Json &db : {t0, t1})
		for (const auto &[dscp, tc] :
		     db["DSCP_TO_TC_MAP"]["mrc"].items())
			EXPECT_NE(tc, "5") << dscp;

	Fabric f = fabric_of(1, 1, 0, 2);

	f.host_links.trim = 1000;
	EXPECT_EQ(db_of(Topology(f),
			"p1l1")["SWITCH_TRIMMING"]["GLOBAL"]["dscp_value"],
		  "16");
}

TEST(ExportSonic, TrimmedPacketsKeepTheirHeaders)
{
	Fabric f = fabric_of(1, 2, 1, 1);
	const auto size = [&f] {
		return std::string(
			db_of(Topology(f),
			      "p1l1")["SWITCH_TRIMMING"]["GLOBAL"]["size"]);
	};

	f.fabric_links.trim = 1000;
	f.fabric_links.trim_len = 1;
	EXPECT_EQ(size(), "122"); /* 14 + 40 + 40 + 28 */
	f.forwarding = Forwarding::ecmp;
	EXPECT_EQ(size(), "82");
	f.fabric_links.trim_len = 200;
	EXPECT_EQ(size(), "214");
	f.host_links.trim = 500;
	f.host_links.trim_len = 300;
	EXPECT_EQ(size(), "314");
	f.fabric_links.trim_len.reset();
	f.host_links = {};
	EXPECT_EQ(size(), "146");
}

TEST(ExportSonic, ThresholdsAreThoseOfTheLinks)
{
	const Json db = small_db("p1l1");
	const auto profile = [&db](const char *queue) {
		return db["BUFFER_PROFILE"]
			 [std::string(db["BUFFER_QUEUE"][queue]["profile"])];
	};
	const Json &mark =
		db["WRED_PROFILE"]
		  [std::string(db["QUEUE"]["Ethernet0|3"]["wred_profile"])];

	EXPECT_EQ(mark["green_min_threshold"], "30000");
	EXPECT_EQ(mark["green_max_threshold"], "60000");
	EXPECT_EQ(profile("Ethernet0|3")["static_th"], "131072");
	EXPECT_EQ(profile("Ethernet0|3")["packet_discard_action"], "trim");
	EXPECT_EQ(profile("Ethernet8|3")["static_th"], "65536");
	EXPECT_EQ(profile("Ethernet8|0")["static_th"], "262144");
	EXPECT_EQ(profile("Ethernet8|0")["packet_discard_action"], "drop");
	EXPECT_FALSE(db["BUFFER_QUEUE"].contains("Ethernet0|0"));
	EXPECT_EQ(db["BUFFER_POOL"]["mrc"]["size"], "589824");
}

TEST(ExportSonic, LeavesOutWhatTheFileDoesNotSay)
{
	const Json db = db_of(Topology(fabric_of(1, 2, 2, 1)), "p1l1");

	for (const char *table :
	     {"WRED_PROFILE", "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_QUEUE",
	      "SWITCH_TRIMMING", "TC_TO_DSCP_MAP"})
		EXPECT_FALSE(db.contains(table)) << table;
	check_tables(db);
	check_whole(db);
}
} // namespace mrclab
