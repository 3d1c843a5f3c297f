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
#include "engine.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace
{

using mrc_test::EngineMem;

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

// A packet on the wire: its headers as built, and what the lower layers say.
struct Packet {
	std::array<u8, MRC_HDR_MAX> hdr;
	u32 len; // of the headers
	u32 payload;
	u32 entropy;
	u8 port;
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

Packet on_wire(const mrc_tx_desc &d)
{
	Packet p;

	p.len = mrc_hdr_build(&d.hdr, p.hdr.data(), p.hdr.size());
	p.payload = d.data ? d.len + d.hdr.pad : 0;
	p.entropy = d.entropy;
	p.port = d.port;
	return p;
}

mrc_hdr parse(const Packet &p)
{
	mrc_hdr h;

	must(mrc_hdr_parse(p.hdr.data(), p.len,
			   p.len + p.payload + MRC_ICRC_LEN,
			   &h) == MRC_DROP_NONE,
	     "bad packet");
	return h;
}

class Requester
{
public:
	explicit Requester(const Shape &s) : shape_(s)
	{
		mrc_paths_cfg pcfg{};
		mrc_cc_cfg ccfg{};
		mrc_req_cfg cfg{};
		mrc_hdr hdr{};

		ctr_.n_ports = s.ports;
		pcfg.n_evs = s.evs;
		pcfg.n_ports = s.ports;
		pcfg.ipv6 = true;
		pcfg.base_rtt = MRC_BASE_RTT_DEFAULT;
		pcfg.seed = 1;
		pcfg.ctr = &ctr_;
		pmem_ = EngineMem(mrc_paths_mem(&pcfg));
		must(!mrc_paths_init(&paths_, &pcfg, pmem_.get()), "paths");

		cfg.sq_depth = kDepth;
		cfg.pmtu = kPmtu;
		cfg.mpr = 8;
		cfg.max_wimm = MRC_WIMM_DEFAULT;
		cfg.qpn = 0x11;
		cfg.dqpn = 0x22;
		cfg.pkey = 0xFFFF;
		cfg.rto = 67000000;
		cfg.linear_cnt = 7;
		cfg.exp_cnt = MRC_RETRY_EXP_INFINITE;
		cfg.use_ts = true;
		cfg.ext = s.op != MRC_WR_WRITE;
		cfg.ctr = &ctr_;
		hdr.opcode = MRC_OP_WRITE_ONLY;
		hdr.ts = true;
		ccfg.mtu = mrc_nominal_size(mrc_hdr_len(&hdr), kPmtu);
		ccfg.max_pkts = MRC_CC_WINDOW_PKTS(cfg.mpr * 128);
		ccfg.base_rtt = MRC_BASE_RTT_DEFAULT;
		ccfg.line_rate = s.cc == &mrc_cc_none ? 0 : 12500000000ull;
		ccfg.now = now;
		mrc_cc_init(&cc_, s.cc, &ccfg);
		mem_ = EngineMem(mrc_req_mem(&cfg));
		must(!mrc_req_init(&req_, &cfg, &paths_, &cc_, mem_.get()),
		     "requester");
	}
	Requester(const Requester &) = delete;

	// Whatever may be posted and sent now.
	void run(std::vector<Packet> *wire)
	{
		const mrc_wr wr{.op = shape_.op,
				.se = false,
				.fence = false,
				.num = 0,
				.rkey = 1,
				.va = 0x1000,
				.len = shape_.msg,
				.imm = 0,
				.swap = 0,
				.compare = 0};
		mrc_wc_status status;
		mrc_tx_desc d;
		u32 slot;

		while (mrc_req_reap(&req_, &slot, &status)) {
			must(status == MRC_WC_SUCCESS, "failed");
			done++;
		}
		while (mrc_req_can_post(&req_))
			must(mrc_req_post(&req_, &wr, now) >= 0, "post");
		while (mrc_req_next(&req_, now, &d) == MRC_TX_PACKET)
			wire->push_back(on_wire(d));
		benchmark::DoNotOptimize(mrc_req_deadline(&req_));
	}

	void feedback(const Packet &p, std::vector<Packet> *wire)
	{
		const mrc_hdr h = parse(p);

		switch (h.opcode) {
		case MRC_OP_SACK:
			mrc_req_on_sack(&req_, &h, p.port, now);
			break;
		case MRC_OP_NACK:
			mrc_req_on_nack(&req_, &h, p.port, now);
			break;
		default:
			mrc_req_on_ack(&req_, &h, p.port, now);
			break;
		}
		run(wire);
	}

	// Nothing is under way: go to where the engine wants to be called.
	void expire(std::vector<Packet> *wire)
	{
		const u64 at = mrc_req_deadline(&req_);

		must(at != MRC_NEVER, "stuck");
		now = std::max(now, at);
		mrc_req_on_deadline(&req_, now);
		run(wire);
	}

	u64 sent() const { return req_.stat_pkts; }
	u64 resent() const { return req_.stat_rtx; }

	u64 now = 1000000;
	u64 done = 0; // messages

private:
	mrc_counters ctr_{};
	mrc_paths paths_{};
	mrc_cc cc_{};
	const Shape shape_;
	mrc_req req_{};
	EngineMem pmem_, mem_;
};

class Responder
{
public:
	explicit Responder(const Shape &s)
	{
		mrc_paths_cfg pcfg{};
		mrc_resp_cfg cfg{};

		ctr_.n_ports = s.ports;
		pcfg.n_evs = s.evs;
		pcfg.n_ports = s.ports;
		pcfg.ipv6 = true;
		pcfg.base_rtt = MRC_BASE_RTT_DEFAULT;
		pcfg.seed = 2;
		pcfg.ctr = &ctr_;
		pmem_ = EngineMem(mrc_paths_mem(&pcfg));
		must(!mrc_paths_init(&paths_, &pcfg, pmem_.get()), "paths");

		cfg.pmtu = kPmtu;
		cfg.mpr = 8;
		cfg.max_wimm = MRC_WIMM_DEFAULT;
		cfg.qpn = 0x22;
		cfg.dqpn = 0x11;
		cfg.pkey = 0xFFFF;
		cfg.remote_write = true;
		cfg.trim_nack = true;
		cfg.late_stash = true;
		cfg.ext = s.op != MRC_WR_WRITE;
		cfg.base_rtt = MRC_BASE_RTT_DEFAULT;
		cfg.seed = 3;
		cfg.ctr = &ctr_;
		mem_ = EngineMem(mrc_resp_mem(&cfg));
		must(!mrc_resp_init(&resp_, &cfg, &paths_, mem_.get()),
		     "responder");
	}
	Responder(const Responder &) = delete;

	void data(const Packet &p, u64 now, std::vector<Packet> *wire)
	{
		const mrc_hdr h = parse(p);
		mrc_rx rx{};
		mrc_tx_desc d;
		mrc_imm imm;
		u32 need;

		rx.hdr = &h;
		rx.entropy = p.entropy;
		rx.port = p.port;
		rx.at = now;
		if (mrc_resp_wants_stash(&resp_, &rx)) {
			stash_ = EngineMem(mrc_resp_stash_mem(&resp_.cfg));
			mrc_resp_set_stash(&resp_, stash_.get());
		}
		benchmark::DoNotOptimize(
			mrc_resp_wants_recv(&resp_, &rx, &need));
		if (h.opcode == MRC_OP_PROBE)
			mrc_resp_on_probe(&resp_, &rx, now);
		else if (mrc_resp_on_data(&resp_, &rx, now) == MRC_RX_PLACE)
			mrc_resp_placed(&resp_, &rx, 0);
		while (mrc_resp_next_imm(&resp_, &imm))
			mrc_resp_imm_done(&resp_, 0);
		if (mrc_resp_tells_recvs(&resp_))
			mrc_resp_set_recvs(&resp_, kDepth);
		while (mrc_resp_next_feedback(&resp_, now, &d))
			wire->push_back(on_wire(d));
		must(!mrc_resp_failed(&resp_), "responder failed");
	}

private:
	mrc_counters ctr_{};
	mrc_paths paths_{};
	mrc_resp resp_{};
	EngineMem pmem_, mem_, stash_;
};

// What a link does to a batch of data packets.
class Wire
{
public:
	explicit Wire(const Shape &s) : loss_(s.loss), reorder_(s.reorder) {}

	void pass(std::vector<Packet> *batch)
	{
		if (loss_)
			std::erase_if(*batch, [this](const Packet &) {
				return rng_() % 1000 < loss_;
			});
		if (!reorder_)
			return;
		// Some fall back behind up to 15 others.
		for (std::size_t i = batch->size(); i-- > 0;) {
			if (rng_() % 1000 >= reorder_)
				continue;
			const std::size_t to = std::min(batch->size() - 1,
							i + 1 + rng_() % 15);
			std::rotate(batch->begin() + static_cast<long>(i),
				    batch->begin() + static_cast<long>(i) + 1,
				    batch->begin() + static_cast<long>(to) + 1);
		}
	}

private:
	u32 loss_, reorder_;
	std::minstd_rand rng_{7};
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
	for (const mrc_cc_ops *cc : {&mrc_cc_none, &mrc_cc_nscc})
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
