/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets: declarations shared by the files of this folder.
 */
#ifndef MRC_NET_PRIV_H
#define MRC_NET_PRIV_H

#include <linux/if_vlan.h>
#include <linux/netfilter.h>

#include "mrc_net.h"

#define MRC_BTH_LEN		12

/* mrc_sock.c ----------------------------------------------------------------*/

/*
 * The IPv6 socket, valid while a device of the namespace exists; NULL if IPv6 is
 * disabled.
 */
struct sock *mrc_sock_v6(struct net *net);

/* Are packets to this UDP port received? Any context. */
bool mrc_sock_takes(struct net *net, __be16 port);

/* mrc_route.c ---------------------------------------------------------------*/

/* Largest L3 size of a full packet, bytes. */
u32 mrc_route_mtu(const struct mrc_flow *flow);

/* mrc_srv6.c ----------------------------------------------------------------*/

#define MRC_SRV6_ROOM	64	/* outer header and SRH with one segment */

/*
 * Does this BTH belong to a packet of plain RoCE v2, if the packet had no outer header? A
 * packet of UC never names the QPN of a connected queue pair: there the opcodes are
 * undefined (OP-4).
 */
static inline bool mrc_bth_roce(const u8 *bth)
{
	u32 qpn = get_unaligned_be32(bth + 4) & MRC_PSN_MASK;

	return mrc_ud_opcode(bth[0]) || (mrc_uc_opcode(bth[0]) && mrc_qpn_ud(qpn));
}

/* mrc_verify.c --------------------------------------------------------------*/

/**
 * mrc_verify - check a received packet and fill in @pkt
 * @pkt: @skb with data at the UDP header and the network and transport headers set;
 *	@octets; for a packet with an outer header also @srv6 and @tos
 * @ops: finds a QP by its QPN
 *
 * The only place where packets are checked: lengths, IP version and options, UDP
 * length, opcode, pad, ICRC (MRC 1.0 §2.2 to §2.4). A trimmed packet has no ICRC and
 * only BTH, METH and TSETH (§8.5). Sets all of @pkt except @mr, @rx.port and, unless
 * @qp was found, @dev. Softirq, under RCU.
 *
 * Return: -1, or the counter (enum mrc_counter) of the error. @pkt->qp has to be put in
 * either case.
 */
int mrc_verify(struct mrc_pkt *pkt, const struct mrc_rcv_ops *ops);

/* mrc_rcv.c -----------------------------------------------------------------*/

/*
 * The netdev through which a packet came as a port knows it: not a VLAN but the netdev
 * below.
 */
static inline struct net_device *mrc_rcv_ndev(const struct sk_buff *skb)
{
	struct net_device *ndev = skb->dev, *real;

	if (!is_vlan_dev(ndev))
		return ndev;
	real = vlan_dev_real_dev(ndev);
	return net_eq(dev_net(real), dev_net(ndev)) ? real : ndev;
}

/* The device that has this netdev, with a reference, or NULL. */
static inline struct ib_device *mrc_rcv_dev(const struct sk_buff *skb)
{
	return ib_device_get_by_netdev(mrc_rcv_ndev(skb), MRC_RDMA_DRIVER_ID);
}

/*
 * encap_rcv of the namespace's sockets; also for a packet that did not take the IP input path,
 * with @sk NULL. Always consumes @skb, returns 0.
 */
int mrc_udp_rcv(struct sock *sk, struct sk_buff *skb);

/*
 * The same for a packet that was inside an outer IPv6 header: data at the UDP header,
 * network and transport header set to those inside. @tos: traffic class byte of the
 * outer header. @outer: bytes of the outer headers. Softirq, under RCU; consumes @skb.
 */
void mrc_inner_rcv(struct sk_buff *skb, u8 tos, u32 outer);

/*
 * Count @id for a received packet whose QP is not known. If the packet itself has not
 * been counted, @octets is its size in bytes of IP and it is counted too; else @octets
 * is 0. Under RCU.
 */
void mrc_count_drop(const struct sk_buff *skb, enum mrc_counter id, u32 octets);

/* mrc_input.c ---------------------------------------------------------------*/

/*
 * The IP input path has accepted @pkt, which came through a port of the device: later ones
 * with its addresses need not take it. RCU, BH off.
 */
#ifdef CONFIG_INFINIBAND_MRC_INPUT
void mrc_input_learn(const struct mrc_pkt *pkt);

/*
 * Would the IP input path do nothing with a datagram that arrives at @ndev but pass it to our
 * socket? @net: namespace of @ndev. RCU.
 */
bool mrc_input_plain(const struct net *net, const struct net_device *ndev, bool ipv6);

/*
 * Has the IP input path of @net accepted packets with the addresses of @skb, a packet that is
 * not there yet and will have no mark? @priv: of the hook mrc_input_in(). RCU.
 */
bool mrc_input_expects(const void *priv, const struct net *net, const struct sk_buff *skb);
#else
static inline void mrc_input_learn(const struct mrc_pkt *pkt)
{
}
#endif

/* Hooks at the netdevs of ports ---------------------------------------------*/

/* mrc_input.c, mrc_trim.c: ingress; mrc_guard.c: egress. Exist if the file does. */
nf_hookfn mrc_input_in;
nf_hookfn mrc_trim_in;
nf_hookfn mrc_guard_out;

/* mrc_guard.c ---------------------------------------------------------------*/

/*
 * hook: drop what programs send to the UDP port of MRC through @ndev, a netdev of @net. May
 * sleep. 0 or a negative errno; always 0 without CONFIG_INFINIBAND_MRC_GUARD. unhook: stop; does
 * nothing if hook failed.
 */
#ifdef CONFIG_INFINIBAND_MRC_GUARD
int mrc_guard_hook(struct net *net, struct net_device *ndev,
		   struct nf_hook_ops *ops);
void mrc_guard_unhook(struct net *net, struct nf_hook_ops *ops);
#else
static inline int mrc_guard_hook(struct net *net, struct net_device *ndev,
				 struct nf_hook_ops *ops)
{
	return 0;
}

static inline void mrc_guard_unhook(struct net *net, struct nf_hook_ops *ops)
{
}
#endif

/* mrc_sock.c ----------------------------------------------------------------*/

/* Has a device of @net an SRv6 profile that is online? Any context. */
bool mrc_sock_srv6_on(struct net *net);

/* mrc_srv6_rcv.c ------------------------------------------------------------*/

/*
 * open: receive SRv6-encapsulated packets in @net. Sleeps. 0 or -ENOMEM; always 0
 * without CONFIG_INFINIBAND_MRC_SRV6. close: stop. A packet may still be in the hook
 * afterwards, so the caller waits for a grace period.
 */
#ifdef CONFIG_INFINIBAND_MRC_SRV6
int mrc_srv6_open(struct net *net);
void mrc_srv6_close(struct net *net);

/* Is there no hook but ours? @hooks: at LOCAL_IN, NULL: none. RCU. */
bool mrc_srv6_alone(const struct nf_hook_entries *hooks);
#else
static inline bool mrc_srv6_alone(const struct nf_hook_entries *hooks)
{
	return !hooks;
}

static inline int mrc_srv6_open(struct net *net)
{
	return 0;
}

static inline void mrc_srv6_close(struct net *net)
{
}
#endif

#endif /* MRC_NET_PRIV_H */
