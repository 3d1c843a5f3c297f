// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SRv6, receiving: the driver removes the outer header itself. The fabric's marks in
 * that header (CE, trimmed) are needed, and the kernel would discard them (MRC 1.0
 * §2.3).
 *
 * One mechanism serves all forms: a netfilter hook at the end of the IPv6 input chain.
 * A packet reaches it if the kernel's routing says that the outer destination is this
 * host ("ip -6 route add local fcbb:0:32::/48 dev lo") and the administrator's filter
 * has accepted the outer packet. Handlers for the inner protocol (tunnel6) would work
 * for IPv6 in IPv6, but not with an SRH: with segments_left 0 the kernel strips or
 * drops it, depending on seg6_enabled, before it calls them. The hook runs before that,
 * so seg6_enabled has no effect.
 *
 * The hook takes only packets with UDP inside, to our port and a local address, while an
 * SRv6 profile is online. All other packets are left untouched, including those that only
 * the kernel can verify (TLVs of an SRH, extension headers, fragments).
 *
 * Filters see only the outer header. So what is inside gets to nobody but queue pairs that
 * use SRv6 themselves, from the addresses of their peers, and through netdevs of their
 * device; and to a device with an SRv6 profile, which answers probes of EVs to its own
 * addresses, and applies port status updates if the queue pair that answers that peer uses SRv6.
 * Packets for others are dropped and counted: mrc_qp_wants(), mrc_rcv_endpoint(),
 * mrc_ep_rcv_req().
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv6.h>
#include <linux/seg6.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/xfrm.h>

#include "mrc_net_priv.h"

/**
 * struct mrc_inner - layout of an encapsulated packet
 * @off: offset of the inner IP header
 * @ip_len: its length
 * @proto: IPPROTO_IPV6 or IPPROTO_IPIP
 */
struct mrc_inner {
	unsigned int off;
	unsigned int ip_len;
	u8 proto;
};

/* Parse the outer header; false if MRC does not send such packets. */
static bool mrc_srv6_outer(const struct sk_buff *skb, struct mrc_inner *in)
{
	const struct ipv6hdr *ip6 = ipv6_hdr(skb);

	in->proto = ip6->nexthdr;
	in->off = sizeof(*ip6);
	if (in->proto == IPPROTO_ROUTING) {
		const struct ipv6_sr_hdr *srh;
		struct ipv6_sr_hdr buf;

		srh = skb_header_pointer(skb, in->off, sizeof(buf), &buf);
		if (!srh || srh->type != IPV6_SRCRT_TYPE_4 ||
		    srh->segments_left ||
		    srh->hdrlen != (srh->first_segment + 1) * 2)
			return false;
		in->proto = srh->nexthdr;
		in->off += (srh->hdrlen + 1) * 8;
	}
	return in->proto == IPPROTO_IPV6 || in->proto == IPPROTO_IPIP;
}

/* Is the packet for MRC on this host? */
static bool mrc_srv6_is_mrc(struct net *net, const struct sk_buff *skb,
			    struct mrc_inner *in)
{
	const struct udphdr *udp;
	struct udphdr udp_buf;

	if (in->proto == IPPROTO_IPV6)
		in->ip_len = sizeof(struct ipv6hdr);
	else
		in->ip_len = sizeof(struct iphdr);
	/* The cheapest check first. */
	udp = skb_header_pointer(skb, in->off + in->ip_len, sizeof(udp_buf),
				 &udp_buf);
	if (!udp || !mrc_sock_takes(net, udp->dest))
		return false;

	if (in->proto == IPPROTO_IPV6) {
		const struct ipv6hdr *ip6;
		struct ipv6hdr buf;

		ip6 = skb_header_pointer(skb, in->off, sizeof(buf), &buf);
		return ip6 && ip6->version == 6 &&
		       ip6->nexthdr == IPPROTO_UDP &&
		       ipv6_chk_addr(net, &ip6->daddr, NULL, 0);
	} else {
		const struct iphdr *ip;
		struct iphdr buf;

		ip = skb_header_pointer(skb, in->off, sizeof(buf), &buf);
		return ip && ip->version == 4 && ip->ihl == 5 &&
		       ip->protocol == IPPROTO_UDP && !ip_is_fragment(ip) &&
		       inet_addr_type(net, ip->daddr) == RTN_LOCAL;
	}
}

/*
 * The kernel's checks of packets that come without an outer header. @len: length of the
 * inner packet by its header, which does not hold for a trimmed packet.
 */
static bool mrc_inner_ok(const struct sk_buff *skb, const struct mrc_inner *in,
			 unsigned int *len)
{
	if (in->proto == IPPROTO_IPV6) {
		const struct ipv6hdr *ip6 = (void *)(skb->data + in->off);

		*len = sizeof(*ip6) + ntohs(ip6->payload_len);
		return !ipv6_addr_is_multicast(&ip6->saddr) &&
		       !ipv6_addr_loopback(&ip6->saddr) &&
		       !ipv6_addr_loopback(&ip6->daddr) &&
		       !ipv6_addr_any(&ip6->saddr) &&
		       !ipv6_addr_v4mapped(&ip6->saddr);
	} else {
		const struct iphdr *ip = (void *)(skb->data + in->off);

		*len = ntohs(ip->tot_len);
		return !ip_fast_csum(ip, ip->ihl) &&
		       !ipv4_is_multicast(ip->saddr) &&
		       !ipv4_is_lbcast(ip->saddr) &&
		       !ipv4_is_loopback(ip->saddr) &&
		       !ipv4_is_loopback(ip->daddr) &&
		       !ipv4_is_zeronet(ip->saddr);
	}
}

static unsigned int mrc_srv6_in(void *priv, struct sk_buff *skb,
				const struct nf_hook_state *state)
{
	struct net_device *slave;
	struct mrc_inner in;
	unsigned int len;
	u8 tos;

	/* GSO packets are merged from several packets and cannot be handled here. */
	if (!mrc_sock_srv6_on(state->net) || skb_network_offset(skb) ||
	    skb->pkt_type != PACKET_HOST || skb_is_gso(skb) ||
	    ipv6_addr_is_multicast(&ipv6_hdr(skb)->daddr) ||
	    !mrc_srv6_outer(skb, &in) || !mrc_srv6_is_mrc(state->net, skb, &in))
		return NF_ACCEPT;
	if (!xfrm6_policy_check(NULL, XFRM_POLICY_IN, skb))
		return NF_DROP;

	if (!pskb_may_pull(skb, in.off + in.ip_len + MRC_UDP_HLEN))
		goto drop;
	tos = ipv6_get_dsfield(ipv6_hdr(skb));
	/* A VRF stands in for the netdev that the packet came through. */
	slave = inet6_sdif(skb) ? dev_get_by_index_rcu(state->net, inet6_sdif(skb)) :
				  NULL;
	if (slave)
		skb->dev = slave;
	if (!mrc_inner_ok(skb, &in, &len) || len < in.ip_len + MRC_UDP_HLEN)
		goto drop;
	if (len < skb->len - in.off && pskb_trim_rcsum(skb, in.off + len))
		goto drop;

	skb_pull_rcsum(skb, in.off);
	skb_reset_network_header(skb);
	skb_pull_rcsum(skb, in.ip_len);
	skb_reset_transport_header(skb);
	/* Packets that NFQUEUE reinjects arrive in process context. */
	local_bh_disable();
	mrc_inner_rcv(skb, tos, in.off);
	local_bh_enable();
	return NF_STOLEN;

drop:
	mrc_count_drop(skb, MRC_CTR_DROP_SRV6, skb->len);
	return NF_DROP;
}

static const struct nf_hook_ops mrc_srv6_hook = {
	.hook = mrc_srv6_in,
	.pf = NFPROTO_IPV6,
	.hooknum = NF_INET_LOCAL_IN,
	.priority = NF_IP6_PRI_LAST,
};

bool mrc_srv6_alone(const struct nf_hook_entries *hooks)
{
	return !hooks || (hooks->num_hook_entries == 1 &&
			  hooks->hooks[0].hook == mrc_srv6_in);
}

int mrc_srv6_open(struct net *net)
{
	return nf_register_net_hook(net, &mrc_srv6_hook);
}

void mrc_srv6_close(struct net *net)
{
	nf_unregister_net_hook(net, &mrc_srv6_hook);
}
