// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Endpoint operations, MRC 1.0 §12. */
#include "mrc_endpoint.h"

void mrc_ep_request(struct mrc_hdr *hdr, u8 op, u16 id, u16 stamp)
{
	*hdr = (struct mrc_hdr){
		.opcode = MRC_OP_ENDPOINT_REQ,
		.pkey = MRC_PKEY_DEFAULT,
		.dqp = MRC_QPN_ENDPOINT,
		.psn = id,
		.tstamp = stamp,
		.ftype = MRC_TS_FTYPE,
		.epop.op = op,
	};
}

void mrc_ep_response(struct mrc_hdr *hdr, const struct mrc_hdr *req)
{
	*hdr = (struct mrc_hdr){
		.opcode = MRC_OP_ENDPOINT_RESP,
		.pkey = MRC_PKEY_DEFAULT,
		.dqp = MRC_QPN_ENDPOINT,
		.psn = req->psn & 0xFFFF,
		.tstamp = req->tstamp,
		.epop.op = req->epop.op,
	};
}

void mrc_ep_ids_init(struct mrc_ep_ids *ids, u16 seed)
{
	memset(ids, 0, sizeof(*ids));
	ids->next = seed;
}

int mrc_ep_id_get(struct mrc_ep_ids *ids, u64 now)
{
	unsigned int span = ids->next / MRC_EP_ID_SPAN, i;
	u16 id;

	if (ids->next % MRC_EP_ID_SPAN == 0) {
		for (i = 0; i < MRC_EP_ID_SPANS; i++) {
			if (!ids->used[span] && now >= ids->free_at[span])
				break;
			span = (span + 1) % MRC_EP_ID_SPANS;
		}
		if (i == MRC_EP_ID_SPANS)
			return -EAGAIN;
		ids->next = span * MRC_EP_ID_SPAN;
	}
	id = ids->next++;
	ids->used[span]++;
	return id;
}

void mrc_ep_id_put(struct mrc_ep_ids *ids, u16 id, u64 now)
{
	unsigned int span = id / MRC_EP_ID_SPAN;

	mrc_assert(ids->used[span]);
	ids->used[span]--;
	ids->free_at[span] = now + MRC_EP_ID_HOLD;
}

int mrc_ep_batch_open(struct mrc_ep_batch *b, struct mrc_ep_ids *ids, u64 now)
{
	u32 i;

	b->done = 0;
	for (i = 0; i < b->n; i++) {
		int id = mrc_ep_id_get(ids, now);

		if (id < 0) {
			/* Not sent, but earlier requests with ids of these spans were. */
			while (i--)
				mrc_ep_id_put(ids, b->ask[i].id, now);
			return id;
		}
		b->ask[i].id = id;
	}
	return 0;
}

void mrc_ep_batch_close(struct mrc_ep_batch *b, struct mrc_ep_ids *ids,
			u64 now)
{
	u32 i;

	for (i = 0; i < b->n; i++)
		mrc_ep_id_put(ids, b->ask[i].id, now);
	b->n = 0;
}

u16 mrc_ep_batch_sent(struct mrc_ep_batch *b, u32 i, u64 now)
{
	struct mrc_ep_pending *ask = &b->ask[i];

	ask->at = now;
	ask->stamp = now >> MRC_TS_SHIFT;
	ask->sent = true;
	return ask->stamp;
}

/* The request with @id. Binary search: distances from the first id ascend. */
static struct mrc_ep_pending *mrc_ep_batch_find(struct mrc_ep_batch *b, u16 id)
{
	u32 lo = 0, hi = b->n;
	u16 first, want;

	if (!b->n)
		return NULL;
	first = b->ask[0].id;
	want = id - first;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if ((u16)(b->ask[mid].id - first) < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < b->n && b->ask[lo].id == id ? &b->ask[lo] : NULL;
}

bool mrc_ep_batch_response(struct mrc_ep_batch *b, u16 id, const u8 *peer,
			   const u8 *self, u16 echo, u64 now,
			   struct mrc_ep_result *a)
{
	struct mrc_ep_pending *ask = mrc_ep_batch_find(b, id);
	u64 gone, own;

	if (!ask || !ask->sent || ask->done ||
	    memcmp(ask->peer, peer, MRC_EP_ADDR) ||
	    memcmp(ask->self, self, MRC_EP_ADDR))
		return false;
	gone = now > ask->at ? now - ask->at : 0;
	if (gone > b->timeout)
		return false;
	ask->done = true;
	b->done++;

	/* 0: the peer does not echo timestamps (as in §4.6). */
	own = echo ? (u64)(u16)(echo - ask->stamp) << MRC_TS_SHIFT : 0;
	a->adjusted = own && own <= gone;
	if (a->adjusted)
		gone -= own;
	a->rtt = gone > 0xFFFFFFFFu ? 0xFFFFFFFFu : (u32)gone;
	a->index = ask - b->ask;
	return true;
}

void mrc_status_tx_set(struct mrc_status_tx *n, u32 mask, bool keep, u16 id, u64 rto,
		       u64 now)
{
	if (rto < MRC_STATUS_RTO_MIN)
		rto = MRC_STATUS_RTO_MIN;
	if (rto > MRC_STATUS_RTO_MAX)
		rto = MRC_STATUS_RTO_MAX;
	n->on = true;
	n->keep = keep;
	n->answered = false;
	n->tries = 0;
	n->ticks = 0;
	n->id = id;
	n->mask = mask;
	n->rto = rto;
	n->since = now;
	n->try_at = now;
}

static u64 mrc_news_tick_at(const struct mrc_status_tx *n)
{
	return n->since + (n->ticks + 1) * MRC_STATUS_TICK;
}

bool mrc_status_tx_needed(const struct mrc_status_tx *n, bool fresh, bool part, bool told_part)
{
	return (part && mrc_status_tx_settled(n)) || (fresh && told_part);
}

bool mrc_status_tx_due(struct mrc_status_tx *n, u64 now)
{
	bool due = false;

	if (!n->on)
		return false;
	if (!n->answered && n->tries < MRC_STATUS_TRIES && now >= n->try_at) {
		due = true;
		n->tries++;
		n->try_at = now + n->rto;
	}
	/* A late call sends the update once, however many ticks it missed. */
	while (n->ticks < MRC_STATUS_TICKS && now >= mrc_news_tick_at(n)) {
		due = true;
		n->ticks++;
		n->keep_at = now + MRC_STATUS_REPEAT;
	}
	if (n->ticks < MRC_STATUS_TICKS)
		return due;
	if (!n->keep) {
		n->on = false;
	} else if (now >= n->keep_at) {
		due = true;
		n->keep_at = now + MRC_STATUS_REPEAT;
	}
	return due;
}

u64 mrc_status_tx_next(const struct mrc_status_tx *n)
{
	u64 at;

	if (!n->on)
		return ~0ull;
	at = n->ticks < MRC_STATUS_TICKS ? mrc_news_tick_at(n) : n->keep_at;
	if (!n->answered && n->tries < MRC_STATUS_TRIES && n->try_at < at)
		at = n->try_at;
	return at;
}

bool mrc_status_tx_response(struct mrc_status_tx *n, u16 id)
{
	if (!n->on || !n->tries || n->id != id)
		return false;
	n->answered = true;
	return true;
}

void mrc_status_rx_init(struct mrc_status_rx *v)
{
	v->word = MRC_STATUS_UNKNOWN;
	v->at = 0;
}

bool mrc_status_rx_update(struct mrc_status_rx *v, u32 mask, u64 now)
{
	u32 was = v->word;

	mrc_write_once(v->word, mask & MRC_STATUS_PORTS);
	v->at = now;
	return v->word != was;
}

u64 mrc_status_rx_expires(const struct mrc_status_rx *v)
{
	return v->word == MRC_STATUS_UNKNOWN ? ~0ull : v->at + MRC_STATUS_HOLD;
}

bool mrc_status_rx_expire(struct mrc_status_rx *v, u64 now)
{
	if (now < mrc_status_rx_expires(v))
		return false;
	mrc_write_once(v->word, MRC_STATUS_UNKNOWN);
	return true;
}

bool mrc_ep_limit_ok(struct mrc_ep_limit *l, u32 hash, u64 now)
{
	unsigned int i = hash % MRC_EP_BUCKETS;

	if (!l->bucket[i].n || now - l->bucket[i].since >= 1000000000ull) {
		l->bucket[i].since = now;
		l->bucket[i].n = 0;
	}
	if (l->bucket[i].n >= MRC_EP_RATE)
		return false;
	l->bucket[i].n++;
	return true;
}
