// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "agent_state.hpp"

#include <algorithm>

#include "address.hpp"

namespace mrcmap
{
namespace
{
/* Turns of the program's loop are four times as frequent as they must be. */
constexpr uint64_t turns_per_wait = 8;

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
	  windows_(config), peers_(config), last_turn_(now)
{
	for (const uint32_t id : plan.sent_by(host)) {
		const ProbePath &p = plan.paths()[id];
		Wire w;

		w.from = address(mrclab::host6(t_, host));
		w.to = address(mrclab::host6(t_, p.receiver));
		w.port = static_cast<uint16_t>(config.udp_port);
		w.size = config.size;
		w.dscp = config.dscp;
		outer_.push_back(address(p.outer));
		wire_.push_back(w);
		queue_.emplace(now + phase(p.interval, id), id);
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
	const uint64_t turn = last_turn_ + config_.wait / turns_per_wait;

	return queue_.empty() ? turn : std::min(turn, queue_.top().first);
}

/*
 * Every call shows that the agent runs. If it did not for too long, packets
 * that wait for it will look late, or were dropped for lack of room.
 */
void AgentState::turn(uint64_t now)
{
	if (now > last_turn_ + config_.wait / 2) {
		counters_.gaps++;
		windows_.on_gap();
		peers_.on_gap();
	}
	last_turn_ = std::max(last_turn_, now);
}

std::vector<Packet> AgentState::due(uint64_t now)
{
	std::vector<Packet> out;

	turn(now);
	while (!queue_.empty() && queue_.top().first <= now) {
		auto [at, id] = queue_.top();
		const ProbePath &p = plan_.paths()[id];
		/* Ids of a host's paths follow each other. */
		const std::size_t i = id - plan_.sent_by(host_).front();
		const uint64_t overdue = (now - at) / p.interval;
		Packet packet{.plane = p.plane,
			      .to = outer_[i],
			      .path = id,
			      .window = windows_.window_of(now)};

		packet.bytes = build(
			{.digest = plan_.digest(),
			 .host = host_,
			 .path = id,
			 .window = packet.window,
			 .sequence = windows_.on_sent(id, p.one_way(), now),
			 .sent = now},
			wire_[i], key_);
		counters_.sent++;
		counters_.skipped += overdue;
		out.push_back(std::move(packet));
		queue_.pop();
		queue_.emplace(at + (overdue + 1) * p.interval, id);
	}
	return out;
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

	turn(now);
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

	if (p.host != probe.host || p.receiver != host_ || p.plane != plane) {
		counters_.misplaced++;
	} else if (p.one_way()) {
		counters_.peers++;
		peers_.on_received(probe.path, probe.window, probe.sequence,
				   probe.sent, now);
	} else if (windows_.on_received(probe.path, probe.window,
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
