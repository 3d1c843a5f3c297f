// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Endpoint operations: request ids, batches, port status told and heard, the
// limit on answers (MRC 1.0 §12).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine.hpp"

#include "mrc_endpoint.h"

namespace
{

constexpr u64 kSecond = 1000000000ull;
constexpr u64 kStart = 5 * kSecond;

using Addr = std::array<u8, MRC_EP_ADDR>;

Addr addr(u8 last)
{
	Addr a{};

	a[10] = a[11] = 0xFF;
	a[15] = last;
	return a;
}

// --- headers
// ----------------------------------------------------------------------

TEST(EndpointHeaders, ResponseMirrorsTheRequest)
{
	struct mrc_hdr req, resp;

	mrc_ep_request(&req, MRC_EPOP_PORT_STATUS, 0xABCD, 0x1234);
	req.epop.port_mask = 0x1E;
	EXPECT_EQ(req.opcode, MRC_OP_ENDPOINT_REQ);
	EXPECT_EQ(req.dqp, MRC_QPN_ENDPOINT);
	EXPECT_EQ(req.pkey, MRC_PKEY_DEFAULT);
	EXPECT_EQ(req.psn, 0xABCDu);
	EXPECT_EQ(req.tstamp, 0x1234);
	EXPECT_EQ(req.ftype, MRC_TS_FTYPE);

	/* The upper bits of a PSN are not part of the id. */
	req.psn |= 0xFF0000;
	mrc_ep_response(&resp, &req);
	EXPECT_EQ(resp.opcode, MRC_OP_ENDPOINT_RESP);
	EXPECT_EQ(resp.dqp, MRC_QPN_ENDPOINT);
	EXPECT_EQ(resp.psn, 0xABCDu);
	EXPECT_EQ(resp.tstamp, 0x1234);
	EXPECT_EQ(resp.epop.op, MRC_EPOP_PORT_STATUS);
	EXPECT_EQ(resp.epop.port_mask, 0u);
}

// --- ids
// ----------------------------------------------------------------------

TEST(EndpointIds, AscendAndAreUnique)
{
	mrc_ep_ids ids;
	std::set<int> seen;

	mrc_ep_ids_init(&ids, 60000);
	for (unsigned i = 0; i < 5000; i++) {
		const int id = mrc_ep_id_get(&ids, kStart);

		ASSERT_GE(id, 0);
		EXPECT_EQ(static_cast<u16>(id), static_cast<u16>(60000 + i));
		EXPECT_TRUE(seen.insert(id).second);
	}
}

// Every id once, then none until they are given back and a second is over.
TEST(EndpointIds, HeldForASecondAfterUse)
{
	mrc_ep_ids ids;
	std::vector<u16> taken;

	mrc_ep_ids_init(&ids, 0);
	for (unsigned i = 0; i < 65536; i++) {
		const int id = mrc_ep_id_get(&ids, kStart);

		ASSERT_GE(id, 0) << i;
		taken.push_back(static_cast<u16>(id));
	}
	EXPECT_EQ(mrc_ep_id_get(&ids, kStart), -EAGAIN);
	EXPECT_EQ(mrc_ep_id_get(&ids, kStart + 100 * kSecond), -EAGAIN);
	for (u16 id : taken)
		mrc_ep_id_put(&ids, id, kStart);
	EXPECT_EQ(mrc_ep_id_get(&ids, kStart), -EAGAIN);
	EXPECT_EQ(mrc_ep_id_get(&ids, kStart + MRC_EP_ID_HOLD - 1), -EAGAIN);
	EXPECT_GE(mrc_ep_id_get(&ids, kStart + MRC_EP_ID_HOLD), 0);
}

// One id that stays out blocks its span and no other.
TEST(EndpointIds, ALongRequestDoesNotStopTheRest)
{
	mrc_ep_ids ids;
	u64 now = kStart;

	mrc_ep_ids_init(&ids, 0);
	const int slow = mrc_ep_id_get(&ids, now);

	ASSERT_EQ(slow, 0);
	for (unsigned i = 0; i < 200000; i++) {
		const int id = mrc_ep_id_get(&ids, now);

		ASSERT_GE(id, 0);
		ASSERT_NE(id, slow);
		mrc_ep_id_put(&ids, static_cast<u16>(id), now);
		now += 100000;
	}
}

// A random life: no id is given out within a second of its last use.
TEST(EndpointIds, RandomUseKeepsTheRule)
{
	std::mt19937 rng(7);
	std::vector<u64> free_at(65536, 0);
	std::vector<u16> out;
	mrc_ep_ids ids;
	u64 now = kStart;

	mrc_ep_ids_init(&ids, static_cast<u16>(rng()));
	for (unsigned i = 0; i < 300000; i++) {
		now += rng() % 40000;
		if (out.size() < 3000 && rng() % 2) {
			const int id = mrc_ep_id_get(&ids, now);

			if (id < 0)
				continue;
			ASSERT_LE(free_at[id], now);
			free_at[id] = ~0ull;
			out.push_back(static_cast<u16>(id));
		} else if (!out.empty()) {
			std::swap(out[rng() % out.size()], out.back());
			mrc_ep_id_put(&ids, out.back(), now);
			free_at[out.back()] = now + MRC_EP_ID_HOLD;
			out.pop_back();
		}
	}
	EXPECT_EQ(std::accumulate(std::begin(ids.used), std::end(ids.used), 0u),
		  out.size());
}

// --- batches
// --------------------------------------------------------------------

class EndpointBatch : public testing::Test
{
protected:
	EndpointBatch() { mrc_ep_ids_init(&ids, 65000); }

	void open(u32 n, u64 now = kStart)
	{
		asks.assign(n, mrc_ep_pending{});
		for (u32 i = 0; i < n; i++) {
			const Addr p = addr(static_cast<u8>(10 + i % 3));

			std::copy(p.begin(), p.end(), asks[i].peer);
			std::copy(self.begin(), self.end(), asks[i].self);
		}
		b.ask = asks.data();
		b.n = n;
		b.timeout = ~0ull;
		ASSERT_EQ(mrc_ep_batch_open(&b, &ids, now), 0);
	}

	bool answer(u32 i, u16 echo, u64 now)
	{
		const Addr p = addr(static_cast<u8>(10 + i % 3));

		return mrc_ep_batch_response(&b, asks[i].id, p.data(),
					   self.data(), echo, now, &a);
	}

	mrc_ep_ids ids;
	std::vector<mrc_ep_pending> asks;
	mrc_ep_batch b{};
	mrc_ep_result a{};
	Addr self = addr(1);
};

// The ids wrap around in the middle of the batch.
TEST_F(EndpointBatch, AnswersInAnyOrder)
{
	std::mt19937 rng(3);
	std::vector<u32> order(4096);

	open(4096);
	EXPECT_GT(asks.front().id, asks.back().id);
	for (u32 i = 0; i < b.n; i++)
		EXPECT_EQ(mrc_ep_batch_sent(&b, i, kStart + i * 1000),
			  asks[i].stamp);
	std::iota(order.begin(), order.end(), 0);
	std::shuffle(order.begin(), order.end(), rng);
	for (u32 i : order) {
		ASSERT_TRUE(answer(i, asks[i].stamp, kStart + 5000000));
		EXPECT_EQ(a.index, i);
		EXPECT_EQ(a.rtt, 5000000 - i * 1000);
		EXPECT_FALSE(a.adjusted);
	}
	EXPECT_EQ(b.done, b.n);
	mrc_ep_batch_close(&b, &ids, kStart);
	EXPECT_TRUE(std::all_of(std::begin(ids.used), std::end(ids.used),
				[](u16 n) { return n == 0; }));
}

// A request waits from its own sending on, whenever the others are sent: the
// last one has its time when the first one's is over.
TEST_F(EndpointBatch, TimeoutFromTheOwnSending)
{
	constexpr u64 timeout = 2000000, apart = 30000;
	constexpr u32 n = 1000;
	u32 ok = 0;

	for (const u64 rtt : {timeout - 1, timeout, timeout + 1, 29000000ul}) {
		open(n);
		b.timeout = timeout;
		for (u32 i = 0; i < n; i++)
			mrc_ep_batch_sent(&b, i, kStart + i * apart);
		for (u32 i = 0; i < n; i++) {
			const bool good = answer(i, asks[i].stamp,
						 kStart + i * apart + rtt);

			ASSERT_EQ(good, rtt <= timeout) << i;
			if (good)
				EXPECT_EQ(a.rtt, rtt);
			ok += good;
		}
		// Those that were too late have not been counted, nor are they
		// taken for others afterwards.
		EXPECT_EQ(b.done, rtt <= timeout ? n : 0);
		mrc_ep_batch_close(&b, &ids, kStart);
		mrc_ep_ids_init(&ids, 65000);
	}
	EXPECT_EQ(ok, 2 * n);
}

// What the peer takes off is no time that the program waited less.
TEST_F(EndpointBatch, TimeoutIsOfTheWholeRoundTrip)
{
	open(2);
	b.timeout = 1000000;
	for (u32 i = 0; i < 2; i++)
		mrc_ep_batch_sent(&b, i, kStart);
	EXPECT_TRUE(answer(0, static_cast<u16>(asks[0].stamp + 1000),
			   kStart + 1000000));
	EXPECT_TRUE(a.adjusted);
	EXPECT_FALSE(answer(1, static_cast<u16>(asks[1].stamp + 1000),
			    kStart + 1000001));
}

// A gap: the span in the middle is not free yet.
TEST_F(EndpointBatch, IdsWithAGap)
{
	mrc_ep_ids_init(&ids, 1000);
	ids.free_at[1] = kStart + 1;
	open(100);
	EXPECT_EQ(asks[23].id, 1023);
	EXPECT_EQ(asks[24].id, 2048);
	for (u32 i = 0; i < b.n; i++) {
		mrc_ep_batch_sent(&b, i, kStart);
		ASSERT_TRUE(answer(i, asks[i].stamp, kStart + 1));
		EXPECT_EQ(a.index, i);
	}
	Addr p = addr(10);

	for (u32 id = 0; id < 65536; id++)
		EXPECT_FALSE(mrc_ep_batch_response(&b, static_cast<u16>(id),
						 p.data(), self.data(), 1,
						 kStart + 1, &a));
}

TEST_F(EndpointBatch, NotEnoughIds)
{
	asks.assign(10, mrc_ep_pending{});
	b.ask = asks.data();
	b.n = 10;
	mrc_ep_ids_init(&ids, 1020);
	for (unsigned i = 0; i < MRC_EP_ID_SPANS; i++)
		ids.free_at[i] = kStart + 1;
	EXPECT_EQ(mrc_ep_batch_open(&b, &ids, kStart), -EAGAIN);
	EXPECT_EQ(ids.used[0], 0);
}

TEST_F(EndpointBatch, HostileResponses)
{
	const Addr other = addr(99);

	open(3);
	const u16 id = asks[0].id;
	const Addr peer = addr(10);

	// Not sent yet: nobody can have been asked.
	EXPECT_FALSE(answer(0, 0, kStart));
	for (u32 i = 0; i < 3; i++)
		mrc_ep_batch_sent(&b, i, kStart);
	// Unknown ids, around and far away.
	for (int d : {-2, -1, 3, 4, 1000, 30000, -30000})
		EXPECT_FALSE(mrc_ep_batch_response(&b, static_cast<u16>(id + d),
						 peer.data(), self.data(), 0,
						 kStart + 1, &a));
	// Another source, another destination, the peer of another request.
	EXPECT_FALSE(mrc_ep_batch_response(&b, id, other.data(), self.data(), 0,
					 kStart + 1, &a));
	EXPECT_FALSE(mrc_ep_batch_response(&b, id, peer.data(), other.data(), 0,
					 kStart + 1, &a));
	EXPECT_FALSE(mrc_ep_batch_response(&b, asks[1].id, peer.data(),
					 self.data(), 0, kStart + 1, &a));
	EXPECT_EQ(b.done, 0u);
	// The right one, then a duplicate.
	EXPECT_TRUE(answer(0, asks[0].stamp, kStart + 1));
	EXPECT_FALSE(answer(0, asks[0].stamp, kStart + 2));
	EXPECT_EQ(b.done, 1u);
	// Too late.
	mrc_ep_batch_close(&b, &ids, kStart + 3);
	EXPECT_FALSE(answer(1, asks[1].stamp, kStart + 4));
}

struct RttCase {
	const char *name;
	u64 sent, arrived;
	u64 residence; // ns that the peer adds to the echo
	u32 rtt;
	bool adjusted;
};

class EndpointRtt : public EndpointBatch,
		    public testing::WithParamInterface<RttCase>
{
};

TEST_P(EndpointRtt, Values)
{
	const RttCase &c = GetParam();

	open(1);
	const u16 stamp = mrc_ep_batch_sent(&b, 0, c.sent);

	EXPECT_EQ(stamp, static_cast<u16>(c.sent / 128));
	ASSERT_TRUE(answer(0, static_cast<u16>((stamp + c.residence / 128)),
			   c.arrived));
	EXPECT_EQ(a.rtt, c.rtt);
	EXPECT_EQ(a.adjusted, c.adjusted);
}

constexpr u64 kWrap = 65536 * 128;

INSTANTIATE_TEST_SUITE_P(
	Table, EndpointRtt,
	testing::Values(
		RttCase{"plain", kStart, kStart + 12345, 0, 12345, false},
		RttCase{"none", kStart, kStart, 0, 0, false},
		RttCase{"stamp wraps", kWrap * 9 - 100, kWrap * 9 + 900, 0,
			1000, false},
		RttCase{"longer than the stamp", kStart, kStart + 3 * kWrap + 7,
			0, static_cast<u32>(3 * kWrap + 7), false},
		RttCase{"four seconds", kStart, kStart + 4 * kSecond, 0,
			4000000000u, false},
		RttCase{"saturates", kStart, kStart + 5 * kSecond, 0,
			0xFFFFFFFFu, false},
		RttCase{"clock of another processor is behind", kStart,
			kStart - 5, 0, 0, false},
		RttCase{"service time", kStart, kStart + 10000, 2560, 7440,
			true},
		RttCase{"service time across the wrap", kWrap * 9 - 128,
			kWrap * 9 + 9872, 2560, 7440, true},
		RttCase{"all of it", kStart, kStart + 1280, 1280, 0, true},
		RttCase{"more than it took", kStart, kStart + 1279, 1280, 1279,
			false}),
	[](const auto &info) {
		std::string s = info.param.name;

		std::replace(s.begin(), s.end(), ' ', '_');
		return s;
	});

// A peer that does not echo: the time is known all the same.
TEST_F(EndpointBatch, NoEcho)
{
	open(1);
	mrc_ep_batch_sent(&b, 0, kWrap * 7 + 3 * 128);
	ASSERT_TRUE(answer(0, 0, kWrap * 9));
	EXPECT_EQ(a.rtt, 2 * kWrap - 3 * 128);
	EXPECT_FALSE(a.adjusted);
}

// --- news
// -----------------------------------------------------------------------

constexpr u64 kRto = 4000000;

// All the times at which it is sent, asked only when it wants to be.
std::vector<u64> times(mrc_status_tx &n, u64 until)
{
	std::vector<u64> out;

	for (u64 at = mrc_status_tx_next(&n); at <= until; at = mrc_status_tx_next(&n)) {
		if (mrc_status_tx_due(&n, at))
			out.push_back(at - kStart);
	}
	return out;
}

TEST(EndpointNews, NothingToTell)
{
	mrc_status_tx n{};

	EXPECT_EQ(mrc_status_tx_next(&n), ~0ull);
	EXPECT_FALSE(mrc_status_tx_due(&n, kStart));
	EXPECT_FALSE(mrc_status_tx_response(&n, 0));
}

TEST(EndpointNews, ScheduleWithoutAnswer)
{
	mrc_status_tx n{};
	std::vector<u64> want{0, kRto, 2 * kRto, 3 * kRto};

	for (u64 s = 1; s <= 10; s++)
		want.push_back(s * kSecond);
	mrc_status_tx_set(&n, 2, false, 7, kRto, kStart);
	EXPECT_EQ(times(n, ~0ull - 1), want);
	EXPECT_FALSE(n.on);
	EXPECT_FALSE(mrc_status_tx_due(&n, kStart + 100 * kSecond));
}

// What holds on is told often enough that no peer forgets it.
TEST(EndpointNews, WhomAConnectionGreets)
{
	struct mrc_status_tx n = {};

	/* All ports have been up all the time. */
	EXPECT_FALSE(mrc_status_tx_needed(&n, false, false, false));
	EXPECT_FALSE(mrc_status_tx_needed(&n, true, false, false));
	/* A new peer may remember what is over. */
	EXPECT_TRUE(mrc_status_tx_needed(&n, true, false, true));
	EXPECT_FALSE(mrc_status_tx_needed(&n, false, false, true));
	/* A port is down and nobody is being told. */
	EXPECT_TRUE(mrc_status_tx_needed(&n, false, true, false));
	/* It is being told already. */
	mrc_status_tx_set(&n, 2, true, 7, kRto, kStart);
	EXPECT_FALSE(mrc_status_tx_needed(&n, false, true, true));
}

TEST(EndpointNews, KeptWhileItHolds)
{
	mrc_status_tx n{};
	std::vector<u64> sent;

	mrc_status_tx_set(&n, 2, true, 7, kRto, kStart);
	sent = times(n, kStart + 60 * kSecond);
	ASSERT_GT(sent.size(), 20u);
	for (std::size_t i = 1; i < sent.size(); i++)
		EXPECT_LT(2 * (sent[i] - sent[i - 1]), MRC_STATUS_HOLD);
	EXPECT_LE(sent.size(), 14u + 50 / 5);
	EXPECT_TRUE(mrc_status_tx_repeating(&n));
	EXPECT_TRUE(mrc_status_tx_response(&n, 7));
	// A caller that comes late sends one, and the next one is in time.
	EXPECT_TRUE(mrc_status_tx_due(&n, kStart + 600 * kSecond));
	EXPECT_FALSE(mrc_status_tx_due(&n, kStart + 600 * kSecond));
	EXPECT_EQ(mrc_status_tx_next(&n), kStart + 600 * kSecond + MRC_STATUS_REPEAT);
	mrc_status_tx_set(&n, 6, false, 8, kRto, kStart + 601 * kSecond);
	EXPECT_FALSE(mrc_status_tx_repeating(&n));
	sent = times(n, ~0ull - 1);
	EXPECT_EQ(sent.size(), 14u);
	EXPECT_FALSE(n.on);
}

// The answer ends the repeats; the periodic ones go on (OP-31).
TEST(EndpointNews, ScheduleWithAnswer)
{
	for (unsigned after = 1; after <= MRC_STATUS_TRIES; after++) {
		mrc_status_tx n{};
		std::vector<u64> sent;

		mrc_status_tx_set(&n, 2, false, 7, kRto, kStart);
		sent = times(n, kStart + (after - 1) * kRto);
		EXPECT_EQ(sent.size(), after);
		EXPECT_FALSE(mrc_status_tx_response(&n, 8));
		EXPECT_FALSE(n.answered);
		EXPECT_TRUE(mrc_status_tx_response(&n, 7));
		EXPECT_TRUE(mrc_status_tx_response(&n, 7));
		EXPECT_EQ(mrc_status_tx_next(&n), kStart + kSecond);
		EXPECT_EQ(times(n, ~0ull - 1).size(), 10u);
		EXPECT_FALSE(mrc_status_tx_response(&n, 7)) << "it is over";
	}
}

// Not sent yet: nothing can have been answered.
TEST(EndpointNews, AnswerBeforeTheQuestion)
{
	mrc_status_tx n{};

	mrc_status_tx_set(&n, 2, false, 7, kRto, kStart);
	EXPECT_FALSE(mrc_status_tx_response(&n, 7));
	EXPECT_TRUE(mrc_status_tx_due(&n, kStart));
}

TEST(EndpointNews, NewerSupersedes)
{
	mrc_status_tx n{};

	mrc_status_tx_set(&n, 2, false, 7, kRto, kStart);
	EXPECT_TRUE(mrc_status_tx_due(&n, kStart));
	EXPECT_TRUE(mrc_status_tx_response(&n, 7));
	mrc_status_tx_set(&n, 6, false, 8, kRto, kStart + 5);
	EXPECT_EQ(n.mask, 6u);
	EXPECT_FALSE(n.answered);
	EXPECT_EQ(mrc_status_tx_next(&n), kStart + 5);
	EXPECT_FALSE(mrc_status_tx_response(&n, 7)) << "the answer to the old one";
	EXPECT_TRUE(mrc_status_tx_due(&n, kStart + 5));
	EXPECT_FALSE(mrc_status_tx_response(&n, 7));
	EXPECT_EQ(mrc_status_tx_next(&n), kStart + 5 + kRto);
	EXPECT_TRUE(mrc_status_tx_response(&n, 8));
}

// A caller that was held up sends once, not everything it missed.
TEST(EndpointNews, LateCaller)
{
	mrc_status_tx n{};

	mrc_status_tx_set(&n, 2, false, 7, kRto, kStart);
	EXPECT_TRUE(mrc_status_tx_due(&n, kStart + 3 * kSecond + 1));
	EXPECT_FALSE(mrc_status_tx_due(&n, kStart + 3 * kSecond + 1));
	EXPECT_EQ(n.ticks, 3);
	EXPECT_EQ(n.tries, 1);
	EXPECT_TRUE(mrc_status_tx_due(&n, kStart + 60 * kSecond));
	EXPECT_FALSE(n.on);
}

TEST(EndpointNews, RtoIsBounded)
{
	mrc_status_tx n{};

	mrc_status_tx_set(&n, 2, false, 7, 0, kStart);
	EXPECT_TRUE(mrc_status_tx_due(&n, kStart));
	EXPECT_EQ(mrc_status_tx_next(&n), kStart + MRC_STATUS_RTO_MIN);
	mrc_status_tx_set(&n, 2, false, 7, ~0ull, kStart);
	EXPECT_TRUE(mrc_status_tx_due(&n, kStart));
	EXPECT_EQ(mrc_status_tx_next(&n), kStart + kSecond);
	// A try and a tick at the same moment are one packet.
	EXPECT_TRUE(mrc_status_tx_due(&n, kStart + kSecond));
	EXPECT_FALSE(mrc_status_tx_due(&n, kStart + kSecond));
}

// --- views
// ----------------------------------------------------------------------

TEST(EndpointView, NewestWins)
{
	mrc_status_rx v;

	mrc_status_rx_init(&v);
	EXPECT_EQ(v.word, MRC_STATUS_UNKNOWN);
	EXPECT_TRUE(mrc_status_rx_update(&v, 6, kStart));
	EXPECT_EQ(v.word, 6u);
	EXPECT_FALSE(mrc_status_rx_update(&v, 6, kStart + 1));
	EXPECT_TRUE(mrc_status_rx_update(&v, 2, kStart + 2));
	EXPECT_EQ(v.word, 2u);
	EXPECT_FALSE(mrc_status_rx_update(&v, 2, kStart + 3));
	EXPECT_TRUE(mrc_status_rx_update(&v, 0, kStart + 3));
	EXPECT_EQ(v.word, 0u);
}

// Bit 0 and bits of ports that cannot be there are not kept.
TEST(EndpointView, BitsOutOfRange)
{
	mrc_status_rx v;

	mrc_status_rx_init(&v);
	EXPECT_TRUE(mrc_status_rx_update(&v, ~0u, kStart));
	EXPECT_EQ(v.word, MRC_STATUS_PORTS);
	EXPECT_NE(v.word, MRC_STATUS_UNKNOWN);
	EXPECT_EQ(MRC_STATUS_PORTS, (2u << MRC_MAX_PORTS) - 2);
	EXPECT_FALSE(mrc_status_rx_update(&v, MRC_STATUS_PORTS | 1, kStart));
}

// A word that is not repeated is none after a while, whatever it was.
TEST(EndpointView, Expires)
{
	for (u32 mask : {0u, 2u, MRC_STATUS_PORTS}) {
		mrc_status_rx v;

		mrc_status_rx_init(&v);
		EXPECT_EQ(mrc_status_rx_expires(&v), ~0ull);
		EXPECT_FALSE(mrc_status_rx_expire(&v, ~0ull - 1));
		mrc_status_rx_update(&v, mask, kStart);
		mrc_status_rx_update(&v, mask, kStart + kSecond);
		EXPECT_EQ(mrc_status_rx_expires(&v),
			  kStart + kSecond + MRC_STATUS_HOLD);
		EXPECT_FALSE(mrc_status_rx_expire(&v, kStart + kSecond +
							 MRC_STATUS_HOLD - 1));
		EXPECT_EQ(v.word, mask);
		EXPECT_TRUE(mrc_status_rx_expire(&v, kStart + kSecond +
							MRC_STATUS_HOLD));
		EXPECT_EQ(v.word, MRC_STATUS_UNKNOWN);
		EXPECT_EQ(mrc_status_rx_expires(&v), ~0ull);
	}
}

// Both ends together over a path that loses, repeats and reorders: whatever
// happens, the peer ends with the newest mask while it is being told.
TEST(EndpointView, ConvergesOverABadPath)
{
	for (unsigned seed = 0; seed < 200; seed++) {
		struct Packet {
			u64 at;
			u16 id;
			u32 mask;
		};
		std::mt19937 rng(seed);
		std::vector<Packet> wire;
		mrc_status_tx n{};
		mrc_status_rx v;
		u64 now = kStart;
		u16 id = static_cast<u16>(rng());
		u32 mask = 0;

		mrc_status_rx_init(&v);
		auto flow = [&](u64 until) {
			for (; now <= until; now += 500000) {
				if (mrc_status_tx_due(&n, now)) {
					for (unsigned copies = rng() % 3;
					     copies; copies--)
						wire.push_back(
							{now + rng() % 20000000,
							 n.id, n.mask});
				}
				for (auto p = wire.begin(); p != wire.end();) {
					if (p->at > now) {
						++p;
						continue;
					}
					mrc_status_rx_update(&v, p->mask, now);
					if (rng() % 2)
						mrc_status_tx_response(&n, p->id);
					p = wire.erase(p);
				}
			}
		};
		for (unsigned change = 0; change < 5; change++) {
			mask = rng() & 0x1E;
			mrc_status_tx_set(&n, mask, false, id++, kRto, now);
			flow(now + rng() % 50000000);
		}
		flow(now + 11 * kSecond);
		EXPECT_EQ(v.word, mask) << "seed " << seed;
	}
}

// --- limit
// ----------------------------------------------------------------------

TEST(EndpointLimit, PerSourceAndSecond)
{
	auto l = std::make_unique<mrc_ep_limit>();

	std::memset(l.get(), 0, sizeof(*l));
	for (unsigned i = 0; i < MRC_EP_RATE; i++)
		ASSERT_TRUE(mrc_ep_limit_ok(l.get(), 5, kStart + i));
	EXPECT_FALSE(mrc_ep_limit_ok(l.get(), 5, kStart + kSecond - 1));
	EXPECT_TRUE(mrc_ep_limit_ok(l.get(), 6, kStart));
	EXPECT_FALSE(mrc_ep_limit_ok(l.get(), 5 + MRC_EP_BUCKETS, kStart))
		<< "a shared bucket";
	EXPECT_TRUE(mrc_ep_limit_ok(l.get(), 5, kStart + kSecond));
	for (unsigned i = 1; i < MRC_EP_RATE; i++)
		ASSERT_TRUE(mrc_ep_limit_ok(l.get(), 5, kStart + kSecond));
	EXPECT_FALSE(mrc_ep_limit_ok(l.get(), 5, kStart + kSecond));
	EXPECT_TRUE(mrc_ep_limit_ok(l.get(), ~0u, 0));
}

} // namespace
