/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Responder: what only the extension has (Documentation/extension.md).
 * The engine can be built without it: then every QP is one of MRC 1.0, and
 * nothing of this happens.
 */
#ifndef MRC_RESP_EXT_H
#define MRC_RESP_EXT_H

#include "mrc_resp.h"

MRC_C_BEGIN

#ifdef CONFIG_INFINIBAND_MRC_EXT

/*
 * Does this packet need the ring of requests, and has @late_rd left it out? Then give
 * it mrc_resp_rd_mem() zeroed bytes; nothing if there is a ring.
 */
bool mrc_resp_wants_rd(const struct mrc_resp *resp, const struct mrc_rx *rx);
void mrc_resp_set_rd(struct mrc_resp *resp, void *mem);

/*
 * The same for as many requests as @max_rd, even if none is let in for now; memory for
 * these, and for how many answers there must be room then, see mrc_resp_rd_slots().
 */
void mrc_resp_give_rd(struct mrc_resp *resp, void *mem, u16 max_rd);
size_t mrc_resp_rd_mem_for(const struct mrc_resp *resp, u16 max_rd);
u32 mrc_resp_rd_slots_for(const struct mrc_resp *resp, u16 max_rd);

/*
 * How many requests may have been executed without that their answers were
 * acknowledged: room for that many answers must be there. More than @cfg.max_rd
 * because the peer has an answer before this side knows that.
 */
u32 mrc_resp_rd_slots(const struct mrc_resp_cfg *cfg);

/**
 * mrc_resp_wants_recv - does this packet need a receive that was posted?
 * @resp: the responder
 * @rx: the packet
 * @n: how many receives beyond those of the messages delivered must be there:
 *	the packet belongs to the last of them
 *
 * With the extension, to be asked before mrc_resp_on_data(). If the receives are
 * not there: mrc_resp_refuse_rnr().
 *
 * Return: true only for packets that will be accepted: of a SEND, or the last one
 * of a WRITE_IMM.
 */
bool mrc_resp_wants_recv(const struct mrc_resp *resp, const struct mrc_rx *rx,
			 u32 *n);

/**
 * mrc_resp_tells_recvs - is an ACK due that says how far the receives reach?
 * @resp: the responder
 *
 * To be asked before mrc_resp_next_feedback(). Then mrc_resp_set_recvs() may
 * follow: @n receives are posted beyond those of the messages delivered. Without
 * it the ACK says nothing of them.
 *
 * Return: true if such an ACK is due.
 */
bool mrc_resp_tells_recvs(const struct mrc_resp *resp);
void mrc_resp_set_recvs(struct mrc_resp *resp, u32 n);

/**
 * mrc_resp_next_req - next request to execute; all before it has been
 * @resp: the responder
 * @rd: valid when true is returned; then mrc_resp_req_done() must follow. Of
 *	the key nothing was checked, of the rest what the opcode and the QP's
 *	permissions say: @len <= 2^31 for READ; flags of FLUSH; 8 bytes,
 *	aligned, for the others
 *
 * Return: false when there is none.
 */
bool mrc_resp_next_req(struct mrc_resp *resp, struct mrc_rd *rd);

/* @syndrome: 0 = executed and the answer is queued, else the NAK to send. */
void mrc_resp_req_done(struct mrc_resp *resp, u8 syndrome);

/**
 * mrc_resp_req_failed - no answer can be sent to a request that was executed
 * @resp: the responder
 * @num: struct mrc_rd
 * @syndrome: the NAK to send
 *
 * A memory region that went away, say. The answers of earlier requests must go
 * on until mrc_resp_answered() was called for each; then the NAK is due. Those
 * of later ones must not be sent any more. Nothing for a request that is not
 * waiting for its answer. What mrc_resp_next_imm() or mrc_resp_next_req() has
 * returned is not due any more.
 */
void mrc_resp_req_failed(struct mrc_resp *resp, u16 num, u8 syndrome);

/*
 * The answer of the oldest request executed was acknowledged. An ACK for what
 * was executed after that request may be due then, or a NAK.
 */
void mrc_resp_answered(struct mrc_resp *resp);

/*
 * Answer channel: how many answers became complete since the last call, in the
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
