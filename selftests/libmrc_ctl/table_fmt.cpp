// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* EV formats: which request is possible in which state, and what comes back. */
#include <cerrno>
#include <cstring>

#include "table.hpp"
#include "tests.hpp"

namespace
{
constexpr uint64_t id = 5;
constexpr int I = EINVAL;
constexpr int mode_bit = MRC_CTL_EV_FMT_PROFILE_MODE;
constexpr int op_bit = MRC_CTL_EV_FMT_PROFILE_OP;
constexpr auto set = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
constexpr auto get = MRC_CTL_EV_FMT_OP_QUERY_FIELDS;

mrc_ctl_ev_fmt_field w8[] = {{8}}, wide[] = {{17}}, room[32];

void to_offline(FmtAttr &a)
{
	a.profile_state = MRC_CTL_PROFILE_OFFLINE;
	a.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
}

void to_online(FmtAttr &a)
{
	to_offline(a);
	a.profile_state = MRC_CTL_PROFILE_ONLINE;
}

void to_init(FmtAttr &a)
{
	to_offline(a);
	a.profile_state = MRC_CTL_PROFILE_INIT;
}

void nothing(FmtAttr &) {}

template <mrc_ctl_ev_fmt_op op> void fields(FmtAttr &a)
{
	to_offline(a);
	if (op == set)
		a.ev_fmt_op = {op, w8, 1};
	else
		a.ev_fmt_op = {op, room, 32};
}

void fields_online(FmtAttr &a)
{
	fields<set>(a);
	a.profile_state = MRC_CTL_PROFILE_ONLINE;
}

/* The mode alone would be fine. */
void too_wide(FmtAttr &a)
{
	to_offline(a);
	a.ev_fmt_op = {set, wide, 1};
}

void vendor_and_mode(FmtAttr &a)
{
	std::memset(a.vendor_cfg, 0x5a, sizeof(a.vendor_cfg));
	a.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV;
}

void vendor_and_bad_mode(FmtAttr &a)
{
	vendor_and_mode(a);
	a.ev_fmt_mode = static_cast<mrc_ctl_ev_fmt_mode>(3);
}

const std::vector<Row<Format>> rows = {
	{"-> INIT", Call::modify, state_bit, to_init, {I, 0, I}},
	{"-> OFFLINE", Call::modify, state_bit, to_offline, {I, I, 0}},
	{"-> OFFLINE, MODE",
	 Call::modify,
	 state_bit | mode_bit,
	 to_offline,
	 {0, I, I}},
	{"-> ONLINE", Call::modify, state_bit, to_online, {I, 0, I}},
	{"-> ONLINE, MODE",
	 Call::modify,
	 state_bit | mode_bit,
	 to_online,
	 {I, 0, I}},
	{"-> ONLINE, MODE, fields",
	 Call::modify,
	 state_bit | mode_bit | op_bit,
	 fields_online,
	 {I, 0, I}},
	{"-> INIT, MODE",
	 Call::modify,
	 state_bit | mode_bit,
	 to_init,
	 {I, 0, I}},
	{"-> 3",
	 Call::modify,
	 state_bit,
	 [](FmtAttr &a) {
		 a.profile_state = static_cast<mrc_ctl_profile_state>(3);
	 },
	 {I, I, I}},
	{"MODE", Call::modify, mode_bit, to_offline, {I, 0, I}},
	{"MODE 0", Call::modify, mode_bit, nothing, {I, I, I}},
	{"MODE, VENDOR_CFG",
	 Call::modify,
	 mode_bit | vendor_bit,
	 vendor_and_mode,
	 {I, 0, I}},
	{"MODE 3, VENDOR_CFG",
	 Call::modify,
	 mode_bit | vendor_bit,
	 vendor_and_bad_mode,
	 {I, I, I}},
	{"MODIFY_FIELDS", Call::modify, op_bit, fields<set>, {I, 0, I}},
	{"MODIFY_FIELDS, -> OFFLINE, MODE",
	 Call::modify,
	 state_bit | mode_bit | op_bit,
	 fields<set>,
	 {0, I, I}},
	{"MODIFY_FIELDS, -> OFFLINE",
	 Call::modify,
	 state_bit | op_bit,
	 fields<set>,
	 {I, I, I}},
	{"too wide a field, -> OFFLINE, MODE",
	 Call::modify,
	 state_bit | mode_bit | op_bit,
	 too_wide,
	 {E2BIG, I, I}},
	{"too wide a field, MODE",
	 Call::modify,
	 mode_bit | op_bit,
	 too_wide,
	 {I, E2BIG, I}},
	{"QUERY_FIELDS by modify",
	 Call::modify,
	 op_bit,
	 fields<get>,
	 {I, 0, 0}},
	{"QUERY_FIELDS by modify, -> OFFLINE, MODE",
	 Call::modify,
	 state_bit | mode_bit | op_bit,
	 fields<get>,
	 {I, I, I}},
	{"operation 2",
	 Call::modify,
	 op_bit,
	 [](FmtAttr &a) {
		 a.ev_fmt_op = {static_cast<mrc_ctl_ev_fmt_op>(2), room, 1};
	 },
	 {I, I, I}},
	{"VENDOR_CFG", Call::modify, vendor_bit, nothing, {I, 0, I}},
	{"VENDOR_CFG, -> OFFLINE, MODE",
	 Call::modify,
	 vendor_bit | state_bit | mode_bit,
	 to_offline,
	 {I, I, I}},
	{"CUR_STATE INIT", Call::modify, cur_state_bit, nothing, {0, I, I}},
	{"CUR_STATE OFFLINE, MODE",
	 Call::modify,
	 cur_state_bit | mode_bit,
	 [](FmtAttr &a) {
		 to_offline(a);
		 a.cur_profile_state = MRC_CTL_PROFILE_OFFLINE;
	 },
	 {I, 0, I}},
	{"nothing", Call::modify, 0, nothing, {0, 0, 0}},
	{"unknown bit", Call::modify, 1 << 20, nothing, {I, I, I}},
	{"query STATE", Call::query, state_bit, nothing, {0, 0, 0}},
	{"query CUR_STATE", Call::query, cur_state_bit, nothing, {0, 0, 0}},
	{"query MODE", Call::query, mode_bit, nothing, {I, 0, 0}},
	{"query QUERY_FIELDS", Call::query, op_bit, fields<get>, {I, 0, 0}},
	{"query MODIFY_FIELDS", Call::query, op_bit, fields<set>, {I, I, I}},
	{"query VENDOR_CFG", Call::query, vendor_bit, nothing, {I, 0, 0}},
	{"query all of it",
	 Call::query,
	 state_bit | cur_state_bit | mode_bit | op_bit | vendor_bit,
	 fields<get>,
	 {I, 0, 0}},
	{"query unknown bit", Call::query, 1 << 20, nothing, {I, I, I}},
};

void table(Check &c, mrc_context *ctx)
{
	run_table<Format>(c, ctx, id, rows, [&](int state) {
		must(fmt_make(ctx, id, MRC_CTL_EV_FMT_MODE_UDP, {16}, state),
		     "format");
	});
}

void limits(Check &c, const Device &dev)
{
	const mrc_ctl_device_attr attr = dev.query();
	mrc_context *ctx = dev.ctx();
	const struct {
		const char *what;
		mrc_ctl_ev_fmt_mode mode;
		std::vector<uint8_t> widths;
		int want;
	} cases[] = {
		{"UDP, 16 bits", MRC_CTL_EV_FMT_MODE_UDP, {8, 8}, 0},
		{"UDP, 17 bits", MRC_CTL_EV_FMT_MODE_UDP, {16, 1}, E2BIG},
		{"STEV, 32 bits", MRC_CTL_EV_FMT_MODE_STEV, {16, 16}, 0},
		{"STEV, 33 bits", MRC_CTL_EV_FMT_MODE_STEV, {16, 16, 1}, E2BIG},
		{"SRv6, 128 bits",
		 MRC_CTL_EV_FMT_MODE_SRV6,
		 {32, 32, 32, 32},
		 0},
		{"SRv6, 256 bits", MRC_CTL_EV_FMT_MODE_SRV6,
		 std::vector<uint8_t>(8, 32), 0},
		{"SRv6, 257 bits",
		 MRC_CTL_EV_FMT_MODE_SRV6,
		 {32, 32, 32, 32, 32, 32, 32, 32, 1},
		 E2BIG},
		/* An SRH starts at bit 128: no field may cross that. */
		{"SRv6, a field across the address' end",
		 MRC_CTL_EV_FMT_MODE_SRV6,
		 {32, 32, 32, 31, 2},
		 EINVAL},
		{"32 fields", MRC_CTL_EV_FMT_MODE_STEV,
		 std::vector<uint8_t>(32, 1), 0},
		{"33 fields", MRC_CTL_EV_FMT_MODE_SRV6,
		 std::vector<uint8_t>(33, 1), E2BIG},
		{"100000 fields", MRC_CTL_EV_FMT_MODE_SRV6,
		 std::vector<uint8_t>(100000, 1), E2BIG},
		{"a field of no bits", MRC_CTL_EV_FMT_MODE_UDP, {8, 0}, EINVAL},
		{"no fields", MRC_CTL_EV_FMT_MODE_UDP, {}, EINVAL},
		{"a mode that is two",
		 static_cast<mrc_ctl_ev_fmt_mode>(5),
		 {8},
		 EINVAL},
	};

	for (const auto &k : cases) {
		drop<Format>(ctx, id);
		c.err(fmt_make(ctx, id, k.mode, k.widths, ONLINE), k.want,
		      k.what);
		c.eq(now<Format>(ctx, id), k.want ? INIT : ONLINE,
		     std::string(k.what) + ", state");
	}
	drop<Format>(ctx, id);
	c.err(fmt_make(ctx, attr.ev.ev_max_fmt_profiles,
		       MRC_CTL_EV_FMT_MODE_UDP, {16}, OFFLINE),
	      EINVAL, "id beyond capacity");
	c.err(fmt_make(ctx, ~0ull, MRC_CTL_EV_FMT_MODE_UDP, {16}, OFFLINE),
	      EINVAL, "id ~0");
	must(fmt_make(ctx, attr.ev.ev_max_fmt_profiles - 1,
		      MRC_CTL_EV_FMT_MODE_UDP, {16}, OFFLINE),
	     "last id");
	drop<Format>(ctx, attr.ev.ev_max_fmt_profiles - 1);
}

void round_trip(Check &c, mrc_context *ctx)
{
	mrc_ctl_ev_fmt_field f[8];
	FmtAttr in{}, out{};

	must(fmt_make(ctx, id, MRC_CTL_EV_FMT_MODE_STEV, {8, 8, 16}, OFFLINE),
	     "format");
	for (unsigned i = 0; i < sizeof(in.vendor_cfg); i++)
		in.vendor_cfg[i] = static_cast<uint8_t>(i ^ 0x5a);
	must(modify<Format>(ctx, id, vendor_bit, in), "VENDOR_CFG");

	std::memset(f, 0xee, sizeof(f));
	for (const int n : {2, 0}) {
		out.ev_fmt_op = {get, n ? f : nullptr, n};
		c.err(query<Format>(ctx, id, op_bit, out), E2BIG,
		      "room for " + std::to_string(n));
		c.eq(out.ev_fmt_op.fmt_field_count, 3, "needed");
		c.eq(f[0].width, 0xee, "fields of a query that failed");
	}
	out.ev_fmt_op = {get, f, 8};
	c.err(query<Format>(ctx, id,
			    state_bit | cur_state_bit | mode_bit | op_bit |
				    vendor_bit,
			    out),
	      0, "query");
	c.eq(out.ev_fmt_op.fmt_field_count, 3, "fields");
	c.that(f[0].width == 8 && f[1].width == 8 && f[2].width == 16 &&
		       f[3].width == 0xee,
	       "widths");
	c.eq(out.profile_state, OFFLINE, "STATE");
	c.eq(out.cur_profile_state, OFFLINE, "CUR_STATE");
	c.eq(out.ev_fmt_mode, MRC_CTL_EV_FMT_MODE_STEV, "MODE");
	c.that(!std::memcmp(in.vendor_cfg, out.vendor_cfg,
			    sizeof(in.vendor_cfg)),
	       "VENDOR_CFG");

	out.ev_fmt_op.fmt_field_count = -1;
	c.err(query<Format>(ctx, id, op_bit, out), EINVAL, "-1 fields");
	out.ev_fmt_op = {get, nullptr, 3};
	c.err(query<Format>(ctx, id, op_bit, out), EINVAL, "no array");
	c.err(failed(mrc_ctl_query_ev_fmt_profile(ctx, id, nullptr, state_bit)),
	      EINVAL, "no attributes");
	c.err(failed(mrc_ctl_modify_ev_fmt_profile(ctx, id, nullptr,
						   state_bit)),
	      EINVAL, "no attributes to set");
	c.err(failed(mrc_ctl_query_ev_fmt_profile(ctx, id, nullptr, 0)), 0,
	      "no attributes, nothing asked");
	c.err(query<Format>(nullptr, id, state_bit, out), EINVAL, "no context");

	/* INIT forgets. */
	drop<Format>(ctx, id);
	must(fmt_make(ctx, id, MRC_CTL_EV_FMT_MODE_UDP, {16}, OFFLINE),
	     "again");
	must(query<Format>(ctx, id, vendor_bit, out), "VENDOR_CFG again");
	c.eq(out.vendor_cfg[1], 0, "VENDOR_CFG after INIT");
	drop<Format>(ctx, id);
}
} // namespace

bool test_formats(const Device &dev, const Args &)
{
	Report r(Report::counted);

	r.run("EV formats: every request in every state",
	      [&](Check &c) { table(c, dev.ctx()); });
	r.run("EV formats: limits", [&](Check &c) { limits(c, dev); });
	r.run("EV formats: what is set comes back, room that is too small",
	      [&](Check &c) { round_trip(c, dev.ctx()); });
	return r.good();
}
