// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Senders, one switch port and receivers: engine against engine through a
// queue that marks, trims or drops. Deterministic.
#pragma once

#include "engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
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
	double rate = 1.25;    // bytes per ns, of the port and of each sender
	u64 rtt = 50000;       // ns, without queueing
	u32 queue = 250000;    // bytes
	u32 mark_from = 15000; // bytes: none marked up to here ...
	u32 mark_to = 60000;   // ... all from here, linear in between
	u32 mpr = 8;
};

class Bottleneck
{
public:
	struct Flow {
		mrc_req req{};
		mrc_paths paths{};
		mrc_cc cc{};
		mrc_resp resp{};
		EngineMem req_mem, paths_mem, resp_mem;
		u64 start = 0, stop = ~0ull;
		u64 delivered = 0; // payload bytes placed
		u64 line_free = 0; // when its own link is idle
		u64 timer = MRC_NEVER;
		u64 failed = 0;
		u32 max_out = 0;
	};

	mrc_counters ctr{};
	std::vector<std::unique_ptr<Flow>> flow;
	u64 now = 1000000;
	// Of the port.
	u64 sent = 0, marked = 0, trimmed = 0, dropped = 0;
	u32 queue_max = 0;
	double queue_integral = 0; // bytes * ns

	explicit Bottleneck(const BottleneckPlan &p) : plan(p)
	{
		ctr.n_ports = 1;
		for (unsigned i = 0; i < plan.flows; i++)
			flow.push_back(make(i));
	}

	// Flows run from their start to their stop; until @end.
	void run(u64 end)
	{
		if (!begun) {
			begun = true;
			for (auto &f : flow)
				at(std::max(now, f->start),
				   [this, &f = *f] { pump(f); });
		}
		while (!events.empty() && events.top().time <= end) {
			// The queue owns what it gives away.
			Event e = events.top();
			events.pop();
			queue_integral +=
				(double)queued * (double)(e.time - now);
			now = e.time;
			e.what();
			if (::testing::Test::HasFatalFailure())
				return;
		}
		queue_integral += (double)queued * (double)(end - now);
		now = end;
	}

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

	void reset_port()
	{
		sent = marked = trimmed = dropped = 0;
		queue_max = 0;
		queue_integral = 0;
	}

	u64 count(mrc_counter id) const { return counter(ctr, id); }

private:
	struct Event {
		u64 time;
		u64 order;
		std::function<void()> what;
		bool operator<(const Event &o) const
		{
			return time != o.time ? time > o.time : order > o.order;
		}
	};
	struct Packet {
		mrc_hdr hdr;
		u32 entropy;
		u32 size;
		bool ce;
	};

	BottleneckPlan plan;
	std::priority_queue<Event> events;
	u64 order = 0;
	bool begun = false;
	u32 queued = 0;	   // bytes in the port
	u64 port_free = 0; // when it will have sent them
	u32 lottery = 12345;

	void at(u64 time, std::function<void()> what)
	{
		events.push({time, order++, std::move(what)});
	}

	std::unique_ptr<Flow> make(unsigned i)
	{
		auto f = std::make_unique<Flow>();
		mrc_paths_cfg pc{};
		mrc_cc_cfg cc{};
		mrc_req_cfg qc{};
		mrc_resp_cfg rc{};

		pc.n_evs = 16;
		pc.n_ports = 1;
		pc.ipv6 = true;
		pc.min_active = 4;
		pc.seed = i + 1;
		pc.base_rtt = plan.rtt;
		pc.rto = 4000000;
		f->paths_mem = EngineMem(mrc_paths_mem(&pc));
		EXPECT_EQ(mrc_paths_init(&f->paths, &pc, f->paths_mem.get()),
			  0);
		cc.mtu = mrc_nominal_size(36, plan.pmtu);
		cc.base_rtt = plan.rtt;
		cc.line_rate = (u64)(plan.rate * 1e9);
		cc.trim_nack = plan.trim;
		cc.max_pkts = MRC_CC_WINDOW_PKTS(plan.mpr * MRC_MPR_UNIT);
		cc.nscc = &plan.par;
		cc.now = now;
		mrc_cc_init(&f->cc, plan.ops, &cc);
		qc.sq_depth = plan.depth;
		qc.pmtu = plan.pmtu;
		qc.mpr = (u16)plan.mpr;
		qc.max_wimm = 8;
		qc.sq_psn = 0xFFFF00; // wraps soon
		qc.qpn = 100 + i;
		qc.dqpn = 200 + i;
		qc.pkey = 0xFFFF;
		qc.rto = 4000000;
		qc.linear_cnt = 3;
		qc.exp_cnt = 7;
		qc.base_rtt = plan.rtt;
		qc.use_ts = true;
		qc.trim_nack = plan.trim;
		qc.ctr = &ctr;
		f->req_mem = EngineMem(mrc_req_mem(&qc));
		EXPECT_EQ(mrc_req_init(&f->req, &qc, &f->paths, &f->cc,
				       f->req_mem.get()),
			  0);
		rc.pmtu = plan.pmtu;
		rc.mpr = (u16)plan.mpr;
		rc.max_wimm = 8;
		rc.rq_psn = qc.sq_psn;
		rc.qpn = qc.dqpn;
		rc.dqpn = qc.qpn;
		rc.pkey = 0xFFFF;
		rc.remote_write = true;
		rc.trim_nack = plan.trim;
		rc.base_rtt = plan.rtt;
		rc.ctr = &ctr;
		f->resp_mem = EngineMem(mrc_resp_mem(&rc));
		EXPECT_EQ(mrc_resp_init(&f->resp, &rc, nullptr,
					f->resp_mem.get()),
			  0);
		return f;
	}

	void pump(Flow &f)
	{
		mrc_tx_desc d;
		mrc_wc_status status;
		u32 slot;

		while (mrc_req_reap(&f.req, &slot, &status))
			f.failed += status != MRC_WC_SUCCESS;
		while (now < f.stop && mrc_req_can_post(&f.req)) {
			mrc_wr wr{};
			wr.op = MRC_WR_WRITE;
			wr.rkey = 1;
			wr.len = plan.msg;
			ASSERT_GE(mrc_req_post(&f.req, &wr, now), 0);
		}
		while (mrc_req_next(&f.req, now, &d) == MRC_TX_PACKET) {
			Packet p{d.hdr, d.entropy, wire(d), false};
			f.max_out = std::max(f.max_out, f.req.n_out);
			f.line_free = std::max(f.line_free, now) +
				      (u64)(p.size / plan.rate);
			at(f.line_free + plan.rtt / 4,
			   [this, &f, p] { enqueue(f, p); });
		}
		arm(f);
	}

	void arm(Flow &f)
	{
		const u64 due = mrc_req_deadline(&f.req);

		if (due == MRC_NEVER || due >= f.timer)
			return;
		f.timer = std::max(due, now + 1);
		at(f.timer, [this, &f] {
			if (now < f.timer)
				return;
			f.timer = MRC_NEVER;
			mrc_req_on_deadline(&f.req, now);
			pump(f);
		});
	}

	static u32 wire(const mrc_tx_desc &d)
	{
		return mrc_nominal_size(d.hdr.hdr_len, d.data ? d.len : 0) + 38;
	}

	bool chance(double share)
	{
		lottery = lottery * 1664525 + 1013904223;
		return lottery / 4294967296.0 < share;
	}

	void enqueue(Flow &f, Packet p)
	{
		sent++;
		if (queued + p.size > plan.queue) {
			if (!plan.trim || p.hdr.opcode == MRC_OP_PROBE) {
				dropped++;
				return;
			}
			// Strict priority: past the queue.
			trimmed++;
			at(now + plan.rtt / 4,
			   [this, &f, p] { arrive(f, p, MRC_TRIM_LASTHOP); });
			return;
		}
		if (plan.ecn &&
		    chance((queued - (double)plan.mark_from) /
			   ((double)plan.mark_to - plan.mark_from))) {
			p.ce = true;
			marked++;
		}
		queued += p.size;
		queue_max = std::max(queue_max, queued);
		port_free =
			std::max(port_free, now) + (u64)(p.size / plan.rate);
		at(port_free, [this, &f, p] {
			queued -= p.size;
			at(now + plan.rtt / 4,
			   [this, &f, p] { arrive(f, p, MRC_TRIM_NONE); });
		});
	}

	void arrive(Flow &f, const Packet &p, u8 trim)
	{
		mrc_rx rx{};
		mrc_tx_desc d;

		rx.hdr = &p.hdr;
		rx.entropy = p.entropy;
		rx.port = 1;
		rx.ce = p.ce;
		rx.trim = trim;
		if (p.hdr.opcode == MRC_OP_PROBE) {
			mrc_resp_on_probe(&f.resp, &rx, now);
		} else if (mrc_resp_on_data(&f.resp, &rx, now) ==
			   MRC_RX_PLACE) {
			mrc_resp_placed(&f.resp, &rx, 0);
			f.delivered += p.hdr.payload_len;
		}
		// Feedback has a way of its own that is never busy.
		while (mrc_resp_next_feedback(&f.resp, now, &d))
			at(now + plan.rtt / 2,
			   [this, &f, h = d.hdr] { feedback(f, h); });
	}

	void feedback(Flow &f, const mrc_hdr &h)
	{
		if (h.opcode == MRC_OP_SACK)
			mrc_req_on_sack(&f.req, &h, 1, now);
		else if (h.opcode == MRC_OP_NACK)
			mrc_req_on_nack(&f.req, &h, 1, now);
		else
			mrc_req_on_ack(&f.req, &h, 1, now);
		const char *bad = mrc_req_check(&f.req);
		ASSERT_EQ(bad, nullptr) << bad;
		pump(f);
	}
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

} // namespace mrc_test
