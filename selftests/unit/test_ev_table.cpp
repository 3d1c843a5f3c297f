// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// MRC 1.0 §11.6 exhaustively: each state and each verdict under everything that
// may matter, against the text.
#include <gtest/gtest.h>

#include "ev_oracle.hpp"
#include "evset.hpp"

namespace
{

using namespace mrc_test;

// What may have happened to an EV before.
enum class Losses { None, Open, Healed };

struct Case {
	std::uint8_t from;
	mrc_ev_verdict verdict;
	bool at_min, trim, out, one;
	Losses losses;
	unsigned copies; // of the EV in question
};

constexpr std::uint64_t kStart = 1000 * kMs;
constexpr unsigned kOthers = 3;

class Bench
{
public:
	explicit Bench(const Case &c) : set(entries(c), 0), p(config(c, set))
	{
		oracle.trim_nack = c.trim;
		oracle.rto = p->cfg.rto;
		oracle.rtt = p->cfg.base_rtt;
		oracle.paths.resize(kOthers + 1);
		for (unsigned i = 0; i < c.copies; i++)
			oracle.evs.push_back({0, 1});
		for (unsigned i = 0; i < kOthers; i++)
			oracle.evs.push_back({i + 1u, 2});
	}

	void verdict(std::size_t i, mrc_ev_verdict v)
	{
		mrc_paths_verdict(&p.p, static_cast<int>(i), v, now);
		oracle.verdict(i, v, now, p);
	}

	void send(std::size_t i, bool probe)
	{
		mrc_paths_probe_sent(&p.p, static_cast<int>(i), 42, now);
		oracle.sent(i, probe, now);
	}

	static std::vector<SetEv> entries(const Case &c)
	{
		std::vector<SetEv> evs(c.copies, {100, 1});

		for (unsigned i = 0; i < kOthers; i++)
			evs.push_back({200 + i, 2});
		return evs;
	}

	static mrc_paths_cfg config(const Case &c, const EvSet &set)
	{
		mrc_paths_cfg cfg = paths_cfg(1, 2);

		cfg.set = set.get();
		cfg.trim_nack = c.trim;
		cfg.base_rtt = 100 * kUnit;
		return cfg;
	}

	EvSet set;
	Paths p;
	Oracle oracle;
	std::uint64_t now = kStart;
};

// Lead the EV to where the case starts; false if there is no way.
bool prepare(Bench &b, const Case &c)
{
	if (c.from == B || c.from == D) {
		if (c.losses != Losses::None)
			return false; // forgotten there
		if (c.from == D && (c.out || c.one))
			return false;
		b.verdict(0, c.from == B ? MRC_EVV_CONDEMNED : MRC_EVV_DENY);
		for (unsigned i = 1; c.from == D && i < c.copies; i++)
			b.verdict(i, MRC_EVV_DENY);
		if (c.one)
			b.verdict(0, MRC_EVV_PROBE_OK);
		if (c.out)
			b.send(0, true);
		return true;
	}
	if (c.out || c.one || (c.trim && c.losses != Losses::None))
		return false;
	if (c.losses != Losses::None) {
		b.verdict(0, MRC_EVV_LOSS);
		// Its turn in the walk, which uses it where it is alone.
		while (c.from == G && b.p.state(0) == S) {
			int ev = mrc_paths_pick(&b.p.p, b.now);

			b.oracle.sent(static_cast<std::size_t>(ev), false,
				      b.now);
			b.oracle.picked(static_cast<std::size_t>(ev));
		}
		b.oracle.paths[0].state = c.from;
		b.send(0, false);
		if (c.losses == Losses::Healed)
			b.verdict(0, MRC_EVV_OK);
		b.now += 401 * kUnit;
	} else if (c.from == S) {
		b.verdict(0, MRC_EVV_CE);
	}
	return true;
}

void run(const Case &c)
{
	SCOPED_TRACE(::testing::Message()
		     << "from " << int{c.from} << " verdict " << c.verdict
		     << " min " << c.at_min << " trim " << c.trim << " out "
		     << c.out << " one " << c.one << " losses "
		     << static_cast<int>(c.losses) << " copies " << c.copies);
	Bench b(c);

	if (!prepare(b, c))
		return;
	ASSERT_EQ(b.p.state(0), c.from);
	b.oracle.min_active = b.oracle.active();
	if (!c.at_min)
		b.oracle.min_active -= kOthers;
	b.p->min_active = static_cast<u16>(b.oracle.min_active);
	b.p.forget();
	b.oracle.events.clear();

	std::uint8_t from = b.oracle.state(0);
	b.now += kUnit;
	b.verdict(0, c.verdict);
	b.oracle.compare(b.p);
	b.p.check();

	// Counted once, where the EV is.
	std::uint8_t to = b.oracle.state(0);
	bool moved = from != to;
	EXPECT_EQ(b.p.total(MRC_CTR_EV_SKIP), moved && to == S);
	EXPECT_EQ(b.p.total(MRC_CTR_EV_BAD), moved && to == B);
	EXPECT_EQ(b.p.total(MRC_CTR_EV_DENIED), moved && to == D);
	EXPECT_EQ(b.p.total(MRC_CTR_EV_GOOD),
		  from == B && (to == G || to == S));
	EXPECT_EQ(b.p.on_port(1), b.p.everything());
	// The others are none the wiser.
	for (unsigned i = c.copies; i < c.copies + kOthers; i++)
		EXPECT_EQ(b.p.state(i), G);
}

TEST(EvTable, EveryStateEveryVerdict)
{
	int cases = 0;

	for (std::uint8_t from : {G, D, S, B})
		for (int v = 0; v <= MRC_EVV_MAX; v++)
			for (unsigned bits = 0; bits < 16; bits++)
				for (Losses losses :
				     {Losses::None, Losses::Open,
				      Losses::Healed})
					for (unsigned copies : {1u, 3u}) {
						run({from,
						     static_cast<
							     mrc_ev_verdict>(v),
						     (bits & 1) != 0,
						     (bits & 2) != 0,
						     (bits & 4) != 0,
						     (bits & 8) != 0, losses,
						     copies});
						cases++;
						if (::testing::Test::
							    HasFatalFailure())
							return;
					}
	EXPECT_EQ(cases, 4 * (MRC_EVV_MAX + 1) * 16 * 3 * 2);
}

// The rows of the table in the text, literally.
TEST(EvTable, RowsOfTheText)
{
	struct Row {
		std::uint8_t from;
		mrc_ev_verdict trigger;
		std::uint8_t to;
	};
	const Row rows[] = {
		{G, MRC_EVV_CE, S},	    {G, MRC_EVV_TRIM, S},
		{G, MRC_EVV_CONDEMNED, B},  {S, MRC_EVV_CONDEMNED, B},
		{G, MRC_EVV_TIMEOUT, B},    {S, MRC_EVV_TIMEOUT, B},
		{G, MRC_EVV_LOSS, B},	    {S, MRC_EVV_LOSS, B},
		{G, MRC_EVV_DENY, D},	    {S, MRC_EVV_DENY, D},
		{B, MRC_EVV_DENY, D},	    {D, MRC_EVV_ALLOW, G},
		{S, MRC_EVV_CE, S},	    {S, MRC_EVV_TRIM, S},
		{B, MRC_EVV_PROBE_OK, B}, // the first of two
		{B, MRC_EVV_PROBE_CE, S},   {B, MRC_EVV_PROBE_BAD, B},
		{B, MRC_EVV_PROBE_LOST, B}, {B, MRC_EVV_OK, B},
		{D, MRC_EVV_OK, D},	    {D, MRC_EVV_PROBE_OK, D},
		{D, MRC_EVV_TIMEOUT, D},
	};

	for (const Row &row : rows) {
		mrc_paths_cfg cfg = paths_cfg(8, 2);

		cfg.trim_nack = true;
		Paths p(cfg);
		p.force(3, row.from, kUnit);
		mrc_paths_verdict(&p.p, 3, row.trigger, 2 * kUnit);
		EXPECT_EQ(p.state(3), row.to)
			<< int{row.from} << " " << row.trigger;
	}
}

} // namespace
