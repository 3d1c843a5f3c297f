/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Congestion control behind a small ops struct, selected by name.
 *
 * The requester keeps the exact sum of nominal sizes in flight
 * (struct mrc_req.inflight) and calls ->can_send() before every data packet,
 * retransmissions included. All calls are made under the requester's
 * serialisation.
 */
#ifndef MRC_CC_H
#define MRC_CC_H

#include "mrc_base.h"

MRC_C_BEGIN

/*
 * Bytes of nominal size in flight per QP under "none", the fixed window, and what may wait
 * in queues under "vegas". Keeps a QP from filling a switch queue without any congestion
 * signal.
 */
#define MRC_CC_FIXED_WINDOW	(256u * 1024)

#define MRC_CC_NONE_RTT		(~0ull)

/* Value of struct mrc_cc_ack.out: not a SACK, only @freed is meaningful. */
#define MRC_CC_NO_SACK		(~0ull)

/* The name of NSCC in libMRC. */
#define MRC_CC_NSCC_NAME	"uet-1.0-nscc"

struct mrc_cc;

/*
 * Full packets that may be in flight in a window of @psns PSNs. Loss inference waits for
 * 1.5 times as many, but for half of the PSNs at most (OP-22).
 */
#define MRC_CC_WINDOW_PKTS(psns)	((psns) / 3)

/**
 * struct mrc_nscc_cfg - parameters of NSCC, MRC 1.0 §13.3; 0 = derived from the
 *	line rate, the base RTT and the packet size as that section says
 * @disable_qa: no quick adapt
 * @qa_gate: shift, 0..31
 * @adjust_bytes_threshold: bytes
 * @adjust_period_threshold: ns
 * @base_rtt: ns
 * @eta: bytes
 * @fi: bytes
 * @fi_scale: ratio, Q16
 * @gamma: ratio, Q16, at most 1
 * @max_md_jump: ratio, Q16, at most 1
 * @max_cwnd: bytes
 * @qa_threshold: ns
 * @target_delay: ns
 */
struct mrc_nscc_cfg {
	bool disable_qa;
	u8 qa_gate;
	u32 adjust_bytes_threshold;
	u32 adjust_period_threshold;
	u32 base_rtt;
	u32 eta;
	u32 fi;
	u32 fi_scale;
	u32 gamma;
	u32 max_md_jump;
	u32 max_cwnd;
	u32 qa_threshold;
	u32 target_delay;
};

/**
 * struct mrc_cc_cfg - parameters of every algorithm at QP creation
 * @window: initial (for "none" fixed, for "vegas" smallest) window in bytes of nominal
 *	size; 0 = MRC_CC_FIXED_WINDOW; never below one @mtu
 * @mtu: nominal size of a full packet, bytes
 * @max_pkts: bound of the window in full packets, and of the packets of any size in
 *	flight; 0 = no bound; see MRC_CC_WINDOW_PKTS()
 * @base_rtt: nanoseconds
 * @line_rate: bytes per second that the QP's ports carry together, 0 = unknown
 * @now: ns
 * @trim_nack: the peer answers trimmed packets with NACKs
 * @nscc: parameters for NSCC, NULL = all derived
 */
struct mrc_cc_cfg {
	u32 window;
	u32 mtu;
	u32 max_pkts;
	u64 base_rtt;
	u64 line_rate;
	u64 now;
	bool trim_nack;
	const struct mrc_nscc_cfg *nscc;
};

/**
 * struct mrc_cc_ack - one SACK as congestion control sees it, MRC 1.0 §13
 * @newly: nominal bytes newly reported in rcvd_bytes (SETH), >= 0
 * @freed: nominal bytes of packets newly known received (requester's records)
 * @ce: SETH.m is SKIP_ONCE
 * @rtt: ns, or MRC_CC_NONE_RTT
 * @port: the port that the data packet of @rtt was sent through, 0 = @rtt is that of a probe
 * @size: nominal bytes of that packet, 0 = a probe
 * @pen: rcv_cwnd_pen
 * @restore: restore_cwnd
 * @out: nominal bytes in flight by the requester's records, after this SACK;
 *	MRC_CC_NO_SACK for a transport ACK, which only tells what arrived
 * @waiting: upper bound of the nominal bytes of packets that are taken for lost and
 *	wait to be sent again
 * @now: ns
 */
struct mrc_cc_ack {
	u64 newly;
	u64 freed;
	bool ce;
	u64 rtt;
	u8 port;
	u8 pen;
	bool restore;
	u32 size;
	u64 out;
	u64 waiting;
	u64 now;
};

/**
 * struct mrc_cc_ops - a congestion control algorithm
 * @name: users select the algorithm by this name
 * @init: @cfg is valid during the call only
 * @can_send: may a packet of nominal @size be sent with @inflight bytes in flight?
 * @on_send: a packet was sent (first transmission or not)
 * @on_ack: a SACK was consumed
 * @on_loss: a transmission is taken for lost (inferred, probe or timeout)
 * @on_nack: a transmission was refused; @reason is enum mrc_nack_reason
 * @ack_request: should the newest packet ask for an immediate SACK (MRC 1.0 §6.1)?
 *	@on_send was called for this packet, and @inflight includes it
 * @on_late: a packet taken for lost is known received and was not sent again
 * @reconfigure: new parameters for a running QP; @cfg->mtu is as before,
 *	@cfg->window may be ignored
 * @has_params: takes struct mrc_cc_cfg.nscc and needs the line rate
 *
 * All functions are mandatory.
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
	void (*on_late)(struct mrc_cc *cc, u32 size);
	void (*reconfigure)(struct mrc_cc *cc, const struct mrc_cc_cfg *cfg);
	bool has_params;
};

/**
 * struct mrc_cc - per-QP state
 * @ops: algorithm
 * @cwnd: current window, bytes of nominal size, at least @mtu
 * @mtu: nominal size of a full packet
 * @sack_threshold: responder's SACK byte threshold, for @ops->ack_request
 * @max_pkts: bound of the packets in flight, of any size, 0 = no bound; the requester
 *	lowers it if the MPR window is smaller
 * @priv: the algorithm's own state
 */
struct mrc_cc {
	const struct mrc_cc_ops *ops;
	u32 cwnd;
	u32 mtu;
	u32 sack_threshold;
	u32 max_pkts;
	u64 priv[20];
};

/* Algorithm @n of all, counted from 0; NULL if there are fewer. */
const struct mrc_cc_ops *mrc_cc_nth(size_t n);

/* The algorithm called @name, NULL if there is none. */
const struct mrc_cc_ops *mrc_cc_find(const char *name);

/* The algorithm of queue pairs that nobody has chosen one for. */
const struct mrc_cc_ops *mrc_cc_default(void);

extern const struct mrc_cc_ops mrc_cc_none;
extern const struct mrc_cc_ops mrc_cc_nscc;
extern const struct mrc_cc_ops mrc_cc_vegas;

/* For algorithms whose window bounds what the requester's records say is in flight: */

/* @cfg->window with its default and within its bounds, bytes. */
u32 mrc_cc_fixed_window(const struct mrc_cc_cfg *cfg);

/* @cfg->max_pkts in bytes. */
u32 mrc_cc_largest_window(const struct mrc_cc_cfg *cfg);

/* ->can_send. One packet may always be sent: a small window must not stop a QP for good. */
bool mrc_cc_fits_window(const struct mrc_cc *cc, u64 inflight, u32 size);

/* ->ack_request. */
bool mrc_cc_window_closes(const struct mrc_cc *cc, u64 inflight);

/* Initialise @cc for @ops (NULL = "none"). */
void mrc_cc_init(struct mrc_cc *cc, const struct mrc_cc_ops *ops,
		 const struct mrc_cc_cfg *cfg);

/*
 * New parameters for a running QP, see @ops->reconfigure. They change because a
 * controller may modify profiles that are ONLINE.
 */
void mrc_cc_reconfigure(struct mrc_cc *cc, const struct mrc_cc_cfg *cfg);

/**
 * mrc_nscc_resolve - parameters as they take effect, MRC 1.0 §13.3
 * @cfg: @cfg->nscc may be NULL
 * @out: without zeros (except for @disable_qa), each within its range
 *
 * An unknown line rate counts as MRC_NSCC_RATE_DEFAULT. The scale a (BDP / 150000 bytes)
 * is at least 1/16, so that no parameter is rounded to zero.
 */
void mrc_nscc_resolve(const struct mrc_cc_cfg *cfg, struct mrc_nscc_cfg *out);

/* Bytes per second: 10 Gbit/s. */
#define MRC_NSCC_RATE_DEFAULT	1250000000ull
/* Value of @qa_threshold: quick adapt ignores the delay. */
#define MRC_NSCC_QA_OFF		0xFFFFFFFFu

/**
 * struct mrc_nscc_info - present state of NSCC of a QP
 * @cfg: parameters in effect
 * @cwnd: bytes
 * @max_cwnd: bytes; less than @cfg.max_cwnd once a smaller RTT was measured
 * @inflight: bytes, by the responder's count; may be below zero
 * @base_rtt: ns
 * @avg_delay: ns
 */
struct mrc_nscc_info {
	struct mrc_nscc_cfg cfg;
	u32 cwnd;
	u32 max_cwnd;
	s64 inflight;
	u32 base_rtt;
	u32 avg_delay;
};

/* False if @cc runs another algorithm. */
bool mrc_nscc_query(const struct mrc_cc *cc, struct mrc_nscc_info *info);

MRC_C_END

#endif /* MRC_CC_H */
