// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Requester of the extension against a small model of a peer that executes in
// order, answers when it likes and lacks receives, over a network that loses
// and reorders. Everything must end well, in order, each request by its answer.
#include "model/link.hpp"
#include "model/time.hpp"
#include "req_ext_fixture.hpp"

#include <map>

using namespace mrc_test;

namespace
{

constexpr u32 kWork = 300;
constexpr u64 kEnd = 600'000 * kMs;

class World
{
public:
	explicit World(u32 seed) : rng_(seed)
	{
		r_.cfg.sq_depth = 32;
		r_.cfg.mpr = 1 + pick(2);
		r_.cfg.max_wimm = (u16)(1 + pick(8));
		r_.cfg.max_rd_atomic = (u8)(1 + pick(5));
		r_.cfg.rnr_retry = MRC_RNR_RETRY_INFINITE;
		r_.cfg.linear_cnt = 7;
		r_.cfg.exp_cnt = MRC_RETRY_EXP_INFINITE;
		r_.cfg.sq_psn = pick(3) ? 0xFFFFF0 : 0x100;
		loss_ = pick(4) * 6;
		slow_ = pick(2) ? 50 * kMs : 500 * kUs;
		starve_ = pick(2) ? 5 * kMs : 50 * kUs;
		r_.init();
	}

	void run()
	{
		at(0, [this] { post_receive(); });
		while (reaped_ < kWork && !testing::Test::HasFailure()) {
			fill();
			pump();
			if (reaped_ < kWork && !advance())
				break;
		}
		EXPECT_EQ(reaped_, kWork);
		EXPECT_EQ(r_.req.state, MRC_REQ_READY);
		EXPECT_EQ(r_.req.rd_out, 0u);
		EXPECT_EQ(r_.req.wimm_out, 0u);
		EXPECT_EQ(r_.req.inflight, 0u);
		EXPECT_EQ(r_.req.timer_at, MRC_NEVER);
		EXPECT_EQ(delivered_, receivers_);
	}

	u64 count(mrc_counter id) const { return r_.count(id); }

private:
	struct Work {
		u8 op;
		bool fence;
		u32 requests; // posted before it
		bool begun;
	};

	struct Packet {
		u8 opcode;
		u16 rqmsn;
	};

	ExtRequester r_;
	mrc_model::Rng rng_;
	mrc_model::Time<std::function<void()>> time_{10 * kMs, 1};
	mrc_model::Way way_{.delay = 20 * kUs, .jitter = 200 * kUs};
	u32 loss_; // per cent
	u64 slow_, starve_;
	std::vector<Work> work_;
	u32 begun_ = 0, reaped_ = 0;
	u32 requests_ = 0;  // posted
	u32 receivers_ = 0; // messages posted that take a receive
	bool local_out_ = false;
	// The peer.
	std::map<u32, Packet> held_; // received, not executed
	u32 cack_ = 0, exec_ = 0;    // next ones, counted from 0
	u32 receives_ = 0, delivered_ = 0;
	std::vector<u32> asked_; // request packets executed
	u32 answered_ = 0;	 // answers that arrived
	u32 confirmed_ = 0;	 // answers known to have arrived
	u64 answer_at_ = 0;

	u32 pick(u32 n) { return (u32)rng_.below(n); }
	u32 index(u32 psn) { return (psn - r_.cfg.sq_psn) & kPsnMask; }

	void at(u64 after, std::function<void()> f)
	{
		time_.at(r_.now + after, std::move(f));
	}

	// Over the network, either way.
	void deliver(std::function<void()> f)
	{
		if (pick(100) >= loss_)
			at(way_.time(rng_), std::move(f));
	}

	void fill()
	{
		static const u8 ops[] = {
			MRC_WR_WRITE,	 MRC_WR_WRITE_IMM,   MRC_WR_SEND,
			MRC_WR_SEND_IMM, MRC_WR_SEND_INV,    MRC_WR_READ,
			MRC_WR_CMP_SWAP, MRC_WR_FETCH_ADD,   MRC_WR_FLUSH,
			MRC_WR_LOCAL,	 MRC_WR_ATOMIC_WRITE};

		while (work_.size() < kWork && mrc_req_can_post(&r_.req) &&
		       pick(8)) {
			Work w{};
			w.op = ops[pick(std::size(ops))];
			w.fence = !pick(4);
			w.requests = requests_;
			mrc_wr wr = ExtRequester::wr(w.op);
			wr.fence = w.fence;
			if (w.op <= MRC_WR_SEND_INV)
				wr.len = pick(256 * 5);
			ASSERT_EQ(r_.post(wr), (int)(work_.size() % 32));
			requests_ += mrc_wr_is_request(w.op);
			receivers_ += mrc_wr_consumes_recv(w.op);
			work_.push_back(w);
		}
	}

	// The next work request begins, if it is not @slot that goes on.
	void begin(u32 slot)
	{
		if (begun_ && (begun_ - 1) % 32 == slot)
			return;
		ASSERT_LT(begun_, work_.size());
		ASSERT_EQ(begun_ % 32, slot) << "begins out of order";
		const Work &w = work_[begun_++];
		if (w.fence)
			EXPECT_EQ(answered_, w.requests) << "fence";
		if (mrc_wr_is_request(w.op))
			EXPECT_LT(w.requests - answered_, r_.cfg.max_rd_atomic);
	}

	void pump()
	{
		mrc_tx_desc d;
		for (;;) {
			mrc_tx_verdict v = r_.next(&d);
			if (v == MRC_TX_LOCAL) {
				begin(d.slot);
				if (local_out_)
					return;
				local_out_ = true;
				const u32 slot = d.slot;
				auto done = [this, slot] {
					local_out_ = false;
					r_.local_done(slot);
					reap();
				};
				if (pick(2)) {
					at(pick(5000) * kUs, done);
					return;
				}
				done();
				continue;
			}
			if (v != MRC_TX_PACKET)
				return;
			if (d.data && !d.hdr.rtx)
				begin(d.slot);
			deliver([this, d] { arrive(d); });
		}
	}

	void reap()
	{
		for (auto [slot, st] : r_.reap()) {
			ASSERT_EQ(slot, reaped_ % 32);
			EXPECT_EQ(st, MRC_WC_SUCCESS);
			const Work &w = work_[reaped_++];
			EXPECT_LE(reaped_, begun_);
			EXPECT_GE(answered_, w.requests);
			if (mrc_wr_is_request(w.op))
				EXPECT_GT(answered_, w.requests);
		}
	}

	bool advance()
	{
		const auto event = [this](const std::function<void()> &f) {
			r_.now = time_.now();
			f();
		};
		const auto alarm = [this](u32) {
			r_.now = time_.now();
			r_.deadline();
		};

		time_.alarm(0, mrc_req_deadline(&r_.req));
		if (!time_.step(kEnd, event, alarm)) {
			// Nothing posted: the next fill() goes on.
			if (begun_ == work_.size() && reaped_ == begun_)
				return true;
			ADD_FAILURE() << "stuck, or takes for ever";
			return false;
		}
		reap();
		return true;
	}

	// --- the peer ------------------------------------------------------

	void post_receive()
	{
		receives_ += 1 + pick(3);
		if (receives_ < kWork)
			at(starve_ / 4 + pick(1000) * starve_ / 1000,
			   [this] { post_receive(); });
	}

	void arrive(const mrc_tx_desc &d)
	{
		const u32 flags = mrc_op_info(d.hdr.opcode)->flags;
		if (!d.data) {
			sack({.cack = r_.psn((s64)cack_ - 1),
			      .map = map(),
			      .probe = d.hdr.peth.probe_id});
			return;
		}
		const u32 n = index(d.hdr.psn);
		const bool old = n < cack_ || held_.count(n);
		const bool takes = flags & MRC_OPF_SEND || flags & MRC_OPF_IMM;
		if (!old && takes && d.hdr.rqmsn >= receives_) {
			const u32 psn = d.hdr.psn;
			const u16 ts = d.hdr.tstamp;
			deliver([this, psn, ts] { r_.rnr(psn, 10, ts); });
			return;
		}
		if (!old) {
			held_[n] = {d.hdr.opcode, d.hdr.rqmsn};
			execute();
		}
		sack({.cack = r_.psn((s64)cack_ - 1),
		      .ack = (s32)n - (s32)cack_ + 1,
		      .map = map(),
		      .rtx = d.hdr.rtx,
		      .entropy = d.entropy,
		      .tstamp = d.hdr.tstamp});
		if (old)
			acknowledge();
	}

	u64 map()
	{
		u64 m = 0;
		for (auto &[n, p] : held_)
			if (n >= cack_ && n - cack_ < 64)
				m |= 1ull << (n - cack_);
		return m;
	}

	void sack(const SackSpec &s)
	{
		deliver([this, s] { r_.sack(s); });
	}

	void execute()
	{
		while (held_.count(cack_))
			cack_++;
		for (; exec_ < cack_; exec_++) {
			const Packet p = held_[exec_];
			const u32 flags = mrc_op_info(p.opcode)->flags;

			held_.erase(exec_);
			if (flags & MRC_OPF_LAST &&
			    flags & (MRC_OPF_SEND | MRC_OPF_IMM))
				EXPECT_EQ(p.rqmsn, delivered_++);
			if (flags & MRC_OPF_REQUEST) {
				EXPECT_EQ(p.rqmsn, asked_.size());
				asked_.push_back(exec_);
				answer();
			}
		}
		acknowledge();
	}

	// Answers arrive in order; that they did is known some time later.
	void answer()
	{
		const u64 t = r_.now + 30 * kUs + pick(1000) * slow_ / 1000;
		answer_at_ = std::max(answer_at_ + 1, t);
		time_.at(answer_at_, [this] {
			u32 slot;
			ASSERT_TRUE(mrc_req_oldest(&r_.req, &slot));
			EXPECT_EQ(r_.req.wqe[slot].rqmsn, answered_);
			auto known = [this, n = answered_ + 1] {
				confirmed_ = std::max(confirmed_, n);
				acknowledge();
			};
			// The ACK may overtake what it acknowledges.
			if (pick(3)) {
				answered_++;
				r_.answered();
				at(pick(300) * kUs, known);
				return;
			}
			known();
			at(pick(300) * kUs, [this] {
				answered_++;
				r_.answered();
			});
		});
		answer_at_ += 300 * kUs;
	}

	void acknowledge()
	{
		u32 n = exec_;
		if (confirmed_ < asked_.size())
			n = std::min(n, asked_[confirmed_]);
		const u32 psn = r_.psn((s64)n - 1);
		deliver([this, psn] { r_.ack(psn); });
	}
};

} // namespace

TEST(ExtRandom, EverythingEndsWell)
{
	const mrc_counter seen[] = {MRC_CTR_TX_RTX,	MRC_CTR_NACK_RNR,
				    MRC_CTR_STALL_RD,	MRC_CTR_STALL_FENCE,
				    MRC_CTR_STALL_WIMM, MRC_CTR_RTX_LAST_PSN,
				    MRC_CTR_TX_REQUEST};
	std::map<mrc_counter, u64> sum;

	for (u32 seed = 0; seed < 150; seed++) {
		SCOPED_TRACE(seed);
		World w(seed);
		w.run();
		if (HasFailure())
			return;
		for (mrc_counter id : seen)
			sum[id] += w.count(id);
	}
	// It has all happened, and often.
	for (mrc_counter id : seen)
		EXPECT_GT(sum[id], 300u) << id;
}
