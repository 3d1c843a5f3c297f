// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The control interface of the kernel: sizes, the same on 32 and 64 bits and without
 * padding that nobody named (-Wpadded). Compiled, not run. A size that changes here needs
 * another MRC_UVERBS_ABI_VERSION, or a member that was appended.
 */
#include <rdma/mrc-abi.h>
#include <rdma/mrc-ctl-abi.h>

#define SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type)

_Static_assert(MRC_UVERBS_ABI_VERSION == 0x80000002U, "version");
_Static_assert(MRC_ABI_ATTR_SECOND_IN - MRC_ABI_ATTR_IN == 7, "attributes");
_Static_assert(MRC_ABI_OBJECT_EV_EVENTS - MRC_ABI_OBJECT_DEV == 6, "objects");

SIZE(mrc_abi_device, 352);
SIZE(mrc_abi_dev_attr, 56);
SIZE(mrc_abi_dev_limits, 136);
SIZE(mrc_abi_port, 16);
SIZE(mrc_abi_tc, 8);
SIZE(mrc_abi_default, 40);
SIZE(mrc_abi_defaults, 8);
SIZE(mrc_abi_fmt, 160);
SIZE(mrc_abi_ev, 40);
SIZE(mrc_abi_ev_entry, 48);
SIZE(mrc_abi_ev_field, 24);
SIZE(mrc_abi_evp, 192);
SIZE(mrc_abi_nscc, 48);
SIZE(mrc_abi_ccp, 232);
SIZE(mrc_abi_ep_req, 56);
SIZE(mrc_abi_ep_addr, 32);
SIZE(mrc_abi_ep_rsp, 8);
SIZE(mrc_abi_ep_batch, 16);
SIZE(mrc_abi_ev_events, 8);
SIZE(mrc_abi_ev_event, 56);
SIZE(mrc_abi_qp_attr, 40);
SIZE(mrc_abi_qp_ev, 8);
SIZE(mrc_abi_modify_qp, 48);
SIZE(mrc_abi_qp_info, 368);

/* An attribute has at most 65535 bytes: as many as a profile has EVs must fit. */
_Static_assert(1024 * sizeof(struct mrc_abi_ev_entry) <= 65535, "EVs of a profile");
_Static_assert(1024 * sizeof(struct mrc_abi_ep_req) <= 65535, "endpoint requests");
