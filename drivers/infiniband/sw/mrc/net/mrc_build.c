// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Building packets of all services: headers, payload as fragments or copied, pad and
 * ICRC. The ICRC is computed over the bytes of the packet: if the payload is copied,
 * over the copy, because a program may write to its buffer meanwhile.
 */
#include <linux/highmem.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>

#include "mrc_net_priv.h"

/* @udp_len: UDP length, header included. */
static void mrc_build_ip(struct sk_buff *skb, const struct mrc_head *head,
			 u32 udp_len)
{
	if (head->ipv6) {
		struct ipv6hdr *h = skb_put(skb, sizeof(*h));

		ip6_flow_hdr(h, head->tos, htonl(head->flow_label));
		h->payload_len = htons(udp_len);
		h->nexthdr = IPPROTO_UDP;
		h->hop_limit = head->ttl;
		h->saddr = *head->saddr;
		h->daddr = *head->daddr;
		skb->protocol = htons(ETH_P_IPV6);
	} else {
		struct iphdr *h = skb_put(skb, sizeof(*h));

		h->version = 4;
		h->ihl = 5;
		h->tos = head->tos;
		h->tot_len = htons(sizeof(*h) + udp_len);
		h->id = 0;
		h->frag_off = htons(IP_DF);
		h->ttl = head->ttl;
		h->protocol = IPPROTO_UDP;
		h->check = 0;	/* set by ip_local_out() */
		h->saddr = head->saddr->s6_addr32[3];
		h->daddr = head->daddr->s6_addr32[3];
		skb->protocol = htons(ETH_P_IP);
	}
}

bool mrc_build_begin(struct mrc_build *b, const struct mrc_head *head, u32 payload,
		     bool copy)
{
	u32 ip_len = head->ipv6 ? sizeof(struct ipv6hdr) :
				  sizeof(struct iphdr);
	u32 front = LL_MAX_HEADER + (head->srv6 ? MRC_SRV6_ROOM : 0);
	u32 tail = payload + head->hdr->pad + MRC_ICRC_LEN;
	u32 hdr_len = mrc_hdr_len(head->hdr);
	struct sk_buff *skb;
	struct udphdr *udp;
	void *bth;

	skb = alloc_skb(front + ip_len + sizeof(*udp) + hdr_len +
			(copy ? tail : 0), GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return false;
	skb_reserve(skb, front);
	skb_reset_network_header(skb);
	mrc_build_ip(skb, head, sizeof(*udp) + hdr_len + tail);
	skb_set_transport_header(skb, ip_len);
	udp = skb_put(skb, sizeof(*udp));
	udp->source = htons(head->sport);
	udp->dest = head->dport;
	udp->len = htons(sizeof(*udp) + hdr_len + tail);
	udp->check = 0;
	bth = skb_put(skb, hdr_len);
	mrc_hdr_build(head->hdr, bth, hdr_len);

	b->skb = skb;
	b->crc = mrc_icrc_start(skb_network_header(skb));
	if (!copy)
		b->crc = mrc_crc32(b->crc, bth + MRC_BTH_LEN,
				   hdr_len - MRC_BTH_LEN);
	b->pad = head->hdr->pad;
	b->copy = copy;
	return true;
}

void mrc_build_bytes(struct mrc_build *b, const void *data, u32 len)
{
	skb_put_data(b->skb, data, len);
}

static void mrc_add_frag(struct sk_buff *skb, struct page *page, u32 off,
			 u32 len)
{
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, off, len, len);
}

/* Append a new fragment of @len bytes, at most a page. Returns its memory. */
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

int mrc_build_page(struct mrc_build *b, struct page *page, u32 off, u32 len,
		   bool paged)
{
	struct sk_buff *skb = b->skb;
	void *map = kmap_local_page(page);
	void *p = map + off;

	if (b->copy) {
		skb_put_data(skb, p, len);
		goto out;
	}
	if (paged || !sendpage_ok(page)) {	/* slab memory of a ULP */
		p = mrc_new_frag(skb, len);
		if (p)
			memcpy(p, map + off, len);
	} else {
		get_page(page);
		mrc_add_frag(skb, page, off, len);
		/* The program may write to its buffer at any time. */
		skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	}
	if (p)
		b->crc = mrc_crc32(b->crc, p, len);
out:
	kunmap_local(map);
	return p ? 0 : -ENOMEM;
}

/* The ICRC of a packet whose payload is in fragments continues over the pad. */
static u32 mrc_crc_trailer(const struct mrc_build *b, const u8 *pad)
{
	if (!b->pad)
		return b->crc;
	return mrc_crc32(b->crc, pad, b->pad);
}

/* All that follows the BTH lies in one piece. */
static u32 mrc_crc_copied(const struct mrc_build *b, const u8 *end)
{
	const u8 *from = skb_transport_header(b->skb) + MRC_UDP_HLEN +
			 MRC_BTH_LEN;

	return mrc_crc32(b->crc, from, end - from);
}

struct sk_buff *mrc_build_end(struct mrc_build *b)
{
	u32 crc, len = b->pad + MRC_ICRC_LEN;
	u8 *p = b->copy ? skb_put(b->skb, len) : mrc_new_frag(b->skb, len);

	if (!p) {
		mrc_build_drop(b);
		return NULL;
	}
	memset(p, 0, b->pad);
	crc = b->copy ? mrc_crc_copied(b, p + b->pad) : mrc_crc_trailer(b, p);
	put_unaligned_le32(mrc_icrc_finish(crc), p + b->pad);
	return b->skb;
}

void mrc_build_drop(struct mrc_build *b)
{
	kfree_skb(b->skb);
}

struct sk_buff *mrc_build_bare(const struct mrc_head *head)
{
	struct mrc_build b;

	return mrc_build_begin(&b, head, 0, true) ? mrc_build_end(&b) : NULL;
}
