// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Responder: contents of SACK, NACK and transport ACK/NAK, MRC 1.0 §8. */
#include "mrc_resp_priv.h"
#include "mrc_bitmap.h"

/*
 * The reverse EV, §11.8, OP-30. @plane: the one to take; 0: that of the packet that is
 * answered. -1 if there is none.
 */
static int mrc_resp_path(struct mrc_resp *resp, u8 plane, u64 now)
{
	if (!resp->paths)
		return -1;
	if (plane)
		return mrc_rev_pick_copy(&resp->rev, resp->paths, plane, now);
	return mrc_rev_pick(&resp->rev, resp->paths, resp->fb.port, now);
}

/*
 * An ACK that the peer asks for again was probably lost. So it takes the next plane after
 * that of the last one, not that of the packet that asks, whose feedback goes back there,
 * and not the reverse EV.
 */
static int mrc_resp_path_again(struct mrc_resp *resp, u64 now)
{
	const u8 plane = resp->paths ?
		mrc_rev_beside(resp->paths, resp->ack_port, resp->fb.port) : 0;

	return plane ? mrc_rev_pick_again(&resp->rev, resp->paths, plane) :
		       mrc_resp_path(resp, 0, now);
}

/* Header of all control packets, which take @ev. */
static void mrc_resp_desc(struct mrc_resp *resp, u8 opcode, int ev,
			  struct mrc_tx_desc *desc)
{
	struct mrc_hdr *h = &desc->hdr;

	memset(desc, 0, sizeof(*desc));
	h->opcode = opcode;
	h->pkey = resp->cfg.pkey;
	h->dqp = resp->cfg.dqpn;
	h->ans = resp->cfg.ans;
	h->hdr_len = (u16)mrc_hdr_len(h);
	desc->tc = MRC_TC_CONTROL;
	desc->ev = ev;
	if (desc->ev >= 0) {
		desc->port = mrc_paths_port(resp->paths, desc->ev);
		desc->entropy = mrc_paths_entropy(resp->paths, desc->ev);
	} else {
		desc->port = resp->fb.port;
		desc->entropy = resp->fb.entropy;
	}
}

/*
 * First PSN of the map, §8.3. The standard map starts at the lowest PSN that no SACK
 * has covered yet (always above cack). It is moved down if that covers everything
 * above.
 */
static u32 mrc_sack_base(const struct mrc_resp *resp)
{
	const u32 first = mrc_psn_add(resp->cack, 1);
	u32 base = resp->lowest_unsacked;

	if (mrc_psn_diff(resp->max_rcv, base) < 64) {
		base = mrc_psn_add(resp->max_rcv, -63);
		if (mrc_psn_diff(base, first) < 0)
			base = first;
	}
	return base;
}

/* Timestamp to echo; with service time (OP-35) plus the time spent here. */
static u16 mrc_resp_echo(const struct mrc_resp *resp, u64 now)
{
	if (!resp->cfg.svc_time || !resp->fb.stamped || now < resp->fb.at)
		return resp->fb.tstamp;
	return (u16)(resp->fb.tstamp + ((now - resp->fb.at) >> MRC_TS_SHIFT));
}

static void mrc_resp_sack(struct mrc_resp *resp, u64 now,
			  struct mrc_tx_desc *desc)
{
	const u32 first = mrc_psn_add(resp->cack, 1);
	struct mrc_seth *s = &desc->hdr.seth;
	u32 base = mrc_sack_base(resp);
	bool special = false;
	s32 off, n;

	mrc_resp_desc(resp, MRC_OP_SACK, mrc_resp_path(resp, resp->fb.copy, now), desc);
	off = mrc_psn_diff(resp->fb.psn, base);
	if (resp->fb.dup_base && (off < 0 || off > 63) &&
	    mrc_psn_diff(resp->fb.psn, resp->cack) > 0) {
		/* The map must show the packet that caused the SACK, OP-17. */
		special = true;
		base = mrc_psn_add(resp->fb.psn, -31);
		if (mrc_psn_diff(base, first) < 0)
			base = first;
	}
	n = mrc_psn_diff(resp->max_rcv, base) + 1;
	if (n > 64)
		n = 64;

	desc->hdr.psn = resp->cack;
	desc->hdr.rtx = resp->fb.rtx;
	desc->hdr.tstamp = mrc_resp_echo(resp, now);
	s->m = resp->fb.ce ? MRC_M_SKIP_ONCE : MRC_M_NONE;
	s->pr = resp->fb.probe;
	if (s->pr) {
		s->probe_id = resp->fb.probe_id;
	} else {
		s32 d = mrc_psn_diff(resp->fb.psn, resp->cack);

		s->ack_psn_offset = d >= -32768 && d <= 32767 ? (s16)d : 0;
	}
	s->entropy = resp->fb.entropy;
	s->spdcid = (u16)resp->cfg.qpn;
	s->dpdcid = (u16)resp->cfg.dqpn;
	s->cack_psn = resp->cack;
	if (resp->cfg.dynamic_mpr)
		s->mpr = (u8)(resp->window / MRC_MPR_UNIT);
	s->rcv_cwnd_pen = resp->penalty;
	s->restore_cwnd = resp->restore;
	s->sack_offset = (s16)mrc_psn_diff(base, resp->cack);
	if (n > 0)
		s->bitmap = mrc_ring_get64(resp->rx_map, resp->ring_mask, base,
					   (u32)n);
	s->ooo_count = (u16)(resp->ooo < 0x7FFF ? resp->ooo : 0x7FFF);
	s->rcvd_bytes = (u32)((resp->rcvd_bytes + 255) >> 8) & 0xFFFFFF;

	resp->sack_cnt = 0;
	resp->fb.sack = false;
	mrc_ctr_add(resp->cfg.ctr, desc->port, MRC_CTR_TX_SACK, 1);
	if (special)
		return;
	/* One map does not cover everything: more SACKs follow as a train, OP-17. */
	resp->fb.sack = mrc_psn_diff(resp->max_rcv, base) > 63;
	base = mrc_psn_add(base, 64);
	if (mrc_psn_diff(base, resp->max_rcv) > 1)
		base = mrc_psn_add(resp->max_rcv, 1);
	resp->lowest_unsacked = base;
}

/*
 * A copy of the SACK owed, on another plane, if feedback may get lost. Only of a SACK that
 * tells all that is left: a train may be long. Return: false if there is none.
 */
static bool mrc_resp_sack_copy(struct mrc_resp *resp, u64 now, struct mrc_tx_desc *desc)
{
	const u32 lowest = resp->lowest_unsacked;

	resp->fb.copy = !resp->paths || mrc_psn_diff(resp->max_rcv, mrc_sack_base(resp)) > 63 ?
			0 : mrc_rev_copy_port(&resp->rev, resp->paths, resp->fb.port,
					      resp->fb.copy);
	if (!resp->fb.copy)
		return false;
	mrc_resp_sack(resp, now, desc);
	/* The mark counts once. */
	desc->hdr.seth.m = MRC_M_NONE;
	resp->fb.sack = true;
	resp->lowest_unsacked = lowest;
	return true;
}

static void mrc_resp_nack(struct mrc_resp *resp, u64 now,
			  struct mrc_tx_desc *desc)
{
	struct mrc_neth *n = &desc->hdr.neth;

	mrc_resp_desc(resp, MRC_OP_NACK, mrc_resp_path(resp, 0, now), desc);
	desc->hdr.psn = resp->fb.psn;
	desc->hdr.tstamp = mrc_resp_echo(resp, now);
	n->reason = resp->fb.nack_reason;
	n->vendor = resp->fb.nack_vendor;
	n->entropy = resp->fb.entropy;
	n->spdcid = (u16)resp->cfg.qpn;
	n->dpdcid = (u16)resp->cfg.dqpn;
	n->nack_psn = resp->fb.psn;
	n->cc_type = 2;
	resp->fb.nack = false;
	mrc_ctr_add(resp->cfg.ctr, desc->port, MRC_CTR_TX_NACK, 1);
}

/*
 * The NAK is due when everything before the failing PSN was executed, OP-21, and the
 * answers to all requests before it were acknowledged.
 */
static bool mrc_resp_nak_due(const struct mrc_resp *resp)
{
	return mrc_resp_at_error(resp) && !mrc_resp_unanswered(resp);
}

static void mrc_resp_ack(struct mrc_resp *resp, bool nak, u64 now,
			 struct mrc_tx_desc *desc)
{
	const bool again = resp->acked && (resp->fb.probe || resp->fb.dup_base);

	mrc_resp_desc(resp, MRC_OP_ACK,
		      again ? mrc_resp_path_again(resp, now) :
			      mrc_resp_path(resp, 0, now), desc);
	resp->ack_port = desc->port;
	desc->hdr.psn = nak ? resp->err_psn : mrc_resp_ackable(resp);
	desc->hdr.aeth.syndrome = nak ? resp->err_syn : MRC_SYN_ACK;
	desc->hdr.aeth.msn = resp->msn;
	if (!nak && resp->recv_known) {
		desc->hdr.recvs = true;
		desc->hdr.aeth.msn = resp->recv_limit;
	}
	resp->recv_known = false;
	resp->fb.ack = false;
	if (nak)
		resp->nak_sent = true;
	else
		resp->acked = true;
	mrc_ctr_add(resp->cfg.ctr, desc->port,
		    nak ? MRC_CTR_TX_NAK : MRC_CTR_TX_ACK, 1);
}

void mrc_resp_repeat_ack(struct mrc_resp *resp)
{
	const u32 none = mrc_psn_add(resp->cfg.rq_psn, -1);

	/* An ACK makes a SACK unnecessary: executed implies received. */
	resp->fb.nack = false;
	resp->fb.sack = false;
	resp->fb.ack = mrc_resp_ackable(resp) != none;
}

bool mrc_resp_may_wait(const struct mrc_resp *resp)
{
	return resp->fb.ack && !resp->fb.sack && !resp->fb.nack &&
	       !resp->recv_due && !resp->rd_due && !resp->nak_sent &&
	       !mrc_resp_nak_due(resp);
}

bool mrc_resp_next_feedback(struct mrc_resp *resp, u64 now,
			    struct mrc_tx_desc *desc)
{
	bool nak;

	if (resp->nak_sent)
		return false;
	if (resp->fb.nack) {
		mrc_resp_nack(resp, now, desc);
		return true;
	}
	if (resp->fb.sack) {
		if (!mrc_resp_sack_copy(resp, now, desc))
			mrc_resp_sack(resp, now, desc);
		return true;
	}
	/* A NAK implicitly acknowledges everything before its PSN. */
	nak = mrc_resp_nak_due(resp);
	if (!nak && !resp->fb.ack)
		return false;
	mrc_resp_ack(resp, nak, now, desc);
	return true;
}
