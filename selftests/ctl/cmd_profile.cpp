// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "commands.hpp"

#include <cstdio>
#include <cstring>
#include <iostream>

namespace
{
uint64_t id_of(const Words &w, const char *usage)
{
	if (w.size() < 3)
		throw Failure(usage);
	return number(w[1]);
}

/* --- EV formats --------------------------------------------------------------
 */

uint32_t fmt_state(Dev &dev, uint64_t id)
{
	mrc_abi_fmt f{};

	f.id = id;
	f.mask = mrc::FMT_CUR_STATE;
	must(dev.call(MRC_ABI_OBJECT_EV_FMT, MRC_ABI_FMT_QUERY, f), "fmt");
	return f.cur_state;
}

void fmt_to(Dev &dev, uint64_t id, uint32_t state)
{
	mrc_abi_fmt f{};

	f.id = id;
	f.mask = mrc::FMT_STATE;
	f.state = state;
	must(dev.call(MRC_ABI_OBJECT_EV_FMT, MRC_ABI_FMT_MODIFY, f),
	     "fmt " + std::to_string(id) + " " + show_state(state));
}

void fmt_online(Dev &dev, uint64_t id, const Keys &keys)
{
	std::vector<uint8_t> width;
	With<mrc_abi_fmt> f{};

	f.id = id;
	if (keys.has("mode")) {
		f.mask = mrc::FMT_STATE | mrc::FMT_MODE | mrc::FMT_OP;
		f.state = mrc::OFFLINE;
		f.mode = parse_fmt_mode(keys.need("mode"));
		f.op = mrc::FMT_MODIFY_FIELDS;
		for (const std::string &s : split(keys.need("fields"), ','))
			width.push_back(static_cast<uint8_t>(number(s, 255)));
		f.arrays = {array_in(MRC_ABI_ATTR_ARRAY_IN, std::span(width))};
		keys.done();
		must(dev.call(MRC_ABI_OBJECT_EV_FMT, MRC_ABI_FMT_MODIFY, f),
		     "fmt " + std::to_string(id));
	}
	keys.done();
	fmt_to(dev, id, mrc::ONLINE);
}

void fmt_show(Dev &dev, uint64_t id)
{
	uint8_t width[32];
	With<mrc_abi_fmt> f{};

	const uint32_t state = fmt_state(dev, id);

	std::printf("state %s\n", show_state(state));
	if (state == mrc::INIT)
		return;
	f.id = id;
	f.mask = mrc::FMT_MODE | mrc::FMT_OP;
	f.op = mrc::FMT_QUERY_FIELDS;
	f.arrays = {array_out(MRC_ABI_ATTR_ARRAY_OUT, std::span(width))};
	must(dev.call(MRC_ABI_OBJECT_EV_FMT, MRC_ABI_FMT_QUERY, f), "fmt " + std::to_string(id));
	std::printf("mode %s\nfields", show_fmt_mode(f.mode));
	for (uint32_t i = 0; i < f.n_fields; i++)
		std::printf("%c%u", i ? ',' : ' ', width[i]);
	std::printf("\n");
}

/* --- EV profiles
 * -------------------------------------------------------------- */

uint32_t evp_state(Dev &dev, uint64_t id)
{
	mrc_abi_evp p{};

	p.id = id;
	p.mask = mrc::EVP_CUR_STATE;
	must(dev.call(MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_QUERY, p), "ev");
	return p.cur_state;
}

void evp_to(Dev &dev, uint64_t id, uint32_t state)
{
	mrc_abi_evp p{};

	p.id = id;
	p.mask = mrc::EVP_STATE;
	p.state = state;
	must(dev.call(MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_MODIFY, p),
	     "ev " + std::to_string(id) + " " + show_state(state));
}

void evp_batch(Dev &dev, uint64_t id, uint32_t op,
	       std::vector<mrc_abi_ev_entry> &entry,
	       const std::vector<mrc_abi_ev> &with = {})
{
	With<mrc_abi_evp> p{};

	p.id = id;
	p.mask = mrc::EVP_EV_OP;
	p.ev_op = op;
	if (op != mrc::QUERY_EV_ARRAY)
		p.arrays.push_back(
			array_in(MRC_ABI_ATTR_ARRAY_IN, std::span(entry)));
	if (op == mrc::QUERY_EV_STATE || op == mrc::QUERY_EV_ARRAY)
		p.arrays.push_back(
			array_out(MRC_ABI_ATTR_ARRAY_OUT, std::span(entry)));
	p.arrays.push_back(array_in(MRC_ABI_ATTR_SECOND_IN, std::span(with)));
	must(dev.call(MRC_ABI_OBJECT_EV_PROFILE,
		      op == mrc::QUERY_EV_STATE || op == mrc::QUERY_EV_ARRAY
			      ? MRC_ABI_EVP_QUERY
			      : MRC_ABI_EVP_MODIFY,
		      p),
	     "ev " + std::to_string(id));
	entry.resize(p.n_entries);
}

std::vector<mrc_abi_ev> evs_of(const std::string &list)
{
	std::vector<mrc_abi_ev> evs;
	std::string line;

	if (list == "-") {
		while (std::getline(std::cin, line))
			if (!line.empty())
				evs.push_back(parse_ev(line));
	} else {
		for (const std::string &s : split(list, ','))
			evs.push_back(parse_ev(s));
	}
	return evs;
}

uint32_t events_of(const std::string &list)
{
	uint32_t mask = 0;

	for (const std::string &s : split(list, ','))
		if (s == "good")
			mask |= mrc::GOOD;
		else if (s == "bad")
			mask |= mrc::BAD;
		else
			throw Failure("events are good, bad: " + s);
	return mask;
}

/*
 * To OFFLINE with what the words say; an explicit profile gets its EVs, and
 * everything goes ONLINE.
 */
void evp_online(Dev &dev, uint64_t id, const Keys &keys)
{
	std::vector<mrc_abi_ev_field> field;
	std::vector<mrc_abi_ev_entry> entry;
	std::vector<mrc_abi_ev> evs;
	With<mrc_abi_evp> p{};

	if (!keys.has("mode")) {
		keys.done();
		return evp_to(dev, id, mrc::ONLINE);
	}
	p.id = id;
	p.mask = mrc::EVP_STATE | mrc::EVP_MODE;
	p.state = mrc::OFFLINE;
	p.mode = parse_ev_mode(keys.need("mode"));
	if (p.mode == mrc::EXPLICIT)
		evs = evs_of(keys.need("evs"));
	if (keys.has("fmt")) {
		p.mask |= mrc::EVP_FMT_ID;
		p.fmt_id = keys.num("fmt", 0);
	}
	if (keys.has("count") || !evs.empty()) {
		p.mask |= mrc::EVP_COUNT;
		p.count = static_cast<uint32_t>(
			keys.num("count", evs.size(), UINT32_MAX));
	}
	if (keys.has("min_active")) {
		p.mask |= mrc::EVP_MIN_ACTIVE;
		p.min_active = static_cast<uint32_t>(
			keys.num("min_active", 0, UINT32_MAX));
	}
	if (keys.has("events")) {
		p.mask |= mrc::EVP_EVENT_MASK;
		p.event_mask = events_of(keys.str("events", ""));
	}
	if (keys.has("fields")) {
		for (const std::string &s : split(keys.str("fields", ""), ','))
			field.push_back(parse_field(s));
		p.mask |= mrc::EVP_FIELDS_OP;
		p.fields_op = mrc::MODIFY_FIELDS;
		p.arrays = {array_in(MRC_ABI_ATTR_FIELDS_IN, std::span(field))};
	}
	keys.done();
	must(dev.call(MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_MODIFY, p), "ev " + std::to_string(id));
	entry.assign(evs.size(), {.ev = {}, .state = mrc::GOOD, .flags = 0});
	if (!entry.empty())
		evp_batch(dev, id, mrc::REPLACE_EV, entry, evs);
	evp_to(dev, id, mrc::ONLINE);
}

void evp_list(Dev &dev, uint64_t id)
{
	std::vector<mrc_abi_ev_entry> entry(dev.query().ev_max_count_profile);

	evp_batch(dev, id, mrc::QUERY_EV_ARRAY, entry);
	for (std::size_t i = 0; i < entry.size(); i++)
		std::printf("%zu %s %s\n", i, show_ev(entry[i].ev).c_str(),
			    show_ev_state(entry[i].state));
}

void evp_show(Dev &dev, uint64_t id)
{
	mrc_abi_ev_field field[32];
	With<mrc_abi_evp> p{};
	const uint32_t state = evp_state(dev, id);

	std::printf("state %s\n", show_state(state));
	if (state == mrc::INIT)
		return;
	p.id = id;
	p.mask = mrc::EVP_MODE | mrc::EVP_MIN_ACTIVE | mrc::EVP_EVENT_MASK;
	must(dev.call(MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_QUERY, p), "ev " + std::to_string(id));
	std::printf("mode %s\nmin_active %u\nevent_mask 0x%x\n",
		    show_ev_mode(p.mode), p.min_active, p.event_mask);
	if (p.mode == mrc::AUTO)
		return;
	p.mask = mrc::EVP_FMT_ID | mrc::EVP_COUNT | mrc::EVP_FIELDS_OP;
	p.fields_op = mrc::QUERY_FIELDS;
	p.arrays = {array_out(MRC_ABI_ATTR_FIELDS_OUT, std::span(field))};
	must(dev.call(MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_QUERY, p), "ev " + std::to_string(id));
	std::printf("fmt %llu\ncount %u\n",
		    static_cast<unsigned long long>(p.fmt_id), p.count);
	for (uint32_t i = 0; i < p.n_fields; i++)
		std::printf("field %u/%x/%x/%x/%x\n", field[i].width,
			    field[i].init_val, field[i].mask, field[i].min_val,
			    field[i].max_val);
}

/* deny|allow EV[,EV...] */
void evp_set_state(Dev &dev, uint64_t id, const Words &w, uint32_t state)
{
	std::vector<mrc_abi_ev_entry> entry;

	if (w.size() != 4)
		throw Failure("ev ID deny|allow HEX@PORT[,HEX@PORT...]|-");
	for (const mrc_abi_ev &ev : evs_of(w[3]))
		entry.push_back(
			{.ev = ev, .state = state, .flags = mrc::ALL_COPIES});
	evp_batch(dev, id, mrc::MODIFY_EV_STATE, entry);
}

/* replace OLD NEW [OLD NEW]... */
void evp_replace(Dev &dev, uint64_t id, const Words &w)
{
	std::vector<mrc_abi_ev_entry> entry;
	std::vector<mrc_abi_ev> with;

	if (w.size() < 5 || w.size() % 2 == 0)
		throw Failure("ev ID replace OLD NEW [OLD NEW]...");
	for (std::size_t i = 3; i < w.size(); i += 2) {
		entry.push_back({.ev = parse_ev(w[i]),
				 .state = mrc::GOOD,
				 .flags = 0});
		with.push_back(parse_ev(w[i + 1]));
	}
	evp_batch(dev, id, mrc::REPLACE_EV, entry, with);
}

void evp_events(Dev &dev, uint64_t id, const Words &w)
{
	mrc_abi_evp p{};

	p.id = id;
	p.mask = mrc::EVP_EVENT_MASK;
	p.event_mask = w.size() > 3 ? events_of(w[3]) : 0;
	must(dev.call(MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_MODIFY, p), "ev " + std::to_string(id));
}

/* --- CC profiles
 * --------------------------------------------------------------- */

struct Param {
	const char *name;
	uint32_t mrc_abi_nscc::*field;
};

constexpr Param params[] = {
	{"adjust_bytes_threshold", &mrc_abi_nscc::adjust_bytes_threshold},
	{"adjust_period_threshold", &mrc_abi_nscc::adjust_period_threshold},
	{"base_rtt", &mrc_abi_nscc::base_rtt},
	{"eta", &mrc_abi_nscc::eta},
	{"fi", &mrc_abi_nscc::fi},
	{"fi_scale", &mrc_abi_nscc::fi_scale},
	{"gamma", &mrc_abi_nscc::gamma},
	{"max_md_jump", &mrc_abi_nscc::max_md_jump},
	{"max_cwnd", &mrc_abi_nscc::max_cwnd},
	{"qa_threshold", &mrc_abi_nscc::qa_threshold},
	{"target_delay", &mrc_abi_nscc::target_delay},
};

uint32_t ccp_state(Dev &dev, uint64_t id)
{
	mrc_abi_ccp p{};

	p.id = id;
	p.mask = mrc::CCP_CUR_STATE;
	must(dev.call(MRC_ABI_OBJECT_CC_PROFILE, MRC_ABI_CCP_QUERY, p), "cc");
	return p.cur_state;
}

void ccp_to(Dev &dev, uint64_t id, uint32_t state)
{
	mrc_abi_ccp p{};

	p.id = id;
	p.mask = mrc::CCP_STATE;
	p.state = state;
	must(dev.call(MRC_ABI_OBJECT_CC_PROFILE, MRC_ABI_CCP_MODIFY, p),
	     "cc " + std::to_string(id) + " " + show_state(state));
}

/* Parameters that are not named are left to the device. */
void ccp_config(const Keys &keys, mrc_abi_nscc &c)
{
	for (const Param &param : params)
		c.*param.field = static_cast<uint32_t>(
			keys.num(param.name, 0, UINT32_MAX));
	c.disable_qa = static_cast<uint8_t>(keys.num("disable_qa", 0, 255));
	c.qa_gate = static_cast<uint8_t>(keys.num("qa_gate", 0, 255));
}

void ccp_online(Dev &dev, uint64_t id, const Keys &keys)
{
	mrc_abi_ccp p{};

	if (keys.has("algorithm")) {
		const std::string name = keys.need("algorithm");

		p.id = id;
		p.mask = mrc::CCP_STATE | mrc::CCP_ALGORITHM | mrc::CCP_CONFIG;
		p.state = mrc::OFFLINE;
		if (name == "off")
			p.mask &= ~mrc::CCP_CONFIG;
		else if (name.size() < sizeof(p.algorithm))
			std::memcpy(p.algorithm, name.data(), name.size());
		else
			throw Failure("name too long: " + name);
		ccp_config(keys, p.nscc);
		keys.done();
		must(dev.call(MRC_ABI_OBJECT_CC_PROFILE, MRC_ABI_CCP_MODIFY, p),
		     "cc " + std::to_string(id));
	}
	keys.done();
	ccp_to(dev, id, mrc::ONLINE);
}

void ccp_show(Dev &dev, uint64_t id)
{
	mrc_abi_ccp p{};
	const uint32_t state = ccp_state(dev, id);

	std::printf("state %s\n", show_state(state));
	if (state == mrc::INIT)
		return;
	p.id = id;
	p.mask = mrc::CCP_ALGORITHM | mrc::CCP_CONFIG;
	must(dev.call(MRC_ABI_OBJECT_CC_PROFILE, MRC_ABI_CCP_QUERY, p), "cc " + std::to_string(id));
	std::printf("algorithm %s\n", p.algorithm[0] ? p.algorithm : "off");
	for (const Param &param : params)
		std::printf("%s %u\n", param.name, p.nscc.*param.field);
	std::printf("disable_qa %u\nqa_gate %u\n", p.nscc.disable_qa,
		    p.nscc.qa_gate);
}

/* Down to @state by the only way there is. */
template <typename State, typename To>
void down(Dev &dev, uint64_t id, uint32_t state, State now, To to)
{
	while (now(dev, id) > state)
		to(dev, id, now(dev, id) - 1);
}
} // namespace

/* fmt ID online [mode=M fields=W,...] | offline | init | show */
void cmd_fmt(Dev &dev, const Words &w)
{
	const uint64_t id = id_of(w, "fmt ID online|offline|init|show ...");

	if (w[2] == "online")
		fmt_online(dev, id, Keys(w, 3));
	else if (w[2] == "show")
		fmt_show(dev, id);
	else
		down(dev, id, parse_state(w[2]), fmt_state, fmt_to);
}

/*
 * ev ID online [mode=M [fmt=ID] [count=N] [evs=HEX@PORT,...|-] [fields=F,...]
 *	[min_active=N] [events=good,bad]] | offline | init | show | list |
 *	deny EVS | allow EVS | replace OLD NEW ... | events [LIST]
 */
void cmd_ev(Dev &dev, const Words &w)
{
	const uint64_t id =
		id_of(w, "ev ID online|offline|init|show|list|... ...");

	if (w[2] == "online")
		evp_online(dev, id, Keys(w, 3));
	else if (w[2] == "show")
		evp_show(dev, id);
	else if (w[2] == "list")
		evp_list(dev, id);
	else if (w[2] == "deny")
		evp_set_state(dev, id, w, mrc::DENIED);
	else if (w[2] == "allow")
		evp_set_state(dev, id, w, mrc::GOOD);
	else if (w[2] == "replace")
		evp_replace(dev, id, w);
	else if (w[2] == "events")
		evp_events(dev, id, w);
	else
		down(dev, id, parse_state(w[2]), evp_state, evp_to);
}

/* cc ID online [algorithm=NAME|off [PARAMETER=N]...] | set PARAMETER=N... | ...
 */
void cmd_cc(Dev &dev, const Words &w)
{
	const uint64_t id = id_of(w, "cc ID online|set|offline|init|show ...");

	if (w[2] == "online") {
		ccp_online(dev, id, Keys(w, 3));
	} else if (w[2] == "set") {
		const Keys keys(w, 3);
		mrc_abi_ccp p{};

		p.id = id;
		p.mask = mrc::CCP_CONFIG;
		ccp_config(keys, p.nscc);
		keys.done();
		must(dev.call(MRC_ABI_OBJECT_CC_PROFILE, MRC_ABI_CCP_MODIFY, p), "cc " + w[1]);
	} else if (w[2] == "show") {
		ccp_show(dev, id);
	} else {
		down(dev, id, parse_state(w[2]), ccp_state, ccp_to);
	}
}
