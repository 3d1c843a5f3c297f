/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What hostile senders make of packets that they have seen.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec.hpp"
#include "rng.hpp"
#include "wire_fields.hpp"

namespace devfuzz
{
using mrcconform::Bytes;

/* Keeps some of the frames that it has seen. */
class Mutator
{
public:
	explicit Mutator(uint64_t seed)
		: rng_(seed), hits_(field_names().size())
	{
	}

	void learn(Bytes frame);
	bool empty() const { return known_.empty(); }

	/* A frame as it was; there is one. */
	Bytes old() { return rng_.pick(known_); }
	/* Changed in a field, cut, longer, mixed with others; most have a right
	 * ICRC.
	 */
	Bytes changed(Bytes frame);
	/* Has it a field that was never changed? */
	bool has_new_field(const Bytes &frame) const;
	/* Changed in one of these. */
	Bytes changed_anew(Bytes frame);
	/* Changed or cut, and the ICRC stays as it was. */
	Bytes spoiled(Bytes frame);
	/* From or to another address, with a right ICRC. */
	Bytes readdressed(Bytes frame);

	/* How often each field was changed, in the order of field_names(). */
	const std::vector<uint64_t> &hits() const { return hits_; }

	Rng &rng() { return rng_; }

private:
	void change_bytes(Bytes &frame, std::size_t from);
	void change_fields(Bytes &frame, const Place &at, bool anew);
	bool change_field(Bytes &frame, const Place &at, bool anew);
	void change_opcode(Bytes &frame, const Place &at);
	void change_length(Bytes &frame);
	void splice(Bytes &frame, const Place &at);

	Rng rng_;
	std::vector<uint64_t> hits_;
	std::vector<Bytes> known_;
};
} // namespace devfuzz
