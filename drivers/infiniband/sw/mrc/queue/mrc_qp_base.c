// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Common part of all kinds of queue pairs: QPNs and references.
 */
#include <linux/random.h>
#include <linux/rhashtable.h>

#include "net/mrc_net.h"
#include "mrc_queue.h"

/*
 * QPs by QPN, read under RCU. An xarray would waste memory: QPNs are scattered over 24
 * bits, so each QP would need almost two nodes of its own.
 */
static struct rhashtable mrc_qpns;

struct workqueue_struct *mrc_qp_wq;

static const struct rhashtable_params mrc_qpn_params = {
	.key_len = sizeof_field(struct mrc_qp_base, qpn),
	.key_offset = offsetof(struct mrc_qp_base, qpn),
	.head_offset = offsetof(struct mrc_qp_base, node),
	.automatic_shrinking = true,
};

void mrc_qp_base_init(struct mrc_qp_base *base, struct mrc_dev *dev)
{
	refcount_set(&base->ref, 1);
	init_completion(&base->released);
	base->dev = dev;
	base->state = IB_QPS_RESET;
}

void mrc_qp_base_set(struct mrc_qp_base *base, struct ib_qp *ibqp,
		     const struct mrc_qp_params *parts)
{
	base->ibqp = ibqp;
	base->scq = parts->scq;
	base->rcq = parts->rcq;
	base->srq = parts->srq;
	base->sig_all = parts->sig_all;
}

struct mrc_qp_base *mrc_qp_base_get(u32 qpn)
{
	struct mrc_qp_base *base;

	rcu_read_lock();
	base = rhashtable_lookup(&mrc_qpns, &qpn, mrc_qpn_params);
	if (base && !mrc_qp_base_tryget(base))
		base = NULL;
	rcu_read_unlock();
	return base;
}

struct mrc_qp_base *mrc_qp_base_of(struct ib_qp *ibqp)
{
	struct mrc_qp_base *base;

	rcu_read_lock();
	base = READ_ONCE(to_mibqp(ibqp)->base);
	if (base && !mrc_qp_base_tryget(base))
		base = NULL;
	rcu_read_unlock();
	return base;
}

/* An unpredictable QPN in the range of UD and UC (@ud) or of connected QPs. */
static u32 mrc_qpn_random(bool ud)
{
	u32 qpn = get_random_u32();

	if (ud)
		return MRC_QPN_UD_FIRST | (qpn & MRC_QPN_UD_MASK);
	return qpn & MRC_PSN_MASK;
}

int mrc_qp_base_publish(struct mrc_qp_base *base, bool ud)
{
	int tries, ret = -EEXIST;

	/* -EBUSY: the table is growing. Retry until it has grown. */
	for (tries = 0; tries < 1024 && (ret == -EEXIST || ret == -EBUSY);
	     tries++) {
		u32 qpn = mrc_qpn_random(ud);

		if (qpn < MRC_QPN_MIN || qpn == MRC_QPN_MCAST ||
		    mrc_qpn_ud(qpn) != ud)
			continue;
		base->qpn = qpn;
		ret = rhashtable_lookup_insert_fast(&mrc_qpns, &base->node,
						    mrc_qpn_params);
		cond_resched();
	}
	return ret == -EEXIST ? -ENOSPC : ret;
}

void mrc_qp_base_unpublish(struct mrc_qp_base *base)
{
	rhashtable_remove_fast(&mrc_qpns, &base->node, mrc_qpn_params);
}

int mrc_qp_base_table_init(void)
{
	int ret;

	/* WQ_HIGHPRI: requests of peers are refused until the answer channel is made. */
	mrc_qp_wq = alloc_workqueue("mrc", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (!mrc_qp_wq)
		return -ENOMEM;
	ret = rhashtable_init(&mrc_qpns, &mrc_qpn_params);
	if (ret)
		destroy_workqueue(mrc_qp_wq);
	return ret;
}

void mrc_qp_base_table_exit(void)
{
	rhashtable_destroy(&mrc_qpns);
	destroy_workqueue(mrc_qp_wq);
}
