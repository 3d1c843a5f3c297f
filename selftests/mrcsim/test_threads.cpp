// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Runs on several threads have the results of one thread, bit by bit. */
#include <gtest/gtest.h>

#include "fabrics.hpp"
#include "report.hpp"
#include "scenario.hpp"

namespace mrcsim
{
namespace
{
/* All that a run shows, but the time and the memory that it took. */
std::string outcome(const Simulator &sim, const Traffic &t)
{
	RunResult r = result_of(sim, t);
	nlohmann::ordered_json j;

	EXPECT_EQ(r.wrong, "");
	r.memory = 0;
	j = json_of(r);
	j["stale"] = r.totals.stale;
	j["injected"] = r.totals.injected;
	return j.dump(1) + csv_of({r});
}

/* A number below @n of random scenario @seed. */
u32 pick(u64 seed, u64 what, u32 n)
{
	return below(draw(seed, Draws::traffic, 99, what), n);
}

struct Random {
	explicit Random(u64 seed)
		: shape(fabric(seed)), traffic(flows(shape, seed))
	{
		settings.column = static_cast<Column>(pick(seed, 0, 4));
		settings.seed = seed;
		settings.sample = pick(seed, 1, 2) ? 7 * us + 13 : 0;
		settings.end = pick(seed, 2, 4) ? 0 : 90 * us;
		settings.cc = !pick(seed, 3, 5) ? &mrc_cc_none :
			      pick(seed, 5, 3)	? &mrc_cc_nscc :
						  &mrc_cc_vegas;
		for (u32 n = 0; n < pick(seed, 4, 8); n++)
			add_fault(seed * 100 + n);
	}

	static Shape fabric(u64 seed)
	{
		Shape s = marking_clos(
			1 + pick(seed, 10, 3), 2 + pick(seed, 11, 4),
			1 + pick(seed, 12, 4), 1 + pick(seed, 13, 4));

		s.srv6 = pick(seed, 14, 2);
		if (pick(seed, 15, 2)) {
			s.tiers = 3;
			s.pods = 2 + pick(seed, 16, 2);
			s.t1_uplinks = 1 + pick(seed, 17, 3);
		}
		return s;
	}

	static Traffic flows(const Shape &s, u64 seed)
	{
		const u32 all = s.all_hosts();
		const u64 bytes = 20'000 + pick(seed, 20, 200'000);

		switch (pick(seed, 21, 5)) {
		case 0:
			return incast(all, all - 1, bytes);
		case 1:
			return all_to_all(all, std::min(all, 6u), bytes / 2, 1);
		case 2:
			return ring_allreduce(all, 0, bytes * 4);
		default:
			return permutation(all, 0, bytes * 4, seed);
		}
	}

	void add_fault(u64 seed)
	{
		const std::string link = shape.name(
			pick(seed, 30, static_cast<u32>(shape.links())));
		const u64 at = pick(seed, 31, 60) * us + pick(seed, 32, 3);
		const auto add = [&](u64 when, std::vector<std::string> words) {
			words.insert(words.begin(), link);
			faults.push_back(parse_fault(shape, words, when));
		};

		switch (pick(seed, 33, 4)) {
		case 0:
			add(at, {"loss", "2%"});
			break;
		case 1:
			add(at, {"rate", "25%"});
			break;
		default:
			add(at, {"down"});
			add(at + 40 * us, {"up"});
			break;
		}
	}

	std::string run(u32 threads, u64 slice) const
	{
		Simulator sim(shape, settings, traffic, faults, threads);

		while (sim.run(slice) && sim.now() < 100'000 * us)
			;
		most = std::max(most, sim.threads());
		return outcome(sim, traffic);
	}

	Shape shape;
	Traffic traffic;
	Settings settings{};
	std::vector<Fault> faults{};
	mutable u32 most = 0; /* threads that there were */
};

TEST(Threads, changeNothing)
{
	u32 parallel = 0;

	for (u64 seed = 1; seed <= 40; seed++) {
		const Random r(seed);
		const std::string one = r.run(1, ~0ull >> 1);

		for (u32 threads = 2; threads <= 4; threads++)
			ASSERT_EQ(one, r.run(threads, ~0ull >> 1))
				<< "seed " << seed << ", " << threads
				<< " threads";
		/* Interrupted runs go on. */
		ASSERT_EQ(one, r.run(1, 1'009)) << seed;
		ASSERT_EQ(one, r.run(3, 1'009)) << seed;
		parallel += r.most > 2;
	}
	/* Most of these could be cut into more than two parts. */
	EXPECT_GT(parallel, 20U);
}

/* Whom a trigger starts at once is simulated by the same thread. */
TEST(Threads, areNoMoreThanTriggersAllow)
{
	const Shape s = plain_clos(1, 4, 2, 2);
	const Traffic ring = ring_allreduce(s.all_hosts(), 0, 100'000);
	Traffic tied = permutation(s.all_hosts(), 0, 100'000, 1);

	EXPECT_EQ(Simulator(s, {}, tied, {}, 8).threads(), 4U);
	EXPECT_EQ(Simulator(s, {}, tied, {}, 3).threads(), 3U);
	/* A step of a host follows what this host has received. */
	EXPECT_EQ(Simulator(s, {}, ring, {}, 8).threads(), 4U);

	/* Host 1 starts a flow of host 8. */
	tied.add(7, 3, 5000, not_yet);
	tied.triggers.push_back({Trigger::Kind::once, 1, {8}});
	tied.flows[0].sent_trigger = 0;

	Simulator sim(s, {}, tied, {}, 8);

	EXPECT_EQ(sim.threads(), 3U);
	finish(sim);
	EXPECT_EQ(sim.totals().finished, 9U);
	EXPECT_EQ(sim.flows()[8].began, sim.flows()[0].ended);
	EXPECT_EQ(Simulator(plain_clos(1, 1, 0, 4), {}, ring_allreduce(4, 0, 8),
			    {}, 8)
			  .threads(),
		  1U);
}
} // namespace
} // namespace mrcsim
