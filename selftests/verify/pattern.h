/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_verify: the bytes that are sent, and the bytes around them. Every byte
 * follows from a 64-bit key and its offset, so that both sides know it and a
 * byte from another message, queue pair, direction or place is noticed.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

/* Mixes a word into a key (all of its bits reach all of the result's). */
constexpr uint64_t mix(uint64_t key, uint64_t v)
{
	uint64_t x = key ^ (v + 0x9e3779b97f4a7c15u + (key << 6) + (key >> 2));

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

class Pattern
{
public:
	explicit Pattern(uint64_t key) : key_(key) {}

	/* Bytes [offset, offset + len) of the pattern. */
	void fill(uint8_t *p, uint64_t offset, size_t len) const
	{
		while (len) {
			uint64_t w = word(offset / 8);
			size_t skip = offset % 8;
			size_t n = 8 - skip < len ? 8 - skip : len;

			if (n == 8)
				std::memcpy(p, &w, 8);
			else
				std::memcpy(p,
					    reinterpret_cast<uint8_t *>(&w) +
						    skip,
					    n);
			p += n;
			offset += n;
			len -= n;
		}
	}

	/* Index of the first wrong byte, or @len if all are right. */
	size_t check(const uint8_t *p, uint64_t offset, size_t len) const
	{
		size_t done = 0;

		while (done < len) {
			uint64_t w = word((offset + done) / 8);
			size_t skip = (offset + done) % 8;
			size_t n =
				8 - skip < len - done ? 8 - skip : len - done;
			const uint8_t *want =
				reinterpret_cast<uint8_t *>(&w) + skip;

			if (n == 8 ? std::memcmp(p + done, &w, 8)
				   : std::memcmp(p + done, want, n)) {
				for (size_t i = 0; i < n; i++)
					if (p[done + i] != want[i])
						return done + i;
			}
			done += n;
		}
		return len;
	}

	uint8_t at(uint64_t offset) const
	{
		uint8_t b;

		fill(&b, offset, 1);
		return b;
	}

private:
	uint64_t word(uint64_t i) const
	{
		uint64_t x = key_ + i * 0x9e3779b97f4a7c15u;

		return (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
	}

	uint64_t key_;
};
