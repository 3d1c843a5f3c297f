// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast groups and the QPs attached to them. For each attached QP the netdev of its
 * port joins the IP group once; the kernel counts these memberships.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "mrc_ud.h"

#define MRC_MCAST_BITS	7

/**
 * struct mrc_member - a QP in a group
 * @rcu: delayed free
 * @node: in the bucket of the group
 * @addr: address of the group, v4-mapped for IPv4
 * @ud: the QP, which is detached before it is freed
 * @n: how often it is attached; under RTNL. The core lets a program attach a QP to a group
 *	once for each LID, and does not destroy the QP before as many are detached
 * @port: port whose netdev is a member of the IP group
 * @ndev: netdev of @port, NULL if the port is vacant or joining failed; under RTNL.
 *	Without a reference: the port leaves its groups before it releases the netdev
 */
struct mrc_member {
	struct rcu_head rcu;
	struct hlist_node node;
	struct in6_addr addr;
	struct mrc_ud *ud;
	unsigned int n;
	u8 port;
	struct net_device *ndev;
};

/**
 * struct mrc_mcast - multicast groups of a device
 * @n: number of members
 * @seed: of the hash, so that a sender cannot choose groups of one bucket
 * @bucket: members by hash of the address; changed under RTNL, read under RCU
 */
struct mrc_mcast {
	unsigned int n;
	u32 seed;
	struct hlist_head bucket[1 << MRC_MCAST_BITS];
};

static struct hlist_head *mrc_mcast_bucket(struct mrc_mcast *mc,
					   const struct in6_addr *addr)
{
	u32 h = jhash2((__force const u32 *)addr->s6_addr32, 4, mc->seed);

	return &mc->bucket[h >> (32 - MRC_MCAST_BITS)];
}

static int mrc_mcast_join(struct net_device *ndev, const struct in6_addr *addr)
{
	struct in_device *in_dev;

	ASSERT_RTNL();
	if (!ipv6_addr_v4mapped(addr))
#if IS_ENABLED(CONFIG_IPV6)
		return ipv6_dev_mc_inc(ndev, addr);
#else
		return -EAFNOSUPPORT;
#endif
	in_dev = __in_dev_get_rtnl(ndev);
	if (!in_dev)
		return -EADDRNOTAVAIL;
	ip_mc_inc_group(in_dev, addr->s6_addr32[3]);
	return 0;
}

static void mrc_mcast_leave(struct net_device *ndev,
			    const struct in6_addr *addr)
{
	struct in_device *in_dev;

	ASSERT_RTNL();
	if (!ipv6_addr_v4mapped(addr)) {
#if IS_ENABLED(CONFIG_IPV6)
		ipv6_dev_mc_dec(ndev, addr);
#endif
		return;
	}
	in_dev = __in_dev_get_rtnl(ndev);
	if (in_dev)
		ip_mc_dec_group(in_dev, addr->s6_addr32[3]);
}

static struct mrc_member *mrc_member_find(struct mrc_mcast *mc,
					  const struct mrc_ud *ud,
					  const struct in6_addr *addr)
{
	struct mrc_member *m;

	hlist_for_each_entry(m, mrc_mcast_bucket(mc, addr), node)
		if (m->ud == ud && ipv6_addr_equal(&m->addr, addr))
			return m;
	return NULL;
}

static unsigned int mrc_group_size(struct mrc_mcast *mc, const struct in6_addr *addr)
{
	struct mrc_member *m;
	unsigned int n = 0;

	hlist_for_each_entry(m, mrc_mcast_bucket(mc, addr), node)
		n += ipv6_addr_equal(&m->addr, addr);
	return n;
}

/* Return: 0, -EEXIST if a member was there and counts once more, or an error. */
static int mrc_member_add(struct mrc_ud *ud, struct mrc_member *m)
{
	struct mrc_mcast *mc = ud->base.dev->mcast;
	struct mrc_member *old = mrc_member_find(mc, ud, &m->addr);
	struct net_device *ndev;
	int ret;

	if (old) {
		old->n++;
		return -EEXIST;
	}
	if (mc->n >= MRC_MAX_MCAST ||
	    mrc_group_size(mc, &m->addr) >= MRC_MAX_MCAST_QPS)
		return -ENOMEM;
	ndev = rtnl_dereference(ud->base.dev->port[m->port].ndev);
	if (ndev) {
		ret = mrc_mcast_join(ndev, &m->addr);
		if (ret)
			return ret;
		m->ndev = ndev;
	}
	m->n = 1;
	mc->n++;
	hlist_add_head_rcu(&m->node, mrc_mcast_bucket(mc, &m->addr));
	return 0;
}

static int mrc_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct mrc_ud *ud = mrc_ud_from(ibqp);
	struct mrc_member *m;
	int ret;

	if (!ud || !READ_ONCE(ud->port))
		return -EINVAL;
	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return -ENOMEM;
	m->ud = ud;
	m->port = READ_ONCE(ud->port);
	memcpy(&m->addr, gid, sizeof(m->addr));
	rtnl_lock();
	ret = mrc_member_add(ud, m);
	rtnl_unlock();
	if (ret)
		kfree(m);
	return ret == -EEXIST ? 0 : ret;
}

/* Remove @m from its group. The caller frees it after a grace period. Under RTNL. */
static void mrc_member_del(struct mrc_member *m)
{
	if (m->ndev)
		mrc_mcast_leave(m->ndev, &m->addr);
	hlist_del_rcu(&m->node);
	m->ud->base.dev->mcast->n--;
}

static int mrc_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct mrc_ud *ud = mrc_ud_from(ibqp);
	struct mrc_member *m, *gone = NULL;
	struct in6_addr addr;

	if (!ud)
		return -EINVAL;
	memcpy(&addr, gid, sizeof(addr));
	rtnl_lock();
	m = mrc_member_find(ud->base.dev->mcast, ud, &addr);
	if (m && !--m->n) {
		mrc_member_del(m);
		gone = m;
	}
	rtnl_unlock();
	if (gone)
		kfree_rcu(gone, rcu);
	return m ? 0 : -EINVAL;
}

void mrc_mcast_detach_all(struct mrc_ud *ud)
{
	struct mrc_mcast *mc = ud->base.dev->mcast;
	struct mrc_member *m;
	struct hlist_node *n;
	unsigned int i;

	/* @ud cannot be attached any more. Other QPs may still come and go. */
	if (!READ_ONCE(mc->n))
		return;
	rtnl_lock();
	for (i = 0; i < ARRAY_SIZE(mc->bucket); i++) {
		hlist_for_each_entry_safe(m, n, &mc->bucket[i], node) {
			if (m->ud != ud)
				continue;
			mrc_member_del(m);
			kfree_rcu(m, rcu);
		}
	}
	rtnl_unlock();
}

static void mrc_mcast_moved(struct mrc_port *port, struct net_device *ndev,
			    bool here)
{
	struct mrc_mcast *mc = port->dev->mcast;
	struct mrc_member *m;
	unsigned int i;

	ASSERT_RTNL();
	for (i = 0; mc && i < ARRAY_SIZE(mc->bucket); i++) {
		hlist_for_each_entry(m, &mc->bucket[i], node) {
			if (m->port != port->num)
				continue;
			if (m->ndev)
				mrc_mcast_leave(m->ndev, &m->addr);
			m->ndev = NULL;
			if (here && !mrc_mcast_join(ndev, &m->addr))
				m->ndev = ndev;
		}
	}
}

void mrc_mcast_rcv(struct mrc_dev *dev, const struct mrc_pkt *pkt)
{
	struct mrc_member *m;
	bool any = false;

	rcu_read_lock();
	hlist_for_each_entry_rcu(m, mrc_mcast_bucket(dev->mcast, &pkt->daddr),
				 node) {
		if (m->port != pkt->rx.port ||
		    !ipv6_addr_equal(&m->addr, &pkt->daddr) ||
		    !mrc_ud_tryget(m->ud))
			continue;
		any = true;
		mrc_ud_deliver(m->ud, pkt);
		mrc_ud_put(m->ud);
	}
	rcu_read_unlock();
	if (!any)
		mrc_ctr_add(&dev->ctr, pkt->rx.port, MRC_CTR_DROP_QPN, 1);
}

int mrc_mcast_create(struct mrc_dev *dev)
{
	dev->mcast = kzalloc(sizeof(*dev->mcast), GFP_KERNEL);
	if (!dev->mcast)
		return -ENOMEM;
	dev->mcast->seed = get_random_u32();
	return 0;
}

void mrc_mcast_destroy(struct mrc_dev *dev)
{
	kfree(dev->mcast);
	dev->mcast = NULL;
}

const struct mrc_port_client mrc_mcast_client = {
	.moved = mrc_mcast_moved,
};

const struct ib_device_ops mrc_mcast_ops = {
	.attach_mcast = mrc_attach_mcast,
	.detach_mcast = mrc_detach_mcast,
};
