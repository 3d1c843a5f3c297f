// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Responder: execution in order of PSNs, the stash of WRITE_IMMs and SENDs, and their
 * delivery. MRC 1.0 §7.4, §10.
 */
#include "mrc_resp_priv.h"
#include "mrc_bitmap.h"

/* Keep the immediate until everything before it is executed, §7.4. */
u8 mrc_resp_stash(struct mrc_resp *resp, const struct mrc_rx *rx)
{
	const struct mrc_hdr *h = rx->hdr;
	struct mrc_recv_msg *imm = &resp->stash[h->rqmsn & resp->stash_mask];

	if ((u16)(h->rqmsn - resp->rqmsn) >= resp->cfg.max_wimm || imm->used) {
		mrc_resp_count(resp, rx, MRC_CTR_ERR_WIMM_LIMIT);
		return MRC_SYN_NAK_INV_REQ;
	}
	imm->used = true;
	imm->last = true;
	imm->left = 0;
	imm->kind = MRC_RECV_WRITE_IMM;
	imm->psn = h->psn & MRC_PSN_MASK;
	imm->rqmsn = h->rqmsn;
	imm->imm = h->reth.imm;
	imm->se = h->se;
	imm->len = h->payload_len ? h->reth.dmalen : 0;
	return 0;
}

/* exec reached a packet at which it must stop: set what is due there. */
static void mrc_resp_stop(struct mrc_resp *resp, u32 psn)
{
	const struct mrc_recv_msg *imm;

	if (resp->stash) {
		imm = &resp->stash[resp->rqmsn & resp->stash_mask];
		if (imm->used && imm->last && imm->psn == psn && !imm->left) {
			resp->recv_due = true;
			return;
		}
	}
	if (mrc_resp_rd_at(resp, psn)) {
		resp->rd_due = true;
		return;
	}
	/* METH.rqmsn does not increase by one, OP-11, or packets are missing. */
	mrc_ctr_add(resp->cfg.ctr, resp->fb.port, MRC_CTR_ERR_INV_REQ, 1);
	mrc_resp_error(resp, psn, MRC_SYN_NAK_INV_REQ);
}

/* The message that ends at @psn, where exec had stopped, was executed. */
void mrc_resp_pass(struct mrc_resp *resp, u32 psn)
{
	resp->exec = psn;
	resp->acked = false;
	resp->msn = (resp->msn + 1) & 0xFFFFFF;
}

void mrc_resp_unmark(struct mrc_resp *resp, u32 psn)
{
	mrc_bit_clear(resp->stop_map, resp->ring_mask, psn);
	mrc_bit_clear(resp->last_map, resp->ring_mask, psn);
	mrc_bit_clear(resp->ack_map, resp->ring_mask, psn);
}

/*
 * Move exec towards cack, over plain packets at once, up to a packet that must be
 * delivered or executed first, or up to the first error.
 */
void mrc_resp_execute(struct mrc_resp *resp)
{
	const u32 mask = resp->ring_mask;

	while (!resp->recv_due && !resp->rd_due) {
		u32 n = (u32)mrc_psn_diff(resp->cack, resp->exec);
		u32 from = mrc_psn_add(resp->exec, 1);
		u32 k, lasts;

		if (resp->err_syn) {
			s32 stop = mrc_psn_diff(resp->err_psn, from);

			if (stop < (s32)n)
				n = (u32)stop;
		}
		if (!n)
			return;
		k = mrc_ring_next_set(resp->stop_map, mask, from, n);
		lasts = mrc_ring_weight(resp->last_map, mask, from, k);
		if (lasts || mrc_ring_next_set(resp->ack_map, mask, from, k) < k)
			mrc_resp_owe_ack(resp);
		resp->msn = (resp->msn + lasts) & 0xFFFFFF;
		mrc_ring_clear(resp->last_map, mask, from, k);
		mrc_ring_clear(resp->ack_map, mask, from, k);
		resp->exec = mrc_psn_add(resp->exec, (s32)k);
		resp->acked = false;
		if (k == n)
			continue;
		mrc_resp_stop(resp, mrc_psn_add(from, (s32)k));
		/* A complete answer needs no action of the caller. */
		if (resp->recv_due && resp->cfg.ans) {
			mrc_resp_next_answer(resp);
			mrc_resp_owe_ack(resp);
		}
	}
}

bool mrc_resp_next_recv(struct mrc_resp *resp, struct mrc_recv_msg *imm)
{
	if (!resp->recv_due || resp->nak_sent)
		return false;
	*imm = resp->stash[resp->rqmsn & resp->stash_mask];
	return true;
}

void mrc_resp_recv_done(struct mrc_resp *resp, u8 syndrome)
{
	const u32 psn = mrc_psn_add(resp->exec, 1);
	struct mrc_recv_msg *imm;
	u8 kind;

	if (!resp->recv_due)
		return;
	imm = &resp->stash[resp->rqmsn & resp->stash_mask];
	resp->recv_due = false;
	kind = imm->kind;
	imm->used = false;
	mrc_resp_unmark(resp, psn);
	if (syndrome) {
		mrc_ctr_add(resp->cfg.ctr, resp->fb.port,
			    syndrome == MRC_SYN_NAK_REM_OP ?
			    MRC_CTR_ERR_REM_OP :
			    syndrome == MRC_SYN_NAK_ACCESS ?
			    MRC_CTR_ERR_ACCESS : MRC_CTR_ERR_NO_RECV, 1);
		mrc_resp_error(resp, psn, syndrome);
		return;
	}
	mrc_ctr_add(resp->cfg.ctr, resp->fb.port,
		    kind == MRC_RECV_WRITE_IMM ? MRC_CTR_RX_WIMM :
						 MRC_CTR_RX_SEND, 1);
	resp->rqmsn++;
	mrc_resp_pass(resp, psn);
	mrc_resp_owe_ack(resp);
	mrc_resp_execute(resp);
}
