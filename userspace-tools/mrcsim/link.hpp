/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: one direction of a link and the queue in front of it. When a packet
 * is queued, it is already known when it will have left, because nothing
 * overtakes it. So a packet costs one event for each link, its arrival at the
 * other end.
 *
 * There are two classes. Control packets, trimmed ones among them, go first:
 * one waits for other control packets and for the data packet that is being
 * sent. The data packets behind it are late by its sending time. Data packets
 * whose departure is already known keep it; the next one makes up for that.
 */
#pragma once

#include <algorithm>

#include "event_list.hpp"
#include "memory.hpp"
#include "packet.hpp"
#include "random.hpp"
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
	u64 bytes;   /* accepted, control packets included */
	u32 head[2]; /* by class: packets under way, the first to arrive */
	u32 tail[2];
	u32 draws;
	u32 packets; /* accepted */
	u32 marked;
	u16 cls;  /* index of its LinkClass */
	u8 kind;  /* Kind */
	u8 epoch; /* counts how often it was down; odd: is down */
	u32 to;	  /* the node behind it, within its plane and tier */
};
static_assert(sizeof(Link) == 64);

/* What is rare. */
struct LinkLoss {
	u32 trimmed, dropped, lost;
};

/* Of all links. */
struct LinkSums {
	u64 queued = 0; /* packets that arrived at a queue */
	u64 passed = 0; /* packets that left a link at its other end */
	u64 marked = 0, trimmed = 0;
	u64 dropped = 0; /* for lack of room */
	u64 lost = 0;	 /* at random */
	u64 cut = 0;	 /* at a link that was down, or that went down */
	u64 control_dropped = 0; /* of @dropped: control packets */
};

/* Kinds of events in the upper bits of a key, in the order in which they
 * happen. */
enum class Happens : u64 { fault, start, arrival, timer, wake, news };
constexpr unsigned int key_shift = 56;

constexpr u64 key_of(Happens what, u64 who)
{
	return static_cast<u64>(what) << key_shift | who;
}

class Links
{
public:
	/* @packet: bytes of a full data packet on the wire; @seed of the random
	 * numbers. @shape has passed check_shape().
	 */
	Links(const Shape &shape, u32 packet, u64 seed, u32 most_packets,
	      EventList &events);

	/* A packet record; its members are undefined. Throws Full. */
	u32 take()
	{
		if (free_ != no_packet) {
			const u32 p = free_;

			free_ = pool_[p].next;
			in_use_++;
			return p;
		}
		return fresh();
	}
	void give(u32 p)
	{
		pool_[p].next = free_;
		free_ = p;
		in_use_--;
	}
	Packet &packet(u32 p) { return pool_[p]; }

	Link &link(u32 id) { return links_[id]; }
	const Link &link(u32 id) const { return links_[id]; }
	const LinkLoss &losses(u32 id) const { return losses_[id]; }
	const LinkClass &settings(u32 id) const
	{
		return classes_[links_[id].cls];
	}

	/*
	 * Packet @p, whose size, flags and destination are set, is queued at
	 * @now, or given back.
	 */
	void send(u32 id, u32 p, u64 now)
	{
		Link &l = links_[id];
		Packet &k = pool_[p];
		const LinkClass &c = classes_[l.cls];

		sums.queued++;
		if (l.epoch & 1) {
			sums.cut++;
			return give(p);
		}
		if (!k.has(packet_control)) {
			const u64 wait =
				l.data_free > now ? l.data_free - now : 0;
			const u64 ser = c.time(k.size);

			if (wait + ser <= std::min(c.trim, c.drop)) [[likely]] {
				if (wait > c.mark_min)
					mark(id, l, k, c, wait);
				l.data_free = std::max({l.data_free,
							l.control_free, now}) +
					      ser;
				return queue(id, 0, p, k, l,
					     l.data_free + c.delay);
			}
			if (wait + ser <= c.trim || !k.has(packet_may_trim)) {
				/* What must not be trimmed has the whole queue.
				 */
				if (wait + ser > c.drop)
					return drop(id, p);
				mark(id, l, k, c, wait);
				l.data_free = std::max({l.data_free,
							l.control_free, now}) +
					      ser;
				return queue(id, 0, p, k, l,
					     l.data_free + c.delay);
			}
			trim(id, l, k, c);
		}
		send_control(id, p, k, l, c, now);
	}

	/*
	 * The first packet of a class of link @id has arrived at its other end.
	 * no_packet: it was cut off on its way.
	 */
	u32 arrived(u32 id, u32 cls)
	{
		Link &l = links_[id];
		const u32 p = l.head[cls];
		Packet &k = pool_[p];

		l.head[cls] = k.next;
		if (k.next != no_packet)
			events_.push(
				pool_[k.next].at,
				key_of(Happens::arrival, u64{id} << 1 | cls));
		if (k.epoch != l.epoch) [[unlikely]] {
			sums.cut++;
			give(p);
			return no_packet;
		}
		sums.passed++;
		return p;
	}

	/* For prefetching: what arrives next at the end of link @id, if
	 * anything. */
	const Packet *first(u32 id, u32 cls) const
	{
		const u32 p = links_[id].head[cls];

		return p == no_packet ? nullptr : &pool_[p];
	}
	const Packet *after(const Packet &k) const
	{
		return k.next == no_packet ? nullptr : &pool_[k.next];
	}
	const Packet *last(u32 id, u32 cls) const
	{
		const u32 p = links_[id].tail[cls];

		return p < used_ ? &pool_[p] : nullptr;
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

	u64 in_use() const { return in_use_; }
	u64 most_in_use() const { return used_; }
	u64 count() const { return links_.size(); }

	LinkSums sums;

private:
	void mark(u32 id, Link &l, Packet &k, const LinkClass &c, u64 wait)
	{
		const u64 r = draw(seed_, Draws::mark, id, l.draws++) >> 32;

		if (wait <= c.mark_min)
			return;
		/* r / 2^32 < (wait - min) / (max - min) */
		if (wait < c.mark_max &&
		    static_cast<unsigned __int128>(r) *
				    (c.mark_max - c.mark_min) >=
			    static_cast<unsigned __int128>(wait - c.mark_min)
				    << 32)
			return;
		k.flags |= packet_ce;
		l.marked++;
		sums.marked++;
	}

	void queue(u32 id, u32 cls, u32 p, Packet &k, Link &l, u64 at)
	{
		const LinkClass &c = classes_[l.cls];

		l.bytes += k.size;
		l.packets++;
		if (c.loss &&
		    draw(seed_, Draws::loss, id, l.draws++) >> 32 < c.loss) {
			losses_[id].lost++;
			sums.lost++;
			return give(p);
		}
		k.at = at;
		k.next = no_packet;
		k.epoch = l.epoch;
		if (l.head[cls] == no_packet) {
			l.head[cls] = p;
			events_.push(at, key_of(Happens::arrival,
						u64{id} << 1 | cls));
		} else {
			pool_[l.tail[cls]].next = p;
		}
		l.tail[cls] = p;
	}

	void send_control(u32 id, u32 p, Packet &k, Link &l, const LinkClass &c,
			  u64 now)
	{
		u64 start = now;

		if (l.control_free > now) {
			start = l.control_free;
			if (start - now > control_room * c.packet) {
				sums.control_dropped++;
				return drop(id, p);
			}
		} else if (l.data_free > now) {
			/* The rest of the data packet that is being sent. */
			start += (l.data_free - now) % c.packet;
		}
		const u64 ser = c.time(k.size);

		l.control_free = start + ser;
		if (l.data_free > now)
			l.data_free += ser;
		queue(id, 1, p, k, l, l.control_free + c.delay);
	}

	/* Control packets have a queue as long as this many data packets. */
	static constexpr u64 control_room = 100;

	void trim(u32 id, Link &l, Packet &k, const LinkClass &c);
	void drop(u32 id, u32 p);
	u32 fresh();

	EventList &events_;
	u64 seed_;
	u32 packet_bytes_;
	std::vector<LinkClass> classes_;
	std::vector<LinkSpec> specs_; /* of @classes_ */
	Array<Link> links_;
	Array<LinkLoss> losses_;
	Array<Packet> pool_;
	u32 free_ = no_packet;
	u32 used_ = 0; /* records of @pool_ that were ever used */
	u64 in_use_ = 0;
};
} // namespace mrcsim
