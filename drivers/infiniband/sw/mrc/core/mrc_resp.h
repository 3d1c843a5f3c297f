/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Responder: receive window, placement verdicts, ordering of WRITE_IMM
 * completions, SACK, NACK and transport ACK generation of one QP.
 *
 * Pure state machine; the caller serialises all calls, but need not keep others away while
 * it copies payload, see mrc_resp_placed(). For each packet:
 *
 *	switch (mrc_resp_on_data(resp, &rx, now)) {
 *	case MRC_RX_PLACE:
 *		syn = check key and copy payload;
 *		mrc_resp_placed(resp, &rx, syn, now);
 *	}
 *	for (;;)
 *		if (mrc_resp_next_recv(resp, &imm))
 *			mrc_resp_recv_done(resp, no receive ?
 *					  MRC_SYN_NAK_INV_REQ : 0);
 *		else if (mrc_resp_next_req(resp, &rd))
 *			mrc_resp_req_done(resp, execute and queue the answer);
 *		else
 *			break;
 *	while (mrc_resp_next_feedback(resp, now, &desc))
 *		send(desc);
 *	if (mrc_resp_failed(resp))
 *		QP -> ERROR;
 *
 * The extension (Documentation/extension.md) has a second responder in
 * each QP, for the answer channel. Its caller uses mrc_resp_take_done() instead of the
 * loop. Each time that the peer has acknowledged an answer:
 *
 *	mrc_resp_answered(resp);
 *	while (mrc_resp_next_feedback(resp, now, &desc))
 *		send(desc);
 *	if (mrc_resp_failed(resp))
 *		QP -> ERROR;
 */
#ifndef MRC_RESP_H
#define MRC_RESP_H

#include "mrc_base.h"
#include "mrc_wire.h"
#include "mrc_psn.h"
#include "mrc_ev.h"
#include "mrc_rev.h"
#include "mrc_req.h"
#include "mrc_counters.h"

MRC_C_BEGIN

enum mrc_trim {
	MRC_TRIM_NONE,
	MRC_TRIM_TRIMMED,
	MRC_TRIM_LASTHOP,
};

#define MRC_RESP_PLACES	6	/* packets of a QP whose payload is being placed, at most */

/**
 * struct mrc_rx - a received packet addressed to this QP
 * @hdr: parsed headers; the ICRC is verified (unless the packet is trimmed)
 * @entropy: mrc_entropy_from_wire()
 * @port: local port of arrival, 1-based
 * @ce: ECN CE on the outermost IP header
 * @trim: enum mrc_trim, by DSCP
 * @at: arrival time, ns, same clock as @now of the calls; 0 = unknown: the time of the
 *	call is used (service time, OP-35)
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
 * @mpr_max: Dynamic MPR: the widest range that mrc_resp_set_mpr() may set, @mpr..255; 0
 *	= @mpr. Memory is allocated for this range
 * @max_wimm: own MAX_WIMM_DEST, the depth of the WRITE_IMM stash, >= 1 (§14)
 * @rq_psn: first expected PSN
 * @qpn: own QPN
 * @dqpn: peer's QPN
 * @pkey: partition key for feedback
 * @max_rd: the extension. Answer channel: how many own requests may wait for their
 *	answers (>= 1). Otherwise: how many requests of the peer may wait (own
 *	max_dest_rd_atomic), 0 = requests are refused as errors. At most MRC_RD_MAX
 * @remote_write: the QP allows remote writes
 * @remote_read: the extension: it allows remote reads
 * @remote_atomic: the extension: it allows remote atomic operations
 * @remote_flush: the extension: it allows remote flushes
 * @ext: the QP has the extension
 * @ans: responder of the answer channel; needs @ext
 * @trim_nack: answer trimmed packets
 * @dynamic_mpr: both ends do Dynamic MPR: SACKs carry the range (§5.2)
 * @svc_time: add the residence time to echoed timestamps (OP-35)
 * @late_stash: mrc_resp_mem() does not include the stash; mrc_resp_set_stash() brings
 *	it when the first message needs it
 * @late_rd: mrc_resp_mem() does not include the ring of requests; mrc_resp_set_rd()
 *	brings it when the first request needs it
 * @base_rtt: ns, rate limit of PSN_OOR_WINDOW and UNEXP_EVENT NACKs and of
 *	trains of probe replies
 * @sack_threshold: bytes, 0 = MRC_SACK_THRESHOLD
 * @seed: unpredictable; for the choice of reverse EVs
 * @ctr: may be NULL
 */
struct mrc_resp_cfg {
	u32 pmtu;
	u16 mpr;
	u16 mpr_max;
	u16 max_wimm;
	u16 max_rd;
	u32 rq_psn;
	u32 qpn;
	u32 dqpn;
	u16 pkey;
	bool remote_write;
	bool remote_read;
	bool remote_atomic;
	bool remote_flush;
	bool ext;
	bool ans;
	bool trim_nack;
	bool dynamic_mpr;
	bool svc_time;
	bool late_stash;
	bool late_rd;
	u64 base_rtt;
	u32 sack_threshold;
	u64 seed;
	struct mrc_counters *ctr;
};

#define MRC_RD_MAX		0x1000	/* limit of struct mrc_resp_cfg, @max_rd */
#define MRC_MAX_RD_ATOMIC	16	/* limit of a QP, power of two */

/* Messages that consume a receive. */
enum mrc_recv_kind {
	MRC_RECV_WRITE_IMM,
	MRC_RECV_SEND,
	MRC_RECV_SEND_IMM,
	MRC_RECV_SEND_INV,
};

/**
 * struct mrc_recv_msg - a message that consumes a receive and waits for its turn
 * @psn: PSN of its last packet
 * @len: dmalen, byte_len of the completion
 * @imm: immediate data, as on the wire
 * @inv_key: MRC_RECV_SEND_INV: the key to invalidate
 * @left: engine private; packets of a SEND that have not arrived yet
 * @rqmsn: number of its receive, §7.4
 * @kind: enum mrc_recv_kind
 * @se: solicited event
 * @used: engine private
 * @last: engine private; the packet at @psn has arrived
 *
 * A WRITE_IMM is stashed when its LAST or ONLY packet arrives (§7.4). A SEND of the
 * extension is stashed when the first of its packets arrives, whichever it is; all its
 * packets share the entry. The answer channel stashes answers in the same way.
 */
struct mrc_recv_msg {
	u32 psn;
	u32 len;
	union {
		__be32 imm;
		u32 inv_key;
	};
	u32 left;
	u16 rqmsn;
	u8 kind;
	bool se:1;
	bool used:1;
	bool last:1;
};

/**
 * struct mrc_rd - a request of the extension (READ, atomic, ATOMIC_WRITE, FLUSH)
 * @va: address
 * @swap: operand, struct mrc_opeth
 * @compare: operand, struct mrc_opeth
 * @psn: its PSN
 * @rkey: key, not checked by the engine
 * @len: RETH.dmalen
 * @num: request number; METH.msn of the answer
 * @op: MRC_OP_READ_REQ, _CMP_SWAP, _FETCH_ADD, _ATOMIC_WRITE or _FLUSH
 * @used: engine private
 */
struct mrc_rd {
	u64 va;
	u64 swap;
	u64 compare;
	u32 psn;
	u32 rkey;
	u32 len;
	u16 num;
	u8 op;
	bool used;
};

/**
 * struct mrc_resp - responder of one QP
 * @cfg: attributes of the role
 * @paths: EVs of the QP, read only; may be NULL
 * @rx_map: received bitmap, bit psn & ring_mask
 * @last_map: LAST/ONLY bitmap, same index
 * @stash: @stash_mask + 1 entries, slot rqmsn & @stash_mask. The number is a power of
 *	two, so that consecutive 16-bit rqmsn never share a slot where they wrap. NULL:
 *	no WRITE_IMM was accepted yet (@cfg.late_stash). Answer channel: answers, slot
 *	METH.msn & @stash_mask
 * @rd: requests, @rd_mask + 1 entries, a power of two; slot num & @rd_mask. NULL: no
 *	request was accepted yet (@cfg.late_rd), or none is ever accepted
 * @rev: reverse EVs
 * @ring_mask: bits in each bitmap - 1, 2^n - 1
 * @window: PSNs in the range that SACKs advertise
 * @edge: highest PSN ever advertised; PSNs up to here are accepted
 * @penalty: flow control penalty in SACKs, §13.6; 0 = none
 * @restore: SACKs with @penalty 0 ask the peer to go back to the window before it
 * @acked: a transport ACK was sent after @exec had got where it is
 * @ack_port: plane of the last one
 * @cack: highest PSN with no gap at or below it
 * @exec: highest PSN executed without error, cumulative (transport ACK)
 * @max_rcv: highest PSN received
 * @lowest_unsacked: §8.3
 * @err_psn: lowest PSN with a semantic error
 * @err_syn: syndrome of that error, 0 = none
 * @nak_sent: the NAK for that error was sent: the QP has failed
 * @rqmsn: rqmsn of the next message to deliver that takes a receive; answer channel:
 *	number of the next answer
 * @rd_next: number of the next request to execute
 * @rd_oldest: number of the oldest request with an unacknowledged answer; @rd_next if
 *	there is none. Transport ACKs stop before its PSN
 * @done: answers that are complete and were not taken by mrc_resp_take_done() yet
 * @msn: messages completed (AETH.msn, 24 bits)
 * @rcvd_bytes: cumulative nominal bytes
 * @recv_limit: for the next ACK: rqmsn of the first message without a receive; valid if
 *	@recv_known
 * @recv_known: @recv_limit is valid
 * @peer_sends: the peer has sent a SEND, so it has the extension
 * @sack_cnt: bytes since the last SACK
 * @ooo: PSNs received above @cack
 * @oor_nack_at: when the latest PSN_OOR_WINDOW NACK was sent, ns
 * @unexp_nack_at: when the latest UNEXP_EVENT NACK was sent, ns
 * @train_at: when the latest train of SACKs answered a probe, ns
 */
struct mrc_resp {
	struct mrc_resp_cfg cfg;
	const struct mrc_paths *paths;
	struct mrc_rev rev;
	unsigned long *rx_map;
	unsigned long *last_map;
	struct mrc_recv_msg *stash;
	struct mrc_rd *rd;
	u32 ring_mask;
	u32 window;
	u32 edge;
	u8 penalty;
	bool restore;
	bool acked;
	u8 ack_port;
	u32 cack;
	u32 exec;
	u32 max_rcv;
	u32 lowest_unsacked;
	u32 err_psn;
	u8 err_syn;
	bool nak_sent;
	u16 rqmsn;
	u16 rd_next;
	u16 rd_oldest;
	u16 recv_limit;
	bool recv_known;
	bool peer_sends;
	u32 done;
	u32 msn;
	u64 rcvd_bytes;
	u32 sack_cnt;
	u32 ooo;
	u64 oor_nack_at;
	u64 unexp_nack_at;
	u64 train_at;
	/* private: feedback owed for the packet being handled: */
	struct {
		bool sack;
		bool nack;
		bool ack;
		bool probe;
		bool rtx;
		bool ce;
		bool dup_base;
		bool stamped;	/* @tstamp is valid; its packet arrived at @at */
		u8 nack_reason;
		u8 nack_vendor;
		u8 port;
		u8 copy;	/* plane of the newest copy of the SACK owed, 0 = none */
		u16 probe_id;
		u16 tstamp;
		u32 psn;
		u32 entropy;
		u64 at;
	} fb;
	bool recv_due:1;
	bool rd_due:1;
	bool reverted:1;	/* exec went back, mrc_resp_req_failed() */
	u8 placing;		/* entries of @place */
	u8 again;		/* those of which a copy arrived; a bit each */
	u16 place[MRC_RESP_PLACES];	/* mrc_resp_placed() is due; PSNs, 16 bits of them */
	u16 stash_mask;		/* stash entries - 1 */
	u16 rd_mask;		/* entries of @rd - 1 */
	u32 sack_threshold;
	unsigned long *ack_map;	/* BTH.a bitmap, same index as @rx_map */
	unsigned long *stop_map;	/* where exec stops, same index */
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

/*
 * Begin at another PSN with the same configuration, paths and memory. Only before the
 * first packet. Return: 0 or -EINVAL.
 */
int mrc_resp_restart(struct mrc_resp *resp, u32 rq_psn);

/**
 * struct mrc_resp_permit - what the peer may do
 * @remote_write: WRITE
 * @remote_read: the extension: READ
 * @remote_atomic: the extension: atomic operations
 * @remote_flush: the extension: FLUSH
 * @max_rd: the extension: requests that may wait for their answers, 0 = none
 */
struct mrc_resp_permit {
	bool remote_write;
	bool remote_read;
	bool remote_atomic;
	bool remote_flush;
	u16 max_rd;
};

/*
 * Change the permissions, from the next packet on. Without the extension only
 * @remote_write counts.
 */
void mrc_resp_permit(struct mrc_resp *resp, const struct mrc_resp_permit *may);

/* Reverse EVs, for mrc_rev_pick() and the other functions of mrc_rev.h. */
static inline struct mrc_rev *mrc_resp_rev(struct mrc_resp *resp)
{
	return &resp->rev;
}

/* METH.rqmsn of the next message to deliver. */
static inline u16 mrc_resp_next_rqmsn(const struct mrc_resp *resp)
{
	return resp->rqmsn;
}

/* How many messages that take a receive may be in flight. */
static inline u32 mrc_resp_max_wimm(const struct mrc_resp *resp)
{
	return resp->cfg.max_wimm;
}

/* Are requests accepted at all? */
static inline bool mrc_resp_takes_requests(const struct mrc_resp *resp)
{
	return resp->cfg.max_rd;
}

/*
 * Does the responder need the arrival time of packets (service time, OP-35)? May run
 * concurrently with mrc_resp_init(); then either answer is possible.
 */
static inline bool mrc_resp_timed(const struct mrc_resp *resp)
{
	return mrc_read_once(resp->cfg.svc_time);
}

/* Memory for the stash of @cfg, 0 if @cfg is invalid. */
size_t mrc_resp_stash_mem(const struct mrc_resp_cfg *cfg);

/**
 * mrc_resp_wants_stash - can this packet be taken only with a stash?
 * @resp: the responder
 * @rx: the packet
 *
 * With @late_stash, call this before mrc_resp_on_data(). If it returns true and
 * mrc_resp_set_stash() is not called, the packet is refused with NO_RESOURCE, as by
 * mrc_resp_refuse().
 *
 * Return: true only for packets that are new and within the window.
 */
bool mrc_resp_wants_stash(const struct mrc_resp *resp, const struct mrc_rx *rx);

/* Memory for the stash of @resp. */
static inline size_t mrc_resp_stash_size(const struct mrc_resp *resp)
{
	return mrc_resp_stash_mem(&resp->cfg);
}

/* @mem: mrc_resp_stash_mem() zeroed bytes. Does nothing if there is a stash. */
void mrc_resp_set_stash(struct mrc_resp *resp, void *mem);

/*
 * Memory for the ring of requests of @cfg, 0 if no request is accepted. Without the
 * ring requests are refused with NO_RESOURCE.
 */
size_t mrc_resp_rd_mem(const struct mrc_resp_cfg *cfg);

enum mrc_rx_action {
	MRC_RX_PLACE,	/* check RETH, copy, then mrc_resp_placed() */
	MRC_RX_DONE,	/* nothing to place; go on with next_imm/feedback */
	MRC_RX_DROP,	/* dropped and counted */
};

/**
 * mrc_resp_on_data - a data packet (or an undefined opcode) arrived
 * @resp: the responder
 * @rx: the packet
 * @now: ns
 *
 * Checks window, duplicates and semantics, §7.1-§7.3 and §7.5(1). A zero length packet
 * needs no placement. Undefined opcodes: OP-4.
 *
 * MRC_RX_PLACE with the extension: the payload of a SEND belongs to receive number
 * (u16)(METH.rqmsn - @resp->rqmsn) after those of the messages delivered, at offset
 * RETH.va. RETH.va + length <= RETH.dmalen <= 2^31 holds, but the receive may be
 * shorter (MRC_SYN_NAK_INV_REQ). On the answer channel every good packet is placed,
 * even without payload: the caller must find the request by METH.msn and check the
 * opcode, RETH.dmalen, RETH.va and the length against it.
 *
 * Return: what the caller has to do with the packet.
 */
enum mrc_rx_action mrc_resp_on_data(struct mrc_resp *resp,
				    const struct mrc_rx *rx, u64 now);

/**
 * mrc_resp_refuse - refuse a data packet that the shell cannot take now
 * @resp: the responder
 * @rx: the packet
 * @reason: MRC_NACK_NO_BITMAP, _NO_PKT_BUFFER or _NO_RESOURCE; anything else
 *	counts as the last one
 * @now: ns
 *
 * Called instead of mrc_resp_on_data(). A packet that would be accepted is NACKed and
 * changes no state (§8.4). Every other packet is handled as in mrc_resp_on_data().
 *
 * Return: MRC_RX_DONE or MRC_RX_DROP.
 */
enum mrc_rx_action mrc_resp_refuse(struct mrc_resp *resp,
				   const struct mrc_rx *rx, u8 reason, u64 now);

/**
 * mrc_resp_refuse_rnr - refuse a packet for which no receive is posted
 * @resp: the responder
 * @rx: the packet
 * @timer: RNR timer code of the IB spec (5 bits): how long the peer shall wait
 * @now: ns
 *
 * As mrc_resp_refuse() with MRC_NACK_NO_RESOURCE; NETH.vendor_info gives the reason and
 * @timer.
 *
 * Return: MRC_RX_DONE or MRC_RX_DROP.
 */
enum mrc_rx_action mrc_resp_refuse_rnr(struct mrc_resp *resp,
				       const struct mrc_rx *rx, u8 timer,
				       u64 now);

/**
 * mrc_resp_refuse_page - refuse a packet whose memory is being fetched
 * @resp: the responder
 * @rx: the packet
 * @timer: RNR timer code, as above
 * @now: ns
 *
 * As mrc_resp_refuse() with MRC_NACK_NO_RESOURCE. With the extension, NETH.vendor_info
 * gives the reason and @timer, and the peer does not count this as a loss.
 *
 * Return: MRC_RX_DONE or MRC_RX_DROP.
 */
enum mrc_rx_action mrc_resp_refuse_page(struct mrc_resp *resp,
					const struct mrc_rx *rx, u8 timer,
					u64 now);

/**
 * mrc_resp_set_mpr - Dynamic MPR: set the range, from the next SACK on
 * @resp: the responder
 * @mpr: units of 128 PSNs, 1..@mpr_max
 *
 * PSNs that were advertised before stay acceptable (§5.2).
 *
 * Return: 0, or -EINVAL out of range or without Dynamic MPR.
 */
int mrc_resp_set_mpr(struct mrc_resp *resp, u16 mpr);

/*
 * Set the flow control penalty of the following SACKs, §13.6: @pen 0..127 (more counts
 * as 127), 0 = none. @restore with @pen 0: the peer shall go back to the window before
 * the penalty.
 */
void mrc_resp_set_penalty(struct mrc_resp *resp, u8 pen, bool restore);

/**
 * mrc_resp_placed - the shell finished what MRC_RX_PLACE asked for
 * @resp: the responder
 * @rx: the packet, as in mrc_resp_on_data()
 * @syndrome: 0 or MRC_SYN_NAK_*; the PSN counts as received either way (§8.6)
 * @now: ns
 *
 * If mrc_resp_has_place() says so, other packets may be handed in before this call, and the
 * calls for several packets may come in any order. Until its call a packet is not received:
 * SACKs do not show it, and nothing after it executes. A copy of it that arrives meanwhile
 * is a duplicate, without feedback; this call then owes a SACK.
 */
void mrc_resp_placed(struct mrc_resp *resp, const struct mrc_rx *rx,
		     u8 syndrome, u64 now);

/*
 * May other packets be handed in before mrc_resp_placed() for those that are due? If not,
 * they are dropped.
 */
static inline bool mrc_resp_has_place(const struct mrc_resp *resp)
{
	return resp->placing < MRC_RESP_PLACES;
}

/* A RELIABILITY_PROBE_REQ arrived, §9.5. */
void mrc_resp_on_probe(struct mrc_resp *resp, const struct mrc_rx *rx,
		       u64 now);

/**
 * mrc_resp_next_recv - next message whose receive completion is due, in order
 * @resp: the responder
 * @imm: valid when true is returned; then mrc_resp_recv_done() must follow
 *
 * Return: false when none is due.
 */
bool mrc_resp_next_recv(struct mrc_resp *resp, struct mrc_recv_msg *imm);

/* @syndrome: 0 = receive consumed, else the NAK to send (§7.4: 0x61). */
void mrc_resp_recv_done(struct mrc_resp *resp, u8 syndrome);

/**
 * mrc_resp_next_feedback - next control packet owed
 * @resp: the responder
 * @now: when the packet leaves; with service time read the clock for each call
 * @desc: ->data is false, ->tc is MRC_TC_CONTROL
 *
 * Return: false when nothing (more) is owed.
 */
bool mrc_resp_next_feedback(struct mrc_resp *resp, u64 now,
			    struct mrc_tx_desc *desc);

/**
 * mrc_resp_may_wait - may the feedback owed wait for packets that are already here?
 * @resp: the responder
 *
 * It may if only a transport ACK for executed messages is owed and no packet has asked
 * for feedback. ACKs are cumulative, so of the ACKs for a burst only the newest is
 * needed (MRC 1.0 §8.6). The caller may then skip mrc_resp_next_feedback() before the
 * next packet. It must call it after the last packet that is available without waiting.
 * SACKs and NACKs, which tell about single packets, and replies to packets with BTH.a
 * (§8.2) never wait. An ACK that waited goes with them.
 *
 * Return: true if it may.
 */
bool mrc_resp_may_wait(const struct mrc_resp *resp);

/**
 * mrc_resp_repeat_ack - prepare the last feedback of a QP that will not answer any more
 * @resp: the responder
 *
 * Makes the last transport ACK due once more (MRC 1.0 §8.6), unless there was none or a
 * NAK ended the QP. The peer may have missed that ACK. Nobody will answer when the peer
 * asks for it, and its work requests would fail although they were executed.
 */
void mrc_resp_repeat_ack(struct mrc_resp *resp);

/* Syndrome of the NAK that was sent and ended this QP, 0 = healthy. */
u8 mrc_resp_failed(const struct mrc_resp *resp);

/* Consistency check for tests: NULL or what is wrong. */
const char *mrc_resp_check(const struct mrc_resp *resp);

MRC_C_END

#include "mrc_resp_ext.h"

#endif /* MRC_RESP_H */
