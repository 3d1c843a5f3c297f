// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fields of EV profiles that cannot be, on the way to OFFLINE, in OFFLINE and
 * in ONLINE; and those that just can.
 */
#include <cerrno>

#include "api.hpp"
#include "tests.hpp"

namespace
{
constexpr uint64_t fmt = 5, id = 9;
constexpr int fields_bit = MRC_CTL_EV_PROFILE_EV_FIELDS_OP;

struct Case {
	const char *what;
	std::vector<Field> fields;
	int want;
};

/* For a format of 8, 16 and 8 bits. */
const std::vector<Case> cases = {
	{"as many fields as the format has",
	 {field(8, 0, 0xff), field(16, 0, 0xffff), field(8, 0, 0xff)},
	 0},
	{"fewer fields", {field(8, 0, 0xff)}, 0},
	{"more fields than the format has",
	 {field(8, 0, 0xff), field(8, 0, 0xff), field(4, 0, 0xf),
	  field(4, 0, 0xf)},
	 EINVAL},
	{"more bits than the format has",
	 {field(8, 0, 0xff), field(16, 0, 0xffff), field(9, 0, 0xff)},
	 EINVAL},
	/* The sum would do. */
	{"a field wider than its place",
	 {field(16, 0, 0xff), field(8, 0, 0xff), field(8, 0, 0xff)},
	 EINVAL},
	{"no bits", {field(0, 0, 0)}, EINVAL},
	{"33 bits", {field(33, 0, 0xff)}, EINVAL},
	{"2^32 - 1 bits", {field(~0U, 0, 0xff)}, EINVAL},
	{"init_val that fits", {field(8, 0xff, 0)}, 0},
	{"init_val wider than the field", {field(8, 0x100, 0xff)}, EINVAL},
	{"init_val wider, without a mask", {field(4, 0x10, 0)}, EINVAL},
	{"mask outside of the field", {field(8, 0, 0x180)}, EINVAL},
	{"max_val that fits the mask", {field(8, 0, 0x55, 3, 15)}, 0},
	{"max_val wider than the mask", {field(8, 0, 0x55, 3, 16)}, EINVAL},
	{"min_val is max_val", {field(8, 0, 0xff, 7, 7), field(8, 0, 0xff)}, 0},
	{"min_val above max_val", {field(8, 0, 0xff, 8, 7)}, EINVAL},
	{"a fixed field", {field(8, 0x42, 0), field(16, 0, 0xffff)}, 0},
	/* Bounds mean something with a mask only. */
	{"bounds of a fixed field",
	 {field(8, 0x42, 0, 1, 255), field(16, 0, 0xffff)},
	 0},
	{"min_val above max_val of a fixed field",
	 {field(8, 0x42, 0, 2, 1), field(16, 0, 0xffff)},
	 EINVAL},
	{"32 fields", std::vector<Field>(32, field(1, 0, 1)), EINVAL},
	{"33 fields", std::vector<Field>(33, field(1, 0, 1)), E2BIG},
	{"no fields", {}, EINVAL},
};

int set_fields(mrc_context *ctx, std::vector<Field> fields)
{
	EvAttr attr{};

	attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields.data(),
			     static_cast<int>(fields.size())};
	return modify<EvProfile>(ctx, id, fields_bit, attr);
}

std::vector<Field> get_fields(mrc_context *ctx)
{
	std::vector<Field> fields(32);
	EvAttr attr{};

	attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, fields.data(),
			     32};
	must(query<EvProfile>(ctx, id, fields_bit, attr), "fields");
	fields.resize(static_cast<unsigned>(attr.ev_fields_op.field_count));
	return fields;
}

bool equal(const std::vector<Field> &a, const std::vector<Field> &b)
{
	bool ok = a.size() == b.size();

	for (std::size_t i = 0; ok && i < a.size(); i++)
		ok = a[i].width == b[i].width &&
		     a[i].init_val == b[i].init_val && a[i].mask == b[i].mask &&
		     a[i].min_val == b[i].min_val &&
		     a[i].max_val == b[i].max_val;
	return ok;
}

/* Generated, so that ONLINE needs no EVs that fit. */
EvSpec start()
{
	EvSpec spec;

	spec.mode = MRC_CTL_EV_MODE_GEN;
	spec.fmt = fmt;
	spec.count = 2;
	spec.fields = {field(8, 0, 0xff), field(16, 0xc000, 0x3fff)};
	return spec;
}

/* Few EVs are asked for, as many as every good case has. */
void in_state(Check &c, mrc_context *ctx, const Case &k, int state)
{
	const std::string what =
		std::string(k.what) + " in " + state_names[state];
	const bool fixed = k.fields.size() == 1 && !k.fields[0].mask;

	must(evp_make(ctx, id, start(), state), "profile");
	const std::string before = dump(ctx, id, EvProfile());
	/* Nothing to generate two EVs from. */
	const int want = !k.want && fixed ? EINVAL : k.want;

	c.err(set_fields(ctx, k.fields), want, what);
	if (want)
		c.eq(dump(ctx, id, EvProfile()), before, what + ", afterwards");
	else
		c.that(equal(get_fields(ctx), k.fields), what + ", read back");
	drop<EvProfile>(ctx, id);
}

void rejects(Check &c, mrc_context *ctx)
{
	for (const Case &k : cases) {
		EvSpec spec;

		/* Explicit: whatever the fields are, EVs come later. */
		spec.fmt = fmt;
		spec.count = 2;
		spec.fields = k.fields;
		if (!k.fields.empty()) {
			c.err(evp_make(ctx, id, spec, OFFLINE), k.want, k.what);
			c.eq(now<EvProfile>(ctx, id), k.want ? INIT : OFFLINE,
			     std::string(k.what) + ", state");
			if (!k.want)
				c.that(equal(get_fields(ctx), k.fields),
				       std::string(k.what) + ", read back");
			drop<EvProfile>(ctx, id);
		}
		in_state(c, ctx, k, OFFLINE);
		in_state(c, ctx, k, ONLINE);
	}
}
} // namespace

bool test_fields(const Device &dev, const Args &)
{
	Report r(Report::counted);

	r.run("fields that cannot be, in every state", [&](Check &c) {
		must(fmt_make(dev.ctx(), fmt, MRC_CTL_EV_FMT_MODE_STEV,
			      {8, 16, 8}, ONLINE),
		     "format");
		rejects(c, dev.ctx());
		drop<Format>(dev.ctx(), fmt);
	});
	return r.good();
}
