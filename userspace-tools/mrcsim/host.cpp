// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcsim: hosts. They drive the engines as the driver's shell does. */
#include <bit>

#include "header.hpp"
#include "mrc_endpoint.h"
#include "partition.hpp"

namespace mrcsim
{
/* Packet @p of host @src goes into its port, or is given back. */
void Partition::leave(u32 src, u32 p)
{
	const u32 link = routes_.host_up(src, queues_.packet(p).port);
	Host &h = hosts_[src];

	totals_.injected++;
	queues_.send(link, p, now_);

	h.fullest = std::max(h.fullest, world_.links.link(link).data_free);
	if (h.fullest > now_ + nic_wait_)
		h.clear = room_at(src);
}

/*
 * When host @host may send its next packet. Its ports have room for a number of
 * packets together, not each for its share: with several queue pairs, those
 * with packets for other ports would wait for the fullest one.
 */
u64 Partition::room_at(u32 host) const
{
	const u64 room =
		nic_wait_ * static_cast<u32>(std::popcount(hosts_[host].ports));
	u64 at = now_;

	/* Each round passes the end of one port's queue at least. */
	for (;;) {
		u64 waiting = 0;
		u32 busy = 0;

		for (u32 p = 1; p <= ctr_->n_ports; p++) {
			const u64 free =
				world_.links.link(routes_.host_up(host, p))
					.data_free;

			if (free <= at)
				continue;
			waiting += free - at;
			busy++;
		}
		if (waiting <= room)
			return at;
		at += (waiting - room + busy - 1) / busy;
	}
}

/* A packet of host @src goes into the port that the engine chose. */
void Partition::inject(u32 qp, u32 src, u32 dst, const mrc_tx_desc &d,
		       const PathMap &map, u32 &walk, u32 flow)
{
	const u32 p = queues_.take();
	Packet &k = queues_.packet(p);

	k.qp = qp;
	pack(d, settings_.extra, flow, k);
	queues_.set_entropy(p, d.entropy);
	routes_.choose(src, dst, d, map, walk, k);
	leave(src, p);
}

void Partition::make_ready(u32 qp)
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

/* One packet, if the engine has one. */
bool Partition::send(u32 qp)
{
	Qp &q = qps_[qp];
	mrc_tx_desc d;

	if (!q.tx || mrc_req_next(&q.tx->req, engine_time(now_), &d) !=
			     MRC_TX_PACKET)
		return false;
	if (d.data) {
		totals_.data++;
		totals_.resent += d.hdr.rtx;
	} else {
		totals_.probes++;
	}
	if (recorder_)
		recorder_->sent(q.src, qp, d);
	inject(qp, q.src, q.dst, d, q.tx->map, q.tx->walk,
	       d.data ? q.tx->flow[d.slot] : 0);
	return true;
}

/* Packets leave a host as long as its ports have room. */
void Partition::pull(u32 host)
{
	Host &h = hosts_[host];

	while (h.first != nobody) {
		if (pfc_ && !may_leave(host))
			return;
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

		if (roce_ ? roce_send(qp) : send(qp)) {
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
		if (roce_)
			roce_arm(qp);
		else if (q.tx)
			arm(qp);
	}
}

/* An event for the engine's deadline, unless an earlier one is pending. */
void Partition::arm(u32 qp)
{
	Qp &q = qps_[qp];
	const u64 due = mrc_req_deadline(&q.tx->req);

	if (due == MRC_NEVER)
		return;
	/*
	 * Never at the present time: the engine has just been asked. What waits
	 * for room in the ports is asked when there is some.
	 */
	const u64 at =
		std::max({due > origin ? (due - origin) * 1000 : 0, now_ + 1000,
			  q.ready ? hosts_[q.src].clear : 0});

	if (at < q.timer) {
		q.timer = at;
		events_.push(at, key_of(Happens::timer, qp));
	}
}

void Partition::timer(u32 qp, u64 at)
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
	if (q.tx && q.ready)
		arm(qp);
}

void Partition::receive(u32 p)
{
	Packet &k = queues_.packet(p);
	Host &h = hosts_[k.dst];
	mrc_hdr hdr;

	totals_.delivered++;
	h.digest = scatter(h.digest ^ now_ ^ u64{k.psn} << 40) +
		   (u64{k.qp} << 32 | k.data.entropy) +
		   (u64{k.opcode} << 8 | k.flags);
	if (roce_) {
		roce_receive(k);
		queues_.give(p);
		return;
	}
	unpack(k, hdr);
	switch (k.opcode) {
	case MRC_OP_SACK:
	case MRC_OP_NACK:
	case MRC_OP_ACK:
		to_requester(k.qp, p, hdr);
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
		to_responder(k.qp, p, hdr);
		break;
	}
	queues_.give(p);
}

void Partition::to_requester(u32 qp, u32 p, const mrc_hdr &h)
{
	const Packet &k = queues_.packet(p);
	Qp &q = qps_[qp];
	const u64 t = engine_time(now_);

	if (!q.tx) {
		totals_.stale++;
		return;
	}
	if (recorder_)
		recorder_->received(q.src, qp, k, h, queues_.entropy(p));
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

void Partition::placed(const Packet &k)
{
	const u32 flow = k.data.flow;
	FlowState &s = flows_[flow];

	s.bytes += k.data.payload;
	s.offsets += k.data.offset;
	totals_.placed += k.data.payload;
	if (s.bytes == k.data.message) {
		const u32 trigger = traffic_.flows[flow].received_trigger;

		s.received = now_;
		if (trigger != no_trigger)
			fire(trigger);
	}
}

void Partition::make_receiver(u32 qp)
{
	Qp &q = qps_[qp];
	const u32 mine = hosts_[q.dst].ports, theirs = hosts_[q.src].ports;

	q.rx = maker_.make_receiver(qp, q.dst, ctr_.get(), recorder_.get());
	if (mine == theirs)
		return;
	mrc_paths_set_ports(&q.rx->paths, mine);
	mrc_paths_peer_status(&q.rx->paths, theirs, engine_time(now_));
}

void Partition::to_responder(u32 qp, u32 p, const mrc_hdr &h)
{
	const Packet &k = queues_.packet(p);
	Qp &q = qps_[qp];
	const u64 t = engine_time(now_);
	u8 trim = MRC_TRIM_NONE;

	if (q.closed) {
		totals_.stale++;
		return;
	}
	if (!q.rx)
		make_receiver(qp);
	if (recorder_)
		recorder_->received(q.dst, qp, k, h, queues_.entropy(p));
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
		placed(k);
	}
	feedback(qp);
}

void Partition::feedback(u32 qp)
{
	Qp &q = qps_[qp];
	mrc_tx_desc d;
	bool sent = false;

	while (q.rx &&
	       mrc_resp_next_feedback(&q.rx->resp, engine_time(now_), &d)) {
		totals_.control++;
		if (recorder_)
			recorder_->sent(q.dst, qp, d);
		inject(qp, q.dst, q.src, d, q.rx->map, q.rx->walk);
		sent = true;
	}
	if (sent && q.rx && settings_.reverse_probes)
		reverse_probe(qp);
}

/* MRC 1.0 §11.8: does feedback reach the sender? */
void Partition::reverse_probe(u32 qp)
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

void Partition::answer_probe(u32 qp, const Packet &k, const mrc_hdr &h)
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

/* A flow is over. */
void Partition::finish(u32 qp, u32 flow, bool failed)
{
	FlowState &s = flows_[flow];

	qps_[qp].left--;
	s.ended = now_;
	s.failed = failed;
	last_end_ = now_;
	totals_.finished++;
	totals_.failed += failed;
	if (traffic_.flows[flow].sent_trigger != no_trigger)
		fire(traffic_.flows[flow].sent_trigger);
	if (alone_ && totals_.finished == world_.flows.size())
		bound_ = std::min(bound_, {world_.cut.window_end(now_), 0});
}

/* Work requests that are finished, in the order in which they were posted. */
void Partition::reap(u32 qp)
{
	Qp &q = qps_[qp];
	mrc_wc_status status;
	u32 slot;
	bool any = false;

	while (q.tx && mrc_req_reap(&q.tx->req, &slot, &status)) {
		any = true;
		finish(qp, q.tx->flow[slot], status != MRC_WC_SUCCESS);
	}
	if (!any)
		return;
	if (!q.left)
		end(qp);
	else if (q.first != nobody)
		post(qp);
}

/* Flows that have started, as far as there are slots. */
void Partition::post(u32 qp)
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

/* All flows of a queue pair are finished: its memory is given back. */
void Partition::end(u32 qp)
{
	Qp &q = qps_[qp];
	const Event e = {now_ + world_.close_delay, key_of(Happens::close, qp)};
	const u32 to = world_.cut.of_host(q.dst);

	maker_.give(q.tx);
	q.tx = nullptr;
	q.timer = never_ps;
	if (to == number_)
		events_.push(e.at, e.key);
	else
		world_.mail_of(number_)[to].events.push_back(e);
}

/* The receiver's memory, a while later. */
void Partition::close(u32 qp)
{
	Qp &q = qps_[qp];

	if (q.rx)
		maker_.give(q.rx);
	q.rx = nullptr;
	q.closed = true;
}

void Partition::ports_changed(u32 host, u32 up)
{
	const u64 t = engine_time(now_);

	for (u32 n = 0; n < world_.qps.size(); n++) {
		Qp &q = qps_[n];

		if (q.src == host && q.tx) {
			mrc_req_set_ports(&q.tx->req, up, t);
			make_ready(n);
		}
		if (q.dst == host && q.rx)
			mrc_paths_set_ports(&q.rx->paths, up);
	}
	pull(host);
}

void Partition::peer_ports(u32 qp, u32 host, u32 up)
{
	const u64 t = engine_time(now_);
	Qp &q = qps_[qp];

	if (q.src == host && q.tx) {
		mrc_req_peer_status(&q.tx->req, up, t);
		make_ready(qp);
		pull(host);
	}
	if (q.dst == host && q.rx)
		mrc_paths_peer_status(&q.rx->paths, up, t);
}
} // namespace mrcsim
