// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * EV formats: requests in each state, and limits.
 */
#include "selftest_rules.hpp"

namespace
{
uint8_t width16[] = {16};
uint8_t room[32];

void fmt_fields(With<mrc_abi_fmt> &f, uint32_t op)
{
	f.mask |= mrc::FMT_OP;
	f.op = op;
	f.arrays = {op == mrc::FMT_MODIFY_FIELDS
			    ? array_in(MRC_ABI_ATTR_ARRAY_IN,
				       std::span(width16))
			    : array_out(MRC_ABI_ATTR_ARRAY_OUT,
					std::span(room))};
}

const std::vector<Row<mrc_abi_fmt>> fmt_rows = {
	{"state -> INIT",
	 true,
	 [](auto &f) { f.mask = mrc::FMT_STATE; },
	 {I, 0, I}},
	{"state -> OFFLINE alone",
	 true,
	 [](auto &f) {
		 f.mask = mrc::FMT_STATE;
		 f.state = mrc::OFFLINE;
	 },
	 {I, I, 0}},
	{"state -> OFFLINE with mode",
	 true,
	 [](auto &f) {
		 f.mask = mrc::FMT_STATE | mrc::FMT_MODE;
		 f.state = mrc::OFFLINE;
		 f.mode = mrc::UDP;
	 },
	 {0, I, I}},
	{"state -> ONLINE",
	 true,
	 [](auto &f) {
		 f.mask = mrc::FMT_STATE;
		 f.state = mrc::ONLINE;
	 },
	 {I, 0, I}},
	{"state 3",
	 true,
	 [](auto &f) {
		 f.mask = mrc::FMT_STATE;
		 f.state = 3;
	 },
	 {I, I, I}},
	{"mode",
	 true,
	 [](auto &f) {
		 f.mask = mrc::FMT_MODE;
		 f.mode = mrc::UDP;
	 },
	 {I, 0, I}},
	{"two modes",
	 true,
	 [](auto &f) {
		 f.mask = mrc::FMT_MODE;
		 f.mode = mrc::UDP | mrc::STEV;
	 },
	 {I, I, I}},
	{"modify fields",
	 true,
	 [](auto &f) { fmt_fields(f, mrc::FMT_MODIFY_FIELDS); },
	 {I, 0, I}},
	{"query fields by modify",
	 true,
	 [](auto &f) { fmt_fields(f, mrc::FMT_QUERY_FIELDS); },
	 {I, 0, 0}},
	{"query state",
	 false,
	 [](auto &f) { f.mask = mrc::FMT_STATE; },
	 {0, 0, 0}},
	{"query current state",
	 false,
	 [](auto &f) { f.mask = mrc::FMT_CUR_STATE; },
	 {0, 0, 0}},
	{"query mode",
	 false,
	 [](auto &f) { f.mask = mrc::FMT_MODE; },
	 {I, 0, 0}},
	{"query fields",
	 false,
	 [](auto &f) { fmt_fields(f, mrc::FMT_QUERY_FIELDS); },
	 {I, 0, 0}},
	{"modify fields by query",
	 false,
	 [](auto &f) { fmt_fields(f, mrc::FMT_MODIFY_FIELDS); },
	 {I, I, I}},
	{"vendor_cfg",
	 true,
	 [](auto &f) { f.mask = mrc::FMT_VENDOR; },
	 {I, 0, I}},
	{"query vendor_cfg",
	 false,
	 [](auto &f) { f.mask = mrc::FMT_VENDOR; },
	 {I, 0, 0}},
	{"unknown bit", true, [](auto &f) { f.mask = 1u << 20; }, {I, I, I}},
	{"query unknown bit",
	 false,
	 [](auto &f) { f.mask = 1u << 20; },
	 {I, I, I}},
};

void fmt_table(Dev &dev, Check &c)
{
	const auto make = [](Dev &d, uint32_t to) {
		return fmt_make(d, FMT, mrc::UDP, {16}, to);
	};

	rules_table(dev, c,
		    {MRC_ABI_OBJECT_EV_FMT, MRC_ABI_FMT_MODIFY,
		     MRC_ABI_FMT_QUERY, FMT, fmt_now, fmt_drop, make},
		    fmt_rows);
}

void fmt_limits(Dev &dev, Check &c)
{
	const uint64_t beyond = dev.query().ev_max_fmt_profiles;
	With<mrc_abi_fmt> f{};

	c.err(fmt_make(dev, beyond, mrc::UDP, {16}, mrc::OFFLINE), EINVAL,
	      "id beyond capacity");
	c.err(fmt_make(dev, ~0ull, mrc::UDP, {16}, mrc::OFFLINE), EINVAL,
	      "id ~0");
	c.err(fmt_make(dev, FMT, mrc::UDP, {17}, mrc::OFFLINE), E2BIG,
	      "UDP with 17 bits");
	c.err(fmt_make(dev, FMT, mrc::STEV, {16, 16, 1}, mrc::OFFLINE), E2BIG,
	      "STEV, 33 bits");
	c.err(fmt_make(dev, FMT, mrc::UDP, std::vector<uint8_t>(33, 1),
		       mrc::OFFLINE),
	      E2BIG, "33 fields");
	c.err(fmt_make(dev, FMT, mrc::UDP, {8, 0}, mrc::OFFLINE), EINVAL,
	      "width 0");
	c.eq(fmt_now(dev, FMT), mrc::INIT, "state after all that");

	must(fmt_make(dev, FMT, mrc::STEV, {8, 8, 16}, mrc::ONLINE), "format");
	f.id = FMT;
	fmt_fields(f, mrc::FMT_QUERY_FIELDS);
	f.arrays[0].out = f.arrays[0].out.first(2);
	c.err(dev.call(MRC_ABI_OBJECT_EV_FMT, MRC_ABI_FMT_QUERY, f), E2BIG,
	      "room for two of three");
	c.eq(f.n_fields, 3, "needed count");
	f.arrays[0].out = {reinterpret_cast<std::byte *>(8), 9};
	c.err(dev.call(MRC_ABI_OBJECT_EV_FMT, MRC_ABI_FMT_QUERY, f), EFAULT,
	      "fields at address 8");
	fmt_drop(dev, FMT);
}
} // namespace

void rules_fmt(Dev &dev, Report &r)
{
	r.run("EV formats: request x state",
	      [&](Check &c) { fmt_table(dev, c); });
	r.run("EV formats: limits", [&](Check &c) { fmt_limits(dev, c); });
}
