/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Plain RoCE v2: datagrams, QP1, multicast, unreliable connections.
 */
#ifndef MRC_ROCE_H
#define MRC_ROCE_H

#include "net/mrc_net.h"
#include "queue/mrc_queue.h"

/* mrc_ud.c: UD, QP1 and UC --------------------------------------------------*/

extern const struct mrc_qp_kind mrc_qp_kind_ud;

/* mrc_ud_recv.c: for struct mrc_rcv_ops -------------------------------------*/

bool mrc_roce_rcv(struct mrc_pkt *pkt);

/* mrc_mcast.c ---------------------------------------------------------------*/

/* The multicast groups of a device. Both may sleep. 0 or -ENOMEM. */
int mrc_mcast_create(struct mrc_dev *dev);
void mrc_mcast_destroy(struct mrc_dev *dev);

extern const struct mrc_port_client mrc_mcast_client;
extern const struct ib_device_ops mrc_mcast_ops;

#endif /* MRC_ROCE_H */
