// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "agent_state.hpp"

#include <algorithm>

#include "address.hpp"

namespace mrcmap
{
namespace
{
/* With nothing to send, the loop of the program turns this often per wait. */
constexpr uint64_t idle_turns_per_wait = 8;
/* An agent without a turn for three fifths of the wait was late. */
constexpr uint64_t late_parts = 3, wait_parts = 5;
/* What is overdue by more is skipped: some turns of a program. */
constexpr uint64_t make_up_for = 20'000'000;

/* Where in its interval a path begins, so that probes are spread evenly: the
 * fractional parts of multiples of the golden ratio.
 */
uint64_t phase(uint64_t interval, uint32_t path)
{
	const uint32_t share = path * 2654435769u;

	return static_cast<uint64_t>(static_cast<double>(interval) * share /
				     4294967296.0);
}
} // namespace

AgentState::AgentState(const mrclab::Topology &topology, const Plan &plan,
		       const Config &config, uint32_t host, const Key &key,
		       uint64_t now)
	: t_(topology), plan_(plan), config_(config),
	  host_(t_.node("h" + std::to_string(host)).number), key_(key),
	  queues_(topology.fabric().planes), windows_(config), peers_(config),
	  last_turn_(now)
{
	for (const uint32_t id : plan.sent_by(host)) {
		const ProbePath &p = plan.paths()[id];
		const Probe same{
			.digest = plan.digest(), .host = host_, .path = id};
		Wire w;

		w.from = address(mrclab::host6(t_, host));
		w.to = address(mrclab::host6(t_, p.receiver));
		w.port = static_cast<uint16_t>(config.udp_port);
		w.size = config.size;
		w.dscp = config.dscp;
		outer_.push_back(address(p.outer));
		makers_.emplace_back(same, w, key_);
		queues_[p.plane - 1].emplace(now + phase(p.interval, id), id);
	}
}

std::string AgentState::hello_line() const
{
	return write(Hello{.fabric = t_.fabric().name,
			   .host = host_,
			   .plan = plan_.digest()});
}

uint64_t AgentState::next() const
{
	uint64_t at = last_turn_ + config_.wait / idle_turns_per_wait;

	for (const Queue &q : queues_)
		if (!q.empty())
			at = std::min(at, q.top().first);
	return at;
}

/*
 * Calls with the agent's own clock show that it runs; packets have the time of
 * their arrival. If it did not run for too long, packets that waited for it may
 * have been dropped for lack of room.
 */
void AgentState::turn(uint64_t now)
{
	if (now > last_turn_ + config_.wait * late_parts / wait_parts) {
		counters_.gaps++;
		windows_.on_gap();
		peers_.on_gap();
	}
	last_turn_ = std::max(last_turn_, now);
}

void AgentState::make_due(Queue &queue, uint64_t now)
{
	while (!queue.empty() && queue.top().first <= now) {
		auto [at, id] = queue.top();
		const ProbePath &p = plan_.paths()[id];
		/* Ids of a host's paths follow each other. */
		const std::size_t i = id - plan_.sent_by(host_).front();
		const uint64_t late = now - at;

		queue.pop();
		if (late > make_up_for) {
			const uint64_t n = (late - make_up_for) / p.interval;

			counters_.skipped += n;
			at += n * p.interval;
		}
		queue.emplace(at + p.interval, id);
		if (due_ == packets_.size())
			packets_.emplace_back();

		Packet &packet = packets_[due_++];

		packet.plane = p.plane;
		packet.to = outer_[i];
		packet.path = id;
		packet.window = windows_.window_of(now);
		makers_[i].make(packet.bytes, packet.window,
				windows_.on_sent(id, p.one_way(), now), now);
		counters_.sent++;
	}
}

std::span<const Packet> AgentState::due(uint32_t plane, uint64_t now)
{
	turn(now);
	due_ = 0;
	make_due(queues_.at(plane - 1), now);
	return {packets_.data(), due_};
}

std::span<const Packet> AgentState::due(uint64_t now)
{
	turn(now);
	due_ = 0;
	for (Queue &q : queues_)
		make_due(q, now);
	return {packets_.data(), due_};
}

void AgentState::on_unsent(const Packet &packet)
{
	windows_.on_unsent(packet.path, packet.window);
	counters_.sent--;
	counters_.unsent++;
}

void AgentState::count(Parsed result)
{
	switch (result) {
	case Parsed::foreign:
		counters_.foreign++;
		break;
	case Parsed::bad:
		counters_.bad++;
		break;
	case Parsed::forged:
		counters_.forged++;
		break;
	case Parsed::version:
		counters_.version++;
		break;
	default:
		break;
	}
}

Parsed AgentState::on_packet(std::span<const uint8_t> bytes, uint32_t plane,
			     uint64_t now)
{
	Probe probe;
	const Parsed result = parse(
		bytes, static_cast<uint16_t>(config_.udp_port), key_, probe);

	count(result);
	if (result != Parsed::good)
		return result;
	if (probe.digest != plan_.digest()) {
		counters_.plan++;
		return result;
	}
	if (probe.path >= plan_.paths().size()) {
		counters_.misplaced++;
		return result;
	}

	const ProbePath &p = plan_.paths()[probe.path];

	const bool ours = p.host == probe.host && p.receiver == host_ &&
			  p.plane == plane;

	if (ours && p.one_way()) {
		counters_.peers++;
		peers_.on_received(probe.path, probe.window, probe.sequence,
				   probe.sent, now);
	} else if (ours && windows_.on_received(probe.path, probe.window,
					probe.sequence, probe.sent, now)) {
		counters_.received++;
	} else {
		counters_.misplaced++;
	}
	return result;
}

void AgentState::on_overflow(uint64_t now)
{
	turn(now);
	counters_.gaps++;
	windows_.on_gap();
	peers_.on_gap();
}

std::vector<std::string> AgentState::on_tick(uint64_t now)
{
	std::vector<std::string> lines;

	turn(now);

	const std::vector<PathWindow> paths = windows_.close(now);
	const std::vector<PeerWindow> peers = peers_.close(now);
	std::size_t i = 0, j = 0;

	while (i < paths.size() || j < peers.size()) {
		const std::size_t n =
			std::min(paths.size() - i, windows_limit / 2);
		const std::size_t m =
			std::min(peers.size() - j, windows_limit / 2);
		Windows w{.at = now};

		w.paths.assign(paths.data() + i, paths.data() + i + n);
		w.peers.assign(peers.data() + j, peers.data() + j + m);
		lines.push_back(write(w));
		i += n;
		j += m;
	}
	return lines;
}

std::optional<std::string>
AgentState::on_ports(const std::vector<std::optional<bool>> &carrier,
		     bool always)
{
	if (!always && carrier == carrier_)
		return std::nullopt;
	carrier_ = carrier;
	return write(Ports{.carrier = carrier});
}
} // namespace mrcmap
