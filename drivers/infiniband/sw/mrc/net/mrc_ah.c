// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles: the destinations of datagrams. Work requests name an AH by number,
 * because programs write work requests and the kernel cannot trust a pointer in them.
 */
#include <linux/etherdevice.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "mrc_net.h"

/**
 * struct mrc_ah - address handle
 * @ib: ib_core's part
 * @av: the part that the packet path uses
 * @grh: as given; without the GID entry, which the RDMA core holds
 * @dmac: resolved by the RDMA core
 * @sl: service level
 * @static_rate: as given
 * @port: 1-based
 * @counted: counted, because a program created it
 */
struct mrc_ah {
	struct ib_ah ib;
	struct mrc_av *av;
	struct ib_global_route grh;
	u8 dmac[ETH_ALEN];
	u8 sl;
	u8 static_rate;
	u32 port;
	bool counted;
};

static struct mrc_ah *to_mah(struct ib_ah *ibah)
{
	return container_of(ibah, struct mrc_ah, ib);
}

u32 mrc_ah_num(struct ib_ah *ibah)
{
	return to_mah(ibah)->av->num;
}

struct mrc_av *mrc_av_find(struct mrc_dev *dev, const struct ib_pd *pd, u32 num)
{
	struct mrc_av *av = xa_load(&dev->avs, num);

	return av && av->pd == pd ? av : NULL;
}

/* Replace a route that is missing or no longer valid. A referenced dst or NULL. */
static struct dst_entry *mrc_av_refresh(struct mrc_dev *dev, struct mrc_av *av)
{
	const struct mrc_ends ends = {
		.saddr = &av->saddr,
		.daddr = &av->daddr,
		.dport = av->dport,
		.ipv6 = av->ipv6,
	};
	struct dst_entry *dst = NULL, *old = NULL;
	struct net_device *ndev;
	unsigned long flags;
	u32 cookie = 0;

	ndev = rcu_dereference(dev->port[av->port].ndev);
	if (ndev)
		dst = mrc_route_lookup(dev->net, ndev, &ends, 0, &cookie);
	spin_lock_irqsave(&av->lock, flags);
	if (!av->dead) {	/* else use the route for this packet only */
		old = rcu_replace_pointer(av->route.dst, dst,
					  lockdep_is_held(&av->lock));
		WRITE_ONCE(av->route.cookie, cookie);
		if (dst)
			dst_hold(dst);
	}
	spin_unlock_irqrestore(&av->lock, flags);
	dst_release(old);
	return dst;
}

struct dst_entry *mrc_av_route(struct mrc_dev *dev, struct mrc_av *av)
{
	struct dst_entry *dst = rcu_dereference(av->route.dst);

	if (dst && dst_check(dst, READ_ONCE(av->route.cookie)) &&
	    dst_hold_safe(dst))
		return dst;
	return mrc_av_refresh(dev, av);
}

void mrc_av_drop_route(struct mrc_av *av)
{
	struct dst_entry *dst;
	unsigned long flags;

	spin_lock_irqsave(&av->lock, flags);
	dst = rcu_replace_pointer(av->route.dst, NULL,
				  lockdep_is_held(&av->lock));
	spin_unlock_irqrestore(&av->lock, flags);
	dst_release(dst);
}

void mrc_av_set_grh(struct mrc_dev *dev, struct mrc_av *av,
		    const struct ib_global_route *grh)
{
	memcpy(&av->saddr, &grh->sgid_attr->gid, sizeof(av->saddr));
	memcpy(&av->daddr, &grh->dgid, sizeof(av->daddr));
	av->dport = mrc_dport(dev, &av->daddr);
	av->ipv6 = !ipv6_addr_v4mapped(&av->daddr);
	av->mcast = rdma_is_multicast_addr(&av->daddr);
	av->tos = grh->traffic_class;
	av->ttl = grh->hop_limit ?: MRC_HOP_LIMIT;
	av->flow_label = grh->flow_label & 0xfffff;
}

/* Assign a number that was not in use recently. Any context. */
static int mrc_av_insert(struct mrc_dev *dev, struct mrc_av *av, gfp_t gfp)
{
	unsigned long flags;
	int ret;

	/*
	 * With a sleeping caller __xa_alloc_cyclic() drops the lock to allocate and
	 * enables interrupts meanwhile. They were enabled before, so that is correct.
	 */
	xa_lock_irqsave(&dev->avs, flags);
	ret = __xa_alloc_cyclic(&dev->avs, &av->num, av, xa_limit_31b,
				&dev->av_next, gfp);
	xa_unlock_irqrestore(&dev->avs, flags);
	return ret < 0 ? ret : 0;
}

static int mrc_create_ah(struct ib_ah *ibah,
			 struct rdma_ah_init_attr *init_attr,
			 struct ib_udata *udata)
{
	gfp_t gfp = init_attr->flags & RDMA_CREATE_AH_SLEEPABLE ? GFP_KERNEL :
								  GFP_ATOMIC;
	struct rdma_ah_attr *attr = init_attr->ah_attr;
	struct mrc_dev *dev = to_mdev(ibah->device);
	struct mrc_create_ah_resp resp = {};
	const struct ib_global_route *grh;
	struct mrc_ah *ah = to_mah(ibah);
	int ret;

	ret = mrc_udata_in(udata, NULL, 0);
	if (ret)
		return ret;
	/* The core has checked the port and the GID index. */
	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return -EINVAL;
	grh = rdma_ah_read_grh(attr);
	if (!grh->sgid_attr ||
	    ipv6_addr_v4mapped((const struct in6_addr *)&grh->dgid) !=
	    ipv6_addr_v4mapped((const struct in6_addr *)&grh->sgid_attr->gid))
		return -EINVAL;
	if (udata) {
		ret = mrc_count(dev, MRC_COUNT_AH);
		if (ret)
			return ret;
		ah->counted = true;
		gfp = GFP_KERNEL_ACCOUNT;
	}
	ah->grh = *grh;
	ah->grh.sgid_attr = NULL;
	ether_addr_copy(ah->dmac, attr->roce.dmac);
	ah->sl = rdma_ah_get_sl(attr);
	ah->static_rate = rdma_ah_get_static_rate(attr);
	ah->port = rdma_ah_get_port_num(attr);

	ret = -ENOMEM;
	ah->av = kzalloc(sizeof(*ah->av), gfp);
	if (!ah->av)
		goto err_count;
	spin_lock_init(&ah->av->lock);
	ah->av->pd = ah->ib.pd;
	ah->av->port = ah->port;
	mrc_av_set_grh(dev, ah->av, grh);
	ret = mrc_av_insert(dev, ah->av, gfp);
	if (ret)
		goto err_av;
	if (udata) {
		resp.ah_num = ah->av->num;
		ret = mrc_udata_out(udata, &resp, sizeof(resp));
		if (ret)
			goto err_erase;
	}
	return 0;

err_erase:
	xa_erase_irq(&dev->avs, ah->av->num);
err_av:
	kfree_rcu(ah->av, rcu);
err_count:
	if (ah->counted)
		mrc_uncount(dev, MRC_COUNT_AH);
	return ret;
}

static int mrc_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	const struct mrc_ah *ah = to_mah(ibah);

	memset(attr, 0, sizeof(*attr));
	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_sl(attr, ah->sl);
	rdma_ah_set_static_rate(attr, ah->static_rate);
	rdma_ah_set_port_num(attr, ah->port);
	attr->grh = ah->grh;
	rdma_ah_set_ah_flags(attr, IB_AH_GRH);
	ether_addr_copy(attr->roce.dmac, ah->dmac);
	return 0;
}

static int mrc_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct mrc_dev *dev = to_mdev(ibah->device);
	struct mrc_ah *ah = to_mah(ibah);
	struct mrc_av *av = ah->av;
	unsigned long irq;

	xa_lock_irqsave(&dev->avs, irq);
	__xa_erase(&dev->avs, av->num);
	xa_unlock_irqrestore(&dev->avs, irq);
	/* Packets that found the AH before may still be looking up a route. */
	spin_lock_irqsave(&av->lock, irq);
	av->dead = true;
	spin_unlock_irqrestore(&av->lock, irq);
	mrc_av_drop_route(av);
	kfree_rcu(av, rcu);
	if (ah->counted)
		mrc_uncount(dev, MRC_COUNT_AH);
	return 0;
}

const struct ib_device_ops mrc_ah_ops = {
	.create_ah = mrc_create_ah,
	.create_user_ah = mrc_create_ah,
	.query_ah = mrc_query_ah,
	.destroy_ah = mrc_destroy_ah,
	INIT_RDMA_OBJ_SIZE(ib_ah, mrc_ah, ib),
};
