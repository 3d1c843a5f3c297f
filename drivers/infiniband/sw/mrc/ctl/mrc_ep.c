// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Endpoint operations: they belong to the node, not to a QP (MRC 1.0 §12). This node
 * answers EV probes from every node, and port status updates from peers whose updates
 * it applies (qp/mrc_peer.c). In outer headers (SRv6) probes are answered while a
 * profile of the device is SRv6, and updates are applied if the QP that answers that peer
 * uses SRv6. The node sends requests for three purposes: batches of a controller, which waits
 * for the responses; port status updates; and probes of reverse paths
 * (qp/mrc_rev_probe.c).
 *
 * A waiting controller holds no lock and no reference to the device. If the device goes
 * away, the controller is woken up.
 */
#include <linux/bitmap.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "mrc_ctl.h"

#define MRC_EP_WAITS	4	/* concurrent batches per device */
#define MRC_EP_CHECK_INTERVAL	32	/* requests sent between checks for removal and signals */

/**
 * struct mrc_ep_wait - a batch of requests and the controller that waits for it
 * @list: in ep->waits
 * @wq: the controller sleeps here
 * @req: its requests
 * @rsp: responses, in order of arrival
 * @n_rsp: number of responses
 * @n_sent: number of requests sent
 * @last: time at which the last request was sent, ns
 * @sending: requests are still being sent
 * @gone: the device goes away
 * @b: matches responses to requests
 * @ask: memory of @b
 *
 * Under ep->lock once it is in the list.
 */
struct mrc_ep_wait {
	struct list_head list;
	wait_queue_head_t wq;
	const struct mrc_ep_req *req;
	struct mrc_ep_rsp *rsp;
	u32 n_rsp;
	u32 n_sent;
	u64 last;
	bool sending;
	bool gone;
	struct mrc_ep_batch b;
	struct mrc_ep_pending ask[];
};

/**
 * struct mrc_ep - endpoint operations of a device
 * @dev: the device
 * @lock: leaf, (bh)
 * @gone: the device goes away
 * @n_waits: length of @waits
 * @waits: batches that are waiting
 * @answers: rate limit of responses, per source
 */
struct mrc_ep {
	struct mrc_dev *dev;
	spinlock_t lock;	/* leaf */
	bool gone;
	unsigned int n_waits;
	struct list_head waits;
	struct mrc_ep_limit answers;
};

static u32 mrc_ep_hash(const struct in6_addr *addr)
{
	static u32 seed __read_mostly;

	net_get_random_once(&seed, sizeof(seed));
	return __ipv6_addr_jhash(addr, seed);
}

/*
 * Send @skb, built from @head, through @port, whose netdev is @ndev. Under RCU. A
 * packet that cannot be sent is counted.
 */
static int mrc_ep_xmit(struct mrc_dev *dev, struct net_device *ndev, u8 port,
		       const struct mrc_head *head, struct sk_buff *skb)
{
	const struct mrc_ends ends = {
		.saddr = head->saddr,
		.daddr = head->daddr,
		.dport = head->dport,
		.ipv6 = head->ipv6,
	};
	struct dst_entry *dst;
	unsigned int out = 0;
	u32 len = skb->len;
	u32 cookie;
	int ret;

	dst = mrc_route_lookup(dev->net, ndev, &ends, skb->len, &cookie);
	if (!dst) {
		kfree_skb(skb);
		ret = -ENETUNREACH;
	} else {
		skb_dst_set(skb, dst);
		out = mrc_io_port(skb, port);
		if (head->ipv6)
			ret = ip6_local_out(dev->net, NULL, skb);
		else
			ret = ip_local_out(dev->net, NULL, skb);
		/* net_xmit_eval() evaluates its argument twice. */
		ret = net_xmit_eval(ret);
	}
	if (ret)
		mrc_ctr_add(&dev->ctr, port, MRC_CTR_TX_ERROR, 1);
	else
		mrc_io_add(dev, out, MRC_IO_TX_PKTS, 1, len, false);
	return ret;
}

/* Answering requests ------------------------------------------------------------- */

/*
 * Answer on the reverse path that a connection to the peer has chosen for @port.
 * Returns false if there is none, or if that path uses another port although @port is
 * up and the path is not SRv6.
 */
static bool mrc_ep_respond_qp(struct mrc_dev *dev, u8 port, bool port_up,
			      const struct mrc_hdr *req,
			      const struct in6_addr *peer,
			      const struct in6_addr *self)
{
	struct mrc_tx_desc desc = { .tc = MRC_TC_CONTROL, .ev = -1 };
	struct sk_buff *skb = NULL;
	struct sk_buff_head list;
	struct mrc_qp *qp;

	qp = mrc_peer_get_qp(dev, self, peer, port);
	if (!qp)
		return false;
	__skb_queue_head_init(&list);
	mrc_ep_response(&desc.hdr, req);
	spin_lock_bh(&qp->rx.lock);
	if (qp->rx.on && ipv6_addr_equal(&qp->flow.daddr, peer) &&
	    ipv6_addr_equal(&qp->flow.saddr, self))
		desc.ev = mrc_rev_pick(mrc_resp_rev(&qp->rx.resp), &qp->paths, port,
				       mrc_now());
	if (desc.ev >= 0) {
		desc.port = mrc_paths_port(&qp->paths, desc.ev);
		desc.entropy = mrc_paths_entropy(&qp->paths, desc.ev);
		if (desc.port == port || !port_up || mrc_flow_srv6(&qp->flow))
			skb = mrc_build_skb(qp, &desc);
	}
	spin_unlock_bh(&qp->rx.lock);
	if (IS_ERR(skb)) {
		mrc_ctr_add(&dev->ctr, desc.port, MRC_CTR_TX_ERROR, 1);
	} else if (skb) {
		mrc_ctr_add(&dev->ctr, desc.port, MRC_CTR_TX_ENDPOINT_RESP, 1);
		__skb_queue_tail(&list, skb);
		mrc_qp_xmit(qp, &list);
	}
	mrc_qp_put(qp);
	return skb;
}

/* Another netdev for the answer, if the port of arrival is down. */
static struct net_device *mrc_ep_other(struct mrc_dev *dev, u8 *port)
{
	struct net_device *ndev;
	u8 i;

	for (i = 1; i <= dev->n_ports; i++) {
		ndev = rcu_dereference(dev->port[i].ndev);
		if (ndev && READ_ONCE(dev->port[i].up)) {
			*port = i;
			return ndev;
		}
	}
	return NULL;
}

/* Answer through the port of arrival if it is up, else through another one. */
static void mrc_ep_respond(struct mrc_dev *dev, struct net_device *ndev, u8 port,
			   const struct mrc_hdr *req, bool ipv6,
			   const struct in6_addr *peer,
			   const struct in6_addr *self)
{
	bool up = port && READ_ONCE(dev->port[port].up);
	struct mrc_hdr hdr;
	struct mrc_head head = {
		.hdr = &hdr,
		.saddr = self,
		.daddr = peer,
		.dport = mrc_dport(dev, peer),
		.ipv6 = ipv6,
		.tos = mrc_tc_dscp(&dev->tc, MRC_DSCP_CONTROL) << 2 |
		       INET_ECN_NOT_ECT,
	};
	struct sk_buff *skb;

	if (mrc_ep_respond_qp(dev, port, up, req, peer, self))
		return;
	if (!up)
		ndev = mrc_ep_other(dev, &port);
	mrc_ep_response(&hdr, req);
	mrc_head_entropy(&head, get_random_u32() | 0xC000);
	skb = ndev ? mrc_build_bare(&head) : NULL;
	if (!skb)
		mrc_ctr_add(&dev->ctr, port, MRC_CTR_TX_ERROR, 1);
	else if (!mrc_ep_xmit(dev, ndev, port, &head, skb))
		mrc_ctr_add(&dev->ctr, port, MRC_CTR_TX_ENDPOINT_RESP, 1);
}

/*
 * Is @addr an address of the device? Checked because SRv6 would send any source, and takes
 * packets for any local address past the filters.
 */
static bool mrc_ep_own(struct mrc_dev *dev, const struct in6_addr *addr)
{
	const struct ib_gid_attr *attr;

	attr = rdma_find_gid(&dev->ib, (const union ib_gid *)addr,
			     IB_GID_TYPE_ROCE_UDP_ENCAP, NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

/* Does the queue pair that answers this peer use SRv6? Under RCU. */
static bool mrc_ep_peer_srv6(struct mrc_dev *dev, const struct in6_addr *self,
			     const struct in6_addr *peer, u8 port)
{
	struct mrc_qp *qp = mrc_peer_get_qp(dev, self, peer, port);
	bool srv6 = qp && mrc_flow_srv6(&qp->flow);

	if (qp)
		mrc_qp_put(qp);
	return srv6;
}

static enum mrc_counter mrc_ep_rcv_req(struct mrc_dev *dev,
				       struct net_device *ndev, u8 port,
				       const struct mrc_hdr *hdr, bool ipv6,
				       bool srv6, const struct in6_addr *peer,
				       const struct in6_addr *self)
{
	enum mrc_counter id = MRC_CTR_MAX;
	struct mrc_ep *ep = dev->ep;
	u8 op = hdr->epop.op;
	bool ok;

	if (op != MRC_EPOP_EV_PROBE && op != MRC_EPOP_PORT_STATUS)
		return MRC_CTR_DROP_ENDPOINT;
	if (op == MRC_EPOP_PORT_STATUS) {
		if (srv6 && !mrc_ep_peer_srv6(dev, self, peer, port))
			return MRC_CTR_PORT_STATUS_REFUSED;
		if (!mrc_peer_update(dev, self, peer, port,
				     hdr->epop.port_mask))
			return MRC_CTR_PORT_STATUS_REFUSED;
		id = MRC_CTR_RX_PORT_STATUS;
	}
	/* Limit the rate of answers, separately for each operation. */
	spin_lock_bh(&ep->lock);
	ok = mrc_ep_limit_ok(&ep->answers, mrc_ep_hash(peer) + op, mrc_now());
	spin_unlock_bh(&ep->lock);
	/* The search is behind the limit, because each packet would cost one. */
	if (ok && (op == MRC_EPOP_PORT_STATUS || !srv6 || mrc_ep_own(dev, self)))
		mrc_ep_respond(dev, ndev, port, hdr, ipv6, peer, self);
	else
		mrc_ctr_add(&dev->ctr, port, MRC_CTR_DROP_ENDPOINT, 1);
	return id;
}

/* Receiving responses ------------------------------------------------------------- */

static void mrc_ep_wake(struct mrc_ep_wait *w)
{
	if (w->gone || (!w->sending && w->b.done >= w->n_sent))
		wake_up(&w->wq);
}

/* Is it a response that a controller waits for? */
static bool mrc_ep_rsp_batch(struct mrc_ep *ep, u8 port,
			     const struct mrc_hdr *hdr,
			     const struct in6_addr *peer,
			     const struct in6_addr *self, u64 now)
{
	struct mrc_ep_result a;
	struct mrc_ep_wait *w;
	bool found = false;

	spin_lock_bh(&ep->lock);
	list_for_each_entry(w, &ep->waits, list) {
		if (!mrc_ep_batch_response(&w->b, hdr->psn & 0xFFFF,
					   peer->s6_addr, self->s6_addr,
					   hdr->tstamp, now, &a))
			continue;
		w->rsp[w->n_rsp++] = (struct mrc_ep_rsp) {
			.id = w->req[a.index].id,
			.port = port,
			.adj_svc_time = a.adjusted,
			.rtt = a.rtt,
		};
		mrc_ep_wake(w);
		found = true;
		break;
	}
	spin_unlock_bh(&ep->lock);
	return found;
}

static enum mrc_counter mrc_ep_rcv_resp(struct mrc_dev *dev, u8 port,
					const struct mrc_hdr *hdr,
					const struct in6_addr *peer,
					const struct in6_addr *self)
{
	u64 now = mrc_now();

	if (mrc_ep_rsp_batch(dev->ep, port, hdr, peer, self, now) ||
	    mrc_rev_probe_response(dev, port, hdr, peer, self, now))
		return MRC_CTR_MAX;
	if (mrc_peer_response(dev, self, peer, port, hdr->psn & 0xFFFF))
		return MRC_CTR_PORT_STATUS_OK;
	return MRC_CTR_DROP_ENDPOINT;
}

void mrc_ep_rcv(struct mrc_pkt *pkt)
{
	const struct mrc_hdr *hdr = &pkt->hdr;
	struct mrc_dev *dev = pkt->dev;
	u8 port = pkt->rx.port;
	enum mrc_counter id;

	if (hdr->opcode == MRC_OP_ENDPOINT_REQ) {
		mrc_ctr_add(&dev->ctr, port, MRC_CTR_RX_ENDPOINT_REQ, 1);
		id = mrc_ep_rcv_req(dev, pkt->skb->dev, port, hdr, pkt->ipv6,
				    pkt->srv6, &pkt->saddr, &pkt->daddr);
	} else {
		mrc_ctr_add(&dev->ctr, port, MRC_CTR_RX_ENDPOINT_RESP, 1);
		id = mrc_ep_rcv_resp(dev, port, hdr, &pkt->saddr, &pkt->daddr);
	}
	if (id != MRC_CTR_MAX)
		mrc_ctr_add(&dev->ctr, port, id, 1);
}

/* Batches --------------------------------------------------------------------- */

static bool mrc_ep_req_ok(const struct mrc_dev *dev,
			  const struct mrc_ep_req *r)
{
	bool ipv6 = !ipv6_addr_v4mapped(&r->daddr);
	u32 bytes;

	if (!r->port || r->port > dev->n_ports ||
	    (r->op != MRC_EPOP_EV_PROBE && r->op != MRC_EPOP_PORT_STATUS))
		return false;
	if (ipv6 == ipv6_addr_v4mapped(&r->saddr) ||
	    rdma_is_multicast_addr((struct in6_addr *)&r->daddr) ||
	    ipv6_addr_any(&r->daddr))
		return false;
	switch (r->fmt_mode) {
	case MRC_EV_FMT_UDP:
		bytes = 2;
		break;
	case MRC_EV_FMT_STEV:
		if (!ipv6)
			return false;
		bytes = 4;
		break;
	case MRC_EV_FMT_SRV6:
		bytes = MRC_EV_BYTES;
		break;
	default:
		return false;
	}
	return !memchr_inv(r->ev + bytes, 0, MRC_EV_BYTES - bytes);
}

static int mrc_ep_check(struct mrc_dev *dev, const struct mrc_ep_req *req,
			u32 n)
{
	unsigned long *seen;
	int ret = 0;
	u32 i;

	seen = bitmap_zalloc(U16_MAX + 1, GFP_KERNEL);
	if (!seen)
		return -ENOMEM;
	for (i = 0; i < n && !ret; i++) {
		if (!mrc_ep_req_ok(dev, &req[i]) ||
		    __test_and_set_bit(req[i].id, seen) ||
		    ((!i || !ipv6_addr_equal(&req[i].saddr,
					     &req[i - 1].saddr)) &&
		     !mrc_ep_own(dev, &req[i].saddr)))
			ret = -EINVAL;
	}
	bitmap_free(seen);
	return ret;
}

/* Send request @i of @w; returns an errno if it cannot be sent. */
static int mrc_ep_send_req(struct mrc_dev *dev, struct mrc_ep_wait *w, u32 i, u8 tc)
{
	const struct mrc_ep_req *r = &w->req[i];
	struct mrc_hdr hdr;
	struct mrc_head head = {
		.hdr = &hdr,
		.saddr = &r->saddr,
		.daddr = &r->daddr,
		.dport = mrc_dport(dev, &r->daddr),
		.ipv6 = !ipv6_addr_v4mapped(&r->daddr),
		.tos = tc,
		.srv6 = r->fmt_mode == MRC_EV_FMT_SRV6,
	};
	struct mrc_counters *ctr = &dev->ctr;
	struct sk_buff *skb = NULL;
	struct net_device *ndev;
	int ret = -ENETDOWN;

	/* ID and time are set below, before the packet is built. */
	mrc_ep_request(&hdr, r->op, 0, 0);
	if (r->op == MRC_EPOP_PORT_STATUS)
		hdr.epop.port_mask = r->port_status;
	if (r->fmt_mode == MRC_EV_FMT_UDP)
		mrc_head_entropy(&head, get_unaligned_be16(r->ev));
	else if (r->fmt_mode == MRC_EV_FMT_STEV)
		mrc_head_entropy(&head, get_unaligned_be32(r->ev));
	else
		mrc_head_entropy(&head, get_random_u32() | 0xC000);

	local_bh_disable();
	rcu_read_lock();
	spin_lock(&dev->ep->lock);
	hdr.psn = w->ask[i].id;
	w->last = mrc_now();
	hdr.tstamp = mrc_ep_batch_sent(&w->b, i, w->last);
	w->n_sent++;
	spin_unlock(&dev->ep->lock);
	ndev = rcu_dereference(dev->port[r->port].ndev);
	if (ndev && READ_ONCE(dev->port[r->port].up)) {
		skb = mrc_build_bare(&head);
		ret = -ENOMEM;
	}
	if (!skb)
		mrc_ctr_add(ctr, r->port, MRC_CTR_TX_ERROR, 1);
	else if (head.srv6)
		ret = mrc_srv6_xmit(dev, r->port, skb, r->ev);
	else
		ret = mrc_ep_xmit(dev, ndev, r->port, &head, skb);
	rcu_read_unlock();
	if (ret) {
		spin_lock(&dev->ep->lock);
		if (!w->ask[i].done)	/* else answered, although IP reported a drop */
			w->n_sent--;
		w->ask[i].sent = false;
		spin_unlock(&dev->ep->lock);
	}
	if (!ret)
		mrc_ctr_add(ctr, r->port, MRC_CTR_TX_ENDPOINT_REQ, 1);
	if (!ret && r->op == MRC_EPOP_PORT_STATUS)
		mrc_ctr_add(ctr, r->port, MRC_CTR_TX_PORT_STATUS, 1);
	local_bh_enable();
	return ret;
}

static int mrc_ep_send_all(struct mrc_dev *dev, struct mrc_ep_wait *w, u8 tc)
{
	u32 i, n = w->b.n;
	int none = -EIO;

	for (i = 0; i < n; i++) {
		int ret = mrc_ep_send_req(dev, w, i, tc);

		/* Report lack of memory as such: the device and its ports are fine. */
		if (ret == -ENOMEM || ret == -ENOBUFS)
			none = -ENOMEM;
		if (i % MRC_EP_CHECK_INTERVAL)
			continue;
		if (READ_ONCE(w->gone))
			return -EIO;
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	spin_lock_bh(&dev->ep->lock);
	w->sending = false;
	spin_unlock_bh(&dev->ep->lock);
	return w->n_sent ? 0 : none;
}

/* Take the IDs of a batch. Under ep->lock. */
static int mrc_ep_take_ids(struct mrc_dev *dev, struct mrc_ep_batch *b)
{
	struct mrc_req_ids *r = dev->req_ids;
	int ret;

	spin_lock(&r->lock);
	ret = mrc_ep_batch_open(b, &r->ids, mrc_now());
	spin_unlock(&r->lock);
	return ret;
}

static void mrc_ep_give_ids(struct mrc_dev *dev, struct mrc_ep_batch *b)
{
	struct mrc_req_ids *r = dev->req_ids;

	spin_lock(&r->lock);
	mrc_ep_batch_close(b, &r->ids, mrc_now());
	spin_unlock(&r->lock);
}

static int mrc_ep_enlist(struct mrc_ep *ep, struct mrc_ep_wait *w)
{
	int ret;

	spin_lock_bh(&ep->lock);
	if (ep->gone)
		ret = -EIO;
	else if (ep->n_waits >= MRC_EP_WAITS)
		ret = -EAGAIN;
	else
		ret = mrc_ep_take_ids(ep->dev, &w->b);
	if (!ret) {
		ep->n_waits++;
		list_add_tail(&w->list, &ep->waits);
	}
	spin_unlock_bh(&ep->lock);
	return ret;
}

static void mrc_ep_delist(struct mrc_ep *ep, struct mrc_ep_wait *w)
{
	spin_lock_bh(&ep->lock);
	list_del(&w->list);
	ep->n_waits--;
	mrc_ep_give_ids(ep->dev, &w->b);
	spin_unlock_bh(&ep->lock);
}

static bool mrc_ep_complete(struct mrc_ep *ep, struct mrc_ep_wait *w)
{
	bool done;

	spin_lock_bh(&ep->lock);
	done = w->gone || w->b.done >= w->n_sent;
	spin_unlock_bh(&ep->lock);
	return done;
}

/* Remaining time for a response to the last request. */
static ktime_t mrc_ep_left(const struct mrc_ep_wait *w)
{
	u64 gone = mrc_now() - w->last;

	return ns_to_ktime(w->b.timeout > gone ? w->b.timeout - gone : 0);
}

int mrc_ep_batch(struct mrc_dev *dev, const struct mrc_ep_req *req, u32 n,
		 u8 tc, u64 timeout, struct mrc_ep_rsp *rsp, u32 *n_rsp)
{
	struct mrc_ep *ep = dev->ep;
	struct mrc_ep_wait *w;
	int ret;
	u32 i;

	*n_rsp = 0;
	if (!n || n > MRC_EP_BATCH_MAX)
		return -EINVAL;
	ret = mrc_ep_check(dev, req, n);
	if (ret)
		return ret;
	w = kvzalloc(struct_size(w, ask, n), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!w)
		return -ENOMEM;
	init_waitqueue_head(&w->wq);
	w->req = req;
	w->rsp = rsp;
	w->sending = true;
	w->b.ask = w->ask;
	w->b.n = n;
	w->b.timeout = min_t(u64, timeout, KTIME_MAX);
	for (i = 0; i < n; i++) {
		memcpy(w->ask[i].peer, &req[i].daddr, MRC_EP_ADDR);
		memcpy(w->ask[i].self, &req[i].saddr, MRC_EP_ADDR);
	}
	ret = mrc_ep_enlist(ep, w);
	if (ret)
		goto out;

	ret = mrc_ep_send_all(dev, w, tc);
	if (!ret)
		ret = wait_event_interruptible_hrtimeout(w->wq,
							 mrc_ep_complete(ep, w),
							 mrc_ep_left(w));
	mrc_ep_delist(ep, w);

	/*
	 * Do not restart: with a periodic timer signal a restarted batch would never
	 * end.
	 */
	if (ret == -ERESTARTSYS)
		ret = -EINTR;
	*n_rsp = w->n_rsp;
	if (w->gone)
		ret = -EIO;
	else if (ret == -ETIME || (!ret && w->n_rsp < n))
		ret = -ETIMEDOUT;
	for (i = 0; i < n && ret == -ETIMEDOUT; i++) {
		if (!w->ask[i].done)
			mrc_ctr_add(&dev->ctr, req[i].port, MRC_CTR_EP_TIMEOUT,
				    1);
	}
out:
	kvfree(w);
	return ret;
}

static void mrc_ep_shutdown(struct mrc_dev *dev)
{
	struct mrc_ep *ep = dev->ep;
	struct mrc_ep_wait *w;

	spin_lock_bh(&ep->lock);
	ep->gone = true;
	list_for_each_entry(w, &ep->waits, list) {
		WRITE_ONCE(w->gone, true);
		mrc_ep_wake(w);
	}
	spin_unlock_bh(&ep->lock);
}

int mrc_ep_create(struct mrc_dev *dev)
{
	struct mrc_ep *ep = kvzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return -ENOMEM;
	ep->dev = dev;
	spin_lock_init(&ep->lock);
	INIT_LIST_HEAD(&ep->waits);
	dev->ep = ep;
	return 0;
}

void mrc_ep_destroy(struct mrc_dev *dev)
{
	kvfree(dev->ep);
	dev->ep = NULL;
}

/*
 * The RDMA core notifies this client before ib_uverbs when a device goes away, because
 * it was registered later. ib_uverbs waits for all calls to return, so end the calls
 * that wait for responses first.
 */
static int mrc_ep_client_add(struct ib_device *ibdev)
{
	struct mrc_ep *ep;

	if (ibdev->ops.driver_id != (enum rdma_driver_id)MRC_RDMA_DRIVER_ID)
		return -EOPNOTSUPP;
	/* A device that changes its namespace is removed and added again. */
	ep = to_mdev(ibdev)->ep;
	spin_lock_bh(&ep->lock);
	ep->gone = false;
	spin_unlock_bh(&ep->lock);
	return 0;
}

static void mrc_ep_client_remove(struct ib_device *ibdev, void *data)
{
	mrc_ep_shutdown(to_mdev(ibdev));
}

/*
 * The core removes clients in the reverse order of their registration. When ib_uverbs
 * is removed from a device, it waits for the calls of programs. So this client must be
 * registered after ib_uverbs, to end the batches of those calls first.
 */
MODULE_SOFTDEP("pre: ib_uverbs");

static struct ib_client mrc_ep_client = {
	.name = "mrc_endpoint",
	.add = mrc_ep_client_add,
	.remove = mrc_ep_client_remove,
	/* This client uses no kernel verbs. */
	.no_kverbs_req = true,
};

int mrc_ep_init(void)
{
	return ib_register_client(&mrc_ep_client);
}

void mrc_ep_exit(void)
{
	ib_unregister_client(&mrc_ep_client);
}
