// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles. This release has no datagram QPs to use them; programs that
 * make them for their own bookkeeping can, and read them back.
 */
#include <linux/etherdevice.h>

#include "mrc.h"

/**
 * struct mrc_ah - address handle
 * @ib: ib_core's part
 * @grh: as given; without the GID entry, which the core holds
 * @dmac: resolved by the core
 * @sl: service level
 * @static_rate: as given
 * @port: 1-based
 */
struct mrc_ah {
	struct ib_ah ib;
	struct ib_global_route grh;
	u8 dmac[ETH_ALEN];
	u8 sl;
	u8 static_rate;
	u32 port;
};

static struct mrc_ah *to_mah(struct ib_ah *ibah)
{
	return container_of(ibah, struct mrc_ah, ib);
}

static int mrc_create_ah(struct ib_ah *ibah,
			 struct rdma_ah_init_attr *init_attr,
			 struct ib_udata *udata)
{
	struct rdma_ah_attr *attr = init_attr->ah_attr;
	struct mrc_ah *ah = to_mah(ibah);
	int ret;

	ret = mrc_udata_in(udata, NULL, 0);
	if (ret)
		return ret;
	/* The core has checked the port and the GID index. */
	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return -EINVAL;
	ret = mrc_count(&to_mdev(ibah->device)->n_ah, MRC_MAX_AH);
	if (ret)
		return ret;
	ah->grh = *rdma_ah_read_grh(attr);
	ah->grh.sgid_attr = NULL;
	ether_addr_copy(ah->dmac, attr->roce.dmac);
	ah->sl = rdma_ah_get_sl(attr);
	ah->static_rate = rdma_ah_get_static_rate(attr);
	ah->port = rdma_ah_get_port_num(attr);
	return 0;
}

static int mrc_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	const struct mrc_ah *ah = to_mah(ibah);

	memset(attr, 0, sizeof(*attr));
	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_sl(attr, ah->sl);
	rdma_ah_set_static_rate(attr, ah->static_rate);
	rdma_ah_set_port_num(attr, ah->port);
	attr->grh = ah->grh;
	rdma_ah_set_ah_flags(attr, IB_AH_GRH);
	ether_addr_copy(attr->roce.dmac, ah->dmac);
	return 0;
}

static int mrc_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	atomic_dec(&to_mdev(ibah->device)->n_ah);
	return 0;
}

const struct ib_device_ops mrc_ah_ops = {
	.create_ah = mrc_create_ah,
	.create_user_ah = mrc_create_ah,
	.query_ah = mrc_query_ah,
	.destroy_ah = mrc_destroy_ah,
	INIT_RDMA_OBJ_SIZE(ib_ah, mrc_ah, ib),
};
