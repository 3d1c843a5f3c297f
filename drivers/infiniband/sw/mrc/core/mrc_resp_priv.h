/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Declarations shared by the files of the responder. */
#ifndef MRC_RESP_PRIV_H
#define MRC_RESP_PRIV_H

#include "mrc_resp.h"

MRC_C_BEGIN

static inline void mrc_resp_count(struct mrc_resp *resp,
				  const struct mrc_rx *rx, enum mrc_counter id)
{
	mrc_ctr_add(resp->cfg.ctr, rx->port, id, 1);
}

/* Number of executed requests with unacknowledged answers; limited by the ring. */
static inline u16 mrc_resp_unanswered(const struct mrc_resp *resp)
{
	return (u16)(resp->rd_next - resp->rd_oldest);
}

/*
 * Highest PSN that a transport ACK may cover. The peer completes a request by its
 * answer, and in order. So the ACK stops before the oldest request whose answer is not
 * acknowledged.
 */
static inline u32 mrc_resp_ackable(const struct mrc_resp *resp)
{
	if (!mrc_resp_unanswered(resp))
		return resp->exec;
	return mrc_psn_add(resp->rd[resp->rd_oldest & resp->rd_mask].psn, -1);
}

/*
 * A message that deserves an ACK was executed. If answers are outstanding,
 * mrc_resp_answered() makes the ACK due.
 */
static inline void mrc_resp_owe_ack(struct mrc_resp *resp)
{
	if (!mrc_resp_unanswered(resp))
		resp->fb.ack = true;
}

/*
 * Has exec stopped for good before the first error, with all PSNs up to the error
 * received?
 */
static inline bool mrc_resp_at_error(const struct mrc_resp *resp)
{
	return resp->err_syn && !resp->nak_sent && !resp->recv_due &&
	       !resp->rd_due &&
	       mrc_psn_diff(resp->err_psn, resp->exec) == 1 &&
	       mrc_psn_diff(resp->cack, resp->err_psn) >= 0;
}

/*
 * Does the NAK wait for answers? This may take long. Meanwhile duplicates and probes
 * are handled as usual, so that the peer does not take this side for dead.
 */
static inline bool mrc_resp_nak_held(const struct mrc_resp *resp)
{
	return mrc_resp_unanswered(resp) && mrc_resp_at_error(resp);
}

/* Number of messages that may be stashed. */
static inline u16 mrc_resp_depth(const struct mrc_resp_cfg *cfg)
{
	return cfg->ans ? cfg->max_rd : cfg->max_wimm;
}

/* How far above cack a PSN may be; at most the size of the ring. */
static inline s32 mrc_resp_room(const struct mrc_resp *resp)
{
	return mrc_psn_diff(resp->edge, resp->cack);
}

/* Distance from cack of a packet in the list of placements; windows are below 2^15. */
static inline s32 mrc_resp_place_at(const struct mrc_resp *resp, u32 i)
{
	return (u16)(resp->place[i] - (u16)resp->cack);
}

/* mrc_resp.c */
void mrc_resp_error(struct mrc_resp *resp, u32 psn, u8 syndrome);
bool mrc_resp_is_new(const struct mrc_resp *resp, const struct mrc_rx *rx);
u8 mrc_resp_check_req(const struct mrc_resp *resp, const struct mrc_hdr *h,
		      u32 flags);

/* mrc_resp_order.c */
u8 mrc_resp_stash(struct mrc_resp *resp, const struct mrc_rx *rx);
void mrc_resp_pass(struct mrc_resp *resp, u32 psn);
void mrc_resp_unmark(struct mrc_resp *resp, u32 psn);
void mrc_resp_execute(struct mrc_resp *resp);

#ifdef CONFIG_INFINIBAND_MRC_EXT

/* mrc_resp_ext.c */
u8 mrc_resp_check_ext(const struct mrc_resp *resp, const struct mrc_hdr *h,
		      u32 flags);
u8 mrc_resp_take_ext(struct mrc_resp *resp, const struct mrc_rx *rx, u32 flags,
		     bool *place);
bool mrc_resp_rd_full(const struct mrc_resp *resp, const struct mrc_hdr *h,
		      u32 flags);
bool mrc_resp_rd_at(const struct mrc_resp *resp, u32 psn);
void mrc_resp_next_answer(struct mrc_resp *resp);
const char *mrc_resp_check_rd(const struct mrc_resp *resp);

#else /* CONFIG_INFINIBAND_MRC_EXT */

static inline u8 mrc_resp_check_ext(const struct mrc_resp *resp,
				    const struct mrc_hdr *h, u32 flags)
{
	return MRC_SYN_NAK_INV_REQ;
}

static inline u8 mrc_resp_take_ext(struct mrc_resp *resp,
				   const struct mrc_rx *rx, u32 flags,
				   bool *place)
{
	*place = false;
	return MRC_SYN_NAK_INV_REQ;
}

static inline bool mrc_resp_rd_full(const struct mrc_resp *resp,
				    const struct mrc_hdr *h, u32 flags)
{
	return false;
}

static inline bool mrc_resp_rd_at(const struct mrc_resp *resp, u32 psn)
{
	return false;
}

static inline void mrc_resp_next_answer(struct mrc_resp *resp)
{
}

static inline const char *mrc_resp_check_rd(const struct mrc_resp *resp)
{
	return NULL;
}

#endif /* CONFIG_INFINIBAND_MRC_EXT */

MRC_C_END

#endif /* MRC_RESP_PRIV_H */
