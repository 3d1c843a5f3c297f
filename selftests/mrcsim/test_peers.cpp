// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* One run by several processes: here threads, each with all that a process has. What is
 * between MPI and this is in mpi_peers.cpp, and tested by mpi.sh. */
#include <barrier>
#include <exception>
#include <thread>

#include <gtest/gtest.h>

#include "fabrics.hpp"
#include "report.hpp"
#include "scenario.hpp"

namespace mrcsim
{
namespace
{
/* Where processes leave what is for others. */
struct Crowd {
	explicit Crowd(u32 n)
		: box(n, std::vector<std::string>(n)),
		  all(static_cast<std::ptrdiff_t>(n))
	{
	}

	std::vector<std::vector<std::string>> box; /* by sender, receiver */
	std::barrier<> all;
};

class Member : public Peers
{
public:
	Member(Crowd &crowd, u32 rank) : crowd_(crowd), rank_(rank) {}

	u32 rank() const override { return rank_; }
	u32 count() const override
	{
		return static_cast<u32>(crowd_.box.size());
	}
	u32 neighbours() const override { return count(); }

	std::vector<std::string>
	exchange(const std::vector<std::string> &to) override
	{
		std::vector<std::string> from;

		crowd_.box[rank_] = to;
		crowd_.all.arrive_and_wait();
		for (auto &of_sender : crowd_.box)
			from.push_back(of_sender[rank_]);
		crowd_.all.arrive_and_wait();
		return from;
	}

private:
	Crowd &crowd_;
	u32 rank_;
};

struct Many {
	Shape shape = marking_clos(2, 4, 4, 4);
	Traffic traffic = permutation(16, 0, 300'000, 5);
	Settings settings{};
	std::vector<Fault> faults{};
};

/* The result of the first of @processes. */
RunResult run(const Many &m, u32 processes, u32 threads = 1)
{
	Crowd crowd(processes);
	std::vector<std::exception_ptr> errors(processes);
	RunResult result;
	const auto work = [&](u32 rank) {
		try {
			Member me(crowd, rank);
			Simulator sim(m.shape, m.settings, m.traffic, m.faults,
				      threads, processes > 1 ? &me : nullptr);

			while (sim.run(1000))
				;
			if (!rank)
				result = result_of(sim, m.traffic);
		} catch (...) {
			errors[rank] = std::current_exception();
		}
	};
	std::vector<std::thread> others;

	for (u32 n = 1; n < processes; n++)
		others.emplace_back(work, n);
	work(0);
	for (std::thread &t : others)
		t.join();
	for (const std::exception_ptr &e : errors)
		if (e)
			std::rethrow_exception(e);
	return result;
}

/* All that a run shows, but how long it took, and its memory. */
std::string all_of(RunResult r)
{
	r.cpu = r.wall = 0;
	r.memory = 0;
	return json_of(r).dump(1) + csv_of({r}) + trace_text(r.trace) +
	       pcap_of(r.captured);
}

TEST(Peers, haveTheResultOfOneProcess)
{
	Many m;

	m.settings.sample = 5 * us;
	m.settings.series.flows = {0, 3, 15};
	m.settings.series.links = {0, m.shape.named("p1l1:h1")[0]};
	m.settings.watch.qps = {2, 9};
	m.settings.watch.links = {m.shape.named("p2l2:h5")[0]};
	m.faults = {parse_fault(m.shape, {"p*l*:h*", "loss", "0.5%"}, 0),
		    parse_fault(m.shape, {"p1s2", "down"}, 5 * us),
		    parse_fault(m.shape, {"h3:p2+", "down"}, 8 * us),
		    parse_fault(m.shape, {"h3:p2+", "up"}, 300 * us),
		    parse_fault(m.shape, {"p1s2", "up"}, 400 * us)};

	const std::string alone = all_of(run(m, 1));

	for (const u32 processes : {2U, 3U, 4U})
		EXPECT_EQ(all_of(run(m, processes)), alone) << processes;
	EXPECT_EQ(all_of(run(m, 2, 2)), alone);
}

TEST(Peers, endAtTheTimeOfTheScenario)
{
	Many m;

	m.settings.end = 12 * us;
	EXPECT_EQ(all_of(run(m, 1)), all_of(run(m, 4)));
}

TEST(Peers, simulateRoceToo)
{
	Many m;

	m.settings.column = Column::roce;
	EXPECT_EQ(all_of(run(m, 1)), all_of(run(m, 3)));
}

/* Each of them says so. */
TEST(Peers, areNotMoreThanPartitions)
{
	Many m;

	EXPECT_EQ(message_of([&] { run(m, 5); }),
		  "5 processes: the fabric and the triggers of its traffic "
		  "allow 4");
}

/* A parcel that does not arrive as it was sent. */
class Damaging : public Member
{
public:
	using Member::Member;

	std::vector<std::string>
	exchange(const std::vector<std::string> &to) override
	{
		std::vector<std::string> from = Member::exchange(to);

		/* Of the window's packets; meetings are shorter. */
		if (!rank() && from[1].size() > 1000 && !done_) {
			from[1].resize(500);
			done_ = true;
		}
		return from;
	}

private:
	bool done_ = false;
};

/* Nobody waits for one that has failed. */
TEST(Peers, endWhenOneFails)
{
	const Many m;
	Crowd crowd(2);
	std::string what[2];
	const auto work = [&](u32 rank) {
		Damaging me(crowd, rank);

		what[rank] = message_of([&] {
			Simulator sim(m.shape, m.settings, m.traffic, {}, 1,
				      &me);

			while (sim.run(1000))
				;
		});
	};
	std::thread other(work, 1);

	work(0);
	other.join();
	EXPECT_EQ(what[0], "another process has sent less than it announced");
	EXPECT_EQ(what[1], "another process has failed");
}

TEST(Peers, parcelsAreComplete)
{
	Parcel p;

	p.put<u32>(7);
	p.put_all(std::vector<u64>{1, 2, 3});
	p.put_text("abc");

	Parcel q(p.bytes());

	EXPECT_EQ(q.get<u32>(), 7U);
	EXPECT_EQ(q.get_all<u64>(), (std::vector<u64>{1, 2, 3}));
	EXPECT_EQ(q.get_text(), "abc");
	EXPECT_NE(message_of([&] { q.get<u8>(); }), "");

	/* Lengths are not believed. */
	Parcel lie;

	lie.put<u64>(~0ull / 8 + 2);
	EXPECT_NE(message_of([&] { lie.get_all<u64>(); }), "");
}
} // namespace
} // namespace mrcsim
