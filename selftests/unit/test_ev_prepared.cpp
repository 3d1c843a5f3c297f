// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Paths of a QP that has sent nothing: no tables, and yet the same answers as from
// paths with tables to which nothing has happened; then the tables.
#include <gtest/gtest.h>

#include "evset.hpp"
#include "paths.hpp"

#include "mrc_rev.h"

namespace
{

using namespace mrc_test;

mrc_paths_cfg set_cfg(const EvSet &set, unsigned ports)
{
	mrc_paths_cfg cfg = paths_cfg(1, ports);

	cfg.set = set.get();
	return cfg;
}

// Prepared, with the same seed and callbacks as @Paths.
struct Prepared {
	explicit Prepared(mrc_paths_cfg cfg)
		: ctr(std::make_unique<mrc_counters>())
	{
		ctr->n_ports = cfg.n_ports;
		cfg.ctr = ctr.get();
		cfg.on_state = &Paths::on_state;
		cfg.ctx = &changes;
		EXPECT_EQ(mrc_paths_prepare(&p, &cfg), 0);
	}

	void equip()
	{
		mem = Mem(mrc_paths_tables(&p), 0xA5);
		mrc_paths_add_tables(&p, mem.get());
	}

	mrc_paths p;
	std::unique_ptr<mrc_counters> ctr;
	Mem mem;
	std::vector<StateChange> changes;
};

void same_changes(const std::vector<StateChange> &a,
		  const std::vector<StateChange> &b)
{
	ASSERT_EQ(a.size(), b.size());
	for (std::size_t i = 0; i < a.size(); i++) {
		EXPECT_EQ(a[i].ev, b[i].ev) << i;
		EXPECT_EQ(a[i].from, b[i].from) << i;
		EXPECT_EQ(a[i].to, b[i].to) << i;
	}
}

// Every question that the responder and those who look at a QP may ask.
void same_answers(const mrc_paths &a, const mrc_paths &b)
{
	ASSERT_EQ(a.n, b.n);
	EXPECT_EQ(a.min_active, b.min_active);
	// Only who sends can find out what is true of a peer's word.
	if (!a.probing && !b.probing)
		EXPECT_EQ(mrc_paths_next_probe(&a), mrc_paths_next_probe(&b));
	for (u16 i = 0; i < a.n; i++) {
		EXPECT_EQ(mrc_paths_state(&a, i), mrc_paths_state(&b, i)) << i;
		EXPECT_EQ(mrc_paths_port(&a, i), mrc_paths_port(&b, i)) << i;
		EXPECT_EQ(mrc_paths_drops(&a, i), mrc_paths_drops(&b, i)) << i;
		EXPECT_EQ(mrc_paths_entropy(&a, i), mrc_paths_entropy(&b, i));
		EXPECT_EQ(mrc_paths_find(&a, mrc_paths_entropy(&a, i)),
			  mrc_paths_find(&b, mrc_paths_entropy(&a, i)));
	}
	for (u8 port = 0; port <= MRC_MAX_PORTS; port++) {
		u16 at_a = port, at_b = port;

		EXPECT_EQ(mrc_paths_port_ok(&a, port),
			  mrc_paths_port_ok(&b, port));
		EXPECT_EQ(mrc_paths_port_tx(&a, port),
			  mrc_paths_port_tx(&b, port));
		for (int k = 0; k < 2 * a.n; k++) {
			ASSERT_EQ(mrc_paths_pick_ctrl(&a, &at_a, port),
				  mrc_paths_pick_ctrl(&b, &at_b, port));
			ASSERT_EQ(at_a, at_b);
		}
	}
}

} // namespace

TEST(EvPrepared, AnswersAsWithTables)
{
	for (unsigned ports : {1u, 4u, 16u}) {
		mrc_paths_cfg cfg = paths_cfg(64, ports);
		Paths full(cfg);
		Prepared p(cfg);

		same_answers(p.p, full.p);
		mrc_paths_set_ports(&full.p, 1u << 1);
		mrc_paths_set_ports(&p.p, 1u << 1);
		same_answers(p.p, full.p);
		mrc_paths_peer_status(&full.p, 0, kUnit);
		mrc_paths_peer_status(&p.p, 0, kUnit);
		same_answers(p.p, full.p);
	}
}

// With denied entries, copies, and a port that the device does not have.
TEST(EvPrepared, AnswersAsWithTablesOfASet)
{
	EvSet set({{1, 1}, {2, 2, true}, {1, 1, true}, {3, 2}, {4, 9}});
	Paths full(set_cfg(set, 2));
	Prepared p(set_cfg(set, 2));

	same_answers(p.p, full.p);
	p.equip();
	same_answers(p.p, full.p);
}

// What was configured meanwhile stays, and the walk is the one that there would
// have been.
TEST(EvPrepared, EquippedLater)
{
	for (std::uint64_t seed = 1; seed < 20; seed++) {
		mrc_paths_cfg cfg = paths_cfg(64, 4);

		cfg.seed = seed;
		Paths full(cfg);
		Prepared p(cfg);

		for (mrc_paths *one : {&full.p, &p.p}) {
			mrc_paths_set_ports(one, 1u << 2 | 1u << 4);
			mrc_paths_set_rtt(one, 5000, 77000);
		}
		p.equip();
		same_answers(p.p, full.p);
		for (int k = 0; k < 3000; k++) {
			int ev = mrc_paths_pick(&full.p, kUnit);

			ASSERT_EQ(mrc_paths_pick(&p.p, kUnit), ev);
			if (k % 7 == 0)
				for (mrc_paths *one : {&full.p, &p.p})
					mrc_paths_verdict(one, ev, MRC_EVV_CE,
							  kUnit);
		}
		same_changes(p.changes, full.changes);
		EXPECT_EQ(p.p.cfg.rto, 77000u);
	}
}

// A controller hears the same of an idle QP as of one that sends.
TEST(EvPrepared, UpdatesAreTold)
{
	EvSet was({{1, 1}, {2, 1}, {3, 2}, {4, 2, true}, {5, 1}, {6, 2, true}});
	EvSet is({{1, 1, true}, {2, 1}, {3, 2}, {4, 2}, {7, 1, true}, {8, 2}});
	Paths full(set_cfg(was, 2));
	Prepared p(set_cfg(was, 2));

	mrc_paths_update(&full.p, is.get(), kUnit);
	mrc_paths_update(&p.p, is.get(), kUnit);
	same_answers(p.p, full.p);
	ASSERT_EQ(p.changes.size(), 2u);
	same_changes(p.changes, full.changes);
	EXPECT_EQ(p.changes[0].ev, 0);
	EXPECT_EQ(p.changes[0].to, MRC_EV_DENIED);
	EXPECT_EQ(p.changes[1].ev, 3);
	EXPECT_EQ(p.changes[1].to, MRC_EV_GOOD);
	EXPECT_EQ(counter(*p.ctr, MRC_CTR_EV_DENIED),
		  full.total(MRC_CTR_EV_DENIED));
	p.equip();
	same_answers(p.p, full.p);
	EXPECT_EQ(p.p.cfg.set, is.get());
}

TEST(EvPrepared, OtherSizesAreIgnored)
{
	EvSet was(spread({2})), is(spread({3}));
	Prepared p(set_cfg(was, 1));

	mrc_paths_update(&p.p, is.get(), kUnit);
	EXPECT_EQ(p.p.cfg.set, was.get());
	mrc_paths_update(&p.p, nullptr, kUnit);
	EXPECT_EQ(p.p.cfg.set, was.get());
	EXPECT_TRUE(p.changes.empty());
}

// Feedback of a QP that only receives: reverse EVs need no tables.
TEST(EvPrepared, ReverseEvs)
{
	Prepared p(paths_cfg(64, 4));
	std::uint64_t now = kMs;
	mrc_rev rev;
	int ev;

	mrc_rev_init(&rev, 5);
	for (u8 port = 1; port <= 4; port++) {
		ev = mrc_rev_pick(&rev, &p.p, port, now);
		ASSERT_GE(ev, 0);
		EXPECT_EQ(mrc_paths_port(&p.p, static_cast<u16>(ev)), port);
	}
	mrc_rev_inbound(&rev, 3);
	ev = mrc_rev_probe_due(&rev, &p.p, now);
	ASSERT_GE(ev, 0);
	mrc_rev_probe_sent(&rev, &p.p, ev, 9, now);
	now += kMs;
	EXPECT_TRUE(mrc_rev_response(&rev, &p.p, 9, now));
	EXPECT_EQ(mrc_rev_pick(&rev, &p.p, 3, now), ev);
}

// An EV that was in use can become one of a port that there is not.
TEST(EvPrepared, PickOtherThanOneOfNoPort)
{
	EvSet was({{1, 1}, {2, 2}}), is({{1, 1}, {2, 16}}), none({{1, 15}, {2, 16}});
	Paths p(set_cfg(was, 2));

	mrc_paths_update(&p.p, is.get(), kUnit);
	p.check();
	for (int k = 0; k < 100; k++)
		EXPECT_EQ(mrc_paths_pick_other(&p.p, 1, kUnit), 0);
	mrc_paths_update(&p.p, none.get(), kUnit);
	p.check();
	for (int k = 0; k < 100; k++) {
		EXPECT_EQ(mrc_paths_pick_other(&p.p, 0, kUnit), -1);
		EXPECT_EQ(mrc_paths_pick(&p.p, kUnit), -1);
	}
}

TEST(EvPrepared, Refused)
{
	mrc_paths_cfg cfg = paths_cfg(64, 4);
	mrc_paths p;

	cfg.n_ports = 0;
	EXPECT_EQ(mrc_paths_prepare(&p, &cfg), -EINVAL);
	cfg.n_ports = MRC_MAX_PORTS + 1;
	EXPECT_EQ(mrc_paths_prepare(&p, &cfg), -EINVAL);
	cfg.n_ports = 4;
	cfg.n_evs = 0;
	EXPECT_EQ(mrc_paths_prepare(&p, &cfg), -EINVAL);
}
