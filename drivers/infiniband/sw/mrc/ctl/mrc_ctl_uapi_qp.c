// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * uverbs methods on queue pairs: MRC attributes, and a query of the state of a QP (MRC
 * 1.0 §14). Only for the program's own QPs, so no privilege is needed.
 */

#define UVERBS_MODULE_NAME mrc
#include <rdma/uverbs_named_ioctl.h>

#include "mrc_ctl_priv.h"

static_assert(sizeof(struct mrc_abi_qp_attr) == 40);
static_assert(sizeof(struct mrc_abi_qp_info) % 8 == 0);
static_assert(sizeof(struct mrc_abi_qp_ev) == 8);

static struct mrc_qp *mrc_ctl_qp(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
							  MRC_ABI_ATTR_HANDLE);
	struct ib_qp *ibqp = uobj->object;

	/* QPs of other types have no struct mrc_qp. */
	if (ibqp->qp_type != IB_QPT_RC)
		return ERR_PTR(-EINVAL);
	return mrc_qp_from(ibqp);
}

static int mrc_ctl_qp_set(struct mrc_dev *dev, void *io,
			  struct uverbs_attr_bundle *attrs)
{
	struct mrc_qp *qp = mrc_ctl_qp(attrs);
	int ret;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	mutex_lock(&qp->mutex);
	ret = mrc_qp_set_mrc(qp, io);
	mutex_unlock(&qp->mutex);
	return ret;
}

/* Fill in the state of the requester; under tx.lock. */
static void mrc_qp_fill_requester(const struct mrc_qp *qp,
				  struct mrc_abi_qp_info *out)
{
	struct mrc_req_info info, *req = &info;
	u32 i;

	mrc_req_info(mrc_qp_req(qp), &info);
	strscpy(out->cc, req->cc, sizeof(out->cc));
	out->inflight = req->inflight;
	out->base_rtt = req->base_rtt;
	out->srtt = req->srtt;
	out->tx_pkts = req->pkts;
	out->rtx_pkts = req->rtx;
	out->timeouts = req->timeouts;
	out->cwnd = req->cwnd;
	out->window = req->window;
	out->sched_state = req->sched;
	for (i = 1; i <= min_t(u32, out->n_ports, MRC_ABI_PORTS); i++)
		out->port_tx_bytes[i - 1] = req->port_bytes[i];
}

/* Fill in the paths, and at most @room entries of @ev; under tx.lock. */
static void mrc_qp_fill_paths(const struct mrc_qp *qp,
			      struct mrc_abi_qp_info *out,
			      struct mrc_abi_qp_ev *ev, u32 room)
{
	const struct mrc_paths *p = &qp->paths;
	struct mrc_paths_info info;
	u32 i;

	mrc_paths_info(p, &info);
	out->n_evs = info.n;
	out->ports_up = info.ports_up;
	out->peer_ports = info.peer_ports;
	for (i = 1; i <= min_t(u32, info.n_ports, MRC_ABI_PORTS); i++)
		out->port_tx[i - 1] = mrc_paths_port_tx(p, i);
	for (i = 0; i < min(room, info.n); i++) {
		ev[i].entropy = mrc_paths_entropy(p, i);
		ev[i].port = mrc_paths_port(p, i);
		ev[i].state = mrc_paths_state(p, i);
		ev[i].drops = mrc_paths_drops(p, i);
	}
}

static void mrc_qp_fill_info(struct mrc_qp *qp, struct mrc_abi_qp_info *out,
			     struct mrc_abi_qp_ev *ev, u32 room)
{
	mutex_lock(&qp->mutex);
	out->qpn = qp->base.qpn;
	out->dest_qpn = qp->attr.dest_qpn;
	out->state = mrc_qp_verbs_state(qp);
	mrc_qp_effective(qp, &out->attr);
	out->ev_profile = MRC_ABI_PROFILE_NONE;
	out->cc_profile = MRC_ABI_PROFILE_NONE;
	if (READ_ONCE(qp->paths_on)) {
		out->ev_profile = qp->ev_id;
		out->cc_profile = qp->cc_id;
	}
	out->n_ports = qp->base.dev->n_ports;
	spin_lock_bh(&qp->tx.lock);
	if (qp->tx.on)
		mrc_qp_fill_requester(qp, out);
	if (qp->paths_on)
		mrc_qp_fill_paths(qp, out, ev, room);
	spin_unlock_bh(&qp->tx.lock);
	mutex_unlock(&qp->mutex);
}

int mrc_ctl_query_qp(struct uverbs_attr_bundle *attrs, struct mrc_qp *qp,
		     struct mrc_abi_qp_info *io)
{
	struct mrc_abi_qp_ev *ev;
	u32 room;

	room = min_t(u32, MRC_EV_MAX,
		     mrc_ctl_array_room(attrs, MRC_ABI_ATTR_ARRAY_OUT,
					sizeof(*ev)));
	ev = uverbs_kcalloc(attrs, room, sizeof(*ev));
	memset(io, 0, sizeof(*io));
	if (!IS_ERR(ev))
		mrc_qp_fill_info(qp, io, ev, room);
	/*
	 * Destroy waits for this reference, so drop it before access to the program's
	 * memory, which may block.
	 */
	mrc_qp_put(qp);
	if (IS_ERR(ev))
		return PTR_ERR(ev);
	return mrc_ctl_array_out(attrs, MRC_ABI_ATTR_ARRAY_OUT, ev,
				 min(room, io->n_evs), sizeof(*ev));
}

static int mrc_ctl_qp_query(struct mrc_dev *dev, void *io,
			    struct uverbs_attr_bundle *attrs)
{
	struct mrc_qp *qp = mrc_ctl_qp(attrs);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	mrc_qp_hold(qp);	/* the handle is held until this returns */
	return mrc_ctl_query_qp(attrs, qp, io);
}

#define MRC_CTL_QP \
	UVERBS_ATTR_IDR(MRC_ABI_ATTR_HANDLE, UVERBS_OBJECT_QP, \
			UVERBS_ACCESS_READ, UA_MANDATORY)

MRC_CTL_METHOD(MRC_ABI_QP_SET, MRC_CTL_PERM_NONE, struct mrc_abi_qp_attr,
	       mrc_ctl_qp_set, MRC_CTL_QP,
	       MRC_CTL_IN(struct mrc_abi_qp_attr, reserved));
MRC_CTL_METHOD(MRC_ABI_QP_QUERY, MRC_CTL_PERM_NONE, struct mrc_abi_qp_info,
	       mrc_ctl_qp_query, MRC_CTL_QP,
	       MRC_CTL_OUT(struct mrc_abi_qp_info, port_tx, UA_MANDATORY),
	       MRC_CTL_ARRAY_OUT(MRC_ABI_ATTR_ARRAY_OUT,
				 sizeof(struct mrc_abi_qp_ev)));

DECLARE_UVERBS_GLOBAL_METHODS(MRC_ABI_OBJECT_QP,
			      &UVERBS_METHOD(MRC_ABI_QP_SET),
			      &UVERBS_METHOD(MRC_ABI_QP_QUERY));

const struct uapi_definition mrc_uapi_qp_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MRC_ABI_OBJECT_QP),
	{},
};
