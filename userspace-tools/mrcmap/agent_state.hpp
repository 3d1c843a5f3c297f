/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: the agent without sockets, files and clocks. Times are the host's
 * CLOCK_MONOTONIC in ns. A program does, over and over:
 *
 *	sleep until a packet comes or next() has come
 *	on_packet() for what has come, by the time at which it came
 *	due(), send what it returns, each on the netdev of its plane
 *	send the lines of on_tick() to the collector, if there is one
 *
 * The agent notes when this takes too long, and then takes late probes for
 * late, not for lost.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "packet.hpp"
#include "plan.hpp"
#include "report.hpp"
#include "window.hpp"

namespace mrcmap
{
struct Packet {
	uint32_t plane = 0;
	Address to{};		      /* destination of the outer header */
	std::vector<uint8_t> bytes{}; /* from the inner header on */
	uint32_t path = 0, window = 0;
};

struct AgentCounters {
	uint64_t sent = 0;
	uint64_t unsent = 0; /* refused by the socket */
	uint64_t received = 0;
	uint64_t peers = 0; /* received from other agents */
	uint64_t foreign = 0;
	uint64_t bad = 0;
	uint64_t forged = 0;
	uint64_t version = 0;
	uint64_t plan = 0;	/* of an agent with another plan */
	uint64_t misplaced = 0; /* not this host's, or on the wrong plane */
	uint64_t skipped = 0;	/* not sent since the agent was late */
	uint64_t gaps = 0;	/* times that the agent was late */
};

class AgentState
{
public:
	/* @topology and @plan must live longer. Throws mrclab::UsageError for a
	 * host that the fabric does not have.
	 */
	AgentState(const mrclab::Topology &topology, const Plan &plan,
		   const Config &config, uint32_t host, const Key &key,
		   uint64_t now);

	/* The first line to the collector, on every new connection. */
	std::string hello_line() const;

	/* When due() and on_tick() want to be called at the latest. */
	uint64_t next() const;
	/*
	 * The probes to send now. The span is valid until the next call. What
	 * came up between two turns of a program is sent; what is overdue for
	 * longer is skipped.
	 */
	std::span<const Packet> due(uint64_t now);
	/* Of one plane, for a program that reads its clock for each. */
	std::span<const Packet> due(uint32_t plane, uint64_t now);
	/* Sending this one failed. */
	void on_unsent(const Packet &packet);
	/* @bytes from the inner header on, received on the plane's netdev. */
	Parsed on_packet(std::span<const uint8_t> bytes, uint32_t plane,
			 uint64_t now);
	/* The kernel had no room for received packets: nothing is concluded. */
	void on_overflow(uint64_t now);
	/* Lines about the windows that are closed. Often none. */
	std::vector<std::string> on_tick(uint64_t now);

	/* The line to send if carriers have changed, or for a new collector
	 * (@always).
	 */
	std::optional<std::string>
	on_ports(const std::vector<std::optional<bool>> &carrier, bool always);

	const AgentCounters &counters() const { return counters_; }

private:
	/* When the next probe of a path is due: time, path. */
	using Due = std::pair<uint64_t, uint32_t>;
	using Queue =
		std::priority_queue<Due, std::vector<Due>, std::greater<>>;

	void turn(uint64_t now);
	void count(Parsed result);
	void make_due(Queue &queue, uint64_t now);

	const mrclab::Topology &t_;
	const Plan &plan_;
	Config config_;
	uint32_t host_;
	Key key_;
	std::vector<Queue> queues_; /* by plane - 1 */
	/* By the index in Plan::sent_by(): */
	std::vector<Address> outer_;
	std::vector<ProbeMaker> makers_;
	/* The first ones are due; the others keep their room. */
	std::vector<Packet> packets_;
	std::size_t due_ = 0;
	SentWindows windows_;
	PeerWindows peers_;
	std::vector<std::optional<bool>> carrier_;
	uint64_t last_turn_;
	AgentCounters counters_;
};
} // namespace mrcmap
