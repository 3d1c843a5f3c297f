// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Driver details for "rdma resource show ... -dd": who may see what. What there is to
 * see of an object, the layer says that has it.
 *
 * Everybody may ask. PSNs let who knows them forge packets of other users' QPs,
 * and many programs begin at a PSN that is no secret, so that what is counted
 * since then tells the PSN as well. Everybody sees states and differences; only
 * who controls the device sees the rest.
 */
#include <linux/net.h>
#include <net/sock.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "mrc_dev.h"

/*
 * May who asks see all? Who opened the socket and who asks through it both have
 * to: it may have been handed on, either way. The message of a dump belongs to the
 * socket. That of a single object does not, and the core does not say who asked:
 * nobody may.
 */
static bool mrc_may_see_all(const struct sk_buff *msg, const struct mrc_dev *dev)
{
	const struct sock *sk = msg->sk;

	return sk && sk->sk_socket && sk->sk_socket->file &&
	       sk_ns_capable(sk, dev->net->user_ns, CAP_NET_ADMIN);
}

int mrc_res_fill(struct sk_buff *msg, struct ib_device *ibdev, mrc_fill_fn fn,
		 void *obj)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);

	if (!nest)
		return -EMSGSIZE;
	if (fn(msg, obj, mrc_may_see_all(msg, to_mdev(ibdev)))) {
		nla_nest_cancel(msg, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}
