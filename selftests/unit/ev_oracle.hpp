// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The state machine of EVs, written from the text of MRC 1.0 §11.6, §9.3 and
// the choices OP-29 and OP-41. A path has a state; entries of a set that name
// the same path share it, and a controller denies entries.
#pragma once

#include <functional>
#include <vector>

#include "paths.hpp"

namespace mrc_test
{

struct OraclePath {
	std::uint8_t state = G; // GOOD, SKIP, ASSUMED_BAD
	bool out = false;	// probe outstanding
	bool one = false;	// the newest probe was answered, m = 0
	unsigned losses = 0;	// inferred, and nothing arrived since
	std::uint64_t deadline = 0;
	unsigned level = 0;	   // how seldom it is used, mrc_ev_skip.c
	std::uint64_t changed = 0; // when the level did
};

struct OracleEv {
	std::size_t path;
	unsigned port;
	bool denied = false;
	unsigned drops = 0;
};

struct OracleEvent {
	std::uint8_t from, to;
};

struct Oracle {
	std::vector<OraclePath> paths;
	std::vector<OracleEv> evs;
	unsigned min_active = 0;
	unsigned n_ports = ~0u; // of the device
	bool trim_nack = false;
	std::uint64_t rto = 0;
	std::uint64_t rtt = 0;
	std::vector<OracleEvent> events; // visible ones

	std::uint8_t state(std::size_t i) const
	{
		return evs[i].denied ? D : paths[evs[i].path].state;
	}

	unsigned active() const
	{
		unsigned n = 0;

		for (std::size_t i = 0; i < evs.size(); i++)
			n += state(i) == G || state(i) == S;
		return n;
	}

	unsigned entries(std::size_t path) const
	{
		unsigned n = 0;

		for (const OracleEv &ev : evs)
			n += ev.path == path && !ev.denied;
		return n;
	}

	// Ports that the device does not have are one plane: nothing goes there.
	unsigned plane(std::size_t i) const
	{
		return evs[i].port <= n_ports ? evs[i].port : 0;
	}

	// Usable entries of other paths in the plane of this one.
	unsigned others(std::size_t path) const
	{
		unsigned n = 0, here = 0;

		for (std::size_t i = 0; i < evs.size(); i++)
			if (evs[i].path == path)
				here = plane(i);
		for (std::size_t i = 0; i < evs.size(); i++)
			n += plane(i) == here && evs[i].path != path &&
			     (state(i) == G || state(i) == S);
		return n;
	}

	void event(std::uint8_t from, std::uint8_t to)
	{
		// "SKIP: not visible, shows as GOOD"
		if (Paths::seen(from) != Paths::seen(to))
			events.push_back({from, to});
	}

	void to_state(OraclePath &p, std::uint8_t to)
	{
		std::uint8_t from = p.state;

		if (from == to)
			return;
		if (from == B || to == B)
			p.out = p.one = false, p.losses = 0, p.level = 0;
		p.state = to;
		event(from, to);
	}

	// "if the number of GOOD+SKIP EVs would drop below it, keep the EV"
	void condemn(std::size_t path)
	{
		OraclePath &p = paths[path];

		if (p.state != B && active() >= min_active + entries(path))
			to_state(p, B);
	}

	void skip(OraclePath &p)
	{
		if (p.state == G)
			to_state(p, S);
	}

	void loss(std::size_t path)
	{
		OraclePath &p = paths[path];
		if (p.state == B)
			return;
		unsigned enough = trim_nack ? 1 : 2;

		p.losses++;
		// The last of its plane is not given up so easily.
		if (!others(path))
			enough = 4;
		if (p.losses >= enough)
			condemn(path);
		else
			skip(p);
	}

	void deny(std::size_t i)
	{
		std::uint8_t from = state(i);

		if (evs[i].denied)
			return;
		evs[i].denied = true;
		event(from, D);
		if (!entries(evs[i].path))
			paths[evs[i].path] = {};
	}

	void allow(std::size_t i)
	{
		if (!evs[i].denied)
			return;
		evs[i].denied = false;
		// That its copies are bad has been said.
		if (state(i) != B)
			event(D, state(i));
	}

	void drop(std::size_t path)
	{
		for (OracleEv &ev : evs)
			if (ev.path == path)
				ev.drops++;
	}

	void probe_ok(OraclePath &p)
	{
		if (p.state != B)
			return;
		// "require 2 consecutive"
		if (p.one) {
			to_state(p, G);
			return;
		}
		p.one = true;
		p.out = false;
	}

	// Steps are drawn, so @engine, which has had the verdict, says whether there was
	// one, where there may be one.
	void levels(std::size_t path, mrc_ev_verdict v, std::uint64_t now,
		    const Paths &engine)
	{
		const bool settled =
			now / kUnit - paths[path].changed / kUnit > 2 * rtt / kUnit;
		OraclePath &p = paths[path];
		const bool marked = v == MRC_EVV_CE || v == MRC_EVV_TRIM;
		const unsigned was = p.level;

		if (p.state == B || !entries(path) || (was && !settled) ||
		    (!marked && v != MRC_EVV_OK))
			return;
		for (std::size_t i = 0; i < evs.size(); i++) {
			if (evs[i].path != path || evs[i].denied)
				continue;
			const unsigned level = engine.level(i);
			if ((marked && level == was + 1) || level + 1 == was)
				p.level = level;
		}
		if (p.level != was)
			p.changed = now;
	}

	void verdict(std::size_t i, mrc_ev_verdict v, std::uint64_t now,
		     const Paths &engine)
	{
		to_states(i, v);
		levels(evs[i].path, v, now, engine);
	}

	// Entry @i took a packet of the rotation.
	void picked(std::size_t i)
	{
		OraclePath &p = paths[evs[i].path];

		if (p.state == G && p.level > MRC_EV_SKIP_FREE)
			to_state(p, S);
	}

	void to_states(std::size_t i, mrc_ev_verdict v)
	{
		std::size_t path = evs[i].path;
		OraclePath &p = paths[path];

		if (v == MRC_EVV_DENY)
			return deny(i);
		if (v == MRC_EVV_ALLOW)
			return allow(i);
		if (v == MRC_EVV_LOSS || v == MRC_EVV_TIMEOUT)
			drop(path);
		// "DENIED: controller allows: only way out"
		if (!entries(path))
			return;
		switch (v) {
		case MRC_EVV_OK:
		case MRC_EVV_ARRIVED:
			p.losses = 0;
			break;
		case MRC_EVV_CE:
		case MRC_EVV_TRIM:
			p.losses = 0;
			skip(p);
			break;
		case MRC_EVV_CONDEMNED:
		case MRC_EVV_TIMEOUT:
			condemn(path);
			break;
		case MRC_EVV_LOSS:
			loss(path);
			break;
		case MRC_EVV_PROBE_OK:
			probe_ok(p);
			break;
		case MRC_EVV_PROBE_CE:
			if (p.state == B)
				to_state(p, S);
			else
				skip(p);
			break;
		case MRC_EVV_PROBE_BAD:
			condemn(path);
			p.out = p.one = false;
			break;
		case MRC_EVV_PROBE_LOST:
			p.out = p.one = false;
			break;
		default:
			break;
		}
	}

	// A packet went out on entry @i; @id: as a probe.
	void sent(std::size_t i, bool probe, std::uint64_t now)
	{
		OraclePath &p = paths[evs[i].path];

		if (probe && state(i) == B) {
			p.out = true;
			p.deadline = now + rto;
		}
	}

	void expire(std::uint64_t now)
	{
		for (OraclePath &p : paths)
			if (p.out && p.deadline <= now)
				p.out = p.one = false;
	}

	// What is out on a port that comes up left before that.
	void ports_came(std::uint32_t ports)
	{
		for (const OracleEv &e : evs)
			if (e.port < 32 && e.port <= n_ports &&
			    ports >> e.port & 1)
				paths[e.path].out = false;
	}

	// All that can be seen of the engine's states.
	void compare(const Paths &p) const
	{
		for (std::size_t i = 0; i < evs.size(); i++) {
			auto e = static_cast<unsigned>(i);

			ASSERT_EQ(p.state(e), state(i)) << "ev " << i;
			ASSERT_EQ(p.port(e), evs[i].port) << "ev " << i;
			ASSERT_EQ(mrc_paths_drops(&p.p, static_cast<u16>(i)),
				  evs[i].drops)
				<< "ev " << i;
			if (state(i) == G || state(i) == S) {
				ASSERT_EQ(p.level(i), paths[evs[i].path].level)
					<< "ev " << i;
			}
			if (state(i) != B)
				continue;
			ASSERT_EQ(p.probe_out(e), paths[evs[i].path].out)
				<< "ev " << i;
			ASSERT_EQ(p.probe_one(e), paths[evs[i].path].one)
				<< "ev " << i;
		}
		ASSERT_EQ(p.changes.size(), events.size());
		for (std::size_t k = 0; k < events.size(); k++) {
			ASSERT_EQ(p.changes[k].from, events[k].from);
			ASSERT_EQ(p.changes[k].to, events[k].to);
		}
	}
};

} // namespace mrc_test
