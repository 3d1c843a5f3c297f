// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/ib_verbs.h>

u64 probe(void);
u64 probe(void)
{
	return IB_DEVICE_ATOMIC_WRITE;
}
