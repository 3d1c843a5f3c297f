// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Unreliable connections: how packets form messages. */
#include "mrc_psn.h"
#include "mrc_uc.h"

static u8 uc_opcode_of(bool write, bool first, bool last, bool with_imm)
{
	u8 op = write ? MRC_UC_WRITE_FIRST : MRC_UC_SEND_FIRST;

	if (first && last)
		op += MRC_UC_SEND_ONLY - MRC_UC_SEND_FIRST;
	else if (last)
		op += MRC_UC_SEND_LAST - MRC_UC_SEND_FIRST;
	else if (!first)
		op += MRC_UC_SEND_MIDDLE - MRC_UC_SEND_FIRST;
	return op + (last && with_imm);
}

void mrc_uc_tx_begin(struct mrc_uc_tx *tx)
{
	mrc_assert(!tx->active && tx->len <= MRC_UC_MAX_MSG);
	tx->active = true;
	tx->off = 0;
}

void mrc_uc_tx_abort(struct mrc_uc_tx *tx)
{
	tx->active = false;
}

bool mrc_uc_tx_next(struct mrc_uc_tx *tx, struct mrc_hdr *h, u32 *off)
{
	u32 left = tx->len - tx->off;
	bool first = !tx->off, last = left <= tx->pmtu;

	if (!tx->active)
		return false;
	memset(h, 0, sizeof(*h));
	h->opcode = uc_opcode_of(tx->write, first, last, tx->with_imm);
	h->payload_len = last ? left : tx->pmtu;
	h->pad = -h->payload_len & 3;
	h->pkey = tx->pkey;
	h->dqp = tx->dqp;
	h->psn = tx->psn;
	if (tx->write && first) {
		h->reth.va = tx->va;
		h->reth.rkey = tx->rkey;
		h->reth.dmalen = tx->len;
	}
	if (last) {
		h->se = tx->se;
		h->reth.imm = tx->imm;
		tx->active = false;
	}
	*off = tx->off;
	tx->off += h->payload_len;
	tx->psn = mrc_psn_add(tx->psn, 1);
	return true;
}

void mrc_uc_rx_abort(struct mrc_uc_rx *rx)
{
	rx->active = false;
}

/* Is @len valid for a packet at the current offset of the message? */
static bool uc_len_ok(const struct mrc_uc_rx *rx, u32 len, bool first, bool last)
{
	if (last ? len > rx->pmtu : len != rx->pmtu)
		return false;
	if (last && !first && !len)
		return false;
	if (!rx->write)
		return len <= MRC_UC_MAX_MSG - rx->off;
	if (rx->len > MRC_UC_MAX_MSG)
		return false;
	return last ? len == rx->len - rx->off : len < rx->len - rx->off;
}

void mrc_uc_rx_packet(struct mrc_uc_rx *rx, const struct mrc_hdr *h,
		      struct mrc_uc_in *in)
{
	u32 flags = mrc_roce_op_info(h->opcode)->flags;
	bool first = flags & MRC_OPF_FIRST, last = flags & MRC_OPF_LAST;
	bool write = !(flags & MRC_OPF_SEND);
	bool expected = h->psn == rx->psn;
	bool was = rx->active;

	in->broken = false;
	in->drop = -1;
	in->off = 0;
	rx->psn = mrc_psn_add(h->psn, 1);
	if (first) {
		in->broken = was;
		rx->active = true;
		rx->write = write;
		rx->off = 0;
		rx->len = h->reth.dmalen;
		rx->va = h->reth.va;
		rx->rkey = h->reth.rkey;
	} else if (!was || !expected || write != rx->write) {
		in->broken = was;
		in->drop = MRC_CTR_UC_SEQ;
		rx->active = false;
		return;
	}
	if (!uc_len_ok(rx, h->payload_len, first, last)) {
		in->broken |= was;
		in->drop = MRC_CTR_DROP_LENGTH;
		rx->active = false;
		return;
	}
	in->off = rx->off;
	rx->off += h->payload_len;
	if (last)
		rx->active = false;
}
