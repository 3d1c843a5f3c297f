#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Brings a QP to RTR with a path MTU and says whether that went as expected.

usage: srv6_rtr.py DEV OWN-ADDRESS PEER-ADDRESS MTU 0|ERRNO-NAME"""
import errno
import sys

import pyverbs.enums as e
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

import mrc_packets as m
from mrc_events import gid_index


def main():
    dev, own, peer, mtu, want = sys.argv[1:6]
    want = 0 if want == '0' else getattr(errno, want)
    ctx = Context(name=dev)
    cq = CQ(ctx, 16)
    qp = QP(PD(ctx), QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq,
                                cap=QPCap(max_send_wr=4, max_recv_wr=4)))
    attr = QPAttr(port_num=1)
    attr.qp_state = e.IBV_QPS_INIT
    qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT |
              e.IBV_QP_ACCESS_FLAGS)
    attr = QPAttr(port_num=1)
    attr.qp_state = e.IBV_QPS_RTR
    attr.path_mtu = {1024: e.IBV_MTU_1024, 2048: e.IBV_MTU_2048,
                     4096: e.IBV_MTU_4096}[int(mtu)]
    attr.dest_qp_num = 77
    attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=GlobalRoute(
        dgid=GID(m.gid_text(peer)), sgid_index=gid_index(dev, own),
        hop_limit=64))
    got = 0
    try:
        qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_AV | e.IBV_QP_PATH_MTU |
                  e.IBV_QP_DEST_QPN | e.IBV_QP_RQ_PSN |
                  e.IBV_QP_MAX_DEST_RD_ATOMIC | e.IBV_QP_MIN_RNR_TIMER)
    except PyverbsRDMAError as err:
        got = err.error_code
    if got != want:
        print('path MTU %s: %d, expected %d' % (mtu, got, want))
    return got != want


if __name__ == '__main__':
    sys.exit(main())
