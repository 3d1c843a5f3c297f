// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module: its layers are put together here, from the bottom to the top. What a
 * layer calls above itself it is given in a table.
 */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "compat/mrc_compat_crc.h"
#include "ctl/mrc_ctl.h"
#include "mrc_main.h"
#include "roce/mrc_roce.h"

MODULE_AUTHOR("soft MRC authors");
MODULE_DESCRIPTION("Soft RDMA over Multipath Reliable Connection (MRC 1.0)");
MODULE_LICENSE("Dual BSD/GPL");

/* Who has to know about ports, in this order. */
static const struct mrc_port_client *const mrc_port_clients[] = {
	&mrc_trim_client,
	&mrc_mcast_client,
	&mrc_qp_port_client,
	NULL
};

static const struct mrc_qp_kind *const mrc_qp_kinds[IB_QPT_MAX] = {
	[IB_QPT_RC] = &mrc_qp_kind_rc,
	[IB_QPT_UC] = &mrc_qp_kind_ud,
	[IB_QPT_UD] = &mrc_qp_kind_ud,
	[IB_QPT_GSI] = &mrc_qp_kind_ud,
};

static const struct mrc_rcv_ops mrc_rcv_ops = {
	.find = mrc_qp_pkt_find,
	.put = mrc_qp_put,
	.rcv = mrc_qp_pkt_rcv,
	.roce = mrc_roce_rcv,
	.endpoint = mrc_ep_rcv,
};

static int __init mrc_init(void)
{
	int ret;

	if (!mrc_udp_port || mrc_udp_port > U16_MAX) {
		pr_err("udp_port must be 1..65535\n");
		return -EINVAL;
	}
	ret = mrc_compat_crc_setup();
	if (ret)
		return ret;
	mrc_rcv_init(&mrc_rcv_ops);
	ret = mrc_qp_verbs_init(mrc_qp_kinds);
	if (ret)
		goto err_crc;
	mrc_burst_init();
	ret = mrc_qp_init(&mrc_ctl_profile_ops);
	if (ret)
		goto err_verbs;
	ret = mrc_odp_init();
	if (ret)
		goto err_qp;
	ret = mrc_kern_init();
	if (ret)
		goto err_odp;
	ret = mrc_sock_init();
	if (ret)
		goto err_kern;
	ret = mrc_peer_init();
	if (ret)
		goto err_sock;
	ret = mrc_ep_init();
	if (ret)
		goto err_peer;
	ret = mrc_port_init(mrc_port_clients);
	if (ret)
		goto err_ep;
	rdma_link_register(&mrc_link_ops);
	return 0;

err_ep:
	mrc_ep_exit();
err_peer:
	mrc_peer_exit();
err_sock:
	mrc_sock_exit();
err_kern:
	mrc_kern_exit();
err_odp:
	mrc_odp_exit();
err_qp:
	mrc_qp_exit();
err_verbs:
	mrc_qp_verbs_exit();
err_crc:
	mrc_compat_crc_cleanup();
	return ret;
}

static void __exit mrc_exit(void)
{
	/* Waits for a running newlink; none can start afterwards. */
	rdma_link_unregister(&mrc_link_ops);
	mrc_devs_unregister(NULL);
	/* Waits for a dealloc_driver that somebody else runs to return. */
	ib_unregister_driver((enum rdma_driver_id)MRC_RDMA_DRIVER_ID);
	mrc_port_exit();
	mrc_ep_exit();
	mrc_sock_exit();
	/* A packet that found its socket before it was closed. */
	synchronize_net();
	mrc_peer_exit();
	mrc_kern_exit();
	mrc_odp_exit();
	mrc_qp_exit();
	mrc_qp_verbs_exit();
	mrc_burst_exit();
	rcu_barrier();
	mrc_compat_crc_cleanup();
}

module_init(mrc_init);
module_exit(mrc_exit);

MODULE_ALIAS_RDMA_LINK("mrc");
