// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/ib_umem_odp.h>

/* Page lookup does not map pages for a device that does no DMA. */
unsigned long probe(struct ib_umem_odp *umem)
{
	return umem->map.pfn_list[0] + IB_ODP_SUPPORT_FLUSH +
	       IB_ODP_SUPPORT_ATOMIC_WRITE;
}
