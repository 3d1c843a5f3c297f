// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The queue in front of a port of a switch: first in, first out; marks, trims
// or drops.
#pragma once

#include <algorithm>
#include <vector>

#include "model/link.hpp"

namespace mrc_model
{

// What one byte takes, and so the rate: 80 ps = 100 Gbit/s. Integers, so that
// every machine has the same times.
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
	u32 limit = 250000; // bytes that fit in, with those being sent
	bool ecn = true;    // packets are marked by how many bytes they find:
	u32 mark_from = 15000; // none up to here ...
	u32 mark_to = 60000;   // ... all from here, linear in between
	bool trim = false;     // what does not fit is trimmed if it may be
};

// It needs no events of its own: who asks says what time it is, which never
// goes back, and what has left by then is forgotten.
class Queue
{
public:
	explicit Queue(const QueueCfg &cfg) : cfg_(cfg) {}

	enum class Fate { Sent, Trimmed, Dropped };

	// @p, of @size bytes, comes at @now. Unless it is dropped it has left
	// by *@at; trimmed ones pass all others and take no time. Draws one
	// number if packets are marked and this one is let in.
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

	// Bytes that wait or are being sent: a packet keeps its room until it
	// has left as a whole.
	u32 backlog(u64 now)
	{
		advance(now);
		return backlog_;
	}

	// Average of the backlog since reset(), bytes.
	double average(u64 now)
	{
		advance(now);
		return now > since_ ? area_ / static_cast<double>(now - since_)
				    : 0;
	}

	// Counts anew.
	void reset(u64 now)
	{
		advance(now);
		sent = marked = trimmed = dropped = 0;
		most = 0;
		area_ = 0;
		since_ = now;
	}

	// Packets that came, and what became of them; the most bytes there
	// were.
	u64 sent = 0, marked = 0, trimmed = 0, dropped = 0;
	u32 most = 0;

private:
	static constexpr u32 kTrimmed = 24; // bytes that a trimmed one keeps

	struct Leaving {
		u64 at;
		u32 size;
	};

	// Drawn even where it is certain: the luck of later ones must not
	// depend on that.
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
	u64 since_ = 0;	  // ... and from here
	double area_ = 0; // of the backlog, bytes * ns
};

} // namespace mrc_model
