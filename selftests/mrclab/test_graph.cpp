// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Pictures of fabrics: every node and link, and what is wrong. */
#include <algorithm>
#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../../userspace-tools/common/process.hpp"
#include "../common/pictures.hpp"
#include "graph.hpp"
#include "plot.hpp"
#include "random_fabric.hpp"
#include "words.hpp"

namespace mrclab
{
namespace
{
struct GraphTest : testing::Test {
	Topology t{fabric_of(2, 2, 2, 2)};
	Faults f;

	void apply(const std::string &line) { f.apply(t, split(line)); }

	/* What the text says of a node or of a link; empty: nothing. */
	std::string said(const std::string &of) const
	{
		const std::string text = dot_of(t, f);
		const std::string begin = "\n" + of + " [";
		const std::size_t at = text.find(begin);

		if (at == std::string::npos)
			return "";
		const std::size_t from = at + begin.size();

		return text.substr(from, text.find("]\n", from) - from);
	}

	std::string link(const std::string &high, const std::string &low) const
	{
		return said(fmt::format("\"{}\" -- \"{}\"", high, low));
	}
};

bool contains(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

std::ptrdiff_t count(const std::string &text, const std::string &regex)
{
	const std::regex r(regex);

	return std::distance(std::sregex_iterator(text.begin(), text.end(), r),
			     {});
}
} // namespace

TEST_F(GraphTest, HasAllNodesAndLinks)
{
	const std::string text = dot_of(t, f);

	for (const Node &n : t.nodes())
		EXPECT_NE(said("\"" + n.name + "\""), "") << n.name;
	for (const Link &l : t.links())
		EXPECT_EQ(link(t.nodes()[l.high.node].name,
			       t.nodes()[l.low.node].name),
			  fmt::format("color=\"{}\"", plane_colour(l.plane)));
	EXPECT_EQ(count(text, " -- \"[^\"]*\" \\[color"),
		  static_cast<std::ptrdiff_t>(t.links().size()));
	EXPECT_TRUE(contains(text, "test: 2 planes"));
	EXPECT_FALSE(contains(text, "#cc0000"));
	EXPECT_TRUE(contains(said("\"p2l1\""), plane_colour(2)));
}

TEST_F(GraphTest, WhatIsDownIsDashed)
{
	apply("h1:p2+ down");
	EXPECT_TRUE(contains(link("p2l1", "h1"), "#cc0000\", style=dashed"));
	EXPECT_FALSE(contains(link("p1l1", "h1"), "dashed"));
	EXPECT_FALSE(contains(said("\"h1\""), "#cc0000"));
	apply("p1s2 down");
	EXPECT_TRUE(contains(link("p1s2", "p1l1"), "dashed"));
	EXPECT_TRUE(contains(link("p1s2", "p1l2"), "dashed"));
	EXPECT_FALSE(contains(link("p1s1", "p1l2"), "dashed"));
	EXPECT_TRUE(contains(said("\"p1s2\""), "#cc0000"));
	EXPECT_FALSE(contains(said("\"p1s1\""), "#cc0000"));
	EXPECT_TRUE(contains(dot_of(t, f), "\\lp1s2 down\\l"));
	/* One of the two ends is enough. */
	apply("clear");
	apply("p1l1:s1 down");
	EXPECT_TRUE(contains(link("p1s1", "p1l1"), "dashed"));
}

/* The first node of a link is the higher one: "back" leads to it. */
TEST_F(GraphTest, WhatIsWorseHasArrows)
{
	apply("p1l1:s1 loss 5%");
	EXPECT_TRUE(contains(link("p1s1", "p1l1"), "dir=back"));
	EXPECT_TRUE(contains(link("p1s1", "p1l1"), "#cc0000"));
	apply("p1s2:l2 delay 5ms");
	EXPECT_TRUE(contains(link("p1s2", "p1l2"), "dir=forward"));
	apply("h3:p1+ drop");
	EXPECT_TRUE(contains(link("p1l2", "h3"), "dir=both"));
	EXPECT_FALSE(contains(dot_of(t, f), "dashed"));
	apply("clear");
	EXPECT_FALSE(contains(dot_of(t, f), "#cc0000"));
}

TEST_F(GraphTest, TheFilesSettingsAreNotWrong)
{
	Fabric slow = fabric_of(2, 2, 2, 2);

	slow.host_links.loss = 0.01;
	EXPECT_FALSE(contains(dot_of(Topology(slow), f), "#cc0000"));
}

TEST_F(GraphTest, ManyFaultsAreNotAllListed)
{
	for (int p = 1; p <= 2; p++)
		for (int h = 1; h <= 4; h++)
			apply(fmt::format("h{}:p{}+ loss {}%", h, p, h + p));
	EXPECT_TRUE(contains(dot_of(t, f), "\\land 4 more\\l")) << dot_of(t, f);
	EXPECT_EQ(count(dot_of(t, f), " loss "), 12);
}

TEST_F(GraphTest, StringsAreEscaped)
{
	Fabric odd = fabric_of(1, 1, 0, 2);

	odd.name = "a\"b\\c\n";
	EXPECT_TRUE(contains(dot_of(Topology(odd), f), "\"a\\\"b\\\\c : 1"))
		<< dot_of(Topology(odd), f);
}

TEST_F(GraphTest, IsDrawn)
{
	NEEDS_PROGRAM("dot", "-V");
	int fabrics = 0;

	on_topologies(false, [&](const Topology &any, Random &r) {
		Faults wrong;

		/* 60 fabrics take long, and show no more than some of them. */
		if (fabrics++ % 6)
			return;
		for (int i = 0; i < 3; i++) {
			const Direction d{
				static_cast<uint32_t>(
					draw(r, 0, any.links().size() - 1)),
				true};

			wrong.apply(any,
				    {any.name(d) + "+", i ? "drop" : "down"});
		}
		const process::Ended e =
			process::run({"dot", "-Tsvg"}, dot_of(any, wrong));

		EXPECT_EQ(e.status, 0) << e.err;
		EXPECT_EQ(e.err, "");
		const auto texts = pictures::texts(e.out, "text");

		ASSERT_TRUE(texts);
		for (const Node &n : any.nodes())
			EXPECT_EQ(std::count(texts->begin(), texts->end(),
					     n.name),
				  1)
				<< n.name;
	});
}
} // namespace mrclab
