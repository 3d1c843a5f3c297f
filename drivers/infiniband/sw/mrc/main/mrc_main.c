// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module: initializes the layers from bottom to top. A layer that has to call a
 * higher layer is given a table of functions.
 */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "compat/mrc_compat_crc.h"
#include "mrc_main.h"

MODULE_AUTHOR("soft MRC authors");
MODULE_DESCRIPTION("Soft RDMA over Multipath Reliable Connection (MRC 1.0)");
MODULE_LICENSE("Dual BSD/GPL");

/* Layers that are notified about ports, in this order. */
static const struct mrc_port_client *const mrc_port_clients[] = {
#ifdef CONFIG_INFINIBAND_MRC_TRIM
	&mrc_trim_client,
#endif
#ifdef CONFIG_INFINIBAND_MRC_GUARD
	&mrc_guard_client,
#endif
#ifdef CONFIG_INFINIBAND_MRC_INPUT
	&mrc_input_client,
#endif
#ifdef CONFIG_INFINIBAND_MRC_UD
	&mrc_mcast_client,
#endif
	&mrc_qp_port_client,
	NULL
};

static const struct mrc_qp_kind *const mrc_qp_kinds[IB_QPT_MAX] = {
	[IB_QPT_RC] = &mrc_qp_kind_rc,
#ifdef CONFIG_INFINIBAND_MRC_UD
	[IB_QPT_UD] = &mrc_qp_kind_ud,
	[IB_QPT_GSI] = &mrc_qp_kind_ud,
#endif
#ifdef CONFIG_INFINIBAND_MRC_UC
	[IB_QPT_UC] = &mrc_qp_kind_ud,
#endif
};

static const struct mrc_rcv_ops mrc_rcv_ops = {
	.find = mrc_qp_pkt_find,
	.put = mrc_qp_put,
	.rcv = mrc_qp_pkt_rcv,
#ifdef CONFIG_INFINIBAND_MRC_UD
	.roce = mrc_roce_rcv,
#endif
#ifdef CONFIG_INFINIBAND_MRC_CTL
	.endpoint = mrc_ep_rcv,
#endif
};

static int mrc_begin_verbs(void)
{
	return mrc_qp_verbs_init(mrc_qp_kinds);
}

static void mrc_end_burst(void)
{
	mrc_delayed_ack_exit();
	/* Wait for RCU callbacks of QPs. */
	rcu_barrier();
}

static int mrc_begin_qp(void)
{
#ifdef CONFIG_INFINIBAND_MRC_CTL
	return mrc_qp_init(&mrc_ctl_profile_ops);
#else
	return mrc_qp_init(&mrc_auto_profile_ops);
#endif
}

static void mrc_end_sock(void)
{
	mrc_sock_exit();
	/* Wait for packets that found their socket or a hook before it was closed. */
	synchronize_net();
}

static int mrc_begin_port(void)
{
	return mrc_port_init(mrc_port_clients);
}

/**
 * struct mrc_part - a part of the module, initialized at load
 * @init: 0 or a negative errno
 * @exit: undoes @init
 */
struct mrc_part {
	int (*init)(void);
	void (*exit)(void);
};

/* They are exited in reverse order. */
static const struct mrc_part mrc_parts[] = {
	{ mrc_compat_crc_setup, mrc_compat_crc_cleanup },
	{ mrc_delayed_ack_init, mrc_end_burst },
	{ mrc_begin_verbs, mrc_qp_verbs_exit },
	{ mrc_begin_qp, mrc_qp_exit },
#ifdef CONFIG_INFINIBAND_MRC_ODP
	{ mrc_odp_init, mrc_odp_exit },
#endif
	{ mrc_kern_init, mrc_kern_exit },
	{ mrc_peer_init, mrc_peer_exit },
	{ mrc_sock_init, mrc_end_sock },
#ifdef CONFIG_INFINIBAND_MRC_CTL
	{ mrc_ep_init, mrc_ep_exit },
#endif
	{ mrc_begin_port, mrc_port_exit },
};

/* Exit the first @n parts, in reverse order. */
static void mrc_end_parts(unsigned int n)
{
	while (n--)
		mrc_parts[n].exit();
}

static int __init mrc_init(void)
{
	unsigned int i;
	int ret;

	ret = mrc_param_init();
	if (ret)
		return ret;
	mrc_rcv_init(&mrc_rcv_ops);
	for (i = 0; i < ARRAY_SIZE(mrc_parts); i++) {
		ret = mrc_parts[i].init();
		if (ret) {
			mrc_end_parts(i);
			return ret;
		}
	}
	rdma_link_register(&mrc_link_ops);
	return 0;
}

static void __exit mrc_exit(void)
{
	/* Waits for a running newlink; none can start afterwards. */
	rdma_link_unregister(&mrc_link_ops);
	mrc_devs_unregister(NULL);
	/* Waits for a concurrent dealloc_driver to return. */
	ib_unregister_driver((enum rdma_driver_id)MRC_RDMA_DRIVER_ID);
	mrc_end_parts(ARRAY_SIZE(mrc_parts));
}

module_init(mrc_init);
module_exit(mrc_exit);

MODULE_ALIAS_RDMA_LINK("mrc");
