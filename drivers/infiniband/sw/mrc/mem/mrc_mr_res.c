// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions in "rdma resource show mr" and "rdma statistic show mr".
 */
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "mrc_mr.h"

static const char *mrc_mr_kind_name(const struct mrc_mr *mr)
{
	switch (mr->kind) {
	case MRC_MR_DMA:
		return "dma";
	case MRC_MR_FAST:
		return "fast";
	default:
		return mr->odp ? "paged" : "user";
	}
}

static int mrc_put_mr(struct sk_buff *msg, const struct mrc_mr *mr)
{
	/* The only kind whose state is of interest: it may be unregistered. */
	if (mr->kind == MRC_MR_FAST &&
	    rdma_nl_put_driver_u32(msg, "valid",
				   READ_ONCE(mr->state) == MRC_MR_VALID))
		return -EMSGSIZE;
	/* Not iova: it is an address in the program, and every user may query. */
	if (rdma_nl_put_driver_string(msg, "kind", mrc_mr_kind_name(mr)) ||
	    rdma_nl_put_driver_u64(msg, "length", mr->length) ||
	    rdma_nl_put_driver_u64(msg, "pages", mr->n_pages) ||
	    rdma_nl_put_driver_u32_hex(msg, "access", mr->access) ||
	    rdma_nl_put_driver_u32(msg, "windows",
				   max(atomic_read(&mr->n_windows), 0)))
		return -EMSGSIZE;
	return 0;
}

/* Pages fetched and taken back; names as in other drivers. */
static int mrc_fill_mr_stat(struct sk_buff *msg, void *obj)
{
	const struct mrc_ibmr *ibmr = obj;
	struct mrc_odp_stat stat = {};
	const struct mrc_mr *mr;
	bool paged;

	rcu_read_lock();
	mr = READ_ONCE(ibmr->mr);
	paged = mr->odp;
	if (paged)
		mrc_odp_stat(mr->odp, &stat);
	rcu_read_unlock();
	if (paged &&
	    (rdma_nl_stat_hwcounter_entry(msg, "page_faults", stat.faults) ||
	     rdma_nl_stat_hwcounter_entry(msg, "page_invalidations",
					  stat.invalidations) ||
	     rdma_nl_stat_hwcounter_entry(msg, "page_prefetch",
					  stat.prefetched)))
		return -EMSGSIZE;
	return 0;
}

static int mrc_fill_mr(struct sk_buff *msg, void *obj, bool all)
{
	const struct mrc_ibmr *ibmr = obj;
	int ret;

	/* The region may be re-registered at any time. */
	rcu_read_lock();
	ret = mrc_put_mr(msg, READ_ONCE(ibmr->mr));
	rcu_read_unlock();
	return ret;
}

int mrc_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	return mrc_res_fill(msg, ibmr->device, mrc_fill_mr, to_mibmr(ibmr));
}

int mrc_fill_stat_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct nlattr *nest = nla_nest_start(msg,
					     RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);

	if (!nest)
		return -EMSGSIZE;
	if (mrc_fill_mr_stat(msg, to_mibmr(ibmr))) {
		nla_nest_cancel(msg, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}
