/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: a model of RoCE v2, to compare with. A reliable connection takes one
 * path, accepts packets in order only, and goes back to the first one that is
 * missing. DCQCN (Zhu et al., SIGCOMM 2015) sets its rate. There is no limit to
 * what is in flight. PFC is in pfc.cpp. Nothing of the engine is used.
 *
 * Rates are in bit/s and times in ps. PSNs count the packets of a queue pair,
 * and do not wrap around.
 */
#pragma once

#include "mrc_base.h"

#include "qp.hpp"

namespace mrcsim
{
/* Packet::opcode */
enum RoceOp : u8 { roce_data, roce_ack, roce_nak, roce_cnp };

/* Rate of a sender. */
class Dcqcn
{
public:
	explicit Dcqcn(u64 line, const DcqcnCfg &cfg = {})
		: cfg_(cfg), line_(line), rate_(line), target_(line)
	{
	}

	/* The rate at @now. Time must not go back. */
	u64 rate(u64 now);
	/* @bytes were sent. */
	void sent(u64 bytes, u64 now);
	/* The receiver has got packets with marks. */
	void cnp(u64 now);

private:
	static constexpr u32 one = 1 << 16; /* alpha = 1 */

	void advance(u64 now);
	void increase();

	DcqcnCfg cfg_;
	u64 line_, rate_, target_;
	u64 timer_at_ = 0; /* for the rate */
	u64 alpha_at_ = 0;
	u64 cut_at_ = 0; /* from here on the rate may be cut again */
	u64 bytes_ = 0;
	u32 by_time_ = 0, by_bytes_ = 0; /* increases since the last CNP */
	u32 alpha_ = one;
	bool slow_ = false; /* below the line rate */
};

/* A message that was posted. */
struct RoceMessage {
	u32 flow = 0;
	u32 bytes = 0;
	u32 first = 0; /* PSN */
	u32 packets = 0;
};

struct RoceSender {
	RoceSender(u64 line, const DcqcnCfg &cfg) : control(line, cfg) {}

	bool may_post() const { return count < send_slots; }
	void post(u32 flow, u32 bytes, u32 pmtu);
	/* The message that has packet @psn, which was posted. */
	const RoceMessage &message_of(u32 psn) const;
	/* The oldest message, if all of it has arrived, is removed. */
	bool reap(u32 &flow);

	u32 una = 0;  /* PSN: all before have arrived */
	u32 next = 0; /* to be sent */
	u32 sent = 0; /* behind the last one that was ever sent */
	u32 end = 0;  /* behind the last one that was posted */
	u32 head = 0, count = 0;
	RoceMessage message[send_slots];
	u64 next_at = 0;     /* when the rate allows the next packet */
	u64 timeout = ~0ull; /* when to go back for lack of an answer */
	Dcqcn control;
};

struct RoceReceiver {
	static constexpr u32 ack_every = 16; /* packets */

	u32 expected = 0;
	u32 unacked = 0;
	bool nak_sent = false; /* for the expected packet */
	u64 cnp_at = 0;	       /* none before */
};

/* Both ends of a queue pair. Each is changed by the partition of its host. */
struct RoceQp {
	RoceQp(u64 line, const DcqcnCfg &cfg) : tx(line, cfg) {}

	RoceSender tx;
	alignas(64) RoceReceiver rx;
};
} // namespace mrcsim
