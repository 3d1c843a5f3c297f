// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * EV profiles: requests in each state, limits, batches.
 */
#include "selftest_rules.hpp"

namespace
{
mrc_abi_ev_field field16 = {.width = 16,
			    .init_val = 0,
			    .min_val = 0,
			    .max_val = 0,
			    .mask = 0xffff,
			    .reserved = 0};
mrc_abi_ev_field fields_room[32];
mrc_abi_ev_entry one_entry;
mrc_abi_ev_entry entries_room[64];

mrc_abi_ev one_new;

void evp_entry(With<mrc_abi_evp> &p, uint32_t op, uint32_t state,
	       uint16_t new_port = 0)
{
	const auto evs = udp_evs(1, 1);

	p.mask |= mrc::EVP_EV_OP;
	p.ev_op = op;
	one_entry = {.ev = evs[0], .state = state, .flags = 0};
	one_new = new_port ? udp_evs(1, 1, new_port)[0] : mrc_abi_ev{};
	if (op == mrc::QUERY_EV_ARRAY) {
		p.arrays.push_back(array_out(MRC_ABI_ATTR_ARRAY_OUT,
					     std::span(entries_room)));
		return;
	}
	p.arrays.push_back(
		array_in(MRC_ABI_ATTR_ARRAY_IN, std::span(&one_entry, 1)));
	if (op == mrc::QUERY_EV_STATE)
		p.arrays.push_back(array_out(MRC_ABI_ATTR_ARRAY_OUT,
					     std::span(entries_room, 1)));
	if (op == mrc::REPLACE_EV)
		p.arrays.push_back(array_in(MRC_ABI_ATTR_SECOND_IN,
					    std::span(&one_new, 1)));
}

void evp_fields(With<mrc_abi_evp> &p, uint32_t op)
{
	p.mask |= mrc::EVP_FIELDS_OP;
	p.fields_op = op;
	p.arrays.push_back(op == mrc::MODIFY_FIELDS
				   ? array_in(MRC_ABI_ATTR_FIELDS_IN,
					      std::span(&field16, 1))
				   : array_out(MRC_ABI_ATTR_FIELDS_OUT,
					       std::span(fields_room)));
}

void evp_offline(mrc_abi_evp &p)
{
	p.mask = mrc::EVP_STATE | mrc::EVP_MODE | mrc::EVP_FMT_ID |
		 mrc::EVP_COUNT;
	p.state = mrc::OFFLINE;
	p.mode = mrc::EXPLICIT;
	p.fmt_id = FMT;
	p.count = 4;
}

const std::vector<Row<mrc_abi_evp>> evp_rows = {
	{"state -> INIT",
	 true,
	 [](auto &p) { p.mask = mrc::EVP_STATE; },
	 {I, 0, I}},
	{"state -> OFFLINE alone",
	 true,
	 [](auto &p) {
		 p.mask = mrc::EVP_STATE;
		 p.state = mrc::OFFLINE;
	 },
	 {I, I, 0}},
	{"state -> OFFLINE with all it needs", true, evp_offline, {0, I, I}},
	{"state -> OFFLINE without count",
	 true,
	 [](auto &p) {
		 evp_offline(p);
		 p.mask &= ~mrc::EVP_COUNT;
	 },
	 {I, I, I}},
	{"state -> ONLINE",
	 true,
	 [](auto &p) {
		 p.mask = mrc::EVP_STATE;
		 p.state = mrc::ONLINE;
	 },
	 {I, 0, I}},
	{"mode",
	 true,
	 [](auto &p) {
		 p.mask = mrc::EVP_MODE;
		 p.mode = mrc::EXPLICIT;
	 },
	 {I, 0, I}},
	{"unknown mode",
	 true,
	 [](auto &p) {
		 p.mask = mrc::EVP_MODE;
		 p.mode = 8;
	 },
	 {I, I, I}},
	{"format",
	 true,
	 [](auto &p) {
		 p.mask = mrc::EVP_FMT_ID;
		 p.fmt_id = FMT;
	 },
	 {I, 0, I}},
	{"format that is not ONLINE",
	 true,
	 [](auto &p) {
		 p.mask = mrc::EVP_FMT_ID;
		 p.fmt_id = OTHER_FMT;
	 },
	 {I, I, I}},
	{"count",
	 true,
	 [](auto &p) {
		 p.mask = mrc::EVP_COUNT;
		 p.count = 8;
	 },
	 {I, 0, I}},
	{"min_active",
	 true,
	 [](auto &p) {
		 p.mask = mrc::EVP_MIN_ACTIVE;
		 p.min_active = 2;
	 },
	 {I, 0, I}},
	{"min_active above count",
	 true,
	 [](auto &p) {
		 p.mask = mrc::EVP_MIN_ACTIVE;
		 p.min_active = 5;
	 },
	 {I, I, I}},
	{"event mask",
	 true,
	 [](auto &p) {
		 p.mask = mrc::EVP_EVENT_MASK;
		 p.event_mask = mrc::GOOD;
	 },
	 {I, 0, 0}},
	{"event mask with DENIED",
	 true,
	 [](auto &p) {
		 p.mask = mrc::EVP_EVENT_MASK;
		 p.event_mask = mrc::DENIED;
	 },
	 {I, I, I}},
	{"replace an EV",
	 true,
	 [](auto &p) { evp_entry(p, mrc::REPLACE_EV, mrc::GOOD, 0xd001); },
	 {I, 0, 0}},
	{"deny an EV",
	 true,
	 [](auto &p) { evp_entry(p, mrc::MODIFY_EV_STATE, mrc::DENIED); },
	 {I, 0, 0}},
	{"EV to UNKNOWN",
	 true,
	 [](auto &p) { evp_entry(p, mrc::MODIFY_EV_STATE, mrc::UNKNOWN); },
	 {I, I, I}},
	{"query an EV by modify",
	 true,
	 [](auto &p) { evp_entry(p, mrc::QUERY_EV_STATE, 0); },
	 {I, 0, 0}},
	{"query an EV",
	 false,
	 [](auto &p) { evp_entry(p, mrc::QUERY_EV_STATE, 0); },
	 {I, 0, 0}},
	{"query the array",
	 false,
	 [](auto &p) { evp_entry(p, mrc::QUERY_EV_ARRAY, 0); },
	 {I, 0, 0}},
	{"replace by query",
	 false,
	 [](auto &p) { evp_entry(p, mrc::REPLACE_EV, mrc::GOOD, 0xd001); },
	 {I, I, I}},
	{"modify fields",
	 true,
	 [](auto &p) { evp_fields(p, mrc::MODIFY_FIELDS); },
	 {I, 0, 0}},
	{"query fields",
	 false,
	 [](auto &p) { evp_fields(p, mrc::QUERY_FIELDS); },
	 {I, 0, 0}},
	{"EV and field operation",
	 true,
	 [](auto &p) {
		 evp_entry(p, mrc::QUERY_EV_STATE, 0);
		 evp_fields(p, mrc::QUERY_FIELDS);
	 },
	 {I, I, I}},
	{"query state",
	 false,
	 [](auto &p) { p.mask = mrc::EVP_STATE; },
	 {0, 0, 0}},
	{"query mode",
	 false,
	 [](auto &p) { p.mask = mrc::EVP_MODE; },
	 {I, 0, 0}},
	{"query format",
	 false,
	 [](auto &p) { p.mask = mrc::EVP_FMT_ID; },
	 {I, 0, 0}},
	{"query count",
	 false,
	 [](auto &p) { p.mask = mrc::EVP_COUNT; },
	 {I, 0, 0}},
	{"query min_active",
	 false,
	 [](auto &p) { p.mask = mrc::EVP_MIN_ACTIVE; },
	 {I, 0, 0}},
	{"query event mask",
	 false,
	 [](auto &p) { p.mask = mrc::EVP_EVENT_MASK; },
	 {I, 0, 0}},
	{"unknown bit", true, [](auto &p) { p.mask = 1u << 20; }, {I, I, I}},
};

void evp_table(Dev &dev, Check &c)
{
	const auto make = [](Dev &d, uint32_t to) {
		return evp_make(d, EVP, FMT, udp_evs(4, 1), 0, to);
	};

	must(fmt_make(dev, FMT, mrc::UDP, {16}, mrc::ONLINE), "format");
	rules_table(dev, c,
		    {MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_MODIFY,
		     MRC_ABI_EVP_QUERY, EVP, evp_now, evp_drop, make},
		    evp_rows);
	fmt_drop(dev, FMT);
}

uint32_t evp_count(Dev &dev, uint64_t id)
{
	mrc_abi_evp p{};

	p.id = id;
	p.mask = mrc::EVP_COUNT;
	must(dev.call(MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_QUERY, p), "count");
	return p.count;
}

void evp_limits(Dev &dev, Check &c)
{
	const mrc_abi_device before = dev.query();
	std::vector<mrc_abi_ev_entry> e;
	uint32_t n = 0;

	must(fmt_make(dev, FMT, mrc::UDP, {16}, mrc::ONLINE), "format");
	c.err(evp_make(dev, before.ev_max_profiles, FMT, udp_evs(4, 1), 0,
		       mrc::OFFLINE),
	      EINVAL, "id beyond capacity");
	c.err(evp_make(dev, EVP, FMT,
		       udp_evs(before.ev_max_count_profile + 1, 1), 0,
		       mrc::OFFLINE),
	      E2BIG, "too many EVs for a profile");
	c.err(evp_make(dev, EVP, FMT, udp_evs(4, 200), 0, mrc::OFFLINE), EINVAL,
	      "foreign port");
	evp_drop(dev, EVP);
	must(evp_make(dev, EVP, FMT, udp_evs(4, 1), 0, mrc::OFFLINE),
	     "EV profile");
	c.eq(dev.query().ev_free_count, before.ev_free_count - 4,
	     "free EVs with a profile of 4");

	/* A batch stops where it fails, and what came before is done. */
	e.assign(3, {});
	e[0] = {.ev = udp_evs(4, 1)[0],
		.state = mrc::DENIED,
		.flags = 0};
	e[1] = {.ev = udp_evs(1, 1, 0x1234)[0],
		.state = mrc::DENIED,
		.flags = 0};
	e[2] = {.ev = udp_evs(4, 1)[2],
		.state = mrc::DENIED,
		.flags = 0};
	c.err(evp_op(dev, EVP, mrc::MODIFY_EV_STATE, e), ENOENT,
	      "EV that is not there");
	e.assign(3, {});
	c.err(evp_op(dev, EVP, mrc::QUERY_EV_ARRAY, e, &n), E2BIG,
	      "room for 3 of 4");
	c.eq(n, 4, "needed count");
	e.assign(8, {});
	c.err(evp_op(dev, EVP, mrc::QUERY_EV_ARRAY, e, &n), 0, "array");
	c.eq(n, 4, "count of the array");
	c.eq(e[0].state, mrc::DENIED, "entry before the failing one");
	c.eq(e[2].state, mrc::GOOD, "entry after the failing one");
	c.eq(evp_count(dev, EVP), 4, "count");

	/* Arrays: parts of an element, one that is missing, too little room. */
	With<mrc_abi_evp> p{};
	const auto evs = udp_evs(4, 1);
	const auto call = [&](Arrays arrays, uint32_t op, bool modify) {
		p.id = EVP;
		p.mask = mrc::EVP_EV_OP;
		p.ev_op = op;
		p.n_entries = 0;
		p.arrays = std::move(arrays);
		return dev.call(MRC_ABI_OBJECT_EV_PROFILE,
				modify ? MRC_ABI_EVP_MODIFY : MRC_ABI_EVP_QUERY,
				p);
	};
	const Array in = array_in(MRC_ABI_ATTR_ARRAY_IN, std::span(e).first(2));
	Array part = in;

	part.in = part.in.first(part.in.size() - 1);
	c.err(call({part}, mrc::MODIFY_EV_STATE, true), EINVAL,
	      "an entry and a part of one");
	c.err(call({in}, mrc::REPLACE_EV, true), EINVAL,
	      "nothing to replace EVs with");
	c.err(call({in, array_in(MRC_ABI_ATTR_SECOND_IN, std::span(evs))},
		   mrc::REPLACE_EV, true),
	      EINVAL, "two EVs, four to replace them with");
	c.err(call({in, array_out(MRC_ABI_ATTR_ARRAY_OUT, std::span(e).first(1))},
		   mrc::QUERY_EV_STATE, false),
	      E2BIG, "room for the state of one of two");
	c.eq(p.n_entries, 2, "needed room");

	/* BUSY: the format of an ONLINE profile stays as it is. */
	must(evp_state(dev, EVP, mrc::ONLINE), "ONLINE");
	c.err(fmt_state(dev, FMT, mrc::OFFLINE), EBUSY,
	      "format of an ONLINE profile");
	must(evp_state(dev, EVP, mrc::OFFLINE), "OFFLINE");
	c.err(fmt_state(dev, FMT, mrc::OFFLINE), 0,
	      "format of an OFFLINE profile");
	c.err(evp_state(dev, EVP, mrc::ONLINE), EINVAL,
	      "ONLINE without its format");
	c.eq(evp_now(dev, EVP), mrc::OFFLINE, "state afterwards");
	evp_drop(dev, EVP);
	fmt_drop(dev, FMT);
	c.eq(dev.query().ev_free_count, before.ev_free_count,
	     "free EVs at the end");
}
} // namespace

void rules_evp(Dev &dev, Report &r)
{
	r.run("EV profiles: request x state",
	      [&](Check &c) { evp_table(dev, c); });
	r.run("EV profiles: limits, batches, BUSY",
	      [&](Check &c) { evp_limits(dev, c); });
}
