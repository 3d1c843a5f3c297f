// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC: posting. The provider posts and checks work requests; its errors are
 * translated here to those of the MRC API.
 */
#include <config.h>

#include <errno.h>

#include "lib_mrc.h"
#include "mrc_provider.h"

int mrc_post_send(struct mrc_qp *qp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr)
{
	struct ibv_send_wr *bad = wr;
	int err;

	if (unlikely(!qp)) {
		err = EINVAL;
	} else {
		err = mrc_v_post_send(qp->vqp, wr, &bad);
		if (likely(!err))
			return 0;
		/* An operation that verbs have and MRC does not. */
		if (err == EOPNOTSUPP)
			err = EINVAL;
	}
	if (bad_wr)
		*bad_wr = bad;
	return mrc_lib_errno(err);
}

int mrc_post_recv(struct mrc_qp *qp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr)
{
	struct ibv_recv_wr *bad = wr;
	int err = EINVAL;

	if (likely(qp)) {
		err = mrc_v_post_recv(qp->vqp, wr, &bad);
		if (likely(!err))
			return 0;
	}
	if (bad_wr)
		*bad_wr = bad;
	return mrc_lib_err(err);
}
