// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// An EV set with its memory and counters, and a check of its bookkeeping.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "engine.hpp"

namespace mrc_test
{

// The states, short enough for tables.
constexpr std::uint8_t G = MRC_EV_GOOD, D = MRC_EV_DENIED, S = MRC_EV_SKIP,
		       B = MRC_EV_ASSUMED_BAD;

// Times are multiples of the engine's unit where it matters.
constexpr std::uint64_t kUnit = 1024, kMs = 1000 * kUnit;

inline mrc_paths_cfg paths_cfg(unsigned n_evs, unsigned n_ports)
{
	mrc_paths_cfg cfg{};

	cfg.n_evs = static_cast<std::uint16_t>(n_evs);
	cfg.n_ports = static_cast<std::uint8_t>(n_ports);
	cfg.ipv6 = true;
	cfg.rto = 4 * kMs;
	cfg.base_rtt = 100000;
	cfg.seed = 0x5EED;
	return cfg;
}

struct StateChange {
	int ev, from, to;
	std::uint32_t entropy; // of the set that the change is about
};

struct Paths {
	// The memory comes as it is, not zeroed.
	explicit Paths(mrc_paths_cfg cfg)
		: ctr(std::make_unique<mrc_counters>()),
		  mem(mrc_paths_mem(&cfg), 0xA5)
	{
		ctr->n_ports = cfg.n_ports;
		cfg.ctr = ctr.get();
		cfg.on_state = &Paths::on_state;
		cfg.ctx = &changes;
		EXPECT_EQ(mrc_paths_init(&p, &cfg, mem.get()), 0);
	}

	// The callback's context must survive a move.
	Paths(Paths &&other) noexcept
		: p(other.p), ctr(std::move(other.ctr)),
		  mem(std::move(other.mem)), changes(std::move(other.changes))
	{
		p.cfg.ctx = &changes;
	}

	mrc_paths *operator->() { return &p; }

	// Lead EV @i to @state by the triggers that do so from GOOD or SKIP.
	void force(int i, std::uint8_t state, std::uint64_t now)
	{
		mrc_paths_verdict(&p, i, MRC_EVV_DENY, now);
		mrc_paths_verdict(&p, i, MRC_EVV_ALLOW, now);
		if (state == MRC_EV_DENIED)
			mrc_paths_verdict(&p, i, MRC_EVV_DENY, now);
		if (state == MRC_EV_SKIP)
			mrc_paths_verdict(&p, i, MRC_EVV_CE, now);
		if (state == MRC_EV_ASSUMED_BAD)
			mrc_paths_verdict(&p, i, MRC_EVV_TIMEOUT, now);
		ASSERT_EQ(mrc_paths_state(&p, i), state);
		p.ev[i].drops = 0;
	}

	void forget()
	{
		unsigned n = ctr->n_ports;

		*ctr = {};
		ctr->n_ports = n;
		changes.clear();
	}

	std::uint64_t total(mrc_counter id) const { return counter(*ctr, id); }

	std::uint64_t on_port(unsigned port) const
	{
		std::uint64_t sum = 0;

		for (std::uint64_t v : ctr->v[port])
			sum += v;
		return sum;
	}

	std::uint64_t everything() const
	{
		std::uint64_t sum = 0;

		for (unsigned port = 0; port < std::size(ctr->v); port++)
			sum += on_port(port);
		return sum;
	}

	unsigned count(std::uint8_t state) const
	{
		unsigned n = 0;

		for (unsigned i = 0; i < p.n; i++)
			n += this->state(i) == state;
		return n;
	}

	unsigned state(unsigned i) const
	{
		return mrc_paths_state(&p, static_cast<std::uint16_t>(i));
	}

	// Of an EV that is GOOD or SKIP: how seldom it is used.
	unsigned level(std::size_t i) const { return p.ev[i].skip.level; }

	unsigned port(unsigned i) const
	{
		return mrc_paths_port(&p, static_cast<std::uint16_t>(i));
	}

	// What is known of a bad EV's probes.
	bool probe_out(unsigned i) const
	{
		return state(i) == MRC_EV_ASSUMED_BAD &&
		       p.ev[i].sub & MRC_EV_PROBE_OUT;
	}

	bool probe_one(unsigned i) const
	{
		return state(i) == MRC_EV_ASSUMED_BAD &&
		       p.ev[i].sub & MRC_EV_PROBE_ONE;
	}

	// The engine's clock of a bad EV, near the newest time it saw.
	std::uint64_t probe_at(unsigned i) const
	{
		std::uint64_t unit = p.now / kUnit;
		auto ahead = static_cast<std::int32_t>(
			p.at[i] - static_cast<std::uint32_t>(unit));

		if (p.ev[i].sub & MRC_EV_PROBE_NOW)
			return 1;
		return (unit + static_cast<std::uint64_t>(
				       static_cast<std::int64_t>(ahead))) *
		       kUnit;
	}

	// From when on probes are not too many.
	std::uint64_t gap_ends() const
	{
		const std::uint64_t burst =
			MRC_EV_PROBE_BURST * MRC_EV_PROBE_GAP_NS;

		return p.pace->tat > burst ? p.pace->tat - burst : 0;
	}

	// @n packets out on EV @i, which is not ASSUMED_BAD.
	void send_on(int i, unsigned n)
	{
		ASSERT_NE(state(static_cast<unsigned>(i)), MRC_EV_ASSUMED_BAD);
		while (n--)
			mrc_paths_probe_sent(&p, i, 0, 0);
	}

	// As a controller sees a state.
	static int seen(int state)
	{
		return state == MRC_EV_SKIP ? int{MRC_EV_GOOD} : state;
	}

	static bool bit(const unsigned long *map, unsigned pos)
	{
		return map[pos / (8 * sizeof(long))] >>
			       (pos % (8 * sizeof(long))) &
		       1;
	}

	// Counts, maps, order and probe time against the states themselves.
	void check() const
	{
		std::vector<unsigned> usable(p.n_ports + 1u);
		std::uint64_t next = ~0ull;

		EXPECT_EQ(p.bad, count(MRC_EV_ASSUMED_BAD));
		EXPECT_EQ(p.denied, count(MRC_EV_DENIED));
		for (unsigned i = 0; i < p.n; i++) {
			unsigned pos = p.pos[i], state = this->state(i);
			const unsigned of = port(i) <= p.n_ports ? port(i) : 0;
			const mrc_ev_walk &w = p.walk[of];

			ASSERT_LT(pos, p.n);
			EXPECT_EQ(p.order[pos], i);
			EXPECT_GE(pos, w.first);
			EXPECT_LT(pos, w.first + w.n);
			EXPECT_EQ(bit(p.good_map, pos), state == MRC_EV_GOOD);
			EXPECT_EQ(bit(p.skip_map, pos), state == MRC_EV_SKIP);
			EXPECT_EQ(bit(p.bad_map, pos),
				  state == MRC_EV_ASSUMED_BAD);
			usable[of] +=
				state == MRC_EV_GOOD || state == MRC_EV_SKIP;
			if (state != MRC_EV_ASSUMED_BAD) {
				EXPECT_LE(p.ev[i].sub, MRC_EV_LOSSES_LAST);
				EXPECT_LE(level(i), MRC_EV_SKIP_LEVELS);
				EXPECT_LT(p.ev[i].skip.left,
					  1u << (MRC_EV_SKIP_LEVELS - MRC_EV_SKIP_FREE));
				continue;
			}
			if (probe_out(i) ||
			    mrc_paths_port_ok(
				    &p, static_cast<std::uint8_t>(port(i))))
				next = std::min(next, probe_at(i));
		}
		for (unsigned k = 0; k <= p.n_ports; k++)
			EXPECT_EQ(p.walk[k].usable, usable[k]);
		EXPECT_EQ(p.probe_next, next);
		// Questions about the peer's ports come on top.
		EXPECT_EQ(mrc_paths_next_probe(&p),
			  std::min(std::max(next, gap_ends()), p.pace->port_probe_next));
	}

	static void on_state(void *ctx, const mrc_paths *paths,
			     std::uint16_t ev, std::uint8_t from,
			     std::uint8_t to)
	{
		static_cast<std::vector<StateChange> *>(ctx)->push_back(
			{ev, from, to, mrc_paths_entropy(paths, ev)});
	}

	mrc_paths p;
	std::unique_ptr<mrc_counters> ctr;
	Mem mem;
	std::vector<StateChange> changes;
};

} // namespace mrc_test
