// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* EV profiles: which request is possible in which state, in each mode. */
#include <cerrno>
#include <cstring>

#include "table.hpp"
#include "tests.hpp"

namespace
{
constexpr uint64_t fmt = 5, fmt_offline = 6, id = 9;
constexpr int I = EINVAL, N = ENOENT;
constexpr int mode_bit = MRC_CTL_EV_PROFILE_MODE;
constexpr int fmt_bit = MRC_CTL_EV_PROFILE_FMT_ID;
constexpr int count_bit = MRC_CTL_EV_PROFILE_COUNT;
constexpr int min_bit = MRC_CTL_EV_PROFILE_MIN_ACTIVE;
constexpr int event_bit = MRC_CTL_EV_PROFILE_EVENT_MASK;
constexpr int op_bit = MRC_CTL_EV_PROFILE_EV_OP;
constexpr int fields_bit = MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
/* What it takes to leave INIT in explicit mode. */
constexpr int make_bits = state_bit | mode_bit | fmt_bit | count_bit;

Field full[] = {field(16, 0, 0xffff)};
Field narrow[] = {field(16, 0xc000, 0x0fff)};
Field room[32];
Entry one[1], all[4], array[16];

template <int state> void values(EvAttr &a)
{
	a.profile_state = static_cast<mrc_ctl_profile_state>(state);
	a.ev_mode = MRC_CTL_EV_MODE_EXP;
	a.ev_fmt_profile_id = fmt;
	a.ev_count = 4;
	a.ev_min_active = 2;
	a.ev_event_mask = MRC_CTL_EV_GOOD;
}

void nothing(EvAttr &) {}

template <int op, int state = 0> void ev_operation(EvAttr &a)
{
	values<OFFLINE>(a);
	one[0] = replacement(ev16(0x4000, 1), ev16(0x5000, 1), state);
	if (op == MRC_CTL_EV_OP_QUERY_EV_ARRAY)
		a.ev_op = {static_cast<mrc_ctl_ev_op>(op), array, 16};
	else
		a.ev_op = {static_cast<mrc_ctl_ev_op>(op), one, 1};
}

template <int op> void fields_operation(EvAttr &a)
{
	values<OFFLINE>(a);
	if (op == MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS)
		a.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, full, 1};
	else
		a.ev_fields_op = {static_cast<mrc_ctl_ev_fields_op>(op), room,
				  32};
}

/* Everything that ONLINE needs, in the call that goes there. */
void populate(EvAttr &a)
{
	values<ONLINE>(a);
	for (unsigned i = 0; i < 4; i++)
		all[i] = replacement(MRC_CTL_EV_UNPOPULATED,
				     ev16(static_cast<uint16_t>(0x6000 + i), 2),
				     MRC_CTL_EV_GOOD);
	a.ev_op = {MRC_CTL_EV_OP_REPLACE_EV, all, 4};
}

using Rows = std::vector<Row<EvProfile>>;

/* What is the same in all modes. */
const Rows common = {
	{"-> INIT", Call::modify, state_bit, values<INIT>, {I, 0, I}},
	{"-> OFFLINE", Call::modify, state_bit, values<OFFLINE>, {I, I, 0}},
	{"-> OFFLINE, MODE",
	 Call::modify,
	 state_bit | mode_bit,
	 values<OFFLINE>,
	 {I, I, I}},
	{"-> OFFLINE, MODE, FMT_ID",
	 Call::modify,
	 state_bit | mode_bit | fmt_bit,
	 values<OFFLINE>,
	 {I, I, I}},
	{"-> OFFLINE, MODE, COUNT",
	 Call::modify,
	 state_bit | mode_bit | count_bit,
	 values<OFFLINE>,
	 {I, I, I}},
	{"-> OFFLINE, MODE, FMT_ID, COUNT",
	 Call::modify,
	 make_bits,
	 values<OFFLINE>,
	 {0, I, I}},
	{"-> OFFLINE, everything",
	 Call::modify,
	 make_bits | min_bit | event_bit | fields_bit,
	 fields_operation<MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS>,
	 {0, I, I}},
	{"-> OFFLINE, everything and VENDOR_CFG",
	 Call::modify,
	 make_bits | min_bit | event_bit | fields_bit | vendor_bit,
	 fields_operation<MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS>,
	 {I, I, I}},
	{"-> OFFLINE, everything, a wrong event mask",
	 Call::modify,
	 make_bits | min_bit | event_bit | fields_bit,
	 [](EvAttr &a) {
		 fields_operation<MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS>(a);
		 a.ev_event_mask = MRC_CTL_EV_DENIED;
	 },
	 {I, I, I}},
	{"-> OFFLINE, EVENT_MASK",
	 Call::modify,
	 state_bit | event_bit,
	 values<OFFLINE>,
	 {I, I, 0}},
	{"-> INIT, EVENT_MASK",
	 Call::modify,
	 state_bit | event_bit,
	 values<INIT>,
	 {I, 0, I}},
	{"-> 3",
	 Call::modify,
	 state_bit,
	 [](EvAttr &a) {
		 a.profile_state = static_cast<mrc_ctl_profile_state>(3);
	 },
	 {I, I, I}},
	{"MODE 0", Call::modify, mode_bit, nothing, {I, I, I}},
	{"MODE 8",
	 Call::modify,
	 mode_bit,
	 [](EvAttr &a) { a.ev_mode = static_cast<mrc_ctl_ev_mode>(8); },
	 {I, I, I}},
	{"FMT_ID", Call::modify, fmt_bit, values<INIT>, {I, 0, I}},
	{"FMT_ID of one that is not ONLINE",
	 Call::modify,
	 fmt_bit,
	 [](EvAttr &a) { a.ev_fmt_profile_id = fmt_offline; },
	 {I, I, I}},
	{"FMT_ID of none",
	 Call::modify,
	 fmt_bit,
	 [](EvAttr &a) { a.ev_fmt_profile_id = 77; },
	 {I, I, I}},
	{"COUNT", Call::modify, count_bit, values<INIT>, {I, 0, I}},
	{"COUNT 0", Call::modify, count_bit, nothing, {I, I, I}},
	{"MIN_ACTIVE", Call::modify, min_bit, values<INIT>, {I, 0, I}},
	{"MIN_ACTIVE, a wrong FMT_ID",
	 Call::modify,
	 min_bit | fmt_bit,
	 [](EvAttr &a) {
		 a.ev_min_active = 2;
		 a.ev_fmt_profile_id = fmt_offline;
	 },
	 {I, I, I}},
	{"EVENT_MASK", Call::modify, event_bit, values<INIT>, {I, 0, 0}},
	{"EVENT_MASK with DENIED",
	 Call::modify,
	 event_bit,
	 [](EvAttr &a) {
		 a.ev_event_mask = MRC_CTL_EV_GOOD | MRC_CTL_EV_DENIED;
	 },
	 {I, I, I}},
	{"EVENT_MASK with UNKNOWN",
	 Call::modify,
	 event_bit,
	 [](EvAttr &a) { a.ev_event_mask = MRC_CTL_EV_UNKNOWN; },
	 {I, I, I}},
	{"EVENT_MASK, MIN_ACTIVE",
	 Call::modify,
	 event_bit | min_bit,
	 values<INIT>,
	 {I, 0, I}},
	{"REPLACE_EV, -> OFFLINE, MODE, FMT_ID, COUNT",
	 Call::modify,
	 make_bits | op_bit,
	 ev_operation<MRC_CTL_EV_OP_REPLACE_EV, MRC_CTL_EV_GOOD>,
	 {I, I, I}},
	{"MODIFY_EV_STATE to UNKNOWN",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_MODIFY_EV_STATE, MRC_CTL_EV_UNKNOWN>,
	 {I, I, I}},
	{"MODIFY_EV_STATE to ASSUMED_BAD",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_MODIFY_EV_STATE, MRC_CTL_EV_ASSUMED_BAD>,
	 {I, I, I}},
	{"MODIFY_EV_STATE to 0",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_MODIFY_EV_STATE>,
	 {I, I, I}},
	{"REPLACE_EV to UNKNOWN",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_REPLACE_EV, MRC_CTL_EV_UNKNOWN>,
	 {I, I, I}},
	{"QUERY_EV_ARRAY by modify",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_QUERY_EV_ARRAY>,
	 {I, 0, 0}},
	{"EV operation 4", Call::modify, op_bit, ev_operation<4>, {I, I, I}},
	{"QUERY_FIELDS by modify",
	 Call::modify,
	 fields_bit,
	 fields_operation<MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS>,
	 {I, 0, 0}},
	{"fields operation 2",
	 Call::modify,
	 fields_bit,
	 fields_operation<2>,
	 {I, I, I}},
	{"EV_OP and EV_FIELDS_OP",
	 Call::modify,
	 op_bit | fields_bit,
	 [](EvAttr &a) {
		 fields_operation<MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS>(a);
		 a.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, array, 16};
	 },
	 {I, I, I}},
	{"VENDOR_CFG", Call::modify, vendor_bit, nothing, {I, 0, I}},
	{"CUR_STATE INIT", Call::modify, cur_state_bit, nothing, {0, I, I}},
	{"CUR_STATE ONLINE, EVENT_MASK",
	 Call::modify,
	 cur_state_bit | event_bit,
	 [](EvAttr &a) { a.cur_profile_state = MRC_CTL_PROFILE_ONLINE; },
	 {I, I, 0}},
	{"nothing", Call::modify, 0, nothing, {0, 0, 0}},
	{"unknown bit", Call::modify, 1 << 20, nothing, {I, I, I}},
	{"query STATE", Call::query, state_bit, nothing, {0, 0, 0}},
	{"query CUR_STATE", Call::query, cur_state_bit, nothing, {0, 0, 0}},
	{"query MODE", Call::query, mode_bit, nothing, {I, 0, 0}},
	{"query FMT_ID", Call::query, fmt_bit, nothing, {I, 0, 0}},
	{"query COUNT", Call::query, count_bit, nothing, {I, 0, 0}},
	{"query MIN_ACTIVE", Call::query, min_bit, nothing, {I, 0, 0}},
	{"query EVENT_MASK", Call::query, event_bit, nothing, {I, 0, 0}},
	{"query VENDOR_CFG", Call::query, vendor_bit, nothing, {I, 0, 0}},
	{"query REPLACE_EV",
	 Call::query,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_REPLACE_EV, MRC_CTL_EV_GOOD>,
	 {I, I, I}},
	{"query MODIFY_EV_STATE",
	 Call::query,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_MODIFY_EV_STATE, MRC_CTL_EV_GOOD>,
	 {I, I, I}},
	{"query QUERY_EV_ARRAY",
	 Call::query,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_QUERY_EV_ARRAY>,
	 {I, 0, 0}},
	{"query MODIFY_FIELDS",
	 Call::query,
	 fields_bit,
	 fields_operation<MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS>,
	 {I, I, I}},
	{"query QUERY_FIELDS",
	 Call::query,
	 fields_bit,
	 fields_operation<MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS>,
	 {I, 0, 0}},
	{"query unknown bit", Call::query, 1 << 20, nothing, {I, I, I}},
};

/*
 * Explicit: in OFFLINE its entries are unpopulated, so that EV 4000 on port 1,
 * which the requests name, is there in ONLINE only.
 */
const Rows explicit_rows = {
	{"-> ONLINE", Call::modify, state_bit, values<ONLINE>, {I, I, I}},
	{"-> ONLINE, all EVs replaced",
	 Call::modify,
	 state_bit | op_bit,
	 populate,
	 {I, 0, I}},
	{"-> ONLINE, all EVs replaced, MIN_ACTIVE, EVENT_MASK",
	 Call::modify,
	 state_bit | op_bit | min_bit | event_bit,
	 populate,
	 {I, 0, I}},
	{"MODE",
	 Call::modify,
	 mode_bit,
	 [](EvAttr &a) { a.ev_mode = MRC_CTL_EV_MODE_EXP; },
	 {I, 0, I}},
	{"MODE GEN, COUNT",
	 Call::modify,
	 mode_bit | count_bit,
	 [](EvAttr &a) {
		 a.ev_mode = MRC_CTL_EV_MODE_GEN;
		 a.ev_count = 8;
	 },
	 {I, 0, I}},
	{"MIN_ACTIVE above COUNT",
	 Call::modify,
	 min_bit,
	 [](EvAttr &a) { a.ev_min_active = 5; },
	 {I, I, I}},
	{"COUNT below MIN_ACTIVE",
	 Call::modify,
	 count_bit | min_bit,
	 [](EvAttr &a) {
		 a.ev_count = 2;
		 a.ev_min_active = 3;
	 },
	 {I, I, I}},
	{"REPLACE_EV",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_REPLACE_EV, MRC_CTL_EV_GOOD>,
	 {I, N, 0}},
	{"REPLACE_EV, EVENT_MASK",
	 Call::modify,
	 op_bit | event_bit,
	 ev_operation<MRC_CTL_EV_OP_REPLACE_EV, MRC_CTL_EV_GOOD>,
	 {I, N, 0}},
	{"MODIFY_EV_STATE to DENIED",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_MODIFY_EV_STATE, MRC_CTL_EV_DENIED>,
	 {I, N, 0}},
	{"MODIFY_EV_STATE to GOOD",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_MODIFY_EV_STATE, MRC_CTL_EV_GOOD>,
	 {I, N, 0}},
	{"QUERY_EV_STATE by modify",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_QUERY_EV_STATE>,
	 {I, N, 0}},
	{"query QUERY_EV_STATE",
	 Call::query,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_QUERY_EV_STATE>,
	 {I, N, 0}},
	{"MODIFY_FIELDS",
	 Call::modify,
	 fields_bit,
	 fields_operation<MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS>,
	 {I, 0, 0}},
	/* EVs of 16 bits are there in ONLINE; these fields take 12. */
	{"MODIFY_FIELDS that the EVs do not fit",
	 Call::modify,
	 fields_bit,
	 [](EvAttr &a) {
		 a.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, narrow,
				   1};
	 },
	 {I, 0, I}},
};

/* Generated: EVs are there, but the device's own, of which 4000@1 is none. */
const Rows generated_rows = {
	{"-> ONLINE", Call::modify, state_bit, values<ONLINE>, {I, 0, I}},
	{"-> ONLINE, MIN_ACTIVE, EVENT_MASK",
	 Call::modify,
	 state_bit | min_bit | event_bit,
	 values<ONLINE>,
	 {I, 0, I}},
	{"MODE",
	 Call::modify,
	 mode_bit,
	 [](EvAttr &a) { a.ev_mode = MRC_CTL_EV_MODE_GEN; },
	 {I, 0, I}},
	{"MIN_ACTIVE above COUNT",
	 Call::modify,
	 min_bit,
	 [](EvAttr &a) { a.ev_min_active = 5; },
	 {I, I, I}},
	{"REPLACE_EV",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_REPLACE_EV, MRC_CTL_EV_GOOD>,
	 {I, I, I}},
	{"MODIFY_EV_STATE to DENIED",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_MODIFY_EV_STATE, MRC_CTL_EV_DENIED>,
	 {I, N, N}},
	{"query QUERY_EV_STATE",
	 Call::query,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_QUERY_EV_STATE>,
	 {I, N, N}},
	{"MODIFY_FIELDS",
	 Call::modify,
	 fields_bit,
	 fields_operation<MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS>,
	 {I, 0, 0}},
};

/* AUTO: no format, no fields, no EVs of the controller's. */
const Rows auto_rows = {
	{"-> OFFLINE, MODE AUTO alone",
	 Call::modify,
	 state_bit | mode_bit,
	 [](EvAttr &a) {
		 a.profile_state = MRC_CTL_PROFILE_OFFLINE;
		 a.ev_mode = MRC_CTL_EV_MODE_AUTO;
	 },
	 {0, I, I}},
	{"-> ONLINE", Call::modify, state_bit, values<ONLINE>, {I, 0, I}},
	{"MODE",
	 Call::modify,
	 mode_bit,
	 [](EvAttr &a) { a.ev_mode = MRC_CTL_EV_MODE_AUTO; },
	 {I, 0, I}},
	{"MODE EXP, without what it takes",
	 Call::modify,
	 mode_bit,
	 values<INIT>,
	 {I, I, I}},
	{"MODE EXP, FMT_ID, COUNT",
	 Call::modify,
	 mode_bit | fmt_bit | count_bit,
	 values<INIT>,
	 {I, 0, I}},
	{"REPLACE_EV",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_REPLACE_EV, MRC_CTL_EV_GOOD>,
	 {I, I, I}},
	{"MODIFY_EV_STATE to DENIED",
	 Call::modify,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_MODIFY_EV_STATE, MRC_CTL_EV_DENIED>,
	 {I, N, N}},
	{"query QUERY_EV_STATE",
	 Call::query,
	 op_bit,
	 ev_operation<MRC_CTL_EV_OP_QUERY_EV_STATE>,
	 {I, N, N}},
	{"MODIFY_FIELDS, which need a format",
	 Call::modify,
	 fields_bit,
	 fields_operation<MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS>,
	 {I, I, I}},
};

EvSpec spec_of(mrc_ctl_ev_mode mode, int state)
{
	EvSpec spec;

	spec.mode = mode;
	spec.min_active = 1;
	spec.events = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD;
	if (mode == MRC_CTL_EV_MODE_AUTO)
		return spec;
	spec.fmt = fmt;
	spec.count = 4;
	spec.fields = {full[0]};
	if (mode == MRC_CTL_EV_MODE_GEN)
		/* Never 4000, which requests name as one that is not there. */
		spec.fields = {field(16, 0xc000, 0x3fff)};
	else if (state == ONLINE)
		spec.evs = {ev16(0x4000, 1), ev16(0x4001, 2), ev16(0x4002, 1),
			    ev16(0x4003, 2)};
	return spec;
}

void table(Check &c, mrc_context *ctx, mrc_ctl_ev_mode mode, const Rows &rows)
{
	const auto make = [&](int state) {
		must(evp_make(ctx, id, spec_of(mode, state), state), "profile");
	};

	must(fmt_make(ctx, fmt, MRC_CTL_EV_FMT_MODE_UDP, {16}, ONLINE),
	     "format");
	must(fmt_make(ctx, fmt_offline, MRC_CTL_EV_FMT_MODE_UDP, {16}, OFFLINE),
	     "other format");
	run_table<EvProfile>(c, ctx, id, common, make);
	run_table<EvProfile>(c, ctx, id, rows, make);
	drop<Format>(ctx, fmt);
	drop<Format>(ctx, fmt_offline);
}

/* Every attribute of a profile, once it is there and after it is forgotten. */
void round_trip(Check &c, const Device &dev)
{
	mrc_context *ctx = dev.ctx();
	EvAttr in{}, out{};
	const int everything = state_bit | cur_state_bit | mode_bit | fmt_bit |
			       count_bit | min_bit | event_bit | vendor_bit;

	must(fmt_make(ctx, fmt, MRC_CTL_EV_FMT_MODE_UDP, {16}, ONLINE),
	     "format");
	EvSpec spec = spec_of(MRC_CTL_EV_MODE_EXP, ONLINE);

	spec.min_active = 3;
	spec.events = MRC_CTL_EV_ASSUMED_BAD;
	must(evp_make(ctx, id, spec, OFFLINE), "profile");
	for (unsigned i = 0; i < sizeof(in.vendor_cfg); i++)
		in.vendor_cfg[i] = static_cast<uint8_t>(255 - i);
	must(modify<EvProfile>(ctx, id, vendor_bit, in), "VENDOR_CFG");
	must(go<EvProfile>(ctx, id, ONLINE), "ONLINE");
	c.err(query<EvProfile>(ctx, id, everything, out), 0, "query");
	c.eq(out.profile_state, ONLINE, "STATE");
	c.eq(out.cur_profile_state, ONLINE, "CUR_STATE");
	c.eq(out.ev_mode, MRC_CTL_EV_MODE_EXP, "MODE");
	c.eq(static_cast<int64_t>(out.ev_fmt_profile_id), fmt, "FMT_ID");
	c.eq(out.ev_count, 4, "COUNT");
	c.eq(out.ev_min_active, 3, "MIN_ACTIVE");
	c.eq(out.ev_event_mask, MRC_CTL_EV_ASSUMED_BAD, "EVENT_MASK");
	c.that(!std::memcmp(in.vendor_cfg, out.vendor_cfg,
			    sizeof(in.vendor_cfg)),
	       "VENDOR_CFG");

	c.err(failed(mrc_ctl_query_ev_profile(ctx, id, nullptr, state_bit)),
	      EINVAL, "no attributes");
	c.err(failed(mrc_ctl_modify_ev_profile(ctx, id, nullptr, state_bit)),
	      EINVAL, "no attributes to set");
	c.err(failed(mrc_ctl_query_ev_profile(ctx, id, nullptr, 0)), 0,
	      "no attributes, nothing asked");
	c.err(query<EvProfile>(nullptr, id, state_bit, out), EINVAL,
	      "no context");
	c.err(evp_make(ctx, dev.query().ev.ev_max_profiles, spec, OFFLINE),
	      EINVAL, "id beyond capacity");

	drop<EvProfile>(ctx, id);
	spec.evs.clear();
	spec.min_active = 0;
	spec.events = 0;
	must(evp_make(ctx, id, spec, OFFLINE), "again");
	out = {};
	must(query<EvProfile>(ctx, id, everything, out), "query");
	c.eq(out.ev_min_active, 0, "MIN_ACTIVE after INIT");
	c.eq(out.ev_event_mask, 0, "EVENT_MASK after INIT");
	c.eq(out.vendor_cfg[0], 0, "VENDOR_CFG after INIT");
	for (const Entry &e : ev_array(ctx, id))
		c.that(same(e.ev, MRC_CTL_EV_UNPOPULATED), "EVs after INIT");
	drop<EvProfile>(ctx, id);
	drop<Format>(ctx, fmt);
}
} // namespace

bool test_profiles(const Device &dev, const Args &)
{
	Report r(Report::counted);

	r.run("explicit EV profiles: every request in every state",
	      [&](Check &c) {
		      table(c, dev.ctx(), MRC_CTL_EV_MODE_EXP, explicit_rows);
	      });
	r.run("generated EV profiles: every request in every state",
	      [&](Check &c) {
		      table(c, dev.ctx(), MRC_CTL_EV_MODE_GEN, generated_rows);
	      });
	r.run("AUTO EV profiles: every request in every state", [&](Check &c) {
		table(c, dev.ctx(), MRC_CTL_EV_MODE_AUTO, auto_rows);
	});
	r.run("EV profiles: what is set comes back, INIT forgets it",
	      [&](Check &c) { round_trip(c, dev); });
	return r.good();
}
