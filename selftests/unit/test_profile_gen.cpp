// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// EV profiles in generated mode.
#include <algorithm>

#include "evop_fixture.hpp"

namespace
{

using namespace mrc_test;
using ProfileGen = ProfileEvOp;

u32 grant(Device &d, u64 fmt, u32 count, const Fields &f, int *rc)
{
	EvProfile e(d, complain);
	EvCall c, q;

	c.state(kOffline).mode(kGenerated).fmt(fmt).count(count).fields(f);
	*rc = e.modify(c);
	e.check();
	if (*rc)
		return 0;
	q.r.mask = MRC_EVP_COUNT;
	EXPECT_EQ(e.query(q), 0);
	return q.r.count;
}

// What is granted, from the words of the rule.
TEST_F(ProfileGen, CountIsAdjusted)
{
	d.env.max_count = 50;
	d.env.free_count = 40;
	each(
		[&](u32 ports, u64 fmt, u32 values, u32 count) {
			const u32 n =
				static_cast<u32>(__builtin_popcount(ports));
			const Fields f = {field(16, 0, 0xFF, 1, values)};
			const u32 most =
				fmt == kSrv6 ? values * n : values / n * n;
			u32 want = count;
			int rc;

			d.env.ports = ports;
			while (want % n)
				want++;
			while (want > 40)
				want -= n;
			want = std::min(want, most);
			const u32 got = grant(d, fmt, count, f, &rc);
			if (count > 40)
				EXPECT_EQ(rc, -E2BIG);
			else
				EXPECT_EQ(rc, want ? 0 : -EINVAL);
			EXPECT_EQ(got, count > 40 ? 0u : want)
				<< ports << " " << fmt << " " << values << " "
				<< count;
		},
		std::vector<u32>{0b10, 0b110, 0b1110, 0b10110, 0x1FFFE},
		std::vector<u64>{kStev, kUdp, kSrv6},
		std::vector<u32>{1, 2, 3, 5, 8, 16, 100},
		std::vector<u32>{1, 2, 3, 4, 7, 16, 39, 40, 41});
}

TEST_F(ProfileGen, NoRoomForOneEvPerPort)
{
	int rc;

	d.env.ports = 0b1110;
	d.env.free_count = 2;
	grant(d, kUdp, 1, {field(16, 0, 0xFF)}, &rc);
	EXPECT_EQ(rc, -E2BIG);
	d.env.ports = 0;
	grant(d, kUdp, 1, {field(16, 0, 0xFF)}, &rc);
	EXPECT_EQ(rc, -EINVAL);
}

TEST_F(ProfileGen, GrantedCountBoundsMinActive)
{
	const auto rc = [&](u32 min_active) {
		EvProfile e(d, complain);
		EvCall c;

		c.state(kOffline)
			.mode(kGenerated)
			.fmt(kUdp)
			.count(40)
			.fields({field(16, 0, 0xF)});
		return modify(e, c.min_active(min_active));
	};

	EXPECT_EQ(rc(16), 0);
	EXPECT_EQ(rc(17), -EINVAL);
}

// Each value on each port with SRv6, on one port otherwise; all that there are
// where that many are wanted.
TEST_F(ProfileGen, AllValuesAreDrawn)
{
	d.env.ports = 0b1110;
	for (u64 fmt : {kStev, kUdp, kSrv6}) {
		EvProfile e(d, complain);
		std::map<u8, std::set<u8>> ports_of;

		generate(e, fmt, 60, {field(8, 0, 0xF, 2, 13)});
		EXPECT_EQ(e.p.count, fmt == kSrv6 ? 36u : 12u);
		for (const mrc_evp_val &v : e.evs())
			ports_of[static_cast<u8>(v.val[0] >> 4)].insert(v.port);
		EXPECT_EQ(ports_of.size(), 12u);
		EXPECT_EQ(ports_of.begin()->first, 2u);
		EXPECT_EQ(ports_of.rbegin()->first, 13u);
		for (const auto &[value, ports] : ports_of)
			EXPECT_EQ(ports.size(), fmt == kSrv6 ? 3u : 1u);
	}
}

TEST_F(ProfileGen, OrderComesFromTheSeed)
{
	const auto drawn = [&](u64 seed) {
		EvProfile e(d, complain);

		d.env.seed = seed;
		generate(e, kUdp, 32, {field(16, 0, 0xFFFF)});
		return e.evs();
	};

	EXPECT_EQ(drawn(1), drawn(1));
	unsigned same = 0;
	const auto a = drawn(1), b = drawn(2);
	for (std::size_t i = 0; i < a.size(); i++)
		same += a[i] == b[i];
	EXPECT_LT(same, 3u);
	EXPECT_FALSE(std::is_sorted(a.begin(), a.end()));
}

TEST_F(ProfileGen, GeneratedOnline)
{
	EvProfile e(d, complain);
	EvCall up;

	generate(e, kSrv6, 16,
		 {field(32, 0xFCBB0000, 0), field(16, 0x100, 0xF),
		  field(16, 0x200, 0xF)});
	EXPECT_EQ(modify(e, up.state(kOnline)), 0);
	ASSERT_EQ(e.set.n, 16u);
	for (u32 i = 0; i < 16; i++) {
		EXPECT_EQ(get_unaligned_be32(e.set.addr[i]), 0xFCBB0000u);
		EXPECT_EQ(e.set.addr[i][4], 1);
		EXPECT_EQ(e.set.addr[i][5] & 0xF0, 0);
		EXPECT_EQ(e.set.addr[i][6], 2);
		EXPECT_EQ(e.set.addr[i][8], 0);
	}
}

// What a controller denied stays denied over OFFLINE and ONLINE, and over a
// change that does not concern it.
TEST_F(ProfileGen, DeniedStays)
{
	EvProfile e(d, complain);
	EvCall deny, up, down, more;

	generate(e, kUdp, 8, {field(16, 0, 0xFFFF)});
	const std::vector<mrc_evp_val> evs = e.evs();
	EXPECT_EQ(modify(e, deny.set_state(evs[3], kDenied)), 0);
	EXPECT_EQ(modify(e, up.state(kOnline)), 0);
	EXPECT_TRUE(e.set.ev[3].denied);
	EXPECT_EQ(modify(e, down.state(kOffline)), 0);
	EXPECT_EQ(modify(e, more.count(12)), 0);
	EXPECT_EQ(e.p.n_ev, 12u);
	for (u32 i = 0; i < 12; i++)
		EXPECT_EQ(e.p.ev[i].denied, i == 3);
	EXPECT_TRUE(e.p.ev[3].ev == evs[3]);
}

// Other fields, other EVs: drawn again, ONLINE too, in the same number.
TEST_F(ProfileGen, NewFieldsAreDrawnAgain)
{
	EvProfile e(d, complain);
	EvCall deny, up, fields, few, same;

	generate(e, kUdp, 8, {field(16, 0x1000, 0xFFF)});
	EXPECT_EQ(modify(e, up.state(kOnline)), 0);
	EXPECT_EQ(modify(e, deny.set_state(e.evs()[0], kDenied)), 0);
	const std::vector<mrc_evp_val> evs = e.evs();
	EXPECT_EQ(modify(e, same.fields({field(16, 0x2000, 0xFFF)})), 0);
	EXPECT_EQ(e.evs(), evs);
	EXPECT_EQ(e.set.ev[1].entropy >> 12, 2u);
	EXPECT_TRUE(e.p.ev[0].denied);
	EXPECT_EQ(modify(e, fields.fields({field(16, 0, 0xFF, 0x80, 0x87)})),
		  0);
	EXPECT_EQ(e.p.n_ev, 8u);
	for (u32 i = 0; i < 8; i++) {
		EXPECT_EQ(e.set.ev[i].entropy & ~7u, 0x80u);
		EXPECT_FALSE(e.p.ev[i].denied);
	}
	// Too few of them: the number is not negotiable any more.
	EXPECT_EQ(modify(e, few.fields({field(16, 0, 0xFF, 0x80, 0x86)})),
		  -EINVAL);
	EXPECT_EQ(e.p.field[0].max_val, 0x87u);
	d.env.modify_online = false;
	EXPECT_EQ(modify(e, same), -EINVAL);
}

// What was asked for is remembered when the fields allow more.
TEST_F(ProfileGen, GrantGrowsWithTheFields)
{
	EvProfile e(d, complain);
	EvCall more, fewer;

	generate(e, kUdp, 20, {field(16, 0, 0x7)});
	EXPECT_EQ(e.p.count, 8u);
	EXPECT_EQ(modify(e, more.fields({field(16, 0, 0xF)})), 0);
	EXPECT_EQ(e.p.count, 16u);
	EXPECT_EQ(modify(e, fewer.fields({field(16, 0, 0x3)})), 0);
	EXPECT_EQ(e.p.count, 4u);
}

// Format and ports are looked at again when it goes ONLINE.
TEST_F(ProfileGen, DrawnAgainOnline)
{
	EvProfile e(d, complain);
	EvCall up;

	generate(e, kUdp, 8, {field(16, 0, 0xFF)});
	d.env.ports = 0b11110;
	EXPECT_EQ(modify(e, up.state(kOnline)), 0);
	std::set<u8> ports;
	for (const mrc_evp_val &v : e.evs())
		ports.insert(v.port);
	EXPECT_EQ(ports.size(), 4u);
}

// No controller replaces what the device generates.
TEST_F(ProfileGen, NoReplacementOfGenerated)
{
	EvProfile e(d, complain), a(d, complain);
	EvCall c, x, off;

	generate(e, kUdp, 8, {field(16, 0, 0xFF)});
	EXPECT_EQ(modify(e, c.replace(e.evs()[0], A)), -EINVAL);
	EXPECT_EQ(modify(a, x.state(kOffline).mode(kAuto)), 0);
	EXPECT_EQ(modify(a, off.replace(kNone, A)), -EINVAL);
}

// Nor on the way to INIT as an explicit one, which a batch may stop half way.
TEST_F(ProfileGen, NoReplacementOnTheWayToInit)
{
	EvProfile e(d, complain);
	EvCall half, whole;

	generate(e, kUdp, 8, {field(16, 0, 0xFF)});
	const auto before = e.evs();
	half.state(kInit).mode(kExplicit).fmt(kUdp).count(20);
	half.replace(before[0], before[1]).replace(val("dead", 1), A);
	EXPECT_EQ(modify(e, half), -EINVAL);
	EXPECT_TRUE(before == e.evs());
	whole.state(kInit).mode(kExplicit).fmt(kUdp).count(20);
	EXPECT_EQ(modify(e, whole), 0);
}

// The largest there is, of the widest fields there are.
TEST_F(ProfileGen, Largest)
{
	EvProfile e(d, complain);
	EvCall up;

	d.add(50, MRC_EV_FMT_SRV6, std::vector<u8>(8, 32));
	d.env.max_count = MRC_EV_MAX;
	d.env.free_count = MRC_EV_MAX;
	d.env.ports = 0x1FFFE;
	generate(e, 50, MRC_EV_MAX, Fields(8, field(32, 0, ~0u)));
	EXPECT_EQ(e.p.n_ev, u32{MRC_EV_MAX});
	EXPECT_EQ(modify(e, up.state(kOnline)), 0);
	EXPECT_TRUE(e.set.srh);
}

TEST_F(ProfileGen, BuildRefusesWhatIsNotOnline)
{
	EvProfile e(d, complain);
	mrc_evset set;
	mrc_evset_src tmp[2];
	u8 mem[256];

	make(e, {A, B});
	EXPECT_EQ(mrc_evp_build(&e.p, &d.fmt[kUdp], 1, tmp, &set, mem),
		  -EINVAL);
	EvProfile live(d, complain);
	make(live, {A, B}, kOnline);
	EXPECT_EQ(mrc_evp_build(&live.p, nullptr, 1, tmp, &set, mem), -EINVAL);
	EXPECT_EQ(mrc_evp_build(&live.p, &d.fmt[kUdp], 1, tmp, &set, mem), 0);
}

} // namespace
