/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: starts and ends the programs of a drill. */
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "drill.hpp"
#include "drill_result.hpp"
#include "priority.hpp"
#include "program.hpp"
#include "topology.hpp"

namespace mrclab
{
/* The programs of one flow. */
struct RunningFlow {
	std::vector<std::unique_ptr<Program>> servers, clients;
	std::vector<Words> commands; /* of the clients */

	template <typename Use> void each(Use use) const
	{
		for (const auto *list : {&servers, &clients})
			for (const std::unique_ptr<Program> &p : *list)
				use(*p);
	}
};

/* How all flows have ended, and what their programs have measured. */
struct TrafficEnd {
	std::vector<FlowEnd> flows;
	std::vector<Latency> latencies;
};

class Traffic
{
public:
	/* The programs' output goes to files below @dir. */
	Traffic(const Drill &d, const Stage &s, const Topology &t,
		const std::string &dir);

	void start_servers();
	void start_clients(std::size_t flow);
	/* The processes of a flow that are there. */
	std::vector<pid_t> pids(std::size_t flow) const;
	/* Throws SystemError if a program has ended that should not. */
	void check_running(std::size_t flow) const;
	TrafficEnd end();

private:
	void make_words();
	std::unique_ptr<Program> start(std::size_t flow, const Words &command,
				       const std::string &job) const;
	Words words(const Job &job) const;
	using Clock = std::chrono::steady_clock;

	FlowEnd end_of(std::size_t flow, Clock::time_point latest) const;
	void take_latency(std::size_t flow, TrafficEnd &to) const;

	const Drill &drill_;
	const Topology &topology_;
	std::string prefix_; /* of log files */
	Ahead ahead_;
	std::vector<RunningFlow> flows_;
};
} // namespace mrclab
