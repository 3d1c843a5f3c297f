// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// EVs of profiles (MRC 1.0 §11.3-§11.6): shared sets, copies, new versions.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "evset.hpp"
#include "paths.hpp"

namespace
{

using namespace mrc_test;

mrc_paths_cfg set_cfg(const EvSet &set, unsigned ports)
{
	mrc_paths_cfg cfg = paths_cfg(1, ports);

	cfg.set = set.get();
	cfg.trim_nack = true;
	return cfg;
}

std::map<unsigned, int> load(Paths &p, int n)
{
	std::map<unsigned, int> out;

	while (n--) {
		int ev = mrc_paths_pick(&p.p, kUnit);

		out[ev < 0 ? 0 : p.port(static_cast<unsigned>(ev))]++;
	}
	return out;
}

// A promise that entropies are not copied: besides there are 64 bytes per port.
TEST(EvSetMem, SixteenBytesPerEv)
{
	for (unsigned n : {64u, 256u, 1024u}) {
		EvSet set(spread({n / 2, n / 2}));
		mrc_paths_cfg automatic = paths_cfg(n, 4);
		mrc_paths_cfg profile = set_cfg(set, 4);

		EXPECT_LE(mrc_paths_mem(&automatic), 16u * n + 64u * 4);
		EXPECT_EQ(mrc_paths_mem(&automatic), mrc_paths_mem(&profile));
		RecordProperty(
			"bytes_per_ev_x1000_" + std::to_string(n),
			static_cast<int>(1000 * mrc_paths_mem(&automatic) / n));
	}
}

TEST(EvSetInit, Refused)
{
	EvSet set(spread({4, 4})), stev(spread({4}), 0, MRC_EV_FMT_STEV);
	mrc_paths_cfg cfg = set_cfg(set, 0);
	mrc_evset empty = *set.get();

	EXPECT_EQ(mrc_paths_mem(&cfg), 0u);
	cfg = set_cfg(set, MRC_MAX_PORTS + 1);
	EXPECT_EQ(mrc_paths_mem(&cfg), 0u);
	empty.n = 0;
	cfg = set_cfg(set, 2);
	cfg.set = &empty;
	EXPECT_EQ(mrc_paths_mem(&cfg), 0u);
	// A flow label needs IPv6.
	cfg = set_cfg(stev, 1);
	EXPECT_NE(mrc_paths_mem(&cfg), 0u);
	cfg.ipv6 = false;
	EXPECT_EQ(mrc_paths_mem(&cfg), 0u);
}

// What the set says is what goes out, and is found again.
TEST(EvSetInit, LooksAsTheSetSays)
{
	for (u8 mode : {MRC_EV_FMT_UDP, MRC_EV_FMT_STEV, MRC_EV_FMT_SRV6}) {
		EvSet set(spread({5, 0, 3, 1}), 0, mode);
		Paths p(set_cfg(set, 4));

		ASSERT_EQ(p->n, 9);
		for (unsigned i = 0; i < 9; i++) {
			const mrc_evset_ev &ev = set.get()->ev[i];
			const EvView view(p.p, static_cast<int>(i));

			EXPECT_EQ(view.entropy, ev.entropy);
			if (mode != MRC_EV_FMT_SRV6) {
				EXPECT_EQ(view.entropy, i + 1);
			}
			EXPECT_EQ(view.port, ev.port);
			EXPECT_EQ(view.state, G);
			EXPECT_EQ(mrc_paths_find(&p.p, ev.entropy),
				  static_cast<int>(i));
		}
		EXPECT_EQ(mrc_paths_find(&p.p, 0xBEEF), -1);
		p.check();
	}
}

// Planes are equal, however many EVs each has; one without any is left out.
TEST(EvSetPick, EqualLoadOnUnequalPlanes)
{
	EvSet set(spread({9, 0, 1, 3}));
	Paths p(set_cfg(set, 4));
	auto got = load(p, 3000);

	EXPECT_EQ(got.size(), 3u);
	for (unsigned port : {1u, 3u, 4u})
		EXPECT_EQ(got[port], 1000);
	for (int i = 0; i < 300; i++)
		ASSERT_GE(mrc_paths_pick_other(&p.p, i % 13, kUnit), 0);
	p.check();
}

// Ports that this device lacks: no use, no harm.
TEST(EvSetPick, PortsOfAnotherDevice)
{
	EvSet set(spread({4, 4, 4, 4}));
	Paths p(set_cfg(set, 2));
	auto got = load(p, 100);

	EXPECT_EQ(got[1], 50);
	EXPECT_EQ(got[2], 50);
	mrc_paths_verdict(&p.p, 12, MRC_EVV_TIMEOUT, kUnit);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	std::uint16_t cursor = 0;
	for (int i = 0; i < 40; i++)
		ASSERT_LT(mrc_paths_pick_ctrl(&p.p, &cursor, 0), 8);

	EvSet none({{1, 3}, {2, 4}});
	Paths q(set_cfg(none, 2));
	EXPECT_EQ(mrc_paths_pick(&q.p, kUnit), -1);
	EXPECT_EQ(mrc_paths_pick_other(&q.p, 0, kUnit), -1);
	EXPECT_EQ(mrc_paths_pick_ctrl(&q.p, &cursor, 0), -1);
	q.check();
}

// Weights: an EV listed three times carries three times as much.
TEST(EvSetCopies, CarryTheirWeight)
{
	EvSet set({{7, 1}, {7, 1}, {8, 1}, {7, 1}});
	Paths p(set_cfg(set, 1));
	std::map<u32, int> used;

	for (int i = 0; i < 400; i++)
		used[mrc_paths_entropy(
			&p.p, static_cast<u16>(mrc_paths_pick(&p.p, 1)))]++;
	EXPECT_EQ(used[7], 300);
	EXPECT_EQ(used[8], 100);
	EXPECT_EQ(mrc_paths_find(&p.p, 7), 0);
}

TEST(EvSetCopies, ShareVerdictsReportedOnce)
{
	EvSet set({{7, 1}, {7, 1}, {8, 1}, {7, 1}});
	Paths p(set_cfg(set, 1));

	mrc_paths_verdict(&p.p, 1, MRC_EVV_CE, kUnit);
	EXPECT_EQ(p.count(S), 3u);
	EXPECT_EQ(p.total(MRC_CTR_EV_SKIP), 1u);
	mrc_paths_verdict(&p.p, 3, MRC_EVV_TIMEOUT, kUnit);
	EXPECT_EQ(p.count(B), 3u);
	EXPECT_EQ(p.total(MRC_CTR_EV_BAD), 1u);
	ASSERT_EQ(p.changes.size(), 1u);
	EXPECT_EQ(p.changes[0].ev, 0);
	p.check();
	// One probe for all of them.
	std::uint64_t at = mrc_paths_next_probe(&p.p);
	int ev = mrc_paths_probe_due(&p.p, at);
	ASSERT_GE(ev, 0);
	mrc_paths_probe_sent(&p.p, ev, 5, at);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, at), -1);
	ev = mrc_paths_probe_match(&p.p, 5);
	ASSERT_GE(ev, 0);
	mrc_paths_verdict(&p.p, ev, MRC_EVV_PROBE_OK, at);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_PROBE_OK, at);
	EXPECT_EQ(p.count(G), 4u);
	EXPECT_EQ(p.total(MRC_CTR_EV_GOOD), 1u);
	EXPECT_EQ(p.changes.size(), 2u);
	for (unsigned i : {0u, 1u, 3u})
		EXPECT_EQ(EvView(p.p, static_cast<int>(i)).drops, 1u);
	EXPECT_EQ(EvView(p.p, 2).drops, 0u);
	p.check();
}

// A controller takes weight away entry by entry; the path's state stays.
TEST(EvSetCopies, AreDeniedOneByOne)
{
	EvSet set({{7, 1}, {7, 1}, {8, 1}});
	Paths p(set_cfg(set, 1));

	mrc_paths_verdict(&p.p, 0, MRC_EVV_DENY, kUnit);
	EXPECT_EQ(p.state(0), D);
	EXPECT_EQ(p.state(1), G);
	// Feedback names the lowest index; it concerns the other as well.
	mrc_paths_verdict(&p.p, 0, MRC_EVV_TIMEOUT, kUnit);
	EXPECT_EQ(p.state(0), D);
	EXPECT_EQ(p.state(1), B);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_ALLOW, kUnit);
	EXPECT_EQ(p.state(0), B);
	p.check();
	mrc_paths_verdict(&p.p, 0, MRC_EVV_DENY, kUnit);
	mrc_paths_verdict(&p.p, 1, MRC_EVV_DENY, kUnit);
	// Nobody remembers what it was.
	mrc_paths_verdict(&p.p, 1, MRC_EVV_ALLOW, kUnit);
	EXPECT_EQ(p.state(1), G);
	p.check();
}

TEST(EvSetCopies, PickOtherAvoidsThePath)
{
	for (u8 mode : {MRC_EV_FMT_UDP, MRC_EV_FMT_SRV6}) {
		EvSet set({{7, 1}, {7, 1}, {8, 1}, {7, 1}}, 0, mode);
		Paths p(set_cfg(set, 1));

		for (int i = 0; i < 40; i++)
			ASSERT_EQ(mrc_paths_pick_other(&p.p, 3, kUnit), 2);
		mrc_paths_verdict(&p.p, 2, MRC_EVV_DENY, kUnit);
		EXPECT_EQ(mrc_paths_pick_other(&p.p, 3, kUnit), -1);
	}
}

// All copies go or none: the bound holds for entries.
TEST(EvSetMinActive, CountsEntries)
{
	EvSet set({{7, 1}, {7, 1}, {7, 1}, {8, 1}, {9, 1}}, 3);
	Paths p(set_cfg(set, 1));

	EXPECT_EQ(p->min_active, 3);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_TIMEOUT, kUnit);
	EXPECT_EQ(p.count(B), 0u);
	mrc_paths_verdict(&p.p, 3, MRC_EVV_TIMEOUT, kUnit);
	mrc_paths_verdict(&p.p, 4, MRC_EVV_TIMEOUT, kUnit);
	EXPECT_EQ(p.count(B), 2u);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_TIMEOUT, kUnit);
	EXPECT_EQ(p.count(G), 3u);
	// It is no limit on denying; a QP stalls when nothing is left.
	for (int i = 0; i < 5; i++)
		mrc_paths_verdict(&p.p, i, MRC_EVV_DENY, kUnit);
	EXPECT_EQ(mrc_paths_pick(&p.p, kUnit), -1);
}

TEST(EvSetMinActive, ZeroIsNoBound)
{
	EvSet set(spread({4, 4}));
	Paths p(set_cfg(set, 2));
	std::set<int> used;

	for (int i = 0; i < 8; i++)
		mrc_paths_verdict(&p.p, i, MRC_EVV_TIMEOUT, kUnit);
	EXPECT_EQ(p.count(B), 8u);
	// In turn, over both planes.
	for (int i = 0; i < 8; i++)
		used.insert(mrc_paths_pick(&p.p, kUnit));
	EXPECT_EQ(used.size(), 8u);
	EXPECT_EQ(used.count(-1), 0u);
}

TEST(EvSetInit, DeniedFromTheStart)
{
	EvSet set({{1, 1, true}, {2, 1}, {3, 2, true}});
	Paths p(set_cfg(set, 2));

	EXPECT_EQ(p->denied, 2);
	EXPECT_EQ(load(p, 10)[1], 10);
	EXPECT_TRUE(p.changes.empty());
	p.check();
}

// What a new version changes, and what it leaves alone.
TEST(EvSetUpdate, ByDifference)
{
	EvSet was({{1, 1}, {2, 1}, {3, 2}, {4, 2, true}, {5, 2}, {6, 1}});
	EvSet is({{1, 1}, {9, 1}, {3, 2, true}, {4, 2}, {5, 1}, {6, 1}}, 2);
	Paths p(set_cfg(was, 2));
	std::uint64_t at;

	for (int i : {0, 1, 4})
		mrc_paths_verdict(&p.p, i, MRC_EVV_TIMEOUT, kUnit);
	mrc_paths_verdict(&p.p, 5, MRC_EVV_CE, kUnit);
	at = mrc_paths_next_probe(&p.p);
	p.forget();
	mrc_paths_update(&p.p, is.get(), 2 * kUnit);

	EXPECT_EQ(p->min_active, 2);
	EXPECT_EQ(p.state(0), B); // as it was, probe and all
	EXPECT_EQ(mrc_paths_next_probe(&p.p), at);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, at), 0);
	EXPECT_EQ(EvView(p.p, 0).drops, 1u);
	EXPECT_EQ(p.state(1), G); // another value
	EXPECT_EQ(EvView(p.p, 1).drops, 0u);
	EXPECT_EQ(EvView(p.p, 1).entropy, 9u);
	EXPECT_EQ(mrc_paths_find(&p.p, 2), -1);
	EXPECT_EQ(p.state(2), D);
	EXPECT_EQ(p.state(3), G);
	EXPECT_EQ(p.state(4), G); // another port
	EXPECT_EQ(p.port(4), 1u);
	EXPECT_EQ(p.state(5), S);
	// What was bad and is gone is reported, then what the controller denied
	// and allowed.
	ASSERT_EQ(p.changes.size(), 4u);
	for (unsigned k : {0u, 1u}) {
		EXPECT_EQ(p.changes[k].ev, k ? 4 : 1);
		EXPECT_EQ(p.changes[k].from, B);
		EXPECT_EQ(p.changes[k].to, G);
		EXPECT_EQ(p.changes[k].entropy, k ? 5u : 2u);
	}
	EXPECT_EQ(p.changes[2].ev, 2);
	EXPECT_EQ(p.changes[2].to, D);
	EXPECT_EQ(p.changes[3].ev, 3);
	EXPECT_EQ(p.changes[3].to, G);
	// Nothing came back into use.
	EXPECT_EQ(p.total(MRC_CTR_EV_GOOD), 0u);
	p.check();
	EXPECT_EQ(p->walk[1].n, 4);
	EXPECT_EQ(p->walk[2].n, 2);
}

// SRv6: the entropy of an index stays, so the value itself is compared.
TEST(EvSetUpdate, Srv6Values)
{
	EvSet was({{1, 1}, {2, 1}}, 0, MRC_EV_FMT_SRV6);
	EvSet is({{1, 1}, {3, 1}}, 0, MRC_EV_FMT_SRV6);
	Paths p(set_cfg(was, 1));

	mrc_paths_verdict(&p.p, 0, MRC_EVV_TIMEOUT, kUnit);
	mrc_paths_verdict(&p.p, 1, MRC_EVV_TIMEOUT, kUnit);
	mrc_paths_update(&p.p, is.get(), 2 * kUnit);
	EXPECT_EQ(p.state(0), B);
	EXPECT_EQ(p.state(1), G);
	p.check();
}

// A newcomer is as good as the copies it finds.
TEST(EvSetUpdate, NewCopyJoins)
{
	EvSet was({{1, 1}, {2, 1}, {3, 1}}), is({{1, 1}, {1, 1}, {1, 1, true}});
	Paths p(set_cfg(was, 1));
	std::uint64_t at;

	mrc_paths_verdict(&p.p, 0, MRC_EVV_TIMEOUT, kUnit);
	at = mrc_paths_next_probe(&p.p);
	mrc_paths_probe_due(&p.p, at);
	mrc_paths_probe_sent(&p.p, 0, 9, at);
	mrc_paths_update(&p.p, is.get(), at);
	EXPECT_EQ(p.state(1), B);
	EXPECT_TRUE(p.probe_out(1));
	EXPECT_EQ(p.state(2), D);
	p.check();
	mrc_paths_verdict(&p.p, 1, MRC_EVV_PROBE_CE, at);
	EXPECT_EQ(p.state(0), S);
	p.check();
}

// A port that the peer reports down cannot be probed without an EV. A new version of the
// set brings one.
TEST(EvSetUpdate, NewEvAsksForItsPort)
{
	EvSet was({{1, 1}, {2, 1}}), is({{1, 1}, {3, 2}});
	Paths p(set_cfg(was, 2));

	mrc_paths_peer_status(&p.p, 1u << 1, kUnit);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, 2 * kUnit), -1);
	EXPECT_EQ(mrc_paths_next_probe(&p.p), ~0ull);
	mrc_paths_update(&p.p, is.get(), 3 * kUnit);
	EXPECT_EQ(mrc_paths_probe_due(&p.p, 4 * kUnit), 1);
	p.check();
}

// An EV that is bad is told to be good when its last entry goes, not before.
TEST(EvSetUpdate, TellsOfTheLastBadCopy)
{
	EvSet was({{1, 1}, {1, 1}, {2, 1}, {1, 1, true}});
	EvSet one({{1, 1}, {3, 1}, {2, 1}, {1, 1, true}});
	EvSet none({{4, 1}, {3, 1}, {1, 1}, {1, 1, true}});
	Paths p(set_cfg(was, 1));

	mrc_paths_verdict(&p.p, 1, MRC_EVV_TIMEOUT, kUnit);
	EXPECT_EQ(p.count(B), 2u);
	p.forget();
	mrc_paths_update(&p.p, one.get(), 2 * kUnit);
	EXPECT_TRUE(p.changes.empty());
	EXPECT_EQ(p.count(B), 1u);
	// The value is there again, in another place: it begins anew.
	mrc_paths_update(&p.p, none.get(), 3 * kUnit);
	EXPECT_EQ(p.count(B), 0u);
	ASSERT_EQ(p.changes.size(), 1u);
	EXPECT_EQ(p.changes[0].ev, 0);
	EXPECT_EQ(p.changes[0].to, G);
	EXPECT_EQ(p.changes[0].entropy, 1u);
	p.check();
}

// A QP that ends tells of each path that it took for bad, once.
TEST(EvRetire, TellsOfWhatWasBad)
{
	EvSet set({{7, 1}, {8, 1}, {7, 1}, {9, 2}, {7, 1, true}, {6, 2}});
	Paths p(set_cfg(set, 2));

	mrc_paths_verdict(&p.p, 2, MRC_EVV_TIMEOUT, kUnit);
	mrc_paths_verdict(&p.p, 3, MRC_EVV_TIMEOUT, kUnit);
	mrc_paths_verdict(&p.p, 5, MRC_EVV_CE, kUnit);
	mrc_paths_verdict(&p.p, 1, MRC_EVV_TIMEOUT, kUnit);
	mrc_paths_verdict(&p.p, 1, MRC_EVV_DENY, kUnit);
	p.forget();
	mrc_paths_fini(&p.p);
	ASSERT_EQ(p.changes.size(), 2u);
	for (unsigned k : {0u, 1u}) {
		EXPECT_EQ(p.changes[k].ev, k ? 3 : 0);
		EXPECT_EQ(p.changes[k].from, B);
		EXPECT_EQ(p.changes[k].to, G);
	}
	EXPECT_EQ(p.everything(), 0u);
}

TEST(EvRetire, WithoutASetOrTables)
{
	Paths p(paths_cfg(8, 2));
	mrc_paths_cfg cfg = paths_cfg(8, 2);
	std::vector<StateChange> changes;
	mrc_paths prepared;

	mrc_paths_verdict(&p.p, 5, MRC_EVV_TIMEOUT, kUnit);
	p.forget();
	mrc_paths_fini(&p.p);
	ASSERT_EQ(p.changes.size(), 1u);
	EXPECT_EQ(p.changes[0].ev, 5);
	cfg.on_state = &Paths::on_state;
	cfg.ctx = &changes;
	ASSERT_EQ(mrc_paths_prepare(&prepared, &cfg), 0);
	mrc_paths_fini(&prepared);
	EXPECT_TRUE(changes.empty());
	p->cfg.on_state = nullptr;
	mrc_paths_fini(&p.p);
}

TEST(EvSetUpdate, OtherSizesAreIgnored)
{
	EvSet was(spread({2})), is(spread({3}));
	Paths p(set_cfg(was, 1));

	mrc_paths_update(&p.p, is.get(), kUnit);
	EXPECT_EQ(p->cfg.set, was.get());
	mrc_paths_update(&p.p, nullptr, kUnit);
	EXPECT_EQ(p->cfg.set, was.get());
	Paths q(paths_cfg(2, 1));
	mrc_paths_update(&q.p, was.get(), kUnit);
	EXPECT_EQ(q->cfg.set, nullptr);
}

// Times wrap after 73 minutes; an EV that waited for its port longer than half
// of that is overdue and not early.
TEST(EvTime, LongWaits)
{
	const std::uint64_t minute = 60ul * 1000 * 1000000;
	const std::uint64_t wrap = kUnit << 32;

	for (std::uint64_t start : {kUnit, wrap - 5 * kMs}) {
		for (std::uint64_t wait :
		     {minute, 30 * minute, 40 * minute, 70 * minute,
		      80 * minute, 100 * wrap + kMs}) {
			Paths p(paths_cfg(8, 2));

			mrc_paths_verdict(&p.p, 0, MRC_EVV_TIMEOUT, start);
			EXPECT_EQ(mrc_paths_next_probe(&p.p), start + 4 * kMs);
			mrc_paths_set_ports(&p.p, 1u << 2);
			mrc_paths_verdict(&p.p, 1, MRC_EVV_CE, start + wait);
			mrc_paths_set_ports(&p.p, 6);
			EXPECT_EQ(mrc_paths_probe_due(&p.p, start + wait), 0)
				<< wait / minute;
		}
	}
}

// The same where nobody looked for so long.
TEST(EvTime, LongNeglect)
{
	const std::uint64_t minute = 60ul * 1000 * 1000000;

	for (std::uint64_t wait : {30 * minute, 40 * minute, 70 * minute}) {
		Paths p(paths_cfg(8, 2));

		mrc_paths_verdict(&p.p, 0, MRC_EVV_TIMEOUT, kUnit);
		EXPECT_EQ(mrc_paths_probe_due(&p.p, wait), 0) << wait / minute;
	}
}

// What a controller allows again starts with a clean record.
TEST(EvTime, DenyForgetsLosses)
{
	mrc_paths_cfg cfg = paths_cfg(8, 2);

	cfg.trim_nack = false;
	Paths p(cfg);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, kUnit);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_DENY, kUnit);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_ALLOW, kUnit);
	mrc_paths_verdict(&p.p, 0, MRC_EVV_LOSS, kUnit);
	EXPECT_EQ(p.state(0), S);
}

// A flow label of 0 is no label; one in 65536 would be.
TEST(EvAuto, FlowLabelsAreNeverZero)
{
	mrc_paths_cfg cfg = paths_cfg(1024, 1);

	for (cfg.seed = 0; cfg.seed < 400; cfg.seed++) {
		Paths p(cfg);

		for (u16 i = 0; i < 1024; i++)
			ASSERT_NE(mrc_paths_entropy(&p.p, i) >> 16, 0u);
	}
}

} // namespace
