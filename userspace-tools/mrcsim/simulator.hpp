/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: a fabric with its hosts and queue pairs, and the events between them.
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

#include "link.hpp"
#include "qp.hpp"
#include "settings.hpp"
#include "traffic.hpp"

namespace mrcsim
{
constexpr u64 never_ps = ~0ull;

/* What became of a flow. */
struct FlowState {
	u64 began = never_ps;	 /* ps */
	u64 ended = never_ps;	 /* the sender has the last ACK */
	u64 received = never_ps; /* all of it */
	u64 bytes = 0;		 /* placed at the receiver */
	u64 offsets = 0;	 /* the sum of the offsets of what was placed */
	u32 next = ~0u;		 /* the next one of its connection */
	bool failed = false;
};

/* State at a moment; sums since the start. */
struct Sample {
	u64 at = 0;	/* ps */
	u64 placed = 0; /* bytes of payload */
	u64 resent = 0, trimmed = 0, dropped = 0, marked = 0;
	u64 finished = 0; /* flows */
};

struct Totals {
	u64 events = 0;
	u64 data = 0;	/* packets with payload that hosts sent */
	u64 resent = 0; /* of these: again */
	u64 control = 0, probes = 0;
	u64 injected = 0, delivered = 0; /* packets of all kinds */
	u64 delivered_trimmed = 0;
	u64 placed = 0; /* bytes */
	u64 stale = 0;	/* packets for queue pairs that have ended */
	u64 finished = 0, failed = 0; /* flows */
};

class Simulator
{
public:
	/*
	 * Throws mrclab::UsageError for what does not fit together. @traffic
	 * and
	 * @faults are kept.
	 */
	Simulator(const Shape &shape, const Settings &settings,
		  const Traffic &traffic, std::vector<Fault> faults);
	Simulator(const Simulator &) = delete;
	Simulator &operator=(const Simulator &) = delete;

	/* Up to @events events. False: the simulation is over. */
	bool run(u64 events);

	u64 now() const { return now_; }
	const Totals &totals() const { return totals_; }
	const Shape &shape() const { return shape_; }
	const Settings &settings() const { return settings_; }
	const Derived &derived() const { return derived_; }
	const Traffic &traffic() const { return traffic_; }
	const std::vector<FlowState> &flows() const { return flows_; }
	const std::vector<Sample> &samples() const { return samples_; }
	const Links &links() const { return links_; }
	u64 counter(mrc_counter id) const;

	/* Of all deliveries: time, queue pair, PSN, EV. */
	u64 digest() const;
	/* Empty, or which packets or bytes are missing. */
	std::string check() const;

private:
	static constexpr u32 nobody = ~0u;

	struct Qp {
		Sender *tx = nullptr;
		Receiver *rx = nullptr;
		u64 timer = never_ps; /* of its event */
		u32 src = 0, dst = 0;
		u32 next_ready = nobody;
		u32 first = nobody, last = nobody; /* flows not yet posted */
		u32 left = 0; /* flows that are not finished */
		bool ready = false;
		bool ended = false;
	};

	struct Host {
		u64 clear = 0; /* ps: from here on its ports have room */
		u64 wake = never_ps;
		u64 digest = 0;
		u32 first = nobody, last = nobody; /* ready queue pairs */
		u32 ports = 0;			   /* bit N = port N is up */
		u32 probe_count = 0;
	};

	static u64 engine_time(u64 ps) { return ps / 1000 + origin; }
	static constexpr u64 origin = 1'000'000; /* ns */

	u32 host_up(u32 host, u32 port) const
	{
		return (port - 1) * plane_links_ + host;
	}
	u32 t0_of(u32 host) const
	{
		return static_cast<u32>(host * t0_magic_ >> 40);
	}
	u32 pod_of(u32 t0) const
	{
		return static_cast<u32>(t0 * pod_magic_ >> 40);
	}

	void look_ahead() const;
	void happen(const Event &e);
	/* The link that @k takes after link @id, which does not lead to a host.
	 */
	u32 next_link(const Link &l, const Packet &k) const;
	void arrive(u32 link, u32 cls);
	void receive(u32 p);
	void to_requester(u32 qp, const Packet &k, const mrc_hdr &h);
	void to_responder(u32 qp, const Packet &k, const mrc_hdr &h);
	void feedback(u32 qp);
	void reverse_probe(u32 qp);
	void answer_probe(u32 qp, const Packet &k, const mrc_hdr &h);
	void placed(Qp &q, const Packet &k);

	void inject(u32 qp, u32 src, u32 dst, const mrc_tx_desc &d,
		    const PathMap &map, u32 &walk);
	u32 step(const PathMap &map, u32 src, u32 walk) const;
	void choose(u32 src, u32 dst, const mrc_tx_desc &d, const PathMap &map,
		    u32 &walk, Packet &k) const;

	void make_ready(u32 qp);
	void pull(u32 host);
	void arm(u32 qp);
	void timer(u32 qp, u64 at);
	void reap(u32 qp);
	void post(u32 qp);
	void end(u32 qp);

	void start_due();
	void start(u32 flow);
	void fire(u32 trigger);
	void fault(std::size_t n);
	void ports_changed(u32 host);
	void news(u32 host);
	void sample(u64 until);

	Shape shape_;
	Settings settings_;
	Derived derived_;
	const Traffic &traffic_;
	std::vector<Fault> faults_;
	EventList events_;
	Links links_;
	QpMaker maker_;
	std::unique_ptr<mrc_counters> ctr_;

	u64 now_ = 0;
	std::vector<Qp> qps_;
	std::vector<Host> hosts_;
	std::vector<FlowState> flows_;
	std::vector<u32> fired_; /* by trigger */
	std::vector<u32> order_; /* flows in the order of their starts */
	std::size_t next_start_ = 0;
	std::vector<Sample> samples_;
	u64 next_sample_ = never_ps;
	Totals totals_;

	u32 plane_links_;
	u32 at_[kinds]; /* first direction of each kind in a plane */
	u32 uplinks_, t1_of_pod_, t1_uplinks_, path_count_;
	u64 t0_magic_, pod_magic_;
	u64 nic_wait_; /* ps that a packet may wait in a port of a NIC */
	bool srv6_, three_;
};

/* Bytes that a run takes at most, before it is made. */
u64 planned_memory(const Shape &shape, const Settings &s,
		   const Traffic &traffic);
} // namespace mrcsim
