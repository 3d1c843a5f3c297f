/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The device and its ports: the foundation of all other layers.
 *
 * The folders are layers: main > ctl > roce, qp > queue > net, mem > dev > core. A file
 * includes the headers of its own folder. Of each lower folder it includes only the
 * header that is named after the folder. If a layer has to call a higher layer, main
 * passes it a table of functions.
 *
 * Lock order
 * ----------
 *
 * Outermost first. A context that holds one of these may take only those below it.
 *
 *   mrc_link_mutex	link add; sleeps. Never taken from verbs or netdev events,
 *			because RTNL is taken inside it
 *   qp->mutex		modify, query and destroy of one QP; sleeps
 *   cq->resize, srq->resize	resizing of a queue; sleep. Only the queue's own
 *			lock is taken inside them
 *   ctl->lock		profiles of a device and the QPs that use them; sleeps.
 *			Changes by a controller are applied to QPs under it
 *   mrc_sock_mutex	sockets of network namespaces; sleeps
 *   RTNL		netdevs of ports, their state and MTU. The RDMA core takes
 *			it to register and unregister devices and to query ports
 *   peers->mutex	a device's peers and the QPs connected to them; sleeps.
 *			Taken by QPs that are added or removed, and by work items
 *   qp->rx.lock	(bh) receive part: responder, receive ring, their memory
 *   qp->tx.lock	(bh) transmit part: requester, paths, cc, send ring, timer
 *   cq->lock, srq->lock	(irq) completion ring, shared receive ring; never both
 *   odp->pages		(bh) the pages of one paged region. Readers access the
 *			memory and may hold this lock or that of other regions
 *			already; the writer takes no other lock. So a reader may
 *			take it before or after any lock of a QP
 *   leaf locks		flow->route_lock, mrc_devs_lock, table locks, peer->lock,
 *			mr->lock, wait_lock of dev->odp, odp->lock (bh).
 *			Leaf locks that consumers in the kernel may take in any
 *			context (irq): kern->sq_lock, kern->rq_lock,
 *			cq->poll_lock, av->lock, the lock of dev->avs
 *
 * Datagram QPs have ud->mutex, ud->rq_lock and, inside it, ud->sq_lock in the places of
 * mutex, rx.lock and tx.lock. UC QPs also have uc->tx_mutex, inside the mutex. It keeps
 * packets in order and is held while they are sent.
 *
 * If one role of a QP finds out that the other role must change (QP to ERROR),
 * mrc_qp_error() makes the change after unlock. Packets are handed to the network stack
 * with no lock held.
 *
 * The answer channel of a QP (READ, atomic operations) is a second struct mrc_qp. It
 * has locks of its own, except the mutex: the mutex of its QP covers both. The levels
 * above hold for all four locks: at most one rx.lock and one tx.lock are held at the
 * same time, either of the same QP or one of each. So no lock is ever taken under
 * another lock of its class:
 *
 *   qp->rx.lock, ans->tx.lock	a request was executed, its answer is queued
 *   ans->rx.lock, qp->tx.lock	an answer has arrived; the memory of its request
 *			is looked up and written
 *
 * All other effects of one QP on the other are carried out after unlock, by
 * mrc_ans_answered(), mrc_ans_acked() and mrc_qp_error().
 *
 * Completion handlers and the event handlers of CQs and SRQs are called with the locks
 * of a QP held, but without those of the CQ or SRQ. The event handlers of QPs are
 * called with no lock held. So the functions that consumers in the kernel call from
 * these handlers, to post, poll or arm, take no lock of a QP: see queue/mrc_queue.h.
 *
 * Shutdown rule
 * -------------
 *
 * A QP's packet-path state (struct mrc_qp) is reference counted and freed by RCU. Table
 * lookups run under RCU and take a reference. The timer, the work item and the list of
 * pending ACKs each hold a reference while armed or queued. Destroy first sets the
 * state to RESET under both locks; nothing is sent, armed or queued afterwards. Then it
 * unhashes the QP, cancels timer and work, drops its own reference and waits for the
 * last one. The wait always ends, because no reference is held across anything that
 * waits for another QP or for user space.
 *
 * An answer channel is created once, by the work item under the mutex. It is reset with
 * its QP and lives until the QP is freed. Its users hold a reference to it
 * (mrc_ans_get()) and another one to the QP. Its own timer, its work item and the lists
 * of peers and profiles hold only a reference to the answer channel. So destroy waits
 * for the last reference to the answer channel, then for the last one to the QP, then
 * frees both.
 *
 * MRs and windows follow the same pattern: unhash, put, wait. The packet path does not
 * wait when it invalidates; it tries again later, see mem/mrc_mem.h.
 *
 * A peer lives as long as QPs are on its list. A QP leaves the list when it is reset,
 * before its state can be freed. So a holder of peers->mutex may use the QPs that it
 * finds there. The packet path finds a peer under RCU. The work items of a device's
 * peers are cancelled when QPs, packets and netdevs can no longer queue them
 * (dealloc_driver).
 *
 * Controllers that wait for responses are woken when the RDMA core tells its clients
 * that the device goes away. This is before the core waits for their calls to end.
 */
#ifndef MRC_DEV_H
#define MRC_DEV_H

/* Prefix of every message of the module. */
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
#include "mrc_parent.h"
#include "mrc_tc.h"

/* Objects of programs that are counted, see mrc_count(); order of enum mrc_abi_limit. */
enum mrc_counted {
	MRC_COUNT_PD,
	MRC_COUNT_AH,
	MRC_COUNT_CQ,
	MRC_COUNT_MR,
	MRC_COUNT_MW,
	MRC_COUNT_QP,
	MRC_COUNT_SRQ,
	MRC_COUNTED
};

/* Limits per device, published by query_device. */
enum {
	MRC_MAX_OBJECTS		= 65536, /* of each kind in enum mrc_counted */
	MRC_MAX_MCAST		= 4096,	/* QPs in multicast groups, in total */
	MRC_MAX_MCAST_QPS	= 128,	/* QPs in a group, each gets a copy of a packet */
	MRC_GID_TBL_LEN		= 128,
	MRC_PKEY_TBL_LEN	= 1,
};

struct mrc_dev;
struct mrc_qp;
struct mrc_qp_base;
struct mrc_qp_kind;
struct mrc_ctl;
struct mrc_cc_ops;
struct mrc_dports;
struct mrc_ep;
struct mrc_peers;
struct mrc_req_ids;
struct mrc_rev_probes;
struct mrc_kern;
struct mrc_mcast;

/* mrc_param.c: parameters of the module -------------------------------------*/

extern bool mrc_guard_on;		/* net/mrc_guard.c; may change at any time */
extern unsigned int mrc_udp_port;	/* OP-1 */

/*
 * The UDP ports on which packets are received, the first one is @mrc_udp_port. Both are the
 * same if it is not the port of RoCE v2, which stays free then, because rxe may want it. Set
 * before there is a device.
 */
extern __be16 mrc_udp_ports[2];

/* At module load. 0, or -EINVAL if a parameter is wrong. */
int mrc_param_init(void);

/* May a packet to this port be for MRC, on this host or another one? */
static inline bool mrc_udp_port_ours(__be16 port)
{
	return port == mrc_udp_ports[0] || port == mrc_udp_ports[1];
}

static inline u64 mrc_now(void)
{
	return ktime_get_ns();
}

/* Devices and their ports ---------------------------------------------------*/

/**
 * struct mrc_port - one plane
 * @dev: the device
 * @num: 1-based
 * @ndev: NULL while vacant; changed under RTNL and mrc_devs_lock, read under
 *	RCU; the port holds a reference
 * @up: netdev running with carrier and not @disabled; the state last reported to
 *	consumers; written under RTNL
 * @disabled: switched off by a controller; written under RTNL
 * @mtu: active MTU, enum ib_mtu; written under RTNL
 */
struct mrc_port {
	struct mrc_dev *dev;
	u8 num;
	struct net_device __rcu *ndev;
	bool up;
	bool disabled;
	enum ib_mtu mtu;
#ifdef CONFIG_INFINIBAND_MRC_TRIM
	/** @trim: hook at @ndev, net/mrc_trim.c; changed under RTNL */
	struct nf_hook_ops trim;
#endif
#ifdef CONFIG_INFINIBAND_MRC_GUARD
	/** @guard: hook at @ndev, net/mrc_guard.c; changed under RTNL */
	struct nf_hook_ops guard;
#endif
#ifdef CONFIG_INFINIBAND_MRC_INPUT
	/** @input: hook at @ndev, net/mrc_input.c; changed under RTNL, read under RCU */
	struct mrc_input __rcu *input;
#endif
};

/*
 * Traffic of a port, in whole packets: IP header to ICRC, including an outer header if
 * there is one.
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

struct mrc_odp_pool;

/**
 * struct mrc_odp_dev - paging state of a device, see mem/mrc_mem.h
 * @n: number of paged regions; while it is 0 the packet path does no further checks
 * @pool: the workers that fetch pages, made for the first region
 * @wait_lock: (bh, leaf) protects the members below
 * @seq: incremented when pages may have arrived
 * @waiters: list of struct mrc_odp_waiter
 */
struct mrc_odp_dev {
	atomic_t n;
	struct mrc_odp_pool *pool;
	spinlock_t wait_lock;	/* leaf */
	u32 seq;
	struct list_head waiters;
};

/**
 * struct mrc_dev_attr - what a controller has set for future queue pairs
 * @num_evs: entropy values of a QP without an EV profile, 1..MRC_EV_MAX, OP-28
 * @cwnd: fixed congestion window in bytes, 0 = default
 * @mpr: MPR of a QP whose program names none, both directions, units of 128 PSNs, 1..255
 * @cc: congestion control of a QP without a CC profile, not NULL
 * @max: objects of programs by enum mrc_counted, 0..MRC_MAX_OBJECTS
 *
 * Each member is read and written once, without a lock.
 */
struct mrc_dev_attr {
	u32 num_evs;
	u32 cwnd;
	u8 mpr;
	const struct mrc_cc_ops *cc;
	u32 max[MRC_COUNTED];
};

/* Number of memory regions that are found in one step; a power of two. */
#define MRC_MR_RECENT	64

struct mrc_mr;

/**
 * struct mrc_dev - the RDMA device
 * @ib: ib_core's part
 * @list: in mrc_devs, under mrc_devs_lock
 * @net: network namespace of all ports; devices are removed before it is
 * @n_ports: constant while the device is registered
 * @closing: no new user contexts (a port is being added or the device removed)
 * @ext: new QPs have the extension (Documentation/extension.md);
 *	read and written once each, without a lock
 * @dports: UDP ports for destinations, net/mrc_dport.c; NULL: @mrc_udp_port for all
 * @srv6_rx: an SRv6 profile is online, so packets in outer headers are received;
 *	mrc_sock_srv6()
 * @attr: attributes that a controller may change
 * @n_ucontexts: open user contexts
 * @port: ports, index 1..n_ports
 * @parent: its place in sysfs, mrc_parent.h
 * @tc: DSCP codepoints, see mrc_tc.h
 * @req_ids: IDs of endpoint requests
 * @ep: endpoint operations, ctl/mrc_ep.c
 * @rev_probes: probes of reverse paths, qp/mrc_rev_probe.c
 * @peers: hosts that QPs are connected to, qp/mrc_peer.c
 * @ctr: per-port, per-CPU protocol counters
 * @io: traffic of the ports, index 1..n_ports, per CPU
 * @ctl: what a controller configured, ctl/mrc_ctl.c
 * @mrs: memory regions and windows by key >> 8, read under RCU
 * @mr_recent: recent ones of @mrs by the low bits of key >> 8, mem/mrc_mr.c
 * @odp: regions that are paged on demand
 * @avs: address handles by number, read under RCU
 * @av_next: where the search for a free number starts; under the lock of @avs
 * @mcast: multicast groups, roce/mrc_mcast.c
 * @n: objects of programs by enum mrc_counted, see mrc_count()
 */
struct mrc_dev {
	struct ib_device ib;
	struct list_head list;
	struct net *net;
	u8 n_ports;
	bool closing;
	bool ext;
	bool srv6_rx;
	struct mrc_dports __rcu *dports;
	struct mrc_dev_attr attr;
	atomic_t n_ucontexts;
	struct mrc_port port[MRC_MAX_PORTS + 1];
	struct mrc_parent parent;
	struct mrc_dscp_map tc;
	struct mrc_req_ids *req_ids;
	struct mrc_ep *ep;
	struct mrc_rev_probes *rev_probes;
	struct mrc_peers *peers;
	struct mrc_counters ctr;
	struct mrc_port_io __percpu *io;
	struct mrc_ctl *ctl;
	struct xarray mrs;
	struct mrc_mr __rcu *mr_recent[MRC_MR_RECENT];
	struct mrc_odp_dev odp;
	struct xarray avs;
	u32 av_next;
	struct mrc_mcast *mcast;
	atomic_t n[MRC_COUNTED];
};

static inline struct mrc_dev *to_mdev(struct ib_device *ib)
{
	return container_of(ib, struct mrc_dev, ib);
}

/*
 * Count one more object of a program. Returns -ENOMEM if the device has as many already
 * as it may have. The administrator may lower the limit at any time, also below the
 * number of existing objects. Call mrc_uncount() when the object is destroyed or its
 * creation failed.
 */
static inline int mrc_count(struct mrc_dev *dev, enum mrc_counted kind)
{
	const int max = READ_ONCE(dev->attr.max[kind]);
	int n = atomic_read(&dev->n[kind]);

	do {
		if (n >= max)
			return -ENOMEM;
	} while (!atomic_try_cmpxchg(&dev->n[kind], &n, n + 1));
	return 0;
}

static inline void mrc_uncount(struct mrc_dev *dev, enum mrc_counted kind)
{
	atomic_dec(&dev->n[kind]);
}

/*
 * Count @n packets of @octets bytes in total on @port. @way: MRC_IO_TX_PKTS or MRC_IO_RX_PKTS.
 * A packet over loopback uses no port; @port is 0 then.
 */
static inline void mrc_io_add(struct mrc_dev *dev, unsigned int port,
			      enum mrc_io way, u32 n, u32 octets, bool mcast)
{
	struct mrc_port_io __percpu *io;

	if (!port || port > dev->n_ports)
		return;
	io = &dev->io[port];
	this_cpu_add(io->v[way], n);
	this_cpu_add(io->v[way + 1], octets);
	if (mcast)
		this_cpu_add(io->v[way + 2], n);
}

/* IP bytes of a received packet whose skb data begins at the UDP header. */
static inline u32 mrc_skb_octets(const struct sk_buff *skb)
{
	return skb->len - skb_network_offset(skb);
}

/* The port that @skb leaves through: @port, or 0 over loopback. @skb has its route. */
static inline unsigned int mrc_io_port(const struct sk_buff *skb,
				       unsigned int port)
{
	return skb_dst(skb)->dev->flags & IFF_LOOPBACK ? 0 : port;
}

/* mrc_dev.c -----------------------------------------------------------------*/

/* Protects the list of devices and the netdevs of their ports; (bh) leaf. */
extern spinlock_t mrc_devs_lock;

/* A device is listed when it is complete. Module exit waits until it is delisted. */
void mrc_dev_list(struct mrc_dev *dev);
void mrc_dev_delist(struct mrc_dev *dev);

/*
 * The device that has @ndev as a port, and the port's number; NULL if there is none.
 * Under RTNL. The device is not torn down before RTNL is released. The reference
 * (get_device) keeps its memory.
 */
struct mrc_dev *mrc_dev_by_ndev(const struct net_device *ndev, u8 *num);

/*
 * A registered device by name, among those visible in @net: if namespaces do not share
 * devices, several devices may have the same name. Release it with ib_device_put().
 */
struct mrc_dev *mrc_dev_by_name(const char *name, const struct net *net);

/* Unregister the devices of @net, or all devices if NULL. Sleeps, no lock held. */
void mrc_devs_unregister(struct net *net);

/**
 * mrc_udata_in - copy a driver request
 * @udata: from the RDMA core, NULL if the consumer is not a program
 * @req: zero-extended if user space passed a shorter struct
 * @size: of @req
 *
 * Return: 0, -EFAULT, or -EOPNOTSUPP if user space passed a longer struct whose extra
 * bytes are not zero.
 */
int mrc_udata_in(struct ib_udata *udata, void *req, size_t size);

/* Copy a driver response to user space, as much as fits. 0 or -EFAULT. */
int mrc_udata_out(struct ib_udata *udata, void *resp, size_t size);

/*
 * For __vmalloc() of memory whose size a program chooses. It is charged to the program's
 * memory cgroup. If there is not enough, the program gets an error: there is no warning, and
 * nothing is killed to make room. Not for kvmalloc(), which would take this as the wish for
 * contiguous memory.
 */
#define MRC_GFP_SIZED	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

/*
 * Limits or capabilities have changed. The RDMA core queries the device once and answers
 * most later queries from its copy, which this renews. Sleeps.
 */
void mrc_dev_changed(struct mrc_dev *dev);

/* Switch the extension on or off for new queue pairs. Sleeps. */
void mrc_ext_switch(struct mrc_dev *dev, bool on);

/* mrc_req_id.c: IDs of endpoint requests, MRC 1.0 §12 ----------------------- */

/**
 * struct mrc_req_ids - IDs of a device's endpoint requests
 * @lock: (bh) leaf
 * @ids: the engine's part
 */
struct mrc_req_ids {
	spinlock_t lock;	/* leaf */
	struct mrc_ep_ids ids;
};

/* Create and destroy the IDs of a device. Both sleep. 0 or -ENOMEM. */
int mrc_req_ids_create(struct mrc_dev *dev);
void mrc_req_ids_destroy(struct mrc_dev *dev);

/* Take an ID that nobody else uses, or -EAGAIN. Give it back after use. Any context. */
int mrc_req_id_alloc(struct mrc_dev *dev);
void mrc_req_id_free(struct mrc_dev *dev, u16 id);

/*
 * Take and give back at once: the ID stays reserved for MRC_EP_ID_HOLD, which is
 * enough.
 */
int mrc_req_id_alloc_short(struct mrc_dev *dev);

/* mrc_port.c ----------------------------------------------------------------*/

/**
 * struct mrc_port_client - callbacks of a higher layer about ports
 * @open: @ndev is about to become the port's netdev. 0 or a negative errno, which
 *	prevents that
 * @close: the port releases its netdev, or the netdev did not become the port's after
 *	@open. Must do nothing if @open was not called
 * @moved: @ndev is now the port's netdev (@here), or no longer is
 * @changed: a port of @dev has changed: its state, or the MTU of its netdev
 *
 * Each may be NULL. All are called under RTNL, in the order of the table of clients, so
 * none of them may take time for each queue pair or peer.
 */
struct mrc_port_client {
	int (*open)(struct mrc_port *port, struct net_device *ndev);
	void (*close)(struct mrc_port *port);
	void (*moved)(struct mrc_port *port, struct net_device *ndev, bool here);
	void (*changed)(struct mrc_dev *dev);
};

/**
 * mrc_ndev_master - the netdev that receives the packets of another one
 * @ndev: netdev
 *
 * Under RCU.
 *
 * Return: the bridge, bond or the like to which @ndev belongs, or NULL.
 */
struct net_device *mrc_ndev_master(struct net_device *ndev);

/**
 * mrc_port_attach - give a vacant port a netdev
 * @dev: the device, registered or about to be
 * @num: port
 * @ndev: netdev that is not a port of any device; under mrc_link_mutex
 *
 * Sleeps, takes RTNL.
 *
 * Return: 0, -EXDEV when @ndev is not in the device's namespace, -ENODEV when it is
 * being unregistered.
 */
int mrc_port_attach(struct mrc_dev *dev, u8 num, struct net_device *ndev);

/* Report a port that was attached to a registered device to the core and consumers. */
void mrc_port_announce(struct mrc_dev *dev, u8 num);

/* Make the port vacant and DOWN. Under RTNL. */
void mrc_port_detach(struct mrc_dev *dev, u8 num);

/**
 * mrc_port_speed - line rate of the netdev of a port
 * @port: the port
 *
 * Locking: takes the RTNL.
 *
 * Return: Mbit/s; 0 = unknown, or the port has no netdev.
 */
u32 mrc_port_speed(struct mrc_port *port);

int mrc_query_port(struct ib_device *ibdev, u32 num, struct ib_port_attr *attr);

extern const struct ib_device_ops mrc_port_ops;

/* Watch netdevs for @clients, whose last entry is NULL. 0 or a negative errno. */
int mrc_port_init(const struct mrc_port_client *const *clients);
void mrc_port_exit(void);

/* Administrative state. A disabled port is DOWN whatever the state of its netdev. */
int mrc_port_set_admin(struct mrc_dev *dev, u8 num, bool enabled);
bool mrc_port_admin(struct mrc_dev *dev, u8 num);

/* Bit N = port N is up (netdev running with carrier). Any context. */
u32 mrc_dev_ports_up(struct mrc_dev *dev);

/* Port of @ndev within @dev, 0 if it is none of its ports. RCU. */
u8 mrc_dev_port_of(struct mrc_dev *dev, const struct net_device *ndev);

/* mrc_stats.c ---------------------------------------------------------------*/

extern const struct ib_device_ops mrc_stats_ops;	/* hw port stats */
extern const struct ib_device_ops mrc_sysfs_ops;	/* attributes, counters */
u64 mrc_ctr_read(struct mrc_dev *dev, unsigned int port, enum mrc_counter id);

/* mrc_nldev.c: rdma resource show -dd ---------------------------------------*/

/*
 * Callback of a layer that adds attributes of its object @obj to @msg. @all: include
 * PSNs and totals since the first one, which only a privileged reader may see. 0 or
 * -EMSGSIZE.
 */
typedef int (*mrc_fill_fn)(struct sk_buff *msg, void *obj, bool all);

/* Add driver attributes to @msg. 0, or -EMSGSIZE with @msg unchanged. */
int mrc_res_fill(struct sk_buff *msg, struct ib_device *ibdev, mrc_fill_fn fn,
		 void *obj);

/* Objects of the core -------------------------------------------------------*/

/**
 * struct mrc_ibqp - ib_core's part of a QP
 * @ib: ib_core's part
 * @kind: its verbs, constant
 * @cap: capabilities granted, constant
 * @sig_all: every send WR is signalled, constant
 * @base: the common part, the first member of each kind's own struct; NULL before
 *	creation and after the start of destruction
 * @mw_id: ID by which its memory windows name it, see mem/mrc_mw.c
 * @kern: state of a consumer in the kernel
 */
struct mrc_ibqp {
	struct ib_qp ib;
	const struct mrc_qp_kind *kind;
	struct ib_qp_cap cap;
	bool sig_all;
	struct mrc_qp_base *base;
	u64 mw_id;
	struct mrc_kern *kern;
};

static inline struct mrc_ibqp *to_mibqp(struct ib_qp *ib)
{
	return container_of(ib, struct mrc_ibqp, ib);
}

#endif /* MRC_DEV_H */
