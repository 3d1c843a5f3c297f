/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Responder: the part of the extension (Documentation/extension.md).
 * The engine can be built without it. Then every QP has MRC 1.0 only, and the functions
 * below do nothing.
 */
#ifndef MRC_RESP_EXT_H
#define MRC_RESP_EXT_H

#include "mrc_resp.h"

MRC_C_BEGIN

#ifdef CONFIG_INFINIBAND_MRC_EXT

/*
 * mrc_resp_wants_rd(): does this packet need the ring of requests while @late_rd has
 * left the ring out? Then call mrc_resp_set_rd() with mrc_resp_rd_mem() zeroed bytes.
 * It does nothing if there is a ring.
 */
bool mrc_resp_wants_rd(const struct mrc_resp *resp, const struct mrc_rx *rx);
void mrc_resp_set_rd(struct mrc_resp *resp, void *mem);

/*
 * The same for @max_rd requests, even if none is accepted now: mrc_resp_give_rd() with
 * mrc_resp_rd_mem_for() zeroed bytes. mrc_resp_rd_slots_for(): for how many answers
 * there must be room then, see mrc_resp_rd_slots().
 */
void mrc_resp_give_rd(struct mrc_resp *resp, void *mem, u16 max_rd);
size_t mrc_resp_rd_mem_for(const struct mrc_resp *resp, u16 max_rd);
u32 mrc_resp_rd_slots_for(const struct mrc_resp *resp, u16 max_rd);

/*
 * How many executed requests may have unacknowledged answers. The caller needs room for
 * that many answers. The number exceeds @cfg.max_rd, because the peer may use an answer
 * to send the next request before this side knows that the answer arrived.
 */
u32 mrc_resp_rd_slots(const struct mrc_resp_cfg *cfg);

/**
 * mrc_resp_wants_recv - does this packet need a receive that was posted?
 * @resp: the responder
 * @rx: the packet
 * @n: how many receives must be posted beyond those of the messages delivered. The
 *	packet belongs to the last of them
 *
 * With the extension, call this before mrc_resp_on_data(). If the receives are not
 * posted, call mrc_resp_refuse_rnr() instead.
 *
 * Return: true only for packets that will be accepted: packets of a SEND, or the last
 * packet of a WRITE_IMM.
 */
bool mrc_resp_wants_recv(const struct mrc_resp *resp, const struct mrc_rx *rx,
			 u32 *n);

/**
 * mrc_resp_tells_recvs - is an ACK due that tells how far the receives reach?
 * @resp: the responder
 *
 * Call this before mrc_resp_next_feedback(). If it returns true, mrc_resp_set_recvs()
 * may follow: @n receives are posted beyond those of the messages delivered. Without
 * that call the ACK does not tell how far the receives reach.
 *
 * Return: true if such an ACK is due.
 */
bool mrc_resp_tells_recvs(const struct mrc_resp *resp);
void mrc_resp_set_recvs(struct mrc_resp *resp, u32 n);

/**
 * mrc_resp_next_req - next request to execute; all messages before it are executed
 * @resp: the responder
 * @rd: valid when true is returned; then mrc_resp_req_done() must follow. The key has
 *	not been checked. The rest is valid for the opcode and permitted by the QP: READ
 *	has @len <= 2^31, FLUSH has valid flags, the others have 8 bytes, aligned
 *
 * Return: false when there is none.
 */
bool mrc_resp_next_req(struct mrc_resp *resp, struct mrc_rd *rd);

/*
 * @syndrome: 0 if the request was executed and its answer is queued, else the NAK to
 * send.
 */
void mrc_resp_req_done(struct mrc_resp *resp, u8 syndrome);

/**
 * mrc_resp_req_failed - no answer can be sent to a request that was executed
 * @resp: the responder
 * @num: number of the request, as in struct mrc_rd
 * @syndrome: the NAK to send
 *
 * For example because a memory region was removed. The answers to earlier requests must
 * go on until mrc_resp_answered() was called for each; then the NAK is due. The answers
 * to later requests must not be sent any more. Nothing happens for a request that does
 * not wait for its answer. Whatever mrc_resp_next_recv() or mrc_resp_next_req() has
 * returned is no longer due.
 */
void mrc_resp_req_failed(struct mrc_resp *resp, u16 num, u8 syndrome);

/*
 * The answer to the oldest executed request was acknowledged. An ACK for messages
 * executed after that request may now be due, or a NAK.
 */
void mrc_resp_answered(struct mrc_resp *resp);

/*
 * Answer channel: number of answers that became complete since the last call, in the
 * order of the requests and without a gap.
 */
u32 mrc_resp_take_done(struct mrc_resp *resp);

#else /* CONFIG_INFINIBAND_MRC_EXT */

static inline bool mrc_resp_wants_rd(const struct mrc_resp *resp,
				     const struct mrc_rx *rx)
{
	return false;
}

static inline void mrc_resp_set_rd(struct mrc_resp *resp, void *mem)
{
}

static inline void mrc_resp_give_rd(struct mrc_resp *resp, void *mem, u16 max_rd)
{
}

static inline size_t mrc_resp_rd_mem_for(const struct mrc_resp *resp, u16 max_rd)
{
	return 0;
}

static inline u32 mrc_resp_rd_slots_for(const struct mrc_resp *resp, u16 max_rd)
{
	return 0;
}

static inline u32 mrc_resp_rd_slots(const struct mrc_resp_cfg *cfg)
{
	return 0;
}

static inline bool mrc_resp_wants_recv(const struct mrc_resp *resp,
				       const struct mrc_rx *rx, u32 *n)
{
	return false;
}

static inline bool mrc_resp_tells_recvs(const struct mrc_resp *resp)
{
	return false;
}

static inline void mrc_resp_set_recvs(struct mrc_resp *resp, u32 n)
{
}

static inline bool mrc_resp_next_req(struct mrc_resp *resp, struct mrc_rd *rd)
{
	return false;
}

static inline void mrc_resp_req_done(struct mrc_resp *resp, u8 syndrome)
{
}

static inline void mrc_resp_req_failed(struct mrc_resp *resp, u16 num,
				       u8 syndrome)
{
}

static inline void mrc_resp_answered(struct mrc_resp *resp)
{
}

static inline u32 mrc_resp_take_done(struct mrc_resp *resp)
{
	return 0;
}

#endif /* CONFIG_INFINIBAND_MRC_EXT */

MRC_C_END

#endif /* MRC_RESP_EXT_H */
