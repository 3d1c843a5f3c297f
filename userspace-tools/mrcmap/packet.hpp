/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: probes on the wire. A probe is IPv6 in IPv6 without a routing header.
 * build() makes what follows the outer IPv6 header: inner IPv6 header, UDP
 * header with checksum, payload. That is what a raw socket of protocol 41 sends
 * and receives; the kernel makes the outer header. The payload, in network
 * byte order:
 *
 *	0	"mrcmap"	magic
 *	6	u16		version, 1
 *	8	u64		digest of the plan
 *	16	u32		host that sent it
 *	20	u32		path
 *	24	u32		window: the sender's clock by Config::window
 *	28	u32		sequence in the window, from 0
 *	32	u64		the sender's clock, ns
 *	40	u64		SipHash-2-4 of the bytes before, by the fabric's
 *key 48			zeros up to the size
 */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plan.hpp"

namespace mrcmap
{
/* All agents of a fabric have the same key; strangers cannot forge probes. */
using Key = std::array<uint8_t, 16>;

/* 32 hexadecimal digits, with white space around. Throws mrclab::UsageError. */
Key parse_key(std::string_view text);

/* SipHash-2-4 of Aumasson and Bernstein. */
uint64_t siphash(const Key &key, std::span<const uint8_t> bytes);

constexpr std::size_t inner_headers = 40 + 8;
constexpr std::size_t payload_min = 48;
constexpr std::size_t probe_min = inner_headers + payload_min;

struct Probe {
	uint64_t digest = 0;
	uint32_t host = 0;
	uint32_t path = 0;
	uint32_t window = 0;
	uint32_t sequence = 0;
	uint64_t sent = 0;

	bool operator==(const Probe &) const = default;
};

struct Wire {
	Address from{}, to{}; /* of the inner header */
	uint16_t port = 0;    /* UDP, both */
	uint32_t size = 0;    /* from the inner header on, >= probe_min */
	uint32_t dscp = 0;
};

std::vector<uint8_t> build(const Probe &probe, const Wire &wire,
			   const Key &key);

/*
 * Makes the probes of one path, many times: what is the same in all of them is
 * worked out once.
 */
class ProbeMaker
{
public:
	/* Of @probe only the digest, the host and the path count. */
	ProbeMaker(const Probe &probe, const Wire &wire, const Key &key);

	/* What build() returns; @bytes keeps its room. */
	void make(std::vector<uint8_t> &bytes, uint32_t window,
		  uint32_t sequence, uint64_t sent) const;

private:
	std::vector<uint8_t> bytes_;	/* 0 where probes differ */
	uint64_t sum_ = 0;		/* UDP's, of bytes_ */
	std::array<uint64_t, 4> sip_{}; /* after what is the same */
};

enum class Parsed {
	good,
	foreign, /* no probe at all: other traffic */
	bad,	 /* meant to be a probe, and wrong */
	forged,	 /* the check is wrong */
	version, /* of another version */
};

/*
 * @bytes can be anything. @port is what both UDP ports must be. @probe has a
 * meaning if the result is good. Addresses are not judged.
 */
Parsed parse(std::span<const uint8_t> bytes, uint16_t port, const Key &key,
	     Probe &probe);
} // namespace mrcmap
