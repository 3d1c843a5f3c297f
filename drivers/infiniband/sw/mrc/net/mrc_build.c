// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets: headers in front, payload as fragments or copied, pad and ICRC behind.
 */
#include <linux/highmem.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>

#include "mrc_net.h"

static void mrc_put_ip(const struct mrc_head *head, struct sk_buff *skb,
		       u32 udp_len)
{
	if (head->ipv6) {
		struct ipv6hdr *ip6 = skb_put(skb, sizeof(*ip6));

		ip6_flow_hdr(ip6, head->tos, htonl(head->entropy >> 16));
		ip6->payload_len = htons(udp_len);
		ip6->nexthdr = IPPROTO_UDP;
		ip6->hop_limit = MRC_HOP_LIMIT;
		ip6->saddr = *head->saddr;
		ip6->daddr = *head->daddr;
		skb->protocol = htons(ETH_P_IPV6);
	} else {
		struct iphdr *ip = skb_put(skb, sizeof(*ip));

		ip->version = 4;
		ip->ihl = 5;
		ip->tos = head->tos;
		ip->tot_len = htons(sizeof(*ip) + udp_len);
		ip->id = 0;
		ip->frag_off = htons(IP_DF);
		ip->ttl = MRC_HOP_LIMIT;
		ip->protocol = IPPROTO_UDP;
		ip->check = 0;	/* ip_local_out() */
		ip->saddr = head->saddr->s6_addr32[3];
		ip->daddr = head->daddr->s6_addr32[3];
		skb->protocol = htons(ETH_P_IP);
	}
}

struct sk_buff *mrc_build_head(const struct mrc_head *head, u32 udp_len,
			       u32 room, u32 *crc)
{
	u32 ip_len = head->ipv6 ? sizeof(struct ipv6hdr) :
				  sizeof(struct iphdr);
	u32 front = LL_MAX_HEADER + (head->srv6 ? MRC_SRV6_ROOM : 0);
	u32 hdr_len = mrc_hdr_len(head->hdr);
	struct sk_buff *skb;
	struct udphdr *udp;
	void *bth;

	skb = alloc_skb(front + ip_len + sizeof(*udp) + hdr_len + room,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, front);
	skb_reset_network_header(skb);
	mrc_put_ip(head, skb, udp_len);
	skb_set_transport_header(skb, ip_len);
	udp = skb_put(skb, sizeof(*udp));
	udp->source = htons(head->entropy);
	udp->dest = htons(mrc_udp_port);
	udp->len = htons(udp_len);
	udp->check = 0;
	bth = skb_put(skb, hdr_len);
	mrc_hdr_build(head->hdr, bth, hdr_len);

	*crc = mrc_icrc_start(skb_network_header(skb));
	*crc = mrc_crc32(*crc, bth + MRC_BTH_LEN, hdr_len - MRC_BTH_LEN);
	return skb;
}

static void mrc_add_frag(struct sk_buff *skb, struct page *page, u32 off,
			 u32 len)
{
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, off, len, len);
}

/* A copy of @len bytes, at most a page, as another fragment. */
static void *mrc_copy_frag(struct sk_buff *skb, const void *from, u32 len)
{
	void *p = netdev_alloc_frag(len);
	struct page *page;

	if (!p)
		return NULL;
	memcpy(p, from, len);
	page = virt_to_head_page(p);
	mrc_add_frag(skb, page, p - page_address(page), len);
	return p;
}

int mrc_build_page(struct sk_buff *skb, struct page *page, u32 off, u32 len,
		   bool copy, bool paged, u32 *crc)
{
	void *map = kmap_local_page(page);
	const void *p = map + off;

	if (copy) {
		p = skb_put_data(skb, p, len);
	} else if (paged || !sendpage_ok(page)) {	/* slab: of a ULP */
		p = mrc_copy_frag(skb, p, len);
	} else {
		get_page(page);
		mrc_add_frag(skb, page, off, len);
	}
	if (p)
		*crc = mrc_crc32(*crc, p, len);
	kunmap_local(map);
	return p ? 0 : -ENOMEM;
}

static void mrc_put_trailer(void *p, u32 pad, u32 crc)
{
	static const u8 zero[4];

	memset(p, 0, pad);
	crc = mrc_crc32(crc, zero, pad);
	put_unaligned_le32(mrc_icrc_finish(crc), p + pad);
}

int mrc_build_tail(struct sk_buff *skb, u32 pad, u32 crc, bool copy)
{
	u32 len = pad + MRC_ICRC_LEN;
	struct page *page;
	void *p;

	if (copy) {
		mrc_put_trailer(skb_put(skb, len), pad, crc);
		return 0;
	}
	p = netdev_alloc_frag(len);
	if (!p)
		return -ENOMEM;
	page = virt_to_head_page(p);
	mrc_add_frag(skb, page, p - page_address(page), len);
	mrc_put_trailer(p, pad, crc);
	return 0;
}

struct sk_buff *mrc_build_bare(const struct mrc_head *head)
{
	u32 trailer = head->hdr->pad + MRC_ICRC_LEN;
	struct sk_buff *skb;
	u32 crc;

	skb = mrc_build_head(head, sizeof(struct udphdr) +
			     mrc_hdr_len(head->hdr) + trailer, trailer, &crc);
	if (skb)
		mrc_build_tail(skb, head->hdr->pad, crc, true);
	return skb;
}
