// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC for controllers: endpoint operations.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib_ctl.h"

/* The kernel's numbers of the operations. */
enum {
	EP_EV_PROBE,
	EP_PORT_STATUS,
};

static void req_in(struct mrc_abi_ep_req *to, struct mrc_abi_ep_addr *addr,
		   const struct mrc_ctl_ep_req *from,
		   enum mrc_ctl_ep_op_type op)
{
	memcpy(addr->sgid, &from->sgid, sizeof(addr->sgid));
	memcpy(addr->dgid, &from->dgid, sizeof(addr->dgid));
	to->id = from->req_id;
	to->fmt_mode = from->ev_fmt_mode;
	memcpy(to->ev.val, from->req_ev.val, sizeof(to->ev.val));
	to->ev.port = from->req_ev.port;
	if (op == MRC_CTL_EP_OP_PORT_STATUS_UPDATE)
		to->port_status = from->op.port_status_update.port_status;
}

/* Does the device support the operation? The kernel checks the rest. */
static int check(const struct mrc_abi_device *dev, enum mrc_ctl_ep_op_type op,
		 uint32_t n)
{
	if (op == MRC_CTL_EP_OP_EV_PROBE &&
	    !(dev->opt & MRC_ABI_OPT_EP_EV_PROBE))
		return ENOTSUP;
	return n > dev->ep_batch_max ? EINVAL : 0;
}

/*
 * Send @n requests and wait. 0 or an errno value; in both cases *@n_rsp responses that
 * arrived are in @rsp.
 */
static int batch(struct mrc_context *ctx, uint8_t tc,
		 enum mrc_ctl_ep_op_type op, const struct mrc_ctl_ep_req *req,
		 uint32_t n, uint32_t timeout, struct mrc_ctl_ep_rsp *rsp,
		 int *n_rsp)
{
	struct mrc_abi_ep_batch io = {
		.op = op == MRC_CTL_EP_OP_EV_PROBE ? EP_EV_PROBE :
						     EP_PORT_STATUS,
		.timeout = timeout,
		.tc = tc,
	};
	struct mrc_abi_ep_req *in = calloc(n, sizeof(*in));
	struct mrc_abi_ep_addr *addr = calloc(n, sizeof(*addr));
	struct mrc_abi_ep_rsp *out = calloc(n, sizeof(*out));
	const struct lib_ctl_array array[] = {
		{ .attr = MRC_ABI_ATTR_ARRAY_IN,
		  .in = in,
		  .size = n * sizeof(*in) },
		{ .attr = MRC_ABI_ATTR_SECOND_IN,
		  .in = addr,
		  .size = n * sizeof(*addr) },
		{ .attr = MRC_ABI_ATTR_ARRAY_OUT,
		  .out = out,
		  .size = n * sizeof(*out) },
	};
	int err = ENOMEM;
	uint32_t i;

	if (!in || !addr || !out)
		goto free;
	for (i = 0; i < n; i++)
		req_in(&in[i], &addr[i], &req[i], op);
	err = lib_ctl_call(ctx, MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_EP_BATCH, &io,
			   sizeof(io), array, 3);
	for (i = 0; i < n && i < io.n_rsp; i++) {
		rsp[i].req_id = out[i].id;
		rsp[i].port = out[i].port;
		rsp[i].rtt = out[i].rtt;
		rsp[i].adj_svc_time = out[i].adj_svc_time;
	}
	*n_rsp = i;
free:
	free(in);
	free(addr);
	free(out);
	return err;
}

/* A signal ended the wait: no result, but no error either. */
static int ep_errno(int err)
{
	return err == EINTR ? EAGAIN : err;
}

int mrc_ctl_ep_batch_send_wait(struct mrc_context *mrc_ctx, uint8_t req_tc,
			       enum mrc_ctl_ep_op_type op_type,
			       struct mrc_ctl_ep_req *req, int num_req,
			       uint32_t rsp_timeout, struct mrc_ctl_ep_rsp *rsp,
			       int *num_rsp)
{
	int err;

	if (num_rsp)
		*num_rsp = 0;
	if (!mrc_ctx || !req || !rsp || !num_rsp || num_req < 1 ||
	    (op_type != MRC_CTL_EP_OP_EV_PROBE &&
	     op_type != MRC_CTL_EP_OP_PORT_STATUS_UPDATE))
		return mrc_lib_err(EINVAL);
	err = check(&mrc_ctx->dev, op_type, num_req);
	if (!err)
		err = batch(mrc_ctx, req_tc, op_type, req, num_req, rsp_timeout,
			    rsp, num_rsp);
	return err ? mrc_lib_err(ep_errno(err)) : 0;
}
