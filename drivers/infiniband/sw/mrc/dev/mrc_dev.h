/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The device and its ports, and what all other layers stand on.
 *
 * The folders are layers: main > ctl > roce, qp > queue > net, mem > dev > core. A file
 * includes the headers of its own folder and, of those below, the one that is named
 * after the folder. What a layer has to call above itself it is given in a table
 * of functions by main.
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
 *   qp->rx.lock	(bh) receive part: responder, receive ring, their memory
 *   qp->tx.lock	(bh) transmit part: requester, paths, cc, send ring, timer
 *   cq->lock, srq->lock	(irq) completion ring, shared receive ring; never both
 *   dev->odp.lock	(bh) paged memory: readers are those who access it, and may
 *			hold it already; the writer takes no other lock. So it
 *			does not matter which of the QPs' locks a reader takes
 *			before it or after it
 *   leaf locks		flow->route_lock, mrc_devs_lock, table locks, peer->lock,
 *			mr->lock, wait_lock of dev->odp, odp->lock (bh);
 *			those that consumers in the kernel may
 *			take anywhere (irq): kern->sq_lock, kern->rq_lock,
 *			cq->poll_lock, av->lock, the lock of dev->avs
 *
 * QPs for datagrams have ud->mutex, ud->rq_lock and inside it ud->sq_lock in the
 * places of mutex, rx.lock and tx.lock; UC QPs uc->tx_mutex besides, inside
 * the mutex, which keeps packets in order and is held while they are sent.
 *
 * What one role of a QP learns for the other (QP to ERROR) is carried out after
 * unlock by mrc_qp_error(). Packets are handed to the network stack with no lock
 * held.
 *
 * The answer channel of a QP (READ, atomic operations) is a second struct mrc_qp
 * with locks of its own but for the mutex: that of its QP governs both. The levels
 * above hold for all four locks: at most one rx.lock and one tx.lock are held at the
 * same time, of the same QP or one of each. So no lock is ever taken under another
 * one of its class:
 *
 *   qp->rx.lock, ans->tx.lock	a request was executed, its answer is queued
 *   ans->rx.lock, qp->tx.lock	an answer has come, its request's memory is
 *			looked up and written
 *
 * Everything else that one learns for the other is carried out after unlock:
 * mrc_ans_answered(), mrc_ans_acked(), mrc_qp_error().
 *
 * Completion handlers and those for the events of CQs and SRQs are called with
 * the locks of a QP held, but not with those of the CQ or SRQ; those for the
 * events of QPs with none. So whatever consumers in the kernel call from there,
 * to post, poll or arm, takes none of the locks of QPs: see queue/mrc_queue.h.
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
 * An answer channel is made once, by the work item under the mutex, is reset with its
 * QP, and lives until that is freed. Those who use it hold a reference to it
 * (mrc_ans_get()) besides one to the QP, but its own timer, its work item and
 * the lists of peers and profiles have just the answer channel's. So destroy waits
 * for the answer channel's last reference, then for the QP's, then frees both.
 * MRs and windows follow the same pattern: unhash, put, wait; and no wait but
 * a later attempt where the packet path invalidates, see mem/mrc_mem.h.
 *
 * A peer lives as long as QPs are listed with it. QPs take themselves off that
 * list when they are reset, before their state can go away, so whoever holds
 * peers->mutex may use those that it finds; the packet path finds a peer under
 * RCU. The work items of a device's peers are cancelled when neither QPs nor
 * packets nor netdevs can queue them any more (dealloc_driver).
 * Controllers that wait for responses are woken up when the core tells its
 * clients that the device goes away, before it waits for their calls to end.
 */
#ifndef MRC_DEV_H
#define MRC_DEV_H

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
};

struct mrc_dev;
struct mrc_qp;
struct mrc_qp_base;
struct mrc_qp_kind;
struct mrc_ctl;
struct mrc_cc_ops;
struct mrc_ep;
struct mrc_peers;
struct mrc_req_ids;
struct mrc_rev_probes;
struct mrc_kern;
struct mrc_mcast;

/* mrc_param.c: parameters of the module -------------------------------------*/

extern unsigned int mrc_udp_port;	/* OP-1 */

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
 * @up: netdev running with carrier and not @disabled; last state reported to
 *	consumers; written under RTNL
 * @disabled: by a controller; written under RTNL
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
 * struct mrc_odp_dev - what a device has for paging, see mem/mrc_mem.h
 * @lock: (bh) read: pages stay; write: pages come and go. Readers may hold it
 *	twice, because they always have bottom halves disabled
 * @n: regions that are paged; while it is 0 no packet looks further
 * @wait_lock: (bh, leaf) of the following
 * @seq: bumped when pages may have come
 * @waiters: struct mrc_odp_waiter
 */
struct mrc_odp_dev {
	rwlock_t lock;
	atomic_t n;
	spinlock_t wait_lock;	/* leaf */
	u32 seq;
	struct list_head waiters;
};

/**
 * struct mrc_dev_attr - what a controller says of queue pairs to come
 * @num_evs: entropy values without an EV profile, 1..MRC_EV_MAX, OP-28
 * @cwnd: fixed window in bytes, 0 = default
 * @cc: congestion control without a CC profile, not NULL
 *
 * Each is read and written once, without a lock.
 */
struct mrc_dev_attr {
	u32 num_evs;
	u32 cwnd;
	const struct mrc_cc_ops *cc;
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
 * @attr: attributes that a controller may change
 * @n_ucontexts: open user contexts
 * @port: index 1..n_ports
 * @parent: where it is in sysfs, mrc_parent.h
 * @tc: codepoints, see mrc_tc.h
 * @req_ids: ids of endpoint requests
 * @ep: endpoint operations, ctl/mrc_ep.c
 * @rev_probes: probes of reverse paths, qp/mrc_rev_probe.c
 * @peers: hosts that QPs are connected to, qp/mrc_peer.c
 * @ctr: per-port, per-CPU protocol counters
 * @io: what goes through ports, index 1..n_ports, per CPU
 * @ctl: what a controller configured, ctl/mrc_ctl.c
 * @mrs: memory regions and windows by key >> 8, read under RCU
 * @odp: regions that are paged on demand
 * @avs: address handles by number, read under RCU
 * @av_next: where to look for the next number; under the lock of @avs
 * @mcast: multicast groups, roce/mrc_mcast.c
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
	struct mrc_dev_attr attr;
	atomic_t n_ucontexts;
	struct mrc_port port[MRC_MAX_PORTS + 1];
	struct mrc_parent parent;
	struct mrc_tc_map tc;
	struct mrc_req_ids *req_ids;
	struct mrc_ep *ep;
	struct mrc_rev_probes *rev_probes;
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

/* mrc_dev.c -----------------------------------------------------------------*/

/* List of devices, and netdevs of their ports; (bh) leaf. */
extern spinlock_t mrc_devs_lock;

/* From when all is there that a device has until module exit may go on. */
void mrc_dev_list(struct mrc_dev *dev);
void mrc_dev_delist(struct mrc_dev *dev);

/*
 * The device that has @ndev as a port, and the port's number. Under RTNL; the
 * device is not torn down before RTNL is released, and the reference
 * (get_device) keeps its memory. NULL if there is none.
 */
struct mrc_dev *mrc_dev_by_ndev(const struct net_device *ndev, u8 *num);

/*
 * A registered device by name, of those that are seen in @net: where namespaces
 * do not share devices, others may use the same name. ib_device_put() gives it
 * back.
 */
struct mrc_dev *mrc_dev_by_name(const char *name, const struct net *net);

/* Unregister the devices of @net, all if NULL. Sleeps, no lock held. */
void mrc_devs_unregister(struct net *net);

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

/* mrc_req_id.c: ids of endpoint requests, MRC 1.0 §12 -----------------------*/

/**
 * struct mrc_req_ids - ids of a device's requests
 * @lock: (bh) leaf
 * @ids: the engine's
 */
struct mrc_req_ids {
	spinlock_t lock;	/* leaf */
	struct mrc_ep_ids ids;
};

/* A device's; sleep. 0 or -ENOMEM. */
int mrc_req_ids_create(struct mrc_dev *dev);
void mrc_req_ids_destroy(struct mrc_dev *dev);

/* An id that is nobody else's, or -EAGAIN; give it back after use. Any context. */
int mrc_req_id_take(struct mrc_dev *dev);
void mrc_req_id_give(struct mrc_dev *dev, u16 id);

/* Both at once: the id is held for MRC_EP_ID_HOLD from now on, which suffices. */
int mrc_req_id_once(struct mrc_dev *dev);

/* mrc_port.c ----------------------------------------------------------------*/

/**
 * struct mrc_port_client - a layer above that has to know about ports
 * @open: @ndev is about to become the port's. 0 or a negative errno, and then it does
 *	not
 * @close: the port lets go of it, or it did not become the port's after all; nothing
 *	where @open was not called
 * @moved: @ndev is the port's now (@here), or no longer
 * @changed: a port of @dev has changed: its state, or only what its netdev can carry
 *
 * Each may be NULL. All are called under RTNL, in the order of the table.
 */
struct mrc_port_client {
	int (*open)(struct mrc_port *port, struct net_device *ndev);
	void (*close)(struct mrc_port *port);
	void (*moved)(struct mrc_port *port, struct net_device *ndev, bool here);
	void (*changed)(struct mrc_dev *dev, bool state);
};

/**
 * mrc_port_attach - give a vacant port a netdev
 * @dev: the device, registered or about to be
 * @num: port
 * @ndev: netdev that is no port of any device; under mrc_link_mutex
 *
 * Sleeps, takes RTNL.
 *
 * Return: 0, -EXDEV when @ndev is not in the device's namespace, -ENODEV when it is
 * being unregistered.
 */
int mrc_port_attach(struct mrc_dev *dev, u8 num, struct net_device *ndev);

/* Tell the core and consumers about a port attached to a live device. */
void mrc_port_announce(struct mrc_dev *dev, u8 num);

/* Make the port vacant and DOWN. Under RTNL. */
void mrc_port_detach(struct mrc_dev *dev, u8 num);

int mrc_query_port(struct ib_device *ibdev, u32 num, struct ib_port_attr *attr);

extern const struct ib_device_ops mrc_port_ops;

/* Listen to netdevs, for @clients, whose last entry is NULL. 0 or a negative errno. */
int mrc_port_init(const struct mrc_port_client *const *clients);
void mrc_port_exit(void);

/* Administrative state; a disabled port is DOWN whatever its netdev does. */
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
 * What a layer says of an object of its own; @all: to who may see PSNs and all that
 * has been counted since the first one. 0 or -EMSGSIZE.
 */
typedef int (*mrc_fill_fn)(struct sk_buff *msg, void *obj, bool all);

/* Add driver attributes to @msg. 0 or -EMSGSIZE, and then @msg is as before. */
int mrc_res_fill(struct sk_buff *msg, struct ib_device *ibdev, mrc_fill_fn fn,
		 void *obj);

/* Objects of the core -------------------------------------------------------*/

/**
 * struct mrc_ibqp - ib_core's part of a QP
 * @ib: ib_core's part
 * @kind: what its verbs do, constant
 * @cap: granted, constant
 * @sig_all: every send WR is signalled, constant
 * @base: the rest, which begins each kind's own; NULL before it is created and from its
 *	destruction on
 * @mw_id: name that its memory windows know, see mem/mrc_mw.c
 * @kern: its consumer is in the kernel
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
