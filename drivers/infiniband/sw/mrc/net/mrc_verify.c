// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Verification of all received packets: MRC and plain RoCE v2, trimmed packets, and
 * packets that came in an outer header. A packet is not trusted before its lengths and
 * ICRC have been checked. Only two fields are read earlier: the opcode, which decides
 * which rules apply, and the QPN, which decides which device's codepoints mark a
 * trimmed packet.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "mrc_net_priv.h"

/* Continue the CRC over [off, off + len) of @skb. */
static u32 mrc_skb_crc(struct sk_buff *skb, u32 off, u32 len, u32 crc)
{
	struct skb_seq_state st;
	u32 done = 0, n;
	const u8 *p;

	if (off + len <= skb_headlen(skb))
		return mrc_crc32(crc, skb->data + off, len);

	skb_prepare_seq_read(skb, off, off + len, &st);
	while ((n = skb_seq_read(done, &p, &st))) {
		n = min(n, len - done);
		crc = mrc_crc32(crc, p, n);
		done += n;
		if (done == len) {
			skb_abort_seq_read(&st);
			break;
		}
	}
	return crc;
}

/* @pkt->len bytes follow the UDP header; the BTH is in the linear part. */
static bool mrc_icrc_ok(const struct mrc_pkt *pkt)
{
	u32 end = MRC_UDP_HLEN + pkt->len - MRC_ICRC_LEN;
	u32 off = MRC_UDP_HLEN + MRC_BTH_LEN;
	struct sk_buff *skb = pkt->skb;
	u8 icrc[MRC_ICRC_LEN];
	u32 crc;

	if (skb_copy_bits(skb, end, icrc, sizeof(icrc)))
		return false;
	crc = mrc_icrc_start(skb_network_header(skb));
	crc = mrc_skb_crc(skb, off, end - off, crc);
	return mrc_icrc_finish(crc) == get_unaligned_le32(icrc);
}

/* enum mrc_trim of the packet, by the codepoints of the device that it is for. */
static u8 mrc_pkt_trim(const struct mrc_pkt *pkt)
{
	u8 dscp = pkt->tos >> 2, trim;
	struct ib_device *ib;

	if (pkt->dev)
		return mrc_tc_trim(&pkt->dev->tc, dscp);
	ib = mrc_rcv_dev(pkt->skb);
	if (!ib)
		return MRC_TRIM_NONE;
	trim = mrc_tc_trim(&to_mdev(ib)->tc, dscp);
	ib_device_put(ib);
	return trim;
}

/* Check the IP header. Returns a counter or -1. */
static int mrc_verify_ip(struct mrc_pkt *pkt)
{
	struct sk_buff *skb = pkt->skb;
	int ip_len = skb_transport_offset(skb) - skb_network_offset(skb);
	u32 flow = 0;
	u8 tos;

	if (ip_hdr(skb)->version == 4) {
		const struct iphdr *ip = ip_hdr(skb);

		if (ip->ihl != 5 || ip_len != sizeof(*ip))
			return MRC_CTR_DROP_LENGTH;
		tos = ip->tos;
		ipv6_addr_set_v4mapped(ip->saddr, &pkt->saddr);
		ipv6_addr_set_v4mapped(ip->daddr, &pkt->daddr);
	} else {
		const struct ipv6hdr *ip6 = ipv6_hdr(skb);

		if (ip6->nexthdr != IPPROTO_UDP || ip_len != sizeof(*ip6))
			return MRC_CTR_DROP_LENGTH;
		pkt->ipv6 = true;
		tos = ipv6_get_dsfield(ip6);
		pkt->saddr = ip6->saddr;
		pkt->daddr = ip6->daddr;
		flow = ntohl(ip6_flowlabel(ip6));
	}
	if (!pkt->srv6)
		pkt->tos = tos;
	pkt->rx.entropy = mrc_entropy_from_wire(get_unaligned_be16(skb->data), flow);
	pkt->rx.ce = INET_ECN_is_ce(pkt->tos);
	return -1;
}

/*
 * Decide which rules apply. A packet of plain RoCE v2 has no outer header: there the
 * opcodes are undefined (OP-4). Only MRC has trimming.
 */
static void mrc_verify_kind(struct mrc_pkt *pkt, const struct mrc_rcv_ops *ops)
{
	const u8 *bth = pkt->skb->data + MRC_UDP_HLEN;
	u32 qpn = get_unaligned_be32(bth + 4) & MRC_PSN_MASK;

	pkt->roce = !pkt->srv6 && mrc_bth_roce(bth);
	if (pkt->roce)
		return;
	ops->find(pkt, qpn);
	pkt->rx.trim = mrc_pkt_trim(pkt);
}

/* Check the UDP length. Returns a counter or -1. */
static int mrc_verify_length(struct mrc_pkt *pkt)
{
	u32 ulen, tail = MRC_ICRC_LEN;
	struct sk_buff *skb = pkt->skb;

	ulen = get_unaligned_be16(skb->data + 4);
	if (pkt->rx.trim) {	/* §8.5: no ICRC, and the frame gives the length */
		ulen = min(ulen, skb->len);
		tail = 0;
	}
	if (ulen < MRC_UDP_HLEN + MRC_BTH_LEN + tail || ulen > skb->len)
		return MRC_CTR_DROP_SHORT;
	if (pskb_trim_rcsum(skb, ulen) ||
	    !pskb_may_pull(skb, min_t(u32, ulen, MRC_UDP_HLEN + MRC_HDR_MAX)))
		return MRC_CTR_DROP_SHORT;
	pkt->len = ulen - MRC_UDP_HLEN;
	return -1;
}

static int mrc_drop_counter(enum mrc_drop drop)
{
	switch (drop) {
	case MRC_DROP_NONE:
		return -1;
	case MRC_DROP_TVER:
		return MRC_CTR_DROP_TVER;
	case MRC_DROP_OPCODE:
		return MRC_CTR_DROP_OPCODE;
	case MRC_DROP_LENGTH:
		return MRC_CTR_DROP_LENGTH;
	default:
		return MRC_CTR_DROP_SHORT;
	}
}

/*
 * Parse the headers by the opcode table, then check the ICRC. Returns a counter or -1.
 */
static int mrc_verify_headers(struct mrc_pkt *pkt)
{
	const u8 *bth = pkt->skb->data + MRC_UDP_HLEN;
	u32 avail = min_t(u32, pkt->len,
			  skb_headlen(pkt->skb) - MRC_UDP_HLEN);
	enum mrc_drop drop;

	if (pkt->rx.trim)
		return mrc_drop_counter(mrc_hdr_parse_trimmed(bth, avail,
							      &pkt->hdr));
	drop = pkt->roce ? mrc_roce_parse(bth, avail, pkt->len, &pkt->hdr) :
			   mrc_hdr_parse(bth, avail, pkt->len, &pkt->hdr);
	/* The responder handles opcodes that MRC does not define, OP-4. */
	if (drop && (pkt->roce || drop != MRC_DROP_OPCODE))
		return mrc_drop_counter(drop);
	return mrc_icrc_ok(pkt) ? -1 : MRC_CTR_DROP_ICRC;
}

int mrc_verify(struct mrc_pkt *pkt, const struct mrc_rcv_ops *ops)
{
	int drop;

	pkt->rx.hdr = &pkt->hdr;
	if (!pskb_may_pull(pkt->skb, MRC_UDP_HLEN + MRC_BTH_LEN))
		return MRC_CTR_DROP_SHORT;
	drop = mrc_verify_ip(pkt);
	if (drop >= 0)
		return drop;
	mrc_verify_kind(pkt, ops);
	drop = mrc_verify_length(pkt);
	if (drop >= 0)
		return drop;
	/* Only a QP that reports the service time needs it, OP-35. */
	if (pkt->timed)
		pkt->rx.at = mrc_now();
	return mrc_verify_headers(pkt);
}
