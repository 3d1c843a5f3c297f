// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Probes and lines of reports: vectors, and what strangers may send. */
#include <numeric>

#include <gtest/gtest.h>

#include "error.hpp"
#include "packet.hpp"
#include "report.hpp"
#include "sim.hpp"

namespace mrcmap
{
namespace
{
constexpr uint16_t port = 48620;

Key counting_key()
{
	Key k;

	std::iota(k.begin(), k.end(), uint8_t{0});
	return k;
}

/* The vectors of the authors' reference implementation. */
TEST(Packet, SipHash)
{
	std::vector<uint8_t> bytes(15);

	std::iota(bytes.begin(), bytes.end(), uint8_t{0});
	EXPECT_EQ(siphash(counting_key(), bytes), 0xa129ca6149be45e5u);
	EXPECT_EQ(siphash(counting_key(), {}), 0x726fdb47dd0e0e31u);
}

const Probe a_probe{.digest = 0x0102030405060708,
		    .host = 9,
		    .path = 10,
		    .window = 11,
		    .sequence = 12,
		    .sent = 0x1112131415161718};

std::vector<uint8_t> a_packet(uint32_t size = 128)
{
	Wire w;

	w.from = address("fcbb:1:1::1");
	w.to = address("fcbb:1:1::2");
	w.port = port;
	w.size = size;
	w.dscp = 5;
	return build(a_probe, w, counting_key());
}

TEST(Packet, Bytes)
{
	const std::vector<uint8_t> b = a_packet();
	const std::vector<uint8_t> ip(b.begin(), b.begin() + 8);
	const std::vector<uint8_t> udp(b.begin() + 40, b.begin() + 46);
	const std::vector<uint8_t> payload(b.begin() + 48, b.begin() + 72);

	EXPECT_EQ(b.size(), 128u);
	EXPECT_EQ(ip, (std::vector<uint8_t>{0x61, 0x40, 0, 0, 0, 88, 17, 64}));
	EXPECT_EQ(udp, (std::vector<uint8_t>{0xbd, 0xec, 0xbd, 0xec, 0, 88}));
	EXPECT_EQ(payload,
		  (std::vector<uint8_t>{'m', 'r', 'c', 'm', 'a', 'p', 0, 1,
					1,   2,	  3,   4,   5,	 6,   7, 8,
					0,   0,	  0,   9,   0,	 0,   0, 10}));
}

TEST(Packet, BackAgain)
{
	for (const uint32_t size : {0u, 96u, 97u, 128u, 9000u}) {
		Probe p;

		EXPECT_EQ(parse(a_packet(size), port, counting_key(), p),
			  Parsed::good);
		EXPECT_EQ(p, a_probe);
	}
}

TEST(Packet, Strangers)
{
	const std::vector<uint8_t> good = a_packet();
	Random r(1);
	Probe p;
	Key other = counting_key();

	other[3] ^= 1;
	EXPECT_EQ(parse(good, port, other, p), Parsed::forged);
	EXPECT_EQ(parse(good, port + 1, counting_key(), p), Parsed::foreign);
	/* Every single bit, but for those that switches may change. */
	for (std::size_t i = 0; i < good.size() * 8; i++) {
		std::vector<uint8_t> b = good;

		b[i / 8] ^= static_cast<uint8_t>(0x80 >> i % 8);
		if ((i >= 4 && i < 32) || i / 8 == 7)
			EXPECT_EQ(parse(b, port, counting_key(), p),
				  Parsed::good);
		else
			EXPECT_NE(parse(b, port, counting_key(), p),
				  Parsed::good)
				<< i;
	}
	/* Every length, in a buffer that is no longer than that. */
	for (std::size_t n = 0; n < good.size(); n++) {
		const std::vector<uint8_t> b(
			good.begin(), good.begin() + static_cast<int>(n));

		EXPECT_NE(parse(b, port, counting_key(), p), Parsed::good);
	}
	for (int i = 0; i < 20000; i++) {
		std::vector<uint8_t> b(draw(r, 0, 200));

		for (uint8_t &c : b)
			c = static_cast<uint8_t>(r());
		EXPECT_NE(parse(b, port, counting_key(), p), Parsed::good);
	}
}

TEST(Packet, Keys)
{
	EXPECT_EQ(parse_key(" 000102030405060708090a0b0C0D0e0f\n"),
		  counting_key());
	for (const char *bad : {"", "00", "000102030405060708090a0b0c0d0e0g",
				"000102030405060708090a0b0c0d0e0f0"})
		EXPECT_THROW(parse_key(bad), mrclab::UsageError);
}

std::vector<Message> messages()
{
	Windows w{.at = 5};

	w.paths.push_back({1, 2, 10, 8, 1, 0, 100, 150, 200, false});
	w.paths.push_back({1, 1, 0, 0, 0, 3, 0, 0, 0, true});
	w.peers.push_back({4, 2, 7, 0, -1234567890123, false});
	return {Hello{.fabric = "small", .host = 3, .plan = 0xfedcba9876543210},
		w,
		Ports{{true, false, std::nullopt}},
		EvEvent{2, 1, 0, "assumed_bad"},
		EvCounts{{{2, 1, 3, 100, 7, 1000}}},
		DenyList{{{1, 2, 3}, {2, 1, 0}}},
		ErrorText{"\"quoted\"\n"}};
}

TEST(Report, BackAgain)
{
	for (const Message &m : messages()) {
		std::string line = write(m);

		ASSERT_TRUE(line.ends_with("\n"));
		line.pop_back();
		EXPECT_EQ(line.find('\n'), std::string::npos);
		EXPECT_EQ(parse_line(line), m) << line;
	}
}

TEST(Report, Wrong)
{
	for (const char *line :
	     {"", "x", "[]", "{}", "null", "{\"type\":1}", "{\"type\":\"x\"}",
	      R"({"type":"hello"})",
	      R"({"type":"hello","mrcmap":2,"fabric":"a","host":1,"plan":"0"})",
	      R"({"type":"hello","mrcmap":1,"fabric":"a","host":-1,"plan":"0"})",
	      R"({"type":"hello","mrcmap":1,"fabric":"a","host":1,"plan":"x"})",
	      R"({"type":"windows","at":1,"paths":[[1]],"peers":[]})",
	      R"({"type":"windows","at":1,"paths":{},"peers":[]})",
	      R"({"type":"windows","at":1,"peers":[],
		"paths":[[1,1,1,2,0,0,0,0,0,0]]})",
	      R"({"type":"windows","at":1,"peers":[],
		"paths":[[1,1,2,2,0,0,3,2,1,0]]})",
	      R"({"type":"windows","at":1,"peers":[],
		"paths":[[4294967296,1,2,2,0,0,1,1,1,0]]})",
	      R"({"type":"windows","at":1,"paths":[],
		"peers":[[1,1,1,1,18446744073709551615,0]]})",
	      R"({"type":"ports","carrier":[1]})",
	      R"({"type":"evs","evs":[[1,1,1,5,6,0]]})"})
		EXPECT_THROW(parse_line(line), ReportError) << line;
	EXPECT_THROW(parse_line(std::string(line_limit + 1, ' ')), ReportError);
	EXPECT_THROW(parse_line(std::string(100000, '[')), ReportError);
}

TEST(Report, Mutations)
{
	Random r(1);

	for (const Message &m : messages())
		for (int i = 0; i < 3000; i++) {
			std::string line = write(m);

			for (uint64_t n = draw(r, 1, 3); n && !line.empty();
			     n--) {
				const std::size_t at =
					draw(r, 0, line.size() - 1);

				switch (draw(r, 0, 2)) {
				case 0:
					line[at] = static_cast<char>(r());
					break;
				case 1:
					line.erase(at, draw(r, 1, 5));
					break;
				default:
					line.insert(at,
						    line.substr(at / 2,
								draw(r, 1, 9)));
				}
			}
			/* Right or wrong, but nothing else happens. */
			try {
				write(parse_line(line));
			} catch (const ReportError &) {
			}
		}
}

TEST(Report, Lines)
{
	LineReader lines;
	std::string all;
	std::vector<std::string> got;

	for (const Message &m : messages())
		all += write(m);
	for (const char c : all) {
		lines.feed({&c, 1});
		while (const auto line = lines.next())
			got.push_back(*line + "\n");
	}
	ASSERT_EQ(got.size(), messages().size());
	for (std::size_t i = 0; i < got.size(); i++)
		EXPECT_EQ(got[i], write(messages()[i]));
	/* Several at once, and empty ones. */
	lines.feed("a\n\nb\nc");
	EXPECT_EQ(lines.next(), "a");
	EXPECT_EQ(lines.next(), "");
	EXPECT_EQ(lines.next(), "b");
	EXPECT_EQ(lines.next(), std::nullopt);
	lines.feed("\n");
	EXPECT_EQ(lines.next(), "c");
	lines.feed(std::string(line_limit, 'x'));
	EXPECT_THROW(lines.feed("x"), ReportError);
}
} // namespace
} // namespace mrcmap
