// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* How long it takes from the first lost packet to a finding and a deny list. */
#include <algorithm>

#include <fmt/format.h>

#include "output.hpp"
#include "world.hpp"

namespace mrcmap
{
namespace
{
struct Took {
	std::optional<uint64_t> found, denied; /* ms */
	std::string what;
	bool right = false; /* the link; the first finding */
};

/* The agents turn as the program does. */
Took lose(double share, const std::vector<const char *> &directions,
	  uint64_t seed)
{
	constexpr uint64_t longest = 4 * second;
	Random r(seed);
	World w(fabric_of(2, 2, 2, 2), draw(r, 0, 99));
	std::vector<mrclab::Direction> bad;
	Took took;

	for (const char *d : directions)
		bad.push_back(w.t_.direction(d));
	w.turn_every = 10;
	w.collector_.enable_deny(true);
	w.run(second + draw(r, 0, 299) * ms);
	EXPECT_TRUE(w.changes.empty());

	const uint64_t begin = w.now();

	w.delay = [&](const ProbePath &p) -> std::optional<uint64_t> {
		for (const mrclab::Direction &d : p.hops)
			if (std::find(bad.begin(), bad.end(), d) != bad.end() &&
			    draw_share(r) < share)
				return std::nullopt;
		return 100'000;
	};
	while (w.denied.empty() && w.now() < begin + longest)
		w.run(10 * ms);
	if (!w.changes.empty()) {
		took.found =
			static_cast<uint64_t>(w.changes[0].at) - begin / ms;
		const Finding &f = w.changes[0].finding;

		took.what = finding_line(w.t_, f);
		took.right = (f.place.element == Element::nic_link ||
			      f.place.element == Element::fabric_link) &&
			     f.place.number == bad[0].link;
	}
	if (!w.denied.empty())
		took.denied = (w.now() - begin) / ms;
	return took;
}

struct Times {
	std::vector<uint64_t> found, denied;
	std::size_t runs = 0;

	void add(const Took &t)
	{
		runs++;
		if (t.found)
			found.push_back(*t.found);
		if (t.denied)
			denied.push_back(*t.denied);
		std::sort(found.begin(), found.end());
		std::sort(denied.begin(), denied.end());
	}
	/* @share of the runs took no longer; 1: all. */
	static uint64_t within(const std::vector<uint64_t> &v, double share)
	{
		return v.empty() ? UINT64_MAX
				 : v[static_cast<std::size_t>(
					   share *
					   static_cast<double>(v.size() - 1))];
	}
	void print(const std::string &what) const
	{
		std::cout << fmt::format(
			"{}: {} of {} denied, {} in a second; found after {} "
			"ms, 95 %: {}, all: {}; denied after {} ms, 95 %: {}, "
			"all: {}\n",
			what, denied.size(), runs,
			std::count_if(denied.begin(), denied.end(),
				      [](uint64_t t) { return t <= 1000; }),
			within(found, 0.5), within(found, 0.95),
			within(found, 1), within(denied, 0.5),
			within(denied, 0.95), within(denied, 1));
	}
};

Times try_all(double share, const std::string &name,
	      const std::vector<std::vector<const char *>> &places)
{
	Times times;
	const uint64_t each = takes_long() ? 50 : 6;

	for (const auto &place : places)
		for (uint64_t seed = 1; seed <= each; seed++) {
			const Took t = lose(share, place, seed);

			/* Its direction may become certain later. */
			EXPECT_TRUE(t.found);
			EXPECT_TRUE(t.right) << t.what;
			times.add(t);
		}
	times.print(fmt::format("{} loses {:g} %", name, share * 100));
	return times;
}

const std::vector<std::vector<const char *>> nic = {
	{"h1:p1"}, {"p1l1:h1"}, {"h1:p1", "p1l1:h1"}};
const std::vector<std::vector<const char *>> fabric = {{"p1l1:s2"},
						       {"p1s2:l1"}};

/* A second is what the design promises for 5 %. */
TEST(Time, NicLink)
{
	const Times much = try_all(0.2, "h1:p1", nic);
	const Times some = try_all(0.05, "h1:p1", nic);
	const Times little = try_all(0.02, "h1:p1", nic);

	EXPECT_EQ(much.denied.size(), much.runs);
	EXPECT_LE(Times::within(much.denied, 1), 1000u);
	EXPECT_EQ(some.denied.size(), some.runs);
	EXPECT_LE(Times::within(some.denied, 0.95), 1000u);
	EXPECT_EQ(little.denied.size(), little.runs);
	EXPECT_LE(Times::within(little.denied, 0.5), 3000u);
}

/* Each direction drops everything for some time, one after the other. */
TEST(Time, BurstsAreNoFault)
{
	for (const uint64_t longest : {80 * ms, 250 * ms}) {
		Random r(longest);
		World w(fabric_of(2, 2, 2, 2), 7);
		const std::size_t links = w.t_.links().size();
		mrclab::Direction bad{};
		uint64_t from = 0, until = 0;

		w.turn_every = 10;
		w.delay = [&](const ProbePath &p) -> std::optional<uint64_t> {
			if (w.now() >= from && w.now() < until &&
			    std::find(p.hops.begin(), p.hops.end(), bad) !=
				    p.hops.end())
				return std::nullopt;
			return 100'000;
		};
		for (std::size_t i = 0; i < links * (takes_long() ? 8 : 2);
		     i++) {
			bad = {static_cast<uint32_t>(i % links),
			       i / links % 2 == 0};
			from = w.now() + draw(r, 0, 1000) * ms;
			until = from + draw(r, longest / 2, longest);
			w.run(3 * second);
		}
		for (const Change &c : w.changes)
			ADD_FAILURE() << "up to " << longest / ms
				      << " ms: " << change_line(w.t_, c);
	}
}

TEST(Time, FabricLink)
{
	const Times much = try_all(0.2, "p1l1:s2", fabric);
	const Times some = try_all(0.05, "p1l1:s2", fabric);

	EXPECT_EQ(much.denied.size(), much.runs);
	EXPECT_LE(Times::within(much.denied, 0.95), 1000u);
	EXPECT_EQ(some.denied.size(), some.runs);
}
} // namespace
} // namespace mrcmap
