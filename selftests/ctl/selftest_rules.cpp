// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tables of libMRC: which request in which state gives which errno. Every cell
 * starts from a fresh profile, and a refused request leaves the state alone.
 */
#include "selftest.hpp"

#include <array>
#include <initializer_list>
#include <utility>
#include <cstring>

namespace
{
constexpr uint64_t FMT = 5, EVP = 9, CCP = 3, OTHER_FMT = 6;
constexpr std::array states = {"INIT", "OFFLINE", "ONLINE"};

template <typename T> struct Row {
	const char *what;
	bool modify;
	std::function<void(With<T> &)> fill;
	std::array<int, 3> want; /* errno in INIT, OFFLINE, ONLINE */
};

constexpr int I = EINVAL;

/* --- EV formats
 * ------------------------------------------------------------------ */

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
	for (const auto &row : fmt_rows)
		for (uint32_t s = 0; s < 3; s++) {
			With<mrc_abi_fmt> f{};

			fmt_drop(dev, FMT);
			if (s)
				must(fmt_make(dev, FMT, mrc::UDP, {16}, s),
				     "format");
			f.id = FMT;
			row.fill(f);
			const std::string what =
				std::string(row.what) + " in " + states[s];
			const int err = dev.call(MRC_ABI_OBJECT_EV_FMT,
						 row.modify ? MRC_ABI_FMT_MODIFY
							    : MRC_ABI_FMT_QUERY,
						 f);

			c.err(err, row.want[s], what);
			if (err)
				c.eq(fmt_now(dev, FMT), s,
				     what + ", state afterwards");
		}
	fmt_drop(dev, FMT);
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

/* --- EV profiles
 * -------------------------------------------------------------------- */

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
	must(fmt_make(dev, FMT, mrc::UDP, {16}, mrc::ONLINE), "format");
	for (const auto &row : evp_rows)
		for (uint32_t s = 0; s < 3; s++) {
			With<mrc_abi_evp> p{};

			evp_drop(dev, EVP);
			if (s)
				must(evp_make(dev, EVP, FMT, udp_evs(4, 1), 0,
					      s),
				     "EV profile");
			p.id = EVP;
			row.fill(p);
			const std::string what =
				std::string(row.what) + " in " + states[s];
			const int err = dev.call(MRC_ABI_OBJECT_EV_PROFILE,
						 row.modify ? MRC_ABI_EVP_MODIFY
							    : MRC_ABI_EVP_QUERY,
						 p);

			c.err(err, row.want[s], what);
			if (err)
				c.eq(evp_now(dev, EVP), s,
				     what + ", state afterwards");
		}
	evp_drop(dev, EVP);
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

/* --- CC profiles
 * --------------------------------------------------------------------- */

void ccp_name(mrc_abi_ccp &p, const char *name)
{
	p.mask |= mrc::CCP_ALGORITHM;
	std::strncpy(p.algorithm, name, sizeof(p.algorithm) - 1);
}

const std::vector<Row<mrc_abi_ccp>> ccp_rows = {
	{"state -> INIT",
	 true,
	 [](auto &p) { p.mask = mrc::CCP_STATE; },
	 {I, 0, I}},
	{"state -> OFFLINE alone",
	 true,
	 [](auto &p) {
		 p.mask = mrc::CCP_STATE;
		 p.state = mrc::OFFLINE;
	 },
	 {I, I, 0}},
	{"state -> OFFLINE with algorithm",
	 true,
	 [](auto &p) {
		 p.mask = mrc::CCP_STATE;
		 p.state = mrc::OFFLINE;
		 ccp_name(p, "uet-1.0-nscc");
	 },
	 {0, I, I}},
	{"state -> ONLINE",
	 true,
	 [](auto &p) {
		 p.mask = mrc::CCP_STATE;
		 p.state = mrc::ONLINE;
	 },
	 {I, 0, I}},
	{"algorithm",
	 true,
	 [](auto &p) { ccp_name(p, "uet-1.0-nscc"); },
	 {I, 0, I}},
	{"unknown algorithm",
	 true,
	 [](auto &p) { ccp_name(p, "reno"); },
	 {I, I, I}},
	{"config", true, [](auto &p) { p.mask = mrc::CCP_CONFIG; }, {I, 0, 0}},
	{"gamma above 1",
	 true,
	 [](auto &p) {
		 p.mask = mrc::CCP_CONFIG;
		 p.nscc.gamma = 0x10001;
	 },
	 {I, I, I}},
	{"query state",
	 false,
	 [](auto &p) { p.mask = mrc::CCP_STATE; },
	 {0, 0, 0}},
	{"query algorithm",
	 false,
	 [](auto &p) { p.mask = mrc::CCP_ALGORITHM; },
	 {I, 0, 0}},
	{"query config",
	 false,
	 [](auto &p) { p.mask = mrc::CCP_CONFIG; },
	 {I, 0, 0}},
	{"unknown bit", true, [](auto &p) { p.mask = 1u << 20; }, {I, I, I}},
};

void ccp_table(Dev &dev, Check &c)
{
	for (const auto &row : ccp_rows)
		for (uint32_t s = 0; s < 3; s++) {
			With<mrc_abi_ccp> p{};

			ccp_drop(dev, CCP);
			if (s)
				must(ccp_make(dev, CCP, "uet-1.0-nscc", s),
				     "CC profile");
			p.id = CCP;
			row.fill(p);
			const std::string what =
				std::string(row.what) + " in " + states[s];
			const int err = dev.call(MRC_ABI_OBJECT_CC_PROFILE,
						 row.modify ? MRC_ABI_CCP_MODIFY
							    : MRC_ABI_CCP_QUERY,
						 p);

			c.err(err, row.want[s], what);
			if (err)
				c.eq(ccp_now(dev, CCP), s,
				     what + ", state afterwards");
		}
	ccp_drop(dev, CCP);
	c.err(ccp_make(dev, CCP, "", mrc::ONLINE), 0,
	      "congestion control off needs no config");
	ccp_drop(dev, CCP);
}

/* --- what belongs to no profile
 * ------------------------------------------------------- */

void ports_and_classes(Dev &dev, Check &c)
{
	mrc_abi_port p{};
	mrc_abi_tc tc{}, now{};

	c.err(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p), EINVAL,
	      "port 0");
	p.port = 200;
	c.err(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p), EINVAL,
	      "port 200");
	p = {.port = 1, .mask = 1, .admin_state = 2, .reserved = 0};
	c.err(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p), EINVAL,
	      "admin state 2");
	p = {.port = 1, .mask = 0, .admin_state = 0, .reserved = 1};
	c.err(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p), EINVAL,
	      "reserved");
	p = {.port = 1, .mask = 0, .admin_state = 0, .reserved = 0};
	c.err(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p), 0,
	      "query port");
	c.eq(p.admin_state, 1, "admin state");

	must(dev.get(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_GET, tc), "tc");
	now = tc;
	now.dscp[0] = 64;
	c.err(dev.set(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_SET, now), EINVAL,
	      "DSCP 64");
	now = tc;
	now.dscp[0] = now.dscp[1];
	c.err(dev.set(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_SET, now), EINVAL,
	      "two equal DSCPs");
	now = tc;
	now.trimming = 2;
	c.err(dev.set(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_SET, now), EINVAL,
	      "trimming 2");
	must(dev.get(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_GET, now), "tc");
	c.that(!std::memcmp(&tc, &now, sizeof(tc)), "the map changed");
}

/* All or none, by bits; a device keeps what was refused as it was. */
void device_attributes(Dev &dev, Check &c)
{
	const auto call = [&](mrc_abi_dev_attr &a) {
		return dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_ATTR, a);
	};
	constexpr uint32_t all =
		MRC_ABI_DEV_ATTR_EXTENSION | MRC_ABI_DEV_ATTR_NUM_EVS |
		MRC_ABI_DEV_ATTR_CWND | MRC_ABI_DEV_ATTR_CC;
	mrc_abi_dev_attr was{}, a{};

	c.err(call(was), 0, "query");
	c.eq(was.num_evs, 64, "num_evs at first");
	c.eq(was.cwnd, 0, "cwnd at first");
	c.that(!std::strcmp(was.cc, "none"), "cc at first");
	a = {.mask = all, .extension = 0, .num_evs = 17, .cwnd = 1 << 20, .cc = {}};
	std::strcpy(a.cc, "uet-1.0-nscc");
	const mrc_abi_dev_attr good = a;

	for (const auto &[what, spoil] :
	     std::initializer_list<
		     std::pair<const char *, void (*)(mrc_abi_dev_attr &)>>{
		     {"unknown bit", [](auto &x) { x.mask |= 1u << 20; }},
		     {"extension 2", [](auto &x) { x.extension = 2; }},
		     {"no EVs", [](auto &x) { x.num_evs = 0; }},
		     {"1025 EVs", [](auto &x) { x.num_evs = 1025; }},
		     {"no algorithm", [](auto &x) { x.cc[0] = 0; }},
		     {"unknown algorithm", [](auto &x) { x.cc[0] = 'x'; }},
		     {"name without end",
		      [](auto &x) { std::memset(x.cc, 'x', sizeof(x.cc)); }},
	     }) {
		a = good;
		spoil(a);
		c.err(call(a), EINVAL, what);
		a = {};
		must(call(a), "query");
		c.that(!std::memcmp(&a, &was, sizeof(a)),
		       std::string("changed by ") + what);
	}
	a = good;
	c.err(call(a), 0, "all at once");
	a = {};
	a.mask = MRC_ABI_DEV_ATTR_NUM_EVS;
	a.num_evs = 5;
	c.err(call(a), 0, "one");
	c.eq(a.num_evs, 5, "num_evs");
	c.eq(a.cwnd, 1 << 20, "cwnd, which was not named");
	c.eq(a.extension, 0, "extension, which was not named");
	c.that(!std::strcmp(a.cc, "uet-1.0-nscc"), "cc, which was not named");
	was.mask = all;
	must(call(was), "back");
}

int default_set(Dev &dev, uint8_t last, uint32_t len, uint64_t ev, uint64_t cc)
{
	mrc_abi_default d{};

	d.prefix[0] = 0xfd;
	d.prefix[15] = last;
	d.prefix_len = len;
	d.ev_profile = ev;
	d.cc_profile = cc;
	return dev.set(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_SET, d);
}

void defaults_table(Dev &dev, Check &c)
{
	constexpr uint64_t none = MRC_ABI_PROFILE_NONE;
	const uint32_t max = dev.query().max_defaults;
	mrc_abi_defaults d{};

	c.err(default_set(dev, 0, 129, 0, 0), EINVAL, "length 129");
	c.err(default_set(dev, 1, 64, 0, 0), EINVAL, "bits beyond the prefix");
	c.err(default_set(dev, 1, 128, 1000, none), EINVAL,
	      "EV profile beyond capacity");
	c.err(default_set(dev, 1, 128, none, 1000), EINVAL,
	      "CC profile beyond capacity");
	c.err(default_set(dev, 1, 128, none, none), ENOENT,
	      "removal of what is not there");
	for (uint32_t i = 0; i < max; i++)
		c.err(default_set(dev, static_cast<uint8_t>(i), 128, 0, none),
		      0, "entry");
	c.err(default_set(dev, static_cast<uint8_t>(max), 128, 0, none), ENOSPC,
	      "one too many");
	c.err(default_set(dev, 0, 128, 1, 2), 0, "replace");
	c.err(dev.get(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_GET, d), E2BIG,
	      "no room");
	c.eq(d.n, max, "entries");
	for (uint32_t i = 0; i < max; i++)
		c.err(default_set(dev, static_cast<uint8_t>(i), 128, none,
				  none),
		      0, "removal");
	c.err(dev.get(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_GET, d), 0,
	      "empty table");
	c.eq(d.n, 0, "entries at the end");
}
} // namespace

bool selftest_rules(Dev &dev)
{
	Report r;

	r.run("EV formats: request x state",
	      [&](Check &c) { fmt_table(dev, c); });
	r.run("EV formats: limits", [&](Check &c) { fmt_limits(dev, c); });
	r.run("EV profiles: request x state",
	      [&](Check &c) { evp_table(dev, c); });
	r.run("EV profiles: limits, batches, BUSY",
	      [&](Check &c) { evp_limits(dev, c); });
	r.run("CC profiles: request x state",
	      [&](Check &c) { ccp_table(dev, c); });
	r.run("ports and traffic classes",
	      [&](Check &c) { ports_and_classes(dev, c); });
	r.run("attributes of the device",
	      [&](Check &c) { device_attributes(dev, c); });
	r.run("defaults: bounded, replaced, removed",
	      [&](Check &c) { defaults_table(dev, c); });
	return r.good();
}
