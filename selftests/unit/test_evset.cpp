// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Sets of EVs: entropies, copies, lookups, versions.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "evbits.hpp"

#include "mrc_evset.h"

namespace
{

using namespace mrc_test;

const u8 kStev = MRC_EV_FMT_STEV, kSrv6 = MRC_EV_FMT_SRV6,
	 kUdp = MRC_EV_FMT_UDP;
const u8 kModes[] = {kStev, kSrv6, kUdp};

mrc_evset_src src(const std::string &hex, u8 port, bool denied = false)
{
	mrc_evset_src s{};
	const Ev ev = ev_of(hex);

	std::copy(ev.begin(), ev.end(), s.val);
	s.port = port;
	s.denied = denied;
	return s;
}

class Set
{
public:
	Set(u8 mode, const std::vector<mrc_evset_src> &s, u64 seed = 1,
	    u16 min_active = 0, bool srh = false)
		: mem_(mrc_evset_mem(static_cast<u32>(s.size()), mode), 0xA5)
	{
		std::memset(&set, 0xA5, sizeof(set));
		rc = mrc_evset_init(&set, static_cast<u32>(s.size()), mode, srh,
				    min_active, s.data(), seed, mem_.get());
	}

	int find(u32 entropy, bool ipv6 = true) const
	{
		return mrc_evset_find(&set, entropy, ipv6);
	}

	// The copies of @i by the ring, @i included.
	std::set<u32> ring(u32 i) const
	{
		std::set<u32> out;
		u32 at = i;

		do {
			EXPECT_TRUE(out.insert(at).second);
			at = set.ev[at].next;
		} while (at != i && at < set.n && out.size() <= set.n);
		EXPECT_EQ(at, i);
		return out;
	}

	int rc;
	mrc_evset set;

private:
	Mem mem_;
};

// @n different ones; wide enough for every mode.
std::vector<mrc_evset_src> distinct(u32 n, u32 ports = 1)
{
	std::vector<mrc_evset_src> out;

	for (u32 i = 0; i < n; i++) {
		mrc_evset_src s{};

		s.val[0] = static_cast<u8>(i >> 8);
		s.val[1] = static_cast<u8>(i);
		s.port = static_cast<u8>(i % ports + 1);
		out.push_back(s);
	}
	return out;
}

TEST(EvSet, Memory)
{
	for (u8 mode : kModes) {
		EXPECT_EQ(mrc_evset_mem(0, mode), 0u);
		EXPECT_GT(mrc_evset_mem(1, mode), 0u);
		EXPECT_GT(mrc_evset_mem(MRC_EV_MAX, mode), 0u);
		EXPECT_EQ(mrc_evset_mem(MRC_EV_MAX + 1, mode), 0u);
		EXPECT_EQ(mrc_evset_mem(~0u, mode), 0u);
	}
	EXPECT_EQ(mrc_evset_mem(1, 0), 0u);
	EXPECT_EQ(mrc_evset_mem(1, 3), 0u);
	// The addresses of SRv6, and no more than 16 bytes an EV without them.
	EXPECT_EQ(mrc_evset_mem(256, kSrv6) - mrc_evset_mem(256, kUdp),
		  256u * 32);
	EXPECT_LE(mrc_evset_mem(256, kUdp), 256u * 16);
}

TEST(EvSet, RefusesBadArguments)
{
	u8 mem[64];
	mrc_evset set;
	const std::vector<mrc_evset_src> one = distinct(1);
	const auto init = [&](u32 n, u8 mode, bool srh, u16 min_active) {
		return mrc_evset_init(&set, n, mode, srh, min_active,
				      one.data(), 1, mem);
	};

	EXPECT_EQ(init(0, kUdp, false, 0), -EINVAL);
	EXPECT_EQ(init(MRC_EV_MAX + 1, kUdp, false, 0), -EINVAL);
	EXPECT_EQ(init(1, 0, false, 0), -EINVAL);
	EXPECT_EQ(init(1, kUdp, true, 0), -EINVAL);
	EXPECT_EQ(init(1, kStev, true, 0), -EINVAL);
	EXPECT_EQ(init(1, kUdp, false, 2), -EINVAL);
	EXPECT_EQ(init(1, kUdp, false, 1), 0);
	EXPECT_EQ(init(1, kSrv6, true, 1), 0);
}

TEST(EvSet, Ports)
{
	for (u8 mode : kModes) {
		for (unsigned port = 0; port < 256; port++) {
			const Set s(mode, {src("0001", 1),
					   src("0002", static_cast<u8>(port))});

			EXPECT_EQ(s.rc, port >= 1 && port <= MRC_MAX_PORTS
						? 0
						: -EINVAL)
				<< port;
		}
	}
}

TEST(EvSet, Attributes)
{
	const Set s(kSrv6, {src("01", 2, true), src("02", 1)}, 1, 2, true);

	ASSERT_EQ(s.rc, 0);
	EXPECT_EQ(s.set.n, 2u);
	EXPECT_EQ(s.set.mode, kSrv6);
	EXPECT_TRUE(s.set.srh);
	EXPECT_EQ(s.set.min_active, 2u);
	EXPECT_EQ(s.set.ev[0].port, 2u);
	EXPECT_TRUE(s.set.ev[0].denied);
	EXPECT_EQ(s.set.ev[1].port, 1u);
	EXPECT_FALSE(s.set.ev[1].denied);
	EXPECT_EQ(s.set.addr[0][0], 1u);
	EXPECT_EQ(s.set.addr[1][0], 2u);
	const Set u(kUdp, {src("0102", 1)});
	EXPECT_EQ(u.set.addr, nullptr);
}

// UDP: 16 bits, no flow label. STEV: all 32, the first half the flow label.
TEST(EvSet, PlainEntropies)
{
	const Set udp(kUdp, {src("c001", 1), src("0000", 1), src("ffff", 2)});
	const Set stev(kStev, {src("12345678", 1), src("00005678", 1)});

	ASSERT_EQ(udp.rc, 0);
	EXPECT_EQ(udp.set.ev[0].entropy, 0xC001u);
	EXPECT_EQ(udp.set.ev[1].entropy, 0u);
	EXPECT_EQ(udp.set.ev[2].entropy, 0xFFFFu);
	ASSERT_EQ(stev.rc, 0);
	EXPECT_EQ(stev.set.ev[0].entropy, 0x12345678u);
	EXPECT_EQ(stev.set.ev[1].entropy, 0x5678u);
}

TEST(EvSet, Find)
{
	const Set udp(kUdp, {src("c001", 1), src("c002", 2)});
	const Set stev(kStev, {src("12345678", 1), src("00015678", 1)});

	for (bool ipv6 : {false, true}) {
		EXPECT_EQ(udp.find(0xC001, ipv6), 0);
		EXPECT_EQ(udp.find(0xC002, ipv6), 1);
		EXPECT_EQ(udp.find(0xC003, ipv6), -1);
	}
	// IPv4 has no flow label, IPv6 must not have made one up.
	EXPECT_EQ(udp.find(0x9999C002, false), 1);
	EXPECT_EQ(udp.find(0x9999C002, true), -1);

	EXPECT_EQ(stev.find(0x12345678), 0);
	EXPECT_EQ(stev.find(0x00015678), 1);
	EXPECT_EQ(stev.find(0x00025678), -1);
	EXPECT_EQ(stev.find(0x12345678, false), -1);
}

TEST(EvSet, AddressFamilies)
{
	for (u8 mode : kModes) {
		const Set s(mode, distinct(4));

		EXPECT_TRUE(mrc_evset_fits(&s.set, true));
		EXPECT_EQ(mrc_evset_fits(&s.set, false), mode != kStev);
	}
}

// All 1024 are found, nothing else is; also where the hash gets crowded.
TEST(EvSet, FindInFullSets)
{
	for (u8 mode : kModes) {
		for (u32 n : {1u, 2u, 63u, 64u, 65u, u32{MRC_EV_MAX}}) {
			const Set s(mode, distinct(n), 99);
			std::map<u32, int> where;

			ASSERT_EQ(s.rc, 0);
			for (u32 i = 0; i < n; i++)
				ASSERT_TRUE(
					where.emplace(s.set.ev[i].entropy, i)
						.second);
			for (const auto &[entropy, i] : where) {
				ASSERT_EQ(s.find(entropy), i);
				if (mode != kStev)
					ASSERT_EQ(
						s.find(entropy & 0xFFFF, false),
						i);
				for (u32 other : {entropy ^ 1, entropy ^ 0x8000,
						  entropy ^ 0x10000})
					ASSERT_EQ(s.find(other),
						  where.count(other)
							  ? where[other]
							  : -1);
			}
		}
	}
}

TEST(EvSet, Srv6Entropies)
{
	const Set s(kSrv6, distinct(MRC_EV_MAX, 4), 0x1234);
	const Set other(kSrv6, distinct(MRC_EV_MAX, 4), 0x1235);
	std::set<u32> ports;
	unsigned same = 0;

	ASSERT_EQ(s.rc, 0);
	for (u32 i = 0; i < MRC_EV_MAX; i++) {
		const u32 e = s.set.ev[i].entropy;

		EXPECT_GE(e & 0xFFFF, 0xC000u);
		EXPECT_NE(e >> 16, 0u);
		ports.insert(e & 0xFFFF);
		same += e == other.set.ev[i].entropy;
	}
	EXPECT_EQ(ports.size(), std::size_t{MRC_EV_MAX});
	EXPECT_LT(same, 4u);
}

TEST(EvSet, Srv6Addresses)
{
	const Set s(kSrv6, {src("fcbb00000001020304050607080910aa"
				"fcbb000000011112131415161718191a",
				1),
			    src("fcbb0000", 2)});

	ASSERT_EQ(s.rc, 0);
	EXPECT_EQ(std::memcmp(s.set.addr[0],
			      ev_of("fcbb00000001020304050607080910aa"
				    "fcbb000000011112131415161718191a")
				      .data(),
			      MRC_EV_BYTES),
		  0);
	EXPECT_EQ(std::memcmp(s.set.addr[1], ev_of("fcbb0000").data(),
			      MRC_EV_BYTES),
		  0);
}

// Another version of a profile: what stays keeps its entropy, whatever happens
// around it.
TEST(EvSet, VersionsAreStable)
{
	for (u8 mode : kModes) {
		std::vector<mrc_evset_src> v = distinct(300, 2);
		const Set before(mode, v, 77);

		v[10].val[1] ^= 0x80;
		v[10].val[0] = 0x70;
		v[20].denied = true;
		v[30].port ^= 3;
		// It becomes a copy of an earlier and a later one.
		v[200] = v[100];
		v[50] = v[101];
		const Set after(mode, v, 77);

		ASSERT_EQ(before.rc, 0);
		ASSERT_EQ(after.rc, 0);
		for (u32 i = 0; i < 300; i++) {
			if (i == 10 || i == 50 || i == 200)
				continue;
			EXPECT_EQ(before.set.ev[i].entropy,
				  after.set.ev[i].entropy)
				<< i;
		}
	}
}

TEST(EvSet, PlainCopies)
{
	for (u8 mode : {kStev, kUdp}) {
		const Set s(mode, {src("0005", 1), src("0006", 1),
				   src("0005", 1), src("0007", 2),
				   src("0005", 1, true), src("0007", 2)});

		ASSERT_EQ(s.rc, 0);
		EXPECT_EQ(s.ring(0), (std::set<u32>{0, 2, 4}));
		EXPECT_EQ(s.ring(2), (std::set<u32>{0, 2, 4}));
		EXPECT_EQ(s.ring(4), (std::set<u32>{0, 2, 4}));
		EXPECT_EQ(s.ring(1), (std::set<u32>{1}));
		EXPECT_EQ(s.ring(3), (std::set<u32>{3, 5}));
		EXPECT_EQ(s.set.ev[0].entropy, s.set.ev[4].entropy);
		// The lowest of them answers for all.
		EXPECT_EQ(s.find(s.set.ev[4].entropy), 0);
		EXPECT_EQ(s.find(s.set.ev[5].entropy), 3);
		EXPECT_FALSE(s.set.ev[0].denied);
		EXPECT_TRUE(s.set.ev[4].denied);
	}
}

TEST(EvSet, Srv6Copies)
{
	const Set s(kSrv6, {src("05", 1), src("06", 1), src("05", 1),
			    src("05", 2), src("05", 1), src("05", 2)});

	ASSERT_EQ(s.rc, 0);
	EXPECT_EQ(s.ring(0), (std::set<u32>{0, 2, 4}));
	EXPECT_EQ(s.ring(4), (std::set<u32>{0, 2, 4}));
	EXPECT_EQ(s.ring(1), (std::set<u32>{1}));
	EXPECT_EQ(s.ring(3), (std::set<u32>{3, 5}));
	// Feedback tells them apart nevertheless.
	for (u32 i = 0; i < 6; i++)
		EXPECT_EQ(s.find(s.set.ev[i].entropy), static_cast<int>(i));
}

// One SID list on several ports is several paths, also if the hash values are equal.
TEST(EvSet, Srv6PortsCount)
{
	std::vector<mrc_evset_src> v;

	for (u32 i = 0; i < MRC_EV_MAX; i++) {
		mrc_evset_src s{};

		s.val[0] = static_cast<u8>(i / MRC_MAX_PORTS >> 8);
		s.val[1] = static_cast<u8>(i / MRC_MAX_PORTS);
		s.port = static_cast<u8>(i % MRC_MAX_PORTS + 1);
		v.push_back(s);
	}
	const Set s(kSrv6, v);
	ASSERT_EQ(s.rc, 0);
	for (u32 i = 0; i < MRC_EV_MAX; i++)
		ASSERT_EQ(s.ring(i), (std::set<u32>{i}));
}

// A difference in the last byte of the segment is a difference.
TEST(EvSet, Srv6LastByteCounts)
{
	std::vector<mrc_evset_src> v = {src("05", 1), src("05", 1)};

	v[1].val[31] = 1;
	const Set s(kSrv6, v);
	ASSERT_EQ(s.rc, 0);
	EXPECT_EQ(s.ring(0), (std::set<u32>{0}));
}

// A whole set of copies; rings against a map made the slow way.
TEST(EvSet, RandomCopies)
{
	std::mt19937 rng(5);

	for (u8 mode : kModes) {
		std::vector<mrc_evset_src> v;
		std::map<std::pair<u32, u32>, std::set<u32>> groups;

		for (u32 i = 0; i < 500; i++) {
			const u32 k = rng() % 40;
			mrc_evset_src s{};

			s.val[1] = static_cast<u8>(k);
			// One port for a value, except where it may be on any.
			s.port = static_cast<u8>(mode == kSrv6 ? rng() % 3 + 1
							       : k % 3 + 1);
			v.push_back(s);
			groups[{k, s.port}].insert(i);
		}
		const Set s(mode, v);
		ASSERT_EQ(s.rc, 0);
		for (u32 i = 0; i < 500; i++)
			ASSERT_EQ(s.ring(i),
				  (groups[{v[i].val[1], v[i].port}]));
	}
}

// One value on two ports: feedback could not say which path it is about, unless
// the set makes the entropies.
TEST(EvSet, SameValueOnTwoPorts)
{
	for (u8 mode : kModes) {
		for (u32 at : {1u, 7u, 63u}) {
			std::vector<mrc_evset_src> v = distinct(64);

			v[at] = v[0];
			v[at].port = 2;
			const Set s(mode, v);

			EXPECT_EQ(s.rc, mode == kSrv6 ? 0 : -EINVAL);
		}
	}
}

// Nobody chooses values that make lookups slow: all those that collide in the
// hash are still found.
TEST(EvSet, CrowdedHash)
{
	std::vector<mrc_evset_src> v;

	for (u32 i = 0; v.size() < 200; i++) {
		// 2 * 200 entries round up to 512 slots.
		if ((i * 0x9E3779B1u >> 16 & 511) != 7)
			continue;
		mrc_evset_src s{};

		s.val[0] = static_cast<u8>(i >> 24);
		s.val[1] = static_cast<u8>(i >> 16);
		s.val[2] = static_cast<u8>(i >> 8);
		s.val[3] = static_cast<u8>(i);
		s.port = 1;
		v.push_back(s);
	}
	const Set s(kStev, v);

	ASSERT_EQ(s.rc, 0);
	for (u32 i = 0; i < 200; i++)
		EXPECT_EQ(s.find(s.set.ev[i].entropy), static_cast<int>(i));
	EXPECT_EQ(s.find(s.set.ev[199].entropy ^ 0x40000000), -1);
}

} // namespace
