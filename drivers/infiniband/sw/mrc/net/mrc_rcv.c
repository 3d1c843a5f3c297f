// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receiving: nothing of a packet is believed before its lengths and its ICRC
 * have been checked; then whoever takes such packets gets it. Only the number of the
 * QP is looked at before that, because its device says which codepoints are those of
 * trimmed packets.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <net/udp.h>
#include <rdma/ib_addr.h>

#include "mrc_net.h"

static const struct mrc_rcv_ops *mrc_rcv_to;

void mrc_rcv_init(const struct mrc_rcv_ops *ops)
{
	mrc_rcv_to = ops;
}

void mrc_count_drop(const struct sk_buff *skb, enum mrc_counter id, u32 octets)
{
	unsigned int port;
	struct ib_device *ib;
	struct mrc_dev *dev;

	ib = ib_device_get_by_netdev(skb->dev, MRC_RDMA_DRIVER_ID);
	if (!ib)	/* loopback */
		return;
	dev = to_mdev(ib);
	port = mrc_dev_port_of(dev, skb->dev);
	mrc_ctr_add(&dev->ctr, port, id, 1);
	if (octets)
		mrc_io_add(dev, port, MRC_IO_RX_PKTS, octets,
			   skb->pkt_type == PACKET_MULTICAST);
	ib_device_put(ib);
}

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

bool mrc_skb_icrc_ok(struct sk_buff *skb, u32 len)
{
	u32 end = MRC_UDP_HLEN + len - MRC_ICRC_LEN;
	u32 off = MRC_UDP_HLEN + MRC_BTH_LEN;
	u8 icrc[MRC_ICRC_LEN];
	u32 crc;

	if (skb_copy_bits(skb, end, icrc, sizeof(icrc)))
		return false;
	crc = mrc_icrc_start(skb_network_header(skb));
	crc = mrc_skb_crc(skb, off, end - off, crc);
	return mrc_icrc_finish(crc) == get_unaligned_le32(icrc);
}

/* enum mrc_trim: by the codepoints of the device that the packet is for. */
static u8 mrc_pkt_trim(const struct mrc_pkt *pkt)
{
	u8 dscp = pkt->tos >> 2, trim;
	struct ib_device *ib;

	if (pkt->dev)
		return mrc_tc_trim(&pkt->dev->tc, dscp);
	ib = ib_device_get_by_netdev(pkt->skb->dev, MRC_RDMA_DRIVER_ID);
	if (!ib)
		return MRC_TRIM_NONE;
	trim = mrc_tc_trim(&to_mdev(ib)->tc, dscp);
	ib_device_put(ib);
	return trim;
}

/*
 * IP and UDP headers; returns a counter to bump or -1 if all is well. pkt->tos
 * is there already for packets that came in an outer header.
 */
static int mrc_check_ip(struct mrc_pkt *pkt)
{
	struct sk_buff *skb = pkt->skb;
	int ip_len = skb_transport_offset(skb) - skb_network_offset(skb);
	u32 ulen, flow = 0, tail = MRC_ICRC_LEN;
	const u8 *udp;
	u8 tos;

	if (!pskb_may_pull(skb, MRC_UDP_HLEN + MRC_BTH_LEN))
		return MRC_CTR_DROP_SHORT;

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
	udp = skb->data;
	pkt->rx.entropy = mrc_entropy_from_wire(get_unaligned_be16(udp), flow);
	pkt->rx.ce = INET_ECN_is_ce(pkt->tos);

	mrc_rcv_to->find(pkt, get_unaligned_be32(udp + MRC_UDP_HLEN + 4) &
			 MRC_PSN_MASK);
	pkt->rx.trim = mrc_pkt_trim(pkt);

	ulen = get_unaligned_be16(udp + 4);
	if (pkt->rx.trim) {	/* §8.5: no ICRC, and the frame is the length */
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

/* Headers and ICRC; returns a counter to bump or -1. */
static int mrc_check_packet(struct mrc_pkt *pkt)
{
	const u8 *bth = pkt->skb->data + MRC_UDP_HLEN;
	u32 avail = min_t(u32, pkt->len,
			  skb_headlen(pkt->skb) - MRC_UDP_HLEN);

	if (pkt->rx.trim) {
		switch (mrc_hdr_parse_trimmed(bth, avail, &pkt->hdr)) {
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
	switch (mrc_hdr_parse(bth, avail, pkt->len, &pkt->hdr)) {
	case MRC_DROP_SHORT:
		return MRC_CTR_DROP_SHORT;
	case MRC_DROP_TVER:
		return MRC_CTR_DROP_TVER;
	case MRC_DROP_LENGTH:
		return MRC_CTR_DROP_LENGTH;
	default:	/* undefined opcodes are the responder's business, OP-4 */
		break;
	}
	return mrc_skb_icrc_ok(pkt->skb, pkt->len) ? -1 : MRC_CTR_DROP_ICRC;
}

bool mrc_pkey_ok(u16 pkey)
{
	/* Ours is the full member of the default partition. */
	return (pkey & 0x7FFF) == (MRC_PKEY_DEFAULT & 0x7FFF);
}

/* A packet for @dev whose headers are right. */
static void mrc_rcv_count(struct mrc_dev *dev, struct mrc_pkt *pkt)
{
	/* 0 over loopback and from netdevs that are no plane of the device. */
	pkt->rx.port = mrc_dev_port_of(dev, pkt->skb->dev);
	mrc_io_add(dev, pkt->rx.port, MRC_IO_RX_PKTS, pkt->octets, false);
	if (pkt->srv6)
		mrc_ctr_add(&dev->ctr, pkt->rx.port, MRC_CTR_RX_SRV6, 1);
}

static void mrc_rcv_connected(struct mrc_pkt *pkt)
{
	if (!pkt->qp) {
		mrc_count_drop(pkt->skb, MRC_CTR_DROP_QPN, pkt->octets);
		return;
	}
	mrc_rcv_count(pkt->dev, pkt);
	if (mrc_pkey_ok(pkt->hdr.pkey))
		mrc_rcv_to->rcv(pkt);
	else
		mrc_ctr_add(&pkt->dev->ctr, pkt->rx.port, MRC_CTR_DROP_PKEY, 1);
}

static void mrc_rcv_endpoint(struct mrc_pkt *pkt)
{
	struct ib_device *ib;
	struct mrc_dev *dev;

	/* Never answer a broadcast or multicast, nor nobody. */
	if (pkt->hdr.dqp != MRC_QPN_ENDPOINT || pkt->rx.trim ||
	    pkt->skb->pkt_type != PACKET_HOST ||
	    rdma_is_multicast_addr(&pkt->daddr) ||
	    ipv6_addr_any(&pkt->saddr)) {
		mrc_count_drop(pkt->skb, MRC_CTR_DROP_ENDPOINT, pkt->octets);
		return;
	}
	if (!mrc_pkey_ok(pkt->hdr.pkey)) {
		mrc_count_drop(pkt->skb, MRC_CTR_DROP_PKEY, pkt->octets);
		return;
	}
	ib = ib_device_get_by_netdev(pkt->skb->dev, MRC_RDMA_DRIVER_ID);
	if (!ib)
		return;
	dev = to_mdev(ib);
	mrc_rcv_count(dev, pkt);
	pkt->dev = dev;
	mrc_rcv_to->endpoint(pkt);
	ib_device_put(ib);
}

static void mrc_rcv(struct mrc_pkt *pkt)
{
	int drop;

	pkt->rx.hdr = &pkt->hdr;
	drop = mrc_check_ip(pkt);
	if (drop < 0) {
		/* Only for those who are told how long it stayed, OP-35. */
		if (pkt->timed)
			pkt->rx.at = mrc_now();
		drop = mrc_check_packet(pkt);
	}
	if (drop >= 0)
		mrc_count_drop(pkt->skb, drop, pkt->octets);
	else if (mrc_op_info(pkt->hdr.opcode)->flags & MRC_OPF_ENDPOINT)
		mrc_rcv_endpoint(pkt);
	else
		mrc_rcv_connected(pkt);
	if (pkt->qp)
		mrc_rcv_to->put(pkt->qp);
	consume_skb(pkt->skb);
}

int mrc_udp_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct mrc_pkt pkt = { .skb = skb, .octets = mrc_skb_octets(skb) };

	if (pskb_may_pull(skb, MRC_UDP_HLEN + MRC_BTH_LEN) &&
	    mrc_rcv_to->plain(skb))
		consume_skb(skb);
	else
		mrc_rcv(&pkt);
	return 0;
}

void mrc_inner_rcv(struct sk_buff *skb, u8 tos, u32 outer)
{
	struct mrc_pkt pkt = {
		.skb = skb,
		.octets = mrc_skb_octets(skb) + outer,
		.tos = tos,
		.srv6 = true,
	};

	mrc_rcv(&pkt);
}
