/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: what a fabric looks like. Every plane is the same: hosts at T0
 *switches, T1 switches, and with three tiers T2 switches. Numbers start at 0
 *here and at 1 in names.
 *
 *	link			in a plane its number within its kind
 *	host_up, host_down	host
 *	t0_up, t1_down		T0 * uplinks of a T0 + uplink
 *	t1_up, t2_down		T1 * uplinks of a T1 + uplink
 *
 * Uplink U of a T0 leads to T1 number U / bundle of its pod; uplink V of a T1
 *that is number J of its pod leads to T2 number J * uplinks + V.
 */
#pragma once

#include <array>
#include <string>
#include <vector>

#include "mrc_base.h"

namespace mrcsim
{
enum class Kind : u8 { host_up, host_down, t0_up, t1_down, t1_up, t2_down };
constexpr std::size_t kinds = 6;

/* One direction of a link and the queue in front of it. */
struct LinkSpec {
	u64 rate = 0;	   /* bit/s */
	u64 delay = 0;	   /* ps, of the link and of the node behind it */
	u64 queue = 0;	   /* bytes, then packets are dropped; 0: no limit */
	u64 trim = 0;	   /* bytes, then data packets are trimmed; 0: never */
	u64 mark_min = 0;  /* bytes, marked from here on ... */
	u64 mark_max = 0;  /* ... and every packet here; 0: none */
	u64 trim_len = 64; /* bytes on the wire of a trimmed packet */
	double loss = 0;   /* share of packets */

	bool operator==(const LinkSpec &) const = default;
};

/* A direction whose settings differ from those of its kind. */
struct LinkException {
	u32 link; /* see Shape::id() */
	LinkSpec spec;
};

struct Shape {
	u32 planes = 1;
	u32 tiers = 2;
	u32 pods = 1;	    /* with two tiers the only one is the whole plane */
	u32 t0 = 1;	    /* of a pod */
	u32 t1 = 0;	    /* of a pod; 0: one T0 alone */
	u32 hosts = 1;	    /* of a T0 */
	u32 bundle = 1;	    /* links between a T0 and a T1 */
	u32 t1_uplinks = 0; /* of a T1; with three tiers */
	bool srv6 = true;   /* senders choose paths; false: switches hash */
	std::array<LinkSpec, kinds> spec;
	std::vector<LinkException> exceptions;

	u32 all_t0() const { return pods * t0; }
	u32 all_t1() const { return pods * t1; }
	u32 all_hosts() const { return all_t0() * hosts; }
	u32 uplinks() const { return t1 * bundle; } /* of a T0 */
	u64 count(Kind k) const;
	u64 links_of_plane() const;
	u64 links() const { return links_of_plane() * planes; }
	/* Paths of a plane between hosts of different pods, or of T0s. */
	u32 paths() const;

	/* The number of a direction within the whole fabric. */
	u32 id(u32 plane, Kind k, u64 n) const;
	Kind kind_of(u32 id) const;
	u32 plane_of(u32 id) const;
	/* Names as those of mrclab: h1:p2, p1l2:s1, p1s3:c1, p1c1:s3. */
	std::string name(u32 id) const;
	/* The directions with this name; several of a bundle. */
	std::vector<u32> named(const std::string &name) const;
	/* The other direction of a link. */
	u32 reverse(u32 id) const;

	const LinkSpec &of(Kind k) const
	{
		return spec[static_cast<std::size_t>(k)];
	}
	LinkSpec &of(Kind k) { return spec[static_cast<std::size_t>(k)]; }

	/* Directions on the longest way between two hosts. */
	u32 hops() const { return all_t0() == 1 ? 2 : tiers == 2 ? 4 : 6; }
	/* Delay of that way, ps, without sending times. */
	u64 path_delay() const;
	/* ps to send @bytes on each of its links. */
	u64 path_sending(u64 bytes) const;
};

/* ps to send @bytes at @rate bit/s, rounded as the links do. */
u64 sending_time(u64 rate, u64 bytes);

/*
 * What @s cannot be. Throws mrclab::UsageError: no hosts, more links than 2^31,
 * a rate out of range, a queue with room for less than a packet of @packet
 * bytes.
 */
void check_shape(const Shape &s, u32 packet);
} // namespace mrcsim
