// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The tester as a responder: its SACKs say what it received. */
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "bench.hpp"

namespace mrcconform
{
namespace
{
Packet data(uint32_t psn, size_t length = 8)
{
	Packet p(op_write_only);

	p[F::psn] = psn;
	p[F::sport] = 0xC001;
	p[F::flow] = 0x1234;
	p.payload = Bytes(length);
	return p;
}

TEST(Responder, VectorOfSection184)
{
	Responder r(0);
	Packet last(op_write_only);

	for (const uint32_t psn : {0, 1, 2, 3, 4, 6, 7, 9, 10, 11}) {
		last = data(psn);
		EXPECT_TRUE(r.take(last));
	}

	const Packet s = r.sack(last, true);

	EXPECT_EQ(s[F::cack_psn], 4u);
	EXPECT_EQ(s[F::psn], 4u);
	EXPECT_EQ(s[F::ack_psn_offset], 7u);
	EXPECT_EQ(s[F::sack_offset], 1u);
	EXPECT_EQ(s[F::sack_bitmap], 0x76u);
	EXPECT_EQ(s[F::ooo_count], 5u);
	EXPECT_EQ(s[F::sack_entropy], 0x1234C001u);
	EXPECT_EQ(r.sack(last, false)[F::sack_entropy], 0xC001u);
}

TEST(Responder, DuplicatesCountNothing)
{
	Responder r(0xFFFFFF);

	EXPECT_TRUE(r.take(data(0xFFFFFF, 1000)));

	const uint64_t bytes = r.sack(data(0), true)[F::rcvd_bytes];

	/* 1000 bytes, 44 of headers and UDP, 40: 1084 in units of 256 */
	EXPECT_EQ(bytes, 5u);
	EXPECT_FALSE(r.take(data(0xFFFFFF, 1000)));
	EXPECT_EQ(r.sack(data(0), true)[F::rcvd_bytes], bytes);
	EXPECT_EQ(r.cack(), 0xFFFFFFu);
}

TEST(Responder, ProbesAreAnsweredWithTheirId)
{
	Responder r(5);
	Packet p(op_probe);

	p[F::probe_id] = 0xABCD;
	p[F::peth_timestamp] = 0x77;

	const Packet s = r.sack(p, true);

	EXPECT_EQ(s[F::pr], 1u);
	EXPECT_EQ(s[F::ack_psn_offset], 0xABCDu);
	EXPECT_EQ(s[F::sack_timestamp], 0x77u);
	EXPECT_EQ(s[F::cack_psn], 4u);
}

TEST(Responder, AnyOrderEndsTheSame)
{
	std::mt19937 rng(7);

	for (int round = 0; round < 200; round++) {
		const uint32_t first = rng() & psn_mask;
		Responder r(first);
		std::set<uint32_t> came;

		for (int i = 0; i < 60; i++) {
			const uint32_t n = rng() % 40;
			const Packet p =
				data(psn_add(first, static_cast<int32_t>(n)));

			EXPECT_EQ(r.take(p), came.insert(n).second);

			uint32_t cack = 0;

			while (came.contains(cack))
				cack++;
			EXPECT_EQ(
				r.cack(),
				psn_add(first, static_cast<int32_t>(cack) - 1));

			const Packet s = r.sack(
				p, true,
				psn_add(first,
					-static_cast<int32_t>(rng() % 8)));

			for (uint32_t k = 0; k < 40; k++)
				EXPECT_EQ(
					sack_shows(s,
						   psn_add(first,
							   static_cast<int32_t>(
								   k))),
					came.contains(k));
		}
	}
}
} // namespace
} // namespace mrcconform
