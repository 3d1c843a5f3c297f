// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC: modifying queue pairs.
 *
 * A program sets verbs attributes and MRC attributes together. The kernel takes both in
 * one command, so that either all of them take effect or none. That command also
 * applies the rules of verbs about the attributes that a transition needs. Some of
 * these attributes have no meaning for MRC. Their values from programs are accepted and
 * ignored; the kernel is given values chosen here.
 */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "lib_qp.h"
#include "mrc_provider.h"
#include "mrc_uabi.h"

/*
 * Timeouts of about 26 seconds in total before a silent peer is given up: 67 ms, 7
 * times, then doubled 7 times, and the longest one once more. Peers become ready
 * independently of each other, and the first packets may be sent long before the peer
 * is there.
 */
enum {
	DEFAULT_TIMEOUT	= 16,
	DEFAULT_LINEAR	= 7,
	DEFAULT_EXP	= 7,
};

enum {
	TIMEOUT_MAX	= 24,
	LINEAR_MAX	= 7,
	EXP_MAX		= 25,
	QPN_MAX		= 0xffffff,
};

#define QP_CAPS                                            \
	((uint32_t)MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED | \
	 (uint32_t)MRC_QP_CAP_DYNAMIC_MPR |                \
	 (uint32_t)MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED)

/* Verbs attributes that are ignored. */
#define IGNORED                                                          \
	(IBV_QP_PKEY_INDEX | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |         \
	 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |                    \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_PORT)

/* Verbs attributes that take effect, each in some transitions. */
#define HONOURED                                             \
	(IBV_QP_ACCESS_FLAGS | IBV_QP_AV | IBV_QP_PATH_MTU | \
	 IBV_QP_RQ_PSN | IBV_QP_SQ_PSN | IBV_QP_DEST_QPN)

#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

static_assert((int)MRC_QP_MAX_WIMM == MRC_ABI_QP_MAX_WIMM &&
		      (int)MRC_QP_MAX_WIMM_DEST == MRC_ABI_QP_MAX_WIMM_DEST &&
		      (int)MRC_QP_MPR == MRC_ABI_QP_MPR &&
		      (int)MRC_QP_MPR_DEST == MRC_ABI_QP_MPR_DEST &&
		      (int)MRC_QP_TIMEOUT == MRC_ABI_QP_TIMEOUT &&
		      (int)MRC_QP_EV_PROFILE_ID == MRC_ABI_QP_EV_PROFILE &&
		      (int)MRC_QP_CC_PROFILE_ID == MRC_ABI_QP_CC_PROFILE &&
		      (int)MRC_QP_RETRY_CNT == MRC_ABI_QP_RETRY &&
		      (int)MRC_QP_CAP == MRC_ABI_QP_CAP,
	      "the kernel's bits are the library's");

/* --- MRC attributes ------------------------------------------------------- */

/* Default: the number of entries of the queue, up to the limit of the device. */
static uint16_t default_wimm(const struct mrc_wq *wq, uint16_t limit)
{
	return wq->ring.depth < limit ? wq->ring.depth : limit;
}

void mrc_lib_qp_defaults(const struct mrc_qp *qp, struct mrc_abi_qp_attr *attr,
			 uint32_t set)
{
	uint32_t own = MRC_ABI_QP_TIMEOUT | MRC_ABI_QP_RETRY | MRC_ABI_QP_CAP;
	const struct mrc_abi_device *dev = &qp->ctx->dev;
	const struct mrc_v_qp *vqp = to_mqp(qp->vqp);

	/* Without a queue the attribute has no effect, and 0 is not a valid number. */
	if (vqp->sq.ring.depth)
		own |= MRC_ABI_QP_MAX_WIMM;
	if (vqp->rq.ring.depth)
		own |= MRC_ABI_QP_MAX_WIMM_DEST;
	own &= ~set;
	attr->mask |= own;
	if (own & MRC_ABI_QP_MAX_WIMM)
		attr->max_wimm = default_wimm(&vqp->sq, dev->max_wimm);
	if (own & MRC_ABI_QP_MAX_WIMM_DEST)
		attr->max_wimm_dest =
			default_wimm(&vqp->rq, dev->max_wimm_dest);
	if (!(set & MRC_ABI_QP_TIMEOUT))
		attr->timeout = DEFAULT_TIMEOUT;
	if (!(set & MRC_ABI_QP_RETRY)) {
		attr->retry_linear = DEFAULT_LINEAR;
		attr->retry_exp = DEFAULT_EXP;
	}
	/*
	 * A verbs program cannot tell that its peer does not report the service time,
	 * so its queue pairs work without it. An MRC program can tell, and this one did
	 * not.
	 */
	if (!(set & MRC_ABI_QP_CAP))
		attr->cap = 0;
}

static bool mrc_attr_ok(const struct mrc_qp *qp, enum ibv_qp_state cur,
			const struct mrc_qp_attr *attr, uint32_t mask)
{
	const struct mrc_abi_device *dev = &qp->ctx->dev;

	if (!mask)
		return true;
	if (!attr || mask & ~MRC_LIB_QP_ALL)
		return false;
	if ((mask & MRC_QP_TIMEOUT && attr->timeout > TIMEOUT_MAX) ||
	    (mask & MRC_QP_RETRY_CNT && (attr->retry.linear_cnt > LINEAR_MAX ||
					 attr->retry.exp_cnt > EXP_MAX)))
		return false;
	if ((mask & MRC_QP_MAX_WIMM && attr->wimm.max_wimm > dev->max_wimm) ||
	    (mask & MRC_QP_MAX_WIMM_DEST &&
	     attr->wimm.max_wimm_dest > dev->max_wimm_dest) ||
	    (mask & MRC_QP_MPR && attr->mpr.mpr > dev->max_mpr) ||
	    (mask & MRC_QP_MPR_DEST && attr->mpr.mpr_dest > dev->max_mpr))
		return false;
	if (mask & MRC_QP_CAP &&
	    (attr->cap & ~QP_CAPS ||
	     (attr->cap & MRC_QP_CAP_DYNAMIC_MPR &&
	      !(dev->cap & MRC_ABI_CAP_DYNAMIC_MPR))))
		return false;
	/* Like a profile, a hint must be set before the connection is established. */
	if (mask & MRC_QP_HINT &&
	    ((attr->qp_hint && attr->qp_hint->ctx != qp->ctx) ||
	     (cur != IBV_QPS_RESET && cur != IBV_QPS_INIT)))
		return false;
	return true;
}

/* The kernel checks whether the attributes may be set in the current state. */
static void mrc_attr_to_kernel(const struct mrc_qp_attr *attr, uint32_t mask,
			       struct mrc_abi_qp_attr *k)
{
	memset(k, 0, sizeof(*k));
	k->mask = mask & MRC_LIB_QP_KERNEL;
	if (mask & MRC_QP_MAX_WIMM)
		k->max_wimm = attr->wimm.max_wimm;
	if (mask & MRC_QP_MAX_WIMM_DEST)
		k->max_wimm_dest = attr->wimm.max_wimm_dest;
	if (mask & MRC_QP_MPR)
		k->mpr = attr->mpr.mpr;
	if (mask & MRC_QP_MPR_DEST)
		k->mpr_dest = attr->mpr.mpr_dest;
	if (mask & MRC_QP_TIMEOUT)
		k->timeout = attr->timeout;
	if (mask & MRC_QP_EV_PROFILE_ID)
		k->ev_profile = attr->profile.ev_profile_id;
	if (mask & MRC_QP_CC_PROFILE_ID)
		k->cc_profile = attr->profile.cc_profile_id;
	if (mask & MRC_QP_RETRY_CNT) {
		k->retry_linear = attr->retry.linear_cnt;
		k->retry_exp = attr->retry.exp_cnt;
	}
	if (mask & MRC_QP_CAP)
		k->cap = attr->cap;
}

/*
 * The kernel has accepted the change: store the attributes that only the library keeps.
 */
static void mrc_attr_keep(struct mrc_qp *qp, const struct mrc_qp_attr *attr,
			  uint32_t mask)
{
	if (mask & MRC_QP_HINT)
		mrc_lib_qp_set_hint(qp, attr->qp_hint);
	if (mask & (uint32_t)MRC_QP_VENDOR_CFG)
		memcpy(qp->vendor_cfg, attr->vendor_cfg,
		       sizeof(qp->vendor_cfg));
}

/* --- verbs attributes ----------------------------------------------------- */

/**
 * struct change - a change for the kernel
 * @attr: verbs attributes
 * @mask: which of them are used
 * @mrc: MRC attributes
 * @port: port to store in the queue pair after the change
 */
struct change {
	struct ibv_qp_attr attr;
	int mask;
	struct mrc_abi_qp_attr mrc;
	uint8_t port;
};

/* The port is only a hint too; a port that does not exist is ignored. */
static void set_port(const struct mrc_qp *qp, struct change *c,
		     const struct ibv_qp_attr *vattr, int vmask)
{
	if (!(vmask & IBV_QP_PORT) || vattr->port_num > 31 ||
	    !(qp->ctx->dev.phy_port_mask & 1U << vattr->port_num))
		return;
	c->port = vattr->port_num;
	c->attr.port_num = c->port;
	c->mask |= IBV_QP_PORT;
}

/* MRC only writes; other access flags are accepted and ignored. */
static void set_access(struct change *c, const struct ibv_qp_attr *vattr,
		       int vmask)
{
	if (!(vmask & IBV_QP_ACCESS_FLAGS))
		return;
	c->attr.qp_access_flags = vattr->qp_access_flags & ACCESS;
	c->mask |= IBV_QP_ACCESS_FLAGS;
}

static int to_init(const struct mrc_qp *qp, enum ibv_qp_state cur,
		   const struct ibv_qp_attr *vattr, int vmask,
		   struct change *c)
{
	if ((cur != IBV_QPS_RESET && cur != IBV_QPS_INIT) ||
	    vmask & HONOURED & ~IBV_QP_ACCESS_FLAGS)
		return EINVAL;
	if (cur == IBV_QPS_RESET) {
		/* Default if the program sets no access flags: the peer may write. */
		c->attr.qp_access_flags = ACCESS;
		c->attr.port_num = c->port;
		c->mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			   IBV_QP_ACCESS_FLAGS;
		mrc_lib_qp_defaults(qp, &c->mrc, c->mrc.mask | qp->set);
	}
	set_port(qp, c, vattr, vmask);
	set_access(c, vattr, vmask);
	return 0;
}

/* The active MTU of the port, as default of the path MTU. */
static int port_mtu(const struct mrc_qp *qp, uint8_t port, enum ibv_mtu *mtu)
{
	struct ibv_port_attr attr = {};
	struct ibv_query_port cmd;
	int err;

	err = ibv_cmd_query_port(qp->ctx->vctx, port, &attr, &cmd,
				 sizeof(cmd));
	if (!err)
		*mtu = attr.active_mtu;
	return err;
}

static int to_rtr(const struct mrc_qp *qp, enum ibv_qp_state cur,
		  const struct ibv_qp_attr *vattr, int vmask, struct change *c)
{
	int err;

	/* The program must specify the peer's address and QPN. */
	if (cur != IBV_QPS_INIT || !(vmask & IBV_QP_AV) ||
	    !(vmask & IBV_QP_DEST_QPN) || vmask & IBV_QP_SQ_PSN ||
	    !vattr->ah_attr.is_global || vattr->dest_qp_num > QPN_MAX)
		return EINVAL;
	c->attr.ah_attr = vattr->ah_attr;
	if (!c->attr.ah_attr.port_num)
		c->attr.ah_attr.port_num = 1;
	c->port = c->attr.ah_attr.port_num;
	c->attr.dest_qp_num = vattr->dest_qp_num;
	if (vmask & IBV_QP_RQ_PSN)
		c->attr.rq_psn = vattr->rq_psn;
	if (vmask & IBV_QP_PATH_MTU) {
		if (vattr->path_mtu < IBV_MTU_256 ||
		    vattr->path_mtu > IBV_MTU_4096)
			return EINVAL;
		c->attr.path_mtu = vattr->path_mtu;
	} else {
		err = port_mtu(qp, c->port, &c->attr.path_mtu);
		if (err)
			return err;
	}
	c->mask |= IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_PATH_MTU | IBV_QP_MAX_DEST_RD_ATOMIC |
		   IBV_QP_MIN_RNR_TIMER;
	set_access(c, vattr, vmask);
	return 0;
}

static int to_rts(enum ibv_qp_state cur, const struct ibv_qp_attr *vattr,
		  int vmask, struct change *c)
{
	int may = IBV_QP_ACCESS_FLAGS;

	if (cur == IBV_QPS_RTR)
		may |= IBV_QP_SQ_PSN;
	else if (cur != IBV_QPS_RTS)
		return EINVAL;
	if (vmask & HONOURED & ~may)
		return EINVAL;
	if (cur == IBV_QPS_RTR) {
		if (vmask & IBV_QP_SQ_PSN)
			c->attr.sq_psn = vattr->sq_psn;
		c->mask |= IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	set_access(c, vattr, vmask);
	return 0;
}

static int in_place(const struct mrc_qp *qp, enum ibv_qp_state cur,
		    const struct ibv_qp_attr *vattr, int vmask,
		    struct change *c)
{
	int may = 0;

	if (cur == IBV_QPS_INIT || cur == IBV_QPS_RTS)
		may = IBV_QP_ACCESS_FLAGS;
	if (vmask & HONOURED & ~may)
		return EINVAL;
	if (cur == IBV_QPS_INIT)
		set_port(qp, c, vattr, vmask);
	set_access(c, vattr, vmask);
	return 0;
}

static int fill_change(const struct mrc_qp *qp, enum ibv_qp_state cur,
		       const struct ibv_qp_attr *vattr, int vmask,
		       struct change *c)
{
	if (!(vmask & IBV_QP_STATE))
		return in_place(qp, cur, vattr, vmask, c);
	c->attr.qp_state = vattr->qp_state;
	c->mask |= IBV_QP_STATE;
	switch (vattr->qp_state) {
	case IBV_QPS_INIT:
		return to_init(qp, cur, vattr, vmask, c);
	case IBV_QPS_RTR:
		return to_rtr(qp, cur, vattr, vmask, c);
	case IBV_QPS_RTS:
		return to_rts(cur, vattr, vmask, c);
	default:	/* MRC has no SQD and no SQE */
		return EINVAL;
	}
}

/* --- modify --------------------------------------------------------------- */

/*
 * Set MRC attributes only. Verbs do not allow an empty modify command in every state,
 * and none is needed.
 */
static int set_mrc(const struct mrc_qp *qp, const struct mrc_abi_qp_attr *mrc)
{
	DECLARE_COMMAND_BUFFER(cmd, MRC_ABI_OBJECT_QP, MRC_ABI_QP_SET, 2);

	if (!mrc->mask)
		return 0;
	fill_attr_in_obj(cmd, MRC_ABI_ATTR_HANDLE, qp->vqp->handle);
	fill_attr_in_ptr(cmd, MRC_ABI_ATTR_IN, mrc);
	return execute_ioctl(qp->ctx->vctx, cmd);
}

/*
 * Verbs require that the port of the address is the one set in the transition to INIT.
 * That port is only a hint here, so correct it first.
 */
static int move_port(struct mrc_qp *qp, uint8_t port)
{
	struct ibv_qp_attr attr = { .port_num = port };
	int err;

	if (port == qp->port)
		return 0;
	err = mrc_v_modify_qp(qp->vqp, &attr, IBV_QP_PORT);
	if (!err)
		qp->port = port;
	return err;
}

static int apply(struct mrc_qp *qp, struct change *c)
{
	struct umrc_modify_qp cmd = {};
	int err;

	if (c->mask & IBV_QP_AV) {
		err = move_port(qp, c->port);
		if (err)
			return err;
	}
	if (c->mask) {
		cmd.drv_payload.attr = c->mrc;
		err = ibv_cmd_modify_qp(qp->vqp, &c->attr, c->mask,
					&cmd.ibv_cmd, sizeof(cmd));
		if (err && c->mask & IBV_QP_AV)
			mrc_v_explain_av(qp->ctx->vctx, err, &c->attr.ah_attr);
	} else {
		err = set_mrc(qp, &c->mrc);
	}
	if (err)
		return err;
	if (c->mask & IBV_QP_STATE)
		mrc_v_set_state(qp->vqp, c->attr.qp_state);
	qp->set |= c->mrc.mask;
	qp->port = c->port;
	return 0;
}

static int check_cur_state(const struct mrc_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_init_attr init = {};
	struct ibv_qp_attr attr = {};
	int err;

	err = mrc_v_query_qp(qp->vqp, &attr, IBV_QP_STATE, &init);
	if (err)
		return err;
	return attr.qp_state == state ? 0 : EINVAL;
}

/* In the kernel's verbs the only way from RESET to ERR is through INIT. */
static int leave_reset(struct mrc_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = qp->port,
	};

	return mrc_v_modify_qp(qp->vqp, &attr,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS);
}

static int to_err(struct mrc_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int err = 0;

	if (qp->vqp->state == IBV_QPS_RESET)
		err = leave_reset(qp);
	if (!err)
		err = mrc_v_modify_qp(qp->vqp, &attr, IBV_QP_STATE);
	if (!err)
		mrc_v_set_state(qp->vqp, IBV_QPS_ERR);
	return err;
}

static int modify(struct mrc_qp *qp, const struct ibv_qp_attr *vattr, int vmask,
		  const struct mrc_qp_attr *mattr, uint32_t mmask)
{
	enum ibv_qp_state cur = qp->vqp->state;
	struct change c = { .port = qp->port };
	int err;

	if (vmask & ~(IBV_QP_STATE | IBV_QP_CUR_STATE | IGNORED | HONOURED))
		return EINVAL;
	if (vmask & IBV_QP_CUR_STATE) {
		err = check_cur_state(qp, vattr->cur_qp_state);
		if (err)
			return err;
	}
	if (vmask & IBV_QP_STATE && (vattr->qp_state == IBV_QPS_RESET ||
				     vattr->qp_state == IBV_QPS_ERR)) {
		/*
		 * Some programs pass a mask of MRC attributes here without attributes:
		 * ignore it.
		 */
		if (vmask & HONOURED)
			return EINVAL;
		return vattr->qp_state == IBV_QPS_RESET ? mrc_lib_qp_reset(qp) :
							  to_err(qp);
	}
	if (!mrc_attr_ok(qp, cur, mattr, mmask))
		return EINVAL;
	mrc_attr_to_kernel(mattr, mmask, &c.mrc);
	err = fill_change(qp, cur, vattr, vmask, &c);
	if (!err)
		err = apply(qp, &c);
	if (!err)
		mrc_attr_keep(qp, mattr, mmask);
	return err;
}

int mrc_modify_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		  struct mrc_qp_attr *mrc_attr, int mrc_attr_mask)
{
	int err;

	if (!qp || (vattr_mask && !vattr))
		return mrc_lib_errno(EINVAL);
	pthread_mutex_lock(&qp->lock);
	err = modify(qp, vattr, vattr_mask, mrc_attr, mrc_attr_mask);
	pthread_mutex_unlock(&qp->lock);
	return mrc_lib_errno(err);
}
