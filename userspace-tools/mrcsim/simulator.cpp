// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "simulator.hpp"

#include <algorithm>
#include <barrier>
#include <ctime>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "error.hpp"

namespace mrcsim
{
namespace
{
/* Processor time of this thread, ns. */
u64 cpu_time()
{
	timespec t{};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return static_cast<u64>(t.tv_sec) * 1'000'000'000 +
	       static_cast<u64>(t.tv_nsec);
}

/* What the recorders of all partitions have, one after the other. */
template <typename T>
std::vector<T> recorded(const std::vector<std::unique_ptr<Partition>> &parts,
			const std::vector<T> &(Recorder::*of)() const)
{
	std::vector<T> all;

	for (const auto &p : parts)
		if (const Recorder *r = p->recorder())
			all.insert(all.end(), (r->*of)().begin(),
				   (r->*of)().end());
	return all;
}
} // namespace

Simulator::Simulator(const Shape &shape, const Settings &settings,
		     const Traffic &traffic, std::vector<Fault> faults,
		     u32 threads, Peers *peers)
	: peers_(peers),
	  world_(shape, settings, traffic,
		 threads * (peers ? peers->count() : 1)),
	  faults_(std::move(faults))
{
	if (peers_ && world_.cut.count() < peers_->count())
		throw mrclab::UsageError(fmt::format(
			"{} processes: the fabric and the triggers of its "
			"traffic allow {}",
			peers_->count(), world_.cut.count()));
	first_ = first_part(peers_ ? peers_->rank() : 0);
	for (u32 n = first_; n < first_part((peers_ ? peers_->rank() : 0) + 1);
	     n++)
		parts_.push_back(std::make_unique<Partition>(world_, n));
	for (std::size_t n = 0; n < faults_.size(); n++)
		global_.push({faults_[n].at, key_of(Happens::fault, n)});
	if (settings.sample)
		next_sample_ = settings.sample;
	if (traffic.flows.empty())
		stop_ = 0;
}

/* After the last flow the packets go on until the end of a window, so that all
 * partitions end at the same time. */
void Simulator::look_for_end()
{
	if (stop_ == never_ps && all_.finished == world_.flows.size()) {
		stop_ = world_.cut.window_end(all_.last_end);
		finished_at_ = all_.last_end;
	}
}

/*
 * All events before @done_ are over. What is due then happens, and a new bound
 * is found. False: the simulation is over.
 */
bool Simulator::next_bound()
{
	const u64 end =
		world_.settings.end ? world_.settings.end : never_ps - 1;

	meet();
	look_for_end();
	for (;; meet()) {
		const u64 first = all_.earliest;
		Event bound = {std::min(stop_, end + 1), 0};

		if (stop_ == never_ps && first == never_ps && global_.empty())
			return false;
		bound = std::min(bound, {next_sample_, 0});
		if (!global_.empty())
			bound = std::min(bound, global_.top());
		if (world_.cut.count() > 1 && first != never_ps)
			bound = std::min(bound, {world_.cut.window_end(std::max(
							 first, done_.at)),
						 0});
		if (done_ < bound) {
			for (const auto &p : parts_)
				p->set_bound(bound);
			return true;
		}
		if (done_.at >= stop_ || done_.at > end)
			return false;
		if (bound.at == next_sample_)
			sample();
		else
			happen();
	}
}

bool Simulator::run(u64 events)
{
	if (over_)
		return false;
	if (world_.cut.count() > 1)
		run_side_by_side(events);
	else
		run_alone(events);
	if (over_)
		unite();
	return !over_;
}

void Simulator::run_alone(u64 events)
{
	Partition &p = *parts_[0];

	while (events) {
		if (!bounded_ && !next_bound()) {
			over_ = true;
			return;
		}
		events -= p.run(events);
		/* The bound is reached if there was less to do than allowed. */
		bounded_ = !events;
		if (!bounded_)
			done_ = p.bound();
	}
}

/*
 * Every partition has its events before the bound, which ends a window; then
 * each takes what the others have sent to it. No packet arrives earlier than in
 * the next window. Between windows one of the threads looks at all partitions.
 */
void Simulator::run_side_by_side(u64 events)
{
	const u64 until = all_.events + events;
	std::vector<std::exception_ptr> errors(parts_.size());
	bool go = false;
	const auto guarded = [&errors](std::size_t n,
				       const auto &what) noexcept {
		try {
			what();
		} catch (...) {
			if (!errors[n])
				errors[n] = std::current_exception();
		}
	};
	const auto failed = [&errors] {
		for (const std::exception_ptr &e : errors)
			if (e)
				return true;
		return false;
	};
	const auto swap = [&]() noexcept {
		if (peers_)
			guarded(0, [&] { exchange(); });
	};
	const auto next = [&]() noexcept {
		go = false;
		if (failed()) {
			/* The others are told. */
			if (peers_)
				guarded(0, [&] { meet(true); });
			return;
		}
		guarded(0, [&] {
			done_ = parts_[0]->bound();
			over_ = !next_bound();
			go = !over_ && all_.events < until;
			pending_ = !over_;
		});
	};
	std::barrier all_sent(static_cast<std::ptrdiff_t>(parts_.size()), swap);
	std::barrier all_there(static_cast<std::ptrdiff_t>(parts_.size()),
			       next);
	std::vector<u64> cpu(parts_.size());
	const auto work = [&](std::size_t n) {
		const u64 begun = cpu_time();

		do {
			guarded(n, [&] { parts_[n]->run(~0ull); });
			all_sent.arrive_and_wait();
			guarded(n, [&] { parts_[n]->collect(); });
			all_there.arrive_and_wait();
		} while (go);
		cpu[n] = cpu_time() - begun;
	};
	std::vector<std::thread> others;

	if (!pending_ && !next_bound()) {
		over_ = true;
		return;
	}
	for (std::size_t n = 1; n < parts_.size(); n++)
		others.emplace_back(work, n);
	work(0);
	for (std::thread &t : others)
		t.join();
	for (std::size_t n = 1; n < parts_.size(); n++)
		helpers_cpu_ += cpu[n];
	for (const std::exception_ptr &e : errors)
		if (e)
			std::rethrow_exception(e);
}

/* Bytes of data that wait for a direction, at a sample. */
u64 Simulator::queue(u32 link) const
{
	const u64 rate =
		world_.links.settings(world_.links.link(link)).byte;
	u64 bytes = static_cast<u64>(
		(static_cast<unsigned __int128>(
			 world_.links.backlog(link, next_sample_))
		 << byte_time_shift) /
		rate);

	for (const auto &p : parts_)
		bytes += p->waiting(link);
	return bytes;
}

void Simulator::sample()
{
	const Totals t = own_totals();
	const LinkSums s = own_sums();
	Sample now = {.at = next_sample_,
		      .placed = t.placed,
		      .resent = t.resent,
		      .trimmed = s.trimmed,
		      .dropped = s.dropped,
		      .marked = s.marked,
		      .finished = t.finished,
		      .lost = s.lost + s.cut,
		      .condemned = 0};

	for (const auto &p : parts_)
		for (const auto &port : p->counters().v)
			now.condemned += port[MRC_CTR_EV_BAD];

	for (const u32 f : world_.settings.series.flows)
		now.flows.push_back(world_.flows[f].bytes);
	for (const u32 id : world_.settings.series.links)
		now.queues.push_back(queue(id));
	if (peers_) {
		std::vector<u64> sums = {now.placed,   now.resent,
					 now.trimmed,  now.dropped,
					 now.marked,   now.finished,
					 now.lost,     now.condemned};

		sums.insert(sums.end(), now.flows.begin(), now.flows.end());
		sums.insert(sums.end(), now.queues.begin(), now.queues.end());
		peers_->sum(sums);

		auto next = sums.begin();

		for (u64 *v : {&now.placed, &now.resent, &now.trimmed,
			       &now.dropped, &now.marked, &now.finished,
			       &now.lost, &now.condemned})
			*v = *next++;
		for (std::vector<u64> *all : {&now.flows, &now.queues})
			for (u64 &v : *all)
				v = *next++;
	}
	samples_.push_back(std::move(now));
	next_sample_ += world_.settings.sample;
}

u64 Simulator::now() const
{
	u64 now = global_now_;

	if (over_ && finished_at_ != never_ps)
		return finished_at_;
	if (over_ && world_.settings.end && done_.at > world_.settings.end)
		return world_.settings.end;
	for (const auto &p : parts_)
		now = std::max(now, p->now());
	return now;
}

Totals Simulator::own_totals() const
{
	Totals sum;

	for (const auto &p : parts_)
		add(sum, p->totals());
	return sum;
}

Totals Simulator::totals() const
{
	Totals sum = own_totals();

	add(sum, other_totals_);
	sum.events += global_events_;
	return sum;
}

LinkSums Simulator::own_sums() const
{
	LinkSums sum;

	for (const auto &p : parts_)
		add(sum, p->sums());
	return sum;
}

LinkSums Simulator::sums() const
{
	LinkSums sum = own_sums();

	add(sum, other_sums_);
	return sum;
}

mrc_counters Simulator::own_counters() const
{
	mrc_counters sum{};

	for (const auto &p : parts_)
		add(sum, p->counters());
	return sum;
}

u64 Simulator::counter(mrc_counter id) const
{
	u64 sum = 0;

	for (const auto &p : parts_)
		for (const auto &port : p->counters().v)
			sum += port[id];
	for (const auto &port : other_counters_.v)
		sum += port[id];
	return sum;
}

u64 Simulator::in_use() const
{
	u64 sum = other_in_use_;

	for (const auto &p : parts_)
		sum += p->in_use();
	return sum;
}

u64 Simulator::own_memory() const
{
	u64 sum = world_.memory() + samples_.capacity() * sizeof(Sample);

	for (const Sample &one : samples_)
		sum += (one.flows.capacity() + one.queues.capacity()) *
		       sizeof(u64);
	for (const auto &p : parts_)
		sum += sizeof(Partition) + p->memory();
	return sum;
}

u64 Simulator::memory() const
{
	return own_memory() + other_memory_;
}

std::vector<TraceLine> Simulator::trace() const
{
	std::vector<TraceLine> all = recorded(parts_, &Recorder::lines);

	all.insert(all.end(), other_trace_.begin(), other_trace_.end());
	return all;
}

std::vector<Captured> Simulator::captured() const
{
	std::vector<Captured> all = recorded(parts_, &Recorder::packets);

	all.insert(all.end(), other_captured_.begin(), other_captured_.end());
	return all;
}

u64 Simulator::digest() const
{
	u64 sum = now();

	for (const Host &h : world_.hosts)
		sum = scatter(sum ^ h.digest) + h.digest;
	for (const FlowState &f : world_.flows)
		sum = scatter(sum ^ f.ended);
	return sum;
}

std::string Simulator::check() const
{
	const LinkSums s = sums();
	const Totals t = totals();
	const u64 gone = t.delivered + s.dropped + s.lost + s.cut;
	const u64 under_way = in_use();

	if (t.injected != gone + under_way)
		return fmt::format("{} packets sent; {} delivered, {} dropped, "
				   "{} lost, {} cut off, {} under way",
				   t.injected, t.delivered, s.dropped, s.lost,
				   s.cut, under_way);
	for (std::size_t n = 0; n < world_.flows.size(); n++) {
		const FlowState &f = world_.flows[n];
		const u64 bytes = world_.traffic.flows[n].bytes;
		const u32 pmtu = world_.settings.pmtu;
		const u64 packets = (bytes + pmtu - 1) / pmtu;

		if (f.bytes > bytes)
			return fmt::format("flow {}: {} bytes of {} placed",
					   n + 1, f.bytes, bytes);
		if (f.ended == never_ps || f.failed)
			continue;
		if (f.bytes != bytes ||
		    f.offsets != packets * (packets - 1) / 2 * pmtu)
			return fmt::format("flow {} is finished; {} bytes of "
					   "{} placed, offsets {}",
					   n + 1, f.bytes, bytes, f.offsets);
	}
	return {};
}
} // namespace mrcsim
