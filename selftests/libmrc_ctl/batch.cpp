// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operations on the EVs of a profile: what each entry does, batches that fail
 * in the middle, copies, arrays with too little room, what a device has room
 * for.
 */
#include <cerrno>
#include <cstring>

#include "api.hpp"
#include "tests.hpp"

namespace
{
constexpr uint64_t fmt = 5, id = 9;
constexpr int op_bit = MRC_CTL_EV_PROFILE_EV_OP;
constexpr int fields_bit = MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
constexpr auto replace = MRC_CTL_EV_OP_REPLACE_EV;
constexpr auto set_state = MRC_CTL_EV_OP_MODIFY_EV_STATE;
constexpr auto get_state = MRC_CTL_EV_OP_QUERY_EV_STATE;
constexpr int GOOD = MRC_CTL_EV_GOOD;
constexpr int DENIED = MRC_CTL_EV_DENIED;
constexpr int UNKNOWN = MRC_CTL_EV_UNKNOWN;

const mrc_ctl_ev unpopulated = MRC_CTL_EV_UNPOPULATED;

std::vector<mrc_ctl_ev> four()
{
	return {ev16(0x100, 1), ev16(0x101, 2), ev16(0x102, 1), ev16(0x103, 2)};
}

EvSpec explicit_spec(uint32_t count)
{
	EvSpec spec;

	spec.fmt = fmt;
	spec.count = count;
	return spec;
}

/* The profile's entries as a word each: what, and in which state. */
std::string shown(mrc_context *ctx)
{
	std::string out;

	for (const Entry &e : ev_array(ctx, id)) {
		out += out.empty() ? "" : " ";
		out += to_hex(e.ev.val, 2) + "@" + std::to_string(e.ev.port);
		out += e.state == GOOD	    ? "g"
		       : e.state == DENIED  ? "d"
		       : e.state == UNKNOWN ? "u"
					    : "?";
	}
	return out;
}

int one(mrc_context *ctx, mrc_ctl_ev_op op, const Entry &e)
{
	std::vector<Entry> entries = {e};

	return ev_op(ctx, id, op, entries);
}

/* --- arrays ------------------------------------------------------------------
 */

void array_room(Check &c, mrc_context *ctx)
{
	std::vector<Entry> e(8);
	EvAttr attr{};

	must(evp_make(ctx, id, explicit_spec(4), OFFLINE), "profile");
	std::memset(e.data(), 0xee, sizeof(e[0]) * e.size());
	for (const int n : {0, 3}) {
		attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY,
			      n ? e.data() : nullptr, n};
		c.err(query<EvProfile>(ctx, id, op_bit, attr), E2BIG,
		      "room for " + std::to_string(n));
		c.eq(attr.ev_op.entry_count, 4, "needed");
		c.eq(e[0].ev.port, 0xee, "entries of a query that failed");
	}
	attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, e.data(), 8};
	c.err(query<EvProfile>(ctx, id, op_bit, attr), 0, "room for 8");
	c.eq(attr.ev_op.entry_count, 4, "entries");
	for (unsigned i = 0; i < 4; i++) {
		c.that(same(e[i].ev, unpopulated), "an explicit profile starts "
						   "unpopulated");
		c.eq(e[i].state, UNKNOWN, "state of an unpopulated entry");
		c.eq(e[i].ev_new.port, 0xee, "ev_new, which is not used");
		c.eq(e[i].flags, 0xeeeeeeee, "flags, which are not used");
	}
	c.eq(e[4].ev.port, 0xee, "behind the last entry");

	attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, nullptr, 4};
	c.err(query<EvProfile>(ctx, id, op_bit, attr), EINVAL, "no array");
	attr.ev_op = {get_state, e.data(), -1};
	c.err(query<EvProfile>(ctx, id, op_bit, attr), EINVAL, "-1 entries");
	e.resize(70000);
	attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, e.data(), 70000};
	c.err(query<EvProfile>(ctx, id, op_bit, attr), 0, "much room");
	c.eq(attr.ev_op.entry_count, 4, "entries of much room");
	drop<EvProfile>(ctx, id);
}

void fields_room(Check &c, mrc_context *ctx)
{
	std::vector<Field> f(40);
	EvAttr attr{};

	/* Nobody has set fields: they are the identity. */
	must(evp_make(ctx, id, explicit_spec(4), OFFLINE), "profile");
	std::memset(f.data(), 0xee, sizeof(f[0]) * f.size());
	for (const int n : {0, 1}) {
		attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS,
				     n ? f.data() : nullptr, n};
		c.err(query<EvProfile>(ctx, id, fields_bit, attr), E2BIG,
		      "room for " + std::to_string(n));
		c.eq(attr.ev_fields_op.field_count, 2, "needed");
	}
	attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, f.data(), 40};
	c.err(query<EvProfile>(ctx, id, fields_bit, attr), 0, "room for 40");
	c.eq(attr.ev_fields_op.field_count, 2, "fields");
	for (unsigned i = 0; i < 2; i++)
		c.that(f[i].width == 8 && f[i].mask == 0xff && !f[i].init_val,
		       "identity of field " + std::to_string(i));
	c.eq(f[2].width, 0xeeeeeeee, "behind the last field");

	/* What is too big else leaves the number as it was. */
	for (const int n : {33, 300}) {
		std::vector<Field> many(static_cast<unsigned>(n),
					field(1, 0, 1));

		attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS,
				     many.data(), n};
		c.err(modify<EvProfile>(ctx, id, fields_bit, attr), E2BIG,
		      std::to_string(n) + " fields");
	}
	drop<EvProfile>(ctx, id);
}

/* --- batches -----------------------------------------------------------------
 */

void replacing(Check &c, mrc_context *ctx)
{
	std::vector<Entry> e;

	must(evp_make(ctx, id, explicit_spec(4), OFFLINE), "profile");
	e = {replacement(unpopulated, four()[0], GOOD),
	     replacement(unpopulated, four()[1], DENIED),
	     replacement(unpopulated, four()[2], 0),
	     replacement(ev16(0x777, 1), four()[3], GOOD),
	     replacement(unpopulated, four()[3], GOOD)};
	c.err(ev_op(ctx, id, replace, e), ENOENT, "the fourth is not there");
	c.eq(shown(ctx), "0100@1g 0101@2d 0102@1g 0000@0u",
	     "those before it are done, those behind it are not");
	c.err(go<EvProfile>(ctx, id, ONLINE), EINVAL, "an unpopulated entry");
	c.eq(now<EvProfile>(ctx, id), OFFLINE, "state");

	c.err(one(ctx, replace, replacement(unpopulated, ev16(0x103, 3), GOOD)),
	      EINVAL, "a port that is not there");
	c.err(one(ctx, replace, replacement(unpopulated, ev16(0x103, 0), GOOD)),
	      EINVAL, "no port");
	c.err(one(ctx, replace,
		  replacement(unpopulated, ev_bytes({1, 3, 1}, 2), GOOD)),
	      EINVAL, "bits that no field takes");
	c.err(one(ctx, replace, replacement(unpopulated, four()[3], GOOD, 2)),
	      EINVAL, "an unknown flag");
	c.err(one(ctx, replace,
		  replacement(unpopulated, four()[3], GOOD | DENIED)),
	      EINVAL, "two states");
	c.eq(shown(ctx), "0100@1g 0101@2d 0102@1g 0000@0u", "after refusals");
	/* Equal means value and port. */
	c.err(one(ctx, replace,
		  replacement(ev16(0x100, 2), ev16(0x200, 2), GOOD)),
	      ENOENT, "the value on another port");
	c.err(one(ctx, replace, replacement(unpopulated, four()[3], GOOD)), 0,
	      "the fourth");
	c.err(go<EvProfile>(ctx, id, ONLINE), 0, "ONLINE");

	/* And once more under way: capability MODIFY_ONLINE. */
	e = {replacement(four()[0], ev16(0x200, 1), GOOD),
	     replacement(four()[0], ev16(0x201, 1), GOOD)};
	c.err(ev_op(ctx, id, replace, e), ENOENT, "replaced a line above");
	c.eq(shown(ctx), "0200@1g 0101@2d 0102@1g 0103@2g", "ONLINE");
	c.err(one(ctx, replace, replacement(ev16(0x200, 1), unpopulated, 0)),
	      EINVAL, "a hole in a profile that is ONLINE");
	c.eq(now<EvProfile>(ctx, id), ONLINE, "state");
	drop<EvProfile>(ctx, id);
}

void states(Check &c, mrc_context *ctx)
{
	EvSpec spec = explicit_spec(4);
	std::vector<Entry> e;

	spec.evs = four();
	for (const int state : {OFFLINE, ONLINE}) {
		const std::string in = std::string(" in ") + state_names[state];

		must(evp_make(ctx, id, spec, state), "profile");
		e = {entry(four()[0], DENIED), entry(ev16(0x999, 1), DENIED),
		     entry(four()[1], DENIED)};
		c.err(ev_op(ctx, id, set_state, e), ENOENT,
		      "the second is not there" + in);
		c.eq(shown(ctx), "0100@1d 0101@2g 0102@1g 0103@2g",
		     "the first is done" + in);
		e = {entry(four()[1], DENIED),
		     entry(four()[2], MRC_CTL_EV_ASSUMED_BAD),
		     entry(four()[3], DENIED)};
		c.err(ev_op(ctx, id, set_state, e), EINVAL,
		      "a state that is the device's" + in);
		c.eq(shown(ctx), "0100@1d 0101@2d 0102@1g 0103@2g",
		     "the first is done, again" + in);

		e = {entry(four()[1]), entry(four()[3]), entry(four()[1])};
		c.err(ev_op(ctx, id, get_state, e), 0, "query" + in);
		c.eq(e[0].state, DENIED, "state 0" + in);
		c.eq(e[1].state, GOOD, "state 1" + in);
		c.eq(e[2].state, DENIED, "state 2" + in);
		e = {entry(four()[1]), entry(four()[1])};
		e[1].ev.port = 1;
		c.err(ev_op(ctx, id, get_state, e), ENOENT,
		      "query of one that is not there" + in);
		c.eq(e[0].state, 0, "state that was not found out" + in);

		/* All of them may be denied, whatever MIN_ACTIVE says. */
		e.clear();
		for (const mrc_ctl_ev &ev : four())
			e.push_back(entry(ev, DENIED));
		c.err(ev_op(ctx, id, set_state, e), 0, "all denied" + in);
		for (Entry &one_of : e)
			one_of.state = MRC_CTL_EV_GOOD;
		c.err(ev_op(ctx, id, set_state, e), 0, "all allowed" + in);
		c.eq(shown(ctx), "0100@1g 0101@2g 0102@1g 0103@2g",
		     "all allowed" + in);
		e.clear();
		c.err(ev_op(ctx, id, set_state, e), 0, "an empty batch" + in);
		drop<EvProfile>(ctx, id);
	}
}

void copies(Check &c, mrc_context *ctx)
{
	constexpr uint32_t all = MRC_CTL_EV_OP_F_ALL_COPIES;
	Entry e;

	must(evp_make(ctx, id, explicit_spec(4), OFFLINE), "profile");
	c.err(one(ctx, replace, replacement(unpopulated, ev16(0x200, 1), GOOD)),
	      0, "the first");
	c.err(one(ctx, replace,
		  replacement(unpopulated, ev16(0x300, 2), GOOD, all)),
	      0, "all that are left");
	c.eq(shown(ctx), "0200@1g 0300@2g 0300@2g 0300@2g", "copies");
	c.err(one(ctx, set_state, entry(ev16(0x300, 2), DENIED)), 0,
	      "one copy denied");
	c.eq(shown(ctx), "0200@1g 0300@2d 0300@2g 0300@2g", "the first copy");
	e = entry(ev16(0x300, 2), DENIED);
	e.flags = all;
	c.err(one(ctx, set_state, e), 0, "all copies denied");
	c.eq(shown(ctx), "0200@1g 0300@2d 0300@2d 0300@2d", "all copies");
	c.err(one(ctx, replace,
		  replacement(ev16(0x300, 2), ev16(0x400, 2), GOOD)),
	      0, "one copy replaced");
	c.eq(shown(ctx), "0200@1g 0400@2g 0300@2d 0300@2d", "one replaced");
	c.err(one(ctx, replace,
		  replacement(ev16(0x300, 2), ev16(0x500, 1), DENIED, all)),
	      0, "all copies replaced");
	c.eq(shown(ctx), "0200@1g 0400@2g 0500@1d 0500@1d", "all replaced");
	c.err(go<EvProfile>(ctx, id, ONLINE), 0, "ONLINE");
	e = entry(ev16(0x500, 1), GOOD);
	e.flags = all;
	c.err(one(ctx, set_state, e), 0, "all copies allowed");
	c.eq(shown(ctx), "0200@1g 0400@2g 0500@1g 0500@1g", "ONLINE");
	drop<EvProfile>(ctx, id);
}

/* Batches of the size that the device names, and of one more. */
void batch_limit(Check &c, const Device &dev)
{
	const int most = static_cast<int>(dev.query().ev.ev_op_max_entries);
	mrc_context *ctx = dev.ctx();
	EvSpec spec = explicit_spec(4);
	std::vector<Entry> many;
	EvAttr attr{};

	spec.evs = four();
	must(evp_make(ctx, id, spec, ONLINE), "profile");
	c.that(most > 0, "the device names a limit");
	many.assign(static_cast<unsigned>(most) + 1, entry(four()[2], DENIED));
	for (const mrc_ctl_ev_op op : {set_state, replace, get_state}) {
		attr.ev_op = {op, many.data(), most + 1};
		c.err(op == get_state
			      ? query<EvProfile>(ctx, id, op_bit, attr)
			      : modify<EvProfile>(ctx, id, op_bit, attr),
		      E2BIG, "a batch of one too many");
		c.eq(attr.ev_op.entry_count, most + 1, "count of that");
	}
	c.eq(shown(ctx), "0100@1g 0101@2g 0102@1g 0103@2g", "after it");
	attr.ev_op = {set_state, many.data(), most};
	c.err(modify<EvProfile>(ctx, id, op_bit, attr), 0, "a full batch");
	c.eq(shown(ctx), "0100@1g 0101@2g 0102@1d 0103@2g", "after a full one");
	many.assign(70000, entry(four()[2], GOOD));
	attr.ev_op = {set_state, many.data(), 70000};
	c.err(modify<EvProfile>(ctx, id, op_bit, attr), E2BIG, "70000 entries");
	drop<EvProfile>(ctx, id);
}

/* --- how many EVs
 * ------------------------------------------------------------- */

uint32_t free_evs(const Device &dev)
{
	return dev.query().ev.ev_free_count;
}

void counts(Check &c, const Device &dev)
{
	const mrc_ctl_device_attr attr = dev.query();
	mrc_context *ctx = dev.ctx();
	const uint32_t total = attr.ev.ev_free_count;
	const uint32_t most = attr.ev.ev_max_count_profile;
	EvSpec spec = explicit_spec(most + 1);

	c.eq(total, attr.ev.ev_max_count, "all EVs are free");
	c.err(evp_make(ctx, id, spec, OFFLINE), E2BIG, "one EV too many");
	c.eq(now<EvProfile>(ctx, id), INIT, "state after that");
	spec.count = most;
	c.err(evp_make(ctx, id, spec, OFFLINE), 0, "as many as possible");
	c.eq(free_evs(dev), total - most, "EVs left");

	EvAttr change{};

	change.ev_count = 4;
	c.err(modify<EvProfile>(ctx, id, MRC_CTL_EV_PROFILE_COUNT, change), 0,
	      "fewer");
	c.eq(free_evs(dev), total - 4, "EVs left then");
	drop<EvProfile>(ctx, id);
	c.eq(free_evs(dev), total, "EVs left after INIT");

	/* AUTO takes none of the controller's. */
	spec.mode = MRC_CTL_EV_MODE_AUTO;
	must(evp_make(ctx, id, spec, ONLINE), "AUTO");
	c.eq(free_evs(dev), total, "EVs left with AUTO");
	drop<EvProfile>(ctx, id);

	/* All EVs of the device, and one more. */
	spec.mode = MRC_CTL_EV_MODE_EXP;
	spec.count = most;
	uint64_t n = 0;

	for (; free_evs(dev) >= most; n++)
		must(evp_make(ctx, 20 + n, spec, OFFLINE), "profile");
	c.eq(static_cast<int64_t>(n), total / most, "profiles of all EVs");
	spec.count = free_evs(dev) + 1;
	c.err(evp_make(ctx, id, spec, OFFLINE), E2BIG, "more than are free");
	c.eq(now<EvProfile>(ctx, id), INIT, "state after that");
	while (n--)
		drop<EvProfile>(ctx, 20 + n);
	c.eq(free_evs(dev), total, "EVs left at the end");
}

/* Generated: the device rounds to what its ports can share. */
void adjusted(Check &c, const Device &dev)
{
	mrc_context *ctx = dev.ctx();
	EvSpec spec = explicit_spec(5);
	EvAttr attr{};

	spec.mode = MRC_CTL_EV_MODE_GEN;
	spec.fields = {field(8, 0, 0xff), field(8, 0, 0xf, 1, 15)};
	c.err(evp_make(ctx, id, spec, OFFLINE), 0, "5 EVs on 2 ports");
	must(query<EvProfile>(ctx, id, MRC_CTL_EV_PROFILE_COUNT, attr),
	     "query");
	c.eq(attr.ev_count, 6, "adjusted COUNT");
	c.eq(static_cast<int64_t>(ev_array(ctx, id).size()), 6, "EVs");
	drop<EvProfile>(ctx, id);

	/* 4 bits have 16 values, which the two ports share. */
	spec.count = 100;
	spec.fields = {field(8, 0, 0xc), field(8, 0, 0x3)};
	c.err(evp_make(ctx, id, spec, ONLINE), 0, "100 of 16 EVs");
	must(query<EvProfile>(ctx, id, MRC_CTL_EV_PROFILE_COUNT, attr),
	     "query");
	c.eq(attr.ev_count, 16, "COUNT of the fields");
	drop<EvProfile>(ctx, id);
}

void with_format(Check &c, const Device &dev,
		 void (*test)(Check &, const Device &))
{
	must(fmt_make(dev.ctx(), fmt, MRC_CTL_EV_FMT_MODE_UDP, {8, 8}, ONLINE),
	     "format");
	test(c, dev);
	drop<Format>(dev.ctx(), fmt);
}
} // namespace

bool test_batches(const Device &dev, const Args &)
{
	Report r(Report::counted);
	const auto run = [&](const char *name,
			     void (*test)(Check &, const Device &)) {
		r.run(name, [&](Check &c) { with_format(c, dev, test); });
	};

	run("EV arrays: room that is too small",
	    [](Check &c, const Device &d) { array_room(c, d.ctx()); });
	run("EV fields: room that is too small",
	    [](Check &c, const Device &d) { fields_room(c, d.ctx()); });
	run("REPLACE_EV: batches that fail in the middle",
	    [](Check &c, const Device &d) { replacing(c, d.ctx()); });
	run("states of EVs: batches that fail in the middle",
	    [](Check &c, const Device &d) { states(c, d.ctx()); });
	run("copies of an EV, one and all",
	    [](Check &c, const Device &d) { copies(c, d.ctx()); });
	run("batches of the largest size, and of one more", batch_limit);
	run("numbers of EVs, of a profile and of the device", counts);
	run("generated EVs: the number is adjusted", adjusted);
	return r.good();
}
