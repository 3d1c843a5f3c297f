/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: random numbers that depend on what draws them and not on when. Each
 * entity (a link, a queue pair) numbers its draws. So a draw more somewhere
 * changes nothing elsewhere, and the order of events at different places has no
 * influence.
 */
#pragma once

#include "mrc_base.h"

namespace mrcsim
{
/* The finaliser of splitmix64: a bijection that scatters neighbours. */
constexpr u64 scatter(u64 z)
{
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return z ^ z >> 31;
}

/* Kinds of entities that draw. */
enum class Draws : u64 { mark = 1, loss, paths, walk, hash, engine, traffic };

/* Number @n of entity @who of kind @kind. */
constexpr u64 draw(u64 seed, Draws kind, u64 who, u64 n)
{
	const u64 entity =
		scatter(seed * 0x9E3779B97F4A7C15ull + static_cast<u64>(kind)) +
		who * 0xD1342543DE82EF95ull;

	return scatter(scatter(entity) + n * 0x9E3779B97F4A7C15ull);
}

/* Of the random bits @r a number below @n, which is below 2^32. */
constexpr u32 below(u64 r, u32 n)
{
	return static_cast<u32>(((r >> 32) * n) >> 32);
}
} // namespace mrcsim
