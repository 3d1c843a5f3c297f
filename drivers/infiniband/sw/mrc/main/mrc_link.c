// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * "rdma link add NAME type mrc netdev DEV": creates a device with one port, attaches
 * the netdev to a vacant port of an existing device, or re-registers an idle device
 * with one more port.
 */
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/rdma_netlink.h>

#include "mrc_main.h"

static DEFINE_MUTEX(mrc_link_mutex);
/*
 * Attach netdevs to the ports of a new device (NULL: vacant) and register it. On
 * failure the device is deallocated.
 */
static int mrc_dev_register(struct mrc_dev *dev, const char *name,
			    struct net_device *const *ndev)
{
	unsigned int i;
	int ret;

	for (i = 1; i <= dev->n_ports; i++) {
		if (!ndev[i])
			continue;
		/* If a netdev was unregistered meanwhile, its port stays vacant. */
		ret = mrc_port_attach(dev, i, ndev[i]);
		if (ret && dev->n_ports == 1)
			goto err;
		if (!dev->ib.node_guid)
			addrconf_addr_eui48((u8 *)&dev->ib.node_guid,
					    ndev[i]->dev_addr);
	}
	ib_mark_name_assigned_by_user(&dev->ib);
	ret = ib_register_device(&dev->ib, name, NULL);
	if (!ret)
		return 0;
err:
	ib_dealloc_device(&dev->ib);
	return ret;
}

static int mrc_link_new(const char *name, struct net_device *ndev,
			struct net *net)
{
	struct net_device *ndevs[] = { NULL, ndev };
	struct mrc_dev *dev;

	dev = mrc_dev_alloc(net, 1);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	return mrc_dev_register(dev, name, ndevs);
}

/* Refuse new contexts from now on, unless one is open; then return false. */
static bool mrc_dev_close(struct mrc_dev *dev)
{
	WRITE_ONCE(dev->closing, true);
	smp_mb();	/* pairs with mrc_alloc_ucontext() */
	if (!atomic_read(&dev->n_ucontexts))
		return true;
	WRITE_ONCE(dev->closing, false);
	return false;
}

/* State of a device that is kept when it is registered again. */
struct mrc_dev_saved {
	struct net_device *ndev[MRC_MAX_PORTS + 1];
	bool disabled[MRC_MAX_PORTS + 1];
	struct mrc_dscp_map tc;
	struct mrc_ctl *ctl;
	__be64 guid;
	struct mrc_dev_attr attr;
	bool ext;
	u8 n;
};

/* Save the state of @dev; takes references. */
static void mrc_dev_save(struct mrc_dev *dev, struct mrc_dev_saved *kept)
{
	u8 i;

	rtnl_lock();
	for (i = 1; i <= dev->n_ports; i++) {
		kept->ndev[i] = rtnl_dereference(dev->port[i].ndev);
		dev_hold(kept->ndev[i]);
		kept->disabled[i] = dev->port[i].disabled;
	}
	rtnl_unlock();
	kept->n = dev->n_ports;
	kept->guid = dev->ib.node_guid;
	kept->ext = dev->ext;
	kept->attr = dev->attr;
	mrc_tc_get(dev, &kept->tc);
	kept->ctl = mrc_ctl_get(dev->ctl);
}

/* Apply the saved state to @dev, which is not registered yet. */
static void mrc_dev_restore(struct mrc_dev *dev,
			    const struct mrc_dev_saved *kept)
{
	u8 i;

	for (i = 1; i <= kept->n; i++)
		dev->port[i].disabled = kept->disabled[i];
	dev->ib.node_guid = kept->guid;
	dev->ext = kept->ext;
	dev->attr = kept->attr;
	dev->tc = kept->tc;
	mrc_ctl_share(dev, kept->ctl);
}

static void mrc_dev_saved_put(struct mrc_dev_saved *kept)
{
	u8 i;

	mrc_ctl_put(kept->ctl);
	for (i = 1; i <= MRC_MAX_PORTS; i++)
		dev_put(kept->ndev[i]);
}

/*
 * Register @old again, with @n ports in @net. @ndev becomes the netdev of port @num,
 * which is vacant. Consumes the reference to @old.
 */
static int mrc_link_reregister(struct mrc_dev *old, const char *name,
			       struct net *net, u8 n, u8 num,
			       struct net_device *ndev)
{
	struct mrc_dev_saved kept = {};
	struct net *old_net;
	struct mrc_dev *dev;
	int ret;

	if (!mrc_dev_close(old)) {
		pr_notice_ratelimited("%s: in use by programs (%d contexts), cannot get %s now\n",
				      name, atomic_read(&old->n_ucontexts),
				      n > old->n_ports ? "another port" :
				      "netdevs of another network namespace");
		ib_device_put(&old->ib);
		return -EBUSY;
	}
	dev = mrc_dev_alloc(net, n);
	if (IS_ERR(dev)) {
		WRITE_ONCE(old->closing, false);
		ib_device_put(&old->ib);
		return PTR_ERR(dev);
	}
	mrc_dev_save(old, &kept);
	mrc_dev_restore(dev, &kept);
	kept.ndev[num] = ndev;
	dev_hold(ndev);
	/* NULL: the namespace is being destroyed, with all its devices. */
	old_net = maybe_get_net(old->net);

	get_device(&old->ib.dev);
	ib_device_put(&old->ib);
	ib_unregister_device(&old->ib);
	put_device(&old->ib.dev);

	ret = mrc_dev_register(dev, name, kept.ndev);
	kept.ndev[num] = NULL;
	dev_put(ndev);
	if (ret) {
		int err = -ENODEV;

		pr_err("%s: cannot be registered anew with %u ports (%d), going back to %u\n",
		       name, n, ret, kept.n);
		if (old_net) {
			dev = mrc_dev_alloc(old_net, kept.n);
			err = PTR_ERR_OR_ZERO(dev);
		}
		if (!err) {
			mrc_dev_restore(dev, &kept);
			err = mrc_dev_register(dev, name, kept.ndev);
		}
		if (err)
			pr_err("%s: lost (%d)\n", name, err);
	}
	mrc_dev_saved_put(&kept);
	if (old_net)
		put_net(old_net);
	return ret;
}

static int mrc_link_add_port(struct mrc_dev *dev, const char *name,
			     struct net_device *ndev)
{
	u8 n = dev->n_ports + 1;

	if (n > MRC_MAX_PORTS) {
		pr_notice_ratelimited("%s: has %u ports already, no more are supported\n",
				      name, dev->n_ports);
		ib_device_put(&dev->ib);
		return -ENOSPC;
	}
	return mrc_link_reregister(dev, name, dev->net, n, n, ndev);
}

/*
 * @net is not the namespace of @dev. If @dev has no netdevs left, register it again in
 * @net: that is how a device moves with its netdevs.
 */
static int mrc_link_move(struct mrc_dev *dev, const char *name,
			 struct net_device *ndev, struct net *net)
{
	u8 i;

	/* mrc_link_mutex prevents that a port gets a netdev meanwhile. */
	for (i = 1; i <= dev->n_ports; i++)
		if (rcu_access_pointer(dev->port[i].ndev))
			break;
	if (i <= dev->n_ports) {
		pr_notice_ratelimited("%s: all ports must be in one network namespace, %s is in another\n",
				      name, ndev->name);
		ib_device_put(&dev->ib);
		return -EXDEV;
	}
	return mrc_link_reregister(dev, name, net, dev->n_ports, 1, ndev);
}

static int mrc_link_extend(struct mrc_dev *dev, const char *name,
			   struct net_device *ndev, struct net *net)
{
	int ret;
	u8 i;

	if (!net_eq(dev->net, net))
		return mrc_link_move(dev, name, ndev, net);
	for (i = 1; i <= dev->n_ports; i++) {
		if (rcu_access_pointer(dev->port[i].ndev))
			continue;
		ret = mrc_port_attach(dev, i, ndev);
		if (!ret) {
			mrc_port_announce(dev, i);
			mrc_parent_flush(dev);
		}
		ib_device_put(&dev->ib);
		return ret;
	}
	return mrc_link_add_port(dev, name, ndev);
}

/*
 * Can @ndev be a plane? If not, the kernel log says why: newlink has no extack. A netdev
 * that is enslaved later makes its port go down.
 */
static bool mrc_link_ndev_ok(const char *name, struct net_device *ndev)
{
	struct net_device *master;

	if (ndev->type != ARPHRD_ETHER) {
		pr_notice_ratelimited("%s: %s is not an Ethernet device\n", name,
				      ndev->name);
		return false;
	}
	if (is_vlan_dev(ndev)) {
		/* The RDMA core would not make GIDs of its addresses here. */
		pr_notice_ratelimited("%s: %s is a VLAN; use %s, whose GIDs have the addresses of VLANs\n",
				      name, ndev->name, vlan_dev_real_dev(ndev)->name);
		return false;
	}
	if (netif_is_l3_master(ndev)) {
		pr_notice_ratelimited("%s: %s is a VRF and sends nothing itself; use its netdevs\n",
				      name, ndev->name);
		return false;
	}
	rcu_read_lock();
	master = mrc_ndev_master(ndev);
	if (master)
		pr_notice_ratelimited("%s: %s belongs to %s, which receives its packets; use %s\n",
				      name, ndev->name, master->name, master->name);
	rcu_read_unlock();
	return !master;
}

static int mrc_newlink(const char *name, struct net_device *ndev)
{
	struct mrc_dev *dev;
	struct net *net;
	int ret;
	u8 num;

	if (!mrc_link_ndev_ok(name, ndev) || strchr(name, '%'))
		return -EINVAL;

	mutex_lock(&mrc_link_mutex);
	rtnl_lock();
	dev = mrc_dev_by_ndev(ndev, &num);
	/*
	 * The netdev may leave the namespace at any time, which may then be destroyed.
	 */
	net = maybe_get_net(dev_net(ndev));
	rtnl_unlock();
	if (dev) {
		pr_notice_ratelimited("%s: %s is port %u of %s already\n", name,
				      ndev->name, num, dev->ib.name);
		put_device(&dev->ib.dev);
		ret = -EEXIST;
		goto out;
	}
	if (!net) {
		ret = -ENODEV;
		goto out;
	}
	dev = mrc_dev_by_name(name, net);
	if (dev)
		ret = mrc_link_extend(dev, name, ndev, net);
	else
		ret = mrc_link_new(name, ndev, net);
out:
	if (net)
		put_net(net);
	mutex_unlock(&mrc_link_mutex);
	return ret;
}

struct rdma_link_ops mrc_link_ops = {
	.type = "mrc",
	.newlink = mrc_newlink,
};
