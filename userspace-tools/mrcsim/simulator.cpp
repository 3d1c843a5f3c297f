// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "simulator.hpp"

#include <algorithm>
#include <barrier>
#include <ctime>
#include <exception>
#include <thread>

#include <fmt/format.h>

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
		     u32 threads)
	: world_(shape, settings, traffic, threads), faults_(std::move(faults))
{
	for (u32 n = 0; n < world_.cut.count(); n++)
		parts_.push_back(std::make_unique<Partition>(world_, n));
	for (std::size_t n = 0; n < faults_.size(); n++)
		global_.push({faults_[n].at, key_of(Happens::fault, n)});
	if (settings.sample)
		next_sample_ = settings.sample;
	if (traffic.flows.empty())
		stop_ = 0;
}

u64 Simulator::earliest() const
{
	u64 at = never_ps;

	for (const auto &p : parts_)
		at = std::min(at, p->earliest());
	return at;
}

/* After the last flow the packets go on until the end of a window, so that all
 * partitions end at the same time. */
void Simulator::look_for_end()
{
	u64 finished = 0, last = 0;

	if (stop_ != never_ps)
		return;
	for (const auto &p : parts_) {
		finished += p->totals().finished;
		last = std::max(last, p->last_end());
	}
	if (finished == world_.flows.size()) {
		stop_ = world_.cut.window_end(last);
		finished_at_ = last;
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

	look_for_end();
	for (;;) {
		const u64 first = earliest();
		Event bound = {std::min(stop_, end + 1), 0};

		if (stop_ == never_ps && first == never_ps && global_.empty())
			return false;
		bound = std::min(bound, {next_sample_, 0});
		if (!global_.empty())
			bound = std::min(bound, global_.top());
		if (parts_.size() > 1 && first != never_ps)
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
	if (parts_.size() > 1)
		run_side_by_side(events);
	else
		run_alone(events);
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
	const u64 until = totals().events + events;
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
	const auto next = [&]() noexcept {
		go = false;
		for (const std::exception_ptr &e : errors)
			if (e)
				return;
		guarded(0, [&] {
			done_ = parts_[0]->bound();
			over_ = !next_bound();
			go = !over_ && totals().events < until;
			pending_ = !over_;
		});
	};
	std::barrier all_sent(static_cast<std::ptrdiff_t>(parts_.size()));
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

void Simulator::sample()
{
	const Totals t = totals();
	const LinkSums s = sums();

	samples_.push_back({next_sample_, t.placed, t.resent, s.trimmed,
			    s.dropped, s.marked, t.finished});
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

Totals Simulator::totals() const
{
	Totals sum;

	sum.events = global_events_;
	for (const auto &p : parts_) {
		const Totals &t = p->totals();

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
	return sum;
}

LinkSums Simulator::sums() const
{
	LinkSums sum;

	for (const auto &p : parts_) {
		const LinkSums &s = p->sums();

		sum.queued += s.queued;
		sum.passed += s.passed;
		sum.marked += s.marked;
		sum.trimmed += s.trimmed;
		sum.dropped += s.dropped;
		sum.lost += s.lost;
		sum.cut += s.cut;
		sum.control_dropped += s.control_dropped;
	}
	return sum;
}

u64 Simulator::counter(mrc_counter id) const
{
	u64 sum = 0;

	for (const auto &p : parts_)
		for (const auto &port : p->counters().v)
			sum += port[id];
	return sum;
}

u64 Simulator::memory() const
{
	u64 sum = world_.memory() + samples_.capacity() * sizeof(Sample);

	for (const auto &p : parts_)
		sum += sizeof(Partition) + p->memory();
	return sum;
}

std::vector<TraceLine> Simulator::trace() const
{
	return recorded(parts_, &Recorder::lines);
}

std::vector<Captured> Simulator::captured() const
{
	return recorded(parts_, &Recorder::packets);
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
	u64 under_way = 0;

	for (const auto &p : parts_)
		under_way += p->in_use();
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
