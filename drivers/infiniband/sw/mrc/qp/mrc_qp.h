/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connected queue pairs. The lock order and the shutdown rule are in dev/mrc_dev.h.
 */
#ifndef MRC_QP_H
#define MRC_QP_H

#include <rdma/mrc-ctl-abi.h>

#include "queue/mrc_queue.h"
#include "net/mrc_net.h"

#define MRC_MAX_RETRY		7
#define MRC_QP_MAX_WIMM		1024	/* largest value that a program may set */
#define MRC_ROUTE_SOON		max(HZ / 100, 1)
#define MRC_BY_PROGRAM		(-2)

struct mem_cgroup;
struct mrc_set;
struct mrc_srq;
struct mrc_ctl_evp;
struct mrc_ctl_ccp;

/* Values that enum ib_wr_opcode lacks in older kernels. */
enum mrc_wr_opcode {
	MRC_IB_WR_FLUSH		= 14,
	MRC_IB_WR_ATOMIC_WRITE	= 15,
};

/* Values that enum ib_wc_opcode lacks in older kernels. */
enum mrc_wc_opcode {
	MRC_IB_WC_FLUSH		= 8,
	MRC_IB_WC_ATOMIC_WRITE	= 9,
};

/**
 * struct mrc_swqe - the kernel's copy of a send WQE
 * @wr_id: wr_id of the consumer
 * @len: length of the message in bytes; READ: bytes to read
 * @op: enum ib_wr_opcode or enum mrc_wr_opcode
 * @num_sge: number of entries in @sge
 * @signaled: the consumer wants a completion
 * @inl: the data is in the QP's inline buffer
 * @imm: WRITE_IMM
 * @remote: an answer to READ: the keys in @sge are remote keys of this QP and must
 *	allow remote read
 * @sge: the SGEs that are not empty
 * @local: the operation of MRC_WR_LOCAL, which has no @sge
 *
 * The array of struct mrc_swqe is parallel to the engine's slots.
 */
struct mrc_swqe {
	u64 wr_id;
	u32 len;
	u8 op;
	u8 num_sge;
	bool signaled : 1;
	bool inl : 1;
	bool imm : 1;
	bool remote : 1;
	union {
		struct mrc_local local;
		DECLARE_FLEX_ARRAY(struct mrc_sge, sge);
	};
};

static inline u32 mrc_swqe_size(u32 max_sge)
{
	return max_t(size_t, sizeof(struct mrc_swqe),
		     offsetof(struct mrc_swqe, sge) +
		     max_sge * sizeof(struct mrc_sge));
}

/**
 * struct mrc_recv - the kernel's copy of a receive WQE that a SEND fills
 * @wr_id: wr_id of the consumer
 * @room: sum of the lengths in @sge, bytes
 * @num_sge: number of entries in @sge
 * @status: status of the completion, enum ib_wc_status
 * @used: the entry is in use, for the message with number @rqmsn
 * @rqmsn: METH.rqmsn of the message
 * @sge: the SGEs as they were in the ring when the first packet arrived
 */
struct mrc_recv {
	u64 wr_id;
	u64 room;
	u8 num_sge;
	u8 status;
	bool used;
	u16 rqmsn;
	struct mrc_sge sge[];
};

/* Attributes that modify_qp sets and query_qp returns. Under qp->mutex. */
struct mrc_qp_attrs {
	u8 port;
	u16 pkey_index;
	int access;
	enum ib_mtu path_mtu;
	u32 dest_qpn;
	u32 rq_psn;
	u32 sq_psn;
	u8 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	u8 min_rnr_timer;
	u8 max_rd_atomic;
	u8 max_dest_rd_atomic;
	u8 mpr;		/* the device's when the QP went to RTR, 0 before */
	union ib_gid dgid;
	u32 flow_label;
	u8 sgid_index;
	u8 hop_limit;
	u8 traffic_class;
	u8 sl;
	struct mrc_abi_qp_attr mrc;	/* @mask: attributes that were set */
};

/*
 * The packet path treats SQD as RTS. The responder continues, and work requests that
 * have been started are finished. No further work request is taken from the ring or
 * started.
 */
enum mrc_sqd {
	MRC_SQD_OFF,
	MRC_SQD_DRAINING,
	MRC_SQD_DRAINED,
};

/**
 * struct mrc_rd_state - a request (READ, atomic, FLUSH) that awaits its answer
 * @slot: slot of the request in the send queue
 * @left: bytes of the answer that have not been placed yet
 */
struct mrc_rd_state {
	u32 slot;
	u32 left;
};

/**
 * struct mrc_requester - requester of a QP, allocated for the first send
 * @req: engine
 * @cc: congestion control of @req
 * @cc_cfg: configuration of @cc
 * @rd: requests that await their answers, indexed by request number modulo
 *	MRC_MAX_RD_ATOMIC
 * @mem: memory of @req, then the tables of the paths
 */
struct mrc_requester {
	struct mrc_req req;
	struct mrc_cc cc;
	struct mrc_cc_cfg cc_cfg;
	struct mrc_rd_state rd[MRC_MAX_RD_ATOMIC];
	u64 mem[];
};

/**
 * enum mrc_qp_todo - work that is pending on a QP, bits of struct mrc_qp.todo
 * @MRC_TODO_ANS_TX: make the answer channel because a request has arrived. The work
 *	item handles this bit and the next three
 * @MRC_TODO_ANS_RX: make the answer channel because a WQE waits for it
 * @MRC_TODO_RECVS: allocate the table of receives because a SEND waits for it
 * @MRC_TODO_RESP: run the responder again. Either the next message to deliver
 *	invalidates a key that is in use, or the memory of a request is being fetched
 * @MRC_TODO_SQ: take entries from the send ring. The send loop handles this bit and
 *	the next four
 * @MRC_TODO_INLINE: allocate the inline buffer because a WQE waits for it. The send
 *	loop allocates it only in process context
 * @MRC_TODO_PAGES: pages have been fetched; retry packets that wait for memory
 * @MRC_TODO_FLUSH: flush the rest of the rings
 * @MRC_TODO_FATAL: report IB_EVENT_QP_FATAL and go to ERROR
 * @MRC_TODO_ANS_BAD: answer channel only: the memory of answer @tx.ans_bad_num cannot
 *	be read any more; refuse its request
 * @MRC_TODO_DELAYED_ACK: send feedback at the end of the burst. The QP is in a list of
 *	mrc_delayed_ack.c, which holds a reference. A reset does not clear this bit
 *
 * mrc_qp_set_todo() sets a bit in any context. mrc_qp_take_todo() clears it.
 */
enum mrc_qp_todo {
	MRC_TODO_ANS_TX,
	MRC_TODO_ANS_RX,
	MRC_TODO_RECVS,
	MRC_TODO_RESP,
	MRC_TODO_SQ,
	MRC_TODO_INLINE,
	MRC_TODO_PAGES,
	MRC_TODO_FLUSH,
	MRC_TODO_FATAL,
	MRC_TODO_ANS_BAD,
	MRC_TODO_DELAYED_ACK,
};

/**
 * struct mrc_qp_tx - transmit part: the requester and the send queue
 * @lock: protects this part and the paths
 * @on: @eng is valid. @on, @sqd and @ans_ready are written under @lock and read
 *	without it as hints
 * @sqd: enum mrc_sqd; not MRC_SQD_OFF only in state RTS
 * @ans_ready: the answer channel can receive answers, so requests can be sent
 * @swqe_size: size of an entry of @swqe, bytes
 * @max_send_sge: limit granted at creation
 * @max_inline: limit granted at creation, bytes
 * @sq: send ring; idx = cons
 * @timer: timer for the requester's deadline
 * @timer_at: expiry of @timer, ns; MRC_NEVER = not armed
 * @timer_due_at: time of the last expiry of @timer at which a deadline was due, or of the
 *	transition to RTS, ns
 * @timer_grid: @timer_at is a multiple of it, ns; a power of two, 0 = any time
 * @conn: state of the current connection, zero in RESET
 * @sqd_notify: report IB_EVENT_SQ_DRAINED
 * @no_inline: allocation of @inl_buf failed
 * @no_ans: creation of the answer channel failed
 * @ans_bad_num: see MRC_TODO_ANS_BAD
 * @flush_left: entries of @sq that the work item may still flush
 * @ans_acked: answer channel only: number of acknowledged answers that have not been
 *	reported to the QP yet
 * @sq_taken: number of entries copied from the ring; sq_taken - sq.idx of them are in
 *	the engine
 * @eng: the requester; NULL before the first send
 * @swqe: copies of send WQEs, parallel to the engine's slots
 * @inl_buf: inline data, @max_inline bytes per slot, allocated on first use
 * @page_wait_since: time when packets began to wait for memory, ns; 0 = none waits. Sending
 *	a packet with payload sets it to 0
 */
struct mrc_qp_tx {
	spinlock_t lock;	/* see above */
	bool on;
	u8 sqd;
	bool ans_ready;
	u32 swqe_size;
	u32 max_send_sge;
	u32 max_inline;
	struct mrc_ring sq;
	struct hrtimer timer;
	u64 timer_at;
	u64 timer_due_at;
	u32 timer_grid;
	struct_group_tagged(mrc_tx_conn, conn,
		bool sqd_notify;
		bool no_inline;
		bool no_ans;
		u16 ans_bad_num;
		u16 flush_left;
		u32 ans_acked;
		u32 sq_taken;
		struct mrc_requester *eng;
		void *swqe;
		void *inl_buf;
		u64 page_wait_since;
	);
};

/**
 * struct mrc_rx_mem - memory of a receive part
 * @resp: memory of the engine
 * @stash: WRITE_IMM stash of the engine if it was allocated late, see
 *	mrc_qp_make_stash()
 * @rd: the engine's list of requests
 * @recv: copies of receive WQEs; NULL until the first SEND
 */
struct mrc_rx_mem {
	void *resp;
	void *stash;
	void *rd;
	void *recv;
};

/**
 * struct mrc_qp_rx - receive part: the responder and the receive queue
 * @lock: protects this part; taken before the lock of the transmit part
 * @on: @resp is initialised. @on and @ans_ready are written under @lock and read
 *	without it as hints
 * @ans_ready: the answer channel can send answers, so requests can be executed. Written
 *	under both locks, like @ans_ready of the transmit part
 * @flush_left: entries of @rq that the work item may still flush
 * @max_recv_sge: maximum num_sge of a receive WQE
 * @rq: receive ring; depth 0 = none. With an SRQ: the entries taken from the SRQ, in a
 *	ring that is not mapped
 * @delayed_ack_node: see MRC_TODO_DELAYED_ACK
 * @conn: state of the current connection, zero in RESET
 * @rnr_timer: RNR timer code that is sent when no receive is posted
 * @flushed: entries of @rq that were flushed, modulo 2^16
 * @recv_mask: number of entries in @mem.recv - 1
 * @recv_size: size of an entry of @mem.recv, bytes
 * @mem: memory that is freed with the connection
 * @page_fetched_at: for the packet in progress: time when a page of its memory was last
 *	fetched for a waiter, ns; see mrc_odp_check()
 * @resp: engine
 */
struct mrc_qp_rx {
	spinlock_t lock;	/* see above */
	bool on;
	bool ans_ready;
	u16 flush_left;
	u32 max_recv_sge;
	struct mrc_ring rq;
	struct llist_node delayed_ack_node;
	struct_group_tagged(mrc_rx_conn, conn,
		u8 rnr_timer;
		u16 flushed;
		u32 recv_mask;
		u32 recv_size;
		struct mrc_rx_mem mem;
		u64 page_fetched_at;
		struct mrc_resp resp;
	);
};

/**
 * struct mrc_qp - a connected queue pair, or the answer channel of one
 * @base: common part of all kinds of QPs. Each table lookup, the armed timer, queued
 *	work and the list of mrc_delayed_ack.c hold one reference
 * @dead: destroy has begun; locking as for @base.state
 * @ext: the QP has the extension, constant
 * @paths_on: @paths is initialised; locking as for @base.state. The responder reads it
 *	too
 * @bound_port: port to which a link-local address binds the QP, 0 = any
 * @conn: number of resets; locking as for @base.state
 * @todo: bits of enum mrc_qp_todo
 * @ans: answer channel of this QP, NULL until the first READ or atomic operation.
 *	Written once under @mutex; valid until the QP is freed, see mrc_ans_get()
 * @ans_of: in an answer channel: the QP that it belongs to, constant
 * @no_route: bit N = port N is up but has no route to the peer, see
 *	mrc_qp_update_ports()
 * @rx: receive part
 * @tx: transmit part
 * @paths: EVs, under tx.lock; their tables are in @tx.eng->mem
 * @work: work that cannot run in the packet path
 * @page_wait: node in the device's list of ODP waiters; holds a reference while listed
 * @no_route_at: time when a port was last added to @no_route, jiffies; under tx.lock
 * @memcg: memory cgroup that is charged for allocations of the packet path and the work
 *	item, with a reference; NULL in an answer channel
 * @cached: allocated from the kmem_cache of QPs, constant
 * @mutex: see mrc_dev.h
 * @attr: under @mutex
 * @evp: EV profile that counts this QP as a user, NULL = none. The ctl mutex protects
 *	this member and the following ones up to @auto_min
 * @ccp: CC profile that counts this QP as a user, NULL = none
 * @ev_id: number of @evp
 * @cc_id: number of @ccp
 * @ev_node: in the list of users of @evp
 * @cc_node: in the list of users of @ccp
 * @auto_evs: number of EVs in AUTO mode, 0 = @num_evs of struct mrc_dev_attr
 * @auto_min: ev_min_active in AUTO mode, 0 = default
 * @cc_ops: congestion control algorithm, NULL = "none"
 * @nscc: parameters of NSCC; written under the ctl mutex and tx.lock
 * @peer: the host at the other end; written under peers->mutex, constant while
 *	@paths_on
 * @peer_node: in the list of QPs of @peer
 * @flow: addresses, constant in RTR and later states, and routes. The set of EVs is
 *	written under the ctl mutex and both locks
 *
 * Members that the packet path uses come first. An idle QP must not take more than
 * 4 KiB without its rings, including the memory that ib_core keeps for it. See
 * MRC_QP_CACHE_SIZE.
 */
struct mrc_qp {
	struct mrc_qp_base base;
	bool dead;
	bool ext;
	bool paths_on;
	u8 bound_port;
	u32 conn;
	unsigned long todo;
	struct mrc_qp *ans;
	struct mrc_qp *ans_of;
	unsigned long no_route;

	struct mrc_qp_rx rx ____cacheline_aligned_in_smp;
	struct mrc_qp_tx tx ____cacheline_aligned_in_smp;
	struct mrc_paths paths;

	struct delayed_work work;
	struct mrc_odp_waiter page_wait;
	unsigned long no_route_at;
	struct mem_cgroup *memcg;
	bool cached;

	struct mutex mutex;	/* see mrc_dev.h */
	struct mrc_qp_attrs attr;

	struct mrc_ctl_evp *evp;
	struct mrc_ctl_ccp *ccp;
	u64 ev_id;
	u64 cc_id;
	struct list_head ev_node;
	struct list_head cc_node;
	u16 auto_evs;
	u16 auto_min;
	const struct mrc_cc_ops *cc_ops;
	struct mrc_nscc_cfg nscc;

	struct mrc_peer *peer;
	struct list_head peer_node;

	struct mrc_flow flow;	/* last: ends with one route per port */
};

/*
 * QPs of devices with at most this many ports are allocated from a kmem_cache, because
 * kmalloc() would round their size up to 2 KiB. QPs of devices with more ports are
 * larger, so that kmalloc() wastes less.
 */
#define MRC_QP_CACHE_PORTS	4
#define MRC_QP_CACHE_SIZE	offsetof(struct mrc_qp, flow.route[MRC_QP_CACHE_PORTS])

/*
 * 18 QPs must fit into a slab of 32 KiB. The limit does not apply where locks are larger
 * (debugging, real time) or cache lines are longer. sparse lays the structure out in
 * another way than the compiler does.
 */
#if !defined(__CHECKER__) && defined(CONFIG_64BIT) && SMP_CACHE_BYTES <= 64 && \
	!defined(CONFIG_DEBUG_SPINLOCK) && !defined(CONFIG_DEBUG_MUTEXES) && \
	!defined(CONFIG_DEBUG_LOCK_ALLOC) && !defined(CONFIG_PREEMPT_RT)
static_assert(MRC_QP_CACHE_SIZE <= 1792);
#endif

static inline struct mrc_qp *mrc_qp_from(struct ib_qp *ibqp)
{
	return container_of(to_mibqp(ibqp)->base, struct mrc_qp, base);
}

/* The engine of the requester. Under tx.lock, with tx.on set. */
static inline struct mrc_req *mrc_qp_req(const struct mrc_qp *qp)
{
	return &qp->tx.eng->req;
}

/* Does @qp have a requester, and may it send (RTS)? Under tx.lock. */
static inline bool mrc_qp_sends(const struct mrc_qp *qp)
{
	return qp->tx.on && qp->base.state == IB_QPS_RTS;
}

static inline void mrc_qp_set_todo(struct mrc_qp *qp, enum mrc_qp_todo what)
{
	set_bit(what, &qp->todo);
}

static inline bool mrc_qp_has_todo(const struct mrc_qp *qp, enum mrc_qp_todo what)
{
	return test_bit(what, &qp->todo);
}

/* Clear @what. Return: whether it was set. */
static inline bool mrc_qp_take_todo(struct mrc_qp *qp, enum mrc_qp_todo what)
{
	return mrc_qp_has_todo(qp, what) && test_and_clear_bit(what, &qp->todo);
}

static inline struct mrc_swqe *mrc_swqe_at(const struct mrc_qp *qp, u32 slot)
{
	return qp->tx.swqe + (size_t)slot * qp->tx.swqe_size;
}

static inline void *mrc_inline_at(const struct mrc_qp *qp, u32 slot)
{
	return qp->tx.inl_buf + (size_t)slot * qp->tx.max_inline;
}

/* The mutex of @qp. An answer channel uses the mutex of the QP it belongs to. */
static inline struct mutex *mrc_qp_mutex(struct mrc_qp *qp)
{
	return qp->ans_of ? &qp->ans_of->mutex : &qp->mutex;
}

/* mrc_qp.c ------------------------------------------------------------------*/

static inline void mrc_qp_hold(struct mrc_qp *qp)
{
	mrc_qp_base_hold(&qp->base);
}

static inline void mrc_qp_put(struct mrc_qp *qp)
{
	mrc_qp_base_put(&qp->base);
}

/* Find a connected QP by number. Takes a reference; NULL if not found. Any context. */
struct mrc_qp *mrc_qp_get(u32 qpn);

/*
 * The struct mrc_qp of @ibqp, with a reference. NULL if it is being destroyed: netlink
 * may access a QP until after destroy_qp has returned.
 */
struct mrc_qp *mrc_qp_of(struct ib_qp *ibqp);

/**
 * struct mrc_profile_ops - interface of QPs to the profiles of controllers
 * @check: check that the profiles named in @in exist and are ONLINE. 0 or -EINVAL
 * @bind: choose the profiles of a QP on its way to RTR. Sets @qp->flow.set (NULL:
 *	AUTO), @qp->cc_ops and @qp->nscc. The QP counts as a user until @unbind. 0,
 *	-EINVAL (not ONLINE, or wrong address family) or -ENOMEM
 * @unbind: undo @bind
 * @event: EV @ev of @paths changed its visible state to @to, enum mrc_ev_state. The
 *	EV set of @paths contains @ev, but may be about to be replaced by a newer one.
 *	Under tx.lock
 *
 * All callbacks but @event may sleep and are called under qp->mutex.
 */
struct mrc_profile_ops {
	int (*check)(struct mrc_dev *dev, const struct mrc_abi_qp_attr *in);
	int (*bind)(struct mrc_qp *qp);
	void (*unbind)(struct mrc_qp *qp);
	void (*event)(struct mrc_qp *qp, const struct mrc_paths *paths, u16 ev,
		      u8 to);
};

/* For devices without a controller: no profile exists, and all QPs are AUTO. */
extern const struct mrc_profile_ops mrc_auto_profile_ops;

/* Module init: cache. 0 or -ENOMEM. */
int mrc_qp_init(const struct mrc_profile_ops *profiles);
void mrc_qp_exit(void);

extern const struct mrc_qp_kind mrc_qp_kind_rc;
extern const struct mrc_port_client mrc_qp_port_client;

/* mrc_qp_modify.c, mrc_qp_start.c, mrc_qp_attr.c ----------------------------*/

/* The state as verbs report it: RTS while draining or drained is SQD. */
enum ib_qp_state mrc_qp_verbs_state(const struct mrc_qp *qp);

/* MRC attributes in force. @out->mask tells which of them were set by the program. */
void mrc_qp_effective(const struct mrc_qp *qp, struct mrc_abi_qp_attr *out);

/*
 * Set MRC attributes, all or none (MRC 1.0 §14). Under qp->mutex. Return: 0 or -EINVAL:
 * a value is out of range, the state of the QP does not allow the change any more, or a
 * profile is not ONLINE.
 */
int mrc_qp_set_mrc(struct mrc_qp *qp, const struct mrc_abi_qp_attr *in);

/* mrc_payload.c, mrc_send.c -------------------------------------------------*/

/**
 * mrc_build_skb - build the packet that @desc describes
 * @qp: under tx.lock (data, probes) or rx.lock (feedback)
 * @desc: from the engine
 *
 * Return: an skb for mrc_qp_xmit(), ERR_PTR(-ENOMEM), ERR_PTR(-EFAULT) when the memory
 * of the work request is not accessible any more, or ERR_PTR(-EAGAIN) while the memory
 * is being fetched (ODP).
 */
struct sk_buff *mrc_build_skb(struct mrc_qp *qp,
			      const struct mrc_tx_desc *desc);

/* Hand packets to the network. No lock held; consumes the packets. */
void mrc_qp_xmit(struct mrc_qp *qp, struct sk_buff_head *list);

/**
 * mrc_req_run - send all packets that the requester may send, then unlock
 * @qp: under tx.lock, with tx.on and a reference; unlocked on return
 * @sleep: called in process context, may sleep for memory
 *
 * Must be called after every change of the requester. Reaps completions, takes new send
 * WQEs, sends packets, re-arms the timer, and moves the QP to ERROR if it has failed.
 */
void mrc_req_run(struct mrc_qp *qp, bool sleep) __releases(&qp->tx.lock);

/* mrc_recv.c: for struct mrc_rcv_ops ----------------------------------------*/

void mrc_qp_pkt_find(struct mrc_pkt *pkt, u32 qpn);
void mrc_qp_pkt_rcv(struct mrc_pkt *pkt);

/* mrc_delayed_ack.c ---------------------------------------------------------------*/

int mrc_delayed_ack_init(void);		/* 0 or -ENOMEM; sleeps */
void mrc_delayed_ack_exit(void);	/* after the last QP has been freed */

/* mrc_peer.c: peers and port status, MRC 1.0 §12.3 --------------------------*/

/**
 * mrc_peer_update - a port status update arrived
 * @dev: device of the port of arrival
 * @self: destination address of the update
 * @peer: source address of the update
 * @port: port of arrival
 * @mask: bit N = port N of the peer is up
 *
 * Softirq, under RCU. A QP applies the update before it sends the next packet. QPs that
 * do not send apply it in their work item. The cost of a flood of updates is bounded,
 * because only the newest update is kept.
 *
 * Return: whether to confirm the update; false for unknown peers.
 */
bool mrc_peer_update(struct mrc_dev *dev, const struct in6_addr *self,
		     const struct in6_addr *peer, u8 port, u32 mask);

/*
 * An endpoint response arrived. Return: whether it confirms our current port status
 * update to this peer. Under RCU.
 */
bool mrc_peer_response(struct mrc_dev *dev, const struct in6_addr *self,
		       const struct in6_addr *peer, u8 port, u16 id);

/*
 * A QP connected to the peer, whose paths endpoint responses can use, with a reference.
 * NULL if there is none. Softirq, under RCU.
 */
struct mrc_qp *mrc_peer_get_qp(struct mrc_dev *dev,
			       const struct in6_addr *self,
			       const struct in6_addr *peer, u8 port);

int mrc_peer_init(void);
void mrc_peer_exit(void);

/* The peers of a device. Both may sleep. Return: 0 or a negative errno. */
int mrc_peers_create(struct mrc_dev *dev);
void mrc_peers_destroy(struct mrc_dev *dev);

/* mrc_rev_probe.c: probes of reverse paths, MRC 1.0 §11.8 -------------------*/

int mrc_rev_probes_create(struct mrc_dev *dev);
void mrc_rev_probes_destroy(struct mrc_dev *dev);

/*
 * An endpoint response arrived. Return: whether it answers a reverse probe of a QP. A
 * reply that arrives when the QP no longer waits for it is counted as late; the return
 * value is true in this case as well. Softirq.
 */
bool mrc_rev_probe_response(struct mrc_dev *dev, u8 port,
			    const struct mrc_hdr *hdr,
			    const struct in6_addr *peer,
			    const struct in6_addr *self, u64 now);

#endif /* MRC_QP_H */
