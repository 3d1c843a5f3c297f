/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connected queue pairs. Lock order and shutdown rule: dev/mrc_dev.h.
 */
#ifndef MRC_QP_H
#define MRC_QP_H

#include <rdma/mrc-ctl-abi.h>

#include "queue/mrc_queue.h"
#include "net/mrc_net.h"

#define MRC_MAX_RETRY		7
#define MRC_QP_MAX_WIMM		1024	/* what a program may ask for */
#define MRC_ROUTE_SOON		max(HZ / 100, 1)
#define MRC_BY_PROGRAM		(-2)

struct mem_cgroup;
struct mrc_set;
struct mrc_srq;
struct mrc_ctl_evp;
struct mrc_ctl_ccp;

/* Numbers that enum ib_wr_opcode of older kernels lacks. */
enum mrc_wr_opcode {
	MRC_IB_WR_FLUSH		= 14,
	MRC_IB_WR_ATOMIC_WRITE	= 15,
};

/* Likewise of enum ib_wc_opcode. */
enum mrc_wc_opcode {
	MRC_IB_WC_FLUSH		= 8,
	MRC_IB_WC_ATOMIC_WRITE	= 9,
};

/**
 * struct mrc_swqe - the kernel's copy of a send WQE
 * @wr_id: the program's
 * @len: bytes of the message, or of what is read
 * @op: enum ib_wr_opcode or enum mrc_wr_opcode
 * @num_sge: entries of @sge
 * @signaled: wants a completion
 * @inl: data is in the QP's inline buffer
 * @imm: WRITE_IMM
 * @remote: @sge are remote keys of this QP that must allow reading (answers)
 * @sge: only the non-empty ones
 * @local: of MRC_WR_LOCAL, which has no @sge
 *
 * Parallel to the engine's slots.
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
 * @wr_id: the program's
 * @room: bytes of all @sge together
 * @num_sge: entries of @sge
 * @status: what it completes with instead of success, enum ib_wc_status
 * @used: belongs to the receive with number @rqmsn
 * @rqmsn: METH.rqmsn of the message
 * @sge: as the program wrote them when the first packet came
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

/* What programs set and query_qp gives back; under qp->mutex. */
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
	union ib_gid dgid;
	u32 flow_label;
	u8 sgid_index;
	u8 hop_limit;
	u8 traffic_class;
	u8 sl;
	struct mrc_abi_qp_attr mrc;	/* mask: which were set */
};

/*
 * SQD is RTS for packets: the responder goes on, and so does what the send
 * queue has begun. Only taking and beginning work requests stops.
 */
enum mrc_sqd {
	MRC_SQD_OFF,
	MRC_SQD_DRAINING,
	MRC_SQD_DRAINED,
};

/**
 * struct mrc_rd_state - a request (READ and its like) under way
 * @slot: of the send queue
 * @left: bytes of its answer that have not been placed yet
 */
struct mrc_rd_state {
	u32 slot;
	u32 left;
};

/**
 * struct mrc_requester - what the transmit part has once the QP sends
 * @req: engine
 * @cc: its congestion control
 * @cc_cfg: what @cc was made from
 * @rd: by request number
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
 * @MRC_TODO_ANS_TX: make the answer channel: a request has come. For the work item,
 *	like the next three
 * @MRC_TODO_ANS_RX: make the answer channel: a WQE waits for it
 * @MRC_TODO_RECVS: make the table of receives: a SEND waits for it
 * @MRC_TODO_RESP: run the responder: a message that is due invalidates a key that is
 *	in use, or the memory of a request is being fetched
 * @MRC_TODO_SQ: take entries from the send ring. For the send loop, like the next four
 * @MRC_TODO_INLINE: allocate the inline buffer: a WQE waits for it
 * @MRC_TODO_PAGES: send again what waits for memory: some has come
 * @MRC_TODO_FATAL: report IB_EVENT_QP_FATAL and go to ERROR
 * @MRC_TODO_ANS_BAD: of an answer channel: refuse the request of answer
 *	@tx.ans_bad_num, whose memory cannot be read any more
 * @MRC_TODO_ACK: send feedback at the end of the burst: the QP is in the list of a
 *	processor, with a reference. Outlives a reset
 *
 * Set by mrc_qp_set_todo() in any context, and taken by mrc_qp_take_todo().
 */
enum mrc_qp_todo {
	MRC_TODO_ANS_TX,
	MRC_TODO_ANS_RX,
	MRC_TODO_RECVS,
	MRC_TODO_RESP,
	MRC_TODO_SQ,
	MRC_TODO_INLINE,
	MRC_TODO_PAGES,
	MRC_TODO_FATAL,
	MRC_TODO_ANS_BAD,
	MRC_TODO_ACK,
};

/**
 * struct mrc_qp_tx - transmit part: the requester and the send queue
 * @lock: protects this part and the paths
 * @on: @eng is there; written under @lock, read without it as a hint, like @sqd and
 *	@ans_ready
 * @sqd: enum mrc_sqd, with state RTS
 * @ans_ready: requests can be sent: the answer channel takes answers
 * @swqe_size: stride of @swqe
 * @max_send_sge: granted
 * @max_inline: granted
 * @sq: send ring; idx = cons
 * @timer: the requester's deadline
 * @timer_at: when @timer fires, MRC_NEVER = not armed
 * @conn: what belongs to the present connection, zero in RESET
 * @sqd_notify: report IB_EVENT_SQ_DRAINED
 * @no_inline: allocating @inl_buf failed
 * @no_ans: making the answer channel failed
 * @ans_bad_num: see MRC_TODO_ANS_BAD
 * @ans_acked: of an answer channel: answers acknowledged of which the QP has not been
 *	told
 * @sq_taken: entries copied so far, sq_taken - sq.idx are in the engine
 * @eng: the requester, from the first send on
 * @swqe: parallel to the engine's slots, @swqe_size bytes each
 * @inl_buf: inline data, @max_inline bytes per slot, allocated on first use
 * @page_since: since when packets, or a WQE, wait for memory and nothing that has its
 *	memory was sent, ns; 0: nothing waits
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
	struct_group_tagged(mrc_tx_conn, conn,
		bool sqd_notify;
		bool no_inline;
		bool no_ans;
		u16 ans_bad_num;
		u32 ans_acked;
		u32 sq_taken;
		struct mrc_requester *eng;
		void *swqe;
		void *inl_buf;
		u64 page_since;
	);
};

/**
 * struct mrc_rx_mem - memory of a receive part
 * @resp: of the engine
 * @stash: its WRITE_IMM stash where that came late, see mrc_qp_make_stash()
 * @rd: its list of requests
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
 * @lock: protects this part; outside of that of the transmit part
 * @on: @resp is initialised; written under @lock, read without it as a hint, like
 *	@ans_ready
 * @ans_ready: requests can be executed: the answer channel sends answers; written under
 *	both locks like that of the transmit part
 * @max_recv_sge: bound for what programs write into receive WQEs
 * @rq: receive ring; depth 0 = none. With an SRQ: entries taken from there, a ring that
 *	nobody else sees
 * @burst_node: see MRC_TODO_ACK
 * @conn: what belongs to the present connection, zero in RESET
 * @rnr_timer: code of the time to wait where a receive is missing
 * @recv_mask: entries of @recv less one
 * @recv_size: bytes of each
 * @mem: what is to be freed with the connection
 * @page_since: how long the memory of a packet has been awaited, ns
 * @resp: engine
 */
struct mrc_qp_rx {
	spinlock_t lock;	/* see above */
	bool on;
	bool ans_ready;
	u32 max_recv_sge;
	struct mrc_ring rq;
	struct llist_node burst_node;
	struct_group_tagged(mrc_rx_conn, conn,
		u8 rnr_timer;
		u32 recv_mask;
		u32 recv_size;
		struct mrc_rx_mem mem;
		u64 page_since;
		struct mrc_resp resp;
	);
};

/**
 * struct mrc_qp - a connected queue pair, or the answer channel of one
 * @base: what QPs of all kinds have. References: table lookups, an armed timer, queued
 *	work and a list of mrc_burst.c hold one each
 * @state: enum ib_qp_state; written under both locks, read under either, or without
 *	lock as a hint
 * @dead: destroy has begun, like @state
 * @ext: has the extension, constant
 * @paths_on: @paths is initialised, like @state; the responder reads it as well
 * @only_port: link-local addresses bind the QP to this port, 0 = any
 * @conn: counts resets, like @state
 * @todo: enum mrc_qp_todo
 * @ans: its answer channel, NULL until the first READ or atomic operation; written once
 *	under @mutex, stays until the QP is freed, see mrc_ans_get()
 * @ans_of: of an answer channel: the QP that it belongs to, constant
 * @no_route: bit N = port N is up without a route to the peer, see
 *	mrc_qp_update_ports()
 * @rx: receive part
 * @tx: transmit part
 * @paths: EVs, under the lock of @tx; their tables come with its engine
 * @work: everything that must not run in the packet path
 * @page_wait: in the device's list, with a reference
 * @no_route_at: since when a port of @no_route is there, jiffies; under @tx's lock
 * @memcg: charged for what the packet path and the work item allocate, a
 *	reference; an answer channel has none
 * @cached: comes from the cache of QPs, constant
 * @mutex: see mrc_dev.h
 * @attr: under @mutex
 * @evp: EV profile that counts this QP as a user, NULL = none; under the ctl
 *	mutex, like all of the following up to @auto_min
 * @ccp: CC profile likewise
 * @ev_id: number of @evp
 * @cc_id: number of @ccp
 * @ev_node: in the list of users of @evp
 * @cc_node: in the list of users of @ccp
 * @auto_evs: EVs of the QP's own set, 0 = as the module parameter says
 * @auto_min: ev_min_active of that set, 0 = default
 * @cc_ops: algorithm, NULL = "none"
 * @nscc: its parameters; written under the ctl mutex and @tx's lock
 * @peer: the host at the other end; written under peers->mutex, constant while
 *	@paths_on
 * @peer_node: in its list of QPs
 * @flow: addresses, constant in RTR and beyond, and routes; its set of EVs is
 *	written under the ctl mutex and both locks
 *
 * What the packet path touches comes first. An idle QP, outside its rings, is to take
 * no more than 4 KiB, together with what the core keeps for it; see MRC_QP_CACHE_SIZE.
 */
struct mrc_qp {
	struct mrc_qp_base base;
	u8 state;
	bool dead;
	bool ext;
	bool paths_on;
	u8 only_port;
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

	struct mrc_flow flow;	/* the last one: as many routes as there are ports */
};

/*
 * QPs of devices with up to so many ports come from a cache of their own, because
 * kmalloc() would round them up to 2 KiB. Those of others do not need much more.
 */
#define MRC_QP_CACHE_PORTS	4
#define MRC_QP_CACHE_SIZE	offsetof(struct mrc_qp, flow.route[MRC_QP_CACHE_PORTS])

/*
 * 18 of them in 32 KiB. Where locks are larger (debugging, real time) or cache
 * lines are longer, idle QPs may take more.
 */
#if defined(CONFIG_64BIT) && SMP_CACHE_BYTES <= 64 && \
	!defined(CONFIG_DEBUG_SPINLOCK) && !defined(CONFIG_DEBUG_MUTEXES) && \
	!defined(CONFIG_DEBUG_LOCK_ALLOC) && !defined(CONFIG_PREEMPT_RT)
static_assert(MRC_QP_CACHE_SIZE <= 1728);
#endif

static inline struct mrc_qp *mrc_qp_from(struct ib_qp *ibqp)
{
	return container_of(to_mibqp(ibqp)->base, struct mrc_qp, base);
}

/* The requester's engine. Under tx.lock, with tx.on. */
static inline struct mrc_req *mrc_qp_req(const struct mrc_qp *qp)
{
	return &qp->tx.eng->req;
}

/* Is there a requester that may send? Under tx.lock. */
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

/* Was @what pending? It is not any more. */
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

/* The mutex that QPs are governed by: an answer channel by that of its QP. */
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

/* QP by number with a reference, NULL if there is none. Any context. */
struct mrc_qp *mrc_qp_get(u32 qpn);

/*
 * State of @ibqp with a reference, NULL if it is being destroyed: netlink
 * looks at QPs until after destroy_qp.
 */
struct mrc_qp *mrc_qp_of(struct ib_qp *ibqp);

/**
 * struct mrc_profile_ops - profiles of controllers, as QPs see them
 * @check: are the profiles that @in names there and ONLINE? 0 or -EINVAL
 * @bind: settle the profiles of a QP on its way to RTR: fills @qp->flow.set (NULL:
 *	AUTO), @qp->cc_ops and @qp->nscc. The QP counts as a user until @unbind. 0,
 *	-EINVAL (not ONLINE, does not fit the address family), -ENOMEM
 * @unbind: the reverse
 * @event: an EV changed its visible state to @to, enum mrc_ev_state. @paths: its
 *	paths, with the set that @ev belongs to, which a newer one may be about to
 *	replace. Under tx.lock
 *
 * All but @event sleep, under qp->mutex.
 */
struct mrc_profile_ops {
	int (*check)(struct mrc_dev *dev, const struct mrc_abi_qp_attr *in);
	int (*bind)(struct mrc_qp *qp);
	void (*unbind)(struct mrc_qp *qp);
	void (*event)(struct mrc_qp *qp, const struct mrc_paths *paths, u16 ev,
		      u8 to);
};

/* Those of a device that has no controller: there are none, all QPs are AUTO. */
extern const struct mrc_profile_ops mrc_auto_profile_ops;

/* Module: tables, caches, work queues. 0 or -ENOMEM. */
int mrc_qp_init(const struct mrc_profile_ops *profiles);
void mrc_qp_exit(void);

extern const struct mrc_qp_kind mrc_qp_kind_rc;
extern const struct mrc_port_client mrc_qp_port_client;

/* mrc_qp_modify.c, mrc_qp_start.c, mrc_qp_attr.c ----------------------------*/

/* The state as verbs have it. */
enum ib_qp_state mrc_qp_verbs_state(const struct mrc_qp *qp);

/* MRC attributes in force, with @out->mask of those that were set. */
void mrc_qp_effective(const struct mrc_qp *qp, struct mrc_abi_qp_attr *out);

/*
 * Set MRC attributes, all or none (MRC 1.0 §14). Under qp->mutex. 0 or -EINVAL:
 * out of range, too late for the QP's state, a profile that is not ONLINE.
 */
int mrc_qp_set_mrc(struct mrc_qp *qp, const struct mrc_abi_qp_attr *in);

/* mrc_payload.c, mrc_send.c -------------------------------------------------*/

/**
 * mrc_build_skb - make the packet that @desc describes
 * @qp: under tx.lock (data, probes) or rx.lock (feedback)
 * @desc: from the engine
 *
 * Return: an skb for mrc_qp_xmit(), ERR_PTR(-ENOMEM), or ERR_PTR(-EFAULT)
 * when the memory of the work request is not accessible any more.
 */
struct sk_buff *mrc_build_skb(struct mrc_qp *qp,
			      const struct mrc_tx_desc *desc);

/* Hand packets to the network. No lock held; consumes the packets. */
void mrc_qp_xmit(struct mrc_qp *qp, struct sk_buff_head *list);

/**
 * mrc_req_run - send what the requester may send, then unlock
 * @qp: under tx.lock, with tx.on and a reference; unlocked on return
 * @sleep: process context: may allocate
 *
 * To be called after anything that changed the requester: reaps completions,
 * takes new send WQEs, sends, re-arms the timer, and carries out a change to
 * ERROR.
 */
void mrc_req_run(struct mrc_qp *qp, bool sleep) __releases(&qp->tx.lock);

/* mrc_recv.c: for struct mrc_rcv_ops ----------------------------------------*/

void mrc_qp_pkt_find(struct mrc_pkt *pkt, u32 qpn);
void mrc_qp_pkt_rcv(struct mrc_pkt *pkt);

/* mrc_burst.c ---------------------------------------------------------------*/

void mrc_burst_init(void);
void mrc_burst_exit(void);	/* no QP is there any more */

/* mrc_peer.c: hosts that QPs lead to, MRC 1.0 §12.3 -------------------------*/

/**
 * mrc_peer_update - a port status update arrived
 * @dev: device of the port of arrival
 * @self: destination address
 * @peer: source address
 * @port: of arrival
 * @mask: bit N = port N of the peer is up
 *
 * Softirq, under RCU. QPs that send hear of it from here on, all others soon. It
 * costs little however many come: only the newest one is kept.
 *
 * Return: whether it is to be confirmed; false for unknown peers.
 */
bool mrc_peer_update(struct mrc_dev *dev, const struct in6_addr *self,
		     const struct in6_addr *peer, u8 port, u32 mask);

/* A response arrived: did it confirm what the peer is being told? RCU. */
bool mrc_peer_answered(struct mrc_dev *dev, const struct in6_addr *self,
		       const struct in6_addr *peer, u8 port, u16 id);

/*
 * A connection to the peer whose paths answers can take, with a reference, or
 * NULL. Softirq, under RCU.
 */
struct mrc_qp *mrc_peer_speaker(struct mrc_dev *dev,
				const struct in6_addr *self,
				const struct in6_addr *peer, u8 port);

int mrc_peer_init(void);
void mrc_peer_exit(void);

/* What a device has of them; sleep. 0 or a negative errno. */
int mrc_peers_create(struct mrc_dev *dev);
void mrc_peers_destroy(struct mrc_dev *dev);

/* mrc_rev_probe.c: probes of reverse paths, MRC 1.0 §11.8 -------------------*/

int mrc_rev_probes_create(struct mrc_dev *dev);
void mrc_rev_probes_destroy(struct mrc_dev *dev);

/*
 * A response arrived: does it confirm a reverse path of a QP? One that comes after the
 * QP has gone on is counted as late, and true as well. Softirq.
 */
bool mrc_rev_probe_answered(struct mrc_dev *dev, u8 port,
			    const struct mrc_hdr *hdr,
			    const struct in6_addr *peer,
			    const struct in6_addr *self, u64 now);

#endif /* MRC_QP_H */
