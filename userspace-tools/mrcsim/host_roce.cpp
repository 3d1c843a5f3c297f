// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcsim: hosts whose queue pairs are those of roce.hpp. */
#include <algorithm>

#include "partition.hpp"

namespace mrcsim
{
namespace
{
constexpr u32 bth_len = 12;
constexpr u32 reth_len = 16;
constexpr u32 aeth_len = 4;
constexpr u32 cnp_len = 16; /* reserved bytes of a CNP */
} // namespace

/* Packet @p of a queue pair leaves its host @src. Its path never changes. */
void Partition::roce_inject(u32 qp, u32 src, u32 dst, u32 p, u32 len)
{
	Packet &k = queues_.packet(p);
	const u64 path = draw(settings_.seed, Draws::paths, u64{qp}, 0);
	mrc_tx_desc d{};
	u32 walk = 0;

	d.ev = -1;
	d.port = static_cast<u8>(1 + below(path, world_.shape.planes));
	d.entropy = static_cast<u32>(path) & 0xFFFF;
	k.qp = qp;
	k.port = d.port;
	k.size = static_cast<u16>(
		static_cast<s32>(mrc_nominal_size(static_cast<u16>(len), 0)) +
		settings_.extra);
	routes_.choose(src, dst, d, {}, walk, k);
	leave(src, p);
}

/* With PFC a packet leaves a host only if none waits in its ports. */
bool Partition::may_leave(u32 host) const
{
	for (u32 port = 1; port <= world_.shape.planes; port++)
		if (queues_.waiting(routes_.host_up(host, port)))
			return false;
	return true;
}

/* With PFC: a data packet has left its queue. */
void Partition::departed(u32 link)
{
	queues_.departed(link, now_);
	if (world_.links.link(link).kind == static_cast<u8>(Kind::host_up))
		pull(routes_.host_of(link));
}

/* One packet, if there is one and the rate allows it. */
bool Partition::roce_send(u32 qp)
{
	RoceSender &s = world_.roce[qp].tx;
	const Qp &q = qps_[qp];

	if (s.next == s.end || now_ < s.next_at)
		return false;

	const RoceMessage &m = s.message_of(s.next);
	const u32 offset = (s.next - m.first) * settings_.pmtu;
	const u32 payload = std::min(settings_.pmtu, m.bytes - offset);
	const u32 p = queues_.take();
	Packet &k = queues_.packet(p);

	k.psn = s.next;
	k.stamp = 0;
	k.opcode = roce_data;
	k.flags = s.next < s.sent ? packet_rtx : 0;
	k.data = {.entropy = 0,
		  .offset = offset,
		  .message = m.bytes,
		  .payload = static_cast<u16>(payload),
		  .msn = 0,
		  .probe_id = 0,
		  .flow = m.flow};
	totals_.data++;
	totals_.resent += s.next < s.sent;
	s.next++;
	s.sent = std::max(s.sent, s.next);
	if (s.timeout == never_ps)
		s.timeout = now_ + settings_.rto * 1000;
	roce_inject(qp, q.src, q.dst, p,
		    bth_len + (offset ? 0 : reth_len) + payload);
	/* @k may have been given back. */
	s.control.sent(payload, now_);
	s.next_at = std::max(s.next_at, now_) +
		    static_cast<u64>(static_cast<unsigned __int128>(
					     world_.derived.packet -
					     settings_.pmtu + payload) *
				     8'000'000'000'000 / s.control.rate(now_));
	return true;
}

/* An event for the next packet or the timeout, unless an earlier one is
 * pending. */
void Partition::roce_arm(u32 qp)
{
	const RoceSender &s = world_.roce[qp].tx;
	Qp &q = qps_[qp];
	u64 at = s.timeout;

	/* In the list of its host it waits for room. */
	if (s.next != s.end && !q.ready)
		at = std::min(at, s.next_at);
	if (at == never_ps)
		return;
	at = std::max(at, now_ + 1000);
	if (at < q.timer) {
		q.timer = at;
		events_.push(at, key_of(Happens::timer, qp));
	}
}

void Partition::roce_timer(u32 qp, u64 at)
{
	RoceSender &s = world_.roce[qp].tx;
	Qp &q = qps_[qp];

	if (q.timer != at)
		return;
	q.timer = never_ps;
	if (now_ >= s.timeout) {
		mrc_ctr_add(ctr_.get(), 0, MRC_CTR_RTO, 1);
		s.next = s.una;
		s.timeout = now_ + settings_.rto * 1000;
	}
	make_ready(qp);
	pull(q.src);
	if (q.ready)
		roce_arm(qp);
}

void Partition::roce_post(u32 qp)
{
	RoceSender &s = world_.roce[qp].tx;
	Qp &q = qps_[qp];

	while (q.first != nobody && s.may_post()) {
		const u32 f = q.first;

		s.post(f, traffic_.flows[f].bytes, settings_.pmtu);
		q.first = flows_[f].next;
		if (q.first == nobody)
			q.last = nobody;
	}
	make_ready(qp);
}

void Partition::roce_receive(const Packet &k)
{
	if (k.opcode == roce_data)
		return roce_to_receiver(k);

	RoceSender &s = world_.roce[k.qp].tx;
	Qp &q = qps_[k.qp];
	u32 flow;

	if (!q.left) {
		totals_.stale++;
		return;
	}
	if (k.opcode == roce_cnp) {
		s.control.cnp(now_);
		return;
	}
	if (k.psn > s.una) {
		s.una = k.psn;
		s.next = std::max(s.next, s.una);
		s.timeout = s.una == s.sent ? never_ps
					    : now_ + settings_.rto * 1000;
	}
	if (k.opcode == roce_nak && k.psn == s.una)
		s.next = s.una;
	while (s.reap(flow))
		finish(k.qp, flow, false);
	if (q.left) {
		roce_post(k.qp);
		pull(q.src);
	}
}

void Partition::roce_to_receiver(const Packet &k)
{
	RoceReceiver &r = world_.roce[k.qp].rx;

	if (k.has(packet_ce) && settings_.dcqcn.on && now_ >= r.cnp_at) {
		r.cnp_at = now_ + settings_.dcqcn.cnp_period;
		roce_answer(k.qp, roce_cnp, 0);
	}
	if (k.psn > r.expected) {
		if (!r.nak_sent)
			roce_answer(k.qp, roce_nak, r.expected);
		r.nak_sent = true;
		return;
	}
	if (k.psn == r.expected) {
		r.expected++;
		r.nak_sent = false;
		placed(k);
	}
	r.unacked++;
	if (r.unacked >= RoceReceiver::ack_every ||
	    k.data.offset + k.data.payload == k.data.message)
		roce_answer(k.qp, roce_ack, r.expected);
}

/* @psn: all packets before it have arrived. */
void Partition::roce_answer(u32 qp, u8 opcode, u32 psn)
{
	const Qp &q = qps_[qp];
	const u32 p = queues_.take();
	Packet &k = queues_.packet(p);

	if (opcode != roce_cnp)
		world_.roce[qp].rx.unacked = 0;
	k.psn = psn;
	k.stamp = 0;
	k.opcode = opcode;
	k.flags = packet_control;
	k.other = {.entropy = 0, .number = psn, .code = 0, .vendor = 0};
	totals_.control++;
	roce_inject(qp, q.dst, q.src, p,
		    bth_len + (opcode == roce_cnp ? cnp_len : aeth_len));
}
} // namespace mrcsim
