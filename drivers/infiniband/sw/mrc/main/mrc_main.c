// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module: parameters, the list of devices, "rdma link add" and removal.
 *
 * "rdma link add NAME type mrc netdev DEV" makes a device with one port, gives
 * a vacant port of an existing device a netdev, or re-registers an idle device
 * with one port more.
 */
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/rdma_netlink.h>

#include "ctl/mrc_ctl.h"
#include "queue/mrc_kverbs.h"
#include "roce/mrc_ud.h"
#include "dev/mrc_dev.h"

MODULE_AUTHOR("soft MRC authors");
MODULE_DESCRIPTION("Soft RDMA over Multipath Reliable Connection (MRC 1.0)");
MODULE_LICENSE("Dual BSD/GPL");

unsigned int mrc_udp_port = MRC_UDP_DPORT;
module_param_named(udp_port, mrc_udp_port, uint, 0444);
MODULE_PARM_DESC(udp_port, "UDP destination port, the same on all hosts (4791)");

unsigned int mrc_num_evs = MRC_EV_DEFAULT;
module_param_named(num_evs, mrc_num_evs, uint, 0644);
MODULE_PARM_DESC(num_evs, "entropy values (paths) per QP, for QPs to come (64)");

unsigned int mrc_cwnd;
module_param_named(cwnd, mrc_cwnd, uint, 0644);
MODULE_PARM_DESC(cwnd, "window of a QP in bytes, for QPs to come (0: default)");

static const struct mrc_cc_ops *mrc_cc_ops = &mrc_cc_none;

static int mrc_cc_param_set(const char *val, const struct kernel_param *kp)
{
	char name[32];
	const struct mrc_cc_ops *ops;

	if (strscpy(name, val, sizeof(name)) < 0)
		return -EINVAL;
	ops = mrc_cc_find(strim(name));
	if (!ops)
		return -EINVAL;
	WRITE_ONCE(mrc_cc_ops, ops);
	return 0;
}

static int mrc_cc_param_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", READ_ONCE(mrc_cc_ops)->name);
}

static const struct kernel_param_ops mrc_cc_param_ops = {
	.set = mrc_cc_param_set,
	.get = mrc_cc_param_get,
};
module_param_cb(cc, &mrc_cc_param_ops, NULL, 0644);
MODULE_PARM_DESC(cc, "congestion control of QPs to come without a CC profile: none, uet-1.0-nscc (none)");

const struct mrc_cc_ops *mrc_cc_default(void)
{
	return READ_ONCE(mrc_cc_ops);
}

static DEFINE_MUTEX(mrc_link_mutex);
DEFINE_SPINLOCK(mrc_devs_lock);
static LIST_HEAD(mrc_devs);

struct mrc_dev *mrc_dev_by_ndev(const struct net_device *ndev, u8 *num)
{
	struct mrc_dev *dev, *found = NULL;

	ASSERT_RTNL();
	rcu_read_lock();
	spin_lock_bh(&mrc_devs_lock);
	list_for_each_entry(dev, &mrc_devs, list) {
		*num = mrc_dev_port_of(dev, ndev);
		if (*num) {
			get_device(&dev->ib.dev);
			found = dev;
			break;
		}
	}
	spin_unlock_bh(&mrc_devs_lock);
	rcu_read_unlock();
	return found;
}

/*
 * A registered device by name, of those that are seen in @net: where namespaces
 * do not share devices, others may use the same name. ib_device_put() gives it
 * back.
 */
static struct mrc_dev *mrc_dev_by_name(const char *name, const struct net *net)
{
	struct mrc_dev *dev, *found = NULL;

	spin_lock_bh(&mrc_devs_lock);
	list_for_each_entry(dev, &mrc_devs, list) {
		if (!strcmp(dev->ib.name, name) &&
		    rdma_dev_access_netns(&dev->ib, net) &&
		    ib_device_try_get(&dev->ib)) {
			found = dev;
			break;
		}
	}
	spin_unlock_bh(&mrc_devs_lock);
	return found;
}

/* A device without ports' netdevs, not registered yet. Sleeps. */
static struct mrc_dev *mrc_dev_alloc(struct net *net, u8 n_ports)
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
	ret = mrc_ep_create(dev);
	if (ret)
		goto err_sock;
	ret = mrc_peers_create(dev);
	if (ret)
		goto err_ep;
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
	ib_set_device_ops(&dev->ib, &mrc_nldev_ops);

	spin_lock_bh(&mrc_devs_lock);
	list_add_tail(&dev->list, &mrc_devs);
	spin_unlock_bh(&mrc_devs_lock);
	return dev;

err_peers:
	mrc_peers_destroy(dev);
err_ep:
	mrc_ep_destroy(dev);
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
	mrc_ep_destroy(dev);
	mrc_sock_put(dev->net);
	mrc_mcast_destroy(dev);
	xa_destroy(&dev->avs);
	xa_destroy(&dev->mrs);
	mrc_ctl_destroy(dev);
	free_percpu(dev->io);
	free_percpu(dev->ctr.v);

	/* Last: module exit waits for devices as long as they are listed. */
	spin_lock_bh(&mrc_devs_lock);
	list_del(&dev->list);
	spin_unlock_bh(&mrc_devs_lock);
}

/*
 * Give the ports of a new device their netdevs (NULL: vacant) and register it.
 * On failure the device is gone.
 */
static int mrc_dev_register(struct mrc_dev *dev, const char *name,
			    struct net_device *const *ndev)
{
	unsigned int i;
	int ret;

	for (i = 1; i <= dev->n_ports; i++) {
		if (!ndev[i])
			continue;
		/* A netdev that went away just now leaves a vacant port. */
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

/* No new contexts from here on if none is open; false if there are some. */
static bool mrc_dev_close(struct mrc_dev *dev)
{
	WRITE_ONCE(dev->closing, true);
	smp_mb();	/* pairs with mrc_alloc_ucontext() */
	if (!atomic_read(&dev->n_ucontexts))
		return true;
	WRITE_ONCE(dev->closing, false);
	return false;
}

/* What a device takes along when it is registered anew. */
struct mrc_dev_kept {
	struct net_device *ndev[MRC_MAX_PORTS + 1];
	bool disabled[MRC_MAX_PORTS + 1];
	struct mrc_tc_map tc;
	struct mrc_ctl *ctl;
	__be64 guid;
	bool ext;
	u8 n;
};

/* Takes references. */
static void mrc_dev_keep(struct mrc_dev *dev, struct mrc_dev_kept *kept)
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
	mrc_tc_get(dev, &kept->tc);
	kept->ctl = mrc_ctl_get(dev->ctl);
}

/* Before @dev is registered. */
static void mrc_dev_inherit(struct mrc_dev *dev,
			    const struct mrc_dev_kept *kept)
{
	u8 i;

	for (i = 1; i <= kept->n; i++)
		dev->port[i].disabled = kept->disabled[i];
	dev->ib.node_guid = kept->guid;
	dev->ext = kept->ext;
	dev->tc = kept->tc;
	mrc_ctl_inherit(dev, kept->ctl);
}

static void mrc_dev_kept_put(struct mrc_dev_kept *kept)
{
	u8 i;

	mrc_ctl_put(kept->ctl);
	for (i = 1; i <= MRC_MAX_PORTS; i++)
		dev_put(kept->ndev[i]);
}

/*
 * Registers @old anew with @n ports, for netdevs in @net, of which @ndev becomes
 * that of port @num, which has none. Consumes the reference to @old.
 */
static int mrc_link_renew(struct mrc_dev *old, const char *name,
			  struct net *net, u8 n, u8 num,
			  struct net_device *ndev)
{
	struct mrc_dev_kept kept = {};
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
	mrc_dev_keep(old, &kept);
	mrc_dev_inherit(dev, &kept);
	kept.ndev[num] = ndev;
	dev_hold(ndev);
	/* NULL: it is ending, and all of its devices with it. */
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
			mrc_dev_inherit(dev, &kept);
			err = mrc_dev_register(dev, name, kept.ndev);
		}
		if (err)
			pr_err("%s: lost (%d)\n", name, err);
	}
	mrc_dev_kept_put(&kept);
	if (old_net)
		put_net(old_net);
	return ret;
}

static int mrc_link_grow(struct mrc_dev *dev, const char *name,
			 struct net_device *ndev)
{
	u8 n = dev->n_ports + 1;

	if (n > MRC_MAX_PORTS) {
		pr_notice_ratelimited("%s: has %u ports already, no more are supported\n",
				      name, dev->n_ports);
		ib_device_put(&dev->ib);
		return -ENOSPC;
	}
	return mrc_link_renew(dev, name, dev->net, n, n, ndev);
}

/*
 * @net is not the namespace of the device's netdevs. If it has none any more, it
 * may begin anew there: that is how a device moves with its netdevs.
 */
static int mrc_link_move(struct mrc_dev *dev, const char *name,
			 struct net_device *ndev, struct net *net)
{
	u8 i;

	/* Nobody else gives it netdevs: mrc_link_mutex. */
	for (i = 1; i <= dev->n_ports; i++)
		if (rcu_access_pointer(dev->port[i].ndev))
			break;
	if (i <= dev->n_ports) {
		pr_notice_ratelimited("%s: all ports must be in one network namespace, %s is in another\n",
				      name, ndev->name);
		ib_device_put(&dev->ib);
		return -EXDEV;
	}
	return mrc_link_renew(dev, name, net, dev->n_ports, 1, ndev);
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
	return mrc_link_grow(dev, name, ndev);
}

static int mrc_newlink(const char *name, struct net_device *ndev)
{
	struct mrc_dev *dev;
	struct net *net;
	int ret;
	u8 num;

	if (ndev->type != ARPHRD_ETHER) {
		pr_notice_ratelimited("%s: %s is not an Ethernet device\n", name,
				      ndev->name);
		return -EINVAL;
	}
	if (strchr(name, '%'))
		return -EINVAL;

	mutex_lock(&mrc_link_mutex);
	rtnl_lock();
	dev = mrc_dev_by_ndev(ndev, &num);
	/* The netdev may leave it at any time, and it may end then. */
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

void mrc_devs_unregister(struct net *net)
{
	struct mrc_dev *dev, *found;

	do {
		found = NULL;
		spin_lock_bh(&mrc_devs_lock);
		list_for_each_entry(dev, &mrc_devs, list) {
			if (!net || net_eq(dev->net, net)) {
				get_device(&dev->ib.dev);
				found = dev;
				break;
			}
		}
		spin_unlock_bh(&mrc_devs_lock);
		if (found) {
			/* Waits if somebody else is doing it. */
			ib_unregister_device(&found->ib);
			put_device(&found->ib.dev);
		}
	} while (found);
}

static struct rdma_link_ops mrc_link_ops = {
	.type = "mrc",
	.newlink = mrc_newlink,
};

static int __init mrc_init(void)
{
	int ret;

	if (!mrc_udp_port || mrc_udp_port > U16_MAX) {
		pr_err("udp_port must be 1..65535\n");
		return -EINVAL;
	}
	ret = mrc_crc_setup();
	if (ret)
		return ret;
	mrc_burst_init();
	ret = mrc_qp_init();
	if (ret)
		goto err_crc;
	ret = mrc_odp_init();
	if (ret)
		goto err_qp;
	ret = mrc_ud_init();
	if (ret)
		goto err_odp;
	ret = mrc_kern_init();
	if (ret)
		goto err_ud;
	ret = mrc_sock_init();
	if (ret)
		goto err_kern;
	ret = mrc_peer_init();
	if (ret)
		goto err_sock;
	ret = mrc_ep_init();
	if (ret)
		goto err_peer;
	ret = mrc_port_init();
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
err_ud:
	mrc_ud_exit();
err_odp:
	mrc_odp_exit();
err_qp:
	mrc_qp_exit();
err_crc:
	mrc_crc_cleanup();
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
	mrc_ud_exit();
	mrc_odp_exit();
	mrc_qp_exit();
	mrc_burst_exit();
	rcu_barrier();
	mrc_crc_cleanup();
}

module_init(mrc_init);
module_exit(mrc_exit);

MODULE_ALIAS_RDMA_LINK("mrc");
