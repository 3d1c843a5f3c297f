// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Memory that has to be fetched first: packets that are put back at the sender,
// packets that are refused at the receiver.
#include "req_ext_fixture.hpp"
#include "resp_ext_fixture.hpp"

using namespace mrc_test;

namespace
{

constexpr u8 k1ms = 13;		 // 960 us
constexpr u64 kHold = 960 * kUs; // of it

// A requester whose shell finds no memory for some packets.
struct Pager : ExtRequester {
	// The next data packet; probes may go before it.
	mrc_tx_desc take()
	{
		mrc_tx_desc d{};
		do
			EXPECT_EQ(next(&d), MRC_TX_PACKET);
		while (!testing::Test::HasFailure() && !d.data);
		return d;
	}

	void back(const mrc_tx_desc &d, u64 hold)
	{
		mrc_req_put_back(&req, &d, now + hold, now);
		check();
	}

	void release()
	{
		mrc_req_release(&req);
		check();
	}

	void page(u32 psn, u8 code = k1ms) { rnr(psn, MRC_RNR_PAGE | code); }
};

mrc_rx_action refuse(Responder &r, u32 psn, u8 opcode = MRC_OP_WRITE_ONLY,
		     u8 timer = k1ms)
{
	mrc_hdr h{};
	mrc_rx rx{};
	rx.hdr = &h;
	rx.port = 1;
	h.opcode = opcode;
	h.psn = psn;
	mrc_rx_action act =
		mrc_resp_refuse_page(&r.resp, &rx, timer, r.now);
	r.check();
	return act;
}

} // namespace

// Sent for the first time at last, they are answered if they ask: what else waits to
// be sent may have to wait longer.
TEST(PutBack, AsksWhenItGoes)
{
	Pager r;
	r.init();
	for (int i = 0; i < 2; i++)
		r.post(MRC_WR_WRITE, 100);
	const mrc_tx_desc one = r.take();
	const mrc_tx_desc two = r.take();
	r.back(one, kHold);
	r.back(two, 2 * kHold);
	r.now += kHold;
	const mrc_tx_desc d = r.take();
	EXPECT_EQ(d.hdr.psn, one.hdr.psn);
	EXPECT_FALSE(d.hdr.rtx);
	EXPECT_TRUE(d.hdr.a);
}

// Others go; it goes when its time has come, as if for the first time.
TEST(PutBack, OthersGoFirst)
{
	Pager r;
	r.init();
	r.post(MRC_WR_WRITE, 700);
	const mrc_tx_desc d = r.take();
	EXPECT_EQ(r.req.n_out, 1u);
	r.back(d, kHold);
	EXPECT_EQ(r.req.n_out, 0u);
	EXPECT_EQ(r.req.inflight, 0u);
	EXPECT_EQ(r.count(MRC_CTR_TX_PAGE), 1u);
	EXPECT_EQ(r.count(MRC_CTR_TX_DATA), 0u);
	EXPECT_EQ(r.count(MRC_CTR_TX_DATA_BYTES), 0u);

	mrc_tx_verdict why;
	auto out = r.send(&why);
	ASSERT_EQ(out.size(), 2u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(1));
	EXPECT_EQ(out[1].hdr.psn, r.psn(2));
	r.sack({.cack = r.psn(-1), .ack = 3, .base = 2, .map = 3});
	const u64 at = r.now;
	out.clear();
	while (out.empty() && r.now < at + 2 * kHold)
		out = r.step();
	EXPECT_EQ(r.now, at + kHold);
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(0));
	EXPECT_FALSE(out[0].hdr.rtx);
	EXPECT_EQ(r.count(MRC_CTR_TX_DATA), 3u);
	EXPECT_EQ(r.count(MRC_CTR_TX_RTX), 0u);
	r.ack(r.psn(2));
	EXPECT_EQ(r.done(), Slots{0});
}

TEST(PutBack, GoesAtOnceWhenPagesHaveCome)
{
	Pager r;
	r.init();
	r.post(MRC_WR_WRITE);
	r.back(r.take(), 1000 * kMs);
	EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD);
	r.release();
	auto out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(0));
	EXPECT_FALSE(out[0].hdr.rtx);
	// Nothing is left to be released.
	r.release();
	EXPECT_EQ(r.verdict(), MRC_TX_IDLE);
	r.ack(r.psn(0));
	EXPECT_EQ(r.done(), Slots{0});
}

// Only what was put back: the peer's time is the peer's.
TEST(PutBack, ReleaseLeavesOthersHeld)
{
	Pager r;
	r.init();
	r.go(MRC_WR_SEND);
	r.rnr(r.psn(0), k1ms);
	r.post(MRC_WR_WRITE);
	const mrc_tx_desc d = r.take();
	EXPECT_EQ(d.hdr.psn, r.psn(1));
	r.back(d, 1000 * kMs);
	r.release();
	auto out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(1));
}

// However often and however long: neither loss nor retry.
TEST(PutBack, CostsNothing)
{
	Pager r;
	r.init();
	r.post(MRC_WR_WRITE);
	for (int i = 0; i < 500; i++) {
		const mrc_tx_desc d = r.take();
		EXPECT_FALSE(d.hdr.rtx);
		r.back(d, 10 * kMs);
		EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD);
		r.now += 10 * kMs;
		r.deadline();
		ASSERT_EQ(r.req.state, MRC_REQ_READY) << i;
	}
	EXPECT_EQ(r.req.retries, 0u);
	EXPECT_TRUE(r.rec.lost.empty());
	EXPECT_TRUE(r.losses.empty());
	EXPECT_EQ(r.count(MRC_CTR_TX_PAGE), 500u);
	EXPECT_EQ(r.count(MRC_CTR_TX_DATA), 0u);
	ASSERT_EQ(r.send().size(), 1u);
	r.ack(r.psn(0));
	EXPECT_EQ(r.done(), Slots{0});
}

// A page that went away after the first transmission: a retransmission it stays.
TEST(PutBack, Retransmission)
{
	Pager r;
	r.init();
	r.go(MRC_WR_WRITE);
	r.page(r.psn(0));
	r.now += kHold;
	const mrc_tx_desc d = r.take();
	EXPECT_TRUE(d.hdr.rtx);
	EXPECT_EQ(r.count(MRC_CTR_TX_RTX), 1u);
	r.back(d, kHold);
	EXPECT_EQ(r.count(MRC_CTR_TX_RTX), 0u);
	EXPECT_EQ(r.count(MRC_CTR_TX_DATA), 1u);
	r.release();
	auto out = r.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_TRUE(out[0].hdr.rtx);
	r.ack(r.psn(0));
	EXPECT_EQ(r.done(), Slots{0});
}

// A retransmission that was put back was not sent. What arrives is the first copy.
TEST(PutBack, RetransmissionThatNeverLeft)
{
	Pager r;
	r.init();
	r.go(MRC_WR_WRITE);
	r.page(r.psn(0));
	r.now += kHold;
	r.back(r.take(), kHold);
	r.sack_all(r.psn(0));
	EXPECT_EQ(r.count(MRC_CTR_SPURIOUS_RTX), 0u);
	r.ack(r.psn(0));
	EXPECT_EQ(r.done(), Slots{0});
}

// Whatever the operation, however often.
TEST(PageNack, CostsNothing)
{
	for (u8 op : {MRC_WR_WRITE, MRC_WR_SEND, MRC_WR_WRITE_IMM}) {
		Pager r;
		r.cfg.rnr_retry = 0;
		r.init();
		auto out = r.go(op);
		const int ev = out[0].ev;
		for (int i = 0; i < 200; i++) {
			r.page(r.psn(0));
			ASSERT_EQ(r.req.state, MRC_REQ_READY) << i;
			EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD);
			r.now += kHold;
			ASSERT_EQ(r.send().size(), 1u) << i;
		}
		EXPECT_EQ(r.req.retries, 0u);
		EXPECT_EQ(r.count(MRC_CTR_NACK_PAGE), 200u);
		EXPECT_EQ(r.count(MRC_CTR_NACK_RNR), 0u);
		EXPECT_EQ(r.count(MRC_CTR_NACK_SHORTAGE), 0u);
		EXPECT_EQ(r.count(MRC_CTR_RNR_EXC), 0u);
		EXPECT_EQ(r.ev(ev).state, MRC_EV_GOOD);
		r.ack(r.psn(0));
		EXPECT_EQ(r.done(), Slots{0});
	}
}

// A host that takes long to refuse packets has time for something else meanwhile.
TEST(PageNack, PausesAsLongAsAttemptsTake)
{
	for (const u64 took : { 0 * kMs, 1 * kMs, 50 * kMs, 150 * kMs }) {
		Pager r;
		r.init();
		r.go(MRC_WR_WRITE);
		const u64 rtt = r.req.base_rtt;
		const u64 pause =
			std::max(kHold, std::min(took * MRC_PAGE_PAUSE,
						 u64{MRC_PAGE_PAUSE_NS}));

		r.now += rtt + took;
		r.page(r.psn(0));
		EXPECT_EQ(r.verdict(), MRC_TX_WAIT_HOLD);
		r.now += pause - 1;
		EXPECT_TRUE(r.send().empty()) << took;
		r.now++;
		EXPECT_EQ(r.send().size(), 1u) << took;
		EXPECT_EQ(r.req.retries, 0u);
	}
}

// A message that waits for memory holds up no other, unlike a missing receive.
TEST(PageNack, OthersGo)
{
	Pager r;
	r.init();
	r.go(MRC_WR_SEND);
	r.page(r.psn(0));
	auto out = r.go(MRC_WR_SEND);
	ASSERT_EQ(out.size(), 1u);
	EXPECT_EQ(out[0].hdr.psn, r.psn(1));
}

TEST(PageNack, MeansNothingWithoutTheExtension)
{
	Pager r;
	r.cfg.ext = false;
	r.init();
	r.go(MRC_WR_WRITE);
	r.page(r.psn(0));
	EXPECT_EQ(r.count(MRC_CTR_NACK_PAGE), 0u);
	EXPECT_EQ(r.count(MRC_CTR_NACK_SHORTAGE), 1u);
}

TEST(RefusePage, LeavesNoTrace)
{
	ExtResponder r;
	r.init();
	EXPECT_EQ(refuse(r, r.psn(0)), MRC_RX_DONE);
	auto fb = r.feedback();
	ASSERT_EQ(how_many(fb, MRC_OP_NACK), 1u);
	const mrc_tx_desc *n = find(fb, MRC_OP_NACK);
	EXPECT_EQ(n->hdr.neth.reason, MRC_NACK_NO_RESOURCE);
	EXPECT_EQ(n->hdr.neth.vendor, MRC_RNR_VALID | MRC_RNR_PAGE | k1ms);
	EXPECT_EQ(n->hdr.neth.nack_psn, r.psn(0));
	EXPECT_EQ(r.count(MRC_CTR_RESP_PAGE), 1u);
	EXPECT_EQ(r.count(MRC_CTR_RESP_RNR), 0u);

	mrc_rx_action act;
	fb = r.data({.psn = r.psn(0), .a = true}, &act);
	EXPECT_EQ(act, MRC_RX_PLACE);
	expect_ack(fb, r.psn(0));
}

TEST(RefusePage, DuplicatesAreTheUsual)
{
	ExtResponder r;
	r.init();
	r.data({.psn = r.psn(0)});
	EXPECT_EQ(refuse(r, r.psn(0)), MRC_RX_DONE);
	auto fb = r.feedback();
	EXPECT_EQ(how_many(fb, MRC_OP_NACK), 0u);
	EXPECT_EQ(how_many(fb, MRC_OP_SACK), 1u);
	EXPECT_EQ(r.count(MRC_CTR_RESP_PAGE), 0u);
}

// The timer never spills into the flags; MRC 1.0 does not define the byte.
TEST(RefusePage, TheByte)
{
	ExtResponder r;
	r.init();
	refuse(r, r.psn(0), MRC_OP_WRITE_ONLY, 255);
	auto fb = r.feedback();
	ASSERT_EQ(how_many(fb, MRC_OP_NACK), 1u);
	EXPECT_EQ(find(fb, MRC_OP_NACK)->hdr.neth.vendor, 0xDF);

	Responder plain;
	plain.init();
	refuse(plain, plain.psn(0));
	fb = plain.feedback();
	ASSERT_EQ(how_many(fb, MRC_OP_NACK), 1u);
	EXPECT_EQ(find(fb, MRC_OP_NACK)->hdr.neth.reason, MRC_NACK_NO_RESOURCE);
	EXPECT_EQ(find(fb, MRC_OP_NACK)->hdr.neth.vendor, 0);
}

TEST(RefusePage, AnswersAsWell)
{
	ChanResponder r;
	r.init();
	EXPECT_EQ(refuse(r, r.psn(0), MRC_OP_READ_RESP_ONLY), MRC_RX_DONE);
	auto fb = r.feedback();
	ASSERT_EQ(how_many(fb, MRC_OP_NACK), 1u);
	EXPECT_EQ(find(fb, MRC_OP_NACK)->hdr.neth.vendor,
		  MRC_RNR_VALID | MRC_RNR_PAGE | k1ms);
}
