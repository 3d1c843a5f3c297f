#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Prints which driver details of queue pairs a netlink socket receives if one user opens
the socket and another one sends the request, as happens when a process inherits a socket.
Usage: res_psn.py DEVICE-INDEX UID-THAT-OPENS UID-THAT-ASKS
Prints the names of the details, one a line. Must be started as root."""
import os
import re
import socket
import struct
import sys

NETLINK_RDMA = 20
RES_QP_GET = (5 << 10) + 10     # of RDMA_NL_NLDEV
DEV_INDEX = 1
NLM_F_REQUEST, NLM_F_DUMP = 1, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3

NAMES = (b'cwnd', b'unsacked', b'unacked', b'next_psn', b'cack', b'tack',
         b'tx_pkts', b'rtx_pkts', b'tx_bytes_port1', b'tx_port1',
         b'resp_unexec', b'resp_ahead', b'resp_cack', b'resp_exec',
         b'resp_max_rcv', b'resp_msn', b'resp_bytes')


def dump(sock, index):
    attr = struct.pack('=HHI', 8, DEV_INDEX, index)
    sock.send(struct.pack('=IHHII', 16 + len(attr), RES_QP_GET,
                          NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + attr)
    data = b''
    while True:
        part = sock.recv(1 << 17)
        at = 0
        while at + 16 <= len(part):
            size, kind = struct.unpack_from('=IH', part, at)
            if kind == NLMSG_DONE:
                return data
            if kind == NLMSG_ERROR:
                raise OSError(-struct.unpack_from('=i', part, at + 16)[0],
                              'dump')
            data += part[at + 16:at + size]
            at += (size + 3) & ~3


def main():
    index, opens, asks = (int(a) for a in sys.argv[1:4])
    os.seteuid(opens)
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
    sock.bind((0, 0))
    os.seteuid(0)
    os.seteuid(asks)
    data = dump(sock, index)
    for name in NAMES:
        # In the reply a name is a string that ends with a zero and follows a header.
        if re.search(rb'[^a-z_]' + name + rb'\0', data):
            print(name.decode())


if __name__ == '__main__':
    main()
