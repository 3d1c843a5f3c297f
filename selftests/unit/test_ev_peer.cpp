// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Port status that a peer reports, MRC 1.0 §12.3 "Trust": an update starts probes, and
// their answers decide. And the pace of probes, §11.6.
#include "paths.hpp"

#include <set>

using mrc_test::paths_cfg;
using mrc_test::Paths;

namespace
{

constexpr u64 kUs = 1000, kMs = 1000 * kUs, kSecond = 1000 * kMs;
constexpr u64 kStart = 100 * kMs;
constexpr u32 kNothing = ~0u;

u32 mask(std::initializer_list<unsigned> ports)
{
	u32 m = 0;

	for (unsigned p : ports)
		m |= 1u << p;
	return m;
}

class EvPeer : public testing::Test
{
protected:
	// 16 EVs on 2 planes, a round trip of 100 us.
	Paths p{paths_cfg(16, 2)};
	u64 now = kStart;
	u16 id = 0;

	void SetUp() override { p->pace->srtt = 100 * kUs; }

	void said(u32 status)
	{
		mrc_paths_peer_status(&p.p, status, now);
		p.check();
	}

	bool used(u8 port) { return mrc_paths_port_ok(&p.p, port); }

	// The probe that is due: its port, 0 if there is none.
	unsigned probe()
	{
		int ev = mrc_paths_probe_due(&p.p, now);

		if (ev < 0)
			return 0;
		mrc_paths_probe_sent(&p.p, ev, ++id, now);
		p.check();
		return mrc_paths_port(&p.p, (u16)ev);
	}

	// Time passes to the next one.
	unsigned next_probe()
	{
		for (int i = 0; i < 10; i++) {
			now = std::max<u64>(now, mrc_paths_next_probe(&p.p));
			if (unsigned port = probe())
				return port;
		}
		return 0;
	}

	u64 refused() { return p.total(MRC_CTR_PORT_STATUS_REFUSED); }

	void answered(u8 port, u64 sent_at, u8 via)
	{
		mrc_paths_heard(&p.p, port, sent_at, via, now);
		p.check();
	}

	std::set<unsigned> picks(int n)
	{
		std::set<unsigned> ports;

		while (n--) {
			int ev = mrc_paths_pick(&p.p, now);

			ports.insert(ev < 0 ? 0 : mrc_paths_port(&p.p, (u16)ev));
		}
		return ports;
	}
};

TEST_F(EvPeer, DownIsLeftAtOnceAndAsked)
{
	said(mask({1}));
	EXPECT_FALSE(used(2));
	EXPECT_EQ(picks(40), std::set<unsigned>{1});
	EXPECT_LE(mrc_paths_next_probe(&p.p), now);
	EXPECT_EQ(probe(), 2u);
	EXPECT_EQ(probe(), 0u) << "one question at a time";
	for (unsigned i = 0; i < 16; i++)
		EXPECT_EQ(p.state(i), MRC_EV_GOOD);
	// Never answered: probed at doubling intervals, as long as it takes.
	u64 last = now, wait = MRC_EV_PROBE_MIN_NS;
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(next_probe(), 2u);
		ASSERT_GE(now - last, std::min<u64>(wait, MRC_EV_PROBE_BUSY_NS));
		ASSERT_LE(now - last, MRC_EV_PROBE_MAX_NS);
		wait *= 2;
		last = now;
	}
	EXPECT_FALSE(used(2));
}

// A packet sent before the update may have arrived before the port went down. An answer
// through another port may come from a peer whose port only receives.
TEST_F(EvPeer, OnlyAnAnswerThroughItOverrules)
{
	const u64 before = now - 1;

	said(mask({1}));
	answered(2, before, 2);
	answered(2, now, 2);
	EXPECT_FALSE(used(2));
	now += kMs;
	ASSERT_EQ(probe(), 2u);
	answered(2, now, 1);
	answered(2, now, 0);
	answered(1, now, 1);
	EXPECT_FALSE(used(2));
	answered(2, now, 2);
	EXPECT_TRUE(used(2));
	EXPECT_EQ(p->probing, 0u);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	// A repeated update changes nothing.
	said(mask({1}));
	EXPECT_TRUE(used(2));
}

// A port that is reported up is probed before it is used. Any answer is enough.
TEST_F(EvPeer, UpIsAskedAtOnce)
{
	for (u8 via : {0, 1, 2}) {
		said(mask({1}));
		for (int i = 0; i < 12; i++)
			ASSERT_EQ(next_probe(), 2u);
		now += 2 * kMs;
		said(mask({1, 2}));
		EXPECT_FALSE(used(2));
		EXPECT_LE(mrc_paths_next_probe(&p.p), now);
		ASSERT_EQ(probe(), 2u);
		// If the path is not there yet, the next probe comes soon.
		const u64 last = now;
		ASSERT_EQ(next_probe(), 2u);
		EXPECT_LE(now - last, 2 * MRC_EV_PROBE_MIN_NS);
		now++;
		answered(2, now, via);
		EXPECT_TRUE(used(2));
		EXPECT_EQ(p->walk[2].distrust_until, 0u) << "nobody lied";
		said(kNothing);
		now += kMs;
	}
}

// After a status has expired, one answer is needed, and any is enough.
TEST_F(EvPeer, ExpiryIsNoProof)
{
	said(mask({1}));
	for (int i = 0; i < 20; i++)
		ASSERT_EQ(next_probe(), 2u);
	answered(2, now, 1);
	EXPECT_FALSE(used(2));
	now += 15 * kSecond;
	said(kNothing);
	EXPECT_FALSE(used(2));
	ASSERT_EQ(next_probe(), 2u);
	now++;
	answered(2, now, 1);
	EXPECT_TRUE(used(2));
	EXPECT_EQ(p->walk[2].distrust_until, 0u);
}

// A mask without a common plane: all planes are used as before.
TEST_F(EvPeer, NoCommonPlane)
{
	for (u32 status : {0u, mask({3, 4, 16})}) {
		said(status);
		EXPECT_EQ(picks(40), (std::set<unsigned>{1, 2}));
		EXPECT_EQ(std::set<unsigned>({probe(), probe()}),
			  (std::set<unsigned>{1, 2}));
		now++;
		// If no port is left, any answer shows that the update is wrong.
		answered(2, now, 1);
		EXPECT_TRUE(used(2));
		EXPECT_EQ(picks(40), std::set<unsigned>{2});
		answered(1, now, 2);
		EXPECT_FALSE(used(1)) << "one is left, so this is no proof";
		answered(1, now, 1);
		EXPECT_EQ(picks(40), (std::set<unsigned>{1, 2}));
		now += 20 * kSecond;
		said(mask({1, 2}));
	}
}

// Only the other plane is up here.
TEST_F(EvPeer, NoCommonPlaneBecauseOfUs)
{
	said(mask({1}));
	mrc_paths_set_ports(&p.p, mask({2}));
	EXPECT_EQ(picks(20), std::set<unsigned>{2});
	p.check();
	// A port that is down is not probed. When it comes up it is probed
	// at once.
	said(0);
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(next_probe(), 2u);
	now += kMs;
	mrc_paths_set_ports(&p.p, mask({1, 2}));
	p.check();
	ASSERT_EQ(probe(), 1u);
}

// The port that it leaves has bad EVs only.
TEST_F(EvPeer, BadEvsAndPortsCalledDownTakeTurns)
{
	p->min_active = 0;
	for (unsigned i = 0; i < 16; i++)
		if (p.port(i) == 1)
			mrc_paths_verdict(&p.p, (int)i, MRC_EVV_TIMEOUT, now);
	EXPECT_EQ(picks(20), std::set<unsigned>{2});
	said(mask({1}));
	EXPECT_EQ(picks(20), (std::set<unsigned>{1, 2}));
}

// After a wrong update, the next ones are verified before they are believed.
TEST_F(EvPeer, WrongWordCostsCredit)
{
	said(mask({1}));
	ASSERT_EQ(probe(), 2u);
	now++;
	answered(2, now, 2);
	EXPECT_EQ(refused(), 1u);
	for (int i = 0; i < 50; i++) {
		now += 10 * kMs;
		said(mask({1, 2}));
		said(mask({1}));
		ASSERT_TRUE(used(2)) << "not left before it is probing";
		ASSERT_EQ(probe(), 2u);
		now++;
		answered(2, now, 2);
	}
	// This update is true.
	said(mask({1, 2}));
	said(mask({1}));
	now += kMs;
	ASSERT_EQ(probe(), 2u);
	ASSERT_TRUE(used(2));
	now = mrc_paths_next_probe(&p.p);
	probe();
	EXPECT_FALSE(used(2));
	p.check();
	// It comes up, and goes down when the distrust is over.
	said(mask({1, 2}));
	now += kMs;
	ASSERT_EQ(next_probe(), 2u);
	now++;
	answered(2, now, 2);
	now += MRC_EV_DISTRUST_NS;
	said(mask({1}));
	EXPECT_FALSE(used(2));
}

// Updates that come faster than answers do not change the pace of probes.
TEST_F(EvPeer, FlickeringWords)
{
	unsigned probes = 0;
	u64 sent = 0;

	for (u64 end = now + kSecond; now < end; now += 20 * kUs) {
		said(now / (20 * kUs) & 1 ? mask({1}) : mask({1, 2}));
		while (probe())
			probes++;
	}
	EXPECT_LE(probes, kSecond / MRC_EV_PROBE_MIN_NS + 1);
	EXPECT_FALSE(used(2)) << "nothing was answered";
	said(mask({1}));
	ASSERT_EQ(next_probe(), 2u);
	sent = now;
	for (int i = 0; i < 10; i++, now += 20 * kUs)
		said(i & 1 ? mask({1}) : mask({1, 2}));
	answered(2, sent, 2);
	EXPECT_TRUE(used(2));
}

// A QP that has not sent yet takes the status as a preference. It probes when it has
// its tables.
TEST(EvPeerPrepared, PreferenceOnly)
{
	mrc_paths_cfg cfg = paths_cfg(16, 2);
	mrc_paths p;
	u16 cursor = 0;

	ASSERT_EQ(mrc_paths_prepare(&p, &cfg), 0);
	mrc_paths_peer_status(&p, 0, kStart);
	EXPECT_EQ(mrc_paths_next_probe(&p), ~0ull);
	EXPECT_GE(mrc_paths_pick_ctrl(&p, &cursor, 1), 0);
	mrc_paths_peer_status(&p, mask({2}), kStart);
	for (int i = 0; i < 20; i++) {
		int ev = mrc_paths_pick_ctrl(&p, &cursor, 1);

		EXPECT_EQ(mrc_paths_port(&p, (u16)ev), 2);
		// What arrives on a port is answered through it.
		ev = mrc_paths_pick_back(&p, &cursor, 1);
		EXPECT_EQ(mrc_paths_port(&p, (u16)ev), 1);
	}
	mrc_model::Mem mem(mrc_paths_tables(&p), 0xA5);
	mrc_paths_add_tables(&p, mem.get());
	int ev = mrc_paths_probe_due(&p, kStart);
	ASSERT_GE(ev, 0);
	EXPECT_EQ(mrc_paths_port(&p, (u16)ev), 1);
	mrc_paths_probe_sent(&p, ev, 1, kStart);
	mrc_paths_heard(&p, 1, kStart, 1, kStart + 1);
	EXPECT_TRUE(mrc_paths_port_ok(&p, 1));
}

// A port without a usable EV cannot be probed, and no timer runs for it, until a
// controller allows an EV.
TEST_F(EvPeer, NothingToAskWith)
{
	for (unsigned i = 0; i < 16; i++)
		if (p.port(i) == 2)
			mrc_paths_verdict(&p.p, (int)i, MRC_EVV_DENY, now);
	said(mask({1}));
	EXPECT_EQ(probe(), 0u);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	for (unsigned i = 0; i < 16; i++)
		if (p.port(i) == 2)
			mrc_paths_verdict(&p.p, (int)i, MRC_EVV_ALLOW, now);
	EXPECT_EQ(probe(), 2u);
}

// --- the pace of probes, §11.6

// All EVs of a plane that was cut silently.
TEST_F(EvPeer, PaceOfACutPlane)
{
	Paths q{paths_cfg(64, 2)};
	unsigned sent = 0, at_once = 0;

	q->pace->srtt = 100 * kUs;
	for (unsigned i = 0; i < 64; i++)
		if (q.port(i) == 2)
			mrc_paths_verdict(&q.p, (int)i, MRC_EVV_TIMEOUT, now);
	const u64 from = now, end = now + 10 * kSecond;
	for (; now < end; now = std::max<u64>(now, mrc_paths_next_probe(&q.p))) {
		int ev = mrc_paths_probe_due(&q.p, now);

		// Data goes on meanwhile.
		mrc_paths_pick(&q.p, now);
		if (ev < 0)
			continue;
		mrc_paths_probe_sent(&q.p, ev, (u16)++sent, now);
		at_once += now < from + 10 * kMs;
		q.check();
	}
	EXPECT_GE(at_once, 2u);
	EXPECT_LE(at_once, MRC_EV_PROBE_BURST + 1);
	EXPECT_LE(sent, MRC_EV_PROBE_BURST + 1 +
				10 * kSecond / MRC_EV_PROBE_GAP_NS);
	EXPECT_GE(sent, 10 * kSecond / MRC_EV_PROBE_GAP_NS / 2);
	// It is there again: all of its EVs within a few round trips, though
	// the peer's update is the only sign.
	mrc_paths_peer_status(&q.p, mask({1, 2}), now);
	q.check();
	for (int round = 0; q->bad && round < 40; round++) {
		std::vector<int> evs;
		int ev;

		now += 100 * kUs;
		now = std::max<u64>(now, mrc_paths_next_probe(&q.p));
		while ((ev = mrc_paths_probe_due(&q.p, now)) >= 0) {
			mrc_paths_probe_sent(&q.p, ev, (u16)++sent, now);
			evs.push_back(ev);
		}
		for (int e : evs)
			mrc_paths_verdict(&q.p, e, MRC_EVV_PROBE_OK, now);
		q.check();
	}
	EXPECT_EQ(q->bad, 0u);
	EXPECT_LE(now - end, 300 * kMs);
}

// One EV: some round trips, doubled up to a bound that depends on whether data
// flows; the answer is waited for as long as the interval at least.
TEST_F(EvPeer, PaceOfOneEv)
{
	for (bool flows : {false, true}) {
		const u64 cap = flows ? MRC_EV_PROBE_BUSY_NS :
					MRC_EV_PROBE_MAX_NS;
		Paths q{paths_cfg(16, 2)};
		u64 last = now;

		q->pace->srtt = 100 * kUs;
		q->cfg.rto = 10 * kSecond;
		if (flows)
			mrc_paths_pick(&q.p, now);
		mrc_paths_verdict(&q.p, 3, MRC_EVV_TIMEOUT, now);
		for (int i = 0; i < 14; i++) {
			int ev = -1;

			for (int k = 0; ev < 0 && k < 4; k++) {
				now = std::max<u64>(now,
					       mrc_paths_next_probe(&q.p));
				ev = mrc_paths_probe_due(&q.p, now);
			}
			ASSERT_EQ(ev, 3);
			mrc_paths_probe_sent(&q.p, 3, (u16)i, now);
			if (flows)
				mrc_paths_pick(&q.p, now);
			ASSERT_GE(now - last,
				  std::min<u64>(MRC_EV_PROBE_MIN_NS << i, cap));
			ASSERT_LE(now - last,
				  std::min<u64>((MRC_EV_PROBE_MIN_NS << i) +
						   4 * MRC_EV_PROBE_FLOOR_NS,
					   cap + 2048));
			last = now;
		}
		EXPECT_EQ(mrc_paths_probe_match(&q.p, 13), 3);
		now += cap - kMs;
		mrc_paths_probe_due(&q.p, now);
		EXPECT_EQ(mrc_paths_probe_match(&q.p, 13), 3);
		mrc_paths_verdict(&q.p, 3, MRC_EVV_PROBE_OK, now);
		EXPECT_LE(mrc_paths_next_probe(&q.p), now + 2048);
		now += 20 * kSecond;
	}
}

} // namespace
