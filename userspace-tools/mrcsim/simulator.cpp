// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "simulator.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "error.hpp"

namespace mrcsim
{
using mrclab::UsageError;

namespace
{
/* Packets that can be under way: those of all windows, and what answers them.
 */
u32 most_packets(const Shape &s, const Derived &d)
{
	constexpr u64 most = 1ull << 31;
	const u64 of_host = 4 * (u64{d.mpr} * 128 + 256);

	return static_cast<u32>(std::min(
		most, std::max<u64>(1 << 16, s.all_hosts() * of_host)));
}

/*
 * Buckets for about sixty events at full load. A host sends a packet in the
 * time that all of its ports take for one, and a packet has about six events.
 */
unsigned int bucket_shift(const Shape &s, const Derived &d)
{
	const u64 packet = sending_time(d.nic_rate, d.packet);
	const u64 width = packet * 10 / s.all_hosts() + 1;

	return std::clamp(static_cast<unsigned int>(std::bit_width(width)), 8u,
			  22u);
}

u64 magic_of(u32 divisor)
{
	return ((u64{1} << 40) + divisor - 1) / divisor;
}

void check_traffic(const Traffic &t, u32 hosts)
{
	for (const Flow &f : t.flows)
		if (f.src >= hosts || f.dst >= hosts)
			throw UsageError(fmt::format(
				"a flow from host {} to host {}: the fabric "
				"has {} hosts",
				f.src + 1, f.dst + 1, hosts));
}
} // namespace

Simulator::Simulator(const Shape &shape, const Settings &settings,
		     const Traffic &traffic, std::vector<Fault> faults)
	: shape_(shape), settings_(settings), derived_(derive(shape, settings)),
	  traffic_(traffic), faults_(std::move(faults)),
	  events_(bucket_shift(shape, derived_)),
	  links_(shape, derived_.packet, settings.seed,
		 most_packets(shape, derived_), events_),
	  maker_(shape, settings, derived_),
	  ctr_(std::make_unique<mrc_counters>()), qps_(traffic.connections),
	  hosts_(shape.all_hosts()), flows_(traffic.flows.size()),
	  fired_(traffic.triggers.size()),
	  plane_links_(static_cast<u32>(shape.links_of_plane())),
	  uplinks_(std::max(shape.uplinks(), 1u)), t1_of_pod_(shape.t1),
	  t1_uplinks_(std::max(shape.t1_uplinks, 1u)),
	  path_count_(shape.paths()), t0_magic_(magic_of(shape.hosts)),
	  pod_magic_(magic_of(shape.t0)), srv6_(shape.srv6),
	  three_(shape.tiers == 3)
{
	check_traffic(traffic, shape.all_hosts());
	ctr_->n_ports = shape.planes;
	for (std::size_t k = 0; k < kinds; k++)
		at_[k] = shape.id(0, static_cast<Kind>(k), 0);
	for (Host &h : hosts_)
		h.ports = ((1u << shape.planes) - 1) << 1;
	nic_wait_ = (derived_.nic_depth - 1) *
		    sending_time(shape.of(Kind::host_up).rate, derived_.packet);
	for (const Flow &f : traffic.flows) {
		Qp &q = qps_[f.connection];

		q.src = f.src;
		q.dst = f.dst;
		q.left++;
		if (f.start != not_yet)
			order_.push_back(
				static_cast<u32>(&f - traffic.flows.data()));
	}
	std::stable_sort(order_.begin(), order_.end(), [&](u32 a, u32 b) {
		return traffic.flows[a].start < traffic.flows[b].start;
	});
	if (!order_.empty())
		events_.push(traffic.flows[order_[0]].start,
			     key_of(Happens::start, 0));
	for (std::size_t n = 0; n < faults_.size(); n++)
		events_.push(faults_[n].at, key_of(Happens::fault, n));
	if (settings.sample)
		next_sample_ = settings.sample;
}

inline u32 Simulator::next_link(const Link &l, const Packet &k) const
{
	const u32 plane = (k.port - 1u) * plane_links_;
	const u32 t0 = t0_of(k.dst);
	const auto first = [this, plane](Kind of) {
		return plane + at_[static_cast<std::size_t>(of)];
	};

	switch (static_cast<Kind>(l.kind)) {
	case Kind::host_up:
		return l.to == t0
			       ? first(Kind::host_down) + k.dst
			       : first(Kind::t0_up) + l.to * uplinks_ + k.up0;
	case Kind::t0_up:
		if (three_ && l.to / t1_of_pod_ != pod_of(t0))
			return first(Kind::t1_up) + l.to * t1_uplinks_ + k.up1;
		[[fallthrough]];
	case Kind::t2_down:
		return first(Kind::t1_down) + t0 * uplinks_ + k.up0;
	case Kind::t1_up:
		return first(Kind::t2_down) +
		       (pod_of(t0) * t1_of_pod_ + k.up0 / shape_.bundle) *
			       t1_uplinks_ +
		       k.up1;
	default: /* t1_down */
		return first(Kind::host_down) + k.dst;
	}
}

/* Lines of @n bytes at @p that will be used. */
[[gnu::always_inline]] inline void fetch(const void *p, std::size_t n)
{
	for (std::size_t at = 0; at < n; at += 64)
		__builtin_prefetch(static_cast<const char *>(p) + at);
}

/*
 * Most of the time goes to waiting for memory, since events jump from link to
 * link. So what the next events need is fetched ahead in steps: first links and
 * hosts, then what these refer to, and so on. (Inline, because gcc leaves out
 * calls of functions that do nothing else.)
 */
[[gnu::always_inline]] inline void Simulator::look_ahead() const
{
	constexpr u64 mask = (u64{1} << key_shift) - 1;
	const auto kind = [](const Event *e) {
		return static_cast<Happens>(e->key >> key_shift);
	};
	const auto link_of = [](const Event *e) {
		return static_cast<u32>((e->key & mask) >> 1);
	};

	if (const Event *e = events_.ahead(16)) {
		if (kind(e) == Happens::arrival)
			fetch(&links_.link(link_of(e)), 1);
		else if (kind(e) == Happens::wake)
			fetch(&hosts_[e->key & mask], 1);
		else if (kind(e) == Happens::timer)
			fetch(&qps_[e->key & mask], 1);
	}
	if (const Event *e = events_.ahead(11)) {
		if (kind(e) == Happens::arrival) {
			fetch(links_.first(link_of(e), e->key & 1), 1);
		} else if (kind(e) == Happens::wake) {
			const u32 first = hosts_[e->key & mask].first;

			if (first != nobody)
				fetch(&qps_[first], 1);
		}
	}
	if (const Event *e = events_.ahead(7)) {
		if (kind(e) == Happens::arrival) {
			const Packet *k = links_.first(link_of(e), e->key & 1);
			const Link &l = links_.link(link_of(e));

			if (k) {
				fetch(links_.after(*k), 1);
				if (l.kind == static_cast<u8>(Kind::host_down))
					fetch(&qps_[k->qp], 1);
				else
					fetch(&links_.link(next_link(l, *k)),
					      1);
			}
		} else if (kind(e) == Happens::wake) {
			const u32 first = hosts_[e->key & mask].first;

			if (first != nobody && qps_[first].tx)
				fetch(qps_[first].tx, sizeof(Sender) + 256);
		}
	}
	if (const Event *e = events_.ahead(3)) {
		if (kind(e) != Happens::arrival)
			return;

		const Packet *k = links_.first(link_of(e), e->key & 1);
		const Link &l = links_.link(link_of(e));

		if (!k)
			return;
		if (l.kind != static_cast<u8>(Kind::host_down)) {
			fetch(links_.last(next_link(l, *k), e->key & 1), 1);
			return;
		}

		const Qp &q = qps_[k->qp];

		if (k->dst != q.dst) {
			if (q.tx)
				fetch(q.tx, sizeof(Sender));
		} else if (q.rx) {
			fetch(q.rx, sizeof(mrc_resp) + 64);
		}
	}
}

bool Simulator::run(u64 events)
{
	const u64 end = settings_.end ? settings_.end : never_ps;
	Event e{};

	for (; events; events--) {
		if (totals_.finished == flows_.size())
			return false;
		if (!events_.pop(e))
			return false;
		look_ahead();
		if (e.at >= next_sample_ || e.at > end) {
			sample(std::min(e.at, end));
			if (e.at > end) {
				now_ = end;
				return false;
			}
		}
		now_ = e.at;
		totals_.events++;
		happen(e);
	}
	return true;
}

void Simulator::happen(const Event &e)
{
	const u64 who = e.key & ((u64{1} << key_shift) - 1);

	switch (static_cast<Happens>(e.key >> key_shift)) {
	case Happens::arrival:
		return arrive(static_cast<u32>(who >> 1),
			      static_cast<u32>(who & 1));
	case Happens::timer:
		return timer(static_cast<u32>(who), e.at);
	case Happens::wake:
		if (hosts_[who].wake != e.at)
			return;
		hosts_[who].wake = never_ps;
		return pull(static_cast<u32>(who));
	case Happens::start:
		return start_due();
	case Happens::fault:
		return fault(who);
	case Happens::news:
		return news(static_cast<u32>(who));
	}
}

/* A packet is at the end of a link: it goes on, or is received. */
void Simulator::arrive(u32 id, u32 cls)
{
	const u32 p = links_.arrived(id, cls);

	if (p == no_packet)
		return;

	const Link &l = links_.link(id);

	if (static_cast<Kind>(l.kind) == Kind::host_down)
		return receive(p);
	links_.send(next_link(l, links_.packet(p)), p, now_);
}

void Simulator::start_due()
{
	while (next_start_ < order_.size()) {
		const u32 f = order_[next_start_];
		const u64 at = traffic_.flows[f].start;

		if (at > now_) {
			events_.push(at, key_of(Happens::start, 0));
			return;
		}
		next_start_++;
		start(f);
	}
}

void Simulator::start(u32 f)
{
	const Flow &flow = traffic_.flows[f];
	Qp &q = qps_[flow.connection];
	FlowState &s = flows_[f];

	if (s.began != never_ps)
		return;
	s.began = now_;
	if (q.last == nobody)
		q.first = f;
	else
		flows_[q.last].next = f;
	q.last = f;
	if (!q.tx) {
		const u64 t = engine_time(now_);

		q.tx = maker_.make_sender(flow.connection, q.src, t,
					  ctr_.get());
		if (hosts_[q.src].ports != hosts_[q.dst].ports) {
			mrc_req_set_ports(&q.tx->req, hosts_[q.src].ports, t);
			mrc_req_peer_status(&q.tx->req, hosts_[q.dst].ports, t);
		}
	}
	post(flow.connection);
	pull(flow.src);
}

void Simulator::fire(u32 n)
{
	const Trigger &t = traffic_.triggers[n];
	const u32 before = fired_[n]++;

	switch (t.kind) {
	case Trigger::Kind::each:
		if (before < t.flows.size())
			start(t.flows[before]);
		return;
	case Trigger::Kind::once:
		if (before)
			return;
		break;
	case Trigger::Kind::barrier:
		if (before + 1 != t.count)
			return;
		break;
	}
	for (const u32 f : t.flows)
		start(f);
}

void Simulator::sample(u64 until)
{
	for (; next_sample_ <= until; next_sample_ += settings_.sample)
		samples_.push_back({next_sample_, totals_.placed,
				    totals_.resent, links_.sums.trimmed,
				    links_.sums.dropped, links_.sums.marked,
				    totals_.finished});
}

u64 Simulator::counter(mrc_counter id) const
{
	u64 sum = 0;

	for (const auto &port : ctr_->v)
		sum += port[id];
	return sum;
}

u64 Simulator::digest() const
{
	u64 sum = now_;

	for (const Host &h : hosts_)
		sum = scatter(sum ^ h.digest) + h.digest;
	for (const FlowState &f : flows_)
		sum = scatter(sum ^ f.ended);
	return sum;
}

std::string Simulator::check() const
{
	const LinkSums &s = links_.sums;
	const u64 gone = totals_.delivered + s.dropped + s.lost + s.cut;

	if (totals_.injected != gone + links_.in_use())
		return fmt::format("{} packets sent; {} delivered, {} dropped, "
				   "{} lost, {} cut off, {} under way",
				   totals_.injected, totals_.delivered,
				   s.dropped, s.lost, s.cut, links_.in_use());
	for (std::size_t n = 0; n < flows_.size(); n++) {
		const FlowState &f = flows_[n];
		const u64 bytes = traffic_.flows[n].bytes;
		const u64 packets =
			(bytes + settings_.pmtu - 1) / settings_.pmtu;

		if (f.bytes > bytes)
			return fmt::format("flow {}: {} bytes of {} placed",
					   n + 1, f.bytes, bytes);
		if (f.ended == never_ps || f.failed)
			continue;
		if (f.bytes != bytes ||
		    f.offsets != packets * (packets - 1) / 2 * settings_.pmtu)
			return fmt::format("flow {} is finished; {} bytes of "
					   "{} placed, offsets {}",
					   n + 1, f.bytes, bytes, f.offsets);
	}
	return {};
}

u64 planned_memory(const Shape &shape, const Settings &s,
		   const Traffic &traffic)
{
	const Derived d = derive(shape, s);
	const u64 packets = s.congestion ? u64{MRC_CC_WINDOW_PKTS(d.mpr * 128)}
					 : u64{d.mpr} * 128;
	std::vector<u32> open(shape.all_hosts());
	u64 at_once = 0, hosts = 0;

	/* Connections whose flows wait for triggers follow others. */
	for (const Flow &f : traffic.flows)
		if (f.start != not_yet && f.src < open.size())
			at_once++, hosts += !open[f.src]++;
	/* Feedback is under way, too, and each host has some pending events. */
	const u64 of_host = packets * 5 / 4 * sizeof(Packet) + 4096;
	constexpr u64 program = 16 << 20;

	return program + d.link_memory + traffic.connections * u64{96} +
	       traffic.flows.size() * (sizeof(Flow) + sizeof(FlowState) + 4) +
	       std::min<u64>(at_once, traffic.connections) * d.qp_memory +
	       hosts * of_host;
}
} // namespace mrcsim
