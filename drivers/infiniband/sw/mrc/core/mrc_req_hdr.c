// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requester: valid work requests, and the headers of their packets. MRC 1.0 §3, §4, and
 * the extension (Documentation/extension.md).
 */
#include "mrc_req_priv.h"

/* Opcodes of the packets of a message; a message of one packet uses @only. */
struct mrc_msg_ops {
	u8 first;
	u8 middle;
	u8 last;
	u8 only;
};

static const struct mrc_msg_ops mrc_msg_ops[MRC_WR_MAX] = {
	[MRC_WR_WRITE] = {
		MRC_OP_WRITE_FIRST, MRC_OP_WRITE_MIDDLE,
		MRC_OP_WRITE_LAST, MRC_OP_WRITE_ONLY,
	},
	[MRC_WR_WRITE_IMM] = {
		MRC_OP_WRITE_FIRST, MRC_OP_WRITE_MIDDLE,
		MRC_OP_WRITE_LAST_IMM, MRC_OP_WRITE_ONLY_IMM,
	},
	[MRC_WR_SEND] = {
		MRC_OP_SEND_FIRST, MRC_OP_SEND_MIDDLE,
		MRC_OP_SEND_LAST, MRC_OP_SEND_ONLY,
	},
	[MRC_WR_SEND_IMM] = {
		MRC_OP_SEND_FIRST, MRC_OP_SEND_MIDDLE,
		MRC_OP_SEND_LAST_IMM, MRC_OP_SEND_ONLY_IMM,
	},
	[MRC_WR_SEND_INV] = {
		MRC_OP_SEND_FIRST, MRC_OP_SEND_MIDDLE,
		MRC_OP_SEND_LAST_INV, MRC_OP_SEND_ONLY_INV,
	},
	[MRC_WR_READ] = { .only = MRC_OP_READ_REQ },
	[MRC_WR_CMP_SWAP] = { .only = MRC_OP_CMP_SWAP },
	[MRC_WR_FETCH_ADD] = { .only = MRC_OP_FETCH_ADD },
	[MRC_WR_ATOMIC_WRITE] = { .only = MRC_OP_ATOMIC_WRITE },
	[MRC_WR_FLUSH] = { .only = MRC_OP_FLUSH },
	[MRC_WR_ANSWER] = {
		MRC_OP_READ_RESP_FIRST, MRC_OP_READ_RESP_MIDDLE,
		MRC_OP_READ_RESP_LAST, MRC_OP_READ_RESP_ONLY,
	},
	[MRC_WR_ANSWER_ATOMIC] = { .only = MRC_OP_ATOMIC_RESP },
};

/* Is the length valid for the operation? */
static bool mrc_req_len_ok(const struct mrc_wr *wr)
{
	switch (wr->op) {
	case MRC_WR_CMP_SWAP:
	case MRC_WR_FETCH_ADD:
	case MRC_WR_ATOMIC_WRITE:
	case MRC_WR_ANSWER_ATOMIC:
		return wr->len == MRC_ATOMIC_LEN;
	default:
		return wr->len <= MRC_MAX_MSG;
	}
}

/* May @wr be posted to a requester of @cfg? */
bool mrc_req_wr_ok(const struct mrc_req_cfg *cfg, const struct mrc_wr *wr)
{
	if (wr->op >= MRC_WR_MAX || !mrc_req_len_ok(wr) ||
	    mrc_wr_is_answer(wr->op) != cfg->ans)
		return false;
	if (wr->op == MRC_WR_WRITE || wr->op == MRC_WR_WRITE_IMM)
		return true;
#ifdef CONFIG_INFINIBAND_MRC_EXT
	if (wr->op == MRC_WR_LOCAL)
		return true;
#endif
	return cfg->ext && (!mrc_wr_is_request(wr->op) || cfg->max_rd_atomic);
}

/*
 * Payload bytes in the packets of @wr. The length of a request is that of its answer or
 * of a remote range.
 */
u32 mrc_req_payload(const struct mrc_wr *wr)
{
	return mrc_wr_is_request(wr->op) || wr->op == MRC_WR_LOCAL ? 0 :
								    wr->len;
}

static u8 mrc_req_opcode(const struct mrc_tx_wqe *wqe, u32 index)
{
	const struct mrc_msg_ops *ops = &mrc_msg_ops[wqe->wr.op];

	if (wqe->npkts == 1)
		return ops->only;
	if (!index)
		return ops->first;
	return index + 1 < wqe->npkts ? ops->middle : ops->last;
}

static void mrc_req_reth(const struct mrc_wr *wr, u32 off, u32 flags,
			 struct mrc_reth *r)
{
	if (mrc_wr_is_request(wr->op)) {
		r->va = wr->va;
		r->rkey = wr->rkey;
		r->dmalen = wr->len;
	} else if (flags & MRC_OPF_EXT) {
		/*
		 * The responder chooses the memory: RETH.va is the offset in the
		 * message.
		 */
		r->va = off;
		r->rkey = flags & MRC_OPF_INV ? wr->rkey : 0;
		r->dmalen = wr->len;
	} else if (wr->len) {
		r->va = wr->va + off;
		r->rkey = wr->rkey;
		r->dmalen = wr->len;
	}
	if (flags & MRC_OPF_IMM)
		r->imm = wr->imm;
}

/* Set only the operands that the operation uses; the header is zeroed. */
static void mrc_req_opeth(const struct mrc_wr *wr, struct mrc_opeth *o)
{
	if (wr->op != MRC_WR_FETCH_ADD)
		o->swap = wr->swap;
	if (wr->op == MRC_WR_CMP_SWAP || wr->op == MRC_WR_FETCH_ADD)
		o->compare = wr->compare;
}

/**
 * mrc_req_data_hdr - headers and payload of a packet, all but its PSN
 * @req: requester
 * @wqe: its message
 * @index: number of the packet in the message
 * @now: ns
 * @desc: zeroed
 */
void mrc_req_data_hdr(const struct mrc_req *req, const struct mrc_tx_wqe *wqe,
		      u32 index, u64 now, struct mrc_tx_desc *desc)
{
	const struct mrc_wr *wr = &wqe->wr;
	struct mrc_hdr *h = &desc->hdr;
	u32 left, flags;

	desc->off = index << req->pmtu_shift;
	left = mrc_req_payload(wr) - desc->off;
	desc->len = left < req->cfg.pmtu ? left : req->cfg.pmtu;
	h->opcode = mrc_req_opcode(wqe, index);
	flags = mrc_op_info(h->opcode)->flags;
	h->pad = (u8)(-desc->len & 3);
	h->se = flags & MRC_OPF_LAST && wr->se && mrc_wr_consumes_recv(wr->op);
	h->ans = req->cfg.ans;
	h->pkey = req->cfg.pkey;
	h->dqp = req->cfg.dqpn;
	h->msn = wqe->msn;
	h->rqmsn = wqe->rqmsn;
	if (req->cfg.use_ts) {
		h->ts = true;
		h->tstamp = (u16)(now >> MRC_TS_SHIFT);
		h->ftype = MRC_TS_FTYPE;
	}
	mrc_req_reth(wr, desc->off, flags, &h->reth);
	if (flags & MRC_OPF_OPERAND)
		mrc_req_opeth(wr, &h->opeth);
	h->payload_len = desc->len;
	h->hdr_len = (u16)mrc_hdr_len(h);
}
