// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/ib_verbs.h>

int probe(void);
int probe(void)
{
	return IB_ACCESS_FLUSH_GLOBAL | IB_DEVICE_FLUSH_GLOBAL;
}
