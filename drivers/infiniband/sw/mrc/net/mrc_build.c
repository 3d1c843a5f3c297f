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

void mrc_build_ip(struct sk_buff *skb, const struct mrc_ip *ip, u32 udp_len)
{
	if (ip->ipv6) {
		struct ipv6hdr *h = skb_put(skb, sizeof(*h));

		ip6_flow_hdr(h, ip->tos, htonl(ip->flow_label));
		h->payload_len = htons(udp_len);
		h->nexthdr = IPPROTO_UDP;
		h->hop_limit = ip->ttl;
		h->saddr = *ip->saddr;
		h->daddr = *ip->daddr;
		skb->protocol = htons(ETH_P_IPV6);
	} else {
		struct iphdr *h = skb_put(skb, sizeof(*h));

		h->version = 4;
		h->ihl = 5;
		h->tos = ip->tos;
		h->tot_len = htons(sizeof(*h) + udp_len);
		h->id = 0;
		h->frag_off = htons(IP_DF);
		h->ttl = ip->ttl;
		h->protocol = IPPROTO_UDP;
		h->check = 0;	/* ip_local_out() */
		h->saddr = ip->saddr->s6_addr32[3];
		h->daddr = ip->daddr->s6_addr32[3];
		skb->protocol = htons(ETH_P_IP);
	}
}

struct sk_buff *mrc_build_head(const struct mrc_head *head, u32 udp_len,
			       u32 room, u32 *crc)
{
	const struct mrc_ip ip = {
		.saddr = head->saddr,
		.daddr = head->daddr,
		.flow_label = head->entropy >> 16,
		.ipv6 = head->ipv6,
		.tos = head->tos,
		.ttl = MRC_HOP_LIMIT,
	};
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
	mrc_build_ip(skb, &ip, udp_len);
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

/* Memory of @len bytes, at most a page, as another fragment. */
static void *mrc_new_frag(struct sk_buff *skb, u32 len)
{
	void *p = netdev_alloc_frag(len);
	struct page *page;

	if (!p)
		return NULL;
	page = virt_to_head_page(p);
	mrc_add_frag(skb, page, p - page_address(page), len);
	return p;
}

int mrc_build_page(struct sk_buff *skb, struct page *page, u32 off, u32 len,
		   bool copy, bool paged, u32 *crc)
{
	void *map = kmap_local_page(page);
	void *p = map + off;

	if (copy) {
		p = skb_put_data(skb, p, len);
	} else if (paged || !sendpage_ok(page)) {	/* slab: of a ULP */
		p = mrc_new_frag(skb, len);
		if (p)
			memcpy(p, map + off, len);
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
	void *p = copy ? skb_put(skb, len) : mrc_new_frag(skb, len);

	if (!p)
		return -ENOMEM;
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
