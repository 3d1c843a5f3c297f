// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Trimmed packets with the length fields of the whole packet. A switch that trims a
 * packet need not correct its length fields (MRC 1.0 §8.5), but the kernel drops
 * packets whose length exceeds the frame before any protocol sees them. So each port's
 * netdev has an ingress hook. It corrects the outermost lengths of packets that have
 * the codepoint of a trimmed packet and are for our UDP port. Other packets may use the
 * same codepoint for another purpose and are not changed; most pass after a check of
 * the codepoint.
 *
 * Without this file only trimmed packets with correct lengths are received.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/netfilter_netdev.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "mrc_net_priv.h"

static bool mrc_trim_dscp_match(const struct mrc_port *port, u8 tos)
{
	return mrc_tc_trim(&port->dev->tc, tos >> 2) != MRC_TRIM_NONE;
}

/* A checksum that hardware computed over the whole packet is no longer valid. */
static void mrc_trim_changed(struct sk_buff *skb)
{
	if (skb->ip_summed == CHECKSUM_COMPLETE)
		skb->ip_summed = CHECKSUM_NONE;
}

/* Does a UDP header for one of our ports follow after @off bytes of headers? */
static bool mrc_trim_is_mrc(const struct sk_buff *skb, unsigned int off)
{
	const struct udphdr *udp;
	struct udphdr buf;

	udp = skb_header_pointer(skb, off, sizeof(buf), &buf);
	return udp && mrc_udp_port_ours(udp->dest);
}

static bool mrc_trim_ours4(const struct sk_buff *skb, unsigned int off)
{
	const struct iphdr *ip;
	struct iphdr buf;

	ip = skb_header_pointer(skb, off, sizeof(buf), &buf);
	/* Only an unfragmented packet has a UDP header at the start of its payload. */
	return ip && ip->version == 4 && ip->ihl == 5 &&
	       ip->protocol == IPPROTO_UDP && !ip_is_fragment(ip) &&
	       mrc_trim_is_mrc(skb, off + sizeof(*ip));
}

/* The same for the packet inside an outer header whose next header is @proto (SRv6). */
static bool mrc_trim_ours_inside(const struct sk_buff *skb, u8 proto)
{
	unsigned int off = sizeof(struct ipv6hdr);
	const struct ipv6hdr *ip6;
	struct ipv6hdr buf;

	if (proto == IPPROTO_ROUTING) {
		const struct ipv6_opt_hdr *opt;
		struct ipv6_opt_hdr opt_buf;

		opt = skb_header_pointer(skb, off, sizeof(opt_buf), &opt_buf);
		if (!opt)
			return false;
		proto = opt->nexthdr;
		off += ipv6_optlen(opt);
	}
	if (proto == IPPROTO_IPIP)
		return mrc_trim_ours4(skb, off);
	if (proto != IPPROTO_IPV6)
		return false;
	ip6 = skb_header_pointer(skb, off, sizeof(buf), &buf);
	return ip6 && ip6->version == 6 && ip6->nexthdr == IPPROTO_UDP &&
	       mrc_trim_is_mrc(skb, off + sizeof(*ip6));
}

/* Correct the UDP length. The UDP header follows an IP header of @ip_len bytes. */
static void mrc_trim_udp(struct sk_buff *skb, unsigned int ip_len)
{
	struct udphdr *udp;

	if (skb_ensure_writable(skb, ip_len + sizeof(*udp)))
		return;
	udp = (struct udphdr *)(skb_network_header(skb) + ip_len);
	if (ntohs(udp->len) > skb->len - ip_len) {
		udp->len = htons(skb->len - ip_len);
		mrc_trim_changed(skb);
	}
}

static void mrc_trim_ip4(const struct mrc_port *port, struct sk_buff *skb)
{
	struct iphdr *ip;
	__be16 len;

	if (!pskb_may_pull(skb, sizeof(*ip)))
		return;
	ip = ip_hdr(skb);
	if (!mrc_trim_dscp_match(port, ip->tos) || ntohs(ip->tot_len) <= skb->len ||
	    !mrc_trim_ours4(skb, 0) || skb_ensure_writable(skb, sizeof(*ip)))
		return;
	ip = ip_hdr(skb);
	len = htons(skb->len);
	csum_replace2(&ip->check, ip->tot_len, len);
	ip->tot_len = len;
	mrc_trim_udp(skb, sizeof(*ip));
}

static void mrc_trim_ip6(const struct mrc_port *port, struct sk_buff *skb)
{
	struct ipv6hdr *ip6;

	if (!pskb_may_pull(skb, sizeof(*ip6)))
		return;
	ip6 = ipv6_hdr(skb);
	if (ip6->version != 6 || !mrc_trim_dscp_match(port, ipv6_get_dsfield(ip6)) ||
	    ntohs(ip6->payload_len) <= skb->len - sizeof(*ip6))
		return;
	switch (ip6->nexthdr) {
	case IPPROTO_UDP:
		if (!mrc_trim_is_mrc(skb, sizeof(*ip6)))
			return;
		break;
	case IPPROTO_IPV6:	/* SRv6: the inner lengths are not checked */
	case IPPROTO_IPIP:
	case IPPROTO_ROUTING:
		if (!mrc_trim_ours_inside(skb, ip6->nexthdr))
			return;
		break;
	default:
		return;
	}
	if (skb_ensure_writable(skb, sizeof(*ip6)))
		return;
	ip6 = ipv6_hdr(skb);
	ip6->payload_len = htons(skb->len - sizeof(*ip6));
	mrc_trim_changed(skb);
	if (ip6->nexthdr == IPPROTO_UDP)
		mrc_trim_udp(skb, sizeof(*ip6));
}

unsigned int mrc_trim_in(void *priv, struct sk_buff *skb,
			 const struct nf_hook_state *state)
{
	const struct mrc_port *port = priv;

	/* GSO packets were merged from whole segments: they were not trimmed. */
	if (skb_network_offset(skb) || skb_shared(skb) || skb_is_gso(skb) ||
	    skb->len > U16_MAX)
		return NF_ACCEPT;
	if (skb->protocol == htons(ETH_P_IPV6))
		mrc_trim_ip6(port, skb);
	else if (skb->protocol == htons(ETH_P_IP))
		mrc_trim_ip4(port, skb);
	return NF_ACCEPT;
}

static int mrc_trim_open(struct mrc_port *port, struct net_device *ndev)
{
	struct nf_hook_ops *ops = &port->trim;
	int ret;

	*ops = (struct nf_hook_ops) {
		.hook = mrc_trim_in,
		.dev = ndev,
		.priv = port,
		.pf = NFPROTO_NETDEV,
		.hooknum = NF_NETDEV_INGRESS,
		.priority = INT_MIN,	/* before all filters */
	};
	ret = nf_register_net_hook(port->dev->net, ops);
	if (ret)
		ops->dev = NULL;
	return ret;
}

static void mrc_trim_close(struct mrc_port *port)
{
	if (!port->trim.dev)
		return;
	nf_unregister_net_hook(port->dev->net, &port->trim);
	port->trim.dev = NULL;
}

const struct mrc_port_client mrc_trim_client = {
	.open = mrc_trim_open,
	.close = mrc_trim_close,
};
