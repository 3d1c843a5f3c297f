// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Random faults of random fabrics are found, and nothing else is. */
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "health.hpp"
#include "sim.hpp"

namespace mrcmap
{
namespace
{
/* Single faults, and pairs. */
int runs()
{
	return takes_long() ? 200 : 60;
}

/*
 * How often each path passes a place, in lowest terms. Places with the same
 * shape cannot be told apart by any probe.
 */
using Shape = std::map<uint32_t, uint32_t>;

std::vector<Place> all_places(const mrclab::Topology &t)
{
	std::vector<Place> out;

	for (uint32_t i = 0; i < t.links().size(); i++)
		for (const Way w : {Way::up, Way::down, Way::both})
			out.push_back({t.nodes()[t.links()[i].low.node].kind ==
						       mrclab::Kind::host
					       ? Element::nic_link
					       : Element::fabric_link,
				       i, w});
	for (uint32_t i = 0; i < t.nodes().size(); i++)
		if (t.nodes()[i].kind != mrclab::Kind::host)
			out.push_back({t.nodes()[i].kind == mrclab::Kind::t0
					       ? Element::t0
					       : Element::t1,
				       i, Way::both});
	return out;
}

/* A fault's place, and all those that look the same. */
using Class = std::set<Place>;

struct Expected {
	Class places;
	State state;

	/* NOLINTNEXTLINE(modernize-use-nullptr): it sees a 0 in here. */
	auto operator<=>(const Expected &) const = default;
};

/* The shapes of all places, with and without paths that do not come back. */
class Shapes
{
public:
	Shapes(const mrclab::Topology &t, const Plan &plan, bool one_way)
	{
		std::map<mrclab::Direction, Shape> passed;

		for (const ProbePath &p : plan.paths())
			for (const mrclab::Direction &d : p.hops)
				if (one_way || !p.one_way())
					passed[d][p.id]++;
		for (const Place &place : all_places(t)) {
			Shape &shape = shapes_[place];
			uint32_t common = 0;

			for (const auto &d : directions_of(t, place))
				for (const auto &[path, n] : passed[d])
					shape[path] += n;
			for (const auto &[path, n] : shape)
				common = std::gcd(common, n);
			for (auto &[path, n] : shape)
				n /= common;
		}
	}

	Class alike(const Place &place) const
	{
		const Shape &shape = shapes_.at(place);
		Class out;

		for (const auto &[other, s] : shapes_)
			if (s == shape)
				out.insert(other);
		return out;
	}

private:
	std::map<Place, Shape> shapes_;
};

Expected expected(const mrclab::Topology &t, const Plan &plan, const Fault &f)
{
	/* One-way delays need two planes to compare. */
	const bool one_way = f.state != State::slow || t.fabric().planes > 1;
	Expected e{Shapes(t, plan, one_way).alike(f.place), f.state};

	/* Without carrier the directions are certain. */
	if (f.state == State::down)
		std::erase_if(e.places, [](const Place &p) {
			return p.way != Way::both;
		});
	return e;
}

Expected seen(const Finding &f)
{
	Expected e{{f.place}, f.state};

	e.places.insert(f.others.begin(), f.others.end());
	return e;
}

/* What was raised at the end, after each fault had the time that it needs. */
struct Result {
	std::vector<Expected> want, have;
	std::vector<Finding> findings;
	std::size_t changes = 0;
	uint64_t first = 0; /* ns until something was raised */
};

uint64_t time_for(const std::vector<Fault> &faults)
{
	uint64_t time = 8 * second;

	for (const Fault &f : faults)
		if (f.state == State::lossy)
			time = std::max(time, f.loss >= 0.05   ? 6 * second
					      : f.loss >= 0.01 ? 30 * second
							       : 300 * second);
	return time;
}

Result run(const mrclab::Topology &t, const std::vector<Fault> &faults,
	   uint64_t seed)
{
	const Config config;
	const Plan plan(t, config);
	Evidence evidence(plan, config);
	Locator locator(t, plan, config);
	Health health(config);
	Sim sim(t, plan, config, seed);
	Result r;
	const uint64_t time = time_for(faults);
	/* Long runs have longer windows, since there are so many. */
	const uint64_t step = time > 60 * second ? second : 100 * ms;
	const auto look = [&] {
		evidence.advance(sim.now());
		return health.update(locator.locate(evidence, sim.carriers()),
				     static_cast<int64_t>(sim.now() / ms));
	};

	sim.noise.jitter = 100'000;
	sim.run(evidence, 6 * second, 500 * ms);
	look();
	for (const Fault &f : faults) {
		sim.add(f);
		r.want.push_back(expected(t, plan, f));
	}

	const uint64_t begin = sim.now();

	while (sim.now() < begin + time) {
		sim.run(evidence, 3 * step, step);
		r.changes += look().size();
		if (!r.first && !health.alarms().empty())
			r.first = sim.now() - begin;
	}
	for (const Alarm &a : health.alarms()) {
		r.have.push_back(seen(a.finding));
		r.findings.push_back(a.finding);
	}
	std::sort(r.want.begin(), r.want.end());
	std::sort(r.have.begin(), r.have.end());
	return r;
}

std::string describe(const mrclab::Topology &t,
		     const std::vector<Fault> &faults, const Result &r,
		     uint64_t seed)
{
	const mrclab::Fabric &f = t.fabric();
	std::string s =
		fmt::format("seed {}: {} planes, {} T0, {} T1, {} hosts", seed,
			    f.planes, f.t0, f.t1, f.hosts);

	for (const Fault &x : faults)
		s += "\n  fault " + text_of(t, x);
	for (const Finding &x : r.findings) {
		s += fmt::format("\n  found {} {} loss {:.4f} delay {}",
				 place_name(t, x.place), state_name(x.state),
				 x.loss, x.extra_delay);
		for (const Place &o : x.others)
			s += " or " + place_name(t, o);
	}
	return s;
}

/* Part of another fault, or of what it cannot be told from. */
bool hidden(const mrclab::Topology &t, const Fault &a, const Fault &b)
{
	const auto inner = directions_of(t, a.place);
	const auto outer = directions_of(t, b.place);

	return std::all_of(inner.begin(), inner.end(), [&](const auto &d) {
		return std::find(outer.begin(), outer.end(), d) != outer.end();
	});
}

/* A link at a dead switch is dead, whatever else is wrong with it. */
bool at_dead(const mrclab::Topology &t, const Fault &a, const Fault &b)
{
	const bool is_switch = b.place.element == Element::t0 ||
			       b.place.element == Element::t1;
	const bool is_link = a.place.element == Element::nic_link ||
			     a.place.element == Element::fabric_link;

	return is_switch && is_link &&
	       (t.links()[a.place.number].low.node == b.place.number ||
		t.links()[a.place.number].high.node == b.place.number);
}

struct Tally {
	int found = 0;
	int unsteady = 0;
	std::vector<uint64_t> times;

	void add(const Result &r)
	{
		found += r.want == r.have ? 1 : 0;
		unsteady += r.changes > r.want.size() ? 1 : 0;
		if (r.first)
			times.push_back(r.first);
	}

	void print() const
	{
		std::cout << found << " of " << runs() << " located exactly, "
			  << unsteady << " with changes on the way\n";
	}
};

TEST(Locate, SingleFaults)
{
	Tally tally;

	for (int i = 0; i < runs(); i++) {
		const uint64_t seed = 1000 + i;
		Random r(seed);
		const mrclab::Topology t(random_fabric(r));
		const std::vector<Fault> faults = {random_fault(r, t)};
		const Result result = run(t, faults, seed);

		EXPECT_TRUE(result.want == result.have)
			<< describe(t, faults, result, seed);
		tally.add(result);
	}
	tally.print();
	EXPECT_EQ(tally.found, runs());
}

TEST(Locate, DoubleFaults)
{
	Tally tally;

	for (int i = 0; i < runs(); i++) {
		const uint64_t seed = 5000 + i;
		Random r(seed);
		const mrclab::Topology t(random_fabric(r));
		std::vector<Fault> faults = {random_fault(r, t)};

		/* One that nobody could see, beside the other one, is none. */
		do {
			faults.resize(1);
			faults.push_back(random_fault(r, t));
		} while (hidden(t, faults[0], faults[1]) ||
			 hidden(t, faults[1], faults[0]) ||
			 at_dead(t, faults[0], faults[1]) ||
			 at_dead(t, faults[1], faults[0]));

		const Result result = run(t, faults, seed);

		tally.add(result);
		if (result.want != result.have)
			std::cout << describe(t, faults, result, seed) << "\n";
	}
	tally.print();
	EXPECT_GE(tally.found, runs() * 95 / 100);
}
} // namespace
} // namespace mrcmap
