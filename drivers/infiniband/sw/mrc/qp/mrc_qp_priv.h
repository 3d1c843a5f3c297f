/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Internal interfaces between the files of connected queue pairs. */
#ifndef MRC_QP_PRIV_H
#define MRC_QP_PRIV_H

#include "mrc_qp.h"

extern const struct mrc_profile_ops *mrc_profiles;

/* mrc_qp.c, mrc_qp_ref.c, mrc_qp_err.c, mrc_qp_ports.c ----------------------*/

/*
 * mrc_qp_alloc() returns a QP in RESET without rings that is not in the table of QPNs,
 * or NULL. mrc_qp_discard() frees a QP that has no references left.
 */
struct mrc_qp *mrc_qp_alloc(struct mrc_dev *dev);
void mrc_qp_discard(struct mrc_qp *qp);

/*
 * Cancel the timer and the work of a QP that was reset with @dead set, and wait until
 * the last reference is dropped.
 */
void mrc_qp_release(struct mrc_qp *qp);

/**
 * mrc_qp_error - move a QP to ERROR
 * @qp: the caller holds a reference and no lock
 * @conn: qp->conn when the error was detected; the call is ignored if the QP has been
 *	reset since
 * @event: enum ib_event_type to report, MRC_NO_EVENT for none, MRC_BY_PROGRAM
 *	when a program requested ERROR by modify_qp
 *
 * Does nothing in RESET and ERROR. Flushes both queues in order. Receives that are
 * posted later are flushed by mrc_post_recv(). MRC_RING_F_KICK tells the program to
 * call it (MRC 1.0 §10). Any context.
 */
void mrc_qp_error(struct mrc_qp *qp, u32 conn, int event);

/* Queue the work item to run after @delay jiffies, 0 = at once. Any context. */
void mrc_qp_queue_work(struct mrc_qp *qp, unsigned long delay);

/* Let the work item flush the rest of the rings. Any context. */
void mrc_qp_flush_later(struct mrc_qp *qp);

/* For the work item. No lock held. */
void mrc_qp_flush_rest(struct mrc_qp *qp);

/*
 * Queue the work item when missing pages have been fetched. @seq: mrc_odp_seq() as read
 * before the pages were found missing. Under rx.lock or tx.lock.
 */
void mrc_qp_wait_page(struct mrc_qp *qp, u32 seq);

/* The callback struct mrc_odp_waiter.wake of a QP. */
void mrc_qp_wake(struct mrc_odp_waiter *w);

/* Determine which ports can send. Process context, under qp->mutex. */
void mrc_qp_update_ports(struct mrc_qp *qp);

/*
 * Stop sending through ports that are not in @up. Routes are not looked up here;
 * mrc_qp_update_ports() must follow.
 */
void mrc_qp_leave_ports(struct mrc_qp *qp, u32 up);

/* Arm the timer for the requester's deadline. Under tx.lock. */
void mrc_qp_arm_timer(struct mrc_qp *qp);

/**
 * mrc_qp_send_final_ack - send the final feedback before a program ends the connection
 * @qp: the QP
 *
 * Sends the last transport ACK again, see mrc_resp_repeat_ack(), and that of the answer
 * channel. Does nothing in RESET, and in ERROR only if an ACK is pending
 * (MRC_TODO_DELAYED_ACK). Process context, under qp->mutex.
 */
void mrc_qp_send_final_ack(struct mrc_qp *qp);

/* Move the QP to RESET and free its engines. @dead: for good. Under qp->mutex. */
void mrc_qp_reset(struct mrc_qp *qp, bool dead);

/* mrc_qp_modify.c -----------------------------------------------------------*/

int mrc_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
bool mrc_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr);

/* mrc_qp_start.c ------------------------------------------------------------*/

/*
 * Create the engines and change the state. Under qp->mutex. Return: 0 or a negative
 * errno: no memory, contradictory attributes, no room for the outer header (SRv6), or a
 * packet has moved the QP to ERROR in the meantime.
 */
int mrc_qp_to_rtr(struct mrc_qp *qp);
int mrc_qp_to_rts(struct mrc_qp *qp);

/*
 * Create the requester of a QP in RTS, for the first send. A QP that only receives needs
 * no memory for it. Process context, no lock held. Return: 0 or -ENOMEM. tx.on may be
 * false afterwards if the QP has left RTS.
 */
int mrc_qp_start_requester(struct mrc_qp *qp);

/*
 * Start an answer channel, so that it sends answers. @rx: the first PSN of incoming
 * answers is known; start the responder as well. Under qp->mutex. 0 or a negative errno.
 */
int mrc_qp_start_ans(struct mrc_qp *ans, bool rx);

/*
 * Apply attributes that can change while a QP is connected: the verbs attributes in
 * @mask, the timeout and retry counts, the MPR of the responder. Under qp->mutex.
 */
void mrc_qp_apply_live(struct mrc_qp *qp, int mask);
void mrc_qp_apply_retry(struct mrc_qp *qp);
int mrc_qp_apply_mpr(struct mrc_qp *qp, u8 mpr);

/* mrc_send.c ----------------------------------------------------------------*/

/* Call mrc_req_run() if the QP may send. No lock held. */
void mrc_req_go_on(struct mrc_qp *qp, bool sleep);

/* mrc_sq.c ------------------------------------------------------------------*/

/*
 * Write completions for finished work requests, for up to MRC_FLUSH_MAX if the requester
 * has failed. Under tx.lock. Return: true if there may be more.
 */
bool mrc_sq_reap(struct mrc_qp *qp);

/*
 * In ERROR: complete what the engine has, then flush what is in the ring, up to
 * MRC_FLUSH_MAX entries. The work item goes on with the rest, by mrc_sq_flush(). The ring's
 * depth bounds what a call of mrc_sq_flush_all() flushes, however the program changes the
 * producer counter. Under tx.lock.
 */
void mrc_sq_flush_all(struct mrc_qp *qp);
void mrc_sq_flush(struct mrc_qp *qp);

/*
 * Copy new entries from the ring into the engine. Under tx.lock. *@page is set when the
 * next entry waits for memory that is being fetched. Return: true if further entries can
 * be taken immediately.
 */
bool mrc_sq_take(struct mrc_qp *qp, bool *page);

/* mrc_rq.c ------------------------------------------------------------------*/

/* Doorbell of the receive ring. Has an effect only in ERROR: flushes the ring. */
int mrc_post_recv(struct ib_qp *ibqp);

/*
 * Number of receives in the ring of @qp. With an SRQ, the receives that are missing to
 * @n are taken from the SRQ first. Returns -EBUSY or -EINVAL as mrc_srq_take(). Under
 * rx.lock.
 */
int mrc_rq_pending(struct mrc_qp *qp, u32 n);

/**
 * mrc_rq_reserve - check that enough receives are posted for a message
 * @qp: under rx.lock
 * @n: number of receives that are needed, see mrc_resp_wants_recv()
 * @copy: the message is a SEND, which needs the table of copies
 *
 * Return: 0; -EAGAIN: too few receives; -EBUSY: the receives in the SRQ are kept for
 * other QPs; -ENOMEM: the table of copies has not been allocated (yet); -EINVAL: invalid
 * producer counter in the ring.
 */
int mrc_rq_reserve(struct mrc_qp *qp, u32 n, bool copy);

/* Tell the engine how many receives are posted; under rx.lock. */
void mrc_rq_report_recvs(struct mrc_qp *qp);

/* Allocate the table of copies, for MRC_TODO_RECVS. Process context. */
void mrc_rq_make_table(struct mrc_qp *qp);

/*
 * Check that the memory that mrc_rq_place() will write is present. Returns the same
 * values as mrc_odp_ready(). The caller releases @hold after mrc_rq_place().
 */
int mrc_rq_ready(struct mrc_qp *qp, const struct mrc_hdr *h,
		 struct mrc_odp_hold *hold);

/**
 * mrc_rq_place - copy the payload of a SEND packet into its receive
 * @qp: under rx.lock, after mrc_rq_reserve() returned 0
 * @h: headers
 * @skb: packet
 * @off: offset of the payload in @skb
 *
 * Return: 0 or the syndrome of the NAK; then the receive completes with an error.
 */
u8 mrc_rq_place(struct mrc_qp *qp, const struct mrc_hdr *h,
		const struct sk_buff *skb, int off);

/**
 * mrc_rq_deliver - consume a receive WQE for a WRITE_IMM or SEND
 * @qp: under rx.lock
 * @imm: the message, from the engine's stash
 * @port: port of arrival, for counters
 * @fatal: set when the QP must go to ERROR for a local reason
 *
 * Return: 0 or the syndrome of the NAK that refuses the message (MRC 1.0 §7.4).
 * -EAGAIN: the key that the message invalidates is in use; call again later.
 */
int mrc_rq_deliver(struct mrc_qp *qp, const struct mrc_recv_msg *imm, u8 port,
		   bool *fatal);

/*
 * In ERROR: flush up to MRC_FLUSH_MAX entries of the receive ring, and request doorbells for
 * receives posted later. The work item goes on with the rest, by mrc_rq_flush(). Bounded as
 * mrc_sq_flush_all() is. Under rx.lock.
 */
void mrc_rq_flush_all(struct mrc_qp *qp);
void mrc_rq_flush(struct mrc_qp *qp);

/* Get the answer channel of @qp with a reference, or NULL. The caller holds @qp. */
struct mrc_qp *mrc_ans_get(struct mrc_qp *qp);

#ifdef CONFIG_INFINIBAND_MRC_EXT

/* mrc_ext.c -----------------------------------------------------------------*/

/**
 * mrc_scatter - copy payload into the memory of a list of SGEs
 * @qp: QP whose PD is used
 * @sge: SGEs
 * @n: number of SGEs
 * @at: offset of the payload in the message
 * @skb: packet
 * @off: offset of the payload in @skb
 * @len: length of the payload, bytes
 *
 * Looks up each key again; all keys must allow local writes. The caller holds a lock
 * that keeps @sge constant. For paged memory the caller has called mrc_odp_ready().
 *
 * Return: 0, -EMSGSIZE beyond the end of the list, -EFAULT.
 */
int mrc_scatter(struct mrc_qp *qp, const struct mrc_sge *sge, u32 n, u64 at,
		const struct sk_buff *skb, int off, u32 len);

/**
 * mrc_ext_execute - execute a request of the peer and queue its answer
 * @qp: under rx.lock
 * @rd: the request, from the engine
 *
 * Return: 0 or the syndrome of the NAK that refuses the request. -EAGAIN: the memory of
 * the request is being fetched; call again later.
 */
int mrc_ext_execute(struct mrc_qp *qp, const struct mrc_rd *rd);

/*
 * Check that the memory that mrc_ext_take_answer() will write is present. Returns the
 * same values as mrc_odp_ready(). Under ans->rx.lock. The caller releases @hold after
 * mrc_ext_take_answer().
 */
int mrc_ext_answer_ready(struct mrc_qp *ans, const struct mrc_hdr *h,
			 struct mrc_odp_hold *hold);

/**
 * mrc_ext_take_answer - copy the payload of an answer into the memory of its request
 * @ans: answer channel, under rx.lock
 * @h: headers
 * @skb: packet
 * @off: offset of the payload in @skb
 * @kick: set when the caller must call mrc_ans_answered()
 *
 * Return: 0 or the syndrome of the NAK.
 */
u8 mrc_ext_take_answer(struct mrc_qp *ans, const struct mrc_hdr *h,
		       const struct sk_buff *skb, int off, bool *kick);

/* mrc_ans.c -----------------------------------------------------------------*/

/*
 * Create and start the answer channel as far as the state of @qp allows. Called from
 * the work item, under qp->mutex.
 */
void mrc_ans_make(struct mrc_qp *qp);

/*
 * A reset or error of a QP also applies to its answer channel. mrc_ans_reset() is called
 * under qp->mutex, mrc_ans_error() without a lock.
 */
void mrc_ans_reset(struct mrc_qp *qp, bool dead);
void mrc_ans_error(struct mrc_qp *qp, u32 conn);

/* Send the answers that are queued in the answer channel of @qp. No lock held. */
void mrc_ans_run(struct mrc_qp *qp);

/*
 * Notifications from an answer channel to its QP. No lock is held; the caller has a
 * reference to the answer channel.
 *
 * mrc_ans_answered(): @n requests have received their complete answers.
 * mrc_ans_acked(): the peer has acknowledged @n answers.
 * mrc_ans_failed(): the answer with number @num cannot be sent.
 *
 * mrc_req_run() of the answer channel calls the latter two. They return true if more
 * answers are queued now.
 */
void mrc_ans_answered(struct mrc_qp *ans, u32 conn, u32 n);
bool mrc_ans_acked(struct mrc_qp *ans, u32 conn, u32 n);
bool mrc_ans_failed(struct mrc_qp *ans, u32 conn, u16 num);

#else /* CONFIG_INFINIBAND_MRC_EXT */

static inline int mrc_scatter(struct mrc_qp *qp, const struct mrc_sge *sge,
			      u32 n, u64 at, const struct sk_buff *skb, int off,
			      u32 len)
{
	return -EFAULT;
}

static inline int mrc_ext_execute(struct mrc_qp *qp, const struct mrc_rd *rd)
{
	return MRC_SYN_NAK_INV_REQ;
}

static inline int mrc_ext_answer_ready(struct mrc_qp *ans,
				       const struct mrc_hdr *h,
				       struct mrc_odp_hold *hold)
{
	return 0;
}

static inline u8 mrc_ext_take_answer(struct mrc_qp *ans,
				     const struct mrc_hdr *h,
				     const struct sk_buff *skb, int off,
				     bool *kick)
{
	return MRC_SYN_NAK_INV_REQ;
}

static inline void mrc_ans_make(struct mrc_qp *qp)
{
}

static inline void mrc_ans_reset(struct mrc_qp *qp, bool dead)
{
}

static inline void mrc_ans_error(struct mrc_qp *qp, u32 conn)
{
}

static inline void mrc_ans_run(struct mrc_qp *qp)
{
}

static inline void mrc_ans_answered(struct mrc_qp *ans, u32 conn, u32 n)
{
}

static inline bool mrc_ans_acked(struct mrc_qp *ans, u32 conn, u32 n)
{
	return false;
}

static inline bool mrc_ans_failed(struct mrc_qp *ans, u32 conn, u16 num)
{
	return false;
}

#endif /* CONFIG_INFINIBAND_MRC_EXT */

/* mrc_recv.c ----------------------------------------------------------------*/

/**
 * mrc_resp_run - run the responder after a packet or another event, then unlock
 * @qp: under rx.lock, with rx.on and a reference; unlocked on return
 * @port: port of arrival of the packet, for counters
 * @now: ns
 * @fatal: the QP must go to ERROR for a local reason
 * @kick: answer channel only: a request cannot be completed
 *
 * Delivers messages, executes requests, sends feedback, and moves the QP to ERROR if it
 * has failed.
 */
void mrc_resp_run(struct mrc_qp *qp, u8 port, u64 now, bool fatal, bool kick)
	__releases(&qp->rx.lock);

/*
 * The same, but answers stay queued in the answer channel. Return: whether answers were
 * queued. The caller then calls mrc_ans_run(), or sends them itself if it is the send
 * loop of the answer channel.
 */
bool mrc_resp_run_once(struct mrc_qp *qp, u8 port, u64 now, bool fatal,
		       bool kick) __releases(&qp->rx.lock);

/*
 * Append the feedback that is due to @list, for mrc_xmit_list(). Under rx.lock, with
 * rx.on.
 */
void mrc_resp_feedback(struct mrc_qp *qp, struct sk_buff_head *list, u64 now);

/* mrc_delayed_ack.c ---------------------------------------------------------------*/

/**
 * mrc_delayed_ack_wait - delay the transport ACK until the current burst has been processed
 * @qp: under rx.lock, BH off, with a reference; mrc_resp_may_wait() returned true
 */
void mrc_delayed_ack_wait(struct mrc_qp *qp);

/**
 * mrc_delayed_ack_flush - send the delayed transport ACKs of this CPU now
 *
 * Called when a task is about to run and the remaining softirq work would be left to
 * ksoftirqd. No lock held. If the caller migrates, the function flushes the list of
 * another CPU, which is harmless.
 */
void mrc_delayed_ack_flush(void);

/* mrc_qp_res.c --------------------------------------------------------------*/

/* Driver details for netlink, see mrc_fill_fn. */
int mrc_qp_fill_res(struct sk_buff *msg, struct ib_qp *ibqp, bool all);

/* mrc_peer.c ----------------------------------------------------------------*/

/* Own address, address of the peer, and the port for link-local addresses, else 0. */
struct mrc_peer_key {
	struct in6_addr self;
	struct in6_addr peer;
	u32 port;
};

/**
 * struct mrc_peer - one peer
 * @node: in the hash table
 * @key: addresses
 * @rcu: delayed free; lookups may still use the peer after the last QP has left
 * @list: in the list of all peers, under peers->mutex
 * @qps: connected QPs, under peers->mutex
 * @resp_qp: a QP whose paths lead to the peer, for endpoint responses; written under
 *	peers->mutex, read under RCU
 * @flags: MRC_PEER_CHANGED: the QPs have to apply @status_rx
 * @lock: leaf, protects the following members
 * @status_rx: port status of the peer as reported by the peer; ->word is also read without
 *	the lock
 * @status_tx: our port status, as it is being reported to the peer
 */
struct mrc_peer {
	struct rhash_head node;
	struct mrc_peer_key key;
	struct rcu_head rcu;
	struct list_head list;
	struct list_head qps;
	struct mrc_qp __rcu *resp_qp;
	unsigned long flags;
	spinlock_t lock;	/* leaf */
	struct mrc_status_rx status_rx;
	struct mrc_status_tx status_tx;
};

/**
 * mrc_peer_join - add @qp to its peer
 * @qp: under qp->mutex; its addresses are final, its paths are not in use yet
 *
 * Sends a port status update to the peer if a local port is down, or if the peer may
 * have an outdated port status of this host.
 *
 * Return: 0, -ENOMEM, -E2BIG.
 */
int mrc_peer_join(struct mrc_qp *qp);

/* @qp has reached RTR and may send endpoint responses to its peer. Under qp->mutex. */
void mrc_peer_up(struct mrc_qp *qp);

/* Undo mrc_peer_join(). Under qp->mutex, when the paths are not in use any more. */
void mrc_peer_leave(struct mrc_qp *qp);

/*
 * The port status that the peer reported last, for mrc_paths_peer_status(). Under tx.lock
 * or qp->mutex.
 */
static inline u32 mrc_peer_status(const struct mrc_qp *qp)
{
	return qp->peer ? mrc_status_rx_mask(&qp->peer->status_rx) : MRC_STATUS_UNKNOWN;
}

/*
 * Pass a new port status of the peer to a requester that is about to send. Under
 * tx.lock, with tx.on.
 */
static inline void mrc_peer_sync(struct mrc_qp *qp)
{
	u32 word = mrc_peer_status(qp);

	if (unlikely(word != mrc_paths_peer_mask(&qp->paths)))
		mrc_req_peer_status(mrc_qp_req(qp), word, mrc_now());
}

/* Ports of @dev changed: notify the peers, then the QPs. Any context. */
void mrc_peers_ports_changed(struct mrc_dev *dev);

/* mrc_rev_probe.c -----------------------------------------------------------*/

/**
 * mrc_rev_probe - send a probe of a reverse path if one is due (MRC 1.0 §11.8)
 * @qp: under rx.lock, with rx.on
 * @list: the probe is appended here
 * @now: ns
 */
void mrc_rev_probe(struct mrc_qp *qp, struct sk_buff_head *list, u64 now);

#endif /* MRC_QP_PRIV_H */
