// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * sysfs files that monitoring reads of every RDMA device: the type of the device, and
 * the port counters that InfiniBand defines for all devices. The counters of the
 * protocol are in mrc_stats.c.
 */
#include <rdma/ib_sysfs.h>

#include "mrc_dev.h"

static ssize_t hca_type_show(struct device *d, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "MRC\n");
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t board_id_show(struct device *d, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "soft-mrc\n");
}
static DEVICE_ATTR_RO(board_id);

/* The revision of the uAPI is reported elsewhere; there is no other revision. */
static ssize_t hw_rev_show(struct device *d, struct device_attribute *attr,
			   char *buf)
{
	struct ib_device *ib = rdma_device_to_ibdev(d);

	return sysfs_emit(buf, "%x\n", ib->attrs.hw_ver);
}
static DEVICE_ATTR_RO(hw_rev);

/*
 * The core calls this when it adds the device to sysfs, and for each copy of it in
 * another network namespace. There is no other notification of the copies.
 */
static umode_t mrc_attr_visible(struct kobject *kobj, struct attribute *attr,
				int i)
{
	struct device *d = kobj_to_dev(kobj);
	struct mrc_dev *dev = rdma_device_to_drv_device(d, struct mrc_dev, ib);

	if (!i && d != &dev->ib.dev)
		mrc_parent_copy_added(dev, d);
	return attr->mode;
}

static struct attribute *mrc_attrs[] = {
	&dev_attr_hw_rev.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_board_id.attr,
	NULL
};

static const struct attribute_group mrc_attr_group = {
	.attrs = mrc_attrs,
	.is_visible = mrc_attr_visible,
};

static void mrc_fw_str(struct ib_device *ibdev, char *str)
{
	u64 v = ibdev->attrs.fw_ver;

	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.%u.%u", (u32)(v >> 32) & 0xffff,
		 (u32)(v >> 16) & 0xffff, (u32)v & 0xffff);
}

/* --- counters of ports -------------------------------------------------------- */

static u64 mrc_io_read(struct mrc_dev *dev, u32 port, enum mrc_io id)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->io, cpu)[port].v[id]);
	return sum;
}

struct mrc_port_ctr {
	struct ib_port_attribute attr;
	u64 (*read)(struct mrc_dev *dev, u32 port);
};

static ssize_t mrc_port_ctr_show(struct ib_device *ibdev, u32 port,
				 struct ib_port_attribute *attr, char *buf)
{
	const struct mrc_port_ctr *ctr;

	ctr = container_of(attr, struct mrc_port_ctr, attr);
	return sysfs_emit(buf, "%llu\n", ctr->read(to_mdev(ibdev), port));
}

#define MRC_PORT_CTR(_name, _value)					\
static u64 mrc_read_##_name(struct mrc_dev *dev, u32 port)		\
{									\
	return _value;							\
}									\
static struct mrc_port_ctr mrc_port_ctr_##_name = {			\
	.attr.attr = { .name = #_name, .mode = 0444 },			\
	.attr.show = mrc_port_ctr_show,					\
	.read = mrc_read_##_name,					\
}

#define IO(id)		mrc_io_read(dev, port, MRC_IO_##id)
#define EVENTS(id)	mrc_ctr_read(dev, port, MRC_CTR_##id)

/* InfiniBand counts data in units of four octets. */
MRC_PORT_CTR(port_xmit_data, IO(TX_OCTETS) / 4);
MRC_PORT_CTR(port_rcv_data, IO(RX_OCTETS) / 4);
MRC_PORT_CTR(port_xmit_packets, IO(TX_PKTS));
MRC_PORT_CTR(port_rcv_packets, IO(RX_PKTS));
MRC_PORT_CTR(unicast_xmit_packets, IO(TX_PKTS) - IO(TX_MCAST));
MRC_PORT_CTR(unicast_rcv_packets, IO(RX_PKTS) - IO(RX_MCAST));
MRC_PORT_CTR(multicast_xmit_packets, IO(TX_MCAST));
MRC_PORT_CTR(multicast_rcv_packets, IO(RX_MCAST));
/* Damaged or malformed packets, from any sender. */
MRC_PORT_CTR(port_rcv_errors, EVENTS(DROP_SHORT) + EVENTS(DROP_LENGTH) +
			      EVENTS(DROP_TVER) + EVENTS(DROP_ICRC) +
			      EVENTS(DROP_SRV6));
MRC_PORT_CTR(port_xmit_discards, EVENTS(TX_ERROR));
MRC_PORT_CTR(link_downed, EVENTS(PORT_DOWN));

static struct attribute *mrc_port_ctrs[] = {
	&mrc_port_ctr_port_xmit_data.attr.attr,
	&mrc_port_ctr_port_rcv_data.attr.attr,
	&mrc_port_ctr_port_xmit_packets.attr.attr,
	&mrc_port_ctr_port_rcv_packets.attr.attr,
	&mrc_port_ctr_unicast_xmit_packets.attr.attr,
	&mrc_port_ctr_unicast_rcv_packets.attr.attr,
	&mrc_port_ctr_multicast_xmit_packets.attr.attr,
	&mrc_port_ctr_multicast_rcv_packets.attr.attr,
	&mrc_port_ctr_port_rcv_errors.attr.attr,
	&mrc_port_ctr_port_xmit_discards.attr.attr,
	&mrc_port_ctr_link_downed.attr.attr,
	NULL
};

static const struct attribute_group mrc_port_ctr_group = {
	.name = "counters",
	.attrs = mrc_port_ctrs,
};

static const struct attribute_group *mrc_port_groups[] = {
	&mrc_port_ctr_group,
	NULL
};

const struct ib_device_ops mrc_sysfs_ops = {
	.device_group = &mrc_attr_group,
	.port_groups = mrc_port_groups,
	.get_dev_fw_str = mrc_fw_str,
};
