/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: the directions of all links, with their queues' settings and state.
 * What happens in the queues is in queues.hpp. */
#pragma once

#include <vector>

#include "memory.hpp"
#include "shape.hpp"

namespace mrcsim
{
/* The time for a byte is kept in 2^-16 ps. */
constexpr unsigned int byte_time_shift = 16;

constexpr u64 byte_time(u64 rate)
{
	return ((u64{8'000'000'000'000} << byte_time_shift) + rate / 2) / rate;
}

/* Settings that links share. Lengths of queues are times: how long they take.
 */
struct LinkClass {
	u64 byte;     /* time, see above */
	u64 delay;    /* ps */
	u64 packet;   /* ps for a full data packet */
	u64 drop;     /* ps; ~0: never */
	u64 trim;     /* ps; ~0: never */
	u64 mark_min; /* ps; ~0: never */
	u64 mark_max; /* ps */
	u64 loss;     /* share of packets, 32 bits behind the point */
	u16 trim_len; /* bytes */

	LinkClass(const LinkSpec &spec, u32 packet_bytes);
	u64 time(u64 bytes) const { return bytes * byte >> byte_time_shift; }
};

struct alignas(64) Link {
	u64 data_free; /* ps, when all data packets will have left */
	u64 control_free;
	u64 bytes; /* accepted, control packets included */
	/*
	 * By class: packets under way, the first to arrive. These belong to the
	 * partition behind the link, everything else to that in front of it.
	 */
	u32 head[2];
	u32 tail[2];
	u32 draws;
	u32 packets; /* accepted */
	u32 marked;
	u16 cls;    /* index of its LinkClass */
	u8 kind;    /* Kind */
	u8 epoch;   /* counts how often it was down; odd: is down */
	u32 to;	    /* the node behind it, within its plane and tier */
	u16 behind; /* the partition of that node */
};
static_assert(sizeof(Link) == 64);

/* What is rare. */
struct LinkLoss {
	u32 trimmed, dropped, lost;
};

class Cut;

class Links
{
public:
	/*
	 * @packet: bytes of a full data packet on the wire. @shape has passed
	 * check_shape().
	 */
	Links(const Shape &shape, u32 packet);

	/* Which partitions the links lead to; else there is only one. */
	void set_partitions(const Shape &shape, const Cut &cut);

	Link &link(u32 id) { return links_[id]; }
	const Link &link(u32 id) const { return links_[id]; }
	LinkLoss &losses(u32 id) { return losses_[id]; }
	const LinkLoss &losses(u32 id) const { return losses_[id]; }
	const LinkClass &settings(const Link &l) const
	{
		return classes_[l.cls];
	}
	u64 count() const { return links_.size(); }
	/* Bytes that are allocated. */
	u64 memory() const
	{
		return links_.size() * (sizeof(Link) + sizeof(LinkLoss)) +
		       classes_.capacity() * sizeof(LinkClass) +
		       specs_.capacity() * sizeof(LinkSpec);
	}

	/* ps until all data packets will have left. */
	u64 backlog(u32 id, u64 now) const
	{
		const u64 free = links_[id].data_free;

		return free > now ? free - now : 0;
	}

	bool is_down(u32 id) const { return links_[id].epoch & 1; }
	/* Packets that are queued or under way are cut off when it goes down.
	 */
	void set_down(u32 id, bool down, u64 now);
	/* New settings; packets that are queued leave as before. */
	void set(u32 id, const LinkSpec &spec, u64 now);
	LinkSpec spec(u32 id) const;

private:
	u32 packet_bytes_;
	std::vector<LinkClass> classes_;
	std::vector<LinkSpec> specs_; /* of @classes_ */
	Array<Link> links_;
	Array<LinkLoss> losses_;
};
} // namespace mrcsim
