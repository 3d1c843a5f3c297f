// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Driver details for "rdma resource show qp|cq|mr -dd".
 *
 * Everybody may ask. PSNs let who knows them forge packets of other users' QPs,
 * and many programs begin at a PSN that is no secret, so that what is counted
 * since then tells the PSN as well. Everybody sees states and differences; only
 * who controls the device sees the rest.
 */
#include <linux/net.h>
#include <net/sock.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "mrc_dev.h"

typedef int (*mrc_fill_fn)(struct sk_buff *msg, void *obj, bool all);

/*
 * May who asks see all? Who opened the socket and who asks through it both have
 * to: it may have been handed on, either way. The message of a dump belongs to the
 * socket. That of a single object does not, and the core does not say who asked:
 * nobody may.
 */
static bool mrc_may_see_all(const struct sk_buff *msg, const struct mrc_dev *dev)
{
	const struct sock *sk = msg->sk;

	return sk && sk->sk_socket && sk->sk_socket->file &&
	       sk_ns_capable(sk, dev->net->user_ns, CAP_NET_ADMIN);
}

static int mrc_fill(struct sk_buff *msg, struct ib_device *ibdev,
		    mrc_fill_fn fn, void *obj)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);

	if (!nest)
		return -EMSGSIZE;
	if (fn(msg, obj, mrc_may_see_all(msg, to_mdev(ibdev)))) {
		nla_nest_cancel(msg, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}

static int mrc_fill_qp(struct sk_buff *msg, void *obj, bool all)
{
	const struct ib_qp *ibqp = obj;
	int ret;

	if (ibqp->qp_type == IB_QPT_UC)
		return mrc_uc_fill_res(msg, obj, all);
	ret = mrc_qp_fill_res(msg, obj, all);
	return ret ? ret : mrc_ans_fill_res(msg, obj, all);
}

static int mrc_fill_cq(struct sk_buff *msg, void *obj, bool all)
{
	struct mrc_cq *cq = obj;
	u32 depth, prod, cons;
	u8 notify;
	bool dead;

	spin_lock_bh(&cq->lock);
	if (!cq->ring.hdr) {	/* being destroyed */
		spin_unlock_bh(&cq->lock);
		return 0;
	}
	depth = cq->ring.depth;
	prod = cq->ring.idx;
	cons = READ_ONCE(cq->ring.hdr->cons);
	notify = cq->notify;
	dead = cq->dead;
	spin_unlock_bh(&cq->lock);

	if (rdma_nl_put_driver_u32(msg, "depth", depth) ||
	    (all && rdma_nl_put_driver_u32(msg, "prod", prod)) ||
	    rdma_nl_put_driver_u32(msg, "waiting", prod - cons) ||
	    rdma_nl_put_driver_string(msg, "armed",
				      notify == IB_CQ_NEXT_COMP ? "next" :
				      notify ? "solicited" : "no") ||
	    rdma_nl_put_driver_u32(msg, "overflowed", dead))
		return -EMSGSIZE;
	return 0;
}

static int mrc_put_mr(struct sk_buff *msg, const struct mrc_mr *mr)
{
	/* The one kind whose state says something: it may not be registered. */
	if (mr->kind == MRC_MR_FAST &&
	    rdma_nl_put_driver_u32(msg, "valid",
				   READ_ONCE(mr->state) == MRC_MR_VALID))
		return -EMSGSIZE;
	/* Not iova: an address of the program, and everybody may ask. */
	if (rdma_nl_put_driver_string(msg, "kind", mrc_mr_kind_name(mr)) ||
	    rdma_nl_put_driver_u64(msg, "length", mr->length) ||
	    rdma_nl_put_driver_u64(msg, "pages", mr->n_pages) ||
	    rdma_nl_put_driver_u32_hex(msg, "access", mr->access) ||
	    rdma_nl_put_driver_u32(msg, "windows",
				   max(atomic_read(&mr->n_windows), 0)))
		return -EMSGSIZE;
	return 0;
}

/* Pages fetched and taken back, as other drivers name them. */
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

	/* It may be registered anew at any time. */
	rcu_read_lock();
	ret = mrc_put_mr(msg, READ_ONCE(ibmr->mr));
	rcu_read_unlock();
	return ret;
}

static int mrc_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	return mrc_fill(msg, ibqp->device, mrc_fill_qp, ibqp);
}

static int mrc_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	return mrc_fill(msg, ibcq->device, mrc_fill_cq, to_mcq(ibcq));
}

static int mrc_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	return mrc_fill(msg, ibmr->device, mrc_fill_mr, to_mibmr(ibmr));
}

static int mrc_fill_stat_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
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

const struct ib_device_ops mrc_nldev_ops = {
	.fill_res_qp_entry = mrc_fill_res_qp_entry,
	.fill_res_cq_entry = mrc_fill_res_cq_entry,
	.fill_res_mr_entry = mrc_fill_res_mr_entry,
	.fill_stat_mr_entry = mrc_fill_stat_mr_entry,
};
