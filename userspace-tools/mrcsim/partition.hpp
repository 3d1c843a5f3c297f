/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: a part of the fabric with its hosts, and the events between them.
 * Time is in ps. The engines of the queue pairs get ns, rounded down, from an
 * origin that is not 0.
 *
 * A host asks its engines for packets only while its ports have room. A queue
 * pair that may have something to send waits in the host's list; one packet is
 * taken from each in turn.
 */
#pragma once

#include <memory>
#include <vector>

#include "record.hpp"
#include "world.hpp"

namespace mrcsim
{
class Partition
{
public:
	Partition(World &world, u32 number);
	Partition(const Partition &) = delete;
	Partition &operator=(const Partition &) = delete;

	/* Events before this one are due. */
	void set_bound(const Event &e) { bound_ = e; }
	/* It comes down when the only partition has finished all flows. */
	const Event &bound() const { return bound_; }
	/* Up to @most events before the bound. How many there were. */
	u64 run(u64 most);
	/* What other partitions have sent. */
	void collect();

	u64 now() const { return now_; }
	u64 earliest() const { return events_.earliest(); }
	/* When the flow that finished last did so; 0: none has. */
	u64 last_end() const { return last_end_; }
	const Totals &totals() const { return totals_; }
	const LinkSums &sums() const { return queues_.sums; }
	const mrc_counters &counters() const { return *ctr_; }
	/* NULL: nothing is recorded. */
	const Recorder *recorder() const { return recorder_.get(); }
	u64 in_use() const { return queues_.in_use(); }
	/* Bytes that wait for PFC before direction @id. */
	u64 waiting(u32 id) const { return queues_.waiting(id); }
	/* Bytes that are allocated. */
	u64 memory() const
	{
		return events_.memory() + queues_.memory() + maker_.memory() +
		       sizeof(mrc_counters) + order_.capacity() * sizeof(u32) +
		       (recorder_ ? recorder_->memory() : 0);
	}
	/* Between turns only; @now: ps. */
	void set_now(u64 now) { now_ = now; }
	/* The ports of @host that are up have changed. */
	void ports_changed(u32 host, u32 up);
	/* The peer of @host, which has one end of the queue pair, has told its
	 * ports. */
	void peer_ports(u32 qp, u32 host, u32 up);

	static u64 engine_time(u64 ps) { return ps / 1000 + origin; }

private:
	static constexpr u64 origin = 1'000'000; /* ns */

	void look_ahead() const;
	void happen(const Event &e);
	void arrive(u32 link, u32 cls);
	void receive(u32 p);
	void to_requester(u32 qp, u32 p, const mrc_hdr &h);
	void to_responder(u32 qp, u32 p, const mrc_hdr &h);
	void make_receiver(u32 qp);
	void feedback(u32 qp);
	void reverse_probe(u32 qp);
	void answer_probe(u32 qp, const Packet &k, const mrc_hdr &h);
	void placed(const Packet &k);

	void leave(u32 src, u32 p);
	u64 room_at(u32 host) const;
	void inject(u32 qp, u32 src, u32 dst, const mrc_tx_desc &d,
		    const PathMap &map, u32 &walk, u32 flow = 0);

	bool send(u32 qp);
	void make_ready(u32 qp);
	void pull(u32 host);
	void arm(u32 qp);
	void timer(u32 qp, u64 at);
	void reap(u32 qp);
	void finish(u32 qp, u32 flow, bool failed);
	void post(u32 qp);
	void end(u32 qp);
	void close(u32 qp);

	/* host_roce.cpp */
	void roce_inject(u32 qp, u32 src, u32 dst, u32 p, u32 len);
	bool roce_send(u32 qp);
	void roce_arm(u32 qp);
	void roce_timer(u32 qp, u64 at);
	void roce_post(u32 qp);
	void roce_receive(const Packet &k);
	void roce_to_receiver(const Packet &k);
	void roce_answer(u32 qp, u8 opcode, u32 psn);
	void departed(u32 link);
	bool may_leave(u32 host) const;

	void start_due();
	void start(u32 flow);
	void begin(u32 flow);
	void fire(u32 trigger);
	bool fires_now(u32 trigger);
	void calculate(u32 trigger);

	World &world_;
	const Settings &settings_;
	const Traffic &traffic_;
	const Routes &routes_;
	Qp *const qps_;
	Host *const hosts_;
	FlowState *const flows_;
	EventList events_;
	Queues queues_;
	QpMaker maker_;
	std::unique_ptr<mrc_counters> ctr_;
	std::unique_ptr<Recorder> recorder_;

	u64 now_ = 0;
	Event bound_{};
	u64 last_end_ = 0;
	std::vector<u32> order_; /* flows in the order of their starts */
	std::size_t next_start_ = 0;
	std::vector<u32> firing_; /* triggers, while fire() works */
	Totals totals_;
	u64 nic_wait_; /* ps that a packet may wait in a NIC, per port */
	u32 number_;
	bool roce_;  /* queue pairs are those of roce.hpp */
	bool pfc_;   /* of the data of these */
	bool alone_; /* there is no other partition */
};
} // namespace mrcsim
