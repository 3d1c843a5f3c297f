// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Peers of a device: the hosts to which its connections lead. Each peer gets a port
 * status update when local ports go up or down. The port status that a peer reports is
 * passed on to all QPs connected to it (MRC 1.0 §12.3). An update can be forged by any
 * host that can send from the address of the peer, so QPs verify it with probes
 * (core/mrc_ev_peer.c).
 *
 * A peer exists as long as QPs in RTR or a later state are connected to it, so there are
 * never more peers than QPs. The lists of QPs are protected by the mutex. The packet path
 * looks up peers under RCU and stores their port status under the lock of the peer. Work
 * items do the rest. If a peer reports changes faster than they can be applied, only the
 * newest status is applied.
 *
 * A QP that sends reads the port status of its peer itself (mrc_peer_sync()), so that the
 * status takes effect from the moment when the update was confirmed.
 */
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "mrc_qp_priv.h"

#define MRC_PEER_TRY_QPS	8	/* QPs to try for sending one update */
#define MRC_PEER_RETRY		(HZ / 10)	/* delay if no request id is available */
/* Port status updates within this time are merged for QPs that do not send, jiffies. */
#define MRC_PEER_MERGE		max(HZ / 100, 1)

enum { MRC_PEER_CHANGED };	/* bits of @flags of struct mrc_peer */
enum { MRC_PEERS_PORTS };	/* bits of @flags of struct mrc_peers */

/**
 * struct mrc_peers - all peers of a device
 * @dev: the device
 * @mutex: see mrc_dev.h
 * @ht: peers by struct mrc_peer_key
 * @all: list of peers
 * @apply: passes the port status of peers to their QPs; expires outdated status
 * @tell: sends port status updates to the peers
 * @told: port mask of the newest update
 * @id: request id of the newest update, -1 = no id is held
 * @partial: an update has reported that not all ports are up
 * @flags: MRC_PEERS_PORTS: QPs have to update their ports after the peers were notified
 */
struct mrc_peers {
	struct mrc_dev *dev;
	struct mutex mutex;	/* see mrc_dev.h */
	struct rhashtable ht;
	struct list_head all;
	struct delayed_work apply;
	struct delayed_work tell;
	u32 told;
	int id;
	bool partial;
	unsigned long flags;
};

static struct workqueue_struct *mrc_peer_wq;

static const struct rhashtable_params mrc_peer_params = {
	.key_len = sizeof(struct mrc_peer_key),
	.key_offset = offsetof(struct mrc_peer, key),
	.head_offset = offsetof(struct mrc_peer, node),
	.automatic_shrinking = true,
};

static void mrc_peer_key(struct mrc_peer_key *key, const struct in6_addr *self,
			 const struct in6_addr *peer, u8 port)
{
	memset(key, 0, sizeof(*key));
	key->self = *self;
	key->peer = *peer;
	if (ipv6_addr_type(peer) & IPV6_ADDR_LINKLOCAL)
		key->port = port;
}

/* Find a peer by addresses. @port matters for link-local addresses only. Under RCU. */
static struct mrc_peer *mrc_peer_find(struct mrc_dev *dev,
				      const struct in6_addr *self,
				      const struct in6_addr *peer, u8 port)
{
	struct mrc_peer_key key;

	mrc_peer_key(&key, self, peer, port);
	return rhashtable_lookup(&dev->peers->ht, &key, mrc_peer_params);
}

static bool mrc_peer_qp_ok(const struct mrc_qp *qp)
{
	u8 state = READ_ONCE(qp->base.state);

	return state == IB_QPS_RTR || state == IB_QPS_RTS;
}

/* Choose the QP that sends endpoint responses to the peer. Under peers->mutex. */
static void mrc_peer_choose_qp(struct mrc_peer *p)
{
	struct mrc_qp *qp, *found = NULL;

	list_for_each_entry(qp, &p->qps, peer_node) {
		if (mrc_peer_qp_ok(qp)) {
			found = qp;
			break;
		}
	}
	rcu_assign_pointer(p->resp_qp, found);
}

static u32 mrc_peer_all_ports(const struct mrc_dev *dev)
{
	return (2u << dev->n_ports) - 2;
}

/*
 * RTO of a connection to the peer, ns: the interval at which updates are repeated.
 * MRC_EV_RTO_DEFAULT if it is unknown. Under peers->mutex.
 */
static u64 mrc_peer_rto(struct mrc_peer *p)
{
	struct mrc_qp *qp;
	u64 rto = 0;

	list_for_each_entry(qp, &p->qps, peer_node) {
		spin_lock_bh(&qp->tx.lock);
		if (qp->paths_on)
			rto = mrc_paths_rto(&qp->paths);
		spin_unlock_bh(&qp->tx.lock);
		if (rto)
			break;
	}
	return rto ? rto : MRC_EV_RTO_DEFAULT;
}

/* Get the request id of the current update. Return: false if no id is available. */
static bool mrc_peers_id(struct mrc_peers *ps)
{
	if (ps->id < 0)
		ps->id = mrc_req_id_alloc(ps->dev);
	return ps->id >= 0;
}

static void mrc_peer_set_status(struct mrc_peers *ps, struct mrc_peer *p)
{
	bool part = ps->told != mrc_peer_all_ports(ps->dev);
	u64 rto = mrc_peer_rto(p);

	spin_lock_bh(&p->lock);
	mrc_status_tx_set(&p->status_tx, ps->told, part, ps->id, rto, mrc_now());
	spin_unlock_bh(&p->lock);
	if (part)
		ps->partial = true;
}

/*
 * Pick an EV of @qp whose local port is in @up. The paths of the QP may not have seen the
 * latest change of ports yet, so they alone do not decide. The search starts at a random
 * port, because a QP that only receives does not know which planes are interrupted.
 * Under tx.lock. Return: the EV or -1.
 */
static int mrc_peer_pick(struct mrc_qp *qp, unsigned long up)
{
	unsigned int n = qp->base.dev->n_ports, i, port;
	u16 cursor = get_random_u32(), first = cursor;

	for (i = 0; i < n; i++) {
		int ev;

		port = 1 + (first + i) % n;
		if (!(up & BIT(port)))
			continue;
		ev = mrc_paths_pick_ctrl(&qp->paths, &cursor, port);

		if (ev >= 0 && BIT(mrc_paths_port(&qp->paths, ev)) & up)
			return ev;
	}
	return -1;
}

static bool mrc_peer_send_on(struct mrc_qp *qp, u32 up, u16 id, u32 mask)
{
	struct mrc_tx_desc desc = { .tc = MRC_TC_CONTROL, .ev = -1 };
	struct mrc_counters *ctr = &qp->base.dev->ctr;
	struct sk_buff *skb = NULL;
	struct sk_buff_head list;

	__skb_queue_head_init(&list);
	mrc_ep_request(&desc.hdr, MRC_EPOP_PORT_STATUS, id,
		       mrc_now() >> MRC_TS_SHIFT);
	desc.hdr.epop.port_mask = mask;
	spin_lock_bh(&qp->tx.lock);
	if (qp->paths_on && mrc_peer_qp_ok(qp))
		desc.ev = mrc_peer_pick(qp, up);
	if (desc.ev >= 0) {
		desc.port = mrc_paths_port(&qp->paths, desc.ev);
		desc.entropy = mrc_paths_entropy(&qp->paths, desc.ev);
		skb = mrc_build_skb(qp, &desc);
	}
	spin_unlock_bh(&qp->tx.lock);
	if (!skb)
		return false;
	if (IS_ERR(skb)) {
		mrc_ctr_add(ctr, desc.port, MRC_CTR_TX_ERROR, 1);
		return true;
	}
	mrc_ctr_add(ctr, desc.port, MRC_CTR_TX_ENDPOINT_REQ, 1);
	mrc_ctr_add(ctr, desc.port, MRC_CTR_TX_PORT_STATUS, 1);
	__skb_queue_tail(&list, skb);
	mrc_qp_xmit(qp, &list);
	return true;
}

/* Send one update to @p. If no QP can send it, the next try uses other QPs. */
static void mrc_peer_send(struct mrc_peer *p, u32 up, u16 id, u32 mask)
{
	unsigned int tries = 0;
	struct mrc_qp *qp;

	list_for_each_entry(qp, &p->qps, peer_node) {
		if (mrc_peer_send_on(qp, up, id, mask))
			return;
		if (++tries == MRC_PEER_TRY_QPS)
			break;
	}
	/* The next try begins with another QP. */
	list_rotate_left(&p->qps);
}

/*
 * If a reply arrives through a port that was reported down, the peer concludes that the
 * report is wrong. So QPs stop using a port before the update about it is sent. The work
 * items of the QPs may run later.
 */
static void mrc_peer_leave_ports(struct mrc_peer *p, u32 up)
{
	struct mrc_qp *qp;

	list_for_each_entry(qp, &p->qps, peer_node) {
		mrc_qp_leave_ports(qp, up);
		cond_resched();
	}
}

/*
 * Let QPs use ports that have come up, after the updates about them were sent. If a reply
 * arrived through a port that is still reported down, the peer would conclude that the
 * report is wrong, and would doubt our next update.
 */
static void mrc_peers_use_ports(struct mrc_peers *ps)
{
	struct mrc_peer *p;
	struct mrc_qp *qp;

	if (!test_and_clear_bit(MRC_PEERS_PORTS, &ps->flags))
		return;
	list_for_each_entry(p, &ps->all, list) {
		list_for_each_entry(qp, &p->qps, peer_node)
			mrc_qp_queue_work(qp, 0);
		cond_resched();
	}
}

static void mrc_peers_send_updates(struct work_struct *work)
{
	struct mrc_peers *ps = container_of(to_delayed_work(work),
					    struct mrc_peers, tell);
	u32 up = mrc_dev_ports_up(ps->dev);
	u64 now, next = MRC_NEVER;
	struct mrc_peer *p;

	mutex_lock(&ps->mutex);
	if (list_empty(&ps->all)) {
		ps->told = up;
	} else if (up != ps->told) {
		if (ps->id >= 0)
			mrc_req_id_free(ps->dev, ps->id);
		ps->id = -1;
		if (!mrc_peers_id(ps)) {
			queue_delayed_work(mrc_peer_wq, &ps->tell,
					   MRC_PEER_RETRY);
			mutex_unlock(&ps->mutex);
			return;
		}
		ps->told = up;
		list_for_each_entry(p, &ps->all, list) {
			mrc_peer_leave_ports(p, up);
			mrc_peer_set_status(ps, p);
		}
	}
	list_for_each_entry(p, &ps->all, list) {
		u32 mask;
		bool due;
		u16 id;

		now = mrc_now();
		spin_lock_bh(&p->lock);
		due = mrc_status_tx_due(&p->status_tx, now);
		next = min(next, mrc_status_tx_next(&p->status_tx));
		mask = mrc_status_tx_mask(&p->status_tx);
		id = mrc_status_tx_id(&p->status_tx);
		spin_unlock_bh(&p->lock);
		if (due)
			mrc_peer_send(p, up, id, mask);
		cond_resched();
	}
	mrc_peers_use_ports(ps);
	if (next != MRC_NEVER) {
		now = mrc_now();
		queue_delayed_work(mrc_peer_wq, &ps->tell, next <= now ? 0 :
				   nsecs_to_jiffies(next - now) + 1);
	} else if (ps->id >= 0) {
		mrc_req_id_free(ps->dev, ps->id);
		ps->id = -1;
	}
	mutex_unlock(&ps->mutex);
}

void mrc_peers_ports_changed(struct mrc_dev *dev)
{
	set_bit(MRC_PEERS_PORTS, &dev->peers->flags);
	mod_delayed_work(mrc_peer_wq, &dev->peers->tell, 0);
}

static void mrc_peers_apply(struct work_struct *work)
{
	struct mrc_peers *ps = container_of(to_delayed_work(work),
					    struct mrc_peers, apply);
	u64 now = mrc_now(), next = MRC_NEVER;
	struct mrc_peer *p;
	struct mrc_qp *qp;

	mutex_lock(&ps->mutex);
	list_for_each_entry(p, &ps->all, list) {
		bool changed = test_and_clear_bit(MRC_PEER_CHANGED, &p->flags);

		spin_lock_bh(&p->lock);
		changed |= mrc_status_rx_expire(&p->status_rx, now);
		next = min(next, mrc_status_rx_expires(&p->status_rx));
		spin_unlock_bh(&p->lock);
		if (!changed)
			continue;
		mrc_peer_choose_qp(p);
		/* Listed QPs are valid: destroy removes them from the list first. */
		list_for_each_entry(qp, &p->qps, peer_node)
			mrc_qp_queue_work(qp, 0);
		cond_resched();
	}
	/* Does nothing if a new update has queued the work already. */
	if (next != MRC_NEVER)
		queue_delayed_work(mrc_peer_wq, &ps->apply,
				   nsecs_to_jiffies(next - now) + 1);
	mutex_unlock(&ps->mutex);
}

static void mrc_peer_changed(struct mrc_peers *ps, struct mrc_peer *p)
{
	/* Further updates do not postpone the work, however fast they arrive. */
	if (!test_and_set_bit(MRC_PEER_CHANGED, &p->flags))
		mod_delayed_work(mrc_peer_wq, &ps->apply, MRC_PEER_MERGE);
}

bool mrc_peer_update(struct mrc_dev *dev, const struct in6_addr *self,
		     const struct in6_addr *peer, u8 port, u32 mask)
{
	struct mrc_peer *p;
	bool changed;

	p = mrc_peer_find(dev, self, peer, port);
	if (!p)
		return false;
	spin_lock_bh(&p->lock);
	changed = mrc_status_rx_update(&p->status_rx, mask, mrc_now());
	spin_unlock_bh(&p->lock);
	if (changed)
		mrc_peer_changed(dev->peers, p);
	return true;
}

bool mrc_peer_response(struct mrc_dev *dev, const struct in6_addr *self,
		       const struct in6_addr *peer, u8 port, u16 id)
{
	struct mrc_peer *p;
	bool ok;

	p = mrc_peer_find(dev, self, peer, port);
	if (!p)
		return false;
	spin_lock_bh(&p->lock);
	ok = mrc_status_tx_response(&p->status_tx, id);
	spin_unlock_bh(&p->lock);
	return ok;
}

struct mrc_qp *mrc_peer_get_qp(struct mrc_dev *dev,
			       const struct in6_addr *self,
			       const struct in6_addr *peer, u8 port)
{
	struct mrc_peer *p;
	struct mrc_qp *qp;

	p = mrc_peer_find(dev, self, peer, port);
	if (!p)
		return NULL;
	qp = rcu_dereference(p->resp_qp);
	/* The last election found no QP in RTR or RTS; mrc_peer_up() sets the next. */
	if (!qp)
		return NULL;
	if (!mrc_peer_qp_ok(qp)) {
		mrc_peer_changed(dev->peers, p);
		return NULL;
	}
	return mrc_qp_base_tryget(&qp->base) ? qp : NULL;
}

int mrc_peer_join(struct mrc_qp *qp)
{
	struct mrc_peers *ps = qp->base.dev->peers;
	struct mrc_peer_key key;
	struct mrc_peer *p;
	bool fresh = false;
	int ret = 0;

	mrc_peer_key(&key, &qp->flow.saddr, &qp->flow.daddr, qp->bound_port);
	mutex_lock(&ps->mutex);
	rcu_read_lock();
	p = rhashtable_lookup(&ps->ht, &key, mrc_peer_params);
	rcu_read_unlock();
	if (!p) {	/* peers are added and removed only under the mutex */
		p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
		if (!p) {
			ret = -ENOMEM;
			goto out;
		}
		p->key = key;
		INIT_LIST_HEAD(&p->qps);
		spin_lock_init(&p->lock);
		mrc_status_rx_init(&p->status_rx);
		ret = rhashtable_insert_fast(&ps->ht, &p->node,
					     mrc_peer_params);
		if (ret) {
			kfree(p);
			goto out;
		}
		if (list_empty(&ps->all))
			ps->told = mrc_dev_ports_up(ps->dev);
		list_add_tail(&p->list, &ps->all);
		fresh = true;
	}
	list_add_tail(&qp->peer_node, &p->qps);
	qp->peer = p;
	if (mrc_status_tx_needed(&p->status_tx, fresh,
				 ps->told != mrc_peer_all_ports(ps->dev),
				 ps->partial)) {
		if (mrc_peers_id(ps))
			mrc_peer_set_status(ps, p);
		mod_delayed_work(mrc_peer_wq, &ps->tell, 0);
	}
out:
	mutex_unlock(&ps->mutex);
	return ret;
}

void mrc_peer_up(struct mrc_qp *qp)
{
	struct mrc_peers *ps = qp->base.dev->peers;

	mutex_lock(&ps->mutex);
	if (qp->peer && !rcu_access_pointer(qp->peer->resp_qp))
		rcu_assign_pointer(qp->peer->resp_qp, qp);
	mutex_unlock(&ps->mutex);
}

void mrc_peer_leave(struct mrc_qp *qp)
{
	struct mrc_peers *ps = qp->base.dev->peers;
	struct mrc_peer *p = qp->peer;

	if (!p)
		return;
	mutex_lock(&ps->mutex);
	qp->peer = NULL;
	list_del(&qp->peer_node);
	if (rcu_access_pointer(p->resp_qp) == qp)
		mrc_peer_choose_qp(p);
	if (list_empty(&p->qps)) {
		list_del(&p->list);
		rhashtable_remove_fast(&ps->ht, &p->node, mrc_peer_params);
		kfree_rcu(p, rcu);
	}
	mutex_unlock(&ps->mutex);
}

int mrc_peers_create(struct mrc_dev *dev)
{
	struct mrc_peers *ps = kzalloc(sizeof(*ps), GFP_KERNEL);
	int ret;

	if (!ps)
		return -ENOMEM;
	ret = rhashtable_init(&ps->ht, &mrc_peer_params);
	if (ret) {
		kfree(ps);
		return ret;
	}
	ps->dev = dev;
	ps->id = -1;
	mutex_init(&ps->mutex);
	INIT_LIST_HEAD(&ps->all);
	INIT_DELAYED_WORK(&ps->apply, mrc_peers_apply);
	INIT_DELAYED_WORK(&ps->tell, mrc_peers_send_updates);
	dev->peers = ps;
	return 0;
}

void mrc_peers_destroy(struct mrc_dev *dev)
{
	struct mrc_peers *ps = dev->peers;

	/* QPs, packets and netdevs are gone: nothing queues these any more. */
	cancel_delayed_work_sync(&ps->tell);
	cancel_delayed_work_sync(&ps->apply);
	rhashtable_destroy(&ps->ht);
	mutex_destroy(&ps->mutex);
	dev->peers = NULL;
	kfree(ps);
}

int mrc_peer_init(void)
{
	/* Port status updates are urgent and must not queue behind other work. */
	mrc_peer_wq = alloc_workqueue("mrc_peer", WQ_UNBOUND | WQ_HIGHPRI |
				      WQ_MEM_RECLAIM, 0);
	return mrc_peer_wq ? 0 : -ENOMEM;
}

void mrc_peer_exit(void)
{
	destroy_workqueue(mrc_peer_wq);
}
