// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Random verdicts, port changes, new versions of the set and picks, against a
// model written from the text (MRC 1.0 §11.5, §11.6).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "ev_oracle.hpp"
#include "evset.hpp"

namespace
{

using namespace mrc_test;

class World
{
public:
	explicit World(std::uint64_t seed)
		: rng_(seed), n_ports_(1 + rng_() % 4), entries_(entries()),
		  set_(std::make_unique<EvSet>(entries_, rng_() % 4)),
		  p_(config(seed))
	{
		o_.min_active = set_->get()->min_active;
		o_.n_ports = n_ports_;
		o_.trim_nack = p_->cfg.trim_nack;
		o_.rto = p_->cfg.rto;
		o_.rtt = p_->cfg.base_rtt;
		for (const SetEv &e : entries_)
			o_.evs.push_back({path_of(e), e.port, e.denied});
	}

	void step()
	{
		now_ += rng_() % 200 * kUnit;
		switch (rng_() % 16) {
		case 0:
			set_ports();
			break;
		case 1:
			if (!(rng_() % 8))
				update();
			break;
		case 2:
		case 3:
			probe();
			break;
		case 4:
			other();
			break;
		case 5:
		case 6:
		case 7:
			verdict();
			break;
		default:
			pick();
		}
		o_.compare(p_);
		p_.check();
		follow();
	}

	// The QP ends; nobody takes anything for bad any more.
	void retire()
	{
		const std::uint64_t counted = p_.everything();

		seen |= bad_.empty() ? 0 : 128;
		mrc_paths_fini(&p_.p);
		hear();
		EXPECT_TRUE(bad_.empty());
		EXPECT_EQ(p_.everything(), counted);
	}

	// Every bad EV whose port is up is probed before long, and the answers
	// bring all of them back.
	void settle()
	{
		std::map<std::size_t, std::uint64_t> waiting;
		u16 id = 0;

		p_->min_active = 0;
		o_.ports_came(~ports_);
		ports_ = (2u << n_ports_) - 2;
		mrc_paths_set_ports(&p_.p, ports_);
		for (std::size_t i = 0; i < o_.evs.size(); i++)
			if (o_.state(i) == B && o_.evs[i].port <= n_ports_)
				waiting[o_.evs[i].path] = now_;
		std::size_t left = 2 * waiting.size();
		while (left) {
			std::uint64_t next = mrc_paths_next_probe(&p_.p);

			ASSERT_NE(next, ~0ull);
			now_ = std::max(now_, next);
			// An interval that doubled up to a second, a deadline.
			for (auto &[path, since] : waiting)
				ASSERT_LE(now_ - since,
					  MRC_EV_PROBE_MAX_NS + 2 * o_.rto);
			o_.expire(now_);
			int ev = mrc_paths_probe_due(&p_.p, now_);
			if (ev < 0)
				continue;
			auto i = static_cast<std::size_t>(ev);
			std::size_t path = o_.evs[i].path;
			mrc_paths_probe_sent(&p_.p, ev, ++id, now_);
			o_.sent(i, true, now_);
			waiting[path] = now_;
			ASSERT_EQ(o_.evs[static_cast<std::size_t>(
						 mrc_paths_probe_match(&p_.p,
								       id))]
					  .path,
				  path);
			both(i, MRC_EVV_PROBE_OK);
			left = 0;
			for (auto it = waiting.begin(); it != waiting.end();) {
				if (o_.paths[it->first].state == B)
					left++, it++;
				else
					it = waiting.erase(it);
			}
		}
		o_.compare(p_);
		for (std::size_t i = 0; i < o_.evs.size(); i++)
			EXPECT_FALSE(o_.state(i) == B &&
				     o_.evs[i].port <= n_ports_);
	}

	unsigned seen = 0; // bit per kind of event, so that none is missing

private:
	// Few values, so that copies abound; a value is on one port only.
	SetEv entry()
	{
		unsigned value = 1 + static_cast<unsigned>(rng_() % 24);

		return {value, value % 4 + 1, rng_() % 10 == 0};
	}

	std::vector<SetEv> entries()
	{
		std::vector<SetEv> evs(4 + rng_() % 90);

		for (SetEv &e : evs)
			e = entry();
		return evs;
	}

	mrc_paths_cfg config(std::uint64_t seed)
	{
		mrc_paths_cfg cfg = paths_cfg(1, n_ports_);

		cfg.set = set_->get();
		cfg.trim_nack = rng_() & 1;
		cfg.base_rtt = 100 * kUnit;
		cfg.rto = 1000 * kUnit;
		cfg.seed = seed;
		ports_ = (2u << n_ports_) - 2;
		return cfg;
	}

	std::size_t path_of(const SetEv &e)
	{
		auto [it, fresh] = names_.try_emplace(e.value, o_.paths.size());

		if (fresh)
			o_.paths.emplace_back();
		return it->second;
	}

	bool up(unsigned port) const
	{
		return port <= n_ports_ && ports_ >> port & 1;
	}

	bool usable(std::size_t i) const
	{
		return o_.state(i) == G || o_.state(i) == S;
	}

	// Ports that take part in the spraying now.
	std::set<unsigned> planes() const
	{
		std::set<unsigned> out;

		for (std::size_t i = 0; i < o_.evs.size(); i++)
			if (usable(i) && up(o_.evs[i].port))
				out.insert(o_.evs[i].port);
		return out;
	}

	bool any(std::uint8_t state, unsigned port) const
	{
		for (std::size_t i = 0; i < o_.evs.size(); i++)
			if (o_.state(i) == state && up(o_.evs[i].port) &&
			    (!port || o_.evs[i].port == port))
				return true;
		return false;
	}

	// What a controller makes of events: of each value they say in turn
	// that it is bad and that it is good.
	void hear()
	{
		for (; heard_ < p_.changes.size(); heard_++) {
			const StateChange &c = p_.changes[heard_];

			if (c.to == B)
				EXPECT_TRUE(bad_.insert(c.entropy).second);
			else if (c.to != D && c.from == B)
				EXPECT_EQ(bad_.erase(c.entropy), 1u);
			else if (c.to != D)
				bad_.erase(c.entropy);
		}
	}

	// It knows what it denied, and the states from events alone.
	void follow()
	{
		std::set<std::uint32_t> bad, live;

		hear();
		for (std::size_t i = 0; i < o_.evs.size(); i++) {
			if (o_.state(i) == B)
				bad.insert(entries_[i].value);
			if (o_.state(i) != D)
				live.insert(entries_[i].value);
		}
		std::erase_if(bad_, [&](std::uint32_t value) {
			return !live.contains(value);
		});
		ASSERT_EQ(bad_, bad);
	}

	void both(std::size_t i, mrc_ev_verdict v)
	{
		mrc_paths_verdict(&p_.p, static_cast<int>(i), v, now_);
		o_.verdict(i, v, now_, p_);
	}

	void verdict()
	{
		// Deny seldom, or nothing is left before long.
		auto v = static_cast<mrc_ev_verdict>(rng_() % MRC_EVV_MAX);

		if (v == MRC_EVV_DENY && rng_() % 4)
			v = MRC_EVV_ALLOW;
		both(rng_() % o_.evs.size(), v);
	}

	void set_ports()
	{
		auto mask = static_cast<std::uint32_t>(rng_() | rng_());

		o_.ports_came(mask & ~ports_);
		ports_ = mask & ((2u << n_ports_) - 2);
		mrc_paths_set_ports(&p_.p, mask);
	}

	void pick()
	{
		std::set<unsigned> planes = this->planes();
		std::vector<std::uint8_t> was;
		std::set<std::size_t> reset;

		for (std::size_t i = 0; i < o_.evs.size(); i++)
			was.push_back(o_.state(i));
		if (planes != planes_) {
			planes_ = planes;
			load_.clear();
		}
		int ev = mrc_paths_pick(&p_.p, now_);
		if (ev < 0) {
			seen |= 1;
			ASSERT_TRUE(planes.empty());
			ASSERT_FALSE(any(B, 0));
			return;
		}
		auto i = static_cast<std::size_t>(ev);
		unsigned port = o_.evs[i].port;
		ASSERT_TRUE(up(port));
		ASSERT_NE(was[i], D);
		for (std::size_t k = 0; k < was.size(); k++)
			if (was[k] == S &&
			    p_.state(static_cast<unsigned>(k)) == G)
				reset.insert(o_.evs[k].path);
		ASSERT_LE(reset.size(), 1u);
		for (std::size_t path : reset)
			o_.paths[path].state = G;
		if (planes.empty()) {
			seen |= 2;
			ASSERT_EQ(was[i], B);
		} else if (was[i] == S) {
			seen |= 4;
			ASSERT_FALSE(any_was(was, G, port));
			if (o_.paths[o_.evs[i].path].level <= MRC_EV_SKIP_FREE)
				ASSERT_TRUE(reset.count(o_.evs[i].path));
		} else {
			seen |= 8;
			ASSERT_EQ(was[i], G);
		}
		o_.sent(i, false, now_);
		o_.picked(i);
		// Equal load per plane, over every stretch without a change.
		if (planes.empty())
			return;
		load_[port]++;
		unsigned lo = ~0u, hi = 0;
		for (unsigned k : planes) {
			lo = std::min(lo, load_[k]);
			hi = std::max(hi, load_[k]);
		}
		ASSERT_LE(hi - lo, 1u);
	}

	bool any_was(const std::vector<std::uint8_t> &was, std::uint8_t state,
		     unsigned port) const
	{
		for (std::size_t i = 0; i < was.size(); i++)
			if (was[i] == state && o_.evs[i].port == port)
				return true;
		return false;
	}

	void other()
	{
		std::size_t avoid = rng_() % o_.evs.size();
		bool elsewhere = false, here = false;
		int ev;

		for (std::size_t i = 0; i < o_.evs.size(); i++) {
			if (!usable(i) || !up(o_.evs[i].port))
				continue;
			elsewhere |= o_.evs[i].port != o_.evs[avoid].port;
			here |= o_.evs[i].path != o_.evs[avoid].path;
		}
		ev = mrc_paths_pick_other(&p_.p, static_cast<int>(avoid), now_);
		ASSERT_EQ(ev >= 0, here);
		if (ev < 0)
			return;
		auto i = static_cast<std::size_t>(ev);
		ASSERT_TRUE(usable(i) && up(o_.evs[i].port));
		ASSERT_NE(o_.evs[i].path, o_.evs[avoid].path);
		if (elsewhere) {
			seen |= 16;
			ASSERT_NE(o_.evs[i].port, o_.evs[avoid].port);
		}
		if (o_.state(i) == S) {
			// A clean path of that plane would have been better.
			for (std::size_t k = 0; k < o_.evs.size(); k++)
				ASSERT_FALSE(o_.state(k) == G &&
					     o_.evs[k].port == o_.evs[i].port &&
					     o_.evs[k].path !=
						     o_.evs[avoid].path);
		}
		o_.sent(i, false, now_);
	}

	void probe()
	{
		// The engine looks at nothing before it must.
		if (now_ >= mrc_paths_next_probe(&p_.p))
			o_.expire(now_);
		int ev = mrc_paths_probe_due(&p_.p, now_);

		if (ev < 0)
			return;
		auto i = static_cast<std::size_t>(ev);
		seen |= 32;
		ASSERT_EQ(o_.state(i), B);
		ASSERT_FALSE(o_.paths[o_.evs[i].path].out);
		ASSERT_TRUE(up(o_.evs[i].port));
		mrc_paths_probe_sent(&p_.p, ev, static_cast<u16>(rng_()), now_);
		o_.sent(i, true, now_);
	}

	// Change some entries: values, weights, who is denied.
	void update()
	{
		std::vector<SetEv> next = entries_;
		std::set<std::size_t> stay, come;

		seen |= 64;
		for (SetEv &e : next) {
			if (rng_() % 5 == 0)
				e = entry();
			else if (rng_() % 6 == 0)
				e.denied = !e.denied;
		}
		for (std::size_t i = 0; i < next.size(); i++) {
			if (next[i].value == entries_[i].value) {
				if (!o_.evs[i].denied)
					stay.insert(o_.evs[i].path);
				continue;
			}
			o_.evs[i] = {path_of(next[i]), next[i].port,
				     next[i].denied};
			if (!next[i].denied)
				come.insert(o_.evs[i].path);
		}
		// A path that only newcomers use, or nobody, is a new one.
		// Who was told that the former one is bad is told of its end.
		for (std::size_t k = 0; k < o_.paths.size(); k++)
			if (!stay.count(k)) {
				if (o_.paths[k].state == B)
					o_.event(B, G);
				o_.paths[k] = {};
			}
		o_.min_active = static_cast<unsigned>(rng_() % 4);
		for (std::size_t i = 0; i < next.size(); i++)
			if (next[i].denied != o_.evs[i].denied)
				o_.to_states(i, next[i].denied ? MRC_EVV_DENY
							       : MRC_EVV_ALLOW);
		auto set = std::make_unique<EvSet>(next, o_.min_active);
		mrc_paths_update(&p_.p, set->get(), now_);
		set_ = std::move(set);
		entries_ = next;
	}

	std::mt19937_64 rng_;
	unsigned n_ports_;
	std::vector<SetEv> entries_;
	std::unique_ptr<EvSet> set_;
	std::uint32_t ports_ = 0;
	Paths p_;
	Oracle o_;
	std::map<unsigned, std::size_t> names_;
	std::set<unsigned> planes_;
	std::map<unsigned, unsigned> load_;
	std::set<std::uint32_t> bad_; // as events say
	std::size_t heard_ = 0;
	std::uint64_t now_ = kMs;
};

TEST(EvRandom, FollowsTheModel)
{
	unsigned seen = 0;

	for (std::uint64_t seed = 1; seed <= 60; seed++) {
		World w(seed);

		for (int step = 0; step < 1500; step++) {
			w.step();
			if (::testing::Test::HasFailure())
				FAIL() << "seed " << seed << " step " << step;
		}
		if (seed % 2)
			w.settle();
		w.retire();
		if (::testing::Test::HasFailure())
			FAIL() << "seed " << seed << " at the end";
		seen |= w.seen;
	}
	EXPECT_EQ(seen, 255u);
}

} // namespace
