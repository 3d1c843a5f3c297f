/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrc_verify: attributes that verbs have no words for. */
#pragma once

#include <infiniband/verbs.h>
#include <rdma/mrc-ctl-abi.h>

/* By the device's own method; throws Failure where it is refused. */
void set_mrc_attr(ibv_qp *qp, const mrc_abi_qp_attr &attr);
