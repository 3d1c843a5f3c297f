// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "profile.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "error.hpp"

namespace mrcctl
{
namespace
{
template <typename Change> const char *kind();
template <> const char *kind<FmtChange>()
{
	return "fmt";
}
template <> const char *kind<EvChange>()
{
	return "ev";
}
template <> const char *kind<CcChange>()
{
	return "cc";
}

template <typename Change> void go_online(Backend &dev, uint64_t id)
{
	Change c;

	c.id = id;
	c.state = State::online;
	dev.change(c);
}

/*
 * If a step fails, the profile is removed again. A number that is in use is
 * reported here: for the kernel it is just another invalid transition.
 */
template <typename Change, typename Steps>
void all_or_nothing(Backend &dev, const Change &offline, Steps steps)
{
	if (state_now(dev, offline) != State::init)
		throw DeviceError(
			fmt::format("{} {}", kind<Change>(), offline.id),
			EEXIST);
	dev.change(offline);
	try {
		steps();
	} catch (const DeviceError &) {
		lower<Change>(dev, offline.id, State::init);
		throw;
	}
}

template <typename Change> void modify_any(Backend &dev, const Change &c)
{
	Change rest = c;
	const State now = state_now(dev, c);

	if (now == State::init)
		throw DeviceError(fmt::format("{} {}", kind<Change>(), c.id),
				  ENOENT);
	rest.state.reset();
	if (c.state && *c.state < now)
		lower<Change>(dev, c.id, *c.state);
	dev.change(rest);
	if (c.state && *c.state > now)
		go_online<Change>(dev, c.id);
}

/* Explicit EVs replace the unpopulated entries. */
void populate(Backend &dev, const EvProfile &p)
{
	std::vector<EvEdit> edits;

	if (p.mode != EvMode::explicit_list)
		return;
	for (const EvEntry &e : p.evs)
		edits.push_back({.old = {},
				 .with = e.ev,
				 .state = e.state,
				 .all_copies = false});
	dev.edit(p.id, edits);
}

/*
 * The device chooses which EVs it generates. A denied EV that was not generated
 * is not used, as requested.
 */
void deny_generated(Backend &dev, const EvProfile &p)
{
	if (p.mode != EvMode::generated)
		return;
	for (const EvEntry &e : p.evs) {
		if (e.state != EvState::denied)
			continue;
		try {
			dev.edit(p.id, {{.old = e.ev,
					 .with = {},
					 .state = EvState::denied,
					 .all_copies = true}});
		} catch (const DeviceError &err) {
			if (err.err != ENOENT)
				throw;
		}
	}
}

template <typename State_, typename Get>
auto existing(uint32_t max, State_ state, Get get)
{
	std::vector<decltype(get(0))> out;

	for (uint64_t id = 0; id < max; id++)
		if (state(id) != State::init)
			out.push_back(get(id));
	return out;
}
} // namespace

void make(Backend &dev, const Fmt &f)
{
	FmtChange c;

	c.id = f.id;
	c.state = State::offline;
	c.mode = f.mode;
	c.fields = f.fields;
	all_or_nothing(dev, c, [&] {
		if (f.state == State::online)
			go_online<FmtChange>(dev, f.id);
	});
}

void make(Backend &dev, const EvProfile &p)
{
	EvChange c;

	c.id = p.id;
	c.state = State::offline;
	c.mode = p.mode;
	c.fmt = p.fmt;
	if (p.count)
		c.count = p.count;
	if (p.min_active)
		c.min_active = p.min_active;
	if (p.event_mask)
		c.event_mask = p.event_mask;
	if (!p.fields.empty())
		c.fields = p.fields;
	all_or_nothing(dev, c, [&] {
		populate(dev, p);
		if (p.state == State::online)
			go_online<EvChange>(dev, p.id);
		deny_generated(dev, p);
	});
}

void make(Backend &dev, const CcProfile &p)
{
	CcChange c;

	c.id = p.id;
	c.state = State::offline;
	c.algorithm = p.algorithm;
	/* Going ONLINE needs a configuration; all zeroes are valid. */
	if (!p.algorithm.empty())
		c.nscc = p.nscc.value_or(Nscc{});
	all_or_nothing(dev, c, [&] {
		if (p.state == State::online)
			go_online<CcChange>(dev, p.id);
	});
}

void modify(Backend &dev, const FmtChange &c)
{
	modify_any(dev, c);
}

void modify(Backend &dev, const EvChange &c)
{
	modify_any(dev, c);
}

void modify(Backend &dev, const CcChange &c)
{
	modify_any(dev, c);
}

Definitions all_of(Backend &dev)
{
	const Device d = dev.device();
	Definitions all;

	all.formats = existing(
		d.max_fmt_profiles,
		[&](uint64_t id) { return dev.fmt_state(id); },
		[&](uint64_t id) { return dev.fmt(id); });
	all.ev_profiles = existing(
		d.max_ev_profiles,
		[&](uint64_t id) { return dev.ev_state(id); },
		[&](uint64_t id) { return dev.ev(id); });
	all.cc_profiles = existing(
		d.max_cc_profiles,
		[&](uint64_t id) { return dev.cc_state(id); },
		[&](uint64_t id) { return dev.cc(id); });
	all.defaults = dev.defaults();
	return all;
}

/*
 * Profiles with the same numbers are removed first, EV profiles before the
 * formats that they use.
 */
void apply(Backend &dev, const Definitions &d)
{
	for (const EvProfile &p : d.ev_profiles)
		lower<EvChange>(dev, p.id, State::init);
	for (const CcProfile &p : d.cc_profiles)
		lower<CcChange>(dev, p.id, State::init);
	for (const Fmt &f : d.formats)
		lower<FmtChange>(dev, f.id, State::init);
	for (const Fmt &f : d.formats)
		make(dev, f);
	for (const EvProfile &p : d.ev_profiles)
		make(dev, p);
	for (const CcProfile &p : d.cc_profiles)
		make(dev, p);
	for (const Default &def : d.defaults)
		dev.set_default(def);
}
} // namespace mrcctl
