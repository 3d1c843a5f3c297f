// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Unreliable connections: attributes, changes of state, driver details for netlink.
 */
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/restrack.h>

#include "mrc_uc_qp.h"

struct mrc_uc *mrc_uc_alloc(void)
{
	struct mrc_uc *uc = kzalloc(sizeof(*uc), GFP_KERNEL_ACCOUNT);

	if (!uc)
		return NULL;
	mutex_init(&uc->tx_mutex);
	spin_lock_init(&uc->av.lock);
	return uc;
}

void mrc_uc_free(struct mrc_uc *uc)
{
	if (!uc)
		return;
	mrc_av_drop_route(&uc->av);
	mutex_destroy(&uc->tx_mutex);
	kfree(uc);
}

int mrc_uc_check_attr(struct mrc_ud *ud, const struct ib_qp_attr *attr,
		      int mask)
{
	if (mask & (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE))
		return -EOPNOTSUPP;
	if (mask & IB_QP_ACCESS_FLAGS && attr->qp_access_flags & ~MRC_QP_ACCESS)
		return -EINVAL;
	return mrc_qp_check_peer(&ud->base.dev->port[ud->port], attr, mask);
}

static void mrc_uc_set_av(struct mrc_ud *ud, const struct rdma_ah_attr *ah)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(ah);
	struct mrc_uc *uc = ud->uc;
	struct mrc_uc_attrs *a = &uc->attr;
	struct mrc_av *av = &uc->av;

	lockdep_assert_held(&uc->tx_mutex);
	a->dgid = grh->dgid;
	a->flow_label = grh->flow_label;
	a->sgid_index = grh->sgid_index;
	a->hop_limit = grh->hop_limit;
	a->traffic_class = grh->traffic_class;
	a->sl = rdma_ah_get_sl(ah);

	mrc_av_drop_route(av);
	mrc_av_set_grh(ud->base.dev, av, grh);
	av->port = ud->port;
	uc->bound_port = 0;
	if (ipv6_addr_type(&av->daddr) & IPV6_ADDR_LINKLOCAL) {
		uc->bound_port = grh->sgid_attr->port_num;
		av->port = uc->bound_port;
	}
}

void mrc_uc_set_attr(struct mrc_ud *ud, enum ib_qp_state state,
		     const struct ib_qp_attr *attr, int mask)
{
	struct mrc_uc *uc = ud->uc;

	lockdep_assert_held(&ud->rq_lock);
	lockdep_assert_held(&ud->sq_lock);
	if (mask & IB_QP_ACCESS_FLAGS) {
		uc->attr.access = attr->qp_access_flags;
		uc->remote_write = uc->attr.access & IB_ACCESS_REMOTE_WRITE;
	}
	if (mask & IB_QP_AV)
		mrc_uc_set_av(ud, &attr->ah_attr);
	if (mask & IB_QP_DEST_QPN) {
		uc->attr.dest_qpn = attr->dest_qp_num;
		uc->tx.dqp = attr->dest_qp_num;
	}
	if (mask & IB_QP_PATH_MTU) {
		uc->attr.path_mtu = attr->path_mtu;
		uc->rx.pmtu = ib_mtu_enum_to_int(attr->path_mtu);
		uc->tx.pmtu = uc->rx.pmtu;
	}
	if (mask & IB_QP_RQ_PSN)
		uc->rx.psn = attr->rq_psn & MRC_PSN_MASK;
	if (mask & IB_QP_SQ_PSN)
		uc->tx.psn = attr->sq_psn & MRC_PSN_MASK;
	uc->tx.pkey = MRC_PKEY_DEFAULT;
	if (state >= IB_QPS_RTS)
		uc->established = true;
}

void mrc_uc_reset(struct mrc_ud *ud)
{
	struct mrc_uc *uc = ud->uc;

	memset(&uc->attr, 0, sizeof(uc->attr));
	memset(&uc->tx, 0, sizeof(uc->tx));
	memset(&uc->rx, 0, sizeof(uc->rx));
	uc->remote_write = false;
	uc->established = false;
}

void mrc_uc_query(struct mrc_ud *ud, struct ib_qp_attr *attr)
{
	struct mrc_uc *uc = ud->uc;
	const struct mrc_uc_attrs *a = &uc->attr;

	attr->path_mtu = a->path_mtu;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->dest_qp_num = a->dest_qpn;
	attr->qp_access_flags = a->access;
	attr->sq_psn = READ_ONCE(uc->tx.psn);
	attr->rq_psn = READ_ONCE(uc->rx.psn);
	if (!a->path_mtu)	/* the AV is set together with the path MTU, at RTR */
		return;
	attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_grh(&attr->ah_attr, (union ib_gid *)&a->dgid, a->flow_label,
			a->sgid_index, a->hop_limit, a->traffic_class);
	rdma_ah_set_sl(&attr->ah_attr, a->sl);
	rdma_ah_set_port_num(&attr->ah_attr, ud->port);
}

int mrc_uc_fill_res(struct sk_buff *msg, struct ib_qp *ibqp, bool all)
{
	struct mrc_ud *ud = mrc_ud_of(ibqp);
	const struct mrc_uc *uc;
	int ret = 0;

	if (!ud)
		return 0;
	uc = ud->uc;
	if (rdma_nl_put_driver_u32(msg, "plane", READ_ONCE(uc->av.port)) ||
	    rdma_nl_put_driver_u32(msg, "udp_port", ntohs(uc->av.dport)) ||
	    (all &&
	     (rdma_nl_put_driver_u32(msg, "next_psn", READ_ONCE(uc->tx.psn)) ||
	      rdma_nl_put_driver_u32(msg, "resp_psn", READ_ONCE(uc->rx.psn)))))
		ret = -EMSGSIZE;
	mrc_ud_put(ud);
	return ret;
}
