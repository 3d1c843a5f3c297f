// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The guard: programs of the host cannot send as its device. Packets of MRC are
 * datagrams without a secret. Any program may open a UDP socket, has the same addresses,
 * and can compute an ICRC, so it could send in the name of the host's queue pairs, or in
 * that of their peers to the host itself.
 *
 * Each port's netdev, and the namespace's loopback, has an egress hook, which drops
 * datagrams to the UDP ports of MRC, inside outer headers or not,
 *
 * - of a socket of this namespace, whatever its source address is: anybody may choose one
 *   with IP_FREEBIND and IPV6_FREEBIND;
 * - of other namespaces, if their source is an address of this one, which translation of
 *   addresses made (containers).
 *
 * The driver's own packets have no socket and did not come in anywhere. Raw and packet
 * sockets of this namespace may send: they need CAP_NET_RAW in it, and who has that can do
 * worse.
 *
 * It does not see what another namespace sends through a netdev of its own on top of a
 * port's (macvlan) with tags or queues of its own making, what went through a tunnel or
 * ipvlan, which forget where a packet came from, nor what tc or eBPF redirects.
 *
 * Without this file programs can send such packets.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/netfilter_netdev.h>
#include <linux/ratelimit.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "mrc_net_priv.h"

/* Anybody can cause the message: one a minute, and none about those left out. */
static struct ratelimit_state mrc_guard_log =
	RATELIMIT_STATE_INIT_FLAGS(mrc_guard_log, 60 * HZ, 1,
				   RATELIMIT_MSG_ON_RELEASE);

/* IP headers that are looked at: an outer one, and one for a tunnel. */
#define MRC_GUARD_DEPTH		3

/* The IPv4 header at *@off. Its source is v4-mapped in @saddr. */
static bool mrc_guard_ip4(const struct sk_buff *skb, int *off, u8 *proto,
			  struct in6_addr *saddr)
{
	const struct iphdr *ip;
	struct iphdr buf;

	ip = skb_header_pointer(skb, *off, sizeof(buf), &buf);
	/* Only the first fragment has the header that follows. */
	if (!ip || ip->ihl < 5 || ip->frag_off & htons(IP_OFFSET))
		return false;
	*off += ip->ihl * 4;
	*proto = ip->protocol;
	ipv6_addr_set_v4mapped(ip->saddr, saddr);
	return true;
}

static bool mrc_guard_ip6(const struct sk_buff *skb, int *off, u8 *proto,
			  struct in6_addr *saddr)
{
	const struct ipv6hdr *ip6;
	struct ipv6hdr buf;
	__be16 frag;

	ip6 = skb_header_pointer(skb, *off, sizeof(buf), &buf);
	if (!ip6)
		return false;
	*proto = ip6->nexthdr;
	*saddr = ip6->saddr;
	*off = ipv6_skip_exthdr(skb, *off + sizeof(*ip6), proto, &frag);
	return *off >= 0 && !(frag & htons(IP6_OFFSET));
}

/*
 * Is it a datagram to a UDP port of MRC, @dport? @saddr: source in the header before that of
 * UDP.
 */
static bool mrc_guard_is_mrc(const struct sk_buff *skb, struct in6_addr *saddr,
			     __be16 *dport)
{
	int off = skb_network_offset(skb);
	const struct udphdr *udp;
	struct udphdr udp_buf;
	const u8 *version;
	unsigned int i;
	u8 proto, buf;
	bool ok;

	if (off < 0)
		return false;
	for (i = 0; i < MRC_GUARD_DEPTH; i++) {
		version = skb_header_pointer(skb, off, sizeof(buf), &buf);
		if (!version)
			return false;
		if (*version >> 4 == 4)
			ok = mrc_guard_ip4(skb, &off, &proto, saddr);
		else
			ok = *version >> 4 == 6 &&
			     mrc_guard_ip6(skb, &off, &proto, saddr);
		if (!ok)
			return false;
		if (proto == IPPROTO_UDP) {
			udp = skb_header_pointer(skb, off, sizeof(udp_buf), &udp_buf);
			*dport = udp ? udp->dest : 0;
			return udp && mrc_udp_port_ours(udp->dest);
		}
		if (proto != IPPROTO_IPV6 && proto != IPPROTO_IPIP)
			return false;
	}
	return false;
}

/* Is it an address of @net? Those of a VRF are found by its netdevs. */
static bool mrc_guard_here(struct net *net, struct net_device *ndev,
			   const struct in6_addr *addr)
{
	if (ipv6_addr_v4mapped(addr))
		return inet_addr_type_dev_table(net, ndev, addr->s6_addr32[3]) ==
		       RTN_LOCAL;
#if IS_ENABLED(CONFIG_IPV6)
	return ipv6_mod_enabled() && (ipv6_chk_addr(net, addr, ndev, 0) ||
				      ipv6_chk_addr(net, addr, NULL, 0));
#else
	return false;
#endif
}

/* May this socket of the namespace send anything? */
static bool mrc_guard_trusts(const struct sock *sk)
{
	return sk->sk_family == PF_PACKET ||
	       ((sk->sk_family == PF_INET || sk->sk_family == PF_INET6) &&
		sk->sk_type == SOCK_RAW);
}

unsigned int mrc_guard_out(void *priv, struct sk_buff *skb,
			   const struct nf_hook_state *state)
{
	const struct sock *sk = skb->sk;
	struct in6_addr saddr;
	__be16 dport;

	if (!sk && !skb->skb_iif)
		return NF_ACCEPT;
	if (!READ_ONCE(mrc_guard_on) || !mrc_guard_is_mrc(skb, &saddr, &dport))
		return NF_ACCEPT;
	if (sk && net_eq(sock_net(sk), state->net)) {
		/* A socket that only answers has no type, and is not of UDP. */
		if (!sk_fullsock(sk) || mrc_guard_trusts(sk))
			return NF_ACCEPT;
	} else if (!mrc_guard_here(state->net, skb->dev, &saddr)) {
		return NF_ACCEPT;
	}
	/* Another program of the host may have the other port. */
	if (skb->dev->flags & IFF_LOOPBACK && !mrc_sock_takes(state->net, dport))
		return NF_ACCEPT;
	if (__ratelimit(&mrc_guard_log))
		pr_notice("%s: dropped a datagram of a program to UDP port %u (module parameter guard)\n",
			  skb->dev->name, ntohs(dport));
	return NF_DROP;
}

int mrc_guard_hook(struct net *net, struct net_device *ndev,
		   struct nf_hook_ops *ops)
{
	int ret;

	*ops = (struct nf_hook_ops) {
		.hook = mrc_guard_out,
		.dev = ndev,
		.pf = NFPROTO_NETDEV,
		.hooknum = NF_NETDEV_EGRESS,
		.priority = INT_MAX,	/* what filters have made of the packet */
	};
	ret = nf_register_net_hook(net, ops);
	if (ret)
		ops->dev = NULL;
	return ret;
}

void mrc_guard_unhook(struct net *net, struct nf_hook_ops *ops)
{
	if (!ops->dev)
		return;
	nf_unregister_net_hook(net, ops);
	ops->dev = NULL;
}

static int mrc_guard_open(struct mrc_port *port, struct net_device *ndev)
{
	return mrc_guard_hook(port->dev->net, ndev, &port->guard);
}

static void mrc_guard_close(struct mrc_port *port)
{
	mrc_guard_unhook(port->dev->net, &port->guard);
}

const struct mrc_port_client mrc_guard_client = {
	.open = mrc_guard_open,
	.close = mrc_guard_close,
};
