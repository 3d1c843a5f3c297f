/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: reads the bytes that flows have moved, and all counters of links. */
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "drill_series.hpp"
#include "ev_meter.hpp"
#include "hw_counter.hpp"
#include "qp_progress.hpp"
#include "sampler.hpp"

namespace mrclab
{
/*
 * With mrc a flow's bytes are payload, by the counters of the RDMA device. rxe
 * counts no bytes: there, and where several flows of mrc have the same
 * receiver, they follow from the packets that the queue pairs of the flow's
 * processes have taken. Where the sizes of messages are not known, those with
 * the same receiver are told by what their senders send, and those of rxe by
 * the bytes of the netdev.
 */
class FlowMeter
{
public:
	/* Gives the processes of a flow. */
	using Pids = std::function<std::vector<pid_t>(std::size_t flow)>;

	/* @evs: count what each EV carries, too. */
	FlowMeter(const Topology &t, Devices devices,
		  const std::vector<Flow> &flows, bool evs, Pids pids);
	FlowMeter(const FlowMeter &) = delete;
	FlowMeter &operator=(const FlowMeter &) = delete;

	/* Time is counted from @start. */
	Reading read(std::chrono::steady_clock::time_point start);

private:
	using Packets = std::map<uint32_t, std::map<pid_t, uint64_t>>;

	/* By the packets that queue pairs have taken? */
	bool by_packets(std::size_t flow) const;
	uint64_t mrc_bytes(std::size_t flow) const;
	uint64_t packet_bytes(std::size_t flow, const Packets &packets) const;
	uint64_t netdev_bytes(std::size_t flow, const Reading &reading) const;

	const Topology &topology_;
	Devices devices_;
	const std::vector<Flow> &flows_;
	Pids pids_;
	Sampler sampler_;
	std::vector<std::list<HwCounter>> counters_; /* of each flow, mrc */
	std::map<uint32_t, QpProgress> progress_;    /* of hosts */
	std::unique_ptr<EvMeter> evs_;
};
} // namespace mrclab
