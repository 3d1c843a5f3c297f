// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reports: everything is in them, and nothing gets out of its place. */
#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "../../userspace-tools/common/gnuplot_text.hpp"
#include "../common/pictures.hpp"
#include "error.hpp"
#include "golden.hpp"
#include "made_results.hpp"
#include "report.hpp"
#include "report_html.hpp"
#include "report_rows.hpp"

namespace mrclab
{
namespace
{
namespace fs = std::filesystem;

/* A directory that goes when the test ends. */
class TempDir
{
public:
	TempDir()
	{
		std::string path = testing::TempDir() + "mrclab-report-XXXXXX";

		EXPECT_TRUE(mkdtemp(path.data()));
		path_ = path;
	}
	~TempDir()
	{
		std::error_code none;

		fs::remove_all(path_, none);
	}
	TempDir(const TempDir &) = delete;
	TempDir &operator=(const TempDir &) = delete;

	std::string operator/(const std::string &name) const
	{
		return path_ + "/" + name;
	}

private:
	std::string path_;
};

/* Cells of a line of Markdown: bars without a backslash separate them. */
std::size_t cells(const std::string &line)
{
	std::size_t bars = 0;

	for (std::size_t i = 0; i < line.size(); i++) {
		if (line[i] == '\\')
			i++;
		else
			bars += line[i] == '|';
	}
	return bars - 1;
}

std::vector<std::string> texts_of(const std::string &html,
				  const std::string &element)
{
	const auto texts = pictures::texts(html, element);

	EXPECT_TRUE(texts.has_value()) << html;
	return texts.value_or(std::vector<std::string>());
}

bool has(const std::vector<std::string> &all, const std::string &one)
{
	return std::find(all.begin(), all.end(), one) != all.end();
}

std::vector<DrillResult> two()
{
	DrillResult a = stairs(), b = stairs();

	b.name = "other";
	b.title = "Another one";
	b.runs.pop_back();
	b.runs[0].verdicts.pop_back();
	return {a, b};
}
} // namespace

TEST(Report, Figures)
{
	EXPECT_EQ(figure_of(87.23, "%"), "87.2 %");
	EXPECT_EQ(figure_of(60, "%"), "60 %");
	EXPECT_EQ(figure_of(1234.5, "ms"), "1234 ms");
	EXPECT_EQ(figure_of(0.99312, ""), "0.993");
	EXPECT_EQ(figure_of(1, ""), "1");
	EXPECT_EQ(figure_of(0, "ms"), "0 ms");
	EXPECT_EQ(figure_of(100, "%"), "100 %");
}

TEST(Report, Rows)
{
	DrillResult r = stairs();
	auto rows = rows_of(r);

	ASSERT_EQ(rows.size(), 2u);
	EXPECT_EQ(rows[0].wanted, "60 %");
	EXPECT_EQ(rows[0].got, "87.2 %");
	EXPECT_TRUE(rows[0].ok);
	EXPECT_FALSE(rows[1].ok);
	EXPECT_FALSE(has_other({r}));
	EXPECT_EQ(score_of({r}), "1 of 2 requirements are met");

	/* What RoCE has for the same, or why it has nothing. */
	r.runs[1].flows = {{"write", true, ""}};
	r.runs[1].verdicts = {
		{r.runs[0].verdicts[0].text + ", nothing before", 60, 0, "%",
		 false},
		{r.runs[0].verdicts[1].text, 200, 5000, "ms", false}};
	EXPECT_EQ(rows_of(r)[0].other, "nothing before");
	EXPECT_EQ(rows_of(r)[1].other, "5000 ms");
	EXPECT_TRUE(has_other({r}));
	r.runs[1].verdicts[1].text += ", never reached";
	EXPECT_EQ(rows_of(r)[1].other, "never reached");
	r.runs[1].verdicts[0].text = r.runs[0].verdicts[0].text;
	EXPECT_EQ(rows_of(r)[0].other, "0 %");
	/* A program that ended is the reason why nothing was carried. */
	r.runs[1].flows = {{"write", false, "ended"}};
	EXPECT_EQ(rows_of(r)[0].other, "0 %, failed");
	EXPECT_EQ(rows_of(r)[1].other, "never reached, failed");
	r.runs[1].flows = {{"writer", false, "ended"}};
	EXPECT_EQ(rows_of(r)[0].other, "0 %");
	r.runs[1].verdicts.pop_back();
	EXPECT_EQ(rows_of(r)[1].other, "");

	/* A failure is a row, unless it is one of rxe. */
	r.runs[0].flows[0].ok = false;
	rows = rows_of(r);
	ASSERT_EQ(rows.size(), 3u);
	EXPECT_FALSE(rows[2].ok);
	EXPECT_EQ(rows[2].text, "write: its programs succeed");

	r = stairs();
	r.runs[0].verdicts.clear();
	ASSERT_EQ(rows_of(r).size(), 1u);
	EXPECT_TRUE(rows_of(r)[0].ok);
	r.runs.clear();
	ASSERT_EQ(rows_of(r).size(), 1u);
	EXPECT_FALSE(rows_of(r)[0].ok);
}

/* A value that is not good enough does not look like the one wanted. */
TEST(Report, RowsHaveEnoughDigits)
{
	DrillResult r = stairs();

	r.runs[0].verdicts = {{"a", 60, 59.996, "%", false},
			      {"b", 60, 60.004, "%", true}};
	EXPECT_EQ(rows_of(r)[0].got, "59.996 %");
	EXPECT_EQ(rows_of(r)[1].got, "60 %");
}

TEST(Report, Markdown)
{
	EXPECT_EQ(
		markdown_of({stairs()}),
		"| figure | drill | published | required | wanted | measured | "
		"met? |\n"
		"|---|---|---|---|---|---|---|\n"
		"| 9a | Fig. 9a: eight planes are lost | a step of 1/8 with "
		"each plane | write, 3 s to 7 s: worst sample at least 60 % | "
		"60 % | 87.2 % | met |\n"
		"| | | | write: back within 200 ms | 200 ms | 260 ms | "
		"**not met** |\n");
}

TEST(Report, MarkdownHasItsCells)
{
	Random random(4);

	for (int i = 0; i < 100; i++) {
		const DrillResult r = random_result(random);
		const std::string text = markdown_of({r, stairs()});
		std::size_t begin = 0, lines = 0;

		const std::size_t wanted = has_other({r}) ? 8 : 7;

		while (begin < text.size()) {
			const std::size_t end = text.find('\n', begin);

			EXPECT_EQ(cells(text.substr(begin, end - begin)),
				  wanted)
				<< text;
			begin = end + 1;
			lines++;
		}
		EXPECT_EQ(lines, 4 + rows_of(r).size());
	}
	DrillResult r = stairs();

	r.title = "ib_write_bw _x_ a|b `c` <d> \\";
	EXPECT_NE(markdown_of({r}).find(
			  "| ib_write_bw \\_x\\_ a\\|b \\`c\\` \\<d\\> \\\\ |"),
		  std::string::npos)
		<< markdown_of({r});
}

TEST(Report, HtmlHasEverything)
{
	const std::string html = html_of(two(), {});
	const auto cells_ = texts_of(html, "td");
	const auto links = pictures::values(html, "href");

	for (const char *text :
	     {"9a", "Fig. 9a: eight planes are lost", "60 %", "87.2 %", "met",
	      "NOT MET", "a step of 1/8 with each plane"})
		EXPECT_TRUE(has(cells_, text)) << text;
	EXPECT_TRUE(has(texts_of(html, "h2"), "Another one"));
	EXPECT_TRUE(has(texts_of(html, "p"), "One. Two.")) << html;
	EXPECT_TRUE(has(texts_of(html, "p"), "Three."));
	EXPECT_TRUE(has(texts_of(html, "p"), "2 of 3 requirements are met."));
	EXPECT_TRUE(has(texts_of(html, "pre"), "status 12 scnt=<128> "));
	ASSERT_TRUE(links);
	for (const char *link :
	     {"#fig9a", "#other", "fig9a.json", "fig9a.mrc.csv",
	      "fig9a.rxe.csv", "other.mrc.csv", "fig9a.svg", "other.png"})
		EXPECT_TRUE(has(*links, link)) << link;
	EXPECT_FALSE(has(*links, "other.rxe.csv"));
	EXPECT_EQ(html.find("<script"), std::string::npos);
}

TEST(Report, HostileStringsAreText)
{
	Random random(5);

	for (int i = 0; i < 10; i++) {
		DrillResult r = random_result(random);

		r.title = "</title><script>alert(1)</script>" + r.title + "z";
		const std::string html = html_of({r}, {});

		EXPECT_TRUE(
			has(texts_of(html, "h2"), gnuplot::one_line(r.title)))
			<< html;
		EXPECT_EQ(html.find("<script"), std::string::npos);
	}
}

/* The names of parts of pictures are those of gnuplot, but once each. */
TEST(Report, PicturesKeepTheirPartsApart)
{
	const std::string svg =
		"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/"
		"svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\">"
		"<title>Gnuplot</title>"
		"<g id=\"canvas\"><circle id='dot'/><use xlink:href='#dot'/>"
		"<path fill='url(#dot)'/><text> id='x' href='#y'</text></g>"
		"</svg>\n";
	const std::string html =
		html_of(two(), {{"fig9a", svg}, {"other", svg}});
	const auto ids = pictures::values(html, "id");

	ASSERT_TRUE(ids) << html;
	EXPECT_EQ(*ids, (std::vector<std::string>{
				"fig9a", "fig9a-canvas", "fig9a-dot", "other",
				"other-canvas", "other-dot"}));
	EXPECT_NE(html.find("xlink:href='#other-dot'"), std::string::npos);
	EXPECT_NE(html.find("url(#fig9a-dot)"), std::string::npos);
	EXPECT_TRUE(has(texts_of(html, "text"), " id='x' href='#y'"));
	EXPECT_TRUE(has(texts_of(html, "title"), "Another one"));
	EXPECT_EQ(html.find("<?xml"), std::string::npos);
}

TEST(Report, IsWritten)
{
	NEEDS_PROGRAM("gnuplot", "--version");
	const TempDir tmp;
	const std::string dir = tmp / "a/b";

	write_report(two(), dir);
	/* Another time it replaces the files. */
	write_report(two(), dir);
	const std::string html = file_text(dir + "/report.html");
	const auto ids = pictures::values(html, "id");
	const auto links = pictures::values(html, "href");

	ASSERT_TRUE(ids && links);
	EXPECT_EQ(std::set<std::string>(ids->begin(), ids->end()).size(),
		  ids->size());
	EXPECT_TRUE(has(*ids, "fig9a-gnuplot_canvas"));
	for (const std::string &link : *links) {
		if (link[0] == '#')
			EXPECT_TRUE(has(*ids, link.substr(1))) << link;
		else
			EXPECT_TRUE(fs::exists(dir + "/" + link)) << link;
	}
	EXPECT_TRUE(parse_result(file_text(dir + "/fig9a.json"), "f") ==
		    stairs());
	EXPECT_EQ(file_text(dir + "/fig9a.rxe.csv"), csv_of(stairs().runs[1]));
	EXPECT_EQ(std::distance(fs::directory_iterator(dir), {}), 11);
	EXPECT_EQ(file_text(dir + "/report.md"), markdown_of(two()));
}

TEST(Report, IsNotWritten)
{
	const TempDir tmp;
	DrillResult bad = stairs();

	EXPECT_THROW(write_report({stairs(), stairs()}, tmp / "a"), UsageError);
	bad.name = "../x";
	EXPECT_THROW(write_report({bad}, tmp / "a"), UsageError);
	bad = stairs();
	bad.runs[0].series[0].values.pop_back();
	EXPECT_THROW(write_report({bad}, tmp / "a"), UsageError);
	EXPECT_FALSE(fs::exists(tmp / "a"));
	EXPECT_THROW(write_report({stairs()}, "/dev/null/x"), SystemError);
}
} // namespace mrclab
