// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A schedule: everything that is decided before virtual time starts to run.
#pragma once

#include <vector>

#include "prop_util.hpp"

namespace prop
{

struct PlanMsg {
	bool imm = false;
	bool se = false;
	bool bad_key = false; // the receiver refuses its rkey
	u32 len = 0;
	u64 post_at = 0; // not before, ns
};

enum class Fault {
	PortDown,      // a local link goes down and comes back, noticed at once
	PortBlackhole, // a plane swallows what one side sends, unnoticed
	EvBlackhole,   // one path swallows what one side sends
	EvDenied,      // a controller denies one EV
	PeerStatus,    // a port status update says that the peer's port is down
};

// Something that a responder changes at run time.
struct Change {
	enum Kind { Mpr, Penalty } kind = Mpr;
	u64 at = 0;
	int side = 0;
	u8 value = 0;
	bool restore = false;
};

struct Outage {
	Fault kind = Fault::PortDown;
	int side = 0;
	u8 port = 1;
	u16 ev = 0;
	u64 from = 0;
	u64 to = 0;
	bool tell_peer = false; // PortDown: the peer hears of it
};

// Deliberate misbehaviour of the simulation itself, to prove that the checks
// notice.
enum class Sabotage {
	None,
	PlaceDuplicate, // the shell writes a duplicate to memory
	DropPlacement,	// the shell forgets to copy one packet
	WrongMpr,	// a SACK offers less than the responder has
	SilentRefusal,	// a NACK for lack of resources is not sent
	RenumberDup,	// the network turns a duplicate into a new PSN
	EarlyImm,	// a receive completion overtakes a gap
	CorruptSack,	// a SACK claims a PSN that is still missing
	LoseCompletion, // the shell loses a completion
	ResendAsNew,	// a retransmission goes without its rtx bit
	EarlyPlaced,	// the shell reports a placement that goes on
	ForgetBurst,	// what waited for the end of a burst is not sent
	NeverDeliver,	// the network swallows everything for ever
};

struct Plan {
	u64 seed = 0;
	u64 start = 1000000;

	// QP attributes, the same at both ends
	u32 pmtu = 1024;
	u16 mpr = 8;
	u16 mpr_max = 8; // Dynamic MPR
	bool dynamic_mpr = false;
	u32 sq_depth = 16;
	u16 max_wimm = 128;	 // of the requester
	u16 max_wimm_dest = 128; // of the responder, no less
	u32 window = 0;
	bool bound_pkts = false; // the window respects the range of PSNs
	u64 line_rate = 0;
	bool ignore_pen = false;
	bool svc_time = false;
	const char *cc = "none";
	bool use_ts = true;
	bool trim_nack[2] = {false, false}; // of each direction
	bool ipv6 = true;
	bool resp_paths = true; // the responder picks reverse EVs
	u16 n_evs = 16;
	u8 set_mode = 0; // enum mrc_ev_fmt_mode: a profile's EVs; 0 = AUTO
	u8 n_ports = 2;
	u64 rto = 4194304;
	u8 linear_cnt = 3;
	u8 exp_cnt = MRC_RETRY_EXP_INFINITE;
	u64 base_rtt = 100000;
	u32 psn[2] = {0, 0}; // first PSN of each direction
	std::vector<PlanMsg> msgs[2];
	u32 regions = 0;	      // target buffers, 0 = a few
	u32 receives[2] = {~0u, ~0u}; // WQEs posted at the receiver of dir

	// Network; index = sending side
	u32 loss_ppm[2] = {0, 0};    // data and probes
	u32 fb_loss_ppm[2] = {0, 0}; // feedback
	bool lose_acks = true;	     // transport ACKs may be lost, too
	bool lose_naks = false;
	u32 dup_ppm = 0;
	u32 ce_ppm = 0;
	u32 trim_ppm = 0;
	u32 rogue_trim_ppm = 0; // trims of what must not be trimmed
	u32 refuse_ppm = 0;	// the receiver has no resources, no stash
	u32 burst_ppm = 0;	// what may wait for the end of a burst does
	u32 place_ppm = 0;	// payload is placed while other packets are taken,
	u64 place_time = 0;	// which takes up to so long, ns
	u32 odd_nack_ppm = 0;	// such a NACK gets another recoverable reason
	u64 delay[MRC_MAX_PORTS + 1] = {};
	u64 jitter[MRC_MAX_PORTS + 1] = {};
	u64 gap = 0; // ns between packets of one sender, 0 = bursts
	std::vector<Outage> outages;
	std::vector<Change> changes;
	u64 calm_at = MRC_NEVER; // from here on the network is perfect

	u32 attack_ppm = 0; // forged packets per genuine arrival
	Sabotage sabotage = Sabotage::None;
	u64 sabotage_after = 0; // eligible events to let pass

	// What engines of a side are made with, but for what their simulation
	// adds: seeds, counters, connections between them.
	mrc_paths_cfg paths_cfg(int side) const;
	mrc_cc_cfg cc_cfg(int side) const;
	mrc_req_cfg req_cfg(int side) const;
	mrc_resp_cfg resp_cfg(int side) const;
	u32 total_packets(int dir) const;
	u32 window_max() const
	{
		return (dynamic_mpr ? mpr_max : mpr) * (u32)MRC_MPR_UNIT;
	}
};

// A schedule that must end with everything delivered.
Plan random_plan(u64 seed);

// A schedule in which one message is refused.
Plan error_plan(u64 seed);

// A schedule with a forger in the network; only invariants hold.
Plan attack_plan(u64 seed);

} // namespace prop
