/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Endpoint operations (MRC 1.0 §12) without storage and sockets: request ids,
 * batches of requests and their responses, news of port states and how often
 * they are told, what a peer told, and the limit on answers.
 *
 * The caller serialises calls on one object.
 */
#ifndef MRC_CORE_ENDPOINT_H
#define MRC_CORE_ENDPOINT_H

#include "mrc_base.h"
#include "mrc_wire.h"

MRC_C_BEGIN

/* Headers ------------------------------------------------------------------- */

/**
 * mrc_ep_request - the header of a request (§12.1)
 * @hdr: result; what @op has besides is zero
 * @op: enum mrc_epop
 * @id: request id
 * @stamp: when it is sent, units of 128 ns, see MRC_TS_SHIFT
 */
void mrc_ep_request(struct mrc_hdr *hdr, u8 op, u16 id, u16 stamp);

/* The header of the response to @req: id and timestamp come back (§12.2). */
void mrc_ep_response(struct mrc_hdr *hdr, const struct mrc_hdr *req);

/* Request ids --------------------------------------------------------------- */

#define MRC_EP_ID_SPAN		1024	/* ids whose end is remembered together */
#define MRC_EP_ID_SPANS		(65536 / MRC_EP_ID_SPAN)
#define MRC_EP_ID_HOLD		1000000000ull	/* ns, §12.2 */

/**
 * struct mrc_ep_ids - which request ids may be used
 * @next: taken next unless it opens a span that is not free
 * @used: ids taken, per span
 * @free_at: when the span may be used again once @used is 0
 *
 * Ids ascend, so that peers of a kind that tells an old port status from a new one
 * by them can.
 */
struct mrc_ep_ids {
	u16 next;
	u16 used[MRC_EP_ID_SPANS];
	u64 free_at[MRC_EP_ID_SPANS];
};

/* @seed: unpredictable, so that responses are hard to forge. */
void mrc_ep_ids_init(struct mrc_ep_ids *ids, u16 seed);

/* An id that nobody used for MRC_EP_ID_HOLD, or -EAGAIN. */
int mrc_ep_id_get(struct mrc_ep_ids *ids, u64 now);
void mrc_ep_id_put(struct mrc_ep_ids *ids, u16 id, u64 now);

/* Batches ------------------------------------------------------------------- */

#define MRC_EP_ADDR		16	/* bytes of an address, v4-mapped for IPv4 */

/**
 * struct mrc_ep_ask - a request that waits for its response
 * @id: on the wire
 * @stamp: tx_timestamp that was sent
 * @sent: it is on its way
 * @done: answered
 * @at: ns, when it was sent
 * @peer: who may answer
 * @self: who asked
 */
struct mrc_ep_ask {
	u16 id;
	u16 stamp;
	bool sent;
	bool done;
	u64 at;
	u8 peer[MRC_EP_ADDR];
	u8 self[MRC_EP_ADDR];
};

/**
 * struct mrc_ep_batch - requests that are waited for together
 * @ask: array of @n, their ids ascending modulo 2^16 from the first one on
 * @n: 1..65535
 * @done: how many were answered
 * @timeout: ns, from the sending of each request
 */
struct mrc_ep_batch {
	struct mrc_ep_ask *ask;
	u32 n;
	u32 done;
	u64 timeout;
};

/* What a response says; @rtt in ns, saturating. */
struct mrc_ep_answer {
	u32 index;
	u32 rtt;
	bool adjusted;	/* the peer took its own time off */
};

/**
 * mrc_ep_batch_open - give every request an id
 * @b: ->ask zeroed but for the addresses, ->n, ->timeout
 * @ids: of the device
 * @now: ns
 *
 * Return: 0, or -EAGAIN when there are not enough ids; then none is taken.
 */
int mrc_ep_batch_open(struct mrc_ep_batch *b, struct mrc_ep_ids *ids, u64 now);

/* Give the ids back; responses that come later match nothing. */
void mrc_ep_batch_close(struct mrc_ep_batch *b, struct mrc_ep_ids *ids,
			u64 now);

/* Request @i is about to leave; returns its tx_timestamp (§4.9). */
u16 mrc_ep_batch_sent(struct mrc_ep_batch *b, u32 i, u64 now);

/**
 * mrc_ep_batch_answer - match a response
 * @b: the batch
 * @id: BTH.psn
 * @peer: source address
 * @self: destination address
 * @echo: EETH.tx_timestamp
 * @now: ns, when it arrived
 * @a: filled in on a match
 *
 * The time between is taken from this host's clock; the echo, 16 bits of
 * 128 ns, only says how much of it the peer took off. An echo that cannot be
 * right says nothing (§12.2, §4.10).
 *
 * Return: whether the response belongs to a request of @b that waits for it. A
 * request waits for ->timeout from its own sending on, however long it takes to
 * send the others.
 */
bool mrc_ep_batch_answer(struct mrc_ep_batch *b, u16 id, const u8 *peer,
			 const u8 *self, u16 echo, u64 now,
			 struct mrc_ep_answer *a);

/* Port status: telling ------------------------------------------------------- */

#define MRC_NEWS_TRIES		4	/* the first one and three repeats, §12.3 */
#define MRC_NEWS_TICKS		10	/* then once per second, OP-31 */
#define MRC_NEWS_TICK		1000000000ull
#define MRC_NEWS_KEEP		5000000000ull	/* then so often, if at all */
#define MRC_NEWS_RTO_MIN	1000000ull
#define MRC_NEWS_RTO_MAX	MRC_NEWS_TICK

/**
 * struct mrc_news - what one peer is being told
 * @on: there is something
 * @keep: it is told for as long as it holds: words expire, MRC_VIEW_HOLD
 * @answered: the peer confirmed it
 * @tries: sent so far at intervals of an RTO
 * @ticks: seconds that are over
 * @id: request id, the same each time: a repeat is no other update
 * @mask: ports that are up
 * @rto: ns
 * @since: when the ports changed, ns
 * @try_at: when the next try is due
 * @keep_at: when it is told again after the last of these seconds
 */
struct mrc_news {
	bool on;
	bool keep;
	bool answered;
	u8 tries;
	u8 ticks;
	u16 id;
	u32 mask;
	u64 rto;
	u64 since;
	u64 try_at;
	u64 keep_at;
};

/*
 * Tell @mask from now on, with @keep until it is superseded as what was told before
 * is: a port that is down, of which a word that expires would be forgotten.
 */
void mrc_news_set(struct mrc_news *n, u32 mask, bool keep, u16 id, u64 rto,
		  u64 now);

/* Is it but kept, all that has to be told at first over? */
static inline bool mrc_news_kept(const struct mrc_news *n)
{
	return n->on && n->ticks == MRC_NEWS_TICKS;
}

/* Is there nothing that has to be told before it is repeated? */
static inline bool mrc_news_settled(const struct mrc_news *n)
{
	return !n->on || mrc_news_kept(n);
}

/* What is told, and the request id that it is told by. */
static inline u32 mrc_news_mask(const struct mrc_news *n)
{
	return n->mask;
}

static inline u16 mrc_news_id(const struct mrc_news *n)
{
	return n->id;
}

/**
 * mrc_news_greets - has a connection begun whose peer must be told?
 * @n: what the peer is being told
 * @fresh: the peer was not known before
 * @part: not all of our ports are up
 * @told_part: some peer has been told so at some time
 *
 * What the peer remembers of us may be nothing, or out of date. When all ports have
 * been up all the time both are right.
 *
 * Return: whether it must be told.
 */
bool mrc_news_greets(const struct mrc_news *n, bool fresh, bool part, bool told_part);

/* Send it now? Counts as sent then. */
bool mrc_news_due(struct mrc_news *n, u64 now);

/* When to ask mrc_news_due() again, ~0 = never. */
u64 mrc_news_next(const struct mrc_news *n);

/* A response of the peer; was it to this? */
bool mrc_news_answer(struct mrc_news *n, u16 id);

/* Port status: hearing -------------------------------------------------------- */

#define MRC_VIEW_PORTS		0x1FFFEu	/* bits of MRC_MAX_PORTS ports */
#define MRC_VIEW_NOTHING	(~0u)
#define MRC_VIEW_HOLD		15000000000ull	/* ns, without a repeat, §12.3 */

/**
 * struct mrc_view - what a peer tells about its ports
 * @word: bit N = its port N is up; MRC_VIEW_NOTHING as long as it tells nothing
 * @at: when it told so last, ns
 *
 * A hint for mrc_paths_peer_said(): anybody can send it. So nothing is made of
 * request ids, and whatever comes last counts: an update that was overtaken by a
 * newer one does no more harm than a forged one, and the newer one is repeated. To
 * tell them apart by ids would let a forged one shut genuine ones out.
 */
struct mrc_view {
	u32 word;
	u64 at;
};

void mrc_view_init(struct mrc_view *v);

/* Any context; the word may be changing. */
static inline u32 mrc_view_word(const struct mrc_view *v)
{
	return mrc_read_once(v->word);
}

/* The peer tells @mask. Return: whether that is another word. */
bool mrc_view_update(struct mrc_view *v, u32 mask, u64 now);

/* Is the word out of date by @now? Then it is nothing from here on. */
bool mrc_view_expire(struct mrc_view *v, u64 now);

/* When it will be, ~0 = never. */
u64 mrc_view_expires(const struct mrc_view *v);

/* Answers ---------------------------------------------------------------------- */

#define MRC_EP_RATE		10000	/* per second and source, §12.1 */
#define MRC_EP_BUCKETS		256	/* sources that share one share the rate */

/**
 * struct mrc_ep_limit - answers given
 * @bucket: by the hash of the source
 * @bucket.since: when the bucket's current second began, ns
 * @bucket.n: answers since then
 */
struct mrc_ep_limit {
	struct {
		u64 since;
		u32 n;
	} bucket[MRC_EP_BUCKETS];
};

/* May the source that hashes to @hash get another answer? Counts it. */
bool mrc_ep_limit_ok(struct mrc_ep_limit *l, u32 hash, u64 now);

MRC_C_END

#endif /* MRC_CORE_ENDPOINT_H */
