/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: the pending events. A ring of buckets of equal width covers the near
 * future, a heap the rest. A bucket is sorted when its time comes. Events of
 * the same time are ordered by their keys, never by the order in which they
 * were added.
 */
#pragma once

#include <algorithm>
#include <compare>
#include <queue>
#include <vector>

#include "mrc_base.h"

namespace mrcsim
{
struct Event {
	u64 at;	 /* ps */
	u64 key; /* what happens, and to whom */

	/* NOLINTNEXTLINE(modernize-use-nullptr): a false alarm */
	auto operator<=>(const Event &) const = default;
};

class EventList
{
public:
	/* Buckets of 2^@shift ps. The best width has about a hundred events. */
	explicit EventList(unsigned int shift) : shift_(shift) {}

	/* @at is not before the event that pop() returned last. */
	void push(u64 at, u64 key)
	{
		const u64 bucket = at >> shift_;

		pending_++;
		if (bucket <= current_)
			insert({at, key});
		else if (bucket - current_ < buckets)
			append(bucket, {at, key});
		else
			far_.push({at, key});
	}

	/* False if there is no event before @bound. */
	bool pop(const Event &bound, Event &e)
	{
		while (open_.empty())
			if (!advance(bound.at))
				return false;
		if (open_.back() >= bound)
			return false;
		e = open_.back();
		open_.pop_back();
		pending_--;
		return true;
	}
	bool pop(Event &e) { return pop({~0ull, ~0ull}, e); }

	/* The next event is not before this time, ps; ~0: there is none. */
	u64 earliest() const
	{
		if (!open_.empty())
			return open_.back().at;
		if (!pending_)
			return ~0ull;
		return next_opening() << shift_;
	}

	/*
	 * The @n-th event after the one that pop() returned, or null if it is
	 * not known yet; others may be added before it.
	 */
	const Event *ahead(std::size_t n) const
	{
		return open_.size() > n ? &open_[open_.size() - 1 - n]
					: nullptr;
	}

	u64 pending() const { return pending_; }

	/* Bytes that are allocated. */
	u64 memory() const
	{
		u64 events = open_.capacity() + far_.capacity();

		for (const std::vector<Event> &v : pool_)
			events += v.capacity();
		return events * sizeof(Event) + ring_.capacity() * sizeof(u32) +
		       pool_.capacity() * sizeof(std::vector<Event>) +
		       free_.capacity() * sizeof(u32);
	}

private:
	static constexpr u64 buckets = 8192; /* a power of two */
	static constexpr u32 none = ~0u;
	static constexpr std::size_t most_kept = 512; /* events */

	struct Later {
		bool operator()(const Event &a, const Event &b) const
		{
			return a.at != b.at ? a.at > b.at : a.key > b.key;
		}
	};

	struct Far : std::priority_queue<Event, std::vector<Event>, Later> {
		std::size_t capacity() const { return c.capacity(); }
	};

	/* The open bucket is sorted, the next event at its end. */
	void insert(const Event &e)
	{
		open_.insert(std::lower_bound(open_.begin(), open_.end(), e,
					      Later()),
			     e);
	}

	/* Vectors are used again, the last one first: it is in the caches. */
	void append(u64 bucket, const Event &e)
	{
		const u64 slot = bucket & (buckets - 1);

		if (ring_[slot] == none) {
			if (free_.empty()) {
				free_.push_back(static_cast<u32>(pool_.size()));
				pool_.emplace_back();
			}
			ring_[slot] = free_.back();
			free_.pop_back();
			used_[slot / 64] |= 1ull << slot % 64;
			level_[slot / 4096] |= 1ull << slot / 64 % 64;
		}
		pool_[ring_[slot]].push_back(e);
	}

	/* The first bucket after @from that has events; @from if none has. */
	u64 next_bucket(u64 from) const
	{
		const u64 first = (from + 1) & (buckets - 1);

		for (u64 n = 0; n <= buckets / 64;) {
			const u64 word = (first / 64 + n) % (buckets / 64);
			u64 bits = used_[word];

			if (n == 0)
				bits &= ~0ull << first % 64;
			if (bits) {
				const u64 slot =
					word * 64 +
					static_cast<u64>(__builtin_ctzll(bits));

				return from + 1 +
				       ((slot - first) & (buckets - 1));
			}
			/* Words without events are passed over 64 at a time. */
			if (word % 64 == 0 && !level_[word / 64] &&
			    n + 64 <= buckets / 64)
				n += 64;
			else
				n++;
		}
		return from;
	}

	void migrate()
	{
		while (!far_.empty() &&
		       (far_.top().at >> shift_) - current_ < buckets) {
			const Event e = far_.top();

			far_.pop();
			if (e.at >> shift_ == current_)
				insert(e);
			else
				append(e.at >> shift_, e);
		}
	}

	/* The number of the next bucket that has events; some are pending. */
	u64 next_opening() const
	{
		const u64 next = next_bucket(current_);

		return next == current_ ? far_.top().at >> shift_ : next;
	}

	/*
	 * Opens the next bucket. False if nothing is pending or the bucket
	 * begins after @limit: events before it may still be added, and these
	 * belong into buckets of their own.
	 */
	bool advance(u64 limit)
	{
		if (!pending_)
			return false;

		const u64 next = next_opening();

		if (next > limit >> shift_)
			return false;
		if (next - current_ >= buckets) {
			current_ = next;
			migrate();
			return true;
		}
		const u64 slot = next & (buckets - 1);
		const u32 which = ring_[slot];

		current_ = next;
		ring_[slot] = none;
		used_[slot / 64] &= ~(1ull << slot % 64);
		if (!used_[slot / 64])
			level_[slot / 4096] &= ~(1ull << slot / 64 % 64);
		open_.swap(pool_[which]);
		/* Bursts must not make one vector after the other large. */
		if (pool_[which].capacity() > most_kept)
			std::vector<Event>().swap(pool_[which]);
		free_.push_back(which);
		std::sort(open_.begin(), open_.end(), Later());
		migrate();
		return true;
	}

	unsigned int shift_;
	u64 current_ = 0; /* number of the open bucket */
	u64 pending_ = 0;
	std::vector<Event> open_;
	std::vector<u32> ring_ = std::vector<u32>(buckets, none);
	u64 used_[buckets / 64] = {};	 /* which slots have a vector */
	u64 level_[buckets / 4096] = {}; /* which words of @used_ are not 0 */
	std::vector<std::vector<Event>> pool_;
	std::vector<u32> free_;
	Far far_;
};
} // namespace mrcsim
