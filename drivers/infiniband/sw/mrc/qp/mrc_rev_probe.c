// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Probes of reverse paths (MRC 1.0 §11.8). They test whether the feedback of a responder
 * reaches the peer.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "mrc_qp_priv.h"

#define MRC_REV_PROBES	1024	/* outstanding probes whose responses can be matched */

/* An outstanding probe. @qpn: the QP that sent it, 0 = the entry is unused. */
struct mrc_rev_probe {
	u32 qpn;
	u16 id;
};

/**
 * struct mrc_rev_probes - outstanding probes of reverse paths of a device
 * @lock: (bh) leaf, except that the lock of request ids is taken inside
 * @limit: rate limit of the device; only one bucket is used
 * @probe: indexed by request id modulo MRC_REV_PROBES; a new probe replaces an old one
 */
struct mrc_rev_probes {
	spinlock_t lock;	/* see above */
	struct mrc_ep_limit limit;
	struct mrc_rev_probe probe[MRC_REV_PROBES];
};

int mrc_rev_probes_create(struct mrc_dev *dev)
{
	dev->rev_probes = kvzalloc(sizeof(*dev->rev_probes), GFP_KERNEL);
	if (!dev->rev_probes)
		return -ENOMEM;
	spin_lock_init(&dev->rev_probes->lock);
	return 0;
}

void mrc_rev_probes_destroy(struct mrc_dev *dev)
{
	kvfree(dev->rev_probes);
	dev->rev_probes = NULL;
}

void mrc_rev_probe(struct mrc_qp *qp, struct sk_buff_head *list, u64 now)
{
	struct mrc_tx_desc desc = { .tc = MRC_TC_CONTROL };
	struct mrc_rev_probes *ps = qp->base.dev->rev_probes;
	struct sk_buff *skb;
	int id = -EAGAIN;

	desc.ev = mrc_rev_probe_due(mrc_resp_rev(&qp->rx.resp), &qp->paths, now);
	if (desc.ev < 0)
		return;
	spin_lock(&ps->lock);
	/*
	 * Peers limit their responses to the same rate. The limit also leaves request
	 * ids for controllers. The response arrives before the id can be used again.
	 */
	if (mrc_ep_limit_ok(&ps->limit, 0, now))
		id = mrc_req_id_alloc_short(qp->base.dev);
	if (id >= 0) {
		struct mrc_rev_probe *r = &ps->probe[id % MRC_REV_PROBES];

		r->id = id;
		r->qpn = qp->base.qpn;
	}
	spin_unlock(&ps->lock);
	if (id < 0)
		return;
	mrc_ep_request(&desc.hdr, MRC_EPOP_EV_PROBE, id, now >> MRC_TS_SHIFT);
	desc.port = mrc_paths_port(&qp->paths, desc.ev);
	desc.entropy = mrc_paths_entropy(&qp->paths, desc.ev);
	skb = mrc_build_skb(qp, &desc);
	if (IS_ERR(skb)) {
		mrc_ctr_add(&qp->base.dev->ctr, desc.port, MRC_CTR_TX_ERROR, 1);
		return;
	}
	mrc_rev_probe_sent(mrc_resp_rev(&qp->rx.resp), &qp->paths, desc.ev, id, now);
	mrc_ctr_add(&qp->base.dev->ctr, desc.port, MRC_CTR_TX_ENDPOINT_REQ, 1);
	mrc_ctr_add(&qp->base.dev->ctr, desc.port, MRC_CTR_TX_REV_PROBE, 1);
	__skb_queue_tail(list, skb);
}

bool mrc_rev_probe_response(struct mrc_dev *dev, u8 port,
			    const struct mrc_hdr *hdr,
			    const struct in6_addr *peer,
			    const struct in6_addr *self, u64 now)
{
	struct mrc_rev_probes *ps = dev->rev_probes;
	struct mrc_rev_probe *r = &ps->probe[hdr->psn % MRC_REV_PROBES];
	u16 id = hdr->psn & 0xFFFF;
	bool mine, ok = false;
	struct mrc_qp *qp;
	u32 qpn;

	spin_lock_bh(&ps->lock);
	qpn = r->id == id ? r->qpn : 0;
	spin_unlock_bh(&ps->lock);
	qp = qpn ? mrc_qp_get(qpn) : NULL;
	if (!qp)
		return false;
	spin_lock_bh(&qp->rx.lock);
	mine = qp->base.dev == dev && qp->rx.on &&
	       ipv6_addr_equal(&qp->flow.daddr, peer) &&
	       ipv6_addr_equal(&qp->flow.saddr, self);
	if (mine)
		ok = mrc_rev_response(mrc_resp_rev(&qp->rx.resp), &qp->paths, id, now);
	spin_unlock_bh(&qp->rx.lock);
	mrc_qp_put(qp);
	if (mine) {
		spin_lock_bh(&ps->lock);
		if (r->id == id)
			r->qpn = 0;
		spin_unlock_bh(&ps->lock);
		mrc_ctr_add(&dev->ctr, port, ok ? MRC_CTR_REV_CONFIRMED :
						  MRC_CTR_REV_LATE, 1);
	}
	return mine;
}
