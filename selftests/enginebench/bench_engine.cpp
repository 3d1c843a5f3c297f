// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What a packet costs the engine: requester and responder of one QP in one
// process, whose processor time is taken apart, with everything that the shell
// calls for a packet but payload and ICRC. The wire between them can lose and
// reorder.
//
// A benchmark is called SIDE/cc/EVs/ports/loss/reordering, the last two per
// mille of the data packets, and for other messages than WRITEs of 64 KiB over
// one QP /operation/bytes/QPs. ns_per_pkt is the time of that side for one data
// packet sent, feedback included.
#include "mrc_core.h"

#include "model/link.hpp"
#include "model/qp.hpp"
#include "model/time.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace
{

using mrc_model::QpCfg;
using Packet = mrc_model::HeadPacket;

constexpr u32 kPmtu = 4096;
constexpr u32 kMsg = 65536;
constexpr u32 kBurst = 16; // packets of a QP in a row
constexpr u32 kDepth = 128;
constexpr u64 kPktNs = 330; // 4 KiB at 100 Gbit/s

struct Shape {
	const mrc_cc_ops *cc;
	u16 evs;
	u8 ports;
	u32 loss;    // per mille
	u32 reorder; // per mille
	u8 op = MRC_WR_WRITE;
	u32 msg = kMsg;
	u32 qps = 1;
};

void must(bool ok, const char *what)
{
	if (!ok)
		throw std::runtime_error(what);
}

// Of this thread: what others do on the machine does not count.
double cpu_seconds()
{
	timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return static_cast<double>(t.tv_sec) +
	       static_cast<double>(t.tv_nsec) * 1e-9;
}

mrc_hdr parse(const Packet &p)
{
	mrc_hdr h;

	must(p.parse(h) == MRC_DROP_NONE, "bad packet");
	return h;
}

mrc_paths_cfg paths_cfg(const Shape &s, u64 seed, mrc_counters *ctr)
{
	mrc_paths_cfg cfg{};

	cfg.n_evs = s.evs;
	cfg.n_ports = s.ports;
	cfg.ipv6 = true;
	cfg.base_rtt = MRC_BASE_RTT_DEFAULT;
	cfg.seed = seed;
	cfg.ctr = ctr;
	return cfg;
}

class Requester
{
public:
	explicit Requester(const Shape &s) : shape_(s)
	{
		mrc_hdr hdr{};
		QpCfg c;

		ctr_.n_ports = s.ports;
		c.paths = paths_cfg(s, 1, &ctr_);
		c.req.sq_depth = kDepth;
		c.req.pmtu = kPmtu;
		c.req.mpr = 8;
		c.req.max_wimm = MRC_WIMM_DEFAULT;
		c.req.qpn = 0x11;
		c.req.dqpn = 0x22;
		c.req.pkey = 0xFFFF;
		c.req.rto = 67000000;
		c.req.linear_cnt = 7;
		c.req.exp_cnt = MRC_RETRY_EXP_INFINITE;
		c.req.use_ts = true;
		c.req.ext = s.op != MRC_WR_WRITE;
		c.req.ctr = &ctr_;
		hdr.opcode = MRC_OP_WRITE_ONLY;
		hdr.ts = true;
		c.algorithm = s.cc;
		c.cc.mtu = mrc_nominal_size(mrc_hdr_len(&hdr), kPmtu);
		c.cc.max_pkts = MRC_CC_WINDOW_PKTS(c.req.mpr * 128);
		c.cc.base_rtt = MRC_BASE_RTT_DEFAULT;
		c.cc.line_rate = s.cc->has_params ? 12500000000ull : 0;
		c.cc.now = now;
		c.responder = false;
		must(qp_.init(c), "requester");
	}
	Requester(const Requester &) = delete;

	// Whatever may be posted and sent now.
	void run(std::vector<Packet> *wire)
	{
		qp_.pump(now, User{*this, wire});
		benchmark::DoNotOptimize(mrc_req_deadline(&qp_.req));
	}

	void feedback(const Packet &p, std::vector<Packet> *wire)
	{
		qp_.feedback(parse(p), p.port, now);
		run(wire);
	}

	// Nothing is under way: go to where the engine wants to be called.
	void expire(std::vector<Packet> *wire)
	{
		const u64 at = mrc_req_deadline(&qp_.req);

		must(at != MRC_NEVER, "stuck");
		now = std::max(now, at);
		mrc_req_on_deadline(&qp_.req, now);
		run(wire);
	}

	u64 sent() const { return qp_.req.stat_pkts; }
	u64 resent() const { return qp_.req.stat_rtx; }

	u64 now = 1000000;
	u64 done = 0; // messages

private:
	struct User {
		Requester &r;
		std::vector<Packet> *wire;

		void completed(u32, mrc_wc_status status)
		{
			must(status == MRC_WC_SUCCESS, "failed");
			r.done++;
		}

		bool next(mrc_wr &wr)
		{
			wr.op = r.shape_.op;
			wr.rkey = 1;
			wr.va = 0x1000;
			wr.len = r.shape_.msg;
			return true;
		}

		void send(const mrc_tx_desc &d) { wire->emplace_back(d); }
	};

	mrc_counters ctr_{};
	const Shape shape_;
	mrc_model::Qp qp_;
};

class Responder
{
public:
	explicit Responder(const Shape &s)
	{
		QpCfg c;

		ctr_.n_ports = s.ports;
		c.paths = paths_cfg(s, 2, &ctr_);
		c.resp.pmtu = kPmtu;
		c.resp.mpr = 8;
		c.resp.max_wimm = MRC_WIMM_DEFAULT;
		c.resp.qpn = 0x22;
		c.resp.dqpn = 0x11;
		c.resp.pkey = 0xFFFF;
		c.resp.remote_write = true;
		c.resp.trim_nack = true;
		c.resp.late_stash = true;
		c.resp.ext = s.op != MRC_WR_WRITE;
		c.resp.base_rtt = MRC_BASE_RTT_DEFAULT;
		c.resp.seed = 3;
		c.resp.ctr = &ctr_;
		c.requester = false;
		must(qp_.init(c), "responder");
	}
	Responder(const Responder &) = delete;

	void data(const Packet &p, u64 now, std::vector<Packet> *wire)
	{
		const mrc_hdr h = parse(p);

		qp_.receive(p.rx(h, now), now, User{wire});
		must(!mrc_resp_failed(&qp_.resp), "responder failed");
	}

private:
	struct User {
		std::vector<Packet> *wire;

		u32 receives() const { return kDepth; }
		u8 place(const mrc_rx &) { return 0; }
		u8 deliver(const mrc_recv_msg &) { return 0; }
		void send(const mrc_tx_desc &d) { wire->emplace_back(d); }
	};

	mrc_counters ctr_{};
	mrc_model::Qp qp_;
};

// What a link does to a batch of data packets: some are lost, some fall back
// behind up to 15 others.
class Wire
{
public:
	explicit Wire(const Shape &s)
		: faults_({.loss = s.loss * 1000}),
		  way_({.detour_ppm = s.reorder * 1000,
			.detour = kPktNs,
			.detour_max = 15 * kPktNs})
	{
	}

	void pass(std::vector<Packet> *batch)
	{
		u64 left = time_.now();

		for (Packet &p : *batch) {
			left += kPktNs;
			if (!faults_.lost(p, rng_))
				time_.at(left + way_.time(rng_), p);
		}
		batch->clear();
		while (time_.step(
			MRC_NEVER,
			[batch](const Packet &p) { batch->push_back(p); },
			[](u32) {}))
			;
	}

private:
	mrc_model::Faults faults_;
	mrc_model::Way way_;
	mrc_model::Time<Packet> time_{1};
	mrc_model::Rng rng_{7};
};

enum class Side { Requester, Responder };

// Both ends of a QP and what is under way.
struct Pair {
	explicit Pair(const Shape &s) : req(s), resp(s), link(s)
	{
		data.reserve(1024);
		fb.reserve(1024);
		req.run(&data);
	}

	Requester req;
	Responder resp;
	Wire link;
	std::vector<Packet> data, fb, now;
};

template <typename F> double timed(F &&what)
{
	const double from = cpu_seconds();

	what();
	return cpu_seconds() - from;
}

// All data arrive, then all feedback does. With several QPs as interrupts
// bring them, in bursts of one QP after the other.
std::pair<double, double> round(std::vector<std::unique_ptr<Pair>> &pairs)
{
	std::size_t most = 0;

	for (auto &p : pairs) {
		p->now.swap(p->data);
		p->data.clear();
		p->link.pass(&p->now);
		most = std::max(most, p->now.size());
	}
	for (auto &p : pairs)
		p->req.now += kPktNs * (most * pairs.size() + 1);

	const double s = timed([&] {
		for (std::size_t at = 0; at < most; at += kBurst)
			for (auto &p : pairs)
				for (std::size_t i = at;
				     i < std::min(at + kBurst, p->now.size());
				     i++)
					p->resp.data(p->now[i], p->req.now,
						     &p->fb);
	});
	const double r = timed([&] {
		for (auto &p : pairs) {
			for (const Packet &f : p->fb)
				p->req.feedback(f, &p->data);
			if (p->fb.empty())
				p->req.expire(&p->data);
		}
	});

	for (auto &p : pairs)
		p->fb.clear();
	return {r, s};
}

struct Totals {
	u64 sent = 0, resent = 0, done = 0;
};

Totals totals(const std::vector<std::unique_ptr<Pair>> &pairs)
{
	Totals t;

	for (const auto &p : pairs) {
		t.sent += p->req.sent();
		t.resent += p->req.resent();
		t.done += p->req.done;
	}
	return t;
}

void bench(benchmark::State &state, Side side, Shape shape)
{
	std::vector<std::unique_ptr<Pair>> pairs;
	double total = 0;

	for (u32 i = 0; i < shape.qps; i++)
		pairs.push_back(std::make_unique<Pair>(shape));
	// Windows open, caches fill.
	for (u32 i = 0; i < 1000 / shape.qps + 10; i++)
		round(pairs);
	const Totals before = totals(pairs);
	for ([[maybe_unused]] auto _ : state) {
		const auto [r, s] = round(pairs);
		const double t = side == Side::Requester ? r : s;

		state.SetIterationTime(t);
		total += t;
	}
	const Totals after = totals(pairs);
	const auto pkts = static_cast<double>(after.sent - before.sent);
	must(!state.iterations() || after.done > before.done || pkts < 64,
	     "no message was completed");
	state.counters["pkts"] = pkts;
	state.counters["ns_per_pkt"] = pkts > 0 ? total * 1e9 / pkts : 0;
	state.counters["resent"] =
		pkts > 0 ? static_cast<double>(after.resent - before.resent) /
				   pkts
			 : 0;
}

void add(const Shape &s)
{
	for (const Side side : {Side::Requester, Side::Responder}) {
		const std::string name =
			std::string(side == Side::Requester ? "requester/"
							    : "responder/") +
			s.cc->name + "/" + std::to_string(s.evs) + "/" +
			std::to_string(s.ports) + "/" + std::to_string(s.loss) +
			"/" + std::to_string(s.reorder) +
			(s.msg == kMsg ? std::string()
				       : (s.op == MRC_WR_SEND ? "/send/"
							      : "/write/") +
						 std::to_string(s.msg) + "/" +
						 std::to_string(s.qps));

		benchmark::RegisterBenchmark(name.c_str(), bench, side, s)
			->UseManualTime();
	}
}

} // namespace

int main(int argc, char **argv)
{
	for (const mrc_cc_ops *cc : {&mrc_cc_none, &mrc_cc_vegas, &mrc_cc_nscc})
		add({cc, 64, 4, 0, 0});
	add({&mrc_cc_none, 8, 4, 0, 0});
	add({&mrc_cc_none, 256, 4, 0, 0});
	add({&mrc_cc_none, 64, 1, 0, 0});
	add({&mrc_cc_none, 64, 4, 0, 250});
	add({&mrc_cc_none, 64, 4, 10, 0});
	for (const u32 qps : {1U, 16U, 256U})
		for (const u8 op : {MRC_WR_WRITE, MRC_WR_SEND})
			add({&mrc_cc_nscc, 64, 4, 0, 0, op, 8, qps});
	benchmark::Initialize(&argc, argv);
	if (benchmark::ReportUnrecognizedArguments(argc, argv))
		return 1;
	benchmark::RunSpecifiedBenchmarks();
	benchmark::Shutdown();
	return 0;
}
