// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Senders, one switch port and receivers: engine against engine through a
// queue that marks, trims or drops. Deterministic.
#pragma once

#include "engine.hpp"
#include "model/link.hpp"
#include "model/qp.hpp"
#include "model/queue.hpp"
#include "model/time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace mrc_test
{

struct BottleneckPlan {
	unsigned flows = 1;
	const mrc_cc_ops *ops = &mrc_cc_nscc;
	mrc_nscc_cfg par{};
	bool trim = false; // what does not fit is trimmed, else dropped
	bool ecn = true;
	u32 pmtu = 4096;
	u32 msg = 1 << 20;     // bytes per work request
	u32 depth = 2;	       // work requests that wait or are under way
	u32 ps_per_byte = 800; // of the port and of each sender
	u64 rtt = 50000;       // ns, without queueing
	u32 queue = 250000;    // bytes
	u32 mark_from = 15000; // bytes: none marked up to here ...
	u32 mark_to = 60000;   // ... all from here, linear in between
	u32 mpr = 8;
	u64 rto = 4000000; // ns

	// Bytes per ns.
	double rate() const { return 1000.0 / ps_per_byte; }
};

class Bottleneck
{
public:
	struct Flow {
		mrc_model::Qp tx, rx; // a requester and its responder
		u64 start = 0, stop = ~0ull;
		u64 delivered = 0; // payload bytes placed
		mrc_model::Line line;
		u64 failed = 0;
		u32 max_out = 0;
	};

	mrc_counters ctr{};
	std::vector<std::unique_ptr<Flow>> flow;

	explicit Bottleneck(const BottleneckPlan &p)
		: plan_(p), time_(1000000, p.flows), rng_(12345),
		  port_({.rate = mrc_model::Rate(p.ps_per_byte),
			 .limit = p.queue,
			 .ecn = p.ecn,
			 .mark_from = p.mark_from,
			 .mark_to = p.mark_to,
			 .trim = p.trim})
	{
		ctr.n_ports = 1;
		for (unsigned i = 0; i < p.flows; i++)
			flow.push_back(make(i));
	}

	// Flows run from their start to their stop; until @end.
	void run(u64 end)
	{
		const auto event = [this](const Event &e) { dispatch(e); };
		const auto alarm = [this](u32 i) {
			mrc_req_on_deadline(&flow[i]->tx.req, now());
			pump(i);
		};

		for (u32 i = 0; !begun_ && i < flow.size(); i++)
			time_.at(flow[i]->start, {Event::Start, i, {}});
		begun_ = true;
		while (!::testing::Test::HasFatalFailure() &&
		       time_.step(end, event, alarm))
			;
		time_.pass(end);
	}

	u64 now() const { return time_.now(); }
	mrc_model::Queue &port() { return port_; }

	// Bytes delivered since the last call, per flow.
	std::vector<double> take()
	{
		std::vector<double> out;
		for (auto &f : flow) {
			out.push_back((double)f->delivered);
			f->delivered = 0;
		}
		return out;
	}

	u64 count(mrc_counter id) const { return counter(ctr, id); }

private:
	using Packet = mrc_model::HdrPacket;

	struct Event {
		enum Type { Start, Queue, Arrive, Feedback } type;
		u32 flow;
		Packet packet;
	};

	std::unique_ptr<Flow> make(unsigned i)
	{
		auto f = std::make_unique<Flow>();
		mrc_model::QpCfg c;

		c.paths.n_evs = 16;
		c.paths.n_ports = 1;
		c.paths.ipv6 = true;
		c.paths.min_active = 4;
		c.paths.seed = i + 1;
		c.paths.base_rtt = plan_.rtt;
		c.paths.rto = plan_.rto;
		c.algorithm = plan_.ops;
		c.cc.mtu = mrc_nominal_size(36, plan_.pmtu);
		c.cc.base_rtt = plan_.rtt;
		c.cc.line_rate = (u64)(plan_.rate() * 1e9);
		c.cc.trim_nack = plan_.trim;
		c.cc.max_pkts = MRC_CC_WINDOW_PKTS(plan_.mpr * MRC_MPR_UNIT);
		c.cc.nscc = &plan_.par;
		c.cc.now = now();
		c.req.sq_depth = plan_.depth;
		c.req.pmtu = plan_.pmtu;
		c.req.mpr = (u16)plan_.mpr;
		c.req.max_wimm = 8;
		c.req.sq_psn = 0xFFFF00; // wraps soon
		c.req.qpn = 100 + i;
		c.req.dqpn = 200 + i;
		c.req.pkey = 0xFFFF;
		c.req.rto = plan_.rto;
		c.req.linear_cnt = 3;
		c.req.exp_cnt = 7;
		c.req.base_rtt = plan_.rtt;
		c.req.use_ts = true;
		c.req.trim_nack = plan_.trim;
		c.req.ctr = &ctr;
		c.resp.pmtu = plan_.pmtu;
		c.resp.mpr = (u16)plan_.mpr;
		c.resp.max_wimm = 8;
		c.resp.rq_psn = c.req.sq_psn;
		c.resp.qpn = c.req.dqpn;
		c.resp.dqpn = c.req.qpn;
		c.resp.pkey = 0xFFFF;
		c.resp.remote_write = true;
		c.resp.trim_nack = plan_.trim;
		c.resp.base_rtt = plan_.rtt;
		c.resp.ctr = &ctr;
		c.resp_paths = false;
		c.responder = false;
		EXPECT_TRUE(f->tx.init(c));
		c.responder = true;
		c.requester = false;
		EXPECT_TRUE(f->rx.init(c));
		return f;
	}

	void dispatch(const Event &e)
	{
		switch (e.type) {
		case Event::Start:
			pump(e.flow);
			break;
		case Event::Queue:
			queue(e.flow, e.packet);
			break;
		case Event::Arrive:
			arrive(e.flow, e.packet);
			break;
		case Event::Feedback:
			feedback(e.flow, e.packet);
			break;
		}
	}

	struct Sender {
		Bottleneck &net;
		u32 i;

		void completed(u32, mrc_wc_status status)
		{
			net.flow[i]->failed += status != MRC_WC_SUCCESS;
		}

		bool next(mrc_wr &wr)
		{
			wr.op = MRC_WR_WRITE;
			wr.rkey = 1;
			wr.len = net.plan_.msg;
			return net.now() < net.flow[i]->stop;
		}

		void send(const mrc_tx_desc &d)
		{
			Flow &f = *net.flow[i];
			const Packet p(d);
			const mrc_model::Rate rate(net.plan_.ps_per_byte);
			const u64 out = f.line.take(net.now(), rate.ns(p.size));

			f.max_out = std::max(f.max_out, f.tx.req.n_out);
			net.time_.at(out + net.plan_.rtt / 4,
				     {Event::Queue, i, p});
		}
	};

	struct Receiver {
		Bottleneck &net;
		u32 i;

		u32 receives() const { return 0; }
		u8 deliver(const mrc_recv_msg &) { return 0; }

		u8 place(const mrc_rx &rx)
		{
			net.flow[i]->delivered += rx.hdr->payload_len;
			return 0;
		}

		// Feedback has a way of its own that is never busy.
		void send(const mrc_tx_desc &d)
		{
			net.time_.at(net.now() + net.plan_.rtt / 2,
				     {Event::Feedback, i, Packet(d)});
		}
	};

	void pump(u32 i)
	{
		mrc_model::Qp &tx = flow[i]->tx;

		tx.pump(now(), Sender{*this, i});
		time_.alarm(i, mrc_req_deadline(&tx.req));
	}

	void queue(u32 i, Packet p)
	{
		u64 at;

		if (port_.offer(p, p.size, now(), rng_, &at) !=
		    mrc_model::Queue::Fate::Dropped)
			time_.at(at + plan_.rtt / 4, {Event::Arrive, i, p});
	}

	void arrive(u32 i, const Packet &p)
	{
		flow[i]->rx.receive(p.rx(p.hdr, 0), now(), Receiver{*this, i});
	}

	void feedback(u32 i, const Packet &p)
	{
		mrc_model::Qp &tx = flow[i]->tx;

		tx.feedback(p.hdr, 1, now());
		const char *bad = mrc_req_check(&tx.req);
		ASSERT_EQ(bad, nullptr) << bad;
		pump(i);
	}

	const BottleneckPlan plan_;
	mrc_model::Time<Event> time_;
	mrc_model::Rng rng_;
	mrc_model::Queue port_;
	bool begun_ = false;
};

inline double jain(const std::vector<double> &x)
{
	double sum = 0, squares = 0;

	for (double v : x) {
		sum += v;
		squares += v * v;
	}
	return squares > 0 ? sum * sum / ((double)x.size() * squares) : 0;
}

inline double total(const std::vector<double> &x)
{
	double sum = 0;

	for (double v : x)
		sum += v;
	return sum;
}

constexpr u64 kMs = 1000000;
// Of the bytes on the wire, payload is 4096 / 4226.
constexpr double kFull = 4096.0 / 4226;

struct Result {
	double used; // share of what the port could carry
	double jain;
	double least; // shares of the fair share
	double most;
	double queue; // average, bytes
};

inline Result measure(Bottleneck &b, double rate, u64 ns)
{
	b.take();
	b.port().reset(b.now());
	b.run(b.now() + ns);
	const auto x = b.take();
	const double fair = total(x) / (double)x.size();
	return {total(x) / (rate * (double)ns * kFull), jain(x),
		*std::min_element(x.begin(), x.end()) / fair,
		*std::max_element(x.begin(), x.end()) / fair,
		b.port().average(b.now())};
}

inline void expect_alive(Bottleneck &b)
{
	for (auto &f : b.flow) {
		EXPECT_EQ(f->tx.req.state, MRC_REQ_READY);
		EXPECT_EQ(f->failed, 0u);
	}
}

} // namespace mrc_test
