/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Agents and a collector together, packet by packet. */
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent_state.hpp"
#include "collector_state.hpp"
#include "sim.hpp"

namespace mrcmap
{
/* All agents of a fabric, whose clocks have nothing in common. */
class World
{
public:
	explicit World(
		const mrclab::Fabric &f = fabric_of(2, 2, 2, 2),
		uint64_t seed = 0,
		const std::function<void(Config &)> &set = [](Config &) {})
		: t_(f), config_(with(set)), plan_(t_, config_), collector_(t_, plan_, config_),
		  phase_(seed % 100 * ms)
	{
		for (uint32_t h = 1; h <= t_.fabric().all_hosts(); h++) {
			agents_.push_back(std::make_unique<AgentState>(
				t_, plan_, config_, h, Key{}, clock(h)));
			tell(h, agents_.back()->hello_line());
			tell(h, *agents_.back()->on_ports({true, true}, true));
		}
	}

	uint64_t clock(uint32_t host) const
	{
		return now_ + phase_ + host * 77 * second + host * 37 * ms;
	}

	void tell(uint32_t host, std::string line)
	{
		line.pop_back();

		const auto answer = collector_.on_line(host, line, now_);

		EXPECT_FALSE(answer.close) << answer.why;
	}

	/* What the fabric does with a packet; nothing: it is lost. */
	std::function<std::optional<uint64_t>(const ProbePath &)> delay =
		[](const ProbePath &) { return 100'000; };

	void run(uint64_t time)
	{
		for (const uint64_t end = now_ + time; now_ < end; now_ += ms) {
			deliver();
			for (uint32_t h = 1; h <= agents_.size(); h++)
				if (!sleeping.contains(h) &&
				    (now_ / ms + h) % turn_every == 0)
					turn(h);
			if (now_ % config_.evaluate_every < ms)
				evaluate();
		}
	}

	std::set<uint32_t> sleeping;
	uint64_t turn_every = 1; /* ms, of each agent */
	mrclab::Topology t_;
	Config config_;
	Plan plan_;
	CollectorState collector_;
	std::vector<std::unique_ptr<AgentState>> agents_;
	std::vector<Change> changes;
	std::map<uint32_t, std::string> denied; /* last line to each host */
	uint64_t now() const { return now_; }

private:
	static Config with(const std::function<void(Config &)> &set)
	{
		Config c;

		set(c);
		return c;
	}

	void deliver()
	{
		while (!flying_.empty() && flying_.begin()->first <= now_) {
			const auto [receiver, packet] = flying_.begin()->second;

			waiting_[receiver].emplace_back(clock(receiver),
							packet);
			flying_.erase(flying_.begin());
		}
	}

	void turn(uint32_t h)
	{
		AgentState &a = *agents_[h - 1];

		for (const auto &[at, p] : waiting_[h])
			a.on_packet(p.bytes, p.plane, at);
		waiting_[h].clear();
		for (const Packet &p : a.due(clock(h))) {
			const ProbePath &path = plan_.paths()[p.path];

			EXPECT_EQ(p.to, address(path.outer));
			if (const auto d = delay(path))
				flying_.emplace(now_ + *d,
						std::pair(path.receiver, p));
		}
		for (const std::string &line : a.on_tick(clock(h)))
			tell(h, line);
	}

	void evaluate()
	{
		for (Change &c :
		     collector_.evaluate(now_, static_cast<int64_t>(now_ / ms)))
			changes.push_back(std::move(c));
		for (const auto &l : collector_.deny_lines())
			denied[static_cast<uint32_t>(l.to)] = l.text;
	}

	uint64_t now_ = 500 * second;
	std::multimap<uint64_t, std::pair<uint32_t, Packet>> flying_;
	std::map<uint32_t, std::vector<std::pair<uint64_t, Packet>>> waiting_;
	uint64_t phase_;
};
} // namespace mrcmap
