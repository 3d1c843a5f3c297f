#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Moves a QP to RTR with a path MTU and prints whether the result is the expected one.

usage: srv6_rtr.py DEV OWN-ADDRESS PEER-ADDRESS MTU 0|ERRNO-NAME"""
import errno
import sys

import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPCap, QPInitAttr

import mrc_qp


def main():
    dev, own, peer, mtu, want = sys.argv[1:6]
    want = 0 if want == '0' else getattr(errno, want)
    ctx = Context(name=dev)
    cq = CQ(ctx, 16)
    qp = QP(PD(ctx), QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq,
                                cap=QPCap(max_send_wr=4, max_recv_wr=4)))
    attr = mrc_qp.qp_attr(dev, own, peer, dest_qp_num=77, path_mtu={
        1024: e.IBV_MTU_1024, 2048: e.IBV_MTU_2048,
        4096: e.IBV_MTU_4096}[int(mtu)])
    qp.to_init(attr)
    got = 0
    try:
        qp.to_rtr(attr)
    except PyverbsRDMAError as err:
        got = err.error_code
    if got != want:
        print('path MTU %s: %d, expected %d' % (mtu, got, want))
    return got != want


if __name__ == '__main__':
    sys.exit(main())
