/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pair state shared by the files of the data path, and what they offer
 * each other; how packets leave: mrc_xmit.h. Lock order and shutdown rule: mrc.h.
 */
#ifndef MRC_QP_H
#define MRC_QP_H

#include <linux/rhashtable-types.h>
#include <rdma/mrc-ctl-abi.h>

#include "dev/mrc_dev.h"

#define MRC_QPN_MIN		16
#define MRC_BTH_LEN		12

#define MRC_QPN_UD_FIRST	0xf00000
#define MRC_QPN_UD_MASK		0x0fffff

/* A sixteenth of the numbers is for datagrams: the core wants them unique. */
static inline bool mrc_qpn_ud(u32 qpn)
{
	return qpn >= MRC_QPN_UD_FIRST;
}

#define MRC_MAX_RETRY		7
#define MRC_HOP_LIMIT		64	/* MRC 1.0 §2.3 */
#define MRC_ROUTE_SOON		max(HZ / 100, 1)
#define MRC_ROUTE_RETRY		HZ	/* between looks for a lost route */
#define MRC_NO_EVENT		(-1)
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

/**
 * struct mrc_route - cached route through one port
 * @dst: changed under qp->route_lock, read under RCU
 * @cookie: for dst_check(); a value that does not belong to @dst only makes
 *	the check fail
 */
struct mrc_route {
	struct dst_entry __rcu *dst;
	u32 cookie;
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
 * struct mrc_requester - what a QP has once it sends
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
 * struct mrc_qp - packet-path state of a QP
 * @ref: table lookups, armed timer, queued work and a list of mrc_burst.c hold one
 *	each
 * @released: completed with the last reference
 * @rcu: delayed free, for lookups that lost the race
 * @cached: comes from the cache of QPs, constant
 * @node: in the table of QPNs
 * @dev: the device
 * @memcg: charged for what the packet path and the work item allocate, a
 *	reference; a companion has none
 * @ibqp: ib_core's part, alive until destroy returns
 * @scq: send completions
 * @rcq: receive completions
 * @srq: where receives come from, NULL: @rq is the program's
 * @qpn: 24 bits
 * @sig_all: every send WR is signalled
 * @ext: has the extension, constant
 * @main: of a companion: the QP whose answer channel it is, constant
 * @ans: companion, NULL until the first READ or atomic operation; written once
 *	under @mutex, stays until the QP is freed, see mrc_ans_get()
 * @mutex: see mrc.h
 * @attr: under @mutex
 * @state: enum ib_qp_state; written under resp_lock and req_lock, read under
 *	either, or without lock as a hint
 * @dead: destroy has begun, like @state
 * @conn: counts resets, like @state
 * @ipv6: address family of the connection
 * @only_port: link-local addresses bind the QP to this port, 0 = any
 * @saddr: own address, v4-mapped for IPv4; constant in RTR and beyond
 * @daddr: peer's address
 * @pmtu: payload bytes of a full packet
 * @set: EVs of the profile, NULL = AUTO; written under the ctl mutex, resp_lock
 *	and req_lock
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
 * @nscc: its parameters; written under the ctl mutex and req_lock
 * @peer: the host at the other end; written under peers->mutex, constant while
 *	@paths_on
 * @peer_node: in its list of QPs
 * @route_lock: publishing of routes
 * @route_gen: bumped when routes are dropped, so that a lookup for the old
 *	peer is not published
 * @no_route: bit N = port N is up without a route to the peer, see
 *	mrc_qp_update_ports()
 * @no_route_at: since when one of them is, jiffies; under req_lock
 * @resp_lock: protects the responder part
 * @resp_on: @resp is initialised
 * @resp: engine
 * @resp_mem: its memory
 * @stash: its WRITE_IMM stash where that came late, see mrc_qp_make_stash()
 * @rq: receive ring; depth 0 = none. With @srq: entries taken from there, a
 *	ring that nobody else sees
 * @max_recv_sge: bound for what programs write into receive WQEs
 * @rnr_timer: code of the time to wait where a receive is missing
 * @ans_tx: requests can be executed: @ans can send answers; written under both
 *	locks like @ans_rx
 * @want_ans: a request has come, the work item is to make @ans
 * @rd_mem: the responder's list of requests
 * @recv: copies of receive WQEs, @recv_mask + 1 of @recv_size bytes each;
 *	NULL until the first SEND
 * @need_recv: the work item is to make @recv
 * @resume: the work item is to go on with the responder: a message that is due
 *	invalidates a key that is in use, or the memory of a request is fetched
 * @burst: in the list of a processor, by @burst_node and with a reference; see
 *	mrc_burst_wait()
 * @req_lock: protects the requester part
 * @req_on: @tx is there
 * @paths_on: @paths is initialised; the responder reads it as well
 * @sq_pending: entries in the send ring have not been taken yet
 * @need_inline: a WQE waits for @inl_buf
 * @no_inline: allocating @inl_buf failed
 * @need_ans: a WQE waits for @ans
 * @no_ans: making @ans failed
 * @again: a local operation waits for others to be through with a key
 * @tx_page: packets, or a WQE, wait for memory that is fetched
 * @tx_page_since: since when they do, and nothing that has its memory was sent
 * @page_woken: some has come; set without a lock
 * @page_wait: in the device's list, with a reference
 * @page_since: (resp_lock) how long the memory of a packet has been awaited
 * @ans_rx: requests can be sent: @ans can take answers
 * @ans_acked: of a companion: answers acknowledged that @main has not been told
 *	of
 * @ans_bad: of a companion: there is no memory to read any more for the answer
 *	with the number @ans_bad_num
 * @sqd: enum mrc_sqd, with @state RTS
 * @sqd_notify: report IB_EVENT_SQ_DRAINED
 * @fatal: report IB_EVENT_QP_FATAL and go to ERROR after unlock
 * @paths: EVs; their tables come with @tx
 * @tx: the requester, from the first send on; under @req_lock with @req_on
 * @sq: send ring; idx = cons
 * @sq_taken: entries copied so far, sq_taken - sq.idx are in the engine
 * @swqe: parallel to the engine's slots, @swqe_size bytes each
 * @swqe_size: stride of @swqe
 * @max_send_sge: granted
 * @max_inline: granted
 * @inl_buf: inline data, @max_inline bytes per slot, allocated on first use
 * @timer: requester's deadline
 * @timer_at: when @timer fires, MRC_NEVER = not armed
 * @work: everything that must not run in the packet path
 * @route: of port N at N - 1; as many as the device has ports
 *
 * @want_ans, @need_recv, @need_ans and @resume are written under their role's lock
 * and read by the work item without one, as hints: who set one queues the item
 * afterwards.
 *
 * An idle QP, outside its rings, is to take no more than 4 KiB, together with
 * what the core keeps for it; see MRC_QP_CACHE_SIZE.
 */
struct mrc_qp {
	refcount_t ref;
	struct completion released;
	struct rcu_head rcu;
	struct rhash_head node;
	struct mrc_dev *dev;
	struct mem_cgroup *memcg;
	struct ib_qp *ibqp;
	struct mrc_cq *scq;
	struct mrc_cq *rcq;
	struct mrc_srq *srq;
	u32 qpn;
	bool sig_all;
	bool ext;
	bool cached;
	struct mrc_qp *main;
	struct mrc_qp *ans;

	struct mutex mutex;	/* see mrc.h */
	struct mrc_qp_attrs attr;

	u8 state;
	bool dead;
	u32 conn;

	bool ipv6;
	u8 only_port;
	struct in6_addr saddr;
	struct in6_addr daddr;
	u32 pmtu;

	struct mrc_set *set;
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

	spinlock_t route_lock;	/* leaf */
	u32 route_gen;
	unsigned long no_route;
	unsigned long no_route_at;

	spinlock_t resp_lock ____cacheline_aligned_in_smp;
	bool resp_on;
	struct mrc_resp resp;
	void *resp_mem;
	void *stash;
	struct mrc_ring rq;
	u32 max_recv_sge;
	u8 rnr_timer;
	bool ans_tx;
	bool want_ans;
	bool need_recv;
	bool resume;
	bool burst;
	u32 recv_mask;
	u32 recv_size;
	void *recv;
	void *rd_mem;
	struct llist_node burst_node;

	spinlock_t req_lock ____cacheline_aligned_in_smp;
	bool req_on;
	bool paths_on;
	bool sq_pending;
	bool need_inline;
	bool no_inline;
	bool need_ans;
	bool no_ans;
	bool again;
	bool tx_page;
	bool page_woken;
	bool ans_rx;
	u8 sqd;
	bool sqd_notify;
	bool fatal;
	struct mrc_paths paths;
	struct mrc_requester *tx;
	struct mrc_ring sq;
	u32 sq_taken;
	void *swqe;
	u32 swqe_size;
	u32 max_send_sge;
	u32 max_inline;
	u32 ans_acked;
	bool ans_bad;
	u16 ans_bad_num;
	void *inl_buf;
	struct hrtimer timer;
	u64 timer_at;
	u64 tx_page_since;

	struct delayed_work work;
	struct mrc_odp_waiter page_wait;
	u64 page_since;

	struct mrc_route route[];
};

/*
 * QPs of devices with up to so many ports come from a cache of their own, because
 * kmalloc() would round them up to 2 KiB. Those of others do not need much more.
 */
#define MRC_QP_CACHE_PORTS	4
#define MRC_QP_CACHE_SIZE	offsetof(struct mrc_qp, route[MRC_QP_CACHE_PORTS])

/*
 * 18 of them in 32 KiB. Where locks are larger (debugging, real time) or cache
 * lines are longer, idle QPs may take more.
 */
#if defined(CONFIG_64BIT) && SMP_CACHE_BYTES <= 64 && \
	!defined(CONFIG_DEBUG_SPINLOCK) && !defined(CONFIG_DEBUG_MUTEXES) && \
	!defined(CONFIG_DEBUG_LOCK_ALLOC) && !defined(CONFIG_PREEMPT_RT)
static_assert(MRC_QP_CACHE_SIZE <= 1728);
#endif

static inline u64 mrc_now(void)
{
	return ktime_get_ns();
}

static inline struct mrc_swqe *mrc_swqe_at(const struct mrc_qp *qp, u32 slot)
{
	return qp->swqe + (size_t)slot * qp->swqe_size;
}

static inline void *mrc_inline_at(const struct mrc_qp *qp, u32 slot)
{
	return qp->inl_buf + (size_t)slot * qp->max_inline;
}

/* The mutex that QPs are governed by: a companion by that of its QP. */
static inline struct mutex *mrc_qp_mutex(struct mrc_qp *qp)
{
	return qp->main ? &qp->main->mutex : &qp->mutex;
}

/* mrc_qp.c ---------------------------------------------------------------- */

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

/* QP by number with a reference, NULL if there is none. Any context. */
struct mrc_qp *mrc_qp_get(u32 qpn);
void mrc_qp_put(struct mrc_qp *qp);

/*
 * State of @ibqp with a reference, NULL if it is being destroyed: netlink
 * looks at QPs until after destroy_qp.
 */
struct mrc_qp *mrc_qp_of(struct ib_qp *ibqp);

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
 * mrc_odp_seq(). Under resp_lock or req_lock.
 */
void mrc_qp_wait_page(struct mrc_qp *qp, u32 seq);

/* Learn which ports may send. Process context, under qp->mutex. */
void mrc_qp_update_ports(struct mrc_qp *qp);

/*
 * Send nothing through ports outside of @up from here on, without a look at routes.
 * mrc_qp_update_ports() follows.
 */
void mrc_qp_leave_ports(struct mrc_qp *qp, u32 up);

/* Arm the timer for the requester's deadline. Under req_lock. */
void mrc_qp_arm_timer(struct mrc_qp *qp);

/**
 * mrc_qp_part - say the last word of a QP before the program ends it
 *
 * The peer gets the last transport ACK again, see mrc_resp_farewell(), also
 * that of the answer channel. Nothing in RESET and ERROR. Process context,
 * under qp->mutex.
 */
void mrc_qp_part(struct mrc_qp *qp);

/*
 * Make the responder's WRITE_IMM stash, for the first WRITE_IMM. Under
 * resp_lock. If there is no memory the engine refuses the packet. It is charged
 * to the program, but, as all that interrupts allocate, not refused at the limit
 * of its control group: one of 4 KiB for each QP that the limit allowed.
 */
void mrc_qp_make_stash(struct mrc_qp *qp);

/* Empty the QP and free its engines; under qp->mutex. */
void mrc_qp_reset(struct mrc_qp *qp, bool dead);

/* mrc_qp_modify.c --------------------------------------------------------- */

int mrc_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
bool mrc_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr);

/* The state as verbs have it. */
enum ib_qp_state mrc_qp_verbs_state(const struct mrc_qp *qp);

/* mrc_qp_start.c ---------------------------------------------------------- */

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
 * or -ENOMEM; afterwards req_on may still be false if the QP left RTS.
 */
int mrc_qp_start_requester(struct mrc_qp *qp);

/*
 * Bring a companion up to where it takes and sends packets: @rx as soon as the
 * PSN of what it receives is known. Under the mutex. 0 or a negative errno.
 */
int mrc_qp_start_ans(struct mrc_qp *ans, bool rx);

/* MRC attributes in force, with @out->mask of those that were set. */
void mrc_qp_effective(const struct mrc_qp *qp, struct mrc_abi_qp_attr *out);

/*
 * Attributes that a live QP can change take effect: verbs' of @mask; timeout
 * and retries; the responder's range. Under qp->mutex.
 */
void mrc_qp_apply_live(struct mrc_qp *qp, int mask);
void mrc_qp_apply_retry(struct mrc_qp *qp);
int mrc_qp_apply_mpr(struct mrc_qp *qp, u8 mpr);

/* mrc_ctl_uapi_qp.c ---------------------------------------------------------*/

/*
 * Set MRC attributes, all or none (MRC 1.0 §14). Under qp->mutex. 0 or -EINVAL:
 * out of range, too late for the QP's state, a profile that is not ONLINE.
 */
int mrc_qp_set_mrc(struct mrc_qp *qp, const struct mrc_abi_qp_attr *in);

/* mrc_sq.c ------------------------------------------------------------------*/

/* The doorbell of the send ring. Process context. */
int mrc_post_send(struct ib_qp *ibqp);

/* Turn finished work requests into completions. Under req_lock. */
void mrc_sq_reap(struct mrc_qp *qp);

/* Flush entries that never reached the engine. Under req_lock, after reap. */
void mrc_sq_flush(struct mrc_qp *qp);

/*
 * Copy new entries from the ring into the engine. Under req_lock. Returns true
 * if there are more that could be taken at once.
 */
bool mrc_sq_take(struct mrc_qp *qp);

/* mrc_rq.c ------------------------------------------------------------------*/

/* The doorbell of the receive ring, in ERROR. */
int mrc_post_recv(struct ib_qp *ibqp);

/*
 * How many receives @qp has at hand; with an SRQ, after taking from there what
 * is missing of @n. -EBUSY and -EINVAL as mrc_srq_take(). Under resp_lock.
 */
int mrc_rq_pending(struct mrc_qp *qp, u32 n);

/**
 * mrc_rq_reserve - are there receives for a message?
 * @qp: under resp_lock
 * @n: number of receives that must be there, see mrc_resp_wants_recv()
 * @copy: the message is a SEND, which needs the table of copies
 *
 * Return: 0, -EAGAIN too few, -EBUSY those in the SRQ are kept for others,
 * -ENOMEM no table (yet), -EINVAL the program wrote nonsense into the ring.
 */
int mrc_rq_reserve(struct mrc_qp *qp, u32 n, bool copy);

/* Tell the engine how many receives are posted; under resp_lock. */
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
 * @qp: under resp_lock, mrc_rq_reserve() said 0
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
 * @qp: under resp_lock
 * @imm: what the engine stashed
 * @port: port of arrival, for counters
 * @fatal: set when the QP must go to ERROR for a local reason
 *
 * Return: 0 or the syndrome to refuse the request with (MRC 1.0 §7.4); -EAGAIN:
 * the key that it invalidates is in use, the same again later.
 */
int mrc_rq_deliver(struct mrc_qp *qp, const struct mrc_imm *imm, u8 port,
		   bool *fatal);

/* Flush the receive ring and ask for kicks. Under resp_lock, in ERROR. */
void mrc_rq_flush(struct mrc_qp *qp);

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
 * keeps @sge as they are. Return: 0, -EMSGSIZE beyond the list's end, -EFAULT.
 * Whether paged memory is there was asked before, see mrc_odp_ready().
 */
int mrc_scatter(struct mrc_qp *qp, const struct mrc_sge *sge, u32 n, u64 at,
		const struct sk_buff *skb, int off, u32 len);

/**
 * mrc_ext_execute - execute a request of the peer and queue its answer
 * @qp: under resp_lock
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
 * @ans: companion, under resp_lock
 * @h: headers
 * @skb: packet
 * @off: of the payload in @skb
 * @kick: set when mrc_ext_answered() must follow
 *
 * Return: 0 or the syndrome.
 */
u8 mrc_ext_take_answer(struct mrc_qp *ans, const struct mrc_hdr *h,
		       const struct sk_buff *skb, int off, bool *kick);

/* mrc_ans.c -----------------------------------------------------------------*/

/* The companion of @qp with a reference, or NULL. @qp is held. */
struct mrc_qp *mrc_ans_get(struct mrc_qp *qp);

/*
 * Make the companion, as far as the state of @qp allows; from the work item,
 * under the mutex.
 */
void mrc_ans_make(struct mrc_qp *qp);

/*
 * What happens to a QP happens to its companion: reset (under the mutex),
 * ERROR (no lock).
 */
void mrc_ans_reset(struct mrc_qp *qp, bool dead);
void mrc_ans_error(struct mrc_qp *qp, u32 conn);

/* Send what @qp's companion has to send. No lock held. */
void mrc_ans_run(struct mrc_qp *qp);

/*
 * From a companion to its QP, no lock held, the companion is held: @n requests
 * have got their answers; @n answers were acknowledged by the peer; the answer
 * with number @num cannot be given. The latter two are for mrc_req_run() of the
 * companion. Return: it has more answers to send now.
 */
void mrc_ans_answered(struct mrc_qp *ans, u32 conn, u32 n);
bool mrc_ans_acked(struct mrc_qp *ans, u32 conn, u32 n);
bool mrc_ans_failed(struct mrc_qp *ans, u32 conn, u16 num);

/* mrc_send.c; the rest of it: mrc_xmit.h -----------------------------------*/

/**
 * mrc_req_run - send what the requester may send, then unlock
 * @qp: under req_lock, with req_on and a reference; unlocked on return
 * @sleep: process context: may allocate
 *
 * To be called after anything that changed the requester: reaps completions,
 * takes new send WQEs, sends, re-arms the timer, and carries out a change to
 * ERROR.
 */
void mrc_req_run(struct mrc_qp *qp, bool sleep) __releases(&qp->req_lock);

/* mrc_recv.c ----------------------------------------------------------------*/

/**
 * mrc_resp_run - do what the responder has to do, then unlock
 * @qp: under resp_lock, with resp_on and a reference; unlocked on return
 * @port: of the packet that is handled, for counters
 * @now: ns
 * @fatal: the QP must go to ERROR for a local reason
 * @kick: a companion found out that a request cannot be completed
 *
 * Delivers messages, executes requests, sends feedback, carries out a change to
 * ERROR.
 */
void mrc_resp_run(struct mrc_qp *qp, u8 port, u64 now, bool fatal, bool kick)
	__releases(&qp->resp_lock);

/*
 * The same, but answers stay queued at the companion. Return: there are some,
 * which mrc_ans_run() or the caller, being the companion's, must send.
 */
bool mrc_resp_run_once(struct mrc_qp *qp, u8 port, u64 now, bool fatal,
		       bool kick) __releases(&qp->resp_lock);

/* What the responder owes now, for mrc_xmit_list(). Under resp_lock, resp_on. */
void mrc_resp_feedback(struct mrc_qp *qp, struct sk_buff_head *list, u64 now);

/* mrc_burst.c ---------------------------------------------------------------*/

/**
 * mrc_burst_wait - answer when all packets that are here have been looked at
 * @qp: under resp_lock, BH off, with a reference; mrc_resp_may_wait()
 */
void mrc_burst_wait(struct mrc_qp *qp);

/**
 * mrc_burst_flush - answer now for all that wait on this processor
 *
 * For whoever knows that softirqs will be left to their thread. Without locks; on
 * another processor by the time it runs, it does that one's work.
 */
void mrc_burst_flush(void);

/* mrc_endpoint.c ------------------------------------------------------------*/

/**
 * mrc_endpoint_rcv - a packet with an endpoint opcode (MRC 1.0 §12)
 * @dev: device of the port of arrival
 * @ndev: where it arrived, and where the answer leaves
 * @hdr: headers; they and the ICRC were checked
 * @ipv6: family
 * @peer: source address, v4-mapped for IPv4
 * @self: destination address
 *
 * Softirq, under RCU.
 */
void mrc_endpoint_rcv(struct mrc_dev *dev, struct net_device *ndev,
		      const struct mrc_hdr *hdr, bool ipv6,
		      const struct in6_addr *peer,
		      const struct in6_addr *self);

#endif /* MRC_QP_H */
