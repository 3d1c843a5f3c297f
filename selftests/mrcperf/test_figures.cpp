// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Percentiles, medians, sweeps, where messages are, and what is in them. */
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

#include "pattern.hpp"
#include "plan.hpp"
#include "stats.hpp"

namespace mrcperf
{
using Sizes = std::vector<uint64_t>;

TEST(Percentiles, OfOneSampleAreThatSample)
{
	std::vector<uint64_t> v{17};
	const Percentiles p = percentiles(v);

	for (double x : {p.min, p.p50, p.p90, p.p99, p.p999, p.max, p.mean})
		EXPECT_EQ(x, 17);
}

/* Of 1 to 1000, so many per mille are not larger than that number. */
TEST(Percentiles, AreSamplesByRank)
{
	std::vector<uint64_t> v(1000);

	std::iota(v.begin(), v.end(), 1);
	std::shuffle(v.begin(), v.end(), std::mt19937(1));
	const Percentiles p = percentiles(v);

	EXPECT_EQ(p.min, 1);
	EXPECT_EQ(p.p50, 500);
	EXPECT_EQ(p.p90, 900);
	EXPECT_EQ(p.p99, 990);
	EXPECT_EQ(p.p999, 999);
	EXPECT_EQ(p.max, 1000);
	EXPECT_EQ(p.mean, 500.5);
}

TEST(Percentiles, RoundTheRankUp)
{
	std::vector<uint64_t> v{40, 10, 30, 20};
	const Percentiles p = percentiles(v);

	EXPECT_EQ(p.p50, 20);
	EXPECT_EQ(p.p90, 40);
	EXPECT_EQ(p.p999, 40);
}

TEST(Percentiles, AgreeWithCounting)
{
	std::mt19937 random(7);

	for (int round = 0; round < 50; round++) {
		std::vector<uint64_t> v(1 + random() % 3000);

		for (uint64_t &x : v)
			x = random() % 500;
		const auto n = static_cast<double>(v.size());
		const Percentiles p = percentiles(v);
		const auto below = [&](double limit) {
			return std::count_if(v.begin(), v.end(), [&](auto x) {
				return static_cast<double>(x) < limit;
			});
		};
		const auto up_to = [&](double limit) {
			return std::count_if(v.begin(), v.end(), [&](auto x) {
				return static_cast<double>(x) <= limit;
			});
		};

		EXPECT_GE(up_to(p.p50), 0.5 * n);
		EXPECT_LT(below(p.p50), 0.5 * n);
		EXPECT_GE(up_to(p.p999), 0.999 * n);
		EXPECT_LT(below(p.p999), 0.999 * n);
	}
}

TEST(Percentiles, OfNothingAreRefused)
{
	std::vector<uint64_t> none;

	EXPECT_THROW(percentiles(none), std::invalid_argument);
	EXPECT_THROW(summarize({}), std::invalid_argument);
}

TEST(Percentiles, AreScaled)
{
	std::vector<uint64_t> v{1000, 3000};
	const Percentiles p = scaled(percentiles(v), 1e-3);

	EXPECT_DOUBLE_EQ(p.min, 1);
	EXPECT_DOUBLE_EQ(p.p50, 1);
	EXPECT_DOUBLE_EQ(p.max, 3);
	EXPECT_DOUBLE_EQ(p.mean, 2);
}

TEST(Summary, MedianAndSpread)
{
	Summary s = summarize({30, 10, 20});

	EXPECT_EQ(s.median, 20);
	EXPECT_EQ(s.min, 10);
	EXPECT_EQ(s.max, 30);
	EXPECT_DOUBLE_EQ(s.spread, 100);
	s = summarize({4, 1, 3, 2});
	EXPECT_EQ(s.median, 2.5);
	EXPECT_DOUBLE_EQ(s.spread, 120);
	s = summarize({5});
	EXPECT_EQ(s.median, 5);
	EXPECT_EQ(s.spread, 0);
	EXPECT_EQ(summarize({0, 0}).spread, 0);
}

TEST(Sweep, PowersOfTwo)
{
	EXPECT_EQ(sweep(8, 64), (Sizes{8, 16, 32, 64}));
	EXPECT_EQ(sweep(7, 33), (Sizes{7, 8, 16, 32, 33}));
	EXPECT_EQ(sweep(5, 5), (Sizes{5}));
	EXPECT_EQ(sweep(5, 6), (Sizes{5, 6}));
	EXPECT_EQ(sweep(2, 8u << 20).size(), 23u);
	EXPECT_EQ(sweep(8, 1u << 20).size(), 18u);
}

TEST(Plan, TestsHaveSizesOfTheirOwn)
{
	Options o;

	o.tests = {Kind::bw, Kind::rate, Kind::lat};
	o.ops = {Op::write, Op::write_imm};
	const std::vector<Point> points = points_of(o);

	EXPECT_EQ(points.size(), 2u * (18 + 1 + 18));
	EXPECT_EQ(points.front().size, 8u);
	EXPECT_EQ(largest_size(o), 1u << 20);
	o.tests = {Kind::rate};
	EXPECT_EQ(largest_size(o), 8u);
	o.sizes = {100, 9};
	EXPECT_EQ(points_of(o).size(), 4u);
	EXPECT_EQ(largest_size(o), 100u);
}

/* No two things in memory are in the same place, whatever the sizes. */
TEST(Layout, NothingOverlaps)
{
	for (uint32_t qps : {1u, 2u, 17u, 1024u})
		for (uint64_t largest : {1u, 8u, 4097u, 65536u}) {
			const Layout l(qps, largest);

			ASSERT_GE(l.slots(largest), 2u);
			for (uint64_t size : {uint64_t{1}, largest}) {
				const uint64_t last = l.slots(size) - 1;
				const uint64_t end = size + Layout::guard;

				EXPECT_LE(l.send(0, last, size) + end,
					  l.send(1, 0, size));
				EXPECT_LE(l.send(qps - 1, last, size) + end,
					  l.receive(0, 0, size));
				EXPECT_LE(l.receive(qps - 1, last, size) + end,
					  l.credit_to(0));
				EXPECT_LE(l.send(0, 0, size) + end,
					  l.send(0, 1, size));
			}
			EXPECT_EQ(l.credit_to(0) % 8, 0u);
			EXPECT_LE(l.credit_to(qps - 1) + 8, l.credit_from(0));
			EXPECT_LE(l.credit_from(qps - 1) + 8, l.total());
		}
}

TEST(Pattern, FindsEveryByteThatIsWrong)
{
	for (size_t size : {1u, 7u, 8u, 9u, 100u}) {
		const Pattern p(message_key(1, 2, Direction::to_server, 3, 4));
		std::vector<uint8_t> v(size);

		p.fill(v);
		EXPECT_EQ(p.check(v), size);
		for (size_t i = 0; i < size; i++) {
			EXPECT_EQ(p.at(i), v[i]);
			for (int bit = 0; bit < 8; bit++) {
				v[i] ^= 1u << bit;
				EXPECT_EQ(p.check(v), i);
				v[i] ^= 1u << bit;
			}
		}
	}
}

TEST(Pattern, IsAnotherOneForEachMessage)
{
	std::set<uint64_t> keys;

	for (uint64_t seed : {0u, 1u})
		for (uint32_t run : {0u, 1u, 2u})
			for (auto d :
			     {Direction::to_server, Direction::to_client})
				for (uint32_t qp : {0u, 1u, 1023u})
					for (uint64_t n = 0; n < 300; n++)
						keys.insert(message_key(
							seed, run, d, qp, n));
	EXPECT_EQ(keys.size(), 2u * 3 * 2 * 3 * 300);
}
} // namespace mrcperf
