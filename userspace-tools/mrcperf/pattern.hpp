/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcperf: the contents of messages that are verified. The bytes are derived
 * from a key that differs for each message. So a message that is stale, or that
 * belongs to another queue pair, direction or run, is wrong from its first
 * bytes on.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include <endian.h>

namespace mrcperf
{
/* Every bit of the argument affects all bits of the result. */
constexpr uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

enum class Direction : uint8_t { to_server, to_client };

/* Message @n of a queue pair in a run. */
constexpr uint64_t message_key(uint64_t seed, uint32_t run, Direction direction,
			       uint32_t qp, uint64_t n)
{
	const uint64_t d = direction == Direction::to_client;

	return mix(mix(mix(mix(seed) ^ run) ^ (d << 32 | qp)) ^ n);
}

class Pattern
{
public:
	explicit Pattern(uint64_t key) : key_(key) {}

	void fill(std::span<uint8_t> to) const
	{
		size_t at = 0;

		for (; to.size() - at >= 8; at += 8) {
			const uint64_t w = word(at);

			std::memcpy(&to[at], &w, 8);
		}
		if (at < to.size()) {
			const uint64_t w = word(at);

			std::memcpy(&to[at], &w, to.size() - at);
		}
	}

	/* Offset of the first wrong byte, or the size if all are correct. */
	size_t check(std::span<const uint8_t> got) const
	{
		for (size_t at = 0; at < got.size(); at += 8) {
			const uint64_t w = word(at);
			const size_t n =
				got.size() - at < 8 ? got.size() - at : 8;

			if (std::memcmp(&got[at], &w, n))
				return at + difference(&got[at], w);
		}
		return got.size();
	}

	uint8_t at(size_t offset) const
	{
		const uint64_t w = word(offset & ~size_t{7});

		return reinterpret_cast<const uint8_t *>(&w)[offset & 7];
	}

private:
	/* @offset is a multiple of 8. The result is the same on every machine.
	 */
	uint64_t word(size_t offset) const
	{
		return htole64(mix(key_ + offset));
	}

	static size_t difference(const uint8_t *p, uint64_t w)
	{
		const auto *want = reinterpret_cast<const uint8_t *>(&w);
		size_t i = 0;

		while (p[i] == want[i])
			i++;
		return i;
	}

	uint64_t key_;
};
} // namespace mrcperf
