// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The codec: every vector in both directions, and random packets. */
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "error.hpp"
#include "vectors.hpp"

namespace mrcconform
{
namespace
{
std::vector<Vector> all_vectors()
{
	std::vector<Vector> list;
	std::set<std::filesystem::path> files;

	for (const auto &e : std::filesystem::directory_iterator(VECTORS_DIR))
		files.insert(e.path());
	for (const auto &f : files) {
		std::ostringstream text;

		text << std::ifstream(f).rdbuf();
		list.push_back(parse_vector(text.str()));
	}
	return list;
}

/* The fields that the packet's headers have. */
void expect_same(const Packet &a, const Packet &b, const std::string &what)
{
	for (const FieldInfo &f : field_table())
		if (a.has(f.header)) {
			EXPECT_EQ(a[f.id], b[f.id]) << what << ": " << f.name;
		}
	EXPECT_EQ(a.payload, b.payload) << what;
}

const Address a4 = Address::parse("10.1.0.1");
const Address b4 = Address::parse("10.1.0.2");
const Address a6 = Address::parse("fd00:1::1");
const Address b6 = Address::parse("fd00:1::2");

TEST(Vectors, AllAreThere)
{
	std::set<std::string> names;

	for (const Vector &v : all_vectors()) {
		EXPECT_TRUE(names.insert(v.name).second) << v.name;
		EXPECT_EQ(v.section, "MRC 1.0 §18.1");
		EXPECT_FALSE(v.what.empty());
	}
	EXPECT_EQ(names.size(), 14u);
}

TEST(Vectors, FrameParsesToTheFields)
{
	for (const Vector &v : all_vectors()) {
		const auto d = decode(v.ip_packet());

		ASSERT_TRUE(d) << v.name;
		EXPECT_EQ(d->fault, "") << v.name;
		EXPECT_TRUE(d->packet.icrc_ok) << v.name;
		EXPECT_EQ(d->src, v.src) << v.name;
		EXPECT_EQ(d->dst, v.dst) << v.name;
		expect_same(v.packet, d->packet, v.name);
	}
}

TEST(Vectors, FieldsBuildTheFrame)
{
	for (const Vector &v : all_vectors()) {
		const auto want = v.ip_packet();

		EXPECT_EQ(to_hex(encode(v.src, v.dst, v.packet)), to_hex(want))
			<< v.name;
	}
}

TEST(Vectors, IcrcOfTheWorkedExample)
{
	int seen = 0;

	for (const Vector &v : all_vectors()) {
		if (v.icrc_input.empty())
			continue;
		seen++;

		const auto packet = v.ip_packet();
		const auto head = packet.first(packet.size() - icrc_length);

		EXPECT_EQ(icrc(head), v.icrc);
		/* The masked bytes themselves: ones before, then the packet. */
		Bytes masked(8, 0xFF);

		masked.insert(masked.end(), head.begin(), head.end());
		for (const size_t at : {9u, 16u, 18u, 19u, 34u, 35u, 40u})
			masked[at] = 0xFF;
		EXPECT_EQ(to_hex(masked), to_hex(v.icrc_input));
	}
	EXPECT_EQ(seen, 1);
}

TEST(Vectors, BadFilesAreRefused)
{
	for (const char *text :
	     {"", "{", "[]", R"({"name":"x"})",
	      R"({"name":"x","section":"s","what":"w","frame":"0",)"
	      R"("src":"10.0.0.1","dst":"10.0.0.2","fields":{},"payload":""})",
	      R"({"name":"x","section":"s","what":"w","frame":"00",)"
	      R"("src":"10.0.0.1","dst":"10.0.0.2","fields":{},"payload":""})"})
		EXPECT_THROW(parse_vector(text), FormatError) << text;
}

TEST(Table, EveryBitOfEachHeaderIsOneField)
{
	for (const Hdr h : {Hdr::bth, Hdr::meth, Hdr::tseth, Hdr::reth,
			    Hdr::immdt, Hdr::aeth, Hdr::seth, Hdr::cc_state,
			    Hdr::neth, Hdr::peth, Hdr::erth, Hdr::eeth}) {
		std::vector<int> bits(header_length(h) * 8);

		for (const FieldInfo &f : field_table())
			for (uint32_t i = 0; f.header == h && i < f.width; i++)
				bits.at(f.bit + i)++;
		for (size_t i = 0; i < bits.size(); i++)
			EXPECT_EQ(bits[i], 1)
				<< "header " << static_cast<int>(h) << " bit "
				<< i;
	}
}

TEST(Table, NamesAreUnique)
{
	std::set<std::string_view> names;

	for (const FieldInfo &f : field_table()) {
		EXPECT_TRUE(names.insert(f.name).second) << f.name;
		EXPECT_EQ(field_named(f.name).id, f.id);
	}
	EXPECT_THROW(field_named("no such"), FormatError);
}

TEST(Table, Opcodes)
{
	int known = 0;

	for (unsigned op = 0; op < 256; op++) {
		const OpInfo *info = op_info(static_cast<uint8_t>(op));

		if (!info)
			continue;
		known++;
		EXPECT_EQ(op >> 5, 6u);
		EXPECT_EQ(op_named(info->name), info);
	}
	EXPECT_EQ(known, 12);
	EXPECT_EQ(op_named("READ"), nullptr);
}

/* MRC 1.0 §3: the shortest UDP length of each opcode */
TEST(Table, Lengths)
{
	const std::pair<uint8_t, uint32_t> want[] = {
		{op_write_first, 44},
		{op_write_last_imm, 48},
		{op_write_only, 44},
		{op_ack, 28},
		{op_sack, 60},
		{op_nack, 44},
		{op_probe, 40},
		{op_endpoint_request, 40},
		{op_endpoint_response, 60}};

	for (const auto &[op, length] : want)
		EXPECT_EQ(udp_length(Packet(op)), length) << int(op);
}

Packet random_packet(std::mt19937_64 &rng, bool v6)
{
	const uint8_t ops[] = {op_write_first,
			       op_write_middle,
			       op_write_last,
			       op_write_last_imm,
			       op_write_only,
			       op_write_only_imm,
			       op_ack,
			       op_sack,
			       op_nack,
			       op_probe,
			       op_endpoint_request,
			       op_endpoint_response};
	Packet p;

	for (const FieldInfo &f : field_table())
		p[f.id] = f.width == 64
				  ? rng()
				  : rng() & ((uint64_t{1} << f.width) - 1);
	p[F::opcode] = ops[rng() % std::size(ops)];
	if (v6)
		p[F::ip_id] = p[F::ip_frag] = 0;
	else
		p[F::flow] = 0;
	p[F::pad] = 0;
	if (op_info(p.opcode())->data) {
		p.payload.resize(rng() % 50);
		for (uint8_t &b : p.payload)
			b = static_cast<uint8_t>(rng());
		p[F::pad] = (4 - p.payload.size() % 4) % 4;
	}
	return p;
}

TEST(RandomPackets, ComeBackAsTheyWent)
{
	std::mt19937_64 rng(1);

	for (int i = 0; i < 4000; i++) {
		const bool v6 = i % 2;
		const Packet p = random_packet(rng, v6);
		const auto d = decode(encode(v6 ? a6 : a4, v6 ? b6 : b4, p));

		ASSERT_TRUE(d);
		EXPECT_EQ(d->fault, "");
		EXPECT_TRUE(d->packet.icrc_ok);
		expect_same(p, d->packet, to_text(p));
		if (HasFailure())
			break;
	}
}

TEST(RandomPackets, DamagedOnesAreRefused)
{
	std::mt19937_64 rng(2);

	for (int i = 0; i < 4000; i++) {
		const bool v6 = i % 2;
		Bytes b = encode(v6 ? a6 : a4, v6 ? b6 : b4,
				 random_packet(rng, v6));
		const size_t udp = ip_header(v6);
		/* Anything behind the lengths and ports of UDP, but the bytes
		 * that the ICRC leaves out.
		 */
		const size_t at = udp + udp_header +
				  rng() % (b.size() - udp - udp_header);

		if (at == udp + udp_header + 4)
			continue;
		b[at] ^= static_cast<uint8_t>(1 << rng() % 8);

		const auto d = decode(b);

		ASSERT_TRUE(d);
		EXPECT_TRUE(!d->fault.empty() || !d->packet.icrc_ok);
	}
}

TEST(RandomPackets, AnyBytesAreJudged)
{
	std::mt19937_64 rng(3);

	for (int i = 0; i < 20000; i++) {
		const bool v6 = i % 2;
		Bytes b = encode(v6 ? a6 : a4, v6 ? b6 : b4,
				 random_packet(rng, v6));

		b.resize(rng() % (b.size() + 1));
		for (int n = 0; n < 3 && !b.empty(); n++)
			b[rng() % b.size()] = static_cast<uint8_t>(rng());

		const auto d = decode(b);

		if (d) {
			EXPECT_FALSE(to_text(d->packet).empty());
		}
	}
}

TEST(Icrc, CoversWhatSection24Says)
{
	for (const bool v6 : {false, true}) {
		Packet p(op_write_only);

		p.payload = Bytes(16, 1);

		const Bytes b = encode(v6 ? a6 : a4, v6 ? b6 : b4, p);
		const size_t udp = ip_header(v6);
		std::set<size_t> free = {udp + 6, udp + 7, udp + 12};

		if (v6)
			free.insert({1, 2, 3, 7});
		else
			free.insert({1, 8, 10, 11});
		for (size_t i = 0; i + icrc_length < b.size(); i++) {
			Bytes x = b;

			x[i] ^= 0x0F;
			x.resize(x.size() - icrc_length);
			if (x[0] >> 4 != b[0] >> 4)
				continue;

			Bytes y = b;

			y.resize(y.size() - icrc_length);
			/* Half of the traffic class is in byte 0. */
			EXPECT_EQ(icrc(x) == icrc(y),
				  free.contains(i) || (v6 && !i))
				<< i;
		}
	}
}

TEST(Psn, Arithmetic)
{
	EXPECT_EQ(psn_diff(0x000001, 0xFFFFFE), 3);
	EXPECT_EQ(psn_diff(0xFFFFFE, 0x000001), -3);
	EXPECT_EQ(psn_diff(0x800000, 0), -8388608);
	EXPECT_EQ(psn_diff(0x7FFFFF, 0), 8388607);
	EXPECT_EQ(psn_add(0xFFFFFF, 2), 1u);
	EXPECT_EQ(psn_add(1, -2), 0xFFFFFFu);
}

TEST(Sack, Shows)
{
	Packet s(op_sack);

	/* Vector V5 */
	s[F::cack_psn] = 0;
	s[F::ack_psn_offset] = 7;
	s[F::sack_offset] = 1;
	s[F::sack_bitmap] = 0x76;
	for (uint32_t psn = 0; psn < 70; psn++)
		EXPECT_EQ(sack_shows(s, psn), psn == 0 || psn == 2 ||
						      psn == 3 || psn == 5 ||
						      psn == 6 || psn == 7)
			<< psn;
	EXPECT_TRUE(sack_shows(s, 0xFFFFFF));
	/* In the answer to a probe the field is an id. */
	s[F::pr] = 1;
	s[F::ack_psn_offset] = 9;
	EXPECT_FALSE(sack_shows(s, 9));
	/* A base below cack_psn */
	s[F::sack_offset] = static_cast<uint16_t>(-3);
	s[F::sack_bitmap] = 1 << 5;
	EXPECT_TRUE(sack_shows(s, 2));
	EXPECT_FALSE(sack_shows(s, 1));
}

TEST(Text, NamesWhatIsThere)
{
	Packet p(op_sack);

	p[F::psn] = p[F::cack_psn] = 0x10;
	p[F::ack_psn_offset] = static_cast<uint16_t>(-2);
	EXPECT_EQ(to_text(p),
		  "RELIABILITY_SACK psn=0x10 ack_psn_offset=-2 cack_psn=0x10 "
		  "sack_offset=1");
	p[F::pr] = 1;
	EXPECT_NE(to_text(p).find("probe_id=0xfffe"), std::string::npos);
	EXPECT_EQ(to_text(Packet(0x11)).substr(0, 11), "opcode 0x11");
}

TEST(Hex, BothWays)
{
	EXPECT_EQ(to_hex(from_hex("00ffA5")), "00ffa5");
	EXPECT_THROW(from_hex("0"), FormatError);
	EXPECT_THROW(from_hex("0g"), FormatError);
}

TEST(Addresses, Text)
{
	EXPECT_EQ(a4.text(), "10.1.0.1");
	EXPECT_EQ(a6.text(), "fd00:1::1");
	EXPECT_EQ(to_hex(a4.gid()), "00000000000000000000ffff0a010001");
	EXPECT_THROW(Address::parse("10.1.0"), UsageError);
	EXPECT_THROW(Address::parse("host"), UsageError);
}
} // namespace
} // namespace mrcconform
