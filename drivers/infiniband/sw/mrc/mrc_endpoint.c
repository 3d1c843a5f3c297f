// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Endpoint operations: they belong to the node, not to a QP (MRC 1.0 §12). EV
 * probes are answered. Port status updates and responses are counted and
 * dropped: nothing here asks, and an update that is not acted upon must not be
 * confirmed.
 */
#include <linux/jiffies.h>
#include <linux/random.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "mrc_qp.h"

#define MRC_EP_RATE	10000	/* answers per second and source, §12.1 */
#define MRC_EP_BUCKETS	256	/* sources that share one share the rate */

/* Answers given in the current second. */
struct mrc_ep_bucket {
	unsigned long since;
	u32 n;
};

static struct mrc_ep_bucket mrc_ep_buckets[MRC_EP_BUCKETS];
static DEFINE_SPINLOCK(mrc_ep_lock);

static bool mrc_ep_may_answer(const struct in6_addr *peer)
{
	static u32 seed __read_mostly;
	struct mrc_ep_bucket *b;
	bool ok = false;

	net_get_random_once(&seed, sizeof(seed));
	b = &mrc_ep_buckets[__ipv6_addr_jhash(peer, seed) % MRC_EP_BUCKETS];
	spin_lock_bh(&mrc_ep_lock);
	if (!b->n || time_after_eq(jiffies, b->since + HZ)) {
		b->since = jiffies;
		b->n = 0;
	}
	if (b->n < MRC_EP_RATE) {
		b->n++;
		ok = true;
	}
	spin_unlock_bh(&mrc_ep_lock);
	return ok;
}

static int mrc_ep_answer(struct mrc_dev *dev, struct net_device *ndev,
			 const struct mrc_hdr *req, bool ipv6,
			 const struct in6_addr *peer,
			 const struct in6_addr *self)
{
	const struct mrc_hdr hdr = {
		.opcode = MRC_OP_ENDPOINT_RESP,
		.pkey = MRC_PKEY_DEFAULT,
		.dqp = MRC_QPN_ENDPOINT,
		.psn = req->psn & 0xFFFF,
		.tstamp = req->tstamp,
		.epop.op = req->epop.op,
	};
	const struct mrc_head head = {
		.hdr = &hdr,
		.saddr = self,
		.daddr = peer,
		.entropy = get_random_u32() | 0xC000,
		.ipv6 = ipv6,
		.tos = MRC_DSCP_CONTROL << 2 | INET_ECN_NOT_ECT,
	};
	struct dst_entry *dst;
	struct sk_buff *skb;
	u32 cookie;
	int ret;

	dst = mrc_route_lookup(dev->net, ndev, ipv6, self, peer,
			       IPV6_MIN_MTU / 2, &cookie);
	if (!dst)
		return -ENETUNREACH;
	skb = mrc_build_bare(&head);
	if (!skb) {
		dst_release(dst);
		return -ENOMEM;
	}
	skb_dst_set(skb, dst);
	/* net_xmit_eval() evaluates its argument twice. */
	if (ipv6)
		ret = ip6_local_out(dev->net, NULL, skb);
	else
		ret = ip_local_out(dev->net, NULL, skb);
	return net_xmit_eval(ret);
}

void mrc_endpoint_rcv(struct mrc_dev *dev, struct net_device *ndev,
		      const struct mrc_hdr *hdr, bool ipv6,
		      const struct in6_addr *peer, const struct in6_addr *self)
{
	u8 port = mrc_dev_port_of(dev, ndev);
	enum mrc_counter id;

	id = hdr->opcode == MRC_OP_ENDPOINT_REQ ? MRC_CTR_RX_ENDPOINT_REQ :
						  MRC_CTR_RX_ENDPOINT_RESP;
	mrc_ctr_add(&dev->ctr, port, id, 1);

	if (hdr->opcode != MRC_OP_ENDPOINT_REQ ||
	    hdr->epop.op != MRC_EPOP_EV_PROBE || !mrc_ep_may_answer(peer))
		id = MRC_CTR_DROP_ENDPOINT;
	else if (mrc_ep_answer(dev, ndev, hdr, ipv6, peer, self))
		id = MRC_CTR_TX_ERROR;
	else
		id = MRC_CTR_TX_ENDPOINT_RESP;
	mrc_ctr_add(&dev->ctr, port, id, 1);
}
