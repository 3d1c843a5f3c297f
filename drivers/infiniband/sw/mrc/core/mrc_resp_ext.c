// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Responder of the extension: SENDs, requests (READ, atomics, FLUSH) and, on the answer
 * channel, answers.
 *
 * Each of these messages has a number that increases by one. So a packet finds its
 * entry in any order of arrival: SENDs and answers in the stash, which they share with
 * WRITE_IMMs, requests in a ring of their own. Numbers and lengths in packets are not
 * trusted: the packets of a message must agree with each other and with their PSNs.
 * When exec reaches the last packet of a message, the entry must be the next in order
 * and complete.
 */
#include "mrc_resp_priv.h"
#include "mrc_bitmap.h"

/* Operand of FLUSH: the placement type, and the range that the flush covers. */
#define FLUSH_PLACE_MASK	0x03ull	/* global, persistent */
#define FLUSH_LEVEL_SHIFT	4	/* 0 = range, 1 = MR */
#define FLUSH_LEVEL_MR		1

#define ATOMIC_LEN		8

/* Limit of the receives told to the peer: 16-bit numbers must stay comparable. */
#define RECVS_TOLD		0x4000

u32 mrc_resp_rd_slots(const struct mrc_resp_cfg *cfg)
{
	if (!cfg->ext || cfg->ans || !cfg->max_rd)
		return 0;
	return 2 * mrc_roundup_pow2(cfg->max_rd);
}

/* A request is one packet without payload. */
static bool mrc_resp_request_ok(const struct mrc_resp *resp,
				const struct mrc_hdr *h)
{
	const struct mrc_resp_cfg *cfg = &resp->cfg;
	const struct mrc_reth *r = &h->reth;
	const u64 flush = h->opeth.swap;

	if (h->payload_len || !cfg->max_rd)
		return false;
	switch (h->opcode) {
	case MRC_OP_READ_REQ:
		return cfg->remote_read && r->dmalen <= MRC_MAX_MSG;
	case MRC_OP_FLUSH:
		return cfg->remote_flush &&
		       flush & FLUSH_PLACE_MASK &&
		       !(flush & ((1 << FLUSH_LEVEL_SHIFT) - 1) &
			 ~FLUSH_PLACE_MASK) &&
		       flush >> FLUSH_LEVEL_SHIFT <= FLUSH_LEVEL_MR;
	case MRC_OP_ATOMIC_WRITE:
		if (!cfg->remote_write)
			return false;
		break;
	default:
		if (!cfg->remote_atomic)
			return false;
		break;
	}
	return r->dmalen == ATOMIC_LEN && !(r->va & (ATOMIC_LEN - 1));
}

/*
 * Check a packet of a SEND or an answer: lengths as in a WRITE, RETH.va is the offset.
 */
static bool mrc_resp_part_ok(const struct mrc_resp *resp,
			     const struct mrc_hdr *h, u32 flags)
{
	const u32 pmtu = resp->cfg.pmtu;
	const u32 len = h->payload_len;
	const u32 msg = h->reth.dmalen;
	const u64 va = h->reth.va;

	if (h->opcode == MRC_OP_ATOMIC_RESP && len != ATOMIC_LEN)
		return false;
	if (flags & MRC_OPF_FIRST && va)
		return false;
	if (flags & MRC_OPF_FIRST && flags & MRC_OPF_LAST)
		return len <= pmtu && msg == len;
	if (msg > MRC_MAX_MSG || msg <= pmtu)
		return false;
	if (flags & MRC_OPF_LAST)
		return len == ((msg - 1) & (pmtu - 1)) + 1 && va == msg - len;
	if (len != pmtu)
		return false;
	return flags & MRC_OPF_FIRST ||
	       (va && !(va & (pmtu - 1)) && va < msg - pmtu);
}

/* Return: 0 or the syndrome. */
u8 mrc_resp_check_ext(const struct mrc_resp *resp, const struct mrc_hdr *h,
		      u32 flags)
{
	bool ok;

	/* The answer channel carries answers and nothing else. */
	if (resp->cfg.ans != !!(flags & MRC_OPF_ANSWER))
		return MRC_SYN_NAK_INV_REQ;
	if (flags & MRC_OPF_REQUEST)
		ok = mrc_resp_request_ok(resp, h);
	else
		ok = mrc_resp_part_ok(resp, h, flags);
	return ok ? 0 : MRC_SYN_NAK_INV_REQ;
}

/* Is @psn after the first error, so that it will never be executed? */
static bool mrc_resp_past_error(const struct mrc_resp *resp, u32 psn)
{
	return resp->err_syn && mrc_psn_diff(psn, resp->err_psn) > 0;
}

/* Number of the message in the stash. */
static u16 mrc_resp_number(const struct mrc_resp *resp, const struct mrc_hdr *h)
{
	return resp->cfg.ans ? h->msn : h->rqmsn;
}

/* A packet of a SEND or of an answer. Return: 0 or the syndrome. */
static u8 mrc_resp_part(struct mrc_resp *resp, const struct mrc_rx *rx,
			u32 flags)
{
	const struct mrc_hdr *h = rx->hdr;
	const u32 pmtu = resp->cfg.pmtu;
	const u16 depth = resp->cfg.ans ? resp->cfg.max_rd :
					   resp->cfg.max_wimm;
	const u16 num = mrc_resp_number(resp, h);
	const u32 msg = h->reth.dmalen;
	struct mrc_recv_msg *imm = &resp->stash[num & resp->stash_mask];
	/* n: packets of the message; after: packets of it that follow this one. */
	const u32 n = msg ? (msg - 1) / pmtu + 1 : 1;
	const u32 after = n - 1 - (u32)h->reth.va / pmtu;
	const u32 psn = mrc_psn_add(h->psn, (s32)after);

	if ((u16)(num - resp->rqmsn) >= depth) {
		mrc_resp_count(resp, rx, resp->cfg.ans ? MRC_CTR_ERR_INV_REQ :
							  MRC_CTR_ERR_WIMM_LIMIT);
		return MRC_SYN_NAK_INV_REQ;
	}
	if (!imm->used) {
		memset(imm, 0, sizeof(*imm));
		imm->used = true;
		imm->psn = psn;
		imm->len = msg;
		imm->left = n;
		imm->rqmsn = num;
		imm->kind = MRC_RECV_SEND;
	} else if (imm->psn != psn || imm->len != msg || !imm->left) {
		/*
		 * The packet belongs to another message, or contradicts earlier packets
		 * of its message. A WRITE_IMM in the stash has no packets left.
		 */
		mrc_resp_count(resp, rx, MRC_CTR_ERR_INV_REQ);
		return MRC_SYN_NAK_INV_REQ;
	}
	imm->left--;
	resp->peer_sends = !resp->cfg.ans;
	if (!(flags & MRC_OPF_LAST))
		return 0;
	imm->last = true;
	imm->se = h->se;
	if (flags & MRC_OPF_IMM) {
		imm->kind = MRC_RECV_SEND_IMM;
		imm->imm = h->reth.imm;
	} else if (flags & MRC_OPF_INV) {
		imm->kind = MRC_RECV_SEND_INV;
		imm->inv_key = h->reth.rkey;
	}
	mrc_bit_set(resp->stop_map, resp->ring_mask, h->psn);
	return 0;
}

/* Return: 0 or the syndrome. */
static u8 mrc_resp_request(struct mrc_resp *resp, const struct mrc_rx *rx)
{
	const struct mrc_hdr *h = rx->hdr;
	struct mrc_rd *rd = &resp->rd[h->rqmsn & resp->rd_mask];

	/* The number is out of range or already in use. */
	if ((u16)(h->rqmsn - resp->rd_oldest) > resp->rd_mask || rd->used) {
		mrc_resp_count(resp, rx, MRC_CTR_ERR_INV_REQ);
		return MRC_SYN_NAK_INV_REQ;
	}
	memset(rd, 0, sizeof(*rd));
	rd->used = true;
	rd->op = h->opcode;
	rd->psn = resp->fb.psn;
	rd->num = h->rqmsn;
	rd->rkey = h->reth.rkey;
	rd->len = h->reth.dmalen;
	rd->va = h->reth.va;
	if (h->opcode != MRC_OP_READ_REQ) {
		rd->swap = h->opeth.swap;
		rd->compare = h->opeth.compare;
	}
	mrc_bit_set(resp->stop_map, resp->ring_mask, h->psn);
	return 0;
}

/*
 * Record a packet that passed mrc_resp_check_ext(). @place: set if the packet has
 * payload to place. Return: 0 or the syndrome.
 */
u8 mrc_resp_take_ext(struct mrc_resp *resp, const struct mrc_rx *rx, u32 flags,
		     bool *place)
{
	*place = false;
	/* After an error no receive was requested and no request will be answered. */
	if (mrc_resp_past_error(resp, rx->hdr->psn))
		return 0;
	if (flags & MRC_OPF_REQUEST)
		return mrc_resp_request(resp, rx);
	*place = rx->hdr->payload_len || resp->cfg.ans;
	return mrc_resp_part(resp, rx, flags);
}

/* A valid request for which the ring has no room, or for which there is no ring yet. */
bool mrc_resp_rd_full(const struct mrc_resp *resp, const struct mrc_hdr *h,
		      u32 flags)
{
	s16 ahead;

	if (!(flags & MRC_OPF_REQUEST) || mrc_resp_past_error(resp, h->psn))
		return false;
	ahead = (s16)(h->rqmsn - resp->rd_oldest);
	return !resp->rd || ahead > (s32)resp->rd_mask;
}

bool mrc_resp_wants_rd(const struct mrc_resp *resp, const struct mrc_rx *rx)
{
	const struct mrc_hdr *h = rx->hdr;
	const u32 flags = mrc_op_info(h->opcode)->flags;

	return resp->cfg.ext && !resp->rd && flags & MRC_OPF_REQUEST &&
	       mrc_resp_is_new(resp, rx) &&
	       !mrc_resp_past_error(resp, h->psn) &&
	       !mrc_resp_check_req(resp, h, flags);
}

u32 mrc_resp_rd_slots_for(const struct mrc_resp *resp, u16 max_rd)
{
	struct mrc_resp_cfg cfg = resp->cfg;

	cfg.max_rd = max_rd;
	return mrc_resp_rd_slots(&cfg);
}

size_t mrc_resp_rd_mem_for(const struct mrc_resp *resp, u16 max_rd)
{
	struct mrc_resp_cfg cfg = resp->cfg;

	cfg.max_rd = max_rd;
	return mrc_resp_rd_mem(&cfg);
}

void mrc_resp_set_rd(struct mrc_resp *resp, void *mem)
{
	mrc_resp_give_rd(resp, mem, resp->cfg.max_rd);
}

void mrc_resp_give_rd(struct mrc_resp *resp, void *mem, u16 max_rd)
{
	const u32 slots = mrc_resp_rd_slots_for(resp, max_rd);

	if (resp->rd || !slots)
		return;
	resp->rd = mem;
	/* Belongs to @mem: cfg.max_rd may change later. */
	resp->rd_mask = slots - 1;
}

bool mrc_resp_wants_recv(const struct mrc_resp *resp, const struct mrc_rx *rx,
			 u32 *n)
{
	const struct mrc_hdr *h = rx->hdr;
	const u32 flags = mrc_op_info(h->opcode)->flags;
	const u16 ahead = (u16)(h->rqmsn - resp->rqmsn);

	if (!resp->cfg.ext || resp->cfg.ans)
		return false;
	if (!(flags & MRC_OPF_SEND) &&
	    (flags & MRC_OPF_EXT || !(flags & MRC_OPF_IMM)))
		return false;
	/* mrc_resp_on_data() handles errors. */
	if (ahead >= resp->cfg.max_wimm || !mrc_resp_is_new(resp, rx) ||
	    mrc_resp_past_error(resp, h->psn) ||
	    mrc_resp_check_req(resp, h, flags))
		return false;
	*n = ahead + 1u;
	return true;
}

bool mrc_resp_tells_recvs(const struct mrc_resp *resp)
{
	return resp->fb.ack && resp->peer_sends;
}

void mrc_resp_set_recvs(struct mrc_resp *resp, u32 n)
{
	resp->recv_limit = (u16)(resp->rqmsn +
				 (n < RECVS_TOLD ? n : RECVS_TOLD));
	resp->recv_known = true;
}

/* Is the next request to execute the one at @psn? */
bool mrc_resp_rd_at(const struct mrc_resp *resp, u32 psn)
{
	const struct mrc_rd *rd;

	if (!resp->rd)
		return false;
	rd = &resp->rd[resp->rd_next & resp->rd_mask];
	/*
	 * With a full ring the slot holds the oldest request, which was executed
	 * before.
	 */
	return mrc_resp_unanswered(resp) <= resp->rd_mask && rd->used &&
	       rd->psn == psn;
}

bool mrc_resp_next_req(struct mrc_resp *resp, struct mrc_rd *rd)
{
	if (!resp->rd_due || resp->nak_sent)
		return false;
	*rd = resp->rd[resp->rd_next & resp->rd_mask];
	return true;
}

static void mrc_resp_req_error(struct mrc_resp *resp, u32 psn, u8 syndrome)
{
	mrc_ctr_add(resp->cfg.ctr, resp->fb.port,
		    syndrome == MRC_SYN_NAK_ACCESS ? MRC_CTR_ERR_ACCESS :
		    syndrome == MRC_SYN_NAK_REM_OP ? MRC_CTR_ERR_REM_OP :
						     MRC_CTR_ERR_INV_REQ, 1);
	mrc_resp_error(resp, psn, syndrome);
}

void mrc_resp_req_done(struct mrc_resp *resp, u8 syndrome)
{
	const u32 psn = mrc_psn_add(resp->exec, 1);

	if (!resp->rd_due)
		return;
	resp->rd_due = false;
	mrc_resp_unmark(resp, psn);
	if (syndrome) {
		resp->rd[resp->rd_next & resp->rd_mask].used = false;
		mrc_resp_req_error(resp, psn, syndrome);
		return;
	}
	mrc_ctr_add(resp->cfg.ctr, resp->fb.port, MRC_CTR_RX_REQUEST, 1);
	resp->rd_next++;
	mrc_resp_pass(resp, psn);
	mrc_resp_execute(resp);
}

void mrc_resp_answered(struct mrc_resp *resp)
{
	struct mrc_rd *rd;

	if (!mrc_resp_unanswered(resp))
		return;
	rd = &resp->rd[resp->rd_oldest & resp->rd_mask];
	rd->used = false;
	resp->rd_oldest++;
	/*
	 * The answer acknowledges to the peer everything up to the request. Messages
	 * executed after the request have waited for this ACK.
	 */
	if (mrc_resp_ackable(resp) != rd->psn)
		resp->fb.ack = true;
}

void mrc_resp_req_failed(struct mrc_resp *resp, u16 num, u8 syndrome)
{
	u32 psn;

	if (!syndrome || resp->nak_sent ||
	    (u16)(num - resp->rd_oldest) >= mrc_resp_unanswered(resp))
		return;
	psn = resp->rd[num & resp->rd_mask].psn;
	/*
	 * Handle it as if it had failed when it was executed; nothing after it counts.
	 */
	while (resp->rd_next != num) {
		resp->rd_next--;
		resp->rd[resp->rd_next & resp->rd_mask].used = false;
	}
	resp->exec = mrc_psn_add(psn, -1);
	resp->acked = false;
	resp->recv_due = false;
	resp->rd_due = false;
	resp->reverted = true;
	mrc_resp_req_error(resp, psn, syndrome);
}

/* The next answer in order has arrived completely. */
void mrc_resp_next_answer(struct mrc_resp *resp)
{
	const u32 psn = mrc_psn_add(resp->exec, 1);

	resp->recv_due = false;
	resp->stash[resp->rqmsn & resp->stash_mask].used = false;
	mrc_resp_unmark(resp, psn);
	resp->rqmsn++;
	resp->done++;
	mrc_resp_pass(resp, psn);
}

u32 mrc_resp_take_done(struct mrc_resp *resp)
{
	u32 n = resp->done;

	resp->done = 0;
	return n;
}

/* Part of mrc_resp_check(): requests that were executed. */
const char *mrc_resp_check_rd(const struct mrc_resp *resp)
{
	const u32 n = mrc_resp_unanswered(resp);
	u32 i;

	if (!resp->rd)
		return n || resp->rd_due ? "requests without a ring" : NULL;
	if (n > resp->rd_mask + 1u)
		return "more unanswered requests than the ring has";
	if (resp->rd_due && resp->recv_due)
		return "two things due at once";
	for (i = 0; i < n; i++) {
		const u16 num = (u16)(resp->rd_oldest + i);
		const struct mrc_rd *rd = &resp->rd[num & resp->rd_mask];

		if (!rd->used || rd->num != num)
			return "unanswered request was lost";
		if (mrc_psn_diff(rd->psn, resp->exec) > 0)
			return "request executed ahead of exec";
		if (i && mrc_psn_diff(rd->psn, resp->rd[(num - 1) &
				      resp->rd_mask].psn) <= 0)
			return "requests executed out of order";
	}
	return NULL;
}
