// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The place of the RDMA device in sysfs: see mrc_parent.h.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/idr.h>
#include <linux/rtnetlink.h>
#include <linux/topology.h>
#ifdef HAVE_FAUX_DEVICE
#include <linux/device/faux.h>
#endif

#include "mrc_dev.h"

static DEFINE_IDA(mrc_parent_ida);

/* Our device inherits the NUMA node of the NIC's device, its parent. */
static ssize_t numa_node_show(struct device *d, struct device_attribute *attr,
			      char *buf)
{
	return sysfs_emit(buf, "%d\n", dev_to_node(d));
}
static DEVICE_ATTR_RO(numa_node);

static const struct cpumask *mrc_parent_cpus(struct device *d)
{
	int node = dev_to_node(d);

	return node == NUMA_NO_NODE ? cpu_online_mask : cpumask_of_node(node);
}

static ssize_t local_cpus_show(struct device *d, struct device_attribute *attr,
			       char *buf)
{
	return sysfs_emit(buf, "%*pb\n", cpumask_pr_args(mrc_parent_cpus(d)));
}
static DEVICE_ATTR_RO(local_cpus);

static ssize_t local_cpulist_show(struct device *d,
				  struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%*pbl\n",
			  cpumask_pr_args(mrc_parent_cpus(d)));
}
static DEVICE_ATTR_RO(local_cpulist);

static struct attribute *mrc_parent_attrs[] = {
	&dev_attr_numa_node.attr,
	&dev_attr_local_cpus.attr,
	&dev_attr_local_cpulist.attr,
	NULL
};
ATTRIBUTE_GROUPS(mrc_parent);

/*
 * Retry while memory is short: a device must leave a NIC's device in any case, and a
 * link that was removed must be restored.
 */
#define MRC_PARENT_TRIES	500
#define mrc_parent_retry_nomem(call) ({					\
	int __tries = MRC_PARENT_TRIES, __ret;				\
									\
	while ((__ret = (call)) == -ENOMEM && --__tries)		\
		msleep(20);						\
	__ret;								\
})

/*
 * Point the "device" link of @d, the RDMA device or a copy of it, to the current
 * parent. The core removes the link when @d is removed. Under RTNL.
 */
static int mrc_parent_link(struct mrc_dev *dev, struct device *d)
{
	struct mrc_parent *p = &dev->parent;
	struct device *to = p->nic ?: p->ours;
	int ret;

	sysfs_remove_link(&d->kobj, "device");
	ret = mrc_parent_retry_nomem(sysfs_create_link(&d->kobj, &to->kobj,
						       "device"));
	if (ret)
		pr_err("%s: no link to its parent %s in sysfs (%d)\n",
		       dev_name(d), dev_name(to), ret);
	return ret;
}

/* The core has made the links, but to its own parent; replace the target. */
int mrc_enable_driver(struct ib_device *ibdev)
{
	struct mrc_dev *dev = to_mdev(ibdev);
	int ret;

	rtnl_lock();
	ret = mrc_parent_link(dev, &ibdev->dev);
	rtnl_unlock();
	return ret;
}

void mrc_parent_copy_added(struct mrc_dev *dev, struct device *copy)
{
	rtnl_lock();
	mrc_parent_link(dev, copy);
	rtnl_unlock();
}

/*
 * The core holds compat_devs_mutex while it adds and removes copies, and takes RTNL
 * inside it. So this cannot be done under RTNL, where netdevs are added and removed.
 */
static void mrc_parent_links(struct work_struct *work)
{
	struct mrc_dev *dev = container_of(work, struct mrc_dev, parent.links);
	struct ib_core_device *copy;
	unsigned long i;

	if (!ib_device_try_get(&dev->ib))
		return;
	mutex_lock(&dev->ib.compat_devs_mutex);
	xa_for_each(&dev->ib.compat_devs, i, copy)
		mrc_parent_copy_added(dev, &copy->dev);
	mutex_unlock(&dev->ib.compat_devs_mutex);
	ib_device_put(&dev->ib);
}

static struct device *mrc_parent_nic(struct mrc_dev *dev)
{
	struct net_device *ndev;
	unsigned int i;

	for (i = 1; i <= dev->n_ports; i++) {
		ndev = rtnl_dereference(dev->port[i].ndev);
		if (ndev && ndev->dev.parent)
			return ndev->dev.parent;
	}
	return NULL;
}

void mrc_parent_update(struct mrc_dev *dev)
{
	struct device *nic = mrc_parent_nic(dev);
	struct mrc_parent *p = &dev->parent;
	int ret;

	ASSERT_RTNL();
	if (nic == p->nic)
		return;
	ret = mrc_parent_retry_nomem(device_move(p->ours, nic ?: p->root,
						 DPM_ORDER_NONE));
	if (ret)
		pr_err("%s: cannot be moved below %s in sysfs (%d)\n",
		       dev_name(p->ours), dev_name(nic ?: p->root), ret);
	p->nic = nic;
	/*
	 * A device that is being registered gets its links at the end of registration.
	 */
	if (!ib_device_try_get(&dev->ib))
		return;
	mrc_parent_link(dev, &dev->ib.dev);
	schedule_work(&p->links);
	ib_device_put(&dev->ib);
}

void mrc_parent_flush(struct mrc_dev *dev)
{
	flush_work(&dev->parent.links);
}

int mrc_parent_create(struct mrc_dev *dev)
{
	struct mrc_parent *p = &dev->parent;
	struct faux_device *faux;
	char name[32];

	p->id = ida_alloc(&mrc_parent_ida, GFP_KERNEL);
	if (p->id < 0)
		return p->id;
	/*
	 * The name has zeros in the place where the name of a PCI device has its slot
	 * and function. Some programs put zeros there to treat the ports and virtual
	 * functions of a NIC as one; they leave this name unchanged.
	 */
	snprintf(name, sizeof(name), "mrc%d:00.0", p->id);
	faux = faux_device_create_with_groups(name, NULL, NULL,
					      mrc_parent_groups);
	if (!faux) {
		ida_free(&mrc_parent_ida, p->id);
		return -ENOMEM;
	}
	p->ours = &faux->dev;
	p->root = p->ours->parent;
	INIT_WORK(&p->links, mrc_parent_links);
	dev->ib.dev.parent = p->ours;
	return 0;
}

void mrc_parent_destroy(struct mrc_dev *dev)
{
	struct mrc_parent *p = &dev->parent;
	struct device *child;

	cancel_work_sync(&p->links);
	/*
	 * Some children, such as SCSI hosts of iSER, live until the session logs out.
	 */
	while ((child = device_find_any_child(p->ours))) {
		int ret;

		/*
		 * A copy for a namespace that is ending: the core deletes it without a
		 * lock. A device that is being deleted cannot be moved.
		 */
		if (child->class == dev->ib.dev.class) {
			put_device(child);
			msleep(20);
			continue;
		}
		ret = mrc_parent_retry_nomem(device_move(child, p->root, DPM_ORDER_NONE));
		put_device(child);
		if (ret)
			break;
	}
	dev->ib.dev.parent = NULL;
	faux_device_destroy(to_faux_device(p->ours));
	ida_free(&mrc_parent_ida, p->id);
}
