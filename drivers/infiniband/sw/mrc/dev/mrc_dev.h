/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shell of the MRC soft RDMA device: objects and cross-file prototypes.
 *
 * Lock order
 * ----------
 *
 * Outermost first; a context that holds one may take only those below it.
 *
 *   mrc_link_mutex	link add; sleeps, never taken from verbs and never by
 *			netdev events, because RTNL is taken inside it
 *   qp->mutex		modify, query and destroy of one QP; sleeps
 *   cq->resize, srq->resize	changes of the size of a queue; sleep, nothing but
 *			the queue's own lock is taken inside them
 *   ctl->lock		profiles of a device and the QPs that use them; sleeps.
 *			What a controller changes is carried into QPs under it
 *   RTNL		netdevs of ports, their state and MTU; the core takes it
 *			to register and unregister devices and to query ports
 *   peers->mutex	a device's peers and which QPs are connected to them;
 *			sleeps, taken by QPs that come and go and by work items
 *   qp->resp_lock	(bh) responder engine, receive ring, responder memory
 *   qp->req_lock	(bh) requester engine, paths, cc, send ring, timer
 *   cq->lock, srq->lock	(irq) completion ring, shared receive ring; never both
 *   dev->odp.lock	(bh) paged memory: readers are those who access it, and may
 *			hold it already; the writer takes no other lock. So it
 *			does not matter which of the QPs' locks a reader takes
 *			before it or after it
 *   leaf locks		qp->route_lock, mrc_devs_lock, table locks, peer->lock,
 *			ep->lock, mr->lock, wait_lock of dev->odp, odp->lock (bh);
 *			those that consumers in the kernel may
 *			take anywhere (irq): kern->sq_lock, kern->rq_lock,
 *			cq->poll_lock, av->lock, the lock of dev->avs
 *
 * QPs for datagrams have ud->mutex, ud->rq_lock and inside it ud->sq_lock in the
 * places of mutex, resp_lock and req_lock; UC QPs uc->tx_mutex besides, inside
 * the mutex, which keeps packets in order and is held while they are sent.
 *
 * What one role of a QP learns for the other (QP to ERROR) is carried out after
 * unlock by mrc_qp_error(). Packets are handed to the network stack with no lock
 * held.
 *
 * The answer channel of a QP (READ, atomic operations) is a second struct
 * mrc_qp, its companion, with locks of its own but for the mutex: that of its
 * QP governs both. The levels above hold for all four locks: at most one
 * resp_lock and one req_lock are held at the same time, of the same QP or one of
 * each. So no lock is ever taken under another one of its class:
 *
 *   qp->resp_lock, companion->req_lock	a request was executed, its answer is
 *			queued
 *   companion->resp_lock, qp->req_lock	an answer has come, its request's memory
 *			is looked up and written
 *
 * Everything else that one learns for the other is carried out after unlock:
 * mrc_ans_answered(), mrc_ans_acked(), mrc_qp_error().
 *
 * Completion handlers and those for the events of CQs and SRQs are called with
 * the locks of a QP held, but not with those of the CQ or SRQ; those for the
 * events of QPs with none. So whatever consumers in the kernel call from there,
 * to post, poll or arm, takes none of the locks of QPs: see mrc_kverbs.h.
 *
 * Shutdown rule
 * -------------
 *
 * A QP's packet-path state (struct mrc_qp) is reference counted and freed by
 * RCU. Table lookups run under RCU and take a reference; the timer, the work
 * item and the list of ACKs that wait each hold one while armed or queued.
 * Destroy first makes the state RESET under both locks (nothing is sent, armed
 * or queued afterwards), then unhashes, cancels timer and work, drops its
 * reference and waits for the last one. The wait always ends, because no
 * reference is held across anything that waits for another QP or for user
 * space.
 * A companion is made once, by the work item under the mutex, is reset with its
 * QP, and lives until that is freed. Those who use it hold a reference to it
 * (mrc_ans_get()) besides one to the QP, but its own timer, its work item and
 * the lists of peers and profiles have just the companion's. So destroy waits
 * for the companion's last reference, then for the QP's, then frees both.
 * MRs and windows follow the same pattern: unhash, put, wait; and no wait but
 * a later attempt where the packet path invalidates, see mrc_mr.h.
 *
 * A peer lives as long as QPs are listed with it. QPs take themselves off that
 * list when they are reset, before their state can go away, so whoever holds
 * peers->mutex may use those that it finds; the packet path finds a peer under
 * RCU. The work items of a device's peers are cancelled when neither QPs nor
 * packets nor netdevs can queue them any more (dealloc_driver).
 * Controllers that wait for responses are woken up when the core tells its
 * clients that the device goes away, before it waits for their calls to end.
 */
#ifndef MRC_H
#define MRC_H

/* Every message of the module. */
#undef pr_fmt
#define pr_fmt(fmt) "mrc: " fmt

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/dst.h>
#include <rdma/ib_verbs.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/mrc-abi.h>

#include "compat/mrc_compat.h"
#include "core/mrc_core.h"
#include "mem/mrc_mr.h"
#include "mem/mrc_odp.h"
#include "mrc_parent.h"
#include "mrc_tc.h"

/* Limits per device, published by query_device and kept by mrc_count(). */
enum {
	MRC_MAX_QP		= 65536,
	MRC_MAX_CQ		= 65536,
	MRC_MAX_MR		= 65536,
	MRC_MAX_MW		= 65536,
	MRC_MAX_PD		= 65536,
	MRC_MAX_SRQ		= 65536,
	MRC_MAX_AH		= 65536,
	MRC_MAX_MCAST		= 4096,	/* QPs in groups, in all */
	MRC_GID_TBL_LEN		= 128,
	MRC_PKEY_TBL_LEN	= 1,
	MRC_TX_BATCH		= 32,	/* packets built per lock hold */
	MRC_MAX_RD_ATOMIC	= 16,	/* power of two */
};

struct mrc_dev;
struct mrc_qp;
struct mrc_qp_kind;
struct mrc_ctl;
struct mrc_cc_ops;
struct mrc_ep;
struct mrc_peer;
struct mrc_peers;
struct mrc_ud;
struct mrc_kern;
struct mrc_mcast;

/* mrc_main.c: parameters ------------------------------------------------- */

extern unsigned int mrc_udp_port;	/* OP-1 */
extern unsigned int mrc_num_evs;	/* per QP, OP-28 */
extern unsigned int mrc_cwnd;		/* fixed window, bytes; 0 = default */

/* Congestion control of QPs without a CC profile. */
const struct mrc_cc_ops *mrc_cc_default(void);

/* mrc_port.c / mrc_main.c: devices, ports, netdevs ------------------------ */

/**
 * struct mrc_port - one plane
 * @dev: the device
 * @num: 1-based
 * @ndev: NULL while vacant; changed under RTNL and mrc_devs_lock, read under
 *	RCU; the port holds a reference
 * @up: netdev running with carrier and not @disabled; last state reported to
 *	consumers; written under RTNL
 * @disabled: by a controller; written under RTNL
 * @mtu: active MTU, enum ib_mtu; written under RTNL
 * @trim: hook at @ndev, mrc_trim.c; changed under RTNL
 */
struct mrc_port {
	struct mrc_dev *dev;
	u8 num;
	struct net_device __rcu *ndev;
	bool up;
	bool disabled;
	enum ib_mtu mtu;
#ifdef CONFIG_NETFILTER_INGRESS
	struct nf_hook_ops trim;
#endif
};

/*
 * What goes through a port, whole packets: IP header to ICRC, with an outer header
 * where there is one.
 */
enum mrc_io {
	MRC_IO_TX_PKTS,
	MRC_IO_TX_OCTETS,
	MRC_IO_TX_MCAST,
	MRC_IO_RX_PKTS,
	MRC_IO_RX_OCTETS,
	MRC_IO_RX_MCAST,
	MRC_IO_MAX
};

struct mrc_port_io {
	u64 v[MRC_IO_MAX];
};

/**
 * struct mrc_dev - the RDMA device
 * @ib: ib_core's part
 * @list: in mrc_devs, under mrc_devs_lock
 * @net: network namespace of all ports; devices go away before it does
 * @n_ports: fixed for the life of the registration
 * @closing: no new user contexts (a port is being added or device removed)
 * @ext: new QPs have the extension (Documentation/extension.md); read and
 *	written once each, without a lock
 * @n_ucontexts: open user contexts
 * @port: index 1..n_ports
 * @parent: where it is in sysfs, mrc_parent.h
 * @tc: codepoints, see mrc_tc.h
 * @ep: endpoint operations
 * @peers: hosts that QPs are connected to
 * @ctr: per-port, per-CPU protocol counters
 * @io: what goes through ports, index 1..n_ports, per CPU
 * @ctl: what a controller configured, see mrc_ctl.h
 * @mrs: memory regions and windows by key >> 8, read under RCU
 * @odp: regions that are paged on demand, mrc_odp.h
 * @avs: address handles by number, read under RCU
 * @av_next: where to look for the next number; under the lock of @avs
 * @mcast: multicast groups, mrc_mcast.c
 * @n_pd: PDs that exist, see mrc_count(); the others likewise
 * @n_ah: AHs
 * @n_cq: CQs
 * @n_mr: MRs of programs
 * @n_mw: memory windows
 * @n_qp: QPs
 * @n_srq: SRQs
 */
struct mrc_dev {
	struct ib_device ib;
	struct list_head list;
	struct net *net;
	u8 n_ports;
	bool closing;
	bool ext;
	atomic_t n_ucontexts;
	struct mrc_port port[MRC_MAX_PORTS + 1];
	struct mrc_parent parent;
	struct mrc_tc_map tc;
	struct mrc_ep *ep;
	struct mrc_peers *peers;
	struct mrc_counters ctr;
	struct mrc_port_io __percpu *io;
	struct mrc_ctl *ctl;
	struct xarray mrs;
	struct mrc_odp_dev odp;
	struct xarray avs;
	u32 av_next;
	struct mrc_mcast *mcast;
	atomic_t n_pd;
	atomic_t n_ah;
	atomic_t n_cq;
	atomic_t n_mr;
	atomic_t n_mw;
	atomic_t n_qp;
	atomic_t n_srq;
};

/*
 * One object more of a kind that @n counts, unless there are @max of them:
 * then -ENOMEM. atomic_dec(@n) when the object is gone or was not made.
 */
static inline int mrc_count(atomic_t *n, int max)
{
	return atomic_add_unless(n, 1, max) ? 0 : -ENOMEM;
}

static inline struct mrc_dev *to_mdev(struct ib_device *ib)
{
	return container_of(ib, struct mrc_dev, ib);
}

/*
 * Count a packet of @octets that went through @port; MRC_IO_TX_PKTS or
 * MRC_IO_RX_PKTS says which way. Over loopback it goes through none, which is 0.
 */
static inline void mrc_io_add(struct mrc_dev *dev, unsigned int port,
			      enum mrc_io way, u32 octets, bool mcast)
{
	struct mrc_port_io __percpu *io;

	if (!port || port > dev->n_ports)
		return;
	io = &dev->io[port];
	this_cpu_inc(io->v[way]);
	this_cpu_add(io->v[way + 1], octets);
	if (mcast)
		this_cpu_inc(io->v[way + 2]);
}

/* Bytes of IP of a packet that came in and whose data begins at the UDP header. */
static inline u32 mrc_skb_octets(const struct sk_buff *skb)
{
	return skb->len - skb_network_offset(skb);
}

/* The port that @skb leaves through, which has its route and was made for @port. */
static inline unsigned int mrc_io_port(const struct sk_buff *skb,
				       unsigned int port)
{
	return skb_dst(skb)->dev->flags & IFF_LOOPBACK ? 0 : port;
}

/* Lists of devices and their ports; softirq-safe leaf lock. */
extern spinlock_t mrc_devs_lock;

/*
 * The device that has @ndev as a port, and the port's number. Under RTNL; the
 * device is not torn down before RTNL is released, and the reference
 * (get_device) keeps its memory. NULL if there is none.
 */
struct mrc_dev *mrc_dev_by_ndev(const struct net_device *ndev, u8 *num);

/* Unregister the devices of @net, all if NULL. Sleeps, no lock held. */
void mrc_devs_unregister(struct net *net);

/* ib_device_ops.dealloc_driver */
void mrc_dealloc_driver(struct ib_device *ibdev);

/**
 * mrc_port_attach - give a vacant port a netdev
 * @dev: the device, registered or about to be
 * @num: port
 * @ndev: netdev that is no port of any device; under mrc_link_mutex
 *
 * Sleeps, takes RTNL. Return: 0, -EXDEV when @ndev is not in the device's
 * namespace, -ENODEV when it is being unregistered.
 */
int mrc_port_attach(struct mrc_dev *dev, u8 num, struct net_device *ndev);

/* Tell the core and consumers about a port attached to a live device. */
void mrc_port_announce(struct mrc_dev *dev, u8 num);

/* Make the port vacant and DOWN. Under RTNL. */
void mrc_port_detach(struct mrc_dev *dev, u8 num);

int mrc_query_port(struct ib_device *ibdev, u32 num, struct ib_port_attr *attr);

extern const struct ib_device_ops mrc_port_ops;

int mrc_port_init(void);	/* netdev notifier */
void mrc_port_exit(void);

/* Bit N = port N is up (netdev running with carrier). Any context. */
u32 mrc_dev_ports_up(struct mrc_dev *dev);

/* Port of @ndev within @dev, 0 if it is none of its ports. RCU. */
u8 mrc_dev_port_of(struct mrc_dev *dev, const struct net_device *ndev);

/* Ports of @dev changed: tell its peers. Any context. */
void mrc_peers_ports_changed(struct mrc_dev *dev);

/* mrc_peer.c, mrc_endpoint.c: what a device has of them; sleep */
int mrc_peers_create(struct mrc_dev *dev);
void mrc_peers_destroy(struct mrc_dev *dev);
int mrc_ep_create(struct mrc_dev *dev);
void mrc_ep_destroy(struct mrc_dev *dev);
int mrc_peer_init(void);
void mrc_peer_exit(void);
int mrc_ep_init(void);
void mrc_ep_exit(void);

/* mrc_sock.c: UDP sockets of a namespace ---------------------------------- */

/*
 * One pair of sockets (IPv4, IPv6) per namespace, shared by its devices.
 * get: opens them for the first device, -EADDRINUSE with a message naming the
 * port and the usual culprit. put: closes with the last. Both sleep. Received
 * packets go to mrc_udp_rcv(). v4, v6: valid while a device of the namespace
 * exists; v6 is NULL where IPv6 is disabled.
 */
int mrc_sock_get(struct net *net);
void mrc_sock_put(struct net *net);
struct sock *mrc_sock_v6(struct net *net);
int mrc_sock_init(void);
void mrc_sock_exit(void);

/* mrc_crc.c: which CRC-32 mrc_crc32() is ----------------------------------- */

/* Both in process context, with no packet under way. */
int mrc_crc_setup(void);
void mrc_crc_cleanup(void);

/* mrc_ring.c: rings shared with user space -------------------------------- */

/**
 * struct mrc_ring - kernel side of a shared ring
 * @entry: for rdma_user_mmap; owns the pages through mmap_free. NULL for a
 *	consumer in the kernel
 * @hdr: mapped memory, never trusted
 * @size: bytes mapped
 * @depth: entries, power of two
 * @stride: bytes per entry
 * @idx: the counter that the kernel owns
 */
struct mrc_ring {
	struct mrc_user_mmap *entry;
	struct mrc_ring_hdr *hdr;
	u32 size;
	u32 depth;
	u32 stride;
	u32 idx;
};

/*
 * @depth is rounded up to a power of two. @info receives what user space needs
 * for mmap; without @uctx the ring is the kernel's own, @info is not used.
 * Sleeps. Returns 0 or a negative errno; on failure nothing is left
 * behind. free: safe while still mapped, or when there is no ring.
 */
int mrc_ring_alloc(struct mrc_ring *ring, struct ib_ucontext *uctx, u32 depth,
		   u32 stride, struct mrc_mmap_info *info);
void mrc_ring_free(struct mrc_ring *ring);
/* Copy @n entries from @first on to @at of @to; both have the same stride. */
void mrc_ring_copy(struct mrc_ring *to, u32 at, const struct mrc_ring *from,
		   u32 first, u32 n);
/* Back to the state after mrc_ring_alloc(), but for what a program owns. */
void mrc_ring_rewind(struct mrc_ring *ring);
int mrc_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void mrc_mmap_free(struct rdma_user_mmap_entry *entry);

/* All of the entries before @ring->idx has been read: they may be reused. */
static inline void mrc_ring_consumed(struct mrc_ring *ring)
{
	/* Pairs with the producer's load of cons. */
	smp_store_release(&ring->hdr->cons, ring->idx);
}

static inline void *mrc_ring_entry(const struct mrc_ring *ring, u32 idx)
{
	return (void *)ring->hdr + MRC_RING_HDR_SIZE +
	       (size_t)(idx & (ring->depth - 1)) * ring->stride;
}

/*
 * In completion rings that are not mapped struct mrc_cqe.reserved is the port
 * where a datagram arrived, and reserved2 the ib_qp, or 0 where that is gone.
 */

/*
 * Entries that user space has produced and the kernel has not taken yet
 * (kernel-consumed rings), clamped to 0..depth whatever the header says:
 * an impossible counter gives -EINVAL.
 */
int mrc_ring_pending(const struct mrc_ring *ring);

/* mrc_cq.c ----------------------------------------------------------------- */

/**
 * struct mrc_cq - completion queue
 * @ib: ib_core's part
 * @lock: protects everything below, see the lock order
 * @ring: kernel produces; @ring.idx = prod
 * @notify: IB_CQ_SOLICITED / IB_CQ_NEXT_COMP when armed, 0 otherwise
 * @dead: overflowed, IB_EVENT_CQ_ERR was raised, entries are discarded
 * @poll_lock: (irq) consumers in the kernel that poll; not nested with @lock
 * @resize: changes of the size, one at a time; outside @lock, sleeps
 *
 * @ib.cqe equals @ring.depth.
 */
struct mrc_cq {
	struct ib_cq ib;
	spinlock_t lock;
	struct mrc_ring ring;
	u8 notify;
	bool dead;
	spinlock_t poll_lock;
	struct mutex resize;	/* see above */
};

static inline struct mrc_cq *to_mcq(struct ib_cq *ib)
{
	return container_of(ib, struct mrc_cq, ib);
}

/**
 * mrc_cq_post - append a completion
 * @cq: the queue
 * @ibqp: whose completion it is, for consumers in the kernel
 * @cqe: the timestamp is filled in here
 * @solicited: for those that armed the CQ for such only
 * @port: counts an overflow
 *
 * Softirq or process context. Raises the completion event if armed for it.
 *
 * Return: 0, -ENOSPC: the ring overflowed (CQ error event raised once).
 */
int mrc_cq_post(struct mrc_cq *cq, struct ib_qp *ibqp, struct mrc_cqe *cqe,
		bool solicited, u8 port);

/*
 * @ibqp is reset or destroyed, and posts nothing any more: what is there of it is
 * not to be polled, because the consumer may free what its entries name. For
 * consumers in the kernel; programs' libraries do it themselves. Any context.
 */
void mrc_cq_clean(struct mrc_cq *cq, const struct ib_qp *ibqp);

int mrc_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
int mrc_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		       struct uverbs_attr_bundle *attrs);
int mrc_resize_user_cq(struct ib_cq *ibcq, unsigned int cqe,
		       struct ib_udata *udata);

extern const struct ib_device_ops mrc_cq_ops;

/* mrc_verbs.c: contexts, PDs, AHs, queries --------------------------------- */

extern const struct ib_device_ops mrc_dev_ops;

/**
 * mrc_udata_in - copy a driver request
 * @udata: from the core, NULL when no program is behind it
 * @req: zero-extended when user space knows a shorter struct
 * @size: of @req
 *
 * Return: 0, -EFAULT, or -EOPNOTSUPP when a longer struct asks for something
 * that this driver does not know.
 */
int mrc_udata_in(struct ib_udata *udata, void *req, size_t size);

/* The other way: copies what fits. 0 or -EFAULT. */
int mrc_udata_out(struct ib_udata *udata, void *resp, size_t size);

/* Whether queue pairs that are made from now on have the extension. Sleeps. */
void mrc_ext_switch(struct mrc_dev *dev, bool on);

/* mrc_ah.c ----------------------------------------------------------------- */

extern const struct ib_device_ops mrc_ah_ops;

/* The number by which work requests name an AH. */
u32 mrc_ah_num(struct ib_ah *ibah);

/* mrc_srq.c -----------------------------------------------------------------*/

extern const struct ib_device_ops mrc_srq_ops;

/* mrc_stats.c ---------------------------------------------------------------*/

extern const struct ib_device_ops mrc_stats_ops;	/* hw port stats */
extern const struct ib_device_ops mrc_sysfs_ops;	/* attributes, counters */
u64 mrc_ctr_read(struct mrc_dev *dev, unsigned int port, enum mrc_counter id);

/* mrc_nldev.c: rdma res show -dd --------------------------------------------*/

extern const struct ib_device_ops mrc_nldev_ops;

/* mrc_qp_verbs.c, mrc_qp.c --------------------------------------------------*/

/**
 * struct mrc_ibqp - ib_core's part of a QP
 * @ib: ib_core's part
 * @kind: what its verbs do, constant (mrc_qp_verbs.h)
 * @cap: granted, constant
 * @sig_all: every send WR is signalled, constant
 * @qp: the rest, if it is connected (mrc_qp.h)
 * @mw_id: name that its memory windows know, see mrc_mw.c
 * @ud: the rest, if it is for datagrams or UC (mrc_ud.h)
 * @kern: its consumer is in the kernel
 */
struct mrc_ibqp {
	struct ib_qp ib;
	const struct mrc_qp_kind *kind;
	struct ib_qp_cap cap;
	bool sig_all;
	struct mrc_qp *qp;
	u64 mw_id;
	struct mrc_ud *ud;
	struct mrc_kern *kern;
};

static inline struct mrc_ibqp *to_mibqp(struct ib_qp *ib)
{
	return container_of(ib, struct mrc_ibqp, ib);
}

extern const struct ib_device_ops mrc_qp_ops;

/* State of the packet path, as a hint. */
enum ib_qp_state mrc_qp_state(struct ib_qp *ibqp);

/*
 * There is something in the rings, or, of receives, something to flush. Process
 * context. 0 or a negative errno.
 */
int mrc_doorbell_send(struct ib_qp *ibqp);
int mrc_doorbell_recv(struct ib_qp *ibqp);

/* mrc_ud.c: the table of datagram QPs */
int mrc_ud_init(void);
void mrc_ud_exit(void);

/* Ports of @dev changed state or netdev: tell every QP. Process context. */
void mrc_qps_ports_changed(struct mrc_dev *dev);

/*
 * Fill the driver attributes of "rdma res show qp -dd"; the second for UC, the
 * third for the answer channel, if there is one. @all: for who may see PSNs, and
 * what has been counted since the first one (mrc_nldev.c).
 */
int mrc_qp_fill_res(struct sk_buff *msg, struct ib_qp *ibqp, bool all);
int mrc_uc_fill_res(struct sk_buff *msg, struct ib_qp *ibqp, bool all);
int mrc_ans_fill_res(struct sk_buff *msg, struct ib_qp *ibqp, bool all);

void mrc_burst_init(void);
void mrc_burst_exit(void);	/* no QP is there any more */

int mrc_qp_init(void);	/* module init: table, caches, workqueue */
void mrc_qp_exit(void);

/* mrc_recv.c ----------------------------------------------------------------*/

/* encap_rcv of the namespace's sockets; always consumes @skb, returns 0. */
int mrc_udp_rcv(struct sock *sk, struct sk_buff *skb);

/*
 * The same for a packet that came out of an outer IPv6 header: data at the UDP
 * header, network and transport header set to those inside. @tos: traffic
 * class byte of the outer header. Softirq, under RCU; consumes @skb.
 */
void mrc_inner_rcv(struct sk_buff *skb, u8 tos, u32 outer);

/*
 * The ICRC of a packet with @len bytes behind the UDP header, which skb->data
 * points to; BTH is in the linear part.
 */
bool mrc_skb_icrc_ok(struct sk_buff *skb, u32 len);

/* Is this partition ours? */
bool mrc_pkey_ok(u16 pkey);

/*
 * Count @id for a received packet whose QP is not known, and the packet itself if
 * that has not been done: @octets of IP, else 0. Under RCU.
 */
void mrc_count_drop(const struct sk_buff *skb, enum mrc_counter id, u32 octets);

/* mrc_trim.c ----------------------------------------------------------------*/

/*
 * Watch a netdev that becomes the port's for trimmed packets whose lengths are
 * wrong. Under RTNL. 0 or a negative errno. close: nothing if not open.
 */
int mrc_trim_open(struct mrc_port *port, struct net_device *ndev);
void mrc_trim_close(struct mrc_port *port);

/* mrc_srv6_rcv.c ------------------------------------------------------------*/

/*
 * Take SRv6-encapsulated packets in @net. Sleeps. 0 or -ENOMEM; where the
 * kernel has no netfilter, 0 as well, see mrc_srv6_check(). close: a packet
 * may still be under way, the caller waits for a grace period.
 */
int mrc_srv6_open(struct net *net);
void mrc_srv6_close(struct net *net);

#endif /* MRC_H */
