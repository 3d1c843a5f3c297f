// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The extension from end to end: a requester and a responder for the requests,
// another pair for the answers, and a network between them that loses, doubles
// and reorders what it carries.
#include "model/link.hpp"
#include "model/time.hpp"
#include "req_ext_fixture.hpp"

#include <map>

using namespace mrc_test;

namespace
{

constexpr u32 kWork = 200;
constexpr u32 kDepth = 32;
constexpr u64 kEnd = 3'600'000 * kMs;

class Pair
{
public:
	// @fail_at: so many requests are executed, then one is refused.
	explicit Pair(u32 seed, u32 fail_at = ~0u)
		: rng_(seed), fail_at_(fail_at)
	{
		const u16 wimm = (u16)(1 + pick(8));
		const u8 rd = (u8)(1 + pick(6));

		a_.cfg.sq_depth = kDepth;
		a_.cfg.mpr = 1 + pick(3);
		a_.cfg.max_wimm = wimm;
		a_.cfg.max_rd_atomic = rd;
		a_.cfg.rnr_retry = MRC_RNR_RETRY_INFINITE;
		a_.cfg.linear_cnt = 7;
		a_.cfg.exp_cnt = MRC_RETRY_EXP_INFINITE;
		a_.cfg.sq_psn = pick(3) ? 0xFFFFE0 : 0x7FFFF0;
		b_.cfg.mpr = a_.cfg.mpr;
		b_.cfg.max_wimm = wimm;
		b_.cfg.max_rd = rd;
		b_.cfg.rq_psn = a_.cfg.sq_psn;
		b_.cfg.ext = true;
		b_.cfg.remote_read = true;
		b_.cfg.remote_atomic = true;
		b_.cfg.remote_flush = true;
		b_.cfg.late_stash = pick(2);
		b_.cfg.late_rd = pick(2);
		b_.recvs = 0;
		b_.rnr_timer = (u8)(1 + pick(14));
		b_ans_.cfg.ans = true;
		b_ans_.cfg.sq_psn = a_.cfg.sq_psn ^ 0x800000;
		b_ans_.cfg.mpr = 1 + pick(2);
		b_ans_.cfg.exp_cnt = MRC_RETRY_EXP_INFINITE;
		a_ans_.cfg = b_.cfg;
		a_ans_.cfg.ans = true;
		a_ans_.cfg.rq_psn = b_ans_.cfg.sq_psn;
		a_ans_.cfg.mpr = b_ans_.cfg.mpr;
		a_ans_.cfg.ctr = &a_ans_.ctr;
		a_ans_.deliver = false;
		loss_ = pick(4) * 5;
		starve_ = pick(2) ? 3 * kMs : 20 * kUs;
		a_.init(&mrc_cc_none);
		b_.init();
		b_ans_.init(&mrc_cc_none);
		a_ans_.init();
	}

	void run()
	{
		post_receive();
		while (reaped_ < kWork && !failed_ &&
		       !testing::Test::HasFailure()) {
			fill();
			pump();
			if (reaped_ < kWork && !failed_ && !advance())
				break;
		}
		if (fail_at_ != ~0u) {
			EXPECT_TRUE(failed_);
			EXPECT_EQ(mrc_resp_failed(&b_.resp),
				  MRC_SYN_NAK_ACCESS);
			EXPECT_EQ(answers_, b_.reqs.size());
			return;
		}
		EXPECT_EQ(reaped_, kWork);
		EXPECT_EQ(a_.req.state, MRC_REQ_READY);
		EXPECT_EQ(mrc_resp_failed(&b_.resp), 0);
		EXPECT_EQ(mrc_resp_failed(&a_ans_.resp), 0);
		EXPECT_EQ(b_.reqs.size(), requests_);
		EXPECT_EQ(b_.imms.size(), receivers_);
	}

	u64 count(mrc_counter id) const { return a_.count(id) + b_.count(id); }

private:
	ExtRequester a_, b_ans_;
	Responder b_, a_ans_;
	mrc_model::Rng rng_;
	u32 fail_at_;
	bool failed_ = false;
	mrc_model::Time<std::function<void()>> time_{10 * kMs, 2};
	mrc_model::Way way_{.delay = 20 * kUs, .jitter = 200 * kUs};
	u32 loss_; // per cent
	u64 starve_;
	std::vector<mrc_wr> work_;
	u32 reaped_ = 0, requests_ = 0, receivers_ = 0;
	u32 receives_ = 0, asked_ = 0, answers_ = 0;
	std::vector<u32> got_; // bytes of each answer

	u32 pick(u32 n) { return (u32)rng_.below(n); }
	u64 now() const { return time_.now(); }

	void deliver(const std::function<void()> &f)
	{
		while (pick(100) >= loss_) {
			time_.at(now() + way_.time(rng_), f);
			if (pick(20))
				return;
		}
	}

	void fill()
	{
		while (work_.size() < kWork && mrc_req_can_post(&a_.req) &&
		       pick(8)) {
			mrc_wr wr = ExtRequester::wr((u8)pick(MRC_WR_ANSWER));
			wr.fence = !pick(4);
			if (wr.op <= MRC_WR_READ)
				wr.len = pick(4) ? pick(256 * 5) : 0;
			if (wr.op == MRC_WR_FLUSH)
				wr.swap = 1;
			ASSERT_EQ(a_.post(wr), (int)(work_.size() % kDepth));
			requests_ += mrc_wr_is_request(wr.op);
			receivers_ += mrc_wr_consumes_recv(wr.op);
			work_.push_back(wr);
		}
	}

	void pump()
	{
		mrc_tx_desc d;
		mrc_tx_verdict v;

		tell_time();
		while ((v = a_.next(&d)) == MRC_TX_PACKET ||
		       v == MRC_TX_LOCAL) {
			if (v == MRC_TX_LOCAL)
				a_.local_done(d.slot);
			else
				deliver([this, d] { to_b(d); });
		}
		while (b_ans_.next(&d) == MRC_TX_PACKET) {
			EXPECT_TRUE(d.hdr.ans);
			deliver([this, d] { to_a(d); });
		}
		for (auto [slot, st] : a_.reap()) {
			const mrc_wr &wr = work_[reaped_];
			ASSERT_EQ(slot, reaped_++ % kDepth);
			if (st != MRC_WC_SUCCESS) {
				refused(wr, st);
				continue;
			}
			EXPECT_FALSE(failed_);
			if (!mrc_wr_is_request(wr.op))
				continue;
			ASSERT_LT(answers_, got_.size());
			EXPECT_EQ(got_[answers_++], answer_len(wr));
		}
	}

	// The first one is the request; what is behind it is flushed.
	void refused(const mrc_wr &wr, mrc_wc_status st)
	{
		EXPECT_NE(fail_at_, ~0u);
		if (!failed_)
			EXPECT_TRUE(mrc_wr_is_request(wr.op));
		EXPECT_EQ(st, failed_ ? MRC_WC_FLUSH : MRC_WC_REM_ACCESS);
		failed_ = true;
	}

	static u32 answer_len(const mrc_wr &wr)
	{
		switch (wr.op) {
		case MRC_WR_READ:
			return wr.len;
		case MRC_WR_CMP_SWAP:
		case MRC_WR_FETCH_ADD:
			return 8;
		default:
			return 0;
		}
	}

	void tell_time() { a_.now = b_.now = a_ans_.now = b_ans_.now = now(); }

	bool advance()
	{
		const auto event = [this](const std::function<void()> &f) {
			tell_time();
			f();
		};
		const auto alarm = [this](u32 who) {
			tell_time();
			(who ? b_ans_ : a_).deadline();
		};

		time_.alarm(0, mrc_req_deadline(&a_.req));
		time_.alarm(1, mrc_req_deadline(&b_ans_.req));
		if (!time_.step(kEnd, event, alarm)) {
			if (reaped_ == work_.size())
				return true;
			ADD_FAILURE() << "stuck, or takes for ever";
			return false;
		}
		return true;
	}

	void post_receive()
	{
		u32 n = 1 + pick(3);
		b_.recvs += n;
		receives_ += n;
		if (receives_ < kWork + 10)
			time_.at(now() + starve_ / 4 +
					 pick(1000) * starve_ / 1000,
				 [this] { post_receive(); });
	}

	static void feed(ExtRequester &r, const mrc_hdr &h)
	{
		if (h.opcode == MRC_OP_SACK)
			mrc_req_on_sack(&r.req, &h, 1, r.now);
		else if (h.opcode == MRC_OP_NACK)
			mrc_req_on_nack(&r.req, &h, 1, r.now);
		else
			mrc_req_on_ack(&r.req, &h, 1, r.now);
		r.check();
	}

	void receive(Responder &to, const mrc_tx_desc &d)
	{
		mrc_rx rx{};
		rx.hdr = &d.hdr;
		rx.entropy = d.entropy;
		rx.port = d.port;
		if (d.data)
			to.hand_in(rx, 0);
		else
			mrc_resp_on_probe(&to.resp, &rx, to.now);
	}

	void answer_a()
	{
		for (const auto &fb : b_.feedback()) {
			auto f = [this, h = fb.hdr] { feed(a_, h); };
			EXPECT_FALSE(fb.hdr.ans);
			// A NAK goes once: without it only the retry budget
			// would end this, and there is none.
			if (fb.hdr.opcode == MRC_OP_ACK &&
			    fb.hdr.aeth.syndrome != MRC_SYN_ACK)
				time_.at(now() + pick(200) * kUs, f);
			else
				deliver(f);
		}
	}

	// Requests and whatever else the program sends.
	void to_b(const mrc_tx_desc &d)
	{
		if (b_.reqs.size() >= fail_at_)
			b_.req_syn = MRC_SYN_NAK_ACCESS;
		receive(b_, d);
		answer_a();
		for (; asked_ < b_.reqs.size(); asked_++) {
			const mrc_rd &rd = b_.reqs[asked_];
			mrc_wr wr{};
			EXPECT_EQ(rd.num, (u16)asked_);
			wr.op = rd.op == MRC_OP_CMP_SWAP ||
						rd.op == MRC_OP_FETCH_ADD
					? MRC_WR_ANSWER_ATOMIC
					: MRC_WR_ANSWER;
			wr.num = rd.num;
			if (wr.op == MRC_WR_ANSWER_ATOMIC)
				wr.len = 8;
			else if (rd.op == MRC_OP_READ_REQ)
				wr.len = rd.len;
			EXPECT_GE(b_ans_.post(wr), 0);
		}
	}

	// Answers.
	void to_a(const mrc_tx_desc &d)
	{
		const size_t n = a_ans_.parts.size();
		receive(a_ans_, d);
		if (a_ans_.parts.size() > n) {
			u32 slot;
			ASSERT_TRUE(mrc_req_find(&a_.req, d.hdr.msn, &slot));
			EXPECT_EQ(d.hdr.reth.dmalen,
				  answer_len(a_.req.wqe[slot].wr));
			if (got_.size() <= d.hdr.msn)
				got_.resize(d.hdr.msn + 1);
			got_[d.hdr.msn] += d.len;
		}
		for (u32 k = mrc_resp_take_done(&a_ans_.resp); k; k--)
			a_.answered();
		for (const auto &fb : a_ans_.feedback()) {
			EXPECT_TRUE(fb.hdr.ans);
			deliver([this, h = fb.hdr] {
				feed(b_ans_, h);
				for (auto [slot, st] : b_ans_.reap()) {
					EXPECT_EQ(st, MRC_WC_SUCCESS);
					mrc_resp_answered(&b_.resp);
					b_.check();
				}
				answer_a();
			});
		}
	}
};

} // namespace

TEST(ExtPair, EverythingEndsWell)
{
	const mrc_counter seen[] = {MRC_CTR_TX_RTX,	MRC_CTR_NACK_RNR,
				    MRC_CTR_STALL_RD,	MRC_CTR_STALL_FENCE,
				    MRC_CTR_STALL_WIMM, MRC_CTR_RTX_LAST_PSN,
				    MRC_CTR_TX_REQUEST, MRC_CTR_RX_DUP};
	std::map<mrc_counter, u64> sum;

	for (u32 seed = 0; seed < 150; seed++) {
		SCOPED_TRACE(seed);
		Pair p(seed);
		p.run();
		if (HasFailure())
			return;
		for (mrc_counter id : seen)
			sum[id] += p.count(id);
	}
	// It has all happened, and often.
	for (mrc_counter id : seen)
		EXPECT_GT(sum[id], 100u) << id;
}

// What was executed before it is answered, whatever its NAK overtakes.
TEST(ExtPair, ARefusedRequestComesAfterTheAnswersBeforeIt)
{
	for (u32 seed = 0; seed < 100; seed++) {
		SCOPED_TRACE(seed);
		Pair p(seed, seed % 20);
		p.run();
		if (HasFailure())
			return;
	}
}
