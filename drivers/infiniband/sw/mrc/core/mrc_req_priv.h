/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Declarations shared by the files of the requester; not for the shell. */
#ifndef MRC_REQ_PRIV_H
#define MRC_REQ_PRIV_H

#include "mrc_req.h"
#include "mrc_bitmap.h"

MRC_C_BEGIN

/* States of struct mrc_tx_wqe. */
enum mrc_wqe_state {
	MRC_WQE_FREE = 0,
	MRC_WQE_POSTED,
	MRC_WQE_STARTED,	/* first packet sent */
	MRC_WQE_DONE,		/* ->status is final */
};

/*
 * Limit of the distance between new PSNs and the transport ACK. SACKs alone move the
 * window. Without this limit a peer that never acknowledges execution could drive the
 * PSN space beyond the 2^23 within which PSNs can be compared.
 */
#define MRC_TACK_RANGE		0x400000

/* An echoed timestamp is unambiguous up to 2^16 units of 128 ns, §13.2. */
#define MRC_ECHO_MAX_NS		8000000ull

/* A learnt guard is halved after this many round trips or least guard times. */
#define MRC_GUARD_HALF_LIFE		64
/*
 * A plane may be silent for this time, or for a quarter of the RTO if that is less,
 * before its holes count as losses. The processor that serves one plane may be taken
 * away for a scheduling tick while the other planes go on.
 */
#define MRC_LAG_NS		4000000ull
/* Least time after which the learnt stall time of a plane is halved. */
#define MRC_PAUSE_KEEP_NS	1000000000ull
/*
 * At most this many holes of a plane count as lost before half of the plane's time has
 * passed once more. A plane that only stood still delivers in that time, and its other
 * packets need not be sent again.
 */
#define MRC_LOSS_BURST		8
/* Upper limit of the guards if there is no RTO. */
#define MRC_GUARD_MAX_NS	64000000ull
/* Delay of the first tail probe before there is an RTT sample, §9.5 (a). */
#define MRC_PTO_FIRST_NS	1000000ull
/*
 * Added to the time of tail probes and of losses inferred from time alone, §9.5, at most
 * and at least, see mrc_req_floor().
 */
#define MRC_TAIL_FLOOR_NS	100000ull
#define MRC_TAIL_FLOOR_MIN_NS	10000ull
/* The timer's grid, see mrc_req_timer_grid(): powers of two. */
#define MRC_GRID_MIN_NS		(1u << 15)
#define MRC_GRID_MAX_NS		(1u << 20)
#define MRC_GRID_SHARE		8
/* Each tail probe without feedback doubles the interval, up to half an RTO. */
#define MRC_SILENCE_SHIFT_MAX	24
/* Upper limit of that interval if there is no RTO. */
#define MRC_PTO_MAX_NS		64000000ull
/*
 * The usual round trip is known after this many samples over this time, or after four
 * times as many samples. The samples of slow paths come last.
 */
#define MRC_LEARN_NS		32000000ull
#define MRC_LEARN_SAMPLES	16
/* A plane counts as keeping order after this many packets in order. */
#define MRC_IN_ORDER_MIN	255
/* Longest time without an RTT sample, ns, if messages go one at a time. */
#define MRC_ALONE_NS		1000000ull

static inline u64 mrc_max64(u64 a, u64 b)
{
	return a > b ? a : b;
}

/*
 * How much longer than usual a host may take to answer or to notice a deadline, ns:
 * MRC_TAIL_FLOOR_MIN_NS plus six times what the round trip exceeds this by, at most
 * MRC_TAIL_FLOOR_NS. Hosts with short round trips are fast.
 */
static inline u64 mrc_req_floor(const struct mrc_req *req)
{
	u64 t = MRC_TAIL_FLOOR_MIN_NS;

	if (!req->srtt)
		return MRC_TAIL_FLOOR_NS;
	if (req->srtt > MRC_TAIL_FLOOR_MIN_NS)
		t += 6 * (req->srtt - MRC_TAIL_FLOOR_MIN_NS);
	return t < MRC_TAIL_FLOOR_NS ? t : MRC_TAIL_FLOOR_NS;
}

/* @at may lie after @now: two processors may read the clock in another order. */
static inline u64 mrc_req_since(u64 at, u64 now)
{
	return now > at ? now - at : 0;
}

static inline struct mrc_tx_pkt *mrc_req_pkt(const struct mrc_req *req, u32 psn)
{
	return &req->pkt[psn & req->ring_mask];
}

static inline struct mrc_tx_wqe *mrc_req_wqe(const struct mrc_req *req, u32 seq)
{
	return &req->wqe[seq & (req->cfg.sq_depth - 1)];
}

static inline u32 mrc_req_newest(const struct mrc_req *req)
{
	return mrc_psn_add(req->next_psn, -1);
}

/* PSNs sent and not cumulatively acknowledged. */
static inline u32 mrc_req_span(const struct mrc_req *req)
{
	return (u32)mrc_psn_diff(mrc_req_newest(req), req->cack);
}

/* Is @psn sent and above cack? Its record and bits are valid then. */
static inline bool mrc_req_outstanding(const struct mrc_req *req, u32 psn)
{
	return mrc_psn_diff(psn, req->cack) > 0 &&
	       mrc_psn_diff(req->next_psn, psn) > 0;
}

/* The newest PSN that had been sent when @psn, whose record is @pkt, was last sent. */
static inline u32 mrc_req_sent_with(u32 psn, const struct mrc_tx_pkt *pkt)
{
	return mrc_psn_add(psn, pkt->ahead);
}

static inline bool mrc_req_is_acked(const struct mrc_req *req, u32 psn)
{
	return mrc_bit_test(req->acked, req->ring_mask, psn);
}

static inline bool mrc_req_is_lost(const struct mrc_req *req, u32 psn)
{
	return mrc_bit_test(req->lost, req->ring_mask, psn);
}

/*
 * Distance of the first PSN not known received from cack + 1; equal to
 * mrc_req_span() when all are.
 */
static inline u32 mrc_req_first_unacked(const struct mrc_req *req)
{
	return mrc_ring_next_clear(req->acked, req->ring_mask, req->cack + 1,
				   mrc_req_span(req));
}

static inline bool mrc_req_all_acked(const struct mrc_req *req)
{
	return mrc_req_first_unacked(req) == mrc_req_span(req);
}

/* PSNs of the widest window that there can be. */
static inline u32 mrc_req_window_max(const struct mrc_req_cfg *cfg)
{
	u32 mpr = cfg->dynamic_mpr && cfg->mpr_max ? cfg->mpr_max : cfg->mpr;

	return mpr * MRC_MPR_UNIT;
}

/*
 * MRC 1.0 §5.1, §5.2: is @psn within the range of the peer? With Dynamic MPR each SACK
 * offers a range, which counts from the cack_psn of this SACK. A transport ACK may have
 * moved cack since. The same range counted from the newer cack may be one that the peer
 * has reduced meanwhile. Only the smallest possible range is certain there.
 */
static inline bool mrc_req_admits(const struct mrc_req *req, u32 psn)
{
	if (!req->cfg.dynamic_mpr)
		return mrc_psn_diff(psn, req->cack) <= (s32)req->window;
	return mrc_psn_diff(psn, req->mpr_psn) <= (s32)req->window ||
	       mrc_psn_diff(psn, req->cack) <= MRC_MPR_UNIT;
}

/* Is the next new PSN too far ahead of the transport ACK? */
static inline bool mrc_req_tack_limit(const struct mrc_req *req)
{
	return mrc_psn_diff(req->next_psn, req->tack) > MRC_TACK_RANGE;
}

/*
 * Is anything but SACKs awaited? A message that was sent completely needs the transport
 * ACK, and so does the next new PSN (mrc_req_tack_limit()). cack must pass packets that
 * SACKs showed. It does so at once, except if such a SACK was wrong.
 */
static inline bool mrc_req_tack_pending(const struct mrc_req *req)
{
	return req->wq_done != req->wq_send || mrc_req_tack_limit(req) ||
	       mrc_req_span(req);
}

/*
 * Are all packets received while the peer still owes the transport ACK? Requests are
 * acknowledged by their answers.
 */
static inline bool mrc_req_tack_awaited(const struct mrc_req *req)
{
	return mrc_req_tack_pending(req) && !req->rd_out &&
	       mrc_req_all_acked(req) &&
	       mrc_psn_diff(mrc_req_newest(req), req->peer_ack) > 0;
}

/* Has @wqe, the head of the unsent work requests, begun? */
static inline bool mrc_req_begun(const struct mrc_tx_wqe *wqe)
{
	return wqe->state == MRC_WQE_STARTED;
}

/* Will @wqe take a receive of the peer, its first packet being unsent? */
static inline bool mrc_req_takes_recv(const struct mrc_tx_wqe *wqe)
{
	return !wqe->sent && mrc_wr_consumes_recv(wqe->wr.op);
}

/*
 * With @more in addition, are as many messages that take a receive in flight as the
 * peer can keep apart (OP-12)?
 */
static inline bool mrc_req_wimm_full(const struct mrc_req *req, u32 more)
{
	return req->wimm_out + more >= req->cfg.max_wimm;
}

/* The slot of the oldest request that awaits its answer; there must be one. */
static inline u32 mrc_req_rd_oldest(const struct mrc_req *req)
{
	return req->rd_slot[req->rd_first & req->rd_mask];
}

/* Forget which holes wait for their planes: check all holes again. */
static inline void mrc_req_unhold(struct mrc_req *req)
{
	req->held_to = req->cack;
	req->held_ports = 0;
	req->hole_due_at = MRC_NEVER;
}

/* Forget the resent inferred losses: none is in flight, or all are checked again. */
static inline void mrc_req_forget_copies(struct mrc_req *req)
{
	req->again = false;
	req->again_ports = 0;
	req->again_at = MRC_NEVER;
}

/*
 * Is @psn, sent for the first time, the only outstanding packet? Then the transport ACK
 * of its message makes a SACK unnecessary (§8.6), except that it does not tell the RTT,
 * that the path is good, or the peer's window. A SACK from time to time (MRC_ALONE_NS)
 * tells these. The responder reports congestion unasked and sends a SACK after as many
 * bytes as in a stream, §8.2.
 */
static inline bool mrc_req_alone(const struct mrc_req *req, u32 psn, u64 now)
{
	return req->srtt && now - req->rtt_at < MRC_ALONE_NS &&
	       mrc_psn_diff(psn, req->tack) == 1;
}

/* mrc_loss.c */
u32 mrc_req_loss_range(const struct mrc_req *req);
u64 mrc_req_loss_time(const struct mrc_req *req);
u64 mrc_req_lag(const struct mrc_req *req);
u64 mrc_req_guard_max(const struct mrc_req *req);
void mrc_req_lose(struct mrc_req *req, u32 psn, u8 cause, u64 hold, u64 now);
void mrc_req_infer_lost(struct mrc_req *req, u32 psn, enum mrc_guard_kind kind,
			u64 now);
void mrc_req_infer(struct mrc_req *req, u64 now);
void mrc_req_resent(struct mrc_req *req, u32 psn, u64 now);
void mrc_req_unneeded(struct mrc_req *req, u32 psn, u64 now);
void mrc_req_probe_holes(struct mrc_req *req, const struct mrc_seth *s,
			 const struct mrc_probe_rec *probe, u64 now);

/* mrc_req_fb.c */
void mrc_req_transport_ack(struct mrc_req *req, u32 psn, u64 now);
void mrc_req_complete(struct mrc_req *req);
void mrc_req_failure_due(struct mrc_req *req);
/* Do not wait any longer: fail if a work request is doomed. Return: one is. */
bool mrc_req_doom_ends(struct mrc_req *req);

/* Is @seq the work request that will fail, or one after it? */
static inline bool mrc_req_doomed(const struct mrc_req *req, u32 seq)
{
	return req->doom && (s32)(seq - req->doom_seq) >= 0;
}

static inline bool mrc_req_slot_doomed(const struct mrc_req *req, u32 slot)
{
	return mrc_req_doomed(req, req->wq_done + ((slot - req->wq_done) &
						   (req->cfg.sq_depth - 1)));
}

/* mrc_req_hdr.c */
bool mrc_req_wr_ok(const struct mrc_req_cfg *cfg, const struct mrc_wr *wr);
u32 mrc_req_payload(const struct mrc_wr *wr);
void mrc_req_data_hdr(const struct mrc_req *req, const struct mrc_tx_wqe *wqe,
		      u32 index, u64 now, struct mrc_tx_desc *desc);

#ifdef CONFIG_INFINIBAND_MRC_EXT

/* mrc_req_ext.c */
u32 mrc_req_rd_ring(const struct mrc_req_cfg *cfg);
enum mrc_tx_verdict mrc_req_ext_gate(const struct mrc_req *req,
				     const struct mrc_tx_wqe *wqe, u32 psn);
bool mrc_req_tests_recv(const struct mrc_req *req, const struct mrc_tx_wqe *wqe);
bool mrc_req_may_resend(const struct mrc_req *req, u32 psn);
void mrc_req_recv_done(struct mrc_req *req, const struct mrc_tx_wqe *wqe);
void mrc_req_recv_told(struct mrc_req *req, const struct mrc_hdr *h);
enum mrc_tx_verdict mrc_req_local(struct mrc_req *req,
				  struct mrc_tx_desc *desc);
void mrc_req_rd_started(struct mrc_req *req, struct mrc_tx_wqe *wqe, u32 slot,
			u8 port);
u32 mrc_req_tack_bound(const struct mrc_req *req);
bool mrc_req_awaits_answer(const struct mrc_req *req);
bool mrc_req_is_rnr(const struct mrc_req *req, const struct mrc_neth *n);
u64 mrc_req_page_wait(const struct mrc_req *req, u8 code, u64 took);
bool mrc_req_rnr(struct mrc_req *req, const struct mrc_tx_pkt *pkt, u8 code,
		 u64 *hold, u64 now);

#else /* CONFIG_INFINIBAND_MRC_EXT */

static inline u32 mrc_req_rd_ring(const struct mrc_req_cfg *cfg)
{
	return 0;
}

static inline enum mrc_tx_verdict
mrc_req_ext_gate(const struct mrc_req *req, const struct mrc_tx_wqe *wqe,
		 u32 psn)
{
	return MRC_TX_PACKET;
}

static inline bool mrc_req_tests_recv(const struct mrc_req *req,
				      const struct mrc_tx_wqe *wqe)
{
	return false;
}

static inline bool mrc_req_may_resend(const struct mrc_req *req, u32 psn)
{
	return true;
}

static inline void mrc_req_recv_done(struct mrc_req *req,
				     const struct mrc_tx_wqe *wqe)
{
}

static inline void mrc_req_recv_told(struct mrc_req *req,
				     const struct mrc_hdr *h)
{
}

/* Never called: mrc_req_wr_ok() refuses local operations. */
static inline enum mrc_tx_verdict mrc_req_local(struct mrc_req *req,
						struct mrc_tx_desc *desc)
{
	return MRC_TX_IDLE;
}

static inline void mrc_req_rd_started(struct mrc_req *req,
				      struct mrc_tx_wqe *wqe, u32 slot, u8 port)
{
}

static inline u32 mrc_req_tack_bound(const struct mrc_req *req)
{
	return req->peer_ack;
}

static inline bool mrc_req_awaits_answer(const struct mrc_req *req)
{
	return false;
}

static inline bool mrc_req_is_rnr(const struct mrc_req *req,
				  const struct mrc_neth *n)
{
	return false;
}

static inline u64 mrc_req_page_wait(const struct mrc_req *req, u8 code,
				    u64 took)
{
	return 0;
}

static inline bool mrc_req_rnr(struct mrc_req *req,
			       const struct mrc_tx_pkt *pkt, u8 code,
			       u64 *hold, u64 now)
{
	return true;
}

#endif /* CONFIG_INFINIBAND_MRC_EXT */

/* mrc_tail.c */
void mrc_req_plane_rtt(struct mrc_req *req, u8 port, u64 rtt, u64 now);
void mrc_req_plane_sent(struct mrc_req *req, u8 port, u32 psn, u64 now);
void mrc_req_plane_undo(struct mrc_req *req, u32 psn);
void mrc_req_arrived(struct mrc_req *req, u32 psn, u64 now);
void mrc_req_mark_probed(struct mrc_req *req, u8 via, u64 now);
u64 mrc_req_overdue(const struct mrc_req *req, u32 psn,
		    const struct mrc_probe_rec *probe, u64 now);
u64 mrc_req_tail_time(const struct mrc_req *req, u8 port, u64 now);
u64 mrc_req_order_time(const struct mrc_req *req, u8 port, u64 now);
u64 mrc_req_lag_time(const struct mrc_req *req, u8 port, u64 now);
void mrc_req_note_missing(struct mrc_req *req, const struct mrc_seth *s,
			  u64 now);
void mrc_req_check_holes(struct mrc_req *req, u64 now);
void mrc_req_slowest_update(struct mrc_req *req);
u64 mrc_req_pto(const struct mrc_req *req, bool tack);
void mrc_req_tack_came(struct mrc_req *req, u64 now);
u64 mrc_req_tail_due(const struct mrc_req *req, bool tack);

/* mrc_spread.c */
void mrc_req_spread_more(struct mrc_req *req, u64 now);
void mrc_req_spread_less(struct mrc_req *req);
void mrc_req_pause(struct mrc_req *req, u64 now);

/* A data packet was sent. */
static inline void mrc_req_spread_sent(struct mrc_req *req, u64 now)
{
	if (req->spread)
		mrc_req_pause(req, now);
}

/* Packets have arrived. */
static inline void mrc_req_spread_arrived(struct mrc_req *req)
{
	if (req->spread || req->trims)
		mrc_req_spread_less(req);
}

/* mrc_timer.c */
u64 mrc_req_retry_interval(const struct mrc_req *req, u32 k);
void mrc_req_await(struct mrc_req *req, u64 now);
void mrc_req_blocked(struct mrc_req *req, u64 now);
void mrc_req_arm(struct mrc_req *req, u64 now);
void mrc_req_rearm(struct mrc_req *req, bool news, u64 now);
void mrc_req_progress(struct mrc_req *req, u64 now);
bool mrc_req_charge(struct mrc_req *req);
bool mrc_req_charge_stuck(struct mrc_req *req, u64 now);

MRC_C_END

#endif /* MRC_REQ_PRIV_H */
