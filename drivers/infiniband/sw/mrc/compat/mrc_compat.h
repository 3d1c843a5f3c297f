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

#ifdef HAVE_FAUX_DEVICE
#include <linux/device/faux.h>
#else
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

#ifdef HAVE_IB_DEVICE_ATOMIC_WRITE
#define MRC_DEVICE_ATOMIC_WRITE	IB_DEVICE_ATOMIC_WRITE
#else
#define MRC_DEVICE_ATOMIC_WRITE	0
#endif

static inline void mrc_udp_tunnel_setup(struct net *net, struct socket *sock,
					struct udp_tunnel_sock_cfg *cfg)
{
#ifdef HAVE_UDP_TUNNEL_SK
	setup_udp_tunnel_sock(net, sock->sk, cfg);
#else
	setup_udp_tunnel_sock(net, sock, cfg);
#endif
}

static inline void mrc_udp_tunnel_release(struct socket *sock)
{
#ifdef HAVE_UDP_TUNNEL_SK
	udp_tunnel_sock_release(sock->sk);
#else
	udp_tunnel_sock_release(sock);
#endif
}

static inline void
mrc_hrtimer_setup(struct hrtimer *timer,
		  enum hrtimer_restart (*fn)(struct hrtimer *),
		  clockid_t clock, enum hrtimer_mode mode)
{
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, fn, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
#endif
}

/* A referenced dst or ERR_PTR. */
static inline struct dst_entry *
mrc_ip6_dst_lookup(struct net *net, struct sock *sk, struct flowi6 *fl6)
{
#ifdef HAVE_IPV6_STUB
	return ipv6_stub->ipv6_dst_lookup_flow(net, sk, fl6, NULL);
#else
	return ip6_dst_lookup_flow(net, sk, fl6, NULL);
#endif
}

/*
 * A device without hardware on a virtual bus, with @groups of attributes; NULL if
 * that fails. Before there was a bus for such devices they were platform devices.
 */
#ifdef HAVE_FAUX_DEVICE
static inline struct device *
mrc_virtual_create(const char *name, const struct attribute_group **groups)
{
	struct faux_device *faux;

	faux = faux_device_create_with_groups(name, NULL, NULL, groups);
	return faux ? &faux->dev : NULL;
}

static inline void mrc_virtual_destroy(struct device *dev)
{
	faux_device_destroy(to_faux_device(dev));
}
#else
static inline struct device *
mrc_virtual_create(const char *name, const struct attribute_group **groups)
{
	struct platform_device *plat;

	plat = platform_device_alloc(name, PLATFORM_DEVID_NONE);
	if (!plat)
		return NULL;
	plat->dev.groups = groups;
	device_set_pm_not_required(&plat->dev);
	if (platform_device_add(plat)) {
		platform_device_put(plat);
		return NULL;
	}
	return &plat->dev;
}

static inline void mrc_virtual_destroy(struct device *dev)
{
	platform_device_unregister(to_platform_device(dev));
}
#endif

#endif /* MRC_COMPAT_H */
