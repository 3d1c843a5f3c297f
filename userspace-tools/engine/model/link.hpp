// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The fate of packets between two hosts: when they arrive, and whether they do.
//
// Each class does one thing, so that a simulation can insert its own steps. All
// times are in ns. Random numbers come from the caller. Only the functions
// documented here draw them, in this order.
#pragma once

#include <algorithm>
#include <vector>

#include "model/packet.hpp"
#include "model/rng.hpp"

namespace mrc_model
{

// Handles one packet after the other: a transmitter, or the server of a queue.
class Line
{
public:
	// Returns when a packet that arrives at @at and takes @ns is finished.
	u64 take(u64 at, u64 ns)
	{
		free_ = std::max(free_, at) + ns;
		return free_;
	}

	// Returns when the last packet is finished.
	u64 free() const { return free_; }

private:
	u64 free_ = 0;
};

// Pauses now and then, like a queue whose processor is busy with other work.
class Pauses
{
public:
	// From @start on it runs for up to 2 @runs, then pauses for up to
	// @stands, and so on. Neither may be 0.
	Pauses(u64 start, u64 runs, u64 stands)
		: runs_(runs), stands_(stands), to_(start)
	{
	}

	// Returns the first time from @at on at which it runs; @at must not
	// decrease. Draws two numbers for each pause.
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

// The one-way delay of packets of one plane.
struct Way {
	u64 delay = 0;
	u64 jitter = 0;	    // added, uniform below this
	u32 detour_ppm = 0; // this share arrives later, and out of order ...
	u64 detour = 0;	    // ... by at least this much
	u64 detour_max = 0; // ... and at most this much, if larger

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

// Faults of packets of one direction, in ppm of the packets that they apply to.
struct FaultRates {
	u32 loss = 0;		 // lost: data and probes
	u32 feedback_loss = 0;	 // lost: all others
	bool lose_acks = true;	 // false: transport ACKs are not lost
	bool lose_naks = true;	 // false: NAKs are not lost
	u32 dup = 0;		 // arrive twice
	u64 dup_within = 200000; // the copy arrives later by less than this, ns
	u32 ce = 0;		 // marked: data and probes
	u32 trim = 0;		 // meet a full queue: data, trimmed or lost
	u32 rogue_trim = 0;	 // trimmed against the rules: data
};

template <typename P> bool is_data(const P &p)
{
	return mrc_op_info(p.opcode())->flags & MRC_OPF_DATA;
}

// Feedback and other control packets, no data and no probes.
template <typename P> bool is_control(const P &p)
{
	return mrc_op_info(p.opcode())->flags & MRC_OPF_CONTROL;
}

class Faults
{
public:
	Faults() = default;
	explicit Faults(const FaultRates &rates) : rates_(rates) {}

	// Planes that drop all packets, bit N = port N, and the entropies of
	// single paths that do.
	u32 cut_ports = 0;
	std::vector<u32> cut_paths;

	// From now on no packet is affected, and no number is drawn.
	void end()
	{
		rates_ = {};
		ended_ = true;
		cut_ports = 0;
		cut_paths.clear();
	}

	// Draws one number, or none if the result does not depend on it.
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

	// Marks packets for congestion on the way. Draws one number, none for
	// feedback.
	template <typename P> void mark(P &p, Rng &rng) const
	{
		if (!ended_ && !is_control(p) && rng.chance(rates_.ce))
			p.ce = true;
	}

	// A full queue. Returns false if there was no room for @p and it must
	// not be trimmed. Draws up to four numbers, for data only. A trimmed
	// packet keeps the BTH, and up to 12 more bytes.
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

	// Whether the packet arrives twice. Draws one number, or two if it
	// does.
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
