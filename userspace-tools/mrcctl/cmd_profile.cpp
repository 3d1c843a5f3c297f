// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* EV formats, EV profiles, CC profiles, and files of them. */
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "commands.hpp"
#include "error.hpp"
#include "names.hpp"
#include "profile.hpp"
#include "text.hpp"

namespace mrcctl
{
namespace
{
uint64_t next_id(Words &w)
{
	return parse_id(w.next("ID"));
}

uint32_t next_u32(Words &w, const std::string &what)
{
	return static_cast<uint32_t>(parse_number(w.next(what), UINT32_MAX));
}

[[noreturn]] void what_is(const std::string &word)
{
	throw UsageError(fmt::format("what is \"{}\"?", word));
}

/* INIT is reached by del; in add and set it is an error. */
State next_state(Words &w)
{
	const State s = parse_state(w.next("STATE"));

	if (s == State::init)
		throw UsageError("to forget a profile, say del");
	return s;
}

/* Shows all profiles of a kind, or the named one, which must exist. */
template <typename T, typename StateOf, typename Get, typename Text>
void show_profiles(Context &c, Words &w, const char *kind, uint32_t max,
		   StateOf state, Get get, Text text)
{
	std::vector<T> list;
	const bool one = !w.empty();

	if (one) {
		const uint64_t id = next_id(w);

		w.done();
		if ((c.dev.*state)(id) == State::init)
			throw DeviceError(fmt::format("{} {}", kind, id),
					  ENOENT);
		list.push_back((c.dev.*get)(id));
	} else {
		for (uint64_t id = 0; id < max; id++)
			if ((c.dev.*state)(id) != State::init)
				list.push_back((c.dev.*get)(id));
	}
	c.show(list, [&] {
		std::string s;

		for (const T &t : list)
			s += text(t, one);
		return s;
	});
}

template <typename Change> void del(Context &c, Words &w, const char *kind)
{
	Change change;

	change.id = next_id(w);
	w.done();
	if (state_now(c.dev, change) == State::init)
		throw DeviceError(fmt::format("{} {}", kind, change.id),
				  ENOENT);
	lower<Change>(c.dev, change.id, State::init);
}

FmtChange fmt_words(Words &w)
{
	FmtChange f;

	f.id = next_id(w);
	while (!w.empty()) {
		const std::string &key = w.next("key");

		if (key == "mode")
			f.mode = parse_fmt_mode(w.next("MODE"));
		else if (key == "fields")
			f.fields = parse_widths(w.next("WIDTHS"));
		else if (key == "state")
			f.state = next_state(w);
		else
			what_is(key);
	}
	return f;
}

struct EvWords {
	EvChange change;
	std::vector<Ev> evs;
};

EvWords ev_words(Context &c, Words &w, bool add)
{
	EvWords e;

	e.change.id = next_id(w);
	while (!w.empty()) {
		const std::string &key = w.next("key");

		if (key == "mode") {
			e.change.mode = parse_ev_mode(w.next("MODE"));
		} else if (key == "fmt") {
			e.change.fmt = next_id(w);
		} else if (key == "count") {
			e.change.count = next_u32(w, "N");
		} else if (key == "min_active") {
			e.change.min_active = next_u32(w, "N");
		} else if (key == "events") {
			e.change.event_mask = parse_events(w.next("EVENTS"));
		} else if (key == "state") {
			e.change.state = next_state(w);
		} else if (key == "fields") {
			e.change.fields.emplace();
			for (const std::string &s :
			     split(w.next("FIELDS"), ','))
				e.change.fields->push_back(parse_field(s));
		} else if (add && key == "evs") {
			e.evs = parse_evs(w.next("EVS"), c.env.in);
		} else {
			what_is(key);
		}
	}
	return e;
}

/* Checks what the mode requires here, because the kernel returns only EINVAL.
 */
void check_add(const EvWords &e)
{
	const EvChange &c = e.change;

	if (!c.mode)
		throw UsageError("mode is missing");
	if (*c.mode == EvMode::explicit_list && e.evs.empty())
		throw UsageError("an explicit profile needs evs");
	if (*c.mode != EvMode::explicit_list && !e.evs.empty())
		throw UsageError("only an explicit profile has evs");
	if (*c.mode == EvMode::generated && !c.count)
		throw UsageError("a generated profile needs count");
	if (*c.mode == EvMode::generated && !c.fields)
		throw UsageError("a generated profile needs fields");
	if (*c.mode != EvMode::automatic && !c.fmt)
		throw UsageError("fmt is missing");
	if (*c.mode == EvMode::explicit_list && c.count &&
	    *c.count != e.evs.size())
		throw UsageError("count is not the number of evs");
}

struct CcWords {
	CcChange change;
	std::vector<std::pair<const NsccParam *, double>> params;
};

CcWords cc_words(Words &w)
{
	CcWords out;

	out.change.id = next_id(w);
	while (!w.empty()) {
		const std::string &key = w.next("key");

		if (key == "algorithm") {
			const std::string &name = w.next("NAME");

			out.change.algorithm = name == "off" ? "" : name;
		} else if (key == "state") {
			out.change.state = next_state(w);
		} else if (const NsccParam *p = nscc_param(key)) {
			out.params.emplace_back(p, parse_real(w.next("VALUE")));
		} else {
			what_is(key);
		}
	}
	return out;
}

/* The parameters of @from, changed by the words. */
std::optional<Nscc> with_params(const CcWords &words, std::optional<Nscc> from)
{
	if (words.params.empty())
		return {};
	Nscc n = from.value_or(Nscc{});

	for (const auto &[p, value] : words.params)
		set_nscc(n, *p, value);
	return n;
}

void set_ev_states(Context &c, Words &w, EvState state)
{
	const uint64_t id = next_id(w);
	std::vector<EvEdit> edits;

	for (const Ev &ev : parse_evs(w.next("EVS"), c.env.in))
		edits.push_back({.old = ev,
				 .with = {},
				 .state = state,
				 .all_copies = true});
	w.done();
	c.dev.edit(id, edits);
}

std::string read_all(Context &c, const std::string &path)
{
	if (path == "-")
		return {std::istreambuf_iterator<char>(c.env.in), {}};
	std::ifstream f(path);
	std::ostringstream s;

	/* Opening a directory succeeds; reading it fails. */
	if (!f || !(s << f.rdbuf()))
		throw DeviceError(path, errno ? errno : EIO);
	return s.str();
}
} // namespace

void fmt_show(Context &c, Words &w)
{
	show_profiles<Fmt>(c, w, "fmt", c.dev.device().max_fmt_profiles,
			   &Backend::fmt_state, &Backend::fmt,
			   [](const Fmt &f, bool) { return text_of(f); });
}

void fmt_add(Context &c, Words &w)
{
	const FmtChange f = fmt_words(w);

	if (!f.mode || !f.fields)
		throw UsageError("mode and fields are needed");
	make(c.dev, Fmt{.id = f.id,
			.state = f.state.value_or(State::online),
			.mode = *f.mode,
			.fields = *f.fields});
}

void fmt_set(Context &c, Words &w)
{
	modify(c.dev, fmt_words(w));
}

void fmt_del(Context &c, Words &w)
{
	del<FmtChange>(c, w, "fmt");
}

void ev_show(Context &c, Words &w)
{
	show_profiles<EvProfile>(
		c, w, "ev", c.dev.device().max_ev_profiles, &Backend::ev_state,
		&Backend::ev,
		[](const EvProfile &p, bool one) { return text_of(p, one); });
}

void ev_add(Context &c, Words &w)
{
	const EvWords e = ev_words(c, w, true);
	EvProfile p;

	check_add(e);
	p.id = e.change.id;
	p.state = e.change.state.value_or(State::online);
	p.mode = *e.change.mode;
	p.fmt = e.change.fmt;
	p.count = e.change.count.value_or(static_cast<uint32_t>(e.evs.size()));
	p.min_active = e.change.min_active.value_or(0);
	p.event_mask = e.change.event_mask.value_or(0);
	p.fields = e.change.fields.value_or(std::vector<EvField>{});
	for (const Ev &ev : e.evs)
		p.evs.push_back({.ev = ev, .state = EvState::good});
	make(c.dev, p);
}

void ev_set(Context &c, Words &w)
{
	modify(c.dev, ev_words(c, w, false).change);
}

void ev_del(Context &c, Words &w)
{
	del<EvChange>(c, w, "ev");
}

void ev_deny(Context &c, Words &w)
{
	set_ev_states(c, w, EvState::denied);
}

void ev_allow(Context &c, Words &w)
{
	set_ev_states(c, w, EvState::good);
}

void ev_replace(Context &c, Words &w)
{
	const uint64_t id = next_id(w);
	std::vector<EvEdit> edits;

	do {
		const Ev old = parse_ev(w.next("OLD"));

		edits.push_back({.old = old,
				 .with = parse_ev(w.next("NEW")),
				 .state = EvState::good,
				 .all_copies = false});
	} while (!w.empty());
	c.dev.edit(id, edits);
}

void cc_show(Context &c, Words &w)
{
	show_profiles<CcProfile>(
		c, w, "cc", c.dev.device().max_cc_profiles, &Backend::cc_state,
		&Backend::cc,
		[](const CcProfile &p, bool) { return text_of(p); });
}

void cc_add(Context &c, Words &w)
{
	const CcWords words = cc_words(w);
	CcProfile p;

	if (!words.change.algorithm)
		throw UsageError("algorithm is missing");
	p.id = words.change.id;
	p.state = words.change.state.value_or(State::online);
	p.algorithm = *words.change.algorithm;
	p.nscc = with_params(words, {});
	make(c.dev, p);
}

/*
 * Parameters that are not named keep their values. Those of another algorithm
 * are left to the device.
 */
void cc_set(Context &c, Words &w)
{
	CcWords words = cc_words(w);
	std::optional<Nscc> now;

	if (c.dev.cc_state(words.change.id) == State::init)
		throw DeviceError(fmt::format("cc {}", words.change.id),
				  ENOENT);
	if (!words.change.algorithm)
		now = c.dev.cc(words.change.id).nscc;
	words.change.nscc = with_params(words, now);
	if (!words.change.nscc && words.change.algorithm &&
	    !words.change.algorithm->empty())
		words.change.nscc = Nscc{};
	modify(c.dev, words.change);
}

void cc_del(Context &c, Words &w)
{
	del<CcChange>(c, w, "cc");
}

void load(Context &c, Words &w)
{
	const std::string path = w.next("FILE");

	w.done();
	errno = 0;
	const std::string text = read_all(c, path);
	Definitions d;

	try {
		d = definitions(text);
	} catch (const UsageError &e) {
		throw UsageError(path + ": " + e.what());
	}
	apply(c.dev, d);
}

void save(Context &c, Words &w)
{
	w.done();
	c.env.out << dumped(json_of(all_of(c.dev)), 4);
}
} // namespace mrcctl
