// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ports: their netdevs, state, MTU and events.
 */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "mrc_dev.h"

/* IPv6, UDP, BTH, METH, TSETH, RETH, ImmDt, ICRC (MRC 1.0 §2.1) */
#define MRC_OVERHEAD	92

/* Table of higher layers; the last entry is NULL. */
static const struct mrc_port_client *const *mrc_port_clients;

static void mrc_port_changed(struct mrc_dev *dev)
{
	const struct mrc_port_client *const *c;

	for (c = mrc_port_clients; *c; c++)
		if ((*c)->changed)
			(*c)->changed(dev);
}

static void mrc_port_moved(struct mrc_port *port, struct net_device *ndev,
			   bool here)
{
	const struct mrc_port_client *const *c;

	for (c = mrc_port_clients; *c; c++)
		if ((*c)->moved)
			(*c)->moved(port, ndev, here);
}

static void mrc_port_close(struct mrc_port *port)
{
	const struct mrc_port_client *const *c;

	for (c = mrc_port_clients; *c; c++)
		if ((*c)->close)
			(*c)->close(port);
}

static int mrc_port_open(struct mrc_port *port, struct net_device *ndev)
{
	const struct mrc_port_client *const *c;
	int ret = 0;

	for (c = mrc_port_clients; *c && !ret; c++)
		if ((*c)->open)
			ret = (*c)->open(port, ndev);
	if (ret)
		mrc_port_close(port);
	return ret;
}

u32 mrc_dev_ports_up(struct mrc_dev *dev)
{
	unsigned int i;
	u32 up = 0;

	for (i = 1; i <= dev->n_ports; i++)
		if (READ_ONCE(dev->port[i].up))
			up |= BIT(i);
	return up;
}

u8 mrc_dev_port_of(struct mrc_dev *dev, const struct net_device *ndev)
{
	unsigned int i;

	for (i = 1; i <= dev->n_ports; i++)
		if (rcu_access_pointer(dev->port[i].ndev) == ndev)
			return i;
	return 0;
}

struct net_device *mrc_ndev_master(struct net_device *ndev)
{
	/* A VRF only chooses another routing table. */
	return netif_is_l3_slave(ndev) ? NULL :
					 netdev_master_upper_dev_get_rcu(ndev);
}

static bool mrc_ndev_up(struct net_device *ndev)
{
	bool up = netif_running(ndev) && netif_carrier_ok(ndev);

	rcu_read_lock();
	up = up && !mrc_ndev_master(ndev);
	rcu_read_unlock();
	return up;
}

/* The largest path MTU whose packets fit; 256 if none fits. */
static enum ib_mtu mrc_ndev_mtu(const struct net_device *ndev)
{
	enum ib_mtu mtu = IB_MTU_4096;

	while (mtu > IB_MTU_256 &&
	       ib_mtu_enum_to_int(mtu) + MRC_OVERHEAD > READ_ONCE(ndev->mtu))
		mtu--;
	return mtu;
}

/*
 * Dispatch an event of a registered device only: once a device is unregistered, the
 * core's event work may be gone.
 */
static void mrc_port_event(struct mrc_port *port, enum ib_event_type event)
{
	struct ib_device *ib = &port->dev->ib;
	struct ib_event ev = {
		.device = ib,
		.element.port_num = port->num,
		.event = event,
	};

	if (!ib_device_try_get(ib))
		return;
	ib_dispatch_event(&ev);
	ib_device_put(ib);
}

/*
 * Update the port's state from @ndev, its netdev or NULL. Report the state if it
 * changed. Under RTNL.
 */
static void mrc_port_update_state(struct mrc_port *port, struct net_device *ndev)
{
	bool up = ndev && mrc_ndev_up(ndev) && !port->disabled;
	struct mrc_dev *dev = port->dev;

	if (port->up == up)
		return;
	WRITE_ONCE(port->up, up);
	mrc_ctr_add(&dev->ctr, port->num,
		    up ? MRC_CTR_PORT_UP : MRC_CTR_PORT_DOWN, 1);
	mrc_port_event(port, up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
	mrc_port_changed(dev);
}

/*
 * InfiniBand has no event for a changed MTU. Programs that watch ports query a port
 * again when it becomes active, so send them that event. Under RTNL.
 */
static void mrc_port_set_mtu(struct mrc_port *port,
			     const struct net_device *ndev)
{
	enum ib_mtu mtu = mrc_ndev_mtu(ndev), old = port->mtu;

	if (mtu != old) {
		WRITE_ONCE(port->mtu, mtu);
		pr_info_ratelimited("%s: port %u (%s): active MTU %d -> %d\n",
				    port->dev->ib.name, port->num, ndev->name,
				    ib_mtu_enum_to_int(old),
				    ib_mtu_enum_to_int(mtu));
		if (port->up)
			mrc_port_event(port, IB_EVENT_PORT_ACTIVE);
	}
	/* Routes may have become too narrow for the path MTU, or wide enough. */
	mrc_port_changed(port->dev);
}

int mrc_port_attach(struct mrc_dev *dev, u8 num, struct net_device *ndev)
{
	struct mrc_port *port = &dev->port[num];
	int ret = 0;

	rtnl_lock();
	/* From here on the notifier reports the events of the netdev. */
	if (ndev->reg_state != NETREG_REGISTERED)
		ret = -ENODEV;
	else if (!net_eq(dev_net(ndev), dev->net))
		ret = -EXDEV;
	if (!ret)
		ret = mrc_port_open(port, ndev);
	if (!ret) {
		ret = ib_device_set_netdev(&dev->ib, ndev, num);
		if (ret)
			mrc_port_close(port);
	}
	if (!ret) {
		dev_hold(ndev);
		port->mtu = mrc_ndev_mtu(ndev);
		spin_lock_bh(&mrc_devs_lock);
		rcu_assign_pointer(port->ndev, ndev);
		spin_unlock_bh(&mrc_devs_lock);
		mrc_port_moved(port, ndev, true);
		mrc_port_update_state(port, ndev);
		mrc_parent_update(dev);
	}
	rtnl_unlock();
	return ret;
}

void mrc_port_announce(struct mrc_dev *dev, u8 num)
{
	pr_info_ratelimited("%s: port %u has a netdev again\n", dev->ib.name, num);
	/* The core fills GID tables at registration and on address changes. */
	rdma_roce_rescan_device(&dev->ib);
}

void mrc_port_detach(struct mrc_dev *dev, u8 num)
{
	struct mrc_port *port = &dev->port[num];
	struct net_device *ndev;

	ASSERT_RTNL();
	ndev = rtnl_dereference(port->ndev);
	if (!ndev)
		return;
	spin_lock_bh(&mrc_devs_lock);
	RCU_INIT_POINTER(port->ndev, NULL);
	spin_unlock_bh(&mrc_devs_lock);
	mrc_port_close(port);
	mrc_port_moved(port, ndev, false);
	mrc_port_update_state(port, NULL);
	mrc_parent_update(dev);
	/*
	 * This fails only for a port number out of range. A netdev waits for a grace
	 * period after RTNL is released before it is freed, so readers of port->ndev
	 * are safe.
	 */
	ib_device_set_netdev(&dev->ib, NULL, num);
	dev_put(ndev);
}

int mrc_port_set_admin(struct mrc_dev *dev, u8 num, bool enabled)
{
	struct mrc_port *port;

	if (!num || num > dev->n_ports)
		return -EINVAL;
	port = &dev->port[num];
	rtnl_lock();
	WRITE_ONCE(port->disabled, !enabled);
	mrc_port_update_state(port, rtnl_dereference(port->ndev));
	rtnl_unlock();
	return 0;
}

bool mrc_port_admin(struct mrc_dev *dev, u8 num)
{
	return num && num <= dev->n_ports &&
	       !READ_ONCE(dev->port[num].disabled);
}

static int mrc_netdev_event(struct notifier_block *nb, unsigned long event,
			    void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	struct mrc_dev *dev;
	u8 num;

	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEUPPER:
	case NETDEV_CHANGEMTU:
	case NETDEV_UNREGISTER:
		break;
	default:
		return NOTIFY_DONE;
	}
	dev = mrc_dev_by_ndev(ndev, &num);
	if (!dev)
		return NOTIFY_DONE;

	switch (event) {
	case NETDEV_CHANGEMTU:
		mrc_port_set_mtu(&dev->port[num], ndev);
		break;
	case NETDEV_UNREGISTER:	/* also when it moves to another namespace */
		pr_info_ratelimited("%s: port %u lost %s\n", dev->ib.name, num, ndev->name);
		mrc_port_detach(dev, num);
		break;
	default:
		mrc_port_update_state(&dev->port[num], ndev);
		break;
	}
	put_device(&dev->ib.dev);
	return NOTIFY_DONE;
}

static struct notifier_block mrc_netdev_notifier = {
	.notifier_call = mrc_netdev_event,
};

int mrc_port_init(const struct mrc_port_client *const *clients)
{
	mrc_port_clients = clients;
	return register_netdevice_notifier(&mrc_netdev_notifier);
}

void mrc_port_exit(void)
{
	unregister_netdevice_notifier(&mrc_netdev_notifier);
}

u32 mrc_port_speed(struct mrc_port *port)
{
	struct ethtool_link_ksettings ks;
	struct net_device *ndev;
	u32 speed = 0;

	rtnl_lock();
	ndev = rtnl_dereference(port->ndev);
	if (ndev && !__ethtool_get_link_ksettings(ndev, &ks) &&
	    ks.base.speed != (u32)SPEED_UNKNOWN)
		speed = ks.base.speed;
	rtnl_unlock();
	return speed;
}

int mrc_query_port(struct ib_device *ibdev, u32 num, struct ib_port_attr *attr)
{
	struct mrc_dev *dev = to_mdev(ibdev);
	struct net_device *ndev;
	struct mrc_port *port;

	if (!num || num > dev->n_ports)
		return -EINVAL;
	port = &dev->port[num];

	/* The core has cleared @attr. */
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = READ_ONCE(port->mtu);
	attr->gid_tbl_len = MRC_GID_TBL_LEN;
	attr->pkey_tbl_len = MRC_PKEY_TBL_LEN;
	attr->max_msg_sz = MRC_MAX_MSG;
	attr->max_vl_num = 1;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->qkey_viol_cntr = min_t(u64, U16_MAX,
				     mrc_ctr_read(dev, num, MRC_CTR_DROP_QKEY));

	/*
	 * Look at the netdev itself, so that a late event cannot make the state wrong.
	 */
	attr->state = IB_PORT_DOWN;
	attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	rcu_read_lock();
	ndev = rcu_dereference(port->ndev);
	if (READ_ONCE(port->disabled))
		ndev = NULL;
	if (ndev && mrc_ndev_up(ndev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else if (ndev && netif_running(ndev)) {
		attr->phys_state = IB_PORT_PHYS_STATE_POLLING;
	}
	rcu_read_unlock();

	/* For netdevs whose speed is unknown, the core may log a warning each time. */
	if (!mrc_port_speed(port) ||
	    ib_get_eth_speed(ibdev, num, &attr->active_speed, &attr->active_width)) {
		attr->active_speed = IB_SPEED_SDR;
		attr->active_width = IB_WIDTH_1X;
	}
	return 0;
}

static int mrc_query_pkey(struct ib_device *ibdev, u32 num, u16 index,
			  u16 *pkey)
{
	if (index >= MRC_PKEY_TBL_LEN)
		return -EINVAL;
	*pkey = MRC_PKEY_DEFAULT;
	return 0;
}

static enum rdma_link_layer mrc_get_link_layer(struct ib_device *ibdev,
					       u32 num)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int mrc_port_immutable(struct ib_device *ibdev, u32 num,
			      struct ib_port_immutable *immutable)
{
	/* RoCEv2 GIDs. */
	immutable->core_cap_flags = RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP |
				    RDMA_CORE_CAP_AF_IB |
				    RDMA_CORE_CAP_ETH_AH;
	immutable->gid_tbl_len = MRC_GID_TBL_LEN;
	immutable->pkey_tbl_len = MRC_PKEY_TBL_LEN;
#ifdef CONFIG_INFINIBAND_MRC_UD
	/* Management datagrams over QP1. */
	immutable->core_cap_flags |= RDMA_CORE_CAP_IB_MAD |
				     RDMA_CORE_CAP_IB_CM;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
#endif
	return 0;
}

#ifdef HAVE_REPORT_PORT_EVENT
/*
 * The core would report port states itself, but for one device per netdev only.
 * mrc_netdev_event() reports them for our devices.
 */
static void mrc_report_port_event(struct ib_device *ibdev,
				  struct net_device *ndev, unsigned long event)
{
}
#endif

const struct ib_device_ops mrc_port_ops = {
	.query_port = mrc_query_port,
	.query_pkey = mrc_query_pkey,
	.get_link_layer = mrc_get_link_layer,
	.get_port_immutable = mrc_port_immutable,
#ifdef HAVE_REPORT_PORT_EVENT
	.report_port_event = mrc_report_port_event,
#endif
};
