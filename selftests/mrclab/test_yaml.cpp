// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* YAML as files of mrclab may have it: lines of errors, limits, odd files. */
#include "yaml.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "error.hpp"

namespace mrclab
{
namespace
{
/* "FILE:LINE: reason" of what @run throws. */
template <typename Run> std::string error_of(Run run)
{
	try {
		run();
	} catch (const FileError &e) {
		return e.what();
	}
	return "";
}

std::string no_yaml(const std::string &text)
{
	return error_of([&] { YamlFile(text, "f"); });
}

/* All words of maps and lists, down to a depth; map keys are "a" to "c". */
std::string walk(const YamlFile &y, const YAML::Node &node, int depth = 9)
{
	std::string all;
	const auto use = [&](const YAML::Node &v) {
		all += walk(y, v, depth - 1);
	};

	if (depth == 0)
		return "... ";
	if (node.IsMap())
		y.map(node, "it", {{"a", use}, {"b", use}, {"c", use}});
	else if (node.IsSequence())
		y.list(node, "it", use);
	else
		all = YamlFile::word(node) + " ";
	return all;
}

std::string wrong(const std::string &text)
{
	return error_of([&] {
		const YamlFile y(text, "f");

		y.map(y.root(), "it",
		      {{"a", [&](const auto &v) { walk(y, v); }},
		       {"b", [&](const auto &v) { walk(y, v); }},
		       {"c", [&](const auto &v) { walk(y, v); }}});
	});
}

struct TempFile {
	explicit TempFile(const std::string &text)
		: path(testing::TempDir() + "mrclab." +
		       std::to_string(getpid()))
	{
		std::ofstream(path, std::ios::binary) << text;
	}
	~TempFile() { std::remove(path.c_str()); }
	TempFile(const TempFile &) = delete;
	TempFile &operator=(const TempFile &) = delete;
	const std::string path;
};
} // namespace

TEST(Yaml, ReadsMapsListsAndWords)
{
	const YamlFile y("a: 1\nb: [x, 'y z', \"\"]\nc:\n  a: -0x1\n", "f");

	EXPECT_EQ(walk(y, y.root()), "1 x y z  -0x1 ");
}

TEST(Yaml, ReadsJson)
{
	const YamlFile y("{\"a\": 1, \"b\": [\"x\", {\"c\": 2.5}]}", "f");

	EXPECT_EQ(walk(y, y.root()), "1 x 2.5 ");
}

TEST(Yaml, ReadsAliases)
{
	const YamlFile y("a: &x {a: 1}\nb: *x\nc: *x\n", "f");

	EXPECT_EQ(walk(y, y.root()), "1 1 1 ");
}

TEST(Yaml, HasAnEmptyRoot)
{
	for (const char *text : {"", "\n", "# nothing\n", "---\n", "~"})
		EXPECT_TRUE(YamlFile(text, "f").root().IsNull()) << text;
	EXPECT_EQ(wrong(""), "f: it must be a map of \"key: value\"");
	EXPECT_EQ(wrong("# x\n"), "f: it must be a map of \"key: value\"");
}

TEST(Yaml, NamesTheLine)
{
	EXPECT_EQ(wrong("x: 1\n"), "f:1: it has no key \"x\"; its keys are "
				   "a, b, c");
	EXPECT_EQ(wrong("a: 1\nx:\n  a: 1\n").substr(0, 4), "f:2:");
	EXPECT_EQ(wrong("\n\na: 1\na: 2\n"), "f:4: it has \"a\" twice");
	EXPECT_EQ(wrong("a: 1\nb: {a: 1,\n  a: 2}\n"),
		  "f:3: it has \"a\" twice");
	EXPECT_EQ(wrong("- a\n"), "f:1: it must be a map of \"key: value\"");
	EXPECT_EQ(wrong("word\n"), "f:1: it must be a map of \"key: value\"");
	EXPECT_EQ(wrong("a: 1\n[b]: 2\n"), "f:2: a key must be a single word");
	EXPECT_EQ(wrong("a: 1\n? {b: c}\n: 2\n"),
		  "f:2: a key must be a single word");
}

/* yaml-cpp's own line of nothing is that of what follows. */
TEST(Yaml, NamesTheLineOfAMissingValue)
{
	EXPECT_EQ(wrong("a: 1\nb:\nc: 1\n"), "f:2: \"b\" has no value");
	EXPECT_EQ(wrong("a: 1\nb:\n\n\n"), "f:2: \"b\" has no value");
	EXPECT_EQ(wrong("a: 1\nb: ~\n"), "f:2: \"b\" has no value");
	EXPECT_EQ(wrong("a:\n  b: null\n"), "f:2: \"b\" has no value");
	EXPECT_EQ(wrong("a: {b}\n"), "f:1: \"b\" has no value");
}

TEST(Yaml, TurnsUsageErrorsIntoFileErrors)
{
	const auto refuse = [](const YAML::Node &) {
		throw UsageError("is bad");
	};
	const YamlFile map("\na:\n  9\n", "f"), list("- 1\n-\n  2\n", "f");

	EXPECT_EQ(error_of([&] {
			  map.map(map.root(), "m", {{"a", refuse}});
		  }),
		  "f:3: a: is bad");
	EXPECT_EQ(error_of([&] {
			  list.list(list.root(), "l", [&](const auto &n) {
				  if (YamlFile::word(n) == "2")
					  refuse(n);
			  });
		  }),
		  "f:3: is bad");
	EXPECT_EQ(error_of([&] { map.list(map.root(), "m", refuse); }),
		  "f:2: m must be a list");
}

TEST(Yaml, WantsWords)
{
	const std::string why = "a single word or number is expected here";
	const YamlFile y("a: [1]\nb: {c: 1}\n", "f");

	for (const char *key : {"a", "b"})
		EXPECT_THROW(YamlFile::word(y.root()[key]), UsageError);
	EXPECT_THROW(YamlFile::word(YAML::Node()), UsageError);

	const auto word = [&](const YAML::Node &n) { YamlFile::word(n); };

	EXPECT_EQ(error_of([&] {
			  y.map(y.root(), "it", {{"a", word}, {"b", word}});
		  }),
		  "f:1: a: " + why);
}

TEST(Yaml, KnowsTruth)
{
	for (const char *w : {"true", "on", "yes", "'on'"})
		EXPECT_TRUE(YamlFile::truth(YAML::Load(w))) << w;
	for (const char *w : {"false", "off", "no"})
		EXPECT_FALSE(YamlFile::truth(YAML::Load(w))) << w;
	for (const char *w : {"1", "0", "True", "y", "''", "[true]", "~"})
		EXPECT_THROW(YamlFile::truth(YAML::Load(w)), UsageError) << w;
}

TEST(Yaml, RefusesWhatIsNoYaml)
{
	EXPECT_EQ(no_yaml("a: {b: 1\n").substr(0, 2), "f:");
	EXPECT_EQ(no_yaml("a: 1\nb: ]\n").substr(0, 4), "f:2:");
	EXPECT_EQ(no_yaml("a: 1\nb: c: d\n").substr(0, 4), "f:2:");
	EXPECT_EQ(no_yaml("a: 1\n b: 2\n").substr(0, 4), "f:2:");
	EXPECT_EQ(no_yaml("a: 1\nb: %x\n").substr(0, 4), "f:2:");
	EXPECT_EQ(no_yaml("a: 1\nb: @x\n").substr(0, 4), "f:2:");
	EXPECT_EQ(no_yaml("a: \"\\q\"\n").substr(0, 4), "f:1:");
	EXPECT_EQ(no_yaml("a: *x\n").substr(0, 4), "f:1:");
}

TEST(Yaml, HintsAtTabsAndStars)
{
	const std::string tabs = "; YAML is indented by blanks, not by tabs";
	const std::string star = "; a word that begins with * needs quotes";
	const auto ends = [](const std::string &s, const std::string &end) {
		return s.size() >= end.size() &&
		       s.compare(s.size() - end.size(), end.size(), end) == 0;
	};

	EXPECT_TRUE(ends(no_yaml("\ta: 1\n"), tabs)) << no_yaml("\ta: 1\n");
	EXPECT_TRUE(ends(no_yaml("a:\n\tb: 1\n"), tabs));
	EXPECT_TRUE(ends(no_yaml("a:\n \tb: 1\n"), tabs));
	EXPECT_EQ(no_yaml("a:\n\tb: 1\n").substr(0, 4), "f:2:");
	EXPECT_TRUE(ends(no_yaml("a:\n  *:h1: 1\n"), star));
	EXPECT_TRUE(ends(no_yaml("a:\n  *: 1\n"), star))
		<< no_yaml("a:\n  *: 1\n");
	/* Where it is neither, nothing is added. */
	EXPECT_EQ(no_yaml("a: ]\n").find(';'), std::string::npos);
	/* Between words and in comments tabs are allowed. */
	EXPECT_EQ(no_yaml("a:\t1\t# x\n"), "");
}

TEST(Yaml, HasOneDocument)
{
	EXPECT_EQ(no_yaml("---\na: 1\n...\n"), "");
	EXPECT_EQ(no_yaml("a: 1\n---\nb: 2\n"),
		  "f:2: a second document begins here; a file has one");
	EXPECT_NE(no_yaml("a: 1\n...\n{b\n"), "");
	/* yaml-cpp stops in front of these, and does not say so. */
	EXPECT_NE(no_yaml(", a: 1\n"), "");
	EXPECT_NE(no_yaml("a: 1\n...\n, b: 1\n"), "");
}

TEST(Yaml, SurvivesRecursion)
{
	const std::string why = "f:1: lists and maps are nested too deeply";

	EXPECT_EQ(no_yaml(std::string(100000, '[')), why);
	EXPECT_EQ(no_yaml(std::string(100000, '{')), why);

	/* What holds itself. */
	const YamlFile list("a: &x [1, *x]\n", "f"), map("&x {a: *x}", "f");

	EXPECT_EQ(walk(list, list.root()), "1 1 1 1 1 1 1 ... ... ");
	EXPECT_EQ(walk(map, map.root()), "... ");
}

/* A billion words, if aliases were copied. */
TEST(Yaml, SurvivesAliasBombs)
{
	std::string text = "a: &x0 [w, w, w, w, w, w, w, w, w, w]\nb: [";

	for (int i = 1; i < 9; i++) {
		const std::string old = "*x" + std::to_string(i - 1);

		text += "&x" + std::to_string(i) + " [" + old;
		for (int n = 0; n < 9; n++)
			text += ", " + old;
		text += "], ";
	}
	text += "*x8]\nc: 1\n";

	const YamlFile y(text, "f");

	EXPECT_EQ(walk(y, y.root()["a"]), "w w w w w w w w w w ");
	EXPECT_EQ(y.root()["b"].size(), 9u);
}

TEST(Yaml, RefusesBinaryFiles)
{
	std::string bytes;

	for (int i = 0; i < 4096; i++)
		bytes += static_cast<char>(i * 7919 >> 3);
	EXPECT_NE(wrong(bytes), "");
	EXPECT_NE(wrong(std::string("\x7f"
				    "ELF\2\1\1\0\0\0",
				    10)),
		  "");
	EXPECT_NE(wrong(std::string(1000, '\0')), "");
	EXPECT_NE(wrong("\xff\xfe\xff\xfe"), "");
}

TEST(Yaml, RefusesLongFiles)
{
	const std::string most =
		std::string(YamlFile::max_size - 5, '#') + "\na: 1";

	ASSERT_EQ(most.size(), YamlFile::max_size);
	EXPECT_EQ(wrong(most), "");
	EXPECT_EQ(wrong(most + "\n"), "f: is longer than 1048576 bytes");
}

TEST(Yaml, ReadsFiles)
{
	const std::string text("a: 1\r\n\0\xff", 8);

	EXPECT_EQ(read_text(TempFile(text).path), text);
	EXPECT_EQ(read_text(TempFile("").path), "");
	EXPECT_EQ(read_text("/dev/null"), "");
}

/* No more is read than is needed to refuse it. */
TEST(Yaml, ReadsLongFilesInPart)
{
	const TempFile f(std::string(YamlFile::max_size + 1, 'x'));
	const TempFile *same = &f;

	EXPECT_EQ(read_text(same->path).size(), YamlFile::max_size + 1);
	EXPECT_EQ(read_text("/dev/zero").size(), YamlFile::max_size + 1);
	/* Others have limits of their own. */
	EXPECT_EQ(read_text_up_to(10, "/dev/zero").size(), 11u);
	EXPECT_EQ(read_text_up_to(3 * YamlFile::max_size, "/dev/zero").size(),
		  3 * YamlFile::max_size + 1);
	EXPECT_EQ(read_text_up_to(3 * YamlFile::max_size, same->path),
		  std::string(YamlFile::max_size + 1, 'x'));
}

TEST(Yaml, SaysWhyAFileCannotBeRead)
{
	EXPECT_EQ(error_of([] { read_text("/nonexistent/f"); }),
		  "/nonexistent/f: No such file or directory");
	EXPECT_EQ(error_of([] { read_text("/"); }), "/: Is a directory");
	EXPECT_EQ(error_of([] { read_text("/dev/null/f"); }),
		  "/dev/null/f: Not a directory");
}
} // namespace mrclab
