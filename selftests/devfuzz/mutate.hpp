/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What hostile senders make of packets that they have seen.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec.hpp"
#include "rng.hpp"

namespace devfuzz
{
using mrcconform::Bytes;

/*
 * Where the innermost IP header of a RoCE packet is, and its UDP header;
 * nothing for other packets. Outer IPv6 headers and segment routing headers go
 * before it.
 */
struct Place {
	std::size_t ip, udp;
};

std::optional<Place> find_roce(std::span<const uint8_t> frame);

/* Keeps some of the frames that it has seen. */
class Mutator
{
public:
	explicit Mutator(uint64_t seed) : rng_(seed) {}

	void learn(Bytes frame);
	bool empty() const { return known_.empty(); }

	/* A frame as it was; there is one. */
	Bytes old() { return rng_.pick(known_); }
	/* Changed in a field, cut, longer, mixed with others; most have a right
	 * ICRC.
	 */
	Bytes changed(Bytes frame);
	/* Changed or cut, and the ICRC stays as it was. */
	Bytes spoiled(Bytes frame);
	/* From or to another address, with a right ICRC. */
	Bytes readdressed(Bytes frame);

	Rng &rng() { return rng_; }

private:
	void change_bytes(Bytes &frame, std::size_t from);
	void change_field(Bytes &frame, const Place &at);
	void change_length(Bytes &frame);
	void splice(Bytes &frame, const Place &at);

	Rng rng_;
	std::vector<Bytes> known_;
};
} // namespace devfuzz
