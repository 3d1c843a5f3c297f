/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: a run. Its partitions take turns: each has its events up to a bound,
 * on a thread of its own if there are several, see cut.hpp. What concerns
 * several of them happens between turns: faults, port status updates, samples,
 * the end.
 *
 * Nothing depends on the number of partitions. Events at different places that
 * are of the same time have no influence on each other, and those at the same
 * place are ordered by their keys.
 */
#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "partition.hpp"
#include "peers.hpp"

namespace mrcsim
{
/* State at a moment; sums since the start. */
struct Sample {
	u64 at = 0;	/* ps */
	u64 placed = 0; /* bytes of payload */
	u64 resent = 0, trimmed = 0, dropped = 0, marked = 0;
	u64 finished = 0; /* flows */
	u64 lost = 0;	  /* at random, and cut off */
	u64 condemned = 0; /* EVs */
	std::vector<u64> flows{};  /* bytes placed; as Series says */
	std::vector<u64> queues{}; /* bytes */
};

class Simulator
{
public:
	/*
	 * Throws mrclab::UsageError for what does not fit together. @traffic is
	 * kept. At most @threads threads; fewer if the fabric or triggers allow
	 * fewer partitions. With @peers, which are kept, each process has so
	 * many, and all make the same calls.
	 */
	Simulator(const Shape &shape, const Settings &settings,
		  const Traffic &traffic, std::vector<Fault> faults,
		  u32 threads = 1, Peers *peers = nullptr);
	Simulator(const Simulator &) = delete;
	Simulator &operator=(const Simulator &) = delete;

	/* About @events events; exactly so many with one thread. False: the
	 * simulation is over. With peers, only the first one knows all that
	 * follows then. */
	bool run(u64 events);

	u64 now() const;
	/* Of all processes. */
	u32 threads() const { return world_.cut.count(); }
	/* Bytes that all processes have placed, at the last meeting. */
	u64 placed_by_all() const { return all_.placed; }
	/* Processor time of the threads but the calling one, ns. */
	u64 helpers_cpu() const { return helpers_cpu_; }
	Totals totals() const;
	LinkSums sums() const;
	const Shape &shape() const { return world_.shape; }
	const Settings &settings() const { return world_.settings; }
	const Derived &derived() const { return world_.derived; }
	const Traffic &traffic() const { return world_.traffic; }
	const std::vector<FlowState> &flows() const { return world_.flows; }
	const std::vector<Sample> &samples() const { return samples_; }
	const Links &links() const { return world_.links; }
	u64 counter(mrc_counter id) const;
	/* Bytes that are allocated; it never becomes less. */
	u64 memory() const;

	/* What was recorded, see Settings::watch. */
	std::vector<TraceLine> trace() const;
	std::vector<Captured> captured() const;

	/* Of all deliveries: time, queue pair, PSN, EV. */
	u64 digest() const;
	/* Empty, or which packets or bytes are missing. */
	std::string check() const;

private:
	/* Of all partitions of all processes. */
	struct All {
		u64 earliest = 0, finished = 0, last_end = 0, events = 0,
		    placed = 0;
	};

	void look_for_end();
	bool next_bound();
	void run_alone(u64 events);
	void run_side_by_side(u64 events);
	void sample();
	u64 queue(u32 link) const;

	/* The first event of @global_. */
	void happen();
	void fault(std::size_t n);
	void ports_changed(u32 host);
	void news(u32 host);
	/* NULL: another process has it. */
	Partition *part_of(u32 host)
	{
		const u32 n = world_.cut.of_host(host) - first_;

		return n < parts_.size() ? parts_[n].get() : nullptr;
	}

	/* simulator_peers.cpp */
	void meet(bool failed = false);
	void exchange();
	void unite();
	static void add(Totals &sum, const Totals &t);
	static void add(LinkSums &sum, const LinkSums &s);
	static void add(mrc_counters &sum, const mrc_counters &c);
	/* The first partition of process @rank. */
	u32 first_part(u32 rank) const
	{
		return peers_ ? static_cast<u32>(u64{rank} * world_.cut.count() /
						 peers_->count())
			      : rank * world_.cut.count();
	}
	/* Of this process. */
	Totals own_totals() const;
	LinkSums own_sums() const;
	mrc_counters own_counters() const;
	u64 own_memory() const;
	u64 in_use() const;

	Peers *peers_;
	World world_;
	u32 first_ = 0; /* number of the first partition of this process */
	All all_;
	bool united_ = false;
	/* Of the other processes, known to the first one when it is over. */
	Totals other_totals_;
	LinkSums other_sums_;
	mrc_counters other_counters_{};
	u64 other_memory_ = 0, other_in_use_ = 0;
	std::vector<TraceLine> other_trace_;
	std::vector<Captured> other_captured_;
	std::vector<Fault> faults_;
	std::vector<std::unique_ptr<Partition>> parts_;
	std::priority_queue<Event, std::vector<Event>, std::greater<Event>>
		global_;
	Event done_{};	       /* all events before this one are over */
	bool bounded_ = false; /* run_alone() has not reached the bound */
	bool pending_ = false; /* run_side_by_side() has a bound */
	bool over_ = false;
	u64 stop_ = never_ps;	     /* ps, known when all flows are finished */
	u64 finished_at_ = never_ps; /* the last flow, before @stop_ */
	u64 global_now_ = 0, global_events_ = 0;
	u64 helpers_cpu_ = 0;
	std::vector<Sample> samples_;
	u64 next_sample_ = never_ps;
};
} // namespace mrcsim
