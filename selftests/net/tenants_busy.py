#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Keeps processors busy until it is killed, as a tenant that behaves or one that does not.
One process for each kind of work.

usage: tenants_busy.py DEV OWN TO[,TO...] KIND...
KIND: flood  packets of MRC to all TO, for queue pairs that do not exist
      qps    connects queue pairs with the first TO and destroys them
      mtu    changes the MTU of eth0
      spin   computes
Prints how often each has been done, a line "KIND N" for each kind, several times a
second."""
import fcntl
import itertools
import mmap
import os
import signal
import socket
import struct
import sys
import time

import mrc_nobody
import mrc_packets as m

SIOCSIFMTU = 0x8922


def flood(_dev, own, to):
    """Datagrams with a correct ICRC: the receiver looks at all of them."""
    sock = socket.socket(mrc_nobody.family(own), socket.SOCK_RAW, socket.IPPROTO_RAW)
    packets = [(m.ip_udp(own, peer, m.write(m.WRITE_ONLY, 0x77, 1, 0, 0, bytes(1024))),
                (peer, 0)) for peer in to]
    for packet, peer in itertools.cycle(packets):
        try:
            sock.sendto(packet, peer)
        except OSError:
            continue        # while the MTU is too small
        yield


def qps(dev, own, to):
    import pyverbs.enums as e
    from pyverbs.cq import CQ
    from pyverbs.device import Context
    from pyverbs.pd import PD
    from pyverbs.qp import QP, QPCap, QPInitAttr
    import mrc_qp

    ctx = Context(name=dev)
    pd, cq = PD(ctx), CQ(ctx, 64)
    init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq,
                      cap=QPCap(max_send_wr=64, max_recv_wr=64))
    attr = mrc_qp.qp_attr(dev, own, to[0], dest_qp_num=0x77, path_mtu=e.IBV_MTU_1024)
    while True:
        qp = QP(pd, init)
        qp.to_rts(attr)
        qp.close()
        yield


def mtu(_dev, _own, _to):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for value in itertools.cycle((1500, 4500)):
        fcntl.ioctl(sock, SIOCSIFMTU, struct.pack('16si12x', b'eth0', value))
        yield


def spin(_dev, _own, _to):
    while True:
        sum(range(1000))
        yield


KINDS = {f.__name__: f for f in (flood, qps, mtu, spin)}


def main():
    dev, own, to, kinds = sys.argv[1], sys.argv[2], sys.argv[3].split(','), sys.argv[4:]
    done = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast('Q')
    children = []
    for i, kind in enumerate(kinds):
        child = os.fork()
        if not child:
            for _ in KINDS[kind](dev, own, to):
                done[i] += 1
            os._exit(1)
        children.append(child)
    while True:
        time.sleep(0.2)
        for i, kind in enumerate(kinds):
            print(kind, done[i], flush=True)
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended:
            for child in children:
                if child != ended:
                    os.kill(child, signal.SIGKILL)
            sys.exit('%s ended with status %d' % (kinds[children.index(ended)], status))


if __name__ == '__main__':
    main()
