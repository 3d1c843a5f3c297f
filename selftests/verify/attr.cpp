// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "attr.h"

#include <cstring>

#include "../../userspace-tools/common/uverbs.hpp"
#include "common.h"

void set_mrc_attr(ibv_qp *qp, const mrc_abi_qp_attr &attr)
{
	uverbs::Command cmd(MRC_ABI_OBJECT_QP, MRC_ABI_QP_SET);

	cmd.add(MRC_ABI_ATTR_HANDLE, 0, qp->handle);
	cmd.add_in(MRC_ABI_ATTR_IN, uverbs::bytes_in(attr));
	const int err = cmd.run(qp->context->cmd_fd);

	if (err)
		fail("MRC attributes 0x%x of a QP in state %d: %s", attr.mask,
		     qp->state, std::strerror(err));
}
