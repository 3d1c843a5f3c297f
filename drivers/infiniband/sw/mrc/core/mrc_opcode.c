// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The opcode table, and the parser and builder that use it.
 *
 * Each extended header has one get_ and one put_ function side by side. Both are called
 * according to the flags of the table only, so each header is parsed and built at the
 * same offset.
 */
#include "mrc_wire.h"

#define BTH_LEN			12
#define METH_LEN		4
#define TSETH_LEN		4
#define RETH_LEN		16
#define DETH_LEN		8	/* plain RoCE v2 */
#define IMM_LEN			4
#define OPETH_LEN		16	/* extension */
#define AETH_LEN		4
#define SETH_LEN		36	/* with CC_STATE */
#define NETH_LEN		20
#define PETH_LEN		16
#define ERTH_LEN		16
#define EETH_LEN		36

/* BTH byte 1 */
#define BTH_SE			0x80
#define BTH_MIG			0x40	/* RoCE v2: MigReq, set by all devices */
#define BTH_PAD_SHIFT		4
#define BTH_PAD_MASK		3
#define BTH_TVER_MASK		0x0F
/* BTH byte 8 */
#define BTH_A			0x80
#define BTH_RTX			0x20
#define BTH_TS			0x10
#define BTH_ANS		0x01	/* extension; reserved in MRC 1.0 */
#define BTH_RECVS		0x02	/* likewise */

/* Second halfword of TSETH and of the timestamps in PETH and ERTH */
#define TS_TSR			0x8000
#define TS_FTYPE_MASK		0x000F

/* SETH byte 1 */
#define SETH_M_SHIFT		5
#define SETH_M_MASK		3
#define SETH_PR			0x02
#define SETH_OOO_MASK		0x7FFF
#define SETH_RESTORE		0x80
#define SETH_PEN_MASK		0x7F
#define CC_TYPE_SHIFT		4
#define CC_TYPE_MASK		0x0F

#define ERTH_OP_MASK		3
#define EETH_OP_SHIFT		2	/* OP-8 */

#define OPF_WRITE	(MRC_OPF_METH | MRC_OPF_RETH | MRC_OPF_DATA | \
			 MRC_OPF_TO_RESP)
#define WRITE_LEN	(BTH_LEN + METH_LEN + RETH_LEN)

#define OPF_SEND	(OPF_WRITE | MRC_OPF_EXT | MRC_OPF_SEND)
#define OPF_REQUEST	(OPF_WRITE | MRC_OPF_EXT | MRC_OPF_REQUEST | \
			 MRC_OPF_FIRST | MRC_OPF_LAST)
#define OPF_ANSWER	(OPF_WRITE | MRC_OPF_EXT | MRC_OPF_ANSWER)

/* All MRC opcodes share their upper three bits; the table has the lower. */
#define OP(o)			((o) & ~MRC_OP_CLASS_MASK)

const struct mrc_op_info mrc_op_table[32] = {
	[OP(MRC_OP_SEND_FIRST)] = {
		"SEND_FIRST", OPF_SEND | MRC_OPF_FIRST,
		WRITE_LEN,
	},
	[OP(MRC_OP_SEND_MIDDLE)] = {
		"SEND_MIDDLE", OPF_SEND,
		WRITE_LEN,
	},
	[OP(MRC_OP_SEND_LAST)] = {
		"SEND_LAST", OPF_SEND | MRC_OPF_LAST,
		WRITE_LEN,
	},
	[OP(MRC_OP_SEND_LAST_IMM)] = {
		"SEND_LAST_IMM", OPF_SEND | MRC_OPF_LAST | MRC_OPF_IMM,
		WRITE_LEN + IMM_LEN,
	},
	[OP(MRC_OP_SEND_ONLY)] = {
		"SEND_ONLY", OPF_SEND | MRC_OPF_FIRST | MRC_OPF_LAST,
		WRITE_LEN,
	},
	[OP(MRC_OP_SEND_ONLY_IMM)] = {
		"SEND_ONLY_IMM", OPF_SEND | MRC_OPF_FIRST | MRC_OPF_LAST |
		MRC_OPF_IMM,
		WRITE_LEN + IMM_LEN,
	},
	[OP(MRC_OP_WRITE_FIRST)] = {
		"WRITE_FIRST", OPF_WRITE | MRC_OPF_FIRST, WRITE_LEN,
	},
	[OP(MRC_OP_WRITE_MIDDLE)] = {
		"WRITE_MIDDLE", OPF_WRITE, WRITE_LEN,
	},
	[OP(MRC_OP_WRITE_LAST)] = {
		"WRITE_LAST", OPF_WRITE | MRC_OPF_LAST, WRITE_LEN,
	},
	[OP(MRC_OP_WRITE_LAST_IMM)] = {
		"WRITE_LAST_IMM", OPF_WRITE | MRC_OPF_LAST | MRC_OPF_IMM,
		WRITE_LEN + IMM_LEN,
	},
	[OP(MRC_OP_WRITE_ONLY)] = {
		"WRITE_ONLY", OPF_WRITE | MRC_OPF_FIRST | MRC_OPF_LAST,
		WRITE_LEN,
	},
	[OP(MRC_OP_WRITE_ONLY_IMM)] = {
		"WRITE_ONLY_IMM", OPF_WRITE | MRC_OPF_FIRST | MRC_OPF_LAST |
		MRC_OPF_IMM, WRITE_LEN + IMM_LEN,
	},
	[OP(MRC_OP_READ_REQ)] = {
		"READ_REQUEST", OPF_REQUEST,
		WRITE_LEN,
	},
	[OP(MRC_OP_READ_RESP_FIRST)] = {
		"READ_RESPONSE_FIRST", OPF_ANSWER | MRC_OPF_FIRST,
		WRITE_LEN,
	},
	[OP(MRC_OP_READ_RESP_MIDDLE)] = {
		"READ_RESPONSE_MIDDLE", OPF_ANSWER,
		WRITE_LEN,
	},
	[OP(MRC_OP_READ_RESP_LAST)] = {
		"READ_RESPONSE_LAST", OPF_ANSWER | MRC_OPF_LAST,
		WRITE_LEN,
	},
	[OP(MRC_OP_READ_RESP_ONLY)] = {
		"READ_RESPONSE_ONLY", OPF_ANSWER | MRC_OPF_FIRST | MRC_OPF_LAST,
		WRITE_LEN,
	},
	[OP(MRC_OP_ACK)] = {
		"ACKNOWLEDGE", MRC_OPF_AETH | MRC_OPF_CONTROL | MRC_OPF_TO_REQ,
		BTH_LEN + AETH_LEN,
	},
	[OP(MRC_OP_ATOMIC_RESP)] = {
		"ATOMIC_RESPONSE", OPF_ANSWER | MRC_OPF_FIRST | MRC_OPF_LAST,
		WRITE_LEN,
	},
	[OP(MRC_OP_CMP_SWAP)] = {
		"COMPARE_SWAP", OPF_REQUEST | MRC_OPF_OPERAND,
		WRITE_LEN + OPETH_LEN,
	},
	[OP(MRC_OP_FETCH_ADD)] = {
		"FETCH_ADD", OPF_REQUEST | MRC_OPF_OPERAND,
		WRITE_LEN + OPETH_LEN,
	},
	[OP(MRC_OP_FLUSH)] = {
		"FLUSH", OPF_REQUEST | MRC_OPF_OPERAND,
		WRITE_LEN + OPETH_LEN,
	},
	[OP(MRC_OP_SEND_LAST_INV)] = {
		"SEND_LAST_INVALIDATE", OPF_SEND | MRC_OPF_LAST | MRC_OPF_INV,
		WRITE_LEN,
	},
	[OP(MRC_OP_SEND_ONLY_INV)] = {
		"SEND_ONLY_INVALIDATE", OPF_SEND | MRC_OPF_FIRST | MRC_OPF_LAST |
		MRC_OPF_INV,
		WRITE_LEN,
	},
	/* Requests and probes have no payload but take any traffic class. */
	[OP(MRC_OP_ENDPOINT_REQ)] = {
		"ENDPOINT_REQUEST", MRC_OPF_ERTH | MRC_OPF_ENDPOINT,
		BTH_LEN + ERTH_LEN,
	},
	[OP(MRC_OP_ENDPOINT_RESP)] = {
		"ENDPOINT_RESPONSE", MRC_OPF_EETH | MRC_OPF_CONTROL |
		MRC_OPF_ENDPOINT, BTH_LEN + EETH_LEN,
	},
	[OP(MRC_OP_ATOMIC_WRITE)] = {
		"ATOMIC_WRITE", OPF_REQUEST | MRC_OPF_OPERAND,
		WRITE_LEN + OPETH_LEN,
	},
	[OP(MRC_OP_SACK)] = {
		"RELIABILITY_SACK", MRC_OPF_SETH | MRC_OPF_CONTROL |
		MRC_OPF_TO_REQ, BTH_LEN + SETH_LEN,
	},
	[OP(MRC_OP_NACK)] = {
		"RELIABILITY_NACK", MRC_OPF_NETH | MRC_OPF_CONTROL |
		MRC_OPF_TO_REQ, BTH_LEN + NETH_LEN,
	},
	[OP(MRC_OP_PROBE)] = {
		"RELIABILITY_PROBE_REQ", MRC_OPF_PETH | MRC_OPF_TO_RESP,
		BTH_LEN + PETH_LEN,
	},
};

#define OPF_UC_SEND	(MRC_OPF_ROCE | MRC_OPF_SEND)
#define OPF_UC_WRITE	MRC_OPF_ROCE
#define OPF_UD		(MRC_OPF_ROCE | MRC_OPF_DETH | MRC_OPF_SEND | \
			 MRC_OPF_FIRST | MRC_OPF_LAST)

/* Plain RoCE v2: one table for each class, up to its last defined opcode. */
static const struct mrc_op_info mrc_uc_op_table[] = {
	[OP(MRC_UC_SEND_FIRST)] = {
		"UC_SEND_FIRST", OPF_UC_SEND | MRC_OPF_FIRST, BTH_LEN,
	},
	[OP(MRC_UC_SEND_MIDDLE)] = {
		"UC_SEND_MIDDLE", OPF_UC_SEND, BTH_LEN,
	},
	[OP(MRC_UC_SEND_LAST)] = {
		"UC_SEND_LAST", OPF_UC_SEND | MRC_OPF_LAST, BTH_LEN,
	},
	[OP(MRC_UC_SEND_LAST_IMM)] = {
		"UC_SEND_LAST_IMM", OPF_UC_SEND | MRC_OPF_LAST | MRC_OPF_IMM,
		BTH_LEN + IMM_LEN,
	},
	[OP(MRC_UC_SEND_ONLY)] = {
		"UC_SEND_ONLY", OPF_UC_SEND | MRC_OPF_FIRST | MRC_OPF_LAST,
		BTH_LEN,
	},
	[OP(MRC_UC_SEND_ONLY_IMM)] = {
		"UC_SEND_ONLY_IMM", OPF_UC_SEND | MRC_OPF_FIRST | MRC_OPF_LAST |
		MRC_OPF_IMM, BTH_LEN + IMM_LEN,
	},
	[OP(MRC_UC_WRITE_FIRST)] = {
		"UC_WRITE_FIRST", OPF_UC_WRITE | MRC_OPF_FIRST | MRC_OPF_RETH,
		BTH_LEN + RETH_LEN,
	},
	[OP(MRC_UC_WRITE_MIDDLE)] = {
		"UC_WRITE_MIDDLE", OPF_UC_WRITE, BTH_LEN,
	},
	[OP(MRC_UC_WRITE_LAST)] = {
		"UC_WRITE_LAST", OPF_UC_WRITE | MRC_OPF_LAST, BTH_LEN,
	},
	[OP(MRC_UC_WRITE_LAST_IMM)] = {
		"UC_WRITE_LAST_IMM", OPF_UC_WRITE | MRC_OPF_LAST | MRC_OPF_IMM,
		BTH_LEN + IMM_LEN,
	},
	[OP(MRC_UC_WRITE_ONLY)] = {
		"UC_WRITE_ONLY", OPF_UC_WRITE | MRC_OPF_FIRST | MRC_OPF_LAST |
		MRC_OPF_RETH, BTH_LEN + RETH_LEN,
	},
	[OP(MRC_UC_WRITE_ONLY_IMM)] = {
		"UC_WRITE_ONLY_IMM", OPF_UC_WRITE | MRC_OPF_FIRST | MRC_OPF_LAST |
		MRC_OPF_RETH | MRC_OPF_IMM, BTH_LEN + RETH_LEN + IMM_LEN,
	},
};

static const struct mrc_op_info mrc_ud_op_table[] = {
	[OP(MRC_UD_SEND)] = {
		"UD_SEND_ONLY", OPF_UD, BTH_LEN + DETH_LEN,
	},
	[OP(MRC_UD_SEND_IMM)] = {
		"UD_SEND_ONLY_IMM", OPF_UD | MRC_OPF_IMM,
		BTH_LEN + DETH_LEN + IMM_LEN,
	},
};

const struct mrc_op_info mrc_op_undefined;

const struct mrc_op_info *mrc_roce_op_info(u8 opcode)
{
	u8 op = OP(opcode);

	if (mrc_uc_opcode(opcode) && op < ARRAY_SIZE(mrc_uc_op_table))
		return &mrc_uc_op_table[op];
	if (mrc_ud_opcode(opcode) && op < ARRAY_SIZE(mrc_ud_op_table))
		return &mrc_ud_op_table[op];
	return &mrc_op_undefined;
}

/* The classes of MRC and of RoCE v2 have no opcode in common. */
static const struct mrc_op_info *op_any(u8 opcode)
{
	const struct mrc_op_info *info = mrc_op_info(opcode);

	return info->name ? info : mrc_roce_op_info(opcode);
}

static u32 op_hdr_len(const struct mrc_op_info *info, bool ts)
{
	if (ts && (info->flags & MRC_OPF_METH))
		return info->hdr_len + TSETH_LEN;
	return info->hdr_len;
}

u32 mrc_hdr_len(const struct mrc_hdr *h)
{
	return op_hdr_len(op_any(h->opcode), h->ts);
}

static u32 get_be24(const u8 *p)
{
	return (u32)p[0] << 16 | (u32)p[1] << 8 | p[2];
}

static void put_be24(u32 v, u8 *p)
{
	p[0] = (u8)(v >> 16);
	p[1] = (u8)(v >> 8);
	p[2] = (u8)v;
}

static void get_bth(const u8 *p, bool roce, struct mrc_hdr *h)
{
	h->opcode = p[0];
	h->se = p[1] & BTH_SE;
	h->pad = p[1] >> BTH_PAD_SHIFT & BTH_PAD_MASK;
	h->tver = p[1] & BTH_TVER_MASK;
	h->pkey = get_unaligned_be16(p + 2);
	h->dqp = get_be24(p + 5);
	h->a = p[8] & BTH_A;
	h->psn = get_be24(p + 9);
	if (roce)
		return;
	h->rtx = p[8] & BTH_RTX;
	h->ts = p[8] & BTH_TS;
	h->ans = p[8] & BTH_ANS;
	h->recvs = h->opcode == MRC_OP_ACK && p[8] & BTH_RECVS;
}

/* In a packet of RoCE v2 the caller has set none of the bits of MRC in @h. */
static void put_bth(const struct mrc_hdr *h, bool roce, bool ts, u8 *p)
{
	p[0] = h->opcode;
	p[1] = (h->se ? BTH_SE : 0) | (roce ? BTH_MIG : 0) |
	       (h->pad & BTH_PAD_MASK) << BTH_PAD_SHIFT |
	       (h->tver & BTH_TVER_MASK);
	put_unaligned_be16(h->pkey, p + 2);
	p[4] = 0;
	put_be24(h->dqp, p + 5);
	p[8] = (h->a ? BTH_A : 0) | (h->rtx ? BTH_RTX : 0) |
	       (ts ? BTH_TS : 0) | (h->ans ? BTH_ANS : 0) |
	       (h->recvs && h->opcode == MRC_OP_ACK ? BTH_RECVS : 0);
	put_be24(h->psn, p + 9);
}

static void get_meth(const u8 *p, struct mrc_hdr *h)
{
	h->rqmsn = get_unaligned_be16(p);
	h->msn = get_unaligned_be16(p + 2);
}

static void put_meth(const struct mrc_hdr *h, u8 *p)
{
	put_unaligned_be16(h->rqmsn, p);
	put_unaligned_be16(h->msn, p + 2);
}

static void get_ts(const u8 *p, struct mrc_hdr *h)
{
	u16 v = get_unaligned_be16(p + 2);

	h->tstamp = get_unaligned_be16(p);
	h->tsr = v & TS_TSR;
	h->ftype = v & TS_FTYPE_MASK;
}

static void put_ts(const struct mrc_hdr *h, u8 *p)
{
	put_unaligned_be16(h->tstamp, p);
	put_unaligned_be16((h->tsr ? TS_TSR : 0) | (h->ftype & TS_FTYPE_MASK),
			   p + 2);
}

static void get_reth(const u8 *p, struct mrc_reth *r)
{
	r->va = get_unaligned_be64(p);
	r->rkey = get_unaligned_be32(p + 8);
	r->dmalen = get_unaligned_be32(p + 12);
}

static void put_reth(const struct mrc_reth *r, u8 *p)
{
	put_unaligned_be64(r->va, p);
	put_unaligned_be32(r->rkey, p + 8);
	put_unaligned_be32(r->dmalen, p + 12);
}

static void get_deth(const u8 *p, struct mrc_deth *d)
{
	d->qkey = get_unaligned_be32(p);
	d->sqpn = get_be24(p + 5);
}

static void put_deth(const struct mrc_deth *d, u8 *p)
{
	put_unaligned_be32(d->qkey, p);
	p[4] = 0;
	put_be24(d->sqpn, p + 5);
}

static void get_opeth(const u8 *p, struct mrc_opeth *o)
{
	o->swap = get_unaligned_be64(p);
	o->compare = get_unaligned_be64(p + 8);
}

static void put_opeth(const struct mrc_opeth *o, u8 *p)
{
	put_unaligned_be64(o->swap, p);
	put_unaligned_be64(o->compare, p + 8);
}

static void get_aeth(const u8 *p, struct mrc_aeth *a)
{
	a->syndrome = p[0];
	a->msn = get_be24(p + 1);
}

static void put_aeth(const struct mrc_aeth *a, u8 *p)
{
	p[0] = a->syndrome;
	put_be24(a->msn, p + 1);
}

static void get_seth(const u8 *p, struct mrc_hdr *h)
{
	struct mrc_seth *s = &h->seth;

	s->m = p[1] >> SETH_M_SHIFT & SETH_M_MASK;
	if (s->m > MRC_M_ALWAYS_SKIP)
		s->m = MRC_M_NONE;
	s->pr = p[1] & SETH_PR;
	s->probe_id = get_unaligned_be16(p + 2);
	s->ack_psn_offset = (s16)s->probe_id;
	s->entropy = get_unaligned_be32(p + 4);
	s->spdcid = get_unaligned_be16(p + 8);
	s->dpdcid = get_unaligned_be16(p + 10);
	s->cack_psn = get_be24(p + 13);
	s->cc_type = p[16] >> CC_TYPE_SHIFT;
	s->mpr = p[17];
	s->sack_offset = (s16)get_unaligned_be16(p + 18);
	s->bitmap = get_unaligned_be64(p + 20);
	h->tstamp = get_unaligned_be16(p + 28);
	s->ooo_count = get_unaligned_be16(p + 30) & SETH_OOO_MASK;
	s->restore_cwnd = p[32] & SETH_RESTORE;
	s->rcv_cwnd_pen = p[32] & SETH_PEN_MASK;
	s->rcvd_bytes = get_be24(p + 33);
}

static void put_seth(const struct mrc_hdr *h, u8 *p)
{
	const struct mrc_seth *s = &h->seth;

	p[0] = 0;
	p[1] = (s->m & SETH_M_MASK) << SETH_M_SHIFT | (s->pr ? SETH_PR : 0);
	put_unaligned_be16(s->pr ? s->probe_id : (u16)s->ack_psn_offset, p + 2);
	put_unaligned_be32(s->entropy, p + 4);
	put_unaligned_be16(s->spdcid, p + 8);
	put_unaligned_be16(s->dpdcid, p + 10);
	p[12] = 0;
	put_be24(s->cack_psn, p + 13);
	p[16] = (u8)(s->cc_type << CC_TYPE_SHIFT);
	p[17] = s->mpr;
	put_unaligned_be16((u16)s->sack_offset, p + 18);
	put_unaligned_be64(s->bitmap, p + 20);
	put_unaligned_be16(h->tstamp, p + 28);
	put_unaligned_be16(s->ooo_count & SETH_OOO_MASK, p + 30);
	p[32] = (s->restore_cwnd ? SETH_RESTORE : 0) |
		(s->rcv_cwnd_pen & SETH_PEN_MASK);
	put_be24(s->rcvd_bytes, p + 33);
}

static void get_neth(const u8 *p, struct mrc_hdr *h)
{
	struct mrc_neth *n = &h->neth;

	n->reason = p[2];
	n->vendor = p[3];
	n->entropy = get_unaligned_be32(p + 4);
	n->spdcid = get_unaligned_be16(p + 8);
	n->dpdcid = get_unaligned_be16(p + 10);
	n->nack_psn = get_be24(p + 13);
	n->cc_type = p[16] >> CC_TYPE_SHIFT;
	h->tstamp = get_unaligned_be16(p + 18);
}

static void put_neth(const struct mrc_hdr *h, u8 *p)
{
	const struct mrc_neth *n = &h->neth;

	put_unaligned_be16(0, p);
	p[2] = n->reason;
	p[3] = n->vendor;
	put_unaligned_be32(n->entropy, p + 4);
	put_unaligned_be16(n->spdcid, p + 8);
	put_unaligned_be16(n->dpdcid, p + 10);
	p[12] = 0;
	put_be24(n->nack_psn, p + 13);
	p[16] = (u8)(n->cc_type << CC_TYPE_SHIFT);
	p[17] = 0;
	put_unaligned_be16(h->tstamp, p + 18);
}

static void get_peth(const u8 *p, struct mrc_hdr *h)
{
	struct mrc_peth *r = &h->peth;

	r->vendor = p[3];
	r->probe_id = get_unaligned_be16(p + 4);
	r->spdcid = get_unaligned_be16(p + 8);
	r->dpdcid = get_unaligned_be16(p + 10);
	get_ts(p + 12, h);
}

static void put_peth(const struct mrc_hdr *h, u8 *p)
{
	const struct mrc_peth *r = &h->peth;

	memset(p, 0, PETH_LEN);
	p[3] = r->vendor;
	put_unaligned_be16(r->probe_id, p + 4);
	put_unaligned_be16(r->spdcid, p + 8);
	put_unaligned_be16(r->dpdcid, p + 10);
	put_ts(h, p + 12);
}

static void get_erth(const u8 *p, struct mrc_hdr *h)
{
	h->epop.op = p[1] & ERTH_OP_MASK;
	h->epop.vendor = p[3];
	h->epop.port_mask = get_unaligned_be32(p + 4);
	get_ts(p + 12, h);
}

static void put_erth(const struct mrc_hdr *h, u8 *p)
{
	memset(p, 0, ERTH_LEN);
	p[1] = h->epop.op & ERTH_OP_MASK;
	p[3] = h->epop.vendor;
	put_unaligned_be32(h->epop.port_mask, p + 4);
	put_ts(h, p + 12);
}

static void get_eeth(const u8 *p, struct mrc_hdr *h)
{
	h->epop.op = p[1] >> EETH_OP_SHIFT & ERTH_OP_MASK;
	h->tstamp = get_unaligned_be16(p + 28);
}

static void put_eeth(const struct mrc_hdr *h, u8 *p)
{
	memset(p, 0, EETH_LEN);
	p[1] = (u8)((h->epop.op & ERTH_OP_MASK) << EETH_OP_SHIFT);
	put_unaligned_be16(h->tstamp, p + 28);
}

/* Parse everything after the BTH. The caller has checked that it is present. */
static void get_ext(const u8 *p, u32 flags, struct mrc_hdr *h)
{
	if (flags & MRC_OPF_METH) {
		get_meth(p, h);
		p += METH_LEN;
		if (h->ts) {
			get_ts(p, h);
			p += TSETH_LEN;
		}
	}
	if (flags & MRC_OPF_RETH) {
		get_reth(p, &h->reth);
		p += RETH_LEN;
	}
	if (flags & MRC_OPF_DETH) {
		get_deth(p, &h->deth);
		p += DETH_LEN;
	}
	if (flags & MRC_OPF_IMM)
		memcpy(&h->reth.imm, p, IMM_LEN);
	if (flags & MRC_OPF_OPERAND)
		get_opeth(p, &h->opeth);
	if (flags & MRC_OPF_AETH)
		get_aeth(p, &h->aeth);
	if (flags & MRC_OPF_SETH)
		get_seth(p, h);
	if (flags & MRC_OPF_NETH)
		get_neth(p, h);
	if (flags & MRC_OPF_PETH)
		get_peth(p, h);
	if (flags & MRC_OPF_ERTH)
		get_erth(p, h);
	if (flags & MRC_OPF_EETH)
		get_eeth(p, h);
}

static void put_ext(const struct mrc_hdr *h, u32 flags, u8 *p)
{
	if (flags & MRC_OPF_METH) {
		put_meth(h, p);
		p += METH_LEN;
		if (h->ts) {
			put_ts(h, p);
			p += TSETH_LEN;
		}
	}
	if (flags & MRC_OPF_RETH) {
		put_reth(&h->reth, p);
		p += RETH_LEN;
	}
	if (flags & MRC_OPF_DETH) {
		put_deth(&h->deth, p);
		p += DETH_LEN;
	}
	if (flags & MRC_OPF_IMM)
		memcpy(p, &h->reth.imm, IMM_LEN);
	if (flags & MRC_OPF_OPERAND)
		put_opeth(&h->opeth, p);
	if (flags & MRC_OPF_AETH)
		put_aeth(&h->aeth, p);
	if (flags & MRC_OPF_SETH)
		put_seth(h, p);
	if (flags & MRC_OPF_NETH)
		put_neth(h, p);
	if (flags & MRC_OPF_PETH)
		put_peth(h, p);
	if (flags & MRC_OPF_ERTH)
		put_erth(h, p);
	if (flags & MRC_OPF_EETH)
		put_eeth(h, p);
}

/* Are @body bytes allowed between the headers and the ICRC? */
static bool body_ok(u32 flags, u32 body)
{
	if (flags & MRC_OPF_ROCE)
		return true;
	return !(flags & MRC_OPF_DATA ? body & 3 : body);
}

static enum mrc_drop hdr_parse(const u8 *p, u32 avail, u32 len, bool roce,
			       struct mrc_hdr *h)
{
	const struct mrc_op_info *info;
	u32 hlen, body;

	memset(h, 0, sizeof(*h));
	if (avail < BTH_LEN || len < BTH_LEN + MRC_ICRC_LEN)
		return MRC_DROP_SHORT;
	get_bth(p, roce, h);
	if (h->tver)
		return MRC_DROP_TVER;
	info = roce ? mrc_roce_op_info(h->opcode) : mrc_op_info(h->opcode);
	if (!info->name)
		return MRC_DROP_OPCODE;
	/* BTH.ts is defined for data packets only. */
	if (!(info->flags & MRC_OPF_METH))
		h->ts = false;

	hlen = op_hdr_len(info, h->ts);
	if (avail < hlen || len < hlen + h->pad + MRC_ICRC_LEN)
		return MRC_DROP_SHORT;
	body = len - hlen - MRC_ICRC_LEN;
	if (!body_ok(info->flags, body))
		return MRC_DROP_LENGTH;
	h->hdr_len = (u16)hlen;
	h->payload_len = body - h->pad;
	get_ext(p + BTH_LEN, info->flags, h);
	return MRC_DROP_NONE;
}

enum mrc_drop mrc_hdr_parse(const u8 *p, u32 avail, u32 len, struct mrc_hdr *h)
{
	return hdr_parse(p, avail, len, false, h);
}

enum mrc_drop mrc_roce_parse(const u8 *p, u32 avail, u32 len, struct mrc_hdr *h)
{
	return hdr_parse(p, avail, len, true, h);
}

enum mrc_drop mrc_hdr_parse_trimmed(const u8 *p, u32 avail, struct mrc_hdr *h)
{
	const struct mrc_op_info *info;

	memset(h, 0, sizeof(*h));
	if (avail < BTH_LEN)
		return MRC_DROP_SHORT;
	get_bth(p, false, h);
	if (h->tver)
		return MRC_DROP_TVER;
	info = mrc_op_info(h->opcode);
	if (!(info->flags & MRC_OPF_DATA))
		return MRC_DROP_OPCODE;

	h->hdr_len = BTH_LEN;
	if (avail >= BTH_LEN + METH_LEN) {
		get_meth(p + BTH_LEN, h);
		h->hdr_len += METH_LEN;
	}
	if (h->ts && avail >= BTH_LEN + METH_LEN + TSETH_LEN) {
		get_ts(p + BTH_LEN + METH_LEN, h);
		h->hdr_len += TSETH_LEN;
	} else {
		h->ts = false;
	}
	return MRC_DROP_NONE;
}

u32 mrc_hdr_build(const struct mrc_hdr *h, u8 *p, u32 room)
{
	const struct mrc_op_info *info = op_any(h->opcode);
	bool ts = h->ts && (info->flags & MRC_OPF_METH);
	u32 hlen = op_hdr_len(info, ts);

	if (!hlen || room < hlen)
		return 0;
	put_bth(h, info->flags & MRC_OPF_ROCE, ts, p);
	put_ext(h, info->flags, p + BTH_LEN);
	return hlen;
}
