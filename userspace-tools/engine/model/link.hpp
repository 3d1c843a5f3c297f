// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What becomes of packets between two hosts: when they arrive, and whether.
//
// Each piece does one thing, so that a simulation can put something of its own
// in between. All times are ns. Randomness comes from the caller, and only what
// is said here draws from it, in this order.
#pragma once

#include <algorithm>
#include <vector>

#include "model/packet.hpp"
#include "model/rng.hpp"

namespace mrc_model
{

// One packet after the other: a transmitter, or whoever serves a queue.
class Line
{
public:
	// When a packet that is there at @at and takes @ns has been dealt with.
	u64 take(u64 at, u64 ns)
	{
		free_ = std::max(free_, at) + ns;
		return free_;
	}

	// When the last one will have been.
	u64 free() const { return free_; }

private:
	u64 free_ = 0;
};

// Stands still now and then, as a queue does whose processor is busy elsewhere.
class Pauses
{
public:
	// From @start on it runs for up to 2 @runs, then stands for up to
	// @stands, and so on; neither is 0.
	Pauses(u64 start, u64 runs, u64 stands)
		: runs_(runs), stands_(stands), to_(start)
	{
	}

	// The first instant from @at on at which it runs; @at never goes back.
	// Draws two numbers for each time that it has stood still.
	u64 after(u64 at, Rng &rng)
	{
		while (to_ <= at) {
			from_ = to_ + rng.below(2 * runs_);
			to_ = from_ + rng.below(stands_);
		}
		return at >= from_ ? to_ : at;
	}

private:
	u64 runs_, stands_;
	u64 from_ = 0;
	u64 to_;
};

// How long packets of one plane are under way, one way.
struct Way {
	u64 delay = 0;
	u64 jitter = 0;	    // on top, uniform below this
	u32 detour_ppm = 0; // so many of them come later, and out of order ...
	u64 detour = 0;	    // ... by that much at least
	u64 detour_max = 0; // ... and at most, where that is more

	u64 time(Rng &rng) const
	{
		u64 t = delay;

		if (detour_ppm && rng.chance(detour_ppm))
			t += detour < detour_max ? rng.range(detour, detour_max)
						 : detour;
		if (jitter)
			t += rng.below(jitter);
		return t;
	}
};

// What happens to packets of one direction, ppm of those that it can happen to.
struct FaultRates {
	u32 loss = 0;		 // lost: data and probes
	u32 feedback_loss = 0;	 // lost: all others
	bool lose_acks = true;	 // else transport ACKs are no part of these
	bool lose_naks = true;	 // else NAKs are none
	u32 dup = 0;		 // arrive twice
	u64 dup_within = 200000; // the copy later by less than this, ns
	u32 ce = 0;		 // marked: data and probes
	u32 trim = 0;		 // find a full queue: data, trimmed or lost
	u32 rogue_trim = 0;	 // trimmed though they must not be: data
};

template <typename P> bool is_data(const P &p)
{
	return mrc_op_info(p.opcode())->flags & MRC_OPF_DATA;
}

// Feedback and its like, not data and not probes.
template <typename P> bool is_control(const P &p)
{
	return mrc_op_info(p.opcode())->flags & MRC_OPF_CONTROL;
}

class Faults
{
public:
	Faults() = default;
	explicit Faults(const FaultRates &rates) : rates_(rates) {}

	// Planes that swallow everything, bit N = port N, and entropies of
	// single paths that do.
	u32 cut_ports = 0;
	std::vector<u32> cut_paths;

	// From now on nothing happens to any packet, and no number is drawn.
	void end()
	{
		rates_ = {};
		ended_ = true;
		cut_ports = 0;
		cut_paths.clear();
	}

	// Draws one number, none where the answer does not depend on it.
	template <typename P> bool lost(const P &p, Rng &rng) const
	{
		if (cut_ports >> p.port & 1 ||
		    std::find(cut_paths.begin(), cut_paths.end(), p.entropy) !=
			    cut_paths.end())
			return true;
		if (ended_)
			return false;
		if (!is_control(p))
			return rng.chance(rates_.loss);
		if (p.opcode() == MRC_OP_ACK &&
		    !(p.nak() ? rates_.lose_naks : rates_.lose_acks))
			return false;
		return rng.chance(rates_.feedback_loss);
	}

	// Congestion on the way. Draws one number, none for feedback.
	template <typename P> void mark(P &p, Rng &rng) const
	{
		if (!ended_ && !is_control(p) && rng.chance(rates_.ce))
			p.ce = true;
	}

	// A full queue: false = there was no room for @p, which must not be
	// trimmed. Draws up to four numbers, none but for data. Of what is
	// trimmed the BTH is left, or it and up to 12 bytes.
	template <typename P> bool trim(P &p, Rng &rng) const
	{
		if (ended_ || !is_data(p))
			return true;
		if (rng.chance(rates_.trim)) {
			if (!p.trimmable())
				return false;
		} else if (!rates_.rogue_trim ||
			   !rng.chance(rates_.rogue_trim)) {
			return true;
		}
		p.cut(rng.pick({12u, 16u, 20u, 24u}));
		p.trim = rng.chance(500000) ? MRC_TRIM_TRIMMED
					    : MRC_TRIM_LASTHOP;
		return true;
	}

	// Does it arrive twice? Draws one number, two then.
	bool twice(Rng &rng, u64 *later) const
	{
		if (ended_ || !rng.chance(rates_.dup))
			return false;
		*later = rng.below(rates_.dup_within);
		return true;
	}

private:
	FaultRates rates_;
	bool ended_ = false;
};

} // namespace mrc_model
