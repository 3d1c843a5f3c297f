// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: Dynamic MPR, a receiver's range that changes while data moves.
 */
#include "mpr.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/ioctl.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include <rdma/mrc-abi.h>
#include <rdma/mrc-ctl-abi.h>

#include "common.h"

namespace
{
volatile std::sig_atomic_t signals;

/* Verbs have no words for it: the device's own method. */
void set_attr(ibv_qp *qp, const mrc_abi_qp_attr &attr)
{
	constexpr size_t n = 2;
	alignas(8) uint8_t buf[sizeof(ib_uverbs_ioctl_hdr) +
			       n * sizeof(ib_uverbs_attr)] = {};
	auto *hdr = reinterpret_cast<ib_uverbs_ioctl_hdr *>(buf);

	hdr->object_id = MRC_ABI_OBJECT_QP;
	hdr->method_id = MRC_ABI_QP_SET;
	hdr->driver_id = MRC_RDMA_DRIVER_ID;
	hdr->length = sizeof(buf);
	hdr->num_attrs = n;
	hdr->attrs[0].attr_id = MRC_ABI_ATTR_HANDLE;
	hdr->attrs[0].flags = UVERBS_ATTR_F_MANDATORY;
	hdr->attrs[0].data = qp->handle;
	hdr->attrs[1].attr_id = MRC_ABI_ATTR_IN;
	hdr->attrs[1].flags = UVERBS_ATTR_F_MANDATORY;
	hdr->attrs[1].len = sizeof(attr);
	hdr->attrs[1].data = reinterpret_cast<uintptr_t>(&attr);
	if (ioctl(qp->context->cmd_fd, RDMA_VERBS_IOCTL, hdr))
		fail("range %u of a QP in state %d: %s", attr.mpr_dest,
		     qp->state, std::strerror(errno));
}
} // namespace

MprWalk::MprWalk(const Device &dev, const std::vector<uint32_t> &ranges)
	: ranges_(ranges)
{
	if (ranges_.empty())
		return;
	if (!dev.write_only())
		throw Skip("Dynamic MPR is for mrc devices");
	signals = 0;
	std::signal(SIGUSR1, [](int) { signals = signals + 1; });
}

void MprWalk::prepare(ibv_qp *qp) const
{
	mrc_abi_qp_attr a{};

	if (ranges_.empty())
		return;
	a.mask = MRC_ABI_QP_MPR | MRC_ABI_QP_MPR_DEST | MRC_ABI_QP_CAP;
	a.cap = MRC_ABI_QP_CAP_DYNAMIC_MPR;
	a.mpr = a.mpr_dest = static_cast<uint8_t>(ranges_[0]);
	set_attr(qp, a);
}

bool MprWalk::due()
{
	const unsigned now = static_cast<unsigned>(signals);

	if (ranges_.empty() || now == at_)
		return false;
	at_ = now;
	return true;
}

void MprWalk::apply(ibv_qp *qp) const
{
	mrc_abi_qp_attr a{};

	a.mask = MRC_ABI_QP_MPR_DEST;
	a.mpr_dest = static_cast<uint8_t>(ranges_[at_ % ranges_.size()]);
	set_attr(qp, a);
}
