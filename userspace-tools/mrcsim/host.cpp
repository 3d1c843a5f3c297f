// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcsim: hosts. They drive the engines as the driver's shell does. */
#include "header.hpp"
#include "mrc_endpoint.h"
#include "simulator.hpp"

namespace mrcsim
{
/*
 * Without looking at EVs: all paths, or all EVs where switches hash, once in a
 * round, and in another order in each. @walk counts packets.
 */
u32 Simulator::step(const PathMap &map, u32 src, u32 walk) const
{
	const u32 all = srv6_ ? path_count_ : derived_.evs;
	const u32 at = walk % all;
	const u32 turn = below(draw(settings_.seed, Draws::walk,
				    u64{map.start} << 32 | src, walk / all),
			       all);

	return all & (all - 1) ? (at + turn) % all : at ^ turn;
}

/* The path of a packet, all of it: switches decide nothing that is not known
 * here. */
void Simulator::choose(u32 src, u32 dst, const mrc_tx_desc &d,
		       const PathMap &map, u32 &walk, Packet &k) const
{
	const u32 t0 = t0_of(src);
	u32 n;

	k.dst = dst;
	if (t0 == t0_of(dst)) {
		k.up0 = k.up1 = 0;
		return;
	}
	const bool blind = settings_.column == Column::oblivious;

	if (blind)
		n = step(map, src, walk++);
	else if (srv6_ && d.ev >= 0)
		n = (map.start +
		     static_cast<u32>(d.ev) / shape_.planes * map.stride +
		     d.port - 1u) %
		    path_count_;
	else if (srv6_)
		n = below(draw(settings_.seed, Draws::hash, d.entropy, src),
			  path_count_);
	else
		n = d.entropy;
	if (!srv6_) {
		/* Each switch has its own hash. */
		const u64 flow =
			(u64{src} << 44 ^ u64{dst} << 24 ^ u64{d.port} << 20) +
			scatter(n);
		const u64 t1 = u64{pod_of(t0)} * t1_of_pod_;

		k.up0 = static_cast<u16>(below(
			draw(settings_.seed, Draws::hash, flow, t0), uplinks_));
		k.up1 = three_ ? static_cast<u16>(below(
					 draw(settings_.seed, Draws::hash, flow,
					      (u64{1} << 32) + t1 +
						      k.up0 / shape_.bundle),
					 t1_uplinks_))
			       : 0;
		return;
	}
	k.up0 = static_cast<u16>(n % uplinks_);
	k.up1 = static_cast<u16>(three_ ? n / uplinks_ : 0);
}

/* A packet of host @src goes into the port that the engine chose. */
void Simulator::inject(u32 qp, u32 src, u32 dst, const mrc_tx_desc &d,
		       const PathMap &map, u32 &walk)
{
	const u32 p = links_.take();
	Packet &k = links_.packet(p);
	Host &h = hosts_[src];
	const u32 link = host_up(src, d.port);

	k.qp = qp;
	pack(d, settings_.extra, k);
	choose(src, dst, d, map, walk, k);
	totals_.injected++;
	links_.send(link, p, now_);

	const u64 free = links_.link(link).data_free;

	if (free > nic_wait_)
		h.clear = std::max(h.clear, free - nic_wait_);
}

void Simulator::make_ready(u32 qp)
{
	Qp &q = qps_[qp];
	Host &h = hosts_[q.src];

	if (q.ready)
		return;
	q.ready = true;
	q.next_ready = nobody;
	if (h.last == nobody)
		h.first = qp;
	else
		qps_[h.last].next_ready = qp;
	h.last = qp;
}

/* Packets leave a host as long as its ports have room. */
void Simulator::pull(u32 host)
{
	Host &h = hosts_[host];

	while (h.first != nobody) {
		if (h.clear > now_) {
			if (h.wake > h.clear) {
				h.wake = h.clear;
				events_.push(h.wake,
					     key_of(Happens::wake, host));
			}
			return;
		}

		const u32 qp = h.first;
		Qp &q = qps_[qp];
		mrc_tx_desc d;

		if (q.tx && mrc_req_next(&q.tx->req, engine_time(now_), &d) ==
				    MRC_TX_PACKET) {
			if (d.data) {
				totals_.data++;
				totals_.resent += d.hdr.rtx;
			} else {
				totals_.probes++;
			}
			inject(qp, q.src, q.dst, d, q.tx->map, q.tx->walk);
			if (h.last != qp) {
				/* The next queue pair has its turn. */
				h.first = q.next_ready;
				q.next_ready = nobody;
				qps_[h.last].next_ready = qp;
				h.last = qp;
			}
			continue;
		}
		h.first = q.next_ready;
		if (h.first == nobody)
			h.last = nobody;
		q.next_ready = nobody;
		q.ready = false;
		if (q.tx)
			arm(qp);
	}
}

/* An event for the engine's deadline, unless an earlier one is pending. */
void Simulator::arm(u32 qp)
{
	Qp &q = qps_[qp];
	const u64 due = mrc_req_deadline(&q.tx->req);

	if (due == MRC_NEVER)
		return;
	/* Never at the present time: the engine has just been asked. */
	const u64 at =
		std::max(due > origin ? (due - origin) * 1000 : 0, now_ + 1000);

	if (at < q.timer) {
		q.timer = at;
		events_.push(at, key_of(Happens::timer, qp));
	}
}

void Simulator::timer(u32 qp, u64 at)
{
	Qp &q = qps_[qp];

	if (q.timer != at || !q.tx)
		return;
	q.timer = never_ps;
	if (mrc_req_deadline(&q.tx->req) > engine_time(now_))
		return arm(qp);
	mrc_req_on_deadline(&q.tx->req, engine_time(now_));
	reap(qp);
	if (!q.tx)
		return;
	make_ready(qp);
	pull(q.src);
	/* With ports that have no room the deadline stays. */
	if (q.tx && q.ready)
		arm(qp);
}

void Simulator::receive(u32 p)
{
	Packet &k = links_.packet(p);
	Host &h = hosts_[k.dst];
	mrc_hdr hdr;

	totals_.delivered++;
	h.digest = scatter(h.digest ^ now_ ^ u64{k.psn} << 40) +
		   (u64{k.qp} << 32 | k.data.entropy) +
		   (u64{k.opcode} << 8 | k.flags);
	unpack(k, hdr);
	switch (k.opcode) {
	case MRC_OP_SACK:
	case MRC_OP_NACK:
	case MRC_OP_ACK:
		to_requester(k.qp, k, hdr);
		break;
	case MRC_OP_ENDPOINT_REQ:
		answer_probe(k.qp, k, hdr);
		break;
	case MRC_OP_ENDPOINT_RESP:
		if (qps_[k.qp].rx)
			mrc_rev_response(mrc_resp_rev(&qps_[k.qp].rx->resp),
					 &qps_[k.qp].rx->paths,
					 static_cast<u16>(k.psn),
					 engine_time(now_));
		break;
	default:
		to_responder(k.qp, k, hdr);
		break;
	}
	links_.give(p);
}

void Simulator::to_requester(u32 qp, const Packet &k, const mrc_hdr &h)
{
	Qp &q = qps_[qp];
	const u64 t = engine_time(now_);

	if (!q.tx) {
		totals_.stale++;
		return;
	}
	if (k.opcode == MRC_OP_SACK)
		mrc_req_on_sack(&q.tx->req, &h, k.port, t);
	else if (k.opcode == MRC_OP_NACK)
		mrc_req_on_nack(&q.tx->req, &h, k.port, t);
	else
		mrc_req_on_ack(&q.tx->req, &h, k.port, t);
	reap(qp);
	if (!q.tx)
		return;
	make_ready(qp);
	pull(q.src);
}

void Simulator::placed(Qp &q, const Packet &k)
{
	Receiver &r = *q.rx;

	/* The sender's memory is far away. */
	if (!r.known || r.msn != k.data.msn) {
		r.flow = q.tx->flow[k.data.msn & (send_slots - 1)];
		r.msn = k.data.msn;
		r.known = true;
	}

	FlowState &s = flows_[r.flow];

	s.bytes += k.data.payload;
	s.offsets += k.data.offset;
	totals_.placed += k.data.payload;
	if (s.bytes == k.data.message) {
		const u32 trigger = traffic_.flows[r.flow].received_trigger;

		s.received = now_;
		if (trigger != no_trigger)
			fire(trigger);
	}
}

void Simulator::to_responder(u32 qp, const Packet &k, const mrc_hdr &h)
{
	Qp &q = qps_[qp];
	const u64 t = engine_time(now_);
	u8 trim = MRC_TRIM_NONE;

	if (q.ended) {
		totals_.stale++;
		return;
	}
	if (!q.rx) {
		q.rx = maker_.make_receiver(qp, q.dst, ctr_.get());
		if (hosts_[q.dst].ports != hosts_[q.src].ports) {
			mrc_paths_set_ports(&q.rx->paths, hosts_[q.dst].ports);
			mrc_paths_peer_status(&q.rx->paths, hosts_[q.src].ports,
					      t);
		}
	}
	if (k.has(packet_trimmed)) {
		totals_.delivered_trimmed++;
		trim = k.has(packet_last_hop) ? MRC_TRIM_LASTHOP
					      : MRC_TRIM_TRIMMED;
	}

	const mrc_rx rx = {.hdr = &h,
			   .entropy = k.data.entropy,
			   .port = k.port,
			   .ce = k.has(packet_ce),
			   .trim = trim,
			   .at = t};

	if (k.opcode == MRC_OP_PROBE) {
		mrc_resp_on_probe(&q.rx->resp, &rx, t);
	} else if (mrc_resp_on_data(&q.rx->resp, &rx, t) == MRC_RX_PLACE) {
		mrc_resp_placed(&q.rx->resp, &rx, 0, t);
		placed(q, k);
	}
	feedback(qp);
}

void Simulator::feedback(u32 qp)
{
	Qp &q = qps_[qp];
	mrc_tx_desc d;
	bool sent = false;

	while (q.rx &&
	       mrc_resp_next_feedback(&q.rx->resp, engine_time(now_), &d)) {
		totals_.control++;
		inject(qp, q.dst, q.src, d, q.rx->map, q.rx->walk);
		sent = true;
	}
	if (sent && q.rx && settings_.reverse_probes)
		reverse_probe(qp);
}

/* MRC 1.0 §11.8: does feedback reach the sender? */
void Simulator::reverse_probe(u32 qp)
{
	Qp &q = qps_[qp];
	Host &h = hosts_[q.dst];
	mrc_rev *rev = mrc_resp_rev(&q.rx->resp);
	const u64 t = engine_time(now_);
	mrc_tx_desc d{};

	d.ev = mrc_rev_probe_due(rev, &q.rx->paths, t);
	if (d.ev < 0)
		return;

	const auto id = static_cast<u16>(h.probe_count++);

	mrc_ep_request(&d.hdr, MRC_EPOP_EV_PROBE, id,
		       static_cast<u16>(t >> MRC_TS_SHIFT));
	d.hdr.hdr_len = static_cast<u16>(mrc_hdr_len(&d.hdr));
	d.tc = MRC_TC_CONTROL;
	d.port = mrc_paths_port(&q.rx->paths, static_cast<u16>(d.ev));
	d.entropy = mrc_paths_entropy(&q.rx->paths, static_cast<u16>(d.ev));
	mrc_rev_probe_sent(rev, &q.rx->paths, d.ev, id, t);
	totals_.control++;
	inject(qp, q.dst, q.src, d, q.rx->map, q.rx->walk);
}

void Simulator::answer_probe(u32 qp, const Packet &k, const mrc_hdr &h)
{
	Qp &q = qps_[qp];
	mrc_tx_desc d{};
	PathMap map{};
	u32 walk = hosts_[q.src].probe_count++;

	/* Where it came from there is a port; the path back is another one. */
	if (!(hosts_[q.src].ports >> k.port & 1))
		return;
	mrc_ep_response(&d.hdr, &h);
	d.hdr.hdr_len = static_cast<u16>(mrc_hdr_len(&d.hdr));
	d.tc = MRC_TC_CONTROL;
	d.ev = -1;
	d.port = k.port;
	d.entropy = k.other.entropy;
	totals_.control++;
	inject(qp, q.src, q.dst, d, map, walk);
}

/* Work requests that are finished, in the order in which they were posted. */
void Simulator::reap(u32 qp)
{
	Qp &q = qps_[qp];
	mrc_wc_status status;
	u32 slot;
	bool any = false;

	while (q.tx && mrc_req_reap(&q.tx->req, &slot, &status)) {
		const u32 f = q.tx->flow[slot];
		FlowState &s = flows_[f];

		any = true;
		q.left--;
		s.ended = now_;
		s.failed = status != MRC_WC_SUCCESS;
		totals_.finished++;
		totals_.failed += s.failed;
		if (traffic_.flows[f].sent_trigger != no_trigger)
			fire(traffic_.flows[f].sent_trigger);
	}
	if (!any)
		return;
	if (!q.left)
		end(qp);
	else if (q.first != nobody)
		post(qp);
}

/* Flows that have started, as far as there are slots. */
void Simulator::post(u32 qp)
{
	Qp &q = qps_[qp];

	while (q.first != nobody && mrc_req_can_post(&q.tx->req)) {
		const u32 f = q.first;
		mrc_wr wr{};

		wr.op = MRC_WR_WRITE;
		wr.rkey = 1;
		wr.len = traffic_.flows[f].bytes;

		const int slot =
			mrc_req_post(&q.tx->req, &wr, engine_time(now_));

		mrc_assert(slot >= 0);
		q.tx->flow[slot] = f;
		q.first = flows_[f].next;
		if (q.first == nobody)
			q.last = nobody;
	}
	make_ready(qp);
}

/* All flows are finished: the engines' memory is given back. */
void Simulator::end(u32 qp)
{
	Qp &q = qps_[qp];

	maker_.give(q.tx);
	if (q.rx)
		maker_.give(q.rx);
	q.tx = nullptr;
	q.rx = nullptr;
	q.timer = never_ps;
	q.ended = true;
}
} // namespace mrcsim
