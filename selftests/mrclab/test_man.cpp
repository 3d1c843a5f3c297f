// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrclab-fabric(5) and mrclab-drill(5): complete, and their examples are
 * fabrics and drills.
 */
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "drill_file.hpp"
#include "fabric_file.hpp"
#include "golden.hpp"

namespace mrclab
{
namespace
{
/* The page as a reader sees its words. */
std::string page(const std::string &name)
{
	std::string text = file_text(MRCLAB_DIR "/" + name);

	for (const char *font : {"\\fI", "\\fR", "\\fB", "\\fP"})
		for (std::size_t at;
		     (at = text.find(font)) != std::string::npos;)
			text.erase(at, 3);
	for (std::size_t at; (at = text.find("\\(dq")) != std::string::npos;)
		text.replace(at, 4, "\"");
	std::erase(text, '\\');
	return text;
}

/* What stands between .nf and .fi and has this key. */
std::vector<std::string> examples(const std::string &page_name,
				  const std::string &key)
{
	const std::string text = page(page_name);
	std::vector<std::string> all;

	for (std::size_t at = text.find(".nf\n"); at != std::string::npos;
	     at = text.find(".nf\n", at + 1)) {
		const std::size_t from = at + 4;
		const std::string block =
			text.substr(from, text.find(".fi", from) - from);

		if (block.find(key) != std::string::npos)
			all.push_back(block);
	}
	return all;
}

/* A heading for the key, and what follows. */
std::string entry(const std::string &text, const std::string &key)
{
	for (const std::string macro : {".BI ", ".B "}) {
		const std::size_t at = text.find(".TP\n" + macro + key + ":");

		if (at != std::string::npos)
			return text.substr(at,
					   text.find("\n.TP\n", at + 4) - at);
	}
	ADD_FAILURE() << "nothing about " << key;
	return "";
}

/* Has the page an entry for each value of the schema's? */
void check_values(const std::string &text, const nlohmann::json &s)
{
	for (const auto &w : s.value("enum", nlohmann::json::array())) {
		const std::string name = ".B " + w.get<std::string>() + "\n";

		EXPECT_TRUE(text.find(".TP\n" + name) != std::string::npos ||
			    text.find(".TQ\n" + name) != std::string::npos)
			<< w;
	}
}

/* The range and the default of a schema in the entry for its key. */
void check_entry(const std::string &e, const nlohmann::json &s)
{
	if (s.contains("minimum") && s.contains("maximum")) {
		const std::string range =
			s["minimum"].dump() + " to " + s["maximum"].dump();

		EXPECT_NE(e.find(range), std::string::npos) << e;
	}
	if (s.contains("default") && !s.contains("enum")) {
		const std::string value =
			s["default"].is_string()
				? s["default"].get<std::string>()
				: s["default"].dump();

		EXPECT_NE(e.find("Default"), std::string::npos) << e;
		EXPECT_NE(e.find(value), std::string::npos) << e;
	}
}
} // namespace

TEST(Man, HasExamplesThatAreFabrics)
{
	const std::vector<std::string> all =
		examples("mrclab-fabric.5", "name: ");

	ASSERT_EQ(all.size(), 2u);
	for (const std::string &text : all)
		EXPECT_NO_THROW(parse_fabric(text, "example")) << text;
	EXPECT_EQ(parse_fabric(all[0], "").name, "tiny");
	EXPECT_EQ(parse_fabric(all[1], "").rules.size(), 2u);
}

/* A heading for each key, and its range and default. */
TEST(Man, HasAllKeysOfFabrics)
{
	const std::string text = page("mrclab-fabric.5");
	const auto schema = nlohmann::json::parse(
		file_text(MRCLAB_DIR "/fabric.schema.json"));

	for (const auto &[key, s] : schema.at("properties").items()) {
		check_entry(entry(text, key), s);
		check_values(text, s);
	}
	for (const char *part : {"/definitions/link/properties",
				 "/properties/profiles/properties"})
		for (const auto &[key, s] :
		     schema.at(nlohmann::json::json_pointer(part)).items())
			EXPECT_NE(entry(text, key), "");
}

TEST(Man, HasExamplesThatAreDrills)
{
	const std::vector<std::string> all =
		examples("mrclab-drill.5", "drill: ");
	const std::string shared = "/usr/share/mrclab/";

	ASSERT_EQ(all.size(), 4u);
	for (const std::string &text : all) {
		SCOPED_TRACE(text);
		const auto read = [&](const std::string &file) {
			return file_text(
				file.starts_with(shared)
					? MRCLAB_DIR "/" +
						  file.substr(shared.size())
					: MRCLAB_DIR "/fabrics/" + file);
		};

		EXPECT_NO_THROW(parse_drill(text, "example.yaml", read));
	}
}

TEST(Man, HasAllKeysOfDrills)
{
	const std::string text = page("mrclab-drill.5");
	const auto schema = nlohmann::json::parse(
		file_text(MRCLAB_DIR "/drill.schema.json"));

	for (const char *part :
	     {"/properties", "/properties/paper/properties",
	      "/properties/rxe/properties", "/definitions/traffic/properties",
	      "/definitions/must/properties"})
		for (const auto &[key, s] :
		     schema.at(nlohmann::json::json_pointer(part)).items()) {
			const std::string e = entry(text, key);

			EXPECT_NE(e, "");
			check_values(text, s);
			/* Two keys have the names of others. */
			if (key != "from" && key != "timeline")
				check_entry(e, s);
		}
	for (const char *name :
	     {"device", "gid", "address", "mgmt", "rank", "ranks"})
		EXPECT_NE(text.find("{" + std::string(name) + "}"),
			  std::string::npos)
			<< name;
}

/* Each command that the command line has, and each way to end. */
TEST(Man, HasTheCommands)
{
	const std::string text = page("mrclab.8");
	std::string completion = file_text(MRCLAB_DIR "/completion.bash");
	const std::string source = file_text(MRCLAB_DIR "/main.cpp");
	const std::string before = "app, chosen, ";
	int commands = 0;

	std::replace(completion.begin(), completion.end(), '\'', ' ');

	for (std::size_t at = source.find(before); at != std::string::npos;
	     at = source.find(before, at + 1)) {
		const std::size_t from = source.find('"', at) + 1;
		const std::string name =
			source.substr(from, source.find('"', from) - from);

		EXPECT_NE(text.find("\n.BI " + name + " \""), std::string::npos)
			<< name;
		EXPECT_NE(text.find("\n.B mrclab " + name + "\n"),
			  std::string::npos)
			<< name;
		EXPECT_NE(completion.find(" " + name + " "), std::string::npos)
			<< name;
		commands++;
	}
	EXPECT_EQ(commands, 13);
	for (const char *status : {"\n0; 1 if ", " 2 if ", " 3 if\n"})
		EXPECT_NE(text.find(status), std::string::npos) << status;
}
} // namespace mrclab
