// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Trimming and every NACK reason: negotiation, classes, charges, refusals.
// MRC 1.0 §8.4, §8.5, §9.2, §9.4, §15, OP-19.
#include "engine_fixture.hpp"
#include "loss_fixture.hpp"

using namespace mrc_test;

namespace
{

constexpr u8 kReserved = 0x42;

const u8 kRecoverable[] = {MRC_NACK_TRIMMED,
			   MRC_NACK_TRIMMED_LASTHOP,
			   MRC_NACK_NO_BITMAP,
			   MRC_NACK_NO_PKT_BUFFER,
			   MRC_NACK_NO_RESOURCE,
			   MRC_NACK_PSN_OOR_WINDOW,
			   kReserved};

bool is_trim(u8 reason)
{
	return reason == MRC_NACK_TRIMMED || reason == MRC_NACK_TRIMMED_LASTHOP;
}

} // namespace

// §15: what may be trimmed must be answered by a NACK.
TEST(TrafficClass, FollowsTheNegotiation)
{
	for (bool trim : {false, true}) {
		Requester r;
		r.cfg.trim_nack = trim;
		r.init();
		auto out = r.send_n(2);
		for (const auto &d : out)
			EXPECT_EQ(d.tc, trim ? MRC_TC_TRIMMABLE : MRC_TC_DATA);
		silence_probe(r);
		ASSERT_EQ(r.probes.size(), 1u);
		EXPECT_EQ(r.probes[0].tc,
			  trim ? MRC_TC_TRIMMABLE : MRC_TC_DATA);
		EXPECT_TRUE(r.probes[0].ect);
		r.expire();
		out = r.send();
		ASSERT_EQ(out.size(), 2u);
		for (const auto &d : out)
			EXPECT_EQ(d.tc,
				  trim ? MRC_TC_TRIMMABLE_RETX : MRC_TC_DATA);
		// Also where just the transport ACK is missing.
		r.sack_all(r.psn(1));
		r.expire();
		out = r.send();
		ASSERT_EQ(out.size(), 1u);
		EXPECT_EQ(out[0].tc,
			  trim ? MRC_TC_TRIMMABLE_RETX : MRC_TC_DATA);
	}
}

TEST(TrafficClass, FeedbackIsControl)
{
	Responder r;
	r.init();
	std::vector<mrc_tx_desc> all = r.data({.psn = r.psn(0), .a = true});
	for (u8 trim : {MRC_TRIM_TRIMMED, MRC_TRIM_LASTHOP})
		for (const auto &d : r.data({.psn = r.psn(1), .trim = trim}))
			all.push_back(d);
	ASSERT_EQ(all.size(), 4u); // SACK, ACK, two NACKs
	for (const auto &d : all) {
		EXPECT_EQ(d.tc, MRC_TC_CONTROL);
		EXPECT_FALSE(d.ect);
	}
}

TEST(NackReasons, EachIsCountedOnce)
{
	const struct {
		u8 reason;
		mrc_counter ctr;
	} rows[] = {
		{MRC_NACK_TRIMMED, MRC_CTR_NACK_TRIMMED},
		{MRC_NACK_TRIMMED_LASTHOP, MRC_CTR_NACK_TRIMMED},
		{MRC_NACK_NO_BITMAP, MRC_CTR_NACK_SHORTAGE},
		{MRC_NACK_NO_PKT_BUFFER, MRC_CTR_NACK_SHORTAGE},
		{MRC_NACK_NO_RESOURCE, MRC_CTR_NACK_SHORTAGE},
		{MRC_NACK_PSN_OOR_WINDOW, MRC_CTR_NACK_WINDOW},
		{MRC_NACK_UNEXP_EVENT, MRC_CTR_NACK_FATAL},
		{kReserved, MRC_CTR_NACK_SHORTAGE},
	};
	for (const auto &row : rows) {
		Requester r;
		r.init();
		auto out = r.send_n(1);
		r.nack(r.psn(0), row.reason, out[0].entropy);
		EXPECT_EQ(r.count(row.ctr), 1u) << +row.reason;
		u64 sum = 0;
		for (mrc_counter c :
		     {MRC_CTR_NACK_TRIMMED, MRC_CTR_NACK_SHORTAGE,
		      MRC_CTR_NACK_WINDOW, MRC_CTR_NACK_FATAL})
			sum += r.count(c);
		EXPECT_EQ(sum, r.count(MRC_CTR_RX_NACK)) << +row.reason;
		EXPECT_EQ(r.req.state == MRC_REQ_ERROR,
			  row.reason == MRC_NACK_UNEXP_EVENT);
	}
}

// The whole table of §8.4, requester side: retransmission, state of the EV,
// what congestion control hears, retry charge.
TEST(NackReasons, Reactions)
{
	for (u8 reason : kRecoverable) {
		SCOPED_TRACE(+reason);
		Requester r;
		r.pcfg.trim_nack = r.cfg.trim_nack = true;
		r.init();
		auto out = r.send_n(2);
		r.now += 50 * kUs;
		r.nack(r.psn(1), reason, out[1].entropy);
		EXPECT_EQ(r.ev(out[1].ev).state, reason == MRC_NACK_TRIMMED
							 ? MRC_EV_SKIP
							 : MRC_EV_GOOD);
		EXPECT_EQ(r.ev(out[0].ev).state, MRC_EV_GOOD);
		ASSERT_EQ(r.rec.nacks.size(), 1u);
		EXPECT_EQ(r.rec.nacks[0].reason, reason);
		EXPECT_EQ(r.rec.nacks[0].rtt, 50 * kUs);
		EXPECT_TRUE(r.rec.lost.empty());
		EXPECT_EQ(r.req.retries, 1u);
		const bool held =
			!is_trim(reason) && reason != MRC_NACK_PSN_OOR_WINDOW;
		auto again = r.send();
		ASSERT_EQ(again.size(), held ? 0u : 1u);
		if (held) {
			r.now += r.req.base_rtt - 1;
			EXPECT_TRUE(r.send().empty());
			r.now += 1;
			again = r.send();
			ASSERT_EQ(again.size(), 1u);
		}
		EXPECT_EQ(again[0].hdr.psn, r.psn(1));
		EXPECT_TRUE(again[0].hdr.rtx);
		EXPECT_EQ(r.count(MRC_CTR_LOSS_NACK), 1u);
		// Known received by now: ignored, whatever it says.
		r.sack({.cack = r.psn(-1), .ack = 2, .base = 1, .map = 2});
		r.nack(r.psn(1), reason, again[0].entropy);
		EXPECT_TRUE(r.send().empty());
		EXPECT_EQ(r.req.n_lost, 0u);
		EXPECT_EQ(r.req.retries, 1u);
	}
}

// §8.4: cack is beyond it already, nothing to do.
TEST(NackReasons, OutOfWindowBelowCackIsIgnored)
{
	Requester r;
	r.init();
	r.send_n(4);
	r.sack_all(r.psn(2));
	r.nack(r.psn(2), MRC_NACK_PSN_OOR_WINDOW, 0);
	r.nack(r.psn(0), MRC_NACK_PSN_OOR_WINDOW, 0);
	EXPECT_EQ(r.req.n_lost, 0u);
	EXPECT_EQ(r.req.retries, 0u);
	r.nack(r.psn(3), MRC_NACK_PSN_OOR_WINDOW, 0);
	EXPECT_EQ(r.req.n_lost, 1u);
	EXPECT_EQ(r.req.retries, 1u);
}

TEST(NackReasons, FreshPathForTheRetransmission)
{
	Requester r;
	r.pcfg.n_ports = 1;
	r.init();
	auto out = r.send_n(1);
	for (int i = 0; i < 6; i++) {
		const int before = out[0].ev;
		r.now += kMs;
		r.nack(r.psn(0), MRC_NACK_TRIMMED, out[0].entropy);
		out = r.send();
		ASSERT_EQ(out.size(), 1u);
		EXPECT_NE(out[0].ev, before);
		r.sack({.cack = r.psn(-1)}); // alive
	}
}

// OP-19 and its like: incast or a responder that is out of memory refuses a
// whole window at once, which is one retry; refusing the copies is another one,
// but not before the interval of the attempt has passed.
TEST(NackCharge, OncePerRoundOfRefusals)
{
	for (u8 reason : kRecoverable) {
		SCOPED_TRACE(+reason);
		Requester r;
		r.cfg.linear_cnt = 2;
		r.cfg.exp_cnt = 0;
		r.cfg.rto = kMs * 1000;
		r.init();
		auto out = r.send_n(30);
		for (u32 round = 1; round <= 3; round++) {
			ASSERT_EQ(out.size(), 30u);
			r.now += r.req.base_rtt;
			for (const auto &d : out) {
				r.nack(d.hdr.psn, reason, d.entropy, 2,
				       d.hdr.tstamp);
				if (r.req.state == MRC_REQ_ERROR)
					break;
				r.now += kUs; // all within one base RTT
			}
			if (round == 3) {
				EXPECT_EQ(r.req.state, MRC_REQ_ERROR);
				EXPECT_EQ(r.reap()[0].second, MRC_WC_RETRY_EXC);
				break;
			}
			ASSERT_EQ(r.req.state, MRC_REQ_READY);
			EXPECT_EQ(r.req.retries, round);
			r.now += r.cfg.rto;
			out = r.send();
		}
	}
}

TEST(NackCharge, AllReasonsOncePerInterval)
{
	Requester r;
	r.cfg.linear_cnt = 2;
	r.cfg.exp_cnt = 0;
	r.init();
	auto out = r.send_n(1);
	const u64 start = r.now;
	for (u32 n = 0; r.now - start < r.cfg.rto; n++) {
		r.nack(r.psn(0), kRecoverable[n % std::size(kRecoverable)],
		       out[0].entropy);
		EXPECT_EQ(r.req.retries, 1u);
		r.now += 2 * r.req.base_rtt;
		out = r.send();
		ASSERT_EQ(out.size(), 1u);
	}
	r.nack(r.psn(0), MRC_NACK_TRIMMED, out[0].entropy);
	EXPECT_EQ(r.req.retries, 2u);
}

TEST(NackCharge, ProgressResetsIt)
{
	for (u8 reason : kRecoverable) {
		Requester r;
		r.cfg.linear_cnt = 1;
		r.cfg.exp_cnt = 0;
		r.cfg.rto = kMs * 1000;
		r.init();
		r.send_n(20);
		for (int n = 0; n < 20; n++) {
			r.now += 2 * r.req.base_rtt;
			r.nack(r.psn(n), reason, 0);
			ASSERT_EQ(r.req.state, MRC_REQ_READY) << n;
			r.now += 2 * r.req.base_rtt;
			ASSERT_EQ(r.send().size(), 1u);
			r.sack({.cack = r.psn(n), .rtx = true});
			EXPECT_EQ(r.req.retries, 0u);
		}
	}
}

// After a retransmission, the echo tells which copy was refused.
TEST(NackCopies, EchoIdentifiesTheCopy)
{
	Requester r;
	r.pcfg.n_evs = 1;
	r.pcfg.n_ports = 1; // the entropy cannot tell
	r.init();
	auto first = r.send_n(1);
	const u16 old_stamp = first[0].hdr.tstamp;
	r.now += kMs;
	r.nack(r.psn(0), MRC_NACK_TRIMMED_LASTHOP, first[0].entropy, 2,
	       old_stamp);
	auto again = r.send();
	ASSERT_EQ(again.size(), 1u);
	r.now += 40 * kUs;
	// The network had doubled the first copy.
	r.nack(r.psn(0), MRC_NACK_TRIMMED_LASTHOP, first[0].entropy, 2,
	       old_stamp);
	EXPECT_EQ(r.req.n_lost, 0u);
	EXPECT_EQ(r.rec.nacks.size(), 1u);
	r.nack(r.psn(0), MRC_NACK_TRIMMED_LASTHOP, first[0].entropy, 2,
	       again[0].hdr.tstamp);
	EXPECT_EQ(r.req.n_lost, 1u);
	ASSERT_EQ(r.rec.nacks.size(), 2u);
	EXPECT_EQ(r.rec.nacks[1].rtt, 40 * kUs); // although sent twice
}

// Without negotiation a trim is the network's mistake and stays unanswered.
TEST(TrimResponder, SilentUnlessNegotiated)
{
	Responder r;
	r.cfg.trim_nack = false;
	r.init();
	mrc_rx_action act;
	for (u8 trim : {MRC_TRIM_TRIMMED, MRC_TRIM_LASTHOP}) {
		auto fb = r.data({.psn = r.psn(0), .trim = trim}, &act);
		EXPECT_EQ(act, MRC_RX_DROP);
		EXPECT_TRUE(fb.empty());
	}
	r.data({.psn = r.psn(0)});
	EXPECT_TRUE(
		r.data({.psn = r.psn(0), .trim = MRC_TRIM_TRIMMED}).empty());
	EXPECT_EQ(r.count(MRC_CTR_RX_TRIMMED), 3u);
	EXPECT_EQ(r.count(MRC_CTR_TX_NACK), 0u);
}

TEST(TrimResponder, NackPerCodeAndNoTrace)
{
	Responder r;
	r.init();
	r.data({.psn = r.psn(0)});
	const u64 bytes = r.resp.rcvd_bytes;
	for (u8 trim : {MRC_TRIM_TRIMMED, MRC_TRIM_LASTHOP}) {
		auto fb = r.data({.psn = r.psn(5),
				  .rtx = true,
				  .ts = true,
				  .tstamp = 0x4321,
				  .trim = trim,
				  .entropy = 0xABCDC123});
		ASSERT_EQ(fb.size(), 1u);
		const mrc_hdr &h = fb[0].hdr;
		EXPECT_EQ(h.opcode, MRC_OP_NACK);
		EXPECT_EQ(h.neth.reason, trim == MRC_TRIM_LASTHOP
						 ? MRC_NACK_TRIMMED_LASTHOP
						 : MRC_NACK_TRIMMED);
		EXPECT_EQ(h.neth.nack_psn, r.psn(5));
		EXPECT_EQ(h.neth.entropy, 0xABCDC123u);
		EXPECT_EQ(h.neth.cc_type, 2);
		EXPECT_EQ(h.tstamp, 0x4321);
		EXPECT_EQ(h.psn, r.psn(5));
	}
	EXPECT_EQ(r.resp.rcvd_bytes, bytes);
	EXPECT_EQ(r.resp.max_rcv, r.psn(0));
	EXPECT_EQ(r.resp.ooo, 0u);
	EXPECT_EQ(r.placed, 1u);
	EXPECT_EQ(r.count(MRC_CTR_RX_DATA), 1u);
}

TEST(TrimResponder, DuplicateIsAnsweredBySack)
{
	Responder r;
	r.init();
	for (int n : {0, 1, 4})
		r.data({.psn = r.psn(n)});
	auto fb = r.data({.psn = r.psn(4), .trim = MRC_TRIM_TRIMMED});
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
	EXPECT_EQ(fb[0].hdr.seth.ack_psn_offset, 3);
	fb = r.data({.psn = r.psn(0), .trim = MRC_TRIM_LASTHOP});
	ASSERT_EQ(fb.size(), 2u); // and the transport ACK, §7.3
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
	EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
	EXPECT_EQ(r.count(MRC_CTR_TX_NACK), 0u);
	EXPECT_EQ(r.count(MRC_CTR_RX_DUP), 2u);
	// Beyond the window nothing can be said.
	mrc_rx_action act;
	EXPECT_TRUE(r.data({.psn = r.psn(2000), .trim = MRC_TRIM_TRIMMED}, &act)
			    .empty());
	EXPECT_EQ(act, MRC_RX_DROP);
}

// The shell is out of something: a NACK, and nothing has happened.
TEST(Refuse, LeavesNoTrace)
{
	for (u8 reason : {MRC_NACK_NO_BITMAP, MRC_NACK_NO_PKT_BUFFER,
			  MRC_NACK_NO_RESOURCE}) {
		Responder r;
		r.init();
		r.data({.psn = r.psn(0)});
		const u64 bytes = r.resp.rcvd_bytes;
		mrc_rx_action act;
		auto fb = r.data({.psn = r.psn(1),
				  .a = true,
				  .ce = true,
				  .ts = true,
				  .tstamp = 0x1111,
				  .refuse = (u8)reason},
				 &act);
		EXPECT_EQ(act, MRC_RX_DONE);
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_NACK);
		EXPECT_EQ(fb[0].hdr.neth.reason, reason);
		EXPECT_EQ(fb[0].hdr.neth.nack_psn, r.psn(1));
		EXPECT_EQ(fb[0].hdr.tstamp, 0x1111);
		EXPECT_EQ(r.resp.cack, r.psn(0));
		EXPECT_EQ(r.resp.max_rcv, r.psn(0));
		EXPECT_EQ(r.resp.rcvd_bytes, bytes);
		EXPECT_EQ(r.count(MRC_CTR_RX_REFUSED), 1u);
		EXPECT_EQ(r.count(MRC_CTR_RX_DATA), 1u);
		EXPECT_EQ(r.placed, 1u);
		// Its retransmission is as good as the first.
		r.data({.psn = r.psn(1), .rtx = true}, &act);
		EXPECT_EQ(act, MRC_RX_PLACE);
		EXPECT_EQ(r.resp.cack, r.psn(1));
	}
}

TEST(Refuse, OtherReasonsBecomeNoResource)
{
	Responder r;
	r.init();
	for (u8 reason : {(u8)MRC_NACK_TRIMMED, (u8)MRC_NACK_UNEXP_EVENT,
			  (u8)MRC_NACK_PSN_OOR_WINDOW, kReserved}) {
		auto fb = r.data({.psn = r.psn(3), .refuse = reason});
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_NO_RESOURCE);
	}
}

// What would not have been taken anyway is treated as ever.
TEST(Refuse, OnlyWhatIsNew)
{
	Responder r;
	r.init();
	const u8 no = MRC_NACK_NO_RESOURCE;
	r.data({.psn = r.psn(0)});
	r.data({.psn = r.psn(5)});
	auto fb = r.data({.psn = r.psn(0), .refuse = no});
	ASSERT_EQ(fb.size(), 2u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
	EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
	fb = r.data({.psn = r.psn(5), .refuse = no});
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
	fb = r.data({.psn = r.psn(3000), .refuse = no});
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_PSN_OOR_WINDOW);
	fb = r.data({.psn = r.psn(2), .trim = MRC_TRIM_LASTHOP, .refuse = no});
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_TRIMMED_LASTHOP);
	fb = r.data({.psn = r.psn(2), .opcode = 0xC0, .refuse = no});
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_UNEXP_EVENT);
	EXPECT_EQ(r.count(MRC_CTR_RX_REFUSED), 0u);
	// A dead responder says nothing at all.
	r.data({.psn = r.psn(1), .place = MRC_SYN_NAK_ACCESS});
	mrc_rx_action act;
	EXPECT_TRUE(r.data({.psn = r.psn(2), .refuse = no}, &act).empty());
	EXPECT_EQ(act, MRC_RX_DROP);
}

// OP-22, §9.3: a window of PSNs where packets are trimmed, one and a half
// elsewhere.
TEST(TrimLoss, DistanceIsOneWindow)
{
	for (bool trim : {false, true}) {
		OnePlane r;
		r.cfg.trim_nack = trim;
		r.init();
		spaced(r, 20);
		const int range = trim ? 8 : kRange;
		show(r, range - 1);
		EXPECT_FALSE(r.lost(r.psn(0))) << trim;
		show(r, range);
		EXPECT_TRUE(r.lost(r.psn(0))) << trim;
		EXPECT_FALSE(r.lost(r.psn(1))) << trim;
	}
}
