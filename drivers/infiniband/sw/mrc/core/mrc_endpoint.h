/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Endpoint operations (MRC 1.0 §12) without storage and sockets: request ids, batches of
 * requests and their responses, the schedule of port status updates to a peer, the port
 * status received from a peer, and the rate limit of responses.
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
 * @hdr: result; the fields that only @op has are zero
 * @op: enum mrc_epop
 * @id: request id
 * @stamp: when it is sent, units of 128 ns, see MRC_TS_SHIFT
 */
void mrc_ep_request(struct mrc_hdr *hdr, u8 op, u16 id, u16 stamp);

/* The header of the response to @req: it echoes id and timestamp (§12.2). */
void mrc_ep_response(struct mrc_hdr *hdr, const struct mrc_hdr *req);

/* Request ids --------------------------------------------------------------- */

#define MRC_EP_ID_SPAN		1024	/* ids that share one release time */
#define MRC_EP_ID_SPANS		(65536 / MRC_EP_ID_SPAN)
#define MRC_EP_ID_HOLD		1000000000ull	/* ns, §12.2 */

/**
 * struct mrc_ep_ids - which request ids may be used
 * @next: next id; if it is the first of a span that is not free, a free span is taken
 * @used: ids taken, per span
 * @free_at: when the span may be used again once @used is 0, ns
 *
 * Ids ascend, because some peers tell an old port status update from a new one by the
 * request id.
 */
struct mrc_ep_ids {
	u16 next;
	u16 used[MRC_EP_ID_SPANS];
	u64 free_at[MRC_EP_ID_SPANS];
};

/* @seed: unpredictable, so that responses are hard to forge. */
void mrc_ep_ids_init(struct mrc_ep_ids *ids, u16 seed);

/* An id that was not used for MRC_EP_ID_HOLD, or -EAGAIN. */
int mrc_ep_id_get(struct mrc_ep_ids *ids, u64 now);
void mrc_ep_id_put(struct mrc_ep_ids *ids, u16 id, u64 now);

/* Batches ------------------------------------------------------------------- */

#define MRC_EP_ADDR		16	/* bytes of an address, v4-mapped for IPv4 */

/**
 * struct mrc_ep_pending - a request that waits for its response
 * @id: request id on the wire
 * @stamp: tx_timestamp that was sent
 * @sent: the request was sent
 * @done: the request was answered
 * @at: ns, when the request was sent
 * @peer: address that may answer
 * @self: own address that the request was sent from
 */
struct mrc_ep_pending {
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
 * @timeout: ns, from the transmission of each request
 */
struct mrc_ep_batch {
	struct mrc_ep_pending *ask;
	u32 n;
	u32 done;
	u64 timeout;
};

/* The result of a response; @rtt in ns, saturating. */
struct mrc_ep_result {
	u32 index;
	u32 rtt;
	bool adjusted;	/* @rtt is without the peer's service time */
};

/**
 * mrc_ep_batch_open - give every request an id
 * @b: the caller has set ->ask (zero except for the addresses), ->n and ->timeout
 * @ids: of the device
 * @now: ns
 *
 * Return: 0, or -EAGAIN when there are not enough ids; then none is taken.
 */
int mrc_ep_batch_open(struct mrc_ep_batch *b, struct mrc_ep_ids *ids, u64 now);

/* Give the ids back; later responses match no request. */
void mrc_ep_batch_close(struct mrc_ep_batch *b, struct mrc_ep_ids *ids,
			u64 now);

/* Request @i is about to be sent; returns its tx_timestamp (§4.9). */
u16 mrc_ep_batch_sent(struct mrc_ep_batch *b, u32 i, u64 now);

/**
 * mrc_ep_batch_response - match a response
 * @b: the batch
 * @id: BTH.psn
 * @peer: source address
 * @self: destination address
 * @echo: EETH.tx_timestamp
 * @now: ns, when it arrived
 * @a: filled in on a match
 *
 * The RTT is measured by this host's clock. The echo, 16 bits in units of 128 ns, only
 * tells how much service time the peer added to the timestamp; this is subtracted. An
 * echo that would give more service time than RTT is ignored (§12.2, §4.10).
 *
 * Return: whether the response belongs to a request of @b that waits for it. Each
 * request waits for ->timeout from its own transmission, regardless of how long it
 * takes to send the others.
 */
bool mrc_ep_batch_response(struct mrc_ep_batch *b, u16 id, const u8 *peer,
			   const u8 *self, u16 echo, u64 now,
			   struct mrc_ep_result *a);

/* Port status: sending ------------------------------------------------------- */

#define MRC_STATUS_TRIES		4	/* the first one and three repeats, §12.3 */
#define MRC_STATUS_TICKS		10	/* and once per second for so long, OP-31 */
#define MRC_STATUS_TICK		1000000000ull
#define MRC_STATUS_REPEAT		5000000000ull	/* ns, interval after that with @keep */
#define MRC_STATUS_RTO_MIN	1000000ull
#define MRC_STATUS_RTO_MAX	MRC_STATUS_TICK

/**
 * struct mrc_status_tx - the port status update that is sent to one peer
 * @on: there is an update to send
 * @keep: repeat the update as long as it is true, because the peer lets it expire after
 *	MRC_STATUS_HOLD
 * @answered: the peer confirmed the update
 * @tries: transmissions so far at intervals of an RTO
 * @ticks: seconds since @since that are over, up to MRC_STATUS_TICKS
 * @id: request id; all repeats have the same one, because they are the same update
 * @mask: bit N = port N is up
 * @rto: ns
 * @since: when the ports changed, ns
 * @try_at: when the next try is due, ns
 * @keep_at: after MRC_STATUS_TICKS seconds: when the next repeat is due, ns
 */
struct mrc_status_tx {
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
 * Send @mask from now on; it supersedes the former mask. With @keep it is repeated until
 * it is superseded itself. This is needed if a port is down: the peer would forget this
 * when the update expires.
 */
void mrc_status_tx_set(struct mrc_status_tx *n, u32 mask, bool keep, u16 id, u64 rto,
		       u64 now);

/* Is the initial schedule over, and only the repetition of @keep left? */
static inline bool mrc_status_tx_repeating(const struct mrc_status_tx *n)
{
	return n->on && n->ticks == MRC_STATUS_TICKS;
}

/* Is no transmission of an initial schedule left? */
static inline bool mrc_status_tx_settled(const struct mrc_status_tx *n)
{
	return !n->on || mrc_status_tx_repeating(n);
}

/* The mask of the update, and its request id. */
static inline u32 mrc_status_tx_mask(const struct mrc_status_tx *n)
{
	return n->mask;
}

static inline u16 mrc_status_tx_id(const struct mrc_status_tx *n)
{
	return n->id;
}

/**
 * mrc_status_tx_needed - does the peer of a new connection need an update?
 * @n: the update that is sent to the peer
 * @fresh: the peer was not known before
 * @part: not all of our ports are up
 * @told_part: an update with a port down has been sent to some peer at some time
 *
 * The peer may have no status of our ports, or an old one. If all our ports have been
 * up all the time, both are right.
 *
 * Return: whether the update must be sent.
 */
bool mrc_status_tx_needed(const struct mrc_status_tx *n, bool fresh, bool part, bool told_part);

/* Is a transmission due? If so, it counts as sent. */
bool mrc_status_tx_due(struct mrc_status_tx *n, u64 now);

/* When to call mrc_status_tx_due() again, ns, ~0 = never. */
u64 mrc_status_tx_next(const struct mrc_status_tx *n);

/* A response of the peer came. Return: whether it is to this update. */
bool mrc_status_tx_response(struct mrc_status_tx *n, u16 id);

/* Port status: receiving ----------------------------------------------------- */

#define MRC_STATUS_PORTS		0x1FFFEu	/* bits of MRC_MAX_PORTS ports */
#define MRC_STATUS_UNKNOWN	(~0u)
#define MRC_STATUS_HOLD		15000000000ull	/* ns without a repeat, §12.3 */

/**
 * struct mrc_status_rx - the port status that a peer reports
 * @word: bit N = the peer's port N is up; MRC_STATUS_UNKNOWN while the peer reports nothing
 * @at: when the last update came, ns
 *
 * The status is only a hint for mrc_paths_peer_status(), because anybody can send an
 * update. So request ids are not compared, and the update that arrives last counts. An
 * update that was overtaken by a newer one does no more harm than a forged one, and the
 * newer one is repeated. If ids were compared, a forged update could shut genuine ones
 * out.
 */
struct mrc_status_rx {
	u32 word;
	u64 at;
};

void mrc_status_rx_init(struct mrc_status_rx *v);

/* The current status. Any context, also while it changes. */
static inline u32 mrc_status_rx_mask(const struct mrc_status_rx *v)
{
	return mrc_read_once(v->word);
}

/* An update with @mask came. Return: whether the status changed. */
bool mrc_status_rx_update(struct mrc_status_rx *v, u32 mask, u64 now);

/* Let the status expire if it is too old at @now. Return: whether it did. */
bool mrc_status_rx_expire(struct mrc_status_rx *v, u64 now);

/* When the status expires, ns, ~0 = never. */
u64 mrc_status_rx_expires(const struct mrc_status_rx *v);

/* Responses -------------------------------------------------------------------- */

#define MRC_EP_RATE		10000	/* per second and source, §12.1 */
#define MRC_EP_BUCKETS		256	/* sources of one bucket share the rate */

/**
 * struct mrc_ep_limit - rate limit of responses
 * @bucket: by the hash of the source
 * @bucket.since: when the bucket's current second began, ns
 * @bucket.n: responses since then
 */
struct mrc_ep_limit {
	struct {
		u64 since;
		u32 n;
	} bucket[MRC_EP_BUCKETS];
};

/* May the source that hashes to @hash get another response? If so, it is counted. */
bool mrc_ep_limit_ok(struct mrc_ep_limit *l, u32 hash, u64 now);

MRC_C_END

#endif /* MRC_CORE_ENDPOINT_H */
