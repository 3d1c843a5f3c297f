// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The schema of drills for editors says what the parser does. */
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "drill_text.hpp"
#include "golden.hpp"
#include "schema.hpp"

namespace mrclab
{
namespace
{
const Json &schema()
{
	static const Json s =
		Json::parse(file_text(MRCLAB_DIR "/drill.schema.json"));

	return s;
}

const Json &at(const std::string &pointer)
{
	return schema().at(Json::json_pointer(pointer));
}

const std::string traffic = "/definitions/traffic/properties";
const std::string must = "/definitions/must/properties";

/* A stream from a host. */
Json stream(const char *from, const char *to)
{
	return {{"program", "ib_write_bw"}, {"from", from}, {"to", to}};
}

Json latency(const char *from, const char *to)
{
	return {{"program", "ib_write_lat"}, {"from", from}, {"to", to}};
}

/* A good drill. */
Json smallest()
{
	return {{"drill", "d"},
		{"fabric", "f.yaml"},
		{"time", "10s"},
		{"baseline", "1s..3s"},
		{"traffic",
		 {{"w", stream("h1", "h3")},
		  {"write", stream("h2", "h4")},
		  {"near", latency("h1", "h2")},
		  {"far", latency("h1", "h3")}}}};
}

std::string with(const std::string &key, const Json &value)
{
	Json d = smallest();

	d[key] = value;
	return d.dump();
}

/* A good stream or command with another value. */
std::string with_traffic(const std::string &key, const Json &value)
{
	const bool command = key == "command" || key == "hosts" || key == "end";
	Json w = command ? Json{{"command", "x"}, {"hosts", "h1"}}
			 : stream("h1", "h3");

	if (key == "count")
		w["program"] = "ib_send_lat";
	if (key == "among") {
		w.erase("from");
		w.erase("to");
	}
	w[key] = value;
	if (key == "from" && value.is_array())
		w["to"] = "h4";
	if (key == "to" && value.is_array())
		w["from"] = {"h1", "h2"};
	/* Some traffic starts at 0. */
	return with("traffic",
		    {{"w", w}, {"v", {{"command", "x"}, {"hosts", "h4"}}}});
}

/* A good requirement with another value. */
std::string with_must(const std::string &key, const Json &value)
{
	Json m = {{"what", "w"}};

	if (key == "reaches" || key == "within")
		m.update({{"reaches", "1%"}, {"within", "1s"}});
	else if (key == "typical" || key == "p99")
		m["what"] = "near";
	else if (key != "worst" && key != "fair" && key != "gap")
		m["mean"] = "1%";
	m[key] = value;
	return with("must", Json::array({m}));
}

/* Reads everything that the examples name. */
std::string error_of(const std::string &text)
{
	Texts texts;

	try {
		parse_drill(text, "d.yaml", [&](const std::string &) {
			return texts.all["both.yaml"];
		});
	} catch (const FileError &e) {
		return e.what();
	}
	return "";
}

/* The parser's message for a key that it does not know. */
Keys parsers_keys(const std::string &text)
{
	return listed(error_of(text), "its keys are ");
}

/* The smallest drill with the keys of an entry of a list instead. */
std::string merged(const YAML::Node &keys)
{
	YAML::Node d = YAML::Load(smallest().dump());

	for (const auto &pair : keys)
		d[pair.first.Scalar()] = pair.second;
	return YAML::Dump(d);
}

/* The descriptions, and that the examples of @keys are read. */
void check_examples(const std::string &keys,
		    std::string (*make)(const std::string &, const Json &))
{
	for (const auto &[key, s] : at(keys).items()) {
		Json all = s.value("examples", Json::array());

		EXPECT_GT(s.value("description", "").size(), 10u) << key;
		if (s.contains("enum"))
			all.insert(all.end(), s["enum"].begin(),
				   s["enum"].end());
		if (s.contains("default"))
			all.push_back(s["default"]);
		if (key != "paper") {
			EXPECT_FALSE(all.empty()) << key;
		}
		for (const Json &v : all)
			EXPECT_EQ(error_of(make(key, v)), "") << key << v;
	}
}
} // namespace

TEST(DrillSchema, HasTheParsersKeys)
{
	EXPECT_EQ(keys_of(at("/properties")), parsers_keys("nokey: 1\n"));
	EXPECT_EQ(keys_of(at("/properties/paper/properties")),
		  parsers_keys("paper: {nokey: 1}\n"));
	EXPECT_EQ(keys_of(at("/properties/rxe/properties")),
		  parsers_keys("rxe: {nokey: 1}\n"));
	EXPECT_EQ(keys_of(at(traffic)),
		  parsers_keys("traffic: {w: {nokey: 1}}\n"));
	EXPECT_EQ(keys_of(at(must)), parsers_keys("must: [{nokey: 1}]\n"));
}

/* Every key has text, and is read: the list in the message may be wrong. */
TEST(DrillSchema, HasExamplesThatAreRead)
{
	check_examples("/properties", with);
	check_examples(traffic, with_traffic);
	check_examples(must, with_must);
	for (const char *key : {"figure", "values"})
		for (const Json &v :
		     at("/properties/paper/properties")[key]["examples"])
			EXPECT_EQ(error_of(with("paper", {{key, v}})), "");
	for (const char *key : {"fabric", "timeline"})
		for (const Json &v :
		     at("/properties/rxe/properties")[key]["examples"])
			EXPECT_EQ(error_of(with("rxe", {{key, v}})), "");
}

TEST(DrillSchema, RequiresWhatTheParserRequires)
{
	EXPECT_EQ(schema()["required"],
		  Json({"drill", "fabric", "time", "traffic"}));
	for (const std::string key : schema()["required"]) {
		Json d = smallest();

		d.erase(key);
		EXPECT_EQ(error_of(d.dump()),
			  "d.yaml:1: \"" + key + "\" is missing");
	}
}

/* A key with its default is as good as none. */
TEST(DrillSchema, HasTheParsersDefaults)
{
	const Drill none = drill_of(smallest().dump());
	const Flow &stream =
		*std::find_if(none.flows.begin(), none.flows.end(),
			      [](const Flow &f) { return f.name == "w"; });
	const auto count = [](const std::string &text) {
		return drill_of(text).flows.back().clients[0].words;
	};

	EXPECT_EQ(drill_of(with("sample", at("/properties/sample/default")))
			  .sample,
		  none.sample);
	for (const char *key : {"qps", "size", "both_ways", "start"}) {
		const Flow f =
			drill_of(with_traffic(key, at(traffic)[key]["default"]))
				.flows[1];

		ASSERT_EQ(f.name, "w");
		/* Its port is another one. */
		for (std::size_t i = 0; i < stream.clients[0].words.size();
		     i++) {
			const std::string &w = stream.clients[0].words[i];

			EXPECT_EQ(f.clients[0].words[i],
				  w == "18517" ? "18515" : w)
				<< key;
		}
		EXPECT_EQ(f.start, 0u);
	}
	EXPECT_EQ(count(with_traffic("count", at(traffic)["count"]["default"])),
		  count(with_traffic("program", "ib_send_lat")));
	EXPECT_EQ(at(traffic)["end"]["default"], "wait");
	EXPECT_EQ(drill_of(with_traffic("command", "x")).flows[1].ending,
		  Ending::wait);
	EXPECT_EQ(at(must)["from"]["default"], 0);
	EXPECT_EQ(drill_of(with_must("to", "5s")).musts[0].during.from, 0u);
}

TEST(DrillSchema, HasTheParsersLimits)
{
	for (const char *key : {"qps", "count"}) {
		const int64_t min = at(traffic)[key]["minimum"],
			      max = at(traffic)[key]["maximum"];

		EXPECT_EQ(error_of(with_traffic(key, min)), "");
		EXPECT_EQ(error_of(with_traffic(key, max)), "");
		EXPECT_NE(error_of(with_traffic(key, min - 1)), "");
		EXPECT_NE(error_of(with_traffic(key, max + 1)), "");
	}

	const std::size_t longest = at("/definitions/command/maxLength");

	EXPECT_EQ(error_of(with_traffic("command", std::string(longest, 'x'))),
		  "");
	EXPECT_NE(error_of(with_traffic("command",
					std::string(longest + 1, 'x'))),
		  "");

	const std::size_t most = at("/definitions/words/anyOf/1/maxItems");

	EXPECT_EQ(error_of(with("show", Json(most, "w"))), "");
	EXPECT_NE(error_of(with("show", Json(most + 1, "w"))), "");

	const std::size_t musts = at("/properties/must/maxItems");
	const Json m = {{"what", "w"}, {"mean", "1%"}};

	EXPECT_EQ(error_of(with("must", Json(musts, m))), "");
	EXPECT_NE(error_of(with("must", Json(musts + 1, m))), "");
}

TEST(DrillSchema, HasTheParsersLists)
{
	const std::string program = error_of(with_traffic("program", "no"));

	EXPECT_EQ(Keys(at(traffic)["program"]["enum"]),
		  listed(program.substr(0, program.find(';')), "is none of "));
	EXPECT_EQ(Keys(at(traffic)["end"]["enum"]),
		  listed(error_of(with_traffic("end", "no")), "is none of "));
	for (const Json &name : at("/properties/traffic/propertyNames/allOf/1/"
				   "not/enum"))
		EXPECT_NE(error_of(with("traffic", {{name.get<std::string>(),
						     stream("h1", "h3")}}))
				  .find("has a meaning already"),
			  std::string::npos)
			<< name;
}

TEST(DrillSchema, TakesTheParsersWords)
{
	const auto parse = [](auto make, const std::string &key) {
		return [make, key](const std::string &w) {
			const std::string why = error_of(make(key, w));

			/* Of times that are words of times: elsewhere. */
			if (!why.empty() &&
			    why.find(key + ": ") == std::string::npos)
				return;
			if (!why.empty())
				throw UsageError(why);
		};
	};

	for (const char *key : {"drill", "time", "sample"})
		agree(schema(), key, at("/properties")[key], 500,
		      parse(with, key));
	for (const char *key : {"qps", "count", "start"})
		agree(schema(), key, at(traffic)[key], 500,
		      parse(with_traffic, key));
	for (const char *key :
	     {"from", "worst", "mean", "reaches", "against", "gap"})
		agree(schema(), key, at(must)[key], 500, parse(with_must, key));
}

TEST(DrillSchema, AgreesOnWindowsPartsAndIndexes)
{
	const Json &window = at("/properties/baseline"), &part = at(must)["of"],
		   &index = at(must)["fair"];

	for (const char *w : {"0..1s", "1s..3s", "1.5s..2500ms", ".5s..1s"}) {
		EXPECT_EQ(error_of(with("baseline", w)), "") << w;
		EXPECT_TRUE(valid(schema(), window, w)) << w;
	}
	for (const char *w : {"1s", "1s..", "..1s", "1..3s", "1s..3", "1s.3s",
			      "1s .. 3s", "1s-3s", "0..1s..2s"}) {
		EXPECT_NE(error_of(with("baseline", w)), "") << w;
		EXPECT_FALSE(valid(schema(), window, w)) << w;
	}
	for (const char *w : {"1/1", "7/8", "1/4096"}) {
		EXPECT_EQ(error_of(with_must("of", w)), "") << w;
		EXPECT_TRUE(valid(schema(), part, w)) << w;
	}
	for (const char *w :
	     {"1", "/2", "1/", "1 / 2", "a/b", "1/2/3", "-1/2", "0.5/1"}) {
		EXPECT_NE(error_of(with_must("of", w)), "") << w;
		EXPECT_FALSE(valid(schema(), part, w)) << w;
	}
	for (const char *w : {"0", "1", "0.5", "1.0", "0.999", "1."}) {
		EXPECT_EQ(error_of(with_must("fair", w)), "") << w;
		EXPECT_TRUE(valid(schema(), index, w)) << w;
	}
	for (const char *w :
	     {"2", "1.1", "-0.5", ".5", "90%", "1e-1", "x", "0.5.5", "01"}) {
		EXPECT_NE(error_of(with_must("fair", w)), "") << w;
		EXPECT_FALSE(valid(schema(), index, w)) << w;
	}
}

/* The script schema.py has the same files for the schema. */
TEST(DrillSchema, IsOfFilesThatTheParserTakes)
{
	const YAML::Node good = YAML::LoadFile(TEST_DIR "/drills_good.yaml");

	ASSERT_GT(good.size(), 30u);
	for (const YAML::Node &keys : good)
		EXPECT_EQ(error_of(merged(keys)), "") << YAML::Dump(keys);
}

TEST(DrillSchema, IsNotOfFilesThatTheParserRefuses)
{
	const YAML::Node wrong = YAML::LoadFile(TEST_DIR "/drills_wrong.yaml");

	ASSERT_GT(wrong.size(), 100u);
	for (const YAML::Node &keys : wrong)
		EXPECT_NE(error_of(merged(keys)), "") << YAML::Dump(keys);
}
} // namespace mrclab
