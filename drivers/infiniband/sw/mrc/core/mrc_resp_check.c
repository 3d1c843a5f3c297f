// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Responder: consistency check for tests and fuzzers. */
#include "mrc_resp_priv.h"
#include "mrc_bitmap.h"

static const char *mrc_resp_check_maps(const struct mrc_resp *resp)
{
	const u32 ring = resp->ring_mask + 1;
	const u32 mask = resp->ring_mask;
	const u32 first = resp->cack + 1;
	const u32 n = (u32)mrc_psn_diff(resp->max_rcv, resp->cack);
	const u32 from = resp->exec + 1;
	const u32 live = (u32)mrc_psn_diff(resp->max_rcv, resp->exec);
	u32 stops = live;
	const u16 depth = mrc_resp_depth(&resp->cfg);
	u32 i, used = 0;

	if (mrc_ring_weight(resp->rx_map, mask, first, n) != resp->ooo ||
	    mrc_ring_weight(resp->rx_map, mask, 0, ring) != resp->ooo)
		return "ooo is not the number of packets above cack";
	if (n && !mrc_bit_test(resp->rx_map, mask, resp->max_rcv))
		return "max_rcv was not received";
	if (n && mrc_bit_test(resp->rx_map, mask, first))
		return "cack did not advance";
	for (i = 0; i < resp->placing; i++) {
		const s32 d = mrc_resp_place_at(resp, i);

		if (!d || d > mrc_resp_room(resp) ||
		    mrc_bit_test(resp->rx_map, mask, resp->cack + (u32)d))
			return "placement of a packet that is not new";
		if ((u32)(d + mrc_psn_diff(resp->cack, resp->exec)) > stops)
			stops = (u32)(d + mrc_psn_diff(resp->cack, resp->exec));
	}
	/* If exec went back, nothing is executed any more. */
	if (resp->reverted)
		return NULL;
	if (stops > ring ||
	    mrc_ring_weight(resp->last_map, mask, from, live) !=
	    mrc_ring_weight(resp->last_map, mask, 0, ring) ||
	    mrc_ring_weight(resp->ack_map, mask, from, live) !=
	    mrc_ring_weight(resp->ack_map, mask, 0, ring) ||
	    mrc_ring_weight(resp->stop_map, mask, from, stops) !=
	    mrc_ring_weight(resp->stop_map, mask, 0, ring))
		return "bits outside of (exec, max_rcv]";
	for (i = 0; resp->stash && i <= resp->stash_mask; i++) {
		const struct mrc_recv_msg *imm = &resp->stash[i];

		if (!imm->used)
			continue;
		if ((imm->rqmsn & resp->stash_mask) != i ||
		    (u16)(imm->rqmsn - resp->rqmsn) >= depth)
			return "stash entry out of place";
		if (!imm->last && imm->kind == MRC_RECV_WRITE_IMM)
			return "half a WRITE_IMM in the stash";
		if (!imm->last)
			continue;
		used++;
		if (!mrc_bit_test(resp->stop_map, mask, imm->psn))
			return "stash entry without packet";
	}
	for (i = 0; resp->rd && i <= resp->rd_mask; i++) {
		const struct mrc_rd *rd = &resp->rd[i];
		u16 k;

		if (!rd->used)
			continue;
		k = (u16)(rd->num - resp->rd_oldest);
		if ((rd->num & resp->rd_mask) != i || k > resp->rd_mask)
			return "request out of place";
		if (k < (u16)(resp->rd_next - resp->rd_oldest))
			continue;
		used++;
		if (!mrc_bit_test(resp->stop_map, mask, rd->psn))
			return "request without packet";
	}
	if (used != mrc_ring_weight(resp->stop_map, mask, 0, ring))
		return "packet without stash entry";
	return NULL;
}

const char *mrc_resp_check(const struct mrc_resp *resp)
{
	s32 d = mrc_psn_diff(resp->max_rcv, resp->cack);
	bool at_err = resp->err_syn &&
		      mrc_psn_diff(resp->err_psn, resp->exec) == 1;
	const char *bad;

	if (d < 0 || d > mrc_resp_room(resp))
		return "max_rcv outside of the window";
	if (resp->window < MRC_MPR_UNIT ||
	    mrc_resp_room(resp) < (s32)resp->window ||
	    mrc_resp_room(resp) > (s32)resp->ring_mask + 1)
		return "advertised more or less than the window";
	if (mrc_psn_diff(resp->cack, resp->exec) < 0)
		return "exec ahead of cack";
	if (resp->exec != resp->cack && !resp->recv_due && !resp->rd_due &&
	    !at_err)
		return "exec behind cack for no reason";
	if (resp->err_syn && mrc_psn_diff(resp->err_psn, resp->exec) <= 0)
		return "executed past an error";
	if (resp->nak_sent && !resp->err_syn)
		return "NAK without error";
	d = mrc_psn_diff(resp->lowest_unsacked, resp->cack);
	if (d < 1 || mrc_psn_diff(resp->lowest_unsacked, resp->max_rcv) > 1)
		return "lowest_unsacked outside of (cack, max_rcv + 1]";
	bad = mrc_resp_check_rd(resp);
	return bad ? bad : mrc_resp_check_maps(resp);
}
