/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Requester: what only the extension has (Documentation/extension.md).
 * The engine can be built without it: then every QP is one of MRC 1.0, and
 * nothing of this happens.
 */
#ifndef MRC_REQ_EXT_H
#define MRC_REQ_EXT_H

#include "mrc_req.h"

MRC_C_BEGIN

#ifdef CONFIG_INFINIBAND_MRC_EXT

/**
 * mrc_req_local_done - the local operation that MRC_TX_LOCAL named was executed
 * @req: the requester
 * @slot: as yielded; anything else, and all in MRC_REQ_ERROR, is ignored
 * @status: MRC_WC_SUCCESS, or why the QP fails, as by mrc_req_fail()
 * @now: ns
 */
void mrc_req_local_done(struct mrc_req *req, u32 slot,
			enum mrc_wc_status status, u64 now);

/*
 * Answers. They come in the order of the requests, on another connection that
 * tells which request number they have. oldest: the slot of the first request
 * that awaits its answer; find: that of request @num. False when there is none:
 * only requests that were sent count.
 */
bool mrc_req_oldest(const struct mrc_req *req, u32 *slot);
bool mrc_req_find(const struct mrc_req *req, u16 num, u32 *slot);

/**
 * mrc_req_answered - the oldest request has its complete answer
 * @req: the requester
 * @now: ns
 *
 * That also acknowledges all before it. Nothing happens when no request awaits
 * an answer. Afterwards as after feedback.
 */
void mrc_req_answered(struct mrc_req *req, u64 now);

/* How long a peer asks to wait by its RNR timer code, 0..31 (IB spec), ns. */
u64 mrc_rnr_time(u8 code);

/*
 * Another number of requests that may await answers, likewise. Return: -EINVAL
 * for more than there is memory for, which is that of the configuration.
 */
int mrc_req_set_rd_atomic(struct mrc_req *req, u8 max);

#else /* CONFIG_INFINIBAND_MRC_EXT */

static inline void mrc_req_local_done(struct mrc_req *req, u32 slot,
				      enum mrc_wc_status status, u64 now)
{
}

static inline bool mrc_req_oldest(const struct mrc_req *req, u32 *slot)
{
	return false;
}

static inline bool mrc_req_find(const struct mrc_req *req, u16 num, u32 *slot)
{
	return false;
}

static inline void mrc_req_answered(struct mrc_req *req, u64 now)
{
}

static inline u64 mrc_rnr_time(u8 code)
{
	return 0;
}

static inline int mrc_req_set_rd_atomic(struct mrc_req *req, u8 max)
{
	return max ? -EINVAL : 0;
}

#endif /* CONFIG_INFINIBAND_MRC_EXT */

MRC_C_END

#endif /* MRC_REQ_EXT_H */
