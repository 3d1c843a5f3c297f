// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Unreliable connections: headers, and which packets make a message. */
#include "mrc_psn.h"
#include "mrc_uc.h"
#include "mrc_wire.h"

#define BTH_SE		0x80
#define BTH_MIG		0x40	/* no other path: set, as all RoCE devices do */
#define BTH_TVER	0x0F

enum {
	F_OK	= 1 << 0,
	F_WRITE	= 1 << 1,
	F_FIRST	= 1 << 2,
	F_LAST	= 1 << 3,
	F_IMM	= 1 << 4,
};

/* By the lower five bits. */
static const u8 mrc_uc_ops[] = {
	[MRC_UC_SEND_FIRST & 0x1F] = F_OK | F_FIRST,
	[MRC_UC_SEND_MIDDLE & 0x1F] = F_OK,
	[MRC_UC_SEND_LAST & 0x1F] = F_OK | F_LAST,
	[MRC_UC_SEND_LAST_IMM & 0x1F] = F_OK | F_LAST | F_IMM,
	[MRC_UC_SEND_ONLY & 0x1F] = F_OK | F_FIRST | F_LAST,
	[MRC_UC_SEND_ONLY_IMM & 0x1F] = F_OK | F_FIRST | F_LAST | F_IMM,
	[MRC_UC_WRITE_FIRST & 0x1F] = F_OK | F_WRITE | F_FIRST,
	[MRC_UC_WRITE_MIDDLE & 0x1F] = F_OK | F_WRITE,
	[MRC_UC_WRITE_LAST & 0x1F] = F_OK | F_WRITE | F_LAST,
	[MRC_UC_WRITE_LAST_IMM & 0x1F] = F_OK | F_WRITE | F_LAST | F_IMM,
	[MRC_UC_WRITE_ONLY & 0x1F] = F_OK | F_WRITE | F_FIRST | F_LAST,
	[MRC_UC_WRITE_ONLY_IMM & 0x1F] = F_OK | F_WRITE | F_FIRST | F_LAST |
					 F_IMM,
};

static u8 uc_flags(u8 opcode)
{
	u8 op = opcode & 0x1F;

	return mrc_uc_opcode(opcode) && op < ARRAY_SIZE(mrc_uc_ops) ?
	       mrc_uc_ops[op] : 0;
}

static u8 uc_opcode_of(const struct mrc_uc_hdr *h)
{
	u8 op = h->write ? MRC_UC_WRITE_FIRST : MRC_UC_SEND_FIRST;

	if (h->first && h->last)
		op += MRC_UC_SEND_ONLY - MRC_UC_SEND_FIRST;
	else if (h->last)
		op += MRC_UC_SEND_LAST - MRC_UC_SEND_FIRST;
	else if (!h->first)
		op += MRC_UC_SEND_MIDDLE - MRC_UC_SEND_FIRST;
	return op + (h->last && h->with_imm);
}

int mrc_uc_parse(const u8 *p, u32 avail, u32 len, struct mrc_uc_hdr *h)
{
	u32 rest;
	u8 flags;

	memset(h, 0, sizeof(*h));
	if (avail < MRC_UC_BTH_LEN || len < MRC_UC_BTH_LEN + MRC_ICRC_LEN)
		return MRC_CTR_DROP_SHORT;
	if (p[1] & BTH_TVER)
		return MRC_CTR_DROP_TVER;
	flags = uc_flags(p[0]);
	if (!flags)
		return MRC_CTR_DROP_OPCODE;
	h->write = flags & F_WRITE;
	h->first = flags & F_FIRST;
	h->last = flags & F_LAST;
	h->with_imm = flags & F_IMM;
	h->se = p[1] & BTH_SE;
	h->pad = p[1] >> 4 & 3;
	h->pkey = get_unaligned_be16(p + 2);
	h->dqp = get_unaligned_be32(p + 4) & MRC_PSN_MASK;
	h->psn = get_unaligned_be32(p + 8) & MRC_PSN_MASK;

	h->hdr_len = MRC_UC_BTH_LEN;
	if (h->write && h->first)
		h->hdr_len += MRC_UC_RETH_LEN;
	if (h->with_imm)
		h->hdr_len += MRC_UC_IMM_LEN;
	rest = h->hdr_len + h->pad + MRC_ICRC_LEN;
	if (avail < h->hdr_len || len < rest)
		return MRC_CTR_DROP_SHORT;
	h->len = len - rest;

	p += MRC_UC_BTH_LEN;
	if (h->write && h->first) {
		h->va = get_unaligned_be64(p);
		h->rkey = get_unaligned_be32(p + 8);
		h->dmalen = get_unaligned_be32(p + 12);
		p += MRC_UC_RETH_LEN;
	}
	if (h->with_imm)
		memcpy(h->imm, p, MRC_UC_IMM_LEN);
	return -1;
}

u32 mrc_uc_build(const struct mrc_uc_hdr *h, u8 *p)
{
	u8 *start = p;

	p[0] = uc_opcode_of(h);
	p[1] = (h->se ? BTH_SE : 0) | BTH_MIG | (-h->len & 3) << 4;
	put_unaligned_be16(h->pkey, p + 2);
	put_unaligned_be32(h->dqp & MRC_PSN_MASK, p + 4);
	put_unaligned_be32(h->psn & MRC_PSN_MASK, p + 8);
	p += MRC_UC_BTH_LEN;
	if (h->write && h->first) {
		put_unaligned_be64(h->va, p);
		put_unaligned_be32(h->rkey, p + 8);
		put_unaligned_be32(h->dmalen, p + 12);
		p += MRC_UC_RETH_LEN;
	}
	if (h->last && h->with_imm) {
		memcpy(p, h->imm, MRC_UC_IMM_LEN);
		p += MRC_UC_IMM_LEN;
	}
	return p - start;
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

bool mrc_uc_tx_next(struct mrc_uc_tx *tx, struct mrc_uc_hdr *h, u32 *off)
{
	u32 left = tx->len - tx->off;

	if (!tx->active)
		return false;
	memset(h, 0, sizeof(*h));
	h->write = tx->write;
	h->first = !tx->off;
	h->last = left <= tx->pmtu;
	h->len = h->last ? left : tx->pmtu;
	h->pkey = tx->pkey;
	h->dqp = tx->dqp;
	h->psn = tx->psn;
	if (h->write && h->first) {
		h->va = tx->va;
		h->rkey = tx->rkey;
		h->dmalen = tx->len;
	}
	if (h->last) {
		h->se = tx->se;
		h->with_imm = tx->with_imm;
		memcpy(h->imm, tx->imm, sizeof(h->imm));
		tx->active = false;
	}
	*off = tx->off;
	tx->off += h->len;
	tx->psn = mrc_psn_add(tx->psn, 1);
	return true;
}

void mrc_uc_rx_abort(struct mrc_uc_rx *rx)
{
	rx->active = false;
}

/* Is it as long as a packet at this place in the message at @rx has to be? */
static bool uc_len_ok(const struct mrc_uc_rx *rx, const struct mrc_uc_hdr *h)
{
	if (h->last ? h->len > rx->pmtu : h->len != rx->pmtu)
		return false;
	if (h->last && !h->first && !h->len)
		return false;
	if (!rx->write)
		return h->len <= MRC_UC_MAX_MSG - rx->off;
	if (rx->len > MRC_UC_MAX_MSG)
		return false;
	return h->last ? h->len == rx->len - rx->off :
			 h->len < rx->len - rx->off;
}

void mrc_uc_rx_packet(struct mrc_uc_rx *rx, const struct mrc_uc_hdr *h,
		      struct mrc_uc_in *in)
{
	bool expected = h->psn == rx->psn;
	bool was = rx->active;

	in->broken = false;
	in->drop = -1;
	in->off = 0;
	rx->psn = mrc_psn_add(h->psn, 1);
	if (h->first) {
		in->broken = was;
		rx->active = true;
		rx->write = h->write;
		rx->off = 0;
		rx->len = h->dmalen;
		rx->va = h->va;
		rx->rkey = h->rkey;
	} else if (!was || !expected || h->write != rx->write) {
		in->broken = was;
		in->drop = MRC_CTR_UC_SEQ;
		rx->active = false;
		return;
	}
	if (!uc_len_ok(rx, h)) {
		in->broken |= was;
		in->drop = MRC_CTR_DROP_LENGTH;
		rx->active = false;
		return;
	}
	in->off = rx->off;
	rx->off += h->len;
	if (h->last)
		rx->active = false;
}
