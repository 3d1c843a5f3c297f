// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Driver details for "rdma resource show ... -dd", and who may see which. The layer
 * that owns an object provides its details.
 *
 * Every user may send the query. A user who knows the PSNs of other users' QPs can
 * forge packets for them. Many programs start at a PSN that is no secret, so packet
 * totals since the start also reveal the PSN. Every user sees states and differences;
 * only a user who may control the device sees the rest.
 */
#include <linux/net.h>
#include <net/sock.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "mrc_dev.h"

/*
 * May the reader see all details? The process that opened the socket and the process
 * that queries through it must both be privileged, because the socket may have been
 * passed on in either direction. The message of a dump belongs to the socket. The
 * message of a single object does not, and the core does not tell who sent the query:
 * then nobody may see all.
 */
static bool mrc_reader_privileged(const struct sk_buff *msg, const struct mrc_dev *dev)
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
	if (fn(msg, obj, mrc_reader_privileged(msg, to_mdev(ibdev)))) {
		nla_nest_cancel(msg, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}
