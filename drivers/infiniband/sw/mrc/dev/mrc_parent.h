/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where the RDMA device is in sysfs.
 *
 * Programs look at /sys/class/infiniband/NAME/device to find out which NIC they
 * use, and near which processors it is. So the link exists always: it shows the
 * parent of the netdev of the lowest port whose netdev has one (a PCI or virtio
 * device), else a device of our own.
 *
 * For the driver core that device of our own is the parent in either case, and is
 * itself below the NIC's. A port's NIC can be unplugged while the RDMA device goes
 * on with other ports, and below the parent there are devices of others, which do
 * not expect that it changes: those of ib_uverbs and ib_umad, SCSI hosts. When the
 * NIC goes, ours moves away from it with all that it carries. Nor has it a DMA mask
 * or limits of DMA that storage drivers would find or change.
 */
#ifndef MRC_PARENT_H
#define MRC_PARENT_H

#include <linux/device.h>
#include <linux/workqueue.h>

struct mrc_dev;

/**
 * struct mrc_parent - what a device is below
 * @ours: the parent for the driver core, on a virtual bus
 * @root: what @ours is below when no netdev has a parent
 * @nic: the NIC's device that @ours is below, NULL: @root. Under RTNL; valid as
 *	long as a port has the netdev
 * @links: brings a change of @nic to the links in other network namespaces
 * @id: number in the name of @ours
 */
struct mrc_parent {
	struct device *ours;
	struct device *root;
	struct device *nic;
	struct work_struct links;
	int id;
};

/* For a device that has no ports' netdevs yet. Sleeps. */
int mrc_parent_create(struct mrc_dev *dev);

/* The device is not registered any more and has no netdevs. Sleeps. */
void mrc_parent_destroy(struct mrc_dev *dev);

/* A port has got a netdev or lost it. Under RTNL. */
void mrc_parent_update(struct mrc_dev *dev);

/* Wait until all links show the last update. No lock held. */
void mrc_parent_flush(struct mrc_dev *dev);

/*
 * The core has added the device to sysfs, or a copy of it in another network
 * namespace. Sleep, take RTNL.
 */
int mrc_enable_driver(struct ib_device *ibdev);
void mrc_parent_copy_added(struct mrc_dev *dev, struct device *copy);

#endif /* MRC_PARENT_H */
