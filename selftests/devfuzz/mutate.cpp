// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "mutate.hpp"

#include <algorithm>

#include "codec.hpp"
#include "ip.hpp"

namespace devfuzz
{
namespace
{
constexpr std::size_t longest = 9000;

/* A correct ICRC and correct lengths. */
void seal(Bytes &frame)
{
	const auto at = find_roce(frame);

	if (!at)
		return;
	const auto from = frame.begin() + static_cast<std::ptrdiff_t>(at->ip);
	Bytes packet(from, frame.end());

	mrcconform::fix_lengths(packet);
	mrcconform::seal(packet);
	std::copy(packet.begin(), packet.end(), from);
}
} // namespace

void Mutator::learn(Bytes frame)
{
	if (known_.size() < 500)
		known_.push_back(std::move(frame));
	else
		rng_.pick(known_) = std::move(frame);
}

Bytes Mutator::readdressed(Bytes frame)
{
	const auto at = find_roce(frame);

	if (!at)
		return frame;
	const bool v6 = frame[at->ip] >> 4 == 6;
	const std::size_t len = v6 ? 16 : 4;
	const std::size_t source = at->ip + (v6 ? 8 : 12);

	/* The last byte: the address stays on the link. */
	frame[source + (rng_.chance(80) ? 1 : 2) * len - 1] ^=
		static_cast<uint8_t>(1 + rng_.below(255));
	seal(frame);
	return frame;
}

Bytes Mutator::spoiled(Bytes frame)
{
	if (rng_.chance(30))
		change_length(frame);
	else
		change_bytes(frame, ether);
	return frame;
}

void Mutator::change_bytes(Bytes &frame, std::size_t from)
{
	for (uint64_t n = 1 + rng_.below(3); n; n--) {
		const std::size_t at = from + rng_.below(std::min<std::size_t>(
						      frame.size() - from, 64));

		if (rng_.chance(50))
			frame[at] = static_cast<uint8_t>(frame[at] ^
							 1u << rng_.below(8));
		else
			frame[at] = static_cast<uint8_t>(rng_.nasty());
	}
}

bool Mutator::has_new_field(const Bytes &frame) const
{
	const auto at = find_roce(frame);

	return at && std::ranges::any_of(fields_of(frame, *at),
					 [&](const Wire_field &f) {
						 return !hits_[f.index];
					 });
}

Bytes Mutator::changed_anew(Bytes frame)
{
	const auto at = find_roce(frame);

	if (at)
		change_fields(frame, *at, true);
	return frame;
}

/* false: the header is not made right again. */
bool Mutator::change_field(Bytes &frame, const Place &at, bool anew)
{
	auto fields = fields_of(frame, at);

	if (anew)
		std::erase_if(fields, [&](const Wire_field &f) {
			return hits_[f.index] > 0;
		});
	if (fields.empty())
		return true;
	const Wire_field &f = rng_.pick(fields);
	const auto bit = static_cast<uint32_t>(f.bit);
	const uint64_t was = mrcconform::get_bits(frame, bit, f.width);
	uint64_t value =
		rng_.chance(50) ? was + rng_.below(9) - 4 : rng_.nasty();

	if (f.width < 64)
		value &= (1ull << f.width) - 1;
	if (value == was)
		value ^= 1;
	mrcconform::put_bits(frame, bit, f.width, value);
	hits_[f.index]++;
	return !f.shape;
}

/* One or two fields. Most packets are taken for real ones. */
void Mutator::change_fields(Bytes &frame, const Place &at, bool anew)
{
	const uint8_t version = frame[at.ip] >> 4;
	bool right = true;

	for (uint64_t n = 1 + rng_.below(2); n; n--)
		right &= change_field(frame, at, anew);
	if (rng_.chance(15) || frame[at.ip] >> 4 != version)
		return;
	const auto from = frame.begin() + static_cast<std::ptrdiff_t>(at.ip);
	Bytes packet(from, frame.end());

	if (right)
		mrcconform::fix_lengths(packet);
	mrcconform::seal(packet);
	std::copy(packet.begin(), packet.end(), from);
}

/* Another opcode, with headers of it. */
void Mutator::change_opcode(Bytes &frame, const Place &at)
{
	const auto datagram =
		mrcconform::decode(std::span(frame).subspan(at.ip));

	if (!datagram || !datagram->fault.empty())
		return;
	mrcconform::Packet p = datagram->packet;

	p[mrcconform::F::opcode] =
		rng_.chance(80) ? 0xC0 + rng_.below(32) : rng_.any() & 0xFF;
	const Bytes packet =
		mrcconform::encode(datagram->src, datagram->dst, p);

	frame.resize(at.ip);
	frame.insert(frame.end(), packet.begin(), packet.end());
}

void Mutator::change_length(Bytes &frame)
{
	if (rng_.chance(50)) {
		frame.resize(ether + 1 + rng_.below(frame.size() - ether));
		return;
	}
	const std::size_t size =
		std::min(frame.size() + 1 + rng_.below(2000), longest);

	while (frame.size() < size)
		frame.push_back(static_cast<uint8_t>(rng_.any()));
}

/* The headers of one packet and the rest of another. */
void Mutator::splice(Bytes &frame, const Place &at)
{
	if (known_.empty())
		return;
	const Bytes &other = rng_.pick(known_);
	const auto there = find_roce(other);
	const std::size_t cut = 8 + rng_.below(40);

	if (!there || at.udp + cut >= frame.size() ||
	    there->udp + cut >= other.size())
		return;
	frame.resize(at.udp + cut);
	frame.insert(frame.end(),
		     other.begin() +
			     static_cast<std::ptrdiff_t>(there->udp + cut),
		     other.end());
}

Bytes Mutator::changed(Bytes frame)
{
	const auto at = find_roce(frame);

	if (!at)
		return frame;
	switch (rng_.below(12)) {
	case 0: /* once more, from any time */
		return frame;
	case 1:
		change_bytes(frame, ether);
		break;
	case 2:
		change_bytes(frame, at->udp);
		break;
	case 3:
		change_length(frame);
		break;
	case 4:
		splice(frame, *at);
		break;
	case 5:
		change_bytes(frame, at->udp + 8);
		break;
	case 6:
		change_opcode(frame, *at);
		break;
	default:
		change_fields(frame, *at, false);
		return frame;
	}
	/* Most are taken for real ones. */
	if (rng_.chance(85))
		seal(frame);
	return frame;
}
} // namespace devfuzz
