// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receiving: a verified packet (mrc_verify.c) goes to its handler; a packet that fails
 * the checks is counted.
 */
#include <linux/netdevice.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "mrc_net_priv.h"

static const struct mrc_rcv_ops *mrc_rcv_to;

void mrc_rcv_init(const struct mrc_rcv_ops *ops)
{
	mrc_rcv_to = ops;
}

/*
 * Local copies of our own multicast packets did not arrive from outside: not counted.
 */
static void mrc_rcv_io(struct mrc_dev *dev, unsigned int port,
		       const struct sk_buff *skb, u32 octets)
{
	if (skb->pkt_type != PACKET_LOOPBACK)
		mrc_io_add(dev, port, MRC_IO_RX_PKTS, 1, octets,
			   skb->pkt_type == PACKET_MULTICAST);
}

void mrc_count_drop(const struct sk_buff *skb, enum mrc_counter id, u32 octets)
{
	unsigned int port;
	struct ib_device *ib;
	struct mrc_dev *dev;

	ib = mrc_rcv_dev(skb);
	if (!ib)	/* loopback */
		return;
	dev = to_mdev(ib);
	port = mrc_dev_port_of(dev, mrc_rcv_ndev(skb));
	mrc_ctr_add(&dev->ctr, port, id, 1);
	if (octets)
		mrc_rcv_io(dev, port, skb, octets);
	ib_device_put(ib);
}

static bool mrc_pkey_ok(u16 pkey)
{
	/*
	 * Our P_Key is the default one with full membership: it matches full and
	 * limited.
	 */
	return (pkey & 0x7FFF) == (MRC_PKEY_DEFAULT & 0x7FFF);
}

/* Count a packet for @dev whose headers are valid. */
static void mrc_rcv_count(struct mrc_dev *dev, struct mrc_pkt *pkt)
{
	/* 0 over loopback and for netdevs that are not a port of the device. */
	pkt->rx.port = mrc_dev_port_of(dev, mrc_rcv_ndev(pkt->skb));
	mrc_rcv_io(dev, pkt->rx.port, pkt->skb, pkt->octets);
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
	/* Without a route it did not take the IP input path. */
	if (pkt->rx.port && !pkt->srv6 && skb_dst(pkt->skb))
		mrc_input_learn(pkt);
	if (mrc_pkey_ok(pkt->hdr.pkey))
		mrc_rcv_to->rcv(pkt);
	else
		mrc_ctr_add(&pkt->dev->ctr, pkt->rx.port, MRC_CTR_DROP_PKEY, 1);
}

static void mrc_rcv_endpoint(struct mrc_pkt *pkt)
{
	struct ib_device *ib;
	struct mrc_dev *dev;

	/* Never answer a broadcast or multicast packet, or an unspecified source. */
	if (!mrc_rcv_to->endpoint || pkt->hdr.dqp != MRC_QPN_ENDPOINT || pkt->rx.trim ||
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
	ib = mrc_rcv_dev(pkt->skb);
	if (!ib)
		return;
	dev = to_mdev(ib);
	mrc_rcv_count(dev, pkt);
	pkt->dev = dev;
	/* The SRv6 profile may be that of another device. */
	if (pkt->srv6 && !READ_ONCE(dev->srv6_rx))
		mrc_ctr_add(&dev->ctr, pkt->rx.port, MRC_CTR_DROP_ENDPOINT, 1);
	else
		mrc_rcv_to->endpoint(pkt);
	ib_device_put(ib);
}

/* pkt->dev is the device of arrival; NULL over loopback. */
static void mrc_rcv_roce(struct mrc_pkt *pkt)
{
	struct ib_device *ib = mrc_rcv_dev(pkt->skb);
	int drop = -1;

	if (ib) {
		pkt->dev = to_mdev(ib);
		mrc_rcv_count(pkt->dev, pkt);
	} else if (!(pkt->skb->dev->flags & IFF_LOOPBACK)) {
		return;		/* the netdev is not a port */
	}
	if (!mrc_pkey_ok(pkt->hdr.pkey))
		drop = MRC_CTR_DROP_PKEY;
	else if (!mrc_rcv_to->roce || !mrc_rcv_to->roce(pkt))
		drop = MRC_CTR_DROP_QPN;
	if (drop >= 0 && ib)
		mrc_ctr_add(&pkt->dev->ctr, pkt->rx.port, drop, 1);
	if (ib)
		ib_device_put(ib);
}

static void mrc_rcv(struct mrc_pkt *pkt)
{
	int drop = mrc_verify(pkt, mrc_rcv_to);

	if (drop >= 0)
		mrc_count_drop(pkt->skb, drop, pkt->octets);
	else if (pkt->roce)
		mrc_rcv_roce(pkt);
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
