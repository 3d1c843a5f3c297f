#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sends packets of MRC in the name of a host, as programs there can. They are correct and
name a queue pair that does not exist, which the receiver counts.

usage: guard.py HOW COUNT FROM OWN TO
HOW: udp       a UDP socket of the user nobody
     freebind  the same, whose address need not be one of the host
     big       the same, with datagrams that are sent as fragments
     raw       a raw socket of root
     nobody    a raw socket of the user nobody: refused
FROM: the source address that arrives. OWN: the socket's address, or - for any.
Prints how many datagrams the kernel took."""
import socket
import sys

import mrc_nobody
import mrc_packets as m

IP_FREEBIND, IPV6_FREEBIND = 15, 78


def free(sock):
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
    else:
        sock.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)


def main():
    how, count, source, own, to = sys.argv[1:]
    if how != 'raw':
        mrc_nobody.become()
    body = m.write(m.WRITE_ONLY, 0x77, 1, 0, 0, bytes(9000 if how == 'big' else 8))
    if how in ('raw', 'nobody'):
        sock = socket.socket(mrc_nobody.family(to), socket.SOCK_RAW, socket.IPPROTO_RAW)
        packet, port = m.ip_udp(source, to, body), 0
    else:
        sock = mrc_nobody.udp_socket(to, whole=how != 'big')
        if how == 'freebind':
            free(sock)
        sock.bind(('' if own == '-' else own, 0))
        packet, port = mrc_nobody.payload(sock, source, to, body), m.PORT
    taken = 0
    for _ in range(int(count)):
        try:
            sock.sendto(packet, (to, port))
            taken += 1
        except OSError as err:
            print('# %s' % err)
    print(taken)


if __name__ == '__main__':
    main()
