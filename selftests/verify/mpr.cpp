// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: Dynamic MPR, a receiver's range that changes while data moves.
 */
#include "mpr.h"

#include <csignal>

#include "attr.h"
#include "common.h"

namespace
{
volatile std::sig_atomic_t signals;
} // namespace

MprWalk::MprWalk(const Device &dev, const std::vector<uint32_t> &ranges)
	: ranges_(ranges)
{
	if (ranges_.empty())
		return;
	if (!dev.is_mrc())
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
	set_mrc_attr(qp, a);
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
	set_mrc_attr(qp, a);
}
