// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Timestamps that come back, service time, responder flow control, probe
// trains. MRC 1.0 §8.3, §9.5, §13.2, §13.6, OP-35.
#include "engine_fixture.hpp"
#include "loss_fixture.hpp"

using namespace mrc_test;

namespace
{

constexpr u64 kUnit = 1u << MRC_TS_SHIFT;

} // namespace

TEST(Echo, AnotherCopysEchoIsNoSample)
{
	Requester r;
	r.init();
	auto out = r.send_n(2);
	r.now += 60 * kUs;
	r.sack({.cack = r.psn(0), .tstamp = (u16)(out[0].hdr.tstamp + 1)});
	EXPECT_EQ(r.rec.acks.back().rtt, MRC_CC_NONE_RTT);
	EXPECT_EQ(r.req.srtt, 0u);
	r.sack({.cack = r.psn(1), .tstamp = out[1].hdr.tstamp});
	EXPECT_EQ(r.rec.acks.back().rtt, 60 * kUs);
}

// A peer that echoes although nothing was stamped is not believed.
TEST(Echo, WithoutTimestampsTheRecordCounts)
{
	Requester r;
	r.cfg.use_ts = false;
	r.init();
	r.send_n(1);
	r.now += 60 * kUs;
	r.sack({.cack = r.psn(0), .tstamp = 77});
	EXPECT_EQ(r.rec.acks.back().rtt, 60 * kUs);
}

TEST(ServiceTime, NeedsTimestamps)
{
	Requester r;
	r.cfg.svc_time = true;
	r.cfg.use_ts = false;
	EXPECT_EQ(mrc_req_mem(&r.cfg), 0u);
}

TEST(ServiceTime, RequesterLeavesTheResidenceOut)
{
	Requester r;
	r.cfg.svc_time = true;
	r.init();
	auto out = r.send_n(5);
	const u64 age = 100 * kUnit, spent = 30 * kUnit;
	r.now += age;
	auto stamp = [&](int n, s64 units) {
		return (u16)(out[n].hdr.tstamp + units);
	};
	r.sack({.cack = r.psn(0), .tstamp = stamp(0, spent / kUnit)});
	EXPECT_EQ(r.rec.acks.back().rtt, age - spent);
	// Without residence it is the whole time, and never more.
	r.sack({.cack = r.psn(1), .tstamp = stamp(1, 0)});
	EXPECT_EQ(r.rec.acks.back().rtt, age);
	// Longer than the packet exists, or answered before it was sent.
	r.sack({.cack = r.psn(2), .tstamp = stamp(2, -2)});
	EXPECT_EQ(r.rec.acks.back().rtt, MRC_CC_NONE_RTT);
	r.sack({.cack = r.psn(3), .tstamp = stamp(3, age / kUnit + 5)});
	EXPECT_EQ(r.rec.acks.back().rtt, MRC_CC_NONE_RTT);
	// Beyond 8 ms the echo is ambiguous: the residence stays in.
	r.now += 8 * kMs;
	r.sack({.cack = r.psn(4), .tstamp = stamp(4, 10)});
	EXPECT_EQ(r.rec.acks.back().rtt, 8 * kMs + age);
}

// Round trips that get longer than an echo can tell are learnt all the same:
// what takes as long as they do is not overdue.
TEST(ServiceTime, RoundTripsBeyondTheEcho)
{
	Requester r;
	r.cfg.svc_time = true;
	r.cfg.rto = 500 * kMs;
	r.init();
	for (u64 rtt : {1 * kMs, 5 * kMs, 20 * kMs, 60 * kMs}) {
		for (int i = 0; i < 30; i++) {
			auto out = r.send_n(1);
			ASSERT_EQ(out.size(), 1u);
			r.now += rtt;
			r.sack({.cack = out[0].hdr.psn,
				.tstamp = (u16)(out[0].hdr.tstamp + 3)});
			r.ack(out[0].hdr.psn);
			r.reap();
		}
		EXPECT_GT(r.req.srtt, rtt * 9 / 10) << rtt;
		EXPECT_LE(r.req.srtt, rtt + 2 * kUnit) << rtt;
	}
	EXPECT_LT(r.req.base_rtt, 1 * kMs);
	EXPECT_EQ(r.count(MRC_CTR_TX_PROBE), 0u);
}

TEST(ServiceTime, RequesterProbesAndNacks)
{
	Requester r;
	r.cfg.svc_time = true;
	r.init();
	auto out = r.send_n(2);
	const u16 id = silence_probe(r);
	const u16 sent = r.probes[0].hdr.tstamp;
	r.now += 50 * kUnit;
	r.sack({.cack = r.psn(-1), .probe = id, .tstamp = (u16)(sent + 20)});
	EXPECT_EQ(r.rec.acks.back().rtt, 30 * kUnit);
	// A sample of the NACKed packet, if it is young enough.
	Requester q;
	q.cfg.svc_time = true;
	q.init();
	out = q.send_n(1);
	q.now += 90 * kUnit;
	q.nack(q.psn(0), MRC_NACK_TRIMMED, out[0].entropy, 2,
	       (u16)(out[0].hdr.tstamp + 40));
	ASSERT_EQ(q.rec.nacks.size(), 1u);
	EXPECT_EQ(q.rec.nacks[0].rtt, 50 * kUnit);
}

TEST(ServiceTime, ResponderAddsItToEveryEcho)
{
	for (bool on : {false, true}) {
		Responder r;
		r.cfg.svc_time = on;
		r.init();
		const u64 at = r.now - 7 * kUnit - 5;
		const u16 add = on ? 7 : 0;
		auto fb = r.data({.psn = r.psn(0),
				  .a = true,
				  .ts = true,
				  .tstamp = 0xFFFE,
				  .at = at});
		ASSERT_EQ(fb.size(), 2u);
		EXPECT_EQ(fb[0].hdr.tstamp, (u16)(0xFFFE + add));
		fb = r.data({.psn = r.psn(1),
			     .ts = true,
			     .tstamp = 0x100,
			     .trim = MRC_TRIM_TRIMMED,
			     .at = at});
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.tstamp, 0x100 + add);
		// Without a timestamp there is nothing to add to.
		fb = r.data({.psn = r.psn(1), .a = true, .at = at});
		EXPECT_EQ(fb[0].hdr.tstamp, 0);
		// An unknown arrival is the time of the call.
		fb = r.data({.psn = r.psn(2),
			     .a = true,
			     .ts = true,
			     .tstamp = 0x200});
		EXPECT_EQ(fb[0].hdr.tstamp, 0x200);
		// A clock that seems to run backwards adds nothing.
		fb = r.data({.psn = r.psn(3),
			     .a = true,
			     .ts = true,
			     .tstamp = 0x300,
			     .at = r.now + kMs});
		EXPECT_EQ(fb[0].hdr.tstamp, 0x300);
	}
}

// OP-36: a receiver does not look at the resolution. It echoes the timestamp, and adds
// its own time in units of 128 ns.
TEST(Resolution, IsNotLookedAt)
{
	for (bool svc : {false, true})
		for (bool tsr : {false, true}) {
			Responder r;
			r.cfg.svc_time = svc;
			r.init();
			const auto fb = r.data({.psn = r.psn(0),
						.a = true,
						.ts = true,
						.tsr = tsr,
						.tstamp = 0x700,
						.at = r.now - 9 * kUnit});
			ASSERT_EQ(fb.size(), 2u);
			EXPECT_EQ(fb[0].hdr.tstamp, 0x700 + (svc ? 9 : 0));
			EXPECT_FALSE(fb[0].hdr.tsr);
		}
}

// OP-36: tsr is 0 in whatever a requester sends, and its unit is 128 ns.
TEST(Resolution, IsAlways128Nanoseconds)
{
	Requester r;
	r.init();
	for (int i = 0; i < 3; i++) {
		r.now += 1000 * kUnit + 3;
		const auto out = r.send_n(1);
		ASSERT_EQ(out.size(), 1u);
		EXPECT_TRUE(out[0].hdr.ts);
		EXPECT_FALSE(out[0].hdr.tsr);
		EXPECT_EQ(out[0].hdr.tstamp, (u16)(r.now / 128));
	}
	silence_probe(r);
	ASSERT_EQ(r.probes.size(), 1u);
	EXPECT_FALSE(r.probes[0].hdr.tsr);
}

// The time between the packet and its feedback counts, too.
TEST(ServiceTime, UntilTheFeedbackIsBuilt)
{
	Responder r;
	r.cfg.svc_time = true;
	r.init();
	mrc_hdr h{};
	mrc_rx rx{};
	mrc_tx_desc d;
	h.opcode = MRC_OP_PROBE;
	h.tstamp = 0x10;
	h.ftype = MRC_TS_FTYPE;
	rx.hdr = &h;
	rx.port = 1;
	mrc_resp_on_probe(&r.resp, &rx, r.now);
	ASSERT_TRUE(mrc_resp_next_feedback(&r.resp, r.now + 9 * kUnit, &d));
	EXPECT_EQ(d.hdr.tstamp, 0x19);
}

TEST(Penalty, ResponderSaysWhatItWasTold)
{
	Responder r;
	r.init();
	auto seth = [&] { return r.probe(1)[0].hdr.seth; };
	EXPECT_EQ(seth().rcv_cwnd_pen, 0);
	EXPECT_FALSE(seth().restore_cwnd);
	mrc_resp_set_penalty(&r.resp, 64, false);
	EXPECT_EQ(seth().rcv_cwnd_pen, 64);
	EXPECT_FALSE(seth().restore_cwnd);
	mrc_resp_set_penalty(&r.resp, 200, true);
	EXPECT_EQ(seth().rcv_cwnd_pen, 127);
	EXPECT_TRUE(seth().restore_cwnd);
	mrc_resp_set_penalty(&r.resp, 0, true);
	EXPECT_EQ(seth().rcv_cwnd_pen, 0);
	EXPECT_TRUE(seth().restore_cwnd);
}

TEST(Penalty, RequesterPassesItOnUnlessToldNotTo)
{
	for (bool ignore : {false, true}) {
		Requester r;
		r.cfg.ignore_pen = ignore;
		r.init();
		r.send_n(2);
		r.sack({.cack = r.psn(0), .pen = 64, .restore = false});
		EXPECT_EQ(r.rec.acks.back().pen, ignore ? 0 : 64);
		r.sack({.cack = r.psn(1), .pen = 0, .restore = true});
		EXPECT_EQ(r.rec.acks.back().restore, !ignore);
		EXPECT_EQ(r.count(MRC_CTR_RX_PENALTY), 1u);
	}
}

// §9.5: a probe shows the whole window, but small packets do not buy hundreds
// of SACKs each.
TEST(ProbeTrain, OncePerRoundTrip)
{
	Responder r;
	r.cfg.mpr = 255;
	r.init();
	for (int n = 1; n <= 5000; n += 2)
		r.data({.psn = r.psn(n)});
	auto train = r.probe(1);
	EXPECT_EQ(train.size(), 79u); // 5000 / 64, rounded up
	EXPECT_EQ(train[0].hdr.seth.sack_offset, 1);
	r.now += r.cfg.base_rtt - 1;
	auto one = r.probe(2);
	ASSERT_EQ(one.size(), 1u);
	EXPECT_TRUE(one[0].hdr.seth.pr);
	EXPECT_EQ(one[0].hdr.seth.probe_id, 2);
	EXPECT_EQ(r.count(MRC_CTR_TRAIN_LIMIT), 1u);
	// What it says is true: the newest 64.
	EXPECT_EQ(mrc_psn_add(one[0].hdr.seth.cack_psn,
			      one[0].hdr.seth.sack_offset + 63),
		  r.resp.max_rcv);
	for (int i = 0; i < 64; i++)
		EXPECT_EQ(one[0].hdr.seth.bitmap >> i & 1, (u64)(i & 1));
	r.now += 1;
	EXPECT_EQ(r.probe(3).size(), 79u);
}

// The widest window of one queue pair: its holes need 510 maps, and a second
// probe within the round trip gets one.
TEST(ProbeTrain, TheWidestWindow)
{
	Responder r;
	r.cfg.mpr = 255;
	r.init();
	const int n = 255 * 128;
	for (int i = 1; i < n; i += 2)
		r.data({.psn = r.psn(i)});
	EXPECT_EQ(r.probe(1).size(), 510u);
	EXPECT_EQ(r.probe(2).size(), 1u);
	EXPECT_EQ(r.count(MRC_CTR_TRAIN_LIMIT), 1u);
	// A PSN beyond the window brings no more.
	r.data({.psn = r.psn(n + 1)});
	r.now += r.cfg.base_rtt;
	EXPECT_EQ(r.probe(3).size(), 510u);
}

TEST(ProbeTrain, OneMapIsNeverLimited)
{
	Responder r;
	r.init();
	for (int n = 1; n <= 63; n++)
		r.data({.psn = r.psn(n)});
	for (u16 id = 0; id < 20; id++) {
		auto fb = r.probe(id);
		ASSERT_EQ(fb.size(), 1u) << id;
		EXPECT_EQ(fb[0].hdr.seth.sack_offset, 1);
		EXPECT_EQ(fb[0].hdr.seth.bitmap, ~1ull);
	}
	EXPECT_EQ(r.count(MRC_CTR_TRAIN_LIMIT), 0u);
}
