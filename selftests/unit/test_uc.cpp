// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Unreliable connections: headers, and which packets make a message.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "uc.hpp"

namespace
{

using uc::Bytes;
using uc::Message;
using uc::Packet;
using uc::Receiver;

constexpr u32 kPmtu = 256;
constexpr u32 kPsn = 0xFFFFFE; // the wrap is never far
constexpr u32 kQpn = 0xF12345;

mrc_uc_tx requester(u32 pmtu = kPmtu)
{
	mrc_uc_tx tx{};

	tx.pmtu = pmtu;
	tx.psn = kPsn;
	tx.dqp = kQpn;
	tx.pkey = MRC_PKEY_DEFAULT;
	return tx;
}

Message message(std::size_t len, bool write = false, bool imm = false)
{
	Message m{.write = write, .with_imm = imm};

	for (std::size_t i = 0; i < len; i++)
		m.data.push_back(static_cast<u8>(i * 7 + len));
	if (write) {
		m.va = 0x7F1200001000;
		m.rkey = 0xA1B2C3D4;
	}
	if (imm)
		m.imm = 0xDEADBEEF;
	return m;
}

u8 opcode(const Packet &p) { return uc::wire(p)[0]; }

// What RoCE v2 has on the wire, InfiniBand volume 1, tables 38 and following.
TEST(Uc, OpcodesOfMessages)
{
	struct {
		bool write, imm;
		std::size_t len;
		std::vector<u8> ops;
	} const cases[] = {
		{false, false, 0, {0x24}},
		{false, true, 0, {0x25}},
		{false, false, 256, {0x24}},
		{false, false, 257, {0x20, 0x22}},
		{false, true, 512, {0x20, 0x23}},
		{false, true, 513, {0x20, 0x21, 0x23}},
		{true, false, 0, {0x2A}},
		{true, true, 1, {0x2B}},
		{true, false, 512, {0x26, 0x28}},
		{true, true, 1024, {0x26, 0x27, 0x27, 0x29}},
	};

	for (const auto &c : cases) {
		mrc_uc_tx tx = requester();
		std::vector<u8> ops;
		u32 psn = kPsn;

		for (const Packet &p :
		     uc::packets(tx, message(c.len, c.write, c.imm))) {
			ops.push_back(opcode(p));
			EXPECT_EQ(p.h.psn, psn & 0xFFFFFF);
			psn++;
		}
		EXPECT_EQ(ops, c.ops) << c.len;
		EXPECT_EQ(tx.psn, psn & 0xFFFFFF);
		EXPECT_FALSE(tx.active);
	}
}

TEST(Uc, FrameIsThatOfRoce)
{
	mrc_uc_tx tx = requester();
	Message m = message(5, true, true);

	m.se = true;
	m.va = 0x0102030405060708;
	m.rkey = 0x11223344;
	m.imm = 0x55667788;
	Bytes b = uc::wire(uc::packets(tx, m).at(0));
	const Bytes head = {0x2B, 0xF0, 0xFF, 0xFF, 0x00, 0xF1, 0x23, 0x45,
			    0x00, 0xFF, 0xFF, 0xFE, 1,    2,    3,    4,
			    5,    6,    7,    8,    0x11, 0x22, 0x33, 0x44,
			    0,    0,    0,    5,    0x55, 0x66, 0x77, 0x88};
	ASSERT_EQ(b.size(), head.size() + 8 + MRC_ICRC_LEN);
	EXPECT_EQ(Bytes(b.begin(), b.begin() + 32), head);
}

TEST(Uc, HeadersSurviveTheWire)
{
	for (std::size_t len : {0u, 1u, 2u, 3u, 4u, 255u, 256u, 257u, 700u, 768u})
		for (int kind = 0; kind < 4; kind++) {
			mrc_uc_tx tx = requester();
			Message m = message(len, kind & 1, kind & 2);

			m.se = len & 1;
			for (const Packet &p : uc::packets(tx, m)) {
				mrc_hdr h;

				ASSERT_EQ(uc::parse(uc::wire(p), h),
					  MRC_DROP_NONE);
				EXPECT_EQ(h.opcode, p.h.opcode);
				EXPECT_EQ(p.write(), m.write);
				EXPECT_EQ(p.with_imm(), p.last() && m.with_imm);
				EXPECT_EQ(h.se, p.h.se);
				EXPECT_EQ(h.psn, p.h.psn);
				EXPECT_EQ(h.dqp, kQpn);
				EXPECT_EQ(h.pkey, MRC_PKEY_DEFAULT);
				EXPECT_EQ(h.payload_len, p.data.size());
				EXPECT_EQ(h.pad, -p.data.size() & 3);
				EXPECT_EQ(h.hdr_len, mrc_hdr_len(&p.h));
				EXPECT_EQ(h.reth.va, p.h.reth.va);
				EXPECT_EQ(h.reth.rkey, p.h.reth.rkey);
				EXPECT_EQ(h.reth.dmalen, p.h.reth.dmalen);
				if (p.with_imm())
					EXPECT_EQ(h.reth.imm, p.h.reth.imm);
			}
		}
}

TEST(Uc, ParserRefuses)
{
	mrc_uc_tx tx = requester();
	Bytes good = uc::wire(uc::packets(tx, message(3, true, true)).at(0));
	mrc_hdr h;

	// Every length down to nothing: 3 bytes, their pad, the ICRC.
	for (std::size_t n = 0; n < good.size(); n++) {
		Bytes b(good.begin(), good.begin() + static_cast<long>(n));

		if (n >= 32 + 1 + MRC_ICRC_LEN)
			EXPECT_EQ(uc::parse(b, h), MRC_DROP_NONE) << n;
		else
			EXPECT_EQ(uc::parse(b, h), MRC_DROP_SHORT) << n;
	}
	// Headers that are not within reach, though the packet is long enough.
	EXPECT_EQ(mrc_roce_parse(good.data(), 31, 100, &h), MRC_DROP_SHORT);
	Bytes b = good;
	b[1] |= 1;
	EXPECT_EQ(uc::parse(b, h), MRC_DROP_TVER);
	for (unsigned op = 0; op < 256; op++) {
		b = good;
		b[0] = static_cast<u8>(op);
		EXPECT_EQ(uc::parse(b, h) == MRC_DROP_OPCODE,
			  (op < 0x20 || op > 0x2B) && op != 0x64 && op != 0x65)
			<< op;
	}
}

TEST(Uc, MessagesArrive)
{
	mrc_uc_tx tx = requester();
	Receiver r(kPmtu, kPsn);

	for (std::size_t len : {0u, 1u, 256u, 257u, 512u, 2000u})
		for (int kind = 0; kind < 4; kind++) {
			Message m = message(len, kind & 1, kind & 2);
			auto ps = uc::packets(tx, m);
			std::optional<Message> got;

			for (const Packet &p : ps) {
				EXPECT_FALSE(got);
				got = r.take(p);
				EXPECT_EQ(r.in.drop, -1);
			}
			ASSERT_TRUE(got);
			EXPECT_TRUE(*got == m) << len;
		}
	EXPECT_EQ(r.broken, 0u);
}

// Whatever packet of a message is missing, the message is, and no other one.
TEST(Uc, GapEndsTheMessage)
{
	for (std::size_t lost = 0; lost < 4; lost++) {
		mrc_uc_tx tx = requester();
		Receiver r(kPmtu, kPsn);
		unsigned dropped = 0;
		auto ps = uc::packets(tx, message(1000));

		ASSERT_EQ(ps.size(), 4u);
		for (std::size_t i = 0; i < ps.size(); i++) {
			if (i == lost)
				continue;
			EXPECT_FALSE(r.take(ps[i]));
			dropped += r.in.drop == MRC_CTR_UC_SEQ;
		}
		EXPECT_EQ(dropped, lost ? 3 - lost : 3u);
		Message next = message(300, true);
		ps = uc::packets(tx, next);
		EXPECT_FALSE(r.take(ps[0]));
		auto got = r.take(ps[1]);
		ASSERT_TRUE(got);
		EXPECT_TRUE(*got == next);
		EXPECT_EQ(r.broken, lost ? 1u : 0u);
	}
}

TEST(Uc, DuplicatesAndReordering)
{
	mrc_uc_tx tx = requester();
	Receiver r(kPmtu, kPsn);
	auto ps = uc::packets(tx, message(700));

	// The first again begins the message again.
	EXPECT_FALSE(r.take(ps[0]));
	EXPECT_FALSE(r.take(ps[0]));
	EXPECT_EQ(r.broken, 1u);
	EXPECT_FALSE(r.take(ps[1]));
	EXPECT_TRUE(r.take(ps[2]));
	// Any other one again is a gap.
	EXPECT_FALSE(r.take(ps[0]));
	EXPECT_FALSE(r.take(ps[1]));
	EXPECT_FALSE(r.take(ps[1]));
	EXPECT_EQ(r.in.drop, MRC_CTR_UC_SEQ);
	EXPECT_FALSE(r.take(ps[2]));
	EXPECT_EQ(r.in.drop, MRC_CTR_UC_SEQ);
	EXPECT_EQ(r.broken, 2u);
	EXPECT_FALSE(r.take(ps[0]));
	EXPECT_FALSE(r.take(ps[2]));
	EXPECT_FALSE(r.take(ps[1]));
	EXPECT_EQ(r.broken, 3u);
}

// The PSN is right, the kind is not.
TEST(Uc, KindsAreNotMixed)
{
	mrc_uc_tx a = requester(), b = requester();
	Receiver r(kPmtu, kPsn);
	auto sends = uc::packets(a, message(600));
	auto writes = uc::packets(b, message(600, true));

	EXPECT_FALSE(r.take(sends[0]));
	EXPECT_FALSE(r.take(writes[1]));
	EXPECT_EQ(r.in.drop, MRC_CTR_UC_SEQ);
	EXPECT_TRUE(r.in.broken);
	EXPECT_FALSE(r.take(sends[2]));
	EXPECT_EQ(r.in.drop, MRC_CTR_UC_SEQ);
	EXPECT_FALSE(r.take(writes[0]));
	EXPECT_FALSE(r.take(sends[1]));
	EXPECT_EQ(r.broken, 2u);
}

TEST(Uc, MessageThatBeginsInsteadOfGoingOn)
{
	mrc_uc_tx tx = requester();
	Receiver r(kPmtu, kPsn);
	auto ps = uc::packets(tx, message(600));
	Message m = message(9);

	EXPECT_FALSE(r.take(ps[0]));
	tx.psn = ps[1].h.psn;
	auto got = r.take(uc::packets(tx, m).at(0));
	EXPECT_EQ(r.broken, 1u);
	ASSERT_TRUE(got);
	EXPECT_TRUE(*got == m);
}

TEST(Uc, LengthsOfPackets)
{
	auto drop = [](bool write, bool first, bool last, u32 len, u32 dmalen,
		       u32 before) {
		mrc_hdr h{};
		mrc_uc_in in{};
		mrc_uc_rx rx{};

		rx.pmtu = kPmtu;
		rx.active = !first;
		rx.write = write;
		rx.off = before;
		rx.len = dmalen;
		h.opcode = static_cast<u8>(
			(write ? 0x26 : 0x20) +
			(first ? (last ? 4 : 0) : (last ? 2 : 1)));
		h.payload_len = len;
		h.reth.dmalen = first ? dmalen : 0;
		mrc_uc_rx_packet(&rx, &h, &in);
		EXPECT_EQ(rx.active, in.drop < 0 && !last);
		EXPECT_EQ(in.broken, in.drop >= 0 && !first);
		return in.drop == MRC_CTR_DROP_LENGTH;
	};

	for (bool write : {false, true}) {
		// All but the last are full.
		EXPECT_FALSE(drop(write, true, false, 256, 1000, 0));
		EXPECT_TRUE(drop(write, true, false, 255, 1000, 0));
		EXPECT_TRUE(drop(write, true, false, 257, 1000, 0));
		EXPECT_FALSE(drop(write, false, false, 256, 1000, 256));
		EXPECT_TRUE(drop(write, false, false, 0, 1000, 256));
		// The last is neither empty nor more than full.
		EXPECT_FALSE(drop(write, false, true, 1, 257, 256));
		EXPECT_TRUE(drop(write, false, true, 0, 256, 256));
		EXPECT_TRUE(drop(write, false, true, 257, 513, 256));
		EXPECT_FALSE(drop(write, true, true, 0, 0, 0));
		EXPECT_FALSE(drop(write, true, true, 256, 256, 0));
		EXPECT_TRUE(drop(write, true, true, 257, 257, 0));
	}
	// A write is as long as it said.
	EXPECT_TRUE(drop(true, true, true, 5, 6, 0));
	EXPECT_TRUE(drop(true, true, true, 5, 4, 0));
	EXPECT_TRUE(drop(true, true, false, 256, 256, 0));
	EXPECT_TRUE(drop(true, false, false, 256, 512, 256));
	EXPECT_TRUE(drop(true, false, false, 256, 300, 256));
	EXPECT_TRUE(drop(true, false, true, 44, 301, 256));
	EXPECT_TRUE(drop(true, false, true, 46, 301, 256));
	// Nothing is longer than 2 GiB.
	EXPECT_TRUE(drop(true, true, false, 256, 0x80000001, 0));
	EXPECT_FALSE(drop(true, true, false, 256, 0x80000000, 0));
	EXPECT_TRUE(drop(false, false, false, 256, 0, 0x80000000 - 255));
	EXPECT_FALSE(drop(false, false, true, 255, 0, 0x80000000 - 255));
}

TEST(Uc, AbortDropsTheRest)
{
	mrc_uc_tx tx = requester();
	Receiver r(kPmtu, kPsn);
	auto ps = uc::packets(tx, message(600));

	EXPECT_FALSE(r.take(ps[0]));
	mrc_uc_rx_abort(&r.rx);
	EXPECT_FALSE(r.take(ps[1]));
	EXPECT_EQ(r.in.drop, MRC_CTR_UC_SEQ);
	EXPECT_FALSE(r.in.broken); // the caller knows

	mrc_hdr h;
	u32 off;
	tx.len = 600;
	mrc_uc_tx_begin(&tx);
	ASSERT_TRUE(mrc_uc_tx_next(&tx, &h, &off));
	mrc_uc_tx_abort(&tx);
	EXPECT_FALSE(mrc_uc_tx_next(&tx, &h, &off));
	EXPECT_EQ(tx.psn, (h.psn + 1) & 0xFFFFFF);
}

struct Net {
	double loss, dup, reorder;
};

// Property: what is delivered is what was sent, whole, and where the network
// keeps the order, in that order and each message at most once.
void run(const Net &net, u32 pmtu, u64 seed)
{
	std::mt19937_64 rng(seed);
	std::uniform_real_distribution<double> p(0, 1);
	mrc_uc_tx tx = requester(pmtu);
	Receiver r(pmtu, kPsn);
	std::vector<Message> sent;
	std::vector<Packet> flow;
	std::size_t got = 0, next = 0, intact = 0;

	for (unsigned i = 0; i < 100; i++) {
		Message m = message(rng() % (4 * pmtu + 2), rng() & 1, rng() & 1);

		// Who is who is seen in the bytes, not in the length alone.
		for (u8 &b : m.data)
			b = static_cast<u8>(rng());
		m.se = rng() & 1;
		sent.push_back(m);
		bool whole = true;
		for (Packet &pkt : uc::packets(tx, m)) {
			if (p(rng) < net.loss) {
				whole = false;
				continue;
			}
			flow.push_back(pkt);
			if (p(rng) < net.dup)
				flow.push_back(pkt);
		}
		intact += whole;
	}
	for (std::size_t i = 1; i < flow.size(); i++)
		if (p(rng) < net.reorder)
			std::swap(flow[i - 1], flow[i]);
	for (const Packet &pkt : flow) {
		auto m = r.take(pkt);

		if (!m)
			continue;
		auto from = sent.begin();
		if (!net.reorder && !net.dup)
			from += static_cast<long>(next);
		auto at = std::find(from, sent.end(), *m);
		ASSERT_NE(at, sent.end()) << "seed " << seed << " message " << got;
		next = static_cast<std::size_t>(at - sent.begin()) + 1;
		got++;
	}
	// A message whose packets all came is there.
	if (!net.reorder && !net.dup)
		EXPECT_EQ(got, intact) << "seed " << seed;
	EXPECT_GT(got, 0u);
}

TEST(Uc, RandomNetworks)
{
	const Net nets[] = {{0, 0, 0},       {0.02, 0, 0},    {0.3, 0, 0},
			    {0, 0.1, 0},     {0, 0, 0.1},     {0.1, 0.1, 0.1},
			    {0.6, 0.3, 0.3}};
	u64 seed = 1;

	for (const Net &net : nets)
		for (u32 pmtu : {256u, 1024u})
			for (int i = 0; i < 12; i++)
				run(net, pmtu, seed++);
}

} // namespace
