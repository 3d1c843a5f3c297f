// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "mutate.hpp"

#include <algorithm>

#include <netinet/in.h>

#include "codec.hpp"
#include "ip.hpp"

namespace devfuzz
{
namespace
{
constexpr std::size_t ether = 14;
constexpr uint16_t roce_port = 4791;
constexpr std::size_t longest = 9000;

uint16_t get16(const uint8_t *at)
{
	return static_cast<uint16_t>(at[0] << 8 | at[1]);
}

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

std::optional<Place> find_roce(std::span<const uint8_t> frame)
{
	std::size_t at = ether;

	for (unsigned depth = 0; depth < 3; depth++) {
		if (frame.size() < at + 48)
			return {};
		const bool v6 = frame[at] >> 4 == 6;
		uint8_t next = v6 ? frame[at + 6] : frame[at + 9];
		std::size_t payload = at + (v6 ? 40u : (frame[at] & 15u) * 4u);

		if (v6 && next == IPPROTO_ROUTING &&
		    frame.size() > payload + 8) {
			next = frame[payload];
			payload += 8u + frame[payload + 1] * 8u;
		}
		if (next == IPPROTO_UDP && frame.size() > payload + 24 &&
		    get16(&frame[payload + 2]) == roce_port)
			return Place{at, payload};
		if (next != IPPROTO_IPIP && next != IPPROTO_IPV6)
			return {};
		at = payload;
	}
	return {};
}

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

/* One or more fields of MRC 1.0, by their names in the tables of mrcconform. */
void Mutator::change_field(Bytes &frame, const Place &at)
{
	const auto datagram =
		mrcconform::decode(std::span(frame).subspan(at.ip));
	const auto fields = mrcconform::field_table();

	if (!datagram || !datagram->fault.empty()) {
		change_bytes(frame, at.udp + 8);
		return;
	}
	mrcconform::Packet p = datagram->packet;

	for (uint64_t n = 1 + rng_.below(2); n; n--) {
		const auto &f = fields[rng_.below(fields.size())];

		p[f.id] = rng_.chance(50) ? p[f.id] + rng_.below(9) - 4
					  : rng_.nasty();
		if (f.width < 64)
			p[f.id] &= (1ull << f.width) - 1;
	}
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
	switch (rng_.below(8)) {
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
	default:
		change_field(frame, *at);
	}
	/* Most are taken for real ones. */
	if (rng_.chance(85))
		seal(frame);
	return frame;
}
} // namespace devfuzz
