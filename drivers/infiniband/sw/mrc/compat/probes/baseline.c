// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Must compile on every supported kernel; if not, the headers are unusable. */
#include <linux/kconfig.h>
#include <linux/module.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_verbs.h>
#include <rdma/ib_umem.h>
#include <rdma/rdma_netlink.h>
#include <rdma/uverbs_ioctl.h>

#if !IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS) || \
	!IS_ENABLED(CONFIG_INFINIBAND_USER_MEM) || \
	!IS_ENABLED(CONFIG_INFINIBAND_VIRT_DMA)
#error the kernel has no RDMA user access (CONFIG_INFINIBAND_USER_ACCESS)
#endif
#if !IS_ENABLED(CONFIG_NET_UDP_TUNNEL)
#error the kernel has no UDP tunnels (CONFIG_NET_UDP_TUNNEL)
#endif
