// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The queue of a switch port: first in, first out. It marks, trims or drops
// packets.
#pragma once

#include <algorithm>
#include <vector>

#include "model/link.hpp"

namespace mrc_model
{

// The time for one byte, which gives the rate: 80 ps = 100 Gbit/s. Integers, so
// that all machines compute the same times.
class Rate
{
public:
	constexpr explicit Rate(u32 ps_per_byte) : ps_(ps_per_byte) {}

	constexpr u64 ns(u64 bytes) const { return bytes * ps_ / 1000; }

private:
	u32 ps_;
};

struct QueueCfg {
	Rate rate{80};
	u32 limit = 250000; // capacity in bytes, including those being sent
	bool ecn = true;    // mark packets by the queue length that they find:
	u32 mark_from = 15000; // none up to here ...
	u32 mark_to = 60000;   // ... all from here, linear in between
	bool trim = false; // packets that do not fit are trimmed if they may be
};

// The queue needs no events of its own: callers pass the time, which must not
// decrease, and packets that have left by then are removed.
class Queue
{
public:
	explicit Queue(const QueueCfg &cfg) : cfg_(cfg) {}

	enum class Fate { Sent, Trimmed, Dropped };

	// A packet @p of @size bytes arrives at @now. Unless it is dropped, it
	// leaves by *@at. Trimmed packets overtake all others and take no time.
	// Draws one number if marking is on and the packet is admitted.
	template <typename P>
	Fate offer(P &p, u32 size, u64 now, Rng &rng, u64 *at)
	{
		advance(now);
		sent++;
		if (backlog_ + size > cfg_.limit) {
			if (!cfg_.trim || !p.trimmable() || !is_data(p)) {
				dropped++;
				return Fate::Dropped;
			}
			trimmed++;
			p.cut(kTrimmed);
			p.trim = MRC_TRIM_LASTHOP;
			*at = now;
			return Fate::Trimmed;
		}
		if (cfg_.ecn && marks(rng)) {
			p.ce = true;
			marked++;
		}
		idle_at_ = std::max(idle_at_, now) + cfg_.rate.ns(size);
		*at = idle_at_;
		push({idle_at_, size});
		return Fate::Sent;
	}

	// Bytes that wait or are being sent: a packet counts until it has left
	// completely.
	u32 backlog(u64 now)
	{
		advance(now);
		return backlog_;
	}

	// Average of the backlog since reset(), in bytes.
	double average(u64 now)
	{
		advance(now);
		return now > since_ ? area_ / static_cast<double>(now - since_)
				    : 0;
	}

	// Restarts counting.
	void reset(u64 now)
	{
		advance(now);
		sent = marked = trimmed = dropped = 0;
		most = 0;
		area_ = 0;
		since_ = now;
	}

	// Packets that arrived (@sent), and how many of them were marked,
	// trimmed and dropped; the largest backlog in bytes.
	u64 sent = 0, marked = 0, trimmed = 0, dropped = 0;
	u32 most = 0;

private:
	static constexpr u32 kTrimmed = 24; // bytes that a trimmed packet keeps

	struct Leaving {
		u64 at;
		u32 size;
	};

	// Draws a number even if the result is certain: the numbers for later
	// packets must not depend on that.
	bool marks(Rng &rng) const
	{
		const u64 lot = rng.below(1 << 20);

		if (backlog_ <= cfg_.mark_from)
			return false;
		if (backlog_ >= cfg_.mark_to)
			return true;
		return lot * (cfg_.mark_to - cfg_.mark_from) <
		       (u64)(backlog_ - cfg_.mark_from) << 20;
	}

	void count(u64 to)
	{
		if (to <= at_)
			return;
		area_ += static_cast<double>(backlog_) *
			 static_cast<double>(to - at_);
		at_ = to;
	}

	void advance(u64 now)
	{
		while (n_) {
			const Leaving &l = ring_[first_];

			if (l.at > now)
				break;
			count(l.at);
			backlog_ -= l.size;
			first_ = (first_ + 1) & (ring_.size() - 1);
			n_--;
		}
		count(now);
	}

	void push(Leaving l)
	{
		if (n_ == ring_.size()) {
			std::rotate(ring_.begin(),
				    ring_.begin() +
					    static_cast<std::ptrdiff_t>(first_),
				    ring_.end());
			first_ = 0;
			ring_.resize(std::max<std::size_t>(8, 2 * n_));
		}
		ring_[(first_ + n_) & (ring_.size() - 1)] = l;
		n_++;
		backlog_ += l.size;
		most = std::max(most, backlog_);
	}

	QueueCfg cfg_;
	u32 backlog_ = 0;
	u64 idle_at_ = 0;
	std::vector<Leaving> ring_; // a power of two of them, or none yet
	std::size_t first_ = 0, n_ = 0;
	u64 at_ = 0;	  // @area_ counts up to here
	u64 since_ = 0;	  // @area_ counts from here
	double area_ = 0; // of the backlog, bytes * ns
};

} // namespace mrc_model
