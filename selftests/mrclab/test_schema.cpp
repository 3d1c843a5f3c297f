// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The schema for editors says what the parser does. */
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "error.hpp"
#include "fabric_file.hpp"
#include "golden.hpp"
#include "ip_commands.hpp"
#include "schema.hpp"

namespace mrclab
{
namespace
{
const Json &schema()
{
	static const Json s =
		Json::parse(file_text(MRCLAB_DIR "/fabric.schema.json"));

	return s;
}

const Json &link_schema()
{
	return schema().at("/definitions/link/properties"_json_pointer);
}

const std::string top = "/properties/";
const std::vector<std::string> required = {"name", "planes", "t0", "t1",
					   "hosts"};

std::string error_of(const std::string &text)
{
	try {
		parse_fabric(text, "f");
	} catch (const FileError &e) {
		return e.what();
	}
	return "";
}

/* A good fabric in which @key has another value, written in JSON. */
std::string with(const std::string &key, const Json &value)
{
	Json f = {{"name", "x"},
		  {"planes", 1},
		  {"t0", 1},
		  {"t1", 1},
		  {"hosts", 1}};

	f[key] = value;
	return f.dump();
}

/* All that a fabric's file has set. */
std::string print(const Fabric &f)
{
	std::string s = fmt::format(
		"{} {} {} {} {} {} {} {} {:x} {:x} {} {} {} {} {}", f.name,
		f.prefix, f.planes, f.t0, f.t1, f.hosts,
		static_cast<int>(f.forwarding), f.mtu, f.block, f.block4,
		static_cast<int>(f.devices), f.device, f.profiles.evs,
		f.profiles.cc, fmt::join(f.profiles.cc_params, " "));

	for (const LinkProps &p : {f.host_links, f.fabric_links})
		s += fmt::format(" {}", fmt::join(link_prop_words(p), " "));
	return s;
}

} // namespace

TEST(Schema, HasTheParsersKeys)
{
	EXPECT_EQ(keys_of(schema().at("properties")),
		  listed(error_of("nokey: 1\n"), "its keys are "));
	EXPECT_EQ(keys_of(schema().at(
			  "/properties/profiles/properties"_json_pointer)),
		  listed(error_of("profiles: {nokey: 1}\n"), "its keys are "));
	EXPECT_EQ(keys_of(link_schema()),
		  listed(error_of("links: {host: {nokey: 1}}\n"),
			 "its keys are "));
}

/* Every key has text, and is read: the list in the message may be wrong. */
TEST(Schema, HasExamplesThatAreRead)
{
	for (const auto &[key, s] : schema().at("properties").items()) {
		Json all = s.value("examples", Json::array());

		EXPECT_GT(s.value("description", "").size(), 10u) << key;
		if (s.contains("enum"))
			all.insert(all.end(), s["enum"].begin(),
				   s["enum"].end());
		if (s.contains("default"))
			all.push_back(s["default"]);
		if (key != "profiles") {
			EXPECT_FALSE(all.empty()) << key;
		}
		for (const Json &v : all)
			EXPECT_EQ(error_of(with(key, v)), "");
	}
	for (const auto &[key, s] : link_schema().items()) {
		EXPECT_GT(s.value("description", "").size(), 10u) << key;
		EXPECT_FALSE(s.at("examples").empty()) << key;
		for (const Json &v : s["examples"]) {
			LinkProps p;
			const std::string w =
				v.is_string() ? v.get<std::string>() : v.dump();

			EXPECT_NO_THROW(set_link_prop(p, key, w)) << key;
			EXPECT_FALSE(p.empty()) << key;
			EXPECT_TRUE(valid(schema(), s, v)) << key << ": " << v;
		}
	}
}

TEST(Schema, RequiresWhatTheParserRequires)
{
	EXPECT_EQ(schema().at("required"), Json(required));
	for (const std::string &key : required) {
		Json f = Json::parse(with("hosts", 1));

		f.erase(key);
		EXPECT_EQ(error_of(f.dump()),
			  "f:1: \"" + key + "\" is missing");
	}
}

/* A key with its default is as good as none. */
TEST(Schema, HasTheParsersDefaults)
{
	const Fabric without = parse_fabric(with("hosts", 1), "f");
	Keys have;

	for (const auto &[key, s] : schema().at("properties").items()) {
		if (!s.contains("default"))
			continue;
		have.insert(key);
		EXPECT_EQ(print(parse_fabric(with(key, s["default"]), "f")),
			  print(without))
			<< key;
	}
	EXPECT_EQ(have, (Keys{"forwarding", "mtu", "block", "block4", "devices",
			      "device"}));
	/* Of srv6 alone, which is the default. */
	EXPECT_EQ(print(parse_fabric(with("profiles", {{"evs", true}}), "f")),
		  print(without));
}

TEST(Schema, HasTheParsersLimits)
{
	int numbers = 0;

	for (const auto &[key, s] : schema().at("properties").items()) {
		if (s.value("type", "") != "integer")
			continue;
		const int64_t min = s.at("minimum"), max = s.at("maximum");

		EXPECT_EQ(error_of(with(key, min)), "");
		EXPECT_EQ(error_of(with(key, max)), "");
		EXPECT_NE(error_of(with(key, min - 1)), "") << key;
		EXPECT_NE(error_of(with(key, max + 1)), "") << key;
		numbers++;
	}
	EXPECT_EQ(numbers, 5);
}

TEST(Schema, HasTheParsersLists)
{
	for (const char *key : {"forwarding", "devices"})
		EXPECT_EQ(
			Keys(schema().at(
				Json::json_pointer(top + key + "/enum"))),
			listed(error_of(with(key, "nothing")), "is none of "));
}

TEST(Schema, TakesTheParsersValuesOfLinks)
{
	for (const auto &[key, s] : link_schema().items())
		agree(schema(), key, s, 4000,
		      [&key = key](const std::string &w) {
			      LinkProps p;

			      set_link_prop(p, key, w);
		      });
}

TEST(Schema, TakesTheParsersWords)
{
	for (const char *key : {"name", "prefix", "device", "block", "block4"})
		agree(schema(), key, schema().at(Json::json_pointer(top + key)),
		      1000, [key](const std::string &w) {
			      parse_fabric(with(key, w), "f");
		      });
	for (int block = 0; block <= 0xffff; block += 85) {
		const std::string w = fmt::format("{:04x}", block);

		EXPECT_EQ(valid(schema(),
				schema().at("/properties/block"_json_pointer),
				w),
			  error_of(with("block", w)).empty())
			<< w;
	}
	/* As a string; of a number the schema says less. */
	for (const int a : {0, 9, 10, 11, 100, 127, 172, 192, 198, 255})
		for (int b = 0; b < 260; b += 3) {
			const std::string w = fmt::format("{}.{}", a, b);

			EXPECT_EQ(valid(schema(),
					schema().at(Json::json_pointer(
						top + "block4")),
					w),
				  error_of(with("block4", w)).empty())
				<< w;
		}
}

TEST(Schema, KnowsThatT0sNeedAT1)
{
	EXPECT_EQ(schema().at("if"),
		  Json::parse(R"({"properties": {"t1": {"const": 0}},
				  "required": ["t1"]})"));
	EXPECT_EQ(schema().at("then"),
		  Json::parse(R"({"properties": {"t0": {"const": 1}}})"));
	EXPECT_EQ(error_of(with("t1", 0)), "");
	EXPECT_NE(error_of("{name: x, planes: 1, t0: 2, t1: 0, hosts: 1}"), "");
}
} // namespace mrclab
