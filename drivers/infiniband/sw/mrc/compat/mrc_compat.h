/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the newest supported kernel has and older ones lack. The driver is
 * written for the newest; compat/probe.sh finds out what there is (HAVE_*).
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

/* Before 6.5 caches of the same size may become one, with one of their names. */
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
 * Where namespaces do not share devices, one begins where its netdevs are, as
 * on newer kernels: these leave all of them in the initial namespace. That is
 * where they are made, so one that is not seen from @net is not shared.
 * @mem begins with the ib_device, which ib_alloc_device() sees to.
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

/* Kernels that do not know it let nobody register memory with it. */
#ifndef HAVE_IB_ACCESS_FLUSH
#define IB_ACCESS_FLUSH_GLOBAL	BIT(8)
#define IB_DEVICE_FLUSH_GLOBAL	0
#endif

/* They had the struct socket. */
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

/* IPv6 was a module, which others reach through this table. */
#ifdef HAVE_IPV6_STUB
#define ip6_dst_lookup_flow(net, sk, fl6, dst) \
	ipv6_stub->ipv6_dst_lookup_flow(net, sk, fl6, dst)
#endif

/* On-demand paging as the driver does it takes headers that fit. */
#if !defined(HAVE_UMEM_ODP_MAP) || \
	!IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)
#undef CONFIG_INFINIBAND_MRC_ODP
#endif

/* Before there was a bus for devices without hardware, they were platform devices. */
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
