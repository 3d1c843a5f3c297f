/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets: what the files of this folder have among themselves.
 */
#ifndef MRC_NET_PRIV_H
#define MRC_NET_PRIV_H

#include "mrc_net.h"

#define MRC_BTH_LEN		12

/* mrc_sock.c ----------------------------------------------------------------*/

/*
 * The socket for IPv6, valid while a device of the namespace exists; NULL where IPv6
 * is disabled.
 */
struct sock *mrc_sock_v6(struct net *net);

/* mrc_route.c ---------------------------------------------------------------*/

/* Bytes of L3 of a full packet at its longest. */
u32 mrc_route_mtu(const struct mrc_flow *flow);

/* mrc_srv6.c ----------------------------------------------------------------*/

#define MRC_SRV6_ROOM	64	/* outer header and SRH with one segment */

/* mrc_verify.c --------------------------------------------------------------*/

/**
 * mrc_verify - check a packet that arrived, and fill in what it says
 * @pkt: @skb, with data at the UDP header and network and transport header set;
 *	@octets; of one that came in an outer header also @srv6 and @tos
 * @ops: who knows QPs by their numbers
 *
 * The one place where packets are checked: lengths, version and options of IP, the
 * length that UDP says, opcode, pad, ICRC (MRC 1.0 §2.2 to §2.4). A trimmed packet
 * has no ICRC, and of it just BTH, METH and TSETH (§8.5). Sets all of @pkt but @mr,
 * @rx.port and, unless @qp was found, @dev. Softirq, under RCU.
 *
 * Return: -1, or the counter (enum mrc_counter) of what is wrong. @pkt->qp has to be
 * put in either case.
 */
int mrc_verify(struct mrc_pkt *pkt, const struct mrc_rcv_ops *ops);

/* mrc_rcv.c -----------------------------------------------------------------*/

/* encap_rcv of the namespace's sockets; always consumes @skb, returns 0. */
int mrc_udp_rcv(struct sock *sk, struct sk_buff *skb);

/*
 * The same for a packet that came out of an outer IPv6 header: data at the UDP
 * header, network and transport header set to those inside. @tos: traffic class byte
 * of the outer header, @outer: its bytes. Softirq, under RCU; consumes @skb.
 */
void mrc_inner_rcv(struct sk_buff *skb, u8 tos, u32 outer);

/*
 * Count @id for a received packet whose QP is not known, and the packet itself if
 * that has not been done: @octets of IP, else 0. Under RCU.
 */
void mrc_count_drop(const struct sk_buff *skb, enum mrc_counter id, u32 octets);

/* mrc_srv6_rcv.c ------------------------------------------------------------*/

/*
 * Take SRv6-encapsulated packets in @net. Sleeps. 0 or -ENOMEM; without
 * CONFIG_INFINIBAND_MRC_SRV6 0 as well. close: a packet may still be under way, the
 * caller waits for a grace period.
 */
#ifdef CONFIG_INFINIBAND_MRC_SRV6
int mrc_srv6_open(struct net *net);
void mrc_srv6_close(struct net *net);
#else
static inline int mrc_srv6_open(struct net *net)
{
	return 0;
}

static inline void mrc_srv6_close(struct net *net)
{
}
#endif

#endif /* MRC_NET_PRIV_H */
