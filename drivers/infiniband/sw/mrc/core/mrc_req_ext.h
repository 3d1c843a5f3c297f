/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Requester: the part of the extension (Documentation/extension.md).
 * The engine can be built without it. Then every QP has MRC 1.0 only, and the functions
 * below do nothing.
 */
#ifndef MRC_REQ_EXT_H
#define MRC_REQ_EXT_H

#include "mrc_req.h"

MRC_C_BEGIN

#ifdef CONFIG_INFINIBAND_MRC_EXT

/**
 * mrc_req_local_done - the local operation that MRC_TX_LOCAL named was executed
 * @req: the requester
 * @slot: as yielded by mrc_req_next(). Any other slot is ignored, and so is every call
 *	in MRC_REQ_ERROR
 * @status: MRC_WC_SUCCESS, or the status with which the QP fails, as in mrc_req_fail()
 * @now: ns
 */
void mrc_req_local_done(struct mrc_req *req, u32 slot,
			enum mrc_wc_status status, u64 now);

/*
 * Answers come in the order of the requests, on another connection, and carry the
 * number of their request. mrc_req_oldest(): the slot of the oldest request that awaits
 * its answer. mrc_req_find(): the slot of request @num. Both return false if there is
 * none; only requests that were sent count.
 */
bool mrc_req_oldest(const struct mrc_req *req, u32 *slot);
bool mrc_req_find(const struct mrc_req *req, u16 num, u32 *slot);

/**
 * mrc_req_answered - the oldest request has its complete answer
 * @req: the requester
 * @now: ns
 *
 * The answer also acknowledges everything sent before the request. Nothing happens if
 * no request awaits an answer. The caller continues as after feedback.
 */
void mrc_req_answered(struct mrc_req *req, u64 now);

/* RNR back-off in ns that a peer asks for by its RNR timer code, 0..31 (IB spec). */
u64 mrc_rnr_time(u8 code);

/*
 * Change the number of requests that may await answers. Only when nothing is
 * outstanding. Return: 0, or -EINVAL if @max exceeds the memory of the configuration.
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
