// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The hosts, links, queues and the time that engines are tested with.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "engine.hpp"
#include "model/link.hpp"
#include "model/qp.hpp"
#include "model/queue.hpp"
#include "model/time.hpp"

namespace
{

using namespace mrc_model;

// Time ------------------------------------------------------------------------

struct Log {
	std::vector<std::string> what;

	bool step(Time<std::string> &t, u64 until = MRC_NEVER)
	{
		return t.step(
			until,
			[this](const std::string &e) { what.push_back(e); },
			[this](u32 who) {
				what.push_back("alarm " + std::to_string(who));
			});
	}
};

TEST(ModelTime, EventsThenAlarmsInTheirOrder)
{
	Time<std::string> t(10, 3);
	Log log;

	EXPECT_EQ(t.next(), MRC_NEVER);
	t.alarm(2, 20);
	t.alarm(0, 20);
	t.alarm(1, 19);
	t.at(20, "a");
	t.at(30, "c");
	t.at(20, "b");
	EXPECT_EQ(t.events(), 3u);
	EXPECT_EQ(t.next(), 19u);
	EXPECT_FALSE(log.step(t, 18));
	EXPECT_EQ(t.now(), 10u);
	while (log.step(t))
		;
	EXPECT_EQ(log.what,
		  (std::vector<std::string>{"alarm 1", "a", "b", "alarm 0",
					    "alarm 2", "c"}));
	EXPECT_EQ(t.now(), 30u);
	EXPECT_EQ(t.events(), 0u);
}

TEST(ModelTime, WhatIsOverdueHappensNow)
{
	Time<std::string> t(100, 1);
	Log log;

	t.at(5, "late");
	EXPECT_EQ(t.next(), 5u);
	EXPECT_TRUE(log.step(t));
	EXPECT_EQ(t.now(), 100u);
	t.pass(200);
	t.pass(150);
	EXPECT_EQ(t.now(), 200u);
	t.alarm(0, 120);
	EXPECT_TRUE(log.step(t, 120));
	EXPECT_EQ(t.now(), 200u);
	EXPECT_FALSE(log.step(t));
}

TEST(ModelTime, WhatHappensMayMakeMore)
{
	Time<int> t(1, 1);
	int last = 0;

	t.at(1, 1);
	while (t.step(
		MRC_NEVER,
		[&](int n) {
			EXPECT_EQ(n, last + 1);
			last = n;
			if (n < 100) {
				t.at(t.now() + 10, n + 1);
				t.alarm(0, t.now() + 5);
			}
		},
		[&](u32) { EXPECT_EQ(t.now() % 10, 6u); }))
		;
	EXPECT_EQ(last, 100);
	EXPECT_EQ(t.now(), 991u);
}

// Against the plainest way to do it.
TEST(ModelTime, AlarmsMoveAsTheyAreTold)
{
	constexpr u32 kOwners = 37;
	std::vector<u64> plain(kOwners, MRC_NEVER);
	Alarms alarms(kOwners);
	Rng rng(1);

	for (int i = 0; i < 20000; i++) {
		const u32 who = (u32)rng.below(kOwners);

		plain[who] = rng.chance(300000) ? MRC_NEVER : rng.below(50);
		alarms.set(who, plain[who]);

		const auto least = std::min_element(plain.begin(), plain.end());

		ASSERT_EQ(alarms.next(), *least);
		if (*least != MRC_NEVER) {
			ASSERT_EQ(alarms.first(), least - plain.begin());
		}
	}
}

// Links -----------------------------------------------------------------------

mrc_tx_desc write_desc(u32 len = 256, u8 tc = MRC_TC_TRIMMABLE)
{
	mrc_tx_desc d{};

	d.hdr.opcode = MRC_OP_WRITE_ONLY;
	d.hdr.psn = 0x123456;
	d.hdr.dqp = 0x99;
	d.hdr.pkey = MRC_PKEY_DEFAULT;
	d.hdr.reth.dmalen = len;
	d.hdr.pad = -len & 3;
	d.hdr.payload_len = len;
	d.hdr.hdr_len = (u16)mrc_hdr_len(&d.hdr);
	d.tc = tc;
	d.port = 3;
	d.entropy = 0xABCD1234;
	d.data = true;
	d.len = len;
	return d;
}

mrc_tx_desc ack_desc(u8 syndrome = MRC_SYN_ACK)
{
	mrc_tx_desc d{};

	d.hdr.opcode = MRC_OP_ACK;
	d.hdr.aeth.syndrome = syndrome;
	d.hdr.hdr_len = (u16)mrc_hdr_len(&d.hdr);
	d.tc = MRC_TC_CONTROL;
	d.port = 1;
	return d;
}

TEST(ModelPacket, AllThreeSayTheSame)
{
	const mrc_tx_desc d = write_desc(255);
	const Packet whole(d);
	const HeadPacket head(d);
	const HdrPacket hdr(d);
	mrc_hdr a{}, b{};

	ASSERT_EQ(whole.parse(a), MRC_DROP_NONE);
	ASSERT_EQ(head.parse(b), MRC_DROP_NONE);
	for (const mrc_hdr *h :
	     std::initializer_list<const mrc_hdr *>{&a, &b, &hdr.hdr}) {
		EXPECT_EQ(h->opcode, MRC_OP_WRITE_ONLY);
		EXPECT_EQ(h->psn, 0x123456u);
		EXPECT_EQ(h->payload_len, 255u);
		EXPECT_EQ(h->pad, 1);
		EXPECT_EQ(h->hdr_len, d.hdr.hdr_len);
	}
	EXPECT_EQ(whole.psn(), 0x123456u);
	EXPECT_EQ(whole.size(), d.hdr.hdr_len + 256u + MRC_ICRC_LEN);
	// MRC 1.0 §7.1, and what Ethernet adds.
	EXPECT_EQ(hdr.size, whole.size() + 8 + 40 + 38);
	EXPECT_EQ(whole.entropy, 0xABCD1234u);
	EXPECT_EQ(Packet(d, false).entropy, 0x1234u);
	EXPECT_EQ(whole.port, 3);
	EXPECT_EQ(whole.payload(a), &whole.bytes[a.hdr_len]);
	EXPECT_TRUE(is_data(whole) && is_data(head) && is_data(hdr));
	EXPECT_FALSE(is_control(whole) || is_control(head));
	for (u8 syn : {MRC_SYN_ACK, MRC_SYN_NAK_ACCESS}) {
		const mrc_tx_desc f = ack_desc(syn);

		EXPECT_TRUE(is_control(Packet(f)) && is_control(HdrPacket(f)));
		EXPECT_EQ(Packet(f).nak(), syn != MRC_SYN_ACK);
		EXPECT_EQ(HeadPacket(f).nak(), syn != MRC_SYN_ACK);
		EXPECT_EQ(HdrPacket(f).nak(), syn != MRC_SYN_ACK);
	}
}

TEST(ModelPacket, TrimmedOnesAreReadAsSuch)
{
	Packet p(write_desc());
	mrc_hdr h{};

	p.cut(16);
	p.trim = MRC_TRIM_TRIMMED;
	EXPECT_EQ(p.size(), 16u);
	EXPECT_EQ(p.parse(h), MRC_DROP_NONE);
	EXPECT_EQ(h.psn, 0x123456u);
	p.trim = MRC_TRIM_NONE;
	EXPECT_EQ(p.parse(h), MRC_DROP_SHORT);
}

TEST(ModelLink, OneAfterTheOther)
{
	Line line;

	EXPECT_EQ(line.take(100, 10), 110u);
	EXPECT_EQ(line.take(105, 10), 120u);
	EXPECT_EQ(line.free(), 120u);
	EXPECT_EQ(line.take(200, 10), 210u);
}

TEST(ModelLink, TimesAreWithinTheirBounds)
{
	const Way plain{.delay = 1000};
	const Way way{.delay = 1000,
		      .jitter = 50,
		      .detour_ppm = 250000,
		      .detour = 2000,
		      .detour_max = 3000};
	u64 least[2] = {MRC_NEVER, MRC_NEVER}, most[2] = {};
	u32 late = 0;
	Rng rng(3), same(3);

	EXPECT_EQ(plain.time(rng), 1000u);
	// Nothing was drawn.
	EXPECT_EQ(rng.next(), same.next());
	for (int i = 0; i < 20000; i++) {
		const u64 t = way.time(rng);
		const bool l = t >= 3000;

		late += l;
		least[l] = std::min(least[l], t);
		most[l] = std::max(most[l], t);
	}
	EXPECT_EQ(least[0], 1000u);
	EXPECT_EQ(most[0], 1049u);
	EXPECT_LT(least[1], 3020u);
	EXPECT_GT(most[1], 4020u);
	EXPECT_LT(most[1], 4050u);
	EXPECT_NEAR(late, 5000, 300);
}

TEST(ModelLink, PausesEnd)
{
	Pauses p(1000, 100, 50);
	Rng rng(5);
	u64 stood = 0, at = 1000;

	for (int i = 0; i < 100000; i++, at++) {
		const u64 then = p.after(at, rng);

		ASSERT_GE(then, at);
		ASSERT_LT(then, at + 50);
		stood += then > at;
	}
	// 25 of 125, on average.
	EXPECT_NEAR((double)stood / 100000, 0.2, 0.03);
}

TEST(ModelFaults, AsOftenAsIsSaid)
{
	const Faults f({.loss = 100000,
			.feedback_loss = 200000,
			.dup = 50000,
			.dup_within = 100,
			.ce = 300000,
			.trim = 400000});
	const Packet data(write_desc()), ack(ack_desc());
	std::map<std::string, int> n;
	Rng rng(7);

	for (int i = 0; i < 20000; i++) {
		Packet p = data, a = ack, fixed(write_desc(256, MRC_TC_DATA));
		u64 later;

		n["loss"] += f.lost(p, rng);
		n["feedback"] += f.lost(a, rng);
		f.mark(p, rng);
		n["ce"] += p.ce;
		f.mark(a, rng);
		ASSERT_FALSE(a.ce);
		ASSERT_TRUE(f.trim(p, rng));
		ASSERT_EQ(p.trim != MRC_TRIM_NONE, p.size() < data.size());
		n["trim"] += p.trim != MRC_TRIM_NONE;
		n["lasthop"] += p.trim == MRC_TRIM_LASTHOP;
		ASSERT_TRUE(f.trim(a, rng));
		ASSERT_EQ(a.trim, MRC_TRIM_NONE);
		// It must not be trimmed, so it is lost.
		n["full"] += !f.trim(fixed, rng);
		ASSERT_EQ(fixed.trim, MRC_TRIM_NONE);
		if (f.twice(rng, &later)) {
			n["dup"]++;
			ASSERT_LT(later, 100u);
		}
	}
	EXPECT_NEAR(n["loss"], 2000, 200);
	EXPECT_NEAR(n["feedback"], 4000, 250);
	EXPECT_NEAR(n["ce"], 6000, 300);
	EXPECT_NEAR(n["trim"], 8000, 300);
	EXPECT_NEAR(n["lasthop"], 4000, 250);
	EXPECT_NEAR(n["full"], 8000, 300);
	EXPECT_NEAR(n["dup"], 1000, 150);
}

TEST(ModelFaults, SomeFeedbackIsSpared)
{
	const Faults f({.feedback_loss = 1000000,
			.lose_acks = false,
			.lose_naks = true});
	const Faults g({.feedback_loss = 1000000, .lose_naks = false});
	const Packet ack(ack_desc()), nak(ack_desc(MRC_SYN_NAK_ACCESS));
	Rng rng(9);

	EXPECT_FALSE(f.lost(ack, rng));
	EXPECT_TRUE(f.lost(nak, rng));
	EXPECT_TRUE(g.lost(ack, rng));
	EXPECT_FALSE(g.lost(nak, rng));
}

TEST(ModelFaults, RogueTrimsSpareNothing)
{
	const Faults f({.rogue_trim = 1000000});
	Packet p(write_desc(256, MRC_TC_DATA));
	Rng rng(9);

	EXPECT_TRUE(f.trim(p, rng));
	EXPECT_NE(p.trim, MRC_TRIM_NONE);
}

TEST(ModelFaults, PlanesAndPathsAreCutUntilTheEnd)
{
	const Packet p(write_desc());
	Rng rng(11), same(11);
	Faults f({.loss = 1000000, .dup = 1000000, .ce = 1000000});
	u64 later;

	f.end();
	f.cut_ports = 1u << 2;
	EXPECT_FALSE(f.lost(p, rng));
	f.cut_ports = 1u << 3;
	EXPECT_TRUE(f.lost(p, rng));
	f.cut_ports = 0;
	f.cut_paths = {1, p.entropy};
	EXPECT_TRUE(f.lost(p, rng));
	f.end();
	EXPECT_FALSE(f.lost(p, rng));
	EXPECT_FALSE(f.twice(rng, &later));
	EXPECT_EQ(rng.next(), same.next());
}

// Queues ----------------------------------------------------------------------

TEST(ModelQueue, SendsInTurnAtItsRate)
{
	Queue q({.rate = Rate(80), .ecn = false});
	HdrPacket p(write_desc());
	Rng rng(1);
	u64 at;

	EXPECT_EQ(Rate(80).ns(1000), 80u);
	ASSERT_EQ(q.offer(p, 1000, 500, rng, &at), Queue::Fate::Sent);
	EXPECT_EQ(at, 580u);
	ASSERT_EQ(q.offer(p, 1000, 520, rng, &at), Queue::Fate::Sent);
	EXPECT_EQ(at, 660u);
	EXPECT_EQ(q.backlog(520), 2000u);
	EXPECT_EQ(q.backlog(580), 1000u);
	EXPECT_EQ(q.backlog(660), 0u);
	EXPECT_EQ(q.most, 2000u);
	EXPECT_EQ(q.sent, 2u);
	EXPECT_NEAR(q.average(1000) * 1000, 1000 * 20 + 2000 * 60 + 1000 * 80,
		    1);
	q.reset(1000);
	EXPECT_EQ(q.average(2000), 0);
	EXPECT_EQ(q.most + q.sent, 0u);
}

TEST(ModelQueue, TrimsWhatMayBeAndDropsTheRest)
{
	for (bool trim : {false, true}) {
		Queue q({.limit = 3000, .ecn = false, .trim = trim});
		HdrPacket p(write_desc()), fixed(write_desc(256, MRC_TC_DATA));
		Rng rng(1);
		u64 at = 0;

		for (int i = 0; i < 3; i++)
			ASSERT_EQ(q.offer(p, 1000, 500, rng, &at),
				  Queue::Fate::Sent);
		EXPECT_EQ(q.offer(fixed, 1000, 500, rng, &at),
			  Queue::Fate::Dropped);
		EXPECT_EQ(q.offer(p, 1000, 500, rng, &at),
			  trim ? Queue::Fate::Trimmed : Queue::Fate::Dropped);
		EXPECT_EQ(p.trim, trim ? MRC_TRIM_LASTHOP : MRC_TRIM_NONE);
		EXPECT_EQ(at, trim ? 500u : 740u);
		EXPECT_EQ(q.trimmed, trim ? 1u : 0u);
		EXPECT_EQ(q.dropped, trim ? 1u : 2u);
	}
}

TEST(ModelQueue, MarksBetweenItsThresholds)
{
	struct {
		u32 found;
		double share;
	} all[] = {{0, 0},	  {10000, 0}, {20000, 0.25},
		   {40000, 0.75}, {50000, 1}, {60000, 1}};
	Rng rng(3);

	for (const auto &c : all) {
		u32 marked = 0;

		for (int i = 0; i < 2000; i++) {
			Queue q({.rate = Rate(1000),
				 .mark_from = 10000,
				 .mark_to = 50000});
			HdrPacket fill(write_desc()), p(write_desc());
			u64 at;

			if (c.found)
				q.offer(fill, c.found, 0, rng, &at);
			q.offer(p, 1000, 0, rng, &at);
			marked += p.ce;
		}
		EXPECT_NEAR(marked / 2000.0, c.share, 0.04) << c.found;
	}
}

// Queue pairs -----------------------------------------------------------------

// A message stream from one to the other, over what loses and reorders.
struct Stream {
	struct Event {
		bool back;
		HdrPacket packet;
	};

	explicit Stream(u64 seed) : time(1000, 1), rng(seed)
	{
		QpCfg c;

		ctr.n_ports = 2;
		c.paths.n_evs = 16;
		c.paths.n_ports = 2;
		c.paths.ipv6 = true;
		c.paths.seed = seed;
		c.paths.ctr = &ctr;
		c.cc.mtu = mrc_nominal_size(36, 1024);
		c.cc.now = time.now();
		c.req.sq_depth = 4;
		c.req.pmtu = 1024;
		c.req.mpr = 8;
		c.req.max_wimm = 8;
		c.req.qpn = 1;
		c.req.dqpn = 2;
		c.req.rto = 4000000;
		c.req.linear_cnt = 7;
		c.req.use_ts = true;
		c.req.ctr = &ctr;
		c.resp.pmtu = 1024;
		c.resp.mpr = 8;
		c.resp.max_wimm = 8;
		c.resp.qpn = 2;
		c.resp.dqpn = 1;
		c.resp.remote_write = true;
		c.resp.late_stash = true;
		c.resp.ctr = &ctr;
		c.responder = false;
		EXPECT_TRUE(a.init(c));
		c.responder = true;
		c.requester = false;
		EXPECT_TRUE(b.init(c));
		a.pump(time.now(), Sender{*this});
	}

	struct Sender {
		Stream &s;

		void completed(u32, mrc_wc_status status)
		{
			EXPECT_EQ(status, MRC_WC_SUCCESS);
			s.done++;
		}
		bool next(mrc_wr &wr)
		{
			wr.op = MRC_WR_WRITE_IMM;
			wr.len = 5000;
			wr.imm = s.posted;
			return s.posted < 50 && ++s.posted;
		}
		void send(const mrc_tx_desc &d) { s.carry(d, false); }
	};
	struct Receiver {
		Stream &s;

		u32 receives() const { return 0; }
		u8 place(const mrc_rx &rx)
		{
			s.bytes += rx.hdr->payload_len;
			return 0;
		}
		u8 deliver(const mrc_recv_msg &imm)
		{
			EXPECT_EQ(imm.imm, s.delivered);
			s.delivered++;
			return 0;
		}
		void send(const mrc_tx_desc &d) { s.carry(d, true); }
	};

	void carry(const mrc_tx_desc &d, bool back)
	{
		const HdrPacket p(d);

		course = course * 31 + p.opcode() * 7 + p.entropy + time.now();
		if (!faults.lost(p, rng))
			time.at(time.now() + way.time(rng), {back, p});
	}

	void run()
	{
		while (done < 50 &&
		       time.step(
			       1000000000000, [this](Event e) { take(e); },
			       [this](u32) {
				       mrc_req_on_deadline(&a.req, time.now());
				       a.pump(time.now(), Sender{*this});
			       }))
			time.alarm(0, mrc_req_deadline(&a.req));
	}

	void take(Event &e)
	{
		if (e.back) {
			a.feedback(e.packet.hdr, e.packet.port, time.now());
			a.pump(time.now(), Sender{*this});
		} else {
			b.receive(e.packet.rx(e.packet.hdr, 0), time.now(),
				  Receiver{*this});
		}
	}

	Time<Event> time;
	Rng rng;
	Faults faults{{.loss = 50000, .feedback_loss = 50000}};
	Way way{.delay = 10000, .jitter = 20000};
	mrc_counters ctr{};
	Qp a, b;
	u32 posted = 0, done = 0, delivered = 0;
	u64 bytes = 0;
	u64 course = 0; // of everything that was sent, and when
};

TEST(ModelQp, DeliversOverABadNetwork)
{
	Stream s(1);

	s.run();
	EXPECT_EQ(s.done, 50u);
	EXPECT_EQ(s.delivered, 50u);
	EXPECT_EQ(s.bytes, 50u * 5000);
	EXPECT_GT(mrc_test::counter(s.ctr, MRC_CTR_TX_RTX), 0u);
}

TEST(ModelQp, SameSeedSameCourse)
{
	Stream s(7), t(7), u(8);

	s.run();
	t.run();
	u.run();
	EXPECT_EQ(s.course, t.course);
	EXPECT_NE(s.course, u.course);
}

// Nothing is shared, so threads do not change anything.
TEST(ModelQp, ManyInThreads)
{
	u64 alone[4], together[4];
	std::vector<std::thread> threads;

	for (u64 i = 0; i < 4; i++) {
		Stream s(i);

		s.run();
		alone[i] = s.course;
	}
	for (u64 i = 0; i < 4; i++)
		threads.emplace_back([i, &together] {
			Stream s(i);

			s.run();
			together[i] = s.course;
		});
	for (std::thread &t : threads)
		t.join();
	for (u64 i = 0; i < 4; i++)
		EXPECT_EQ(alone[i], together[i]);
}

TEST(ModelQp, RefusesWhatEnginesRefuse)
{
	QpCfg c;
	Qp qp;

	EXPECT_FALSE(qp.init(c));
}

} // namespace
