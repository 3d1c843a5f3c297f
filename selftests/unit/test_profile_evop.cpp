// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The EVs of EV profiles: operations of a controller, generation.
#include "evop_fixture.hpp"

namespace
{

using namespace mrc_test;

// One by one, with the constant for "unpopulated" as the EV to replace.
TEST_F(ProfileEvOp, Populate)
{
	EvProfile e(d, complain);
	EvCall c, up, a, b, surplus;

	c.state(kOffline).mode(kExplicit).fmt(kUdp).count(2);
	ASSERT_EQ(modify(e, c), 0);
	EXPECT_EQ(e.evs(), (std::vector{kNone, kNone}));
	EXPECT_EQ(modify(e, up.state(kOnline)), -EINVAL);
	EXPECT_EQ(modify(e, a.replace(kNone, A)), 0);
	EXPECT_EQ(e.evs(), (std::vector{A, kNone}));
	EXPECT_EQ(modify(e, up), -EINVAL);
	EXPECT_EQ(modify(e, b.replace(kNone, B)), 0);
	EXPECT_EQ(modify(e, surplus.replace(kNone, C)), -ENOENT);
	EXPECT_EQ(modify(e, up), 0);
	EXPECT_EQ(e.set.n, 2u);
	EXPECT_EQ(e.set.ev[1].entropy, 0x0B00u);
	EXPECT_EQ(e.set.ev[1].port, 2u);
}

// All in the call that goes ONLINE.
TEST_F(ProfileEvOp, PopulateOnTheWayOnline)
{
	EvProfile e(d, complain);
	EvCall c, up;

	make(e, {kNone, kNone});
	EXPECT_EQ(modify(e, up.state(kOnline).replace(kNone, A)), -EINVAL);
	// A batch stays done as far as it got.
	EXPECT_EQ(e.evs(), (std::vector{A, kNone}));
	EvCall rest;
	EXPECT_EQ(modify(e, rest.state(kOnline).replace(kNone, B)), 0);
	EXPECT_EQ(e.set.n, 2u);
}

TEST_F(ProfileEvOp, CountKeepsWhatFits)
{
	EvProfile e(d, complain);
	EvCall more, less;

	make(e, {A, B, C});
	EXPECT_EQ(modify(e, more.count(5)), 0);
	EXPECT_EQ(e.evs(), (std::vector{A, B, C, kNone, kNone}));
	EXPECT_EQ(modify(e, less.count(2)), 0);
	EXPECT_EQ(e.evs(), (std::vector{A, B}));
}

TEST_F(ProfileEvOp, ReplaceMatchesValueAndPort)
{
	EvProfile e(d, complain);
	EvCall port, value, last, good;

	make(e, {A, B});
	EXPECT_EQ(modify(e, port.replace(val("0a", 2), C)), -ENOENT);
	EXPECT_EQ(modify(e, value.replace(val("0b", 1), C)), -ENOENT);
	mrc_evp_val far = A;
	far.val[31] = 1;
	EXPECT_EQ(modify(e, last.replace(far, C)), -ENOENT);
	EXPECT_EQ(modify(e, good.replace(B, D)), 0);
	EXPECT_EQ(e.evs(), (std::vector{A, D}));
}

TEST_F(ProfileEvOp, StatesOfReplace)
{
	for (u8 state : {kOffline, kOnline}) {
		EvProfile e(d, complain);
		const auto rc = [&](u32 s) {
			EvCall c;

			return modify(e, c.replace(A, A, s));
		};

		make(e, {A, B}, state);
		EXPECT_EQ(rc(kDenied), 0);
		EXPECT_TRUE(e.p.ev[0].denied);
		EXPECT_EQ(rc(0), 0);
		EXPECT_FALSE(e.p.ev[0].denied);
		EXPECT_EQ(rc(kDenied), 0);
		EXPECT_EQ(rc(kGood), 0);
		EXPECT_FALSE(e.p.ev[0].denied);
		for (u32 s : {kBad, kUnknown, kGood | kDenied, 8u, ~0u})
			EXPECT_EQ(rc(s), -EINVAL) << s;
	}
}

TEST_F(ProfileEvOp, StatesOfModify)
{
	for (u8 state : {kOffline, kOnline}) {
		// Denying takes no capability.
		d.env.modify_online = false;
		EvProfile e(d, complain);
		const auto rc = [&](const mrc_evp_val &v, u32 s) {
			EvCall c;

			return modify(e, c.set_state(v, s));
		};

		make(e, {A, B}, state);
		EXPECT_EQ(rc(B, kDenied), 0);
		EXPECT_EQ(denied(e), (std::vector{false, true}));
		for (u32 s : {0u, kBad, kUnknown, kGood | kDenied, 8u})
			EXPECT_EQ(rc(B, s), -EINVAL) << s;
		EXPECT_EQ(denied(e), (std::vector{false, true}));
		EXPECT_EQ(rc(B, kGood), 0);
		EXPECT_EQ(denied(e), (std::vector{false, false}));
		EXPECT_EQ(rc(C, kDenied), -ENOENT);
		// All may be denied: ev_min_active is no limit to this.
		EXPECT_EQ(rc(A, kDenied), 0);
		EXPECT_EQ(rc(B, kDenied), 0);
	}
}

// An empty entry is no EV.
TEST_F(ProfileEvOp, UnpopulatedEntries)
{
	EvProfile e(d, complain);
	EvCall deny, query, array, again, denied_none;

	make(e, {A, kNone});
	EXPECT_EQ(modify(e, deny.set_state(kNone, kDenied)), -ENOENT);
	EXPECT_EQ(e.query(query.query_state(kNone)), 0);
	EXPECT_EQ(query.entry[0].state, kUnknown);
	EXPECT_EQ(e.query(array.query_array(2)), 0);
	EXPECT_EQ(array.entry[0].state, kGood);
	EXPECT_EQ(array.entry[1].state, kUnknown);
	// Emptied again, but not in a profile that is in use.
	EXPECT_EQ(modify(e, denied_none.replace(A, kNone, kDenied)), -EINVAL);
	EXPECT_EQ(modify(e, again.replace(A, kNone)), 0);
	EXPECT_EQ(e.evs(), (std::vector{kNone, kNone}));
	EvProfile live(d, complain);
	EvCall no;
	make(live, {A, B}, kOnline);
	EXPECT_EQ(modify(live, no.replace(A, kNone)), -EINVAL);
}

TEST_F(ProfileEvOp, Copies)
{
	for (u8 state : {kOffline, kOnline}) {
		EvProfile e(d, complain);
		EvCall one, all, deny, deny_all, allow;

		make(e, {A, B, A, A}, state);
		EXPECT_EQ(modify(e, deny.set_state(A, kDenied)), 0);
		EXPECT_EQ(denied(e), (std::vector{true, false, false, false}));
		EXPECT_EQ(modify(e, deny_all.set_state(A, kDenied, kAll)), 0);
		EXPECT_EQ(denied(e), (std::vector{true, false, true, true}));
		EXPECT_EQ(modify(e, allow.set_state(A, kGood, kAll)), 0);
		EXPECT_EQ(denied(e), (std::vector{false, false, false, false}));
		EXPECT_EQ(modify(e, one.replace(A, C)), 0);
		EXPECT_EQ(e.evs(), (std::vector{C, B, A, A}));
		EXPECT_EQ(modify(e, all.replace(A, C, kDenied, kAll)), 0);
		EXPECT_EQ(e.evs(), (std::vector{C, B, C, C}));
		EXPECT_EQ(denied(e), (std::vector{false, false, true, true}));
	}
}

// A replacement that equals what it replaces is found only once.
TEST_F(ProfileEvOp, AllCopiesOfItself)
{
	EvProfile e(d, complain);
	EvCall c;

	make(e, {A, B, A});
	EXPECT_EQ(modify(e, c.replace(A, A, kDenied, kAll)), 0);
	EXPECT_EQ(denied(e), (std::vector{true, false, true}));
}

TEST_F(ProfileEvOp, UnknownFlags)
{
	EvProfile e(d, complain);

	make(e, {A, B});
	for (u32 bit = 1; bit < 32; bit++) {
		EvCall c, s;

		EXPECT_EQ(modify(e, c.replace(A, A, kDenied, 1u << bit)),
			  -EINVAL);
		EXPECT_EQ(modify(e, s.set_state(A, kDenied, 1u << bit)),
			  -EINVAL);
	}
	EXPECT_EQ(denied(e), (std::vector{false, false}));
}

// Up to the first entry that fails, and not beyond.
TEST_F(ProfileEvOp, PartialBatches)
{
	for (u8 state : {kOffline, kOnline}) {
		EvProfile e(d, complain);
		EvCall c, s;

		make(e, {A, B, C}, state);
		c.replace(A, val("1a", 1))
			.replace(D, D)
			.replace(B, val("1b", 2));
		EXPECT_EQ(modify(e, c), -ENOENT);
		EXPECT_EQ(e.evs(), (std::vector{val("1a", 1), B, C}));
		s.set_state(B, kDenied)
			.set_state(C, kUnknown)
			.set_state(C, kDenied);
		EXPECT_EQ(modify(e, s), -EINVAL);
		EXPECT_EQ(denied(e), (std::vector{false, true, false}));
		if (state == kOnline) {
			EXPECT_EQ(e.set.ev[0].entropy, 0x1A00u);
			EXPECT_TRUE(e.set.ev[1].denied);
		}
	}
}

// All else of such a call is not done.
TEST_F(ProfileEvOp, PartialBatchWithAttributes)
{
	EvProfile e(d, complain), live(d, complain);
	EvCall c, grow, down;

	make(e, {A, B});
	c.events(MRC_EVP_GOOD)
		.min_active(1)
		.set_state(A, kDenied)
		.set_state(C, kDenied);
	EXPECT_EQ(modify(e, c), -ENOENT);
	EXPECT_EQ(e.p.event_mask, 0u);
	EXPECT_EQ(e.p.min_active, 0u);
	EXPECT_EQ(denied(e), (std::vector{true, false}));
	// With another number of EVs there is nothing to leave it in.
	grow.count(3).set_state(B, kDenied).set_state(C, kDenied);
	EXPECT_EQ(modify(e, grow), -ENOENT);
	EXPECT_EQ(denied(e), (std::vector{true, false}));
	EXPECT_EQ(e.p.count, 2u);

	// On the way OFFLINE: it stays ONLINE, fit for use.
	make(live, {A, B}, kOnline);
	down.state(kOffline).replace(A, C).replace(B, kNone);
	EXPECT_EQ(modify(live, down), -EINVAL);
	EXPECT_EQ(live.p.state, kOnline);
	EXPECT_EQ(live.set.ev[0].entropy, 0x0C00u);
}

TEST_F(ProfileEvOp, BatchOnTheWayToInit)
{
	EvProfile e(d, complain);
	EvCall bad, good;

	make(e, {A, B});
	EXPECT_EQ(modify(e, bad.state(kInit).set_state(C, kDenied)), -ENOENT);
	EXPECT_EQ(e.p.state, kOffline);
	EXPECT_EQ(modify(e, good.state(kInit).count(9).set_state(A, kDenied)),
		  0);
	EXPECT_EQ(e.p.state, kInit);
}

TEST_F(ProfileEvOp, BatchLimit)
{
	EvProfile e(d, complain);
	EvCall two, three, query, array;

	make(e, {A, B, C});
	d.env.max_entries = 2;
	EXPECT_EQ(modify(e, two.set_state(A, kDenied).set_state(B, kDenied)),
		  0);
	three.set_state(A, kGood).set_state(B, kGood).set_state(C, kGood);
	EXPECT_EQ(modify(e, three), -E2BIG);
	EXPECT_EQ(denied(e), (std::vector{true, true, false}));
	query.query_state(A).query_state(B).query_state(C);
	EXPECT_EQ(e.query(query), -E2BIG);
	// The dump is not a batch: it could not be had otherwise.
	EXPECT_EQ(e.query(array.query_array(3)), 0);
}

TEST_F(ProfileEvOp, EmptyBatches)
{
	EvProfile e(d, complain);

	make(e, {A, B}, kOnline);
	for (u32 op : {0u, 1u, 2u}) {
		EvCall c;

		EXPECT_EQ(modify(e, c.op(op, {})), 0);
	}
}

TEST_F(ProfileEvOp, Ports)
{
	d.env.ports = 0b1010; // 1 and 3
	for (unsigned port = 0; port < 256; port++) {
		EvProfile e(d, complain);
		EvCall c;

		make(e, {kNone});
		EXPECT_EQ(modify(e, c.replace(kNone, val("01", static_cast<u8>(
								       port)))),
			  port == 1 || port == 3 ? 0 : -EINVAL)
			<< port;
	}
	// No more than sets have, whatever the device says.
	d.env.ports = ~0u;
	for (u8 port : {0, 16, 17, 31, 32, 33, 255}) {
		EvProfile e(d, complain);
		EvCall c;

		make(e, {kNone});
		EXPECT_EQ(modify(e, c.replace(kNone, val("01", port))),
			  port == 16 ? 0 : -EINVAL);
	}
}

// A port that is not there any more when it goes ONLINE.
TEST_F(ProfileEvOp, PortsChangeMeanwhile)
{
	EvProfile e(d, complain);
	EvCall up;

	make(e, {A, B});
	d.env.ports = 0b010;
	EXPECT_EQ(e.modify(up.state(kOnline)), -EINVAL);
	d.env.ports = 0b110;
	EXPECT_EQ(modify(e, up), 0);
}

// An EV wider than its format.
TEST_F(ProfileEvOp, TooWide)
{
	for (u8 state : {kOffline, kOnline}) {
		EvProfile e(d, complain);
		EvCall wide, fits, last;
		mrc_evp_val far = A;

		make(e, {A, B}, state);
		far.val[31] = 1;
		EXPECT_EQ(modify(e, wide.replace(A, val("000080", 1))),
			  -EINVAL);
		EXPECT_EQ(modify(e, last.replace(A, far)), -EINVAL);
		EXPECT_EQ(e.evs(), (std::vector{A, B}));
		EXPECT_EQ(modify(e, fits.replace(A, val("ffff", 1))), 0);
	}
	// With fields: as wide as their masks.
	EvProfile e(d, complain);
	EvCall f, bits, wide;
	make(e, {kNone, kNone});
	EXPECT_EQ(modify(e, f.fields({field(16, 0, 0x0FF1)})), 0);
	EXPECT_EQ(modify(e, bits.replace(kNone, val("ff80", 1))), 0);
	EXPECT_EQ(modify(e, wide.replace(kNone, val("0040", 1))), -EINVAL);
}

// Formats whose last byte is not full.
TEST_F(ProfileEvOp, TooWideByABit)
{
	for (u8 width = 1; width <= 16; width++) {
		EvProfile e(d, complain);
		EvCall wide, fits;

		d.add(99, MRC_EV_FMT_UDP, {width});
		make(e, {kNone}, kOffline, 99);
		mrc_evp_val v{};
		v.port = 1;
		if (width < 16) {
			v.val[width / 8] = static_cast<u8>(0x80 >> width % 8);
			EXPECT_EQ(modify(e, wide.replace(kNone, v)), -EINVAL);
			v.val[width / 8] = 0;
		}
		v.val[(width - 1) / 8] |=
			static_cast<u8>(0x80 >> (width - 1) % 8);
		EXPECT_EQ(modify(e, fits.replace(kNone, v)), 0) << int{width};
	}
}

// Fields and values are given in any order; ONLINE they have to go together.
TEST_F(ProfileEvOp, FieldsAfterValues)
{
	EvProfile e(d, complain);
	EvCall narrow, up, wide;

	make(e, {val("0102", 1), val("0104", 2)});
	EXPECT_EQ(modify(e, narrow.fields({field(16, 0, 0xFF)})), 0);
	EXPECT_EQ(modify(e, up.state(kOnline)), -EINVAL);
	EXPECT_EQ(modify(e, wide.fields({field(16, 0x8000, 0x7FFF)})), 0);
	ASSERT_EQ(modify(e, up), 0);
	// 0102 without its last bit is 0081, and the first one is fixed.
	EXPECT_EQ(e.set.ev[0].entropy, 0x8081u);
	EXPECT_EQ(e.set.ev[1].entropy, 0x8082u);
	// The same ONLINE.
	EvCall again, back;
	EXPECT_EQ(modify(e, again.fields({field(16, 0, 0xFF)})), -EINVAL);
	EXPECT_EQ(e.p.field[0].mask, 0x7FFFu);
	EXPECT_EQ(modify(e, back.fields({field(16, 0, 0xFFFF)})), 0);
	EXPECT_EQ(e.set.ev[0].entropy, 0x0102u);
}

// One value on two ports could not be told apart by feedback, but for SRv6.
TEST_F(ProfileEvOp, OneValueOnTwoPorts)
{
	for (u64 fmt : {kStev, kUdp, kSrv6}) {
		EvProfile e(d, complain), live(d, complain);
		EvCall up, move, all, away;
		const mrc_evp_val A2 = val("0a", 2);
		const int want = fmt == kSrv6 ? 0 : -EINVAL;

		make(e, {A, B, A2}, kOffline, fmt);
		EXPECT_EQ(modify(e, up.state(kOnline)), want);

		make(live, {A, B, A, C}, kOnline, fmt);
		EvCall other;
		EXPECT_EQ(modify(live, other.replace(B, A2)), want);
		EvCall back;
		if (!want)
			EXPECT_EQ(modify(live, back.replace(A2, B)), 0);
		// One copy goes to the other port, the second stays.
		EXPECT_EQ(modify(live, move.replace(A, A2)), want);
		if (!want)
			continue;
		EXPECT_EQ(modify(live, all.replace(A, A2, kGood, kAll)), 0);
		EXPECT_EQ(live.evs(), (std::vector{A2, B, A2, C}));
		// With none left it may come back.
		EXPECT_EQ(modify(live, away.replace(A2, C, kGood, kAll)), 0);
		EvCall home;
		EXPECT_EQ(modify(live, home.replace(B, A)), 0);
	}
}

// Just the one EV there is may change its port.
TEST_F(ProfileEvOp, MoveToAnotherPort)
{
	EvProfile e(d, complain);
	EvCall c;

	make(e, {A, B}, kOnline);
	EXPECT_EQ(modify(e, c.replace(A, val("0a", 2))), 0);
	EXPECT_EQ(e.set.ev[0].port, 2u);
}

TEST_F(ProfileEvOp, QueryStates)
{
	EvProfile e(d, complain);
	EvCall deny, all, missing, array;
	const unsigned long bad[2] = {0b1011, 0};

	make(e, {A, B, C, D}, kOnline);
	EXPECT_EQ(modify(e, deny.set_state(B, kDenied)), 0);
	d.env.bad = bad;
	all.query_state(D).query_state(C).query_state(B).query_state(A);
	EXPECT_EQ(e.query(all), 0);
	EXPECT_EQ(all.entry[0].state, kBad);
	EXPECT_EQ(all.entry[1].state, kGood);
	// What the controller said is stronger.
	EXPECT_EQ(all.entry[2].state, kDenied);
	EXPECT_EQ(all.entry[3].state, kBad);

	missing.query_state(A).query_state(val("77", 1)).query_state(B);
	missing.entry[2].state = 0x55;
	EXPECT_EQ(e.query(missing), -ENOENT);
	EXPECT_EQ(missing.entry[0].state, kBad);
	EXPECT_EQ(missing.entry[2].state, 0x55u);

	EXPECT_EQ(e.query(array.query_array(4)), 0);
	const u32 want[] = {kBad, kDenied, kGood, kBad};
	for (u32 i = 0; i < 4; i++) {
		EXPECT_TRUE(array.entry[i].ev == e.p.ev[i].ev);
		EXPECT_EQ(array.entry[i].state, want[i]);
	}
}

// Bits beyond the first word.
TEST_F(ProfileEvOp, QueryStatesOfMany)
{
	EvProfile e(d, complain);
	unsigned long bad[32] = {};
	const u32 bits = 8 * sizeof(bad[0]);
	EvCall array;

	d.env.max_count = MRC_EV_MAX;
	d.env.free_count = MRC_EV_MAX;
	generate(e, kUdp, 300, {field(16, 0, 0xFFFF)});
	for (u32 i : {0u, 63u, 64u, 65u, 299u})
		bad[i / bits] |= 1ul << i % bits;
	d.env.bad = bad;
	EXPECT_EQ(e.query(array.query_array(300)), 0);
	for (u32 i = 0; i < 300; i++)
		EXPECT_EQ(array.entry[i].state,
			  bad[i / bits] >> i % bits & 1 ? kBad : kGood)
			<< i;
}

TEST_F(ProfileEvOp, QueryArrayWithoutRoom)
{
	EvProfile e(d, complain);

	make(e, {A, B, C}, kOnline);
	for (std::size_t room : {0, 1, 2, 3, 4, 50}) {
		EvCall q, m;
		const int want = room < 3 ? -E2BIG : 0;

		EXPECT_EQ(e.query(q.query_array(room)), want);
		EXPECT_EQ(modify(e, m.query_array(room)), want);
		EXPECT_EQ(q.r.n_entries, 3u);
		EXPECT_EQ(m.r.n_entries, 3u);
		if (!want)
			EXPECT_TRUE(q.entry[2].ev == C);
	}
}

} // namespace
