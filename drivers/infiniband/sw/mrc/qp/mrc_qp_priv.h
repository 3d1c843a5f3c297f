/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the files of connected queue pairs offer each other. */
#ifndef MRC_QP_PRIV_H
#define MRC_QP_PRIV_H

#include "mrc_qp.h"

extern const struct mrc_profile_ops *mrc_profiles;

/* mrc_qp_ref.c --------------------------------------------------------------*/

int mrc_qp_ref_init(void);	/* work queue; 0 or -ENOMEM */
void mrc_qp_ref_exit(void);

/* mrc_qp.c, mrc_qp_ref.c, mrc_qp_err.c, mrc_qp_ports.c ----------------------*/

/*
 * A QP in RESET with no rings, not in the table of numbers, or NULL; discard
 * frees it when nobody has a reference.
 */
struct mrc_qp *mrc_qp_alloc(struct mrc_dev *dev);
void mrc_qp_discard(struct mrc_qp *qp);

/*
 * Stop timer and work of a QP that was reset for good, and wait until nobody
 * has a reference any more.
 */
void mrc_qp_release(struct mrc_qp *qp);

/**
 * mrc_qp_error - move a QP to ERROR
 * @qp: the caller holds a reference and no lock
 * @conn: qp->conn when the verdict fell; one about an earlier life is ignored
 * @event: enum ib_event_type to report, MRC_NO_EVENT for none, MRC_BY_PROGRAM
 *	where it is no error but the program's wish
 *
 * Does nothing in RESET and ERROR. Flushes both queues in order; receives
 * posted later are flushed by mrc_post_recv(), which MRC_RING_F_KICK makes the
 * program call (MRC 1.0 §10). Any context.
 */
void mrc_qp_error(struct mrc_qp *qp, u32 conn, int event);

/* Run the work item after @delay jiffies, at once if 0. Any context. */
void mrc_qp_queue_work(struct mrc_qp *qp, unsigned long delay);

/*
 * Run the work item when memory has come that was missing after @seq =
 * mrc_odp_seq(). Under rx.lock or tx.lock.
 */
void mrc_qp_wait_page(struct mrc_qp *qp, u32 seq);

/* struct mrc_odp_waiter.wake of a QP. */
void mrc_qp_wake(struct mrc_odp_waiter *w);

/* Learn which ports may send. Process context, under qp->mutex. */
void mrc_qp_update_ports(struct mrc_qp *qp);

/*
 * Send nothing through ports outside of @up from here on, without a look at routes.
 * mrc_qp_update_ports() follows.
 */
void mrc_qp_leave_ports(struct mrc_qp *qp, u32 up);

/* Arm the timer for the requester's deadline. Under tx.lock. */
void mrc_qp_arm_timer(struct mrc_qp *qp);

/**
 * mrc_qp_part - say the last word of a QP before the program ends it
 * @qp: the QP
 *
 * The peer gets the last transport ACK again, see mrc_resp_farewell(), also
 * that of the answer channel. Nothing in RESET and ERROR. Process context,
 * under qp->mutex.
 */
void mrc_qp_part(struct mrc_qp *qp);

/* Empty the QP and free its engines; under qp->mutex. */
void mrc_qp_reset(struct mrc_qp *qp, bool dead);

/* mrc_qp_modify.c -----------------------------------------------------------*/

int mrc_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
bool mrc_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr);

/* mrc_qp_start.c ------------------------------------------------------------*/

/*
 * The steps that make engines and states, under qp->mutex. 0 or a negative
 * errno: no memory, the attributes contradict each other, no route to start
 * with, or a packet was faster and the QP is in ERROR.
 */
int mrc_qp_to_rtr(struct mrc_qp *qp);
int mrc_qp_to_rts(struct mrc_qp *qp);

/*
 * Make the requester of a QP in RTS, for the first send: a QP that only
 * receives does without its memory. Process context, no lock held. Returns 0
 * or -ENOMEM; afterwards tx.on may still be false if the QP left RTS.
 */
int mrc_qp_start_requester(struct mrc_qp *qp);

/*
 * Bring an answer channel up to where it takes and sends packets: @rx as soon as the
 * PSN of what it receives is known. Under the mutex. 0 or a negative errno.
 */
int mrc_qp_start_ans(struct mrc_qp *ans, bool rx);

/*
 * Attributes that a live QP can change take effect: verbs' of @mask; timeout
 * and retries; the responder's range. Under qp->mutex.
 */
void mrc_qp_apply_live(struct mrc_qp *qp, int mask);
void mrc_qp_apply_retry(struct mrc_qp *qp);
int mrc_qp_apply_mpr(struct mrc_qp *qp, u8 mpr);

/* mrc_send.c ----------------------------------------------------------------*/

/* mrc_req_run() if the QP sends. No lock held. */
void mrc_req_go_on(struct mrc_qp *qp, bool sleep);

/* mrc_sq.c ------------------------------------------------------------------*/

/* Turn finished work requests into completions. Under tx.lock. */
void mrc_sq_reap(struct mrc_qp *qp);

/* Flush entries that never reached the engine. Under tx.lock, after reap. */
void mrc_sq_flush(struct mrc_qp *qp);

/*
 * Copy new entries from the ring into the engine. Under tx.lock. Returns true
 * if there are more that could be taken at once. *@page is set when the next one waits
 * for memory that is fetched.
 */
bool mrc_sq_take(struct mrc_qp *qp, bool *page);

/* mrc_rq.c ------------------------------------------------------------------*/

/* The doorbell of the receive ring, in ERROR. */
int mrc_post_recv(struct ib_qp *ibqp);

/*
 * How many receives @qp has at hand; with an SRQ, after taking from there what
 * is missing of @n. -EBUSY and -EINVAL as mrc_srq_take(). Under rx.lock.
 */
int mrc_rq_pending(struct mrc_qp *qp, u32 n);

/**
 * mrc_rq_reserve - are there receives for a message?
 * @qp: under rx.lock
 * @n: number of receives that must be there, see mrc_resp_wants_recv()
 * @copy: the message is a SEND, which needs the table of copies
 *
 * Return: 0, -EAGAIN too few, -EBUSY those in the SRQ are kept for others,
 * -ENOMEM no table (yet), -EINVAL the program wrote nonsense into the ring.
 */
int mrc_rq_reserve(struct mrc_qp *qp, u32 n, bool copy);

/* Tell the engine how many receives are posted; under rx.lock. */
void mrc_rq_tell(struct mrc_qp *qp);

/* Make the table of copies that @need_recv asks for. Process context. */
void mrc_rq_make_table(struct mrc_qp *qp);

/*
 * Whether the memory that mrc_rq_place() will write is there, as mrc_odp_ready().
 * Then the lock of paged memory is held until that was called.
 */
int mrc_rq_ready(struct mrc_qp *qp, const struct mrc_hdr *h);

/**
 * mrc_rq_place - put the payload of a SEND into its receive
 * @qp: under rx.lock, mrc_rq_reserve() said 0
 * @h: headers
 * @skb: packet
 * @off: of the payload in @skb
 *
 * Return: 0 or the syndrome; the receive will complete with an error then.
 */
u8 mrc_rq_place(struct mrc_qp *qp, const struct mrc_hdr *h,
		const struct sk_buff *skb, int off);

/**
 * mrc_rq_deliver - consume a receive WQE for a WRITE_IMM or SEND
 * @qp: under rx.lock
 * @imm: what the engine stashed
 * @port: port of arrival, for counters
 * @fatal: set when the QP must go to ERROR for a local reason
 *
 * Return: 0 or the syndrome to refuse the request with (MRC 1.0 §7.4); -EAGAIN:
 * the key that it invalidates is in use, the same again later.
 */
int mrc_rq_deliver(struct mrc_qp *qp, const struct mrc_imm *imm, u8 port,
		   bool *fatal);

/* Flush the receive ring and ask for kicks. Under rx.lock, in ERROR. */
void mrc_rq_flush(struct mrc_qp *qp);

/* The answer channel of @qp with a reference, or NULL. @qp is held. */
struct mrc_qp *mrc_ans_get(struct mrc_qp *qp);

#ifdef CONFIG_INFINIBAND_MRC_EXT

/* mrc_ext.c -----------------------------------------------------------------*/

/**
 * mrc_scatter - put payload into memory that a list of SGEs names
 * @qp: whose PD
 * @sge: list
 * @n: its length
 * @at: where in the message the payload starts
 * @skb: packet
 * @off: of the payload in @skb
 * @len: bytes
 *
 * Each key is looked up now; all must allow local writes. Under a lock that
 * keeps @sge as they are. Whether paged memory is there was asked before, see
 * mrc_odp_ready().
 *
 * Return: 0, -EMSGSIZE beyond the list's end, -EFAULT.
 */
int mrc_scatter(struct mrc_qp *qp, const struct mrc_sge *sge, u32 n, u64 at,
		const struct sk_buff *skb, int off, u32 len);

/**
 * mrc_ext_execute - execute a request of the peer and queue its answer
 * @qp: under rx.lock
 * @rd: from the engine
 *
 * Return: 0 or the syndrome to refuse it with; -EAGAIN: its memory is fetched, the
 * same again later.
 */
int mrc_ext_execute(struct mrc_qp *qp, const struct mrc_rd *rd);

/* Likewise of mrc_ext_take_answer(). */
int mrc_ext_answer_ready(struct mrc_qp *ans, const struct mrc_hdr *h);

/**
 * mrc_ext_take_answer - put a packet of an answer where its request wants it
 * @ans: answer channel, under rx.lock
 * @h: headers
 * @skb: packet
 * @off: of the payload in @skb
 * @kick: set when mrc_ans_answered() must follow
 *
 * Return: 0 or the syndrome.
 */
u8 mrc_ext_take_answer(struct mrc_qp *ans, const struct mrc_hdr *h,
		       const struct sk_buff *skb, int off, bool *kick);

/* mrc_ans.c -----------------------------------------------------------------*/

/*
 * Make the answer channel, as far as the state of @qp allows; from the work item,
 * under the mutex.
 */
void mrc_ans_make(struct mrc_qp *qp);

/*
 * What happens to a QP happens to its answer channel: reset (under the mutex),
 * ERROR (no lock).
 */
void mrc_ans_reset(struct mrc_qp *qp, bool dead);
void mrc_ans_error(struct mrc_qp *qp, u32 conn);

/* Send what @qp's answer channel has to send. No lock held. */
void mrc_ans_run(struct mrc_qp *qp);

/*
 * From an answer channel to its QP, no lock held, the answer channel is held: @n requests
 * have got their answers; @n answers were acknowledged by the peer; the answer
 * with number @num cannot be given. The latter two are for mrc_req_run() of the
 * answer channel. Return: it has more answers to send now.
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
				       const struct mrc_hdr *h)
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
 * mrc_resp_run - do what the responder has to do, then unlock
 * @qp: under rx.lock, with rx.on and a reference; unlocked on return
 * @port: of the packet that is handled, for counters
 * @now: ns
 * @fatal: the QP must go to ERROR for a local reason
 * @kick: an answer channel found out that a request cannot be completed
 *
 * Delivers messages, executes requests, sends feedback, carries out a change to
 * ERROR.
 */
void mrc_resp_run(struct mrc_qp *qp, u8 port, u64 now, bool fatal, bool kick)
	__releases(&qp->rx.lock);

/*
 * The same, but answers stay queued at the answer channel. Return: there are some,
 * which mrc_ans_run() or the caller, being the answer channel's, must send.
 */
bool mrc_resp_run_once(struct mrc_qp *qp, u8 port, u64 now, bool fatal,
		       bool kick) __releases(&qp->rx.lock);

/* What the responder owes now, for mrc_xmit_list(). Under rx.lock, with rx.on. */
void mrc_resp_feedback(struct mrc_qp *qp, struct sk_buff_head *list, u64 now);

/* mrc_burst.c ---------------------------------------------------------------*/

/**
 * mrc_burst_wait - answer when all packets that are here have been looked at
 * @qp: under rx.lock, BH off, with a reference; mrc_resp_may_wait()
 */
void mrc_burst_wait(struct mrc_qp *qp);

/**
 * mrc_burst_flush - answer now for all that wait on this processor
 *
 * For whoever knows that softirqs will be left to their thread. Without locks; on
 * another processor by the time it runs, it does that one's work.
 */
void mrc_burst_flush(void);

/* mrc_qp_res.c --------------------------------------------------------------*/

/* Driver details for netlink, see mrc_fill_fn. */
int mrc_qp_fill_res(struct sk_buff *msg, struct ib_qp *ibqp, bool all);

/* mrc_peer.c ----------------------------------------------------------------*/

/* Own and foreign address; the port of link-local ones, else 0. */
struct mrc_peer_key {
	struct in6_addr self;
	struct in6_addr peer;
	u32 port;
};

/**
 * struct mrc_peer - one peer
 * @node: in the hash table
 * @key: who
 * @rcu: lookups may still look at it after the last QP left
 * @list: all peers, under the mutex
 * @qps: connected QPs, under the mutex
 * @speaker: a QP whose paths lead to the peer, for answers; written under the
 *	mutex, read under RCU
 * @flags: MRC_PEER_CHANGED: its QPs have to look at @view
 * @lock: leaf, for what follows
 * @view: its ports, as it told; ->word is also read without the lock
 * @news: our ports, as it is being told
 */
struct mrc_peer {
	struct rhash_head node;
	struct mrc_peer_key key;
	struct rcu_head rcu;
	struct list_head list;
	struct list_head qps;
	struct mrc_qp __rcu *speaker;
	unsigned long flags;
	spinlock_t lock;	/* leaf */
	struct mrc_view view;
	struct mrc_news news;
};

/**
 * mrc_peer_join - @qp becomes a connection to its peer
 * @qp: under qp->mutex, its addresses are settled and its paths not in use yet
 *
 * When ports are down here, the peer is told.
 *
 * Return: 0, -ENOMEM, -E2BIG.
 */
int mrc_peer_join(struct mrc_qp *qp);

/* @qp may speak for its connection from now on. Under qp->mutex. */
void mrc_peer_up(struct mrc_qp *qp);

/* The other way round; under qp->mutex, when nothing uses the paths any more. */
void mrc_peer_leave(struct mrc_qp *qp);

/*
 * What the peer says of its ports, for mrc_paths_peer_said(). Under tx.lock or
 * qp->mutex.
 */
static inline u32 mrc_peer_word(const struct mrc_qp *qp)
{
	return qp->peer ? mrc_view_word(&qp->peer->view) : MRC_VIEW_NOTHING;
}

/*
 * Let a requester that is about to send know what its peer told meanwhile.
 * Under tx.lock, with tx.on.
 */
static inline void mrc_peer_sync(struct mrc_qp *qp)
{
	u32 word = mrc_peer_word(qp);

	if (unlikely(word != mrc_paths_peer_word(&qp->paths)))
		mrc_req_peer_said(mrc_qp_req(qp), word, mrc_now());
}

/* Ports of @dev changed: tell its peers, then its QPs. Any context. */
void mrc_peers_ports_changed(struct mrc_dev *dev);

/* mrc_rev_probe.c -----------------------------------------------------------*/

/**
 * mrc_rev_probe - test a reverse path if one is due (MRC 1.0 §11.8)
 * @qp: under rx.lock, with rx.on
 * @list: where the probe is put
 * @now: ns
 */
void mrc_rev_probe(struct mrc_qp *qp, struct sk_buff_head *list, u64 now);

#endif /* MRC_QP_PRIV_H */
