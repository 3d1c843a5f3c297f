// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Settings of links, as words and as members, and one over the other. */
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "error.hpp"
#include "fabric_file.hpp"
#include "random_fabric.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
LinkProps props(const std::string &key, const std::string &value)
{
	LinkProps p;

	set_link_prop(p, key, value);
	return p;
}

/* Each of them is there or not. */
LinkProps random_props(Random &r)
{
	const auto maybe = [&r](uint64_t min, uint64_t max) {
		return draw(r, 0, 1) ? std::optional(draw(r, min, max))
				     : std::nullopt;
	};
	const auto share = [&]() {
		const auto n = maybe(0, 100000);

		return n ? std::optional(parse_percent(fmt::format(
				   "{}.{:03}", *n / 1000, *n % 1000)))
			 : std::nullopt;
	};
	LinkProps p;

	p.rate = draw(r, 0, 4) ? maybe(1000, 1000000000000) : 0;
	p.burst = maybe(0, 1 << 30);
	p.delay = maybe(0, 3600000000000);
	p.jitter = maybe(0, 1000000);
	p.loss = share();
	p.corrupt = share();
	p.duplicate = share();
	p.reorder = share();
	p.queue = maybe(0, 1 << 20);
	p.trim = maybe(0, 1 << 20);
	p.trim_len = maybe(0, 200);
	p.mark_min = maybe(0, 1 << 20);
	if (p.mark_min)
		p.mark_max = draw(r, *p.mark_min + 1, 1 << 21);
	return p;
}
} // namespace

TEST(LinkProps, HaveEveryKey)
{
	LinkProps p;

	for (const auto &[key, value] :
	     std::vector<std::pair<const char *, const char *>>{
		     {"rate", "1mbit"},
		     {"burst", "2k"},
		     {"delay", "3ms"},
		     {"jitter", "4us"},
		     {"loss", "5%"},
		     {"corrupt", "6%"},
		     {"duplicate", "7%"},
		     {"reorder", "8%"},
		     {"queue", "9m"},
		     {"mark", "10k..11k"},
		     {"trim", "12k"},
		     {"trim_len", "13"}})
		set_link_prop(p, key, value);
	EXPECT_EQ(p.rate, 1000000u);
	EXPECT_EQ(p.burst, 2048u);
	EXPECT_EQ(p.delay, 3000000u);
	EXPECT_EQ(p.jitter, 4000u);
	EXPECT_EQ(p.loss, 0.05);
	EXPECT_EQ(p.corrupt, 0.06);
	EXPECT_EQ(p.duplicate, 0.07);
	EXPECT_EQ(p.reorder, 0.08);
	EXPECT_EQ(p.queue, 9u << 20);
	EXPECT_EQ(p.mark_min, 10240u);
	EXPECT_EQ(p.mark_max, 11264u);
	EXPECT_EQ(p.trim, 12288u);
	EXPECT_EQ(p.trim_len, 13u);
}

TEST(LinkProps, ReadMarks)
{
	const auto mark = [](const char *w) {
		const LinkProps p = props("mark", w);

		return std::pair(*p.mark_min, *p.mark_max);
	};
	using Pair = std::pair<uint64_t, uint64_t>;

	EXPECT_EQ(mark("64k"), Pair(65536, 65536));
	EXPECT_EQ(mark("64k..1m"), Pair(65536, 1 << 20));
	EXPECT_EQ(mark("1..1"), Pair(1, 1));
	EXPECT_EQ(mark("0..5"), Pair(0, 5));
	EXPECT_EQ(mark("all"), Pair(0, 1));
	EXPECT_EQ(mark("none"), Pair(0, 0));
	for (const char *w :
	     {"0", "0..0", "2k..1k", "..", "1k..", "..1k", "", "None",
	      "nonesuch", "1k...2k", "1k..2k..3k", "1k:2k"})
		EXPECT_THROW(mark(w), UsageError) << w;
}

/* What an earlier setting said can be taken back. */
TEST(LinkProps, ReadNone)
{
	EXPECT_EQ(props("rate", "none").rate, 0u);
	EXPECT_FALSE(props("rate", "none").empty());
	EXPECT_EQ(link_prop_words(props("rate", "none")),
		  (std::vector<std::pair<std::string, std::string>>{
			  {"rate", "none"}}));
	EXPECT_EQ(link_prop_words(props("mark", "none")),
		  (std::vector<std::pair<std::string, std::string>>{
			  {"mark", "none"}}));
	for (const char *key :
	     {"burst", "delay", "jitter", "loss", "queue", "trim", "trim_len"})
		EXPECT_THROW(props(key, "none"), UsageError) << key;
}

TEST(LinkProps, SetNothingElse)
{
	EXPECT_TRUE(LinkProps().empty());
	for (const auto &[key, value] : link_prop_words(props("loss", "3%"))) {
		EXPECT_EQ(key, "loss");
		EXPECT_EQ(value, "3%");
	}
	EXPECT_THROW(props("speed", "1"), UsageError);
	EXPECT_THROW(props("", "1"), UsageError);
	EXPECT_THROW(props("Rate", "1mbit"), UsageError);
}

/* The words for props are read as the same props. */
TEST(LinkProps, AreReadAsTheyAreWritten)
{
	Random r(1);

	for (int i = 0; i < 2000; i++) {
		const LinkProps p = random_props(r);
		LinkProps again;

		for (const auto &[key, value] : link_prop_words(p))
			set_link_prop(again, key, value);
		ASSERT_EQ(again, p);
	}
}

/* To apply props is to set each of them. */
TEST(LinkProps, ApplyEveryKey)
{
	Random r(2);

	for (int i = 0; i < 1000; i++) {
		const LinkProps over = random_props(r);
		LinkProps p = random_props(r), q = p;

		p.apply(over);
		for (const auto &[key, value] : link_prop_words(over))
			set_link_prop(q, key, value);
		ASSERT_EQ(p, q);
	}
}

TEST(LinkProps, ApplyOverOthers)
{
	LinkProps p = props("rate", "1mbit");
	const LinkProps loss = props("loss", "1%");

	p.apply(LinkProps());
	EXPECT_EQ(p, props("rate", "1mbit"));
	p.apply(loss);
	p.apply(props("rate", "2mbit"));
	EXPECT_EQ(p.rate, 2000000u);
	EXPECT_EQ(p.loss, 0.01);
	p.apply(props("mark", "1k"));
	p.apply(props("mark", "all"));
	EXPECT_EQ(p.mark_min, 0u);
	EXPECT_EQ(p.mark_max, 1u);
}
} // namespace mrclab
