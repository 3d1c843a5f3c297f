/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Responder: receive window, placement verdicts, ordering of WRITE_IMM
 * completions, SACK, NACK and transport ACK generation of one QP.
 *
 * Pure state machine; the caller serialises all calls. For each packet:
 *
 *	switch (mrc_resp_on_data(resp, &rx, now)) {
 *	case MRC_RX_PLACE:
 *		syn = check key and copy payload;
 *		mrc_resp_placed(resp, &rx, syn);
 *	}
 *	while (mrc_resp_next_imm(resp, &imm))
 *		mrc_resp_imm_done(resp, no receive ? MRC_SYN_NAK_INV_REQ : 0);
 *	while (mrc_resp_next_feedback(resp, now, &desc))
 *		send(desc);
 *	if (mrc_resp_failed(resp))
 *		QP -> ERROR;
 */
#ifndef MRC_RESP_H
#define MRC_RESP_H

#include "mrc_port.h"
#include "mrc_wire.h"
#include "mrc_psn.h"
#include "mrc_ev.h"
#include "mrc_rev.h"
#include "mrc_req.h"
#include "mrc_counters.h"

enum mrc_trim {
	MRC_TRIM_NONE,
	MRC_TRIM_TRIMMED,
	MRC_TRIM_LASTHOP,
};

/**
 * struct mrc_rx - a received packet addressed to this QP
 * @hdr: parsed headers; ICRC already verified (unless trimmed)
 * @entropy: mrc_entropy_from_wire()
 * @port: local port of arrival, 1-based
 * @ce: ECN CE on the outermost IP header
 * @trim: enum mrc_trim, by DSCP
 * @at: when it arrived, ns, the clock of the calls' @now; 0 = unknown, the time
 *	of the call counts (service time, OP-35)
 */
struct mrc_rx {
	const struct mrc_hdr *hdr;
	u32 entropy;
	u8 port;
	bool ce;
	u8 trim;
	u64 at;
};

/**
 * struct mrc_resp_cfg - attributes of the responder role
 * @pmtu: path MTU, 256..4096, power of two
 * @mpr: own window in units of 128 PSNs, 1..255
 * @mpr_max: Dynamic MPR: the widest that mrc_resp_set_mpr() may choose,
 *	@mpr..255; 0 = @mpr. Memory is for this one
 * @max_wimm: own MAX_WIMM_DEST, the depth of the WRITE_IMM stash, >= 1 (§14)
 * @rq_psn: first expected PSN
 * @qpn: own QPN
 * @dqpn: peer's QPN
 * @pkey: partition key for feedback
 * @remote_write: the QP allows remote writes
 * @trim_nack: answer trimmed packets
 * @dynamic_mpr: both ends do Dynamic MPR: SACKs carry the range (§5.2)
 * @svc_time: add the residence time to echoed timestamps (OP-35)
 * @late_stash: the stash is not part of mrc_resp_mem(), but comes with
 *	mrc_resp_set_stash() when the first WRITE_IMM does
 * @base_rtt: ns, rate limit of PSN_OOR_WINDOW and UNEXP_EVENT NACKs and of
 *	trains of probe replies
 * @sack_threshold: bytes, 0 = MRC_SACK_THRESHOLD
 * @seed: unpredictable; choice of reverse EVs
 * @ctr: may be NULL
 */
struct mrc_resp_cfg {
	u32 pmtu;
	u16 mpr;
	u16 mpr_max;
	u16 max_wimm;
	u32 rq_psn;
	u32 qpn;
	u32 dqpn;
	u16 pkey;
	bool remote_write;
	bool trim_nack;
	bool dynamic_mpr;
	bool svc_time;
	bool late_stash;
	u64 base_rtt;
	u32 sack_threshold;
	u64 seed;
	struct mrc_counters *ctr;
};

/* A stashed LAST_IMM/ONLY_IMM, §7.4. */
struct mrc_imm {
	u32 psn;
	u32 len;		/* dmalen: byte_len of the completion */
	__be32 imm;
	u16 rqmsn;
	bool se;
	bool used;
};

/**
 * struct mrc_resp - responder of one QP
 * @rx_map: received bitmap, bit psn & ring_mask
 * @last_map: LAST/ONLY bitmap, same index
 * @stash: @stash_mask + 1 entries, slot rqmsn & @stash_mask; a power of two, so
 *	that consecutive 16-bit rqmsn never share a slot where they wrap. NULL:
 *	no WRITE_IMM was accepted yet (@cfg.late_stash)
 * @rev: reverse EVs
 * @window: PSNs in the range that SACKs advertise
 * @edge: highest PSN that was ever advertised; accepted up to here
 * @penalty, @restore: what SACKs say about flow control, §13.6
 * @cack: highest PSN with no gap at or below it
 * @exec: highest PSN executed without error, cumulative (transport ACK)
 * @max_rcv: highest PSN received
 * @lowest_unsacked: §8.3
 * @err_psn, @err_syn: first (lowest PSN) semantic error, err_syn 0 = none
 * @rqmsn: rqmsn of the next WRITE_IMM to deliver
 * @msn: messages completed (AETH.msn, 24 bits)
 * @rcvd_bytes: cumulative nominal bytes
 * @sack_cnt: bytes since the last SACK
 * @ooo: PSNs held above cack
 */
struct mrc_resp {
	struct mrc_resp_cfg cfg;
	const struct mrc_paths *paths;
	struct mrc_rev rev;
	unsigned long *rx_map;
	unsigned long *last_map;
	struct mrc_imm *stash;
	u32 ring_mask;
	u32 window;
	u32 edge;
	u8 penalty;
	bool restore;
	u32 cack;
	u32 exec;
	u32 max_rcv;
	u32 lowest_unsacked;
	u32 err_psn;
	u8 err_syn;
	bool nak_sent;
	u16 rqmsn;
	u32 msn;
	u64 rcvd_bytes;
	u32 sack_cnt;
	u32 ooo;
	u64 oor_nack_at;
	u64 unexp_nack_at;
	u64 train_at;		/* last probe answered with several SACKs */
	/* Feedback owed for the packet being handled; engine private. */
	struct {
		bool sack;
		bool sack_more;
		bool nack;
		bool ack;
		bool probe;
		bool rtx;
		bool ce;
		bool dup_base;
		bool stamped;	/* @tstamp is one, taken at @at */
		u8 nack_reason;
		u8 port;
		u16 probe_id;
		u16 tstamp;
		u32 psn;
		u32 entropy;
		u64 at;
	} fb;
	bool imm_due;
	/* Engine private. */
	bool placing;		/* MRC_RX_PLACE was returned, not yet placed */
	unsigned long *ack_map;	/* BTH.a bitmap, same index as @rx_map */
	unsigned long *imm_map;	/* LAST_IMM/ONLY_IMM bitmap, same index */
	u32 stash_mask;		/* stash entries - 1 */
	u32 sack_threshold;
};

/* Memory for @cfg, 0 if @cfg is invalid. */
size_t mrc_resp_mem(const struct mrc_resp_cfg *cfg);

/*
 * @mem: mrc_resp_mem(@cfg) zeroed bytes, 8-aligned. @paths: for the choice of
 * reverse EVs, read only, may be NULL (then feedback echoes the entropy and
 * port of the packet it answers). Return: 0 or -EINVAL.
 */
int mrc_resp_init(struct mrc_resp *resp, const struct mrc_resp_cfg *cfg,
		  const struct mrc_paths *paths, void *mem);

/* Memory for the stash of @cfg, 0 if @cfg is invalid. */
size_t mrc_resp_stash_mem(const struct mrc_resp_cfg *cfg);

/**
 * mrc_resp_wants_stash - can this packet be taken only with a stash?
 *
 * To be asked before mrc_resp_on_data() where the stash comes late; true for
 * packets only that are new and within the window. Without a
 * mrc_resp_set_stash() in between the packet is refused with NO_RESOURCE, as by
 * mrc_resp_refuse().
 */
bool mrc_resp_wants_stash(const struct mrc_resp *resp, const struct mrc_rx *rx);

/* @mem: mrc_resp_stash_mem() zeroed bytes; nothing if there is a stash. */
void mrc_resp_set_stash(struct mrc_resp *resp, void *mem);

enum mrc_rx_action {
	MRC_RX_PLACE,	/* check RETH, copy, then mrc_resp_placed() */
	MRC_RX_DONE,	/* nothing to place; go on with next_imm/feedback */
	MRC_RX_DROP,	/* dropped and counted */
};

/**
 * mrc_resp_on_data - a data packet (or an undefined opcode) arrived
 *
 * Window, duplicate and semantic checks of §7.1-§7.3 and §7.5(1). A zero
 * length packet needs no placement. Undefined opcodes: OP-4.
 */
enum mrc_rx_action mrc_resp_on_data(struct mrc_resp *resp,
				    const struct mrc_rx *rx, u64 now);

/**
 * mrc_resp_refuse - a data packet arrived, but the shell cannot take it now
 * @reason: MRC_NACK_NO_BITMAP, _NO_PKT_BUFFER or _NO_RESOURCE; anything else
 *	counts as the last one
 *
 * Instead of mrc_resp_on_data(): a packet that would be accepted is NACKed and
 * leaves no trace (§8.4), every other one is treated as there.
 *
 * Return: MRC_RX_DONE or MRC_RX_DROP.
 */
enum mrc_rx_action mrc_resp_refuse(struct mrc_resp *resp,
				   const struct mrc_rx *rx, u8 reason, u64 now);

/**
 * mrc_resp_set_mpr - Dynamic MPR: another range from the next SACK on
 * @mpr: units of 128 PSNs, 1..@mpr_max
 *
 * PSNs that were advertised before stay acceptable (§5.2).
 *
 * Return: 0, or -EINVAL out of range or without Dynamic MPR.
 */
int mrc_resp_set_mpr(struct mrc_resp *resp, u16 mpr);

/*
 * What SACKs say from now on about flow control, §13.6: @pen 0..127 (more counts
 * as 127), 0 = none; @restore with 0 = back to the window before the penalty.
 */
void mrc_resp_set_penalty(struct mrc_resp *resp, u8 pen, bool restore);

/**
 * mrc_resp_placed - the shell finished what MRC_RX_PLACE asked for
 * @syndrome: 0, MRC_SYN_NAK_ACCESS or MRC_SYN_NAK_REM_OP; the PSN counts as
 *	received either way (§8.6)
 */
void mrc_resp_placed(struct mrc_resp *resp, const struct mrc_rx *rx,
		     u8 syndrome);

/* A RELIABILITY_PROBE_REQ arrived, §9.5. */
void mrc_resp_on_probe(struct mrc_resp *resp, const struct mrc_rx *rx,
		       u64 now);

/**
 * mrc_resp_next_imm - next WRITE_IMM whose completion is due, in order
 * @imm: valid when true is returned; then mrc_resp_imm_done() must follow
 */
bool mrc_resp_next_imm(struct mrc_resp *resp, struct mrc_imm *imm);

/* @syndrome: 0 = receive consumed, else the NAK to send (§7.4: 0x61). */
void mrc_resp_imm_done(struct mrc_resp *resp, u8 syndrome);

/**
 * mrc_resp_next_feedback - next control packet owed
 * @now: when it leaves; with service time a fresh reading of the clock
 * @desc: ->data is false, ->tc is MRC_TC_CONTROL
 * Return: false when nothing (more) is owed.
 */
bool mrc_resp_next_feedback(struct mrc_resp *resp, u64 now,
			    struct mrc_tx_desc *desc);

/* Syndrome of the NAK that was sent and ended this QP, 0 = healthy. */
u8 mrc_resp_failed(const struct mrc_resp *resp);

/* Consistency check for tests: NULL or what is wrong. */
const char *mrc_resp_check(const struct mrc_resp *resp);

#endif /* MRC_RESP_H */
