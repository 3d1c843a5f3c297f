// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creation and destruction of a device, with the state that each layer keeps for it.
 */
#include <linux/rtnetlink.h>

#include "mrc_main.h"

static int mrc_dev_open_sock(struct mrc_dev *dev)
{
	return mrc_sock_get(dev->net);
}

static void mrc_dev_close_sock(struct mrc_dev *dev)
{
	mrc_sock_srv6(dev, false);
	mrc_sock_put(dev->net);
}

/**
 * struct mrc_dev_part - state that a layer keeps for a device
 * @create: sleeps. 0 or a negative errno
 * @destroy: undoes @create; called when the ports have no netdevs any more
 */
struct mrc_dev_part {
	int (*create)(struct mrc_dev *dev);
	void (*destroy)(struct mrc_dev *dev);
};

/* They are destroyed in reverse order. */
static const struct mrc_dev_part mrc_dev_parts[] = {
#ifdef CONFIG_INFINIBAND_MRC_CTL
	{ mrc_ctl_create, mrc_ctl_destroy },
#endif
#ifdef CONFIG_INFINIBAND_MRC_UD
	{ mrc_mcast_create, mrc_mcast_destroy },
#endif
	{ mrc_dev_open_sock, mrc_dev_close_sock },
	{ mrc_req_ids_create, mrc_req_ids_destroy },
#ifdef CONFIG_INFINIBAND_MRC_CTL
	{ mrc_ep_create, mrc_ep_destroy },
#endif
	{ mrc_rev_probes_create, mrc_rev_probes_destroy },
	{ mrc_peers_create, mrc_peers_destroy },
	{ mrc_parent_create, mrc_parent_destroy },
};

static const struct ib_device_ops *const mrc_ops[] = {
	&mrc_dev_ops,
	&mrc_port_ops,
	&mrc_ah_ops,
	&mrc_cq_ops,
	&mrc_srq_ops,
	&mrc_mr_ops,
	&mrc_qp_ops,
	&mrc_stats_ops,
	&mrc_sysfs_ops,
#ifdef CONFIG_INFINIBAND_MRC_UD
	&mrc_mcast_ops,
#endif
};

/* Destroy the first @n parts, in reverse order. */
static void mrc_dev_destroy_parts(struct mrc_dev *dev, unsigned int n)
{
	while (n--)
		mrc_dev_parts[n].destroy(dev);
}

struct mrc_dev *mrc_dev_alloc(struct net *net, u8 n_ports)
{
	struct mrc_dev *dev;
	unsigned int i;
	int ret;

	dev = ib_alloc_device_with_net(mrc_dev, ib, net);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->ctr.n_ports = n_ports;
	dev->ctr.v = __alloc_percpu((n_ports + 1) * MRC_CTR_MAX * sizeof(u64),
				    __alignof__(u64));
	if (!dev->ctr.v) {
		ret = -ENOMEM;
		goto err_dev;
	}
	dev->io = __alloc_percpu((n_ports + 1) * sizeof(*dev->io),
				 __alignof__(u64));
	if (!dev->io) {
		ret = -ENOMEM;
		goto err_ctr;
	}

	dev->net = net;
	dev->n_ports = n_ports;
	dev->ext = IS_ENABLED(CONFIG_INFINIBAND_MRC_EXT);
	dev->attr.num_evs = MRC_EV_DEFAULT;
	dev->attr.mpr = MRC_MPR_DEFAULT;
	dev->attr.cc = mrc_cc_default();
	for (i = 0; i < MRC_COUNTED; i++)
		dev->attr.max[i] = MRC_MAX_OBJECTS;
	for (i = 1; i <= n_ports; i++) {
		dev->port[i].dev = dev;
		dev->port[i].num = i;
		dev->port[i].mtu = IB_MTU_4096;
	}
	xa_init(&dev->mrs);
	mrc_odp_dev_init(&dev->odp);
	/* IRQ-safe lock: consumers in the kernel create AHs in any context. */
	xa_init_flags(&dev->avs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	mrc_tc_init(dev);
	for (i = 0; i < ARRAY_SIZE(mrc_dev_parts); i++) {
		ret = mrc_dev_parts[i].create(dev);
		if (ret)
			goto err_parts;
	}

	dev->ib.node_type = RDMA_NODE_IB_CA;
	dev->ib.phys_port_cnt = n_ports;
	dev->ib.num_comp_vectors = num_possible_cpus();
	dev->ib.uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				   BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
				   BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
#ifdef CONFIG_INFINIBAND_MRC_CTL
	dev->ib.driver_def = mrc_uapi_defs;
#endif
	strscpy(dev->ib.node_desc, "mrc", sizeof(dev->ib.node_desc));
	for (i = 0; i < ARRAY_SIZE(mrc_ops); i++)
		ib_set_device_ops(&dev->ib, mrc_ops[i]);

	mrc_dev_list(dev);
	return dev;

err_parts:
	mrc_dev_destroy_parts(dev, i);
	free_percpu(dev->io);
err_ctr:
	free_percpu(dev->ctr.v);
err_dev:
	ib_dealloc_device(&dev->ib);
	return ERR_PTR(ret);
}

void mrc_dealloc_driver(struct ib_device *ibdev)
{
	struct mrc_dev *dev = to_mdev(ibdev);
	unsigned int i;

	/* After this, netdev events that found the device earlier have been handled. */
	rtnl_lock();
	for (i = 1; i <= dev->n_ports; i++)
		mrc_port_detach(dev, i);
	rtnl_unlock();

	mrc_dev_destroy_parts(dev, ARRAY_SIZE(mrc_dev_parts));
	mrc_odp_dev_exit(&dev->odp);
	mrc_dports_publish(dev, NULL);
	xa_destroy(&dev->avs);
	xa_destroy(&dev->mrs);
	free_percpu(dev->io);
	free_percpu(dev->ctr.v);

	/* Must be last: module exit waits until all devices are delisted. */
	mrc_dev_delist(dev);
}
