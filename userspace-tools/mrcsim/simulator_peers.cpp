// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcsim: a run that several processes simulate. All of them take the same
 * decisions, from what they tell each other. */
#include <algorithm>

#include "error.hpp"
#include "simulator.hpp"

namespace mrcsim
{
namespace
{
/* What a process tells at a meeting. */
struct News {
	u64 earliest, finished, last_end, events, placed, failed;
};
} // namespace

/* The state of all partitions of all processes. */
void Simulator::meet(bool failed)
{
	News mine = {never_ps, 0, 0, global_events_, 0, failed};

	for (const auto &p : parts_) {
		mine.earliest = std::min(mine.earliest, p->earliest());
		mine.finished += p->totals().finished;
		mine.last_end = std::max(mine.last_end, p->last_end());
		mine.events += p->totals().events;
		mine.placed += p->totals().placed;
	}
	if (!peers_) {
		all_ = {mine.earliest, mine.finished, mine.last_end,
			mine.events, mine.placed};
		return;
	}

	Parcel parcel;
	bool any_failed = false;

	parcel.put(mine);
	all_ = {never_ps, 0, 0, 0, 0};
	for (std::string &s : peers_->exchange(std::vector<std::string>(
		     peers_->count(), parcel.bytes()))) {
		const News one = Parcel(std::move(s)).get<News>();

		all_.earliest = std::min(all_.earliest, one.earliest);
		all_.finished += one.finished;
		all_.last_end = std::max(all_.last_end, one.last_end);
		all_.events += one.events;
		all_.placed += one.placed;
		any_failed |= one.failed != 0;
	}
	/* What happens between windows, each process has counted. */
	all_.events -= (peers_->count() - 1) * global_events_;
	if (any_failed && !failed)
		throw mrclab::SystemError("another process has failed");
}

/* What crosses from partitions here to those of other processes. */
void Simulator::exchange()
{
	std::vector<std::string> to(peers_->count());

	for (u32 rank = 0; rank < peers_->count(); rank++) {
		Parcel parcel;

		if (rank == peers_->rank())
			continue;
		for (u32 from = first_part(peers_->rank());
		     from < first_part(peers_->rank() + 1); from++)
			for (u32 n = first_part(rank);
			     n < first_part(rank + 1); n++) {
				Mail &m = world_.mail_of(from)[n];

				parcel.put_all(m.packets);
				parcel.put_all(m.entropies);
				parcel.put_all(m.events);
				m.packets.clear();
				m.entropies.clear();
				m.events.clear();
			}
		to[rank] = parcel.bytes();
	}

	std::vector<std::string> all = peers_->exchange(to);

	for (u32 rank = 0; rank < peers_->count(); rank++) {
		Parcel parcel(std::move(all[rank]));

		if (rank == peers_->rank())
			continue;
		for (u32 from = first_part(rank); from < first_part(rank + 1);
		     from++)
			for (u32 n = first_part(peers_->rank());
			     n < first_part(peers_->rank() + 1); n++) {
				Mail &m = world_.mail_of(from)[n];

				m.packets = parcel.get_all<Packet>();
				m.entropies = parcel.get_all<u32>();
				m.events = parcel.get_all<Event>();
			}
	}
}

/*
 * The first process gets what the others know of their partitions, as if it had
 * simulated all.
 */
void Simulator::unite()
{
	if (!peers_ || united_)
		return;
	united_ = true;

	const auto mine = [this](u32 partition) {
		return partition >= first_part(peers_->rank()) &&
		       partition < first_part(peers_->rank() + 1);
	};
	const Shape &s = world_.shape;
	std::vector<std::string> to(peers_->count());
	Parcel out;

	out.put(own_totals());
	out.put(own_sums());
	out.put(own_counters());
	out.put(own_memory());
	out.put(in_use());
	out.put(now());
	for (u32 h = 0; h < s.all_hosts(); h++)
		if (mine(world_.cut.of_host(h)))
			out.put(world_.hosts[h].digest);
	for (u32 n = 0; n < world_.flows.size(); n++) {
		const Flow &f = world_.traffic.flows[n];

		if (mine(world_.cut.of_host(f.src))) {
			out.put(world_.flows[n].began);
			out.put(world_.flows[n].ended);
			out.put(world_.flows[n].failed);
		}
		if (mine(world_.cut.of_host(f.dst))) {
			out.put(world_.flows[n].received);
			out.put(world_.flows[n].bytes);
			out.put(world_.flows[n].offsets);
		}
	}
	for (u32 id = 0; id < s.links(); id++)
		if (mine(world_.cut.before(s, id))) {
			out.put(world_.links.link(id).bytes);
			out.put(world_.links.losses(id));
		}
	out.put<u64>(trace().size());
	for (const TraceLine &l : trace()) {
		out.put(l.at);
		out.put(l.host);
		out.put(l.qp);
		out.put_text(l.text);
	}
	out.put<u64>(captured().size());
	for (const Captured &c : captured()) {
		out.put(c.at);
		out.put(c.link);
		out.put(c.length);
		out.put_text(c.bytes);
	}
	if (peers_->rank())
		to[0] = out.bytes();

	std::vector<std::string> all = peers_->exchange(to);

	if (peers_->rank())
		return;
	for (u32 rank = 1; rank < peers_->count(); rank++) {
		Parcel in(std::move(all[rank]));
		const auto theirs = [this, rank](u32 partition) {
			return partition >= first_part(rank) &&
			       partition < first_part(rank + 1);
		};

		add(other_totals_, in.get<Totals>());
		add(other_sums_, in.get<LinkSums>());
		add(other_counters_, in.get<mrc_counters>());
		other_memory_ += in.get<u64>();
		other_in_use_ += in.get<u64>();
		global_now_ = std::max(global_now_, in.get<u64>());
		for (u32 h = 0; h < s.all_hosts(); h++)
			if (theirs(world_.cut.of_host(h)))
				world_.hosts[h].digest = in.get<u64>();
		for (u32 n = 0; n < world_.flows.size(); n++) {
			const Flow &f = world_.traffic.flows[n];
			FlowState &to_fill = world_.flows[n];

			if (theirs(world_.cut.of_host(f.src))) {
				to_fill.began = in.get<u64>();
				to_fill.ended = in.get<u64>();
				to_fill.failed = in.get<bool>();
			}
			if (theirs(world_.cut.of_host(f.dst))) {
				to_fill.received = in.get<u64>();
				to_fill.bytes = in.get<u64>();
				to_fill.offsets = in.get<u64>();
			}
		}
		for (u32 id = 0; id < s.links(); id++)
			if (theirs(world_.cut.before(s, id))) {
				world_.links.link(id).bytes = in.get<u64>();
				world_.links.losses(id) = in.get<LinkLoss>();
			}
		for (u64 n = in.get<u64>(); n; n--) {
			TraceLine l{};

			l.at = in.get<u64>();
			l.host = in.get<u32>();
			l.qp = in.get<u32>();
			l.text = in.get_text();
			other_trace_.push_back(std::move(l));
		}
		for (u64 n = in.get<u64>(); n; n--) {
			Captured c{};

			c.at = in.get<u64>();
			c.link = in.get<u32>();
			c.length = in.get<u32>();
			c.bytes = in.get_text();
			other_captured_.push_back(std::move(c));
		}
	}
}

void Simulator::add(Totals &sum, const Totals &t)
{
	sum.events += t.events;
	sum.data += t.data;
	sum.resent += t.resent;
	sum.control += t.control;
	sum.probes += t.probes;
	sum.injected += t.injected;
	sum.delivered += t.delivered;
	sum.delivered_trimmed += t.delivered_trimmed;
	sum.placed += t.placed;
	sum.stale += t.stale;
	sum.finished += t.finished;
	sum.failed += t.failed;
}

void Simulator::add(LinkSums &sum, const LinkSums &s)
{
	sum.queued += s.queued;
	sum.passed += s.passed;
	sum.marked += s.marked;
	sum.trimmed += s.trimmed;
	sum.dropped += s.dropped;
	sum.lost += s.lost;
	sum.cut += s.cut;
	sum.control_dropped += s.control_dropped;
	sum.pauses += s.pauses;
}

void Simulator::add(mrc_counters &sum, const mrc_counters &c)
{
	for (std::size_t port = 0; port < std::size(sum.v); port++)
		for (std::size_t n = 0; n < std::size(sum.v[port]); n++)
			sum.v[port][n] += c.v[port][n];
}
} // namespace mrcsim
