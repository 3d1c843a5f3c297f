// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device: what each layer keeps for it, made and freed.
 */
#include <linux/rtnetlink.h>

#include "ctl/mrc_ctl.h"
#include "mrc_main.h"
#include "roce/mrc_roce.h"

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
	ret = mrc_parent_create(dev);
	if (ret)
		goto err_io;
	ret = mrc_ctl_create(dev);
	if (ret)
		goto err_parent;
	ret = mrc_sock_get(net);
	if (ret)
		goto err_ctl;

	dev->net = net;
	dev->n_ports = n_ports;
	dev->ext = true;
	dev->attr.num_evs = MRC_EV_DEFAULT;
	dev->attr.cc = &mrc_cc_none;
	for (i = 1; i <= n_ports; i++) {
		dev->port[i].dev = dev;
		dev->port[i].num = i;
		dev->port[i].mtu = IB_MTU_4096;
	}
	xa_init(&dev->mrs);
	mrc_odp_dev_init(&dev->odp);
	/* Consumers in the kernel make AHs in any context. */
	xa_init_flags(&dev->avs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	mrc_tc_init(dev);
	ret = mrc_req_ids_create(dev);
	if (ret)
		goto err_sock;
	ret = mrc_ep_create(dev);
	if (ret)
		goto err_ids;
	ret = mrc_rev_probes_create(dev);
	if (ret)
		goto err_ep;
	ret = mrc_peers_create(dev);
	if (ret)
		goto err_rev;
	ret = mrc_mcast_create(dev);
	if (ret)
		goto err_peers;

	dev->ib.node_type = RDMA_NODE_IB_CA;
	dev->ib.phys_port_cnt = n_ports;
	dev->ib.num_comp_vectors = num_possible_cpus();
	dev->ib.uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				   BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
				   BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	dev->ib.driver_def = mrc_uapi_defs;
	strscpy(dev->ib.node_desc, "mrc", sizeof(dev->ib.node_desc));
	ib_set_device_ops(&dev->ib, &mrc_dev_ops);
	ib_set_device_ops(&dev->ib, &mrc_port_ops);
	ib_set_device_ops(&dev->ib, &mrc_ah_ops);
	ib_set_device_ops(&dev->ib, &mrc_cq_ops);
	ib_set_device_ops(&dev->ib, &mrc_srq_ops);
	ib_set_device_ops(&dev->ib, &mrc_mr_ops);
	ib_set_device_ops(&dev->ib, &mrc_qp_ops);
	ib_set_device_ops(&dev->ib, &mrc_stats_ops);
	ib_set_device_ops(&dev->ib, &mrc_sysfs_ops);
	ib_set_device_ops(&dev->ib, &mrc_mcast_ops);

	mrc_dev_list(dev);
	return dev;

err_peers:
	mrc_peers_destroy(dev);
err_rev:
	mrc_rev_probes_destroy(dev);
err_ep:
	mrc_ep_destroy(dev);
err_ids:
	mrc_req_ids_destroy(dev);
err_sock:
	mrc_sock_put(net);
err_ctl:
	mrc_ctl_destroy(dev);
err_parent:
	mrc_parent_destroy(dev);
err_io:
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

	/* Netdev events that found the device before have ended after this. */
	rtnl_lock();
	for (i = 1; i <= dev->n_ports; i++)
		mrc_port_detach(dev, i);
	rtnl_unlock();

	mrc_parent_destroy(dev);
	mrc_peers_destroy(dev);
	mrc_rev_probes_destroy(dev);
	mrc_ep_destroy(dev);
	mrc_req_ids_destroy(dev);
	mrc_sock_put(dev->net);
	mrc_mcast_destroy(dev);
	xa_destroy(&dev->avs);
	xa_destroy(&dev->mrs);
	mrc_ctl_destroy(dev);
	free_percpu(dev->io);
	free_percpu(dev->ctr.v);

	/* Last: module exit waits for devices as long as they are listed. */
	mrc_dev_delist(dev);
}
