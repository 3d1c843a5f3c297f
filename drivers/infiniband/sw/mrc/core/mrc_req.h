/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Requester: send queue, window, retransmission, completions of one QP.
 *
 * Pure state machine. The caller serialises all calls on one requester
 * (including those on its mrc_paths and mrc_cc), provides time in ns (a
 * monotonic clock, never 0) and memory, sends what mrc_req_next() describes
 * and turns mrc_req_reap() into work completions.
 */
#ifndef MRC_REQ_H
#define MRC_REQ_H

#include "mrc_base.h"
#include "mrc_wire.h"
#include "mrc_psn.h"
#include "mrc_ev.h"
#include "mrc_rev.h"
#include "mrc_cc.h"
#include "mrc_counters.h"

MRC_C_BEGIN

#define MRC_NEVER		(~0ull)
#define MRC_WIMM_DEFAULT	128	/* WRITE_IMMs in flight, §14 */
#define MRC_SACK_THRESHOLD	16384	/* bytes, OP-15 */
#define MRC_RETRY_EXP_INFINITE	25	/* §9.4 */
#define MRC_RETRY_LINEAR_MAX	7
#define MRC_RTO_MAX_NS		17179869184ull	/* 17.17 s, §9.4 */
#define MRC_BASE_RTT_DEFAULT	100000ull	/* ns, until measured */
#define MRC_RNR_RETRY_INFINITE	7	/* IB spec */
#define MRC_ATOMIC_LEN		8	/* bytes of an atomic's operands */
/*
 * The RNR back-off is not doubled beyond the longer one of these: a time, ns, and as many
 * times what an attempt took.
 */
#define MRC_RNR_BACKOFF_NS	640000ull
#define MRC_RNR_PAUSE		8
/*
 * A packet whose memory the peer fetches waits at least MRC_PAGE_PAUSE times as long as its
 * attempt took beyond the base RTT, but for this reason no longer than MRC_PAGE_PAUSE_NS.
 */
#define MRC_PAGE_PAUSE		2
#define MRC_PAGE_PAUSE_NS	200000000ull
/* After this many messages received in a row an RNR refusal is forgotten. */
#define MRC_RECV_FORGET		1024

/* Final status of a work request; the shell maps it to an IB status. */
enum mrc_wc_status {
	MRC_WC_SUCCESS = 0,
	MRC_WC_LOC_PROT,	/* given by the shell to mrc_req_fail() */
	MRC_WC_LOC_QP_OP,	/* likewise */
	MRC_WC_LOC_LEN,		/* likewise */
	MRC_WC_MW_BIND,		/* likewise, or to mrc_req_local_done() */
	MRC_WC_REM_INV_REQ,
	MRC_WC_REM_ACCESS,
	MRC_WC_REM_OP,
	MRC_WC_RETRY_EXC,
	MRC_WC_RNR_RETRY_EXC,
	MRC_WC_FLUSH,
};

enum mrc_wr_op {
	MRC_WR_WRITE,
	MRC_WR_WRITE_IMM,
	/* The extension: messages that take a receive of the peer. */
	MRC_WR_SEND,
	MRC_WR_SEND_IMM,
	MRC_WR_SEND_INV,
	/* Requests: the peer answers them. */
	MRC_WR_READ,
	MRC_WR_CMP_SWAP,
	MRC_WR_FETCH_ADD,
	MRC_WR_ATOMIC_WRITE,
	MRC_WR_FLUSH,
	/* Local operation: it sends no packet. */
	MRC_WR_LOCAL,
	/* Answers: to READ, ATOMIC_WRITE and FLUSH; to CMP_SWAP and FETCH_ADD. */
	MRC_WR_ANSWER,
	MRC_WR_ANSWER_ATOMIC,
	MRC_WR_MAX
};

/* Does the peer answer @op? Then only the answer completes the work request. */
static inline bool mrc_wr_is_request(u8 op)
{
	return op >= MRC_WR_READ && op <= MRC_WR_FLUSH;
}

/* Does @op take a receive of the peer? METH.rqmsn counts these messages. */
static inline bool mrc_wr_consumes_recv(u8 op)
{
	return op >= MRC_WR_WRITE_IMM && op <= MRC_WR_SEND_INV;
}

static inline bool mrc_wr_is_answer(u8 op)
{
	return op >= MRC_WR_ANSWER && op < MRC_WR_MAX;
}

/**
 * struct mrc_wr - a work request as the engine needs it
 * @op: enum mrc_wr_op
 * @se: solicited event; only for messages that take a receive
 * @fence: start when all earlier requests are answered
 * @num: answers: number of the request
 * @rkey: remote key; SEND_INV: the key to invalidate
 * @va: remote address; unused by SENDs and answers
 * @len: message bytes, 0..MRC_MAX_MSG; READ and FLUSH: bytes of the remote range;
 *	atomics and ANSWER_ATOMIC: MRC_ATOMIC_LEN
 * @imm: immediate, network order
 * @swap: CMP_SWAP: what to store; ATOMIC_WRITE: the bytes as a big-endian
 *	number; FLUSH: placement type | selectivity << 4
 * @compare: CMP_SWAP: what to compare with; FETCH_ADD: what to add
 */
struct mrc_wr {
	u8 op;
	bool se;
	bool fence;
	u16 num;
	u32 rkey;
	u64 va;
	u32 len;
	__be32 imm;
	u64 swap;
	u64 compare;
};

/* A posted work request inside the engine. */
struct mrc_tx_wqe {
	struct mrc_wr wr;
	u32 first_psn;		/* valid once started */
	u32 npkts;
	u32 sent;		/* packets yielded, without retransmissions */
	u16 msn;
	u16 rqmsn;		/* METH.rqmsn; of a request: its number */
	u8 state;		/* engine private */
	u8 status;		/* enum mrc_wc_status */
	u8 rnr;			/* RNR refusals that were counted */
};

/*
 * One outstanding PSN, ring indexed by psn & ring_mask. The bitmaps acked,
 * lost (waiting for retransmission) and inferred (was inferred lost at least once)
 * run parallel to it.
 */
struct mrc_tx_pkt {
	u64 sent_at;		/* ns, last transmission */
	u32 slot;		/* send queue slot */
	u32 index;		/* packet number within the message */
	u16 nominal;		/* bytes */
	u16 ahead;		/* PSNs sent beyond it at that time */
	u16 ev;			/* index of the last EV */
	u8 rtx_count : 2;	/* 0, 1, 2 = more */
	u8 guard : 2;		/* enum mrc_guard_kind that made it lost */
	u8 probed : 1;		/* a probe was sent when it was overdue */
	u8 unsent : 1;		/* put back before its first transmission */
	u8 put_back : 1;	/* held by mrc_req_put_back() */
	bool inflight;		/* counted in mrc_req.inflight */
	u64 hold_until;		/* ns; not sent again before; 0 = at once */
};

/**
 * struct mrc_req_cfg - attributes of the requester role
 * @sq_depth: send queue slots, power of two, 1..32768
 * @pmtu: path MTU, 256..4096, power of two
 * @mpr: peer's maximum PSN range in units of 128, 1..255
 * @mpr_max: Dynamic MPR: largest range to adopt, @mpr..255; 0 = @mpr. Memory is
 *	allocated for this range
 * @max_wimm: messages that take a receive (WRITE_IMMs, SENDs) that may be in flight, >=
 *	1, at most the peer's MAX_WIMM_DEST (§6, §14)
 * @sq_psn: first PSN
 * @qpn: own QPN (spdcid)
 * @dqpn: peer's QPN
 * @pkey: partition key
 * @rto: ns, 0 = no timer (§9.4)
 * @linear_cnt: retries at constant RTO, 0..7
 * @exp_cnt: doubling retries, 0..24, MRC_RETRY_EXP_INFINITE = for ever
 * @base_rtt: ns before the first sample; 0 = MRC_BASE_RTT_DEFAULT
 * @use_ts: send TSETH
 * @trim_nack: peer generates trim NACKs: data may be trimmed (§15)
 * @dynamic_mpr: both ends do Dynamic MPR (§5.2)
 * @svc_time: peer adds its residence time to echoes (§13.2, OP-35); needs @use_ts
 * @ignore_pen: disregard the peer's window penalties (§13.6)
 * @n_ports: at least as many as the paths have, 0 = MRC_MAX_PORTS; sizes memory
 * @ext: the extension may be used; local operations do not need it
 * @ans: requester of an answer channel: sends answers only, marks all packets with
 *	BTH.ans; needs @ext
 * @max_rd_atomic: requests that may await their answers; 0 = none may be posted
 * @rnr_retry: how often the peer may refuse a message for lack of a receive, 0..7,
 *	MRC_RNR_RETRY_INFINITE = for ever (@ext)
 * @rev: reverse EVs of the QP's responder, updated from SACKs; may be NULL (§11.8)
 * @ctr: may be NULL
 * @on_loss: called for each loss, @cause is enum mrc_loss_cause; may be NULL
 * @ctx: for @on_loss
 */
struct mrc_req_cfg {
	u32 sq_depth;
	u32 pmtu;
	u16 mpr;
	u16 mpr_max;
	u16 max_wimm;
	u32 sq_psn;
	u32 qpn;
	u32 dqpn;
	u16 pkey;
	u64 rto;
	u8 linear_cnt;
	u8 exp_cnt;
	u64 base_rtt;
	bool use_ts;
	bool trim_nack;
	bool dynamic_mpr;
	bool svc_time;
	bool ignore_pen;
	u8 n_ports;
	bool ext;
	bool ans;
	u8 max_rd_atomic;
	u8 rnr_retry;
	struct mrc_rev *rev;
	struct mrc_counters *ctr;
	void (*on_loss)(void *ctx, u32 psn, int ev, u8 cause);
	void *ctx;
};

/* Cause given to on_loss. */
enum mrc_loss_cause {
	MRC_LOSS_SACK,
	MRC_LOSS_PROBE,
	MRC_LOSS_NACK,
	MRC_LOSS_TIMEOUT,
};

enum mrc_req_state {
	MRC_REQ_READY,
	MRC_REQ_ERROR,
};

/* Reliability probes remembered to time and to interpret their replies. */
#define MRC_PROBE_LOG		16

/* A probe that was sent; @at = 0 is an empty entry. */
struct mrc_probe_rec {
	u64 at;
	u16 id;
	u8 port;
	bool answered;	/* its reply has given an RTT sample */
	u16 range;	/* mrc_req_loss_range() when it was sent */
};

/* Time guards of loss inference that grow with spurious retransmissions. */
enum mrc_guard_kind {
	MRC_GUARD_NONE,
	MRC_GUARD_ORDER,	/* reordering between the paths of a plane */
	MRC_GUARD_LAG,		/* a plane behind the others */
	MRC_GUARD_TAIL,		/* lone and last packets, mrc_tail.c */
	MRC_GUARD_KINDS,
};

/* A learnt time guard: @ns, 0 = nothing learnt; @at: time of the last change. */
struct mrc_guard {
	u64 ns;
	u64 at;
};

/**
 * struct mrc_plane - what the requester knows of a plane
 * @srtt: smoothed RTT of packets sent through it, ns, 0 = no sample
 * @rttvar: smoothed deviation, ns
 * @bound: without a sample: the shortest time in which a packet is known to have been
 *	received, ns, 0 = none
 * @late: how much longer than @srtt overtaken packets took
 * @stall: how much longer than @srtt any packets took
 * @loss_burst_at: start of the latest burst of holes that were taken for lost
 * @loss_burst_n: holes in that burst, saturating
 * @arrived_at: send time of the newest transmission that is known received, 0 = none. A
 *	retransmitted packet counts only if feedback identifies the copy
 * @sent_at: send time of the newest data packet
 * @prev_sent_at: send time of the data packet before @sent_at
 * @arrived_psn: PSN of the transmission of @arrived_at
 * @sent_psn: PSN of the transmission of @sent_at
 * @prev_sent_psn: PSN of the transmission of @prev_sent_at
 * @in_order: packets received in a row that no later packet overtook, saturating
 */
struct mrc_plane {
	u64 srtt;
	u64 rttvar;
	u64 bound;
	struct mrc_guard late;
	struct mrc_guard stall;
	u64 loss_burst_at;
	u64 arrived_at;
	u64 sent_at;
	u64 prev_sent_at;
	u32 arrived_psn;
	u32 sent_psn;
	u32 prev_sent_psn;
	u8 loss_burst_n;
	u8 in_order;
};

/**
 * struct mrc_req - requester of one QP (fields are read by the shell for
 * "rdma res show qp -dd", written by the engine only)
 * @state: enum mrc_req_state
 * @cfg: attributes of the role
 * @paths: EVs of the QP
 * @cc: its congestion control
 * @wqe: @cfg.sq_depth send queue entries; slot = sequence number & mask
 * @pkt: ring of @ring_mask + 1 records
 * @acked: bitmap, bit psn & ring_mask
 * @lost: bitmap, to be retransmitted
 * @inferred: bitmap, PSNs inferred lost at least once
 * @ring_mask: records in @pkt - 1, 2^n - 1
 * @wq_post: sequence number of the next WR to post
 * @wq_send: first WR with unsent packets
 * @wq_done: first WR without transport ACK
 * @wq_reap: first WR not yet reaped
 * @next_psn: next new PSN
 * @cack: newest cack_psn known (una - 1)
 * @high: highest PSN known received, >= @cack
 * @peer_ack: newest PSN that the peer acknowledged as executed
 * @tack: newest transport-acknowledged PSN: @peer_ack, but not past the oldest
 *	request that awaits its answer
 * @window: PSNs beyond @cack that may be sent, 128 * MPR
 * @mpr_psn: cack_psn of the SACK that set @window (Dynamic MPR). It is moved up so that
 *	it never lies more than MRC_MPR_LAG (mrc_req_fb.c) behind @cack
 * @inflight: nominal bytes in flight
 * @n_out: packets in flight
 * @n_lost: bits set in @lost
 * @drain: start no further work request, see mrc_req_set_drain()
 * @asked: @ask_psn is valid
 * @ask_psn: the packet that asked last for a SACK, OP-42
 * @wimm_out: messages that take a receive, started and not
 *	transport-acknowledged
 * @rd_slot: slots of the requests that await their answers, by number
 * @rd_mask: entries of @rd_slot - 1
 * @rd_out: number of requests that await their answers
 * @rd_first: number of the oldest of these requests
 * @rd_next: number of the next request to be posted
 * @nak_syn: syndrome of a NAK that takes effect once all requests before @nak_psn are
 *	answered, 0 = none
 * @nak_psn: PSN that this NAK refuses
 * @doom: status of a work request that will fail once all before it have ended, see
 *	mrc_req_fail(), MRC_WC_SUCCESS = none
 * @doom_seq: sequence number of that work request
 * @rnr_until: RNR back-off: messages that take a receive do not begin before this time,
 *	0 = none
 * @rnr_at: end of the latest RNR back-off that the oldest message without a receive was
 *	given
 * @recv_done: rqmsn of the oldest message that takes a receive and is not
 *	transport-acknowledged
 * @recv_limit: with @recv_limited: rqmsn of the first message for which the peer may
 *	have no receive. It is sent only as the oldest message
 * @recv_from: rqmsn of the first message sent after the last RNR refusal
 * @recv_good: messages acknowledged since the last RNR refusal
 * @recv_limited: the peer has run out of receives lately
 * @recv_told: the peer's latest ACK said for how many messages it has receives
 * @retries: retry counter, §9.4
 * @timer_at: next retransmission timer expiry, MRC_NEVER = off
 * @last_heard: time of the last valid feedback
 * @last_probe: time of the last tail probe
 * @base_rtt: smallest RTT seen, ns
 * @srtt: smoothed RTT, ns, 0 = no sample
 * @rtt_at: time of the latest RTT sample
 * @rttvar: smoothed deviation, ns
 * @slowest: usual upper bound of the RTT of the slowest plane, ns, 0 = no sample
 * @slowest_rtt: usual RTT of the slowest plane, ns, 0 = no sample
 * @rcvd_bytes: last rcvd_bytes of SETH
 * @msn: next METH.msn
 * @rqmsn: next METH.rqmsn
 * @probe_id: next probe id
 * @probe_out: a tail probe awaits its reply
 * @probe_now: send a tail probe at once
 * @probe_out_id: id of the probe of @probe_out
 * @probe_out_ev: EV of that probe
 * @probe_out_at: when it was sent, ns
 * @stat_pkts: data packets sent, retransmissions included
 * @stat_rtx: retransmissions sent
 * @stat_timeouts: expiries of the retry timer that were charged to the retry budget
 * @stat_port_bytes: payload sent through each port, retransmissions included
 */
struct mrc_req {
	u8 state;
	struct mrc_req_cfg cfg;
	struct mrc_paths *paths;
	struct mrc_cc *cc;
	struct mrc_tx_wqe *wqe;
	struct mrc_tx_pkt *pkt;
	unsigned long *acked;
	unsigned long *lost;
	unsigned long *inferred;
	u32 ring_mask;
	u32 wq_post;
	u32 wq_send;
	u32 wq_done;
	u32 wq_reap;
	u32 next_psn;
	u32 cack;
	u32 high;
	u32 peer_ack;
	u32 tack;
	u32 window;
	u32 mpr_psn;
	u64 inflight;
	u32 n_out;
	u32 n_lost;
	bool drain;
	bool asked;
	u32 ask_psn;
	u32 wimm_out;
	u32 *rd_slot;
	u32 rd_mask;
	u16 rd_out;
	u16 rd_first;
	u16 rd_next;
	u8 nak_syn;
	u32 nak_psn;
	u8 doom;
	u32 doom_seq;
	u64 rnr_until;
	u64 rnr_at;
	u16 recv_done;
	u16 recv_limit;
	u16 recv_from;
	u16 recv_good;
	bool recv_limited;
	bool recv_told;
	u32 retries;
	u64 timer_at;
	u64 last_heard;
	u64 last_probe;
	u64 base_rtt;
	u64 srtt;
	u64 rtt_at;
	u64 rttvar;
	u64 slowest;
	u64 slowest_rtt;
	u32 rcvd_bytes;
	u16 msn;
	u16 rqmsn;
	u16 probe_id;
	bool probe_out;
	bool probe_now;
	u16 probe_out_id;
	u16 probe_out_ev;
	u64 probe_out_at;
	u64 stat_pkts;
	u64 stat_rtx;
	u64 stat_timeouts;
	u64 stat_port_bytes[MRC_MAX_PORTS + 1];
	/* private: of the engine */
	u32 peak;		/* most packets in flight since peak_at */
	u32 peak_before;	/* the same for the period before */
	u64 peak_at;
	unsigned long *spurious;	/* spurious retransmission counted */
	u8 pmtu_shift;
	u8 verdict;		/* last result of mrc_req_next() */
	u8 tail_probe_shift;	/* tail probes since the last feedback, saturating */
	bool rtx_last;		/* send the newest PSN again to get its ACK */
	u8 probe_pos;
	u64 tail_probe_at;		/* when to check whether a tail probe is due */
	u64 held_until;		/* no lost packet may be sent before; 0 = search */
	u64 charged_at;		/* last expiry of the retry timer that was charged */
	u64 reset_at;		/* time of progress after a charge: intervals restart */
	u64 cost_at;		/* last retry charged without a timer expiry */
	u64 stands_at;		/* since then cack has not advanced */
	u64 last_tx;		/* last data packet sent */
	u64 spread;		/* usual pause between packets, ns; 0 = none (OP-44) */
	u64 spread_until;	/* no data packet before; 0 = none waits */
	u8 trims;		/* of the only packet, since one arrived; saturating */
	u64 no_ev_at;		/* since then no EV is usable; 0 = not stalled */
	struct mrc_guard guard[MRC_GUARD_KINDS];
	struct mrc_plane *plane;	/* by port, cfg.n_ports + 1 */
	struct mrc_guard tack_lag;	/* transport ACKs behind the last feedback */
	u64 rtt_excess;		/* latest RTT sample beyond srtt of its plane */
	u32 rcvd_newest;	/* largest rcvd_bytes of any SACK */
	u64 first_rtt_at;	/* when the first RTT sample came */
	u8 samples;		/* RTT samples, saturating */
	u64 feedback_at;		/* last feedback that was not just a sign of life */
	u64 tail_at;		/* when to check for holes to probe for */
	u64 probe_by;		/* probe then even if mrc_req_tail_due() is later */
	u64 probed_at;		/* when a packet was last marked as asked */
	u64 overdue_at;		/* when packets missing in a probe reply are overdue */
	u32 held_to;		/* holes up to this PSN wait for their planes */
	u32 held_ports;		/* these planes, bit N = port N */
	u64 hole_due_at;		/* when the first of them counts as lost */
	bool again;		/* resent inferred losses await later packets */
	bool stuck;		/* the packet after cack was resent and lost again */
	u32 again_psn;		/* newest PSN when the first of these was resent */
	u32 again_ports;	/* planes that resent losses wait for, bit N = port N */
	u64 again_at;		/* when the first of those counts as lost */
	u64 confirm_at;		/* feedback on a retransmission is expected by then */
	struct mrc_probe_rec probe_log[MRC_PROBE_LOG];
};

/* Traffic class of a packet, §15; the shell maps it to a DSCP. */
enum mrc_tc {
	MRC_TC_DATA,		/* DSCP_NO_TRIM: data and probes */
	MRC_TC_TRIMMABLE,	/* first transmissions and probes */
	MRC_TC_TRIMMABLE_RETX,	/* retransmissions */
	MRC_TC_CONTROL,
	MRC_TC_MAX
};

/**
 * struct mrc_tx_desc - a packet to send
 * @hdr: complete, with ->pad; to be written by mrc_hdr_build()
 * @tc: enum mrc_tc
 * @ect: send ECT(0), else Not-ECT
 * @ev: EV index, -1 for control packets without an EV set
 * @port: local port to send through
 * @entropy: UDP source port and flow label, §11.2
 * @data: data packet; the members below are valid
 * @slot: send queue slot
 * @off: payload offset in the message
 * @len: payload bytes (hdr.pad zero bytes follow)
 */
struct mrc_tx_desc {
	struct mrc_hdr hdr;
	u8 tc;
	bool ect;
	int ev;
	u8 port;
	u32 entropy;
	bool data;
	u32 slot;
	u32 off;
	u32 len;
};

/* Why mrc_req_next() did or did not yield a packet. */
enum mrc_tx_verdict {
	MRC_TX_PACKET,
	MRC_TX_IDLE,		/* nothing to send */
	MRC_TX_WAIT_MPR,
	MRC_TX_WAIT_CWND,
	MRC_TX_WAIT_WIMM,
	MRC_TX_WAIT_EV,		/* no usable EV: all ports down or all EVs DENIED */
	MRC_TX_WAIT_HOLD,	/* NACK back-off, see mrc_req_deadline() */
	MRC_TX_ERROR,
	MRC_TX_WAIT_RD,		/* max_rd_atomic requests await answers */
	MRC_TX_WAIT_FENCE,	/* earlier requests await answers */
	MRC_TX_LOCAL,		/* desc->slot: mrc_req_local_done() is due */
	MRC_TX_WAIT_RECV,	/* the peer has no receive as far as is known */
};

/* Memory for @cfg, 0 if @cfg is invalid. */
size_t mrc_req_mem(const struct mrc_req_cfg *cfg);

/**
 * mrc_req_init - initialise
 * @req: the requester
 * @cfg: copied
 * @mem: mrc_req_mem(@cfg) zeroed bytes, 8-aligned, owned by the caller
 * @paths: the QP's EV set, initialised
 * @cc: the QP's congestion control, initialised
 *
 * Return: 0 or -EINVAL.
 */
int mrc_req_init(struct mrc_req *req, const struct mrc_req_cfg *cfg,
		 struct mrc_paths *paths, struct mrc_cc *cc, void *mem);

/* May another work request be posted? False if all sq_depth slots are occupied. */
bool mrc_req_can_post(const struct mrc_req *req);

/**
 * mrc_req_post - append a work request
 * @req: the requester
 * @wr: copied
 * @now: ns
 *
 * In MRC_REQ_ERROR the request is accepted and will be reaped with
 * MRC_WC_FLUSH. The slot stays occupied until it is reaped; the shell may keep
 * its own array parallel to it.
 *
 * Return: slot (0..sq_depth - 1), -ENOSPC when full, -EINVAL for a wrong length
 * or an op that is unknown or not allowed by the configuration.
 */
int mrc_req_post(struct mrc_req *req, const struct mrc_wr *wr, u64 now);

/**
 * mrc_req_next - next packet to send (data, retransmission or probe)
 * @req: the requester
 * @now: ns
 * @desc: valid with MRC_TX_PACKET; the packet counts as sent at @now. With MRC_TX_LOCAL
 *	only ->slot is valid: it names the local operation to execute now. The operation
 *	is yielded again until mrc_req_local_done(); no new packet goes before it
 *
 * Order: due probes, oldest lost packet, next new packet. A stall is counted when the
 * verdict is a stall and differs from the previous verdict.
 *
 * Return: whether there is a packet, or why not.
 */
enum mrc_tx_verdict mrc_req_next(struct mrc_req *req, u64 now,
				 struct mrc_tx_desc *desc);

/**
 * mrc_req_put_back - take back the packet yielded last, which cannot be sent now
 * @req: the requester
 * @desc: as yielded, MRC_TX_PACKET
 * @hold: when to yield the packet again, unless mrc_req_release() comes first
 * @now: ns
 *
 * The requester treats the packet as if it had not been sent: neither a loss nor a
 * retry is counted. Other packets may go before it.
 */
void mrc_req_put_back(struct mrc_req *req, const struct mrc_tx_desc *desc,
		      u64 hold, u64 now);

/* Packets that were put back may be sent now. */
void mrc_req_release(struct mrc_req *req);

/*
 * After each call: call mrc_req_reap() until it is empty and mrc_req_next() until there
 * is no packet; re-arm the timer from mrc_req_deadline().
 */
void mrc_req_on_sack(struct mrc_req *req, const struct mrc_hdr *h, u8 port,
		     u64 now);
void mrc_req_on_nack(struct mrc_req *req, const struct mrc_hdr *h, u8 port,
		     u64 now);
void mrc_req_on_ack(struct mrc_req *req, const struct mrc_hdr *h, u8 port,
		    u64 now);

/*
 * Send queue drain (IB spec, SQD). While @on, work requests that have begun are
 * finished and no other one begins. A request is finished by its answer.
 * mrc_req_drained(): no work request that has begun is unfinished.
 */
void mrc_req_set_drain(struct mrc_req *req, bool on);
bool mrc_req_drained(const struct mrc_req *req);

/*
 * Change retransmission attributes; ranges as in struct mrc_req_cfg. Only when nothing
 * is outstanding, see mrc_req_drained().
 */
void mrc_req_set_retry(struct mrc_req *req, u64 rto, u8 linear_cnt,
		       u8 exp_cnt, u8 rnr_retry);

/* Absolute time at which mrc_req_on_deadline() must be called. */
u64 mrc_req_deadline(const struct mrc_req *req);
void mrc_req_on_deadline(struct mrc_req *req, u64 now);

/**
 * mrc_req_timer_grid - how exact the timer for the deadline has to be
 * @calm: time since a deadline was due when the timer expired, ns
 *
 * A message that is sent alone sets the deadline of a tail probe (§9.5), about a round trip
 * ahead, and its ACK removes it. With an exact timer each such message costs an
 * interrupt at which nothing is due. So a deadline may be met late by an eighth of the time
 * for which no deadline was due, and by about a millisecond at most.
 *
 * Return: the timer may expire at the next multiple of this, ns, a power of two; 0: it has
 * to expire at the deadline.
 */
u32 mrc_req_timer_grid(u64 calm);

/*
 * Set the local ports that may send. If a port goes down with packets in flight on it,
 * a probe is sent at once through another port to learn which packets were lost.
 */
void mrc_req_set_ports(struct mrc_req *req, u32 ports_up, u64 now);

/* Apply a port status update of the peer, see mrc_paths_peer_status(). */
void mrc_req_peer_status(struct mrc_req *req, u32 word, u64 now);

/**
 * mrc_req_fail - enter MRC_REQ_ERROR
 * @req: the requester
 * @slot: the WR that gets @status; all later ones get MRC_WC_FLUSH; -1 = the oldest
 *	unfinished one
 * @status: MRC_WC_FLUSH when the QP is moved to ERROR for another reason
 *
 * The first completion with an error tells what went wrong. So a WR that is not the oldest
 * one fails when all before it have ended; until then nothing new is sent of it and of WRs
 * after it. A peer that refused it may have moved its queue pair to ERROR. So the first
 * retry that is charged without a NACK ends the wait. Without a retry timer there is none.
 * WRs before @slot that are unfinished then get MRC_WC_FLUSH.
 */
void mrc_req_fail(struct mrc_req *req, int slot, enum mrc_wc_status status);

/**
 * mrc_req_reap - take the oldest finished work request, in posting order
 * @req: the requester
 * @slot: its slot
 * @status: how it ended
 *
 * Return: false when none.
 */
bool mrc_req_reap(struct mrc_req *req, u32 *slot, enum mrc_wc_status *status);

/* Does the requester take work requests, i.e. is it neither reset nor failed? */
static inline bool mrc_req_ready(const struct mrc_req *req)
{
	return req->state == MRC_REQ_READY;
}

/* Is the QP in ERROR? Work requests posted from now on are flushed. */
static inline bool mrc_req_failed(const struct mrc_req *req)
{
	return req->state == MRC_REQ_ERROR;
}

/* Has the last packet of every posted work request been sent? */
static inline bool mrc_req_all_sent(const struct mrc_req *req)
{
	return req->wq_send == req->wq_post;
}

/* May requests (READ and atomic operations) be posted at all? */
static inline bool mrc_req_may_request(const struct mrc_req *req)
{
	return req->cfg.max_rd_atomic;
}

/* The number of the request in @slot of the send queue. */
static inline u16 mrc_req_request_num(const struct mrc_req *req, u32 slot)
{
	return req->wqe[slot].rqmsn;
}

/* The number of the request that the answer in @slot belongs to. */
static inline u16 mrc_req_answer_num(const struct mrc_req *req, u32 slot)
{
	return req->wqe[slot].wr.num;
}

/* State of the QP for a scheduler of QPs, §13.1 (names of UET). */
enum mrc_req_sched {
	MRC_SCHED_IDLE,		/* no work, nothing in flight */
	MRC_SCHED_ACTIVE,	/* work, the congestion window is closed */
	MRC_SCHED_READY,	/* work, the congestion window is open */
	MRC_SCHED_PENDING,	/* no work, packets in flight */
};

enum mrc_req_sched mrc_req_sched(const struct mrc_req *req);

/* Interval of retry attempt @k (1-based), §9.4; longer RTTs lengthen it (OP-23). */
u64 mrc_req_interval(const struct mrc_req_cfg *cfg, u32 k);

/* Consistency check for tests: NULL or what is wrong. */
const char *mrc_req_check(const struct mrc_req *req);

MRC_C_END

#include "mrc_req_ext.h"

#endif /* MRC_REQ_H */
