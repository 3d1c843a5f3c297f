// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "json.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "error.hpp"
#include "names.hpp"
#include "words.hpp"

namespace mrcctl
{
namespace
{
[[noreturn]] void wrong(const std::string &where, const std::string &what)
{
	throw UsageError(where + ": " + what);
}

/* Returns the result of @fn; adds the place to an error message. */
template <typename Fn> auto placed(const std::string &where, Fn fn)
{
	try {
		return fn();
	} catch (const UsageError &e) {
		wrong(where, e.what());
	}
}

/* An object. Members that nobody asks for are errors. */
class Object
{
public:
	Object(const Json &j, std::string where)
		: j_(j), where_(std::move(where))
	{
		if (!j.is_object())
			wrong(where_, "not an object");
	}

	const std::string &where() const { return where_; }
	std::string at(const std::string &key) const
	{
		return where_ + "." + key;
	}

	const Json *get(const std::string &key)
	{
		const auto it = j_.find(key);

		seen_.insert(key);
		return it == j_.end() ? nullptr : &*it;
	}

	const Json &need(const std::string &key)
	{
		const Json *v = get(key);

		if (!v)
			wrong(where_, "\"" + key + "\" is missing");
		return *v;
	}

	/* Numbers may be strings, so that hexadecimal ones are possible. */
	uint64_t number(const std::string &key, uint64_t otherwise,
			uint64_t max = UINT32_MAX)
	{
		const Json *v = get(key);

		return v ? to_number(*v, at(key), max) : otherwise;
	}

	template <typename Parse>
	auto word(const std::string &key, const char *otherwise, Parse parse)
	{
		const Json *v = get(key);

		if (v && !v->is_string())
			wrong(at(key), "not a string");
		return placed(at(key), [&] {
			return parse(v ? v->get<std::string>()
				       : std::string(otherwise));
		});
	}

	/* The same for a word that is required. */
	template <typename Parse>
	auto needed_word(const std::string &key, Parse parse)
	{
		need(key);
		return word(key, "", parse);
	}

	static uint64_t to_number(const Json &v, const std::string &where,
				  uint64_t max)
	{
		if (v.is_string())
			return placed(where, [&] {
				return parse_number(v.get<std::string>(), max);
			});
		if (!v.is_number_unsigned())
			wrong(where, "not a whole number");
		if (v.get<uint64_t>() > max)
			wrong(where, fmt::format("more than {}", max));
		return v.get<uint64_t>();
	}

	void done() const
	{
		for (const auto &item : j_.items())
			if (!seen_.contains(item.key()))
				wrong(where_,
				      "unknown member \"" + item.key() + "\"");
	}

private:
	const Json &j_;
	std::string where_;
	std::set<std::string> seen_;
};

template <typename Fn>
void each(const Json *list, const std::string &where, Fn fn)
{
	if (!list)
		return;
	if (!list->is_array())
		wrong(where, "not an array");
	for (std::size_t i = 0; i < list->size(); i++)
		fn((*list)[i], fmt::format("{}[{}]", where, i));
}

uint64_t id_of(Object &o)
{
	return Object::to_number(o.need("id"), o.at("id"), no_profile - 1);
}

State state_of(Object &o)
{
	const State s = o.word("state", "online", parse_state);

	if (s == State::init)
		wrong(o.at("state"), "a definition is offline or online");
	return s;
}

/* The common members of formats and profiles. */
template <typename T> T named(Object &o)
{
	T t;

	t.id = id_of(o);
	t.state = state_of(o);
	return t;
}

Fmt fmt_of(const Json &j, const std::string &where)
{
	Object o(j, where);
	Fmt f = named<Fmt>(o);

	f.mode = o.needed_word("mode", parse_fmt_mode);
	each(&o.need("fields"), o.at("fields"),
	     [&](const Json &v, const std::string &at) {
		     f.fields.push_back(static_cast<uint8_t>(
			     Object::to_number(v, at, 255)));
	     });
	o.done();
	return f;
}

EvField field_of(const Json &j, const std::string &where)
{
	Object o(j, where);
	EvField f;

	o.need("width");
	f.width = static_cast<uint32_t>(o.number("width", 0));
	f.init = static_cast<uint32_t>(o.number("init", 0));
	f.mask = static_cast<uint32_t>(o.number("mask", 0));
	f.min = static_cast<uint32_t>(o.number("min", 0));
	f.max = static_cast<uint32_t>(o.number("max", 0));
	o.done();
	return f;
}

/* The device's own judgement is no definition: such an EV becomes good. */
EvState defined_state(const std::string &s)
{
	const EvState state = parse_ev_state(s);

	return state == EvState::denied ? state : EvState::good;
}

EvEntry entry_of(const Json &j, const std::string &where)
{
	EvEntry e;

	if (j.is_string()) {
		e.ev = placed(where,
			      [&] { return parse_ev(j.get<std::string>()); });
		return e;
	}
	Object o(j, where);

	e.ev = o.needed_word("ev", parse_ev);
	e.state = o.word("state", "good", defined_state);
	o.done();
	return e;
}

/* Of generated EVs only denied ones are kept; the device makes the others. */
EvProfile ev_of(const Json &j, const std::string &where)
{
	Object o(j, where);
	EvProfile p = named<EvProfile>(o);

	p.mode = o.needed_word("mode", parse_ev_mode);
	if (o.get("fmt"))
		p.fmt = o.number("fmt", 0, no_profile - 1);
	p.min_active = static_cast<uint32_t>(o.number("min_active", 0));
	each(o.get("events"), o.at("events"),
	     [&](const Json &v, const std::string &at) {
		     if (!v.is_string())
			     wrong(at, "not a string");
		     p.event_mask |= placed(at, [&] {
			     return parse_event(v.get<std::string>());
		     });
	     });
	each(o.get("fields"), o.at("fields"),
	     [&](const Json &v, const std::string &at) {
		     p.fields.push_back(field_of(v, at));
	     });
	each(o.get("evs"), o.at("evs"),
	     [&](const Json &v, const std::string &at) {
		     p.evs.push_back(entry_of(v, at));
	     });
	if (p.mode == EvMode::explicit_list && p.evs.empty())
		wrong(where, "an explicit profile needs \"evs\"");
	if (p.mode != EvMode::automatic && !p.fmt)
		wrong(where, "\"fmt\" is missing");
	p.count = static_cast<uint32_t>(o.number("count", p.evs.size()));
	if (p.mode == EvMode::explicit_list && p.count != p.evs.size())
		wrong(o.at("count"), "not the number of EVs");
	if (p.mode == EvMode::generated && !p.count)
		wrong(where, "\"count\" is missing");
	if (p.mode == EvMode::generated && p.fields.empty())
		wrong(where, "\"fields\" is missing");
	o.done();
	return p;
}

Nscc nscc_of(const Json &j, const std::string &where)
{
	Object o(j, where);
	Nscc c;

	for (const NsccParam &p : nscc_params()) {
		const Json *v = o.get(std::string(p.name));

		if (!v)
			continue;
		if (!v->is_number() && !v->is_string())
			wrong(o.at(std::string(p.name)), "not a number");
		placed(where, [&] {
			set_nscc(c, p,
				 v->is_string()
					 ? parse_real(v->get<std::string>())
					 : v->get<double>());
		});
	}
	o.done();
	return c;
}

CcProfile cc_of(const Json &j, const std::string &where)
{
	Object o(j, where);
	CcProfile p = named<CcProfile>(o);

	p.algorithm =
		o.needed_word("algorithm", [](std::string s) { return s; });
	if (p.algorithm == "off")
		p.algorithm.clear();
	if (const Json *v = o.get("parameters"))
		p.nscc = nscc_of(*v, o.at("parameters"));
	o.done();
	return p;
}

uint64_t profile_of(Object &o, const std::string &key)
{
	const Json *v = o.get(key);

	return !v || v->is_null()
		       ? no_profile
		       : Object::to_number(*v, o.at(key), no_profile - 1);
}

Default default_of(const Json &j, const std::string &where)
{
	Object o(j, where);
	Default d;

	d.prefix = o.needed_word("prefix", parse_prefix);
	d.ev_profile = profile_of(o, "ev_profile");
	d.cc_profile = profile_of(o, "cc_profile");
	d.udp_port = static_cast<uint16_t>(o.number("udp_port", 0, 65535));
	if (d.empty())
		wrong(where, "no profile and no port");
	o.done();
	return d;
}

template <typename T>
void only_once(const std::vector<T> &list, const std::string &where)
{
	std::set<uint64_t> ids;

	for (const T &t : list)
		if (!ids.insert(t.id).second)
			wrong(where, fmt::format("{} is there twice", t.id));
}
} // namespace

Definitions definitions(std::string_view text)
{
	Definitions d;
	Json j;

	try {
		j = Json::parse(text);
	} catch (const Json::parse_error &e) {
		throw UsageError(
			fmt::format("no JSON: error at byte {}", e.byte));
	}
	Object o(j, "file");

	each(o.get("formats"), "formats",
	     [&](const Json &v, const std::string &at) {
		     d.formats.push_back(fmt_of(v, at));
	     });
	each(o.get("ev_profiles"), "ev_profiles",
	     [&](const Json &v, const std::string &at) {
		     d.ev_profiles.push_back(ev_of(v, at));
	     });
	each(o.get("cc_profiles"), "cc_profiles",
	     [&](const Json &v, const std::string &at) {
		     d.cc_profiles.push_back(cc_of(v, at));
	     });
	each(o.get("defaults"), "defaults",
	     [&](const Json &v, const std::string &at) {
		     d.defaults.push_back(default_of(v, at));
	     });
	o.done();
	only_once(d.formats, "formats");
	only_once(d.ev_profiles, "ev_profiles");
	only_once(d.cc_profiles, "cc_profiles");
	return d;
}
} // namespace mrcctl
