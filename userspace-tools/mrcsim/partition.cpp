// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "partition.hpp"

#include <algorithm>
#include <bit>

namespace mrcsim
{
namespace
{
/*
 * Packets that can be under way: those of all windows, and what answers them.
 * Without windows it is all data, and as many for what is sent again.
 */
u32 most_packets(const World &w)
{
	constexpr u64 most = 1ull << 31, least = 1 << 16;
	u64 n = w.shape.all_hosts() * 4 * (u64{w.derived.mpr} * 128 + 256);

	if (is_roce(w.settings.column)) {
		n = least;
		for (const Flow &f : w.traffic.flows)
			n += 2 * (f.bytes / w.settings.pmtu + 2);
	}
	return static_cast<u32>(std::clamp(n, least, most));
}

/*
 * Buckets for about sixty events at full load. A host sends a packet in the
 * time that all of its ports take for one, and a packet has about six events.
 */
unsigned int bucket_shift(const Shape &s, const Derived &d, u32 partitions)
{
	const u64 packet = sending_time(d.nic_rate, d.packet);
	const u64 width = packet * 10 * partitions / s.all_hosts() + 1;

	return std::clamp(static_cast<unsigned int>(std::bit_width(width)), 8u,
			  22u);
}
} // namespace

Partition::Partition(World &w, u32 number)
	: world_(w), settings_(w.settings), traffic_(w.traffic),
	  routes_(w.routes), qps_(w.qps.data()), hosts_(w.hosts.data()),
	  flows_(w.flows.data()),
	  events_(bucket_shift(w.shape, w.derived, w.cut.count())),
	  queues_(w.links, static_cast<u16>(number), w.settings.seed,
		  most_packets(w), events_, w.mail_of(number)),
	  maker_(w.shape, w.settings, w.derived),
	  ctr_(std::make_unique<mrc_counters>()),
	  nic_wait_((w.derived.nic_depth - 1) *
		    sending_time(w.shape.of(Kind::host_up).rate,
				 w.derived.packet)),
	  number_(number), roce_(is_roce(w.settings.column)),
	  pfc_(w.settings.column == Column::roce_pfc),
	  alone_(w.cut.count() == 1)
{
	ctr_->n_ports = w.shape.planes;
	if (!settings_.watch.empty()) {
		recorder_ = std::make_unique<Recorder>(w, now_);
		queues_.keep_entropies();
	}
	if (pfc_)
		queues_.use_pfc(w.links.count(),
				settings_.pfc_xoff * w.derived.packet,
				settings_.pfc_xon * w.derived.packet);
	for (u32 n = 0; n < traffic_.flows.size(); n++)
		if (traffic_.flows[n].start != not_yet &&
		    w.cut.of_host(traffic_.flows[n].src) == number)
			order_.push_back(n);
	std::stable_sort(order_.begin(), order_.end(), [this](u32 a, u32 b) {
		return traffic_.flows[a].start < traffic_.flows[b].start;
	});
	if (!order_.empty())
		events_.push(traffic_.flows[order_[0]].start,
			     key_of(Happens::start, 0));
	for (u32 n = 0; n < traffic_.triggers.size(); n++) {
		const Trigger &t = traffic_.triggers[n];

		if (!t.count && w.cut.of_host(t.host) == number)
			events_.push(t.at, key_of(Happens::trigger, n));
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
[[gnu::always_inline]] inline void Partition::look_ahead() const
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
			fetch(&world_.links.link(link_of(e)), 1);
		else if (kind(e) == Happens::wake)
			fetch(&hosts_[e->key & mask], 1);
		else if (kind(e) == Happens::timer)
			fetch(&qps_[e->key & mask], 1);
	}
	if (const Event *e = events_.ahead(11)) {
		if (kind(e) == Happens::arrival) {
			fetch(queues_.first(link_of(e), e->key & 1), 1);
		} else if (kind(e) == Happens::wake) {
			const u32 first = hosts_[e->key & mask].first;

			if (first != nobody)
				fetch(&qps_[first], 1);
		}
	}
	if (const Event *e = events_.ahead(7)) {
		if (kind(e) == Happens::arrival) {
			const Packet *k = queues_.first(link_of(e), e->key & 1);
			const Link &l = world_.links.link(link_of(e));

			if (k) {
				fetch(queues_.after(*k), 1);
				if (l.kind == static_cast<u8>(Kind::host_down))
					fetch(&qps_[k->qp], 1);
				else
					fetch(&world_.links.link(
						      routes_.next_link(l, *k)),
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

		const Packet *k = queues_.first(link_of(e), e->key & 1);
		const Link &l = world_.links.link(link_of(e));

		if (!k)
			return;
		if (l.kind != static_cast<u8>(Kind::host_down)) {
			fetch(queues_.last(routes_.next_link(l, *k),
					   e->key & 1),
			      1);
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

u64 Partition::run(u64 most)
{
	Event e{};
	u64 n = 0;

	for (; n < most && events_.pop(bound_, e); n++) {
		look_ahead();
		now_ = e.at;
		happen(e);
	}
	totals_.events += n;
	return n;
}

void Partition::collect()
{
	for (u32 from = 0; from < world_.cut.count(); from++)
		queues_.collect(world_.mail_of(from)[number_]);
}

void Partition::happen(const Event &e)
{
	const u64 who = e.key & ((u64{1} << key_shift) - 1);

	switch (static_cast<Happens>(e.key >> key_shift)) {
	case Happens::arrival:
		return arrive(static_cast<u32>(who >> 1),
			      static_cast<u32>(who & 1));
	case Happens::timer:
		return roce_ ? roce_timer(static_cast<u32>(who), e.at)
			     : timer(static_cast<u32>(who), e.at);
	case Happens::wake:
		if (hosts_[who].wake != e.at)
			return;
		hosts_[who].wake = never_ps;
		return pull(static_cast<u32>(who));
	case Happens::start:
		return start_due();
	case Happens::trigger:
		return fire(static_cast<u32>(who));
	case Happens::close:
		return close(static_cast<u32>(who));
	case Happens::departure:
		return departed(static_cast<u32>(who));
	case Happens::pause:
		return queues_.pause(static_cast<u32>(who >> 1), who & 1, now_);
	case Happens::begin:
		return begin(static_cast<u32>(who));
	default: /* what happens between turns */
		return;
	}
}

/* A packet is at the end of a link: it goes on, or is received. */
void Partition::arrive(u32 id, u32 cls)
{
	const u32 p = queues_.arrived(id, cls);

	if (p == no_packet)
		return;

	const Link &l = world_.links.link(id);

	if (recorder_)
		recorder_->arrived(id, queues_.packet(p), queues_.entropy(p));
	if (static_cast<Kind>(l.kind) == Kind::host_down)
		return receive(p);
	queues_.send(routes_.next_link(l, queues_.packet(p)), p, now_, id);
}

void Partition::start_due()
{
	/* A flow is an event, however many of them start at once. */
	totals_.events--;
	while (next_start_ < order_.size()) {
		const u32 f = order_[next_start_];
		const u64 at = traffic_.flows[f].start;

		if (at > now_) {
			events_.push(at, key_of(Happens::start, 0));
			return;
		}
		next_start_++;
		totals_.events++;
		start(f);
	}
}

void Partition::start(u32 f)
{
	FlowState &s = flows_[f];

	if (s.began != never_ps)
		return;
	s.began = now_;
	if (settings_.host_delay)
		events_.push(now_ + settings_.host_delay,
			     key_of(Happens::begin, f));
	else
		begin(f);
}

/* The NIC of the sender learns of a flow. */
void Partition::begin(u32 f)
{
	const Flow &flow = traffic_.flows[f];
	Qp &q = qps_[flow.connection];

	if (q.last == nobody)
		q.first = f;
	else
		flows_[q.last].next = f;
	q.last = f;
	if (roce_) {
		roce_post(flow.connection);
		pull(flow.src);
		return;
	}
	if (!q.tx) {
		const u64 t = engine_time(now_);

		q.tx = maker_.make_sender(flow.connection, q.src, t,
					  ctr_.get(), recorder_.get());
		if (hosts_[q.src].ports != hosts_[q.dst].ports) {
			mrc_req_set_ports(&q.tx->req, hosts_[q.src].ports, t);
			mrc_req_peer_status(&q.tx->req, hosts_[q.dst].ports, t);
		}
	}
	post(flow.connection);
	pull(flow.src);
}

/* Has a trigger been fired often enough? */
bool Partition::fires_now(u32 n)
{
	const Trigger &t = traffic_.triggers[n];
	const u32 before = world_.fired[n]++;

	switch (t.kind) {
	case Trigger::Kind::each:
		if (before < t.flows.size())
			start(t.flows[before]);
		return false;
	case Trigger::Kind::once:
		return !before;
	default: /* barrier */
		return before + 1 == t.count || !t.count;
	}
}

/* Calculations of a processor are one after the other. */
void Partition::calculate(u32 n)
{
	const Trigger &t = traffic_.triggers[n];
	u64 &free = world_.cpu_free[t.cpu];

	free = std::max(free, now_) + t.calc;
	if (t.ended != no_trigger)
		events_.push(free, key_of(Happens::trigger, t.ended));
}

/* Chains of triggers may be long. */
void Partition::fire(u32 first)
{
	firing_.push_back(first);
	while (!firing_.empty()) {
		const u32 n = firing_.back();
		const Trigger &t = traffic_.triggers[n];

		firing_.pop_back();
		if (!fires_now(n))
			continue;
		for (const u32 f : t.flows)
			start(f);
		if (t.calc)
			calculate(n);
		else if (t.ended != no_trigger)
			firing_.push_back(t.ended);
		firing_.insert(firing_.end(), t.fires.rbegin(),
			       t.fires.rend());
	}
}
} // namespace mrcsim
