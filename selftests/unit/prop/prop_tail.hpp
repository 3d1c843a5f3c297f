// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Tails: lone messages and the ends of bursts over planes of known delay, where
// no later packet shows what was lost. MRC 1.0 §9.3, §9.5.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "prop_sim.hpp"

namespace prop
{

// What the host's timers add to a repair, §9.5.
constexpr u64 kTailFloor = 200000;

// What is lost of one message.
struct TailLoss {
	enum What {
		Nothing,
		Packets,
		Ack,	    // the transport ACK of its end, once
		Sack,	    // one of the SACKs that it draws
		Feedback,   // all that its first copies draw
		Request,    // of a READ, whose answer Packets and the others
		RequestAck, // concern
	} what = Nothing;
	u32 first = 0;	// Packets: within the message
	u32 last = 0;	// likewise, inclusive
	u32 copies = 1; // of each of these
	u32 probes = 0; // and so many probes that ask about them
	u32 nth = 0;	// Sack
};

// Planes that swallow everything while their links stay up.
struct TailSilence {
	u8 port = 0;   // 0 = all
	u32 sides = 3; // bit = sending side
	u64 from = 0;
	u64 to = MRC_NEVER;
};

// Deliberate mistakes of the network that the checks must notice.
enum class TailSabotage {
	None,
	Deaf,	   // a message with a loss gets no probe through
	Duplicate, // one packet arrives twice
	Lose,	   // one packet is lost unasked
	AllPlanes, // are silent together with the one
	Return,	   // the peer that is gone comes back
};

struct TailPlan {
	Plan net;
	std::vector<TailLoss> losses; // one for each message of direction 0
	u32 warm = 0;		      // messages before the first loss
	u64 delay[2][MRC_MAX_PORTS + 1] = {}; // by sending side and port
	u64 serialize = 0;		      // ns per packet of a plane
	u64 rtt = 0;			      // the longest round trip
	u64 detour = 0;			      // that packets take ...
	u32 direct_ppm = 0;		      // ... but for these
	u64 jitter = 0;
	bool uneven_back = false; // the two also concern feedback
	u32 loss_ppm = 0;	  // of all packets of both sides
	std::vector<TailSilence> silences;
	TailSabotage sabotage = TailSabotage::None;

	u32 packets(std::size_t msg) const
	{
		return std::max(1u, (net.msgs[0][msg].len + net.pmtu - 1) /
					    net.pmtu);
	}
	// For failures: what the network is like.
	std::string describe() const;
};

TailPlan tail_plan(u64 seed);	     // kind tail
TailPlan tail_again_plan(u64 seed);  // tailagain
TailPlan tail_order_plan(u64 seed);  // tailorder
TailPlan tail_silent_plan(u64 seed); // tailsilent
TailPlan tail_gone_plan(u64 seed);   // tailgone
TailPlan tail_read_plan(u64 seed);   // tailread: messages are READs

// How long packets are under way.
class TailNet
{
public:
	explicit TailNet(const TailPlan &plan);
	u64 delay(int from, const Packet &p, u64 now);

private:
	const u64 serialize_;
	Rng rng_;
	mrc_model::Line line_[2][MRC_MAX_PORTS + 1];
	mrc_model::Way way_[2][MRC_MAX_PORTS + 1];
};

// One run of a plan.
class TailRun
{
public:
	TailRun(const TailPlan &plan, bool trace);
	TailRun(const TailRun &) = delete;

	// Until all is delivered, or the sender's QP has failed.
	void run();
	void fail(std::size_t msg, const std::string &what);
	bool failed() const { return !what_.empty(); }
	const std::string &what() const { return what_; }
	u64 count(int side, mrc_counter id) const
	{
		return sim.ep[side].count(id);
	}

	struct Probe {
		u64 at;
		bool path; // asks about an EV that is assumed bad
	};

	const TailPlan plan;
	Sim sim;
	std::vector<u64> took; // ns from post to completion, by message
	std::vector<u64> done; // when
	std::vector<Probe> probes;
	u64 lost = 0;	       // copies of data packets
	u64 lost_acks = 0;     // transport ACKs
	u64 lost_feedback = 0; // these included

private:
	bool send(int from, Packet &p, u64 &delay);
	bool drop(int from, const Packet &p);
	bool drop_data(const Packet &p);
	bool drop_feedback(const Packet &p);
	void look(int side, const mrc_tx_desc &d);
	void collect();
	// The message that packet @index belongs to; the one under way.
	std::size_t owner(u32 index) const;
	const TailLoss *under_way(std::size_t *msg) const;

	TailNet net_;
	Rng dice_;
	std::string what_;
	std::vector<u32> first_;  // packet index of each message, and the end
	std::vector<u8> copies_;  // of each packet
	std::vector<u8> lost_by_; // port that lost its newest copy, 0 = none
	bool path_probe_ = false;
	// Of the message that has a loss.
	std::size_t current_ = ~(std::size_t)0;
	bool sabotaged_ = false;
	u32 sacks_ = 0;
	u32 probes_lost_ = 0;
	bool ack_lost_ = false;
	u64 complete_at_ = 0;
};

// What messages take where nothing is lost, by their packets: @took by message,
// of a queue pair that has measured its round trip.
std::map<u32, u64> tail_base(const TailPlan &p, const std::vector<u64> &took);

// The first message that took longer than a repair of its loss may, or ~0, and
// why.
std::size_t tail_late(const TailPlan &p, const std::vector<u64> &took,
		      const std::map<u32, u64> &base, std::string &why);

TailPlan tail_without_losses(const TailPlan &p);

std::string run_tail_read(u64 seed, bool trace);

// Run a schedule of one of the kinds above; empty on success.
std::string run_tail(const std::string &kind, u64 seed, bool trace,
		     TailSabotage sabotage = TailSabotage::None);

} // namespace prop
