/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random choices that a seed repeats. The distributions of the standard library
 * may differ between its versions, so there are none here.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace devfuzz
{
/* A seed for a part of the work that has the seed @seed. */
constexpr uint64_t derive(uint64_t seed, uint64_t part)
{
	uint64_t z = seed + (part + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

class Rng
{
public:
	explicit Rng(uint64_t seed) : gen_(seed) {}

	uint64_t any() { return gen_(); }
	/* In [0, @n); @n is at least 1. */
	uint64_t below(uint64_t n) { return gen_() % n; }
	uint32_t u32(uint32_t n) { return static_cast<uint32_t>(below(n)); }
	/* In [@from, @to] */
	uint64_t range(uint64_t from, uint64_t to)
	{
		return from + below(to - from + 1);
	}
	bool chance(unsigned percent) { return below(100) < percent; }

	/* Small numbers, single bits and limits reach deeper than noise. */
	uint64_t nasty()
	{
		switch (below(8)) {
		case 0:
			return 1ull << below(64);
		case 1:
			return (1ull << below(64)) - 1;
		case 2:
			return ~0ull - below(4);
		case 3:
			return gen_();
		case 4:
			return gen_() & 0xffffffff;
		default:
			return below(80);
		}
	}

	/*
	 * The size of a queue: up to @likely, or what must be refused. A device
	 * grants more than a guest has memory for, if all programs ask for the
	 * most.
	 */
	uint64_t size(uint64_t likely)
	{
		if (chance(90))
			return range(1, likely);
		return chance(40) ? 0 : 1ull << range(20, 31) | below(2);
	}

	/* A random set of the bits of @known, sometimes with others. */
	uint64_t bits(uint64_t known)
	{
		const uint64_t set = gen_() & known;

		return chance(5) ? set | 1ull << below(32) : set;
	}

	template <typename T> auto &pick(T &from)
	{
		return from[below(from.size())];
	}

	/* One of a few constants of one type. */
	template <typename T, typename... Rest> T one_of(T first, Rest... rest)
	{
		const T all[] = {first, static_cast<T>(rest)...};

		return all[below(1 + sizeof...(rest))];
	}

private:
	std::mt19937_64 gen_;
};
} // namespace devfuzz
