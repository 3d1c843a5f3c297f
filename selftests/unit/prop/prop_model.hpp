// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The reference model of one direction: what must be on the wire, in memory
// and in the completion queues, derived from the plan and from the packets
// that the network delivered, never from the engine's own state.
#pragma once

#include <vector>

#include "prop_plan.hpp"

namespace prop
{

constexpr int kPending = -1;

struct Message {
	PlanMsg plan;
	u64 va = 0;
	std::size_t where = 0; // offset in the receiver's memory
	std::size_t region = 0;
	u32 rkey = 0;
	u32 imm = 0;
	u32 first = 0; // index of its first packet; index = PSN - first PSN
	u32 npkts = 0;
	u16 msn = 0;
	u16 rqmsn = 0;
	u32 slot = 0;
	int status = kPending;

	u32 last() const { return first + npkts - 1; }
};

class Direction
{
public:
	Direction(const Plan &plan, int dir, Verdict &verdict);

	// Sender.
	bool may_post(u64 now) const;
	u64 next_post_at() const;
	mrc_wr make_wr();
	void on_posted(int slot);
	// Returns false for a packet that must not have been sent.
	bool on_tx(const mrc_tx_desc &d, u64 now);
	void payload(const mrc_tx_desc &d, u8 *out) const;
	void on_feedback(const mrc_hdr &h);
	void on_reap(u32 slot, int status);
	// After reaping: completions that are due must have been given.
	void check_reaped();

	// Receiver. What the responder has to answer.
	enum class Rx { Place, Done, Duplicate, EarlyCopy, OutOfWindow, Unknown };
	// @refused: it cannot be taken, by a trim or for lack of resources.
	Rx on_rx(const mrc_hdr &h, bool refused);
	// The payload of a new packet is in place, if it has any.
	void received(const mrc_hdr &h);
	void change(const Change &c);
	void place(const mrc_hdr &h, const u8 *payload);
	u8 placement_syndrome(const mrc_hdr &h) const;
	u8 on_imm(const mrc_recv_msg &imm);
	void check_sack(const mrc_hdr &h);
	void check_ack(const mrc_hdr &h);
	void check_final();

	bool all_posted() const { return msgs.size() == plan_msgs.size(); }
	bool all_reaped() const { return reaped == plan_msgs.size(); }
	// Lowest packet index that is refused, none = ~0.
	u32 fail_index() const;
	u8 fail_syndrome() const;
	u32 psn_of(u32 index) const
	{
		return (first_psn + index) & MRC_PSN_MASK;
	}
	u32 index_of(u32 psn) const { return (psn - first_psn) & MRC_PSN_MASK; }
	bool shown(u32 index) const // the sender was told of its arrival
	{
		return index < told.size() && told[index];
	}

	const Plan &plan;
	const int dir;
	const std::vector<PlanMsg> &plan_msgs;
	std::vector<Message> msgs; // posted so far
	std::vector<u32> owner;	   // packet index -> message
	u32 packets_posted = 0;

	// Sender's knowledge
	u32 sent = 0;	   // packets sent for the first time
	u32 told_cum = 0;  // packets below the newest cack_psn seen
	u32 told_exec = 0; // packets below the newest transport ACK seen
	bool nak_seen = false;
	u32 wimm_out = 0;
	// Dynamic MPR: the range of the newest SACK and packets below its cack.
	u32 told_window;
	u32 told_window_cum = 0;
	std::size_t reaped = 0;
	u64 rtx = 0;
	std::vector<bool> told;

	// Receiver's truth
	std::vector<bool> got;
	std::vector<bool> placing; // arrived, payload not in place
	std::vector<u8> placements; // per packet index
	u32 cum = 0;		    // packets without gap
	u32 top = 0;		    // highest packet received + 1
	u64 nominal = 0;
	u32 imms = 0;
	u32 window; // PSNs of the range now
	u32 edge;   // packets below it were advertised
	u8 penalty = 0;
	bool restore = false;
	u32 last_ack = 0; // exec of the newest ACK sent
	bool nak_sent = false;
	std::vector<u8> memory;
	std::vector<u8> shadow; // what memory must be

private:
	u8 pattern(u32 msg, u32 off) const
	{
		return (u8)(salt_ + msg * 37 + off * 11 + (off >> 8) * 101);
	}
	void check_data(const mrc_hdr &h, u32 payload_len, const char *where);
	bool region_free(std::size_t region) const;

	Verdict &v_;
	u32 first_psn;
	u64 base_va_;
	u32 salt_;
	std::size_t stride_;
	std::size_t regions_;
	std::vector<u32> region_user_; // message + 1, 0 = free
	std::size_t next_region_ = 0;
	Rng rng_;
	u32 fail_ = ~0u;
	u8 fail_syn_ = 0;
};

} // namespace prop
