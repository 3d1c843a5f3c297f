// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrcsim: priority flow control of the data class (IEEE 802.1Qbb), for the model
 * of RoCE v2. A node counts the bytes that it holds of each direction that leads
 * to it. If they are too many, the sender of that direction waits, until enough
 * of them have left. Nothing is dropped: what arrives meanwhile has room.
 *
 * When a packet leaves is not known before, so it costs a second event.
 */
#include "queues.hpp"

namespace mrcsim
{
void Queues::use_pfc(u64 links, u32 xoff, u32 xon)
{
	ports_.resize(links);
	xoff_ = xoff;
	xon_ = xon;
}

/* The sender of direction @id waits from one delay of the link on, or no
 * longer. */
void Queues::ask(u32 id, bool wait, u64 now)
{
	ports_[id].asked = wait;
	sums.pauses += wait;
	events_.push(now + links_.settings(links_.link(id)).delay,
		     key_of(Happens::pause, u64{id} << 1 | wait));
}

/* @bytes that came through @from have left the node. */
void Queues::let_go(u32 from, u32 bytes, u64 now)
{
	if (from == no_link)
		return;

	PfcPort &in = ports_[from];

	in.held -= bytes;
	if (in.asked && in.held <= xon_)
		ask(from, false, now);
}

/* Data packet @p, which came through @from, waits for its turn. */
void Queues::hold(u32 id, u32 p, u32 from, u64 now)
{
	Link &l = links_.link(id);
	Packet &k = pool_[p];
	PfcPort &out = ports_[id];
	const LinkClass &c = links_.settings(l);
	const u64 wait = c.time(out.waiting) + backlog(l, now);

	if (wait > c.mark_min)
		mark(id, l, k, c, wait);
	k.data.entropy = from;
	k.next = no_packet;
	if (from != no_link) {
		PfcPort &in = ports_[from];

		in.held += k.size;
		if (!in.asked && in.held > xoff_)
			ask(from, true, now);
	}
	if (out.head == no_packet)
		out.head = p;
	else
		pool_[out.tail].next = p;
	out.tail = p;
	out.waiting += k.size;
	transmit(id, now);
}

void Queues::transmit(u32 id, u64 now)
{
	Link &l = links_.link(id);
	PfcPort &out = ports_[id];
	const LinkClass &c = links_.settings(l);

	while (!out.busy && !out.paused && out.head != no_packet) {
		const u32 p = out.head;
		Packet &k = pool_[p];
		const u32 from = k.data.entropy;

		out.head = k.next;
		out.waiting -= k.size;
		k.data.entropy = 0;
		if (l.epoch & 1) {
			sums.cut++;
			let_go(from, k.size, now);
			give(p);
			continue;
		}
		l.data_free = std::max(now, l.control_free) + c.time(k.size);
		out.busy = true;
		out.from = from;
		out.bytes = k.size;
		events_.push(l.data_free, key_of(Happens::departure, id));
		queue(id, 0, p, k, l, l.data_free + c.delay);
	}
}

void Queues::departed(u32 id, u64 now)
{
	PfcPort &out = ports_[id];

	out.busy = false;
	let_go(out.from, out.bytes, now);
	transmit(id, now);
}

void Queues::pause(u32 id, bool wait, u64 now)
{
	ports_[id].paused = wait;
	transmit(id, now);
}
} // namespace mrcsim
