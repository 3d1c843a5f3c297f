// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Virtual time: the next event of a simulation.
//
// There are two kinds of events. An event proper is scheduled with a time and
// happens once. An alarm belongs to an owner, which has at most one and moves
// it as often as needed, as the deadline of an engine moves with every packet:
// nothing is cancelled, and superseded times leave nothing behind.
//
// At the same time events come first, in the order in which they were
// scheduled, then alarms by the number of their owner. So the course of a
// simulation depends only on its input.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "mrc_req.h"

namespace mrc_model
{

// One time for each of a fixed number of owners: a heap with the position of
// each owner.
class Alarms
{
public:
	explicit Alarms(u32 owners = 0)
		: when_(owners, MRC_NEVER), pos_(owners, kNowhere)
	{
	}

	// @when: ns, MRC_NEVER = no alarm.
	void set(u32 who, u64 when)
	{
		const u64 old = when_[who];
		u32 at = pos_[who];

		if (when == old)
			return;
		when_[who] = when;
		if (at == kNowhere) {
			at = static_cast<u32>(heap_.size());
			heap_.push_back(who);
			pos_[who] = at;
		} else if (when == MRC_NEVER) {
			remove(at);
			return;
		}
		if (when < old)
			up(at);
		else
			down(at);
	}

	u64 next() const { return heap_.empty() ? MRC_NEVER : when_[heap_[0]]; }
	// The owner of the earliest alarm; there must be one.
	u32 first() const { return heap_[0]; }

private:
	static constexpr u32 kNowhere = ~0u;

	bool before(u32 a, u32 b) const
	{
		return when_[a] != when_[b] ? when_[a] < when_[b] : a < b;
	}

	void put(u32 at, u32 who)
	{
		heap_[at] = who;
		pos_[who] = at;
	}

	void up(u32 at)
	{
		const u32 who = heap_[at];

		while (at && before(who, heap_[(at - 1) / 2])) {
			put(at, heap_[(at - 1) / 2]);
			at = (at - 1) / 2;
		}
		put(at, who);
	}

	void down(u32 at)
	{
		const u32 who = heap_[at];
		const auto n = static_cast<u32>(heap_.size());

		for (;;) {
			u32 child = 2 * at + 1;

			if (child + 1 < n &&
			    before(heap_[child + 1], heap_[child]))
				child++;
			if (child >= n || !before(heap_[child], who))
				break;
			put(at, heap_[child]);
			at = child;
		}
		put(at, who);
	}

	void remove(u32 at)
	{
		const u32 last = heap_.back();

		pos_[heap_[at]] = kNowhere;
		heap_.pop_back();
		if (at == heap_.size())
			return;
		put(at, last);
		up(at);
		down(pos_[last]);
	}

	std::vector<u64> when_; // by owner
	std::vector<u32> pos_;	// in @heap_, by owner
	std::vector<u32> heap_; // owners
};

// @Event: any movable type. Not thread-safe.
template <typename Event> class Time
{
public:
	// @start: ns, not 0; @owners: number of owners of alarms.
	explicit Time(u64 start, u32 owners = 0) : alarms_(owners), now_(start)
	{
	}

	u64 now() const { return now_; }

	// Schedules @what at @when, or now if that time is over.
	void at(u64 when, Event what)
	{
		u32 slot;

		if (free_.empty()) {
			slot = static_cast<u32>(slots_.size());
			slots_.push_back(std::move(what));
		} else {
			slot = free_.back();
			free_.pop_back();
			slots_[slot] = std::move(what);
		}
		heap_.push_back({when, seq_++, slot});
		std::push_heap(heap_.begin(), heap_.end());
	}

	// Sets the alarm of @who to exactly @when; MRC_NEVER: no alarm.
	void alarm(u32 who, u64 when) { alarms_.set(who, when); }

	// Number of scheduled events.
	std::size_t events() const { return heap_.size(); }

	// The time of the next event or alarm, MRC_NEVER if there is none. It
	// may be in the past if it is overdue.
	u64 next() const { return std::min(next_event(), alarms_.next()); }

	// Runs the next event or alarm, if it is due by @until: event(Event) or
	// alarm(who) is called at its time. Returns false if there is none. An
	// alarm that fires is unset.
	template <typename OnEvent, typename OnAlarm>
	bool step(u64 until, OnEvent &&event, OnAlarm &&alarm)
	{
		const u64 due = next();

		if (due == MRC_NEVER || due > until)
			return false;
		now_ = std::max(now_, due);
		if (alarms_.next() < next_event()) {
			const u32 who = alarms_.first();

			alarms_.set(who, MRC_NEVER);
			alarm(who);
		} else {
			event(take());
		}
		return true;
	}

	// Moves to @to; nothing may be due before.
	void pass(u64 to) { now_ = std::max(now_, to); }

private:
	// Elements of the heap are small, whatever the size of events.
	struct Key {
		u64 at;
		u64 seq;
		u32 slot;
		bool operator<(const Key &o) const // for a max-heap
		{
			return at != o.at ? at > o.at : seq > o.seq;
		}
	};

	u64 next_event() const
	{
		return heap_.empty() ? MRC_NEVER : heap_.front().at;
	}

	Event take()
	{
		const u32 slot = heap_.front().slot;

		std::pop_heap(heap_.begin(), heap_.end());
		heap_.pop_back();
		free_.push_back(slot);
		return std::move(slots_[slot]);
	}

	std::vector<Key> heap_;
	std::vector<Event> slots_;
	std::vector<u32> free_; // slots without an event
	Alarms alarms_;
	u64 now_;
	u64 seq_ = 0;
};

} // namespace mrc_model
