/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Congestion control behind a small ops struct, selected by name.
 *
 * The requester keeps the exact sum of nominal sizes in flight
 * (struct mrc_req.inflight) and asks ->can_send() before every data packet,
 * retransmissions included. All calls are made under the requester's
 * serialisation.
 */
#ifndef MRC_CC_H
#define MRC_CC_H

#include "mrc_port.h"

/*
 * Bytes of nominal size in flight per QP under "none", the fixed window.
 * Keeps a QP from filling a switch queue without any congestion signal.
 */
#define MRC_CC_FIXED_WINDOW	(256u * 1024)

#define MRC_CC_NONE_RTT		(~0ull)

struct mrc_cc;

/*
 * Of a window of PSNs, the full packets that may be in flight: loss inference
 * waits for 1.5 times as many, but for half of the PSNs at most (OP-22).
 */
#define MRC_CC_WINDOW_PKTS(psns)	((psns) / 3)

/**
 * struct mrc_cc_cfg - what every algorithm is told at QP creation
 * @window: initial (and for "none" fixed) window in bytes of nominal size;
 *	0 = MRC_CC_FIXED_WINDOW; never below one @mtu
 * @mtu: nominal size of a full packet, bytes
 * @max_pkts: the window is no more than so many full packets, 0 = no bound; see
 *	MRC_CC_WINDOW_PKTS()
 * @base_rtt: nanoseconds
 * @trim_nack: the peer answers trimmed packets with NACKs
 */
struct mrc_cc_cfg {
	u32 window;
	u32 mtu;
	u32 max_pkts;
	u64 base_rtt;
	bool trim_nack;
};

/**
 * struct mrc_cc_ack - one SACK as congestion control sees it, MRC 1.0 §13
 * @newly: nominal bytes newly reported in rcvd_bytes (SETH), >= 0
 * @freed: nominal bytes of packets newly known received (requester's records)
 * @ce: SETH.m is SKIP_ONCE
 * @rtt: ns, or MRC_CC_NONE_RTT
 * @pen: rcv_cwnd_pen
 * @restore: restore_cwnd
 * @now: ns
 */
struct mrc_cc_ack {
	u64 newly;
	u64 freed;
	bool ce;
	u64 rtt;
	u8 pen;
	bool restore;
	u64 now;
};

/**
 * struct mrc_cc_ops - a congestion control algorithm
 * @name: what users select it by
 * @init: @cfg is valid during the call only
 * @can_send: may a packet of nominal @size go with @inflight already out?
 * @on_send: a packet left (first transmission or not)
 * @on_ack: a SACK was consumed
 * @on_loss: a transmission is taken for lost (inferred, probe or timeout)
 * @on_nack: a transmission was refused; @reason is enum mrc_nack_reason
 * @ack_request: should the packet that brings the window to @inflight ask for
 *	an immediate SACK (MRC 1.0 §6.1)?
 */
struct mrc_cc_ops {
	const char *name;
	void (*init)(struct mrc_cc *cc, const struct mrc_cc_cfg *cfg);
	bool (*can_send)(const struct mrc_cc *cc, u64 inflight, u32 size);
	void (*on_send)(struct mrc_cc *cc, u32 size, u64 now);
	void (*on_ack)(struct mrc_cc *cc, const struct mrc_cc_ack *ack);
	void (*on_loss)(struct mrc_cc *cc, u32 size, u64 now);
	void (*on_nack)(struct mrc_cc *cc, u32 size, u8 reason, u64 rtt,
			u64 now);
	bool (*ack_request)(const struct mrc_cc *cc, u64 inflight);
};

/**
 * struct mrc_cc - per-QP state
 * @ops: algorithm
 * @cwnd: current window, bytes of nominal size
 * @mtu: nominal size of a full packet
 * @sack_threshold: responder's SACK byte threshold, for @ops->ack_request
 * @priv: the algorithm's own state
 */
struct mrc_cc {
	const struct mrc_cc_ops *ops;
	u32 cwnd;
	u32 mtu;
	u32 sack_threshold;
	u64 priv[16];
};

/* The algorithm called @name, NULL if there is none. */
const struct mrc_cc_ops *mrc_cc_find(const char *name);

extern const struct mrc_cc_ops mrc_cc_none;

/* Initialise @cc for @ops (NULL = "none"). */
void mrc_cc_init(struct mrc_cc *cc, const struct mrc_cc_ops *ops,
		 const struct mrc_cc_cfg *cfg);

#endif /* MRC_CC_H */
