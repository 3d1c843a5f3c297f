// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reception of packets: for each UDP port one socket for IPv4 and one for IPv6 in every
 * network namespace that has devices, the hook for SRv6 if there is a socket for IPv6, and the
 * guard's hook at the loopback.
 */
#include <linux/mutex.h>
#include <net/gro.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/udp_tunnel.h>

#include "mrc_net_priv.h"

/**
 * struct mrc_net - state of a network namespace
 * @v4: socket, NULL while there is no device
 * @v6: the same; also NULL if IPv6 is disabled
 * @v4_alt: for the other port; NULL if there is none, or if it is in use
 * @v6_alt: the same
 * @srv6: the hook for SRv6 is registered
 * @srv6_users: number of devices with an SRv6 profile that is online
 * @guard: hook at the loopback, which packets between devices of the namespace take
 * @users: number of devices
 */
struct mrc_net {
	struct socket *v4;
	struct socket *v6;
	struct socket *v4_alt;
	struct socket *v6_alt;
	bool srv6;
	unsigned int srv6_users;
	struct nf_hook_ops guard;
	unsigned int users;
};

static unsigned int mrc_net_id;
/* Protects all struct mrc_net; no lock is taken inside it. */
static DEFINE_MUTEX(mrc_sock_mutex);

/* The ICRC covers the IP ID, which re-segmenting rewrites: no GRO. */
static struct sk_buff *mrc_gro_receive(struct sock *sk, struct list_head *head,
				       struct sk_buff *skb)
{
	NAPI_GRO_CB(skb)->flush |= 1;
	return NULL;
}

static int mrc_sock_open(struct net *net, int family, u16 port, struct socket **sockp)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type = 1,
		.encap_rcv = mrc_udp_rcv,
		.gro_receive = mrc_gro_receive,
	};
	struct udp_port_cfg cfg = {
		.family = family,
		.local_udp_port = htons(port),
		/* Checksums are zero; the ICRC covers more (MRC 1.0 §2.2). */
		.use_udp6_rx_checksums = 0,
	};
	struct socket *sock;
	int ret;

	if (family == AF_INET6)
		cfg.ipv6_v6only = 1;
	ret = udp_sock_create(net, &cfg, &sock);
	if (ret)
		return ret;
	setup_udp_tunnel_sock(net, sock->sk, &tunnel);
	WRITE_ONCE(*sockp, sock);
	return 0;
}

static void mrc_sock_close(struct socket **sockp)
{
	struct socket *sock = *sockp;

	if (!sock)
		return;
	WRITE_ONCE(*sockp, NULL);
	udp_tunnel_sock_release(sock->sk);	/* waits for a grace period */
}

static void mrc_net_close(struct net *net, struct mrc_net *mn)
{
	if (mn->srv6)
		mrc_srv6_close(net);
	mn->srv6 = false;
	mrc_guard_unhook(net, &mn->guard);
	mrc_sock_close(&mn->v6_alt);
	mrc_sock_close(&mn->v4_alt);
	mrc_sock_close(&mn->v6);
	mrc_sock_close(&mn->v4);
}

/* The other port is an offer: peers may send to it, but need not. */
static void mrc_sock_open_alt(struct net *net, struct mrc_net *mn)
{
	const u16 port = ntohs(mrc_udp_ports[1]);
	int ret;

	if (port == mrc_udp_port)
		return;
	ret = mrc_sock_open(net, AF_INET, port, &mn->v4_alt);
	if (!ret && mn->v6) {
		ret = mrc_sock_open(net, AF_INET6, port, &mn->v6_alt);
		if (ret)
			mrc_sock_close(&mn->v4_alt);
	}
	if (ret)
		pr_notice_ratelimited("cannot open UDP port %u (%d): only %u is received\n",
				      port, ret, mrc_udp_port);
}

int mrc_sock_get(struct net *net)
{
	struct mrc_net *mn = net_generic(net, mrc_net_id);
	int ret = 0;

	mutex_lock(&mrc_sock_mutex);
	if (mn->users)
		goto out;
	ret = mrc_guard_hook(net, net->loopback_dev, &mn->guard);
	if (!ret)
		ret = mrc_sock_open(net, AF_INET, mrc_udp_port, &mn->v4);
	if (!ret) {
		ret = mrc_sock_open(net, AF_INET6, mrc_udp_port, &mn->v6);
		/* This kernel or namespace has no IPv6: work without it. */
		if (ret == -EAFNOSUPPORT || ret == -EPFNOSUPPORT ||
		    ret == -EADDRNOTAVAIL)
			ret = 0;
	}
	if (!ret && mn->v6) {
		ret = mrc_srv6_open(net);
		mn->srv6 = !ret;
	}
	if (ret) {
		mrc_net_close(net, mn);
		if (ret == -EADDRINUSE)
			pr_notice_ratelimited("UDP port %u is in use in this network namespace (by rdma_rxe?); see the module parameter udp_port\n",
					      mrc_udp_port);
		else
			pr_notice_ratelimited("cannot open UDP port %u (%d)\n",
					      mrc_udp_port, ret);
	} else {
		mrc_sock_open_alt(net, mn);
	}
out:
	if (!ret)
		mn->users++;
	mutex_unlock(&mrc_sock_mutex);
	return ret;
}

void mrc_sock_put(struct net *net)
{
	struct mrc_net *mn = net_generic(net, mrc_net_id);

	mutex_lock(&mrc_sock_mutex);
	if (!--mn->users)
		mrc_net_close(net, mn);
	mutex_unlock(&mrc_sock_mutex);
}

void mrc_sock_srv6(struct mrc_dev *dev, bool on)
{
	struct mrc_net *mn = net_generic(dev->net, mrc_net_id);

	mutex_lock(&mrc_sock_mutex);
	if (on != dev->srv6_rx) {
		WRITE_ONCE(dev->srv6_rx, on);
		WRITE_ONCE(mn->srv6_users, mn->srv6_users + (on ? 1 : -1));
	}
	mutex_unlock(&mrc_sock_mutex);
}

bool mrc_sock_srv6_on(struct net *net)
{
	const struct mrc_net *mn = net_generic(net, mrc_net_id);

	return READ_ONCE(mn->srv6_users);
}

bool mrc_sock_takes(struct net *net, __be16 port)
{
	const struct mrc_net *mn = net_generic(net, mrc_net_id);

	return port == mrc_udp_ports[0] ||
	       (port == mrc_udp_ports[1] && READ_ONCE(mn->v4_alt));
}

struct sock *mrc_sock_v6(struct net *net)
{
	struct mrc_net *mn = net_generic(net, mrc_net_id);

	return mn->v6 ? mn->v6->sk : NULL;
}

static void __net_exit mrc_net_exit(struct net *net)
{
	mrc_devs_unregister(net);
}

static struct pernet_operations mrc_net_ops = {
	.exit = mrc_net_exit,
	.id = &mrc_net_id,
	.size = sizeof(struct mrc_net),
};

int mrc_sock_init(void)
{
	/*
	 * Registered as a "device", it is torn down before the namespace's netdevs, and
	 * before the RDMA core moves RDMA devices out of the namespace.
	 */
	return register_pernet_device(&mrc_net_ops);
}

void mrc_sock_exit(void)
{
	unregister_pernet_device(&mrc_net_ops);
}
