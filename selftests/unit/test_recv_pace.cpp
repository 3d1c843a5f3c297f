// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A sender that is faster than its receiver posts receives: how much is sent in
// vain, and that everything arrives. Both engines, and a wire that takes time.
#include "req_ext_fixture.hpp"
#include "resp_ext_fixture.hpp"

#include <map>

using namespace mrc_test;

namespace
{

constexpr u32 kDepth = 128; // of the send queue
constexpr u8 k10us = 1;

struct Shape {
	u32 receives; // of the receive queue
	u64 sleep;    // ns that the receiving program does nothing, when it has
		      // nothing to do
	u64 per_recv; // ns that it takes to post a receive again
	u64 rtt;      // ns
	u32 len;      // bytes
	bool tells;
};

class Race
{
public:
	explicit Race(const Shape &s) : s_(s)
	{
		a_.cfg.sq_depth = kDepth;
		a_.cfg.max_wimm = kDepth;
		a_.cfg.pmtu = 4096;
		a_.cfg.rnr_retry = MRC_RNR_RETRY_INFINITE;
		a_.cfg.linear_cnt = 7;
		a_.cfg.exp_cnt = MRC_RETRY_EXP_INFINITE;
		a_.init(&mrc_cc_none);
		b_.cfg.pmtu = 4096;
		b_.cfg.max_wimm = kDepth;
		b_.cfg.rq_psn = a_.cfg.sq_psn;
		b_.recvs = s.receives;
		b_.rnr_timer = k10us;
		b_.tells = s.tells;
		b_.init();
	}

	// Until @n messages are delivered.
	void run(u32 n)
	{
		want_ = n;
		while (b_.imms.size() < n && !testing::Test::HasFailure()) {
			pump();
			u64 t = mrc_req_deadline(&a_.req);
			if (!events_.empty() && events_.begin()->first <= t) {
				t = events_.begin()->first;
				auto f = std::move(events_.begin()->second);
				events_.erase(events_.begin());
				set(t);
				f();
			} else {
				ASSERT_NE(t, MRC_NEVER);
				set(t);
				a_.deadline();
			}
			ASSERT_LT(++steps_, 200u * n) << "no end";
		}
	}

	u64 refused() const { return b_.count(MRC_CTR_RESP_RNR); }
	u64 elapsed() const { return now_ - start_; }

private:
	void set(u64 t)
	{
		now_ = std::max(now_, t);
		a_.now = b_.now = now_;
	}

	void pump()
	{
		mrc_tx_desc d;

		a_.now = b_.now = now_;
		a_.reap();
		while (posted_ < want_ && mrc_req_can_post(&a_.req)) {
			ASSERT_GE(a_.post(MRC_WR_SEND, s_.len), 0);
			posted_++;
		}
		while (a_.next(&d) == MRC_TX_PACKET)
			events_.emplace(now_ + s_.rtt / 2,
					[this, d] { arrive(d); });
	}

	void arrive(const mrc_tx_desc &d)
	{
		const std::size_t before = b_.imms.size();
		mrc_rx rx{};

		rx.hdr = &d.hdr;
		rx.entropy = d.entropy;
		rx.port = d.port;
		if (d.data)
			b_.hand_in(rx, 0);
		else
			mrc_resp_on_probe(&b_.resp, &rx, now_);
		for (const mrc_tx_desc &fb : b_.feedback())
			events_.emplace(now_ + s_.rtt / 2,
					[this, h = fb.hdr] { feed(h); });
		pending_ += (u32)(b_.imms.size() - before);
		if (pending_ && !awake_) {
			awake_ = true;
			events_.emplace(now_ + s_.sleep, [this] { repost(); });
		}
	}

	void feed(const mrc_hdr &h)
	{
		if (h.opcode == MRC_OP_SACK)
			mrc_req_on_sack(&a_.req, &h, 1, now_);
		else if (h.opcode == MRC_OP_NACK)
			mrc_req_on_nack(&a_.req, &h, 1, now_);
		else
			mrc_req_on_ack(&a_.req, &h, 1, now_);
		a_.check();
	}

	// The receiving program has looked at one completion.
	void repost()
	{
		if (!pending_) {
			awake_ = false;
			return;
		}
		pending_--;
		b_.recvs++;
		events_.emplace(now_ + s_.per_recv, [this] { repost(); });
	}

	const Shape s_;
	ExtRequester a_;
	ExtResponder b_;
	u64 start_ = 10 * kMs, now_ = start_;
	std::multimap<u64, std::function<void()>> events_;
	u32 want_ = 0, posted_ = 0, pending_ = 0, steps_ = 0;
	bool awake_ = false;
};

class Pace : public testing::TestWithParam<Shape>
{
};

} // namespace

// Once the first refusal is known, one packet asks for each waiting time, or
// two for each that is received if the peer says nothing.
TEST_P(Pace, LittleIsSentInVain)
{
	const Shape s = GetParam();
	constexpr u32 kMessages = 1000;
	Race race(s);

	race.run(kMessages);
	const u64 waits = race.elapsed() / mrc_rnr_time(k10us);

	RecordProperty("refused", (int)race.refused());
	RecordProperty("ns", (int)race.elapsed());
	if (s.tells)
		EXPECT_LE(race.refused(), kDepth + waits);
	else
		EXPECT_LE(race.refused(), kDepth + waits + kMessages);
	// Nor is time lost: what the receiver takes, and for each of its naps
	// a few round trips and one waiting time.
	const u64 naps = kMessages / s.receives + 4;

	EXPECT_LE(race.elapsed(),
		  (u64)kMessages * (s.per_recv + s.rtt / 64) +
			  naps * (s.sleep + 20 * s.rtt + 10 * kUs));
}

INSTANTIATE_TEST_SUITE_P(
	Shapes, Pace,
	testing::Values(
		// A program that is not given the processor for long.
		Shape{256, 300 * kUs, 1 * kUs, 20 * kUs, 8, true},
		Shape{256, 300 * kUs, 1 * kUs, 20 * kUs, 8, false},
		Shape{256, 3 * kMs, 1 * kUs, 20 * kUs, 8, true},
		// As many receives as messages may be under way, and fewer.
		Shape{128, 50 * kUs, 1 * kUs, 20 * kUs, 8, true},
		Shape{16, 20 * kUs, 2 * kUs, 10 * kUs, 8, true},
		Shape{16, 20 * kUs, 2 * kUs, 10 * kUs, 8, false},
		Shape{1, 5 * kUs, 1 * kUs, 10 * kUs, 8, true},
		// Slower than the sender all the time.
		Shape{64, 10 * kUs, 20 * kUs, 50 * kUs, 8, true},
		Shape{64, 10 * kUs, 20 * kUs, 50 * kUs, 8, false}));
