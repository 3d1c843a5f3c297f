// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The table of cases, and how a command line chooses from it. */
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "cases.hpp"

namespace mrcconform
{
namespace
{
TEST(Cases, EachHasANameASectionAndARule)
{
	const std::regex name("[a-z][a-z0-9]*(\\.[a-z0-9]+(-[a-z0-9]+)*){1,2}");
	const std::regex section("[0-9]+(\\.[0-9]+)?");
	std::set<std::string_view> names, rules;

	for (const Case *c : all_cases()) {
		const std::string n(c->name), s(c->section), r(c->rule);

		EXPECT_TRUE(names.insert(c->name).second) << n;
		EXPECT_TRUE(std::regex_match(n, name)) << n;
		EXPECT_TRUE(std::regex_match(s, section)) << n << ": " << s;
		EXPECT_TRUE(r.size() > 20 && r.ends_with('.'))
			<< n << ": " << r;
		EXPECT_EQ(r.find("  "), std::string::npos) << n;
		EXPECT_NE(c->run, nullptr) << n;
	}
	EXPECT_GE(names.size(), 150u);
}

std::vector<std::string> names(const std::vector<std::string> &patterns)
{
	std::vector<std::string> list;

	for (const Case *c : chosen_cases(patterns))
		list.emplace_back(c->name);
	return list;
}

TEST(Cases, AreChosenByPatterns)
{
	EXPECT_EQ(names({}).size(), all_cases().size());
	EXPECT_EQ(names({"sack.vector"}),
		  std::vector<std::string>{"sack.vector"});
	for (const std::string &n : names({"wire.icrc"}))
		EXPECT_TRUE(n.starts_with("wire.icrc.")) << n;
	EXPECT_EQ(names({"wire.icrc"}), names({"wire.icrc.*"}));
	EXPECT_GT(names({"wire"}).size(), names({"wire.icrc"}).size());
	/* In the order of the table, each once. */
	EXPECT_EQ(names({"sack.psn", "sack.vector", "sack.*", "sack"}),
		  names({"sack"}));
}

TEST(Cases, APatternWithoutACaseIsAnError)
{
	EXPECT_THROW(chosen_cases({"sack", "sock"}), UsageError);
	/* A part ends at a dot. */
	EXPECT_THROW(chosen_cases({"wire.icr"}), UsageError);
}
} // namespace
} // namespace mrcconform
