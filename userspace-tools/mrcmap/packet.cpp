// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "packet.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>

#include <arpa/inet.h>

#include "error.hpp"

namespace mrcmap
{
namespace
{
constexpr std::array<uint8_t, 6> magic = {'m', 'r', 'c', 'm', 'a', 'p'};
constexpr uint16_t version = 1;
constexpr uint8_t protocol_udp = 17;
constexpr uint8_t hop_limit = 64;
constexpr std::size_t ip_header = 40;
constexpr std::size_t checksum_at = 46;
/* In the payload. What comes before the first one is the same in all probes of
 * a path.
 */
constexpr std::size_t differs_at = 24;
constexpr std::size_t check_at = 40;

void put(uint8_t *at, uint64_t value, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--) {
		at[i] = static_cast<uint8_t>(value);
		value >>= 8;
	}
}

uint64_t get(const uint8_t *at, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}

uint64_t little(const uint8_t *at, std::size_t bytes)
{
	uint64_t value = 0;

	for (std::size_t i = 0; i < bytes; i++)
		value |= uint64_t{at[i]} << (8 * i);
	return value;
}

/*
 * The sum of 16-bit words in the machine's byte order; the order changes only
 * that of the bytes of the result (RFC 1071).
 */
uint64_t sum_of(std::span<const uint8_t> bytes)
{
	uint64_t sum = 0;
	std::size_t i = 0;
	uint32_t word = 0;

	for (; i + sizeof(word) <= bytes.size(); i += sizeof(word)) {
		memcpy(&word, &bytes[i], sizeof(word));
		sum += word;
	}
	word = 0;
	if (i < bytes.size())
		memcpy(&word, &bytes[i], bytes.size() - i);
	return sum + word;
}

/* UDP's sum over the pseudo header and what follows the IPv6 header. */
uint64_t udp_sum(std::span<const uint8_t> ip)
{
	const auto rest = static_cast<uint16_t>(ip.size() - ip_header);

	/* Both addresses are the last part of the header. */
	return sum_of(ip.subspan(8)) + htons(protocol_udp) + htons(rest);
}

/* In the machine's byte order, as it is in the packet. */
uint16_t checksum(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return static_cast<uint16_t>(~sum);
}

struct Sip {
	uint64_t v0, v1, v2, v3;

	void round()
	{
		v0 += v1;
		v1 = std::rotl(v1, 13) ^ v0;
		v0 = std::rotl(v0, 32);
		v2 += v3;
		v3 = std::rotl(v3, 16) ^ v2;
		v0 += v3;
		v3 = std::rotl(v3, 21) ^ v0;
		v2 += v1;
		v1 = std::rotl(v1, 17) ^ v2;
		v2 = std::rotl(v2, 32);
	}

	void take(uint64_t m)
	{
		v3 ^= m;
		round();
		round();
		v0 ^= m;
	}
};
} // namespace

Key parse_key(std::string_view text)
{
	const auto space = [](char c) {
		return std::isspace(static_cast<unsigned char>(c)) != 0;
	};
	Key key{};

	while (!text.empty() && space(text.front()))
		text.remove_prefix(1);
	while (!text.empty() && space(text.back()))
		text.remove_suffix(1);
	if (text.size() != 2 * key.size() ||
	    !std::all_of(text.begin(), text.end(), [](char c) {
		    return std::isxdigit(static_cast<unsigned char>(c)) != 0;
	    }))
		throw mrclab::UsageError("a key has 32 hexadecimal digits");
	for (std::size_t i = 0; i < text.size(); i++) {
		const char c = text[i];
		const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;

		key[i / 2] = static_cast<uint8_t>(key[i / 2] << 4 | digit);
	}
	return key;
}

namespace
{
Sip sip_begin(const Key &key)
{
	const uint64_t k0 = little(key.data(), 8);
	const uint64_t k1 = little(key.data() + 8, 8);

	return {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d,
		k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573};
}

/* @bytes are the end of @size ones, the others of which were taken before. */
uint64_t sip_end(Sip s, std::span<const uint8_t> bytes, std::size_t size)
{
	const std::size_t whole = bytes.size() / 8 * 8;

	for (std::size_t i = 0; i < whole; i += 8)
		s.take(little(bytes.data() + i, 8));
	s.take(little(bytes.data() + whole, bytes.size() - whole) |
	       uint64_t{size} << 56);
	s.v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		s.round();
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
} // namespace

uint64_t siphash(const Key &key, std::span<const uint8_t> bytes)
{
	return sip_end(sip_begin(key), bytes, bytes.size());
}

ProbeMaker::ProbeMaker(const Probe &probe, const Wire &wire, const Key &key)
	: bytes_(std::max<std::size_t>(wire.size, probe_min))
{
	const std::size_t size = bytes_.size();
	uint8_t *b = bytes_.data();
	uint8_t *udp = b + ip_header;
	uint8_t *p = b + inner_headers;

	put(&b[0], 6u << 28 | wire.dscp << 22, 4);
	put(&b[4], size - ip_header, 2);
	b[6] = protocol_udp;
	b[7] = hop_limit;
	std::copy(wire.from.begin(), wire.from.end(), b + 8);
	std::copy(wire.to.begin(), wire.to.end(), b + 24);
	put(udp, wire.port, 2);
	put(udp + 2, wire.port, 2);
	put(udp + 4, size - ip_header, 2);
	std::copy(magic.begin(), magic.end(), p);
	put(p + 6, version, 2);
	put(p + 8, probe.digest, 8);
	put(p + 16, probe.host, 4);
	put(p + 20, probe.path, 4);
	sum_ = udp_sum(bytes_);

	Sip s = sip_begin(key);

	for (std::size_t i = 0; i < differs_at; i += 8)
		s.take(little(p + i, 8));
	sip_ = {s.v0, s.v1, s.v2, s.v3};
}

void ProbeMaker::make(std::vector<uint8_t> &bytes, uint32_t window,
		      uint32_t sequence, uint64_t sent) const
{
	bytes = bytes_;

	uint8_t *p = bytes.data() + inner_headers;
	const std::span<const uint8_t> own(
		p + differs_at, probe_min - inner_headers - differs_at);

	put(p + 24, window, 4);
	put(p + 28, sequence, 4);
	put(p + 32, sent, 8);
	put(p + check_at,
	    sip_end({sip_[0], sip_[1], sip_[2], sip_[3]},
		    own.first(check_at - differs_at), check_at),
	    8);

	const uint16_t sum = checksum(sum_ + sum_of(own));
	const uint16_t some = sum ? sum : 0xffff; /* 0: none */

	memcpy(bytes.data() + checksum_at, &some, sizeof(some));
}

std::vector<uint8_t> build(const Probe &probe, const Wire &wire, const Key &key)
{
	std::vector<uint8_t> bytes;

	ProbeMaker(probe, wire, key)
		.make(bytes, probe.window, probe.sequence, probe.sent);
	return bytes;
}

Parsed parse(std::span<const uint8_t> b, uint16_t port, const Key &key,
	     Probe &probe)
{
	if (b.size() < inner_headers || b[0] >> 4 != 6 ||
	    b[6] != protocol_udp || get(&b[40], 2) != port ||
	    get(&b[42], 2) != port)
		return Parsed::foreign;

	const uint8_t *p = b.data() + inner_headers;

	if (b.size() < probe_min || get(&b[4], 2) != b.size() - ip_header ||
	    get(&b[44], 2) != b.size() - ip_header || get(&b[46], 2) == 0 ||
	    checksum(udp_sum(b)) != 0 ||
	    !std::equal(magic.begin(), magic.end(), p))
		return Parsed::bad;
	if (get(p + 6, 2) != version)
		return Parsed::version;
	if (get(p + check_at, 8) != siphash(key, {p, check_at}))
		return Parsed::forged;
	if (!std::all_of(b.begin() + probe_min, b.end(),
			 [](uint8_t c) { return c == 0; }))
		return Parsed::bad;
	probe.digest = get(p + 8, 8);
	probe.host = static_cast<uint32_t>(get(p + 16, 4));
	probe.path = static_cast<uint32_t>(get(p + 20, 4));
	probe.window = static_cast<uint32_t>(get(p + 24, 4));
	probe.sequence = static_cast<uint32_t>(get(p + 28, 4));
	probe.sent = get(p + 32, 8);
	return Parsed::good;
}
} // namespace mrcmap
