// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrclab-fabric(5): complete, and its examples are fabrics. */
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fabric_file.hpp"
#include "golden.hpp"

namespace mrclab
{
namespace
{
/* The page as a reader sees its words. */
std::string page()
{
	std::string text = file_text(MRCLAB_DIR "/mrclab-fabric.5");

	for (const char *font : {"\\fI", "\\fR", "\\fB", "\\fP"})
		for (std::size_t at;
		     (at = text.find(font)) != std::string::npos;)
			text.erase(at, 3);
	for (std::size_t at; (at = text.find("\\(dq")) != std::string::npos;)
		text.replace(at, 4, "\"");
	std::erase(text, '\\');
	return text;
}

/* What stands between .nf and .fi and begins with a fabric's name. */
std::vector<std::string> examples()
{
	const std::string text = page();
	std::vector<std::string> all;

	for (std::size_t at = text.find(".nf\n"); at != std::string::npos;
	     at = text.find(".nf\n", at + 1)) {
		const std::size_t from = at + 4;
		const std::string block =
			text.substr(from, text.find(".fi", from) - from);

		if (block.find("name: ") != std::string::npos)
			all.push_back(block);
	}
	return all;
}
} // namespace

TEST(Man, HasExamplesThatAreFabrics)
{
	const std::vector<std::string> all = examples();

	ASSERT_EQ(all.size(), 2u);
	for (const std::string &text : all)
		EXPECT_NO_THROW(parse_fabric(text, "example")) << text;
	EXPECT_EQ(parse_fabric(all[0], "").name, "tiny");
	EXPECT_EQ(parse_fabric(all[1], "").rules.size(), 2u);
}

/* A heading for each key, and its range and default. */
TEST(Man, HasAllKeys)
{
	const std::string text = page();
	const auto schema = nlohmann::json::parse(
		file_text(MRCLAB_DIR "/fabric.schema.json"));
	const auto entry = [&text](const std::string &key) {
		for (const std::string macro : {".BI ", ".B "}) {
			const std::size_t at =
				text.find(".TP\n" + macro + key + ":");

			if (at != std::string::npos)
				return text.substr(
					at, text.find("\n.TP\n", at + 4) - at);
		}
		ADD_FAILURE() << "nothing about " << key;
		return std::string();
	};

	for (const auto &[key, s] : schema.at("properties").items()) {
		const std::string e = entry(key);

		if (s.contains("maximum")) {
			const std::string range = s["minimum"].dump() + " to " +
						  s["maximum"].dump();

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
		for (const auto &w : s.value("enum", nlohmann::json::array()))
			EXPECT_NE(text.find(".TP\n.B " + w.get<std::string>() +
					    "\n"),
				  std::string::npos)
				<< w;
	}
	for (const char *part : {"/definitions/link/properties",
				 "/properties/profiles/properties"})
		for (const auto &[key, s] :
		     schema.at(nlohmann::json::json_pointer(part)).items())
			EXPECT_NE(entry(key), "");
}
} // namespace mrclab
