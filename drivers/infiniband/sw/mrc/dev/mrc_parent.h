/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The place of the RDMA device in sysfs.
 *
 * Programs look at /sys/class/infiniband/NAME/device to find out which NIC the device
 * uses and which processors are close to it. So the link always exists. It shows the
 * parent of a port's netdev (a PCI or virtio device): that of the lowest port whose
 * netdev has a parent. If there is none, it shows a device of our own.
 *
 * In the driver core our own device is the parent in either case, and is itself a child
 * of the NIC's device. The reason: a port's NIC can be unplugged while the RDMA device
 * continues with other ports. Below the parent there are devices of others, which do
 * not expect their parent to change: those of ib_uverbs and ib_umad, SCSI hosts. When
 * the NIC goes away, our device moves away from it with all its children. Our device
 * also has no DMA mask or DMA limits that storage drivers would use or change.
 */
#ifndef MRC_PARENT_H
#define MRC_PARENT_H

#include <linux/device.h>
#include <linux/workqueue.h>

struct mrc_dev;

/**
 * struct mrc_parent - parent of a device in sysfs
 * @ours: parent in the driver core, on a virtual bus
 * @root: parent of @ours while no netdev has a parent
 * @nic: the NIC's device that is the parent of @ours, NULL: @root is. Under RTNL; valid
 *	as long as a port has the netdev
 * @links: work item that updates the links in other network namespaces
 * @id: number in the name of @ours
 */
struct mrc_parent {
	struct device *ours;
	struct device *root;
	struct device *nic;
	struct work_struct links;
	int id;
};

/* For a device whose ports have no netdevs yet. Sleeps. */
int mrc_parent_create(struct mrc_dev *dev);

/* For a device that is unregistered and has no netdevs. Sleeps. */
void mrc_parent_destroy(struct mrc_dev *dev);

/* A port has gained or lost a netdev. Under RTNL. */
void mrc_parent_update(struct mrc_dev *dev);

/* Wait until all links show the last update. No lock held. */
void mrc_parent_flush(struct mrc_dev *dev);

/*
 * The core has added the device, or a copy of it in another network namespace, to
 * sysfs. Both sleep and take RTNL.
 */
int mrc_enable_driver(struct ib_device *ibdev);
void mrc_parent_copy_added(struct mrc_dev *dev, struct device *copy);

#endif /* MRC_PARENT_H */
