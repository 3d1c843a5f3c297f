// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Protocol counters for "rdma statistic", per port. */
#include "mrc_dev.h"

/*
 * "rdma statistic" returns all counters of a port in one netlink message. The RDMA core
 * allocates it with a fixed size: a page less the overhead of a socket buffer at its
 * end, 3776 bytes with the smallest pages. If the counters do not fit, the result is
 * EMSGSIZE, not a shorter list. The list is preceded by the header, the device's index,
 * its name, which "rdma dev set" may make as long as the core allows, and the port.
 */
#define MRC_STAT_MSG_MAX 3776
#define MRC_STAT_ATTR(len) (NLA_HDRLEN + NLA_ALIGN(len))
#define MRC_STAT_HEAD (NLMSG_HDRLEN + MRC_STAT_ATTR(sizeof(u32)) +	\
		       MRC_STAT_ATTR(IB_DEVICE_NAME_MAX) +		\
		       MRC_STAT_ATTR(sizeof(u32)) + MRC_STAT_ATTR(0))
#define MRC_STAT_ENTRY(text) (MRC_STAT_ATTR(0) +			\
			      MRC_STAT_ATTR(sizeof(text)) +		\
			      MRC_STAT_ATTR(sizeof(u64)))

#define X(id, text) + MRC_STAT_ENTRY(text)
static_assert(MRC_STAT_HEAD MRC_COUNTER_LIST(X) <= MRC_STAT_MSG_MAX,
	      "more than one netlink message: shorten names of counters");
#undef X

static const struct rdma_stat_desc mrc_stat_descs[] = {
#define X(id, text) { .name = text },
	MRC_COUNTER_LIST(X)
#undef X
};

u64 mrc_ctr_read(struct mrc_dev *dev, unsigned int port, enum mrc_counter id)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->ctr.v, cpu)
				 [port * MRC_CTR_MAX + id]);
	return sum;
}

static struct rdma_hw_stats *mrc_alloc_hw_port_stats(struct ib_device *ibdev,
						     u32 port)
{
	/* Lifespan 0: nothing is cached, because tests check exact numbers. */
	return rdma_alloc_hw_stats_struct(mrc_stat_descs, MRC_CTR_MAX, 0);
}

static int mrc_get_hw_stats(struct ib_device *ibdev,
			    struct rdma_hw_stats *stats, u32 port, int index)
{
	struct mrc_dev *dev = to_mdev(ibdev);
	unsigned int i;

	if (!port || port > dev->n_ports)
		return -EINVAL;
	for (i = 0; i < MRC_CTR_MAX; i++)
		stats->value[i] = mrc_ctr_read(dev, port, i);
	return MRC_CTR_MAX;
}

const struct ib_device_ops mrc_stats_ops = {
	.alloc_hw_port_stats = mrc_alloc_hw_port_stats,
	.get_hw_stats = mrc_get_hw_stats,
};
