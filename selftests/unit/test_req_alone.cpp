// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Messages that go one at a time: their transport ACK is the only answer, and
// SACKs come as often as in a stream.
#include "req_ext_fixture.hpp"
#include "resp_ext_fixture.hpp"

using namespace mrc_test;

namespace
{

constexpr u64 kRtt = 20 * kUs;
constexpr u32 kLen = 64;

// Both ends, and every packet arrives after half a round trip.
struct Alone {
	explicit Alone(bool known = true)
	{
		q.ccfg.window = 1 << 20;
		q.init(&mrc_cc_none);
		p.cfg.rq_psn = q.cfg.sq_psn;
		p.cfg.pmtu = q.cfg.pmtu;
		p.init();
		if (known) {
			q.write(kLen);
			pass(q.send());
		}
	}

	// What the responder answers to @out.
	std::vector<mrc_tx_desc> arrive(const std::vector<mrc_tx_desc> &out,
					bool ce = false)
	{
		std::vector<mrc_tx_desc> fb;

		q.now += kRtt / 2;
		p.now = q.now;
		for (const mrc_tx_desc &d : out) {
			mrc_rx rx{};

			rx.hdr = &d.hdr;
			rx.entropy = d.entropy;
			rx.port = d.port;
			rx.ce = ce;
			rx.at = p.now;
			p.hand_in(rx, 0);
			for (const mrc_tx_desc &f : p.feedback())
				fb.push_back(f);
		}
		q.now += kRtt / 2;
		return fb;
	}

	void feed(const std::vector<mrc_tx_desc> &fb)
	{
		for (const mrc_tx_desc &f : fb) {
			if (f.hdr.opcode == MRC_OP_SACK)
				mrc_req_on_sack(&q.req, &f.hdr, 1, q.now);
			else
				mrc_req_on_ack(&q.req, &f.hdr, 1, q.now);
			q.check();
		}
	}

	void pass(const std::vector<mrc_tx_desc> &out) { feed(arrive(out)); }

	std::vector<mrc_tx_desc> go(u8 op) { return q.go(op, kLen); }

	ExtRequester q;
	ExtResponder p;
};

class EachOperation : public testing::TestWithParam<u8>
{
};

} // namespace

// Exactly: one ACK each, and a SACK for each MRC_SACK_THRESHOLD bytes.
TEST_P(EachOperation, OnePacketAnswersIt)
{
	Alone t;
	const u32 n = 160;
	const u64 sacks = t.p.count(MRC_CTR_TX_SACK);
	const u64 acks = t.p.count(MRC_CTR_TX_ACK);

	t.q.reap();
	for (u32 i = 0; i < n; i++) {
		const auto out = t.go(GetParam());

		ASSERT_EQ(out.size(), 1u) << i;
		EXPECT_FALSE(out[0].hdr.a) << i;
		t.pass(out);
		EXPECT_EQ(t.q.done().size(), 1u) << i;
		EXPECT_EQ(t.q.req.n_out, 0u) << i;
		EXPECT_EQ(t.q.req.inflight, 0) << i;
	}
	EXPECT_EQ(t.p.count(MRC_CTR_TX_ACK) - acks, n);
	EXPECT_EQ(t.p.count(MRC_CTR_TX_SACK) - sacks,
		  n * 1024 / MRC_SACK_THRESHOLD);
	EXPECT_EQ(t.q.count(MRC_CTR_TX_RTX), 0u);
	EXPECT_EQ(t.q.count(MRC_CTR_TX_PROBE), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, EachOperation,
			 testing::Values(MRC_WR_WRITE, MRC_WR_WRITE_IMM,
					 MRC_WR_SEND));

// Nothing is known of the way before a SACK has come.
TEST(ReqAlone, TheFirstAsks)
{
	Alone t(false);

	for (int i = 0; i < 3; i++) {
		const auto out = t.go(MRC_WR_WRITE);

		ASSERT_EQ(out.size(), 1u);
		EXPECT_TRUE(out[0].hdr.a);
		t.feed({*find(t.arrive(out), MRC_OP_ACK)});
	}
	const auto out = t.go(MRC_WR_WRITE);

	EXPECT_TRUE(out[0].hdr.a);
	t.pass(out);
	EXPECT_FALSE(t.go(MRC_WR_WRITE)[0].hdr.a);
}

// Who seldom sends has a SACK for each: what is known of the way grows old.
TEST(ReqAlone, AfterAWhileItAsks)
{
	Alone t;

	for (int i = 0; i < 10; i++) {
		t.q.now += kMs;
		const auto out = t.go(MRC_WR_WRITE);

		ASSERT_EQ(out.size(), 1u);
		EXPECT_TRUE(out[0].hdr.a) << i;
		t.pass(out);
		const auto next = t.go(MRC_WR_WRITE);

		ASSERT_EQ(next.size(), 1u);
		EXPECT_FALSE(next[0].hdr.a) << i;
		t.pass(next);
	}
}

// The last of several asks: a hole before it would show in the SACK.
TEST(ReqAlone, NotWithOthersUnderWay)
{
	Alone t;
	const auto one = t.go(MRC_WR_WRITE), two = t.go(MRC_WR_WRITE);

	EXPECT_FALSE(one[0].hdr.a);
	EXPECT_TRUE(two[0].hdr.a);
	// Received, but its message is not executed as far as is known.
	t.q.sack_all(two[0].hdr.psn);
	EXPECT_TRUE(t.go(MRC_WR_WRITE)[0].hdr.a);
}

// Of several that are posted at once the last one, SENDs, too.
TEST(ReqAlone, OnlyTheLastOfAPost)
{
	Alone t;
	const u64 sacks = t.p.count(MRC_CTR_TX_SACK);

	t.q.reap();
	for (int i = 0; i < 5; i++)
		t.q.post(i & 1 ? MRC_WR_SEND : MRC_WR_WRITE, kLen);
	const auto out = t.q.send();

	ASSERT_EQ(out.size(), 5u);
	for (int i = 0; i < 4; i++)
		EXPECT_FALSE(out[i].hdr.a) << i;
	EXPECT_TRUE(out[4].hdr.a);
	t.pass(out);
	EXPECT_EQ(t.q.done().size(), 5u);
	EXPECT_EQ(t.p.count(MRC_CTR_TX_SACK) - sacks, 1u);
}

// One that must not follow yet cannot ask for what is before it.
TEST(ReqAlone, TheLastThatMayGoAsks)
{
	Alone t;

	t.q.req.cfg.max_wimm = 2;
	t.q.post(MRC_WR_WRITE, kLen);
	for (int i = 0; i < 4; i++)
		t.q.post(MRC_WR_SEND, kLen);
	auto out = t.q.send();

	ASSERT_EQ(out.size(), 3u);
	EXPECT_FALSE(out[0].hdr.a);
	EXPECT_FALSE(out[1].hdr.a);
	EXPECT_TRUE(out[2].hdr.a);
	t.pass(out);
	out = t.q.send();
	ASSERT_EQ(out.size(), 2u);
	EXPECT_FALSE(out[0].hdr.a);
	EXPECT_TRUE(out[1].hdr.a);
	// A WRITE that a SEND waits behind, with none to spare.
	t.q.post(MRC_WR_WRITE, kLen);
	t.q.post(MRC_WR_SEND, kLen);
	out = t.q.send();
	ASSERT_EQ(out.size(), 1u);
	EXPECT_TRUE(out[0].hdr.a);
}

// The end of a longer message has its other packets before it.
TEST(ReqAlone, NotTheEndOfAMessage)
{
	Alone t;
	const auto out = t.q.go(MRC_WR_WRITE, 2 * t.q.cfg.pmtu);

	ASSERT_EQ(out.size(), 2u);
	EXPECT_FALSE(out[0].hdr.a);
	EXPECT_TRUE(out[1].hdr.a);
}

// A request is received long before it is answered.
TEST(ReqAlone, RequestsAsk)
{
	Alone t;

	EXPECT_TRUE(t.go(MRC_WR_READ)[0].hdr.a);
}

TEST(ReqAlone, ASmallWindowAsks)
{
	Alone t;

	t.q.cc.cwnd = MRC_SACK_THRESHOLD - 1;
	EXPECT_TRUE(t.go(MRC_WR_WRITE)[0].hdr.a);
}

// Congestion is told of at once.
TEST(ReqAlone, AMarkBringsASack)
{
	Alone t;
	const auto fb = t.arrive(t.go(MRC_WR_WRITE), true);

	ASSERT_NE(find(fb, MRC_OP_SACK), nullptr);
	EXPECT_EQ(find(fb, MRC_OP_SACK)->hdr.seth.m, MRC_M_SKIP_ONCE);
	EXPECT_NE(find(fb, MRC_OP_ACK), nullptr);
}

// Its ACK is lost: a probe, or it comes again, asks again and is answered
// twice.
TEST(ReqAlone, ALostAckIsFoundOut)
{
	Alone t;

	t.q.reap();
	t.arrive(t.go(MRC_WR_SEND));
	const auto again = t.q.wait();

	ASSERT_EQ(again.size(), 1u);
	EXPECT_TRUE(again[0].hdr.rtx);
	EXPECT_TRUE(again[0].hdr.a);
	const auto fb = t.arrive(again);

	EXPECT_EQ(how_many(fb, MRC_OP_SACK), 1u);
	EXPECT_EQ(how_many(fb, MRC_OP_ACK), 1u);
	t.feed(fb);
	EXPECT_EQ(t.q.done().size(), 1u);
	EXPECT_EQ(t.p.imms.size(), 1u);
}
