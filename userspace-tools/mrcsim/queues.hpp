/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: the queues of a partition. When a packet is queued, it is already
 * known when it will have left, because nothing overtakes it. So a packet costs
 * one event for each link, its arrival at the other end.
 *
 * There are two classes. Control packets, trimmed ones among them, go first:
 * one waits for other control packets and for the data packet that is being
 * sent. The data packets behind it are late by its sending time. Data packets
 * whose departure is already known keep it; the next one makes up for that.
 */
#pragma once

#include <algorithm>

#include "event_list.hpp"
#include "link.hpp"
#include "packet.hpp"
#include "random.hpp"

namespace mrcsim
{
/* Of all links. */
struct LinkSums {
	u64 queued = 0; /* packets that arrived at a queue */
	u64 passed = 0; /* packets that left a link at its other end */
	u64 marked = 0, trimmed = 0;
	u64 dropped = 0; /* for lack of room */
	u64 lost = 0;	 /* at random */
	u64 cut = 0;	 /* at a link that was down, or that went down */
	u64 control_dropped = 0; /* of @dropped: control packets */
	u64 pauses = 0;		 /* of PFC */
};

/* Kinds of events in the upper bits of a key, in the order in which they
 * happen. */
enum class Happens : u64 {
	fault,
	start,
	trigger,
	arrival,
	timer,
	wake,
	close,
	news,
	departure, /* with PFC */
	pause,
	begin,
};
constexpr unsigned int key_shift = 56;

constexpr u64 key_of(Happens what, u64 who)
{
	return static_cast<u64>(what) << key_shift | who;
}

constexpr u32 no_link = ~0u;

/* A direction with PFC, see pfc.cpp. */
struct PfcPort {
	/* Of the node in front of it: what waits. */
	u32 head = no_packet, tail = no_packet;
	u64 waiting = 0; /* bytes */
	/* What is being sent, and through which direction it came. */
	u32 from = no_link, bytes = 0;
	bool busy = false, paused = false;
	/* Of the node behind it. */
	bool asked = false; /* to pause */
	u64 held = 0;	    /* bytes that came through it */
};

/* What crosses from one partition to another, in the order in which it was
 * sent. */
struct alignas(64) Mail {
	std::vector<Packet> packets; /* Packet::next: link and class */
	std::vector<u32> entropies;  /* of these, if they are kept */
	std::vector<Event> events;
};

class Queues
{
public:
	/*
	 * Of partition @self. @mail: one for each partition. @seed of the
	 * random numbers.
	 */
	Queues(Links &links, u16 self, u64 seed, u32 most_packets,
	       EventList &events, Mail *mail)
		: events_(events), links_(links), mail_(mail), seed_(seed),
		  pool_(most_packets), self_(self)
	{
	}

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

	/* From now on the entropies that packets are sent with are kept. */
	void keep_entropies() { entropies_ = Array<u32>(pool_.size()); }
	void set_entropy(u32 p, u32 entropy)
	{
		if (entropies_.size()) [[unlikely]]
			entropies_[p] = entropy;
	}
	/* 0 if they are not kept. */
	u32 entropy(u32 p) const
	{
		return entropies_.size() ? entropies_[p] : 0;
	}

	/*
	 * Packet @p, whose size, flags and destination are set, is queued at
	 * @now, or given back. @from: the direction that it came through.
	 */
	void send(u32 id, u32 p, u64 now, u32 from = no_link)
	{
		Link &l = links_.link(id);
		Packet &k = pool_[p];
		const LinkClass &c = links_.settings(l);

		sums.queued++;
		if (l.epoch & 1) {
			sums.cut++;
			return give(p);
		}
		if (!k.has(packet_control)) {
			if (!ports_.empty()) [[unlikely]]
				return hold(id, p, from, now);

			const u64 wait = backlog(l, now);
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
		Link &l = links_.link(id);
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

	/*
	 * Data waits for PFC from now on, in all @links directions; a node asks
	 * for a pause when it holds more than @xoff bytes of one, until it has
	 * @xon. There must be only one partition.
	 */
	void use_pfc(u64 links, u32 xoff, u32 xon);
	/* Bytes of data that wait for direction @id. */
	u64 waiting(u32 id) const
	{
		return ports_.empty() ? 0 : ports_[id].waiting;
	}
	/* What is due of it. */
	void departed(u32 id, u64 now);
	void pause(u32 id, bool wait, u64 now);

	/* For prefetching: what arrives next at the end of link @id, if
	 * anything. */
	const Packet *first(u32 id, u32 cls) const
	{
		const u32 p = links_.link(id).head[cls];

		return p == no_packet ? nullptr : &pool_[p];
	}
	const Packet *after(const Packet &k) const
	{
		return k.next == no_packet ? nullptr : &pool_[k.next];
	}
	const Packet *last(u32 id, u32 cls) const
	{
		const Link &l = links_.link(id);
		const u32 p = l.behind == self_ ? l.tail[cls] : no_packet;

		return p < used_ ? &pool_[p] : nullptr;
	}

	/* What partition @from has sent here. */
	void collect(Mail &from)
	{
		for (std::size_t n = 0; n < from.packets.size(); n++) {
			const Packet &sent = from.packets[n];
			const u32 p = take();
			Packet &k = pool_[p];
			const u32 id = sent.next >> 1, cls = sent.next & 1;

			k = sent;
			if (!from.entropies.empty()) [[unlikely]]
				set_entropy(p, from.entropies[n]);
			append(id, cls, p, k, links_.link(id));
		}
		from.packets.clear();
		from.entropies.clear();
		for (const Event &e : from.events)
			events_.push(e.at, e.key);
		from.events.clear();
	}

	u64 in_use() const { return in_use_; }
	/* Bytes of the packets that there were at the same time. */
	u64 memory() const
	{
		return u64{used_} *
			       (sizeof(Packet) +
				(entropies_.size() ? sizeof(u32) : 0)) +
		       ports_.capacity() * sizeof(PfcPort);
	}

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

	void append(u32 id, u32 cls, u32 p, Packet &k, Link &l)
	{
		k.next = no_packet;
		if (l.head[cls] == no_packet) {
			l.head[cls] = p;
			events_.push(k.at, key_of(Happens::arrival,
						  u64{id} << 1 | cls));
		} else {
			pool_[l.tail[cls]].next = p;
		}
		l.tail[cls] = p;
	}

	void queue(u32 id, u32 cls, u32 p, Packet &k, Link &l, u64 at)
	{
		const LinkClass &c = links_.settings(l);

		l.bytes += k.size;
		l.packets++;
		if (c.loss &&
		    draw(seed_, Draws::loss, id, l.draws++) >> 32 < c.loss) {
			links_.losses(id).lost++;
			sums.lost++;
			return give(p);
		}
		k.at = at;
		k.epoch = l.epoch;
		if (l.behind == self_) [[likely]]
			append(id, cls, p, k, l);
		else
			cross(id, cls, p, k, l.behind);
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

	static u64 backlog(const Link &l, u64 now)
	{
		return l.data_free > now ? l.data_free - now : 0;
	}

	/* pfc.cpp */
	void ask(u32 id, bool wait, u64 now);
	void let_go(u32 from, u32 bytes, u64 now);
	void hold(u32 id, u32 p, u32 from, u64 now);
	void transmit(u32 id, u64 now);

	void trim(u32 id, Link &l, Packet &k, const LinkClass &c);
	void drop(u32 id, u32 p);
	void cross(u32 id, u32 cls, u32 p, Packet &k, u32 to);
	u32 fresh();

	EventList &events_;
	Links &links_;
	Mail *mail_; /* by partition */
	u64 seed_;
	Array<Packet> pool_;
	Array<u32> entropies_; /* by record; empty: they are not kept */
	std::vector<PfcPort> ports_; /* by direction; empty: no PFC */
	u64 xoff_ = 0, xon_ = 0;
	u32 free_ = no_packet;
	u32 used_ = 0; /* records of @pool_ that were ever used */
	u64 in_use_ = 0;
	u16 self_;
};
} // namespace mrcsim
