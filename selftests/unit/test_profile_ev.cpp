// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// EV profiles: libMRC's table, cell by cell, and what attributes may be.
#include <gtest/gtest.h>

#include "ev_profile.hpp"

namespace
{

using namespace mrc_test;

const u32 kAuto = MRC_EVP_AUTO, kExplicit = MRC_EVP_EXPLICIT,
	  kGenerated = MRC_EVP_GENERATED;
const u32 kModes[] = {kAuto, kExplicit, kGenerated};
// One of each that there is, one too many, none.
const u32 kEvOps[] = {0, 1, 2, 3, 4, kNoState};
const u32 kFieldsOps[] = {0, 1, 2, kNoState};
const u64 kStev = 10, kUdp = 11, kSrv6 = 12, kAway = 13;
const Fields kTwo = {field(16, 0x100, 0xF), field(16, 0x200, 0xF)};

void complain(const char *what)
{
	ADD_FAILURE() << what;
}

class ProfileEv : public testing::Test
{
protected:
	ProfileEv()
	{
		d.add(kStev, MRC_EV_FMT_STEV, {16, 16});
		d.add(kUdp, MRC_EV_FMT_UDP, {16});
		d.add(kSrv6, MRC_EV_FMT_SRV6, {32, 16, 16});
		d.add(kAway, MRC_EV_FMT_STEV, {16, 16});
		d.fmt[kAway].state = kOffline;
	}

	// Populated where that is the controller's task.
	void make(EvProfile &e, u8 state, u32 mode, u64 fmt = kStev,
		  u32 count = 4)
	{
		EvCall c, fill, up;

		if (state == kInit)
			return;
		c.state(kOffline).mode(mode);
		if (mode != kAuto)
			c.fmt(fmt).count(count);
		if (mode == kGenerated)
			c.fields(kTwo);
		ASSERT_EQ(e.modify(c), 0);
		if (mode == kExplicit) {
			for (u32 i = 0; i < count; i++)
				fill.replace({}, explicit_ev(i));
			ASSERT_EQ(e.modify(fill), 0);
		}
		if (state == kOnline)
			ASSERT_EQ(e.modify(up.state(kOnline)), 0);
	}

	static mrc_evp_val explicit_ev(u32 i)
	{
		mrc_evp_val v{};

		v.val[1] = static_cast<u8>(i + 1);
		v.port = static_cast<u8>(i % 2 + 1);
		return v;
	}

	int modify(EvProfile &e, EvCall &c)
	{
		const int rc = e.modify(c);

		e.check();
		return rc;
	}

	// A first call on a profile in INIT, up to OFFLINE.
	int first(EvCall &c)
	{
		EvProfile e(d, complain);

		return modify(e, c.state(kOffline));
	}

	Device d;
};

struct Case {
	u8 state;
	u32 mode;
	bool used, online;
	u32 to, attrs, ev_op, fields_op; // operations: kNoState = none
};

// libMRC's table, in the order in which it is laid down which error wins.
int expected(const Case &c)
{
	const bool ev = c.ev_op != kNoState, fields = c.fields_op != kNoState;
	const bool replaces = c.ev_op == 0, redefines = c.fields_op == 0;

	if ((ev && fields) || c.ev_op == 4 || c.fields_op == 2)
		return -EINVAL;
	if (c.to != kNoState && !legal_step(c.state, c.to))
		return -EINVAL;
	if (c.state == kInit) {
		if (c.to == kNoState && (c.attrs || ev || fields))
			return -EINVAL;
		if (ev || (fields && !redefines) ||
		    c.attrs & MRC_EVP_VENDOR_CFG)
			return -EINVAL;
	}
	if (c.state == kOnline) {
		if (c.attrs & (MRC_EVP_MODE | MRC_EVP_FMT_ID | MRC_EVP_COUNT |
			       MRC_EVP_MIN_ACTIVE | MRC_EVP_VENDOR_CFG))
			return -EINVAL;
		if (!c.online &&
		    (c.attrs & MRC_EVP_EVENT_MASK || replaces || redefines))
			return -EINVAL;
	}
	if (c.used && c.to != kNoState)
		return -EBUSY;
	if (c.state == kInit && c.to == kOffline) {
		if (!(c.attrs & MRC_EVP_MODE))
			return -EINVAL;
		if (c.mode != kAuto && !(c.attrs & MRC_EVP_FMT_ID))
			return -EINVAL;
		if (c.mode != kAuto && !(c.attrs & MRC_EVP_COUNT))
			return -EINVAL;
		if (c.mode == kGenerated && !redefines)
			return -EINVAL;
	}
	if (replaces && c.mode != kExplicit)
		return -EINVAL;
	// Nothing to check fields against.
	if (redefines && c.mode == kAuto && !(c.attrs & MRC_EVP_FMT_ID))
		return -EINVAL;
	// No such EV where the device keeps them to itself.
	if ((c.ev_op == 1 || c.ev_op == 2) && c.mode == kAuto)
		return -ENOENT;
	return 0;
}

TEST_F(ProfileEv, TableOfModify)
{
	const u32 bits[] = {MRC_EVP_MODE,	MRC_EVP_FMT_ID,
			    MRC_EVP_COUNT,	MRC_EVP_MIN_ACTIVE,
			    MRC_EVP_EVENT_MASK, MRC_EVP_VENDOR_CFG};
	unsigned ok = 0, refused = 0;

	each(
		[&](u8 state, u32 mode, bool used, bool online, u32 to,
		    u32 some, u32 ev_op, u32 fields_op) {
			EvProfile e(d, complain);
			EvCall c;
			u32 attrs = 0;

			if (used && state != kOnline)
				return;
			// Never both; a few will do.
			if (ev_op != kNoState && fields_op != kNoState &&
			    some % 16)
				return;
			if (HasFailure())
				return;
			for (u32 b = 0; b < 6; b++)
				attrs |= some >> b & 1 ? bits[b] : 0u;
			make(e, state, mode);
			e.p.users = used;
			d.env.modify_online = online;
			const std::vector<mrc_evp_val> evs = e.evs();
			const mrc_evp_val ev =
				evs.empty() ? explicit_ev(0) : evs[0];

			c.r.mask = attrs;
			c.r.mode = mode;
			c.r.fmt_id = kStev;
			c.r.count = 6;
			c.r.min_active = 3;
			c.r.event_mask = MRC_EVP_ASSUMED_BAD;
			if (to != kNoState)
				c.state(to);
			if (ev_op == 0)
				c.replace(ev, val("0777", 1), MRC_EVP_DENIED);
			else if (ev_op == 1)
				c.set_state(ev, MRC_EVP_DENIED);
			else if (ev_op == 2)
				c.query_state(ev);
			else if (ev_op == 3)
				c.query_array(8);
			else if (ev_op == 4)
				c.op(4, {});
			if (fields_op == 0)
				c.fields({field(16, 0, 0xFFFF),
					  field(12, 7, 0)});
			else if (fields_op == 1)
				c.query_fields(4);
			else if (fields_op == 2)
				c.fields_op(2, kTwo);
			const Case k = {state, mode,  used,  online,
					to,    attrs, ev_op, fields_op};
			int want = expected(k);

			// The two entries that come with the larger count are
			// empty.
			if (!want && to == kOnline && mode == kExplicit &&
			    attrs & MRC_EVP_COUNT)
				want = -EINVAL;
			ASSERT_EQ(modify(e, c), want)
				<< "state " << int{state} << " mode " << mode
				<< " used " << used << " capability " << online
				<< " to " << to << " attributes " << std::hex
				<< attrs << " ev_op " << ev_op << " fields_op "
				<< fields_op;
			e.p.users = 0;
			d.env.modify_online = true;
			(want ? refused : ok)++;
			const u8 now = want || to == kNoState
					       ? state
					       : static_cast<u8>(to);
			ASSERT_EQ(e.p.state, now);
			ASSERT_EQ(d.fmt[kStev].users,
				  now == kOnline && mode != kAuto ? 1u : 0u);
			if (!want && now != kInit) {
				if (attrs & MRC_EVP_COUNT)
					ASSERT_EQ(e.p.count, 6u);
				if (attrs & MRC_EVP_MIN_ACTIVE)
					ASSERT_EQ(e.p.min_active, 3u);
				if (attrs & MRC_EVP_EVENT_MASK)
					ASSERT_EQ(e.p.event_mask,
						  u32{MRC_EVP_ASSUMED_BAD});
				if (attrs & MRC_EVP_VENDOR_CFG)
					ASSERT_EQ(e.p.vendor[1], 0x71);
				if (ev_op == 0)
					ASSERT_TRUE(e.p.ev[0].ev ==
						    val("0777", 1));
				if (ev_op < 2)
					ASSERT_TRUE(e.p.ev[0].denied);
				if (fields_op == 0)
					ASSERT_EQ(e.p.n_fields, 2u);
			}
			if (!want && ev_op == 2)
				ASSERT_EQ(c.entry[0].state, u32{MRC_EVP_GOOD});
			if (!want && ev_op == 3)
				ASSERT_EQ(c.r.n_entries, evs.size());
			// Leave no users behind.
			if (now == kOnline && mode != kAuto)
				d.fmt[kStev].users--;
		},
		kStates, kModes, kBools, kBools, kTargets, up_to(64), kEvOps,
		kFieldsOps);
	EXPECT_GT(ok, 2000u);
	EXPECT_GT(refused, 20000u);
}

TEST_F(ProfileEv, TableOfQuery)
{
	const u32 bits[] = {MRC_EVP_STATE,	MRC_EVP_CUR_STATE,
			    MRC_EVP_MODE,	MRC_EVP_FMT_ID,
			    MRC_EVP_COUNT,	MRC_EVP_MIN_ACTIVE,
			    MRC_EVP_EVENT_MASK, MRC_EVP_VENDOR_CFG};

	each(
		[&](u8 state, u32 mode, u32 some, u32 ev_op, u32 fields_op) {
			Device dev;
			EvProfile e(dev, complain);
			EvCall c;
			u32 attrs = 0;
			int want = 0;

			dev.add(kStev, MRC_EV_FMT_STEV, {16, 16});
			for (u32 b = 0; b < 8; b++)
				attrs |= some >> b & 1 ? bits[b] : 0u;
			make(e, state, mode);
			const bool ev = ev_op != kNoState,
				   fl = fields_op != kNoState;
			if (ev)
				c.query_array(8);
			if (fl)
				c.query_fields(4);
			c.r.ev_op = ev_op;
			c.r.fields_op = fields_op;
			c.r.mask |= attrs;
			if (ev && !e.evs().empty())
				c.entry[0].ev = e.evs()[0];
			c.r.n_entries = ev_op == 2 ? 1 : c.r.n_entries;

			if ((ev && fl) || (ev && ev_op != 2 && ev_op != 3) ||
			    (fl && fields_op != 1) ||
			    (state == kInit &&
			     (ev || fl ||
			      attrs & ~u32{MRC_EVP_STATE | MRC_EVP_CUR_STATE})))
				want = -EINVAL;
			else if (ev_op == 2 && mode == kAuto)
				want = -ENOENT;
			ASSERT_EQ(e.query(c), want)
				<< int{state} << " " << mode << " " << attrs
				<< " " << ev_op << " " << fields_op;
			if (want)
				return;
			if (attrs & MRC_EVP_STATE)
				ASSERT_EQ(c.r.state, state);
			if (attrs & MRC_EVP_CUR_STATE)
				ASSERT_EQ(c.r.cur_state, state);
			if (attrs & MRC_EVP_MODE)
				ASSERT_EQ(c.r.mode, mode);
			if (attrs & MRC_EVP_FMT_ID)
				ASSERT_EQ(c.r.fmt_id,
					  mode == kAuto ? 0 : kStev);
			if (attrs & MRC_EVP_COUNT)
				ASSERT_EQ(c.r.count, mode == kAuto ? 0u : 4u);
			if (ev_op == 3)
				ASSERT_EQ(c.r.n_entries,
					  mode == kAuto ? 0u : 4u);
			if (fields_op == 1)
				ASSERT_EQ(c.r.n_fields,
					  mode == kAuto ? 0u : 2u);
		},
		kStates, kModes, up_to(256), kEvOps, kFieldsOps);
}

TEST_F(ProfileEv, UnknownAttributesAndOperations)
{
	for (u8 state : kStates) {
		EvProfile e(d, complain);

		make(e, state, kExplicit);
		for (u32 bit = 9; bit < 31; bit++) {
			EvCall c(1u << bit);

			EXPECT_EQ(modify(e, c), -EINVAL);
			EXPECT_EQ(e.query(c), -EINVAL);
		}
		EvCall nothing, op, fields;
		EXPECT_EQ(modify(e, nothing), 0);
		EXPECT_EQ(e.query(nothing), 0);
		op.op(4, {});
		EXPECT_EQ(modify(e, op), -EINVAL);
		op.r.ev_op = ~0u;
		EXPECT_EQ(modify(e, op), -EINVAL);
		fields.fields_op(2, kTwo);
		EXPECT_EQ(modify(e, fields), -EINVAL);
	}
}

TEST_F(ProfileEv, CurrentState)
{
	for (u8 state : kStates) {
		for (u32 is = 0; is < 4; is++) {
			EvProfile e(d, complain);
			EvCall c;

			make(e, state, kExplicit);
			EXPECT_EQ(modify(e, c.cur(is)),
				  is == state ? 0 : -EINVAL);
		}
	}
}

// "Required" is what has a value by the end of the call, whenever it got it.
TEST_F(ProfileEv, ModesByAndBy)
{
	EvProfile e(d, complain);
	EvCall a, b, c, f, g;

	EXPECT_EQ(modify(e, a.state(kOffline).mode(kAuto)), 0);
	// Neither format nor count yet.
	EXPECT_EQ(modify(e, b.mode(kExplicit)), -EINVAL);
	EXPECT_EQ(modify(e, c.fmt(kUdp).count(4)), 0);
	EXPECT_EQ(e.p.n_ev, 0u);
	EXPECT_EQ(modify(e, b), 0);
	EXPECT_EQ(e.p.n_ev, 4u);
	// No fields yet.
	EXPECT_EQ(modify(e, f.mode(kGenerated)), -EINVAL);
	EXPECT_EQ(modify(e, g.fields({field(16, 0, 0xFF)})), 0);
	EXPECT_EQ(modify(e, f), 0);
	// Of what the controller gave nothing is left.
	EXPECT_EQ(modify(e, b), 0);
	for (const mrc_evp_val &v : e.evs())
		EXPECT_TRUE(v == mrc_evp_val{});
	EvCall h;
	EXPECT_EQ(modify(e, h.mode(kAuto)), 0);
	EXPECT_EQ(e.p.n_ev, 0u);
	EXPECT_EQ(e.p.count, 4u);
}

TEST_F(ProfileEv, Values)
{
	const auto rc = [&](u32 mode, u64 fmt, u32 count) {
		EvCall c;

		return first(c.mode(mode).fmt(fmt).count(count));
	};

	for (u32 mode : {0u, 3u, 5u, 6u, 7u, 8u, 0x101u, 0x80000000u})
		EXPECT_EQ(rc(mode, kStev, 4), -EINVAL) << mode;
	EXPECT_EQ(rc(kExplicit, 99, 4), -EINVAL);
	EXPECT_EQ(rc(kExplicit, kAway, 4), -EINVAL);
	EXPECT_EQ(rc(kAuto, kAway, 4), -EINVAL);
	EXPECT_EQ(rc(kExplicit, kStev, 0), -EINVAL);
	EXPECT_EQ(rc(kAuto, kStev, 0), -EINVAL);
	EXPECT_EQ(rc(kExplicit, kStev, 64), 0);
	EXPECT_EQ(rc(kExplicit, kStev, 65), -E2BIG);
	EXPECT_EQ(rc(kAuto, kStev, 65), -E2BIG);
	EXPECT_EQ(rc(kExplicit, kStev, ~0u), -E2BIG);
	d.env.free_count = 10;
	EXPECT_EQ(rc(kExplicit, kStev, 10), 0);
	EXPECT_EQ(rc(kExplicit, kStev, 11), -E2BIG);
	EXPECT_EQ(rc(kAuto, kStev, 11), 0);
	// Nobody can be granted more than sets may have.
	d.env.max_count = ~0u;
	d.env.free_count = ~0u;
	EXPECT_EQ(rc(kExplicit, kStev, MRC_EV_MAX), 0);
	EXPECT_EQ(rc(kExplicit, kStev, MRC_EV_MAX + 1), -E2BIG);
	d.env.fmt = nullptr;
	EXPECT_EQ(rc(kExplicit, kStev, 4), -EINVAL);
}

// What the profile has is not taken from the rest of the device.
TEST_F(ProfileEv, OwnEvsAreFree)
{
	EvProfile e(d, complain);
	EvCall a, b, c, m;

	make(e, kOffline, kExplicit, kStev, 8);
	d.env.free_count = 2;
	EXPECT_EQ(modify(e, a.count(11)), -E2BIG);
	EXPECT_EQ(modify(e, b.count(10)), 0);
	d.env.free_count = 0;
	EXPECT_EQ(modify(e, c.count(4)), 0);
	// A change of mode takes what AUTO did not.
	EXPECT_EQ(modify(e, m.mode(kAuto)), 0);
	EvCall x, y;
	EXPECT_EQ(modify(e, x.mode(kExplicit)), -E2BIG);
	d.env.free_count = 4;
	EXPECT_EQ(modify(e, y.mode(kExplicit)), 0);
}

TEST_F(ProfileEv, MinActiveAndEvents)
{
	const auto rc = [&](u32 min_active, u32 events) {
		EvCall c;

		return first(c.mode(kExplicit)
				     .fmt(kStev)
				     .count(8)
				     .min_active(min_active)
				     .events(events));
	};

	EXPECT_EQ(rc(8, 0), 0);
	EXPECT_EQ(rc(9, 0), -EINVAL);
	EXPECT_EQ(rc(~0u, 0), -EINVAL);
	EXPECT_EQ(rc(0, MRC_EVP_GOOD), 0);
	EXPECT_EQ(rc(0, MRC_EVP_GOOD | MRC_EVP_ASSUMED_BAD), 0);
	EXPECT_EQ(rc(0, MRC_EVP_DENIED), -EINVAL);
	EXPECT_EQ(rc(0, MRC_EVP_UNKNOWN), -EINVAL);
	EXPECT_EQ(rc(0, 8), -EINVAL);

	// A smaller count has to respect it as well.
	EvProfile e(d, complain);
	EvCall a, b, c;
	make(e, kOffline, kExplicit, kStev, 8);
	EXPECT_EQ(modify(e, a.min_active(6)), 0);
	EXPECT_EQ(modify(e, b.count(5)), -EINVAL);
	EXPECT_EQ(modify(e, c.count(5).min_active(5)), 0);
	// Without a count the device's limit is what there is.
	EvCall f, g;
	EXPECT_EQ(first(f.mode(kAuto).min_active(64)), 0);
	EXPECT_EQ(first(g.mode(kAuto).min_active(65)), -EINVAL);
}

TEST_F(ProfileEv, Fields)
{
	const auto rc = [&](const Fields &f) {
		EvCall c;

		return first(c.mode(kGenerated).fmt(kStev).count(4).fields(f));
	};

	EXPECT_EQ(rc(kTwo), 0);
	EXPECT_EQ(rc({}), -EINVAL);
	EXPECT_EQ(rc(Fields(3, field(8, 0, 0xFF))), -EINVAL);
	EXPECT_EQ(rc(Fields(33, field(1, 0, 1))), -E2BIG);
	EXPECT_EQ(rc({field(17, 0, 0xFF)}), -EINVAL);
	EXPECT_EQ(rc({field(16, 0x10000, 0xFF)}), -EINVAL);
	EXPECT_EQ(rc({field(4, 0, 0x1F)}), -EINVAL);
	EXPECT_EQ(rc({field(16, 0, 0xFF, 3, 2)}), -EINVAL);
	EXPECT_EQ(rc({field(16, 0, 0xFF, 0, 0x100)}), -EINVAL);

	// Against a format that is not there.
	EvProfile e(d, complain);
	EvCall c;
	make(e, kOffline, kExplicit);
	d.fmt[kStev].state = kOffline;
	EXPECT_EQ(modify(e, c.fields(kTwo)), -EINVAL);
}

TEST_F(ProfileEv, QueryFields)
{
	EvProfile gen(d, complain), exp(d, complain);

	make(gen, kOnline, kGenerated);
	make(exp, kOnline, kExplicit);
	for (std::size_t room : {0, 1, 2, 3}) {
		EvCall a, b, c;
		const int want = room < 2 ? -E2BIG : 0;

		EXPECT_EQ(gen.query(a.query_fields(room)), want);
		EXPECT_EQ(gen.modify(b.query_fields(room)), want);
		EXPECT_EQ(exp.query(c.query_fields(room)), want);
		for (const EvCall *q : {&a, &b, &c})
			EXPECT_EQ(q->r.n_fields, 2u);
		if (want)
			continue;
		EXPECT_EQ(a.field[1].init_val, 0x200u);
		EXPECT_EQ(b.field[0].mask, 0xFu);
		// Never set: the identity.
		EXPECT_EQ(c.field[0].width, 16u);
		EXPECT_EQ(c.field[1].mask, 0xFFFFu);
		EXPECT_EQ(c.field[1].init_val, 0u);
	}
}

// As long as a profile is not ONLINE its format may lose all of its fields; who asks
// with room for none need not have an array.
TEST_F(ProfileEv, QueryFieldsOfAFormatWithoutAny)
{
	EvProfile e(d, complain);
	EvCall q;

	make(e, kOffline, kExplicit);
	d.fmt[kStev].fmt.n = 0;
	q.query_fields(0).r.field = nullptr;
	EXPECT_EQ(e.query(q), 0);
	EXPECT_EQ(q.r.n_fields, 0u);
}

// Nothing of this is needed for AUTO, and no set is made for it.
TEST_F(ProfileEv, AutoHasNoEvs)
{
	EvProfile e(d, complain);
	EvCall up, q;

	make(e, kOffline, kAuto);
	EXPECT_EQ(mrc_evp_set_mem_after(&e.p, &up.state(kOnline).r, &d.env),
		  0u);
	EXPECT_EQ(modify(e, up), 0);
	EXPECT_EQ(mrc_evp_set_mem(&e.p, &d.fmt[kStev]), 0u);
	EXPECT_EQ(e.query(q.query_array(0)), 0);
}

// The format must be there, and as it was, when the profile goes ONLINE.
TEST_F(ProfileEv, FormatChangesMeanwhile)
{
	for (u32 mode : {kExplicit, kGenerated}) {
		EvProfile e(d, complain);
		EvCall up, down, again;

		make(e, kOffline, mode);
		d.fmt[kStev].state = kOffline;
		EXPECT_EQ(modify(e, up.state(kOnline)), -EINVAL);
		d.add(kStev, MRC_EV_FMT_STEV, {2, 2});
		EXPECT_EQ(modify(e, up), -EINVAL);
		d.add(kStev, MRC_EV_FMT_STEV, {16, 16});
		EXPECT_EQ(modify(e, up), 0);
		EXPECT_EQ(d.fmt[kStev].users, 1u);
		EXPECT_EQ(modify(e, down.state(kOffline)), 0);
		EXPECT_EQ(d.fmt[kStev].users, 0u);
	}
}

// The EV profile holds its format.
TEST_F(ProfileEv, FormatIsBusy)
{
	EvProfile a(d, complain), b(d, complain);
	EvCall down_a, down_b;
	mrc_fmt_req r{};

	make(a, kOnline, kExplicit);
	make(b, kOnline, kGenerated);
	EXPECT_EQ(d.fmt[kStev].users, 2u);
	r.mask = MRC_FMT_STATE;
	r.state = kOffline;
	EXPECT_EQ(mrc_fmt_modify(&d.fmt[kStev], &r), -EBUSY);
	EXPECT_EQ(modify(a, down_a.state(kOffline)), 0);
	EXPECT_EQ(mrc_fmt_modify(&d.fmt[kStev], &r), -EBUSY);
	EXPECT_EQ(modify(b, down_b.state(kOffline)), 0);
	EXPECT_EQ(mrc_fmt_modify(&d.fmt[kStev], &r), 0);
}

// Which memory is to be brought, and what happens without it.
TEST_F(ProfileEv, MemoryForEvs)
{
	EvProfile e(d, complain);
	EvCall c, same, more, mode, away;
	mrc_evp_ev *mem = nullptr;
	mrc_evp_ev spare[4];

	c.state(kOffline).mode(kExplicit).fmt(kStev).count(4);
	EXPECT_EQ(mrc_evp_array_after(&e.p, &c.r, &d.env), 4u);
	EXPECT_EQ(mrc_evp_modify(&e.p, &c.r, &d.env, &mem), -ENOMEM);
	EXPECT_EQ(e.p.state, kInit);
	EXPECT_EQ(modify(e, c), 0);

	EXPECT_EQ(mrc_evp_array_after(&e.p, &same.count(4).r, &d.env), 0u);
	EXPECT_EQ(mrc_evp_count_after(&e.p, &same.r, &d.env), 4u);
	mem = spare;
	EXPECT_EQ(mrc_evp_modify(&e.p, &same.r, &d.env, &mem), -EINVAL);
	EXPECT_EQ(mem, spare);
	EXPECT_EQ(mrc_evp_array_after(&e.p, &more.count(7).r, &d.env), 7u);
	EXPECT_EQ(mrc_evp_array_after(&e.p, &mode.mode(kAuto).r, &d.env), 0u);
	EXPECT_EQ(mrc_evp_count_after(&e.p, &mode.r, &d.env), 0u);
	EXPECT_EQ(mrc_evp_count_after(&e.p, &away.state(kInit).r, &d.env), 0u);
	// A call that will be refused asks for nothing.
	EvCall bad;
	EXPECT_EQ(mrc_evp_array_after(&e.p, &bad.count(65).r, &d.env), 0u);
	EXPECT_EQ(mrc_evp_count_after(&e.p, &bad.r, &d.env), 4u);
	EXPECT_EQ(modify(e, away), 0);
	EXPECT_EQ(e.p.ev, nullptr);
}

// A set is announced exactly when QPs have to learn of something.
TEST_F(ProfileEv, MemoryForSets)
{
	EvProfile e(d, complain);
	EvCall up, down, none, events, query, state, fields, both;

	make(e, kOffline, kExplicit);
	const auto size = [&](EvCall &c) {
		return mrc_evp_set_mem_after(&e.p, &c.r, &d.env);
	};
	state.set_state(explicit_ev(0), MRC_EVP_DENIED);
	EXPECT_EQ(size(state), 0u);
	EXPECT_EQ(size(up.state(kOnline)), mrc_evset_mem(4, MRC_EV_FMT_STEV));
	EXPECT_EQ(modify(e, up), 0);
	EXPECT_EQ(size(none), 0u);
	EXPECT_EQ(size(query.query_array(4)), 0u);
	EXPECT_GT(size(state), 0u);
	EXPECT_GT(size(events.events(MRC_EVP_GOOD)), 0u);
	EXPECT_GT(size(fields.fields(
			  {field(16, 0, 0xFFFF), field(16, 1, 0xFFFE)})),
		  0u);
	EXPECT_EQ(size(down.state(kOffline)), 0u);
	// The batch may fail, and then it stays ONLINE.
	EXPECT_GT(size(both.state(kOffline).set_state(explicit_ev(0),
						      MRC_EVP_DENIED)),
		  0u);
}

} // namespace
