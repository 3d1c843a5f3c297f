// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What programs of latency print: read, or refused. */
#include "perftest.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "error.hpp"
#include "random_fabric.hpp"

namespace mrclab
{
namespace
{
const std::string rule(87, '-');

const std::string titles =
	" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]"
	"    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% "
	"percentile[usec] ";

/* As perftest prints a row. */
const std::string row =
	" 2       500          101.93           908.31         151.98     \t"
	"       160.00        \t40.11   \t\t402.33    \t\t908.31   ";

/* What stands before the table. */
const std::string head =
	rule +
	"\n                    RDMA_Write Latency Test\n"
	" Dual-port       : OFF\t\tDevice         : mrc1\n"
	" Number of qps   : 1\t\tTransport type : IB\n"
	" Mtu             : 4096[B]\n" +
	rule +
	"\n local address: LID 0000 QPN 0x0011 PSN 0x6a1d9a\n"
	" GID: 253:00:00:00:00:00:00:00:00:00:00:00:00:00:00:01\n" +
	rule + "\n";

std::string output(const std::string &title, const std::string &rows)
{
	return head + title + "\n" + rows + "\n" + rule + "\n";
}

std::string error_of(const std::string &text)
{
	try {
		parse_latency(text, "w");
	} catch (const UsageError &e) {
		return e.what();
	}
	return "";
}

std::string row_error(const std::string &r)
{
	return error_of(output(titles, r));
}

/* A row with these figures. */
std::string row_of(const std::string &min, const std::string &max,
		   const std::string &typical, const std::string &avg,
		   const std::string &p99, const std::string &p999)
{
	return fmt::format("2 500 {} {} {} {} 1.00 {} {}", min, max, typical,
			   avg, p99, p999);
}
} // namespace

TEST(Perftest, HasLatencies)
{
	const Latency l = parse_latency(output(titles, row), "near");

	EXPECT_EQ(l.name, "near");
	EXPECT_EQ(l.min, 101.93);
	EXPECT_EQ(l.typical, 151.98);
	EXPECT_EQ(l.p99, 402.33);
	EXPECT_EQ(l.p999, 908.31);
	EXPECT_EQ(row_error("2 500 1 1 1 1 0 1 1"), "");
	EXPECT_EQ(row_error(row + "\r"), "");
}

/* With -a there are several sizes. */
TEST(Perftest, HasTheLastRow)
{
	const std::string rows = "2 500 9 9 9 9 0 9 9\n\n4 500 1 5 2 2 0 3 4";

	EXPECT_TRUE(parse_latency(output(titles, rows), "w") ==
		    (Latency{"w", 1, 2, 3, 4}));
	/* What stands behind the table, or in front of it, is not read. */
	EXPECT_TRUE(parse_latency("2 500 8 8 8 8 0 8 8\n" +
					  output(titles, rows) +
					  "2 500 8 8 8 8 0 8 8\n",
				  "w") == (Latency{"w", 1, 2, 3, 4}));
	/* The last line may have no end. */
	EXPECT_EQ(error_of(titles + "\n" + row), "");
}

TEST(Perftest, NeedsATable)
{
	EXPECT_EQ(error_of(""), "no table of latencies");
	EXPECT_EQ(error_of("\n\n"), "no table of latencies");
	EXPECT_EQ(error_of(head), "no table of latencies");
	EXPECT_EQ(error_of(head + row + "\n"), "no table of latencies");
	EXPECT_EQ(row_error(""), "a table of latencies without a row");
	EXPECT_EQ(error_of(titles), "a table of latencies without a row");
	EXPECT_EQ(error_of(output(titles, row) + output(titles, row)),
		  "two tables of latencies");
}

/* Other options, and programs of bandwidth. */
TEST(Perftest, RefusesOtherColumns)
{
	std::string cycles = titles;

	for (std::size_t at; (at = cycles.find("usec")) != std::string::npos;)
		cycles.replace(at, 4, "cycles");
	for (const std::string &t :
	     {cycles, std::string(" #bytes     #iterations    BW peak[MB/sec]"),
	      std::string(" #bytes        #iterations       t_avg[usec]    tps "
			  "average"),
	      titles + " more", titles.substr(0, titles.find("99.9%")),
	      std::string("#bytes")})
		EXPECT_EQ(error_of(output(t, row))
				  .find("no table of latencies in us: \""),
			  0u)
			<< t;
}

TEST(Perftest, RefusesOtherRows)
{
	const std::string no = "no row of latencies: \"";

	for (const std::string r : {"hello",
				    "2",
				    "2 500 1 1 1 1 0 1",
				    "2 500 1 1 1 1 0 1 1 1",
				    "0 500 1 1 1 1 0 1 1",
				    "2 0 1 1 1 1 0 1 1",
				    "2 -5 1 1 1 1 0 1 1",
				    "2.0 500 1 1 1 1 0 1 1",
				    "2 500 1 inf 1 1 0 1 1",
				    "2 500 inf inf inf inf inf inf inf",
				    "2 500 nan 1 1 1 0 1 1",
				    "2 500 -1 1 1 1 0 1 1",
				    "2 500 1 1 1 1 -1 1 1",
				    "2 500 1 1 1e0 1 0 1 1",
				    "2 500 0x1 1 1 1 0 1 1",
				    "2 500 +1 1 1 1 0 1 1",
				    "2 500 1, 1 1 1 0 1 1",
				    "2 500 1 999999999999 1 1 0 1 1",
				    "99999999999999999999 500 1 1 1 1 0 1 1",
				    "-",
				    "--x",
				    "Couldn't post send: scnt=0"})
		EXPECT_EQ(row_error(r), no + r + "\"") << r;
	EXPECT_EQ(row_error(std::string(5000, 'x')),
		  no + std::string(100, 'x') + "\"");
	/* The first wrong line counts. */
	EXPECT_EQ(row_error(row + "\nx\ny"), no + "x\"");
}

TEST(Perftest, RefusesFiguresThatContradictEachOther)
{
	EXPECT_EQ(row_error(row_of("1", "5", "2", "2", "3", "4")), "");
	for (const std::string &r : {row_of("0", "0", "0", "0", "0", "0"),
				     row_of("3", "5", "2", "3", "3", "4"),
				     row_of("1", "5", "3", "2", "2", "4"),
				     row_of("1", "5", "2", "2", "4", "3"),
				     row_of("1", "3", "2", "2", "3", "4"),
				     row_of("1", "5", "2", "0.5", "3", "4"),
				     row_of("1", "5", "2", "6", "3", "4")})
		EXPECT_EQ(row_error(r),
			  "latencies that contradict each other: \"" + r + "\"")
			<< r;
}

/* Whatever is printed is read or refused, and what is read can be written. */
TEST(Perftest, ChangedBytesDoNoHarm)
{
	const std::string good = output(titles, row);
	Random r(3);
	int read = 0;

	for (int i = 0; i < 3000; i++) {
		std::string text = good;

		for (uint64_t n = draw(r, 1, 3); n > 0; n--)
			text[draw(r, 0, text.size() - 1)] =
				static_cast<char>(draw(r, 0, 255));
		try {
			const Latency l = parse_latency(text, "w");

			EXPECT_GT(l.typical, 0);
			EXPECT_LE(l.min, l.typical);
			EXPECT_LE(l.typical, l.p99);
			EXPECT_LE(l.p99, l.p999);
			read++;
		} catch (const UsageError &e) {
			EXPECT_LT(std::string(e.what()).size(), 200u);
		}
	}
	EXPECT_GT(read, 300);
	EXPECT_LT(read, 3000);
	for (std::size_t n = 0; n < good.size(); n++)
		EXPECT_NO_THROW(error_of(good.substr(0, n))) << n;
	for (int i = 0; i < 300; i++) {
		std::string text(draw(r, 1, 2000), '\0');

		for (char &c : text)
			c = static_cast<char>(draw(r, 0, 255));
		EXPECT_NE(error_of(text), "") << i;
	}
}
} // namespace mrclab
