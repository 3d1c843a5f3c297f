/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrc_verify: Dynamic MPR, a receiver's range that changes while data moves. */
#pragma once

#include <cstdint>
#include <vector>

#include "rdma.h"

/* Does nothing where @ranges is empty. */
class MprWalk
{
public:
	MprWalk(const Device &dev, const std::vector<uint32_t> &ranges);

	/* In INIT: the first range, for both directions. */
	void prepare(ibv_qp *qp) const;
	/* Another range is due since the last call; it is that of apply(). */
	bool due();
	/* From RTR on. */
	void apply(ibv_qp *qp) const;

private:
	const std::vector<uint32_t> &ranges_;
	unsigned at_ = 0;
};
