// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// EV format profiles: libMRC's table, cell by cell.
#include <algorithm>

#include <gtest/gtest.h>

#include "profiles.hpp"

namespace
{

using namespace mrc_test;

// A call, and room for what it returns.
struct Call {
	explicit Call(u32 mask) : r{}, width{}, vendor(vendor_of(0x30))
	{
		r.mask = mask;
		r.mode = MRC_EV_FMT_STEV;
		r.op = MRC_FMT_OP_MODIFY_FIELDS;
		r.n = 2;
		r.width = width.data();
		width[0] = 12;
		width[1] = 20;
		r.vendor = vendor.data();
	}

	Call &state(u32 to)
	{
		r.mask |= MRC_FMT_STATE;
		r.state = to;
		return *this;
	}

	Call &cur(u32 is)
	{
		r.mask |= MRC_FMT_CUR_STATE;
		r.cur_state = is;
		return *this;
	}

	Call &mode(u32 m)
	{
		r.mask |= MRC_FMT_MODE;
		r.mode = m;
		return *this;
	}

	Call &fields(const std::vector<u8> &w)
	{
		r.mask |= MRC_FMT_OP;
		r.op = MRC_FMT_OP_MODIFY_FIELDS;
		r.n = static_cast<u32>(w.size());
		std::copy(w.begin(), w.end(), width.begin());
		return *this;
	}

	Call &query_fields(u32 room)
	{
		r.mask |= MRC_FMT_OP;
		r.op = MRC_FMT_OP_QUERY_FIELDS;
		r.n = room;
		return *this;
	}

	mrc_fmt_req r;
	std::array<u8, 64> width;
	Vendor vendor;
};

int modify(mrc_fmt_profile &p, Call c)
{
	return mrc_fmt_modify(&p, &c.r);
}

// A failure leaves not a byte changed.
int modify_strict(mrc_fmt_profile &p, Call &c)
{
	const std::vector<u8> before = bytes_of(p);
	const int rc = mrc_fmt_modify(&p, &c.r);

	if (rc)
		EXPECT_EQ(before, bytes_of(p));
	return rc;
}

mrc_fmt_profile make(u8 state, bool with_fields = true)
{
	mrc_fmt_profile p{};

	if (state == kInit)
		return p;
	Call c(0);
	c.state(kOffline).mode(MRC_EV_FMT_STEV);
	if (with_fields)
		c.fields({8, 24});
	EXPECT_EQ(mrc_fmt_modify(&p, &c.r), 0);
	if (state == kOnline)
		EXPECT_EQ(modify(p, Call(0).state(kOnline)), 0);
	return p;
}

// What the table says, from the names of the cells: @to is kNoState without a
// change of state, @op none (2), modify (0) or query (1).
int expected(u8 state, u32 to, bool mode, u32 op, bool vendor, bool has_fields,
	     bool used)
{
	const bool modifies = op == 0, queries = op == 1;
	const bool up = state == kInit && to == kOffline;

	if (to != kNoState && !legal_step(state, to))
		return -EINVAL;
	if (used && (to != kNoState || mode || modifies || vendor))
		return -EBUSY;
	if (up && !mode)
		return -EINVAL;
	if (state == kInit && !up && (mode || modifies))
		return -EINVAL;
	if (state == kInit && (queries || vendor))
		return -EINVAL;
	if (state == kOnline && (mode || modifies || vendor))
		return -EINVAL;
	if (to == kOnline && !has_fields && !modifies)
		return -EINVAL;
	return 0;
}

TEST(ProfileFmt, TableOfModify)
{
	unsigned ok = 0, refused = 0;

	each(
		[&](u8 state, bool has_fields, bool used, u32 to, bool mode,
		    u32 op, bool vendor) {
			// No such profile: without fields ONLINE, in use
			// elsewhere.
			if (state == kOnline ? !has_fields : used)
				return;
			if (state == kInit && has_fields)
				return;
			mrc_fmt_profile p = make(state, has_fields);
			Call c((mode ? MRC_FMT_MODE : 0u) |
			       (op < 2 ? MRC_FMT_OP : 0u) |
			       (vendor ? MRC_FMT_VENDOR_CFG : 0u));

			p.users = used;
			c.r.op = op;
			if (to != kNoState)
				c.state(to);
			const mrc_fmt_profile before = p;
			const int want = expected(state, to, mode, op, vendor,
						  has_fields, used);

			SCOPED_TRACE(testing::Message()
				     << "state " << int{state} << " to " << to
				     << " mode " << mode << " op " << op
				     << " vendor " << vendor << " fields "
				     << has_fields << " used " << used);
			ASSERT_EQ(modify_strict(p, c), want);
			(want ? refused : ok)++;
			if (want)
				return;
			EXPECT_EQ(p.state, to == kNoState ? state : to);
			EXPECT_EQ(p.users, before.users);
			if (to == kInit) {
				EXPECT_EQ(bytes_of(p),
					  bytes_of(mrc_fmt_profile{}));
				return;
			}
			if (op == 0) {
				EXPECT_TRUE(p.has_fields);
				EXPECT_EQ(p.fmt.n, 2u);
				EXPECT_EQ(p.fmt.width[0], 12u);
				EXPECT_EQ(p.fmt.width[1], 20u);
			} else {
				EXPECT_EQ(std::memcmp(p.fmt.width,
						      before.fmt.width,
						      sizeof(p.fmt.width)),
					  0);
			}
			if (op == 1) {
				EXPECT_EQ(c.r.n, has_fields ? 2u : 0u);
				EXPECT_EQ(c.width[0], has_fields ? 8u : 12u);
			}
			if (vendor)
				EXPECT_EQ(std::memcmp(p.vendor, c.vendor.data(),
						      MRC_VENDOR_CFG),
					  0);
		},
		kStates, kBools, kBools, kTargets, kBools, up_to(3), kBools);
	EXPECT_GT(ok, 20u);
	EXPECT_GT(refused, 100u);
}

TEST(ProfileFmt, TableOfQuery)
{
	each(
		[&](u8 state, u32 mask, bool vendor, u32 op) {
			mrc_fmt_profile p = make(state);
			const std::vector<u8> before = bytes_of(p);
			Call c(mask | (vendor ? MRC_FMT_VENDOR_CFG : 0u));
			const bool has_op = mask & MRC_FMT_OP;
			const bool bad =
				(state == kInit &&
				 (mask & MRC_FMT_MODE || has_op || vendor)) ||
				(has_op && op != 1);

			c.r.op = op;
			ASSERT_EQ(mrc_fmt_query(&p, &c.r), bad ? -EINVAL : 0)
				<< int{state} << " " << mask << " " << op;
			EXPECT_EQ(before, bytes_of(p));
			if (bad)
				return;
			if (mask & MRC_FMT_STATE)
				EXPECT_EQ(c.r.state, state);
			if (mask & MRC_FMT_CUR_STATE)
				EXPECT_EQ(c.r.cur_state, state);
			if (mask & MRC_FMT_MODE)
				EXPECT_EQ(c.r.mode, u32{MRC_EV_FMT_STEV});
			if (has_op) {
				EXPECT_EQ(c.r.n, 2u);
				EXPECT_EQ(c.width[0], 8u);
				EXPECT_EQ(c.width[1], 24u);
			}
		},
		kStates, up_to(16), kBools, up_to(3));
}

TEST(ProfileFmt, UnknownAttributes)
{
	for (u32 bit = 4; bit < 31; bit++) {
		mrc_fmt_profile p = make(kOffline);
		Call c(1u << bit);

		EXPECT_EQ(modify_strict(p, c), -EINVAL);
		EXPECT_EQ(mrc_fmt_query(&p, &c.r), -EINVAL);
	}
	mrc_fmt_profile p = make(kOffline);
	EXPECT_EQ(modify(p, Call(0)), 0);
}

TEST(ProfileFmt, CurrentState)
{
	for (u8 state : kStates) {
		for (u32 is = 0; is < 4; is++) {
			mrc_fmt_profile p = make(state);
			Call c(0);

			c.cur(is);
			EXPECT_EQ(modify_strict(p, c),
				  is == state ? 0 : -EINVAL);
		}
	}
	// Also when the step itself would be fine.
	mrc_fmt_profile p = make(kOffline);
	EXPECT_EQ(modify(p, Call(0).state(kOnline).cur(kOnline)), -EINVAL);
	EXPECT_EQ(modify(p, Call(0).state(kOnline).cur(kOffline)), 0);
}

TEST(ProfileFmt, Values)
{
	const auto rc = [](u32 mode, const std::vector<u8> &w) {
		mrc_fmt_profile p{};
		Call c(0);

		c.state(kOffline).mode(mode).fields(w);
		return modify_strict(p, c);
	};

	for (u32 mode :
	     {0u, 3u, 5u, 6u, 7u, 8u, 0x100u + MRC_EV_FMT_UDP, 0x80000000u})
		EXPECT_EQ(rc(mode, {8}), -EINVAL) << mode;
	EXPECT_EQ(rc(MRC_EV_FMT_UDP, {8, 8}), 0);
	EXPECT_EQ(rc(MRC_EV_FMT_UDP, {8, 9}), -E2BIG);
	EXPECT_EQ(rc(MRC_EV_FMT_STEV, {32}), 0);
	EXPECT_EQ(rc(MRC_EV_FMT_STEV, {32, 1}), -E2BIG);
	EXPECT_EQ(rc(MRC_EV_FMT_SRV6, std::vector<u8>(8, 32)), 0);
	EXPECT_EQ(rc(MRC_EV_FMT_SRV6, std::vector<u8>(9, 32)), -E2BIG);
	EXPECT_EQ(rc(MRC_EV_FMT_SRV6, std::vector<u8>(33, 1)), -E2BIG);
	EXPECT_EQ(rc(MRC_EV_FMT_SRV6, std::vector<u8>(5, 30)), -EINVAL);
	EXPECT_EQ(rc(MRC_EV_FMT_SRV6, {8, 0}), -EINVAL);
	EXPECT_EQ(rc(MRC_EV_FMT_UDP, {}), -EINVAL);

	// A count that does not fit into what stores it.
	mrc_fmt_profile p = make(kOffline);
	for (u32 n : {33u, 256u, 258u, 0x10001u, ~0u}) {
		Call c(MRC_FMT_OP);

		c.r.n = n;
		EXPECT_EQ(modify_strict(p, c), -E2BIG) << n;
	}
}

// Another mode alone must suit the fields that are there.
TEST(ProfileFmt, ModeAndFieldsTogether)
{
	mrc_fmt_profile p = make(kOffline);
	Call to_udp(0);

	EXPECT_EQ(modify_strict(p, to_udp.mode(MRC_EV_FMT_UDP)), -E2BIG);
	EXPECT_EQ(modify(p, Call(0).mode(MRC_EV_FMT_SRV6)), 0);
	EXPECT_EQ(p.fmt.mode, MRC_EV_FMT_SRV6);
	EXPECT_EQ(modify(p, Call(0).mode(MRC_EV_FMT_UDP).fields({16})), 0);
	EXPECT_EQ(p.fmt.n, 1u);
	// Nothing of the wider format is left.
	EXPECT_EQ(p.fmt.width[1], 0u);
}

TEST(ProfileFmt, QueryWithoutRoom)
{
	for (u32 room : {0u, 1u, 2u, 3u, 100u}) {
		mrc_fmt_profile p = make(kOnline);
		Call a(0), b(0);

		a.query_fields(room);
		b.query_fields(room);
		const int want = room < 2 ? -E2BIG : 0;
		EXPECT_EQ(mrc_fmt_query(&p, &a.r), want);
		EXPECT_EQ(modify_strict(p, b), want);
		for (const Call *c : {&a, &b}) {
			EXPECT_EQ(c->r.n, 2u);
			EXPECT_EQ(c->width[0], want ? 12u : 8u);
		}
	}
	// With a change that succeeds otherwise: nothing of it is done.
	mrc_fmt_profile p = make(kOffline);
	Call c(0);
	c.state(kOnline).query_fields(1);
	EXPECT_EQ(modify_strict(p, c), -E2BIG);
	EXPECT_EQ(c.r.n, 2u);
}

TEST(ProfileFmt, WholeLife)
{
	mrc_fmt_profile p{};

	for (int turn = 0; turn < 2; turn++) {
		EXPECT_EQ(modify(p,
				 Call(0).state(kOffline).mode(MRC_EV_FMT_SRV6)),
			  0);
		EXPECT_EQ(modify(p, Call(0).state(kOnline)), -EINVAL);
		EXPECT_EQ(modify(p, Call(0).fields({32, 16})), 0);
		EXPECT_EQ(modify(p, Call(MRC_FMT_VENDOR_CFG).state(kOnline)),
			  0);
		EXPECT_EQ(p.vendor[0], 0x30);
		EXPECT_EQ(modify(p, Call(0).state(kInit)), -EINVAL);
		EXPECT_EQ(modify(p, Call(0).state(kOffline)), 0);
		EXPECT_EQ(modify(p, Call(0).state(kInit)), 0);
		EXPECT_EQ(bytes_of(p), bytes_of(mrc_fmt_profile{}));
	}
}

// Both in one call, up to ONLINE.
TEST(ProfileFmt, FieldsOnTheWayOnline)
{
	mrc_fmt_profile p = make(kOffline, false);

	EXPECT_EQ(modify(p, Call(0).state(kOnline).fields({4})), 0);
	EXPECT_EQ(p.state, kOnline);
	EXPECT_EQ(p.fmt.width[0], 4u);
}

} // namespace
