// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "schema.hpp"

#include <algorithm>
#include <map>
#include <regex>

#include <gtest/gtest.h>

#include "error.hpp"
#include "random_fabric.hpp"

namespace mrclab
{
namespace
{
/* What an editor takes a plain word for. */
Json value_of(const std::string &word)
{
	static const std::regex number("-?[0-9]+(\\.[0-9]*)?|-?\\.[0-9]+");

	if (!std::regex_match(word, number))
		return word;
	if (word.find('.') == std::string::npos && word.size() < 18)
		return std::stoll(word);
	return std::stod(word);
}

bool matches(const std::string &word, const std::string &pattern)
{
	static std::map<std::string, std::regex> all;

	return std::regex_search(
		word, all.try_emplace(pattern, pattern).first->second);
}

/* Words that are nearly right, or right. */
std::string random_word(Random &r)
{
	static const char *parts[] = {
		"0",	"1",	"10",	"1.5",	"100",	  "64",	 "9600", ".",
		"..",	"k",	"m",	"g",	"b",	  "bit", "kbit", "mbit",
		"%",	"gbit", "tbit", "ns",	"us",	  "ms",	 "s",	 "all",
		"none", "-",	"+",	" ",	"e3",	  "x",	 "fc00", "fcbb",
		"fd",	"192",	"168",	"10.1", "172.16", "256", "255",	 "a",
	};
	std::string w;

	for (uint64_t n = draw(r, 1, 4); n > 0; n--)
		w += parts[draw(r, 0, std::size(parts) - 1)];
	return w;
}
} // namespace

Keys keys_of(const Json &object)
{
	Keys keys;

	for (const auto &[key, value] : object.items())
		keys.insert(key);
	return keys;
}

Keys listed(const std::string &message, const std::string &before)
{
	const std::size_t at = message.find(before);
	Keys keys;
	std::string word;

	if (at == std::string::npos) {
		ADD_FAILURE() << message;
		return {};
	}
	for (const char c : message.substr(at + before.size()) + ",") {
		if (c == ',' && !word.empty()) {
			keys.insert(word);
			word.clear();
		} else if (c != ',' && c != ' ') {
			word += c;
		}
	}
	return keys;
}

bool valid(const Json &schema, const Json &s, const Json &v)
{
	if (s.contains("$ref"))
		return valid(schema,
			     schema.at(Json::json_pointer(
				     s["$ref"].get<std::string>().substr(1))),
			     v);
	if (s.contains("allOf"))
		return std::all_of(
			s["allOf"].begin(), s["allOf"].end(),
			[&](const Json &c) { return valid(schema, c, v); });
	if (s.contains("anyOf"))
		return std::any_of(
			s["anyOf"].begin(), s["anyOf"].end(),
			[&](const Json &c) { return valid(schema, c, v); });
	if (s.contains("enum"))
		return std::find(s["enum"].begin(), s["enum"].end(), v) !=
		       s["enum"].end();
	if (s.contains("const"))
		return s["const"] == v;

	if (s.at("type").is_array())
		return std::any_of(s["type"].begin(), s["type"].end(),
				   [&](const Json &type) {
					   Json one = s;

					   one["type"] = type;
					   return valid(schema, one, v);
				   });

	const std::string type = s.at("type");

	if (type == "string")
		return v.is_string() &&
		       v.get<std::string>().size() >=
			       s.value("minLength", 0u) &&
		       matches(v, s.value("pattern", ""));
	if (type == "boolean")
		return v.is_boolean();
	if (!v.is_number() || (type == "integer" && !v.is_number_integer()))
		return false;

	const auto n = v.get<double>();

	return (!s.contains("minimum") || n >= s["minimum"]) &&
	       (!s.contains("maximum") || n <= s["maximum"]) &&
	       (!s.contains("exclusiveMinimum") || n > s["exclusiveMinimum"]);
}

void agree(const Json &schema, const std::string &what, const Json &s,
	   int words, const std::function<void(const std::string &)> &parse)
{
	Random r(1);
	int taken = 0;

	for (int i = 0; i < words; i++) {
		const std::string w = random_word(r);
		const Json v = value_of(w);
		std::string why;

		try {
			parse(w);
			taken++;
		} catch (const UsageError &e) {
			why = e.what();
		}
		if (why.empty()) {
			ASSERT_TRUE(valid(schema, s, v)) << what << ": " << w;
		} else if (valid(schema, s, v) && v.is_string()) {
			ASSERT_TRUE(
				why.find("out of range") != std::string::npos ||
				why.find("smaller of two") != std::string::npos)
				<< what << ": " << w << ": " << why;
		}
	}
	EXPECT_GT(taken, 2) << what;
}
} // namespace mrclab
