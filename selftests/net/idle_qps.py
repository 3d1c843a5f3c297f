#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Connects N QPs to PEER, which need not know about them, and keeps them idle until the
program is killed. Usage: idle_qps.py DEV ADDRESS PEER N DEPTH FIFO. The program prints
READY before it makes the QPs, continues when FIFO is written to, and prints CONNECTED
afterwards. DEPTH is the depth of both queues of each QP."""
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

from mrc_packets import gid_text


def main():
    dev, address, peer, count, depth, fifo = sys.argv[1:7]
    cap = QPCap(max_send_wr=int(depth), max_recv_wr=int(depth))
    ctx = Context(name=dev)
    pd = PD(ctx)
    cq = CQ(ctx, 16)
    want = gid_text(address)
    index = next(i for i in range(128) if open(
        '/sys/class/infiniband/%s/ports/1/gids/%d' % (dev, i),
        encoding='ascii').read().strip() == want)
    gr = GlobalRoute(dgid=GID(gid_text(peer)), sgid_index=index, hop_limit=64)
    print('READY', flush=True)
    with open(fifo, encoding='ascii') as f:
        f.read()
    qps = []
    for _ in range(int(count)):
        qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap))
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
        attr.path_mtu = e.IBV_MTU_4096
        attr.dest_qp_num = qp.qp_num
        attr.rq_psn = attr.sq_psn = 1
        attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
        attr.min_rnr_timer = 12
        attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=gr)
        qp.to_rts(attr)
        qps.append(qp)
    print('CONNECTED', flush=True)
    time.sleep(1000)


if __name__ == '__main__':
    main()
