/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Features of the newest supported kernel that older kernels lack. The driver is
 * written for the newest one; compat/probe.sh detects the features (HAVE_*).
 */
#ifndef MRC_COMPAT_H
#define MRC_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "mrc_config.h"

#ifndef HAVE_FAUX_DEVICE
#include <linux/platform_device.h>
#endif
#ifdef HAVE_IPV6_STUB
#include <net/ipv6_stubs.h>
#endif

/* Before 6.5 caches of the same size may be merged and share one name. */
#ifndef SLAB_NO_MERGE
#define SLAB_NO_MERGE 0
#endif

#ifndef HAVE_IB_UMEM_GET_VA
static inline struct ib_umem *ib_umem_get_va(struct ib_device *ib,
					     unsigned long addr, size_t size,
					     int access)
{
	return ib_umem_get(ib, addr, size, access);
}
#endif

#ifndef HAVE_IB_MARK_NAME_ASSIGNED_BY_USER
static inline void ib_mark_name_assigned_by_user(struct ib_device *ib)
{
}
#endif

#ifndef HAVE_IB_ALLOC_DEVICE_WITH_NET
/*
 * If namespaces do not share devices, a device must start in the namespace of its
 * netdevs. Newer kernels do that; these kernels create all devices in the initial
 * namespace. So a device that is not visible from @net is not shared and is moved to
 * @net. ib_alloc_device() ensures that @mem begins with the ib_device.
 */
static inline void *mrc_compat_dev_net(void *mem, struct net *net)
{
	struct ib_device *ib = mem;

	if (ib && !rdma_dev_access_netns(ib, net))
		write_pnet(&ib->coredev.rdma_net, net);
	return mem;
}

#define ib_alloc_device_with_net(drv_struct, member, net) \
	mrc_compat_dev_net(ib_alloc_device(drv_struct, member), net)
#endif

#ifndef HAVE_IB_DEVICE_ATOMIC_WRITE
#define IB_DEVICE_ATOMIC_WRITE	0
#endif

/* Kernels without these flags do not register memory with them. */
#ifndef HAVE_IB_ACCESS_FLUSH
#define IB_ACCESS_FLUSH_GLOBAL	BIT(8)
#define IB_DEVICE_FLUSH_GLOBAL	0
#endif

/* Older kernels take struct socket instead of struct sock. */
#ifndef HAVE_UDP_TUNNEL_SK
#define setup_udp_tunnel_sock(net, sk, cfg) \
	setup_udp_tunnel_sock(net, (sk)->sk_socket, cfg)
#define udp_tunnel_sock_release(sk) \
	udp_tunnel_sock_release((sk)->sk_socket)
#endif

#ifndef HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

/* IPv6 could be a module in these kernels; others call it through this table. */
#ifdef HAVE_IPV6_STUB
#define ip6_dst_lookup_flow(net, sk, fl6, dst) \
	ipv6_stub->ipv6_dst_lookup_flow(net, sk, fl6, dst)
#endif

/* The driver's on-demand paging needs headers with this interface. */
#if !defined(HAVE_UMEM_ODP_MAP) || \
	!IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)
#undef CONFIG_INFINIBAND_MRC_ODP
#endif

/* Older kernels have no faux bus for devices without hardware; use platform devices. */
#ifndef HAVE_FAUX_DEVICE
#define faux_device platform_device
#define to_faux_device to_platform_device

static inline struct platform_device *
faux_device_create_with_groups(const char *name, struct device *parent,
			       const void *ops,
			       const struct attribute_group **groups)
{
	struct platform_device *plat;

	plat = platform_device_alloc(name, PLATFORM_DEVID_NONE);
	if (!plat)
		return NULL;
	plat->dev.parent = parent;
	plat->dev.groups = groups;
	device_set_pm_not_required(&plat->dev);
	if (platform_device_add(plat)) {
		platform_device_put(plat);
		return NULL;
	}
	return plat;
}

static inline void faux_device_destroy(struct platform_device *plat)
{
	platform_device_unregister(plat);
}
#endif

#endif /* MRC_COMPAT_H */
