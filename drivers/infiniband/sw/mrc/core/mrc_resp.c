// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Responder: receive window, duplicates, semantic checks, execution order and WRITE_IMM
 * delivery. MRC 1.0 §5.1, §7, §8.2, §8.5, §8.6, §10. The contents of feedback packets
 * are in mrc_sack.c, the extension is in mrc_resp_ext.c.
 *
 * Two cursors move up the PSN space. cack: everything up to it is received
 * (reliability). exec: everything up to it is executed (transport). exec stops at each
 * WRITE_IMM until its completion is delivered. It stops for good before the first
 * semantic error.
 */
#include "mrc_resp_priv.h"
#include "mrc_bitmap.h"

static bool mrc_resp_cfg_ok(const struct mrc_resp_cfg *cfg)
{
	if (cfg->pmtu < 256 || cfg->pmtu > 4096 || cfg->pmtu & (cfg->pmtu - 1))
		return false;
	if (cfg->mpr_max &&
	    (cfg->mpr_max < cfg->mpr || cfg->mpr_max > MRC_MPR_MAX))
		return false;
	if (cfg->max_rd > MRC_RD_MAX ||
	    (cfg->ans && (!cfg->ext || !cfg->max_rd)))
		return false;
	return cfg->mpr && cfg->mpr <= MRC_MPR_MAX && cfg->max_wimm &&
	       !(cfg->rq_psn & ~MRC_PSN_MASK);
}

static u16 mrc_resp_mpr_max(const struct mrc_resp_cfg *cfg)
{
	return cfg->dynamic_mpr && cfg->mpr_max ? cfg->mpr_max : cfg->mpr;
}

/* One bit for each PSN of the widest range. */
static u32 mrc_resp_ring(const struct mrc_resp_cfg *cfg)
{
	return mrc_roundup_pow2((u32)mrc_resp_mpr_max(cfg) * MRC_MPR_UNIT);
}

size_t mrc_resp_mem(const struct mrc_resp_cfg *cfg)
{
	u32 ring;

	if (!mrc_resp_cfg_ok(cfg))
		return 0;
	/* At most 2^15 bits four times and 2^16 entries: no overflow. */
	ring = mrc_resp_ring(cfg);
	return 4 * mrc_map_words(ring) * sizeof(unsigned long) +
	       (cfg->late_rd ? 0 : mrc_resp_rd_mem(cfg)) +
	       (cfg->late_stash ? 0 : mrc_resp_stash_mem(cfg));
}

size_t mrc_resp_stash_mem(const struct mrc_resp_cfg *cfg)
{
	if (!mrc_resp_cfg_ok(cfg))
		return 0;
	return (size_t)mrc_roundup_pow2(mrc_resp_depth(cfg)) *
	       sizeof(struct mrc_recv_msg);
}

size_t mrc_resp_rd_mem(const struct mrc_resp_cfg *cfg)
{
	if (!mrc_resp_cfg_ok(cfg))
		return 0;
	return (size_t)mrc_resp_rd_slots(cfg) * sizeof(struct mrc_rd);
}

int mrc_resp_init(struct mrc_resp *resp, const struct mrc_resp_cfg *cfg,
		  const struct mrc_paths *paths, void *mem)
{
	size_t words;
	u32 ring;
	u8 *end;

	if (!mrc_resp_cfg_ok(cfg) || !mem)
		return -EINVAL;
	memset(resp, 0, sizeof(*resp));
	resp->cfg = *cfg;
	resp->paths = paths;
	resp->window = (u32)cfg->mpr * MRC_MPR_UNIT;
	ring = mrc_resp_ring(cfg);
	words = mrc_map_words(ring);
	resp->ring_mask = ring - 1;
	resp->rx_map = (unsigned long *)mem;
	resp->last_map = resp->rx_map + words;
	resp->ack_map = resp->last_map + words;
	resp->stop_map = resp->ack_map + words;
	end = (u8 *)(resp->stop_map + words);
	if (!cfg->late_rd && mrc_resp_rd_slots(cfg)) {
		mrc_resp_set_rd(resp, end);
		end += mrc_resp_rd_mem(cfg);
	}
	if (!cfg->late_stash)
		resp->stash = (struct mrc_recv_msg *)end;
	resp->stash_mask = mrc_roundup_pow2(mrc_resp_depth(cfg)) - 1;
	resp->sack_threshold = cfg->sack_threshold ? cfg->sack_threshold :
			       MRC_SACK_THRESHOLD;
	resp->cack = mrc_psn_add(cfg->rq_psn, -1);
	resp->exec = resp->cack;
	resp->max_rcv = resp->cack;
	resp->lowest_unsacked = cfg->rq_psn;
	resp->edge = mrc_psn_add(resp->cack, (s32)resp->window);
	mrc_rev_init(&resp->rev, cfg->seed);
	return 0;
}

int mrc_resp_restart(struct mrc_resp *resp, u32 rq_psn)
{
	struct mrc_resp_cfg cfg = resp->cfg;

	cfg.rq_psn = rq_psn;
	return mrc_resp_init(resp, &cfg, resp->paths, resp->rx_map);
}

void mrc_resp_permit(struct mrc_resp *resp, const struct mrc_resp_permit *may)
{
	struct mrc_resp_cfg *cfg = &resp->cfg;

	cfg->remote_write = may->remote_write;
	if (!cfg->ext || cfg->ans)
		return;
	cfg->remote_read = may->remote_read;
	cfg->remote_atomic = may->remote_atomic;
	cfg->remote_flush = may->remote_flush;
	cfg->max_rd = may->max_rd;
}

/* Advance the edge of the range that SACKs advertise; it never moves back, §5.2. */
static void mrc_resp_widen(struct mrc_resp *resp)
{
	u32 edge = mrc_psn_add(resp->cack, (s32)resp->window);

	if (mrc_psn_diff(edge, resp->edge) > 0)
		resp->edge = edge;
}

int mrc_resp_set_mpr(struct mrc_resp *resp, u16 mpr)
{
	if (!resp->cfg.dynamic_mpr || !mpr ||
	    mpr > mrc_resp_mpr_max(&resp->cfg))
		return -EINVAL;
	resp->window = (u32)mpr * MRC_MPR_UNIT;
	mrc_resp_widen(resp);
	return 0;
}

void mrc_resp_set_penalty(struct mrc_resp *resp, u8 pen, bool restore)
{
	resp->penalty = pen < 127 ? pen : 127;
	resp->restore = restore;
}

u8 mrc_resp_failed(const struct mrc_resp *resp)
{
	return resp->nak_sent ? resp->err_syn : 0;
}

/* Remember the error with the lowest PSN, because it executes first. */
void mrc_resp_error(struct mrc_resp *resp, u32 psn, u8 syndrome)
{
	if (resp->err_syn && mrc_psn_diff(psn, resp->err_psn) >= 0)
		return;
	resp->err_psn = psn;
	resp->err_syn = syndrome;
}

/*
 * May another NACK or train be sent? One per base RTT, OP-4 and OP-13. @last: time of
 * the last one, updated.
 */
static bool mrc_resp_rate(struct mrc_resp *resp, u64 *last, u64 now)
{
	if (*last && now - *last < resp->cfg.base_rtt)
		return false;
	*last = now;
	return true;
}

static void mrc_resp_owe_nack(struct mrc_resp *resp, u8 reason)
{
	resp->fb.nack = true;
	resp->fb.nack_reason = reason;
}

/*
 * Start handling a packet: the feedback owed is now about this packet. Only an ACK that
 * waits (mrc_resp_may_wait()) is kept, because it is about all packets before as well.
 */
static void mrc_resp_begin(struct mrc_resp *resp, const struct mrc_rx *rx,
			   u64 now)
{
	const struct mrc_hdr *h = rx->hdr;
	const bool ack = resp->fb.ack;

	memset(&resp->fb, 0, sizeof(resp->fb));
	resp->fb.ack = ack;
	resp->fb.psn = h->psn & MRC_PSN_MASK;
	resp->fb.port = rx->port;
	resp->fb.entropy = rx->entropy;
	resp->fb.ce = rx->ce;
	/* Other formats are not used as timestamps, §4.3. */
	if (h->ftype == MRC_TS_FTYPE && (h->ts || h->opcode == MRC_OP_PROBE)) {
		resp->fb.stamped = true;
		resp->fb.tstamp = h->tstamp;
		resp->fb.at = rx->at ? rx->at : now;
	}
}

/*
 * Must the responder accept nothing? It has failed, the list of placements is full, or
 * the caller still owes mrc_resp_recv_done() or mrc_resp_req_done().
 */
static bool mrc_resp_closed(const struct mrc_resp *resp)
{
	return resp->nak_sent || resp->placing == MRC_RESP_PLACES ||
	       (resp->exec != resp->cack && !mrc_resp_nak_held(resp));
}

/* Index of a packet of the window in the list of placements; MRC_RESP_PLACES: none. */
static u32 mrc_resp_find(const struct mrc_resp *resp, u32 psn)
{
	u32 i;

	for (i = 0; i < resp->placing; i++) {
		if (resp->place[i] == (u16)psn)
			return i;
	}
	return MRC_RESP_PLACES;
}

bool mrc_resp_is_new(const struct mrc_resp *resp, const struct mrc_rx *rx)
{
	s32 d;

	if (rx->trim != MRC_TRIM_NONE || mrc_resp_closed(resp) ||
	    mrc_resp_nak_held(resp))
		return false;
	d = mrc_psn_diff(rx->hdr->psn, resp->cack);
	return d > 0 && d <= mrc_resp_room(resp) &&
	       !mrc_bit_test(resp->rx_map, resp->ring_mask, rx->hdr->psn) &&
	       mrc_resp_find(resp, rx->hdr->psn) == MRC_RESP_PLACES;
}

/* The packet was received before: report it, place nothing, §7.3. */
static enum mrc_rx_action mrc_resp_duplicate(struct mrc_resp *resp,
					     const struct mrc_rx *rx, s32 d)
{
	mrc_resp_count(resp, rx, MRC_CTR_RX_DUP);
	resp->fb.sack = true;
	resp->fb.rtx = rx->hdr->rtx;
	resp->fb.dup_base = true;
	resp->fb.ack |= d <= 0;
	return MRC_RX_DONE;
}

/*
 * A copy of a packet whose payload is being placed. SACKs do not show the packet yet.
 * mrc_resp_placed() reports it.
 */
static enum mrc_rx_action mrc_resp_early_copy(struct mrc_resp *resp,
					      const struct mrc_rx *rx, u32 i)
{
	mrc_resp_count(resp, rx, MRC_CTR_RX_DUP);
	resp->again |= (u8)(1 << i);
	return MRC_RX_DONE;
}

static enum mrc_rx_action mrc_resp_trimmed(struct mrc_resp *resp,
					   const struct mrc_rx *rx, s32 d)
{
	u32 i;

	mrc_resp_count(resp, rx, MRC_CTR_RX_TRIMMED);
	if (!resp->cfg.trim_nack || d > mrc_resp_room(resp))
		return MRC_RX_DROP;
	if (d <= 0 || mrc_bit_test(resp->rx_map, resp->ring_mask, rx->hdr->psn))
		return mrc_resp_duplicate(resp, rx, d);
	i = mrc_resp_find(resp, rx->hdr->psn);
	if (i < MRC_RESP_PLACES)
		return mrc_resp_early_copy(resp, rx, i);
	mrc_resp_owe_nack(resp, rx->trim == MRC_TRIM_LASTHOP ?
			  MRC_NACK_TRIMMED_LASTHOP : MRC_NACK_TRIMMED);
	return MRC_RX_DONE;
}

/* OP-4 */
static enum mrc_rx_action mrc_resp_unknown(struct mrc_resp *resp,
					   const struct mrc_rx *rx, s32 d,
					   u64 now)
{
	mrc_resp_count(resp, rx, MRC_CTR_DROP_OPCODE);
	if (d <= 0 || d > mrc_resp_room(resp) ||
	    !mrc_resp_rate(resp, &resp->unexp_nack_at, now))
		return MRC_RX_DROP;
	mrc_resp_owe_nack(resp, MRC_NACK_UNEXP_EVENT);
	return MRC_RX_DONE;
}

/* §7.5 (1) and §2.5. Return: 0 or the syndrome. */
u8 mrc_resp_check_req(const struct mrc_resp *resp, const struct mrc_hdr *h,
		      u32 flags)
{
	const u32 pmtu = resp->cfg.pmtu;
	const u32 len = h->payload_len;
	const u32 msg = h->reth.dmalen;
	const bool first = flags & MRC_OPF_FIRST;
	const bool last = flags & MRC_OPF_LAST;

	if (h->pad != (-len & 3))
		return MRC_SYN_NAK_INV_REQ;
	if (flags & MRC_OPF_EXT || resp->cfg.ans)
		return mrc_resp_check_ext(resp, h, flags);
	if (!resp->cfg.remote_write)
		return MRC_SYN_NAK_INV_REQ;
	if (first && last) {
		/* The RETH of a zero-length write is ignored, §4.4. */
		if (!len)
			return 0;
		return len <= pmtu && msg == len ? 0 : MRC_SYN_NAK_INV_REQ;
	}
	if (msg > MRC_MAX_MSG || msg <= pmtu)
		return MRC_SYN_NAK_INV_REQ;
	if (len != (last ? ((msg - 1) & (pmtu - 1)) + 1 : pmtu))
		return MRC_SYN_NAK_INV_REQ;
	return 0;
}

/* Move cack over all contiguous PSNs received. */
static void mrc_resp_advance(struct mrc_resp *resp)
{
	u32 from = mrc_psn_add(resp->cack, 1);
	u32 n = (u32)mrc_psn_diff(resp->max_rcv, resp->cack);

	n = mrc_ring_next_clear(resp->rx_map, resp->ring_mask, from, n);
	mrc_ring_clear(resp->rx_map, resp->ring_mask, from, n);
	resp->ooo -= n;
	resp->cack = mrc_psn_add(resp->cack, (s32)n);
	mrc_resp_widen(resp);
	from = mrc_psn_add(resp->cack, 1);
	if (mrc_psn_diff(from, resp->lowest_unsacked) > 0)
		resp->lowest_unsacked = from;
	mrc_resp_execute(resp);
}

/* Has a new packet at distance @d from cack overtaken another one? */
static bool mrc_resp_overtook(const struct mrc_resp *resp, u32 psn, s32 d)
{
	u32 i, before = resp->ooo;

	if (d == 1 || mrc_psn_diff(psn, resp->max_rcv) < 0)
		return d != 1;
	for (i = 0; i < resp->placing; i++)
		before += mrc_resp_place_at(resp, i) < d;
	return (u32)d > before + 1;
}

/* A new packet arrived. */
static void mrc_resp_count_new(struct mrc_resp *resp, const struct mrc_rx *rx,
			       s32 d)
{
	mrc_resp_count(resp, rx, MRC_CTR_RX_DATA);
	if (mrc_resp_overtook(resp, rx->hdr->psn, d))
		mrc_resp_count(resp, rx, MRC_CTR_RX_OOO);
}

/* Record a new packet, §7.1; the order of its last steps is §8.2. */
static void mrc_resp_accept(struct mrc_resp *resp, const struct mrc_rx *rx,
			    u32 flags)
{
	const struct mrc_hdr *h = rx->hdr;
	const u32 mask = resp->ring_mask;

	mrc_bit_set(resp->rx_map, mask, h->psn);
	if (flags & MRC_OPF_LAST)
		mrc_bit_set(resp->last_map, mask, h->psn);
	if (h->a)
		mrc_bit_set(resp->ack_map, mask, h->psn);
	if (mrc_psn_diff(h->psn, resp->max_rcv) > 0)
		resp->max_rcv = resp->fb.psn;
	resp->ooo++;
	resp->rcvd_bytes += mrc_nominal_size(h->hdr_len, h->payload_len);
	resp->sack_cnt += h->payload_len > 1024 ? h->payload_len : 1024;
	resp->fb.rtx = h->rtx;
	resp->fb.dup_base = h->rtx;
	resp->fb.sack = resp->sack_cnt >= resp->sack_threshold || h->a ||
			rx->ce || h->rtx;
}

static enum mrc_rx_action mrc_resp_decline(struct mrc_resp *resp,
					   const struct mrc_rx *rx, u8 reason)
{
	mrc_resp_count(resp, rx, MRC_CTR_RX_REFUSED);
	mrc_resp_owe_nack(resp, reason);
	return MRC_RX_DONE;
}

/*
 * Checks before a packet may be recorded. @dist: set to its distance from cack. Return:
 * MRC_RX_PLACE if the packet is new and acceptable, else the final result.
 */
static enum mrc_rx_action mrc_resp_screen(struct mrc_resp *resp,
					  const struct mrc_rx *rx, u64 now,
					  s32 *dist)
{
	const struct mrc_hdr *h = rx->hdr;
	const u32 flags = mrc_op_info(h->opcode)->flags;
	u32 i;
	s32 d;

	if (mrc_resp_closed(resp)) {
		mrc_resp_count(resp, rx, MRC_CTR_DROP_STATE);
		return MRC_RX_DROP;
	}
	mrc_resp_begin(resp, rx, now);
	d = mrc_psn_diff(h->psn, resp->cack);
	*dist = d;
	/* Without the extension its opcodes are undefined. */
	if (flags & MRC_OPF_EXT && !resp->cfg.ext) {
		if (rx->trim == MRC_TRIM_NONE)
			return mrc_resp_unknown(resp, rx, d, now);
		mrc_resp_count(resp, rx, MRC_CTR_DROP_OPCODE);
		return MRC_RX_DROP;
	}
	if (rx->trim != MRC_TRIM_NONE)
		return mrc_resp_trimmed(resp, rx, d);
	if (!(flags & MRC_OPF_DATA))
		return mrc_resp_unknown(resp, rx, d, now);
	if (rx->ce)
		mrc_resp_count(resp, rx, MRC_CTR_RX_CE);
	mrc_rev_inbound(&resp->rev, rx->port);
	if (d == -(1 << 23) || d > mrc_resp_room(resp)) {
		mrc_resp_count(resp, rx, MRC_CTR_RX_OOR);
		if (d < 0 || !mrc_resp_rate(resp, &resp->oor_nack_at, now))
			return MRC_RX_DROP;
		mrc_resp_owe_nack(resp, MRC_NACK_PSN_OOR_WINDOW);
		return MRC_RX_DONE;
	}
	if (d <= 0 || mrc_bit_test(resp->rx_map, resp->ring_mask, h->psn))
		return mrc_resp_duplicate(resp, rx, d);
	i = mrc_resp_find(resp, h->psn);
	if (i < MRC_RESP_PLACES)
		return mrc_resp_early_copy(resp, rx, i);
	/* While a NAK waits for answers, new packets after the error are refused. */
	if (mrc_resp_nak_held(resp))
		return mrc_resp_decline(resp, rx, MRC_NACK_NO_RESOURCE);
	return MRC_RX_PLACE;
}

enum mrc_rx_action mrc_resp_refuse(struct mrc_resp *resp,
				   const struct mrc_rx *rx, u8 reason, u64 now)
{
	enum mrc_rx_action act;
	s32 d;

	act = mrc_resp_screen(resp, rx, now, &d);
	if (act != MRC_RX_PLACE)
		return act;
	return mrc_resp_decline(resp, rx, reason == MRC_NACK_NO_BITMAP ||
				reason == MRC_NACK_NO_PKT_BUFFER ?
				reason : MRC_NACK_NO_RESOURCE);
}

enum mrc_rx_action mrc_resp_refuse_rnr(struct mrc_resp *resp,
				       const struct mrc_rx *rx, u8 timer,
				       u64 now)
{
	enum mrc_rx_action act;
	s32 d;

	act = mrc_resp_screen(resp, rx, now, &d);
	if (act != MRC_RX_PLACE)
		return act;
	mrc_resp_count(resp, rx, MRC_CTR_RESP_RNR);
	mrc_resp_owe_nack(resp, MRC_NACK_NO_RESOURCE);
	resp->fb.nack_vendor = MRC_RNR_VALID | (timer & MRC_RNR_CODE);
	return MRC_RX_DONE;
}

enum mrc_rx_action mrc_resp_refuse_page(struct mrc_resp *resp,
					const struct mrc_rx *rx, u8 timer,
					u64 now)
{
	enum mrc_rx_action act;
	s32 d;

	act = mrc_resp_screen(resp, rx, now, &d);
	if (act != MRC_RX_PLACE)
		return act;
	mrc_resp_count(resp, rx, MRC_CTR_RESP_PAGE);
	mrc_resp_owe_nack(resp, MRC_NACK_NO_RESOURCE);
	/* MRC 1.0 does not define NETH.vendor_info. */
	if (resp->cfg.ext)
		resp->fb.nack_vendor = MRC_RNR_VALID | MRC_RNR_PAGE |
				       (timer & MRC_RNR_CODE);
	return MRC_RX_DONE;
}

/* Does a packet create or complete an entry of the stash? */
static bool mrc_resp_stashes(const struct mrc_resp *resp, u32 flags)
{
	if (!(flags & MRC_OPF_EXT))
		return flags & MRC_OPF_IMM && !resp->cfg.ans;
	if (!resp->cfg.ext)
		return false;
	return flags & (resp->cfg.ans ? MRC_OPF_ANSWER : MRC_OPF_SEND);
}

bool mrc_resp_wants_stash(const struct mrc_resp *resp, const struct mrc_rx *rx)
{
	return !resp->stash &&
	       mrc_resp_stashes(resp, mrc_op_info(rx->hdr->opcode)->flags) &&
	       mrc_resp_is_new(resp, rx);
}

void mrc_resp_set_stash(struct mrc_resp *resp, void *mem)
{
	if (!resp->stash)
		resp->stash = mem;
}

enum mrc_rx_action mrc_resp_on_data(struct mrc_resp *resp,
				    const struct mrc_rx *rx, u64 now)
{
	const struct mrc_hdr *h = rx->hdr;
	const u32 flags = mrc_op_info(h->opcode)->flags;
	bool place = h->payload_len;
	enum mrc_rx_action act;
	s32 d;
	u8 syn;

	act = mrc_resp_screen(resp, rx, now, &d);
	if (act != MRC_RX_PLACE)
		return act;
	syn = mrc_resp_check_req(resp, h, flags);
	if ((mrc_resp_stashes(resp, flags) && !resp->stash) ||
	    (!syn && mrc_resp_rd_full(resp, h, flags)))
		return mrc_resp_decline(resp, rx, MRC_NACK_NO_RESOURCE);
	mrc_resp_count_new(resp, rx, d);
	if (syn)
		mrc_resp_count(resp, rx, MRC_CTR_ERR_INV_REQ);
	else if (flags & MRC_OPF_EXT)
		syn = mrc_resp_take_ext(resp, rx, flags, &place);
	else if (flags & MRC_OPF_IMM)
		syn = mrc_resp_stash(resp, rx);
	if (syn) {
		mrc_resp_error(resp, resp->fb.psn, syn);
	} else {
		if (flags & MRC_OPF_IMM && !(flags & MRC_OPF_EXT))
			mrc_bit_set(resp->stop_map, resp->ring_mask, h->psn);
		if (place) {
			resp->place[resp->placing++] = (u16)h->psn;
			return MRC_RX_PLACE;
		}
	}
	mrc_resp_accept(resp, rx, flags);
	mrc_resp_advance(resp);
	return MRC_RX_DONE;
}

/* Remove an entry from the list of placements. Return: has a copy arrived meanwhile? */
static bool mrc_resp_unlist(struct mrc_resp *resp, u32 i)
{
	const u32 last = --resp->placing;
	const bool again = resp->again >> i & 1;

	resp->place[i] = resp->place[last];
	resp->again &= (u8)~(1 << i);
	if (resp->again >> last & 1)
		resp->again ^= (u8)(1 << last | 1 << i);
	return again;
}

void mrc_resp_placed(struct mrc_resp *resp, const struct mrc_rx *rx,
		     u8 syndrome, u64 now)
{
	const struct mrc_hdr *h = rx->hdr;
	const u32 i = mrc_resp_find(resp, h->psn);

	if (i == MRC_RESP_PLACES)
		return;
	mrc_resp_begin(resp, rx, now);
	mrc_resp_accept(resp, rx, mrc_op_info(h->opcode)->flags);
	if (mrc_resp_unlist(resp, i)) {
		resp->fb.sack = true;
		resp->fb.dup_base = true;
	}
	if (!syndrome) {
		mrc_ctr_add(resp->cfg.ctr, rx->port, MRC_CTR_RX_DATA_BYTES,
			    h->payload_len);
	} else {
		mrc_resp_count(resp, rx,
			       syndrome == MRC_SYN_NAK_ACCESS ?
			       MRC_CTR_ERR_ACCESS :
			       syndrome == MRC_SYN_NAK_REM_OP ?
			       MRC_CTR_ERR_REM_OP : MRC_CTR_ERR_INV_REQ);
		mrc_resp_error(resp, resp->fb.psn, syndrome);
	}
	mrc_resp_advance(resp);
}

/*
 * Was everything that arrived executed and acknowledged? Then a peer that still waits may
 * have missed the transport ACK, OP-20.
 */
static bool mrc_resp_all_done(const struct mrc_resp *resp)
{
	return resp->acked && mrc_resp_ackable(resp) == resp->max_rcv;
}

void mrc_resp_on_probe(struct mrc_resp *resp, const struct mrc_rx *rx, u64 now)
{
	if (mrc_resp_closed(resp)) {
		mrc_resp_count(resp, rx, MRC_CTR_DROP_STATE);
		return;
	}
	mrc_resp_begin(resp, rx, now);
	mrc_resp_count(resp, rx, MRC_CTR_RX_PROBE);
	if (rx->ce)
		mrc_resp_count(resp, rx, MRC_CTR_RX_CE);
	resp->fb.sack = true;
	resp->fb.probe = true;
	resp->fb.ack |= mrc_resp_all_done(resp);
	resp->fb.probe_id = rx->hdr->peth.probe_id;
	/*
	 * The reply describes the whole window, §8.3. If that takes a train of SACKs,
	 * only one probe per base RTT gets a train. Other probes get only the newest
	 * map, so that small packets do not cause hundreds of replies each.
	 */
	if (mrc_psn_diff(resp->max_rcv, resp->cack) > 64) {
		if (!mrc_resp_rate(resp, &resp->train_at, now)) {
			mrc_resp_count(resp, rx, MRC_CTR_TRAIN_LIMIT);
			return;
		}
	}
	resp->lowest_unsacked = mrc_psn_add(resp->cack, 1);
}
